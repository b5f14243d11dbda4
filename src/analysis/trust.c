/* Collects what the reader, the join and the source's own meta say, and two checks of the data
 * against itself. */
#include "analysis/trust.h"

#include <string.h>

#include "base/memory.h"
#include "trace/writer.h"

static bool check_activities(const struct model *model, struct trust *trust,
                             struct status *status) {
    const struct trace *trace = model->trace;
    int64_t *queue_end = memory_allocate(trace->queue.count, sizeof *queue_end, status);
    if (!queue_end)
        return false;
    for (size_t queue = 0; queue < trace->queue.count; queue++)
        queue_end[queue] = INT64_MIN;
    for (size_t i = 0; i < trace->activity.count; i++) {
        int64_t start = trace->activity.start[i];
        if (trace->activity.kind[i] == ACTIVITY_KERNEL) {
            int64_t *end = &queue_end[trace->activity.queue[i]];
            trust->zero_length += trace->activity.duration[i] == 0;
            trust->queue_overlaps += start < *end;
            if (model_activity_end(model, i) > *end)
                *end = model_activity_end(model, i);
        }
        trust->no_bytes |=
            trace->activity.kind[i] == ACTIVITY_COPY && trace->activity.bytes[i] == BYTES_UNKNOWN;
        if (model->launch[i] == NO_ROW)
            continue;
        int64_t early = trace->call.start[model->launch[i]] - start;
        if (early > 0) {
            trust->starts_before_launch++;
            if (early > trust->starts_before_worst)
                trust->starts_before_worst = early;
        }
    }
    memory_free(queue_end);
    return true;
}

static bool collect_warnings(const struct trace *trace, struct trust *trust,
                             struct status *status) {
    size_t capacity = 0;
    for (size_t i = 0; i < trace->meta.count; i++) {
        if (!text_is(trace_text(trace, trace->meta.key[i]), META_WARNING))
            continue;
        if (!GROW(trust->warnings, &capacity, trust->warning_count + 1, status))
            return false;
        trust->warnings[trust->warning_count++] = trace_text(trace, trace->meta.value[i]);
    }
    return true;
}

bool trust_find(const struct model *model, const struct pauses *pauses, struct trust *trust,
                struct status *status) {
    const struct trace *trace = model->trace;
    memset(trust, 0, sizeof *trust);
    trust->dropped = (uint64_t)trace_meta_sum(trace, META_DROPS);
    trust->pauses = pauses->count;
    trust->paused = pauses->time;
    trust->unfinished = trace->writers_unfinished;
    trust->missing_chunks = trace->missing_chunks;
    trust->repeated_chunks = trace->repeated_chunks;
    trust->damaged_bytes = trace->damaged_bytes;
    trust->truncated_bytes = trace->truncated_bytes;
    trust->unknown_chunks = trace->unknown_chunks;
    trust->without_launch_early = model->unmatched_early;
    trust->without_launch = model->unmatched_lost;
    trust->no_calls = trace->call.count == 0 && trace->activity.count > 0;
    trust->truncated_source = trace_meta(trace, META_TRUNCATED);
    trust->clock_error_known =
        text_to_i64(trace_meta(trace, META_CLOCK_ERROR), &trust->clock_error);
    trust->mixed_clocks = model->mixed_clocks;
    if (!check_activities(model, trust, status) || !collect_warnings(trace, trust, status)) {
        trust_finish(trust);
        return false;
    }
    return true;
}

void trust_finish(struct trust *trust) {
    memory_free(trust->warnings);
    memset(trust, 0, sizeof *trust);
}

bool trust_is_clean(const struct trust *trust) {
    return !trust->dropped && !trust->unfinished && !trust->missing_chunks &&
           !trust->repeated_chunks && !trust->damaged_bytes && !trust->truncated_bytes &&
           !trust->without_launch && !trust->starts_before_launch && !trust->mixed_clocks &&
           !trust->no_calls && trust->truncated_source.length == 0 && trust->warning_count == 0;
}
