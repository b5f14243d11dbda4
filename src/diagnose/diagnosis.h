/* State of a diagnosis, and the functions that rules use to add findings.
 *
 * facts_find() collects the facts of the judged part once (facts.h). Each rule in the table of
 * verdict.c reads them and adds its findings. Allocation failure is sticky: rules continue, and
 * diagnose() checks `failed` once.
 */
#ifndef RIDGE_DIAGNOSE_DIAGNOSIS_H
#define RIDGE_DIAGNOSE_DIAGNOSIS_H

#include "base/format.h"
#include "diagnose/facts.h"
#include "diagnose/finding.h"

/* What the replay predicts for a set of changes. */
struct prediction {
    bool applicable;
    int64_t before, after, gain, error;
    char what[OUTCOME_TEXT], assumes[OUTCOME_TEXT], why_not[OUTCOME_TEXT];
};

struct diagnosis {
    /* Only the device with the most work: figures of several devices are never summed. */
    const struct diagnose_source *source;
    const struct diagnose_source *whole; /* with all devices */
    struct trace *trace;
    struct facts facts;
    struct outside outside;
    struct verdict *verdict;
    size_t findings_capacity, missing_capacity;
    bool predicted[CHANGE_COUNT]; /* alone[] is filled in */
    struct prediction alone[CHANGE_COUNT];
    uint32_t *data_loading_range; /* by string id; see data_loading_range() */
    /* Of the samples in the idle time of host code: below frames that load data or compile. */
    double loading_share, compiling_share;
    uint32_t loader;          /* string id of a function that loads data */
    struct finding discarded; /* returned by diagnose_add() after a failure */
    struct status *status;
    bool failed; /* *status has the reason */
};

typedef void diagnose_rule(struct diagnosis *diagnosis);
diagnose_rule diagnose_compilation, diagnose_loading, diagnose_allocation, diagnose_transfers,
    diagnose_host, diagnose_reads, diagnose_sync, diagnose_launch, diagnose_kernels, diagnose_grids,
    diagnose_steps, diagnose_clock, diagnose_memory, diagnose_cpu, diagnose_communication,
    diagnose_catalogue, diagnose_counters;
/* Adds the first finding when no rule found anything significant: healthy or unknown. */
void diagnose_healthy(struct diagnosis *diagnosis);
/* Start-up or exit has most of the run, and no finding recovers a quarter of that. */
bool starts_most_of_the_time(const struct diagnosis *diagnosis);
/* Adds start-up or exit as the first finding. */
void diagnose_startup(struct diagnosis *diagnosis);
/* The range with the most host time of its own, of operators or of all but the device's; NULL:
 * none.
 */
const struct range_group *top_range(const struct diagnosis *diagnosis, bool operators);
/* The judged device is a CPU. */
bool judges_cpu(const struct diagnosis *diagnosis);
/* Adds what worker processes do, if there are any, and a fix by it. */
void cpu_describe_workers(struct diagnosis *diagnosis, struct finding *finding);
/* One gap is more than half of a run without steps, and no finding recovers half of that gap. */
bool has_dominant_gap(const struct diagnosis *diagnosis);
/* Adds the lines of the program to the evidence of the findings. */
void diagnose_lines(struct diagnosis *diagnosis);
/* Estimates the profiler's own time in the judged part. */
void profiler_cost_find(struct diagnosis *diagnosis);
/* The gain of a finding less the profiler's own time in it. */
double gain_without_profiler(const struct diagnosis *diagnosis, const struct finding *finding);
/* How many times as fast the program would be with the finding fixed, both without the profiler's
 * own time; 0: not known. */
double speedup_without_profiler(const struct diagnosis *diagnosis, const struct finding *finding);
/* Lists what the trace does not contain. */
void diagnose_missing(struct diagnosis *diagnosis);
/* No finding recovers more than 5 % of the time; remarks do not count. */
bool gain_is_small(const struct verdict *verdict);
/* Writes the headline, what to do, and the caution. */
void diagnose_summarize(struct diagnosis *diagnosis);

/* One change alone, applied everywhere; cached. */
const struct prediction *predict_alone(struct diagnosis *diagnosis, enum change_kind kind);
/* Several changes at once; not applicable after a failure. */
struct prediction predict_changes(struct diagnosis *diagnosis, const struct change *changes,
                                  size_t count);

/* Adds a finding. Never NULL: after a failure the finding is discarded. Valid until the next
 * call. */
struct finding *diagnose_add(struct diagnosis *diagnosis, enum finding_kind kind,
                             enum confidence confidence);
/* Moves the finding that was added last to the front. */
void diagnose_lead(struct diagnosis *diagnosis);
void finding_finish(struct finding *finding);
/* Adds a change to the prediction; at most four. */
void finding_change(struct finding *finding, enum change_kind kind, struct text pattern,
                    double factor);
/* Sets recoverable without a replay, clamped to the judged time: sums over kernels, copies or calls
 * count overlaps twice. */
void finding_estimate(const struct diagnosis *diagnosis, struct finding *finding, int64_t time);
/* Removes the commands of fixes that do not reproduce their finding's gain. */
void diagnose_check_hints(struct diagnosis *diagnosis);
/* Replays the finding's changes and sets recoverable, error and assumes; false: not applicable. */
bool finding_predict(struct diagnosis *diagnosis, struct finding *finding);
/* Sets the same from an existing prediction. */
void finding_take(struct diagnosis *diagnosis, struct finding *finding,
                  const struct prediction *prediction);

/* Sets the observation. */
void finding_summary(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets the gain, behind the observation; ignored if nothing is recoverable. */
void finding_gain(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for an upper bound: "with full waves" becomes "with full waves, at best 3 ms -> 2 ms".
 */
void finding_best_gain(struct diagnosis *diagnosis, struct finding *finding, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));
void finding_cause(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_evidence(struct diagnosis *diagnosis, struct finding *finding, struct evidence about,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Add fixes by increasing effort, after the changes. The command is a ridge whatif option or NULL.
 * If it is the option of one of the finding's changes, all changes are written with their values.
 */
void finding_fix(struct diagnosis *diagnosis, struct finding *finding, enum effort effort,
                 const char *command, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void diagnose_add_missing(struct diagnosis *diagnosis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces a text of the verdict or of a finding. */
void diagnose_set_text(struct diagnosis *diagnosis, char **text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* part / whole; 0 if whole is 0. */
static inline double share_of(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* The mean per step of a total; the total if there are no steps. */
static inline int64_t per_step(const struct diagnosis *diagnosis, int64_t total) {
    size_t steps = diagnosis->source->step_count;
    return steps ? total / (int64_t)steps : total;
}
/* In a run without steps: the fraction of `all` that recurs in the loop and is not start-up, from 0
 * to 1. It assumes that the first half of the loop does as much as the second; `one` more event is
 * allowed for the position of the cut. */
static inline double steady_fraction(const int64_t quarters[QUARTERS], int64_t one, int64_t all) {
    double part = 2 * share_of(quarters[QUARTERS - 2] + quarters[QUARTERS - 1] + one, all);
    return part < 1 ? part : 1;
}
/* Follows a figure of per_step(). */
static inline const char *per_step_text(const struct diagnosis *diagnosis) {
    return diagnosis->source->step_count ? "a step" : "in total";
}
/* "11.20 ms -> 5.900 ms a step" */
enum { FROM_TO_SIZE = 2 * FORMAT_SIZE + 20 };
char *from_to(const struct diagnosis *diagnosis, int64_t gain, char text[FROM_TO_SIZE]);
/* The same after `before` was already gained. */
char *from_to_after(const struct diagnosis *diagnosis, int64_t before, int64_t gain,
                    char text[FROM_TO_SIZE]);
/* The data loading range of that name, or the one that encloses most ranges of that name; 0: none.
 */
uint32_t data_loading_range(const struct diagnosis *diagnosis, uint32_t name);
/* Fills in diagnosis->data_loading_range. */
void data_loading_find(struct diagnosis *diagnosis);
/* A name, or the short name of a kernel, truncated to about 60 characters. */
enum { NAME_SIZE = 72 };
/* The pattern of a change as its command has it; it may be `text` and match more kernels. */
struct text change_pattern(const struct change *change, char text[NAME_SIZE], bool *failed);
char *short_name(struct text words, char text[NAME_SIZE]);
char *short_kernel(struct diagnosis *diagnosis, uint32_t name, char text[NAME_SIZE]);
/* "60 %"; never 0 % for something or 100 % for less than the whole. */
char *whole_percent(double share, char text[FORMAT_SIZE]);
const char *device_subject(const struct diagnosis *diagnosis); /* "The GPU" */

#endif
