/* Describes devices for the trace, and their queues. A physical device keeps its index in the spool
 * however often it is opened.
 */
#include "probe/vulkan/vulkan.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "spool/lock.h"

enum { PHYSICAL_DEVICES = SPOOL_DEVICES_EACH, DEVICE_TYPE_CPU = 4 };

static struct physical_device {
    struct spool_device device;
    uint32_t vendor; /* PCI id */
    char name[256];
} physical_devices[PHYSICAL_DEVICES];
static _Atomic uint32_t physical_count;
static _Atomic uint32_t lock;

static uint64_t device_memory(const struct vk_physical_device_memory_properties *memory) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < memory->memoryHeapCount && i < VK_MAX_MEMORY_HEAPS; i++)
        if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT &&
            memory->memoryHeaps[i].size > bytes)
            bytes = memory->memoryHeaps[i].size;
    return bytes;
}

static void read_uuid(const struct vulkan_device *device, uint32_t version, uint8_t uuid[16]) {
    const struct vulkan_instance *instance = device->instance;
    struct vk_physical_device_id_properties id = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    struct vk_physical_device_properties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
    if (instance->version < VULKAN_VERSION_1_1 || version < VULKAN_VERSION_1_1 ||
        !instance->next.vkGetPhysicalDeviceProperties2)
        return;
    instance->next.vkGetPhysicalDeviceProperties2(device->physical, &properties);
    memcpy(uuid, id.deviceUUID, 16);
}

static bool same_device(const struct physical_device *a, const struct physical_device *b) {
    return strcmp(a->name, b->name) == 0 && a->device.memory_bytes == b->device.memory_bytes &&
           memcmp(a->device.uuid, b->device.uuid, sizeof a->device.uuid) == 0;
}

/* A 65th device shares the last index. */
static uint32_t add_physical(const struct physical_device *described) {
    uint32_t count = atomic_load(&physical_count), at = 0;
    while (at < count && !same_device(&physical_devices[at], described))
        at++;
    if (at == PHYSICAL_DEVICES)
        return PHYSICAL_DEVICES - 1;
    if (at == count) {
        physical_devices[at] = *described;
        physical_devices[at].device.index = VULKAN_FIRST_INDEX + at;
        atomic_store(&physical_count, count + 1);
    }
    return at;
}

static void put_version(const struct vk_physical_device_properties *properties) {
    char text[320];
    int length =
        snprintf(text, sizeof text, "%u.%u.%u, %.255s, driver 0x%x",
                 properties->apiVersion >> 22 & 0x7F, properties->apiVersion >> 12 & 0x3FF,
                 properties->apiVersion & 0xFFF, properties->deviceName, properties->driverVersion);
    vulkan_put_meta("vulkan.device", (struct text){text, (size_t)length});
}

void vulkan_device_describe(struct vulkan_device *device) {
    struct vk_physical_device_properties properties = {0};
    struct physical_device described = {0};
    device->instance->next.vkGetPhysicalDeviceProperties(device->physical, &properties);
    properties.deviceName[sizeof properties.deviceName - 1] = 0;
    device->clock.period = (double)properties.timestampPeriod;
    snprintf(described.name, sizeof described.name, "%s", properties.deviceName);
    described.vendor = properties.vendorID;
    described.device.is_cpu = properties.deviceType == DEVICE_TYPE_CPU;
    described.device.memory_bytes = device_memory(&device->memory);
    read_uuid(device, properties.apiVersion, described.device.uuid);
    if (lock_acquire(&lock)) {
        device->index = VULKAN_FIRST_INDEX + add_physical(&described);
        lock_release(&lock);
    }
    put_version(&properties);
}

/* Names of PCI vendors, and of those that Khronos numbers. */
static const char *vendor_name(uint32_t vendor) {
    static const struct {
        uint32_t id;
        const char *name;
    } vendors[] = {{0x10DE, "NVIDIA"},      {0x1002, "AMD"},  {0x8086, "Intel"},
                   {0x106B, "Apple"},       {0x13B5, "Arm"},  {0x5143, "Qualcomm"},
                   {0x1010, "Imagination"}, {0x10005, "Mesa"}};
    for (size_t i = 0; i < ARRAY_COUNT(vendors); i++)
        if (vendors[i].id == vendor)
            return vendors[i].name;
    return "unknown";
}

static bool put_description(struct spool_lane *lane, const struct physical_device *physical) {
    uint32_t name = spool_text(lane, text_of(physical->name));
    uint32_t vendor = spool_constant(lane, vendor_name(physical->vendor));
    struct spool_device *record = spool_begin(lane, SPOOL_DEVICE, name, sizeof *record);
    if (!record)
        return false;
    struct spool_head head = record->head;
    *record = physical->device;
    record->head = head;
    record->vendor = vendor;
    spool_publish(lane);
    return true;
}

/* A device must be described in a lane before its queues are used there. */
bool vulkan_device_put(struct spool_lane *lane, const struct vulkan_device *device) {
    PROBE_THREAD_LOCAL uint64_t announced;
    PROBE_THREAD_LOCAL const struct spool_lane *to;
    uint32_t at = device->index - VULKAN_FIRST_INDEX;
    if (to != lane)
        announced = 0;
    to = lane;
    if (at >= PHYSICAL_DEVICES)
        return false;
    if (!(announced >> at & 1) && put_description(lane, &physical_devices[at]))
        announced |= (uint64_t)1 << at;
    return announced >> at & 1;
}

/* ---- Queues ------------------------------------------------------------------------------ */

enum { QUEUES_PER_FAMILY = 256 };

/* Resetting and copying queries needs a queue for graphics or compute. */
static bool can_time(const struct vulkan_device *device, uint32_t family) {
    return family < device->family_count && device->families[family].timestampValidBits > 0 &&
           device->families[family].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
}

bool vulkan_family_is_timed(const struct vulkan_device *device, uint32_t family) {
    return can_time(device, family);
}

static void add_queue(struct vulkan_device *device, vk_queue handle, uint32_t family,
                      uint32_t number, bool protected_queue) {
    bool added;
    if (!device->records || !handle ||
        vulkan_object_find(device, OBJECT_QUEUE, vulkan_handle(handle)))
        return;
    struct vulkan_queue *queue = vulkan_allocate(sizeof *queue);
    if (!queue)
        return;
    *queue = (struct vulkan_queue){
        .device = device,
        .handle = handle,
        .family = family,
        .stream = family * QUEUES_PER_FAMILY + number,
        .timed = can_time(device, family) && !protected_queue,
    };
    vulkan_object_set(device, OBJECT_QUEUE, vulkan_handle(handle), queue, &added);
    if (!added || !lock_acquire(&lock)) {
        vulkan_object_take(device, OBJECT_QUEUE, vulkan_handle(handle));
        vulkan_free(queue);
        return;
    }
    queue->next = device->queues;
    device->queues = queue;
    lock_release(&lock);
}

void probe_vkGetDeviceQueue(vk_device handle, uint32_t family, uint32_t number, vk_queue *queue) {
    struct vulkan_device *device = vulkan_device_of(handle);
    device->next.vkGetDeviceQueue(handle, family, number, queue);
    add_queue(device, *queue, family, number, false);
}

void probe_vkGetDeviceQueue2(vk_device handle, const struct vk_device_queue_info2 *info,
                             vk_queue *queue) {
    struct vulkan_device *device = vulkan_device_of(handle);
    device->next.vkGetDeviceQueue2(handle, info, queue);
    add_queue(device, *queue, info->queueFamilyIndex, info->queueIndex, info->flags != 0);
}
