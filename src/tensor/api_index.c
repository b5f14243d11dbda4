/* Public operations on indices: gather, scatter_add, sorting, running sums, sampling, and writing
 * at a position that is a tensor. */
#include <string.h>

#include "tensor/operation.h"

static bool check_indices(struct builder *build, const struct tensor *indices) {
    return indices->dtype == RIDGE_I32 ||
           status_fail(build->status, STATUS_USAGE, "indices must be i32, not %s",
                       ridge_dtype_name(indices->dtype));
}

static bool check_plain(struct builder *build, const struct tensor *x) {
    return !dtype_is_quantized(x->dtype) ||
           status_fail(build->status, STATUS_USAGE,
                       "%s is quantized: dequantize it first with ridge_dequantize()",
                       ridge_dtype_name(x->dtype));
}

/* x in a storage: kernels read it through its strides. */
static struct tensor *stored(struct builder *build, struct tensor *x) {
    return x && build->graph->nodes[x->node].kind == NODE_CONSTANT ? build_copy(build, x) : x;
}

/* Indices as a kernel reads them along with `sizes`: equal but for `axis`, or 1, which repeats. */
static struct tensor *spread_indices(struct builder *build, struct tensor *indices, unsigned rank,
                                     const int64_t *sizes, unsigned axis) {
    int64_t wide[RIDGE_RANK_MAX];
    struct view view;
    if (!check_indices(build, indices))
        return NULL;
    if (indices->view.rank != rank) {
        status_fail(build->status, STATUS_USAGE, "indices must have %u axes, not %u", rank,
                    indices->view.rank);
        return NULL;
    }
    memcpy(wide, sizes, sizeof wide);
    wide[axis] = indices->view.sizes[axis];
    if (!view_broadcast(&indices->view, rank, wide, &view, build->status))
        return NULL;
    return build_view(build, indices, &view);
}

/* ---- gather and scatter_add ------------------------------------------------------------- */

static bool build_gather(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    unsigned axis;
    if (!check_plain(build, x) ||
        !view_axis(&x->view, (int)operation->integers[0], &axis, build->status))
        return false;
    struct tensor *indices =
        spread_indices(build, stored(build, inputs[1]), x->view.rank, x->view.sizes, axis);
    x = stored(build, x);
    if (!indices || !x)
        return false;
    struct tensor *operands[2] = {x, indices};
    struct node_parameters parameters = {.axis = axis};
    outputs[0] = build_kernel(build, OP_GATHER, x->dtype, &indices->view, operands, 2, &parameters);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_gather(ridge_tensor *x, int axis, ridge_tensor *indices) {
    struct operation operation = {.name = "ridge_gather",
                                  .build = build_gather,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {x, indices},
                                  .integers = {axis}};
    return operation_result(&operation);
}

/* The order of x along its last axis; x is contiguous. */
static struct tensor *order_of(struct builder *build, struct tensor *x, bool descending) {
    struct node_parameters parameters = {.flags = descending};
    return x ? build_kernel(build, OP_ARGSORT, RIDGE_I32, &x->view, &x, 1, &parameters) : NULL;
}

/* A view with `axis` and the last axis swapped. */
static struct tensor *swapped(struct builder *build, struct tensor *x, unsigned axis) {
    if (!x)
        return NULL;
    unsigned axes[RIDGE_RANK_MAX], last = x->view.rank - 1;
    struct view view;
    for (unsigned i = 0; i <= last; i++)
        axes[i] = i == axis ? last : i == last ? axis : i;
    return view_permute(&x->view, axes, &view, build->status) ? build_view(build, x, &view) : NULL;
}

static struct tensor *build_order(struct builder *build, struct tensor *x, unsigned axis,
                                  bool descending) {
    x = build_contiguous(build, swapped(build, x, axis));
    return swapped(build, order_of(build, x, descending), axis);
}

static bool check_scatter(struct builder *build, const struct tensor *x,
                          const struct tensor *source, const struct tensor *indices,
                          unsigned axis) {
    struct view expected = x->view;
    expected.sizes[axis] = indices->view.sizes[axis];
    if (source->dtype != x->dtype)
        return status_fail(build->status, STATUS_USAGE,
                           "%s and %s do not mix: cast one of them with ridge_cast()",
                           ridge_dtype_name(x->dtype), ridge_dtype_name(source->dtype));
    if (!view_same_sizes(&expected, &source->view))
        return status_fail(build->status, STATUS_USAGE,
                           "the source must have x's sizes, and the indices' along axis %u", axis);
    return true;
}

static bool build_scatter_add(struct builder *build, const struct operation *operation,
                              struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0], *indices = inputs[1], *source = inputs[2];
    unsigned axis;
    if (!check_plain(build, x) ||
        !view_axis(&x->view, (int)operation->integers[0], &axis, build->status) ||
        !(indices = build_contiguous(build, indices)) || !check_indices(build, indices))
        return false;
    /* Sorted before they are spread: rows that share their indices share the order. */
    struct tensor *order = build_contiguous(build, build_order(build, indices, axis, false));
    indices = spread_indices(build, indices, x->view.rank, x->view.sizes, axis);
    if (!order || !indices || !check_scatter(build, x, source, indices, axis))
        return false;
    struct tensor *operands[4] = {stored(build, x), indices, order, stored(build, source)};
    if (!operands[0] || !operands[3])
        return false;
    if (indices->view.sizes[axis] == 0) {
        outputs[0] = build_copy(build, x);
        return outputs[0] != NULL;
    }
    struct node_parameters parameters = {.axis = axis};
    outputs[0] = build_kernel(build, OP_SCATTER_ADD, x->dtype, &x->view, operands, 4, &parameters);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_scatter_add(ridge_tensor *x, int axis, ridge_tensor *indices,
                                ridge_tensor *source) {
    struct operation operation = {.name = "ridge_scatter_add",
                                  .build = build_scatter_add,
                                  .input_count = 3,
                                  .output_count = 1,
                                  .inputs = {x, indices, source},
                                  .integers = {axis}};
    return operation_result(&operation);
}

/* ---- Sorting ---------------------------------------------------------------------------- */

/* The integers: axis, whether descending, how many (-1: all), whether the values are wanted. */
static bool build_sorted(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    unsigned axis;
    int64_t wanted = operation->integers[2];
    if (!check_plain(build, x) ||
        !view_axis(&x->view, (int)operation->integers[0], &axis, build->status))
        return false;
    if (x->view.sizes[axis] > INT32_MAX)
        return status_fail(build->status, STATUS_UNSUPPORTED, "the axis is too long for i32");
    if (wanted > x->view.sizes[axis])
        return status_fail(build->status, STATUS_USAGE, "axis %u has only %lld elements", axis,
                           (long long)x->view.sizes[axis]);
    struct tensor *order = build_order(build, x, axis, operation->integers[1] != 0);
    struct view view;
    if (order && wanted >= 0)
        order = view_slice(&order->view, (int)axis, 0, wanted, 1, &view, build->status)
                    ? build_view(build, order, &view)
                    : NULL;
    if (!order)
        return false;
    outputs[0] = order;
    if (!operation->integers[3])
        return true;
    struct tensor *operands[2] = {stored(build, x), order};
    struct node_parameters parameters = {.axis = axis};
    outputs[1] = operands[0] ? build_kernel(build, OP_GATHER, x->dtype, &order->view, operands, 2,
                                            &parameters)
                             : NULL;
    return outputs[1] != NULL;
}

ridge_tensor *ridge_argsort(ridge_tensor *x, int axis, bool descending) {
    struct operation operation = {.name = "ridge_argsort",
                                  .build = build_sorted,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {axis, descending, -1}};
    return operation_result(&operation);
}

ridge_tensor *ridge_topk(ridge_tensor *x, int64_t count, int axis, ridge_tensor **indices) {
    if (indices)
        *indices = NULL;
    if (count < 0) {
        status_fail(tensor_status(), STATUS_USAGE, "ridge_topk: the count is negative");
        return NULL;
    }
    struct operation operation = {.name = "ridge_topk",
                                  .build = build_sorted,
                                  .input_count = 1,
                                  .output_count = 2,
                                  .inputs = {x},
                                  .integers = {axis, true, count, true}};
    ridge_tensor *outputs[2];
    if (!operation_run(&operation, outputs))
        return NULL;
    if (indices)
        *indices = outputs[0];
    else
        ridge_release(outputs[0]);
    return outputs[1];
}

/* ---- Running sums ----------------------------------------------------------------------- */

static bool build_cumsum(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    unsigned axis;
    if (!check_plain(build, x) ||
        !view_axis(&x->view, (int)operation->integers[0], &axis, build->status))
        return false;
    x = build_contiguous(build, swapped(build, x, axis));
    if (!x)
        return false;
    enum ridge_dtype dtype = x->dtype == RIDGE_U8 ? RIDGE_I32 : x->dtype;
    outputs[0] = swapped(build, build_kernel(build, OP_CUMSUM, dtype, &x->view, &x, 1, NULL), axis);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_cumsum(ridge_tensor *x, int axis) {
    struct operation operation = {.name = "ridge_cumsum",
                                  .build = build_cumsum,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x},
                                  .integers = {axis}};
    return operation_result(&operation);
}

/* ---- Sampling --------------------------------------------------------------------------- */

/* A step for each row, or one for all. */
static struct tensor *spread_steps(struct builder *build, struct tensor *steps, int64_t rows) {
    struct view view;
    if (!check_indices(build, steps))
        return NULL;
    if (steps->view.rank > 1) {
        status_fail(build->status, STATUS_USAGE, "the step must be i32, one or one for each row");
        return NULL;
    }
    if (!view_broadcast(&steps->view, 1, &rows, &view, build->status))
        return NULL;
    return stored(build, build_view(build, steps, &view));
}

/* The integers: top_k, seed. */
static bool build_sample(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *logits = inputs[0];
    double temperature = operation->numbers[0], top_p = operation->numbers[1];
    if (!dtype_is_float(logits->dtype) || logits->view.rank != 2 || logits->view.sizes[1] == 0 ||
        logits->view.sizes[1] > INT32_MAX)
        return status_fail(build->status, STATUS_USAGE, "it takes float logits [rows, choices]");
    if (!(temperature >= 0) || !(top_p > 0) || operation->integers[0] < 0)
        return status_fail(build->status, STATUS_USAGE,
                           "temperature and top_k must not be negative, top_p must be positive");
    if (temperature == 0) {
        outputs[0] = build_squeeze(build, build_reduce(build, OP_REDUCE_ARGMAX, logits, 2), 2);
        return outputs[0] != NULL;
    }
    logits = build_contiguous(build, logits);
    struct tensor *steps = spread_steps(build, inputs[1], logits ? logits->view.sizes[0] : 0);
    struct tensor *operands[2] = {logits, steps};
    struct node_parameters parameters = {.value = 1 / temperature,
                                         .step = top_p,
                                         .start = operation->integers[0],
                                         .seed = (uint64_t)operation->integers[1]};
    struct view shape = {.rank = 1};
    if (!logits || !steps || !view_contiguous(1, logits->view.sizes, &shape, build->status))
        return false;
    outputs[0] = build_kernel(build, OP_SAMPLE, RIDGE_I32, &shape, operands, 2, &parameters);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_sample(ridge_tensor *logits, ridge_tensor *step, float temperature,
                           int64_t top_k, float top_p, uint64_t seed) {
    struct operation operation = {.name = "ridge_sample",
                                  .build = build_sample,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {logits, step},
                                  .integers = {top_k, (int64_t)seed},
                                  .numbers = {temperature, top_p}};
    return operation_result(&operation);
}

/* ---- Writing at a position ---------------------------------------------------------------- */

static bool check_update(struct builder *build, const struct tensor *target,
                         const struct tensor *source, unsigned axis) {
    struct view expected = target->view;
    expected.sizes[axis] = source->view.rank == expected.rank ? source->view.sizes[axis] : 0;
    if (source->dtype != target->dtype)
        return status_fail(build->status, STATUS_USAGE,
                           "%s and %s do not mix: cast one of them with ridge_cast()",
                           ridge_dtype_name(target->dtype), ridge_dtype_name(source->dtype));
    if (!view_same_sizes(&expected, &source->view))
        return status_fail(build->status, STATUS_USAGE,
                           "the source must have the target's sizes except along axis %u", axis);
    return true;
}

static bool build_updated(struct builder *build, const struct operation *operation,
                          struct tensor *const *inputs, struct tensor **outputs) {
    (void)outputs;
    struct tensor *target = inputs[0], *source = inputs[1], *positions = inputs[2];
    unsigned axis;
    struct view view;
    if (!check_plain(build, target) ||
        !view_axis(&target->view, (int)operation->integers[0], &axis, build->status) ||
        !check_indices(build, positions) || !check_update(build, target, source, axis))
        return false;
    if (positions->view.rank > 1 || (axis == 0 && view_count(&positions->view) != 1))
        return status_fail(build->status, STATUS_USAGE,
                           "the position must be one i32, or one for each index of axis 0");
    if (!view_broadcast(&positions->view, 1, target->view.sizes, &view, build->status))
        return false;
    return build_write(build, target, source, stored(build, build_view(build, positions, &view)),
                       axis, operation->integers[1] != 0);
}

bool ridge_update(ridge_tensor *target, ridge_tensor *source, int axis, ridge_tensor *position) {
    struct operation operation = {.name = "ridge_update",
                                  .build = build_updated,
                                  .input_count = 3,
                                  .inputs = {target, source, position},
                                  .integers = {axis}};
    const struct tensor *to = tensor_find(target), *from = tensor_find(source);
    operation.integers[1] = to && from && to->storage && from->storage &&
                            to->storage != from->storage && !graph_current();
    return operation_run(&operation, NULL);
}
