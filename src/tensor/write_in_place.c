/* Assignments without a copy: a kernel writes its result where an assignment would copy it.
 *
 * An elementwise group all of whose results are only assigned runs in the place of the first of
 * its assignments, when everything else that reads the old values has run. Within the group an
 * element of a target is read before it is written, by the same thread. */
#include "tensor/fuse.h"

#include <string.h>

static bool is_leaf(const struct node *node) {
    return node->kind == NODE_INPUT || node->kind == NODE_CAPTURE;
}

static bool same_layout(const struct view *a, const struct view *b) {
    struct view x = *a, y = *b;
    if (x.offset != y.offset || view_count(&x) != view_count(&y))
        return false;
    /* Axes of size 1 do not matter. */
    for (unsigned axis = x.rank; axis-- > 0;)
        if (x.sizes[axis] == 1)
            view_drop_axis(&x, axis);
    for (unsigned axis = y.rank; axis-- > 0;)
        if (y.sizes[axis] == 1)
            view_drop_axis(&y, axis);
    return view_same_sizes(&x, &y) &&
           (x.rank == 0 || memcmp(x.strides, y.strides, x.rank * sizeof x.strides[0]) == 0);
}

/* The assignment that is the only reader of n outside its group; GROUP_NONE if there is none. */
static uint32_t only_assignment(const struct fusion *fusion, uint32_t n) {
    const struct graph *graph = fusion->graph;
    uint32_t found = GROUP_NONE;
    for (unsigned i = 0; i < fusion->output_count; i++)
        if (fusion->outputs[i] == n)
            return GROUP_NONE;
    for (uint32_t reader = n + 1; reader < graph->count; reader++) {
        const struct node *node = &graph->nodes[reader];
        if (!fusion->live[reader] || fusion->group_of[reader] == fusion->group_of[n])
            continue;
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i].node != n)
                continue;
            if (found != GROUP_NONE || node->kind != NODE_ASSIGN || node->op != OP_LOAD || i != 1)
                return GROUP_NONE;
            found = reader;
        }
    }
    return found;
}

/* Whether the result can be written to the assignment's target directly. */
static bool fits_target(const struct fusion *fusion, uint32_t n, uint32_t assignment) {
    const struct graph *graph = fusion->graph;
    const struct node *node = &graph->nodes[n], *assign = &graph->nodes[assignment];
    return node->dtype == assign->dtype && view_is_contiguous(&assign->inputs[0].view) &&
           assign->inputs[1].view.offset == 0 && view_is_contiguous(&assign->inputs[1].view) &&
           view_count(&assign->inputs[1].view) == view_count(&node->shape) &&
           view_count(&assign->inputs[0].view) == view_count(&node->shape);
}

/* Whether the group reads the target's storage at most where it writes, and before; and nobody
 * else reads it between the group's place and the assignment. */
static bool is_undisturbed(const struct fusion *fusion, uint32_t group, uint32_t n,
                           uint32_t assignment, uint32_t first_epoch) {
    const struct graph *graph = fusion->graph;
    const struct node_input *target = &graph->nodes[assignment].inputs[0];
    struct view written = graph->nodes[n].shape;
    written.offset = target->view.offset;
    for (uint32_t reader = 0; reader < graph->count; reader++) {
        const struct node *node = &graph->nodes[reader];
        if (!fusion->live[reader])
            continue;
        bool inside = fusion->group_of[reader] == group;
        for (uint32_t i = 0; i < node->input_count; i++) {
            const struct node_input *input = &node->inputs[i];
            const struct node *from = &graph->nodes[input->node];
            if (inside && is_leaf(from) && input->node != target->node &&
                (from->kind == NODE_INPUT || graph->nodes[target->node].kind == NODE_INPUT) &&
                !graph->apart)
                return false; /* they may be the same storage */
            if (input->node != target->node || reader == assignment)
                continue;
            if (inside ? reader > n || !same_layout(&input->view, &written)
                       : node->epoch > first_epoch && node->epoch <= graph->nodes[assignment].epoch)
                return false;
        }
    }
    return true;
}

/* Two results must not go to one target. */
static bool are_different(const struct fusion *fusion, const uint32_t *assignments,
                          unsigned count) {
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++)
            if (fusion->graph->nodes[assignments[i]].inputs[0].node ==
                fusion->graph->nodes[assignments[k]].inputs[0].node)
                return false;
    return true;
}

/* Whether another assignment changes what the group reads before the group runs. */
static bool reads_old_values(const struct fusion *fusion, uint32_t g, const uint32_t *own,
                             unsigned count) {
    const struct graph *graph = fusion->graph;
    for (uint32_t a = 0; a < graph->count; a++) {
        const struct node *assign = &graph->nodes[a];
        bool is_own = assign->kind != NODE_ASSIGN;
        for (unsigned i = 0; i < count && !is_own; i++)
            is_own = own[i] == a;
        if (is_own)
            continue;
        FOR_EACH_NODE(fusion, &fusion->groups[g], n)
        for (uint32_t i = 0; i < graph->nodes[n].input_count; i++)
            if (graph->nodes[n].inputs[i].node == assign->inputs[0].node &&
                assign->epoch >= graph->nodes[n].epoch)
                return true;
    }
    return false;
}

static void try_group(struct fusion *fusion, uint32_t g) {
    struct group *group = &fusion->groups[g];
    uint32_t results[PROGRAM_OPERANDS_MAX], assignments[PROGRAM_OPERANDS_MAX];
    uint32_t first_epoch = UINT32_MAX;
    unsigned count = 0;
    FOR_EACH_NODE(fusion, group, n) {
        if (!fusion->stored[n])
            continue;
        uint32_t assignment = only_assignment(fusion, n);
        if (assignment == GROUP_NONE || count == PROGRAM_OPERANDS_MAX ||
            !fits_target(fusion, n, assignment))
            return;
        uint32_t epoch = fusion->graph->nodes[assignment].epoch;
        first_epoch = epoch < first_epoch ? epoch : first_epoch;
        results[count] = n;
        assignments[count++] = assignment;
    }
    if (count == 0 || !are_different(fusion, assignments, count) ||
        reads_old_values(fusion, g, assignments, count))
        return;
    for (unsigned i = 0; i < count; i++)
        if (!is_undisturbed(fusion, g, results[i], assignments[i], first_epoch))
            return;
    for (unsigned i = 0; i < count; i++) {
        fusion->written_to[results[i]] = &fusion->graph->nodes[assignments[i]].inputs[0];
        fusion->groups[fusion->group_of[assignments[i]]].count = 0;
    }
    group->epoch = first_epoch;
    group->writes = true;
}

void fusion_write_in_place(struct fusion *fusion) {
    if (fusion->graph->epoch == 0)
        return;
    for (uint32_t g = 0; g < fusion->group_count; g++)
        if (fusion->groups[g].count > 0 && fusion->groups[g].kind == GROUP_FUSED &&
            !fusion->groups[g].reduced)
            try_group(fusion, g);
}
