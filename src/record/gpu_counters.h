/* Clocks, power, temperature, throttle reasons and the number of compute processes of the GPUs as
 * counters of their devices, from the moment that a recorded process uses a GPU.
 */
#ifndef RIDGE_RECORD_GPU_COUNTERS_H
#define RIDGE_RECORD_GPU_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/writer.h"

enum { GPUS_MAX = 64, GPU_UUID_SIZE = 37 };

/* Zero-initialized: empty. */
struct gpu_counters {
    struct gpu {
        uint32_t row; /* of the device */
        struct health_watch *watch;
        double last[7];
    } list[GPUS_MAX];
    size_t count;
};

/* Adds a device, unless NVML does not know it. With the first, the driver's version is written. */
void gpu_counters_add(struct gpu_counters *gpus, const char *uuid, uint32_t row,
                      struct trace_writer *writer);
void gpu_counters_write(struct gpu_counters *gpus, struct trace_writer *writer);
void gpu_counters_finish(struct gpu_counters *gpus);

#endif
