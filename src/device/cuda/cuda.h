/* An open CUDA device, shared by the files of this folder.
 *
 * It uses the GPU's primary context, together with the rest of the process. The context is made
 * current once per thread; a thread that makes another one current must restore this one before
 * it uses the device again.
 */
#ifndef RIDGE_DEVICE_CUDA_CUDA_H
#define RIDGE_DEVICE_CUDA_CUDA_H

#include "device/cuda/activity.h"
#include "abi/cuda_driver.h"
#include "device/device.h"

enum {
    CUDA_QUEUES = 4,
    CUDA_ALIGNMENT = 256, /* alignment of cuMemAlloc() */
    CUDA_ANCHORS = 64,
    CUDA_STAGING_SLOTS = 2,
};

/* Events of one kind. `all` has all of them; `idle`, with the same capacity, those that are not
 * in use. */
struct cuda_events {
    unsigned flags;
    cuda_event *all, *idle;
    size_t count, idle_count, capacity, idle_capacity;
};

/* A time known on both clocks. */
struct cuda_anchor {
    cuda_event event;
    int64_t host;  /* CLOCK_MONOTONIC, nanoseconds */
    int64_t error; /* of `host`, at most */
    double since;  /* nanoseconds of the device since the anchor before; 0 for the first */
};

struct cuda_clock {
    struct cuda_anchor anchors[CUDA_ANCHORS]; /* a ring */
    uint64_t count;                           /* of anchors ever made */
    cuda_event spare[2];
};

/* Pinned memory that copies pass through. A slot is filled from its start; before it is filled
 * again, all queues that copy from it must have done so. */
struct cuda_staging {
    struct {
        char *memory;
        cuda_event read[CUDA_QUEUES]; /* recorded when the slot was full; NULL: not used there */
    } slots[CUDA_STAGING_SLOTS];
    unsigned active;
    size_t used;        /* of the active slot */
    unsigned queues;    /* that copy from the active slot, one bit each */
    bool cannot_be_had; /* the system refused the memory */
};

/* Pinned memory in use. */
struct cuda_pinned {
    struct cuda_pinned *next;
    char *memory;
    size_t bytes;
};

/* Scratch memory of matrix products that run one after another. */
struct cuda_workspace {
    cuda_address address;
    size_t bytes;
};

struct cuda_matmul;

struct cuda_kernel {
    struct device_kernel base;
    struct cuda_kernel *previous, *next;
    cuda_module module;
    cuda_function function;
    struct cuda_matmul *matmul; /* NULL for compiled source */
};

struct cuda_replay;

struct cuda_device {
    struct device base;
    const struct cuda_driver *driver;
    uint64_t generation; /* differs for every device ever opened */
    cuda_ordinal ordinal;
    cuda_context context;
    cuda_stream streams[CUDA_QUEUES];
    cuda_stream side; /* never has a queue's work: for captures, clocks and measurements */
    struct cuda_events marks, times;
    struct cuda_clock clock;
    struct cuda_activities activities;
    struct cuda_staging staging;
    struct cuda_pinned *pinned;
    cuda_address *allocations;
    size_t allocation_count, allocation_capacity;
    struct cuda_kernel *kernels;
    struct cuda_replay *replays;
    const struct cuda_blas *blas; /* NULL without cuBLASLt */
    blas_handle blas_handle;      /* NULL until the first product */
    struct cuda_workspace workspaces[CUDA_QUEUES];
    uint64_t launches;       /* since the host last waited for everything */
    const char *last_launch; /* name of the last one; NULL if there is none */
    bool lost;
    char lost_message[600];
};

static inline struct cuda_device *cuda_of(struct device *device) {
    return (struct cuda_device *)device;
}

/* ---- Failure: failure.c ------------------------------------------------------------------ */

/* Explains a driver error and its remedy, before a device is open. */
bool cuda_driver_failed(const struct cuda_driver *driver, cuda_result result, const char *call,
                        struct status *status);
/* The same for an open device: errors after which nothing works any more mark it as lost. */
bool cuda_failed(struct cuda_device *cuda, cuda_result result, const char *call,
                 struct status *status);
bool cuda_blas_failed(cuda_result result, const char *call, struct status *status);

/* Calls a driver function of an open device; false and a status that names it when it fails. */
#define CUDA_CALL(cuda, status, function, ...)                                                     \
    cuda_succeeded(cuda, (cuda)->driver->function(__VA_ARGS__), #function, status)
static inline bool cuda_succeeded(struct cuda_device *cuda, cuda_result result, const char *call,
                                  struct status *status) {
    return result == CUDA_SUCCEEDED || cuda_failed(cuda, result, call, status);
}

/* Before any use: the device is not lost and its context is this thread's. */
extern _Thread_local uint64_t cuda_generation_here;
bool cuda_enter_slowly(struct cuda_device *cuda, struct status *status);
static inline bool cuda_enter(struct cuda_device *cuda, struct status *status) {
    return (cuda_generation_here == cuda->generation && !cuda->lost) ||
           cuda_enter_slowly(cuda, status);
}
/* As cuda_enter(), and the queue exists. */
bool cuda_enter_queue(struct cuda_device *cuda, unsigned queue, struct status *status);
/* Waits for all work of the context. */
bool cuda_wait(struct cuda_device *cuda, struct status *status);

/* ---- Capabilities: describe.c -------------------------------------------------------------- */

/* The initialized driver and the number of its GPUs, at least one. */
const struct cuda_driver *cuda_initialize(unsigned *count, struct status *status);
/* Fills the capabilities; also when it fails because nothing can be compiled for the GPU. */
bool cuda_describe(const struct cuda_driver *driver, cuda_ordinal ordinal,
                   struct device_capabilities *capabilities, struct status *status);

/* ---- Memory: memory.c -------------------------------------------------------------------- */

bool cuda_allocate(struct device *device, size_t bytes, struct device_memory *memory,
                   struct status *status);
void cuda_release(struct device *device, struct device_memory memory);
void cuda_release_all(struct cuda_device *cuda);
/* Grows the workspace to at least `bytes`; its content is lost. Waits for the stream if it must
 * be replaced. */
bool cuda_workspace_grow(struct cuda_device *cuda, struct cuda_workspace *workspace, size_t bytes,
                         cuda_stream stream, struct status *status);

/* ---- Pinned memory: pinned.c --------------------------------------------------------------- */

bool cuda_host_allocate(struct device *device, size_t bytes, void **memory, struct status *status);
void cuda_host_release(struct device *device, void *memory);
/* Whether all of it is memory of cuda_host_allocate(). */
bool cuda_is_pinned(const struct cuda_device *cuda, const void *memory, size_t bytes);

/* ---- Copies: copy.c ---------------------------------------------------------------------- */

bool cuda_copy_in(struct device *device, unsigned queue, struct device_memory to, size_t offset,
                  const void *from, size_t bytes, struct device_stamp *stamp,
                  struct status *status);
bool cuda_copy_out(struct device *device, unsigned queue, void *to, struct device_memory from,
                   size_t offset, size_t bytes, struct device_stamp *stamp, struct status *status);
bool cuda_copy_within(struct device *device, unsigned queue, struct device_memory to,
                      size_t to_offset, struct device_memory from, size_t from_offset, size_t bytes,
                      struct device_stamp *stamp, struct status *status);
void cuda_staging_finish(struct cuda_device *cuda);

/* ---- Events: event.c --------------------------------------------------------------------- */

cuda_event cuda_event_take(struct cuda_device *cuda, struct cuda_events *events,
                           struct status *status);
/* Accepts NULL. */
void cuda_event_give(struct cuda_events *events, cuda_event event);
void cuda_events_finish(struct cuda_device *cuda, struct cuda_events *events);
/* The event of a handle of struct device_event or struct device_stamp. */
static inline cuda_event cuda_event_of(uint64_t handle) {
    return (cuda_event)(uintptr_t)handle;
}

bool cuda_record(struct device *device, unsigned queue, struct device_event *event,
                 struct status *status);
void cuda_event_release(struct device *device, struct device_event event);
bool cuda_reached(struct device *device, struct device_event event);
bool cuda_order(struct device *device, unsigned queue, struct device_event event,
                struct status *status);

/* ---- Time: stamp.c ------------------------------------------------------------------------- */

/* Mark the start and end of work on a stream. With a NULL stamp nothing is recorded and the work
 * is not slowed down. After a failure the stamp is empty. */
bool cuda_stamp_begin(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                      struct status *status);
bool cuda_stamp_end(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                    struct status *status);
void cuda_stamp_cancel(struct cuda_device *cuda, struct device_stamp *stamp);
bool cuda_resolve(struct device *device, struct device_stamp *stamp, int64_t *start, int64_t *end,
                  struct status *status);
int64_t cuda_clock_error(struct device *device);
void cuda_prepare_stamps(struct device *device, char *how, size_t capacity);

/* ---- Time by events: clock.c ----------------------------------------------------------------- */

/* As those of stamp.c; the stamp is never NULL. */
bool clock_begin(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
                 struct status *status);
bool clock_end(struct cuda_device *cuda, cuda_stream stream, struct device_stamp *stamp,
               struct status *status);
void clock_cancel(struct cuda_device *cuda, struct device_stamp *stamp);
/* Waits for the work; does not change the stamp. */
bool clock_times(struct cuda_device *cuda, const struct device_stamp *stamp, int64_t *start,
                 int64_t *end, struct status *status);
int64_t clock_error(const struct cuda_device *cuda);

/* ---- Kernels: kernel.c ------------------------------------------------------------------- */

bool cuda_load(struct device *device, const struct kernel_code *code, struct device_kernel **kernel,
               struct status *status);
void cuda_unload(struct device *device, struct device_kernel *kernel);
bool cuda_launch(struct device *device, unsigned queue, const struct launch *launch,
                 struct device_stamp *stamp, struct status *status);
/* Enqueues one launch on a stream; matrix products use the workspace, which grows as needed. */
bool cuda_enqueue(struct cuda_device *cuda, const struct launch *launch, cuda_stream stream,
                  struct cuda_workspace *workspace, struct status *status);

/* ---- Graphs: graph.c --------------------------------------------------------------------- */

bool cuda_graph_create(struct device *device, const struct launch *launches, unsigned count,
                       void **graph, struct status *status);
bool cuda_graph_replay(struct device *device, unsigned queue, void *graph, struct status *status);
void cuda_graph_destroy(struct device *device, void *graph);

/* ---- Matrix products: matmul.c, matmul_choice.c -------------------------------------------- */

bool cuda_matmul_create(struct cuda_device *cuda, const struct device_matmul *shape,
                        struct cuda_matmul **matmul, struct status *status);
void cuda_matmul_destroy(struct cuda_device *cuda, struct cuda_matmul *matmul);
/* Bytes of workspace that this launch of a product needs. */
bool cuda_matmul_workspace(struct cuda_device *cuda, const struct launch *launch, size_t *bytes,
                           struct status *status);
bool cuda_matmul_enqueue(struct cuda_device *cuda, const struct launch *launch, cuda_stream stream,
                         struct cuda_workspace *workspace, struct status *status);

#endif
