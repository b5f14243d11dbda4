/* Gradients of eager operations: the recorded operations in reverse, each differentiated by an
 * operation of its own. */
#include "tensor/gradient/tape.h"

#include <string.h>

#include "base/checksum.h"
#include "tensor/gradient/gradient.h"

/* A tensor as it was when an operation ran. */
struct tape_tensor {
    enum ridge_dtype dtype;
    struct view view;
    struct storage *storage; /* NULL if the operand was absent */
    uint64_t version;
};

struct tape_entry {
    struct operation operation; /* without its tensors */
    struct tape_tensor *inputs, outputs[OPERATION_OUTPUTS_MAX];
};

struct tape {
    ridge_device *device;
    struct tape_entry *entries;
    size_t count, capacity;
    bool paused; /* while gradients are computed */
};

struct tape *tape_create(ridge_device *device, struct status *status) {
    struct tape *tape = memory_allocate(1, sizeof *tape, status);
    if (tape)
        tape->device = device;
    return tape;
}

static void release_entry(struct tape_entry *entry) {
    for (unsigned i = 0; i < entry->operation.input_count; i++)
        storage_release(entry->inputs[i].storage);
    for (unsigned i = 0; i < entry->operation.output_count; i++)
        storage_release(entry->outputs[i].storage);
    memory_free(entry->inputs);
}

void tape_destroy(struct tape *tape) {
    if (!tape)
        return;
    for (size_t i = 0; i < tape->count; i++)
        release_entry(&tape->entries[i]);
    memory_free(tape->entries);
    memory_free(tape);
}

static struct tape_tensor note(const struct tensor *tensor) {
    if (!tensor)
        return (struct tape_tensor){.storage = NULL};
    storage_retain(tensor->storage);
    return (struct tape_tensor){tensor->dtype, tensor->view, tensor->storage,
                                tensor->storage->version};
}

bool tape_record(struct tape *tape, const struct operation *operation, struct tensor *const *inputs,
                 struct tensor *const *outputs, struct status *status) {
    if (tape->paused || operation->output_count == 0 || operation->input_count == 0)
        return true;
    struct tape_tensor *noted = memory_allocate(operation->input_count, sizeof *noted, status);
    if (!noted || !GROW(tape->entries, &tape->capacity, tape->count + 1, status)) {
        memory_free(noted);
        return false;
    }
    struct tape_entry *entry = &tape->entries[tape->count++];
    *entry = (struct tape_entry){.operation = *operation, .inputs = noted};
    entry->operation.many = NULL;
    memset(entry->operation.inputs, 0, sizeof entry->operation.inputs);
    for (unsigned i = 0; i < operation->input_count; i++)
        noted[i] = note(inputs[i]);
    for (unsigned i = 0; i < operation->output_count; i++)
        entry->outputs[i] = note(outputs[i]);
    return true;
}

/* ---- Operations of the way back ------------------------------------------------------------- */

/* Inputs: those of the forward operation, its results, their gradients. integers[0] is the first
 * input whose gradient is an output; the mask in integers[1] says which of the next ones. */
static bool build_backward(struct builder *build, const struct operation *operation,
                           struct tensor *const *inputs, struct tensor **outputs) {
    const struct operation *forward = operation->forward;
    struct tensor *made[OPERATION_OUTPUTS_MAX] = {NULL}, *parameters[OPERATION_OUTPUTS_MAX];
    unsigned count = 0;
    if (!forward->build(build, forward, inputs, made))
        return false;
    for (unsigned i = 0; i < OPERATION_OUTPUTS_MAX; i++)
        if (operation->integers[1] & 1 << i)
            parameters[count++] = inputs[operation->integers[0] + i];
    struct gradient_request request = {.output_count = forward->output_count,
                                       .outputs = made,
                                       .saved = inputs + forward->input_count,
                                       .seeds =
                                           inputs + forward->input_count + forward->output_count,
                                       .parameter_count = count,
                                       .parameters = parameters,
                                       .allow_unused = true,
                                       .gradients = outputs};
    if (!gradient_build(build, &request))
        return false;
    for (unsigned i = 0; i < count; i++) {
        struct tensor *g = outputs[i]
                               ? outputs[i]
                               : build_filled(build, parameters[i]->dtype, &parameters[i]->view, 0);
        outputs[i] = build_contiguous(build, g);
        if (!outputs[i])
            return false;
    }
    return true;
}

/* Inputs: a gradient, and a tensor with the view that it is of. The integers: the view's offset,
 * the base's rank and sizes. */
static bool build_placed(struct builder *build, const struct operation *operation,
                         struct tensor *const *inputs, struct tensor **outputs) {
    struct view view = inputs[1]->view;
    struct view_base base = {.rank = (unsigned)operation->integers[1]};
    memcpy(base.sizes, &operation->integers[2], sizeof base.sizes);
    view.offset = operation->integers[0];
    outputs[0] = build_contiguous(build, build_view_transpose(build, inputs[0], &view, &base));
    return outputs[0] != NULL;
}

/* ---- Sums by storage ---------------------------------------------------------------------- */

struct adjoint {
    const struct storage *storage;
    struct view_base base;
    ridge_tensor *g; /* NULL: zero so far */
    bool reached;    /* it depends on a parameter */
};

struct backward {
    struct tape *tape;
    struct map numbers; /* storage to its place in `adjoints` */
    struct adjoint *adjoints;
    size_t count, capacity;
    struct status *status;
};

static struct adjoint *find_adjoint(struct backward *backward, const struct storage *storage) {
    uint64_t *found = map_find(&backward->numbers, hash_u64((uintptr_t)storage));
    return found ? &backward->adjoints[*found] : NULL;
}

static struct adjoint *add_adjoint(struct backward *backward, const struct storage *storage) {
    struct adjoint *found = find_adjoint(backward, storage);
    if (found)
        return found;
    if (!GROW(backward->adjoints, &backward->capacity, backward->count + 1, backward->status) ||
        !map_set(&backward->numbers, hash_u64((uintptr_t)storage), backward->count,
                 backward->status))
        return NULL;
    backward->adjoints[backward->count] = (struct adjoint){.storage = storage};
    return &backward->adjoints[backward->count++];
}

static struct view_base contiguous_base(const struct view *view) {
    struct view_base base = {.rank = view->rank, .offset = view->offset};
    memcpy(base.sizes, view->sizes, sizeof base.sizes);
    return base;
}

/* The elements of a result, which may be a view of what the operation computed. */
static struct view_base result_base(const struct view *view) {
    if (view_is_contiguous(view))
        return contiguous_base(view);
    int64_t end = view_extent(view);
    return (struct view_base){
        .rank = 1, .offset = view->offset, .sizes = {end > 0 ? end - view->offset : 0}};
}

/* The elements of a storage that is not a result: the parameter's if nothing else is read. */
static struct view_base leaf_base(const struct backward *backward, const struct tensor *parameter,
                                  struct tensor *const *parameters, unsigned count) {
    int64_t first = parameter->view.offset, end = view_extent(&parameter->view);
    for (unsigned i = 0; i < count; i++)
        if (parameters[i]->storage == parameter->storage) {
            const struct view *view = &parameters[i]->view;
            first = view->offset < first ? view->offset : first;
            end = view_extent(view) > end ? view_extent(view) : end;
        }
    for (size_t e = 0; e < backward->tape->count; e++)
        for (unsigned i = 0; i < backward->tape->entries[e].operation.input_count; i++) {
            const struct tape_tensor *input = &backward->tape->entries[e].inputs[i];
            if (input->storage != parameter->storage || view_count(&input->view) == 0)
                continue;
            first = input->view.offset < first ? input->view.offset : first;
            end = view_extent(&input->view) > end ? view_extent(&input->view) : end;
        }
    if (view_is_contiguous(&parameter->view) && first == parameter->view.offset &&
        end <= first + view_count(&parameter->view))
        return contiguous_base(&parameter->view);
    return (struct view_base){.rank = 1, .offset = first, .sizes = {end > first ? end - first : 0}};
}

static bool find_reached(struct backward *backward, struct tensor *const *parameters,
                         unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct adjoint *adjoint = add_adjoint(backward, parameters[i]->storage);
        if (!adjoint)
            return false;
        adjoint->reached = true;
        adjoint->base = leaf_base(backward, parameters[i], parameters, count);
    }
    for (size_t e = 0; e < backward->tape->count; e++) {
        const struct tape_entry *entry = &backward->tape->entries[e];
        bool reached = false;
        for (unsigned i = 0; i < entry->operation.input_count && !reached; i++) {
            const struct adjoint *from = find_adjoint(backward, entry->inputs[i].storage);
            reached = from && from->reached && dtype_is_float(entry->inputs[i].dtype);
        }
        for (unsigned i = 0; i < entry->operation.output_count && reached; i++) {
            if (!dtype_is_float(entry->outputs[i].dtype) || entry->operation.detached)
                continue;
            struct adjoint *adjoint = add_adjoint(backward, entry->outputs[i].storage);
            if (!adjoint)
                return false;
            if (!adjoint->reached)
                adjoint->base = result_base(&entry->outputs[i].view);
            adjoint->reached = true;
        }
    }
    return true;
}

static bool is_whole(const struct view *view, const struct view_base *base) {
    struct view whole = *view;
    view_set_contiguous(&whole);
    return view->rank == base->rank && view->offset == base->offset && view_is_contiguous(view) &&
           (view->rank == 0 ||
            memcmp(view->sizes, base->sizes, view->rank * sizeof view->sizes[0]) == 0);
}

static struct tensor *tensor_again(const struct backward *backward,
                                   const struct tape_tensor *noted) {
    storage_retain(noted->storage);
    struct tensor *made = tensor_create(backward->tape->device, noted->dtype, &noted->view,
                                        noted->storage, backward->status);
    storage_release(noted->storage);
    return made;
}

/* The gradient of an operand that repeats elements has their sum wherever they are repeated. */
static ridge_tensor *without_repeats(struct tape_tensor *from, ridge_tensor *g) {
    for (unsigned axis = 0; axis < from->view.rank; axis++)
        if (from->view.strides[axis] == 0 && from->view.sizes[axis] > 1) {
            from->view.sizes[axis] = 1;
            g = ridge_slice(g, (int)axis, 0, 1, 1);
        }
    return g;
}

/* Adds the gradient of what `read` reads of its storage. */
static bool accumulate(struct backward *backward, const struct tape_tensor *read, ridge_tensor *g) {
    struct tape_tensor one = *read, *from = &one;
    struct adjoint *adjoint = find_adjoint(backward, from->storage);
    g = without_repeats(from, g);
    if (!is_whole(&from->view, &adjoint->base)) {
        struct operation place = {
            .name = "ridge_gradients",
            .build = build_placed,
            .input_count = 2,
            .output_count = 1,
            .inputs = {g, tensor_handle(tensor_again(backward, from))},
            .integers = {from->view.offset - adjoint->base.offset, adjoint->base.rank}};
        memcpy(&place.integers[2], adjoint->base.sizes, sizeof adjoint->base.sizes);
        g = operation_result(&place);
    }
    adjoint->g = adjoint->g ? ridge_add(adjoint->g, g) : g;
    return adjoint->g != NULL;
}

/* ---- The way back ----------------------------------------------------------------------- */

static bool check_versions(const struct tape_entry *entry, struct status *status) {
    for (unsigned i = 0; i < entry->operation.input_count; i++)
        if (entry->inputs[i].storage &&
            entry->inputs[i].version != entry->inputs[i].storage->version)
            return status_fail(status, STATUS_USAGE,
                               "operand %u of %s was assigned to after it was used: take the "
                               "gradients before the assignment",
                               i, entry->operation.name);
    return true;
}

/* Runs the gradients of up to OPERATION_OUTPUTS_MAX inputs from `first` on. */
static bool run_part(struct backward *backward, const struct tape_entry *entry,
                     ridge_tensor *const *handles, unsigned handle_count, unsigned first) {
    ridge_tensor *results[OPERATION_OUTPUTS_MAX];
    unsigned numbers[OPERATION_OUTPUTS_MAX], count = 0;
    int64_t mask = 0;
    for (unsigned i = 0; i < OPERATION_OUTPUTS_MAX && first + i < entry->operation.input_count;
         i++) {
        const struct tape_tensor *input = &entry->inputs[first + i];
        const struct adjoint *adjoint = find_adjoint(backward, input->storage);
        if (!adjoint || !adjoint->reached || !dtype_is_float(input->dtype))
            continue;
        mask |= 1 << i;
        numbers[count++] = first + i;
    }
    struct operation run = {.name = entry->operation.name,
                            .build = build_backward,
                            .input_count = handle_count,
                            .output_count = count,
                            .many = handles,
                            .optional = UINT32_MAX,
                            .forward = &entry->operation,
                            .integers = {first, mask}};
    if (count == 0)
        return true;
    if (!operation_run(&run, results))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!accumulate(backward, &entry->inputs[numbers[i]], results[i]))
            return false;
    return true;
}

/* The gradient of a result: that of its storage, read as the result reads it; NULL if it has none.
 */
static bool find_seed(struct backward *backward, const struct tape_tensor *result,
                      ridge_tensor **seed) {
    const struct adjoint *adjoint = find_adjoint(backward, result->storage);
    *seed = adjoint ? adjoint->g : NULL;
    if (!*seed || view_is_contiguous(&result->view))
        return true;
    const struct tensor *g = tensor_find(*seed);
    struct view view = result->view;
    view.offset += g->view.offset - adjoint->base.offset;
    *seed = tensor_handle(tensor_view(g, &view, backward->status));
    return *seed != NULL;
}

static bool run_backward(struct backward *backward, const struct tape_entry *entry) {
    unsigned inputs = entry->operation.input_count, outputs = entry->operation.output_count;
    ridge_tensor **handles =
        memory_allocate(inputs + 2 * (size_t)outputs, sizeof *handles, backward->status);
    bool ok = handles && check_versions(entry, backward->status);
    for (unsigned i = 0; i < inputs + outputs && ok; i++) {
        const struct tape_tensor *noted =
            i < inputs ? &entry->inputs[i] : &entry->outputs[i - inputs];
        if (noted->storage)
            ok = (handles[i] = tensor_handle(tensor_again(backward, noted))) != NULL;
    }
    for (unsigned i = 0; i < outputs && ok; i++) {
        ok = find_seed(backward, &entry->outputs[i], &handles[inputs + outputs + i]);
    }
    for (unsigned first = 0; first < inputs && ok; first += OPERATION_OUTPUTS_MAX)
        ok = run_part(backward, entry, handles, inputs + 2 * outputs, first);
    memory_free(handles);
    return ok;
}

static bool has_gradient(struct backward *backward, const struct tape_entry *entry) {
    for (unsigned i = 0; i < entry->operation.output_count; i++) {
        const struct adjoint *adjoint = find_adjoint(backward, entry->outputs[i].storage);
        if (adjoint && adjoint->g)
            return true;
    }
    return false;
}

static bool walk_back(struct backward *backward, const struct tensor *loss) {
    struct tape_tensor end = {loss->dtype, loss->view, loss->storage, 0};
    struct adjoint *adjoint = find_adjoint(backward, loss->storage);
    if (!adjoint || !adjoint->reached)
        return true;
    if (!accumulate(backward, &end,
                    ridge_full(loss->device, loss->dtype, loss->view.rank, loss->view.sizes, 1)))
        return false;
    for (size_t e = backward->tape->count; e-- > 0;) {
        const struct tape_entry *entry = &backward->tape->entries[e];
        if (has_gradient(backward, entry) && !run_backward(backward, entry))
            return false;
    }
    return true;
}

static struct tensor *gradient_of(struct backward *backward, const struct tensor *parameter,
                                  unsigned number) {
    const struct adjoint *adjoint = find_adjoint(backward, parameter->storage);
    struct tensor *g = tensor_find(adjoint->g);
    if (!g) {
        status_fail(backward->status, STATUS_USAGE,
                    "the loss does not depend on parameter %u by operations on the tape: call "
                    "ridge_tape_begin() before them",
                    number);
        return NULL;
    }
    struct view view = parameter->view;
    if (is_whole(&view, &adjoint->base))
        return g;
    view.offset += g->view.offset - adjoint->base.offset;
    return tensor_view(g, &view, backward->status);
}

bool tape_gradients(struct tape *tape, struct tensor *loss, struct tensor *const *parameters,
                    unsigned count, struct tensor **gradients, struct status *status) {
    struct backward backward = {.tape = tape, .status = status};
    struct scope scope;
    scope_begin(&scope);
    tape->paused = true;
    bool ok = find_reached(&backward, parameters, count) && walk_back(&backward, loss);
    for (unsigned i = 0; i < count && ok; i++) {
        struct tensor *g = gradient_of(&backward, parameters[i], i);
        gradients[i] = g ? tensor_keep(tensor_view(g, &g->view, status)) : NULL;
        ok = gradients[i] != NULL;
    }
    tape->paused = false;
    scope_end(&scope);
    map_finish(&backward.numbers);
    memory_free(backward.adjoints);
    return ok;
}
