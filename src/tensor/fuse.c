/* Grouping by merging: each node starts alone, and a node's group takes in the groups of its
 * operands where the spaces agree, the views between them are the identity, and no other group
 * would have to run in between. */
#include "tensor/fuse.h"

#include <string.h>

static bool is_fusible(const struct node *node) {
    return node->kind == NODE_EXPRESSION || node->kind == NODE_REDUCE;
}

/* Inputs, captures and constants are there without a kernel; a second result comes with the first.
 */
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

/* The space's axes that number the rows. */
static unsigned row_sizes(const struct group *group, int64_t *sizes) {
    unsigned rank = 0;
    for (unsigned axis = 0; axis < group->rank; axis++)
        if (!(group->reduced & 1u << axis))
            sizes[rank++] = group->sizes[axis];
    return rank;
}

static bool same(unsigned rank, const int64_t *sizes, unsigned other_rank, const int64_t *other) {
    return rank == other_rank && (rank == 0 || memcmp(sizes, other, rank * sizeof *sizes) == 0);
}

void group_strides(const struct group *group, bool of_row, const struct view *view,
                   int64_t *strides) {
    unsigned axis = 0;
    for (unsigned position = 0; position < group->rank; position++) {
        strides[position] = 0;
        if (of_row && (group->reduced & 1u << position))
            continue;
        while (axis < view->rank && view->sizes[axis] == 1)
            axis++;
        if (axis < view->rank)
            strides[position] = view->strides[axis++];
    }
}

/* ---- Merging ---------------------------------------------------------------------------- */

/* What merging gives: the space, and whether the nodes of one side become values of rows. */
struct union_space {
    const struct group *space;
    uint32_t reduced;
    bool producer_of_row, consumer_of_row;
};

static bool unify(const struct group *producer, const struct group *consumer,
                  struct union_space *out) {
    int64_t rows[RIDGE_RANK_MAX];
    if (same(producer->rank, producer->sizes, consumer->rank, consumer->sizes)) {
        if (producer->reduced && consumer->reduced && producer->reduced != consumer->reduced)
            return false;
        *out = (struct union_space){producer, producer->reduced | consumer->reduced, false, false};
        return true;
    }
    if (producer->reduced && !consumer->reduced) {
        unsigned rank = row_sizes(producer, rows);
        *out = (struct union_space){producer, producer->reduced, false, true};
        return same(rank, rows, consumer->rank, consumer->sizes);
    }
    if (consumer->reduced && !producer->reduced) {
        unsigned rank = row_sizes(consumer, rows);
        *out = (struct union_space){consumer, consumer->reduced, true, false};
        return same(rank, rows, producer->rank, producer->sizes);
    }
    return false;
}

/* Whether the reader finds in this input just the element (or row) that it is at itself. */
static bool edge_fits(const struct group *space, const struct node *reader, bool reader_of_row,
                      const struct node_input *input, const struct node *producer,
                      bool producer_of_row) {
    if (input->view.offset != 0)
        return false;
    int64_t wanted[RIDGE_RANK_MAX], given[RIDGE_RANK_MAX];
    bool reads_rows = reader_of_row && reader->kind != NODE_REDUCE;
    if (reads_rows && !producer_of_row)
        return false;
    group_strides(space, reads_rows, &input->view, given);
    group_strides(space, producer_of_row, &producer->shape, wanted);
    for (unsigned axis = 0; axis < space->rank; axis++)
        if (given[axis] != wanted[axis] && !(reads_rows && (space->reduced & 1u << axis)))
            return false;
    return true;
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
        bool reader_of_row = fusion->of_row[n] || space->consumer_of_row;
        for (uint32_t i = 0; i < node->input_count; i++) {
            uint32_t p = node->inputs[i].node;
            if (fusion->group_of[p] == producer &&
                !edge_fits(&merged, node, reader_of_row, &node->inputs[i], &fusion->graph->nodes[p],
                           fusion->of_row[p] || space->producer_of_row))
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

/* Gives the nodes of group `from` to group `to`, or those marked when `marked` is given. */
static void move_nodes(struct fusion *fusion, uint32_t from, uint32_t to, const bool *marked,
                       bool *mark) {
    for (uint32_t n = 0; n < fusion->graph->count; n++) {
        if (fusion->group_of[n] != from || (marked && !marked[n]))
            continue;
        fusion->group_of[n] = to;
        if (mark)
            mark[n] = true;
    }
}

static void set_of_row(struct fusion *fusion, uint32_t group, bool of_row) {
    for (uint32_t n = 0; n < fusion->graph->count; n++)
        if (fusion->group_of[n] == group)
            fusion->of_row[n] = of_row;
}

struct merging {
    bool *reached; /* by group */
    bool *moved;   /* by node */
};

/* The side that becomes values of rows has no reductions, so none of its nodes was one before. */
static void try_merge(struct fusion *fusion, uint32_t producer, uint32_t consumer,
                      struct merging *merging) {
    struct group *from = &fusion->groups[producer], *to = &fusion->groups[consumer];
    struct union_space space;
    if (from->kind == GROUP_ALONE || to->kind != GROUP_FUSED || from->epoch != to->epoch ||
        !unify(from, to, &space) ||
        (from->kind == GROUP_MATMUL && (space.reduced || space.consumer_of_row)) ||
        !edges_fit(fusion, producer, consumer, &space) ||
        runs_between(fusion, producer, consumer, merging->reached))
        return;
    struct group before = *to, merged = *space.space;
    merged.kind = from->kind;
    merged.matmul = from->matmul;
    merged.reduced = space.reduced;
    merged.epoch = to->epoch;
    merged.first = from->first < to->first ? from->first : to->first;
    merged.last = from->last > to->last ? from->last : to->last;
    merged.count = from->count + to->count;
    if (space.producer_of_row)
        set_of_row(fusion, producer, true);
    if (space.consumer_of_row)
        set_of_row(fusion, consumer, true);
    memset(merging->moved, 0, fusion->graph->count * sizeof *merging->moved);
    move_nodes(fusion, producer, consumer, NULL, merging->moved);
    *to = merged;
    find_stored(fusion);
    struct group_program program;
    if (group_program(fusion, to, &program)) {
        from->count = 0;
        return;
    }
    *to = before;
    move_nodes(fusion, consumer, producer, merging->moved, NULL);
    if (space.producer_of_row)
        set_of_row(fusion, producer, false);
    if (space.consumer_of_row)
        set_of_row(fusion, consumer, false);
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
                try_merge(fusion, producer, fusion->group_of[n], merging);
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
        fusion->of_row[n] = node->kind == NODE_REDUCE;
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
                    bool is_assign = fusion->graph->nodes[group->first].kind == NODE_ASSIGN;
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
        {(void **)&fusion->of_row, sizeof *fusion->of_row},
        {(void **)&merging.reached, sizeof *merging.reached},
        {(void **)&merging.moved, sizeof *merging.moved},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
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
    find_order(fusion, merging.reached);
    return true;
}

void fusion_finish(struct fusion *fusion) {
    arena_finish(&fusion->arena);
}
