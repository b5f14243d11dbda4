/* The fake CUDA: see fake_cuda.h. */
#include "fake_cuda.h"
#include "fake_cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/cuda_driver.h"
#include "base/clock.h"

enum { PENDING_MAX = 256, NVRTC_INTERNAL = 11, BLAS_INTERNAL = 14 };

struct fake_cuda fake_cuda;

/* Work that is queued and not done: copies in the order in which they were asked for. */
static struct {
    void *to;
    const void *from;
    size_t bytes;
} pending[PENDING_MAX];
static uint64_t pending_first, pending_end;
static int64_t device_time_added;

static bool fails(const char *call) {
    fake_cuda.calls++;
    bool now = fake_cuda.calls == fake_cuda.fail_at;
    if (now)
        fake_cuda.failed_call = call;
    return now || (fake_cuda.sticky && fake_cuda.fail_at && fake_cuda.calls > fake_cuda.fail_at);
}
bool fake_cuda_fails(const char *call) {
    return fails(call);
}
#define DRIVER_CALL(name)                                                                          \
    if (fails(#name))                                                                              \
    return fake_cuda.error
#define NVRTC_CALL(name)                                                                           \
    if (fails(#name))                                                                              \
    return NVRTC_INTERNAL
#define BLAS_CALL(name)                                                                            \
    if (fails(#name))                                                                              \
    return BLAS_INTERNAL
/* Calls that free do so even when they report an error of earlier work. */
#define FREEING_CALL(name, object)                                                                 \
    bool failed = fails(#name);                                                                    \
    discard((void *)(object));                                                                     \
    return failed ? fake_cuda.error : CUDA_SUCCEEDED

static void *make(size_t bytes) {
    fake_cuda.live++;
    return calloc(1, bytes);
}

static void discard(void *object) {
    fake_cuda.live--;
    free(object);
}

static void do_pending(uint64_t end) {
    if (end == pending_end)
        fake_cupti_waited();
    for (; pending_first < end; pending_first++) {
        unsigned i = pending_first % PENDING_MAX;
        memcpy(pending[i].to, pending[i].from, pending[i].bytes);
    }
}

static void add_pending(void *to, const void *from, size_t bytes) {
    if (pending_end - pending_first == PENDING_MAX)
        do_pending(pending_first + 1);
    unsigned i = pending_end++ % PENDING_MAX;
    pending[i].to = to;
    pending[i].from = from;
    pending[i].bytes = bytes;
}

static void *host(cuda_address address) {
    return (void *)(uintptr_t)address;
}

/* ---- Driver ------------------------------------------------------------------------------ */

struct CUstream_st {
    struct CUgraph_st *capture;
};
struct CUevent_st {
    double time;
    uint64_t pending;
};
struct CUmod_st {
    char name[64];
};
struct CUgraph_st {
    uint64_t launches;
};
struct CUgraphExec_st {
    uint64_t launches;
};

static cuda_result fake_cuGetErrorName(cuda_result error, const char **name) {
    *name = error == CUDA_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CUDA_NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
                                          : "CUDA_ERROR_UNKNOWN";
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuGetErrorString(cuda_result error, const char **text) {
    (void)error;
    *text = "as the driver explains it";
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuInit(unsigned flags) {
    (void)flags;
    DRIVER_CALL(cuInit);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDriverGetVersion(int *version) {
    DRIVER_CALL(cuDriverGetVersion);
    *version = 13000;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDeviceGetCount(int *count) {
    DRIVER_CALL(cuDeviceGetCount);
    *count = fake_cuda.devices;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDeviceGet(cuda_ordinal *device, int index) {
    DRIVER_CALL(cuDeviceGet);
    *device = index;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDeviceGetName(char *name, int capacity, cuda_ordinal device) {
    DRIVER_CALL(cuDeviceGetName);
    snprintf(name, (size_t)capacity, "Fake GPU %d", device);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDeviceGetUuid(cuda_uuid *uuid, cuda_ordinal device) {
    DRIVER_CALL(cuDeviceGetUuid);
    (void)device;
    for (unsigned i = 0; i < sizeof uuid->bytes; i++)
        uuid->bytes[i] = (char)(i * 17);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDeviceTotalMem(size_t *bytes, cuda_ordinal device) {
    DRIVER_CALL(cuDeviceTotalMem);
    (void)device;
    *bytes = (size_t)16 << 30;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDeviceGetAttribute(int *value, cuda_choice attribute,
                                             cuda_ordinal device) {
    DRIVER_CALL(cuDeviceGetAttribute);
    (void)device;
    *value = attribute == CUDA_CAPABILITY_MAJOR    ? fake_cuda.architecture / 10
             : attribute == CUDA_CAPABILITY_MINOR  ? fake_cuda.architecture % 10
             : attribute == CUDA_WARP_SIZE         ? 32
             : attribute == CUDA_BLOCK_SHARED      ? 49152
             : attribute == CUDA_BLOCK_SHARED_MOST ? 232448
             : attribute == CUDA_MEMORY_CLOCK_RATE ? 3201000
             : attribute == CUDA_MEMORY_BUS_WIDTH  ? 6144
                                                   : 1024;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDevicePrimaryCtxRetain(cuda_context *context, cuda_ordinal device) {
    DRIVER_CALL(cuDevicePrimaryCtxRetain);
    fake_cuda.live++;
    *context = (cuda_context)(uintptr_t)(device + 1);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuDevicePrimaryCtxRelease(cuda_ordinal device) {
    (void)device;
    fake_cuda.live--;
    DRIVER_CALL(cuDevicePrimaryCtxRelease);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuCtxSetCurrent(cuda_context context) {
    (void)context;
    fake_cuda.set_current++;
    DRIVER_CALL(cuCtxSetCurrent);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuCtxSynchronize(void) {
    do_pending(pending_end);
    DRIVER_CALL(cuCtxSynchronize);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuMemAlloc(cuda_address *address, size_t bytes) {
    DRIVER_CALL(cuMemAlloc);
    if (bytes > (size_t)16 << 30)
        return CUDA_OUT_OF_MEMORY;
    fake_cuda.live++;
    *address = (uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuMemFree(cuda_address address) {
    FREEING_CALL(cuMemFree, host(address));
}
static cuda_result fake_cuMemAllocHost(void **memory, size_t bytes) {
    DRIVER_CALL(cuMemAllocHost);
    *memory = make(bytes);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuMemFreeHost(void *memory) {
    FREEING_CALL(cuMemFreeHost, memory);
}
static cuda_result fake_cuMemcpyHtoDAsync(cuda_address to, const void *from, size_t bytes,
                                          cuda_stream stream) {
    (void)stream;
    DRIVER_CALL(cuMemcpyHtoDAsync);
    fake_cupti_called(277, stream, FAKE_COPY);
    add_pending(host(to), from, bytes);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuMemcpyDtoHAsync(void *to, cuda_address from, size_t bytes,
                                          cuda_stream stream) {
    (void)stream;
    DRIVER_CALL(cuMemcpyDtoHAsync);
    fake_cupti_called(279, stream, FAKE_COPY);
    add_pending(to, host(from), bytes);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuMemcpyDtoDAsync(cuda_address to, cuda_address from, size_t bytes,
                                          cuda_stream stream) {
    (void)stream;
    DRIVER_CALL(cuMemcpyDtoDAsync);
    fake_cupti_called(281, stream, FAKE_COPY);
    add_pending(host(to), host(from), bytes);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuModuleLoadData(cuda_module *module, const void *image) {
    DRIVER_CALL(cuModuleLoadData);
    (void)image;
    *module = make(sizeof **module);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuModuleUnload(cuda_module module) {
    FREEING_CALL(cuModuleUnload, module);
}
static cuda_result fake_cuModuleGetFunction(cuda_function *function, cuda_module module,
                                            const char *name) {
    DRIVER_CALL(cuModuleGetFunction);
    snprintf(module->name, sizeof module->name, "%s", name);
    *function = (cuda_function)(void *)module;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuFuncGetAttribute(int *value, cuda_choice attribute,
                                           cuda_function function) {
    DRIVER_CALL(cuFuncGetAttribute);
    (void)function;
    *value = attribute == CUDA_FUNCTION_REGISTERS ? 40 : 128;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuFuncSetAttribute(cuda_function function, cuda_choice attribute,
                                           int value) {
    DRIVER_CALL(cuFuncSetAttribute);
    (void)function;
    if (attribute == CUDA_FUNCTION_DYNAMIC_SHARED)
        fake_cuda.dynamic_shared = (unsigned)value;
    return CUDA_SUCCEEDED;
}
static void count_launch(cuda_stream stream) {
    if (stream->capture)
        stream->capture->launches++;
    else
        fake_cuda.launches++;
}
static cuda_result fake_cuLaunchKernel(cuda_function function, unsigned grid_x, unsigned grid_y,
                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                       unsigned block_z, unsigned shared, cuda_stream stream,
                                       void **parameters, void **extra) {
    DRIVER_CALL(cuLaunchKernel);
    (void)function, (void)shared, (void)extra;
    if (!grid_x || !grid_y || !grid_z || block_x * block_y * block_z > 1024)
        return CUDA_INVALID_VALUE;
    memcpy(&fake_cuda.first_argument, parameters[0], 8);
    memcpy(&fake_cuda.second_argument, parameters[1], 8);
    memcpy(&fake_cuda.first_scalar, parameters[2], 8);
    count_launch(stream);
    fake_cupti_called(307, stream, stream->capture ? FAKE_NOTHING : FAKE_KERNEL);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuStreamCreate(cuda_stream *stream, unsigned flags) {
    DRIVER_CALL(cuStreamCreate);
    (void)flags;
    *stream = make(sizeof **stream);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuStreamDestroy(cuda_stream stream) {
    FREEING_CALL(cuStreamDestroy, stream);
}
static cuda_result fake_cuStreamSynchronize(cuda_stream stream) {
    (void)stream;
    do_pending(pending_end);
    DRIVER_CALL(cuStreamSynchronize);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned flags) {
    (void)stream, (void)event, (void)flags;
    DRIVER_CALL(cuStreamWaitEvent);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuEventCreate(cuda_event *event, unsigned flags) {
    DRIVER_CALL(cuEventCreate);
    (void)flags;
    *event = make(sizeof **event);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuEventDestroy(cuda_event event) {
    FREEING_CALL(cuEventDestroy, event);
}
static cuda_result fake_cuEventRecord(cuda_event event, cuda_stream stream) {
    DRIVER_CALL(cuEventRecord);
    (void)stream;
    event->time = (double)clock_now() * fake_cuda.clock_rate + (double)device_time_added;
    event->pending = pending_end;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuEventQuery(cuda_event event) {
    DRIVER_CALL(cuEventQuery);
    return event->pending > pending_first ? CUDA_NOT_READY : CUDA_SUCCEEDED;
}
static cuda_result fake_cuEventSynchronize(cuda_event event) {
    do_pending(event->pending);
    DRIVER_CALL(cuEventSynchronize);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuEventElapsedTime(float *milliseconds, cuda_event from, cuda_event to) {
    DRIVER_CALL(cuEventElapsedTime);
    *milliseconds = (float)((to->time - from->time) / 1e6);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuStreamBeginCapture(cuda_stream stream, cuda_choice mode) {
    DRIVER_CALL(cuStreamBeginCapture);
    (void)mode;
    stream->capture = make(sizeof *stream->capture);
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuStreamEndCapture(cuda_stream stream, cuda_graph *graph) {
    bool failed = fails("cuStreamEndCapture");
    if (failed) {
        discard(stream->capture);
        *graph = NULL;
    } else {
        *graph = stream->capture;
    }
    stream->capture = NULL;
    return failed ? fake_cuda.error : CUDA_SUCCEEDED;
}
static cuda_result fake_cuGraphInstantiate(cuda_executable *executable, cuda_graph graph,
                                           unsigned long long flags) {
    DRIVER_CALL(cuGraphInstantiate);
    (void)flags;
    *executable = make(sizeof **executable);
    (*executable)->launches = graph->launches;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuGraphLaunch(cuda_executable executable, cuda_stream stream) {
    DRIVER_CALL(cuGraphLaunch);
    (void)stream;
    fake_cuda.launches += executable->launches;
    return CUDA_SUCCEEDED;
}
static cuda_result fake_cuGraphExecDestroy(cuda_executable executable) {
    FREEING_CALL(cuGraphExecDestroy, executable);
}
static cuda_result fake_cuGraphDestroy(cuda_graph graph) {
    FREEING_CALL(cuGraphDestroy, graph);
}

/* ---- NVRTC ------------------------------------------------------------------------------- */

static const char compiler_log[] =
    "fake.cu(1): warning: never mind\nfake.cu(2): error: what is \"zork\"?\nmore\n";
static const char binary[] = "\177ELF of a kernel";

static cuda_result fake_nvrtcVersion(int *major, int *minor) {
    NVRTC_CALL(nvrtcVersion);
    *major = 99;
    *minor = 1;
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcGetNumSupportedArchs(int *count) {
    NVRTC_CALL(nvrtcGetNumSupportedArchs);
    *count = 2;
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcGetSupportedArchs(int *architectures) {
    NVRTC_CALL(nvrtcGetSupportedArchs);
    architectures[0] = 75;
    architectures[1] = fake_cuda.newest;
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcCreateProgram(nvrtc_program *program, const char *source,
                                           const char *name, int header_count,
                                           const char *const *headers, const char *const *names) {
    NVRTC_CALL(nvrtcCreateProgram);
    (void)source, (void)name, (void)header_count, (void)headers, (void)names;
    *program = make(1);
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcDestroyProgram(nvrtc_program *program) {
    FREEING_CALL(nvrtcDestroyProgram, *program);
}
static cuda_result fake_nvrtcCompileProgram(nvrtc_program program, int count,
                                            const char *const *options) {
    NVRTC_CALL(nvrtcCompileProgram);
    (void)program, (void)count, (void)options;
    return fake_cuda.source_is_wrong ? NVRTC_COMPILATION : NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcGetProgramLogSize(nvrtc_program program, size_t *bytes) {
    NVRTC_CALL(nvrtcGetProgramLogSize);
    (void)program;
    *bytes = sizeof compiler_log;
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcGetProgramLog(nvrtc_program program, char *log) {
    NVRTC_CALL(nvrtcGetProgramLog);
    (void)program;
    memcpy(log, compiler_log, sizeof compiler_log);
    return NVRTC_SUCCEEDED;
}
static cuda_result give_binary_size(size_t *bytes) {
    *bytes = sizeof binary;
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcGetPTXSize(nvrtc_program program, size_t *bytes) {
    NVRTC_CALL(nvrtcGetPTXSize);
    (void)program;
    return give_binary_size(bytes);
}
static cuda_result fake_nvrtcGetPTX(nvrtc_program program, char *bytes) {
    NVRTC_CALL(nvrtcGetPTX);
    (void)program;
    memcpy(bytes, binary, sizeof binary);
    return NVRTC_SUCCEEDED;
}
static cuda_result fake_nvrtcGetCUBINSize(nvrtc_program program, size_t *bytes) {
    NVRTC_CALL(nvrtcGetCUBINSize);
    (void)program;
    return give_binary_size(bytes);
}
static cuda_result fake_nvrtcGetCUBIN(nvrtc_program program, char *bytes) {
    NVRTC_CALL(nvrtcGetCUBIN);
    (void)program;
    memcpy(bytes, binary, sizeof binary);
    return NVRTC_SUCCEEDED;
}

/* ---- cuBLASLt ---------------------------------------------------------------------------- */

struct blas_description_object {
    int32_t transposed[2], epilogue;
    const float *bias;
};
struct blas_layout_object {
    uint64_t rows, columns;
    int64_t leading, batch_stride;
    int32_t batch;
};

static cuda_result fake_cublasLtCreate(blas_handle *handle) {
    BLAS_CALL(cublasLtCreate);
    *handle = make(1);
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtDestroy(blas_handle handle) {
    FREEING_CALL(cublasLtDestroy, handle);
}
static cuda_result fake_cublasLtMatmulDescCreate(blas_description *description, cuda_choice compute,
                                                 cuda_choice scale) {
    BLAS_CALL(cublasLtMatmulDescCreate);
    (void)compute, (void)scale;
    *description = make(sizeof **description);
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtMatmulDescDestroy(blas_description description) {
    FREEING_CALL(cublasLtMatmulDescDestroy, description);
}
static cuda_result fake_cublasLtMatmulDescSetAttribute(blas_description description,
                                                       cuda_choice attribute, const void *value,
                                                       size_t bytes) {
    BLAS_CALL(cublasLtMatmulDescSetAttribute);
    if (attribute == BLAS_DESCRIPTION_BIAS_POINTER)
        memcpy(&description->bias, value, bytes);
    else if (attribute == BLAS_DESCRIPTION_EPILOGUE)
        memcpy(&description->epilogue, value, bytes);
    else
        memcpy(&description->transposed[attribute - BLAS_DESCRIPTION_TRANSPOSE_A], value, bytes);
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtMatrixLayoutCreate(blas_layout *layout, cuda_choice type,
                                                   uint64_t rows, uint64_t columns,
                                                   int64_t leading) {
    BLAS_CALL(cublasLtMatrixLayoutCreate);
    (void)type;
    *layout = make(sizeof **layout);
    **layout = (struct blas_layout_object){rows, columns, leading, 0, 1};
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtMatrixLayoutDestroy(blas_layout layout) {
    FREEING_CALL(cublasLtMatrixLayoutDestroy, layout);
}
static cuda_result fake_cublasLtMatrixLayoutSetAttribute(blas_layout layout, cuda_choice attribute,
                                                         const void *value, size_t bytes) {
    BLAS_CALL(cublasLtMatrixLayoutSetAttribute);
    memcpy(attribute == BLAS_LAYOUT_BATCH_COUNT ? (void *)&layout->batch
                                                : (void *)&layout->batch_stride,
           value, bytes);
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtMatmulPreferenceCreate(blas_preference *preference) {
    BLAS_CALL(cublasLtMatmulPreferenceCreate);
    *preference = make(1);
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtMatmulPreferenceDestroy(blas_preference preference) {
    FREEING_CALL(cublasLtMatmulPreferenceDestroy, preference);
}
static cuda_result fake_cublasLtMatmulPreferenceSetAttribute(blas_preference preference,
                                                             cuda_choice attribute,
                                                             const void *value, size_t bytes) {
    BLAS_CALL(cublasLtMatmulPreferenceSetAttribute);
    (void)preference, (void)attribute, (void)value, (void)bytes;
    return BLAS_SUCCEEDED;
}
static cuda_result fake_cublasLtMatmulAlgoGetHeuristic(blas_handle handle,
                                                       blas_description description, blas_layout a,
                                                       blas_layout b, blas_layout c, blas_layout d,
                                                       blas_preference preference, int capacity,
                                                       struct blas_heuristic *results, int *count) {
    BLAS_CALL(cublasLtMatmulAlgoGetHeuristic);
    (void)handle, (void)description, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *count = 0;
    for (; *count < 3 && *count < capacity; ++*count) {
        results[*count].algorithm.data[0] = (uint64_t)*count;
        results[*count].workspace_bytes = 1000;
        results[*count].state = BLAS_SUCCEEDED;
    }
    return BLAS_SUCCEEDED;
}

static float element(const float *data, const struct blas_layout_object *layout, bool transposed,
                     uint64_t row, uint64_t column) {
    uint64_t i = transposed ? column : row, j = transposed ? row : column;
    return data[i + j * (uint64_t)layout->leading];
}

static void multiply(const struct blas_description_object *description, const float *a,
                     const struct blas_layout_object *a_layout, const float *b,
                     const struct blas_layout_object *b_layout, float *d,
                     const struct blas_layout_object *d_layout) {
    bool ta = description->transposed[0], tb = description->transposed[1];
    uint64_t depth = ta ? a_layout->rows : a_layout->columns;
    for (uint64_t i = 0; i < d_layout->rows; i++)
        for (uint64_t j = 0; j < d_layout->columns; j++) {
            float sum = 0;
            for (uint64_t k = 0; k < depth; k++)
                sum += element(a, a_layout, ta, i, k) * element(b, b_layout, tb, k, j);
            if (description->epilogue & BLAS_EPILOGUE_BIAS)
                sum += description->bias[i];
            if (description->epilogue & BLAS_EPILOGUE_RELU)
                sum = sum < 0 ? 0 : sum;
            d[i + j * (uint64_t)d_layout->leading] = sum;
        }
}

static cuda_result fake_cublasLtMatmul(blas_handle handle, blas_description description,
                                       const void *alpha, const void *a, blas_layout a_layout,
                                       const void *b, blas_layout b_layout, const void *beta,
                                       const void *c, blas_layout c_layout, void *d,
                                       blas_layout d_layout, const struct blas_algorithm *algorithm,
                                       void *workspace, size_t workspace_bytes,
                                       cuda_stream stream) {
    BLAS_CALL(cublasLtMatmul);
    (void)handle, (void)alpha, (void)beta, (void)c, (void)c_layout;
    if (!workspace || workspace_bytes < 1000)
        return BLAS_INTERNAL;
    do_pending(pending_end);
    if (!stream->capture)
        for (int32_t i = 0; i < d_layout->batch; i++)
            multiply(description, (const float *)a + i * a_layout->batch_stride, a_layout,
                     (const float *)b + i * b_layout->batch_stride, b_layout,
                     (float *)d + i * d_layout->batch_stride, d_layout);
    fake_cuda.matmul_algorithm = (unsigned)algorithm->data[0];
    device_time_added += (int64_t)fake_cuda.matmul_microseconds[algorithm->data[0] % 8] * 1000;
    count_launch(stream);
    fake_cupti_called(3, stream, FAKE_NOTHING); /* it asks what it will */
    for (unsigned i = 0; i < 2; i++)
        fake_cupti_called(652, stream, stream->capture ? FAKE_NOTHING : FAKE_KERNEL);
    return BLAS_SUCCEEDED;
}

#define FAKE(name, symbol, parameters) .name = fake_##name,
static const struct cuda_driver driver = {CUDA_DRIVER_SYMBOLS(FAKE)};
static const struct cuda_nvrtc nvrtc = {NVRTC_SYMBOLS(FAKE)};
static const struct cuda_blas blas = {BLAS_SYMBOLS(FAKE)};

void fake_cuda_use(void) {
    pending_first = pending_end = 0;
    device_time_added = 0;
    fake_cuda = (struct fake_cuda){
        .error = CUDA_UNKNOWN,
        .devices = 2,
        .architecture = 90,
        .newest = 90,
        .clock_rate = 1,
        .matmul_microseconds = {50, 20, 80},
    };
    cuda_use_driver(&driver);
    cuda_use_nvrtc(&nvrtc);
    cuda_use_blas(&blas);
    fake_cupti_use();
}

void fake_cuda_remove(void) {
    cuda_use_driver(NULL);
    cuda_use_nvrtc(NULL);
    cuda_use_blas(NULL);
    fake_cupti_remove();
}
