/* Kernel source of fused programs: what it depends on, that every available compiler accepts it,
 * and that it computes the right results on every device that runs source. */
#include "../test.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/cuda/compile.h"
#include "gen/emit/dialect.h"
#include "gen/emit/program.h"
#include "gen/emit/schedule.h"
#include "program_reference.h"
#include "source_run.h"

/* ---- Programs ---------------------------------------------------------------------------- */

struct example {
    struct program program;
    struct program_shape shape;
};

static struct example space(unsigned outer, unsigned rank, const int64_t *sizes) {
    struct example example = {.program = {.rank = (uint8_t)rank, .outer = (uint8_t)outer}};
    memcpy(example.shape.sizes, sizes, rank * sizeof *sizes);
    return example;
}

/* An operand with these strides; NULL: row-major. */
static unsigned operand(struct example *example, enum ridge_dtype dtype, bool stored,
                        const int64_t *strides) {
    unsigned slot = (unsigned)program_operand(&example->program, dtype, stored);
    int64_t dense = 1;
    for (unsigned axis = example->program.rank; axis-- > 0;) {
        example->shape.strides[slot][axis] = strides ? strides[axis] : dense;
        dense *= example->shape.sizes[axis];
    }
    example->shape.alignment[slot] = 16;
    return slot;
}

static unsigned emit(struct example *example, enum op op, enum value_type type, unsigned a,
                     unsigned b, unsigned c) {
    return (unsigned)program_instruction(&example->program,
                                         (struct program_instruction){.op = (uint8_t)op,
                                                                      .type = (uint8_t)type,
                                                                      .a = (uint16_t)a,
                                                                      .b = (uint16_t)b,
                                                                      .c = (uint16_t)c});
}

static unsigned emit_float(struct example *example, enum op op, unsigned a, unsigned b) {
    return emit(example, op, VALUE_F32, a, b, 0);
}

static unsigned slot_instruction(struct example *example, enum op op, enum value_type type,
                                 unsigned slot, unsigned a) {
    return (unsigned)program_instruction(
        &example->program,
        (struct program_instruction){
            .op = (uint8_t)op, .type = (uint8_t)type, .slot = (uint8_t)slot, .a = (uint16_t)a});
}

static unsigned load(struct example *example, unsigned slot) {
    return slot_instruction(example, OP_LOAD, value_type_of(example->program.operands[slot].dtype),
                            slot, 0);
}

static void store(struct example *example, unsigned slot, unsigned a) {
    slot_instruction(example, OP_STORE, VALUE_F32, slot, a);
}

static void store_of_row(struct example *example, unsigned slot, unsigned a) {
    store(example, slot, a);
    example->program.instructions[example->program.instruction_count - 1].of_row = 1;
}

static unsigned constant(struct example *example, float value) {
    unsigned slot = example->program.constant_count++;
    example->shape.constants[slot].f32 = value;
    return slot_instruction(example, OP_CONSTANT, VALUE_F32, slot, 0);
}

static void softmax(struct example *example, unsigned from, unsigned to) {
    unsigned x = load(example, from);
    unsigned most = emit_float(example, OP_REDUCE_MAX, x, 0);
    unsigned powers = emit_float(example, OP_EXP, emit_float(example, OP_SUB, x, most), 0);
    unsigned sum = emit_float(example, OP_REDUCE_SUM, powers, 0);
    store(example, to, emit_float(example, OP_DIV, powers, sum));
}

static struct example softmax_of(enum ridge_dtype dtype, int64_t rows, int64_t length) {
    struct example example = space(1, 2, (int64_t[]){rows, length});
    unsigned from = operand(&example, dtype, false, NULL);
    softmax(&example, from, operand(&example, dtype, true, NULL));
    return example;
}

static struct example layer_norm_of(enum ridge_dtype dtype, int64_t rows, int64_t length) {
    struct example example = space(1, 2, (int64_t[]){rows, length});
    unsigned from = operand(&example, dtype, false, NULL);
    unsigned weight = operand(&example, RIDGE_F32, false, (int64_t[]){0, 1});
    unsigned to = operand(&example, dtype, true, NULL);
    unsigned x = load(&example, from), share = constant(&example, 1.0f / (float)length);
    unsigned sum = emit_float(&example, OP_REDUCE_SUM, x, 0);
    unsigned apart = emit_float(&example, OP_SUB, x, emit_float(&example, OP_MUL, sum, share));
    unsigned squares = emit_float(&example, OP_SQUARE, apart, 0);
    unsigned variance =
        emit_float(&example, OP_MUL, emit_float(&example, OP_REDUCE_SUM, squares, 0), share);
    unsigned scale = emit_float(
        &example, OP_RSQRT, emit_float(&example, OP_ADD, variance, constant(&example, 1e-5f)), 0);
    unsigned scaled = emit_float(&example, OP_MUL, apart, scale);
    store(&example, to, emit_float(&example, OP_MUL, scaled, load(&example, weight)));
    return example;
}

/* All five reductions of each row; rows are `step` apart, elements `stride`. */
static struct example reductions_of(enum ridge_dtype dtype, int64_t rows, int64_t length,
                                    int64_t step, int64_t stride) {
    struct example example = space(1, 2, (int64_t[]){rows, length});
    unsigned x = load(&example, operand(&example, dtype, false, (int64_t[]){step, stride}));
    enum value_type type = value_type_of(dtype);
    for (unsigned i = 0; i < 5; i++) {
        enum op op = (enum op)(OP_REDUCE_SUM + i);
        bool index = op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN;
        unsigned to = operand(&example, index || type == VALUE_I32 ? RIDGE_I32 : RIDGE_F32, true,
                              (int64_t[]){1, 0});
        store_of_row(&example, to, emit(&example, op, index ? VALUE_I32 : type, x, 0, 0));
    }
    return example;
}

/* Every operation that has an expression in this type; the sum of their results is stored. */
static struct example operations_of(enum value_type type, int64_t size) {
    struct example example = space(1, 1, (int64_t[]){size});
    enum ridge_dtype dtype = type == VALUE_F32 ? RIDGE_F32 : RIDGE_I32;
    unsigned x = load(&example, operand(&example, dtype, false, NULL));
    unsigned y = load(&example, operand(&example, dtype, false, NULL));
    unsigned z = load(&example, operand(&example, dtype, false, NULL));
    unsigned t = load(&example, operand(&example, RIDGE_U8, false, NULL));
    unsigned to = operand(&example, dtype, true, NULL), total = x;
    for (unsigned op = 0; op < OP_ELEMENTWISE_COUNT; op++) {
        const struct op_info *info = op_info((enum op)op);
        if (!(type == VALUE_F32 ? info->f32 : info->i32))
            continue;
        bool truth = info->rule == RULE_COMPARE || info->rule == RULE_LOGIC;
        unsigned result = emit(&example, (enum op)op, truth ? VALUE_I32 : type,
                               info->rule == RULE_WHERE ? t : x, y, z);
        if (truth && type == VALUE_F32)
            result = emit(&example, OP_TO_F32, VALUE_F32, result, 0, 0);
        total = emit(&example, OP_ADD, type, total, result, 0);
    }
    store(&example, to, total);
    return example;
}

/* ---- Requests and text -------------------------------------------------------------------- */

static struct device_capabilities gpu(enum device_language language) {
    return (struct device_capabilities){.language = language,
                                        .compute_units = 132,
                                        .subgroup = language == LANGUAGE_OPENCL ? 1 : 32,
                                        .block_max = 1024,
                                        .threads_per_unit = 2048,
                                        .shared_bytes = 48 << 10,
                                        .major = 9};
}

/* The source of a program on a device; kernel_generated_finish() it. */
static bool source_of(const struct example *example, enum device_language language,
                      struct kernel_request *request, struct kernel_generated *generated) {
    struct device_capabilities device = gpu(language);
    struct status status = {0};
    bool ok = kernel_program(&example->program, &example->shape, &device, request, &status) &&
              kernel_generate(&request->spec, &device, generated, &status);
    CHECK_OK(ok, status);
    return ok;
}

/* Whether the part of the source that is not the prelude has this in it. */
static bool source_says(const struct example *example, const char *text) {
    struct kernel_request request;
    struct kernel_generated generated;
    if (!source_of(example, LANGUAGE_CUDA, &request, &generated))
        return false;
    const char *own = strstr(generated.code.source, "#define INDEX UINT32");
    bool says = own && strstr(own, text);
    kernel_generated_finish(&generated);
    return says;
}

static enum schedule_kind kind_of(const struct example *example) {
    struct device_capabilities device = gpu(LANGUAGE_CUDA);
    struct kernel_request request;
    struct status status = {0};
    CHECK_OK(kernel_program(&example->program, &example->shape, &device, &request, &status),
             status);
    return request.spec.program.schedule.kind;
}

TEST(rows_are_laid_out_by_their_length_and_direction) {
    struct example example = softmax_of(RIDGE_F16, 8192, 256);
    CHECK_INT(kind_of(&example), SCHEDULE_ROW_GROUP);
    example = softmax_of(RIDGE_F16, 8192, 4096);
    CHECK_INT(kind_of(&example), SCHEDULE_ROW_BLOCK);
    example = softmax_of(RIDGE_F16, 8192, 200000);
    CHECK_INT(kind_of(&example), SCHEDULE_ROW_STREAM);
    example = reductions_of(RIDGE_F32, 4096, 4096, 1, 4096);
    CHECK_INT(kind_of(&example), SCHEDULE_ROW_THREAD);
    example = operations_of(VALUE_F32, 1000);
    CHECK_INT(kind_of(&example), SCHEDULE_MAP);
}

TEST(rows_that_fill_their_tile_exactly_are_not_checked) {
    struct example exact = softmax_of(RIDGE_F16, 8192, 4096);
    struct example ragged = softmax_of(RIDGE_F16, 8192, 4000);
    CHECK(!source_says(&exact, "at < count"));
    CHECK(source_says(&ragged, "at < count"));
}

TEST(aligned_neighbors_are_loaded_sixteen_bytes_at_a_time) {
    struct example example = softmax_of(RIDGE_F16, 64, 4096);
    CHECK(source_says(&example, "LOAD_F16_8(") && source_says(&example, "STORE_F16_8("));
    example.shape.alignment[0] = 2;
    CHECK(!source_says(&example, "LOAD_F16_8(") && source_says(&example, "STORE_F16_8("));
    example = softmax_of(RIDGE_F16, 64, 4095);
    CHECK(!source_says(&example, "STORE_F16_8("));
}

TEST(other_sizes_and_constants_share_the_source) {
    unsigned char keys[2][sizeof(struct kernel_spec)];
    size_t lengths[2];
    for (unsigned i = 0; i < 2; i++) {
        struct example example = layer_norm_of(RIDGE_F16, 1000 + 100 * i, 4096);
        example.shape.constants[1].f32 = i ? 1e-3f : 1e-6f;
        struct device_capabilities device = gpu(LANGUAGE_CUDA);
        struct kernel_request request;
        struct status status = {0};
        REQUIRE(kernel_program(&example.program, &example.shape, &device, &request, &status));
        lengths[i] = kernel_spec_key(&request.spec, keys[i], sizeof keys[i]);
    }
    CHECK(lengths[0] == lengths[1] && memcmp(keys[0], keys[1], lengths[0]) == 0);
}

/* Operands that cannot be joined: all of them with `rank` strides of their own. */
static struct example scattered(unsigned operands, unsigned rank, int64_t apart) {
    int64_t sizes[RIDGE_RANK_MAX], strides[RIDGE_RANK_MAX];
    for (unsigned axis = 0; axis < rank; axis++)
        sizes[axis] = 2;
    struct example example = space(rank, rank, sizes);
    unsigned total = 0;
    for (unsigned i = 0; i < operands; i++) {
        for (unsigned axis = 0; axis < rank; axis++)
            strides[axis] = (apart + i) * (1 + (axis * 5 + i) % 7);
        unsigned slot = operand(&example, RIDGE_F32, i + 1 == operands, strides);
        if (i == 0)
            total = load(&example, slot);
        else if (i + 1 < operands)
            total = emit_float(&example, OP_ADD, total, load(&example, slot));
        else
            store(&example, slot, total);
    }
    return example;
}

TEST(the_scalars_of_the_largest_program_fit_a_launch) {
    struct example example = scattered(PROGRAM_OPERANDS_MAX, RIDGE_RANK_MAX, 3);
    for (unsigned i = 0; i < PROGRAM_CONSTANTS_MAX; i++)
        constant(&example, 1.0f);
    struct device_capabilities device = gpu(LANGUAGE_OPENCL);
    struct kernel_request request;
    struct status status = {0};
    CHECK_OK(kernel_program(&example.program, &example.shape, &device, &request, &status), status);
    CHECK(request.scalar_count <= LAUNCH_SCALARS_MAX);
    example = scattered(PROGRAM_OPERANDS_MAX, RIDGE_RANK_MAX, INT64_C(1) << 33);
    CHECK(!kernel_program(&example.program, &example.shape, &device, &request, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "contiguous") != NULL);
}

TEST(sizes_that_make_no_launch_are_refused) {
    struct device_capabilities device = gpu(LANGUAGE_CUDA);
    struct kernel_request request;
    struct status status = {0};
    struct example example = softmax_of(RIDGE_F32, 0, 10);
    CHECK(!kernel_program(&example.program, &example.shape, &device, &request, &status));
    CHECK(strstr(status.message, "size 0") != NULL);
    example = softmax_of(RIDGE_F32, INT64_MAX / 2, 1);
    example.shape.sizes[1] = 3;
    CHECK(!kernel_program(&example.program, &example.shape, &device, &request, &status));
    CHECK(strstr(status.message, "too many elements") != NULL);
}

TEST(a_few_long_rows_are_cut_into_parts) {
    struct device_capabilities device = gpu(LANGUAGE_CUDA);
    int64_t parts = 0;
    struct example whole = reductions_of(RIDGE_F32, 1, 100000000, 1, 1);
    program_collapse(&whole.program, &whole.shape);
    CHECK(source_split_reduction(&whole.program, &whole.shape, &device, &parts));
    CHECK(parts >= 132 && 100000000 % parts == 0);
    struct example columns = reductions_of(RIDGE_F32, 4096, 8192, 1, 4096);
    program_collapse(&columns.program, &columns.shape);
    CHECK(source_split_reduction(&columns.program, &columns.shape, &device, &parts));
    CHECK(parts >= 8 && 8192 % parts == 0);
    struct example many = reductions_of(RIDGE_F32, 8192, 4096, 4096, 1);
    program_collapse(&many.program, &many.shape);
    CHECK(!source_split_reduction(&many.program, &many.shape, &device, &parts));
}

TEST(an_epilogue_is_applied_at_the_indices_it_is_given) {
    struct example example = space(3, 3, (int64_t[]){2, 3, 4});
    unsigned bias = operand(&example, RIDGE_F16, false, (int64_t[]){0, 0, 1});
    unsigned to = operand(&example, RIDGE_BF16, true, NULL);
    unsigned product = emit(&example, OP_ACCUMULATOR, VALUE_F32, 0, 0, 0);
    unsigned sum = emit_float(&example, OP_ADD, product, load(&example, bias));
    store(&example, to, emit_float(&example, OP_MUL, sum, constant(&example, 2.0f)));
    program_set_strides(&example.program, &example.shape);
    int64_t scalars[SOURCE_EPILOGUE_SCALARS_MAX];
    unsigned count = source_program_scalars(&example.program, &example.shape, scalars);
    CHECK_INT(count, 3);
    CHECK(scalars[0] == 12 && scalars[1] == 4 && scalars[2] == 0x40000000);
    CHECK_INT(source_program_scalars(&example.program, NULL, NULL), 3);
    struct buffer out = {0};
    CHECK(source_epilogue(&out, &example.program, LANGUAGE_CUDA, 7, "sum[i]", "b", "r + i", "c"));
    buffer_byte(&out, 0);
    CHECK(strstr(out.data, "epilogue_row = r + i") != NULL);
    CHECK(strstr(out.data, "LOAD_F16(operand0, 0 + epilogue_column)") != NULL);
    CHECK(strstr(out.data, "STORE_BF16(operand1, 0 + epilogue_batch * scalars.v[7] + epilogue_row *"
                           " scalars.v[8] + epilogue_column") != NULL);
    CHECK(strstr(out.data, "AS_FLOAT(CAST(UINT32, scalars.v[9]))") != NULL);
    buffer_finish(&out);
    struct example rows = softmax_of(RIDGE_F32, 4, 4);
    CHECK(!source_epilogue(&out, &rows.program, LANGUAGE_CUDA, 0, "x", "b", "r", "c"));
    CHECK(out.length == 0);
    buffer_finish(&out);
}

TEST(metal_gets_its_buffers_by_number) {
    struct example example = softmax_of(RIDGE_F16, 64, 1000);
    struct kernel_request request;
    struct kernel_generated generated;
    REQUIRE(source_of(&example, LANGUAGE_METAL, &request, &generated));
    CHECK(strstr(generated.code.source, "kernel void rows_amax_sub_exp_sum_div_f16("
                                        "device const UINT16 *operand0 [[buffer(0)]]") != NULL);
    CHECK(strstr(generated.code.source, "&scalars [[buffer(2)]]") != NULL);
    kernel_generated_finish(&generated);
}

TEST(generating_source_survives_every_failed_allocation) {
    struct example example = layer_norm_of(RIDGE_BF16, 64, 1000);
    struct device_capabilities device = gpu(LANGUAGE_OPENCL);
    struct kernel_request request;
    struct status status = {0};
    REQUIRE(kernel_program(&example.program, &example.shape, &device, &request, &status));
    bool ok = false;
    for (uint64_t nth = 1; nth < 100 && !ok; nth++) {
        struct kernel_generated generated;
        memory_fail_from(nth);
        ok = kernel_generate(&request.spec, &device, &generated, &status);
        memory_fail_from(0);
        CHECK(ok || status.code == STATUS_MEMORY);
        if (ok)
            kernel_generated_finish(&generated);
    }
    CHECK(ok);
}

/* ---- Compilers ---------------------------------------------------------------------------- */

static void check_compiles(const struct example *example) {
    struct kernel_request request;
    struct kernel_generated generated;
    if (!source_of(example, LANGUAGE_CUDA, &request, &generated))
        return;
    struct buffer binary = {0};
    struct status status = {0};
    CHECK_OK(cuda_compile(generated.code.source, generated.code.source_length, generated.name, 9, 0,
                          false, &binary, &status),
             status);
    CHECK(binary.length > 0);
    buffer_finish(&binary);
    kernel_generated_finish(&generated);
}

TEST(nvrtc_takes_the_source_of_every_schedule) {
    struct status status = {0};
    if (!cuda_compiler_ready(9, 0, &status)) {
        test_skip(status.message);
        return;
    }
    struct example example = operations_of(VALUE_I32, 1001);
    check_compiles(&example);
    example = layer_norm_of(RIDGE_F16, 64, 300);
    check_compiles(&example);
    example = reductions_of(RIDGE_BF16, 64, 4000, 4000, 1);
    check_compiles(&example);
    example = reductions_of(RIDGE_F32, 64, 100, 1, 64);
    check_compiles(&example);
}

/* ---- Devices ------------------------------------------------------------------------------ */

static uint32_t seed;

/* -3 to 3 in 4096ths; integers are small, so that many are equal. */
static void set_next(void *array, enum ridge_dtype dtype, int64_t i) {
    seed = seed * 1664525u + 1013904223u;
    double value = (double)((seed >> 8) % 24576) / 4096 - 3;
    if (dtype == RIDGE_U8)
        ((uint8_t *)array)[i] = (uint8_t)(seed >> 9 & 1);
    else if (dtype == RIDGE_I32)
        ((int32_t *)array)[i] = (int32_t)(value * 20);
    else
        set_element(array, dtype, i, value);
}

static int64_t extent_of(const struct example *example, unsigned slot) {
    int64_t extent = 1;
    for (unsigned axis = 0; axis < example->program.rank; axis++)
        extent += (example->shape.sizes[axis] - 1) * example->shape.strides[slot][axis];
    return extent;
}

/* Runs the example on the device and in double; results may be off by `tolerance` and by what
 * storing them rounds away. */
static void check_run(struct device *device, const struct example *example, double tolerance,
                      const char *label) {
    struct source_array arrays[PROGRAM_OPERANDS_MAX] = {0};
    void *buffers[PROGRAM_OPERANDS_MAX] = {0};
    double *expected[PROGRAM_OPERANDS_MAX] = {0};
    const struct program *program = &example->program;
    for (unsigned i = 0; i < program->operand_count; i++) {
        enum ridge_dtype dtype = program->operands[i].dtype;
        int64_t extent = extent_of(example, i);
        arrays[i].bytes = ridge_dtype_bytes(dtype, extent);
        arrays[i].data = buffers[i] = calloc(1, arrays[i].bytes);
        arrays[i].offset = example->shape.alignment[i] == 16 ? 16 : example->shape.alignment[i];
        expected[i] = calloc((size_t)extent, sizeof(double));
        for (int64_t k = 0; k < extent; k++)
            set_next(buffers[i], dtype, k);
    }
    reference_run(program, &example->shape, buffers, expected);
    struct kernel_request request;
    struct status status = {0};
    CHECK_OK(kernel_program(program, &example->shape, &device->capabilities, &request, &status) &&
                 source_run(device, &request, arrays, program->operand_count, &status),
             status);
    for (unsigned i = 0; i < program->operand_count; i++) {
        enum ridge_dtype dtype = program->operands[i].dtype;
        double rounding = dtype == RIDGE_F16 ? 0x1p-11 : dtype == RIDGE_BF16 ? 0x1p-8 : 0;
        for (int64_t k = 0; k < extent_of(example, i) && program->operands[i].stored; k++) {
            double got = element(buffers[i], dtype, k), want = expected[i][k];
            if (!(fabs(got - want) <= (tolerance + rounding) * (fabs(want) + 1))) {
                test_failed(__FILE__, __LINE__, "%s: operand %u [%lld] is %.9g, not %.9g", label, i,
                            (long long)k, got, want);
                break;
            }
        }
    }
    for (unsigned i = 0; i < program->operand_count; i++) {
        free(buffers[i]);
        free(expected[i]);
    }
}

TEST(generated_programs_of_every_schedule_compute_what_they_say) {
    FOR_EACH_SOURCE_DEVICE(device) {
        seed = 1;
        struct example example = softmax_of(RIDGE_F16, 21, 100);
        check_run(device, &example, 1e-6, "short rows");
        example = layer_norm_of(RIDGE_BF16, 5, 2100);
        check_run(device, &example, 3e-6, "a block for each row");
        example = reductions_of(RIDGE_F32, 3, 40000, 40000, 1);
        check_run(device, &example, 1e-6, "long rows");
        example = reductions_of(RIDGE_I32, 40, 33, 1, 40);
        check_run(device, &example, 0, "columns");
    }
}

TEST(layouts_of_elementwise_programs_may_be_mixed) {
    FOR_EACH_SOURCE_DEVICE(device) {
        seed = 2;
        struct example example = space(2, 2, (int64_t[]){45, 67});
        unsigned dense = load(&example, operand(&example, RIDGE_F16, false, NULL));
        unsigned across = load(&example, operand(&example, RIDGE_F32, false, (int64_t[]){1, 45}));
        unsigned row = load(&example, operand(&example, RIDGE_BF16, false, (int64_t[]){0, 1}));
        unsigned column = load(&example, operand(&example, RIDGE_F32, false, (int64_t[]){1, 0}));
        unsigned one = load(&example, operand(&example, RIDGE_F32, false, (int64_t[]){0, 0}));
        unsigned sum = emit_float(&example, OP_ADD, emit_float(&example, OP_MUL, dense, across),
                                  emit_float(&example, OP_SUB, row, column));
        store(&example, operand(&example, RIDGE_F32, true, NULL),
              emit_float(&example, OP_ADD, sum, one));
        check_run(device, &example, 1e-6, "broadcast and transposed");
        example = space(1, 1, (int64_t[]){1001});
        unsigned x = load(&example, operand(&example, RIDGE_F16, false, NULL));
        unsigned y = load(&example, operand(&example, RIDGE_F16, false, NULL));
        example.shape.alignment[0] = 2;
        store(&example, operand(&example, RIDGE_U8, true, NULL),
              emit(&example, OP_LESS, VALUE_I32, x, y, 0));
        check_run(device, &example, 0, "misaligned, with a tail");
    }
}
