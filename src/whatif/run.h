/* One walk through the graph with some of its columns changed.
 *
 * A column points to the replay's own until a change wants to write to it: run_copy_column() then
 * makes a copy. Changes edit columns; replay_evaluate() computes all times.
 */
#ifndef RIDGE_WHATIF_RUN_H
#define RIDGE_WHATIF_RUN_H

#include "whatif/graph.h"

struct run {
    const struct replay *replay;

    /* By call. */
    int64_t *host_time, *call_cost;
    uint8_t *call_removed; /* it waits for nothing any more; NULL: all do as they did */
    /* By activity. */
    int64_t *duration;
    int64_t *launch_lag, *queue_lag;
    uint32_t *launch, *previous;
    uint8_t *from_start;
    uint8_t *activity_removed;  /* NULL: none */
    uint32_t *extra_dependency; /* one more activity that must have ended; NULL: none */
    int64_t *extra_lag;
    /* By thread. */
    int64_t *tail;
    /* Input that a loader prepares: call c starts at the earliest loader_at[c] after the loader
     * began, which is when loader_call starts. */
    int64_t *loader_at;
    uint32_t loader_call;
    uint8_t
        *dependencies_removed; /* by activity: it waits for no other queue any more; NULL: none */

    /* The new times. */
    int64_t *call_start, *call_end, *start;
    uint8_t *bound; /* by activity: enum activity_bound */
    int64_t *thread_reached;

    uint64_t touched;
    double assumption_error; /* share of the gain that the changes' assumptions may be off by */
};

void run_begin(struct run *run, const struct replay *replay);
void run_finish(struct run *run);

/* Makes the column the run's own; count elements of `size` bytes, zeroed where it was NULL. */
bool run_copy_column(void **column, const void *base, size_t count, size_t size,
                     struct status *status);
#define RUN_WRITABLE(run, column, count, status)                                                   \
    run_copy_column((void **)&(run)->column, (run)->replay->column, count, sizeof *(run)->column,  \
                    status)
/* The same for a column that the replay does not have: zeroed when it is made. */
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
/* The run's length: all recordings, one after another. */
int64_t run_wall(const struct run *run);
/* How far typical lags on the way to the end may be off together. */
int64_t run_error_bound(const struct run *run);

/* Where a moment of the measured run is in this one; of a device. */
int64_t run_map_time(const struct run *run, uint32_t device, int64_t time, bool is_end);
/* Length of the measured part in this run. */
int64_t run_time(const struct run *run);
/* How much of [start, end) of the measured run is in the part that is asked about: of a device, and
 * of a thread the most of any device of its recording. */
int64_t inside_device_part(const struct replay *replay, uint32_t device, int64_t start,
                           int64_t end);
int64_t inside_thread_part(const struct replay *replay, uint32_t thread, int64_t start,
                           int64_t end);
/* Fills in the devices of the outcome and what is next. */
bool run_account(const struct run *run, struct outcome *outcome, struct status *status);

/* The outer call that a call comes after: of its thread, or the one it follows; NO_ROW: it is where
 * its thread begins. */
uint32_t run_call_before(const struct replay *replay, uint32_t call);

/* Edits. They count what they touch. */
bool run_edit_calls(struct run *run,
                    struct status *status); /* host_time, call_cost and call_removed */
bool run_edit_activities(struct run *run, struct status *status); /* duration, activity_removed */
/* The call costs nothing and waits for nothing; run_edit_calls() was called. */
void run_drop_call(struct run *run, uint32_t call, bool host_time_too);
/* The code that led to the call goes: the host time before it, but no more than an operation takes
 * here; what is beyond that is other work. */
void run_drop_host_time(struct run *run, uint32_t call);
/* The call, and the code that led to it. */
void run_drop_operation(struct run *run, uint32_t call);
/* Whether the pattern means the call, by its name or by that of the range around it. */
bool run_call_matches(const struct run *run, uint32_t call, struct text pattern);
/* Drops all calls of a class inside the loop that the pattern means; returns how many. */
uint64_t run_drop_class(struct run *run, unsigned class, struct text pattern);
/* Says in why_not that no call of the class is inside the loop; or none of the name that was asked
 * for, but others. */
bool explain_no_call(const struct run *run, struct outcome *outcome, unsigned class,
                     struct text pattern, const char *call, const char *none,
                     struct status *status);
/* The activity takes no time and nothing waits on its account. */
void run_drop_activity(struct run *run, uint32_t activity);

/* Which names host code is asked about by. */
enum host_time_filter { HOST_TIME_NAMED, HOST_TIME_INPUT, HOST_TIME_COMPILATION, HOST_TIME_ALL };
struct host_time {
    int64_t *before_call; /* by call: of the host time before it, time under such names */
    int64_t *tail;        /* by thread: likewise behind its last call */
    int64_t total;
};
/* Under ranges of such names; where no range has one, under sampled functions. */
bool host_time_find(const struct replay *replay, enum host_time_filter of, struct text pattern,
                    struct host_time *host_time, struct status *status);
void host_time_finish(struct host_time *host_time);
/* What of the time that is cut from the host time before a call is in the part that is asked about.
 */
int64_t host_time_in_part(const struct replay *replay, uint32_t call, int64_t cut);
/* Whether a range of the category tells what its thread does. */
bool range_names_host_code(unsigned category);
/* The name of the innermost range around a call's start; empty: none. */
struct text call_range(const struct replay *replay, uint32_t call);

/* Finds the loop's turn in the pauses before launches (the first one's does not count): each
 * launch whose place divided by `turn` leaves `phase` begins one. turn 0: they show none. */
bool loop_period_find(const int64_t *pauses, size_t count, size_t *period, size_t *phase,
                      struct status *status);

/* Bytes a second of large copies in that direction, 0 when not known: as measured or stated, else
 * the best of this trace. */
double copy_rate(const struct replay *replay, uint32_t device, unsigned direction, bool pinned,
                 bool *measured);
/* Takes a copy's call for one that does not block, and its copy for one of pinned memory. False
 * when the rate is not known. */
bool pin_copy(struct run *run, uint32_t activity);
/* The synchronisation that stands right behind a copy's call to wait for it goes. */
void drop_wait_for_copy(struct run *run, uint32_t activity);

/* A change made to the run: fills in outcome->what, assumes and why_not (what is known of one
 * change alone) and says whether there was anything to do. */
typedef bool change_maker(struct run *run, const struct change *change, struct outcome *outcome,
                          struct status *status);
/* FASTER of host code: no kernel has the name. */
change_maker host_faster;
/* Says in why_not which kernels there are when none has the name, else `none`. */
bool explain_no_kernel(const struct run *run, const char *what, struct text pattern,
                       const char *none, struct outcome *outcome, struct status *status);
change_maker change_graph, change_fuse, change_no_sync, change_pinned, change_batch_copies,
    change_overlap_copies, change_no_alloc, change_no_compile, change_faster, change_at_roof,
    change_queues, change_prefetch, change_no_host, change_full_clock, change_batch;

/* Appends behind "; " in a text of OUTCOME_TEXT bytes; what has no room ends at a word, with "…".
 */
void text_join(char *to, const char *words);

/* Says in why_not that no `what` is called as the pattern says, and what those that weigh most are
 * called. `weight` is by string, 0: no such. False when all are 0: there is none of any name. */
bool explain_no_match(struct outcome *outcome, const struct trace *trace, const char *what,
                      struct text pattern, const int64_t *weight);

/* "kernels", "synchronising calls": whether one of them has the name, by weights as above. */
bool name_is_present(const struct trace *trace, struct text pattern, const int64_t *weight);

#endif
