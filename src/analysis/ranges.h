/* Which part of the program owns the time? Ranges by name with the host time they span and the
 * device time of what was launched inside them: a model's layers. Launches of a thread without
 * annotations (autograd's) also count for the annotation that is open meanwhile on the process's
 * main thread. */
#ifndef RIDGE_ANALYSIS_RANGES_H
#define RIDGE_ANALYSIS_RANGES_H

#include "analysis/model.h"

struct range_group {
    uint32_t name; /* string id */
    struct text text;
    unsigned category;
    unsigned depth; /* of its outermost occurrence; 0 = nothing around it */
    uint64_t count;
    int64_t host_time;   /* inclusive; what several of its ranges share counts once */
    int64_t host_self;   /* while no range inside it was open */
    int64_t device_time; /* of all activities launched inside */
    int64_t device_self; /* of those launched inside it but not inside a range within it */
    uint64_t activities; /* launched inside */
};

struct ranges {
    struct range_group *groups; /* most device time, then most host time, first */
    size_t count;
    int64_t device_time;    /* of all activities with a launch, in any range or none */
    int64_t device_outside; /* of it, launched outside every range and credited to none */
};

/* Ranges and launches that start inside the selection (NULL: anywhere). */
bool ranges_find(const struct model *model, const struct selection *selection,
                 struct ranges *ranges, struct status *status);
void ranges_finish(struct ranges *ranges);

#endif
