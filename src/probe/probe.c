/* The two doors by which others let the probe in, and its start and end.
 *
 * The library is never unloaded (-z nodelete): functions of it stay installed in the program.
 * Loading it does nothing; only the doors do.
 */
#include "probe/probe.h"

#include <errno.h>

#define DOOR __attribute__((visibility("default")))

DOOR int InitializeInjection(void);
DOOR int InitializeInjectionNvtx2(nvtx_export_table *tables);

/* Called by the CUDA driver ($CUDA_INJECTION64_PATH). The driver goes on either way. */
int InitializeInjection(void) {
    int error = errno;
    struct probe *probe = probe_start();
    if (probe && probe->options.cuda)
        probe_cuda_start(probe);
    errno = error;
    return 1;
}

/* Called by NVTX ($NVTX_INJECTION64_PATH), once for each copy of it. 0: NVTX does without us. */
int InitializeInjectionNvtx2(nvtx_export_table *tables) {
    int error = errno;
    struct probe *probe = probe_start();
    bool installed = probe && probe->options.nvtx && tables && nvtx_install(tables);
    errno = error;
    return installed;
}

void probe_meta(struct probe_thread *thread, const char *key, struct text value) {
    uint32_t key_number = spool_constant(thread->lane, key);
    uint32_t value_number = spool_text(thread->lane, value);
    struct spool_meta *meta = spool_begin(thread->lane, SPOOL_META, key_number, sizeof *meta);
    if (!meta)
        return;
    meta->value = value_number;
    meta->unused = 0;
    spool_publish(thread->lane);
}
