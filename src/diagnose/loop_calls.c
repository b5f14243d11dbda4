/* Does the loop call what belongs before it? Compiling and loading code, allocating and freeing
 * memory: both stop the host, and freeing waits for the device as well. */
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"

/* Whether it is the loop that makes such calls. Where no steps are known, a loop makes them in the
 * later quarter_end of the work as well; a start has made them by then, and one that takes most of
 * the time is a start too. */
static bool recurs_in_loop(const struct diagnosis *diagnosis, enum call_class class) {
    const struct facts *facts = &diagnosis->facts;
    size_t steps = diagnosis->source->step_count;
    if (steps)
        return 4 * facts->calls[class] >= steps;
    return facts->calls[class] >= 4 && facts->quarter_calls[class][QUARTERS - 2] > 0 &&
           facts->quarter_calls[class][QUARTERS - 1] > 0 &&
           2 * facts->call_longest[class] < facts->call_time[class];
}

/* Of a run without steps the replay took out what its start does as well: only what the later half
 * shows of it is the loop's. */
static void exclude_startup(const struct diagnosis *diagnosis, struct finding *finding,
                            enum call_class class) {
    const struct facts *facts = &diagnosis->facts;
    if (diagnosis->source->step_count == 0)
        finding->recoverable =
            (int64_t)((double)finding->recoverable * steady_fraction(facts->quarter_time[class],
                                                                     facts->call_longest[class],
                                                                     facts->call_time[class]));
}

/* The host's own code in front of a loading call (NVRTC, Triton, inductor) goes with it. */
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
}

void diagnose_compilation(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char time[FORMAT_SIZE], count[FORMAT_SIZE], own[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (facts->compile_ranges == 0 &&
        (facts->compile_calls == 0 ||
         (diagnosis->source->step_count == 0 && !recurs_in_loop(diagnosis, CALL_COMPILE))))
        return;
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_COMPILATION,
                     diagnosis->source->step_count ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM);
    predict_compilation(diagnosis, finding);
    exclude_startup(diagnosis, finding, CALL_COMPILE);
    struct text name = trace_text(diagnosis->trace, facts->compile_name);
    if (facts->compile_calls)
        finding_summary(diagnosis, finding,
                        "%s calls of %.*s and the like take %s, with %s of host code right before "
                        "them; without them %s",
                        format_count(facts->compile_calls, count), TEXT_ARGS(name),
                        format_duration(facts->call_time[CALL_COMPILE], time),
                        format_duration(facts->host_time_before_compile, own),
                        from_to(diagnosis, finding->recoverable, change));
    else
        finding_summary(diagnosis, finding, "Compiling takes %s; without it %s",
                        format_duration(facts->compile_ranges, time),
                        from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Code is compiled, or a module loaded, while the loop runs; the host does "
                  "nothing else meanwhile, and the device runs out of work.");
    if (facts->compile_calls)
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_CALL, .name = facts->compile_name},
                         "%.*s: %s compiling or loading calls, %s", TEXT_ARGS(name), count, time);
    if (facts->compile_range) {
        struct text range = trace_text(diagnosis->trace, facts->compile_range);
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_RANGE, .name = facts->compile_range},
                         "Range %.*s: %s in ranges that compile", TEXT_ARGS(range),
                         format_duration(facts->compile_ranges, time));
    }
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-compile", "%s",
                remedy_text(facts->framework, REMEDY_COMPILE_AHEAD));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-compile", "%s",
                remedy_text(facts->framework, REMEDY_FIXED_SHAPES));
}

void diagnose_allocation(struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    char time[FORMAT_SIZE], count[FORMAT_SIZE], frees[FORMAT_SIZE], change[FROM_TO_SIZE];
    if (facts->failed_allocations || !recurs_in_loop(diagnosis, CALL_ALLOC))
        return; /* failing ones are a matter of pressure */
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
                    "%s allocations and %s releases in the loop take %s (%.*s most); from a pool "
                    "%s",
                    format_count(facts->allocations, count), format_count(facts->frees, frees),
                    format_duration(facts->call_time[CALL_ALLOC], time), TEXT_ARGS(name),
                    from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "The driver's allocation and release are slow, and a release waits until the "
                  "device has finished all its work.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_CALL, .name = facts->alloc_name},
                     "%.*s and its like: %s in %s calls", TEXT_ARGS(name), time,
                     format_count(facts->calls[CALL_ALLOC], count));
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_GAP},
                     "the device was idle for %s while the host allocated or released",
                     format_duration(facts->cause[CAUSE_ALLOC], time));
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-alloc", "%s",
                remedy_text(facts->framework, REMEDY_POOL));
}
