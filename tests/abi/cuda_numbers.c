/* Whether the types and numbers that src/abi/cuda.h declares are those of NVIDIA's headers:
 * checked by compiling, library by library. Ends with 77 where there are no headers. */
#include <stddef.h>
#include <stdio.h>

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

#define CUuuid_st ridge_uuid_object /* both define it */
#include "abi/cuda.h"

#define NUMBER(ours, theirs, value)                                                                \
    _Static_assert((long long)ours == (long long)(theirs), #theirs " is another number");
#define TYPE(ours, theirs)                                                                         \
    _Static_assert(__builtin_types_compatible_p(ours, theirs), #theirs " is another type");
#define MEMBER(structure, member, theirs, their_member)                                            \
    _Static_assert(offsetof(structure, member) == offsetof(theirs, their_member),                  \
                   #their_member " is elsewhere");

#ifdef HAVE_DRIVER
CUDA_NUMBERS(NUMBER)
TYPE(cuda_result, CUresult)
TYPE(cuda_choice, CUdevice_attribute)
TYPE(cuda_choice, CUfunction_attribute)
TYPE(cuda_choice, CUstreamCaptureMode)
TYPE(cuda_ordinal, CUdevice)
TYPE(cuda_address, CUdeviceptr)
TYPE(cuda_context, CUcontext)
TYPE(cuda_stream, CUstream)
TYPE(cuda_event, CUevent)
TYPE(cuda_module, CUmodule)
TYPE(cuda_function, CUfunction)
TYPE(cuda_graph, CUgraph)
TYPE(cuda_executable, CUgraphExec)
_Static_assert(sizeof(cuda_uuid) == sizeof(CUuuid), "CUuuid has another size");
#endif

#ifdef HAVE_NVRTC
NVRTC_NUMBERS(NUMBER)
TYPE(cuda_result, nvrtcResult)
TYPE(nvrtc_program, nvrtcProgram)
#endif

#ifdef HAVE_BLAS
BLAS_NUMBERS(NUMBER)
TYPE(cuda_result, cublasStatus_t)
TYPE(cuda_choice, cublasComputeType_t)
TYPE(cuda_choice, cudaDataType_t)
TYPE(cuda_choice, cublasLtMatmulDescAttributes_t)
TYPE(cuda_choice, cublasLtMatrixLayoutAttribute_t)
TYPE(cuda_choice, cublasLtMatmulPreferenceAttributes_t)
TYPE(blas_handle, cublasLtHandle_t)
_Static_assert(sizeof(struct blas_algorithm) == sizeof(cublasLtMatmulAlgo_t), "algorithm");
_Static_assert(sizeof(struct blas_heuristic) == sizeof(cublasLtMatmulHeuristicResult_t), "result");
MEMBER(struct blas_heuristic, algorithm, cublasLtMatmulHeuristicResult_t, algo)
MEMBER(struct blas_heuristic, workspace_bytes, cublasLtMatmulHeuristicResult_t, workspaceSize)
MEMBER(struct blas_heuristic, state, cublasLtMatmulHeuristicResult_t, state)
MEMBER(struct blas_heuristic, waves, cublasLtMatmulHeuristicResult_t, wavesCount)
#endif

int main(void) {
#if defined(HAVE_DRIVER) || defined(HAVE_NVRTC) || defined(HAVE_BLAS)
    return 0;
#else
    puts("SKIP NVIDIA's headers are not installed");
    return 77;
#endif
}
