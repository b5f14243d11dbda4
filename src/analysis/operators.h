/* Which operators of a framework take the host's time? By name, as kernels on a device. */
#ifndef RIDGE_ANALYSIS_OPERATORS_H
#define RIDGE_ANALYSIS_OPERATORS_H

#include "analysis/model.h"

struct operator_group {
    uint32_t name; /* string id */
    uint64_t count;
    int64_t self;             /* without the operators that it calls */
    int64_t total;            /* with them; a recursive operator counts once for each level */
    int64_t min, median, max; /* of self */
};

struct operators {
    struct operator_group *groups; /* most self time first */
    size_t count;
    int64_t self; /* of all */
};

/* Operators that start in the selection (NULL: anywhere). */
bool operators_find(const struct model *model, const struct selection *selection,
                    struct operators *operators, struct status *status);
void operators_finish(struct operators *operators);

#endif
