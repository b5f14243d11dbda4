/* No significant finding: is the run healthy, or does the trace not contain enough? And how close
 * to the roof are the kernels? */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"
#include "trace/writer.h"

/* A device that runs no kernel for more than this share of the time is not healthy. */
#define IDLE_SHARE_MAX 0.3

/* Whether matrix products may have so few rows that they are memory-bound: by those with known
 * work, otherwise by their durations and grids. */
static bool may_be_skinny(const struct kernel_facts *kernels, int64_t matmul) {
    return kernels->known_matmul_time ? 2 * kernels->known_skinny_time > kernels->known_matmul_time
                                      : 2 * kernels->skinny_matmul_time > matmul;
}

/* What most kernels are bound by: by their roofs if known, otherwise by their names; NULL: unclear.
 */
static const char *bound_text(const struct kernel_facts *kernels) {
    int64_t memory = 0;
    for (unsigned class = 0; class < KERNEL_CLASS_COUNT; class ++)
        if (kernel_class_moves_memory(class))
            memory += kernels->time[class];
    int64_t matmul = kernels->time[KERNEL_MATMUL] + kernels->time[KERNEL_MATMUL_F32];
    if (2 * kernels->known_time > kernels->total_time) {
        memory = kernels->bound_time[BOUND_MEMORY];
        matmul = kernels->bound_time[BOUND_COMPUTE];
        if (kernels->bound_time[BOUND_LATENCY] > memory &&
            kernels->bound_time[BOUND_LATENCY] > matmul)
            return "latency-bound";
    }
    if (memory > matmul && 3 * memory > kernels->total_time)
        return "memory-bound";
    if (2 * kernels->known_time <= kernels->total_time && may_be_skinny(kernels, matmul))
        return NULL; /* a name does not show how many rows a product has */
    return 3 * matmul > kernels->total_time ? "compute-bound" : NULL;
}

static bool has_remark(const struct verdict *verdict, enum finding_kind kind) {
    for (size_t i = 0; i < verdict->count; i++)
        if (verdict->findings[i].kind == kind && verdict->findings[i].remark)
            return true;
    return false;
}

/* A whole run with fewer kernels is not judged, unless they take most of its time. */
enum { KERNELS_MIN = 8 };

static bool too_few_kernels(const struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    return kernels->count < KERNELS_MIN && !diagnosis->source->narrowed &&
           2 * kernels->total_time < diagnosis->verdict->time &&
           !diagnosis->source->model->no_timeline;
}

/* Judged time before the device's first activity and after its last. */
static int64_t time_outside(const struct diagnosis *diagnosis) {
    return MAX(diagnosis->verdict->time - diagnosis->facts.window, 0);
}

/* Of that, what the first and the last calls explain. */
static int64_t explained_outside(const struct diagnosis *diagnosis) {
    const struct outside_part *before = &diagnosis->outside.before,
                              *after = &diagnosis->outside.after;
    int64_t explained = (before->name ? before->window.end - before->window.start : 0) +
                        (after->name ? after->window.end - after->window.start : 0);
    return diagnosis->source->step_count ? 0 : MIN(explained, time_outside(diagnosis));
}

/* In a run without steps: the longest gap if it has a third of the idle time; else NULL. */
static const struct gap *dominant_gap(const struct diagnosis *diagnosis) {
    const struct gap *longest = NULL;
    for (size_t d = 0; d < diagnosis->source->device_count; d++) {
        const struct gaps *gaps = diagnosis->source->devices[d].gaps;
        if (gaps->top_count &&
            (!longest || gaps->top[0].end - gaps->top[0].start > longest->end - longest->start))
            longest = &gaps->top[0];
    }
    bool much = longest && 3 * (longest->end - longest->start) > diagnosis->facts.idle &&
                longest->end - longest->start > time_outside(diagnosis);
    return much && diagnosis->source->step_count == 0 ? longest : NULL;
}

bool has_dominant_gap(const struct diagnosis *diagnosis) {
    const struct verdict *verdict = diagnosis->verdict;
    const struct gap *gap = diagnosis->source->narrowed ? NULL : dominant_gap(diagnosis);
    int64_t first = verdict->count ? verdict->findings[0].recoverable : 0;
    return gap && 2 * (gap->end - gap->start) > diagnosis->facts.window &&
           2 * first < gap->end - gap->start;
}

static bool undecided(const struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    int64_t outside = time_outside(diagnosis) - explained_outside(diagnosis);
    return facts->kernels.count == 0 || too_few_kernels(diagnosis) ||
           (double)facts->idle + (double)facts->exposed_copy + (double)outside >
               IDLE_SHARE_MAX * (double)(facts->window + outside);
}

static bool is_own_recording(const struct diagnosis *diagnosis) {
    return text_is(trace_meta(diagnosis->trace, META_SOURCE_FORMAT), "ridge");
}

/* What to record in order to know more. A recording by ridge lacks less than others. */
static void advise_recording(struct diagnosis *diagnosis, struct finding *finding) {
    const struct trace *trace = diagnosis->trace;
    const char *words =
        "Record with ridge record and CPU sampling: it records launches, API calls, waits and host "
        "functions";
    if (is_own_recording(diagnosis) && trace->call.count)
        words = trace->sample.count == 0
                    ? "Record with CPU sampling, to see what the host does (ridge doctor shows "
                      "whether this machine permits it)"
                : trace->range.count == 0
                    ? "Mark the loop and its parts with ranges (NVTX), to see which part the time "
                      "is in"
                    : "Report one part at a time: ridge report TRACE --range NAME";
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL, "%s", words);
}

/* A recording that failed, or of another process. */
static bool has_no_work(const struct trace *trace) {
    if (trace->activity.count || trace->call.count || trace->sample.count || trace->memory.count)
        return false;
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.category[i] != RANGE_OVERHEAD)
            return false;
    return true;
}

/* How long the host was in ranges of that name: their sum if they are on one thread, otherwise the
 * longest, as they may overlap; sets *more. */
static int64_t time_in_range(const struct trace *trace, const struct range_group *group,
                             bool *more) {
    const struct columns_range *range = &trace->range;
    uint32_t thread = 0;
    int64_t longest = 0;
    *more = false;
    for (size_t i = 0; i < range->count; i++) {
        if (range->name[i] != group->name)
            continue;
        *more |= thread && range->thread[i] != thread;
        thread = range->thread[i];
        longest = MAX(longest, range->duration[i]);
    }
    return *more ? longest : group->host_self;
}

/* An operator with most of the host's time is named, whatever the device does. */
static void name_main_operator(struct diagnosis *diagnosis, struct finding *finding,
                               const char *unknown) {
    const struct range_group *top = top_range(diagnosis, true);
    char part[FORMAT_SIZE], name[NAME_SIZE];
    bool more;
    int64_t time = top ? time_in_range(diagnosis->trace, top, &more) : 0;
    if (2 * time > diagnosis->verdict->time && time <= diagnosis->verdict->time)
        diagnose_set_text(diagnosis, &finding->headline, "The host is in %s %s%s of the time. %s",
                          short_name(trace_text(diagnosis->trace, top->name), name),
                          more ? "at least " : "",
                          whole_percent(share_of(time, diagnosis->verdict->time), part), unknown);
}

static void describe_undecided(struct diagnosis *diagnosis, struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    const struct gap *gap = dominant_gap(diagnosis);
    char part[FORMAT_SIZE], time[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE];
    finding->kind = FINDING_UNDECIDED;
    finding->confidence = CONFIDENCE_LOW;
    if (has_no_work(diagnosis->trace)) {
        diagnose_set_text(diagnosis, &finding->headline,
                          "The trace does not contain anything that the program did.");
        finding_summary(diagnosis, finding, "No kernel, API call, operator or sample was recorded");
    } else if (facts->recorded.kernels == 0)
        finding_summary(diagnosis, finding, "No kernel was recorded");
    else if (facts->kernels.count == 0)
        finding_summary(diagnosis, finding, "No kernel was recorded in this part of the run");
    else if (facts->kernels.total_time == 0)
        finding_summary(diagnosis, finding, "The kernels of the trace have no durations");
    else if (too_few_kernels(diagnosis))
        finding_summary(diagnosis, finding, "Only %s recorded, %s in total: too few to judge",
                        format_plural(facts->kernels.count, "kernel was", "kernels were", count),
                        format_duration(facts->kernels.total_time, time));
    else if (gap)
        finding_summary(diagnosis, finding, "One gap of %s has %s of the idle time, and %s %s",
                        format_duration(gap->end - gap->start, time),
                        format_percent(share_of(gap->end - gap->start, facts->idle), part),
                        format_plural(facts->kernels.count, "kernel", "kernels", count),
                        facts->kernels.count == 1 ? "runs outside of it" : "run outside of it");
    else
        finding_summary(
            diagnosis, finding,
            "No kernel runs for %s of the time, and no known change alone would fix "
            "that",
            format_percent(1 - share_of(facts->busy, facts->window + time_outside(diagnosis)),
                           part));
    if (facts->recorded.kernels && facts->recorded.all_calls == 0)
        name_main_operator(diagnosis, finding, "What the device waits for was not recorded.");
    finding_cause(diagnosis, finding, "%s",
                  facts->calls[CALL_LAUNCH] == 0
                      ? "The trace does not contain what the host did."
                      : "The recorded events do not explain what limits the run.");
    if (facts->kernels.count > 0 && (gap || too_few_kernels(diagnosis)))
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    gap && !diagnosis->source->narrowed
                        ? "Select the part to judge with --window or --steps, or record more "
                          "iterations of the loop, after a warm-up"
                        : "Record more iterations of the loop, after a warm-up");
    if (text_find(trace_meta(diagnosis->trace, META_NOT_FOUND),
                  "metal-application-encoders-list") >= 0)
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "Export the other tables of the recording as well (ridge info lists them), or "
                    "pass the .trace bundle on a Mac");
    advise_recording(diagnosis, finding);
}

/* How the tool that made the trace can record kernels too; NULL: not known. */
static const char *recording_text(const struct diagnosis *diagnosis) {
    struct text format = trace_meta(diagnosis->trace, META_SOURCE_FORMAT);
    if (text_starts(format, "nsys"))
        return "Or record with nsys profile --trace=cuda";
    if (diagnosis->facts.framework == FRAMEWORK_ROCM)
        return "Or record with rocprofv3 --kernel-trace";
    if (text_is(format, "kineto") || text_is(format, "chrome"))
        return "Or record with torch.profiler and ProfilerActivity.CUDA among its activities";
    return NULL;
}

/* "12 launches, 3 allocations, 1 other call" */
static void list_calls(const struct recorded *recorded, struct buffer *words) {
    static const char *const one[CALL_CLASSES] = {[CALL_LAUNCH] = "launch",
                                                  [CALL_COPY] = "copy",
                                                  [CALL_SYNC] = "synchronization",
                                                  [CALL_ALLOC] = "allocation or free",
                                                  [CALL_COMPILE] = "compilation or module load",
                                                  [CALL_OTHER] = "other call"};
    static const char *const many[CALL_CLASSES] = {[CALL_LAUNCH] = "launches",
                                                   [CALL_COPY] = "copies",
                                                   [CALL_SYNC] = "synchronizations",
                                                   [CALL_ALLOC] = "allocations and frees",
                                                   [CALL_COMPILE] = "compilations and module loads",
                                                   [CALL_OTHER] = "other calls"};
    char count[FORMAT_SIZE];
    for (unsigned class = 0; class < CALL_CLASSES; class ++)
        if (recorded->calls[class])
            buffer_printf(words, "%s%s %s", words->length ? ", " : "",
                          format_count(recorded->calls[class], count),
                          recorded->calls[class] == 1 ? one[class] : many[class]);
}

/* The trace has API calls but no kernels. */
static void describe_unrecorded(struct diagnosis *diagnosis, struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    struct buffer calls = {0};
    char count[FORMAT_PLURAL_SIZE];
    finding->kind = FINDING_UNDECIDED;
    finding->confidence = CONFIDENCE_LOW;
    finding_summary(diagnosis, finding, "%s GPU API call%s recorded, but no kernels",
                    format_count(facts->recorded.all_calls, count),
                    facts->recorded.all_calls == 1 ? " was" : "s were");
    finding_cause(diagnosis, finding, "%s",
                  facts->recorded.calls[CALL_LAUNCH]
                      ? "Kernels were launched, but not recorded, or their records were lost."
                      : "No launch was recorded either: the program ended before its first kernel, "
                        "or its kernels were not recorded.");
    name_main_operator(diagnosis, finding,
                       "The trace has GPU API calls but no kernels, so GPU time is unknown.");
    list_calls(&facts->recorded, &calls);
    if (buffer_ok(&calls, diagnosis->status))
        finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT}, "%.*s",
                         TEXT_ARGS(buffer_as_text(&calls)));
    else
        diagnosis->failed = true;
    buffer_finish(&calls);
    if (facts->failed_allocations)
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_CALL, .name = facts->alloc_name},
            "%s failed: out of memory",
            format_plural(facts->failed_allocations, "allocation", "allocations", count));
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL, "%s",
                is_own_recording(diagnosis)
                    ? "Run ridge doctor, which checks whether kernels can be recorded here"
                    : "Record the kernels too: ridge run -- COMMAND");
    if (recording_text(diagnosis))
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL, "%s", recording_text(diagnosis));
}

bool gain_is_small(const struct verdict *verdict) {
    for (size_t i = 0; i < verdict->count; i++)
        if (!verdict->findings[i].remark && verdict->findings[i].recoverable > verdict->time / 20)
            return false;
    return true;
}

/* The largest gain that is not reported as a fault. */
static void describe_largest(const struct diagnosis *diagnosis, char *text, size_t size) {
    const struct verdict *verdict = diagnosis->verdict;
    const struct finding *largest = NULL;
    char part[FORMAT_SIZE];
    for (size_t i = 0; i < verdict->count; i++)
        if (!verdict->findings[i].remark &&
            (!largest || verdict->findings[i].recoverable > largest->recoverable))
            largest = &verdict->findings[i];
    if (!largest || gain_is_small(verdict))
        snprintf(text, size, "no%s known change saves more than 5 %%",
                 has_remark(verdict, FINDING_THROTTLING) ? " other" : "");
    else
        snprintf(text, size, "the largest possible gain is %s (%s), %s",
                 format_percent(share_of(largest->recoverable, verdict->time), part),
                 finding_key(largest->kind),
                 largest->error > largest->recoverable      ? "within its error bar"
                 : 5 * largest->recoverable > verdict->time ? "but uncertain"
                                                            : "too small or too uncertain for "
                                                              "the effort");
}

static void describe_healthy(struct diagnosis *diagnosis, struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    const struct kernel_facts *kernels = &facts->kernels;
    char busy[FORMAT_SIZE], roof[FORMAT_SIZE], reached[FORMAT_SIZE + 24] = "";
    char count[FORMAT_PLURAL_SIZE];
    bool known = 2 * kernels->known_time > kernels->total_time;
    const char *bound = bound_text(kernels);
    char largest[200];
    describe_largest(diagnosis, largest, sizeof largest);
    format_percent(share_of(facts->busy, facts->window), busy);
    if (known)
        snprintf(reached, sizeof reached, ", at %s of their roof",
                 format_percent(share_of(kernels->known_roof_time, kernels->known_time), roof));
    finding_summary(diagnosis, finding, "Kernels run %s of the time%s%s%s%s%s; %s", busy, reached,
                    bound ? ", mostly " : "", bound ? bound : "",
                    bound && !known ? " by their names" : "",
                    has_remark(diagnosis->verdict, FINDING_THROTTLING)
                        ? ", at the clock that the power limit allows"
                        : "",
                    largest);
    if (share_of(facts->busy, facts->window) > 0.95)
        finding_cause(
            diagnosis, finding,
            "The device is busy almost all the time; only less work would make it faster.");
    else
        finding_cause(diagnosis, finding, "The device is busy %s of the time; %s.", busy,
                      gain_is_small(diagnosis->verdict)
                          ? "no known change would recover much of the rest"
                          : "the possible gain is too small or too uncertain to report");
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT}, "%s, busy %s",
                     format_plural(kernels->count, "kernel", "kernels", count), busy);
    for (size_t i = 0; i < diagnosis->verdict->count; i++)
        if (diagnosis->verdict->findings[i].remark)
            finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT}, "%s",
                             diagnosis->verdict->findings[i].summary);
    finding_fix(diagnosis, finding, EFFORT_DESIGN, "--at-roof",
                "Do less work: smaller types, better algorithms, fewer passes over memory");
}

/* Whether counters were measured that show a fault, or that there is none. */
static bool has_judged_figures(const struct kernel_counters *counters) {
    static const enum kernel_figure judged[] = {
        KERNEL_SM_FIGURE,        KERNEL_MEMORY_FIGURE,         KERNEL_DRAM_FIGURE,
        KERNEL_WARPS_FIGURE,     KERNEL_BANK_CONFLICTS_FIGURE, KERNEL_LOAD_SECTORS_FIGURE,
        KERNEL_LOAD_USED_FIGURE, KERNEL_LOCAL_ACCESSES_FIGURE, KERNEL_OCCUPANCY_FIGURE};
    double ignored;
    for (size_t i = 0; counters && i < counters->kernel_count; i++)
        for (size_t j = 0; j < ARRAY_COUNT(judged); j++)
            if (kernel_figure(&counters->kernels[i].figures, judged[j], &ignored))
                return true;
    return false;
}

/* Only times and launch parameters. */
static void describe_unmeasured(struct diagnosis *diagnosis, struct finding *finding) {
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    finding->kind = FINDING_UNDECIDED;
    finding->confidence = CONFIDENCE_LOW;
    diagnose_set_text(diagnosis, &finding->headline,
                      "The kernels were measured without counters that show what limits them.");
    finding_summary(diagnosis, finding, "%s, %s in total: no throughput, memory or warp counters",
                    format_plural(diagnosis->facts.kernels.count, "kernel", "kernels", count),
                    format_duration(diagnosis->facts.kernels.total_time, time));
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Measure all counters: ncu --set full, or ridge counters --set full");
}

/* Kernels of the program itself, whose names and launches do not show what they do. Graphs that
 * were recorded as a whole hide theirs, but are not the program's kernels. */
static bool kernels_are_unknown(const struct diagnosis *diagnosis) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    struct text top = trace_text(diagnosis->trace, kernels->class_top_name[KERNEL_OTHER]);
    bool unnamed = 2 * kernels->time[KERNEL_OTHER] > kernels->total_time;
    bool few = kernels->count < KERNELS_MIN && !diagnosis->source->narrowed;
    return !text_starts(top, "CUDA graph") && (unnamed || few) &&
           2 * kernels->known_time < kernels->total_time;
}

static void describe_unknown_kernels(struct diagnosis *diagnosis, struct finding *finding) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    uint32_t top = kernels->class_top_name[KERNEL_OTHER];
    char busy[FORMAT_SIZE], part[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE], name[NAME_SIZE];
    finding->kind = FINDING_UNDECIDED;
    finding->confidence = CONFIDENCE_LOW;
    diagnose_set_text(
        diagnosis, &finding->headline,
        "%s is busy %s of the time. How efficient its kernels are was not recorded.",
        device_subject(diagnosis),
        whole_percent(share_of(diagnosis->facts.busy, diagnosis->facts.window), busy));
    if (2 * kernels->time[KERNEL_OTHER] > kernels->total_time)
        finding_summary(
            diagnosis, finding,
            "%s of the kernel time is in kernels whose names do not show what they do",
            format_percent(share_of(kernels->time[KERNEL_OTHER], kernels->total_time), part));
    else
        finding_summary(diagnosis, finding, "%s recorded, with unknown work",
                        format_plural(kernels->count, "kernel was", "kernels were", count));
    finding_cause(diagnosis, finding,
                  "Their bytes and operations are not known, so their distance from the limits of "
                  "the device is not known either.");
    if (top)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_KERNEL, .name = top},
                         "%s is the largest of them", short_kernel(diagnosis, top, name));
    bool nvidia = diagnosis->trace->device.compute_major[diagnosis->source->devices[0].id] > 0;
    finding_fix(
        diagnosis, finding, EFFORT_SETTING, NULL,
        "Measure their hardware counters%s: they show whether memory accesses are coalesced "
        "and how busy memory and multiprocessors are",
        nvidia ? " (ridge counters -- COMMAND)" : " with the profiler of the vendor");
}

/* Without a timeline only the kernels themselves are known. */
static void describe_kernels(struct diagnosis *diagnosis, struct finding *finding) {
    const struct kernel_facts *kernels = &diagnosis->facts.kernels;
    char count[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE], roof[FORMAT_SIZE];
    format_plural(kernels->count, "kernel", "kernels", count);
    if (2 * kernels->known_time > kernels->total_time)
        finding_summary(
            diagnosis, finding,
            "The counters of %s, %s in total, show no fault; their busiest units are "
            "busy %s of the time",
            count, format_duration(kernels->total_time, time),
            format_percent(share_of(kernels->known_roof_time, kernels->known_time), roof));
    else
        finding_summary(diagnosis, finding, "The counters of %s, %s in total, show no fault", count,
                        format_duration(kernels->total_time, time));
    finding_cause(diagnosis, finding,
                  "Other counters may show one: memory access, warps and stalls have sections of "
                  "their own.");
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Measure all counters: ncu --set full, or ridge counters --set full");
}

void diagnose_healthy(struct diagnosis *diagnosis) {
    struct verdict *verdict = diagnosis->verdict;
    bool unknown = undecided(diagnosis);
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_HEALTHY,
                     2 * diagnosis->facts.kernels.known_time > diagnosis->facts.kernels.total_time
                         ? CONFIDENCE_HIGH
                         : CONFIDENCE_MEDIUM);
    if (kernels_are_missing(&diagnosis->facts))
        describe_unrecorded(diagnosis, finding);
    else if (unknown)
        describe_undecided(diagnosis, finding);
    else if (diagnosis->source->model->no_timeline &&
             !has_judged_figures(diagnosis->source->counters))
        describe_unmeasured(diagnosis, finding);
    else if (diagnosis->source->model->no_timeline)
        describe_kernels(diagnosis, finding);
    else if (kernels_are_unknown(diagnosis) && gain_is_small(verdict))
        describe_unknown_kernels(diagnosis, finding);
    else
        describe_healthy(diagnosis, finding);
    diagnose_lead(diagnosis);
}

/* Recorder's notes about libraries of APIs that it did not record. Without any device activity,
 * such an API may have done the work, so the verdict names it. */
static void add_unrecorded_apis(struct diagnosis *diagnosis) {
    const struct trace *trace = diagnosis->trace;
    for (size_t i = 0; i < trace->meta.count; i++) {
        struct text words = trace_text(trace, trace->meta.value[i]);
        if (!text_is(trace_text(trace, trace->meta.key[i]), META_WARNING) ||
            text_find(words, " was loaded, but ") < 0)
            continue;
        diagnose_add_missing(diagnosis, "%.*s.", TEXT_ARGS(words));
        if (diagnosis->source->device_count == 0 && !diagnosis->verdict->caution)
            diagnose_set_text(diagnosis, &diagnosis->verdict->caution, "%.*s.", TEXT_ARGS(words));
    }
}

void diagnose_missing(struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    const struct facts *facts = &diagnosis->facts;
    const struct trace *trace = diagnosis->trace;
    bool devices = source->device_count > 0, torch = facts->framework == FRAMEWORK_TORCH;
    char text[FORMAT_SIZE];
    add_unrecorded_apis(diagnosis);
    if (!devices)
        return;
    if (source->model->no_timeline)
        diagnose_add_missing(diagnosis,
                             "There is no timeline, so idle time, launches and copies are not "
                             "known. Record the program with ridge record.");
    else if (trace->call.count == 0)
        diagnose_add_missing(diagnosis,
                             "No API calls were recorded, so the cause of idle time is not known. "
                             "Record with ridge record%s.",
                             torch ? ", or torch.profiler with ProfilerActivity.CPU" : "");
    else if (facts->cause[CAUSE_UNKNOWN] > facts->idle / 4 && facts->idle > facts->window / 20)
        diagnose_add_missing(diagnosis,
                             "%s of idle time ends with an activity whose launch was not recorded. "
                             "Record from the start of the program.",
                             format_duration(facts->cause[CAUSE_UNKNOWN], text));
    if (facts->cause[CAUSE_HOST] > facts->window / 10 && trace->sample.count == 0 &&
        trace->range.count == 0)
        diagnose_add_missing(
            diagnosis,
            "No samples or ranges were recorded, so host code has no names. Record with CPU "
            "sampling (no --no-sampling) or add ranges (%s).",
            remedy_range_apis(facts->framework));
    const struct limits *limits = source->limits ? &source->limits[source->devices[0].id] : NULL;
    bool no_roofs = !limits || limits->source[DEVICE_LIMIT_MEMORY] < LIMIT_PUBLISHED;
    if (facts->kernels.count && no_roofs)
        diagnose_add_missing(
            diagnosis, "The roofs of the device are not known, so the distance of its "
                       "kernels from them is not known either. Run ridge peaks on its machine.");
    else if (facts->kernels.count && 4 * facts->kernels.known_time < facts->kernels.total_time)
        diagnose_add_missing(
            diagnosis,
            "The work (bytes, operations) of most kernels is not known, so their distance "
            "from the roofs is not known either.%s",
            torch ? " Record with torch.profiler and record_shapes=True." : "");
    if (source->quality && source->quality->dropped)
        diagnose_add_missing(diagnosis,
                             "%s event%s lost while recording. Record with a larger --max-size or "
                             "a shorter --duration.",
                             format_count(source->quality->dropped, text),
                             source->quality->dropped == 1 ? " was" : "s were");
    if (source->steps->count == 0 && !source->narrowed && facts->kernels.count > 64)
        diagnose_add_missing(diagnosis,
                             "No steps were found, so the whole run is judged, including start-up. "
                             "Mark each step with a range (%s).",
                             remedy_range_apis(facts->framework));
}
