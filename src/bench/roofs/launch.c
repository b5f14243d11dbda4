/* What does launching work cost? An empty kernel, launched in every way.
 *
 * It has the minimum size, one block or one unit, since these figures are lower bounds of any
 * launch. On a CPU it runs only on the calling thread, so there is a separate row for a launch
 * on all threads, as in a large kernel.
 */
#include <stdio.h>

#include "base/format.h"
#include "bench/roofs/methods.h"
#include "gen/emit/dialect.h"

enum { GRAPH_KERNELS = 64, LATENCY_SAMPLES = 200, LATENCY_SAMPLES_QUICK = 40 };

static void do_nothing(const struct native_call *call) {
    (void)call;
}

static bool load_empty(const struct roof_bench *bench, struct device_kernel **kernel,
                       struct status *status) {
    static const char name[] = "empty";
    struct kernel_code code = {.kind = CODE_NATIVE, .name = name, .function = do_nothing};
    struct buffer source = {0};
    if (bench->capabilities->language != LANGUAGE_NATIVE) {
        struct source_parameter nothing = {.name = "nothing", .dtype = RIDGE_F32, .stored = true};
        struct source_kernel head = {
            .name = name, .buffers = &nothing, .buffer_count = 1, .threads = 1};
        source_prelude(&source, bench->capabilities);
        source_kernel_begin(&source, bench->capabilities, &head);
        source_kernel_body(&source, bench->capabilities, &head);
        buffer_string(&source, "}\n");
        code = (struct kernel_code){.kind = CODE_SOURCE,
                                    .name = name,
                                    .source = source.data,
                                    .source_length = source.length};
    }
    bool loaded = buffer_ok(&source, status) &&
                  bench->device->ops->load(bench->device, &code, kernel, status);
    buffer_finish(&source);
    return loaded;
}

/* ---- Batches ---------------------------------------------------------------------------- */

/* Only the host's part: the clock stops before the device is done. Few at a time, because a full
 * queue makes the host wait. */
static bool call_batch(void *context, unsigned calls, double *nanoseconds, struct status *status) {
    enum { TOGETHER = 32 };
    struct roof_launches *work = context;
    const struct device_ops *ops = work->device->ops;
    *nanoseconds = 0;
    for (unsigned done = 0; done < calls; done += TOGETHER) {
        unsigned count = calls - done < TOGETHER ? calls - done : TOGETHER;
        double start = measure_clock();
        for (unsigned i = 0; i < count; i++)
            if (!ops->launch(work->device, 0, work->launches, NULL, status))
                return false;
        *nanoseconds += measure_clock() - start;
        if (!ops->finish(work->device, status))
            return false;
    }
    return true;
}

static bool round_trip_batch(void *context, unsigned calls, double *nanoseconds,
                             struct status *status) {
    struct roof_launches *work = context;
    const struct device_ops *ops = work->device->ops;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++)
        if (!ops->launch(work->device, 0, work->launches, NULL, status) ||
            !ops->finish(work->device, status))
            return false;
    *nanoseconds = measure_clock() - start;
    return true;
}

static bool synchronize_batch(void *context, unsigned calls, double *nanoseconds,
                              struct status *status) {
    struct device *device = context;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++)
        if (!device->ops->finish(device, status))
            return false;
    *nanoseconds = measure_clock() - start;
    return true;
}

struct replays {
    struct device *device;
    void *graph;
};

static bool replay_batch(void *context, unsigned calls, double *nanoseconds,
                         struct status *status) {
    struct replays *work = context;
    const struct device_ops *ops = work->device->ops;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++)
        if (!ops->graph_replay(work->device, 0, work->graph, status))
            return false;
    if (!ops->finish(work->device, status))
        return false;
    *nanoseconds = measure_clock() - start;
    return true;
}

/* ---- Roofs ------------------------------------------------------------------------------ */

static bool measure_launches(const struct roof_bench *bench, struct launch *launch,
                             struct status *status) {
    struct roof *roofs = bench->roofs->of;
    struct roof_launches launches = {bench->device, launch, 1, NULL};
    struct measured_work back_to_back = {&launches, roof_launch_batch};
    struct measured_work call = {&launches, call_batch}, trip = {&launches, round_trip_batch};
    struct measured_work synchronize = {bench->device, synchronize_batch};
    const char *what = bench->capabilities->language == LANGUAGE_NATIVE
                           ? "empty kernel of one unit, on the calling thread only"
                           : "empty kernel of one block";
    snprintf(roofs[ROOF_LAUNCH].how, sizeof roofs->how, "%s", what);
    snprintf(roofs[ROOF_LAUNCH_CALL].how, sizeof roofs->how,
             "the call only, on a queue that is not full");
    snprintf(roofs[ROOF_ROUND_TRIP].how, sizeof roofs->how, "%s", what);
    snprintf(roofs[ROOF_SYNCHRONIZE].how, sizeof roofs->how, "with nothing to wait for");
    return roof_latency(bench, &back_to_back, &roofs[ROOF_LAUNCH], status) &&
           roof_latency(bench, &call, &roofs[ROOF_LAUNCH_CALL], status) &&
           roof_latency(bench, &trip, &roofs[ROOF_ROUND_TRIP], status) &&
           roof_latency(bench, &synchronize, &roofs[ROOF_SYNCHRONIZE], status);
}

/* In sequence, with work for each unit: the start and end cost of a large kernel. */
static bool measure_wide(const struct roof_bench *bench, const struct launch *launch,
                         struct status *status) {
    struct launch wide = *launch;
    struct roof_launches launches = {bench->device, &wide, 1, NULL};
    struct measured_work work = {&launches, roof_launch_batch};
    struct roof *roof = &bench->roofs->of[ROOF_LAUNCH_WIDE];
    unsigned units = bench->capabilities->compute_units;
    wide.grid[0] = units > 1 ? units : 1;
    snprintf(roof->how, sizeof roof->how, "empty kernel of %u %s", wide.grid[0],
             bench->capabilities->language == LANGUAGE_NATIVE
                 ? "units, for all threads, already awake"
                 : "blocks, one for each unit");
    return roof_latency(bench, &work, roof, status);
}

/* One at a time on an idle device, by the device's own stamp. */
static bool measure_start(const struct roof_bench *bench, const struct launch *launch,
                          struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct roof *roof = &bench->roofs->of[ROOF_LAUNCH_TO_START];
    unsigned count = bench->quick ? LATENCY_SAMPLES_QUICK : LATENCY_SAMPLES;
    double samples[LATENCY_SAMPLES];
    char error[FORMAT_SIZE];
    for (unsigned i = 0; i < count; i++) {
        struct device_stamp stamp = {0};
        int64_t start, end;
        if (!ops->finish(bench->device, status))
            return false;
        double called = measure_clock();
        if (!ops->launch(bench->device, 0, launch, &stamp, status) ||
            !ops->finish(bench->device, status) ||
            !ops->resolve(bench->device, &stamp, &start, &end, status))
            return false;
        samples[i] = (double)start - called;
    }
    struct summary summary = statistics_summarize(samples, count);
    roof->value = summary.median > 1 ? summary.median : 1;
    roof->spread = statistics_spread(&summary);
    snprintf(roof->how, sizeof roof->how, "median of %u; the device's clock is known to %s", count,
             format_duration(ops->clock_error(bench->device), error));
    return true;
}

static bool measure_graph(const struct roof_bench *bench, const struct launch *launch,
                          unsigned kernels, struct roof *roof, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct launch launches[GRAPH_KERNELS];
    struct replays replays = {bench->device, NULL};
    struct measured_work work = {&replays, replay_batch};
    for (unsigned i = 0; i < kernels; i++)
        launches[i] = *launch;
    if (!ops->graph_create(bench->device, launches, kernels, &replays.graph, status))
        return false;
    bool measured = roof_latency(bench, &work, roof, status);
    ops->graph_destroy(bench->device, replays.graph);
    return measured;
}

static bool measure_graphs(const struct roof_bench *bench, const struct launch *launch,
                           struct status *status) {
    struct roof *replay = &bench->roofs->of[ROOF_GRAPH_REPLAY],
                *kernel = &bench->roofs->of[ROOF_GRAPH_KERNEL], many = {0};
    if (!measure_graph(bench, launch, 1, replay, status) ||
        !measure_graph(bench, launch, GRAPH_KERNELS, &many, status))
        return false;
    double each = (many.value - replay->value) / (GRAPH_KERNELS - 1);
    kernel->value = each > 1 ? each : 1;
    kernel->spread = many.spread;
    snprintf(replay->how, sizeof replay->how, "one after another");
    snprintf(kernel->how, sizeof kernel->how, "from a graph of %d", GRAPH_KERNELS);
    return true;
}

static bool measure_all(const struct roof_bench *bench, struct launch *launch,
                        struct status *status) {
    return measure_launches(bench, launch, status) && measure_wide(bench, launch, status) &&
           measure_graphs(bench, launch, status) && measure_start(bench, launch, status);
}

bool roof_measure_launch(const struct roof_bench *bench, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct device_kernel *kernel;
    struct launch_buffer buffer = {0};
    struct launch launch = {
        .grid = {1, 1, 1}, .block = {1, 1, 1}, .buffer_count = 1, .buffers = &buffer};
    if (!ops->allocate(bench->device, 64, &buffer.memory, status))
        return false;
    bool measured = load_empty(bench, &kernel, status);
    if (measured) {
        launch.kernel = kernel;
        measured = measure_all(bench, &launch, status);
        ops->unload(bench->device, kernel);
    }
    ops->release(bench->device, buffer.memory);
    return measured || status_context(status, "measuring the cost of launches");
}
