/* Events have ids; the plane's metadata maps them to names, and statistics can refer to other
 * metadata for their text. Field numbers are those of xplane.proto. Metadata can follow the lines
 * in the file, so the plane is read twice. */
#include "import/xplane/xplane_plane.h"

enum {
    PLANE_NAME = 2,
    PLANE_LINE = 3,
    PLANE_EVENT_METADATA = 4,
    PLANE_STAT_METADATA = 5,
    PLANE_STAT = 6
};
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIMESTAMP = 3, LINE_EVENT = 4, LINE_DISPLAY_NAME = 11 };
enum {
    EVENT_METADATA = 1,
    EVENT_OFFSET = 2,
    EVENT_DURATION = 3,
    EVENT_STAT = 4,
    EVENT_OCCURRENCES = 5
};
enum { METADATA_NAME = 2, METADATA_DISPLAY_NAME = 4 };
enum {
    STAT_METADATA = 1,
    STAT_DOUBLE = 2,
    STAT_UINT = 3,
    STAT_INT = 4,
    STAT_TEXT = 5,
    STAT_BYTES = 6,
    STAT_REFERENCE = 7
};
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

/* A text is stored once but may be read for every event, so long ones are truncated. */
enum { NAME_BYTES_MAX = 16 * 1024, VALUE_BYTES_MAX = 4096 };

static struct text cut(struct text text, size_t limit) {
    if (text.length > limit)
        text.length = text_utf8_valid((struct text){text.data, limit});
    return text;
}

struct xplane_stat_name {
    struct text name;
    int stat; /* enum xplane_stat, or -1 */
};

#define STAT_NAME(name) #name,
static const char *const stat_names[] = {XPLANE_STATS(STAT_NAME)};

static int stat_named(struct text name) {
    for (int i = 0; i < XPLANE_STAT_COUNT; i++)
        if (text_is(name, stat_names[i]))
            return i;
    return -1;
}

/* A map entry {key, value} of the metadata tables. */
static bool read_entry(struct text bytes, uint64_t *key, struct text *value,
                       const unsigned char **damage) {
    struct protobuf entry = protobuf_of(bytes);
    struct protobuf_field field;
    *key = 0;
    *value = TEXT("");
    while (protobuf_next(&entry, &field)) {
        if (field.number == ENTRY_KEY)
            *key = field.value;
        else if (field.number == ENTRY_VALUE)
            *value = protobuf_text(&field);
    }
    if (entry.damaged)
        *damage = entry.at;
    return !entry.damaged;
}

static bool metadata_names(struct text bytes, struct text *name, struct text *display_name,
                           const unsigned char **damage) {
    struct protobuf metadata = protobuf_of(bytes);
    struct protobuf_field field;
    *name = *display_name = TEXT("");
    while (protobuf_next(&metadata, &field)) {
        if (field.number == METADATA_NAME)
            *name = protobuf_text(&field);
        else if (field.number == METADATA_DISPLAY_NAME)
            *display_name = protobuf_text(&field);
    }
    if (metadata.damaged)
        *damage = metadata.at;
    return !metadata.damaged;
}

static bool read_metadata(struct text bytes, uint64_t *id, struct text *name,
                          struct text *display_name, const unsigned char **damage) {
    struct text metadata;
    return read_entry(bytes, id, &metadata, damage) &&
           metadata_names(metadata, name, display_name, damage);
}

static bool add_event_name(struct xplane_plane *plane, struct text bytes,
                           const unsigned char **damage, struct status *status) {
    uint64_t id;
    struct text name, display_name;
    if (!read_metadata(bytes, &id, &name, &display_name, damage))
        return false;
    if (!GROW(plane->events, &plane->event_capacity, plane->event_count + 1, status))
        return false;
    plane->events[plane->event_count] = cut(name.length ? name : display_name, NAME_BYTES_MAX);
    return map_set(&plane->event_names, id, plane->event_count++, status);
}

static bool add_stat_name(struct xplane_plane *plane, struct text bytes,
                          const unsigned char **damage, struct status *status) {
    uint64_t id;
    struct text name, display_name;
    if (!read_metadata(bytes, &id, &name, &display_name, damage))
        return false;
    if (!GROW(plane->stat_list, &plane->stat_capacity, plane->stat_count + 1, status))
        return false;
    plane->stat_list[plane->stat_count] = (struct xplane_stat_name){name, stat_named(name)};
    return map_set(&plane->stat_names, id, plane->stat_count++, status);
}

static const struct xplane_stat_name *stat_name(const struct xplane_plane *plane, uint64_t id) {
    const uint64_t *index = map_find(&plane->stat_names, id);
    return index ? &plane->stat_list[*index] : NULL;
}

/* A double as an integer, if it is one that fits. */
static uint64_t whole(double number) {
    return number >= 0 && number < 18446744073709549568.0 ? (uint64_t)number : 0;
}

static bool read_stat(const struct xplane_plane *plane, struct text bytes,
                      struct xplane_stats *stats, const unsigned char **damage) {
    struct protobuf stat = protobuf_of(bytes);
    struct protobuf_field field;
    struct xplane_value value = {.present = true, .text = TEXT("")};
    const struct xplane_stat_name *name = NULL, *referred;
    while (protobuf_next(&stat, &field)) {
        switch (field.number) {
        case STAT_METADATA:
            name = stat_name(plane, field.value);
            break;
        case STAT_DOUBLE:
            value.number = whole(protobuf_number(&field));
            break;
        case STAT_UINT:
        case STAT_INT:
            value.number = field.value;
            break;
        case STAT_TEXT:
        case STAT_BYTES:
            value.text = protobuf_text(&field);
            break;
        case STAT_REFERENCE:
            referred = stat_name(plane, field.value);
            value.text = referred ? referred->name : TEXT("");
            break;
        }
    }
    value.text = cut(value.text, VALUE_BYTES_MAX);
    if (stat.damaged)
        *damage = stat.at;
    else if (name && name->stat >= 0)
        stats->values[name->stat] = value;
    return !stat.damaged;
}

/* Reads all statistics in fields of that number. */
static bool read_stats(const struct xplane_plane *plane, struct text bytes, uint32_t number,
                       struct xplane_stats *stats, const unsigned char **damage) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        if (field.number == number && field.type == PROTOBUF_BYTES &&
            !read_stat(plane, field.bytes, stats, damage))
            return false;
    if (message.damaged)
        *damage = message.at;
    return !message.damaged;
}

bool xplane_plane_read(struct text bytes, struct xplane_plane *plane, const unsigned char **damage,
                       struct status *status) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    *plane = (struct xplane_plane){.bytes = bytes, .name = TEXT("")};
    while (protobuf_next(&message, &field)) {
        if (field.type != PROTOBUF_BYTES)
            continue;
        if (field.number == PLANE_NAME)
            plane->name = field.bytes;
        else if (field.number == PLANE_EVENT_METADATA &&
                 !add_event_name(plane, field.bytes, damage, status))
            return false;
        else if (field.number == PLANE_STAT_METADATA &&
                 !add_stat_name(plane, field.bytes, damage, status))
            return false;
    }
    if (message.damaged) {
        *damage = message.at;
        return false;
    }
    return read_stats(plane, bytes, PLANE_STAT, &plane->stats, damage);
}

void xplane_plane_finish(struct xplane_plane *plane) {
    map_finish(&plane->event_names);
    map_finish(&plane->stat_names);
    memory_free(plane->events);
    memory_free(plane->stat_list);
}

static bool read_line(struct text bytes, struct xplane_line *line, const unsigned char **damage) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    struct text display_name = TEXT("");
    *line = (struct xplane_line){.name = TEXT(""), .events = protobuf_of(bytes)};
    while (protobuf_next(&message, &field)) {
        if (field.number == LINE_ID)
            line->id = protobuf_integer(&field);
        else if (field.number == LINE_NAME)
            line->name = protobuf_text(&field);
        else if (field.number == LINE_TIMESTAMP)
            line->timestamp_ns = protobuf_integer(&field);
        else if (field.number == LINE_DISPLAY_NAME)
            display_name = protobuf_text(&field);
    }
    if (line->name.length == 0)
        line->name = display_name;
    if (message.damaged)
        *damage = message.at;
    return !message.damaged;
}

bool xplane_next_line(const struct xplane_plane *plane, struct protobuf *at,
                      struct xplane_line *line, const unsigned char **damage) {
    struct protobuf_field field;
    (void)plane;
    while (protobuf_next(at, &field))
        if (field.number == PLANE_LINE && field.type == PROTOBUF_BYTES)
            return read_line(field.bytes, line, damage);
    return false;
}

static bool read_event(const struct xplane_plane *plane, struct text bytes,
                       struct xplane_event *event, const unsigned char **damage) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    bool has_occurrences = false, has_offset = false;
    *event = (struct xplane_event){.name = TEXT(""), .at = message.at};
    while (protobuf_next(&message, &field)) {
        if (field.number == EVENT_METADATA) {
            const uint64_t *index = map_find(&plane->event_names, field.value);
            event->name = index ? plane->events[*index] : TEXT("");
        } else if (field.number == EVENT_OFFSET) {
            event->offset_ps = protobuf_integer(&field);
            has_offset = true;
        } else if (field.number == EVENT_DURATION) {
            event->duration_ps = protobuf_integer(&field);
            event->has_duration = true;
        } else if (field.number == EVENT_OCCURRENCES) {
            has_occurrences = true;
        }
    }
    if (message.damaged) {
        *damage = message.at;
        return false;
    }
    event->is_aggregate = has_occurrences && !has_offset;
    return read_stats(plane, bytes, EVENT_STAT, &event->stats, damage);
}

bool xplane_next_event(const struct xplane_plane *plane, struct xplane_line *line,
                       struct xplane_event *event, const unsigned char **damage) {
    struct protobuf_field field;
    while (protobuf_next(&line->events, &field))
        if (field.number == LINE_EVENT && field.type == PROTOBUF_BYTES)
            return read_event(plane, field.bytes, event, damage);
    return false;
}
