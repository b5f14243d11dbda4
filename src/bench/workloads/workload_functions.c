/* The table of workloads: the shapes of their inputs, the function, the reference and its
 * accuracy in f32.
 *
 * Weights are scaled by the square root of the number of terms in a sum, so that outputs have
 * about the magnitude of inputs and fit every type. Sizes come from the user: their products
 * saturate instead of overflowing.
 */
#include <math.h>

#include "bench/workloads/workload.h"
#include "bench/workloads/workload_references.h"
#include "tensor/tensor.h"

#define NORM_EPSILON 1e-5
#define LORA_SCALE 2.0

static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t rows_of(const struct bench_case *work) {
    return work->batch > 0 ? work->batch : 1;
}

static struct workload_input vector(enum ridge_dtype dtype, int64_t count) {
    return (struct workload_input){.rank = 1, .sizes = {count}, .scale = 1, .dtype = dtype};
}

/* Small beside the rest. */
static struct workload_input fixed_vector(enum ridge_dtype dtype, int64_t count) {
    struct workload_input input = vector(dtype, count);
    input.fixed = true;
    return input;
}

static struct workload_input matrix(enum ridge_dtype dtype, int64_t rows, int64_t columns) {
    return (struct workload_input){.rank = 2, .sizes = {rows, columns}, .scale = 1, .dtype = dtype};
}

/* A matrix whose sums have `terms` terms. */
static struct workload_input weight(enum ridge_dtype dtype, int64_t rows, int64_t columns,
                                    int64_t terms) {
    struct workload_input input = matrix(dtype, rows, columns);
    input.scale = 1 / sqrt((double)(terms > 0 ? terms : 1));
    return input;
}

/* ---- Elementwise ------------------------------------------------------------------------ */

static void shape_one(const struct bench_case *work, struct workload_shape *shape) {
    *shape = (struct workload_shape){
        .inputs = {vector(work->dtype, work->size)}, .input_count = 1, .outputs = work->size};
}

static void shape_two(const struct bench_case *work, struct workload_shape *shape) {
    shape_one(work, shape);
    shape->inputs[shape->input_count++] = vector(work->dtype, work->size);
}

static void shape_three(const struct bench_case *work, struct workload_shape *shape) {
    shape_two(work, shape);
    shape->inputs[shape->input_count++] = vector(work->dtype, work->size);
}

static void shape_two_then(const struct bench_case *work, struct workload_shape *shape) {
    shape_two(work, shape);
    shape->operations = 2;
}

static void shape_three_then(const struct bench_case *work, struct workload_shape *shape) {
    shape_three(work, shape);
    shape->operations = 2;
}

static void shape_exp(const struct bench_case *work, struct workload_shape *shape) {
    shape_one(work, shape);
    shape->exponentials = (uint64_t)work->size;
}

static void shape_chain(const struct bench_case *work, struct workload_shape *shape) {
    shape_one(work, shape);
    shape->operations = 4 * CHAIN_ROUNDS;
    shape->trigonometry = shape->exponentials = (uint64_t)times(2 * CHAIN_ROUNDS, work->size);
}

static bool call_chain(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    ridge_tensor *x = inputs[0];
    for (unsigned i = 0; i < CHAIN_ROUNDS; i++)
        x = ridge_log(ridge_exp(ridge_cos(ridge_sin(x))));
    return (outputs[0] = x) != NULL;
}

/* A function that is one expression of its inputs and its shape's first number. */
#define CALL(name, expression)                                                                     \
    static bool call_##name(void *context, ridge_tensor *const *in, ridge_tensor **outputs) {      \
        const struct workload_shape *shape = context;                                              \
        (void)shape;                                                                               \
        return (outputs[0] = (expression)) != NULL;                                                \
    }

CALL(add, ridge_add(in[0], in[1]))
CALL(mul, ridge_mul(in[0], in[1]))
CALL(exp, ridge_exp(in[0]))
CALL(relu, ridge_relu(in[0]))
CALL(gelu, ridge_gelu(in[0]))
CALL(add_relu, ridge_add_relu(in[0], in[1]))
CALL(add_then_relu, ridge_relu(ridge_add(in[0], in[1])))
CALL(mul_relu, ridge_mul_relu(in[0], in[1]))
CALL(mul_then_relu, ridge_relu(ridge_mul(in[0], in[1])))
CALL(affine, ridge_affine(in[0], in[1], in[2]))
CALL(mul_then_add, ridge_add(ridge_mul(in[0], in[1]), in[2]))
CALL(softmax, ridge_softmax(in[0], -1))
CALL(layer_norm, ridge_layer_norm(in[0], in[1], in[2], (float)shape->numbers[0]))
CALL(rms_norm, ridge_rms_norm(in[0], in[1], (float)shape->numbers[0]))
CALL(sum, ridge_sum(in[0], 0, NULL, false))
CALL(row_max, ridge_amax(in[0], 1, (const int[]){-1}, false))
CALL(matmul, ridge_matmul(in[0], in[1]))
CALL(matmul_relu, ridge_matmul_activation(in[0], in[1], NULL, RIDGE_ACTIVATION_RELU))
CALL(matmul_then_relu, ridge_relu(ridge_matmul(in[0], in[1])))
CALL(linear, ridge_linear(in[0], in[1], NULL, RIDGE_ACTIVATION_NONE))
CALL(lora, ridge_lora(in[0], in[1], in[2], in[3], (float)shape->numbers[0]))
CALL(gated_mlp, ridge_gated_mlp(in[0], in[1], in[2], in[3]))
CALL(attention, ridge_attention(in[0], in[1], in[2], (float)shape->numbers[0], true))
CALL(rmsnorm_linear, ridge_linear(ridge_rms_norm(in[0], in[1], (float)shape->numbers[0]), in[2],
                                  NULL, RIDGE_ACTIVATION_NONE))
CALL(mlp, ridge_matmul(ridge_matmul_activation(ridge_matmul_activation(in[0], in[1], NULL,
                                                                       RIDGE_ACTIVATION_RELU),
                                               in[2], NULL, RIDGE_ACTIVATION_RELU),
                       in[3]))

/* ---- Rows ------------------------------------------------------------------------------- */

static void shape_rows(const struct bench_case *work, struct workload_shape *shape) {
    *shape = (struct workload_shape){.inputs = {matrix(work->dtype, rows_of(work), work->size)},
                                     .input_count = 1,
                                     .outputs = times(rows_of(work), work->size)};
}

static void shape_softmax(const struct bench_case *work, struct workload_shape *shape) {
    shape_rows(work, shape);
    shape->exponentials = (uint64_t)shape->outputs;
}

static void shape_rms_norm(const struct bench_case *work, struct workload_shape *shape) {
    shape_rows(work, shape);
    shape->inputs[shape->input_count++] = fixed_vector(work->dtype, work->size);
    shape->numbers[0] = NORM_EPSILON;
}

static void shape_layer_norm(const struct bench_case *work, struct workload_shape *shape) {
    shape_rms_norm(work, shape);
    shape->inputs[shape->input_count++] = fixed_vector(work->dtype, work->size);
}

static void shape_sum(const struct bench_case *work, struct workload_shape *shape) {
    shape_one(work, shape);
    shape->outputs = 1;
    shape->magnitude = sqrt((double)work->size);
}

static void shape_row_max(const struct bench_case *work, struct workload_shape *shape) {
    int64_t width = work->numbers[0] > 0 ? work->numbers[0] : 1;
    if (width > work->size)
        width = work->size;
    int64_t rows = width > 0 ? work->size / width : 0;
    *shape = (struct workload_shape){
        .inputs = {matrix(work->dtype, rows, width)}, .input_count = 1, .outputs = rows};
}

/* ---- Products --------------------------------------------------------------------------- */

static void shape_matmul(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size, rows = work->batch > 0 ? work->batch : size;
    *shape = (struct workload_shape){
        .inputs = {matrix(work->dtype, rows, size), weight(work->dtype, size, size, size)},
        .input_count = 2,
        .outputs = times(rows, size),
        .product = true};
}

static void shape_matmul_then(const struct bench_case *work, struct workload_shape *shape) {
    shape_matmul(work, shape);
    shape->operations = 2;
}

/* Quantised weights meet f16 activations, as in models. */
static void shape_linear(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size;
    enum ridge_dtype dtype = dtype_is_quantised(work->dtype) ? RIDGE_F16 : work->dtype;
    *shape = (struct workload_shape){
        .inputs = {matrix(dtype, rows_of(work), size), weight(work->dtype, size, size, size)},
        .input_count = 2,
        .outputs = times(rows_of(work), size),
        .product = true};
}

static void shape_lora(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size, rank = work->numbers[0], rows = rows_of(work);
    *shape = (struct workload_shape){
        .inputs = {matrix(work->dtype, rows, size), weight(work->dtype, size, size, size),
                   weight(work->dtype, size, rank, size), weight(work->dtype, rank, size, rank)},
        .input_count = 4,
        .outputs = times(rows, size),
        .numbers = {LORA_SCALE},
        .product = true};
}

static void shape_gated_mlp(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size, hidden = work->numbers[0], rows = rows_of(work);
    *shape = (struct workload_shape){.inputs = {matrix(work->dtype, rows, size),
                                                weight(work->dtype, size, hidden, size),
                                                weight(work->dtype, size, hidden, size),
                                                weight(work->dtype, hidden, size, hidden)},
                                     .input_count = 4,
                                     .outputs = times(rows, size),
                                     .exponentials = (uint64_t)times(rows, hidden),
                                     .product = true,
                                     .row_values = plus(size, times(2, hidden))};
}

/* Of a query and a key that it sees. */
static int64_t causal_pairs(int64_t tokens) {
    return tokens % 2 ? times(tokens, tokens / 2 + 1) : times(tokens / 2, plus(tokens, 1));
}

static void shape_attention(const struct bench_case *work, struct workload_shape *shape) {
    int64_t tokens = work->size, batch = rows_of(work), heads = work->numbers[0],
            width = work->numbers[1];
    struct workload_input input = {
        .rank = 4, .sizes = {batch, heads, tokens, width}, .scale = 1, .dtype = work->dtype};
    *shape = (struct workload_shape){.inputs = {input, input, input},
                                     .input_count = 3,
                                     .outputs = times(times(times(batch, heads), tokens), width),
                                     .numbers = {1 / sqrt((double)width)},
                                     .exponentials =
                                         (uint64_t)times(times(batch, heads), causal_pairs(tokens)),
                                     .product = true,
                                     .row_values = tokens};
}

static void shape_rmsnorm_linear(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size, rows = rows_of(work);
    *shape = (struct workload_shape){.inputs = {matrix(work->dtype, rows, size),
                                                fixed_vector(work->dtype, size),
                                                weight(work->dtype, size, size, size)},
                                     .input_count = 3,
                                     .outputs = times(rows, size),
                                     .numbers = {NORM_EPSILON},
                                     .product = true,
                                     .operations = 2};
}

static void shape_mlp(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size, rows = rows_of(work);
    struct workload_input layer = weight(work->dtype, size, size, size);
    *shape =
        (struct workload_shape){.inputs = {matrix(work->dtype, rows, size), layer, layer, layer},
                                .input_count = 4,
                                .outputs = times(rows, size),
                                .product = true,
                                .operations = 3,
                                .row_values = times(2, size)};
}

/* ---- The table -------------------------------------------------------------------------- */

/* X(workload and its function, shape, reference, tolerance of f32) */
#define WORKLOADS(X)                                                                               \
    X(chain, chain, chain, 1e-5)                                                                   \
    X(add, two, add, 1e-6)                                                                         \
    X(mul, two, mul, 1e-6)                                                                         \
    X(exp, exp, exp, 1e-6)                                                                         \
    X(relu, one, relu, 1e-6)                                                                       \
    X(gelu, one, gelu, 2e-6)                                                                       \
    X(add_relu, two, add_relu, 1e-6)                                                               \
    X(add_then_relu, two_then, add_relu, 1e-6)                                                     \
    X(mul_relu, two, mul_relu, 1e-6)                                                               \
    X(mul_then_relu, two_then, mul_relu, 1e-6)                                                     \
    X(affine, three, affine, 1e-6)                                                                 \
    X(mul_then_add, three_then, affine, 1e-6)                                                      \
    X(softmax, softmax, softmax, 1e-5)                                                             \
    X(layer_norm, layer_norm, layer_norm, 1e-5)                                                    \
    X(rms_norm, rms_norm, rms_norm, 1e-5)                                                          \
    X(sum, sum, sum, 1e-4)                                                                         \
    X(row_max, row_max, row_max, 1e-6)                                                             \
    X(matmul, matmul, matmul, 1e-4)                                                                \
    X(matmul_relu, matmul, matmul_relu, 1e-4)                                                      \
    X(matmul_then_relu, matmul_then, matmul_relu, 1e-4)                                            \
    X(linear, linear, linear, 1e-4)                                                                \
    X(lora, lora, lora, 1e-4)                                                                      \
    X(gated_mlp, gated_mlp, gated_mlp, 1e-4)                                                       \
    X(attention, attention, attention, 1e-4)                                                       \
    X(rmsnorm_linear, rmsnorm_linear, rmsnorm_linear, 1e-4)                                        \
    X(mlp, mlp, mlp, 1e-4)

#define DEFINE(word, shape_word, reference_word, exactness)                                        \
    const struct workload workload_##word = {.name = #word,                                        \
                                             .shape = shape_##shape_word,                          \
                                             .function = call_##word,                              \
                                             .reference = reference_##reference_word,              \
                                             .tolerance = exactness};
WORKLOADS(DEFINE)
