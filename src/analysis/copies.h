/* How much was copied, in which direction, how fast, and in how small pieces? */
#ifndef RIDGE_ANALYSIS_COPIES_H
#define RIDGE_ANALYSIS_COPIES_H

#include "analysis/model.h"

/* A smaller copy takes longer to issue than to transfer on any current link. */
#define COPY_SMALL_BYTES (64 * 1024)

struct copy_group {
    uint64_t count, without_bytes;
    uint64_t bytes;
    int64_t time;            /* summed durations */
    int64_t time_with_bytes; /* of copies with a known size: for GB/s */
    uint64_t small, small_bytes;
    int64_t small_time;
    uint64_t without_memory; /* copies whose host memory kind is unknown */
    uint64_t pageable, pageable_bytes, pageable_without_bytes;
    int64_t pageable_time;
    uint64_t pinned, pinned_bytes, pinned_without_bytes;
    int64_t pinned_time;
};

struct copies {
    struct copy_group direction[COPY_DIRECTIONS];
    struct copy_group all;
    struct copy_group sets; /* memsets */
};

/* Over the activities of a device (0: all devices) that start in their device's selection,
 * by_device[id] (NULL: anywhere). */
void copies_find(const struct model *model, uint32_t device, const struct selection *by_device,
                 struct copies *copies);
/* Bytes per second of the copies with a known size; 0 when there are none. */
double copy_group_rate(const struct copy_group *group);
/* Sizes are known if at least one copy has one; they are sums over those. No copies have no bytes,
 * and that is known. The same for the kind of host memory. */
static inline bool copy_group_is_sized(const struct copy_group *group) {
    return group->count == 0 || group->without_bytes < group->count;
}
static inline bool copy_group_memory_is_known(const struct copy_group *group) {
    return group->count == 0 || group->without_memory < group->count;
}

#endif
