/* The three lines at the end of a recording. */
#include "record/record.h"

#include "../test.h"

static const char *described(const struct record_summary *summary) {
    static char text[4096];
    struct buffer lines = {0};
    record_describe(summary, &lines);
    snprintf(text, sizeof text, "%.*s", (int)lines.length, lines.data);
    buffer_finish(&lines);
    return text;
}

TEST(a_summary_is_three_lines_whatever_there_is_to_say) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .processes = 1, .bytes = 100, .wall_ns = 1500000000};
    CHECK_STRING(described(&summary), "recorded  1 process, 1.500 s: a.ridge (100 B)\n"
                                      "missing   nothing was lost\n"
                                      "cost      0 ns of processor time to record\n");
    for (int i = 0; i < 20; i++)
        record_note(&summary, "note %d", i);
    summary.lost = 1234;
    summary.kernels = 2;
    summary.probe_ns = 15000000;
    summary.target_ns = 3000000000;
    CHECK_STRING(described(&summary),
                 "recorded  1 process, 2 kernels, 1.500 s: a.ridge (100 B)\n"
                 "missing   1,234 events were lost; note 0; note 1; note 2; note 3; note 4; "
                 "note 5; note 6; note 7\n"
                 "cost      0 ns of processor time to record, beside the program's 3.000 s; "
                 "15.00 ms inside the program (1.0% of its run)\n");
}

static const char *cost_with(unsigned maps, uint64_t interpreted, uint64_t trampolines,
                             bool is_exact) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .samples = 1000, .target_ns = 1000000000};
    summary.python_maps = maps;
    summary.python = (struct perf_python){interpreted, trampolines, is_exact};
    const char *cost = strstr(described(&summary), "; Python");
    return cost ? cost : "";
}

#define OFF " of that (--env PYTHONPERFSUPPORT=0 turns them off)\n"

TEST(the_cost_of_python_trampolines_is_bounded_by_what_was_sampled) {
    CHECK_STRING(cost_with(0, 0, 0, true), "");
    /* they were on, but no stack shows them */
    CHECK_STRING(cost_with(1, 0, 0, true), "; Python's perf trampolines took an unknown part" OFF);
    /* 3 * (16 - 8), 15 * (16 + 8 + 2) */
    CHECK_STRING(cost_with(1, 1000, 16, true),
                 "; Python's perf trampolines took 2.4% to 39.0%" OFF);
    /* at most half of the time in the interpreter */
    CHECK_STRING(cost_with(1, 600, 25, true), "; Python's perf trampolines took 4.5% to 30.0%" OFF);
    CHECK_STRING(cost_with(1, 20, 16, true), "; Python's perf trampolines took 1.0% to 1.0%" OFF);
    /* too few samples for a lower bound */
    CHECK_STRING(cost_with(1, 1000, 4, true), "; Python's perf trampolines took up to 15.0%" OFF);
    CHECK_STRING(cost_with(1, 1000, 0, true), "; Python's perf trampolines took up to 3.0%" OFF);
    /* without symbols of the interpreter trampolines are not told from the rest of it */
    CHECK_STRING(cost_with(1, 800, 0, false), "; Python's perf trampolines took up to 40.0%" OFF);
}

TEST(the_programs_time_includes_what_sampling_it_costs) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .samples = 1, .target_ns = 1000000};
    CHECK(strstr(described(&summary), "beside the program's 1.000 ms, which includes sampling "
                                      "interrupts\n"));
}
