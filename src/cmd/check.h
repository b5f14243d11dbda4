/* The parts of ridge check: one measured run, the decision, and how it is printed. */
#ifndef RIDGE_CMD_CHECK_H
#define RIDGE_CMD_CHECK_H

#include <regex.h>

#include "base/output.h"
#include "cmd/command.h"
#include "compare/gate.h"
#include "compare/measured_runs.h"

enum { CHECK_BEFORE, CHECK_AFTER, CHECK_SIDES };

/* A metric that the program prints: the last match, its first group if it has one. */
struct check_pattern {
    regex_t expression;
    bool compiled;
};

/* How a run is measured. */
struct check_measure {
    bool record;     /* the run is traced: steps, device time and counts are known */
    const char *log; /* where its output goes; replaced by each run */
    struct check_pattern patterns[PRINTED_MAX];
    unsigned pattern_count;
};

/* Runs the command once. `trace` (may be NULL) is where its trace stays. False, with the end of its
 * output in the message, when it fails. */
bool check_run(const struct check_measure *measure, const char *const *words, const char *trace,
               struct run_values *values, struct status *status);

/* One gated metric. */
struct check_row {
    unsigned metric;
    double before, after; /* medians */
    bool varies;          /* a count that differs between runs of one side: not gated */
    struct gate_result gate;
};

struct check_result {
    const char *command;
    struct measured_runs *sides[CHECK_SIDES];
    double gate;
    struct check_row rows[METRICS];
    size_t row_count;
    enum gate_verdict verdict;
    size_t runs[CHECK_SIDES];
    unsigned disturbed;    /* runs that were repeated */
    char disturbance[200]; /* the latest reason */
    char warning[300];     /* another machine, a drifting clock; or "" */
    bool interleaved;
    char attached[9000]; /* where traces and their diff are; or "" */
    struct buffer diff;  /* the diff as text or Markdown; may be empty */
};

/* Fills the rows of these metrics and the verdict. */
bool check_decide(struct check_result *result, const unsigned *metrics, unsigned count,
                  struct status *status);

/* `format` is text, md or json. */
bool check_print(const struct check_result *result, const char *format, struct output *output,
                 struct status *status);
/* Change points of all checks in a history. */
bool check_print_history(const struct measured_runs *runs, const char *format,
                         struct output *output, struct status *status);

#endif
