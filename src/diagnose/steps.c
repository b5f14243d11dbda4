/* Do a few steps take much longer than the rest? They cost the time above the median. The reason is
 * often another finding, which then ranks first. */
#include "base/memory.h"
#include "base/min_max.h"
#include "base/sort.h"
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

/* A host that runs ahead of a busy device has short steps until the queue is full, and waits in the
 * last one: then a step takes the time of its activities. */
static bool is_ahead(const struct diagnosis *diagnosis) {
    const struct facts *facts = &diagnosis->facts;
    return diagnosis->source->device_count && 10 * facts->idle < facts->window;
}

static bool is_within(const struct steps *steps, size_t step, int64_t time) {
    return step < steps->count && time >= steps->list[step].start && time < steps->list[step].end;
}

/* From the first activity launched in a step to the first one launched in the next; false: some
 * steps launch none. */
static bool find_device_times(const struct diagnose_source *source, int64_t *times) {
    const struct model *model = source->model;
    const struct columns_activity *activity = &model->trace->activity;
    uint32_t device = source->devices[0].id;
    size_t first = source->first_step, count = source->step_count, step = SIZE_MAX;
    bool periodic = source->steps->source == STEPS_PERIODIC;
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < count; i++)
        times[i] = INT64_MAX;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        uint32_t call = model->launch[i];
        if (!periodic && call == NO_ROW)
            continue;
        int64_t issued = periodic ? activity->start[i] : model->trace->call.start[call];
        if (!is_within(source->steps, step, issued))
            step = steps_at(source->steps, issued);
        if (step < first || step >= first + count)
            continue;
        times[step - first] = MIN(times[step - first], activity->start[i]);
        end = MAX(end, model_activity_end(model, i));
    }
    bool all = true;
    for (size_t i = count; i > 0; i--) {
        int64_t start = times[i - 1];
        all = all && start <= end;
        times[i - 1] = all ? end - start : 0;
        end = start;
    }
    return all;
}

/* The times of the judged steps, and their median. */
static int64_t *step_times(struct diagnosis *diagnosis, int64_t *median) {
    const struct diagnose_source *source = diagnosis->source;
    bool ahead = is_ahead(diagnosis);
    size_t cursor = 0, count = source->step_count;
    int64_t *times = memory_allocate(2 * count, sizeof *times, diagnosis->status);
    ahead = times && ahead && find_device_times(source, times);
    for (size_t i = 0; times && i < count; i++) {
        if (!ahead)
            times[i] =
                judged_part_of(source, &source->steps->list[source->first_step + i], &cursor);
        times[count + i] = times[i];
    }
    if (times)
        *median = ahead ? sort_select(times + count, count, count / 2) : source->steps->median;
    diagnosis->failed |= times == NULL;
    return times;
}

void diagnose_steps(struct diagnosis *diagnosis) {
    const struct diagnose_source *source = diagnosis->source;
    const struct steps *steps = source->steps;
    char count[FORMAT_SIZE], longest[FORMAT_SIZE], usual[FORMAT_SIZE], beyond[FORMAT_SIZE];
    int64_t median;
    int64_t *times = source->step_count < 8 ? NULL : step_times(diagnosis, &median);
    if (!times)
        return;
    int64_t longest_time = 0, excess = 0;
    size_t uneven = 0, worst = source->first_step;
    for (size_t i = source->first_step; i < source->first_step + source->step_count; i++) {
        int64_t time = times[i - source->first_step];
        if (time > median + median / 4) {
            excess += time - median;
            uneven++;
        }
        if (time > longest_time) {
            longest_time = time;
            worst = i;
        }
    }
    memory_free(times);
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
        format_duration(median, usual), format_duration(longest_time, longest),
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
