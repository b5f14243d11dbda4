/* The rule_table, one after another; then what they found in order of what it is expected_gain,
 * without counting anything twice.
 *
 * Worth is the recoverable time times how sure it is. Two findings that cannot be told apart by
 * their error bars mostly describe one thing from two sides (a wait in the loop and the launches
 * behind it); then the more particular one, which is also the easier to mend, comes first. A
 * finding that is expected_gain less than its own error bar, or than a few hundredths of the time,
 * is no fault of the run.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "diagnose/diagnosis.h"

/* Those that have a claim on a part of the host's time come before the host. */
static diagnose_rule *const rule_table[] = {
    diagnose_compilation, diagnose_allocation, diagnose_transfers, diagnose_cpu,
    diagnose_host,        diagnose_sync,       diagnose_launch,    diagnose_kernels,
    diagnose_grids,       diagnose_steps,      diagnose_clock,     diagnose_memory,
};

/* How particular a finding is (the lower the more), and what part of the time it must be
 * expected_gain. Those that would rewrite the program, and not only take out what should not be in
 * it, must be expected_gain more: every program has some of that. */
static const struct {
    unsigned place;
    double least;
} kind_traits[FINDING_COUNT] = {
    [FINDING_COMPILATION] = {1, 0.03},
    [FINDING_ALLOCATION] = {2, 0.03},
    [FINDING_ON_CPU] = {3, 0.05},
    [FINDING_SMALL_TRANSFERS] = {4, 0.03},
    [FINDING_PAGEABLE] = {5, 0.03},
    [FINDING_INPUT_PIPELINE] = {6, 0.03},
    [FINDING_HOST_BOUND] = {7, 0.04},
    [FINDING_SYNC_IN_LOOP] = {8, 0.03},
    [FINDING_EXPOSED_TRANSFERS] = {9, 0.04},
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
    [FINDING_IRREGULAR_STEPS] = {21, 0.08},
    [FINDING_UNDECIDED] = {22, 0},
    [FINDING_HEALTHY] = {23, 0},
};

static double expected_gain(const struct finding *finding) {
    static const double sure[] = {0.4, 0.75, 1};
    return (double)finding->recoverable * sure[finding->confidence];
}

/* Other arithmetic than the program asked for is an offer, not a fault of the run: it leads only
 * where nothing else is wrong. */
static bool is_significant(const struct diagnosis *diagnosis, const struct finding *finding) {
    return finding->kind != FINDING_COMPUTE_BOUND && !finding->remark &&
           expected_gain(finding) >=
               kind_traits[finding->kind].least * (double)diagnosis->verdict->time &&
           finding->recoverable > 0 && finding->recoverable >= finding->error;
}

static void swap_findings(struct finding *a, struct finding *b) {
    struct finding kept = *a;
    *a = *b;
    *b = kept;
}

/* Whether `below`, which is expected_gain less, still comes before `above`: the predictions' error
 * bars do not tell which of the two buys more, and it is the more particular. Kernels shorter than
 * the gaps between them are a matter of launching; that they could be one is a way to mend it. */
static bool precedes(const struct diagnosis *diagnosis, const struct finding *below,
                     const struct finding *above) {
    if (below->kind == FINDING_LAUNCH_BOUND && above->kind == FINDING_TINY_KERNELS)
        return diagnosis->facts.short_idle > diagnosis->facts.kernels.short_time;
    double apart = (double)(above->recoverable - below->recoverable);
    return kind_traits[below->kind].place < kind_traits[above->kind].place &&
           apart <= hypot((double)above->error, (double)below->error);
}

static void rank_findings(const struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    struct finding *list = verdict->findings;
    for (size_t i = 1; i < verdict->count; i++)
        for (size_t k = i; k > 0 && expected_gain(&list[k]) > expected_gain(&list[k - 1]); k--)
            swap_findings(&list[k], &list[k - 1]);
    for (size_t i = 1; i < verdict->count; i++)
        for (size_t k = i; k > 0 && precedes(diagnosis, &list[k], &list[k - 1]); k--)
            swap_findings(&list[k], &list[k - 1]);
}

/* What has most of the time goes before what would save less of it: it is what the run is about. */
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

/* Faults first, then what says what the run is about, then what is too small to act on. */
static void partition_findings(struct diagnosis *diagnosis) {
    struct finding *list = diagnosis->verdict->findings;
    size_t placed = 0;
    for (unsigned turn = 0; turn < 2 && (turn == 0 || placed == 0); turn++)
        for (size_t i = placed; i < diagnosis->verdict->count; i++) {
            if (turn == 0 ? !is_significant(diagnosis, &list[i]) : !list[i].decides)
                continue;
            list[i].minor = false;
            for (size_t k = i; k > placed; k--)
                swap_findings(&list[k], &list[k - 1]);
            placed++;
        }
    for (size_t i = placed; i < diagnosis->verdict->count; i++)
        list[i].minor = true;
}

/* What is hardly expected_gain a line. */
static void drop_insignificant(struct verdict *verdict) {
    for (size_t i = verdict->count; i > 0; i--) {
        struct finding *finding = &verdict->findings[i - 1];
        bool of_weight = finding->recoverable >= verdict->time / 100;
        if (!finding->minor || of_weight || (finding->remark && finding->recoverable == 0))
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

/* What each finding adds to those before it: all their changes together, less what came before. */
static void find_additional(struct diagnosis *diagnosis) {
    enum { CHANGES_MAX = 64 };
    struct verdict *verdict = diagnosis->verdict;
    struct change changes[CHANGES_MAX];
    size_t count = 0;
    int64_t so_far = 0;
    for (size_t i = 0; i < verdict->count; i++) {
        struct finding *finding = &verdict->findings[i];
        size_t before = count;
        for (size_t k = 0; k < finding->change_count && count < CHANGES_MAX; k++)
            if (!has_change(changes, count, &finding->changes[k]))
                changes[count++] = finding->changes[k];
        int64_t gain = so_far;
        if (i == 0)
            gain = finding->recoverable;
        else if (finding->change_count == 0) /* not replayed: what the others do not cover */
            gain = finding->recoverable > so_far ? finding->recoverable : so_far;
        else if (count > before) /* else those above are mended by the same changes */
            gain = predict_changes(diagnosis, changes, count).gain;
        finding->additional = gain > so_far ? gain - so_far : 0;
        if (finding->additional > finding->recoverable)
            finding->additional = finding->recoverable;
        so_far += finding->additional;
    }
}

/* ---- the two sentences at the top ---- */

/* The rest of "For N % of the time ..." or a whole clause of what is wrong, without a term of the
 * trade. */
static const char *headline_text(enum finding_kind kind) {
    static const char *const words[FINDING_COUNT] = {
        [FINDING_LAUNCH_BOUND] = "@ waits for the program to tell it what to do",
        [FINDING_TINY_KERNELS] = "the work comes in pieces that are too small",
        [FINDING_HOST_BOUND] = "@ waits while the program does something else",
        [FINDING_SYNC_IN_LOOP] = "the program and @ wait for each other in turn",
        [FINDING_EXPOSED_TRANSFERS] = "@ waits for data to be moved",
        [FINDING_SMALL_TRANSFERS] = "data is moved in pieces that are too small",
        [FINDING_PAGEABLE] = "data is moved by a slow way",
        [FINDING_ALLOCATION] = "memory is asked for and given back again and again",
        [FINDING_COMPILATION] = "the program translates parts of itself while it should run",
        [FINDING_MEMORY_BOUND] = "@ waits for its own memory",
        [FINDING_COMPUTE_BOUND] = "@ calculates in a slower way than it could",
        [FINDING_LATENCY_BOUND] = "the pieces of work are too short for @",
        [FINDING_LOW_OCCUPANCY] = "@ cannot take on enough work at once",
        [FINDING_SMALL_GRID] = "only a part of @ has work",
        [FINDING_TAIL] = "a part of @ is done early and waits for the rest",
        [FINDING_ONE_QUEUE] = "work that could be done side by side is done in turn",
        [FINDING_INPUT_PIPELINE] = "@ waits for its input to be prepared",
        [FINDING_IRREGULAR_STEPS] = "some turns take much longer than the others",
        [FINDING_THROTTLING] = "@ runs slower than it can",
        [FINDING_MEMORY_PRESSURE] = "@'s memory is too full",
        [FINDING_ON_CPU] = "work is done by the slower processor",
    };
    return words[kind] ? words[kind] : "something holds it up";
}

/* What does the work, in a manager's word. */
static const char *device_text(const struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    if (source->device_count == 0)
        return "the GPU";
    const struct trace *trace = diagnosis->trace;
    struct text label = trace_text(trace, trace->device.label[source->devices[0].id]);
    return text_starts(label, "cpu") ? "the processor" : "the GPU";
}

/* headline_text() with the device_text in place of '@'. */
static void write_headline_text(struct buffer *words, const struct diagnosis *diagnosis,
                                enum finding_kind kind) {
    for (const char *c = headline_text(kind); *c; c++)
        if (*c == '@')
            buffer_string(words, device_text(diagnosis));
        else
            buffer_byte(words, *c);
    buffer_byte(words, 0);
}

/* Of a fault whose gain is known. */
static void headline_gain(struct diagnosis *diagnosis, const struct finding *first,
                          const char *words) {
    struct verdict *verdict = diagnosis->verdict;
    double left = share_of(verdict->time - first->recoverable, verdict->time);
    char part[FORMAT_SIZE];
    snprintf(part, sizeof part, "%.0f%%", 100 * share_of(first->recoverable, verdict->time));
    if (left > 0.02 && left < 0.87)
        diagnose_set_text(
            diagnosis, &verdict->manager,
            "For about %s of the time %s; mending that would make it about %.*f times as "
            "fast.",
            part, words, 1 / left < 10 ? 1 : 0, 1 / left);
    else
        diagnose_set_text(diagnosis, &verdict->manager,
                          "For about %s of the time %s; mending that would save as much.", part,
                          words);
}

static void write_headline(struct diagnosis *diagnosis, const struct finding *first) {
    struct verdict *verdict = diagnosis->verdict;
    const struct facts *facts = &diagnosis->facts;
    struct buffer words = {0};
    char used[FORMAT_SIZE];
    write_headline_text(&words, diagnosis, first->kind);
    if (!buffer_ok(&words, diagnosis->status))
        diagnosis->failed = true;
    else if (first->kind == FINDING_HEALTHY)
        diagnose_set_text(
            diagnosis, &verdict->manager, "%c%s is at work %s of the time, and %s.", 'T',
            device_text(diagnosis) + 1, format_percent(share_of(facts->busy, facts->window), used),
            gain_is_small(verdict)
                ? "no simple change would make it much faster"
                : "what could be gained is too unsure, or too much work, to call a fault");
    else if (first->kind == FINDING_UNDECIDED && kernels_are_missing(facts))
        diagnose_set_text(
            diagnosis, &verdict->manager,
            "This recording does not show what the GPU did: it has GPU API calls, but no "
            "kernels.");
    else if (first->kind == FINDING_UNDECIDED)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "This recording does not tell what holds the run back.");
    else if (first->kind == FINDING_ON_CPU && diagnosis->source->device_count == 0)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "No GPU activity was recorded; this is a profile of the CPU.");
    else if (first->holds)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "For about %s of the time %s; only moving less would change that.",
                          format_percent(share_of(facts->exposed_copy, facts->window), used),
                          words.data);
    else if (first->recoverable < verdict->time / 100)
        diagnose_set_text(diagnosis, &verdict->manager,
                          "What takes the time: %s; how much mending that would save is not known.",
                          words.data);
    else
        headline_gain(diagnosis, first, words.data);
    buffer_finish(&words);
}

/* What was lost or cut, in a few words; NULL: nothing. */
static void write_caution(struct diagnosis *diagnosis) {
    const struct data_quality *quality = diagnosis->source->quality;
    char **caution = &diagnosis->verdict->caution;
    char lost[FORMAT_SIZE];
    if (!quality)
        return;
    if (quality->truncated_bytes || quality->damaged_bytes || quality->missing_chunks ||
        quality->truncated_source.length)
        diagnose_set_text(
            diagnosis, caution,
            "Caution: the recording is cut or damaged, so this is a verdict on what is "
            "left of it; see the last section.");
    else if (quality->dropped)
        diagnose_set_text(diagnosis, caution,
                          "Caution: %s events were lost while recording, so figures may be off.",
                          format_count(quality->dropped, lost));
}

void diagnose_summarize(struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    const struct finding *first = &verdict->findings[0];
    const char *summary = first->summary ? first->summary : "";
    write_headline(diagnosis, first);
    write_caution(diagnosis);
    if (kernels_are_missing(&diagnosis->facts) && first->fix_count)
        diagnose_set_text(diagnosis, &verdict->engineer, "%s. %s.", summary, first->fixes[0].words);
    else if (first->kind == FINDING_HEALTHY || first->kind == FINDING_UNDECIDED ||
             !first->fix_count)
        diagnose_set_text(diagnosis, &verdict->engineer, "%s.", summary);
    else if (first->kind == FINDING_ON_CPU)
        diagnose_set_text(diagnosis, &verdict->engineer, "%s. %s.", summary, first->fixes[0].words);
    else
        diagnose_set_text(diagnosis, &verdict->engineer, "%s: %s.", first->fixes[0].words, summary);
}

/* ---- the diagnosis ---- */

/* The measured time: the replay's, as gains are its; else the longest device's, or the run's. The
 * replay has no part of the host's time, so that of a part without a device is its own length. */
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

/* Of several devices that are there for about the whole time, the one with most work. */
static struct diagnose_source select_main_device(const struct diagnose_source *source) {
    struct diagnose_source main = *source;
    int64_t most = -1, longest = 0;
    for (size_t i = 0; i < source->device_count; i++)
        if (source->devices[i].account->window > longest)
            longest = source->devices[i].account->window;
    for (size_t i = 0; i < source->device_count; i++) {
        const struct account *account = source->devices[i].account;
        if (account->window >= longest - longest / 5 &&
            account->busy + account->exposed_copy > most) {
            most = account->busy + account->exposed_copy;
            main.devices = &source->devices[i];
            main.device_count = 1;
        }
    }
    return main;
}

/* Most rule_table are about what a device did, or did not do. Where its kernels are not in the
 * trace, only those apply that are about the host alone. */
static void apply_rules(struct diagnosis *diagnosis) {
    bool host_only = diagnosis->source->device_count == 0 || kernels_are_missing(&diagnosis->facts);
    for (size_t i = 0; i < sizeof rule_table / sizeof *rule_table && !diagnosis->failed; i++)
        if (!host_only || rule_table[i] == diagnose_cpu || rule_table[i] == diagnose_steps)
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
    if (!facts_find(&judged, &diagnosis.facts, status))
        return false;
    set_judged_part(&diagnosis);
    data_loading_find(&diagnosis);
    apply_rules(&diagnosis);
    rank_findings(&diagnosis);
    partition_findings(&diagnosis);
    promote_dominant(&diagnosis);
    drop_insignificant(verdict);
    if (!diagnosis.failed &&
        (verdict->count == 0 || verdict->findings[0].minor || has_dominant_gap(&diagnosis)))
        diagnose_healthy(&diagnosis);
    find_additional(&diagnosis);
    diagnose_missing(&diagnosis);
    if (!diagnosis.failed)
        diagnose_summarize(&diagnosis);
    finding_finish(&diagnosis.discarded);
    memory_free(diagnosis.data_loading_range);
    if (diagnosis.failed)
        verdict_finish(verdict);
    return !diagnosis.failed;
}
