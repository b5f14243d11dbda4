/* Which loops of the program do device work, and when does each iteration begin?
 *
 * The recorder stores, with each frame, the loops of its function around the line. The calls of a
 * thread in order of time then show the iterations: within an iteration the instruction in the
 * loop's frame moves forward, and at the next iteration it jumps back. A jump that a loop further
 * inside explains is an iteration of that one.
 */
#ifndef RIDGE_ANALYSIS_LOOPS_H
#define RIDGE_ANALYSIS_LOOPS_H

#include "analysis/model.h"

struct program_loop {
    uint32_t frame;   /* a row of trace->stack inside it */
    uint32_t caller;  /* row of the caller's frame, or 0 */
    uint32_t line;    /* of its header */
    struct text text; /* of its header */
    uint32_t around;  /* index + 1 of the loop around it, here or in a caller; 0: none */
    uint32_t offset;  /* of its first instruction seen */
    uint64_t calls;   /* launches and copies inside it */
    size_t turns;     /* 0: not counted, see loops_turns() */
};

struct loop_turn {
    int64_t start,
        end;       /* host time: the first call, and the next iteration's or the first outside */
    size_t calls;  /* launches, copies and others */
    uint64_t hash; /* of their names, in any order */
};

struct loop_turns {
    struct loop_turn *list;
    size_t count, capacity;
    uint32_t thread;   /* of the calls */
    bool ends_outside; /* a call after the last iteration was recorded */
};

struct loops {
    struct program_loop *list; /* a loop after the one around it */
    size_t count;
    uint32_t *inner; /* by row of trace->stack: index + 1 of its innermost loop; 0: none */
    uint64_t calls;  /* launches and copies with a stack */
    uint32_t *names; /* by call: that of the kernel that it launched, else its own */
    uint32_t steps;  /* index + 1 of the loop whose iterations are the run's steps; 0: none */
};

/* `name`, "FILE:LINE" of a header, selects the loop of the steps; NULL: the outermost one that does
 * the device work, but not one over epochs. Counts the iterations of loops with a part of the work.
 */
bool loops_find(const struct model *model, const char *name, struct loops *loops,
                struct status *status);
void loops_finish(struct loops *loops);

/* The iterations of a loop in order of time. Free the list with memory_free(). */
bool loops_turns(const struct model *model, const struct loops *loops, uint32_t index,
                 struct loop_turns *turns, struct status *status);
/* The number of loops around it whose iterations were counted. */
unsigned loops_depth(const struct loops *loops, const struct program_loop *loop);
/* Appends "train.py:42 for batch in loader:". */
void loops_format(const struct model *model, const struct program_loop *loop, struct buffer *text);

#endif
