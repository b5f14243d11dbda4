/* Compiled functions give the same results as eager calls, in few kernels. */
#include "compiled.h"

#include <math.h>

/* The eager results come first: the function may assign to its inputs. */
static void compare(ridge_tensor *const *got, ridge_tensor *const *eager, unsigned count,
                    double tolerance, double least) {
    for (unsigned i = 0; i < count; i++) {
        if (!got[i] || !eager[i]) {
            case_fail("output %u is missing: %s", i, ridge_error_message());
            return;
        }
        struct array expected = array_read(eager[i]);
        if (!expected.values)
            return;
        double *slack = case_memory((size_t)expected.count + 1, sizeof *slack), largest = least;
        for (int64_t j = 0; j < expected.count; j++)
            if (isfinite(expected.values[j]))
                largest = fmax(largest, fabs(expected.values[j]));
        enum ridge_dtype dtype = ridge_tensor_dtype(eager[i]);
        for (int64_t j = 0; j < expected.count; j++)
            slack[j] = is_float(dtype) ? tolerance * largest : 0;
        expect_array(got[i], dtype, &expected, 0, slack);
    }
}

/* The same elements on another device. */
static ridge_tensor *copied(ridge_tensor *x, ridge_device *to) {
    int64_t sizes[RIDGE_RANK_MAX];
    unsigned rank = ridge_tensor_rank(x);
    for (unsigned axis = 0; axis < rank; axis++)
        sizes[axis] = ridge_tensor_size(x, (int)axis);
    void *data = case_memory(ridge_tensor_bytes(x) + 1, 1);
    if (!x || !ridge_to_host(x, data, ridge_tensor_bytes(x)))
        return NULL;
    return ridge_from_host(to, ridge_tensor_dtype(x), rank, sizes, data);
}

/* The result of the function without compilation. */
static bool run_eagerly(ridge_function *function, void *context, ridge_device *device,
                        ridge_tensor *const *inputs, unsigned count, ridge_tensor **outputs) {
    if (device == session.device)
        return function(context, inputs, outputs);
    ridge_tensor *copies[INPUTS_MAX] = {NULL};
    for (unsigned i = 0; i < count; i++)
        copies[i] = copied(inputs[i], device);
    return function(context, copies, outputs);
}

void expect_as_eager(ridge_function *function, void *context, ridge_tensor *const *inputs,
                     unsigned input_count, unsigned output_count, double tolerance, double least,
                     struct ridge_program_info *info) {
    ridge_tensor *eager[OUTPUTS_MAX] = {NULL}, *got[OUTPUTS_MAX] = {NULL};
    ridge_program *program = ridge_compile(function, context, inputs, input_count, output_count);
    if (!program) {
        case_fail("it does not compile: %s", ridge_error_message());
        return;
    }
    ridge_device *other = session.quick ? ridge_device_open("cpu") : NULL;
    ridge_scope_begin();
    if (!run_eagerly(function, context, other ? other : session.device, inputs, input_count, eager))
        case_fail("it fails eagerly: %s", ridge_error_message());
    for (int run = 0; run < 2; run++)
        if (ridge_program_run(program, inputs, got))
            compare(got, eager, output_count, tolerance, least);
        else
            case_fail("it does not run: %s", ridge_error_message());
    if (info)
        CASE_CHECK(ridge_program_describe(program, info));
    ridge_program_release(program);
    ridge_scope_end();
    ridge_device_close(other);
}

/* ---- Functions ---- */

static bool chain(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *x = in[0];
    for (int i = 0; i < 5; i++)
        x = ridge_tanh(ridge_add_scalar(ridge_mul_scalar(ridge_sin(x), 1.5), 0.25));
    return (out[0] = x) != NULL;
}

static bool diamond(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *x = ridge_sigmoid(in[0]);
    ridge_tensor *left = ridge_exp(x), *right = ridge_square(x);
    out[0] = ridge_mul(ridge_add(left, right), ridge_sub(left, x));
    return out[0] != NULL;
}

static bool softmax(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    return (out[0] = ridge_softmax(in[0], -1)) != NULL;
}

static bool reduction_between(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *squares = ridge_sum(ridge_square(ridge_sub(in[0], in[1])), 1, (int[]){1}, true);
    out[0] = ridge_div(ridge_add(in[0], in[1]), ridge_sqrt(ridge_add_scalar(squares, 1)));
    return out[0] != NULL;
}

static bool column_reduction(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *mean = ridge_mean(ridge_exp(ridge_mul_scalar(in[0], 0.1)), 1, (int[]){0}, false);
    out[0] = ridge_log(mean);
    return out[0] != NULL;
}

static bool two_reductions(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *rows = ridge_sum(in[0], 1, (int[]){1}, true);
    ridge_tensor *columns = ridge_sum(in[0], 1, (int[]){0}, true);
    out[0] = ridge_sub(ridge_mul(rows, columns), in[0]);
    return out[0] != NULL;
}

static bool norms(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *weight = ridge_select(in[1], 0, 0), *bias = ridge_select(in[1], 0, 1);
    ridge_tensor *x = ridge_add(in[0], in[1]);
    ridge_tensor *normal = ridge_layer_norm(x, weight, bias, 1e-5f);
    out[0] = ridge_gelu(normal);
    out[1] = ridge_rms_norm(ridge_mul_scalar(x, 2), weight, 1e-6f);
    return out[0] && out[1];
}

static bool matmul_epilogue(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *product = ridge_matmul(in[0], ridge_transpose(in[1], 0, 1));
    out[0] = ridge_relu(ridge_add(product, ridge_select(in[2], 0, 0)));
    return out[0] != NULL;
}

static bool matmul_chain(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *hidden =
        ridge_silu(ridge_matmul(ridge_tanh(in[0]), ridge_transpose(in[1], 0, 1)));
    ridge_tensor *back = ridge_matmul(hidden, ridge_slice(in[1], 0, 0, INT64_MAX, 1));
    out[0] = ridge_softmax(ridge_add(back, in[0]), -1);
    out[1] = hidden;
    return out[0] && out[1];
}

static bool dead_code(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *unused = ridge_matmul(in[0], ridge_transpose(in[1], 0, 1));
    ridge_softmax(unused, 0);
    return (out[0] = ridge_cos(in[0])) != NULL;
}

static bool twice_the_same(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *a = ridge_softmax(ridge_sin(in[0]), -1), *b = ridge_softmax(ridge_sin(in[0]), -1);
    return (out[0] = ridge_add(a, b)) != NULL;
}

static bool views_between(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *turned = ridge_transpose(ridge_exp(ridge_mul_scalar(in[0], 0.1)), 0, 1);
    ridge_tensor *part = ridge_slice(ridge_cos(turned), 0, 1, INT64_MAX, 3);
    int64_t rows = ridge_tensor_size(part, 0), columns = ridge_tensor_size(part, 1);
    ridge_tensor *flat = ridge_reshape(part, 1, (const int64_t[]){rows * columns});
    out[0] = ridge_mul(flat, flat);
    out[1] = ridge_slice(ridge_add(turned, turned), 1, 2, 5, 1);
    return out[0] && out[1];
}

static bool joined(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *parts[3] = {ridge_sin(in[0]), in[1], ridge_neg(in[0])};
    ridge_tensor *whole = ridge_cat(parts, 3, 1), *thirds[3];
    if (!ridge_split(ridge_abs(whole), 3, 1, thirds))
        return false;
    out[0] = ridge_square(whole);
    out[1] = ridge_sub(thirds[2], ridge_stack(thirds, 2, 0));
    return out[0] && out[1];
}

static bool inputs_as_outputs(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    out[0] = ridge_retain(in[0]);
    out[1] = ridge_slice(in[1], 0, 1, 3, 1);
    out[2] = ridge_add(in[0], in[1]);
    out[3] = ridge_retain(out[2]);
    return out[0] && out[1] && out[2] && out[3];
}

static bool mixed_types(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *positive = ridge_greater(in[0], in[1]);
    ridge_tensor *whole = ridge_cast(ridge_mul_scalar(in[0], 10), RIDGE_I32);
    out[0] = ridge_where(positive, in[0], ridge_neg(in[1]));
    out[1] = ridge_mod(whole, ridge_add_scalar(ridge_abs(whole), 3));
    out[2] = ridge_sum(ridge_cast(positive, RIDGE_I32), 0, NULL, false);
    out[3] = ridge_argmax(ridge_sub(in[0], in[1]), 1, false);
    return out[0] && out[1] && out[2] && out[3];
}

static bool half_precision(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *x = ridge_cast(in[0], RIDGE_F16), *y = ridge_cast(in[1], RIDGE_BF16);
    out[0] = ridge_rms_norm(ridge_add(x, ridge_sigmoid(x)), NULL, 1e-5f);
    out[1] = ridge_cast(ridge_mul(y, ridge_tanh(y)), RIDGE_F32);
    return out[0] && out[1];
}

static bool constants(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_device *device = ridge_tensor_device(in[0]);
    ridge_tensor *ones = ridge_full(device, RIDGE_F32, 1, (const int64_t[]){1}, 1);
    out[0] = ridge_sub(ridge_add(in[0], ones), ridge_arange(device, RIDGE_F32, 45, 0, 1));
    return out[0] != NULL;
}

static bool model(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    ridge_tensor *heads = ridge_reshape(in[0], SIZES(1, 2, 37, 22));
    ridge_tensor *places = ridge_arange(ridge_tensor_device(in[0]), RIDGE_I32, 37, 3, 1);
    ridge_tensor *q = ridge_rope(heads, places, 10000, false);
    ridge_tensor *mixed = ridge_attention(q, ridge_tanh(heads), heads, 0.2f, true);
    out[0] = ridge_add(ridge_reshape(mixed, SIZES(37, 44)), in[0]);
    return out[0] != NULL;
}

/* The first few are also in a quick run. */
enum { QUICK_PROGRAMS = 5 };
static const struct program_case {
    const char *name;
    ridge_function *function;
    unsigned outputs;
    int64_t sizes[2]; /* of both inputs */
    double tolerance; /* relative to the largest element */
    unsigned kernels; /* at most; 0: unspecified */
} programs[] = {
    {"reduction between", reduction_between, 1, {37, 45}, 1e-5, 1},
    {"norms", norms, 2, {37, 45}, 1e-5, 0},
    {"matmul chain", matmul_chain, 2, {37, 45}, 1e-5, 0},
    {"views between", views_between, 2, {37, 45}, 1e-6, 0},
    {"mixed types", mixed_types, 4, {37, 45}, 1e-6, 0},
    {"chain", chain, 1, {37, 45}, 1e-6, 1},
    {"diamond", diamond, 1, {37, 45}, 1e-6, 1},
    {"softmax", softmax, 1, {37, 45}, 1e-6, 1},
    {"column reduction", column_reduction, 1, {37, 45}, 1e-5, 2},
    {"two reductions", two_reductions, 1, {37, 45}, 1e-5, 3},
    {"matmul epilogue", matmul_epilogue, 1, {45, 45}, 1e-5, 0},
    {"dead code", dead_code, 1, {37, 45}, 1e-6, 1},
    {"twice the same", twice_the_same, 1, {37, 45}, 1e-6, 1},
    {"joined", joined, 2, {37, 45}, 1e-6, 0},
    {"inputs as outputs", inputs_as_outputs, 4, {37, 45}, 0, 0},
    {"half precision", half_precision, 2, {37, 45}, 8e-3, 0},
    {"constants", constants, 1, {37, 45}, 1e-6, 0},
    {"model", model, 1, {37, 44}, 1e-5, 0},
    {"chain of one", chain, 1, {1, 1}, 1e-6, 1},
    {"norms of one row", norms, 2, {2, 1}, 1e-5, 0},
    {"softmax of nothing", softmax, 1, {0, 5}, 0, 0},
    {"long softmax", softmax, 1, {2, 50000}, 1e-6, 0},
    {"long reduction", reduction_between, 1, {3, 40000}, 1e-5, 0},
};

static void noise_inputs(ridge_tensor **inputs, const int64_t *sizes) {
    for (unsigned i = 0; i < 3; i++) {
        struct array x = array_noise(RIDGE_F32, 2, sizes, -3, 3, 90 + i);
        inputs[i] = array_tensor(&x, RIDGE_F32, i == 1 ? PADDED : CONTIGUOUS);
    }
}

static void check_program(const struct program_case *row) {
    if (!case_begin("compiled %s", row->name))
        return;
    ridge_tensor *inputs[3];
    noise_inputs(inputs, row->sizes);
    struct ridge_program_info info = {0};
    expect_as_eager(row->function, NULL, inputs, 3, row->outputs, row->tolerance, 0, &info);
    if (row->kernels && info.kernels > row->kernels)
        case_fail("%u operations became %u kernels, not %u", info.operations, info.kernels,
                  row->kernels);
    CASE_CHECK(info.bytes <= info.eager_bytes);
    /* Each is planned in whole lines of 256 bytes. */
    if (info.intermediate_bytes > info.eager_intermediate_bytes + 256 * info.operations)
        case_fail("%llu bytes of intermediates are planned, eagerly they are %llu",
                  (unsigned long long)info.intermediate_bytes,
                  (unsigned long long)info.eager_intermediate_bytes);
    case_end();
}

/* 20 operations on each element: one kernel, counted as such. */
static void check_chain_info(void) {
    if (!case_begin("compiled chain of 20 described"))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(1000), -1, 1, 3);
    ridge_tensor *input = array_tensor(&x, RIDGE_F32, CONTIGUOUS);
    struct ridge_program_info info = {0};
    expect_as_eager(chain, NULL, &input, 1, 1, 1e-6, 0, &info);
    CASE_CHECK(info.operations == 20);
    CASE_CHECK(info.kernels == 1);
    CASE_CHECK(info.flops == 20 * 1000);
    CASE_CHECK(info.bytes == 8 * 1000);
    CASE_CHECK(info.eager_bytes == 20 * 8 * 1000);
    CASE_CHECK(info.intermediate_bytes == 0);
    CASE_CHECK(info.eager_intermediate_bytes == 19 * 4 * 1000);
    case_end();
}

static bool linear_relu(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    out[0] = ridge_relu(ridge_add(ridge_matmul(in[0], in[1]), in[2]));
    return out[0] != NULL;
}

static void check_matmul_kernels(void) {
    if (!case_begin("compiled matmul, bias and relu are one kernel"))
        return;
    ridge_tensor *inputs[3];
    noise_inputs(inputs, (const int64_t[]){64, 64});
    struct ridge_program_info info = {0};
    expect_as_eager(linear_relu, NULL, inputs, 3, 1, 1e-6, 0, &info);
    CASE_CHECK(info.operations == 3);
    CASE_CHECK(info.kernels == 1 || (!session.native && info.kernels == 2));
    CASE_CHECK(info.flops >= 2 * 64 * 64 * 64);
    case_end();
}

/* A compiled function that writes into its input: a counter and a cache. */
static bool assigning(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    (void)context;
    if (!ridge_assign(ridge_slice(in[0], 0, 1, 3, 1), ridge_mul_scalar(in[1], 2)))
        return false;
    out[0] = ridge_add(in[0], in[0]);
    return out[0] != NULL;
}

static void check_assign(void) {
    if (!case_begin("compiled assign"))
        return;
    struct array target = array_noise(RIDGE_F32, SIZES(5, 30), -1, 1, 1);
    struct array source = array_noise(RIDGE_F32, SIZES(2, 30), -1, 1, 2);
    ridge_tensor *inputs[2] = {array_tensor(&target, RIDGE_F32, CONTIGUOUS),
                               array_tensor(&source, RIDGE_F32, CONTIGUOUS)};
    ridge_program *program = ridge_compile(assigning, NULL, inputs, 2, 1);
    ridge_tensor *out = NULL;
    expect_exactly(inputs[0], RIDGE_F32, &target); /* compiling runs nothing */
    if (!program || !ridge_program_run(program, inputs, &out))
        case_fail("%s", ridge_error_message());
    for (int64_t i = 0; i < 60; i++)
        target.values[30 + i] = 2 * source.values[i];
    expect_exactly(inputs[0], RIDGE_F32, &target);
    for (int64_t i = 0; i < target.count; i++)
        target.values[i] *= 2;
    expect_exactly(out, RIDGE_F32, &target);
    ridge_program_release(program);
    case_end();
}

/* One program for many shapes and types: each is traced on first use. */
static void check_retracing(void) {
    if (!case_begin("compiled for other shapes and types"))
        return;
    struct array first = array_noise(RIDGE_F32, SIZES(4, 9), -1, 1, 1);
    ridge_tensor *input = array_tensor(&first, RIDGE_F32, CONTIGUOUS);
    ridge_program *program = ridge_compile(softmax, NULL, &input, 1, 1);
    CASE_CHECK(program != NULL);
    for (int64_t size = 1; size < 40; size += session.native ? 3 : 19) {
        enum ridge_dtype dtype = size % 2 ? RIDGE_F32 : RIDGE_F16;
        struct array x = array_noise(dtype, SIZES(size, 40 - size), -2, 2, (uint64_t)size);
        for (int round = 0; round < 2; round++) {
            ridge_tensor *tensor = array_tensor(&x, dtype, round ? TRANSPOSED : CONTIGUOUS);
            ridge_tensor *out = NULL;
            if (!ridge_program_run(program, &tensor, &out))
                case_fail("%s", ridge_error_message());
            struct array expected = array_read(ridge_softmax(tensor, -1));
            if (expected.values)
                expect_array(out, dtype, &expected, 2, NULL);
        }
    }
    ridge_program_release(program);
    case_end();
}

/* Tensors that the function uses but are not its inputs are captured. */
static bool captures(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    return (out[0] = ridge_matmul(in[0], ridge_tanh(context))) != NULL;
}

static void check_captures(void) {
    if (!case_begin("compiled with captured tensors"))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(5, 20), -1, 1, 1);
    struct array w = array_noise(RIDGE_F32, SIZES(20, 7), -1, 1, 2);
    ridge_tensor *input = array_tensor(&x, RIDGE_F32, CONTIGUOUS);
    expect_as_eager(captures, array_tensor(&w, RIDGE_F32, TRANSPOSED), &input, 1, 1, 1e-6, 0, NULL);
    case_end();
}

void check_compiled(void) {
    unsigned count = session.quick ? QUICK_PROGRAMS : sizeof programs / sizeof programs[0];
    for (unsigned i = 0; i < count; i++)
        check_program(&programs[i]);
    check_chain_info();
    check_matmul_kernels();
    check_assign();
    if (session.quick)
        return;
    check_retracing();
    check_captures();
}
