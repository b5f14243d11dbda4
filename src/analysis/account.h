/* Where did the device's time go? busy + exposed communication + exposed copy + idle = window,
 * exactly. */
#ifndef RIDGE_ANALYSIS_ACCOUNT_H
#define RIDGE_ANALYSIS_ACCOUNT_H

#include "analysis/model.h"

struct account {
    int64_t window;                /* length of the selection */
    int64_t busy;                  /* union of compute kernels */
    int64_t exposed_communication; /* union of communication kernels, where no compute kernel ran */
    int64_t exposed_copy;          /* union of copies and sets, where no kernel ran */
    int64_t idle;
    int64_t kernel_union; /* busy + exposed communication */

    /* The rest counts whole activities that start in the selection. */
    uint64_t kernels, copies, sets;
    int64_t kernel_sum, copy_sum, set_sum; /* overlaps counted twice */
    int64_t copy_union;                    /* copies and sets, clipped to the selection */
    int64_t copy_hidden;                   /* of it, under kernels */
    uint64_t queues;                       /* with kernels */
    uint64_t collectives;                  /* communication kernels, among kernels */
    int64_t communication_sum;
    int64_t communication_union; /* clipped to the selection */

    /* Kernels alone, clipped to the selection. */
    int64_t kernel_span;    /* first kernel's start to last one's end */
    int64_t activity_span;  /* the same for all activities */
    uint64_t kernel_blocks; /* maximal intervals in which some kernel runs */
    uint64_t kernel_gaps;   /* between them, inside one window */
    int64_t kernel_gap_total, kernel_gap_max;
    /* Per queue: the next kernel's start minus the latest end so far in that window, at least 0. */
    uint64_t queue_gaps, queue_gaps_positive;
    int64_t queue_gap_total;
};

/* Accounts for the activities of one device in the selection. */
bool account_device(const struct model *model, uint32_t device, const struct selection *selection,
                    struct account *account, struct status *status);

#endif
