/* The CUDA part of the probe, between its files.
 *
 * Calls are recorded by the thread that makes them (cuda_calls.c). What the device did comes from
 * CUPTI in buffers (cuda_buffers.c), on a thread of CUPTI's, and goes into a lane of its own
 * (cuda_records.c, cuda_waits.c). A thread of ours asks for what is complete a few times a second,
 * and the end of the program for all of it (cuda_flush.c).
 */
#ifndef RIDGE_PROBE_CUDA_H
#define RIDGE_PROBE_CUDA_H

#include "cupti/decode.h"
#include "cupti/library.h"
#include "probe/probe.h"

enum { CUDA_DEVICES = 64, CUDA_CONTEXTS = 1024 };

/* Set before CUPTI knows of us, and never changed. */
struct cuda_probe {
    struct probe *probe;
    const struct cupti *cupti;
    cupti_subscriber subscriber;
};
extern struct cuda_probe cuda_probe;

/* Nobody reads any more: CUPTI is asked for nothing, so that the program pays for nothing. */
void cuda_stop_listening(void);

/* ---- Calls ------------------------------------------------------------------------------- */

/* For cuptiSubscribe(). */
cupti_callback cuda_called;
/* Asks CUPTI to tell of the calls in src/cupti/functions.h, as far as it knows them. */
void cuda_calls_enable(cupti_subscriber subscriber);
/* Correlation of the last call that put work on a device; 0: there was none. */
uint32_t cuda_last_launch(void);
/* When the call with that correlation began, if it is one of the few that are remembered; else 0.
 */
int64_t cuda_call_began(uint32_t correlation);
/* The thread that makes the allocating call with that correlation; 0: not known. */
int64_t cuda_call_thread(uint32_t correlation);

/* ---- Buffers ------------------------------------------------------------------------------ */

cupti_buffer_requested cuda_buffer_requested;
/* The first `used` bytes are not zero any more. */
void cuda_buffer_release(uint8_t *buffer, size_t used);

/* ---- Records ------------------------------------------------------------------------------ */

cupti_buffer_completed cuda_buffer_completed;
/* Correlation of the last piece of work that was told of; 0: there was none. */
uint32_t cuda_last_record(void);
/* Whether records have stopped coming although work goes on: a profiler of the program's own has
 * CUPTI's buffers. */
bool cuda_is_taken_over(void);
/* What is only known at the end: what CUPTI cost, whether its records stopped coming. */
void cuda_records_end(void);

/* Waits, and the events that they wait for: called with the lane and one at a time. */
void cuda_put_wait(struct spool_lane *lane, const struct cupti_record *record);
void cuda_event_recorded(const struct cupti_record *record);

/* ---- Devices ------------------------------------------------------------------------------ */

/* Describes the devices when a context is first seen; on a thread of the program, inside a call. */
void cuda_context_seen(struct CUctx_st *context, uint32_t number);
/* The device of a context, 0 when it is not known. */
uint32_t cuda_context_device(uint32_t context);
/* Puts the description of a device, if there is one, into the lane. */
void cuda_device_put(struct spool_lane *lane, uint32_t device);
/* Of the driver: 13; 0 when it does not say. */
int cuda_driver_major(void);

/* ---- Other profilers ------------------------------------------------------------------------ */

/* Notices when libraries that are loaded by now want CUPTI too. Once. */
void cuda_rivals_watch(void);

/* ---- Flushing ----------------------------------------------------------------------------- */

void cuda_flush_start(void);

#endif
