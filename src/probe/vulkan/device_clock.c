/* Converts the ticks of a device to CLOCK_MONOTONIC.
 *
 * VK_KHR_calibrated_timestamps or VK_EXT_calibrated_timestamps reads both clocks together; it is
 * read again whenever results are converted, so that drift does not matter. The thread may be
 * preempted between the two, and some drivers claim a deviation of 1 ns regardless. So a reading is
 * bracketed by two of our own, whose distance is the bound of the error, and the one before is kept
 * while it is the better one.
 *
 * Without the extension, the device writes a timestamp between two readings of the host's clock
 * when it is opened; the half interval is the bound of the error, which grows by the drift. Later,
 * work that seems to begin before its submission, or to end after it was read, shifts the clock and
 * raises the bound.
 */
#include "probe/vulkan/vulkan.h"

#include <string.h>

#include "base/clock.h"
#include "base/min_max.h"
#include "spool/pages.h"

enum { CALIBRATION_TRIES = 8, CALIBRATIONS = 8, DOMAINS = 16 };
enum { DRIFT_PPM = 100 }; /* more than that of any two oscillators and NTP's usual adjustment */
#define WAIT_LIMIT_NS 1000000000u

/* ---- The extension ------------------------------------------------------------------------ */

static bool find_domain(const struct vulkan_instance *instance, vk_physical_device physical,
                        int32_t *domain) {
    int32_t domains[DOMAINS];
    uint32_t count = DOMAINS;
    bool device = false, monotonic = false, raw = false;
    if (!instance->next.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)
        return false;
    vk_result result =
        instance->next.vkGetPhysicalDeviceCalibrateableTimeDomainsEXT(physical, &count, domains);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        device |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        monotonic |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
        raw |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT;
    }
    *domain =
        monotonic ? VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT : VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT;
    return device && (monotonic || raw);
}

const char *vulkan_clock_extension(const struct vulkan_instance *instance,
                                   vk_physical_device physical, int32_t *domain) {
    static const char *const names[] = {"VK_KHR_calibrated_timestamps",
                                        "VK_EXT_calibrated_timestamps"};
    uint32_t count = 0;
    const char *found = NULL;
    if (vulkan_probe()->options.vulkan_own_clock ||
        instance->next.vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) !=
            VK_SUCCESS ||
        count == 0)
        return NULL;
    size_t bytes = count * sizeof(struct vk_extension_properties);
    struct vk_extension_properties *list = pages_allocate(bytes);
    if (!list)
        return NULL;
    if (instance->next.vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list) != 0)
        count = 0;
    for (unsigned name = 0; name < 2 && !found; name++)
        for (uint32_t i = 0; i < count && !found; i++)
            if (strncmp(list[i].extensionName, names[name], sizeof list[i].extensionName) == 0)
                found = names[name];
    pages_free(list, bytes);
    return found && find_domain(instance, physical, domain) ? found : NULL;
}

/* CLOCK_MONOTONIC minus CLOCK_MONOTONIC_RAW. */
static int64_t raw_offset(void) {
#ifdef CLOCK_MONOTONIC_RAW
    int64_t before = clock_now(), raw = clock_read(CLOCK_MONOTONIC_RAW), after = clock_now();
    return before + (after - before) / 2 - raw;
#else
    return 0;
#endif
}

static bool read_both(struct vulkan_device *device, uint64_t times[2], uint64_t *deviation) {
    const struct vk_calibrated_timestamp_info infos[2] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = device->clock.domain},
    };
    return device->next.vkGetCalibratedTimestampsEXT &&
           device->next.vkGetCalibratedTimestampsEXT(device->handle, 2, infos, times, deviation) ==
               VK_SUCCESS;
}

/* The bound of the error of the last reading, once it is `age` old. */
static int64_t error_at(const struct vulkan_clock *clock, int64_t age) {
    return clock->reading_error + age / 1000000 * DRIFT_PPM;
}

static void set_reading(struct vulkan_clock *clock, uint64_t device_time, int64_t host_time,
                        int64_t error) {
    clock->device_time = device_time;
    clock->host_time = host_time;
    clock->reading_error = error;
    clock->read_at = clock_now();
}

static bool read_calibrated(struct vulkan_device *device, struct vulkan_clock *read) {
    uint64_t times[2], deviation;
    int64_t before = clock_now();
    if (!read_both(device, times, &deviation) || deviation > INT64_MAX)
        return false;
    int64_t offset =
        device->clock.domain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT ? raw_offset() : 0;
    int64_t error = MAX(clock_now() - before, (int64_t)deviation);
    set_reading(read, times[0], (int64_t)times[1] + offset, error);
    return true;
}

/* The bound is that of twice the age, so that it is not raised all the time. */
static void raise_error(struct vulkan_clock *clock) {
    int64_t age = clock_now() - clock->read_at;
    if (clock->reading_error >= 0 && error_at(clock, age) > clock->error)
        clock->error = error_at(clock, 2 * age);
}

void vulkan_clock_update(struct vulkan_device *device) {
    struct vulkan_clock *clock = &device->clock, best = {.reading_error = -1}, read;
    for (unsigned i = 0; clock->has_calibration && i < CALIBRATION_TRIES; i++) {
        if (!read_calibrated(device, &read))
            continue;
        if (best.reading_error < 0 || read.reading_error < best.reading_error)
            best = read;
        if (best.reading_error <= clock->best_error + clock->best_error / 2)
            break;
    }
    if (best.reading_error >= 0) {
        bool is_best = clock->best_error == 0 || best.reading_error < clock->best_error;
        clock->best_error = is_best ? best.reading_error : clock->best_error;
        if (clock->reading_error < 0 ||
            best.reading_error <= error_at(clock, best.read_at - clock->read_at))
            set_reading(clock, best.device_time, best.host_time, best.reading_error);
    }
    raise_error(clock);
}

/* ---- Own calibration ---------------------------------------------------------------------- */

struct calibration {
    vk_queue queue;
    vk_handle pool, queries, fence;
    vk_command_buffer buffer;
};

static bool record_timestamp(const struct vulkan_device *device,
                             const struct calibration *calibration) {
    const struct vulkan_device_functions *next = &device->next;
    struct vk_command_buffer_begin_info begin = {.sType =
                                                     VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    if (next->vkBeginCommandBuffer(calibration->buffer, &begin) != VK_SUCCESS)
        return false;
    next->vkCmdResetQueryPool(calibration->buffer, calibration->queries, 0, 1);
    next->vkCmdWriteTimestamp(calibration->buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                              calibration->queries, 0);
    return next->vkEndCommandBuffer(calibration->buffer) == VK_SUCCESS;
}

static bool prepare(const struct vulkan_device *device, uint32_t family,
                    struct calibration *calibration) {
    const struct vulkan_device_functions *next = &device->next;
    vk_device handle = device->handle;
    struct vk_query_pool_create_info queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                                .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                                .queryCount = 1};
    struct vk_command_pool_create_info pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .queueFamilyIndex = family};
    struct vk_fence_create_info fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (next->vkCreateQueryPool(handle, &queries, NULL, &calibration->queries) != VK_SUCCESS ||
        next->vkCreateFence(handle, &fence, NULL, &calibration->fence) != VK_SUCCESS ||
        next->vkCreateCommandPool(handle, &pool, NULL, &calibration->pool) != VK_SUCCESS)
        return false;
    struct vk_command_buffer_allocate_info buffer = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = calibration->pool,
        .commandBufferCount = 1};
    return next->vkAllocateCommandBuffers(handle, &buffer, &calibration->buffer) == VK_SUCCESS &&
           device->set_loader_data(handle, calibration->buffer) == VK_SUCCESS &&
           record_timestamp(device, calibration);
}

/* Halves the interval in which the device wrote its timestamp. */
static bool measure(struct vulkan_device *device, const struct calibration *calibration) {
    const struct vulkan_device_functions *next = &device->next;
    struct vulkan_clock *clock = &device->clock;
    struct vk_submit_info submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                    .commandBufferCount = 1,
                                    .pCommandBuffers = &calibration->buffer};
    uint64_t ticks;
    int64_t before = clock_now();
    if (next->vkQueueSubmit(calibration->queue, 1, &submit, calibration->fence) != VK_SUCCESS ||
        next->vkWaitForFences(device->handle, 1, &calibration->fence, 1, WAIT_LIMIT_NS) !=
            VK_SUCCESS)
        return false;
    int64_t half = (clock_now() - before) / 2;
    if (next->vkResetFences(device->handle, 1, &calibration->fence) != VK_SUCCESS ||
        next->vkGetQueryPoolResults(
            device->handle, calibration->queries, 0, 1, sizeof ticks, &ticks, sizeof ticks,
            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
        return false;
    if (clock->reading_error < 0 || half < clock->reading_error)
        set_reading(clock, ticks, before + half, half);
    return true;
}

static void calibrate(struct vulkan_device *device, uint32_t family) {
    const struct vulkan_device_functions *next = &device->next;
    struct calibration calibration = {0};
    next->vkGetDeviceQueue(device->handle, family, 0, &calibration.queue);
    if (!calibration.queue ||
        device->set_loader_data(device->handle, calibration.queue) != VK_SUCCESS)
        return;
    if (prepare(device, family, &calibration))
        for (unsigned i = 0; i < CALIBRATIONS && measure(device, &calibration); i++)
            continue;
    if (calibration.pool)
        next->vkDestroyCommandPool(device->handle, calibration.pool, NULL);
    if (calibration.fence)
        next->vkDestroyFence(device->handle, calibration.fence, NULL);
    if (calibration.queries)
        next->vkDestroyQueryPool(device->handle, calibration.queries, NULL);
}

void vulkan_clock_start(struct vulkan_device *device, const struct vk_device_create_info *info) {
    struct vulkan_clock *clock = &device->clock;
    clock->error = clock->reported = clock->reading_error = -1;
    if (clock->period <= 0)
        clock->period = 1;
    vulkan_clock_update(device);
    if (clock->error >= 0)
        return;
    clock->has_calibration = false;
    for (uint32_t i = 0; i < info->queueCreateInfoCount && clock->reading_error < 0; i++)
        if (info->pQueueCreateInfos[i].flags == 0 &&
            vulkan_family_is_timed(device, info->pQueueCreateInfos[i].queueFamilyIndex))
            calibrate(device, info->pQueueCreateInfos[i].queueFamilyIndex);
    raise_error(clock);
}

/* ---- Conversion --------------------------------------------------------------------------- */

/* Timestamps of few bits wrap around; that of a recent time is unambiguous. */
int64_t vulkan_clock_convert(const struct vulkan_device *device, uint32_t valid_bits,
                             uint64_t ticks, int64_t now) {
    const struct vulkan_clock *clock = &device->clock;
    int64_t expected =
        clock->error < 0 ? 0 : (int64_t)((double)(now - clock->host_time) / clock->period);
    int64_t since = clock_ticks_about(clock->device_time, expected, ticks, valid_bits);
    return clock->host_time + (int64_t)((double)since * clock->period);
}

void vulkan_clock_check(struct vulkan_device *device, int64_t early, int64_t late) {
    struct vulkan_clock *clock = &device->clock;
    if (clock->error < 0) { /* nothing else is known */
        clock->host_time += early / 2 - late / 2;
        clock->error = clock->reading_error = early + late < 0 ? -(early + late) / 2 : 0;
        clock->read_at = clock_now();
        return;
    }
    int64_t shift = early > 0 ? early : late > 0 ? -late : 0;
    int64_t size = shift < 0 ? -shift : shift;
    if (shift == 0)
        return;
    if (!clock->has_calibration)
        clock->host_time += shift;
    if (size > clock->error)
        clock->error = size;
}
