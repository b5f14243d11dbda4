/* Chrome trace JSON: Kineto (torch.profiler) of any version, XLA's trace.json, TensorFlow 1's
 * timelines, profiles of ONNX Runtime, or any other tool's; an object with traceEvents anywhere in
 * it, several of them (Proton writes one per stream), or a bare array of events.
 *
 * The file streams through a window; each event is parsed in place and becomes a row immediately. A
 * bare array may lack its closing bracket, as Chrome allows; a truncated object is an error.
 *
 * Members around traceEvents can precede or follow it. Known ones become device rows, ranks, the
 * clock base and warnings; other short scalars become meta "kineto.NAME"; the rest is skipped. */
#include "import/kineto/kineto.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/memory.h"
#include "import/kineto/kineto_samples.h"

/* ---- members around traceEvents ---- */

/* Members of the file outside traceEvents. */
struct kineto_header {
    struct keywords members, device_members, rank_members;
    bool is_kineto; /* has a member that only Kineto writes */
    bool has_base;
    int64_t base;        /* Unix time of time 0, in nanoseconds */
    unsigned meta_count; /* scalar members written as meta */
};

enum { META_MAX = 64, META_BYTES_MAX = 1024, WARNINGS_MAX = 8 };

enum header_member {
    HEADER_OTHER,
    HEADER_MARK, /* identifies Kineto, and is kept as meta */
    HEADER_DEVICES,
    HEADER_RANKS,
    HEADER_BASE,
    HEADER_HOST,
    HEADER_WARNINGS,
};

static const struct keyword member_list[] = {
    {"schemaVersion", HEADER_MARK, 0},       {"traceName", HEADER_MARK, 0},
    {"cupti_version", HEADER_MARK, 0},       {"roctracer_version", HEADER_MARK, 0},
    {"deviceProperties", HEADER_DEVICES, 0}, {"computeProperties", HEADER_DEVICES, 0},
    {"distributedInfo", HEADER_RANKS, 0},    {"baseTimeNanoseconds", HEADER_BASE, 0},
    {"baseTimeNanosecond", HEADER_BASE, 0},  {"host_name", HEADER_HOST, 0},
    {"WARNING", HEADER_WARNINGS, 0},         {"ERROR", HEADER_WARNINGS, 0},
};

enum device_member {
    DEVICE_ID,
    DEVICE_NAME,
    DEVICE_MEMORY,
    DEVICE_MAJOR,
    DEVICE_MINOR,
    DEVICE_WARP,
    DEVICE_THREADS,
    DEVICE_REGISTERS,
    DEVICE_SHARED,
    DEVICE_MULTIPROCESSORS,
    DEVICE_MEMBERS
};

static const struct keyword device_list[] = {
    {"id", DEVICE_ID, 0},
    {"name", DEVICE_NAME, 0},
    {"totalGlobalMem", DEVICE_MEMORY, 0},
    {"computeMajor", DEVICE_MAJOR, 0},
    {"computeMinor", DEVICE_MINOR, 0},
    {"warpSize", DEVICE_WARP, 0},
    {"maxThreadsPerMultiprocessor", DEVICE_THREADS, 0},
    {"regsPerMultiprocessor", DEVICE_REGISTERS, 0},
    {"sharedMemPerMultiprocessor", DEVICE_SHARED, 0},
    {"numSms", DEVICE_MULTIPROCESSORS, 0},
};

enum rank_member { RANK_RANK, RANK_WORLD, RANK_BACKEND, RANK_NCCL };

static const struct keyword rank_list[] = {
    {"rank", RANK_RANK, 0},
    {"world_size", RANK_WORLD, 0},
    {"backend", RANK_BACKEND, 0},
    {"nccl_version", RANK_NCCL, 0},
};

static void header_init(struct kineto_header *header) {
    *header = (struct kineto_header){0};
    keywords_init(&header->members, member_list, ARRAY_COUNT(member_list));
    keywords_init(&header->device_members, device_list, ARRAY_COUNT(device_list));
    keywords_init(&header->rank_members, rank_list, ARRAY_COUNT(rank_list));
}

static struct text vendor_of(struct text name) {
    static const char *const nvidia[] = {"NVIDIA", "Tesla", "Quadro", "GeForce", "TITAN"};
    static const char *const amd[] = {"AMD", "Radeon", "gfx", "Instinct"};
    for (size_t i = 0; i < ARRAY_COUNT(nvidia); i++)
        if (text_starts(name, nvidia[i]))
            return TEXT("NVIDIA");
    for (size_t i = 0; i < ARRAY_COUNT(amd); i++)
        if (text_starts(name, amd[i]))
            return TEXT("AMD");
    return TEXT("");
}

static const char *read_device(struct kineto_header *header, struct kineto_rows *rows,
                               const char *at, int64_t order) {
    int64_t values[DEVICE_MEMBERS] = {[DEVICE_ID] = order};
    struct scan_string name = {0};
    bool closed;
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        bool is_number = false;
        if (!(at = scan_key(rows->scan, at, &key)))
            return NULL;
        const struct keyword *keyword = keywords_find(&header->device_members, key);
        if (keyword && keyword->kind == DEVICE_NAME && *at == '"')
            at = scan_string(rows->scan, at, &name);
        else if (keyword)
            at = scan_integer(rows->scan, at, &values[keyword->kind], &is_number);
        else
            at = scan_skip(rows->scan, at);
        if (!at || !(at = scan_next_member(rows->scan, at, &closed)))
            return NULL;
    }
    struct row_device row = {
        .name = trace_writer_string(rows->writer, rows_text(rows, &name)),
        .vendor = trace_writer_string(rows->writer, vendor_of(name.raw)),
        .memory_bytes = values[DEVICE_MEMORY] < 0 ? 0 : (uint64_t)values[DEVICE_MEMORY],
        .multiprocessors = clamp_u32(values[DEVICE_MULTIPROCESSORS]),
        .compute_major = clamp_u32(values[DEVICE_MAJOR]),
        .compute_minor = clamp_u32(values[DEVICE_MINOR]),
        .warp_size = clamp_u32(values[DEVICE_WARP]),
        .threads_per_multiprocessor = clamp_u32(values[DEVICE_THREADS]),
        .registers_per_multiprocessor = clamp_u32(values[DEVICE_REGISTERS]),
        .shared_per_multiprocessor = clamp_u32(values[DEVICE_SHARED]),
        .listed = 1,
    };
    struct event_id id = {.number = values[DEVICE_ID]};
    entities_describe_device(&rows->entities, &id, &row);
    return at;
}

static const char *read_devices(struct kineto_header *header, struct kineto_rows *rows,
                                const char *at) {
    if (*at != '[')
        return scan_skip(rows->scan, at);
    at = scan_space(at + 1);
    for (int64_t order = 0; *at != ']'; order++) {
        at = *at == '{' ? read_device(header, rows, at, order) : scan_skip(rows->scan, at);
        if (!at)
            return NULL;
        at = scan_space(at);
        if (*at == ',')
            at = scan_space(at + 1);
        else if (*at != ']')
            return scan_fail(rows->scan, at, "expected a comma or a closing bracket");
    }
    return at + 1;
}

/* Writes a scalar as meta; skips containers. */
static const char *read_meta(struct kineto_rows *rows, const char *at, const char *key) {
    struct scan_string string;
    if (*at == '{' || *at == '[')
        return scan_skip(rows->scan, at);
    const char *after = scan_skip(rows->scan, at);
    if (!after || after - at > META_BYTES_MAX)
        return after;
    struct text value = {at, (size_t)(after - at)};
    if (*at == '"' && scan_string(rows->scan, at, &string))
        value = rows_text(rows, &string);
    trace_writer_meta(rows->writer, key, value);
    return after;
}

static const char *read_ranks(struct kineto_header *header, struct kineto_rows *rows,
                              const char *at) {
    static const char *const keys[] = {
        [RANK_RANK] = META_RANK,
        [RANK_WORLD] = META_WORLD_SIZE,
        [RANK_BACKEND] = "kineto.backend",
        [RANK_NCCL] = "kineto.nccl_version",
    };
    bool closed;
    if (*at != '{')
        return scan_skip(rows->scan, at);
    at = scan_first_member(at, &closed);
    while (!closed) {
        struct text key;
        if (!(at = scan_key(rows->scan, at, &key)))
            return NULL;
        const struct keyword *keyword = keywords_find(&header->rank_members, key);
        at = keyword ? read_meta(rows, at, keys[keyword->kind]) : scan_skip(rows->scan, at);
        if (!at || !(at = scan_next_member(rows->scan, at, &closed)))
            return NULL;
    }
    return at;
}

/* A base that could make sums overflow is ignored with a warning. */
static const char *read_base(struct kineto_header *header, struct kineto_rows *rows,
                             const char *at) {
    int64_t base;
    bool is_number = false;
    const char *after = scan_integer(rows->scan, at, &base, &is_number);
    if (!is_number)
        return after;
    if (base >= 0 && base <= TRACE_TIME_LIMIT) {
        header->base = base;
        header->has_base = true;
    } else {
        trace_writer_meta(rows->writer, META_WARNING,
                          TEXT("baseTimeNanoseconds is out of range and was ignored"));
    }
    return after;
}

/* Warnings and errors of the profiler itself. */
static const char *read_warnings(struct kineto_rows *rows, const char *at) {
    const char *after = scan_skip(rows->scan, at);
    if (!after || *at != '[')
        return after;
    at = scan_space(at + 1);
    for (int i = 0; i < WARNINGS_MAX && at < after && *at == '"'; i++) {
        struct scan_string string;
        if (!(at = scan_string(rows->scan, at, &string)))
            return NULL;
        struct buffer *out = &rows->meta_text;
        struct text message = rows_text(rows, &string);
        if (message.length > META_BYTES_MAX)
            message.length = META_BYTES_MAX;
        buffer_clear(out);
        buffer_string(out, "profiler message: ");
        buffer_text(out, message);
        trace_writer_meta(rows->writer, META_WARNING, buffer_as_text(out));
        at = scan_space(at);
        at = scan_space(*at == ',' ? at + 1 : at);
    }
    return after;
}

static const char *read_header_member(struct kineto_header *header, struct kineto_rows *rows,
                                      enum header_member member, const char *key, const char *at) {
    switch (member) {
    case HEADER_DEVICES:
        return read_devices(header, rows, at);
    case HEADER_RANKS:
        return read_ranks(header, rows, at);
    case HEADER_BASE:
        return read_base(header, rows, at);
    case HEADER_HOST:
        return read_meta(rows, at, META_HOST);
    case HEADER_WARNINGS:
        return read_warnings(rows, at);
    default:
        header->meta_count++;
        return read_meta(rows, at, key);
    }
}

static bool header_read(struct kineto_header *header, struct kineto_rows *rows, struct text key,
                        struct status *status) {
    struct scan *scan = rows->scan;
    const struct keyword *keyword = keywords_find(&header->members, key);
    enum header_member member = keyword ? (enum header_member)keyword->kind : HEADER_OTHER;
    char note[80], byte;
    snprintf(note, sizeof note, "kineto.%.*s", key.length < 64 ? (int)key.length : 64, key.data);
    header->is_kineto |= member != HEADER_OTHER && member != HEADER_HOST;
    if (!scan_peek(scan, &byte, status))
        return false;
    bool scalar = byte != '{' && byte != '[';
    if (member == HEADER_OTHER && (!scalar || header->meta_count >= META_MAX))
        return json_skip(scan, status);

    /* Wait for the whole value: reading it has side effects. */
    const char *after;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "a value", status))
            return false;
    while (!(after = read_header_member(header, rows, member, note, scan->at)))
        if (!scan_more(scan, "a value", status))
            return false;
    scan->at = after;
    return true;
}

/* ---- the document ---- */

/* XLA writes at most this many events to trace.json, without a note when it drops some. */
#define XLA_EVENTS_MAX 1000000

/* Times from 2001 on are taken to be Unix times. */
#define UNIX_TIME_FROM ((int64_t)1000000000 * 1000000000)

struct document {
    struct scan scan;
    struct event_keywords keywords;
    struct kineto_event event;
    struct kineto_header header;
    struct kineto_rows rows;
    struct kineto_samples samples;
    uint64_t events;
    bool has_events; /* traceEvents was present, even if empty */
    int64_t last_time;
    struct buffer key; /* name of a top-level member; padded for keywords_find() */
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

static int kineto_detect(const struct import_source *source) {
    if (source->is_folder || source->head_length == 0)
        return 0;
    size_t at = skip_mark_and_space(source->head, source->head_length);
    if (at == source->head_length)
        return 0;
    if (source->head[at] == '{') {
        if (contains(source, "\"traceEvents\""))
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

/* Some writers end their list with null. */
static bool read_other_element(struct document *document, char byte, struct status *status) {
    if (byte != 'n')
        return scan_unexpected(&document->scan, "an event (an object)", status);
    document->events++;
    return json_skip(&document->scan, status);
}

/* Reads the array of events. `bare`: it is the whole file, and its end may be missing. */
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
                               "is a JSON array, but not of trace events; it is not a "
                               "torch.profiler or Chrome trace");
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

/* Objects with traceEvents may follow one another. */
static bool read_objects(struct document *document, struct status *status) {
    char byte;
    do {
        if (!read_object(document, status))
            return false;
        if (trace_writer_failed(document->rows.writer) || !document->has_events)
            return true;
        if (!scan_peek(&document->scan, &byte, status))
            return false;
    } while (document->scan.at < document->scan.end && byte == '{');
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
    if (byte == '[' ? !read_events(document, true, status) : !read_objects(document, status))
        return false;
    if (trace_writer_failed(document->rows.writer))
        return true;
    if (!document->has_events)
        return status_fail(
            status, STATUS_INPUT,
            "is JSON without traceEvents; it is not a torch.profiler or Chrome trace");
    if (!scan_peek(scan, &byte, status))
        return false;
    return scan->at == scan->end ||
           scan_unexpected(&document->scan, "nothing after the trace's end", status);
}

/* The tool that wrote the file; NULL for Kineto. */
static const char *other_tool(const struct document *document) {
    const struct kineto_rows *rows = &document->rows;
    if (document->header.is_kineto)
        return NULL;
    if (rows->onnx.used)
        return "ONNX Runtime";
    if (rows->unitrace_events)
        return "unitrace";
    if (rows->tensorflow.used)
        return "TensorFlow (timeline)";
    if (rows->rocprof.used)
        return "rocprof (JSON)";
    if (rows->proton_events && rows->proton_events == rows->kineto_events)
        return "Proton (Triton)";
    if (rows->kineto_events)
        return NULL;
    return rows->entities.has_device_processes ? "XLA profiler (JAX or TensorFlow)"
                                               : "unknown (Chrome trace)";
}

static void write_source(struct document *document, struct trace_writer *writer) {
    const struct kineto_header *header = &document->header;
    const char *tool = other_tool(document);
    bool xla = tool && document->rows.entities.has_device_processes;
    bool unix_clock = header->has_base || document->last_time >= UNIX_TIME_FROM;
    if (header->has_base)
        trace_writer_meta_integer(writer, META_CLOCK_OFFSET, header->base);
    trace_writer_meta(writer, META_SOURCE_FORMAT, tool ? TEXT("chrome") : TEXT("kineto"));
    trace_writer_meta(writer, META_SOURCE_TOOL, text_of(tool ? tool : "torch.profiler (Kineto)"));
    trace_writer_meta_integer(writer, "source.events", (int64_t)document->events);
    trace_writer_meta(writer, META_CLOCK_BASE, unix_clock ? TEXT("unix") : TEXT("trace"));
    if (xla && document->rows.complete_events >= XLA_EVENTS_MAX)
        trace_writer_meta(writer, META_WARNING,
                          TEXT("XLA writes at most 1,000,000 events to trace.json, so this file is "
                               "probably incomplete; import the .xplane.pb beside it"));
}

/* A trace without a row would be reported as a run of 0 ns. */
static bool has_rows(const struct document *document, struct status *status) {
    if (document->rows.used_events || trace_writer_failed(document->rows.writer))
        return true;
    if (document->events == 0)
        return status_fail(status, STATUS_INPUT,
                           "has no events; did the program work while it was recorded?");
    return status_fail(status, STATUS_INPUT,
                       "has no event of use: none of its %" PRIu64 " events is work, a range, a "
                       "mark or a counter with a valid time",
                       document->events);
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
    bool ok = (!options->execution_trace ||
               execution_trace_read(&document->rows.execution, options->execution_trace, status)) &&
              read_document(document, status) && rows_ok(&document->rows, status) &&
              has_rows(document, status);
    if (ok) {
        write_source(document, writer);
        kineto_samples_end(&document->samples, writer);
        ok = rows_end(&document->rows, status);
    }
    rows_finish(&document->rows);
    kineto_samples_finish(&document->samples);
    buffer_finish(&document->key);
    scan_close(&document->scan);
    memory_free(document);
    return ok;
}

/* Explains JSON of other profiling tools. */
static bool explain_other_json(const struct import_source *source, struct status *status) {
    if (contains(source, "\"nodes\"") && contains(source, "\"schema\""))
        return status_fail(
            status, STATUS_UNSUPPORTED,
            "is an execution graph (PyTorch or Chakra) without times; pass it with the "
            "Kineto trace of the same run: ridge import TRACE --execution-trace FILE");
    return true;
}

static bool kineto_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    struct input input;
    if (!contains(source, "\"traceEvents\"") && !explain_other_json(source, status))
        return false;
    return input_open(&input, source->path, status) &&
           kineto_import(&input, options, writer, status);
}

const struct importer import_kineto = {
    .format = "kineto",
    .detect = kineto_detect,
    .run = kineto_run,
};
