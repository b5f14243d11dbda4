/* Does the run repeat, and how regularly? Steps are, in order of preference: the iterations of a
 * loop that the user names; the profiler's own (ProfilerStep#N); annotations that repeat in the
 * same order over most of the run (data, forward, backward, data, ...); the iterations of the
 * program's loop (loops.h); or a periodic sequence of activities. Steps before the run settles are
 * warm-up. */
#ifndef RIDGE_ANALYSIS_STEPS_H
#define RIDGE_ANALYSIS_STEPS_H

#include "analysis/loops.h"
#include "analysis/model.h"

enum steps_source { STEPS_NONE, STEPS_PROFILER, STEPS_RANGES, STEPS_LOOP, STEPS_PERIODIC };
const char *steps_source_name(enum steps_source source);

struct step {
    int64_t start, end; /* host time for ranges and loops, device time for periods */
    uint32_t name;      /* string id; 0 for loops and periods */
};

struct steps {
    enum steps_source source;
    struct step *list; /* in order of time */
    size_t count;
    size_t warm_up;                   /* number of leading warm-up steps */
    bool partial_first, partial_last; /* the recording starts or ends within an iteration, which is
                                         not among the steps */
    bool settled;       /* false: durations never became regular; there is no warm-up */
    size_t period;      /* activities per step, for STEPS_PERIODIC */
    uint32_t device;    /* for STEPS_PERIODIC */
    uint32_t session;   /* the recording they were found in */
    struct loops loops; /* of the program, whatever the source of the steps */

    /* Durations of the steady steps. */
    int64_t min, median, max, total;
    double mean, variation;
};

/* `loop`: see loops_find(); or NULL. */
bool steps_find(const struct model *model, const char *loop, struct steps *steps,
                struct status *status);
void steps_finish(struct steps *steps);

/* The index of the step at a time, or SIZE_MAX. */
size_t steps_at(const struct steps *steps, int64_t time);
/* The index of the step that launched an activity, or SIZE_MAX. */
size_t steps_of_activity(const struct model *model, const struct steps *steps, size_t activity);

/* The window of steps first..last (indexes) on a device: from the start of the first activity
 * launched in `first` to the start of the first one launched after `last` (or the end of the last
 * one launched in it), so that windows of consecutive steps touch. False when the device was idle
 * in them. */
bool steps_window(const struct model *model, const struct steps *steps, uint32_t device,
                  size_t first, size_t last, struct window *window);

#endif
