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
    unsigned flops = 0;
    FOR_EACH_NODE(fusion, &fusion->groups[producer], n) {
        flops += op_info(fusion->graph->nodes[n].op)->flops;
        if (fusion->is_output[n])
            return false;
        for (uint32_t i = fusion->first_reader[n]; i < fusion->first_reader[n + 1]; i++) {
            uint32_t group = fusion->group_of[fusion->readers[i]];
            if (group != producer && group != consumer)
                return false;
        }
    }
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
    FOR_EACH_NODE(fusion, to, n) {
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

/* What merging needs beside the groups. */
struct merging {
    uint32_t *stack;        /* of groups */
    uint32_t *seen, search; /* by group: the last search that found it */
};

enum { SEARCH_MAX = 4096 };

/* Whether a third group needs the producer and is needed by the consumer: merging the two would
 * make it wait for itself. Nodes after `last`, which no group has taken yet, are not needed by the
 * consumer. A search that takes long is given up, and the groups stay apart. */
static bool runs_between(const struct fusion *fusion, uint32_t producer, uint32_t consumer,
                         uint32_t last, struct merging *merging) {
    unsigned depth = 0, found = 0;
    merging->search++;
    merging->stack[depth++] = producer;
    while (depth > 0) {
        uint32_t from = merging->stack[--depth];
        FOR_EACH_NODE(fusion, &fusion->groups[from], n) {
            for (uint32_t i = fusion->first_reader[n]; i < fusion->first_reader[n + 1]; i++) {
                uint32_t reader = fusion->readers[i], group = fusion->group_of[reader];
                if (group == consumer && from != producer)
                    return true;
                if (reader > last || group == producer || group == consumer ||
                    merging->seen[group] == merging->search)
                    continue;
                if (++found > SEARCH_MAX)
                    return true;
                merging->seen[group] = merging->search;
                merging->stack[depth++] = group;
            }
        }
    }
    return false;
}

static bool is_stored(const struct fusion *fusion, uint32_t n) {
    if (fusion->is_output[n])
        return true;
    for (uint32_t i = fusion->first_reader[n]; i < fusion->first_reader[n + 1]; i++)
        if (fusion->group_of[fusion->readers[i]] != fusion->group_of[n])
            return true;
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

static void find_stored_in(struct fusion *fusion, const struct group *group) {
    FOR_EACH_NODE(fusion, group, n)
    fusion->stored[n] = is_stored(fusion, n);
}

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

/* The nodes of a group and their axes, to undo a merge. */
struct members {
    struct group group;
    uint32_t nodes[PROGRAM_INSTRUCTIONS_MAX], axes[PROGRAM_INSTRUCTIONS_MAX];
};

static void keep_members(const struct fusion *fusion, uint32_t group, struct members *members) {
    unsigned count = 0;
    members->group = fusion->groups[group];
    FOR_EACH_NODE(fusion, &members->group, n) {
        members->nodes[count] = n;
        members->axes[count++] = fusion->axes[n];
    }
}

static void restore_members(struct fusion *fusion, uint32_t group, const struct members *members) {
    fusion->groups[group] = members->group;
    for (unsigned i = 0; i < members->group.count; i++) {
        uint32_t n = members->nodes[i];
        fusion->group_of[n] = group;
        fusion->axes[n] = members->axes[i];
        fusion->next_in_group[n] =
            i + 1 < members->group.count ? members->nodes[i + 1] : (uint32_t)GROUP_NONE;
    }
}

/* Links the nodes of both, in ascending order. Returns the first. */
static uint32_t link_members(struct fusion *fusion, const struct members *a,
                             const struct members *b) {
    uint32_t first = GROUP_NONE, *link = &first;
    for (unsigned i = 0, j = 0; i < a->group.count || j < b->group.count;) {
        bool take_a = j == b->group.count || (i < a->group.count && a->nodes[i] < b->nodes[j]);
        *link = take_a ? a->nodes[i++] : b->nodes[j++];
        link = &fusion->next_in_group[*link];
    }
    *link = GROUP_NONE;
    return first;
}

static void merge(struct fusion *fusion, uint32_t consumer, const struct members *from,
                  const struct members *to, const struct union_space *space) {
    const struct group *producer = &from->group;
    struct group merged = *space->space;
    merged.kind = producer->kind == GROUP_MATMUL ? producer->kind : to->group.kind;
    merged.matmul = producer->kind == GROUP_MATMUL ? producer->matmul : to->group.matmul;
    merged.reduced = space->reduced;
    merged.epoch = to->group.epoch;
    merged.count = producer->count + to->group.count;
    merged.first = link_members(fusion, from, to);
    fusion->groups[fusion->group_of[producer->first]].count = 0;
    for (unsigned i = 0; i < producer->count; i++) {
        fusion->group_of[from->nodes[i]] = consumer;
        fusion->axes[from->nodes[i]] = spread(from->axes[i], space->producer_axes);
    }
    for (unsigned i = 0; i < to->group.count; i++)
        fusion->axes[to->nodes[i]] = spread(to->axes[i], space->consumer_axes);
    fusion->groups[consumer] = merged;
    find_stored_in(fusion, &merged);
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
    if (from->epoch != to->epoch || from->count + to->count > PROGRAM_INSTRUCTIONS_MAX ||
        (!unify(from, to, &space) &&
         !unify_broadcast(fusion, producer, consumer, reader, input, &space)) ||
        !kinds_merge(from, to, &space) || !edges_fit(fusion, producer, consumer, &space) ||
        runs_between(fusion, producer, consumer, reader, merging))
        return;
    struct members from_before, to_before;
    struct group_program program;
    keep_members(fusion, producer, &from_before);
    keep_members(fusion, consumer, &to_before);
    merge(fusion, consumer, &from_before, &to_before, &space);
    if (group_program(fusion, to, &program))
        return;
    restore_members(fusion, producer, &from_before);
    restore_members(fusion, consumer, &to_before);
    find_stored_in(fusion, from);
    find_stored_in(fusion, to);
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
        fusion->live[fusion->outputs[i]] = fusion->is_output[fusion->outputs[i]] = true;
    for (uint32_t n = (uint32_t)graph->count; n-- > 0;) {
        const struct node *node = &graph->nodes[n];
        if (node->kind == NODE_ASSIGN)
            fusion->live[n] = true;
        for (uint32_t i = 0; fusion->live[n] && i < node->input_count; i++)
            fusion->live[node->inputs[i].node] = true;
    }
}

/* By counting: first how many readers each node has, then where they begin. */
static void find_readers(struct fusion *fusion) {
    const struct graph *graph = fusion->graph;
    uint32_t *start = fusion->first_reader;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t n = (uint32_t)graph->count; n-- > 0;) {
            const struct node *node = &graph->nodes[n];
            for (uint32_t i = 0; fusion->live[n] && is_computed(node) && i < node->input_count;
                 i++) {
                uint32_t from = fusion_owner(graph, node->inputs[i].node);
                if (fill)
                    fusion->readers[--start[from]] = n;
                else
                    start[from]++;
            }
        }
        for (uint32_t n = 0; !fill && n < graph->count; n++)
            start[n + 1] += start[n];
    }
}

static void make_groups(struct fusion *fusion) {
    for (uint32_t n = 0; n < fusion->graph->count; n++) {
        const struct node *node = &fusion->graph->nodes[n];
        fusion->group_of[n] = fusion->next_in_group[n] = GROUP_NONE;
        if (!fusion->live[n] || !is_computed(node))
            continue;
        struct group *group = &fusion->groups[fusion->group_count];
        *group = (struct group){.epoch = node->epoch, .first = n, .count = 1};
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
    FOR_EACH_NODE(fusion, &fusion->groups[group], n) {
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++) {
            uint32_t from = fusion->group_of[fusion_owner(graph, graph->nodes[n].inputs[i].node)];
            if (from != GROUP_NONE && from != group && !done[from])
                return false;
        }
    }
    return true;
}

/* The groups that run, by epoch: those of epoch e from start[e] up to start[e + 1]. */
static void sort_by_epoch(const struct fusion *fusion, uint32_t *start, uint32_t *groups) {
    uint32_t epochs = fusion->graph->epoch + 1;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t g = fusion->group_count; g-- > 0;)
            if (fusion->groups[g].count > 0 && fill)
                groups[--start[fusion->groups[g].epoch]] = g;
            else if (fusion->groups[g].count > 0)
                start[fusion->groups[g].epoch]++;
        for (uint32_t e = 0; !fill && e < epochs; e++)
            start[e + 1] += start[e];
    }
}

/* Appends the groups of an epoch that are ready, assignments if nothing else is; returns whether
 * there was any, and removes them from the list. */
static bool append_ready(struct fusion *fusion, uint32_t *groups, uint32_t *count, bool *done) {
    for (int assigns = 0; assigns < 2; assigns++) {
        uint32_t left = 0, before = *count;
        for (uint32_t i = 0; i < before; i++) {
            const struct group *group = &fusion->groups[groups[i]];
            bool is_assign =
                group->writes || fusion->graph->nodes[group->first].kind == NODE_ASSIGN;
            if (is_assign == assigns && is_ready(fusion, groups[i], done)) {
                fusion->order[fusion->order_count++] = groups[i];
                done[groups[i]] = true;
            } else {
                groups[left++] = groups[i];
            }
        }
        *count = left;
        if (left < before)
            return true;
    }
    return false;
}

/* Everything before an assignment, the assignment, everything after it. */
static bool find_order(struct fusion *fusion, struct status *status) {
    uint32_t epochs = fusion->graph->epoch + 1;
    size_t groups_bytes = (fusion->group_count + 1) * sizeof(uint32_t);
    uint32_t *start = arena_allocate(&fusion->arena, (epochs + 1) * sizeof *start, status);
    uint32_t *groups = arena_allocate(&fusion->arena, groups_bytes, status);
    bool *done = arena_allocate(&fusion->arena, fusion->group_count + 1, status);
    if (!start || !groups || !done)
        return false;
    memset(start, 0, (epochs + 1) * sizeof *start);
    memset(done, 0, fusion->group_count + 1);
    sort_by_epoch(fusion, start, groups);
    for (uint32_t epoch = 0; epoch < epochs; epoch++) {
        uint32_t count = start[epoch + 1] - start[epoch];
        while (append_ready(fusion, groups + start[epoch], &count, done))
            ;
    }
    return true;
}

bool fusion_make(struct fusion *fusion, const struct graph *graph, const uint32_t *outputs,
                 unsigned output_count, struct status *status) {
    *fusion = (struct fusion){.graph = graph, .outputs = outputs, .output_count = output_count};
    struct arena *arena = &fusion->arena;
    size_t nodes = graph->count + 2, edges = 1;
    struct merging merging = {0};
    for (size_t n = 0; n < graph->count; n++)
        edges += graph->nodes[n].input_count;
    struct {
        void **array;
        size_t size;
    } arrays[] = {
        {(void **)&fusion->next_in_group, sizeof *fusion->next_in_group},
        {(void **)&fusion->first_reader, sizeof *fusion->first_reader},
        {(void **)&fusion->is_output, sizeof *fusion->is_output},
        {(void **)&fusion->groups, sizeof *fusion->groups},
        {(void **)&fusion->group_of, sizeof *fusion->group_of},
        {(void **)&fusion->order, sizeof *fusion->order},
        {(void **)&fusion->live, sizeof *fusion->live},
        {(void **)&fusion->stored, sizeof *fusion->stored},
        {(void **)&fusion->axes, sizeof *fusion->axes},
        {(void **)&fusion->written_to, sizeof *fusion->written_to},
        {(void **)&merging.stack, sizeof *merging.stack},
        {(void **)&merging.seen, sizeof *merging.seen},
    };
    for (size_t i = 0; i < ARRAY_COUNT(arrays); i++) {
        *arrays[i].array = arena_allocate(arena, nodes * arrays[i].size, status);
        if (!*arrays[i].array) {
            fusion_finish(fusion);
            return false;
        }
        memset(*arrays[i].array, 0, nodes * arrays[i].size);
    }
    fusion->readers = arena_allocate(arena, edges * sizeof *fusion->readers, status);
    if (fusion->readers) {
        find_live(fusion);
        find_readers(fusion);
        make_groups(fusion);
        find_stored(fusion);
        merge_all(fusion, &merging);
        fusion_write_in_place(fusion);
    }
    bool made = fusion->readers && find_order(fusion, status);
    if (!made)
        fusion_finish(fusion);
    return made;
}

void fusion_finish(struct fusion *fusion) {
    arena_finish(&fusion->arena);
}
