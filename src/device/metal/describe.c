/* What is this device? Metal reports names and limits; the number of GPU cores is in the I/O
 * registry. Clocks, caches and bandwidth are not reported. */
#include <stdio.h>
#include <string.h>

#include "device/metal/metal.h"

enum { FAMILY_LAST = 20, BFLOAT_FAMILY = 7, BFLOAT_SYSTEM = 14 };

static void copy_string(const struct metal_library *library, metal_id string, char *text,
                        size_t size) {
    const char *utf8 = string ? SEND(library, utf8_string, string) : NULL;
    snprintf(text, size, "%s", utf8 ? utf8 : "");
}

/* The number of the newest Apple GPU family that the device belongs to; 0 for GPUs of others. */
static uint32_t family_of(const struct metal_library *library, metal_id device) {
    for (uint32_t family = FAMILY_LAST; family > 0; family--)
        if (SEND(library, supports_family, device, MTL_FAMILY_APPLE1 + (metal_int)family - 1))
            return family;
    return 0;
}

bool metal_system_at_least(const struct metal_library *library, metal_int major) {
    metal_id class = library->objc_getClass("NSProcessInfo");
    metal_id process = class ? SEND(library, process_info, class) : NULL;
    return process && SEND(library, is_at_least, process, ((metal_version){.major = major}));
}

static void describe_system(const struct metal_library *library, char *text, size_t size) {
    metal_id class = library->objc_getClass("NSProcessInfo");
    metal_id process = class ? SEND(library, process_info, class) : NULL;
    char version[96] = "";
    if (process)
        copy_string(library, SEND(library, system_version, process), version, sizeof version);
    snprintf(text, size, "macOS %s", strncmp(version, "Version ", 8) == 0 ? version + 8 : version);
}

/* The property of the device's entry in the registry, or of its children or parents. */
static int64_t registry_number(const struct metal_library *library, uint64_t id,
                               const char *property) {
    int64_t value = 0;
    if (!library->IORegistryEntryIDMatching || !library->IOServiceGetMatchingService ||
        !library->IORegistryEntrySearchCFProperty || !library->IOObjectRelease ||
        !library->CFStringCreateWithCString || !library->CFNumberGetValue || !library->CFRelease)
        return 0;
    void *matching = library->IORegistryEntryIDMatching(id);
    uint32_t service = matching ? library->IOServiceGetMatchingService(0, matching) : 0;
    void *key = library->CFStringCreateWithCString(NULL, property, CF_STRING_UTF8);
    void *number = service && key ? library->IORegistryEntrySearchCFProperty(
                                        service, "IOService", key, NULL,
                                        IO_REGISTRY_RECURSIVELY | IO_REGISTRY_PARENTS)
                                  : NULL;
    if (number && !library->CFNumberGetValue(number, CF_NUMBER_SINT64, &value))
        value = 0;
    if (number)
        library->CFRelease(number);
    if (key)
        library->CFRelease(key);
    if (service)
        library->IOObjectRelease(service);
    return value;
}

static void describe_limits(const struct metal_library *library, metal_id device,
                            struct device_capabilities *capabilities) {
    metal_size threads = SEND(library, threads_max, device);
    capabilities->block_max = threads.width < 1024 ? (uint32_t)threads.width : 1024;
    capabilities->shared_bytes = (uint32_t)SEND(library, threadgroup_memory_max, device);
    capabilities->shared_max = capabilities->shared_per_unit = capabilities->shared_bytes;
    capabilities->memory_bytes = SEND(library, working_set_max, device);
    int64_t cores = registry_number(library, SEND(library, registry_id, device), "gpu-core-count");
    capabilities->compute_units = cores > 0 && cores < 65536 ? (uint32_t)cores : 0;
}

void metal_describe(const struct metal_library *library, metal_id device,
                    struct device_capabilities *capabilities) {
    *capabilities = (struct device_capabilities){
        .language = LANGUAGE_METAL,
        .subgroup = 32,
        .queues = METAL_QUEUES,
        .alignment = METAL_ALIGNMENT,
        .is_gpu = true,
        .half = true,
    };
    copy_string(library, SEND(library, name, device), capabilities->description,
                sizeof capabilities->description);
    snprintf(capabilities->vendor, sizeof capabilities->vendor, "%.*s",
             (int)strcspn(capabilities->description, " "), capabilities->description);
    describe_system(library, capabilities->driver, sizeof capabilities->driver);
    capabilities->major = family_of(library, device);
    capabilities->bfloat =
        capabilities->major >= BFLOAT_FAMILY && metal_system_at_least(library, BFLOAT_SYSTEM);
    describe_limits(library, device, capabilities);
}
