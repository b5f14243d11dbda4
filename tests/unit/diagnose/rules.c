/* Single rules and headlines, on synthetic facts. */
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
struct synthetic {
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

static bool begin_synthetic(struct synthetic *synthetic) {
    struct build build;
    memset(synthetic, 0, sizeof *synthetic);
    build_begin(&build);
    synthetic->trace = build_end(&build);
    synthetic->device = (struct diagnose_device){.id = 1,
                                                 .account = &synthetic->account,
                                                 .gaps = &synthetic->gaps,
                                                 .launches = &synthetic->launches};
    synthetic->source = (struct diagnose_source){.devices = &synthetic->device, .device_count = 1};
    synthetic->whole = synthetic->source;
    struct diagnosis *diagnosis = &synthetic->diagnosis;
    diagnosis->source = &synthetic->source;
    diagnosis->whole = &synthetic->whole;
    diagnosis->trace = synthetic->trace;
    diagnosis->verdict = &synthetic->verdict;
    diagnosis->status = &synthetic->status;
    for (unsigned kind = 0; kind < CHANGE_COUNT; kind++)
        diagnosis->predicted[kind] = true;
    return synthetic->trace != NULL;
}

static void end_synthetic(struct synthetic *synthetic) {
    CHECK(!synthetic->diagnosis.failed);
    verdict_finish(&synthetic->verdict);
    trace_close(synthetic->trace);
}

TEST(a_fix_without_memory_fails_the_diagnosis) {
    struct synthetic synthetic;
    struct finding finding = {0};
    REQUIRE(begin_synthetic(&synthetic));
    memory_fail_from(1);
    finding_fix(&synthetic.diagnosis, &finding, EFFORT_LINES, NULL, "Fix it");
    memory_fail_from(0);
    CHECK(synthetic.diagnosis.failed);
    CHECK_INT(synthetic.status.code, STATUS_MEMORY);
    CHECK_INT(finding.fix_count, 0);
    synthetic.diagnosis.failed = false;
    end_synthetic(&synthetic);
}

/* The headline of a run of 1000 ns with one finding. */
static void check_headline(enum finding_kind kind, int64_t recoverable, int64_t idle,
                           const char *headline) {
    struct synthetic synthetic;
    REQUIRE(begin_synthetic(&synthetic));
    diagnose_add(&synthetic.diagnosis, kind, CONFIDENCE_HIGH)->recoverable = recoverable;
    synthetic.verdict.time = 1000;
    synthetic.diagnosis.facts.window = 1000;
    synthetic.diagnosis.facts.idle = idle;
    diagnose_summarize(&synthetic.diagnosis);
    CHECK_STRING(synthetic.verdict.manager, headline);
    end_synthetic(&synthetic);
}

TEST(a_speedup_of_ten_or_more_has_no_decimals) {
    check_headline(FINDING_HOST_BOUND, 899, 0,
                   "Waiting for host code between launches costs about 90 % of the time. Fixing "
                   "this would make the run about 9.9x faster.");
    check_headline(FINDING_HOST_BOUND, 900, 0,
                   "Waiting for host code between launches costs about 90 % of the time. Fixing "
                   "this would make the run about 10x faster.");
    check_headline(FINDING_HOST_BOUND, 950, 0,
                   "Waiting for host code between launches costs about 95 % of the time. Fixing "
                   "this would make the run about 20x faster.");
    check_headline(FINDING_HOST_BOUND, 990, 0,
                   "Waiting for host code between launches costs about 99 % of the time. Fixing "
                   "this would save that much.");
}

TEST(idle_time_is_blamed_on_a_finding_that_explains_most_of_it) {
    check_headline(FINDING_LAUNCH_BOUND, 600, 600,
                   "The GPU is idle 60 % of the time, waiting for kernel launches. Fixing this "
                   "would make the run about 2.5x faster.");
    check_headline(FINDING_LAUNCH_BOUND, 600, 970,
                   "The GPU is idle 97 % of the time, mostly waiting for kernel launches. Fixing "
                   "this would make the run about 2.5x faster.");
    check_headline(FINDING_LAUNCH_BOUND, 100, 110,
                   "The GPU is idle 11 % of the time, waiting for kernel launches. Fixing this "
                   "would save about 10 % of the time.");
}

TEST(idle_time_is_not_blamed_on_a_finding_that_does_not_explain_it) {
    check_headline(FINDING_LAUNCH_BOUND, 300, 600,
                   "The GPU is idle 60 % of the time. Waiting for kernel launches costs about 30 "
                   "%. Fixing this would make the run about 1.4x faster.");
    check_headline(FINDING_LAUNCH_BOUND, 601, 600,
                   "Waiting for kernel launches costs about 60 % of the time. Fixing this would "
                   "make the run about 2.5x faster.");
    check_headline(FINDING_SMALL_GRID, 600, 600,
                   "Grids too small for the device cost about 60 % of the time. Fixing this would "
                   "make the run about 2.5x faster.");
}

TEST(a_headline_without_a_known_gain_says_so) {
    check_headline(
        FINDING_MEMORY_BOUND, 9, 0,
        "Most kernel time is in kernels that are usually memory-bound. The possible gain "
        "is not known.");
}

static void check_action(bool replayed, const char *action) {
    struct synthetic synthetic;
    REQUIRE(begin_synthetic(&synthetic));
    synthetic.verdict.time = 1000;
    struct finding *finding =
        diagnose_add(&synthetic.diagnosis, FINDING_SYNC_IN_LOOP, CONFIDENCE_HIGH);
    finding->recoverable = 400;
    if (replayed)
        finding_change(finding, CHANGE_NO_SYNC, (struct text){0}, 0);
    finding_summary(&synthetic.diagnosis, finding, "3 synchronizations");
    finding_gain(&synthetic.diagnosis, finding, "without them, less");
    finding_fix(&synthetic.diagnosis, finding, EFFORT_LINES, "--no-sync", "Do not wait");
    diagnose_summarize(&synthetic.diagnosis);
    CHECK_STRING(finding->summary, "3 synchronizations; without them, less");
    CHECK_STRING(synthetic.verdict.engineer, action);
    end_synthetic(&synthetic);
}

TEST(the_gain_follows_the_fix_only_if_that_was_replayed) {
    check_action(true, "Do not wait: without them, less. 3 synchronizations.");
    check_action(false, "Do not wait. 3 synchronizations; without them, less.");
}

TEST(a_gain_of_nothing_is_not_stated) {
    struct synthetic synthetic;
    REQUIRE(begin_synthetic(&synthetic));
    struct finding *finding = diagnose_add(&synthetic.diagnosis, FINDING_TAIL, CONFIDENCE_LOW);
    finding_summary(&synthetic.diagnosis, finding, "A tail");
    finding_gain(&synthetic.diagnosis, finding, "with full waves, 1 ms -> 1 ms");
    CHECK_STRING(finding->summary, "A tail");
    CHECK(finding->gain == NULL);
    end_synthetic(&synthetic);
}

TEST(one_gap_with_more_than_half_of_the_hosts_time_is_the_start) {
    for (int64_t gain = 99; gain <= 100; gain++) {
        struct synthetic synthetic;
        REQUIRE(begin_synthetic(&synthetic));
        synthetic.gaps.top_count = 1;
        synthetic.gaps.top[0].cause[CAUSE_HOST] = 50;
        synthetic.gaps.host_names.list = &(struct gap_name){.time = 100};
        synthetic.gaps.host_names.count = 1;
        synthetic.diagnosis.alone[CHANGE_NO_HOST] =
            (struct prediction){.applicable = true, .gain = gain};
        diagnose_host(&synthetic.diagnosis);
        CHECK_INT(synthetic.verdict.count, gain == 100);
        end_synthetic(&synthetic);
    }
}

/* Of two devices, the judged one has kernels without launches in the trace. */
TEST(without_idle_time_for_launches_nothing_is_launch_bound) {
    struct synthetic synthetic;
    REQUIRE(begin_synthetic(&synthetic));
    synthetic.whole.device_count = 2;
    synthetic.diagnosis.facts.kernels.count = 4;
    synthetic.diagnosis.facts.kernels.total_time = 4000;
    synthetic.diagnosis.facts.calls[CALL_LAUNCH] = 4;
    diagnose_launch(&synthetic.diagnosis);
    CHECK_INT(synthetic.verdict.count, 0);
    end_synthetic(&synthetic);
}

enum { DRIFT_KERNELS = 24 };

/* Kernels of one name at equal distances. */
static struct drift drift_of(const int64_t durations[DRIFT_KERNELS]) {
    struct build build;
    struct model model;
    struct status status = {0};
    struct drift drift = {0};
    struct window window = {0, 1000 * DRIFT_KERNELS};
    struct selection selection = {.windows = &window, .count = 1};
    struct diagnose_device device = {.id = 1, .selection = &selection};
    struct diagnose_source source = {.model = &model, .devices = &device, .device_count = 1};
    build_begin(&build);
    for (int64_t i = 0; i < DRIFT_KERNELS; i++)
        build_activity(&build, 0, ACTIVITY_KERNEL, 1000 * i, 1000 * i + durations[i], "gemm", 0);
    struct trace *trace = build_end(&build);
    if (trace && model_build(&model, trace, &status)) {
        CHECK_OK(trace_load(trace, TABLE_ACTIVITY, "grid_x grid_y grid_z", &status), status);
        CHECK_OK(drift_find(&source, &drift, &status), status);
        model_finish(&model);
    }
    trace_close(trace);
    return drift;
}

static struct drift drift_of_step(int64_t first) {
    int64_t durations[DRIFT_KERNELS];
    for (int i = 0; i < DRIFT_KERNELS; i++)
        durations[i] = i < DRIFT_KERNELS / 4 ? first : 200;
    return drift_of(durations);
}

TEST(kernels_that_took_no_time_at_first_show_no_drift) {
    struct drift drift = drift_of_step(100);
    CHECK(drift.ratio == 2 && drift.part == 1);
    CHECK_INT(drift.lost, 1800);
    drift = drift_of_step(0); /* the clock is too coarse for them */
    CHECK(drift.ratio == 0 && drift.part == 0);
    CHECK_INT(drift.lost, 0);
}

/* Durations from 50 to 800 in random order: the last quarter is often slower than the first. */
TEST(random_durations_are_no_drift) {
    uint64_t state = 1;
    int slower = 0;
    for (int trial = 0; trial < 200; trial++) {
        int64_t durations[DRIFT_KERNELS];
        for (int i = 0; i < DRIFT_KERNELS; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            durations[i] = 50 << ((state >> 40) % 5);
        }
        slower += drift_of(durations).part > 0;
    }
    CHECK(slower <= 3);
}

/* Two processes of which the workers read from the disk, and a short-lived one. */
TEST(what_worker_processes_do_is_evidence_and_decides_the_fix) {
    struct cpu_thread threads[] = {
        {.process = 1, .is_main = true, .times = {.wall = 1000}},
        {.process = 2, .times = {.wall = 900, .running = 90, .blocked[BLOCKED_DISK] = 810}},
        {.process = 3, .times = {.wall = 100, .running = 100}},
        {.process = 4,
         .times =
             {.wall = 900, .ready = 90, .blocked[BLOCKED_DISK] = 720, .blocked[BLOCKED_PIPE] = 90}},
    };
    struct cpu_process processes[] = {{.process = 1, .first = 0, .count = 1},
                                      {.process = 2, .first = 1, .count = 1},
                                      {.process = 3, .first = 2, .count = 1},
                                      {.process = 4, .first = 3, .count = 1}};
    struct cpu_account cpu = {.threads = threads,
                              .thread_count = 4,
                              .processes = processes,
                              .process_count = 4,
                              .wall = 1000};
    struct synthetic synthetic;
    REQUIRE(begin_synthetic(&synthetic));
    synthetic.source.cpu = &cpu;
    struct finding *finding =
        diagnose_add(&synthetic.diagnosis, FINDING_INPUT_PIPELINE, CONFIDENCE_HIGH);
    cpu_describe_workers(&synthetic.diagnosis, finding);
    REQUIRE(finding->evidence_count == 1 && finding->fix_count == 1);
    CHECK_STRING(finding->evidence[0].words,
                 "2 worker processes: 5.0 % running, 5.0 % waiting for a processor, 85.0 % for the "
                 "disk, 5.0 % blocked otherwise");
    CHECK(strstr(finding->fixes[0].words, "wait for the disk"));
    cpu.process_count = 1;
    finding = diagnose_add(&synthetic.diagnosis, FINDING_BLOCKED, CONFIDENCE_HIGH);
    cpu_describe_workers(&synthetic.diagnosis, finding);
    CHECK_INT(finding->evidence_count, 0);
    end_synthetic(&synthetic);
}
