/* What CUDA's errors mean to a user: which call failed, by what, and what to do.
 *
 * Some errors leave the context unusable for good. They come late, from whichever call happens to
 * look: the device then is lost, and says so, with the kernel if it is known, to every later call.
 */
#include <stdio.h>

#include "base/array.h"
#include "device/cuda/cuda.h"

_Thread_local uint64_t cuda_generation_here;

struct advice {
    cuda_result result;
    enum status_code code;
    const char *text;
};

static const struct advice remedies[] = {
    {CUDA_OUT_OF_MEMORY, STATUS_MEMORY, "the GPU is full; release something or use smaller sizes"},
    {CUDA_NOT_INITIALIZED, STATUS_UNSUPPORTED,
     "CUDA does not work in a process that was forked after using it; start the process anew"},
    {CUDA_STUB_LIBRARY, STATUS_UNSUPPORTED,
     "libcuda.so.1 is the toolkit's stub; take its folder out of LD_LIBRARY_PATH"},
    {CUDA_DEVICE_UNAVAILABLE, STATUS_UNSUPPORTED,
     "another process has the GPU to itself; see nvidia-smi"},
    {CUDA_NO_DEVICE, STATUS_UNSUPPORTED,
     "the NVIDIA driver finds no GPU; see nvidia-smi, and whether CUDA_VISIBLE_DEVICES hides it"},
    {CUDA_INVALID_IMAGE, STATUS_UNSUPPORTED,
     "the driver may be older than NVRTC: update the driver or set RIDGE_NVRTC to an older one"},
    {CUDA_NO_BINARY_FOR_GPU, STATUS_UNSUPPORTED,
     "the driver may be older than NVRTC: update the driver or set RIDGE_NVRTC to an older one"},
    {CUDA_UNSUPPORTED_PTX_VERSION, STATUS_UNSUPPORTED,
     "the driver is older than NVRTC: update the driver or set RIDGE_NVRTC to an older one"},
    {CUDA_OPERATING_SYSTEM, STATUS_IO,
     "this user may have no right to open /dev/nvidia*; see nvidia-smi and dmesg"},
    {CUDA_LAUNCH_OUT_OF_RESOURCES, STATUS_UNSUPPORTED,
     "the kernel needs more registers or shared memory than a block can have"},
    {CUDA_SYSTEM_NOT_READY, STATUS_UNSUPPORTED,
     "the machine's fabric manager is not running; start nvidia-fabricmanager"},
    {CUDA_SYSTEM_DRIVER_MISMATCH, STATUS_UNSUPPORTED,
     "libcuda.so.1 and the kernel's driver differ in version, as after an update; reboot"},
    {CUDA_COMPAT_NOT_SUPPORTED, STATUS_UNSUPPORTED,
     "the driver is too old for this libcuda.so.1; update the driver"},
    {CUDA_UNKNOWN, STATUS_IO, "see nvidia-smi and dmesg; nvidia_uvm may not be loaded"},
};

static const cuda_result fatal[] = {
    CUDA_ECC_UNCORRECTABLE,
    CUDA_ILLEGAL_ADDRESS,
    CUDA_LAUNCH_TIMEOUT,
    CUDA_CONTEXT_IS_DESTROYED,
    CUDA_ASSERT,
    CUDA_HARDWARE_STACK_ERROR,
    CUDA_ILLEGAL_INSTRUCTION,
    CUDA_MISALIGNED_ADDRESS,
    CUDA_INVALID_ADDRESS_SPACE,
    CUDA_INVALID_PC,
    CUDA_LAUNCH_FAILED,
};

/* "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)" */
static void name_error(const struct cuda_driver *driver, cuda_result result, char *text,
                       size_t capacity) {
    const char *name = NULL, *meaning = NULL;
    if (driver->cuGetErrorName(result, &name) != CUDA_SUCCEEDED || !name) {
        snprintf(text, capacity, "CUDA error %u", result);
        return;
    }
    if (driver->cuGetErrorString(result, &meaning) != CUDA_SUCCEEDED || !meaning)
        meaning = "no description";
    snprintf(text, capacity, "%s (%s)", name, meaning);
}

bool cuda_driver_failed(const struct cuda_driver *driver, cuda_result result, const char *call,
                        struct status *status) {
    char text[200];
    name_error(driver, result, text, sizeof text);
    for (size_t i = 0; i < ARRAY_COUNT(remedies); i++)
        if (remedies[i].result == result)
            return status_fail(status, remedies[i].code, "%s failed: %s; %s", call, text,
                               remedies[i].text);
    return status_fail(status, STATUS_IO, "%s failed: %s", call, text);
}

static bool is_fatal(cuda_result result) {
    for (size_t i = 0; i < ARRAY_COUNT(fatal); i++)
        if (fatal[i] == result)
            return true;
    return false;
}

static void describe_culprit(const struct cuda_device *cuda, char *text, size_t capacity) {
    if (cuda->launches == 0)
        text[0] = 0;
    else if (cuda->launches == 1)
        snprintf(text, capacity, ", by the kernel %s", cuda->last_launch);
    else
        snprintf(text, capacity,
                 ", by one of the last %llu kernels, of which %s was the last (run with "
                 "CUDA_LAUNCH_BLOCKING=1 to learn which)",
                 (unsigned long long)cuda->launches, cuda->last_launch);
}

static void lose(struct cuda_device *cuda, cuda_result result, const char *call) {
    char text[200], culprit[300];
    name_error(cuda->driver, result, text, sizeof text);
    describe_culprit(cuda, culprit, sizeof culprit);
    cuda->lost = true;
    snprintf(cuda->lost_message, sizeof cuda->lost_message,
             "the device was lost: %s failed: %s%s; start the process anew to use the GPU again",
             call, text, culprit);
}

bool cuda_failed(struct cuda_device *cuda, cuda_result result, const char *call,
                 struct status *status) {
    if (!is_fatal(result))
        return cuda_driver_failed(cuda->driver, result, call, status);
    if (!cuda->lost)
        lose(cuda, result, call);
    return status_fail(status, STATUS_IO, "%s", cuda->lost_message);
}

bool cuda_blas_failed(cuda_result result, const char *call, struct status *status) {
    if (result == BLAS_ALLOC_FAILED)
        return status_fail(status, STATUS_MEMORY, "%s failed: cuBLASLt is out of memory", call);
    if (result == BLAS_NOT_SUPPORTED)
        return status_fail(status, STATUS_UNSUPPORTED, "%s failed: cuBLASLt cannot do it", call);
    if (result == BLAS_EXECUTION_FAILED)
        return status_fail(status, STATUS_IO, "%s failed: the GPU could not run it", call);
    return status_fail(status, STATUS_IO, "%s failed with cuBLAS status %u", call, result);
}

bool cuda_enter_slowly(struct cuda_device *cuda, struct status *status) {
    if (cuda->lost)
        return status_fail(status, STATUS_IO, "%s", cuda->lost_message);
    if (!CUDA_CALL(cuda, status, cuCtxSetCurrent, cuda->context))
        return false;
    cuda_generation_here = cuda->generation;
    return true;
}

bool cuda_enter_queue(struct cuda_device *cuda, unsigned queue, struct status *status) {
    if (queue >= CUDA_QUEUES)
        return status_fail(status, STATUS_USAGE, "there is no queue %u: the device has %d", queue,
                           CUDA_QUEUES);
    return cuda_enter(cuda, status);
}

bool cuda_wait(struct cuda_device *cuda, struct status *status) {
    if (!CUDA_CALL(cuda, status, cuCtxSynchronize))
        return false;
    cuda->launches = 0;
    cuda->last_launch = NULL;
    return true;
}
