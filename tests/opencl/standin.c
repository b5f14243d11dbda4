/* A stand-in for libOpenCL.so.1: a loader with layers and a driver in one, for what real drivers do
 * not do on demand. Commands run inside the call that enqueues them; only their times may be later.
 * $STANDIN has words:
 *
 *   refuse    queues with profiling are refused
 *   notimes   events have no times
 *   fails     the device fails every tenth command
 *   timer     clGetDeviceAndHostTimer() works; wrongtimer: it is of another clock than the events
 *   old       a driver of OpenCL 1.2
 *   behind    a command takes 200 us and starts when the one before ends; calls are slow, the first
 *             SLOW_AT_END at their end and the later ones at their beginning
 *   nolayers  a loader without layers
 *   leaks     prints the number of events that are never released
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/opencl.h"
#include "abi/opencl_dispatch.h"

#define EXPORT __attribute__((visibility("default")))

struct _cl_platform_id {
    void *dispatch;
};
struct _cl_device_id {
    void *dispatch;
};
struct _cl_context {
    void *dispatch;
};
struct _cl_program {
    void *dispatch;
};
struct _cl_kernel {
    void *dispatch;
    char name[32];
    cl_mem argument;
};
struct _cl_mem {
    void *dispatch;
    size_t bytes;
    struct destructor {
        void (*call)(cl_mem, void *);
        void *user;
    } destructors[2];
    float data[1024];
};
struct _cl_command_queue {
    void *dispatch;
    cl_bitfield properties;
};
struct _cl_event {
    void *dispatch;
    cl_command_queue queue;
    int references, status;
    cl_ulong queued, start, end;
};

static struct _cl_platform_id platform;
static struct _cl_device_id device;
static unsigned commands;
static unsigned open_events;
static cl_ulong last_end; /* of a device that is behind */
enum { SLOW_AT_END = 1500, COMMAND_NS = 200000 };

static bool has(const char *word) {
    const char *words = getenv("STANDIN");
    return words && strstr(words, word);
}

static cl_ulong device_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (cl_ulong)now.tv_sec * 1000000000 + (cl_ulong)now.tv_nsec - 987654321;
}

static void pause_ns(cl_ulong ns) {
    struct timespec pause = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&pause, NULL);
}

static void be_slow(bool at_end) {
    if (has("behind") && at_end == (commands <= SLOW_AT_END))
        pause_ns(50000);
}

static void wait_for_device(void) {
    for (cl_ulong now; (now = device_time()) < last_end;)
        pause_ns(last_end - now);
}

static void *make(size_t bytes, cl_int *error) {
    if (error)
        *error = CL_SUCCESS;
    return calloc(1, bytes);
}

/* Gives a value of an info query. */
static cl_int give(const void *what, size_t length, size_t bytes, void *value, size_t *needed) {
    if (value && bytes < length)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, what, length);
    if (needed)
        *needed = length;
    return CL_SUCCESS;
}
#define GIVE(object) give(&(object), sizeof(object), bytes, value, needed)
#define GIVE_TEXT(text) give(text, strlen(text) + 1, bytes, value, needed)

/* ---- The driver -------------------------------------------------------------------------- */

/* F(type, name, (parameters), (arguments)) body */
#define INFO (cl_uint) what, (size_t)bytes, value, needed
#define INFO_PARAMETERS cl_uint what, size_t bytes, void *value, size_t *needed

static cl_int driver_clGetPlatformIDs(cl_uint count, cl_platform_id *list, cl_uint *all) {
    if (list && count)
        *list = &platform;
    if (all)
        *all = 1;
    return CL_SUCCESS;
}
static cl_int driver_clGetDeviceIDs(cl_platform_id a, cl_bitfield b, cl_uint count,
                                    cl_device_id *list, cl_uint *all) {
    (void)a, (void)b;
    if (list && count)
        *list = &device;
    if (all)
        *all = 1;
    return CL_SUCCESS;
}
static cl_int driver_clGetDeviceInfo(cl_device_id a, INFO_PARAMETERS) {
    static const cl_bitfield type = CL_DEVICE_TYPE_GPU;
    static const cl_uint units = 7;
    static const cl_platform_id the_platform = &platform;
    (void)a;
    switch (what) {
    case CL_DEVICE_NAME:
        return GIVE_TEXT("Stand-in");
    case CL_DEVICE_VENDOR:
        return GIVE_TEXT("Nobody");
    case CL_DEVICE_VERSION:
        return GIVE_TEXT(has("old") ? "OpenCL 1.2 stand-in" : "OpenCL 3.0 stand-in");
    case CL_DEVICE_TYPE:
        return GIVE(type);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return GIVE(units);
    case CL_DEVICE_PLATFORM:
        return GIVE(the_platform);
    case CL_DEVICE_EXTENSIONS:
        return GIVE_TEXT("cl_khr_suggested_local_work_size_not cl_khr_suggested_local_work_size");
    default:
        return CL_INVALID_VALUE;
    }
}
static cl_context driver_clCreateContext(const cl_context_properties *a, cl_uint b,
                                         const cl_device_id *c, void *d, void *e, cl_int *error) {
    (void)a, (void)b, (void)c, (void)d, (void)e;
    return make(sizeof(struct _cl_context), error);
}
static cl_int driver_clGetContextInfo(cl_context a, INFO_PARAMETERS) {
    cl_device_id only = &device;
    (void)a;
    return what == CL_CONTEXT_DEVICES ? GIVE(only) : CL_INVALID_VALUE;
}
static cl_int driver_clReleaseContext(cl_context context) {
    free(context);
    return CL_SUCCESS;
}
static cl_command_queue driver_clCreateCommandQueue(cl_context a, cl_device_id b,
                                                    cl_bitfield properties, cl_int *error) {
    (void)a, (void)b;
    if (has("refuse") && (properties & CL_QUEUE_PROFILING_ENABLE)) {
        *error = CL_INVALID_QUEUE_PROPERTIES;
        return NULL;
    }
    cl_command_queue queue = make(sizeof *queue, error);
    queue->properties = properties;
    return queue;
}
static cl_int driver_clGetCommandQueueInfo(cl_command_queue queue, INFO_PARAMETERS) {
    static const cl_uint one = 1;
    cl_device_id only = &device;
    switch (what) {
    case CL_QUEUE_PROPERTIES:
        return GIVE(queue->properties);
    case CL_QUEUE_DEVICE:
        return GIVE(only);
    case CL_QUEUE_REFERENCE_COUNT:
        return GIVE(one);
    default:
        return CL_INVALID_VALUE;
    }
}
static cl_int driver_clReleaseCommandQueue(cl_command_queue queue) {
    free(queue);
    return CL_SUCCESS;
}
static cl_mem driver_clCreateBuffer(cl_context a, cl_bitfield b, size_t bytes, void *c,
                                    cl_int *error) {
    (void)a, (void)b, (void)c;
    cl_mem memory = make(sizeof *memory, error);
    memory->bytes = bytes;
    return memory;
}
static cl_int driver_clGetMemObjectInfo(cl_mem memory, INFO_PARAMETERS) {
    return what == CL_MEM_SIZE ? GIVE(memory->bytes) : CL_INVALID_VALUE;
}
static cl_int driver_clSetMemObjectDestructorCallback(cl_mem memory, void (*call)(cl_mem, void *),
                                                      void *user) {
    unsigned at = memory->destructors[0].call != NULL;
    if (memory->destructors[at].call)
        return CL_OUT_OF_HOST_MEMORY;
    memory->destructors[at] = (struct destructor){call, user};
    return CL_SUCCESS;
}
static cl_int driver_clReleaseMemObject(cl_mem memory) {
    for (unsigned i = 2; i-- > 0;)
        if (memory->destructors[i].call)
            memory->destructors[i].call(memory, memory->destructors[i].user);
    free(memory);
    return CL_SUCCESS;
}
static cl_program driver_clCreateProgramWithSource(cl_context a, cl_uint b, const char **c,
                                                   const size_t *d, cl_int *error) {
    (void)a, (void)b, (void)c, (void)d;
    return make(sizeof(struct _cl_program), error);
}
static cl_int driver_clBuildProgram(cl_program a, cl_uint b, const cl_device_id *c, const char *d,
                                    void *e, void *f) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    return CL_SUCCESS;
}
static cl_int driver_clReleaseProgram(cl_program program) {
    free(program);
    return CL_SUCCESS;
}
static cl_kernel driver_clCreateKernel(cl_program a, const char *name, cl_int *error) {
    (void)a;
    cl_kernel kernel = make(sizeof *kernel, error);
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    return kernel;
}
static cl_int driver_clGetKernelInfo(cl_kernel kernel, INFO_PARAMETERS) {
    return what == CL_KERNEL_FUNCTION_NAME ? GIVE_TEXT(kernel->name) : CL_INVALID_VALUE;
}
static cl_int driver_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id a, INFO_PARAMETERS) {
    size_t group[3] = {strcmp(kernel->name, "required") == 0 ? 32 : 0, 1, 1};
    (void)a;
    return what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE ? GIVE(group) : CL_INVALID_VALUE;
}
static cl_int suggest(cl_command_queue a, cl_kernel b, cl_uint dimensions, const size_t *offset,
                      const size_t *global, size_t *group) {
    (void)a, (void)b, (void)offset;
    for (cl_uint i = 0; i < dimensions; i++)
        group[i] = global[i] < 128 ? global[i] : 128;
    return CL_SUCCESS;
}
static void *driver_clGetExtensionFunctionAddressForPlatform(cl_platform_id a, const char *name) {
    (void)a;
    return strcmp(name, "clGetKernelSuggestedLocalWorkSizeKHR") == 0 ? (void *)(uintptr_t)suggest
                                                                     : NULL;
}
static cl_int driver_clSetKernelArg(cl_kernel kernel, cl_uint at, size_t bytes, const void *value) {
    if (at == 0 && bytes == sizeof kernel->argument)
        memcpy(&kernel->argument, value, bytes);
    return CL_SUCCESS;
}
static cl_int driver_clReleaseKernel(cl_kernel kernel) {
    free(kernel);
    return CL_SUCCESS;
}

/* The event of a command that ran from `queued` until now. */
static cl_int complete(cl_command_queue queue, cl_ulong queued, cl_event *made) {
    cl_ulong start = queued + 100, end = device_time();
    commands++;
    if (end <= start) /* a copy of 4 KB may take less than 100 ns */
        end = start + 1;
    if (has("behind")) {
        start = start > last_end ? start : last_end;
        end = last_end = start + COMMAND_NS;
    }
    if (!made)
        return CL_SUCCESS;
    cl_event event = make(sizeof *event, NULL);
    event->queue = queue;
    event->references = 1;
    event->status = has("fails") && commands % 10 == 0 ? -5 : CL_COMPLETE;
    event->queued = queued;
    event->start = start;
    event->end = end;
    open_events++;
    *made = event;
    return CL_SUCCESS;
}
static cl_int driver_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint a,
                                            const size_t *b, const size_t *c, const size_t *d,
                                            cl_uint e, const cl_event *f, cl_event *event) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    be_slow(false);
    cl_ulong queued = device_time();
    for (unsigned i = 0; i < 1024; i++)
        kernel->argument->data[i] =
            strcmp(kernel->name, "triple") == 0     ? kernel->argument->data[i] * 3
            : strcmp(kernel->name, "required") == 0 ? kernel->argument->data[i] + 2
                                                    : kernel->argument->data[i] + 1;
    cl_int result = complete(queue, queued, event);
    be_slow(true);
    return result;
}
static cl_int driver_clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool a, size_t b,
                                         size_t bytes, void *host, cl_uint c, const cl_event *d,
                                         cl_event *event) {
    cl_ulong queued = device_time();
    (void)b, (void)c, (void)d;
    memcpy(host, memory->data, bytes);
    cl_int result = complete(queue, queued, event);
    if (a)
        wait_for_device();
    return result;
}
static cl_int driver_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool a,
                                          size_t b, size_t bytes, const void *host, cl_uint c,
                                          const cl_event *d, cl_event *event) {
    cl_ulong queued = device_time();
    (void)b, (void)c, (void)d;
    memcpy(memory->data, host, bytes);
    cl_int result = complete(queue, queued, event);
    if (a)
        wait_for_device();
    return result;
}
static cl_int driver_clFinish(cl_command_queue a) {
    (void)a;
    wait_for_device();
    return CL_SUCCESS;
}
static cl_int driver_clGetEventInfo(cl_event event, INFO_PARAMETERS) {
    static const cl_int running = 1;
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS)
        return device_time() < event->end ? GIVE(running) : GIVE(event->status);
    return what == CL_EVENT_COMMAND_QUEUE ? GIVE(event->queue) : CL_INVALID_VALUE;
}
static cl_int driver_clGetEventProfilingInfo(cl_event event, INFO_PARAMETERS) {
    if (has("notimes") || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE) ||
        event->status < 0 || device_time() < event->end)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (what == CL_PROFILING_COMMAND_QUEUED)
        return GIVE(event->queued);
    return what == CL_PROFILING_COMMAND_START ? GIVE(event->start) : GIVE(event->end);
}
static cl_int driver_clRetainEvent(cl_event event) {
    event->references++;
    return CL_SUCCESS;
}
static cl_int driver_clReleaseEvent(cl_event event) {
    if (--event->references > 0)
        return CL_SUCCESS;
    open_events--;
    free(event);
    return CL_SUCCESS;
}
static cl_int driver_clGetDeviceAndHostTimer(cl_device_id a, cl_ulong *of_device,
                                             cl_ulong *of_host) {
    (void)a;
    if (has("old")) {
        fprintf(stderr, "a function of OpenCL 2.1 was called\n");
        abort();
    }
    if (!has("timer"))
        return CL_INVALID_OPERATION;
    *of_device = *of_host = device_time() + (has("wrongtimer") ? 5000000000u : 0);
    return CL_SUCCESS;
}

/* ---- The loader -------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                               \
    X(clGetPlatformIDs)                                                                            \
    X(clGetDeviceIDs)                                                                              \
    X(clGetDeviceInfo)                                                                             \
    X(clCreateContext)                                                                             \
    X(clGetContextInfo)                                                                            \
    X(clReleaseContext)                                                                            \
    X(clCreateCommandQueue)                                                                        \
    X(clGetCommandQueueInfo)                                                                       \
    X(clReleaseCommandQueue)                                                                       \
    X(clCreateBuffer)                                                                              \
    X(clGetMemObjectInfo)                                                                          \
    X(clSetMemObjectDestructorCallback)                                                            \
    X(clReleaseMemObject)                                                                          \
    X(clCreateProgramWithSource)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clReleaseProgram)                                                                            \
    X(clCreateKernel)                                                                              \
    X(clGetKernelInfo)                                                                             \
    X(clGetKernelWorkGroupInfo)                                                                    \
    X(clGetExtensionFunctionAddressForPlatform)                                                    \
    X(clSetKernelArg)                                                                              \
    X(clReleaseKernel)                                                                             \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueReadBuffer)                                                                         \
    X(clEnqueueWriteBuffer)                                                                        \
    X(clFinish)                                                                                    \
    X(clGetEventInfo)                                                                              \
    X(clGetEventProfilingInfo)                                                                     \
    X(clRetainEvent)                                                                               \
    X(clReleaseEvent)                                                                              \
    X(clGetDeviceAndHostTimer)

static void *table[OPENCL_DISPATCH_COUNT];

/* As Khronos' loader does: a missing entry of a layer is that of the table below it. */
static void add_layer(const char *path) {
    static void *below[OPENCL_DISPATCH_COUNT];
    void *layer = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    cl_int (*init)(cl_uint, const void *, cl_uint *, const void **) =
        layer ? (__typeof__(init))dlsym(layer, "clInitLayer") : NULL;
    cl_int (*info)(cl_uint, size_t, void *, size_t *) =
        layer ? (__typeof__(info))dlsym(layer, "clGetLayerInfo") : NULL;
    cl_uint version = 0, count = 0;
    const void *theirs = NULL;
    memcpy(below, table, sizeof table);
    if (!init || !info || info(0x4240, sizeof version, &version, NULL) != CL_SUCCESS ||
        version != 100 || init(OPENCL_DISPATCH_COUNT, below, &count, &theirs) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < count && i < OPENCL_DISPATCH_COUNT; i++)
        if (((void *const *)theirs)[i])
            table[i] = ((void *const *)theirs)[i];
}

static void fill_table(void) {
#define FILL(name) table[OPENCL_AT_##name] = (void *)(uintptr_t)driver_##name;
    FUNCTIONS(FILL)
    char *layers = getenv("OPENCL_LAYERS");
    if (!layers || has("nolayers"))
        return;
    layers = strdup(layers);
    for (char *rest = layers, *path; (path = strsep(&rest, ":"));)
        if (*path)
            add_layer(path);
    free(layers);
}

static void *entry(unsigned index) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_table);
    return table[index];
}

/* A trampoline for any parameters: all are integers or pointers. */
#define TRAMPOLINE(name)                                                                           \
    EXPORT uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,         \
                          uintptr_t f, uintptr_t g, uintptr_t h, uintptr_t i);                     \
    uintptr_t name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f,   \
                   uintptr_t g, uintptr_t h, uintptr_t i) {                                        \
        uintptr_t (*to)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,          \
                        uintptr_t, uintptr_t, uintptr_t) =                                         \
            (__typeof__(to))entry(OPENCL_AT_##name);                                               \
        return to(a, b, c, d, e, f, g, h, i);                                                      \
    }
FUNCTIONS(TRAMPOLINE)

__attribute__((destructor)) static void report(void) {
    if (has("leaks"))
        fprintf(stderr, "%u events are open\n", open_events);
}
