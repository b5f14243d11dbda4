/* Training steps that experiments time: forward pass, gradients, and an update of the weights by
 * gradient descent. The rate is so small that the loss of every call is the same. */
#include <math.h>

#include "bench/workloads/workload.h"
#include "tensor/graph.h"

#define RATE 1e-7
enum { TOKENS = 128, HEAD_WIDTH = 64, WEIGHTS = 2 /* the first input that is one */ };

static int64_t product_of(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static struct workload_input normal(enum ridge_dtype dtype, unsigned rank, int64_t a, int64_t b,
                                    int64_t c, double scale) {
    return (struct workload_input){
        .rank = rank, .sizes = {a, b, c}, .scale = scale, .dtype = dtype, .fixed = true};
}

/* Updates inputs 2 and following by the loss's gradients; the output is the loss. */
static bool update(const struct workload_shape *shape, ridge_tensor *loss,
                   ridge_tensor *const *inputs, ridge_tensor **outputs) {
    ridge_tensor *gradients[WORKLOAD_INPUTS_MAX];
    unsigned count = shape->input_count - WEIGHTS;
    outputs[0] = ridge_cast(loss, ridge_tensor_dtype(inputs[0]));
    if (!outputs[0] || !ridge_gradients(loss, inputs + WEIGHTS, count, gradients))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!ridge_assign(inputs[WEIGHTS + i],
                          ridge_sub(inputs[WEIGHTS + i], ridge_mul_scalar(gradients[i], RATE))))
            return false;
    return true;
}

/* Eager operations are recorded; those of a function that is being compiled need not be. */
static bool train(const struct workload_shape *shape,
                  ridge_tensor *(*loss_of)(const struct workload_shape *, ridge_tensor *const *),
                  ridge_tensor *const *inputs, ridge_tensor **outputs) {
    ridge_device *device = graph_current() ? NULL : ridge_tensor_device(inputs[0]);
    if (device && !ridge_tape_begin(device))
        return false;
    bool ok = update(shape, loss_of(shape, inputs), inputs, outputs);
    return (!device || ridge_tape_end(device)) && ok;
}

/* ---- Three layers ----------------------------------------------------------------------- */

static void shape_mlp(const struct bench_case *work, struct workload_shape *shape) {
    int64_t size = work->size, rows = work->batch > 0 ? work->batch : 1;
    struct workload_input data = normal(work->dtype, 2, rows, size, 0, 1);
    struct workload_input layer = normal(work->dtype, 2, size, size, 0, sqrt(2 / (double)size));
    *shape = (struct workload_shape){.inputs = {data, data, layer, layer, layer},
                                     .input_count = 5,
                                     .outputs = 1,
                                     .product = true,
                                     .operations = 20,
                                     .row_values = product_of(3, size)};
}

static ridge_tensor *mlp_loss(const struct workload_shape *shape, ridge_tensor *const *in) {
    (void)shape;
    ridge_tensor *h = ridge_matmul_activation(in[0], in[2], NULL, RIDGE_ACTIVATION_RELU);
    h = ridge_matmul_activation(h, in[3], NULL, RIDGE_ACTIVATION_RELU);
    return ridge_mse_loss(ridge_matmul(h, in[4]), in[1]);
}

static bool call_mlp(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    return train(context, mlp_loss, inputs, outputs);
}

static void layer(const double *from, const float *weights, int64_t width, bool relu, double *to) {
    for (int64_t j = 0; j < width; j++)
        to[j] = 0;
    for (int64_t i = 0; i < width; i++)
        for (int64_t j = 0; j < width; j++)
            to[j] += from[i] * weights[i * width + j];
    for (int64_t j = 0; relu && j < width; j++)
        to[j] = to[j] > 0 ? to[j] : 0;
}

static double reference_mlp(const struct host_inputs *inputs, int64_t index) {
    (void)index;
    int64_t rows = inputs->shape->inputs[0].sizes[0], width = inputs->shape->inputs[0].sizes[1];
    double *x = inputs->kept->values, *first = x + width, *second = first + width, sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t i = 0; i < width; i++)
            x[i] = inputs->data[0][row * width + i];
        layer(x, inputs->data[2], width, true, first);
        layer(first, inputs->data[3], width, true, second);
        layer(second, inputs->data[4], width, false, x);
        for (int64_t i = 0; i < width; i++) {
            double off = x[i] - inputs->data[1][row * width + i];
            sum += off * off;
        }
    }
    return sum / (double)(rows * width);
}

const struct workload workload_train_mlp = {.name = "train_mlp",
                                            .shape = shape_mlp,
                                            .function = call_mlp,
                                            .reference = reference_mlp,
                                            .tolerance = 1e-4};

/* ---- A transformer block ----------------------------------------------------------------------
 */

static void shape_block(const struct bench_case *work, struct workload_shape *shape) {
    int64_t width = work->size, batch = work->batch > 0 ? work->batch : 1;
    struct workload_input data = normal(work->dtype, 3, batch, TOKENS, width, 1);
    double scale = 1 / sqrt((double)width);
    *shape = (struct workload_shape){
        .inputs = {data, data, normal(work->dtype, 2, width, product_of(3, width), 0, scale),
                   normal(work->dtype, 2, width, width, 0, scale),
                   normal(work->dtype, 2, width, product_of(4, width), 0, scale),
                   normal(work->dtype, 2, product_of(4, width), width, 0, scale / 2)},
        .input_count = 6,
        .outputs = 1,
        .product = true,
        .operations = 60};
}

static ridge_tensor *heads_of(ridge_tensor *x, int64_t batch, int64_t heads, int64_t head_width) {
    x = ridge_reshape(x, 4, (int64_t[]){batch, TOKENS, heads, head_width});
    return ridge_transpose(x, 1, 2);
}

static ridge_tensor *block_loss(const struct workload_shape *shape, ridge_tensor *const *in) {
    int64_t batch = shape->inputs[0].sizes[0], width = shape->inputs[0].sizes[2];
    int64_t head_width = width % HEAD_WIDTH == 0 ? HEAD_WIDTH : width, heads = width / head_width;
    ridge_tensor *parts[3], *x = in[0];
    if (!ridge_split(ridge_matmul(ridge_rms_norm(x, NULL, 1e-5f), in[2]), 3, -1, parts))
        return NULL;
    ridge_tensor *y = ridge_attention(
        heads_of(parts[0], batch, heads, head_width), heads_of(parts[1], batch, heads, head_width),
        heads_of(parts[2], batch, heads, head_width), (float)(1 / sqrt((double)head_width)), true);
    y = ridge_reshape(ridge_transpose(y, 1, 2), 3, (int64_t[]){batch, TOKENS, width});
    x = ridge_add(x, ridge_matmul(y, in[3]));
    y = ridge_matmul_activation(ridge_rms_norm(x, NULL, 1e-5f), in[4], NULL, RIDGE_ACTIVATION_GELU);
    return ridge_mse_loss(ridge_add(x, ridge_matmul(y, in[5])), in[1]);
}

static bool call_block(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    return train(context, block_loss, inputs, outputs);
}

const struct workload workload_train_block = {
    .name = "train_block", .shape = shape_block, .function = call_block};
