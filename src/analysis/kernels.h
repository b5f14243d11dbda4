/* Which kernels took the time? Kernels are grouped by a short form of their name; each group knows
 * the full names it stands for. */
#ifndef RIDGE_ANALYSIS_KERNELS_H
#define RIDGE_ANALYSIS_KERNELS_H

#include "analysis/model.h"

struct kernel_group {
    struct text short_name; /* owned by the table */
    uint32_t full_name;     /* string id of the member that took most time */
    uint64_t full_names;    /* how many different ones */
    uint64_t count;
    int64_t total, min, median, max;
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
    struct intern names;             /* holds the short names */
};

/* Kernels of a device (0: of all) that start inside their device's selection, by_device[id] (NULL:
 * anywhere). */
bool kernels_find(const struct model *model, uint32_t device, const struct selection *by_device,
                  struct kernels *kernels, struct status *status);
void kernels_finish(struct kernels *kernels);

/* Shortens a kernel's name: mangled names are demangled where the C++ library is there to do it,
 * return type, parameters and namespaces go, template arguments stay to the second level. */
bool kernel_short_name(struct text full, struct buffer *shortened, struct status *status);

#endif
