/* One allocation fails and all others succeed, so that a failure which is ignored shows. */
#include "base/memory.h"

#include "../test.h"
#include "report/report.h"
#include "whatif/whatif.h"

/* Together they have steps, samples, stacks, copies, waits and thread states. A report has 500 to
 * 1,400 allocations: of many, every few are tried. */
static const struct {
    const char *path;
    unsigned stride;
} traces[] = {
    {"tests/fixtures/python.ridge", 1},
    {"tests/corpus/traces/small-copies-runtime.ridge", 2},
    {"tests/corpus/traces/host-busy-sampled.ridge", 3},
    {"examples/train.ridge", 11},
};

static bool build_and_rank(struct trace *trace, struct status *status) {
    struct report report;
    struct ranked_change *ranked = NULL;
    size_t count = 0;
    if (!report_build(&report, trace,
                      &(struct report_options){.trace_name = "t", .top = 10, .keep_replay = true},
                      status))
        return false;
    bool ok = replay_rank(report.replay, &ranked, &count, status);
    if (ok)
        replay_rank_finish(ranked, count);
    report_finish(&report);
    return ok;
}

TEST(a_report_fails_if_one_of_its_allocations_does) {
    enum { ENOUGH = 100000 };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct status status = {0};
        struct trace *trace;
        uint64_t nth = 1;
        REQUIRE(trace_open(traces[i].path, &trace, &status));
        for (bool ended = false; !ended && nth < ENOUGH; nth += traces[i].stride) {
            status = (struct status){0};
            memory_fail_only(nth);
            bool ok = build_and_rank(trace, &status);
            ended = memory_fail_only(0) != 0;
            if (ok != ended || (!ok && status.code != STATUS_MEMORY))
                test_failed(__FILE__, __LINE__, "%s: allocation %llu: status %d", traces[i].path,
                            (unsigned long long)nth, status.code);
        }
        CHECK(nth > 100 && nth < ENOUGH);
        trace_close(trace);
    }
}
