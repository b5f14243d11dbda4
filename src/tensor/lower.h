/* From groups of nodes to launches. */
#ifndef RIDGE_TENSOR_LOWER_H
#define RIDGE_TENSOR_LOWER_H

#include "tensor/plan.h"

struct lowering {
    struct plan *plan;
    const struct fusion *fusion;
    const struct place *places; /* by node: the place of its result */
    size_t scratch;             /* start of a group's temporary memory in the arena */
    size_t scratch_bytes;       /* maximum over the groups */
    struct status *status;
};

bool lower_group(struct lowering *lowering, const struct group *group);

/* Within src/tensor: the parts of lower_group(). */
bool lower_matmul(struct lowering *lowering, const struct group *group);
bool lower_kernel(struct lowering *lowering, uint32_t node);
/* The place of an operand, for a buffer of a launch. */
struct place lower_place(const struct lowering *lowering, uint32_t node, int64_t offset);
/* The launch of a program with operands at `places`; the program has `rank` axes, whose sizes
 * and strides the caller has set. */
bool lower_program(struct lowering *lowering, struct program *program, struct program_shape *shape,
                   const struct place *places, const char *detail);
void lower_constants(const struct group_program *group, struct program_shape *shape);
/* {"inputs": [...], "outputs": [...]} of a group's program, or of a node with its own kernel
 * (the group's program may then be empty), in the plan's memory; NULL if there is none. */
const char *lower_detail(struct lowering *lowering, const struct group *group,
                         const struct group_program *program, const struct node *kernel);
/* Elements that an operand touches, each once. */
uint64_t lower_touched(unsigned rank, const int64_t *sizes, const int64_t *strides);

#endif
