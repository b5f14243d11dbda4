/* How long would the run take if something were different?
 *
 * A replay is the trace as a graph of what waited for what: each thread's calls in program order
 * with its own host_time time between them, launches, queues, events, synchronisations, copies. Run
 * as it is, it gives back the measured times; run with changes, it tells the new ones.
 */
#ifndef RIDGE_WHATIF_WHATIF_H
#define RIDGE_WHATIF_WHATIF_H

#include "analysis/account.h"
#include "analysis/gaps.h"
#include "analysis/host.h"
#include "analysis/limits.h"
#include "analysis/pauses.h"
#include "analysis/steps.h"
#include "analysis/work.h"

/* X(ID, option, words): the option as the user types it. */
#define CHANGES(X)                                                                                 \
    X(GRAPH, "graph", "launch each step's kernels as one CUDA graph")                              \
    X(FUSE, "fuse", "fuse chains of element-wise kernels")                                         \
    X(NO_SYNC, "no-sync", "do not wait for the device inside the loop")                            \
    X(PINNED, "pinned", "copy from and to pinned memory")                                          \
    X(BATCH_COPIES, "batch-copies", "join small copies that follow each other")                    \
    X(OVERLAP_COPIES, "overlap-copies", "copy in a queue of its own, a step ahead")                \
    X(NO_ALLOC, "no-alloc", "allocate before the loop, or from a pool")                            \
    X(NO_COMPILE, "no-compile", "compile and load modules before the loop")                        \
    X(FASTER, "faster", "make a kernel, or the host, faster")                                      \
    X(AT_ROOF, "at-roof", "run kernels at their roof")                                             \
    X(QUEUES, "queues", "run independent kernels in queues of their own")                          \
    X(PREFETCH, "prefetch", "prepare the input in another thread or process")                      \
    X(NO_HOST, "no-host", "take host code of this name out of the loop")                           \
    X(FULL_CLOCK, "full-clock", "run at the device's full clock")                                  \
    X(BATCH, "batch", "handle several times as much in a step")

#define CHANGE_ENUM(ID, option, words) CHANGE_##ID,
enum change_kind { CHANGES(CHANGE_ENUM) CHANGE_COUNT };
const char *change_option(unsigned kind);
const char *change_words(unsigned kind);

struct change {
    enum change_kind kind;
    struct text pattern; /* names it is about, with * and ?; empty: all it applies to */
    double factor;       /* FASTER: 2 = twice as fast; BATCH: how many times as much */
    uint32_t device;     /* 0: all */
};

struct replay;

/* What the replay reads; all of it must outlive the replay. */
struct replay_source {
    const struct model *model;
    const struct host *host;
    const struct steps *steps;
    const struct pauses *pauses;
    const struct limits *limits; /* by device id */
    const struct work *work;
    /* The part that is measured: by device id, NULL or nothing selected: the device's whole time.
     * All of the trace is replayed; times and accounts are of this part. A device with nothing
     * selected beside one with something is not asked about. */
    const struct selection *selections;
    /* Whether that part is less than the run: then times are lengths of the part, else the run's
     * wall time. */
    bool narrowed;
};

struct replay *replay_create(const struct replay_source *source, struct status *status);
void replay_destroy(struct replay *replay);

/* A device's part of an outcome; exact sums as in struct account. */
struct outcome_device {
    uint32_t device;
    int64_t window, busy, exposed_copy, idle; /* of the new run */
    int64_t cause[CAUSE_COUNT];               /* of the idle time, as far as it can be told */
};

enum { OUTCOME_TEXT = 1000 };
struct outcome {
    int64_t before;             /* the measured time of the part */
    int64_t unchanged;          /* the replay's without a change; what it is off by is in `error` */
    int64_t after;              /* the replay's with the changes */
    int64_t error;              /* how far `after` may be off, as far as is known */
    bool applicable;            /* there is something to change */
    uint64_t touched;           /* calls and activities that were changed or went away */
    char what[OUTCOME_TEXT];    /* "1,200 launches become 20 graphs" */
    char assumes[OUTCOME_TEXT]; /* what must hold for the prediction: "shapes do not change" */
    char why_not[OUTCOME_TEXT]; /* when it is not applicable, or what is not known for it */
    struct outcome_device *devices;
    size_t device_count;
    enum gap_cause next_cause; /* the largest part of the idle time left */
    struct text next_kernel;   /* the kernel with most of the part's new time */
    double next_kernel_share;  /* of what all kernels take there */
    bool device_bound;         /* what remains is the device's own work */
    bool copy_bound;           /* copies with no kernel beside them take more than all else */
    enum copy_direction next_direction; /* of the copies that take most */
    double next_rate;                   /* theirs, in bytes a second; 0: not known */
};

/* The run with all the changes made together; none: as it was. Safe to call from several threads
 * at once. */
bool replay_run(const struct replay *replay, const struct change *changes, size_t count,
                struct outcome *outcome, struct status *status);
/* The same for who asks only how long it takes: no devices, and nothing of what is next. */
bool replay_predict(const struct replay *replay, const struct change *changes, size_t count,
                    struct outcome *outcome, struct status *status);
void outcome_finish(struct outcome *outcome);

/* Every change by itself, those that apply first, most gain first: for --all. FASTER stands for the
 * kernel with most time and for the host, twice as fast each. */
struct ranked_change {
    struct change change;
    struct outcome outcome;
};
bool replay_rank(const struct replay *replay, struct ranked_change **ranked, size_t *count,
                 struct status *status);
void replay_rank_finish(struct ranked_change *ranked, size_t count);

#endif
