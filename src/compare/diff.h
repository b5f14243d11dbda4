/* What changed between two traces? The difference of the median steps, split exactly: every row has
 * the time before and after, and the differences of all rows sum to that of the step.
 *
 *   struct diff diff;
 *   if (diff_build(&diff, &before, &after, &status)) {
 *       diff_write_text(&diff, &style, &output, &status);
 *       diff_finish(&diff);
 *   }
 *
 * Swapping the two traces negates every difference. */
#ifndef RIDGE_COMPARE_DIFF_H
#define RIDGE_COMPARE_DIFF_H

#include "base/output.h"
#include "compare/side.h"

enum { BEFORE, AFTER, SIDES };

enum row_kind {
    ROW_BOTH,     /* of one name on both sides */
    ROW_GONE,     /* only before */
    ROW_NEW,      /* only after */
    ROW_REPLACED, /* kernels of other names that do the same part of the step */
};
const char *row_kind_name(unsigned kind);

struct diff_row {
    unsigned part;
    enum row_kind kind;
    struct text name[SIDES]; /* of the entry with most time; empty: none, or without a name */
    size_t entries[SIDES];   /* how many it stands for */
    int64_t time[SIDES];     /* in the median step */
    int64_t change;          /* after - before: */
    int64_t by_count;        /* because of more or fewer launches */
    int64_t by_duration;     /* because each takes longer or shorter, or overlaps differently */
    /* Of activities, in a unit. */
    double count[SIDES];
    double duration[SIDES];    /* mean of one launch */
    double blocks[SIDES];      /* thread blocks of one launch; bytes of one copy */
    struct text shapes[SIDES]; /* inputs of the launching operator, as recorded; or empty */
    struct text types[SIDES];
    struct text place; /* ROW_REPLACED: the operator or range that launches both; or empty */
};

/* Something that differs besides the program, or makes the two sides hard to compare. */
enum { CONDITIONS_MAX = 16, CONDITION_SIZE = 300 };
struct condition {
    const char *key; /* "device", "clock" */
    bool decisive;   /* by itself explains a difference of the step */
    char words[CONDITION_SIZE];
};

/* What one run a side, or several, can tell. */
struct noise {
    size_t runs[SIDES];
    double spread[SIDES]; /* relative standard error of the median step */
    bool spread_known[SIDES];
    double smallest;         /* relative differences below this cannot be told; 0: unknown */
    bool known;              /* the units give an estimate, or there are several runs */
    bool significant;        /* the difference of the step is beyond it */
    double probability;      /* of the exact rank test by run; 1 with one run a side */
    double best_probability; /* the smallest p-value that this number of runs can give */
};

/* What the what-if replay of the trace before makes of what happened. */
struct prediction {
    bool asked, known;
    const char *option; /* "graph" */
    int64_t step;       /* predicted, and its error bound */
    int64_t error;
    char words[700];
};

enum { DIFF_SENTENCE = 1600 };
struct diff {
    struct side sides[SIDES];
    struct diff_row *rows; /* largest change first */
    size_t row_count;
    int64_t part[PART_COUNT]; /* after - before */
    int64_t change;           /* of the step: the sum of them */
    struct condition conditions[CONDITIONS_MAX];
    size_t condition_count;
    struct noise noise;
    bool same_units;           /* the units of both sides are iterations of the same loop */
    size_t repetitions[SIDES]; /* where steps are not marked but the repeating sequence is the same:
                                  how often it repeats; else 0 */
    double clock[SIDES];       /* mean MHz of the device during the units; 0: unknown */
    /* The answer in two sentences: how much and why; what changed besides, or what this cannot
     * tell. */
    char headline[DIFF_SENTENCE], second[DIFF_SENTENCE];
    struct prediction prediction;
    const char *cause; /* a key: "sync", "clock"; "none" without a difference */
};

/* Devices are those with most work, or options.device of each report. The reports must outlive the
 * diff. On failure there is nothing to finish. */
bool diff_build(struct diff *diff, const struct report *before, const struct report *after,
                struct status *status);
void diff_finish(struct diff *diff);

/* Compares the steps of several runs a side: median steps in ns, the first that of the diff
 * itself. Rewrites the sentences. */
bool diff_add_runs(struct diff *diff, const double *before, size_t before_count,
                   const double *after, size_t after_count, struct status *status);

/* Fills the prediction; the report before has a replay. */
bool diff_predict(struct diff *diff, struct status *status);

bool diff_write_text(const struct diff *diff, const struct report_style *style, size_t rows,
                     struct output *output, struct status *status);
bool diff_write_markdown(const struct diff *diff, size_t rows, struct output *output,
                         struct status *status);
bool diff_write_json(const struct diff *diff, struct output *output, struct status *status);

#endif
