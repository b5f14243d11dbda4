/* The CPU device: teams of threads, memory, copies, graphs, and all that can be refused. */
#include "../test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/device.h"

/* Opens a device with this many threads, independent of the machine. */
static struct device *open_threads(const char *threads, struct status *status) {
    struct device *device = NULL;
    const char *before = getenv("RIDGE_THREADS");
    char kept[32];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    setenv("RIDGE_THREADS", threads, 1);
    if (!device_cpu.open(0, &device, status))
        device = NULL;
    if (before)
        setenv("RIDGE_THREADS", kept, 1);
    else
        unsetenv("RIDGE_THREADS");
    return device;
}

static struct device_kernel *load(struct device *device, native_function *function,
                                  size_t scratch) {
    struct device_kernel *kernel = NULL;
    struct status status = {0};
    struct kernel_code code = {
        .kind = CODE_NATIVE, .name = "test", .function = function, .scratch_bytes = scratch};
    CHECK_OK(device_cpu.load(device, &code, &kernel, &status), status);
    return kernel;
}

static void count_units(const struct native_call *call) {
    _Atomic unsigned char *counts = call->buffers[0];
    size_t begin, end;
    while (native_take(call, (size_t)call->scalars[0], &begin, &end))
        for (size_t i = begin; i < end; i++)
            atomic_fetch_add(&counts[i], 1);
}

TEST(each_unit_of_a_launch_is_taken_once) {
    static unsigned char counts[5000];
    const char *const threads[] = {"1", "2", "3", "8"};
    const unsigned units[] = {0, 1, 2, 7, 4999};
    const int64_t chunks[] = {0, 1, 3, 100000};
    for (size_t t = 0; t < 4; t++) {
        struct status status = {0};
        struct device *device = open_threads(threads[t], &status);
        REQUIRE(device);
        struct device_kernel *kernel = load(device, count_units, 0);
        for (size_t u = 0; u < 5; u++)
            for (size_t c = 0; c < 4; c++) {
                struct launch_buffer buffer = {
                    .memory = {.handle = (uint64_t)(uintptr_t)counts, .bytes = sizeof counts}};
                struct launch launch = {.kernel = kernel,
                                        .grid = {units[u], 1, 1},
                                        .buffer_count = 1,
                                        .buffers = &buffer,
                                        .scalar_count = 1,
                                        .scalars = &chunks[c]};
                memset(counts, 0, sizeof counts);
                CHECK_OK(device->ops->launch(device, 0, &launch, NULL, &status), status);
                size_t wrong = 0;
                for (size_t i = 0; i < sizeof counts; i++)
                    wrong += counts[i] != (i < units[u]);
                CHECK_INT(wrong, 0);
            }
        device_close(device);
    }
}

enum { PHASES = 50, PHASE_UNITS = 33 };

/* Each phase adds to what the phase before it left, so an early thread would count too little. */
static void add_in_phases(const struct native_call *call) {
    _Atomic unsigned long *sums = call->buffers[0];
    for (size_t phase = 0; phase < PHASES; phase++) {
        size_t begin, end;
        while (native_take(call, 2, &begin, &end))
            for (size_t i = begin; i < end; i++)
                atomic_fetch_add(&sums[phase], 1 + (phase > 0 ? atomic_load(&sums[phase - 1]) : 0));
        native_barrier(call);
    }
}

TEST(a_barrier_ends_a_phase_and_units_can_be_taken_anew) {
    const char *const threads[] = {"1", "2", "5"};
    for (size_t t = 0; t < 3; t++) {
        struct status status = {0};
        struct device *device = open_threads(threads[t], &status);
        REQUIRE(device);
        unsigned long sums[PHASES] = {0};
        struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)sums}};
        struct launch launch = {.kernel = load(device, add_in_phases, 0),
                                .grid = {PHASE_UNITS, 1, 1},
                                .buffer_count = 1,
                                .buffers = &buffer};
        for (int repeat = 0; repeat < 20; repeat++) {
            memset(sums, 0, sizeof sums);
            CHECK_OK(device->ops->launch(device, 0, &launch, NULL, &status), status);
            unsigned long expected = 0;
            size_t wrong = 0;
            for (size_t i = 0; i < PHASES; i++) {
                expected = PHASE_UNITS * (1 + expected);
                wrong += sums[i] != expected;
            }
            CHECK_INT(wrong, 0);
        }
        device_close(device);
    }
}

struct seen {
    _Atomic unsigned calls;
    pthread_t thread;
    unsigned threads;
};

static void note_thread(const struct native_call *call) {
    struct seen *seen = call->buffers[0];
    atomic_fetch_add(&seen->calls, 1);
    if (call->thread == 0) {
        seen->thread = pthread_self();
        seen->threads = call->threads;
    }
}

TEST(a_launch_of_few_units_wakes_no_more_threads_than_units) {
    struct status status = {0};
    struct device *device = open_threads("4", &status);
    REQUIRE(device);
    CHECK_INT(device->capabilities.compute_units, 4);
    struct device_kernel *kernel = load(device, note_thread, 0);
    for (unsigned units = 1; units <= 9; units++) {
        struct seen seen = {0};
        struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)&seen}};
        struct launch launch = {
            .kernel = kernel, .grid = {units, 1, 1}, .buffer_count = 1, .buffers = &buffer};
        CHECK_OK(device->ops->launch(device, 0, &launch, NULL, &status), status);
        CHECK(seen.calls >= 1 && seen.calls <= (units < 4 ? units : 4));
        CHECK_INT(seen.threads, units < 4 ? units : 4);
        CHECK(pthread_equal(seen.thread, pthread_self()));
    }
    device_close(device);
}

static void meet(const struct native_call *call) {
    native_barrier(call);
    note_thread(call);
    native_barrier(call);
}

TEST(all_threads_of_a_launch_meet_at_a_barrier) {
    struct status status = {0};
    struct device *device = open_threads("3", &status);
    REQUIRE(device);
    struct device_kernel *kernel = load(device, meet, 0);
    for (unsigned repeat = 0; repeat < 50; repeat++) {
        struct seen seen = {0};
        struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)&seen}};
        struct launch launch = {
            .kernel = kernel, .grid = {9, 1, 1}, .buffer_count = 1, .buffers = &buffer};
        CHECK_OK(device->ops->launch(device, 0, &launch, NULL, &status), status);
        CHECK_INT(seen.calls, 3);
    }
    device_close(device);
}

enum { SCRATCH = 10000 };

/* Each thread fills its scratch with its number and, when all have, finds nothing else in it. */
static void use_scratch(const struct native_call *call) {
    unsigned char *scratch = call->scratch, *shared = call->shared;
    _Atomic unsigned *wrong = call->buffers[0];
    memset(scratch, (int)call->thread + 1, SCRATCH);
    shared[call->thread] = (unsigned char)(call->thread + 1);
    native_barrier(call);
    for (size_t i = 0; i < SCRATCH; i++)
        if (scratch[i] != call->thread + 1)
            atomic_fetch_add(wrong, 1);
    for (unsigned i = 0; i < call->threads; i++)
        if (shared[i] != i + 1)
            atomic_fetch_add(wrong, 1);
    if ((uintptr_t)scratch % 64 || (uintptr_t)shared % 64)
        atomic_fetch_add(wrong, 1);
}

TEST(scratch_is_a_thread_s_own_and_shared_memory_is_the_team_s) {
    struct status status = {0};
    struct device *device = open_threads("3", &status);
    REQUIRE(device);
    unsigned wrong = 0;
    load(device, use_scratch, 100); /* so that the next one has to grow it */
    struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)&wrong}};
    struct launch launch = {.kernel = load(device, use_scratch, SCRATCH),
                            .grid = {3, 1, 1},
                            .shared_bytes = 3,
                            .buffer_count = 1,
                            .buffers = &buffer};
    for (int i = 0; i < 20; i++) {
        launch.shared_bytes *= 2;
        CHECK_OK(device->ops->launch(device, 0, &launch, NULL, &status), status);
    }
    CHECK_INT(wrong, 0);
    device_close(device);
}

static void add_context(const struct native_call *call) {
    const int64_t *amount = call->context;
    int64_t *sum = call->buffers[0];
    *sum = *sum * 10 + *amount + call->scalars[0];
}

TEST(a_kernel_keeps_its_context_and_a_graph_its_arguments) {
    struct status status = {0};
    struct device *device = open_threads("2", &status);
    REQUIRE(device);
    int64_t context = 1, sum = 0, scalars[2] = {0, 1};
    struct kernel_code code = {.kind = CODE_NATIVE,
                               .name = "add",
                               .function = add_context,
                               .context = &context,
                               .context_size = sizeof context};
    struct device_kernel *kernel;
    CHECK_OK(device->ops->load(device, &code, &kernel, &status), status);
    CHECK_STRING(kernel->name, "add");
    context = 7;
    struct launch_buffer buffers[2] = {
        {.memory = {.handle = (uint64_t)(uintptr_t)&sum}},
        {.memory = {.handle = (uint64_t)(uintptr_t)&sum - 8}, .offset = 8},
    };
    struct launch launches[2];
    for (unsigned i = 0; i < 2; i++)
        launches[i] = (struct launch){.kernel = kernel,
                                      .grid = {1, 1, 1},
                                      .buffer_count = 1,
                                      .buffers = &buffers[i],
                                      .scalar_count = 1,
                                      .scalars = &scalars[i]};
    void *graph, *empty;
    CHECK_OK(device->ops->graph_create(device, launches, 2, &graph, &status), status);
    CHECK_OK(device->ops->graph_create(device, NULL, 0, &empty, &status), status);
    memset(launches, 0, sizeof launches);
    memset(buffers, 0, sizeof buffers);
    memset(scalars, 0, sizeof scalars);
    CHECK_OK(device->ops->graph_replay(device, 0, graph, &status), status);
    CHECK_OK(device->ops->graph_replay(device, 1, graph, &status), status);
    CHECK_OK(device->ops->graph_replay(device, 0, empty, &status), status);
    CHECK_INT(sum, 1212);
    device->ops->graph_destroy(device, graph);
    device->ops->unload(device, kernel);
    device_close(device); /* the empty graph goes with it */
}

TEST(memory_is_aligned_and_copies_arrive) {
    struct status status = {0};
    struct device *device = open_threads("2", &status);
    REQUIRE(device);
    const size_t sizes[] = {0, 1, 63, 4097, (5 << 20) + 3};
    for (size_t s = 0; s < 5; s++) {
        size_t bytes = sizes[s];
        struct device_memory a, b;
        CHECK_OK(device->ops->allocate(device, bytes, &a, &status), status);
        CHECK_OK(device->ops->allocate(device, bytes + 100, &b, &status), status);
        CHECK_INT(a.handle % 64, 0);
        CHECK_INT(b.handle % 64, 0);
        CHECK_INT(a.bytes, bytes);
        unsigned char *in = malloc(bytes + 1), *out = malloc(bytes + 1);
        REQUIRE(in && out);
        for (size_t i = 0; i < bytes; i++)
            in[i] = (unsigned char)(i * 31 + i / 255);
        memset(out, 0, bytes + 1);
        CHECK_OK(device->ops->copy_in(device, 0, a, 0, in, bytes, NULL, &status), status);
        CHECK_OK(device->ops->copy_within(device, 1, b, 100, a, 0, bytes, NULL, &status), status);
        CHECK_OK(device->ops->copy_out(device, 0, out, b, 100, bytes, NULL, &status), status);
        CHECK(memcmp(in, out, bytes) == 0);
        free(in);
        free(out);
        device->ops->release(device, a);
    }
    device_close(device); /* the second ones go with it */
}

TEST(a_copy_onto_itself_moves_as_if_all_were_read_first) {
    struct status status = {0};
    struct device *device = open_threads("2", &status);
    REQUIRE(device);
    size_t bytes = 6 << 20;
    struct device_memory memory;
    CHECK_OK(device->ops->allocate(device, bytes, &memory, &status), status);
    unsigned char *data = (unsigned char *)(uintptr_t)memory.handle;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i % 251);
    CHECK_OK(device->ops->copy_within(device, 0, memory, 7, memory, 0, bytes - 7, NULL, &status),
             status);
    size_t wrong = 0;
    for (size_t i = 7; i < bytes; i++)
        wrong += data[i] != (i - 7) % 251;
    CHECK_INT(wrong, 0);
    device_close(device);
}

TEST(what_the_cpu_cannot_do_is_refused_with_a_reason) {
    struct status status = {0};
    struct device *device = open_threads("2", &status);
    REQUIRE(device);
    struct device_memory memory;
    char byte = 0;
    CHECK_OK(device->ops->allocate(device, 100, &memory, &status), status);
    CHECK(!device->ops->copy_in(device, 0, memory, 90, &byte, 11, NULL, &status));
    CHECK_INT(status.code, STATUS_USAGE);
    CHECK_STRING(status.message,
                 "a copy of 11 bytes at offset 90 does not fit into 100 bytes of memory");
    CHECK(!device->ops->copy_out(device, 0, &byte, memory, SIZE_MAX, 2, NULL, &status));
    CHECK(!device->ops->copy_within(device, 0, memory, 0, memory, 1, 100, NULL, &status));

    const size_t too_large[] = {(size_t)1 << 60, SIZE_MAX, SIZE_MAX - 63, (size_t)PTRDIFF_MAX};
    for (size_t i = 0; i < 4; i++) {
        status = (struct status){0};
        CHECK(!device->ops->allocate(device, too_large[i], &memory, &status));
        CHECK_INT(status.code, STATUS_MEMORY);
        CHECK(strstr(status.message, "out of memory"));
    }

    struct device_kernel *kernel;
    struct kernel_code code = {.kind = CODE_SOURCE, .name = "k", .source = "", .source_length = 0};
    CHECK(!device->ops->load(device, &code, &kernel, &status));
    CHECK_INT(status.code, STATUS_UNSUPPORTED);
    struct launch launch = {.kernel = load(device, note_thread, 0),
                            .grid = {1, 1, 1},
                            .buffer_count = LAUNCH_BUFFERS_MAX + 1};
    CHECK(!device->ops->launch(device, 0, &launch, NULL, &status));
    CHECK_INT(status.code, STATUS_USAGE);
    device_close(device);
}

TEST(a_number_of_threads_that_is_none_is_refused) {
    const char *const wrong[] = {"0", "-1", "x", "2x", "99999999999999999999", "1025"};
    for (size_t i = 0; i < 6; i++) {
        struct status status = {0};
        struct device *device = open_threads(wrong[i], &status);
        CHECK(!device);
        CHECK_INT(status.code, STATUS_USAGE);
        CHECK(strstr(status.message, "RIDGE_THREADS") && strstr(status.message, wrong[i]));
        device_close(device);
    }
}

TEST(stamps_are_times_of_the_host_in_order) {
    struct status status = {0};
    struct device *device = open_threads("2", &status);
    REQUIRE(device);
    struct seen seen = {0};
    struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)&seen}};
    struct launch launch = {.kernel = load(device, note_thread, 0),
                            .grid = {2, 1, 1},
                            .buffer_count = 1,
                            .buffers = &buffer};
    int64_t last = 0;
    for (int i = 0; i < 10; i++) {
        struct device_stamp stamp = {0};
        int64_t start, end;
        CHECK_OK(device->ops->launch(device, 0, &launch, &stamp, &status), status);
        CHECK_OK(device->ops->resolve(device, &stamp, &start, &end, &status), status);
        CHECK(start >= last && end >= start && start > 0);
        CHECK_INT(stamp.begin, 0);
        last = end;
    }
    device_close(device);
}

TEST(the_cpu_describes_itself) {
    struct status status = {0};
    struct device_capabilities capabilities;
    CHECK_OK(device_cpu.probe(0, &capabilities, &status), status);
    CHECK(*capabilities.description && *capabilities.driver);
    CHECK(capabilities.language == LANGUAGE_NATIVE && capabilities.host_memory);
    CHECK(capabilities.compute_units >= 1 && capabilities.queues == 2);
    CHECK_INT(capabilities.alignment, 64);
    CHECK(capabilities.memory_bytes > 0);
    CHECK(!device_cpu.probe(1, &capabilities, &status));
    CHECK_INT(status.code, STATUS_USAGE);
}

/* A forked process has the caller's thread alone. */
TEST(a_forked_process_can_still_launch) {
    struct status status = {0};
    struct device *device = open_threads("3", &status);
    REQUIRE(device);
    struct seen seen = {0};
    struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)&seen}};
    struct launch launch = {.kernel = load(device, note_thread, 0),
                            .grid = {3, 1, 1},
                            .buffer_count = 1,
                            .buffers = &buffer};
    pid_t child = fork();
    if (child == 0) {
        bool ok = device->ops->launch(device, 0, &launch, NULL, &status) && seen.calls == 1;
        device_close(device);
        _exit(ok ? 0 : 1);
    }
    int result = -1;
    CHECK(child > 0 && waitpid(child, &result, 0) == child);
    CHECK_INT(result, 0);
    CHECK_OK(device->ops->launch(device, 0, &launch, NULL, &status), status);
    CHECK(seen.calls >= 1 && seen.calls <= 3); /* of threads that woke in time */
    device_close(device);
}

static bool use_everything(struct status *status) {
    struct device *device = open_threads("3", status);
    if (!device)
        return false;
    struct device_memory memory;
    struct device_kernel *kernel;
    int64_t context = 1;
    void *graph;
    unsigned wrong = 0;
    struct kernel_code code = {.kind = CODE_NATIVE,
                               .name = "k",
                               .function = use_scratch,
                               .context = &context,
                               .context_size = sizeof context,
                               .scratch_bytes = SCRATCH};
    struct launch_buffer buffer = {.memory = {.handle = (uint64_t)(uintptr_t)&wrong}};
    struct launch launch = {
        .grid = {3, 1, 1}, .shared_bytes = 64, .buffer_count = 1, .buffers = &buffer};
    bool ok = device->ops->allocate(device, 1000, &memory, status) &&
              device->ops->load(device, &code, &kernel, status);
    launch.kernel = ok ? kernel : NULL;
    ok = ok && device->ops->launch(device, 0, &launch, NULL, status) &&
         device->ops->graph_create(device, &launch, 1, &graph, status) &&
         device->ops->graph_replay(device, 0, graph, status);
    CHECK_INT(wrong, 0);
    device_close(device);
    return ok;
}

TEST(a_cpu_device_survives_the_failure_of_any_allocation) {
    bool ok = false;
    unsigned nth = 0;
    while (!ok && nth < 100) {
        struct status status = {0};
        memory_fail_from(++nth);
        ok = use_everything(&status);
        memory_fail_from(0);
        if (!ok)
            CHECK_INT(status.code, STATUS_MEMORY);
    }
    CHECK(ok);
    CHECK(nth > 6);
}
