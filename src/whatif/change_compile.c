/* What if everything were compiled and loaded before the loop?
 *
 * Driver calls show little of it: NVRTC, Triton and Inductor compile in host code right before the
 * call that loads the result. That host code is removed with the call if its name is that of a
 * compiler or, where it has no name, if nearly every load in the loop has such host time before it.
 */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/search.h"
#include "whatif/names.h"
#include "whatif/run.h"

/* Host code that ranges or samples identify as compilation. */
static bool cut_named(struct run *run, struct text pattern, int64_t *host, struct status *status) {
    const struct replay *replay = run->replay;
    struct host_time host_time;
    if (!host_time_find(replay, HOST_TIME_COMPILATION, pattern, &host_time, status))
        return false;
    for (uint32_t i = 0; i < replay->calls; i++)
        if (host_time.before_call[i] && in_loop(replay, replay->call_step[i])) {
            int64_t cut = MIN(host_time.before_call[i], run->host_time[i]);
            run->host_time[i] -= cut;
            *host += host_time_in_part(replay, i, cut);
            run->touched++;
        }
    host_time_finish(&host_time);
    return true;
}

/* Time between a call and the previous one under ranges that begin and end there. */
static int64_t named_before(const struct replay *replay, uint32_t call, uint32_t before) {
    const struct host *host = replay->source.host;
    const struct trace *trace = replay->trace;
    uint32_t thread = trace->call.thread[call];
    int64_t start = model_call_end(replay->source.model, before), end = trace->call.start[call];
    int64_t sum = 0;
    size_t low = host->thread_first[thread], last = host->thread_first[thread + 1];
    PARTITION_POINT(low, last, i, host->change_time[i] < start);
    for (; low < last && host->change_time[low] < end; low++) {
        uint32_t range = host->change_range[low];
        if (range == NO_ROW || trace->range.start[range] < start ||
            model_range_end(replay->source.model, range) > end ||
            name_is_compilation(trace_text(trace, trace->range.name[range])))
            continue;
        sum +=
            (low + 1 < last ? MIN(host->change_time[low + 1], end) : end) - host->change_time[low];
    }
    return sum;
}

/* The first of consecutive compiling calls in the loop, after other calls of its thread. */
static bool begins_load(const struct replay *replay, uint32_t call) {
    if (!is_outer(replay, call) || replay->class[call] != CALL_COMPILE ||
        !in_loop(replay, replay->call_step[call]))
        return false;
    uint32_t before = run_call_before(replay, call);
    return before != NO_ROW && replay->class[before] != CALL_COMPILE;
}

/* Host time before a load that has no name, beyond what is typical before a call. */
static int64_t unnamed_before(const struct run *run, uint32_t call) {
    const struct replay *replay = run->replay;
    int64_t left = run->host_time[call] - MAX(replay->host_time_typical, 0);
    return left - named_before(replay, call, run_call_before(replay, call));
}

static void cut_unnamed(struct run *run, struct text pattern, int64_t *host) {
    enum { LOADS_MIN = 3, TENTHS_MIN = 9 };
    const struct replay *replay = run->replay;
    uint64_t loads = 0, with_host_time = 0;
    for (uint32_t i = 0; i < replay->calls; i++)
        if (begins_load(replay, i)) {
            loads++;
            with_host_time += unnamed_before(run, i) > other_work(replay);
        }
    if (loads < LOADS_MIN || with_host_time * 10 < loads * TENTHS_MIN)
        return;
    for (uint32_t i = 0; i < replay->calls; i++) {
        if (!begins_load(replay, i) || !run_call_matches(run, i, pattern))
            continue;
        int64_t cut = unnamed_before(run, i);
        if (cut <= other_work(replay))
            continue;
        run->host_time[i] -= cut;
        *host += host_time_in_part(replay, i, cut);
        run->touched++;
    }
}

bool change_no_compile(struct run *run, const struct change *change, struct outcome *outcome,
                       struct status *status) {
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    int64_t host = 0;
    uint64_t before = run->touched;
    if (!run_edit_calls(run, status) || !cut_named(run, change->pattern, &host, status))
        return false;
    cut_unnamed(run, change->pattern, &host);
    uint64_t dropped = run_drop_class(run, CALL_COMPILE, change->pattern);
    outcome->applicable = run->touched > before;
    if (!outcome->applicable)
        return explain_no_call(run, outcome, CALL_COMPILE, change->pattern,
                               "compiling or loading call in the loop",
                               "nothing is compiled or loaded inside the loop", status);
    format_plural(dropped, "call that compiles or loads", "calls that compile or load", count);
    format_duration(host, time);
    snprintf(outcome->what, OUTCOME_TEXT, "%s%s%s%s %s removed", dropped ? count : "",
             dropped && host > 0 ? " and " : "", host > 0 || !dropped ? time : "",
             host > 0 || !dropped ? " of host code" : "",
             dropped > 1 || (dropped && host > 0) ? "are" : "is");
    snprintf(outcome->assumes, OUTCOME_TEXT, "shapes do not change, so nothing is compiled again");
    run->assumption_error += 0.05;
    return true;
}
