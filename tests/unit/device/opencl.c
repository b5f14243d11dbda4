/* The OpenCL device: its logic against a fake driver, whose every call is made to fail in turn,
 * and its results against the OpenCL drivers of this machine. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"
#include "base/clock.h"
#include "base/memory.h"
#include "device/device.h"
#include "abi/opencl_driver.h"
#include "device/opencl/opencl.h"
#include "fake_opencl.h"

#include "base/array.h"

static const struct device_ops *const ops = &device_opencl;

/* A kernel that adds the second scalar times b to the first `scalars[0]` elements of a. */
static const char add_source[] =
    "typedef struct { long v[2]; } scalars_t;\n"
    "__kernel void add(__global char *p0, long o0, __global char *p1, long o1, scalars_t s,\n"
    "                  __local float *kept) {\n"
    "    __global float *a = (__global float *)(p0 + o0);\n"
    "    __global const float *b = (__global const float *)(p1 + o1);\n"
    "    size_t i = get_global_id(0), thread = get_local_id(0);\n"
    "    if (i < (size_t)s.v[0]) kept[thread] = b[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    if (i < (size_t)s.v[0]) a[i] += kept[thread] * (float)s.v[1];\n"
    "}\n";
static const struct kernel_code add_code = {.kind = CODE_SOURCE,
                                            .name = "add",
                                            .source = add_source,
                                            .source_length = sizeof add_source - 1,
                                            .shared_max = 1024};

static const char store_source[] = "store";
static const struct kernel_code store_code = {.kind = CODE_SOURCE,
                                              .name = "store",
                                              .source = store_source,
                                              .source_length = sizeof store_source - 1};

/* Puts the fake driver in place and keeps compiled kernels off the disk. */
static void use_fake(void) {
    setenv("RIDGE_CACHE", "off", 1);
    opencl_driver_replace(fake_opencl_start());
}

static void stop_fake(void) {
    opencl_driver_replace(NULL);
    unsetenv("RIDGE_CACHE");
}

/* The first device of this machine's own OpenCL, or NULL, and the test is skipped. */
static struct device *real_device(struct status *status) {
    struct device *device;
    opencl_driver_replace(NULL);
    setenv("RIDGE_CACHE", "off", 1);
    if (ops->open(0, &device, status))
        return device;
    test_skip(status->message);
    return NULL;
}

static void close_real(struct device *device) {
    ops->close(device);
    unsetenv("RIDGE_CACHE");
}

TEST(opencl_numbers_gpus_before_accelerators_before_cpus) {
    struct status status = {0};
    struct device_capabilities capabilities;
    unsigned count;
    use_fake();
    CHECK_OK(ops->count(&count, &status), status);
    CHECK_INT(count, FAKE_DEVICES);
    CHECK_OK(ops->probe(FAKE_GPU, &capabilities, &status), status);
    CHECK_STRING(capabilities.description, "Fake GPU");
    CHECK_STRING(capabilities.driver, "Second 7.5");
    CHECK(capabilities.is_gpu && capabilities.half);
    CHECK_INT(capabilities.subgroup, 32);
    CHECK_INT(capabilities.alignment, 128);
    CHECK_INT(capabilities.memory_bytes, FAKE_MEMORY);
    CHECK_OK(ops->probe(FAKE_CPU, &capabilities, &status), status);
    CHECK_STRING(capabilities.description, "Fake CPU");
    CHECK(!capabilities.is_gpu && !capabilities.half);
    CHECK_INT(capabilities.subgroup, 1);
    stop_fake();
}

TEST(an_opencl_device_that_is_too_old_is_described_and_refused) {
    struct status status = {0};
    struct device_capabilities capabilities;
    struct device *device = NULL;
    use_fake();
    CHECK(!ops->probe(FAKE_OLD, &capabilities, &status));
    CHECK_STRING(capabilities.description, "Old Board");
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK_STRING(
        status.message,
        "Old Board has OpenCL 1.1 fake; ridge needs OpenCL 1.2; a later driver may have it");
    CHECK(!ops->open(FAKE_OLD, &device, &status));
    CHECK(!ops->open(9, &device, &status));
    CHECK_STRING(status.message, "opencl:9: opencl:9 does not exist; the last one is opencl:2");
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
}

TEST(opencl_without_drivers_says_what_to_install) {
    struct status status = {0};
    unsigned count;
    use_fake();
    fake_opencl.empty = true;
    CHECK(!ops->count(&count, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "pocl-opencl-icd"));
    CHECK(strlen(status.message) < sizeof((struct ridge_device_info *)0)->problem);
    stop_fake();
}

TEST(a_machine_without_opencl_says_what_to_install) {
    static const char *const none[] = {"libridge-has-no-such-library.so", NULL};
    struct opencl_libraries libraries = {none, none};
    struct opencl_driver driver;
    struct status status = {0};
    CHECK(!opencl_driver_load(&libraries, &driver, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "libOpenCL.so.1 was not found"));
    CHECK(strlen(status.message) < sizeof((struct ridge_device_info *)0)->problem);
}

TEST(an_opencl_driver_is_found_without_a_loader) {
    static const char *const none[] = {NULL};
    static const char *const pocl[] = {"libpocl.so.2", NULL};
    struct opencl_libraries libraries = {none, pocl};
    struct opencl_driver driver;
    struct status status = {0};
    struct opencl_place *places;
    struct device_capabilities capabilities;
    struct opencl_traits traits;
    unsigned count;
    if (!opencl_driver_load(&libraries, &driver, &status)) {
        test_skip("there is no libpocl.so.2");
        return;
    }
    CHECK_OK(opencl_places(&driver, &places, &count, &status), status);
    REQUIRE(count > 0);
    CHECK_OK(opencl_describe(&driver, &places[0], &capabilities, &traits, &status), status);
    CHECK(capabilities.compute_units > 0);
    memory_free(places);
}

TEST(an_opencl_driver_that_the_loader_knows_is_not_listed_twice) {
    static const char *const pocl[] = {"libpocl.so.2", NULL};
    struct opencl_libraries libraries = {opencl_libraries.loaders, pocl};
    struct opencl_driver driver;
    cl_platform_id platforms[OPENCL_PLATFORMS_MAX];
    cl_uint count = 0;
    struct status status = {0};
    if (!opencl_driver_load(&libraries, &driver, &status) ||
        !opencl_platforms(&driver, platforms, &count, &status) || count == 0) {
        test_skip("there is no OpenCL with a platform");
        return;
    }
    for (cl_uint i = 0; i < count; i++)
        for (cl_uint j = 0; j < i; j++)
            CHECK(platforms[i] != platforms[j]);
}

TEST(opencl_launches_pass_offsets_then_scalars_then_local_memory) {
    struct status status = {0};
    struct device *device;
    struct device_memory memory;
    struct device_kernel *kernel;
    int64_t scalars[3] = {41, 42, 43}, seen[4] = {0};
    struct kernel_code code = store_code;
    code.shared_max = 512;
    use_fake();
    CHECK_OK(ops->open(FAKE_GPU, &device, &status), status);
    CHECK_OK(ops->load(device, &code, &kernel, &status), status);
    CHECK_OK(ops->allocate(device, sizeof seen, &memory, &status), status);
    CHECK_OK(ops->copy_in(device, 1, memory, 0, seen, sizeof seen, NULL, &status), status);
    struct launch_buffer buffers[] = {{memory, 8}, {memory, 0}};
    struct launch launch = {.kernel = kernel,
                            .grid = {5, 3, 2},
                            .block = {32, 2, 1},
                            .shared_bytes = 256,
                            .buffer_count = 2,
                            .buffers = buffers,
                            .scalar_count = 3,
                            .scalars = scalars};
    CHECK_OK(ops->launch(device, 1, &launch, NULL, &status), status);
    CHECK_INT(fake_opencl.global[0], 160);
    CHECK_INT(fake_opencl.global[1], 6);
    CHECK_INT(fake_opencl.global[2], 2);
    CHECK_INT(fake_opencl.local[1], 2);
    CHECK_INT(fake_opencl.parameter_count, 6);
    CHECK_INT(fake_opencl.parameter_sizes[0], sizeof(void *));
    CHECK_INT(fake_opencl.parameter_sizes[3], 8);
    CHECK_INT(fake_opencl.parameter_sizes[4], 24);
    CHECK_INT(fake_opencl.parameter_sizes[5], 256);
    CHECK_INT(kernel->shared_static, 64);
    launch.grid[1] = 0;
    CHECK_OK(ops->launch(device, 1, &launch, NULL, &status), status); /* nothing to do */
    launch.grid[1] = 1;
    launch.block[0] = 129;
    launch.block[1] = 1;
    CHECK(!ops->launch(device, 1, &launch, NULL, &status));
    CHECK_STRING(status.message, "kernel store: blocks of 129 x 1 x 1 threads; compiled for this "
                                 "device, it allows at most 128");
    CHECK(!ops->launch(device, 2, &launch, NULL, &status));
    ops->close(device);
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
}

TEST(opencl_reports_a_full_device_when_allocating) {
    struct status status = {0};
    struct device *device;
    struct device_memory first, second, third;
    use_fake();
    CHECK_OK(ops->open(FAKE_GPU, &device, &status), status);
    CHECK_OK(ops->allocate(device, FAKE_ALLOCATION_MAX, &first, &status), status);
    CHECK_OK(ops->allocate(device, FAKE_ALLOCATION_MAX, &second, &status), status);
    CHECK(!ops->allocate(device, 1, &third, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK_STRING(status.message,
                 "cannot allocate a buffer of 1 B on opencl:0 (1.05 MB in total, at most 524 KB "
                 "per buffer): "
                 "clEnqueueFillBuffer failed with CL_MEM_OBJECT_ALLOCATION_FAILURE (-4): the "
                 "device is out of memory");
    ops->release(device, first);
    CHECK_OK(ops->allocate(device, 0, &third, &status), status);
    CHECK(third.handle != 0);
    CHECK(!ops->allocate(device, FAKE_ALLOCATION_MAX + 1, &first, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK(strstr(status.message, "CL_INVALID_BUFFER_SIZE"));
    CHECK(!ops->allocate(device, SIZE_MAX, &first, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    ops->close(device); /* second and third go with it */
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
}

TEST(an_opencl_source_that_does_not_compile_shows_its_first_error) {
    static const char source[] = "#error";
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = "f", .source = source, .source_length = sizeof source - 1};
    struct status status = {0};
    struct device *device;
    struct device_kernel *kernel;
    use_fake();
    CHECK_OK(ops->open(FAKE_GPU, &device, &status), status);
    CHECK(!ops->load(device, &code, &kernel, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK_STRING(status.message,
                 "kernel f: the source does not compile: a.cl:2: error: this is wrong");
    code = store_code;
    code.name = "elsewhere";
    CHECK(!ops->load(device, &code, &kernel, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    code.kind = CODE_NATIVE;
    CHECK(!ops->load(device, &code, &kernel, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    ops->close(device);
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
}

TEST(opencl_compiles_a_kernel_once_and_then_finds_its_binary) {
    struct status status = {0};
    struct device *device;
    struct device_kernel *kernel;
    const char *folder = test_temporary("-cache");
    char remove[512];
    use_fake();
    setenv("RIDGE_CACHE", folder, 1);
    CHECK_OK(ops->open(FAKE_GPU, &device, &status), status);
    CHECK_OK(ops->load(device, &store_code, &kernel, &status), status);
    ops->unload(device, kernel);
    CHECK_INT(fake_opencl.sources, 1);
    CHECK_OK(ops->load(device, &store_code, &kernel, &status), status);
    CHECK_INT(fake_opencl.sources, 1);
    CHECK_INT(fake_opencl.binaries, 1);
    /* a binary that the driver does not take is compiled again */
    fake_opencl.bad_binaries = true;
    CHECK_OK(ops->load(device, &store_code, &kernel, &status), status);
    CHECK_INT(fake_opencl.sources, 2);
    fake_opencl.bad_binaries = false;
    /* another source of the same name is another kernel */
    struct kernel_code other = store_code;
    other.source = "store twice";
    other.source_length = strlen(other.source);
    CHECK_OK(ops->load(device, &other, &kernel, &status), status);
    CHECK_INT(fake_opencl.sources, 3);
    ops->close(device);
    /* another device has binaries of its own */
    CHECK_OK(ops->open(FAKE_CPU, &device, &status), status);
    CHECK_OK(ops->load(device, &store_code, &kernel, &status), status);
    CHECK_INT(fake_opencl.sources, 4);
    ops->close(device);
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
    snprintf(remove, sizeof remove, "rm -rf '%s'", folder);
    CHECK(system(remove) == 0);
}

TEST(opencl_queues_profile_only_once_a_time_is_wanted) {
    struct status status = {0};
    struct device *device;
    struct device_memory memory;
    struct device_stamp stamp = {0};
    int64_t data = 7, start, end, before;
    use_fake();
    CHECK_OK(ops->open(FAKE_GPU, &device, &status), status);
    CHECK_OK(ops->allocate(device, 8, &memory, &status), status);
    CHECK_OK(ops->copy_in(device, 0, memory, 0, &data, 8, NULL, &status), status);
    CHECK_INT(fake_opencl.profiling_queues, 0);
    before = clock_now();
    CHECK_OK(ops->copy_in(device, 0, memory, 0, &data, 8, &stamp, &status), status);
    CHECK_INT(fake_opencl.profiling_queues, 3);
    int64_t after = clock_now();
    CHECK_OK(ops->resolve(device, &stamp, &start, &end, &status), status);
    int64_t error = ops->clock_error(device);
    CHECK(start <= end && start >= before - error && end <= after + error);
    CHECK(error > 0);
    /* nothing takes no time */
    CHECK_OK(ops->copy_in(device, 0, memory, 0, &data, 0, &stamp, &status), status);
    CHECK_OK(ops->resolve(device, &stamp, &start, &end, &status), status);
    CHECK(start == end && start >= after && start <= clock_now());
    ops->close(device);
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
}

TEST(opencl_events_are_reached_when_the_driver_says_so) {
    struct status status = {0};
    struct device *device;
    struct device_event event;
    use_fake();
    CHECK_OK(ops->open(FAKE_GPU, &device, &status), status);
    CHECK_OK(ops->record(device, 0, &event, &status), status);
    fake_opencl.held = true;
    CHECK(!ops->reached(device, event));
    fake_opencl.held = false;
    CHECK(ops->reached(device, event));
    CHECK_OK(ops->order(device, 1, event, &status), status);
    ops->event_release(device, event);
    ops->close(device);
    CHECK_INT(fake_opencl.live, 0);
    stop_fake();
}

/* Everything a device does, once; false at the first failure, with all but the device and what it
 * owns given back. */
static bool live_a_life(struct device *device, struct status *status) {
    struct device_memory a, b;
    struct device_kernel *kernel;
    struct device_event event;
    struct device_stamp stamp = {0}, copied = {0};
    int64_t data[4] = {1, 2, 3, 4}, scalars[1] = {9}, start, end;
    void *graph;
    if (!ops->allocate(device, sizeof data, &a, status) ||
        !ops->allocate(device, sizeof data, &b, status) ||
        !ops->copy_in(device, 0, a, 0, data, sizeof data, NULL, status) ||
        !ops->load(device, &store_code, &kernel, status))
        return false;
    struct launch_buffer buffers[] = {{a, 8}};
    struct launch launch = {.kernel = kernel,
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .buffer_count = 1,
                            .buffers = buffers,
                            .scalar_count = 1,
                            .scalars = scalars};
    if (!ops->launch(device, 0, &launch, NULL, status) ||
        !ops->graph_create(device, &launch, 1, &graph, status) ||
        !ops->graph_replay(device, 0, graph, status) || !ops->record(device, 0, &event, status))
        return false;
    ops->reached(device, event);
    bool ok = ops->order(device, 1, event, status);
    ops->event_release(device, event);
    if (!ok || !ops->launch(device, 1, &launch, &stamp, status))
        return false;
    ok = ops->copy_within(device, 1, b, 0, a, 0, sizeof data, &copied, status);
    fake_opencl.held = true; /* as if it were still to be done */
    if (!ops->resolve(device, &stamp, &start, &end, status))
        ok = false;
    fake_opencl.held = false;
    if (copied.begin && !ops->resolve(device, &copied, &start, &end, status))
        ok = false;
    if (!ok || !ops->copy_out(device, 1, data, b, 0, sizeof data, NULL, status) ||
        !ops->finish(device, status))
        return false;
    CHECK_INT(data[1], 9);
    CHECK_INT(data[2], 3);
    ops->unload(device, kernel);
    ops->release(device, a);
    ops->graph_destroy(device, graph);
    return true;
}

static bool open_and_live(struct status *status) {
    struct device *device;
    unsigned count;
    if (!ops->count(&count, status) || !ops->open(FAKE_GPU, &device, status))
        return false;
    bool ok = live_a_life(device, status);
    ops->close(device);
    return ok;
}

TEST(opencl_leaks_nothing_and_names_the_call_whichever_call_fails) {
    static const cl_int errors[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, -9999};
    struct status status = {0};
    use_fake();
    CHECK_OK(open_and_live(&status), status);
    CHECK_INT(fake_opencl.live, 0);
    unsigned calls = fake_opencl.calls, failures = 0;
    CHECK(calls > 60);
    for (unsigned e = 0; e < ARRAY_COUNT(errors); e++)
        for (unsigned nth = 1; nth <= calls; nth++) {
            use_fake();
            fake_opencl.fail_at = nth;
            fake_opencl.error = errors[e];
            status = (struct status){0};
            bool ok = open_and_live(&status);
            CHECK_INT(fake_opencl.live, 0);
            if (ok)
                continue; /* a question that need not be answered */
            failures++;
            CHECK(status.code != STATUS_OK);
            if (!strstr(status.message, fake_opencl.failed) ||
                !strstr(status.message, opencl_error_name(errors[e])))
                test_failed(__FILE__, __LINE__, "call %u, %s: \"%s\"", nth, fake_opencl.failed,
                            status.message);
        }
    CHECK(failures > calls);
    stop_fake();
}

TEST(opencl_leaks_nothing_whichever_allocation_fails) {
    struct status status = {0};
    use_fake();
    for (uint64_t nth = 1;; nth++) {
        memory_fail_from(nth);
        status = (struct status){0};
        bool ok = open_and_live(&status);
        memory_fail_from(0);
        CHECK_INT(fake_opencl.live, 0);
        if (ok)
            break;
        CHECK_INT(status.code, STATUS_MEMORY);
        REQUIRE(nth < 1000);
    }
    stop_fake();
}

static void check_add(const float *a, int64_t count, float times) {
    for (int i = 0; i < 1000; i++) {
        float expected = (float)i + (i < count ? times * (float)(i + 16) : 0.0f);
        if (a[i] != expected) {
            test_failed(__FILE__, __LINE__, "element %d is %g, not %g", i, a[i], expected);
            return;
        }
    }
}

TEST(opencl_on_this_machine_runs_kernels_graphs_and_both_queues) {
    struct status status = {0};
    struct device *device = real_device(&status);
    struct device_memory a, b;
    struct device_kernel *kernel;
    struct device_event event;
    float data[1016], out[1016];
    int64_t scalars[2] = {900, 3};
    void *graph;
    if (!device)
        return;
    for (int i = 0; i < 1016; i++)
        data[i] = (float)i;
    CHECK_OK(ops->allocate(device, sizeof data, &a, &status), status);
    CHECK_OK(ops->allocate(device, sizeof data, &b, &status), status);
    CHECK_OK(ops->copy_in(device, 0, a, 0, data, sizeof data, NULL, &status), status);
    CHECK_OK(ops->copy_within(device, 0, b, 0, a, 0, sizeof data, NULL, &status), status);
    bool loaded = ops->load(device, &add_code, &kernel, &status);
    CHECK_OK(loaded, status);
    if (loaded) {
        struct launch_buffer buffers[] = {{a, 0}, {b, 64}};
        struct launch launch = {.kernel = kernel,
                                .grid = {8, 1, 1},
                                .block = {128, 1, 1},
                                .shared_bytes = 512,
                                .buffer_count = 2,
                                .buffers = buffers,
                                .scalar_count = 2,
                                .scalars = scalars};
        CHECK_OK(ops->graph_create(device, &launch, 1, &graph, &status), status);
        scalars[1] = 1000; /* the graph keeps its own */
        CHECK_OK(ops->graph_replay(device, 0, graph, &status), status);
        scalars[1] = 2;
        CHECK_OK(ops->launch(device, 0, &launch, NULL, &status), status);
        CHECK_OK(ops->record(device, 0, &event, &status), status);
        CHECK_OK(ops->order(device, 1, event, &status), status);
        CHECK_OK(ops->launch(device, 1, &launch, NULL, &status), status);
        CHECK_OK(ops->copy_out(device, 1, out, a, 0, sizeof out, NULL, &status), status);
        CHECK(ops->reached(device, event));
        check_add(out, 900, 7);
        ops->event_release(device, event);
        CHECK_OK(ops->finish(device, &status), status);
    }
    close_real(device);
}

TEST(opencl_on_this_machine_tells_when_its_work_ran) {
    struct status status = {0};
    struct device *device = real_device(&status);
    struct device_memory memory;
    struct device_stamp stamps[3] = {{0}};
    static unsigned char data[1 << 20];
    if (!device)
        return;
    CHECK_OK(ops->allocate(device, sizeof data, &memory, &status), status);
    int64_t before = clock_now(), last = 0, start, end;
    for (int i = 0; i < 3; i++)
        CHECK_OK(ops->copy_in(device, 0, memory, 0, data, sizeof data, &stamps[i], &status),
                 status);
    int64_t after = clock_now();
    for (int i = 0; i < 3; i++) {
        CHECK_OK(ops->resolve(device, &stamps[i], &start, &end, &status), status);
        int64_t error = ops->clock_error(device);
        CHECK(start <= end && start >= last);
        CHECK(start >= before - error && end <= after + error);
        last = end;
    }
    close_real(device);
}

/* PoCL's compiler counts its errors on standard error. */
static bool load_quietly(struct device *device, const struct kernel_code *code,
                         struct device_kernel **kernel, struct status *status) {
    int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    bool ok = ops->load(device, code, kernel, status);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(nowhere);
    return ok;
}

TEST(opencl_on_this_machine_explains_what_it_refuses) {
    static const char source[] = "__kernel void f(__global float *x) { x[0] = nowhere; }";
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = "f", .source = source, .source_length = sizeof source - 1};
    struct status status = {0};
    struct device *device = real_device(&status);
    struct device_kernel *kernel;
    struct device_memory memory;
    if (!device)
        return;
    CHECK(!load_quietly(device, &code, &kernel, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "nowhere"));
    CHECK(!ops->allocate(device, (size_t)1 << 60, &memory, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK_OK(ops->allocate(device, 16, &memory, &status), status);
    CHECK(!ops->copy_in(device, 0, memory, 10, source, 7, NULL, &status));
    CHECK_STRING(status.message, "cannot copy in 7 bytes at 10 of a buffer of 16");
    CHECK(!ops->copy_within(device, 0, memory, 0, memory, 4, 8, NULL, &status));
    CHECK(strstr(status.message, "overlap"));
    close_real(device);
}
