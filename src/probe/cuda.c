/* Starts recording of CUDA: called by the driver while it starts itself, before any work.
 *
 * Whatever is missing is said in the trace, and the program runs without us. CUPTI is never taken
 * out again: the program may be in the middle of a call.
 */
#include "probe/cuda.h"

#include <stdio.h>

struct cuda_probe cuda_probe;

static void say(const char *key, const char *value) {
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    probe_meta(thread, key, text_of(value));
    probe_leave(thread);
}

static const cupti_choice kinds[] = {CUPTI_KIND_KERNEL,   CUPTI_KIND_COPY,  CUPTI_KIND_PEER_COPY,
                                     CUPTI_KIND_SET,      CUPTI_KIND_WAIT,  CUPTI_KIND_MEMORY,
                                     CUPTI_KIND_OVERHEAD, CUPTI_KIND_EVENT, CUPTI_KIND_GRAPH};

/* What a version does not know is left out; kernels are what it is about. */
static bool enable_kinds(const struct cupti *cupti, bool by_node, struct status *status) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
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
static void bring_zeroed_buffers(const struct cupti *cupti) {
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    cupti->cuptiActivitySetAttribute(CUPTI_ZEROED_BUFFERS, &bytes, &yes);
}

static uint64_t read_clock(void) {
    return (uint64_t)spool_now();
}

static bool begin_to_listen(const struct cupti *cupti, struct status *status) {
    cupti_result result = cupti->cuptiSubscribe(&cuda_probe.subscriber, cuda_called, NULL);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiSubscribe", status);
    result = cupti->cuptiActivityRegisterTimestampCallback(read_clock);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiActivityRegisterTimestampCallback", status);
    bring_zeroed_buffers(cupti);
    result = cupti->cuptiActivityRegisterCallbacks(cuda_buffer_requested, cuda_buffer_completed);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiActivityRegisterCallbacks", status);
    return enable_kinds(cupti, cuda_probe.probe->options.by_node, status);
}

static bool start(struct status *status) {
    const struct cupti *cupti = cupti_library(cuda_driver_major(), status);
    cuda_probe.cupti = cupti;
    if (!cupti)
        return false;
    if (begin_to_listen(cupti, status)) {
        cuda_calls_enable(cuda_probe.subscriber);
        return true;
    }
    if (cuda_probe.subscriber)
        cupti->cuptiUnsubscribe(cuda_probe.subscriber);
    return false;
}

/* Kinds are the whole process's: those of a profiler that came later are not ours to end. */
void cuda_stop_listening(void) {
    const struct cupti *cupti = cuda_probe.cupti;
    cupti->cuptiEnableDomain(0, cuda_probe.subscriber, CUPTI_RUNTIME_CALLS);
    cupti->cuptiEnableDomain(0, cuda_probe.subscriber, CUPTI_DRIVER_CALLS);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !cuda_is_taken_over(); i++)
        cupti->cuptiActivityDisable(kinds[i]);
}

bool probe_cuda_start(struct probe *probe) {
    static bool started;
    struct status status = {0};
    char version[CUPTI_VERSION_TEXT];
    if (started) /* another copy of the driver */
        return true;
    cuda_probe.probe = probe;
    if (!start(&status)) {
        say("cuda.missing", status.message);
        return false;
    }
    started = true;
    cupti_version_text(cuda_probe.cupti->version, version);
    say("cupti.version", version);
    say("cuda.graphs", probe->options.by_node ? "by node" : "as a whole");
    cuda_rivals_watch();
    cuda_flush_start();
    return true;
}
