/* Which record is what? Events go to record/spool_events.c, names and places to
 * record/spool_entities.c; what a process tells of itself (losses, clocks, facts) is taken here,
 * and so is its end.
 */
#include "record/spool_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "record/spool_events.h"

void spool_rows_init(struct spool_rows *rows, const struct spool_reader *reader,
                     struct trace_writer *writer, struct processes *processes, struct gpus *gpus) {
    *rows = (struct spool_rows){.from = INT64_MIN, .until = INT64_MAX, .clock_error = -1};
    rows->places.reader = reader;
    rows->places.writer = writer;
    rows->places.processes = processes;
    rows->places.gpus = gpus;
}

/* ---- Pauses ---------------------------------------------------------------------------------- */

/* A probe reports a pause when it begins, and again with its end. The two may come from different
 * threads and so in either order: a pause that began no later than the latest that has ended is not
 * open. Between two pauses the process captures. The first pause begins with the process's first
 * record. */

static void write_pause(struct spool_rows *rows, uint32_t thread, int64_t start, int64_t end) {
    struct trace_writer *writer = rows->places.writer;
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

/* The earliest of all processes. */
static void find_open_capture(struct spool_rows *rows) {
    int64_t from = 0;
    for (size_t i = 0; i < rows->places.member_capacity; i++) {
        const struct spool_place_process *member = rows->places.members[i];
        if (member && member->pause.captures_from &&
            (from == 0 || member->pause.captures_from < from))
            from = member->pause.captures_from;
    }
    rows->captures.open_from = from;
}

static bool end_capture(struct spool_rows *rows, struct spool_place_process *member, int64_t time,
                        struct status *status) {
    int64_t from = member->pause.captures_from;
    member->pause.captures_from = 0;
    find_open_capture(rows);
    return !from || captures_add(&rows->captures, (struct capture){from, time}, status);
}

/* A pause has ended. Its beginning may not be known yet, and later pauses may be known already. */
static bool begin_capture(struct spool_rows *rows, struct spool_place_process *member,
                          const struct spool_paused *paused, struct status *status) {
    struct spool_pause *pause = &member->pause;
    if (pause->captures_from && pause->captures_from <= paused->start &&
        !end_capture(rows, member, paused->start, status))
        return false;
    int64_t next = pause->last > paused->end ? pause->last : pause->since;
    if (next > paused->end)
        return captures_add(&rows->captures, (struct capture){paused->end, next}, status);
    pause->captures_from = paused->end;
    find_open_capture(rows);
    return true;
}

static bool spool_take_paused(const struct spool_origin *origin,
                              const struct spool_paused *paused) {
    struct spool_rows *rows = origin->rows;
    struct spool_place_process *member =
        spool_place_process(&rows->places, origin->process, origin->status);
    int64_t end = paused->end ? paused->end : paused->start;
    if (!member)
        return false;
    if (!spool_is_span(rows, paused->start, end))
        return true;
    if (!paused->end) {
        member->pause.thread = origin->lane->thread;
        if (paused->start <= member->pause.last)
            return true;
        member->pause.since = paused->start;
        return end_capture(rows, member, paused->start, origin->status);
    }
    write_pause(rows, origin->lane->thread, paused->start, end);
    if (paused->start > member->pause.last)
        member->pause.last = paused->start;
    if (member->pause.since <= member->pause.last)
        member->pause.since = 0;
    return begin_capture(rows, member, paused, origin->status);
}

/* The process ended at `time`, and so did its pause. */
static void spool_pause_end(struct spool_rows *rows, struct spool_place_process *member,
                            int64_t time) {
    struct status ignored; /* without memory its last samples are not written */
    end_capture(rows, member, time, &ignored);
    if (member->pause.since)
        write_pause(rows, member->pause.thread, member->pause.since, time);
    member->pause.since = 0;
}

/* ---- Records --------------------------------------------------------------------------------- */

static bool take_clock(const struct spool_origin *origin, const struct spool_clock *clock) {
    struct spool_rows *rows = origin->rows;
    if (clock->error_ns < 0 || clock->error_ns > TRACE_TIME_LIMIT)
        rows->impossible++;
    else if (clock->error_ns > rows->clock_error)
        rows->clock_error = clock->error_ns;
    return true;
}

/* Many processes tell the same: it is written once. */
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
        trace_writer_meta(origin->rows->places.writer, name, value);
    }
    buffer_finish(&pair);
    return ok;
}

static bool take_dropped(const struct spool_origin *origin, const struct spool_dropped *dropped) {
    struct text why = spool_origin_text(origin, dropped->head.text);
    uint64_t count = dropped->count < INT64_MAX / 2 ? dropped->count : 0;
    origin->rows->impossible += count != dropped->count;
    origin->rows->dropped += count;
    trace_writer_dropped(origin->rows->places.writer, count);
    return why.length == 0 || write_meta(origin, TEXT(META_WARNING), why);
}

/* Those that change how the trace is read are the recorder's own to write. */
static bool is_reserved(struct text key) {
    return text_starts(key, "clock.") || text_starts(key, "source.") || text_is(key, META_DROPS);
}

/* The two may come in either order, as they come from different threads. */
static void take_takeover(struct takeover *takeover, struct text value, bool begins) {
    int64_t time;
    if (!text_to_i64(value, &time) || time < 0 || time > TRACE_TIME_LIMIT)
        return;
    if (begins && (takeover->begun++ == 0 || time < takeover->first))
        takeover->first = time;
    if (!begins && (takeover->ended++ == 0 || time > takeover->last_end))
        takeover->last_end = time;
}

static bool take_meta(const struct spool_origin *origin, const struct spool_meta *meta) {
    struct spool_rows *rows = origin->rows;
    struct text key = spool_origin_text(origin, meta->head.text),
                value = spool_origin_text(origin, meta->value);
    struct spool_place_process *member =
        spool_place_process(&rows->places, origin->process, origin->status);
    int64_t cost;
    if (!member)
        return false;
    if (text_is(key, "probe.cost_ns")) {
        if (text_to_i64(value, &cost) && cost >= 0 && cost < TRACE_TIME_LIMIT)
            member->cost_ns = cost;
        return true;
    }
    if (text_is(key, "cuda.missing"))
        snprintf(rows->missing, sizeof rows->missing, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.refused"))
        snprintf(rows->refused, sizeof rows->refused, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.taken_over"))
        snprintf(rows->takeover.library, sizeof rows->takeover.library, "%.*s", TEXT_ARGS(value));
    if (text_is(key, "cuda.taken_over_at"))
        take_takeover(&rows->takeover, value, true);
    if (text_is(key, "cuda.given_back_at"))
        take_takeover(&rows->takeover, value, false);
    return is_reserved(key) || write_meta(origin, key, value);
}

static bool take(const struct spool_origin *origin, const struct spool_head *record) {
    const void *whole = record;
    struct spool_places *places = &origin->rows->places;
    switch (record->kind) {
    case SPOOL_TEXT:
        spool_place_text(origin->lane, record->text);
        return true;
    case SPOOL_THREAD:
        return spool_place_thread(places, origin->lane, whole,
                                  spool_origin_string(origin, record->text), origin->status);
    case SPOOL_CALL:
        return spool_take_call(origin, whole);
    case SPOOL_KERNEL:
        return spool_take_kernel(origin, whole);
    case SPOOL_COPY:
        return spool_take_copy(origin, whole);
    case SPOOL_RANGE:
        return spool_take_range(origin, whole);
    case SPOOL_RANGE_OPEN:
        return spool_take_range_begin(origin, whole);
    case SPOOL_RANGE_END:
        return spool_take_range_end(origin, whole);
    case SPOOL_MARK:
        return spool_take_mark(origin, whole);
    case SPOOL_WAIT:
        return spool_take_wait(origin, whole);
    case SPOOL_MEMORY:
        return spool_take_memory(origin, whole);
    case SPOOL_DEVICE:
        return spool_place_add_device(
            places, origin->process, whole,
            spool_reader_text(places->reader, origin->lane_number, record->text), origin->status);
    case SPOOL_QUEUE: {
        const struct spool_queue *named = whole;
        return spool_place_queue(places, origin->process, named->device, named->context,
                                 named->stream, spool_origin_string(origin, record->text),
                                 origin->status);
    }
    case SPOOL_CLOCK:
        return take_clock(origin, whole);
    case SPOOL_DROPPED:
        return take_dropped(origin, whole);
    case SPOOL_META:
        return take_meta(origin, whole);
    case SPOOL_PAUSED:
        return spool_take_paused(origin, whole);
    default:
        origin->rows->impossible++;
        return true;
    }
}

bool spool_rows_take(void *context, unsigned process, unsigned lane,
                     const struct spool_head *record, struct status *status) {
    struct spool_rows *rows = context;
    struct spool_origin origin = {.rows = rows, .process = process, .lane_number = lane};
    if (rows->stopped || trace_writer_failed(rows->places.writer)) {
        rows->left_out += record->kind != SPOOL_TEXT && record->kind != SPOOL_THREAD;
        return true;
    }
    origin.status = status;
    origin.lane = spool_place_lane(&rows->places, process, lane, status);
    /* a writer that has just failed gives no ids; that is no reason to stop draining */
    return origin.lane && (take(&origin, record) || trace_writer_failed(rows->places.writer));
}

static void write_pending_calls(struct spool_rows *rows) {
    struct status ignored = {0};
    for (size_t i = 0; i < rows->places.lane_capacity && rows->places.reader; i++) {
        struct spool_place_lane *lane = rows->places.lanes[i];
        if (!lane)
            continue;
        struct spool_origin origin = {rows, lane->process, (unsigned)i, lane, &ignored};
        spool_take_pending(&origin);
    }
}

static bool is_gone(const struct spool_process *process) {
    return process->ended || (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH);
}

void spool_rows_look(struct spool_rows *rows, int64_t pid, int64_t pid_ended, int64_t now) {
    for (unsigned i = 0; i < rows->places.member_capacity; i++) {
        struct spool_place_process *member = rows->places.members[i];
        const struct spool_process *known =
            member && !member->ended_at ? spool_reader_process(rows->places.reader, i) : NULL;
        if (known && known->pid == pid)
            member->ended_at = pid_ended;
        else if (known && is_gone(known))
            member->ended_at = now;
    }
}

void spool_rows_close_ended(struct spool_rows *rows) {
    for (unsigned i = 0; i < rows->places.member_capacity; i++) {
        struct spool_place_process *member = rows->places.members[i];
        if (!member || !member->ended_at || member->closed)
            continue;
        spool_ranges_end(&rows->ranges, rows->places.writer, i, member->ended_at);
        spool_pause_end(rows, member, member->ended_at);
        member->closed = true;
    }
}

void spool_rows_end(struct spool_rows *rows, int64_t time) {
    struct trace_writer *writer = rows->places.writer;
    write_pending_calls(rows);
    for (unsigned i = 0; i < rows->places.member_capacity; i++)
        if (rows->places.members[i] && !rows->places.members[i]->ended_at)
            rows->places.members[i]->ended_at = time;
    spool_rows_close_ended(rows);
    if (rows->clock_error >= 0)
        trace_writer_meta_integer(writer, META_CLOCK_ERROR, rows->clock_error);
    if (rows->ranges.never_ended)
        trace_writer_meta_integer(writer, "ranges.never_ended", (int64_t)rows->ranges.never_ended);
    if (rows->ranges.never_begun)
        trace_writer_meta_integer(writer, "ranges.never_begun", (int64_t)rows->ranges.never_begun);
}

int64_t spool_rows_cost(const struct spool_rows *rows) {
    int64_t sum = -1;
    for (size_t i = 0; i < rows->places.member_capacity; i++) {
        const struct spool_place_process *member = rows->places.members[i];
        if (member && member->cost_ns >= 0)
            sum = (sum < 0 ? 0 : sum) + member->cost_ns;
    }
    return sum;
}

void spool_rows_finish(struct spool_rows *rows) {
    spool_places_finish(&rows->places);
    spool_ranges_finish(&rows->ranges);
    intern_finish(&rows->metas);
    captures_finish(&rows->captures);
}
