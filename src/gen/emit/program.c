/* Requests for and code of fused programs, and the epilogues of matrix products. */
#include "gen/emit/program.h"

#include <stdlib.h>

#include "gen/backends.h"
#include "gen/emit/emit_kernel.h"
#include "gen/emit/schedule.h"

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
    source_prelude(&generated->source, device->language, false);
    emit_kernel(&generated->source, spec, generated->name, device->language);
    return buffer_ok(&generated->source, status);
}
