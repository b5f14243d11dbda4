/* The parts sum to the whole on random traces and windows, and equal the result of counting every
 * nanosecond. */
#include "../test.h"
#include "build.h"

#include "analysis/account.h"
#include "analysis/gaps.h"
#include "report/report.h"

static uint32_t seed = 12345;
static uint32_t random_below(uint32_t limit) {
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

enum { SPAN = 600 };

/* Kernels, copies, calls of all classes, ranges and states, overlapping at will; returns a
 * by-nanosecond picture: 1 = kernel, 2 = copy, 3 = both. */
static struct trace *random_trace(unsigned char picture[SPAN], bool with_states) {
    struct build build;
    build_begin(&build);
    memset(picture, 0, SPAN);
    unsigned rows = random_below(30);
    for (unsigned i = 0; i < rows; i++) {
        int64_t start = random_below(SPAN - 60), end = start + random_below(60);
        int kind = (int)random_below(3);
        build_activity(&build, (int)random_below(BUILD_QUEUES), kind, start, end, "work",
                       1 + random_below(40));
        for (int64_t t = start; t < end; t++)
            picture[t] |= kind == ACTIVITY_KERNEL ? 1 : 2;
    }
    for (unsigned i = 0; i < rows * 2; i++) {
        int64_t start = random_below(SPAN), end = start + random_below(40);
        build_call(&build, (int)random_below(BUILD_THREADS), (int)random_below(CALL_CLASSES), start,
                   end, random_below(2) ? "cudaMemcpyAsync" : "cudaSomething", random_below(40));
    }
    for (unsigned i = 0; i < rows; i++) {
        int64_t start = random_below(SPAN), end = start + random_below(200);
        build_range(&build, (int)random_below(BUILD_THREADS), (int)random_below(RANGE_CATEGORIES),
                    start, end, random_below(2) ? "a" : "b");
    }
    for (unsigned i = 0; i < rows && with_states; i++) {
        int64_t start = random_below(SPAN), end = start + random_below(80);
        build_state(&build, (int)random_below(BUILD_THREADS), (int)random_below(STATE_KINDS), start,
                    end);
        build_sample(&build, (int)random_below(BUILD_THREADS), random_below(SPAN), "f");
    }
    return build_end(&build);
}

static void count_picture(const unsigned char picture[SPAN], const struct selection *selection,
                          int64_t *busy, int64_t *copy, int64_t *idle) {
    *busy = *copy = *idle = 0;
    for (size_t w = 0; w < selection->count; w++)
        for (int64_t t = selection->windows[w].start; t < selection->windows[w].end; t++) {
            unsigned char here = t >= 0 && t < SPAN ? picture[t] : 0;
            *busy += (here & 1) != 0;
            *copy += here == 2;
            *idle += here == 0;
        }
}

static void check_device(const struct model *model, const struct host *host,
                         const unsigned char picture[SPAN], const struct selection *selection) {
    struct status status = {0};
    struct account account;
    struct gaps gaps;
    int64_t busy, copy, idle, causes = 0;
    REQUIRE(account_device(model, 1, selection, &account, &status));
    REQUIRE(gaps_find(model, host, 1, selection, &gaps, &status));
    count_picture(picture, selection, &busy, &copy, &idle);
    CHECK_INT(account.busy, busy);
    CHECK_INT(account.exposed_copy, copy);
    CHECK_INT(account.idle, idle);
    CHECK_INT(account.busy + account.exposed_copy + account.idle, account.window);
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        CHECK(gaps.cause_time[cause] >= 0);
        causes += gaps.cause_time[cause];
    }
    CHECK_INT(causes, idle);
    CHECK_INT(gaps.total, idle);
    int64_t named = 0;
    for (size_t i = 0; i < gaps.host_names.count; i++)
        named += gaps.host_names.list[i].time;
    CHECK_INT(named, gaps.cause_time[CAUSE_HOST]);
    int64_t in_states = 0;
    for (unsigned state = 0; state < STATES; state++)
        in_states += gaps.host_state[state].time;
    CHECK_INT(in_states, gaps.cause_time[CAUSE_HOST]);
    gaps_finish(&gaps);
}

TEST(the_account_of_a_random_trace_equals_counting_each_nanosecond) {
    for (int round = 0; round < 400; round++) {
        struct status status = {0};
        unsigned char picture[SPAN];
        struct trace *trace = random_trace(picture, round % 2);
        struct model model;
        struct host host;
        struct window window;
        REQUIRE(trace);
        REQUIRE(model_build(&model, trace, &status));
        REQUIRE(host_build(&host, &model, &status));
        if (model_device_window(&model, 1, &window) && window.end > window.start) {
            struct selection whole = {.everything = true}, part = {0};
            CHECK(selection_add(&whole, window.start, window.end, &status));
            check_device(&model, &host, picture, &whole);
            int64_t at = random_below(100);
            for (int i = 0; i < 3; i++) {
                int64_t end = at + 1 + random_below(150);
                CHECK(selection_add(&part, at, end, &status));
                at = end + random_below(60);
            }
            check_device(&model, &host, picture, &part);
            selection_finish(&whole);
            selection_finish(&part);
        }
        host_finish(&host);
        model_finish(&model);
        trace_close(trace);
    }
}

TEST(gaps_between_kernels_lie_inside_one_window_and_begin_behind_a_kernel_of_it) {
    struct build build;
    struct status status = {0};
    struct model model;
    struct account account;
    struct selection part = {0};
    build_begin(&build);
    build_activity(&build, 0, ACTIVITY_KERNEL, 0, 100, "before", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 110, 120, "a", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 125, 130, "a", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 150, 300, "between", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 400, 410, "b", 0);
    build_activity(&build, 0, ACTIVITY_KERNEL, 430, 450, "b", 0);
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(model_build(&model, trace, &status));
    REQUIRE(selection_add(&part, 100, 140, &status) && selection_add(&part, 390, 440, &status));
    REQUIRE(account_device(&model, 1, &part, &account, &status));
    CHECK_INT(account.kernels, 4);
    CHECK_INT(account.busy, 10 + 5 + 10 + 10);
    CHECK_INT(account.kernel_blocks, 4);
    CHECK_INT(account.kernel_gaps, 2);
    CHECK_INT(account.kernel_gap_total, 5 + 20);
    CHECK_INT(account.kernel_gap_max, 20);
    CHECK_INT(account.kernel_span, 440 - 110);
    CHECK_INT(account.queue_gaps, 2);
    CHECK_INT(account.queue_gap_total, 5 + 20);
    CHECK_INT(account.queues, 1);
    selection_finish(&part);
    model_finish(&model);
    trace_close(trace);
}

TEST(an_allocation_that_fails_anywhere_in_a_report_is_reported_and_leaks_nothing) {
    unsigned char picture[SPAN];
    for (uint64_t nth = 1; nth < 10000; nth++) {
        struct status status = {0};
        struct report report;
        seed = 99;
        struct trace *trace = random_trace(picture, true);
        REQUIRE(trace);
        memory_fail_from(nth);
        bool ok = report_build(&report, trace,
                               &(struct report_options){.trace_name = "t", .top = 10}, &status);
        memory_fail_from(0);
        if (ok)
            report_finish(&report);
        else
            CHECK_INT(status.code, STATUS_MEMORY);
        trace_close(trace);
        if (ok)
            return;
    }
    CHECK(!"the report never succeeded");
}
