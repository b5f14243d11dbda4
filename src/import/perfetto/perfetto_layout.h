/* How a ridge trace lies in a Perfetto trace: what the exporter and the importer agree on, so that
 * the way there and back changes nothing. docs/formats/perfetto.md is the prose.
 *
 * Every row of every table is a track event whose category is the table's name. Its columns are
 * debug annotations of the same names; zero is left out. Names of slices are the column `name`; a
 * slice's begin and end packets stand next to each other. The entity that a row belongs to is told
 * by its track's uuid. A recording begins with an instant of category PERFETTO_HEADER.
 */
#ifndef RIDGE_IMPORT_PERFETTO_PERFETTO_LAYOUT_H
#define RIDGE_IMPORT_PERFETTO_PERFETTO_LAYOUT_H

#include "trace/schema.h"

#define PERFETTO_HEADER "ridge recording"
#define PERFETTO_VERSION "version"
#define PERFETTO_OFFSET "time_offset" /* added to timestamps to get the trace's times */
#define PERFETTO_ID "id"              /* of an entity's row */
#define PERFETTO_ROW "row"            /* of an event's, where events are not in row order */
#define PERFETTO_UNKNOWN "unknown"    /* BYTES_UNKNOWN */
enum { PERFETTO_LAYOUT_VERSION = 1 };

/* What a track is for, in the low four bits of its uuid: a table, or one of these. Marks are on
 * their threads' tracks, so that table's number is free for another. */
enum { TRACK_STATES = TABLE_MARK, TRACK_ALLOCATED = 14, TRACK_NOTES = 15 };
_Static_assert((int)TABLE_COUNTER < (int)TRACK_ALLOCATED, "a track's kind has four bits");

/* Tracks of a thread or a queue are numbered by lanes, counter tracks by their device. */
enum { TRACK_LANES = 1 << 24 };

static inline uint64_t track_uuid(unsigned kind, uint32_t id, uint32_t lane) {
    return kind | (uint64_t)id << 4 | (uint64_t)lane << 36;
}
static inline unsigned track_kind(uint64_t uuid) {
    return uuid & 15;
}
static inline uint32_t track_id(uint64_t uuid) {
    return (uint32_t)(uuid >> 4);
}
static inline uint32_t track_lane(uint64_t uuid) {
    return (uint32_t)(uuid >> 36);
}

/* Field numbers of Perfetto's messages. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLEARED = 41,
    PACKET_THREAD = 44,
    PACKET_COMPRESSED = 50,
    PACKET_GPU_COUNTER = 52,
    PACKET_GPU_STAGE = 53,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_VULKAN = 65,

    FLAG_CLEARED = 1,
    FLAG_NEEDS_STATE = 2,

    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,
    INTERNED_GPU_SPECIFICATIONS = 24,
    INTERNED_KERNELS = 1000,
    INTERNED_STRINGS = 29,
    INTERNED_ENTRY_ID = 1,
    INTERNED_ENTRY_TEXT = 2,

    EVENT_DELTA_US = 1,
    EVENT_CATEGORY_ID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_LEGACY = 6,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_ABSOLUTE_US = 16,
    EVENT_CATEGORY = 22,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    EVENT_COUNTER_DOUBLE = 44,
    EVENT_FLOW = 47,

    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,

    LEGACY_NAME_ID = 1,
    LEGACY_PHASE = 2,
    LEGACY_DURATION_US = 3,

    ANNOTATION_NAME_ID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING = 6,
    ANNOTATION_NAME = 10,
    ANNOTATION_STRING_ID = 17,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_STATIC_NAME = 10,

    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    THREAD_REFERENCE_US = 6,
};

#endif
