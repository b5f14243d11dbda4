/* Starts and stops CUPTI, gives it buffers, and passes on what it tells.
 *
 * Being its only subscriber is how profilers keep out of each other's way: where another one is at
 * work, the subscription is refused and so is the session. Buffers are small, so that few records
 * wait for others that share theirs, and their number is bounded: beyond it CUPTI drops records and
 * counts them. Once loaded, CUPTI costs every launch a microsecond even when nothing is recorded;
 * finalizing it takes it out, and it can be started anew.
 */
#include "device/cuda/activity_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "abi/cupti_library.h"

enum { BUFFER_BYTES = 32 << 10, BUFFERS_MOST = 1024 };

static const cupti_choice kinds[] = {CUPTI_KIND_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_SET};
enum { KINDS = ARRAY_COUNT(kinds) };

/* Joining and leaving, one at a time. Never taken in a callback. */
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

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *records_most) {
    struct status ignored;
    *records_most = 0; /* as many as there is room for */
    pthread_mutex_lock(&buffer_lock);
    struct idle_buffer *given = idle_buffers;
    if (given) {
        idle_buffers = given->next;
    } else if (buffer_count < BUFFERS_MOST) {
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

/* Also of what was never enabled, which does no harm. */
static void stop(bool take_out) {
    for (unsigned i = 0; i < KINDS; i++)
        cupti->cuptiActivityDisable(kinds[i]);
    if (take_out)
        cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL); /* its buffers come back */
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_DRIVER_CALLS);
    cupti->cuptiUnsubscribe(subscriber);
    if (take_out && devices <= 1 && !cupti->shared)
        cupti->cuptiFinalize();
    free_idle_buffers();
}

static bool start(struct status *status) {
    dropped = 0;
    if (!CUPTI_CALL(status, cuptiSubscribe, &subscriber, on_call, NULL))
        return false;
    bool started = CUPTI_CALL(status, cuptiActivityRegisterTimestampCallback, host_time) &&
                   CUPTI_CALL(status, cuptiActivityRegisterCallbacks, give_buffer, read_buffer) &&
                   CUPTI_CALL(status, cuptiEnableDomain, 1, subscriber, CUPTI_DRIVER_CALLS);
    for (unsigned i = 0; i < KINDS && started; i++)
        started = CUPTI_CALL(status, cuptiActivityEnable, kinds[i]);
    if (!started)
        stop(true);
    return started;
}

bool session_join(int driver_major, struct status *status) {
    pthread_mutex_lock(&control);
    bool joined =
        members > 0 || ((cupti = cupti_library(driver_major, status)) != NULL && start(status));
    members += joined;
    pthread_mutex_unlock(&control);
    return joined;
}

void session_leave(bool take_out) {
    pthread_mutex_lock(&control);
    if (--members == 0)
        stop(take_out);
    pthread_mutex_unlock(&control);
}

/* ---- For members ------------------------------------------------------------------------------
 */

bool session_context_number(cuda_context context, uint32_t *number, struct status *status) {
    return CUPTI_CALL(status, cuptiGetContextId, context, number);
}

bool session_stream_number(cuda_context context, cuda_stream stream, uint32_t *number,
                           struct status *status) {
    return CUPTI_CALL(status, cuptiGetStreamIdEx, context, stream, 0, number);
}

bool session_flush(struct status *status) {
    return CUPTI_CALL(status, cuptiActivityFlushAll, CUPTI_FLUSH_COMPLETE);
}

uint64_t session_dropped(void) {
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
