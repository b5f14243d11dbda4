/* How well did the processors get on with the program? Instructions a cycle, and how often the
 * caches and the branch predictor missed, from the hardware counters that `ridge record` totals.
 *
 * The totals are meta of the trace: "counter.NAME" of all processes together, "counter.PID.NAME" of
 * one, and "counter.missing", a sentence, where the machine has none.
 */
#ifndef RIDGE_ANALYSIS_COUNTERS_H
#define RIDGE_ANALYSIS_COUNTERS_H

#include "trace/reader.h"

enum hardware_counter {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_BRANCHES,
    COUNTER_BRANCH_MISSES,
    COUNTER_L1_LOADS,
    COUNTER_L1_MISSES,
    COUNTER_L2_LOADS,
    COUNTER_L2_MISSES,
    COUNTER_LLC_LOADS,
    COUNTER_LLC_MISSES,
    HARDWARE_COUNTERS
};
/* As in the trace's keys: "cycles", "L1d-load-misses". */
const char *hardware_counter_name(unsigned counter);

struct process_counters {
    int64_t pid;      /* 0: of all processes together */
    struct text name; /* of the process; empty when not known */
    bool has[HARDWARE_COUNTERS];
    double total[HARDWARE_COUNTERS];
};

struct counters {
    struct process_counters *processes; /* all together first, then by pid */
    size_t count;
    struct text missing; /* why there are none; or empty */
};

bool counters_find(const struct trace *trace, struct counters *counters, struct status *status);
void counters_finish(struct counters *counters);

/* What the counters say, beside what a program should reach. */
enum counter_figure {
    FIGURE_IPC,
    FIGURE_L1_MISSES,
    FIGURE_L2_MISSES,
    FIGURE_LLC_MISSES,
    FIGURE_MISPREDICTIONS,
    COUNTER_FIGURES
};
struct counter_figure_info {
    const char *title, *key; /* "L1 misses", "l1_miss_rate" */
    enum hardware_counter part, whole;
    double target;
    bool above; /* the target is to be exceeded; else to be stayed below */
};
extern const struct counter_figure_info counter_figures[COUNTER_FIGURES];

/* False when the machine did not count what it takes. */
bool counters_figure(const struct process_counters *process, enum counter_figure figure,
                     double *value);

#endif
