/* Yields CUPTI to a profiler in the program. CUPTI supports one client at a time and would refuse
 * the program's profiler, which would change the program's results. So the probe unsubscribes
 * before the other client's call proceeds, and the trace records since when CUDA is missing.
 *
 * The probe subscribes again when the other client has finished: it is not subscribed, all its
 * record kinds are disabled and it has flushed its buffers since; or it has finalized CUPTI. Until
 * then it may still use CUPTI. (PyTorch's profiler keeps its subscription unless it finalizes.)
 *
 * The other client may call from any thread. A call in progress prevents a new subscription.
 */
#include "base/clock.h"
#include "probe/cuda/cuda.h"

#include <errno.h>

#include "base/array.h"
#include "probe/capture.h"

enum {
    QUIET_NS = 200000000,      /* a profiler makes several calls when it stops */
    CORRELATION_GAP = 1 << 20, /* assumed to exceed the calls between two launches */
    OTHER_KINDS = 63,          /* the bit of all larger kinds */
};

/* The observed state of other clients. */
static _Atomic uint32_t calls_under_way;
static _Atomic bool subscribed, has_records;
static _Atomic uint64_t their_kinds;
static _Atomic(cupti_clock *) their_clock;
static _Atomic(cupti_buffer_requested *) their_requested;
static _Atomic(cupti_buffer_completed *) their_completed;
static _Atomic int64_t last_seen; /* 0: none */

static void suspend_capture(bool leaves) {
    struct probe_thread *thread = probe_enter();
    capture_suspend(thread ? thread->lane : NULL, leaves);
    if (thread)
        probe_leave(thread);
}

static struct cupti_other_subscriber other_subscriber(void) {
    return (struct cupti_other_subscriber){.kinds = atomic_load(&their_kinds),
                                           .clock = atomic_load(&their_clock),
                                           .requested = atomic_load(&their_requested)};
}

void cupti_conflict_release(void) {
    struct cupti_other_subscriber theirs = other_subscriber();
    cuda_disable(&theirs);
    cuda_yield_subscriber(&theirs, NULL);
}

static void yield_cupti(const void *caller) {
    struct cupti_other_subscriber theirs = other_subscriber();
    cuda_disable(&theirs);
    suspend_capture(true);
    cuda_put_meta("cuda.taken_over", got_patch_library(caller));
    cuda_put_meta_int("cuda.taken_over_at", clock_now());
    cuda_yield_subscriber(&theirs, "work was running when the program's profiler took over CUPTI");
}

/* `caller` is set for calls that need CUPTI exclusively. */
static void their_call_begins(const void *caller) {
    int error = errno;
    atomic_fetch_add(&calls_under_way, 1);
    if (caller && cuda_lock()) {
        if (cuda_is_subscribed())
            yield_cupti(caller);
        cuda_unlock();
    }
    errno = error;
}

static void their_call_ended(void) {
    atomic_store(&last_seen, clock_now());
    atomic_fetch_sub(&calls_under_way, 1);
}

#define CALLER __builtin_return_address(0)

static cupti_result their_subscribe(cupti_subscriber *subscriber, cupti_callback *callback,
                                    void *user) {
    static _Atomic bool reported;
    their_call_begins(CALLER);
    cupti_result result = cuda_probe.cupti->cuptiSubscribe(subscriber, callback, user);
    if (result == CUPTI_SUCCEEDED)
        atomic_store(&subscribed, true);
    else if (result == CUPTI_TAKEN && !atomic_load(&subscribed) &&
             !atomic_exchange(&reported, true))
        cuda_put_meta("cuda.refused", got_patch_library(CALLER));
    their_call_ended();
    return result;
}

static cupti_result their_unsubscribe(cupti_subscriber subscriber) {
    their_call_begins(NULL);
    cupti_result result = cuda_probe.cupti->cuptiUnsubscribe(subscriber);
    if (result == CUPTI_SUCCEEDED)
        atomic_store(&subscribed, false);
    their_call_ended();
    return result;
}

/* A launch in progress may write its record to a buffer of the probe even after it unsubscribed. So
 * the probe receives all completed buffers and passes the other client's on. */
static cupti_result their_register_callbacks(cupti_buffer_requested *requested,
                                             cupti_buffer_completed *completed) {
    cupti_buffer_completed *before;
    their_call_begins(CALLER);
    before = atomic_exchange(&their_completed, completed);
    cupti_result result = cuda_probe.cupti->cuptiActivityRegisterCallbacks(
        requested, completed ? cuda_buffer_completed : NULL);
    if (result == CUPTI_SUCCEEDED) {
        atomic_store(&their_requested, requested);
        atomic_store(&has_records, true);
    } else {
        atomic_store(&their_completed, before);
    }
    their_call_ended();
    return result;
}

void cupti_conflict_buffer_completed(struct CUctx_st *context, uint32_t stream, uint8_t *buffer,
                                     size_t bytes, size_t valid_bytes) {
    cupti_buffer_completed *completed = atomic_load(&their_completed);
    if (completed)
        completed(context, stream, buffer, bytes, valid_bytes);
}

static cupti_result their_register_clock(cupti_clock *clock) {
    their_call_begins(CALLER);
    cupti_result result = cuda_probe.cupti->cuptiActivityRegisterTimestampCallback(clock);
    if (result == CUPTI_SUCCEEDED)
        atomic_store(&their_clock, clock);
    their_call_ended();
    return result;
}

static uint64_t bit_of(cupti_choice kind) {
    return (uint64_t)1 << (kind < OTHER_KINDS ? kind : OTHER_KINDS);
}

static cupti_result their_enable(cupti_choice kind) {
    their_call_begins(NULL);
    /* Set before the call: meanwhile another thread may make the probe yield. */
    uint64_t before = atomic_fetch_or(&their_kinds, bit_of(kind));
    cupti_result result = cuda_probe.cupti->cuptiActivityEnable(kind);
    if (result == CUPTI_SUCCEEDED)
        atomic_store(&has_records, true);
    else
        atomic_fetch_and(&their_kinds, ~(bit_of(kind) & ~before));
    their_call_ended();
    return result;
}

/* Kinds are process-wide: while the probe is subscribed it needs them. */
static bool is_subscribed_locked(void) {
    bool ours = false;
    if (cuda_lock()) {
        ours = cuda_is_subscribed();
        cuda_unlock();
    }
    return ours;
}

static cupti_result their_disable(cupti_choice kind) {
    their_call_begins(NULL);
    cupti_result result =
        is_subscribed_locked() ? CUPTI_SUCCEEDED : cuda_probe.cupti->cuptiActivityDisable(kind);
    if (result == CUPTI_SUCCEEDED && kind < OTHER_KINDS)
        atomic_fetch_and(&their_kinds, ~bit_of(kind));
    their_call_ended();
    return result;
}

static cupti_result their_flush(uint32_t flags) {
    their_call_begins(NULL);
    bool is_last = atomic_load(&their_kinds) == 0 && (flags & CUPTI_FLUSH_ALL);
    cupti_result result = cuda_probe.cupti->cuptiActivityFlushAll(flags);
    if (result == CUPTI_SUCCEEDED && is_last)
        atomic_store(&has_records, false);
    their_call_ended();
    return result;
}

/* Afterwards correlation ids may restart at 1. */
static void advance_correlations(void) {
    uint32_t call = cuda_last_launch(), record = cuda_last_record();
    atomic_store(&cuda_probe.correlation_base, (call > record ? call : record) + CORRELATION_GAP);
}

static cupti_result their_finalize(void) {
    their_call_begins(CALLER);
    cupti_result result = cuda_probe.cupti->cuptiFinalize();
    if (result == CUPTI_SUCCEEDED) {
        advance_correlations();
        atomic_store(&their_clock, NULL);
        atomic_store(&their_requested, NULL);
        atomic_store(&their_completed, NULL);
        atomic_store(&their_kinds, 0);
        atomic_store(&has_records, false);
        atomic_store(&subscribed, false);
    }
    their_call_ended();
    return result;
}

void cupti_conflict_watch(void) {
    const struct cupti *cupti = cuda_probe.cupti;
    const struct got_entry entries[] = {
        {"cuptiSubscribe", (uintptr_t)cupti->cuptiSubscribe, (uintptr_t)their_subscribe},
        {"cuptiUnsubscribe", (uintptr_t)cupti->cuptiUnsubscribe, (uintptr_t)their_unsubscribe},
        {"cuptiFinalize", (uintptr_t)cupti->cuptiFinalize, (uintptr_t)their_finalize},
        {"cuptiActivityRegisterCallbacks", (uintptr_t)cupti->cuptiActivityRegisterCallbacks,
         (uintptr_t)their_register_callbacks},
        {"cuptiActivityRegisterTimestampCallback",
         (uintptr_t)cupti->cuptiActivityRegisterTimestampCallback, (uintptr_t)their_register_clock},
        {"cuptiActivityEnable", (uintptr_t)cupti->cuptiActivityEnable, (uintptr_t)their_enable},
        {"cuptiActivityDisable", (uintptr_t)cupti->cuptiActivityDisable, (uintptr_t)their_disable},
        {"cuptiActivityFlushAll", (uintptr_t)cupti->cuptiActivityFlushAll, (uintptr_t)their_flush},
    };
    got_patch(entries, ARRAY_COUNT(entries));
}

static bool others_have_left(void) {
    int64_t seen = atomic_load(&last_seen);
    return seen > 0 && clock_now() - seen > QUIET_NS && atomic_load(&calls_under_way) == 0 &&
           !atomic_load(&subscribed) && atomic_load(&their_kinds) == 0 &&
           !atomic_load(&has_records);
}

/* A launch in progress when they stopped may have left one of their buffers active, and the probe's
 * records would follow in it. */
static void flush_their_buffers(void) {
    if (atomic_load(&their_requested))
        cuda_probe.cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL);
}

void cupti_conflict_poll(void) {
    struct status status = {0};
    if (cuda_is_subscribed() || !others_have_left())
        return;
    flush_their_buffers();
    if (!cuda_subscribe(&status)) { /* a client that is not intercepted */
        atomic_store(&last_seen, 0);
        return;
    }
    suspend_capture(false);
    cuda_put_meta_int("cuda.given_back_at", clock_now());
}
