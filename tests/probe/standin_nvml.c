/* A fake NVML with one GPU. The call number $STANDIN_NVML fails, and its name goes to
 * $STANDIN_FAILED. */
#include <stdio.h>
#include <stdlib.h>

#include "abi/nvml.h"

static nvml_result fails(const char *name) {
    static int calls;
    const char *which = getenv("STANDIN_NVML"), *path = getenv("STANDIN_FAILED");
    if (++calls != (which ? atoi(which) : 0))
        return NVML_SUCCEEDED;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%s\n", name);
        fclose(file);
    }
    return 999;
}

#define DEFINE(name, parameters, body)                                                             \
    nvml_result name parameters;                                                                   \
    nvml_result name parameters {                                                                  \
        nvml_result result = fails(#name);                                                         \
        if (result == NVML_SUCCEEDED) {                                                            \
            body;                                                                                  \
        }                                                                                          \
        return result;                                                                             \
    }
DEFINE(nvmlInit_v2, (void), (void)0)
DEFINE(nvmlShutdown, (void), (void)0)
DEFINE(nvmlDeviceGetCount_v2, (unsigned int *count), *count = 1)
DEFINE(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvml_device *device),
       *device = index == 0 ? (nvml_device)8 : NULL)
DEFINE(nvmlDeviceGetHandleByUUID, (const char *uuid, nvml_device *device),
       *device = uuid ? (nvml_device)8 : NULL)
DEFINE(nvmlDeviceGetClockInfo, (nvml_device device, nvml_choice clock, unsigned int *mhz),
       *mhz = device ? 1000 + clock : 0)
DEFINE(nvmlDeviceGetMaxClockInfo, (nvml_device device, nvml_choice clock, unsigned int *mhz),
       *mhz = device ? 2000 + clock : 0)
DEFINE(nvmlDeviceGetTemperature, (nvml_device device, nvml_choice sensor, unsigned int *degrees),
       *degrees = device ? 40 + sensor : 0)
DEFINE(nvmlDeviceGetPowerUsage, (nvml_device device, unsigned int *mw), *mw = device ? 90000 : 0)
DEFINE(nvmlDeviceGetEnforcedPowerLimit, (nvml_device device, unsigned int *mw),
       *mw = device ? 700000 : 0)
DEFINE(nvmlDeviceGetCurrentClocksThrottleReasons, (nvml_device device, unsigned long long *reasons),
       *reasons = device ? NVML_IDLE : 0)
DEFINE(nvmlDeviceGetComputeRunningProcesses_v3,
       (nvml_device device, unsigned int *count, struct nvml_process *list),
       (*count = device ? 2 : 0, list[0].pid = 1, list[1].pid = 77))
DEFINE(nvmlDeviceGetProcessUtilization,
       (nvml_device device, struct nvml_utilization *list, unsigned int *count,
        unsigned long long since),
       (*count = device ? 1 : 0, list[0].pid = 77, list[0].time = since + 1, list[0].sm = 60))
DEFINE(nvmlSystemGetDriverVersion, (char *version, unsigned int size),
       snprintf(version, size, "580.65.06"))
