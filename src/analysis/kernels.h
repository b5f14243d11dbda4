/* Which kernels took the time? Kernels are grouped by a short form of their name; each group knows
 * the full names it stands for. */
#ifndef RIDGE_ANALYSIS_KERNELS_H
#define RIDGE_ANALYSIS_KERNELS_H

#include "analysis/occupancy.h"

/* Theoretical occupancy of several kernels: the mean over their time, and what limits it. */
struct kernel_occupancy {
    int64_t time;    /* of those whose occupancy is known */
    double weighted; /* share times nanoseconds */
    int64_t limit_time[OCCUPANCY_LIMITS];
};
static inline bool kernel_occupancy_known(const struct kernel_occupancy *occupancy) {
    return occupancy->time > 0;
}
/* 0 to 1; 0 when it is not known. */
static inline double kernel_occupancy_mean(const struct kernel_occupancy *occupancy) {
    return occupancy->time > 0 ? occupancy->weighted / (double)occupancy->time : 0;
}
/* What most of the time is limited by. */
enum occupancy_limit kernel_occupancy_limit(const struct kernel_occupancy *occupancy);

struct kernel_group {
    struct text short_name; /* owned by the table */
    uint32_t full_name;     /* string id of the member that took most time */
    uint64_t full_names;    /* how many different ones */
    uint64_t count;
    int64_t total, min, median, max;
    struct kernel_occupancy occupancy;
};

struct kernel_variant { /* one full name */
    uint32_t name;
    struct text text;
    size_t group;
    uint64_t count;
    int64_t total;
};

struct kernels {
    struct kernel_group *groups; /* most time first */
    size_t group_count;
    struct kernel_variant *variants; /* most time first */
    size_t variant_count;
    uint64_t count;
    int64_t total, min, median, max; /* over all kernels */
    struct kernel_occupancy occupancy;
    struct intern names; /* holds the short names */
};

/* Kernels of a device (0: of all) that start inside their device's selection, by_device[id] (NULL:
 * anywhere). */
bool kernels_find(const struct model *model, const struct occupancy *occupancy, uint32_t device,
                  const struct selection *by_device, struct kernels *kernels,
                  struct status *status);
void kernels_finish(struct kernels *kernels);

/* Shortens a kernel's name: mangled names are demangled where the C++ library is there to do it,
 * return type, parameters and namespaces go, template arguments stay to the second level. */
bool kernel_short_name(struct text full, struct buffer *shortened, struct status *status);

#endif
