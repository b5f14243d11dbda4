/* Loads OpenCL, with or without an ICD loader.
 *
 * Normally the ICD loader (libOpenCL) knows all drivers. Containers often have a driver without a
 * loader, or without the file that registers it. Such a driver is queried for its platform
 * directly. This works because every driver object begins with a pointer to a dispatch table, which
 * the loader uses, too.
 */
#include "abi/opencl_driver.h"

#include <pthread.h>
#include <string.h>

#include "base/array.h"
#include "base/library.h"

typedef cl_int platform_getter(cl_uint, cl_platform_id *, cl_uint *);

static const char *const loader_names[] = {
    "libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL", NULL};
static const char *const driver_names[] = {"libnvidia-opencl.so.1", NULL};
const struct opencl_libraries opencl_libraries = {loader_names, driver_names};

/* The platforms of the ICD loader, if there is one. */
static bool registered_platforms(const struct opencl_driver *driver, cl_platform_id *platforms,
                                 cl_uint *count, struct status *status) {
    cl_int error = driver->clGetPlatformIDs
                       ? driver->clGetPlatformIDs(OPENCL_PLATFORMS_MAX, platforms, count)
                       : CL_PLATFORM_NOT_FOUND_KHR;
    if (error != CL_SUCCESS)
        *count = 0;
    if (*count > OPENCL_PLATFORMS_MAX)
        *count = OPENCL_PLATFORMS_MAX;
    return error == CL_PLATFORM_NOT_FOUND_KHR || opencl_check(error, "clGetPlatformIDs", status);
}

bool opencl_platforms(const struct opencl_driver *driver, cl_platform_id *platforms, cl_uint *count,
                      struct status *status) {
    *count = 0;
    if (!registered_platforms(driver, platforms, count, status))
        return false;
    for (cl_uint i = 0; i < driver->unregistered_count && *count < OPENCL_PLATFORMS_MAX; i++)
        platforms[(*count)++] = driver->unregistered[i];
    return true;
}

static void vendor_of(const struct opencl_driver *driver, cl_platform_id platform,
                      char vendor[128]) {
    memset(vendor, 0, 128);
    driver->clGetPlatformInfo(platform, CL_PLATFORM_VENDOR, 127, vendor, NULL);
}

static bool is_registered(const struct opencl_driver *driver, cl_platform_id platform) {
    cl_platform_id platforms[OPENCL_PLATFORMS_MAX];
    char vendor[128], other[128];
    struct status ignored;
    cl_uint count = 0;
    vendor_of(driver, platform, vendor);
    registered_platforms(driver, platforms, &count, &ignored);
    for (cl_uint i = 0; i < count; i++) {
        vendor_of(driver, platforms[i], other);
        if (strcmp(vendor, other) == 0)
            return true;
    }
    return false;
}

/* Copied as bytes, because ISO C has no conversion from void * to a function pointer. */
static bool copy_pointer(void *function, void *field) {
    memcpy(field, &function, sizeof function);
    return function != NULL;
}

static bool fill_from_library(struct opencl_driver *driver, void *library, const char **missing) {
    *missing = NULL;
#define FILL(place, name, parameters, arguments)                                                   \
    if (!copy_pointer(library_symbol(library, #name), &driver->name) && !*missing)                 \
        *missing = #name;
#define FILL_CREATION(place, type, name, parameters, arguments)                                    \
    FILL(place, name, parameters, arguments)
#define FILL_OPTIONAL(place, name, parameters, arguments)                                          \
    copy_pointer(library_symbol(library, #name), &driver->name);
    OPENCL_CALLS(FILL)
    OPENCL_RELEASES(FILL)
    OPENCL_CREATIONS(FILL_CREATION)
    OPENCL_OPTIONAL_CALLS(FILL_OPTIONAL)
#undef FILL
#undef FILL_CREATION
#undef FILL_OPTIONAL
    return !*missing;
}

/* Without the optional functions: the table of an older OpenCL ends before them. */
static void fill_from_platform(struct opencl_driver *driver, cl_platform_id platform) {
    void *const *functions = *(void *const *const *)platform;
#define FILL(place, name, parameters, arguments) copy_pointer(functions[place], &driver->name);
#define FILL_CREATION(place, type, name, parameters, arguments)                                    \
    copy_pointer(functions[place], &driver->name);
    OPENCL_CALLS(FILL)
    OPENCL_RELEASES(FILL)
    OPENCL_CREATIONS(FILL_CREATION)
#undef FILL
#undef FILL_CREATION
    driver->clGetPlatformIDs = NULL;
}

static platform_getter *platforms_of(const char *library_name) {
    const char *names[] = {library_name, NULL};
    platform_getter *getter = NULL;
    void *(*extension)(const char *) = NULL;
    void *library = library_open(names);
    if (copy_pointer(library_symbol(library, "clIcdGetPlatformIDsKHR"), &getter))
        return getter;
    if (copy_pointer(library_symbol(library, "clGetExtensionFunctionAddress"), &extension))
        copy_pointer(extension("clIcdGetPlatformIDsKHR"), &getter);
    return getter;
}

/* Adds the platforms of a driver's own library, unless the loader has the same vendor's. */
static void add_unregistered(struct opencl_driver *driver, const char *library_name) {
    cl_platform_id platforms[OPENCL_PLATFORMS_MAX];
    cl_uint count = 0;
    platform_getter *getter = platforms_of(library_name);
    if (!getter || getter(OPENCL_PLATFORMS_MAX, platforms, &count) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < count && i < OPENCL_PLATFORMS_MAX; i++) {
        if (!driver->clGetPlatformInfo)
            fill_from_platform(driver, platforms[i]);
        if (!is_registered(driver, platforms[i]) &&
            driver->unregistered_count < OPENCL_PLATFORMS_MAX)
            driver->unregistered[driver->unregistered_count++] = platforms[i];
    }
}

bool opencl_driver_load(const struct opencl_libraries *libraries, struct opencl_driver *driver,
                        struct status *status) {
    const char *missing;
    void *loader = library_open(libraries->loaders);
    memset(driver, 0, sizeof *driver);
    if (loader && !fill_from_library(driver, loader, &missing))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the OpenCL library lacks %s: it is older than OpenCL 1.2; update it to "
                           "use opencl",
                           missing);
    for (const char *const *name = libraries->drivers; *name; name++)
        add_unregistered(driver, *name);
    if (!driver->clGetPlatformInfo)
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "no OpenCL on this machine (libOpenCL.so.1 was not found); install a loader and a "
            "driver, on Debian and Ubuntu ocl-icd-libopencl1 and, for any CPU, pocl-opencl-icd");
    return true;
}

static struct opencl_driver machine;
static struct status machine_status;
static bool machine_loaded;
static const struct opencl_driver *replacement;

static void load_machine(void) {
    machine_loaded = opencl_driver_load(&opencl_libraries, &machine, &machine_status);
}

bool opencl_driver(const struct opencl_driver **driver, struct status *status) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (replacement) {
        *driver = replacement;
        return true;
    }
    pthread_once(&once, load_machine);
    *driver = &machine;
    if (!machine_loaded)
        *status = machine_status;
    return machine_loaded;
}

void opencl_driver_replace(const struct opencl_driver *driver) {
    replacement = driver;
}

const char *opencl_error_name(cl_int error) {
    switch (error) {
#define NAME(name, value)                                                                          \
    case value:                                                                                    \
        return #name;
        OPENCL_ERRORS(NAME)
#undef NAME
    default:
        return "an unknown error";
    }
}

/* What kind of failure an error is, and what can be done about it. */
static const struct {
    cl_int error;
    enum status_code code;
    const char *advice;
} remedies[] = {
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, STATUS_MEMORY, "the device is out of memory"},
    {CL_OUT_OF_HOST_MEMORY, STATUS_MEMORY, "the host is out of memory"},
    {CL_INVALID_BUFFER_SIZE, STATUS_MEMORY, "the device does not support buffers of that size"},
    {CL_OUT_OF_RESOURCES, STATUS_IO,
     "the device ran out of registers, local memory or time, or a kernel accessed memory outside "
     "its buffers; close and reopen the device"},
    {CL_DEVICE_NOT_AVAILABLE, STATUS_IO, "the device is no longer available; close it"},
    {CL_COMPILER_NOT_AVAILABLE, STATUS_UNSUPPORTED, "the driver has no compiler"},
    {CL_MEM_COPY_OVERLAP, STATUS_USAGE, "source and destination overlap"},
    {CL_INVALID_WORK_GROUP_SIZE, STATUS_USAGE, "the block is too large or has the wrong shape"},
    {CL_INVALID_KERNEL_ARGS, STATUS_USAGE, "the launch passes too few parameters"},
    {CL_INVALID_ARG_INDEX, STATUS_USAGE, "the launch passes too many parameters"},
    {CL_INVALID_ARG_SIZE, STATUS_USAGE, "a parameter has the wrong size"},
    {CL_INVALID_KERNEL_NAME, STATUS_INPUT, "the source has no kernel with that name"},
};

bool opencl_check(cl_int error, const char *call, struct status *status) {
    if (error == CL_SUCCESS)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(remedies); i++)
        if (remedies[i].error == error)
            return status_fail(status, remedies[i].code, "%s failed with %s (%d): %s", call,
                               opencl_error_name(error), (int)error, remedies[i].advice);
    return status_fail(status, STATUS_IO, "%s failed with %s (%d)", call, opencl_error_name(error),
                       (int)error);
}
