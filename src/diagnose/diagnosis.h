/* A diagnosis under way: what the rules read, and how they say what they found.
 *
 * Facts are counted once, in one walk over the judged part (facts.h). Then each rule of the table
 * in verdict.c looks at them and adds what it finds. Failure to allocate is sticky: rules write on
 * and diagnose() asks once.
 */
#ifndef RIDGE_DIAGNOSE_DIAGNOSIS_H
#define RIDGE_DIAGNOSE_DIAGNOSIS_H

#include "base/format.h"
#include "diagnose/facts.h"
#include "diagnose/finding.h"

/* What a set of changes would do, as the replay tells it. */
struct prediction {
    bool applicable;
    int64_t before, after, gain, error;
    char what[OUTCOME_TEXT], assumes[OUTCOME_TEXT], why_not[OUTCOME_TEXT];
};

struct diagnosis {
    /* With one device, the one with most work: figures of several are never added up. */
    const struct diagnose_source *source;
    const struct diagnose_source *whole; /* with all devices */
    struct trace *trace;
    struct facts facts;
    struct verdict *verdict;
    size_t findings_capacity, missing_capacity;
    bool predicted[CHANGE_COUNT]; /* what each change buys alone, once it was asked */
    struct prediction alone[CHANGE_COUNT];
    uint32_t *data_loading_range; /* by string id; see data_loading_range() */
    struct finding discarded;     /* what is written to after a failure */
    struct status *status;
    bool failed; /* *status says why */
};

typedef void diagnose_rule(struct diagnosis *diagnosis);
diagnose_rule diagnose_compilation, diagnose_allocation, diagnose_transfers, diagnose_host,
    diagnose_sync, diagnose_launch, diagnose_kernels, diagnose_grids, diagnose_steps,
    diagnose_clock, diagnose_memory, diagnose_cpu;
/* When nothing of weight was found: healthy, or what is missing to tell. */
void diagnose_healthy(struct diagnosis *diagnosis);
/* Whether one gap has most of a run without steps, and no finding has much of it. */
bool has_dominant_gap(const struct diagnosis *diagnosis);
/* What the trace does not tell. */
void diagnose_missing(struct diagnosis *diagnosis);
/* Whether none of what is listed would buy more than a few hundredths of the time. */
bool gain_is_small(const struct verdict *verdict);
/* The two sentences at the top. */
void diagnose_summarize(struct diagnosis *diagnosis);

/* The change by itself, everywhere. Asked once. */
const struct prediction *predict_alone(struct diagnosis *diagnosis, enum change_kind kind);
/* Several at once; nothing applies where it fails. */
struct prediction predict_changes(struct diagnosis *diagnosis, const struct change *changes,
                                  size_t count);

/* Adds a finding. Never NULL: after a failure it is one that is thrown away. Good until the next
 * one is added. */
struct finding *diagnose_add(struct diagnosis *diagnosis, enum finding_kind kind,
                             enum confidence confidence);
void finding_finish(struct finding *finding);
/* A change that its prediction replays; at most four. */
void finding_change(struct finding *finding, enum change_kind kind, struct text pattern,
                    double factor);
/* Sets recoverable where nothing was replayed: a sum over kernels, copies or calls, which may
 * overlap and so exceed the judged time, and is cut to that. */
void finding_estimate(const struct diagnosis *diagnosis, struct finding *finding, int64_t time);
/* Takes recoverable, error and assumes from what replaying its changes gives; false when they do
 * not apply. */
bool finding_predict(struct diagnosis *diagnosis, struct finding *finding);
/* The same of an answer that is there already. */
void finding_take(struct diagnosis *diagnosis, struct finding *finding,
                  const struct prediction *prediction);

void finding_summary(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_cause(struct diagnosis *diagnosis, struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_evidence(struct diagnosis *diagnosis, struct finding *finding, struct evidence about,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Fixes are to be added in order of effort, behind the changes. The command is a what-if option;
 * where it is that of one of the finding's changes, it becomes all of them with their values. */
void finding_fix(struct diagnosis *diagnosis, struct finding *finding, enum effort effort,
                 const char *command, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void diagnose_add_missing(struct diagnosis *diagnosis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces a text of the verdict or a finding. */
void diagnose_set_text(struct diagnosis *diagnosis, char **text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* part / whole, 0 when there is no whole. */
static inline double share_of(int64_t part, int64_t whole) {
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* Of a total over the judged part, what falls on one step; all of it when there are none. */
static inline int64_t per_step(const struct diagnosis *diagnosis, int64_t total) {
    size_t steps = diagnosis->source->step_count;
    return steps ? total / (int64_t)steps : total;
}
/* How much of something a run without steps would have if its first half were as its second: that
 * much is its loop's, the rest its start's. `one` of them more or less is where the cut falls. From
 * 0 to 1. */
static inline double steady_fraction(const int64_t quarter_end[QUARTERS], int64_t one,
                                     int64_t all) {
    double part = 2 * share_of(quarter_end[QUARTERS - 2] + quarter_end[QUARTERS - 1] + one, all);
    return part < 1 ? part : 1;
}
/* "a step" or "in all", to stand behind such a figure. */
static inline const char *per_step_text(const struct diagnosis *diagnosis) {
    return diagnosis->source->step_count ? "a step" : "in all";
}
/* "11.20 ms -> 5.900 ms a step" */
enum { FROM_TO_SIZE = 2 * FORMAT_SIZE + 20 };
char *from_to(const struct diagnosis *diagnosis, int64_t gain, char text[FROM_TO_SIZE]);
/* The same where `before` is gained already. */
char *from_to_after(const struct diagnosis *diagnosis, int64_t before, int64_t gain,
                    char text[FROM_TO_SIZE]);
/* The range that prepares the input and is called `name`, or has most of what is called so inside
 * it; 0: none. */
uint32_t data_loading_range(const struct diagnosis *diagnosis, uint32_t name);
/* Fills what that is answered from. */
void data_loading_find(struct diagnosis *diagnosis);
/* A name, or a kernel's short name, cut to about 60 letters. */
enum { NAME_SIZE = 72 };
char *short_name(struct text words, char text[NAME_SIZE]);
char *short_kernel(struct diagnosis *diagnosis, uint32_t name, char text[NAME_SIZE]);

#endif
