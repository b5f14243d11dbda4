/* Measured runs of a command, as `ridge check` keeps them: a JSON object a line, one line for each
 * run. A baseline is a file of such lines, and a history is one that grows. */
#ifndef RIDGE_COMPARE_MEASURED_RUNS_H
#define RIDGE_COMPARE_MEASURED_RUNS_H

#include "base/format.h"
#include "base/output.h"
#include "compare/side.h"

enum metric {
    METRIC_STEP,
    METRIC_WALL,
    METRIC_CPU,
    METRIC_BUSY,
    METRIC_MEMORY,
    METRIC_DEVICE_MEMORY,
    METRIC_COUNT_FIRST, /* counts of a step: exact */
    METRIC_PRINTED_FIRST = METRIC_COUNT_FIRST + SIDE_COUNTS,
    PRINTED_MAX = 4, /* metrics that the program prints */
    METRICS = METRIC_PRINTED_FIRST + PRINTED_MAX
};

enum { METRIC_NAME_SIZE = 64, RUN_TEXT_SIZE = 128 };

/* A metric that the program prints. */
struct printed_metric {
    char name[METRIC_NAME_SIZE];
    bool higher_is_better;
    bool is_time; /* printed with a unit of time: values are nanoseconds */
};

/* Whether a name can be written and read back as it is: valid UTF-8 without controls, quotes and
 * backslashes, shorter than METRIC_NAME_SIZE, and without the marks of a key at its end. */
bool metric_name_is_plain(struct text name);

struct run_values { /* one run */
    double values[METRICS];
    bool known[METRICS];
    bool is_time[PRINTED_MAX];
};

struct measured_run {
    struct run_values of;
    int64_t check;             /* Unix time at which its check began */
    char label[RUN_TEXT_SIZE]; /* a commit, for example */
    char machine[RUN_TEXT_SIZE];
    double pace; /* of the machine, ns for a pass of the reference loop; 0: unknown */
};

struct measured_runs {
    struct measured_run *lines;
    size_t count, capacity;
    struct printed_metric printed[PRINTED_MAX];
    unsigned printed_count;
};

/* As typed and in JSON: "step", "kernels"; a printed one has its own name. */
const char *metric_key(const struct measured_runs *runs, unsigned metric);
const char *metric_title(const struct measured_runs *runs, unsigned metric);
static inline bool metric_is_exact(unsigned metric) {
    return metric >= METRIC_COUNT_FIRST && metric < METRIC_PRINTED_FIRST;
}
bool metric_higher_is_better(const struct measured_runs *runs, unsigned metric);
/* The value as people read it. */
char *metric_format(const struct measured_runs *runs, unsigned metric, double value,
                    char text[FORMAT_SIZE]);

/* Reads all lines; lines of other programs are errors. Printed metrics are added to the known
 * ones. */
bool measured_runs_read(const char *path, struct measured_runs *runs, struct status *status);
/* Writes lines first..count. */
void measured_runs_write(const struct measured_runs *runs, size_t first, struct output *output);
bool measured_runs_add(struct measured_runs *runs, const struct measured_run *line,
                       struct status *status);
void measured_runs_finish(struct measured_runs *runs);

/* The known values of a metric, in order; `values` has room for all lines. */
size_t measured_runs_values(const struct measured_runs *runs, unsigned metric, double *values);

#endif
