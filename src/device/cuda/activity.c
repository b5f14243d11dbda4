/* A device's spans: begun by stamps, joined with CUPTI's records as these arrive.
 *
 * Correlation ids only grow, and one thread at a time uses a device: its spans are in the order of
 * their calls, and a record's span is found by halving. Records arrive from another thread, from
 * buffers that CUPTI thinks complete; asking for them (a flush) leaves out buffers in which
 * something still runs, so only waiting for the device is sure to bring them.
 */
#include "device/cuda/activity.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/cuda/activity_session.h"
#include "device/cuda/cuda.h"

_Static_assert((int)ACTIVITY_STREAMS == (int)CUDA_QUEUES, "spans are on the device's queues");

enum {
    SPANS_FIRST = 1024,
    SPANS_MOST = 1 << 18,
    CORRECTION_MOST = 1000000, /* nanoseconds: more than that is no matter of clocks */
    CLOCK_ERROR = 10000, /* nanoseconds that CUPTI's conversion of clocks was seen to wander */
};

/* Guards the spans of all devices and the list of those that listen. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_activities *listeners;

/* The span that this thread's calls belong to. */
static _Thread_local struct {
    struct cuda_activities *activities; /* NULL: none */
    uint64_t number;
} open_span;

static struct activity_span *span_of(struct cuda_activities *activities, uint64_t number) {
    return &activities->spans[number & (activities->capacity - 1)];
}

/* ---- What CUPTI tells: activity_session.c calls these ---------------------------------------- */

void activity_call_begins(uint32_t correlation, bool launches) {
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

/* Spans without calls have the last call of the one before, so the order holds for them too. */
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

static void join(struct cuda_activities *activities, const struct cupti_record *record) {
    struct activity_span *span = find_span(activities, record->correlation);
    int64_t start = (int64_t)record->start, end = (int64_t)record->end;
    if (!span || span->stream != record->stream || record->start == 0 || end < start)
        return;
    if (span->arrived == 0 || start < span->start)
        span->start = start;
    if (span->arrived == 0 || end > span->end)
        span->end = end;
    span->arrived++;
    if (span->begun - start > activities->early_most)
        activities->early_most = span->begun - start;
}

void activity_arrived(const struct cupti_record *record) {
    if (record->kind != CUPTI_RECORD_KERNEL && record->kind != CUPTI_RECORD_COPY &&
        record->kind != CUPTI_RECORD_SET)
        return;
    pthread_mutex_lock(&lock);
    for (struct cuda_activities *i = listeners; i; i = i->next)
        if (i->context == record->context)
            join(i, record);
    pthread_mutex_unlock(&lock);
}

/* ---- Beginning and ending to listen ---------------------------------------------------------- */

static void add_listener(struct cuda_activities *activities) {
    pthread_mutex_lock(&lock);
    activities->next = listeners;
    listeners = activities;
    activities->listening = true;
    pthread_mutex_unlock(&lock);
}

static void remove_listener(struct cuda_activities *activities) {
    pthread_mutex_lock(&lock);
    struct cuda_activities **link = &listeners;
    while (*link && *link != activities)
        link = &(*link)->next;
    if (*link)
        *link = activities->next;
    activities->listening = false;
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
    if (activities->listening)
        return true;
    if (session_join(driver_major(cuda), status)) {
        if (number_streams(cuda, status)) {
            add_listener(activities);
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

/* No record is to be joined with them: CUPTI may number its calls anew. */
static void close_spans(struct cuda_activities *activities) {
    pthread_mutex_lock(&lock);
    for (uint64_t i = activities->oldest; i < activities->end; i++)
        span_of(activities, i)->first_call = span_of(activities, i)->last_call = 0;
    activities->last_call = 0;
    pthread_mutex_unlock(&lock);
}

/* Stamps may be out although nothing is recorded, as in a trace that was paused. Asking for their
 * records takes longer than a launch: it is done ever more rarely. */
static bool can_rest(struct cuda_activities *activities) {
    struct status ignored;
    if (activities->held == 0)
        return true;
    uint64_t work = ++activities->unrecorded;
    return (work & (work - 1)) == 0 && session_flush(&ignored) && all_complete(activities);
}

void activity_rest(struct cuda_device *cuda) {
    struct cuda_activities *activities = &cuda->activities;
    if (!activities->listening || !can_rest(activities))
        return;
    remove_listener(activities);
    close_spans(activities);
    session_leave(true);
}

void activity_finish(struct cuda_device *cuda) {
    struct cuda_activities *activities = &cuda->activities;
    if (activities->listening) {
        remove_listener(activities);
        session_leave(!cuda->lost); /* what is broken is better left alone */
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
        capacity <= SPANS_MOST ? memory_allocate(capacity, sizeof *spans, &ignored) : NULL;
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

/* First without waiting; then all that was launched is over and its records must come. */
static bool collect(struct cuda_device *cuda, uint64_t number, struct activity_span *span,
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

/* In its first seconds CUPTI knows its clock's offset but not its rate, and its times run away from
 * the host's by ten microseconds a second. Yet no work begins before it was asked for, nor before
 * what precedes it on its stream has ended: times that say so are moved until they do not. How long
 * work took stays as it is. */
static int64_t correction(struct cuda_activities *activities, uint64_t number,
                          const struct activity_span *span) {
    unsigned stream = 0;
    while (stream + 1 < ACTIVITY_STREAMS && activities->streams[stream] != span->stream)
        stream++;
    int64_t late = span->begun > span->start ? span->begun - span->start : 0;
    if (number < activities->told[stream].number)
        return late;
    int64_t overlap = activities->told[stream].end - (span->start + late);
    if (overlap > 0 && overlap < CORRECTION_MOST)
        late += overlap;
    activities->told[stream].number = number;
    activities->told[stream].end = span->end + late;
    return late;
}

bool activity_times(struct cuda_device *cuda, uint64_t number, int64_t *start, int64_t *end,
                    struct status *status) {
    struct activity_span span;
    if (!collect(cuda, number, &span, status))
        return false;
    if (span.arrived < span.launched && (span.arrived == 0 || session_dropped() > 0))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "CUPTI lost the times of %u of %u activities (%llu records in all)",
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
    int64_t early = cuda->activities.early_most;
    return early > CLOCK_ERROR ? early : CLOCK_ERROR;
}
