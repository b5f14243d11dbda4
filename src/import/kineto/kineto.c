/* Which trace is in a Chrome-trace JSON file? Kineto (torch.profiler) of any year, XLA's
 * trace.json, our own export, or any other tool's, as an object with traceEvents anywhere in it or
 * as a bare array of events.
 *
 * The file streams through a window; each event is read where it lies and becomes a row at once. A
 * bare array may lack its end, as Chrome allows; an object that does is cut off, and that is an
 * error.
 */
#include "import/kineto/kineto.h"

#include "base/memory.h"
#include "import/kineto/kineto_header.h"
#include "import/kineto/kineto_own.h"
#include "import/kineto/kineto_samples.h"

/* XLA keeps at most this many events in trace.json and does not say when it left some out. */
#define XLA_EVENTS_MAX 1000000

/* Times from 2001 on are taken for those of the Unix clock. */
#define UNIX_TIME_FROM ((int64_t)1000000000 * 1000000000)

struct document {
    struct scan scan;
    struct event_keywords keywords;
    struct kineto_event event;
    struct kineto_header header;
    struct kineto_rows rows;
    struct kineto_samples samples;
    uint64_t events;
    bool has_events; /* a list of events was there, even if empty */
    int64_t last_time;
    struct buffer key; /* of a top-level member; padded for keywords_find() */
};

static bool contains(const struct import_source *source, const char *word) {
    return text_find((struct text){(const char *)source->head, source->head_length}, word) >= 0;
}

static size_t skip_mark_and_space(const unsigned char *head, size_t length) {
    size_t at = length >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < length && scan_is_space((char)head[at]))
        at++;
    return at;
}

static int detect(const struct import_source *source) {
    if (source->is_folder || source->head_length == 0)
        return 0;
    size_t at = skip_mark_and_space(source->head, source->head_length);
    if (at == source->head_length)
        return 0;
    if (source->head[at] == '{') {
        if (contains(source, "\"traceEvents\"") || contains(source, "{\"ridge\":{"))
            return 3;
        return contains(source, "\"schemaVersion\"") || contains(source, "\"deviceProperties\"")
                   ? 2
                   : 1;
    }
    if (source->head[at] == '[')
        return contains(source, "\"ph\"") ? 3 : 1;
    return 0;
}

static bool read_event(struct document *document, struct status *status) {
    struct scan *scan = &document->scan;
    struct kineto_event *event = &document->event;
    const char *after;
    while (!(after = event_scan(scan, &document->keywords, scan->at, event)))
        if (!scan_more(scan, "an event", status))
            return false;
    document->events++;
    if (event->start > document->last_time)
        document->last_time = event->start;
    if (!rows_add(&document->rows, event, scan_offset(scan), document->events, status))
        return false;
    scan->at = after;
    return true;
}

/* null is let through: some writers end their list with it. */
static bool read_other_element(struct document *document, char byte, struct status *status) {
    if (byte != 'n')
        return scan_unexpected(&document->scan, "an event (an object)", status);
    document->events++;
    return json_skip(&document->scan, status);
}

/* The list of events; `bare` when it is all there is, and its end may be missing. */
static bool read_events(struct document *document, bool bare, struct status *status) {
    struct scan *scan = &document->scan;
    char byte;
    document->has_events = true;
    scan->at++;
    for (;;) {
        if (!scan_peek(scan, &byte, status))
            return false;
        if (byte == ']')
            break;
        if (bare && scan->at == scan->end)
            return true;
        if (bare && document->events == 0 &&
            (byte == '[' || byte == '"' || (byte >= '0' && byte <= '9')))
            return status_fail(status, STATUS_INPUT,
                               "is a JSON list, but not of trace events: not a torch.profiler or "
                               "Chrome trace");
        if (byte == '{' ? !read_event(document, status)
                        : !read_other_element(document, byte, status))
            return false;
        if (document->events % 1024 == 0 && trace_writer_failed(document->rows.writer))
            return true;
        if (!scan_peek(scan, &byte, status))
            return false;
        if (byte == ',')
            scan->at++;
        else if (byte != ']' && !(bare && scan->at == scan->end))
            return scan_unexpected(&document->scan, "a comma or the end of traceEvents", status);
    }
    scan->at++;
    return true;
}

/* What comes before it has been taken for another tool's. */
static bool read_own(struct document *document, struct status *status) {
    if (!document->has_events && places_are_empty(&document->rows.places)) {
        document->keywords.all_arguments = true;
        return own_read(&document->rows, status);
    }
    trace_writer_meta(document->rows.writer, META_WARNING,
                      TEXT("the file was rearranged after ridge wrote it: what a Chrome trace has "
                           "no place for is lost; export the trace again"));
    return json_skip(&document->scan, status);
}

static bool read_member(struct document *document, struct status *status) {
    struct scan *scan = &document->scan;
    struct text key;
    if (!scan_key_copy(scan, &document->key, &key, status))
        return false;
    if (text_is(key, "traceEvents") && *scan->at == '[')
        return read_events(document, false, status);
    if (text_is(key, "stackFrames") && *scan->at == '{')
        return kineto_samples_read_frames(&document->samples, &document->rows, status);
    if (text_is(key, "samples") && *scan->at == '[')
        return kineto_samples_read(&document->samples, &document->rows, status);
    if (text_is(key, "ridge") && *scan->at == '{')
        return read_own(document, status);
    return header_read(&document->header, &document->rows, key, status);
}

static bool read_object(struct document *document, struct status *status) {
    struct scan *scan = &document->scan;
    char byte;
    scan->at++;
    for (;;) {
        if (!scan_peek(scan, &byte, status))
            return false;
        if (byte == '}')
            break;
        if (byte != '"')
            return scan_unexpected(&document->scan, "a key or the end of the trace", status);
        if (!read_member(document, status))
            return false;
        if (trace_writer_failed(document->rows.writer))
            return true;
        if (!scan_peek(scan, &byte, status))
            return false;
        if (byte == ',')
            scan->at++;
        else if (byte != '}')
            return scan_unexpected(&document->scan, "a comma or the end of the trace", status);
    }
    scan->at++;
    return true;
}

static bool skip_byte_order_mark(struct scan *scan, struct status *status) {
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    if (scan->end - scan->at >= 3 && memcmp(scan->at, "\xEF\xBB\xBF", 3) == 0)
        scan->at += 3;
    return true;
}

static bool read_document(struct document *document, struct status *status) {
    struct scan *scan = &document->scan;
    char byte;
    if (!skip_byte_order_mark(scan, status) || !scan_peek(scan, &byte, status))
        return false;
    if (scan->at == scan->end)
        return status_fail(status, STATUS_INPUT, "the file is empty");
    if (byte != '{' && byte != '[')
        return scan_unexpected(&document->scan, "a JSON object or array", status);
    if (byte == '[' ? !read_events(document, true, status) : !read_object(document, status))
        return false;
    if (trace_writer_failed(document->rows.writer))
        return true;
    if (!document->has_events)
        return status_fail(status, STATUS_INPUT,
                           "is JSON without traceEvents: not a torch.profiler or Chrome trace");
    if (!scan_peek(scan, &byte, status))
        return false;
    return scan->at == scan->end ||
           scan_unexpected(&document->scan, "nothing after the trace's end", status);
}

static void write_source(struct document *document, struct trace_writer *writer) {
    const struct kineto_header *header = &document->header;
    bool kineto = header->is_kineto || document->rows.kineto_events > 0;
    bool xla = !kineto && document->rows.places.has_device_processes;
    bool unix_clock = header->has_base || document->last_time >= UNIX_TIME_FROM;
    if (header->has_base)
        trace_writer_meta_integer(writer, META_CLOCK_OFFSET, header->base);
    if (document->rows.own) /* its notes have said all this */
        return;
    trace_writer_meta(writer, META_SOURCE_FORMAT, kineto ? TEXT("kineto") : TEXT("chrome"));
    trace_writer_meta(writer, META_SOURCE_TOOL,
                      kineto ? TEXT("torch.profiler (Kineto)")
                      : xla  ? TEXT("XLA profiler (JAX or TensorFlow)")
                             : TEXT("a tool that writes Chrome traces"));
    trace_writer_meta_integer(writer, "source.events", (int64_t)document->events);
    trace_writer_meta(writer, META_CLOCK_BASE, unix_clock ? TEXT("unix") : TEXT("trace"));
    if (xla && document->rows.complete_events >= XLA_EVENTS_MAX)
        trace_writer_meta(writer, META_WARNING,
                          TEXT("XLA writes at most 1,000,000 events to trace.json: this file is "
                               "probably cut; import the .xplane.pb beside it"));
}

bool kineto_import(const struct input *input, const struct import_options *options,
                   struct trace_writer *writer, struct status *status) {
    struct document *document = memory_allocate(1, sizeof *document, status);
    if (!document) {
        struct input unused = *input;
        input_close(&unused);
        return false;
    }
    scan_open(&document->scan, input);
    event_keywords_init(&document->keywords);
    header_init(&document->header);
    rows_init(&document->rows, &document->scan, writer, options);
    bool ok = read_document(document, status) && rows_ok(&document->rows, status);
    if (ok) {
        write_source(document, writer);
        kineto_samples_end(&document->samples, writer);
        rows_end(&document->rows);
    }
    rows_finish(&document->rows);
    kineto_samples_finish(&document->samples);
    buffer_finish(&document->key);
    scan_close(&document->scan);
    memory_free(document);
    return ok;
}

/* JSON of other tools in this field, so that the message can say what it is. */
static bool explain_other_json(const struct import_source *source, struct status *status) {
    if (contains(source, "\"rocprofiler-sdk-tool\""))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "is rocprofv3's own JSON, which ridge does not read; record again with "
                           "rocprofv3 --output-format pftrace");
    if (contains(source, "\"nodes\"") && contains(source, "\"schema\""))
        return status_fail(status, STATUS_UNSUPPORTED,
                           "is an execution graph (PyTorch or Chakra) without times; record a "
                           "trace with torch.profiler's export_chrome_trace()");
    return true;
}

static bool run(const struct import_source *source, const struct import_options *options,
                struct trace_writer *writer, struct status *status) {
    struct input input;
    if (!contains(source, "\"traceEvents\"") && !explain_other_json(source, status))
        return false;
    return input_open(&input, source->path, status) &&
           kineto_import(&input, options, writer, status);
}

const struct importer import_kineto = {
    .format = "kineto",
    .detect = detect,
    .run = run,
};
