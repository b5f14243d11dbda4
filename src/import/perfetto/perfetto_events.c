/* Track events of any producer: slices become ranges, instants marks, counters counters. Every
 * track that has slices is taken for a thread; one that the producer did not call a thread gets a
 * negative number. Slices of a track nest: an end closes the innermost one that is open. */
#include "import/perfetto/perfetto.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"

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

/* The annotations with plain values as a JSON object; the writer's string, 0 when there are none.
 */
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

static bool write_range(struct perfetto_import *import, uint32_t thread,
                        const struct open_slice *slice, int64_t duration) {
    struct import_row row;
    bool drop;
    import_row_begin(&row, TABLE_RANGE);
    row.of.range = (struct row_range){
        .start = slice->start,
        .duration = duration,
        .thread = thread,
        .name = slice->name,
        .category = RANGE_ANNOTATION,
        .domain = slice->domain,
        .detail = slice->detail,
    };
    if (!perfetto_check_row(import, &row, &drop))
        return false;
    if (!drop)
        trace_write_range(import->writer, &row.of.range);
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
        import->unopened++; /* it began before the recording did */
        return true;
    }
    const struct open_slice *slice = &track->open[--track->depth];
    int64_t duration;
    if (__builtin_sub_overflow(time, slice->start, &duration))
        duration = INT64_MAX;
    return write_range(import, thread_of(import, track), slice, duration);
}

static bool write_mark(struct perfetto_import *import, uint32_t thread,
                       const struct open_slice *mark) {
    struct import_row row;
    bool drop;
    import_row_begin(&row, TABLE_MARK);
    row.of.mark = (struct row_mark){
        .time = mark->start,
        .thread = thread,
        .name = mark->name,
        .domain = mark->domain,
        .detail = mark->detail,
    };
    if (!perfetto_check_row(import, &row, &drop))
        return false;
    if (!drop)
        trace_write_mark(import->writer, &row.of.mark);
    return true;
}

static bool write_counter(struct perfetto_import *import, const struct perfetto_event *event,
                          const struct perfetto_track *track, int64_t time) {
    struct import_row row;
    bool drop;
    import_row_begin(&row, TABLE_COUNTER);
    row.of.counter = (struct row_counter){
        .time = time,
        .name = perfetto_string(import, track->name ? track->name : event->name),
        .value = event->value,
    };
    if (!perfetto_check_row(import, &row, &drop))
        return false;
    if (!drop)
        trace_write_counter(import->writer, &row.of.counter);
    return true;
}

/* What a legacy event's phase means as a type; 0: not one that is read. */
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

bool perfetto_foreign_event(struct perfetto_import *import, const struct perfetto_packet *packet,
                            const struct perfetto_event *event) {
    struct perfetto_track *track = perfetto_track(import, event->track);
    if (!track)
        return false;
    import->has_foreign = true;
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
    };
    if (import->json.failed)
        return status_no_memory(import->status);
    if (type == TYPE_BEGIN)
        return begin_slice(import, track, &slice);
    uint32_t thread = thread_of(import, track);
    if (type == TYPE_INSTANT)
        return write_mark(import, thread, &slice);
    int64_t duration;
    if (__builtin_mul_overflow(event->duration_us, (int64_t)1000, &duration))
        duration = INT64_MAX;
    return write_range(import, thread, &slice, duration);
}

bool perfetto_close_slices(struct perfetto_import *import) {
    for (size_t i = 0; i < import->track_count; i++) {
        struct perfetto_track *track = &import->tracks[i];
        while (track->depth > 0) {
            const struct open_slice *slice = &track->open[--track->depth];
            int64_t until = import->last_time > slice->start ? import->last_time : slice->start;
            import->unclosed++;
            if (!write_range(import, thread_of(import, track), slice, until - slice->start))
                return false;
        }
    }
    return true;
}
