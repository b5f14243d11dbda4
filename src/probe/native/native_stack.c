/* A walk needs the caller's stack pointer and frame pointer only: nearly all functions find their
 * CFA by one of them. Where a function does otherwise, the stack ends.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include "probe/native/native.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <unistd.h>

#include "abi/cfi.h"
#include "base/search.h"
#include "probe/python/python.h"

/* struct dl_find_object of glibc 2.35 and later. */
struct found_object {
    unsigned long long flags;
    const void *start, *end;
    const struct link_map *link_map;
    const uint8_t *eh_frame_hdr;
    uint64_t reserved[16];
};

enum { ROW_STACK_POINTER = 1, ROW_FRAME_POINTER, ROW_CHAIN, ROW_LAST };
enum { SAME_VALUE = INT32_MIN, PAGE = 4096, STEP_MAX = 16 << 20, PAGES_MAX = 4096 };

static int (*_Atomic find_object)(void *, struct found_object *);
static _Atomic int is_searched;
static const struct link_map *_Atomic own_object;

static bool object_at(uint64_t address, struct found_object *found) {
    int (*find)(void *, struct found_object *) =
        atomic_load_explicit(&find_object, memory_order_acquire);
    return find && find((void *)(uintptr_t)address, found) == 0 && found->link_map;
}

static bool is_supported(void) {
    if (!atomic_load_explicit(&is_searched, memory_order_acquire)) {
        int (*find)(void *, struct found_object *) = NULL;
        struct found_object found;
        *(void **)&find = dlsym(RTLD_DEFAULT, "_dl_find_object");
        atomic_store(&find_object, find);
        if (object_at((uint64_t)(uintptr_t)&is_supported, &found))
            atomic_store(&own_object, found.link_map);
        atomic_store_explicit(&is_searched, 1, memory_order_release);
    }
    return atomic_load_explicit(&find_object, memory_order_relaxed) != NULL;
}

/* ---- Rules --------------------------------------------------------------------------------- */

#ifdef __x86_64__
enum { FRAME_POINTER = 6, STACK_POINTER = 7, RETURN_ADDRESS = 16 };
enum { DW_EH_PE_udata4 = 0x03, DW_EH_PE_datarel_sdata4 = 0x3b };

static int64_t read_offset(const uint8_t *at) {
    struct dwarf_bytes bytes = {at, at + 4, false};
    return dwarf_read_fixed_signed(&bytes, 4);
}

/* By the search table of .eh_frame_hdr, which the loader has mapped. */
static bool find_fde(const struct found_object *object, uint64_t address, struct cfi_fde *fde) {
    const uint8_t *header = object->eh_frame_hdr, *end = object->end;
    uint64_t base = (uint64_t)(uintptr_t)header;
    if (!header || end < header || end - header < 12)
        return false;
    struct dwarf_bytes bytes = {header + 4, end, false};
    uint64_t section = cfi_read_pointer(&bytes, header[1], base + 4);
    size_t count = dwarf_read_fixed(&bytes, 4), low = 0;
    const uint8_t *rows = bytes.at;
    if (bytes.failed || header[0] != 1 || header[2] != DW_EH_PE_udata4 ||
        header[3] != DW_EH_PE_datarel_sdata4 || count > (size_t)(end - rows) / 8)
        return false;
    PARTITION_POINT(low, count, i, base + (uint64_t)read_offset(rows + 8 * i) <= address);
    uint64_t entry = low ? base + (uint64_t)read_offset(rows + 8 * (low - 1) + 4) : 0;
    uint64_t last = (uint64_t)(uintptr_t)end;
    return low && section < last && entry >= section &&
           cfi_fde_read((const uint8_t *)(uintptr_t)section, last - section, section,
                        entry - section, fde) &&
           address >= fde->start && address < fde->end;
}

static bool fits(int64_t offset) {
    return offset > -STEP_MAX && offset < STEP_MAX;
}

static void read_rule(const struct found_object *object, uint64_t address, struct native_row *row) {
    struct cfi_fde fde;
    struct cfi_row rule;
    row->kind = ROW_LAST;
    if (!find_fde(object, address, &fde) || fde.is_signal_frame ||
        !cfi_row_at(&fde, address, &rule))
        return;
    const struct cfi_rule *pointer = &rule.registers[FRAME_POINTER],
                          *back = &rule.registers[RETURN_ADDRESS];
    bool is_saved = pointer->kind == CFI_OFFSET && fits(pointer->value);
    if (rule.cfa.kind != CFI_REGISTER || !fits(rule.cfa.value) || back->kind != CFI_OFFSET ||
        back->value != -8 ||
        !(is_saved || pointer->kind == CFI_SAME_VALUE || pointer->kind == CFI_UNDEFINED))
        return;
    row->cfa_offset = (int32_t)rule.cfa.value;
    row->frame_pointer_offset = is_saved ? (int32_t)pointer->value : SAME_VALUE;
    if (rule.cfa.register_number == STACK_POINTER)
        row->kind = ROW_STACK_POINTER;
    else if (rule.cfa.register_number == FRAME_POINTER)
        row->kind = ROW_FRAME_POINTER;
}
#else
static void read_rule(const struct found_object *object, uint64_t address, struct native_row *row) {
    (void)object, (void)address;
    row->kind = ROW_CHAIN;
}
#endif

/* NULL: no object is loaded there. */
static const struct native_row *fill_row(struct native_row *row, uint64_t address) {
    struct found_object found;
    if (!object_at(address, &found))
        return NULL;
    *row = (struct native_row){.address = address, .object = found.link_map};
    read_rule(&found, address, row);
    return row;
}

static inline const struct native_row *find_row(struct native_stacks *stacks, uint64_t address) {
    struct native_row *row = &stacks->rows[(address ^ address >> 12) & (NATIVE_ROWS - 1)];
    return row->address == address ? row : fill_row(row, address);
}

/* ---- The walk ------------------------------------------------------------------------------ */

struct walk {
    struct native_stacks *stacks;
    uint64_t pc, stack_pointer, frame_pointer;
};

/* Whether the word at `address`, outside the known part, can be loaded. Pages are checked once. */
static bool extend_range(struct native_stacks *stacks, uint64_t address) {
    uint64_t word;
    if (address < stacks->low || (address - stacks->low) / PAGE > PAGES_MAX)
        return false;
    while (address + 8 > stacks->high) {
        if (!python_read(&word, (const void *)(uintptr_t)stacks->high, sizeof word))
            return false;
        stacks->high += PAGE;
    }
    return true;
}

static inline bool load(const struct walk *walk, uint64_t address, uint64_t *value) {
    const struct native_stacks *stacks = walk->stacks;
    bool is_known = address >= stacks->low && address < stacks->high; /* whole pages */
    if (address % 8 != 0 || (!is_known && !extend_range(walk->stacks, address)))
        return false;
    *value = *(const uint64_t *)(uintptr_t)address;
    return true;
}

/* Moves on to the caller. */
static inline bool step(struct walk *walk, const struct native_row *row) {
    if (row->kind == ROW_CHAIN) {
        uint64_t frame = walk->frame_pointer, next;
        if (frame < walk->stack_pointer || !load(walk, frame, &next) ||
            !load(walk, frame + 8, &walk->pc))
            return false;
        walk->pc &= ((uint64_t)1 << 48) - 1; /* strip the pointer authentication code */
        walk->stack_pointer = frame + 16;
        walk->frame_pointer = next;
        return walk->pc != 0;
    }
    if (row->kind == ROW_LAST)
        return false;
    uint64_t base = row->kind == ROW_FRAME_POINTER ? walk->frame_pointer : walk->stack_pointer;
    uint64_t cfa = base + (uint64_t)(int64_t)row->cfa_offset;
    if (cfa <= walk->stack_pointer || cfa - walk->stack_pointer > STEP_MAX ||
        !load(walk, cfa - 8, &walk->pc))
        return false;
    if (row->frame_pointer_offset != SAME_VALUE &&
        !load(walk, cfa + (uint64_t)(int64_t)row->frame_pointer_offset, &walk->frame_pointer))
        return false;
    walk->stack_pointer = cfa;
    return walk->pc != 0;
}

/* The stack may be another one than before: a deeper call, or a coroutine's. */
static void begin_range(struct native_stacks *stacks, uint64_t stack_pointer) {
    if (stack_pointer >= stacks->low && stack_pointer < stacks->high)
        return;
    bool is_deeper = stack_pointer < stacks->low && stacks->low - stack_pointer < STEP_MAX;
    stacks->low = stack_pointer / PAGE * PAGE;
    if (!is_deeper)
        stacks->high = stacks->low + PAGE;
}

__attribute__((noinline)) unsigned native_walk(struct native_stacks *stacks, uint64_t *addresses,
                                               unsigned limit) {
    const uint64_t *here = __builtin_frame_address(0);
    unsigned count = 0;
    if (!is_supported())
        return 0;
    const struct link_map *own = atomic_load_explicit(&own_object, memory_order_relaxed);
    struct walk walk = {stacks, here[1], (uint64_t)(uintptr_t)(here + 2), here[0]};
    begin_range(stacks, walk.stack_pointer);
    const struct native_row *row;
    do {
        row = find_row(stacks, walk.pc - 1);
        if (!row)
            break;
        if (count > 0 || row->object != own)
            addresses[count++] = walk.pc;
    } while (count < limit && step(&walk, row));
    return count;
}

/* The object of a row that was found earlier may have been unloaded, and another one be there. */
bool native_frame_at(uint64_t address, struct native_frame *frame) {
    struct found_object found;
    if (!object_at(address - 1, &found))
        return false;
    const struct link_map *object = found.link_map;
    *frame = (struct native_frame){
        .object = object,
        .offset = address - object->l_addr,
        .identity = (uint64_t)(uintptr_t)object ^ (uint64_t)(uintptr_t)object->l_ld << 20,
    };
    return true;
}

const char *native_path(const struct link_map *object, char *buffer, size_t size) {
    if (object->l_name && object->l_name[0])
        return object->l_name;
    ssize_t length = readlink("/proc/self/exe", buffer, size - 1);
    buffer[length > 0 ? length : 0] = 0;
    return buffer;
}
#else
unsigned native_walk(struct native_stacks *stacks, uint64_t *addresses, unsigned limit) {
    (void)stacks, (void)addresses, (void)limit;
    return 0;
}

bool native_frame_at(uint64_t address, struct native_frame *frame) {
    (void)address, (void)frame;
    return false;
}

const char *native_path(const struct link_map *object, char *buffer, size_t size) {
    (void)object, (void)buffer, (void)size;
    return "";
}
#endif
