/* Requests for and code of fused programs, and the epilogues of matrix products. */
#include "gen/emit/program.h"

#include <stdio.h>
#include <stdlib.h>

#include "gen/backends.h"
#include "gen/emit/emit.h"
#include "gen/emit/emit_transpose.h"
#include "gen/emit/schedule.h"

/* Whole kernels of fused programs: the loops over blocks, rows and tiles around emit_tile(), and
 * what happens between passes. */

static void emit_map(const struct emitter *emitter, const struct kernel_spec *spec) {
    struct buffer *out = emitter->out;
    const struct program_schedule *schedule = &spec->program.schedule;
    bool wanted[PROGRAM_INSTRUCTIONS_MAX], tail = spec->choices[CHOICE_TAIL];
    passes_wanted(emitter->program, &emitter->passes, true, 0, wanted);
    emit_row_pointers(emitter);
    emit_uniform(emitter, 0);
    emit_divisors(emitter, wanted);
    buffer_printf(out, "const INDEX count = CAST(INDEX, scalars.v[%u]);\n", emitter->scalars.count);
    buffer_printf(out, "const INDEX end = count - count %% %u;\n", schedule->vector);
    unsigned step = schedule->threads * schedule->per_thread * schedule->vector;
    buffer_printf(out,
                  "for (INDEX base = CAST(INDEX, BLOCK_X) * %u; base < end; base += CAST(INDEX, "
                  "GRID_X) * %u) "
                  "{\n",
                  step, step);
    char position[64];
    snprintf(position, sizeof position, "base + (u * %u + THREAD_X) * %u", schedule->threads,
             schedule->vector);
    struct tile tile = {.vector = schedule->vector,
                        .count = schedule->per_thread,
                        .position = position,
                        .condition = spec->choices[CHOICE_EXACT] ? NULL : "at < end"};
    emit_tile(emitter, &tile, wanted);
    buffer_string(out, "}\n");
    if (!tail)
        return;
    buffer_string(out, "if (BLOCK_X == 0) {\n");
    tile = (struct tile){
        .vector = 1, .count = 1, .position = "end + THREAD_X + u", .condition = "at < count"};
    emit_tile(emitter, &tile, wanted);
    buffer_string(out, "}\n");
}

/* ---- Rows -------------------------------------------------------------------------------- */

static const char *reduction_word(enum op op) {
    static const char *const words[] = {[OP_REDUCE_SUM - OP_REDUCE_SUM] = "SUM",
                                        [OP_REDUCE_MAX - OP_REDUCE_SUM] = "MAX",
                                        [OP_REDUCE_MIN - OP_REDUCE_SUM] = "MIN",
                                        [OP_REDUCE_ARGMAX - OP_REDUCE_SUM] = "ARGMAX",
                                        [OP_REDUCE_ARGMIN - OP_REDUCE_SUM] = "ARGMIN"};
    return words[op - OP_REDUCE_SUM];
}

static bool is_choice(enum op op) {
    return op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN;
}

/* The identity of a reduction. */
static const char *identity(enum op op, enum value_type type) {
    if (op == OP_REDUCE_SUM)
        return type == VALUE_F32 ? "0.0f" : "0";
    bool min = op == OP_REDUCE_MAX || op == OP_REDUCE_ARGMAX;
    if (type == VALUE_F32)
        return min ? "-INFINITE" : "INFINITE";
    return min ? "-0x7fffffff - 1" : "0x7fffffff";
}

static bool reduces_in(const struct emitter *emitter, unsigned i, unsigned pass) {
    return op_is_reduction(emitter->program->instructions[i].op) && emitter->passes.needed[i] &&
           emitter->passes.pass[i] == pass;
}

/* A thread's index starts at its first element, which may be beyond the row: every element of
 * the row then precedes it. */
static void emit_accumulators(const struct emitter *emitter, unsigned pass) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        if (!reduces_in(emitter, i, pass))
            continue;
        enum op op = program->instructions[i].op;
        enum value_type type = program->instructions[program->instructions[i].a].type;
        buffer_printf(out, "%s sum%u = %s;\n", emit_type(type), i, identity(op, type));
        if (is_choice(op))
            buffer_printf(out, "int index%u = CAST(int, lane) * %u;\n", i,
                          program->schedule.vector);
        if (!emitter->keep && op == OP_REDUCE_SUM && type == VALUE_F32)
            buffer_printf(out, "float carry%u = 0.0f;\n", i);
    }
}

/* Combines the results of a row's threads. The scratch arrays alternate: when a reduction writes
 * to one, the barrier of the reduction in between has passed all its readers. */
static void emit_results(const struct emitter *emitter, unsigned pass, unsigned *number) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        if (!reduces_in(emitter, i, pass))
            continue;
        const struct program_instruction *self = &program->instructions[i];
        buffer_printf(out, "const %s value%u = ", emit_type(self->type), i);
        if (emitter->row_threads == 1) {
            buffer_printf(out, "%s%u;\n", is_choice(self->op) ? "index" : "sum", i);
            continue;
        }
        const char *suffix = program->instructions[self->a].type == VALUE_I32 ? "_INT" : "";
        buffer_printf(out, "GROUP_%s%s(sum%u, ", reduction_word(self->op), suffix, i);
        if (is_choice(self->op))
            buffer_printf(out, "index%u, ", i);
        buffer_printf(out, "%u, %u);\n", emitter->row_threads, (*number)++ % 2);
    }
}

/* Arrays for the elements that later passes use, too. */
static void emit_held(const struct emitter *emitter, unsigned pass, unsigned elements) {
    for (unsigned i = 0; i < emitter->program->instruction_count; i++)
        if (emitter->passes.held[i] && emitter->passes.pass[i] == pass)
            buffer_printf(emitter->out, "%s kept%u[%u];\n",
                          emit_type(emitter->program->instructions[i].type), i, elements);
}

static void emit_pass(const struct emitter *emitter, const struct kernel_spec *spec,
                      unsigned pass) {
    struct buffer *out = emitter->out;
    const struct program_schedule *schedule = &spec->program.schedule;
    char position[64];
    snprintf(position, sizeof position, "%s(u * %u + lane) * %u", emitter->keep ? "" : "base + ",
             emitter->row_threads, schedule->vector);
    struct tile tile = {.vector = schedule->vector,
                        .count = schedule->per_thread,
                        .position = position,
                        .condition = spec->choices[CHOICE_EXACT] ? NULL : "at < count"};
    bool wanted[PROGRAM_INSTRUCTIONS_MAX];
    passes_wanted(emitter->program, &emitter->passes, emitter->keep, pass, wanted);
    emit_divisors(emitter, wanted);
    if (emitter->keep) {
        emit_held(emitter, pass, tile.count * tile.vector);
        buffer_string(out, "{\n");
    } else {
        buffer_printf(out, "for (INDEX base = 0; base < count; base += %u) {\n",
                      emitter->row_threads * tile.count * tile.vector);
    }
    emit_tile(emitter, &tile, wanted);
    buffer_string(out, "}\n");
}

static void emit_row_stores(const struct emitter *emitter) {
    struct buffer *out = emitter->out;
    const struct program *program = emitter->program;
    for (unsigned i = 0; i < program->instruction_count; i++) {
        const struct program_instruction *self = &program->instructions[i];
        if (self->op != OP_STORE || !passes_row_store(program, &emitter->passes, i))
            continue;
        buffer_printf(out, "if (lane == 0%s)\nSTORE_%s(row%u, 0, value%u);\n",
                      emitter->partial ? " && inside" : "",
                      emit_dtype(program->operands[self->slot].dtype), self->slot, self->a);
    }
}

/* The row of this thread, from `first` on. Threads without a row process the last one again,
 * because all threads must reach the barriers, and store nothing. */
static void emit_row_index(const struct emitter *emitter) {
    struct buffer *out = emitter->out;
    buffer_printf(out, "const UINT32 lane = THREAD_X %% %u;\n", emitter->row_threads);
    if (emitter->partial)
        buffer_printf(out,
                      "const bool inside = first + THREAD_X / %u < rows;\n"
                      "const INDEX row = inside ? first + THREAD_X / %u : rows - 1;\n",
                      emitter->row_threads, emitter->row_threads);
    else
        buffer_string(out, "const INDEX row = first;\n");
    emit_axes(emitter, "row", 0, emitter->program->outer);
}

static void emit_rows(const struct emitter *emitter, const struct kernel_spec *spec) {
    struct buffer *out = emitter->out;
    unsigned in_block = schedule_rows(&spec->program.schedule), number = 0;
    buffer_printf(out, "const INDEX rows = CAST(INDEX, scalars.v[%u]);\n", emitter->scalars.rows);
    buffer_printf(out, "const INDEX count = CAST(INDEX, scalars.v[%u]);\n", emitter->scalars.count);
    buffer_printf(out,
                  "for (INDEX first = CAST(INDEX, BLOCK_X) * %u; first < rows; first += "
                  "CAST(INDEX, GRID_X) * "
                  "%u) {\n",
                  in_block, in_block);
    emit_row_index(emitter);
    emit_row_pointers(emitter);
    for (unsigned level = 0; level < emitter->passes.levels; level++) {
        emit_uniform(emitter, level);
        if (level >= emitter->passes.passes)
            continue;
        emit_accumulators(emitter, level);
        emit_pass(emitter, spec, level);
        emit_results(emitter, level, &number);
    }
    emit_row_stores(emitter);
    if (emitter->scratch)
        buffer_string(out, "BARRIER();\n");
    buffer_string(out, "}\n");
}

/* Words of each scratch array. */
static unsigned scratch_words(const struct emitter *emitter,
                              const struct device_capabilities *device) {
    unsigned subgroup = source_subgroup(device);
    if (emitter->passes.reductions == 0 || emitter->row_threads <= subgroup)
        return 0;
    unsigned threads = emitter->program->schedule.threads;
    return threads / subgroup * (emitter->passes.choices ? 2 : 1);
}

/* The specification's program must be scheduled. */
static void emit_kernel(struct buffer *out, const struct kernel_spec *spec, const char *name,
                        const struct device_capabilities *device) {
    const struct program *program = &spec->program;
    const struct program_schedule *schedule = &program->schedule;
    struct emitter emitter = {
        .out = out,
        .program = program,
        .aligned = (unsigned)spec->choices[CHOICE_ALIGNED],
        .across = (unsigned)spec->choices[CHOICE_ACROSS],
        .row_threads = schedule_row_threads(schedule),
        .keep = schedule->kind != SCHEDULE_ROW_STREAM && schedule->kind != SCHEDULE_ROW_THREAD,
        .partial = schedule->kind != SCHEDULE_MAP && schedule_rows(schedule) > 1};
    passes_plan(program, emitter.keep, &emitter.passes);
    scalar_layout_make(program, &emitter.scalars);
    emitter.scratch = scratch_words(&emitter, device);

    struct source_parameter parameters[PROGRAM_OPERANDS_MAX];
    source_program_parameters(program, parameters);
    buffer_string(out, schedule->wide ? "#define INDEX UINT64\n#define OFFSET INT64\n"
                                      : "#define INDEX UINT32\n#define OFFSET int\n");
    struct source_kernel kernel = {
        .name = name,
        .buffers = parameters,
        .buffer_count = program->operand_count,
        .scalar_count = emitter.scalars.total,
        .threads = schedule->threads,
        .scratch_words = emitter.scratch,
        .scratch_arrays = emitter.passes.reductions > 1 ? 2 : 1,
    };
    source_kernel_begin(out, device, &kernel);
    if (emitter.across)
        emit_transpose_shared(&emitter);
    source_kernel_body(out, device, &kernel);
    emit_constants(&emitter);
    if (emitter.across)
        emit_transpose(&emitter, (unsigned)spec->choices[CHOICE_ACROSS_AXIS]);
    else if (schedule->kind == SCHEDULE_MAP)
        emit_map(&emitter, spec);
    else
        emit_rows(&emitter, spec);
    buffer_string(out, "}\n");
}

static const char *const operand_names[PROGRAM_OPERANDS_MAX] = {
    "operand0",  "operand1",  "operand2",  "operand3", "operand4",  "operand5",
    "operand6",  "operand7",  "operand8",  "operand9", "operand10", "operand11",
    "operand12", "operand13", "operand14", "operand15"};

void source_program_parameters(const struct program *program, struct source_parameter *parameters) {
    for (unsigned i = 0; i < program->operand_count; i++)
        parameters[i] = (struct source_parameter){.name = operand_names[i],
                                                  .dtype = program->operands[i].dtype,
                                                  .stored = program->operands[i].stored};
}

/* n / size is (n * low word) >> high word for n below 2^31: the reciprocal, scaled so that it just
 * fits into 32 bits and rounded up, is off by less than what could be seen. */
static int64_t divisor_of(int64_t size) {
    if (size < 1)
        size = 1;
    unsigned bits = 0;
    while ((int64_t)1 << bits < size)
        bits++;
    uint64_t reciprocal = ((uint64_t)1 << (31 + bits)) / (uint64_t)size + 1;
    return (int64_t)(reciprocal | (uint64_t)(31 + bits) << 32);
}

static int64_t constant_bits(const struct program_shape *shape, unsigned constant) {
    return (uint32_t)shape->constants[constant].i32;
}

static void fill_scalars(const struct program *program, const struct program_shape *shape,
                         const struct scalar_layout *layout, int64_t *scalars) {
    unsigned inner = program->rank > program->outer ? program->outer : 0;
    scalars[layout->rows] = scalars[layout->count] = 1;
    for (unsigned axis = 0; axis < program->rank; axis++) {
        scalars[axis < inner ? layout->rows : layout->count] *= shape->sizes[axis];
        scalars[layout->sizes + axis] = shape->sizes[axis];
        if (!program->schedule.wide)
            scalars[layout->divisors + axis] = divisor_of(shape->sizes[axis]);
    }
    for (unsigned i = 0; i < program->operand_count; i++)
        for (unsigned axis = 0; axis < program->rank; axis++) {
            int number = layout->stride[i][axis];
            uint64_t stride = (uint64_t)shape->strides[i][axis];
            if (number >= 0 && program->schedule.wide)
                scalars[layout->strides + number] = (int64_t)stride;
            else if (number >= 0 && number % 2 == 0)
                scalars[layout->strides + number / 2] = (int64_t)(stride & UINT32_MAX);
            else if (number >= 0)
                scalars[layout->strides + number / 2] |= (int64_t)(stride << 32);
        }
    for (unsigned i = 0; i < program->constant_count; i++)
        scalars[layout->constants + i] = constant_bits(shape, i);
}

/* Rows there must be; they may be empty. */
static bool check_sizes(const struct program *program, const struct program_shape *shape,
                        struct status *status) {
    int64_t elements = 1;
    for (unsigned axis = 0; axis < program->rank; axis++) {
        int64_t size = shape->sizes[axis];
        if (size < 0 || (size == 0 && axis < program->outer))
            return status_fail(status, STATUS_USAGE,
                               "a fused program over an axis of size %lld has no work",
                               (long long)size);
        if (__builtin_mul_overflow(elements, size > 0 ? size : 1, &elements))
            return status_fail(status, STATUS_USAGE, "a fused program has too many elements");
    }
    return true;
}

static void swap_sizes(int64_t *sizes) {
    int64_t first = sizes[0];
    sizes[0] = sizes[1];
    sizes[1] = first;
}

static void swap_axes(const struct program *program, struct program_shape *shape, unsigned axis) {
    swap_sizes(&shape->sizes[axis]);
    for (unsigned i = 0; i < program->operand_count; i++)
        swap_sizes(&shape->strides[i][axis]);
}

/* Without rows the order of the axes is free: the first result's is the best to write in. */
static void order_axes(struct program *program, struct program_shape *shape) {
    unsigned result = 0;
    while (result + 1u < program->operand_count && !program->operands[result].stored)
        result++;
    for (unsigned end = 1; end < program->rank && program->operand_count > 0; end++)
        for (unsigned axis = end; axis > 0 && llabs(shape->strides[result][axis]) >
                                                  llabs(shape->strides[result][axis - 1]);
             axis--)
            swap_axes(program, shape, axis - 1);
}

bool source_program(const struct program *program, const struct program_shape *shape,
                    const struct device_capabilities *device, struct kernel_request *request,
                    struct status *status) {
    struct program_shape collapsed = *shape;
    struct kernel_spec *spec = &request->spec;
    spec->family = KERNEL_PROGRAM;
    spec->has_program = true;
    spec->program = *program;
    if (!check_sizes(program, shape, status))
        return false;
    if (program->rank == program->outer)
        order_axes(&spec->program, &collapsed);
    program_collapse(&spec->program, &collapsed);
    schedule_choose(&spec->program, &collapsed, device, request);
    struct scalar_layout layout;
    scalar_layout_make(&spec->program, &layout);
    if (layout.total > LAUNCH_SCALARS_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "a fused program of %u operands with %u axes needs %u scalars, and a "
                           "launch has at most %d; make the operands contiguous first",
                           spec->program.operand_count, spec->program.rank, layout.total,
                           LAUNCH_SCALARS_MAX);
    request->scalar_count = layout.total;
    fill_scalars(&spec->program, &collapsed, &layout, request->scalars);
    return true;
}

bool source_program_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                         struct kernel_generated *generated, struct status *status) {
    source_prelude(&generated->source, device);
    emit_kernel(&generated->source, spec, generated->name, device);
    return buffer_ok(&generated->source, status);
}
