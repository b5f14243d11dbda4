/* A device's spans, joined with CUPTI's records as these arrive, and the process' one CUPTI
 * session, shared by all CUDA devices that subscribe.
 *
 * Correlation ids only grow, and one thread at a time uses a device. Its spans are therefore in the
 * order of their calls, and binary search finds a record's span. Records arrive on another thread,
 * in buffers that CUPTI considers complete. A flush leaves out buffers in which something still
 * runs, so only waiting for the device is certain to bring all records.
 *
 * CUPTI has one subscriber at a time: where another profiler is active, the subscription is refused
 * and so is the session. Buffers are small, so that few records wait for others that share theirs,
 * and their number is bounded: beyond it CUPTI drops records and counts them. Once loaded, CUPTI
 * costs every launch a microsecond even when nothing is recorded. cuptiFinalize() removes it, and
 * it can be started again.
 */
#include "device/cuda/activity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "abi/cupti_decode.h"
#include "abi/cupti_library.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "device/cuda/cuda.h"

_Static_assert((int)ACTIVITY_STREAMS == (int)CUDA_QUEUES, "spans are on the device's queues");

enum {
    SPANS_FIRST = 1024,
    SPANS_MAX = 1 << 18,
    CORRECTION_MAX = 1000000, /* nanoseconds: larger differences are not caused by clocks */
    CLOCK_ERROR = 10000,      /* nanoseconds: observed drift of CUPTI's clock conversion */
};

/* Guards the spans of all devices and the list of subscribers. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_activities *subscribers;

/* The span that this thread's calls belong to. */
static _Thread_local struct {
    struct cuda_activities *activities; /* NULL: none */
    uint64_t number;
} open_span;

static struct activity_span *span_of(struct cuda_activities *activities, uint64_t number) {
    return &activities->spans[number & (activities->capacity - 1)];
}

/* ---- Calls and records of CUPTI ------------------------------------------------------------- */

static void activity_call_begins(uint32_t correlation, bool launches) {
    struct cuda_activities *activities = open_span.activities;
    if (!activities)
        return;
    pthread_mutex_lock(&lock);
    struct activity_span *span = span_of(activities, open_span.number);
    if (span->first_call == 0)
        span->first_call = correlation;
    span->last_call = activities->last_call = correlation;
    span->launched += launches;
    pthread_mutex_unlock(&lock);
}

/* A span without calls has the last call of its predecessor, so the order holds for it too. */
static struct activity_span *find_span(struct cuda_activities *activities, uint32_t correlation) {
    uint64_t low = activities->oldest, high = activities->end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (span_of(activities, middle)->last_call < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < activities->end; low++) {
        struct activity_span *span = span_of(activities, low);
        if (span->first_call != 0)
            return span->first_call <= correlation ? span : NULL;
    }
    return NULL;
}

static void span_add_record(struct cuda_activities *activities, const struct cupti_record *record) {
    struct activity_span *span = find_span(activities, record->correlation);
    int64_t start = (int64_t)record->start, end = (int64_t)record->end;
    if (!span || span->stream != record->stream || record->start == 0 || end < start)
        return;
    if (span->arrived == 0 || start < span->start)
        span->start = start;
    if (span->arrived == 0 || end > span->end)
        span->end = end;
    span->arrived++;
    if (span->begun - start > activities->early_max)
        activities->early_max = span->begun - start;
}

static void activity_arrived(const struct cupti_record *record) {
    if (record->kind != CUPTI_RECORD_KERNEL && record->kind != CUPTI_RECORD_COPY &&
        record->kind != CUPTI_RECORD_SET)
        return;
    pthread_mutex_lock(&lock);
    for (struct cuda_activities *i = subscribers; i; i = i->next)
        if (i->context == record->context)
            span_add_record(i, record);
    pthread_mutex_unlock(&lock);
}

/* ---- The session ---------------------------------------------------------------------------- */

enum { BUFFER_BYTES = 32 << 10, BUFFERS_MAX = 1024 };

static const cupti_choice kinds[] = {CUPTI_KIND_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_SET};
enum { KINDS = ARRAY_COUNT(kinds) };

/* Serializes session_join() and session_leave(). Never taken in a callback. */
static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER;
static unsigned members, devices;
static const struct cupti *cupti;
static cupti_subscriber subscriber;

static _Atomic uint64_t dropped;

/* Buffers that CUPTI does not have: a list through their first bytes. */
static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static struct idle_buffer { struct idle_buffer *next; } * idle_buffers;
static unsigned buffer_count; /* of all, idle or not */

/* ---- Callbacks --------------------------------------------------------------------------------
 */

static uint64_t host_time(void) {
    return (uint64_t)clock_now();
}

static bool puts_work_on_a_device(uint32_t function) {
    switch (function) {
#define LAUNCH(name, number) case number:
        CUPTI_LAUNCHES(LAUNCH)
#undef LAUNCH
        return true;
    default:
        return false;
    }
}

static void on_call(void *user, cupti_choice domain, uint32_t function, const void *data) {
    const struct cupti_call_data *call = data;
    (void)user;
    if (domain == CUPTI_DRIVER_CALLS && call->site == CUPTI_CALL_BEGINS)
        activity_call_begins(call->correlation, puts_work_on_a_device(function));
}

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *max_records) {
    struct status ignored;
    *max_records = 0; /* as many as there is room for */
    pthread_mutex_lock(&buffer_lock);
    struct idle_buffer *given = idle_buffers;
    if (given) {
        idle_buffers = given->next;
    } else if (buffer_count < BUFFERS_MAX) {
        given = memory_allocate(1, BUFFER_BYTES, &ignored);
        buffer_count += given != NULL;
    }
    pthread_mutex_unlock(&buffer_lock);
    *buffer = (uint8_t *)given;
    *bytes = given ? BUFFER_BYTES : 0;
}

static void take_buffer_back(void *buffer) {
    struct idle_buffer *idle = buffer;
    pthread_mutex_lock(&buffer_lock);
    idle->next = idle_buffers;
    idle_buffers = idle;
    pthread_mutex_unlock(&buffer_lock);
}

static void read_buffer(struct CUctx_st *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                        size_t valid_bytes) {
    struct cupti_record record;
    void *raw = NULL;
    size_t lost = 0;
    (void)bytes;
    if (!buffer)
        return;
    while (valid_bytes > 0 &&
           cupti->cuptiActivityGetNextRecord(buffer, valid_bytes, &raw) == CUPTI_SUCCEEDED)
        if (cupti_decode(cupti->version, raw, &record))
            activity_arrived(&record);
    if (cupti->cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCEEDED)
        dropped += lost;
    take_buffer_back(buffer);
}

static void free_idle_buffers(void) {
    pthread_mutex_lock(&buffer_lock);
    while (idle_buffers) {
        struct idle_buffer *next = idle_buffers->next;
        memory_free(idle_buffers);
        idle_buffers = next;
        buffer_count--;
    }
    pthread_mutex_unlock(&buffer_lock);
}

/* ---- Starting and stopping --------------------------------------------------------------------
 */

#define CUPTI_CALL(status, function, ...) succeeded(cupti->function(__VA_ARGS__), #function, status)
static bool succeeded(cupti_result result, const char *call, struct status *status) {
    return result == CUPTI_SUCCEEDED || cupti_call_failed(cupti, result, call, status);
}

/* Disabling a kind that was never enabled is harmless. */
static void session_stop(bool take_out) {
    for (unsigned i = 0; i < KINDS; i++)
        cupti->cuptiActivityDisable(kinds[i]);
    if (take_out)
        cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL); /* returns its buffers */
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_DRIVER_CALLS);
    cupti->cuptiUnsubscribe(subscriber);
    if (take_out && devices <= 1 && !cupti->shared)
        cupti->cuptiFinalize();
    free_idle_buffers();
}

static bool session_start(struct status *status) {
    dropped = 0;
    if (!CUPTI_CALL(status, cuptiSubscribe, &subscriber, on_call, NULL))
        return false;
    bool started = CUPTI_CALL(status, cuptiActivityRegisterTimestampCallback, host_time) &&
                   CUPTI_CALL(status, cuptiActivityRegisterCallbacks, give_buffer, read_buffer) &&
                   CUPTI_CALL(status, cuptiEnableDomain, 1, subscriber, CUPTI_DRIVER_CALLS);
    for (unsigned i = 0; i < KINDS && started; i++)
        started = CUPTI_CALL(status, cuptiActivityEnable, kinds[i]);
    if (!started)
        session_stop(true);
    return started;
}

static bool session_join(int driver_major, struct status *status) {
    pthread_mutex_lock(&control);
    bool joined = members > 0 ||
                  ((cupti = cupti_library(driver_major, status)) != NULL && session_start(status));
    members += joined;
    pthread_mutex_unlock(&control);
    return joined;
}

static void session_leave(bool take_out) {
    pthread_mutex_lock(&control);
    if (--members == 0)
        session_stop(take_out);
    pthread_mutex_unlock(&control);
}

/* ---- For members ------------------------------------------------------------------------------
 */

static bool session_context_number(cuda_context context, uint32_t *number, struct status *status) {
    return CUPTI_CALL(status, cuptiGetContextId, context, number);
}

static bool session_stream_number(cuda_context context, cuda_stream stream, uint32_t *number,
                                  struct status *status) {
    return CUPTI_CALL(status, cuptiGetStreamIdEx, context, stream, 0, number);
}

static bool session_flush(struct status *status) {
    return CUPTI_CALL(status, cuptiActivityFlushAll, CUPTI_FLUSH_COMPLETE);
}

static uint64_t session_dropped(void) {
    return dropped;
}

void session_version(char *text, size_t capacity) {
    char version[CUPTI_VERSION_TEXT];
    cupti_version_text(cupti->version, version);
    snprintf(text, capacity, "%s", version);
}

void session_device_opened(void) {
    pthread_mutex_lock(&control);
    devices++;
    pthread_mutex_unlock(&control);
}

void session_device_closed(void) {
    pthread_mutex_lock(&control);
    devices--;
    pthread_mutex_unlock(&control);
}

/* ---- Beginning and ending to listen ---------------------------------------------------------- */

static void add_subscriber(struct cuda_activities *activities) {
    pthread_mutex_lock(&lock);
    activities->next = subscribers;
    subscribers = activities;
    activities->subscribed = true;
    pthread_mutex_unlock(&lock);
}

static void remove_subscriber(struct cuda_activities *activities) {
    pthread_mutex_lock(&lock);
    struct cuda_activities **link = &subscribers;
    while (*link && *link != activities)
        link = &(*link)->next;
    if (*link)
        *link = activities->next;
    activities->subscribed = false;
    pthread_mutex_unlock(&lock);
}

static int driver_major(const struct cuda_device *cuda) {
    int version = 0;
    return cuda->driver->cuDriverGetVersion(&version) == CUDA_SUCCEEDED ? version / 1000 : 0;
}

static bool number_streams(struct cuda_device *cuda, struct status *status) {
    struct cuda_activities *activities = &cuda->activities;
    if (!session_context_number(cuda->context, &activities->context, status))
        return false;
    for (unsigned i = 0; i < CUDA_QUEUES; i++)
        if (!session_stream_number(cuda->context, cuda->streams[i], &activities->streams[i],
                                   status))
            return false;
    return true;
}

bool activity_subscribe(struct cuda_device *cuda) {
    struct cuda_activities *activities = &cuda->activities;
    struct status *status = &activities->refusal;
    if (activities->subscribed)
        return true;
    if (session_join(driver_major(cuda), status)) {
        if (number_streams(cuda, status)) {
            add_subscriber(activities);
            activities->refused = false;
            return true;
        }
        session_leave(true);
    }
    activities->refused = true;
    return false;
}

static bool is_complete(const struct activity_span *span) {
    return span->first_call == 0 || (span->launched > 0 && span->arrived >= span->launched);
}

static bool all_complete(struct cuda_activities *activities) {
    uint64_t number = activities->oldest;
    pthread_mutex_lock(&lock);
    while (number < activities->end &&
           (!span_of(activities, number)->held || is_complete(span_of(activities, number))))
        number++;
    pthread_mutex_unlock(&lock);
    return number == activities->end;
}

/* Records must no longer match these spans: CUPTI may restart its correlation ids. */
static void close_spans(struct cuda_activities *activities) {
    pthread_mutex_lock(&lock);
    for (uint64_t i = activities->oldest; i < activities->end; i++)
        span_of(activities, i)->first_call = span_of(activities, i)->last_call = 0;
    activities->last_call = 0;
    pthread_mutex_unlock(&lock);
}

/* Stamps may be unresolved although nothing is recorded, as in a paused trace. Flushing takes
 * longer than a launch, so it is done at exponentially growing intervals. */
static bool can_rest(struct cuda_activities *activities) {
    struct status ignored;
    if (activities->held == 0)
        return true;
    uint64_t work = ++activities->unrecorded;
    return (work & (work - 1)) == 0 && session_flush(&ignored) && all_complete(activities);
}

void activity_rest(struct cuda_device *cuda) {
    struct cuda_activities *activities = &cuda->activities;
    if (!activities->subscribed || !can_rest(activities))
        return;
    remove_subscriber(activities);
    close_spans(activities);
    session_leave(true);
}

void activity_finish(struct cuda_device *cuda) {
    struct cuda_activities *activities = &cuda->activities;
    if (activities->subscribed) {
        remove_subscriber(activities);
        session_leave(!cuda->lost); /* do not finalize CUPTI on a broken context */
    }
    memory_free(activities->spans);
    *activities = (struct cuda_activities){0};
}

/* ---- Spans ------------------------------------------------------------------------------------
 */

static bool make_room(struct cuda_activities *activities) {
    struct status ignored;
    if (activities->end - activities->oldest < activities->capacity)
        return true;
    size_t capacity = activities->capacity ? activities->capacity * 2 : SPANS_FIRST;
    struct activity_span *spans =
        capacity <= SPANS_MAX ? memory_allocate(capacity, sizeof *spans, &ignored) : NULL;
    if (!spans)
        return false;
    for (uint64_t i = activities->oldest; i < activities->end; i++)
        spans[i & (capacity - 1)] = *span_of(activities, i);
    memory_free(activities->spans);
    activities->spans = spans;
    activities->capacity = capacity;
    return true;
}

static uint32_t stream_number(const struct cuda_device *cuda, cuda_stream stream) {
    unsigned i = 0;
    while (i + 1 < CUDA_QUEUES && cuda->streams[i] != stream)
        i++;
    return cuda->activities.streams[i];
}

uint64_t activity_begin(struct cuda_device *cuda, cuda_stream stream) {
    struct cuda_activities *activities = &cuda->activities;
    int64_t now = clock_now();
    pthread_mutex_lock(&lock);
    if (activities->end == 0)
        activities->oldest = activities->end = 1;
    uint64_t number = make_room(activities) ? activities->end++ : 0;
    if (number != 0) {
        *span_of(activities, number) = (struct activity_span){
            .begun = now,
            .stream = stream_number(cuda, stream),
            .last_call = activities->last_call,
            .held = true,
        };
        activities->held++;
        activities->unrecorded = 0;
        open_span.activities = activities;
        open_span.number = number;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

void activity_end(void) {
    open_span.activities = NULL;
}

void activity_release(struct cuda_device *cuda, uint64_t number) {
    struct cuda_activities *activities = &cuda->activities;
    pthread_mutex_lock(&lock);
    if (number >= activities->oldest && number < activities->end &&
        span_of(activities, number)->held) {
        span_of(activities, number)->held = false;
        activities->held--;
    }
    while (activities->oldest < activities->end && !span_of(activities, activities->oldest)->held)
        activities->oldest++;
    pthread_mutex_unlock(&lock);
}

static struct activity_span look_at(struct cuda_activities *activities, uint64_t number) {
    struct activity_span span = {0};
    pthread_mutex_lock(&lock);
    if (number >= activities->oldest && number < activities->end)
        span = *span_of(activities, number);
    pthread_mutex_unlock(&lock);
    return span;
}

/* First tries without waiting. After waiting for the device all records must arrive. */
static bool collect_span(struct cuda_device *cuda, uint64_t number, struct activity_span *span,
                         struct status *status) {
    *span = look_at(&cuda->activities, number);
    if (is_complete(span))
        return true;
    if (!session_flush(status))
        return false;
    *span = look_at(&cuda->activities, number);
    if (is_complete(span))
        return true;
    if (!cuda_wait(cuda, status) || !session_flush(status))
        return false;
    *span = look_at(&cuda->activities, number);
    return true;
}

/* In its first seconds CUPTI knows its clock's offset but not its rate, and its times drift from
 * the host's by ten microseconds per second. Work cannot start before its launch, nor before the
 * previous work on its stream has ended, so times that violate this are shifted. Durations are
 * not changed. */
static int64_t correction(struct cuda_activities *activities, uint64_t number,
                          const struct activity_span *span) {
    unsigned stream = 0;
    while (stream + 1 < ACTIVITY_STREAMS && activities->streams[stream] != span->stream)
        stream++;
    int64_t late = span->begun > span->start ? span->begun - span->start : 0;
    if (number < activities->reported[stream].number)
        return late;
    int64_t overlap = activities->reported[stream].end - (span->start + late);
    if (overlap > 0 && overlap < CORRECTION_MAX)
        late += overlap;
    activities->reported[stream].number = number;
    activities->reported[stream].end = span->end + late;
    return late;
}

bool activity_times(struct cuda_device *cuda, uint64_t number, int64_t *start, int64_t *end,
                    struct status *status) {
    struct activity_span span;
    if (!collect_span(cuda, number, &span, status))
        return false;
    if (span.arrived < span.launched && (span.arrived == 0 || session_dropped() > 0))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "CUPTI lost the times of %u of %u activities (%llu records in total)",
                           span.launched - span.arrived, span.launched,
                           (unsigned long long)session_dropped());
    if (span.arrived == 0)
        span.start = span.end = span.begun;
    int64_t late = correction(&cuda->activities, number, &span);
    *start = span.start + late;
    *end = span.end + late;
    return true;
}

int64_t activity_clock_error(const struct cuda_device *cuda) {
    int64_t early = cuda->activities.early_max;
    return early > CLOCK_ERROR ? early : CLOCK_ERROR;
}
