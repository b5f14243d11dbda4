/* Devices and queues. A queue is created with profiling enabled; what the program asked for is kept
 * beside it, and the functions that would show the difference answer from there.
 *
 * Queues are found by handle in a table that is read without a lock.
 */
#include <stdio.h>
#include <string.h>

#include "probe/opencl/opencl.h"
#include "spool/lock.h"

/* ---- Devices ----------------------------------------------------------------------------- */

/* Entries are complete before device_count is raised. */
static struct opencl_device devices[OPENCL_DEVICES];
static _Atomic uint32_t device_count;
static _Atomic uint32_t device_lock;

static uint32_t query_u32(cl_device_id device, cl_uint what) {
    cl_uint value = 0;
    return opencl_device_info(device, what, sizeof value, &value) == CL_SUCCESS ? value : 0;
}

static uint64_t query_u64(cl_device_id device, cl_uint what) {
    cl_ulong value = 0;
    return opencl_device_info(device, what, sizeof value, &value) == CL_SUCCESS ? value : 0;
}

static void query_text(cl_device_id device, cl_uint what, char *text, size_t bytes) {
    char whole[1024] = "";
    if (opencl_device_info(device, what, sizeof whole, whole) != CL_SUCCESS)
        whole[0] = 0;
    whole[sizeof whole - 1] = 0;
    snprintf(text, bytes, "%.*s", (int)bytes - 1, whole);
}

/* clGetDeviceAndHostTimer() is of OpenCL 2.1; the tables of older drivers end before it. */
static bool has_timer(cl_device_id device) {
    char version[256];
    unsigned major = 0, minor = 0;
    cl_ulong of_device, of_host;
    cl_int (*read)(cl_device_id, cl_ulong *, cl_ulong *) =
        (__typeof__(read))(uintptr_t)opencl_next[OPENCL_AT_clGetDeviceAndHostTimer];
    query_text(device, CL_DEVICE_VERSION, version, sizeof version);
    return read && sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 &&
           (major > 2 || (major == 2 && minor >= 1)) &&
           read(device, &of_device, &of_host) == CL_SUCCESS;
}

/* Command buffers of some drivers do not work on queues with profiling. */
static bool allows_profiling(cl_device_id device) {
    enum { CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR = 0x129A };
    cl_bitfield supported = 0;
    return opencl_device_info(device, CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR,
                              sizeof supported, &supported) != CL_SUCCESS ||
           (supported & CL_QUEUE_PROFILING_ENABLE);
}

/* With the lock. */
static bool has_extension(cl_device_id device, const char *name) {
    static char list[1 << 15];
    const char *at = list;
    size_t length = strlen(name);
    if (opencl_device_info(device, CL_DEVICE_EXTENSIONS, sizeof list - 1, list) != CL_SUCCESS)
        return false;
    while ((at = strstr(at, name)) && at[length] && at[length] != ' ')
        at += length;
    return at != NULL;
}

static void *find_suggest(cl_device_id device) {
    void *(*find)(cl_platform_id, const char *) = (__typeof__(find))(uintptr_t)
        opencl_next[OPENCL_AT_clGetExtensionFunctionAddressForPlatform];
    cl_platform_id platform = NULL;
    return find && has_extension(device, "cl_khr_suggested_local_work_size") &&
                   opencl_device_info(device, CL_DEVICE_PLATFORM, sizeof platform, &platform) ==
                       CL_SUCCESS
               ? find(platform, "clGetKernelSuggestedLocalWorkSizeKHR")
               : NULL;
}

static void describe(struct opencl_device *device, cl_device_id handle, uint32_t number) {
    struct spool_device *to = &device->description;
    device->handle = handle;
    to->index = SPOOL_DEVICES_OPENCL + number;
    to->multiprocessors = query_u32(handle, CL_DEVICE_MAX_COMPUTE_UNITS);
    to->clock_khz = query_u32(handle, CL_DEVICE_MAX_CLOCK_FREQUENCY) * 1000;
    to->major = query_u32(handle, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
    to->minor = query_u32(handle, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV);
    to->warp = query_u32(handle, CL_DEVICE_WARP_SIZE_NV);
    if (!to->warp)
        to->warp = query_u32(handle, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
    to->memory_bytes = query_u64(handle, CL_DEVICE_GLOBAL_MEM_SIZE);
    if (opencl_device_info(handle, CL_DEVICE_UUID_KHR, sizeof to->uuid, to->uuid) != CL_SUCCESS)
        memset(to->uuid, 0, sizeof to->uuid);
    query_text(handle, CL_DEVICE_NAME, device->name, sizeof device->name);
    query_text(handle, CL_DEVICE_VENDOR, device->vendor, sizeof device->vendor);
    device->is_cpu = query_u64(handle, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
    to->is_cpu = device->is_cpu;
    device->has_timer = has_timer(handle);
    device->profiles = allows_profiling(handle);
    device->suggest = (__typeof__(device->suggest))(uintptr_t)find_suggest(handle);
}

static struct opencl_device *find_device(cl_device_id handle) {
    uint32_t count = atomic_load_explicit(&device_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (devices[i].handle == handle)
            return &devices[i];
    return NULL;
}

struct opencl_device *opencl_find_device(cl_device_id handle) {
    cl_device_id parent;
    while (opencl_device_info(handle, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent) ==
               CL_SUCCESS &&
           parent)
        handle = parent;
    struct opencl_device *device = find_device(handle);
    if (device || !lock_acquire(&device_lock))
        return device;
    uint32_t number = atomic_load(&device_count);
    device = find_device(handle);
    if (!device && number < OPENCL_DEVICES) {
        device = &devices[number];
        describe(device, handle, number);
        atomic_store_explicit(&device_count, number + 1, memory_order_release);
    }
    lock_release(&device_lock);
    return device;
}

struct opencl_device *opencl_context_device(cl_context context) {
    cl_int (*query)(cl_context, cl_uint, size_t, void *, size_t *) =
        (__typeof__(query))(uintptr_t)opencl_next[OPENCL_AT_clGetContextInfo];
    cl_device_id list[OPENCL_DEVICES];
    size_t bytes = 0;
    if (query(context, CL_CONTEXT_DEVICES, sizeof list, list, &bytes) != CL_SUCCESS ||
        bytes < sizeof *list)
        return NULL;
    return opencl_find_device(list[0]);
}

struct opencl_device *opencl_device_at(uint32_t number) {
    return number < atomic_load(&device_count) ? &devices[number] : NULL;
}

void opencl_devices_reset(void) {
    for (uint32_t i = 0; i < atomic_load(&device_count); i++)
        devices[i].announced = false;
}

bool opencl_announce(struct spool_lane *lane, const struct opencl_device *device) {
    uint32_t name = spool_text(lane, text_of(device->name));
    uint32_t vendor = spool_text(lane, text_of(device->vendor));
    struct spool_device *record = spool_begin(lane, SPOOL_DEVICE, name, sizeof *record);
    if (!record)
        return false;
    struct spool_head head = record->head;
    *record = device->description;
    record->head = head;
    record->vendor = vendor;
    spool_publish(lane);
    return true;
}

/* ---- Queues ------------------------------------------------------------------------------ */

enum { QUEUES = 4096, PROPERTIES = 32 /* words of a list */ };

/* What the program asked for. */
struct asked {
    bool profiling;
    bool has_list; /* created with a list of properties, which may be empty */
    uint32_t words;
    cl_queue_properties list[PROPERTIES];
};

/* Open addressing. A handle is set after the rest of its entry; REMOVED stays in a chain. */
#define REMOVED ((cl_command_queue)(uintptr_t)1)
static struct queue_slot {
    _Atomic(cl_command_queue) handle;
    struct opencl_queue queue;
    struct asked asked;
} slots[QUEUES];
static _Atomic uint32_t slots_lock, slots_used;
static _Atomic uint32_t last_stream;

static struct queue_slot *slot_at(cl_command_queue handle, uint32_t step) {
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u >> 32;
    return &slots[(hash + step) % QUEUES];
}

static struct queue_slot *known_queue(cl_command_queue handle) {
    for (uint32_t i = 0; handle && i < QUEUES; i++) {
        struct queue_slot *slot = slot_at(handle, i);
        cl_command_queue there = atomic_load_explicit(&slot->handle, memory_order_acquire);
        if (there == handle || !there)
            return there ? slot : NULL;
    }
    return NULL;
}

/* An entry for a queue; with the lock. */
static struct queue_slot *free_slot(cl_command_queue handle) {
    for (uint32_t i = 0; i < QUEUES; i++) {
        struct queue_slot *slot = slot_at(handle, i);
        cl_command_queue there = atomic_load(&slot->handle);
        if (!there || there == REMOVED)
            return slot;
    }
    return NULL;
}

static struct opencl_queue describe_queue(cl_command_queue handle) {
    cl_device_id device = NULL;
    cl_bitfield properties = 0;
    struct opencl_queue queue = {0};
    if (opencl_queue_info(handle, CL_QUEUE_DEVICE, sizeof device, &device) != CL_SUCCESS ||
        opencl_queue_info(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties) !=
            CL_SUCCESS)
        return queue;
    queue.device = opencl_find_device(device);
    queue.timed = queue.device && (properties & CL_QUEUE_PROFILING_ENABLE);
    queue.out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    queue.stream = atomic_fetch_add(&last_stream, 1) + 1;
    return queue;
}

static void keep_queue(cl_command_queue handle, const struct asked *asked) {
    struct opencl_queue queue = describe_queue(handle);
    if (!lock_acquire(&slots_lock))
        return;
    struct queue_slot *known = known_queue(handle), *slot = known ? known : free_slot(handle);
    if (slot) {
        slot->queue = queue;
        slot->asked = *asked;
        atomic_fetch_add(&slots_used, !known);
        atomic_store_explicit(&slot->handle, handle, memory_order_release);
    }
    lock_release(&slots_lock);
    opencl_events_start();
}

static void forget_queue(cl_command_queue handle) {
    if (!lock_acquire(&slots_lock))
        return;
    struct queue_slot *slot = known_queue(handle);
    if (slot) {
        atomic_store(&slot->handle, REMOVED);
        atomic_fetch_sub(&slots_used, 1);
    }
    lock_release(&slots_lock);
}

struct opencl_queue opencl_find_queue(cl_command_queue handle) {
    const struct queue_slot *slot = known_queue(handle);
    return slot ? slot->queue : (struct opencl_queue){0};
}

/* ---- Creating queues --------------------------------------------------------------------- */

/* A queue is changed only if there is an entry to remember it. */
static bool wants_times(cl_device_id handle) {
    const struct opencl_device *device =
        handle && atomic_load(&slots_used) < QUEUES / 2 ? opencl_find_device(handle) : NULL;
    return device && device->profiles;
}

static cl_command_queue our_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                 cl_bitfield properties, cl_int *error) {
    __typeof__(&our_clCreateCommandQueue) theirs =
        OPENCL_NEXT(our_clCreateCommandQueue, clCreateCommandQueue);
    struct opencl_host_call call = opencl_call_begin();
    struct asked asked = {.profiling = properties & CL_QUEUE_PROFILING_ENABLE};
    cl_command_queue queue = NULL;
    cl_int result = CL_SUCCESS;
    if (!asked.profiling && wants_times(device))
        queue = theirs(context, device, properties | CL_QUEUE_PROFILING_ENABLE, &result);
    if (!queue)
        queue = theirs(context, device, properties, &result);
    if (queue)
        keep_queue(queue, &asked);
    if (error)
        *error = result;
    opencl_call_end(&call, "clCreateCommandQueue", CALL_OTHER, result);
    return queue;
}

/* The list with profiling enabled. False: it is too long or describes a queue on the device. */
static bool add_profiling(struct asked *asked, const cl_queue_properties *list,
                          cl_queue_properties changed[PROPERTIES + 2]) {
    bool found = false;
    uint32_t at = 0;
    asked->has_list = true;
    for (; list && list[at]; at += 2) {
        if (at + 3 > PROPERTIES)
            return false;
        changed[at] = list[at];
        changed[at + 1] = list[at + 1];
        if (list[at] != CL_QUEUE_PROPERTIES)
            continue;
        if (list[at + 1] & CL_QUEUE_ON_DEVICE)
            return false;
        asked->profiling = list[at + 1] & CL_QUEUE_PROFILING_ENABLE;
        changed[at + 1] |= CL_QUEUE_PROFILING_ENABLE;
        found = true;
    }
    asked->words = list ? at + 1 : 0;
    if (list)
        memcpy(asked->list, list, asked->words * sizeof *list);
    if (!found) {
        changed[at++] = CL_QUEUE_PROPERTIES;
        changed[at++] = CL_QUEUE_PROFILING_ENABLE;
    }
    changed[at] = 0;
    return !asked->profiling;
}

typedef cl_command_queue create_queue(cl_context, cl_device_id, const cl_queue_properties *,
                                      cl_int *);

static cl_command_queue create_with_list(create_queue *theirs, const char *name, cl_context context,
                                         cl_device_id device, const cl_queue_properties *list,
                                         cl_int *error) {
    struct opencl_host_call call = opencl_call_begin();
    struct asked asked = {0};
    cl_queue_properties changed[PROPERTIES + 2];
    cl_command_queue queue = NULL;
    cl_int result = CL_SUCCESS;
    if (add_profiling(&asked, list, changed) && wants_times(device))
        queue = theirs(context, device, changed, &result);
    if (!queue) {
        asked.has_list = false; /* the driver knows it */
        queue = theirs(context, device, list, &result);
    }
    if (queue)
        keep_queue(queue, &asked);
    if (error)
        *error = result;
    opencl_call_end(&call, name, CALL_OTHER, result);
    return queue;
}

static cl_command_queue our_clCreateCommandQueueWithProperties(cl_context context,
                                                               cl_device_id device,
                                                               const cl_queue_properties *list,
                                                               cl_int *error) {
    return create_with_list(
        OPENCL_NEXT(our_clCreateCommandQueueWithProperties, clCreateCommandQueueWithProperties),
        "clCreateCommandQueueWithProperties", context, device, list, error);
}

static cl_command_queue our_clCreateCommandQueueWithPropertiesKHR(cl_context context,
                                                                  cl_device_id device,
                                                                  const cl_queue_properties *list,
                                                                  cl_int *error) {
    return create_with_list(OPENCL_EXTENSION_NEXT(our_clCreateCommandQueueWithPropertiesKHR,
                                                  clCreateCommandQueueWithPropertiesKHR),
                            "clCreateCommandQueueWithPropertiesKHR", context, device, list, error);
}

/* ---- What the program sees --------------------------------------------------------------- */

/* The queue that the program asked for, if the probe has changed it. */
static const struct asked *changed_queue(cl_command_queue handle) {
    const struct queue_slot *slot = known_queue(handle);
    return slot && slot->queue.timed && !slot->asked.profiling ? &slot->asked : NULL;
}

static cl_int our_clGetCommandQueueInfo(cl_command_queue queue, cl_uint what, size_t bytes,
                                        void *value, size_t *needed) {
    __typeof__(&our_clGetCommandQueueInfo) theirs =
        OPENCL_NEXT(our_clGetCommandQueueInfo, clGetCommandQueueInfo);
    const struct asked *asked = changed_queue(queue);
    size_t length = asked ? asked->words * sizeof *asked->list : 0;
    if (asked && what == CL_QUEUE_PROPERTIES_ARRAY && asked->has_list) {
        cl_int result = theirs(queue, what, 0, NULL, NULL);
        if (result != CL_SUCCESS || (value && bytes < length))
            return result != CL_SUCCESS ? result : CL_INVALID_VALUE;
        if (value)
            memcpy(value, asked->list, length);
        if (needed)
            *needed = length;
        return CL_SUCCESS;
    }
    cl_int result = theirs(queue, what, bytes, value, needed);
    if (asked && what == CL_QUEUE_PROPERTIES && result == CL_SUCCESS && value &&
        bytes >= sizeof(cl_bitfield))
        *(cl_bitfield *)value &= ~(cl_bitfield)CL_QUEUE_PROFILING_ENABLE;
    return result;
}

/* A function of OpenCL 1.0, which most drivers refuse. */
static cl_int our_clSetCommandQueueProperty(cl_command_queue queue, cl_bitfield properties,
                                            cl_bool enable, cl_bitfield *before) {
    struct queue_slot *slot = known_queue(queue);
    bool concerns = slot && slot->queue.timed && (properties & CL_QUEUE_PROFILING_ENABLE);
    cl_bitfield passed =
        concerns && !enable ? properties & ~(cl_bitfield)CL_QUEUE_PROFILING_ENABLE : properties;
    cl_int result = OPENCL_NEXT(our_clSetCommandQueueProperty,
                                clSetCommandQueueProperty)(queue, passed, enable, before);
    if (result != CL_SUCCESS)
        return result;
    if (slot && slot->queue.timed && before && !slot->asked.profiling)
        *before &= ~(cl_bitfield)CL_QUEUE_PROFILING_ENABLE;
    if (concerns)
        slot->asked.profiling = enable;
    return result;
}

static cl_int our_clGetEventProfilingInfo(cl_event event, cl_uint what, size_t bytes, void *value,
                                          size_t *needed) {
    cl_command_queue queue = NULL;
    if (event &&
        opencl_event_info(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue) == CL_SUCCESS &&
        changed_queue(queue))
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return OPENCL_NEXT(our_clGetEventProfilingInfo, clGetEventProfilingInfo)(event, what, bytes,
                                                                             value, needed);
}

/* The driver may forget a queue's events with it. */
static cl_int our_clReleaseCommandQueue(cl_command_queue queue) {
    struct opencl_host_call call = opencl_call_begin();
    cl_uint references = 0;
    opencl_events_collect();
    if (known_queue(queue) &&
        opencl_queue_info(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references) ==
            CL_SUCCESS &&
        references == 1)
        forget_queue(queue);
    cl_int result = OPENCL_NEXT(our_clReleaseCommandQueue, clReleaseCommandQueue)(queue);
    opencl_call_end(&call, "clReleaseCommandQueue", CALL_OTHER, result);
    return result;
}

const struct opencl_hook opencl_queue_hooks[] = {
    OPENCL_HOOK(clCreateCommandQueue),
    OPENCL_HOOK(clCreateCommandQueueWithProperties),
    OPENCL_HOOK(clGetCommandQueueInfo),
    OPENCL_HOOK(clSetCommandQueueProperty),
    OPENCL_HOOK(clGetEventProfilingInfo),
    OPENCL_HOOK(clReleaseCommandQueue),
    {0},
};

const struct opencl_hook opencl_queue_extensions[] = {
    OPENCL_EXTENSION_HOOK(clCreateCommandQueueWithPropertiesKHR),
    {0},
};
