/* The driver of fake_opencl.h. Kernels are not run: a launch writes its first scalar where its
 * first buffer points, so that a test sees that it happened and with what. */
#include "fake_opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

struct fake_opencl fake_opencl;

/* Every object of every type; what OpenCL calls a cl_mem is one of these. */
struct object {
    int references;
    struct object *uses; /* kept alive by this one */
    unsigned char *bytes;
    size_t size;
    bool profiling, resident;
    int64_t start, end;
    size_t argument_sizes[32];
    unsigned char arguments[32][64];
    unsigned argument_count;
};

static struct object platforms[2], devices[FAKE_DEVICES];

static void *create(struct object *uses, size_t size) {
    struct object *object = calloc(1, sizeof *object);
    object->references = 1;
    object->uses = uses;
    object->bytes = calloc(1, size + 1);
    object->size = size;
    if (uses)
        uses->references++;
    fake_opencl.live++;
    return object;
}

static cl_int release(void *pointer) {
    struct object *object = pointer;
    if (--object->references > 0)
        return CL_SUCCESS;
    struct object *uses = object->uses;
    if (object->resident)
        fake_opencl.used -= object->size;
    free(object->bytes);
    free(object);
    fake_opencl.live--;
    return uses ? release(uses) : CL_SUCCESS;
}

static int64_t device_now(void) {
    return clock_now() + FAKE_CLOCK_AHEAD;
}

static cl_int answer(const void *from, size_t size, size_t capacity, void *to, size_t *needed) {
    if (needed)
        *needed = size;
    if (to && capacity < size)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, from, size);
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t capacity, void *to, size_t *needed) {
    return answer(text, strlen(text) + 1, capacity, to, needed);
}

static cl_int fake_clGetPlatformIDs(cl_uint capacity, cl_platform_id *to, cl_uint *count) {
    if (fake_opencl.empty)
        return CL_PLATFORM_NOT_FOUND_KHR;
    for (cl_uint i = 0; to && i < 2 && i < capacity; i++)
        to[i] = (cl_platform_id)&platforms[i];
    if (count)
        *count = 2;
    return CL_SUCCESS;
}

static cl_int fake_clGetPlatformInfo(cl_platform_id platform, cl_uint what, size_t capacity,
                                     void *to, size_t *needed) {
    (void)what;
    return answer_text((struct object *)platform == &platforms[0] ? "First" : "Second", capacity,
                       to, needed);
}

/* The first platform has a CPU and the old board, the second a GPU. */
static cl_int fake_clGetDeviceIDs(cl_platform_id platform, cl_bitfield type, cl_uint capacity,
                                  cl_device_id *to, cl_uint *count) {
    bool first = (struct object *)platform == &platforms[0];
    int device = first && type == CL_DEVICE_TYPE_CPU           ? FAKE_CPU
                 : first && type == CL_DEVICE_TYPE_ACCELERATOR ? FAKE_OLD
                 : !first && type == CL_DEVICE_TYPE_GPU        ? FAKE_GPU
                                                               : -1;
    if (device < 0)
        return CL_DEVICE_NOT_FOUND;
    if (to && capacity > 0)
        *to = (cl_device_id)&devices[device];
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static cl_int device_text(int device, cl_uint what, size_t capacity, void *to, size_t *needed) {
    static const char *const names[] = {"  Fake   GPU ", "Old Board", "Fake CPU"};
    switch (what) {
    case CL_DEVICE_NAME:
        return answer_text(names[device], capacity, to, needed);
    case CL_DEVICE_VENDOR:
        return answer_text("Nobody", capacity, to, needed);
    case CL_DRIVER_VERSION:
        return answer_text("7.5", capacity, to, needed);
    case CL_DEVICE_VERSION:
        return answer_text(device == FAKE_OLD ? "OpenCL 1.1 fake" : "OpenCL 3.0 fake", capacity, to,
                           needed);
    default:
        return answer_text(device == FAKE_GPU ? "cl_nv_device_attribute_query cl_khr_fp16"
                                              : "cl_khr_fp16_like",
                           capacity, to, needed);
    }
}

static cl_int fake_clGetDeviceInfo(cl_device_id id, cl_uint what, size_t capacity, void *to,
                                   size_t *needed) {
    int device = (int)((struct object *)id - devices);
    cl_ulong value = 0;
    switch (what) {
    case CL_DEVICE_NAME:
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
    case CL_DEVICE_VERSION:
    case CL_DEVICE_EXTENSIONS:
        return device_text(device, what, capacity, to, needed);
    case CL_DEVICE_TYPE:
        value = device == FAKE_GPU ? CL_DEVICE_TYPE_GPU : CL_DEVICE_TYPE_CPU;
        break;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        value = FAKE_MEMORY;
        break;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        value = FAKE_ALLOCATION_MAX;
        break;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        value = 256;
        break;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        value = 1024;
        break;
    case CL_DEVICE_WARP_SIZE_NV:
        value = 32;
        break;
    case CL_DEVICE_LOCAL_MEM_SIZE:
        value = 49152;
        break;
    default: /* counts and flags */
        value = 1;
    }
    /* little-endian, as are all machines that ridge supports: the first bytes are the value */
    return answer(&value, capacity < sizeof value ? capacity : sizeof value, capacity, to, needed);
}

static cl_context fake_clCreateContext(const cl_context_properties *properties, cl_uint count,
                                       const cl_device_id *ids,
                                       void (*notify)(const char *, const void *, size_t, void *),
                                       void *data, cl_int *error) {
    (void)properties, (void)count, (void)ids, (void)notify, (void)data;
    *error = CL_SUCCESS;
    return create(NULL, 0);
}

static cl_command_queue fake_clCreateCommandQueue(cl_context context, cl_device_id id,
                                                  cl_bitfield properties, cl_int *error) {
    (void)id;
    struct object *queue = create((struct object *)context, 0);
    queue->profiling = properties & CL_QUEUE_PROFILING_ENABLE;
    fake_opencl.profiling_queues += queue->profiling;
    *error = CL_SUCCESS;
    return (cl_command_queue)queue;
}

/* As real drivers do, without looking whether there is room. */
static cl_mem fake_clCreateBuffer(cl_context context, cl_bitfield flags, size_t size, void *host,
                                  cl_int *error) {
    (void)flags, (void)host;
    *error = size > FAKE_ALLOCATION_MAX ? CL_INVALID_BUFFER_SIZE : CL_SUCCESS;
    return *error ? NULL : create((struct object *)context, size);
}

static cl_program fake_clCreateProgramWithSource(cl_context context, cl_uint count,
                                                 const char **texts, const size_t *lengths,
                                                 cl_int *error) {
    struct object *program = create((struct object *)context, lengths[0]);
    memcpy(program->bytes, texts[0], lengths[0]);
    fake_opencl.sources += count;
    *error = CL_SUCCESS;
    return (cl_program)program;
}

static cl_program fake_clCreateProgramWithBinary(cl_context context, cl_uint count,
                                                 const cl_device_id *ids, const size_t *lengths,
                                                 const unsigned char **binaries, cl_int *taken,
                                                 cl_int *error) {
    (void)count, (void)ids;
    *error = *taken = fake_opencl.bad_binaries ? CL_INVALID_BINARY : CL_SUCCESS;
    if (*error)
        return NULL;
    struct object *program = create((struct object *)context, lengths[0]);
    memcpy(program->bytes, binaries[0], lengths[0]);
    fake_opencl.binaries++;
    return (cl_program)program;
}

static cl_int fake_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
                                  const char *options, void (*notify)(cl_program, void *),
                                  void *data) {
    (void)count, (void)ids, (void)notify, (void)data;
    if (!strstr(options, "-cl-std=CL"))
        return CL_INVALID_BUILD_OPTIONS;
    return strstr((char *)((struct object *)program)->bytes, "#error") ? CL_BUILD_PROGRAM_FAILURE
                                                                       : CL_SUCCESS;
}

static cl_int fake_clGetProgramInfo(cl_program id, cl_uint what, size_t capacity, void *to,
                                    size_t *needed) {
    struct object *program = (struct object *)id;
    if (what == CL_PROGRAM_BINARY_SIZES)
        return answer(&program->size, sizeof program->size, capacity, to, needed);
    memcpy(*(unsigned char **)to, program->bytes, program->size);
    return CL_SUCCESS;
}

static cl_int fake_clGetProgramBuildInfo(cl_program program, cl_device_id id, cl_uint what,
                                         size_t capacity, void *to, size_t *needed) {
    (void)program, (void)id, (void)what;
    return answer_text("\na.cl:1: warning: odd\na.cl:2: error: this is wrong\na.cl:3: error: too\n",
                       capacity, to, needed);
}

static cl_kernel fake_clCreateKernel(cl_program id, const char *name, cl_int *error) {
    struct object *program = (struct object *)id;
    *error = strstr((char *)program->bytes, name) ? CL_SUCCESS : CL_INVALID_KERNEL_NAME;
    return *error ? NULL : create(program, 0);
}

static cl_int fake_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id id, cl_uint what,
                                            size_t capacity, void *to, size_t *needed) {
    (void)kernel, (void)id;
    size_t value = what == CL_KERNEL_WORK_GROUP_SIZE ? 128 : 64;
    return answer(&value, sizeof value, capacity, to, needed);
}

static cl_int fake_clSetKernelArg(cl_kernel id, cl_uint number, size_t size, const void *value) {
    struct object *kernel = (struct object *)id;
    if (number >= 32)
        return CL_INVALID_ARG_INDEX;
    kernel->argument_sizes[number] = size;
    if (value)
        memcpy(kernel->arguments[number], value, size < 64 ? size : 64);
    if (number >= kernel->argument_count)
        kernel->argument_count = number + 1;
    return CL_SUCCESS;
}

static cl_int done(cl_command_queue queue, int64_t start, cl_event *event) {
    if (event) {
        struct object *object = create(NULL, 0);
        object->profiling = ((struct object *)queue)->profiling;
        object->start = start;
        object->end = device_now();
        *event = (cl_event)object;
    }
    return CL_SUCCESS;
}

/* The launch's buffers come first, an object and an offset each, and then the scalars. */
static cl_int fake_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel id, cl_uint rank,
                                          const size_t *offset, const size_t *global,
                                          const size_t *local, cl_uint count,
                                          const cl_event *events, cl_event *event) {
    (void)rank, (void)offset, (void)count, (void)events;
    struct object *kernel = (struct object *)id, *memory;
    int64_t start = device_now(), at, scalar;
    memcpy(fake_opencl.global, global, sizeof fake_opencl.global);
    memcpy(fake_opencl.local, local, sizeof fake_opencl.local);
    memcpy(fake_opencl.parameter_sizes, kernel->argument_sizes, sizeof kernel->argument_sizes);
    fake_opencl.parameter_count = kernel->argument_count;
    memcpy(&memory, kernel->arguments[0], sizeof memory);
    memcpy(&at, kernel->arguments[1], sizeof at);
    memcpy(&scalar, kernel->arguments[2], sizeof scalar);
    memcpy(memory->bytes + at, &scalar, sizeof scalar);
    fake_opencl.first_scalar = scalar;
    return done(queue, start, event);
}

static cl_int fake_clEnqueueReadBuffer(cl_command_queue queue, cl_mem from, cl_bool wait,
                                       size_t offset, size_t size, void *to, cl_uint count,
                                       const cl_event *events, cl_event *event) {
    (void)wait, (void)count, (void)events;
    memcpy(to, ((struct object *)from)->bytes + offset, size);
    return size ? done(queue, device_now(), event) : CL_INVALID_VALUE;
}

static cl_int fake_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem to, cl_bool wait,
                                        size_t offset, size_t size, const void *from, cl_uint count,
                                        const cl_event *events, cl_event *event) {
    (void)wait, (void)count, (void)events;
    memcpy(((struct object *)to)->bytes + offset, from, size);
    return size ? done(queue, device_now(), event) : CL_INVALID_VALUE;
}

static void *fake_clEnqueueMapBuffer(cl_command_queue queue, cl_mem id, cl_bool wait,
                                     cl_bitfield flags, size_t offset, size_t size, cl_uint count,
                                     const cl_event *events, cl_event *event, cl_int *error) {
    (void)queue, (void)wait, (void)flags, (void)size, (void)count, (void)events, (void)event;
    *error = CL_SUCCESS;
    return ((struct object *)id)->bytes + offset;
}

static cl_int fake_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem id, void *memory,
                                           cl_uint count, const cl_event *events, cl_event *event) {
    (void)queue, (void)count, (void)events, (void)event;
    return memory == ((struct object *)id)->bytes ? CL_SUCCESS : CL_INVALID_VALUE;
}

static cl_int fake_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                       size_t from_offset, size_t to_offset, size_t size,
                                       cl_uint count, const cl_event *events, cl_event *event) {
    (void)count, (void)events;
    memmove(((struct object *)to)->bytes + to_offset, ((struct object *)from)->bytes + from_offset,
            size);
    return size ? done(queue, device_now(), event) : CL_INVALID_VALUE;
}

/* Here a buffer comes to the device. */
static cl_int fake_clEnqueueFillBuffer(cl_command_queue queue, cl_mem id, const void *pattern,
                                       size_t pattern_size, size_t offset, size_t size,
                                       cl_uint count, const cl_event *events, cl_event *event) {
    (void)pattern_size, (void)count, (void)events;
    struct object *memory = (struct object *)id;
    if (!memory->resident && fake_opencl.used + memory->size > FAKE_MEMORY)
        return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    fake_opencl.used += memory->resident ? 0 : memory->size;
    memory->resident = true;
    memset(memory->bytes + offset, *(const unsigned char *)pattern, size);
    return done(queue, device_now(), event);
}

static cl_int fake_clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                                               const cl_event *events, cl_event *event) {
    (void)count, (void)events;
    return done(queue, device_now(), event);
}

static cl_int fake_clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                                                const cl_event *events, cl_event *event) {
    (void)events;
    return count == 1 ? done(queue, device_now(), event) : CL_INVALID_EVENT_WAIT_LIST;
}

static cl_int fake_clWaitForEvents(cl_uint count, const cl_event *events) {
    return count && events[0] ? CL_SUCCESS : CL_INVALID_VALUE;
}

static cl_int fake_clGetEventInfo(cl_event event, cl_uint what, size_t capacity, void *to,
                                  size_t *needed) {
    (void)event, (void)what;
    cl_int state = fake_opencl.held ? 1 : CL_COMPLETE;
    return answer(&state, sizeof state, capacity, to, needed);
}

static cl_int fake_clGetEventProfilingInfo(cl_event id, cl_uint what, size_t capacity, void *to,
                                           size_t *needed) {
    struct object *event = (struct object *)id;
    if (!event->profiling)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    cl_ulong time = (cl_ulong)(what == CL_PROFILING_COMMAND_START ? event->start : event->end);
    return answer(&time, sizeof time, capacity, to, needed);
}

static cl_int fake_clFlush(cl_command_queue queue) {
    return queue ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}
static cl_int fake_clFinish(cl_command_queue queue) {
    return queue ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static cl_int fake_clReleaseContext(cl_context object) {
    return release(object);
}
static cl_int fake_clReleaseCommandQueue(cl_command_queue object) {
    return release(object);
}
static cl_int fake_clReleaseMemObject(cl_mem object) {
    return release(object);
}
static cl_int fake_clReleaseProgram(cl_program object) {
    return release(object);
}
static cl_int fake_clReleaseKernel(cl_kernel object) {
    return release(object);
}
static cl_int fake_clReleaseEvent(cl_event object) {
    return release(object);
}

static cl_int refuse(const char *call) {
    if (++fake_opencl.calls != fake_opencl.fail_at)
        return CL_SUCCESS;
    fake_opencl.failed = call;
    return fake_opencl.error;
}

#define WRAP(place, name, parameters, arguments)                                                   \
    static cl_int call_##name parameters {                                                         \
        cl_int refused = refuse(#name);                                                            \
        return refused ? refused : fake_##name arguments;                                          \
    }
#define WRAP_CREATION(place, type, name, parameters, arguments)                                    \
    static type call_##name parameters {                                                           \
        *error = refuse(#name);                                                                    \
        return *error ? NULL : fake_##name arguments;                                              \
    }
OPENCL_CALLS(WRAP)
OPENCL_CREATIONS(WRAP_CREATION)

#define FILL(place, name, parameters, arguments) .name = call_##name,
#define FILL_RELEASE(place, name, parameters, arguments) .name = fake_##name,
#define FILL_CREATION(place, type, name, parameters, arguments) .name = call_##name,
static const struct opencl_driver driver = {OPENCL_CALLS(FILL) OPENCL_RELEASES(FILL_RELEASE)
                                                OPENCL_CREATIONS(FILL_CREATION)};

const struct opencl_driver *fake_opencl_start(void) {
    int live = fake_opencl.live;
    fake_opencl = (struct fake_opencl){.live = live, .error = CL_OUT_OF_RESOURCES};
    return &driver;
}
