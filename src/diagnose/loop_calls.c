/* Does the loop compile or load code, or allocate and free memory? Both block the host, and a free
 * also waits for the device. */
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* Whether the loop makes such calls. Without known steps, a loop still makes them in the last two
 * quarters of the work, start-up does not. If one call has most of the time, that is start-up too.
 */
static bool recurs_in_loop(const struct diagnosis *diagnosis, enum call_class class) {
    const struct facts *facts = &diagnosis->facts;
    size_t steps = diagnosis->source->step_count;
    if (steps)
        return 4 * facts->calls[class] >= steps;
    return facts->calls[class] >= 4 && facts->quarter_calls[class][QUARTERS - 2] > 0 &&
           facts->quarter_calls[class][QUARTERS - 1] > 0 &&
           2 * facts->call_longest[class] < facts->call_time[class];
}

/* Modules are loaded at the first use of each kernel, which may be in the first of many short
 * steps: code that the second half does not load again is start-up. */
static bool compiles_in_loop(const struct diagnosis *diagnosis) {
    const uint64_t *calls = diagnosis->facts.quarter_calls[CALL_COMPILE];
    if (diagnosis->source->step_count == 0)
        return recurs_in_loop(diagnosis, CALL_COMPILE);
    return calls[QUARTERS - 2] + calls[QUARTERS - 1] > 0;
}

/* Without steps the replay also removes the calls of start-up: count only the loop's part. */
static void exclude_startup(const struct diagnosis *diagnosis, struct finding *finding,
                            enum call_class class) {
    const struct facts *facts = &diagnosis->facts;
    if (diagnosis->source->step_count == 0)
        finding->recoverable =
            (int64_t)((double)finding->recoverable * steady_fraction(facts->quarter_time[class],
                                                                     facts->call_longest[class],
                                                                     facts->call_time[class]));
}

/* The replay also removes the host code directly before a load call (NVRTC, Triton, inductor). */
static void predict_compilation(struct diagnosis *diagnosis, struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    const struct prediction *calls = predict_alone(diagnosis, CHANGE_NO_COMPILE);
    finding_change(finding, CHANGE_NO_COMPILE, (struct text){0}, 0);
    if (calls->applicable)
        finding_take(diagnosis, finding, calls);
    if (finding->recoverable == 0) {
        finding_estimate(diagnosis, finding, facts->cause[CAUSE_COMPILE]);
        finding->confidence = CONFIDENCE_MEDIUM;
    }
    int64_t sampled = facts->cause[CAUSE_COMPILE] +
                      (int64_t)(diagnosis->compiling_share * (double)facts->cause[CAUSE_HOST]);
    if (diagnosis->compiling_share > 0.5 && sampled > finding->recoverable) {
        finding_estimate(diagnosis, finding, sampled);
        finding->error = finding->recoverable / 5;
        finding->change_count = 0;
    }
}

void diagnose_compilation(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char time[FORMAT_SIZE], count[FORMAT_SIZE], own[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (facts->compile_ranges == 0 && (facts->compile_calls == 0 || !compiles_in_loop(diagnosis)))
        return;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_COMPILATION,
                     diagnosis->source->step_count ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    predict_compilation(diagnosis, finding);
    exclude_startup(diagnosis, finding, CALL_COMPILE);
    struct text name = trace_text(diagnosis->trace, facts->compile_name);
    bool host = facts->host_time_before_compile > 0;
    if (facts->compile_calls)
        finding_summary(
            diagnosis, finding, "%s compile or load call%s (largest: %.*s) take%s %s%s%s%s",
            format_count(facts->compile_calls, count), facts->compile_calls == 1 ? "" : "s",
            TEXT_ARGS(name), facts->compile_calls == 1 ? "s" : "",
            format_duration(facts->call_time[CALL_COMPILE], time), host ? ", preceded by " : "",
            host ? format_duration(facts->host_time_before_compile, own) : "",
            host ? " of host code" : "");
    else
        finding_summary(diagnosis, finding, "Compilation takes %s",
                        format_duration(facts->compile_ranges, time));
    finding_gain(diagnosis, finding, "without compilation, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Code is compiled or modules are loaded while the program runs. This blocks the "
                  "host, and the device runs out of work.");
    if (facts->compile_calls)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_CALL, .name = facts->compile_name},
                         "%.*s and similar: %s call%s, %s", TEXT_ARGS(name), count,
                         facts->compile_calls == 1 ? "" : "s", time);
    if (facts->compile_range) {
        struct text range = trace_text(diagnosis->trace, facts->compile_range);
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_RANGE, .name = facts->compile_range},
                         "Ranges that compile, such as %.*s: %s", TEXT_ARGS(range),
                         format_duration(facts->compile_ranges, time));
    }
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-compile", "%s",
                remedy_text(facts->framework, REMEDY_COMPILE_AHEAD));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-compile", "%s",
                remedy_text(facts->framework, REMEDY_FIXED_SHAPES));
}

/* The first launch of a kernel loads its code. */
void diagnose_loading(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char time[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE], change[FROM_TO_SIZE];
    /* in a run without steps most of it is start-up */
    if ((diagnosis->source->step_count ? 20 : 3) * facts->loading_time < diagnosis->verdict->time)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_COMPILATION, CONFIDENCE_MEDIUM);
    finding_estimate(diagnosis, finding, MIN(facts->loading_time, facts->cause[CAUSE_LAUNCH]));
    format_duration(finding->recoverable, time);
    finding_summary(
        diagnosis, finding, "%s of kernels take %s, because the driver loads their code",
        format_plural(facts->loading_launches, "first launch", "first launches", count), time);
    finding_gain(diagnosis, finding, "with the code loaded before, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "The driver loads a kernel's code at its first launch. The launch call takes "
                  "milliseconds, and the device has no work meanwhile.");
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_GAP},
                     "Launch calls of a millisecond and more: %s, each the first of its kernel",
                     time);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                diagnosis->source->step_count
                    ? "Launch every kernel once before the loop (a warm-up step)"
                    : "Record after a warm-up, or launch every kernel once before the loop");
    finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                "Load all code at start: CUDA_MODULE_LOADING=EAGER (CUDA 11.7 or later)");
}

void diagnose_allocation(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char time[FORMAT_SIZE], count[FORMAT_PLURAL_SIZE], frees[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (facts->failed_allocations || !recurs_in_loop(diagnosis, CALL_ALLOC))
        return; /* failed allocations are memory pressure (memory.c) */
    const struct prediction *alone = predict_alone(diagnosis, CHANGE_NO_ALLOC);
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_ALLOCATION,
                     diagnosis->source->step_count ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_ALLOC, (struct text){0}, 0);
    if (alone->applicable)
        finding_take(diagnosis, finding, alone);
    else
        finding_estimate(diagnosis, finding, facts->cause[CAUSE_ALLOC]);
    exclude_startup(diagnosis, finding, CALL_ALLOC);
    struct text name = trace_text(diagnosis->trace, facts->alloc_name);
    finding_summary(diagnosis, finding,
                    "%s allocation%s and %s free%s in the loop take %s (largest: %.*s)",
                    format_count(facts->allocations, count), facts->allocations == 1 ? "" : "s",
                    format_count(facts->frees, frees), facts->frees == 1 ? "" : "s",
                    format_duration(facts->call_time[CALL_ALLOC], time), TEXT_ARGS(name));
    finding_gain(diagnosis, finding, "with a memory pool, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(
        diagnosis, finding,
        "The driver's allocation and free calls are slow, and a free waits for all device "
        "work.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_CALL, .name = facts->alloc_name},
                     "%.*s and similar: %s in %s", TEXT_ARGS(name), time,
                     format_plural(facts->calls[CALL_ALLOC], "call", "calls", count));
    if (facts->cause[CAUSE_ALLOC] > 0)
        finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_GAP},
                         "The device is idle for %s while the host allocates or frees",
                         format_duration(facts->cause[CAUSE_ALLOC], time));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-alloc", "%s",
                remedy_text(facts->framework, REMEDY_POOL));
}
