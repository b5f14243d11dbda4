/* The CUDA part of the probe, shared by its files.
 *
 * API calls are recorded by the thread that makes them (cuda_calls.c), and so are waits
 * (cuda_waits.c). CUPTI delivers the device's records in buffers, on a thread of its own; they go
 * to a lane of their own (cuda_records.c). A thread of the probe flushes completed buffers a few
 * times a second, and exit() flushes all (cuda_flush.c). When a profiler in the program wants to
 * use CUPTI (cupti_conflict.c, got_patch.c), the probe unsubscribes (cuda_subscriber.c) and may
 * subscribe again later.
 */
#ifndef RIDGE_PROBE_CUDA_CUDA_H
#define RIDGE_PROBE_CUDA_CUDA_H

#include <stdatomic.h>

#include "abi/cupti_decode.h"
#include "abi/cupti_library.h"
#include "probe/probe.h"

enum { CUDA_DEVICES = 64, CUDA_CONTEXTS = 1024 };

struct cuda_probe {
    struct probe *probe; /* these two are set before cuptiSubscribe() and never change */
    const struct cupti *cupti;
    _Atomic bool is_started;
    _Atomic int64_t since;             /* last subscription; earlier calls are ignored */
    _Atomic uint32_t correlation_base; /* added to CUPTI's ids, which may restart at 1 */
};
extern struct cuda_probe cuda_probe;

/* Meta for the trace. Must not be called between probe_enter() and probe_leave(). */
void cuda_put_meta(const char *key, const char *value);
void cuda_put_meta_int(const char *key, int64_t number);

/* ---- Subscription: with cuda_lock(), or during initialization ---------------------------- */

bool cuda_subscribe(struct status *status);
bool cuda_is_subscribed(void);
/* Records nodes instead of whole graphs once XLA is loaded, see cuda_subscriber.c. */
void cuda_graphs_poll(void);
/* The recorder has stopped: disables all records and callbacks, so that they cost nothing. */
void cuda_unsubscribe(void);

/* CUPTI's default clock; the callback cannot be reset to NULL. */
cupti_clock cuda_default_timestamp;

/* The settings of another CUPTI client in the process, as far as they were seen. */
struct cupti_other_subscriber {
    uint64_t kinds; /* enabled record kinds, one bit each */
    cupti_clock *clock;
    cupti_buffer_requested *requested; /* completed buffers all go to cuda_buffer_completed() */
};
/* Flushes completed buffers and disables all records and callbacks. */
void cuda_disable(const struct cupti_other_subscriber *theirs);
/* After it: flushes everything, restores CUPTI's settings and unsubscribes. Running work is lost,
 * and reported with the reason unless that is NULL. */
void cuda_yield_subscriber(const struct cupti_other_subscriber *theirs, const char *why);

/* ---- Calls ------------------------------------------------------------------------------- */

/* For cuptiSubscribe(). */
cupti_callback cuda_callback;
/* Enables callbacks for the functions in abi/cupti_functions.h that this CUPTI knows. */
void cuda_enable_callbacks(cupti_subscriber subscriber);
/* Whether a kind of record or a callback is enabled. A failure is recorded, unless this version of
 * CUPTI does not know it, which is harmless. */
bool cuda_enabled(cupti_result result, const char *call);
/* Correlation id of the last call that launched work; 0: none. */
uint32_t cuda_last_launch(void);
/* The start of the call with that correlation id, if it is one of the sampled ones; else 0. */
int64_t cuda_call_start(uint32_t correlation);
/* The thread of the allocating call with that correlation id; 0: unknown. */
int64_t cuda_call_thread(uint32_t correlation);

/* ---- Buffers ----------------------------------------------------------------------------- */

cupti_buffer_requested cuda_buffer_requested;
/* While suspended CUPTI gets no buffers and drops its records. */
void cuda_buffers_suspend(bool suspend);

/* ---- Records ----------------------------------------------------------------------------- */

cupti_buffer_completed cuda_buffer_completed;
/* Correlation id of the last device record; 0: none. */
uint32_t cuda_last_record(void);
/* Whether records have stopped although work is launched: another profiler gets CUPTI's buffers. */
bool cuda_lost_subscription(void);
/* Between these two records are taken. */
void cuda_records_open(void);
void cuda_records_close(void);
/* After the last flush: reports records that are missing or have no times, unless `why` is NULL. */
void cuda_records_report_lost(const char *why);
/* At exit: reports CUPTI's overhead and lost records. */
void cuda_records_finish(bool flushed);

/* ---- Waits ------------------------------------------------------------------------------- */

/* A successful call that orders queues. */
struct cuda_ordering {
    unsigned order;  /* CUPTI_ORDER_* of abi/cupti_functions.h */
    bool per_thread; /* NULL is the per-thread default stream, not the legacy one */
    const struct cupti_call_data *data;
    uint32_t correlation;
    int64_t start, end;
};
void cuda_event_recorded(const struct cuda_ordering *call);
/* Does nothing if it is not a wait. */
void cuda_put_wait(struct spool_lane *lane, const struct cuda_ordering *call);

/* Whether CUPTI reports new streams from now on. While it does, stream ids are cached. */
void cuda_new_streams_reported(bool reported);
/* A stream or a context was created: handles may be reused, so cached ids are invalid. */
void cuda_stream_created(void);

/* ---- Nodes of graphs --------------------------------------------------------------------- */

/* A node was created, or cloned from another, by the call with this correlation id (0: by a call
 * that is not recorded). */
void cuda_node_created(const struct cupti_resource_data *data, uint32_t correlation);
void cuda_node_cloned(const struct cupti_resource_data *data);
/* The correlation id of the call that created the node or its original; 0: unknown. */
uint32_t cuda_node_captured_by(uint64_t node);
/* The number of nodes of a graph that is launched; 0: unknown. */
uint32_t cuda_graph_nodes(uint32_t graph);

/* ---- Devices ----------------------------------------------------------------------------- */

/* Queries the devices when a context is first seen, on the calling thread of the program. */
void cuda_context_seen(struct CUctx_st *context, uint32_t number);
/* The device of a context, or 0. */
uint32_t cuda_context_device(uint32_t context);
/* Puts the description of a device into the lane, if it exists. False: try again later, because
 * another thread is querying the device or the lane is full. */
bool cuda_device_put(struct spool_lane *lane, uint32_t device);
/* The context of a stream, or NULL. */
struct CUctx_st *cuda_stream_context(struct CUstream_st *stream);
/* The major version of the driver, or 0. */
int cuda_driver_major(void);
/* Whether the stream is being captured into a graph. */
bool cuda_is_capturing(struct CUstream_st *stream);

/* ---- Other CUPTI clients ----------------------------------------------------------------- */

/* Once: intercepts the CUPTI calls of all loaded libraries, to yield CUPTI to them. */
void cupti_conflict_watch(void);
/* Subscribes again when they no longer use CUPTI. With cuda_lock(). */
void cupti_conflict_poll(void);

/* Gives CUPTI back, to the other client if there is one. With cuda_lock(). */
void cupti_conflict_release(void);

/* Passes on a buffer of another client. */
cupti_buffer_completed cupti_conflict_buffer_completed;

/* A CUPTI function, and its replacement in the global offset tables (GOT) of other libraries. */
struct got_entry {
    const char *name;
    uintptr_t theirs, ours;
};
/* Replaces the entries in all loaded libraries. */
void got_patch(const struct got_entry *entries, size_t count);
/* The name of the patched library that contains this address, else "a library". */
const char *got_patch_library(const void *code);

/* ---- Flushing ---------------------------------------------------------------------------- */

void cuda_flush_start(void);
/* Serializes the use of CUPTI. False in a child of fork(), during exit(), or on timeout. */
bool cuda_lock(void);
void cuda_unlock(void);

#endif
