/* The CUDA part of the probe, between its files.
 *
 * Calls are recorded by the thread that makes them (cuda_calls.c), and so are waits (cuda_waits.c).
 * What the device did comes from CUPTI in buffers (cuda_buffers.c), on a thread of CUPTI's, and
 * goes into a lane of its own (cuda_records.c). A thread of ours asks for what is complete a few
 * times a second, and the end of the program for all of it (cuda_flush.c). When a profiler of the
 * program's own wants CUPTI (cuda_rivals.c, cuda_slots.c), we leave it (cuda_listening.c) and may
 * come back.
 */
#ifndef RIDGE_PROBE_CUDA_CUDA_H
#define RIDGE_PROBE_CUDA_CUDA_H

#include <stdatomic.h>

#include "abi/cupti_decode.h"
#include "abi/cupti_library.h"
#include "probe/probe.h"

enum { CUDA_DEVICES = 64, CUDA_CONTEXTS = 1024 };

struct cuda_probe {
    struct probe *probe; /* these two are set before CUPTI knows of us, and never changed */
    const struct cupti *cupti;
    _Atomic int64_t since; /* we listen, or listened last: what began before is not ours */
    _Atomic uint32_t
        correlation_base; /* added to CUPTI's correlations, which may begin again at 1 */
};
extern struct cuda_probe cuda_probe;

/* A fact for the trace, from any thread that is not entered. */
void cuda_put_meta(const char *key, const char *value);
void cuda_put_meta_int(const char *key, int64_t number);

/* ---- Listening: with cuda_lock(), or before there is anybody else ---------------------------- */

bool cuda_subscribe(struct status *status);
bool cuda_is_subscribed(void);
/* Nobody reads any more: CUPTI is asked for nothing, so that the program pays for nothing. */
void cuda_unsubscribe(void);

/* What CUPTI takes where nobody has told it otherwise; no clock at all is not accepted. */
cupti_clock cuda_default_timestamp;

/* What a profiler of the program's own has set in CUPTI, as far as it was seen. */
struct cupti_other_subscriber {
    uint64_t kinds; /* that it enabled: a bit each */
    cupti_clock *clock;
    cupti_buffer_requested *requested; /* all come back by cuda_buffer_completed() */
};
/* Fetches what is complete; nothing is heard of what happens from then on. */
void cuda_disable(const struct cupti_other_subscriber *theirs);
/* After it: fetches all that there is, and leaves CUPTI as if we had never been there. */
void cuda_yield_subscriber(const struct cupti_other_subscriber *theirs);

/* ---- Calls ------------------------------------------------------------------------------- */

/* For cuptiSubscribe(). */
cupti_callback cuda_callback;
/* Asks CUPTI to tell of the calls in src/abi/cupti_functions.h, as far as it knows them. */
void cuda_enable_callbacks(cupti_subscriber subscriber);
/* Correlation of the last call that put work on a device; 0: there was none. */
uint32_t cuda_last_launch(void);
/* When the call with that correlation began, if it is one of the few that are remembered; else 0.
 */
int64_t cuda_call_start(uint32_t correlation);
/* The thread that makes the allocating call with that correlation; 0: not known. */
int64_t cuda_call_thread(uint32_t correlation);

/* ---- Buffers ------------------------------------------------------------------------------ */

cupti_buffer_requested cuda_buffer_requested;
/* Whether CUPTI is refused any more of them: what it would put there is dropped. */
void cuda_buffers_suspend(bool suspend);

/* ---- Records ------------------------------------------------------------------------------ */

cupti_buffer_completed cuda_buffer_completed;
/* Correlation of the last piece of work that was told of; 0: there was none. */
uint32_t cuda_last_record(void);
/* Whether records have stopped coming although work goes on: a profiler of the program's own has
 * CUPTI's buffers. */
bool cuda_lost_subscription(void);
/* All has come that will: tells of what did not, or came without times, and why. */
void cuda_records_report_lost(const char *why);
/* What is only known at the end: what CUPTI cost, whether its records stopped coming. */
void cuda_records_finish(void);

/* ---- Waits -------------------------------------------------------------------------------- */

/* A call that has to do with the order of queues, when it has ended well. */
struct cuda_ordering {
    unsigned order;  /* CUPTI_ORDER_* of abi/cupti_functions.h */
    bool per_thread; /* no queue is the thread's own, not the one that all have */
    const struct cupti_call_data *data;
    uint32_t correlation;
    int64_t start, end;
};
void cuda_event_recorded(const struct cuda_ordering *call);
/* Nothing, when it is not a wait. */
void cuda_put_wait(struct spool_lane *lane, const struct cuda_ordering *call);

/* Whether CUPTI reports new streams from here on. While it does, the ids of streams are kept. */
void cuda_new_streams_reported(bool reported);
/* A stream or a context was created: handles may have been reused, and ids are queried again. */
void cuda_stream_created(void);

/* ---- Devices ------------------------------------------------------------------------------ */

/* Describes the devices when a context is first seen; on a thread of the program, inside a call. */
void cuda_context_seen(struct CUctx_st *context, uint32_t number);
/* The device of a context, 0 when it is not known. */
uint32_t cuda_context_device(uint32_t context);
/* Puts the description of a device, if there is one, into the lane. False when it could not be put
 * yet: another thread is making it, or there was no room. */
bool cuda_device_put(struct spool_lane *lane, uint32_t device);
/* The context of a queue, NULL when the driver does not say. */
struct CUctx_st *cuda_stream_context(struct CUstream_st *stream);
/* Of the driver: 13; 0 when it does not say. */
int cuda_driver_major(void);
/* Whether what is put into the queue goes into a graph. */
bool cuda_is_capturing(struct CUstream_st *stream);

/* ---- Other profilers ------------------------------------------------------------------------ */

/* Gives way from then on when libraries that are loaded by now want CUPTI. Once. */
void cupti_conflict_watch(void);
/* Listens again when they have left CUPTI and nothing of theirs is in it. With cuda_lock(). */
void cupti_conflict_poll(void);

/* A buffer that is not ours. */
cupti_buffer_completed cupti_conflict_buffer_completed;

/* A function of CUPTI's, and what others are to call in its place. */
struct got_entry {
    const char *name;
    uintptr_t theirs, ours;
};
/* In libraries that are loaded by now. */
void got_patch(const struct got_entry *entries, size_t count);
/* The library that has this code, if slots of it were replaced; else "a library". */
const char *got_patch_library(const void *code);

/* ---- Flushing ----------------------------------------------------------------------------- */

void cuda_flush_start(void);
/* For what is done with CUPTI at any time. False in a child of fork(), when the program is at its
 * end, or when somebody has it for too long. */
bool cuda_lock(void);
void cuda_unlock(void);

#endif
