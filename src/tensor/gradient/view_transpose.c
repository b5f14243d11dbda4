/* The gradient of a tensor from that of a view of it.
 *
 * A view that only permutes and reshapes has a view as its transpose. A broadcast is transposed
 * by a sum; a slice by joining zeros around it; strides with gaps by joining zeros between the
 * elements, axis by axis. */
#include <string.h>

#include "tensor/gradient/gradient.h"

struct tensor *build_reshape(struct builder *build, struct tensor *x, unsigned rank,
                             const int64_t *sizes) {
    struct view view;
    bool possible;
    if (!x || !view_reshape(&x->view, rank, sizes, &view, &possible, build->status))
        return NULL;
    if (possible)
        return build_view(build, x, &view);
    x = build_contiguous(build, x);
    return x && view_reshape(&x->view, rank, sizes, &view, &possible, build->status)
               ? build_view(build, x, &view)
               : NULL;
}

struct tensor *build_transpose(struct builder *build, struct tensor *x, unsigned a, unsigned b) {
    if (!x)
        return NULL;
    struct view view = x->view;
    a = view.rank - 1 - a;
    b = view.rank - 1 - b;
    view.sizes[a] = x->view.sizes[b];
    view.sizes[b] = x->view.sizes[a];
    view.strides[a] = x->view.strides[b];
    view.strides[b] = x->view.strides[a];
    return build_view(build, x, &view);
}

struct tensor *build_broadcast(struct builder *build, struct tensor *x, const struct view *shape) {
    struct view view;
    if (!x || !view_broadcast(&x->view, shape->rank, shape->sizes, &view, build->status))
        return NULL;
    return build_view(build, x, &view);
}

struct tensor *build_filled(struct builder *build, enum ridge_dtype dtype, const struct view *shape,
                            double value) {
    return build_broadcast(build, build_constant(build, dtype, value), shape);
}

/* ---- Zeros around a part -------------------------------------------------------------------- */

static struct tensor *zeros_along(struct builder *build, const struct tensor *x, unsigned axis,
                                  int64_t size) {
    struct view shape = x->view;
    shape.sizes[axis] = size;
    return build_filled(build, x->dtype, &shape, 0);
}

/* x with zeros before and after it along the axis. */
static struct tensor *pad(struct builder *build, struct tensor *x, unsigned axis, int64_t before,
                          int64_t size) {
    if (!x || (before == 0 && x->view.sizes[axis] == size))
        return x;
    struct tensor *parts[3];
    unsigned count = 0;
    int64_t after = size - before - x->view.sizes[axis];
    if (before > 0)
        parts[count++] = zeros_along(build, x, axis, before);
    parts[count++] = x;
    if (after > 0)
        parts[count++] = zeros_along(build, x, axis, after);
    for (unsigned i = 0; i < count; i++)
        if (!parts[i])
            return NULL;
    return build_cat(build, parts, count, axis);
}

/* The part of the base that a view without steps reads. */
struct box {
    int64_t start[RIDGE_RANK_MAX], length[RIDGE_RANK_MAX];
};

static bool find_box(const struct view *view, const struct view_base *base, struct box *box) {
    int64_t strides[RIDGE_RANK_MAX], stride = 1, offset = view->offset - base->offset;
    unsigned next = 0;
    for (unsigned axis = base->rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= base->sizes[axis];
    }
    for (unsigned axis = 0; axis < base->rank; axis++) {
        while (next < view->rank && view->sizes[next] == 1)
            next++;
        bool whole = next < view->rank && base->sizes[axis] > 1 &&
                     view->strides[next] == strides[axis] && view->sizes[next] <= base->sizes[axis];
        box->length[axis] = whole ? view->sizes[next++] : 1;
        box->start[axis] = offset / strides[axis];
        offset %= strides[axis];
        if (box->start[axis] + box->length[axis] > base->sizes[axis])
            return false;
    }
    while (next < view->rank && view->sizes[next] == 1)
        next++;
    return next == view->rank && offset == 0;
}

static struct tensor *place_box(struct builder *build, struct tensor *g, const struct box *box,
                                const struct view_base *base) {
    g = build_reshape(build, g, base->rank, box->length);
    for (unsigned axis = base->rank; axis-- > 0;)
        g = pad(build, g, axis, box->start[axis], base->sizes[axis]);
    return g;
}

/* ---- One view ----------------------------------------------------------------------------- */

/* Axes of size 1 removed, the others with falling strides; the tensor's axes follow. */
static struct tensor *sort_axes(struct builder *build, struct tensor *g, struct view *view) {
    struct view from = g->view, sorted = {.offset = view->offset};
    struct view moved = {.offset = from.offset};
    bool taken[RIDGE_RANK_MAX] = {false};
    for (;;) {
        int best = -1;
        for (unsigned axis = 0; axis < view->rank; axis++)
            if (!taken[axis] && view->sizes[axis] != 1 &&
                (best < 0 || view->strides[axis] > view->strides[best]))
                best = (int)axis;
        if (best < 0)
            break;
        taken[best] = true;
        sorted.sizes[sorted.rank] = view->sizes[best];
        sorted.strides[sorted.rank++] = view->strides[best];
        moved.sizes[moved.rank] = from.sizes[best];
        moved.strides[moved.rank++] = from.strides[best];
    }
    *view = sorted;
    return build_view(build, g, &moved);
}

static int64_t base_count(const struct view_base *base) {
    int64_t count = 1;
    for (unsigned axis = 0; axis < base->rank; axis++)
        count *= base->sizes[axis];
    return count;
}

/* Any strides that do not overlap: zeros between the elements, from the last axis on. */
static struct tensor *spread_strides(struct builder *build, struct tensor *g,
                                     const struct view *view, const struct view_base *base) {
    int64_t length = 1, sizes[RIDGE_RANK_MAX + 1];
    struct view shape;
    for (unsigned axis = view->rank; axis-- > 0 && g;) {
        int64_t stride = view->strides[axis], used = (view->sizes[axis] - 1) * stride + length;
        if (stride < length || axis + 2 > RIDGE_RANK_MAX) {
            status_fail(build->status, STATUS_UNSUPPORTED,
                        "the gradient of a view whose elements overlap is not known");
            return NULL;
        }
        memcpy(sizes, view->sizes, sizeof view->sizes);
        sizes[axis + 1] = length;
        g = pad(build, build_reshape(build, g, axis + 2, sizes), axis + 1, 0, stride);
        sizes[axis] = view->sizes[axis] * stride;
        g = build_reshape(build, g, axis + 1, sizes);
        if (!g || !view_slice(&g->view, (int)axis, 0, used, 1, &shape, build->status))
            return NULL;
        g = build_view(build, g, &shape);
        length = used;
    }
    g = build_reshape(build, g, 1, &length);
    g = pad(build, g, 0, view->offset - base->offset, base_count(base));
    return build_reshape(build, g, base->rank, base->sizes);
}

struct tensor *build_view_transpose(struct builder *build, struct tensor *g,
                                    const struct view *view, const struct view_base *base) {
    struct view left = *view;
    struct box box;
    uint32_t repeated = 0;
    if (!g)
        return NULL;
    if (view_count(view) == 0) {
        struct view shape;
        return view_contiguous(base->rank, base->sizes, &shape, build->status)
                   ? build_filled(build, g->dtype, &shape, 0)
                   : NULL;
    }
    for (unsigned axis = 0; axis < left.rank; axis++)
        if (left.strides[axis] == 0 && left.sizes[axis] > 1) {
            repeated |= 1u << axis;
            left.sizes[axis] = 1;
        }
    if (repeated)
        g = build_reduce(build, OP_REDUCE_SUM, g, repeated);
    if (!g || !(g = sort_axes(build, g, &left)))
        return NULL;
    struct view dense = left;
    view_set_contiguous(&dense);
    dense.offset = base->offset;
    if (view_count(&left) == base_count(base) && left.offset == base->offset &&
        memcmp(dense.strides, left.strides, left.rank * sizeof left.strides[0]) == 0)
        return build_reshape(build, g, base->rank, base->sizes);
    if (find_box(&left, base, &box))
        return place_box(build, g, &box, base);
    return spread_strides(build, g, &left, base);
}

/* ---- Several views ------------------------------------------------------------------------ */

struct part {
    struct box box;
    struct tensor *g;
};

/* The axis along which the boxes differ; -1 if there are several, or if a box is not whole along
 * another one. */
static int parted_axis(const struct part *parts, unsigned count, const struct view_base *base) {
    int found = -1;
    for (unsigned i = 0; i < count; i++)
        for (unsigned axis = 0; axis < base->rank; axis++) {
            if (parts[i].box.length[axis] == base->sizes[axis])
                continue;
            if (found >= 0 && found != (int)axis)
                return -1;
            found = (int)axis;
        }
    return found;
}

static void sort_parts(struct part *parts, unsigned count, unsigned axis) {
    for (unsigned i = 1; i < count; i++) {
        struct part moved = parts[i];
        unsigned at = i;
        for (; at > 0 && parts[at - 1].box.start[axis] > moved.box.start[axis]; at--)
            parts[at] = parts[at - 1];
        parts[at] = moved;
    }
}

/* One join of all parts and the zeros between them; *joined stays NULL if they overlap. */
static bool join_parts(struct builder *build, struct part *parts, unsigned count, unsigned axis,
                       const struct view_base *base, struct tensor **joined) {
    struct tensor **all =
        arena_allocate(&build->graph->arena, (2 * (size_t)count + 1) * sizeof *all, build->status);
    unsigned used = 0;
    int64_t end = 0;
    if (!all)
        return false;
    sort_parts(parts, count, axis);
    for (unsigned i = 0; i < count; i++) {
        const struct box *box = &parts[i].box;
        struct tensor *g = build_reshape(build, parts[i].g, base->rank, box->length);
        if (!g)
            return false;
        if (box->start[axis] < end)
            return true;
        if (box->start[axis] > end)
            all[used++] = zeros_along(build, g, axis, box->start[axis] - end);
        all[used++] = g;
        end = box->start[axis] + box->length[axis];
        if (i + 1 == count && end < base->sizes[axis])
            all[used++] = zeros_along(build, g, axis, base->sizes[axis] - end);
    }
    for (unsigned i = 0; i < used; i++)
        if (!all[i])
            return false;
    *joined = build_cat(build, all, used, axis);
    return *joined != NULL;
}

static bool join_views(struct builder *build, struct tensor *const *g, const struct view *views,
                       unsigned count, const struct view_base *base, struct tensor **joined) {
    struct part *parts = arena_allocate(&build->graph->arena, count * sizeof *parts, build->status);
    if (!parts)
        return false;
    for (unsigned i = 0; i < count; i++) {
        parts[i].g = g[i];
        for (unsigned axis = 0; axis < views[i].rank; axis++)
            if (views[i].strides[axis] == 0 && views[i].sizes[axis] > 1)
                return true;
        if (view_count(&views[i]) == 0 || !find_box(&views[i], base, &parts[i].box))
            return true;
    }
    int axis = parted_axis(parts, count, base);
    return axis < 0 || join_parts(build, parts, count, (unsigned)axis, base, joined);
}

struct tensor *build_views_transpose(struct builder *build, struct tensor *const *g,
                                     const struct view *views, unsigned count,
                                     const struct view_base *base) {
    struct tensor *sum = NULL;
    if (count > 1 && !join_views(build, g, views, count, base, &sum))
        return NULL;
    if (sum)
        return sum;
    sum = build_view_transpose(build, g[0], &views[0], base);
    for (unsigned i = 1; i < count; i++)
        sum = build_expression(build, OP_ADD, sum,
                               build_view_transpose(build, g[i], &views[i], base), NULL);
    return sum;
}
