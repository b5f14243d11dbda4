/* What if synchronizing or allocating calls were removed? */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "whatif/names.h"
#include "whatif/run.h"

/* A copy of at most this many bytes fetches a value or a few. */
enum { VALUE_BYTES = 4096 };

bool explain_no_call(const struct run *run, struct outcome *outcome, unsigned class,
                     struct text pattern, const char *call, const char *none,
                     struct status *status) {
    const struct replay *replay = run->replay;
    int64_t *weight = memory_allocate(replay->trace->strings.count, sizeof *weight, status);
    if (!weight)
        return false;
    for (uint32_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i) && replay->class[i] == class &&
            in_loop(replay, replay->call_step[i]))
            weight[replay->trace->call.name[i]]++;
    if (pattern.length && name_is_present(replay->trace, pattern, weight))
        snprintf(outcome->why_not, OUTCOME_TEXT,
                 "every %s of that name is the last one of the run, or another change removes it",
                 call);
    else if (!pattern.length || !explain_no_match(outcome, replay->trace, call, pattern, weight))
        snprintf(outcome->why_not, OUTCOME_TEXT, "%s", none);
    memory_free(weight);
    return true;
}

/* When each process made its last launch; free with memory_free(). */
static int64_t *last_launches(const struct replay *replay, struct status *status) {
    const struct trace *trace = replay->trace;
    int64_t *last = memory_allocate(trace->process.count, sizeof *last, status);
    for (size_t i = 0; i < trace->process.count && last; i++)
        last[i] = NEVER;
    for (size_t i = 0; i < replay->activities && last; i++) {
        uint32_t call = replay->launch[i];
        if (call == NO_ROW)
            continue;
        int64_t *of = &last[trace->thread.process[trace->call.thread[call]]];
        *of = MAX(*of, replay->call_start[call]);
    }
    return last;
}

bool run_call_matches(const struct run *run, uint32_t call, struct text pattern) {
    return pattern.length == 0 || name_matches(call_name(run->replay, call), pattern) ||
           name_matches(call_range(run->replay, call), pattern);
}

/* Whether a removed synchronization follows the call directly. */
static bool sync_goes_with(const struct run *run, uint32_t call) {
    const struct replay *replay = run->replay;
    enum { NEAR = 3 };
    unsigned seen = 0;
    for (uint32_t i = call + 1; i < replay->calls && seen < NEAR; i++) {
        if (replay->trace->call.thread[i] != replay->trace->call.thread[call])
            return false;
        if (!is_outer(replay, i))
            continue;
        if (replay->class[i] == CALL_SYNC)
            return run->call_removed[i];
        seen++;
    }
    return false;
}

/* A value fetched to be inspected: its copy is removed with the wait for it. */
static void drop_fetches(struct run *run, const struct change *change, const int64_t *last) {
    const struct replay *replay = run->replay;
    const struct trace *trace = replay->trace;
    for (size_t i = 0; i < replay->activities; i++) {
        uint32_t call = replay->launch[i];
        if (call == NO_ROW || trace->activity.kind[i] != ACTIVITY_COPY ||
            trace->activity.direction[i] != COPY_DTOH || trace->activity.bytes[i] > VALUE_BYTES ||
            !in_loop(replay, replay->call_step[call]) ||
            replay->call_start[call] >= last[trace->thread.process[trace->call.thread[call]]])
            continue;
        bool blocks = replay->blocks[call] && run_call_matches(run, call, change->pattern);
        if (blocks || sync_goes_with(run, call)) {
            run_drop_activity(run, (uint32_t)i);
            run_drop_operation(run, call);
        }
    }
}

bool change_no_sync(struct run *run, const struct change *change, struct outcome *outcome,
                    struct status *status) {
    const struct replay *replay = run->replay;
    const struct trace *trace = replay->trace;
    int64_t *last = last_launches(replay, status);
    if (!last || !run_edit_calls(run, status) || !run_edit_activities(run, status)) {
        memory_free(last);
        return false;
    }
    uint64_t syncs = 0, before = run->touched;
    for (uint32_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i) && replay->class[i] == CALL_SYNC && !run->call_removed[i] &&
            in_loop(replay, replay->call_step[i]) &&
            replay->call_start[i] < last[trace->thread.process[trace->call.thread[i]]] &&
            run_call_matches(run, i, change->pattern)) {
            run_drop_operation(run, i);
            syncs++;
        }
    drop_fetches(run, change, last);
    memory_free(last);
    uint64_t fetches = (run->touched - before - syncs) / 2;
    outcome->applicable = run->touched > before;
    if (!outcome->applicable)
        return explain_no_call(run, outcome, CALL_SYNC, change->pattern,
                               "synchronizing call in the loop",
                               "the loop has no synchronizing calls", status);
    char a[FORMAT_PLURAL_SIZE], b[FORMAT_PLURAL_SIZE];
    format_plural(syncs, "wait", "waits", a);
    format_plural(fetches, "fetched value", "fetched values", b);
    snprintf(outcome->what, OUTCOME_TEXT, "%s%s%s %s removed", syncs ? a : "",
             syncs && fetches ? " and " : "", fetches ? b : "",
             syncs + fetches == 1 ? "is" : "are");
    snprintf(outcome->assumes, OUTCOME_TEXT,
             "the host needs no results from the device inside the loop");
    run->assumption_error += 0.3;
    return true;
}

uint64_t run_drop_class(struct run *run, unsigned class, struct text pattern) {
    const struct replay *replay = run->replay;
    uint64_t count = 0;
    for (uint32_t i = 0; i < replay->calls; i++)
        if (is_outer(replay, i) && replay->class[i] == class && !run->call_removed[i] &&
            in_loop(replay, replay->call_step[i]) && run_call_matches(run, i, pattern)) {
            run_drop_call(run, i, false);
            count++;
        }
    return count;
}

static bool is_release(const struct replay *replay, uint32_t call) {
    return text_find(call_name(replay, call), "Free") >= 0;
}

/* An allocation is part of an operation that stays, with its memory from elsewhere. A release is an
 * operation of its own, and so is an allocation directly after another. */
static void drop_host_time_of_allocations(struct run *run, struct text pattern) {
    const struct replay *replay = run->replay;
    for (uint32_t i = 0; i < replay->calls; i++) {
        if (!is_outer(replay, i) || replay->class[i] != CALL_ALLOC || !run->call_removed[i] ||
            !run_call_matches(run, i, pattern))
            continue;
        uint32_t before = run_call_before(replay, i);
        bool again =
            before != NO_ROW && replay->class[before] == CALL_ALLOC && !is_release(replay, before);
        if (is_release(replay, i) || again)
            run_drop_host_time(run, i);
    }
}

bool change_no_alloc(struct run *run, const struct change *change, struct outcome *outcome,
                     struct status *status) {
    char count[FORMAT_PLURAL_SIZE];
    if (!run_edit_calls(run, status))
        return false;
    uint64_t dropped = run_drop_class(run, CALL_ALLOC, change->pattern);
    drop_host_time_of_allocations(run, change->pattern);
    outcome->applicable = dropped > 0;
    if (!dropped)
        return explain_no_call(run, outcome, CALL_ALLOC, change->pattern,
                               "allocating or freeing call in the loop",
                               "nothing is allocated or freed inside the loop", status);
    snprintf(outcome->what, OUTCOME_TEXT, "%s %s removed",
             format_plural(dropped, "allocation or release", "allocations and releases", count),
             dropped == 1 ? "is" : "are");
    snprintf(outcome->assumes, OUTCOME_TEXT, "memory allocated once suffices for every step");
    run->assumption_error += 0.3;
    return true;
}
