/* Public convolutions, pooling and padding.
 *
 * A convolution is a product of the weight and the windows of x (unfold), a transposed one adds up
 * windows that are a product (fold). Sequences are images with one row.
 */
#include <math.h>
#include <string.h>

#include "tensor/operation.h"

/* Geometry of windows, down and across. */
struct windows {
    int64_t size[2], stride[2], padding[2], dilation[2], groups, added[2];
};

/* They follow the first integer of an operation. */
_Static_assert(sizeof(struct windows) <= (OPERATION_INTEGERS_MAX - 1) * sizeof(int64_t),
               "the integers have room for all");

static struct windows windows_of(const struct operation *operation) {
    struct windows windows;
    memcpy(&windows, operation->integers + 1, sizeof windows);
    return windows;
}

static struct tensor *reshaped(struct builder *build, struct tensor *x, unsigned rank,
                               const int64_t *sizes) {
    struct view view;
    bool possible;
    if (!x || !view_reshape(&x->view, rank, sizes, &view, &possible, build->status))
        return NULL;
    if (possible)
        return build_view(build, x, &view);
    x = build_copy(build, x);
    return reshaped(build, x, rank, sizes);
}
#define RESHAPED(build, x, ...)                                                                    \
    reshaped(build, x, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static struct node_parameters parameters_of(const struct windows *windows, double fill) {
    struct node_parameters parameters = {.value = fill};
    memcpy(parameters.window, windows->stride, sizeof windows->stride);
    memcpy(parameters.window + 2, windows->dilation, sizeof windows->dilation);
    memcpy(parameters.window + 4, windows->padding, sizeof windows->padding);
    return parameters;
}

/* How many windows fit, down and across; false when none does. */
static bool count_windows(struct builder *build, const int64_t *plane,
                          const struct windows *windows, int64_t count[2]) {
    for (int i = 0; i < 2; i++) {
        int64_t reach, room;
        if (__builtin_mul_overflow(windows->size[i] - 1, windows->dilation[i], &reach) ||
            __builtin_mul_overflow(windows->padding[i], 2, &room) ||
            __builtin_add_overflow(room, plane[i], &room) ||
            __builtin_sub_overflow(room, reach, &room) || room < 1)
            return status_fail(build->status, STATUS_USAGE,
                               "a window of %lld with a dilation of %lld does not fit into %lld "
                               "with a padding of %lld",
                               (long long)windows->size[i], (long long)windows->dilation[i],
                               (long long)plane[i], (long long)windows->padding[i]);
        count[i] = (room - 1) / windows->stride[i] + 1;
    }
    return true;
}

/* [batch, channels, height, width] to [batch * channels, down, across, rows, columns]. */
static struct tensor *unfolded(struct builder *build, struct tensor *x,
                               const struct windows *windows, double fill) {
    const int64_t *sizes = x->view.sizes;
    int64_t count[2], lines = sizes[0] * sizes[1];
    if (!count_windows(build, sizes + 2, windows, count))
        return NULL;
    struct view shape;
    int64_t wide[5] = {lines, windows->size[0], windows->size[1], count[0], count[1]};
    if (!view_contiguous(5, wide, &shape, build->status))
        return NULL;
    struct tensor *planes = build_contiguous(build, RESHAPED(build, x, lines, sizes[2], sizes[3]));
    struct node_parameters parameters = parameters_of(windows, fill);
    return planes ? build_kernel(build, OP_UNFOLD, x->dtype, &shape, &planes, 1, &parameters)
                  : NULL;
}

static bool check_image(struct builder *build, const struct tensor *x) {
    if (dtype_is_quantized(x->dtype))
        return status_fail(build->status, STATUS_USAGE, "%s is quantized: dequantize it first",
                           ridge_dtype_name(x->dtype));
    return x->view.rank == 4 || status_fail(build->status, STATUS_USAGE,
                                            "it takes [batch, channels, height, width], or "
                                            "[batch, channels, length] in one dimension");
}

static bool check_windows(struct builder *build, const struct windows *windows) {
    for (int i = 0; i < 2; i++)
        if (windows->size[i] < 1 || windows->stride[i] < 1 || windows->dilation[i] < 1 ||
            windows->padding[i] < 0 || windows->groups < 1 || windows->added[i] < 0)
            return status_fail(build->status, STATUS_USAGE,
                               "sizes, strides, dilations and groups must be positive, paddings "
                               "not negative");
    return true;
}

/* ---- Convolutions ----------------------------------------------------------------------- */

/* y is [batch, groups, out / groups, positions]: as a product has it, so that the sum is part of
 * its kernel and not rounded before. */
static struct tensor *add_bias(struct builder *build, struct tensor *y, struct tensor *bias) {
    if (!bias || !y)
        return y;
    int64_t groups = y->view.sizes[1], channels = y->view.sizes[2];
    if (bias->view.rank != 1 || bias->view.sizes[0] != groups * channels) {
        status_fail(build->status, STATUS_USAGE, "the bias must be [%lld]",
                    (long long)(groups * channels));
        return NULL;
    }
    return build_expression(build, OP_ADD, y, RESHAPED(build, bias, groups, channels, 1), NULL);
}

static bool check_weight(struct builder *build, const struct tensor *x, const struct tensor *weight,
                         int64_t groups, bool transposed) {
    int64_t in = x->view.sizes[1], out = weight->view.sizes[0], shared = weight->view.sizes[1];
    if (!dtype_is_float(x->dtype) || weight->dtype != x->dtype)
        return status_fail(build->status, STATUS_USAGE,
                           "x and the weight must be floats of a type");
    if (in % groups != 0 || (transposed ? out != in : out % groups != 0 || shared != in / groups))
        return status_fail(
            build->status, STATUS_USAGE,
            transposed ? "the weight must be [in, out / groups, ...]: %lld channels, %lld groups"
                       : "the weight must be [out, in / groups, ...]: %lld channels, %lld groups",
            (long long)in, (long long)groups);
    return true;
}

static bool build_convolution(struct builder *build, const struct operation *operation,
                              struct tensor *const *inputs, struct tensor **outputs) {
    struct windows windows = windows_of(operation);
    struct tensor *x = inputs[0], *weight = inputs[1];
    if (!check_image(build, x) || !check_image(build, weight))
        return false;
    memcpy(windows.size, weight->view.sizes + 2, sizeof windows.size);
    int64_t groups = windows.groups, count[2], batch = x->view.sizes[0];
    if (!check_windows(build, &windows) || !check_weight(build, x, weight, groups, false) ||
        !count_windows(build, x->view.sizes + 2, &windows, count))
        return false;
    int64_t out = weight->view.sizes[0];
    int64_t depth = weight->view.sizes[1] * windows.size[0] * windows.size[1];
    bool plain = windows.size[0] * windows.size[1] * windows.stride[0] * windows.stride[1] == 1 &&
                 windows.padding[0] + windows.padding[1] == 0;
    struct tensor *columns = plain ? x : unfolded(build, x, &windows, 0);
    columns = RESHAPED(build, columns, batch, groups, depth, count[0] * count[1]);
    struct tensor *matrix = RESHAPED(build, weight, groups, out / groups, depth);
    struct tensor *y = add_bias(build, build_matmul(build, matrix, columns), inputs[2]);
    outputs[0] = RESHAPED(build, y, batch, out, count[0], count[1]);
    return outputs[0] != NULL;
}

/* The last two axes swapped. */
static struct tensor *transposed(struct builder *build, struct tensor *x) {
    if (!x)
        return NULL;
    unsigned axes[RIDGE_RANK_MAX], rank = x->view.rank;
    struct view view;
    for (unsigned i = 0; i < rank; i++)
        axes[i] = i + 2 == rank ? rank - 1 : i + 1 == rank ? rank - 2 : i;
    return view_permute(&x->view, axes, &view, build->status) ? build_view(build, x, &view) : NULL;
}

/* Of the height or the width of a transposed convolution's result. */
static bool spread_size(struct builder *build, const struct windows *windows, int i, int64_t size,
                        int64_t *result) {
    int64_t reach = 0;
    bool fits = size > 0 && !__builtin_mul_overflow(size - 1, windows->stride[i], result) &&
                !__builtin_mul_overflow(windows->size[i] - 1, windows->dilation[i], &reach) &&
                !__builtin_add_overflow(*result, reach, result) &&
                !__builtin_add_overflow(*result, 1 + windows->added[i], result) &&
                windows->padding[i] <= INT64_MAX / 2;
    if (fits)
        *result -= 2 * windows->padding[i];
    return (fits && *result > 0) ||
           status_fail(build->status, STATUS_USAGE, "the result would have no elements");
}

static bool build_transposed_convolution(struct builder *build, const struct operation *operation,
                                         struct tensor *const *inputs, struct tensor **outputs) {
    struct windows windows = windows_of(operation);
    struct tensor *x = inputs[0], *weight = inputs[1];
    if (!check_image(build, x) || !check_image(build, weight))
        return false;
    memcpy(windows.size, weight->view.sizes + 2, sizeof windows.size);
    int64_t groups = windows.groups, batch = x->view.sizes[0];
    const int64_t *sizes = x->view.sizes;
    int64_t plane[3];
    if (!check_windows(build, &windows) || !check_weight(build, x, weight, groups, true) ||
        !spread_size(build, &windows, 0, sizes[2], &plane[1]) ||
        !spread_size(build, &windows, 1, sizes[3], &plane[2]))
        return false;
    int64_t in = sizes[1] / groups, out = weight->view.sizes[1] * groups;
    int64_t depth = weight->view.sizes[1] * windows.size[0] * windows.size[1];
    struct tensor *matrix = transposed(build, RESHAPED(build, weight, groups, in, depth));
    struct tensor *columns =
        build_matmul(build, matrix, RESHAPED(build, x, batch, groups, in, sizes[2] * sizes[3]));
    columns = build_contiguous(build, RESHAPED(build, columns, batch * out, windows.size[0],
                                               windows.size[1], sizes[2], sizes[3]));
    struct view shape;
    plane[0] = batch * out;
    if (!columns || !view_contiguous(3, plane, &shape, build->status))
        return false;
    struct node_parameters parameters = parameters_of(&windows, 0);
    struct tensor *y = build_kernel(build, OP_FOLD, x->dtype, &shape, &columns, 1, &parameters);
    y = RESHAPED(build, y, batch, 1, out, plane[1] * plane[2]);
    outputs[0] = RESHAPED(build, add_bias(build, y, inputs[2]), batch, out, plane[1], plane[2]);
    return outputs[0] != NULL;
}

/* ---- Pooling and windows ------------------------------------------------------------------ */

/* The integers' first: the reduction, OP_COUNT for the mean, OP_UNFOLD for none. */
static bool build_pooled(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct windows windows = windows_of(operation);
    struct tensor *x = inputs[0], *y;
    enum op op = (enum op)operation->integers[0];
    if (!check_image(build, x) || !check_windows(build, &windows))
        return false;
    if (op != OP_UNFOLD && !dtype_is_float(x->dtype))
        return status_fail(build->status, STATUS_USAGE, "it takes floats, not %s: cast first",
                           ridge_dtype_name(x->dtype));
    int64_t batch = x->view.sizes[0], channels = x->view.sizes[1];
    y = unfolded(build, x, &windows, op == OP_REDUCE_MAX ? -INFINITY : 0);
    if (!y)
        return false;
    const int64_t *sizes = y->view.sizes;
    int64_t area = windows.size[0] * windows.size[1], rows = sizes[3], columns = sizes[4];
    if (op == OP_UNFOLD) {
        outputs[0] = RESHAPED(build, y, batch, channels * area, rows * columns);
        return outputs[0] != NULL;
    }
    y = op == OP_COUNT ? build_mean(build, y, 6) : build_reduce(build, op, y, 6);
    outputs[0] = RESHAPED(build, y, batch, channels, rows, columns);
    return outputs[0] != NULL;
}

/* ---- The public functions ----------------------------------------------------------------- */

/* A sequence becomes an image of one row: its only size is the second. */
static void move_across(int64_t pair[2], int64_t down) {
    pair[1] = pair[0];
    pair[0] = down;
}

static struct windows make_windows(const int64_t *size, const struct ridge_window *window,
                                   unsigned dimensions, bool pool) {
    static const struct ridge_window none;
    struct windows windows = {.size = {1, 1}};
    if (!window)
        window = &none;
    if (size)
        memcpy(windows.size, size, dimensions * sizeof *size);
    for (unsigned i = 0; i < dimensions; i++) {
        windows.stride[i] = window->stride[i] ? window->stride[i] : pool ? windows.size[i] : 1;
        windows.dilation[i] = window->dilation[i] ? window->dilation[i] : 1;
        windows.padding[i] = window->padding[i];
        windows.added[i] = window->output_padding[i];
    }
    windows.groups = window->groups ? window->groups : 1;
    if (dimensions == 1) {
        move_across(windows.size, 1);
        move_across(windows.stride, 1);
        move_across(windows.dilation, 1);
        move_across(windows.padding, 0);
        move_across(windows.added, 0);
    }
    return windows;
}

/* Runs the operation on images; sequences get a row before and lose it after. */
static ridge_tensor *run_windows(struct operation *operation, const struct windows *windows,
                                 unsigned dimensions) {
    memcpy(operation->integers + 1, windows, sizeof *windows);
    if (dimensions == 2)
        return operation_result(operation);
    ridge_scope_begin();
    for (unsigned i = 0; i < 2 && i < operation->input_count; i++)
        if (tensor_find(operation->inputs[i]))
            operation->inputs[i] = ridge_tensor_rank(operation->inputs[i]) == 3
                                       ? ridge_unsqueeze(operation->inputs[i], 2)
                                       : ridge_retain(operation->inputs[i]);
    ridge_tensor *wide = operation_result(operation);
    ridge_tensor *y = wide ? ridge_keep(ridge_squeeze(wide, 2)) : NULL;
    ridge_scope_end();
    return y;
}

static ridge_tensor *convolution(const char *name, operation_builder *builder, ridge_tensor *x,
                                 ridge_tensor *weight, ridge_tensor *bias,
                                 const struct ridge_window *window, unsigned dimensions) {
    struct operation operation = {.name = name,
                                  .build = builder,
                                  .input_count = 3,
                                  .output_count = 1,
                                  .inputs = {x, weight, bias},
                                  .optional = 4};
    struct windows windows = make_windows(NULL, window, dimensions, false);
    return run_windows(&operation, &windows, dimensions);
}

ridge_tensor *ridge_conv1d(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                           const struct ridge_window *window) {
    return convolution("ridge_conv1d", build_convolution, x, weight, bias, window, 1);
}

ridge_tensor *ridge_conv2d(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                           const struct ridge_window *window) {
    return convolution("ridge_conv2d", build_convolution, x, weight, bias, window, 2);
}

ridge_tensor *ridge_conv_transpose1d(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                                     const struct ridge_window *window) {
    return convolution("ridge_conv_transpose1d", build_transposed_convolution, x, weight, bias,
                       window, 1);
}

ridge_tensor *ridge_conv_transpose2d(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                                     const struct ridge_window *window) {
    return convolution("ridge_conv_transpose2d", build_transposed_convolution, x, weight, bias,
                       window, 2);
}

static ridge_tensor *pooled(const char *name, enum op op, ridge_tensor *x, const int64_t *size,
                            const struct ridge_window *window, unsigned dimensions) {
    if (!size) {
        tensor_null(name, "size");
        return NULL;
    }
    struct operation operation = {.name = name,
                                  .build = build_pooled,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {op}};
    struct windows windows = make_windows(size, window, dimensions, op != OP_UNFOLD);
    return run_windows(&operation, &windows, dimensions);
}

ridge_tensor *ridge_max_pool1d(ridge_tensor *x, const int64_t *size,
                               const struct ridge_window *window) {
    return pooled("ridge_max_pool1d", OP_REDUCE_MAX, x, size, window, 1);
}

ridge_tensor *ridge_max_pool2d(ridge_tensor *x, const int64_t *size,
                               const struct ridge_window *window) {
    return pooled("ridge_max_pool2d", OP_REDUCE_MAX, x, size, window, 2);
}

ridge_tensor *ridge_avg_pool1d(ridge_tensor *x, const int64_t *size,
                               const struct ridge_window *window) {
    return pooled("ridge_avg_pool1d", OP_COUNT, x, size, window, 1);
}

ridge_tensor *ridge_avg_pool2d(ridge_tensor *x, const int64_t *size,
                               const struct ridge_window *window) {
    return pooled("ridge_avg_pool2d", OP_COUNT, x, size, window, 2);
}

ridge_tensor *ridge_unfold(ridge_tensor *x, const int64_t *size,
                           const struct ridge_window *window) {
    return pooled("ridge_unfold", OP_UNFOLD, x, size, window, 2);
}

/* ---- Padding ---------------------------------------------------------------------------- */

/* The integers: axis, before, after. */
static bool build_padded(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    unsigned axis = (unsigned)operation->integers[0];
    int64_t before = operation->integers[1], size;
    if (dtype_is_quantized(x->dtype))
        return status_fail(build->status, STATUS_USAGE, "%s is quantized: dequantize it first",
                           ridge_dtype_name(x->dtype));
    if (value_type_of(x->dtype) == VALUE_I32 &&
        !(operation->numbers[0] == (double)(int32_t)operation->numbers[0]))
        return status_fail(build->status, STATUS_USAGE, "%g cannot be represented in %s",
                           operation->numbers[0], ridge_dtype_name(x->dtype));
    if (__builtin_add_overflow(x->view.sizes[axis], before, &size) ||
        __builtin_add_overflow(size, operation->integers[2], &size) || size < 0)
        return status_fail(build->status, STATUS_USAGE, "axis %u would have no elements", axis);
    struct view result = x->view;
    result.sizes[axis] = size;
    int64_t outside = 1, inside = 1;
    for (unsigned i = 0; i < x->view.rank; i++)
        *(i < axis ? &outside : i > axis ? &inside : &(int64_t){1}) *= x->view.sizes[i];
    struct view shape;
    int64_t wide[5] = {outside, 1, 1, size, inside};
    struct windows windows = {
        .size = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .padding = {before, 0}};
    struct node_parameters parameters = parameters_of(&windows, operation->numbers[0]);
    struct tensor *planes =
        build_contiguous(build, RESHAPED(build, x, outside, x->view.sizes[axis], inside));
    if (!planes || !view_contiguous(5, wide, &shape, build->status))
        return false;
    struct tensor *y = build_kernel(build, OP_UNFOLD, x->dtype, &shape, &planes, 1, &parameters);
    outputs[0] = reshaped(build, y, result.rank, result.sizes);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_pad(ridge_tensor *handle, const int64_t *before, const int64_t *after,
                        double value) {
    const struct tensor *x = tensor_of("ridge_pad", handle);
    if (!x)
        return NULL;
    if (!before || !after) {
        tensor_null("ridge_pad", "padding");
        return NULL;
    }
    unsigned rank = x->view.rank;
    ridge_scope_begin();
    ridge_tensor *y = ridge_retain(handle);
    for (unsigned axis = 0; axis < rank && y; axis++) {
        struct operation operation = {.name = "ridge_pad",
                                      .build = build_padded,
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = {y},
                                      .integers = {axis, before[axis], after[axis]},
                                      .numbers = {value}};
        if (before[axis] != 0 || after[axis] != 0)
            y = operation_result(&operation);
    }
    y = ridge_keep(y);
    ridge_scope_end();
    return y;
}
