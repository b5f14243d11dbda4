/* An open Metal device, shared by the files that implement its table of functions.
 *
 * Ownership follows Objective-C's rules: methods whose names begin with `new` return an object that
 * ridge releases; everything else is autoreleased and is retained if it outlives the function.
 * Every function of the device's table runs inside its own autorelease pool.
 */
#ifndef RIDGE_DEVICE_METAL_METAL_H
#define RIDGE_DEVICE_METAL_METAL_H

#include "device/clock.h"
#include "device/device.h"
#include "abi/metal_library.h"

enum {
    METAL_QUEUES = 2,
    METAL_IN_FLIGHT = 32, /* committed command buffers of a queue */
    METAL_ALIGNMENT = 256,
};

/* Objects that are freed when the device closes, in one list per type. */
struct metal_link {
    struct metal_link *next, **place;
};

struct metal_memory {
    struct metal_link link;
    metal_id buffer;
    char *contents;
};

/* Host memory for copies: all memory is shared with the GPU, so this is plain memory. */
struct metal_host {
    struct metal_link link;
    void *memory;
};

/* A compiled kernel. It stays when it is unloaded: the same text is then not compiled again. */
struct metal_pipeline {
    struct metal_link link;
    uint64_t hash; /* of the text */
    size_t length;
    char name[120];
    metal_id state;
    uint32_t threads_max, static_memory;
};

struct metal_kernel {
    struct device_kernel base;
    struct metal_link link;
    const struct metal_pipeline *pipeline;
    bool has_dynamic; /* threadgroup memory of the launch's size */
};

struct metal_graph {
    struct metal_link link;
    unsigned count;
    struct metal_node {
        struct launch launch;
        struct launch_buffer *buffers;
        int64_t *scalars;
    } nodes[];
};

enum metal_encoder_kind { METAL_COMPUTE, METAL_BLIT };

/* Launches are encoded into an open command buffer; it is committed when it is full or when its
 * results are needed. */
struct metal_queue {
    metal_id queue;
    metal_id event;    /* MTLSharedEvent: marks of this queue are its values */
    uint64_t recorded; /* the last value */
    metal_id buffer, encoder;
    enum metal_encoder_kind kind;
    unsigned encoded;                    /* launches in the open buffer */
    unsigned capacity;                   /* launches with which it is committed */
    metal_id committed[METAL_IN_FLIGHT]; /* oldest first */
    unsigned committed_count;
    struct status failure; /* of a command buffer, not reported yet */
};

struct metal_device {
    struct device base;
    const struct metal_library *library;
    metal_id device;
    metal_id options; /* MTLCompileOptions */
    uint64_t buffer_max;
    struct metal_queue queues[METAL_QUEUES];
    struct device_clock clock; /* mach_absolute_time() in nanoseconds */
    struct metal_link *memories, *hosts, *pipelines, *kernels, *graphs;
};

static inline struct metal_device *metal_of(struct device *device) {
    return (struct metal_device *)device;
}
static inline const struct metal_memory *metal_memory_of(struct device_memory memory) {
    return (const struct metal_memory *)(uintptr_t)memory.handle;
}

void metal_link_add(struct metal_link **list, struct metal_link *link);
void metal_link_remove(struct metal_link *link);

/* describe.c */
void metal_describe(const struct metal_library *library, metal_id device,
                    struct device_capabilities *capabilities);
/* Whether this is macOS `major` or later. */
bool metal_system_at_least(const struct metal_library *library, metal_int major);

/* queues.c: callers have an autorelease pool */
bool metal_queues_create(struct metal_device *device, struct status *status);
void metal_queues_release(struct metal_device *device);
bool metal_queue(struct metal_device *device, unsigned number, struct metal_queue **queue,
                 struct status *status);
/* The queue's open encoder of this kind. */
bool metal_encode(struct metal_device *device, struct metal_queue *queue,
                  enum metal_encoder_kind kind, metal_id *encoder, struct status *status);
/* Commits the open command buffer, if there is one; `stamp` gets a reference to it. */
void metal_commit(struct metal_device *device, struct metal_queue *queue,
                  struct device_stamp *stamp);
/* After a launch without a stamp: commits if enough is encoded. */
void metal_submit(struct metal_device *device, struct metal_queue *queue);
/* Whether the queue has no work, neither open nor committed. */
bool metal_is_idle(struct metal_device *device, struct metal_queue *queue);
/* Waits for all work; reports the first command buffer that failed since the last report. */
bool metal_drain(struct metal_device *device, struct metal_queue *queue, struct status *status);
/* The message of an NSError in `status`. */
bool metal_fail(const struct metal_library *library, metal_id error, enum status_code code,
                const char *what, struct status *status);
bool metal_record(struct device *device, unsigned queue, struct device_event *event,
                  struct status *status);
void metal_event_release(struct device *device, struct device_event event);
bool metal_reached(struct device *device, struct device_event event);
bool metal_order(struct device *device, unsigned queue, struct device_event event,
                 struct status *status);
bool metal_finish(struct device *device, struct status *status);

/* clock.c */
/* A stamp of work that the host did between two times. */
void metal_stamp_host(struct device_stamp *stamp, int64_t start);
bool metal_resolve(struct device *device, struct device_stamp *stamp, int64_t *start, int64_t *end,
                   struct status *status);
int64_t metal_clock_error(struct device *device);
void metal_prepare_stamps(struct device *device, char *how, size_t capacity);

/* memory.c */
bool metal_allocate(struct device *device, size_t bytes, struct device_memory *memory,
                    struct status *status);
void metal_release(struct device *device, struct device_memory memory);
bool metal_host_allocate(struct device *device, size_t bytes, void **memory, struct status *status);
void metal_host_release(struct device *device, void *memory);
bool metal_copy_in(struct device *device, unsigned queue, struct device_memory to, size_t offset,
                   const void *from, size_t bytes, struct device_stamp *stamp,
                   struct status *status);
bool metal_copy_out(struct device *device, unsigned queue, void *to, struct device_memory from,
                    size_t offset, size_t bytes, struct device_stamp *stamp, struct status *status);
bool metal_copy_within(struct device *device, unsigned queue, struct device_memory to,
                       size_t to_offset, struct device_memory from, size_t from_offset,
                       size_t bytes, struct device_stamp *stamp, struct status *status);

/* kernel.c */
bool metal_options_create(struct metal_device *device, struct status *status);
bool metal_load(struct device *device, const struct kernel_code *code,
                struct device_kernel **kernel, struct status *status);
void metal_unload(struct device *device, struct device_kernel *kernel);
void metal_pipeline_free(struct metal_device *device, struct metal_link *link);

/* launch.c */
bool metal_launch(struct device *device, unsigned queue, const struct launch *launch,
                  struct device_stamp *stamp, struct status *status);
bool metal_graph_create(struct device *device, const struct launch *launches, unsigned count,
                        void **graph, struct status *status);
bool metal_graph_replay(struct device *device, unsigned queue, void *graph, struct status *status);
void metal_graph_destroy(struct device *device, void *graph);

#endif
