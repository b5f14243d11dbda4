/* `ridge info`: what a trace contains and what is missing from it. Only time columns are loaded,
 * one table at a time, so a large trace needs little memory. Text has 80 columns, and long lists
 * end with a count of the rest; JSON has everything, with times in integer nanoseconds on the
 * trace's clock (docs/commands/info.md). */
#include "report/info.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/format.h"
#include "base/memory.h"
#include "base/section.h"
#include "report/json_parts.h"

enum { WIDTH = 80, INDENT = 14, LIST_MAX = 16, META_MAX = 40 };

/* ---- counting ---- */

static const int64_t *time_column(const struct trace *trace, unsigned table, const char *name) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned column = 0; column < info->column_count; column++)
        if (strcmp(info->columns[column].name, name) == 0)
            return trace_column(trace, table, column);
    return NULL;
}

static bool find_span(struct trace *trace, unsigned table, struct info_span *span,
                      struct status *status) {
    *span = (struct info_span){.table = table, .rows = trace_rows(trace, table)};
    if (span->rows == 0)
        return true;
    if (!trace_load(trace, table, "start time duration", status))
        return false;
    const int64_t *start = time_column(trace, table, "start");
    const int64_t *duration = time_column(trace, table, "duration");
    if (!start)
        start = time_column(trace, table, "time");
    span->first = start[0];
    span->last = INT64_MIN;
    for (size_t i = 0; i < span->rows; i++) {
        int64_t end;
        if (__builtin_add_overflow(start[i], duration ? duration[i] : 0, &end))
            end = INT64_MAX;
        if (start[i] < span->first)
            span->first = start[i];
        if (end > span->last)
            span->last = end;
    }
    trace_unload(trace, table, "start");
    trace_unload(trace, table, "time");
    trace_unload(trace, table, "duration");
    return true;
}

static void join_spans(struct info *info) {
    info->all = (struct info_span){.first = INT64_MAX, .last = INT64_MIN};
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const struct info_span *span = &info->spans[table];
        info->all.rows += span->rows;
        if (span->rows && span->first < info->all.first)
            info->all.first = span->first;
        if (span->rows && span->last > info->all.last)
            info->all.last = span->last;
    }
    if (info->all.rows == 0)
        info->all.first = info->all.last = 0;
}

/* Counts kernels, copies and sets of every queue and device. */
static bool count_work(struct info *info, struct status *status) {
    struct trace *trace = info->trace;
    info->queues = memory_allocate(trace->queue.count, sizeof *info->queues, status);
    info->devices = memory_allocate(trace->device.count, sizeof *info->devices, status);
    if (!info->queues || !info->devices || !trace_load(trace, TABLE_ACTIVITY, "queue kind", status))
        return false;
    for (size_t i = 0; i < trace->activity.count; i++) {
        unsigned kind = trace->activity.kind[i];
        if (kind < ACTIVITY_KINDS)
            info->queues[trace->activity.queue[i]].count[kind]++;
    }
    for (size_t queue = 0; queue < trace->queue.count; queue++)
        for (unsigned kind = 0; kind < ACTIVITY_KINDS; kind++)
            info->devices[trace->queue.device[queue]].count[kind] +=
                info->queues[queue].count[kind];
    trace_unload(trace, TABLE_ACTIVITY, "queue");
    trace_unload(trace, TABLE_ACTIVITY, "kind");
    return true;
}

bool info_gather(struct info *info, struct status *status) {
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (!find_span(info->trace, table, &info->spans[table], status))
            return false;
    join_spans(info);
    return count_work(info, status);
}

void info_finish(struct info *info) {
    memory_free(info->queues);
    memory_free(info->devices);
}

/* ---- sections: the row of an entity is its place in an array that is indexed by its id ---- */

static struct value text_value(const struct info *info, uint32_t id) {
    return value_text(trace_text(info->trace, id));
}

/* 0 in the file means unknown. */
static struct value known(uint64_t value) {
    return value_if(value > 0, value_integer((int64_t)value));
}
static struct value known_real(uint64_t value) {
    return value_if(value > 0, value_real((double)value));
}

#define WORK(name, kind)                                                                           \
    SECTION_VALUE(name, struct info, struct info_work, value_integer((int64_t)at->count[kind]))
WORK(work_kernels, ACTIVITY_KERNEL)
WORK(work_copies, ACTIVITY_COPY)
WORK(work_sets, ACTIVITY_SET)
#define WORK_COLUMNS                                                                               \
    {"kernels", "kernels", UNIT_COUNT, 0, work_kernels},                                           \
        {"copies", "copies", UNIT_COUNT, 0, work_copies}, {                                        \
        "sets", "sets", UNIT_COUNT, 0, work_sets                                                   \
    }

static const void *device_row(const void *source, size_t index) {
    const struct info *info = source;
    return index + 1 < info->trace->device.count ? &info->devices[index + 1] : NULL;
}

#define DEVICE_ID (size_t)(at - of->devices)
#define DEVICE_FIELD(name) of->trace->device.name[DEVICE_ID]
#define DEVICE(name, ...) SECTION_VALUE(name, struct info, struct info_work, __VA_ARGS__)
static struct value compute_capability(const struct info *of, const struct info_work *at,
                                       struct buffer *words) {
    if (!DEVICE_FIELD(compute_major))
        return value_unknown();
    buffer_printf(words, "%u.%u", (unsigned)DEVICE_FIELD(compute_major),
                  (unsigned)DEVICE_FIELD(compute_minor));
    return value_text(buffer_as_text(words));
}
DEVICE(device_id, value_integer((int64_t)DEVICE_ID))
DEVICE(device_session, value_integer(of->trace->device_session[DEVICE_ID]))
DEVICE(device_index, value_integer(DEVICE_FIELD(index)))
DEVICE(device_label, text_value(of, DEVICE_FIELD(label)))
DEVICE(device_name, text_value(of, DEVICE_FIELD(name)))
DEVICE(device_vendor, text_value(of, DEVICE_FIELD(vendor)))
DEVICE(device_uuid, text_value(of, DEVICE_FIELD(uuid)))
DEVICE(device_memory, known(DEVICE_FIELD(memory_bytes)))
DEVICE(device_multiprocessors, known(DEVICE_FIELD(multiprocessors)))
DEVICE(device_clock_hz, known(DEVICE_FIELD(clock_hz)))
DEVICE(device_clock, known_real(DEVICE_FIELD(clock_hz)))
DEVICE(device_bandwidth, known(DEVICE_FIELD(bandwidth)))
DEVICE(device_rate, known_real(DEVICE_FIELD(bandwidth)))
DEVICE(device_capability, compute_capability(of, at, words))
DEVICE(device_major, known(DEVICE_FIELD(compute_major)))
DEVICE(device_minor,
       value_if(DEVICE_FIELD(compute_major) > 0, value_integer(DEVICE_FIELD(compute_minor))))
DEVICE(device_warp, known(DEVICE_FIELD(warp_size)))
DEVICE(device_threads, known(DEVICE_FIELD(threads_per_multiprocessor)))
DEVICE(device_registers, known(DEVICE_FIELD(registers_per_multiprocessor)))
DEVICE(device_shared, known(DEVICE_FIELD(shared_per_multiprocessor)))
DEVICE(device_listed, value_integer(DEVICE_FIELD(listed) != 0))

static const struct column device_columns[] = {
    {"id", NULL, UNIT_COUNT, 0, device_id},
    {"session", NULL, UNIT_COUNT, 0, device_session},
    {"index", NULL, UNIT_COUNT, 0, device_index},
    {"label", "device", UNIT_TEXT, 0, device_label},
    {"name", "name", UNIT_TEXT, COLUMN_FLEXIBLE | COLUMN_IN_PLACE, device_name},
    {"vendor", NULL, UNIT_TEXT, 0, device_vendor},
    {"uuid", NULL, UNIT_TEXT, 0, device_uuid},
    {"memory_bytes", "memory", UNIT_BYTES, COLUMN_OPTIONAL, device_memory},
    {"multiprocessors", "units", UNIT_COUNT, COLUMN_OPTIONAL, device_multiprocessors},
    {NULL, "clock", UNIT_HZ, 0, device_clock},
    {"clock_hz", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_clock_hz},
    {NULL, "bandwidth", UNIT_BYTES_PER_S, 0, device_rate},
    {"bandwidth", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_bandwidth},
    {NULL, "cc", UNIT_TEXT, COLUMN_RIGHT, device_capability},
    {"compute_major", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_major},
    {"compute_minor", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_minor},
    {"warp_size", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_warp},
    {"threads_per_multiprocessor", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_threads},
    {"registers_per_multiprocessor", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_registers},
    {"shared_per_multiprocessor", NULL, UNIT_COUNT, COLUMN_OPTIONAL, device_shared},
    {"listed", NULL, UNIT_BOOL, 0, device_listed},
    WORK_COLUMNS,
    {0},
};

static const void *queue_row(const void *source, size_t index) {
    const struct info *info = source;
    return index + 1 < info->trace->queue.count ? &info->queues[index + 1] : NULL;
}

#define QUEUE_FIELD(name) of->trace->queue.name[at - of->queues]
#define QUEUE(name, ...) SECTION_VALUE(name, struct info, struct info_work, __VA_ARGS__)
QUEUE(queue_id, value_integer(at - of->queues))
QUEUE(queue_device, value_integer(QUEUE_FIELD(device)))
QUEUE(queue_device_label, text_value(of, of->trace->device.label[QUEUE_FIELD(device)]))
QUEUE(queue_process, value_integer(QUEUE_FIELD(process)))
QUEUE(queue_pid, value_if(QUEUE_FIELD(process) > 0,
                          value_integer((int64_t)of->trace->process.pid[QUEUE_FIELD(process)])))
QUEUE(queue_context, value_integer((int64_t)QUEUE_FIELD(context)))
QUEUE(queue_stream, value_integer(QUEUE_FIELD(stream)))
QUEUE(queue_name, text_value(of, QUEUE_FIELD(name)))

static const struct column queue_columns[] = {
    {"id", NULL, UNIT_COUNT, 0, queue_id},
    {NULL, "device", UNIT_TEXT, 0, queue_device_label},
    {"device", NULL, UNIT_COUNT, 0, queue_device},
    {"process", NULL, UNIT_COUNT, 0, queue_process},
    {"context", NULL, UNIT_COUNT, 0, queue_context},
    {"stream", "stream", UNIT_ID, 0, queue_stream},
    {"name", "name", UNIT_TEXT, COLUMN_FLEXIBLE | COLUMN_IN_PLACE, queue_name},
    {NULL, "process", UNIT_ID, 0, queue_pid},
    WORK_COLUMNS,
    {0},
};

static const void *process_row(const void *source, size_t index) {
    const struct trace *trace = ((const struct info *)source)->trace;
    return index + 1 < trace->process.count ? &trace->process.pid[index + 1] : NULL;
}

#define PROCESS_ID (at - of->trace->process.pid)
#define PROCESS(name, ...) SECTION_VALUE(name, struct info, uint64_t, __VA_ARGS__)
PROCESS(process_id, value_integer(PROCESS_ID))
PROCESS(process_session, value_integer(of->trace->process_session[PROCESS_ID]))
PROCESS(process_pid, value_integer((int64_t)*at))
PROCESS(process_name, text_value(of, of->trace->process.name[PROCESS_ID]))
PROCESS(process_host, text_value(of, of->trace->process.host[PROCESS_ID]))

static const struct column process_columns[] = {
    {"id", NULL, UNIT_COUNT, 0, process_id},    {"session", NULL, UNIT_COUNT, 0, process_session},
    {"pid", NULL, UNIT_COUNT, 0, process_pid},  {"name", NULL, UNIT_TEXT, 0, process_name},
    {"host", NULL, UNIT_TEXT, 0, process_host}, {0},
};

static const void *thread_row(const void *source, size_t index) {
    const struct trace *trace = ((const struct info *)source)->trace;
    return index + 1 < trace->thread.count ? &trace->thread.process[index + 1] : NULL;
}

#define THREAD_ID (at - of->trace->thread.process)
#define THREAD(name, ...) SECTION_VALUE(name, struct info, uint32_t, __VA_ARGS__)
THREAD(thread_id, value_integer(THREAD_ID))
THREAD(thread_process, value_integer(*at))
THREAD(thread_pid, value_integer((int64_t)of->trace->process.pid[*at]))
THREAD(thread_process_name, text_value(of, of->trace->process.name[*at]))
THREAD(thread_tid, value_integer(of->trace->thread.tid[THREAD_ID]))
THREAD(thread_name, text_value(of, of->trace->thread.name[THREAD_ID]))

static const struct column thread_columns[] = {
    {"id", NULL, UNIT_COUNT, 0, thread_id},
    {"process", NULL, UNIT_COUNT, 0, thread_process},
    {NULL, "pid", UNIT_ID, 0, thread_pid},
    {NULL, "process", UNIT_TEXT, COLUMN_FLEXIBLE | COLUMN_IN_PLACE, thread_process_name},
    {"tid", "tid", UNIT_ID, 0, thread_tid},
    {"name", "thread", UNIT_TEXT, COLUMN_FLEXIBLE, thread_name},
    {0},
};

/* Only tables with rows. */
static const void *table_row(const void *source, size_t index) {
    const struct info *info = source;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (info->spans[table].rows && index-- == 0)
            return &info->spans[table];
    return NULL;
}

#define SPAN(name, ...) SECTION_VALUE(name, struct info, struct info_span, __VA_ARGS__)
SPAN(span_table, value_string(trace_tables[at->table].name))
SPAN(span_rows, value_integer((int64_t)at->rows))
SPAN(span_first, value_if(at->rows > 0, value_integer(at->first)))
SPAN(span_last, value_if(at->rows > 0, value_integer(at->last)))

static const struct column table_columns[] = {
    {NULL, "table", UNIT_TEXT, 0, span_table},
    {"rows", "rows", UNIT_COUNT, 0, span_rows},
    {"first_ns", "first ns", UNIT_ID, COLUMN_OPTIONAL, span_first},
    {"last_ns", "last ns", UNIT_ID, COLUMN_OPTIONAL, span_last},
    {0},
};

/* Meta keys with a line of their own at the top. */
static const struct fact {
    const char *label, *key;
} facts[] = {
    {"format", META_SOURCE_FORMAT}, {"tool", META_SOURCE_TOOL}, {"machine", META_HOST},
    {"command", META_COMMAND},      {"rank", META_RANK},        {"world size", META_WORLD_SIZE},
    {"truncated", META_TRUNCATED},
};

static bool is_fact(struct text key) {
    for (unsigned i = 0; i < ARRAY_COUNT(facts); i++)
        if (text_is(key, facts[i].key))
            return true;
    return text_is(key, META_WARNING) || text_is(key, META_DROPS) || text_is(key, META_NOT_READ) ||
           text_is(key, META_NOT_FOUND);
}

/* Only keys that are not printed elsewhere. */
static const void *meta_row(const void *source, size_t index) {
    const struct trace *trace = ((const struct info *)source)->trace;
    for (size_t i = 0; i < trace->meta.count; i++)
        if (!is_fact(trace_text(trace, trace->meta.key[i])) && index-- == 0)
            return &trace->meta.key[i];
    return NULL;
}

static size_t meta_count(const void *source) {
    const struct trace *trace = ((const struct info *)source)->trace;
    size_t count = 0;
    for (size_t i = 0; i < trace->meta.count; i++)
        count += !is_fact(trace_text(trace, trace->meta.key[i]));
    return count;
}

#define META(name, ...) SECTION_VALUE(name, struct info, uint32_t, __VA_ARGS__)
META(meta_key, text_value(of, *at))
META(meta_value, text_value(of, of->trace->meta.value[at - of->trace->meta.key]))

static const struct column meta_columns[] = {
    {NULL, "key", UNIT_TEXT, COLUMN_FLEXIBLE, meta_key},
    {NULL, "value", UNIT_TEXT, COLUMN_FLEXIBLE, meta_value},
    {0},
};

static const struct section
    devices = {.key = "devices", .title = "Devices", .columns = device_columns, .row = device_row},
    queues = {.key = "queues", .title = "Queues", .columns = queue_columns, .row = queue_row},
    processes = {.key = "processes", .columns = process_columns, .row = process_row},
    threads = {.key = "threads",
               .title = "Processes and threads",
               .columns = thread_columns,
               .row = thread_row},
    tables = {.key = "tables", .title = "Events", .columns = table_columns, .row = table_row},
    meta = {.key = "meta",
            .title = "Meta",
            .columns = meta_columns,
            .row = meta_row,
            .count = meta_count};

/* What is missing from the trace; 0 is nothing. */
static uint64_t dropped_events(const struct trace *trace) {
    int64_t drops = trace_meta_sum(trace, META_DROPS);
    return drops > 0 ? (uint64_t)drops : 0;
}
#define LOSS(name)                                                                                 \
    static uint64_t name(const struct trace *trace) {                                              \
        return trace->name;                                                                        \
    }
LOSS(writers_unfinished)
LOSS(missing_chunks)
LOSS(repeated_chunks)
LOSS(damaged_bytes)
LOSS(truncated_bytes)
LOSS(unknown_chunks)

static const struct loss {
    const char *key, *words;
    uint64_t (*count)(const struct trace *trace);
} losses[] = {
    {"dropped_events", "dropped events", dropped_events},
    {"unfinished_writers", "unfinished writers (killed, or the file is truncated)",
     writers_unfinished},
    {"missing_chunks", "missing chunks", missing_chunks},
    {"repeated_chunks", "repeated chunks", repeated_chunks},
    {"damaged_bytes", "damaged bytes, skipped", damaged_bytes},
    {"truncated_bytes", "bytes of an incomplete chunk, skipped", truncated_bytes},
    {"unknown_chunks", "chunks of unknown kind", unknown_chunks},
};

/* ---- text ---- */

/* Begins a "label   value" line. */
static void write_label(struct output *output, const char *name) {
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
static void write_wrapped(struct output *output, struct text text, size_t indent) {
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

/* Whether an earlier row is equal. */
static bool is_repeated(const struct trace *trace, size_t row) {
    for (size_t i = 0; i < row; i++)
        if (trace->meta.key[i] == trace->meta.key[row] &&
            trace->meta.value[i] == trace->meta.value[row])
            return true;
    return false;
}

/* Writes every distinct value of a meta key on its own line. */
static void write_values(const struct trace *trace, const char *name, const char *key,
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
        write_label(output, shown++ ? "" : name);
        write_wrapped(output, trace_text(trace, trace->meta.value[i]), INDENT);
    }
    if (left) {
        write_label(output, "");
        output_printf(output, "%zu more\n", left);
    }
}

static void write_clock(const struct info *info, struct output *output) {
    char date[64];
    time_t seconds = (time_t)(info->all.first / 1000000000);
    struct tm utc;
    if (!text_is(trace_meta(info->trace, META_CLOCK_BASE), "unix") || info->all.first < 0 ||
        !gmtime_r(&seconds, &utc) || !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc))
        return;
    output_printf(output, ", from %s UTC", date);
}

static void write_summary(const struct info *info, struct output *output) {
    const struct trace *trace = info->trace;
    char text[FORMAT_SIZE];
    for (unsigned i = 0; i < ARRAY_COUNT(facts); i++)
        write_values(trace, facts[i].label, facts[i].key, output);
    if (trace->session_count > 1) {
        write_label(output, "recordings");
        output_printf(output, "%u\n", trace->session_count);
    }
    write_label(output, "size");
    output_printf(output, "%s", format_bytes(info->file_bytes, text));
    if (info->all.rows)
        output_printf(output, ", %.1f bytes per event",
                      (double)info->file_bytes / (double)info->all.rows);
    output_printf(output, "\n");
    write_label(output, "events");
    output_printf(output, "%s\n", format_count(info->all.rows, text));
    if (info->all.rows == 0)
        return;
    int64_t span;
    if (__builtin_sub_overflow(info->all.last, info->all.first, &span))
        span = INT64_MAX;
    write_label(output, "span");
    output_printf(output, "%s", format_duration(span, text));
    write_clock(info, output);
    output_printf(output, "\n");
}

static void write_losses(const struct trace *trace, struct output *output) {
    char text[FORMAT_SIZE];
    bool any = false;
    output_printf(output, "\nData quality\n");
    for (unsigned i = 0; i < ARRAY_COUNT(losses); i++) {
        uint64_t count = losses[i].count(trace);
        any |= count > 0;
        if (count > 0)
            output_printf(output, "  %s: %s\n", losses[i].words, format_count(count, text));
    }
    if (trace_meta(trace, META_WARNING).length > 0) {
        write_values(trace, "warning", META_WARNING, output);
        any = true;
    }
    if (!any)
        output_printf(output, "  no losses known\n");
    write_values(trace, "not read", META_NOT_READ, output);
    write_values(trace, "not found", META_NOT_FOUND, output);
}

bool info_print_text(const struct info *info, struct output *output, struct status *status) {
    static const struct section *const order[] = {&devices, &queues, &threads, &tables, &meta};
    struct section_style style = {.style = TABLE_TEXT, .width = WIDTH, .indent = 2};
    write_wrapped(output, text_of(info->path), 0);
    write_summary(info, output);
    for (unsigned i = 0; i < ARRAY_COUNT(order); i++) {
        if (!order[i]->row(info, 0))
            continue;
        output_printf(output, "\n%s\n", order[i]->title);
        style.rows = order[i] == &meta ? META_MAX : LIST_MAX;
        if (!section_write(order[i], info, &style, output, status))
            return false;
    }
    write_losses(info->trace, output);
    return true;
}

/* ---- JSON ---- */

static bool write_tables_json(struct json *json, const struct info *info, struct status *status) {
    bool ok = true;
    json_key(json, "tables");
    json_begin_object(json);
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        json_key(json, trace_tables[table].name);
        json_begin_object(json);
        ok = section_write_json_row(&tables, info, &info->spans[table], json, status) && ok;
        json_end_object(json);
    }
    json_end_object(json);
    return ok;
}

static void write_losses_json(struct json *json, const struct trace *trace) {
    json_key(json, "trust");
    json_begin_object(json);
    for (unsigned i = 0; i < ARRAY_COUNT(losses); i++)
        json_member_unsigned(json, losses[i].key, losses[i].count(trace));
    json_end_object(json);
}

static void write_summary_json(struct json *json, const struct info *info) {
    const struct trace *trace = info->trace;
    json_member_string(json, "schema", "ridge.info");
    json_member_integer(json, "version", 1);
    json_member_string(json, "file", info->path);
    json_member_unsigned(json, "file_bytes", info->file_bytes);
    json_member_text(json, "format", trace_meta(trace, META_SOURCE_FORMAT));
    json_member_text(json, "tool", trace_meta(trace, META_SOURCE_TOOL));
    json_member_unsigned(json, "sessions", trace->session_count);
    json_member_unsigned(json, "writers", trace->writer_count);
}

bool info_print_json(const struct info *info, struct output *output, struct status *status) {
    static const struct section *const lists[] = {&devices, &queues, &processes, &threads};
    struct json json = {.output = output, .pretty = true};
    json_begin_object(&json);
    write_summary_json(&json, info);
    json_key(&json, "events");
    json_begin_object(&json);
    bool ok = section_write_json_row(&tables, info, &info->all, &json, status);
    json_end_object(&json);
    if (info->all.rows)
        json_member_number(&json, "bytes_per_event",
                           (double)info->file_bytes / (double)info->all.rows);
    ok = write_tables_json(&json, info, status) && ok;
    for (unsigned i = 0; i < ARRAY_COUNT(lists); i++) {
        json_key(&json, lists[i]->key);
        ok = section_write_json(lists[i], info, &json, status) && ok;
    }
    json_report_meta(&json, info->trace);
    write_losses_json(&json, info->trace);
    json_end_object(&json);
    return ok;
}
