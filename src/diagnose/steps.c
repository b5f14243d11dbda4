/* Do a few steps take much longer than the rest? They cost the time above the median. The reason is
 * often another finding, which then ranks first. */
#include "diagnose/diagnosis.h"

/* The time of a step inside the judged part. Steps are host time, and the last one may end long
 * after the last activity of the device. */
static int64_t judged_part_of(const struct diagnose_source *source, const struct step *step,
                              size_t *cursor) {
    const struct selection *part =
        source->device_count ? source->devices[0].selection : source->host_part;
    int64_t time = step->end - step->start;
    return part ? selection_overlap(part, step->start, step->end, cursor) : time;
}

void diagnose_steps(struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    const struct steps *steps = source->steps;
    char count[FORMAT_SIZE], longest[FORMAT_SIZE], median[FORMAT_SIZE], beyond[FORMAT_SIZE];
    if (source->step_count < 8)
        return;
    int64_t longest_time = 0, excess = 0;
    size_t uneven = 0, worst = source->first_step, cursor = 0;
    for (size_t i = source->first_step; i < source->first_step + source->step_count; i++) {
        int64_t time = judged_part_of(source, &steps->list[i], &cursor);
        if (time > steps->median + steps->median / 4) {
            excess += time - steps->median;
            uneven++;
        }
        if (time > longest_time) {
            longest_time = time;
            worst = i;
        }
    }
    if (uneven == 0 || 4 * uneven > source->step_count)
        return; /* more than a quarter is not an exception */
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_IRREGULAR_STEPS,
                     steps->source == STEPS_PERIODIC ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
    finding_estimate(diagnosis, finding, excess);
    finding_summary(
        diagnosis, finding,
        "%s of %zu steps take%s over 25 %% longer than the median of %s, up to %s: %s in "
        "total above the median",
        format_count(uneven, count), source->step_count, uneven == 1 ? "s" : "",
        format_duration(steps->median, median), format_duration(longest_time, longest),
        format_duration(excess, beyond));
    finding_cause(
        diagnosis, finding,
        "Some work does not happen in every step, such as logging, checkpoints or garbage "
        "collection, or another program uses the machine.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_TEXT,
                                       .start = steps->list[worst].start,
                                       .end = steps->list[worst].end},
                     "Step %zu is the longest: %s", worst + 1, longest);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Report the longest step alone: ridge report TRACE --steps %zu", worst + 1);
}
