/* Sums over the activity-to-call join; the queue depth comes from merging launch times with end
 * times in order. */
#include "analysis/launches.h"

#include <string.h>

#include "base/memory.h"
#include "base/sort.h"

struct rows {
    size_t first, end;
};

static struct rows rows_of(const struct model *model, uint32_t device) {
    if (device == 0)
        return (struct rows){0, model->trace->activity.count};
    return (struct rows){model->device_first[device], model->device_first[device + 1]};
}

/* Depth at each launch: launches before it minus ends before it. */
static void find_depth(struct launches *launches, const int64_t *issued, const int64_t *ended,
                       size_t count) {
    size_t done = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        while (done < count && ended[done] <= issued[i])
            done++;
        uint64_t depth = done < i ? i - done : 0;
        sum += (double)depth;
        launches->found_empty += depth == 0;
        if (depth > launches->depth_max)
            launches->depth_max = depth;
    }
    launches->depth_count = count;
    launches->depth_mean = count ? sum / (double)count : 0;
}

/* A saturating sum: delays may be long and many. */
static void add_saturating(int64_t *sum, int64_t value) {
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = value < 0 ? INT64_MIN : INT64_MAX;
}

static void count_kernel(const struct model *model, size_t row, struct launches *launches) {
    const struct trace *trace = model->trace;
    uint32_t call = model->launch[row];
    if (call == NO_ROW) {
        launches->unmatched++;
        return;
    }
    int64_t delay = trace->activity.start[row] - trace->call.start[call];
    launches->matched++;
    add_saturating(&launches->call_time_sum, trace->call.duration[call]);
    add_saturating(&launches->delay_sum, delay);
    launches->negative_delays += delay < 0;
    if (delay > launches->delay_max)
        launches->delay_max = delay;
    launches->call_longer += trace->call.duration[call] > trace->activity.duration[row];
    launches->call_shorter += trace->call.duration[call] < trace->activity.duration[row];
}

/* The delay of every kernel that has a launch; returns how many. */
static size_t collect_delays(const struct model *model, const struct selection *by_device,
                             struct rows rows, int64_t *delays) {
    const struct trace *trace = model->trace;
    size_t count = 0;
    for (size_t i = rows.first; i < rows.end; i++)
        if (trace->activity.kind[i] == ACTIVITY_KERNEL && model->launch[i] != NO_ROW &&
            model_selected(model, by_device, i))
            delays[count++] = trace->activity.start[i] - trace->call.start[model->launch[i]];
    return count;
}

bool launches_find(const struct model *model, uint32_t device, const struct selection *by_device,
                   struct launches *launches, struct status *status) {
    const struct trace *trace = model->trace;
    struct rows rows = rows_of(model, device);
    memset(launches, 0, sizeof *launches);
    size_t capacity = rows.end - rows.first, count = 0, delays;
    int64_t *issued = memory_allocate(capacity, sizeof *issued, status);
    int64_t *ended = memory_allocate(capacity, sizeof *ended, status);
    enum { ONE = 1, SEVERAL = 2 };
    uint8_t *kernels_of_call = memory_allocate(trace->call.count, sizeof *kernels_of_call, status);
    bool ok = issued && ended && kernels_of_call;
    for (size_t i = rows.first; i < rows.end && ok; i++) {
        if (!model_selected(model, by_device, i))
            continue;
        uint32_t call = model->launch[i];
        if (trace->activity.kind[i] == ACTIVITY_KERNEL) {
            count_kernel(model, i, launches);
            if (call != NO_ROW && kernels_of_call[call] == 0) {
                launches->calls++;
                launches->call_total += trace->call.duration[call];
            }
            if (call != NO_ROW)
                kernels_of_call[call] = kernels_of_call[call] ? SEVERAL : ONE;
        }
        if (call != NO_ROW) {
            issued[count] = trace->call.start[call];
            ended[count++] = model_activity_end(model, i);
        }
    }
    ok = ok && sort_values(issued, count, status) && sort_values(ended, count, status);
    if (ok) {
        find_depth(launches, issued, ended, count);
        delays = collect_delays(model, by_device, rows, issued);
        if (delays)
            launches->delay_median = sort_select(issued, delays, delays / 2);
        for (size_t i = rows.first; i < rows.end; i++)
            if (trace->activity.kind[i] == ACTIVITY_KERNEL && model->launch[i] != NO_ROW &&
                model_selected(model, by_device, i))
                launches->graph_kernels += kernels_of_call[model->launch[i]] == SEVERAL;
    }
    memory_free(issued);
    memory_free(ended);
    memory_free(kernels_of_call);
    return ok;
}

void launches_add(struct launches *sum, const struct launches *one) {
    double depths =
        sum->depth_mean * (double)sum->depth_count + one->depth_mean * (double)one->depth_count;
    sum->matched += one->matched;
    sum->unmatched += one->unmatched;
    sum->calls += one->calls;
    add_saturating(&sum->call_total, one->call_total);
    add_saturating(&sum->call_time_sum, one->call_time_sum);
    add_saturating(&sum->delay_sum, one->delay_sum);
    sum->negative_delays += one->negative_delays;
    sum->call_longer += one->call_longer;
    sum->call_shorter += one->call_shorter;
    sum->graph_kernels += one->graph_kernels;
    sum->found_empty += one->found_empty;
    sum->depth_count += one->depth_count;
    sum->depth_mean = sum->depth_count ? depths / (double)sum->depth_count : 0;
    if (one->delay_max > sum->delay_max)
        sum->delay_max = one->delay_max;
    if (one->depth_max > sum->depth_max)
        sum->depth_max = one->depth_max;
}

bool launches_median_delay(const struct model *model, const struct selection *by_device,
                           int64_t *median, struct status *status) {
    struct rows rows = rows_of(model, 0);
    int64_t *delays = memory_allocate(rows.end, sizeof *delays, status);
    if (!delays)
        return false;
    size_t count = collect_delays(model, by_device, rows, delays);
    *median = count ? sort_select(delays, count, count / 2) : 0;
    memory_free(delays);
    return true;
}
