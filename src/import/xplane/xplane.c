/* JAX and TensorFlow profiles (XSpace, *.xplane.pb).
 *
 * There is a plane for each device and one for the host. On a GPU's plane, the lines "Stream #N"
 * are the work, and all other lines are derived from it. The file is one message whose fields are
 * planes, so it is read plane by plane, and each is decoded in place. An event's time is the line's
 * timestamp in ns plus an offset in ps. Offset and duration are each rounded half to even to ns;
 * the end is the rounded start plus the rounded duration. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/input.h"
#include "base/json_write.h"
#include "import/import.h"
#include "import/xplane/xplane_plane.h"

enum { SPACE_PLANE = 1, SPACE_HOSTNAME = 4, KEY_TYPE = 7, GROUP_START = 3, GROUP_END = 4 };
#define PLANE_BYTES_MAX ((size_t)2 << 30)
/* Larger timestamps are Unix times, smaller ones relative to the start of the profile. */
#define EPOCH_NS ((int64_t)100000000000000000)
/* No GPU has that many registers per thread: the tracer left the field unset. */
enum { REGISTERS_MAX = 1024 };

struct xplane {
    const struct import_options *options;
    struct trace_writer *writer;
    struct status *status;
    struct input *input;
    uint32_t process;
    struct map devices; /* number << 1 | is TPU -> device */
    int64_t latest_timestamp;
    uint64_t profile_start;
    uint64_t events, aggregates, undirected_copies;
};

static bool damaged(struct xplane *import, const unsigned char *at) {
    return status_fail(import->status, STATUS_INPUT,
                       "the protobuf is damaged at byte %llu; copy the file again",
                       (unsigned long long)(import->input->offset +
                                            (uint64_t)(at - (unsigned char *)import->input->data)));
}

/* Without another status, the bytes are damaged. */
static bool failed(struct xplane *import, const unsigned char *damage) {
    return import->status->code == STATUS_OK && damage ? damaged(import, damage) : false;
}

static uint32_t string_of(struct xplane *import, struct text text) {
    return trace_writer_string(import->writer, text);
}

static int64_t nanoseconds(int64_t picoseconds) {
    int64_t whole = picoseconds / 1000, rest = picoseconds % 1000;
    return whole + (rest > 500 || (rest == 500 && whole % 2 != 0));
}

/* False when the time is invalid; *use is then whether to continue without the event. */
static bool event_time(struct xplane *import, const struct xplane_line *line,
                       const struct xplane_event *event, int64_t *start, int64_t *duration,
                       bool *use) {
    *use = true;
    if (event->offset_ps >= 0 && event->duration_ps >= 0 && line->timestamp_ns >= 0 &&
        line->timestamp_ns <= TRACE_TIME_LIMIT) {
        *duration = nanoseconds(event->duration_ps);
        *start = line->timestamp_ns + nanoseconds(event->offset_ps);
        if (*start <= TRACE_TIME_LIMIT - *duration)
            return true;
    }
    *use = false;
    if (import->options->skip_invalid) {
        trace_writer_dropped(import->writer, 1);
        return true;
    }
    return status_fail(
        import->status, STATUS_INPUT,
        "an event of line \"%.*s\" (byte %llu) starts at %lld ns + %lld ps and lasts %lld ps, "
        "which is not a valid time; --skip-invalid drops such events",
        line->name.length > 80 ? 80 : (int)line->name.length, line->name.data,
        (unsigned long long)(import->input->offset +
                             (uint64_t)(event->at - (unsigned char *)import->input->data)),
        (long long)line->timestamp_ns, (long long)event->offset_ps, (long long)event->duration_ps);
}

static const struct xplane_value *stat_of(const struct xplane_event *event, enum xplane_stat stat) {
    return &event->stats.values[stat];
}

/* The value of "key:" in "key:value key:value ..."; "" when absent. */
static struct text pair_value(struct text pairs, const char *key) {
    size_t length = strlen(key);
    while (pairs.length > 0) {
        const char *blank = memchr(pairs.data, ' ', pairs.length);
        size_t word = blank ? (size_t)(blank - pairs.data) : pairs.length;
        if (word > length && memcmp(pairs.data, key, length) == 0 && pairs.data[length] == ':')
            return (struct text){pairs.data + length + 1, word - length - 1};
        pairs.data += word + (blank != NULL);
        pairs.length -= word + (blank != NULL);
    }
    return TEXT("");
}

static uint32_t pair_number(struct text pairs, const char *key) {
    uint64_t number;
    return text_to_u64(pair_value(pairs, key), &number) && number <= UINT32_MAX ? (uint32_t)number
                                                                                : 0;
}

/* "16,16,2" */
static void read_extent(struct text text, uint32_t *x, uint32_t *y, uint32_t *z) {
    uint32_t *parts[] = {x, y, z};
    for (int i = 0; i < 3 && text.length > 0; i++) {
        const char *comma = memchr(text.data, ',', text.length);
        size_t length = comma ? (size_t)(comma - text.data) : text.length;
        uint64_t number;
        if (text_to_u64((struct text){text.data, length}, &number) && number <= UINT32_MAX)
            *parts[i] = (uint32_t)number;
        text.data += length + (comma != NULL);
        text.length -= length + (comma != NULL);
    }
}

static void read_kernel_details(struct text details, struct row_activity *activity) {
    read_extent(pair_value(details, "grid"), &activity->grid_x, &activity->grid_y,
                &activity->grid_z);
    read_extent(pair_value(details, "block"), &activity->block_x, &activity->block_y,
                &activity->block_z);
    uint32_t registers = pair_number(details, "regs");
    if (registers > REGISTERS_MAX)
        return;
    activity->registers = registers;
    activity->shared_static = pair_number(details, "static_shared");
    activity->shared_dynamic = pair_number(details, "dynamic_shared");
    if (activity->shared_static == 0)
        activity->shared_static = pair_number(details, "group_mem");
}

static enum memory_kind memory_named(struct text name) {
    static const struct {
        const char *name;
        enum memory_kind kind;
    } kinds[] = {
        {"pageable", MEMORY_PAGEABLE}, {"pinned", MEMORY_PINNED}, {"host", MEMORY_PAGEABLE},
        {"device", MEMORY_DEVICE},     {"array", MEMORY_ARRAY},   {"managed", MEMORY_MANAGED},
    };
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if (text_is(name, kinds[i].name))
            return kinds[i].kind;
    return MEMORY_UNKNOWN;
}

static bool is_host_memory(unsigned kind) {
    return kind == MEMORY_PAGEABLE || kind == MEMORY_PINNED;
}

static enum copy_direction direction_between(unsigned from, unsigned to) {
    if (from == MEMORY_UNKNOWN || to == MEMORY_UNKNOWN)
        return COPY_UNKNOWN;
    if (is_host_memory(from))
        return is_host_memory(to) ? COPY_HTOH : COPY_HTOD;
    return is_host_memory(to) ? COPY_DTOH : COPY_DTOD;
}

/* Whether the event is a copy, and its kind. A device-side copy of kind "Unknown" cannot be
 * distinguished from the kernel that did it: it stays a kernel and is counted for a warning. */
static bool read_copy(struct xplane *import, const struct xplane_event *event,
                      struct row_activity *activity) {
    const struct xplane_value *details = stat_of(event, XPLANE_memcpy_details);
    struct text kind = pair_value(details->text, "kind");
    enum copy_direction direction;
    enum memory_kind from, to;
    struct text words = {event->name.data, event->name.length < 256 ? event->name.length : 256};
    import_copy_name(words, &direction, &from, &to);
    activity->from_memory = (uint8_t)memory_named(pair_value(details->text, "kind_src"));
    activity->to_memory = (uint8_t)memory_named(pair_value(details->text, "kind_dst"));
    enum copy_direction between = direction_between(activity->from_memory, activity->to_memory);
    if (between != COPY_UNKNOWN)
        direction = between;
    bool crosses = direction == COPY_HTOD || direction == COPY_DTOH || direction == COPY_HTOH;
    bool named = text_starts(event->name, "Memcpy");
    bool told = details->present && kind.length == 0;
    bool directed = details->present && kind.length && !text_is(kind, "Unknown");
    if (!named && !told && !directed && !(details->present && crosses)) {
        import->undirected_copies += details->present;
        return false;
    }
    activity->direction = (uint8_t)direction;
    return true;
}

static void read_bytes(struct text details, struct row_activity *activity) {
    uint64_t bytes;
    activity->bytes = text_to_u64(pair_value(details, "size"), &bytes) ? bytes : BYTES_UNKNOWN;
}

static void classify(struct xplane *import, const struct xplane_event *event,
                     struct row_activity *activity) {
    activity->bytes = BYTES_UNKNOWN;
    if (stat_of(event, XPLANE_memset_details)->present || text_starts(event->name, "Memset")) {
        activity->kind = ACTIVITY_SET;
        read_bytes(stat_of(event, XPLANE_memset_details)->text, activity);
    } else if (read_copy(import, event, activity)) {
        activity->kind = ACTIVITY_COPY;
        read_bytes(stat_of(event, XPLANE_memcpy_details)->text, activity);
    } else {
        activity->kind = ACTIVITY_KERNEL;
        activity->from_memory = activity->to_memory = MEMORY_UNKNOWN;
        read_kernel_details(stat_of(event, XPLANE_kernel_details)->text, activity);
    }
}

/* XLA's metadata of the event as a JSON object; 0 when there is none. */
static uint32_t detail_of(struct xplane *import, const struct xplane_event *event) {
    static const struct {
        const char *key;
        enum xplane_stat stat;
    } members[] = {
        {"hlo_op", XPLANE_hlo_op}, {"hlo_module", XPLANE_hlo_module}, {"tf_op", XPLANE_tf_op},
        {"op_name", XPLANE_name},  {"copy", XPLANE_memcpy_details},
    };
    struct buffer text = {0};
    struct output output = output_into(&text);
    struct json json = {.output = &output};
    bool any = false;
    json_begin_object(&json);
    for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
        struct text value = stat_of(event, members[i].stat)->text;
        if (stat_of(event, members[i].stat)->present && value.length) {
            json_member_text(&json, members[i].key, value);
            any = true;
        }
    }
    json_end_object(&json);
    uint32_t detail = any ? trace_writer_string_of(import->writer, &text) : 0;
    buffer_finish(&text);
    return detail;
}

static bool write_activity(struct xplane *import, const struct xplane_line *line,
                           const struct xplane_event *event, uint32_t queue) {
    struct row_activity activity = {.queue = queue};
    bool use;
    if (!event_time(import, line, event, &activity.start, &activity.duration, &use))
        return false;
    if (!use)
        return true;
    classify(import, event, &activity);
    activity.name = string_of(import, event->name);
    activity.correlation = stat_of(event, XPLANE_correlation_id)->number;
    activity.detail = detail_of(import, event);
    trace_write_activity(import->writer, &activity);
    return true;
}

static bool write_device_range(struct xplane *import, const struct xplane_line *line,
                               const struct xplane_event *event, uint32_t queue) {
    struct row_range range = {.queue = queue, .category = RANGE_DEVICE};
    bool use;
    if (!event_time(import, line, event, &range.start, &range.duration, &use))
        return false;
    if (!use)
        return true;
    range.name = string_of(import, event->name);
    range.domain = string_of(import, line->name);
    range.detail = detail_of(import, event);
    trace_write_range(import->writer, &range);
    return true;
}

enum host_event { HOST_RANGE, HOST_MARK, HOST_CALL, HOST_LAUNCH, HOST_SYNC, HOST_MEMORY };

static bool is_capital(struct text text, size_t at) {
    return text.length > at && text.data[at] >= 'A' && text.data[at] <= 'Z';
}

static bool is_api_name(struct text name) {
    return (text_starts(name, "cuda") && is_capital(name, 4)) ||
           (text_starts(name, "cu") && is_capital(name, 2)) ||
           (text_starts(name, "hip") && is_capital(name, 3));
}

static bool ends_with(struct text text, const char *suffix) {
    size_t length = strlen(suffix);
    return text.length >= length && memcmp(text.data + text.length - length, suffix, length) == 0;
}

/* A host event with a correlation id that is not an API name is a launch, named after its kernel.
 */
static enum host_event host_event(const struct xplane_event *event) {
    if (is_api_name(event->name))
        return HOST_CALL;
    if (stat_of(event, XPLANE_correlation_id)->number)
        return HOST_LAUNCH;
    if (stat_of(event, XPLANE_allocation_bytes)->present)
        return HOST_MEMORY;
    if (text_is(event->name, "BlockHostUntilReady") || ends_with(event->name, "::Await") ||
        ends_with(event->name, " block_until_ready"))
        return HOST_SYNC;
    return event->has_duration ? HOST_RANGE : HOST_MARK;
}

static void write_call(struct xplane *import, const struct xplane_event *event, uint32_t thread,
                       int64_t start, int64_t duration, enum host_event kind) {
    struct row_call call = {.start = start, .duration = duration, .thread = thread};
    call.correlation = stat_of(event, XPLANE_correlation_id)->number;
    call.name = string_of(import, event->name);
    call.class = (uint8_t)import_call_class(event->name);
    if (kind == HOST_SYNC)
        call.class = CALL_SYNC;
    if (kind == HOST_LAUNCH) {
        struct buffer text = {0};
        struct output output = output_into(&text);
        struct json json = {.output = &output};
        json_begin_object(&json);
        json_member_text(&json, "kernel", event->name);
        json_end_object(&json);
        call.class = CALL_LAUNCH;
        call.name = string_of(import, TEXT("kernel launch"));
        call.detail = trace_writer_string_of(import->writer, &text);
        buffer_finish(&text);
    }
    trace_write_call(import->writer, &call);
}

static enum range_category host_category(const struct xplane_event *event) {
    if (text_starts(event->name, "$"))
        return RANGE_PYTHON;
    if (stat_of(event, XPLANE_step_num)->present)
        return RANGE_ANNOTATION;
    return stat_of(event, XPLANE_hlo_op)->present || stat_of(event, XPLANE_tf_op)->present
               ? RANGE_OP
               : RANGE_OTHER;
}

static bool device_numbered(struct xplane *import, struct text label, uint64_t number, bool is_tpu,
                            struct row_device *row, uint32_t *device) {
    uint64_t key = number << 1 | is_tpu;
    const uint64_t *known = map_find(&import->devices, key);
    if (known && !row->listed) {
        *device = (uint32_t)*known;
        return true;
    }
    row->index = (uint32_t)number;
    row->label = string_of(import, label);
    *device = trace_write_device(import->writer, row);
    return map_set(&import->devices, key, *device, import->status);
}

/* The allocator "GPU_6_bfc" manages the memory of GPU 6; others that of the host. */
static bool allocator_device(struct xplane *import, struct text allocator, uint32_t *device) {
    *device = 0;
    uint64_t number;
    if (!text_starts(allocator, "GPU_"))
        return true;
    struct text digits = {allocator.data + 4, allocator.length - 4};
    const char *end = memchr(digits.data, '_', digits.length);
    if (end)
        digits.length = (size_t)(end - digits.data);
    if (!text_to_u64(digits, &number) || number > UINT32_MAX)
        return true;
    char label[48];
    snprintf(label, sizeof label, "/device:GPU:%llu", (unsigned long long)number);
    return device_numbered(import, text_of(label), number, false, &(struct row_device){0}, device);
}

static bool write_memory(struct xplane *import, const struct xplane_event *event, uint32_t thread,
                         int64_t start) {
    struct row_memory memory = {
        .time = start,
        .thread = thread,
        .operation = text_starts(event->name, "MemoryDealloc") ? MEMORY_FREE : MEMORY_ALLOC,
        .bytes = stat_of(event, XPLANE_allocation_bytes)->number,
        .address = stat_of(event, XPLANE_addr)->number,
        .allocated = stat_of(event, XPLANE_bytes_allocated)->number,
        .reserved = stat_of(event, XPLANE_bytes_reserved)->number,
    };
    if (!allocator_device(import, stat_of(event, XPLANE_allocator_name)->text, &memory.device))
        return false;
    trace_write_memory(import->writer, &memory);
    return true;
}

static bool write_host_event(struct xplane *import, const struct xplane_line *line,
                             const struct xplane_event *event, uint32_t thread) {
    int64_t start, duration;
    bool use;
    if (!event_time(import, line, event, &start, &duration, &use))
        return false;
    if (!use)
        return true;
    enum host_event kind = host_event(event);
    switch (kind) {
    case HOST_CALL:
    case HOST_LAUNCH:
    case HOST_SYNC:
        write_call(import, event, thread, start, duration, kind);
        return true;
    case HOST_MEMORY:
        return write_memory(import, event, thread, start);
    case HOST_MARK:
        trace_write_mark(import->writer,
                         &(struct row_mark){.time = start,
                                            .thread = thread,
                                            .name = string_of(import, event->name)});
        return true;
    case HOST_RANGE:
        break;
    }
    trace_write_range(import->writer, &(struct row_range){.start = start,
                                                          .duration = duration,
                                                          .thread = thread,
                                                          .category = (uint8_t)host_category(event),
                                                          .name = string_of(import, event->name),
                                                          .detail = detail_of(import, event)});
    return true;
}

/* The device and the kind of a plane's lines. */
struct place {
    bool is_host, is_tpu;
    uint32_t device;
    int64_t derived_lines; /* so far */
};

static bool is_work(const struct place *place, struct text line) {
    return place->is_tpu ? text_is(line, "XLA Ops") : text_starts(line, "Stream #");
}

/* "Stream #16(Kernel)" is stream 16; the derived lines of a device are -1, -2, ... in their order.
 */
static int64_t stream_number(struct place *place, const struct xplane_line *line) {
    int64_t number = 0;
    size_t at = strlen("Stream #");
    if (!text_starts(line->name, "Stream #"))
        return -++place->derived_lines;
    for (; at < line->name.length && at < 24; at++) {
        char digit = line->name.data[at];
        if (digit < '0' || digit > '9')
            break;
        number = number * 10 + (digit - '0');
    }
    return number;
}

static bool import_line(struct xplane *import, const struct xplane_plane *plane,
                        struct place *place, struct xplane_line *line) {
    struct xplane_event event;
    const unsigned char *damage = NULL;
    uint32_t thread = 0, queue = 0;
    bool work = is_work(place, line->name), ok = true;
    uint32_t name = string_of(import, line->name);
    if (place->is_host)
        thread = trace_write_thread(
            import->writer,
            &(struct row_thread){.process = import->process, .tid = line->id, .name = name});
    else
        queue = trace_write_queue(import->writer,
                                  &(struct row_queue){.device = place->device,
                                                      .stream = stream_number(place, line),
                                                      .name = name});
    if (line->timestamp_ns > import->latest_timestamp)
        import->latest_timestamp = line->timestamp_ns;
    while (ok && xplane_next_event(plane, line, &event, &damage)) {
        if (++import->events % 4096 == 0 && trace_writer_failed(import->writer))
            return true;
        if (event.is_aggregate)
            import->aggregates++;
        else if (place->is_host)
            ok = write_host_event(import, line, &event, thread);
        else
            ok = work ? write_activity(import, line, &event, queue)
                      : write_device_range(import, line, &event, queue);
    }
    return ok && (!damage || damaged(import, damage));
}

static uint64_t plane_number(const struct xplane_plane *plane, enum xplane_stat stat) {
    return plane->stats.values[stat].number;
}

static uint32_t small(uint64_t number) {
    return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static bool import_device(struct xplane *import, const struct xplane_plane *plane, size_t prefix,
                          struct place *place) {
    uint64_t number, kilohertz = plane_number(plane, XPLANE_clock_rate);
    struct text digits = {plane->name.data + prefix, plane->name.length - prefix};
    struct row_device row = {
        .vendor = string_of(import, plane->stats.values[XPLANE_device_vendor].text),
        .memory_bytes = plane_number(plane, XPLANE_memory_size),
        .multiprocessors = small(plane_number(plane, XPLANE_core_count)),
        .clock_hz = kilohertz < 1000000000 ? kilohertz * 1000 : 0,
        .bandwidth = plane_number(plane, XPLANE_memory_bandwidth),
        .compute_major = small(plane_number(plane, XPLANE_compute_cap_major)),
        .compute_minor = small(plane_number(plane, XPLANE_compute_cap_minor)),
        .listed = 1,
    };
    if (!text_to_u64(digits, &number) || number > UINT32_MAX)
        number = import->devices.count;
    return device_numbered(import, plane->name, number, place->is_tpu, &row, &place->device);
}

static bool import_lines(struct xplane *import, const struct xplane_plane *plane,
                         struct place *place) {
    struct protobuf at = protobuf_of(plane->bytes);
    struct xplane_line line;
    const unsigned char *damage = NULL;
    while (xplane_next_line(plane, &at, &line, &damage))
        if (!import_line(import, plane, place, &line))
            return false;
    return !damage || damaged(import, damage);
}

static bool import_plane(struct xplane *import, const struct xplane_plane *plane) {
    struct place place = {0};
    const struct xplane_value *start = &plane->stats.values[XPLANE_profile_start_time];
    if (start->present)
        import->profile_start = start->number;
    if (text_starts(plane->name, "/device:GPU:")) {
        if (!import_device(import, plane, strlen("/device:GPU:"), &place))
            return false;
    } else if (text_starts(plane->name, "/device:TPU:")) {
        place.is_tpu = true;
        if (!import_device(import, plane, strlen("/device:TPU:"), &place))
            return false;
    } else if (text_starts(plane->name, "/host:CPU")) {
        place.is_host = true;
    } else {
        return true;
    }
    return import_lines(import, plane, &place);
}

static bool read_plane(struct xplane *import, struct text bytes) {
    struct xplane_plane plane;
    const unsigned char *damage = NULL;
    bool ok = xplane_plane_read(bytes, &plane, &damage, import->status);
    ok = ok ? import_plane(import, &plane) : failed(import, damage);
    xplane_plane_finish(&plane);
    return ok;
}

/* Loads the next field of the file into the window. False at the end or on failure. Groups are
 * treated as damage: finding their end would need a search after every block. */
static bool next_field(struct xplane *import, struct protobuf_field *field, size_t *length,
                       bool *ended) {
    struct input *input = import->input;
    for (;;) {
        struct protobuf message = protobuf_of((struct text){input->data, input->length});
        *ended = input->at_end && input->length == 0;
        if (*ended)
            return false;
        int type = input->length ? input->data[0] & KEY_TYPE : PROTOBUF_BYTES;
        if (type == GROUP_START || type == GROUP_END)
            return damaged(import, (unsigned char *)input->data);
        if (input->length && protobuf_next(&message, field)) {
            *length = (size_t)(message.at - (unsigned char *)input->data);
            return true;
        }
        if (input->at_end)
            return status_fail(import->status, STATUS_INPUT,
                               "the protobuf is cut off or damaged in the part that begins at byte "
                               "%llu; copy the file again",
                               (unsigned long long)input->offset);
        if (!input_more(input, PLANE_BYTES_MAX, import->status))
            return status_context(import->status, "a plane of more than 2 GiB");
    }
}

static bool read_space(struct xplane *import) {
    struct protobuf_field field;
    size_t length = 0;
    bool ended = false, ok = true, has_host = false;
    while (ok && next_field(import, &field, &length, &ended)) {
        if (field.number == SPACE_PLANE && field.type == PROTOBUF_BYTES)
            ok = read_plane(import, field.bytes);
        else if (field.number == SPACE_HOSTNAME && field.type == PROTOBUF_BYTES && !has_host) {
            trace_writer_meta(import->writer, META_HOST, field.bytes);
            has_host = true;
        }
        input_consume(import->input, length);
    }
    return ok && ended;
}

static void write_clock(struct xplane *import) {
    bool is_relative = import->latest_timestamp < EPOCH_NS;
    bool has_start = import->profile_start > 0 && import->profile_start < TRACE_TIME_LIMIT;
    trace_writer_meta(import->writer, META_CLOCK_BASE,
                      !is_relative || has_start ? TEXT("unix") : TEXT("trace"));
    if (is_relative && has_start)
        trace_writer_meta_integer(import->writer, META_CLOCK_OFFSET,
                                  (int64_t)import->profile_start);
}

static void write_counts(struct xplane *import) {
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->events);
    if (import->aggregates)
        trace_writer_meta_integer(import->writer, "xplane.aggregated_events",
                                  (int64_t)import->aggregates);
    if (import->undirected_copies == 0)
        return;
    struct buffer warning = {0};
    buffer_printf(&warning, "device copies of unknown kind, counted as kernels: %llu",
                  (unsigned long long)import->undirected_copies);
    trace_writer_meta_of(import->writer, META_WARNING, &warning);
    buffer_finish(&warning);
}

static bool xplane_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    struct input input;
    struct xplane import = {
        .options = options, .writer = writer, .status = status, .input = &input};
    if (!input_open(&input, source->path, status))
        return false;
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("xplane"));
    trace_writer_meta(writer, META_SOURCE_TOOL, TEXT("XLA profiler"));
    import.process = trace_write_process(
        writer, &(struct row_process){.name = string_of(&import, TEXT("host"))});
    bool ok = read_space(&import);
    if (ok) {
        write_clock(&import);
        write_counts(&import);
    }
    map_finish(&import.devices);
    input_close(&input);
    return ok;
}

/* The name of the first plane; the rest of it may be missing. */
static struct text first_plane_name(struct text head) {
    struct protobuf message = protobuf_of(head);
    struct protobuf_field field;
    uint64_t key, length;
    if (!protobuf_varint(&message, &key) || key != (SPACE_PLANE << 3 | PROTOBUF_BYTES) ||
        !protobuf_varint(&message, &length))
        return TEXT("");
    if (length < (size_t)(message.end - message.at))
        message.end = message.at + length;
    for (int fields = 0; fields < 3 && protobuf_next(&message, &field); fields++)
        if (field.number == 2 && field.type == PROTOBUF_BYTES)
            return field.bytes;
    return TEXT("");
}

static int xplane_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    if (source->is_folder || head.length == 0)
        return 0;
    struct text name = first_plane_name(head);
    return text_starts(name, "/device:") || text_starts(name, "/host:") ||
                   text_is(name, "Task Environment")
               ? 3
               : 0;
}

const struct importer import_xplane = {"xplane", xplane_detect, xplane_run, NULL};
