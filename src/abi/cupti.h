/* Types, constants and activity records of CUPTI, NVIDIA's profiling interface, declared here so
 * that no vendor header is needed to build.
 *
 * Records only grow at their end from version to version, so one struct serves all versions. Later
 * fields are read only if the library's version has them (cupti_decode.c). tests/abi checks this
 * against the headers of CUDA 11.8 (CUPTI 18), 12.9 (28) and 13.4 (130401).
 */
#ifndef RIDGE_ABI_CUPTI_H
#define RIDGE_ABI_CUPTI_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned int cupti_result;
typedef unsigned int cupti_choice; /* a kind, a domain */
typedef struct CUpti_Subscriber_st *cupti_subscriber;
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;

typedef void cupti_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void cupti_buffer_completed(struct CUctx_st *context, uint32_t stream, uint8_t *buffer,
                                    size_t bytes, size_t valid_bytes);
typedef uint64_t cupti_clock(void);
typedef void cupti_callback(void *user, cupti_choice domain, uint32_t function, const void *data);

/* X(our name, the vendor's name, value) */
#define CUPTI_NUMBERS(X)                                                                           \
    X(CUPTI_SUCCEEDED, CUPTI_SUCCESS, 0)                                                           \
    X(CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER, 1)                                   \
    X(CUPTI_NOT_IMPLEMENTED, CUPTI_ERROR_API_NOT_IMPLEMENTED, 11)                                  \
    X(CUPTI_NO_MORE_RECORDS, CUPTI_ERROR_MAX_LIMIT_REACHED, 12)                                    \
    X(CUPTI_INCOMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE, 14)                                          \
    X(CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND, 21)                                            \
    X(CUPTI_NEEDS_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 35)                             \
    X(CUPTI_TAKEN, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39)                             \
    X(CUPTI_FAILED, CUPTI_ERROR_UNKNOWN, 999)                                                      \
    X(CUPTI_KIND_COPY, CUPTI_ACTIVITY_KIND_MEMCPY, 1)                                              \
    X(CUPTI_KIND_SET, CUPTI_ACTIVITY_KIND_MEMSET, 2)                                               \
    X(CUPTI_KIND_SERIAL_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL, 3)                                     \
    X(CUPTI_KIND_DRIVER_CALL, CUPTI_ACTIVITY_KIND_DRIVER, 4)                                       \
    X(CUPTI_KIND_RUNTIME_CALL, CUPTI_ACTIVITY_KIND_RUNTIME, 5)                                     \
    X(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10)                                \
    X(CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD, 17)                                       \
    X(CUPTI_KIND_PEER_COPY, CUPTI_ACTIVITY_KIND_MEMCPY2, 22)                                       \
    X(CUPTI_KIND_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 39)                           \
    X(CUPTI_KIND_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2, 49)                                          \
    X(CUPTI_KIND_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 51)                                       \
    X(CUPTI_FLUSH_COMPLETE, 0, 0)                                                                  \
    X(CUPTI_FLUSH_ALL, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, 1)                                        \
    X(CUPTI_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 5)                     \
    X(CUPTI_DRIVER_CALLS, CUPTI_CB_DOMAIN_DRIVER_API, 1)                                           \
    X(CUPTI_RUNTIME_CALLS, CUPTI_CB_DOMAIN_RUNTIME_API, 2)                                         \
    X(CUPTI_RESOURCES, CUPTI_CB_DOMAIN_RESOURCE, 3)                                                \
    X(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 1)                               \
    X(CUPTI_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED, 3)                                 \
    X(CUPTI_GRAPH_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 13)                         \
    X(CUPTI_GRAPH_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 20)                           \
    X(CUPTI_CALL_BEGINS, CUPTI_API_ENTER, 0)                                                       \
    X(CUPTI_CALL_ENDS, CUPTI_API_EXIT, 1)

/* Driver functions that launch one activity each. X(function, number) */
#define CUPTI_LAUNCHES(X)                                                                          \
    X(cuMemsetD8Async, 216)                                                                        \
    X(cuMemsetD16Async, 218)                                                                       \
    X(cuMemsetD32Async, 220)                                                                       \
    X(cuMemsetD2D8Async, 222)                                                                      \
    X(cuMemsetD2D16Async, 224)                                                                     \
    X(cuMemsetD2D32Async, 226)                                                                     \
    X(cuMemcpyHtoDAsync_v2, 277)                                                                   \
    X(cuMemcpyDtoHAsync_v2, 279)                                                                   \
    X(cuMemcpyDtoDAsync_v2, 281)                                                                   \
    X(cuMemcpyAsync, 306)                                                                          \
    X(cuLaunchKernel, 307)                                                                         \
    X(cuMemcpyAsync_ptsz, 418)                                                                     \
    X(cuMemsetD8Async_ptsz, 428)                                                                   \
    X(cuMemsetD32Async_ptsz, 430)                                                                  \
    X(cuLaunchKernel_ptsz, 442)                                                                    \
    X(cuLaunchCooperativeKernel, 477)                                                              \
    X(cuLaunchCooperativeKernel_ptsz, 478)                                                         \
    X(cuLaunchKernelEx, 652)                                                                       \
    X(cuLaunchKernelEx_ptsz, 653)

#define CUPTI_ENUM(name, theirs, value) name = value,
enum cupti_number { CUPTI_NUMBERS(CUPTI_ENUM) };
#undef CUPTI_ENUM

/* The data of a driver or runtime callback. */
struct cupti_call_data {
    cupti_choice site;
    const char *function_name;
    const void *parameters;
    void *result;
    const char *kernel;
    struct CUctx_st *context;
    uint32_t context_id;
    uint64_t *own;
    uint32_t correlation;
};

/* The data of a resource callback, and what it describes when that is a node of a graph. */
struct cupti_graph_data {
    struct CUgraph_st *graph, *original_graph;
    struct CUgraphNode_st *node, *original_node;
};
struct cupti_resource_data {
    struct CUctx_st *context;
    void *handle;
    const struct cupti_graph_data *described;
};

/* Parameters of calls that order queues; the same for driver and runtime. */
struct cupti_stream_sync_parameters {
    struct CUstream_st *stream;
};
struct cupti_event_sync_parameters {
    struct CUevent_st *event;
};
struct cupti_stream_wait_parameters {
    struct CUstream_st *stream;
    struct CUevent_st *event;
};
struct cupti_event_record_parameters { /* with and without flags */
    struct CUevent_st *event;
    struct CUstream_st *stream;
};

/* ---- Records: the fields common to all versions ------------------------------------------ */

struct cupti_kernel_record { /* CUpti_ActivityKernel8 and later */
    cupti_choice kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    cupti_choice partition_wanted, partition_used;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_wanted, carveout, padding;
    uint32_t shared_used;
    uint64_t graph_node;
    cupti_choice shared_limit;
    uint32_t graph;
    void *access_window;
    uint32_t channel;
    cupti_choice channel_type;
    uint32_t cluster[3];
};

struct cupti_copy_record { /* CUpti_ActivityMemcpy5 and later */
    cupti_choice kind;
    uint8_t direction, from_memory, to_memory, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_peer_copy_record { /* CUpti_ActivityMemcpyPtoP4 */
    cupti_choice kind;
    uint8_t direction, from_memory, to_memory, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_set_record { /* CUpti_ActivityMemset4 and later */
    cupti_choice kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};

struct cupti_call_record { /* CUpti_ActivityAPI */
    cupti_choice kind;
    uint32_t function;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct cupti_external_record { /* CUpti_ActivityExternalCorrelation */
    cupti_choice kind, external_kind;
    uint64_t external;
    uint32_t correlation, reserved;
};

struct cupti_memory_record { /* CUpti_ActivityMemory3 and later */
    cupti_choice kind, operation, memory;
    uint32_t correlation;
    uint64_t address, bytes, time, program_counter;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t asynchronous;
};

struct cupti_overhead_record { /* CUpti_ActivityOverhead; the last field: 2 */
    cupti_choice kind, overhead, object;
    uint32_t process, thread, object_padding; /* these two when the object is a thread */
    uint64_t start, end;
    uint32_t correlation;
};

struct cupti_graph_record { /* CUpti_ActivityGraphTrace and later */
    cupti_choice kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};

#endif
