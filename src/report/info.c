/* `ridge info` as text in 80 columns; long lists end with a count of the rest. */
#include "report/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/format.h"
#include "base/table.h"

enum { WIDTH = 80, INDENT = 14, LIST_MAX = 16, META_MAX = 40 };

/* Meta keys with their own line at the top. */
static const struct fact {
    const char *label, *key;
} facts[] = {
    {"format", META_SOURCE_FORMAT}, {"tool", META_SOURCE_TOOL}, {"machine", META_HOST},
    {"command", META_COMMAND},      {"rank", META_RANK},        {"world size", META_WORLD_SIZE},
    {"truncated", META_TRUNCATED},
};
enum { FACTS = ARRAY_COUNT(facts) };

/* Begins a "label   value" line. */
static void label(struct output *output, const char *name) {
    output_printf(output, "  %-*s", INDENT - 2, name);
}

/* Appends text from a trace without control characters and invalid UTF-8. */
static void add_safe(struct buffer *safe, struct text text) {
    while (text.length > 0) {
        size_t valid = text_utf8_valid(text);
        for (size_t i = 0; i < valid; i++) {
            unsigned char c = (unsigned char)text.data[i];
            buffer_byte(safe, c < 0x20 || c == 0x7F ? ' ' : (char)c);
        }
        text = (struct text){text.data + valid, text.length - valid};
        if (text.length > 0) {
            buffer_string(safe, "\xEF\xBF\xBD");
            text = (struct text){text.data + 1, text.length - 1};
        }
    }
}

/* Wraps text at spaces to fit the width; `indent` columns of the first line are already written. */
static void print_wrapped(struct output *output, struct text text, size_t indent) {
    struct buffer safe = {0};
    add_safe(&safe, text);
    size_t at = indent;
    for (size_t i = 0; i < safe.length;) {
        size_t end = i;
        while (end < safe.length && safe.data[end] != ' ')
            end++;
        struct text word = {safe.data + i, end - i};
        size_t width = table_text_width(word);
        if (at > indent && at + 1 + width > WIDTH) {
            output_printf(output, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            output_write(output, " ", 1);
            at++;
        }
        output_write(output, word.data, word.length);
        at += width;
        i = end + 1;
    }
    output_write(output, "\n", 1);
    output_require(output, !safe.failed);
    buffer_finish(&safe);
}

static bool is_fact(struct text key) {
    for (unsigned i = 0; i < FACTS; i++)
        if (text_is(key, facts[i].key))
            return true;
    return text_is(key, META_WARNING) || text_is(key, META_DROPS);
}

/* Whether an earlier row is equal. */
static bool is_repeated(const struct trace *trace, size_t row) {
    for (size_t i = 0; i < row; i++)
        if (trace->meta.key[i] == trace->meta.key[row] &&
            trace->meta.value[i] == trace->meta.value[row])
            return true;
    return false;
}

/* Prints every distinct value of a meta key on its own line. */
static void print_values(const struct trace *trace, const char *name, const char *key,
                         struct output *output) {
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < trace->meta.count; i++) {
        if (!text_is(trace_text(trace, trace->meta.key[i]), key) ||
            (trace->meta.count < 10000 && is_repeated(trace, i)))
            continue;
        if (shown == LIST_MAX) {
            left++;
            continue;
        }
        label(output, shown++ ? "" : name);
        print_wrapped(output, trace_text(trace, trace->meta.value[i]), INDENT);
    }
    if (left) {
        label(output, "");
        output_printf(output, "and %zu more\n", left);
    }
}

static void print_clock(const struct info *info, struct output *output) {
    char date[64];
    time_t seconds = (time_t)(info->all.first / 1000000000);
    struct tm utc;
    if (!text_is(trace_meta(info->trace, META_CLOCK_BASE), "unix") || info->all.first < 0 ||
        !gmtime_r(&seconds, &utc) || !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc))
        return;
    output_printf(output, ", from %s UTC", date);
}

static void print_summary(const struct info *info, struct output *output) {
    const struct trace *trace = info->trace;
    char text[FORMAT_SIZE];
    for (unsigned i = 0; i < FACTS; i++)
        print_values(trace, facts[i].label, facts[i].key, output);
    if (trace->session_count > 1) {
        label(output, "recordings");
        output_printf(output, "%u\n", trace->session_count);
    }
    label(output, "size");
    output_printf(output, "%s", format_bytes(info->file_bytes, text));
    if (info->all.rows)
        output_printf(output, ", %.1f bytes per event",
                      (double)info->file_bytes / (double)info->all.rows);
    output_printf(output, "\n");
    label(output, "events");
    output_printf(output, "%s\n", format_count(info->all.rows, text));
    if (info->all.rows == 0)
        return;
    int64_t span;
    if (__builtin_sub_overflow(info->all.last, info->all.first, &span))
        span = INT64_MAX;
    label(output, "span");
    output_printf(output, "%s", format_duration(span, text));
    print_clock(info, output);
    output_printf(output, "\n");
}

/* The properties of a device in a few words. */
static void describe_device(const struct trace *trace, size_t id, struct buffer *words) {
    const struct columns_device *device = &trace->device;
    char text[FORMAT_SIZE];
    const char *comma = "";
    if (device->memory_bytes[id]) {
        buffer_printf(words, "%s", format_bytes(device->memory_bytes[id], text));
        comma = ", ";
    }
    if (device->multiprocessors[id]) {
        buffer_printf(words, "%s%" PRIu32 " processors", comma, device->multiprocessors[id]);
        comma = ", ";
    }
    if (device->clock_hz[id]) {
        buffer_printf(words, "%s%.2f GHz", comma, (double)device->clock_hz[id] / 1e9);
        comma = ", ";
    }
    if (device->bandwidth[id]) {
        buffer_printf(words, "%s%s", comma, format_rate((double)device->bandwidth[id], text));
        comma = ", ";
    }
    if (device->compute_major[id])
        buffer_printf(words, "%scc %" PRIu32 ".%" PRIu32, comma, device->compute_major[id],
                      device->compute_minor[id]);
}

static void cell_count(struct table *table, uint64_t count) {
    char text[FORMAT_SIZE];
    table_cellf(table, "%s", format_count(count, text));
}

static void cells_of_work(struct table *table, const struct info_work *work) {
    for (unsigned kind = 0; kind < ACTIVITY_KINDS; kind++)
        cell_count(table, work->count[kind]);
}

static void columns_of_work(struct table *table) {
    table_column(table, "kernels", TABLE_RIGHT);
    table_column(table, "copies", TABLE_RIGHT);
    table_column(table, "sets", TABLE_RIGHT);
}

/* Writes a table with a title and the number of omitted rows, and frees it. */
static bool write_table(struct table *table, const char *title, size_t all, struct output *output,
                        struct status *status) {
    char text[FORMAT_SIZE];
    size_t shown = table_rows(table);
    if (shown > 0) {
        output_printf(output, "\n%s\n", title);
        table_write(table, TABLE_TEXT, &(struct table_layout){.width = WIDTH, .indent = 2}, output);
        if (all > shown)
            output_printf(output, "  and %s more\n", format_count(all - shown, text));
    }
    bool ok = table_ok(table, status);
    table_finish(table);
    return ok;
}

/* Not a table: names and properties are long, and there are few devices. */
static void print_device(const struct info *info, size_t id, struct output *output) {
    const struct trace *trace = info->trace;
    const struct columns_device *device = &trace->device;
    const struct info_work *work = &info->devices[id];
    char kernels[FORMAT_SIZE], copies[FORMAT_SIZE], sets[FORMAT_SIZE];
    struct buffer line = {0};
    buffer_text(&line, trace_text(trace, device->label[id]));
    if (device->name[id]) {
        buffer_string(&line, "  ");
        buffer_text(&line, trace_text(trace, device->name[id]));
    }
    output_printf(output, "  ");
    print_wrapped(output, buffer_as_text(&line), 2);
    buffer_clear(&line);
    describe_device(trace, id, &line);
    if (line.length > 0) {
        output_printf(output, "     ");
        print_wrapped(output, buffer_as_text(&line), 5);
    }
    output_require(output, !line.failed);
    buffer_finish(&line);
    output_printf(output, "     kernels %s, copies %s, sets %s\n",
                  format_count(work->count[ACTIVITY_KERNEL], kernels),
                  format_count(work->count[ACTIVITY_COPY], copies),
                  format_count(work->count[ACTIVITY_SET], sets));
}

static void print_devices(const struct info *info, struct output *output) {
    size_t count = info->trace->device.count - 1;
    if (count > 0)
        output_printf(output, "\nDevices\n");
    for (size_t i = 1; i <= count && i <= LIST_MAX; i++)
        print_device(info, i, output);
    if (count > LIST_MAX)
        output_printf(output, "  and %zu more\n", count - LIST_MAX);
}

static bool print_queues(const struct info *info, struct output *output, struct status *status) {
    const struct trace *trace = info->trace;
    struct table table = {0};
    table_column(&table, "device", TABLE_LEFT);
    table_column(&table, "stream", TABLE_RIGHT);
    table_column(&table, "name", TABLE_LEFT | TABLE_FLEXIBLE);
    table_column(&table, "process", TABLE_RIGHT);
    columns_of_work(&table);
    for (size_t i = 1; i < trace->queue.count && i <= LIST_MAX; i++) {
        table_cell(&table, trace_text(trace, trace->device.label[trace->queue.device[i]]));
        table_cellf(&table, "%" PRId64, trace->queue.stream[i]);
        table_cell(&table, trace_text(trace, trace->queue.name[i]));
        if (trace->queue.process[i])
            table_cellf(&table, "%" PRIu64, trace->process.pid[trace->queue.process[i]]);
        else
            table_cell(&table, TEXT(""));
        cells_of_work(&table, &info->queues[i]);
    }
    return write_table(&table, "Queues", trace->queue.count - 1, output, status);
}

static bool print_threads(const struct info *info, struct output *output, struct status *status) {
    const struct trace *trace = info->trace;
    struct table table = {0};
    table_column(&table, "process", TABLE_RIGHT);
    table_column(&table, "name", TABLE_LEFT | TABLE_FLEXIBLE);
    table_column(&table, "thread", TABLE_RIGHT);
    table_column(&table, "name", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 1; i < trace->thread.count && i <= LIST_MAX; i++) {
        uint32_t process = trace->thread.process[i];
        table_cellf(&table, "%" PRIu64, trace->process.pid[process]);
        table_cell(&table, trace_text(trace, trace->process.name[process]));
        table_cellf(&table, "%" PRId64, trace->thread.tid[i]);
        table_cell(&table, trace_text(trace, trace->thread.name[i]));
    }
    return write_table(&table, "Processes and threads", trace->thread.count - 1, output, status);
}

static bool print_tables(const struct info *info, struct output *output, struct status *status) {
    struct table table = {0};
    table_column(&table, "table", TABLE_LEFT);
    table_column(&table, "rows", TABLE_RIGHT);
    table_column(&table, "first ns", TABLE_RIGHT);
    table_column(&table, "last ns", TABLE_RIGHT);
    for (unsigned i = TABLE_ACTIVITY; i < TABLE_COUNT; i++) {
        const struct info_span *span = &info->spans[i];
        if (span->rows == 0)
            continue;
        table_cellf(&table, "%s", trace_tables[i].name);
        cell_count(&table, span->rows);
        table_cellf(&table, "%" PRId64, span->first);
        table_cellf(&table, "%" PRId64, span->last);
    }
    return write_table(&table, "Events", 0, output, status);
}

static bool print_meta(const struct info *info, struct output *output, struct status *status) {
    const struct trace *trace = info->trace;
    struct table table = {0};
    size_t all = 0;
    table_column(&table, "key", TABLE_LEFT | TABLE_FLEXIBLE);
    table_column(&table, "value", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < trace->meta.count; i++) {
        if (is_fact(trace_text(trace, trace->meta.key[i])) || all++ >= META_MAX)
            continue;
        table_cell(&table, trace_text(trace, trace->meta.key[i]));
        table_cell(&table, trace_text(trace, trace->meta.value[i]));
    }
    return write_table(&table, "Meta", all, output, status);
}

static void print_fault(struct output *output, const char *what, uint64_t count, bool *any) {
    char text[FORMAT_SIZE];
    if (count == 0)
        return;
    *any = true;
    output_printf(output, "  %s: %s\n", what, format_count(count, text));
}

static void print_trust(const struct info *info, struct output *output) {
    const struct trace *trace = info->trace;
    bool any = false;
    int64_t drops = trace_meta_sum(trace, META_DROPS);
    output_printf(output, "\nData quality\n");
    print_fault(output, "dropped events", drops > 0 ? (uint64_t)drops : 0, &any);
    print_fault(output, "unfinished writers (stopped, or the file is truncated)",
                trace->writers_unfinished, &any);
    print_fault(output, "missing chunks", trace->missing_chunks, &any);
    print_fault(output, "repeated chunks", trace->repeated_chunks, &any);
    print_fault(output, "damaged bytes, skipped", trace->damaged_bytes, &any);
    print_fault(output, "bytes of an incomplete chunk, skipped", trace->truncated_bytes, &any);
    print_fault(output, "chunks of unknown kind", trace->unknown_chunks, &any);
    if (trace_meta(trace, META_WARNING).length > 0) {
        print_values(trace, "warning", META_WARNING, output);
        any = true;
    }
    if (!any)
        output_printf(output, "  no losses known\n");
}

bool info_print_text(const struct info *info, struct output *output, struct status *status) {
    print_wrapped(output, text_of(info->path), 0);
    print_summary(info, output);
    print_devices(info, output);
    if (!print_queues(info, output, status) || !print_threads(info, output, status) ||
        !print_tables(info, output, status) || !print_meta(info, output, status))
        return false;
    print_trust(info, output);
    return true;
}
