/* Creates a plan: the memory layout of results, and the launches in order. */
#include "tensor/plan.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/kernels.h"
#include "tensor/lower.h"
#include "tensor/replay.h"

enum { PLACE_ALIGNMENT = 256 };

static size_t rounded(size_t bytes) {
    return (bytes + PLACE_ALIGNMENT - 1) / PLACE_ALIGNMENT * PLACE_ALIGNMENT;
}

bool plan_add_step(struct plan *plan, const struct kernel_request *request,
                   const struct place *places, unsigned place_count, uint64_t flops, uint64_t bytes,
                   const char *detail, struct status *status) {
    struct plan_step *step = &plan->steps[plan->step_count];
    size_t place_bytes = place_count * sizeof *places;
    size_t scalar_bytes = request->scalar_count * sizeof request->scalars[0];
    struct place *kept_places = arena_allocate(&plan->memory, place_bytes + 1, status);
    int64_t *kept_scalars = arena_allocate(&plan->memory, scalar_bytes + 1, status);
    if (!kept_places || !kept_scalars)
        return false;
    memcpy(kept_places, places, place_bytes);
    memcpy(kept_scalars, request->scalars, scalar_bytes);
    *step = (struct plan_step){
        .shared_bytes = request->shared_bytes,
        .place_count = place_count,
        .scalar_count = request->scalar_count,
        .places = kept_places,
        .scalars = kept_scalars,
        .flops = flops,
        .bytes = bytes,
        .detail = detail,
    };
    memcpy(step->grid, request->grid, sizeof step->grid);
    memcpy(step->block, request->block, sizeof step->block);
    if (!kernel_store_get(plan->device, request, &step->kernel, status))
        return false;
    plan->step_count++;
    plan->info.flops += flops;
    plan->info.bytes += bytes;
    return true;
}

/* ---- Where results lie ---------------------------------------------------------------------- */

/* The lifetime of an intermediate, as positions in the order of groups. */
struct lifetime {
    uint32_t node, from, to;
    size_t bytes, offset;
};

static uint32_t *positions(const struct fusion *fusion, struct arena *arena,
                           struct status *status) {
    uint32_t *position =
        arena_allocate(arena, (fusion->group_count + 1) * sizeof *position, status);
    if (position)
        memset(position, 0, (fusion->group_count + 1) * sizeof *position);
    for (uint32_t i = 0; position && i < fusion->order_count; i++)
        position[fusion->order[i]] = i;
    return position;
}

/* Larger ones first, else in the order of the nodes. */
static int compare_sizes(const void *a, const void *b) {
    const struct lifetime *one = a, *other = b;
    if (one->bytes != other->bytes)
        return one->bytes > other->bytes ? -1 : 1;
    return one->node < other->node ? -1 : one->node > other->node;
}

/* Placed lifetimes by time: a span of positions lists those that overlap it, so that few are
 * compared. */
enum { SPAN_POSITIONS = 16 };
struct placed {
    struct placed *next;
    const struct lifetime *lifetime;
};
struct layout {
    struct placed **spans;
    struct arena *arena;
    size_t end;
};

/* The lowest offset at which `one` does not overlap earlier ones with overlapping lifetimes. */
static size_t free_offset(const struct layout *layout, const struct lifetime *one) {
    size_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t span = one->from / SPAN_POSITIONS; span <= one->to / SPAN_POSITIONS; span++)
            for (const struct placed *placed = layout->spans[span]; placed; placed = placed->next) {
                const struct lifetime *other = placed->lifetime;
                bool together = one->from <= other->to && other->from <= one->to;
                if (together && offset < other->offset + other->bytes &&
                    other->offset < offset + one->bytes) {
                    offset = other->offset + other->bytes;
                    moved = true;
                }
            }
    }
    return offset;
}

static bool add_to_spans(struct layout *layout, const struct lifetime *one, struct status *status) {
    for (uint32_t span = one->from / SPAN_POSITIONS; span <= one->to / SPAN_POSITIONS; span++) {
        struct placed *placed = arena_allocate(layout->arena, sizeof *placed, status);
        if (!placed)
            return false;
        *placed = (struct placed){layout->spans[span], one};
        layout->spans[span] = placed;
    }
    return true;
}

static bool lay_out(struct layout *layout, struct lifetime *lifetimes, size_t count,
                    struct place *places, struct status *status) {
    if (count > 0)
        qsort(lifetimes, count, sizeof *lifetimes, compare_sizes);
    for (size_t i = 0; i < count; i++) {
        lifetimes[i].offset = free_offset(layout, &lifetimes[i]);
        places[lifetimes[i].node] = (struct place){PLACE_ARENA, 0, lifetimes[i].offset};
        if (layout->end < lifetimes[i].offset + lifetimes[i].bytes)
            layout->end = lifetimes[i].offset + lifetimes[i].bytes;
        if (!add_to_spans(layout, &lifetimes[i], status))
            return false;
    }
    return true;
}

/* Second results are written whether or not anything reads them. */
static bool has_place(const struct fusion *fusion, uint32_t n) {
    const struct node *node = &fusion->graph->nodes[n];
    if (node->kind == NODE_RESULT)
        return fusion->live[node->inputs[0].node];
    return node->kind >= NODE_EXPRESSION && node->kind != NODE_ASSIGN && fusion->live[n] &&
           (fusion->stored[n] || node->kind == NODE_KERNEL);
}

/* The last position at which a node is read. Readers of a second result are listed with the first:
 * both stay as long as either is read. */
static struct lifetime lifetime_of(const struct fusion *fusion, const uint32_t *position,
                                   uint32_t n) {
    const struct graph *graph = fusion->graph;
    const struct node *node = &graph->nodes[n];
    uint32_t owner = fusion_owner(graph, n), made = position[fusion->group_of[owner]];
    struct lifetime lifetime = {.node = n, .from = made, .to = made};
    lifetime.bytes = rounded(ridge_dtype_bytes(node->dtype, view_count(&node->shape)));
    for (uint32_t i = fusion->first_reader[owner]; i < fusion->first_reader[owner + 1]; i++) {
        uint32_t read_at = position[fusion->group_of[fusion->readers[i]]];
        lifetime.to = read_at > lifetime.to ? read_at : lifetime.to;
    }
    return lifetime;
}

/* Results that leave the plan get their own storages. */
static void place_outputs(struct plan *plan, const struct graph *graph,
                          struct tensor *const *outputs, struct place *places) {
    for (unsigned i = 0; i < plan->output_count; i++) {
        uint32_t n = outputs[i]->node;
        const struct node *node = &graph->nodes[n];
        if (node->kind >= NODE_EXPRESSION && places[n].kind == PLACE_NONE) {
            places[n] = (struct place){PLACE_OUTPUT, plan->storage_count, 0};
            plan->storage_bytes[plan->storage_count++] =
                ridge_dtype_bytes(node->dtype, view_count(&node->shape));
        }
        plan->outputs[i] = (struct plan_output){places[n], outputs[i]->dtype, outputs[i]->view};
    }
}

static bool place_all(struct plan *plan, const struct fusion *fusion, struct tensor *const *outputs,
                      struct place *places, struct arena *scratch, struct status *status) {
    const struct graph *graph = fusion->graph;
    for (uint32_t n = 0; n < graph->count; n++) {
        const struct node *node = &graph->nodes[n];
        if (node->kind == NODE_INPUT || node->kind == NODE_CAPTURE)
            places[n] = (struct place){node->kind == NODE_INPUT ? PLACE_INPUT : PLACE_CAPTURE,
                                       node->parameters.index, 0};
    }
    for (uint32_t n = 0; n < graph->count; n++)
        if (fusion->written_to[n]) {
            const struct node_input *target = fusion->written_to[n];
            places[n] = places[target->node];
            places[n].offset += tensor_byte_offset(graph->nodes[n].dtype, target->view.offset);
        }
    place_outputs(plan, graph, outputs, places);
    uint32_t *position = positions(fusion, scratch, status);
    struct lifetime *lifetimes =
        arena_allocate(scratch, (graph->count + 1) * sizeof *lifetimes, status);
    size_t span_bytes = (fusion->order_count / SPAN_POSITIONS + 1) * sizeof(struct placed *);
    struct layout layout = {.spans = arena_allocate(scratch, span_bytes, status), .arena = scratch};
    if (!position || !lifetimes || !layout.spans)
        return false;
    memset(layout.spans, 0, span_bytes);
    size_t count = 0;
    for (uint32_t n = 0; n < graph->count; n++)
        if (places[n].kind == PLACE_NONE && has_place(fusion, n))
            lifetimes[count++] = lifetime_of(fusion, position, n);
    if (!lay_out(&layout, lifetimes, count, places, status))
        return false;
    plan->arena_bytes = layout.end;
    return true;
}

/* ---- What the operations would cost one by one ------------------------------------------------
 */

static void count_eager(struct plan *plan, const struct fusion *fusion,
                        struct tensor *const *outputs) {
    const struct graph *graph = fusion->graph;
    for (uint32_t n = 0; n < graph->count; n++) {
        const struct node *node = &graph->nodes[n];
        if (!fusion->live[n] || node->kind < NODE_EXPRESSION || node->kind == NODE_ASSIGN)
            continue;
        uint64_t bytes = ridge_dtype_bytes(node->dtype, view_count(&node->shape));
        bool is_output = false;
        for (unsigned i = 0; i < plan->output_count; i++)
            is_output = is_output || outputs[i]->node == n;
        if (!is_output)
            plan->info.eager_intermediate_bytes += bytes;
        for (uint32_t i = 0; i < node->input_count && node->kind != NODE_RESULT; i++)
            if (graph->nodes[node->inputs[i].node].kind != NODE_CONSTANT)
                bytes += ridge_dtype_bytes(graph->nodes[node->inputs[i].node].dtype,
                                           view_touched(&node->inputs[i].view));
        plan->info.eager_bytes += bytes;
    }
}

/* ---- The plan --------------------------------------------------------------------------- */

static bool allocate_plan(struct graph *graph, unsigned output_count, struct plan **plan,
                          struct status *status) {
    struct plan *made = *plan = memory_allocate(1, sizeof **plan, status);
    if (!made)
        return false;
    made->device = graph->device;
    made->output_count = output_count;
    made->input_count = graph->input_count;
    struct arena *arena = &made->memory;
    /* A join launches once per part, a split product or reduction twice. */
    size_t steps = 2 * graph->count + 2;
    for (size_t n = 0; n < graph->count; n++)
        steps += graph->nodes[n].input_count;
    made->steps = arena_allocate(arena, steps * sizeof *made->steps, status);
    made->outputs = made->steps
                        ? arena_allocate(arena, (output_count + 1) * sizeof *made->outputs, status)
                        : NULL;
    made->storage_bytes =
        made->outputs ? arena_allocate(arena, (output_count + 1) * sizeof(size_t), status) : NULL;
    made->captures =
        made->storage_bytes
            ? arena_allocate(arena, (graph->capture_count + 1) * sizeof *made->captures, status)
            : NULL;
    return made->captures != NULL;
}

static bool lower_all(struct plan *plan, const struct fusion *fusion, const struct place *places,
                      struct status *status) {
    struct lowering lowering = {.plan = plan,
                                .fusion = fusion,
                                .places = places,
                                .scratch = plan->arena_bytes,
                                .status = status};
    for (uint32_t i = 0; i < fusion->order_count; i++)
        if (!lower_group(&lowering, &fusion->groups[fusion->order[i]]))
            return false;
    plan->arena_bytes += rounded(lowering.scratch_bytes);
    return true;
}

/* What a run assigns to. */
static bool find_writes(struct plan *plan, const struct graph *graph, const struct place *places,
                        struct status *status) {
    plan->writes = arena_allocate(&plan->memory, (graph->epoch + 1) * sizeof *plan->writes, status);
    for (uint32_t n = 0; plan->writes && graph->epoch > 0 && n < graph->count; n++)
        if (graph->nodes[n].kind == NODE_ASSIGN)
            plan->writes[plan->write_count++] = places[graph->nodes[n].inputs[0].node];
    return plan->writes != NULL;
}

static bool fill(struct plan *plan, struct graph *graph, struct tensor *const *outputs,
                 struct fusion *fusion, struct status *status) {
    struct place *places =
        arena_allocate(&fusion->arena, (graph->count + 1) * sizeof *places, status);
    if (!places)
        return false;
    memset(places, 0, (graph->count + 1) * sizeof *places);
    if (!place_all(plan, fusion, outputs, places, &fusion->arena, status) ||
        !find_writes(plan, graph, places, status) || !lower_all(plan, fusion, places, status))
        return false;
    count_eager(plan, fusion, outputs);
    plan->info.kernels = plan->step_count;
    plan->info.operations = graph->operations;
    plan->info.intermediate_bytes = plan->arena_bytes;
    for (size_t i = 0; i < graph->capture_count; i++) {
        storage_retain(graph->captures[i]);
        plan->captures[plan->capture_count++] = graph->captures[i];
    }
    return true;
}

bool plan_create(struct graph *graph, struct tensor *const *outputs, unsigned output_count,
                 struct plan **plan, struct status *status) {
    *plan = NULL;
    uint32_t *nodes = arena_allocate(&graph->arena, (output_count + 1) * sizeof *nodes, status);
    if (!nodes)
        return false;
    for (unsigned i = 0; i < output_count; i++)
        nodes[i] = outputs[i]->node;
    struct fusion fusion;
    if (!fusion_make(&fusion, graph, nodes, output_count, status))
        return false;
    bool made = allocate_plan(graph, output_count, plan, status) &&
                fill(*plan, graph, outputs, &fusion, status);
    fusion_finish(&fusion);
    if (!made) {
        plan_destroy(*plan);
        *plan = NULL;
    }
    return made;
}

void plan_destroy(struct plan *plan) {
    if (!plan)
        return;
    plan_replay_destroy(plan->replay, plan->device);
    for (unsigned i = 0; i < plan->capture_count; i++)
        storage_release(plan->captures[i]);
    arena_finish(&plan->memory);
    memory_free(plan);
}
