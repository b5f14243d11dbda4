/* OpenCL programs that count their own calls, for tests/opencl/run.sh. Built without Khronos'
 * headers; libOpenCL.so.1 is loaded at run time. Ends with 77 and a reason where there is no
 * device.
 *
 *   target SCENARIO [COUNT]
 *
 * Every scenario prints lines `what value`; what it computes and what the API answers must be the
 * same with and without the probe. Counts that a recording must have begin with "count".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/opencl.h"

enum { N = 1024, INVALID_WORK_GROUP_SIZE = -54 };

static const char source[] =
    "kernel void triple(global float *x) { x[get_global_id(0)] *= 3.0f; }\n"
    "kernel void add_one(global float *x) { x[get_global_id(0)] += 1.0f; }\n"
    "kernel __attribute__((reqd_work_group_size(32, 1, 1)))\n"
    "void required(global float *x) { x[get_global_id(0)] += 2.0f; }\n"
    "kernel void spin(global float *x, int n) { float v = x[get_global_id(0)];\n"
    "  for (int i = 0; i < n; i++) v = v * 1.0000001f + 1e-9f; x[get_global_id(0)] = v; }\n";

static void *library;

static void *symbol(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("%s is missing\n", name);
        exit(77);
    }
    return found;
}

/* CL(clFinish, cl_int, cl_command_queue)(queue) */
#define CL(name, type, ...) ((type(*)(__VA_ARGS__))symbol(#name))

static void check(cl_int error, const char *what) {
    if (error == CL_SUCCESS)
        return;
    fprintf(stderr, "%s failed: %d\n", what, error);
    exit(1);
}

struct setup {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_kernel triple, add_one, spin;
    cl_mem buffer;
};

static cl_kernel create_kernel(cl_program program, const char *name) {
    cl_int error = 0;
    cl_kernel kernel =
        CL(clCreateKernel, cl_kernel, cl_program, const char *, cl_int *)(program, name, &error);
    check(error, name);
    return kernel;
}

static void set_argument(cl_kernel kernel, cl_uint at, size_t bytes, const void *value) {
    check(CL(clSetKernelArg, cl_int, cl_kernel, cl_uint, size_t, const void *)(kernel, at, bytes,
                                                                               value),
          "clSetKernelArg");
}

static bool is_recorded(void) {
    return getenv("RIDGE_SPOOL") != NULL;
}

static _Atomic unsigned buffers_created, buffers_destroyed;

static void count_destroyed(cl_mem memory, void *nothing) {
    (void)memory, (void)nothing;
    buffers_destroyed++;
}

static cl_mem create_buffer(cl_context context, cl_bitfield flags, size_t bytes, void *host) {
    cl_int error = 0;
    cl_mem memory = CL(clCreateBuffer, cl_mem, cl_context, cl_bitfield, size_t, void *,
                       cl_int *)(context, flags, bytes, host, &error);
    check(error, "clCreateBuffer");
    check(CL(clSetMemObjectDestructorCallback, cl_int, cl_mem, void (*)(cl_mem, void *),
             void *)(memory, count_destroyed, NULL),
          "clSetMemObjectDestructorCallback");
    buffers_created++;
    return memory;
}

/* Long enough for the probe's reader to see what is complete: see tests/patient.sh. */
static void give_time(unsigned ms) {
    const char *patience = getenv("PATIENCE");
    if (is_recorded())
        usleep(1000 * ms * (unsigned)(patience ? atoi(patience) : 1));
}

/* A thread of the driver may have the last reference. It calls the probe after count_destroyed(),
 * which was added later. */
static void wait_for_destructors(void) {
    for (unsigned i = 0; i < 60000 && buffers_destroyed < buffers_created; i++)
        usleep(1000);
    give_time(100);
}

static void find_device(struct setup *setup) {
    cl_uint count = 0;
    if (CL(clGetPlatformIDs, cl_int, cl_uint, cl_platform_id *, cl_uint *)(1, &setup->platform,
                                                                           &count) != 0 ||
        count == 0 ||
        CL(clGetDeviceIDs, cl_int, cl_platform_id, cl_bitfield, cl_uint, cl_device_id *,
           cl_uint *)(setup->platform, 0xFFFFFFFF, 1, &setup->device, &count) != 0 ||
        count == 0) {
        printf("there is no OpenCL device\n");
        exit(77);
    }
}

static struct setup set_up(void) {
    struct setup setup = {0};
    const char *text = source;
    cl_int error = 0;
    find_device(&setup);
    setup.context = CL(clCreateContext, cl_context, const cl_context_properties *, cl_uint,
                       const cl_device_id *, void *, void *,
                       cl_int *)(NULL, 1, &setup.device, NULL, NULL, &error);
    check(error, "clCreateContext");
    setup.program = CL(clCreateProgramWithSource, cl_program, cl_context, cl_uint, const char **,
                       const size_t *, cl_int *)(setup.context, 1, &text, NULL, &error);
    check(error, "clCreateProgramWithSource");
    check(CL(clBuildProgram, cl_int, cl_program, cl_uint, const cl_device_id *, const char *,
             void *, void *)(setup.program, 1, &setup.device, "", NULL, NULL),
          "clBuildProgram");
    setup.triple = create_kernel(setup.program, "triple");
    setup.add_one = create_kernel(setup.program, "add_one");
    setup.spin = create_kernel(setup.program, "spin");
    setup.buffer = create_buffer(setup.context, CL_MEM_READ_WRITE, N * sizeof(float), NULL);
    set_argument(setup.triple, 0, sizeof setup.buffer, &setup.buffer);
    set_argument(setup.add_one, 0, sizeof setup.buffer, &setup.buffer);
    set_argument(setup.spin, 0, sizeof setup.buffer, &setup.buffer);
    set_argument(setup.spin, 1, sizeof(cl_int), &(cl_int){1000});
    return setup;
}

static void tear_down(struct setup *setup) {
    CL(clReleaseMemObject, cl_int, cl_mem)(setup->buffer);
    CL(clReleaseKernel, cl_int, cl_kernel)(setup->triple);
    CL(clReleaseKernel, cl_int, cl_kernel)(setup->add_one);
    CL(clReleaseKernel, cl_int, cl_kernel)(setup->spin);
    CL(clReleaseProgram, cl_int, cl_program)(setup->program);
    CL(clReleaseContext, cl_int, cl_context)(setup->context);
    wait_for_destructors();
}

static cl_command_queue create_queue(const struct setup *setup, cl_bitfield properties) {
    cl_int error = 0;
    cl_command_queue queue =
        CL(clCreateCommandQueue, cl_command_queue, cl_context, cl_device_id, cl_bitfield,
           cl_int *)(setup->context, setup->device, properties, &error);
    check(error, "clCreateCommandQueue");
    return queue;
}

static void release_queue(cl_command_queue queue) {
    check(CL(clReleaseCommandQueue, cl_int, cl_command_queue)(queue), "clReleaseCommandQueue");
}

static void launch_groups(cl_command_queue queue, cl_kernel kernel, const size_t *local,
                          cl_uint count, const cl_event *waits, cl_event *event) {
    static cl_int (*enqueue)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                             const size_t *, cl_uint, const cl_event *, cl_event *);
    size_t global = N;
    if (!enqueue)
        enqueue = (__typeof__(enqueue))symbol("clEnqueueNDRangeKernel");
    cl_int result = enqueue(queue, kernel, 1, NULL, &global, local, count, waits, event);
    if (result == INVALID_WORK_GROUP_SIZE && !local) /* PoCL, if the kernel requires a size */
        result = enqueue(queue, kernel, 1, NULL, &global, &(size_t){32}, count, waits, event);
    check(result, "a launch");
}

static void launch(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *waits,
                   cl_event *event) {
    launch_groups(queue, kernel, &(size_t){64}, count, waits, event);
}

static void finish(cl_command_queue queue) {
    check(CL(clFinish, cl_int, cl_command_queue)(queue), "clFinish");
}

static void transfer(cl_command_queue queue, cl_mem buffer, bool write, bool blocking, void *host,
                     cl_event *event) {
    cl_int (*enqueue)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,
                      const cl_event *, cl_event *) =
        (__typeof__(enqueue))symbol(write ? "clEnqueueWriteBuffer" : "clEnqueueReadBuffer");
    check(enqueue(queue, buffer, blocking, 0, N * sizeof(float), host, 0, NULL, event),
          "a transfer");
}

static double sum(const float *values) {
    double total = 0;
    for (unsigned i = 0; i < N; i++)
        total += values[i];
    return total;
}

static void fill(float *values) {
    for (unsigned i = 0; i < N; i++)
        values[i] = (float)i / N;
}

/* ---- Scenarios --------------------------------------------------------------------------- */

static void steps(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    float values[N];
    fill(values);
    for (unsigned i = 0; i < count; i++) {
        transfer(queue, setup.buffer, true, true, values, NULL);
        launch(queue, setup.triple, 0, NULL, NULL);
        launch(queue, setup.add_one, 0, NULL, NULL);
        transfer(queue, setup.buffer, false, true, values, NULL);
        for (unsigned k = 0; k < N; k++)
            values[k] /= 4;
        finish(queue);
    }
    release_queue(queue);
    tear_down(&setup);
    printf("sum %.9g\ncount triple %u\ncount add_one %u\ncount reads %u\ncount writes %u\n"
           "count waits %u\n",
           sum(values), count, count, count, count, count);
}

static void many(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    float values[N];
    fill(values);
    transfer(queue, setup.buffer, true, true, values, NULL);
    for (unsigned i = 0; i < count; i++)
        launch(queue, setup.add_one, 0, NULL, NULL);
    finish(queue);
    transfer(queue, setup.buffer, false, true, values, NULL);
    release_queue(queue);
    tear_down(&setup);
    printf("sum %.9g\ncount add_one %u\n", sum(values), count);
}

/* What the API answers about queues and events. */
static void print_info(const struct setup *setup, cl_command_queue queue, const char *name) {
    cl_bitfield properties = 77;
    cl_ulong list[16] = {0}, time = 77;
    size_t bytes = 77;
    cl_event event;
    cl_int (*info)(cl_command_queue, cl_uint, size_t, void *, size_t *) =
        (__typeof__(info))symbol("clGetCommandQueueInfo");
    cl_int (*profile)(cl_event, cl_uint, size_t, void *, size_t *) =
        (__typeof__(profile))symbol("clGetEventProfilingInfo");
    cl_int result = info(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &bytes);
    printf("%s properties %d %llu %zu\n", name, result, (unsigned long long)properties, bytes);
    bytes = 77;
    result = info(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes);
    printf("%s list %d %zu", name, result, bytes);
    for (unsigned i = 0; i < 8; i++)
        printf(" %llu", (unsigned long long)list[i]);
    result = info(queue, CL_QUEUE_PROPERTIES_ARRAY, 4, list, NULL);
    printf(" short %d\n", result);
    launch(queue, setup->triple, 0, NULL, &event);
    finish(queue);
    bytes = 77;
    result = profile(event, CL_PROFILING_COMMAND_START, sizeof time, &time, &bytes);
    printf("%s profile %d %s\n", name, result, time == 77 ? "untouched" : "written");
    result = profile(event, 0x7777, sizeof time, &time, NULL);
    printf("%s profile of nothing %d\n", name, result);
    CL(clReleaseEvent, cl_int, cl_event)(event);
    release_queue(queue);
}

static void info(unsigned count) {
    struct setup setup = set_up();
    static const cl_ulong empty[] = {0}, order[] = {CL_QUEUE_PROPERTIES, 1, 0},
                          timed[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0},
                          wrong[] = {0x7777, 1, 0};
    static const cl_ulong *const lists[] = {NULL, empty, order, timed, wrong};
    static const char *const names[] = {"no list", "empty list", "out of order", "timed list",
                                        "wrong list"};
    (void)count;
    print_info(&setup, create_queue(&setup, 0), "plain");
    print_info(&setup, create_queue(&setup, CL_QUEUE_PROFILING_ENABLE), "timed");
    print_info(&setup, create_queue(&setup, 1), "unordered");
    for (unsigned i = 0; i < 5; i++) {
        cl_int error = 0;
        cl_command_queue queue =
            CL(clCreateCommandQueueWithProperties, cl_command_queue, cl_context, cl_device_id,
               const cl_ulong *, cl_int *)(setup.context, setup.device, lists[i], &error);
        printf("%s %d\n", names[i], error);
        if (queue)
            print_info(&setup, queue, names[i]);
    }
    tear_down(&setup);
    printf("count triple 7\n");
}

static _Atomic unsigned called;

static void on_complete(cl_event event, cl_int status, void *user) {
    (void)event;
    if (status == CL_COMPLETE && user == &called)
        atomic_fetch_add(&called, 1);
}

/* Two queues in turn, events and callbacks of the program's own. */
static void events(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue first = create_queue(&setup, 0),
                     second = create_queue(&setup, CL_QUEUE_PROFILING_ENABLE | 1);
    cl_event before = NULL, event = NULL;
    float values[N];
    cl_uint references = 0;
    fill(values);
    transfer(first, setup.buffer, true, true, values, NULL);
    for (unsigned i = 0; i < count; i++) {
        launch(i % 2 ? second : first, i % 2 ? setup.triple : setup.add_one, before ? 1 : 0,
               before ? &before : NULL, &event);
        check(CL(clSetEventCallback, cl_int, cl_event, cl_int, void *,
                 void *)(event, CL_COMPLETE, (void *)(uintptr_t)on_complete, &called),
              "clSetEventCallback");
        check(CL(clFlush, cl_int, cl_command_queue)(i % 2 ? second : first), "clFlush");
        if (before)
            CL(clReleaseEvent, cl_int, cl_event)(before);
        before = event;
        if (i % 20 == 19)
            transfer(second, setup.buffer, false, false, values, NULL);
    }
    check(CL(clWaitForEvents, cl_int, cl_uint, const cl_event *)(1, &before), "clWaitForEvents");
    cl_ulong times[2] = {0};
    cl_int (*profile)(cl_event, cl_uint, size_t, void *, size_t *) =
        (__typeof__(profile))symbol("clGetEventProfilingInfo");
    printf("profile %d", profile(before, CL_PROFILING_COMMAND_START, 8, &times[0], NULL));
    printf(" %d %d\n", profile(before, CL_PROFILING_COMMAND_END, 8, &times[1], NULL),
           times[1] >= times[0]);
    finish(first);
    finish(second);
    CL(clReleaseEvent, cl_int, cl_event)(before);
    transfer(first, setup.buffer, false, true, values, NULL);
    while (atomic_load(&called) < count)
        usleep(1000);
    check(CL(clGetCommandQueueInfo, cl_int, cl_command_queue, cl_uint, size_t, void *,
             size_t *)(first, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL),
          "clGetCommandQueueInfo");
    release_queue(first);
    release_queue(second);
    tear_down(&setup);
    printf("callbacks %u\nnan %d\ncount triple %u\ncount add_one %u\ncount reads %u\n", called,
           sum(values) != sum(values), count / 2, count - count / 2, count / 20 + 1);
}

/* Maps, fills, copies, a marker, a barrier, shared memory. */
static void memory(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    cl_mem other = create_buffer(setup.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                 N * sizeof(float), NULL);
    float one = 1, copy[N];
    double total = 0;
    cl_int error = 0;
    for (unsigned i = 0; i < count; i++) {
        check(CL(clEnqueueFillBuffer, cl_int, cl_command_queue, cl_mem, const void *, size_t,
                 size_t, size_t, cl_uint, const cl_event *, cl_event *)(
                  queue, setup.buffer, &one, sizeof one, 0, N * sizeof(float), 0, NULL, NULL),
              "clEnqueueFillBuffer");
        check(CL(clEnqueueCopyBuffer, cl_int, cl_command_queue, cl_mem, cl_mem, size_t, size_t,
                 size_t, cl_uint, const cl_event *,
                 cl_event *)(queue, setup.buffer, other, 0, 0, N * sizeof(float), 0, NULL, NULL),
              "clEnqueueCopyBuffer");
        check(CL(clEnqueueMarkerWithWaitList, cl_int, cl_command_queue, cl_uint, const cl_event *,
                 cl_event *)(queue, 0, NULL, NULL),
              "clEnqueueMarkerWithWaitList");
        check(CL(clEnqueueBarrierWithWaitList, cl_int, cl_command_queue, cl_uint, const cl_event *,
                 cl_event *)(queue, 0, NULL, NULL),
              "clEnqueueBarrierWithWaitList");
        float *mapped =
            CL(clEnqueueMapBuffer, void *, cl_command_queue, cl_mem, cl_bool, cl_bitfield, size_t,
               size_t, cl_uint, const cl_event *, cl_event *,
               cl_int *)(queue, other, 1, CL_MAP_READ, 0, N * sizeof(float), 0, NULL, NULL, &error);
        check(error, "clEnqueueMapBuffer");
        total += sum(mapped);
        transfer(queue, setup.buffer, true, true, mapped, NULL);
        check(CL(clEnqueueUnmapMemObject, cl_int, cl_command_queue, cl_mem, void *, cl_uint,
                 const cl_event *, cl_event *)(queue, other, mapped, 0, NULL, NULL),
              "clEnqueueUnmapMemObject");
    }
    finish(queue);
    float *shared = CL(clSVMAlloc, void *, cl_context, cl_bitfield, size_t,
                       cl_uint)(setup.context, 1, N * sizeof(float), 0);
    if (shared) {
        cl_int (*move)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
                       const cl_event *, cl_event *) =
            (__typeof__(move))symbol("clEnqueueSVMMemcpy");
        fill(copy);
        check(move(queue, 1, shared, copy, sizeof copy, 0, NULL, NULL), "clEnqueueSVMMemcpy");
        memset(copy, 0, sizeof copy);
        check(move(queue, 1, copy, shared, sizeof copy, 0, NULL, NULL), "clEnqueueSVMMemcpy");
        total += sum(copy);
        CL(clSVMFree, void, cl_context, void *)(setup.context, shared);
    }
    CL(clReleaseMemObject, cl_int, cl_mem)(other);
    release_queue(queue);
    tear_down(&setup);
    printf("sum %.9g\ncount fills %u\ncount copies %u\ncount maps %u\ncount unmaps %u\n"
           "count writes %u\ncount shared %d\n",
           total, count, count, count, count, count, shared ? 2 : 0);
}

/* More than any device has. */
static void failing_memory(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    cl_int error = 0;
    cl_mem memory = CL(clCreateBuffer, cl_mem, cl_context, cl_bitfield, size_t, void *,
                       cl_int *)(setup.context, CL_MEM_READ_WRITE, SIZE_MAX / 4, NULL, &error);
    printf("memory %d error %d\n", memory != NULL, error);
    for (unsigned i = 0; i < count; i++)
        launch(queue, setup.add_one, 0, NULL, NULL);
    finish(queue);
    release_queue(queue);
    tear_down(&setup);
    printf("count add_one %u\n", count);
}

static struct setup shared_setup;
static unsigned thread_launches;

static void *launch_many(void *nothing) {
    cl_command_queue queue = create_queue(&shared_setup, 0);
    cl_kernel kernel = create_kernel(shared_setup.program, "add_one");
    cl_mem buffer = create_buffer(shared_setup.context, CL_MEM_READ_WRITE, N * sizeof(float), NULL);
    (void)nothing;
    set_argument(kernel, 0, sizeof buffer, &buffer);
    for (unsigned i = 0; i < thread_launches; i++) {
        launch(queue, kernel, 0, NULL, NULL);
        if (i % 50 == 49)
            finish(queue);
    }
    finish(queue);
    CL(clReleaseKernel, cl_int, cl_kernel)(kernel);
    CL(clReleaseMemObject, cl_int, cl_mem)(buffer);
    release_queue(queue);
    return NULL;
}

static void threads(unsigned count) {
    pthread_t started[4];
    shared_setup = set_up();
    thread_launches = count;
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&started[i], NULL, launch_many, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(started[i], NULL);
    tear_down(&shared_setup);
    printf("count add_one %u\n", 4 * count);
}

/* Sub-devices count as their device. */
static void sub_devices(unsigned count) {
    struct setup setup = set_up();
    static const intptr_t by_counts[] = {0x1087, 1, 0, 0};
    cl_device_id sub = NULL;
    cl_uint made = 0;
    cl_int error = CL(clCreateSubDevices, cl_int, cl_device_id, const intptr_t *, cl_uint,
                      cl_device_id *, cl_uint *)(setup.device, by_counts, 1, &sub, &made);
    if (error != CL_SUCCESS || !made) {
        printf("the device cannot be divided: %d\n", error);
        exit(77);
    }
    tear_down(&setup);
    setup.device = sub;
    const char *text = source;
    setup.context =
        CL(clCreateContext, cl_context, const cl_context_properties *, cl_uint,
           const cl_device_id *, void *, void *, cl_int *)(NULL, 1, &sub, NULL, NULL, &error);
    check(error, "clCreateContext");
    setup.program = CL(clCreateProgramWithSource, cl_program, cl_context, cl_uint, const char **,
                       const size_t *, cl_int *)(setup.context, 1, &text, NULL, &error);
    check(CL(clBuildProgram, cl_int, cl_program, cl_uint, const cl_device_id *, const char *,
             void *, void *)(setup.program, 1, &sub, "", NULL, NULL),
          "clBuildProgram");
    setup.add_one = create_kernel(setup.program, "add_one");
    setup.buffer = create_buffer(setup.context, CL_MEM_READ_WRITE, N * sizeof(float), NULL);
    set_argument(setup.add_one, 0, sizeof setup.buffer, &setup.buffer);
    cl_command_queue queue = create_queue(&setup, 0);
    for (unsigned i = 0; i < count; i++)
        launch(queue, setup.add_one, 0, NULL, NULL);
    finish(queue);
    release_queue(queue);
    printf("count add_one %u\n", count);
}

/* The layer is loaded before fork(); both sides use OpenCL afterwards. */
static void forked(unsigned count) {
    cl_platform_id platform;
    int status = 0;
    CL(clGetPlatformIDs, cl_int, cl_uint, cl_platform_id *, cl_uint *)(1, &platform, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        many(count);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    many(count);
}

/* A child of a process with queues does not touch them. */
static void fork_after(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    int status = 0;
    for (unsigned i = 0; i < count; i++) {
        launch(queue, setup.add_one, 0, NULL, NULL);
        if (i == count / 2) {
            pid_t child = fork();
            if (child == 0)
                exit(3);
            waitpid(child, &status, 0);
        }
    }
    finish(queue);
    release_queue(queue);
    tear_down(&setup);
    printf("child %d\ncount add_one %u\n", WEXITSTATUS(status), count);
}

static volatile int *volatile nowhere;

/* Ends without waiting, in one of several ways. */
static void abrupt(unsigned count, int how) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    for (unsigned i = 0; i < count; i++)
        launch(queue, setup.add_one, 0, NULL, NULL);
    finish(queue);
    give_time(400);
    launch(queue, setup.spin, 0, NULL, NULL);
    printf("count add_one %u\n", count);
    fflush(stdout);
    if (how == 0)
        raise(SIGKILL);
    if (how == 1)
        *nowhere = 1;
    exit(5);
}

static void killed(unsigned count) {
    abrupt(count, 0);
}
static void crashed(unsigned count) {
    abrupt(count, 1);
}
static void exited(unsigned count) {
    abrupt(count, 2);
}

/* Hundreds of queues, one after the other. */
static void queues(unsigned count) {
    struct setup setup = set_up();
    for (unsigned i = 0; i < count; i++) {
        cl_command_queue queue = create_queue(&setup, i % 2 ? CL_QUEUE_PROFILING_ENABLE : 0);
        launch(queue, setup.add_one, 0, NULL, NULL);
        finish(queue);
        release_queue(queue);
    }
    tear_down(&setup);
    printf("count add_one %u\n", count);
}

/* Everything is released and the library unloaded. */
static void unloaded(unsigned count) {
    many(count);
    dlclose(library);
    give_time(300);
}

static void command_buffers(unsigned count) {
    struct setup setup = set_up();
    cl_int error = 0;
    void *(*find)(cl_platform_id, const char *) =
        (__typeof__(find))symbol("clGetExtensionFunctionAddressForPlatform");
    void *(*create)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *) =
        (__typeof__(create))find(setup.platform, "clCreateCommandBufferKHR");
    cl_int (*add)(void *, cl_command_queue, const cl_ulong *, cl_kernel, cl_uint, const size_t *,
                  const size_t *, const size_t *, cl_uint, const cl_uint *, cl_uint *, void *) =
        (__typeof__(add))find(setup.platform, "clCommandNDRangeKernelKHR");
    cl_int (*finalize)(void *) =
        (__typeof__(finalize))find(setup.platform, "clFinalizeCommandBufferKHR");
    cl_int (*enqueue)(cl_uint, cl_command_queue *, void *, cl_uint, const cl_event *, cl_event *) =
        (__typeof__(enqueue))find(setup.platform, "clEnqueueCommandBufferKHR");
    cl_int (*release)(void *) =
        (__typeof__(release))find(setup.platform, "clReleaseCommandBufferKHR");
    if (!create || !add || !finalize || !enqueue || !release) {
        printf("the driver has no command buffers\n");
        exit(77);
    }
    cl_command_queue queue = create_queue(&setup, 0);
    void *buffer = create(1, &queue, NULL, &error);
    size_t global = N, local = 64;
    check(error, "clCreateCommandBufferKHR");
    for (unsigned i = 0; i < 3; i++)
        check(add(buffer, NULL, NULL, setup.add_one, 1, NULL, &global, &local, 0, NULL, NULL, NULL),
              "clCommandNDRangeKernelKHR");
    check(finalize(buffer), "clFinalizeCommandBufferKHR");
    float values[N];
    fill(values);
    transfer(queue, setup.buffer, true, true, values, NULL);
    for (unsigned i = 0; i < count; i++) {
        check(enqueue(0, NULL, buffer, 0, NULL, NULL), "clEnqueueCommandBufferKHR");
        finish(queue);
    }
    transfer(queue, setup.buffer, false, true, values, NULL);
    release(buffer);
    release_queue(queue);
    tear_down(&setup);
    printf("sum %.9g\ncount batches %u\n", sum(values), count);
}

/* The sum of the program's own times, on stderr: it differs from run to run. */
static void timed(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, CL_QUEUE_PROFILING_ENABLE);
    cl_int (*profile)(cl_event, cl_uint, size_t, void *, size_t *) =
        (__typeof__(profile))symbol("clGetEventProfilingInfo");
    cl_ulong total = 0;
    for (unsigned i = 0; i < count; i++) {
        cl_ulong start = 0, end = 0;
        cl_event event;
        launch(queue, setup.spin, 0, NULL, &event);
        check(CL(clWaitForEvents, cl_int, cl_uint, const cl_event *)(1, &event), "clWaitForEvents");
        check(profile(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL), "a time");
        check(profile(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL), "a time");
        total += end - start;
        CL(clReleaseEvent, cl_int, cl_event)(event);
    }
    release_queue(queue);
    tear_down(&setup);
    fprintf(stderr, "own time %llu\n", (unsigned long long)total);
    printf("count spin %u\n", count);
}

/* For tests/bench/overhead: prints "ready", then the microseconds per kernel of a round for each
 * line that it reads, of CPU time if the environment has CPU_TIME. */
static void served(unsigned count) {
    clockid_t clock = getenv("CPU_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    char line[64];
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        struct timespec start, end;
        clock_gettime(clock, &start);
        for (unsigned i = 0; i < count; i++)
            launch(queue, setup.add_one, 0, NULL, NULL);
        finish(queue);
        clock_gettime(clock, &end);
        double ns =
            (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
        printf("%.4f\n", ns / 1e3 / count);
        fflush(stdout);
    }
    release_queue(queue);
    tear_down(&setup);
}

/* What profiling costs without ridge: microseconds per kernel of a queue as it is, with an event
 * for each kernel, with profiling as well, and when the times of the events are read, too. */
static void driver_cost(unsigned count) {
    static const char *const what[] = {"plain", "events", "profiling", "times"};
    struct setup setup = set_up();
    cl_int (*profile)(cl_event, cl_uint, size_t, void *, size_t *) =
        (__typeof__(profile))symbol("clGetEventProfilingInfo");
    cl_int (*release)(cl_event) = (__typeof__(release))symbol("clReleaseEvent");
    cl_event *events = calloc(count, sizeof *events);
    for (unsigned mode = 0; mode < 4 * 5 && events; mode++) {
        cl_command_queue queue =
            create_queue(&setup, mode % 4 >= 2 ? CL_QUEUE_PROFILING_ENABLE : 0);
        struct timespec start, end;
        launch(queue, setup.add_one, 0, NULL, NULL);
        finish(queue);
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (unsigned i = 0; i < count; i++)
            launch(queue, setup.add_one, 0, NULL, mode % 4 ? &events[i] : NULL);
        finish(queue);
        for (unsigned i = 0; i < count && mode % 4; i++) {
            cl_ulong time;
            if (mode % 4 == 3) {
                check(profile(events[i], CL_PROFILING_COMMAND_START, 8, &time, NULL), "a time");
                check(profile(events[i], CL_PROFILING_COMMAND_END, 8, &time, NULL), "a time");
            }
            release(events[i]);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ns =
            (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
        printf("%s %.3f\n", what[mode % 4], ns / 1e3 / count);
        release_queue(queue);
    }
    free(events);
    tear_down(&setup);
}

/* Launches that leave the work-group size to the driver, or to the kernel. */
static void groups(unsigned count) {
    struct setup setup = set_up();
    cl_command_queue queue = create_queue(&setup, 0);
    cl_kernel required = create_kernel(setup.program, "required");
    float values[N] = {0};
    set_argument(required, 0, sizeof setup.buffer, &setup.buffer);
    transfer(queue, setup.buffer, true, true, values, NULL);
    for (unsigned i = 0; i < count; i++) {
        launch_groups(queue, required, NULL, 0, NULL, NULL);
        launch_groups(queue, setup.add_one, NULL, 0, NULL, NULL);
    }
    transfer(queue, setup.buffer, false, true, values, NULL);
    printf("value %g\n", (double)values[N - 1]);
    CL(clReleaseKernel, cl_int, cl_kernel)(required);
    release_queue(queue);
    tear_down(&setup);
}

static const struct {
    const char *name;
    void (*run)(unsigned);
} scenarios[] = {
    {"steps", steps},
    {"many", many},
    {"info", info},
    {"events", events},
    {"memory", memory},
    {"threads", threads},
    {"sub-devices", sub_devices},
    {"forked", forked},
    {"fork-after", fork_after},
    {"killed", killed},
    {"crashed", crashed},
    {"exited", exited},
    {"queues", queues},
    {"unloaded", unloaded},
    {"command-buffers", command_buffers},
    {"served", served},
    {"failing-memory", failing_memory},
    {"timed", timed},
    {"groups", groups},
    {"driver-cost", driver_cost},
};

int main(int argc, char **argv) {
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
    library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library) {
        printf("libOpenCL.so.1 is not installed\n");
        return 77;
    }
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenarios[i].run(count);
            return 0;
        }
    fprintf(stderr, "no such scenario\n");
    return 2;
}
