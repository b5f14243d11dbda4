/* What a GPU is, without opening it for work. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "device/cuda/compile.h"
#include "device/cuda/cuda.h"

struct attribute {
    cuda_choice choice;
    size_t member; /* a uint32_t of struct device_capabilities */
};
#define CAPABILITY(name) offsetof(struct device_capabilities, name)
static const struct attribute attributes[] = {
    {CUDA_CAPABILITY_MAJOR, CAPABILITY(major)},
    {CUDA_CAPABILITY_MINOR, CAPABILITY(minor)},
    {CUDA_MULTIPROCESSORS, CAPABILITY(compute_units)},
    {CUDA_WARP_SIZE, CAPABILITY(subgroup)},
    {CUDA_BLOCK_THREADS, CAPABILITY(block_max)},
    {CUDA_BLOCK_SHARED, CAPABILITY(shared_bytes)},
    {CUDA_BLOCK_SHARED_MOST, CAPABILITY(shared_max)},
    {CUDA_UNIT_THREADS, CAPABILITY(threads_per_unit)},
    {CUDA_UNIT_REGISTERS, CAPABILITY(registers_per_unit)},
    {CUDA_UNIT_SHARED, CAPABILITY(shared_per_unit)},
};

const struct cuda_driver *cuda_initialize(unsigned *count, struct status *status) {
    const struct cuda_driver *driver = cuda_driver(status);
    if (!driver)
        return NULL;
    int version = 0, found = 0;
    cuda_result result = driver->cuInit(0);
    const char *call = "cuInit";
    if (result == CUDA_SUCCEEDED) {
        result = driver->cuDriverGetVersion(&version);
        call = "cuDriverGetVersion";
    }
    if (result == CUDA_SUCCEEDED) {
        result = driver->cuDeviceGetCount(&found);
        call = "cuDeviceGetCount";
    }
    if (result == CUDA_SUCCEEDED && found <= 0)
        result = CUDA_NO_DEVICE;
    if (result != CUDA_SUCCEEDED) {
        cuda_driver_failed(driver, result, call, status);
        return NULL;
    }
    cuda_prefer_version(version / 1000);
    *count = (unsigned)found;
    return driver;
}

/* 0 when the driver does not tell. */
static uint64_t attribute_or_zero(const struct cuda_driver *driver, cuda_ordinal ordinal,
                                  cuda_choice choice) {
    int value = 0;
    bool told = driver->cuDeviceGetAttribute(&value, choice, ordinal) == CUDA_SUCCEEDED;
    return told && value > 0 ? (uint64_t)value : 0;
}

static bool read_attributes(const struct cuda_driver *driver, cuda_ordinal ordinal,
                            struct device_capabilities *capabilities, struct status *status) {
    for (size_t i = 0; i < ARRAY_COUNT(attributes); i++) {
        int value = 0;
        cuda_result result = driver->cuDeviceGetAttribute(&value, attributes[i].choice, ordinal);
        if (result != CUDA_SUCCEEDED)
            return cuda_driver_failed(driver, result, "cuDeviceGetAttribute", status);
        uint32_t *member = (uint32_t *)((char *)capabilities + attributes[i].member);
        *member = value > 0 ? (uint32_t)value : 0;
    }
    capabilities->cache_bytes = attribute_or_zero(driver, ordinal, CUDA_L2_CACHE_SIZE);
    capabilities->clock_khz = (uint32_t)attribute_or_zero(driver, ordinal, CUDA_CLOCK_RATE);
    /* Memory transfers twice a clock. */
    capabilities->bandwidth = attribute_or_zero(driver, ordinal, CUDA_MEMORY_CLOCK_RATE) * 1000 *
                              2 * attribute_or_zero(driver, ordinal, CUDA_MEMORY_BUS_WIDTH) / 8;
    return true;
}

static void read_uuid(const struct cuda_driver *driver, cuda_ordinal ordinal, char *text,
                      size_t capacity) {
    cuda_uuid uuid;
    if (driver->cuDeviceGetUuid(&uuid, ordinal) != CUDA_SUCCEEDED)
        return;
    size_t length = 0;
    for (unsigned i = 0; i < sizeof uuid.bytes && length + 3 < capacity; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        length += (size_t)snprintf(text + length, capacity - length, "%s%02x", dash ? "-" : "",
                                   (unsigned char)uuid.bytes[i]);
    }
}

/* The CUDA version that the driver serves and, on Linux, the driver's own. */
static void read_driver(const struct cuda_driver *driver, char *text, size_t capacity) {
    int version = 0;
    char own[64] = "";
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (file) {
        if (!fgets(own, sizeof own, file))
            own[0] = 0;
        fclose(file);
        own[strcspn(own, "\n")] = 0;
    }
    if (driver->cuDriverGetVersion(&version) != CUDA_SUCCEEDED)
        version = 0;
    snprintf(text, capacity, "CUDA %d.%d%s%s%s", version / 1000, version % 1000 / 10,
             own[0] ? " (driver " : "", own, own[0] ? ")" : "");
}

bool cuda_describe(const struct cuda_driver *driver, cuda_ordinal ordinal,
                   struct device_capabilities *capabilities, struct status *status) {
    *capabilities = (struct device_capabilities){
        .language = LANGUAGE_CUDA,
        .vendor = "NVIDIA",
        .queues = CUDA_QUEUES,
        .alignment = CUDA_ALIGNMENT,
        .is_gpu = true,
        .half = true,
    };
    size_t memory = 0;
    cuda_result result = driver->cuDeviceGetName(capabilities->description,
                                                 (int)sizeof capabilities->description, ordinal);
    if (result != CUDA_SUCCEEDED)
        return cuda_driver_failed(driver, result, "cuDeviceGetName", status);
    result = driver->cuDeviceTotalMem(&memory, ordinal);
    if (result != CUDA_SUCCEEDED)
        return cuda_driver_failed(driver, result, "cuDeviceTotalMem", status);
    capabilities->memory_bytes = memory;
    read_uuid(driver, ordinal, capabilities->uuid, sizeof capabilities->uuid);
    read_driver(driver, capabilities->driver, sizeof capabilities->driver);
    if (!read_attributes(driver, ordinal, capabilities, status))
        return false;
    capabilities->dot8 = capabilities->major * 10 + capabilities->minor >= 61;
    return cuda_compiler_ready(capabilities->major, capabilities->minor, status);
}
