/* Whether the functions of src/abi/cuda_symbols.h take what NVIDIA's headers say, and are
 * the versions that those headers mean. The tables are read with the vendor's own types; that ours
 * are the same is for cuda_numbers.c. Ends with 77 where there are no headers. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#define HAVE_DRIVER
#endif
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define HAVE_NVRTC
#endif
/* cuBLAS' headers need some of the compiler's, which come apart from them. */
#if __has_include(<cublasLt.h>) && __has_include(<crt/host_defines.h>) && __has_include(<nv/target>)
#include <cublasLt.h>
#define HAVE_BLAS
#endif
#endif

#include "abi/cuda_symbols.h"

#if defined(HAVE_DRIVER) && CUDA_VERSION < 12000 /* the name was another function's */
#undef cuGraphInstantiate
#define cuGraphInstantiate cuGraphInstantiateWithFlags
#endif

#define SAME(name, symbol, parameters)                                                             \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), unsigned int(*) parameters),    \
                   #name " takes something else");
typedef unsigned int cuda_result, cuda_choice;

#ifdef HAVE_DRIVER
typedef CUdevice cuda_ordinal;
typedef CUdeviceptr cuda_address;
typedef CUcontext cuda_context;
typedef CUstream cuda_stream;
typedef CUevent cuda_event;
typedef CUmodule cuda_module;
typedef CUfunction cuda_function;
typedef CUgraph cuda_graph;
typedef CUgraphExec cuda_executable;
typedef CUuuid cuda_uuid;
CUDA_DRIVER_SYMBOLS(SAME)

#define EXPANDED(name) #name
#define VERSION(name, symbol, parameters) {EXPANDED(name), symbol},
/* Left column: what the header's macros make of the name. */
static const char *const versions[][2] = {CUDA_DRIVER_SYMBOLS(VERSION)};

/* These have a later version too, which serves the same purpose. */
static int may_differ(const char *symbol) {
    return strcmp(symbol, "cuDeviceGetUuid") == 0 || strcmp(symbol, "cuEventElapsedTime") == 0;
}

static int wrong_versions(void) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i][0], versions[i][1]) != 0 && !may_differ(versions[i][1])) {
            printf("FAILED %s is loaded, but the header means %s\n", versions[i][1],
                   versions[i][0]);
            wrong++;
        }
    return wrong;
}
#endif

#ifdef HAVE_NVRTC
typedef nvrtcProgram nvrtc_program;
NVRTC_SYMBOLS(SAME)
#endif

#ifdef HAVE_BLAS
#ifndef HAVE_DRIVER
typedef cudaStream_t cuda_stream;
#endif
typedef cublasLtHandle_t blas_handle;
typedef cublasLtMatmulDesc_t blas_description;
typedef cublasLtMatrixLayout_t blas_layout;
typedef cublasLtMatmulPreference_t blas_preference;
typedef cublasLtMatmulAlgo_t blas_algorithm;
typedef cublasLtMatmulHeuristicResult_t blas_heuristic;
BLAS_SYMBOLS(SAME)
#endif

int main(void) {
#if defined(HAVE_DRIVER)
    return wrong_versions() > 0;
#elif defined(HAVE_NVRTC) || defined(HAVE_BLAS)
    return 0;
#else
    puts("SKIP NVIDIA's headers are not installed");
    return 77;
#endif
}
