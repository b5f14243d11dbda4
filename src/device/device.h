/* The device interface: one small table of functions per kind of device, and their data types.
 *
 * A device knows memory, queues, kernels and time. It never sees an operation: src/gen and
 * src/tensor decide what a kernel does. On failure all functions return false with a status that
 * has the driver's reason. One thread at a time uses a device.
 */
#ifndef RIDGE_DEVICE_DEVICE_H
#define RIDGE_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <ridge.h>

#include "base/status.h"

/* What kind of code a device runs. */
enum device_language {
    LANGUAGE_NATIVE, /* functions of this program: struct native_code */
    LANGUAGE_CUDA,   /* CUDA C++ source, compiled at run time */
    LANGUAGE_OPENCL, /* OpenCL C source */
    LANGUAGE_METAL,  /* Metal source */
    LANGUAGE_GLSL,   /* GLSL source, compiled to SPIR-V for Vulkan */
};

struct device_capabilities {
    enum device_language language;
    char description[128]; /* "NVIDIA H200" */
    char vendor[64];
    char driver[128];
    char uuid[40];
    uint64_t memory_bytes;
    uint64_t cache_bytes;   /* last level shared by all units; 0 if unknown */
    uint32_t compute_units; /* multiprocessors; threads used, for the CPU */
    bool units_assumed;     /* the driver does not report compute_units */
    uint32_t subgroup;      /* threads that run in lockstep and can shuffle; 1 if unknown */
    uint32_t block_max;     /* threads in a block */
    uint32_t shared_bytes;  /* static shared memory of a block */
    uint32_t shared_max;    /* maximum dynamic shared memory of a block */
    uint32_t threads_per_unit;
    uint32_t registers_per_unit;
    uint32_t shared_per_unit;
    uint32_t clock_khz;
    uint64_t bandwidth;    /* bytes a second as the driver states it, or 0 */
    uint32_t major, minor; /* CUDA compute capability; Metal: the Apple GPU family, or 0 */
    uint32_t queues;       /* at least 1 */
    uint32_t alignment;    /* of every allocation, in bytes */
    bool is_gpu;
    bool half;           /* the language has a 16-bit float type to load and store */
    bool bfloat;         /* Metal: the language has bfloat */
    bool cooperative;    /* Vulkan: products of 16 x 16 f16 matrices into f32 by a subgroup */
    bool dot8;           /* dp4a */
    bool library_matmul; /* load() takes CODE_MATMUL */
    bool host_memory;    /* memory.handle is an address that the host may use */
    bool deterministic;  /* set by the options: choose nothing by measuring it */
    uint32_t threads;    /* CPU: that run, if work is divided for other compute_units; else 0 */
};

/* Metal: products of 8 x 8 matrices by a SIMD group, from the M1 on. */
static inline bool device_has_simdgroup_matrices(const struct device_capabilities *device) {
    return device->language == LANGUAGE_METAL && device->major >= 7;
}

struct device_memory {
    uint64_t
        handle; /* an address (cpu, cuda) or the object of the driver (metal, opencl, vulkan) */
    size_t bytes;
};

/* ---- Code ------------------------------------------------------------------------------- */

/* Native kernels run on a thread pool: threads call the function with the same call. All units must
 * be taken by native_take(): thread 0 is the only one that is certain to be there before a
 * native_barrier(). */
struct thread_pool;
struct native_call {
    void *const *buffers; /* offsets applied */
    const int64_t *scalars;
    const void *context; /* the code's */
    size_t units;        /* the launch's grid: units of work to distribute */
    unsigned thread, threads;
    void *scratch; /* scratch_bytes of this thread's own, 64-byte aligned, not cleared */
    void
        *shared; /* shared_bytes common to all threads, 64-byte aligned, not cleared; NULL when 0 */
    struct thread_pool *pool;
};
typedef void native_function(const struct native_call *call);
/* Takes up to `chunk` of the next units; false when none are left. */
bool native_take(const struct native_call *call, size_t chunk, size_t *begin, size_t *end);
/* Barrier of all threads of the call; it also resets native_take(). */
void native_barrier(const struct native_call *call);

/* A matrix product by the vendor's library: D = activation(A x B + bias), batched, in row-major
 * terms: element (i, j) of A is at i * a_row + j * a_column, one of which is 1; likewise B. D is
 * row-major with leading stride d_row. Buffers at launch: A, B, D, then bias (n elements of D's
 * type) if any.
 */
struct device_matmul {
    enum ridge_dtype ab_type, d_type; /* f32, f16 or bf16; computed and accumulated in f32 */
    bool tf32;         /* f32 may be computed as TF32; RIDGE_TF32=1 allows it for all products */
    bool signed_bytes; /* instead of these types: A and B signed bytes, D i32; no epilogue */
    int64_t m, n, k, batch;
    int64_t a_row, a_column, a_batch, b_row, b_column, b_batch, d_row, d_batch;
    bool bias;
    enum ridge_activation activation; /* none, relu or gelu */
};

enum kernel_code_kind { CODE_SOURCE, CODE_NATIVE, CODE_MATMUL };

/* The argument of load(). The device copies what it needs. */
struct kernel_code {
    enum kernel_code_kind kind;
    const char *name; /* the entry point, and the kernel's name on the trace: a C identifier */
    /* CODE_SOURCE: text in the device's language with one kernel called `name`, whose parameters
     * are the buffers in order and then, if there are scalars, one struct of 64-bit integers by
     * value. In OpenCL each buffer is two parameters: the memory object and a 64-bit byte offset.
     * GLSL is without #version and #extension lines, its function is main(), and its arguments are
     * one array of words: buffers' addresses, scalars and grid[0]. They are push constants if they
     * are at most GLSL_PUSH_WORDS, else in memory at a pushed address. Block (x, y, z) of a
     * dispatch is block x + z * width of grid[0]. */
    const char *source;
    size_t source_length;
    uint32_t shared_max; /* maximum dynamic shared memory of launches */
    bool no_contraction; /* a * b + c must round twice */
    /* CODE_NATIVE */
    native_function *function;
    const void *context; /* copied: context_size bytes */
    size_t context_size;
    size_t scratch_bytes; /* per thread; shared_bytes is set by the launch */
    /* CODE_MATMUL */
    struct device_matmul matmul;
};

/* A loaded kernel: the first member of the device's own struct. */
struct device_kernel {
    char name[120];
    uint32_t registers, shared_static; /* as compiled; 0 if unknown */
};

/* ---- Work ------------------------------------------------------------------------------- */

enum { LAUNCH_BUFFERS_MAX = 24, LAUNCH_SCALARS_MAX = 128, GLSL_PUSH_WORDS = 16 };

struct launch_buffer {
    struct device_memory memory;
    size_t offset; /* bytes */
};

struct launch {
    struct device_kernel *kernel;
    uint32_t grid[3], block[3]; /* native: grid[0] is the number of units */
    uint32_t shared_bytes;      /* dynamic shared memory; native: memory shared by the threads */
    unsigned buffer_count, scalar_count;
    const struct launch_buffer *buffers;
    const int64_t *scalars;
    /* For the trace; devices ignore these. */
    uint64_t flops, bytes;
    const char *detail; /* a JSON object, or NULL */
};

/* A mark on a queue. */
struct device_event {
    uint64_t handle;
};

/* Start and end of one launch or copy. Passed to launch and copies while a trace is active, else
 * NULL. A zeroed stamp is empty; resolve() converts a stamp to times on CLOCK_MONOTONIC and
 * frees it. */
struct device_stamp {
    uint64_t begin, end; /* the device's own: events, or times already */
};

struct device {
    const struct device_ops *ops;
    struct device_capabilities capabilities;
    unsigned index;
};

struct device_ops {
    const char *name; /* "cpu", "cuda", "metal", "opencl", "vulkan" */

    /* How many there are and, when that is none, why and what to do, as a failed status. */
    bool (*count)(unsigned *count, struct status *status);
    /* What device `index` is, without opening it for work. */
    bool (*probe)(unsigned index, struct device_capabilities *capabilities, struct status *status);
    bool (*open)(unsigned index, struct device **device, struct status *status);
    void (*close)(struct device *device); /* waits for all work; frees all memory and kernels */

    /* At least `bytes`, aligned to capabilities.alignment. STATUS_MEMORY when the device is full.
     */
    bool (*allocate)(struct device *device, size_t bytes, struct device_memory *memory,
                     struct status *status);
    void (*release)(struct device *device, struct device_memory memory);

    /* Host memory for direct copies: pinned, where the driver supports it. Unlike with other
     * memory, copy_in() may still read it after returning; wait for finish() or an event.
     * Memory that is not released is freed with the device. */
    bool (*host_allocate)(struct device *device, size_t bytes, void **memory,
                          struct status *status);
    void (*host_release)(struct device *device, void *memory); /* accepts NULL */

    /* Host memory may be reused on return; copy_out waits for earlier work of the queue. */
    bool (*copy_in)(struct device *device, unsigned queue, struct device_memory to, size_t offset,
                    const void *from, size_t bytes, struct device_stamp *stamp,
                    struct status *status);
    bool (*copy_out)(struct device *device, unsigned queue, void *to, struct device_memory from,
                     size_t offset, size_t bytes, struct device_stamp *stamp,
                     struct status *status);
    bool (*copy_within)(struct device *device, unsigned queue, struct device_memory to,
                        size_t to_offset, struct device_memory from, size_t from_offset,
                        size_t bytes, struct device_stamp *stamp, struct status *status);

    /* A source that does not compile is STATUS_INPUT, with the compiler's first error. */
    bool (*load)(struct device *device, const struct kernel_code *code,
                 struct device_kernel **kernel, struct status *status);
    void (*unload)(struct device *device, struct device_kernel *kernel);
    bool (*launch)(struct device *device, unsigned queue, const struct launch *launch,
                   struct device_stamp *stamp, struct status *status);

    /* A graph of launches, replayed with little host work. Its buffers, scalars and kernels
     * are fixed. */
    bool (*graph_create)(struct device *device, const struct launch *launches, unsigned count,
                         void **graph, struct status *status);
    bool (*graph_replay)(struct device *device, unsigned queue, void *graph, struct status *status);
    void (*graph_destroy)(struct device *device, void *graph);

    bool (*record)(struct device *device, unsigned queue, struct device_event *event,
                   struct status *status);
    void (*event_release)(struct device *device, struct device_event event);
    /* Whether everything before the event is done, without waiting. */
    bool (*reached)(struct device *device, struct device_event event);
    /* The queue's later work starts after the event. */
    bool (*order)(struct device *device, unsigned queue, struct device_event event,
                  struct status *status);
    /* The host waits until all queues are empty. */
    bool (*finish)(struct device *device, struct status *status);
    bool (*resolve)(struct device *device, struct device_stamp *stamp, int64_t *start, int64_t *end,
                    struct status *status);
    /* Bound of the error of resolve()'s times against the host's clock. */
    int64_t (*clock_error)(struct device *device);
    /* Does the setup for stamps now rather than with the first stamp; `how` gets a short
     * description of the time source. */
    void (*prepare_stamps)(struct device *device, char *how, size_t capacity);
};

/* All kinds, NULL ends the list. */
extern const struct device_ops *const device_kinds[];
extern const struct device_ops device_cpu, device_cuda, device_metal, device_opencl, device_vulkan;

/* The device's UUID in NVML, "" if its driver does not report one (OpenCL); NULL if it is not an
 * NVIDIA GPU. */
const char *device_nvidia_uuid(const struct device *device);

/* Opens "cpu", "cuda", "cuda:1", ...; see ridge_device_open(). */
bool device_open(const char *name, struct device **device, struct status *status);
/* The same with options; memory_limit is the pool's. */
bool device_open_with(const struct ridge_device_options *options, struct device **device,
                      struct status *status);
/* The CPU with `threads` threads, 0 for the default. */
bool device_cpu_open(unsigned threads, bool deterministic, struct device **device,
                     struct status *status);
static inline void device_close(struct device *device) {
    if (device)
        device->ops->close(device);
}

/* As ridge_device_list(). */
size_t device_list(struct ridge_device_info *rows, size_t capacity);
/* Of one kind of device only ("cuda"): the libraries of the others are not loaded. */
size_t device_list_kind(const char *kind, struct ridge_device_info *rows, size_t capacity);

#endif
