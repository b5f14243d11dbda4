/* The parts of diff_build(), in the order in which they run. */
#ifndef RIDGE_COMPARE_DIFF_PARTS_H
#define RIDGE_COMPARE_DIFF_PARTS_H

#include "compare/diff.h"

/* For each entry of a side, which row it belongs to. */
struct matching {
    uint32_t *group[SIDES]; /* by entry */
    uint32_t groups;
    struct text *place; /* by group: the operator or range that launches both sides; or empty */
};

/* Groups entries of the same part and name; then kernels that only one side has, by the range or
 * operator that launches them, and by their place between kernels that both have. */
bool match_entries(const struct diff *diff, struct matching *matching, struct status *status);
void matching_finish(struct matching *matching);

/* The duration of the same launch calls on both sides. */
bool host_pace_find(struct diff *diff, struct status *status);
/* Conditions and clocks. */
bool conditions_find(struct diff *diff, struct status *status);
/* What one run a side can tell. */
bool noise_find(struct diff *diff, struct status *status);
/* Before it, for whole runs of the same iterations: how much these vary on the host. */
bool noise_of_iterations(struct diff *diff, struct status *status);
/* A call at the edge of the selection belongs to one of many steps; less is no change. */
#define LINE_CHANGED 0.25
/* The lines of the program whose counts differ. */
bool line_changes_find(struct diff *diff, struct status *status);
/* The sentences. */
void diff_explain(struct diff *diff);

/* Whether the median unit stands for the others: short and long ones in turn have no typical one.
 */
bool side_is_typical(const struct side *side);

/* Relative standard error of the median of dependent values; negative: too few of them. */
double noise_of_units(const int64_t *lengths, size_t count, struct status *status);

#endif
