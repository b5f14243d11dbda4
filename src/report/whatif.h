/* What `ridge whatif` prints: the changes that were asked for, made together and one by one, or
 * every change there is. */
#ifndef RIDGE_REPORT_WHATIF_H
#define RIDGE_REPORT_WHATIF_H

#include "report/report.h"

enum { WHATIF_CHANGES_MAX = 32 };

struct whatif {
    const struct report *report;
    struct outcome unchanged;

    /* What was asked for; none: how well the replay does. */
    struct change changes[WHATIF_CHANGES_MAX];
    struct outcome outcomes[WHATIF_CHANGES_MAX]; /* of each alone; of one change it is `together` */
    size_t count;
    struct outcome together;

    /* With --all. */
    struct ranked_change *ranked;
    size_t ranked_count;
};

/* Markdown where `markdown`, else text of that width. */
bool whatif_print(const struct whatif *whatif, bool markdown, unsigned width, struct output *output,
                  struct status *status);
void whatif_print_json(const struct whatif *whatif, struct output *output);

/* Appends what is known to be missing from the trace; false when nothing is. */
bool whatif_losses(const struct report *report, struct buffer *text);

/* How many times as fast; 0 where the error is half of the new time or more: such a prediction does
 * not support a ratio. */
double whatif_speed_up(const struct outcome *outcome);

/* A change as it is typed: "--fuse=*gelu*", "--faster=gemm=2x". */
void whatif_option(const struct change *change, struct buffer *text);

#endif
