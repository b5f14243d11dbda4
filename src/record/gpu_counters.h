/* How did the GPUs do while they were used? Clocks, power, temperature and the reasons for slowing
 * down, as counters of their devices, from the moment that a recorded process uses them.
 */
#ifndef RIDGE_RECORD_GPU_COUNTERS_H
#define RIDGE_RECORD_GPU_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/writer.h"

enum { GPUS_MAX = 64, GPU_UUID_SIZE = 37 };

/* A zeroed one is empty. */
struct gpu_counters {
    struct gpu {
        uint32_t row; /* of the device */
        struct health_watch *watch;
        double last[6];
    } list[GPUS_MAX];
    size_t count;
};

/* From here on this device is watched; nothing happens when there is no one to ask about it. */
void gpu_counters_add(struct gpu_counters *gpus, const char *uuid, uint32_t row);
void gpu_counters_write(struct gpu_counters *gpus, struct trace_writer *writer);
void gpu_counters_finish(struct gpu_counters *gpus);

#endif
