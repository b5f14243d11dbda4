/* The layout of a tensor in its storage: sizes and strides, without data. */
#ifndef RIDGE_TENSOR_VIEW_H
#define RIDGE_TENSOR_VIEW_H

#include <ridge.h>

#include "base/status.h"
#include "base/text.h"

/* Strides and offset count elements. Strides are never negative; 0 repeats. */
struct view {
    unsigned rank;
    int64_t offset;
    int64_t sizes[RIDGE_RANK_MAX];
    int64_t strides[RIDGE_RANK_MAX];
};

/* Row-major; fails when the rank, a size or the number of elements is impossible. */
bool view_contiguous(unsigned rank, const int64_t *sizes, struct view *view, struct status *status);
/* Sets row-major strides and no offset, for valid sizes. */
void view_set_contiguous(struct view *view);
int64_t view_count(const struct view *view);
bool view_is_contiguous(const struct view *view);
bool view_same_sizes(const struct view *a, const struct view *b);
/* Elements of the storage that the view reaches, each counted once. */
int64_t view_touched(const struct view *view);
/* One past the last element of the storage that it reaches; 0 when it is empty. */
int64_t view_extent(const struct view *view);

/* -rank .. rank - 1 to 0 .. rank - 1. */
bool view_axis(const struct view *view, int axis, unsigned *found, struct status *status);

/* `possible` is false if the shape needs a copy; sizes may contain one -1. */
bool view_reshape(const struct view *view, unsigned rank, const int64_t *sizes, struct view *out,
                  bool *possible, struct status *status);
bool view_permute(const struct view *view, const unsigned *axes, struct view *out,
                  struct status *status);
bool view_slice(const struct view *view, int axis, int64_t begin, int64_t end, int64_t step,
                struct view *out, struct status *status);
void view_drop_axis(struct view *view, unsigned axis);
bool view_insert_axis(struct view *view, unsigned axis, struct status *status);
bool view_broadcast(const struct view *view, unsigned rank, const int64_t *sizes, struct view *out,
                    struct status *status);
/* The sizes that both broadcast to, in `sizes` (its old content is the first operand's). */
bool view_broadcast_sizes(const struct view *view, unsigned *rank, int64_t *sizes,
                          struct status *status);

/* The stride with which the first `rank` axes walk the storage as one, 0 when all of them have size
 * 1; false when they do not. */
bool view_batch_stride(unsigned rank, const int64_t *sizes, const int64_t *strides,
                       int64_t *stride);

/* "f32 [3, 4]" */
void view_describe(struct buffer *out, enum ridge_dtype dtype, const struct view *view);

#endif
