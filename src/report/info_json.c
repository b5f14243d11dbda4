/* `ridge info --format json`: all that is known about a trace, nothing shortened. Times are integer
 * nanoseconds on the trace's clock. docs/commands/info.md describes the members. */
#include "report/info.h"

#include "base/json_write.h"
#include "report/json_parts.h"

static void print_span(struct json *json, const struct info_span *span) {
    json_member_unsigned(json, "rows", span->rows);
    if (span->rows) {
        json_member_integer(json, "first_ns", span->first);
        json_member_integer(json, "last_ns", span->last);
    }
}

static void print_work(struct json *json, const struct info_work *work) {
    json_member_unsigned(json, "kernels", work->count[ACTIVITY_KERNEL]);
    json_member_unsigned(json, "copies", work->count[ACTIVITY_COPY]);
    json_member_unsigned(json, "sets", work->count[ACTIVITY_SET]);
}

/* Leaves out a value that is 0, which means unknown. */
static void print_known(struct json *json, const char *key, uint64_t value) {
    if (value)
        json_member_unsigned(json, key, value);
}

static void print_devices(struct json *json, const struct info *info) {
    const struct trace *trace = info->trace;
    const struct columns_device *device = &trace->device;
    json_key(json, "devices");
    json_begin_array(json);
    for (size_t i = 1; i < device->count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "id", i);
        json_member_unsigned(json, "session", trace->device_session[i]);
        json_member_unsigned(json, "index", device->index[i]);
        json_member_text(json, "label", trace_text(trace, device->label[i]));
        json_member_text(json, "name", trace_text(trace, device->name[i]));
        json_member_text(json, "vendor", trace_text(trace, device->vendor[i]));
        json_member_text(json, "uuid", trace_text(trace, device->uuid[i]));
        print_known(json, "memory_bytes", device->memory_bytes[i]);
        print_known(json, "multiprocessors", device->multiprocessors[i]);
        print_known(json, "clock_hz", device->clock_hz[i]);
        print_known(json, "bandwidth", device->bandwidth[i]);
        print_known(json, "compute_major", device->compute_major[i]);
        if (device->compute_major[i])
            json_member_unsigned(json, "compute_minor", device->compute_minor[i]);
        print_known(json, "warp_size", device->warp_size[i]);
        print_known(json, "threads_per_multiprocessor", device->threads_per_multiprocessor[i]);
        print_known(json, "registers_per_multiprocessor", device->registers_per_multiprocessor[i]);
        print_known(json, "shared_per_multiprocessor", device->shared_per_multiprocessor[i]);
        json_member_bool(json, "listed", device->listed[i] != 0);
        print_work(json, &info->devices[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_queues(struct json *json, const struct info *info) {
    const struct trace *trace = info->trace;
    const struct columns_queue *queue = &trace->queue;
    json_key(json, "queues");
    json_begin_array(json);
    for (size_t i = 1; i < queue->count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "id", i);
        json_member_unsigned(json, "device", queue->device[i]);
        json_member_unsigned(json, "process", queue->process[i]);
        json_member_unsigned(json, "context", queue->context[i]);
        json_member_integer(json, "stream", queue->stream[i]);
        json_member_text(json, "name", trace_text(trace, queue->name[i]));
        print_work(json, &info->queues[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_processes(struct json *json, const struct trace *trace) {
    json_key(json, "processes");
    json_begin_array(json);
    for (size_t i = 1; i < trace->process.count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "id", i);
        json_member_unsigned(json, "session", trace->process_session[i]);
        json_member_unsigned(json, "pid", trace->process.pid[i]);
        json_member_text(json, "name", trace_text(trace, trace->process.name[i]));
        json_member_text(json, "host", trace_text(trace, trace->process.host[i]));
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_threads(struct json *json, const struct trace *trace) {
    json_key(json, "threads");
    json_begin_array(json);
    for (size_t i = 1; i < trace->thread.count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "id", i);
        json_member_unsigned(json, "process", trace->thread.process[i]);
        json_member_integer(json, "tid", trace->thread.tid[i]);
        json_member_text(json, "name", trace_text(trace, trace->thread.name[i]));
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_tables(struct json *json, const struct info *info) {
    json_key(json, "tables");
    json_begin_object(json);
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        json_key(json, trace_tables[table].name);
        json_begin_object(json);
        print_span(json, &info->spans[table]);
        json_end_object(json);
    }
    json_end_object(json);
}

static void print_trust(struct json *json, const struct trace *trace) {
    json_key(json, "trust");
    json_begin_object(json);
    json_member_integer(json, "dropped_events", trace_meta_sum(trace, META_DROPS));
    json_member_unsigned(json, "unfinished_writers", trace->writers_unfinished);
    json_member_unsigned(json, "missing_chunks", trace->missing_chunks);
    json_member_unsigned(json, "repeated_chunks", trace->repeated_chunks);
    json_member_unsigned(json, "damaged_bytes", trace->damaged_bytes);
    json_member_unsigned(json, "truncated_bytes", trace->truncated_bytes);
    json_member_unsigned(json, "unknown_chunks", trace->unknown_chunks);
    json_end_object(json);
}

void info_print_json(const struct info *info, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    const struct trace *trace = info->trace;
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.info");
    json_member_integer(&json, "version", 1);
    json_member_string(&json, "file", info->path);
    json_member_unsigned(&json, "file_bytes", info->file_bytes);
    json_member_text(&json, "format", trace_meta(trace, META_SOURCE_FORMAT));
    json_member_text(&json, "tool", trace_meta(trace, META_SOURCE_TOOL));
    json_member_unsigned(&json, "sessions", trace->session_count);
    json_member_unsigned(&json, "writers", trace->writer_count);
    json_key(&json, "events");
    json_begin_object(&json);
    print_span(&json, &info->all);
    json_end_object(&json);
    if (info->all.rows)
        json_member_number(&json, "bytes_per_event",
                           (double)info->file_bytes / (double)info->all.rows);
    print_tables(&json, info);
    print_devices(&json, info);
    print_queues(&json, info);
    print_processes(&json, trace);
    print_threads(&json, trace);
    json_report_meta(&json, trace);
    print_trust(&json, trace);
    json_end_object(&json);
}
