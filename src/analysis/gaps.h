/* Why was the device idle? Every gap (a maximal idle interval) is split among causes by what the
 * host did between the end of the previous activity and the start of the next, following the next
 * activity's own launch call and thread. The causes of all gaps sum to the account's idle time. */
#ifndef RIDGE_ANALYSIS_GAPS_H
#define RIDGE_ANALYSIS_GAPS_H

#include "analysis/gap_totals.h"
#include "analysis/host.h"
#include "analysis/model.h"

enum gap_cause {
    CAUSE_SYNC,       /* blocked in a synchronizing call that ended in the gap */
    CAUSE_ALLOC,      /* inside an allocating or freeing call */
    CAUSE_COMPILE,    /* loading a module or compiling */
    CAUSE_COPY_CALL,  /* inside a blocking copy call */
    CAUSE_LAUNCH,     /* inside launch calls */
    CAUSE_HOST,       /* host code between calls */
    CAUSE_DEPENDENCY, /* already queued, waiting for another queue's event */
    CAUSE_DEVICE,     /* already queued, nothing awaited: launch latency */
    CAUSE_UNKNOWN,    /* no launch record */
    CAUSE_COUNT
};
const char *gap_cause_name(unsigned cause);

struct gap;
struct gaps;
/* The cause with the largest part of the gap. */
enum gap_cause gap_main_cause(const struct gap *gap);
/* All causes, most time first. */
void gaps_rank_causes(const struct gaps *gaps, enum gap_cause order[CAUSE_COUNT]);

struct gap {
    int64_t start, end;
    uint32_t next; /* activity that ends it, or NO_ROW */
    int64_t cause[CAUSE_COUNT];
};

/* Idle time by the host code or call that filled it. */
struct gap_name {
    uint32_t name; /* string id; 0 = no range and no sample there */
    struct text text;
    uint64_t gaps; /* intervals */
    int64_t time;
};

struct gap_names {
    struct gap_name *list; /* most time first */
    size_t count;
};

/* A state of the launching thread while host code kept the device idle. Running time is named like
 * host code; waiting time by the function last sampled before the thread stopped running, if there
 * is one. */
struct host_state {
    int64_t time;
    struct gap_names names;
};

enum { GAP_BUCKETS = 10, GAP_TOP = 20 };

struct gaps {
    uint64_t count;
    int64_t total; /* equals the account's idle */
    int64_t median, p99, min, max;
    double mean, variation; /* coefficient of variation; regular when small */
    int64_t cause_time[CAUSE_COUNT];
    uint64_t cause_gaps[CAUSE_COUNT]; /* gaps with some of this cause */
    uint64_t histogram[GAP_BUCKETS];  /* below 1 us, 10 us, 100 us ... by decades from 1 us */
    int64_t histogram_time[GAP_BUCKETS];
    struct gap_names host_names;          /* for CAUSE_HOST */
    struct gap_names sync_names;          /* the calls behind CAUSE_SYNC */
    bool states_known;                    /* thread states were recorded */
    struct host_state host_state[STATES]; /* of the launching threads: their times sum to that of
                                             CAUSE_HOST */
    struct gap top[GAP_TOP];              /* longest first */
    size_t top_count;
};

/* Sums the host time of all threads, for gaps_find() with host->totals set: the same results, in
 * time that does not grow with the calls in a gap. Does nothing where there are few devices. On
 * failure finish the totals too. */
bool gaps_sum_threads(const struct model *model, const struct host *host, struct gap_totals *totals,
                      struct status *status);

bool gaps_find(const struct model *model, const struct host *host, uint32_t device,
               const struct selection *selection, struct gaps *gaps, struct status *status);
void gaps_finish(struct gaps *gaps);

/* A part of a gap with one cause. */
struct gap_interval {
    int64_t start, length;
    uint32_t device, next; /* the activity that ends the gap, or NO_ROW */
    uint8_t cause;         /* enum gap_cause */
};

/* A zeroed list is empty. */
struct gap_intervals {
    struct gap_interval *list;
    size_t count, capacity;
};

/* Appends all gaps of a device in order of time, as intervals, for drawing. */
bool gaps_list(const struct model *model, const struct host *host, uint32_t device,
               const struct selection *selection, struct gap_intervals *intervals,
               struct status *status);
void gap_intervals_finish(struct gap_intervals *intervals);

#endif
