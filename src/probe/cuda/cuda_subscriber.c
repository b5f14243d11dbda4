/* Subscribes to CUPTI and unsubscribes.
 *
 * CUPTI supports one client at a time. Before another client takes over, the probe's buffers must
 * be flushed, because the other client does not know them, and all process-wide settings be
 * restored: record kinds, the clock, and the promise that buffers are zeroed.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dl_iterate_phdr() */
#endif
#include "base/array.h"
#include "base/clock.h"
#include "probe/cuda/cuda.h"

#ifdef __linux__
#include <link.h>
#endif
#include <string.h>
#include <time.h>

enum { FLUSH_POLL_NS = 1000000, FLUSH_POLLS = 20 };

static cupti_subscriber subscriber;
static bool subscribed;

/* No kinds that callbacks cover: records of synchronizations and events slow down launches. */
static const cupti_choice kinds[] = {CUPTI_KIND_KERNEL, CUPTI_KIND_COPY,   CUPTI_KIND_PEER_COPY,
                                     CUPTI_KIND_SET,    CUPTI_KIND_MEMORY, CUPTI_KIND_OVERHEAD,
                                     CUPTI_KIND_GRAPH};
enum { KINDS = ARRAY_COUNT(kinds) };

bool cuda_is_subscribed(void) {
    return subscribed;
}

bool cuda_enabled(cupti_result result, const char *call) {
    struct status status = {0};
    switch (result) {
    case CUPTI_SUCCEEDED:
        return true;
    case CUPTI_INVALID_PARAMETER: /* unknown to this version */
    case CUPTI_INVALID_KIND:
    case CUPTI_INCOMPATIBLE:
    case CUPTI_NOT_IMPLEMENTED:
        return false;
    default:
        cupti_call_failed(cuda_probe.cupti, result, call, &status);
        cuda_put_meta("cuda.incomplete", status.message);
        return false;
    }
}

/* XLA changes the parameters of nodes in instantiated graphs. With CUPTI's records of whole graphs
 * that fails with CUDA_ERROR_LAUNCH_FAILED (4 of 6 runs of a JAX program on CUDA 13); with records
 * of nodes it does not (9 runs). */
#ifdef __linux__
static unsigned long long libraries_seen; /* loaded so far, see dlpi_adds */
static bool has_xla;

static int look_for_xla(struct dl_phdr_info *info, size_t bytes, void *loaded) {
    static const char *const names[] = {"xla_cuda", "xla_extension", "libjax_common",
                                        "libtensorflow", "libexla"};
    (void)bytes;
    *(unsigned long long *)loaded = info->dlpi_adds;
    if (libraries_seen == info->dlpi_adds)
        return 1;
    const char *name = strrchr(info->dlpi_name, '/');
    for (size_t i = 0; name && i < ARRAY_COUNT(names); i++)
        has_xla |= strstr(name, names[i]) != NULL;
    return 0;
}

static bool xla_is_loaded(void) {
    unsigned long long loaded = 0;
    dl_iterate_phdr(look_for_xla, &loaded);
    libraries_seen = loaded;
    return has_xla;
}
#else
static bool xla_is_loaded(void) {
    return false; /* CUDA is not recorded here */
}
#endif

static void put_graphs(void) {
    cuda_put_meta("cuda.graphs", cuda_probe.probe->options.graph_nodes ? "by node" : "as a whole");
}

void cuda_graphs_poll(void) {
    struct probe_options *options = &cuda_probe.probe->options;
    if (!cuda_is_subscribed() || options->graph_nodes || !xla_is_loaded())
        return;
    cuda_probe.cupti->cuptiActivityDisable(CUPTI_KIND_GRAPH);
    options->graph_nodes = true;
    put_graphs();
}

/* Kinds that this version does not know are skipped, except kernels. */
static bool enable_kinds(const struct cupti *cupti, bool graph_nodes, struct status *status) {
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i] == CUPTI_KIND_GRAPH && graph_nodes)
            continue;
        cupti_result result = cupti->cuptiActivityEnable(kinds[i]);
        if (result != CUPTI_SUCCEEDED && kinds[i] == CUPTI_KIND_KERNEL)
            return cupti_call_failed(cupti, result, "cuptiActivityEnable", status);
        cuda_enabled(result, "cuptiActivityEnable");
    }
    return true;
}

/* Otherwise CUPTI zeroes each buffer while the program waits for its launch. Older versions always
 * do. */
static void set_zeroed_buffers(const struct cupti *cupti, uint8_t zeroed) {
    size_t bytes = sizeof zeroed;
    cupti->cuptiActivitySetAttribute(CUPTI_ZEROED_BUFFERS, &bytes, &zeroed);
}

static uint64_t read_clock(void) {
    return (uint64_t)clock_now();
}

uint64_t cuda_default_timestamp(void) {
    return (uint64_t)clock_read(CLOCK_REALTIME);
}

static bool configure_cupti(const struct cupti *cupti, struct status *status) {
    cupti_result result = cupti->cuptiActivityRegisterTimestampCallback(read_clock);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiActivityRegisterTimestampCallback", status);
    set_zeroed_buffers(cupti, 1);
    cuda_buffers_suspend(false);
    result = cupti->cuptiActivityRegisterCallbacks(cuda_buffer_requested, cuda_buffer_completed);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiActivityRegisterCallbacks", status);
    cuda_probe.probe->options.graph_nodes |= xla_is_loaded();
    put_graphs();
    return enable_kinds(cupti, cuda_probe.probe->options.graph_nodes, status);
}

static void disable_kinds(const struct cupti *cupti, uint64_t except) {
    for (size_t i = 0; i < KINDS; i++)
        if (!(except >> kinds[i] & 1))
            cupti->cuptiActivityDisable(kinds[i]);
}

static void restore_defaults(const struct cupti *cupti,
                             const struct cupti_other_subscriber *theirs) {
    set_zeroed_buffers(cupti, 0);
    cupti->cuptiActivityRegisterTimestampCallback(theirs->clock ? theirs->clock
                                                                : cuda_default_timestamp);
    if (theirs->requested)
        cupti->cuptiActivityRegisterCallbacks(theirs->requested, cuda_buffer_completed);
}

bool cuda_subscribe(struct status *status) {
    const struct cupti *cupti = cuda_probe.cupti;
    atomic_store(&cuda_probe.since, clock_now());
    cupti_result result = cupti->cuptiSubscribe(&subscriber, cuda_callback, NULL);
    if (result != CUPTI_SUCCEEDED)
        return cupti_call_failed(cupti, result, "cuptiSubscribe", status);
    subscribed = configure_cupti(cupti, status);
    if (subscribed) {
        cuda_enable_callbacks(subscriber);
        return true;
    }
    disable_kinds(cupti, 0);
    restore_defaults(cupti, &(struct cupti_other_subscriber){0});
    cupti->cuptiUnsubscribe(subscriber);
    return false;
}

static void disable_calls(const struct cupti *cupti) {
    cuda_new_streams_reported(false);
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_RESOURCES);
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_RUNTIME_CALLS);
    cupti->cuptiEnableDomain(0, subscriber, CUPTI_DRIVER_CALLS);
}

/* Kinds are process-wide: those of a later client are left enabled. */
void cuda_unsubscribe(void) {
    disable_calls(cuda_probe.cupti);
    if (!cuda_lost_subscription())
        disable_kinds(cuda_probe.cupti, 0);
}

/* Gives running work a moment to end, because a forced flush delivers it without times. */
static void flush_completed(const struct cupti *cupti) {
    for (unsigned i = 0; i < FLUSH_POLLS && cuda_last_launch() != cuda_last_record(); i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = FLUSH_POLL_NS}, NULL);
        cupti->cuptiActivityFlushAll(CUPTI_FLUSH_COMPLETE);
    }
}

void cuda_disable(const struct cupti_other_subscriber *theirs) {
    flush_completed(cuda_probe.cupti);
    disable_kinds(cuda_probe.cupti, theirs->kinds);
    disable_calls(cuda_probe.cupti);
}

/* A launch in progress may request a buffer even after its kind is disabled. A buffer of the probe
 * that stayed with CUPTI would then receive the other client's records. */
void cuda_yield_subscriber(const struct cupti_other_subscriber *theirs, const char *why) {
    const struct cupti *cupti = cuda_probe.cupti;
    cuda_buffers_suspend(true);
    cupti->cuptiActivityFlushAll(CUPTI_FLUSH_ALL);
    cuda_records_report_lost(why);
    restore_defaults(cupti, theirs);
    cupti->cuptiUnsubscribe(subscriber);
    subscribed = false;
}
