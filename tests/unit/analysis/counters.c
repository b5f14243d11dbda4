/* Hardware counters: from a trace's meta to figures. */
#include "../test.h"
#include "build.h"

#include "analysis/counters.h"

TEST(counters_become_rates_of_all_processes_and_of_each) {
    struct build build;
    struct status status = {0};
    struct counters counters;
    double value = 0;
    build_begin(&build);
    trace_writer_meta_integer(build.writer, "counter.cycles", 1000);
    trace_writer_meta_integer(build.writer, "counter.instructions", 2500);
    trace_writer_meta_integer(build.writer, "counter.L1d-loads", 400);
    trace_writer_meta_integer(build.writer, "counter.4711.branches", 200);
    trace_writer_meta_integer(build.writer, "counter.4711.branch-misses", 4);
    trace_writer_meta_integer(build.writer, "counter.4711.branch-misses", 2); /* another writer's */
    trace_writer_meta_integer(build.writer, "counter.1.cycles", 30);
    trace_writer_meta_integer(build.writer, "counter.1.instructions", 60);
    trace_writer_meta_integer(build.writer, "counter.0.cycles", 1);
    trace_writer_meta_integer(build.writer, "counter.x.cycles", 1);
    trace_writer_meta_integer(build.writer, "counter.unheard-of", 1);
    trace_writer_meta(build.writer, "counter.LLC-loads", TEXT("many"));
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(counters_find(trace, &counters, &status));
    REQUIRE(counters.count == 3);
    CHECK_INT(counters.processes[0].pid, 0);
    CHECK(counters_figure(&counters.processes[0], FIGURE_IPC, &value) && value == 2.5);
    CHECK(!counters_figure(&counters.processes[0], FIGURE_L1_MISSES, &value));
    CHECK(!counters_figure(&counters.processes[0], FIGURE_LLC_MISSES, &value));
    CHECK_INT(counters.processes[2].pid, 4711);
    CHECK(counters_figure(&counters.processes[2], FIGURE_MISPREDICTIONS, &value) && value == 0.03);
    CHECK_INT(counters.processes[1].pid, 1);
    CHECK(counters_figure(&counters.processes[1], FIGURE_IPC, &value) && value == 2);
    counters_finish(&counters);
    trace_close(trace);
}

TEST(a_machine_without_counters_has_a_reason) {
    struct build build;
    struct status status = {0};
    struct counters counters;
    build_begin(&build);
    trace_writer_meta(build.writer, META_COUNTERS_MISSING, TEXT("no hardware counters here"));
    struct trace *trace = build_end(&build);
    REQUIRE(trace);
    REQUIRE(counters_find(trace, &counters, &status));
    CHECK_INT(counters.count, 0);
    CHECK(text_is(counters.missing, "no hardware counters here"));
    counters_finish(&counters);
    trace_close(trace);
}
