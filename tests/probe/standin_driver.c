/* The fake driver, and the runtime's launch; see standin.h. */
#include "standin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static uint32_t correlation;
static __thread uint32_t nested; /* correlation id of the runtime call, or 0 */

void standin_forget_calls(void) {
    __atomic_store_n(&correlation, 0, __ATOMIC_RELAXED);
}

/* ---- Calls -------------------------------------------------------------------------------- */

struct call {
    struct cupti_call_data data;
    uint64_t own;
    int result;
    cupti_choice domain;
    uint32_t number;
};

static void tell(struct call *call, cupti_choice site) {
    call->data.site = site;
    standin_tell(call->domain, call->number, &call->data);
}

static void begin(struct call *call, cupti_choice domain, uint32_t number, const char *name) {
    *call = (struct call){.domain = domain, .number = number};
    call->data = (struct cupti_call_data){
        .function_name = name,
        .result = &call->result,
        .context = STANDIN_CONTEXT,
        .context_id = STANDIN_CONTEXT_NUMBER,
        .own = &call->own,
        .correlation = nested ? nested : __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED),
    };
    tell(call, CUPTI_CALL_BEGINS);
}

static int end(struct call *call) {
    tell(call, CUPTI_CALL_ENDS);
    return call->result;
}

static void put_memory(const struct call *call, uint64_t address, size_t bytes, bool release) {
    struct cupti_memory_record record = {.kind = CUPTI_KIND_MEMORY,
                                         .operation = release ? 2 : 1,
                                         .memory = 3,
                                         .correlation = call->data.correlation,
                                         .address = address,
                                         .bytes = bytes,
                                         .time = standin_now(),
                                         .context = STANDIN_CONTEXT_NUMBER};
    standin_put(record.kind, &record, sizeof record);
}

/* ---- The driver --------------------------------------------------------------------------- */

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    static bool injected;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    (void)flags;
    if (injected || !path)
        return 0;
    injected = true;
    void *library = dlopen(path, RTLD_NOW);
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
    return 0;
}
int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
    if (standin_fails("cuDriverGetVersion"))
        return 999;
    *version = 13000;
    return 0;
}
int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
    if (standin_fails("cuDeviceGetCount"))
        return 999;
    *count = 1;
    return 0;
}
int cuDeviceGet(int *device, int index);
int cuDeviceGet(int *device, int index) {
    if (standin_fails("cuDeviceGet"))
        return 999;
    *device = index;
    return 0;
}
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceGetName(char *name, int bytes, int device) {
    if (standin_fails("cuDeviceGetName"))
        return 999;
    (void)bytes, (void)device;
    strcpy(name, "Stand-in");
    return 0;
}
int cuDeviceGetUuid(void *uuid, int device);
int cuDeviceGetUuid(void *uuid, int device) {
    if (standin_fails("cuDeviceGetUuid"))
        return 999;
    (void)device;
    memset(uuid, 0xab, 16);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    if (standin_fails("cuDeviceTotalMem_v2"))
        return 999;
    (void)device;
    *bytes = 1 << 30;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    if (standin_fails("cuDeviceGetAttribute"))
        return 999;
    (void)device;
    *value = attribute;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    *context = STANDIN_CONTEXT;
    return 0;
}
int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context) {
    (void)context;
    return 0;
}
int cuModuleLoadData(void **module, const void *source);
int cuModuleLoadData(void **module, const void *source) {
    struct call call;
    (void)source;
    begin(&call, CUPTI_DRIVER_CALLS, 19, "cuModuleLoadData");
    *module = STANDIN_CONTEXT;
    return end(&call);
}
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = strdup(name);
    return *function ? 0 : 2;
}
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    struct call call;
    begin(&call, CUPTI_DRIVER_CALLS, 243, "cuMemAlloc_v2");
    void *memory = calloc(1, bytes);
    *address = (uintptr_t)memory;
    call.result = memory ? 0 : 2;
    if (memory)
        put_memory(&call, *address, bytes, false);
    return end(&call);
}
int cuMemFree_v2(unsigned long long address);
int cuMemFree_v2(unsigned long long address) {
    struct call call;
    begin(&call, CUPTI_DRIVER_CALLS, 245, "cuMemFree_v2");
    free((void *)(uintptr_t)address);
    put_memory(&call, address, 0, true);
    return end(&call);
}
int cuMemsetD32Async(unsigned long long address, unsigned value, size_t count, void *stream);
int cuMemsetD32Async(unsigned long long address, unsigned value, size_t count, void *stream) {
    struct call call;
    (void)stream;
    begin(&call, CUPTI_DRIVER_CALLS, 220, "cuMemsetD32Async");
    for (size_t i = 0; i < count; i++)
        ((unsigned *)(uintptr_t)address)[i] = value;
    struct cupti_set_record record = {.kind = CUPTI_KIND_SET,
                                      .bytes = 4 * count,
                                      .start = standin_now(),
                                      .context = STANDIN_CONTEXT_NUMBER,
                                      .stream = STANDIN_STREAM,
                                      .correlation = call.data.correlation,
                                      .memory = 3};
    record.end = record.start + STANDIN_NS;
    standin_put(record.kind, &record, sizeof record);
    return end(&call);
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
    struct call call;
    begin(&call, CUPTI_DRIVER_CALLS, 278, "cuMemcpyDtoH_v2");
    memcpy(to, (void *)(uintptr_t)from, bytes);
    struct cupti_copy_record record = {.kind = CUPTI_KIND_COPY,
                                       .direction = 2,
                                       .from_memory = 3,
                                       .to_memory = 1,
                                       .bytes = bytes,
                                       .start = standin_now(),
                                       .context = STANDIN_CONTEXT_NUMBER,
                                       .stream = STANDIN_STREAM,
                                       .correlation = call.data.correlation};
    record.end = record.start + STANDIN_NS;
    standin_put(record.kind, &record, sizeof record);
    return end(&call);
}
/* ---- A graph: what is launched on STANDIN_CAPTURED ------------------------------------------- */

enum { NODES_MAX = 64, GRAPH = 1, EXECUTABLE = 2, CLONES = 1000 };
static const char *nodes[NODES_MAX];
static unsigned node_count;

static void tell_node(uint32_t number, uintptr_t graph, uintptr_t node, uintptr_t original) {
    struct cupti_graph_data described = {.graph = (struct CUgraph_st *)graph,
                                         .node = (struct CUgraphNode_st *)node,
                                         .original_node = (struct CUgraphNode_st *)original};
    struct cupti_resource_data data = {.context = STANDIN_CONTEXT, .described = &described};
    standin_tell(CUPTI_RESOURCES, number, &data);
}

static int capture(struct call *call, const char *kernel) {
    if (node_count < NODES_MAX) {
        nodes[node_count++] = kernel;
        tell_node(CUPTI_GRAPH_NODE_CREATED, GRAPH, node_count, 0);
    }
    return end(call);
}

int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
    struct call call;
    (void)graph, (void)flags;
    begin(&call, CUPTI_DRIVER_CALLS, 643, "cuGraphInstantiateWithFlags");
    for (unsigned i = 1; i <= node_count; i++)
        tell_node(CUPTI_GRAPH_NODE_CLONED, EXECUTABLE, CLONES + i, i);
    *executable = (void *)EXECUTABLE;
    return end(&call);
}

static void put_nodes(uint32_t correlation) {
    for (unsigned i = 1; i <= node_count; i++) {
        struct cupti_kernel_record record = {.kind = CUPTI_KIND_KERNEL,
                                             .start = standin_now(),
                                             .context = STANDIN_CONTEXT_NUMBER,
                                             .stream = STANDIN_STREAM,
                                             .correlation = correlation,
                                             .graph = EXECUTABLE,
                                             .graph_node = CLONES + i,
                                             .name = nodes[i - 1]};
        record.end = record.start + STANDIN_NS;
        standin_put(record.kind, &record, sizeof record);
    }
}

int cuGraphLaunch(void *executable, void *stream);
int cuGraphLaunch(void *executable, void *stream) {
    struct call call;
    (void)executable, (void)stream;
    begin(&call, CUPTI_DRIVER_CALLS, 514, "cuGraphLaunch");
    struct cupti_graph_record record = {.kind = CUPTI_KIND_GRAPH,
                                        .correlation = call.data.correlation,
                                        .start = standin_now(),
                                        .graph = EXECUTABLE,
                                        .context = STANDIN_CONTEXT_NUMBER,
                                        .stream = STANDIN_STREAM};
    record.end = record.start + node_count * STANDIN_NS;
    if (standin_wants(CUPTI_KIND_GRAPH))
        standin_put(record.kind, &record, sizeof record);
    else
        put_nodes(call.data.correlation);
    return end(&call);
}

/* Every kernel adds one to what its first parameter points to. */
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **parameters, void **extra);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **parameters, void **extra) {
    struct call call;
    (void)extra;
    begin(&call, CUPTI_DRIVER_CALLS, 307, "cuLaunchKernel");
    if ((uintptr_t)stream == STANDIN_CAPTURED)
        return capture(&call, function);
    __atomic_add_fetch(*(unsigned **)parameters[0], 1, __ATOMIC_RELAXED);
    struct cupti_kernel_record record = {
        .kind = CUPTI_KIND_KERNEL,
        .registers = 16,
        .start = standin_now(),
        .context = STANDIN_CONTEXT_NUMBER,
        .stream = STANDIN_STREAM,
        .grid = {(int32_t)grid_x, (int32_t)grid_y, (int32_t)grid_z},
        .block = {(int32_t)block_x, (int32_t)block_y, (int32_t)block_z},
        .shared_dynamic = (int32_t)shared,
        .correlation = call.data.correlation,
        .name = function,
    };
    record.end = record.start + STANDIN_NS;
    standin_put(record.kind, &record, sizeof record);
    return end(&call);
}
int cuProfilerStart(void);
int cuProfilerStart(void) {
    struct call call;
    begin(&call, CUPTI_DRIVER_CALLS, 308, "cuProfilerStart");
    return end(&call);
}
int cuProfilerStop(void);
int cuProfilerStop(void) {
    struct call call;
    begin(&call, CUPTI_DRIVER_CALLS, 309, "cuProfilerStop");
    return end(&call);
}
int cuCtxSynchronize(void);
int cuCtxSynchronize(void) {
    struct call call;
    static bool replayed;
    begin(&call, CUPTI_DRIVER_CALLS, 17, "cuCtxSynchronize");
    if (!replayed)
        standin_replay();
    replayed = true;
    return end(&call);
}
int cuStreamIsCapturing(void *stream, int *status);
int cuStreamIsCapturing(void *stream, int *status) {
    if (standin_fails("cuStreamIsCapturing"))
        return 999;
    *status = (uintptr_t)stream == STANDIN_CAPTURED;
    return 0;
}
/* One stream is of another context. */
int cuStreamGetCtx(void *stream, void **context);
int cuStreamGetCtx(void *stream, void **context) {
    if (standin_fails("cuStreamGetCtx"))
        return 999;
    *context = (uintptr_t)stream == STANDIN_ELSEWHERE ? STANDIN_OTHER_CONTEXT : STANDIN_CONTEXT;
    return 0;
}

static int order(cupti_choice domain, uint32_t number, const char *name, void *first, void *second,
                 bool fails) {
    const void *parameters[] = {first, second};
    struct call call;
    begin(&call, domain, number, name);
    call.data.parameters = parameters;
    call.result = fails ? 400 : 0;
    return end(&call);
}
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamCreate(void **stream, unsigned flags) {
    (void)flags;
    *stream = (void *)STANDIN_REUSED;
    standin_create_stream();
    return 0;
}
int cuStreamSynchronize(void *stream);
int cuStreamSynchronize(void *stream) {
    return order(CUPTI_DRIVER_CALLS, 126, "cuStreamSynchronize", stream, NULL,
                 (uintptr_t)stream == STANDIN_NO_STREAM);
}
int cuEventRecord(void *event, void *stream);
int cuEventRecord(void *event, void *stream) {
    return order(CUPTI_DRIVER_CALLS, 119, "cuEventRecord", event, stream, false);
}
int cuEventSynchronize(void *event);
int cuEventSynchronize(void *event) {
    return order(CUPTI_DRIVER_CALLS, 121, "cuEventSynchronize", event, NULL, false);
}
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)flags;
    return order(CUPTI_DRIVER_CALLS, 295, "cuStreamWaitEvent", stream, event, false);
}

/* ---- The runtime, as far as it is a call around another ------------------------------------- */

int cudaLaunchKernel(void *function, void **parameters);
int cudaLaunchKernel(void *function, void **parameters) {
    struct call call;
    begin(&call, CUPTI_RUNTIME_CALLS, 211, "cudaLaunchKernel");
    nested = call.data.correlation;
    call.result = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    nested = 0;
    return end(&call);
}
int cudaStreamSynchronize_ptsz(void *stream);
int cudaStreamSynchronize_ptsz(void *stream) {
    return order(CUPTI_RUNTIME_CALLS, 239, "cudaStreamSynchronize", stream, NULL, false);
}
