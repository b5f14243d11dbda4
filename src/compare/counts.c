/* What each unit counts: kernels and copies by when they start on the device, calls by when they
 * start on the host. The host time of a unit begins with the call that launches its first activity
 * and ends where the next one's begins. The last unit has no such end and does not count, so that a
 * synchronization after the loop is not taken for a part of it. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"
#include "compare/side_parts.h"

struct tally {
    struct side *side;
    uint64_t (*units)[SIDE_COUNTS]; /* by unit */
    int64_t *host_start;            /* by unit */
    uint8_t *is_graph;              /* by string: 0 unknown, 1 no, 2 yes */
    size_t counted;                 /* units, without the last of several */
};

/* The counts of the line that made a call, if the unit counts; or NULL. */
static double *line_counts(struct tally *tally, size_t unit, uint32_t call) {
    const struct report *report = tally->side->report;
    if (unit >= tally->counted || call == NO_ROW || tally->side->line_count == 0)
        return NULL;
    uint32_t line = report->lines.line_of[report->model.trace->call.stack[call]];
    return line ? tally->side->lines[line - 1].counts : NULL;
}

static bool is_graph_launch(struct tally *tally, uint32_t name) {
    if (tally->is_graph[name] == 0)
        tally->is_graph[name] =
            text_find(trace_text(tally->side->report->model.trace, name), "GraphLaunch") >= 0 ? 2
                                                                                              : 1;
    return tally->is_graph[name] == 2;
}

static enum side_count count_of_activity(const struct columns_activity *activity, size_t row) {
    unsigned direction = activity->direction ? activity->direction[row] : COPY_UNKNOWN;
    return activity->kind[row] == ACTIVITY_KERNEL ? SIDE_KERNELS
           : activity->kind[row] == ACTIVITY_SET  ? SIDE_SETS
           : direction == COPY_HTOD               ? SIDE_COPIES_HTOD
           : direction == COPY_DTOH               ? SIDE_COPIES_DTOH
                                                  : SIDE_COPIES_OTHER;
}

static void tally_activity(struct tally *tally, size_t unit, size_t row) {
    const struct model *model = &tally->side->report->model;
    const struct columns_activity *activity = &model->trace->activity;
    enum side_count count = count_of_activity(activity, row);
    double *line = line_counts(tally, unit, model->launch[row]);
    tally->units[unit][count]++;
    if (line)
        line[count]++;
    uint64_t bytes =
        activity->bytes && activity->bytes[row] != BYTES_UNKNOWN ? activity->bytes[row] : 0;
    if (count == SIDE_COPIES_HTOD)
        tally->units[unit][SIDE_BYTES_HTOD] += bytes;
    else if (count == SIDE_COPIES_DTOH)
        tally->units[unit][SIDE_BYTES_DTOH] += bytes;
}

static void tally_activities(struct tally *tally) {
    const struct side *side = tally->side;
    const struct model *model = &side->report->model;
    const struct trace *trace = model->trace;
    size_t end = model->device_first[side->device->id + 1], unit = 0;
    for (size_t i = model->device_first[side->device->id]; i < end; i++) {
        int64_t start = trace->activity.start[i];
        while (unit < side->unit_count && side->units[unit].end <= start)
            unit++;
        if (unit == side->unit_count)
            break;
        if (start < side->units[unit].start)
            continue;
        tally_activity(tally, unit, i);
        if (tally->host_start[unit] == INT64_MIN)
            tally->host_start[unit] =
                model->launch[i] == NO_ROW ? start : trace->call.start[model->launch[i]];
    }
    for (size_t i = 0; i < side->unit_count; i++)
        if (tally->host_start[i] == INT64_MIN)
            tally->host_start[i] = side->units[i].start;
    for (size_t i = 1; i < side->unit_count; i++) /* launches of other threads may be early */
        tally->host_start[i] = MAX(tally->host_start[i], tally->host_start[i - 1]);
}

static void tally_calls(struct tally *tally) {
    static const int counted[CALL_CLASSES] = {[CALL_LAUNCH] = SIDE_LAUNCHES + 1,
                                              [CALL_SYNC] = SIDE_SYNCS + 1,
                                              [CALL_ALLOC] = SIDE_ALLOCATIONS + 1,
                                              [CALL_COMPILE] = SIDE_COMPILATIONS + 1};
    const struct side *side = tally->side;
    const struct model *model = &side->report->model;
    const struct columns_call *call = &model->trace->call;
    size_t unit = 0;
    for (size_t i = 0; i < call->count; i++) {
        int64_t start = call->start[i];
        unsigned class = call->class[i];
        if (class >= CALL_CLASSES || !counted[class] || model->call_nested[i] ||
            start < tally->host_start[0])
            continue;
        if (start < tally->host_start[unit]) /* another thread */
            unit = 0;
        if (unit + 1 < side->unit_count && start >= tally->host_start[unit + 1]) {
            PARTITION_POINT(unit, side->unit_count, at, tally->host_start[at] <= start);
            unit--;
        }
        double *line = line_counts(tally, unit, (uint32_t)i);
        tally->units[unit][counted[class] - 1]++;
        if (line)
            line[counted[class] - 1]++;
        if (class == CALL_LAUNCH && is_graph_launch(tally, call->name[i]))
            tally->units[unit][SIDE_GRAPH_LAUNCHES]++;
    }
}

static int by_value(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool summarize(struct tally *tally, struct status *status) {
    struct side *side = tally->side;
    size_t counted = tally->counted;
    uint64_t *sorted = memory_allocate(counted, sizeof *sorted, status);
    for (unsigned count = 0; sorted && count < SIDE_COUNTS; count++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < counted; i++)
            sum += sorted[i] = tally->units[i][count];
        qsort(sorted, counted, sizeof *sorted, by_value);
        side->count_mean[count] = (double)sum / (double)counted;
        side->count_median[count] = sorted[(counted - 1) / 2];
    }
    for (size_t i = 0; i < side->line_count; i++)
        for (unsigned count = 0; count < SIDE_COUNTS; count++)
            side->lines[i].counts[count] /= (double)counted;
    memory_free(sorted);
    return sorted != NULL;
}

/* ---- lines of the program ---- */

static bool list_lines(struct side *side, struct status *status) {
    const struct lines *lines = &side->report->lines;
    if (lines->count == 0)
        return true;
    side->lines = memory_allocate(lines->count, sizeof *side->lines, status);
    if (!side->lines)
        return false;
    side->line_count = lines->count;
    for (size_t i = 0; i < lines->count; i++)
        side->lines[i].frame = lines->list[i].frame;
    return true;
}

/* Idle time by the line that launched what ended it. */
static bool add_idle_of_lines(struct side *side, struct status *status) {
    const struct report *report = side->report;
    const struct model *model = &report->model;
    struct gap_intervals gaps = {0};
    if (side->line_count == 0 || side->account.window == 0)
        return true;
    bool ok = gaps_list(model, &report->host, side->device->id, &side->selection, &gaps, status);
    for (size_t i = 0; i < gaps.count && ok; i++) {
        uint32_t next = gaps.list[i].next, call = next == NO_ROW ? NO_ROW : model->launch[next];
        uint32_t line = call == NO_ROW ? 0 : report->lines.line_of[model->trace->call.stack[call]];
        if (line)
            side->lines[line - 1].idle += gaps.list[i].length;
    }
    for (size_t i = 0; i < side->line_count; i++)
        side->lines[i].idle = (int64_t)((double)side->lines[i].idle * (double)side->step /
                                        (double)side->account.window);
    gap_intervals_finish(&gaps);
    return ok;
}

static void find_known(struct side *side) {
    const struct copy_group *of = side->device->copies.direction;
    bool calls = side->report->calls.count > 0;
    for (unsigned i = 0; i < SIDE_COUNTS; i++)
        side->counts_known[i] = true;
    side->counts_known[SIDE_LAUNCHES] = side->counts_known[SIDE_GRAPH_LAUNCHES] =
        side->counts_known[SIDE_SYNCS] = side->counts_known[SIDE_ALLOCATIONS] =
            side->counts_known[SIDE_COMPILATIONS] = calls;
    side->counts_known[SIDE_BYTES_HTOD] = copy_group_is_sized(&of[COPY_HTOD]);
    side->counts_known[SIDE_BYTES_DTOH] = copy_group_is_sized(&of[COPY_DTOH]);
}

bool side_count_units(struct side *side, struct status *status) {
    size_t strings = side->report->model.trace->strings.count;
    struct tally tally = {.side = side, .counted = side->unit_count > 1 ? side->unit_count - 1 : 1};
    tally.units = memory_allocate(side->unit_count, sizeof *tally.units, status);
    tally.host_start = memory_allocate(side->unit_count, sizeof *tally.host_start, status);
    tally.is_graph = memory_allocate(strings, sizeof *tally.is_graph, status);
    bool ok = tally.units && tally.host_start && tally.is_graph && list_lines(side, status);
    if (ok) {
        for (size_t i = 0; i < side->unit_count; i++)
            tally.host_start[i] = INT64_MIN;
        tally_activities(&tally);
        tally_calls(&tally);
        find_known(side);
        ok = summarize(&tally, status) && add_idle_of_lines(side, status);
    }
    memory_free(tally.units);
    memory_free(tally.host_start);
    memory_free(tally.is_graph);
    return ok;
}
