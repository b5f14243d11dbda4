/* A range or step is host time; what it launched runs later on the device. A device's window
 * therefore reaches from the first to the last activity that was launched in it. */
#include "report/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "base/search.h"

/* A number and its unit; 0 needs none. */
static bool parse_time(struct text word, int64_t *time) {
    static const struct {
        const char *unit;
        int scale;
    } units[] = {{"ns", 0}, {"us", 3}, {"\xC2\xB5s", 3}, {"ms", 6}, {"s", 9}};
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        size_t length = strlen(units[i].unit);
        if (word.length > length &&
            memcmp(word.data + word.length - length, units[i].unit, length) == 0) {
            struct text number = {word.data, word.length - length};
            char last = number.data[number.length - 1];
            if (last >= '0' && last <= '9')
                return decimal_scaled(number, units[i].scale, time);
        }
    }
    *time = 0;
    return text_is(word, "0");
}

/* Both times from the run's start. */
static bool parse_window(const char *given, struct window *window, struct status *status) {
    const char *comma = strchr(given, ',');
    if (comma && parse_time((struct text){given, (size_t)(comma - given)}, &window->start) &&
        parse_time(text_of(comma + 1), &window->end) && window->start >= 0 &&
        window->end > window->start && window->end <= TRACE_TIME_LIMIT)
        return true;
    return status_fail(status, STATUS_USAGE,
                       "--window takes two times with units (ns, us, ms, s) from the run's start, "
                       "the first below the second, such as 10ms,1.5s; not \"%s\"",
                       given);
}

static bool find_window(const struct report *report, struct window *window, struct status *status) {
    if (!parse_window(report->options.window, window, status))
        return false;
    window->start += report->model.first;
    window->end += report->model.first;
    if (window->end > report->model.last && window->start < report->model.last)
        window->end = report->model.last; /* nothing was recorded beyond: no idle time either */
    return window->start < report->model.last ||
           status_fail(status, STATUS_USAGE,
                       "--window begins after the run ends (the run lasts %.6f s)",
                       (double)(report->model.last - report->model.first) * 1e-9);
}

bool select_is_loop(const char *steps) {
    const char *colon = strrchr(steps, ':');
    return colon && colon > steps && colon[1] &&
           strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/* "A-B" or "A", counted from 1; 0 and 0 for "steady" and "all". */
static bool parse_steps(const char *given, uint64_t *first, uint64_t *last, struct status *status) {
    *first = *last = 0;
    if (strcmp(given, "steady") == 0 || strcmp(given, "all") == 0 || select_is_loop(given))
        return true;
    const char *dash = strchr(given, '-');
    struct text from = dash ? (struct text){given, (size_t)(dash - given)} : text_of(given);
    if (text_to_u64(from, first) && text_to_u64(dash ? text_of(dash + 1) : from, last) &&
        *first >= 1 && *last >= *first)
        return true;
    return status_fail(
        status, STATUS_USAGE,
        "--steps takes A-B, counted from 1, \"steady\", \"all\" or the FILE:LINE of a loop; "
        "not \"%s\"",
        given);
}

bool select_steps(const struct report *report, size_t *first, size_t *last, struct status *status) {
    const struct steps *steps = &report->steps;
    uint64_t a, b;
    if (!parse_steps(report->options.steps, &a, &b, status))
        return false;
    if (steps->count == 0)
        return status_fail(status, STATUS_USAGE,
                           "--steps: no steps were found in this trace; use --window T1,T2");
    if (b > steps->count)
        return status_fail(status, STATUS_USAGE, "--steps: the run has steps 1 to %zu, not %s",
                           steps->count, report->options.steps);
    *first = a ? (size_t)a - 1 : steps->warm_up;
    *last = b ? (size_t)b - 1 : steps->count - 1;
    return true;
}

bool select_check(const struct report_options *options, struct status *status) {
    struct window window;
    uint64_t first, last;
    return (!options->window || parse_window(options->window, &window, status)) &&
           (!options->steps || parse_steps(options->steps, &first, &last, status));
}

/* ---- ranges by name ---- */

static bool is_named(const struct report *report, size_t row) {
    const struct trace *trace = report->model.trace;
    return trace->range.thread[row] != 0 && trace->range.category[row] != RANGE_OVERHEAD &&
           text_is(trace_text(trace, trace->range.name[row]), report->options.range);
}

static int by_start(const void *a, const void *b) {
    const struct window *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Sorts windows by start and joins those that overlap. */
static bool join_windows(struct window *windows, size_t count, struct selection *selection,
                         struct status *status) {
    if (count)
        qsort(windows, count, sizeof *windows, by_start);
    for (size_t i = 0; i < count; i++)
        if (!selection_add(selection, windows[i].start, windows[i].end, status))
            return false;
    return true;
}

/* A range whose name contains what was asked for, to suggest. */
static struct text similar_name(const struct report *report) {
    const struct trace *trace = report->model.trace;
    for (size_t i = 0; i < trace->range.count; i++) {
        struct text name = trace_text(trace, trace->range.name[i]);
        if (trace->range.thread[i] != 0 && text_find(name, report->options.range) >= 0)
            return name;
    }
    return TEXT("");
}

static bool select_range_on_host(const struct report *report, struct selection *selection,
                                 struct status *status) {
    const struct model *model = &report->model;
    struct window *windows = NULL;
    size_t count = 0, capacity = 0;
    bool ok = true;
    for (size_t i = 0; i < model->trace->range.count && ok; i++)
        if (is_named(report, i)) {
            ok = GROW(windows, &capacity, count + 1, status);
            if (ok)
                windows[count++] =
                    (struct window){model->trace->range.start[i], model_range_end(model, i)};
        }
    ok = ok && join_windows(windows, count, selection, status);
    memory_free(windows);
    if (ok && count == 0) {
        struct text similar = similar_name(report);
        if (similar.length)
            return status_fail(status, STATUS_USAGE,
                               "--range: no range is named \"%s\"; there is \"%.*s\"",
                               report->options.range,
                               similar.length < 200 ? (int)similar.length : 200, similar.data);
        return status_fail(
            status, STATUS_USAGE,
            "--range: no range is named \"%s\" ('ridge query TRACE \"SELECT DISTINCT "
            "name FROM range\"' lists them)",
            report->options.range);
    }
    return ok;
}

/* A turn of the range in one process, and the device's window of what was launched in it. */
struct turn {
    uint32_t process;
    struct window host, device;
};

static int by_process_and_start(const void *a, const void *b) {
    const struct turn *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return by_start(&x->host, &y->host);
}

/* The turns in order; those of one process that overlap (a range inside its namesake, or on several
 * threads) are one. */
static bool collect_turns(const struct report *report, struct turn **turns, size_t *count,
                          struct status *status) {
    const struct model *model = &report->model;
    const struct trace *trace = model->trace;
    size_t capacity = 0, found = 0;
    for (size_t i = 0; i < trace->range.count; i++) {
        if (!is_named(report, i))
            continue;
        if (!GROW(*turns, &capacity, found + 1, status))
            return false;
        (*turns)[found++] = (struct turn){
            .process = trace->thread.process[trace->range.thread[i]],
            .host = {trace->range.start[i], model_range_end(model, i)},
            .device = {INT64_MAX, INT64_MIN},
        };
    }
    if (found)
        qsort(*turns, found, sizeof **turns, by_process_and_start);
    for (size_t i = 0; i < found; i++) {
        struct turn *last = *count ? &(*turns)[*count - 1] : NULL;
        if (last && last->process == (*turns)[i].process &&
            (*turns)[i].host.start < last->host.end) {
            if ((*turns)[i].host.end > last->host.end)
                last->host.end = (*turns)[i].host.end;
        } else {
            (*turns)[(*count)++] = (*turns)[i];
        }
    }
    return true;
}

/* The turn in which that process launched something at that time, or NULL. */
static struct turn *loop_period_find(struct turn *turns, size_t count, uint32_t process,
                                     int64_t time) {
    size_t low = 0;
    PARTITION_POINT(low, count, i,
                    turns[i].process < process ||
                        (turns[i].process == process && turns[i].host.end <= time));
    if (low == count || turns[low].process != process || time < turns[low].host.start)
        return NULL;
    return &turns[low];
}

/* What the selections of all devices are made from; the turns of --range are collected once. */
struct selector {
    const struct report *report;
    struct turn *turns;
    size_t turn_count;
    size_t *touched; /* turns in which the device at hand has work */
};

/* One window per turn: from the first to the last activity launched in it by its process. */
static bool select_range_on_device(struct selector *selector, uint32_t device,
                                   struct selection *selection, struct status *status) {
    const struct model *model = &selector->report->model;
    const struct trace *trace = model->trace;
    size_t count = 0;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        if (model->launch[i] == NO_ROW)
            continue;
        uint32_t call = model->launch[i];
        struct turn *turn = loop_period_find(selector->turns, selector->turn_count,
                                             trace->thread.process[trace->call.thread[call]],
                                             trace->call.start[call]);
        if (!turn)
            continue;
        if (turn->device.start > turn->device.end)
            selector->touched[count++] = (size_t)(turn - selector->turns);
        if (trace->activity.start[i] < turn->device.start)
            turn->device.start = trace->activity.start[i];
        if (model_activity_end(model, i) > turn->device.end)
            turn->device.end = model_activity_end(model, i);
    }
    struct window *windows = memory_allocate(count, sizeof *windows, status);
    for (size_t i = 0; i < count; i++) {
        struct window *of_device = &selector->turns[selector->touched[i]].device;
        if (windows)
            windows[i] = *of_device;
        *of_device = (struct window){INT64_MAX, INT64_MIN};
    }
    bool ok = windows && join_windows(windows, count, selection, status);
    memory_free(windows);
    return ok;
}

/* ---- the whole ---- */

/* Takes `by`, or what both have; `by` is used up. */
static bool narrow(struct selection *selection, struct selection *by, bool first,
                   struct status *status) {
    if (first) {
        *selection = *by;
        return true;
    }
    bool ok = selection_intersect(selection, by, status);
    selection_finish(by);
    return ok;
}

enum selected_by { BY_RANGE, BY_STEPS, BY_WINDOW, SELECTED_BY };

static bool is_given(const struct report_options *options, enum selected_by by) {
    return by == BY_RANGE   ? options->range != NULL
           : by == BY_STEPS ? options->steps != NULL
                            : options->window != NULL;
}

static bool select_host_by(const struct report *report, enum selected_by by,
                           struct selection *selection, struct status *status) {
    struct window window;
    size_t first, last;
    switch (by) {
    case BY_RANGE:
        return select_range_on_host(report, selection, status);
    case BY_STEPS:
        return select_steps(report, &first, &last, status) &&
               selection_add(selection, report->steps.list[first].start,
                             report->steps.list[last].end, status);
    default:
        return find_window(report, &window, status) &&
               selection_add(selection, window.start, window.end, status);
    }
}

bool select_host(struct report *report, struct status *status) {
    if (!select_check(&report->options, status))
        return false;
    for (unsigned by = 0; by < SELECTED_BY; by++) {
        struct selection selection = {0};
        if (!is_given(&report->options, by))
            continue;
        if (!select_host_by(report, by, &selection, status)) {
            selection_finish(&selection);
            return false;
        }
        if (!narrow(&report->host_selection, &selection, !report->narrowed, status))
            return false;
        report->narrowed = true;
    }
    return pauses_leave_out_of_host(&report->pauses, &report->model, &report->host_selection,
                                    status);
}

static bool select_device_by(struct selector *selector, enum selected_by by, uint32_t device,
                             struct selection *selection, struct status *status) {
    const struct report *report = selector->report;
    struct window window;
    size_t first, last;
    if (by == BY_RANGE)
        return select_range_on_device(selector, device, selection, status);
    if (by == BY_STEPS) {
        if (!select_steps(report, &first, &last, status))
            return false;
        if (!steps_window(&report->model, &report->steps, device, first, last, &window))
            return true;
    } else if (!find_window(report, &window, status)) {
        return false;
    }
    window.end += window.end == window.start; /* an instant still has a place in the report */
    return selection_add(selection, window.start, window.end, status);
}

static bool select_whole(const struct report *report, uint32_t device, struct selection *selection,
                         struct status *status) {
    struct window window;
    selection->everything = true;
    if (!model_device_window(&report->model, device, &window))
        return true;
    return selection_add(selection, window.start, window.end + (window.end == window.start),
                         status);
}

static bool select_device(struct selector *selector, uint32_t device, struct selection *selection,
                          struct status *status) {
    const struct report *report = selector->report;
    bool first = true;
    if (!report->narrowed && !select_whole(report, device, selection, status))
        return false;
    for (unsigned by = 0; by < SELECTED_BY; by++) {
        struct selection one = {0};
        if (!is_given(&report->options, by))
            continue;
        if (!select_device_by(selector, by, device, &one, status)) {
            selection_finish(&one);
            return false;
        }
        if (!narrow(selection, &one, first, status))
            return false;
        first = false;
    }
    return pauses_leave_out(&report->pauses, &report->model, device, selection, status);
}

bool select_devices(const struct report *report, const uint32_t *devices, size_t count,
                    struct selection *selections, struct status *status) {
    struct selector selector = {.report = report};
    bool ok = !report->options.range ||
              collect_turns(report, &selector.turns, &selector.turn_count, status);
    if (ok)
        selector.touched = memory_allocate(selector.turn_count, sizeof *selector.touched, status);
    ok = ok && selector.touched;
    for (size_t i = 0; i < count && ok; i++)
        ok = select_device(&selector, devices[i], &selections[devices[i]], status);
    memory_free(selector.turns);
    memory_free(selector.touched);
    return ok;
}
