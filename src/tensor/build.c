/* Shape and type rules, and the nodes that operations become. */
#include "tensor/build.h"

#include <string.h>

static struct tensor *add_node(struct builder *build, const struct node *node) {
    uint32_t number;
    if (!graph_add(build->graph, node, &number, build->status))
        return NULL;
    return tensor_of_node(build->graph, number, &node->shape, build->status);
}

struct tensor *build_view(struct builder *build, struct tensor *x, const struct view *view) {
    return x ? tensor_view(x, view, build->status) : NULL;
}

struct tensor *build_constant(struct builder *build, enum ridge_dtype dtype, double value) {
    struct node node = {.kind = NODE_CONSTANT, .dtype = dtype};
    node.parameters.value = value;
    return add_node(build, &node);
}

/* ---- Elementwise ------------------------------------------------------------------------ */

static bool is_truth(enum ridge_dtype dtype) {
    return dtype == RIDGE_U8 || dtype == RIDGE_I32;
}

static bool check_types(const struct op_info *info, struct tensor *const *operands,
                        struct status *status) {
    unsigned first = info->rule == RULE_WHERE ? 1 : 0;
    if (first && !is_truth(operands[0]->dtype))
        return status_fail(status, STATUS_USAGE, "the condition must be u8 or i32, not %s",
                           ridge_dtype_name(operands[0]->dtype));
    enum ridge_dtype dtype = operands[first]->dtype;
    for (unsigned i = first + 1; i < info->arity; i++)
        if (operands[i]->dtype != dtype)
            return status_fail(status, STATUS_USAGE,
                               "%s and %s do not mix: cast one of them with ridge_cast()",
                               ridge_dtype_name(dtype), ridge_dtype_name(operands[i]->dtype));
    if (dtype_is_quantized(dtype))
        return status_fail(status, STATUS_USAGE,
                           "%s is quantized: dequantize it first with ridge_dequantize()",
                           ridge_dtype_name(dtype));
    if (info->rule == RULE_FLOAT && !dtype_is_float(dtype))
        return status_fail(status, STATUS_USAGE, "it takes floats, not %s: cast first",
                           ridge_dtype_name(dtype));
    if (info->rule == RULE_LOGIC && !is_truth(dtype))
        return status_fail(status, STATUS_USAGE,
                           "it takes u8 and i32, not %s: use a comparison first",
                           ridge_dtype_name(dtype));
    return true;
}

static enum ridge_dtype result_type(const struct op_info *info, struct tensor *const *operands) {
    switch (info->rule) {
    case RULE_COMPARE:
    case RULE_LOGIC:
        return RIDGE_U8;
    case RULE_WHERE:
        return operands[1]->dtype;
    default:
        return operands[0]->dtype;
    }
}

/* A node that reads its operands, broadcast to common sizes, elementwise. */
static struct tensor *elementwise(struct builder *build, enum op op, enum ridge_dtype dtype,
                                  struct tensor *const *operands, unsigned count) {
    struct node_input inputs[3];
    unsigned rank = 0;
    int64_t sizes[RIDGE_RANK_MAX] = {0};
    for (unsigned i = 0; i < count; i++)
        if (!view_broadcast_sizes(&operands[i]->view, &rank, sizes, build->status))
            return NULL;
    struct node node = {.kind = NODE_EXPRESSION, .op = op, .dtype = dtype};
    node.input_count = count;
    node.inputs = inputs;
    if (!view_contiguous(rank, sizes, &node.shape, build->status))
        return NULL;
    for (unsigned i = 0; i < count; i++)
        if (!graph_operand(build->graph, operands[i], &inputs[i], build->status) ||
            !view_broadcast(&operands[i]->view, rank, sizes, &inputs[i].view, build->status))
            return NULL;
    return add_node(build, &node);
}

struct tensor *build_expression(struct builder *build, enum op op, struct tensor *x,
                                struct tensor *y, struct tensor *z) {
    const struct op_info *info = op_info(op);
    struct tensor *operands[3] = {x, y, z};
    for (unsigned i = 0; i < info->arity; i++)
        if (!operands[i])
            return NULL;
    if (!check_types(info, operands, build->status))
        return NULL;
    return elementwise(build, op, result_type(info, operands), operands, info->arity);
}

struct tensor *build_number(struct builder *build, enum ridge_dtype dtype, double value) {
    if (value_type_of(dtype) == VALUE_I32 &&
        !(value >= INT32_MIN && value <= INT32_MAX && value == (double)(int32_t)value)) {
        status_fail(build->status, STATUS_USAGE, "%g cannot be represented in %s: cast first",
                    value, ridge_dtype_name(dtype));
        return NULL;
    }
    return build_constant(build, dtype, value);
}

struct tensor *build_scalar(struct builder *build, enum op op, struct tensor *x, double y) {
    return x ? build_expression(build, op, x, build_number(build, x->dtype, y), NULL) : NULL;
}

static struct tensor *convert(struct builder *build, enum op op, enum ridge_dtype dtype,
                              struct tensor *x) {
    return x ? elementwise(build, op, dtype, &x, 1) : NULL;
}

struct tensor *build_cast(struct builder *build, struct tensor *x, enum ridge_dtype dtype) {
    if (!x || x->dtype == dtype)
        return x;
    if (dtype_is_quantized(dtype) || dtype_is_quantized(x->dtype)) {
        status_fail(build->status, STATUS_USAGE,
                    "cannot cast %s to %s: use ridge_quantize() or ridge_dequantize()",
                    ridge_dtype_name(x->dtype), ridge_dtype_name(dtype));
        return NULL;
    }
    bool to_float = dtype_is_float(dtype);
    if (dtype_is_float(x->dtype) != to_float)
        x = convert(build, to_float ? OP_TO_F32 : OP_TO_I32, to_float ? RIDGE_F32 : RIDGE_I32, x);
    if (dtype == RIDGE_F16 || dtype == RIDGE_BF16 || dtype == RIDGE_U8)
        return convert(build,
                       dtype == RIDGE_F16    ? OP_TO_F16
                       : dtype == RIDGE_BF16 ? OP_TO_BF16
                                             : OP_TO_U8,
                       dtype, x);
    return x && x->dtype != dtype ? convert(build, OP_LOAD, dtype, x) : x;
}

struct tensor *build_copy(struct builder *build, struct tensor *x) {
    return x ? elementwise(build, OP_LOAD, x->dtype, &x, 1) : NULL;
}

struct tensor *build_detached(struct builder *build, struct tensor *x) {
    struct node_input input;
    if (!x || !graph_operand(build->graph, x, &input, build->status))
        return NULL;
    struct node node = {.kind = NODE_EXPRESSION, .op = OP_LOAD, .dtype = x->dtype};
    node.shape = x->view;
    view_set_contiguous(&node.shape);
    node.input_count = 1;
    node.inputs = &input;
    node.parameters.detached = true;
    return add_node(build, &node);
}

struct tensor *build_contiguous(struct builder *build, struct tensor *x) {
    if (!x || (view_is_contiguous(&x->view) && build->graph->nodes[x->node].kind != NODE_CONSTANT))
        return x;
    if (dtype_is_quantized(x->dtype)) {
        status_fail(build->status, STATUS_USAGE,
                    "%s rows must be contiguous: quantize the rearranged tensor again",
                    ridge_dtype_name(x->dtype));
        return NULL;
    }
    return build_copy(build, x);
}

/* ---- Reductions ------------------------------------------------------------------------- */

static struct tensor *reduce_nothing(struct builder *build, enum op op, const struct node *node) {
    if (op != OP_REDUCE_SUM) {
        status_fail(build->status, STATUS_USAGE, "the %s of no elements is undefined",
                    op_info(op)->name);
        return NULL;
    }
    struct tensor *zero = build_constant(build, node->dtype, 0);
    struct view view;
    if (!zero ||
        !view_broadcast(&zero->view, node->shape.rank, node->shape.sizes, &view, build->status))
        return NULL;
    return build_copy(build, build_view(build, zero, &view));
}

struct tensor *build_reduce(struct builder *build, enum op op, struct tensor *x,
                            uint32_t axis_mask) {
    if (!x)
        return NULL;
    if (dtype_is_quantized(x->dtype)) {
        status_fail(build->status, STATUS_USAGE,
                    "%s is quantized: dequantize it first with ridge_dequantize()",
                    ridge_dtype_name(x->dtype));
        return NULL;
    }
    bool finds_index = op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN;
    struct node node = {.kind = NODE_REDUCE, .op = op, .input_count = 1};
    node.dtype = finds_index                                   ? RIDGE_I32
                 : op == OP_REDUCE_SUM && x->dtype == RIDGE_U8 ? RIDGE_I32
                                                               : x->dtype;
    int64_t sizes[RIDGE_RANK_MAX] = {0}, reduced = 1;
    for (unsigned axis = 0; axis < x->view.rank; axis++) {
        bool taken = axis_mask & 1u << axis;
        sizes[axis] = taken ? 1 : x->view.sizes[axis];
        reduced *= taken ? x->view.sizes[axis] : 1;
    }
    if (!view_contiguous(x->view.rank, sizes, &node.shape, build->status))
        return NULL;
    if (reduced == 0)
        return reduce_nothing(build, op, &node);
    struct node_input input;
    if (!graph_operand(build->graph, x, &input, build->status))
        return NULL;
    node.inputs = &input;
    node.parameters.axis_mask = axis_mask;
    if (reduced > 1)
        return add_node(build, &node);
    /* One element each: itself, or its index. */
    if (!finds_index)
        return build_copy(build, build_cast(build, x, node.dtype));
    struct tensor *zero = build_constant(build, RIDGE_I32, 0);
    struct view view;
    if (!zero || !view_broadcast(&zero->view, x->view.rank, sizes, &view, build->status))
        return NULL;
    return build_copy(build, build_view(build, zero, &view));
}

struct tensor *build_mean(struct builder *build, struct tensor *x, uint32_t axis_mask) {
    if (!x)
        return NULL;
    if (!dtype_is_float(x->dtype)) {
        status_fail(build->status, STATUS_USAGE, "the mean takes floats, not %s: cast first",
                    ridge_dtype_name(x->dtype));
        return NULL;
    }
    double count = 1;
    for (unsigned axis = 0; axis < x->view.rank; axis++)
        count *= axis_mask & 1u << axis ? (double)x->view.sizes[axis] : 1;
    return build_scalar(build, OP_DIV, build_reduce(build, OP_REDUCE_SUM, x, axis_mask), count);
}

struct tensor *build_squeeze(struct builder *build, struct tensor *x, uint32_t axis_mask) {
    if (!x)
        return NULL;
    struct view view = x->view;
    for (unsigned axis = view.rank; axis-- > 0;)
        if (axis_mask & 1u << axis)
            view_drop_axis(&view, axis);
    return build_view(build, x, &view);
}

/* ---- Matrix products ---------------------------------------------------------------------- */

static bool check_matmul_types(struct tensor *a, struct tensor *b, struct status *status) {
    if (!dtype_is_float(a->dtype))
        return status_fail(status, STATUS_USAGE, "the left matrix must hold floats, not %s",
                           ridge_dtype_name(a->dtype));
    if (dtype_is_quantized(b->dtype)) {
        const struct view *view = &b->view;
        unsigned last = view->rank - 1;
        if (view->rank != 2 || view->strides[last - 1] != 1 ||
            (view->sizes[last] > 1 && view->strides[last] != view->sizes[last - 1]))
            return status_fail(status, STATUS_USAGE,
                               "a quantized right matrix must be the transpose of a whole [n, k]: "
                               "use ridge_linear() or ridge_transpose()");
        return true;
    }
    if (a->dtype != b->dtype)
        return status_fail(status, STATUS_USAGE,
                           "%s and %s do not mix: cast one of them with ridge_cast()",
                           ridge_dtype_name(a->dtype), ridge_dtype_name(b->dtype));
    return true;
}

enum { MANY_ROWS = 64 };

/* Whether a product with many rows dequantizes its weight first: CUDA's kernels for blocks read
 * them again for every few rows, and the library's product of halves reaches its roof. */
static bool is_better_plain(const struct builder *build, const struct tensor *a) {
    const struct device_capabilities *device = &build->graph->device->device->capabilities;
    int64_t depth = a->view.sizes[a->view.rank - 1];
    return device->language == LANGUAGE_CUDA && a->dtype != RIDGE_F32 && depth > 0 &&
           view_count(&a->view) / depth >= MANY_ROWS;
}

/* The transpose of a quantized [n, k], as floats. */
static struct tensor *plain_weight(struct builder *build, struct tensor *b,
                                   enum ridge_dtype dtype) {
    struct view stored = b->view, turned;
    stored.sizes[0] = b->view.sizes[1];
    stored.sizes[1] = b->view.sizes[0];
    stored.strides[0] = stored.sizes[1];
    stored.strides[1] = 1;
    struct tensor *whole = build_view(build, b, &stored);
    struct tensor *floats =
        whole ? build_kernel(build, OP_DEQUANTIZE, dtype, &stored, &whole, 1, NULL) : NULL;
    if (!floats)
        return NULL;
    turned = floats->view;
    turned.sizes[0] = stored.sizes[1];
    turned.sizes[1] = stored.sizes[0];
    turned.strides[0] = 1;
    turned.strides[1] = stored.sizes[1];
    return build_view(build, floats, &turned);
}

/* The operand with the batch axes of the result, as a storage that one batch stride walks. */
static struct tensor *matmul_operand(struct builder *build, struct tensor *x, unsigned rank,
                                     const int64_t *sizes) {
    struct view view;
    int64_t wide[RIDGE_RANK_MAX];
    memcpy(wide, sizes, sizeof wide);
    wide[rank - 2] = x->view.sizes[x->view.rank - 2];
    wide[rank - 1] = x->view.sizes[x->view.rank - 1];
    if (build->graph->nodes[x->node].kind == NODE_CONSTANT)
        x = build_copy(build, x);
    if (!x || !view_broadcast(&x->view, rank, wide, &view, build->status))
        return NULL;
    x = build_view(build, x, &view);
    int64_t stride;
    bool as_one = view_batch_stride(rank - 2, view.sizes, view.strides, &stride);
    return x && !as_one ? build_copy(build, x) : x;
}

/* A vector is a row on the left and a column on the right; that axis is dropped from the result. */
static struct tensor *multiply_vectors(struct builder *build, struct tensor *a, struct tensor *b) {
    bool row = a->view.rank == 1, column = b->view.rank == 1;
    struct view wide_a = a->view, wide_b = b->view;
    if (a->view.rank == 0 || b->view.rank == 0) {
        status_fail(build->status, STATUS_USAGE, "a scalar is no matrix: use ridge_mul()");
        return NULL;
    }
    if ((row && !view_insert_axis(&wide_a, 0, build->status)) ||
        (column && !view_insert_axis(&wide_b, 1, build->status)))
        return NULL;
    struct tensor *y =
        build_matmul(build, build_view(build, a, &wide_a), build_view(build, b, &wide_b));
    if (!y)
        return NULL;
    unsigned rank = y->view.rank;
    return build_squeeze(build, y, (row ? 1u << (rank - 2) : 0) | (column ? 1u << (rank - 1) : 0));
}

struct tensor *build_matmul(struct builder *build, struct tensor *a, struct tensor *b) {
    if (!a || !b)
        return NULL;
    if (a->view.rank < 2 || b->view.rank < 2)
        return multiply_vectors(build, a, b);
    if (!check_matmul_types(a, b, build->status))
        return NULL;
    if (dtype_is_quantized(b->dtype) &&
        (!dtype_has_products(b->dtype) || is_better_plain(build, a)) &&
        !(b = plain_weight(build, b, a->dtype)))
        return NULL;
    int64_t m = a->view.sizes[a->view.rank - 2], k = a->view.sizes[a->view.rank - 1];
    int64_t n = b->view.sizes[b->view.rank - 1];
    if (b->view.sizes[b->view.rank - 2] != k) {
        status_fail(build->status, STATUS_USAGE,
                    "the left has %lld columns and the right has %lld rows", (long long)k,
                    (long long)b->view.sizes[b->view.rank - 2]);
        return NULL;
    }
    struct view a_batch = a->view, b_batch = b->view;
    a_batch.rank -= 2;
    b_batch.rank -= 2;
    unsigned rank = 0;
    int64_t sizes[RIDGE_RANK_MAX] = {0};
    if (!view_broadcast_sizes(&a_batch, &rank, sizes, build->status) ||
        !view_broadcast_sizes(&b_batch, &rank, sizes, build->status))
        return NULL;
    sizes[rank] = m;
    sizes[rank + 1] = n;
    struct node node = {.kind = NODE_MATMUL, .op = OP_MATMUL, .dtype = a->dtype};
    if (!view_contiguous(rank + 2, sizes, &node.shape, build->status))
        return NULL;
    if (k == 0) {
        struct tensor *zero = build_constant(build, a->dtype, 0);
        struct view view;
        if (!zero || !view_broadcast(&zero->view, rank + 2, sizes, &view, build->status))
            return NULL;
        return build_copy(build, build_view(build, zero, &view));
    }
    a = matmul_operand(build, a, rank + 2, sizes);
    b = a ? matmul_operand(build, b, rank + 2, sizes) : NULL;
    struct node_input inputs[2];
    if (!b || !graph_operand(build->graph, a, &inputs[0], build->status) ||
        !graph_operand(build->graph, b, &inputs[1], build->status))
        return NULL;
    node.input_count = 2;
    node.inputs = inputs;
    return add_node(build, &node);
}

struct tensor *build_activation(struct builder *build, struct tensor *x,
                                enum ridge_activation activation) {
    switch (activation) {
    case RIDGE_ACTIVATION_NONE:
        return x;
    case RIDGE_ACTIVATION_RELU:
        return build_expression(build, OP_RELU, x, NULL, NULL);
    case RIDGE_ACTIVATION_GELU:
        return build_expression(build, OP_GELU_TANH, x, NULL, NULL);
    case RIDGE_ACTIVATION_SILU:
        return build_expression(build, OP_SILU, x, NULL, NULL);
    }
    status_fail(build->status, STATUS_USAGE, "unknown activation %d", (int)activation);
    return NULL;
}

/* ---- The rest --------------------------------------------------------------------------- */

struct tensor *build_cat(struct builder *build, struct tensor *const *parts, unsigned count,
                         unsigned axis) {
    struct node node = {.kind = NODE_CAT, .op = OP_LOAD, .dtype = parts[0]->dtype};
    struct view shape = parts[0]->view;
    shape.sizes[axis] = 0;
    struct node_input *inputs =
        arena_allocate(&build->graph->arena, count * sizeof *inputs, build->status);
    if (!inputs)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        struct view other = parts[i]->view;
        if (other.rank == shape.rank)
            other.sizes[axis] = shape.sizes[axis];
        if (parts[i]->dtype != node.dtype || !view_same_sizes(&other, &shape)) {
            status_fail(build->status, STATUS_USAGE,
                        "part %u differs from part 0 in more than the size of axis %u", i, axis);
            return NULL;
        }
        if (!graph_operand(build->graph, parts[i], &inputs[i], build->status))
            return NULL;
        if (parts[i]->view.sizes[axis] > INT64_MAX - shape.sizes[axis]) {
            status_fail(build->status, STATUS_USAGE, "the joined tensor is too large");
            return NULL;
        }
        shape.sizes[axis] += parts[i]->view.sizes[axis];
    }
    if (dtype_is_quantized(node.dtype)) {
        status_fail(build->status, STATUS_USAGE, "quantized tensors cannot be joined");
        return NULL;
    }
    if (!view_contiguous(shape.rank, shape.sizes, &node.shape, build->status))
        return NULL;
    node.input_count = count;
    node.inputs = inputs;
    node.parameters.axis = axis;
    return add_node(build, &node);
}

static bool check_target(struct builder *build, const struct tensor *target) {
    if (dtype_is_quantized(target->dtype))
        return status_fail(build->status, STATUS_USAGE,
                           "%s is quantized and cannot be assigned to: quantize a new tensor",
                           ridge_dtype_name(target->dtype));
    enum node_kind kind = build->graph->nodes[target->node].kind;
    if (kind != NODE_INPUT && kind != NODE_CAPTURE)
        return status_fail(build->status, STATUS_USAGE,
                           "a compiled function can only assign to tensors from outside it");
    for (unsigned axis = 0; axis < target->view.rank; axis++)
        if (target->view.strides[axis] == 0 && target->view.sizes[axis] > 1)
            return status_fail(build->status, STATUS_USAGE,
                               "cannot assign to a broadcast tensor: its elements share memory");
    return true;
}

bool build_write(struct builder *build, struct tensor *target, struct tensor *source,
                 struct tensor *positions, unsigned axis, bool apart) {
    if (!positions || !check_target(build, target))
        return false;
    enum node_kind kind = build->graph->nodes[source->node].kind;
    if (kind == NODE_CONSTANT || (!apart && (kind == NODE_INPUT || kind == NODE_CAPTURE)))
        source = build_copy(build, source);
    struct node node = {.kind = NODE_ASSIGN, .op = OP_UPDATE, .dtype = target->dtype};
    struct node_input inputs[3];
    if (!source || !graph_operand(build->graph, target, &inputs[0], build->status) ||
        !graph_operand(build->graph, source, &inputs[1], build->status) ||
        !graph_operand(build->graph, positions, &inputs[2], build->status))
        return false;
    node.shape = source->view;
    view_set_contiguous(&node.shape);
    node.parameters.axis = axis;
    node.input_count = 3;
    node.inputs = inputs;
    uint32_t number;
    return graph_add(build->graph, &node, &number, build->status);
}

bool build_assign(struct builder *build, struct tensor *target, struct tensor *source, bool apart) {
    if (!check_target(build, target))
        return false;
    source = build_cast(build, source, target->dtype);
    if (!source)
        return false;
    struct node node = {.kind = NODE_ASSIGN, .op = OP_LOAD, .dtype = target->dtype};
    struct node_input inputs[2];
    if (!graph_operand(build->graph, target, &inputs[0], build->status) ||
        !graph_operand(build->graph, source, &inputs[1], build->status) ||
        !view_broadcast(&source->view, target->view.rank, target->view.sizes, &inputs[1].view,
                        build->status))
        return false;
    /* Within one storage the source may be overwritten before it is read. Only eager callers
     * know whether two outside tensors share a storage. */
    enum node_kind source_kind = build->graph->nodes[inputs[1].node].kind;
    if (!apart && (source_kind == NODE_INPUT || source_kind == NODE_CAPTURE)) {
        struct tensor *copy = build_copy(build, source);
        if (!copy || !graph_operand(build->graph, copy, &inputs[1], build->status) ||
            !view_broadcast(&copy->view, target->view.rank, target->view.sizes, &inputs[1].view,
                            build->status))
            return false;
    }
    node.shape = target->view;
    view_set_contiguous(&node.shape);
    node.input_count = 2;
    node.inputs = inputs;
    uint32_t number;
    return graph_add(build->graph, &node, &number, build->status);
}

struct tensor *build_kernel(struct builder *build, enum op op, enum ridge_dtype dtype,
                            const struct view *shape, struct tensor *const *operands,
                            unsigned count, const struct node_parameters *parameters) {
    struct node_input inputs[8];
    struct node node = {.kind = NODE_KERNEL, .op = op, .dtype = dtype, .input_count = count};
    for (unsigned i = 0; i < count; i++)
        if (!operands[i] || !graph_operand(build->graph, operands[i], &inputs[i], build->status))
            return NULL;
    node.inputs = inputs;
    node.shape = *shape;
    view_set_contiguous(&node.shape);
    if (parameters)
        node.parameters = *parameters;
    return add_node(build, &node);
}

struct tensor *build_second(struct builder *build, struct tensor *first, enum ridge_dtype dtype,
                            const struct view *shape) {
    if (!first)
        return NULL;
    struct node_input input = {.node = first->node, .view = first->view};
    struct node node = {.kind = NODE_RESULT, .op = OP_LOAD, .dtype = dtype, .input_count = 1};
    node.inputs = &input;
    node.shape = *shape;
    view_set_contiguous(&node.shape);
    return add_node(build, &node);
}
