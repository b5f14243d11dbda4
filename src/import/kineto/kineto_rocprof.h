/* The JSON of rocprof 1 and 2 (ROCm before 6): the processes of the file are APIs, GPUs and copies.
 */
#ifndef RIDGE_IMPORT_KINETO_KINETO_ROCPROF_H
#define RIDGE_IMPORT_KINETO_KINETO_ROCPROF_H

#include "base/map.h"
#include "import/kineto/kineto_event.h"

struct kineto_rows;

struct rocprof {
    struct map lane_by_pid;
    bool used; /* the file has processes that only rocprof writes */
};

/* Notes the process if its name is one of rocprof's. */
bool rocprof_name(struct rocprof *rocprof, const struct event_id *process, struct text name,
                  struct status *status);
/* Adds an event without a category; *is_call: it is one of an API, and the caller adds it. False if
 * its process is none of rocprof's. */
bool rocprof_add(struct kineto_rows *rows, struct kineto_event *event, bool *is_call);
void rocprof_finish(struct rocprof *rocprof);

#endif
