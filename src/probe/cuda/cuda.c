/* Starts the CUDA part of the probe. The driver calls it during its own initialization, before any
 * work. If CUPTI is not available, the reason goes to the trace and CUDA is not recorded.
 */
#include "probe/cuda/cuda.h"

#include <stdio.h>

struct cuda_probe cuda_probe;

void cuda_put_meta(const char *key, const char *value) {
    struct probe_thread *thread = probe_enter();
    if (!thread)
        return;
    probe_put_meta(thread, key, text_of(value));
    probe_leave(thread);
}

void cuda_put_meta_int(const char *key, int64_t number) {
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    cuda_put_meta(key, digits);
}

static bool load_and_subscribe(struct status *status) {
    cuda_probe.cupti = cupti_library(cuda_driver_major(), status);
    return cuda_probe.cupti && cuda_subscribe(status);
}

bool probe_cuda_start(struct probe *probe) {
    static bool started;
    struct status status = {0};
    char version[CUPTI_VERSION_TEXT];
    if (started) /* another copy of the driver */
        return true;
    cuda_probe.probe = probe;
    if (!load_and_subscribe(&status)) {
        cuda_put_meta("cuda.missing", status.message);
        return false;
    }
    started = true;
    cupti_version_text(cuda_probe.cupti->version, version);
    cuda_put_meta("cupti.version", version);
    cuda_put_meta("cuda.graphs", probe->options.graph_nodes ? "by node" : "as a whole");
    cuda_flush_start();
    cupti_conflict_watch();
    return true;
}
