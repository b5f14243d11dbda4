/* The fake CUPTI, see standin.h. Buffers are delivered when they are full, on the thread that
 * filled them, or by a flush.
 */
#include "standin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION = 130000, RECORD_BYTES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_callback *callback;
static uintptr_t subscribers; /* total number */
enum { DOMAINS = 4 };
static bool wanted[DOMAINS][1024];
static uint64_t enabled;
static bool zeroed; /* the client promised zeroed buffers */
static cupti_buffer_requested *requested;
static cupti_buffer_completed *completed;
static cupti_clock *read_clock;
static unsigned clocks;             /* that there have been */
static __thread unsigned own_clock; /* the one that this thread has read last */
static uint8_t *buffer;
static size_t capacity, used, dropped;
static uint32_t created; /* streams */

static bool is_wrong(const char *what) {
    const char *wrong = getenv("STANDIN");
    return wrong && strcmp(wrong, what) == 0;
}

/* Whether this is the call that fails with STANDIN=fail:N. Its name goes to $STANDIN_FAILED. */
bool standin_fails(const char *name) {
    static unsigned calls;
    const char *wrong = getenv("STANDIN"), *path = getenv("STANDIN_FAILED");
    if (!wrong || strncmp(wrong, "fail:", 5) != 0 ||
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != (unsigned)atoi(wrong + 5))
        return false;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%s\n", name);
        fclose(file);
    }
    return true;
}

/* ---- CUPTI -------------------------------------------------------------------------------- */

cupti_result cuptiGetVersion(uint32_t *version);
cupti_result cuptiGetVersion(uint32_t *version) {
    if (standin_fails("cuptiGetVersion"))
        return CUPTI_FAILED;
    *version = is_wrong("old") ? 12 : VERSION;
    return 0;
}
cupti_result cuptiGetResultString(cupti_result result, const char **text);
cupti_result cuptiGetResultString(cupti_result result, const char **text) {
    *text = result ? "something is wrong" : "nothing is wrong";
    return 0;
}
cupti_result cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback *function, void *user);
cupti_result cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback *function, void *user) {
    if (standin_fails("cuptiSubscribe"))
        return CUPTI_FAILED;
    (void)user;
    pthread_mutex_lock(&lock);
    bool taken = is_wrong("taken") || callback;
    if (!taken) {
        *subscriber = (cupti_subscriber)++subscribers;
        __atomic_store_n(&callback, function, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return taken ? CUPTI_TAKEN : CUPTI_SUCCEEDED;
}
static bool is_subscribed(cupti_subscriber subscriber) {
    return __atomic_load_n(&callback, __ATOMIC_ACQUIRE) && (uintptr_t)subscriber == subscribers;
}
cupti_result cuptiUnsubscribe(cupti_subscriber subscriber);
cupti_result cuptiUnsubscribe(cupti_subscriber subscriber) {
    if (standin_fails("cuptiUnsubscribe"))
        return CUPTI_FAILED;
    if (!is_subscribed(subscriber))
        return CUPTI_FAILED;
    memset(wanted, 0, sizeof wanted);
    __atomic_store_n(&callback, NULL, __ATOMIC_RELEASE);
    return 0;
}
cupti_result cuptiEnableDomain(uint32_t enable, cupti_subscriber subscriber, cupti_choice domain);
cupti_result cuptiEnableDomain(uint32_t enable, cupti_subscriber subscriber, cupti_choice domain) {
    if (standin_fails("cuptiEnableDomain"))
        return CUPTI_FAILED;
    if (!is_subscribed(subscriber))
        return CUPTI_FAILED;
    for (unsigned i = 0; i < 1024 && domain < DOMAINS; i++)
        wanted[domain][i] = enable;
    return 0;
}
cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, cupti_choice domain,
                                 uint32_t function);
cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber, cupti_choice domain,
                                 uint32_t function) {
    if (standin_fails("cuptiEnableCallback"))
        return CUPTI_FAILED;
    if (!is_subscribed(subscriber))
        return CUPTI_FAILED;
    if (domain >= DOMAINS || function >= 820)
        return CUPTI_INVALID_PARAMETER;
    wanted[domain][function] = enable;
    return 0;
}
cupti_result cuptiActivitySetAttribute(cupti_choice attribute, size_t *bytes, void *value);
cupti_result cuptiActivitySetAttribute(cupti_choice attribute, size_t *bytes, void *value) {
    if (standin_fails("cuptiActivitySetAttribute"))
        return CUPTI_FAILED;
    if (attribute == CUPTI_ZEROED_BUFFERS && *bytes == 1)
        zeroed = *(uint8_t *)value;
    return 0;
}
cupti_result cuptiActivityRegisterTimestampCallback(cupti_clock *function);
cupti_result cuptiActivityRegisterTimestampCallback(cupti_clock *function) {
    if (standin_fails("cuptiActivityRegisterTimestampCallback"))
        return CUPTI_FAILED;
    if (!function)
        return CUPTI_FAILED;
    pthread_mutex_lock(&lock);
    __atomic_store_n(&read_clock, function, __ATOMIC_RELEASE);
    __atomic_add_fetch(&clocks, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return 0;
}
cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested *ask,
                                            cupti_buffer_completed *give);
cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested *ask,
                                            cupti_buffer_completed *give) {
    if (standin_fails("cuptiActivityRegisterCallbacks"))
        return CUPTI_FAILED;
    pthread_mutex_lock(&lock);
    requested = ask;
    completed = give;
    pthread_mutex_unlock(&lock);
    return 0;
}
cupti_result cuptiActivityEnable(cupti_choice kind);
cupti_result cuptiActivityEnable(cupti_choice kind) {
    if (standin_fails("cuptiActivityEnable"))
        return CUPTI_FAILED;
    if (is_wrong("refused"))
        return CUPTI_NEEDS_PRIVILEGES;
    __atomic_fetch_or(&enabled, (uint64_t)1 << kind, __ATOMIC_RELAXED);
    return 0;
}
cupti_result cuptiActivityDisable(cupti_choice kind);
cupti_result cuptiActivityDisable(cupti_choice kind) {
    if (standin_fails("cuptiActivityDisable"))
        return CUPTI_FAILED;
    __atomic_fetch_and(&enabled, ~((uint64_t)1 << kind), __ATOMIC_RELAXED);
    return 0;
}

static void deliver(void) {
    uint8_t *full = buffer;
    size_t bytes = used;
    buffer = NULL;
    used = 0;
    if (full)
        completed(NULL, 0, full, capacity, bytes);
}

cupti_result cuptiActivityFlushAll(uint32_t flags);
cupti_result cuptiActivityFlushAll(uint32_t flags) {
    if (standin_fails("cuptiActivityFlushAll"))
        return CUPTI_FAILED;
    (void)flags;
    pthread_mutex_lock(&lock);
    deliver();
    pthread_mutex_unlock(&lock);
    return 0;
}
cupti_result cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record);
cupti_result cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record) {
    if (standin_fails("cuptiActivityGetNextRecord"))
        return CUPTI_FAILED;
    uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : from;
    if (next + RECORD_BYTES > from + valid)
        return CUPTI_NO_MORE_RECORDS;
    *record = next;
    return 0;
}
cupti_result cuptiActivityGetNumDroppedRecords(struct CUctx_st *context, uint32_t stream,
                                               size_t *count);
cupti_result cuptiActivityGetNumDroppedRecords(struct CUctx_st *context, uint32_t stream,
                                               size_t *count) {
    if (standin_fails("cuptiActivityGetNumDroppedRecords"))
        return CUPTI_FAILED;
    (void)context, (void)stream;
    *count = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
    return 0;
}
cupti_result cuptiGetDeviceId(struct CUctx_st *context, uint32_t *number);
cupti_result cuptiGetDeviceId(struct CUctx_st *context, uint32_t *number) {
    if (standin_fails("cuptiGetDeviceId"))
        return CUPTI_FAILED;
    *number = 0;
    return context == STANDIN_CONTEXT ? 0 : CUPTI_FAILED;
}
cupti_result cuptiGetContextId(struct CUctx_st *context, uint32_t *number);
cupti_result cuptiGetContextId(struct CUctx_st *context, uint32_t *number) {
    if (standin_fails("cuptiGetContextId"))
        return CUPTI_FAILED;
    *number = context == STANDIN_OTHER_CONTEXT ? 2 : STANDIN_CONTEXT_NUMBER;
    return context == STANDIN_CONTEXT || context == STANDIN_OTHER_CONTEXT ? 0 : CUPTI_FAILED;
}
cupti_result cuptiGetStreamIdEx(struct CUctx_st *context, struct CUstream_st *stream,
                                uint8_t per_thread, uint32_t *number);
cupti_result cuptiGetStreamIdEx(struct CUctx_st *context, struct CUstream_st *stream,
                                uint8_t per_thread, uint32_t *number) {
    if (standin_fails("cuptiGetStreamIdEx"))
        return CUPTI_FAILED;
    *number = stream ? (uint32_t)(uintptr_t)stream : (uint32_t)STANDIN_STREAM + per_thread;
    if ((uintptr_t)stream == STANDIN_REUSED)
        *number += __atomic_load_n(&created, __ATOMIC_RELAXED);
    bool elsewhere = (uintptr_t)stream == STANDIN_ELSEWHERE;
    return context == (elsewhere ? STANDIN_OTHER_CONTEXT : STANDIN_CONTEXT) ? 0 : CUPTI_FAILED;
}
/* A node's id is its handle, and so is a graph's. */
cupti_result cuptiGetGraphId(struct CUgraph_st *graph, uint32_t *number);
cupti_result cuptiGetGraphId(struct CUgraph_st *graph, uint32_t *number) {
    if (standin_fails("cuptiGetGraphId"))
        return CUPTI_FAILED;
    *number = (uint32_t)(uintptr_t)graph;
    return 0;
}
cupti_result cuptiGetGraphNodeId(struct CUgraphNode_st *node, uint64_t *number);
cupti_result cuptiGetGraphNodeId(struct CUgraphNode_st *node, uint64_t *number) {
    if (standin_fails("cuptiGetGraphNodeId"))
        return CUPTI_FAILED;
    *number = (uintptr_t)node;
    return 0;
}
cupti_result cuptiFinalize(void);
cupti_result cuptiFinalize(void) {
    if (standin_fails("cuptiFinalize"))
        return CUPTI_FAILED;
    pthread_mutex_lock(&lock);
    if (callback)
        abort(); /* under somebody's feet */
    enabled = 0;
    requested = NULL;
    completed = NULL;
    read_clock = NULL;
    zeroed = false;
    buffer = NULL;
    clocks++;
    standin_forget_calls();
    pthread_mutex_unlock(&lock);
    return 0;
}

void standin_put(cupti_choice kind, const void *record, size_t bytes) {
    static unsigned puts;
    static __thread unsigned hesitated;
    size_t most = 0;
    if (!(__atomic_load_n(&enabled, __ATOMIC_RELAXED) >> kind & 1))
        return;
    if (is_wrong("slow") && ++hesitated % 64 == 0)
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    pthread_mutex_lock(&lock);
    if (own_clock != clocks) { /* it was asked for before the one who listens came */
        pthread_mutex_unlock(&lock);
        return;
    }
    if (buffer && used + RECORD_BYTES > capacity)
        deliver();
    if (!buffer && requested)
        requested(&buffer, &capacity, &most);
    if (buffer && used == 0 && !zeroed)
        memset(buffer, 0, capacity);
    if (!buffer || (is_wrong("lossy") && ++puts % 10 == 0)) {
        __atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
    } else {
        memcpy(buffer + used, record, bytes);
        used += RECORD_BYTES;
    }
    pthread_mutex_unlock(&lock);
}

bool standin_wants(cupti_choice kind) {
    return __atomic_load_n(&enabled, __ATOMIC_RELAXED) >> kind & 1;
}

void standin_create_stream(void) {
    __atomic_add_fetch(&created, 1, __ATOMIC_RELAXED);
    standin_tell(CUPTI_RESOURCES, CUPTI_STREAM_CREATED, NULL);
}

void standin_tell(cupti_choice domain, uint32_t number, const void *data) {
    cupti_callback *function = __atomic_load_n(&callback, __ATOMIC_ACQUIRE);
    if (function && wanted[domain][number])
        function(NULL, domain, number, data);
}

uint64_t standin_now(void) {
    struct timespec time;
    own_clock = __atomic_load_n(&clocks, __ATOMIC_ACQUIRE);
    static unsigned reads;
    cupti_clock *function = __atomic_load_n(&read_clock, __ATOMIC_ACQUIRE);
    bool usual = is_wrong("clocks") && __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED) % 10 == 0;
    if (function && !usual)
        return function();
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Each record in the file is its length, its bytes, and the length and bytes of its name. Names lie
 * elsewhere than they did. */
static bool replay_one(FILE *file) {
    union {
        cupti_choice kind;
        struct cupti_kernel_record kernel;
        uint8_t bytes[RECORD_BYTES];
    } record = {0};
    uint32_t bytes, length;
    if (fread(&bytes, sizeof bytes, 1, file) != 1 || bytes > sizeof record ||
        fread(&record, bytes, 1, file) != 1 || fread(&length, sizeof length, 1, file) != 1)
        return false;
    char *name = calloc(1, (size_t)length + 1);
    if (!name || fread(name, 1, length, file) != length)
        return false;
    if (record.kind == CUPTI_KIND_KERNEL)
        record.kernel.name = name;
    standin_put(record.kind, &record, bytes);
    return true;
}

void standin_replay(void) {
    const char *path = getenv("STANDIN_REPLAY");
    FILE *file = path ? fopen(path, "rb") : NULL;
    while (file && replay_one(file))
        ;
    if (file)
        fclose(file);
}
