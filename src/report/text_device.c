/* What is drawn of a device: its account as bars and its timeline as a strip. */
#include "analysis/timeline.h"
#include "base/format.h"
#include "report/text.h"
#include "report/wording.h"

static void account_row(struct text_writer *writer, const char *name, int64_t time, int64_t window,
                        enum text_color color) {
    char share[FORMAT_SIZE], duration[FORMAT_SIZE];
    format_duration(time, duration);
    output_printf(writer->output, "  %-13s ", name);
    text_bar(writer, wording_share(time, window), 36, color);
    text_line(writer, " %7s %*s%s", format_percent(wording_share(time, window), share),
              text_pad(duration, 10), "", duration);
}

/* "host code 85 %, launch calls 9 %" of the causes that matter. */
static void write_causes(struct text_writer *writer, const struct gaps *gaps) {
    enum gap_cause order[CAUSE_COUNT];
    struct buffer line = {0};
    char share[FORMAT_SIZE];
    gaps_rank_causes(gaps, order);
    for (size_t i = 0; i < CAUSE_COUNT && gaps->cause_time[order[i]] >= gaps->total / 100; i++)
        if (gaps->cause_time[order[i]] > 0)
            buffer_printf(
                &line, "%s%s %s",
                line.length                 ? ", "
                : order[i] == CAUSE_UNKNOWN ? "cause of idle time: "
                                            : "idle in ",
                wording_cause_short(order[i]),
                format_percent(wording_share(gaps->cause_time[order[i]], gaps->total), share));
    text_wrapped(writer, "    ", "    ", buffer_as_text(&line));
    writer->failed |= line.failed;
    buffer_finish(&line);
}

void text_account(struct text_writer *writer, const struct report_device *device) {
    const struct account *account = &device->account;
    struct buffer name = {0};
    char window[FORMAT_SIZE];
    wording_device(writer->report, (size_t)(device - writer->report->devices), &name);
    text_section(writer, "Where the time goes", "%s, %s", format_duration(account->window, window),
                 name.failed ? "" : (buffer_byte(&name, 0), name.data));
    account_row(writer, "busy", account->busy, account->window, GREEN);
    if (account->collectives)
        account_row(writer, "exposed comm", account->exposed_communication, account->window,
                    YELLOW);
    account_row(writer, "exposed copy", account->exposed_copy, account->window, YELLOW);
    account_row(writer, "idle", account->idle, account->window, RED);
    write_causes(writer, &device->gaps);
    writer->failed |= name.failed;
    buffer_finish(&name);
}

enum { CELLS_MAX = 512 };

/* A character is at least a nanosecond. */
static size_t count_cells(const struct text_writer *writer, struct window window) {
    size_t count = writer->style->width - 4;
    if (count > CELLS_MAX)
        count = CELLS_MAX;
    return (int64_t)count > window.end - window.start ? (size_t)(window.end - window.start) : count;
}

static int64_t cell_length(const struct text_writer *writer, struct window window) {
    size_t count = count_cells(writer, window);
    return count ? (window.end - window.start) / (int64_t)count : 0;
}

static void draw_strip(struct text_writer *writer, uint32_t device, struct window window) {
    struct timeline_cell cells[CELLS_MAX];
    size_t count = count_cells(writer, window);
    timeline_draw(&writer->report->model, device, window, cells, count);
    output_printf(writer->output, "  |");
    enum text_color current = PLAIN;
    for (size_t i = 0; i < count; i++) {
        enum timeline_look look;
        const char *glyph = timeline_glyph(&cells[i], &look);
        enum text_color color = look == LOOK_KERNELS ? GREEN : look == LOOK_COPIES ? YELLOW : DIM;
        if (color != current)
            text_color(writer, PLAIN), text_color(writer, color);
        current = color;
        output_printf(writer->output, "%s", glyph);
    }
    text_color(writer, PLAIN);
    text_line(writer, "|");
}

void text_timeline(struct text_writer *writer, const struct report_device *device) {
    const struct selection *selection = device->selection;
    struct window whole = {selection->windows[0].start,
                           selection->windows[selection->count - 1].end};
    struct window zoom;
    char cell[FORMAT_SIZE];
    text_section(writer, "Timeline", "%s per character; █▓▒░ busy, = copy, blank idle",
                 format_duration(cell_length(writer, whole), cell));
    draw_strip(writer, device->id, whole);
    struct window inner = device->has_steady ? device->steady_window : whole;
    if (timeline_zoom(&writer->report->model, device->id, inner, 12, &zoom)) {
        text_line(writer, "  12 activities in the middle, %s per character:",
                  format_duration(cell_length(writer, zoom), cell));
        draw_strip(writer, device->id, zoom);
    }
}

/* ---- several devices ---- */

static const void *device_row(const void *source, size_t index) {
    const struct report *report = ((const struct report_source *)source)->report;
    return index < report->device_count ? &report->devices[index] : NULL;
}

static struct value device_words(const struct report_source *of, const struct report_device *device,
                                 struct buffer *words) {
    wording_device(of->report, (size_t)(device - of->report->devices), words);
    return value_text(buffer_as_text(words));
}

static struct value main_cause(const struct gaps *gaps) {
    enum gap_cause order[CAUSE_COUNT];
    gaps_rank_causes(gaps, order);
    return gaps->count ? value_string(wording_cause_short(order[0])) : value_none();
}

#define DEVICE(name, ...) REPORT_VALUE(name, struct report_device, __VA_ARGS__)
DEVICE(device_name, device_words(of, at, words))
DEVICE(device_window, value_integer(at->account.window))
DEVICE(device_busy, value_ratio(at->account.busy, at->account.window))
DEVICE(device_communication, value_ratio(at->account.exposed_communication, at->account.window))
DEVICE(device_copy, value_ratio(at->account.exposed_copy, at->account.window))
DEVICE(device_idle, value_ratio(at->account.idle, at->account.window))
DEVICE(device_cause, main_cause(&at->gaps))

static const struct column device_columns[] = {
    {NULL, "time", UNIT_NS, 0, device_window},
    {NULL, "busy", UNIT_SHARE, 0, device_busy},
    {NULL, "comm", UNIT_SHARE, 0, device_communication},
    {NULL, "exposed copy", UNIT_SHARE, 0, device_copy},
    {NULL, "idle", UNIT_SHARE, 0, device_idle},
    {NULL, "mostly in", UNIT_TEXT, 0, device_cause},
    {NULL, "device", UNIT_TEXT, COLUMN_FLEXIBLE, device_name},
    {0},
};
static const struct section devices = {.key = "devices",
                                       .title = "Where the time goes",
                                       .columns = device_columns,
                                       .row = device_row,
                                       .rows = "devices",
                                       .rows_max = 8};

void text_devices(struct text_writer *writer) {
    text_write_section(writer, &devices, NULL, 8);
}
