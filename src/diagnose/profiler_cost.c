/* How much of the recording is the profiler's own time? Recording an operator or a call takes time
 * on the launching thread, and the device waits for it like for other host code.
 *
 * The costs are measured: loops of tiny launches alone and under the profiler, with a fit of the
 * difference over the recorded events (tests/gpu/profiler_overhead.py, H200, PyTorch 2.11). The fit
 * leaves half of some loops unexplained, so the error is as large as that.
 */
#include "base/array.h"
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "trace/writer.h"

static const struct profiler_cost {
    const char *format, *name;
    int64_t per_operator, per_function, per_call; /* ns */
    double error;                                 /* relative */
} costs[] = {
    {"kineto", "torch.profiler", 2750, 100, 750, 0.5},
};

static const struct profiler_cost *find_profiler(const struct diagnosis *diagnosis) {
    struct text format = trace_meta(diagnosis->trace, META_SOURCE_FORMAT);
    for (size_t i = 0; i < ARRAY_COUNT(costs); i++)
        if (text_is(format, costs[i].format))
            return &costs[i];
    return NULL;
}

static int64_t cost_of_ranges(const struct diagnosis *diagnosis, size_t thread,
                              const struct profiler_cost *cost) {
    const struct model *model = diagnosis->source->model;
    const struct facts *facts = &diagnosis->facts;
    int64_t time = 0;
    for (size_t i = model->thread_ranges[thread]; i < model->thread_ranges[thread + 1]; i++) {
        unsigned category = diagnosis->trace->range.category[i];
        int64_t start = diagnosis->trace->range.start[i];
        if (start >= facts->host_start && start < facts->host_end)
            time += category == RANGE_OP       ? cost->per_operator
                    : category == RANGE_PYTHON ? cost->per_function
                                               : 0;
    }
    return time;
}

/* Of a thread that launches; 0 for others, which the device does not wait for. */
static int64_t cost_of_thread(const struct diagnosis *diagnosis, size_t thread,
                              const struct profiler_cost *cost) {
    const struct model *model = diagnosis->source->model;
    const struct trace *trace = diagnosis->trace;
    const struct facts *facts = &diagnosis->facts;
    int64_t calls = 0, launches = 0;
    for (size_t i = model->thread_calls[thread]; i < model->thread_calls[thread + 1]; i++)
        if (trace->call.start[i] >= facts->host_start && trace->call.start[i] < facts->host_end) {
            calls++;
            launches += trace->call.class[i] == CALL_LAUNCH;
        }
    return launches ? calls * cost->per_call + cost_of_ranges(diagnosis, thread, cost) : 0;
}

void profiler_cost_find(struct diagnosis *diagnosis) {
    const struct profiler_cost *cost = find_profiler(diagnosis);
    const struct facts *facts = &diagnosis->facts;
    struct verdict *verdict = diagnosis->verdict;
    int64_t time = 0, waits = facts->cause[CAUSE_HOST] + facts->cause[CAUSE_LAUNCH];
    if (!cost || diagnosis->source->device_count == 0)
        return;
    for (size_t thread = 1; thread < diagnosis->trace->thread.count; thread++)
        time += cost_of_thread(diagnosis, thread, cost);
    verdict->profiler = cost->name;
    verdict->profiler_time = MIN(time, waits); /* elsewhere it costs the run nothing */
    verdict->profiler_error = (int64_t)((double)verdict->profiler_time * cost->error);
}

/* The gain without the profiler: a fix that removes host time removes the profiler's part of it
 * too, which the program does not have. */
static bool removes_host_time(enum finding_kind kind) {
    return kind == FINDING_LAUNCH_BOUND || kind == FINDING_TINY_KERNELS ||
           kind == FINDING_HOST_BOUND || kind == FINDING_ON_CPU || kind == FINDING_INPUT_PIPELINE ||
           kind == FINDING_SYNC_IN_LOOP;
}

double gain_without_profiler(const struct diagnosis *diagnosis, const struct finding *finding) {
    const struct facts *facts = &diagnosis->facts;
    double waits = (double)(facts->cause[CAUSE_HOST] + facts->cause[CAUSE_LAUNCH]);
    double gain = (double)finding->recoverable;
    double own = (double)diagnosis->verdict->profiler_time;
    if (own <= 0 || waits <= 0 || !removes_host_time(finding->kind))
        return gain;
    own *= gain < waits ? gain / waits : 1;
    return own < gain ? gain - own : 0;
}

double speedup_without_profiler(const struct diagnosis *diagnosis, const struct finding *finding) {
    const struct verdict *verdict = diagnosis->verdict;
    double time = (double)(verdict->time - verdict->profiler_time);
    double gain = gain_without_profiler(diagnosis, finding);
    return time > gain ? time / (time - gain) : 0;
}
