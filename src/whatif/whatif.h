/* How long would the run take if something were different?
 *
 * A replay is the trace as a dependency graph: each thread's calls in program order with host time
 * between them, launches, queues, events, synchronizations and copies. Evaluated unchanged it
 * reproduces the measured times; evaluated with changes it predicts new ones.
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

/* X(ID, option): the option as the user types it. */
#define CHANGES(X)                                                                                 \
    X(GRAPH, "graph")                                                                              \
    X(FUSE, "fuse")                                                                                \
    X(NO_SYNC, "no-sync")                                                                          \
    X(PINNED, "pinned")                                                                            \
    X(BATCH_COPIES, "batch-copies")                                                                \
    X(OVERLAP_COPIES, "overlap-copies")                                                            \
    X(NO_ALLOC, "no-alloc")                                                                        \
    X(NO_COMPILE, "no-compile")                                                                    \
    X(FASTER, "faster")                                                                            \
    X(AT_ROOF, "at-roof")                                                                          \
    X(QUEUES, "queues")                                                                            \
    X(PREFETCH, "prefetch")                                                                        \
    X(NO_HOST, "no-host")                                                                          \
    X(FULL_CLOCK, "full-clock")                                                                    \
    X(BATCH, "batch")

#define CHANGE_ENUM(ID, option) CHANGE_##ID,
enum change_kind { CHANGES(CHANGE_ENUM) CHANGE_COUNT };
const char *change_option(unsigned kind);

struct change {
    enum change_kind kind;
    struct text pattern; /* names it applies to, with * and ?; empty: all */
    double factor;       /* FASTER: 2 = 2x faster; BATCH: items per step, relative */
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
    /* The part that is timed, by device id. NULL or an empty selection: the device's whole time.
     * The whole trace is replayed; times and accounts are of this part. A device with an empty
     * selection is ignored if another device has a non-empty one. */
    const struct selection *selections;
    /* Whether that part is less than the run: times are then lengths of the part, else the wall
     * time of the run. */
    bool narrowed;
    /* If the model is a sample of a longer run: the measured time that it stands for, and which
     * part it is. Predictions are scaled to that time. */
    int64_t stands_for;
    const char *sampled; /* "steps 4,000 to 4,400"; NULL: all that are timed */
    /* What is released with the replay, or NULL. */
    void *owned;
    void (*release)(void *owned);
};

/* On failure `owned` is released too. */
struct replay *replay_create(const struct replay_source *source, struct status *status);
void replay_destroy(struct replay *replay);

/* One device of an outcome; exact sums as in struct account. */
struct outcome_device {
    uint32_t device;
    int64_t window, busy, exposed_communication, exposed_copy, idle; /* of the new run */
    int64_t cause[CAUSE_COUNT];                                      /* of the idle time */
};

enum { OUTCOME_TEXT = 1000 };
struct outcome {
    int64_t before;             /* measured time of the part */
    int64_t unchanged;          /* replayed without changes; the difference is in `error` */
    int64_t after;              /* replayed with the changes */
    int64_t error;              /* error bound of `after` */
    bool applicable;            /* there is something to change */
    uint64_t touched;           /* calls and activities changed or removed */
    char what[OUTCOME_TEXT];    /* "1,200 launches become 20 graphs" */
    char assumes[OUTCOME_TEXT]; /* conditions of the prediction: "shapes do not change" */
    char why_not[OUTCOME_TEXT]; /* when it is not applicable, or what is unknown */
    struct outcome_device *devices;
    size_t device_count;
    enum gap_cause next_cause; /* the largest cause of the remaining idle time */
    struct text next_kernel;   /* the kernel with most of the part's new time */
    double next_kernel_share;  /* of the time of all kernels there */
    bool device_bound;         /* at most a tenth of the time is idle */
    bool copy_bound;           /* exposed copies take more than kernels and than idle time */
    enum copy_direction next_direction; /* of the copies with most time */
    double next_rate;                   /* theirs, in bytes per second; 0: unknown */
};

/* Replays the run with all changes combined; with none, unchanged. Thread-safe. */
bool replay_run(const struct replay *replay, const struct change *changes, size_t count,
                struct outcome *outcome, struct status *status);
/* The same without devices and without what is next: only the time. */
bool replay_predict(const struct replay *replay, const struct change *changes, size_t count,
                    struct outcome *outcome, struct status *status);
void outcome_finish(struct outcome *outcome);

/* Every change on its own, for --all: applicable ones first, largest gain first. FASTER is run for
 * the kernel with most time and for the host, 2x each. */
struct ranked_change {
    struct change change;
    struct outcome outcome;
};
bool replay_rank(const struct replay *replay, struct ranked_change **ranked, size_t *count,
                 struct status *status);
void replay_rank_finish(struct ranked_change *ranked, size_t count);

#endif
