/* Loads the Vulkan loader and creates one instance, which lives as long as the process: an instance
 * loads all drivers, which takes tens of milliseconds.
 */
#include "abi/vulkan_driver.h"

#include <pthread.h>
#include <string.h>

#include "base/array.h"
#include "base/library.h"

static const char *const loader_names[] = {"libvulkan.so.1", "libvulkan.so", "libvulkan.1.dylib",
                                           "libMoltenVK.dylib", NULL};

static const struct {
    vk_result result;
    const char *name;
    enum status_code code;
    const char *advice;
} errors[] = {
    {VK_NOT_READY, "VK_NOT_READY", STATUS_IO, ""},
    {VK_TIMEOUT, "VK_TIMEOUT", STATUS_IO, ""},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", STATUS_MEMORY,
     ": the host is out of memory"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", STATUS_MEMORY,
     ": the device is out of memory"},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", STATUS_IO,
     ": check that you may open the device (group render or video)"},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", STATUS_IO,
     ": the driver reset the device; close it and open it again"},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", STATUS_MEMORY, ""},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", STATUS_UNSUPPORTED,
     ": VK_INSTANCE_LAYERS names a layer that is not installed"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", STATUS_UNSUPPORTED, ""},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", STATUS_UNSUPPORTED, ""},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", STATUS_UNSUPPORTED,
     ": no Vulkan driver is installed; install your GPU's, or mesa-vulkan-drivers, whose lavapipe "
     "runs on any CPU"},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", STATUS_MEMORY, ""},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", STATUS_MEMORY, ""},
};

bool vulkan_check(vk_result result, const char *call, struct status *status) {
    if (result == VK_SUCCESS)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(errors); i++)
        if (errors[i].result == result)
            return status_fail(status, errors[i].code, "%s failed with %s%s", call, errors[i].name,
                               errors[i].advice);
    return status_fail(status, STATUS_IO, "%s failed with %d", call, (int)result);
}

/* Copied as bytes, because ISO C has no conversion from void * to a function pointer. */
static bool copy_pointer(vk_function *function, void *member) {
    memcpy(member, &function, sizeof function);
    return function != NULL;
}

static struct vulkan_driver machine;
static struct status machine_status;
static bool machine_loaded;

static bool fill_instance(vk_get_instance_function *get, struct vulkan_driver *driver,
                          struct status *status) {
    const char *missing = NULL;
#define FILL(name, alias, result, parameters)                                                      \
    if (!copy_pointer(get(driver->instance, #name), &driver->name))                                \
        missing = #name;
    VULKAN_DRIVER_INSTANCE_FUNCTIONS(FILL)
#undef FILL
    if (missing)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the Vulkan loader has no %s; install a newer libvulkan1", missing);
    vk_function *domains = get(driver->instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    if (!domains)
        domains = get(driver->instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR");
    copy_pointer(domains, &driver->vkGetPhysicalDeviceCalibrateableTimeDomainsEXT);
    copy_pointer(get(driver->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"),
                 &driver->vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR);
    return true;
}

static bool create_instance(vk_get_instance_function *get, struct vulkan_driver *driver,
                            struct status *status) {
    vk_result (*create)(const struct vk_instance_create_info *, const void *, vk_instance *) = NULL;
    const struct vk_application_info application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "ridge",
        .pEngineName = "ridge",
        .apiVersion = VULKAN_VERSION_1_3,
    };
    const struct vk_instance_create_info info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
    };
    if (!copy_pointer(get(NULL, "vkCreateInstance"), &create))
        return status_fail(status, STATUS_UNSUPPORTED, "the Vulkan loader has no vkCreateInstance");
    return vulkan_check(create(&info, NULL, &driver->instance), "vkCreateInstance", status) &&
           fill_instance(get, driver, status);
}

static bool load_driver(struct vulkan_driver *driver, struct status *status) {
    vk_get_instance_function *get = NULL;
    void *symbol = library_symbol(library_open(loader_names), "vkGetInstanceProcAddr");
    memcpy(&get, &symbol, sizeof get);
    if (!get)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "no Vulkan on this machine (libvulkan.so.1 was not found); install "
                           "libvulkan1 and your GPU's driver to use vulkan");
    return create_instance(get, driver, status);
}

static void load_machine(void) {
    machine_loaded = load_driver(&machine, &machine_status);
}

bool vulkan_driver(const struct vulkan_driver **driver, struct status *status) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_machine);
    *driver = &machine;
    if (!machine_loaded)
        *status = machine_status;
    return machine_loaded;
}

bool vulkan_calls_fill(const struct vulkan_driver *driver, vk_device device,
                       struct vulkan_calls *calls, struct status *status) {
    const char *missing = NULL;
#define FILL(name, alias, result, parameters)                                                      \
    if (!copy_pointer(driver->vkGetDeviceProcAddr(device, #name), &calls->name))                   \
        missing = #name;
#define FILL_OPTIONAL(name, alias, result, parameters)                                             \
    if (!copy_pointer(driver->vkGetDeviceProcAddr(device, #name), &calls->name))                   \
        copy_pointer(driver->vkGetDeviceProcAddr(device, alias), &calls->name);
    VULKAN_DRIVER_DEVICE_FUNCTIONS(FILL)
    VULKAN_DRIVER_OPTIONAL_FUNCTIONS(FILL_OPTIONAL)
#undef FILL
#undef FILL_OPTIONAL
    return !missing ||
           status_fail(status, STATUS_UNSUPPORTED, "the Vulkan driver has no %s", missing);
}
