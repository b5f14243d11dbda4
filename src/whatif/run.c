/* Applies changes and evaluates the result. Changes that remove things come before those that merge
 * what is then adjacent. */
#include "whatif/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/format.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "whatif/names.h"

const char *change_option(unsigned kind) {
    static const char *const options[] = {
#define CHANGE_OPTION(ID, option) option,
        CHANGES(CHANGE_OPTION)};
    return kind < CHANGE_COUNT ? options[kind] : "?";
}

/* In order of application. */
static const struct {
    enum change_kind kind;
    change_maker *make;
} makers[] = {
    {CHANGE_BATCH, change_batch},
    {CHANGE_NO_COMPILE, change_no_compile},
    {CHANGE_NO_ALLOC, change_no_alloc},
    {CHANGE_NO_HOST, change_no_host},
    {CHANGE_PREFETCH, change_prefetch},
    {CHANGE_NO_SYNC, change_no_sync},
    {CHANGE_FULL_CLOCK, change_full_clock},
    {CHANGE_AT_ROOF, change_at_roof},
    {CHANGE_FASTER, change_faster},
    {CHANGE_FUSE, change_fuse},
    {CHANGE_PINNED, change_pinned},
    {CHANGE_BATCH_COPIES, change_batch_copies},
    {CHANGE_OVERLAP_COPIES, change_overlap_copies},
    {CHANGE_QUEUES, change_queues},
    {CHANGE_GRAPH, change_graph},
};
enum { MAKERS = ARRAY_COUNT(makers) };

/* ---- texts of an outcome ---- */

/* Texts have a fixed size and names any length: a name is cut between characters, a text between
 * words. */

static const char cut_mark[] = "\xE2\x80\xA6";

void text_join(char *to, const char *words) {
    size_t length = strlen(to), room = OUTCOME_TEXT - length, mark = sizeof cut_mark - 1;
    bool is_cut = length >= mark && memcmp(to + length - mark, cut_mark, mark) == 0;
    if (words[0] == 0 || is_cut)
        return;
    int needed = snprintf(to + length, room, "%s%s", length ? "; " : "", words);
    if (needed >= 0 && (size_t)needed < room)
        return;
    size_t end = OUTCOME_TEXT - sizeof cut_mark;
    while (end > 0 && to[end] != ' ')
        end--;
    memcpy(to + end, cut_mark, sizeof cut_mark);
}

/* Appends a name, or its beginning. */
static void append_name(char *to, const char *before, struct text name) {
    enum { LONGEST = 60 };
    size_t length = strlen(to);
    struct text shown = {name.data, name.length < LONGEST ? name.length : LONGEST};
    shown.length = text_utf8_valid(shown);
    snprintf(to + length, OUTCOME_TEXT - length, "%s%.*s%s", before, TEXT_ARGS(shown),
             shown.length < name.length ? cut_mark : "");
}

bool name_is_present(const struct trace *trace, struct text pattern, const int64_t *weight) {
    for (uint32_t i = 0; i < trace->strings.count; i++)
        if (weight[i] > 0 && name_matches(trace_text(trace, i), pattern))
            return true;
    return false;
}

bool explain_no_match(struct outcome *outcome, const struct trace *trace, const char *what,
                      struct text pattern, const int64_t *weight) {
    enum { SHOWN = 3 };
    uint32_t shown[SHOWN];
    size_t count = 0, names = 0;
    for (uint32_t i = 0; i < trace->strings.count; i++) {
        if (weight[i] <= 0)
            continue;
        names++;
        size_t place = count < SHOWN ? count++ : SHOWN;
        for (; place > 0 && weight[shown[place - 1]] < weight[i]; place--)
            if (place < SHOWN)
                shown[place] = shown[place - 1];
        if (place < SHOWN)
            shown[place] = i;
    }
    if (names == 0)
        return false;
    char *text = outcome->why_not;
    snprintf(text, OUTCOME_TEXT, "no %s is named ", what);
    append_name(text, "", pattern);
    for (size_t i = 0; i < count; i++)
        append_name(text, i ? ", " : "; the trace has ", trace_text(trace, shown[i]));
    if (names > count) {
        char more[FORMAT_SIZE];
        size_t length = strlen(text);
        snprintf(text + length, OUTCOME_TEXT - length, " and %s more",
                 format_count(names - count, more));
    }
    return true;
}

/* ---- edits ---- */

bool run_edit_calls(struct run *run, struct status *status) {
    size_t calls = run->replay->calls;
    return RUN_WRITABLE(run, host_time, calls, status) &&
           RUN_WRITABLE(run, call_cost, calls, status) &&
           RUN_MAKE_ONCE(run, call_removed, calls, status);
}

bool run_edit_activities(struct run *run, struct status *status) {
    size_t activities = run->replay->activities;
    return RUN_WRITABLE(run, duration, activities, status) &&
           RUN_MAKE_ONCE(run, activity_removed, activities, status);
}

uint32_t run_call_before(const struct replay *replay, uint32_t call) {
    if (replay->follows[call] != NO_ROW)
        return replay->follows[call];
    if (call == 0 || replay->trace->call.thread[call - 1] != replay->trace->call.thread[call])
        return NO_ROW;
    return replay->outer[call - 1];
}

/* The first call of a thread has no host time before it. */
void run_drop_call(struct run *run, uint32_t call, bool host_time_too) {
    run->touched += !run->call_removed[call];
    run->call_removed[call] = 1;
    run->call_cost[call] = 0;
    if (host_time_too && run_call_before(run->replay, call) != NO_ROW)
        run->host_time[call] = 0;
}

void run_drop_host_time(struct run *run, uint32_t call) {
    enum { TYPICAL_FACTOR = 2 }; /* operations differ in length */
    const struct replay *replay = run->replay;
    int64_t cut_max = TYPICAL_FACTOR * (MAX(replay->host_time_typical, 0) + replay->launch_call);
    if (run_call_before(replay, call) != NO_ROW)
        run->host_time[call] -= MIN(MAX(run->host_time[call], 0), cut_max);
}

void run_drop_operation(struct run *run, uint32_t call) {
    run_drop_call(run, call, false);
    run_drop_host_time(run, call);
}

void run_drop_activity(struct run *run, uint32_t activity) {
    run->touched += !run->activity_removed[activity];
    run->activity_removed[activity] = 1;
    run->duration[activity] = 0;
}

/* ---- running changes ---- */

static bool make_change(struct run *run, change_maker *make, const struct change *change,
                        struct outcome *outcome, struct status *status) {
    struct outcome one = {.applicable = false};
    if (!make(run, change, &one, status))
        return false;
    text_join(outcome->what, one.what);
    if (!strstr(outcome->assumes, one.assumes)) /* two changes may have the same assumption */
        text_join(outcome->assumes, one.assumes);
    text_join(outcome->why_not, one.why_not);
    outcome->applicable |= one.applicable;
    return true;
}

static bool make_changes(struct run *run, const struct change *changes, size_t count,
                         struct outcome *outcome, struct status *status) {
    for (unsigned m = 0; m < MAKERS; m++)
        for (size_t i = 0; i < count; i++)
            if (changes[i].kind == makers[m].kind &&
                !make_change(run, makers[m].make, &changes[i], outcome, status))
                return false;
    return true;
}

/* Whether more than one activity in twenty has no recorded launch. A sample begins and ends with
 * parts of chunks, which do not count. */
static bool lacks_launches(const struct replay *replay) {
    const struct model *model = replay->source.model;
    uint64_t unlaunched = 0, all = 0;
    if (!replay->source.stands_for)
        return (model->unmatched_early + model->unmatched_lost) * 20 > replay->activities;
    for (uint32_t device = 1; device < replay->devices; device++)
        for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++)
            if (selection_contains(&replay->source.selections[device],
                                   replay->trace->activity.start[i])) {
                unlaunched += replay->launch[i] == NO_ROW;
                all++;
            }
    return unlaunched * 20 > all;
}

/* Assumptions that incomplete traces need. */
static void add_assumptions(const struct replay *replay, struct outcome *outcome) {
    if (replay->activities == 0 && replay->calls > 0)
        text_join(outcome->assumes, "the host waits for no device work, since none was recorded");
    else if (lacks_launches(replay))
        text_join(outcome->assumes,
                  "activities without a recorded launch keep their distance to the previous one");
}

static int64_t measured_time(const struct replay *replay) {
    int64_t longest = 0;
    if (!replay->narrowed)
        return replay->measured;
    for (uint32_t device = 1; device < replay->devices; device++)
        longest = MAX(longest, selection_length(&replay->windows[device]));
    return longest;
}

/* Nothing needs to be computed. */
static bool is_unchanged(const struct run *run, const struct outcome *outcome) {
    return !outcome->applicable && run_is_unchanged(run);
}

static void scale(int64_t *time, double factor) {
    *time = (int64_t)((double)*time * factor);
}

/* From the sample to the run that it stands for. Counts in texts are those of the sample. */
static void scale_outcome(const struct replay *replay, struct outcome *outcome) {
    if (!replay->source.sampled || replay->source.stands_for <= 0 || outcome->before <= 0)
        return;
    const double sampling_error = 0.05; /* of the gain */
    double factor = (double)replay->source.stands_for / (double)outcome->before;
    char words[OUTCOME_TEXT + 100];
    scale(&outcome->unchanged, factor);
    scale(&outcome->after, factor);
    scale(&outcome->error, factor);
    outcome->before = replay->source.stands_for;
    outcome->error += (int64_t)(sampling_error * (double)llabs(outcome->before - outcome->after));
    outcome->touched = (uint64_t)((double)outcome->touched * factor);
    for (size_t i = 0; i < outcome->device_count; i++) {
        struct outcome_device *device = &outcome->devices[i];
        int64_t *parts[] = {&device->busy, &device->exposed_communication, &device->exposed_copy,
                            &device->idle};
        device->window = 0; /* the parts still sum up to it */
        for (size_t k = 0; k < ARRAY_COUNT(parts); k++) {
            scale(parts[k], factor);
            device->window += *parts[k];
        }
        for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
            scale(&device->cause[cause], factor);
    }
    if (outcome->what[0]) {
        snprintf(words, sizeof words, "in %s, %s", replay->source.sampled, outcome->what);
        outcome->what[0] = 0;
        text_join(outcome->what, words);
    }
    snprintf(words, sizeof words, "the other steps are like %s, which were replayed",
             replay->source.sampled);
    text_join(outcome->assumes, words);
}

static bool run_changes(const struct replay *replay, const struct change *changes, size_t count,
                        bool account, struct outcome *outcome, struct status *status) {
    struct run run;
    memset(outcome, 0, sizeof *outcome);
    run_begin(&run, replay);
    bool ok = make_changes(&run, changes, count, outcome, status);
    bool as_it_was = ok && !account && is_unchanged(&run, outcome);
    if (!as_it_was)
        ok =
            ok && replay_evaluate(&run, status) && (!account || run_account(&run, outcome, status));
    if (ok) {
        outcome->before = measured_time(replay);
        outcome->unchanged = replay->unchanged;
        outcome->after = as_it_was ? replay->unchanged : run_time(&run);
        outcome->touched = run.touched;
        outcome->error = llabs(outcome->unchanged - outcome->before);
        if (count && outcome->applicable) {
            double assumption_error = run.assumption_error < 1
                                          ? run.assumption_error
                                          : 1; /* at most the whole gain is wrong */
            outcome->error +=
                run_error_bound(&run) +
                (int64_t)(assumption_error * (double)llabs(outcome->before - outcome->after));
        }
        add_assumptions(replay, outcome);
        scale_outcome(replay, outcome);
    }
    run_finish(&run);
    if (!ok)
        outcome_finish(outcome);
    return ok;
}

bool replay_run(const struct replay *replay, const struct change *changes, size_t count,
                struct outcome *outcome, struct status *status) {
    return run_changes(replay, changes, count, true, outcome, status);
}

bool replay_predict(const struct replay *replay, const struct change *changes, size_t count,
                    struct outcome *outcome, struct status *status) {
    return run_changes(replay, changes, count, false, outcome, status);
}

void outcome_finish(struct outcome *outcome) {
    memory_free(outcome->devices);
    memset(outcome, 0, sizeof *outcome);
}

/* ---- ranking all changes ---- */

static struct text busiest_kernel(const struct replay *replay, struct status *status) {
    struct run run;
    struct outcome outcome = {.device_count = 0};
    run_begin(&run, replay);
    struct text name = TEXT("");
    if (replay_evaluate(&run, status) && run_account(&run, &outcome, status))
        name = outcome.next_kernel;
    run_finish(&run);
    memory_free(outcome.devices);
    return name;
}

struct ranking {
    const struct replay *replay;
    struct ranked_change *ranked;
};

static bool run_one(void *context, size_t index, struct status *status) {
    struct ranking *ranking = context;
    struct ranked_change *one = &ranking->ranked[index];
    return replay_run(ranking->replay, &one->change, 1, &one->outcome, status);
}

static int by_gain(const void *a, const void *b) {
    const struct ranked_change *x = a, *y = b;
    if (x->outcome.applicable != y->outcome.applicable)
        return x->outcome.applicable ? -1 : 1;
    if (x->outcome.applicable && x->outcome.after != y->outcome.after)
        return x->outcome.after < y->outcome.after ? -1 : 1;
    return x->change.kind < y->change.kind ? -1 : x->change.kind > y->change.kind;
}

bool replay_rank(const struct replay *replay, struct ranked_change **ranked, size_t *count,
                 struct status *status) {
    struct ranking ranking = {.replay = replay};
    size_t made = 0;
    *ranked = NULL;
    *count = 0;
    struct text kernel = busiest_kernel(replay, status);
    if (status->code != STATUS_OK)
        return false;
    ranking.ranked = memory_allocate(CHANGE_COUNT + 1, sizeof *ranking.ranked, status);
    if (!ranking.ranked)
        return false;
    for (unsigned kind = 0; kind < CHANGE_COUNT; kind++) {
        struct change change = {.kind = kind, .factor = 2};
        if (kind == CHANGE_FASTER) { /* two entries: the kernel with most time, and the host */
            change.pattern = kernel;
            if (kernel.length)
                ranking.ranked[made++].change = change;
            change.pattern = TEXT("host");
        }
        ranking.ranked[made++].change = change;
    }
    if (!parallel_run(made, run_one, &ranking, status)) {
        replay_rank_finish(ranking.ranked, made);
        return false;
    }
    qsort(ranking.ranked, made, sizeof *ranking.ranked, by_gain);
    *ranked = ranking.ranked;
    *count = made;
    return true;
}

void replay_rank_finish(struct ranked_change *ranked, size_t count) {
    for (size_t i = 0; ranked && i < count; i++)
        outcome_finish(&ranked[i].outcome);
    memory_free(ranked);
}
