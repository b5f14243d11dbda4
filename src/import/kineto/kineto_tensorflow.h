/* Timelines of TensorFlow 1 (tensorflow.Timeline): one step of a session.
 *
 * A process of the file is a device or a stream of it, and says so in its name; a thread is a lane
 * of bars that do not overlap. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_TENSORFLOW_H
#define RIDGE_IMPORT_KINETO_KINETO_TENSORFLOW_H

#include "base/map.h"
#include "import/kineto/kineto_event.h"

struct kineto_rows;

struct tensorflow {
    struct tensorflow_lane *lanes;
    size_t lane_count, lane_capacity;
    struct map lane_by_pid;
    struct map numbered; /* devices that have numbered streams */

    /* Rows of streams: whether they count is known at the end. */
    struct tensorflow_work *work;
    size_t work_count, work_capacity;
    bool host_rows_of_gpu; /* some rows are the host's time for a GPU's operator */
    bool used;             /* the file has rows of a timeline */
};

/* Notes the process if its name is one of a timeline; sets *known. */
bool tensorflow_name(struct tensorflow *tensorflow, const struct event_id *process,
                     struct text name, bool *known, struct status *status);
/* Adds an event of the category "Op"; *known is false if its process is none of a timeline. */
bool tensorflow_add(struct kineto_rows *rows, const struct kineto_event *event, bool *known,
                    struct status *status);
/* Writes the rows of streams and the warnings after the last event. */
bool tensorflow_end(struct kineto_rows *rows, struct status *status);
void tensorflow_finish(struct tensorflow *tensorflow);

#endif
