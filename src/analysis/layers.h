/* What does a step repeat? A model applies the same layers one after another, so a step launches
 * the same sequence of kernels several times. The time of each place in that sequence is what a
 * layer is made of; the time of each repetition is what each layer takes. */
#ifndef RIDGE_ANALYSIS_LAYERS_H
#define RIDGE_ANALYSIS_LAYERS_H

#include "analysis/steps.h"

struct layer_kernel {
    uint32_t name; /* string id */
    int64_t total; /* over all repetitions in all steps */
};

struct layers {
    struct layer_kernel *kernels;         /* of one repetition, in order; NULL: nothing repeats */
    size_t period;                        /* their number */
    int64_t *repetitions;                 /* time of each, summed over the steps */
    size_t count;                         /* of repetitions in a step, at least 3 */
    size_t steps;                         /* with this sequence */
    size_t kernels_before, kernels_after; /* of a step, outside of the repetitions */
    int64_t before, after;                /* their time, summed over the steps */
    int64_t total;                        /* of all kernels of these steps */
};

/* The steps of a device's selection that launch the most common sequence of kernels. */
bool layers_find(const struct model *model, const struct steps *steps, uint32_t device,
                 const struct selection *selection, struct layers *layers, struct status *status);
void layers_finish(struct layers *layers);

#endif
