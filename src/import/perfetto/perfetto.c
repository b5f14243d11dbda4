/* Perfetto traces (.pftrace): track events become ranges, marks and counters; perfetto_gpu.c turns
 * GPU render stages into activities, perfetto_system.c reads the scheduler and CPU samples. Packets
 * are read in file order, in which the events of one
 * track must be ordered by time.
 *
 * Clocks: a packet can use any clock that a snapshot relates to the trace's own (boot time, unless
 * a snapshot names another); the latest snapshot before the packet counts. Clocks of a sequence can
 * use other units and increments.
 *
 * Tracks: every track with slices becomes a thread; one that is not a thread gets a negative tid.
 * Slices of a track nest: an end closes the innermost open one. */
#include "import/perfetto/perfetto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/input.h"
#include "base/memory.h"

enum {
    PACKET_MAX = 256 << 20,   /* bytes of one packet */
    UNPACKED_MAX = 512 << 20, /* bytes of a decompressed packet */
};

uint32_t perfetto_name(const struct perfetto_sequence *sequence, enum name_kind kind,
                       uint64_t interned) {
    const uint64_t *known = map_find(&sequence->names[kind], interned);
    return known ? (uint32_t)*known : 0;
}

bool perfetto_intern(struct perfetto_import *import, struct text text, uint32_t *id) {
    if (import->texts.count == 0 && !intern_add(&import->texts, TEXT(""), id, import->status))
        return false;
    return intern_add(&import->texts, text, id, import->status);
}

uint32_t perfetto_string(struct perfetto_import *import, uint32_t text) {
    return trace_writer_string(import->writer, intern_text(&import->texts, text));
}

struct perfetto_track *perfetto_track(struct perfetto_import *import, uint64_t uuid) {
    uint64_t *known = map_find(&import->track_by_uuid, uuid);
    if (known)
        return &import->tracks[*known];
    if (!GROW(import->tracks, &import->track_capacity, import->track_count + 1, import->status) ||
        !map_set(&import->track_by_uuid, uuid, import->track_count, import->status))
        return NULL;
    struct perfetto_track *track = &import->tracks[import->track_count++];
    *track = (struct perfetto_track){.uuid = uuid};
    return track;
}

void perfetto_annotation(struct perfetto_import *import, const struct perfetto_sequence *sequence,
                         struct text bytes, struct perfetto_annotation *annotation) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    *annotation = (struct perfetto_annotation){.text = TEXT("")};
    while (protobuf_next(&message, &field)) {
        if (field.number == ANNOTATION_NAME_ID) {
            annotation->name =
                perfetto_name(sequence, NAME_ANNOTATION, (uint64_t)protobuf_integer(&field));
        } else if (field.number == ANNOTATION_NAME) {
            if (!perfetto_intern(import, protobuf_text(&field), &annotation->name))
                return;
        } else if (field.number == ANNOTATION_STRING) {
            annotation->field = ANNOTATION_STRING;
            annotation->text = protobuf_text(&field);
        } else if (field.number == ANNOTATION_STRING_ID) {
            annotation->field = ANNOTATION_STRING_ID;
            annotation->text =
                intern_text(&import->texts, perfetto_name(sequence, NAME_STRING,
                                                          (uint64_t)protobuf_integer(&field)));
        } else if (field.number >= ANNOTATION_BOOL && field.number <= ANNOTATION_DOUBLE &&
                   field.type != PROTOBUF_BYTES) {
            annotation->field = field.number;
            annotation->bits = field.value;
        }
    }
}

static const char *time_fault(int64_t time, int64_t duration) {
    if (time > TRACE_TIME_LIMIT || time < -TRACE_TIME_LIMIT)
        return "a time that is out of range";
    if (duration < 0)
        return "a negative duration";
    return duration > TRACE_TIME_LIMIT ? "a duration that is out of range" : NULL;
}

bool perfetto_check_times(struct perfetto_import *import, enum trace_table table, int64_t time,
                          int64_t duration, bool *drop) {
    const char *fault = time_fault(time, duration);
    *drop = fault != NULL;
    if (!fault)
        return true;
    if (!import->options->skip_invalid)
        return status_fail(import->status, STATUS_INPUT,
                           "the %s in the packet at byte %" PRIu64 " has %s; --skip-invalid drops "
                           "such events",
                           trace_tables[table].name, import->offset, fault);
    trace_writer_dropped(import->writer, 1);
    return true;
}

/* ---- clocks ---- */

enum {
    CLOCK_REALTIME_ID = 1,
    CLOCK_BOOTTIME_ID = 6,
    CLOCK_SCOPED_FIRST = 64, /* clocks of one sequence */
    CLOCK_SCOPED_LAST = 127,

    SNAPSHOT_CLOCK = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,
    CLOCK_INCREMENTAL = 3,
    CLOCK_MULTIPLIER = 4,
};

static uint64_t clock_key(uint64_t sequence, uint64_t clock) {
    bool scoped = clock >= CLOCK_SCOPED_FIRST && clock <= CLOCK_SCOPED_LAST;
    return (scoped ? sequence + 1 : 0) << 32 | (clock & UINT32_MAX);
}

static struct perfetto_clock *find_clock(struct perfetto_import *import, uint64_t key, bool add) {
    uint64_t *known = map_find(&import->clock_by_id, key);
    if (known)
        return &import->clocks[*known];
    if (!add ||
        !GROW(import->clocks, &import->clock_capacity, import->clock_count + 1, import->status) ||
        !map_set(&import->clock_by_id, key, import->clock_count, import->status))
        return NULL;
    struct perfetto_clock *clock = &import->clocks[import->clock_count++];
    *clock = (struct perfetto_clock){.multiplier = 1};
    return clock;
}

struct snapshot_clock {
    uint64_t id, time, multiplier;
    bool incremental;
};

static struct snapshot_clock read_snapshot_clock(struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct snapshot_clock clock = {.multiplier = 1};
    while (protobuf_next(&message, &field)) {
        uint64_t value = (uint64_t)protobuf_integer(&field);
        if (field.number == CLOCK_ID)
            clock.id = value;
        else if (field.number == CLOCK_TIME)
            clock.time = value;
        else if (field.number == CLOCK_INCREMENTAL)
            clock.incremental = value != 0;
        else if (field.number == CLOCK_MULTIPLIER && value > 0)
            clock.multiplier = value;
    }
    return clock;
}

/* The time of the trace's clock in a snapshot; false when it has none. */
static bool snapshot_reference(struct text bytes, uint64_t primary, uint64_t *time) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    bool found = false;
    while (protobuf_next(&message, &field)) {
        if (field.number != SNAPSHOT_CLOCK)
            continue;
        struct snapshot_clock clock = read_snapshot_clock(protobuf_text(&field));
        if (clock.id == primary) {
            *time = clock.time * clock.multiplier;
            found = true;
        }
    }
    return found;
}

static bool perfetto_read_snapshot(struct perfetto_import *import, uint64_t sequence,
                                   struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t reference = 0;
    while (protobuf_next(&message, &field))
        if (field.number == SNAPSHOT_PRIMARY && import->primary_clock == 0)
            import->primary_clock = (uint64_t)protobuf_integer(&field);
    uint64_t primary = import->primary_clock ? import->primary_clock : CLOCK_BOOTTIME_ID;
    if (!snapshot_reference(bytes, primary, &reference))
        return true;
    message = protobuf_of(bytes);
    while (protobuf_next(&message, &field)) {
        if (field.number != SNAPSHOT_CLOCK)
            continue;
        struct snapshot_clock seen = read_snapshot_clock(protobuf_text(&field));
        struct perfetto_clock *clock = find_clock(import, clock_key(sequence, seen.id), true);
        if (!clock)
            return false;
        clock->multiplier = seen.multiplier;
        clock->incremental = seen.incremental;
        clock->last = seen.time;
        clock->offset = (int64_t)(reference - seen.time * seen.multiplier);
        if (seen.id == CLOCK_REALTIME_ID && !import->has_realtime) {
            import->realtime = (int64_t)(seen.time - reference);
            import->has_realtime = true;
        }
    }
    return true;
}

/* Sums wrap around; the checks of rows catch impossible times. */
static int64_t perfetto_time(struct perfetto_import *import, uint64_t sequence, uint64_t clock_id,
                             uint64_t value) {
    uint64_t primary = import->primary_clock ? import->primary_clock : CLOCK_BOOTTIME_ID;
    if (clock_id == 0 || clock_id == primary)
        return (int64_t)value;
    struct perfetto_clock *clock = find_clock(import, clock_key(sequence, clock_id), false);
    if (!clock) {
        import->unknown_clock = true;
        return (int64_t)value;
    }
    if (clock->incremental)
        value = clock->last += value;
    return (int64_t)(value * clock->multiplier + (uint64_t)clock->offset);
}

/* ---- track events ---- */

static uint32_t thread_of(struct perfetto_import *import, struct perfetto_track *track) {
    uint32_t name = track->name;
    if (track->thread && (track->named || !name))
        return track->thread;
    uint64_t pid = track->pid;
    uint64_t *parent = map_find(&import->track_by_uuid, track->parent);
    if (!track->is_thread && !track->is_process && parent)
        pid = import->tracks[*parent].pid;
    uint32_t process_name = 0;
    if (parent && import->tracks[*parent].is_process)
        process_name = import->tracks[*parent].name;
    uint32_t process = trace_write_process(
        import->writer,
        &(struct row_process){.pid = pid, .name = perfetto_string(import, process_name)});
    struct row_thread row = {.process = process, .tid = track->tid};
    char unnamed[40];
    if (!track->is_thread)
        row.tid = -1 - (int64_t)(track - import->tracks);
    snprintf(unnamed, sizeof unnamed, "track %" PRIu64, track->uuid);
    row.name = name               ? perfetto_string(import, name)
               : track->is_thread ? 0
                                  : trace_writer_string(import->writer, text_of(unnamed));
    track->thread = trace_write_thread(import->writer, &row);
    track->named = name != 0;
    return track->thread;
}

static void json_escaped(struct buffer *json, struct text text) {
    buffer_byte(json, '"');
    while (text.length > 0) {
        size_t valid = text_utf8_valid(text);
        for (size_t i = 0; i < valid; i++) {
            unsigned char c = (unsigned char)text.data[i];
            if (c == '"' || c == '\\')
                buffer_printf(json, "\\%c", c);
            else if (c < 0x20)
                buffer_printf(json, "\\u%04x", c);
            else
                buffer_byte(json, (char)c);
        }
        if (valid < text.length) {
            buffer_string(json, "\xEF\xBF\xBD");
            valid++;
        }
        text = (struct text){text.data + valid, text.length - valid};
    }
    buffer_byte(json, '"');
}

static void json_value(struct buffer *json, const struct perfetto_annotation *value) {
    double number;
    switch (value->field) {
    case ANNOTATION_BOOL:
        buffer_string(json, value->bits ? "true" : "false");
        break;
    case ANNOTATION_INT:
        buffer_printf(json, "%" PRId64, (int64_t)value->bits);
        break;
    case ANNOTATION_DOUBLE:
        memcpy(&number, &value->bits, sizeof number);
        if (isfinite(number))
            buffer_printf(json, "%.17g", number);
        else
            buffer_string(json, "null");
        break;
    case ANNOTATION_STRING:
    case ANNOTATION_STRING_ID:
        json_escaped(json, value->text);
        break;
    default:
        buffer_printf(json, "%" PRIu64, value->bits);
    }
}

/* The scalar annotations as a JSON object: a string id, 0 when there are none. */
static uint32_t detail_of(struct perfetto_import *import, const struct perfetto_packet *packet,
                          const struct perfetto_event *event) {
    struct protobuf message = protobuf_of(event->message);
    struct protobuf_field field;
    struct buffer *json = &import->json;
    buffer_clear(json);
    while (protobuf_next(&message, &field)) {
        struct perfetto_annotation value;
        if (field.number != EVENT_ANNOTATION || field.type != PROTOBUF_BYTES)
            continue;
        perfetto_annotation(import, packet->sequence, field.bytes, &value);
        if (value.field == 0)
            continue;
        buffer_byte(json, json->length ? ',' : '{');
        json_escaped(json, intern_text(&import->texts, value.name));
        buffer_byte(json, ':');
        json_value(json, &value);
    }
    if (json->length == 0 || json->failed)
        return 0;
    buffer_byte(json, '}');
    return trace_writer_string(import->writer, buffer_as_text(json));
}

static bool write_slice(struct perfetto_import *import, struct perfetto_track *track,
                        const struct open_slice *slice, int64_t duration) {
    bool drop, on_device = slice->kind == SLICE_KERNEL || slice->kind == SLICE_COPY;
    uint32_t thread = on_device ? 0 : thread_of(import, track);
    if (slice->kind != SLICE_RANGE)
        return perfetto_rocm_write(import, track, thread, slice, duration);
    struct row_range row = {
        .start = slice->start,
        .duration = duration,
        .thread = thread,
        .name = slice->name,
        .category = RANGE_ANNOTATION,
        .domain = slice->domain,
        .detail = slice->detail,
    };
    if (!perfetto_check_times(import, TABLE_RANGE, row.start, duration, &drop))
        return false;
    if (!drop)
        trace_write_range(import->writer, &row);
    return true;
}

static bool begin_slice(struct perfetto_import *import, struct perfetto_track *track,
                        const struct open_slice *slice) {
    if (!GROW(track->open, &track->capacity, track->depth + 1, import->status))
        return false;
    track->open[track->depth++] = *slice;
    return true;
}

static bool end_slice(struct perfetto_import *import, struct perfetto_track *track, int64_t time) {
    if (track->depth == 0) {
        import->without_begin++; /* it began before the recording */
        return true;
    }
    const struct open_slice *slice = &track->open[--track->depth];
    int64_t duration;
    if (__builtin_sub_overflow(time, slice->start, &duration))
        duration = INT64_MAX;
    return write_slice(import, track, slice, duration);
}

static bool write_mark(struct perfetto_import *import, uint32_t thread,
                       const struct open_slice *mark) {
    bool drop;
    struct row_mark row = {
        .time = mark->start,
        .thread = thread,
        .name = mark->name,
        .domain = mark->domain,
        .detail = mark->detail,
    };
    if (!perfetto_check_times(import, TABLE_MARK, row.time, 0, &drop))
        return false;
    if (!drop)
        trace_write_mark(import->writer, &row);
    return true;
}

static bool write_counter(struct perfetto_import *import, const struct perfetto_event *event,
                          const struct perfetto_track *track, int64_t time) {
    bool drop;
    struct row_counter row = {
        .time = time,
        .name = perfetto_string(import, track->name ? track->name : event->name),
        .value = event->value,
    };
    if (!perfetto_check_times(import, TABLE_COUNTER, time, 0, &drop))
        return false;
    if (!drop)
        trace_write_counter(import->writer, &row);
    return true;
}

/* The event type of a legacy phase; 0: unsupported. */
static unsigned type_of_phase(int32_t phase) {
    switch (phase) {
    case 'B':
        return TYPE_BEGIN;
    case 'E':
        return TYPE_END;
    case 'I':
    case 'i':
    case 'R':
        return TYPE_INSTANT;
    default:
        return 0;
    }
}

static bool perfetto_track_event(struct perfetto_import *import,
                                 const struct perfetto_packet *packet,
                                 const struct perfetto_event *event) {
    struct perfetto_track *track = perfetto_track(import, event->track);
    if (!track)
        return false;
    import->has_events = true;
    unsigned type = event->type ? event->type : type_of_phase(event->phase);
    if (type == TYPE_COUNTER)
        return !event->has_value || write_counter(import, event, track, packet->time);
    if (type == TYPE_END)
        return end_slice(import, track, packet->time);
    bool complete = type == 0 && event->phase == 'X';
    if (type != TYPE_BEGIN && type != TYPE_INSTANT && !complete)
        return true;
    struct open_slice slice = {
        .start = packet->time,
        .name = perfetto_string(import, event->name),
        .domain = perfetto_string(import, event->category),
        .detail = detail_of(import, packet, event),
        .text = event->name,
    };
    perfetto_rocm_read(import, packet, event, &slice);
    if (import->json.failed)
        return status_no_memory(import->status);
    if (type == TYPE_BEGIN)
        return begin_slice(import, track, &slice);
    if (type == TYPE_INSTANT)
        return write_mark(import, thread_of(import, track), &slice);
    int64_t duration;
    if (__builtin_mul_overflow(event->duration_us, (int64_t)1000, &duration))
        duration = INT64_MAX;
    return write_slice(import, track, &slice, duration);
}

static bool perfetto_close_slices(struct perfetto_import *import) {
    for (size_t i = 0; i < import->track_count; i++) {
        struct perfetto_track *track = &import->tracks[i];
        while (track->depth > 0) {
            const struct open_slice *slice = &track->open[--track->depth];
            int64_t until = import->last_time > slice->start ? import->last_time : slice->start;
            import->without_end++;
            if (!write_slice(import, track, slice, until - slice->start))
                return false;
        }
    }
    return true;
}

/* ---- packets ---- */

static struct perfetto_sequence *find_sequence(struct perfetto_import *import, uint64_t id) {
    uint64_t *known = map_find(&import->sequence_by_id, id);
    if (known)
        return &import->sequences[*known];
    if (!GROW(import->sequences, &import->sequence_capacity, import->sequence_count + 1,
              import->status) ||
        !map_set(&import->sequence_by_id, id, import->sequence_count, import->status))
        return NULL;
    struct perfetto_sequence *sequence = &import->sequences[import->sequence_count++];
    memset(sequence, 0, sizeof *sequence);
    return sequence;
}

static void clear_names(struct perfetto_sequence *sequence) {
    for (unsigned kind = 0; kind < NAME_KINDS; kind++)
        map_finish(&sequence->names[kind]);
    sequence->default_track = sequence->default_clock = 0;
}

static bool read_interned_entry(struct perfetto_import *import, struct perfetto_sequence *sequence,
                                enum name_kind kind, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t id = 0;
    struct text name = TEXT("");
    while (protobuf_next(&message, &field)) {
        if (field.number == INTERNED_ENTRY_ID)
            id = (uint64_t)protobuf_integer(&field);
        else if (field.number == INTERNED_ENTRY_TEXT)
            name = protobuf_text(&field);
    }
    uint32_t text;
    return perfetto_intern(import, name, &text) &&
           map_set(&sequence->names[kind], id, text, import->status);
}

static bool read_interned(struct perfetto_import *import, struct perfetto_sequence *sequence,
                          struct text bytes) {
    static const struct {
        uint32_t field;
        enum name_kind kind;
    } kinds[] = {
        {INTERNED_CATEGORIES, NAME_CATEGORY},         {INTERNED_NAMES, NAME_EVENT},
        {INTERNED_ANNOTATION_NAMES, NAME_ANNOTATION}, {INTERNED_STRINGS, NAME_STRING},
        {INTERNED_GPU_SPECIFICATIONS, NAME_GPU},      {INTERNED_KERNELS, NAME_KERNEL},
        {INTERNED_FUNCTIONS, NAME_FUNCTION},          {INTERNED_PATHS, NAME_PATH},
    };
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
            if (field.number == kinds[i].field && field.type == PROTOBUF_BYTES &&
                !read_interned_entry(import, sequence, kinds[i].kind, field.bytes))
                return false;
    return perfetto_interned_stacks(import, sequence, bytes);
}

static void read_defaults(struct perfetto_sequence *sequence, struct text bytes) {
    struct protobuf message = protobuf_of(bytes), event;
    struct protobuf_field field, part;
    while (protobuf_next(&message, &field)) {
        if (field.number == PACKET_CLOCK)
            sequence->default_clock = (uint64_t)protobuf_integer(&field);
        if (field.number != PACKET_TRACK_EVENT)
            continue;
        event = protobuf_of(protobuf_text(&field));
        while (protobuf_next(&event, &part))
            if (part.number == EVENT_TRACK)
                sequence->default_track = (uint64_t)protobuf_integer(&part);
    }
}

static bool read_track_ids(struct perfetto_import *import, struct text bytes,
                           struct perfetto_track *track, bool thread) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        struct text name = protobuf_text(&field);
        if (field.number == PROCESS_PID) /* equals THREAD_PID */
            track->pid = (uint64_t)(uint32_t)protobuf_integer(&field);
        else if (thread && field.number == THREAD_TID)
            track->tid = protobuf_integer(&field);
        else if (field.number == (thread ? THREAD_NAME : PROCESS_NAME) && name.length &&
                 !perfetto_intern(import, name, &track->name))
            return false;
    }
    return true;
}

static bool read_track(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    uint64_t uuid = 0;
    while (protobuf_next(&message, &field))
        if (field.number == TRACK_UUID)
            uuid = (uint64_t)protobuf_integer(&field);
    struct perfetto_track *track = perfetto_track(import, uuid);
    bool ok = track != NULL;
    message = protobuf_of(bytes);
    while (ok && protobuf_next(&message, &field)) {
        struct text text = protobuf_text(&field);
        if (field.number == TRACK_PARENT) {
            track->parent = (uint64_t)protobuf_integer(&field);
        } else if (field.number == TRACK_NAME || field.number == TRACK_STATIC_NAME) {
            ok = text.length == 0 || perfetto_intern(import, text, &track->name);
        } else if (field.number == TRACK_PROCESS) {
            track->is_process = true;
            ok = read_track_ids(import, text, track, false);
        } else if (field.number == TRACK_THREAD) {
            track->is_thread = true;
            ok = read_track_ids(import, text, track, true);
        }
    }
    return ok;
}

static void read_legacy(const struct perfetto_sequence *sequence, struct text bytes,
                        struct perfetto_event *event) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == LEGACY_NAME_ID)
            event->name = perfetto_name(sequence, NAME_EVENT, (uint64_t)protobuf_integer(&field));
        else if (field.number == LEGACY_PHASE)
            event->phase = (int32_t)protobuf_integer(&field);
        else if (field.number == LEGACY_DURATION_US)
            event->duration_us = protobuf_integer(&field);
    }
}

/* Older producers put times into the event, in microseconds. */
static void read_event_time(struct perfetto_packet *packet, int64_t microseconds, bool relative) {
    struct perfetto_sequence *sequence = packet->sequence;
    int64_t sum;
    if (relative && !__builtin_add_overflow(sequence->reference_us, microseconds, &sum))
        microseconds = sequence->reference_us = sum;
    if (__builtin_mul_overflow(microseconds, (int64_t)1000, &packet->time))
        packet->time = INT64_MAX;
}

static bool read_event_field(struct perfetto_import *import, struct perfetto_packet *packet,
                             const struct protobuf_field *field, struct perfetto_event *event) {
    struct perfetto_sequence *sequence = packet->sequence;
    uint64_t value = (uint64_t)protobuf_integer(field);
    switch (field->number) {
    case EVENT_TYPE:
        event->type = (unsigned)value;
        break;
    case EVENT_TRACK:
        event->track = value;
        break;
    case EVENT_NAME_ID:
        event->name = perfetto_name(sequence, NAME_EVENT, value);
        break;
    case EVENT_NAME:
        return perfetto_intern(import, protobuf_text(field), &event->name);
    case EVENT_CATEGORY_ID:
        event->category = perfetto_name(sequence, NAME_CATEGORY, value);
        break;
    case EVENT_CATEGORY:
        return perfetto_intern(import, protobuf_text(field), &event->category);
    case EVENT_COUNTER:
        event->has_value = true;
        event->value = (double)(int64_t)value;
        break;
    case EVENT_COUNTER_DOUBLE:
        event->has_value = true;
        event->value = protobuf_number(field);
        break;
    case EVENT_LEGACY:
        read_legacy(sequence, protobuf_text(field), event);
        break;
    case EVENT_DELTA_US:
        read_event_time(packet, (int64_t)value, true);
        break;
    case EVENT_ABSOLUTE_US:
        read_event_time(packet, (int64_t)value, false);
        break;
    }
    return true;
}

static bool read_event(struct perfetto_import *import, struct perfetto_packet *packet,
                       struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct perfetto_event event = {.track = packet->sequence->default_track, .message = bytes};
    while (protobuf_next(&message, &field))
        if (!read_event_field(import, packet, &field, &event))
            return false;
    import->events++;
    if (packet->time > import->last_time && packet->time <= TRACE_TIME_LIMIT)
        import->last_time = packet->time;
    return perfetto_track_event(import, packet, &event);
}

static bool read_packets(struct perfetto_import *import, struct text bytes);

/* Decompresses a zlib stream of packets and reads them. Nested compression is an error. */
static bool read_compressed(struct perfetto_import *import, struct text bytes) {
    struct buffer unpacked = {0};
    char piece[64 * 1024];
    z_stream stream = {.next_in = (unsigned char *)bytes.data, .avail_in = (unsigned)bytes.length};
    if (import->in_compressed)
        return status_fail(import->status, STATUS_INPUT,
                           "the packet at byte %" PRIu64 " is compressed twice", import->offset);
    if (inflateInit(&stream) != Z_OK)
        return status_no_memory(import->status);
    int code = Z_OK;
    while (code == Z_OK && unpacked.length <= UNPACKED_MAX && !unpacked.failed) {
        stream.next_out = (unsigned char *)piece;
        stream.avail_out = sizeof piece;
        code = inflate(&stream, Z_NO_FLUSH);
        buffer_append(&unpacked, piece, sizeof piece - stream.avail_out);
    }
    inflateEnd(&stream);
    bool ok = buffer_ok(&unpacked, import->status);
    if (ok && code != Z_STREAM_END)
        ok = status_fail(import->status, STATUS_INPUT,
                         unpacked.length > UNPACKED_MAX ? "the compressed packet at byte %" PRIu64
                                                          " decompresses to more than 512 MB"
                                                        : "the compressed packet at byte %" PRIu64
                                                          " is damaged; copy the file again",
                         import->offset);
    import->in_compressed = true;
    ok = ok && read_packets(import, buffer_as_text(&unpacked));
    import->in_compressed = false;
    buffer_finish(&unpacked);
    return ok;
}

static void read_thread_reference(struct perfetto_sequence *sequence, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        if (field.number == THREAD_REFERENCE_US)
            sequence->reference_us = protobuf_integer(&field);
}

/* Fields that apply to the whole packet, wherever they are in it. */
struct packet_head {
    uint64_t sequence, clock, timestamp;
    bool has_timestamp, cleared;
};

static bool read_head(struct perfetto_import *import, struct text bytes, struct packet_head *head) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        uint64_t value = (uint64_t)protobuf_integer(&field);
        if (field.number == PACKET_SEQUENCE)
            head->sequence = value;
        else if (field.number == PACKET_CLOCK)
            head->clock = value;
        else if (field.number == PACKET_TIMESTAMP) {
            head->timestamp = value;
            head->has_timestamp = true;
        } else if (field.number == PACKET_FLAGS)
            head->cleared |= (value & FLAG_CLEARED) != 0;
        else if (field.number == PACKET_CLEARED)
            head->cleared |= value != 0;
    }
    return !message.damaged ||
           status_fail(import->status, STATUS_INPUT,
                       "the packet at byte %" PRIu64 " is damaged; copy the file again",
                       import->offset);
}

/* Packets of unsupported events. */
static bool holds_unread_events(uint32_t payload) {
    enum { PROCESS_STATS = 9, SYS_STATS = 7, HEAP_GRAPH = 56 };
    return payload == PROCESS_STATS || payload == SYS_STATS || payload == HEAP_GRAPH;
}

/* What read_state() reads. */
static bool is_state(uint32_t payload) {
    return payload == PACKET_INTERNED || payload == PACKET_DEFAULTS ||
           payload == PACKET_CLOCK_SNAPSHOT || payload == PACKET_THREAD;
}

static bool read_payload(struct perfetto_import *import, struct perfetto_packet *packet,
                         const struct protobuf_field *field) {
    struct text bytes = protobuf_text(field);
    switch (field->number) {
    case PACKET_TRACK:
        return read_track(import, bytes);
    case PACKET_TRACK_EVENT:
        return read_event(import, packet, bytes);
    case PACKET_GPU_STAGE:
        import->events++;
        return perfetto_gpu_stage(import, packet, bytes);
    case PACKET_GPU_COUNTER:
        import->events++;
        return perfetto_gpu_counters(import, packet, bytes);
    case PACKET_VULKAN:
        return perfetto_vulkan_call(import, packet, bytes);
    case PACKET_FTRACE:
        return perfetto_ftrace(import, bytes);
    case PACKET_PROCESS_TREE:
        return perfetto_process_tree(import, bytes);
    case PACKET_PERF_SAMPLE:
        return perfetto_sample(import, packet, bytes);
    case PACKET_COMPRESSED:
        return read_compressed(import, bytes);
    default:
        import->unsupported += holds_unread_events(field->number);
        import->unread += field->type == PROTOBUF_BYTES && !is_state(field->number);
        return true;
    }
}

/* Interned names and defaults apply to the events of their own packet too, so they are read first.
 */
static bool read_state(struct perfetto_import *import, struct perfetto_sequence *sequence,
                       uint64_t sequence_id, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    bool ok = true;
    while (ok && protobuf_next(&message, &field)) {
        if (field.number == PACKET_INTERNED)
            ok = read_interned(import, sequence, protobuf_text(&field));
        else if (field.number == PACKET_DEFAULTS)
            read_defaults(sequence, protobuf_text(&field));
        else if (field.number == PACKET_CLOCK_SNAPSHOT)
            ok = perfetto_read_snapshot(import, sequence_id, protobuf_text(&field));
        else if (field.number == PACKET_THREAD)
            read_thread_reference(sequence, protobuf_text(&field));
    }
    return ok;
}

static bool read_packet(struct perfetto_import *import, struct text bytes) {
    struct packet_head head = {0};
    if (!read_head(import, bytes, &head))
        return false;
    struct perfetto_packet packet = {.sequence = find_sequence(import, head.sequence)};
    if (!packet.sequence)
        return false;
    if (head.cleared)
        clear_names(packet.sequence);
    if (!read_state(import, packet.sequence, head.sequence, bytes))
        return false;
    if (head.has_timestamp)
        packet.time =
            perfetto_time(import, head.sequence,
                          head.clock ? head.clock : packet.sequence->default_clock, head.timestamp);
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (!read_payload(import, &packet, &field))
            return false;
        packet.sequence = find_sequence(import, head.sequence); /* the array may have moved */
    }
    return import->status->code == STATUS_OK && !trace_writer_failed(import->writer);
}

static bool read_packets(struct perfetto_import *import, struct text bytes) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        if (field.number == TRACE_PACKET && field.type == PROTOBUF_BYTES &&
            !read_packet(import, field.bytes))
            return false;
    return !message.damaged ||
           status_fail(import->status, STATUS_INPUT,
                       "the compressed packet at byte %" PRIu64 " is damaged; copy the file again",
                       import->offset);
}

/* The size of the next packet with its header; 0 when it is incomplete, SIZE_MAX when it is not a
 * packet. */
static size_t packet_size(const struct input *input, struct text *packet) {
    struct protobuf message = protobuf_of((struct text){input->data, input->length});
    uint64_t tag, length;
    if (!protobuf_varint(&message, &tag) || !protobuf_varint(&message, &length))
        return input->length >= 20 ? SIZE_MAX : 0;
    if (tag != (TRACE_PACKET << 3 | PROTOBUF_BYTES) || length > PACKET_MAX)
        return SIZE_MAX;
    if (length > (size_t)(message.end - message.at))
        return 0;
    *packet = (struct text){(const char *)message.at, length};
    return (size_t)((const char *)message.at - input->data) + length;
}

static bool read_file(struct perfetto_import *import, struct input *input) {
    for (;;) {
        struct text packet;
        size_t size = packet_size(input, &packet);
        import->offset = input->offset;
        if (size == SIZE_MAX)
            return status_fail(import->status, STATUS_INPUT,
                               "at byte %" PRIu64
                               ": not a Perfetto packet; the file is damaged; copy it again",
                               input->offset);
        if (size > 0) {
            if (!read_packet(import, packet))
                return false;
            input_consume(input, size);
        } else if (!input->at_end) {
            if (!input_more(input, PACKET_MAX + 64, import->status))
                return false;
        } else {
            break;
        }
    }
    if (input->length > 0)
        trace_writer_meta(import->writer, META_TRUNCATED,
                          TEXT("the file ends in the middle of a packet"));
    return true;
}

static void write_meta(struct perfetto_import *import) {
    struct trace_writer *writer = import->writer;
    char line[200];
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("perfetto"));
    trace_writer_meta_integer(writer, "source.events", (int64_t)import->events);
    if (import->has_events) {
        trace_writer_meta(writer, META_CLOCK_BASE,
                          import->has_realtime ? TEXT("unix") : TEXT("monotonic"));
        if (import->has_realtime && import->realtime > 0 && import->realtime < TRACE_TIME_LIMIT)
            trace_writer_meta_integer(writer, META_CLOCK_OFFSET, import->realtime);
    }
    if (import->unknown_clock)
        trace_writer_meta(writer, META_WARNING,
                          TEXT("some packets use a clock that no snapshot relates to the trace's "
                               "clock; their timestamps are used unchanged"));
    if (import->without_end) {
        snprintf(line, sizeof line,
                 "slices without an end, closed at the end of the trace: %" PRIu64,
                 import->without_end);
        trace_writer_meta(writer, META_WARNING, text_of(line));
    }
    if (import->unsupported) {
        snprintf(line, sizeof line,
                 "skipped packets of system events (process and system statistics, heap graphs): "
                 "%" PRIu64 "; ridge reads track events, GPU stages, the scheduler and CPU samples",
                 import->unsupported);
        trace_writer_meta(writer, META_WARNING, text_of(line));
    }
    if (import->without_begin) {
        snprintf(line, sizeof line, "skipped slice ends without a begin: %" PRIu64,
                 import->without_begin);
        trace_writer_meta(writer, META_WARNING, text_of(line));
    }
}

static void perfetto_finish(struct perfetto_import *import) {
    for (size_t i = 0; i < import->sequence_count; i++)
        clear_names(&import->sequences[i]);
    for (size_t i = 0; i < import->track_count; i++)
        memory_free(import->tracks[i].open);
    memory_free(import->sequences);
    memory_free(import->tracks);
    memory_free(import->clocks);
    map_finish(&import->sequence_by_id);
    map_finish(&import->track_by_uuid);
    map_finish(&import->clock_by_id);
    map_finish(&import->counter_names);
    map_finish(&import->entities);
    perfetto_system_finish(import);
    intern_finish(&import->texts);
    buffer_finish(&import->json);
}

static bool perfetto_run(const struct import_source *source, const struct import_options *options,
                         struct trace_writer *writer, struct status *status) {
    struct perfetto_import import = {.options = options, .writer = writer, .status = status};
    struct input input;
    if (!input_open(&input, source->path, status))
        return false;
    *status = (struct status){0};
    import.samples.entities.writer = writer;
    bool ok = read_file(&import, &input) && perfetto_close_slices(&import) &&
              perfetto_system_end(&import);
    if (ok && import.events == 0 && import.unread > 0)
        ok = status_fail(status, STATUS_INPUT,
                         "has no event that ridge reads from Perfetto traces: track events, GPU "
                         "stages and counters, the scheduler's switches, CPU samples");
    else if (ok)
        write_meta(&import);
    else if (status->code == STATUS_OK)
        ok = trace_writer_failed(writer); /* trace_writer_finish() reports the error */
    perfetto_finish(&import);
    input_close(&input);
    return ok;
}

/* Whether a well-known field has the wire type that TracePacket defines. */
static bool has_wire_type(const struct protobuf_field *field, bool *typical) {
    switch (field->number) {
    case PACKET_TIMESTAMP:
    case PACKET_SEQUENCE:
    case PACKET_FLAGS:
        *typical = true;
        return field->type == PROTOBUF_VARINT;
    case 3: /* trusted_uid */
    case PACKET_CLEARED:
    case PACKET_CLOCK:
    case 79: /* trusted_pid */
        return field->type == PROTOBUF_VARINT;
    case PACKET_CLOCK_SNAPSHOT:
    case 33: /* trace_config */
    case 36: /* synchronization_marker */
    case PACKET_COMPRESSED:
    case PACKET_TRACK:
        *typical = true;
        return field->type == PROTOBUF_BYTES;
    case 1: /* ftrace_events */
    case 2: /* process_tree */
    case PACKET_TRACK_EVENT:
    case PACKET_INTERNED:
    case PACKET_DEFAULTS:
        return field->type == PROTOBUF_BYTES;
    default:
        return field->number < 2000;
    }
}

static int perfetto_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    struct protobuf file = protobuf_of(head), packet;
    struct protobuf_field field, part;
    bool typical = false;
    unsigned packets = 0;
    if (source->is_folder || head.length < 4 ||
        head.data[0] != (TRACE_PACKET << 3 | PROTOBUF_BYTES))
        return 0;
    while (packets < 16 && protobuf_next(&file, &field)) {
        if (field.number != TRACE_PACKET || field.type != PROTOBUF_BYTES)
            return 0;
        packet = protobuf_of(field.bytes);
        while (protobuf_next(&packet, &part))
            if (!has_wire_type(&part, &typical))
                return 0;
        if (packet.damaged)
            return 0;
        packets++;
    }
    return packets > 0 && typical ? 3 : 0;
}

const struct importer import_perfetto = {
    .format = "perfetto",
    .detect = perfetto_detect,
    .run = perfetto_run,
};
