/* Asks every question once, in the order in which answers depend on each other. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/select.h"

static void finish_device(struct report_device *device) {
    gaps_finish(&device->gaps);
    kernels_finish(&device->kernels);
}

static bool find_steady(const struct report *report, struct report_device *device,
                        struct status *status) {
    const struct steps *steps = &report->steps;
    if (report->narrowed || steps->count == 0)
        return true;
    device->has_steady = steps_window(&report->model, steps, device->id, steps->warm_up,
                                      steps->count - 1, &device->steady_window);
    if (!device->has_steady)
        return true;
    struct selection selection = {0};
    bool ok = selection_add(&selection, device->steady_window.start, device->steady_window.end,
                            status) &&
              account_device(&report->model, device->id, &selection, &device->steady, status);
    selection_finish(&selection);
    return ok;
}

static bool ask_device(const struct report *report, struct report_device *device,
                       struct status *status) {
    const struct model *model = &report->model;
    const struct selection *selection = device->selection;
    copies_find(model, device->id, report->selections, &device->copies);
    return account_device(model, device->id, selection, &device->account, status) &&
           gaps_find(model, &report->host, device->id, selection, &device->gaps, status) &&
           kernels_find(model, device->id, report->selections, &device->kernels, status) &&
           launches_find(model, device->id, report->selections, &device->launches, status) &&
           find_steady(report, device, status);
}

static bool wants_device(const struct report *report, uint32_t device) {
    if (!report->options.device)
        return true;
    struct text label = model_device_label(&report->model, device);
    return text_is(label, report->options.device);
}

static bool no_such_device(const struct report *report, struct status *status) {
    struct buffer labels = {0};
    const struct trace *trace = report->model.trace;
    for (uint32_t id = 1; id < trace->device.count; id++)
        if (report->model.device_first[id] < report->model.device_first[id + 1]) {
            struct text label = model_device_label(&report->model, id);
            buffer_printf(&labels, "%s%.*s", labels.length ? ", " : "", TEXT_ARGS(label));
        }
    status_fail(status, STATUS_USAGE, "--device: no device %s did anything here; there %s %.*s",
                report->options.device, labels.length ? "is" : "is none",
                (int)(labels.length < 300 ? labels.length : 300), labels.data ? labels.data : "");
    buffer_finish(&labels);
    return false;
}

static bool add_devices(struct report *report, struct status *status) {
    const struct trace *trace = report->model.trace;
    size_t capacity = 0, working = 0;
    report->selections = memory_allocate(trace->device.count, sizeof *report->selections, status);
    if (!report->selections)
        return false;
    for (uint32_t id = 1; id < trace->device.count; id++) {
        struct selection *selection = &report->selections[id];
        bool worked = report->model.device_first[id] < report->model.device_first[id + 1];
        if (!worked || !wants_device(report, id))
            continue;
        working++;
        if (!select_device(report, id, selection, status))
            return false;
        if (selection->count == 0)
            continue;
        if (!memory_grow((void **)&report->devices, &capacity, report->device_count + 1,
                         sizeof *report->devices, status))
            return false;
        report->devices[report->device_count++] =
            (struct report_device){.id = id, .selection = selection};
        if (!ask_device(report, &report->devices[report->device_count - 1], status))
            return false;
    }
    if (report->options.device && working == 0)
        return no_such_device(report, status);
    return true;
}

/* The figures over all reported devices, each inside its own selection. */
static bool ask_totals(struct report *report, struct status *status) {
    const struct model *model = &report->model;
    for (size_t i = 0; i < report->device_count; i++)
        report->kernel_busy += report->devices[i].account.busy;
    copies_find(model, 0, report->selections, &report->copies);
    return kernels_find(model, 0, report->selections, &report->kernels, status) &&
           launches_find(model, 0, report->selections, &report->launches, status);
}

static bool ask_host(struct report *report, struct status *status) {
    const struct model *model = &report->model;
    const struct selection *selection = report->narrowed ? &report->host_selection : NULL;
    return calls_find(model, selection, &report->calls, status) &&
           syncs_find(model, &report->host, selection, &report->syncs, status) &&
           ranges_find(model, selection, &report->ranges, status) &&
           samples_find(model, selection, &report->samples, status) &&
           memory_use_find(model, selection, &report->memory, status) &&
           trust_find(model, &report->trust, status);
}

bool report_build(struct report *report, struct trace *trace,
                  const struct report_options *options, struct status *status) {
    memset(report, 0, sizeof *report);
    report->options = *options;
    bool ok = model_build(&report->model, trace, status) &&
              host_build(&report->host, &report->model, status) &&
              steps_find(&report->model, &report->steps, status) && select_host(report, status) &&
              add_devices(report, status) && ask_totals(report, status) &&
              ask_host(report, status);
    if (!ok)
        report_finish(report);
    return ok;
}

void report_finish(struct report *report) {
    for (size_t i = 0; i < report->device_count; i++)
        finish_device(&report->devices[i]);
    memory_free(report->devices);
    for (size_t id = 0; report->selections && id < report->model.trace->device.count; id++)
        selection_finish(&report->selections[id]);
    memory_free(report->selections);
    selection_finish(&report->host_selection);
    kernels_finish(&report->kernels);
    calls_finish(&report->calls);
    syncs_finish(&report->syncs);
    ranges_finish(&report->ranges);
    samples_finish(&report->samples);
    memory_free(report->memory);
    steps_finish(&report->steps);
    trust_finish(&report->trust);
    host_finish(&report->host);
    if (report->model.trace)
        model_finish(&report->model);
    memset(report, 0, sizeof *report);
}
