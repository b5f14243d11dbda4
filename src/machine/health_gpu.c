/* How is a GPU doing? Clocks, heat, power and the reasons for running slower than it could, as
 * NVIDIA's management library tells them. It is loaded here and nowhere else.
 */
#include <stdio.h>
#include <string.h>

#include "base/library.h"
#include "base/memory.h"
#include "abi/nvml.h"
#include "machine/health_parts.h"

struct health_gpu {
#define POINTER(name, symbol, parameters) nvml_result(*name) parameters;
    NVML_SYMBOLS(POINTER)
    nvml_device device;
};

/* The driver's library stays loaded, as it does for everyone who uses it. */
static bool load(struct health_gpu *gpu) {
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    void *library = library_open(names);
#define FIND(name, symbol, parameters) *(void **)&gpu->name = library_symbol(library, symbol);
    NVML_SYMBOLS(FIND)
    if (!gpu->nvmlDeviceGetCurrentClocksThrottleReasons)
        *(void **)&gpu->nvmlDeviceGetCurrentClocksThrottleReasons =
            library_symbol(library, "nvmlDeviceGetCurrentClocksEventReasons");
#define FOUND(name, symbol, parameters) &&gpu->name
    return library NVML_SYMBOLS(FOUND);
}

static bool find_uuid(struct health_gpu *gpu, const char *uuid) {
    char name[64];
    snprintf(name, sizeof name, "GPU-%s", uuid);
    return gpu->nvmlDeviceGetHandleByUUID(name, &gpu->device) == NVML_SUCCEEDED;
}

static bool find_only(struct health_gpu *gpu) {
    unsigned int count = 0;
    return gpu->nvmlDeviceGetCount(&count) == NVML_SUCCEEDED && count == 1 &&
           gpu->nvmlDeviceGetHandleByIndex(0, &gpu->device) == NVML_SUCCEEDED;
}

struct health_gpu *health_gpu_open(const char *uuid) {
    struct status ignored;
    struct health_gpu *gpu = memory_allocate(1, sizeof *gpu, &ignored);
    if (!gpu)
        return NULL;
    if (load(gpu) && gpu->nvmlInit() == NVML_SUCCEEDED) {
        if (*uuid ? find_uuid(gpu, uuid) : find_only(gpu))
            return gpu;
        gpu->nvmlShutdown();
    }
    memory_free(gpu);
    return NULL;
}

void health_gpu_close(struct health_gpu *gpu) {
    if (!gpu)
        return;
    gpu->nvmlShutdown();
    memory_free(gpu);
}

void health_gpu_read(struct health_gpu *gpu, struct health *reading) {
    unsigned int value;
    unsigned long long reasons;
    reading->clock_mhz = reading->clock_max_mhz = -1; /* the processor's until here */
    if (gpu->nvmlDeviceGetClockInfo(gpu->device, NVML_SM_CLOCK, &value) == NVML_SUCCEEDED)
        reading->clock_mhz = value;
    if (gpu->nvmlDeviceGetMaxClockInfo(gpu->device, NVML_SM_CLOCK, &value) == NVML_SUCCEEDED)
        reading->clock_max_mhz = value;
    if (gpu->nvmlDeviceGetClockInfo(gpu->device, NVML_MEMORY_CLOCK, &value) == NVML_SUCCEEDED)
        reading->memory_clock_mhz = value;
    if (gpu->nvmlDeviceGetTemperature(gpu->device, NVML_GPU_SENSOR, &value) == NVML_SUCCEEDED)
        reading->temperature_c = value;
    if (gpu->nvmlDeviceGetPowerUsage(gpu->device, &value) == NVML_SUCCEEDED)
        reading->power_w = value / 1e3;
    if (gpu->nvmlDeviceGetEnforcedPowerLimit(gpu->device, &value) == NVML_SUCCEEDED)
        reading->power_limit_w = value / 1e3;
    if (gpu->nvmlDeviceGetCurrentClocksThrottleReasons(gpu->device, &reasons) == NVML_SUCCEEDED)
        reading->throttle_reasons = (int64_t)(reasons & INT64_MAX);
}
