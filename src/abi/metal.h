/* The part of the Objective-C runtime and of Metal that ridge calls, as C.
 *
 * Every message is one row of METAL_METHODS: its name in C, the selector, who owns the result, the
 * type of the result and the types of all parameters. Its function pointer has exactly that type,
 * because objc_msgSend() must be called through the type of the method: arm64 passes variadic
 * arguments differently.
 */
#ifndef RIDGE_ABI_METAL_H
#define RIDGE_ABI_METAL_H

#include <stdbool.h>
#include <stdint.h>

typedef void *metal_id; /* an object or a class */
typedef struct metal_sel_ *metal_sel;
typedef void metal_void;
typedef unsigned long metal_uint; /* NSUInteger, 64 bits wide on all supported machines */
typedef long metal_int;           /* NSInteger */
typedef uint64_t metal_u64;
typedef bool metal_bool;
typedef double metal_double; /* CFTimeInterval: seconds */
typedef const char *metal_text;
typedef const void *metal_bytes;
typedef void *metal_address;
typedef metal_id *metal_out; /* NSError ** */

/* MTLSize and NSOperatingSystemVersion are alike: three words, passed and returned in memory. */
typedef struct {
    metal_uint width, height, depth;
} metal_size;
typedef struct {
    metal_int major, minor, patch;
} metal_version;

/* Who owns the result: OWNED must be released, BORROWED is autoreleased or belongs to the receiver
 * and must be retained to outlive the autorelease pool, PLAIN is not an object. */
#define METAL_METHODS(X)                                                                           \
    X(retain, "retain", BORROWED, metal_id, (metal_id, metal_sel))                                 \
    X(release, "release", PLAIN, metal_void, (metal_id, metal_sel))                                \
    X(new, "new", OWNED, metal_id, (metal_id, metal_sel))                                          \
    X(responds_to, "respondsToSelector:", PLAIN, metal_bool, (metal_id, metal_sel, metal_sel))     \
    /* NSString, NSError, NSArray, NSProcessInfo */                                                \
    X(string_with_utf8, "stringWithUTF8String:", BORROWED, metal_id,                               \
      (metal_id, metal_sel, metal_text))                                                           \
    X(utf8_string, "UTF8String", PLAIN, metal_text, (metal_id, metal_sel))                         \
    X(localized_description, "localizedDescription", BORROWED, metal_id, (metal_id, metal_sel))    \
    X(array_count, "count", PLAIN, metal_uint, (metal_id, metal_sel))                              \
    X(object_at, "objectAtIndex:", BORROWED, metal_id, (metal_id, metal_sel, metal_uint))          \
    X(process_info, "processInfo", BORROWED, metal_id, (metal_id, metal_sel))                      \
    X(is_at_least, "isOperatingSystemAtLeastVersion:", PLAIN, metal_bool,                          \
      (metal_id, metal_sel, metal_version))                                                        \
    X(system_version, "operatingSystemVersionString", BORROWED, metal_id, (metal_id, metal_sel))   \
    /* MTLDevice */                                                                                \
    X(name, "name", BORROWED, metal_id, (metal_id, metal_sel))                                     \
    X(registry_id, "registryID", PLAIN, metal_u64, (metal_id, metal_sel))                          \
    X(supports_family, "supportsFamily:", PLAIN, metal_bool, (metal_id, metal_sel, metal_int))     \
    X(buffer_length_max, "maxBufferLength", PLAIN, metal_uint, (metal_id, metal_sel))              \
    X(working_set_max, "recommendedMaxWorkingSetSize", PLAIN, metal_u64, (metal_id, metal_sel))    \
    X(allocated_size, "currentAllocatedSize", PLAIN, metal_uint, (metal_id, metal_sel))            \
    X(threadgroup_memory_max, "maxThreadgroupMemoryLength", PLAIN, metal_uint,                     \
      (metal_id, metal_sel))                                                                       \
    X(threads_max, "maxThreadsPerThreadgroup", PLAIN, metal_size, (metal_id, metal_sel))           \
    X(new_queue, "newCommandQueueWithMaxCommandBufferCount:", OWNED, metal_id,                     \
      (metal_id, metal_sel, metal_uint))                                                           \
    X(new_buffer, "newBufferWithLength:options:", OWNED, metal_id,                                 \
      (metal_id, metal_sel, metal_uint, metal_uint))                                               \
    X(new_library, "newLibraryWithSource:options:error:", OWNED, metal_id,                         \
      (metal_id, metal_sel, metal_id, metal_id, metal_out))                                        \
    X(new_pipeline, "newComputePipelineStateWithFunction:error:", OWNED, metal_id,                 \
      (metal_id, metal_sel, metal_id, metal_out))                                                  \
    X(new_shared_event, "newSharedEvent", OWNED, metal_id, (metal_id, metal_sel))                  \
    /* MTLCompileOptions, MTLLibrary, MTLComputePipelineState */                                   \
    X(set_math_mode, "setMathMode:", PLAIN, metal_void, (metal_id, metal_sel, metal_int))          \
    X(set_fast_math, "setFastMathEnabled:", PLAIN, metal_void, (metal_id, metal_sel, metal_bool))  \
    X(set_language, "setLanguageVersion:", PLAIN, metal_void, (metal_id, metal_sel, metal_uint))   \
    X(new_function, "newFunctionWithName:", OWNED, metal_id, (metal_id, metal_sel, metal_id))      \
    X(pipeline_threads_max, "maxTotalThreadsPerThreadgroup", PLAIN, metal_uint,                    \
      (metal_id, metal_sel))                                                                       \
    X(execution_width, "threadExecutionWidth", PLAIN, metal_uint, (metal_id, metal_sel))           \
    X(static_memory, "staticThreadgroupMemoryLength", PLAIN, metal_uint, (metal_id, metal_sel))    \
    /* MTLBuffer, MTLSharedEvent */                                                                \
    X(contents, "contents", PLAIN, metal_address, (metal_id, metal_sel))                           \
    X(signaled_value, "signaledValue", PLAIN, metal_u64, (metal_id, metal_sel))                    \
    /* MTLCommandQueue, MTLCommandBuffer */                                                        \
    X(command_buffer, "commandBuffer", BORROWED, metal_id, (metal_id, metal_sel))                  \
    X(compute_encoder, "computeCommandEncoder", BORROWED, metal_id, (metal_id, metal_sel))         \
    X(blit_encoder, "blitCommandEncoder", BORROWED, metal_id, (metal_id, metal_sel))               \
    X(signal_event, "encodeSignalEvent:value:", PLAIN, metal_void,                                 \
      (metal_id, metal_sel, metal_id, metal_u64))                                                  \
    X(wait_for_event, "encodeWaitForEvent:value:", PLAIN, metal_void,                              \
      (metal_id, metal_sel, metal_id, metal_u64))                                                  \
    X(commit, "commit", PLAIN, metal_void, (metal_id, metal_sel))                                  \
    X(wait, "waitUntilCompleted", PLAIN, metal_void, (metal_id, metal_sel))                        \
    X(status, "status", PLAIN, metal_uint, (metal_id, metal_sel))                                  \
    X(error, "error", BORROWED, metal_id, (metal_id, metal_sel))                                   \
    X(gpu_start, "GPUStartTime", PLAIN, metal_double, (metal_id, metal_sel))                       \
    X(gpu_end, "GPUEndTime", PLAIN, metal_double, (metal_id, metal_sel))                           \
    /* encoders */                                                                                 \
    X(set_pipeline, "setComputePipelineState:", PLAIN, metal_void,                                 \
      (metal_id, metal_sel, metal_id))                                                             \
    X(set_buffer, "setBuffer:offset:atIndex:", PLAIN, metal_void,                                  \
      (metal_id, metal_sel, metal_id, metal_uint, metal_uint))                                     \
    X(set_bytes, "setBytes:length:atIndex:", PLAIN, metal_void,                                    \
      (metal_id, metal_sel, metal_bytes, metal_uint, metal_uint))                                  \
    X(set_threadgroup_memory, "setThreadgroupMemoryLength:atIndex:", PLAIN, metal_void,            \
      (metal_id, metal_sel, metal_uint, metal_uint))                                               \
    X(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:", PLAIN, metal_void,                  \
      (metal_id, metal_sel, metal_size, metal_size))                                               \
    X(copy, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", PLAIN, metal_void,     \
      (metal_id, metal_sel, metal_id, metal_uint, metal_id, metal_uint, metal_uint))               \
    X(end_encoding, "endEncoding", PLAIN, metal_void, (metal_id, metal_sel))

/* Functions: name, result, parameters. */
#define METAL_FUNCTIONS(X)                                                                         \
    X(objc_getClass, metal_id, (const char *))                                                     \
    X(sel_registerName, metal_sel, (const char *))                                                 \
    X(objc_autoreleasePoolPush, void *, (void))                                                    \
    X(objc_autoreleasePoolPop, void, (void *))                                                     \
    X(MTLCreateSystemDefaultDevice, metal_id, (void)) /* owned by the caller */                    \
    X(mach_absolute_time, uint64_t, (void))                                                        \
    X(mach_timebase_info, int, (struct metal_timebase *))
/* Only there on macOS, not in all systems with Metal: NULL when missing. */
#define METAL_OPTIONAL_FUNCTIONS(X)                                                                \
    X(MTLCopyAllDevices, metal_id, (void)) /* owned by the caller */                               \
    X(IORegistryEntryIDMatching, void *, (uint64_t))                                               \
    X(IOServiceGetMatchingService, uint32_t, (uint32_t, void *)) /* consumes the dictionary */     \
    X(IORegistryEntrySearchCFProperty, void *, (uint32_t, const char *, void *, void *, uint32_t)) \
    X(IOObjectRelease, int, (uint32_t))                                                            \
    X(CFStringCreateWithCString, void *, (void *, const char *, uint32_t))                         \
    X(CFNumberGetValue, unsigned char, (void *, metal_int, void *))                                \
    X(CFRelease, void, (void *))

/* A tick of mach_absolute_time() lasts numer / denom ns. */
struct metal_timebase {
    uint32_t numer, denom;
};

/* Values from Apple's headers. */
enum {
    MTL_RESOURCE_STORAGE_SHARED = 0,
    MTL_MATH_MODE_SAFE = 0,
    MTL_LANGUAGE_3_0 = 3 << 16,
    MTL_LANGUAGE_3_1 = (3 << 16) + 1,
    MTL_COMMAND_BUFFER_COMPLETED = 4,
    MTL_COMMAND_BUFFER_ERROR = 5,
    MTL_FAMILY_APPLE1 = 1001, /* the family numbered n is 1000 + n */
    MTL_FAMILY_MAC2 = 2002,
    CF_STRING_UTF8 = 0x08000100,
    CF_NUMBER_SINT64 = 4,
    IO_REGISTRY_RECURSIVELY = 1,
    IO_REGISTRY_PARENTS = 2,
};

#endif
