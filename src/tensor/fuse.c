/* Groups nodes by merging: each node starts as its own group, and a node's group absorbs the
 * groups of its operands if the index spaces agree, the views between them are the identity, and
 * no other group would have to run in between. */
#include "tensor/fuse.h"

#include <string.h>

#include "base/array.h"

static bool is_fusible(const struct node *node) {
    return node->kind == NODE_EXPRESSION || node->kind == NODE_REDUCE;
}

/* Inputs, captures and constants need no kernel; a second result is computed with the first. */
static bool is_computed(const struct node *node) {
    return node->kind >= NODE_EXPRESSION && node->kind != NODE_RESULT;
}

uint32_t fusion_owner(const struct graph *graph, uint32_t n) {
    return graph->nodes[n].kind == NODE_RESULT ? graph->nodes[n].inputs[0].node : n;
}

/* ---- Spaces ----------------------------------------------------------------------------- */

static unsigned without_ones(const struct view *shape, int64_t *sizes) {
    unsigned rank = 0;
    for (unsigned axis = 0; axis < shape->rank; axis++)
        if (shape->sizes[axis] != 1)
            sizes[rank++] = shape->sizes[axis];
    return rank;
}

/* The sizes over which a node's work runs: those of a reduction are its operand's. */
static const struct view *work_shape(const struct node *node) {
    return node->kind == NODE_REDUCE ? &node->inputs[0].view : &node->shape;
}

static void set_space(struct group *group, const struct node *node) {
    const struct view *shape = work_shape(node);
    group->rank = without_ones(shape, group->sizes);
    unsigned position = 0;
    for (unsigned axis = 0; axis < shape->rank; axis++) {
        if (shape->sizes[axis] == 1)
            continue;
        if (node->kind == NODE_REDUCE && (node->parameters.axis_mask & 1u << axis))
            group->reduced |= 1u << position;
        position++;
    }
}

void group_strides(const struct group *group, uint32_t axes, const struct view *view,
                   int64_t *strides) {
    unsigned axis = 0;
    for (unsigned position = 0; position < group->rank; position++) {
        strides[position] = 0;
        if (!(axes & 1u << position))
            continue;
        while (axis < view->rank && view->sizes[axis] == 1)
            axis++;
        if (axis < view->rank)
            strides[position] = view->strides[axis++];
    }
}

/* The axes along which a node reads its operands. */
static uint32_t read_axes(const struct group *group, const struct node *node, uint32_t axes) {
    return node->kind == NODE_REDUCE ? group_all_axes(group) : axes;
}

/* ---- Merging ---------------------------------------------------------------------------- */

/* The result of a merge: the space of one side, and the axes of it that form the other side's
 * space. */
struct union_space {
    const struct group *space;
    uint32_t reduced;
    uint32_t producer_axes, consumer_axes;
};

static bool same(unsigned rank, const int64_t *sizes, unsigned other_rank, const int64_t *other) {
    return rank == other_rank && (rank == 0 || memcmp(sizes, other, rank * sizeof *sizes) == 0);
}

/* The sizes of the masked axes. */
static unsigned sizes_of(const struct group *group, uint32_t axes, int64_t *sizes) {
    unsigned rank = 0;
    for (unsigned axis = 0; axis < group->rank; axis++)
        if (axes & 1u << axis)
            sizes[rank++] = group->sizes[axis];
    return rank;
}

/* One side's space is the other's, or its rows. */
static bool unify(const struct group *producer, const struct group *consumer,
                  struct union_space *out) {
    uint32_t all = group_all_axes(producer), reduced = producer->reduced | consumer->reduced;
    int64_t rows[RIDGE_RANK_MAX];
    if (same(producer->rank, producer->sizes, consumer->rank, consumer->sizes)) {
        *out = (struct union_space){producer, reduced, all, all};
        return !producer->reduced || !consumer->reduced || producer->reduced == consumer->reduced;
    }
    if (producer->reduced && !consumer->reduced) {
        uint32_t axes = all & ~producer->reduced;
        *out = (struct union_space){producer, reduced, all, axes};
        return same(sizes_of(producer, axes, rows), rows, consumer->rank, consumer->sizes);
    }
    if (consumer->reduced && !producer->reduced) {
        uint32_t axes = group_all_axes(consumer) & ~consumer->reduced;
        *out = (struct union_space){consumer, reduced, axes, group_all_axes(consumer)};
        return same(sizes_of(consumer, axes, rows), rows, producer->rank, producer->sizes);
    }
    return false;
}

enum { CHEAP_FLOPS = 16 };

/* Whether it costs less to compute the producer again for each element than to store and load it:
 * little work, which nothing else needs. */
static bool is_cheap(const struct fusion *fusion, uint32_t producer, uint32_t consumer) {
    const struct graph *graph = fusion->graph;
    unsigned flops = 0;
    for (uint32_t n = 0; n < graph->count; n++) {
        const struct node *node = &graph->nodes[n];
        uint32_t group = fusion->group_of[n];
        if (group == producer)
            flops += op_info(node->op)->flops;
        for (uint32_t i = 0; i < node->input_count && fusion->live[n]; i++)
            if (fusion->group_of[node->inputs[i].node] == producer && group != producer &&
                group != consumer)
                return false;
    }
    for (unsigned i = 0; i < fusion->output_count; i++)
        if (fusion->group_of[fusion->outputs[i]] == producer)
            return false;
    return flops <= CHEAP_FLOPS;
}

/* The producer's space is that of some axes of the consumer's, along the others of which it is
 * repeated: those that the view walks. */
static bool unify_broadcast(const struct fusion *fusion, uint32_t producer, uint32_t consumer,
                            uint32_t reader, const struct node_input *input,
                            struct union_space *out) {
    const struct group *from = &fusion->groups[producer], *to = &fusion->groups[consumer];
    if (from->kind != GROUP_FUSED || from->reduced || !is_cheap(fusion, producer, consumer))
        return false;
    int64_t strides[RIDGE_RANK_MAX], sizes[RIDGE_RANK_MAX];
    uint32_t axes = 0;
    group_strides(to, read_axes(to, &fusion->graph->nodes[reader], fusion->axes[reader]),
                  &input->view, strides);
    for (unsigned axis = 0; axis < to->rank; axis++)
        if (strides[axis] != 0)
            axes |= 1u << axis;
    *out = (struct union_space){to, to->reduced, axes, group_all_axes(to)};
    return same(sizes_of(to, axes, sizes), sizes, from->rank, from->sizes);
}

/* The mask within a space that is itself the masked axes of a larger one. */
static uint32_t spread(uint32_t axes, uint32_t within) {
    uint32_t result = 0;
    unsigned position = 0;
    for (unsigned axis = 0; axis < RIDGE_RANK_MAX; axis++)
        if (within & 1u << axis) {
            if (axes & 1u << position)
                result |= 1u << axis;
            position++;
        }
    return result;
}

/* Whether the reader finds in this input just the element that it is at itself. */
static bool edge_fits(const struct group *space, const struct node *reader, uint32_t reader_axes,
                      const struct node_input *input, const struct node *producer,
                      uint32_t producer_axes) {
    int64_t wanted[RIDGE_RANK_MAX], given[RIDGE_RANK_MAX];
    uint32_t read = read_axes(space, reader, reader_axes);
    if (input->view.offset != 0 || reader->kind == NODE_MATMUL || (producer_axes & ~read))
        return false;
    group_strides(space, read, &input->view, given);
    group_strides(space, producer_axes, &producer->shape, wanted);
    return memcmp(given, wanted, space->rank * sizeof given[0]) == 0;
}

/* Whether every edge from the producer's nodes to the consumer's fits. */
static bool edges_fit(const struct fusion *fusion, uint32_t producer, uint32_t consumer,
                      const struct union_space *space) {
    const struct group *to = &fusion->groups[consumer];
    struct group merged = *space->space;
    merged.reduced = space->reduced;
    for (uint32_t n = to->first; n <= to->last; n++) {
        if (fusion->group_of[n] != consumer)
            continue;
        const struct node *node = &fusion->graph->nodes[n];
        uint32_t axes = spread(fusion->axes[n], space->consumer_axes);
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t p = node->inputs[i].node;
            if (fusion->group_of[p] == producer &&
                !edge_fits(&merged, node, axes, &node->inputs[i], &fusion->graph->nodes[p],
                           spread(fusion->axes[p], space->producer_axes)))
                return false;
        }
    }
    return true;
}

/* Whether a third group needs the producer and is needed by the consumer: merging the two would
 * make it wait for itself. */
static bool runs_between(const struct fusion *fusion, uint32_t producer, uint32_t consumer,
                         bool *reached) {
    const struct graph *graph = fusion->graph;
    memset(reached, 0, fusion->group_count * sizeof *reached);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = fusion->groups[producer].first; n < graph->count; n++) {
            uint32_t group = fusion->group_of[n];
            if (group == GROUP_NONE || group == producer || (group != consumer && reached[group]))
                continue;
            const struct node *node = &graph->nodes[n];
            for (uint32_t i = 0; i < node->input_count; i++) {
                uint32_t from = fusion->group_of[fusion_owner(graph, node->inputs[i].node)];
                if (from == GROUP_NONE || from == consumer || from == group)
                    continue;
                if (group == consumer && from != producer && reached[from])
                    return true;
                if (group != consumer && (from == producer || reached[from]))
                    reached[group] = changed = true;
            }
        }
    }
    return false;
}

static void find_stored(struct fusion *fusion) {
    const struct graph *graph = fusion->graph;
    memset(fusion->stored, 0, graph->count * sizeof *fusion->stored);
    for (unsigned i = 0; i < fusion->output_count; i++)
        fusion->stored[fusion->outputs[i]] = true;
    for (uint32_t n = 0; n < graph->count; n++) {
        if (!fusion->live[n])
            continue;
        const struct node *node = &graph->nodes[n];
        for (uint32_t i = 0; i < node->input_count; i++)
            if (fusion->group_of[node->inputs[i].node] != fusion->group_of[n])
                fusion->stored[node->inputs[i].node] = true;
    }
}

/* State to undo a failed merge. */
struct merging {
    bool *reached; /* by group */
    uint32_t *group_of, *axes;
};

/* A product's group may merge with elementwise work, but not with a second product or a
 * reduction. */
static bool kinds_merge(const struct group *from, const struct group *to,
                        const struct union_space *space) {
    if (from->kind == GROUP_FUSED && to->kind == GROUP_FUSED)
        return true;
    const struct group *product = from->kind == GROUP_MATMUL ? from : to;
    return from->kind != GROUP_ALONE && to->kind != GROUP_ALONE && from->kind != to->kind &&
           !space->reduced &&
           same(space->space->rank, space->space->sizes, product->rank, product->sizes);
}

static void merge(struct fusion *fusion, uint32_t producer, uint32_t consumer,
                  const struct union_space *space) {
    struct group *from = &fusion->groups[producer], *to = &fusion->groups[consumer];
    struct group merged = *space->space;
    merged.kind = from->kind == GROUP_MATMUL ? from->kind : to->kind;
    merged.matmul = from->kind == GROUP_MATMUL ? from->matmul : to->matmul;
    merged.reduced = space->reduced;
    merged.epoch = to->epoch;
    merged.first = from->first < to->first ? from->first : to->first;
    merged.last = from->last > to->last ? from->last : to->last;
    merged.count = from->count + to->count;
    for (uint32_t n = merged.first; n <= merged.last; n++) {
        if (fusion->group_of[n] == producer) {
            fusion->group_of[n] = consumer;
            fusion->axes[n] = spread(fusion->axes[n], space->producer_axes);
        } else if (fusion->group_of[n] == consumer) {
            fusion->axes[n] = spread(fusion->axes[n], space->consumer_axes);
        }
    }
    *to = merged;
    from->count = 0;
    find_stored(fusion);
}

/* Merges the group of an operand with that of its reader, if that can be. */
static void try_merge(struct fusion *fusion, uint32_t reader, const struct node_input *input,
                      struct merging *merging) {
    uint32_t producer = fusion->group_of[input->node], consumer = fusion->group_of[reader];
    struct group *from = &fusion->groups[producer], *to = &fusion->groups[consumer];
    struct union_space space;
    /* What is computed again for a later kernel must not be stored by an earlier one. */
    if (fusion->graph->nodes[reader].parameters.again &&
        !fusion->graph->nodes[input->node].parameters.again)
        return;
    if (from->epoch != to->epoch ||
        (!unify(from, to, &space) &&
         !unify_broadcast(fusion, producer, consumer, reader, input, &space)) ||
        !kinds_merge(from, to, &space) || !edges_fit(fusion, producer, consumer, &space) ||
        runs_between(fusion, producer, consumer, merging->reached))
        return;
    struct group from_before = *from, to_before = *to;
    size_t count = fusion->graph->count;
    memcpy(merging->group_of, fusion->group_of, count * sizeof *merging->group_of);
    memcpy(merging->axes, fusion->axes, count * sizeof *merging->axes);
    merge(fusion, producer, consumer, &space);
    struct group_program program;
    if (group_program(fusion, to, &program))
        return;
    *from = from_before;
    *to = to_before;
    memcpy(fusion->group_of, merging->group_of, count * sizeof *merging->group_of);
    memcpy(fusion->axes, merging->axes, count * sizeof *merging->axes);
    find_stored(fusion);
}

static void merge_all(struct fusion *fusion, struct merging *merging) {
    const struct graph *graph = fusion->graph;
    for (uint32_t n = 0; n < graph->count; n++) {
        const struct node *node = &graph->nodes[n];
        if (!fusion->live[n] || !is_fusible(node))
            continue;
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t producer = fusion->group_of[node->inputs[i].node];
            if (producer != GROUP_NONE && producer != fusion->group_of[n])
                try_merge(fusion, n, &node->inputs[i], merging);
        }
    }
}

/* ---- Setting out, and the order -------------------------------------------------------------- */

static void find_live(struct fusion *fusion) {
    const struct graph *graph = fusion->graph;
    for (unsigned i = 0; i < fusion->output_count; i++)
        fusion->live[fusion->outputs[i]] = true;
    for (uint32_t n = (uint32_t)graph->count; n-- > 0;) {
        const struct node *node = &graph->nodes[n];
        if (node->kind == NODE_ASSIGN)
            fusion->live[n] = true;
        for (uint32_t i = 0; fusion->live[n] && i < node->input_count; i++)
            fusion->live[node->inputs[i].node] = true;
    }
}

static void make_groups(struct fusion *fusion) {
    for (uint32_t n = 0; n < fusion->graph->count; n++) {
        const struct node *node = &fusion->graph->nodes[n];
        fusion->group_of[n] = GROUP_NONE;
        if (!fusion->live[n] || !is_computed(node))
            continue;
        struct group *group = &fusion->groups[fusion->group_count];
        *group = (struct group){.epoch = node->epoch, .first = n, .last = n, .count = 1};
        group->kind = is_fusible(node)            ? GROUP_FUSED
                      : node->kind == NODE_MATMUL ? GROUP_MATMUL
                                                  : GROUP_ALONE;
        group->matmul = n;
        set_space(group, node);
        fusion->axes[n] = group_all_axes(group) & ~group->reduced;
        fusion->group_of[n] = fusion->group_count++;
    }
}

static bool is_ready(const struct fusion *fusion, uint32_t group, const bool *done) {
    const struct graph *graph = fusion->graph;
    for (uint32_t n = fusion->groups[group].first; n <= fusion->groups[group].last; n++) {
        if (fusion->group_of[n] != group)
            continue;
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            uint32_t from = fusion->group_of[fusion_owner(graph, graph->nodes[n].inputs[i].node)];
            if (from != GROUP_NONE && from != group && !done[from])
                return false;
        }
    }
    return true;
}

/* Everything before an assignment, the assignment, everything after it. */
static void find_order(struct fusion *fusion, bool *done) {
    memset(done, 0, fusion->group_count * sizeof *done);
    for (uint32_t epoch = 0; epoch <= fusion->graph->epoch; epoch++)
        for (bool changed = true; changed;) {
            changed = false;
            for (int assigns = 0; assigns < 2 && !changed; assigns++)
                for (uint32_t g = 0; g < fusion->group_count; g++) {
                    const struct group *group = &fusion->groups[g];
                    bool is_assign =
                        group->writes || fusion->graph->nodes[group->first].kind == NODE_ASSIGN;
                    if (done[g] || group->count == 0 || group->epoch != epoch ||
                        is_assign != assigns || !is_ready(fusion, g, done))
                        continue;
                    fusion->order[fusion->order_count++] = g;
                    done[g] = changed = true;
                }
        }
}

bool fusion_make(struct fusion *fusion, const struct graph *graph, const uint32_t *outputs,
                 unsigned output_count, struct status *status) {
    *fusion = (struct fusion){.graph = graph, .outputs = outputs, .output_count = output_count};
    struct arena *arena = &fusion->arena;
    size_t nodes = graph->count + 1;
    struct merging merging;
    struct {
        void **array;
        size_t size;
    } arrays[] = {
        {(void **)&fusion->groups, sizeof *fusion->groups},
        {(void **)&fusion->group_of, sizeof *fusion->group_of},
        {(void **)&fusion->order, sizeof *fusion->order},
        {(void **)&fusion->live, sizeof *fusion->live},
        {(void **)&fusion->stored, sizeof *fusion->stored},
        {(void **)&fusion->axes, sizeof *fusion->axes},
        {(void **)&fusion->written_to, sizeof *fusion->written_to},
        {(void **)&merging.reached, sizeof *merging.reached},
        {(void **)&merging.group_of, sizeof *merging.group_of},
        {(void **)&merging.axes, sizeof *merging.axes},
    };
    for (size_t i = 0; i < ARRAY_COUNT(arrays); i++) {
        *arrays[i].array = arena_allocate(arena, nodes * arrays[i].size, status);
        if (!*arrays[i].array) {
            fusion_finish(fusion);
            return false;
        }
        memset(*arrays[i].array, 0, nodes * arrays[i].size);
    }
    find_live(fusion);
    make_groups(fusion);
    merge_all(fusion, &merging);
    find_stored(fusion);
    fusion_write_in_place(fusion);
    find_order(fusion, merging.reached);
    return true;
}

void fusion_finish(struct fusion *fusion) {
    arena_finish(&fusion->arena);
}
