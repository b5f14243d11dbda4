/* Dispatches the spool's records: events to spool_events.c, names and entities to spool_entities.c.
 * Losses, clocks, metadata, pauses and the end of a process are handled here.
 */
#include "record/spool_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "record/spool_events.h"

void spool_rows_init(struct spool_rows *rows, const struct spool_reader *reader,
                     struct trace_writer *writer, struct processes *processes,
                     struct gpu_counters *gpus) {
    *rows = (struct spool_rows){.from = INT64_MIN, .until = INT64_MAX, .clock_error = -1};
    rows->entities.reader = reader;
    rows->entities.writer = writer;
    rows->entities.processes = processes;
    rows->entities.gpus = gpus;
}

/* ---- Pauses ------------------------------------------------------------------------------ */

/* A probe reports a pause when it begins, and again with its end. The two may come from different
 * threads and so in either order: a pause that began no later than the latest that has ended is not
 * open. Between two pauses the process captures. The first pause begins with the process's first
 * record. */

static void write_pause(struct spool_rows *rows, uint32_t thread, int64_t start, int64_t end) {
    struct trace_writer *writer = rows->entities.writer;
    if (start < rows->from)
        start = rows->from;
    if (end > rows->until)
        end = rows->until;
    if (start >= end)
        return;
    trace_write_range(writer, &(struct row_range){
                                  .start = start,
                                  .duration = end - start,
                                  .thread = thread,
                                  .name = trace_writer_string(writer, TEXT(RANGE_PAUSED)),
                                  .category = RANGE_OVERHEAD,
                              });
}

/* The earliest open capture of all processes. */
static void find_open_capture(struct spool_rows *rows) {
    int64_t from = 0;
    for (size_t i = 0; i < rows->entities.process_state_capacity; i++) {
        const struct spool_process_state *state = rows->entities.process_states[i];
        if (state && state->pause.captures_from && (from == 0 || state->pause.captures_from < from))
            from = state->pause.captures_from;
    }
    rows->captures.open_from = from;
}

static bool end_capture(struct spool_rows *rows, struct spool_process_state *state, int64_t time,
                        struct status *status) {
    int64_t from = state->pause.captures_from;
    state->pause.captures_from = 0;
    find_open_capture(rows);
    return !from || captures_add(&rows->captures, (struct capture){from, time}, status);
}

/* A pause has ended. Its begin record may be missing, and later pauses may already be known. */
static bool begin_capture(struct spool_rows *rows, struct spool_process_state *state,
                          const struct spool_paused *paused, struct status *status) {
    struct spool_pause *pause = &state->pause;
    if (pause->captures_from && pause->captures_from <= paused->start &&
        !end_capture(rows, state, paused->start, status))
        return false;
    int64_t next = pause->last > paused->end ? pause->last : pause->since;
    if (next > paused->end)
        return captures_add(&rows->captures, (struct capture){paused->end, next}, status);
    pause->captures_from = paused->end;
    find_open_capture(rows);
    return true;
}

static bool handle_paused(const struct spool_origin *origin, const struct spool_paused *paused) {
    struct spool_rows *rows = origin->rows;
    struct spool_process_state *state =
        spool_process_state(&rows->entities, origin->process, origin->status);
    int64_t end = paused->end ? paused->end : paused->start;
    if (!state)
        return false;
    if (!spool_check_span(rows, paused->start, end))
        return true;
    if (!paused->end) {
        state->pause.thread = origin->lane->thread;
        if (paused->start <= state->pause.last)
            return true;
        state->pause.since = paused->start;
        return end_capture(rows, state, paused->start, origin->status);
    }
    write_pause(rows, origin->lane->thread, paused->start, end);
    if (paused->start > state->pause.last)
        state->pause.last = paused->start;
    if (state->pause.since <= state->pause.last)
        state->pause.since = 0;
    return begin_capture(rows, state, paused, origin->status);
}

/* The process ended at `time`, and so did its pause. */
static void end_pause(struct spool_rows *rows, struct spool_process_state *state, int64_t time) {
    struct status ignored; /* when out of memory its last samples are not written */
    end_capture(rows, state, time, &ignored);
    if (state->pause.since)
        write_pause(rows, state->pause.thread, state->pause.since, time);
    state->pause.since = 0;
}

/* ---- Records ----------------------------------------------------------------------------- */

static bool handle_clock(const struct spool_origin *origin, const struct spool_clock *clock) {
    struct spool_rows *rows = origin->rows;
    if (clock->error_ns < 0 || clock->error_ns > TRACE_TIME_LIMIT)
        rows->invalid++;
    else if (clock->error_ns > rows->clock_error)
        rows->clock_error = clock->error_ns;
    return true;
}

/* Pairs that many processes report are written once. */
static bool write_meta(const struct spool_origin *origin, struct text key, struct text value) {
    struct spool_rows *rows = origin->rows;
    struct buffer pair = {0};
    uint32_t id, before = (uint32_t)rows->metas.count;
    buffer_printf(&pair, "%.*s=%.*s", TEXT_ARGS(key), TEXT_ARGS(value));
    bool ok = buffer_ok(&pair, origin->status) &&
              intern_add(&rows->metas, buffer_as_text(&pair), &id, origin->status);
    if (ok && id >= before && key.length < SPOOL_TEXT_MAX) {
        char name[SPOOL_TEXT_MAX + 1];
        snprintf(name, sizeof name, "%.*s", TEXT_ARGS(key));
        trace_writer_meta(origin->rows->entities.writer, name, value);
    }
    buffer_finish(&pair);
    return ok;
}

static bool handle_dropped(const struct spool_origin *origin, const struct spool_dropped *dropped) {
    struct text why = spool_origin_text(origin, dropped->head.text);
    uint64_t count = dropped->count < INT64_MAX / 2 ? dropped->count : 0;
    origin->rows->invalid += count != dropped->count;
    origin->rows->dropped += count;
    trace_writer_dropped(origin->rows->entities.writer, count);
    return why.length == 0 || write_meta(origin, TEXT(META_WARNING), why);
}

/* Keys that change how the trace is interpreted are written by the recorder only. */
static bool is_reserved(struct text key) {
    return text_starts(key, "clock.") || text_starts(key, "source.") || text_is(key, META_DROPS);
}

/* Begin and end come from different threads, so they may arrive in either order. */
static void update_takeover(struct takeover *takeover, struct text value, bool begins) {
    int64_t time;
    if (!text_to_i64(value, &time) || time < 0 || time > TRACE_TIME_LIMIT)
        return;
    if (begins && (takeover->begun++ == 0 || time < takeover->first))
        takeover->first = time;
    if (!begins && (takeover->ended++ == 0 || time > takeover->last_end))
        takeover->last_end = time;
}

/* "RANK LOCAL_RANK WORLD_SIZE", as the process itself knows them; -1: unknown. */
static bool handle_place(const struct spool_origin *origin, struct text value) {
    struct spool_rows *rows = origin->rows;
    const struct spool_process *known =
        spool_reader_process(rows->entities.reader, origin->process);
    long long rank, local_rank, world_size;
    char words[80];
    snprintf(words, sizeof words, "%.*s", (int)MIN(value.length, sizeof words - 1), value.data);
    if (known && sscanf(words, "%lld %lld %lld", &rank, &local_rank, &world_size) == 3)
        processes_place(rows->entities.processes, known->pid,
                        (struct job_place){rank, local_rank, world_size});
    else
        rows->invalid++;
    return true;
}

static bool handle_meta(const struct spool_origin *origin, const struct spool_meta *meta) {
    struct spool_rows *rows = origin->rows;
    struct text key = spool_origin_text(origin, meta->head.text),
                value = spool_origin_text(origin, meta->value);
    struct spool_process_state *state =
        spool_process_state(&rows->entities, origin->process, origin->status);
    int64_t cost;
    if (!state)
        return false;
    if (text_is(key, "probe.cost_ns")) {
        if (text_to_i64(value, &cost) && cost >= 0 && cost < TRACE_TIME_LIMIT)
            state->cost_ns = cost;
        return true;
    }
    if (text_is(key, "probe.place"))
        return handle_place(origin, value);
    apis_meta(&rows->apis, key);
    if (text_is(key, "cuda.missing"))
        snprintf(rows->missing, sizeof rows->missing, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.incomplete"))
        snprintf(rows->incomplete, sizeof rows->incomplete, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "python.lines_off"))
        snprintf(rows->python_off, sizeof rows->python_off, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.refused"))
        snprintf(rows->refused, sizeof rows->refused, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.taken_over"))
        snprintf(rows->takeover.library, sizeof rows->takeover.library, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.taken_over_at"))
        update_takeover(&rows->takeover, value, true);
    if (text_is(key, "cuda.given_back_at"))
        update_takeover(&rows->takeover, value, false);
    return is_reserved(key) || write_meta(origin, key, value);
}

static bool handle_code(const struct spool_origin *origin, const struct spool_code *code) {
    return spool_stacks_code(&origin->lane->stacks, code,
                             spool_origin_string(origin, code->head.text),
                             spool_origin_string(origin, code->file),
                             spool_origin_text(origin, code->file), origin->status);
}

static bool handle_record(const struct spool_origin *origin, const struct spool_head *record) {
    const void *whole = record;
    struct spool_entities *entities = &origin->rows->entities;
    switch (record->kind) {
    case SPOOL_TEXT:
        spool_entity_reset_string(origin->lane, record->text);
        return true;
    case SPOOL_THREAD:
        return spool_entity_set_thread(entities, origin->lane, whole,
                                       spool_origin_string(origin, record->text), origin->status);
    case SPOOL_CALL:
        return spool_handle_call(origin, whole);
    case SPOOL_KERNEL:
        return spool_handle_kernel(origin, whole);
    case SPOOL_COPY:
        return spool_handle_copy(origin, whole);
    case SPOOL_RANGE:
        return spool_handle_range(origin, whole);
    case SPOOL_RANGE_OPEN:
        return spool_handle_range_begin(origin, whole);
    case SPOOL_RANGE_END:
        return spool_handle_range_end(origin, whole);
    case SPOOL_MARK:
        return spool_handle_mark(origin, whole);
    case SPOOL_WAIT:
        return spool_handle_wait(origin, whole);
    case SPOOL_MEMORY:
        return spool_handle_memory(origin, whole);
    case SPOOL_ALLOCATION:
        return spool_handle_allocation(origin, whole);
    case SPOOL_DEVICE: {
        const struct spool_device *device = whole;
        return spool_entity_add_device(entities, origin->process, device,
                                       spool_origin_text(origin, record->text),
                                       spool_origin_text(origin, device->vendor), origin->status);
    }
    case SPOOL_QUEUE: {
        const struct spool_queue *named = whole;
        return spool_entity_queue(entities, origin->process, named->device, named->context,
                                  named->stream, spool_origin_string(origin, record->text),
                                  origin->status);
    }
    case SPOOL_CLOCK:
        return handle_clock(origin, whole);
    case SPOOL_DROPPED:
        return handle_dropped(origin, whole);
    case SPOOL_META:
        return handle_meta(origin, whole);
    case SPOOL_PAUSED:
        return handle_paused(origin, whole);
    case SPOOL_CODE:
        return handle_code(origin, whole);
    case SPOOL_CODE_LINES:
        return spool_stacks_lines(&origin->lane->stacks, whole);
    case SPOOL_FRAME:
        return spool_stacks_frame(&origin->lane->stacks, &entities->frames, whole, entities->writer,
                                  origin->status);
    case SPOOL_COLLECTIVE:
        return spool_handle_collective(origin, whole);
    case SPOOL_QUEUE_RANGE:
        return spool_handle_queue_range(origin, whole);
    default:
        origin->rows->invalid++;
        return true;
    }
}

bool spool_rows_handle(void *context, unsigned process, unsigned lane,
                       const struct spool_head *record, struct status *status) {
    struct spool_rows *rows = context;
    struct spool_origin origin = {.rows = rows, .process = process, .lane_number = lane};
    if (rows->stopped || trace_writer_failed(rows->entities.writer)) {
        rows->skipped += record->kind != SPOOL_TEXT && record->kind != SPOOL_THREAD;
        return true;
    }
    origin.status = status;
    origin.lane = spool_lane_state(&rows->entities, process, lane, status);
    /* a failed writer returns no ids, but draining continues */
    return origin.lane &&
           (handle_record(&origin, record) || trace_writer_failed(rows->entities.writer));
}

static void write_pending_calls(struct spool_rows *rows) {
    struct status ignored = {0};
    for (size_t i = 0; i < rows->entities.lane_capacity && rows->entities.reader; i++) {
        struct spool_lane_state *lane = rows->entities.lanes[i];
        if (!lane)
            continue;
        struct spool_origin origin = {rows, lane->process, (unsigned)i, lane, &ignored};
        spool_finish_pending_call(&origin);
    }
}

static bool has_ended(const struct spool_process *process) {
    return process->ended || (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH);
}

void spool_rows_find_ended(struct spool_rows *rows, int64_t pid, int64_t pid_ended, int64_t now) {
    for (unsigned i = 0; i < rows->entities.process_state_capacity; i++) {
        struct spool_process_state *state = rows->entities.process_states[i];
        const struct spool_process *known =
            state && !state->ended_at ? spool_reader_process(rows->entities.reader, i) : NULL;
        if (known && known->pid == pid)
            state->ended_at = pid_ended;
        else if (known && has_ended(known))
            state->ended_at = now;
    }
}

void spool_rows_close_ended(struct spool_rows *rows) {
    for (unsigned i = 0; i < rows->entities.process_state_capacity; i++) {
        struct spool_process_state *state = rows->entities.process_states[i];
        if (!state || !state->ended_at || state->closed)
            continue;
        spool_ranges_end(&rows->ranges, rows->entities.writer, i, state->ended_at);
        end_pause(rows, state, state->ended_at);
        state->closed = true;
    }
}

void spool_rows_end(struct spool_rows *rows, int64_t time) {
    struct trace_writer *writer = rows->entities.writer;
    write_pending_calls(rows);
    for (unsigned i = 0; i < rows->entities.process_state_capacity; i++)
        if (rows->entities.process_states[i] && !rows->entities.process_states[i]->ended_at)
            rows->entities.process_states[i]->ended_at = time;
    spool_rows_close_ended(rows);
    if (rows->clock_error >= 0)
        trace_writer_meta_integer(writer, META_CLOCK_ERROR, rows->clock_error);
    if (rows->ranges.never_ended)
        trace_writer_meta_integer(writer, "ranges.never_ended", (int64_t)rows->ranges.never_ended);
    if (rows->ranges.never_begun)
        trace_writer_meta_integer(writer, "ranges.never_begun", (int64_t)rows->ranges.never_begun);
}

int64_t spool_rows_probe_cost(const struct spool_rows *rows) {
    int64_t sum = -1;
    for (size_t i = 0; i < rows->entities.process_state_capacity; i++) {
        const struct spool_process_state *state = rows->entities.process_states[i];
        if (state && state->cost_ns >= 0)
            sum = (sum < 0 ? 0 : sum) + state->cost_ns;
    }
    return sum;
}

void spool_rows_finish(struct spool_rows *rows) {
    spool_entities_finish(&rows->entities);
    spool_ranges_finish(&rows->ranges);
    intern_finish(&rows->metas);
    captures_finish(&rows->captures);
}
