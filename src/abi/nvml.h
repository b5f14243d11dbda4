/* Types, constants and functions of NVML, NVIDIA's management library, declared here so that no
 * vendor header is needed to build. tests/abi compares them with the vendor's header where it is
 * installed.
 */
#ifndef RIDGE_ABI_NVML_H
#define RIDGE_ABI_NVML_H

/* The vendor's enumerations have no negative members, so compilers use unsigned int. */
typedef unsigned int nvml_result;
typedef unsigned int nvml_choice; /* a clock, a sensor */
typedef struct nvmlDevice_st *nvml_device;

struct nvml_process { /* nvmlProcessInfo_t */
    unsigned int pid;
    unsigned long long used_memory;
    unsigned int gpu_instance, compute_instance; /* of MIG */
};

struct nvml_utilization { /* nvmlProcessUtilizationSample_t: percent since the last sample */
    unsigned int pid;
    unsigned long long time; /* CLOCK_REALTIME, us */
    unsigned int sm, memory, encoder, decoder;
};

/* X(our name, the vendor's name, value) */
#define NVML_NUMBERS(X)                                                                            \
    X(NVML_SUCCEEDED, NVML_SUCCESS, 0)                                                             \
    X(NVML_NO_SAMPLES, NVML_ERROR_NOT_FOUND, 6)                                                    \
    X(NVML_SM_CLOCK, NVML_CLOCK_SM, 1)                                                             \
    X(NVML_MEMORY_CLOCK, NVML_CLOCK_MEM, 2)                                                        \
    X(NVML_GPU_SENSOR, NVML_TEMPERATURE_GPU, 0)                                                    \
    X(NVML_IDLE, nvmlClocksThrottleReasonGpuIdle, 0x1)                                             \
    X(NVML_CLOCK_SETTING, nvmlClocksThrottleReasonApplicationsClocksSetting, 0x2)                  \
    X(NVML_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap, 0x4)                                     \
    X(NVML_HARDWARE_SLOWDOWN, nvmlClocksThrottleReasonHwSlowdown, 0x8)                             \
    X(NVML_SYNC_BOOST, nvmlClocksThrottleReasonSyncBoost, 0x10)                                    \
    X(NVML_SOFTWARE_HEAT, nvmlClocksThrottleReasonSwThermalSlowdown, 0x20)                         \
    X(NVML_HARDWARE_HEAT, nvmlClocksThrottleReasonHwThermalSlowdown, 0x40)                         \
    X(NVML_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown, 0x80)

#define NVML_ENUM(ours, theirs, value) ours = value,
enum { NVML_NUMBERS(NVML_ENUM) };

/* X(name, symbol, parameters): all return nvml_result. Clocks are in MHz, power in mW. */
#define NVML_SYMBOLS(X)                                                                            \
    X(nvmlInit, "nvmlInit_v2", (void))                                                             \
    X(nvmlShutdown, "nvmlShutdown", (void))                                                        \
    X(nvmlDeviceGetCount, "nvmlDeviceGetCount_v2", (unsigned int *))                               \
    X(nvmlDeviceGetHandleByIndex, "nvmlDeviceGetHandleByIndex_v2", (unsigned int, nvml_device *))  \
    X(nvmlDeviceGetHandleByUUID, "nvmlDeviceGetHandleByUUID", (const char *, nvml_device *))       \
    X(nvmlDeviceGetClockInfo, "nvmlDeviceGetClockInfo",                                            \
      (nvml_device, nvml_choice, unsigned int *))                                                  \
    X(nvmlDeviceGetMaxClockInfo, "nvmlDeviceGetMaxClockInfo",                                      \
      (nvml_device, nvml_choice, unsigned int *))                                                  \
    X(nvmlDeviceGetTemperature, "nvmlDeviceGetTemperature",                                        \
      (nvml_device, nvml_choice, unsigned int *))                                                  \
    X(nvmlDeviceGetPowerUsage, "nvmlDeviceGetPowerUsage", (nvml_device, unsigned int *))           \
    X(nvmlDeviceGetEnforcedPowerLimit, "nvmlDeviceGetEnforcedPowerLimit",                          \
      (nvml_device, unsigned int *))                                                               \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons",      \
      (nvml_device, unsigned long long *))

/* Those that old drivers and some devices lack. */
#define NVML_OPTIONAL_SYMBOLS(X)                                                                   \
    X(nvmlDeviceGetComputeRunningProcesses, "nvmlDeviceGetComputeRunningProcesses_v3",             \
      (nvml_device, unsigned int *, struct nvml_process *))                                        \
    X(nvmlDeviceGetProcessUtilization, "nvmlDeviceGetProcessUtilization",                          \
      (nvml_device, struct nvml_utilization *, unsigned int *, unsigned long long))                \
    X(nvmlSystemGetDriverVersion, "nvmlSystemGetDriverVersion", (char *, unsigned int))

#endif
