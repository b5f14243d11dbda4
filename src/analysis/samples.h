/* Where did the CPU spend its time? Sampled functions by their own weight and with their callees.
 */
#ifndef RIDGE_ANALYSIS_SAMPLES_H
#define RIDGE_ANALYSIS_SAMPLES_H

#include "analysis/model.h"

struct sample_function {
    uint32_t function, module; /* string ids */
    uint64_t self_samples;
    int64_t self,
        total; /* nanoseconds of weight; total counts a recursive function once a sample */
};

struct samples {
    uint64_t count;
    int64_t weight;
    struct sample_function *functions; /* most self time first */
    size_t function_count;
};

bool samples_find(const struct model *model, const struct selection *selection,
                  struct samples *samples, struct status *status);
void samples_finish(struct samples *samples);

#endif
