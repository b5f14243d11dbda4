/* One XPlane of an XSpace, decoded in place: its names, its lines, and the events and statistics of
 * a line. Texts point into the plane's bytes. */
#ifndef RIDGE_IMPORT_XPLANE_XPLANE_PLANE_H
#define RIDGE_IMPORT_XPLANE_XPLANE_PLANE_H

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/protobuf.h"

/* The statistics that ridge reads, by their name in stat_metadata. */
#define XPLANE_STATS(X)                                                                            \
    X(correlation_id)                                                                              \
    X(kernel_details)                                                                              \
    X(memcpy_details)                                                                              \
    X(memset_details)                                                                              \
    X(hlo_op)                                                                                      \
    X(hlo_module)                                                                                  \
    X(tf_op)                                                                                       \
    X(name)                                                                                        \
    X(step_num)                                                                                    \
    X(allocation_bytes)                                                                            \
    X(bytes_allocated)                                                                             \
    X(bytes_reserved)                                                                              \
    X(addr)                                                                                        \
    X(allocator_name)                                                                              \
    X(device_vendor)                                                                               \
    X(clock_rate)                                                                                  \
    X(core_count)                                                                                  \
    X(memory_bandwidth)                                                                            \
    X(memory_size)                                                                                 \
    X(compute_cap_major)                                                                           \
    X(compute_cap_minor)                                                                           \
    X(profile_start_time)

#define XPLANE_STAT_ENUM(name) XPLANE_##name,
enum xplane_stat { XPLANE_STATS(XPLANE_STAT_ENUM) XPLANE_STAT_COUNT };

struct xplane_value {
    bool present;
    uint64_t number; /* a double is rounded toward zero */
    struct text text;
};

struct xplane_stats {
    struct xplane_value values[XPLANE_STAT_COUNT];
};

struct xplane_plane {
    struct text name;
    struct xplane_stats stats;

    /* private: metadata by id */
    struct text bytes;
    struct map event_names, stat_names; /* id -> index of */
    struct text *events;
    size_t event_count, event_capacity;
    struct xplane_stat_name *stat_list;
    size_t stat_count, stat_capacity;
};

struct xplane_line {
    int64_t id;
    struct text name;
    int64_t timestamp_ns;
    struct protobuf events; /* for xplane_next_event() */
};

struct xplane_event {
    struct text name;
    int64_t offset_ps, duration_ps;
    bool has_duration;
    bool is_aggregate; /* an occurrence count instead of a time */
    struct xplane_stats stats;
    const unsigned char *at; /* for messages */
};

/* Call xplane_plane_finish() even after a failure. On damage, *damage is the address of the bad
 * byte. */
bool xplane_plane_read(struct text bytes, struct xplane_plane *plane, const unsigned char **damage,
                       struct status *status);
void xplane_plane_finish(struct xplane_plane *plane);

/* Iterates lines; start with `*at` = protobuf_of(plane->bytes). False at the end. */
bool xplane_next_line(const struct xplane_plane *plane, struct protobuf *at,
                      struct xplane_line *line, const unsigned char **damage);
/* False at the end and on damage, which sets *damage. */
bool xplane_next_event(const struct xplane_plane *plane, struct xplane_line *line,
                       struct xplane_event *event, const unsigned char **damage);

#endif
