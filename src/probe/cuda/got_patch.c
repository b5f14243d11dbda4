/* How do we hear of another library's calls of a function? CUPTI does not tell its first subscriber
 * of the second.
 *
 * In libraries that were linked against it (PyTorch's is one) the address behind such a call is
 * replaced by that of a function of ours. Only addresses that the loader has left writable are
 * touched. Libraries that look the function up themselves, or are loaded after CUDA has started,
 * are not noticed: to look for them again and again would mean to hold the loader's lock while the
 * program may fork.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dl_iterate_phdr() */
#endif
#include "probe/cuda/cuda.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <link.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
enum { CALL_SLOT = R_X86_64_JUMP_SLOT };
#else
enum { CALL_SLOT = R_AARCH64_JUMP_SLOT };
#endif

/* What a loaded library says of itself. */
struct linked {
    uintptr_t base;
    const char *name, *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * calls;
    size_t calls_bytes;
    const ElfW(Phdr) * parts;
    unsigned part_count;
    bool uses_cupti;
};

/* Libraries linked against CUPTI; each is complete before the first slot of it is replaced. The
 * slots of those beyond are replaced too: they have no name then. */
enum { USERS = 16 };
static struct user {
    uintptr_t start, end;
    char name[80];
} users[USERS];
static _Atomic unsigned user_count;

struct wanted {
    const struct got_entry *slots;
    size_t count;
};

/* Loaders differ in whether they have added the base already. */
static uintptr_t address_of(const struct linked *linked, ElfW(Addr) value) {
    return value < linked->base ? linked->base + value : value;
}

static void read_dynamic(struct linked *linked, const ElfW(Dyn) * dynamic) {
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_STRTAB:
            linked->strings = (const char *)address_of(linked, entry->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            linked->symbols = (const void *)address_of(linked, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            linked->calls = (const void *)address_of(linked, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            linked->calls_bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL && linked->strings; entry++)
        if (entry->d_tag == DT_NEEDED &&
            strncmp(linked->strings + entry->d_un.d_val, "libcupti.so", 11) == 0)
            linked->uses_cupti = true;
}

static struct linked read_library(const struct dl_phdr_info *info) {
    bool named = info->dlpi_name && *info->dlpi_name;
    struct linked linked = {.base = info->dlpi_addr,
                            .name = named ? info->dlpi_name : "the program itself",
                            .parts = info->dlpi_phdr,
                            .part_count = info->dlpi_phnum};
    for (unsigned i = 0; i < linked.part_count; i++)
        if (linked.parts[i].p_type == PT_DYNAMIC)
            read_dynamic(&linked, (const void *)(linked.base + linked.parts[i].p_vaddr));
    return linked;
}

/* In a part that may be written to, and not in the one that is closed after loading. */
static bool is_writable(const struct linked *linked, uintptr_t slot) {
    bool writable = false;
    for (unsigned i = 0; i < linked->part_count; i++) {
        const ElfW(Phdr) *part = &linked->parts[i];
        uintptr_t start = linked->base + part->p_vaddr, end = start + part->p_memsz;
        bool inside = slot >= start && slot + sizeof slot <= end;
        if (inside && part->p_type == PT_GNU_RELRO)
            return false;
        writable |= inside && part->p_type == PT_LOAD && (part->p_flags & PF_W);
    }
    return writable;
}

static void remember(const struct linked *linked) {
    unsigned count = atomic_load(&user_count);
    if (count == USERS)
        return;
    struct user *user = &users[count];
    const char *slash = strrchr(linked->name, '/');
    snprintf(user->name, sizeof user->name, "%s", slash ? slash + 1 : linked->name);
    user->start = UINTPTR_MAX;
    for (unsigned i = 0; i < linked->part_count; i++) {
        const ElfW(Phdr) *part = &linked->parts[i];
        uintptr_t start = linked->base + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type != PT_LOAD)
            continue;
        user->start = start < user->start ? start : user->start;
        user->end = end > user->end ? end : user->end;
    }
    atomic_store(&user_count, count + 1);
}

static const struct got_entry *find(const struct wanted *wanted, const char *name) {
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(wanted->slots[i].name, name) == 0)
            return &wanted->slots[i];
    return NULL;
}

/* Only where the very function is behind it that we call: there may be two copies of CUPTI, and
 * what is not looked up yet may become either. */
static void replace_slots(const struct linked *linked, const struct wanted *wanted) {
    const ElfW(Rela) *first = linked->calls;
    for (size_t i = 0; first && i < linked->calls_bytes / sizeof *first; i++) {
        uintptr_t place = linked->base + first[i].r_offset;
        const ElfW(Sym) *symbol = &linked->symbols[ELF64_R_SYM(first[i].r_info)];
        const struct got_entry *slot = (uint32_t)ELF64_R_TYPE(first[i].r_info) == CALL_SLOT
                                           ? find(wanted, linked->strings + symbol->st_name)
                                           : NULL;
        if (!slot || !is_writable(linked, place))
            continue;
        _Atomic uintptr_t *address = (_Atomic uintptr_t *)place;
        if (atomic_load(address) == slot->theirs)
            atomic_store(address, slot->ours);
    }
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *wanted) {
    (void)bytes;
    struct linked linked = read_library(info);
    if (linked.uses_cupti && linked.symbols) {
        remember(&linked);
        replace_slots(&linked, wanted);
    }
    return 0;
}

void cuda_slots_replace(const struct got_entry *slots, size_t count) {
    struct wanted wanted = {slots, count};
    dl_iterate_phdr(look_at, &wanted);
}

const char *cuda_slots_library(const void *code) {
    unsigned count = atomic_load(&user_count);
    for (unsigned i = 0; i < count; i++)
        if ((uintptr_t)code >= users[i].start && (uintptr_t)code < users[i].end)
            return users[i].name;
    return "a library";
}

#else

void cuda_slots_replace(const struct got_entry *slots, size_t count) {
    (void)slots, (void)count;
}

const char *cuda_slots_library(const void *code) {
    (void)code;
    return "a library";
}

#endif
