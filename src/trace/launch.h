/* Which call launched each activity? */
#ifndef RIDGE_TRACE_LAUNCH_H
#define RIDGE_TRACE_LAUNCH_H

#include "trace/reader.h"

#define NO_ROW UINT32_MAX

/* By activity: the row of its launching call, or NO_ROW. Both have the same correlation id within a
 * process, or within the session if some queue of it has no process. If several calls share an id,
 * the last one in the file wins, so call this before trace_reorder(). Loads the columns it needs.
 * NULL on failure; free with memory_free(). */
uint32_t *launch_find(struct trace *trace, struct status *status);
/* The same for the call that captured the activity into a CUDA graph. NULL where graphs were not
 * recorded by node. */
bool launch_find_captures(struct trace *trace, uint32_t **captures, struct status *status);

#endif
