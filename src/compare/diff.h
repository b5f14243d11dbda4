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
    int64_t fastest[SIDES];    /* the shortest launch; of rows of one name */
    double blocks[SIDES];      /* thread blocks of one launch; bytes of one copy */
    struct text shapes[SIDES]; /* inputs of the launching operator, as recorded; or empty */
    struct text types[SIDES];
    struct text place; /* ROW_REPLACED: the operator or range that launches both; or empty */
    uint32_t group;    /* its number before the rows were sorted */
};

/* A line of the program that counts differently, where lines are recorded. */
struct diff_line {
    uint32_t key;          /* of the same line on both sides */
    uint32_t frame[SIDES]; /* row of trace->stack; 0: the side does not have it */
    double counts[SIDES][SIDE_COUNTS];
    int64_t idle[SIDES]; /* in the median step, ended by what it launched */
};

/* Something that differs besides the program, or makes the two sides hard to compare. */
enum { CONDITIONS_MAX = 16, CONDITION_SIZE = 300 };
struct condition {
    const char *key; /* "device", "clock" */
    char words[CONDITION_SIZE];
};

/* What one run a side, or several, can tell. */
struct noise {
    size_t runs[SIDES];
    double spread[SIDES]; /* relative standard error of the median step */
    bool spread_known[SIDES];
    double smallest;         /* smaller relative differences are noise; 0: unknown */
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

enum { DIFF_SENTENCE = 1600, DEVICE_NAME_SIZE = 100 };
struct diff {
    struct side sides[SIDES];
    struct diff_row *rows; /* largest change first */
    size_t row_count;
    uint32_t *row_of[SIDES]; /* by entry of the side: its row */
    struct diff_line *lines; /* most changed counts first */
    size_t line_count;
    int64_t part[PART_COUNT]; /* after - before */
    int64_t change;           /* of the step: the sum of them */
    struct condition conditions[CONDITIONS_MAX];
    size_t condition_count;
    struct noise noise;
    bool same_units;           /* the units of both sides are iterations of the same loop */
    size_t repetitions[SIDES]; /* where steps are not marked but the repeating sequence is the same:
                                  how often it repeats; else 0 */
    char device[SIDES][DEVICE_NAME_SIZE]; /* its name, or "a device of AMD"; or "" */
    bool other_device;                    /* both are known and differ */
    double clock[SIDES];                  /* mean MHz of the device during the units; 0: unknown */
    double processes[SIDES];              /* compute processes on the device; 0: unknown */
    struct text launch_name;              /* the launch call that both make most often; or empty */
    double launch_call[SIDES];            /* the lower quartile of its durations, ns; 0: unknown */
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

/* Compares the steps of several runs a side: median steps in ns. Rewrites the sentences. */
bool diff_add_runs(struct diff *diff, const double *before, size_t before_count,
                   const double *after, size_t after_count, struct status *status);

/* Fills the prediction; the report before has a replay. */
bool diff_predict(struct diff *diff, struct status *status);

/* Appends "train.py:88 loss.item(): synchronizing calls 0 -> 1". */
void diff_line_words(const struct diff *diff, const struct diff_line *line, struct buffer *words);

bool diff_write_text(const struct diff *diff, const struct report_style *style, size_t rows,
                     struct output *output, struct status *status);
bool diff_write_markdown(const struct diff *diff, size_t rows, struct output *output,
                         struct status *status);
bool diff_write_json(const struct diff *diff, struct output *output, struct status *status);

#endif
