/* Allocation failure at every point of writing and reading a trace: a clean status, no crash, no
 * leak (the sanitizers see to the last two). */
#include "../test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "trace/reader.h"
#include "trace/writer.h"

TEST(a_product_that_overflows_is_out_of_memory) {
    struct status status = {0};
    CHECK(memory_allocate(SIZE_MAX / 2, 3, &status) == NULL);
    CHECK_INT(status.code, STATUS_MEMORY);
    int *array = NULL;
    size_t capacity = 0;
    CHECK(!GROW(array, &capacity, SIZE_MAX / 2, &status));
    CHECK(array == NULL && capacity == 0);
}

TEST(an_arena_keeps_objects_apart_and_aligned) {
    struct arena arena = {0};
    struct status status;
    unsigned char *objects[500];
    for (size_t i = 0; i < 500; i++) {
        size_t size = i * 37 % 3000 + (i == 250 ? 200000 : 1);
        objects[i] = arena_allocate(&arena, size, &status);
        REQUIRE(objects[i]);
        CHECK((uintptr_t)objects[i] % 16 == 0);
        memset(objects[i], (int)(i & 0xFF), size);
    }
    for (size_t i = 0; i < 500; i++)
        CHECK_INT(objects[i][0], i & 0xFF);
    arena_finish(&arena);
}

static bool write_trace(const char *path, struct status *status) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, status);
    bool ok = writer != NULL;
    if (ok) {
        uint32_t device = trace_write_device(writer, &(struct row_device){.index = 0});
        uint32_t queue = trace_write_queue(writer, &(struct row_queue){.device = device});
        uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7});
        uint32_t thread = trace_write_thread(writer, &(struct row_thread){.process = process});
        uint32_t stack = trace_write_stack(
            writer, &(struct row_stack){.function = trace_writer_string(writer, TEXT("main"))});
        for (int64_t i = 0; i < 100; i++) {
            trace_write_activity(writer, &(struct row_activity){.start = i, .queue = queue});
            trace_write_call(writer, &(struct row_call){.start = i, .thread = thread});
            trace_write_sample(writer, &(struct row_sample){.time = i, .stack = stack});
        }
        trace_writer_meta_integer(writer, "answer", 42);
        ok = trace_writer_finish(writer, status);
    }
    trace_writer_destroy(writer);
    close(fd);
    return ok;
}

static bool read_trace(const char *path, struct status *status) {
    struct trace *trace = NULL;
    if (!trace_open(path, &trace, status))
        return false;
    bool ok = trace_load(trace, TABLE_ACTIVITY, NULL, status) &&
              trace_load(trace, TABLE_SAMPLE, "time stack", status);
    if (ok)
        CHECK_INT(trace->activity.start[99], 99);
    trace_close(trace);
    return ok;
}

/* Fails the 1st, 2nd, ... allocation of `job` until it gets through. */
static void fail_each_allocation(bool (*job)(const char *, struct status *), const char *path) {
    unsigned nth = 0;
    bool ok = false;
    while (!ok && nth < 100000) {
        struct status status = {0};
        memory_fail_from(++nth);
        ok = job(path, &status);
        memory_fail_from(0);
        if (!ok && (status.code != STATUS_MEMORY || !strstr(status.message, "out of memory"))) {
            test_failed(__FILE__, __LINE__, "allocation %u: status %d '%s'", nth, status.code,
                        status.message);
            return;
        }
    }
    CHECK(ok);
    CHECK(nth > 10);
}

TEST(a_writer_survives_the_failure_of_any_allocation) {
    fail_each_allocation(write_trace, test_temporary(".ridge"));
}

TEST(a_reader_survives_the_failure_of_any_allocation) {
    const char *path = test_temporary(".ridge");
    struct status status = {0};
    REQUIRE(write_trace(path, &status));
    fail_each_allocation(read_trace, path);
}

TEST(aligned_memory_is_aligned_and_can_be_refused) {
    const size_t sizes[] = {0, 1, 100, 5 << 20};
    struct status status = {0};
    for (unsigned i = 0; i < 4; i++) {
        unsigned char *pointer = memory_allocate_aligned(sizes[i], 64, &status);
        REQUIRE(pointer);
        CHECK_INT((uintptr_t)pointer % 64, 0);
        memset(pointer, 1, sizes[i]);
        memory_free(pointer);
    }
    memory_fail_from(1);
    CHECK(!memory_allocate_aligned(100, 64, &status));
    memory_fail_from(0);
    CHECK_INT(status.code, STATUS_MEMORY);
    CHECK(!memory_allocate_aligned(SIZE_MAX, 64, &status));
}
