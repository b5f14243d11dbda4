/* Eager execution: plans of single operations, found by a key of everything they depend on. */
#include "tensor/operation.h"

#include <string.h>

#include "base/checksum.h"
#include "tensor/gradient/tape.h"
#include "tensor/plan.h"

enum { KEY_MAX = 2048, PLANS_MAX = 4096 };

struct entry {
    struct entry *next;  /* with the same hash */
    struct entry *older; /* of all */
    struct plan *plan;
    size_t length;
    unsigned char key[];
};

struct plan_store {
    struct map entries;
    struct entry *newest;
    size_t count;
};

struct plan_store *plan_store_create(struct status *status) {
    return memory_allocate(1, sizeof(struct plan_store), status);
}

void plan_store_clear(struct plan_store *store) {
    while (store->newest) {
        struct entry *entry = store->newest;
        store->newest = entry->older;
        plan_destroy(entry->plan);
        memory_free(entry);
    }
    map_finish(&store->entries);
    store->entries = (struct map){0};
    store->count = 0;
}

void plan_store_destroy(struct plan_store *store) {
    if (!store)
        return;
    plan_store_clear(store);
    memory_free(store);
}

/* An operation with its tensors in place of their handles. */
struct call {
    const struct operation *operation;
    struct tensor **inputs; /* at least OPERATION_INPUTS_MAX, NULL if absent */
};

/* ---- Keys ------------------------------------------------------------------------------- */

struct key {
    size_t length;
    bool too_long;
    unsigned char bytes[KEY_MAX];
};

static void append(struct key *key, const void *data, size_t length) {
    if (key->length + length > KEY_MAX) {
        key->too_long = true;
        return;
    }
    memcpy(key->bytes + key->length, data, length);
    key->length += length;
}

uint32_t tensor_alignment(const struct tensor *tensor) {
    uint64_t bytes = tensor_byte_offset(tensor->dtype, tensor->view.offset) | 16;
    return (uint32_t)(bytes & -bytes);
}

static void append_tensor(struct key *key, const struct tensor *tensor) {
    if (!tensor) {
        append(key, "-", 1);
        return;
    }
    unsigned char head[3] = {(unsigned char)tensor->dtype, (unsigned char)tensor->view.rank,
                             (unsigned char)tensor_alignment(tensor)};
    append(key, head, sizeof head);
    append(key, tensor->view.sizes, tensor->view.rank * sizeof tensor->view.sizes[0]);
    append(key, tensor->view.strides, tensor->view.rank * sizeof tensor->view.strides[0]);
}

void operation_key_tensor(struct buffer *buffer, const struct tensor *tensor) {
    struct key key;
    key.length = 0;
    append_tensor(&key, tensor);
    buffer_append(buffer, key.bytes, key.length);
}

static ridge_tensor *const *handles_of(const struct operation *operation) {
    return operation->many ? operation->many : operation->inputs;
}

static void make_key(const struct call *call, struct key *key) {
    const struct operation *operation = call->operation;
    key->length = 0;
    key->too_long = false;
    append(key, &operation->build, sizeof operation->build);
    append(key, operation->integers, sizeof operation->integers);
    append(key, operation->numbers, sizeof operation->numbers);
    if (operation->forward) {
        const struct operation *forward = operation->forward;
        append(key, &forward->build, sizeof forward->build);
        append(key, forward->integers, sizeof forward->integers);
        append(key, forward->numbers, sizeof forward->numbers);
        append(key, &forward->input_count, sizeof forward->input_count);
    }
    for (unsigned i = 0; i < operation->input_count; i++)
        append_tensor(key, call->inputs[i]);
}

/* ---- Building --------------------------------------------------------------------------- */

static bool describe_failure(const struct call *call, struct status *status) {
    const struct operation *operation = call->operation;
    struct buffer shapes = {0};
    for (unsigned i = 0; i < operation->input_count && shapes.length < 300; i++) {
        const struct tensor *input = call->inputs[i];
        if (!input)
            continue;
        buffer_string(&shapes, shapes.length ? ", " : "");
        view_describe(&shapes, input->dtype, &input->view);
    }
    status_context(status, "%s(%.*s)", operation->name, TEXT_ARGS(buffer_as_text(&shapes)));
    buffer_finish(&shapes);
    return false;
}

/* Calls the builder with tensors of the graph; releases all that it creates except its outputs. */
static bool trace(const struct operation *operation, struct graph *graph,
                  struct tensor *const *inputs, struct tensor **outputs, struct status *status) {
    struct builder build = {graph, status};
    struct scope scope;
    scope_begin(&scope);
    bool ok = operation->build(&build, operation, inputs, outputs);
    for (unsigned i = 0; i < operation->output_count; i++) {
        if (!ok)
            outputs[i] = NULL;
        /* A builder may return its input: the caller gets a separate handle. */
        else if (outputs[i])
            outputs[i] = tensor_keep(tensor_view(outputs[i], &outputs[i]->view, status));
        ok = ok && outputs[i];
    }
    scope_end(&scope);
    return ok;
}

/* Within a function that is being compiled: tensors from outside become captures. */
static bool trace_into(const struct call *call, struct graph *graph, struct tensor **outputs,
                       struct status *status) {
    const struct operation *operation = call->operation;
    struct tensor *few[OPERATION_INPUTS_MAX], **inputs = few;
    struct scope scope;
    if (operation->input_count > OPERATION_INPUTS_MAX) {
        inputs = memory_allocate(operation->input_count, sizeof *inputs, status);
        if (!inputs)
            return false;
    }
    bool ok = true;
    scope_begin(&scope);
    for (unsigned i = 0; i < operation->input_count && ok; i++) {
        const struct tensor *input = call->inputs[i];
        struct node_input operand;
        inputs[i] = NULL;
        if (!input)
            continue;
        ok = graph_operand(graph, input, &operand, status) &&
             (inputs[i] = tensor_of_node(graph, operand.node, &operand.view, status));
    }
    ok = ok && trace(operation, graph, inputs, outputs, status);
    for (unsigned i = 0; i < operation->output_count && ok; i++) {
        graph->nodes[outputs[i]->node].returned = true;
        tensor_keep(outputs[i]);
    }
    scope_end(&scope);
    if (inputs != few)
        memory_free(inputs);
    return ok;
}

/* A graph of this operation only. */
static bool make_plan(const struct call *call, ridge_device *device, struct plan **plan,
                      struct status *status) {
    const struct operation *operation = call->operation;
    struct graph graph;
    graph_init(&graph, device);
    struct tensor *few[OPERATION_INPUTS_MAX], **inputs = few;
    struct scope scope;
    struct tensor *outputs[OPERATION_OUTPUTS_MAX] = {NULL};
    bool ok = true;
    if (operation->input_count > OPERATION_INPUTS_MAX) {
        inputs = memory_allocate(operation->input_count, sizeof *inputs, status);
        ok = inputs != NULL;
    }
    scope_begin(&scope);
    for (unsigned i = 0; i < operation->input_count && ok; i++) {
        const struct tensor *input = call->inputs[i];
        uint32_t node;
        inputs[i] = NULL;
        if (!input)
            continue;
        struct view view = input->view;
        view.offset = 0;
        ok = graph_input(&graph, input->dtype, tensor_alignment(input), &node, status) &&
             (inputs[i] = tensor_of_node(&graph, node, &view, status));
    }
    ok = ok && trace(operation, &graph, inputs, outputs, status) &&
         plan_create(&graph, outputs, operation->output_count, plan, status);
    scope_end(&scope);
    if (inputs != few)
        memory_free(inputs);
    graph_finish(&graph);
    return ok;
}

/* ---- Running ---------------------------------------------------------------------------- */

static struct plan *find_plan(struct plan_store *store, const struct key *key, uint64_t hash) {
    uint64_t *found = map_find(&store->entries, hash);
    for (struct entry *entry = found ? (struct entry *)(uintptr_t)*found : NULL; entry;
         entry = entry->next)
        if (entry->length == key->length && memcmp(entry->key, key->bytes, key->length) == 0)
            return entry->plan;
    return NULL;
}

static bool keep_plan(struct plan_store *store, const struct key *key, uint64_t hash,
                      struct plan *plan, struct status *status) {
    if (store->count >= PLANS_MAX)
        plan_store_clear(store);
    struct entry *entry = memory_allocate(1, sizeof *entry + key->length, status);
    if (!entry)
        return false;
    uint64_t *found = map_find(&store->entries, hash);
    *entry = (struct entry){.next = found ? (struct entry *)(uintptr_t)*found : NULL, .plan = plan};
    entry->length = key->length;
    memcpy(entry->key, key->bytes, key->length);
    if (!map_set(&store->entries, hash, (uint64_t)(uintptr_t)entry, status)) {
        memory_free(entry);
        return false;
    }
    entry->older = store->newest;
    store->newest = entry;
    store->count++;
    return true;
}

/* The inputs that are there, in front: a plan numbers those. */
static void compact_inputs(struct call *call) {
    unsigned count = 0;
    for (unsigned i = 0; i < call->operation->input_count; i++)
        if (call->inputs[i])
            call->inputs[count++] = call->inputs[i];
}

static bool run_eager(struct call *call, ridge_device *device, struct tensor **outputs,
                      struct status *status) {
    struct key key;
    make_key(call, &key);
    uint64_t hash = checksum64(key.bytes, key.length);
    struct plan *plan = key.too_long ? NULL : find_plan(device->plans, &key, hash);
    bool kept = plan != NULL;
    if (!plan) {
        if (!make_plan(call, device, &plan, status))
            return describe_failure(call, status);
        if (!key.too_long) {
            kept = keep_plan(device->plans, &key, hash, plan, status);
            if (!kept) {
                plan_destroy(plan);
                return false;
            }
        }
    }
    struct tensor *all[OPERATION_INPUTS_MAX];
    struct call compact = {call->operation, call->operation->many ? call->inputs : all};
    if (!call->operation->many)
        memcpy(all, call->inputs, sizeof all);
    compact_inputs(&compact);
    bool ok = plan_run(plan, compact.inputs, outputs, status);
    if (!kept)
        plan_destroy(plan);
    return ok || describe_failure(call, status);
}

/* The device that all inputs share, and the graph if one of them is being traced. */
static bool find_home(const struct call *call, ridge_device **device, struct graph **graph,
                      struct status *status) {
    const struct operation *operation = call->operation;
    *device = operation->device;
    *graph = NULL;
    for (unsigned i = 0; i < operation->input_count; i++) {
        const struct tensor *input = call->inputs[i];
        if (!input)
            continue;
        if (tensor_is_gone(input, status))
            return describe_failure(call, status);
        if (*device && input->device != *device) {
            status_fail(status, STATUS_USAGE,
                        "operands are on different devices, %s and %s (every ridge_device_open() "
                        "is a device of its own)",
                        (*device)->name, input->device->name);
            return describe_failure(call, status);
        }
        *device = input->device;
        if (input->graph)
            *graph = input->graph;
    }
    return *device != NULL;
}

static bool note_run(const struct call *call, ridge_device *device, struct tensor *const *outputs,
                     struct status *status) {
    return !device->tape ||
           tape_record(device->tape, call->operation, call->inputs, outputs, status);
}

static bool run_call(struct call *call, struct tensor **outputs, struct status *status) {
    ridge_device *device;
    struct graph *graph;
    if (!find_home(call, &device, &graph, status))
        return false;
    /* In a function that is being compiled all work is traced, even on outside tensors only:
     * the function may assign to them before it runs. */
    if (!graph && graph_current() && graph_current()->device == device)
        graph = graph_current();
    if (!graph)
        return run_eager(call, device, outputs, status) && note_run(call, device, outputs, status);
    if (trace_into(call, graph, outputs, status))
        return true;
    describe_failure(call, status);
    if (!graph->failed)
        graph->failure = *status;
    graph->failed = true;
    return false;
}

static bool find_inputs(struct call *call, struct status *status) {
    const struct operation *operation = call->operation;
    for (unsigned i = 0; i < operation->input_count; i++) {
        const ridge_tensor *handle = handles_of(operation)[i];
        call->inputs[i] = tensor_find(handle);
        if (call->inputs[i] || (!handle && i < 32 && operation->optional & 1u << i))
            continue;
        if (handle)
            return status_fail(status, STATUS_USAGE, "%s: operand %u was already released",
                               operation->name, i);
        return status->code == STATUS_OK
                   ? status_fail(status, STATUS_USAGE, "%s: operand %u is NULL", operation->name, i)
                   : false;
    }
    return true;
}

bool operation_run(const struct operation *operation, ridge_tensor **outputs) {
    struct status *status = tensor_status();
    struct tensor *few[OPERATION_INPUTS_MAX] = {NULL}, *made[OPERATION_OUTPUTS_MAX] = {NULL};
    struct call call = {operation, few};
    bool ok = true;
    if (operation->input_count > OPERATION_INPUTS_MAX) {
        call.inputs = memory_allocate(operation->input_count, sizeof *call.inputs, status);
        ok = call.inputs != NULL;
    }
    ok = ok && find_inputs(&call, status) && run_call(&call, made, status);
    for (unsigned i = 0; i < operation->output_count; i++)
        outputs[i] = ok ? tensor_handle(made[i]) : NULL;
    if (call.inputs != few)
        memory_free(call.inputs);
    return ok;
}

ridge_tensor *operation_result(const struct operation *operation) {
    ridge_tensor *output;
    return operation_run(operation, &output) ? output : NULL;
}
