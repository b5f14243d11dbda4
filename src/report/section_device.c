/* A device's metrics, its launches and its copies. */
#include <stdio.h>

#include "base/array.h"
#include "base/format.h"
#include "report/sections.h"
#include "report/wording.h"

/* ---- account ---- */

/* A row is the place of a time in this list. */
static const char *const account_parts[] = {"busy", "exposed communication", "exposed copy", "idle",
                                            "window"};

static int64_t account_time(const struct report_source *of, const char *const *part) {
    const struct account *account = &of->device->account;
    const int64_t times[] = {account->busy, account->exposed_communication, account->exposed_copy,
                             account->idle, account->window};
    return times[part - account_parts];
}

/* Communication only where there is some. */
static const void *account_row(const void *source, size_t index) {
    const struct report_source *of = source;
    index += index > 0 && of->device->account.exposed_communication == 0;
    return index < ARRAY_COUNT(account_parts) ? &account_parts[index] : NULL;
}

#define ACCOUNT(name, ...) REPORT_VALUE(name, char *const, __VA_ARGS__)
ACCOUNT(account_part, value_string(*at))
ACCOUNT(account_part_time, value_integer(account_time(of, (const char *const *)at)))
ACCOUNT(account_share, value_real(wording_share(account_time(of, (const char *const *)at),
                                                of->device->account.window)))

static const struct column account_columns[] = {
    {"part", "where the time goes", UNIT_TEXT, 0, account_part},
    {"time_ns", "time", UNIT_NS, 0, account_part_time},
    {"share", "share", UNIT_SHARE, 0, account_share},
    {0},
};
const struct section section_account = {
    .key = "account", .title = "Account", .columns = account_columns, .row = account_row};

/* ---- metrics: one row each, with the target that profiling guides give ---- */

struct metric {
    const char *name, *target;
    enum unit unit;
    struct value (*get)(const struct report_source *of, struct buffer *note);
    /* 1: the target is met, 0: it is not; NULL: there is none */
    int (*met)(double value);
};

static struct value total_time(const struct report_source *of, struct buffer *note) {
    buffer_string(note, of->report->narrowed ? "of the selection" : "first to last activity");
    return value_integer(of->device->account.window);
}
static struct value utilization(const struct report_source *of, struct buffer *note) {
    buffer_string(note, "time in which a kernel runs");
    return value_ratio(of->device->account.busy, of->device->account.window);
}
static struct value kernel_total(const struct report_source *of, struct buffer *note) {
    (void)note;
    return value_integer((int64_t)of->device->account.kernels);
}
static struct value average_kernel(const struct report_source *of, struct buffer *note) {
    const struct account *account = &of->device->account;
    (void)note;
    return account->kernels ? value_integer(account->kernel_sum / (int64_t)account->kernels)
                            : value_none();
}
static struct value average_gap(const struct report_source *of, struct buffer *note) {
    const struct gaps *gaps = &of->device->gaps;
    (void)note;
    return gaps->count ? value_integer(gaps->total / (int64_t)gaps->count) : value_none();
}
static struct value launch_efficiency(const struct report_source *of, struct buffer *note) {
    const struct account *account = &of->device->account;
    double share = wording_share(account->kernel_sum, report_device_wall(of->report, of->device));
    const char *over = of->report->narrowed ? "selected time" : "run time";
    if (share > 1) {
        buffer_printf(note, "kernels overlap: their sum is %.2fx the %s", share, over);
        return value_none();
    }
    buffer_printf(note, "kernel time / %s", over);
    return value_real(share);
}
static struct value copy_throughput(const struct report_source *of, struct buffer *note) {
    const struct copy_group *copies = &of->device->copies.all;
    char bytes[FORMAT_SIZE];
    if (copies->count == 0) {
        buffer_string(note, "no copies");
        return value_none();
    }
    if (!copy_group_is_sized(copies)) {
        buffer_string(note, "copy sizes are not recorded");
        return value_unknown();
    }
    buffer_printf(note, "%s copied", format_bytes(copies->bytes, bytes));
    return value_if(copies->time_with_bytes > 0, value_real(copy_group_rate(copies)));
}
static struct value occupancy(const struct report_source *of, struct buffer *note) {
    const struct kernel_occupancy *known = &of->device->kernels.occupancy;
    buffer_string(note, "weighted by time");
    return value_if(kernel_occupancy_known(known), value_real(kernel_occupancy_mean(known)));
}

static int above_80(double value) {
    return value > 0.8;
}
static int above_70(double value) {
    return value > 0.7;
}
static int above_75(double value) {
    return value > OCCUPANCY_TARGET;
}
static int below_1us(double ns) {
    return ns < 1000;
}

static const struct metric metrics[] = {
    {"Total time", NULL, UNIT_NS, total_time, NULL},
    {"GPU utilization", ">80 %", UNIT_SHARE, utilization, above_80},
    {"Kernel count", NULL, UNIT_COUNT, kernel_total, NULL},
    {"Avg kernel time", NULL, UNIT_NS, average_kernel, NULL},
    {"Avg gap time", "<1 µs", UNIT_NS, average_gap, below_1us},
    {"Launch efficiency", ">70 %", UNIT_SHARE, launch_efficiency, above_70},
    {"Memory throughput", NULL, UNIT_BYTES_PER_S, copy_throughput, NULL},
    {"Theoretical occupancy", ">75 %", UNIT_SHARE, occupancy, above_75},
};

/* Occupancy, the last, where it is known. */
static const void *metric_row(const void *source, size_t index) {
    const struct report_source *of = source;
    bool occupied = kernel_occupancy_known(&of->device->kernels.occupancy);
    return index < ARRAY_COUNT(metrics) - !occupied ? &metrics[index] : NULL;
}

static struct value metric_words(const struct report_source *of, const struct metric *metric,
                                 struct buffer *words) {
    char text[FORMAT_SIZE];
    struct value value = metric->get(of, words);
    buffer_clear(words);
    buffer_text(words, section_value_text(value, metric->unit, text));
    return value_text(buffer_as_text(words));
}

static struct value metric_met(const struct report_source *of, const struct metric *metric,
                               struct buffer *words) {
    struct value value = metric->get(of, words);
    if (!metric->met || value.state != VALUE_KNOWN)
        return value_text(TEXT(""));
    double real = metric->unit == UNIT_NS ? (double)value.integer : value.real;
    return value_string(metric->met(real) ? "yes" : "no");
}

static struct value metric_note(const struct report_source *of, const struct metric *metric,
                                struct buffer *words) {
    metric->get(of, words);
    return words->length ? value_text(buffer_as_text(words)) : value_text(TEXT(""));
}

#define METRIC(name, ...) REPORT_VALUE(name, struct metric, __VA_ARGS__)
METRIC(metric_name, value_string(at->name))
METRIC(metric_value, metric_words(of, at, words))
METRIC(metric_target, at->target ? value_string(at->target) : value_text(TEXT("")))
METRIC(metric_is_met, metric_met(of, at, words))
METRIC(metric_meaning, metric_note(of, at, words))

static const struct column metric_columns[] = {
    REPORT_DEVICE_COLUMNS,
    {"metric", "metric", UNIT_TEXT, 0, metric_name},
    {"value", "value", UNIT_TEXT, COLUMN_RIGHT, metric_value},
    {"target", "target", UNIT_TEXT, 0, metric_target},
    {"met", "met", UNIT_TEXT, 0, metric_is_met},
    {"meaning", "meaning", UNIT_TEXT, COLUMN_FLEXIBLE, metric_meaning},
    {0},
};

static bool metrics_note(const void *source, struct buffer *line) {
    const struct account *account = &((const struct report_source *)source)->device->account;
    char a[FORMAT_PLURAL_SIZE], b[FORMAT_PLURAL_SIZE], c[FORMAT_PLURAL_SIZE];
    buffer_printf(
        line, "%s, %s, %s", format_plural(account->kernels, "kernel", "kernels", a),
        format_plural(account->copies + account->sets, "copy or memset", "copies and memsets", b),
        format_plural(account->queues, "stream with kernels", "streams with kernels", c));
    return true;
}

const struct section section_metrics = {.key = "metrics",
                                        .title = "Baseline metrics",
                                        .columns = metric_columns,
                                        .row = metric_row,
                                        .note = metrics_note};

/* ---- launches: sentences only ---- */

static bool launches_note(const void *source, struct buffer *line) {
    const struct launches *launches = &((const struct report_source *)source)->device->launches;
    char a[FORMAT_PLURAL_SIZE], b[FORMAT_PLURAL_SIZE];
    buffer_printf(line, "%s by %s", format_plural(launches->matched, "kernel", "kernels", a),
                  format_plural(launches->calls, "call", "calls", b));
    return launches->matched > 0;
}

/* How often does a step submit work that it could submit together? */
static void write_launches_of_step(const struct report_source *of, struct buffer *line) {
    const struct launches *launches = &of->device->launches;
    size_t steps = of->report->verdict.count ? of->report->verdict.steps : 0;
    if (steps)
        buffer_printf(line, " Per step: launch calls %.3g, kernels %.3g.",
                      (double)launches->calls / (double)steps,
                      (double)launches->matched / (double)steps);
}

static bool launches_sentence(const void *source, size_t index, struct buffer *line) {
    const struct launches *launches = &((const struct report_source *)source)->device->launches;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
    switch (index) {
    case 0:
        buffer_printf(line,
                      "A launch call takes %s on average. A kernel starts %s after its call began "
                      "(median; mean %s).",
                      format_duration(launches->call_total / (int64_t)launches->calls, a),
                      format_duration(launches->delay_median, b),
                      format_duration(launches->delay_sum / (int64_t)launches->matched, c));
        return true;
    case 1:
        if (2 * launches->graph_kernels > launches->matched)
            return true; /* one call launches many: their durations do not compare */
        buffer_printf(
            line, "%s of the kernels are shorter than their launch call.",
            format_percent(
                wording_share((int64_t)launches->call_longer, (int64_t)launches->matched), a));
        return true;
    case 2:
        buffer_printf(
            line,
            "Queued ahead: %.1f activities on average, at most %s. %s of the launches "
            "found an empty queue.",
            launches->depth_mean, format_count(launches->depth_max, a),
            format_percent(
                wording_share((int64_t)launches->found_empty, (int64_t)launches->depth_count), b));
        return true;
    case 3:
        if (launches->graph_kernels) {
            buffer_printf(line, "%s kernels were launched by calls that launch more than one.",
                          format_count(launches->graph_kernels, a));
            write_launches_of_step(source, line);
        }
        return launches->graph_kernels > 0;
    default:
        return false;
    }
}

const struct section section_launches = {
    .key = "launches", .title = "Launches", .note = launches_note, .sentence = launches_sentence};

/* ---- copies by direction, then memsets ---- */

static const void *copy_row(const void *source, size_t index) {
    const struct copies *copies = &((const struct report_source *)source)->device->copies;
    for (unsigned i = 1; i <= COPY_DIRECTIONS; i++) {
        const struct copy_group *group = &copies->direction[i % COPY_DIRECTIONS]; /* unknown last */
        if (group->count && index-- == 0)
            return group;
    }
    return copies->sets.count && index == 0 ? &copies->sets : NULL;
}

static const char *direction_of(const struct report_source *of, const struct copy_group *group) {
    const struct copies *copies = &of->device->copies;
    return group == &copies->sets ? "memset"
                                  : copy_direction_name((unsigned)(group - copies->direction));
}

#define COPY(name, ...) REPORT_VALUE(name, struct copy_group, __VA_ARGS__)
COPY(copy_direction, value_string(direction_of(of, at)))
COPY(copy_count, value_integer((int64_t)at->count))
COPY(copy_bytes, value_if(copy_group_is_sized(at), value_integer((int64_t)at->bytes)))
COPY(copy_time, value_integer(at->time))
COPY(copy_rate, value_if(at->time_with_bytes > 0, value_real(copy_group_rate(at))))
COPY(copy_small,
     value_if(copy_group_is_sized(at),
              value_ratio((int64_t)at->small, (int64_t)(at->count - at->without_bytes))))
COPY(copy_pageable, value_if(copy_group_memory_is_known(at), value_integer((int64_t)at->pageable)))
COPY(copy_pinned, value_if(copy_group_memory_is_known(at), value_integer((int64_t)at->pinned)))

static const struct column copy_columns[] = {
    REPORT_DEVICE_COLUMNS,
    {"direction", "direction", UNIT_TEXT, 0, copy_direction},
    {"count", "count", UNIT_COUNT, 0, copy_count},
    {"bytes", "bytes", UNIT_BYTES, 0, copy_bytes},
    {"time_ns", "time", UNIT_NS, 0, copy_time},
    {"bytes_per_s", "rate", UNIT_BYTES_PER_S, 0, copy_rate},
    {"small_share", "<64 KiB", UNIT_SHARE, 0, copy_small},
    {"pageable", "pageable", UNIT_COUNT, 0, copy_pageable},
    {"pinned", "pinned", UNIT_COUNT, 0, copy_pinned},
    {0},
};

static bool copies_note(const void *source, struct buffer *line) {
    const struct report_source *of = source;
    const struct account *account = &of->device->account;
    char hidden[FORMAT_SIZE];
    if (of->device->copies.all.count + of->device->copies.sets.count == 0)
        return false;
    buffer_printf(line, "%s of their time overlaps with kernels",
                  format_percent(wording_share(account->copy_hidden, account->copy_union), hidden));
    return true;
}

const struct section section_copies = {.key = "copies",
                                       .title = "Copies",
                                       .columns = copy_columns,
                                       .row = copy_row,
                                       .note = copies_note};
