/* Records synchronizations from the parameters of API calls, when they return. A wait refers to an
 * event; cudaEventRecord() determines the queue that the event stands for. The latest recording of
 * each event is kept in a table, in which a later event may replace an older one.
 *
 * CUPTI has records of synchronizations and events, too, but they slow down every launch, as
 * tests/bench/overhead shows.
 */
#include "probe/cuda/cuda.h"

#include <string.h>

#include "abi/cupti_functions.h"

enum { EVENTS = 4096 };
#define NO_STREAM UINT32_MAX

/* cudaStreamLegacy and cudaStreamPerThread: explicit handles of the default streams. */
#define LEGACY_STREAM ((struct CUstream_st *)1)
#define PER_THREAD_STREAM ((struct CUstream_st *)2)

struct recorded_event {
    uint64_t event;                                /* its handle; 0: empty */
    uint32_t number, context, stream, correlation; /* correlation 0: no queue */
};

/* A seqlock: the sequence is odd while a writer is active. A read is valid if the sequence is even
 * and the same before and after. */
static struct event_slot {
    _Atomic uint32_t sequence;
    _Atomic uint64_t event, number_and_context, stream_and_correlation;
} event_slots[EVENTS];
static _Atomic uint32_t last_number;

static struct event_slot *event_slot_of(const struct CUevent_st *event) {
    uint64_t hash = (uint64_t)(uintptr_t)event * 0x9E3779B97F4A7C15u;
    return &event_slots[(hash >> 32) % EVENTS];
}

static uint64_t pair(uint32_t high, uint32_t low) {
    return (uint64_t)high << 32 | low;
}

static uint64_t load_relaxed(_Atomic uint64_t *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void store_relaxed(_Atomic uint64_t *to, uint64_t value) {
    atomic_store_explicit(to, value, memory_order_relaxed);
}

/* If two threads write to a slot at once, the second one is dropped. */
static void keep_event(const struct recorded_event *recorded) {
    struct event_slot *slot = event_slot_of((const struct CUevent_st *)(uintptr_t)recorded->event);
    uint32_t sequence = atomic_load(&slot->sequence), number;
    if (sequence % 2 != 0 ||
        !atomic_compare_exchange_strong(&slot->sequence, &sequence, sequence + 1))
        return;
    atomic_thread_fence(memory_order_release);
    if (load_relaxed(&slot->event) == recorded->event)
        number = (uint32_t)(load_relaxed(&slot->number_and_context) >> 32);
    else
        number = atomic_fetch_add(&last_number, 1) + 1;
    store_relaxed(&slot->event, recorded->event);
    store_relaxed(&slot->number_and_context, pair(number, recorded->context));
    store_relaxed(&slot->stream_and_correlation, pair(recorded->stream, recorded->correlation));
    atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
}

static struct recorded_event find_event(const struct CUevent_st *event) {
    struct event_slot *slot = event_slot_of(event);
    uint32_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    uint64_t handle = load_relaxed(&slot->event), whose = load_relaxed(&slot->number_and_context),
             where = load_relaxed(&slot->stream_and_correlation);
    atomic_thread_fence(memory_order_acquire);
    if (sequence % 2 != 0 ||
        atomic_load_explicit(&slot->sequence, memory_order_relaxed) != sequence ||
        handle != (uintptr_t)event)
        return (struct recorded_event){0};
    return (struct recorded_event){handle, (uint32_t)(whose >> 32), (uint32_t)whose,
                                   (uint32_t)(where >> 32), (uint32_t)where};
}

struct queue {
    uint32_t context, stream;
};

/* A cache of stream ids, so that a wait need not query CUPTI. A handle can only be reused by a new
 * stream, whose creation starts a new epoch and so invalidates the cache. A seqlock, too. */
enum { STREAM_IDS = 256 };
static struct stream_id {
    _Atomic uint32_t sequence;
    _Atomic uint64_t context, stream, epoch_and_id;
} stream_ids[STREAM_IDS];
static _Atomic uint32_t stream_epoch = 1;
static _Atomic bool new_streams_reported; /* by CUPTI; else nothing is cached */

void cuda_stream_created(void) {
    atomic_fetch_add(&stream_epoch, 1);
}

void cuda_new_streams_reported(bool reported) {
    cuda_stream_created(); /* streams may have been created unreported */
    atomic_store(&new_streams_reported, reported);
}

static struct stream_id *stream_id_of(const struct CUctx_st *context,
                                      const struct CUstream_st *stream) {
    uint64_t hash = ((uintptr_t)stream ^ (uintptr_t)context << 1) * 0x9E3779B97F4A7C15u;
    return &stream_ids[(hash >> 32) % STREAM_IDS];
}

static bool find_stream_id(const struct CUctx_st *context, const struct CUstream_st *stream,
                           uint32_t epoch, uint32_t *id) {
    struct stream_id *kept = stream_id_of(context, stream);
    uint32_t sequence = atomic_load_explicit(&kept->sequence, memory_order_acquire);
    uint64_t of_context = load_relaxed(&kept->context), of_stream = load_relaxed(&kept->stream),
             epoch_and_id = load_relaxed(&kept->epoch_and_id);
    atomic_thread_fence(memory_order_acquire);
    *id = (uint32_t)epoch_and_id;
    return sequence % 2 == 0 &&
           atomic_load_explicit(&kept->sequence, memory_order_relaxed) == sequence &&
           of_context == (uintptr_t)context && of_stream == (uintptr_t)stream &&
           epoch_and_id >> 32 == epoch;
}

static void keep_stream_id(const struct CUctx_st *context, const struct CUstream_st *stream,
                           uint32_t epoch, uint32_t id) {
    struct stream_id *kept = stream_id_of(context, stream);
    uint32_t sequence = atomic_load(&kept->sequence);
    if (sequence % 2 != 0 ||
        !atomic_compare_exchange_strong(&kept->sequence, &sequence, sequence + 1))
        return;
    atomic_thread_fence(memory_order_release);
    store_relaxed(&kept->context, (uintptr_t)context);
    store_relaxed(&kept->stream, (uintptr_t)stream);
    store_relaxed(&kept->epoch_and_id, pair(epoch, id));
    atomic_store_explicit(&kept->sequence, sequence + 2, memory_order_release);
}

/* The id of the per-thread default stream differs by thread and is not cached. */
static bool query_stream_id(struct CUctx_st *context, struct CUstream_st *stream, bool per_thread,
                            uint32_t *id) {
    bool keeps = !per_thread && atomic_load_explicit(&new_streams_reported, memory_order_relaxed);
    uint32_t epoch = atomic_load_explicit(&stream_epoch, memory_order_acquire);
    if (keeps && find_stream_id(context, stream, epoch, id))
        return true;
    if (cuda_probe.cupti->cuptiGetStreamIdEx(context, stream, per_thread, id) != CUPTI_SUCCEEDED)
        return false;
    if (keeps)
        keep_stream_id(context, stream, epoch, *id);
    return true;
}

/* The stream may belong to another context than the current one. */
static struct queue queue_elsewhere(struct CUstream_st *stream) {
    const struct cupti *cupti = cuda_probe.cupti;
    struct queue queue = {.stream = NO_STREAM};
    struct CUctx_st *context = stream ? cuda_stream_context(stream) : NULL;
    if (!context || cupti->cuptiGetContextId(context, &queue.context) != CUPTI_SUCCEEDED ||
        !query_stream_id(context, stream, false, &queue.stream))
        return (struct queue){.stream = NO_STREAM};
    cuda_context_seen(context, queue.context);
    return queue;
}

static struct queue queue_of(const struct cupti_call_data *call, struct CUstream_st *stream,
                             bool per_thread) {
    struct queue queue = {call->context_id, NO_STREAM};
    if (stream == LEGACY_STREAM || stream == PER_THREAD_STREAM) {
        per_thread = stream == PER_THREAD_STREAM;
        stream = NULL;
    }
    if (!call->context || !query_stream_id(call->context, stream, per_thread, &queue.stream))
        queue = queue_elsewhere(stream);
    return queue;
}

/* Work that is captured into a graph is not queued. */
static bool is_captured(struct CUstream_st *stream, bool per_thread) {
    if (!stream && per_thread)
        stream = PER_THREAD_STREAM;
    return stream && stream != LEGACY_STREAM && cuda_is_capturing(stream);
}

void cuda_event_recorded(const struct cuda_ordering *call) {
    const struct cupti_event_record_parameters *parameters = call->data->parameters;
    bool captured = is_captured(parameters->stream, call->per_thread);
    struct queue queue = captured ? (struct queue){.stream = NO_STREAM}
                                  : queue_of(call->data, parameters->stream, call->per_thread);
    keep_event(
        &(struct recorded_event){.event = (uintptr_t)parameters->event,
                                 .context = queue.context,
                                 .stream = queue.stream,
                                 .correlation = queue.stream == NO_STREAM ? 0 : call->correlation});
}

/* False when the call is not a wait. */
static bool read_wait(const struct cuda_ordering *call, struct queue *queue,
                      const struct CUevent_st **event) {
    const void *parameters = call->data->parameters;
    struct CUstream_st *handle;
    switch (call->order) {
    case CUPTI_ORDER_EVENT_SYNC:
        *event = ((const struct cupti_event_sync_parameters *)parameters)->event;
        return true;
    case CUPTI_ORDER_STREAM_WAIT:
        handle = ((const struct cupti_stream_wait_parameters *)parameters)->stream;
        *event = ((const struct cupti_stream_wait_parameters *)parameters)->event;
        if (is_captured(handle, call->per_thread))
            return false;
        break;
    case CUPTI_ORDER_STREAM_SYNC:
        handle = ((const struct cupti_stream_sync_parameters *)parameters)->stream;
        break;
    case CUPTI_ORDER_CONTEXT_SYNC:
        return true;
    default:
        return false;
    }
    *queue = queue_of(call->data, handle, call->per_thread);
    return true;
}

/* A device must be described in a lane before its queues are used there. */
static bool announce_device(struct spool_lane *lane, uint32_t device) {
    PROBE_THREAD_LOCAL uint64_t announced;
    PROBE_THREAD_LOCAL const struct spool_lane *to;
    if (to != lane)
        announced = 0;
    to = lane;
    if (announced >> device % CUDA_DEVICES & 1)
        return true;
    if (!cuda_device_put(lane, device))
        return false;
    announced |= (uint64_t)1 << device % CUDA_DEVICES;
    return true;
}

void cuda_put_wait(struct spool_lane *lane, const struct cuda_ordering *call) {
    const struct CUevent_st *event = NULL;
    struct queue queue = {call->data->context_id, NO_STREAM};
    if (!read_wait(call, &queue, &event))
        return;
    struct recorded_event recorded = event ? find_event(event) : (struct recorded_event){0};
    bool known = recorded.correlation != 0;
    uint32_t device = cuda_context_device(queue.context),
             awaited_device = known ? cuda_context_device(recorded.context) : device;
    if (!announce_device(lane, device) || !announce_device(lane, awaited_device)) {
        spool_drop(cuda_probe.probe->spool, 1);
        return;
    }
    struct spool_wait *wait = spool_begin(lane, SPOOL_WAIT, 0, sizeof *wait);
    if (!wait)
        return;
    *wait = (struct spool_wait){
        .head = wait->head,
        .start = call->start,
        .end = call->end,
        .correlation = call->correlation,
        .device = device,
        .context = queue.context,
        .stream = queue.stream,
        .kind = call->order,
        .event = recorded.number,
        .awaited_device = awaited_device,
        .awaited_context = known ? recorded.context : 0,
        .awaited_stream = known ? recorded.stream : NO_STREAM,
        .record_correlation = recorded.correlation,
    };
    spool_publish(lane);
}
