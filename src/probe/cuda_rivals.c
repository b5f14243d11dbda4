/* Did a profiler of the program's own want CUPTI while we have it? CUPTI serves one at a time and
 * refuses the second, which then tells of no CUDA work and may not say so: the user should know
 * why.
 *
 * CUPTI does not tell its first subscriber of the second. So in libraries that were linked against
 * it (PyTorch's is one) the address behind their calls of cuptiSubscribe() is replaced by that of a
 * function which makes the same call and notes a refusal. Only addresses that the loader has left
 * writable are touched. Libraries that look the function up themselves, or are loaded after CUDA
 * has started, are not noticed: to look for them again and again would mean to hold the loader's
 * lock while the program may fork.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dl_iterate_phdr() */
#endif
#include "probe/cuda.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <link.h>
#include <stdatomic.h>
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

static char rival[80]; /* the library that may be refused; written before it can be */
static _Atomic bool told;

static cupti_result subscribe(cupti_subscriber *subscriber, cupti_callback *callback, void *user) {
    cupti_result result = cuda_probe.cupti->cuptiSubscribe(subscriber, callback, user);
    if (result != CUPTI_TAKEN || atomic_exchange(&told, true))
        return result;
    struct probe_thread *thread = probe_enter();
    if (thread) {
        probe_meta(thread, "cuda.refused", text_of(rival));
        probe_leave(thread);
    }
    return result;
}

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

/* Only where the very function is behind it that we call: there may be two copies of CUPTI, and
 * what is not looked up yet may become either. */
static void watch_slots(const struct linked *linked) {
    const ElfW(Rela) *first = linked->calls;
    for (size_t i = 0; first && i < linked->calls_bytes / sizeof *first; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(first[i].r_info);
        uintptr_t slot = linked->base + first[i].r_offset;
        const ElfW(Sym) *symbol = &linked->symbols[ELF64_R_SYM(first[i].r_info)];
        if (type != CALL_SLOT || strcmp(linked->strings + symbol->st_name, "cuptiSubscribe") != 0 ||
            !is_writable(linked, slot))
            continue;
        _Atomic uintptr_t *address = (_Atomic uintptr_t *)slot;
        if (atomic_load(address) != (uintptr_t)cuda_probe.cupti->cuptiSubscribe)
            continue;
        const char *slash = strrchr(linked->name, '/');
        snprintf(rival, sizeof rival, "%s", slash ? slash + 1 : linked->name);
        atomic_store(address, (uintptr_t)subscribe);
    }
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *nothing) {
    (void)bytes, (void)nothing;
    struct linked linked = read_library(info);
    if (linked.uses_cupti && linked.symbols)
        watch_slots(&linked);
    return 0;
}

void cuda_rivals_watch(void) {
    dl_iterate_phdr(look_at, NULL);
}

#else

void cuda_rivals_watch(void) {}

#endif
