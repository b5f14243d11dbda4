/* The part of OpenCL's binary interface that ridge uses, declared here so that no vendor header is
 * needed to build. Names and values are those of Khronos' CL/cl.h and CL/cl_ext.h;
 * tests/abi/opencl.c compares them where those headers are installed.
 */
#ifndef RIDGE_ABI_OPENCL_H
#define RIDGE_ABI_OPENCL_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

typedef intptr_t cl_context_properties;
typedef cl_ulong cl_queue_properties;

/* X(name, value) */
#define OPENCL_CONSTANTS(X)                                                                        \
    X(CL_COMPLETE, 0)                                                                              \
    X(CL_PLATFORM_NAME, 0x0902)                                                                    \
    X(CL_PLATFORM_VENDOR, 0x0903)                                                                  \
    X(CL_PLATFORM_HOST_TIMER_RESOLUTION, 0x0905)                                                   \
    X(CL_DEVICE_TYPE_CPU, 2)                                                                       \
    X(CL_DEVICE_TYPE_GPU, 4)                                                                       \
    X(CL_DEVICE_TYPE_ACCELERATOR, 8)                                                               \
    X(CL_DEVICE_TYPE, 0x1000)                                                                      \
    X(CL_DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                         \
    X(CL_DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                                       \
    X(CL_DEVICE_MAX_CLOCK_FREQUENCY, 0x100C)                                                       \
    X(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                                                        \
    X(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 0x1019)                                                       \
    X(CL_DEVICE_SINGLE_FP_CONFIG, 0x101B)                                                          \
    X(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0x101E)                                                     \
    X(CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                                           \
    X(CL_DEVICE_LOCAL_MEM_SIZE, 0x1023)                                                            \
    X(CL_DEVICE_ENDIAN_LITTLE, 0x1026)                                                             \
    X(CL_DEVICE_AVAILABLE, 0x1027)                                                                 \
    X(CL_DEVICE_COMPILER_AVAILABLE, 0x1028)                                                        \
    X(CL_DEVICE_NAME, 0x102B)                                                                      \
    X(CL_DEVICE_VENDOR, 0x102C)                                                                    \
    X(CL_DRIVER_VERSION, 0x102D)                                                                   \
    X(CL_DEVICE_VERSION, 0x102F)                                                                   \
    X(CL_DEVICE_PLATFORM, 0x1031)                                                                  \
    X(CL_DEVICE_PARENT_DEVICE, 0x1042)                                                             \
    X(CL_DEVICE_EXTENSIONS, 0x1030)                                                                \
    X(CL_DEVICE_UUID_KHR, 0x106A)                                                                  \
    X(CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, 0x4000)                                               \
    X(CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, 0x4001)                                               \
    X(CL_DEVICE_REGISTERS_PER_BLOCK_NV, 0x4002)                                                    \
    X(CL_DEVICE_WARP_SIZE_NV, 0x4003)                                                              \
    X(CL_DEVICE_WAVEFRONT_WIDTH_AMD, 0x4043)                                                       \
    X(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 128)                                                    \
    X(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1)                                                   \
    X(CL_QUEUE_PROFILING_ENABLE, 2)                                                                \
    X(CL_QUEUE_ON_DEVICE, 4)                                                                       \
    X(CL_QUEUE_CONTEXT, 0x1090)                                                                    \
    X(CL_QUEUE_DEVICE, 0x1091)                                                                     \
    X(CL_QUEUE_REFERENCE_COUNT, 0x1092)                                                            \
    X(CL_QUEUE_PROPERTIES, 0x1093)                                                                 \
    X(CL_QUEUE_PROPERTIES_ARRAY, 0x1098)                                                           \
    X(CL_CONTEXT_DEVICES, 0x1081)                                                                  \
    X(CL_CONTEXT_PLATFORM, 0x1084)                                                                 \
    X(CL_MEM_ALLOC_HOST_PTR, 16)                                                                   \
    X(CL_MAP_READ, 1)                                                                              \
    X(CL_MAP_WRITE, 2)                                                                             \
    X(CL_MAP_WRITE_INVALIDATE_REGION, 4)                                                           \
    X(CL_MEM_READ_WRITE, 1)                                                                        \
    X(CL_MEM_USE_HOST_PTR, 8)                                                                      \
    X(CL_MEM_FLAGS, 0x1101)                                                                        \
    X(CL_MEM_SIZE, 0x1102)                                                                         \
    X(CL_PROGRAM_BINARY_SIZES, 0x1165)                                                             \
    X(CL_PROGRAM_BINARIES, 0x1166)                                                                 \
    X(CL_PROGRAM_BUILD_LOG, 0x1183)                                                                \
    X(CL_KERNEL_FUNCTION_NAME, 0x1190)                                                             \
    X(CL_KERNEL_WORK_GROUP_SIZE, 0x11B0)                                                           \
    X(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 0x11B1)                                                   \
    X(CL_KERNEL_LOCAL_MEM_SIZE, 0x11B2)                                                            \
    X(CL_EVENT_COMMAND_QUEUE, 0x11D0)                                                              \
    X(CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)                                                   \
    X(CL_PROFILING_COMMAND_QUEUED, 0x1280)                                                         \
    X(CL_PROFILING_COMMAND_START, 0x1282)                                                          \
    X(CL_PROFILING_COMMAND_END, 0x1283)

/* Error codes, for messages. */
#define OPENCL_ERRORS(X)                                                                           \
    X(CL_SUCCESS, 0)                                                                               \
    X(CL_DEVICE_NOT_FOUND, -1)                                                                     \
    X(CL_DEVICE_NOT_AVAILABLE, -2)                                                                 \
    X(CL_COMPILER_NOT_AVAILABLE, -3)                                                               \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                        \
    X(CL_OUT_OF_RESOURCES, -5)                                                                     \
    X(CL_OUT_OF_HOST_MEMORY, -6)                                                                   \
    X(CL_PROFILING_INFO_NOT_AVAILABLE, -7)                                                         \
    X(CL_MEM_COPY_OVERLAP, -8)                                                                     \
    X(CL_BUILD_PROGRAM_FAILURE, -11)                                                               \
    X(CL_MAP_FAILURE, -12)                                                                         \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                        \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                           \
    X(CL_COMPILE_PROGRAM_FAILURE, -15)                                                             \
    X(CL_LINKER_NOT_AVAILABLE, -16)                                                                \
    X(CL_LINK_PROGRAM_FAILURE, -17)                                                                \
    X(CL_INVALID_VALUE, -30)                                                                       \
    X(CL_INVALID_DEVICE_TYPE, -31)                                                                 \
    X(CL_INVALID_PLATFORM, -32)                                                                    \
    X(CL_INVALID_DEVICE, -33)                                                                      \
    X(CL_INVALID_CONTEXT, -34)                                                                     \
    X(CL_INVALID_QUEUE_PROPERTIES, -35)                                                            \
    X(CL_INVALID_COMMAND_QUEUE, -36)                                                               \
    X(CL_INVALID_HOST_PTR, -37)                                                                    \
    X(CL_INVALID_MEM_OBJECT, -38)                                                                  \
    X(CL_INVALID_BINARY, -42)                                                                      \
    X(CL_INVALID_BUILD_OPTIONS, -43)                                                               \
    X(CL_INVALID_PROGRAM, -44)                                                                     \
    X(CL_INVALID_PROGRAM_EXECUTABLE, -45)                                                          \
    X(CL_INVALID_KERNEL_NAME, -46)                                                                 \
    X(CL_INVALID_KERNEL_DEFINITION, -47)                                                           \
    X(CL_INVALID_KERNEL, -48)                                                                      \
    X(CL_INVALID_ARG_INDEX, -49)                                                                   \
    X(CL_INVALID_ARG_VALUE, -50)                                                                   \
    X(CL_INVALID_ARG_SIZE, -51)                                                                    \
    X(CL_INVALID_KERNEL_ARGS, -52)                                                                 \
    X(CL_INVALID_WORK_DIMENSION, -53)                                                              \
    X(CL_INVALID_WORK_GROUP_SIZE, -54)                                                             \
    X(CL_INVALID_WORK_ITEM_SIZE, -55)                                                              \
    X(CL_INVALID_GLOBAL_OFFSET, -56)                                                               \
    X(CL_INVALID_EVENT_WAIT_LIST, -57)                                                             \
    X(CL_INVALID_EVENT, -58)                                                                       \
    X(CL_INVALID_OPERATION, -59)                                                                   \
    X(CL_INVALID_BUFFER_SIZE, -61)                                                                 \
    X(CL_INVALID_GLOBAL_WORK_SIZE, -63)                                                            \
    X(CL_INVALID_PROPERTY, -64)                                                                    \
    X(CL_INVALID_COMPILER_OPTIONS, -66)                                                            \
    X(CL_INVALID_LINKER_OPTIONS, -67)                                                              \
    X(CL_PLATFORM_NOT_FOUND_KHR, -1001)

#define OPENCL_ENUM(name, value) name = value,
enum opencl_constant { OPENCL_CONSTANTS(OPENCL_ENUM) };
enum opencl_error { OPENCL_ERRORS(OPENCL_ENUM) };
#undef OPENCL_ENUM

#endif
