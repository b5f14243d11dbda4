/* What do we ask of CUPTI, and how do we leave it?
 *
 * CUPTI serves one at a time. Leaving it for another means to fetch our buffers before they could
 * be handed to somebody who does not know them, and to take back all that holds for the whole
 * process: kinds of records, the clock, the promise that buffers are zero.
 */
#include "base/array.h"
#include "base/clock.h"
#include "probe/cuda/cuda.h"

#include <time.h>

enum { TURN_NS = 1000000, TURNS = 20 };

static cupti_subscriber subscriber;
static bool listening;

/* None that calls tell of as well: records of waits and events make launches slower. */
static const cupti_choice kinds[] = {CUPTI_KIND_KERNEL, CUPTI_KIND_COPY,   CUPTI_KIND_PEER_COPY,
                                     CUPTI_KIND_SET,    CUPTI_KIND_MEMORY, CUPTI_KIND_OVERHEAD,
                                     CUPTI_KIND_GRAPH};
enum { KINDS = ARRAY_COUNT(kinds) };

bool cuda_is_listening(void) {
    return listening;
}

/* What a version does not know is left out; kernels are what it is about. */
static bool enable_kinds(const struct cupti *cupti, bool by_node, struct status *status) {
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i] == CUPTI_KIND_GRAPH && by_node)
            continue;
        cupti_result result = cupti->cuptiActivityEnable(kinds[i]);
        if (result != CUPTI_SUCCEEDED && kinds[i] == CUPTI_KIND_KERNEL)
            return cupti_call_failed(cupti, result, "cuptiActivityEnable", status);
    }
    return true;
}

/* Otherwise CUPTI wipes each buffer while the program waits for its launch. Without the attribute
 * that is what it does. */
static void bring_zeroed_buffers(const struct cupti *cupti, uint8_t zeroed) {
    size_t bytes = sizeof zeroed;
    cupti->cuptiActivitySetAttribute(CUPTI_ZEROED_BUFFERS, &bytes, &zeroed);
}

static uint64_t read_clock(void) {
    return (uint64_t)clock_now();
}

uint64_t cuda_default_timestamp(void) {
    return (uint64_t)clock_read(CLOCK_REALTIME);
}

static bool set_up(const struct cupti *cupti, struct status *status) {
    cupti_result result = cupti->cuptiActivityRegisterTimestampCallback(read_clock);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiActivityRegisterTimestampCallback", status);
    bring_zeroed_buffers(cupti, 1);
    cuda_buffers_withhold(false);
    result = cupti->cuptiActivityRegisterCallbacks(cuda_buffer_requested, cuda_buffer_completed);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiActivityRegisterCallbacks", status);
    return enable_kinds(cupti, cuda_probe.probe->options.by_node, status);
}

static void disable_kinds(const struct cupti *cupti, uint64_t but) {
    for (size_t i = 0; i < KINDS; i++)
        if (!(but >> kinds[i] & 1))
            cupti->cuptiActivityDisable(kinds[i]);
}

static void restore(const struct cupti *cupti, const struct cupti_other_subscriber *theirs) {
    bring_zeroed_buffers(cupti, 0);
    cupti->cuptiActivityRegisterTimestampCallback(theirs->clock ? theirs->clock
                                                                : cuda_default_timestamp);
    if (theirs->requested)
        cupti->cuptiActivityRegisterCallbacks(theirs->requested, cuda_buffer_completed);
}

bool cuda_subscribe(struct status *status) {
    const struct cupti *cupti = cuda_probe.cupti;
    atomic_store(&cuda_probe.since, clock_now());
    cupti_result result = cupti->cuptiSubscribe(&subscriber, cuda_called, NULL);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiSubscribe", status);
    listening = set_up(cupti, status);
    if (listening) {
        cuda_calls_enable(subscriber);
        return true;
    }
    disable_kinds(cupti, 0);
    restore(cupti, &(struct cupti_other_subscriber){0});
    cupti->cuptiUnsubscribe(subscriber);
    return false;
}

static void disable_calls(const struct cupti *cupti) {
    cuda_new_streams_reported(false);
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_RESOURCES);
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_RUNTIME_CALLS);
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_DRIVER_CALLS);
}

/* Kinds are the whole process's: those of a profiler that came later are not ours to end. */
void cuda_unsubscribe(void) {
    disable_calls(cuda_probe.cupti);
    if (!cuda_lost_subscription())
        disable_kinds(cuda_probe.cupti, 0);
}

/* Work that is on the device has a moment to end: what CUPTI hands over then has no times. */
static void fetch_complete(const struct cupti *cupti) {
    for (unsigned i = 0; i < TURNS && cuda_last_launch() != cuda_last_record(); i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
        cupti->cuptiActivityFlushAll(CUPTI_FLUSH_COMPLETE);
    }
}

void cuda_disable(const struct cupti_other_subscriber *theirs) {
    fetch_complete(cuda_probe.cupti);
    disable_kinds(cuda_probe.cupti, theirs->kinds);
    disable_calls(cuda_probe.cupti);
}

/* A launch that is under way may ask for a buffer even after its kind is disabled. One of ours that
 * stayed with CUPTI would be filled with what is theirs. */
void cuda_yield_subscriber(const struct cupti_other_subscriber *theirs) {
    const struct cupti *cupti = cuda_probe.cupti;
    cuda_buffers_withhold(true);
    cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL);
    cuda_records_cut("work was under way when the program's own profiler took over CUPTI");
    restore(cupti, theirs);
    cupti->cuptiUnsubscribe(subscriber);
    listening = false;
}
