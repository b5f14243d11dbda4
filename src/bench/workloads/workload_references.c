/* The expected outputs: textbook formulas in double precision, one element at a time and as
 * simple as possible. Nothing is shared with the kernels under test.
 *
 * Where all elements of a row need the same intermediate results (a hidden layer, the weights
 * of attention), these are computed for the first one and kept until another row is requested.
 */
#include "bench/workloads/workload_references.h"

#include <math.h>

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

double reference_chain(const struct host_inputs *inputs, int64_t index) {
    double x = inputs->data[0][index];
    for (unsigned i = 0; i < CHAIN_ROUNDS; i++)
        x = log(exp(cos(sin(x))));
    return x;
}

double reference_add(const struct host_inputs *inputs, int64_t index) {
    return (double)inputs->data[0][index] + (double)inputs->data[1][index];
}

double reference_mul(const struct host_inputs *inputs, int64_t index) {
    return (double)inputs->data[0][index] * (double)inputs->data[1][index];
}

double reference_exp(const struct host_inputs *inputs, int64_t index) {
    return exp(inputs->data[0][index]);
}

double reference_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(inputs->data[0][index]);
}

double reference_gelu(const struct host_inputs *inputs, int64_t index) {
    double x = inputs->data[0][index];
    return x / 2 * (1 + erf(x / sqrt(2)));
}

double reference_add_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(reference_add(inputs, index));
}

double reference_mul_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(reference_mul(inputs, index));
}

double reference_affine(const struct host_inputs *inputs, int64_t index) {
    return reference_mul(inputs, index) + (double)inputs->data[2][index];
}

/* ---- Rows ------------------------------------------------------------------------------- */

double reference_sum(const struct host_inputs *inputs, int64_t index) {
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

double reference_row_max(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1);
    return largest(inputs->data[0] + index * width, width);
}

double reference_softmax(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1);
    const float *row = inputs->data[0] + index / width * width;
    double top = largest(row, width), sum = 0;
    for (int64_t i = 0; i < width; i++)
        sum += exp(row[i] - top);
    return exp(row[index % width] - top) / sum;
}

double reference_layer_norm(const struct host_inputs *inputs, int64_t index) {
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

double reference_rms_norm(const struct host_inputs *inputs, int64_t index) {
    int64_t width = size_of(inputs, 0, 1), column = index % width;
    const float *row = inputs->data[0] + index / width * width;
    return row[column] * rms_scale(row, width, inputs->shape->numbers[0]) * inputs->data[1][column];
}

double reference_rmsnorm_linear(const struct host_inputs *inputs, int64_t index) {
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

double reference_matmul(const struct host_inputs *inputs, int64_t index) {
    return product(inputs->data[0], inputs->data[1], size_of(inputs, 1, 0), size_of(inputs, 1, 1),
                   index);
}

double reference_matmul_relu(const struct host_inputs *inputs, int64_t index) {
    return relu(reference_matmul(inputs, index));
}

double reference_linear(const struct host_inputs *inputs, int64_t index) {
    int64_t in = size_of(inputs, 1, 1), out = size_of(inputs, 1, 0);
    const float *row = inputs->data[0] + index / out * in;
    const float *weight = inputs->data[1] + index % out * in;
    double sum = 0;
    for (int64_t i = 0; i < in; i++)
        sum += (double)row[i] * weight[i];
    return sum;
}

double reference_lora(const struct host_inputs *inputs, int64_t index) {
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
double reference_gated_mlp(const struct host_inputs *inputs, int64_t index) {
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
double reference_mlp(const struct host_inputs *inputs, int64_t index) {
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
double reference_attention(const struct host_inputs *inputs, int64_t index) {
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
