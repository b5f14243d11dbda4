/* One device: metrics, account, timeline, kernels; then launches and copies. Why it was idle is in
 * text_gaps.c. */
#include <stdio.h>
#include <string.h>

#include "analysis/timeline.h"
#include "base/format.h"
#include "base/memory.h"
#include "report/limits.h"
#include "report/text.h"
#include "report/value.h"
#include "report/wording.h"

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

static void write_device_head(struct text_writer *writer, const struct report_device *device) {
    const struct trace *trace = writer->report->model.trace;
    struct text name = trace_text(trace, trace->device.name[device->id]);
    struct text label = model_device_key(&writer->report->model, device->id);
    if (text_equal(name, label))
        name = TEXT("");
    uint64_t kernels = device->account.kernels;
    uint64_t copies = device->account.copies + device->account.sets;
    char kernel_count[FORMAT_SIZE], copy_count[FORMAT_SIZE];
    output_printf(writer->output, "\n");
    text_colour(writer, BOLD);
    output_printf(writer->output, "Device ");
    text_words(writer, label);
    text_colour(writer, PLAIN);
    text_line(writer, "%s%.*s", name.length ? "  " : "", TEXT_ARGS(name));
    text_line(writer, "  %s kernel%s, %s cop%s or set%s, %llu queue%s with kernels",
              format_count(kernels, kernel_count), plural(kernels),
              format_count(copies, copy_count), copies == 1 ? "y" : "ies", plural(copies),
              (unsigned long long)device->account.queues, plural(device->account.queues));
}

static void metric(struct table *table, const char *name, const char *value, const char *target) {
    table_cellf(table, "%s", name);
    table_cellf(table, "%s", value);
    table_cellf(table, "%s", target);
}

static void write_metrics(struct text_writer *writer, const struct report_device *device) {
    const struct account *account = &device->account;
    const struct copy_group *copies = &device->copies.all;
    char value[FORMAT_SIZE], bytes[FORMAT_SIZE], note[128];
    struct table table = {0};
    table_column(&table, "metric", TABLE_LEFT);
    table_column(&table, "value", TABLE_RIGHT);
    table_column(&table, "target", TABLE_LEFT);
    metric(&table, "total time", format_duration(account->window, value),
           writer->report->narrowed ? "of the selection" : "first to last activity");
    metric(&table, "GPU utilisation", format_percent(ratio(account->busy, account->window), value),
           ">80%");
    metric(&table, "kernel count", format_count(account->kernels, value), "");
    metric(&table, "average kernel",
           account->kernels
               ? format_duration(account->kernel_sum / (int64_t)account->kernels, value)
               : "-",
           "");
    metric(&table, "average gap",
           device->gaps.count
               ? format_duration(device->gaps.total / (int64_t)device->gaps.count, value)
               : "none",
           "<1 µs");
    double efficiency = ratio(account->kernel_sum, report_device_wall(writer->report, device));
    const char *over = writer->report->narrowed ? "window" : "run time";
    if (efficiency > 1)
        snprintf(note, sizeof note, "kernels overlap: %.2fx the %s", efficiency, over);
    else
        snprintf(note, sizeof note, ">70%%  kernel time / %s", over);
    metric(&table, "launch efficiency", efficiency > 1 ? "-" : format_percent(efficiency, value),
           note);
    if (copies->count && copies_sized(copies)) {
        snprintf(note, sizeof note, "%s copied", value_text(copies_bytes(copies), bytes));
        metric(&table, "memory throughput", value_text(copies_rate(copies), value), note);
    } else {
        metric(&table, "memory throughput", copies->count ? "?" : "-",
               copies->count ? "sizes of copies not recorded" : "no copies");
    }
    const struct kernel_occupancy *occupancy = &device->kernels.occupancy;
    if (kernel_occupancy_known(occupancy))
        metric(&table, "occupancy", format_percent(kernel_occupancy_mean(occupancy), value),
               ">75%  theoretical, by time");
    text_table(writer, &table);
}

static void account_row(struct text_writer *writer, const char *name, int64_t time, int64_t window,
                        enum text_colour colour) {
    char share[FORMAT_SIZE], duration[FORMAT_SIZE];
    format_duration(time, duration);
    output_printf(writer->output, "  %-13s ", name);
    text_bar(writer, ratio(time, window), 36, colour);
    text_line(writer, " %7s %*s%s", format_percent(ratio(time, window), share),
              text_pad(duration, 10), "", duration);
}

static void write_account(struct text_writer *writer, const struct report_device *device) {
    const struct account *account = &device->account;
    char window[FORMAT_SIZE], share[FORMAT_SIZE];
    text_section(writer, "Where the time went", "of %s", format_duration(account->window, window));
    account_row(writer, "busy", account->busy, account->window, GREEN);
    account_row(writer, "exposed copy", account->exposed_copy, account->window, YELLOW);
    account_row(writer, "idle", account->idle, account->window, RED);
    if (device->has_steady &&
        (writer->report->steps.warm_up || device->steady.window != account->window)) {
        const struct account *steady = &device->steady;
        char busy[FORMAT_SIZE], copy[FORMAT_SIZE];
        text_line(writer, "  steady steps alone (%s): busy %s, exposed copy %s, idle %s",
                  format_duration(steady->window, window),
                  format_percent(ratio(steady->busy, steady->window), busy),
                  format_percent(ratio(steady->exposed_copy, steady->window), copy),
                  format_percent(ratio(steady->idle, steady->window), share));
    }
}

static void draw_strip(struct text_writer *writer, uint32_t device, struct window window) {
    enum { CELLS_MAX = 512 };
    struct timeline_cell cells[CELLS_MAX];
    size_t count = writer->style->width - 4;
    if (count > CELLS_MAX)
        count = CELLS_MAX;
    if ((int64_t)count > window.end - window.start)
        count = (size_t)(window.end - window.start);
    timeline_draw(&writer->report->model, device, window, cells, count);
    output_printf(writer->output, "  |");
    enum text_colour current = PLAIN;
    for (size_t i = 0; i < count; i++) {
        enum timeline_look look;
        const char *glyph = timeline_glyph(&cells[i], &look);
        enum text_colour colour = look == LOOK_KERNELS ? GREEN : look == LOOK_COPIES ? YELLOW : DIM;
        if (colour != current)
            text_colour(writer, PLAIN), text_colour(writer, colour);
        current = colour;
        output_printf(writer->output, "%s", glyph);
    }
    text_colour(writer, PLAIN);
    text_line(writer, "|");
}

static void write_timeline(struct text_writer *writer, const struct report_device *device) {
    const struct selection *selection = device->selection;
    struct window whole = {selection->windows[0].start,
                           selection->windows[selection->count - 1].end};
    struct window zoom;
    char cell[FORMAT_SIZE];
    int64_t cells = (int64_t)writer->style->width - 4;
    text_section(writer, "Timeline", "%s a character; █▓▒░ busy, = copy, blank idle",
                 format_duration((whole.end - whole.start) / cells, cell));
    draw_strip(writer, device->id, whole);
    struct window inner = device->has_steady ? device->steady_window : whole;
    if (timeline_zoom(&writer->report->model, device->id, inner, 12, &zoom)) {
        text_line(writer, "  12 activities from the middle, %s a character:",
                  format_duration((zoom.end - zoom.start) / cells, cell));
        draw_strip(writer, device->id, zoom);
    }
}

static void write_kernels(struct text_writer *writer, const struct report_device *device) {
    const struct kernels *kernels = &device->kernels;
    unsigned top = writer->report->options.top;
    bool wide = writer->style->width >= 110; /* else the names need the room */
    bool occupancy = wide && kernel_occupancy_known(&kernels->occupancy);
    char text[FORMAT_SIZE];
    if (kernels->count == 0)
        return;
    text_section(writer, "Kernels", "%zu name%s, %zu after shortening", kernels->variant_count,
                 kernels->variant_count == 1 ? "" : "s", kernels->group_count);
    struct table table = {0};
    table_column(&table, "share", TABLE_RIGHT);
    table_column(&table, "total", TABLE_RIGHT);
    table_column(&table, "count", TABLE_RIGHT);
    table_column(&table, "median", TABLE_RIGHT);
    if (wide) {
        table_column(&table, "mean", TABLE_RIGHT);
        table_column(&table, "min", TABLE_RIGHT);
        table_column(&table, "max", TABLE_RIGHT);
    }
    if (occupancy)
        table_column(&table, "occupancy", TABLE_RIGHT);
    table_column(&table, "kernel", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < kernels->group_count && i < top; i++) {
        const struct kernel_group *group = &kernels->groups[i];
        table_cellf(&table, "%s", format_percent(ratio(group->total, kernels->total), text));
        table_cellf(&table, "%s", format_duration(group->total, text));
        table_cellf(&table, "%s", format_count(group->count, text));
        table_cellf(&table, "%s", format_duration(group->median, text));
        if (wide) {
            table_cellf(&table, "%s", format_duration(group->total / (int64_t)group->count, text));
            table_cellf(&table, "%s", format_duration(group->min, text));
            table_cellf(&table, "%s", format_duration(group->max, text));
        }
        if (occupancy) {
            char share[WORDING_OCCUPANCY_SIZE];
            table_cell(&table, text_of(wording_occupancy(&group->occupancy, share)));
        }
        table_cell(&table, group->short_name);
    }
    text_table(writer, &table);
    if (kernels->group_count > top) {
        int64_t rest = kernels->total;
        for (size_t i = 0; i < top; i++)
            rest -= kernels->groups[i].total;
        text_line(writer, "  and %zu more with %s of the kernel time (--top N shows more)",
                  kernels->group_count - top, format_percent(ratio(rest, kernels->total), text));
    }
}

/* The same kernels beside what they must do and what the device can. */
static void write_limits(struct text_writer *writer, const struct report_device *device) {
    const struct kernels *kernels = &device->kernels;
    const struct limits *limits = &writer->report->limits[device->id];
    bool wide = writer->style->width >= 110;
    struct buffer words = {0};
    struct table table = {0};
    if (!limits_known(&kernels->limits))
        return;
    limits_summary(kernels, limits, &words);
    text_section(writer, "Limits", "%.*s", TEXT_ARGS(buffer_as_text(&words)));
    table_column(&table, "of roof", TABLE_RIGHT);
    table_column(&table, "at roof", TABLE_RIGHT);
    table_column(&table, "bytes/s", TABLE_RIGHT);
    table_column(&table, "FLOP/s", TABLE_RIGHT);
    if (wide)
        table_column(&table, "FLOP/byte", TABLE_RIGHT);
    table_column(&table, "bound", TABLE_LEFT);
    table_column(&table, "kernel", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < kernels->group_count && i < writer->report->options.top; i++) {
        limits_cells(&table, &kernels->groups[i].limits, wide);
        table_cell(&table, kernels->groups[i].short_name);
    }
    text_table(writer, &table);
    buffer_clear(&words);
    limits_roofs(limits, &words);
    if (words.length)
        text_wrapped(writer, "  roofs ", "    ", buffer_as_text(&words));
    writer->failed |= words.failed;
    buffer_finish(&words);
}

void text_device(struct text_writer *writer, const struct report_device *device) {
    write_device_head(writer, device);
    write_metrics(writer, device);
    write_account(writer, device);
    write_timeline(writer, device);
    text_gaps(writer, device);
    write_kernels(writer, device);
    write_limits(writer, device);
}

/* ---- details ---- */

static void write_launches(struct text_writer *writer, const struct report_device *device) {
    const struct launches *launches = &device->launches;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
    if (launches->matched == 0)
        return;
    int64_t matched = (int64_t)launches->matched;
    text_section(writer, "Launches", "%s kernel%s by %s call%s", format_count(launches->matched, a),
                 plural(launches->matched), format_count(launches->calls, b),
                 plural(launches->calls));
    text_line(writer, "  a call takes %s (mean); kernels start %s after it began (median)",
              format_duration(launches->call_total / (int64_t)launches->calls, a),
              format_duration(launches->delay_median, b));
    text_line(writer, "  %s of the kernels are shorter than the call that launched them",
              format_percent(ratio((int64_t)launches->call_longer, matched), a));
    if (launches->graph_kernels)
        text_line(writer, "  %s kernels came from calls that launched more than one",
                  format_count(launches->graph_kernels, a));
    text_line(writer, "  queued ahead: %.1f activities on average, %s at most;",
              launches->depth_mean, format_count(launches->depth_max, b));
    text_line(
        writer, "  %s of the launches found the device with nothing left to do",
        format_percent(ratio((int64_t)launches->found_empty, (int64_t)launches->depth_count), c));
}

static void write_copies(struct text_writer *writer, const struct report_device *device) {
    const struct copies *copies = &device->copies;
    char hidden[FORMAT_SIZE];
    if (copies->all.count + copies->sets.count == 0)
        return;
    text_section(
        writer, "Copies", "%s of their time hidden under kernels",
        format_percent(ratio(device->account.copy_hidden, device->account.copy_union), hidden));
    struct table table = {0};
    for (unsigned i = 0; i < COPIES_COLUMNS; i++)
        table_column(&table, copies_columns[i].text_title,
                     copies_columns[i].get ? TABLE_RIGHT : TABLE_LEFT);
    copies_rows(copies, &table);
    text_table(writer, &table);
}

void text_device_details(struct text_writer *writer, const struct report_device *device) {
    if (writer->report->device_count > 1) {
        struct text label = model_device_key(&writer->report->model, device->id);
        output_printf(writer->output, "\n");
        text_colour(writer, BOLD);
        output_printf(writer->output, "Device ");
        text_words(writer, label);
        output_printf(writer->output, " in detail");
        text_colour(writer, PLAIN);
        output_printf(writer->output, "\n");
    }
    text_gap_details(writer, device);
    write_launches(writer, device);
    write_copies(writer, device);
}
