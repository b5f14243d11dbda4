/* Which events does the page hold? All, as long as a browser can: beyond that, what is too short to
 * be seen is joined with its neighbors of the same lane, more and more, until the rest fits. What
 * is long enough to be seen stays as it is. */
#include "base/array.h"
#include "report/html_parts.h"

#include "base/memory.h"

enum { SHORTEST_KEPT = 16 /* ns, to begin with */ };

struct lane_events { /* an event table, as far as merging looks at it */
    size_t count;
    const int64_t *start, *duration;
    const uint32_t *lane, *second_lane; /* second_lane may be NULL */
    size_t lanes;
};

/* The stretch that a lane's short events are being joined to. */
struct open_stretch {
    size_t place;
    bool open;
};

static void finish_rows(struct page_rows *rows) {
    memory_free(rows->rows);
    memory_free(rows->duration);
    memory_free(rows->merged);
    memory_free(rows->place);
    *rows = (struct page_rows){0};
}

/* Whether a short event of the lane goes on with the open stretch. */
static bool goes_on(const struct page_rows *rows, const struct lane_events *events,
                    const struct open_stretch *lane, size_t row, int64_t shorter) {
    if (!lane->open)
        return false;
    uint32_t first = rows->rows[lane->place];
    int64_t end = events->start[first] + rows->duration[lane->place];
    return events->start[row] - end < shorter &&
           (!events->second_lane || events->second_lane[first] == events->second_lane[row]);
}

static void extend(struct page_rows *rows, const struct lane_events *events, size_t place,
                   size_t row) {
    int64_t length = events->start[row] + events->duration[row] - events->start[rows->rows[place]];
    if (length > rows->duration[place])
        rows->duration[place] = length;
    rows->merged[place] += rows->merged[place] ? 1 : 2;
    rows->place[row] = (uint32_t)place;
}

static bool merge_lanes(struct page_rows *rows, const struct lane_events *events, int64_t shorter,
                        struct status *status) {
    struct open_stretch *lanes = memory_allocate(events->lanes, sizeof *lanes, status);
    rows->rows = memory_allocate(events->count, sizeof *rows->rows, status);
    rows->duration = memory_allocate(events->count, sizeof *rows->duration, status);
    rows->merged = memory_allocate(events->count, sizeof *rows->merged, status);
    rows->place = memory_allocate(events->count, sizeof *rows->place, status);
    rows->count = 0;
    bool ok = lanes && rows->rows && rows->duration && rows->merged && rows->place;
    for (size_t row = 0; ok && row < events->count; row++) {
        struct open_stretch *lane = &lanes[events->lane[row]];
        bool is_short = events->duration[row] < shorter;
        if (is_short && goes_on(rows, events, lane, row, shorter)) {
            extend(rows, events, lane->place, row);
            continue;
        }
        *lane = (struct open_stretch){.place = rows->count, .open = is_short};
        rows->rows[rows->count] = (uint32_t)row;
        rows->duration[rows->count] = events->duration[row];
        rows->place[row] = (uint32_t)rows->count++;
    }
    memory_free(lanes);
    return ok;
}

bool page_events_choose(struct page_events *events, const struct report *report, size_t most,
                        struct status *status) {
    const struct trace *trace = report->model.trace;
    const struct lane_events tables[] = {
        {trace->activity.count, trace->activity.start, trace->activity.duration,
         trace->activity.queue, NULL, trace->queue.count},
        {trace->call.count, trace->call.start, trace->call.duration, trace->call.thread, NULL,
         trace->thread.count},
        {trace->range.count, trace->range.start, trace->range.duration, trace->range.thread,
         trace->range.queue, trace->thread.count},
    };
    *events = (struct page_events){
        .activities.count = trace->activity.count,
        .calls.count = trace->call.count,
        .ranges.count = trace->range.count,
    };
    struct page_rows *const rows[] = {&events->activities, &events->calls, &events->ranges};
    uint64_t all = (uint64_t)trace->activity.count + trace->call.count + trace->range.count;
    uint64_t kept = all;
    for (int64_t shorter = SHORTEST_KEPT; kept > most && shorter < TRACE_TIME_LIMIT / 2;
         shorter *= 2) {
        kept = 0;
        for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
            finish_rows(rows[i]);
            if (!merge_lanes(rows[i], &tables[i], shorter, status))
                return false;
            kept += rows[i]->count;
        }
        events->shorter = shorter;
    }
    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++)
        for (size_t place = 0; rows[i]->merged && place < rows[i]->count; place++)
            events->merged_events += rows[i]->merged[place];
    return true;
}

void page_events_finish(struct page_events *events) {
    finish_rows(&events->activities);
    finish_rows(&events->calls);
    finish_rows(&events->ranges);
}
