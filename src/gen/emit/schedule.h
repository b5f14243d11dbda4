/* How a fused program is laid out on a GPU. */
#ifndef RIDGE_GEN_EMIT_SCHEDULE_H
#define RIDGE_GEN_EMIT_SCHEDULE_H

#include "gen/kernel.h"

/* What the code depends on besides the program and its schedule: kernel_spec.choices. */
enum {
    CHOICE_ALIGNED, /* bit i: operand i's vectors are aligned to their size (at most 16 bytes) */
    CHOICE_EXACT,   /* the tile is the row: nothing to check */
    CHOICE_TAIL,    /* SCHEDULE_MAP: the elements are not whole vectors */
    CHOICE_ACROSS,  /* SCHEDULE_MAP: bit i: operand i has its neighbors along another axis, */
    CHOICE_ACROSS_AXIS, /* this one, which is read through shared memory */
};

enum { SQUARE_SIDE = 32 }; /* of the square that is transposed at a time */

/* Sets the schedule, choices, grid and block for a collapsed program. */
void schedule_choose(const struct program *program, const struct program_shape *shape,
                     const struct device_capabilities *device, struct kernel_request *request);

/* Threads that work on one row together. */
unsigned schedule_row_threads(const struct program_schedule *schedule);
/* Rows of a block. */
unsigned schedule_rows(const struct program_schedule *schedule);

#endif
