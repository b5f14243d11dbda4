/* Builds kernels from source, or loads them from the cache of compiled kernels.
 *
 * A cached binary that the driver rejects (for example after an update without a new version) is
 * not a failure: the source is compiled instead.
 */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/cache.h"
#include "device/opencl/opencl.h"

/* All that the binary depends on. */
static void write_key(const struct opencl_device *device, const struct kernel_code *code,
                      struct buffer *key) {
    const struct device_capabilities *capabilities = &device->base.capabilities;
    const char *const parts[] = {"opencl",
                                 capabilities->description,
                                 capabilities->vendor,
                                 capabilities->driver,
                                 device->traits.version,
                                 device->traits.options};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        buffer_append(key, parts[i], strlen(parts[i]) + 1);
    buffer_append(key, code->source, code->source_length);
}

static cl_int build(const struct opencl_device *device, cl_program program) {
    return device->driver->clBuildProgram(program, 1, &device->place.device, device->traits.options,
                                          NULL, NULL);
}

static cl_program from_cache(const struct opencl_device *device, const struct buffer *key) {
    struct buffer binary = {0};
    cl_int error = CL_SUCCESS, taken = CL_SUCCESS;
    cl_program program = NULL;
    if (!key->failed && cache_load(key->data, key->length, &binary)) {
        const unsigned char *bytes = (const unsigned char *)binary.data;
        program = device->driver->clCreateProgramWithBinary(
            device->context, 1, &device->place.device, &binary.length, &bytes, &taken, &error);
    }
    if (program &&
        (error != CL_SUCCESS || taken != CL_SUCCESS || build(device, program) != CL_SUCCESS)) {
        device->driver->clReleaseProgram(program);
        program = NULL;
    }
    buffer_finish(&binary);
    return program;
}

static void to_cache(const struct opencl_device *device, const struct buffer *key,
                     cl_program program) {
    const struct opencl_driver *driver = device->driver;
    struct status ignored;
    size_t size = 0;
    unsigned char *bytes = NULL;
    if (key->failed || driver->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size,
                                                &size, NULL) != CL_SUCCESS)
        return;
    if (size > 0)
        bytes = memory_allocate(size, 1, &ignored);
    if (bytes && driver->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                                          NULL) == CL_SUCCESS)
        cache_store(key->data, key->length, bytes, size);
    memory_free(bytes);
}

/* Replaces the message by the compiler's log, if available. */
static void explain_failure(const struct opencl_device *device, cl_program program,
                            struct status *status) {
    const struct opencl_driver *driver = device->driver;
    struct status ignored;
    size_t size = 0;
    char *log = NULL;
    if (driver->clGetProgramBuildInfo(program, device->place.device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                      &size) == CL_SUCCESS)
        log = memory_allocate(size + 1, 1, &ignored);
    if (log && driver->clGetProgramBuildInfo(program, device->place.device, CL_PROGRAM_BUILD_LOG,
                                             size, log, NULL) == CL_SUCCESS) {
        struct text line = text_line_with(text_of(log), "error");
        if (line.length > 0)
            status_fail(status, STATUS_INPUT, "the source does not compile: %.*s", TEXT_ARGS(line));
    }
    memory_free(log);
}

static cl_program from_source(const struct opencl_device *device, const struct kernel_code *code,
                              struct status *status) {
    cl_int error = CL_SUCCESS;
    const char *source = code->source;
    cl_program program = device->driver->clCreateProgramWithSource(device->context, 1, &source,
                                                                   &code->source_length, &error);
    if (!opencl_check(error, "clCreateProgramWithSource", status))
        return NULL;
    error = build(device, program);
    if (opencl_check(error, "clBuildProgram", status))
        return program;
    if (error == CL_BUILD_PROGRAM_FAILURE)
        explain_failure(device, program, status);
    device->driver->clReleaseProgram(program);
    return NULL;
}

static cl_program program_compile(const struct opencl_device *device,
                                  const struct kernel_code *code, struct status *status) {
    struct buffer key = {0};
    write_key(device, code, &key);
    cl_program program = from_cache(device, &key);
    if (!program) {
        program = from_source(device, code, status);
        if (program)
            to_cache(device, &key, program);
    }
    buffer_finish(&key);
    return program;
}

static bool create_kernel(const struct opencl_device *device, struct opencl_kernel *kernel,
                          struct status *status) {
    const struct opencl_driver *driver = device->driver;
    cl_device_id id = device->place.device;
    cl_ulong local = 0;
    cl_int error = CL_SUCCESS;
    kernel->object = driver->clCreateKernel(kernel->program, kernel->base.name, &error);
    if (!opencl_check(error, "clCreateKernel", status) ||
        !opencl_check(
            driver->clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_WORK_GROUP_SIZE,
                                             sizeof kernel->block_max, &kernel->block_max, NULL),
            "clGetKernelWorkGroupInfo", status))
        return false;
    /* only shown, so it may be missing */
    if (driver->clGetKernelWorkGroupInfo(kernel->object, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                                         &local, NULL) == CL_SUCCESS)
        kernel->base.shared_static = local > UINT32_MAX ? UINT32_MAX : (uint32_t)local;
    return true;
}

static bool fill_kernel(struct opencl_device *device, const struct kernel_code *code,
                        struct opencl_kernel *kernel, struct status *status) {
    int length = snprintf(kernel->base.name, sizeof kernel->base.name, "%s", code->name);
    if (length < 0 || (size_t)length >= sizeof kernel->base.name)
        return status_fail(status, STATUS_USAGE, "a name of %d characters is too long", length);
    kernel->has_dynamic = code->shared_max > 0;
    kernel->program = program_compile(device, code, status);
    return kernel->program && create_kernel(device, kernel, status);
}

bool opencl_load(struct device *base, const struct kernel_code *code, struct device_kernel **loaded,
                 struct status *status) {
    struct opencl_device *device = opencl_of(base);
    if (code->kind != CODE_SOURCE)
        return status_fail(status, STATUS_UNSUPPORTED, "kernel %s: OpenCL devices need source",
                           code->name);
    struct opencl_kernel *kernel = memory_allocate(1, sizeof *kernel, status);
    if (!kernel)
        return false;
    opencl_link_add(&device->kernels, &kernel->link);
    if (!fill_kernel(device, code, kernel, status)) {
        opencl_unload(base, &kernel->base);
        return status_context(status, "kernel %s", code->name);
    }
    *loaded = &kernel->base;
    return true;
}

void opencl_unload(struct device *base, struct device_kernel *loaded) {
    struct opencl_kernel *kernel = (struct opencl_kernel *)loaded;
    const struct opencl_driver *driver = opencl_of(base)->driver;
    if (!kernel)
        return;
    if (kernel->object)
        driver->clReleaseKernel(kernel->object);
    if (kernel->program)
        driver->clReleaseProgram(kernel->program);
    opencl_link_remove(&kernel->link);
    memory_free(kernel);
}
