/* Applies the rules, ranks the findings by expected gain without counting any time twice, and
 * writes the headline.
 *
 * Expected gain is recoverable time times confidence. If the error bars of two predictions overlap,
 * both findings mostly describe the same time (a synchronization in the loop and the launches after
 * it); then the more specific one, which is also easier to fix, comes first. A finding below its
 * own error bar or below a few percent of the time is minor.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

/* Rules that claim part of the host time run before diagnose_host(). */
static diagnose_rule *const rule_table[] = {
    diagnose_compilation, diagnose_loading, diagnose_allocation,    diagnose_transfers,
    diagnose_cpu,         diagnose_reads,   diagnose_host,          diagnose_sync,
    diagnose_launch,      diagnose_kernels, diagnose_grids,         diagnose_steps,
    diagnose_clock,       diagnose_memory,  diagnose_communication, diagnose_catalogue,
    diagnose_counters,
};

/* How specific a finding is, and the expected gain, as a share of the time, that makes it
 * significant. Fixes that restructure the program need a larger gain than fixes that remove what
 * does not belong into a loop: every program has some of the former. */
static const struct {
    unsigned order; /* lower is more specific */
    double min_share;
} kind_traits[FINDING_COUNT] = {
    [FINDING_COMPILATION] = {1, 0.03},
    [FINDING_ALLOCATION] = {2, 0.03},
    [FINDING_ON_CPU] = {3, 0.05},
    [FINDING_NO_PROCESSOR] = {3, 0.05},
    [FINDING_BLOCKED] = {3, 0.05},
    [FINDING_HOST_MEMORY] = {24, 0},
    [FINDING_SMALL_TRANSFERS] = {4, 0.03},
    [FINDING_PAGEABLE] = {5, 0.03},
    [FINDING_INPUT_PIPELINE] = {6, 0.03},
    [FINDING_HOST_BOUND] = {7, 0.04},
    [FINDING_SYNC_IN_LOOP] = {8, 0.03},
    [FINDING_EXPOSED_TRANSFERS] = {9, 0.04},
    [FINDING_RANK_IMBALANCE] = {9, 0.04},
    [FINDING_SMALL_MESSAGES] = {9, 0.04},
    [FINDING_EXPOSED_COMMUNICATION] = {10, 0.04},
    [FINDING_THROTTLING] = {10, 0.04},
    [FINDING_MEMORY_PRESSURE] = {11, 0.03},
    [FINDING_SMALL_GRID] = {12, 0.06},
    [FINDING_LAUNCH_BOUND] = {13, 0.08},
    [FINDING_TINY_KERNELS] = {14, 0.08},
    [FINDING_MEMORY_BOUND] = {15, 0.15},
    [FINDING_COMPUTE_BOUND] = {16, 0.08},
    [FINDING_LATENCY_BOUND] = {17, 0.10},
    [FINDING_TAIL] = {18, 0.10},
    [FINDING_LOW_OCCUPANCY] = {19, 0.10},
    [FINDING_ONE_QUEUE] = {20, 0.10},
    [FINDING_UNCOALESCED] = {14, 0.05},
    [FINDING_BANK_CONFLICTS] = {14, 0.05},
    [FINDING_DIVERGENCE] = {14, 0.05},
    [FINDING_SPILLS] = {19, 0},
    [FINDING_STALLS] = {20, 0},
    [FINDING_IRREGULAR_STEPS] = {21, 0.08},
    [FINDING_STARTUP] = {22, 0},
    [FINDING_UNDECIDED] = {22, 0},
    [FINDING_HEALTHY] = {23, 0},
};

/* Without the profiler's own time: what only its recording costs is no fault of the program. */
static double expected_gain(const struct diagnosis *diagnosis, const struct finding *finding) {
    static const double weights[] = {0.4, 0.75, 1};
    return gain_without_profiler(diagnosis, finding) * weights[finding->confidence];
}

/* Other arithmetic than the program requested is an option, not a fault: compute-bound leads only
 * if nothing else is significant. */
static bool is_significant(const struct diagnosis *diagnosis, const struct finding *finding) {
    return finding->kind != FINDING_COMPUTE_BOUND && !finding->remark &&
           expected_gain(diagnosis, finding) >=
               kind_traits[finding->kind].min_share * (double)diagnosis->verdict->time &&
           finding->recoverable > 0 && finding->recoverable >= finding->error;
}

static void swap_findings(struct finding *a, struct finding *b) {
    struct finding kept = *a;
    *a = *b;
    *b = kept;
}

static enum effort least_effort(const struct finding *finding) {
    enum effort least = EFFORT_DESIGN;
    for (size_t i = 0; i < finding->fix_count; i++)
        least = finding->fixes[i].effort < least ? finding->fixes[i].effort : least;
    return least;
}

/* A setting that recovers nearly as much comes before a change of the program. */
#define NEARLY 0.85

static bool is_easier(const struct diagnosis *diagnosis, const struct finding *below,
                      const struct finding *above) {
    return least_effort(below) == EFFORT_SETTING && least_effort(above) != EFFORT_SETTING &&
           below->recoverable > 0 && below->kind != FINDING_COMPUTE_BOUND &&
           expected_gain(diagnosis, below) >= NEARLY * expected_gain(diagnosis, above);
}

/* Whether `below`, with the smaller expected gain, still ranks before `above`: it is easier, or
 * the error bars overlap, and it is more specific. Kernels shorter than the gaps between them are
 * launch-bound; fusing them is one way to fix that. */
static bool precedes(const struct diagnosis *diagnosis, const struct finding *below,
                     const struct finding *above) {
    if (below->kind == FINDING_LAUNCH_BOUND && above->kind == FINDING_TINY_KERNELS)
        return diagnosis->facts.short_idle > diagnosis->facts.kernels.short_time;
    if (is_easier(diagnosis, below, above))
        return true;
    double apart =
        gain_without_profiler(diagnosis, above) - gain_without_profiler(diagnosis, below);
    return kind_traits[below->kind].order < kind_traits[above->kind].order &&
           apart <= hypot((double)above->error, (double)below->error);
}

static void rank_findings(const struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    struct finding *list = verdict->findings;
    for (size_t i = 1; i < verdict->count; i++)
        for (size_t k = i;
             k > 0 && expected_gain(diagnosis, &list[k]) > expected_gain(diagnosis, &list[k - 1]);
             k--)
            swap_findings(&list[k], &list[k - 1]);
    for (size_t i = 1; i < verdict->count; i++)
        for (size_t k = i; k > 0 && precedes(diagnosis, &list[k], &list[k - 1]); k--)
            swap_findings(&list[k], &list[k - 1]);
}

/* Copies that take most of the time lead unless another finding recovers half of it. */
static void promote_dominant(struct diagnosis *diagnosis) {
    struct finding *list = diagnosis->verdict->findings;
    for (size_t i = 0; i < diagnosis->verdict->count; i++)
        if (list[i].holds && 2 * list[0].recoverable < diagnosis->facts.exposed_copy) {
            list[i].minor = false;
            for (size_t k = i; k > 0; k--)
                swap_findings(&list[k], &list[k - 1]);
            return;
        }
}

/* Significant findings first; without any, those that characterize the run; then minor ones. */
static void partition_findings(struct diagnosis *diagnosis) {
    struct finding *list = diagnosis->verdict->findings;
    size_t placed = 0;
    for (unsigned pass = 0; pass < 2 && (pass == 0 || placed == 0); pass++)
        for (size_t i = placed; i < diagnosis->verdict->count; i++) {
            if (pass == 0 ? !is_significant(diagnosis, &list[i]) : !list[i].decides)
                continue;
            list[i].minor = false;
            for (size_t k = i; k > placed; k--)
                swap_findings(&list[k], &list[k - 1]);
            placed++;
        }
    for (size_t i = placed; i < diagnosis->verdict->count; i++)
        list[i].minor = true;
}

/* Drops minor findings below 1 % of the time. */
static void drop_insignificant(struct verdict *verdict) {
    for (size_t i = verdict->count; i > 0; i--) {
        struct finding *finding = &verdict->findings[i - 1];
        bool notable = finding->recoverable >= verdict->time / 100;
        if (!finding->minor || notable || (finding->remark && finding->recoverable == 0))
            continue;
        finding_finish(finding);
        verdict->count--;
        memmove(finding, finding + 1, (verdict->count - (i - 1)) * sizeof *finding);
    }
}

static bool has_change(const struct change *changes, size_t count, const struct change *change) {
    for (size_t i = 0; i < count; i++)
        if (changes[i].kind == change->kind && text_equal(changes[i].pattern, change->pattern))
            return true;
    return false;
}

/* Gain of each finding on top of those before it: all their changes are replayed together. */
static void find_additional(struct diagnosis *diagnosis) {
    enum { CHANGES_MAX = 64 };
    struct verdict *verdict = diagnosis->verdict;
    struct change changes[CHANGES_MAX];
    size_t count = 0;
    int64_t total = 0;
    for (size_t i = 0; i < verdict->count; i++) {
        struct finding *finding = &verdict->findings[i];
        size_t before = count;
        for (size_t k = 0; k < finding->change_count && count < CHANGES_MAX; k++)
            if (!has_change(changes, count, &finding->changes[k]))
                changes[count++] = finding->changes[k];
        int64_t gain = total;
        if (i == 0)
            gain = finding->recoverable;
        else if (finding->change_count == 0) /* not replayed: the part that exceeds the others */
            gain = finding->recoverable > total ? finding->recoverable : total;
        else if (count > before) /* else the findings above have the same changes */
            gain = predict_changes(diagnosis, changes, count).gain;
        finding->additional = gain > total ? gain - total : 0;
        if (finding->additional > finding->recoverable)
            finding->additional = finding->recoverable;
        total += finding->additional;
    }
}

/* ---- headline, what to do, caution ---- */

/* Two ways to start a headline: "The GPU is idle N % of the time, <idle>" and "<cost> about N % of
 * the time". `idle` is NULL for findings that are not about idle time. */
static const struct {
    const char *cost, *idle;
} headlines[FINDING_COUNT] = {
    [FINDING_LAUNCH_BOUND] = {"Waiting for kernel launches costs", "waiting for kernel launches"},
    [FINDING_TINY_KERNELS] = {"Running small operations as separate kernels costs", NULL},
    [FINDING_HOST_BOUND] = {"Waiting for host code between launches costs",
                            "waiting for host code between launches"},
    [FINDING_SYNC_IN_LOOP] = {"Synchronization in the loop costs",
                              "because the host synchronizes in the loop"},
    [FINDING_EXPOSED_TRANSFERS] = {"Copies that do not overlap with kernels cost", NULL},
    [FINDING_EXPOSED_COMMUNICATION] = {"Communication that does not overlap with compute kernels "
                                       "costs",
                                       NULL},
    [FINDING_SMALL_MESSAGES] = {"Many small collectives cost", NULL},
    [FINDING_RANK_IMBALANCE] = {"Waiting for slower devices in collectives costs", NULL},
    [FINDING_SMALL_TRANSFERS] = {"Many small copies cost", NULL},
    [FINDING_PAGEABLE] = {"Copies through pageable host memory cost", NULL},
    [FINDING_ALLOCATION] = {"Memory allocation in the loop costs",
                            "because the host allocates memory in the loop"},
    [FINDING_COMPILATION] = {"Compiling or loading code costs",
                             "because the host compiles or loads code"},
    [FINDING_MEMORY_BOUND] = {"Memory-bound kernels below their roof cost", NULL},
    [FINDING_COMPUTE_BOUND] = {"Slow matrix products cost", NULL},
    [FINDING_LATENCY_BOUND] = {"Kernels too short to reach a roof cost", NULL},
    [FINDING_LOW_OCCUPANCY] = {"Low occupancy costs", NULL},
    [FINDING_UNCOALESCED] = {"Uncoalesced memory access costs", NULL},
    [FINDING_BANK_CONFLICTS] = {"Bank conflicts in shared memory cost", NULL},
    [FINDING_DIVERGENCE] = {"Divergent warps cost", NULL},
    [FINDING_SPILLS] = {"Spilled registers cost", NULL},
    [FINDING_STALLS] = {"Warp stalls cost", NULL},
    [FINDING_SMALL_GRID] = {"Grids too small for the device cost", NULL},
    [FINDING_TAIL] = {"Partly filled last waves cost", NULL},
    [FINDING_ONE_QUEUE] = {"Running small kernels one after another costs", NULL},
    [FINDING_INPUT_PIPELINE] = {"Waiting for input data costs", "waiting for input data"},
    [FINDING_IRREGULAR_STEPS] = {"A few slow steps cost", NULL},
    [FINDING_THROTTLING] = {"A reduced clock costs", NULL},
    [FINDING_MEMORY_PRESSURE] = {"Failed allocations and their retries cost", NULL},
    [FINDING_ON_CPU] = {"Waiting for operators on the CPU costs",
                        "waiting for operators that run on the CPU"},
};

char *whole_percent(double share, char text[FORMAT_SIZE]) {
    double percent = round(100 * share);
    if (percent < 1 && share > 0)
        snprintf(text, FORMAT_SIZE, "<1 %%");
    else if (percent > 99 && share < 1)
        snprintf(text, FORMAT_SIZE, ">99 %%");
    else
        snprintf(text, FORMAT_SIZE, "%.0f %%", percent);
    return text;
}

const char *device_subject(const struct diagnosis *diagnosis) {
    return judges_cpu(diagnosis) ? "The CPU device" : "The GPU";
}

static const char *judged_text(const struct diagnosis *diagnosis) {
    if (diagnosis->source->step_count)
        return "a step";
    return diagnosis->source->narrowed ? "this part of the run" : "the run";
}

/* Whether the finding recovers most of the idle time, and no more than that. */
static bool explains_idle(const struct diagnosis *diagnosis, const struct finding *finding) {
    double idle = share_of(diagnosis->facts.idle, diagnosis->facts.window);
    double gain = share_of(finding->recoverable, diagnosis->verdict->time);
    return headlines[finding->kind].idle && gain > idle / 2 && gain <= idle;
}

static const char *cost_text(const struct finding *finding) {
    if (finding->kind == FINDING_THROTTLING && finding->unexplained)
        return "Kernels that become slower during the run cost";
    bool fuse = finding->change_count && finding->changes[0].kind == CHANGE_FUSE;
    return finding->kind == FINDING_MEMORY_BOUND && fuse ? "Unfused memory-bound kernels cost"
                                                         : headlines[finding->kind].cost;
}

/* What the finding costs; with the idle time if it is a part of that. */
static void write_cost(struct diagnosis *diagnosis, const struct finding *first,
                       struct buffer *line) {
    const struct facts *facts = &diagnosis->facts;
    double idle = share_of(facts->idle, facts->window);
    double gain = share_of(first->recoverable, diagnosis->verdict->time);
    char idle_percent[FORMAT_SIZE], gain_percent[FORMAT_SIZE];
    whole_percent(idle, idle_percent);
    whole_percent(gain, gain_percent);
    if (explains_idle(diagnosis, first))
        buffer_printf(line, "%s is idle %s of the time, %s%s.", device_subject(diagnosis),
                      idle_percent, gain < 0.9 * idle ? "mostly " : "",
                      headlines[first->kind].idle);
    else if (headlines[first->kind].idle && gain <= idle)
        buffer_printf(line, "%s is idle %s of the time. %s about %s.", device_subject(diagnosis),
                      idle_percent, cost_text(first), gain_percent);
    else
        buffer_printf(line, "%s about %s of the time.", cost_text(first), gain_percent);
}

static bool profiler_matters(const struct verdict *verdict) {
    return 20 * verdict->profiler_time > verdict->time;
}

/* The figures of the findings are those of the recording; the headline is about the program. */
static void write_speedup_without_profiler(struct diagnosis *diagnosis, const struct finding *first,
                                           struct buffer *line) {
    const struct verdict *verdict = diagnosis->verdict;
    double factor = speedup_without_profiler(diagnosis, first);
    char percent[FORMAT_SIZE];
    if (factor >= 1.15 && factor < 50)
        buffer_printf(line, " Without %s, fixing this would make %s %s %.*fx faster.",
                      verdict->profiler, judged_text(diagnosis),
                      first->at_best ? "at best" : "about", factor < 10 ? 1 : 0, factor);
    else if (factor >= 1.01 && factor < 1.15)
        buffer_printf(line, " Without %s, fixing this would save %s %s of the time.",
                      verdict->profiler, first->at_best ? "at most" : "about",
                      whole_percent(1 - 1 / factor, percent));
}

/* What fixing it gains. Gains below 13 % read better as a share than as a factor. */
static void write_speedup(struct diagnosis *diagnosis, const struct finding *first,
                          struct buffer *line) {
    double gain = share_of(first->recoverable, diagnosis->verdict->time), left = 1 - gain;
    char percent[FORMAT_SIZE];
    if (first->unexplained)
        buffer_printf(line, " What %s was not recorded.",
                      first->kind == FINDING_THROTTLING ? "slows the kernels down"
                                                        : "the host does there");
    else if (profiler_matters(diagnosis->verdict))
        write_speedup_without_profiler(diagnosis, first, line);
    else if (left > 0.02 && left < 0.87)
        buffer_printf(line, " Fixing this would make %s %s %.*fx faster.", judged_text(diagnosis),
                      first->at_best ? "at best" : "about", 1 / left < 10 ? 1 : 0, 1 / left);
    else if (explains_idle(diagnosis, first))
        buffer_printf(line, " Fixing this would save %s %s of the time.",
                      first->at_best ? "at most" : "about", whole_percent(gain, percent));
    else
        buffer_string(line, first->at_best ? " Fixing this would save at most that much."
                                           : " Fixing this would save that much.");
}

static void write_gain_headline(struct diagnosis *diagnosis, const struct finding *first) {
    struct buffer line = {0};
    write_cost(diagnosis, first, &line);
    write_speedup(diagnosis, first, &line);
    if (buffer_ok(&line, diagnosis->status))
        diagnose_set_text(diagnosis, &diagnosis->verdict->manager, "%.*s",
                          TEXT_ARGS(buffer_as_text(&line)));
    else
        diagnosis->failed = true;
    buffer_finish(&line);
}

/* For findings that characterize the run without a known gain. */
static const char *kernel_time_text(const struct kernel_facts *kernels, enum finding_kind kind) {
    if (kind == FINDING_MEMORY_BOUND)
        return 2 * kernels->known_time > kernels->total_time
                   ? "Most kernel time is in memory-bound kernels"
                   : "Most kernel time is in kernels that are usually memory-bound";
    if (kind == FINDING_COMPUTE_BOUND)
        return "Most kernel time is in matrix products on a slow math path";
    return finding_title(kind);
}

/* A remark on the clock does not count: a power limit is not a fault. */
static const char *no_gain_text(const struct verdict *verdict) {
    if (!gain_is_small(verdict))
        return "The possible gain is too small or too uncertain to report";
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == FINDING_THROTTLING)
            return "No known change except a higher clock would save more than 5 % of the time";
    return "No known change would save more than 5 % of the time";
}

static void write_headline(struct diagnosis *diagnosis, const struct finding *first) {
    struct verdict *verdict = diagnosis->verdict;
    const struct facts *facts = &diagnosis->facts;
    char percent[FORMAT_SIZE];
    if (first->headline)
        diagnose_set_text(diagnosis, &verdict->manager, "%s", first->headline);
    else if (first->kind == FINDING_HEALTHY && diagnosis->source->model->no_timeline)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "The counters of the kernels show no fault.");
    else if (first->kind == FINDING_HEALTHY)
        diagnose_set_text(diagnosis, &verdict->manager, "%s is busy %s of the time. %s.",
                          device_subject(diagnosis),
                          whole_percent(share_of(facts->busy, facts->window), percent),
                          no_gain_text(verdict));
    else if (first->kind == FINDING_UNDECIDED && kernels_are_missing(facts))
        diagnose_set_text(diagnosis, &verdict->manager,
                          "The trace has GPU API calls but no kernels, so GPU time is unknown.");
    else if (first->kind == FINDING_UNDECIDED && !diagnosis->source->narrowed &&
             facts->window < verdict->time / 2 && facts->kernels.count)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "%s has work in only %s of the run. The trace does not show what limits "
                          "the rest.",
                          device_subject(diagnosis),
                          whole_percent(share_of(facts->window, verdict->time), percent));
    else if (first->kind == FINDING_UNDECIDED)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "The trace does not show what limits the run.");
    else if (first->holds)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "Copies take %s of the time while no kernel runs. Overlap cannot hide "
                          "most of them: move fewer bytes.",
                          whole_percent(share_of(facts->exposed_copy, facts->window), percent));
    else if (first->recoverable < verdict->time / 100)
        diagnose_set_text(diagnosis, &verdict->manager, "%s. The possible gain is not known.",
                          kernel_time_text(&facts->kernels, first->kind));
    else
        write_gain_headline(diagnosis, first);
}

/* The fix, its gain if that was replayed, and the observation; only the observation if there is
 * nothing to fix. */
static void write_action(struct diagnosis *diagnosis, const struct finding *first) {
    char **action = &diagnosis->verdict->engineer;
    const char *observation = first->observation ? first->observation : "";
    const struct fix *fix = first->fix_count ? &first->fixes[0] : NULL;
    bool unrecorded =
        kernels_are_missing(&diagnosis->facts) || first->kind == FINDING_ON_CPU || first->headline;
    if (!fix || first->kind == FINDING_HEALTHY || (first->kind == FINDING_UNDECIDED && !unrecorded))
        diagnose_set_text(diagnosis, action, "%s.", observation);
    else if (first->gain && fix->replayed)
        diagnose_set_text(diagnosis, action, "%s: %s. %s.", fix->words, first->gain, observation);
    else if (unrecorded)
        diagnose_set_text(diagnosis, action, "%s. %s.", observation, fix->words);
    else
        diagnose_set_text(diagnosis, action, "%s. %s.", fix->words, first->summary);
}

static void write_caution(struct diagnosis *diagnosis) {
    const struct data_quality *quality = diagnosis->source->quality;
    char **caution = &diagnosis->verdict->caution;
    char lost[FORMAT_SIZE];
    if (!quality)
        return;
    if (quality->truncated_bytes || quality->damaged_bytes || quality->missing_chunks ||
        quality->truncated_source.length)
        diagnose_set_text(diagnosis, caution,
                          "Caution: the recording is truncated or damaged. The verdict covers only "
                          "what could be read.");
    else if (quality->dropped)
        diagnose_set_text(diagnosis, caution,
                          "Caution: %s event%s lost while recording. Figures may be inaccurate.",
                          format_count(quality->dropped, lost),
                          quality->dropped == 1 ? " was" : "s were");
}

/* What the profiler itself costs, as a caution unless there is a graver one. */
static void write_profiler_cost(struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    char percent[FORMAT_SIZE], error[FORMAT_SIZE], time[FORMAT_SIZE];
    if (verdict->caution || !profiler_matters(verdict))
        return;
    diagnose_set_text(
        diagnosis, &verdict->caution,
        "Recording with %s takes about %s (±%s) of the time itself, an estimate "
        "from the recorded events. Without it %s takes about %s.",
        verdict->profiler, whole_percent(share_of(verdict->profiler_time, verdict->time), percent),
        whole_percent(share_of(verdict->profiler_error, verdict->time), error),
        judged_text(diagnosis),
        format_duration(per_step(diagnosis, verdict->time - verdict->profiler_time), time));
}

/* Appends " 12.3 ms passes before its first activity, most of it in NAME". */
static void write_part(const struct diagnosis *diagnosis, const struct outside_part *part,
                       const char *where, struct buffer *line) {
    char time[FORMAT_SIZE], name[NAME_SIZE];
    buffer_printf(line, " %s passes %s",
                  format_duration(part->window.end - part->window.start, time), where);
    if (part->name && 10 * (part->window.end - part->window.start) > diagnosis->outside.run)
        buffer_printf(line, ", most of it in %s",
                      short_name(trace_text(diagnosis->trace, part->name), name));
}

/* A run may have much time before the device's first activity or after its last. The account, which
 * begins and ends with the device's work, does not contain it. */
static void write_outside(struct diagnosis *diagnosis) {
    const struct outside *outside = &diagnosis->outside;
    struct verdict *verdict = diagnosis->verdict;
    char *caution = verdict->caution, part[FORMAT_SIZE];
    bool steps = diagnosis->source->step_count > 0;
    if ((diagnosis->source->narrowed && !steps) || verdict->findings[0].kind == FINDING_STARTUP ||
        outside->device > (steps ? outside->run / 2 : verdict->time / 5 * 4))
        return;
    bool before = outside->before.window.end > outside->before.window.start;
    bool after = outside->after.window.end > outside->after.window.start;
    if (!before && !after)
        return;
    struct buffer line = {0};
    buffer_printf(&line, "The device works in %s of the run only:",
                  whole_percent(share_of(outside->device, outside->run), part));
    if (before)
        write_part(diagnosis, &outside->before, "before its first activity", &line);
    if (after) {
        buffer_string(&line, before ? ", and" : "");
        write_part(diagnosis, &outside->after, "after its last", &line);
    }
    verdict->caution = NULL;
    diagnose_set_text(diagnosis, &verdict->caution, "%.*s.%s%s", TEXT_ARGS(buffer_as_text(&line)),
                      caution ? " " : "", caution ? caution : "");
    diagnosis->failed |= !buffer_ok(&line, diagnosis->status);
    buffer_finish(&line);
    memory_free(caution);
}

void diagnose_summarize(struct diagnosis *diagnosis) {
    const struct finding *first = &diagnosis->verdict->findings[0];
    write_headline(diagnosis, first);
    write_action(diagnosis, first);
    write_caution(diagnosis);
    write_profiler_cost(diagnosis);
}

/* ---- the diagnosis ---- */

/* The measured time comes from the replay, as gains do; otherwise from the device or the run. The
 * replay cannot select a part of the host's time, so a part without a device has its own length. */
static void set_judged_part(struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    bool host_only = source->host_part && source->device_count == 0;
    int64_t time = host_only ? selection_length(source->host_part)
                             : predict_changes(diagnosis, NULL, 0).before;
    for (size_t i = 0; time <= 0 && i < source->device_count; i++)
        time = source->devices[i].account->window;
    if (time <= 0 && !host_only)
        time = source->model->last - source->model->first;
    diagnosis->verdict->time = time;
    if (source->device_count) {
        diagnosis->verdict->device = source->devices[0].id;
        diagnosis->verdict->account = *source->devices[0].account;
    }
    diagnosis->verdict->steps = source->step_count;
    if (diagnosis->whole->device_count > 1) {
        struct text key = model_device_key(source->model, source->devices[0].id);
        diagnose_set_text(diagnosis, &diagnosis->verdict->part, "%s on device %.*s (of %zu)",
                          source->part, TEXT_ARGS(key), diagnosis->whole->device_count);
    } else {
        diagnose_set_text(diagnosis, &diagnosis->verdict->part, "%s", source->part);
    }
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    if (2 * kernels->known_time > kernels->total_time)
        diagnosis->verdict->roof_share = share_of(kernels->known_roof_time, kernels->known_time) *
                                         share_of(diagnosis->facts.busy, diagnosis->facts.window);
}

/* Of the devices present for about the whole time, the one with the most work. */
static struct diagnose_source select_main_device(const struct diagnose_source *source) {
    struct diagnose_source main = *source;
    int64_t max_work = -1, longest = 0;
    for (size_t i = 0; i < source->device_count; i++)
        if (source->devices[i].account->window > longest)
            longest = source->devices[i].account->window;
    for (size_t i = 0; i < source->device_count; i++) {
        const struct account *account = source->devices[i].account;
        if (account->window >= longest - longest / 5 &&
            account->busy + account->exposed_copy > max_work) {
            max_work = account->busy + account->exposed_copy;
            main.devices = &source->devices[i];
            main.device_count = 1;
        }
    }
    return main;
}

/* Most rules are about the device. Without kernels in the trace only rules about the host apply,
 * without a timeline only those about single kernels. */
static bool rule_applies(const struct diagnosis *diagnosis, diagnose_rule *rule) {
    if (diagnosis->source->device_count == 0 || kernels_are_missing(&diagnosis->facts))
        return rule == diagnose_cpu || rule == diagnose_steps;
    return !diagnosis->source->model->no_timeline || rule == diagnose_kernels ||
           rule == diagnose_grids || rule == diagnose_counters;
}

static void apply_rules(struct diagnosis *diagnosis) {
    for (size_t i = 0; i < sizeof rule_table / sizeof *rule_table && !diagnosis->failed; i++)
        if (rule_applies(diagnosis, rule_table[i]))
            rule_table[i](diagnosis);
}

bool diagnose(const struct diagnose_source *source, struct verdict *verdict,
              struct status *status) {
    struct diagnose_source judged = select_main_device(source);
    struct diagnosis diagnosis = {.source = &judged,
                                  .whole = source,
                                  .trace = source->model->trace,
                                  .verdict = verdict,
                                  .status = status};
    memset(verdict, 0, sizeof *verdict);
    if (!facts_find(&judged, &diagnosis.facts, status) ||
        !outside_find(&judged, &diagnosis.outside, status))
        return false;
    set_judged_part(&diagnosis);
    profiler_cost_find(&diagnosis);
    data_loading_find(&diagnosis);
    apply_rules(&diagnosis);
    rank_findings(&diagnosis);
    partition_findings(&diagnosis);
    promote_dominant(&diagnosis);
    drop_insignificant(verdict);
    if (!diagnosis.failed && starts_most_of_the_time(&diagnosis))
        diagnose_startup(&diagnosis);
    else if (!diagnosis.failed &&
             (verdict->count == 0 || verdict->findings[0].minor || has_dominant_gap(&diagnosis)))
        diagnose_healthy(&diagnosis);
    diagnose_check_hints(&diagnosis);
    find_additional(&diagnosis);
    if (!diagnosis.failed)
        diagnose_lines(&diagnosis);
    diagnose_missing(&diagnosis);
    if (!diagnosis.failed) {
        diagnose_summarize(&diagnosis);
        write_outside(&diagnosis);
    }
    finding_finish(&diagnosis.discarded);
    memory_free(diagnosis.data_loading_range);
    if (diagnosis.failed)
        verdict_finish(verdict);
    return !diagnosis.failed;
}
