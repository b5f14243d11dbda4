/* The measured limits (roofs) of a device, and which of them bounds a piece of work. */
#ifndef RIDGE_BENCH_ROOFS_ROOFS_H
#define RIDGE_BENCH_ROOFS_ROOFS_H

#include <stdint.h>

#include <ridge.h>

#include "base/json_write.h"
#include "base/output.h"
#include "base/status.h"

enum roof_kind {
    ROOF_BANDWIDTH, /* bytes a second */
    ROOF_RATE,      /* operations a second; a multiply-add is two */
    ROOF_LATENCY,   /* nanoseconds */
};

/* X(ID, key, kind, words) */
#define ROOFS(X)                                                                                   \
    X(MEMORY_READ, memory_read, BANDWIDTH, "memory, read")                                         \
    X(MEMORY_WRITE, memory_write, BANDWIDTH, "memory, write")                                      \
    X(MEMORY_COPY, memory_copy, BANDWIDTH, "memory, copy (read + written)")                        \
    X(CACHE_READ, cache_read, BANDWIDTH, "cache, read")                                            \
    X(CACHE_WRITE, cache_write, BANDWIDTH, "cache, write")                                         \
    X(CACHE_COPY, cache_copy, BANDWIDTH, "cache, copy (read + written)")                           \
    X(F32, f32, RATE, "f32 arithmetic")                                                            \
    X(F16, f16, RATE, "f16 arithmetic")                                                            \
    X(BF16, bf16, RATE, "bf16 arithmetic")                                                         \
    X(INT8, int8, RATE, "int8 arithmetic")                                                         \
    X(TRIGONOMETRY, trigonometry, RATE, "f32 sin, cos")                                            \
    X(EXPONENTIALS, exponentials, RATE, "f32 exp, log")                                            \
    X(MATRIX_F32, matrix_f32, RATE, "f32 matrix units (tf32)")                                     \
    X(MATRIX_F16, matrix_f16, RATE, "f16 matrix units")                                            \
    X(MATRIX_BF16, matrix_bf16, RATE, "bf16 matrix units")                                         \
    X(MATRIX_INT8, matrix_int8, RATE, "int8 matrix units")                                         \
    X(LAUNCH, launch, LATENCY, "launch, one after another")                                        \
    X(LAUNCH_WIDE, launch_wide, LATENCY, "launch that fills the device")                           \
    X(LAUNCH_CALL, launch_call, LATENCY, "launch, host part")                                      \
    X(LAUNCH_TO_START, launch_to_start, LATENCY, "launch call to start on an idle device")         \
    X(GRAPH_REPLAY, graph_replay, LATENCY, "replay of a graph of one kernel")                      \
    X(GRAPH_KERNEL, graph_kernel, LATENCY, "each further kernel of a graph")                       \
    X(SYNCHRONIZE, synchronize, LATENCY, "synchronization of an idle device")                      \
    X(ROUND_TRIP, round_trip, LATENCY, "launch and wait for an empty kernel")

#define ROOF_ENUM(ID, key, kind, words) ROOF_##ID,
enum roof_id { ROOFS(ROOF_ENUM) ROOF_COUNT };

struct roof_info {
    const char *key, *words;
    enum roof_kind kind;
};
extern const struct roof_info roof_infos[ROOF_COUNT];

struct roof {
    double value;  /* 0: not measured; `how` has the reason */
    double spread; /* as statistics_spread() */
    double stated; /* the vendor's figure from the driver; 0: unknown */
    char how[96];  /* "product of 8192 x 8192 by the library", "16 bytes a thread" */
};

enum { TRANSFERS_MAX = 64 };
struct transfer_roof {
    uint64_t bytes;
    bool to_device, pinned;
    struct roof roof; /* bytes a second */
};

/* The bandwidth of repeated access to a working set: caches of any level, then memory. */
enum { WORKING_SETS_MAX = 16 };
struct working_set {
    uint64_t bytes;   /* all that is read and written */
    struct roof roof; /* the better of reading and copying */
};

struct roofs {
    char device[32], description[128], driver[128];
    int64_t measured_at; /* seconds of Unix time */
    bool quick;
    uint64_t cache_bytes;
    struct roof of[ROOF_COUNT];
    struct transfer_roof transfers[TRANSFERS_MAX];
    unsigned transfer_count;
    struct working_set working_sets[WORKING_SETS_MAX]; /* ascending; the last one is in memory */
    unsigned working_set_count;
    char note[160]; /* "throttled: ..." after a disturbance; else "" */
};

/* Called with what is being measured, for a progress line; may be NULL. */
typedef void roofs_progress(void *context, const char *what);

/* Measures them all: half a minute, or with `quick` a few seconds with less certainty. */
bool roofs_measure(ridge_device *device, bool quick, roofs_progress *progress, void *context,
                   struct roofs *roofs, struct status *status);

/* Cached for the same device, driver, threads and version of ridge. Quick measurements are only
 * found if `quick` is set. */
bool roofs_load(ridge_device *device, bool quick_will_do, struct roofs *roofs);
void roofs_store(ridge_device *device, const struct roofs *roofs);

/* roofs_load(), or else roofs_measure() and roofs_store(). */
bool roofs_get(ridge_device *device, bool quick, bool refresh, roofs_progress *progress,
               void *context, struct roofs *roofs, struct status *status);

void roofs_write_json(const struct roofs *roofs, struct json *json);
/* An object as roofs_write_json() writes it. */
bool roofs_read_json(struct text object, struct roofs *roofs, struct status *status);

/* ---- Limits of work --------------------------------------------------------------------- */

/* What one call does. */
struct amount {
    uint64_t bytes; /* that must go through device memory: each input read, each output written */
    uint64_t moved_bytes; /* that the kernels as launched read and write; 0: not known */
    uint64_t touched;     /* working set of all alternating calls: whether a cache can hold it */
    uint64_t flops;
    enum roof_id arithmetic; /* what does the flops */
    uint64_t trigonometry;   /* of the flops, those that are sin or cos, */
    uint64_t exponentials;   /* and those that are exp or log */
    unsigned kernels;        /* launched one by one */
    unsigned replays;        /* of graphs, and in them: */
    unsigned graph_kernels;
    uint64_t transfer_bytes; /* between host and device, in transfer_count equal pieces */
    unsigned transfer_count;
    bool transfer_to_device, transfer_pinned;
};

enum limit_kind {
    LIMIT_NONE, /* the work or the roofs are unknown */
    LIMIT_MEMORY,
    LIMIT_CACHE,
    LIMIT_ARITHMETIC,
    LIMIT_LAUNCH,
    LIMIT_TRANSFER,
    LIMIT_KINDS
};
const char *limit_kind_name(enum limit_kind kind); /* "memory", "cache", "arithmetic", ... */

struct limit {
    enum limit_kind kind; /* the longest, which bounds the work */
    enum roof_id roof;    /* which roof that is; LIMIT_TRANSFER has none */
    double ns;            /* no call can be faster */
    double memory_ns, arithmetic_ns, launch_ns,
        transfer_ns; /* 0: nothing of the kind, or unknown */
};
struct limit roofs_limit(const struct roofs *roofs, const struct amount *amount);

/* The unit that does the flops of a matrix product of this type: matrix units where the device has
 * them (f32 is ordinary arithmetic unless RIDGE_TF32 is set). */
enum roof_id roofs_product_unit(const struct roofs *roofs, enum ridge_dtype dtype);

#endif
