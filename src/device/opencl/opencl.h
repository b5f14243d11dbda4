/* An open OpenCL device, shared by the files that implement its table of functions. */
#ifndef RIDGE_DEVICE_OPENCL_OPENCL_H
#define RIDGE_DEVICE_OPENCL_OPENCL_H

#include "device/clock.h"
#include "device/device.h"
#include "abi/opencl_driver.h"

enum { OPENCL_QUEUES = 2 };

/* A device and the platform it belongs to. */
struct opencl_place {
    cl_platform_id platform;
    cl_device_id device;
};
/* All devices of all platforms: GPUs first, then accelerators, then CPUs. Free with
 * memory_free(). Fails if there are none. */
bool opencl_places(const struct opencl_driver *driver, struct opencl_place **places,
                   unsigned *count, struct status *status);

/* Properties of a device in addition to its capabilities. */
struct opencl_traits {
    uint64_t allocation_max;
    char options[128]; /* for the compiler */
    char version[128]; /* CL_DEVICE_VERSION */
};
/* Fails, with as much filled in as could be, for a device that ridge cannot use. */
bool opencl_describe(const struct opencl_driver *driver, const struct opencl_place *place,
                     struct device_capabilities *capabilities, struct opencl_traits *traits,
                     struct status *status);

/* Objects that are freed when the device closes, in one list per type. */
struct opencl_link {
    struct opencl_link *next, **place;
};

struct opencl_memory {
    struct opencl_link link;
    cl_mem object;
};

/* Memory of the driver's that the host uses while it is mapped. */
struct opencl_pinned {
    struct opencl_link link;
    cl_mem object;
    void *memory;
};

struct opencl_kernel {
    struct device_kernel base;
    struct opencl_link link;
    cl_program program;
    cl_kernel object;
    size_t block_max;
    bool has_dynamic; /* a last parameter in local memory, of the launch's size */
};

struct opencl_graph {
    struct opencl_link link;
    unsigned count;
    struct opencl_node {
        cl_kernel object; /* owned by the graph: it keeps its parameters */
        struct opencl_shape {
            size_t global[3], local[3];
        } shape;
        char name[120];
    } nodes[];
};

struct opencl_device {
    struct device base;
    const struct opencl_driver *driver;
    struct opencl_place place;
    struct opencl_traits traits;
    cl_context context;
    cl_command_queue queues[OPENCL_QUEUES];
    unsigned launches[OPENCL_QUEUES]; /* since the host last waited for the queue */
    cl_command_queue side;            /* for what must not wait behind the work */
    bool profiling;                   /* the queues stamp their work */
    cl_mem scratch;                   /* a few bytes, to write to when reading the clock */
    struct device_clock clock;
    struct opencl_link *memories, *pinned, *kernels, *graphs;
};

static inline struct opencl_device *opencl_of(struct device *device) {
    return (struct opencl_device *)device;
}
static inline cl_mem opencl_object(struct device_memory memory) {
    return memory.handle ? ((struct opencl_memory *)(uintptr_t)memory.handle)->object : NULL;
}

void opencl_link_add(struct opencl_link **list, struct opencl_link *link);
void opencl_link_remove(struct opencl_link *link);

/* queues.c */
bool opencl_queue(struct opencl_device *device, unsigned number, cl_command_queue *queue,
                  struct status *status);
/* After a launch: makes sure that the driver submits it soon. */
bool opencl_submit(struct opencl_device *device, unsigned number, struct status *status);
bool opencl_queues_create(struct opencl_device *device, bool profiling, struct status *status);
void opencl_queues_release(struct opencl_device *device);
bool opencl_record(struct device *device, unsigned queue, struct device_event *event,
                   struct status *status);
void opencl_event_release(struct device *device, struct device_event event);
bool opencl_reached(struct device *device, struct device_event event);
bool opencl_order(struct device *device, unsigned queue, struct device_event event,
                  struct status *status);
bool opencl_finish(struct device *device, struct status *status);

/* clock.c */
/* Starts a command with an optional stamp: `wanted` is set to the place for its event, or NULL.
 * Call it before opencl_queue(): the first stamp replaces the queues. */
bool opencl_stamp(struct opencl_device *device, struct device_stamp *stamp, cl_event *event,
                  cl_event **wanted, struct status *status);
bool opencl_resolve(struct device *device, struct device_stamp *stamp, int64_t *start, int64_t *end,
                    struct status *status);
int64_t opencl_clock_error(struct device *device);
void opencl_prepare_stamps(struct device *device, char *how, size_t capacity);

/* memory.c */
bool opencl_allocate(struct device *device, size_t bytes, struct device_memory *memory,
                     struct status *status);
void opencl_release(struct device *device, struct device_memory memory);
bool opencl_copy_in(struct device *device, unsigned queue, struct device_memory to, size_t offset,
                    const void *from, size_t bytes, struct device_stamp *stamp,
                    struct status *status);
bool opencl_copy_out(struct device *device, unsigned queue, void *to, struct device_memory from,
                     size_t offset, size_t bytes, struct device_stamp *stamp,
                     struct status *status);
bool opencl_copy_within(struct device *device, unsigned queue, struct device_memory to,
                        size_t to_offset, struct device_memory from, size_t from_offset,
                        size_t bytes, struct device_stamp *stamp, struct status *status);

/* pinned.c */
bool opencl_host_allocate(struct device *device, size_t bytes, void **memory,
                          struct status *status);
void opencl_host_release(struct device *device, void *memory);

/* program.c */
bool opencl_load(struct device *device, const struct kernel_code *code,
                 struct device_kernel **kernel, struct status *status);
void opencl_unload(struct device *device, struct device_kernel *kernel);

/* launch.c */
bool opencl_launch(struct device *device, unsigned queue, const struct launch *launch,
                   struct device_stamp *stamp, struct status *status);
bool opencl_graph_create(struct device *device, const struct launch *launches, unsigned count,
                         void **graph, struct status *status);
bool opencl_graph_replay(struct device *device, unsigned queue, void *graph, struct status *status);
void opencl_graph_destroy(struct device *device, void *graph);

#endif
