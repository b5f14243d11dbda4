/* Records calls of the CUDA driver and runtime on the calling thread. This is the cost per launch.
 *
 * A runtime call makes driver calls with the same correlation id; only the outer call is recorded.
 * Module loading is also recorded inside another call, because it explains why that call took long.
 */
#include "probe/cuda/cuda.h"

#include <stdatomic.h>
#include <string.h>

#include "abi/cupti_functions.h"
#include "base/clock.h"
#include "probe/capture.h"

enum {
    LAUNCHES_REMEMBERED = 1024,    /* calls */
    LAUNCH_SAMPLE_BITS = 6,        /* one launch in 64 */
    ALLOCATIONS_REMEMBERED = 4096, /* whose thread is known */
};

struct function {
    const char *name, *suffix;
    uint8_t class, order;
};

#define ROW(name, suffix, number, what)                                                            \
    [number] = {#name, #suffix, CUPTI_CALL_##what, CUPTI_ORDER_##what},
static const struct function functions[2][CUPTI_FUNCTIONS_MAX] = {
    {CUPTI_DRIVER_FUNCTIONS(ROW)},
    {CUPTI_RUNTIME_FUNCTIONS(ROW)},
};
#undef ROW

/* The runtime call that this thread is in. */
PROBE_THREAD_LOCAL const struct function *outer;
/* The correlation id of the launch that this thread is in; 0: none. */
PROBE_THREAD_LOCAL uint32_t launching;
/* cuda_probe.since at its start. The end of a call is missed while the probe is unsubscribed. */
PROBE_THREAD_LOCAL int64_t outer_since;

static _Atomic uint32_t last_launch;
static struct {
    _Atomic uint32_t correlation;
    _Atomic int64_t start;
} launch_starts[LAUNCHES_REMEMBERED];

static struct {
    _Atomic uint32_t correlation;
    _Atomic int64_t tid;
} allocation_threads[ALLOCATIONS_REMEMBERED];

uint32_t cuda_last_launch(void) {
    return atomic_load_explicit(&last_launch, memory_order_relaxed);
}

/* Hashed, because the ids in a loop may all be multiples of one number. */
static bool slot_of(uint32_t correlation, unsigned *slot) {
    uint32_t hash = correlation * 0x9E3779B1u;
    *slot = hash % LAUNCHES_REMEMBERED;
    return hash >> (32 - LAUNCH_SAMPLE_BITS) == 0;
}

static void remember_launch(uint32_t correlation, int64_t start) {
    unsigned slot;
    atomic_store_explicit(&last_launch, correlation, memory_order_relaxed);
    if (!slot_of(correlation, &slot))
        return;
    atomic_store_explicit(&launch_starts[slot].correlation, 0, memory_order_relaxed);
    atomic_store_explicit(&launch_starts[slot].start, start, memory_order_release);
    atomic_store_explicit(&launch_starts[slot].correlation, correlation, memory_order_release);
}

int64_t cuda_call_start(uint32_t correlation) {
    unsigned slot;
    if (!slot_of(correlation, &slot) ||
        atomic_load_explicit(&launch_starts[slot].correlation, memory_order_acquire) != correlation)
        return 0;
    int64_t start = atomic_load_explicit(&launch_starts[slot].start, memory_order_acquire);
    return atomic_load(&launch_starts[slot].correlation) == correlation ? start : 0;
}

/* Consecutive ids use consecutive slots, so only very old ones are overwritten. */
static void remember_thread(uint32_t correlation) {
    unsigned slot = correlation % ALLOCATIONS_REMEMBERED;
    atomic_store_explicit(&allocation_threads[slot].correlation, 0, memory_order_relaxed);
    atomic_store_explicit(&allocation_threads[slot].tid, probe_thread_id(), memory_order_release);
    atomic_store_explicit(&allocation_threads[slot].correlation, correlation, memory_order_release);
}

int64_t cuda_call_thread(uint32_t correlation) {
    unsigned slot = correlation % ALLOCATIONS_REMEMBERED;
    if (atomic_load_explicit(&allocation_threads[slot].correlation, memory_order_acquire) !=
        correlation)
        return 0;
    int64_t tid = atomic_load_explicit(&allocation_threads[slot].tid, memory_order_acquire);
    return atomic_load(&allocation_threads[slot].correlation) == correlation ? tid : 0;
}

static bool is_launch(const struct function *function) {
    return function->class == CALL_LAUNCH || function->class == CALL_COPY;
}

static void put_call(struct spool_lane *lane, uint32_t text, const struct spool_call *filled) {
    struct spool_call *call = spool_begin(lane, SPOOL_CALL, text, sizeof *call);
    if (!call)
        return;
    struct spool_head head = call->head;
    *call = *filled;
    call->head = head;
    spool_publish(lane);
}

static void record_call(const struct function *function, const struct cuda_ordering *ended,
                        int32_t result) {
    struct probe_thread *thread = probe_enter();
    int64_t duration = ended->end - ended->start;
    if (!thread)
        return;
    struct spool_call call = {
        .start = ended->start,
        .duration = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX,
        .correlation = ended->correlation,
        .result = result,
        .class = function->class,
        .stack = probe_stack(thread, function->class) & 0xFFFFFF,
    };
    put_call(thread->lane, spool_constant(thread->lane, function->name), &call);
    if (call.duration == UINT32_MAX) {
        struct spool_call rest = {.start = ended->end, .class = SPOOL_CALL_END};
        put_call(thread->lane, 0, &rest);
    }
    if (ended->order && result == 0)
        cuda_put_wait(thread->lane, ended);
    probe_leave(thread);
}

static int64_t subscribed_since(void) {
    return atomic_load_explicit(&cuda_probe.since, memory_order_relaxed);
}

static bool is_inside_another(const struct function *function, bool runtime) {
    return !runtime && outer && outer_since == subscribed_since() &&
           (function->class != CALL_COMPILE || function->class == outer->class);
}

static void call_ended(const struct function *function, const struct cupti_call_data *call,
                       uint32_t correlation) {
    int64_t end = clock_now(), start = (int64_t)*call->own;
    int32_t result = call->result ? *(const int32_t *)call->result : 0;
    *call->own = 0;
    if (start <= 0 || start < subscribed_since() || start > end)
        return; /* it began before the subscription */
    cuda_context_seen(call->context, call->context_id);
    struct cuda_ordering ordering = {.order = function->order,
                                     .data = call,
                                     .correlation = correlation,
                                     .start = start,
                                     .end = end};
    if (function->order)
        ordering.per_thread = strstr(function->suffix, "_ptsz") != NULL;
    if (ordering.order == CUPTI_ORDER_EVENT_RECORD && result == 0)
        cuda_event_recorded(&ordering);
    if (capture_is_on() && capture_has_started(start))
        record_call(function, &ordering, result);
}

static void update_capture(bool runtime, uint32_t number) {
    bool begins = number == (runtime ? CUPTI_RUNTIME_PROFILER_START : CUPTI_DRIVER_PROFILER_START);
    if (!begins && number != (runtime ? CUPTI_RUNTIME_PROFILER_STOP : CUPTI_DRIVER_PROFILER_STOP))
        return;
    struct probe_thread *thread = probe_enter();
    capture_profiler(thread ? thread->lane : NULL, begins);
    if (thread)
        probe_leave(thread);
}

static void resource_created(uint32_t number, const void *data) {
    if (number == CUPTI_GRAPH_NODE_CREATED)
        cuda_node_created(data, launching);
    else if (number == CUPTI_GRAPH_NODE_CLONED)
        cuda_node_cloned(data);
    else
        cuda_stream_created();
}

void cuda_callback(void *user, cupti_choice domain, uint32_t number, const void *data) {
    const struct cupti_call_data *call = data;
    bool runtime = domain == CUPTI_RUNTIME_CALLS;
    (void)user;
    if (domain == CUPTI_RESOURCES)
        resource_created(number, data);
    if ((!runtime && domain != CUPTI_DRIVER_CALLS) || number >= CUPTI_FUNCTIONS_MAX)
        return;
    const struct function *function = &functions[runtime][number];
    if (!function->name || !call->own || is_inside_another(function, runtime))
        return;
    uint32_t correlation = call->correlation +
                           atomic_load_explicit(&cuda_probe.correlation_base, memory_order_relaxed);
    if (call->site == CUPTI_CALL_BEGINS) {
        if (runtime) {
            outer = function;
            outer_since = subscribed_since();
        }
        int64_t start = clock_now();
        *call->own = (uint64_t)start;
        if (is_launch(function)) {
            remember_launch(correlation, start);
            launching = correlation;
        } else if (function->class == CALL_ALLOC) {
            remember_thread(correlation);
        }
        capture_call_seen(correlation);
    } else {
        if (runtime)
            outer = NULL;
        launching = 0;
        call_ended(function, call, correlation);
        update_capture(runtime, number);
    }
}

static bool enable_callback(cupti_subscriber subscriber, cupti_choice domain, uint32_t id) {
    return cuda_enabled(cuda_probe.cupti->cuptiEnableCallback(1, subscriber, domain, id),
                        "cuptiEnableCallback");
}

void cuda_enable_callbacks(cupti_subscriber subscriber) {
    for (uint32_t i = 0; i < CUPTI_FUNCTIONS_MAX; i++) {
        if (functions[0][i].name)
            enable_callback(subscriber, CUPTI_DRIVER_CALLS, i);
        if (functions[1][i].name)
            enable_callback(subscriber, CUPTI_RUNTIME_CALLS, i);
    }
    cuda_new_streams_reported(enable_callback(subscriber, CUPTI_RESOURCES, CUPTI_CONTEXT_CREATED) &&
                              enable_callback(subscriber, CUPTI_RESOURCES, CUPTI_STREAM_CREATED));
    enable_callback(subscriber, CUPTI_RESOURCES, CUPTI_GRAPH_NODE_CLONED);
    if (cuda_probe.probe->options.graph_nodes)
        enable_callback(subscriber, CUPTI_RESOURCES, CUPTI_GRAPH_NODE_CREATED);
}
