/* Public functions of views, and of joining and parting. */
#include <limits.h>
#include <string.h>

#include "tensor/operation.h"

/* Blocks of a quantized tensor lie along its last axis and cannot be split or strided. */
static bool keeps_blocks(const struct tensor *x, const struct view *view) {
    if (!dtype_is_quantized(x->dtype))
        return true;
    int64_t block = dtype_block(x->dtype);
    bool whole = view->offset % block == 0;
    for (unsigned axis = 0; axis < view->rank; axis++)
        whole = whole && (view->sizes[axis] == 1 || view->strides[axis] % block == 0 ||
                          (view->strides[axis] == 1 && view->sizes[axis] % block == 0));
    whole = whole && view_count(view) % block == 0;
    return whole || status_fail(tensor_status(), STATUS_USAGE,
                                "it would split the blocks of %lld elements of %s",
                                (long long)block, ridge_dtype_name(x->dtype));
}

static ridge_tensor *checked_view(const char *name, const struct tensor *x, bool ok,
                                  const struct view *view) {
    struct tensor *made =
        ok && keeps_blocks(x, view) ? tensor_view(x, view, tensor_status()) : NULL;
    return tensor_handle(made ? made : tensor_failed(name, x));
}

ridge_tensor *ridge_reshape(ridge_tensor *handle, unsigned rank, const int64_t *sizes) {
    struct view view;
    bool possible;
    const struct tensor *x = tensor_of("ridge_reshape", handle);
    if (!x)
        return NULL;
    bool ok = view_reshape(&x->view, rank, sizes, &view, &possible, tensor_status());
    if (!ok || possible)
        return checked_view("ridge_reshape", x, ok, &view);
    struct scope scope;
    scope_begin(&scope);
    ridge_tensor *whole = ridge_contiguous(handle);
    ridge_tensor *result = whole ? ridge_reshape(whole, rank, sizes)
                                 : tensor_handle(tensor_failed("ridge_reshape", x));
    tensor_keep(tensor_find(result));
    scope_end(&scope);
    return result;
}

ridge_tensor *ridge_permute(ridge_tensor *handle, const unsigned *axes) {
    struct view view;
    const struct tensor *x = tensor_of("ridge_permute", handle);
    if (!x)
        return NULL;
    bool ok = view_permute(&x->view, axes, &view, tensor_status());
    return checked_view("ridge_permute", x, ok, &view);
}

ridge_tensor *ridge_transpose(ridge_tensor *handle, int axis_a, int axis_b) {
    unsigned a, b, axes[RIDGE_RANK_MAX];
    struct view view;
    const struct tensor *x = tensor_of("ridge_transpose", handle);
    if (!x)
        return NULL;
    bool ok = view_axis(&x->view, axis_a, &a, tensor_status()) &&
              view_axis(&x->view, axis_b, &b, tensor_status());
    for (unsigned axis = 0; ok && axis < x->view.rank; axis++)
        axes[axis] = axis == a ? b : axis == b ? a : axis;
    ok = ok && view_permute(&x->view, axes, &view, tensor_status());
    return checked_view("ridge_transpose", x, ok, &view);
}

static bool slice_view(const struct tensor *x, int axis, int64_t begin, int64_t end, int64_t step,
                       struct view *view) {
    return view_slice(&x->view, axis, begin, end, step, view, tensor_status());
}

ridge_tensor *ridge_slice(ridge_tensor *handle, int axis, int64_t begin, int64_t end,
                          int64_t step) {
    struct view view;
    const struct tensor *x = tensor_of("ridge_slice", handle);
    return x ? checked_view("ridge_slice", x, slice_view(x, axis, begin, end, step, &view), &view)
             : NULL;
}

static bool select_view(const struct tensor *x, int axis, int64_t index, struct view *view) {
    unsigned found;
    if (!view_axis(&x->view, axis, &found, tensor_status()))
        return false;
    int64_t size = x->view.sizes[found];
    if (index < -size || index >= size)
        return status_fail(tensor_status(), STATUS_USAGE,
                           "index %lld is out of range for axis %u of size %lld", (long long)index,
                           found, (long long)size);
    index = index < 0 ? index + size : index;
    if (!slice_view(x, axis, index, index + 1, 1, view))
        return false;
    view_drop_axis(view, found);
    return true;
}

ridge_tensor *ridge_select(ridge_tensor *handle, int axis, int64_t index) {
    struct view view;
    const struct tensor *x = tensor_of("ridge_select", handle);
    return x ? checked_view("ridge_select", x, select_view(x, axis, index, &view), &view) : NULL;
}

ridge_tensor *ridge_broadcast(ridge_tensor *handle, unsigned rank, const int64_t *sizes) {
    struct view view;
    const struct tensor *x = tensor_of("ridge_broadcast", handle);
    if (!x)
        return NULL;
    bool ok = view_broadcast(&x->view, rank, sizes, &view, tensor_status());
    return checked_view("ridge_broadcast", x, ok, &view);
}

ridge_tensor *ridge_unsqueeze(ridge_tensor *handle, int axis) {
    const struct tensor *x = tensor_of("ridge_unsqueeze", handle);
    if (!x)
        return NULL;
    struct view view = x->view;
    int rank = (int)view.rank;
    bool ok = axis >= -rank - 1 && axis <= rank;
    if (!ok)
        status_fail(tensor_status(), STATUS_USAGE, "cannot insert an axis at %d of rank %d", axis,
                    rank);
    ok = ok &&
         view_insert_axis(&view, (unsigned)(axis < 0 ? axis + rank + 1 : axis), tensor_status());
    return checked_view("ridge_unsqueeze", x, ok, &view);
}

ridge_tensor *ridge_squeeze(ridge_tensor *handle, int axis) {
    unsigned found;
    const struct tensor *x = tensor_of("ridge_squeeze", handle);
    if (!x)
        return NULL;
    struct view view = x->view;
    bool ok = view_axis(&view, axis, &found, tensor_status());
    if (ok && view.sizes[found] != 1)
        ok = status_fail(tensor_status(), STATUS_USAGE, "axis %u has the size %lld, not 1", found,
                         (long long)view.sizes[found]);
    if (ok)
        view_drop_axis(&view, found);
    return checked_view("ridge_squeeze", x, ok, &view);
}

/* ---- Joining and parting ---------------------------------------------------------------- */

static bool build_whole(struct builder *build, const struct operation *operation,
                        struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    outputs[0] = build_contiguous(build, inputs[0]);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_contiguous(ridge_tensor *x) {
    const struct tensor *tensor = tensor_find(x);
    if (tensor && view_is_contiguous(&tensor->view))
        return tensor_handle(tensor_view(tensor, &tensor->view, tensor_status()));
    struct operation operation = {.name = "ridge_contiguous",
                                  .build = build_whole,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x}};
    return operation_result(&operation);
}

static bool build_joined(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    unsigned axis;
    if (!view_axis(&inputs[0]->view, (int)operation->integers[0], &axis, build->status))
        return false;
    outputs[0] = build_cat(build, inputs, operation->input_count, axis);
    return outputs[0] != NULL;
}

static ridge_tensor *join_tensors(const char *name, ridge_tensor *const *parts, unsigned count,
                                  int axis) {
    struct operation operation = {.name = name,
                                  .build = build_joined,
                                  .input_count = count,
                                  .output_count = 1,
                                  .many = parts,
                                  .integers = {axis}};
    return operation_result(&operation);
}

static bool check_parts(const char *name, ridge_tensor *const *parts, unsigned count) {
    if (count == 0)
        return status_fail(tensor_status(), STATUS_USAGE, "%s: no tensors to join", name);
    return parts ? true : tensor_null(name, "array of parts");
}

ridge_tensor *ridge_cat(ridge_tensor *const *parts, unsigned count, int axis) {
    return check_parts("ridge_cat", parts, count) ? join_tensors("ridge_cat", parts, count, axis)
                                                  : NULL;
}

static bool are_alike(ridge_tensor *const *parts, unsigned count) {
    const struct tensor *first = tensor_of("ridge_stack", parts[0]);
    for (unsigned i = 0; first && i < count; i++) {
        const struct tensor *part = tensor_of("ridge_stack", parts[i]);
        if (!part)
            return false;
        if (part->dtype != first->dtype || !view_same_sizes(&part->view, &first->view)) {
            status_fail(tensor_status(), STATUS_USAGE,
                        "all parts of a stack must have one type and shape; part %u differs", i);
            return tensor_failed("ridge_stack", part);
        }
    }
    return first;
}

ridge_tensor *ridge_stack(ridge_tensor *const *parts, unsigned count, int axis) {
    if (!check_parts("ridge_stack", parts, count) || !are_alike(parts, count))
        return NULL;
    ridge_tensor **wide = memory_allocate(count, sizeof *wide, tensor_status());
    if (!wide)
        return NULL;
    struct scope scope;
    scope_begin(&scope);
    bool ok = true;
    for (unsigned i = 0; i < count && ok; i++)
        ok = (wide[i] = ridge_unsqueeze(parts[i], axis)) != NULL;
    int counted = ok && axis < 0 ? axis + (int)ridge_tensor_rank(wide[0]) : axis;
    ridge_tensor *joined = ok ? join_tensors("ridge_stack", wide, count, counted) : NULL;
    tensor_keep(tensor_find(joined));
    scope_end(&scope);
    memory_free(wide);
    return joined;
}

static bool release_parts(ridge_tensor **parts, unsigned count) {
    while (count-- > 0) {
        ridge_release(parts[count]);
        parts[count] = NULL;
    }
    return false;
}

bool ridge_split(ridge_tensor *handle, unsigned count, int axis, ridge_tensor **parts) {
    struct status *status = tensor_status();
    if (!parts)
        return tensor_null("ridge_split", "array of parts");
    for (unsigned i = 0; i < count; i++)
        parts[i] = NULL;
    unsigned found;
    const struct tensor *x = tensor_of("ridge_split", handle);
    if (!x)
        return false;
    if (!view_axis(&x->view, axis, &found, status))
        return tensor_failed("ridge_split", x);
    if (count == 0 || x->view.sizes[found] % count != 0) {
        status_fail(status, STATUS_USAGE, "axis %u of size %lld cannot be split into %u parts",
                    found, (long long)x->view.sizes[found], count);
        return tensor_failed("ridge_split", x);
    }
    int64_t size = x->view.sizes[found] / count;
    for (unsigned i = 0; i < count; i++)
        if (!(parts[i] = ridge_slice(handle, (int)found, i * size, (i + 1) * size, 1)))
            return release_parts(parts, i);
    return true;
}

bool ridge_unstack(ridge_tensor *handle, int axis, ridge_tensor **parts) {
    unsigned found;
    if (!parts)
        return tensor_null("ridge_unstack", "array of parts");
    const struct tensor *x = tensor_of("ridge_unstack", handle);
    if (!x)
        return false;
    if (!view_axis(&x->view, axis, &found, tensor_status()))
        return tensor_failed("ridge_unstack", x);
    if (x->view.sizes[found] > UINT_MAX) {
        status_fail(tensor_status(), STATUS_USAGE, "axis %u has too many indices", found);
        return tensor_failed("ridge_unstack", x);
    }
    unsigned count = (unsigned)x->view.sizes[found];
    for (unsigned i = 0; i < count; i++)
        parts[i] = NULL;
    for (unsigned i = 0; i < count; i++)
        if (!(parts[i] = ridge_select(handle, (int)found, i)))
            return release_parts(parts, i);
    return true;
}

static bool build_duplicate(struct builder *build, const struct operation *operation,
                            struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    outputs[0] = build_copy(build, inputs[0]);
    return outputs[0] != NULL;
}

static bool build_assignment(struct builder *build, const struct operation *operation,
                             struct tensor *const *inputs, struct tensor **outputs) {
    (void)outputs;
    return build_assign(build, inputs[0], inputs[1], operation->integers[0] != 0);
}

/* Whether both are storages, and the same one or different ones. */
static bool share_storage(const struct tensor *a, const struct tensor *b, bool same) {
    return a && b && a->storage && b->storage && (a->storage == b->storage) == same;
}

bool ridge_assign(ridge_tensor *target, ridge_tensor *source) {
    struct operation assign = {.name = "ridge_assign",
                               .build = build_assignment,
                               .input_count = 2,
                               .inputs = {target, source}};
    const struct tensor *to = tensor_find(target), *from = tensor_find(source);
    assign.integers[0] = share_storage(to, from, false) && !graph_current();
    if (!share_storage(to, from, true) || graph_current())
        return operation_run(&assign, NULL);
    /* Within one storage the source might be written before it is read. */
    struct operation copy = {.name = "ridge_assign",
                             .build = build_duplicate,
                             .input_count = 1,
                             .output_count = 1,
                             .inputs = {source}};
    assign.inputs[1] = operation_result(&copy);
    bool ok = assign.inputs[1] && operation_run(&assign, NULL);
    ridge_release(assign.inputs[1]);
    return ok;
}
