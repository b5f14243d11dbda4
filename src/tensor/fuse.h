/* Which nodes of a graph run in one kernel.
 *
 * Elementwise nodes and reductions over the same space of indices are grouped. A node has a
 * value for each index along some axes of the space: all of them, those that index the rows
 * (all but the reduced axes), or, for cheap work that is then broadcast, any. A matrix
 * product's group includes the elementwise nodes around its result. All other nodes form their
 * own groups.
 */
#ifndef RIDGE_TENSOR_FUSE_H
#define RIDGE_TENSOR_FUSE_H

#include "tensor/graph.h"

enum { GROUP_NONE = UINT32_MAX };

enum group_kind { GROUP_FUSED, GROUP_MATMUL, GROUP_ALONE };

struct group {
    enum group_kind kind;
    uint32_t epoch;
    uint32_t first;  /* of its nodes: the others follow by next_in_group */
    uint32_t count;  /* of nodes; 0 if it was merged into another group */
    bool writes;     /* in the place of assignments */
    uint32_t matmul; /* GROUP_MATMUL: the product's node */
    /* The space, without axes of size 1; and which of its axes are reduced. */
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    uint32_t reduced;
};

struct fusion {
    const struct graph *graph;
    const uint32_t *outputs;
    unsigned output_count;
    struct arena arena;
    struct group *groups;
    uint32_t group_count;
    uint32_t *group_of;      /* by node; GROUP_NONE when it is not computed by a kernel */
    uint32_t *next_in_group; /* by node, ascending; GROUP_NONE after the last */
    /* Live nodes that read node n, or its second result: readers[first_reader[n]] up to that of
     * n + 1. */
    uint32_t *first_reader, *readers;
    bool *is_output; /* by node */
    bool *live;      /* by node: something needs it */
    bool *stored;    /* by node: something outside its group needs it */
    uint32_t *axes;  /* by node: mask of the space's axes along which its values differ */
    const struct node_input **written_to; /* by node: the assignment's target, or NULL */
    uint32_t *order;                      /* groups in the order in which they run */
    uint32_t order_count;
};

/* The nodes of a group in ascending order. */
#define FOR_EACH_NODE(fusion, group, n)                                                            \
    for (uint32_t n = (group)->first; n != GROUP_NONE; n = (fusion)->next_in_group[n])

/* `outputs` are the nodes that must be there in the end; they and the graph outlive the fusion. */
bool fusion_make(struct fusion *fusion, const struct graph *graph, const uint32_t *outputs,
                 unsigned output_count, struct status *status);
void fusion_finish(struct fusion *fusion);

/* A part of fusion_make(): groups that write to the targets of assignments. */
void fusion_write_in_place(struct fusion *fusion);

/* The node whose kernel computes n: n itself, except for a second result. */
uint32_t fusion_owner(const struct graph *graph, uint32_t n);

/* Strides along the axes of the group's space of a view that has the sizes of the masked axes, with
 * any ones between. */
void group_strides(const struct group *group, uint32_t axes, const struct view *view,
                   int64_t *strides);
static inline uint32_t group_all_axes(const struct group *group) {
    return (1u << group->rank) - 1;
}

/* An operand of a group's kernel: node `node` from element `offset` on, with strides along the
 * axes of the space. */
struct group_operand {
    uint32_t node;
    bool stored;
    int64_t offset;
    int64_t strides[RIDGE_RANK_MAX];
};

/* The group's work as a program over its space. Its axes are the space's, in the space's order: the
 * program's rank, strides and shape are for the caller to set. */
struct group_program {
    struct program program;
    struct group_operand operands[PROGRAM_OPERANDS_MAX];
    double constants[PROGRAM_CONSTANTS_MAX];
};
/* False when it has too many operands, constants or instructions. */
bool group_program(const struct fusion *fusion, const struct group *group,
                   struct group_program *out);

#endif
