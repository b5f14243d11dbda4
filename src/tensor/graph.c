/* Adding nodes to a graph, each kind of work once. */
#include "tensor/graph.h"

#include <string.h>

#include "base/checksum.h"

static _Thread_local struct graph *current;

struct graph *graph_current(void) {
    return current;
}

struct graph *graph_set_current(struct graph *graph) {
    struct graph *before = current;
    current = graph;
    return before;
}

void graph_init(struct graph *graph, ridge_device *device) {
    *graph = (struct graph){.device = device};
}

/* Handles that outlive the tracing become invalid. */
static void forget_tensors(const struct graph *graph) {
    for (struct tensor *tensor = graph->device->tensors; tensor; tensor = tensor->device_next)
        if (tensor->graph == graph)
            tensor->graph = NULL;
}

void graph_finish(struct graph *graph) {
    forget_tensors(graph);
    for (size_t i = 0; i < graph->capture_count; i++)
        storage_release(graph->captures[i]);
    memory_free(graph->captures);
    memory_free(graph->nodes);
    map_finish(&graph->unique);
    arena_finish(&graph->arena);
    *graph = (struct graph){0};
}

static uint64_t mix(const void *data, size_t length, uint64_t hash) {
    return hash_u64(checksum64(data, length) + hash * 0x9E3779B97F4A7C15u);
}

/* Hashes field by field: structs have padding. */
static uint64_t hash_view(const struct view *view, uint64_t hash) {
    hash = mix(&view->offset, sizeof view->offset, hash ^ view->rank);
    hash = mix(view->sizes, view->rank * sizeof view->sizes[0], hash);
    return mix(view->strides, view->rank * sizeof view->strides[0], hash);
}

static uint64_t hash_parameters(const struct node_parameters *p, uint64_t hash) {
    uint64_t words[17] = {0};
    memcpy(&words[0], &p->value, sizeof p->value);
    memcpy(&words[1], &p->step, sizeof p->step);
    memcpy(&words[2], &p->scale, sizeof p->scale);
    memcpy(&words[3], &p->base, sizeof p->base);
    words[4] = p->seed;
    words[5] = (uint64_t)p->start;
    words[6] = p->axis_mask;
    words[7] = p->axis;
    words[8] = p->index;
    words[9] = p->flags;
    words[10] = (uint64_t)p->detached | (uint64_t)p->again << 1;
    memcpy(&words[11], p->window, sizeof p->window);
    return mix(words, sizeof words, hash);
}

static uint64_t hash_node(const struct node *node) {
    uint32_t head[5] = {node->kind, node->op, node->dtype, node->input_count, node->epoch};
    uint64_t hash = mix(head, sizeof head, 0);
    hash = hash_view(&node->shape, hash);
    hash = hash_parameters(&node->parameters, hash);
    for (uint32_t i = 0; i < node->input_count; i++)
        hash = hash_view(&node->inputs[i].view, hash ^ node->inputs[i].node);
    return hash;
}

uint64_t graph_digest(const struct graph *graph, size_t node) {
    return hash_node(&graph->nodes[node]);
}

static bool equal_views(const struct view *a, const struct view *b) {
    return view_same_sizes(a, b) && a->offset == b->offset &&
           (a->rank == 0 || memcmp(a->strides, b->strides, a->rank * sizeof a->strides[0]) == 0);
}

static bool equal_nodes(const struct node *a, const struct node *b) {
    if (a->kind != b->kind || a->op != b->op || a->dtype != b->dtype ||
        a->input_count != b->input_count || a->epoch != b->epoch ||
        !equal_views(&a->shape, &b->shape) ||
        hash_parameters(&a->parameters, 1) != hash_parameters(&b->parameters, 1))
        return false;
    for (uint32_t i = 0; i < a->input_count; i++)
        if (a->inputs[i].node != b->inputs[i].node ||
            !equal_views(&a->inputs[i].view, &b->inputs[i].view))
            return false;
    return true;
}

bool graph_add(struct graph *graph, const struct node *node, uint32_t *number,
               struct status *status) {
    struct node added = *node;
    added.epoch = graph->epoch;
    uint64_t hash = hash_node(&added);
    uint64_t *found = map_find(&graph->unique, hash);
    if (added.kind != NODE_ASSIGN && found && equal_nodes(&graph->nodes[*found], &added)) {
        *number = (uint32_t)*found;
        return true;
    }
    if (!GROW(graph->nodes, &graph->capacity, graph->count + 1, status))
        return false;
    if (added.input_count > 0) {
        added.inputs =
            arena_allocate(&graph->arena, added.input_count * sizeof added.inputs[0], status);
        if (!added.inputs)
            return false;
        memcpy(added.inputs, node->inputs, added.input_count * sizeof added.inputs[0]);
    }
    if (!map_set(&graph->unique, hash, graph->count, status))
        return false;
    *number = (uint32_t)graph->count;
    graph->nodes[graph->count++] = added;
    if (added.kind >= NODE_EXPRESSION && added.kind != NODE_RESULT)
        graph->operations++;
    if (added.kind == NODE_ASSIGN)
        graph->epoch++;
    return true;
}

bool graph_input(struct graph *graph, enum ridge_dtype dtype, uint32_t alignment, uint32_t *number,
                 struct status *status) {
    struct node node = {.kind = NODE_INPUT, .dtype = dtype};
    node.parameters.index = graph->input_count;
    node.parameters.alignment = alignment;
    if (!graph_add(graph, &node, number, status))
        return false;
    graph->input_count++;
    return true;
}

uint32_t graph_alignment(const struct graph *graph, uint32_t node, int64_t offset) {
    const struct node *found = &graph->nodes[node];
    uint64_t bytes = tensor_byte_offset(found->dtype, offset) | 16;
    if (found->kind == NODE_INPUT)
        bytes |= found->parameters.alignment;
    return (uint32_t)(bytes & -bytes);
}

bool graph_operand(struct graph *graph, const struct tensor *tensor, struct node_input *operand,
                   struct status *status) {
    operand->view = tensor->view;
    if (tensor->graph == graph) {
        operand->node = tensor->node;
        return true;
    }
    if (tensor_is_gone(tensor, status))
        return false;
    if (tensor->device != graph->device)
        return status_fail(status, STATUS_USAGE, "the tensor is on %s and the function on %s",
                           tensor->device->name, graph->device->name);
    if (tensor->graph)
        return status_fail(status, STATUS_USAGE,
                           "the tensor belongs to the tracing of another function");
    for (size_t i = 0; i < graph->capture_count; i++)
        if (graph->captures[i] == tensor->storage) {
            for (size_t n = 0; n < graph->count; n++)
                if (graph->nodes[n].kind == NODE_CAPTURE && graph->nodes[n].parameters.index == i &&
                    graph->nodes[n].dtype == tensor->dtype) {
                    operand->node = (uint32_t)n;
                    return true;
                }
        }
    if (!GROW(graph->captures, &graph->capture_capacity, graph->capture_count + 1, status))
        return false;
    struct node node = {.kind = NODE_CAPTURE, .dtype = tensor->dtype};
    node.parameters.index = (uint32_t)graph->capture_count;
    if (!graph_add(graph, &node, &operand->node, status))
        return false;
    storage_retain(tensor->storage);
    graph->captures[graph->capture_count++] = tensor->storage;
    return true;
}
