/* What if host code were removed, faster, or run by another worker? */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

/* Removes `share` of the host time found, outside the loop too if `everywhere`. Returns how much of
 * it was in the timed part. */
static int64_t cut_host_time(struct run *run, const struct host_time *host_time, double share,
                             bool everywhere) {
    const struct replay *replay = run->replay;
    int64_t sum = 0;
    for (uint32_t i = 0; i < replay->calls; i++) {
        if (host_time->before_call[i] == 0 ||
            (!everywhere && !in_loop(replay, replay->call_step[i])))
            continue;
        int64_t cut = (int64_t)((double)host_time->before_call[i] * share);
        cut = MIN(cut, run->host_time[i]);
        run->host_time[i] -= cut;
        run->touched += cut != 0;
        sum += host_time_in_part(replay, i, cut);
    }
    for (uint32_t i = 0; i < replay->threads; i++)
        if (everywhere && host_time->tail[i]) {
            int64_t cut = (int64_t)((double)host_time->tail[i] * share);
            run->tail[i] -= MIN(cut, run->tail[i]);
            run->touched += cut != 0;
            sum += replay->narrowed ? 0 : cut; /* no device waits for it */
        }
    return sum;
}

static int64_t cut_outliers(struct run *run) {
    const struct replay *replay = run->replay;
    int64_t sum = 0, typical = MAX(replay->host_time_typical, 0);
    uint32_t previous = NO_ROW;
    for (uint32_t i = 0; i < replay->calls; i++) {
        if (!is_outer(replay, i))
            continue;
        bool has_before = replay->follows[i] != NO_ROW ||
                          (previous != NO_ROW &&
                           replay->trace->call.thread[previous] == replay->trace->call.thread[i]);
        previous = i;
        if (!has_before || !in_loop(replay, replay->call_step[i]) ||
            run->host_time[i] <= other_work(replay))
            continue;
        sum += host_time_in_part(replay, i, run->host_time[i] - typical);
        run->host_time[i] = typical;
        run->touched++;
    }
    return sum;
}

/* Weights of host code names: ranges by their time, sampled functions by theirs, and the callers of
 * those. */
static void weigh_host_code(const struct trace *trace, int64_t *weight) {
    for (size_t i = 0; i < trace->range.count; i++)
        if (range_is_host_code(trace->range.category[i]))
            weight[trace->range.name[i]] += MAX(trace->range.duration[i], 1);
    for (size_t i = 0; i < trace->sample.count; i++)
        if (trace->sample.stack[i] < trace->stack.count)
            weight[trace->stack.function[trace->sample.stack[i]]] +=
                MAX(trace->sample.weight[i], 1);
    for (size_t i = 0; i < trace->stack.count && trace->sample.count; i++)
        weight[trace->stack.function[i]] = MAX(weight[trace->stack.function[i]], 1);
    if (trace->strings.count)
        weight[0] = 0;
}

/* Whether a thread with calls has such host code. */
static bool calling_thread_has(const struct replay *replay, struct text pattern) {
    const struct model *model = replay->source.model;
    const struct host *host = replay->source.host;
    const struct trace *trace = replay->trace;
    for (size_t thread = 1; thread < replay->threads; thread++) {
        if (model->thread_calls[thread] == model->thread_calls[thread + 1])
            continue;
        for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++)
            if (range_is_host_code(trace->range.category[i]) &&
                name_matches(trace_text(trace, trace->range.name[i]), pattern))
                return true;
        if (host->thread_samples && host->thread_samples[thread] < host->thread_samples[thread + 1])
            return true; /* its sampled functions are not checked one by one */
    }
    return false;
}

/* Why host code that is in the trace cannot be changed; `found` is its time between calls. */
static const char *why_unchanged(const struct replay *replay, struct text pattern, int64_t found) {
    if (replay->calls == 0)
        return "no API calls were recorded, so it is unknown what waits for that code";
    if (found > 0)
        return "that code runs only once, or only before the steady steps";
    if (!calling_thread_has(replay, pattern))
        return "that code runs in a thread that makes no API calls: it already runs in parallel "
               "with the loop";
    return "that code takes no time between API calls";
}

/* Distinguishes a name that matches nothing from host code that cannot be changed. Without a
 * pattern, the reason is `unnamed`. */
static bool explain_no_host_code(const struct replay *replay, struct text pattern, int64_t found,
                                 const char *unnamed, struct outcome *outcome,
                                 struct status *status) {
    const struct trace *trace = replay->trace;
    int64_t *weight = memory_allocate(trace->strings.count, sizeof *weight, status);
    if (!weight)
        return false;
    weigh_host_code(trace, weight);
    if (pattern.length == 0 || name_is_present(trace, pattern, weight))
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s",
                 pattern.length ? why_unchanged(replay, pattern, found) : unnamed);
    else if (!explain_no_match(outcome, trace, "range or sampled function", pattern, weight))
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "the trace has no ranges and no samples, so host code has no names");
    memory_free(weight);
    return true;
}

bool change_no_host(struct run *run, const struct change *change, struct outcome *outcome,
                    struct status *status) {
    char time[FORMAT_SIZE];
    struct host_time host_time = {0};
    uint64_t before = run->touched;
    if (!run_edit_calls(run, status) || !RUN_WRITABLE(run, tail, run->replay->threads, status))
        return false;
    int64_t cut, found = 0;
    if (change->pattern.length) {
        if (!host_time_find(run->replay, HOST_TIME_NAMED, change->pattern, &host_time, status))
            return false;
        cut = cut_host_time(run, &host_time, 1, run->replay->source.steps->count == 0);
        found = host_time.total;
        host_time_finish(&host_time);
    } else {
        cut = cut_outliers(run);
    }
    outcome->applicable = run->touched > before;
    if (!outcome->applicable)
        return explain_no_host_code(run->replay, change->pattern, found,
                                    "no host time between calls is unusually long", outcome,
                                    status);
    snprintf(outcome->what, OUTCOME_TEXT, "%s of host code is removed", format_duration(cut, time));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "the loop does not need that code's results, or has them beforehand");
    run->assumption_error += 0.08;
    return true;
}

bool host_faster(struct run *run, const struct change *change, struct outcome *outcome,
                 struct status *status) {
    char time[FORMAT_SIZE];
    struct host_time host_time;
    bool all = text_is(change->pattern, "host");
    uint64_t before = run->touched;
    if (!run_edit_calls(run, status) || !RUN_WRITABLE(run, tail, run->replay->threads, status) ||
        !host_time_find(run->replay, all ? HOST_TIME_ALL : HOST_TIME_NAMED, change->pattern,
                        &host_time, status))
        return false;
    int64_t cut = cut_host_time(run, &host_time, 1 - 1 / change->factor, true);
    host_time_finish(&host_time);
    outcome->applicable = run->touched > before;
    if (!outcome->applicable) {
        if (change->factor == 1)
            snprintf(outcome->why_not, OUTCOME_TEXT, "a factor of 1 changes nothing");
        else if (all)
            snprintf(outcome->why_not, OUTCOME_TEXT, "no host time between calls was recorded");
        else
            return explain_no_kernel(run, "kernel, range or sampled function", change->pattern,
                                     "no host code of that name runs between calls", outcome,
                                     status);
        return true;
    }
    snprintf(outcome->what, OUTCOME_TEXT, "host code takes %s %s",
             format_duration(cut < 0 ? -cut : cut, time), cut < 0 ? "more" : "less");
    snprintf(outcome->assumes, OUTCOME_TEXT, "API calls take as long as before");
    run->assumption_error += 0.02;
    return true;
}

/* The loader prepares batches one after another, starting at the first call that waited for one; a
 * step starts when its batch is ready. */
static int64_t move_input(struct run *run, const struct host_time *host_time) {
    const struct replay *replay = run->replay;
    int64_t loaded = 0, moved = 0, other = 0; /* other: time of input of another name so far */
    for (uint32_t i = 0; i < replay->calls; i++) {
        int64_t time = MIN(host_time->before_call[i], run->host_time[i]);
        bool has_other = run->loader_at[i] != NEVER;
        if (has_other) {
            loaded += run->loader_at[i] - other;
            other = run->loader_at[i];
            run->loader_at[i] = loaded;
        }
        if (time <= 0 || !in_loop(replay, replay->call_step[i]))
            continue;
        if (run->loader_call == NO_ROW)
            run->loader_call = i;
        if (i <= run->loader_call)
            continue; /* the first batch is still waited for */
        if (replay->trace->call.thread[i] != replay->trace->call.thread[run->loader_call])
            continue; /* another thread has its own loader */
        loaded += time;
        run->loader_at[i] = loaded;
        run->host_time[i] -= time;
        run->touched++;
        moved += host_time_in_part(replay, i, time);
    }
    return moved;
}

bool change_prefetch(struct run *run, const struct change *change, struct outcome *outcome,
                     struct status *status) {
    char time[FORMAT_SIZE];
    struct host_time host_time;
    enum host_time_filter of = change->pattern.length ? HOST_TIME_NAMED : HOST_TIME_INPUT;
    bool first = run->loader_at == NULL;
    uint64_t before = run->touched;
    if (!run_edit_calls(run, status) ||
        !RUN_MAKE_ONCE(run, loader_at, run->replay->calls, status) ||
        !host_time_find(run->replay, of, change->pattern, &host_time, status))
        return false;
    for (uint32_t i = 0; i < run->replay->calls && first; i++)
        run->loader_at[i] = NEVER;
    int64_t moved = move_input(run, &host_time), found = host_time.total;
    host_time_finish(&host_time);
    outcome->applicable = run->touched > before;
    if (!outcome->applicable)
        return explain_no_host_code(
            run->replay, change->pattern, found,
            "no range or sampled function that prepares input takes host time in the loop", outcome,
            status);
    snprintf(outcome->what, OUTCOME_TEXT, "%s of input preparation moves to another worker",
             format_duration(moved, time));
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "one worker prepares a batch as fast as the loop did, and a CPU core is free for it");
    run->assumption_error += 0.1;
    return true;
}
