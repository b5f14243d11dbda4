/* Public reductions, and the norms that are made of them. */
#include "tensor/operation.h"

/* The integers: operation, mask of axes, whether they stay. */
static bool build_reduced(struct builder *build, const struct operation *operation,
                          struct tensor *const *inputs, struct tensor **outputs) {
    enum op op = (enum op)operation->integers[0];
    uint32_t mask = (uint32_t)operation->integers[1];
    struct tensor *reduced = op == OP_COUNT ? build_mean(build, inputs[0], mask)
                                            : build_reduce(build, op, inputs[0], mask);
    outputs[0] = operation->integers[2] ? reduced : build_squeeze(build, reduced, mask);
    return outputs[0] != NULL;
}

static bool axis_mask(const struct tensor *x, unsigned count, const int *axes, uint32_t *mask) {
    struct status *status = tensor_status();
    if (count > 0 && !axes)
        return status_fail(status, STATUS_USAGE, "the axes are NULL");
    *mask = count == 0 ? (1u << x->view.rank) - 1 : 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned axis;
        if (!view_axis(&x->view, axes[i], &axis, status))
            return false;
        if (*mask & 1u << axis)
            return status_fail(status, STATUS_USAGE, "axis %d is given twice", axes[i]);
        *mask |= 1u << axis;
    }
    return true;
}

/* The mean is not an operation; OP_COUNT denotes it. */
static ridge_tensor *reduce(const char *name, enum op op, ridge_tensor *x, unsigned count,
                            const int *axes, bool keep) {
    uint32_t mask = 0;
    const struct tensor *tensor = tensor_find(x);
    if (tensor && !axis_mask(tensor, count, axes, &mask))
        return tensor_handle(tensor_failed(name, tensor));
    struct operation operation = {.name = name,
                                  .build = build_reduced,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {op, mask, keep}};
    return operation_result(&operation);
}

ridge_tensor *ridge_sum(ridge_tensor *x, unsigned count, const int *axes, bool keep) {
    return reduce("ridge_sum", OP_REDUCE_SUM, x, count, axes, keep);
}

ridge_tensor *ridge_mean(ridge_tensor *x, unsigned count, const int *axes, bool keep) {
    return reduce("ridge_mean", OP_COUNT, x, count, axes, keep);
}

ridge_tensor *ridge_amax(ridge_tensor *x, unsigned count, const int *axes, bool keep) {
    return reduce("ridge_amax", OP_REDUCE_MAX, x, count, axes, keep);
}

ridge_tensor *ridge_amin(ridge_tensor *x, unsigned count, const int *axes, bool keep) {
    return reduce("ridge_amin", OP_REDUCE_MIN, x, count, axes, keep);
}

ridge_tensor *ridge_argmax(ridge_tensor *x, int axis, bool keep) {
    return reduce("ridge_argmax", OP_REDUCE_ARGMAX, x, 1, &axis, keep);
}

ridge_tensor *ridge_argmin(ridge_tensor *x, int axis, bool keep) {
    return reduce("ridge_argmin", OP_REDUCE_ARGMIN, x, 1, &axis, keep);
}

/* ---- Norms ------------------------------------------------------------------------------ */

static bool check_float(struct builder *build, const struct tensor *x) {
    return dtype_is_float(x->dtype) ||
           status_fail(build->status, STATUS_USAGE, "it takes floats, not %s: cast first",
                       ridge_dtype_name(x->dtype));
}

static bool build_softmax(struct builder *build, const struct operation *operation,
                          struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    unsigned axis;
    if (!check_float(build, x) ||
        !view_axis(&x->view, (int)operation->integers[0], &axis, build->status))
        return false;
    if (view_count(&x->view) == 0) {
        outputs[0] = build_copy(build, x);
        return outputs[0] != NULL;
    }
    /* The result does not depend on what is subtracted. */
    struct tensor *largest =
        build_detached(build, build_reduce(build, OP_REDUCE_MAX, x, 1u << axis));
    struct tensor *powers = build_expression(
        build, OP_EXP, build_expression(build, OP_SUB, x, largest, NULL), NULL, NULL);
    struct tensor *total = build_reduce(build, OP_REDUCE_SUM, powers, 1u << axis);
    outputs[0] = build_expression(build, OP_DIV, powers, total, NULL);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_softmax(ridge_tensor *x, int axis) {
    struct operation operation = {.name = "ridge_softmax",
                                  .build = build_softmax,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {axis}};
    return operation_result(&operation);
}

static bool build_log_softmax(struct builder *build, const struct operation *operation,
                              struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    unsigned axis;
    if (!check_float(build, x) ||
        !view_axis(&x->view, (int)operation->integers[0], &axis, build->status))
        return false;
    if (view_count(&x->view) == 0) {
        outputs[0] = build_copy(build, x);
        return outputs[0] != NULL;
    }
    struct tensor *largest =
        build_detached(build, build_reduce(build, OP_REDUCE_MAX, x, 1u << axis));
    struct tensor *shifted = build_expression(build, OP_SUB, x, largest, NULL);
    struct tensor *total = build_reduce(
        build, OP_REDUCE_SUM, build_expression(build, OP_EXP, shifted, NULL, NULL), 1u << axis);
    outputs[0] = build_expression(build, OP_SUB, shifted,
                                  build_expression(build, OP_LOG, total, NULL, NULL), NULL);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_log_softmax(ridge_tensor *x, int axis) {
    struct operation operation = {.name = "ridge_log_softmax",
                                  .build = build_log_softmax,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {axis}};
    return operation_result(&operation);
}

/* x of rank 1 or more; the weights have one axis, x's last. */
static bool check_norm(struct builder *build, struct tensor *const *inputs, unsigned count) {
    const struct tensor *x = inputs[0];
    if (!check_float(build, x))
        return false;
    if (x->view.rank == 0)
        return status_fail(build->status, STATUS_USAGE, "a scalar has no last axis");
    int64_t width = x->view.sizes[x->view.rank - 1];
    for (unsigned i = 1; i < count; i++)
        if (inputs[i] && (inputs[i]->view.rank != 1 || inputs[i]->view.sizes[0] != width))
            return status_fail(build->status, STATUS_USAGE,
                               "%s must have the size of x's last axis, [%lld]",
                               i == 1 ? "the weight" : "the bias", (long long)width);
    return true;
}

/* x with mean 0 and variance 1 over the axes. */
static struct tensor *standardized(struct builder *build, struct tensor *x, uint32_t mask,
                                   double epsilon) {
    struct tensor *centered = build_expression(build, OP_SUB, x, build_mean(build, x, mask), NULL);
    struct tensor *variance =
        build_mean(build, build_expression(build, OP_SQUARE, centered, NULL, NULL), mask);
    struct tensor *scale = build_expression(
        build, OP_RSQRT, build_scalar(build, OP_ADD, variance, epsilon), NULL, NULL);
    return build_expression(build, OP_MUL, centered, scale, NULL);
}

static bool build_layer_norm(struct builder *build, const struct operation *operation,
                             struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    if (!check_norm(build, inputs, 3))
        return false;
    uint32_t mask = 1u << (x->view.rank - 1);
    if (view_count(&x->view) == 0) {
        outputs[0] = build_copy(build, x);
        return outputs[0] != NULL;
    }
    struct tensor *y = standardized(build, x, mask, operation->numbers[0]);
    if (inputs[1])
        y = build_expression(build, OP_MUL, y, inputs[1], NULL);
    if (inputs[2])
        y = build_expression(build, OP_ADD, y, inputs[2], NULL);
    outputs[0] = y;
    return y != NULL;
}

ridge_tensor *ridge_layer_norm(ridge_tensor *x, ridge_tensor *weight, ridge_tensor *bias,
                               float epsilon) {
    struct operation operation = {.name = "ridge_layer_norm",
                                  .build = build_layer_norm,
                                  .input_count = 3,
                                  .output_count = 1,
                                  .inputs = {x, weight, bias},
                                  .optional = 6,
                                  .numbers = {epsilon}};
    return operation_result(&operation);
}

static bool build_rms_norm(struct builder *build, const struct operation *operation,
                           struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    if (!check_norm(build, inputs, 2))
        return false;
    if (view_count(&x->view) == 0) {
        outputs[0] = build_copy(build, x);
        return outputs[0] != NULL;
    }
    uint32_t mask = 1u << (x->view.rank - 1);
    struct tensor *mean =
        build_mean(build, build_expression(build, OP_SQUARE, x, NULL, NULL), mask);
    struct tensor *scale = build_expression(
        build, OP_RSQRT, build_scalar(build, OP_ADD, mean, operation->numbers[0]), NULL, NULL);
    struct tensor *y = build_expression(build, OP_MUL, x, scale, NULL);
    outputs[0] = inputs[1] ? build_expression(build, OP_MUL, y, inputs[1], NULL) : y;
    return outputs[0] != NULL;
}

ridge_tensor *ridge_rms_norm(ridge_tensor *x, ridge_tensor *weight, float epsilon) {
    struct operation operation = {.name = "ridge_rms_norm",
                                  .build = build_rms_norm,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {x, weight},
                                  .optional = 2,
                                  .numbers = {epsilon}};
    return operation_result(&operation);
}

/* A value for each channel: [groups, channels of a group, 1]. */
static struct tensor *by_channel(struct builder *build, struct tensor *values,
                                 const struct view *grouped, const char *what) {
    int64_t groups = grouped->sizes[1], channels = grouped->sizes[2];
    if (values->view.rank != 1 || values->view.sizes[0] != groups * channels) {
        status_fail(build->status, STATUS_USAGE, "%s must be [%lld]", what,
                    (long long)(groups * channels));
        return NULL;
    }
    int64_t stride = values->view.strides[0];
    struct view view = {.rank = 3,
                        .offset = values->view.offset,
                        .sizes = {groups, channels, 1},
                        .strides = {stride * channels, stride, 1}};
    return build_view(build, values, &view);
}

static bool build_group_norm(struct builder *build, const struct operation *operation,
                             struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    int64_t groups = operation->integers[0];
    if (!check_float(build, x))
        return false;
    if (x->view.rank < 2 || groups < 1 || x->view.sizes[1] % groups != 0)
        return status_fail(build->status, STATUS_USAGE,
                           "it takes [batch, channels, ...], with channels that %lld groups share "
                           "evenly",
                           (long long)groups);
    struct tensor *y = build_contiguous(build, x);
    struct view grouped, whole = x->view;
    int64_t rows = x->view.sizes[0] * x->view.sizes[1];
    int64_t sizes[4] = {x->view.sizes[0], groups, x->view.sizes[1] / groups,
                        rows > 0 ? view_count(&x->view) / rows : 0};
    if (!y || !view_contiguous(4, sizes, &grouped, build->status))
        return false;
    grouped.offset = y->view.offset;
    y = build_view(build, y, &grouped);
    if (view_count(&x->view) > 0)
        y = standardized(build, y, 1u << 2 | 1u << 3, operation->numbers[0]);
    if (inputs[1])
        y = build_expression(build, OP_MUL, y, by_channel(build, inputs[1], &grouped, "the weight"),
                             NULL);
    if (inputs[2])
        y = build_expression(build, OP_ADD, y, by_channel(build, inputs[2], &grouped, "the bias"),
                             NULL);
    if (!y)
        return false;
    view_set_contiguous(&whole);
    whole.offset = y->view.offset;
    y = build_view(build, y, &whole);
    outputs[0] = y;
    return y != NULL;
}

ridge_tensor *ridge_group_norm(ridge_tensor *x, unsigned groups, ridge_tensor *weight,
                               ridge_tensor *bias, float epsilon) {
    struct operation operation = {.name = "ridge_group_norm",
                                  .build = build_group_norm,
                                  .input_count = 3,
                                  .output_count = 1,
                                  .inputs = {x, weight, bias},
                                  .optional = 6,
                                  .integers = {groups},
                                  .numbers = {epsilon}};
    return operation_result(&operation);
}
