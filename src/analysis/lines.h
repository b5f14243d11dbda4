/* Which lines of the program cause device work, idle time, waits and CPU time?
 *
 * A call or sample belongs to a line: the innermost frame of its stack that is the program's own
 * code and not an installed package or a library of the language. Where there is none, it is the
 * innermost frame. In a Python program it is a Python frame.
 */
#ifndef RIDGE_ANALYSIS_LINES_H
#define RIDGE_ANALYSIS_LINES_H

#include "analysis/host.h"
#include "analysis/model.h"

struct source_line {
    uint32_t frame;      /* row of trace->stack on that line */
    uint64_t calls;      /* outermost API calls */
    uint64_t activities; /* launched by them */
    int64_t device_time; /* summed durations of those */
    /* Of activities that other calls launch on behalf of the line: replayed by a CUDA graph into
     * which the line captured them, or of the backward pass of its operators. */
    int64_t captured_time, backward_time;
    int64_t idle;   /* of devices, ended by one of those */
    uint64_t waits; /* synchronizing calls */
    int64_t wait_time;
    int64_t call_time; /* of all calls */
    int64_t cpu_time;  /* that samples of this line stand for */
};

struct lines {
    struct source_line *list; /* most device and idle time first */
    size_t count;
    uint32_t *line_of;    /* by row of trace->stack: index + 1 in the list; 0: none */
    uint64_t calls;       /* outermost ones in the selection */
    uint64_t named_calls; /* with a line */
    int64_t device_time;  /* of all activities in the selection */
    int64_t named_time;   /* of those with a line */
    int64_t captured_time, backward_time; /* sums over the lines */
    int64_t idle;                         /* of all devices */
    int64_t cpu_time;                     /* that all samples stand for */
    int64_t named_cpu_time;
};

/* Whether a file belongs to the language or to an installed package. */
bool lines_is_library(struct text file);
/* By row of trace->stack: the row of the frame that names the line; 0: no frame has a line. Free
 * with memory_free(). */
uint32_t *lines_own_frames(const struct trace *trace, struct status *status);
/* The row of the frame that names the line of a call or of an activity; 0: unknown. */
uint32_t lines_of_call(const struct model *model, const uint32_t *own, size_t call);
uint32_t lines_of_activity(const struct model *model, const uint32_t *own, size_t activity);
/* Appends "train.py:88", or "?" for row 0. */
void lines_format(const struct trace *trace, uint32_t frame, struct buffer *text);

/* Of what starts in the selections: by device, and of the host; NULL: everything. */
bool lines_find(const struct model *model, const struct host *host,
                const struct selection *by_device, const struct selection *of_host,
                struct lines *lines, struct status *status);
void lines_finish(struct lines *lines);

#endif
