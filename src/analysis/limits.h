/* What are the limits of a device? Measured (by `ridge peaks`, stored as meta "roof.LABEL.KEY" when
 * recording, or passed by the caller), else stated by its driver, else published for devices of its
 * name, else observed in the trace. */
#ifndef RIDGE_ANALYSIS_LIMITS_H
#define RIDGE_ANALYSIS_LIMITS_H

#include "analysis/model.h"
#include "analysis/published.h"

/* X(ID, key): rates are bytes or operations per second, times are nanoseconds. */
#define DEVICE_LIMITS(X)                                                                           \
    X(MEMORY, memory_copy) /* bandwidth */                                                         \
    X(CACHE, cache_copy)   /* bandwidth */                                                         \
    X(F32, f32)                                                                                    \
    X(F16, f16)                                                                                    \
    X(BF16, bf16)                                                                                  \
    X(MATRIX_F32, matrix_f32) /* tf32 */                                                           \
    X(MATRIX_F16, matrix_f16)                                                                      \
    X(MATRIX_BF16, matrix_bf16)                                                                    \
    X(LAUNCH, launch)                   /* back-to-back launches */                                \
    X(LAUNCH_CALL, launch_call)         /* on the host */                                          \
    X(LAUNCH_TO_START, launch_to_start) /* from the call to the start on an idle device */         \
    X(GRAPH_REPLAY, graph_replay)       /* of a graph with one kernel */                           \
    X(GRAPH_KERNEL, graph_kernel)       /* each further kernel of a graph */                       \
    X(SYNCHRONIZE, synchronize)         /* with an idle device */                                  \
    X(TO_DEVICE_PINNED, to_device_pinned)                                                          \
    X(TO_DEVICE_PAGEABLE, to_device_pageable)                                                      \
    X(TO_HOST_PINNED, to_host_pinned)                                                              \
    X(TO_HOST_PAGEABLE, to_host_pageable)                                                          \
    X(CACHE_BYTES, cache_bytes) /* size */                                                         \
    X(F64, f64)                                                                                    \
    X(MATRIX_F64, matrix_f64)                                                                      \
    X(MATRIX_F8, matrix_f8)                                                                        \
    X(MATRIX_I8, matrix_i8)

#define DEVICE_LIMIT_ENUM(ID, key) DEVICE_LIMIT_##ID,
enum device_limit { DEVICE_LIMITS(DEVICE_LIMIT_ENUM) DEVICE_LIMIT_COUNT };
const char *device_limit_key(unsigned limit);
#define DEVICE_LIMIT_MAX 1e30 /* larger values are damage */

enum limit_source {
    LIMIT_UNKNOWN,
    LIMIT_OBSERVED,  /* the best in this trace: a lower bound */
    LIMIT_PUBLISHED, /* for devices of this name: the share of the peak that kernels reach */
    LIMIT_STATED,    /* by the driver: units, clocks, bus width */
    LIMIT_MEASURED,  /* by ridge peaks, on this device */
};

struct limits {                    /* of one device */
    double of[DEVICE_LIMIT_COUNT]; /* 0: unknown */
    enum limit_source source[DEVICE_LIMIT_COUNT];
    const struct published *published; /* NULL: not in the table */
};

/* The published peak behind a limit; 0: none. */
double limits_published_peak(const struct limits *limits, enum device_limit limit);

/* By device id, trace->device.count of them; free with memory_free(). Measured limits come from the
 * trace's meta, else from `given` (by device id, may be NULL; of[] != 0 counts as measured). */
bool limits_find(const struct model *model, const struct limits *given, struct limits **by_device,
                 struct status *status);

/* The stated f32 rate without matrix units; 0: unknown. */
double limits_stated_f32(uint32_t major, uint32_t minor, uint32_t multiprocessors,
                         uint64_t clock_hz);
/* The ratio of f32 products on matrix units (tf32) to ordinary f32 for a compute capability; 0:
 * unknown. */
double limits_matrix_ratio(uint32_t major, uint32_t minor);

/* Sets a limit if the value is valid and comes from a better source than the present one. */
void limits_offer(struct limits *limits, enum device_limit limit, double value,
                  enum limit_source source);

#endif
