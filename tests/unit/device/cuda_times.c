/* The times of a CUDA device's work by CUPTI, against a fake one: late, reordered and missing
 * records, and when it is not available. */
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "fake_cuda.h"
#include "fake_cupti.h"

#include "base/clock.h"
#include "device/device.h"

static const struct device_ops *const cuda = &device_cuda;

enum { CUPTI_13_0 = 130001, PIECES = 300 };

struct bench {
    struct device *device;
    struct device_memory memory;
    struct status status;
    char data[64];
};

static bool open_bench(struct bench *bench, uint32_t cupti_version) {
    memset(bench, 0, sizeof *bench);
    fake_cuda_use();
    fake_cupti_start(cupti_version);
    CHECK_OK(cuda->open(0, &bench->device, &bench->status), bench->status);
    if (!bench->device)
        return false;
    CHECK_OK(cuda->allocate(bench->device, 64, &bench->memory, &bench->status), bench->status);
    return true;
}

static void close_bench(struct bench *bench) {
    cuda->close(bench->device);
    CHECK_INT(fake_cuda.live, 0);
    CHECK_INT(fake_cupti.starts, fake_cupti.ends);
    fake_cuda_remove();
}

static void copy(struct bench *bench, unsigned queue, struct device_stamp *stamp) {
    CHECK_OK(cuda->copy_in(bench->device, queue, bench->memory, 0, bench->data, 64, stamp,
                           &bench->status),
             bench->status);
}

static bool resolve(struct bench *bench, struct device_stamp *stamp, int64_t *start, int64_t *end) {
    return cuda->resolve(bench->device, stamp, start, end, &bench->status);
}

TEST(work_takes_as_long_as_cupti_says) {
    struct bench bench;
    struct device_stamp stamp = {0};
    int64_t start, end;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    int64_t before = clock_now();
    copy(&bench, 1, &stamp);
    int64_t after = clock_now();
    CHECK_OK(resolve(&bench, &stamp, &start, &end), bench.status);
    CHECK_INT(end - start, 1500);
    CHECK(start >= before && start <= after);
    CHECK(stamp.begin == 0 && stamp.end == 0);
    CHECK(cuda->clock_error(bench.device) >= 1000);
    close_bench(&bench);
}

TEST(work_begins_neither_before_its_launch_nor_before_the_end_of_what_precedes_it) {
    struct bench bench;
    struct device_stamp stamps[20] = {{0}};
    int64_t start, end, before[20], last = 0;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    fake_cupti.nanoseconds = 20000;
    for (unsigned i = 0; i < 20; i++) {
        fake_cupti.early = i < 10 ? 100000 : 0;
        before[i] = clock_now();
        copy(&bench, 2, &stamps[i]);
    }
    for (unsigned i = 0; i < 20; i++) {
        CHECK_OK(resolve(&bench, &stamps[i], &start, &end), bench.status);
        CHECK_INT(end - start, 20000);
        CHECK(start >= before[i] && start >= last);
        last = end;
    }
    CHECK(cuda->clock_error(bench.device) >= 90000);
    close_bench(&bench);
}

static void check_many(bool late, bool backwards) {
    struct bench bench;
    struct device_stamp stamps[PIECES] = {{0}};
    int64_t start, end, last = 0;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    fake_cupti.late = late;
    fake_cupti.backwards = backwards;
    for (unsigned i = 0; i < PIECES; i++)
        copy(&bench, i % 3, &stamps[i]);
    for (unsigned i = 0; i < PIECES; i++) {
        CHECK_OK(resolve(&bench, &stamps[i], &start, &end), bench.status);
        CHECK_INT(end - start, 1500);
        CHECK(start >= last);
        last = start;
    }
    CHECK(fake_cupti.flushes <= 4); /* one asks for all */
    close_bench(&bench);
}

TEST(records_that_come_with_the_first_flush_are_kept_for_the_others) {
    check_many(false, false);
}
TEST(records_may_come_only_when_the_device_was_waited_for) {
    check_many(true, false);
}
TEST(records_may_come_in_any_order) {
    check_many(true, true);
}

TEST(a_product_of_several_kernels_lasts_from_the_first_to_the_last) {
    struct bench bench;
    static float numbers[64];
    struct device_kernel *kernel = NULL;
    struct device_stamp stamp = {0};
    int64_t start, end;
    struct launch_buffer buffers[3];
    struct kernel_code code = {
        .kind = CODE_MATMUL,
        .name = "product",
        .matmul = {.m = 2,
                   .n = 2,
                   .k = 2,
                   .batch = 1,
                   .a_row = 2,
                   .a_column = 1,
                   .b_row = 2,
                   .b_column = 1,
                   .d_row = 2},
    };
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    for (unsigned i = 0; i < 3; i++)
        buffers[i] = (struct launch_buffer){{(uintptr_t)numbers, sizeof numbers}, 0};
    CHECK_OK(cuda->load(bench.device, &code, &kernel, &bench.status), bench.status);
    REQUIRE(kernel);
    struct launch launch = {.kernel = kernel, .buffer_count = 3, .buffers = buffers};
    fake_cupti.nanoseconds = 1000000; /* the second begins well before the first has ended */
    CHECK_OK(cuda->launch(bench.device, 0, &launch, &stamp, &bench.status), bench.status);
    CHECK_OK(resolve(&bench, &stamp, &start, &end), bench.status);
    CHECK(end - start > 1000000 && end - start < 100000000);
    CHECK_INT(fake_cupti.records, 2);
    close_bench(&bench);
}

TEST(times_that_cupti_lost_are_no_times) {
    struct bench bench;
    struct device_stamp stamps[3] = {{0}};
    int64_t start, end;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    copy(&bench, 0, &stamps[0]);
    fake_cupti.lose = 1;
    copy(&bench, 0, &stamps[1]);
    copy(&bench, 0, &stamps[2]);
    CHECK_OK(resolve(&bench, &stamps[0], &start, &end), bench.status);
    CHECK(!resolve(&bench, &stamps[1], &start, &end));
    CHECK(strstr(bench.status.message, "CUPTI lost the times of 1 of 1"));
    CHECK_OK(resolve(&bench, &stamps[2], &start, &end), bench.status);
    fake_cupti.no_times = true;
    copy(&bench, 0, &stamps[0]);
    CHECK(!resolve(&bench, &stamps[0], &start, &end));
    close_bench(&bench);
}

TEST(nothing_of_cupti_is_left_to_work_that_is_not_recorded) {
    struct bench bench;
    struct device_stamp stamp = {0};
    int64_t start, end;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    copy(&bench, 0, NULL);
    CHECK_INT(fake_cupti.starts, 0);
    fake_cupti.late = true;
    for (unsigned round = 1; round < 4; round++) {
        copy(&bench, 0, &stamp);
        CHECK_INT(fake_cupti.starts, round);
        copy(&bench, 0, NULL); /* the record of the one before has not come */
        CHECK_INT(fake_cupti.ends, round - 1);
        CHECK_OK(resolve(&bench, &stamp, &start, &end), bench.status);
        CHECK_INT(end - start, 1500); /* of the recorded copy alone */
        copy(&bench, 0, NULL);
        CHECK_INT(fake_cupti.ends, round);
        CHECK_INT(fake_cupti.finalized, round);
    }
    close_bench(&bench);
}

TEST(a_stamp_keeps_its_times_when_cupti_is_gone_and_back) {
    struct bench bench;
    struct device_stamp stamps[4] = {{0}};
    int64_t start, end, last = 0;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    for (unsigned i = 0; i < 4; i++) {
        copy(&bench, 0, &stamps[i]);
        copy(&bench, 0, NULL);
        CHECK_INT(fake_cupti.finalized, i + 1);
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK_OK(resolve(&bench, &stamps[i], &start, &end), bench.status);
        CHECK_INT(end - start, 1500);
        CHECK(start > last);
        last = start;
    }
    close_bench(&bench);
}

TEST(cupti_stays_in_the_process_while_another_gpu_may_be_in_a_call) {
    struct bench bench;
    struct device *other = NULL;
    struct device_stamp stamp = {0};
    int64_t start, end;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    CHECK_OK(cuda->open(1, &other, &bench.status), bench.status);
    REQUIRE(other);
    CHECK_OK(cuda->finish(bench.device, &bench.status), bench.status);
    copy(&bench, 0, &stamp);
    CHECK_OK(resolve(&bench, &stamp, &start, &end), bench.status);
    copy(&bench, 0, NULL);
    CHECK_INT(fake_cupti.ends, 1);
    CHECK_INT(fake_cupti.finalized, 0);
    cuda->close(other);
    close_bench(&bench);
}

/* Events tell the time then, and the trace says why. */
static void check_events(uint32_t version, bool taken, const char *expected) {
    struct bench bench;
    struct device_stamp stamp = {0};
    int64_t start, end;
    char how[256];
    REQUIRE(open_bench(&bench, version));
    fake_cupti.taken = taken;
    cuda->prepare_stamps(bench.device, how, sizeof how);
    CHECK_STRING(how, expected);
    int64_t before = clock_now();
    copy(&bench, 0, &stamp);
    int64_t after = clock_now();
    CHECK_OK(resolve(&bench, &stamp, &start, &end), bench.status);
    int64_t error = cuda->clock_error(bench.device) + 1000;
    CHECK(start >= before - error && end <= after + error);
    CHECK_INT(fake_cupti.starts, 0);
    close_bench(&bench);
}

TEST(events_tell_the_time_when_cupti_is_too_old) {
    check_events(17, false, "events: CUPTI is too old (version 17); CUDA 11.8 or later is needed");
}
TEST(events_tell_the_time_when_another_profiler_has_cupti) {
    check_events(CUPTI_13_0, true, "events: another profiler uses CUPTI in this process");
}

TEST(what_was_refused_is_asked_for_again_by_the_next_recording) {
    struct bench bench;
    char how[256];
    REQUIRE(open_bench(&bench, 28));
    fake_cupti.taken = true;
    cuda->prepare_stamps(bench.device, how, sizeof how);
    CHECK(strstr(how, "events: ") == how);
    fake_cupti.taken = false;
    cuda->prepare_stamps(bench.device, how, sizeof how);
    CHECK_STRING(how, "cupti 12.9");
    close_bench(&bench);
}

TEST(a_flush_that_fails_is_told) {
    struct bench bench;
    struct device_stamp stamp = {0};
    int64_t start, end;
    REQUIRE(open_bench(&bench, CUPTI_13_0));
    copy(&bench, 0, &stamp);
    fake_cuda.fail_at = fake_cuda.calls + 1;
    CHECK(!resolve(&bench, &stamp, &start, &end));
    CHECK(strstr(bench.status.message, "cuptiActivityFlushAll failed: as CUPTI explains it"));
    CHECK(stamp.begin == 0 && stamp.end == 0);
    close_bench(&bench);
}

TEST(tens_of_thousands_of_stamps_can_be_out) {
    struct bench bench;
    enum { MANY = 70000 };
    struct device_stamp *stamps = calloc(MANY, sizeof *stamps);
    int64_t start, end;
    unsigned wrong = 0;
    REQUIRE(stamps && open_bench(&bench, CUPTI_13_0));
    for (unsigned i = 0; i < MANY; i++)
        wrong += !cuda->copy_within(bench.device, 0, bench.memory, 0, bench.memory, 32, 8,
                                    &stamps[i], &bench.status);
    for (unsigned i = 0; i < MANY; i++)
        wrong += !resolve(&bench, &stamps[i], &start, &end) && i < 4000;
    CHECK_INT(wrong, 0);
    close_bench(&bench);
    free(stamps);
}
