/* The OpenCL part of the probe, shared by its files: a layer of the ICD loader (cl_loader_layers).
 *
 * The loader hands the layer the dispatch table below it (opencl_layer.c); the layer replaces the
 * functions that it records and passes the rest through. Objects are never wrapped: the program has
 * the driver's own handles.
 *
 * Queues are created with profiling enabled, and the program does not notice (opencl_queues.c). A
 * command gets an event if the program wants none (opencl_commands.c). A thread of the probe reads
 * the times of completed events and releases them (opencl_events.c), after converting them to
 * CLOCK_MONOTONIC (opencl_clock.c). Other calls are recorded by the calling thread
 * (opencl_calls.c), and so are allocations (opencl_memory.c).
 */
#ifndef RIDGE_PROBE_OPENCL_OPENCL_H
#define RIDGE_PROBE_OPENCL_OPENCL_H

#include <stdatomic.h>

#include "abi/opencl.h"
#include "abi/opencl_dispatch.h"
#include "probe/probe.h"
#include "trace/schema.h"

/* ---- The layer --------------------------------------------------------------------------- */

extern struct probe *opencl_probe;               /* set before any call is replaced */
extern void *opencl_next[OPENCL_DISPATCH_COUNT]; /* the functions below the layer; may be NULL */

/* The function below the layer as a pointer that has the type of `function`. */
#define OPENCL_NEXT(function, name)                                                                \
    ((__typeof__(&(function)))(uintptr_t)opencl_next[OPENCL_AT_##name])

/* Queries that the probe itself makes. */
cl_int opencl_device_info(cl_device_id device, cl_uint what, size_t bytes, void *value);
cl_int opencl_queue_info(cl_command_queue queue, cl_uint what, size_t bytes, void *value);
cl_int opencl_event_info(cl_event event, cl_uint what, size_t bytes, void *value);

/* A replacement of a function of the dispatch table, or of an extension, whose index is its place
 * in opencl_extension_next. */
struct opencl_hook {
    uint16_t index;
    const char *name;
    void *ours;
};
/* Lists that a hook without `ours` ends. */
extern const struct opencl_hook opencl_command_hooks[], opencl_call_hooks[], opencl_queue_hooks[],
    opencl_memory_hooks[];
#define OPENCL_HOOK(function)                                                                      \
    { OPENCL_AT_##function, #function, (void *)(uintptr_t)our_##function }

/* Extension functions are found by name (clGetExtensionFunctionAddressForPlatform). */
#define OPENCL_EXTENSIONS(X)                                                                       \
    X(clCreateCommandQueueWithPropertiesKHR)                                                       \
    X(clCreateCommandBufferKHR)                                                                    \
    X(clEnqueueCommandBufferKHR)                                                                   \
    X(clHostMemAllocINTEL)                                                                         \
    X(clDeviceMemAllocINTEL)                                                                       \
    X(clSharedMemAllocINTEL)                                                                       \
    X(clMemFreeINTEL)                                                                              \
    X(clMemBlockingFreeINTEL)                                                                      \
    X(clEnqueueMemcpyINTEL)                                                                        \
    X(clEnqueueMemFillINTEL)
#define OPENCL_EXTENSION_INDEX(name) OPENCL_EXTENSION_##name,
enum opencl_extension { OPENCL_EXTENSIONS(OPENCL_EXTENSION_INDEX) OPENCL_EXTENSION_COUNT };
#undef OPENCL_EXTENSION_INDEX
extern _Atomic(void *) opencl_extension_next[OPENCL_EXTENSION_COUNT];
#define OPENCL_EXTENSION_NEXT(function, name)                                                      \
    ((__typeof__(&(function)))(uintptr_t)atomic_load(                                              \
        &opencl_extension_next[OPENCL_EXTENSION_##name]))
#define OPENCL_EXTENSION_HOOK(function)                                                            \
    { OPENCL_EXTENSION_##function, #function, (void *)(uintptr_t)our_##function }
extern const struct opencl_hook opencl_command_extensions[], opencl_queue_extensions[],
    opencl_memory_extensions[];

/* ---- Devices and queues ------------------------------------------------------------------ */

enum { OPENCL_DEVICES = SPOOL_DEVICES_EACH };

/* The difference between CLOCK_MONOTONIC and a device's clock at a time; at 0: unknown. */
struct opencl_bounds {
    int64_t low, high, at;
};
struct opencl_clock {
    struct opencl_bounds last;  /* after the last command that was read */
    struct opencl_bounds timer; /* of the last reading of the device's timer */
    int64_t reported;           /* error bound in the trace */
    bool timer_wrong;           /* clGetDeviceAndHostTimer() contradicts the events */
};

/* A root device: sub-devices share it. Never freed. */
struct opencl_device {
    cl_device_id handle;
    struct spool_device description; /* without the texts */
    char name[128], vendor[64];
    bool is_cpu, has_timer, profiles;
    /* clGetKernelSuggestedLocalWorkSizeKHR(), or NULL */
    cl_int (*suggest)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,
                      size_t *);
    bool announced;            /* in the lane of opencl_events.c, with its lock */
    struct opencl_clock clock; /* likewise */
};
/* The root device of a device; NULL when there are too many. */
struct opencl_device *opencl_find_device(cl_device_id device);
struct opencl_device *opencl_context_device(cl_context context);
/* By number; NULL: there is none. */
struct opencl_device *opencl_device_at(uint32_t number);
/* In a child of fork(): no device is announced. */
void opencl_devices_reset(void);
/* A device must be described in a lane before its queues are used there. */
bool opencl_announce(struct spool_lane *lane, const struct opencl_device *device);
/* Likewise, once in the lane of the calling thread. */
bool opencl_announce_once(struct spool_lane *lane, const struct opencl_device *device);

/* What is known about a queue, by value. */
struct opencl_queue {
    struct opencl_device *device; /* NULL: unknown */
    uint32_t stream;
    bool timed; /* its events have times */
    bool out_of_order;
};
struct opencl_queue opencl_find_queue(cl_command_queue handle);

/* ---- Calls ------------------------------------------------------------------------------- */

/* Whether events of the calling thread are recorded now. */
bool opencl_is_recording(int64_t now);
uint32_t opencl_next_correlation(void);

/* Between probe_enter() and probe_leave(). `name` must be a constant. */
struct opencl_call {
    const char *name;
    enum call_class class;
    int64_t start, end;
    uint32_t correlation;
    cl_int result;
};
void opencl_put_call(struct probe_thread *thread, const struct opencl_call *call);

/* A host call that launches nothing. opencl_call_end() restores errno. */
struct opencl_host_call {
    int64_t start; /* 0: not recorded */
};
struct opencl_host_call opencl_call_begin(void);
void opencl_call_end(const struct opencl_host_call *call, const char *name, enum call_class class,
                     cl_int result);

/* ---- Commands ---------------------------------------------------------------------------- */

enum opencl_kind { OPENCL_NO_ACTIVITY, OPENCL_KERNEL, OPENCL_COPY, OPENCL_FILL };

/* A command from its enqueueing until its times are read. */
struct opencl_command {
    struct opencl_command *next;
    cl_event event; /* the probe's reference */
    struct opencl_queue queue;
    uint32_t correlation;
    uint8_t kind, direction, from_memory, to_memory; /* enum opencl_kind; enums of the schema */
    int64_t call_start, call_end;
    const char *name; /* never freed; NULL: that of its kind */
    uint32_t grid[3], block[3], graph;
    uint64_t bytes;
    int64_t start, end, queued;  /* of the device's clock, once read; queued 0: not read */
    int64_t seen;                /* when its end was seen, on CLOCK_MONOTONIC */
    struct opencl_bounds bounds; /* of the clock, once learned */
};

/* Takes over the command's event. Fails when the event will not be read. Not between probe_enter()
 * and probe_leave(). */
bool opencl_await(const struct opencl_command *command);
/* Reads what is complete now, before the driver may forget it. */
void opencl_events_collect(void);
/* Likewise after a synchronization, if there are enough of them to be worth it. */
void opencl_events_synchronized(void);
/* A queue was created in this process: starts the reader once. */
void opencl_events_start(void);
/* Counts a command whose times are unknown. */
enum opencl_untimed {
    OPENCL_UNTIMED_QUEUE,  /* the driver refused profiling */
    OPENCL_UNTIMED_EVENT,  /* the driver has no times for it */
    OPENCL_UNTIMED_FAILED, /* the command failed */
    OPENCL_UNTIMED_FULL,   /* too many at a time */
    OPENCL_UNTIMED_EXIT,   /* not completed at exit() */
    OPENCL_UNTIMED_REASONS
};
void opencl_count_untimed(enum opencl_untimed reason);

/* The event that a command signals, for later waits. With probe_enter(). */
void opencl_event_made(cl_event event, const struct opencl_queue *queue, uint32_t correlation);
/* A queue waits for events of other queues, or the host for events. */
void opencl_put_waits(struct spool_lane *lane, const struct opencl_queue *queue,
                      uint32_t correlation, int64_t start, int64_t end, cl_uint count,
                      const cl_event *events);
void opencl_put_event_wait(struct spool_lane *lane, uint32_t correlation, int64_t start,
                           int64_t end, cl_uint count, const cl_event *events);
void opencl_put_queue_wait(struct spool_lane *lane, const struct opencl_queue *queue,
                           uint32_t correlation, int64_t start, int64_t end);

/* ---- Clock: with the lock of opencl_events.c --------------------------------------------- */

enum { OPENCL_BATCH = 1024 }; /* commands that are converted together */

/* Reads the device's timer, for the next opencl_time_learn(). */
void opencl_time_read_timer(struct opencl_device *device);
/* Fills in the bounds of completed commands, a batch at most; they may be of several devices. */
void opencl_time_learn(struct opencl_command *commands);
/* The time on CLOCK_MONOTONIC, and its largest error. */
int64_t opencl_time_convert(const struct opencl_bounds *bounds, int64_t time);
int64_t opencl_time_error(const struct opencl_bounds *bounds);

/* ---- Memory ------------------------------------------------------------------------------ */

/* enum memory_kind of a host pointer in a copy to or from the device. */
uint8_t opencl_host_memory(const struct opencl_device *device, const void *pointer);
/* Whether the pointer is in an SVM or USM allocation. */
bool opencl_is_shared(const void *pointer);
void opencl_mapped(cl_mem memory, const void *pointer, size_t bytes);
void opencl_unmapped(const void *pointer);

#endif
