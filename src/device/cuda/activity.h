/* Times of a CUDA device's work as CUPTI recorded them.
 *
 * Events around a kernel include what the driver does between them: microseconds, often longer
 * than the kernel itself. CUPTI's records have the start and end on the device. Each launch or
 * copy is a span. The driver calls made for it have correlation ids, and every record has the
 * id of its call.
 *
 * CUPTI slows down every launch while it is attached, so it is started with the first stamp and
 * finalized with the first work that needs no stamp.
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
    int64_t start, end;             /* of the records so far, first to last */
    uint32_t stream;                /* CUPTI's stream id */
    uint32_t first_call, last_call; /* correlation ids of its calls; first is 0 without any */
    uint32_t launched, arrived;     /* activities */
    bool held;                      /* a stamp refers to it */
};

/* The spans of a device; zero-initialized. */
struct cuda_activities {
    struct cuda_activities *next; /* the next subscribed device */
    bool subscribed;
    bool refused;                                /* until the next recording */
    struct status refusal;                       /* why */
    uint32_t context, streams[ACTIVITY_STREAMS]; /* CUPTI's ids */
    struct activity_span *spans; /* a ring: that of number n is at n % capacity, a power of two */
    size_t capacity;
    uint64_t oldest, end; /* numbers of the spans in the ring; never 0 */
    uint64_t held;
    uint64_t unrecorded; /* launches and copies without a stamp since the newest span */
    uint32_t last_call;  /* of the newest span that has one */
    struct {             /* the newest whose times were returned, on each stream */
        uint64_t number;
        int64_t end;
    } reported[ACTIVITY_STREAMS];
    int64_t early_max; /* largest time by which a record started before its launch */
};

struct cuda_device;

/* CUPTI records from now on; false when it cannot, and the reason is in activities.refusal. */
bool activity_subscribe(struct cuda_device *cuda);
/* For work that is not recorded: finalizes CUPTI once all requested times have arrived and no
 * other device is subscribed. */
void activity_rest(struct cuda_device *cuda);
/* As activity_rest(), even if records are missing; frees all memory. */
void activity_finish(struct cuda_device *cuda);

/* Driver calls of this thread between the two belong to the span. Returns its number, or 0 when
 * out of memory. */
uint64_t activity_begin(struct cuda_device *cuda, cuda_stream stream);
void activity_end(void);
/* Discards the span. */
void activity_release(struct cuda_device *cuda, uint64_t number);
/* From the first start to the last end of the span's activities; waits for them. The host's time
 * if there are none. */
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
