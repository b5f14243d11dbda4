/* One side of a comparison: the median step of a trace, split exactly.
 *
 * The part that is compared (the steady steps, --steps, --range, --window or the run) is a list of
 * units: steps, iterations of a range, or one window. The step time is the median length of a unit.
 * What a unit consists of is taken from the middle half of the units in order of length, so that
 * neither a checkpoint nor the noise of a single step decides it, and scaled to the median: the
 * entries sum to it exactly, in integer nanoseconds.
 */
#ifndef RIDGE_COMPARE_SIDE_H
#define RIDGE_COMPARE_SIDE_H

#include "base/intern.h"
#include "report/report.h"

/* The parts of the account: what the device did, then why it was idle. */
enum part {
    PART_BUSY,
    PART_COMMUNICATION,
    PART_COPY,
    PART_IDLE,
    PART_COUNT = PART_IDLE + CAUSE_COUNT
};
/* "busy", "exposed copy", "idle: host code"; and as in JSON. */
const char *part_title(unsigned part);
const char *part_key(unsigned part);

/* A part of the median step with a name: a kernel family, a kind of copy, host code, a call. */
struct entry {
    unsigned part;
    struct text name; /* owned by the side; empty: the part has no names, or unknown */
    int64_t sum;      /* over the middle units: time that nothing before it covers */
    int64_t time;     /* in the median step */
    /* Of activities, over the middle units; those that start in them. */
    uint64_t count;
    int64_t total;    /* durations, overlaps counted twice */
    int64_t fastest;  /* the shortest duration */
    uint64_t blocks;  /* of kernels: thread blocks; of copies: bytes */
    uint64_t threads; /* of kernels: threads a block, summed */
    size_t first_row; /* the first activity of it */
};

/* What is counted in a unit. */
enum side_count {
    SIDE_KERNELS,
    SIDE_LAUNCHES,
    SIDE_GRAPH_LAUNCHES,
    SIDE_SYNCS,
    SIDE_COPIES_HTOD,
    SIDE_COPIES_DTOH,
    SIDE_COPIES_OTHER,
    SIDE_SETS,
    SIDE_BYTES_HTOD,
    SIDE_BYTES_DTOH,
    SIDE_ALLOCATIONS,
    SIDE_COMPILATIONS,
    SIDE_COUNTS
};
const char *side_count_title(unsigned count); /* "kernels" */
const char *side_count_key(unsigned count);

/* A line of the program, of those that made calls. */
struct side_line {
    uint32_t frame;             /* row of trace->stack on that line */
    double counts[SIDE_COUNTS]; /* means of a unit */
    int64_t idle;               /* in the median step, ended by activities that it launched */
};

struct side {
    const struct report *report;
    const struct report_device *device;
    const char *unit;     /* "step", "turn", "run", "window" */
    struct window *units; /* in order of time */
    int64_t *lengths;     /* of the units, without pauses, in order of time */
    size_t unit_count;
    size_t middle_count;        /* units that the entries are from */
    struct selection selection; /* those units on the device */
    int64_t step;               /* median length of a unit */
    double mean;
    struct account account; /* of the selection */
    struct gaps gaps;       /* likewise */
    struct entry *entries;  /* their times sum to `step` */
    size_t entry_count;
    int64_t part_time[PART_COUNT];  /* in the median step */
    double count_mean[SIDE_COUNTS]; /* of a unit */
    uint64_t count_median[SIDE_COUNTS];
    bool counts_known[SIDE_COUNTS];
    struct side_line *lines; /* as report->lines numbers them; none: lines are unknown */
    size_t line_count;
    uint32_t *entry_of_name; /* by string id of a kernel: index of its entry, or NO_ENTRY */
    struct intern names;
};
#define NO_ENTRY UINT32_MAX

/* `device` is an index among the report's devices. `whole`: the device's whole time is one unit,
 * whatever part the report is about. The report must outlive the side. On failure there is nothing
 * to finish. */
bool side_build(struct side *side, const struct report *report, size_t device, bool whole,
                struct status *status);
void side_finish(struct side *side);

/* The device with most work, or SIZE_MAX when none did anything. */
size_t side_main_device(const struct report *report);

/* Launches of an entry in a unit. */
static inline double side_entry_count(const struct side *side, const struct entry *entry) {
    return side->middle_count ? (double)entry->count / (double)side->middle_count : 0;
}

/* The innermost operator or range around the first launch of an entry: its row, or NO_ROW. */
uint32_t side_launching_range(const struct side *side, const struct entry *entry);
/* An argument of that operator as the source has it: "Input Dims", "Input type"; or empty. */
struct text side_argument(const struct side *side, const struct entry *entry, const char *key);

#endif
