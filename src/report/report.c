/* Asks every question once, in the order in which answers depend on each other. */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "report/judge.h"
#include "report/sample.h"
#include "report/select.h"
#include "trace/writer.h"

static void finish_device(struct report_device *device) {
    gaps_finish(&device->gaps);
    kernels_finish(&device->kernels);
    layers_finish(&device->layers);
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
    bool ok =
        selection_add(&selection, device->steady_window.start, device->steady_window.end, status) &&
        pauses_leave_out(&report->pauses, &report->model, device->id, &selection, status) &&
        account_device(&report->model, device->id, &selection, &device->steady, status);
    selection_finish(&selection);
    return ok;
}

/* What starts where is a question only when the report is about a part. */
static const struct selection *selections_of(const struct report *report) {
    return report->narrowed || report->options.device ? report->selections : NULL;
}

/* Every question of a report is a task of its own; they share nothing that they write. */
enum device_question {
    ASK_ACCOUNT,
    ASK_GAPS,
    ASK_KERNELS,
    ASK_LAUNCHES,
    ASK_LAYERS,
    DEVICE_QUESTIONS
};

static bool ask_device(struct report *report, struct report_device *device,
                       enum device_question question, struct status *status) {
    const struct model *model = &report->model;
    switch (question) {
    case ASK_ACCOUNT:
        copies_find(model, device->id, selections_of(report), &device->copies);
        return account_device(model, device->id, device->selection, &device->account, status) &&
               find_steady(report, device, status);
    case ASK_GAPS:
        return gaps_find(model, &report->host, device->id, device->selection, &device->gaps,
                         status);
    case ASK_KERNELS:
        return kernels_find(model, &report->occupancy, &report->work, device->id,
                            selections_of(report), &device->kernels, status);
    case ASK_LAYERS:
        return layers_find(model, &report->steps, device->id, device->selection, &device->layers,
                           status);
    default:
        return launches_find(model, device->id, selections_of(report), &device->launches, status);
    }
}

enum run_question {
    ASK_ALL_KERNELS,
    ASK_MEDIAN_DELAY,
    ASK_CALLS,
    ASK_LINES,
    ASK_SYNCS,
    ASK_RANGES,
    ASK_SAMPLES,
    ASK_CPU,
    ASK_HEAP,
    ASK_OPERATORS,
    ASK_COUNTERS,
    ASK_MEMORY,
    ASK_TRUST,
    RUN_QUESTIONS
};

static bool ask_run(struct report *report, enum run_question question, struct status *status) {
    const struct model *model = &report->model;
    const struct selection *host = report->narrowed ? &report->host_selection : NULL;
    switch (question) {
    case ASK_ALL_KERNELS:
        copies_find(model, 0, selections_of(report), &report->copies);
        return kernels_find(model, &report->occupancy, &report->work, 0, selections_of(report),
                            &report->kernels, status);
    case ASK_MEDIAN_DELAY:
        return launches_median_delay(model, selections_of(report), &report->launches.delay_median,
                                     status);
    case ASK_CALLS:
        return calls_find(model, host, &report->calls, status);
    case ASK_LINES:
        return lines_find(model, &report->host, selections_of(report), host, &report->lines,
                          status);
    case ASK_SYNCS:
        return syncs_find(model, &report->host, host, &report->syncs, status);
    case ASK_RANGES:
        return ranges_find(model, host, &report->ranges, status);
    case ASK_SAMPLES:
        return samples_find(model, host, &report->samples, status);
    case ASK_CPU:
        return cpu_account_find(model, &report->host, host, &report->cpu, status);
    case ASK_OPERATORS:
        return report->device_count > 0 || operators_find(model, host, &report->operators, status);
    case ASK_HEAP:
        return heap_find(model, &report->heap, status);
    case ASK_COUNTERS:
        return counters_find(model->trace, &report->counters, status);
    case ASK_MEMORY:
        return memory_use_find(model, host, &report->memory, status) &&
               memory_lines_find(model, &report->memory_lines, status);
    default:
        return data_quality_find(model, &report->pauses, &report->quality, status);
    }
}

static bool ask(void *context, size_t index, struct status *status) {
    struct report *report = context;
    size_t of_devices = report->device_count * DEVICE_QUESTIONS;
    if (index >= of_devices)
        return ask_run(report, (enum run_question)(index - of_devices), status);
    return ask_device(report, &report->devices[index % report->device_count],
                      (enum device_question)(index / report->device_count), status);
}

/* Limits, steps, the host's timeline and occupancy need only the model. The last two load columns
 * of the trace, one after the other. */
enum { PREPARE_LIMITS, PREPARE_STEPS, PREPARE_HOST, PREPARATIONS };

static bool prepare(void *context, size_t index, struct status *status) {
    struct report *report = context;
    if (index == PREPARE_LIMITS)
        return limits_find(&report->model, report->options.given, &report->limits, status);
    if (index == PREPARE_STEPS)
        return steps_find(&report->model, report->loop, &report->steps, status);
    if (!host_build(&report->host, &report->model, status) ||
        !gaps_sum_threads(&report->model, &report->host, &report->gap_totals, status) ||
        !trace_load(report->model.trace, TABLE_ALLOCATION, NULL, status) ||
        !trace_load(report->model.trace, TABLE_COUNTER, NULL, status))
        return false;
    report->host.totals = report->gap_totals.threads ? &report->gap_totals : NULL;
    return occupancy_find(&report->model, &report->occupancy, status);
}

static bool find_work(struct report *report, struct status *status) {
    return kernel_counters_find(&report->model, &report->kernel_counters, status) &&
           work_find(&report->model, &report->host, report->limits, &report->kernel_counters,
                     &report->work, status);
}

struct replay *report_replay(const struct report *report, const struct selection *selections,
                             bool narrowed, struct step_range steps, struct status *status) {
    struct step_range sampled;
    if (sample_choose(report, steps, &sampled))
        return sample_replay(report, selections, steps, sampled, status);
    struct replay_source source = {
        .model = &report->model,
        .host = &report->host,
        .steps = &report->steps,
        .pauses = &report->pauses,
        .limits = report->limits,
        .work = &report->work,
        .selections = selections,
        .narrowed = narrowed,
    };
    return replay_create(&source, status);
}

/* The replay reads columns that the questions do not, so it is made when they are answered. */
static bool keep_replay(struct report *report, struct status *status) {
    struct step_range steps = {1, 0};
    const struct report_options *options = &report->options;
    if (options->steps && !options->range && !options->window &&
        !select_steps(report, &steps.first, &steps.last, status))
        return false;
    report->replay = report_replay(report, report->selections, report->narrowed, steps, status);
    return report->replay != NULL;
}

static bool wants_device(const struct report *report, uint32_t device) {
    if (!report->options.device)
        return true;
    return text_is(model_device_key(&report->model, device), report->options.device);
}

static bool no_such_device(const struct report *report, struct status *status) {
    struct buffer labels = {0};
    const struct trace *trace = report->model.trace;
    for (uint32_t id = 1; id < trace->device.count; id++)
        if (report->model.device_first[id] < report->model.device_first[id + 1]) {
            struct text label = model_device_key(&report->model, id);
            buffer_printf(&labels, "%s%.*s", labels.length ? ", " : "", TEXT_ARGS(label));
        }
    status_fail(status, STATUS_USAGE, "--device: no device %s did anything here; there %s %.*s",
                report->options.device, labels.length ? "is" : "is none",
                (int)(labels.length < 300 ? labels.length : 300), labels.data ? labels.data : "");
    buffer_finish(&labels);
    return false;
}

/* Ids of the devices that did something and are asked about. Free *ids. */
static bool list_devices(const struct report *report, uint32_t **ids, size_t *count,
                         struct status *status) {
    size_t devices = report->model.trace->device.count;
    *count = 0;
    *ids = memory_allocate(devices, sizeof **ids, status);
    for (uint32_t id = 1; *ids && id < devices; id++)
        if (report->model.device_first[id] < report->model.device_first[id + 1] &&
            wants_device(report, id))
            (*ids)[(*count)++] = id;
    return *ids != NULL;
}

/* The share of the kernel time from `since` on that is in the window. */
static double share_of_work(const struct model *model, uint32_t device, int64_t since,
                            struct window window) {
    double whole = 0, inside = 0;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        bool kernel = model->trace->activity.kind[i] == ACTIVITY_KERNEL;
        double duration = kernel ? (double)model->trace->activity.duration[i] : 0;
        int64_t start = model->trace->activity.start[i];
        if (start < since)
            continue;
        whole += duration;
        if (start >= window.start && start < window.end)
            inside += duration;
    }
    return whole > 0 ? inside / whole : 0;
}

static double recorded_time(const struct report *report, uint32_t session, int64_t start,
                            int64_t end) {
    return (double)end - (double)start -
           (double)pauses_within(&report->pauses, session, start, end);
}

/* Whether the steps found, warm-up included, are the run: they have at least half of the device's
 * time and of its kernel time. In a recording of a program from its start, what precedes the first
 * step is start-up and does not count. Otherwise the steps are a detail, and the run is judged. */
static bool steps_cover(const struct report *report, uint32_t device) {
    const struct model *model = &report->model;
    const struct steps *steps = &report->steps;
    struct window window, run;
    uint32_t session = model->trace->device_session[device];
    if (!steps_window(model, steps, device, 0, steps->count - 1, &window) ||
        !model_device_window(model, device, &run))
        return false;
    struct text format = trace_meta(model->trace, META_SOURCE_FORMAT);
    bool imported = format.length && !text_is(format, "ridge");
    int64_t since = imported ? run.start : window.start;
    double wall = recorded_time(report, session, since, run.end);
    double covered = recorded_time(report, session, window.start, window.end);
    return 2 * covered >= wall && 2 * share_of_work(model, device, since, window) >= 1;
}

/* "all" is no selection. Where nothing is selected and the part that a verdict is about is wanted,
 * that is the steady steps, if some device has work in them. */
static void choose_part(struct report *report, const uint32_t *ids, size_t count) {
    struct report_options *options = &report->options;
    const struct steps *steps = &report->steps;
    struct window window;
    bool found = false;
    if (options->steps && strcmp(options->steps, "all") == 0) {
        options->steps = NULL;
        report->whole = true;
    }
    if (report->whole || options->range || options->steps || options->window ||
        steps->count < STEADY_STEPS_MIN)
        return;
    for (size_t i = 0; i < count; i++)
        if (steps_window(&report->model, steps, ids[i], steps->warm_up, steps->count - 1,
                         &window)) {
            found = true;
            report->steps_judged |= steps_cover(report, ids[i]);
        }
    report->steps_remark = found && !report->steps_judged;
    if (options->steady && report->steps_judged)
        options->steps = "steady";
    report->steady_by_default = options->steps != NULL;
}

/* What several options select may have nothing in common. */
static bool has_part(const struct report *report, struct status *status) {
    const struct report_options *options = &report->options;
    int given = (options->range != NULL) + (options->steps != NULL) + (options->window != NULL);
    return given < 2 || report->device_count || report->host_selection.count ||
           status_fail(status, STATUS_USAGE,
                       "nothing is in all of the selected parts: leave out one of --range, --steps "
                       "and --window");
}

static bool add_devices(struct report *report, const uint32_t *ids, size_t count,
                        struct status *status) {
    report->selections =
        memory_allocate(report->model.trace->device.count, sizeof *report->selections, status);
    report->devices = memory_allocate(count, sizeof *report->devices, status);
    if (!report->selections || !report->devices ||
        !select_devices(report, ids, count, report->selections, status))
        return false;
    for (size_t i = 0; i < count; i++)
        if (report->selections[ids[i]].count)
            report->devices[report->device_count++] =
                (struct report_device){.id = ids[i], .selection = &report->selections[ids[i]]};
    if (report->options.device && count == 0)
        return no_such_device(report, status);
    return has_part(report, status);
}

static bool select_part(struct report *report, struct status *status) {
    uint32_t *ids;
    size_t count;
    if (!list_devices(report, &ids, &count, status))
        return false;
    choose_part(report, ids, count);
    bool ok = select_host(report, status) && add_devices(report, ids, count, status);
    memory_free(ids);
    return ok;
}

bool report_build(struct report *report, struct trace *trace, const struct report_options *options,
                  struct status *status) {
    memset(report, 0, sizeof *report);
    report->options = *options;
    if (options->steps && select_is_loop(options->steps)) {
        report->loop = options->steps;
        report->options.steps = "steady";
    }
    bool ok =
        model_build(&report->model, trace, status) &&
        pauses_find(&report->model, &report->pauses, status) &&
        parallel_run(PREPARATIONS, prepare, report, status) && find_work(report, status) &&
        select_part(report, status) &&
        parallel_run(report->device_count * DEVICE_QUESTIONS + RUN_QUESTIONS, ask, report, status);
    if (ok && !report->options.no_verdict)
        ok = judge(report, status);
    if (ok && report->options.keep_replay)
        ok = keep_replay(report, status);
    for (size_t i = 0; i < report->device_count && ok; i++) {
        report->kernel_busy += report->devices[i].account.kernel_union;
        launches_add(&report->launches, &report->devices[i].launches);
    }
    if (!ok)
        report_finish(report);
    return ok;
}

void report_finish(struct report *report) {
    verdict_finish(&report->verdict);
    replay_destroy(report->replay);
    work_finish(&report->work);
    memory_free(report->limits);
    for (size_t i = 0; i < report->device_count; i++)
        finish_device(&report->devices[i]);
    memory_free(report->devices);
    for (size_t id = 0; report->selections && id < report->model.trace->device.count; id++)
        selection_finish(&report->selections[id]);
    memory_free(report->selections);
    selection_finish(&report->host_selection);
    kernels_finish(&report->kernels);
    calls_finish(&report->calls);
    lines_finish(&report->lines);
    syncs_finish(&report->syncs);
    ranges_finish(&report->ranges);
    samples_finish(&report->samples);
    cpu_account_finish(&report->cpu);
    heap_finish(&report->heap);
    operators_finish(&report->operators);
    counters_finish(&report->counters);
    kernel_counters_finish(&report->kernel_counters);
    memory_lines_finish(&report->memory_lines);
    memory_free(report->memory);
    steps_finish(&report->steps);
    data_quality_finish(&report->quality);
    occupancy_finish(&report->occupancy);
    pauses_finish(&report->pauses, &report->model);
    gap_totals_finish(&report->gap_totals);
    host_finish(&report->host);
    if (report->model.trace)
        model_finish(&report->model);
    memset(report, 0, sizeof *report);
}

static int64_t session_wall(const struct report *report, uint32_t session) {
    const struct window *span = &report->model.session_span[session];
    return model_session_wall(&report->model, session) -
           pauses_within(&report->pauses, session, span->start, span->end);
}

int64_t report_wall(const struct report *report) {
    int64_t wall = 0;
    if (report->narrowed)
        return selection_length(&report->host_selection);
    for (uint32_t session = 0; session < report->model.trace->session_count; session++)
        if (__builtin_add_overflow(wall, session_wall(report, session), &wall))
            return INT64_MAX;
    return wall;
}

int64_t report_device_wall(const struct report *report, const struct report_device *device) {
    if (report->narrowed)
        return device->account.window;
    return session_wall(report, report->model.trace->device_session[device->id]);
}
