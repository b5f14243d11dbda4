/* Selects a kernel for a matrix product, and writes the common parts of their source. */
#include "base/array.h"
#include "gen/emit/matmul.h"

#include <string.h>

#include "gen/emit/kernel_file.h"
#include "gen/emit/program.h"
#include "gen/emit/weights.h"

extern const unsigned char embedded_matmul_lanes_h[];

void source_lanes_tail(struct buffer *out) {
    source_section(out, embedded_matmul_lanes_h, NULL);
}

static const struct matmul_kernel *const matmul_kernels[MATMUL_KINDS] = {
    [MATMUL_TILED] = &matmul_tiled,
    [MATMUL_SIMDGROUP] = &matmul_simdgroup,
    [MATMUL_COOPERATIVE] = &matmul_cooperative,
    [MATMUL_SKINNY_ROWS] = &matmul_skinny_rows,
    [MATMUL_SKINNY_COLUMNS] = &matmul_skinny_columns,
    [MATMUL_TENSOR_ROWS] = &matmul_tensor_rows,
    [MATMUL_TENSOR_COLUMNS] = &matmul_tensor_columns,
    [MATMUL_QUANTIZED] = &matmul_quantized,
    [MATMUL_QUANTIZED_TENSOR] = &matmul_quantized_tensor,
};

/* The product's transpose: the roles of A and B, of m and n exchanged. */
static struct matmul_work transposed(const struct matmul_work *work) {
    struct matmul_work other = *work;
    other.a_type = work->b_type;
    other.b_type = work->a_type;
    other.m = work->n;
    other.n = work->m;
    other.a_batch = work->b_batch;
    other.a_row = work->b_column;
    other.a_column = work->b_row;
    other.b_batch = work->a_batch;
    other.b_row = work->a_column;
    other.b_column = work->a_row;
    other.a_alignment = work->b_alignment;
    other.b_alignment = work->a_alignment;
    return other;
}

static bool try_kinds(const struct matmul_work *work, const struct device_capabilities *device,
                      const enum matmul_kind *kinds, unsigned count,
                      struct kernel_request *request) {
    for (unsigned i = 0; i < count; i++) {
        memset(request->spec.choices, 0, sizeof request->spec.choices);
        request->spec.choices[MATMUL_KIND] = (int32_t)kinds[i];
        if (matmul_kernels[kinds[i]]->plan(work, device, request))
            return true;
    }
    return false;
}

static const enum matmul_kind skinny_kinds[] = {MATMUL_TENSOR_ROWS, MATMUL_TENSOR_COLUMNS,
                                                MATMUL_SKINNY_ROWS, MATMUL_SKINNY_COLUMNS};
static const enum matmul_kind quantized_kinds[] = {MATMUL_QUANTIZED_TENSOR, MATMUL_QUANTIZED,
                                                   MATMUL_SIMDGROUP, MATMUL_TILED};
static const enum matmul_kind any_kinds[] = {MATMUL_SIMDGROUP, MATMUL_COOPERATIVE, MATMUL_TILED};

/* Plans a skinny kernel for the work or its transpose, whichever is the skinnier. */
static bool plan_skinny(const struct matmul_work *work, const struct device_capabilities *device,
                        struct matmul_work *seen, struct kernel_request *request) {
    bool swapped = work->n < work->m;
    *seen = swapped ? transposed(work) : *work;
    if (seen->m > MATMUL_SKINNY_M || source_is_quantized(work->b_type) ||
        !try_kinds(seen, device, skinny_kinds, ARRAY_COUNT(skinny_kinds), request))
        return false;
    request->spec.choices[MATMUL_SWAPPED] = swapped;
    return true;
}

bool source_matmul_skinny(const struct matmul_work *work,
                          const struct device_capabilities *device) {
    struct matmul_work seen;
    struct kernel_request request;
    /* One block sums over all of k: with few outputs and many terms the device would be
     * mostly idle. */
    int64_t longer = work->m > work->n ? work->m : work->n;
    if (longer < 256 && work->k > 8192 && device->library_matmul)
        return false;
    return plan_skinny(work, device, &seen, &request);
}

static bool matmul_plan(const struct matmul_work *work, const struct device_capabilities *device,
                        struct matmul_work *seen, struct kernel_request *request) {
    if (plan_skinny(work, device, seen, request))
        return true;
    *seen = *work;
    if (source_is_quantized(work->b_type))
        return try_kinds(work, device, quantized_kinds, ARRAY_COUNT(quantized_kinds), request);
    return try_kinds(work, device, any_kinds, ARRAY_COUNT(any_kinds), request);
}

/* Stride kinds for the code; those of an axis of size 1 are never used. */
static void set_stride_kinds(struct program *program, const struct program_shape *shape) {
    for (unsigned i = 0; i < program->operand_count; i++)
        for (unsigned axis = 0; axis < 3; axis++) {
            int64_t stride = shape->strides[i][axis];
            program->operands[i].strides[axis] = stride == 0 || shape->sizes[axis] == 1
                                                     ? STRIDE_ZERO
                                                 : stride == 1 && axis == 2 ? STRIDE_ONE
                                                                            : STRIDE_ANY;
        }
}

static void set_scalars(const struct matmul_work *seen, struct kernel_request *request) {
    int64_t *scalars = request->scalars;
    scalars[MATMUL_BATCH] = seen->batch;
    scalars[MATMUL_M] = seen->m;
    scalars[MATMUL_N] = seen->n;
    scalars[MATMUL_K] = seen->k;
    scalars[MATMUL_A_BATCH] = seen->a_batch;
    scalars[MATMUL_A_ROW] = seen->a_row;
    scalars[MATMUL_A_COLUMN] = seen->a_column;
    scalars[MATMUL_B_BATCH] = seen->b_batch;
    scalars[MATMUL_B_ROW] = seen->b_row;
    scalars[MATMUL_B_COLUMN] = seen->b_column;
    request->scalar_count =
        MATMUL_SCALARS +
        source_program_scalars(&request->spec.program, &seen->shape, scalars + MATMUL_SCALARS);
}

static bool has_reduction(const struct program *program) {
    for (unsigned i = 0; i < program->instruction_count; i++)
        if (op_is_reduction(program->instructions[i].op))
            return true;
    return false;
}

bool source_matmul(const struct matmul_work *work, const struct device_capabilities *device,
                   struct kernel_request *request, struct status *status) {
    if (work->epilogue.rank != 3 || has_reduction(&work->epilogue))
        return status_fail(status, STATUS_USAGE,
                           "a matrix product's epilogue is elementwise over [batch, m, n]");
    if (source_is_quantized(work->b_type) &&
        (work->b_row != 1 || (work->n > 1 && work->b_column != work->k)))
        return status_fail(status, STATUS_USAGE,
                           "a quantized matrix is multiplied as the transpose of [n, k]");
    struct matmul_work seen;
    request->grid[1] = request->grid[2] = 1;
    request->spec.family = KERNEL_MATMUL;
    request->spec.types[0] = (uint8_t)work->a_type;
    request->spec.types[1] = (uint8_t)work->b_type;
    if (!matmul_plan(work, device, &seen, request))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "no kernel multiplies %s by %s on this device",
                           ridge_dtype_name(work->a_type), ridge_dtype_name(work->b_type));
    request->spec.has_program = true;
    request->spec.program = work->epilogue;
    set_stride_kinds(&request->spec.program, &work->shape);
    set_scalars(&seen, request);
    request->block[0] = (uint32_t)request->spec.choices[MATMUL_THREADS];
    request->block[1] = request->block[2] = 1;
    return true;
}

bool source_matmul_code(const struct kernel_spec *spec, const struct device_capabilities *device,
                        struct kernel_generated *generated, struct status *status) {
    int32_t kind = spec->choices[MATMUL_KIND];
    if (kind < 0 || kind >= MATMUL_KINDS)
        return status_fail(status, STATUS_USAGE, "unknown kind %d of matrix product", kind);
    source_device_prelude(&generated->source, device);
    matmul_kernels[kind]->code(spec, device, generated);
    return true;
}

static void operand_macros(struct buffer *out, char letter, enum ridge_dtype type) {
    const char *name = source_type_name(type);
    if (source_is_quantized(type))
        source_weights(out, type);
    buffer_printf(out, "#define TYPE_%c %s\n", letter, source_storage(type));
    buffer_printf(out, "#define LOAD_%c(p, i) LOAD_%s(p, i)\n", letter, name);
    for (int width = 2; width <= 8; width *= 2)
        buffer_printf(out, "#define LOAD_%c_%d(p, x, first) LOAD_%s_%d(p, x, first)\n", letter,
                      width, name, width);
    buffer_printf(out, "#define LOAD_%c_1(p, x, first) ((x)[first] = LOAD_%s(p, 0))\n", letter,
                  name);
}

static const char *const scalar_names[MATMUL_SCALARS] = {
    [MATMUL_BATCH] = "BATCHES",     [MATMUL_M] = "SIZE_M",        [MATMUL_N] = "SIZE_N",
    [MATMUL_K] = "SIZE_K",          [MATMUL_A_BATCH] = "A_BATCH", [MATMUL_A_ROW] = "A_ROW",
    [MATMUL_A_COLUMN] = "A_COLUMN", [MATMUL_B_BATCH] = "B_BATCH", [MATMUL_B_ROW] = "B_ROW",
    [MATMUL_B_COLUMN] = "B_COLUMN",
};

void source_matmul_macros(struct buffer *out, const struct kernel_spec *spec) {
    bool swapped = spec->choices[MATMUL_SWAPPED];
    operand_macros(out, 'A', spec->types[swapped ? 1 : 0]);
    operand_macros(out, 'B', spec->types[swapped ? 0 : 1]);
    source_define(out, "THREADS", spec->choices[MATMUL_THREADS]);
    for (int i = 0; i < MATMUL_SCALARS; i++)
        buffer_printf(out, "#define %s scalars.v[%d]\n", scalar_names[i], i);
}

void source_matmul_begin(const struct kernel_spec *spec, const struct device_capabilities *device,
                         struct kernel_generated *generated, unsigned blocks_per_unit,
                         const unsigned char *file, const char *shared) {
    bool swapped = spec->choices[MATMUL_SWAPPED];
    struct source_parameter buffers[2 + PROGRAM_OPERANDS_MAX] = {
        {.name = swapped ? "b" : "a", .dtype = spec->types[0]},
        {.name = swapped ? "a" : "b", .dtype = spec->types[1]},
    };
    source_program_parameters(&spec->program, buffers + 2);
    struct source_kernel kernel = {
        .name = generated->name,
        .buffers = buffers,
        .buffer_count = 2u + spec->program.operand_count,
        .scalar_count = MATMUL_SCALARS + source_program_scalars(&spec->program, NULL, NULL),
        .threads = (unsigned)spec->choices[MATMUL_THREADS],
        .blocks_per_unit = blocks_per_unit,
        .dynamic_shared = generated->code.shared_max > 0,
    };
    source_kernel_begin(&generated->source, device, &kernel);
    if (shared)
        source_section(&generated->source, file, shared);
    source_kernel_body(&generated->source, device, &kernel);
}

void source_matmul_epilogue(struct buffer *out, const struct kernel_spec *spec,
                            const struct device_capabilities *device, const char *accumulator) {
    bool swapped = spec->choices[MATMUL_SWAPPED];
    source_epilogue(out, &spec->program, device->language, MATMUL_SCALARS, accumulator, "batch",
                    swapped ? "column" : "row", swapped ? "row" : "column");
}
