/* Which figure of many repetitions is the roof?
 *
 * A CPU is shared with other programs: nothing makes a batch faster than the hardware, and much
 * makes it slower, so the fastest batch counts. A GPU is not shared, but its clock settles with
 * temperature and power: the median is what it can sustain. Latencies are lower bounds: always
 * the fastest batch.
 */
#include "bench/roofs/methods.h"

#include <stdio.h>
#include <string.h>

#define PRECISION 0.005

static struct measure_plan plan_of(const struct roof_bench *bench, bool trial) {
    double seconds = bench->quick ? (trial ? 0.01 : 0.03) : (trial ? 0.05 : 0.4);
    return (struct measure_plan){.seconds = seconds, .precision = PRECISION};
}

static bool time_method(const struct roof_bench *bench, const struct roof_method *method,
                        bool trial, double *rate, double *spread, struct status *status) {
    struct measure_plan plan = plan_of(bench, trial);
    struct measurement measurement;
    if (!measure(&plan, &method->work, 1, &measurement, status))
        return status_context(status, "%s", method->how);
    const struct summary *time = &measurement.time;
    *rate = method->amount / (bench->capabilities->is_gpu ? time->median : time->fastest) * 1e9;
    *spread = statistics_spread(time);
    return true;
}

/* Raises the roof if the result is better. */
static void raise_roof(struct roof *roof, const struct roof_method *method, double rate,
                       double spread) {
    if (rate <= roof->value)
        return;
    roof->value = rate;
    roof->spread = spread;
    snprintf(roof->how, sizeof roof->how, "%s", method->how);
}

bool roof_best(const struct roof_bench *bench, const struct roof_method *methods, unsigned count,
               struct roof *roof, struct status *status) {
    double rate, spread, best_rate = 0;
    unsigned best = 0;
    for (unsigned i = 0; count > 1 && i < count; i++) {
        if (!time_method(bench, &methods[i], true, &rate, &spread, status))
            return false;
        if (!bench->capabilities->is_gpu)
            raise_roof(roof, &methods[i], rate, spread);
        if (rate > best_rate) {
            best_rate = rate;
            best = i;
        }
    }
    if (!time_method(bench, &methods[best], false, &rate, &spread, status))
        return false;
    raise_roof(roof, &methods[best], rate, spread);
    return true;
}

bool roof_latency(const struct roof_bench *bench, const struct measured_work *work,
                  struct roof *roof, struct status *status) {
    struct measure_plan plan = plan_of(bench, false);
    struct measurement measurement;
    if (!measure(&plan, work, 1, &measurement, status))
        return false;
    if (roof->value > 0 && measurement.time.fastest >= roof->value)
        return true;
    roof->value = measurement.time.fastest;
    roof->spread = statistics_spread(&measurement.time);
    return true;
}

void roof_absent(struct roof *roof, const char *why) {
    roof->value = roof->spread = 0;
    snprintf(roof->how, sizeof roof->how, "%.*s", (int)sizeof roof->how - 1, why);
}

bool roof_without(struct roof *roof, struct status *status) {
    if (status->code != STATUS_UNSUPPORTED && status->code != STATUS_INPUT &&
        status->code != STATUS_MEMORY)
        return false;
    roof_absent(roof, status->message);
    *status = (struct status){0};
    return true;
}

bool roof_launch_batch(void *context, unsigned calls, double *nanoseconds, struct status *status) {
    struct roof_launches *work = context;
    const struct device_ops *ops = work->device->ops;
    double start = measure_clock();
    for (unsigned i = 0; i < calls; i++) {
        unsigned next = work->turn ? (*work->turn)++ % work->count : 0;
        if (!ops->launch(work->device, 0, &work->launches[next], NULL, status))
            return false;
    }
    if (!ops->finish(work->device, status))
        return false;
    *nanoseconds = measure_clock() - start;
    return true;
}

bool roof_load_request(const struct roof_bench *bench, const struct kernel_request *request,
                       struct device_kernel **kernel, struct status *status) {
    struct kernel_generated generated;
    if (!kernel_generate(&request->spec, bench->capabilities, &generated, status))
        return false;
    bool loaded = bench->device->ops->load(bench->device, &generated.code, kernel, status);
    kernel_generated_finish(&generated);
    return loaded;
}

bool roof_fill(const struct roof_bench *bench, struct device_memory memory, enum ridge_dtype dtype,
               bool normal, struct status *status) {
    const struct device_ops *ops = bench->device->ops;
    struct generate_work work = {
        .kind = normal ? GENERATE_RANDN : GENERATE_RAND,
        .type = dtype,
        .count = (int64_t)(memory.bytes / ridge_dtype_bytes(dtype, 1)),
        .seed = 1,
    };
    struct kernel_request request;
    struct device_kernel *kernel;
    struct launch_buffer buffer = {.memory = memory};
    if (!kernel_generate_values(&work, bench->capabilities, &request, status) ||
        !roof_load_request(bench, &request, &kernel, status))
        return false;
    struct launch launch = {
        .kernel = kernel,
        .shared_bytes = request.shared_bytes,
        .buffer_count = 1,
        .scalar_count = request.scalar_count,
        .buffers = &buffer,
        .scalars = request.scalars,
    };
    memcpy(launch.grid, request.grid, sizeof launch.grid);
    memcpy(launch.block, request.block, sizeof launch.block);
    bool filled =
        ops->launch(bench->device, 0, &launch, NULL, status) && ops->finish(bench->device, status);
    ops->unload(bench->device, kernel);
    return filled;
}
