/* From groups of nodes to launches. */
#ifndef RIDGE_TENSOR_LOWER_H
#define RIDGE_TENSOR_LOWER_H

#include "tensor/plan.h"

struct lowering {
    struct plan *plan;
    const struct fusion *fusion;
    const struct place *places; /* by node: where its result lies */
    size_t scratch;             /* where in the arena temporary memory of a group begins */
    size_t scratch_bytes;       /* the most that a group needed */
    struct status *status;
};

bool lower_group(struct lowering *lowering, const struct group *group);

/* Within src/tensor: the parts of lower_group(). */
bool lower_matmul(struct lowering *lowering, const struct group *group);
bool lower_kernel(struct lowering *lowering, uint32_t node);
/* Where an operand lies, for a buffer of a launch. */
struct place lower_place(const struct lowering *lowering, uint32_t node, int64_t offset);
/* The launch of a program whose operands lie at `places`; the program is over `rank` axes, of which
 * the caller has set sizes and strides. */
bool lower_program(struct lowering *lowering, struct program *program, struct program_shape *shape,
                   const struct place *places, const char *detail);
void lower_constants(const struct group_program *group, struct program_shape *shape);
/* {"inputs": [...], "outputs": [...]} of a group's program, or of a node with a kernel of its own
 * (then the group's program may be empty), in the plan's memory; NULL when there is none. */
const char *lower_detail(struct lowering *lowering, const struct group *group,
                         const struct group_program *program, const struct node *kernel);
/* Elements that an operand touches, each once. */
uint64_t lower_touched(unsigned rank, const int64_t *sizes, const int64_t *strides);

#endif
