/* One evaluation of the graph with some of its columns changed.
 *
 * A column points to the replay's own until a change needs to write to it; run_copy_column() then
 * makes a copy. Changes edit columns; replay_evaluate() computes all times.
 */
#ifndef RIDGE_WHATIF_RUN_H
#define RIDGE_WHATIF_RUN_H

#include "whatif/graph.h"

struct run {
    const struct replay *replay;

    /* By call. */
    int64_t *host_time, *call_cost;
    uint8_t *call_removed; /* it no longer waits for anything; NULL: none */
    /* By activity. */
    int64_t *duration;
    int64_t *launch_lag, *queue_lag;
    uint32_t *launch, *previous;
    uint8_t *from_start;
    uint8_t *activity_removed;  /* NULL: none */
    uint32_t *extra_dependency; /* one more activity that must end first; NULL: none */
    int64_t *extra_lag;
    uint8_t *dependencies_removed; /* it no longer waits for other queues; NULL: none */
    /* By thread. */
    int64_t *tail;
    /* Input prepared by a loader: call c starts at the earliest loader_at[c] after the loader
     * starts, which is when loader_call starts. */
    int64_t *loader_at;
    uint32_t loader_call;

    /* The new times. */
    int64_t *call_start, *call_end, *start;
    uint8_t *bound; /* by activity: enum activity_bound */
    int64_t *thread_last_end;

    uint64_t touched;
    double assumption_error; /* share of the gain that the changes' assumptions may be off by */
};

void run_begin(struct run *run, const struct replay *replay);
void run_finish(struct run *run);

/* Makes the column the run's own: `count` elements of `size` bytes, zeroed if `base` is NULL. */
bool run_copy_column(void **column, const void *base, size_t count, size_t size,
                     struct status *status);
#define RUN_WRITABLE(run, column, count, status)                                                   \
    run_copy_column((void **)&(run)->column, (run)->replay->column, count, sizeof *(run)->column,  \
                    status)
/* The same for a column that the replay does not have: zeroed when first made. */
#define RUN_MAKE_ONCE(run, column, count, status)                                                  \
    run_copy_column((void **)&(run)->column, NULL, count, sizeof *(run)->column, status)

/* Whether no column differs from the replay's own. */
bool run_is_unchanged(const struct run *run);

static inline bool run_call_removed(const struct run *run, size_t call) {
    return run->call_removed && run->call_removed[call];
}
static inline bool run_activity_removed(const struct run *run, size_t activity) {
    return run->activity_removed && run->activity_removed[activity];
}
static inline int64_t run_end(const struct run *run, size_t activity) {
    return run->start[activity] +
           (run_activity_removed(run, activity) ? 0 : run->duration[activity]);
}

/* Computes all new times. */
bool replay_evaluate(struct run *run, struct status *status);
/* The activity whose end a call waited for, or NO_ROW. */
uint32_t run_call_wait(const struct run *run, size_t call);
/* The length of the run: all recordings, one after another. */
int64_t run_wall(const struct run *run);
/* How far the typical lags on the critical path may be off together. */
int64_t run_error_bound(const struct run *run);

/* Maps a time of the measured run, on a device, to this run. */
int64_t run_map_time(const struct run *run, uint32_t device, int64_t time, bool is_end);
/* Length of the measured part in this run. */
int64_t run_time(const struct run *run);
/* How much of [start, end) of the measured run is in the timed part: of a device; of a thread, the
 * maximum over the devices of its recording. */
int64_t inside_device_part(const struct replay *replay, uint32_t device, int64_t start,
                           int64_t end);
int64_t inside_thread_part(const struct replay *replay, uint32_t thread, int64_t start,
                           int64_t end);
/* Fills in the devices of the outcome and what is next. */
bool run_account(const struct run *run, struct outcome *outcome, struct status *status);

/* The outer call before a call, in its thread or the one it follows; NO_ROW: the first of its
 * thread. */
uint32_t run_call_before(const struct replay *replay, uint32_t call);

/* Edits count the rows they touch. These two make columns writable: host_time, call_cost and
 * call_removed; duration and activity_removed. */
bool run_edit_calls(struct run *run, struct status *status);
bool run_edit_activities(struct run *run, struct status *status);
/* The call costs nothing and waits for nothing; run_edit_calls() was called. */
void run_drop_call(struct run *run, uint32_t call, bool host_time_too);
/* Removes the host time before the call, up to what an operation typically takes; more than that is
 * separate work. */
void run_drop_host_time(struct run *run, uint32_t call);
/* Drops the call and the host time before it. */
void run_drop_operation(struct run *run, uint32_t call);
/* Whether the pattern matches the call's name or the name of the range around it. */
bool run_call_matches(const struct run *run, uint32_t call, struct text pattern);
/* Drops all matching calls of a class in the loop; returns how many. */
uint64_t run_drop_class(struct run *run, unsigned class, struct text pattern);
/* Explains in why_not that the loop has no call of the class, or that none has the given name. */
bool explain_no_call(const struct run *run, struct outcome *outcome, unsigned class,
                     struct text pattern, const char *call, const char *none,
                     struct status *status);
/* The activity takes no time and nothing waits for it. */
void run_drop_activity(struct run *run, uint32_t activity);

/* Which host code is selected: by pattern, input preparation, compilation, or all. */
enum host_time_filter { HOST_TIME_NAMED, HOST_TIME_INPUT, HOST_TIME_COMPILATION, HOST_TIME_ALL };
struct host_time {
    int64_t *before_call; /* by call: the selected part of the host time before it */
    int64_t *tail;        /* by thread: likewise after its last call */
    int64_t total;
};
/* Finds time under matching ranges or, if no range matches, under sampled functions. */
bool host_time_find(const struct replay *replay, enum host_time_filter of, struct text pattern,
                    struct host_time *host_time, struct status *status);
void host_time_finish(struct host_time *host_time);
/* How much of the time cut before a call is in the timed part. */
int64_t host_time_in_part(const struct replay *replay, uint32_t call, int64_t cut);
/* The name of the innermost range around a call's start; empty: none. */
struct text call_range(const struct replay *replay, uint32_t call);

/* Finds the loop's period in the pauses before launches (the first pause is ignored). A launch
 * whose index modulo `period` is `phase` begins an iteration. period 0: none found. */
bool loop_period_find(const int64_t *pauses, size_t count, size_t *period, size_t *phase,
                      struct status *status);

/* Bytes per second of large copies in that direction: measured or stated, else the best of this
 * trace; 0: unknown. */
double copy_rate(const struct replay *replay, uint32_t device, unsigned direction, bool pinned,
                 bool *measured);
/* Makes the copy one from or to pinned memory and its call non-blocking. False when the rate is
 * unknown. */
bool pin_copy(struct run *run, uint32_t activity);
/* Drops the synchronization right after a copy's call that waits for the copy. */
void drop_wait_for_copy(struct run *run, uint32_t activity);

/* Applies a change to the run: fills in what, assumes and why_not of the outcome, and sets
 * applicable if there was anything to change. */
typedef bool change_maker(struct run *run, const struct change *change, struct outcome *outcome,
                          struct status *status);
/* FASTER for host code: no kernel has the name. */
change_maker host_faster;
/* Explains in why_not which kernels there are when none has the name, else `none`. */
bool explain_no_kernel(const struct run *run, const char *what, struct text pattern,
                       const char *none, struct outcome *outcome, struct status *status);
change_maker change_graph, change_fuse, change_no_sync, change_pinned, change_batch_copies,
    change_overlap_copies, change_no_alloc, change_no_compile, change_faster, change_at_roof,
    change_queues, change_prefetch, change_no_host, change_full_clock, change_batch;

/* Appends "; " and the words to a text of OUTCOME_TEXT bytes; what does not fit is cut after a
 * word, with "…". */
void text_join(char *to, const char *words);

/* Explains in why_not that no `what` matches the pattern, and names those with most weight.
 * `weight` is by string; 0: no such name. False when all weights are 0. */
bool explain_no_match(struct outcome *outcome, const struct trace *trace, const char *what,
                      struct text pattern, const int64_t *weight);

/* Whether any name with a weight matches the pattern. */
bool name_is_present(const struct trace *trace, struct text pattern, const int64_t *weight);

#endif
