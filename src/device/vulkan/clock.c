/* When did a command run, on the host's clock?
 *
 * A stamp is two timestamp queries around the command. The device's clock is read together with the
 * host's by calibrated timestamps, else by a submission of one timestamp between two readings of
 * the host's clock, with half the time between them as the error. The time of a calibrated reading
 * bounds its error, too: some drivers claim a deviation of 1 ns although they were preempted.
 */
#include <stdio.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "device/vulkan/vulkan.h"

enum { STAMPS_PER_POOL = 512 };

/* ---- Queries ------------------------------------------------------------------------------ */

static bool grow(struct vulkan_device *device, struct status *status) {
    struct vulkan_clock *clock = &device->clock;
    const struct vk_query_pool_create_info info = {.sType =
                                                       VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                                   .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                                   .queryCount = 2 * STAMPS_PER_POOL};
    size_t first = clock->pool_count * STAMPS_PER_POOL;
    if (!GROW(clock->pools, &clock->pool_capacity, clock->pool_count + 1, status) ||
        !GROW(clock->stamps, &clock->capacity, first + STAMPS_PER_POOL, status) ||
        !vulkan_check(device->calls.vkCreateQueryPool(device->device, &info, NULL,
                                                      &clock->pools[clock->pool_count]),
                      "vkCreateQueryPool", status))
        return false;
    clock->pool_count++;
    for (size_t i = first + STAMPS_PER_POOL; i-- > first;) {
        clock->stamps[i].next_free = clock->free;
        clock->free = (uint32_t)i + 1;
    }
    return true;
}

void vulkan_clock_destroy(struct vulkan_device *device) {
    struct vulkan_clock *clock = &device->clock;
    for (size_t i = 0; i < clock->pool_count; i++)
        device->calls.vkDestroyQueryPool(device->device, clock->pools[i], NULL);
    memory_free(clock->pools);
    memory_free(clock->stamps);
}

static vk_handle pool_of(const struct vulkan_device *device, uint32_t stamp, uint32_t *query) {
    *query = stamp % STAMPS_PER_POOL * 2;
    return device->clock.pools[stamp / STAMPS_PER_POOL];
}

/* Timestamps are written when everything before them is done. */
static void write_timestamp(struct vulkan_device *device, vk_command_buffer commands,
                            uint32_t stamp, uint32_t which) {
    uint32_t query;
    vk_handle pool = pool_of(device, stamp, &query);
    device->calls.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool,
                                      query + which);
}

bool vulkan_stamp_begin(struct vulkan_device *device, unsigned number, vk_command_buffer commands,
                        struct device_stamp *stamp, struct status *status) {
    struct vulkan_clock *clock = &device->clock;
    uint32_t query;
    if (!stamp)
        return true;
    *stamp = (struct device_stamp){0};
    if (!device->traits.timestamp_bits) /* resolve() reports it */
        return true;
    if (!clock->free && !grow(device, status))
        return false;
    uint32_t taken = clock->free - 1;
    clock->free = clock->stamps[taken].next_free;
    clock->stamps[taken].queue = number;
    vk_handle pool = pool_of(device, taken, &query);
    device->calls.vkCmdResetQueryPool(commands, pool, query, 2);
    write_timestamp(device, commands, taken, 0);
    stamp->begin = (uint64_t)taken + 1;
    return true;
}

void vulkan_stamp_end(struct vulkan_device *device, unsigned number, vk_command_buffer commands,
                      struct device_stamp *stamp) {
    if (!stamp || !stamp->begin)
        return;
    uint32_t taken = (uint32_t)(stamp->begin - 1);
    write_timestamp(device, commands, taken, 1);
    device->clock.stamps[taken].value = vulkan_next_value(device, number);
}

static bool read_queries(struct vulkan_device *device, uint32_t stamp, uint64_t ticks[2],
                         struct status *status) {
    const struct vulkan_stamp *made = &device->clock.stamps[stamp];
    uint32_t query;
    vk_handle pool = pool_of(device, stamp, &query);
    return vulkan_wait(device, made->queue, made->value, status) &&
           vulkan_check(device->calls.vkGetQueryPoolResults(
                            device->device, pool, query, 2, 2 * sizeof *ticks, ticks, sizeof *ticks,
                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                        "vkGetQueryPoolResults", status);
}

static void free_stamp(struct vulkan_clock *clock, uint32_t stamp) {
    clock->stamps[stamp].next_free = clock->free;
    clock->free = stamp + 1;
}

/* ---- Readings ----------------------------------------------------------------------------- */

static bool read_calibrated(struct vulkan_device *device, struct clock_reading *reading) {
    const struct vk_calibrated_timestamp_info domains[2] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
         .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT}};
    uint64_t times[2], deviation;
    int64_t before = clock_now();
    if (!device->traits.calibrated || !device->calls.vkGetCalibratedTimestampsEXT ||
        device->calls.vkGetCalibratedTimestampsEXT(device->device, 2, domains, times, &deviation) !=
            VK_SUCCESS)
        return false;
    int64_t error = MAX((int64_t)deviation, clock_now() - before) + 1;
    *reading = (struct clock_reading){times[0], (int64_t)times[1], error};
    return true;
}

/* Else a submission of a timestamp runs somewhere between two readings of the host's clock. The
 * queue is empty, or the reading is less exact. */
static bool time_submission(struct vulkan_device *device, struct clock_reading *reading,
                            struct status *status) {
    struct device_stamp stamp = {0};
    struct vulkan_batch *batch;
    uint64_t ticks[2];
    if (!vulkan_submit(device, 0, status))
        return false;
    int64_t before = clock_now();
    if (!vulkan_begin(device, 0, 0, &batch, status) ||
        !vulkan_stamp_begin(device, 0, batch->commands, &stamp, status))
        return false;
    vulkan_stamp_end(device, 0, batch->commands, &stamp);
    uint32_t taken = (uint32_t)(stamp.begin - 1);
    bool ok = read_queries(device, taken, ticks, status);
    int64_t half = (clock_now() - before) / 2;
    free_stamp(&device->clock, taken);
    *reading = (struct clock_reading){ticks[1], before + half, half + 1};
    return ok;
}

static bool read_clock(void *of, struct clock_reading *reading, struct status *status) {
    struct vulkan_device *device = of;
    return read_calibrated(device, reading) || time_submission(device, reading, status);
}

static bool refresh(struct vulkan_device *device, struct status *status) {
    struct device_clock *clock = &device->clock.time;
    clock->bits = device->traits.timestamp_bits;
    clock->period = device->traits.timestamp_period;
    return device_clock_refresh(clock, read_clock, device, status);
}

bool vulkan_resolve(struct device *base, struct device_stamp *stamp, int64_t *start, int64_t *end,
                    struct status *status) {
    struct vulkan_device *device = vulkan_of(base);
    uint64_t ticks[2];
    uint64_t number = stamp->begin;
    *stamp = (struct device_stamp){0};
    *start = *end = clock_now();
    if (!device->traits.timestamp_bits)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the compute queues of vulkan:%u have no timestamps", base->index);
    if (number == 0)
        return true; /* a command of no work: it did nothing, now */
    uint32_t taken = (uint32_t)(number - 1);
    bool ok = read_queries(device, taken, ticks, status) && refresh(device, status);
    free_stamp(&device->clock, taken);
    if (!ok)
        return false;
    *start = device_clock_to_host(&device->clock.time, ticks[0]);
    *end = device_clock_to_host(&device->clock.time, ticks[1]);
    return true;
}

int64_t vulkan_clock_error(struct device *base) {
    return device_clock_error(&vulkan_of(base)->clock.time);
}

/* All times will lie between this reading and a later one. If it fails, it is retried and reported
 * when a time is requested. */
void vulkan_prepare_stamps(struct device *base, char *how, size_t capacity) {
    struct vulkan_device *device = vulkan_of(base);
    struct status ignored;
    if (device->traits.timestamp_bits)
        refresh(device, &ignored);
    snprintf(how, capacity, "%s",
             !device->traits.timestamp_bits ? "none: the device has no timestamps"
             : device->traits.calibrated    ? "timestamp queries, calibrated by the driver"
                                            : "timestamp queries");
}
