/* The Vulkan part of the probe, shared by its files.
 *
 * The probe is a layer between the program and the driver (layer.c). Calls are recorded by the
 * thread that makes them (calls.c, resources.c). While the program records a command buffer,
 * commands.c adds timestamp queries around each group of commands that a barrier separates from the
 * next, and notes the names of the shaders (names.c, spirv.c) and how much work they are
 * (descriptors.c, shader_work.h). A submission (submit.c) appends a
 * command buffer of the probe to each batch; it copies the results of the queries to a ring buffer
 * in host memory (queries.c, ring.c), so that the program may submit its command buffers again. One
 * thread reads the rings (reader.c) and converts the device's clock (device_clock.c).
 *
 * Objects of the program are found by their handles (objects.c). Everything that fails leaves the
 * program's own call as it is; commands without times are counted.
 */
#ifndef RIDGE_PROBE_VULKAN_VULKAN_H
#define RIDGE_PROBE_VULKAN_VULKAN_H

#include <stdatomic.h>

#include "abi/vulkan_functions.h"
#include "probe/probe.h"
#include "probe/vulkan/shader_work.h"
#include "trace/schema.h"

enum {
    VULKAN_DEVICES = 128, /* at a time */
    VULKAN_FAMILIES = 16, /* queue families with times */
    VULKAN_QUEUE_LABELS = 16,
    VULKAN_RINGS = 5, /* each four times as long as the one before */
    VULKAN_FIRST_INDEX = SPOOL_DEVICES_VULKAN
};

struct vulkan_instance {
    void *_Atomic key; /* the loader's word in the handles; NULL: unused */
    vk_instance handle;
    uint32_t version;
    vk_get_instance_function *get_function;
    struct vulkan_instance_functions next;
};

/* The time of a device's clock, converted with a recent pair of times. One thread at a time. */
struct vulkan_clock {
    bool has_calibration; /* VK_EXT_calibrated_timestamps is enabled */
    int32_t domain;       /* of the host's time */
    double period;        /* nanoseconds per tick */
    uint64_t device_time; /* at the same moment as host_time */
    int64_t host_time;
    int64_t reading_error;   /* the bound for this pair of times, when it was read; -1: none */
    int64_t read_at;         /* when that was */
    int64_t best_error;      /* the smallest of all readings; 0: none */
    int64_t error, reported; /* bounds for all times so far, in nanoseconds; -1: none */
};

/* A recorded command buffer. It outlives the program's, until its last submission has been read. */
struct vulkan_recording;

/* Queries are given out in blocks of QUERY_BLOCK. */
enum { QUERY_BLOCK = 64 };
struct vulkan_queries {
    _Atomic uint32_t lock;
    vk_handle *pools;
    uint32_t pool_count;
    uint32_t *idle; /* stack of block numbers */
    uint32_t idle_count;
};

/* Memory that the device writes and the reader reads, first in, first out. */
struct vulkan_submission;
struct vulkan_ring {
    vk_handle buffer, memory;
    uint64_t *words;
    uint64_t count;      /* of words */
    uint64_t head, tail; /* words ever taken and given back; the place is modulo count */
    struct vulkan_submission *first, *last;
};

struct vulkan_device {
    void *_Atomic key; /* NULL: unused; set last */
    vk_device handle;
    vk_physical_device physical;
    const struct vulkan_instance *instance;
    vk_get_device_function *get_function;
    vk_set_device_loader_data *set_loader_data;
    struct vulkan_device_functions next;
    _Atomic bool records; /* the probe is active */
    uint32_t number;      /* of this VkDevice: the context of its queues in the trace */
    uint32_t index;       /* of its physical device in the spool */
    uint32_t family_count;
    struct vk_queue_family_properties families[VULKAN_FAMILIES];
    struct vk_physical_device_memory_properties memory;
    struct vulkan_clock clock; /* the reader's */
    struct vulkan_queries queries;
    _Atomic uint32_t ring_lock;
    struct vulkan_ring rings[VULKAN_RINGS];
    _Atomic uint32_t ring_count;
    struct vulkan_queue *queues;
};

struct vulkan_queue {
    struct vulkan_queue *next;
    struct vulkan_device *device;
    vk_queue handle;
    uint32_t family, stream; /* stream: its number in the trace */
    bool timed;
    const char *_Atomic name;
    int64_t last_end;                     /* the reader's: end of its last activity, */
    uint64_t last_ticks;                  /* on the device's clock, */
    uint64_t incomplete_in;               /* and the pass in which results were missing */
    uint64_t labels[VULKAN_QUEUE_LABELS]; /* ids of open ranges */
    uint32_t label_depth;
    /* command buffers of the probe; the program serializes the use of a queue */
    vk_handle pool;
    struct vulkan_copier *idle, *pending, *last_pending;
    uint32_t unfenced; /* pending ones that no fence follows */
    vk_handle fence;
    struct vulkan_copier *fenced; /* the last one before the fence; NULL: it is not in use */
};

struct vulkan_pipeline {
    const char *name; /* interned; NULL: unknown */
    uint32_t block[3];
    struct shader_work *work; /* owned; NULL: unknown */
};

struct vulkan_buffer {
    uint64_t bytes;
    uint8_t memory; /* enum memory_kind */
};

/* ---- Commands of a recording ------------------------------------------------------------- */

enum vulkan_entry_kind {
    VULKAN_KERNEL,
    VULKAN_COPY,
    VULKAN_SET,
    VULKAN_CHILD, /* a secondary command buffer */
    VULKAN_LABEL, /* begin of a label */
    VULKAN_LABEL_END,
};
#define VULKAN_NO_QUERY UINT32_MAX

struct vulkan_entry {
    uint8_t kind; /* enum vulkan_entry_kind */
    uint8_t direction, from_memory, to_memory;
    uint32_t commands;     /* of the program, timed together */
    uint32_t query;        /* the first of two, numbered in the recording */
    uint32_t grid[3];      /* of a single dispatch; 0: unknown or different */
    uint32_t block[3];     /* likewise */
    const char *name;      /* interned */
    uint64_t bytes;        /* BYTES_UNKNOWN, or the sum */
    uint64_t flops;        /* 0: unknown, or the sum */
    const char *names[3];  /* of kernels: the first distinct ones */
    uint32_t name_uses[3]; /* their number of commands */
    struct vulkan_recording *child;
};

struct vulkan_recording {
    _Atomic uint32_t references;
    struct vulkan_device *device;
    struct vulkan_entry *entries;
    uint32_t count, capacity;
    uint32_t *blocks; /* of queries */
    uint32_t block_count, block_capacity;
    uint32_t query_count;
    uint32_t children;
    uint64_t commands; /* of the program, without those of children */
    uint64_t untimed;  /* of these, without queries */
    const char *why;   /* they have none */
};

/* Takes NULL. */
void vulkan_recording_release(struct vulkan_recording *recording);
/* The finished recording of a command buffer, or NULL. */
struct vulkan_recording *vulkan_recording_of(const struct vulkan_device *device,
                                             vk_command_buffer buffer);

/* What the next dispatch of a command buffer is given; NULL: it is not recorded. */
struct shader_arguments *vulkan_arguments_of(const struct vulkan_device *device,
                                             vk_command_buffer buffer);
/* Takes NULL. */
void vulkan_pipeline_release(struct vulkan_pipeline *pipeline);

/* ---- Submissions ------------------------------------------------------------------------- */

/* One batch whose results arrive in a ring. The word after them is set when they are complete. */
struct vulkan_submission {
    struct vulkan_submission *next;
    struct vulkan_queue *queue;
    struct vulkan_ring *ring;
    uint64_t start, end; /* its words in the ring, the marker included */
    uint64_t *results;
    uint32_t words; /* results, without the marker */
    uint32_t correlation;
    uint32_t looks; /* passes of the reader in which a result was missing */
    int64_t submitted_at;
    bool captured;
    _Atomic bool done;
    uint32_t count; /* of recordings */
    struct vulkan_recording *recordings[];
};

/* ---- Memory (memory.c): blocks of powers of two, without malloc() ------------------------- */

void *vulkan_allocate(size_t bytes); /* zeroed, or NULL */
void vulkan_free(void *block);       /* takes NULL */
/* Grows an array to at least `count` elements of `size` bytes. */
bool vulkan_grow(void **array, uint32_t *capacity, uint32_t count, size_t size);

/* ---- Objects by handle (objects.c) -------------------------------------------------------- */

enum vulkan_object {
    OBJECT_QUEUE = 1,
    OBJECT_COMMAND_BUFFER,
    OBJECT_COMMAND_POOL,
    OBJECT_PIPELINE,
    OBJECT_MODULE,
    OBJECT_FENCE,
    OBJECT_SEMAPHORE,
    OBJECT_BUFFER,
    OBJECT_MEMORY,
    OBJECT_DESCRIPTOR_POOL,
    OBJECT_DESCRIPTOR_SET,
    OBJECT_UPDATE_TEMPLATE,
};
/* Replaces an object with the same handle, which it returns. False in *added when out of memory. */
void *vulkan_object_set(const struct vulkan_device *device, enum vulkan_object type,
                        uint64_t handle, void *object, bool *added);
void *vulkan_object_find(const struct vulkan_device *device, enum vulkan_object type,
                         uint64_t handle);
/* The removed object, or NULL. */
void *vulkan_object_take(const struct vulkan_device *device, enum vulkan_object type,
                         uint64_t handle);
/* Releases all objects of the device. */
void vulkan_objects_forget(const struct vulkan_device *device);

/* ---- The layer (layer.c) ------------------------------------------------------------------ */

/* The device of a dispatchable handle. */
struct vulkan_device *vulkan_device_of(const void *handle);
static inline uint64_t vulkan_handle(const void *handle) {
    return (uint64_t)(uintptr_t)handle;
}
/* NULL when the probe is not active in this process. */
struct probe *vulkan_probe(void);
/* Whether each command has its own times. */
bool vulkan_probe_by_dispatch(void);

/* The probe's functions by name. */
struct vulkan_hook {
    const char *name, *alias;
    vk_function *function;
};
/* Samples show the names of symbols: these have those of the program's calls. They are hidden. */
#define VULKAN_DECLARE_HOOK(name, alias, result, parameters)                                       \
    result probe_##name parameters __asm__(#name);
VULKAN_REPLACED_FUNCTIONS(VULKAN_DECLARE_HOOK)

/* Whether command buffers of the family can have timestamps. */
bool vulkan_family_is_timed(const struct vulkan_device *device, uint32_t family);

/* ---- Calls (calls.c) ---------------------------------------------------------------------- */

struct vulkan_call {
    const char *name; /* a constant */
    uint8_t class;    /* enum call_class */
    int64_t start;
    int32_t result;
    uint32_t correlation;
};
/* A call that ends now. Returns its end. */
int64_t vulkan_put_call(const struct vulkan_call *call);
uint32_t vulkan_next_correlation(void);
/* A wait of the calling thread, or of a queue, for a submission. */
struct vulkan_wait {
    enum wait_kind kind;
    int64_t start, end;
    const struct vulkan_device *device;
    const struct vulkan_queue *queue; /* that waits; NULL: the thread */
    const struct vulkan_queue *awaited;
    uint32_t correlation; /* of the waiting call */
    uint32_t awaited_correlation;
    uint32_t event;
};
void vulkan_put_wait(const struct vulkan_wait *wait);
void vulkan_put_meta(const char *key, struct text value);
/* Adds to the number of commands without times; the reader reports them. `why` is a constant. */
void vulkan_count_untimed(const char *why, uint64_t commands);
/* The text in a form that is never freed. NULL when out of memory. */
const char *vulkan_intern(struct text text);

/* ---- Names (names.c, spirv.c) ------------------------------------------------------------- */

struct spirv_entry {
    struct text source; /* name of the source file, or "" */
    uint32_t block[3];  /* 0: unknown */
    bool found;
};
/* Reads the compute entry point `name` of a module of `words` words. */
struct spirv_entry spirv_find_entry(const uint32_t *code, size_t words, const char *name,
                                    const struct vk_specialization_info *values);

void vulkan_object_release(enum vulkan_object type, void *object);

/* ---- Queries and rings (queries.c, ring.c) ------------------------------------------------ */

/* Adds a block of queries to a recording and resets it in the command buffer. */
bool vulkan_queries_add_block(struct vulkan_recording *recording, vk_command_buffer buffer);
void vulkan_queries_release(struct vulkan_recording *recording);
/* Records copies of all results of a recording to a buffer; returns the offset after them. */
uint64_t vulkan_queries_copy(const struct vulkan_recording *recording, vk_command_buffer buffer,
                             vk_handle to, uint64_t offset);
void vulkan_query_locate(const struct vulkan_recording *recording, uint32_t query, vk_handle *pool,
                         uint32_t *number);
void vulkan_queries_destroy(struct vulkan_device *device);

/* Takes `words` words and a marker for the submission; false when there is no space. */
bool vulkan_ring_take(struct vulkan_device *device, struct vulkan_submission *submission,
                      uint32_t words);
/* Gives back the words of the submissions that are done, and frees these. */
void vulkan_ring_collect(struct vulkan_device *device, struct vulkan_ring *ring);
/* The first submission of a ring, or the one after `before`. */
struct vulkan_submission *vulkan_ring_next(struct vulkan_device *device, struct vulkan_ring *ring,
                                           struct vulkan_submission *before);
/* Releases the recordings of a submission. */
void vulkan_submission_release(struct vulkan_submission *submission);
void vulkan_rings_destroy(struct vulkan_device *device);

/* ---- The clock (device_clock.c) ------------------------------------------------------------ */

/* For vkCreateDevice: whether to enable an extension of this name, and the domain to use. */
const char *vulkan_clock_extension(const struct vulkan_instance *instance,
                                   vk_physical_device physical, int32_t *domain);
/* After vkCreateDevice, before the program can use its queues. */
void vulkan_clock_start(struct vulkan_device *device, const struct vk_device_create_info *info);
/* A fresh pair of times, if the device can provide one. */
void vulkan_clock_update(struct vulkan_device *device);
/* A time not long before `now`. */
int64_t vulkan_clock_convert(const struct vulkan_device *device, uint32_t valid_bits,
                             uint64_t ticks, int64_t now);

/* Work seems to begin `early` before its submission, and to end `late` after it was read; negative:
 * after it, and before it. */
void vulkan_clock_check(struct vulkan_device *device, int64_t early, int64_t late);

/* ---- The reader (reader.c) ----------------------------------------------------------------- */

void vulkan_reader_start(void);
/* Reads what is complete and forgets the device. */
void vulkan_reader_remove(struct vulkan_device *device);
/* The devices, for the reader: with its lock. */
struct vulkan_device *vulkan_device_at(unsigned number);
/* Puts the description of the device into a lane. */
bool vulkan_device_put(struct spool_lane *lane, const struct vulkan_device *device);
void vulkan_device_describe(struct vulkan_device *device);
void vulkan_queue_destroy(struct vulkan_queue *queue);

#endif
