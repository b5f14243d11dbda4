/* The values come from NVML, which is part of every driver. A value is written when it changes, so
 * a constant clock is one row.
 */
#include "record/gpu_counters.h"

#include <string.h>

#include "base/array.h"
#include "machine/health.h"

void gpu_counters_add(struct gpu_counters *gpus, const char *uuid, uint32_t row,
                      struct trace_writer *writer) {
    char driver[DRIVER_VERSION_SIZE];
    for (size_t i = 0; i < gpus->count; i++)
        if (gpus->list[i].row == row)
            return;
    struct health_watch *watch = gpus->count < GPUS_MAX ? health_open_gpu(uuid) : NULL;
    if (!watch)
        return;
    health_driver_version(watch, driver);
    if (gpus->count == 0 && *driver)
        trace_writer_meta(writer, "driver.version", text_of(driver));
    struct gpu *gpu = &gpus->list[gpus->count++];
    *gpu = (struct gpu){.row = row, .watch = watch};
    for (size_t i = 0; i < ARRAY_COUNT(gpu->last); i++)
        gpu->last[i] = -1; /* unknown values are also -1 and are not written */
}

static void write_changes(struct gpu *gpu, struct trace_writer *writer) {
    struct health reading;
    health_read(gpu->watch, &reading);
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"clock (MHz)", reading.clock_mhz},
        {"memory clock (MHz)", reading.memory_clock_mhz},
        {"power (W)", reading.power_w},
        {"power limit (W)", reading.power_limit_w},
        {"temperature (C)", reading.temperature_c},
        {"throttle reasons", (double)reading.throttle_reasons},
        {"compute processes", (double)reading.process_count},
    };
    _Static_assert(ARRAY_COUNT(values) == ARRAY_COUNT(gpu->last), "one last value for each");
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        if (values[i].value == gpu->last[i])
            continue;
        gpu->last[i] = values[i].value;
        trace_write_counter(writer, &(struct row_counter){.time = reading.time,
                                                          .device = gpu->row,
                                                          .name = trace_writer_string(
                                                              writer, text_of(values[i].name)),
                                                          .value = values[i].value});
    }
}

void gpu_counters_write(struct gpu_counters *gpus, struct trace_writer *writer) {
    for (size_t i = 0; i < gpus->count; i++)
        write_changes(&gpus->list[i], writer);
}

void gpu_counters_finish(struct gpu_counters *gpus) {
    for (size_t i = 0; i < gpus->count; i++)
        health_close(gpus->list[i].watch);
    memset(gpus, 0, sizeof *gpus);
}
