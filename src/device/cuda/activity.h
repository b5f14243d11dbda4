/* Times of a CUDA device's work as CUPTI recorded them.
 *
 * Events around a kernel take in what the driver does between them: microseconds, more than many a
 * kernel takes. CUPTI's records have the times at which the device itself began and ended. Each
 * piece of work is a span: the driver calls made for it are known by their correlation ids, and so
 * is every record by the call that it came from.
 *
 * CUPTI makes each launch of the process slower while it is there, so it is started with the first
 * stamp and taken out of the process by the first work after which nobody asks.
 */
#ifndef RIDGE_DEVICE_CUDA_ACTIVITY_H
#define RIDGE_DEVICE_CUDA_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "abi/cuda.h"
#include "device/device.h"

enum { ACTIVITY_STREAMS = 4 };

struct activity_span {
    int64_t begun;                  /* on the host's clock */
    int64_t start, end;             /* of what has arrived, from the first to the last */
    uint32_t stream;                /* CUPTI's number of it */
    uint32_t first_call, last_call; /* correlation ids of its calls; first is 0 without any */
    uint32_t launched, arrived;     /* activities */
    bool held;                      /* a stamp stands for it */
};

/* What a device knows of its spans; all zero before the first. */
struct cuda_activities {
    struct cuda_activities *next; /* another device that listens */
    bool subscribed;
    bool refused;                                /* until the next recording */
    struct status refusal;                       /* why */
    uint32_t context, streams[ACTIVITY_STREAMS]; /* CUPTI's numbers */
    struct activity_span *spans; /* a ring: that of number n is at n % capacity, a power of two */
    size_t capacity;
    uint64_t oldest, end; /* numbers of the spans in the ring; never 0 */
    uint64_t held;
    uint64_t unrecorded; /* pieces of work since the newest span that nobody asked to record */
    uint32_t last_call;  /* of the newest span that has one */
    struct {             /* the newest whose times were returned, on each stream */
        uint64_t number;
        int64_t end;
    } reported[ACTIVITY_STREAMS];
    int64_t early_max; /* how long before its launch a record said that work began */
};

struct cuda_device;

/* CUPTI records from now on; false when it cannot, and the reason is in activities.refusal. */
bool activity_subscribe(struct cuda_device *cuda);
/* For work that is not recorded: takes CUPTI out of the process when all times that are asked for
 * have arrived and no other device listens. */
void activity_rest(struct cuda_device *cuda);
/* As activity_rest(), whatever is missing; frees what there is. */
void activity_finish(struct cuda_device *cuda);

/* Driver calls of this thread between the two belong to the span, whose number is not 0. It is 0
 * when there is no memory. */
uint64_t activity_begin(struct cuda_device *cuda, cuda_stream stream);
void activity_end(void);
/* Forgets the span. */
void activity_release(struct cuda_device *cuda, uint64_t number);
/* From the first begin to the last end of what the span's calls put on the device; waits for it.
 * The host's time when they put nothing there. */
bool activity_times(struct cuda_device *cuda, uint64_t number, int64_t *start, int64_t *end,
                    struct status *status);
/* Bound of the error of these times. */
int64_t activity_clock_error(const struct cuda_device *cuda);

/* Version of CUPTI while a device subscribes: "13.0". */
void session_version(char *text, size_t capacity);

/* Counts the open CUDA devices: CUPTI is only finalized when no other device may be in the middle
 * of a call. */
void session_device_opened(void);
void session_device_closed(void);

#endif
