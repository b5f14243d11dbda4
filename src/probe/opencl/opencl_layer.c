/* The entry points of an OpenCL layer, and the functions that it replaces.
 *
 * A layer states version 1.0 of the interface: every loader with layers accepts it, and a layer of
 * version 2.0 is refused by ocl-icd. The later version adds a function that releases the layer's
 * resources, of which there are none: the library is never unloaded.
 *
 * Loaders copy a layer's table and take a missing entry from the table below it, so only replaced
 * functions are set.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/library.h"
#include "probe/opencl/opencl.h"

#define EXPORT __attribute__((visibility("default")))

/* CL/cl_layer.h */
enum { CL_LAYER_API_VERSION = 0x4240, CL_LAYER_NAME = 0x4241, CL_LAYER_API_VERSION_100 = 100 };

EXPORT cl_int clGetLayerInfo(cl_uint what, size_t bytes, void *value, size_t *bytes_needed);
EXPORT cl_int clInitLayer(cl_uint count, const void *next, cl_uint *our_count, const void **ours);

struct probe *opencl_probe;
void *opencl_next[OPENCL_DISPATCH_COUNT];
_Atomic(void *) opencl_extension_next[OPENCL_EXTENSION_COUNT];
static void *table[OPENCL_DISPATCH_COUNT];

static cl_int give(const void *what, size_t length, size_t bytes, void *value,
                   size_t *bytes_needed) {
    if (value && bytes < length)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, what, length);
    if (bytes_needed)
        *bytes_needed = length;
    return CL_SUCCESS;
}

cl_int clGetLayerInfo(cl_uint what, size_t bytes, void *value, size_t *bytes_needed) {
    static const cl_uint version = CL_LAYER_API_VERSION_100;
    static const char name[] = "ridge";
    if (what == CL_LAYER_API_VERSION)
        return give(&version, sizeof version, bytes, value, bytes_needed);
    if (what == CL_LAYER_NAME)
        return give(name, sizeof name, bytes, value, bytes_needed);
    return CL_INVALID_VALUE;
}

/* ---- Extensions -------------------------------------------------------------------------- */

static const struct opencl_hook *find_extension(const char *name) {
    static const struct opencl_hook *const lists[] = {
        opencl_command_extensions, opencl_queue_extensions, opencl_memory_extensions};
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        for (const struct opencl_hook *hook = lists[i]; hook->ours; hook++)
            if (strcmp(hook->name, name) == 0)
                return hook;
    return NULL;
}

/* Each platform has its own functions. The layer can pass a call on to those of one platform, so
 * the functions of a second one are not replaced. */
static void *replace_extension(const char *name, void *theirs) {
    const struct opencl_hook *hook = theirs && name ? find_extension(name) : NULL;
    void *none = NULL;
    if (!hook)
        return theirs;
    if (atomic_compare_exchange_strong(&opencl_extension_next[hook->index], &none, theirs) ||
        none == theirs)
        return hook->ours;
    return theirs;
}

static void *our_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                          const char *name) {
    void *theirs = OPENCL_NEXT(our_clGetExtensionFunctionAddressForPlatform,
                               clGetExtensionFunctionAddressForPlatform)(platform, name);
    return replace_extension(name, theirs);
}

static void *our_clGetExtensionFunctionAddress(const char *name) {
    void *theirs =
        OPENCL_NEXT(our_clGetExtensionFunctionAddress, clGetExtensionFunctionAddress)(name);
    return replace_extension(name, theirs);
}

static const struct opencl_hook extension_hooks[] = {
    OPENCL_HOOK(clGetExtensionFunctionAddressForPlatform),
    OPENCL_HOOK(clGetExtensionFunctionAddress),
    {0},
};

/* ---- The table --------------------------------------------------------------------------- */

static void replace(const struct opencl_hook *hooks) {
    for (; hooks->ours; hooks++)
        if (opencl_next[hooks->index])
            table[hooks->index] = hooks->ours;
}

/* The loader stays loaded with the probe: a program that unloads it would also unload the drivers,
 * whose events the probe may still hold. */
static void keep_loader(void) {
    const char *path = library_path(opencl_next[0]);
    if (*path)
        dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static bool start(cl_uint count, const void *next) {
    opencl_probe = probe_start();
    if (!opencl_probe || !opencl_probe->options.opencl)
        return false;
    memcpy(opencl_next, next,
           sizeof *opencl_next * (count < OPENCL_DISPATCH_COUNT ? count : OPENCL_DISPATCH_COUNT));
    keep_loader();
    replace(opencl_command_hooks);
    replace(opencl_call_hooks);
    replace(opencl_queue_hooks);
    replace(opencl_memory_hooks);
    replace(extension_hooks);
    struct probe_thread *thread = probe_enter();
    if (thread) {
        probe_put_meta(thread, "opencl.recorded", TEXT("1"));
        probe_leave(thread);
    }
    return true;
}

/* A program may load two loaders: the second gets no layer. */
cl_int clInitLayer(cl_uint count, const void *next, cl_uint *our_count, const void **ours) {
    static _Atomic bool started;
    int error = errno;
    if (!next || !our_count || !ours)
        return CL_INVALID_VALUE;
    bool ok = !atomic_exchange(&started, true) && start(count, next);
    errno = error;
    if (!ok)
        return CL_INVALID_OPERATION;
    *our_count = count < OPENCL_DISPATCH_COUNT ? count : OPENCL_DISPATCH_COUNT;
    *ours = table;
    return CL_SUCCESS;
}

/* ---- Queries ----------------------------------------------------------------------------- */

typedef cl_int device_query(cl_device_id, cl_uint, size_t, void *, size_t *);
typedef cl_int queue_query(cl_command_queue, cl_uint, size_t, void *, size_t *);
typedef cl_int event_query(cl_event, cl_uint, size_t, void *, size_t *);

cl_int opencl_device_info(cl_device_id device, cl_uint what, size_t bytes, void *value) {
    device_query *query = (device_query *)(uintptr_t)opencl_next[OPENCL_AT_clGetDeviceInfo];
    return query(device, what, bytes, value, NULL);
}

cl_int opencl_queue_info(cl_command_queue queue, cl_uint what, size_t bytes, void *value) {
    queue_query *query = (queue_query *)(uintptr_t)opencl_next[OPENCL_AT_clGetCommandQueueInfo];
    return query(queue, what, bytes, value, NULL);
}

cl_int opencl_event_info(cl_event event, cl_uint what, size_t bytes, void *value) {
    event_query *query = (event_query *)(uintptr_t)opencl_next[OPENCL_AT_clGetEventInfo];
    return query(event, what, bytes, value, NULL);
}
