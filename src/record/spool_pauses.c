/* A pause is told when it begins, and again with its end. The two may come from different threads
 * and so in either order: one that began no later than the latest that has ended is not open.
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
        if (paused->start > member->pause.last)
            member->pause.since = paused->start;
        member->pause.thread = origin->lane->thread;
        return true;
    }
    write_pause(rows, origin->lane->thread, paused->start, end);
    if (paused->start > member->pause.last)
        member->pause.last = paused->start;
    if (member->pause.since <= member->pause.last)
        member->pause.since = 0;
    return true;
}

void spool_pause_end(struct spool_rows *rows, struct spool_place_process *member, int64_t time) {
    if (member->pause.since)
        write_pause(rows, member->pause.thread, member->pause.since, time);
    member->pause.since = 0;
}
