/* The steady steps are a part of the run like one that a user chose: they have their own account,
 * gaps, kernels and replay. Where they are all of it, the report's own answers do. */
#include "report/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "report/select.h"
#include "base/parallel.h"

/* The answers of one device over the judged part, where they are not the report's. */
struct judged_device {
    struct account account;
    struct gaps gaps;
    struct kernels kernels;
    struct launches launches;
    struct copies copies;
};

struct judged {
    const struct report *report;
    struct selection *selections; /* by device id */
    struct judged_device *devices;
    struct diagnose_device *sources;
    size_t count;
    struct step_range steps;
    struct replay *replay;
};

static bool steady_steps(const struct report *report) {
    if (report->narrowed || !report->steps_judged)
        return false;
    for (size_t i = 0; i < report->device_count; i++)
        if (report->devices[i].has_steady)
            return true;
    return false;
}

static bool select_steady(struct judged *judged, struct status *status) {
    const struct report *report = judged->report;
    size_t devices = report->model.trace->device.count;
    judged->selections = memory_allocate(devices, sizeof *judged->selections, status);
    judged->devices = memory_allocate(report->device_count + 1, sizeof *judged->devices, status);
    if (!judged->selections || !judged->devices)
        return false;
    for (size_t i = 0; i < report->device_count; i++) {
        const struct report_device *device = &report->devices[i];
        struct selection *selection = &judged->selections[device->id];
        if (!device->has_steady)
            continue;
        if (!selection_add(selection, device->steady_window.start, device->steady_window.end,
                           status) ||
            !pauses_leave_out(&report->pauses, &report->model, device->id, selection, status))
            return false;
        if (selection->count)
            judged->sources[judged->count++] =
                (struct diagnose_device){.id = device->id, .selection = selection};
    }
    return true;
}

static bool ask_judged(struct judged *judged, size_t index, struct status *status) {
    const struct report *report = judged->report;
    struct diagnose_device *source = &judged->sources[index];
    struct judged_device *device = &judged->devices[index];
    source->account = &device->account;
    source->gaps = &device->gaps;
    source->kernels = &device->kernels;
    source->launches = &device->launches;
    source->copies = &device->copies;
    copies_find(&report->model, source->id, judged->selections, &device->copies);
    return account_device(&report->model, source->id, source->selection, &device->account,
                          status) &&
           gaps_find(&report->model, &report->host, source->id, source->selection, &device->gaps,
                     status) &&
           kernels_find(&report->model, &report->occupancy, &report->work, source->id,
                        judged->selections, &device->kernels, status) &&
           launches_find(&report->model, source->id, judged->selections, &device->launches, status);
}

static bool make_replay(struct judged *judged, struct status *status) {
    const struct report *report = judged->report;
    bool steady = judged->selections != NULL;
    judged->replay = report_replay(report, steady ? judged->selections : report->selections,
                                   steady || report->narrowed, judged->steps, status);
    return judged->replay != NULL;
}

/* The replay takes longest, so it is the first task; it alone loads columns of the trace. */
static bool prepare(void *context, size_t index, struct status *status) {
    return index ? ask_judged(context, index - 1, status) : make_replay(context, status);
}

static void take_reported(struct judged *judged) {
    const struct report *report = judged->report;
    for (size_t i = 0; i < report->device_count; i++) {
        const struct report_device *device = &report->devices[i];
        judged->sources[judged->count++] = (struct diagnose_device){
            .id = device->id,
            .selection = device->selection,
            .account = &device->account,
            .gaps = &device->gaps,
            .kernels = &device->kernels,
            .launches = &device->launches,
            .copies = &device->copies,
        };
    }
}

static void judged_finish(struct judged *judged) {
    for (size_t i = 0; judged->devices && i < judged->count; i++) {
        gaps_finish(&judged->devices[i].gaps);
        kernels_finish(&judged->devices[i].kernels);
    }
    for (size_t id = 0; judged->selections && id < judged->report->model.trace->device.count; id++)
        selection_finish(&judged->selections[id]);
    memory_free(judged->selections);
    memory_free(judged->devices);
    memory_free(judged->sources);
    replay_destroy(judged->replay);
}

/* The options with which ridge whatif is about the same part. */
static void write_options(const struct report *report, bool steady, struct buffer *words) {
    const struct report_options *options = &report->options;
    const char *const given[][2] = {{"--device", options->device},
                                    {"--range", options->range},
                                    {"--steps", report->loop    ? report->loop
                                                : steady        ? "steady"
                                                : report->whole ? "all"
                                                                : options->steps},
                                    {"--window", options->window}};
    for (size_t i = 0; i < ARRAY_COUNT(given); i++)
        if (given[i][1])
            buffer_printf(words,
                          strpbrk(given[i][1], " \t'\"$*?()<>&|;#\\") ? "%s%s '%s'" : "%s%s %s",
                          words->length ? " " : "", given[i][0], given[i][1]);
    buffer_byte(words, 0);
}

bool judge(struct report *report, struct status *status) {
    struct judged judged = {.report = report};
    struct buffer options = {0};
    const struct steps *steps = &report->steps;
    bool steady = steady_steps(report);
    size_t first_step = steps->warm_up, last_step = steps->count - 1;
    char part[80];
    if (!steady && report->options.steps && !select_steps(report, &first_step, &last_step, status))
        return false;
    bool by_steps = steady || report->options.steps;
    bool others = report->options.range || report->options.window;
    judged.steps = by_steps && !others ? (struct step_range){first_step, last_step}
                                       : (struct step_range){1, 0};
    judged.sources = memory_allocate(report->device_count + 1, sizeof *judged.sources, status);
    bool ok = judged.sources != NULL;
    if (ok && steady)
        ok = select_steady(&judged, status);
    else if (ok)
        take_reported(&judged);
    ok = ok && parallel_run(1 + (steady ? judged.count : 0), prepare, &judged, status);
    write_options(report, steady, &options);
    ok = ok && buffer_ok(&options, status);
    snprintf(part, sizeof part, "%ssteps %zu to %zu", others ? "the selected part of " : "",
             first_step + 1, last_step + 1);
    struct diagnose_source source = {
        .model = &report->model,
        .host = &report->host,
        .steps = steps,
        .limits = report->limits,
        .work = &report->work,
        .occupancy = &report->occupancy,
        .counters = &report->kernel_counters,
        .replay = judged.replay,
        .syncs = &report->syncs,
        .ranges = &report->ranges,
        .samples = &report->samples,
        .cpu = &report->cpu,
        .heap = &report->heap,
        .memory = report->memory,
        .quality = &report->quality,
        .devices = judged.sources,
        .device_count = judged.count,
        .narrowed = steady || report->narrowed,
        .host_part = report->narrowed ? &report->host_selection : NULL,
        .part = by_steps           ? part
                : report->narrowed ? "the selected part"
                                   : "the run",
        .part_options = options.failed ? "" : options.data,
        .first_step = by_steps ? first_step : 0,
        .step_count = by_steps ? last_step - first_step + 1 : 0,
    };
    ok = ok && diagnose(&source, &report->verdict, status);
    buffer_finish(&options);
    judged_finish(&judged);
    return ok;
}
