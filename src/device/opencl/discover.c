/* Which OpenCL devices are there, in what order, and what can each of them do? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/opencl/opencl.h"

/* The order of the numbering. */
static const cl_bitfield device_types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                           CL_DEVICE_TYPE_CPU};
enum { DEVICE_TYPES = ARRAY_COUNT(device_types), DEVICES_MAX = 64 };
enum { BLOCK_MAX = 256 };

/* Appends the devices of one type of one platform. */
static bool add_places(const struct opencl_driver *driver, cl_platform_id platform,
                       cl_bitfield type, struct opencl_place **places, size_t *count,
                       size_t *capacity, struct status *status) {
    cl_device_id devices[DEVICES_MAX];
    cl_uint found = 0;
    cl_int error = driver->clGetDeviceIDs(platform, type, DEVICES_MAX, devices, &found);
    if (error == CL_DEVICE_NOT_FOUND)
        return true;
    if (!opencl_check(error, "clGetDeviceIDs", status))
        return false;
    if (found > DEVICES_MAX)
        found = DEVICES_MAX;
    if (!GROW(*places, capacity, *count + found, status))
        return false;
    for (cl_uint i = 0; i < found; i++)
        (*places)[(*count)++] = (struct opencl_place){platform, devices[i]};
    return true;
}

static bool no_places(cl_uint platform_count, struct status *status) {
    if (platform_count)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "OpenCL's drivers have no device; is the device there, and may you "
                           "open it (group render or video)?");
    return status_fail(status, STATUS_UNSUPPORTED,
                       "OpenCL knows no driver (no file in /etc/OpenCL/vendors names one); install "
                       "your device's driver, or pocl-opencl-icd, which runs on any CPU");
}

bool opencl_places(const struct opencl_driver *driver, struct opencl_place **places,
                   unsigned *count, struct status *status) {
    cl_platform_id platforms[OPENCL_PLATFORMS_MAX];
    cl_uint platform_count;
    size_t found = 0, capacity = 0;
    *places = NULL;
    bool ok = opencl_platforms(driver, platforms, &platform_count, status);
    for (unsigned type = 0; ok && type < DEVICE_TYPES; type++)
        for (cl_uint i = 0; ok && i < platform_count; i++)
            ok = add_places(driver, platforms[i], device_types[type], places, &found, &capacity,
                            status);
    if (ok && found == 0)
        ok = no_places(platform_count, status);
    if (!ok) {
        memory_free(*places);
        *places = NULL;
        return false;
    }
    *count = (unsigned)found;
    return true;
}

/* A device that is asked one question after another: the first failure is kept. */
struct questions {
    const struct opencl_driver *driver;
    cl_device_id device;
    struct status *status;
    bool failed;
};

static void ask(struct questions *questions, cl_uint what, void *value, size_t size) {
    memset(value, 0, size);
    cl_int error = questions->driver->clGetDeviceInfo(questions->device, what, size, value, NULL);
    if (error != CL_SUCCESS && !questions->failed)
        questions->failed = !opencl_check(error, "clGetDeviceInfo", questions->status);
}

static uint64_t ask_u64(struct questions *questions, cl_uint what) {
    cl_ulong value;
    ask(questions, what, &value, sizeof value);
    return value;
}

static uint32_t ask_u32(struct questions *questions, cl_uint what) {
    cl_uint value;
    ask(questions, what, &value, sizeof value);
    return value;
}

/* 0 when the driver does not know the question. */
static uint32_t ask_if_known(const struct questions *questions, cl_uint what) {
    cl_uint value = 0;
    if (questions->driver->clGetDeviceInfo(questions->device, what, sizeof value, &value, NULL) !=
        CL_SUCCESS)
        return 0;
    return value;
}

static size_t ask_size(struct questions *questions, cl_uint what) {
    size_t value;
    ask(questions, what, &value, sizeof value);
    return value;
}

/* Names come with spaces around them and runs of spaces inside. */
static void tidy(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' '))
            *to++ = *from;
    while (to > text && to[-1] == ' ')
        to--;
    *to = 0;
}

/* A text of any length; "" when it cannot be had. Freed with memory_free(). */
static char *ask_text(struct questions *questions, cl_uint what) {
    size_t size = 0;
    cl_int error = questions->driver->clGetDeviceInfo(questions->device, what, 0, NULL, &size);
    char *text = NULL;
    if (error != CL_SUCCESS)
        opencl_check(error, "clGetDeviceInfo", questions->status);
    else if (size < (size_t)1 << 20)
        text = memory_allocate(size + 1, 1, questions->status);
    if (!text) {
        questions->failed = true;
        return NULL;
    }
    ask(questions, what, text, size);
    text[size] = 0;
    tidy(text);
    return text;
}

static void copy_text(struct questions *questions, cl_uint what, char *to, size_t capacity) {
    char *text = ask_text(questions, what);
    snprintf(to, capacity, "%s", text ? text : "");
    memory_free(text);
}

/* Whose driver, and which version of it: "NVIDIA CUDA 580.65". */
static void describe_driver(struct questions *questions, cl_platform_id platform, char *to,
                            size_t capacity) {
    char name[64] = "", version[64];
    questions->driver->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    copy_text(questions, CL_DRIVER_VERSION, version, sizeof version);
    snprintf(to, capacity, "%s %s", name, version);
    tidy(to);
}

static void describe_uuid(const struct questions *questions, char uuid[40]) {
    unsigned char bytes[16];
    if (questions->driver->clGetDeviceInfo(questions->device, CL_DEVICE_UUID_KHR, sizeof bytes,
                                           bytes, NULL) != CL_SUCCESS)
        return;
    size_t at = 0;
    for (unsigned i = 0; i < sizeof bytes; i++)
        at += (size_t)snprintf(uuid + at, 40 - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0))
            return true;
    return false;
}

/* The threads that run in step. Only vendors' own queries tell it of a device; the standard one is
 * of a compiled kernel. */
static void describe_subgroup(const struct questions *questions, const char *extensions,
                              struct device_capabilities *capabilities) {
    capabilities->subgroup = 1;
    if (has_word(extensions, "cl_nv_device_attribute_query")) {
        capabilities->subgroup = ask_if_known(questions, CL_DEVICE_WARP_SIZE_NV);
        capabilities->major = ask_if_known(questions, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
        capabilities->minor = ask_if_known(questions, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV);
        capabilities->registers_per_unit =
            ask_if_known(questions, CL_DEVICE_REGISTERS_PER_BLOCK_NV);
    } else if (has_word(extensions, "cl_amd_device_attribute_query")) {
        capabilities->subgroup = ask_if_known(questions, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
    }
    if (capabilities->subgroup == 0)
        capabilities->subgroup = 1;
}

/* Kernels are written in OpenCL C 1.2, which every driver that ridge can use compiles. */
static void choose_options(struct questions *questions, struct opencl_traits *traits) {
    bool rounds =
        ask_u64(questions, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
    snprintf(traits->options, sizeof traits->options, "-cl-std=CL1.2%s",
             rounds ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
}

static uint32_t clamp_u32(uint64_t value) {
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static void describe_sizes(struct questions *questions, struct device_capabilities *capabilities) {
    enum { SMALLEST_ALIGNMENT = 16, BITS = 8 };
    capabilities->memory_bytes = ask_u64(questions, CL_DEVICE_GLOBAL_MEM_SIZE);
    capabilities->compute_units = ask_u32(questions, CL_DEVICE_MAX_COMPUTE_UNITS);
    /* Drivers compile for blocks of 256 and then refuse larger ones, whatever the device can. */
    uint32_t block_max = clamp_u32(ask_size(questions, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    capabilities->block_max = block_max < BLOCK_MAX ? block_max : BLOCK_MAX;
    capabilities->shared_bytes = clamp_u32(ask_u64(questions, CL_DEVICE_LOCAL_MEM_SIZE));
    capabilities->shared_max = capabilities->shared_per_unit = capabilities->shared_bytes;
    capabilities->clock_khz =
        clamp_u32(1000ull * ask_u32(questions, CL_DEVICE_MAX_CLOCK_FREQUENCY));
    capabilities->alignment = ask_u32(questions, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / BITS;
    if (capabilities->alignment < SMALLEST_ALIGNMENT)
        capabilities->alignment = SMALLEST_ALIGNMENT;
    /* on GPUs drivers mean a cache of each unit */
    if (!capabilities->is_gpu)
        capabilities->cache_bytes = ask_u64(questions, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
}

/* OpenCL does not tell how many threads a unit holds: of GPUs eight full blocks are a fair guess,
 * a CPU's unit runs one block at a time. */
static void guess_threads(struct device_capabilities *capabilities) {
    uint64_t threads = (uint64_t)capabilities->block_max * (capabilities->is_gpu ? 8 : 1);
    capabilities->threads_per_unit = clamp_u32(threads);
}

static bool is_usable(struct questions *questions, const struct opencl_traits *traits,
                      unsigned major, unsigned minor, const char *description) {
    bool available = ask_u32(questions, CL_DEVICE_AVAILABLE);
    bool compiles = ask_u32(questions, CL_DEVICE_COMPILER_AVAILABLE);
    bool little = ask_u32(questions, CL_DEVICE_ENDIAN_LITTLE);
    if (questions->failed)
        return false;
    if (major < 1 || (major == 1 && minor < 2))
        return status_fail(questions->status, STATUS_UNSUPPORTED,
                           "%s has %s; ridge needs OpenCL 1.2, perhaps of a later driver",
                           description, traits->version);
    if (!available)
        return status_fail(questions->status, STATUS_UNSUPPORTED,
                           "%s is not available; is it used exclusively by another program?",
                           description);
    if (!compiles)
        return status_fail(questions->status, STATUS_UNSUPPORTED,
                           "the driver of %s comes without a compiler; install all of it",
                           description);
    if (!little)
        return status_fail(questions->status, STATUS_UNSUPPORTED,
                           "%s is big-endian, which ridge does not support", description);
    return true;
}

bool opencl_describe(const struct opencl_driver *driver, const struct opencl_place *place,
                     struct device_capabilities *capabilities, struct opencl_traits *traits,
                     struct status *status) {
    struct questions questions = {driver, place->device, status, false};
    unsigned major = 0, minor = 0;
    *capabilities = (struct device_capabilities){.language = LANGUAGE_OPENCL, .queues = 2};
    memset(traits, 0, sizeof *traits);
    copy_text(&questions, CL_DEVICE_NAME, capabilities->description,
              sizeof capabilities->description);
    copy_text(&questions, CL_DEVICE_VENDOR, capabilities->vendor, sizeof capabilities->vendor);
    describe_driver(&questions, place->platform, capabilities->driver, sizeof capabilities->driver);
    copy_text(&questions, CL_DEVICE_VERSION, traits->version, sizeof traits->version);
    sscanf(traits->version, "OpenCL %u.%u", &major, &minor);
    capabilities->is_gpu = ask_u64(&questions, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU;
    describe_sizes(&questions, capabilities);
    guess_threads(capabilities);
    traits->allocation_max = ask_u64(&questions, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    char *extensions = ask_text(&questions, CL_DEVICE_EXTENSIONS);
    if (extensions) {
        capabilities->half = has_word(extensions, "cl_khr_fp16");
        describe_subgroup(&questions, extensions, capabilities);
        if (has_word(extensions, "cl_khr_device_uuid"))
            describe_uuid(&questions, capabilities->uuid);
        choose_options(&questions, traits);
    }
    memory_free(extensions);
    return is_usable(&questions, traits, major, minor, capabilities->description);
}
