/* Append-only hash tables: an entry is complete before it is linked, so readers need no lock. */
#include "probe/nvtx/nvtx_names.h"

#include "base/checksum.h"
#include "probe/probe.h"
#include "spool/pages.h"

enum { STRING_BUCKETS = 1024 };

struct interned_string {
    struct interned_string *next;
    uint64_t hash;
    size_t length;
    char text[];
};

struct nvtx_category {
    struct nvtx_category *next;
    uint32_t number;
    const char *name;
};

struct nvtx_domain nvtx_default_domain;
static _Atomic(struct interned_string *) strings[STRING_BUCKETS];
static _Atomic(struct nvtx_domain *) domains;
static struct page_arena memory; /* protected by probe_lock() */

static const char *find_string(struct text text, uint64_t hash) {
    struct interned_string *string =
        atomic_load_explicit(&strings[hash % STRING_BUCKETS], memory_order_acquire);
    while (string &&
           (string->hash != hash || !text_equal((struct text){string->text, string->length}, text)))
        string = string->next;
    return string ? string->text : NULL;
}

static const char *add_string(struct text text, uint64_t hash) {
    const char *found = find_string(text, hash); /* another thread may have added it */
    struct interned_string *string =
        found ? NULL : page_arena_allocate(&memory, sizeof *string + text.length + 1);
    if (!string)
        return found;
    memcpy(string->text, text.data, text.length);
    string->length = text.length;
    string->hash = hash;
    string->next = atomic_load_explicit(&strings[hash % STRING_BUCKETS], memory_order_relaxed);
    atomic_store_explicit(&strings[hash % STRING_BUCKETS], string, memory_order_release);
    return string->text;
}

const char *nvtx_intern(struct text text) {
    uint64_t hash = checksum64(text.data, text.length);
    const char *string = find_string(text, hash);
    if (string || !probe_lock())
        return string;
    string = add_string(text, hash);
    probe_unlock();
    return string;
}

static struct nvtx_domain *find_domain(const char *name) {
    struct nvtx_domain *domain = atomic_load_explicit(&domains, memory_order_acquire);
    while (domain && domain->name != name)
        domain = domain->next;
    return domain;
}

struct nvtx_domain *nvtx_domain(struct text name) {
    const char *kept = nvtx_intern(name);
    struct nvtx_domain *domain = kept ? find_domain(kept) : NULL;
    if (domain || !kept || !probe_lock())
        return domain;
    domain = find_domain(kept);
    if (!domain && (domain = page_arena_allocate(&memory, sizeof *domain))) {
        domain->name = kept;
        domain->next = atomic_load_explicit(&domains, memory_order_relaxed);
        atomic_store_explicit(&domains, domain, memory_order_release);
    }
    probe_unlock();
    return domain;
}

const char *nvtx_category_name(const struct nvtx_domain *domain, uint32_t number) {
    const struct nvtx_category *category = atomic_load_explicit(
        &domain->categories[number % NVTX_CATEGORY_BUCKETS], memory_order_acquire);
    while (category && category->number != number)
        category = category->next;
    return category ? category->name : NULL;
}

/* A later name precedes an earlier one in its list. */
void nvtx_name_category(struct nvtx_domain *domain, uint32_t number, struct text name) {
    const char *kept = nvtx_intern(name);
    if (!kept || nvtx_category_name(domain, number) == kept || !probe_lock())
        return;
    struct nvtx_category *category = page_arena_allocate(&memory, sizeof *category);
    if (category) {
        _Atomic(struct nvtx_category *) *list = &domain->categories[number % NVTX_CATEGORY_BUCKETS];
        category->number = number;
        category->name = kept;
        category->next = atomic_load_explicit(list, memory_order_relaxed);
        atomic_store_explicit(list, category, memory_order_release);
    }
    probe_unlock();
}

static size_t encode_utf8(uint32_t code, unsigned char bytes[4]) {
    if (code < 0x80) {
        bytes[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        bytes[0] = (unsigned char)(0xC0 | code >> 6);
        bytes[1] = (unsigned char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        code = 0xFFFD;
    if (code < 0x10000) {
        bytes[0] = (unsigned char)(0xE0 | code >> 12);
        bytes[1] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        bytes[2] = (unsigned char)(0x80 | (code & 0x3F));
        return 3;
    }
    bytes[0] = (unsigned char)(0xF0 | code >> 18);
    bytes[1] = (unsigned char)(0x80 | (code >> 12 & 0x3F));
    bytes[2] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
    bytes[3] = (unsigned char)(0x80 | (code & 0x3F));
    return 4;
}

struct text nvtx_utf8_from_wide(const wchar_t *wide, char *bytes, size_t capacity) {
    size_t length = 0;
    unsigned char character[4];
    for (; wide && *wide; wide++) {
        size_t size = encode_utf8((uint32_t)*wide, character);
        if (size > capacity - length)
            break;
        memcpy(bytes + length, character, size);
        length += size;
    }
    return (struct text){bytes, length};
}
