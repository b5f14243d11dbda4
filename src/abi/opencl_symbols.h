/* The OpenCL functions that ridge uses. Each row has the function's index in the dispatch table at
 * the start of every driver object (cl_khr_icd: struct _cl_icd_dispatch of CL/cl_icd.h), so that a
 * driver also works without an ICD loader.
 */
#ifndef RIDGE_ABI_OPENCL_SYMBOLS_H
#define RIDGE_ABI_OPENCL_SYMBOLS_H

/* Calls that return an error code: X(place, name, (parameters), (arguments)) */
#define OPENCL_CALLS(X)                                                                            \
    X(0, clGetPlatformIDs, (cl_uint a, cl_platform_id * b, cl_uint * c), (a, b, c))                \
    X(1, clGetPlatformInfo, (cl_platform_id a, cl_uint b, size_t c, void *d, size_t *e),           \
      (a, b, c, d, e))                                                                             \
    X(2, clGetDeviceIDs,                                                                           \
      (cl_platform_id a, cl_bitfield b, cl_uint c, cl_device_id * d, cl_uint * e),                 \
      (a, b, c, d, e))                                                                             \
    X(3, clGetDeviceInfo, (cl_device_id a, cl_uint b, size_t c, void *d, size_t *e),               \
      (a, b, c, d, e))                                                                             \
    X(30, clBuildProgram,                                                                          \
      (cl_program a, cl_uint b, const cl_device_id *c, const char *d,                              \
       void (*e)(cl_program, void *), void *f),                                                    \
      (a, b, c, d, e, f))                                                                          \
    X(32, clGetProgramInfo, (cl_program a, cl_uint b, size_t c, void *d, size_t *e),               \
      (a, b, c, d, e))                                                                             \
    X(33, clGetProgramBuildInfo,                                                                   \
      (cl_program a, cl_device_id b, cl_uint c, size_t d, void *e, size_t *f), (a, b, c, d, e, f)) \
    X(38, clSetKernelArg, (cl_kernel a, cl_uint b, size_t c, const void *d), (a, b, c, d))         \
    X(40, clGetKernelWorkGroupInfo,                                                                \
      (cl_kernel a, cl_device_id b, cl_uint c, size_t d, void *e, size_t *f), (a, b, c, d, e, f))  \
    X(41, clWaitForEvents, (cl_uint a, const cl_event *b), (a, b))                                 \
    X(42, clGetEventInfo, (cl_event a, cl_uint b, size_t c, void *d, size_t *e), (a, b, c, d, e))  \
    X(45, clGetEventProfilingInfo, (cl_event a, cl_uint b, size_t c, void *d, size_t *e),          \
      (a, b, c, d, e))                                                                             \
    X(46, clFlush, (cl_command_queue a), (a))                                                      \
    X(47, clFinish, (cl_command_queue a), (a))                                                     \
    X(48, clEnqueueReadBuffer,                                                                     \
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, void *f, cl_uint g,            \
       const cl_event *h, cl_event *i),                                                            \
      (a, b, c, d, e, f, g, h, i))                                                                 \
    X(49, clEnqueueWriteBuffer,                                                                    \
      (cl_command_queue a, cl_mem b, cl_bool c, size_t d, size_t e, const void *f, cl_uint g,      \
       const cl_event *h, cl_event *i),                                                            \
      (a, b, c, d, e, f, g, h, i))                                                                 \
    X(50, clEnqueueCopyBuffer,                                                                     \
      (cl_command_queue a, cl_mem b, cl_mem c, size_t d, size_t e, size_t f, cl_uint g,            \
       const cl_event *h, cl_event *i),                                                            \
      (a, b, c, d, e, f, g, h, i))                                                                 \
    X(59, clEnqueueNDRangeKernel,                                                                  \
      (cl_command_queue a, cl_kernel b, cl_uint c, const size_t *d, const size_t *e,               \
       const size_t *f, cl_uint g, const cl_event *h, cl_event *i),                                \
      (a, b, c, d, e, f, g, h, i))                                                                 \
    X(58, clEnqueueUnmapMemObject,                                                                 \
      (cl_command_queue a, cl_mem b, void *c, cl_uint d, const cl_event *e, cl_event *f),          \
      (a, b, c, d, e, f))                                                                          \
    X(102, clEnqueueFillBuffer,                                                                    \
      (cl_command_queue a, cl_mem b, const void *c, size_t d, size_t e, size_t f, cl_uint g,       \
       const cl_event *h, cl_event *i),                                                            \
      (a, b, c, d, e, f, g, h, i))                                                                 \
    X(105, clEnqueueMarkerWithWaitList,                                                            \
      (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d))               \
    X(106, clEnqueueBarrierWithWaitList,                                                           \
      (cl_command_queue a, cl_uint b, const cl_event *c, cl_event *d), (a, b, c, d))

/* Calls that release an object, whose result is ignored. */
#define OPENCL_RELEASES(X)                                                                         \
    X(7, clReleaseContext, (cl_context a), (a))                                                    \
    X(11, clReleaseCommandQueue, (cl_command_queue a), (a))                                        \
    X(18, clReleaseMemObject, (cl_mem a), (a))                                                     \
    X(29, clReleaseProgram, (cl_program a), (a))                                                   \
    X(37, clReleaseKernel, (cl_kernel a), (a))                                                     \
    X(44, clReleaseEvent, (cl_event a), (a))

/* Calls that return an object or NULL; the last parameter, `error`, is the error code.
 * X(place, type, name, (parameters), (arguments)) */
#define OPENCL_CREATIONS(X)                                                                        \
    X(4, cl_context, clCreateContext,                                                              \
      (const cl_context_properties *a, cl_uint b, const cl_device_id *c,                           \
       void (*d)(const char *, const void *, size_t, void *), void *e, cl_int *error),             \
      (a, b, c, d, e, error))                                                                      \
    X(9, cl_command_queue, clCreateCommandQueue,                                                   \
      (cl_context a, cl_device_id b, cl_bitfield c, cl_int * error), (a, b, c, error))             \
    X(14, cl_mem, clCreateBuffer, (cl_context a, cl_bitfield b, size_t c, void *d, cl_int *error), \
      (a, b, c, d, error))                                                                         \
    X(26, cl_program, clCreateProgramWithSource,                                                   \
      (cl_context a, cl_uint b, const char **c, const size_t *d, cl_int *error),                   \
      (a, b, c, d, error))                                                                         \
    X(27, cl_program, clCreateProgramWithBinary,                                                   \
      (cl_context a, cl_uint b, const cl_device_id *c, const size_t *d, const unsigned char **e,   \
       cl_int *f, cl_int *error),                                                                  \
      (a, b, c, d, e, f, error))                                                                   \
    X(34, cl_kernel, clCreateKernel, (cl_program a, const char *b, cl_int *error), (a, b, error))  \
    X(56, void *, clEnqueueMapBuffer,                                                              \
      (cl_command_queue a, cl_mem b, cl_bool c, cl_bitfield d, size_t e, size_t f, cl_uint g,      \
       const cl_event *h, cl_event *i, cl_int *error),                                             \
      (a, b, c, d, e, f, g, h, i, error))

/* Optional calls of OpenCL 2.1. */
#define OPENCL_OPTIONAL_CALLS(X)                                                                   \
    X(140, clGetDeviceAndHostTimer, (cl_device_id a, cl_ulong * b, cl_ulong * c), (a, b, c))

#endif
