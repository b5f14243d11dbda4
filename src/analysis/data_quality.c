/* Collects the findings of the reader, of the launch join and of the source's meta, and checks the
 * data for contradictions. */
#include "analysis/data_quality.h"

#include <string.h>

#include "base/memory.h"
#include "trace/writer.h"

static bool check_activities(const struct model *model, struct data_quality *quality,
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
            quality->zero_length += trace->activity.duration[i] == 0;
            quality->queue_overlaps += start < *end;
            if (model_activity_end(model, i) > *end)
                *end = model_activity_end(model, i);
        }
        quality->no_bytes |=
            trace->activity.kind[i] == ACTIVITY_COPY && trace->activity.bytes[i] == BYTES_UNKNOWN;
        if (model->launch[i] == NO_ROW)
            continue;
        int64_t early = trace->call.start[model->launch[i]] - start;
        if (early > 0) {
            quality->starts_before_launch++;
            if (early > quality->starts_before_worst)
                quality->starts_before_worst = early;
        }
    }
    memory_free(queue_end);
    return true;
}

static bool collect_warnings(const struct trace *trace, struct data_quality *quality,
                             struct status *status) {
    size_t capacity = 0;
    for (size_t i = 0; i < trace->meta.count; i++) {
        if (!text_is(trace_text(trace, trace->meta.key[i]), META_WARNING))
            continue;
        if (!GROW(quality->warnings, &capacity, quality->warning_count + 1, status))
            return false;
        quality->warnings[quality->warning_count++] = trace_text(trace, trace->meta.value[i]);
    }
    return true;
}

bool data_quality_find(const struct model *model, const struct pauses *pauses,
                       struct data_quality *quality, struct status *status) {
    const struct trace *trace = model->trace;
    memset(quality, 0, sizeof *quality);
    quality->dropped = (uint64_t)trace_meta_sum(trace, META_DROPS);
    quality->pauses = pauses->count;
    quality->paused = pauses->time;
    quality->unfinished = trace->writers_unfinished;
    quality->missing_chunks = trace->missing_chunks;
    quality->repeated_chunks = trace->repeated_chunks;
    quality->damaged_bytes = trace->damaged_bytes;
    quality->truncated_bytes = trace->truncated_bytes;
    quality->unknown_chunks = trace->unknown_chunks;
    quality->without_launch_early = model->no_timeline ? 0 : model->unmatched_early;
    quality->without_launch = model->no_timeline ? 0 : model->unmatched_lost;
    quality->no_calls = trace->call.count == 0 && trace->activity.count > 0 && !model->no_timeline;
    quality->truncated_source = trace_meta(trace, META_TRUNCATED);
    quality->clock_error_known =
        text_to_i64(trace_meta(trace, META_CLOCK_ERROR), &quality->clock_error);
    quality->mixed_clocks = model->mixed_clocks;
    if (!check_activities(model, quality, status) || !collect_warnings(trace, quality, status)) {
        data_quality_finish(quality);
        return false;
    }
    return true;
}

void data_quality_finish(struct data_quality *quality) {
    memory_free(quality->warnings);
    memset(quality, 0, sizeof *quality);
}

bool data_quality_is_clean(const struct data_quality *quality) {
    return !quality->dropped && !quality->unfinished && !quality->missing_chunks &&
           !quality->repeated_chunks && !quality->damaged_bytes && !quality->truncated_bytes &&
           !quality->without_launch && !quality->starts_before_launch && !quality->mixed_clocks &&
           !quality->no_calls && quality->truncated_source.length == 0 &&
           quality->warning_count == 0;
}
