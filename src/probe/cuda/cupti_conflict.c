/* What if the program has a profiler of its own that wants CUPTI while we have it? CUPTI serves one
 * at a time and would refuse it, and the program's own result would be another than without us. So
 * we leave before its call goes through, and the trace says from when on it lacks CUDA.
 *
 * We come back when it has left in turn: it does not subscribe, all kinds of records that it
 * enabled are disabled, and it has asked for its buffers since; or it has finalized CUPTI. Until
 * all that was seen it may still want something of CUPTI, and we stay out. (PyTorch's keeps its
 * subscription unless it finalizes.)
 *
 * Its calls come on any thread of the program; one that is under way keeps us out.
 */
#include "probe/cuda/cuda.h"

#include <errno.h>

#include "probe/capture.h"

enum {
    QUIET_NS = 200000000,      /* as one that stops does several things in a row */
    CORRELATION_GAP = 1 << 20, /* more calls than can lie between two launches, hopefully */
    OTHER_KINDS = 63,          /* of all kinds from there on */
};

/* What was seen of them. */
static _Atomic uint32_t calls_under_way;
static _Atomic bool subscribed, has_records;
static _Atomic uint64_t their_kinds;
static _Atomic(cupti_clock *) their_clock;
static _Atomic(cupti_buffer_requested *) their_requested;
static _Atomic(cupti_buffer_completed *) their_completed;
static _Atomic int64_t last_seen; /* 0: there is nothing to wait for */

static void suspend_capture(bool leaves) {
    struct probe_thread *thread = probe_enter();
    capture_suspend(thread ? thread->lane : NULL, leaves);
    if (thread)
        probe_leave(thread);
}

static void yield_cupti(const void *caller) {
    struct cupti_other_subscriber theirs = {.kinds = atomic_load(&their_kinds),
                                            .clock = atomic_load(&their_clock),
                                            .requested = atomic_load(&their_requested)};
    cuda_disable(&theirs);
    suspend_capture(true);
    cuda_put_meta("cuda.taken_over", got_patch_library(caller));
    cuda_put_meta_int("cuda.taken_over_at", spool_now());
    cuda_yield_subscriber(&theirs);
}

/* Before a call of theirs that needs CUPTI for itself, and after any. */
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
    atomic_store(&last_seen, spool_now());
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

/* A launch that was under way when we left may put its record into a buffer of ours only then, so
 * all buffers come to us, and theirs are handed on. */
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
    /* Known before it is so: another thread may make us leave meanwhile, which ends our kinds. */
    uint64_t before = atomic_fetch_or(&their_kinds, bit_of(kind));
    cupti_result result = cuda_probe.cupti->cuptiActivityEnable(kind);
    if (result == CUPTI_SUCCEEDED)
        atomic_store(&has_records, true);
    else
        atomic_fetch_and(&their_kinds, ~(bit_of(kind) & ~before));
    their_call_ended();
    return result;
}

/* Kinds are the whole process's: while we listen, what it is done with may still be ours. */
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

/* Correlations may begin again at 1 afterwards. */
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
    got_patch(entries, sizeof entries / sizeof entries[0]);
}

static bool others_have_left(void) {
    int64_t seen = atomic_load(&last_seen);
    return seen > 0 && spool_now() - seen > QUIET_NS && atomic_load(&calls_under_way) == 0 &&
           !atomic_load(&subscribed) && atomic_load(&their_kinds) == 0 &&
           !atomic_load(&has_records);
}

/* A launch that was under way when they stopped may have put its record into a buffer of theirs
 * only then, and ours would follow it there. */
static void flush_their_buffers(void) {
    if (atomic_load(&their_requested))
        cuda_probe.cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL);
}

void cupti_conflict_poll(void) {
    struct status status = {0};
    if (cuda_is_subscribed() || !others_have_left())
        return;
    flush_their_buffers();
    if (!cuda_subscribe(&status)) { /* somebody has it whom we do not see */
        atomic_store(&last_seen, 0);
        return;
    }
    suspend_capture(false);
    cuda_put_meta_int("cuda.given_back_at", spool_now());
}
