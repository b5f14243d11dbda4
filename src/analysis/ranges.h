/* Which part of the program owns the time? Ranges by name, with their host time and the device time
 * of what was launched in them: a model's layers. Launches of a thread without annotations
 * (autograd's) also count for the annotation open at that time on the process's main thread. Labels
 * of a queue (Vulkan's debug utils) have no host time; their device time is that of the queue's
 * activities inside them. */
#ifndef RIDGE_ANALYSIS_RANGES_H
#define RIDGE_ANALYSIS_RANGES_H

#include "analysis/model.h"

struct range_group {
    uint32_t name; /* string id */
    struct text text;
    unsigned category;
    unsigned depth; /* of its outermost occurrence; 0 = outermost */
    uint64_t count;
    int64_t host_time;   /* inclusive; overlapping ranges count once */
    int64_t host_self;   /* exclusive of nested ranges */
    int64_t device_time; /* of all activities launched inside */
    int64_t device_self; /* of those not launched in a nested range */
    uint64_t activities; /* launched inside */
    int64_t backward;    /* device time of the gradients of the operators inside */
};

struct ranges {
    struct range_group *groups; /* most device time, then most host time, first */
    size_t count;
    int64_t device_time;    /* of all activities with a launch, in any range or none */
    int64_t device_outside; /* of it, not credited to any range */
};

/* Ranges and launches that start in the selection (NULL: anywhere). */
bool ranges_find(const struct model *model, const struct selection *selection,
                 struct ranges *ranges, struct status *status);
void ranges_finish(struct ranges *ranges);

#endif
