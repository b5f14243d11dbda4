/* The gradient rules of elementwise operations, reductions, products and joins. Those of
 * elementwise operations are rows of the table of operations. */
#include <string.h>

#include "tensor/gradient/gradient.h"

/* ---- Elementwise ------------------------------------------------------------------------ */

static struct tensor *slope_of_gelu(struct builder *build, struct tensor *x);
static struct tensor *slope_of_gelu_tanh(struct builder *build, struct tensor *x);
static struct tensor *slope_of_silu(struct builder *build, struct tensor *x);

/* The words of ELEMENTWISE_GRADIENTS. */
#define EXPRESSION_1(op, a) build_expression(build, op, a, NULL, NULL)
#define EXPRESSION_2(op, a, b) build_expression(build, op, a, b, NULL)
#define NEG(a) EXPRESSION_1(OP_NEG, a)
#define SIGN(a) EXPRESSION_1(OP_SIGN, a)
#define SQUARE(a) EXPRESSION_1(OP_SQUARE, a)
#define FLOOR(a) EXPRESSION_1(OP_FLOOR, a)
#define SIN(a) EXPRESSION_1(OP_SIN, a)
#define COS(a) EXPRESSION_1(OP_COS, a)
#define EXP(a) EXPRESSION_1(OP_EXP, a)
#define LOG(a) EXPRESSION_1(OP_LOG, a)
#define TANH(a) EXPRESSION_1(OP_TANH, a)
#define ERF(a) EXPRESSION_1(OP_ERF, a)
#define SIGMOID(a) EXPRESSION_1(OP_SIGMOID, a)
#define ADD(a, b) EXPRESSION_2(OP_ADD, a, b)
#define MUL(a, b) EXPRESSION_2(OP_MUL, a, b)
#define DIV(a, b) EXPRESSION_2(OP_DIV, a, b)
#define POW(a, b) EXPRESSION_2(OP_POW, a, b)
#define LESS(a, b) EXPRESSION_2(OP_LESS, a, b)
#define LESS_EQUAL(a, b) EXPRESSION_2(OP_LESS_EQUAL, a, b)
#define GREATER(a, b) EXPRESSION_2(OP_GREATER, a, b)
#define GREATER_EQUAL(a, b) EXPRESSION_2(OP_GREATER_EQUAL, a, b)
#define BOTH(a, b) EXPRESSION_2(OP_LOGICAL_AND, a, b)
#define WHERE(a, b, c) build_expression(build, OP_WHERE, a, b, c)
#define PLUS(a, number) build_scalar(build, OP_ADD, a, number)
#define TIMES(a, number) build_scalar(build, OP_MUL, a, number)
#define IS(a, number) build_scalar(build, OP_EQUAL, a, number)
#define POSITIVE(a) build_scalar(build, OP_GREATER, a, 0)
#define ZEROS build_constant(build, g->dtype, 0)
/* 1 where both are true, 1/2 where only the second is: equal operands share the gradient. */
#define SHARE(a, b) TIMES(ADD(build_cast(build, a, g->dtype), build_cast(build, b, g->dtype)), 0.5)
#define GELU_SLOPE(a) slope_of_gelu(build, a)
#define GELU_TANH_SLOPE(a) slope_of_gelu_tanh(build, a)
#define SILU_SLOPE(a) slope_of_silu(build, a)
#define NONE NULL
#define ZERO NULL

static struct tensor *slope_of_gelu(struct builder *build, struct tensor *x) {
    struct tensor *below = TIMES(PLUS(ERF(TIMES(x, 0.70710678118654752)), 1), 0.5);
    struct tensor *density = TIMES(EXP(TIMES(SQUARE(x), -0.5)), 0.39894228040143268);
    return ADD(below, MUL(x, density));
}

static struct tensor *slope_of_gelu_tanh(struct builder *build, struct tensor *x) {
    struct tensor *square = SQUARE(x);
    struct tensor *inner = TIMES(MUL(x, PLUS(TIMES(square, 0.044715), 1)), 0.79788456080286536);
    struct tensor *t = TANH(inner);
    struct tensor *inner_slope =
        PLUS(TIMES(square, 3 * 0.044715 * 0.79788456080286536), 0.79788456080286536);
    struct tensor *rising = MUL(MUL(x, PLUS(NEG(SQUARE(t)), 1)), inner_slope);
    return TIMES(ADD(PLUS(t, 1), rising), 0.5);
}

static struct tensor *slope_of_silu(struct builder *build, struct tensor *x) {
    struct tensor *s = SIGMOID(x);
    return MUL(s, PLUS(MUL(x, PLUS(NEG(s), 1)), 1));
}

struct elementwise {
    struct builder *build;
    struct tensor *g, *r, *x, *y, *z;
};

/* The gradient of operand `index`; NULL is zero. */
#define ELEMENTWISE_RULE(NAME, by_x, by_y, by_z)                                                   \
    static struct tensor *gradient_of_##NAME(const struct elementwise *e, unsigned index) {        \
        struct builder *build = e->build;                                                          \
        struct tensor *g = e->g, *r = e->r, *x = e->x, *y = e->y, *z = e->z;                       \
        (void)build, (void)g, (void)r, (void)x, (void)y, (void)z;                                  \
        return index == 0 ? (by_x) : index == 1 ? (by_y) : (by_z);                                 \
    }
ELEMENTWISE_GRADIENTS(ELEMENTWISE_RULE)

#undef NONE
#undef ZERO
enum { NONE, ZERO, SOME };
/* Which of the three a table entry is, by its text. */
static int entry_kind(const char *text) {
    return strcmp(text, "NONE") == 0 ? NONE : strcmp(text, "ZERO") == 0 ? ZERO : SOME;
}

static const struct elementwise_row {
    struct tensor *(*rule)(const struct elementwise *e, unsigned index);
    const char *entries[3];
} elementwise_rows[OP_ELEMENTWISE_COUNT] = {
#define ELEMENTWISE_ENTRY(NAME, by_x, by_y, by_z)                                                  \
    [OP_##NAME] = {gradient_of_##NAME, {#by_x, #by_y, #by_z}},
    ELEMENTWISE_GRADIENTS(ELEMENTWISE_ENTRY)};

static bool expression_gradient(struct gradient_step *step) {
    const struct node *node = &step->node;
    /* Copies and conversions. */
    if (node->op >= OP_ELEMENTWISE_COUNT) {
        step->results[0] = build_cast(step->build, step->g, step->operands[0]->dtype);
        return step->results[0] != NULL;
    }
    const struct elementwise_row *row = &elementwise_rows[node->op];
    struct elementwise e = {.build = step->build, .g = step->g, .r = step->result};
    e.x = step->operands[0];
    e.y = node->input_count > 1 ? step->operands[1] : NULL;
    e.z = node->input_count > 2 ? step->operands[2] : NULL;
    for (unsigned i = 0; i < node->input_count; i++) {
        if (!step->wanted[i] || entry_kind(row->entries[i]) != SOME)
            continue;
        step->results[i] = row->rule(&e, i);
        if (!step->results[i])
            return false;
    }
    return true;
}

/* ---- Reductions ------------------------------------------------------------------------- */

static bool reduce_gradient(struct gradient_step *step) {
    struct builder *build = step->build;
    const struct view *shape = &step->operands[0]->view;
    struct tensor *g = step->g;
    if (step->node.op != OP_REDUCE_SUM) {
        /* Equal maxima share the gradient. */
        struct tensor *is_it =
            build_cast(build, EXPRESSION_2(OP_EQUAL, step->operands[0], step->result), g->dtype);
        struct tensor *count =
            build_reduce(build, OP_REDUCE_SUM, is_it, step->node.parameters.axis_mask);
        step->results[0] = MUL(is_it, DIV(g, count));
        return step->results[0] != NULL;
    }
    step->results[0] = build_broadcast(build, g, shape);
    return step->results[0] != NULL;
}

/* ---- Products --------------------------------------------------------------------------- */

static bool is_repeated(const struct view *view) {
    for (unsigned axis = 0; axis + 2 < view->rank; axis++)
        if (view->strides[axis] != 0 && view->sizes[axis] > 1)
            return false;
    return true;
}

/* All batches' rows as rows of one matrix. */
static struct tensor *as_rows(struct builder *build, struct tensor *x) {
    int64_t sizes[2] = {-1, x->view.sizes[x->view.rank - 1]};
    return build_reshape(build, x, 2, sizes);
}

/* transpose(a) x g. One b for all batches: the sum over them is part of the product. */
static struct tensor *right_gradient(struct builder *build, struct tensor *a, const struct view *b,
                                     struct tensor *g) {
    if (a->view.rank == 2 || !is_repeated(b) || view_count(&a->view) == 0)
        return build_matmul(build, build_transpose(build, a, 0, 1), g);
    return build_matmul(build, build_transpose(build, as_rows(build, a), 0, 1), as_rows(build, g));
}

/* The matrix whose rows are the columns of b; dequantized if it is quantized. */
static struct tensor *left_factor(struct builder *build, struct tensor *b, enum ridge_dtype dtype) {
    struct tensor *turned = build_transpose(build, b, 0, 1);
    if (!turned || !dtype_is_quantized(b->dtype))
        return turned;
    return build_kernel(build, OP_DEQUANTIZE, dtype, &turned->view, &turned, 1, NULL);
}

bool gradient_matmul(struct builder *build, struct tensor *a, struct tensor *b, struct tensor *g,
                     struct tensor **a_gradient, struct tensor **b_gradient) {
    if (a_gradient) {
        *a_gradient = build_matmul(build, g, left_factor(build, b, a->dtype));
        if (!*a_gradient)
            return false;
    }
    if (b_gradient) {
        *b_gradient = right_gradient(build, a, &b->view, g);
        if (!*b_gradient)
            return false;
    }
    return true;
}

static bool matmul_gradient(struct gradient_step *step) {
    return gradient_matmul(step->build, step->operands[0], step->operands[1], step->g,
                           step->wanted[0] ? &step->results[0] : NULL,
                           step->wanted[1] ? &step->results[1] : NULL);
}

/* ---- Joins ------------------------------------------------------------------------------ */

static bool cat_gradient(struct gradient_step *step) {
    int axis = (int)step->node.parameters.axis;
    int64_t start = 0;
    for (uint32_t i = 0; i < step->node.input_count; i++) {
        int64_t end = start + step->operands[i]->view.sizes[axis];
        struct view view;
        if (step->wanted[i]) {
            if (!view_slice(&step->g->view, axis, start, end, 1, &view, step->build->status))
                return false;
            step->results[i] = build_view(step->build, step->g, &view);
            if (!step->results[i])
                return false;
        }
        start = end;
    }
    return true;
}

/* ---- All kinds -------------------------------------------------------------------------- */

bool gradient_passes(const struct node *node, unsigned index, enum ridge_dtype input_type) {
    if (!dtype_is_float(node->dtype) || !dtype_is_float(input_type) || node->parameters.detached)
        return false;
    return node->kind != NODE_EXPRESSION || node->op >= OP_ELEMENTWISE_COUNT ||
           entry_kind(elementwise_rows[node->op].entries[index]) != NONE;
}

bool gradient_apply(struct gradient_step *step) {
    gradient_rule *rule = NULL;
    switch (step->node.kind) {
    case NODE_EXPRESSION:
        rule = expression_gradient;
        break;
    case NODE_REDUCE:
        rule = reduce_gradient;
        break;
    case NODE_MATMUL:
        rule = matmul_gradient;
        break;
    case NODE_CAT:
        rule = cat_gradient;
        break;
    case NODE_KERNEL:
        rule = gradient_kernel_rule(step->node.op);
        break;
    default:
        break;
    }
    if (!rule)
        return status_fail(step->build->status, STATUS_UNSUPPORTED,
                           "%s has no gradient: leave it out of the path from the parameters to "
                           "the loss",
                           op_info(step->node.op)->name);
    return rule(step);
}
