/* Running experiments: what is measured and in which order, resuming, and failures. The
 * experiment here does almost nothing, and its roofs are synthetic, in the test's own cache
 * folder. */
#include "bench/run.h"

#include <stdlib.h>

#include "../test.h"
#include "base/memory.h"

static unsigned prepared, finished, checked;

static bool prepare(struct stage *stage, const struct bench_case *work, void **state,
                    struct amount *amount, struct status *status) {
    int *made = memory_allocate(1, sizeof *made, status);
    (void)stage;
    if (!made)
        return false;
    *made = (int)work->size;
    *amount = (struct amount){.bytes = 100, .flops = 10};
    *state = made;
    prepared++;
    return true;
}

static bool call(void *state, unsigned turn, struct status *status) {
    (void)turn, (void)status;
    return *(int *)state >= 0;
}

static bool check(void *state, double *error, struct status *status) {
    *error = 0;
    checked++;
    return *(int *)state != 13 || status_fail(status, STATUS_INPUT, "13 is bad luck");
}

static void finish(void *state) {
    finished++;
    memory_free(state);
}

static const struct case_kind kind = {
    .prepare = prepare, .call = call, .check = check, .finish = finish};

static bool plan(const struct experiment *experiment, const struct stage *stage,
                 struct case_list *list, struct status *status) {
    (void)experiment;
    for (unsigned i = 0; i < stage->options.size_count; i++) {
        struct bench_case work = {.kind = &kind, .size = stage->options.sizes[i]};
        snprintf(work.label, sizeof work.label, "line %d", (int)work.size);
        if (!case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool conclude(const struct experiment *experiment, const struct stage *stage,
                     const struct result *results, size_t count, struct result_set *set,
                     struct status *status) {
    (void)experiment;
    (void)stage;
    return finding_add(set, results->experiment, results->device, "lines", (double)count, status,
                       "%zu lines", count);
}

static const struct experiment experiment = {.name = "nothing", .plan = plan, .conclude = conclude};
static const struct experiment *const chosen[] = {&experiment, NULL};
static const char *const cpu[] = {"cpu", NULL};

/* ---- The folder with the roofs ------------------------------------------------------------ */

static char cache_before[512];
static const char *cache_folder_of_test;

static bool begin(struct run_options *options) {
    const char *cache = getenv("RIDGE_CACHE");
    snprintf(cache_before, sizeof cache_before, "%s", cache ? cache : "");
    cache_folder_of_test = test_temporary(".cache");
    setenv("RIDGE_CACHE", cache_folder_of_test, 1);
    ridge_device *device = ridge_device_open("cpu");
    if (!device)
        return false;
    roofs_store(device, &(struct roofs){.quick = true});
    ridge_device_close(device);
    *options = (struct run_options){.experiments = chosen,
                                    .devices = cpu,
                                    .bench = {.sizes = {1, 2}, .size_count = 2},
                                    .measure = {.seconds = 1e-4, .iterations = 1},
                                    .rounds = 1,
                                    .quick_roofs = true};
    prepared = finished = checked = 0;
    return true;
}

static void end(void) {
    char command[600];
    if (*cache_before)
        setenv("RIDGE_CACHE", cache_before, 1);
    else
        unsetenv("RIDGE_CACHE");
    snprintf(command, sizeof command, "rm -rf '%s'", cache_folder_of_test);
    CHECK(system(command) == 0);
}

/* ---- Running ------------------------------------------------------------------------------ */

TEST(a_run_goes_round_all_lines_and_concludes_once) {
    struct run_options options;
    struct result_set set;
    struct status status = {0};
    REQUIRE(begin(&options));
    options.rounds = 3;
    CHECK_OK(run_experiments(&options, &set, &status), status);
    CHECK_INT(set.count, 2);
    CHECK_INT(prepared, 6);
    CHECK_INT(finished, 6);
    CHECK_INT(checked, 2);
    CHECK_INT(set.finding_count, 1);
    for (size_t i = 0; i < set.count; i++) {
        CHECK_INT(set.results[i].round_count, 3);
        CHECK(set.results[i].checked && set.results[i].time.time.median > 0);
    }
    result_set_finish(&set);
    end();
}

TEST(a_line_with_a_wrong_result_has_no_figures_and_the_others_have) {
    struct run_options options;
    struct result_set set;
    struct status status = {0};
    REQUIRE(begin(&options));
    options.bench.sizes[0] = 13;
    options.rounds = 2;
    CHECK_OK(run_experiments(&options, &set, &status), status);
    CHECK(set.results[0].wrong && strstr(set.results[0].problem, "bad luck"));
    CHECK_INT(set.results[0].round_count, 0);
    CHECK_INT(set.results[1].round_count, 2);
    CHECK_INT(prepared, 3);
    CHECK_INT(finished, 3);
    result_set_finish(&set);
    end();
}

static volatile sig_atomic_t stopped;
static unsigned until_stop;

static bool stop_after_some(void *context, const struct result_set *set, struct status *status) {
    (void)context, (void)set, (void)status;
    if (--until_stop == 0)
        stopped = 1;
    return true;
}

TEST(a_run_that_was_stopped_goes_on_with_the_round_it_was_in) {
    struct run_options options;
    struct result_set first, second;
    struct status status = {0};
    REQUIRE(begin(&options));
    options.rounds = 2;
    options.stop = &stopped;
    options.kept = stop_after_some;
    stopped = 0;
    until_stop = 3;
    CHECK(!run_experiments(&options, &first, &status));
    CHECK(strstr(status.message, "stopped"));
    CHECK_INT(first.results[0].round_count, 2);
    CHECK_INT(first.results[1].round_count, 1);
    stopped = 0;
    options.done = &first;
    unsigned before = prepared;
    CHECK_OK(run_experiments(&options, &second, &status), status);
    CHECK_INT(prepared - before, 1);
    CHECK_INT(second.results[0].round_count, 2);
    CHECK_INT(second.results[1].round_count, 2);
    CHECK_INT(second.finding_count, 1);
    result_set_finish(&first);
    result_set_finish(&second);
    end();
}

TEST(lines_that_are_measured_again_are_measured_alone_and_conclude_nothing) {
    struct run_options options;
    struct result_set all, again;
    struct status status = {0};
    REQUIRE(begin(&options));
    CHECK_OK(run_experiments(&options, &all, &status), status);
    struct result_set wanted = {.results = &all.results[1], .count = 1};
    options.only = &wanted;
    CHECK_OK(run_experiments(&options, &again, &status), status);
    CHECK_INT(again.count, 1);
    CHECK_STRING(again.results[0].label, "line 2");
    CHECK_INT(again.finding_count, 0);
    result_set_finish(&all);
    result_set_finish(&again);
    end();
}

TEST(a_device_that_is_not_there_costs_no_time_on_those_before_it) {
    static const char *const devices[] = {"cpu", "cpu:77", NULL};
    struct run_options options;
    struct result_set set;
    struct status status = {0};
    REQUIRE(begin(&options));
    options.devices = devices;
    CHECK(!run_experiments(&options, &set, &status));
    CHECK(*status.message);
    CHECK_INT(prepared, 0);
    result_set_finish(&set);
    end();
}

/* Whatever allocation fails, the run fails or the line says so, and nothing is left behind. */
TEST(a_run_without_memory_fails_or_says_so_in_its_lines) {
    struct run_options options;
    bool whole = false;
    REQUIRE(begin(&options));
    for (uint64_t nth = 1; !whole && nth < 100000; nth += 1 + nth / 8) {
        struct result_set set;
        struct status status = {0};
        prepared = finished = 0;
        memory_fail_from(nth);
        bool ok = run_experiments(&options, &set, &status);
        memory_fail_from(0);
        if (!ok && status.code != STATUS_MEMORY)
            test_failed(__FILE__, __LINE__, "allocation %llu: %s", (unsigned long long)nth,
                        status.message);
        CHECK_INT(prepared, finished);
        whole = ok;
        for (size_t i = 0; ok && i < set.count; i++) {
            CHECK(*set.results[i].problem || set.results[i].round_count == 1);
            whole = whole && !*set.results[i].problem;
        }
        result_set_finish(&set);
    }
    CHECK(whole);
    end();
}
