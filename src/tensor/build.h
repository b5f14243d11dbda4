/* The building blocks of operations: each adds nodes to the graph that is being traced and
 * returns a tensor of it. Shape and type rules are checked here. A NULL operand gives NULL, so a
 * builder only checks its last result. */
#ifndef RIDGE_TENSOR_BUILD_H
#define RIDGE_TENSOR_BUILD_H

#include "tensor/graph.h"

struct builder {
    struct graph *graph;
    struct status *status;
};

struct tensor *build_constant(struct builder *build, enum ridge_dtype dtype, double value);
/* The same; fails if an integer type does not have the value. */
struct tensor *build_number(struct builder *build, enum ridge_dtype dtype, double value);
/* An elementwise operation of the table, with broadcasting. */
struct tensor *build_expression(struct builder *build, enum op op, struct tensor *x,
                                struct tensor *y, struct tensor *z);
/* As build_expression() with a number for y. */
struct tensor *build_scalar(struct builder *build, enum op op, struct tensor *x, double y);
struct tensor *build_cast(struct builder *build, struct tensor *x, enum ridge_dtype dtype);
/* A contiguous copy. */
struct tensor *build_copy(struct builder *build, struct tensor *x);
/* x, through which no gradient passes. */
struct tensor *build_detached(struct builder *build, struct tensor *x);
/* x itself when it is contiguous and a storage, else a copy. */
struct tensor *build_contiguous(struct builder *build, struct tensor *x);
/* The axes of the mask stay, with size 1. */
struct tensor *build_reduce(struct builder *build, enum op op, struct tensor *x,
                            uint32_t axis_mask);
struct tensor *build_mean(struct builder *build, struct tensor *x, uint32_t axis_mask);
/* Removes the axes of the mask, which have size 1. */
struct tensor *build_squeeze(struct builder *build, struct tensor *x, uint32_t axis_mask);
struct tensor *build_matmul(struct builder *build, struct tensor *a, struct tensor *b);
struct tensor *build_activation(struct builder *build, struct tensor *x,
                                enum ridge_activation activation);
struct tensor *build_cat(struct builder *build, struct tensor *const *parts, unsigned count,
                         unsigned axis);
/* `apart`: the two do not share a storage. */
bool build_assign(struct builder *build, struct tensor *target, struct tensor *source, bool apart);
/* Writes source into target from positions[i] on along `axis`, i being the index of axis 0. */
bool build_write(struct builder *build, struct tensor *target, struct tensor *source,
                 struct tensor *positions, unsigned axis, bool apart);
/* x with source added at indices along the axis: see ridge_scatter_add(). */
struct tensor *build_scatter_add(struct builder *build, struct tensor *x, unsigned axis,
                                 struct tensor *indices, struct tensor *source);
/* An operation with its own kernel; its operands are checked and contiguous where necessary. */
struct tensor *build_kernel(struct builder *build, enum op op, enum ridge_dtype dtype,
                            const struct view *shape, struct tensor *const *operands,
                            unsigned count, const struct node_parameters *parameters);
/* The second result of the kernel that made `first`. */
struct tensor *build_second(struct builder *build, struct tensor *first, enum ridge_dtype dtype,
                            const struct view *shape);
struct tensor *build_view(struct builder *build, struct tensor *x, const struct view *view);

#endif
