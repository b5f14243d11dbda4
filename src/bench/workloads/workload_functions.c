/* The table of workloads: the shapes of their inputs, the function, the reference and its
 * accuracy in f32.
 *
 * Weights are scaled by the square root of the number of terms in a sum, so that outputs have
 * about the magnitude of inputs and fit every type. Sizes come from the user: their products
 * saturate instead of overflowing.
 */
#include <math.h>

#include "bench/workloads/workload.h"
#include "tensor/tensor.h"

enum { CHAIN_ROUNDS = 5 }; /* of sin, cos, exp, log */

/* The expected outputs: textbook formulas in double precision, one element at a time and as
 * simple as possible. Nothing is shared with the kernels under test.
 *
 * Where all elements of a row need the same intermediate results (a hidden layer, the weights
 * of attention), these are computed for the first one and kept until another row is requested.
 */

static int64_t size_of(const struct host_inputs *inputs, unsigned input, unsigned axis) {
    return inputs->shape->inputs[input].sizes[axis];
}

static double relu(double x) {
    return x > 0 ? x : 0;
}

static double silu(double x) {
    return x / (1 + exp(-x));
}

/* ---- Elementwise ------------------------------------------------------------------------ */

static double reference_chain(const struct host_inputs *inputs, int64_t index) {
    double x = inputs->data[0][index];
    for (unsigned i = 0; i < CHAIN_ROUNDS; i++)
        x = log(exp(cos(sin(x))));
    return x;
}

static double reference_add(const struct host_inputs *inputs, int64_t index) {
    return (double)inputs->data[0][index] + (double)inputs->data[1][index];
}

static double reference_mul(const struct host_inputs *inputs, int64_t index) {
    return (double)inputs->data[0][index] * (double)inputs->data[1][index];
}

static double reference_exp(const struct host_inputs *inputs, int64_t index) {
    return exp(inputs->data[0][index]);
}

static double reference_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(inputs->data[0][index]);
}

static double reference_gelu(const struct host_inputs *inputs, int64_t index) {
    double x = inputs->data[0][index];
    return x / 2 * (1 + erf(x / sqrt(2)));
}

static double reference_add_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(reference_add(inputs, index));
}

static double reference_mul_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(reference_mul(inputs, index));
}

static double reference_affine(const struct host_inputs *inputs, int64_t index) {
    return reference_mul(inputs, index) + (double)inputs->data[2][index];
}

/* ---- Rows ------------------------------------------------------------------------------- */

static double reference_sum(const struct host_inputs *inputs, int64_t index) {
    double sum = 0;
    (void)index;
    for (int64_t i = 0; i < size_of(inputs, 0, 0); i++)
        sum += inputs->data[0][i];
    return sum;
}

static double largest(const float *row, int64_t width) {
    double largest = row[0];
    for (int64_t i = 1; i < width; i++)
        largest = fmax(largest, row[i]);
    return largest;
}

static double reference_row_max(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1);
    return largest(inputs->data[0] + index * width, width);
}

static double reference_softmax(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1);
    const float *row = inputs->data[0] + index / width * width;
    double top = largest(row, width), sum = 0;
    for (int64_t i = 0; i < width; i++)
        sum += exp(row[i] - top);
    return exp(row[index % width] - top) / sum;
}

static double reference_layer_norm(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1);
    const float *row = inputs->data[0] + index / width * width;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < width; i++)
        mean += row[i] / (double)width;
    for (int64_t i = 0; i < width; i++)
        variance += (row[i] - mean) * (row[i] - mean) / (double)width;
    double scale = 1 / sqrt(variance + inputs->shape->numbers[0]);
    int64_t column = index % width;
    return (row[column] - mean) * scale * inputs->data[1][column] + inputs->data[2][column];
}

static double rms_scale(const float *row, int64_t width, double epsilon) {
    double square = 0;
    for (int64_t i = 0; i < width; i++)
        square += (double)row[i] * row[i] / (double)width;
    return 1 / sqrt(square + epsilon);
}

static double reference_rms_norm(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1), column = index % width;
    const float *row = inputs->data[0] + index / width * width;
    return row[column] * rms_scale(row, width, inputs->shape->numbers[0]) * inputs->data[1][column];
}

static double reference_rmsnorm_linear(const struct host_inputs *inputs, int64_t index) {
    int64_t in = size_of(inputs, 0, 1), out = size_of(inputs, 2, 0);
    const float *row = inputs->data[0] + index / out * in;
    const float *weight = inputs->data[2] + index % out * in;
    double scale = rms_scale(row, in, inputs->shape->numbers[0]), sum = 0;
    for (int64_t i = 0; i < in; i++)
        sum += row[i] * scale * inputs->data[1][i] * weight[i];
    return sum;
}

/* ---- Products --------------------------------------------------------------------------- */

/* Element (row of a, column of b) of [m, k] x [k, n]. */
static double product(const float *a, const float *b, int64_t k, int64_t n, int64_t index) {
    const float *row = a + index / n * k;
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += (double)row[i] * b[i * n + index % n];
    return sum;
}

static double reference_matmul(const struct host_inputs *inputs, int64_t index) {
    return product(inputs->data[0], inputs->data[1], size_of(inputs, 1, 0), size_of(inputs, 1, 1),
                   index);
}

static double reference_matmul_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(reference_matmul(inputs, index));
}

static double reference_linear(const struct host_inputs *inputs, int64_t index) {
    int64_t in = size_of(inputs, 1, 1), out = size_of(inputs, 1, 0);
    const float *row = inputs->data[0] + index / out * in;
    const float *weight = inputs->data[1] + index % out * in;
    double sum = 0;
    for (int64_t i = 0; i < in; i++)
        sum += (double)row[i] * weight[i];
    return sum;
}

static double reference_lora(const struct host_inputs *inputs, int64_t index) {
    int64_t in = size_of(inputs, 1, 0), out = size_of(inputs, 1, 1), rank = size_of(inputs, 2, 1);
    int64_t row = index / out;
    double low = 0;
    for (int64_t r = 0; r < rank; r++)
        low += product(inputs->data[0], inputs->data[2], in, rank, row * rank + r) *
               inputs->data[3][r * out + index % out];
    return product(inputs->data[0], inputs->data[1], in, out, index) +
           inputs->shape->numbers[0] * low;
}

/* to = from x b, for a row of k numbers and b [k, n]; b is walked as it lies in memory. */
static void row_product(const double *from, const float *b, int64_t k, int64_t n, double *to) {
    for (int64_t j = 0; j < n; j++)
        to[j] = 0;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
            to[j] += from[i] * b[i * n + j];
}

static double column_product(const double *from, const float *b, int64_t k, int64_t n,
                             int64_t column) {
    double sum = 0;
    for (int64_t i = 0; i < k; i++)
        sum += from[i] * b[i * n + column];
    return sum;
}

static void copy_row(const float *from, int64_t count, double *to) {
    for (int64_t i = 0; i < count; i++)
        to[i] = from[i];
}

/* Keeps x, the gate's side and the hidden layer: in + 2 * hidden numbers. */
static double reference_gated_mlp(const struct host_inputs *inputs, int64_t index) {
    int64_t in = size_of(inputs, 1, 0), hidden = size_of(inputs, 1, 1), out = size_of(inputs, 3, 1);
    struct reference_row *kept = inputs->kept;
    double *x = kept->values, *gate = x + in, *layer = gate + hidden;
    if (kept->row != index / out) {
        kept->row = index / out;
        copy_row(inputs->data[0] + kept->row * in, in, x);
        row_product(x, inputs->data[1], in, hidden, gate);
        row_product(x, inputs->data[2], in, hidden, layer);
        for (int64_t i = 0; i < hidden; i++)
            layer[i] *= silu(gate[i]);
    }
    return column_product(layer, inputs->data[3], hidden, out, index % out);
}

/* Keeps two layers' outputs: 2 * width numbers. */
static double reference_mlp(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 1, 0);
    struct reference_row *kept = inputs->kept;
    double *first = kept->values, *second = first + width;
    if (kept->row != index / width) {
        kept->row = index / width;
        copy_row(inputs->data[0] + kept->row * width, width, second);
        row_product(second, inputs->data[1], width, width, first);
        for (int64_t i = 0; i < width; i++)
            first[i] = relu(first[i]);
        row_product(first, inputs->data[2], width, width, second);
        for (int64_t i = 0; i < width; i++)
            second[i] = relu(second[i]);
    }
    return column_product(second, inputs->data[3], width, width, index % width);
}

/* Keeps the share that each key has in a query's result. */
static double reference_attention(const struct host_inputs *inputs, int64_t index) {
    int64_t tokens = size_of(inputs, 0, 2), width = size_of(inputs, 0, 3);
    int64_t query = index / width, head = query / tokens, seen = query % tokens + 1;
    const float *q = inputs->data[0] + query * width;
    const float *k = inputs->data[1] + head * tokens * width;
    const float *v = inputs->data[2] + head * tokens * width;
    struct reference_row *kept = inputs->kept;
    double *share = kept->values;
    if (kept->row != query) {
        double top = -INFINITY, sum = 0;
        kept->row = query;
        for (int64_t key = 0; key < seen; key++) {
            share[key] = 0;
            for (int64_t i = 0; i < width; i++)
                share[key] += (double)q[i] * k[key * width + i];
            share[key] *= inputs->shape->numbers[0];
            top = fmax(top, share[key]);
        }
        for (int64_t key = 0; key < seen; key++)
            sum += share[key] = exp(share[key] - top);
        for (int64_t key = 0; key < seen; key++)
            share[key] /= sum;
    }
    return column_product(share, v, seen, width, index % width);
}

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
/* Their matrices are [in, out] in memory. */
static ridge_tensor *turned(ridge_tensor *matrix) {
    return matrix ? ridge_transpose(matrix, 0, 1) : NULL;
}
CALL(lora, ridge_lora(in[0], turned(in[1]), turned(in[2]), turned(in[3]), (float)shape->numbers[0]))
CALL(gated_mlp, ridge_gated_mlp(in[0], turned(in[1]), turned(in[2]), turned(in[3])))
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

/* Quantized weights meet f16 activations, as in models. */
static void shape_linear(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size;
    enum ridge_dtype dtype = dtype_is_quantized(work->dtype) ? RIDGE_F16 : work->dtype;
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
