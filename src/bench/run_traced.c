/* How long was the device itself at work, and with how many kernels? The device's own times of a
 * few calls, which a trace collects. */
#include "bench/run_case.h"

#include <stdio.h>

#include "base/memory.h"
#include "tensor/tensor.h"

enum { CALLS_MAX = 10, TIMELINE_CALLS = 3, SPANS_MAX = 1 << 16 };
#define TRACED_NS 100e6 /* worth of calls */

struct collected {
    struct span *spans;
    size_t count, capacity;
    size_t kernels;
    struct status status;
};

static void collect(void *context, const struct row_activity *row) {
    struct collected *collected = context;
    collected->kernels += row->kind == ACTIVITY_KERNEL;
    if (collected->count == SPANS_MAX ||
        !GROW(collected->spans, &collected->capacity, collected->count + 1, &collected->status))
        return;
    collected->spans[collected->count++] = (struct span){
        .start = row->start,
        .end = row->start + row->duration,
        .copy = row->kind != ACTIVITY_KERNEL,
    };
}

/* Of spans in the order of their starts. */
static int64_t union_length(const struct span *spans, size_t count) {
    int64_t length = 0, reached = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t start = spans[i].start > reached ? spans[i].start : reached;
        if (spans[i].end > start)
            length += spans[i].end - start;
        if (spans[i].end > reached)
            reached = spans[i].end;
    }
    return length;
}

static unsigned traced_calls(const struct bench_case *work, const struct result *result) {
    if (work->timeline)
        return TIMELINE_CALLS;
    double calls = TRACED_NS / (result->time.time.median + 1);
    return calls < 1 ? 1 : calls > CALLS_MAX ? CALLS_MAX : (unsigned)calls;
}

static bool do_calls(struct run_stage *run, const struct bench_case *work, void *state,
                     unsigned calls, struct status *status) {
    ridge_device *device = run->stage.device;
    char name[sizeof work->label + sizeof work->variant + 2];
    snprintf(name, sizeof name, "%s%s%s", work->label, *work->variant ? " " : "", work->variant);
    if (!ridge_synchronize(device) || !ridge_trace_resume(device))
        return run_tensor_failed(status);
    ridge_range_begin(device, name);
    bool ok = true;
    for (unsigned i = 0; ok && i < calls; i++)
        ok = work->kind->call(state, i, status);
    if (ok && !ridge_synchronize(device))
        ok = run_tensor_failed(status);
    ridge_range_end(device);
    return ok;
}

static void note_spans(const struct bench_case *work, struct collected *collected, unsigned calls,
                       struct result *result) {
    result->kernels = (double)collected->kernels / calls;
    result->device_ns = collected->count < SPANS_MAX
                            ? (double)union_length(collected->spans, collected->count) / calls
                            : 0;
    if (!work->timeline)
        return;
    int64_t first = collected->count > 0 ? collected->spans[0].start : 0;
    for (size_t i = 0; i < collected->count; i++) {
        collected->spans[i].start -= first;
        collected->spans[i].end -= first;
    }
    memory_free(result->spans);
    result->spans = collected->spans;
    result->span_count = collected->count;
    collected->spans = NULL;
}

bool run_traced(struct run_stage *run, const struct bench_case *work, void *state,
                struct result *result, struct status *status) {
    ridge_device *device = run->stage.device;
    struct collected collected = {0};
    unsigned calls = traced_calls(work, result);
    struct recorder *recorder = device->paused;
    recorder_set_observer(recorder, collect, &collected);
    bool ok = do_calls(run, work, state, calls, status);
    if (device->recorder) {
        recorder_settle(recorder);
        ridge_trace_pause(device);
    }
    recorder_set_observer(recorder, NULL, NULL);
    if (ok && collected.status.code != STATUS_OK) {
        *status = collected.status;
        ok = false;
    }
    if (ok)
        note_spans(work, &collected, calls, result);
    memory_free(collected.spans);
    return ok;
}
