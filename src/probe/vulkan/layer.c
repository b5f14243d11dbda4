/* The Vulkan layer: how the loader finds the probe's functions, and how these find the next
 * layer's.
 *
 * $VK_INSTANCE_LAYERS makes the loader load the probe and call
 * vkNegotiateLoaderLayerInterfaceVersion(). A program that loads a driver itself, as ncnn does, can
 * be given the probe as its driver: the vk_icd functions then lead it to the loader, and so to the
 * layer.
 *
 * The first word of a dispatchable handle is the loader's and identifies its instance or device.
 */
#include "probe/vulkan/vulkan.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/library.h"
#include "spool/lock.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT vk_result
vkNegotiateLoaderLayerInterfaceVersion(struct vk_negotiate_layer_interface *interface);
EXPORT vk_result vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
EXPORT vk_function *vk_icdGetInstanceProcAddr(vk_instance instance, const char *name);

enum { INSTANCES = 128, EXTENSIONS_MAX = 1024, ICD_INTERFACE = 5, ERROR_TOO_MANY_OBJECTS = -10 };

static struct vulkan_instance instances[INSTANCES];
static struct vulkan_device devices[VULKAN_DEVICES];
static _Atomic uint32_t table_lock;
static _Atomic uint32_t device_serial;

static vk_get_instance_function get_instance_function;
static vk_get_device_function get_device_function;

static void *key_of(const void *handle) {
    return *(void *const *)handle;
}

static struct vulkan_instance *instance_of(const void *handle) {
    void *key = key_of(handle);
    for (unsigned i = 0; i < INSTANCES; i++)
        if (instances[i].key == key)
            return &instances[i];
    return NULL;
}

struct vulkan_device *vulkan_device_of(const void *handle) {
    void *key = key_of(handle);
    for (unsigned i = 0; i < VULKAN_DEVICES; i++)
        if (devices[i].key == key)
            return &devices[i];
    return NULL;
}

struct vulkan_device *vulkan_device_at(unsigned number) {
    return number < VULKAN_DEVICES && devices[number].records ? &devices[number] : NULL;
}

struct probe *vulkan_probe(void) {
    struct probe *probe = probe_start();
    return probe && probe->options.vulkan && !spool_is_stopped(probe->spool) ? probe : NULL;
}

bool vulkan_probe_by_dispatch(void) {
    const struct probe *probe = probe_start();
    return probe && probe->options.vulkan_dispatches;
}

/* The last access to an entry: from then on another thread may fill it in. */
static void release_entry(void *_Atomic *key) {
    atomic_store_explicit(key, NULL, memory_order_release);
}

/* ---- Instances --------------------------------------------------------------------------- */

/* Searches a chain of structures for the loader's with this function. */
static void *find_link(const void *chain, int32_t type, int32_t function) {
    const struct vk_structure *at = chain;
    for (; at; at = at->pNext)
        if (at->sType == type &&
            ((const struct vk_layer_device_create_info *)(const void *)at)->function == function)
            return (void *)(uintptr_t)at;
    return NULL;
}

static struct vulkan_instance *free_instance(void) {
    for (unsigned i = 0; i < INSTANCES; i++)
        if (!instances[i].key)
            return &instances[i];
    return NULL;
}

static void fill_instance(struct vulkan_instance *instance) {
    vk_get_instance_function *get = instance->get_function;
    vk_function *found;
#define FILL(name, alias, result, parameters)                                                      \
    found = get(instance->handle, #name);                                                          \
    if (!found && (alias))                                                                         \
        found = get(instance->handle, alias);                                                      \
    instance->next.name = (result(*) parameters)found;
    VULKAN_INSTANCE_FUNCTIONS(FILL)
#undef FILL
}

static vk_result create_instance(const struct vk_instance_create_info *info, const void *allocator,
                                 vk_instance *made) {
    struct vk_layer_instance_create_info *link = find_link(
        info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO, VULKAN_LAYER_LINK_INFO);
    if (!link || !link->u.pLayerInfo)
        return VK_ERROR_INITIALIZATION_FAILED;
    vk_get_instance_function *get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    vk_result (*create)(const struct vk_instance_create_info *, const void *, vk_instance *) =
        (vk_result(*)(const struct vk_instance_create_info *, const void *, vk_instance *))get(
            NULL, "vkCreateInstance");
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    vk_result result = create(info, allocator, made);
    if (result != VK_SUCCESS)
        return result;
    bool locked = lock_acquire(&table_lock);
    struct vulkan_instance *instance = locked ? free_instance() : NULL;
    if (instance) {
        *instance = (struct vulkan_instance){
            .handle = *made,
            .get_function = get,
            .version = info->pApplicationInfo ? info->pApplicationInfo->apiVersion : 0,
        };
        fill_instance(instance);
        atomic_store(&instance->key, key_of(*made));
    }
    if (locked)
        lock_release(&table_lock);
    if (instance)
        return result;
    void (*destroy)(vk_instance, const void *) =
        (void (*)(vk_instance, const void *))get(*made, "vkDestroyInstance");
    if (destroy)
        destroy(*made, allocator);
    return ERROR_TOO_MANY_OBJECTS;
}

static void destroy_instance(vk_instance handle, const void *allocator) {
    struct vulkan_instance *instance = handle ? instance_of(handle) : NULL;
    if (!instance)
        return;
    void (*destroy)(vk_instance, const void *) = instance->next.vkDestroyInstance;
    release_entry(&instance->key);
    destroy(handle, allocator);
}

/* ---- Devices ----------------------------------------------------------------------------- */

static void fill_device(struct vulkan_device *device) {
    vk_get_device_function *get = device->get_function;
    vk_function *found;
#define FILL(name, alias, result, parameters)                                                      \
    found = get(device->handle, #name);                                                            \
    if (!found && (alias))                                                                         \
        found = get(device->handle, alias);                                                        \
    if (!found && strstr(#name, "DebugUtils")) /* of an instance extension */                      \
        found = device->instance->get_function(device->instance->handle, #name);                   \
    device->next.name = (result(*) parameters)found;
    VULKAN_DEVICE_FUNCTIONS(FILL)
#undef FILL
}

typedef vk_result create_device_function(vk_physical_device, const struct vk_device_create_info *,
                                         const void *, vk_device *);

static bool is_enabled(const struct vk_device_create_info *info, const char *extension) {
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], extension) == 0)
            return true;
    return false;
}

/* Creates the device with one more extension, or without it if that fails. */
static vk_result create_with(create_device_function *create, vk_physical_device physical,
                             const struct vk_device_create_info *info, const void *allocator,
                             vk_device *made, const char **extension) {
    struct vk_layer_device_create_info *link =
        find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VULKAN_LAYER_LINK_INFO);
    struct vk_layer_device_link *next = link->u.pLayerInfo;
    const char *names[EXTENSIONS_MAX];
    struct vk_device_create_info more = *info;
    if (!*extension || is_enabled(info, *extension))
        return create(physical, info, allocator, made);
    if (info->enabledExtensionCount < EXTENSIONS_MAX) {
        for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
            names[i] = info->ppEnabledExtensionNames[i];
        names[more.enabledExtensionCount++] = *extension;
        more.ppEnabledExtensionNames = names;
        vk_result result = create(physical, &more, allocator, made);
        if (result == VK_SUCCESS)
            return result;
    }
    *extension = NULL;
    link->u.pLayerInfo = next;
    return create(physical, info, allocator, made);
}

static struct vulkan_device *free_device(void) {
    for (unsigned i = 0; i < VULKAN_DEVICES; i++)
        if (!devices[i].key)
            return &devices[i];
    return NULL;
}

static bool add_device(const struct vulkan_device *made, struct vulkan_device **device) {
    if (!lock_acquire(&table_lock))
        return false;
    *device = free_device();
    if (*device) {
        **device = *made;
        atomic_store(&(*device)->key, key_of(made->handle));
    }
    lock_release(&table_lock);
    return *device != NULL;
}

static void start_recording(struct vulkan_device *device,
                            const struct vk_device_create_info *info) {
    const struct vulkan_instance *instance = device->instance;
    device->number = atomic_fetch_add(&device_serial, 1) + 1;
    device->family_count = VULKAN_FAMILIES;
    instance->next.vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &device->family_count,
                                                            device->families);
    instance->next.vkGetPhysicalDeviceMemoryProperties(device->physical, &device->memory);
    vulkan_device_describe(device);
    vulkan_clock_start(device, info);
    device->records = true;
    vulkan_put_meta("vulkan.recorded",
                    vulkan_probe_by_dispatch() ? TEXT("by dispatch") : TEXT("by group"));
    vulkan_put_meta("vulkan.work", TEXT("estimated"));
    vulkan_reader_start();
}

static vk_result create_device(vk_physical_device physical,
                               const struct vk_device_create_info *info, const void *allocator,
                               vk_device *made) {
    int64_t start = clock_now();
    const struct vulkan_instance *instance = instance_of(physical);
    struct vk_layer_device_create_info *link =
        find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VULKAN_LAYER_LINK_INFO);
    const struct vk_layer_device_create_info *callback = find_link(
        info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VULKAN_LOADER_DATA_CALLBACK);
    if (!instance || !link || !link->u.pLayerInfo)
        return VK_ERROR_INITIALIZATION_FAILED;
    struct vulkan_device filled = {
        .physical = physical,
        .instance = instance,
        .get_function = link->u.pLayerInfo->pfnNextGetDeviceProcAddr,
        .set_loader_data = callback ? callback->u.pfnSetDeviceLoaderData : NULL,
    };
    create_device_function *create =
        (create_device_function *)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(instance->handle,
                                                                                 "vkCreateDevice");
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    bool records = vulkan_probe() && filled.set_loader_data;
    const char *extension =
        records ? vulkan_clock_extension(instance, physical, &filled.clock.domain) : NULL;
    vk_result result = create ? create_with(create, physical, info, allocator, made, &extension)
                              : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS)
        return result;
    struct vulkan_device *device = NULL;
    filled.handle = *made;
    filled.clock.has_calibration = extension != NULL;
    fill_device(&filled);
    if (!add_device(&filled, &device)) {
        filled.next.vkDestroyDevice(*made, allocator);
        return ERROR_TOO_MANY_OBJECTS;
    }
    if (records)
        start_recording(device, info);
    vulkan_put_call(&(struct vulkan_call){.name = "vkCreateDevice", .start = start});
    return result;
}

static void destroy_queues(struct vulkan_device *device) {
    while (device->queues) {
        struct vulkan_queue *queue = device->queues;
        device->queues = queue->next;
        vulkan_queue_destroy(queue);
    }
}

void probe_vkDestroyDevice(vk_device handle, const void *allocator) {
    struct vulkan_device *device = handle ? vulkan_device_of(handle) : NULL;
    if (!device)
        return;
    if (device->records) {
        vulkan_reader_remove(device);
        vulkan_objects_forget(device);
        destroy_queues(device);
        vulkan_rings_destroy(device);
        vulkan_queries_destroy(device);
    }
    void (*destroy)(vk_device, const void *) = device->next.vkDestroyDevice;
    device->records = false;
    release_entry(&device->key);
    destroy(handle, allocator);
}

/* ---- Functions by name ------------------------------------------------------------------- */

#define HOOK(name, alias, result, parameters) {#name, alias, (vk_function *)probe_##name},
static const struct vulkan_hook device_hooks[] = {VULKAN_REPLACED_FUNCTIONS(HOOK)};
#undef HOOK
static const struct vulkan_hook instance_hooks[] = {
    {"vkGetInstanceProcAddr", NULL, (vk_function *)get_instance_function},
    {"vkGetDeviceProcAddr", NULL, (vk_function *)get_device_function},
    {"vkCreateInstance", NULL, (vk_function *)create_instance},
    {"vkDestroyInstance", NULL, (vk_function *)destroy_instance},
    {"vkCreateDevice", NULL, (vk_function *)create_device},
};

static vk_function *find_hook(const struct vulkan_hook *hooks, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(hooks[i].name, name) == 0 ||
            (hooks[i].alias && strcmp(hooks[i].alias, name) == 0))
            return hooks[i].function;
    return NULL;
}

/* A function that the driver does not have stays missing. */
static vk_function *get_device_function(vk_device handle, const char *name) {
    const struct vulkan_device *device = vulkan_device_of(handle);
    if (!device)
        return NULL;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (vk_function *)get_device_function;
    vk_function *next = device->get_function(handle, name);
    if (!next || (!device->records && strcmp(name, "vkDestroyDevice") != 0))
        return next;
    vk_function *hook = find_hook(device_hooks, ARRAY_COUNT(device_hooks), name);
    return hook ? hook : next;
}

static vk_function *get_instance_function(vk_instance handle, const char *name) {
    vk_function *hook = find_hook(instance_hooks, ARRAY_COUNT(instance_hooks), name);
    const struct vulkan_instance *instance = handle ? instance_of(handle) : NULL;
    if (hook || !instance)
        return hook;
    vk_function *next = instance->get_function(handle, name);
    hook = next && vulkan_probe() ? find_hook(device_hooks, ARRAY_COUNT(device_hooks), name) : NULL;
    return hook ? hook : next;
}

vk_result vkNegotiateLoaderLayerInterfaceVersion(struct vk_negotiate_layer_interface *interface) {
    if (!interface || interface->loaderLayerInterfaceVersion < VULKAN_LAYER_INTERFACE)
        return VK_ERROR_INITIALIZATION_FAILED;
    interface->loaderLayerInterfaceVersion = VULKAN_LAYER_INTERFACE;
    interface->pfnGetInstanceProcAddr = get_instance_function;
    interface->pfnGetDeviceProcAddr = get_device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}

/* ---- A driver that leads to the loader ----------------------------------------------------- */

vk_result vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
    if (*version > ICD_INTERFACE)
        *version = ICD_INTERFACE;
    return VK_SUCCESS;
}

vk_function *vk_icdGetInstanceProcAddr(vk_instance instance, const char *name) {
    static const char *const names[] = {"libvulkan.so.1", "libvulkan.so", NULL};
    static _Atomic(vk_get_instance_function *) loader;
    vk_get_instance_function *get = atomic_load(&loader);
    if (!get) {
        int error = errno;
        get = (vk_get_instance_function *)(uintptr_t)library_symbol(library_open(names),
                                                                    "vkGetInstanceProcAddr");
        atomic_store(&loader, get);
        errno = error;
    }
    return get ? get(instance, name) : NULL;
}
