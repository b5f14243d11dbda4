/* Types and constants of the CUDA driver, NVRTC and cuBLASLt, declared here so that no vendor
 * header is needed to build.
 *
 * Released constants never change. tests/abi compares all declarations with the vendor's headers
 * where they are installed. Structure tags are the vendor's, so that whole prototypes can be
 * compared.
 */
#ifndef RIDGE_ABI_CUDA_H
#define RIDGE_ABI_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* The vendor's enumerations have no negative members, so compilers use unsigned int. */
typedef unsigned int cuda_result;
typedef unsigned int cuda_choice; /* an attribute, a mode */
typedef int cuda_ordinal;         /* a device */
typedef unsigned long long cuda_address;
typedef struct CUctx_st *cuda_context;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;
typedef struct CUgraph_st *cuda_graph;
typedef struct CUgraphExec_st *cuda_executable;
typedef struct CUuuid_st cuda_uuid;
typedef struct _nvrtcProgram *nvrtc_program;
typedef struct cublasLtContext *blas_handle;
/* Opaque; in the vendor's headers pointers to untagged structures. */
typedef struct blas_description_object *blas_description;
typedef struct blas_layout_object *blas_layout;
typedef struct blas_preference_object *blas_preference;
typedef struct blas_algorithm blas_algorithm;
typedef struct blas_heuristic blas_heuristic;

struct CUuuid_st {
    char bytes[16];
};

struct blas_algorithm {
    uint64_t data[8];
};

struct blas_heuristic {
    struct blas_algorithm algorithm;
    size_t workspace_bytes;
    unsigned int state;
    float waves;
    int reserved[4];
};

/* X(our name, the vendor's name, value) */
#define CUDA_NUMBERS(X)                                                                            \
    X(CUDA_SUCCEEDED, CUDA_SUCCESS, 0)                                                             \
    X(CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                             \
    X(CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                             \
    X(CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED, 3)                                         \
    X(CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY, 34)                                              \
    X(CUDA_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                  \
    X(CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE, 100)                                                   \
    X(CUDA_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE, 200)                                           \
    X(CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT, 201)                                       \
    X(CUDA_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU, 209)                                   \
    X(CUDA_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                   \
    X(CUDA_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                       \
    X(CUDA_OPERATING_SYSTEM, CUDA_ERROR_OPERATING_SYSTEM, 304)                                     \
    X(CUDA_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                                   \
    X(CUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                       \
    X(CUDA_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)                       \
    X(CUDA_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                         \
    X(CUDA_CONTEXT_IS_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                             \
    X(CUDA_ASSERT, CUDA_ERROR_ASSERT, 710)                                                         \
    X(CUDA_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                             \
    X(CUDA_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                               \
    X(CUDA_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                 \
    X(CUDA_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                           \
    X(CUDA_INVALID_PC, CUDA_ERROR_INVALID_PC, 718)                                                 \
    X(CUDA_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                                           \
    X(CUDA_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY, 802)                                     \
    X(CUDA_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803)                         \
    X(CUDA_COMPAT_NOT_SUPPORTED, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804)                   \
    X(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN, 999)                                                       \
    X(CUDA_BLOCK_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1)                            \
    X(CUDA_BLOCK_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                       \
    X(CUDA_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10)                                           \
    X(CUDA_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                         \
    X(CUDA_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                          \
    X(CUDA_MEMORY_CLOCK_RATE, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36)                           \
    X(CUDA_MEMORY_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                      \
    X(CUDA_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38)                                   \
    X(CUDA_UNIT_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39)                   \
    X(CUDA_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                     \
    X(CUDA_CAPABILITY_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                     \
    X(CUDA_UNIT_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)              \
    X(CUDA_UNIT_REGISTERS, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82)               \
    X(CUDA_BLOCK_SHARED_MOST, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)           \
    X(CUDA_FUNCTION_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1)                                \
    X(CUDA_FUNCTION_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                      \
    X(CUDA_FUNCTION_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)            \
    X(CUDA_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING, 1)                                         \
    X(CUDA_EVENT_TIMING, CU_EVENT_DEFAULT, 0)                                                      \
    X(CUDA_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING, 2)                                            \
    X(CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED, 2)

#define NVRTC_NUMBERS(X)                                                                           \
    X(NVRTC_SUCCEEDED, NVRTC_SUCCESS, 0)                                                           \
    X(NVRTC_OUT_OF_MEMORY, NVRTC_ERROR_OUT_OF_MEMORY, 1)                                           \
    X(NVRTC_COMPILATION, NVRTC_ERROR_COMPILATION, 6)                                               \
    X(NVRTC_BUILTIN_OPERATION_FAILURE, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE, 7)

#define BLAS_NUMBERS(X)                                                                            \
    X(BLAS_SUCCEEDED, CUBLAS_STATUS_SUCCESS, 0)                                                    \
    X(BLAS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED, 3)                                            \
    X(BLAS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED, 13)                                   \
    X(BLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED, 15)                                         \
    X(BLAS_OPERAND_AS_IS, CUBLAS_OP_N, 0)                                                          \
    X(BLAS_OPERAND_TRANSPOSED, CUBLAS_OP_T, 1)                                                     \
    X(BLAS_COMPUTE_F32, CUBLAS_COMPUTE_32F, 68)                                                    \
    X(BLAS_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                         \
    X(BLAS_COMPUTE_I32, CUBLAS_COMPUTE_32I, 72)                                                    \
    X(BLAS_I8, CUDA_R_8I, 3)                                                                       \
    X(BLAS_I32, CUDA_R_32I, 10)                                                                    \
    X(BLAS_F32, CUDA_R_32F, 0)                                                                     \
    X(BLAS_F16, CUDA_R_16F, 2)                                                                     \
    X(BLAS_BF16, CUDA_R_16BF, 14)                                                                  \
    X(BLAS_DESCRIPTION_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                \
    X(BLAS_DESCRIPTION_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                \
    X(BLAS_DESCRIPTION_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                 \
    X(BLAS_DESCRIPTION_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                         \
    X(BLAS_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT, 1)                                         \
    X(BLAS_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU, 2)                                               \
    X(BLAS_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                                               \
    X(BLAS_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, 6)                                     \
    X(BLAS_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU, 32)                                              \
    X(BLAS_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS, 36)                                    \
    X(BLAS_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)                              \
    X(BLAS_LAYOUT_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6)                    \
    X(BLAS_PREFER_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                    \
    X(BLAS_PREFER_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                       \
    X(BLAS_PREFER_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)                      \
    X(BLAS_PREFER_ALIGNMENT_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)                      \
    X(BLAS_PREFER_ALIGNMENT_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)                      \
    X(BLAS_PREFER_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)                      \
    X(BLAS_REDUCTION_IN_F32, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)

#define ABI_NUMBER(ours, theirs, value) ours = value,
enum { CUDA_NUMBERS(ABI_NUMBER) NVRTC_NUMBERS(ABI_NUMBER) BLAS_NUMBERS(ABI_NUMBER) };

#endif
