/* The fake CUPTI: see fake_cupti.h. */
#include "fake_cupti.h"

#include <string.h>

#include "abi/cupti_library.h"
#include "fake_cuda.h"

enum { RECORDS_MAX = 4096, CONTEXT = 7 };

struct fake_cupti fake_cupti;

/* Of one size for all kinds. */
union record {
    cupti_choice kind;
    struct cupti_kernel_record kernel;
    struct cupti_copy_record copy;
};

static union record waiting[RECORDS_MAX];
static size_t waiting_count, waiting_done; /* the first are over */
static size_t dropped;
static uint32_t correlation;
static uint64_t enabled; /* kinds, one bit each */
static bool calls_wanted;
static cupti_callback *callback;
static cupti_buffer_requested *requested;
static cupti_buffer_completed *completed;
static cupti_clock *clock_function;

#define FAILING(name)                                                                              \
    if (fake_cuda_fails(#name))                                                                    \
    return CUPTI_FAILED

static uint32_t stream_number(const struct CUstream_st *stream) {
    return (uint32_t)((uintptr_t)stream >> 4);
}

static void add_record(cupti_choice kind, const struct CUstream_st *stream) {
    union record *record = &waiting[waiting_count];
    if (!(enabled >> kind & 1))
        return;
    if (fake_cupti.lose > 0 || waiting_count == RECORDS_MAX) {
        fake_cupti.lose -= fake_cupti.lose > 0;
        dropped++;
        return;
    }
    waiting_count++;
    memset(record, 0, sizeof *record);
    uint64_t start = fake_cupti.no_times ? 0 : clock_function() - (uint64_t)fake_cupti.early;
    uint64_t end = fake_cupti.no_times ? 0 : start + (uint64_t)fake_cupti.nanoseconds;
    if (kind == CUPTI_KIND_KERNEL)
        record->kernel = (struct cupti_kernel_record){.kind = kind,
                                                      .start = start,
                                                      .end = end,
                                                      .context = CONTEXT,
                                                      .stream = stream_number(stream),
                                                      .correlation = correlation};
    else
        record->copy = (struct cupti_copy_record){.kind = kind,
                                                  .start = start,
                                                  .end = end,
                                                  .context = CONTEXT,
                                                  .stream = stream_number(stream),
                                                  .correlation = correlation};
    if (!fake_cupti.late)
        waiting_done = waiting_count;
}

void fake_cupti_called(uint32_t function, struct CUstream_st *stream, enum fake_activity activity) {
    if (!callback)
        return;
    correlation++;
    struct cupti_call_data data = {.site = CUPTI_CALL_BEGINS, .correlation = correlation};
    if (calls_wanted)
        callback(NULL, CUPTI_DRIVER_CALLS, function, &data);
    if (activity != FAKE_NOTHING)
        add_record(activity == FAKE_KERNEL ? CUPTI_KIND_KERNEL : CUPTI_KIND_COPY, stream);
    data.site = CUPTI_CALL_ENDS;
    if (calls_wanted)
        callback(NULL, CUPTI_DRIVER_CALLS, function, &data);
}

void fake_cupti_waited(void) {
    waiting_done = waiting_count;
}

static struct cupti table;

/* ---- The library ------------------------------------------------------------------------------
 */

static cupti_result fake_cuptiGetVersion(uint32_t *version) {
    *version = table.version;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiGetResultString(cupti_result result, const char **text) {
    (void)result;
    *text = "as CUPTI explains it";
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback *function,
                                        void *user) {
    FAILING(cuptiSubscribe);
    (void)user;
    if (fake_cupti.taken)
        return CUPTI_TAKEN;
    fake_cupti.starts++;
    fake_cuda.live++;
    *subscriber = (cupti_subscriber)(void *)&fake_cupti;
    callback = function;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiUnsubscribe(cupti_subscriber subscriber) {
    (void)subscriber;
    fake_cupti.ends++;
    fake_cuda.live--;
    callback = NULL;
    FAILING(cuptiUnsubscribe);
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiEnableDomain(uint32_t enable, cupti_subscriber subscriber,
                                           cupti_choice domain) {
    FAILING(cuptiEnableDomain);
    (void)subscriber, (void)domain;
    calls_wanted = enable != 0;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivityRegisterTimestampCallback(cupti_clock *function) {
    FAILING(cuptiActivityRegisterTimestampCallback);
    clock_function = function;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivityRegisterCallbacks(cupti_buffer_requested *request,
                                                        cupti_buffer_completed *complete) {
    FAILING(cuptiActivityRegisterCallbacks);
    requested = request;
    completed = complete;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivityEnable(cupti_choice kind) {
    FAILING(cuptiActivityEnable);
    enabled |= (uint64_t)1 << kind;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivityDisable(cupti_choice kind) {
    FAILING(cuptiActivityDisable);
    enabled &= ~((uint64_t)1 << kind);
    return CUPTI_SUCCEEDED;
}

static void deliver(size_t count) {
    for (size_t next = 0; next < count;) {
        uint8_t *buffer = NULL;
        size_t bytes = 0, most = 0, used = 0;
        requested(&buffer, &bytes, &most);
        if (!buffer) {
            dropped += count - next;
            return;
        }
        for (; next < count && used + sizeof(union record) <= bytes; next++) {
            memcpy(buffer + used, &waiting[fake_cupti.backwards ? count - 1 - next : next],
                   sizeof(union record));
            used += sizeof(union record);
            fake_cupti.records++;
        }
        completed(NULL, 0, buffer, bytes, used);
    }
}

static cupti_result fake_cuptiActivityFlushAll(uint32_t flag) {
    FAILING(cuptiActivityFlushAll);
    fake_cupti.flushes++;
    size_t count = flag == CUPTI_FLUSH_ALL ? waiting_count : waiting_done;
    deliver(count);
    memmove(waiting, waiting + count, (waiting_count - count) * sizeof *waiting);
    waiting_count -= count;
    waiting_done = 0;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, void **record) {
    uint8_t *next = *record ? (uint8_t *)*record + sizeof(union record) : buffer;
    if (next + sizeof(union record) > buffer + bytes)
        return CUPTI_NO_MORE_RECORDS;
    *record = next;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivityGetNumDroppedRecords(struct CUctx_st *context,
                                                           uint32_t stream, size_t *count) {
    (void)context, (void)stream;
    *count = dropped;
    dropped = 0;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiEnableCallback(uint32_t enable, cupti_subscriber subscriber,
                                             cupti_choice domain, uint32_t function) {
    (void)enable, (void)subscriber, (void)domain, (void)function;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiActivitySetAttribute(cupti_choice attribute, size_t *bytes,
                                                   void *value) {
    (void)attribute, (void)bytes, (void)value;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiGetDeviceId(struct CUctx_st *context, uint32_t *number) {
    (void)context;
    *number = 0;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiGetContextId(struct CUctx_st *context, uint32_t *number) {
    FAILING(cuptiGetContextId);
    (void)context;
    *number = CONTEXT;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiGetStreamIdEx(struct CUctx_st *context, struct CUstream_st *stream,
                                            uint8_t per_thread, uint32_t *number) {
    FAILING(cuptiGetStreamIdEx);
    (void)context, (void)per_thread;
    *number = stream_number(stream);
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiGetGraphId(struct CUgraph_st *graph, uint32_t *number) {
    FAILING(cuptiGetGraphId);
    *number = (uint32_t)(uintptr_t)graph;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiGetGraphNodeId(struct CUgraphNode_st *node, uint64_t *number) {
    FAILING(cuptiGetGraphNodeId);
    *number = (uintptr_t)node;
    return CUPTI_SUCCEEDED;
}
static cupti_result fake_cuptiFinalize(void) {
    FAILING(cuptiFinalize);
    fake_cupti.finalized++;
    correlation = 0;
    return CUPTI_SUCCEEDED;
}

#define FAKE(name, parameters) .name = fake_##name,
static struct cupti table = {CUPTI_SYMBOLS(FAKE)};

void fake_cupti_use(void) {
    fake_cupti = (struct fake_cupti){.nanoseconds = 1500};
    waiting_count = waiting_done = dropped = 0;
    correlation = 0;
    enabled = 0;
    calls_wanted = false;
    callback = NULL;
    table.version = 0;
    cupti_use(&table);
}

void fake_cupti_start(uint32_t version) {
    table.version = version;
}

void fake_cupti_remove(void) {
    cupti_use(NULL);
}
