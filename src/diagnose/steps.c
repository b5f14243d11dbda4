/* Are the steps even? Some that take much longer than the rest cost what they take beyond it; what
 * makes them long is often another finding, which then comes first. */
#include "diagnose/diagnosis.h"

/* What of a step is in the judged part: on the judged device, or on the host without one. Steps are
 * host time, and one may go on long after the device's last activity. */
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
    int64_t most = 0, excess = 0;
    size_t uneven = 0, worst = source->first_step, cursor = 0;
    for (size_t i = source->first_step; i < source->first_step + source->step_count; i++) {
        int64_t time = judged_part_of(source, &steps->list[i], &cursor);
        if (time > steps->median + steps->median / 4) {
            excess += time - steps->median;
            uneven++;
        }
        if (time > most) {
            most = time;
            worst = i;
        }
    }
    if (uneven == 0 || 4 * uneven > source->step_count)
        return; /* a quarter of them is a habit, not an exception */
    struct finding *finding =
        diagnose_add(diagnosis, FINDING_IRREGULAR_STEPS,
                     steps->source == STEPS_PERIODIC ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM);
    finding_estimate(diagnosis, finding, excess);
    finding_summary(diagnosis, finding,
                    "%s of %zu steps take more than a quarter longer than the median of %s, %s at "
                    "most: %s beyond it in all",
                    format_count(uneven, count), source->step_count,
                    format_duration(steps->median, median), format_duration(most, longest),
                    format_duration(excess, beyond));
    finding_cause(diagnosis, finding,
                  "Something does not happen in every step: input, logging, saving, garbage "
                  "collection, another program on the machine.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_TEXT,
                                       .start = steps->list[worst].start,
                                       .end = steps->list[worst].end},
                     "step %zu is the longest, %s", worst + 1, longest);
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Look at the longest step by itself: ridge report --steps %zu", worst + 1);
}
