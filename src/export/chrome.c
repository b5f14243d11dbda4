/* The trace as JSON in the form of torch.profiler (Kineto), for chrome://tracing, ui.perfetto.dev
 * and the many scripts that read it. This file writes what stands around the events: devices and
 * the names of processes, threads and streams. Times are relative to baseTimeNanoseconds, since
 * viewers keep them in doubles. */
#include "export/chrome.h"

#include <inttypes.h>
#include <stdio.h>

#include "trace/writer.h"

void chrome_time(struct chrome *chrome, const char *key, int64_t time) {
    char digits[40];
    uint64_t ns = (uint64_t)time - (uint64_t)chrome->base;
    snprintf(digits, sizeof digits, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    json_key(&chrome->json, key);
    json_raw(&chrome->json, text_of(digits));
}

static void put_if(struct json *json, const char *key, uint64_t value) {
    if (value)
        json_member_unsigned(json, key, value);
}

static void write_device(struct chrome *chrome, size_t id) {
    const struct columns_device *device = &chrome->trace->device;
    struct json *json = &chrome->json;
    json_begin_object(json);
    json_member_integer(json, "id", chrome->ids.device[id]);
    json_member_text(json, "name", trace_text(chrome->trace, device->name[id]));
    put_if(json, "totalGlobalMem", device->memory_bytes[id]);
    put_if(json, "computeMajor", device->compute_major[id]);
    put_if(json, "computeMinor", device->compute_minor[id]);
    put_if(json, "maxThreadsPerMultiprocessor", device->threads_per_multiprocessor[id]);
    put_if(json, "warpSize", device->warp_size[id]);
    put_if(json, "regsPerMultiprocessor", device->registers_per_multiprocessor[id]);
    put_if(json, "sharedMemPerMultiprocessor", device->shared_per_multiprocessor[id]);
    put_if(json, "numSms", device->multiprocessors[id]);
    json_end_object(json);
}

static void write_devices(struct chrome *chrome) {
    const struct columns_device *device = &chrome->trace->device;
    json_key(&chrome->json, "deviceProperties");
    json_begin_array(&chrome->json);
    for (size_t id = 1; id < device->count; id++)
        if (device->listed[id] || device->name[id])
            write_device(chrome, id);
    json_end_array(&chrome->json);
}

static void write_ranks(struct chrome *chrome) {
    struct text rank = trace_meta(chrome->trace, META_RANK);
    struct text world = trace_meta(chrome->trace, META_WORLD_SIZE);
    int64_t number;
    if (!text_to_i64(rank, &number))
        return;
    json_key(&chrome->json, "distributedInfo");
    json_begin_object(&chrome->json);
    json_member_integer(&chrome->json, "rank", number);
    if (text_to_i64(world, &number))
        json_member_integer(&chrome->json, "world_size", number);
    json_end_object(&chrome->json);
}

static void write_header(struct chrome *chrome) {
    struct json *json = &chrome->json;
    struct text host = trace_meta(chrome->trace, META_HOST);
    json_member_integer(json, "schemaVersion", 1);
    json_member_string(json, "displayTimeUnit", "ns");
    if (chrome->base != 0)
        json_member_integer(json, "baseTimeNanoseconds", chrome->base);
    if (host.length)
        json_member_text(json, "host_name", host);
    write_devices(chrome);
    write_ranks(chrome);
}

static void begin_name(struct chrome *chrome, const char *what) {
    json_begin_object(&chrome->json);
    json_member_string(&chrome->json, "ph", "M");
    json_member_string(&chrome->json, "name", what);
}

static void end_name(struct chrome *chrome, struct text name) {
    json_key(&chrome->json, "args");
    json_begin_object(&chrome->json);
    json_member_text(&chrome->json, "name", name);
    json_end_object(&chrome->json);
    json_end_object(&chrome->json);
    output_write(chrome->json.output, "\n", 1);
}

/* Where in the viewer a process stands: the host first, then the devices, as Kineto has it. */
static void write_place(struct chrome *chrome, uint32_t device, uint64_t pid, struct text label,
                        int64_t sort) {
    static const char *const keys[] = {"process_labels", "process_sort_index"};
    for (unsigned i = 0; i < 2; i++) {
        begin_name(chrome, keys[i]);
        if (device)
            json_member_integer(&chrome->json, "pid", chrome->ids.device[device]);
        else
            json_member_unsigned(&chrome->json, "pid", pid);
        json_key(&chrome->json, "args");
        json_begin_object(&chrome->json);
        if (i == 0)
            json_member_text(&chrome->json, "labels", label);
        else
            json_member_integer(&chrome->json, "sort_index", sort);
        json_end_object(&chrome->json);
        json_end_object(&chrome->json);
        output_write(chrome->json.output, "\n", 1);
    }
}

static void write_device_names(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    enum { DEVICES_AFTER = 5000000 };
    for (size_t id = 1; id < trace->device.count; id++) {
        struct text label = trace_text(trace, trace->device.label[id]);
        buffer_clear(&chrome->text);
        buffer_printf(&chrome->text, "GPU %.*s", TEXT_ARGS(label));
        if (trace->device_session[id] > 0)
            buffer_printf(&chrome->text, " (recording %u)", trace->device_session[id] + 1);
        write_place(chrome, (uint32_t)id, 0, buffer_as_text(&chrome->text),
                    DEVICES_AFTER + (int64_t)id);
    }
}

static void write_process_names(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    for (size_t id = 1; id < trace->process.count; id++) {
        write_place(chrome, 0, chrome->ids.pid[id], TEXT("CPU"), (int64_t)id);
        if (trace->process.name[id] == 0)
            continue;
        begin_name(chrome, "process_name");
        json_member_unsigned(&chrome->json, "pid", chrome->ids.pid[id]);
        json_member_integer(&chrome->json, "tid", 0);
        end_name(chrome, trace_text(trace, trace->process.name[id]));
    }
}

static void write_thread_names(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    for (size_t id = 1; id < trace->queue.count; id++) {
        if (trace->queue.name[id] == 0)
            continue;
        begin_name(chrome, "thread_name");
        json_member_integer(&chrome->json, "pid", chrome->ids.device[trace->queue.device[id]]);
        json_member_integer(&chrome->json, "tid", chrome->ids.stream[id]);
        end_name(chrome, trace_text(trace, trace->queue.name[id]));
    }
    for (size_t id = 1; id < trace->thread.count; id++) {
        if (trace->thread.name[id] == 0)
            continue;
        begin_name(chrome, "thread_name");
        json_member_unsigned(&chrome->json, "pid", chrome->ids.pid[trace->thread.process[id]]);
        json_member_integer(&chrome->json, "tid", trace->thread.tid[id]);
        end_name(chrome, trace_text(trace, trace->thread.name[id]));
    }
}

static bool write_table(struct chrome *chrome, enum trace_table table,
                        void (*write)(struct chrome *chrome)) {
    if (!trace_load(chrome->trace, table, NULL, chrome->status))
        return false;
    write(chrome);
    export_unload(chrome->trace, table);
    return !chrome->failed;
}

static bool write_events(struct chrome *chrome) {
    json_key(&chrome->json, "traceEvents");
    json_begin_array(&chrome->json);
    write_device_names(chrome);
    write_process_names(chrome);
    write_thread_names(chrome);
    bool ok = chrome_collect_launches(chrome) &&
              write_table(chrome, TABLE_CALL, chrome_write_calls) &&
              write_table(chrome, TABLE_ACTIVITY, chrome_write_activities) &&
              write_table(chrome, TABLE_RANGE, chrome_write_ranges) &&
              write_table(chrome, TABLE_MARK, chrome_write_marks) &&
              write_table(chrome, TABLE_WAIT, chrome_write_waits) &&
              write_table(chrome, TABLE_MEMORY, chrome_write_memory) &&
              write_table(chrome, TABLE_COUNTER, chrome_write_counters) &&
              write_table(chrome, TABLE_STATE, chrome_write_states);
    json_end_array(&chrome->json);
    return ok;
}

/* What ts counts from: on a Unix clock the first event, else zero, or the first event where that is
 * before zero. */
static bool find_base(struct chrome *chrome) {
    struct trace *trace = chrome->trace;
    int64_t first = INT64_MAX;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const char *name = trace_tables[table].columns[0].name;
        if (!trace_load(trace, table, name, chrome->status))
            return false;
        const int64_t *times = trace_column(trace, table, 0);
        for (size_t row = 0; row < trace_rows(trace, table); row++)
            if (times[row] < first)
                first = times[row];
        trace_unload(trace, table, name);
    }
    bool unix_clock = text_is(trace_meta(trace, META_CLOCK_BASE), "unix");
    chrome->base = first == INT64_MAX ? 0 : first < 0 || unix_clock ? first : 0;
    return true;
}

/* In an order in which a reader needs no second pass. */
static bool write_document(struct chrome *chrome) {
    struct json *json = &chrome->json;
    json_begin_object(json);
    chrome_write_own(chrome);
    write_header(chrome);
    if (!write_table(chrome, TABLE_SAMPLE, chrome_write_samples) || !write_events(chrome))
        return false;
    json_end_object(json);
    output_write(json->output, "\n", 1);
    return true;
}

bool export_chrome(struct trace *trace, const struct export_options *options, struct output *output,
                   struct status *status) {
    struct chrome chrome = {.trace = trace, .json = {.output = output}, .status = status};
    (void)options;
    *status = (struct status){0};
    bool ok = find_base(&chrome) &&
              trace_load(trace, TABLE_ACTIVITY, "queue correlation", status) &&
              trace_load(trace, TABLE_CALL, "thread correlation", status) &&
              chrome_ids_init(&chrome.ids, trace, status) && write_document(&chrome);
    if (!ok && status->code == STATUS_OK) {
        if (output->failed)
            *status = output->why;
        else
            status_no_memory(status);
    }
    chrome_ids_finish(&chrome.ids);
    map_finish(&chrome.launched);
    buffer_finish(&chrome.detail);
    buffer_finish(&chrome.text);
    return ok;
}
