/* A batch is long enough that reading the clock and waiting at its end do not matter, and short
 * enough that many fit into the available time. The number of calls is found by trial, in the
 * first part of the warm-up; the second part lasts until batches stop getting faster. An
 * interrupted batch looks longer than it is, so the number of calls may grow until the warm-up
 * ends: one interruption must not lead to batches of a single short call.
 *
 * Calls that are long relative to the available time are made only a few times: for a call of 5
 * s and a limit of one second, two to warm up and three to time.
 */
#include "bench/measure.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum {
    SAMPLES_WANTED = 30,    /* batches that should fit into the time */
    SAMPLES_CONFIDENT = 15, /* before the median counts as known */
    SAMPLES_FEW = 7,        /* taken even when they do not fit */
    SAMPLES_LEAST = 3,      /* taken however long they are */
    STEADY_BATCHES = 3,     /* without improvement: the warm-up is over */
    WARM_UP_BATCHES = 400,
    CALLS_MAX = 1 << 20,
    GROWTH_MAX = 10, /* from one trial to the next */
    PACE_STEPS = 40000,
    WIDTH_STEPS = 6000,
    WIDTH_LANES = 8,
};
#define BATCH_MIN_NS 200e3 /* waiting costs microseconds: a batch must be much longer */
#define BATCH_MAX_NS 3e6   /* short ones fit between the moments when others run */
#define STEADY_GAIN 0.01
#define WARM_UP_LEAST 0.1 /* of the time for timing: clocks take a while to rise */
#define WARM_UP_MOST 0.5
#define PATIENCE 3       /* times the time for timing, to get the few samples */
#define UNSTEADY_ERROR 5 /* times the error that was wanted */

struct progress {
    const struct measured_work *work;
    struct measurement *result;
    double call_ns;   /* as the warm-up found it */
    unsigned batches; /* that a fixed number of calls is parted into */
    double spent;     /* on timing */
};

double measure_clock(void) {
    return (double)clock_now();
}

/* Each step depends on the previous one. Integer operations that a compiler cannot merge, and
 * that a hyperthread on the same core does not slow down. */
double measure_pace(void) {
    static volatile uint64_t seed = 1;
    uint64_t x = seed;
    double start = measure_clock();
    for (unsigned i = 0; i < PACE_STEPS; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    seed = x;
    return measure_clock() - start;
}

/* As many independent steps at once as a core can do, over a few lines of the first cache. */
double measure_width(void) {
    typedef float lanes __attribute__((vector_size(16)));
    static volatile float seed = 1;
    lanes sums[WIDTH_LANES], data[WIDTH_LANES];
    for (unsigned i = 0; i < WIDTH_LANES; i++)
        sums[i] = data[i] = (lanes){seed, (float)i, 1, 2};
    double start = measure_clock();
    for (unsigned step = 0; step < WIDTH_STEPS; step++)
        for (unsigned i = 0; i < WIDTH_LANES; i++)
            sums[i] = sums[i] * 0.5f + *(volatile lanes *)&data[i];
    double ns = measure_clock() - start;
    for (unsigned i = 1; i < WIDTH_LANES; i++)
        sums[0] += sums[i];
    seed = sums[0][0] > 1e6f ? 2 : 1;
    return ns;
}

static bool measure_batch(const struct measured_work *work, unsigned calls, double *ns,
                          struct status *status) {
    if (!work->batch(work->context, calls, ns, status))
        return false;
    if (!isfinite(*ns))
        return status_fail(status, STATUS_INPUT, "%u calls reportedly took %g ns", calls, *ns);
    if (*ns < 1)
        *ns = 1;
    return true;
}

static double batch_length(const struct measure_plan *plan) {
    double length = plan->seconds * 1e9 / SAMPLES_WANTED;
    return length < BATCH_MIN_NS ? BATCH_MIN_NS : length > BATCH_MAX_NS ? BATCH_MAX_NS : length;
}

static unsigned more_calls(unsigned calls, double factor) {
    double more = calls * (factor < GROWTH_MAX ? factor : GROWTH_MAX) + 1;
    return more < CALLS_MAX ? (unsigned)more : CALLS_MAX;
}

/* Finds how many calls make a batch, and lasts until batches stop getting faster. */
static bool warm_up(const struct measure_plan *plan, struct progress *progress,
                    struct status *status) {
    struct measurement *result = progress->result;
    double target = batch_length(plan), time = plan->seconds * 1e9, best = 0, spent = 0, ns;
    unsigned calls = 1, idle = 0;
    /* The first call compiles and allocates: its time is not representative. */
    if (!measure_batch(progress->work, 1, &ns, status))
        return false;
    result->warm_up_calls = 1;
    for (unsigned i = 0; i < WARM_UP_BATCHES && spent <= time * WARM_UP_MOST &&
                         (idle < STEADY_BATCHES || spent < time * WARM_UP_LEAST);
         i++) {
        if (!measure_batch(progress->work, calls, &ns, status))
            return false;
        result->warm_up_calls += calls;
        spent += ns;
        if (ns < target / 2 && calls < CALLS_MAX) {
            calls = more_calls(calls, target / ns);
            best = 0;
            idle = 0;
            continue;
        }
        idle = best > 0 && ns > best * (1 - STEADY_GAIN) ? idle + 1 : 0;
        if (best == 0 || ns < best)
            best = ns;
    }
    progress->call_ns = best > 0 ? best / calls : ns / calls;
    result->calls = calls;
    if (best > 2 * target)
        result->calls = (unsigned)(calls * target / best) + 1;
    result->steady = idle >= STEADY_BATCHES;
    return true;
}

/* A fixed number of calls is divided into as many batches as are useful and long enough, but at
 * least a few: otherwise the spread is unknown. */
static void part_iterations(const struct measure_plan *plan, struct progress *progress) {
    double fit = plan->iterations * progress->call_ns / BATCH_MIN_NS;
    unsigned batches = fit < SAMPLES_FEW      ? SAMPLES_FEW
                       : fit > SAMPLES_WANTED ? SAMPLES_WANTED
                                              : (unsigned)fit;
    progress->batches = batches < plan->iterations ? batches : plan->iterations;
    progress->result->calls = plan->iterations / progress->batches;
}

static void summarize(struct measurement *measurement) {
    double sorted[MEASURE_SAMPLES];
    memcpy(sorted, measurement->samples, measurement->sample_count * sizeof sorted[0]);
    measurement->time = statistics_summarize(sorted, measurement->sample_count);
}

static bool is_enough(const struct measure_plan *plan, const struct progress *progress) {
    const struct measurement *result = progress->result;
    double share = progress->spent / (plan->seconds * 1e9);
    if (plan->iterations > 0)
        return result->sample_count == progress->batches;
    if (result->sample_count == MEASURE_SAMPLES)
        return true;
    if (result->sample_count < (share < PATIENCE ? SAMPLES_FEW : SAMPLES_LEAST))
        return false;
    return share >= 1 || (result->sample_count >= SAMPLES_CONFIDENT &&
                          statistics_error(&result->time) < plan->precision);
}

/* So that the batches of a fixed number of calls have that many together. */
static unsigned calls_of_next(const struct measure_plan *plan, const struct progress *progress) {
    uint64_t next = progress->result->sample_count, batches = progress->batches;
    if (plan->iterations == 0)
        return progress->result->calls;
    return (unsigned)(plan->iterations * (next + 1) / batches - plan->iterations * next / batches);
}

static bool take_sample(const struct measure_plan *plan, struct progress *progress,
                        struct status *status) {
    struct measurement *result = progress->result;
    unsigned calls = calls_of_next(plan, progress);
    double pace = measure_pace(), width = measure_width(), ns;
    if (!measure_batch(progress->work, calls, &ns, status))
        return false;
    progress->spent += ns;
    /* An interrupted pass says nothing about the clock; a change of hyperthread activity
     * shows that the batch was disturbed. */
    width = fmax(width, measure_width());
    pace = fmin(pace, measure_pace());
    if (result->sample_count == 0 || ns / calls < result->time.fastest) {
        result->pace = pace;
        result->width = width;
    }
    result->samples[result->sample_count++] = ns / calls;
    summarize(result);
    return true;
}

static bool all_enough(const struct measure_plan *plan, const struct progress *works,
                       unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!is_enough(plan, &works[i]))
            return false;
    return true;
}

static bool has_room(const struct measure_plan *plan, const struct progress *progress) {
    return progress->result->sample_count <
           (plan->iterations > 0 ? progress->batches : MEASURE_SAMPLES);
}

/* Each round takes a sample of every work until all have enough. Every second round is in
 * reverse order, so that no work always follows the same one. */
static bool take_turns(const struct measure_plan *plan, struct progress *works, unsigned count,
                       struct status *status) {
    for (unsigned turn = 0; !all_enough(plan, works, count); turn++)
        for (unsigned i = 0; i < count; i++) {
            struct progress *work = &works[turn % 2 ? count - 1 - i : i];
            if (has_room(plan, work) && !take_sample(plan, work, status))
                return false;
        }
    return true;
}

bool measure(const struct measure_plan *plan, const struct measured_work *works, unsigned count,
             struct measurement *measurements, struct status *status) {
    struct progress progress[MEASURE_TOGETHER] = {0};
    double own_before = (double)clock_read(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned i = 0; i < count; i++) {
        measurements[i] = (struct measurement){0};
        progress[i] = (struct progress){.work = &works[i], .result = &measurements[i]};
        if (!warm_up(plan, &progress[i], status))
            return false;
        if (plan->iterations > 0)
            part_iterations(plan, &progress[i]);
    }
    if (!take_turns(plan, progress, count, status))
        return false;
    double own = (double)clock_read(CLOCK_PROCESS_CPUTIME_ID) - own_before;
    for (unsigned i = 0; i < count; i++) {
        measurements[i].own_ns = own;
        if (plan->iterations == 0 &&
            statistics_error(&measurements[i].time) > UNSTEADY_ERROR * plan->precision)
            measurements[i].steady = false;
    }
    return true;
}

static void halve_samples(struct measurement *measurement) {
    unsigned kept = 0;
    for (unsigned i = 0; i < measurement->sample_count; i += 2)
        measurement->samples[kept++] = measurement->samples[i];
    measurement->sample_count = kept;
    measurement->thinned++;
}

void measurement_add(struct measurement *sum, const struct measurement *round) {
    struct measurement more = *round;
    if (sum->sample_count == 0) {
        *sum = *round;
        return;
    }
    if (more.time.fastest < sum->time.fastest) {
        sum->pace = more.pace;
        sum->width = more.width;
    }
    while (more.thinned < sum->thinned && more.sample_count > 1)
        halve_samples(&more);
    while (sum->thinned < more.thinned && sum->sample_count > 1)
        halve_samples(sum);
    while (sum->sample_count + more.sample_count > MEASURE_SAMPLES) {
        halve_samples(sum);
        halve_samples(&more);
    }
    memcpy(sum->samples + sum->sample_count, more.samples,
           more.sample_count * sizeof more.samples[0]);
    sum->sample_count += more.sample_count;
    sum->warm_up_calls += more.warm_up_calls;
    sum->own_ns += more.own_ns;
    sum->steady = sum->steady && more.steady;
    summarize(sum);
}
