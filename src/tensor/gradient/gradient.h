/* Reverse-mode differentiation of a graph.
 *
 * The backward graph is made of the same nodes as the forward one, by the same builders, so it is
 * fused, planned and compiled with it. reverse.c walks the nodes from the outputs back and sums
 * the contributions to each; rules.c and kernel_rules.c have the rule of each operation;
 * view_transpose.c turns the gradient of what a view reads into one of the whole tensor. tape.c
 * does the same for eager operations, one at a time.
 */
#ifndef RIDGE_TENSOR_GRADIENT_GRADIENT_H
#define RIDGE_TENSOR_GRADIENT_GRADIENT_H

#include "tensor/build.h"

struct gradient_request {
    unsigned output_count, parameter_count;
    struct tensor *const *outputs;
    /* Their gradients, NULL if an output has none; without the array they are 1. */
    struct tensor *const *seeds;
    /* Values of the outputs that are stored already, to be used instead of the outputs; or NULL. */
    struct tensor *const *saved;
    struct tensor *const *parameters;
    /* Compute what an operation computed inside again instead of storing it. */
    bool recompute;
    /* Set: NULL for a parameter on which the outputs do not depend, if that is allowed. */
    bool allow_unused;
    struct tensor **gradients;
};

/* Adds the nodes of the parameters' gradients, which have the parameters' sizes and dtypes. */
bool gradient_build(struct builder *build, const struct gradient_request *request);

/* ---- Views ------------------------------------------------------------------------------ */

/* The row-major elements that a view reads from. */
struct view_base {
    unsigned rank;
    int64_t offset; /* of the first one in the storage */
    int64_t sizes[RIDGE_RANK_MAX];
};
/* The transpose of reading: g has the view's sizes, the result the base's. An element that is read
 * twice gets the sum, one that is not read 0. */
struct tensor *build_view_transpose(struct builder *build, struct tensor *g,
                                    const struct view *view, const struct view_base *base);
/* The same for several views, joined if they are parts along one axis. */
struct tensor *build_views_transpose(struct builder *build, struct tensor *const *g,
                                     const struct view *views, unsigned count,
                                     const struct view_base *base);
/* x under other sizes, copied if its strides cannot express them. */
struct tensor *build_reshape(struct builder *build, struct tensor *x, unsigned rank,
                             const int64_t *sizes);
/* x with two axes, counted from the last (0), exchanged. */
struct tensor *build_transpose(struct builder *build, struct tensor *x, unsigned a, unsigned b);
struct tensor *build_broadcast(struct builder *build, struct tensor *x, const struct view *shape);
/* A constant of these sizes. */
struct tensor *build_filled(struct builder *build, enum ridge_dtype dtype, const struct view *shape,
                            double value);

/* ---- Rules ------------------------------------------------------------------------------ */

/* One node on the way back. A rule sets results[i], the gradient of what input i reads, for each
 * wanted input; NULL stands for zero. It may be
 * summed over leading axes along which the input is repeated. */
struct gradient_step {
    struct builder *build;
    struct node node;         /* a copy: adding nodes moves them */
    struct tensor *g;         /* the gradient of its result; NULL if only `second` has one */
    struct tensor *second;    /* of its second result, or NULL */
    struct tensor *result;    /* its result */
    struct tensor **operands; /* by input */
    const bool *wanted;       /* by input */
    struct tensor **results;
};
typedef bool gradient_rule(struct gradient_step *step);

/* Whether a gradient with respect to input `index` exists: both it and the result are floats, and
 * the operation passes it on. */
bool gradient_passes(const struct node *node, unsigned index, enum ridge_dtype input_type);
bool gradient_apply(struct gradient_step *step);

/* kernel_rules.c: the rule of an operation with its own kernel, NULL if there is none. */
gradient_rule *gradient_kernel_rule(enum op op);
/* The rule of a product; for kernels that are made of products. */
bool gradient_matmul(struct builder *build, struct tensor *a, struct tensor *b, struct tensor *g,
                     struct tensor **a_gradient, struct tensor **b_gradient);

#endif
