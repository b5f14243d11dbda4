/* The CUDA device on a real GPU: skipped where there is none. */
#include <stdlib.h>

#include "../test.h"

#include "base/clock.h"
#include "device/device.h"

static const struct device_ops *const cuda = &device_cuda;

enum { COUNT = 100000 };

/* NULL, and the test is skipped, when there is no GPU that can be used. */
static struct device *open_gpu(void) {
    static struct status status; /* the reason is printed later */
    struct device *device = NULL;
    unsigned count;
    if (!cuda->count(&count, &status) || !cuda->open(0, &device, &status))
        test_skip(status.message);
    return device;
}

static const char source[] = "struct scalars { long long count, factor; };\n"
                             "extern \"C\" __global__ void multiply_add(float *x, const float *y,\n"
                             "                                        scalars s) {\n"
                             "    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
                             "    if (i < s.count)\n"
                             "        x[i] = x[i] * s.factor + y[i];\n"
                             "}\n"
                             "extern \"C\" __global__ void crash(float *x, const float *y) {\n"
                             "    *(volatile float *)16 = 1;\n"
                             "}\n";

static struct device_kernel *load_source(struct device *device, const char *name) {
    struct status status;
    struct device_kernel *kernel = NULL;
    struct kernel_code code = {
        .kind = CODE_SOURCE,
        .name = name,
        .source = source,
        .source_length = strlen(source),
        .shared_max = 60000,
    };
    CHECK_OK(cuda->load(device, &code, &kernel, &status), status);
    return kernel;
}

struct arrays {
    struct device_memory x, y;
    float host[COUNT];
};

static bool fill_arrays(struct device *device, struct arrays *arrays) {
    struct status status;
    bool made = cuda->allocate(device, sizeof arrays->host + 16, &arrays->x, &status) &&
                cuda->allocate(device, sizeof arrays->host, &arrays->y, &status);
    for (unsigned i = 0; i < COUNT; i++)
        arrays->host[i] = (float)(i % 1000);
    made = made && cuda->copy_in(device, 0, arrays->x, 16, arrays->host, sizeof arrays->host, NULL,
                                 &status);
    for (unsigned i = 0; i < COUNT; i++)
        arrays->host[i] = 1;
    made = made &&
           cuda->copy_in(device, 0, arrays->y, 0, arrays->host, sizeof arrays->host, NULL, &status);
    CHECK_OK(made, status);
    return made;
}

/* How many of x are not what `times` launches with the factor 2 leave. */
static unsigned count_wrong(struct device *device, struct arrays *arrays, unsigned times) {
    struct status status;
    unsigned wrong = 0;
    CHECK_OK(
        cuda->copy_out(device, 0, arrays->host, arrays->x, 16, sizeof arrays->host, NULL, &status),
        status);
    for (unsigned i = 0; i < COUNT; i++) {
        float expected = (float)(i % 1000);
        for (unsigned j = 0; j < times; j++)
            expected = expected * 2 + 1;
        wrong += arrays->host[i] != expected;
    }
    return wrong;
}

TEST(a_gpu_runs_a_kernel_a_graph_of_it_and_tells_when) {
    static struct arrays arrays;
    struct status status;
    struct device *device = open_gpu();
    if (!device)
        return;
    struct device_kernel *kernel = load_source(device, "multiply_add");
    REQUIRE(kernel && fill_arrays(device, &arrays));
    CHECK(kernel->registers > 0);
    struct launch_buffer buffers[2] = {{arrays.x, 16}, {arrays.y, 0}};
    int64_t scalars[2] = {COUNT, 2};
    struct launch launch = {
        .kernel = kernel,
        .grid = {(COUNT + 255) / 256, 1, 1},
        .block = {256, 1, 1},
        .shared_bytes = 60000,
        .buffer_count = 2,
        .scalar_count = 2,
        .buffers = buffers,
        .scalars = scalars,
    };
    struct launch launches[3] = {launch, launch, launch};
    struct device_stamp stamp = {0, 0};
    int64_t start = 0, end = 0, before = clock_now();
    void *graph = NULL;
    CHECK_OK(cuda->launch(device, 0, &launch, &stamp, &status), status);
    CHECK_OK(cuda->finish(device, &status), status);
    int64_t after = clock_now();
    CHECK_OK(cuda->resolve(device, &stamp, &start, &end, &status), status);
    int64_t error = cuda->clock_error(device);
    CHECK(start >= before - error && end <= after + error && end > start);
    CHECK_INT(count_wrong(device, &arrays, 1), 0);
    CHECK_OK(cuda->graph_create(device, launches, 3, &graph, &status), status);
    REQUIRE(graph);
    CHECK_OK(cuda->graph_replay(device, 0, graph, &status), status);
    CHECK_OK(cuda->graph_replay(device, 0, graph, &status), status);
    CHECK_INT(count_wrong(device, &arrays, 7), 0);
    cuda->close(device);
}

TEST(queues_of_a_gpu_are_ordered_by_events) {
    static struct arrays arrays;
    struct status status;
    struct device *device = open_gpu();
    if (!device)
        return;
    struct device_kernel *kernel = load_source(device, "multiply_add");
    REQUIRE(kernel && fill_arrays(device, &arrays));
    struct launch_buffer buffers[2] = {{arrays.x, 16}, {arrays.y, 0}};
    int64_t scalars[2] = {COUNT, 2};
    struct launch launch = {
        .kernel = kernel,
        .grid = {(COUNT + 255) / 256, 1, 1},
        .block = {256, 1, 1},
        .buffer_count = 2,
        .scalar_count = 2,
        .buffers = buffers,
        .scalars = scalars,
    };
    for (unsigned i = 0; i < 10; i++) {
        struct device_event event;
        CHECK_OK(cuda->launch(device, i % 4, &launch, NULL, &status), status);
        CHECK_OK(cuda->record(device, i % 4, &event, &status), status);
        CHECK_OK(cuda->order(device, (i + 1) % 4, event, &status), status);
        CHECK_OK(cuda->order(device, 0, event, &status), status);
        cuda->forget(device, event);
    }
    CHECK_INT(count_wrong(device, &arrays, 10), 0);
    cuda->close(device);
}

/* Small integers, which all types hold and add up exactly. */
static float small(unsigned i, unsigned step) {
    return (float)((i * step) % 5) - 2;
}

static uint16_t bits_of(enum ridge_dtype type, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (type == RIDGE_BF16 || value == 0)
        return (uint16_t)(bits >> 16);
    return (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 112) << 10) |
                      (bits >> 13 & 1023));
}

static void store(void *data, enum ridge_dtype type, unsigned i, float value) {
    if (type == RIDGE_F32)
        ((float *)data)[i] = value;
    else
        ((uint16_t *)data)[i] = bits_of(type, value);
}

enum { SPAN = 40000 };

/* `shift` elements lie before each matrix. */
static void check_product(struct device *device, struct device_matmul shape, unsigned shift) {
    static float host[4][SPAN];
    struct status status;
    struct device_kernel *kernel = NULL;
    struct device_memory memory[4];
    struct launch_buffer buffers[4];
    struct kernel_code code = {.kind = CODE_MATMUL, .name = "product", .matmul = shape};
    size_t ab = shape.ab_type == RIDGE_F32 ? 4 : 2, d = shape.d_type == RIDGE_F32 ? 4 : 2;
    for (unsigned side = 0; side < 4; side++) {
        enum ridge_dtype type = side < 2 ? shape.ab_type : shape.d_type;
        memset(host[side], 0, sizeof host[side]);
        for (unsigned i = 0; i + shift < SPAN; i++)
            store(host[side], type, i + shift, side == 2 ? 77 : small(i, side + 1));
        CHECK_OK(cuda->allocate(device, sizeof host[side], &memory[side], &status), status);
        CHECK_OK(
            cuda->copy_in(device, 1, memory[side], 0, host[side], sizeof host[side], NULL, &status),
            status);
        buffers[side] = (struct launch_buffer){memory[side], shift * (side < 2 ? ab : d)};
    }
    CHECK_OK(cuda->load(device, &code, &kernel, &status), status);
    REQUIRE(kernel);
    struct launch launch = {
        .kernel = kernel, .buffer_count = shape.bias ? 4 : 3, .buffers = buffers};
    CHECK_OK(cuda->launch(device, 1, &launch, NULL, &status), status);
    CHECK_OK(cuda->copy_out(device, 1, host[2], memory[2], 0, sizeof host[2], NULL, &status),
             status);
    unsigned wrong = 0;
    for (int64_t z = 0; z < shape.batch; z++)
        for (int64_t i = 0; i < shape.m; i++)
            for (int64_t j = 0; j < shape.n; j++) {
                float sum = shape.bias ? small((unsigned)j, 4) : 0, expected = 0;
                for (int64_t k = 0; k < shape.k; k++)
                    sum +=
                        small((unsigned)(z * shape.a_batch + i * shape.a_row + k * shape.a_column),
                              1) *
                        small((unsigned)(z * shape.b_batch + k * shape.b_row + j * shape.b_column),
                              2);
                sum = shape.activation == RIDGE_ACTIVATION_RELU && sum < 0 ? 0 : sum;
                store(&expected, shape.d_type, 0, sum);
                size_t at = (size_t)(z * shape.d_batch + i * shape.d_row + j) + shift;
                wrong += memcmp((char *)host[2] + at * d, &expected, d) != 0;
            }
    if (wrong > 0)
        test_failed(__FILE__, __LINE__, "%u elements are wrong of a %lld x %lld x %lld product",
                    wrong, (long long)shape.m, (long long)shape.n, (long long)shape.k);
    cuda->unload(device, kernel);
    for (unsigned side = 0; side < 4; side++)
        cuda->release(device, memory[side]);
}

TEST(products_on_a_gpu_are_right_for_every_type_and_layout) {
    struct device *device = open_gpu();
    if (!device)
        return;
    if (!device->capabilities.library_matmul) {
        test_skip("cuBLASLt is not installed");
        cuda->close(device);
        return;
    }
    static const enum ridge_dtype types[][2] = {{RIDGE_F32, RIDGE_F32},
                                                {RIDGE_F16, RIDGE_F16},
                                                {RIDGE_BF16, RIDGE_BF16},
                                                {RIDGE_BF16, RIDGE_F32}};
    for (unsigned t = 0; t < 4; t++)
        for (unsigned layout = 0; layout < 8; layout++) {
            int64_t m = 24, n = 40, k = 16;
            bool a_transposed = layout & 1, b_transposed = layout & 2, extras = layout & 4;
            struct device_matmul shape = {
                .ab_type = types[t][0],
                .d_type = types[t][1],
                .m = m,
                .n = n,
                .k = k,
                .batch = extras ? 3 : 1,
                .a_row = a_transposed ? 1 : k,
                .a_column = a_transposed ? m : 1,
                .a_batch = m * k,
                .b_row = b_transposed ? 1 : n,
                .b_column = b_transposed ? k : 1,
                .b_batch = 0,
                .d_row = n,
                .d_batch = m * n,
                .bias = extras,
                .activation = extras ? RIDGE_ACTIVATION_RELU : RIDGE_ACTIVATION_NONE,
            };
            check_product(device, shape, 0);
            check_product(device, shape, 1); /* hardly aligned */
        }
    cuda->close(device);
}

TEST(a_kernel_that_crashes_loses_the_device_and_says_so) {
    struct status status;
    struct device *device = open_gpu();
    if (!device)
        return;
    struct device_kernel *kernel = load_source(device, "crash");
    REQUIRE(kernel);
    struct launch_buffer buffers[2] = {{{0, 0}, 0}, {{0, 0}, 0}};
    struct launch launch = {
        .kernel = kernel,
        .grid = {1, 1, 1},
        .block = {1, 1, 1},
        .buffer_count = 2,
        .buffers = buffers,
    };
    if (cuda->launch(device, 0, &launch, NULL, &status)) /* some drivers say it at once */
        CHECK(!cuda->finish(device, &status));
    CHECK(strstr(status.message, "the device was lost") && strstr(status.message, "crash"));
    cuda->close(device);
    /* Whether the driver lets a process go on after that is up to it. */
    if (cuda->open(0, &device, &status))
        cuda->close(device);
    else
        CHECK(strstr(status.message, "start the process anew"));
}
