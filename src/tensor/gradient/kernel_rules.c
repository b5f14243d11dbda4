/* The gradient rules of operations with their own kernels. */
#include "tensor/gradient/gradient.h"

#include <math.h>

#include "tensor/attention.h"

static struct tensor *add(struct builder *build, struct tensor *a, struct tensor *b) {
    return build_expression(build, OP_ADD, a, b, NULL);
}

static struct tensor *multiply(struct builder *build, struct tensor *a, struct tensor *b) {
    return build_expression(build, OP_MUL, a, b, NULL);
}

static struct tensor *scaled(struct builder *build, struct tensor *a, double factor) {
    return build_scalar(build, OP_MUL, a, factor);
}

/* 0, 1, ... along one axis of a tensor with `rank` axes. */
static struct tensor *count_up(struct builder *build, int64_t count, unsigned rank, unsigned axis) {
    struct node_parameters parameters = {.step = 1};
    struct view view;
    int64_t sizes[RIDGE_RANK_MAX];
    if (!view_contiguous(1, &count, &view, build->status))
        return NULL;
    struct tensor *numbers = build_kernel(build, OP_ARANGE, RIDGE_I32, &view, NULL, 0, &parameters);
    for (unsigned i = 0; i < rank; i++)
        sizes[i] = i == axis ? count : 1;
    return build_reshape(build, numbers, rank, sizes);
}

/* ---- Indices ---------------------------------------------------------------------------- */

/* Row r of the table gets the sum of the gradients of its uses. */
static bool embedding_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    const struct view *table = &step->operands[0]->view;
    int64_t count = view_count(&step->operands[1]->view);
    struct tensor *indices = build_reshape(build, step->operands[1], 2, (int64_t[]){count, 1});
    struct tensor *g = build_reshape(build, step->g, 2, (int64_t[]){count, table->sizes[1]});
    step->results[0] =
        build_scatter_add(build, build_filled(build, step->g->dtype, table, 0), 0, indices, g);
    return step->results[0] != NULL;
}

/* Indices that are repeated along an axis, once. */
static struct tensor *without_repeats(struct builder *build, struct tensor *indices,
                                      unsigned axis) {
    struct view view = indices->view;
    for (unsigned i = 0; i < view.rank; i++)
        if (i != axis && view.strides[i] == 0)
            view.sizes[i] = 1;
    return build_view(build, indices, &view);
}

static bool gather_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    unsigned axis = step->node.parameters.axis;
    struct tensor *zeros = build_filled(build, step->g->dtype, &step->operands[0]->view, 0);
    step->results[0] = build_scatter_add(build, zeros, axis,
                                         without_repeats(build, step->operands[1], axis), step->g);
    return step->results[0] != NULL;
}

/* Operands: x, indices, their order, the source. */
static bool scatter_add_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    if (step->wanted[0])
        step->results[0] = step->g;
    if (!step->wanted[3])
        return true;
    struct tensor *operands[2] = {build_contiguous(build, step->g), step->operands[1]};
    step->results[3] = build_kernel(build, OP_GATHER, step->node.dtype, &step->operands[1]->view,
                                    operands, 2, &step->node.parameters);
    return step->results[3] != NULL;
}

/* The sum of what follows: all of it, less what came before. */
static bool cumsum_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    struct tensor *g = build_contiguous(build, step->g);
    if (!g)
        return false;
    struct tensor *before = build_kernel(build, OP_CUMSUM, g->dtype, &g->view, &g, 1, NULL);
    struct tensor *all = build_reduce(build, OP_REDUCE_SUM, g, 1u << (g->view.rank - 1));
    step->results[0] = add(build, g, build_expression(build, OP_SUB, all, before, NULL));
    return step->results[0] != NULL;
}

/* ---- Windows ---------------------------------------------------------------------------- */

/* Each is the transpose of the other. */
static bool window_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    struct node_parameters parameters = step->node.parameters;
    struct tensor *g = build_contiguous(build, step->g);
    parameters.value = 0;
    step->results[0] = build_kernel(build, step->node.op == OP_FOLD ? OP_UNFOLD : OP_FOLD,
                                    step->node.dtype, &step->operands[0]->view, &g, 1, &parameters);
    return step->results[0] != NULL;
}

/* ---- Rotary positions --------------------------------------------------------------------- */

/* 1 for the first of each pair, -1 for the second. */
static struct tensor *pair_signs(struct builder *build, int64_t width, bool interleaved,
                                 enum ridge_dtype dtype) {
    struct tensor *index = count_up(build, width, 1, 0);
    struct tensor *is_second =
        interleaved ? build_scalar(build, OP_MOD, index, 2)
                    : build_scalar(build, OP_GREATER_EQUAL, index, (double)(width / 2));
    return build_expression(build, OP_WHERE, is_second, build_constant(build, dtype, -1),
                            build_constant(build, dtype, 1));
}

/* The inverse of a rotation R(angle) is D R(angle) D, where D negates the second of each pair. */
static bool rope_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    int64_t width = step->node.shape.sizes[3];
    struct tensor *signs =
        pair_signs(build, width, step->node.parameters.flags != 0, step->g->dtype);
    struct tensor *operands[8];
    if (step->node.input_count > 8)
        return status_fail(build->status, STATUS_UNSUPPORTED, "rope with %u operands",
                           step->node.input_count);
    for (uint32_t i = 1; i < step->node.input_count; i++)
        operands[i] = step->operands[i];
    operands[0] = build_contiguous(build, multiply(build, step->g, signs));
    struct tensor *turned = build_kernel(build, OP_ROPE, step->node.dtype, &step->node.shape,
                                         operands, step->node.input_count, &step->node.parameters);
    step->results[0] = multiply(build, turned, signs);
    return step->results[0] != NULL;
}

/* ---- Attention -------------------------------------------------------------------------- */

/* Queries of the heads that share keys, as rows of one matrix: [batch, kv_heads, rows, width]. */
static struct tensor *share_keys(struct builder *build, struct tensor *x, int64_t kv_heads) {
    const int64_t *sizes = x->view.sizes;
    return build_reshape(build, x, 4, (int64_t[]){sizes[0], kv_heads, -1, sizes[3]});
}

/* What hides keys from queries: the operands of the node, by its flags. */
struct hiding {
    bool causal;
    int64_t window;
    struct tensor *lengths, *mask;
};

struct attention {
    struct tensor *q, *k, *v, *g, *result; /* heads that share keys together */
    struct tensor *weights;                /* f32, rows of queries */
    struct hiding hiding;
    int64_t queries;
    double scale;
};

static struct hiding hiding_of(const struct gradient_step *step) {
    uint32_t flags = step->node.parameters.flags;
    bool lengths = flags & ATTENTION_LENGTHS;
    return (struct hiding){.causal = flags & ATTENTION_CAUSAL,
                           .window = step->node.parameters.start,
                           .lengths = lengths ? step->operands[3] : NULL,
                           .mask = flags & ATTENTION_MASK ? step->operands[lengths ? 4 : 3] : NULL};
}

/* Whether row r (a query of any of the heads) sees key c, or NULL if all do. */
static struct tensor *visible_keys(struct builder *build, const struct attention *work) {
    const struct hiding *hiding = &work->hiding;
    int64_t rows = work->q->view.sizes[2], keys = work->k->view.sizes[2];
    struct tensor *key = count_up(build, keys, 4, 3), *end;
    if (hiding->lengths)
        end = build_reshape(build, hiding->lengths, 4, (int64_t[]){-1, 1, 1, 1});
    else
        end = build_constant(build, RIDGE_I32, (double)keys);
    if (hiding->causal) {
        struct tensor *query = count_up(build, rows, 4, 2);
        if (rows != work->queries)
            query = build_scalar(build, OP_MOD, query, (double)work->queries);
        end = add(build, build_scalar(build, OP_ADD, query, (double)(1 - work->queries)), end);
    }
    struct tensor *seen = build_expression(build, OP_LESS, key, end, NULL);
    if (hiding->window)
        seen = multiply(build, seen,
                        build_expression(build, OP_GREATER_EQUAL, key,
                                         build_scalar(build, OP_SUB, end, (double)hiding->window),
                                         NULL));
    return seen;
}

static struct tensor *attention_scores(struct builder *build, const struct attention *work) {
    const struct hiding *hiding = &work->hiding;
    struct tensor *product = build_matmul(build, work->q, build_transpose(build, work->k, 0, 1));
    struct tensor *scores = scaled(build, build_cast(build, product, RIDGE_F32), work->scale);
    if (hiding->mask) {
        struct tensor *mask = share_keys(build, hiding->mask, work->k->view.sizes[1]);
        scores = add(build, scores, build_cast(build, mask, RIDGE_F32));
    }
    if (hiding->causal || hiding->lengths)
        scores = build_expression(build, OP_WHERE, visible_keys(build, work), scores,
                                  build_constant(build, RIDGE_F32, -INFINITY));
    return scores;
}

/* The weights of the keys, which the forward kernel did not store. Those of a query that sees no
 * key are 0. */
static struct tensor *attention_weights(struct builder *build, const struct attention *work) {
    struct tensor *scores = attention_scores(build, work);
    struct tensor *largest = build_reduce(build, OP_REDUCE_MAX, scores, 1u << 3);
    bool may_see_none = work->hiding.mask || work->hiding.lengths;
    if (may_see_none)
        largest = build_scalar(build, OP_MAX, largest, -3e38);
    struct tensor *powers = build_expression(
        build, OP_EXP, build_expression(build, OP_SUB, scores, largest, NULL), NULL, NULL);
    struct tensor *sum = build_reduce(build, OP_REDUCE_SUM, powers, 1u << 3);
    if (may_see_none) /* any other sum is at least 1 */
        sum = build_scalar(build, OP_MAX, sum, 0.5);
    return build_expression(build, OP_DIV, powers, sum, NULL);
}

/* The sum of the gradient times the result, by row. */
static struct tensor *mean_change(struct builder *build, struct tensor *g, struct tensor *result) {
    struct tensor *both =
        multiply(build, build_cast(build, g, RIDGE_F32), build_cast(build, result, RIDGE_F32));
    return build_reduce(build, OP_REDUCE_SUM, both, 1u << 3);
}

/* The gradient of the scores: weights * (g x transpose(v) - sum(g * result)). */
static struct tensor *score_gradient(struct builder *build, const struct attention *work) {
    struct tensor *product = build_matmul(build, work->g, build_transpose(build, work->v, 0, 1));
    struct tensor *change = build_expression(build, OP_SUB, build_cast(build, product, RIDGE_F32),
                                             mean_change(build, work->g, work->result), NULL);
    return multiply(build, work->weights, change);
}

/* By products of whole matrices of scores. */
static bool attention_by_products(struct gradient_step *step) {
    struct builder *build = step->build;
    enum ridge_dtype dtype = step->node.dtype;
    int64_t kv_heads = step->operands[1]->view.sizes[1];
    struct attention work = {.q = share_keys(build, step->operands[0], kv_heads),
                             .k = step->operands[1],
                             .v = step->operands[2],
                             .g = share_keys(build, step->g, kv_heads),
                             .result = share_keys(build, step->result, kv_heads),
                             .hiding = hiding_of(step),
                             .queries = step->node.shape.sizes[2],
                             .scale = step->node.parameters.scale};
    if (!work.q || !work.g || !work.result)
        return false;
    work.weights = attention_weights(build, &work);
    if (step->wanted[2]) {
        struct tensor *weights =
            build_transpose(build, build_cast(build, work.weights, dtype), 0, 1);
        if (!(step->results[2] = build_matmul(build, weights, work.g)))
            return false;
    }
    struct tensor *change = score_gradient(build, &work);
    uint32_t last = step->node.input_count - 1;
    if (work.hiding.mask && step->wanted[last]) {
        step->results[last] =
            build_cast(build, build_reshape(build, change, 4, work.hiding.mask->view.sizes), dtype);
        if (!step->results[last])
            return false;
    }
    struct tensor *scores = build_cast(build, scaled(build, change, work.scale), dtype);
    if (step->wanted[0]) {
        struct tensor *q = build_matmul(build, scores, work.k);
        step->results[0] = build_reshape(build, q, 4, step->node.shape.sizes);
        if (!step->results[0])
            return false;
    }
    if (step->wanted[1])
        step->results[1] = build_matmul(build, build_transpose(build, scores, 0, 1), work.q);
    return !step->wanted[1] || step->results[1];
}

/* Whether the device has kernels for these gradients. They do not differentiate a mask. */
static bool has_attention_kernels(const struct gradient_step *step) {
    static const enum op ops[] = {OP_ATTENTION, OP_ATTENTION_DQ, OP_ATTENTION_DKV};
    const struct view *views[5] = {NULL};
    struct attention_work work;
    uint32_t count = step->node.input_count;
    for (uint32_t i = 0; i < count; i++) {
        views[i] = &step->operands[i]->view;
        if (i > 2 && step->wanted[i])
            return false;
    }
    for (unsigned i = 0; i < 3; i++) {
        attention_work_of(ops[i], step->node.dtype, &step->node.parameters, views, &work);
        if (!kernel_attention_fits(&work, &step->build->graph->device->device->capabilities))
            return false;
    }
    return true;
}

/* The result of attention as a node of this graph, which may be an operation's own. */
static struct tensor *attention_node(struct gradient_step *step) {
    struct builder *build = step->build;
    if (build->graph->nodes[step->result->node].op == OP_ATTENTION)
        return step->result;
    return build_kernel(build, OP_ATTENTION, step->node.dtype, &step->node.shape, step->operands,
                        step->node.input_count, &step->node.parameters);
}

/* By kernels that compute the scores again, tile by tile. */
static bool attention_by_kernels(struct gradient_step *step) {
    struct builder *build = step->build;
    enum ridge_dtype dtype = step->node.dtype;
    uint32_t count = step->node.input_count;
    struct tensor *operands[8], *node = attention_node(step);
    struct view rows = step->node.shape;
    view_drop_axis(&rows, 3);
    for (uint32_t i = 0; i < count; i++)
        operands[i] = step->operands[i];
    operands[count++] = build_contiguous(build, step->g);
    operands[count++] = build_second(build, node, RIDGE_F32, &rows);
    operands[count++] = build_contiguous(build, mean_change(build, step->g, step->result));
    for (uint32_t i = 0; i < count; i++)
        if (!operands[i])
            return false;
    if (step->wanted[0]) {
        step->results[0] = build_kernel(build, OP_ATTENTION_DQ, dtype, &step->node.shape, operands,
                                        count, &step->node.parameters);
        if (!step->results[0])
            return false;
    }
    if (!step->wanted[1] && !step->wanted[2])
        return true;
    struct view keys = step->operands[1]->view;
    step->results[1] = build_kernel(build, OP_ATTENTION_DKV, dtype, &keys, operands, count,
                                    &step->node.parameters);
    step->results[2] = build_second(build, step->results[1], dtype, &keys);
    return step->results[2] != NULL;
}

static bool attention_gradient(struct gradient_step *step) {
    return has_attention_kernels(step) ? attention_by_kernels(step) : attention_by_products(step);
}

/* ---- Pairs of products ---------------------------------------------------------------------- */

static bool contribute(struct builder *build, struct tensor **sum, struct tensor *term) {
    *sum = *sum ? add(build, *sum, term) : term;
    return *sum != NULL;
}

/* silu(x gate) * (x up) */
static bool gated_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    struct tensor *x = step->operands[0], *by_x[2] = {NULL};
    struct tensor *gate = build_matmul(build, x, step->operands[1]);
    struct tensor *up = build_matmul(build, x, step->operands[2]);
    struct tensor *s = build_expression(build, OP_SIGMOID, gate, NULL, NULL);
    struct tensor *rest =
        build_scalar(build, OP_ADD, build_expression(build, OP_NEG, s, NULL, NULL), 1);
    struct tensor *slope =
        multiply(build, s, build_scalar(build, OP_ADD, multiply(build, gate, rest), 1));
    struct tensor *of_up = multiply(build, step->g, multiply(build, gate, s));
    struct tensor *of_gate = multiply(build, step->g, multiply(build, up, slope));
    bool wants_x = step->wanted[0];
    if (!of_up || !of_gate ||
        !gradient_matmul(build, x, step->operands[1], of_gate, wants_x ? &by_x[0] : NULL,
                         step->wanted[1] ? &step->results[1] : NULL) ||
        !gradient_matmul(build, x, step->operands[2], of_up, wants_x ? &by_x[1] : NULL,
                         step->wanted[2] ? &step->results[2] : NULL))
        return false;
    return !wants_x || (contribute(build, &step->results[0], by_x[0]) &&
                        contribute(build, &step->results[0], by_x[1]));
}

/* x w + scale * ((x a) b) */
static bool lora_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    struct tensor *x = step->operands[0], *by_x[2] = {NULL}, *of_low = NULL;
    struct tensor *low = build_matmul(build, x, step->operands[2]);
    struct tensor *g = scaled(build, step->g, step->node.parameters.scale);
    bool wants_x = step->wanted[0];
    if (!low || !g ||
        !gradient_matmul(build, x, step->operands[1], step->g, wants_x ? &by_x[0] : NULL,
                         step->wanted[1] ? &step->results[1] : NULL) ||
        !gradient_matmul(build, low, step->operands[3], g, &of_low,
                         step->wanted[3] ? &step->results[3] : NULL) ||
        !gradient_matmul(build, x, step->operands[2], of_low, wants_x ? &by_x[1] : NULL,
                         step->wanted[2] ? &step->results[2] : NULL))
        return false;
    return !wants_x || (contribute(build, &step->results[0], by_x[0]) &&
                        contribute(build, &step->results[0], by_x[1]));
}

gradient_rule *gradient_kernel_rule(enum op op) {
    switch (op) {
    case OP_EMBEDDING:
        return embedding_gradient;
    case OP_GATHER:
        return gather_gradient;
    case OP_SCATTER_ADD:
        return scatter_add_gradient;
    case OP_CUMSUM:
        return cumsum_gradient;
    case OP_UNFOLD:
    case OP_FOLD:
        return window_gradient;
    case OP_ROPE:
        return rope_gradient;
    case OP_ATTENTION:
        return attention_gradient;
    case OP_GATED:
        return gated_gradient;
    case OP_LORA:
        return lora_gradient;
    default:
        return NULL;
    }
}
