/* Converts CUPTI's records of device work to records of the spool, in a lane of their own.
 *
 * Buffers are completed on CUPTI's thread, on the flushing thread, or on the thread that calls
 * exit(); a lock serializes them. Kernel names are compared by content, because after a module is
 * unloaded another name may have the same address.
 */
#include "base/clock.h"
#include "probe/capture.h"
#include "probe/cuda/cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spool/pages.h"
#include "trace/schema.h"

/* ---- Buffers ----------------------------------------------------------------------------- */

/* CUPTI writes its records to buffers that are recycled and bounded in total.
 *
 * CUPTI returns a buffer only when everything in it has happened. In a program that always has work
 * queued, a kill loses the records of one unfinished buffer. A buffer is therefore as long as what
 * the program fills in a short time, but not shorter, because each buffer that is handed over
 * delays a launch. When all buffers are in use, CUPTI gets none, drops records and counts them. */

enum {
    BUFFER_BYTES_MIN = 8 << 10,
    BUFFER_BYTES_MAX = 512 << 10,
    BUFFER_GROWTH = 4, /* factor between sizes */
    BUFFERS_BYTES_MAX = 64 << 20,
    BUFFERS_MAX = 2048,
    FILL_TARGET_NS = 50000000, /* a buffer should be full in this time */
};

/* A buffer is never freed and keeps its slot. */
static struct buffer_slot {
    _Atomic(uint8_t *) buffer;
    _Atomic bool idle;
    uint32_t bytes;
} buffer_slots[BUFFERS_MAX];
static _Atomic uint32_t buffer_count, buffers_bytes;
static _Atomic int64_t last_request; /* time of the last request */
static _Atomic uint32_t last_request_bytes;
static _Atomic bool suspended;

static uint32_t count_made(void) {
    uint32_t count = atomic_load_explicit(&buffer_count, memory_order_acquire);
    return count < BUFFERS_MAX ? count : BUFFERS_MAX;
}

/* NULL: the buffer is not the probe's. */
static struct buffer_slot *slot_of(const uint8_t *buffer) {
    uint32_t count = count_made();
    for (uint32_t i = 0; i < count; i++)
        if (atomic_load_explicit(&buffer_slots[i].buffer, memory_order_acquire) == buffer)
            return &buffer_slots[i];
    return NULL;
}

/* False: the buffer is another profiler's. */
static bool cuda_buffer_is_own(const uint8_t *buffer) {
    return slot_of(buffer) != NULL;
}

/* `bytes` 0: any size. */
static struct buffer_slot *take_idle(uint32_t bytes) {
    uint32_t count = count_made();
    for (uint32_t i = 0; i < count; i++) {
        struct buffer_slot *slot = &buffer_slots[i];
        if (atomic_load_explicit(&slot->idle, memory_order_acquire) &&
            (bytes == 0 || slot->bytes == bytes) && atomic_exchange(&slot->idle, false))
            return slot;
    }
    return NULL;
}

static struct buffer_slot *make_buffer(uint32_t bytes) {
    if (atomic_load(&buffer_count) >= BUFFERS_MAX)
        return NULL;
    uint8_t *buffer = NULL;
    if (atomic_fetch_add(&buffers_bytes, bytes) + bytes <= BUFFERS_BYTES_MAX)
        buffer = pages_allocate(bytes);
    uint32_t number = buffer ? atomic_fetch_add(&buffer_count, 1) : BUFFERS_MAX;
    if (number >= BUFFERS_MAX) {
        pages_free(buffer, bytes);
        atomic_fetch_sub(&buffers_bytes, bytes);
        return NULL;
    }
    buffer_slots[number].bytes = bytes;
    atomic_store_explicit(&buffer_slots[number].buffer, buffer, memory_order_release);
    return &buffer_slots[number];
}

/* Assumes that the next buffer fills as fast as the last one. */
static uint32_t choose_size(void) {
    int64_t now = clock_now(), since = atomic_exchange(&last_request, now);
    int64_t took = now > since ? now - since : 1;
    int64_t filled = (int64_t)atomic_load(&last_request_bytes) * FILL_TARGET_NS / took;
    uint32_t bytes = BUFFER_BYTES_MIN;
    while (bytes * BUFFER_GROWTH <= BUFFER_BYTES_MAX && bytes * BUFFER_GROWTH <= filled)
        bytes *= BUFFER_GROWTH;
    atomic_store(&last_request_bytes, bytes);
    return bytes;
}

void cuda_buffers_suspend(bool suspend) {
    atomic_store(&suspended, suspend);
}

void cuda_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records) {
    struct buffer_slot *slot = NULL;
    if (!atomic_load_explicit(&suspended, memory_order_acquire)) {
        uint32_t wanted = choose_size();
        slot = take_idle(wanted);
        if (!slot)
            slot = make_buffer(wanted);
        if (!slot)
            slot = take_idle(0);
    }
    *buffer = slot ? atomic_load_explicit(&slot->buffer, memory_order_relaxed) : NULL;
    *bytes = slot ? slot->bytes : 0;
    *max_records = 0; /* as many as fit */
}

/* The first `used` bytes are no longer zero. */
static void cuda_buffer_release(uint8_t *buffer, size_t used) {
    struct buffer_slot *slot = slot_of(buffer);
    if (!slot)
        return;
    memset(buffer, 0, used < slot->bytes ? used : slot->bytes);
    atomic_store_explicit(&slot->idle, true, memory_order_release);
}

/* ---- Records ----------------------------------------------------------------------------- */

enum {
    CLOCK_ERROR_NS = 10000,             /* observed drift of CUPTI's clock conversion */
    LAUNCHES_WITHOUT_RECORD_MAX = 1000, /* the last calls may not have launched any work */
    RETRY_INTERVAL = 64,                /* buffers between two attempts to open a lane */
};
#define CLOCK_SKEW_NS 3600000000000 /* no record is that far in the future */

/* Indexed by CUPTI's numbers. */
static const uint8_t directions[] = {COPY_UNKNOWN, COPY_HTOD, COPY_DTOH, COPY_HTOD,
                                     COPY_DTOH,    COPY_DTOD, COPY_DTOD, COPY_DTOD,
                                     COPY_DTOD,    COPY_HTOH, COPY_PTOP};
static const uint8_t memories[] = {MEMORY_UNKNOWN, MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE,
                                   MEMORY_ARRAY,   MEMORY_MANAGED,  MEMORY_DEVICE, MEMORY_MANAGED};
enum { MEMORY_ALLOCATED = 1, MEMORY_RELEASED = 2 }; /* CUPTI's operations */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Everything below is protected by the lock. */
static bool is_closed; /* the session has ended: buffers may still arrive */
static struct spool_lane *lane;
static unsigned lane_attempts;
static bool put_device[CUDA_DEVICES];
static int64_t clock_error;
static uint64_t overhead_ns;
static uint64_t without_times;
static _Atomic uint32_t last_record;

uint32_t cuda_last_record(void) {
    return atomic_load_explicit(&last_record, memory_order_relaxed);
}

/* The lane belongs to no thread in particular; it uses the main thread's tid. */
static bool take_lane(void) {
    if (lane)
        return true;
    if (is_closed || lane_attempts++ % RETRY_INTERVAL != 0)
        return false;
    lane = spool_lane_open(cuda_probe.probe->spool);
    struct spool_thread *thread = spool_begin(lane, SPOOL_THREAD, 0, sizeof *thread);
    if (!thread)
        return lane != NULL;
    thread->tid = getpid();
    spool_publish(lane);
    return true;
}

static void put_clock_error(int64_t error) {
    struct spool_clock *clock = spool_begin(lane, SPOOL_CLOCK, 0, sizeof *clock);
    clock_error = error;
    if (!clock)
        return;
    clock->time = clock_now();
    clock->error_ns = error;
    spool_publish(lane);
}

/* Work cannot begin before its launch: an earlier start is the error of the clock conversion. */
static void check_clock(const struct cupti_record *record) {
    int64_t began = cuda_call_start(record->correlation);
    int64_t early = began ? began - (int64_t)record->start : 0;
    if (clock_error == 0)
        put_clock_error(CLOCK_ERROR_NS);
    if (early > clock_error)
        put_clock_error(early + early / 4);
}

static void announce_device(uint32_t device) {
    if (device >= CUDA_DEVICES || put_device[device])
        return;
    put_device[device] = cuda_device_put(lane, device);
}

/* A forced flush delivers work that has not ended. */
static bool has_times(const struct cupti_record *record) {
    bool has = record->start > 0 && record->end >= record->start;
    without_times += !has;
    return has;
}

static uint8_t table_value(const uint8_t *numbers, size_t count, uint32_t theirs) {
    return theirs < count ? numbers[theirs] : 0;
}

static void put_kernel(const struct cupti_record *from, uint32_t name) {
    struct spool_kernel *kernel = spool_begin(lane, SPOOL_KERNEL, name, sizeof *kernel);
    if (!kernel)
        return;
    *kernel = (struct spool_kernel){
        .head = kernel->head,
        .start = (int64_t)from->start,
        .end = (int64_t)from->end,
        .correlation = from->correlation,
        .device = from->device,
        .context = from->context,
        .stream = from->stream,
        .registers = from->registers,
        .shared_static = from->shared_static,
        .shared_dynamic = from->shared_dynamic,
        .graph = from->graph,
        .captured_by = cuda_node_captured_by(from->graph_node),
    };
    for (unsigned i = 0; i < 3; i++) {
        kernel->grid[i] = from->grid[i];
        kernel->block[i] = from->block[i];
    }
    spool_publish(lane);
}

static uint32_t kernel_name(const struct cupti_record *record) {
    return record->name ? spool_text(lane, text_of(record->name)) : 0;
}

static uint32_t graph_name(const struct cupti_record *record) {
    char name[64];
    uint32_t nodes = cuda_graph_nodes(record->graph);
    int length = snprintf(name, sizeof name, "CUDA graph %u", record->graph);
    if (nodes)
        length += snprintf(name + length, sizeof name - (size_t)length, " (%u %s)", nodes,
                           nodes == 1 ? "node" : "nodes");
    return spool_text(lane, (struct text){name, (size_t)length});
}

static void put_copy(const struct cupti_record *from) {
    struct spool_copy *copy = spool_begin(lane, SPOOL_COPY, 0, sizeof *copy);
    if (!copy)
        return;
    *copy = (struct spool_copy){
        .head = copy->head,
        .start = (int64_t)from->start,
        .end = (int64_t)from->end,
        .bytes = from->bytes,
        .correlation = from->correlation,
        .device = from->device,
        .context = from->context,
        .stream = from->stream,
        .is_set = from->kind == CUPTI_RECORD_SET,
        .direction = table_value(directions, sizeof directions, from->direction),
        .from_memory = table_value(memories, sizeof memories, from->from_memory),
        .to_memory = table_value(memories, sizeof memories, from->to_memory),
        .graph = from->graph,
        .captured_by = cuda_node_captured_by(from->graph_node),
    };
    spool_publish(lane);
}

static void put_memory(const struct cupti_record *from) {
    uint8_t kind = table_value(memories, sizeof memories, from->to_memory);
    bool on_host = kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
    if ((from->type != MEMORY_ALLOCATED && from->type != MEMORY_RELEASED) ||
        !capture_has_started((int64_t)from->start))
        return;
    struct spool_memory *memory = spool_begin(lane, SPOOL_MEMORY, 0, sizeof *memory);
    if (!memory)
        return;
    *memory = (struct spool_memory){
        .head = memory->head,
        .time = (int64_t)from->start,
        .bytes = from->bytes,
        .address = from->address,
        .device = on_host ? 0 : from->device + 1,
        .released = from->type == MEMORY_RELEASED,
        .memory_kind = kind,
        .tid = cuda_call_thread(from->correlation),
    };
    spool_publish(lane);
}

static void put_work(const struct cupti_record *record) {
    atomic_store_explicit(&last_record, record->correlation, memory_order_relaxed);
    if (!capture_includes(record->correlation) || !has_times(record) ||
        !capture_has_started((int64_t)record->start))
        return;
    announce_device(record->device);
    check_clock(record);
    if (record->kind == CUPTI_RECORD_KERNEL)
        put_kernel(record, kernel_name(record));
    else if (record->kind == CUPTI_RECORD_GRAPH)
        put_kernel(record, graph_name(record));
    else
        put_copy(record);
}

static void put_record(const struct cupti_record *record) {
    switch (record->kind) {
    case CUPTI_RECORD_KERNEL:
    case CUPTI_RECORD_GRAPH:
    case CUPTI_RECORD_COPY:
    case CUPTI_RECORD_SET:
        put_work(record);
        break;
    case CUPTI_RECORD_MEMORY:
        announce_device(record->device);
        put_memory(record);
        break;
    case CUPTI_RECORD_OVERHEAD:
        overhead_ns += record->end > record->start ? record->end - record->start : 0;
        break;
    default:
        break;
    }
}

static void put_dropped(const char *why, uint64_t count) {
    uint32_t text = count ? spool_constant(lane, why) : 0;
    struct spool_dropped *dropped =
        count ? spool_begin(lane, SPOOL_DROPPED, text, sizeof *dropped) : NULL;
    if (!dropped)
        return;
    dropped->count = count;
    spool_publish(lane);
}

/* Records dropped by CUPTI since the last query. */
static uint64_t take_dropped(struct CUctx_st *context, uint32_t stream) {
    size_t dropped = 0;
    cupti_result result =
        cuda_probe.cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    return result == CUPTI_SUCCEEDED ? dropped : 0;
}

/* CUPTI uses its own clock until a timestamp callback is registered, and for some records even
 * after it is registered again: pytorch/pytorch issue 192021. */
static void fix_timestamp(uint64_t *time, int64_t now, int64_t default_now) {
    if ((int64_t)*time > now + CLOCK_SKEW_NS && default_now > now)
        *time -= (uint64_t)(default_now - now);
}

static void take_records(uint8_t *buffer, size_t valid_bytes) {
    const struct cupti *cupti = cuda_probe.cupti;
    void *raw = NULL;
    struct cupti_record record;
    uint32_t before = atomic_load_explicit(&cuda_probe.correlation_base, memory_order_relaxed);
    bool have_lane = take_lane(), stopped = spool_is_stopped(cuda_probe.probe->spool);
    int64_t now = clock_now(), default_now = (int64_t)cuda_default_timestamp();
    cupti_result result;
    while ((result = cupti->cuptiActivityGetNextRecord(buffer, valid_bytes, &raw)) ==
           CUPTI_SUCCEEDED) {
        if (!raw || !cupti_decode(cupti->version, raw, &record))
            continue;
        if (record.correlation)
            record.correlation += before;
        fix_timestamp(&record.start, now, default_now);
        fix_timestamp(&record.end, now, default_now);
        if (have_lane && !stopped)
            put_record(&record);
        else if (!stopped)
            spool_drop(cuda_probe.probe->spool, 1);
    }
    if (result != CUPTI_NO_MORE_RECORDS && have_lane && !stopped)
        put_dropped("CUPTI returned only a part of its records", 1);
}

void cuda_buffer_completed(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                           size_t valid_bytes) {
    if (!buffer)
        return;
    if (!cuda_buffer_is_own(buffer)) {
        cupti_conflict_buffer_completed(context, stream, buffer, bytes, valid_bytes);
        return;
    }
    int64_t cpu_before = clock_read(CLOCK_THREAD_CPUTIME_ID);
    pthread_mutex_lock(&lock);
    if (valid_bytes > 0 && valid_bytes <= bytes)
        take_records(buffer, valid_bytes);
    put_dropped("CUPTI ran out of buffers: some kernels and copies are missing",
                take_dropped(context, stream));
    pthread_mutex_unlock(&lock);
    cuda_buffer_release(buffer, valid_bytes);
    cost_add_ns(clock_read(CLOCK_THREAD_CPUTIME_ID) - cpu_before);
}

/* CUPTI delivers buffers to the callbacks that were registered last: a profiler in the program gets
 * all records from then on. */
bool cuda_lost_subscription(void) {
    uint32_t unrecorded = cuda_last_launch() - cuda_last_record();
    return unrecorded < UINT32_MAX / 2 && unrecorded > LAUNCHES_WITHOUT_RECORD_MAX;
}

void cuda_records_open(void) {
    pthread_mutex_lock(&lock);
    is_closed = false;
    lane_attempts = 0;
    pthread_mutex_unlock(&lock);
}

void cuda_records_close(void) {
    pthread_mutex_lock(&lock);
    is_closed = true;
    lane = NULL;
    memset(put_device, 0, sizeof put_device);
    clock_error = 0;
    overhead_ns = without_times = 0;
    pthread_mutex_unlock(&lock);
}

void cuda_records_report_lost(const char *why) {
    pthread_mutex_lock(&lock);
    uint64_t lost = without_times + take_dropped(NULL, 0);
    if (lane && why)
        put_dropped(why, lost);
    without_times = 0;
    atomic_store_explicit(&last_record, cuda_last_launch(), memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

void cuda_records_finish(bool flushed) {
    pthread_mutex_lock(&lock);
    uint64_t overhead = overhead_ns;
    if (!flushed && cuda_last_launch() != cuda_last_record() && take_lane())
        put_dropped("CUPTI did not deliver its last records", 1);
    if (lane)
        put_dropped("the program ended while work was running on the device", without_times);
    if (lane && cuda_lost_subscription())
        put_dropped("CUPTI's records stopped before the end of the program: its own profiler may "
                    "have taken over CUPTI",
                    1);
    pthread_mutex_unlock(&lock);
    if (overhead > 0)
        cuda_put_meta_int("cupti.overhead_ns", (int64_t)overhead);
}
