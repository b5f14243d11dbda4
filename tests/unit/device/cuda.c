/* The CUDA device against a fake driver: the calls it makes, and failures of every call.
 * Compilation is tested with the real NVRTC if available. */
#include <stdlib.h>
#include <time.h>

#include "../test.h"
#include "base/clock.h"
#include "fake_cuda.h"
#include "fake_cupti.h"

#include "base/array.h"
#include "base/library.h"
#include "base/memory.h"
#include "abi/cuda_toolkit.h"
#include "device/cuda/compile.h"
#include "abi/cuda_driver.h"
#include "device/device.h"

static const struct device_ops *const cuda = &device_cuda;

/* Nothing that a test compiles is to be found by a program. */
static char cache_before[4096];
static void forbid_cache(void) {
    const char *before = getenv("RIDGE_CACHE");
    snprintf(cache_before, sizeof cache_before, "%s", before ? before : "");
    setenv("RIDGE_CACHE", "off", 1);
}
static void allow_cache(void) {
    if (cache_before[0])
        setenv("RIDGE_CACHE", cache_before, 1);
    else
        unsetenv("RIDGE_CACHE");
}

static struct device *open_fake(struct status *status) {
    struct device *device = NULL;
    forbid_cache();
    fake_cuda_use();
    CHECK_OK(cuda->open(0, &device, status), *status);
    return device;
}

/* Closes the device, and looks whether anything is left. */
static void close_fake(struct device *device) {
    if (device)
        cuda->close(device);
    CHECK_INT(fake_cuda.live, 0);
    fake_cuda_remove();
    allow_cache();
}

static const struct kernel_code source_code = {
    .kind = CODE_SOURCE,
    .name = "twice",
    .source = "...",
    .source_length = 3,
    .shared_max = 100000,
};

static struct launch launch_of(struct device_kernel *kernel, const struct launch_buffer *buffers,
                               const int64_t *scalars) {
    return (struct launch){
        .kernel = kernel,
        .grid = {4, 1, 1},
        .block = {128, 1, 1},
        .buffer_count = 2,
        .scalar_count = 1,
        .buffers = buffers,
        .scalars = scalars,
    };
}

TEST(a_machine_without_an_nvidia_driver_is_an_ordinary_failure) {
    struct status status;
    unsigned count = 7;
    if (cuda_driver(&status)) {
        test_skip("there is a driver here");
        return;
    }
    CHECK(!cuda->count(&count, &status));
    CHECK_INT(count, 0);
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    CHECK(strstr(status.message, "libcuda.so.1 was not found"));
    CHECK(strstr(status.message, "install the driver"));
}

TEST(no_gpu_and_no_such_gpu_say_what_to_do) {
    struct status status;
    struct device *device;
    unsigned count;
    forbid_cache();
    fake_cuda_use();
    CHECK(!cuda->open(2, &device, &status));
    CHECK(strstr(status.message, "cuda:2 does not exist: this machine has 2 CUDA GPUs"));
    fake_cuda.devices = 0;
    CHECK(!cuda->count(&count, &status));
    CHECK(strstr(status.message, "CUDA_VISIBLE_DEVICES"));
    fake_cuda.fail_at = fake_cuda.calls + 1;
    fake_cuda.error = CUDA_SYSTEM_DRIVER_MISMATCH;
    CHECK(!cuda->count(&count, &status));
    CHECK(strstr(status.message, "cuInit failed") && strstr(status.message, "reboot"));
    close_fake(NULL);
}

TEST(a_probed_gpu_is_described_and_not_opened) {
    struct status status;
    struct device_capabilities found;
    forbid_cache();
    fake_cuda_use();
    CHECK_OK(cuda->probe(1, &found, &status), status);
    CHECK_STRING(found.description, "Fake GPU 1");
    CHECK_STRING(found.uuid, "00112233-4455-6677-8899-aabbccddeeff");
    CHECK(strncmp(found.driver, "CUDA 13.0", 9) == 0);
    CHECK_INT(found.major, 9);
    CHECK_INT(found.subgroup, 32);
    CHECK_INT(found.shared_max, 232448);
    CHECK_INT(found.bandwidth, 4916736000000);
    CHECK(found.dot8 && found.is_gpu);
    CHECK_INT(fake_cuda.live, 0);
    fake_cuda.newest = 75; /* the compiler is older than the GPU, which then compiles the rest */
    CHECK_OK(cuda->probe(1, &found, &status), status);
    fake_cuda.architecture = 61;
    CHECK(!cuda->probe(1, &found, &status));
    CHECK(strstr(status.message, "NVRTC 99.1 does not support compute capability 6.1"));
    CHECK_STRING(found.description, "Fake GPU 1");
    close_fake(NULL);
}

TEST(copies_keep_the_data_although_the_host_reuses_its_memory) {
    struct status status;
    struct device *device = open_fake(&status);
    size_t sizes[] = {1, 1000, 4096, (size_t)9 << 20, 300001};
    struct device_memory memory, other;
    size_t largest = sizes[3];
    unsigned char *data = malloc(largest), *back = malloc(largest);
    REQUIRE(device && data && back);
    CHECK_OK(cuda->allocate(device, largest + 16, &memory, &status), status);
    CHECK_OK(cuda->allocate(device, largest + 16, &other, &status), status);
    for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
        for (size_t j = 0; j < sizes[i]; j++)
            data[j] = (unsigned char)(j * 31 + i);
        CHECK_OK(cuda->copy_in(device, i % 4, memory, 16, data, sizes[i], NULL, &status), status);
        memset(data, 0xee, sizes[i]);
        CHECK_OK(cuda->copy_within(device, i % 4, other, 8, memory, 16, sizes[i], NULL, &status),
                 status);
        CHECK_OK(cuda->copy_out(device, i % 4, back, other, 8, sizes[i], NULL, &status), status);
        size_t wrong = 0;
        for (size_t j = 0; j < sizes[i]; j++)
            wrong += back[j] != (unsigned char)(j * 31 + i);
        CHECK_INT(wrong, 0);
    }
    CHECK_OK(cuda->copy_in(device, 0, memory, 0, NULL, 0, NULL, &status), status);
    CHECK(!cuda->copy_in(device, 4, memory, 0, data, 1, NULL, &status));
    CHECK(strstr(status.message, "queue 4 does not exist"));
    free(data);
    free(back);
    close_fake(device);
}

TEST(many_small_copies_wait_before_they_reuse_the_staging_memory) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_memory memory;
    enum { COUNT = 200, BYTES = 100000 };
    static unsigned char data[BYTES];
    REQUIRE(device);
    CHECK_OK(cuda->allocate(device, (size_t)COUNT * BYTES, &memory, &status), status);
    for (unsigned i = 0; i < COUNT; i++) {
        memset(data, (int)i, sizeof data);
        CHECK_OK(
            cuda->copy_in(device, i % 3, memory, (size_t)i * BYTES, data, BYTES, NULL, &status),
            status);
    }
    CHECK_OK(cuda->finish(device, &status), status);
    const unsigned char *there = (const unsigned char *)(uintptr_t)memory.handle;
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(there[(size_t)i * BYTES] == i && there[(size_t)i * BYTES + BYTES - 1] == i);
    close_fake(device);
}

TEST(a_full_gpu_is_out_of_memory) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_memory memory;
    REQUIRE(device);
    CHECK(!cuda->allocate(device, (size_t)1 << 40, &memory, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK(strstr(status.message, "1099511627776 bytes"));
    CHECK_OK(cuda->allocate(device, 0, &memory, &status), status);
    close_fake(device);
}

TEST(a_launch_passes_addresses_and_scalars_and_sets_the_context_once) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_kernel *kernel = NULL;
    struct launch_buffer buffers[2] = {{{0x1000, 64}, 16}, {{0x2000, 64}, 0}};
    int64_t scalars[1] = {-42};
    REQUIRE(device);
    CHECK_OK(cuda->load(device, &source_code, &kernel, &status), status);
    REQUIRE(kernel);
    CHECK_STRING(kernel->name, "twice");
    CHECK_INT(kernel->registers, 40);
    CHECK_INT(kernel->shared_static, 128);
    CHECK_INT(fake_cuda.dynamic_shared, 100000);
    struct launch launch = launch_of(kernel, buffers, scalars);
    uint64_t set_current = fake_cuda.set_current, calls = fake_cuda.calls;
    for (unsigned i = 0; i < 10; i++)
        CHECK_OK(cuda->launch(device, i % 4, &launch, NULL, &status), status);
    CHECK_INT(fake_cuda.calls - calls, 10); /* nothing but the launches themselves */
    CHECK_INT(fake_cuda.set_current, set_current);
    CHECK_INT(fake_cuda.first_argument, 0x1010);
    CHECK_INT(fake_cuda.second_argument, 0x2000);
    CHECK_INT(fake_cuda.first_scalar, -42);
    launch.grid[1] = 0;
    CHECK_OK(cuda->launch(device, 0, &launch, NULL, &status), status);
    CHECK_INT(fake_cuda.launches, 10);
    launch.grid[1] = 1;
    launch.block[0] = 4096;
    CHECK(!cuda->launch(device, 0, &launch, NULL, &status));
    CHECK(strstr(status.message, "launching the kernel twice (grid 4 x 1 x 1, block 4096 x 1 x 1"));
    close_fake(device);
}

TEST(a_kernel_that_does_not_compile_or_fit_says_why) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_kernel *kernel;
    struct kernel_code greedy = source_code;
    REQUIRE(device);
    greedy.shared_max = 232448;
    CHECK(!cuda->load(device, &greedy, &kernel, &status));
    CHECK(strstr(status.message, "it needs 232576 bytes of shared memory"));
    fake_cuda.source_is_wrong = true;
    CHECK(!cuda->load(device, &source_code, &kernel, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "what is \"zork\"?") && !strstr(status.message, "never mind"));
    struct kernel_code native = {.kind = CODE_NATIVE, .name = "native"};
    CHECK(!cuda->load(device, &native, &kernel, &status));
    CHECK_INT(status.code, STATUS_USAGE);
    close_fake(device);
}

TEST(a_lost_device_names_the_kernel_and_stays_lost) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_kernel *kernel = NULL;
    struct device_memory memory;
    struct launch_buffer buffers[2] = {{{0x1000, 64}, 0}, {{0x2000, 64}, 0}};
    int64_t scalars[1] = {0};
    REQUIRE(device);
    CHECK_OK(cuda->load(device, &source_code, &kernel, &status), status);
    REQUIRE(kernel);
    struct launch launch = launch_of(kernel, buffers, scalars);
    CHECK_OK(cuda->launch(device, 0, &launch, NULL, &status), status);
    fake_cuda.fail_at = fake_cuda.calls + 1;
    fake_cuda.error = CUDA_ILLEGAL_ADDRESS;
    CHECK(!cuda->finish(device, &status));
    CHECK_INT(status.code, STATUS_IO);
    CHECK(strstr(status.message, "the device was lost: cuCtxSynchronize failed: "
                                 "CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK(strstr(status.message, "by the kernel twice"));
    CHECK(!cuda->allocate(device, 16, &memory, &status));
    CHECK(strstr(status.message, "by the kernel twice"));
    CHECK(!cuda->launch(device, 0, &launch, NULL, &status));
    CHECK(strstr(status.message, "the device was lost"));
    close_fake(device);
}

TEST(a_graph_replays_its_launches) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_kernel *kernel = NULL;
    struct launch_buffer buffers[2] = {{{0x1000, 64}, 0}, {{0x2000, 64}, 0}};
    int64_t scalars[1] = {0};
    void *graph = NULL, *empty = NULL;
    REQUIRE(device);
    CHECK_OK(cuda->load(device, &source_code, &kernel, &status), status);
    REQUIRE(kernel);
    struct launch launches[3];
    for (unsigned i = 0; i < 3; i++)
        launches[i] = launch_of(kernel, buffers, scalars);
    CHECK_OK(cuda->graph_create(device, launches, 3, &graph, &status), status);
    CHECK_OK(cuda->graph_create(device, NULL, 0, &empty, &status), status);
    REQUIRE(graph && empty);
    CHECK_INT(fake_cuda.launches, 0);
    uint64_t calls = fake_cuda.calls;
    CHECK_OK(cuda->graph_replay(device, 1, graph, &status), status);
    CHECK_INT(fake_cuda.calls - calls, 1);
    CHECK_OK(cuda->graph_replay(device, 2, graph, &status), status);
    CHECK_OK(cuda->graph_replay(device, 2, empty, &status), status);
    CHECK_INT(fake_cuda.launches, 6);
    cuda->graph_destroy(device, graph);
    launches[1].block[0] = 4096;
    CHECK(!cuda->graph_create(device, launches, 3, &graph, &status));
    CHECK(strstr(status.message, "creating a graph of 3 launches: launching the kernel twice"));
    launches[1].block[0] = 64; /* the stream that captures is of use again */
    CHECK_OK(cuda->graph_create(device, launches, 3, &graph, &status), status);
    close_fake(device); /* with graphs and kernels left */
}

TEST(events_are_reached_when_what_is_before_them_is_done) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_memory memory;
    struct device_event event, again;
    char data[16] = {0};
    REQUIRE(device);
    CHECK_OK(cuda->allocate(device, 16, &memory, &status), status);
    CHECK_OK(cuda->copy_in(device, 0, memory, 0, data, 16, NULL, &status), status);
    CHECK_OK(cuda->record(device, 0, &event, &status), status);
    CHECK(!cuda->reached(device, event));
    CHECK_OK(cuda->order(device, 1, event, &status), status);
    CHECK_OK(cuda->finish(device, &status), status);
    CHECK(cuda->reached(device, event));
    cuda->event_release(device, event);
    CHECK_OK(cuda->record(device, 0, &again, &status), status);
    CHECK(again.handle == event.handle); /* reused */
    close_fake(device);
}

TEST(stamps_resolve_to_the_hosts_clock_whatever_the_devices_shows) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_memory memory;
    char data[16] = {0};
    REQUIRE(device);
    fake_cuda.clock_rate = 1.0001; /* 100 microseconds a second too fast */
    CHECK_OK(cuda->allocate(device, 16, &memory, &status), status);
    int64_t resolved = clock_now();
    for (unsigned i = 0; i < 8; i++) {
        struct device_stamp stamp = {0, 0};
        int64_t start, end, before = clock_now();
        CHECK_OK(cuda->copy_in(device, 0, memory, 0, data, 16, &stamp, &status), status);
        int64_t after = clock_now();
        nanosleep(&(struct timespec){0, 60000000}, NULL);
        CHECK_OK(cuda->resolve(device, &stamp, &start, &end, &status), status);
        /* on a busy machine the clock drifts on since it was last read */
        int64_t late = clock_now() - resolved - 80000000;
        resolved = clock_now();
        int64_t error = cuda->clock_error(device) + 1000 + (late > 0 ? late / 10000 : 0);
        CHECK(start >= before - error && start <= end && end <= after + error);
        CHECK(stamp.begin == 0 && stamp.end == 0);
        CHECK_OK(cuda->resolve(device, &stamp, &start, &end, &status), status);
        CHECK_INT(start, 0);
    }
    close_fake(device);
}

struct product {
    struct device_matmul shape;
    float a[400], b[400], d[400], bias[16];
};

static float at(const float *data, int64_t batch, int64_t row, int64_t column) {
    return data[batch + row + column];
}

static void check_product(struct device *device, struct product *product) {
    struct status status;
    struct device_matmul *s = &product->shape;
    struct device_kernel *kernel = NULL;
    struct launch_buffer buffers[4];
    float *sides[4] = {product->a, product->b, product->d, product->bias};
    for (unsigned i = 0; i < 400; i++) {
        product->a[i] = (float)((i * 7) % 11) - 5;
        product->b[i] = (float)((i * 5) % 13) - 6;
        product->d[i] = 1000;
    }
    for (unsigned i = 0; i < 16; i++)
        product->bias[i] = (float)i * 10 - 50;
    for (unsigned i = 0; i < 4; i++)
        buffers[i] = (struct launch_buffer){{(uintptr_t)sides[i], 400}, 0};
    struct kernel_code code = {.kind = CODE_MATMUL, .name = "product", .matmul = *s};
    CHECK_OK(cuda->load(device, &code, &kernel, &status), status);
    REQUIRE(kernel);
    struct launch launch = {.kernel = kernel, .buffer_count = s->bias ? 4 : 3, .buffers = buffers};
    CHECK_OK(cuda->launch(device, 2, &launch, NULL, &status), status);
    unsigned wrong = 0;
    for (int64_t z = 0; z < s->batch; z++)
        for (int64_t i = 0; i < s->m; i++)
            for (int64_t j = 0; j < s->n; j++) {
                float sum = s->bias ? product->bias[j] : 0;
                for (int64_t k = 0; k < s->k; k++)
                    sum += at(product->a, z * s->a_batch, i * s->a_row, k * s->a_column) *
                           at(product->b, z * s->b_batch, k * s->b_row, j * s->b_column);
                if (s->activation == RIDGE_ACTIVATION_RELU && sum < 0)
                    sum = 0;
                wrong += at(product->d, z * s->d_batch, i * s->d_row, j) != sum;
            }
    CHECK_INT(wrong, 0);
    cuda->unload(device, kernel);
}

TEST(products_are_mapped_to_the_librarys_column_order) {
    struct status status;
    struct device *device = open_fake(&status);
    struct product product = {0};
    REQUIRE(device);
    const struct device_matmul shapes[] = {
        {.m = 3,
         .n = 5,
         .k = 4,
         .batch = 1,
         .a_row = 4,
         .a_column = 1,
         .b_row = 5,
         .b_column = 1,
         .d_row = 5},
        {.m = 3,
         .n = 5,
         .k = 4,
         .batch = 1,
         .a_row = 1,
         .a_column = 3,
         .b_row = 1,
         .b_column = 4,
         .d_row = 7,
         .bias = true},
        {.m = 3,
         .n = 5,
         .k = 4,
         .batch = 3,
         .a_row = 6,
         .a_column = 1,
         .a_batch = 20,
         .b_row = 1,
         .b_column = 9,
         .b_batch = 0,
         .d_row = 5,
         .d_batch = 15,
         .bias = true,
         .activation = RIDGE_ACTIVATION_RELU},
        {.m = 1,
         .n = 5,
         .k = 4,
         .batch = 1,
         .a_row = 0,
         .a_column = 1,
         .b_row = 5,
         .b_column = 1,
         .d_row = 0},
        {.m = 3,
         .n = 1,
         .k = 4,
         .batch = 1,
         .a_row = 4,
         .a_column = 1,
         .b_row = 1,
         .b_column = 1,
         .d_row = 1},
        {.m = 3,
         .n = 5,
         .k = 1,
         .batch = 2,
         .a_row = 1,
         .a_column = 7,
         .a_batch = 3,
         .b_row = 0,
         .b_column = 1,
         .b_batch = 5,
         .d_row = 5,
         .d_batch = 15},
    };
    for (unsigned i = 0; i < ARRAY_COUNT(shapes); i++) {
        product.shape = shapes[i];
        check_product(device, &product);
    }
    close_fake(device);
}

TEST(a_product_uses_the_fastest_algorithm_or_the_first_without_memory_to_measure) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_kernel *kernel = NULL;
    struct device_matmul small = {.m = 4,
                                  .n = 4,
                                  .k = 4,
                                  .batch = 1,
                                  .a_row = 4,
                                  .a_column = 1,
                                  .b_row = 4,
                                  .b_column = 1,
                                  .d_row = 4};
    struct device_matmul large = small;
    struct kernel_code code = {.kind = CODE_MATMUL, .name = "product", .matmul = small};
    static _Alignas(256) float data[64];
    struct launch_buffer buffers[3] = {
        {{(uintptr_t)data, 64}, 0}, {{(uintptr_t)data, 64}, 0}, {{(uintptr_t)data, 256}, 0}};
    REQUIRE(device && device->capabilities.library_matmul);
    CHECK_OK(cuda->load(device, &code, &kernel, &status), status);
    REQUIRE(kernel);
    struct launch launch = {.kernel = kernel, .buffer_count = 3, .buffers = buffers};
    CHECK_OK(cuda->launch(device, 0, &launch, NULL, &status), status);
    CHECK_INT(fake_cuda.matmul_algorithm, 1);
    buffers[0].offset = 4; /* another alignment may need another algorithm */
    CHECK_OK(cuda->launch(device, 0, &launch, NULL, &status), status);
    CHECK_INT(fake_cuda.matmul_algorithm, 0);
    launch.buffer_count = 2;
    CHECK(!cuda->launch(device, 0, &launch, NULL, &status));
    CHECK(strstr(status.message, "takes 3 buffers, not 2"));

    uint64_t launches = fake_cuda.launches;
    large.a_row = (int64_t)1 << 60;
    code.matmul = large;
    CHECK_OK(cuda->load(device, &code, &kernel, &status), status);
    CHECK_INT(fake_cuda.launches, launches);
    close_fake(device);
}

TEST(products_that_the_library_cannot_do_are_unsupported) {
    struct status status;
    struct device *device = open_fake(&status);
    struct device_kernel *kernel;
    struct device_matmul good = {.m = 4,
                                 .n = 4,
                                 .k = 4,
                                 .batch = 1,
                                 .a_row = 4,
                                 .a_column = 1,
                                 .b_row = 4,
                                 .b_column = 1,
                                 .d_row = 4};
    struct kernel_code code = {.kind = CODE_MATMUL, .name = "product"};
    REQUIRE(device);
    for (unsigned i = 0; i < 4; i++) {
        code.matmul = good;
        if (i == 0)
            code.matmul.activation = RIDGE_ACTIVATION_SILU;
        else if (i == 1)
            code.matmul.a_row = 0; /* broadcast rows */
        else if (i == 2)
            code.matmul.ab_type = RIDGE_Q8_0;
        else
            code.matmul.k = 0;
        CHECK(!cuda->load(device, &code, &kernel, &status));
        CHECK_INT(status.code, STATUS_UNSUPPORTED);
    }
    code.matmul = good;
    code.matmul.n = 0;
    CHECK_OK(cuda->load(device, &code, &kernel, &status), status);
    struct launch launch = {.kernel = kernel};
    CHECK_OK(cuda->launch(device, 0, &launch, NULL, &status), status);
    CHECK_INT(fake_cuda.launches, 0);
    close_fake(device);
}

static bool use_stamp(struct device *device, struct device_stamp *stamp, struct status *status) {
    int64_t start, end;
    return cuda->resolve(device, stamp, &start, &end, status);
}

/* Some of everything that a device does. Gives up at the first failure and leaves all to close().
 */
static bool use_everything(struct device *device, struct status *status) {
    static char data[300000];
    static _Alignas(256) float numbers[64];
    struct device_memory memory, other;
    struct device_kernel *kernel, *product;
    struct device_stamp stamp = {0, 0};
    struct device_event event;
    struct kernel_code matmul = {
        .kind = CODE_MATMUL,
        .name = "product",
        .matmul = {.m = 2,
                   .n = 2,
                   .k = 2,
                   .batch = 2,
                   .a_row = 2,
                   .a_column = 1,
                   .a_batch = 4,
                   .b_row = 2,
                   .b_column = 1,
                   .b_batch = 4,
                   .d_row = 2,
                   .d_batch = 4,
                   .bias = true},
    };
    if (!cuda->allocate(device, sizeof data, &memory, status) ||
        !cuda->allocate(device, sizeof data, &other, status) ||
        !cuda->copy_in(device, 0, memory, 0, data, sizeof data, &stamp, status) ||
        !use_stamp(device, &stamp, status) ||
        !cuda->copy_within(device, 0, other, 0, memory, 0, 100, &stamp, status) ||
        !use_stamp(device, &stamp, status) ||
        !cuda->copy_out(device, 0, data, other, 0, sizeof data, &stamp, status) ||
        !use_stamp(device, &stamp, status) || !cuda->load(device, &source_code, &kernel, status) ||
        !cuda->load(device, &matmul, &product, status))
        return false;
    struct launch_buffer buffers[4];
    for (unsigned i = 0; i < 4; i++)
        buffers[i] = (struct launch_buffer){{(uintptr_t)numbers, sizeof numbers}, 0};
    int64_t scalars[1] = {1};
    struct launch launches[2] = {
        launch_of(kernel, buffers, scalars),
        {.kernel = product, .buffer_count = 4, .buffers = buffers},
    };
    void *graph;
    if (!cuda->launch(device, 0, &launches[0], &stamp, status) ||
        !use_stamp(device, &stamp, status) ||
        !cuda->launch(device, 1, &launches[1], NULL, status) ||
        !cuda->graph_create(device, launches, 2, &graph, status) ||
        !cuda->graph_replay(device, 0, graph, status) || !cuda->record(device, 0, &event, status) ||
        !cuda->order(device, 1, event, status))
        return false;
    cuda->reached(device, event);
    cuda->event_release(device, event);
    cuda->graph_destroy(device, graph);
    cuda->unload(device, product);
    cuda->release(device, other);
    return cuda->finish(device, status);
}

static bool run_everything(struct status *status) {
    struct device *device = NULL;
    if (!cuda->open(0, &device, status))
        return false;
    bool done = use_everything(device, status);
    cuda->close(device);
    return done;
}

/* Every call fails once, in its turn. Those without which the work can go on may be passed over: a
 * description's details, pinned memory, measuring, and all that frees. */
static void fail_each_call(unsigned error, bool sticky, uint32_t cupti_version) {
    struct status status;
    unsigned reported = 0;
    forbid_cache();
    for (uint64_t nth = 1;; nth++) {
        fake_cuda_use();
        fake_cupti_start(cupti_version);
        fake_cuda.fail_at = nth;
        fake_cuda.error = error;
        fake_cuda.sticky = sticky;
        status.message[0] = 0;
        bool done = run_everything(&status);
        if (fake_cuda.live != 0)
            test_failed(__FILE__, __LINE__, "%lld objects are left after %s failed as call %llu",
                        (long long)fake_cuda.live, fake_cuda.failed_call, (unsigned long long)nth);
        if (!fake_cuda.failed_call) {
            CHECK_OK(done, status);
            break;
        }
        reported += !done;
        if (!done && !sticky && !strstr(status.message, fake_cuda.failed_call))
            test_failed(__FILE__, __LINE__, "%s failed, but the message is: %s",
                        fake_cuda.failed_call, status.message);
    }
    CHECK(reported > 60);
    close_fake(NULL);
}

TEST(every_driver_call_may_fail) {
    fail_each_call(CUDA_UNKNOWN, false, 0);
    fail_each_call(CUDA_UNKNOWN, false, 130001);
}

TEST(the_device_may_be_lost_at_every_driver_call) {
    fail_each_call(CUDA_ILLEGAL_ADDRESS, true, 0);
    fail_each_call(CUDA_ILLEGAL_ADDRESS, true, 130001);
}

static void fail_each_allocation(uint32_t cupti_version) {
    struct status status;
    forbid_cache();
    unsigned failures = 0;
    for (uint64_t nth = 1;; nth++) {
        fake_cuda_use();
        fake_cupti_start(cupti_version);
        memory_fail_from(nth);
        bool done = run_everything(&status);
        memory_fail_from(0);
        CHECK_INT(fake_cuda.live, 0);
        if (done)
            break;
        failures++;
        /* CUPTI without a buffer loses records: that is told instead. */
        if (!cupti_version || !strstr(status.message, "CUPTI lost"))
            CHECK_INT(status.code, STATUS_MEMORY);
    }
    CHECK(failures > 5);
    close_fake(NULL);
}

TEST(every_allocation_of_the_host_may_fail_while_cuda_is_used) {
    fail_each_allocation(0);
    fail_each_allocation(130001);
}

static const char good_source[] =
    "extern \"C\" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }";
static const char wrong_source[] =
    "extern \"C\" __global__ void scale(float *x) { x[threadIdx.x] *= zork; }";

TEST(nvrtc_compiles_for_a_gpu_that_need_not_be_here) {
    struct status status;
    struct buffer binary = {0};
    if (!cuda_nvrtc(&status)) {
        test_skip("NVRTC is not installed");
        return;
    }
    forbid_cache();
    CHECK_OK(cuda_compile(good_source, strlen(good_source), "scale", 9, 0, false, &binary, &status),
             status);
    CHECK(binary.length > 4 && memcmp(binary.data, "\177ELF", 4) == 0);
    buffer_clear(&binary);
    CHECK_OK(cuda_compile(good_source, strlen(good_source), "scale", 99, 0, true, &binary, &status),
             status);
    CHECK(binary.length > 4 && strstr(binary.data, ".entry scale")); /* PTX: not known yet */
    CHECK(
        !cuda_compile(wrong_source, strlen(wrong_source), "scale", 9, 0, false, &binary, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "kernel scale does not compile: scale.cu(1): error: "
                                 "identifier \"zork\" is undefined"));
    buffer_finish(&binary);
    allow_cache();
}

TEST(a_library_named_in_the_environment_is_the_only_one_tried) {
    const struct toolkit_library library = {
        "RIDGE_TEST_LIBRARY", NULL, {{2, "libnowhere.so.2"}, {1, "libc.so.6"}, {0, NULL}}};
    if (!library_open((const char *const[]){"libc.so.6", NULL})) {
        test_skip("there is no libc.so.6");
        return;
    }
    CHECK(toolkit_library_find(&library, 0));
    CHECK(toolkit_library_find(&library, 1));
    setenv("RIDGE_TEST_LIBRARY", "/nowhere/libc.so.6", 1);
    CHECK(!toolkit_library_find(&library, 0));
    setenv("RIDGE_TEST_LIBRARY", "libc.so.6", 1);
    CHECK(toolkit_library_find(&library, 0));
    unsetenv("RIDGE_TEST_LIBRARY");
}
