/* Single rules, on facts made up for them. */
#include <string.h>

#include "../analysis/build.h"
#include "../test.h"
#include "analysis/account.h"
#include "analysis/gaps.h"
#include "analysis/launches.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

/* A diagnosis of one device without steps, of a trace without rows; nothing that can be changed
 * applies. */
struct made_up {
    struct trace *trace;
    struct account account;
    struct gaps gaps;
    struct launches launches;
    struct diagnose_device device;
    struct diagnose_source source, whole;
    struct verdict verdict;
    struct status status;
    struct diagnosis diagnosis;
};

static bool make_up(struct made_up *made_up) {
    struct build build;
    memset(made_up, 0, sizeof *made_up);
    build_begin(&build);
    made_up->trace = build_end(&build);
    made_up->device = (struct diagnose_device){.id = 1,
                                               .account = &made_up->account,
                                               .gaps = &made_up->gaps,
                                               .launches = &made_up->launches};
    made_up->source = (struct diagnose_source){.devices = &made_up->device, .device_count = 1};
    made_up->whole = made_up->source;
    struct diagnosis *diagnosis = &made_up->diagnosis;
    diagnosis->source = &made_up->source;
    diagnosis->whole = &made_up->whole;
    diagnosis->trace = made_up->trace;
    diagnosis->verdict = &made_up->verdict;
    diagnosis->status = &made_up->status;
    for (unsigned kind = 0; kind < CHANGE_COUNT; kind++)
        diagnosis->predicted[kind] = true;
    return made_up->trace != NULL;
}

static void unmake(struct made_up *made_up) {
    CHECK(!made_up->diagnosis.failed);
    verdict_finish(&made_up->verdict);
    trace_close(made_up->trace);
}

TEST(a_fix_without_memory_fails_the_diagnosis) {
    struct made_up made_up;
    struct finding finding = {0};
    REQUIRE(make_up(&made_up));
    memory_fail_from(1);
    finding_fix(&made_up.diagnosis, &finding, EFFORT_LINES, NULL, "Mend it");
    memory_fail_from(0);
    CHECK(made_up.diagnosis.failed);
    CHECK_INT(made_up.status.code, STATUS_MEMORY);
    CHECK_INT(finding.fix_count, 0);
    made_up.diagnosis.failed = false;
    unmake(&made_up);
}

static void check_manager(int64_t recoverable, const char *words) {
    struct made_up made_up;
    REQUIRE(make_up(&made_up));
    diagnose_add(&made_up.diagnosis, FINDING_HOST_BOUND, CONFIDENCE_HIGH)->recoverable =
        recoverable;
    made_up.verdict.time = 1000;
    diagnose_summarize(&made_up.diagnosis);
    CHECK(made_up.verdict.manager && strstr(made_up.verdict.manager, words));
    unmake(&made_up);
}

TEST(from_ten_times_as_fast_on_a_gain_has_no_decimals) {
    check_manager(899, "about 9.9 times as fast");
    check_manager(900, "about 10 times as fast");
    check_manager(950, "about 20 times as fast");
    check_manager(990, "would save as much");
}

TEST(one_gap_with_more_than_half_of_the_hosts_time_is_the_start) {
    for (int64_t gain = 99; gain <= 100; gain++) {
        struct made_up made_up;
        REQUIRE(make_up(&made_up));
        made_up.gaps.top_count = 1;
        made_up.gaps.top[0].cause[CAUSE_HOST] = 50;
        made_up.diagnosis.alone[CHANGE_NO_HOST] =
            (struct prediction){.applicable = true, .gain = gain};
        diagnose_host(&made_up.diagnosis);
        CHECK_INT(made_up.verdict.count, gain == 100);
        unmake(&made_up);
    }
}

/* Of two devices, the judged one's kernels have no launches in the trace. */
TEST(without_known_launches_no_time_between_them_is_stated) {
    struct made_up made_up;
    REQUIRE(make_up(&made_up));
    made_up.whole.device_count = 2;
    made_up.diagnosis.facts.kernels.count = 4;
    made_up.diagnosis.facts.kernels.total_time = 4000;
    made_up.diagnosis.facts.calls[CALL_LAUNCH] = 4;
    diagnose_launch(&made_up.diagnosis);
    REQUIRE(made_up.verdict.count == 1);
    CHECK(strstr(made_up.verdict.findings[0].cause, "lasts 1.000 µs and the device then waits 0"));
    unmake(&made_up);
}

/* Two kernels in each quarter of the run; those of the first quarter take `first`. */
static struct drift drift_of(int64_t first) {
    struct build build;
    struct model model;
    struct status status = {0};
    struct drift drift = {0};
    struct window window = {0, 8000};
    struct selection selection = {.windows = &window, .count = 1};
    struct diagnose_device device = {.id = 1, .selection = &selection};
    struct diagnose_source source = {.model = &model, .devices = &device, .device_count = 1};
    build_begin(&build);
    for (int64_t i = 0; i < 8; i++)
        build_activity(&build, 0, ACTIVITY_KERNEL, 1000 * i, 1000 * i + (i < 2 ? first : 200),
                       "gemm", 0);
    struct trace *trace = build_end(&build);
    if (trace && model_build(&model, trace, &status)) {
        CHECK_OK(trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z", &status), status);
        CHECK_OK(drift_find(&source, &drift, &status), status);
        model_finish(&model);
    }
    trace_close(trace);
    return drift;
}

TEST(kernels_that_took_no_time_at_first_show_no_drift) {
    struct drift drift = drift_of(100);
    CHECK(drift.ratio == 2 && drift.part == 1);
    CHECK_INT(drift.lost, 600);
    drift = drift_of(0); /* the clock is too coarse for them */
    CHECK(drift.ratio == 0 && drift.part == 0);
    CHECK_INT(drift.lost, 0);
}
