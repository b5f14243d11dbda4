/* See sample.h. The sample is opened as a trace of its own, with the same ids: its model, host and
 * work are made as those of the report are. */
#include "report/sample.h"

#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/min_max.h"

struct sample {
    struct trace *trace;
    struct model model;
    struct host host;
    struct pauses pauses;
    struct kernel_counters counters;
    struct work work;
    struct steps steps; /* a part of the report's; not to be finished */
    struct selection *selections;
    char words[80];
};

static size_t replayed_events(const struct report *report) {
    return report->model.trace->call.count + report->model.trace->activity.count;
}

/* In the middle: the start warms up, and the end may be cut. */
bool sample_choose(const struct report *report, struct step_range steps,
                   struct step_range *chosen) {
    enum { EVENTS_MAX = 3000000, SAMPLE_DIVISOR = 10, STEPS_MIN = 20 };
    size_t events = replayed_events(report);
    size_t max = report->options.replay_events ? report->options.replay_events : EVENTS_MAX;
    if (steps.first > steps.last || events <= max || report->model.mixed_clocks)
        return false;
    size_t count = steps.last - steps.first + 1, all = report->steps.count;
    double part = (double)max / SAMPLE_DIVISOR / (double)events;
    size_t wanted = MAX((size_t)(part * (double)all), STEPS_MIN);
    if (wanted * 3 > all)
        return false;
    wanted = MIN(wanted, count);
    chosen->first = steps.first + (count - wanted) / 2;
    chosen->last = chosen->first + wanted - 1;
    return true;
}

static void sample_destroy(void *owned) {
    struct sample *sample = owned;
    for (size_t id = 0; sample->selections && id < sample->trace->device.count; id++)
        selection_finish(&sample->selections[id]);
    memory_free(sample->selections);
    work_finish(&sample->work);
    kernel_counters_finish(&sample->counters);
    host_finish(&sample->host);
    if (sample->pauses.by_session)
        pauses_finish(&sample->pauses, &sample->model);
    if (sample->model.trace)
        model_finish(&sample->model);
    trace_close(sample->trace);
    memory_free(sample);
}

/* On the devices that are selected. */
static bool select_sample(struct sample *sample, const struct selection *selections,
                          struct status *status) {
    size_t devices = sample->trace->device.count;
    sample->selections = memory_allocate(devices, sizeof *sample->selections, status);
    if (!sample->selections)
        return false;
    for (uint32_t id = 1; id < devices; id++) {
        struct window window;
        if (selections[id].count == 0 ||
            !steps_window(&sample->model, &sample->steps, id, 0, sample->steps.count - 1, &window))
            continue;
        if (!selection_add(&sample->selections[id], window.start, window.end, status) ||
            !pauses_leave_out(&sample->pauses, &sample->model, id, &sample->selections[id], status))
            return false;
    }
    return true;
}

/* From the start of the first step to the end of the last one's work. */
static struct window time_of(const struct report *report, const struct steps *steps,
                             const struct selection *selections) {
    struct window time = {steps->list[0].start, steps->list[steps->count - 1].end};
    for (uint32_t id = 1; id < report->model.trace->device.count; id++) {
        struct window window;
        if (selections[id].count == 0 ||
            !steps_window(&report->model, steps, id, 0, steps->count - 1, &window))
            continue;
        time.start = MIN(time.start, window.start);
        time.end = MAX(time.end, window.end);
    }
    return time;
}

/* Of the steps before and after the sample there may be parts: chunks are kept whole. */
static bool fill_sample(struct sample *sample, const struct report *report,
                        const struct selection *selections, struct step_range chosen,
                        struct status *status) {
    char first[FORMAT_SIZE], last[FORMAT_SIZE];
    snprintf(sample->words, sizeof sample->words, "steps %s to %s",
             format_count(chosen.first + 1, first), format_count(chosen.last + 1, last));
    sample->steps = report->steps;
    sample->steps.list += chosen.first;
    sample->steps.count = chosen.last - chosen.first + 1;
    sample->steps.warm_up = 0;
    struct window time = time_of(report, &sample->steps, selections);
    return trace_open_part(report->model.trace, time.start, time.end, &sample->trace, status) &&
           model_build(&sample->model, sample->trace, status) &&
           pauses_find(&sample->model, &sample->pauses, status) &&
           host_build(&sample->host, &sample->model, status) &&
           kernel_counters_find(&sample->model, &sample->counters, status) &&
           work_find(&sample->model, &sample->host, report->limits, &sample->counters,
                     &sample->work, status) &&
           select_sample(sample, selections, status);
}

struct replay *sample_replay(const struct report *report, const struct selection *selections,
                             struct step_range steps, struct step_range chosen,
                             struct status *status) {
    struct sample *sample = memory_allocate(1, sizeof *sample, status);
    int64_t stands_for = 0;
    if (!sample || !fill_sample(sample, report, selections, chosen, status)) {
        if (sample)
            sample_destroy(sample);
        return NULL;
    }
    for (uint32_t id = 1; id < sample->trace->device.count; id++)
        stands_for = MAX(stands_for, selection_length(&selections[id]));
    return replay_create(
        &(struct replay_source){
            .model = &sample->model,
            .host = &sample->host,
            .steps = &sample->steps,
            .pauses = &sample->pauses,
            .limits = report->limits,
            .work = &sample->work,
            .selections = sample->selections,
            .narrowed = true,
            .stands_for = stands_for,
            .sampled = chosen.last - chosen.first < steps.last - steps.first ? sample->words : NULL,
            .owned = sample,
            .release = sample_destroy,
        },
        status);
}
