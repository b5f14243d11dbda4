/* Unwinds a sampled stack frame by frame from its registers and the copied part of the stack. It
 * uses the CFI of the mapped file, and the frame pointer where a file has no CFI.
 *
 * Python 3.12 calls each function of the interpreted program through a trampoline of its own, so
 * that profilers can name it. No CFI describes trampolines, but their frames all look the same. */
#include "record/symbols/perf_unwind.h"

#include <string.h>

#include "base/memory.h"
#include "record/symbols/unwind_table.h"
#include "trace/schema.h"

#if defined __x86_64__
/* The kernel's numbers of the registers (AX BX CX DX SI DI BP SP IP, R8 to R15 from 16 on), indexed
 * by DWARF's. The last is the program counter. */
static const uint8_t perf_register_numbers[] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                17, 18, 19, 20, 21, 22, 23, 8};
enum { STACK_POINTER = 7, FRAME_POINTER = 6 };
#elif defined __aarch64__
static const uint8_t perf_register_numbers[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
enum { STACK_POINTER = 31, FRAME_POINTER = 29 };
#else
static const uint8_t perf_register_numbers[] = {0};
enum { STACK_POINTER = 0, FRAME_POINTER = 0 };
#endif
enum { REGISTER_COUNT = sizeof perf_register_numbers, PROGRAM_COUNTER = REGISTER_COUNT - 1 };

uint64_t perf_unwind_registers(void) {
    uint64_t mask = 0;
    for (size_t i = 0; i < REGISTER_COUNT; i++)
        mask |= (uint64_t)1 << perf_register_numbers[i];
    return mask;
}

bool perf_unwind_is_supported(void) {
    return REGISTER_COUNT > 1;
}

/* A cache of CFI rows: most of a stack is the same as in the sample before. */
enum { ROW_CACHE_SIZE = 1 << 12 };
struct cached_row {
    const uint8_t *eh_frame; /* identifies the table, which may itself move; NULL: unused */
    uint64_t address;
    bool is_signal_frame;
    struct cfi_row row;
};

struct perf_unwinder {
    struct symbols *symbols;
    struct cached_row rows[ROW_CACHE_SIZE];
};

struct perf_unwinder *perf_unwinder_create(struct symbols *symbols, struct status *status) {
    struct perf_unwinder *unwinder = memory_allocate(1, sizeof *unwinder, status);
    if (unwinder)
        unwinder->symbols = symbols;
    return unwinder;
}

void perf_unwinder_destroy(struct perf_unwinder *unwinder) {
    memory_free(unwinder);
}

/* NULL when the table has no FDE for the address. */
static const struct cached_row *find_cached_row(struct perf_unwinder *unwinder,
                                                const struct unwind_table *table,
                                                uint64_t address) {
    uint64_t hash = (address ^ (uint64_t)(uintptr_t)table->eh_frame) * 0x9E3779B97F4A7C15u;
    struct cached_row *cached = &unwinder->rows[hash >> 32 & (ROW_CACHE_SIZE - 1)];
    struct cfi_fde fde;
    if (cached->eh_frame == table->eh_frame && cached->address == address)
        return cached;
    cached->eh_frame = NULL;
    if (!unwind_table_find(table, address, &fde) || !cfi_row_at(&fde, address, &cached->row))
        return NULL;
    cached->eh_frame = table->eh_frame;
    cached->address = address;
    cached->is_signal_frame = fde.is_signal_frame;
    return cached;
}

struct frame {
    struct perf_unwinder *unwinder;
    pid_t pid;
    struct cfi_memory memory;
    uint64_t registers[CFI_REGISTERS];
    bool pc_is_exact; /* the pc is an instruction that has not run yet, not a return address */
    bool is_outermost;
    bool in_signal_handler;
};

/* A trampoline's frame has two words: the caller's frame pointer, if it keeps one, and the return
 * address. */
static bool step_python_trampoline(struct frame *frame, uint64_t stack) {
    uint64_t saved[2];
    if (!cfi_memory_read(&frame->memory, stack, &saved[0]) ||
        !cfi_memory_read(&frame->memory, stack + 8, &saved[1]))
        return false;
    if (frame->registers[FRAME_POINTER] == stack)
        frame->registers[FRAME_POINTER] = saved[0];
    frame->registers[STACK_POINTER] = stack + sizeof saved;
    frame->registers[PROGRAM_COUNTER] = saved[1];
    return true;
}

static bool step_by_frame_pointer(struct frame *frame) {
    uint64_t *registers = frame->registers, saved, address;
    uint64_t pointer = registers[FRAME_POINTER];
    if (pointer < registers[STACK_POINTER] || pointer % 8 != 0 ||
        !cfi_memory_read(&frame->memory, pointer, &saved) ||
        !cfi_memory_read(&frame->memory, pointer + 8, &address))
        return false;
#ifdef __aarch64__
    address &= ((uint64_t)1 << 48) - 1; /* strip the pointer authentication code */
#endif
    registers[FRAME_POINTER] = saved;
    registers[STACK_POINTER] = pointer + 16;
    registers[PROGRAM_COUNTER] = address;
    return true;
}

static bool step_by_cfi(struct frame *frame, const struct unwind_table *table, uint64_t in_file,
                        bool *found) {
    const struct cached_row *row = find_cached_row(frame->unwinder, table, in_file);
    uint64_t stack = frame->registers[STACK_POINTER];
    *found = row != NULL;
    frame->is_outermost =
        row && row->row.registers[row->row.return_address_register].kind == CFI_UNDEFINED;
    if (!row ||
        !cfi_step(&row->row, STACK_POINTER, PROGRAM_COUNTER, &frame->memory, frame->registers))
        return false;
    frame->pc_is_exact = row->is_signal_frame;
    frame->in_signal_handler |= row->is_signal_frame;
    /* only a leaf function or a signal frame uses no stack */
    return frame->registers[STACK_POINTER] >= stack;
}

static bool is_python_trampoline(struct frame *frame, uint64_t address) {
    return text_is(symbols_find(frame->unwinder->symbols, frame->pid, address, false).module,
                   STACK_PYTHON);
}

static bool step_frame(struct frame *frame) {
    uint64_t address = frame->registers[PROGRAM_COUNTER] - !frame->pc_is_exact, in_file;
    const struct unwind_table *table =
        symbols_unwind_table(frame->unwinder->symbols, frame->pid, address, &in_file);
    bool found = false, stepped = table && step_by_cfi(frame, table, in_file, &found);
    if (found)
        return stepped;
    frame->pc_is_exact = false;
    if (!table && is_python_trampoline(frame, address))
        return step_python_trampoline(frame, frame->registers[STACK_POINTER]);
    return step_by_frame_pointer(frame);
}

size_t perf_unwind(struct perf_unwinder *unwinder, const struct perf_stack_snapshot *snapshot,
                   uint64_t *addresses, size_t limit, bool *complete) {
    struct frame frame = {.unwinder = unwinder, .pid = snapshot->pid, .pc_is_exact = true};
    size_t count = 0;
    for (size_t i = 0; i < REGISTER_COUNT; i++)
        frame.registers[i] = snapshot->registers[perf_register_numbers[i]];
    frame.memory =
        (struct cfi_memory){snapshot->stack, frame.registers[STACK_POINTER], snapshot->stack_bytes};
    do {
        if (count < limit)
            addresses[count++] = frame.registers[PROGRAM_COUNTER];
    } while (count < limit && step_frame(&frame) && frame.registers[PROGRAM_COUNTER] != 0);
    if (snapshot->in_signal_handler)
        *snapshot->in_signal_handler = frame.in_signal_handler;
    *complete = frame.is_outermost || frame.registers[PROGRAM_COUNTER] == 0;
    return count;
}
