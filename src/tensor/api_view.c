/* Public functions of views, and of joining and parting. */
#include <string.h>

#include "tensor/operation.h"

static ridge_tensor *as_view(ridge_tensor *x, const struct view *view) {
    return tensor_view(x, view, tensor_status());
}

/* Blocks of a quantised tensor lie along its last axis and cannot be cut or walked in steps. */
static bool keeps_blocks(const ridge_tensor *x, const struct view *view) {
    if (!dtype_is_quantised(x->dtype))
        return true;
    int64_t block = dtype_block(x->dtype);
    bool whole = view->offset % block == 0;
    for (unsigned axis = 0; axis < view->rank; axis++)
        whole = whole && (view->sizes[axis] == 1 || view->strides[axis] % block == 0 ||
                          (view->strides[axis] == 1 && view->sizes[axis] % block == 0));
    whole = whole && view_count(view) % block == 0;
    return whole || status_fail(tensor_status(), STATUS_USAGE,
                                "it would cut the blocks of %lld that %s is made of",
                                (long long)block, ridge_dtype_name(x->dtype));
}

static ridge_tensor *checked_view(const char *name, ridge_tensor *x, bool ok,
                                  const struct view *view) {
    return ok && keeps_blocks(x, view) ? as_view(x, view) : tensor_failed(name, x);
}

ridge_tensor *ridge_reshape(ridge_tensor *x, unsigned rank, const int64_t *sizes) {
    struct view view;
    bool possible;
    if (!x)
        return NULL;
    if (!view_reshape(&x->view, rank, sizes, &view, &possible, tensor_status()))
        return tensor_failed("ridge_reshape", x);
    if (possible)
        return checked_view("ridge_reshape", x, true, &view);
    ridge_scope_begin();
    ridge_tensor *whole = ridge_contiguous(x);
    ridge_tensor *result =
        whole ? ridge_keep(ridge_reshape(whole, rank, sizes)) : tensor_failed("ridge_reshape", x);
    ridge_scope_end();
    return result;
}

ridge_tensor *ridge_permute(ridge_tensor *x, const unsigned *axes) {
    struct view view;
    if (!x)
        return NULL;
    bool ok = view_permute(&x->view, axes, &view, tensor_status());
    return checked_view("ridge_permute", x, ok, &view);
}

ridge_tensor *ridge_transpose(ridge_tensor *x, int axis_a, int axis_b) {
    unsigned a, b, axes[RIDGE_RANK_MAX];
    if (!x)
        return NULL;
    if (!view_axis(&x->view, axis_a, &a, tensor_status()) ||
        !view_axis(&x->view, axis_b, &b, tensor_status()))
        return tensor_failed("ridge_transpose", x);
    for (unsigned axis = 0; axis < x->view.rank; axis++)
        axes[axis] = axis == a ? b : axis == b ? a : axis;
    return ridge_permute(x, axes);
}

ridge_tensor *ridge_slice(ridge_tensor *x, int axis, int64_t begin, int64_t end, int64_t step) {
    struct view view;
    if (!x)
        return NULL;
    bool ok = view_slice(&x->view, axis, begin, end, step, &view, tensor_status());
    return checked_view("ridge_slice", x, ok, &view);
}

ridge_tensor *ridge_select(ridge_tensor *x, int axis, int64_t index) {
    struct view view;
    unsigned found;
    if (!x)
        return NULL;
    bool ok = view_axis(&x->view, axis, &found, tensor_status());
    int64_t size = ok ? x->view.sizes[found] : 0;
    if (ok && (index < -size || index >= size))
        ok = status_fail(tensor_status(), STATUS_USAGE,
                         "there is no index %lld in axis %u of size %lld", (long long)index, found,
                         (long long)size);
    index = index < 0 ? index + size : index;
    ok = ok && view_slice(&x->view, axis, index, index + 1, 1, &view, tensor_status());
    if (ok)
        view_drop_axis(&view, found);
    return checked_view("ridge_select", x, ok, &view);
}

ridge_tensor *ridge_broadcast(ridge_tensor *x, unsigned rank, const int64_t *sizes) {
    struct view view;
    if (!x)
        return NULL;
    bool ok = view_broadcast(&x->view, rank, sizes, &view, tensor_status());
    return checked_view("ridge_broadcast", x, ok, &view);
}

ridge_tensor *ridge_unsqueeze(ridge_tensor *x, int axis) {
    if (!x)
        return NULL;
    struct view view = x->view;
    int rank = (int)view.rank;
    bool ok = axis >= -rank - 1 && axis <= rank;
    if (!ok)
        status_fail(tensor_status(), STATUS_USAGE, "an axis cannot be put at %d of rank %d", axis,
                    rank);
    ok = ok &&
         view_insert_axis(&view, (unsigned)(axis < 0 ? axis + rank + 1 : axis), tensor_status());
    return checked_view("ridge_unsqueeze", x, ok, &view);
}

ridge_tensor *ridge_squeeze(ridge_tensor *x, int axis) {
    unsigned found;
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
                        ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)operation;
    outputs[0] = build_contiguous(build, inputs[0]);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_contiguous(ridge_tensor *x) {
    if (x && view_is_contiguous(&x->view))
        return as_view(x, &x->view);
    struct operation operation = {.name = "ridge_contiguous",
                                  .build = build_whole,
                                  .input_count = 1,
                                  .output_count = 1,
                                  .inputs = {x}};
    return operation_result(&operation);
}

static bool build_joined(struct builder *build, const struct operation *operation,
                         ridge_tensor *const *inputs, ridge_tensor **outputs) {
    unsigned axis;
    if (!view_axis(&inputs[0]->view, (int)operation->integers[0], &axis, build->status))
        return false;
    outputs[0] = build_cat(build, inputs, operation->input_count, axis);
    return outputs[0] != NULL;
}

static ridge_tensor *join(const char *name, ridge_tensor *const *parts, unsigned count, int axis) {
    struct operation operation = {.name = name,
                                  .build = build_joined,
                                  .input_count = count,
                                  .output_count = 1,
                                  .many = parts,
                                  .integers = {axis}};
    return operation_result(&operation);
}

ridge_tensor *ridge_cat(ridge_tensor *const *parts, unsigned count, int axis) {
    if (count == 0) {
        status_fail(tensor_status(), STATUS_USAGE, "ridge_cat: there is nothing to join");
        return NULL;
    }
    return join("ridge_cat", parts, count, axis);
}

ridge_tensor *ridge_stack(ridge_tensor *const *parts, unsigned count, int axis) {
    struct status *status = tensor_status();
    if (count == 0) {
        status_fail(status, STATUS_USAGE, "ridge_stack: there is nothing to stack");
        return NULL;
    }
    for (unsigned i = 0; i < count; i++)
        if (parts[0] && parts[i] &&
            (parts[i]->dtype != parts[0]->dtype ||
             !view_same_sizes(&parts[i]->view, &parts[0]->view))) {
            status_fail(status, STATUS_USAGE, "all parts of a stack are alike, part %u is not", i);
            tensor_failed("ridge_stack", parts[i]);
            return NULL;
        }
    ridge_tensor **wide = memory_allocate(count, sizeof *wide, status);
    if (!wide)
        return NULL;
    ridge_scope_begin();
    bool ok = true;
    for (unsigned i = 0; i < count && ok; i++)
        ok = (wide[i] = ridge_unsqueeze(parts[i], axis)) != NULL;
    int counted = ok && axis < 0 ? axis + (int)ridge_tensor_rank(wide[0]) : axis;
    ridge_tensor *result = ok ? ridge_keep(join("ridge_stack", wide, count, counted)) : NULL;
    ridge_scope_end();
    memory_free(wide);
    return result;
}

static bool release_parts(ridge_tensor **parts, unsigned count) {
    while (count-- > 0) {
        ridge_release(parts[count]);
        parts[count] = NULL;
    }
    return false;
}

bool ridge_split(ridge_tensor *x, unsigned count, int axis, ridge_tensor **parts) {
    struct status *status = tensor_status();
    for (unsigned i = 0; i < count; i++)
        parts[i] = NULL;
    unsigned found;
    if (!x)
        return false;
    if (!view_axis(&x->view, axis, &found, status))
        return tensor_failed("ridge_split", x);
    if (count == 0 || x->view.sizes[found] % count != 0) {
        status_fail(status, STATUS_USAGE, "axis %u of size %lld cannot be parted into %u", found,
                    (long long)x->view.sizes[found], count);
        return tensor_failed("ridge_split", x);
    }
    int64_t size = x->view.sizes[found] / count;
    for (unsigned i = 0; i < count; i++)
        if (!(parts[i] = ridge_slice(x, (int)found, i * size, (i + 1) * size, 1)))
            return release_parts(parts, i);
    return true;
}

bool ridge_unstack(ridge_tensor *x, int axis, ridge_tensor **parts) {
    unsigned found;
    if (!x)
        return false;
    if (!view_axis(&x->view, axis, &found, tensor_status()))
        return tensor_failed("ridge_unstack", x);
    unsigned count = (unsigned)x->view.sizes[found];
    for (unsigned i = 0; i < count; i++)
        parts[i] = NULL;
    for (unsigned i = 0; i < count; i++)
        if (!(parts[i] = ridge_select(x, (int)found, i)))
            return release_parts(parts, i);
    return true;
}

static bool build_duplicate(struct builder *build, const struct operation *operation,
                            ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)operation;
    outputs[0] = build_copy(build, inputs[0]);
    return outputs[0] != NULL;
}

static bool build_assignment(struct builder *build, const struct operation *operation,
                             ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)outputs;
    return build_assign(build, inputs[0], inputs[1], operation->integers[0] != 0);
}

bool ridge_assign(ridge_tensor *target, ridge_tensor *source) {
    struct operation assign = {.name = "ridge_assign",
                               .build = build_assignment,
                               .input_count = 2,
                               .inputs = {target, source}};
    assign.integers[0] = target && source && target->storage && source->storage &&
                         target->storage != source->storage && !graph_current();
    if (!target || !source || !target->storage || target->storage != source->storage ||
        graph_current())
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
