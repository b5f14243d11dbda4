/* Arithmetic of shapes and strides. */
#include "tensor/view.h"

#include <limits.h>
#include <string.h>

/* Elements of a tensor; bytes and sums of strides then fit easily. */
#define COUNT_LIMIT ((int64_t)1 << 56)

void view_set_contiguous(struct view *view) {
    int64_t stride = 1;
    for (unsigned axis = view->rank; axis-- > 0;) {
        view->strides[axis] = stride;
        stride *= view->sizes[axis] > 0 ? view->sizes[axis] : 1;
    }
    view->offset = 0;
}

bool view_contiguous(unsigned rank, const int64_t *sizes, struct view *view,
                     struct status *status) {
    if (rank > RIDGE_RANK_MAX)
        return status_fail(status, STATUS_USAGE, "rank %u is more than the maximum of %d", rank,
                           RIDGE_RANK_MAX);
    if (rank > 0 && !sizes)
        return status_fail(status, STATUS_USAGE, "the sizes are NULL");
    struct view made = {.rank = rank};
    int64_t count = 1;
    for (unsigned axis = 0; axis < rank; axis++) {
        int64_t size = sizes[axis];
        if (size < 0)
            return status_fail(status, STATUS_USAGE, "axis %u has the negative size %lld", axis,
                               (long long)size);
        if (size > COUNT_LIMIT / (count > 0 ? count : 1))
            return status_fail(status, STATUS_USAGE, "the tensor is too large");
        count *= size > 0 ? size : 1;
        made.sizes[axis] = size;
    }
    view_set_contiguous(&made);
    *view = made;
    return true;
}

int64_t view_count(const struct view *view) {
    int64_t count = 1;
    for (unsigned axis = 0; axis < view->rank; axis++)
        count *= view->sizes[axis];
    return count;
}

bool view_is_contiguous(const struct view *view) {
    int64_t stride = 1;
    if (view_count(view) == 0)
        return true;
    for (unsigned axis = view->rank; axis-- > 0;) {
        if (view->sizes[axis] != 1 && view->strides[axis] != stride)
            return false;
        stride *= view->sizes[axis];
    }
    return true;
}

bool view_same_sizes(const struct view *a, const struct view *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->sizes, b->sizes, a->rank * sizeof a->sizes[0]) == 0);
}

int64_t view_touched(const struct view *view) {
    int64_t count = 1;
    for (unsigned axis = 0; axis < view->rank; axis++)
        if (view->strides[axis] != 0 || view->sizes[axis] == 0)
            count *= view->sizes[axis];
    return count;
}

int64_t view_extent(const struct view *view) {
    int64_t last = view->offset;
    for (unsigned axis = 0; axis < view->rank; axis++) {
        if (view->sizes[axis] == 0)
            return 0;
        last += (view->sizes[axis] - 1) * view->strides[axis];
    }
    return last + 1;
}

bool view_axis(const struct view *view, int axis, unsigned *found, struct status *status) {
    int rank = (int)view->rank;
    if (axis < -rank || axis >= rank)
        return status_fail(status, STATUS_USAGE, "axis %d is out of range for a tensor of rank %d",
                           axis, rank);
    *found = (unsigned)(axis < 0 ? axis + rank : axis);
    return true;
}

/* Replaces one -1 by the inferred size. */
static bool complete_sizes(const struct view *view, unsigned rank, const int64_t *sizes,
                           int64_t *whole, struct status *status) {
    int64_t count = view_count(view), known = 1;
    int missing = -1;
    for (unsigned axis = 0; axis < rank; axis++) {
        whole[axis] = sizes[axis];
        if (sizes[axis] == -1 && missing < 0)
            missing = (int)axis;
        else if (sizes[axis] < 0)
            return status_fail(status, STATUS_USAGE, "axis %u cannot have the size %lld", axis,
                               (long long)sizes[axis]);
        else if (sizes[axis] > 0 && known > COUNT_LIMIT / sizes[axis])
            return status_fail(status, STATUS_USAGE, "the sizes do not hold %lld elements",
                               (long long)count);
        else
            known *= sizes[axis];
    }
    if (missing >= 0) {
        if (known == 0 || count % known != 0)
            return status_fail(status, STATUS_USAGE,
                               "%lld elements cannot be divided into rows of %lld",
                               (long long)count, (long long)known);
        whole[missing] = count / known;
    } else if (known != count) {
        return status_fail(status, STATUS_USAGE, "%lld elements do not fill a shape of %lld",
                           (long long)count, (long long)known);
    }
    return true;
}

/* Old axes are grouped into contiguous runs; each new axis must fit into a run. */
static bool restride(const struct view *view, struct view *out) {
    int64_t sizes[RIDGE_RANK_MAX], strides[RIDGE_RANK_MAX];
    unsigned old_rank = 0;
    for (unsigned axis = 0; axis < view->rank; axis++) {
        if (view->sizes[axis] == 1)
            continue;
        sizes[old_rank] = view->sizes[axis];
        strides[old_rank++] = view->strides[axis];
    }
    unsigned old = 0, new = 0;
    while (old < old_rank) {
        int64_t old_count = sizes[old], new_count = 1;
        unsigned old_end = old + 1, new_end = new;
        while (old_count != new_count) {
            if (new_count < old_count) {
                if (new_end == out->rank)
                    return false;
                new_count *= out->sizes[new_end++];
            } else {
                if (old_end == old_rank)
                    return false;
                old_count *= sizes[old_end++];
            }
        }
        for (unsigned axis = old; axis + 1 < old_end; axis++)
            if (strides[axis] != strides[axis + 1] * sizes[axis + 1])
                return false;
        int64_t stride = strides[old_end - 1];
        for (unsigned axis = new_end; axis-- > new;) {
            out->strides[axis] = stride;
            stride *= out->sizes[axis];
        }
        old = old_end;
        new = new_end;
    }
    for (; new < out->rank; new ++)
        out->strides[new] = 1;
    return true;
}

bool view_reshape(const struct view *view, unsigned rank, const int64_t *sizes, struct view *out,
                  bool *possible, struct status *status) {
    int64_t whole[RIDGE_RANK_MAX];
    if (rank > RIDGE_RANK_MAX)
        return status_fail(status, STATUS_USAGE, "rank %u is more than the maximum of %d", rank,
                           RIDGE_RANK_MAX);
    if (rank > 0 && !sizes)
        return status_fail(status, STATUS_USAGE, "the sizes are NULL");
    if (!complete_sizes(view, rank, sizes, whole, status) ||
        !view_contiguous(rank, whole, out, status))
        return false;
    *possible = true;
    out->offset = view->offset;
    if (view_count(view) == 0 || view_is_contiguous(view))
        return true;
    *possible = restride(view, out);
    return true;
}

bool view_permute(const struct view *view, const unsigned *axes, struct view *out,
                  struct status *status) {
    unsigned seen = 0;
    if (view->rank > 0 && !axes)
        return status_fail(status, STATUS_USAGE, "the axes are NULL");
    *out = *view;
    for (unsigned axis = 0; axis < view->rank; axis++) {
        if (axes[axis] >= view->rank || (seen & 1u << axes[axis]))
            return status_fail(status, STATUS_USAGE,
                               "the axes are not a permutation of 0 to %u: entry %u is %u",
                               view->rank - 1, axis, axes[axis]);
        seen |= 1u << axes[axis];
        out->sizes[axis] = view->sizes[axes[axis]];
        out->strides[axis] = view->strides[axes[axis]];
    }
    return true;
}

bool view_slice(const struct view *view, int axis, int64_t begin, int64_t end, int64_t step,
                struct view *out, struct status *status) {
    unsigned found = 0;
    if (!view_axis(view, axis, &found, status))
        return false;
    if (step < 1)
        return status_fail(status, STATUS_USAGE, "the step of a slice must be at least 1, not %lld",
                           (long long)step);
    int64_t size = view->sizes[found];
    begin = begin < 0 ? begin + size : begin;
    end = end == INT64_MAX ? size : end < 0 ? end + size : end;
    if (begin < 0 || end > size || begin > end)
        return status_fail(status, STATUS_USAGE,
                           "elements %lld to %lld are not within axis %u of size %lld",
                           (long long)begin, (long long)end, found, (long long)size);
    *out = *view;
    out->sizes[found] = (end - begin) / step + ((end - begin) % step != 0);
    if (out->sizes[found] > 0)
        out->offset += begin * view->strides[found];
    if (out->sizes[found] > 1)
        out->strides[found] = view->strides[found] * step;
    return true;
}

void view_drop_axis(struct view *view, unsigned axis) {
    for (unsigned next = axis; next + 1 < view->rank; next++) {
        view->sizes[next] = view->sizes[next + 1];
        view->strides[next] = view->strides[next + 1];
    }
    view->rank--;
}

bool view_insert_axis(struct view *view, unsigned axis, struct status *status) {
    if (view->rank == RIDGE_RANK_MAX)
        return status_fail(status, STATUS_USAGE, "the tensor already has the maximum of %d axes",
                           RIDGE_RANK_MAX);
    for (unsigned next = view->rank; next > axis; next--) {
        view->sizes[next] = view->sizes[next - 1];
        view->strides[next] = view->strides[next - 1];
    }
    view->sizes[axis] = 1;
    view->strides[axis] = 0;
    view->rank++;
    return true;
}

bool view_broadcast(const struct view *view, unsigned rank, const int64_t *sizes, struct view *out,
                    struct status *status) {
    struct view target;
    if (!view_contiguous(rank, sizes, &target, status))
        return false;
    if (rank < view->rank)
        return status_fail(status, STATUS_USAGE, "rank %u cannot be broadcast to rank %u",
                           view->rank, rank);
    *out = target;
    out->offset = view->offset;
    unsigned added = rank - view->rank;
    for (unsigned axis = 0; axis < rank; axis++) {
        int64_t size = axis < added ? 1 : view->sizes[axis - added];
        if (size != sizes[axis] && size != 1)
            return status_fail(status, STATUS_USAGE,
                               "axis %u of size %lld cannot be broadcast to %lld", axis - added,
                               (long long)size, (long long)sizes[axis]);
        out->strides[axis] = size == 1 ? 0 : view->strides[axis - added];
    }
    return true;
}

bool view_broadcast_sizes(const struct view *view, unsigned *rank, int64_t *sizes,
                          struct status *status) {
    unsigned wide = view->rank > *rank ? view->rank : *rank;
    int64_t result[RIDGE_RANK_MAX];
    for (unsigned back = 1; back <= wide; back++) {
        int64_t a = back <= *rank ? sizes[*rank - back] : 1;
        int64_t b = back <= view->rank ? view->sizes[view->rank - back] : 1;
        if (a != b && a != 1 && b != 1)
            return status_fail(status, STATUS_USAGE,
                               "sizes %lld and %lld of axis -%u neither match nor broadcast",
                               (long long)a, (long long)b, back);
        result[wide - back] = a == 1 ? b : a;
    }
    *rank = wide;
    memcpy(sizes, result, wide * sizeof sizes[0]);
    return true;
}

bool view_batch_stride(unsigned rank, const int64_t *sizes, const int64_t *strides,
                       int64_t *stride) {
    int64_t size = 1;
    *stride = 0;
    for (unsigned axis = rank; axis-- > 0;) {
        if (sizes[axis] == 1)
            continue;
        if (size > 1 && strides[axis] != *stride * size)
            return false;
        if (size == 1)
            *stride = strides[axis];
        size *= sizes[axis];
    }
    return true;
}

void view_describe(struct buffer *out, enum ridge_dtype dtype, const struct view *view) {
    buffer_printf(out, "%s [", ridge_dtype_name(dtype));
    for (unsigned axis = 0; axis < view->rank; axis++)
        buffer_printf(out, "%s%lld", axis ? ", " : "", (long long)view->sizes[axis]);
    buffer_string(out, "]");
}
