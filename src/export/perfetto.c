/* The trace as a native Perfetto trace: slices, instants and counters on tracks, with the columns
 * of a row as debug annotations, and flows from calls to the activities that they launched.
 *
 * Processes hold threads; devices hold queues and counters. Slices of a track must nest, so those
 * that do not go to further lanes: tracks with the same name and parent, which viewers draw as one.
 * Ids that a viewer cannot take (a process without a pid, a second recording with the same pids)
 * become plain named tracks. Events are written in order of time, because viewers break ties
 * between the slices of a track by their order in the file. docs/formats/perfetto.md describes the
 * result. */
#include <inttypes.h>
#include <stdio.h>

#include "base/checksum.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/protobuf.h"
#include "base/sort.h"
#include "export/export.h"

/* Field numbers and values of Perfetto's protocol buffers: trace_packet.proto, track_event.proto,
 * track_descriptor.proto and debug_annotation.proto. */
enum {
    TRACE_PACKET = 1,

    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,

    FLAG_CLEARED = 1,
    FLAG_NEEDS_STATE = 2,

    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,
    INTERNED_STRINGS = 29,
    INTERNED_ENTRY_ID = 1,
    INTERNED_ENTRY_TEXT = 2,

    EVENT_CATEGORY_ID = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    EVENT_COUNTER_DOUBLE = 44,
    EVENT_FLOW = 47,

    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,

    ANNOTATION_NAME_ID = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING_ID = 17,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,

    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT = 3,
    UNIT_BYTES = 3,
};

/* The id of the only packet sequence. */
enum { SEQUENCE = 1 };

/* Slices that fit on none of this many lanes share the last; a viewer may draw them wrongly. */
enum { LANES_MAX = 64 };

/* What a track is for, in the low four bits of its uuid: a table, or one of these. Marks are on
 * their threads' tracks, so that table's number is free. */
enum { TRACK_STATES = TABLE_MARK, TRACK_ALLOCATED = 14 };
_Static_assert((int)TABLE_COUNTER < (int)TRACK_ALLOCATED, "a track's kind has four bits");

/* Tables behind these have no place on a timeline. */
enum { TABLES = TABLE_USAGE };

/* Tracks of a thread or a queue are numbered by lanes, counter tracks by their device. */
enum { TRACK_LANES = 1 << 24 };

static uint64_t track_uuid(unsigned kind, uint32_t id, uint32_t lane) {
    return kind | (uint64_t)id << 4 | (uint64_t)lane << 36;
}

static unsigned track_kind(uint64_t uuid) {
    return uuid & 15;
}

static uint32_t track_id(uint64_t uuid) {
    return (uint32_t)(uuid >> 4);
}

static uint32_t track_lane(uint64_t uuid) {
    return (uint32_t)(uuid >> 36);
}

/* Kinds of interned strings; each has its own numbering. */
enum interned { INTERNED_CATEGORY, INTERNED_NAME, INTERNED_KEY, INTERNED_VALUE, INTERNED_KINDS };

/* Ids of interned values: enumerators, then strings (even) and stacks (odd). */
enum { ENUMERATORS = 16, VALUE_BASE = TABLE_COUNT * TABLE_COLUMNS_MAX * ENUMERATORS + 2 };

/* Places slices on lanes, first fit. */
struct lanes {
    struct map tracks; /* track to its first lane, plus one */
    struct lane *lanes;
    size_t count, capacity;
};

struct perfetto {
    struct trace *trace;
    struct output *output;
    struct buffer event, interned, packet;
    struct map sent[INTERNED_KINDS]; /* interned ids whose text has been written */
    struct map described;            /* uuids of tracks */
    struct lanes lanes;
    struct map launched; /* flow ids that activities have */
    int64_t offset;      /* subtracted from every time, so that none is negative */
    struct status *status;
    bool failed;
};

/* ---- lanes ---- */

/* A lane keeps the ends of its open slices, innermost last. */
struct lane {
    int64_t *ends;
    size_t depth, capacity;
    size_t next; /* lane of the same track, plus one; 0 = none */
};

static bool fits(struct lane *lane, int64_t start, int64_t end) {
    while (lane->depth > 0 && lane->ends[lane->depth - 1] <= start)
        lane->depth--;
    return lane->depth == 0 || end <= lane->ends[lane->depth - 1];
}

static bool add_lane(struct lanes *lanes, size_t *added, struct status *status) {
    if (!GROW(lanes->lanes, &lanes->capacity, lanes->count + 1, status))
        return false;
    lanes->lanes[lanes->count] = (struct lane){0};
    *added = ++lanes->count;
    return true;
}

/* The index of a lane that the slice fits on, plus one; 0 when LANES_MAX lanes are taken. */
static bool find_lane(struct lanes *lanes, size_t first, int64_t start, int64_t end, size_t *found,
                      uint32_t *number, struct status *status) {
    size_t at = first;
    for (*number = 0; *number < LANES_MAX; ++*number) {
        struct lane *lane = &lanes->lanes[at - 1];
        if (fits(lane, start, end)) {
            *found = at;
            return true;
        }
        if (lane->next == 0) {
            size_t added;
            if (!add_lane(lanes, &added, status))
                return false;
            lanes->lanes[at - 1].next = added;
        }
        at = lanes->lanes[at - 1].next;
    }
    *found = 0;
    return true;
}

/* Finds a lane of the track on which the slice lies inside or after all others. Slices come in
 * order of start, the longer first. */
static bool lanes_place(struct lanes *lanes, uint64_t track, int64_t start, int64_t end,
                        uint32_t *number, struct status *status) {
    uint64_t *known = map_find(&lanes->tracks, track);
    size_t first = known ? (size_t)*known : 0, at;
    if (!known &&
        (!add_lane(lanes, &first, status) || !map_set(&lanes->tracks, track, first, status)))
        return false;
    if (!find_lane(lanes, first, start, end, &at, number, status))
        return false;
    if (at == 0)
        return true;
    struct lane *lane = &lanes->lanes[at - 1];
    if (!GROW(lane->ends, &lane->capacity, lane->depth + 1, status))
        return false;
    lane->ends[lane->depth++] = end;
    return true;
}

static void lanes_finish(struct lanes *lanes) {
    for (size_t i = 0; i < lanes->count; i++)
        memory_free(lanes->lanes[i].ends);
    memory_free(lanes->lanes);
    map_finish(&lanes->tracks);
    *lanes = (struct lanes){0};
}

/* ---- packets and tracks ---- */

static const uint32_t interned_field[INTERNED_KINDS] = {
    INTERNED_CATEGORIES, INTERNED_NAMES, INTERNED_ANNOTATION_NAMES, INTERNED_STRINGS};

static void check(struct perfetto *perfetto, bool ok) {
    perfetto->failed |= !ok;
}

/* Writes the text of an id where it is used for the first time. */
static void perfetto_intern(struct perfetto *perfetto, enum interned kind, uint64_t id,
                            struct text text) {
    if (map_find(&perfetto->sent[kind], id))
        return;
    check(perfetto, map_set(&perfetto->sent[kind], id, 1, perfetto->status));
    size_t entry = protobuf_begin(&perfetto->interned, interned_field[kind]);
    protobuf_put_integer(&perfetto->interned, INTERNED_ENTRY_ID, id);
    protobuf_put_text(&perfetto->interned, INTERNED_ENTRY_TEXT, text);
    protobuf_end(&perfetto->interned, entry);
}

static size_t begin_packet(struct perfetto *perfetto, uint64_t flags) {
    struct buffer *packet = &perfetto->packet;
    buffer_clear(packet);
    size_t begun = protobuf_begin(packet, TRACE_PACKET);
    protobuf_put_integer(packet, PACKET_SEQUENCE, SEQUENCE);
    protobuf_put_integer(packet, PACKET_FLAGS, flags);
    return begun;
}

static void end_packet(struct perfetto *perfetto, size_t begun) {
    protobuf_end(&perfetto->packet, begun);
    output_write(perfetto->output, perfetto->packet.data, perfetto->packet.length);
}

/* Also makes an export without events a valid file. */
static void begin_sequence(struct perfetto *perfetto) {
    end_packet(perfetto, begin_packet(perfetto, FLAG_CLEARED));
    perfetto->failed |= perfetto->packet.failed;
}

/* A track's descriptor. */
struct description {
    struct buffer name;
    uint64_t parent;
    uint64_t pid;
    int64_t tid; /* 0: not a thread that the viewer identifies by tid */
    bool process, counter, bytes;
};

static void name_or(struct buffer *name, const struct trace *trace, uint32_t string,
                    const char *what, int64_t number) {
    struct text text = trace_text(trace, string);
    if (text.length)
        buffer_text(name, text);
    else
        buffer_printf(name, "%s %" PRId64, what, number);
}

static void name_recording(struct buffer *name, uint32_t session) {
    if (session > 0 && session != UINT32_MAX)
        buffer_printf(name, " (recording %u)", session + 1);
}

/* Viewers identify processes by pid, so only those of the first recording have one. */
static bool has_pid(const struct trace *trace, uint32_t process) {
    uint64_t pid = trace->process.pid[process];
    return process != 0 && trace->process_session[process] == 0 && pid > 0 && pid <= INT32_MAX;
}

static void describe_process(const struct trace *trace, uint32_t id, struct description *track) {
    name_or(&track->name, trace, trace->process.name[id], "process",
            (int64_t)trace->process.pid[id]);
    name_recording(&track->name, trace->process_session[id]);
    track->process = has_pid(trace, id);
    track->pid = trace->process.pid[id];
}

static void describe_thread(const struct trace *trace, uint32_t id, struct description *track) {
    uint32_t process = trace->thread.process[id];
    int64_t tid = trace->thread.tid[id];
    if (id == 0)
        buffer_string(&track->name, "no thread");
    else
        name_or(&track->name, trace, trace->thread.name[id], "thread", tid);
    if (process)
        track->parent = track_uuid(TABLE_PROCESS, process, 0);
    if (has_pid(trace, process) && tid > 0 && tid <= INT32_MAX) {
        track->pid = trace->process.pid[process];
        track->tid = tid;
    }
}

static void describe_device(const struct trace *trace, uint32_t id, struct description *track) {
    buffer_string(&track->name, "GPU ");
    if (trace->device.label[id])
        buffer_text(&track->name, trace_text(trace, trace->device.label[id]));
    else
        buffer_printf(&track->name, "%u", trace->device.index[id]);
    if (trace->device.name[id]) {
        buffer_string(&track->name, ": ");
        buffer_text(&track->name, trace_text(trace, trace->device.name[id]));
    }
    name_recording(&track->name, trace->device_session[id]);
}

static void describe_queue(const struct trace *trace, uint32_t id, const char *what,
                           struct description *track) {
    uint32_t device = trace->queue.device[id], process = trace->queue.process[id];
    if (id == 0)
        buffer_string(&track->name, "no queue");
    else
        name_or(&track->name, trace, trace->queue.name[id], "stream", trace->queue.stream[id]);
    if (process)
        buffer_printf(&track->name, " of process %" PRIu64, trace->process.pid[process]);
    buffer_string(&track->name, what);
    if (device)
        track->parent = track_uuid(TABLE_DEVICE, device, 0);
}

static void describe_counter(struct text name, uint32_t device, struct description *track) {
    track->counter = true;
    buffer_text(&track->name, name);
    if (device)
        track->parent = track_uuid(TABLE_DEVICE, device, 0);
}

static void describe(const struct trace *trace, uint64_t uuid, struct description *track) {
    uint32_t id = track_id(uuid), lane = track_lane(uuid);
    switch (track_kind(uuid)) {
    case TABLE_PROCESS:
        describe_process(trace, id, track);
        break;
    case TABLE_THREAD:
        describe_thread(trace, id, track);
        if (lane > 0) {
            track->parent = track_uuid(TABLE_THREAD, id, 0);
            track->tid = 0;
        }
        break;
    case TABLE_DEVICE:
        describe_device(trace, id, track);
        break;
    case TABLE_ACTIVITY:
        describe_queue(trace, id, "", track);
        break;
    case TABLE_RANGE:
        describe_queue(trace, id, " annotations", track);
        break;
    case TABLE_WAIT:
        describe_queue(trace, id, " waits", track);
        break;
    case TABLE_MEMORY:
    case TABLE_SAMPLE:
    case TRACK_STATES:
        buffer_string(&track->name, track_kind(uuid) == TABLE_MEMORY   ? "memory"
                                    : track_kind(uuid) == TABLE_SAMPLE ? "samples"
                                                                       : "states");
        track->parent = track_uuid(TABLE_THREAD, id, 0);
        break;
    case TABLE_COUNTER:
        describe_counter(trace_text(trace, id), lane, track);
        break;
    case TRACK_ALLOCATED:
        describe_counter(id ? TEXT("allocated memory") : TEXT("allocated host memory"), id, track);
        track->bytes = true;
        break;
    }
}

static void put_ids(struct buffer *packet, const struct description *track) {
    if (track->tid) {
        size_t thread = protobuf_begin(packet, TRACK_THREAD);
        protobuf_put_integer(packet, THREAD_PID, track->pid);
        protobuf_put_integer(packet, THREAD_TID, (uint64_t)track->tid);
        protobuf_put_text(packet, THREAD_NAME, buffer_as_text(&track->name));
        protobuf_end(packet, thread);
    } else if (track->process) {
        size_t process = protobuf_begin(packet, TRACK_PROCESS);
        protobuf_put_integer(packet, PROCESS_PID, track->pid);
        protobuf_put_text(packet, PROCESS_NAME, buffer_as_text(&track->name));
        protobuf_end(packet, process);
    } else if (track->counter) {
        size_t counter = protobuf_begin(packet, TRACK_COUNTER);
        if (track->bytes)
            protobuf_put_integer(packet, COUNTER_UNIT, UNIT_BYTES);
        protobuf_end(packet, counter);
    }
}

static void send_description(struct perfetto *perfetto, uint64_t uuid,
                             const struct description *track) {
    struct buffer *packet = &perfetto->packet;
    size_t begun = begin_packet(perfetto, FLAG_NEEDS_STATE);
    size_t descriptor = protobuf_begin(packet, PACKET_TRACK);
    protobuf_put_integer(packet, TRACK_UUID, uuid);
    if (track->parent)
        protobuf_put_integer(packet, TRACK_PARENT, track->parent);
    protobuf_put_text(packet, TRACK_NAME, buffer_as_text(&track->name));
    put_ids(packet, track);
    protobuf_end(packet, descriptor);
    end_packet(perfetto, begun);
}

/* Writes the descriptors of the track and its parents that have not been written, outermost first.
 */
static void describe_track(struct perfetto *perfetto, uint64_t uuid) {
    enum { DEPTH = 4 };
    uint64_t path[DEPTH];
    struct description tracks[DEPTH];
    unsigned depth = 0;
    while (uuid && depth < DEPTH && !map_find(&perfetto->described, uuid)) {
        tracks[depth] = (struct description){0};
        describe(perfetto->trace, uuid, &tracks[depth]);
        path[depth] = uuid;
        uuid = tracks[depth++].parent;
    }
    while (depth-- > 0) {
        send_description(perfetto, path[depth], &tracks[depth]);
        check(perfetto, buffer_ok(&tracks[depth].name, perfetto->status));
        check(perfetto, map_set(&perfetto->described, path[depth], 1, perfetto->status));
        buffer_finish(&tracks[depth].name);
    }
}

/* Begins an event; fields are added to perfetto->event. */
static void perfetto_begin(struct perfetto *perfetto, unsigned type, uint64_t track) {
    describe_track(perfetto, track);
    buffer_clear(&perfetto->event);
    buffer_clear(&perfetto->interned);
    protobuf_put_integer(&perfetto->event, EVENT_TYPE, type);
    protobuf_put_integer(&perfetto->event, EVENT_TRACK, track);
}

static void perfetto_send(struct perfetto *perfetto, int64_t time) {
    struct buffer *packet = &perfetto->packet;
    size_t begun = begin_packet(perfetto, FLAG_NEEDS_STATE);
    protobuf_put_integer(packet, PACKET_TIMESTAMP, (uint64_t)time - (uint64_t)perfetto->offset);
    if (perfetto->interned.length)
        protobuf_put_text(packet, PACKET_INTERNED, buffer_as_text(&perfetto->interned));
    protobuf_put_text(packet, PACKET_TRACK_EVENT, buffer_as_text(&perfetto->event));
    end_packet(perfetto, begun);
    perfetto->failed |= perfetto->output->failed || perfetto->event.failed ||
                        perfetto->interned.failed || packet->failed;
}

/* ---- rows ---- */

/* The rows of a table, recording by recording and by time within each. */
struct sequence {
    enum trace_table table;
    size_t at, count;
    uint32_t *session; /* of each row */
    uint32_t *order;   /* NULL: the rows are in order */
    const int64_t *start, *duration;
};

static bool is_column(const struct column_info *info, const char *name) {
    return strcmp(info->name, name) == 0;
}

/* The number of a column that the schema has. */
static unsigned column_named(enum trace_table table, const char *name) {
    unsigned column = 0;
    while (!is_column(&trace_tables[table].columns[column], name))
        column++;
    return column;
}

static void put_category(struct perfetto *perfetto, uint64_t id, const char *name) {
    perfetto_intern(perfetto, INTERNED_CATEGORY, id, text_of(name));
    protobuf_put_integer(&perfetto->event, EVENT_CATEGORY_ID, id);
}

static void put_name(struct perfetto *perfetto, uint32_t string) {
    if (string == 0)
        return;
    perfetto_intern(perfetto, INTERNED_NAME, string, trace_text(perfetto->trace, string));
    protobuf_put_integer(&perfetto->event, EVENT_NAME_ID, string);
}

static size_t begin_annotation(struct perfetto *perfetto, uint64_t key, const char *name) {
    perfetto_intern(perfetto, INTERNED_KEY, key, text_of(name));
    size_t begun = protobuf_begin(&perfetto->event, EVENT_ANNOTATION);
    protobuf_put_integer(&perfetto->event, ANNOTATION_NAME_ID, key);
    return begun;
}

static void put_interned_value(struct perfetto *perfetto, uint64_t id, struct text text) {
    perfetto_intern(perfetto, INTERNED_VALUE, id, text);
    protobuf_put_integer(&perfetto->event, ANNOTATION_STRING_ID, id);
}

static void put_string(struct perfetto *perfetto, uint32_t string) {
    put_interned_value(perfetto, VALUE_BASE + 2 * (uint64_t)string,
                       trace_text(perfetto->trace, string));
}

static void put_stack(struct perfetto *perfetto, uint32_t stack) {
    uint64_t id = VALUE_BASE + 2 * (uint64_t)stack + 1;
    struct buffer text = {0};
    if (!map_find(&perfetto->sent[INTERNED_VALUE], id))
        export_stack(perfetto->trace, stack, &text);
    perfetto->failed |= text.failed;
    put_interned_value(perfetto, id, buffer_as_text(&text));
    buffer_finish(&text);
}

/* What identifies the entity outside of this trace. */
static void put_entity(struct perfetto *perfetto, enum column_type type, uint32_t id) {
    const struct trace *trace = perfetto->trace;
    if (type == COLUMN_PROCESS)
        protobuf_put_integer(&perfetto->event, ANNOTATION_UINT, trace->process.pid[id]);
    else if (type == COLUMN_THREAD)
        protobuf_put_integer(&perfetto->event, ANNOTATION_INT, (uint64_t)trace->thread.tid[id]);
    else if (type == COLUMN_DEVICE)
        put_string(perfetto, trace->device.label[id]);
    else if (type == COLUMN_QUEUE)
        protobuf_put_integer(&perfetto->event, ANNOTATION_INT, (uint64_t)trace->queue.stream[id]);
    else
        put_stack(perfetto, id);
}

static void put_value(struct perfetto *perfetto, enum trace_table table, unsigned column,
                      uint64_t bits) {
    const struct column_info *info = &trace_tables[table].columns[column];
    column_namer *names = column_names(table, column);
    struct buffer *event = &perfetto->event;
    if (names && bits < ENUMERATORS && strcmp(names((unsigned)bits), "?") != 0)
        put_interned_value(perfetto,
                           ((uint64_t)table * TABLE_COLUMNS_MAX + column) * ENUMERATORS + bits + 1,
                           text_of(names((unsigned)bits)));
    else if (info->type == COLUMN_STRING)
        put_string(perfetto, (uint32_t)bits);
    else if (info->type >= COLUMN_PROCESS)
        put_entity(perfetto, info->type, (uint32_t)bits);
    else if (info->type == COLUMN_F64)
        protobuf_put_fixed64(event, ANNOTATION_DOUBLE, bits);
    else if (info->type == COLUMN_I64 || info->type == COLUMN_TIME)
        protobuf_put_integer(event, ANNOTATION_INT, bits);
    else
        protobuf_put_integer(event, ANNOTATION_UINT, bits);
}

/* The columns that neither the event itself nor its track shows. */
static void put_columns(struct perfetto *perfetto, enum trace_table table, size_t row,
                        const char *shown_by_track) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned i = 0; i < info->column_count; i++) {
        const struct column_info *column = &info->columns[i];
        uint64_t bits = export_cell(trace_column(perfetto->trace, table, i), column, row);
        bool shown = i == 0 || is_column(column, "duration") || is_column(column, "name") ||
                     is_column(column, shown_by_track);
        bool unknown = bits == 0 || (column->type == COLUMN_U64 && bits == BYTES_UNKNOWN);
        if (shown || unknown)
            continue;
        size_t begun =
            begin_annotation(perfetto, (uint64_t)table * TABLE_COLUMNS_MAX + i + 1, column->name);
        put_value(perfetto, table, i, bits);
        protobuf_end(&perfetto->event, begun);
    }
}

/* A flow joins calls and activities of one process that have the same correlation id. An activity
 * of unknown process can have been launched by any process of its recording. */
static uint64_t flow_of(uint64_t scope, uint64_t correlation) {
    return hash_u64(correlation ^ hash_u64(scope + 1));
}

static uint64_t process_flow(uint32_t process, uint64_t correlation) {
    return flow_of((uint64_t)process << 1, correlation);
}

static uint64_t session_flow(uint32_t session, uint64_t correlation) {
    return flow_of((uint64_t)session << 1 | 1, correlation);
}

static uint64_t activity_flow(const struct trace *trace, size_t row) {
    uint32_t queue = trace->activity.queue[row], process = trace->queue.process[queue];
    uint64_t correlation = trace->activity.correlation[row];
    return process ? process_flow(process, correlation)
                   : session_flow(trace->queue_session[queue], correlation);
}

static void put_call_flow(struct perfetto *perfetto, size_t row) {
    const struct trace *trace = perfetto->trace;
    uint64_t correlation = trace->call.correlation[row];
    if (correlation == 0)
        return;
    uint32_t thread = trace->call.thread[row];
    uint64_t flows[2] = {process_flow(trace->thread.process[thread], correlation),
                         session_flow(trace->thread_session[thread], correlation)};
    for (unsigned i = 0; i < 2; i++)
        if (map_find(&perfetto->launched, flows[i]))
            protobuf_put_fixed64(&perfetto->event, EVENT_FLOW, flows[i]);
}

static void put_activity_flow(struct perfetto *perfetto, size_t row) {
    if (perfetto->trace->activity.correlation[row])
        protobuf_put_fixed64(&perfetto->event, EVENT_FLOW, activity_flow(perfetto->trace, row));
}

static bool collect_flows(struct perfetto *perfetto, struct status *status) {
    const struct trace *trace = perfetto->trace;
    for (size_t row = 0; row < trace->activity.count; row++)
        if (trace->activity.correlation[row] &&
            !map_set(&perfetto->launched, activity_flow(trace, row), 1, status))
            return false;
    return true;
}

static uint32_t sample_name(const struct trace *trace, size_t row) {
    return trace->stack.function[trace->sample.stack[row]];
}

/* Name, category and columns of one row. */
static void put_row(struct perfetto *perfetto, const struct sequence *sequence, size_t row,
                    const char *shown_by_track) {
    const struct trace *trace = perfetto->trace;
    enum trace_table table = sequence->table;
    put_category(perfetto, table + 1, trace_tables[table].name);
    if (table == TABLE_WAIT)
        protobuf_put_text(&perfetto->event, EVENT_NAME,
                          text_of(wait_kind_name(trace->wait.kind[row])));
    else if (table == TABLE_MEMORY)
        protobuf_put_text(&perfetto->event, EVENT_NAME,
                          text_of(memory_operation_name(trace->memory.operation[row])));
    else if (table == TABLE_STATE)
        protobuf_put_text(&perfetto->event, EVENT_NAME,
                          text_of(thread_state_name(trace->state.state[row])));
    else if (table == TABLE_SAMPLE)
        put_name(perfetto, sample_name(trace, row));
    else
        put_name(perfetto, (uint32_t)export_cell(
                               trace_column(trace, table, column_named(table, "name")),
                               &trace_tables[table].columns[column_named(table, "name")], row));
    put_columns(perfetto, table, row, shown_by_track);
    if (table == TABLE_CALL)
        put_call_flow(perfetto, row);
    else if (table == TABLE_ACTIVITY)
        put_activity_flow(perfetto, row);
}

/* Lane 0 of the slice's track, and the column that the track shows. */
static uint64_t slice_track(const struct trace *trace, enum trace_table table, size_t row,
                            const char **column) {
    *column = "queue";
    switch (table) {
    case TABLE_ACTIVITY:
        return track_uuid(TABLE_ACTIVITY, trace->activity.queue[row], 0);
    case TABLE_WAIT:
        return track_uuid(TABLE_WAIT, trace->wait.queue[row], 0);
    case TABLE_RANGE:
        if (trace->range.queue[row])
            return track_uuid(TABLE_RANGE, trace->range.queue[row], 0);
        *column = "thread";
        return track_uuid(TABLE_THREAD, trace->range.thread[row], 0);
    case TABLE_STATE:
        *column = "thread";
        return track_uuid(TRACK_STATES, trace->state.thread[row], 0);
    default:
        *column = "thread";
        return track_uuid(TABLE_THREAD, trace->call.thread[row], 0);
    }
}

static int64_t end_of(const struct sequence *sequence, size_t row) {
    int64_t end;
    if (__builtin_add_overflow(sequence->start[row], sequence->duration[row], &end))
        end = INT64_MAX;
    return end;
}

static void write_slice(struct perfetto *perfetto, const struct sequence *sequence, size_t row) {
    const char *column;
    uint64_t track = slice_track(perfetto->trace, sequence->table, row, &column);
    int64_t start = sequence->start[row], end = end_of(sequence, row);
    uint32_t lane = 0;
    if (!lanes_place(&perfetto->lanes, track, start, end, &lane, perfetto->status))
        perfetto->failed = true;
    track = track_uuid(track_kind(track), track_id(track), lane);
    perfetto_begin(perfetto, TYPE_BEGIN, track);
    put_row(perfetto, sequence, row, column);
    perfetto_send(perfetto, start);
    perfetto_begin(perfetto, TYPE_END, track);
    perfetto_send(perfetto, end);
}

static void write_counter(struct perfetto *perfetto, size_t row) {
    const struct columns_counter *counter = &perfetto->trace->counter;
    perfetto_begin(perfetto, TYPE_COUNTER,
                   track_uuid(TABLE_COUNTER, counter->name[row], counter->device[row]));
    protobuf_put_double(&perfetto->event, EVENT_COUNTER_DOUBLE, counter->value[row]);
    put_category(perfetto, TABLE_COUNTER + 1, "counter");
    perfetto_send(perfetto, counter->time[row]);
}

/* The running total of an allocation or release, as a counter. */
static void write_allocated(struct perfetto *perfetto, size_t row) {
    const struct columns_memory *memory = &perfetto->trace->memory;
    if (memory->allocated[row] == 0)
        return;
    perfetto_begin(perfetto, TYPE_COUNTER, track_uuid(TRACK_ALLOCATED, memory->device[row], 0));
    protobuf_put_integer(&perfetto->event, EVENT_COUNTER, memory->allocated[row]);
    perfetto_send(perfetto, memory->time[row]);
}

static void write_instant(struct perfetto *perfetto, const struct sequence *sequence, size_t row) {
    const struct trace *trace = perfetto->trace;
    uint64_t track;
    if (sequence->table == TABLE_MARK)
        track = track_uuid(TABLE_THREAD, trace->mark.thread[row], 0);
    else if (sequence->table == TABLE_MEMORY)
        track = track_uuid(TABLE_MEMORY, trace->memory.thread[row], 0);
    else
        track = track_uuid(TABLE_SAMPLE, trace->sample.thread[row], 0);
    perfetto_begin(perfetto, TYPE_INSTANT, track);
    put_row(perfetto, sequence, row, "thread");
    perfetto_send(perfetto, sequence->start[row]);
    if (sequence->table == TABLE_MEMORY)
        write_allocated(perfetto, row);
}

static uint32_t known_session(const uint32_t *sessions, uint32_t id) {
    return id ? sessions[id] : 0;
}

static uint32_t row_session(const struct trace *trace, enum trace_table table, size_t row) {
    switch (table) {
    case TABLE_ACTIVITY:
        return known_session(trace->queue_session, trace->activity.queue[row]);
    case TABLE_CALL:
        return known_session(trace->thread_session, trace->call.thread[row]);
    case TABLE_RANGE:
        return trace->range.queue[row]
                   ? known_session(trace->queue_session, trace->range.queue[row])
                   : known_session(trace->thread_session, trace->range.thread[row]);
    case TABLE_MARK:
        return known_session(trace->thread_session, trace->mark.thread[row]);
    case TABLE_WAIT:
        return known_session(trace->queue_session, trace->wait.queue[row]);
    case TABLE_MEMORY:
        return trace->memory.thread[row]
                   ? known_session(trace->thread_session, trace->memory.thread[row])
                   : known_session(trace->device_session, trace->memory.device[row]);
    case TABLE_SAMPLE:
        return known_session(trace->thread_session, trace->sample.thread[row]);
    case TABLE_STATE:
        return known_session(trace->thread_session, trace->state.thread[row]);
    default:
        return known_session(trace->device_session, trace->counter.device[row]);
    }
}

static bool sequence_open(struct sequence *sequence, struct trace *trace, enum trace_table table,
                          struct status *status) {
    const struct table_info *info = &trace_tables[table];
    *sequence = (struct sequence){.table = table, .count = trace_rows(trace, table)};
    if (!trace_load(trace, table, NULL, status))
        return false;
    sequence->start = trace_column(trace, table, 0);
    if (is_column(&info->columns[1], "duration"))
        sequence->duration = trace_column(trace, table, 1);
    sequence->session = memory_allocate(sequence->count, sizeof(uint32_t), status);
    if (!sequence->session)
        return false;
    for (size_t row = 0; row < sequence->count; row++)
        sequence->session[row] = row_session(trace, table, row);
    return sort_rows(sequence->session, trace->session_count, sequence->start, sequence->duration,
                     sequence->count, &sequence->order, status);
}

static void sequence_close(struct sequence *sequence) {
    memory_free(sequence->session);
    memory_free(sequence->order);
}

/* The next row of the recording; false when there is none. */
static bool sequence_next(const struct sequence *sequence, uint32_t session, size_t *row) {
    if (sequence->at >= sequence->count)
        return false;
    *row = sequence->order ? sequence->order[sequence->at] : sequence->at;
    return sequence->session[*row] == session;
}

static void write_sequence(struct perfetto *perfetto, struct sequence *sequence, uint32_t session) {
    size_t row;
    while (!perfetto->failed && sequence_next(sequence, session, &row)) {
        if (sequence->duration)
            write_slice(perfetto, sequence, row);
        else if (sequence->table == TABLE_COUNTER)
            write_counter(perfetto, row);
        else
            write_instant(perfetto, sequence, row);
        sequence->at++;
    }
}

/* Ranges and calls share the tracks of threads, so they are merged by time; at equal times the
 * range encloses the call. */
static void write_thread_slices(struct perfetto *perfetto, struct sequence *ranges,
                                struct sequence *calls, uint32_t session) {
    size_t range = 0, call = 0;
    while (!perfetto->failed) {
        bool any_range = sequence_next(ranges, session, &range);
        bool any_call = sequence_next(calls, session, &call);
        if (!any_range && !any_call)
            break;
        bool range_first = any_range;
        if (any_range && any_call)
            range_first = ranges->start[range] != calls->start[call]
                              ? ranges->start[range] < calls->start[call]
                              : ranges->duration[range] >= calls->duration[call];
        struct sequence *next = range_first ? ranges : calls;
        write_slice(perfetto, next, range_first ? range : call);
        next->at++;
    }
}

/* Timestamps are unsigned: where the first event is before zero, times count from it. */
static bool find_offset(struct perfetto *perfetto, struct status *status) {
    struct trace *trace = perfetto->trace;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const char *name = trace_tables[table].columns[0].name;
        if (!trace_load(trace, table, name, status))
            return false;
        const int64_t *times = trace_column(trace, table, 0);
        for (size_t row = 0; row < trace_rows(trace, table); row++)
            if (times[row] < perfetto->offset)
                perfetto->offset = times[row];
        trace_unload(trace, table, name);
    }
    return true;
}

static bool write_recordings(struct perfetto *perfetto, struct sequence *sequences,
                             struct status *status) {
    struct trace *trace = perfetto->trace;
    for (unsigned table = TABLE_ACTIVITY; table < TABLES; table++)
        if (!sequence_open(&sequences[table], trace, table, status))
            return false;
    if (!collect_flows(perfetto, status))
        return false;
    begin_sequence(perfetto);
    uint32_t sessions = trace->session_count ? trace->session_count : 1;
    for (uint32_t session = 0; session < sessions && !perfetto->failed; session++) {
        write_sequence(perfetto, &sequences[TABLE_ACTIVITY], session);
        write_thread_slices(perfetto, &sequences[TABLE_RANGE], &sequences[TABLE_CALL], session);
        for (unsigned table = TABLE_MARK; table < TABLES; table++)
            write_sequence(perfetto, &sequences[table], session);
    }
    return !perfetto->failed;
}

bool export_perfetto(struct trace *trace, const struct export_options *options,
                     struct output *output, struct status *status) {
    struct perfetto perfetto = {.trace = trace, .output = output, .status = status};
    struct sequence sequences[TABLE_COUNT] = {0};
    (void)options;
    if (trace->device.count > TRACK_LANES)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%zu devices are too many for a Perfetto trace",
                           trace->device.count - 1);
    *status = (struct status){0};
    bool ok = find_offset(&perfetto, status) && write_recordings(&perfetto, sequences, status);
    if (!ok && status->code == STATUS_OK) {
        if (output->failed)
            *status = output->why;
        else
            status_no_memory(status);
    }
    for (unsigned table = TABLE_ACTIVITY; table < TABLES; table++) {
        sequence_close(&sequences[table]);
        export_unload(trace, table);
    }
    lanes_finish(&perfetto.lanes);
    for (unsigned kind = 0; kind < INTERNED_KINDS; kind++)
        map_finish(&perfetto.sent[kind]);
    map_finish(&perfetto.described);
    map_finish(&perfetto.launched);
    buffer_finish(&perfetto.event);
    buffer_finish(&perfetto.interned);
    buffer_finish(&perfetto.packet);
    return ok;
}
