/* Counts and time spans for `ridge info`. Only time columns are loaded, one table at a time, so a
 * large trace needs little memory. */
#include "report/info.h"

#include <string.h>

#include "base/memory.h"

static const int64_t *time_column(const struct trace *trace, unsigned table, const char *name) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned column = 0; column < info->column_count; column++)
        if (strcmp(info->columns[column].name, name) == 0)
            return trace_column(trace, table, column);
    return NULL;
}

static bool find_span(struct trace *trace, unsigned table, struct info_span *span,
                      struct status *status) {
    *span = (struct info_span){.rows = trace_rows(trace, table)};
    if (span->rows == 0)
        return true;
    if (!trace_load(trace, table, "start time duration", status))
        return false;
    const int64_t *start = time_column(trace, table, "start");
    const int64_t *duration = time_column(trace, table, "duration");
    if (!start)
        start = time_column(trace, table, "time");
    span->first = start[0];
    span->last = INT64_MIN;
    for (size_t i = 0; i < span->rows; i++) {
        int64_t end;
        if (__builtin_add_overflow(start[i], duration ? duration[i] : 0, &end))
            end = INT64_MAX;
        if (start[i] < span->first)
            span->first = start[i];
        if (end > span->last)
            span->last = end;
    }
    trace_unload(trace, table, "start");
    trace_unload(trace, table, "time");
    trace_unload(trace, table, "duration");
    return true;
}

static void join_spans(struct info *info) {
    info->all = (struct info_span){.first = INT64_MAX, .last = INT64_MIN};
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++) {
        const struct info_span *span = &info->spans[table];
        info->all.rows += span->rows;
        if (span->rows && span->first < info->all.first)
            info->all.first = span->first;
        if (span->rows && span->last > info->all.last)
            info->all.last = span->last;
    }
    if (info->all.rows == 0)
        info->all.first = info->all.last = 0;
}

/* Counts kernels, copies and sets of every queue and device. */
static bool count_work(struct info *info, struct status *status) {
    struct trace *trace = info->trace;
    info->queues = memory_allocate(trace->queue.count, sizeof *info->queues, status);
    info->devices = memory_allocate(trace->device.count, sizeof *info->devices, status);
    if (!info->queues || !info->devices || !trace_load(trace, TABLE_ACTIVITY, "queue kind", status))
        return false;
    for (size_t i = 0; i < trace->activity.count; i++) {
        unsigned kind = trace->activity.kind[i];
        if (kind < ACTIVITY_KINDS)
            info->queues[trace->activity.queue[i]].count[kind]++;
    }
    for (size_t queue = 0; queue < trace->queue.count; queue++)
        for (unsigned kind = 0; kind < ACTIVITY_KINDS; kind++)
            info->devices[trace->queue.device[queue]].count[kind] +=
                info->queues[queue].count[kind];
    trace_unload(trace, TABLE_ACTIVITY, "queue");
    trace_unload(trace, TABLE_ACTIVITY, "kind");
    return true;
}

bool info_gather(struct info *info, struct status *status) {
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (!find_span(info->trace, table, &info->spans[table], status))
            return false;
    join_spans(info);
    return count_work(info, status);
}

void info_finish(struct info *info) {
    memory_free(info->queues);
    memory_free(info->devices);
}
