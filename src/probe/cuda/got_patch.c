/* Intercepts CUPTI calls of other libraries, because CUPTI does not tell its subscriber about
 * others.
 *
 * In libraries that are linked against CUPTI (such as PyTorch's) the entries of the global offset
 * table (GOT) are replaced. Entries that the loader made read-only (RELRO) are not touched.
 * Libraries that use dlsym(), or are loaded after CUDA has started, are not intercepted: searching
 * for them repeatedly would mean holding the loader's lock while the program may fork.
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
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT };
#else
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT };
#endif

/* The dynamic section of a loaded library. */
struct loaded_library {
    uintptr_t base;
    const char *name, *strings;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * calls;
    size_t calls_bytes;
    const ElfW(Phdr) * segments;
    unsigned segment_count;
    bool uses_cupti;
};

/* Libraries linked against CUPTI, complete before their first entry is replaced. Libraries beyond
 * the limit are patched, too, but have no name. */
enum { CUPTI_USERS_MAX = 16 };
static struct cupti_user {
    uintptr_t start, end;
    char name[80];
} cupti_users[CUPTI_USERS_MAX];
static _Atomic unsigned cupti_user_count;

struct wanted_entries {
    const struct got_entry *entries;
    size_t count;
};

/* Some loaders have added the base already. */
static uintptr_t address_of(const struct loaded_library *loaded_library, ElfW(Addr) value) {
    return value < loaded_library->base ? loaded_library->base + value : value;
}

static void read_dynamic(struct loaded_library *loaded_library, const ElfW(Dyn) * dynamic) {
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_STRTAB:
            loaded_library->strings = (const char *)address_of(loaded_library, entry->d_un.d_ptr);
            break;
        case DT_SYMTAB:
            loaded_library->symbols = (const void *)address_of(loaded_library, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            loaded_library->calls = (const void *)address_of(loaded_library, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            loaded_library->calls_bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL && loaded_library->strings;
         entry++)
        if (entry->d_tag == DT_NEEDED &&
            strncmp(loaded_library->strings + entry->d_un.d_val, "libcupti.so", 11) == 0)
            loaded_library->uses_cupti = true;
}

static struct loaded_library read_library(const struct dl_phdr_info *info) {
    bool named = info->dlpi_name && *info->dlpi_name;
    struct loaded_library loaded_library = {.base = info->dlpi_addr,
                                            .name = named ? info->dlpi_name : "the program",
                                            .segments = info->dlpi_phdr,
                                            .segment_count = info->dlpi_phnum};
    for (unsigned i = 0; i < loaded_library.segment_count; i++)
        if (loaded_library.segments[i].p_type == PT_DYNAMIC)
            read_dynamic(&loaded_library,
                         (const void *)(loaded_library.base + loaded_library.segments[i].p_vaddr));
    return loaded_library;
}

/* In a writable segment that is not RELRO. */
static bool is_writable(const struct loaded_library *loaded_library, uintptr_t entry) {
    bool writable = false;
    for (unsigned i = 0; i < loaded_library->segment_count; i++) {
        const ElfW(Phdr) *segment = &loaded_library->segments[i];
        uintptr_t start = loaded_library->base + segment->p_vaddr, end = start + segment->p_memsz;
        bool inside = entry >= start && entry + sizeof entry <= end;
        if (inside && segment->p_type == PT_GNU_RELRO)
            return false;
        writable |= inside && segment->p_type == PT_LOAD && (segment->p_flags & PF_W);
    }
    return writable;
}

static void add_cupti_user(const struct loaded_library *loaded_library) {
    unsigned count = atomic_load(&cupti_user_count);
    if (count == CUPTI_USERS_MAX)
        return;
    struct cupti_user *cupti_user = &cupti_users[count];
    const char *slash = strrchr(loaded_library->name, '/');
    snprintf(cupti_user->name, sizeof cupti_user->name, "%s",
             slash ? slash + 1 : loaded_library->name);
    cupti_user->start = UINTPTR_MAX;
    for (unsigned i = 0; i < loaded_library->segment_count; i++) {
        const ElfW(Phdr) *segment = &loaded_library->segments[i];
        uintptr_t start = loaded_library->base + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type != PT_LOAD)
            continue;
        cupti_user->start = start < cupti_user->start ? start : cupti_user->start;
        cupti_user->end = end > cupti_user->end ? end : cupti_user->end;
    }
    atomic_store(&cupti_user_count, count + 1);
}

static const struct got_entry *find_entry(const struct wanted_entries *wanted_entries,
                                          const char *name) {
    for (size_t i = 0; i < wanted_entries->count; i++)
        if (strcmp(wanted_entries->entries[i].name, name) == 0)
            return &wanted_entries->entries[i];
    return NULL;
}

/* Only entries that refer to the CUPTI functions that the probe uses: there may be two copies of
 * CUPTI, and an entry that is not bound yet may refer to either. */
static void patch_entries(const struct loaded_library *loaded_library,
                          const struct wanted_entries *wanted_entries) {
    const ElfW(Rela) *first = loaded_library->calls;
    for (size_t i = 0; first && i < loaded_library->calls_bytes / sizeof *first; i++) {
        uintptr_t place = loaded_library->base + first[i].r_offset;
        const ElfW(Sym) *symbol = &loaded_library->symbols[ELF64_R_SYM(first[i].r_info)];
        const struct got_entry *entry =
            (uint32_t)ELF64_R_TYPE(first[i].r_info) == JUMP_SLOT
                ? find_entry(wanted_entries, loaded_library->strings + symbol->st_name)
                : NULL;
        if (!entry || !is_writable(loaded_library, place))
            continue;
        _Atomic uintptr_t *address = (_Atomic uintptr_t *)place;
        if (atomic_load(address) == entry->theirs)
            atomic_store(address, entry->ours);
    }
}

static int patch_library(struct dl_phdr_info *info, size_t bytes, void *wanted_entries) {
    (void)bytes;
    struct loaded_library loaded_library = read_library(info);
    if (loaded_library.uses_cupti && loaded_library.symbols) {
        add_cupti_user(&loaded_library);
        patch_entries(&loaded_library, wanted_entries);
    }
    return 0;
}

void got_patch(const struct got_entry *entries, size_t count) {
    struct wanted_entries wanted_entries = {entries, count};
    dl_iterate_phdr(patch_library, &wanted_entries);
}

const char *got_patch_library(const void *code) {
    unsigned count = atomic_load(&cupti_user_count);
    for (unsigned i = 0; i < count; i++)
        if ((uintptr_t)code >= cupti_users[i].start && (uintptr_t)code < cupti_users[i].end)
            return cupti_users[i].name;
    return "a library";
}

#else

void got_patch(const struct got_entry *entries, size_t count) {
    (void)entries, (void)count;
}

const char *got_patch_library(const void *code) {
    (void)code;
    return "a library";
}

#endif
