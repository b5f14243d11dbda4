/* Which intervals did the program mark with signposts?
 *
 * OSSignpostIntervals holds them paired. os-signpost holds single events: a Begin is paired with
 * the next End of the same identifier, name, subsystem and process, innermost first, and an Event
 * is a mark. Where both tables are there, the paired one is believed.
 */
#ifdef RIDGE_HAVE_EXPAT

#include "import/xctrace/xctrace.h"

struct xctrace_begin {
    int64_t time;
    uint32_t thread;
    size_t outer; /* index + 1 of the begin of the same key around it */
};

enum {
    EVENT_TIME,
    EVENT_THREAD,
    EVENT_PROCESS,
    EVENT_TYPE,
    EVENT_IDENTIFIER,
    EVENT_NAME,
    EVENT_SUBSYSTEM,
};
static const char *const event_columns[] = {
    "time", "thread", "process", "event-type", "identifier", "name", "subsystem", NULL,
};

static bool key_of(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                   uint32_t *key, struct status *status) {
    struct xctrace_signposts *signposts = &import->signposts;
    struct buffer text = {0};
    for (int i = EVENT_IDENTIFIER; i <= EVENT_SUBSYSTEM; i++) {
        buffer_text(&text, xctrace_text(table, cells[i]));
        buffer_byte(&text, 0);
    }
    size_t known = signposts->keys.count;
    bool good = buffer_ok(&text, status) &&
                intern_add(&signposts->keys, buffer_as_text(&text), key, status) &&
                GROW(signposts->open, &signposts->open_capacity, signposts->keys.count, status);
    for (; good && known < signposts->keys.count; known++)
        signposts->open[known] = 0;
    buffer_finish(&text);
    return good;
}

static bool begin(struct xctrace_signposts *signposts, uint32_t key, int64_t time, uint32_t thread,
                  struct status *status) {
    if (!GROW(signposts->begins, &signposts->begin_capacity, signposts->begin_count + 1, status))
        return false;
    signposts->begins[signposts->begin_count++] =
        (struct xctrace_begin){time, thread, signposts->open[key]};
    signposts->open[key] = signposts->begin_count;
    return true;
}

static void end(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                uint32_t key, int64_t time) {
    struct xctrace_signposts *signposts = &import->signposts;
    if (signposts->open[key] == 0) {
        import->unpaired++;
        return;
    }
    size_t innermost = signposts->open[key] - 1;
    struct xctrace_begin from = signposts->begins[innermost];
    if (time < from.time)
        import->unpaired += 2;
    else
        trace_write_range(import->writer,
                          &(struct row_range){
                              .start = from.time,
                              .duration = time - from.time,
                              .thread = from.thread,
                              .category = RANGE_ANNOTATION,
                              .name = xctrace_string(import, table, cells[EVENT_NAME]),
                              .domain = xctrace_string(import, table, cells[EVENT_SUBSYSTEM]),
                          });
    signposts->open[key] = from.outer;
    if (innermost + 1 == signposts->begin_count)
        signposts->begin_count--;
}

static void mark(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                 int64_t time, uint32_t thread) {
    trace_write_mark(import->writer,
                     &(struct row_mark){
                         .time = time,
                         .thread = thread,
                         .name = xctrace_string(import, table, cells[EVENT_NAME]),
                         .domain = xctrace_string(import, table, cells[EVENT_SUBSYSTEM]),
                     });
}

static bool event_row(struct xctrace *import, const struct xctrace_table *table,
                      const uint32_t *cells, struct status *status) {
    int64_t time;
    uint32_t thread, key;
    bool use;
    uint32_t owner = cells[EVENT_PROCESS] ? cells[EVENT_PROCESS] : cells[EVENT_THREAD];
    struct text type = xctrace_text(table, cells[EVENT_TYPE]);
    if (xctrace_pid(table, owner) != import->target_pid)
        return true;
    if (!xctrace_span(import, table, cells[EVENT_TIME], 0, &time, NULL, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[EVENT_THREAD], &thread, status))
        return false;
    if (text_is(type, "Event"))
        mark(import, table, cells, time, thread);
    bool begins = text_is(type, "Begin"), ends = text_is(type, "End");
    if (import->has_signpost_intervals || (!begins && !ends))
        return true;
    if (!key_of(import, table, cells, &key, status))
        return false;
    if (begins)
        return begin(&import->signposts, key, time, thread, status);
    end(import, table, cells, key, time);
    return true;
}

const struct xctrace_kind xctrace_signpost_events = {"os-signpost", event_columns, event_row};

enum {
    INTERVAL_START,
    INTERVAL_DURATION,
    INTERVAL_THREAD,
    INTERVAL_START_THREAD,
    INTERVAL_PROCESS,
    INTERVAL_START_PROCESS,
    INTERVAL_NAME,
    INTERVAL_SUBSYSTEM,
};
static const char *const interval_columns[] = {
    "start",         "duration", "thread",    "start-thread", "process",
    "start-process", "name",     "subsystem", NULL,
};

static bool interval_row(struct xctrace *import, const struct xctrace_table *table,
                         const uint32_t *cells, struct status *status) {
    struct row_range range = {.category = RANGE_ANNOTATION};
    bool use;
    uint32_t thread =
        cells[INTERVAL_THREAD] ? cells[INTERVAL_THREAD] : cells[INTERVAL_START_THREAD];
    uint32_t owner =
        cells[INTERVAL_PROCESS] ? cells[INTERVAL_PROCESS] : cells[INTERVAL_START_PROCESS];
    import->has_signpost_intervals = true;
    if (xctrace_pid(table, owner ? owner : thread) != import->target_pid)
        return true;
    if (!xctrace_span(import, table, cells[INTERVAL_START], cells[INTERVAL_DURATION], &range.start,
                      &range.duration, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, thread, &range.thread, status))
        return false;
    range.name = xctrace_string(import, table, cells[INTERVAL_NAME]);
    range.domain = xctrace_string(import, table, cells[INTERVAL_SUBSYSTEM]);
    trace_write_range(import->writer, &range);
    return true;
}

const struct xctrace_kind xctrace_signpost_intervals = {"OSSignpostIntervals", interval_columns,
                                                        interval_row};

void xctrace_signposts_finish(struct xctrace *import) {
    struct xctrace_signposts *signposts = &import->signposts;
    for (size_t key = 0; key < signposts->keys.count && signposts->open; key++)
        for (size_t at = signposts->open[key]; at; at = signposts->begins[at - 1].outer)
            import->unpaired++;
    intern_finish(&signposts->keys);
    memory_free(signposts->open);
    memory_free(signposts->begins);
    *signposts = (struct xctrace_signposts){0};
}

#endif
