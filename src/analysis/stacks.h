/* Which function does a sampled stack stand for? Of a Python program one of Python's: the
 * interpreter below it is how it runs, and the libraries are what it calls. Of any other the
 * innermost that has a name.
 */
#ifndef RIDGE_ANALYSIS_STACKS_H
#define RIDGE_ANALYSIS_STACKS_H

#include "trace/reader.h"

enum stack_view {
    STACK_INNERMOST, /* of Python's functions: whose code runs */
    STACK_PURPOSE    /* a loader, whatever it calls, if there is one: what it is done for */
};

/* By row of trace->stack: the row of that function, itself or a caller. memory_free() it. */
uint32_t *stacks_stand_for(const struct trace *trace, enum stack_view view, struct status *status);

#endif
