/* Fused programs on the CPU: order of axes, distribution among threads, and code.
 *
 * The order of a program's axes is free, so they are sorted for memory access: the fastest
 * last. Rows of a reduction that are interleaved in memory, and short rows, are processed side
 * by side in vectors; others one after another.
 */
#include "base/min_max.h"
#include "gen/native/program.h"

#include <string.h>

#include "base/memory.h"
#include "gen/backends.h"
#include "gen/native/epilogue.h"
#include "gen/native/tile_run.h"

enum {
    UNIT_WORK = 16 * 1024,      /* elements, of a few operations each, that a thread is woken for */
    UNITS_PER_THREAD = 32,      /* at most: enough to even out */
    SHARED_ROW = 64 * 1024,     /* elements of a row that all threads work on together */
    SHARED_PARTS_MAX = 64,      /* of such a row */
    SHORT_ROW = 32,             /* elements of a row too short for its own vector */
    STREAMED_BYTES = 16 << 20,  /* results from which on the caches are left to others */
    SIDE_BY_SIDE_VALUES = 2048, /* elements of short rows taken together */
};

/* Whether the kernel's rows are side by side: the one choice of the specification. */
enum { CHOICE_SIDE_BY_SIDE };

/* ---- The order of axes ---- */

static void swap_axes(struct program *program, struct program_shape *shape, unsigned a,
                      unsigned b) {
    int64_t size = shape->sizes[a];
    shape->sizes[a] = shape->sizes[b];
    shape->sizes[b] = size;
    for (unsigned i = 0; i < program->operand_count; i++) {
        int64_t stride = shape->strides[i][a];
        shape->strides[i][a] = shape->strides[i][b];
        shape->strides[i][b] = stride;
    }
}

/* Whether axis a, for the leading operand, belongs before axis b: its stride is larger, or zero.
 * Axes of size 1 may be anywhere. */
static bool before(const struct program_shape *shape, unsigned leading, unsigned a, unsigned b) {
    uint64_t stride_a = (uint64_t)shape->strides[leading][a] - 1;
    uint64_t stride_b = (uint64_t)shape->strides[leading][b] - 1;
    return shape->sizes[a] != 1 && shape->sizes[b] != 1 && stride_a > stride_b;
}

static void sort_axes(struct program *program, struct program_shape *shape, unsigned leading,
                      unsigned first, unsigned last) {
    for (unsigned i = first + 1; i < last; i++)
        for (unsigned j = i; j > first && before(shape, leading, j, j - 1); j--)
            swap_axes(program, shape, j, j - 1);
}

static void move_axis(struct program *program, struct program_shape *shape, unsigned from,
                      unsigned to) {
    for (; from < to; from++)
        swap_axes(program, shape, from, from + 1);
}

static bool has_rows(const struct program *program) {
    return program->rank > program->outer;
}

static bool has_op(const struct program *program, enum op first, enum op last) {
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (program->instructions[i].op >= first && program->instructions[i].op <= last)
            return true;
    return false;
}

/* The operand that determines the order of axes: a stored one, or with rows one that is read
 * element by element. */
static unsigned leading_operand(const struct program *program) {
    bool rows = has_rows(program);
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *instruction = &program->instructions[i];
        if (!(rows && instruction->of_row) && instruction->op == (rows ? OP_LOAD : OP_STORE))
            return instruction->slot;
    }
    return 0;
}

/* The axis of those along which the operand's elements are neighbors, or `last`. */
static unsigned unit_axis(const struct program_shape *shape, unsigned operand, unsigned first,
                          unsigned last) {
    unsigned axis = first;
    while (axis < last && (shape->strides[operand][axis] != 1 || shape->sizes[axis] == 1))
        axis++;
    return axis;
}

/* A transposed operand is best read in squares of its fastest axis and the last one, so that
 * axis is placed before the last. */
static void order_for_squares(struct program *program, struct program_shape *shape) {
    for (unsigned i = 0; i < program->operand_count; i++) {
        unsigned last = program->rank - 1u;
        unsigned axis = unit_axis(shape, i, 0, last);
        if (axis < last && shape->strides[i][last] > 1) {
            move_axis(program, shape, axis, last - 1);
            program_collapse(program, shape);
            return;
        }
    }
}

/* ---- Rows ---- */

static int64_t product(const struct program_shape *shape, unsigned first, unsigned last) {
    int64_t count = 1;
    for (unsigned axis = first; axis < last; axis++)
        count *= shape->sizes[axis];
    return count;
}

/* Decides whether rows are processed side by side, and makes their axis the last of the outer
 * ones. */
static bool choose_side_by_side(struct program *program, struct program_shape *shape,
                                unsigned leading) {
    if (program->outer == 0)
        return false;
    unsigned across = unit_axis(shape, leading, 0, program->outer);
    if (across < program->outer && shape->sizes[across] >= 8 &&
        shape->strides[leading][program->rank - 1] != 1) {
        move_axis(program, shape, across, program->outer - 1u);
        return true;
    }
    return product(shape, program->outer, program->rank) <= SHORT_ROW &&
           shape->sizes[program->outer - 1] >= SHORT_ROW;
}

/* Rows that are read again after their reductions. */
static bool stores_elements(const struct program *program) {
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (program->instructions[i].op == OP_STORE && !program->instructions[i].of_row)
            return true;
    return false;
}

/* The number of rows side by side in a block: all elements of short rows should stay in cache
 * for the next pass, and there must be work for all threads. */
static int64_t rows_width(const struct program *program, const struct program_shape *shape,
                          unsigned threads) {
    int64_t across = shape->sizes[program->outer - 1];
    int64_t length = MAX(product(shape, program->outer, program->rank), 1);
    int64_t width = RUN_ROWS_MAX;
    if (length <= SHORT_ROW)
        width = MAX(SIDE_BY_SIDE_VALUES / length, 64);
    else if (stores_elements(program))
        width = MIN(MAX(SHARED_ROW / length, 64), RUN_ROWS_MAX);
    int64_t others = MAX(product(shape, 0, program->outer - 1u), 1);
    int64_t blocks = MAX(2 * (int64_t)threads / others, 1);
    int64_t even = (across / blocks + TILE_LANES_MAX - 1) / TILE_LANES_MAX * TILE_LANES_MAX;
    return MAX(MIN(width, MAX(even, 128)), TILE_LANES_MAX);
}

/* ---- The request ---- */

unsigned native_program_scalars(const struct program *program, const struct program_shape *shape,
                                int64_t *scalars) {
    unsigned count = program->rank * (1u + program->operand_count);
    unsigned constants = (program->constant_count + 1u) / 2; /* two of 4 bytes in each scalar */
    if (!scalars)
        return count + constants;
    memcpy(scalars, shape->sizes, program->rank * sizeof *scalars);
    for (unsigned i = 0; i < program->operand_count; i++)
        memcpy(scalars + program->rank * (1 + i), shape->strides[i],
               program->rank * sizeof *scalars);
    memset(scalars + count, 0, constants * sizeof *scalars);
    memcpy(scalars + count, shape->constants, program->constant_count * sizeof shape->constants[0]);
    return count + constants;
}

static bool count_elements(const struct program *program, const struct program_shape *shape,
                           int64_t *count, struct status *status) {
    *count = 1;
    for (unsigned axis = 0; axis < program->rank; axis++)
        if (shape->sizes[axis] < 0 || __builtin_mul_overflow(*count, shape->sizes[axis], count))
            return status_fail(status, STATUS_USAGE, "a fused program has too many elements");
    return true;
}

/* Distributes the work: the launch's units, and the scalars that describe them. */
static void share_out(struct kernel_request *request, const struct program_shape *shape,
                      int64_t count, bool side_by_side, unsigned threads) {
    const struct program *program = &request->spec.program;
    bool rows = has_rows(program);
    int64_t width = side_by_side ? rows_width(program, shape, threads) : 1;
    int64_t length = rows ? product(shape, program->outer, program->rank) : count;
    int64_t blocks = 1;
    if (rows) {
        int64_t across = side_by_side ? shape->sizes[program->outer - 1] : 1;
        blocks =
            product(shape, 0, program->outer) / MAX(across, 1) * ((across + width - 1) / width);
    }
    /* Programs of many operations are worth sharing sooner. */
    int64_t work = MIN(count, INT64_MAX / 64) * (8 + program->instruction_count) / 16;
    int64_t max = MIN(work / UNIT_WORK, (int64_t)UNITS_PER_THREAD * threads);
    bool shared = !rows || (blocks < 2 * (int64_t)threads && threads > 1 &&
                            MIN(length, INT64_MAX / RUN_ROWS_MAX) * width >= SHARED_ROW);
    if (rows && shared)
        max = MIN(max, SHARED_PARTS_MAX);
    else if (rows)
        max = MIN(max, blocks);
    request->grid[0] = (uint32_t)MAX(max, 1);
    request->scalars[PROGRAM_SHARED_ROWS] = shared;
    request->scalars[PROGRAM_ROWS_WIDTH] = width;
    request->scalars[PROGRAM_STREAMS] =
        stores_elements(program) && count >= STREAMED_BYTES / (int64_t)sizeof(float);
    if (rows && shared) {
        size_t reductions = 0;
        for (unsigned i = 0; i < program->instruction_count; i++)
            reductions += op_is_reduction(program->instructions[i].op);
        struct steps counted = {.reductions = (uint16_t)reductions};
        request->shared_bytes =
            (uint32_t)(2 * request->grid[0] * tile_run_reductions_bytes(&counted, side_by_side));
    }
}

bool native_program(const struct program *program, const struct program_shape *shape,
                    const struct device_capabilities *device, struct kernel_request *request,
                    struct status *status) {
    struct program *own = &request->spec.program;
    struct program_shape ordered = *shape;
    *own = *program;
    memset(&own->schedule, 0, sizeof own->schedule);
    int64_t count;
    if (!count_elements(own, &ordered, &count, status))
        return false;
    unsigned leading = leading_operand(own);
    bool side_by_side = false;
    if (own->operand_count > 0) {
        bool numbered = has_op(own, OP_REDUCE_ARGMAX, OP_REDUCE_ARGMIN);
        sort_axes(own, &ordered, leading, 0, own->outer);
        if (!numbered)
            sort_axes(own, &ordered, leading, own->outer, own->rank);
        program_collapse(own, &ordered);
        if (has_rows(own))
            side_by_side = choose_side_by_side(own, &ordered, leading);
        else if (own->rank > 2)
            order_for_squares(own, &ordered);
    }
    request->spec.family = KERNEL_PROGRAM;
    request->spec.has_program = true;
    request->spec.choices[CHOICE_SIDE_BY_SIDE] = side_by_side;
    request->scalar_count = PROGRAM_SCALARS + native_program_scalars(own, &ordered, NULL);
    if (request->scalar_count > LAUNCH_SCALARS_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "a fused program of %u operands over %u axes that cannot be merged; "
                           "make some of the operands contiguous first",
                           own->operand_count, own->rank);
    native_program_scalars(own, &ordered, request->scalars + PROGRAM_SCALARS);
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = request->block[1] = request->block[2] = 1;
    share_out(request, &ordered, count, side_by_side,
              device->compute_units ? device->compute_units : 1);
    return true;
}

bool native_program_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                         struct kernel_generated *generated, struct status *status) {
    (void)device;
    size_t head = offsetof(struct program_context, steps);
    struct program_context *context =
        memory_allocate(1, head + steps_bytes(&spec->program), status);
    if (!context)
        return false;
    context->side_by_side = spec->choices[CHOICE_SIDE_BY_SIDE] != 0;
    steps_build(&spec->program, context->side_by_side, &context->steps);
    size_t used = head + steps_used_bytes(&context->steps);
    buffer_append(&generated->source, context, used);
    generated->code.function = native_program_run;
    generated->code.context = generated->source.data;
    generated->code.context_size = used;
    generated->code.scratch_bytes = tile_run_bytes(&context->steps, context->side_by_side);
    memory_free(context);
    return true;
}
