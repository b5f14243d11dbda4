/* Which kernels took the time? Kernels are grouped by a short form of their name; each group has
 * the full names it stands for. */
#ifndef RIDGE_ANALYSIS_KERNELS_H
#define RIDGE_ANALYSIS_KERNELS_H

#include "analysis/occupancy.h"
#include "analysis/work.h"

/* Theoretical occupancy of several kernels: the time-weighted mean, and the limiting resource. */
struct kernel_occupancy {
    int64_t time;    /* of those whose occupancy is known */
    double weighted; /* share times nanoseconds */
    int64_t limit_time[OCCUPANCY_LIMITS];
};
static inline bool kernel_occupancy_known(const struct kernel_occupancy *occupancy) {
    return occupancy->time > 0;
}
/* 0 to 1; 0 when unknown. */
static inline double kernel_occupancy_mean(const struct kernel_occupancy *occupancy) {
    return occupancy->time > 0 ? occupancy->weighted / (double)occupancy->time : 0;
}
/* The limit with most of the time. */
enum occupancy_limit kernel_occupancy_limit(const struct kernel_occupancy *occupancy);

/* Work and roof of several kernels: sums over those where they are known. */
struct kernel_limits {
    double bytes, flops;
    int64_t bytes_time, flops_time; /* of kernels with known bytes, with known operations */
    double roof;                    /* nanoseconds at the roof, */
    int64_t roof_time;              /* of kernels that took this long */
    int64_t bound_time[KERNEL_BOUNDS];
    bool estimated; /* the work of some is an estimate */
};
/* Bytes and operations per second, operations per byte, fraction of the roof (at most 1); 0:
 * unknown. */
double kernel_limits_byte_rate(const struct kernel_limits *limits);
double kernel_limits_flop_rate(const struct kernel_limits *limits);
double kernel_limits_intensity(const struct kernel_limits *limits);
double kernel_limits_reached(const struct kernel_limits *limits);
/* The bound with most of the time, or BOUND_UNKNOWN. */
enum kernel_bound kernel_limits_bound(const struct kernel_limits *limits);

struct kernel_group {
    struct text short_name; /* owned by the table */
    uint32_t full_name;     /* string id of the member that took most time */
    uint64_t full_names;    /* number of distinct full names */
    uint64_t count;
    int64_t total, min, median, max;
    struct kernel_occupancy occupancy;
    struct kernel_limits limits;
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
    struct kernel_limits limits;
    struct intern names; /* holds the short names */
};

/* Kernels of a device (0: all devices) that start in their device's selection, by_device[id] (NULL:
 * anywhere). */
bool kernels_find(const struct model *model, const struct occupancy *occupancy,
                  const struct work *work, uint32_t device, const struct selection *by_device,
                  struct kernels *kernels, struct status *status);
void kernels_finish(struct kernels *kernels);

/* Shortens a kernel's name: demangles it where a C++ library is available and drops the return
 * type, parameters and namespaces; template arguments stay to the second level. */
bool kernel_short_name(struct text full, struct buffer *shortened, struct status *status);

#endif
