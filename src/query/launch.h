/* Which call launched each activity: by correlation id, within a process, or within the whole
 * session where some queue of it does not tell its process. Where several calls share an id, the
 * last one in the file wins. */
#ifndef RIDGE_QUERY_LAUNCH_H
#define RIDGE_QUERY_LAUNCH_H

#include "trace/reader.h"

#define LAUNCH_NONE UINT32_MAX

/* By activity: row of its call, or LAUNCH_NONE. Loads the columns it needs. NULL on failure; free
 * with memory_free(). */
uint32_t *launch_find(struct trace *trace, struct status *status);

#endif
