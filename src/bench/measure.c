/* A batch is long enough that reading the clock and waiting at its end do not matter, and short
 * enough that many fit into the time there is. The number of calls in it is found by doubling,
 * which is also the first part of the warm-up; the second lasts until batches stop getting faster.
 */
#include "bench/measure.h"

#include <string.h>
#include <time.h>

enum {
    SAMPLES_WANTED = 30, /* batches that should fit into the time */
    SAMPLES_MIN = 7,
    STEADY_BATCHES = 3, /* that bring nothing: the warm-up is over */
    WARM_UP_BATCHES = 40,
    CALLS_MAX = 1 << 20,
};
#define BATCH_MIN_NS 200e3 /* waiting costs microseconds: a batch must be much longer */
#define STEADY_GAIN 0.01
#define WARM_UP_SHARE 0.5 /* of the time for timing */

struct progress {
    const struct measured_work *work;
    struct measurement *result;
    double spent; /* on timing */
};

double measure_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static bool batch(const struct measured_work *work, unsigned calls, double *ns,
                  struct status *status) {
    if (!work->batch(work->context, calls, ns, status))
        return false;
    if (*ns < 1)
        *ns = 1;
    return true;
}

static double batch_length(const struct measure_plan *plan) {
    double length = plan->seconds * 1e9 / SAMPLES_WANTED;
    return length < BATCH_MIN_NS ? BATCH_MIN_NS : length > 50e6 ? 50e6 : length;
}

/* With a fixed number of iterations: as many batches as are useful, each of at least one call. */
static unsigned fixed_calls(const struct measure_plan *plan) {
    unsigned calls = plan->iterations / SAMPLES_WANTED;
    return calls > 0 ? calls : 1;
}

static bool find_calls(const struct measure_plan *plan, struct progress *progress,
                       struct status *status) {
    double target = batch_length(plan), ns;
    unsigned calls = 1;
    struct measurement *result = progress->result;
    /* The first call compiles and allocates: it says nothing about the second. */
    if (!batch(progress->work, 1, &ns, status))
        return false;
    result->warm_up_calls = 1;
    for (;;) {
        if (!batch(progress->work, calls, &ns, status))
            return false;
        result->warm_up_calls += calls;
        if (ns >= target || calls >= CALLS_MAX)
            break;
        double factor = target / ns;
        factor = factor > 10 ? 10 : factor < 1.2 ? 1.2 : factor;
        unsigned more = (unsigned)((double)calls * factor) + 1;
        calls = more < CALLS_MAX ? more : CALLS_MAX;
    }
    if (ns > 2 * target && calls > 1)
        calls = (unsigned)((double)calls * target / ns) + 1;
    result->calls = plan->iterations > 0 ? fixed_calls(plan) : calls;
    return true;
}

static bool warm_up(const struct measure_plan *plan, struct progress *progress,
                    struct status *status) {
    double best = 0, spent = 0, ns;
    unsigned idle = 0;
    struct measurement *result = progress->result;
    for (unsigned i = 0; i < WARM_UP_BATCHES && idle < STEADY_BATCHES; i++) {
        if (!batch(progress->work, result->calls, &ns, status))
            return false;
        result->warm_up_calls += result->calls;
        spent += ns;
        idle = best > 0 && ns > best * (1 - STEADY_GAIN) ? idle + 1 : 0;
        if (best == 0 || ns < best)
            best = ns;
        if (spent > plan->seconds * 1e9 * WARM_UP_SHARE)
            break;
    }
    result->steady = idle >= STEADY_BATCHES;
    return true;
}

static void summarize(struct measurement *measurement) {
    double sorted[MEASURE_SAMPLES];
    memcpy(sorted, measurement->samples, measurement->sample_count * sizeof sorted[0]);
    measurement->time = statistics_summarize(sorted, measurement->sample_count);
}

static bool is_enough(const struct measure_plan *plan, const struct progress *progress) {
    const struct measurement *result = progress->result;
    if (result->sample_count == MEASURE_SAMPLES)
        return true;
    if (plan->iterations > 0)
        return result->sample_count * result->calls >= plan->iterations;
    if (progress->spent >= plan->seconds * 1e9 && result->sample_count >= SAMPLES_MIN)
        return true;
    return result->sample_count >= SAMPLES_WANTED / 2 &&
           statistics_error(&result->time) < plan->precision;
}

static bool take_sample(struct progress *progress, struct status *status) {
    struct measurement *result = progress->result;
    double ns;
    if (!batch(progress->work, result->calls, &ns, status))
        return false;
    progress->spent += ns;
    result->samples[result->sample_count++] = ns / result->calls;
    summarize(result);
    return true;
}

/* All works get a sample in each turn until every one has enough. */
static bool take_turns(const struct measure_plan *plan, struct progress *works, unsigned count,
                       struct status *status) {
    for (;;) {
        bool enough = true;
        for (unsigned i = 0; i < count; i++)
            enough = enough && is_enough(plan, &works[i]);
        if (enough)
            return true;
        for (unsigned i = 0; i < count; i++)
            if (works[i].result->sample_count < MEASURE_SAMPLES && !take_sample(&works[i], status))
                return false;
    }
}

bool measure(const struct measure_plan *plan, const struct measured_work *works, unsigned count,
             struct measurement *measurements, struct status *status) {
    struct progress progress[MEASURE_TOGETHER] = {0};
    for (unsigned i = 0; i < count; i++) {
        measurements[i] = (struct measurement){0};
        progress[i] = (struct progress){.work = &works[i], .result = &measurements[i]};
        if (!find_calls(plan, &progress[i], status) || !warm_up(plan, &progress[i], status))
            return false;
    }
    if (!take_turns(plan, progress, count, status))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (plan->iterations == 0 && statistics_error(&measurements[i].time) > 5 * plan->precision)
            measurements[i].steady = false;
    return true;
}

static void thin(struct measurement *measurement) {
    unsigned kept = 0;
    for (unsigned i = 0; i < measurement->sample_count; i += 2)
        measurement->samples[kept++] = measurement->samples[i];
    measurement->sample_count = kept;
}

void measurement_add(struct measurement *sum, const struct measurement *round) {
    struct measurement more = *round;
    if (sum->sample_count == 0) {
        *sum = *round;
        return;
    }
    while (sum->sample_count + more.sample_count > MEASURE_SAMPLES) {
        thin(sum);
        thin(&more);
    }
    memcpy(sum->samples + sum->sample_count, more.samples,
           more.sample_count * sizeof more.samples[0]);
    sum->sample_count += more.sample_count;
    sum->warm_up_calls += more.warm_up_calls;
    sum->steady = sum->steady && more.steady;
    summarize(sum);
}
