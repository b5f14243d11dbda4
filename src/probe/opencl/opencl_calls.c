/* Records host calls on the calling thread: builds, contexts, synchronizations. Queries and
 * clSetKernelArg(), which programs make many times for each command, are not recorded.
 */
#include <errno.h>

#include "base/clock.h"
#include "probe/capture.h"
#include "probe/opencl/opencl.h"

/* CUPTI's ids count from 1. */
#define FIRST_CORRELATION 0x40000000u

bool opencl_is_recording(int64_t now) {
    return capture_is_on() && capture_has_started(now) && !spool_is_stopped(opencl_probe->spool);
}

uint32_t opencl_next_correlation(void) {
    static _Atomic uint32_t last = FIRST_CORRELATION;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static void put_record(struct spool_lane *lane, uint32_t text, const struct spool_call *filled) {
    struct spool_call *call = spool_begin(lane, SPOOL_CALL, text, sizeof *call);
    if (!call)
        return;
    struct spool_head head = call->head;
    *call = *filled;
    call->head = head;
    spool_publish(lane);
}

void opencl_put_call(struct probe_thread *thread, const struct opencl_call *call) {
    struct spool_lane *lane = thread->lane;
    int64_t duration = call->end - call->start;
    struct spool_call record = {
        .start = call->start,
        .duration = duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX,
        .correlation = call->correlation,
        .result = call->result,
        .class = (uint8_t)call->class,
        .stack = probe_stack(thread, call->class) & 0xFFFFFF,
    };
    put_record(lane, spool_constant(lane, call->name), &record);
    if (record.duration == UINT32_MAX) {
        struct spool_call rest = {.start = call->end, .class = SPOOL_CALL_END};
        put_record(lane, 0, &rest);
    }
}

struct opencl_host_call opencl_call_begin(void) {
    int64_t now = clock_now();
    return (struct opencl_host_call){opencl_is_recording(now) ? now : 0};
}

/* The calling thread with a record of its call, or NULL. */
static struct probe_thread *enter_after(const struct opencl_host_call *begun,
                                        struct opencl_call *call) {
    struct probe_thread *thread = begun->start ? probe_enter() : NULL;
    if (!thread)
        return NULL;
    call->start = begun->start;
    call->end = clock_now();
    call->correlation = opencl_next_correlation();
    opencl_put_call(thread, call);
    return thread;
}

void opencl_call_end(const struct opencl_host_call *call, const char *name, enum call_class class,
                     cl_int result) {
    int error = errno;
    struct opencl_call record = {.name = name, .class = class, .result = result};
    struct probe_thread *thread = enter_after(call, &record);
    if (thread)
        probe_leave(thread);
    errno = error;
}

/* ---- Synchronizations -------------------------------------------------------------------- */

static cl_int our_clFinish(cl_command_queue queue) {
    struct opencl_host_call begun = opencl_call_begin();
    cl_int result = OPENCL_NEXT(our_clFinish, clFinish)(queue);
    int error = errno;
    struct opencl_call call = {.name = "clFinish", .class = CALL_SYNC, .result = result};
    struct probe_thread *thread = enter_after(&begun, &call);
    if (thread) {
        struct opencl_queue known = opencl_find_queue(queue);
        opencl_put_queue_wait(thread->lane, &known, call.correlation, call.start, call.end);
        probe_leave(thread);
    }
    opencl_events_synchronized();
    errno = error;
    return result;
}

static cl_int our_clWaitForEvents(cl_uint count, const cl_event *events) {
    struct opencl_host_call begun = opencl_call_begin();
    cl_int result = OPENCL_NEXT(our_clWaitForEvents, clWaitForEvents)(count, events);
    int error = errno;
    struct opencl_call call = {.name = "clWaitForEvents", .class = CALL_SYNC, .result = result};
    struct probe_thread *thread = enter_after(&begun, &call);
    if (thread) {
        opencl_put_event_wait(thread->lane, call.correlation, call.start, call.end, count, events);
        probe_leave(thread);
    }
    opencl_events_synchronized();
    errno = error;
    return result;
}

/* ---- Others ------------------------------------------------------------------------------ */

/* A call that returns an error code. */
#define CALL(function, class, parameters, arguments)                                               \
    static cl_int our_##function parameters {                                                      \
        struct opencl_host_call call = opencl_call_begin();                                        \
        cl_int result = OPENCL_NEXT(our_##function, function) arguments;                           \
        opencl_call_end(&call, #function, class, result);                                          \
        return result;                                                                             \
    }

/* A call that returns an object; its last parameter is `error`, which may be NULL. */
#define CREATION(type, function, class, parameters, arguments)                                     \
    static type our_##function parameters {                                                        \
        struct opencl_host_call call = opencl_call_begin();                                        \
        type object = OPENCL_NEXT(our_##function, function) arguments;                             \
        opencl_call_end(&call, #function, class, object || !error ? CL_SUCCESS : *error);          \
        return object;                                                                             \
    }

typedef void build_callback(cl_program, void *);
typedef void context_callback(const char *, const void *, size_t, void *);

CALL(clFlush, CALL_OTHER, (cl_command_queue a), (a))
CALL(clReleaseContext, CALL_OTHER, (cl_context a), (a))
CALL(clBuildProgram, CALL_COMPILE,
     (cl_program a, cl_uint b, const cl_device_id *c, const char *d, build_callback *e, void *f),
     (a, b, c, d, e, f))
CALL(clCompileProgram, CALL_COMPILE,
     (cl_program a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e, const cl_program *f,
      const char **g, build_callback *h, void *i),
     (a, b, c, d, e, f, g, h, i))
CREATION(cl_program, clLinkProgram, CALL_COMPILE,
         (cl_context a, cl_uint b, const cl_device_id *c, const char *d, cl_uint e,
          const cl_program *f, build_callback *g, void *h, cl_int *error),
         (a, b, c, d, e, f, g, h, error))
CREATION(cl_program, clCreateProgramWithBinary, CALL_COMPILE,
         (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const unsigned char **e,
          cl_int *f, cl_int *error),
         (a, b, c, d, e, f, error))
CREATION(cl_program, clCreateProgramWithIL, CALL_COMPILE,
         (cl_context a, const void *b, size_t c, cl_int *error), (a, b, c, error))
CREATION(cl_context, clCreateContext, CALL_OTHER,
         (const cl_context_properties *a, cl_uint b, const cl_device_id *c, context_callback *d,
          void *e, cl_int *error),
         (a, b, c, d, e, error))
CREATION(cl_context, clCreateContextFromType, CALL_OTHER,
         (const cl_context_properties *a, cl_bitfield b, context_callback *c, void *d,
          cl_int *error),
         (a, b, c, d, error))

const struct opencl_hook opencl_call_hooks[] = {
    OPENCL_HOOK(clFinish),
    OPENCL_HOOK(clWaitForEvents),
    OPENCL_HOOK(clFlush),
    OPENCL_HOOK(clReleaseContext),
    OPENCL_HOOK(clBuildProgram),
    OPENCL_HOOK(clCompileProgram),
    OPENCL_HOOK(clLinkProgram),
    OPENCL_HOOK(clCreateProgramWithBinary),
    OPENCL_HOOK(clCreateProgramWithIL),
    OPENCL_HOOK(clCreateContext),
    OPENCL_HOOK(clCreateContextFromType),
    {0},
};
