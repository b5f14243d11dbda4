/* The trace as a native Perfetto trace: slices, instants and counters on tracks, with every column
 * as a debug annotation, and flows from calls to the activities that they launched. The layout is
 * in perfetto_layout.h. Events leave in order of time, since viewers break ties between the slices
 * of a track by their order in the file; where that is not the order of rows, each event carries
 * its row, and the importer puts them back. */
#include "base/protobuf.h"
#include "export/perfetto_tracks.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "base/sort.h"
#include "export/lanes.h"

/* Ids of interned values: enumerators first, then the trace's strings. */
enum { ENUMERATORS = 8, STRING_BASE = TABLE_COUNT * TABLE_COLUMNS_MAX * ENUMERATORS + 1 };
enum { KEY_ID = TABLE_COUNT * TABLE_COLUMNS_MAX + 1, KEY_ROW, KEY_VERSION, KEY_OFFSET };
enum { CATEGORY_HEADER = TABLE_COUNT + 1 };

/* The rows of a table, recording by recording and by time within each. */
struct sequence {
    enum trace_table table;
    size_t at, count;
    uint32_t *session; /* of each row */
    uint32_t *order;   /* NULL: as they stand */
    const int64_t *start, *duration;
};

struct writing {
    struct perfetto perfetto;
    struct lanes lanes;
    struct map launched; /* flow ids that activities have */
    int64_t first;       /* the earliest time */
};

static bool is_column(const struct column_info *info, const char *name) {
    return strcmp(info->name, name) == 0;
}

/* The number of the column, which the schema has. */
static unsigned column_called(enum trace_table table, const char *name) {
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

static void put_number(struct perfetto *perfetto, uint64_t key, const char *name, uint32_t field,
                       uint64_t value) {
    size_t begun = begin_annotation(perfetto, key, name);
    protobuf_put_integer(&perfetto->event, field, value);
    protobuf_end(&perfetto->event, begun);
}

static void put_interned_value(struct perfetto *perfetto, uint64_t id, struct text text) {
    perfetto_intern(perfetto, INTERNED_VALUE, id, text);
    protobuf_put_integer(&perfetto->event, ANNOTATION_STRING_ID, id);
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
        put_interned_value(perfetto, bits + STRING_BASE,
                           trace_text(perfetto->trace, (uint32_t)bits));
    else if (info->type == COLUMN_F64)
        protobuf_put_fixed64(event, ANNOTATION_DOUBLE, bits);
    else if (info->type == COLUMN_I64 || info->type == COLUMN_TIME)
        protobuf_put_integer(event, ANNOTATION_INT, bits);
    else if (info->type == COLUMN_U64 && bits == BYTES_UNKNOWN)
        protobuf_put_text(event, ANNOTATION_STRING, TEXT(PERFETTO_UNKNOWN));
    else
        protobuf_put_integer(event, ANNOTATION_UINT, bits);
}

/* The columns that are not told by the event itself or by its track. */
static void put_columns(struct perfetto *perfetto, enum trace_table table, size_t row,
                        const char *told_by_track) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned i = 0; i < info->column_count; i++) {
        const struct column_info *column = &info->columns[i];
        uint64_t bits = export_cell(trace_column(perfetto->trace, table, i), column, row);
        bool event = table >= TABLE_ACTIVITY;
        bool told = event && (i == 0 || is_column(column, "duration") ||
                              is_column(column, "name") || is_column(column, told_by_track));
        if (bits == 0 || told)
            continue;
        size_t begun =
            begin_annotation(perfetto, (uint64_t)table * TABLE_COLUMNS_MAX + i + 1, column->name);
        put_value(perfetto, table, i, bits);
        protobuf_end(&perfetto->event, begun);
    }
}

/* Calls and activities of one process that share a correlation id are joined by a flow; an activity
 * whose process is not known may have been launched by any of its recording. */
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

static void put_call_flow(struct writing *writing, size_t row) {
    const struct trace *trace = writing->perfetto.trace;
    uint64_t correlation = trace->call.correlation[row];
    if (correlation == 0)
        return;
    uint32_t thread = trace->call.thread[row];
    uint64_t flows[2] = {process_flow(trace->thread.process[thread], correlation),
                         session_flow(trace->thread_session[thread], correlation)};
    for (unsigned i = 0; i < 2; i++)
        if (map_find(&writing->launched, flows[i]))
            protobuf_put_fixed64(&writing->perfetto.event, EVENT_FLOW, flows[i]);
}

static void put_activity_flow(struct writing *writing, size_t row) {
    if (writing->perfetto.trace->activity.correlation[row])
        protobuf_put_fixed64(&writing->perfetto.event, EVENT_FLOW,
                             activity_flow(writing->perfetto.trace, row));
}

static bool collect_flows(struct writing *writing, struct status *status) {
    const struct trace *trace = writing->perfetto.trace;
    for (size_t row = 0; row < trace->activity.count; row++)
        if (trace->activity.correlation[row] &&
            !map_set(&writing->launched, activity_flow(trace, row), 1, status))
            return false;
    return true;
}

static uint32_t sample_name(const struct trace *trace, size_t row) {
    return trace->stack.function[trace->sample.stack[row]];
}

/* Name, category and columns of one row. */
static void put_row(struct writing *writing, const struct sequence *sequence, size_t row,
                    const char *told_by_track) {
    struct perfetto *perfetto = &writing->perfetto;
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
                               trace_column(trace, table, column_called(table, "name")),
                               &trace_tables[table].columns[column_called(table, "name")], row));
    if (sequence->order)
        put_number(perfetto, KEY_ROW, PERFETTO_ROW, ANNOTATION_UINT, row);
    if (table != TABLE_COUNTER)
        put_columns(perfetto, table, row, told_by_track);
    if (table == TABLE_CALL)
        put_call_flow(writing, row);
    else if (table == TABLE_ACTIVITY)
        put_activity_flow(writing, row);
}

/* The track of a slice, lane 0, and which column that tells. */
static uint64_t slice_track(const struct trace *trace, enum trace_table table, size_t row,
                            const char **tells) {
    *tells = "queue";
    switch (table) {
    case TABLE_ACTIVITY:
        return track_uuid(TABLE_ACTIVITY, trace->activity.queue[row], 0);
    case TABLE_WAIT:
        return track_uuid(TABLE_WAIT, trace->wait.queue[row], 0);
    case TABLE_RANGE:
        if (trace->range.queue[row])
            return track_uuid(TABLE_RANGE, trace->range.queue[row], 0);
        *tells = "thread";
        return track_uuid(TABLE_THREAD, trace->range.thread[row], 0);
    case TABLE_STATE:
        *tells = "thread";
        return track_uuid(TRACK_STATES, trace->state.thread[row], 0);
    default:
        *tells = "thread";
        return track_uuid(TABLE_THREAD, trace->call.thread[row], 0);
    }
}

static int64_t end_of(const struct sequence *sequence, size_t row) {
    int64_t end;
    if (__builtin_add_overflow(sequence->start[row], sequence->duration[row], &end))
        end = INT64_MAX;
    return end;
}

static void write_slice(struct writing *writing, const struct sequence *sequence, size_t row) {
    struct perfetto *perfetto = &writing->perfetto;
    const char *tells;
    uint64_t track = slice_track(perfetto->trace, sequence->table, row, &tells);
    int64_t start = sequence->start[row], end = end_of(sequence, row);
    uint32_t lane = 0;
    if (!lanes_place(&writing->lanes, track, start, end, &lane, perfetto->status))
        perfetto->failed = true;
    track = track_uuid(track_kind(track), track_id(track), lane);
    perfetto_begin(perfetto, TYPE_BEGIN, track);
    put_row(writing, sequence, row, tells);
    perfetto_send(perfetto, start);
    perfetto_begin(perfetto, TYPE_END, track);
    perfetto_send(perfetto, end);
}

static void write_counter(struct writing *writing, const struct sequence *sequence, size_t row) {
    struct perfetto *perfetto = &writing->perfetto;
    const struct columns_counter *counter = &perfetto->trace->counter;
    perfetto_begin(perfetto, TYPE_COUNTER,
                   track_uuid(TABLE_COUNTER, counter->name[row], counter->device[row]));
    protobuf_put_double(&perfetto->event, EVENT_COUNTER_DOUBLE, counter->value[row]);
    put_category(perfetto, TABLE_COUNTER + 1, "counter");
    if (sequence->order)
        put_number(perfetto, KEY_ROW, PERFETTO_ROW, ANNOTATION_UINT, row);
    perfetto_send(perfetto, counter->time[row]);
}

/* A drawing of the totals that the rows carry; the importer leaves it out. */
static void write_allocated(struct writing *writing, size_t row) {
    struct perfetto *perfetto = &writing->perfetto;
    const struct columns_memory *memory = &perfetto->trace->memory;
    if (memory->allocated[row] == 0)
        return;
    perfetto_begin(perfetto, TYPE_COUNTER, track_uuid(TRACK_ALLOCATED, memory->device[row], 0));
    protobuf_put_integer(&perfetto->event, EVENT_COUNTER, memory->allocated[row]);
    perfetto_send(perfetto, memory->time[row]);
}

static void write_instant(struct writing *writing, const struct sequence *sequence, size_t row) {
    struct perfetto *perfetto = &writing->perfetto;
    const struct trace *trace = perfetto->trace;
    uint64_t track;
    if (sequence->table == TABLE_MARK)
        track = track_uuid(TABLE_THREAD, trace->mark.thread[row], 0);
    else if (sequence->table == TABLE_MEMORY)
        track = track_uuid(TABLE_MEMORY, trace->memory.thread[row], 0);
    else
        track = track_uuid(TABLE_SAMPLE, trace->sample.thread[row], 0);
    perfetto_begin(perfetto, TYPE_INSTANT, track);
    put_row(writing, sequence, row, "thread");
    perfetto_send(perfetto, sequence->start[row]);
    if (sequence->table == TABLE_MEMORY)
        write_allocated(writing, row);
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

static void write_sequence(struct writing *writing, struct sequence *sequence, uint32_t session) {
    size_t row;
    while (!writing->perfetto.failed && sequence_next(sequence, session, &row)) {
        if (sequence->duration)
            write_slice(writing, sequence, row);
        else if (sequence->table == TABLE_COUNTER)
            write_counter(writing, sequence, row);
        else
            write_instant(writing, sequence, row);
        sequence->at++;
    }
}

/* Ranges and calls share the tracks of threads, so they leave in one order of time; at equal times
 * a range is taken to be around the call. */
static void write_thread_slices(struct writing *writing, struct sequence *ranges,
                                struct sequence *calls, uint32_t session) {
    size_t range = 0, call = 0;
    while (!writing->perfetto.failed) {
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
        write_slice(writing, next, range_first ? range : call);
        next->at++;
    }
}

static void write_entities(struct writing *writing, enum trace_table table,
                           const uint32_t *sessions, uint32_t session) {
    struct perfetto *perfetto = &writing->perfetto;
    const struct trace *trace = perfetto->trace;
    for (size_t id = 1; id < trace_rows(trace, table) && !perfetto->failed; id++) {
        if (sessions && sessions[id] != session)
            continue;
        perfetto_begin(perfetto, TYPE_INSTANT, track_uuid(TRACK_NOTES, 0, 0));
        put_category(perfetto, table + 1, trace_tables[table].name);
        protobuf_put_text(&perfetto->event, EVENT_NAME, text_of(trace_tables[table].name));
        put_number(perfetto, KEY_ID, PERFETTO_ID, ANNOTATION_UINT, id);
        put_columns(perfetto, table, id, "");
        perfetto_send(perfetto, writing->first);
    }
}

static void write_meta(struct writing *writing) {
    struct perfetto *perfetto = &writing->perfetto;
    const struct trace *trace = perfetto->trace;
    struct buffer key = {0};
    for (size_t row = 0; row < trace->meta.count && !perfetto->failed; row++) {
        if (!export_meta_key(trace, row, &key))
            continue;
        perfetto_begin(perfetto, TYPE_INSTANT, track_uuid(TRACK_NOTES, 0, 0));
        put_category(perfetto, TABLE_META + 1, "meta");
        protobuf_put_text(&perfetto->event, EVENT_NAME, buffer_as_text(&key));
        size_t value = begin_annotation(perfetto, 2, "value");
        protobuf_put_text(&perfetto->event, ANNOTATION_STRING,
                          trace_text(trace, trace->meta.value[row]));
        protobuf_end(&perfetto->event, value);
        perfetto_send(perfetto, writing->first);
    }
    perfetto->failed |= key.failed;
    buffer_finish(&key);
}

static void write_header(struct writing *writing, uint32_t session, bool stacks) {
    struct perfetto *perfetto = &writing->perfetto;
    const struct trace *trace = perfetto->trace;
    perfetto_begin(perfetto, TYPE_INSTANT, track_uuid(TRACK_NOTES, 0, 0));
    put_category(perfetto, CATEGORY_HEADER, PERFETTO_HEADER);
    protobuf_put_text(&perfetto->event, EVENT_NAME, TEXT(PERFETTO_HEADER));
    put_number(perfetto, KEY_VERSION, PERFETTO_VERSION, ANNOTATION_UINT, PERFETTO_LAYOUT_VERSION);
    put_number(perfetto, KEY_OFFSET, PERFETTO_OFFSET, ANNOTATION_INT, (uint64_t)perfetto->offset);
    perfetto_send(perfetto, writing->first);
    if (session == 0)
        write_meta(writing);
    write_entities(writing, TABLE_PROCESS, trace->process_session, session);
    write_entities(writing, TABLE_THREAD, trace->thread_session, session);
    write_entities(writing, TABLE_DEVICE, trace->device_session, session);
    write_entities(writing, TABLE_QUEUE, trace->queue_session, session);
    if (stacks)
        write_entities(writing, TABLE_STACK, NULL, session);
}

static bool find_first(struct writing *writing, struct status *status) {
    struct trace *trace = writing->perfetto.trace;
    bool any = false;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const char *name = trace_tables[table].columns[0].name;
        if (!trace_load(trace, table, name, status))
            return false;
        const int64_t *times = trace_column(trace, table, 0);
        for (size_t row = 0; row < trace_rows(trace, table); row++)
            if (!any || times[row] < writing->first) {
                writing->first = times[row];
                any = true;
            }
        trace_unload(trace, table, name);
    }
    writing->perfetto.offset = writing->first < 0 ? writing->first : 0;
    return true;
}

static bool write_recordings(struct writing *writing, struct sequence *sequences,
                             struct status *status) {
    struct trace *trace = writing->perfetto.trace;
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (!sequence_open(&sequences[table], trace, table, status))
            return false;
    if (!collect_flows(writing, status))
        return false;
    uint32_t sessions = trace->session_count ? trace->session_count : 1;
    for (uint32_t session = 0; session < sessions && !writing->perfetto.failed; session++) {
        size_t row;
        write_header(writing, session, sequence_next(&sequences[TABLE_SAMPLE], session, &row));
        write_sequence(writing, &sequences[TABLE_ACTIVITY], session);
        write_thread_slices(writing, &sequences[TABLE_RANGE], &sequences[TABLE_CALL], session);
        for (unsigned table = TABLE_MARK; table < TABLE_COUNT; table++)
            write_sequence(writing, &sequences[table], session);
    }
    return !writing->perfetto.failed;
}

bool export_perfetto(struct trace *trace, const struct export_options *options,
                     struct output *output, struct status *status) {
    struct writing writing = {
        .perfetto = {.trace = trace, .output = output, .status = status},
    };
    struct sequence sequences[TABLE_COUNT] = {0};
    (void)options;
    if (trace->device.count > TRACK_LANES)
        return status_fail(status, STATUS_UNSUPPORTED, "%zu devices are too many for Perfetto",
                           trace->device.count - 1);
    *status = (struct status){0};
    bool ok = find_first(&writing, status) && write_recordings(&writing, sequences, status);
    if (!ok && status->code == STATUS_OK)
        output->failed ? (void)(*status = output->why) : (void)status_no_memory(status);
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        sequence_close(&sequences[table]);
        export_unload(trace, table);
    }
    lanes_finish(&writing.lanes);
    map_finish(&writing.launched);
    perfetto_finish(&writing.perfetto);
    return ok;
}
