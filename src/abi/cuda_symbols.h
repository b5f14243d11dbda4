/* The functions of NVIDIA's libraries that ridge uses, one row each.
 *
 * X(name, symbol, parameters): the documented name, the exported symbol, and the parameters in the
 * types of cuda.h. These tables generate the structs of function pointers (cuda_driver.h), their
 * loading, the fakes of the tests and the check of every prototype against the vendor's headers
 * (tests/abi).
 */
#ifndef RIDGE_ABI_CUDA_SYMBOLS_H
#define RIDGE_ABI_CUDA_SYMBOLS_H

/* All return cuda_result. */
#define CUDA_DRIVER_SYMBOLS(X)                                                                     \
    X(cuGetErrorName, "cuGetErrorName", (cuda_result, const char **))                              \
    X(cuGetErrorString, "cuGetErrorString", (cuda_result, const char **))                          \
    X(cuInit, "cuInit", (unsigned int))                                                            \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                           \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                               \
    X(cuDeviceGet, "cuDeviceGet", (cuda_ordinal *, int))                                           \
    X(cuDeviceGetName, "cuDeviceGetName", (char *, int, cuda_ordinal))                             \
    X(cuDeviceGetUuid, "cuDeviceGetUuid", (cuda_uuid *, cuda_ordinal))                             \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, cuda_ordinal))                           \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, cuda_choice, cuda_ordinal))            \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cuda_context *, cuda_ordinal))        \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (cuda_ordinal))                   \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", (cuda_context))                                          \
    X(cuCtxSynchronize, "cuCtxSynchronize", (void))                                                \
    X(cuMemAlloc, "cuMemAlloc_v2", (cuda_address *, size_t))                                       \
    X(cuMemFree, "cuMemFree_v2", (cuda_address))                                                   \
    X(cuMemAllocHost, "cuMemAllocHost_v2", (void **, size_t))                                      \
    X(cuMemFreeHost, "cuMemFreeHost", (void *))                                                    \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                   \
      (cuda_address, const void *, size_t, cuda_stream))                                           \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, cuda_address, size_t, cuda_stream))      \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                   \
      (cuda_address, cuda_address, size_t, cuda_stream))                                           \
    X(cuModuleLoadData, "cuModuleLoadData", (cuda_module *, const void *))                         \
    X(cuModuleUnload, "cuModuleUnload", (cuda_module))                                             \
    X(cuModuleGetFunction, "cuModuleGetFunction", (cuda_function *, cuda_module, const char *))    \
    X(cuFuncGetAttribute, "cuFuncGetAttribute", (int *, cuda_choice, cuda_function))               \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", (cuda_function, cuda_choice, int))                 \
    X(cuLaunchKernel, "cuLaunchKernel",                                                            \
      (cuda_function, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,        \
       unsigned int, unsigned int, cuda_stream, void **, void **))                                 \
    X(cuStreamCreate, "cuStreamCreate", (cuda_stream *, unsigned int))                             \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (cuda_stream))                                        \
    X(cuStreamSynchronize, "cuStreamSynchronize", (cuda_stream))                                   \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", (cuda_stream, cuda_event, unsigned int))             \
    X(cuEventCreate, "cuEventCreate", (cuda_event *, unsigned int))                                \
    X(cuEventDestroy, "cuEventDestroy_v2", (cuda_event))                                           \
    X(cuEventRecord, "cuEventRecord", (cuda_event, cuda_stream))                                   \
    X(cuEventQuery, "cuEventQuery", (cuda_event))                                                  \
    X(cuEventSynchronize, "cuEventSynchronize", (cuda_event))                                      \
    X(cuEventElapsedTime, "cuEventElapsedTime", (float *, cuda_event, cuda_event))                 \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (cuda_stream, cuda_choice))                 \
    X(cuStreamEndCapture, "cuStreamEndCapture", (cuda_stream, cuda_graph *))                       \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                           \
      (cuda_executable *, cuda_graph, unsigned long long))                                         \
    X(cuGraphLaunch, "cuGraphLaunch", (cuda_executable, cuda_stream))                              \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (cuda_executable))                                 \
    X(cuGraphDestroy, "cuGraphDestroy", (cuda_graph))

/* All return cuda_result, in place of their own status type. */
#define NVRTC_SYMBOLS(X)                                                                           \
    X(nvrtcVersion, "nvrtcVersion", (int *, int *))                                                \
    X(nvrtcGetNumSupportedArchs, "nvrtcGetNumSupportedArchs", (int *))                             \
    X(nvrtcGetSupportedArchs, "nvrtcGetSupportedArchs", (int *))                                   \
    X(nvrtcCreateProgram, "nvrtcCreateProgram",                                                    \
      (nvrtc_program *, const char *, const char *, int, const char *const *,                      \
       const char *const *))                                                                       \
    X(nvrtcDestroyProgram, "nvrtcDestroyProgram", (nvrtc_program *))                               \
    X(nvrtcCompileProgram, "nvrtcCompileProgram", (nvrtc_program, int, const char *const *))       \
    X(nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize", (nvrtc_program, size_t *))                 \
    X(nvrtcGetProgramLog, "nvrtcGetProgramLog", (nvrtc_program, char *))                           \
    X(nvrtcGetPTXSize, "nvrtcGetPTXSize", (nvrtc_program, size_t *))                               \
    X(nvrtcGetPTX, "nvrtcGetPTX", (nvrtc_program, char *))                                         \
    X(nvrtcGetCUBINSize, "nvrtcGetCUBINSize", (nvrtc_program, size_t *))                           \
    X(nvrtcGetCUBIN, "nvrtcGetCUBIN", (nvrtc_program, char *))

/* All return cuda_result, in place of their own status type. */
#define BLAS_SYMBOLS(X)                                                                            \
    X(cublasLtCreate, "cublasLtCreate", (blas_handle *))                                           \
    X(cublasLtDestroy, "cublasLtDestroy", (blas_handle))                                           \
    X(cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate",                                        \
      (blas_description *, cuda_choice, cuda_choice))                                              \
    X(cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy", (blas_description))                  \
    X(cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute",                            \
      (blas_description, cuda_choice, const void *, size_t))                                       \
    X(cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate",                                    \
      (blas_layout *, cuda_choice, uint64_t, uint64_t, int64_t))                                   \
    X(cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy", (blas_layout))                   \
    X(cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute",                        \
      (blas_layout, cuda_choice, const void *, size_t))                                            \
    X(cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate", (blas_preference *))       \
    X(cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy", (blas_preference))       \
    X(cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute",                \
      (blas_preference, cuda_choice, const void *, size_t))                                        \
    X(cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic",                            \
      (blas_handle, blas_description, blas_layout, blas_layout, blas_layout, blas_layout,          \
       blas_preference, int, blas_heuristic *, int *))                                             \
    X(cublasLtMatmul, "cublasLtMatmul",                                                            \
      (blas_handle, blas_description, const void *, const void *, blas_layout, const void *,       \
       blas_layout, const void *, const void *, blas_layout, void *, blas_layout,                  \
       const blas_algorithm *, void *, size_t, cuda_stream))

#endif
