/* The parts of every thread sum to its time, whatever was recorded. */
#include "analysis/cpu_account.h"

#include "../test.h"
#include "build.h"

struct accounted {
    struct trace *trace;
    struct model model;
    struct host host;
    struct cpu_account cpu;
};

static bool account_of(struct build *build, const struct selection *selection,
                       struct accounted *one) {
    struct status status = {0};
    one->trace = build_end(build);
    if (one->trace && model_build(&one->model, one->trace, &status) &&
        host_build(&one->host, &one->model, &status) &&
        cpu_account_find(&one->model, &one->host, selection, &one->cpu, &status))
        return true;
    test_failed(__FILE__, __LINE__, "%s", status.message);
    return false;
}

static void done(struct accounted *one) {
    cpu_account_finish(&one->cpu);
    host_finish(&one->host);
    model_finish(&one->model);
    trace_close(one->trace);
}

static int64_t sum_of(const struct cpu_times *times) {
    return times->running + times->ready + cpu_times_blocked(times) + times->unknown;
}

static void block(struct build *build, int thread, int64_t start, int64_t end, int on,
                  const char *call) {
    trace_write_state(build->writer, &(struct row_state){
                                         .start = start,
                                         .duration = end - start,
                                         .thread = build->thread[thread],
                                         .state = STATE_BLOCKED,
                                         .blocked_on = (uint8_t)on,
                                         .call = trace_writer_string(build->writer, text_of(call)),
                                     });
}

TEST(a_thread_runs_waits_for_a_processor_or_blocks) {
    struct build build;
    struct accounted one;
    build_begin(&build);
    build_state(&build, 0, STATE_RUNNING, 0, 100);
    block(&build, 0, 100, 160, BLOCKED_LOCK, "futex");
    build_state(&build, 0, STATE_READY, 160, 170);
    build_state(&build, 0, STATE_RUNNING, 170, 200);
    block(&build, 0, 210, 300, BLOCKED_DISK, "fsync"); /* 10 ns were not recorded */
    build_state(&build, 1, STATE_RUNNING, 50, 150);
    if (!account_of(&build, NULL, &one))
        return;
    REQUIRE(one.cpu.thread_count == 2);
    const struct cpu_times *times = &one.cpu.threads[0].times;
    CHECK_INT(times->wall, 300);
    CHECK_INT(times->running, 130);
    CHECK_INT(times->unsplit, 130); /* no usage was recorded */
    CHECK_INT(times->ready, 10);
    CHECK_INT(times->blocked[BLOCKED_LOCK], 60);
    CHECK_INT(times->blocked[BLOCKED_DISK], 90);
    CHECK_INT(times->unknown, 10);
    REQUIRE(one.cpu.wait_count == 2);
    CHECK(text_is(trace_text(one.trace, one.cpu.waits[0].call), "fsync"));
    CHECK_INT(one.cpu.waits[0].time, 90);
    CHECK_INT(one.cpu.waits[0].main, 90);
    CHECK_INT(one.cpu.threads[1].meanwhile, 50);
    REQUIRE(one.cpu.running_max == 2);
    CHECK_INT(one.cpu.running[2], 50);
    CHECK_INT(one.cpu.running[1], 130);
    CHECK_INT(one.cpu.running[0], 120);
    done(&one);
}

TEST(time_between_a_wakeup_and_running_moves_from_blocked_to_ready) {
    struct build build;
    struct accounted one;
    const int64_t ms = 1000000;
    build_begin(&build);
    build_state(&build, 0, STATE_RUNNING, 0, 100 * ms);
    block(&build, 0, 100 * ms, 160 * ms, BLOCKED_LOCK, "futex");
    build_state(&build, 0, STATE_READY, 160 * ms, 170 * ms);
    build_state(&build, 0, STATE_RUNNING, 170 * ms, 200 * ms);
    trace_write_usage(build.writer, &(struct row_usage){.time = 200 * ms,
                                                        .thread = build.thread[0],
                                                        .user = 60 * ms,
                                                        .kernel = 20 * ms,
                                                        .ready = 25 * ms});
    if (!account_of(&build, NULL, &one))
        return;
    REQUIRE(one.cpu.thread_count == 1);
    const struct cpu_times *times = &one.cpu.threads[0].times;
    CHECK_INT(times->ready, 25 * ms);
    CHECK_INT(times->woken, 15 * ms);
    CHECK_INT(times->blocked[BLOCKED_LOCK], 45 * ms);
    CHECK_INT(times->user + times->kernel, times->running);
    CHECK_INT(times->kernel, 130 * ms / 4);
    CHECK_INT(sum_of(times), times->wall);
    done(&one);
}

TEST(a_thread_that_blocks_in_a_call_of_a_driver_waits_for_the_device) {
    struct build build;
    struct accounted one;
    build_begin(&build);
    build_call(&build, 0, CALL_SYNC, 10, 90, "cuStreamSynchronize", 1);
    build_state(&build, 0, STATE_RUNNING, 0, 20);
    block(&build, 0, 20, 80, BLOCKED_POLL, "poll");
    build_state(&build, 0, STATE_RUNNING, 80, 100);
    block(&build, 0, 100, 120, BLOCKED_POLL, "poll");
    if (!account_of(&build, NULL, &one))
        return;
    REQUIRE(one.cpu.thread_count == 1 && one.cpu.wait_count == 2);
    CHECK_INT(one.cpu.threads[0].times.blocked[BLOCKED_DEVICE], 60);
    CHECK_INT(one.cpu.threads[0].times.blocked[BLOCKED_POLL], 20);
    CHECK(text_is(trace_text(one.trace, one.cpu.waits[0].call), "cuStreamSynchronize"));
    done(&one);
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Random states with gaps, overlaps and unknown values; random usage; a selection of three parts.
 */
TEST(the_parts_of_every_thread_sum_to_its_time) {
    uint32_t random = 1;
    for (int turn = 0; turn < 200; turn++) {
        struct build build;
        struct accounted one;
        struct selection selection = {0};
        struct status status;
        int64_t time[BUILD_THREADS] = {0};
        build_begin(&build);
        for (int i = 0; i < 40; i++) {
            int thread = (int)(next_random(&random) % BUILD_THREADS);
            int64_t start = time[thread] + (int64_t)(next_random(&random) % 40) - 10;
            int64_t end = start + next_random(&random) % 100;
            if (next_random(&random) % 2)
                block(&build, thread, start, end, (int)(next_random(&random) % BLOCKED_KINDS),
                      "call");
            else
                build_state(&build, thread, (int)(next_random(&random) % STATE_KINDS), start, end);
            time[thread] = end;
        }
        for (int i = 0; i < 5; i++)
            trace_write_usage(
                build.writer,
                &(struct row_usage){.time = next_random(&random) % 2000,
                                    .thread = build.thread[i % BUILD_THREADS],
                                    .user = next_random(&random) % 99999999,
                                    .kernel = next_random(&random) % 99999999,
                                    .ready = (int64_t)(next_random(&random) % 3000) - 1});
        for (int i = 0; i < 3; i++)
            selection_add(&selection, i * 500 + 20, i * 500 + 400, &status);
        if (!account_of(&build, turn % 2 ? &selection : NULL, &one))
            return;
        int64_t wall = 0, levels = 0, running = 0;
        for (size_t i = 0; i < one.cpu.thread_count; i++) {
            const struct cpu_times *times = &one.cpu.threads[i].times;
            CHECK_INT(sum_of(times), times->wall);
            CHECK_INT(times->user + times->kernel + times->unsplit, times->running);
            wall += times->wall;
        }
        CHECK_INT(one.cpu.times.wall, wall);
        CHECK_INT(sum_of(&one.cpu.times), wall);
        for (size_t i = 0; one.cpu.running && i <= one.cpu.running_max; i++) {
            levels += one.cpu.running[i];
            running += (int64_t)i * one.cpu.running[i];
        }
        CHECK_INT(running, one.cpu.times.running);
        if (one.cpu.thread_count)
            CHECK_INT(levels, one.cpu.wall);
        selection_finish(&selection);
        done(&one);
    }
}

static int64_t sum_buckets(const struct cpu_account *cpu) {
    int64_t sum = 0;
    for (size_t i = 0; i < CPU_BUCKETS; i++)
        sum += cpu->bucket[i];
    return sum;
}

TEST(running_time_is_spread_over_equal_parts_of_the_span) {
    struct build build;
    struct accounted one;
    build_begin(&build);
    build_state(&build, 0, STATE_RUNNING, 0, 1000 * CPU_BUCKETS);
    build_state(&build, 1, STATE_RUNNING, 2500, 4500);
    if (!account_of(&build, NULL, &one))
        return;
    for (int i = 0; i < CPU_BUCKETS; i++) {
        int64_t other = i == 2 || i == 4 ? 500 : i == 3 ? 1000 : 0;
        CHECK(one.cpu.bucket[i] >= 999 + other - (other > 0) &&
              one.cpu.bucket[i] <= 1001 + other + (other > 0));
    }
    CHECK_INT(sum_buckets(&one.cpu), 1000 * CPU_BUCKETS + 2000);
    done(&one);
}

/* Times of a damaged file: doubles are too coarse for the ends of the parts. */
TEST(the_parts_of_a_span_of_years_have_ends) {
    static const int64_t spans[][2] = {{19116875663641493, 55951831208611204},
                                       {1, (int64_t)1 << 56},
                                       {((int64_t)1 << 56) - 300, (int64_t)1 << 56},
                                       {7, 8}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        struct build build;
        struct accounted one;
        build_begin(&build);
        build_state(&build, 0, STATE_RUNNING, 0, 1);
        build_state(&build, 1, STATE_RUNNING, spans[i][0], spans[i][1]);
        if (!account_of(&build, NULL, &one))
            return;
        CHECK_INT(sum_buckets(&one.cpu), 1 + spans[i][1] - spans[i][0]);
        done(&one);
    }
}
