/* Starts the CUDA part of the probe. The driver calls it during its own initialization, before any
 * work, and sessions of attached recorders at any time. If CUPTI is not available, the reason goes
 * to the trace and CUDA is not recorded.
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

/* CUPTI was used by an earlier session. Its other clients are known. */
static bool subscribe_again(struct status *status) {
    if (!cuda_lock())
        return status_fail(status, STATUS_UNSUPPORTED, "CUPTI does not respond");
    if (cuda_is_subscribed())
        cupti_conflict_release();
    bool ok = cuda_subscribe(status);
    cuda_unlock();
    return ok;
}

bool probe_cuda_start(struct probe *probe) {
    static bool is_loaded;
    struct status status = {0};
    char version[CUPTI_VERSION_TEXT];
    if (atomic_load(&cuda_probe.is_started)) /* another copy of the driver */
        return true;
    cuda_probe.probe = probe;
    cuda_records_open();
    if (!(is_loaded ? subscribe_again(&status) : load_and_subscribe(&status))) {
        cuda_put_meta("cuda.missing", status.message);
        return false;
    }
    atomic_store(&cuda_probe.is_started, true);
    cupti_version_text(cuda_probe.cupti->version, version);
    cuda_put_meta("cupti.version", version);
    cuda_flush_start();
    if (!is_loaded)
        cupti_conflict_watch();
    is_loaded = true;
    return true;
}

void probe_cuda_stop(void) {
    if (cuda_lock()) {
        atomic_store(&cuda_probe.is_started, false);
        if (cuda_is_subscribed())
            cupti_conflict_release();
        cuda_unlock();
    }
    cuda_records_close();
}
