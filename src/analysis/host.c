/* Ranges nest, so the innermost one changes only at starts and ends: a list of changes per thread,
 * at most two per range, built once with a stack. */
#include "analysis/host.h"

#include <string.h>

#include "analysis/stacks.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/sort.h"

bool range_is_host_code(unsigned category) {
    return category == RANGE_OP || category == RANGE_ANNOTATION || category == RANGE_PYTHON ||
           category == RANGE_OTHER;
}

struct builder {
    struct host *host;
    size_t count;    /* changes so far */
    uint32_t *stack; /* open ranges */
    size_t depth, stack_capacity;
};

static void change(struct builder *builder, int64_t time, size_t thread_first) {
    struct host *host = builder->host;
    uint32_t range = builder->depth ? builder->stack[builder->depth - 1] : NO_ROW;
    if (builder->count > thread_first && host->change_time[builder->count - 1] == time)
        builder->count--;
    host->change_time[builder->count] = time;
    host->change_range[builder->count++] = range;
}

/* Closes ranges that end at or before `time`, innermost first. */
static void close_until(struct builder *builder, int64_t time, size_t thread_first) {
    const struct model *model = builder->host->model;
    while (builder->depth) {
        int64_t end = model_range_end(model, builder->stack[builder->depth - 1]);
        if (end > time)
            break;
        builder->depth--;
        /* an enclosing range that ended earlier is over too */
        while (builder->depth && model_range_end(model, builder->stack[builder->depth - 1]) <= end)
            builder->depth--;
        change(builder, end, thread_first);
    }
}

static bool build_thread(struct builder *builder, size_t thread, struct status *status) {
    const struct model *model = builder->host->model;
    const struct trace *trace = model->trace;
    size_t first = builder->count;
    builder->depth = 0;
    for (size_t row = model->thread_ranges[thread]; row < model->thread_ranges[thread + 1]; row++) {
        if (!range_is_host_code(trace->range.category[row]) || trace->range.duration[row] == 0)
            continue;
        close_until(builder, trace->range.start[row], first);
        if (!GROW(builder->stack, &builder->stack_capacity, builder->depth + 1, status))
            return false;
        builder->stack[builder->depth++] = (uint32_t)row;
        change(builder, trace->range.start[row], first);
    }
    close_until(builder, INT64_MAX, first);
    return true;
}

static bool index_samples(struct host *host, struct status *status) {
    const struct trace *trace = host->model->trace;
    host->thread_samples =
        memory_allocate(trace->thread.count + 1, sizeof *host->thread_samples, status);
    host->stands_for = stacks_stand_for(trace, STACK_PURPOSE, status);
    if (!host->thread_samples || !host->stands_for)
        return false;
    for (size_t i = 0; i < trace->sample.count; i++)
        host->thread_samples[trace->sample.thread[i] + 1]++;
    for (size_t thread = 0; thread < trace->thread.count; thread++)
        host->thread_samples[thread + 1] += host->thread_samples[thread];
    return sort_rows(trace->sample.thread, (uint32_t)trace->thread.count, trace->sample.time, NULL,
                     trace->sample.count, &host->sample_order, status);
}

/* Stream waits by queue and time. On failure finish the index too. */
static bool wait_index_build(struct wait_index *index, const struct trace *trace,
                             struct status *status) {
    size_t queues = trace->queue.count, count = 0;
    uint32_t *order = NULL;
    memset(index, 0, sizeof *index);
    index->first = memory_allocate(queues + 1, sizeof *index->first, status);
    index->rows = memory_allocate(trace->wait.count, sizeof *index->rows, status);
    if (!index->first || !index->rows ||
        !sort_rows(trace->wait.queue, (uint32_t)queues, trace->wait.start, NULL, trace->wait.count,
                   &order, status))
        return false;
    for (size_t i = 0; i < trace->wait.count; i++) {
        uint32_t row = order ? order[i] : (uint32_t)i;
        if (trace->wait.kind[row] != WAIT_STREAM_EVENT ||
            trace->wait.awaited[row] == trace->wait.queue[row])
            continue;
        index->rows[count++] = row;
        index->first[trace->wait.queue[row] + 1]++;
    }
    for (size_t queue = 0; queue < queues; queue++)
        index->first[queue + 1] += index->first[queue];
    memory_free(order);
    return true;
}

static void wait_index_finish(struct wait_index *index) {
    memory_free(index->first);
    memory_free(index->rows);
    memset(index, 0, sizeof *index);
}

bool host_build(struct host *host, const struct model *model, struct status *status) {
    const struct trace *trace = model->trace;
    memset(host, 0, sizeof *host);
    host->model = model;
    struct builder builder = {.host = host};
    size_t changes = 2 * trace->range.count + 1;
    host->change_time = memory_allocate(changes, sizeof *host->change_time, status);
    host->change_range = memory_allocate(changes, sizeof *host->change_range, status);
    host->thread_first =
        memory_allocate(trace->thread.count + 1, sizeof *host->thread_first, status);
    bool ok = host->change_time && host->change_range && host->thread_first &&
              index_samples(host, status) && states_build(&host->states, model, status) &&
              wait_index_build(&host->waits, trace, status);
    for (size_t thread = 0; thread < trace->thread.count && ok; thread++) {
        host->thread_first[thread] = builder.count;
        ok = thread == 0 || build_thread(&builder, thread, status);
        host->thread_first[thread + 1] = builder.count;
    }
    memory_free(builder.stack);
    if (!ok)
        host_finish(host);
    return ok;
}

void host_finish(struct host *host) {
    memory_free(host->change_time);
    memory_free(host->change_range);
    memory_free(host->thread_first);
    memory_free(host->sample_order);
    memory_free(host->thread_samples);
    memory_free(host->stands_for);
    states_finish(&host->states);
    wait_index_finish(&host->waits);
    memset(host, 0, sizeof *host);
}

static size_t sample_row(const struct host *host, size_t place) {
    return host->sample_order ? host->sample_order[place] : place;
}

static uint32_t function_of(const struct host *host, size_t sample) {
    const struct trace *trace = host->model->trace;
    return trace->stack.function[host->stands_for[trace->sample.stack[sample]]];
}

uint32_t host_range_at(const struct host *host, uint32_t thread, int64_t time) {
    size_t first = host->thread_first[thread], at = first;
    PARTITION_POINT(at, host->thread_first[thread + 1], i, host->change_time[i] <= time);
    return at == first ? NO_ROW : host->change_range[at - 1];
}

uint32_t host_function_before(const struct host *host, uint32_t thread, int64_t from,
                              int64_t until) {
    const struct trace *trace = host->model->trace;
    size_t first = host->thread_samples[thread], low = first;
    size_t high = host->thread_samples[thread + 1];
    PARTITION_POINT(low, high, i, trace->sample.time[sample_row(host, i)] <= until);
    if (low == first || trace->sample.time[sample_row(host, low - 1)] < from)
        return 0;
    return function_of(host, sample_row(host, low - 1));
}

/* The first sampled function in [start, end), and the time of the next sample. */
static uint32_t sampled_function(const struct host *host, struct host_cursor *cursor,
                                 uint32_t thread, int64_t start, int64_t *end) {
    const struct trace *trace = host->model->trace;
    size_t last = host->thread_samples[thread + 1];
    uint32_t function = 0;
    bool found = false;
    for (; cursor->sample < last; cursor->sample++) {
        size_t row = sample_row(host, cursor->sample);
        int64_t time = trace->sample.time[row];
        if (time < start)
            continue;
        if (time >= *end)
            break;
        if (found) { /* the next sample ends the interval */
            *end = time;
            break;
        }
        function = function_of(host, row);
        found = true;
    }
    return function;
}

struct host_interval host_next(const struct host *host, struct host_cursor *cursor, uint32_t thread,
                               int64_t start, int64_t end) {
    const struct model *model = host->model;
    const struct trace *trace = model->trace;
    if (!cursor->started) {
        cursor->started = true;
        cursor->call = model->thread_calls[thread];
        cursor->change = host->thread_first[thread];
        cursor->sample = host->thread_samples[thread];
    }
    struct host_interval interval = {start, end, NO_ROW, NO_ROW, 0};
    size_t last_call = model->thread_calls[thread + 1];
    while (cursor->call < last_call &&
           (model->call_nested[cursor->call] || model_call_end(model, cursor->call) <= start))
        cursor->call++;
    if (cursor->call < last_call) {
        int64_t call_start = trace->call.start[cursor->call];
        if (call_start <= start) {
            interval.call = (uint32_t)cursor->call;
            if (model_call_end(model, cursor->call) < end)
                interval.end = model_call_end(model, cursor->call);
            return interval;
        }
        if (call_start < interval.end)
            interval.end = call_start;
    }
    size_t last_change = host->thread_first[thread + 1];
    while (cursor->change < last_change && cursor->change + 1 < last_change &&
           host->change_time[cursor->change + 1] <= start)
        cursor->change++;
    if (cursor->change < last_change) {
        if (host->change_time[cursor->change] <= start) {
            interval.range = host->change_range[cursor->change];
            if (cursor->change + 1 < last_change &&
                host->change_time[cursor->change + 1] < interval.end)
                interval.end = host->change_time[cursor->change + 1];
        } else if (host->change_time[cursor->change] < interval.end) {
            interval.end = host->change_time[cursor->change];
        }
    }
    if (interval.range == NO_ROW)
        interval.function = sampled_function(host, cursor, thread, start, &interval.end);
    return interval;
}
