/* An open Vulkan device, shared by the files that implement its table of functions. */
#ifndef RIDGE_DEVICE_VULKAN_VULKAN_H
#define RIDGE_DEVICE_VULKAN_VULKAN_H

#include "base/text.h"
#include "device/clock.h"
#include "device/device.h"
#include "abi/vulkan_driver.h"

enum { VULKAN_QUEUES = 2, VULKAN_BATCHES = 8, VULKAN_SLOTS = 4 };

/* Properties of a device in addition to its capabilities. */
struct vulkan_traits {
    vk_physical_device device;
    uint32_t family, family_queues; /* the queue family that is used, and queues in it */
    uint32_t timestamp_bits;        /* 0: it has no timestamps */
    double timestamp_period;        /* nanoseconds per tick */
    uint32_t grid_max[3];
    bool f64, f16, keeps_nan, calibrated;
    bool memory_model;      /* of Vulkan, which cooperative matrices need */
    bool cooperative;       /* the feature and a fitting size of matrices */
    bool required_subgroup; /* pipelines can require the subgroup size */
    const char *calibrated_extension, *subgroup_extension; /* to enable, or NULL */
    struct vk_physical_device_memory_properties memory;
};
/* All devices, GPUs first. Free with memory_free(). Fails if there are none. */
bool vulkan_places(const struct vulkan_driver *driver, vk_physical_device **places, unsigned *count,
                   struct status *status);
/* Fails, with as much filled in as could be, for a device that ridge cannot use. */
bool vulkan_describe(const struct vulkan_driver *driver, vk_physical_device place,
                     struct device_capabilities *capabilities, struct vulkan_traits *traits,
                     struct status *status);

/* Objects that are freed when the device closes, in one list per type. */
struct vulkan_link {
    struct vulkan_link *next, **place;
};

/* A buffer with memory of its own. */
struct vulkan_memory {
    struct vulkan_link link;
    vk_handle buffer, memory;
    uint64_t address, bytes;
    void *mapped; /* NULL: the host cannot access it */
};

struct vulkan_kernel {
    struct device_kernel base;
    struct vulkan_link link;
    vk_handle pipeline;
    uint32_t threads;
};

struct vulkan_graph {
    struct vulkan_link link;
    vk_command_buffer commands;
    struct vulkan_memory *arguments;
    uint64_t values[VULKAN_QUEUES]; /* done when the queues reach these */
};

/* Commands that are submitted together. */
struct vulkan_batch {
    vk_command_buffer commands;
    struct vulkan_memory *arguments; /* of launches with more than push constants hold */
    size_t used;                     /* bytes of them */
    uint64_t value;                  /* done when the queue reaches it */
};

struct vulkan_queue {
    vk_queue queue;
    vk_handle timeline; /* a semaphore that counts submissions */
    uint64_t submitted;
    uint64_t awaited[VULKAN_QUEUES]; /* values that the next submission waits for */
    struct vulkan_batch batches[VULKAN_BATCHES];
    unsigned current;  /* batch */
    bool recording;    /* into it */
    unsigned launches; /* since the host last waited for the queue */
};

/* Staging memory for one copy. */
struct vulkan_slot {
    struct vulkan_memory *memory;
    unsigned queue;
    uint64_t value; /* free when the queue reaches it */
};

/* Two timestamps, and the submission that writes them. */
struct vulkan_stamp {
    unsigned queue;
    uint64_t value;
    uint32_t next_free; /* number + 1, or 0 */
};

struct vulkan_clock {
    struct device_clock time;
    struct vulkan_stamp *stamps;
    size_t capacity;
    vk_handle *pools; /* of STAMPS_PER_POOL stamps each */
    size_t pool_count, pool_capacity;
    uint32_t free; /* the first one's number + 1, or 0 */
};

struct vulkan_device {
    struct device base;
    const struct vulkan_driver *driver;
    struct vulkan_calls calls;
    struct vulkan_traits traits;
    vk_device device;
    vk_handle commands, layout; /* command pool, pipeline layout */
    struct vulkan_queue queues[VULKAN_QUEUES];
    struct vulkan_slot slots[VULKAN_SLOTS];
    unsigned next_slot;
    struct vulkan_clock clock;
    struct vulkan_link *memories, *pinned, *kernels, *graphs;
};

static inline struct vulkan_device *vulkan_of(struct device *device) {
    return (struct vulkan_device *)device;
}
static inline struct vulkan_memory *vulkan_object(struct device_memory memory) {
    return (struct vulkan_memory *)(uintptr_t)memory.handle;
}

void vulkan_link_add(struct vulkan_link **list, struct vulkan_link *link);
void vulkan_link_remove(struct vulkan_link *link);

/* queues.c */
bool vulkan_queues_create(struct vulkan_device *device, struct status *status);
void vulkan_queues_destroy(struct vulkan_device *device);
/* The batch that the queue's next command goes into, with a barrier behind all earlier commands.
 * `bytes` of its arguments will be free. */
bool vulkan_begin(struct vulkan_device *device, unsigned queue, size_t bytes,
                  struct vulkan_batch **batch, struct status *status);
/* Orders all later commands of a command buffer after the earlier ones. */
void vulkan_barrier(struct vulkan_device *device, vk_command_buffer commands);
bool vulkan_submit(struct vulkan_device *device, unsigned queue, struct status *status);
/* Submits other commands than the batch's. */
bool vulkan_submit_commands(struct vulkan_device *device, unsigned queue,
                            vk_command_buffer commands, struct status *status);
/* After a launch: submits it, or lets more launches join it. */
bool vulkan_submit_some(struct vulkan_device *device, unsigned queue, struct status *status);
/* The value of the queue when everything recorded so far is done. */
uint64_t vulkan_next_value(const struct vulkan_device *device, unsigned queue);
/* Waits for a submission; submits the batch if it is the current one. */
bool vulkan_wait(struct vulkan_device *device, unsigned queue, uint64_t value,
                 struct status *status);
bool vulkan_record(struct device *device, unsigned queue, struct device_event *event,
                   struct status *status);
void vulkan_event_release(struct device *device, struct device_event event);
bool vulkan_reached(struct device *device, struct device_event event);
bool vulkan_order(struct device *device, unsigned queue, struct device_event event,
                  struct status *status);
bool vulkan_finish(struct device *device, struct status *status);

/* clock.c */
/* Around a command: vulkan_stamp_begin() after the barrier, vulkan_stamp_end() at last. Without a
 * stamp they do nothing. */
bool vulkan_stamp_begin(struct vulkan_device *device, unsigned queue, vk_command_buffer commands,
                        struct device_stamp *stamp, struct status *status);
void vulkan_stamp_end(struct vulkan_device *device, unsigned queue, vk_command_buffer commands,
                      struct device_stamp *stamp);
void vulkan_clock_destroy(struct vulkan_device *device);
bool vulkan_resolve(struct device *device, struct device_stamp *stamp, int64_t *start, int64_t *end,
                    struct status *status);
int64_t vulkan_clock_error(struct device *device);
void vulkan_prepare_stamps(struct device *device, char *how, size_t capacity);

/* memory.c */
enum vulkan_use { VULKAN_DEVICE_MEMORY, VULKAN_UPLOAD, VULKAN_READBACK };
bool vulkan_memory_create(struct vulkan_device *device, size_t bytes, enum vulkan_use use,
                          struct vulkan_memory **memory, struct status *status);
void vulkan_memory_destroy(struct vulkan_device *device, struct vulkan_memory *memory);
bool vulkan_buffer_allocate(struct device *device, size_t bytes, struct device_memory *memory,
                            struct status *status);
void vulkan_buffer_release(struct device *device, struct device_memory memory);
bool vulkan_host_allocate(struct device *device, size_t bytes, void **memory,
                          struct status *status);
void vulkan_host_release(struct device *device, void *memory);

/* copy.c */
bool vulkan_copy_in(struct device *device, unsigned queue, struct device_memory to, size_t offset,
                    const void *from, size_t bytes, struct device_stamp *stamp,
                    struct status *status);
bool vulkan_copy_out(struct device *device, unsigned queue, void *to, struct device_memory from,
                     size_t offset, size_t bytes, struct device_stamp *stamp,
                     struct status *status);
bool vulkan_copy_within(struct device *device, unsigned queue, struct device_memory to,
                        size_t to_offset, struct device_memory from, size_t from_offset,
                        size_t bytes, struct device_stamp *stamp, struct status *status);

/* compile.c */
/* Fails if there is no compiler of GLSL on this machine. */
bool vulkan_compiler_check(struct status *status);
/* The lines of a source that uses cooperative matrices. */
extern const char vulkan_cooperative_extensions[];
/* Whether the compiler of GLSL supports them. */
bool vulkan_compiler_has_matrices(void);
/* Appends SPIR-V. */
bool vulkan_compile(const char *source, size_t length, struct buffer *spirv, struct status *status);

/* kernel.c */
/* The kernel's source, after the lines that depend on the device's features. */
void vulkan_write_source(const struct vulkan_device *device, const struct kernel_code *code,
                         struct buffer *source);
bool vulkan_load(struct device *device, const struct kernel_code *code,
                 struct device_kernel **kernel, struct status *status);
void vulkan_unload(struct device *device, struct device_kernel *kernel);

/* launch.c */
bool vulkan_launch(struct device *device, unsigned queue, const struct launch *launch,
                   struct device_stamp *stamp, struct status *status);
bool vulkan_graph_create(struct device *device, const struct launch *launches, unsigned count,
                         void **graph, struct status *status);
bool vulkan_graph_replay(struct device *device, unsigned queue, void *graph, struct status *status);
void vulkan_graph_destroy(struct device *device, void *graph);

#endif
