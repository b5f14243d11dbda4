/* What does an event of a Chrome trace mean? Kineto says it by the category, XLA by the names of
 * processes and threads, other tools not at all: theirs become plain ranges, marks and counters.
 *
 * Rules that come from the format: device and stream are args.device and args.stream where present,
 * else pid and tid; annotations on a stream overlap its kernels and are ranges, never work; the
 * profiler's own "Trace" span is dropped; flow arrows repeat what correlation ids say.
 */
#include "import/kineto/kineto_rows.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/checksum.h"
#include "import/kineto/kineto_own.h"
#include "import/kineto/kineto_xla.h"

void rows_init(struct kineto_rows *rows, struct scan *scan, struct trace_writer *writer,
               const struct import_options *options) {
    rows->scan = scan;
    rows->writer = writer;
    rows->options = options;
    rows->details.writer = writer;
    places_init(&rows->places, writer);
}

void rows_finish(struct kineto_rows *rows) {
    places_finish(&rows->places);
    open_ranges_finish(&rows->open);
    buffer_finish(&rows->name_text);
    buffer_finish(&rows->note_text);
    details_finish(&rows->details);
}

struct text rows_text(struct kineto_rows *rows, const struct scan_string *string) {
    if (!string->escaped)
        return string->raw;
    buffer_clear(&rows->name_text);
    scan_decode(string->raw, &rows->name_text);
    rows->out_of_memory |= rows->name_text.failed;
    return buffer_as_text(&rows->name_text);
}

uint32_t rows_string(struct kineto_rows *rows, const struct scan_string *string) {
    return trace_writer_string(rows->writer, rows_text(rows, string));
}

static const struct name_fact *facts_of(struct kineto_rows *rows, uint32_t id, struct text name) {
    struct name_fact *fact = &rows->name_facts[id % NAME_FACTS];
    if (fact->name != id) {
        enum copy_direction direction;
        enum memory_kind from, to;
        import_copy_name(name, &direction, &from, &to);
        *fact = (struct name_fact){id, (uint8_t)import_call_class(name), (uint8_t)direction,
                                   (uint8_t)from, (uint8_t)to};
    }
    return fact;
}

uint8_t rows_call_class(struct kineto_rows *rows, const struct kineto_event *event) {
    struct text name = rows_text(rows, &event->name);
    return facts_of(rows, trace_writer_string(rows->writer, name), name)->class;
}

static struct event_id device_of(const struct kineto_event *event) {
    if (event_has(event, NUMBER_DEVICE))
        return (struct event_id){.number = event->numbers[NUMBER_DEVICE]};
    return event->process;
}

/* Both spellings of "no stream" in 32 and 64 bits. */
static int64_t stream_number(int64_t number) {
    return number == UINT32_MAX ? -1 : number;
}

static uint32_t queue_of(struct kineto_rows *rows, const struct kineto_event *event) {
    struct event_id device = device_of(event), stream = event->thread;
    if (event_has(event, NUMBER_STREAM))
        stream = (struct event_id){.number = stream_number(event->numbers[NUMBER_STREAM])};
    return places_queue(&rows->places, &device, &stream, event_unsigned(event, NUMBER_CONTEXT));
}

static uint64_t bytes_of(const struct kineto_event *event) {
    bool known = event_has(event, NUMBER_BYTES) && event->numbers[NUMBER_BYTES] >= 0;
    return known ? (uint64_t)event->numbers[NUMBER_BYTES] : BYTES_UNKNOWN;
}

static void describe_copy(struct kineto_rows *rows, const struct kineto_event *event,
                          struct row_activity *row) {
    const struct name_fact *fact = facts_of(rows, row->name, event->name.raw);
    row->direction = fact->direction;
    row->from_memory = fact->from;
    row->to_memory = fact->to;
    row->bytes = bytes_of(event);
    struct text kind = event_word(event, WORD_KIND);
    if (row->direction == COPY_UNKNOWN && kind.length) {
        enum copy_direction direction;
        enum memory_kind from, to;
        import_copy_name(kind, &direction, &from, &to);
        row->direction = (uint8_t)direction;
        row->from_memory = (uint8_t)from;
        row->to_memory = (uint8_t)to;
    }
    xla_read_copy(event_word(event, WORD_COPY_DETAILS), row);
}

void rows_shape(const struct kineto_event *event, struct row_activity *row) {
    if (event->has_grid) {
        row->grid_x = event->grid[0];
        row->grid_y = event->grid[1];
        row->grid_z = event->grid[2];
    }
    if (event->has_block) {
        row->block_x = event->block[0];
        row->block_y = event->block[1];
        row->block_z = event->block[2];
    }
}

static void describe_kernel(const struct kineto_event *event, struct row_activity *row) {
    rows_shape(event, row);
    row->registers = event_u32(event, NUMBER_REGISTERS);
    row->shared_static = event_u32(event, NUMBER_SHARED);
    row->graph = event_u32(event, NUMBER_GRAPH);
    row->bytes = BYTES_UNKNOWN;
    xla_read_kernel(event_word(event, WORD_KERNEL_DETAILS), row);
}

static void add_activity(struct kineto_rows *rows, const struct kineto_event *event,
                         enum activity_kind kind, uint32_t queue) {
    struct row_activity row = {
        .start = event->start,
        .duration = event->duration,
        .queue = queue,
        .kind = (uint8_t)kind,
        .name = rows_string(rows, &event->name),
        .correlation = event_unsigned(event, NUMBER_CORRELATION),
    };
    if (kind == ACTIVITY_KERNEL)
        describe_kernel(event, &row);
    else if (kind == ACTIVITY_COPY)
        describe_copy(rows, event, &row);
    else
        row.bytes = bytes_of(event);
    if (event->detail_count)
        row.detail = details_chosen(&rows->details, event, DETAIL_COLLECTIVE | DETAIL_XLA);
    trace_write_activity(rows->writer, &row);
}

static enum wait_kind wait_kind_named(struct text name) {
    if (text_is(name, "Event Sync"))
        return WAIT_EVENT;
    if (text_is(name, "Stream Wait Event"))
        return WAIT_STREAM_EVENT;
    if (text_is(name, "Stream Sync"))
        return WAIT_STREAM;
    if (text_is(name, "Context Sync"))
        return WAIT_CONTEXT;
    return WAIT_UNKNOWN;
}

enum wait_kind rows_wait_kind(const struct kineto_event *event) {
    struct text kind = event_word(event, WORD_SYNC_KIND);
    return wait_kind_named(kind.length ? kind : event->name.raw);
}

static void add_wait(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_wait row = {
        .start = event->start,
        .duration = event->duration,
        .queue = queue_of(rows, event),
        .kind = (uint8_t)rows_wait_kind(event),
        .correlation = event_unsigned(event, NUMBER_CORRELATION),
        .event = event_unsigned(event, NUMBER_WAIT_EVENT),
        .record_correlation = event_unsigned(event, NUMBER_WAIT_RECORD),
    };
    int64_t awaited = stream_number(event->numbers[NUMBER_WAIT_STREAM]);
    if (event_has(event, NUMBER_WAIT_STREAM) && awaited >= 0) {
        struct event_id device = device_of(event), stream = {.number = awaited};
        row.awaited =
            places_queue(&rows->places, &device, &stream, event_unsigned(event, NUMBER_CONTEXT));
    }
    trace_write_wait(rows->writer, &row);
}

uint32_t rows_thread(struct kineto_rows *rows, const struct event_id *process,
                     const struct event_id *thread) {
    bool nowhere = rows->own && process->word.length == 0 && process->number == OWN_NOWHERE;
    return nowhere ? 0 : places_thread(&rows->places, process, thread);
}

static uint32_t thread_of(struct kineto_rows *rows, const struct kineto_event *event) {
    return rows_thread(rows, &event->process, &event->thread);
}

/* Without a suffix such as _v7000. */
static struct text unversioned(struct text name) {
    size_t end = name.length;
    while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
        end--;
    bool versioned =
        end < name.length && end > 2 && name.data[end - 1] == 'v' && name.data[end - 2] == '_';
    return versioned ? (struct text){name.data, end - 2} : name;
}

static void add_call(struct kineto_rows *rows, const struct kineto_event *event) {
    struct text name = unversioned(rows_text(rows, &event->name));
    uint32_t id = trace_writer_string(rows->writer, name);
    rows->cuda_calls += text_starts(name, "cu");
    rows->hip_calls += text_starts(name, "hip");
    struct row_call row = {
        .start = event->start,
        .duration = event->duration,
        .thread = thread_of(rows, event),
        .name = id,
        .class = facts_of(rows, id, name)->class,
        .correlation = event_unsigned(event, NUMBER_CORRELATION),
    };
    trace_write_call(rows->writer, &row);
}

static uint32_t domain_of(struct kineto_rows *rows, const struct kineto_event *event) {
    return rows_string(rows, &event->category_text);
}

static struct row_range range_of(struct kineto_rows *rows, const struct kineto_event *event,
                                 enum range_category category) {
    return (struct row_range){
        .start = event->start,
        .duration = event->duration,
        .name = rows_string(rows, &event->name),
        .category = (uint8_t)category,
    };
}

static void add_host_range(struct kineto_rows *rows, const struct kineto_event *event,
                           enum range_category category) {
    struct row_range row = range_of(rows, event, category);
    row.thread = thread_of(rows, event);
    if (event->detail_count)
        row.detail = details_chosen(&rows->details, event, DETAIL_INPUT | DETAIL_COLLECTIVE);
    trace_write_range(rows->writer, &row);
}

static void add_device_range(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_range row = range_of(rows, event, RANGE_DEVICE);
    row.queue = queue_of(rows, event);
    if (!text_is(event->category_text.raw, "gpu_user_annotation"))
        row.domain = domain_of(rows, event);
    if (event->detail_count)
        row.detail = details_chosen(&rows->details, event, DETAIL_COLLECTIVE);
    trace_write_range(rows->writer, &row);
}

/* The profiler has no thread of its own: pid -1. */
static void add_overhead(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_range row = range_of(rows, event, RANGE_OVERHEAD);
    if (event->process.number >= 0 && event->process.word.length == 0)
        row.thread = thread_of(rows, event);
    trace_write_range(rows->writer, &row);
}

static struct row_range other_range(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_range row = range_of(rows, event, RANGE_OTHER);
    row.thread = thread_of(rows, event);
    row.domain = domain_of(rows, event);
    row.detail = details_whole(&rows->details, event);
    return row;
}

static void add_other_range(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_range row = other_range(rows, event);
    trace_write_range(rows->writer, &row);
}

static void add_mark(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_mark row = {
        .time = event->start,
        .thread = thread_of(rows, event),
        .name = rows_string(rows, &event->name),
        .domain = domain_of(rows, event),
        .detail = details_whole(&rows->details, event),
    };
    trace_write_mark(rows->writer, &row);
}

/* Device Type 0 is the host; a size below zero is a release. */
struct row_memory rows_memory(struct kineto_rows *rows, const struct kineto_event *event) {
    int64_t bytes = event->numbers[NUMBER_MEMORY_BYTES];
    struct row_memory row = {
        .time = event->start,
        .thread = thread_of(rows, event),
        .operation = bytes < 0 ? MEMORY_FREE : MEMORY_ALLOC,
        .bytes = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes,
        .address = event_unsigned(event, NUMBER_MEMORY_ADDRESS),
        .allocated = event_unsigned(event, NUMBER_MEMORY_ALLOCATED),
        .reserved = event_unsigned(event, NUMBER_MEMORY_RESERVED),
    };
    if (event_unsigned(event, NUMBER_MEMORY_DEVICE_TYPE) != 0) {
        struct event_id device = {.number = (int64_t)event_unsigned(event, NUMBER_MEMORY_DEVICE)};
        row.device = places_device(&rows->places, &device);
    }
    return row;
}

static void add_memory(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_memory row = rows_memory(rows, event);
    trace_write_memory(rows->writer, &row);
}

static void add_instant(struct kineto_rows *rows, const struct kineto_event *event) {
    if (event_has(event, NUMBER_MEMORY_BYTES) && text_is(event->name.raw, "[memory]"))
        add_memory(rows, event);
    else
        add_mark(rows, event);
}

static uint32_t counter_name(struct kineto_rows *rows, const struct kineto_event *event,
                             struct text series) {
    struct text name = rows_text(rows, &event->name);
    if (text_is(series, "value") || text_equal(series, name))
        return trace_writer_string(rows->writer, name);
    struct buffer *out = &rows->note_text;
    buffer_clear(out);
    buffer_text(out, name);
    buffer_byte(out, ' ');
    buffer_text(out, series);
    rows->out_of_memory |= out->failed;
    return trace_writer_string(rows->writer, buffer_as_text(out));
}

static void add_counters(struct kineto_rows *rows, const struct kineto_event *event) {
    struct scan *scan = rows->scan;
    if (event->args.length == 0)
        return;
    const char *at = scan_space(event->args.data + 1), *end = event->args.data + event->args.length;
    while (at < end && *at == '"') {
        struct scan_string series;
        double value;
        bool is_number = false;
        if (!(at = scan_string(scan, at, &series)))
            return;
        at = scan_space(at);
        if (*at != ':' || !(at = scan_double(scan, scan_space(at + 1), &value, &is_number)))
            return;
        if (is_number) {
            struct row_counter row = {.time = event->start, .value = value};
            row.name = counter_name(rows, event, series.raw);
            trace_write_counter(rows->writer, &row);
        }
        at = scan_space(at);
        at = scan_space(*at == ',' ? at + 1 : at);
    }
}

static uint64_t async_key(const struct kineto_event *event) {
    const struct text *parts[] = {&event->category_text.raw, &event->id, &event->id2,
                                  &event->scope};
    uint64_t key = 1;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        key = hash_u64(key + i) ^
              (parts[i]->length ? checksum64(parts[i]->data, parts[i]->length) : 0);
    if (event->id2.length && text_find(event->id2, "local") >= 0)
        key += hash_u64((uint64_t)event->process.number + 1);
    return key;
}

static uint64_t pair_key(struct kineto_rows *rows, const struct kineto_event *event) {
    if (event->phase == 'B' || event->phase == 'E')
        return hash_u64((uint64_t)thread_of(rows, event) | (uint64_t)1 << 40);
    return async_key(event);
}

static bool begin_range(struct kineto_rows *rows, const struct kineto_event *event,
                        struct status *status) {
    struct row_range row = other_range(rows, event);
    return open_ranges_begin(&rows->open, pair_key(rows, event), &row, status);
}

static bool invalid(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
                    uint64_t number, const char *why, struct status *status) {
    if (rows->options->skip_invalid) {
        trace_writer_dropped(rows->writer, 1);
        return true;
    }
    struct text name = event->name.raw;
    if (name.length > 60)
        name.length = 60;
    return status_fail(status, STATUS_INPUT,
                       "event %" PRIu64 " (%.*s) at byte %" PRIu64
                       " %s; --skip-invalid drops such events",
                       number, TEXT_ARGS(name), offset, why);
}

/* Why the event's times cannot be used, or NULL. */
static const char *time_trouble(const struct kineto_event *event) {
    if (!event->has_start)
        return "has no time (ts)";
    if (!event->start_ok)
        return "has a time (ts) that is not a number or too large";
    if (event->start < 0)
        return "starts before time zero (ts)";
    if (event->start > TRACE_TIME_LIMIT)
        return "has a time (ts) beyond 73 years";
    if (!event->has_duration)
        return NULL;
    if (!event->duration_ok)
        return "has a duration (dur) that is not a number or too large";
    if (event->duration < 0)
        return "has a negative duration (dur)";
    if (event->duration > TRACE_TIME_LIMIT - event->start)
        return "ends beyond 73 years";
    return NULL;
}

static bool end_range(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
                      uint64_t number, struct status *status) {
    struct row_range row;
    if (!open_ranges_end(&rows->open, pair_key(rows, event), &row)) {
        rows->unpaired_ends++;
        return true;
    }
    if (event->start < row.start)
        return invalid(rows, event, offset, number, "ends a range before it began (ts)", status);
    row.duration = event->start - row.start;
    trace_write_range(rows->writer, &row);
    return true;
}

/* Events without a category in a file where processes stand for devices: XLA's trace.json. */
static void add_xla(struct kineto_rows *rows, const struct kineto_event *event) {
    struct place_device place = places_device_of(&rows->places, &event->process, &event->thread);
    struct text name = event->name.raw;
    if (place.is_stream) {
        struct event_id device = {.number = place.device}, stream = {.number = place.stream};
        uint32_t queue = places_queue(&rows->places, &device, &stream, 0);
        bool copy = event->has_word >> WORD_COPY_DETAILS & 1 || text_starts(name, "Memcpy") ||
                    (place.copies && !text_starts(name, "Memset"));
        add_activity(rows, event,
                     copy                          ? ACTIVITY_COPY
                     : text_starts(name, "Memset") ? ACTIVITY_SET
                                                   : ACTIVITY_KERNEL,
                     queue);
    } else if (place.on_device) {
        struct row_range row = other_range(rows, event);
        row.category = RANGE_DEVICE;
        trace_write_range(rows->writer, &row);
    } else if (event_has(event, NUMBER_CORRELATION) || import_call_class(name) != CALL_OTHER) {
        add_call(rows, event);
    } else {
        add_other_range(rows, event);
    }
}

static void add_complete(struct kineto_rows *rows, const struct kineto_event *event) {
    switch (event->category) {
    case CATEGORY_KERNEL:
        add_activity(rows, event, ACTIVITY_KERNEL, queue_of(rows, event));
        return;
    case CATEGORY_COPY:
        add_activity(rows, event, ACTIVITY_COPY, queue_of(rows, event));
        return;
    case CATEGORY_SET:
        add_activity(rows, event, ACTIVITY_SET, queue_of(rows, event));
        return;
    case CATEGORY_CALL:
        add_call(rows, event);
        return;
    case CATEGORY_SYNC:
        add_wait(rows, event);
        return;
    case CATEGORY_OP:
        add_host_range(rows, event, RANGE_OP);
        return;
    case CATEGORY_ANNOTATION:
        add_host_range(rows, event, RANGE_ANNOTATION);
        return;
    case CATEGORY_PYTHON:
        add_host_range(rows, event, RANGE_PYTHON);
        return;
    case CATEGORY_DEVICE_RANGE:
        add_device_range(rows, event);
        return;
    case CATEGORY_OVERHEAD:
        add_overhead(rows, event);
        return;
    case CATEGORY_TRACE:
        return;
    case CATEGORY_NONE:
        if (rows->places.has_device_processes) {
            add_xla(rows, event);
            return;
        }
        break;
    default:
        break;
    }
    if (event->has_duration)
        add_other_range(rows, event);
    else
        add_mark(rows, event);
}

/* Kineto labels its devices' processes "GPU 0": their names are the host process's. */
static void add_metadata(struct kineto_rows *rows, const struct kineto_event *event) {
    if (rows->own || !(event->has_word >> WORD_NAME & 1))
        return;
    struct text name = rows_text(rows, &event->words[WORD_NAME]);
    if (text_is(event->name.raw, "process_name"))
        places_name_process(&rows->places, &event->process, name);
    else if (text_is(event->name.raw, "thread_name"))
        places_name_thread(&rows->places, &event->process, &event->thread, name);
}

static bool add_timed(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
                      uint64_t number, struct status *status) {
    switch (event->phase) {
    case 'X':
        rows->complete_events++;
        rows->kineto_events += event->category > CATEGORY_UNKNOWN;
        add_complete(rows, event);
        return true;
    case 'B':
    case 'b':
    case 'S':
        return begin_range(rows, event, status);
    case 'E':
    case 'e':
    case 'F':
        return end_range(rows, event, offset, number, status);
    case 'C':
        add_counters(rows, event);
        return true;
    default:
        add_instant(rows, event);
        return true;
    }
}

bool rows_add(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
              uint64_t number, struct status *status) {
    switch (event->phase) {
    case 'M':
        add_metadata(rows, event);
        return true;
    case 's': /* flow arrows */
    case 't':
    case 'f':
    case 0: /* XLA ends its list with an empty object */
        return true;
    case 'X':
        if (event->category == CATEGORY_TRACE && !rows->own)
            return true;
        break;
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F':
    case 'C':
    case 'i':
    case 'I':
    case 'R':
    case 'n':
        break;
    default:
        rows->unused_events++;
        return true;
    }
    const char *trouble = time_trouble(event);
    if (trouble)
        return invalid(rows, event, offset, number, trouble, status);
    bool taken = rows->own && own_add(rows, event);
    if (!taken && !add_timed(rows, event, offset, number, status))
        return false;
    if (rows->places.failed) {
        *status = rows->places.why;
        return false;
    }
    return true;
}

bool rows_ok(const struct kineto_rows *rows, struct status *status) {
    return !(rows->out_of_memory || rows->details.out_of_memory) || status_no_memory(status);
}

static void warn(struct kineto_rows *rows, uint64_t count, const char *what) {
    if (count == 0)
        return;
    buffer_clear(&rows->note_text);
    buffer_printf(&rows->note_text, "%" PRIu64 " %s", count, what);
    trace_writer_meta(rows->writer, META_WARNING, buffer_as_text(&rows->note_text));
}

void rows_end(struct kineto_rows *rows) {
    warn(rows, rows->open.open, "ranges were begun and never ended; they are left out");
    warn(rows, rows->unpaired_ends, "ends of ranges have no begin; they are left out");
    warn(rows, rows->unused_events, "events are of kinds (ph) that ridge has no use for");
    trace_writer_dropped(rows->writer, rows->open.open + rows->unpaired_ends);
    if (rows->own)
        return;
    if (rows->hip_calls > rows->cuda_calls)
        places_set_vendor(&rows->places, TEXT("AMD"));
    else if (rows->cuda_calls)
        places_set_vendor(&rows->places, TEXT("NVIDIA"));
}
