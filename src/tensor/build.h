/* The words of which operations are made: each adds nodes to the graph that is being traced and
 * gives a tensor of it. Shape and type rules are checked here. NULL operands give NULL, so a
 * builder checks its last result only. */
#ifndef RIDGE_TENSOR_BUILD_H
#define RIDGE_TENSOR_BUILD_H

#include "tensor/graph.h"

struct builder {
    struct graph *graph;
    struct status *status;
};

ridge_tensor *build_constant(struct builder *build, enum ridge_dtype dtype, double value);
/* An elementwise operation of the table, with broadcasting. */
ridge_tensor *build_expression(struct builder *build, enum op op, ridge_tensor *x, ridge_tensor *y,
                               ridge_tensor *z);
/* As build_expression() with a number for y. */
ridge_tensor *build_scalar(struct builder *build, enum op op, ridge_tensor *x, double y);
ridge_tensor *build_cast(struct builder *build, ridge_tensor *x, enum ridge_dtype dtype);
/* A contiguous copy. */
ridge_tensor *build_copy(struct builder *build, ridge_tensor *x);
/* x itself when it is contiguous and a storage, else a copy. */
ridge_tensor *build_contiguous(struct builder *build, ridge_tensor *x);
/* The axes of the mask stay, with size 1. */
ridge_tensor *build_reduce(struct builder *build, enum op op, ridge_tensor *x, uint32_t axis_mask);
ridge_tensor *build_mean(struct builder *build, ridge_tensor *x, uint32_t axis_mask);
/* Takes away the axes of the mask, which have size 1. */
ridge_tensor *build_squeeze(struct builder *build, ridge_tensor *x, uint32_t axis_mask);
ridge_tensor *build_matmul(struct builder *build, ridge_tensor *a, ridge_tensor *b);
ridge_tensor *build_activation(struct builder *build, ridge_tensor *x,
                               enum ridge_activation activation);
ridge_tensor *build_cat(struct builder *build, ridge_tensor *const *parts, unsigned count,
                        unsigned axis);
/* `apart`: the two are known to share no storage. */
bool build_assign(struct builder *build, ridge_tensor *target, ridge_tensor *source, bool apart);
/* An operation with a kernel of its own, its operands checked and contiguous where that is needed.
 */
ridge_tensor *build_kernel(struct builder *build, enum op op, enum ridge_dtype dtype,
                           const struct view *shape, ridge_tensor *const *operands, unsigned count,
                           const struct node_parameters *parameters);
/* The second result of the kernel that made `first`. */
ridge_tensor *build_second(struct builder *build, ridge_tensor *first, enum ridge_dtype dtype,
                           const struct view *shape);
ridge_tensor *build_view(struct builder *build, ridge_tensor *x, const struct view *view);

#endif
