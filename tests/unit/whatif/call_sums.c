/* Sums along chains of calls split host time as a walk does, in few steps, and device-wide waits
 * stay few with many queues. */
#include "whatif/call_sums.h"

#include <stdio.h>

#include "../test.h"
#include "scene.h"

enum { DEVICES = 40, CALLS = 3000 };

static uint32_t state = 3;
static uint32_t random_below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

/* One thread launches for all devices. */
static struct trace *many_devices(void) {
    struct build build;
    uint32_t queues[DEVICES];
    build_begin(&build);
    for (int i = 0; i < DEVICES; i++) {
        char label[16];
        snprintf(label, sizeof label, "%d", i + 1);
        uint32_t device = trace_write_device(
            build.writer,
            &(struct row_device){.label = trace_writer_string(build.writer, text_of(label))});
        queues[i] = trace_write_queue(build.writer, &(struct row_queue){.device = device});
    }
    for (int64_t i = 1; i <= CALLS; i++) {
        unsigned class = random_below(3) ? CALL_LAUNCH : random_below(CALL_CLASSES);
        int64_t start = 20 * i + random_below(6);
        build_call(&build, 0, (int)class, start, start + 1 + random_below(12), "call", (uint64_t)i);
        build.queue[0] = queues[i % DEVICES];
        build_activity(&build, 0, ACTIVITY_KERNEL, start + 5, start + 9, "kernel", (uint64_t)i);
    }
    return build_end(&build);
}

/* The definition: from the start of the call back to `start`. */
static void walk(const struct run *run, uint32_t call, int64_t start, int64_t *cause) {
    int64_t end = run->call_start[call];
    while (end > start) {
        uint32_t before = run_call_before(run->replay, call);
        int64_t ended = before == NO_ROW ? start : MAX(run->call_end[before], start);
        cause[CAUSE_HOST] += MAX(end - ended, 0);
        end = MIN(end, ended);
        if (before == NO_ROW)
            return;
        int64_t began = MAX(run->call_start[before], start);
        cause[call_cause(run->replay, before)] += MAX(end - began, 0);
        end = MIN(end, began);
        call = before;
    }
}

/* Steps of call_sums_skip(). */
static unsigned steps(const struct call_sums *sums, uint32_t call, uint32_t until) {
    unsigned count = 0;
    for (; call != until && count < CALLS; count++)
        call = sums->depth[sums->jump[call]] >= sums->depth[until] && sums->jump[call] != call
                   ? sums->jump[call]
                   : run_call_before(sums->run->replay, call);
    return count;
}

TEST(sums_along_calls_split_host_time_as_a_walk_does) {
    struct scene scene;
    struct status status = {0};
    struct run run;
    struct call_sums sums;
    REQUIRE(scene_open(&scene, many_devices()));
    run_begin(&run, scene.replay);
    CHECK_OK(replay_evaluate(&run, &status) && call_sums_build(&sums, &run, &status), status);
    REQUIRE(sums.run);
    for (unsigned i = 0; i < 500; i++) {
        uint32_t call = random_below(CALLS);
        int64_t start = run.call_start[call] - random_below(30 * CALLS);
        int64_t walked[CAUSE_COUNT] = {0}, summed[CAUSE_COUNT] = {0};
        walk(&run, call, start, walked);
        uint32_t at = call_sums_skip(&sums, call, start, summed);
        CHECK(at == call || run.call_start[at] > start);
        CHECK(steps(&sums, call, at) < 40);
        walk(&run, at, start, summed);
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            CHECK_INT(summed[cause], walked[cause]);
    }
    call_sums_finish(&sums);
    run_finish(&run);
    scene_close(&scene);
}

/* Launches into `queues` queues, each followed by a wait for the whole device. */
static size_t awaits_with(unsigned queues) {
    struct build build;
    struct scene scene;
    build_begin(&build);
    uint32_t first = build.queue[0], process = 1;
    for (unsigned i = 0; i < queues; i++) {
        int64_t start = 100 * (int64_t)i;
        build.queue[0] = trace_write_queue(
            build.writer,
            &(struct row_queue){.device = build.device, .process = process, .stream = 10 + i});
        build_call(&build, 0, CALL_LAUNCH, start, start + 5, "launch", 2 * i + 1);
        build_activity(&build, 0, ACTIVITY_KERNEL, start + 10, start + 20, "kernel", 2 * i + 1);
        build_call(&build, 0, CALL_SYNC, start + 8, start + 25, "sync", 2 * i + 2);
        trace_write_wait(build.writer, &(struct row_wait){.start = start + 8,
                                                          .duration = 17,
                                                          .kind = WAIT_CONTEXT,
                                                          .queue = first,
                                                          .correlation = 2 * i + 2});
    }
    if (!scene_open(&scene, build_end(&build)))
        return 0;
    size_t count = scene.replay->awaits.count;
    scene_check_exact(&scene, "waits for the device");
    scene_close(&scene);
    return count;
}

TEST(waits_for_a_device_of_many_queues_grow_with_the_waits) {
    CHECK_INT(awaits_with(20), 20 * 21 / 2); /* each queue so far */
    size_t some = awaits_with(1000), more = awaits_with(4000);
    CHECK(some > 0);
    CHECK(more < 6 * some); /* 16 times as many with every queue */
}
