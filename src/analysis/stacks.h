/* To which function is a sampled stack attributed? In a Python program to a Python function: the
 * interpreter below it runs it, and libraries are what it calls. Otherwise to the innermost
 * function with a name. */
#ifndef RIDGE_ANALYSIS_STACKS_H
#define RIDGE_ANALYSIS_STACKS_H

#include "trace/reader.h"

enum stack_view {
    STACK_INNERMOST, /* the innermost Python function: whose code runs */
    STACK_PURPOSE    /* a data loader on the stack, if any: what the code runs for */
};

/* By row of trace->stack: the row of that function, itself or a caller. Free with memory_free(). */
uint32_t *stacks_stand_for(const struct trace *trace, enum stack_view view, struct status *status);

#endif
