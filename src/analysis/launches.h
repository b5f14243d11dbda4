/* Does the host issue work fast enough? Launch calls against the kernels they launch. */
#ifndef RIDGE_ANALYSIS_LAUNCHES_H
#define RIDGE_ANALYSIS_LAUNCHES_H

#include "analysis/model.h"

struct launches {
    uint64_t matched, unmatched; /* kernels with and without a launch record */
    uint64_t calls;              /* distinct launch calls behind the matched ones */
    int64_t call_total;          /* their time */
    /* The same per matched kernel: a call that launches several kernels counts for each. */
    int64_t call_time_sum;
    int64_t delay_sum, delay_median, delay_max; /* kernel start minus call start */
    uint64_t negative_delays;                   /* kernels that start before their call */
    uint64_t call_longer; /* kernels shorter than the call that launched them */
    uint64_t call_shorter;
    uint64_t graph_kernels; /* kernels whose call launched more than one */
    /* Queue depth: activities launched but not finished at each launch. */
    double depth_mean;
    uint64_t depth_max;
    uint64_t found_empty; /* launches onto an idle device */
    uint64_t depth_count; /* launches examined */
};

/* Over the activities of a device (0: all devices) that start in their device's selection,
 * by_device[id] (NULL: anywhere). */
bool launches_find(const struct model *model, uint32_t device, const struct selection *by_device,
                   struct launches *launches, struct status *status);

/* Adds one device to the sum of several; all but the median delay. */
void launches_add(struct launches *sum, const struct launches *one);
/* Only the median delay, of kernels on all devices. */
bool launches_median_delay(const struct model *model, const struct selection *by_device,
                           int64_t *median, struct status *status);

#endif
