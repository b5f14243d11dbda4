/* Turns events of a Chrome trace into rows. Kineto classifies events by category, XLA by the names
 * of processes and threads; events of other tools become plain ranges, marks and counters.
 *
 * Device and stream are args.device and args.stream where present, else pid and tid. Annotations on
 * a stream overlap its kernels, so they are ranges and never device work. The profiler's own
 * "Trace" span and flow arrows, which repeat the correlation ids, are skipped.
 *
 * Details are JSON objects: compact, valid, and stored once per distinct content. A cache by hash
 * of the source text avoids composing the same object for every event. */
#include "import/kineto/kineto_rows.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/memory.h"

/* ---- ranges whose begin and end are two events ---- */

struct open_range {
    struct row_range row;
    size_t below; /* index + 1 of the range below it on the stack, or of the next free one */
};

static bool open_ranges_begin(struct open_ranges *ranges, uint64_t key, const struct row_range *row,
                              struct status *status) {
    size_t index = ranges->free;
    if (index) {
        index--;
    } else {
        if (!GROW(ranges->ranges, &ranges->capacity, ranges->count + 1, status))
            return false;
        index = ranges->count;
    }
    uint64_t *top = map_find(&ranges->top, key);
    size_t below = top ? (size_t)*top : 0;
    if (!map_set(&ranges->top, key, index + 1, status))
        return false;
    if (index == ranges->count)
        ranges->count++;
    else
        ranges->free = ranges->ranges[index].below;
    ranges->ranges[index] = (struct open_range){*row, below};
    ranges->open++;
    return true;
}

static bool open_ranges_end(struct open_ranges *ranges, uint64_t key, struct row_range *row) {
    uint64_t *top = map_find(&ranges->top, key);
    if (!top || *top == 0)
        return false;
    size_t index = (size_t)*top - 1;
    *row = ranges->ranges[index].row;
    *top = ranges->ranges[index].below;
    ranges->ranges[index].below = ranges->free;
    ranges->free = index + 1;
    ranges->open--;
    return true;
}

static void open_ranges_finish(struct open_ranges *ranges) {
    map_finish(&ranges->top);
    memory_free(ranges->ranges);
    *ranges = (struct open_ranges){0};
}

/* ---- arguments as details ---- */

enum { DETAIL_BYTES_MAX = 64 * 1024 };

static void details_finish(struct details *details) {
    buffer_finish(&details->text);
}

static uint32_t details_store(struct details *details, uint64_t hash) {
    struct text text = buffer_as_text(&details->text);
    details->out_of_memory |= details->text.failed;
    bool valid = !details->text.failed && text.length <= DETAIL_BYTES_MAX &&
                 text_utf8_valid(text) == text.length;
    uint32_t string = valid ? trace_writer_string(details->writer, text) : 0;
    details->facts[hash % DETAIL_CACHE] = (struct detail_entry){hash, string};
    return string;
}

/* The canonical spelling of keys that older versions spell differently. */
static const char *detail_key(const struct keyword *key) {
    return strcmp(key->word, "Input dims") == 0 ? "Input Dims" : key->word;
}

static uint32_t details_of_groups(struct details *details, const struct kineto_event *event,
                                  unsigned groups) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < event->detail_count; i++) {
        const struct event_detail *detail = &event->details[i];
        if (detail->key->slot & groups)
            hash = hash_u64(hash + (uintptr_t)detail->key) ^
                   checksum64(detail->value.data, detail->value.length);
    }
    if (hash == 0)
        return 0;
    const struct detail_entry *known = &details->facts[hash % DETAIL_CACHE];
    if (known->hash == hash)
        return known->string;

    struct buffer *out = &details->text;
    buffer_clear(out);
    for (unsigned i = 0; i < event->detail_count; i++) {
        const struct event_detail *detail = &event->details[i];
        if (!(detail->key->slot & groups))
            continue;
        size_t before = out->length;
        buffer_printf(out, "%c\"%s\":", before ? ',' : '{', detail_key(detail->key));
        if (!scan_compact(detail->value, out))
            out->length = before;
    }
    if (out->length)
        buffer_byte(out, '}');
    return details_store(details, hash);
}

static uint32_t details_of_args(struct details *details, const struct kineto_event *event) {
    if (event->args.length <= 2 || event->args.length > DETAIL_BYTES_MAX)
        return 0;
    uint64_t hash = checksum64(event->args.data, event->args.length);
    const struct detail_entry *known = &details->facts[hash % DETAIL_CACHE];
    if (known->hash == hash)
        return known->string;
    buffer_clear(&details->text);
    if (!scan_compact(event->args, &details->text))
        buffer_clear(&details->text);
    return details_store(details, hash);
}

uint32_t rows_detail(struct kineto_rows *rows, const struct kineto_event *event) {
    return details_of_args(&rows->details, event);
}

uint32_t rows_detail_of(struct kineto_rows *rows, const struct kineto_event *event,
                        unsigned groups) {
    return details_of_groups(&rows->details, event, groups);
}

/* ---- XLA's descriptions of kernels and copies ---- */

/* Takes the next "key:value" off `rest`; false at the end. */
static bool next_xla_pair(struct text *rest, struct text *key, struct text *value) {
    const char *at = rest->data, *end = at + rest->length;
    while (at < end && *at == ' ')
        at++;
    const char *stop = at;
    while (stop < end && *stop != ' ')
        stop++;
    *rest = (struct text){stop, (size_t)(end - stop)};
    const char *colon = memchr(at, ':', (size_t)(stop - at));
    if (at == stop)
        return false;
    if (!colon)
        colon = stop;
    *key = (struct text){at, (size_t)(colon - at)};
    *value = colon == stop ? TEXT("") : (struct text){colon + 1, (size_t)(stop - colon) - 1};
    return true;
}

static uint32_t number(struct text value) {
    uint64_t n;
    return text_to_u64(value, &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
}

static void read_xla_triple(struct text value, uint32_t *x, uint32_t *y, uint32_t *z) {
    uint32_t *parts[3] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        const char *comma = memchr(value.data, ',', value.length);
        size_t length = comma ? (size_t)(comma - value.data) : value.length;
        *parts[i] = number((struct text){value.data, length});
        if (!comma)
            return;
        value = (struct text){comma + 1, value.length - length - 1};
    }
}

static void read_xla_kernel(struct text details, struct row_activity *row) {
    struct text key, value;
    while (next_xla_pair(&details, &key, &value)) {
        if (text_is(key, "grid"))
            read_xla_triple(value, &row->grid_x, &row->grid_y, &row->grid_z);
        else if (text_is(key, "block"))
            read_xla_triple(value, &row->block_x, &row->block_y, &row->block_z);
        else if (text_is(key, "regs"))
            row->registers = number(value);
        else if (text_is(key, "static_shared") || text_is(key, "group_mem"))
            row->shared_static = number(value);
        else if (text_is(key, "dynamic_shared"))
            row->shared_dynamic = number(value);
    }
}

static enum memory_kind memory_named(struct text word) {
    static const struct {
        const char *word;
        enum memory_kind kind;
    } words[] = {
        {"pageable", MEMORY_PAGEABLE}, {"pinned", MEMORY_PINNED},   {"device", MEMORY_DEVICE},
        {"array", MEMORY_ARRAY},       {"managed", MEMORY_MANAGED},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (text_is(word, words[i].word))
            return words[i].kind;
    return MEMORY_UNKNOWN;
}

static bool is_host_memory(enum memory_kind kind) {
    return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

static void read_xla_copy(struct text details, struct row_activity *row) {
    struct text key, value;
    while (next_xla_pair(&details, &key, &value)) {
        if (text_is(key, "kind_src"))
            row->from_memory = (uint8_t)memory_named(value);
        else if (text_is(key, "kind_dst"))
            row->to_memory = (uint8_t)memory_named(value);
        else if (text_is(key, "size") && !text_to_u64(value, &row->bytes))
            row->bytes = BYTES_UNKNOWN;
    }
    if (row->direction == COPY_UNKNOWN && row->from_memory && row->to_memory) {
        bool from_host = is_host_memory(row->from_memory), to_host = is_host_memory(row->to_memory);
        row->direction =
            from_host ? (to_host ? COPY_HTOH : COPY_HTOD) : (to_host ? COPY_DTOH : COPY_DTOD);
    }
}

/* ---- rows ---- */

void rows_init(struct kineto_rows *rows, struct scan *scan, struct trace_writer *writer,
               const struct import_options *options) {
    rows->scan = scan;
    rows->writer = writer;
    rows->options = options;
    rows->details.writer = writer;
    entities_init(&rows->entities, writer);
}

void rows_finish(struct kineto_rows *rows) {
    entities_finish(&rows->entities);
    open_ranges_finish(&rows->open);
    tensorflow_finish(&rows->tensorflow);
    rocprof_finish(&rows->rocprof);
    buffer_finish(&rows->name_text);
    buffer_finish(&rows->meta_text);
    details_finish(&rows->details);
    execution_trace_finish(&rows->execution);
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

static const struct name_info *name_info_of(struct kineto_rows *rows, uint32_t id,
                                            struct text name) {
    struct name_info *info = &rows->name_cache[id % NAME_CACHE];
    if (info->name != id) {
        enum copy_direction direction;
        enum memory_kind from, to;
        import_copy_name(name, &direction, &from, &to);
        *info = (struct name_info){id, (uint8_t)import_call_class(name), (uint8_t)direction,
                                   (uint8_t)from, (uint8_t)to};
    }
    return info;
}

/* ONNX Runtime names no device: its GPU rows have the process -1. */
static struct event_id device_of(const struct kineto_rows *rows, const struct kineto_event *event) {
    if (event_has(event, NUMBER_DEVICE))
        return (struct event_id){.number = event->numbers[NUMBER_DEVICE]};
    return rows->onnx.used ? (struct event_id){0} : event->process;
}

/* UINT32_MAX means "no stream" too. */
static int64_t stream_number(int64_t number) {
    return number == UINT32_MAX ? -1 : number;
}

uint32_t rows_queue(struct kineto_rows *rows, const struct kineto_event *event) {
    struct event_id device = device_of(rows, event), stream = event->thread;
    if (event_has(event, NUMBER_STREAM))
        stream = (struct event_id){.number = stream_number(event->numbers[NUMBER_STREAM])};
    return entities_queue(&rows->entities, &device, &stream, event_unsigned(event, NUMBER_CONTEXT));
}

static uint64_t bytes_of(const struct kineto_event *event) {
    bool known = event_has(event, NUMBER_BYTES) && event->numbers[NUMBER_BYTES] >= 0;
    return known ? (uint64_t)event->numbers[NUMBER_BYTES] : BYTES_UNKNOWN;
}

static void describe_copy(struct kineto_rows *rows, const struct kineto_event *event,
                          struct row_activity *row) {
    const struct name_info *info = name_info_of(rows, row->name, event->name.raw);
    row->direction = info->direction;
    row->from_memory = info->from;
    row->to_memory = info->to;
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
    read_xla_copy(event_word(event, WORD_COPY_DETAILS), row);
}

static void read_shape(const struct kineto_event *event, struct row_activity *row) {
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
    read_shape(event, row);
    row->registers = event_u32(event, NUMBER_REGISTERS);
    row->shared_static = event_u32(event, NUMBER_SHARED);
    row->graph = event_u32(event, NUMBER_GRAPH);
    row->bytes = BYTES_UNKNOWN;
    read_xla_kernel(event_word(event, WORD_KERNEL_DETAILS), row);
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
        row.detail = details_of_groups(&rows->details, event,
                                       DETAIL_COLLECTIVE | DETAIL_XLA | DETAIL_PROTON);
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

static enum wait_kind wait_kind_of(const struct kineto_event *event) {
    struct text kind = event_word(event, WORD_SYNC_KIND);
    return wait_kind_named(kind.length ? kind : event->name.raw);
}

static void add_wait(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_wait row = {
        .start = event->start,
        .duration = event->duration,
        .queue = rows_queue(rows, event),
        .kind = (uint8_t)wait_kind_of(event),
        .correlation = event_unsigned(event, NUMBER_CORRELATION),
        .event = event_unsigned(event, NUMBER_WAIT_EVENT),
        .record_correlation = event_unsigned(event, NUMBER_WAIT_RECORD),
    };
    int64_t awaited = stream_number(event->numbers[NUMBER_WAIT_STREAM]);
    if (event_has(event, NUMBER_WAIT_STREAM) && awaited >= 0) {
        struct event_id device = device_of(rows, event), stream = {.number = awaited};
        row.awaited = entities_queue(&rows->entities, &device, &stream,
                                     event_unsigned(event, NUMBER_CONTEXT));
    }
    trace_write_wait(rows->writer, &row);
}

static uint32_t thread_of(struct kineto_rows *rows, const struct kineto_event *event) {
    return entities_thread(&rows->entities, &event->process, &event->thread);
}

/* Removes a suffix such as _v7000. */
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
        .class = name_info_of(rows, id, name)->class,
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
    if (event_has(event, NUMBER_SEQUENCE) && event->numbers[NUMBER_SEQUENCE] >= 0)
        row.sequence = (uint64_t)event->numbers[NUMBER_SEQUENCE] + 1;
    if (event->detail_count)
        row.detail = details_of_groups(&rows->details, event, DETAIL_INPUT | DETAIL_COLLECTIVE);
    trace_write_range(rows->writer, &row);
}

static bool has_shapes(const struct kineto_event *event) {
    for (unsigned i = 0; i < event->detail_count; i++)
        if (strcmp(detail_key(event->details[i].key), "Input Dims") == 0)
            return true;
    return false;
}

/* An operator without shapes, recorded without record_shapes, gets those of its node in the
 * execution trace. */
static void add_operator(struct kineto_rows *rows, const struct kineto_event *event) {
    static const struct keyword dims = {"Input Dims", 0, DETAIL_INPUT},
                                type = {"Input type", 0, DETAIL_INPUT};
    struct text shapes, types;
    struct kineto_event complete = *event;
    if (rows->execution.nodes.count > 0 && event_has(event, NUMBER_RECORD_FUNCTION) &&
        !has_shapes(event) && event->detail_count + 2 <= EVENT_DETAILS_MAX &&
        execution_trace_find(&rows->execution, (uint64_t)event->numbers[NUMBER_RECORD_FUNCTION],
                             &shapes, &types)) {
        complete.details[complete.detail_count++] = (struct event_detail){&dims, shapes};
        if (types.length)
            complete.details[complete.detail_count++] = (struct event_detail){&type, types};
        rows->shapes_added++;
    }
    add_host_range(rows, &complete, RANGE_OP);
}

static void add_gpu_annotation(struct kineto_rows *rows, const struct kineto_event *event) {
    struct row_range row = range_of(rows, event, RANGE_DEVICE);
    row.queue = rows_queue(rows, event);
    if (!text_is(event->category_text.raw, "gpu_user_annotation"))
        row.domain = domain_of(rows, event);
    if (event->detail_count)
        row.detail = details_of_groups(&rows->details, event, DETAIL_COLLECTIVE);
    trace_write_range(rows->writer, &row);
}

/* The profiler's own overhead has pid -1 and no thread. */
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
    row.detail = details_of_args(&rows->details, event);
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
        .detail = details_of_args(&rows->details, event),
    };
    trace_write_mark(rows->writer, &row);
}

/* Device Type 0 is the host; a negative size is a release. */
static void add_memory(struct kineto_rows *rows, const struct kineto_event *event) {
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
        row.device = entities_device(&rows->entities, &device);
    }
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
    struct buffer *out = &rows->meta_text;
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
            rows->used_events++;
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

/* What is wrong with the event's times, or NULL. */
static const char *time_error(const struct kineto_event *event) {
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
        rows->unmatched_ends++;
        return true;
    }
    if (event->start < row.start)
        return invalid(rows, event, offset, number, "ends a range before it began (ts)", status);
    row.duration = event->start - row.start;
    rows->used_events++;
    trace_write_range(rows->writer, &row);
    return true;
}

/* An event of XLA's trace.json: no category, and processes that are devices. */
static void add_xla(struct kineto_rows *rows, const struct kineto_event *event) {
    struct xla_track place = entities_xla_track(&rows->entities, &event->process, &event->thread);
    struct text name = event->name.raw;
    if (place.is_stream) {
        struct event_id device = {.number = place.device}, stream = {.number = place.stream};
        uint32_t queue = entities_queue(&rows->entities, &device, &stream, 0);
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

static void add_kernel(struct kineto_rows *rows, const struct kineto_event *event) {
    enum activity_kind kind = rows->onnx.used ? onnx_kind(rows, event) : ACTIVITY_KERNEL;
    for (unsigned i = 0; i < event->detail_count; i++)
        rows->proton_events += event->details[i].key->slot == DETAIL_PROTON;
    add_activity(rows, event, kind, rows_queue(rows, event));
}

/* Events of tools other than Kineto; *known is false if a row like any other is due. */
static bool add_of_tool(struct kineto_rows *rows, const struct kineto_event *event, bool *known,
                        struct status *status) {
    *known = false;
    if (event->category == CATEGORY_TENSORFLOW_OP)
        return tensorflow_add(rows, event, known, status);
    if (event->category == CATEGORY_ONNX_SESSION)
        *known = onnx_add_session(rows, event);
    else if (event->category == CATEGORY_ONNX_NODE)
        *known = onnx_add_node(rows, event);
    else if (event->category == CATEGORY_UNITRACE_OP) {
        unitrace_add(rows, event);
        *known = true;
    } else if (event->category == CATEGORY_OP && unitrace_is_call(event->name.raw)) {
        add_call(rows, event);
        *known = true;
    }
    return true;
}

static bool add_rocprof(struct kineto_rows *rows, const struct kineto_event *event) {
    struct kineto_event exact = *event;
    bool is_call;
    if (!rows->rocprof.used || !rocprof_add(rows, &exact, &is_call))
        return false;
    if (is_call)
        add_call(rows, &exact);
    return true;
}

static void add_complete(struct kineto_rows *rows, const struct kineto_event *event) {
    switch (event->category) {
    case CATEGORY_KERNEL:
        add_kernel(rows, event);
        return;
    case CATEGORY_COPY:
        add_activity(rows, event, ACTIVITY_COPY, rows_queue(rows, event));
        return;
    case CATEGORY_SET:
        add_activity(rows, event, ACTIVITY_SET, rows_queue(rows, event));
        return;
    case CATEGORY_CALL:
        add_call(rows, event);
        return;
    case CATEGORY_SYNC:
        add_wait(rows, event);
        return;
    case CATEGORY_OP:
        add_operator(rows, event);
        return;
    case CATEGORY_ANNOTATION:
        add_host_range(rows, event, RANGE_ANNOTATION);
        return;
    case CATEGORY_PYTHON:
        add_host_range(rows, event, RANGE_PYTHON);
        return;
    case CATEGORY_DEVICE_RANGE:
        add_gpu_annotation(rows, event);
        return;
    case CATEGORY_OVERHEAD:
        add_overhead(rows, event);
        return;
    case CATEGORY_TRACE:
        return;
    case CATEGORY_NONE:
        if (add_rocprof(rows, event))
            return;
        if (rows->entities.has_device_processes) {
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

/* Kineto names the processes of its devices after the host process and labels them "GPU 0". */
static bool add_metadata(struct kineto_rows *rows, const struct kineto_event *event,
                         struct status *status) {
    if (!(event->has_word >> WORD_NAME & 1))
        return true;
    struct text name = rows_text(rows, &event->words[WORD_NAME]);
    if (text_is(event->name.raw, "process_name")) {
        bool timeline;
        if (!tensorflow_name(&rows->tensorflow, &event->process, name, &timeline, status))
            return false;
        if (!rocprof_name(&rows->rocprof, &event->process, name, status))
            return false;
        entities_name_process(&rows->entities, &event->process, name, !timeline);
    } else if (text_is(event->name.raw, "thread_name")) {
        entities_name_thread(&rows->entities, &event->process, &event->thread, name);
    }
    return true;
}

static bool add_timed(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
                      uint64_t number, struct status *status) {
    bool known;
    switch (event->phase) {
    case 'X':
        rows->complete_events++;
        rows->used_events++;
        rows->kineto_events +=
            event->category > CATEGORY_UNKNOWN && event->category < CATEGORY_TENSORFLOW_OP;
        if (!add_of_tool(rows, event, &known, status))
            return false;
        if (!known)
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
        rows->used_events++;
        add_instant(rows, event);
        return true;
    }
}

bool rows_add(struct kineto_rows *rows, const struct kineto_event *event, uint64_t offset,
              uint64_t number, struct status *status) {
    switch (event->phase) {
    case 'M':
        return add_metadata(rows, event, status);
    case 's': /* flow arrows */
    case 't':
    case 'f':
    case 0: /* XLA ends its list with an empty object */
        return true;
    case 'X':
        if (event->category == CATEGORY_TRACE)
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
        rows->unsupported_events++;
        return true;
    }
    const char *error = time_error(event);
    if (error)
        return invalid(rows, event, offset, number, error, status);
    if (!add_timed(rows, event, offset, number, status))
        return false;
    if (rows->entities.failed) {
        *status = rows->entities.why;
        return false;
    }
    return true;
}

bool rows_ok(const struct kineto_rows *rows, struct status *status) {
    return !(rows->out_of_memory || rows->details.out_of_memory) || status_no_memory(status);
}

static void warn_count(struct kineto_rows *rows, uint64_t count, const char *what) {
    if (count == 0)
        return;
    buffer_clear(&rows->meta_text);
    buffer_printf(&rows->meta_text, "%s: %" PRIu64, what, count);
    trace_writer_meta(rows->writer, META_WARNING, buffer_as_text(&rows->meta_text));
}

bool rows_end(struct kineto_rows *rows, struct status *status) {
    if (!tensorflow_end(rows, status))
        return false;
    onnx_end(rows);
    warn_count(rows, rows->open.open, "skipped ranges without an end event");
    warn_count(rows, rows->unmatched_ends, "skipped range ends without a begin event");
    warn_count(rows, rows->unsupported_events, "skipped events of unsupported phases (ph)");
    trace_writer_dropped(rows->writer, rows->open.open + rows->unmatched_ends);
    if (rows->hip_calls > rows->cuda_calls)
        entities_set_vendor(&rows->entities, TEXT("AMD"));
    else if (rows->cuda_calls)
        entities_set_vendor(&rows->entities, TEXT("NVIDIA"));
    return true;
}
