/* Whether the numbers, records and functions that src/cupti declares are those of NVIDIA's headers,
 * whichever version of CUPTI these are of: checked by compiling. Ends with 77 where there are none.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__has_include)
/* They need some of the runtime's and the compiler's, which come apart from them. */
#if __has_include(<cupti_activity.h>) && __has_include(<cuda.h>) && \
    __has_include(<crt/host_defines.h>)
#define __CUDA_API_VERSION_INTERNAL /* the parameters of old functions need its old types */
#include <cuda.h>

#include <cupti_result.h>

#include <cupti_version.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#define HAVE_CUPTI
#if __has_include(<generated_cuda_meta.h>) && __has_include(<generated_cuda_runtime_api_meta.h>) && \
    __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>

#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>
#define HAVE_PARAMETERS
#endif
#endif
#endif

#include "abi/cupti.h"
#include "abi/cupti_symbols.h"
#include "abi/cupti_functions.h"
#include "abi/cuda_attributes.h"

#ifdef HAVE_CUPTI

#define NUMBER(ours, theirs, value)                                                                \
    _Static_assert((long long)ours == (long long)(theirs), #theirs " is another number");
CUPTI_NUMBERS(NUMBER)
#define FUNCTION(name, number)                                                                     \
    _Static_assert(CUPTI_DRIVER_TRACE_CBID_##name == number, #name " has another number");
CUPTI_LAUNCHES(FUNCTION)

#define DRIVER(name, suffix, number, class)                                                        \
    _Static_assert((int)CUPTI_DRIVER_TRACE_CBID_##name##suffix == (int)number,                     \
                   #name " has another number");                                                   \
    _Static_assert((int)number < (int)CUPTI_FUNCTIONS_MAX, #name " is beyond the table");
#define RUNTIME(name, suffix, number, class)                                                       \
    _Static_assert((int)CUPTI_RUNTIME_TRACE_CBID_##name##suffix == (int)number,                    \
                   #name " has another number");                                                   \
    _Static_assert((int)number < (int)CUPTI_FUNCTIONS_MAX, #name " is beyond the table");
CUPTI_DRIVER_FUNCTIONS_11(DRIVER)
CUPTI_RUNTIME_FUNCTIONS_11(RUNTIME)
#if CUPTI_API_VERSION >= 28
CUPTI_DRIVER_FUNCTIONS_12(DRIVER)
CUPTI_RUNTIME_FUNCTIONS_12(RUNTIME)
#endif
#if CUPTI_API_VERSION >= 130400
CUPTI_DRIVER_FUNCTIONS_13(DRIVER)
CUPTI_RUNTIME_FUNCTIONS_13(RUNTIME)
#endif

DRIVER(cuProfilerStart, , CUPTI_DRIVER_PROFILER_START, )
DRIVER(cuProfilerStop, , CUPTI_DRIVER_PROFILER_STOP, )
RUNTIME(cudaProfilerStart, _v4000, CUPTI_RUNTIME_PROFILER_START, )
RUNTIME(cudaProfilerStop, _v4000, CUPTI_RUNTIME_PROFILER_STOP, )

#define ATTRIBUTE(member, theirs, number)                                                          \
    _Static_assert((int)theirs == (int)number, #theirs " is another number");
CUDA_DEVICE_NUMBERS(ATTRIBUTE)
ATTRIBUTE(, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, CUDA_MEMORY_CLOCK_KHZ)
ATTRIBUTE(, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, CUDA_MEMORY_BUS_BITS)

/* A record that may be of any kind is a void to us: the one function that gives it differs. */
#define GIVES_A_RECORD(name) (sizeof #name == sizeof "cuptiActivityGetNextRecord")
#define SAME(name, parameters)                                                                     \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), cupti_result(*) parameters) ||  \
                       GIVES_A_RECORD(name),                                                       \
                   #name " takes something else");
CUPTI_SYMBOLS(SAME)

/* A record's first field of ours must be where theirs is, and as large. */
#define MEMBER(structure, member, theirs, their_member)                                            \
    _Static_assert(offsetof(struct structure, member) == offsetof(theirs, their_member),           \
                   #theirs "." #their_member " is elsewhere");                                     \
    _Static_assert(sizeof(((struct structure *)0)->member) == sizeof(((theirs *)0)->their_member), \
                   #theirs "." #their_member " has another size");
/* An array of ours for three fields of theirs. */
#define TRIPLE(structure, member, theirs, x, z)                                                    \
    _Static_assert(offsetof(struct structure, member) == offsetof(theirs, x) &&                    \
                       offsetof(struct structure, member) + 8 == offsetof(theirs, z),              \
                   #theirs "." #x " is elsewhere");

#define KERNEL(theirs)                                                                             \
    MEMBER(cupti_kernel_record, kind, theirs, kind)                                                \
    MEMBER(cupti_kernel_record, registers, theirs, registersPerThread)                             \
    MEMBER(cupti_kernel_record, start, theirs, start)                                              \
    MEMBER(cupti_kernel_record, end, theirs, end)                                                  \
    MEMBER(cupti_kernel_record, device, theirs, deviceId)                                          \
    MEMBER(cupti_kernel_record, context, theirs, contextId)                                        \
    MEMBER(cupti_kernel_record, stream, theirs, streamId)                                          \
    TRIPLE(cupti_kernel_record, grid, theirs, gridX, gridZ)                                        \
    TRIPLE(cupti_kernel_record, block, theirs, blockX, blockZ)                                     \
    MEMBER(cupti_kernel_record, shared_static, theirs, staticSharedMemory)                         \
    MEMBER(cupti_kernel_record, shared_dynamic, theirs, dynamicSharedMemory)                       \
    MEMBER(cupti_kernel_record, local_per_thread, theirs, localMemoryPerThread)                    \
    MEMBER(cupti_kernel_record, correlation, theirs, correlationId)                                \
    MEMBER(cupti_kernel_record, name, theirs, name)                                                \
    MEMBER(cupti_kernel_record, graph_node, theirs, graphNodeId)                                   \
    MEMBER(cupti_kernel_record, graph, theirs, graphId)                                            \
    TRIPLE(cupti_kernel_record, cluster, theirs, clusterX, clusterZ)
KERNEL(CUpti_ActivityKernel8)

#define COPY(theirs)                                                                               \
    MEMBER(cupti_copy_record, kind, theirs, kind)                                                  \
    MEMBER(cupti_copy_record, direction, theirs, copyKind)                                         \
    MEMBER(cupti_copy_record, from_memory, theirs, srcKind)                                        \
    MEMBER(cupti_copy_record, to_memory, theirs, dstKind)                                          \
    MEMBER(cupti_copy_record, bytes, theirs, bytes)                                                \
    MEMBER(cupti_copy_record, start, theirs, start)                                                \
    MEMBER(cupti_copy_record, end, theirs, end)                                                    \
    MEMBER(cupti_copy_record, device, theirs, deviceId)                                            \
    MEMBER(cupti_copy_record, context, theirs, contextId)                                          \
    MEMBER(cupti_copy_record, stream, theirs, streamId)                                            \
    MEMBER(cupti_copy_record, correlation, theirs, correlationId)                                  \
    MEMBER(cupti_copy_record, graph_node, theirs, graphNodeId)                                     \
    MEMBER(cupti_copy_record, graph, theirs, graphId)
COPY(CUpti_ActivityMemcpy5)

#define SET(theirs)                                                                                \
    MEMBER(cupti_set_record, kind, theirs, kind)                                                   \
    MEMBER(cupti_set_record, bytes, theirs, bytes)                                                 \
    MEMBER(cupti_set_record, start, theirs, start)                                                 \
    MEMBER(cupti_set_record, end, theirs, end)                                                     \
    MEMBER(cupti_set_record, device, theirs, deviceId)                                             \
    MEMBER(cupti_set_record, context, theirs, contextId)                                           \
    MEMBER(cupti_set_record, stream, theirs, streamId)                                             \
    MEMBER(cupti_set_record, correlation, theirs, correlationId)                                   \
    MEMBER(cupti_set_record, memory, theirs, memoryKind)                                           \
    MEMBER(cupti_set_record, graph_node, theirs, graphNodeId)                                      \
    MEMBER(cupti_set_record, graph, theirs, graphId)
SET(CUpti_ActivityMemset4)

/* The records of later versions begin as those before. */
#if CUPTI_API_VERSION >= 28
KERNEL(CUpti_ActivityKernel9)
COPY(CUpti_ActivityMemcpy6)
MEMBER(cupti_overhead_record, correlation, CUpti_ActivityOverhead3, correlationId)
MEMBER(cupti_memory_record, asynchronous, CUpti_ActivityMemory4, isAsync)
MEMBER(cupti_graph_record, stream, CUpti_ActivityGraphTrace2, streamId)
#endif
#if CUPTI_API_VERSION >= 130400
KERNEL(CUpti_ActivityKernel13)
COPY(CUpti_ActivityMemcpy7)
SET(CUpti_ActivityMemset5)
#endif

MEMBER(cupti_peer_copy_record, bytes, CUpti_ActivityMemcpyPtoP4, bytes)
MEMBER(cupti_peer_copy_record, start, CUpti_ActivityMemcpyPtoP4, start)
MEMBER(cupti_peer_copy_record, end, CUpti_ActivityMemcpyPtoP4, end)
MEMBER(cupti_peer_copy_record, direction, CUpti_ActivityMemcpyPtoP4, copyKind)
MEMBER(cupti_peer_copy_record, from_memory, CUpti_ActivityMemcpyPtoP4, srcKind)
MEMBER(cupti_peer_copy_record, to_memory, CUpti_ActivityMemcpyPtoP4, dstKind)
MEMBER(cupti_peer_copy_record, device, CUpti_ActivityMemcpyPtoP4, deviceId)
MEMBER(cupti_peer_copy_record, context, CUpti_ActivityMemcpyPtoP4, contextId)
MEMBER(cupti_peer_copy_record, stream, CUpti_ActivityMemcpyPtoP4, streamId)
MEMBER(cupti_peer_copy_record, from_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId)
MEMBER(cupti_peer_copy_record, to_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId)
MEMBER(cupti_peer_copy_record, correlation, CUpti_ActivityMemcpyPtoP4, correlationId)
MEMBER(cupti_peer_copy_record, graph_node, CUpti_ActivityMemcpyPtoP4, graphNodeId)
MEMBER(cupti_peer_copy_record, graph, CUpti_ActivityMemcpyPtoP4, graphId)

MEMBER(cupti_call_record, function, CUpti_ActivityAPI, cbid)
MEMBER(cupti_call_record, start, CUpti_ActivityAPI, start)
MEMBER(cupti_call_record, end, CUpti_ActivityAPI, end)
MEMBER(cupti_call_record, process, CUpti_ActivityAPI, processId)
MEMBER(cupti_call_record, thread, CUpti_ActivityAPI, threadId)
MEMBER(cupti_call_record, correlation, CUpti_ActivityAPI, correlationId)
MEMBER(cupti_call_record, result, CUpti_ActivityAPI, returnValue)

MEMBER(cupti_external_record, external_kind, CUpti_ActivityExternalCorrelation, externalKind)
MEMBER(cupti_external_record, external, CUpti_ActivityExternalCorrelation, externalId)
MEMBER(cupti_external_record, correlation, CUpti_ActivityExternalCorrelation, correlationId)

MEMBER(cupti_memory_record, operation, CUpti_ActivityMemory3, memoryOperationType)
MEMBER(cupti_memory_record, memory, CUpti_ActivityMemory3, memoryKind)
MEMBER(cupti_memory_record, correlation, CUpti_ActivityMemory3, correlationId)
MEMBER(cupti_memory_record, address, CUpti_ActivityMemory3, address)
MEMBER(cupti_memory_record, bytes, CUpti_ActivityMemory3, bytes)
MEMBER(cupti_memory_record, time, CUpti_ActivityMemory3, timestamp)
MEMBER(cupti_memory_record, process, CUpti_ActivityMemory3, processId)
MEMBER(cupti_memory_record, device, CUpti_ActivityMemory3, deviceId)
MEMBER(cupti_memory_record, context, CUpti_ActivityMemory3, contextId)
MEMBER(cupti_memory_record, stream, CUpti_ActivityMemory3, streamId)
MEMBER(cupti_memory_record, name, CUpti_ActivityMemory3, name)
MEMBER(cupti_memory_record, asynchronous, CUpti_ActivityMemory3, isAsync)

MEMBER(cupti_overhead_record, overhead, CUpti_ActivityOverhead, overheadKind)
MEMBER(cupti_overhead_record, process, CUpti_ActivityOverhead, objectId.pt.processId)
MEMBER(cupti_overhead_record, thread, CUpti_ActivityOverhead, objectId.pt.threadId)
MEMBER(cupti_overhead_record, start, CUpti_ActivityOverhead, start)
MEMBER(cupti_overhead_record, end, CUpti_ActivityOverhead, end)

MEMBER(cupti_graph_record, correlation, CUpti_ActivityGraphTrace, correlationId)
MEMBER(cupti_graph_record, start, CUpti_ActivityGraphTrace, start)
MEMBER(cupti_graph_record, end, CUpti_ActivityGraphTrace, end)
MEMBER(cupti_graph_record, device, CUpti_ActivityGraphTrace, deviceId)
MEMBER(cupti_graph_record, graph, CUpti_ActivityGraphTrace, graphId)
MEMBER(cupti_graph_record, context, CUpti_ActivityGraphTrace, contextId)
MEMBER(cupti_graph_record, stream, CUpti_ActivityGraphTrace, streamId)

MEMBER(cupti_call_data, site, CUpti_CallbackData, callbackSite)
MEMBER(cupti_call_data, function_name, CUpti_CallbackData, functionName)
MEMBER(cupti_call_data, parameters, CUpti_CallbackData, functionParams)
MEMBER(cupti_call_data, result, CUpti_CallbackData, functionReturnValue)
MEMBER(cupti_call_data, kernel, CUpti_CallbackData, symbolName)
MEMBER(cupti_call_data, context, CUpti_CallbackData, context)
MEMBER(cupti_call_data, context_id, CUpti_CallbackData, contextUid)
MEMBER(cupti_call_data, own, CUpti_CallbackData, correlationData)
MEMBER(cupti_call_data, correlation, CUpti_CallbackData, correlationId)
MEMBER(cupti_graph_data, graph, CUpti_GraphData, graph)
MEMBER(cupti_graph_data, original_graph, CUpti_GraphData, originalGraph)
MEMBER(cupti_graph_data, node, CUpti_GraphData, node)
MEMBER(cupti_graph_data, original_node, CUpti_GraphData, originalNode)
MEMBER(cupti_resource_data, context, CUpti_ResourceData, context)
MEMBER(cupti_resource_data, handle, CUpti_ResourceData, resourceHandle)
MEMBER(cupti_resource_data, described, CUpti_ResourceData, resourceDescriptor)

/* The functions of one kind have the same parameters, whichever name they have. */
#define ORDERS(stream_sync, event_sync, stream_wait, event_record, their_stream, their_event)      \
    MEMBER(cupti_stream_sync_parameters, stream, stream_sync, their_stream)                        \
    MEMBER(cupti_event_sync_parameters, event, event_sync, their_event)                            \
    MEMBER(cupti_stream_wait_parameters, stream, stream_wait, their_stream)                        \
    MEMBER(cupti_stream_wait_parameters, event, stream_wait, their_event)                          \
    MEMBER(cupti_event_record_parameters, stream, event_record, their_stream)                      \
    MEMBER(cupti_event_record_parameters, event, event_record, their_event)
#ifdef HAVE_PARAMETERS
ORDERS(cuStreamSynchronize_params, cuEventSynchronize_params, cuStreamWaitEvent_params,
       cuEventRecord_params, hStream, hEvent)
ORDERS(cuStreamSynchronize_ptsz_params, cuEventSynchronize_params, cuStreamWaitEvent_ptsz_params,
       cuEventRecordWithFlags_ptsz_params, hStream, hEvent)
ORDERS(cudaStreamSynchronize_v3020_params, cudaEventSynchronize_v3020_params,
       cudaStreamWaitEvent_v3020_params, cudaEventRecord_v3020_params, stream, event)
ORDERS(cudaStreamSynchronize_ptsz_v7000_params, cudaEventSynchronize_v3020_params,
       cudaStreamWaitEvent_ptsz_v7000_params, cudaEventRecordWithFlags_v11010_params, stream, event)
#endif

#endif

int main(void) {
#ifdef HAVE_CUPTI
    return 0;
#else
    puts("SKIP there are no headers of CUPTI here");
    return 77;
#endif
}
