/* How efficiently did the CPU run the program? Instructions per cycle, cache misses and branch
 * mispredictions, from the hardware counters that `ridge record` totals.
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

/* Metrics computed from the counters, with their targets. */
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
    bool above; /* good above the target; else below it */
};
extern const struct counter_figure_info counter_figures[COUNTER_FIGURES];

/* False when the counters for it are missing. */
bool counters_figure(const struct process_counters *process, enum counter_figure figure,
                     double *value);

#endif
