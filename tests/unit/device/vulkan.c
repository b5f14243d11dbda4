/* The Vulkan device on a driver of this machine: kernels with many arguments and large grids,
 * graphs, events, stamps, copies of all sizes, and sources that do not compile. */
#include "../test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "bench/roofs/arithmetic.h"
#include "device/vulkan/vulkan.h"
#include "gen/emit/dialect.h"
#include "gen/kernel.h"

enum { THREADS = 64 };

static struct device *open_vulkan(void) {
    struct device *device = NULL;
    struct status status = {0};
    unsigned count = 0;
    if (!device_vulkan.count(&count, &status) || !device_vulkan.open(0, &device, &status)) {
        test_skip(status.message);
        return NULL;
    }
    return device;
}

/* A kernel of `scalars` scalars that adds the last one to element BLOCK_X * THREADS + THREAD_X. */
static struct device_kernel *load_add(struct device *device, unsigned scalars) {
    struct buffer source = {0};
    struct status status = {0};
    struct device_kernel *loaded = NULL;
    const struct source_parameter result = {.name = "x", .dtype = RIDGE_I32, .stored = true};
    const struct source_kernel kernel = {.name = "add",
                                         .buffers = &result,
                                         .buffer_count = 1,
                                         .scalar_count = scalars,
                                         .threads = THREADS};
    source_prelude(&source, &device->capabilities);
    source_kernel_begin(&source, &device->capabilities, &kernel);
    source_kernel_body(&source, &device->capabilities, &kernel);
    buffer_printf(&source,
                  "INT64 at = CAST(INT64, BLOCK_X) * THREADS_X + THREAD_X;\n"
                  "ELEMENT(x, at) += CAST(int, scalars.v[%u]);\n}\n",
                  scalars - 1);
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = "add", .source = source.data, .source_length = source.length};
    CHECK_OK(device->ops->load(device, &code, &loaded, &status), status);
    buffer_finish(&source);
    return loaded;
}

struct addition {
    struct launch_buffer buffer;
    int64_t scalars[100];
    struct launch launch;
};

static void prepare(struct addition *addition, struct device_kernel *kernel,
                    struct device_memory memory, uint32_t blocks, unsigned scalars, int64_t value) {
    *addition = (struct addition){.buffer = {memory, 0}};
    addition->scalars[scalars - 1] = value;
    addition->launch = (struct launch){.kernel = kernel,
                                       .grid = {blocks, 1, 1},
                                       .block = {THREADS, 1, 1},
                                       .buffer_count = 1,
                                       .scalar_count = scalars,
                                       .buffers = &addition->buffer,
                                       .scalars = addition->scalars};
}

static void check_sum(struct device *device, struct device_memory memory, size_t count,
                      int32_t expected) {
    struct status status = {0};
    int32_t *values = calloc(count, sizeof *values);
    REQUIRE(values);
    CHECK_OK(
        device->ops->copy_out(device, 0, values, memory, 0, count * sizeof *values, NULL, &status),
        status);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += values[i] != expected;
    CHECK_INT((int)wrong, 0);
    free(values);
}

/* Zeros to begin with, through the staging memory of several pieces. */
static bool allocate_zeros(struct device *device, size_t count, struct device_memory *memory) {
    struct status status = {0};
    int32_t *zeros = calloc(count, sizeof *zeros);
    bool ok =
        zeros && device->ops->allocate(device, count * sizeof *zeros, memory, &status) &&
        device->ops->copy_in(device, 0, *memory, 0, zeros, count * sizeof *zeros, NULL, &status);
    CHECK_OK(ok, status);
    free(zeros);
    return ok;
}

/* Few arguments are push constants, many are in memory; a grid may exceed what a dispatch can have
 * along x. */
TEST(vulkan_launches_have_many_arguments_and_large_grids) {
    static const struct {
        unsigned scalars;
        uint32_t blocks;
    } cases[] = {{1, 3}, {14, 3}, {15, 3}, {100, 3}, {1, 70000}, {100, 65536}};
    struct device *device = open_vulkan();
    struct status status = {0};
    if (!device)
        return;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct device_memory memory;
        struct addition addition;
        size_t count = (size_t)cases[i].blocks * THREADS;
        struct device_kernel *kernel = load_add(device, cases[i].scalars);
        if (!kernel || !allocate_zeros(device, count, &memory))
            break;
        prepare(&addition, kernel, memory, cases[i].blocks, cases[i].scalars, 7);
        for (int turn = 0; turn < 3; turn++)
            CHECK_OK(device->ops->launch(device, 0, &addition.launch, NULL, &status), status);
        check_sum(device, memory, count, 21);
        device->ops->release(device, memory);
        device->ops->unload(device, kernel);
    }
    device->ops->close(device);
}

TEST(vulkan_graphs_replay_after_what_came_before) {
    struct device *device = open_vulkan();
    struct status status = {0};
    struct device_memory memory;
    struct addition first, second;
    void *graph = NULL;
    if (!device)
        return;
    struct device_kernel *few = load_add(device, 1), *many = load_add(device, 40);
    REQUIRE(few && many && allocate_zeros(device, 5 * THREADS, &memory));
    prepare(&first, few, memory, 5, 1, 1);
    prepare(&second, many, memory, 5, 40, 10);
    const struct launch launches[] = {first.launch, second.launch, second.launch};
    CHECK_OK(device->ops->graph_create(device, launches, 3, &graph, &status), status);
    CHECK_OK(device->ops->launch(device, 0, &first.launch, NULL, &status), status);
    for (int turn = 0; turn < 50; turn++)
        CHECK_OK(device->ops->graph_replay(device, 0, graph, &status), status);
    CHECK_OK(device->ops->launch(device, 0, &first.launch, NULL, &status), status);
    check_sum(device, memory, 5 * THREADS, 2 + 50 * 21);
    device->ops->graph_destroy(device, graph);
    device->ops->close(device); /* frees the rest */
}

TEST(vulkan_stamps_lie_between_the_hosts_times) {
    enum { STAMPS = 600 }; /* more than a pool holds */
    static struct device_stamp stamps[STAMPS];
    struct device *device = open_vulkan();
    struct status status = {0};
    struct device_memory memory;
    struct addition addition;
    char how[80];
    if (!device)
        return;
    struct device_kernel *kernel = load_add(device, 1);
    REQUIRE(kernel && allocate_zeros(device, 9 * THREADS, &memory));
    prepare(&addition, kernel, memory, 9, 1, 1);
    device->ops->prepare_stamps(device, how, sizeof how);
    int64_t before = clock_now(), last = 0;
    for (unsigned i = 0; i < STAMPS; i++)
        CHECK_OK(device->ops->launch(device, 0, &addition.launch, &stamps[i], &status), status);
    CHECK_OK(device->ops->finish(device, &status), status);
    int64_t after = clock_now(), error = device->ops->clock_error(device);
    for (unsigned i = 0; i < STAMPS; i++) {
        int64_t start = 0, end = 0;
        CHECK_OK(device->ops->resolve(device, &stamps[i], &start, &end, &status), status);
        CHECK(start >= before - error && end <= after + error);
        CHECK(start <= end && start >= last - error);
        last = end;
    }
    device->ops->close(device);
}

TEST(vulkan_events_are_reached_and_bad_source_is_explained) {
    struct device *device = open_vulkan();
    struct status status = {0};
    struct device_memory memory;
    struct addition addition;
    struct device_event event;
    if (!device)
        return;
    struct device_kernel *kernel = load_add(device, 1), *wrong = NULL;
    REQUIRE(kernel && allocate_zeros(device, THREADS, &memory));
    prepare(&addition, kernel, memory, 1, 1, 5);
    CHECK_OK(device->ops->launch(device, 0, &addition.launch, NULL, &status), status);
    CHECK_OK(device->ops->record(device, 0, &event, &status), status);
    CHECK_OK(device->ops->order(device, 0, event, &status), status);
    CHECK_OK(device->ops->finish(device, &status), status);
    CHECK(device->ops->reached(device, event));
    device->ops->event_release(device, event);
    addition.launch.block[0] = 32;
    CHECK(!device->ops->launch(device, 0, &addition.launch, NULL, &status));
    CHECK_INT(status.code, STATUS_USAGE);
    CHECK(!device->ops->launch(device, 9, &addition.launch, NULL, &status));
    struct kernel_code code = {
        .kind = CODE_SOURCE, .name = "bad", .source = "void main() { x; }", .source_length = 18};
    CHECK(!device->ops->load(device, &code, &wrong, &status));
    CHECK_INT(status.code, STATUS_INPUT);
    CHECK(strstr(status.message, "'x'") != NULL);
    device->ops->close(device);
}

/* Every chain of multiply-adds that measures a roof compiles and runs. */
TEST(vulkan_runs_the_chains_of_arithmetic_roofs) {
    struct device *device = open_vulkan();
    struct status status = {0};
    struct device_memory memory;
    unsigned count;
    if (!device)
        return;
    const struct source_chain *chains = source_chains(&count);
    const struct roof_bench bench = {.device = device, .capabilities = &device->capabilities};
    REQUIRE(allocate_zeros(device, THREADS, &memory));
    for (unsigned i = 0; i < count; i++) {
        struct device_kernel *kernel = NULL;
        struct addition chain;
        if (chains[i].language != LANGUAGE_GLSL)
            continue;
        CHECK_OK(source_chain_load(&bench, &chains[i], THREADS, 8, &kernel, &status), status);
        REQUIRE(kernel);
        prepare(&chain, kernel, memory, 2, 1, 10);
        CHECK_OK(device->ops->launch(device, 0, &chain.launch, NULL, &status), status);
        CHECK_OK(device->ops->finish(device, &status), status);
    }
    device->ops->close(device);
}

/* ---- Cooperative matrices ----------------------------------------------------------------- */

static struct matmul_work half_product(int64_t m, int64_t n, int64_t k, bool by_columns) {
    struct matmul_work work = {
        .a_type = RIDGE_F16,
        .b_type = RIDGE_F16,
        .batch = 1,
        .m = m,
        .n = n,
        .k = k,
        .a_row = k,
        .a_column = 1,
        .b_row = by_columns ? 1 : n,
        .b_column = by_columns ? k : 1,
        .a_alignment = 16,
        .b_alignment = 16,
        .epilogue = {.rank = 3, .outer = 3},
        .shape = {.sizes = {1, m, n}, .strides = {{m * n, n, 1}}},
    };
    program_operand(&work.epilogue, RIDGE_F16, true);
    program_instruction(&work.epilogue, (struct program_instruction){.op = OP_ACCUMULATOR});
    program_instruction(&work.epilogue, (struct program_instruction){.op = OP_STORE, .a = 0});
    return work;
}

/* SPIR-V with the capability CooperativeMatrixKHR. */
static bool has_capability(const struct buffer *spirv, uint32_t capability) {
    const uint32_t *words = (const uint32_t *)(const void *)spirv->data;
    for (size_t at = 5; at + 1 < spirv->length / 4 && words[at] >> 16; at += words[at] >> 16)
        if (words[at] == (2u << 16 | 17) && words[at + 1] == capability)
            return true;
    return false;
}

static void compile_product(const struct vulkan_device *device, const struct matmul_work *work) {
    enum { COOPERATIVE_MATRIX = 6022 };
    struct kernel_request request;
    struct kernel_generated generated;
    struct status status = {0};
    struct buffer source = {0}, spirv = {0};
    unsigned buffers[2];
    REQUIRE(kernel_matmul(work, &device->base.capabilities, &request, buffers, &status));
    REQUIRE(kernel_generate(&request.spec, &device->base.capabilities, &generated, &status));
    CHECK(strstr(generated.code.source, "coopMatMulAdd") != NULL);
    vulkan_write_source(device, &generated.code, &source);
    if (vulkan_compiler_has_matrices()) {
        CHECK_OK(vulkan_compile(source.data, source.length, &spirv, &status), status);
        CHECK(has_capability(&spirv, COOPERATIVE_MATRIX));
    } else {
        test_skip("the compiler of GLSL has no GL_KHR_cooperative_matrix");
    }
    kernel_generated_finish(&generated);
    buffer_finish(&source);
    buffer_finish(&spirv);
}

/* Children of such a program leave no status behind. */
TEST(shaders_compile_in_a_program_that_ignores_its_children) {
    static const char good[] = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n";
    static const char bad[] = "#version 460\nvoid main() { x; }\n";
    struct buffer spirv = {0};
    struct status status = {0};
    if (!vulkan_compiler_check(&status)) {
        test_skip(status.message);
        return;
    }
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    CHECK_OK(vulkan_compile(good, sizeof good - 1, &spirv, &status), status);
    CHECK(spirv.length > 0);
    CHECK(!vulkan_compile(bad, sizeof bad - 1, &spirv, &status));
    CHECK(strstr(status.message, "'x' : undeclared identifier"));
    signal(SIGCHLD, before);
    buffer_finish(&spirv);
}

TEST(products_of_halves_use_cooperative_matrices) {
    struct vulkan_device device = {.base.capabilities = {.language = LANGUAGE_GLSL,
                                                         .compute_units = 16,
                                                         .subgroup = 32,
                                                         .block_max = 1024,
                                                         .shared_bytes = 32768,
                                                         .half = true,
                                                         .is_gpu = true,
                                                         .cooperative = true},
                                   .traits = {.f16 = true}};
    struct status status = {0};
    if (!vulkan_compiler_check(&status)) {
        test_skip(status.message);
        return;
    }
    const struct matmul_work works[] = {half_product(512, 512, 512, true),
                                        half_product(100, 70, 33, false)};
    for (unsigned i = 0; i < 2; i++) {
        device.base.capabilities.subgroup = i == 0 ? 32 : 64;
        compile_product(&device, &works[i]);
    }
}
