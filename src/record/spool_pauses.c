/* A probe reports a pause when it begins, and again with its end. The two may come from different
 * threads and so in either order: one that began no later than the latest that has ended is not
 * open.
 *
 * Between two pauses the process captures. The first pause begins with the process's first record.
 */
#include "record/spool_pauses.h"

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

bool spool_take_paused(const struct spool_origin *origin, const struct spool_paused *paused) {
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

void spool_pause_end(struct spool_rows *rows, struct spool_place_process *member, int64_t time) {
    struct status ignored; /* without memory its last samples are not written */
    end_capture(rows, member, time, &ignored);
    if (member->pause.since)
        write_pause(rows, member->pause.thread, member->pause.since, time);
    member->pause.since = 0;
}
