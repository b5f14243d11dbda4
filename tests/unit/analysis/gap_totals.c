/* Sums of host time give the gaps that a walk gives, in steps that do not grow with the calls. */
#include "../test.h"
#include "build.h"

#include <stdio.h>
#include <string.h>

#include "analysis/gaps.h"
#include "base/memory.h"

enum { DEVICES = 40, ROUNDS = 60 };

static uint32_t state = 7;
static uint32_t random_below(uint32_t limit) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static void write_launch(struct build *build, const uint32_t *queues, int64_t time,
                         uint64_t correlation) {
    static const char *const functions[] = {"decode", "read", "pack"};
    int thread = random_below(8) == 0;
    unsigned class = random_below(3) ? CALL_LAUNCH : random_below(CALL_CLASSES);
    build_call(build, thread, (int)class, time, time + 6, class == CALL_SYNC ? "sync" : "call",
               correlation);
    if (random_below(4) == 0) /* nested */
        build_call(build, thread, CALL_LAUNCH, time + 2, time + 4, "cuLaunchKernel", correlation);
    if (random_below(3) == 0)
        build_range(build, thread, RANGE_ANNOTATION, time - 3, time + (int64_t)random_below(90),
                    functions[random_below(3)]);
    if (random_below(3) == 0)
        build_sample(build, thread, time + 6 + (int64_t)random_below(4),
                     functions[random_below(3)]);
    if (random_below(2))
        build_state(build, thread, (int)random_below(STATE_KINDS), time,
                    time + 1 + (int64_t)random_below(10));
    build->queue[0] = queues[correlation % DEVICES];
    build_activity(build, 0, ACTIVITY_KERNEL, time + 8, time + 10, "kernel", correlation);
}

/* Threads that launch for many devices, one after the other. */
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
    for (int64_t i = 1; i < DEVICES * ROUNDS; i++)
        write_launch(&build, queues, 100 + 20 * i + random_below(8), (uint64_t)i);
    return build_end(&build);
}

static void check_names(const struct gap_names *a, const struct gap_names *b) {
    REQUIRE(a->count == b->count);
    for (size_t i = 0; i < a->count; i++) {
        CHECK_INT(a->list[i].name, b->list[i].name);
        CHECK_INT(a->list[i].time, b->list[i].time);
        CHECK_INT(a->list[i].gaps, b->list[i].gaps);
    }
}

static void check_same(const struct gaps *a, const struct gaps *b) {
    CHECK_INT(a->count, b->count);
    CHECK_INT(a->total, b->total);
    CHECK(memcmp(a->cause_time, b->cause_time, sizeof a->cause_time) == 0);
    CHECK(memcmp(a->cause_gaps, b->cause_gaps, sizeof a->cause_gaps) == 0);
    CHECK(memcmp(a->top, b->top, a->top_count * sizeof *a->top) == 0);
    check_names(&a->host_names, &b->host_names);
    check_names(&a->sync_names, &b->sync_names);
    for (unsigned i = 0; i < STATES; i++) {
        CHECK_INT(a->host_state[i].time, b->host_state[i].time);
        check_names(&a->host_state[i].names, &b->host_state[i].names);
    }
}

static void check_device(const struct model *model, struct host *host,
                         const struct gap_totals *totals, uint32_t device) {
    struct selection all = {0}, parts = {0};
    struct status status = {0};
    const int64_t end = 100 + 20 * DEVICES * ROUNDS;
    bool ok = selection_add(&all, 0, end, &status) &&
              selection_add(&parts, 777, end / 3, &status) &&
              selection_add(&parts, end / 3 + 11, end / 2, &status) &&
              selection_add(&parts, end / 2 + 1234, end - 99, &status);
    for (unsigned i = 0; i < 2 && ok; i++) {
        const struct selection *selection = i ? &parts : &all;
        struct gaps walked, summed;
        host->totals = NULL;
        ok = gaps_find(model, host, device, selection, &walked, &status);
        host->totals = totals;
        ok = ok && gaps_find(model, host, device, selection, &summed, &status);
        if (ok)
            check_same(&walked, &summed);
        gaps_finish(&walked);
        gaps_finish(&summed);
    }
    CHECK_OK(ok, status);
    selection_finish(&all);
    selection_finish(&parts);
}

/* Every block is charged in full. */
static void check_blocks(const struct thread_totals *thread) {
    for (size_t i = 0; i < thread->blocks; i++) {
        int64_t causes = 0;
        for (size_t c = thread->node_first[i]; c < thread->node_first[i + 1]; c++)
            causes += thread->charges.list[c].kind < CAUSE_COUNT ? thread->charges.list[c].time : 0;
        CHECK_INT(causes, thread->boundaries[i + 1] - thread->boundaries[i]);
    }
}

TEST(sums_of_host_time_give_the_gaps_that_a_walk_gives) {
    struct trace *trace = many_devices();
    struct status status = {0};
    struct model model;
    struct host host;
    struct gap_totals totals;
    REQUIRE(trace);
    CHECK_OK(model_build(&model, trace, &status) && host_build(&host, &model, &status) &&
                 gaps_sum_threads(&model, &host, &totals, &status),
             status);
    REQUIRE(totals.threads && totals.threads[1].blocks > 8);
    for (size_t i = 1; i < totals.count; i++)
        check_blocks(&totals.threads[i]);
    for (uint32_t device = 1; device < trace->device.count; device++)
        check_device(&model, &host, &totals, device);
    gap_totals_finish(&totals);
    host_finish(&host);
    model_finish(&model);
    trace_close(trace);
}

/* How many nodes cover the blocks [from, until). */
static size_t nodes(const struct thread_totals *thread, size_t from, size_t until, int64_t *time) {
    size_t visited = 0;
    *time = 0;
    for (; from < until; visited++) {
        const struct host_charge *charges;
        size_t count;
        from = thread_totals_node(thread, from, until, &charges, &count);
        for (size_t i = 0; i < count; i++) {
            *time += charges[i].time;
            CHECK(
                i == 0 || charges[i - 1].kind < charges[i].kind || /* each name once */
                (charges[i - 1].kind == charges[i].kind && charges[i - 1].name < charges[i].name));
        }
    }
    CHECK_INT(from, until);
    return visited;
}

TEST(a_gap_of_many_blocks_is_summed_in_few_steps) {
    enum { BLOCKS = 5000, BITS = 13 };
    struct gap_totals totals = {.threads = memory_allocate(1, sizeof *totals.threads, NULL),
                                .count = 1};
    struct thread_totals *thread = totals.threads;
    struct host_charges charges = {0};
    struct thread_cursor cursor = {0};
    struct status status = {0};
    int64_t time;
    REQUIRE(thread);
    for (uint32_t i = 0; i <= BLOCKS; i++) {
        CHECK_OK(thread_totals_block(thread, 10 * (int64_t)i, &cursor, &charges, &status), status);
        CHECK_OK(host_charges_add(&charges, i % 3, i % 5, 4, &status) &&
                     host_charges_add(&charges, 1, 9, 6, &status),
                 status);
    }
    CHECK_OK(thread_totals_sum(thread, &status), status);
    CHECK_INT(thread->blocks, BLOCKS);
    for (unsigned i = 0; i < 300; i++) {
        size_t from = random_below(BLOCKS),
               until = from + 1 + random_below((uint32_t)(BLOCKS - from));
        CHECK(nodes(thread, from, until, &time) <= 2 * BITS);
        CHECK_INT(time, 10 * (int64_t)(until - from));
        CHECK_INT(thread_totals_find(thread, 10 * (int64_t)from + 3), from);
    }
    CHECK(thread->charges.count < 40 * BLOCKS);
    CHECK_INT(thread_totals_find(thread, -1), BLOCKS);
    memory_free(charges.list);
    gap_totals_finish(&totals);
}

TEST(names_that_never_repeat_take_memory_in_proportion) {
    enum { BLOCKS = 4096 };
    struct gap_totals totals = {.threads = memory_allocate(1, sizeof *totals.threads, NULL),
                                .count = 1};
    struct host_charges charges = {0};
    struct thread_cursor cursor = {0};
    struct status status = {0};
    int64_t time;
    REQUIRE(totals.threads);
    for (uint32_t i = 0; i <= BLOCKS; i++) {
        CHECK_OK(thread_totals_block(totals.threads, i, &cursor, &charges, &status), status);
        CHECK_OK(host_charges_add(&charges, 1, i, 1, &status), status);
    }
    CHECK_OK(thread_totals_sum(totals.threads, &status), status);
    CHECK(totals.threads->charges.count <= 9 * BLOCKS);
    nodes(totals.threads, 3, BLOCKS - 5, &time);
    CHECK_INT(time, BLOCKS - 8);
    memory_free(charges.list);
    gap_totals_finish(&totals);
}
