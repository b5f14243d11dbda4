/* What `ridge whatif` prints: the changes that were asked for, made together and one by one, or
 * every change there is. */
#ifndef RIDGE_REPORT_WHATIF_H
#define RIDGE_REPORT_WHATIF_H

#include "report/report.h"

enum { WHATIF_CHANGES_MAX = 32 };

struct whatif {
    const struct report *report;
    struct ranked_change unchanged; /* its kind of change is CHANGE_COUNT, as of `several` */

    /* What was asked for; none: how well the replay does. */
    struct change changes[WHATIF_CHANGES_MAX];
    size_t count;
    struct ranked_change alone[WHATIF_CHANGES_MAX]; /* each by itself */
    struct ranked_change several;                   /* all together, of two and more */

    /* With --all. */
    struct ranked_change *ranked;
    size_t ranked_count;
};

/* The outcome of all changes that were asked for. */
static inline const struct outcome *whatif_together(const struct whatif *whatif) {
    return whatif->count == 1 ? &whatif->alone[0].outcome : &whatif->several.outcome;
}

/* Markdown if `markdown`, else text of that width. */
bool whatif_print(const struct whatif *whatif, bool markdown, unsigned width, struct output *output,
                  struct status *status);
bool whatif_print_json(const struct whatif *whatif, struct output *output, struct status *status);

#endif
