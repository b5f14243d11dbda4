/* Which names does the page need, and how is what has a name told to it? The header of the data is
 * JSON; it is deflated with the columns and never stands in the HTML as text. */
#include "report/html_parts.h"

#include "base/json_write.h"
#include "base/memory.h"

/* Names of templates can be longer than anyone reads, and each is there in full in the trace. */
enum { NAME_BYTES_MAX = 4000 };

static bool add_name(struct page_names *names, uint32_t string, bool kernel,
                     struct status *status) {
    if (string == 0)
        return true;
    if (!names->number[string]) {
        if (!GROW(names->strings, &names->capacity, names->count + 1, status) ||
            !GROW(names->kernel, &names->kernel_capacity, names->count + 1, status))
            return false;
        names->number[string] = (uint32_t)names->count;
        names->kernel[names->count] = 0;
        names->strings[names->count++] = string;
    }
    names->kernel[names->number[string]] |= kernel;
    return true;
}

static bool add_rows(struct page_names *names, const struct page_rows *rows, const uint32_t *column,
                     const uint8_t *kinds, struct status *status) {
    for (size_t i = 0; i < rows->count; i++) {
        size_t row = rows->rows ? rows->rows[i] : i;
        if (!add_name(names, column[row], kinds && kinds[row] == ACTIVITY_KERNEL, status))
            return false;
    }
    return true;
}

bool page_names_find(struct page_names *names, const struct report *report,
                     const struct page_events *events, struct status *status) {
    const struct trace *trace = report->model.trace;
    *names = (struct page_names){0};
    names->number = memory_allocate(trace->strings.count, sizeof *names->number, status);
    if (!names->number || !GROW(names->strings, &names->capacity, 1, status) ||
        !GROW(names->kernel, &names->kernel_capacity, 1, status))
        return false;
    names->strings[0] = 0;
    names->kernel[0] = 0;
    names->count = 1;
    if (!add_rows(names, &events->activities, trace->activity.name, trace->activity.kind, status) ||
        !add_rows(names, &events->calls, trace->call.name, NULL, status) ||
        !add_rows(names, &events->ranges, trace->range.name, NULL, status))
        return false;
    for (size_t i = 0; i < trace->stack.count; i++)
        if (!add_name(names, trace->stack.function[i], false, status) ||
            !add_name(names, trace->stack.module[i], false, status) ||
            !add_name(names, trace->stack.file[i], false, status) ||
            !add_name(names, trace->stack.source[i], false, status))
            return false;
    for (size_t i = 0; i < trace->counter.count; i++)
        if (!add_name(names, trace->counter.name[i], false, status))
            return false;
    for (size_t i = 0; i < report->steps.count; i++)
        if (!add_name(names, report->steps.list[i].name, false, status))
            return false;
    return true;
}

void page_names_finish(struct page_names *names) {
    memory_free(names->number);
    memory_free(names->strings);
    memory_free(names->kernel);
    *names = (struct page_names){0};
}

static bool write_name(struct json *json, struct text name, struct buffer *cut,
                       struct status *status) {
    if (name.length <= NAME_BYTES_MAX) {
        json_text(json, name);
        return true;
    }
    buffer_clear(cut);
    buffer_text(cut, (struct text){name.data, NAME_BYTES_MAX});
    cut->length = text_utf8_valid(buffer_as_text(cut));
    buffer_printf(cut, " … (%zu bytes in all)", name.length);
    json_text(json, buffer_as_text(cut));
    return buffer_ok(cut, status);
}

static bool write_strings(struct json *json, const struct trace *trace,
                          const struct page_names *names, struct buffer *text,
                          struct status *status) {
    json_key(json, "strings");
    json_begin_array(json);
    for (size_t i = 0; i < names->count; i++)
        if (!write_name(json, trace_text(trace, names->strings[i]), text, status))
            return false;
    json_end_array(json);
    json_key(json, "short");
    json_begin_array(json);
    for (size_t i = 1; i < names->count; i++) {
        struct text full = trace_text(trace, names->strings[i]);
        if (!names->kernel[i])
            continue;
        buffer_clear(text);
        if (!kernel_short_name(full, text, status))
            return false;
        if (text_equal(full, buffer_as_text(text)))
            continue;
        json_begin_array(json);
        json_unsigned(json, i);
        json_text(json, buffer_as_text(text));
        json_end_array(json);
    }
    json_end_array(json);
    return true;
}

static void write_hosts(struct json *json, const struct trace *trace) {
    json_key(json, "processes");
    json_begin_array(json);
    for (size_t i = 1; i < trace->process.count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "pid", trace->process.pid[i]);
        json_member_text(json, "name", trace_text(trace, trace->process.name[i]));
        json_member_text(json, "host", trace_text(trace, trace->process.host[i]));
        json_end_object(json);
    }
    json_end_array(json);
    json_key(json, "threads");
    json_begin_array(json);
    for (size_t i = 1; i < trace->thread.count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "process", trace->thread.process[i]);
        json_member_integer(json, "tid", trace->thread.tid[i]);
        json_member_text(json, "name", trace_text(trace, trace->thread.name[i]));
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_devices(struct json *json, const struct model *model) {
    const struct trace *trace = model->trace;
    json_key(json, "devices");
    json_begin_array(json);
    for (uint32_t i = 1; i < trace->device.count; i++) {
        json_begin_object(json);
        json_member_text(json, "key", model_device_key(model, i));
        json_member_text(json, "label", trace_text(trace, trace->device.label[i]));
        json_member_text(json, "name", trace_text(trace, trace->device.name[i]));
        json_member_text(json, "vendor", trace_text(trace, trace->device.vendor[i]));
        json_member_unsigned(json, "memory_bytes", trace->device.memory_bytes[i]);
        json_member_unsigned(json, "multiprocessors", trace->device.multiprocessors[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_key(json, "queues");
    json_begin_array(json);
    for (size_t i = 1; i < trace->queue.count; i++) {
        json_begin_object(json);
        json_member_unsigned(json, "device", trace->queue.device[i]);
        json_member_unsigned(json, "process", trace->queue.process[i]);
        json_member_unsigned(json, "context", trace->queue.context[i]);
        json_member_integer(json, "stream", trace->queue.stream[i]);
        json_member_text(json, "name", trace_text(trace, trace->queue.name[i]));
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_counts(struct json *json, const struct page_counts *counts,
                         const struct page_events *events) {
    json_key(json, "counts");
    json_begin_object(json);
    json_member_unsigned(json, "ACTI", counts->activities);
    json_member_unsigned(json, "CALL", counts->calls);
    json_member_unsigned(json, "RANG", counts->ranges);
    json_member_unsigned(json, "GAPS", counts->gaps);
    json_member_unsigned(json, "STAK", counts->stacks);
    json_member_unsigned(json, "SAMP", counts->samples);
    json_member_unsigned(json, "COUN", counts->counters);
    json_member_unsigned(json, "MEMO", counts->memory);
    json_member_unsigned(json, "STAT", counts->states);
    json_member_unsigned(json, "STEP", counts->steps);
    json_end_object(json);
    json_key(json, "merged");
    if (events->shorter == 0) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_member_unsigned(json, "events", events->merged_events);
    json_member_integer(json, "shorter_ns", events->shorter);
    json_end_object(json);
}

bool page_write_header(struct page_stream *stream, const struct report *report,
                       const struct page_names *names, const struct page_events *events,
                       const struct page_counts *counts, int64_t origin, struct status *status) {
    struct buffer header = {0}, text = {0};
    struct output output = output_into(&header);
    struct json json = {.output = &output};
    json_begin_object(&json);
    json_member_string(&json, "name", report->options.trace_name ? report->options.trace_name : "");
    json_member_integer(&json, "origin", origin);
    bool ok = write_strings(&json, report->model.trace, names, &text, status);
    write_hosts(&json, report->model.trace);
    write_devices(&json, &report->model);
    write_counts(&json, counts, events);
    json_end_object(&json);
    ok = ok && buffer_ok(&text, status) && buffer_ok(&header, status);
    if (ok && header.length > UINT32_MAX)
        ok = status_fail(status, STATUS_UNSUPPORTED, "the trace's names are too many for a page");
    if (ok) {
        unsigned char length[4];
        for (unsigned i = 0; i < 4; i++)
            length[i] = (unsigned char)(header.length >> 8 * i);
        page_stream_write(stream, length, sizeof length);
        page_stream_write(stream, header.data, header.length);
    }
    buffer_finish(&header);
    buffer_finish(&text);
    return ok;
}
