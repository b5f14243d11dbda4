/* How long does a call take? Warms up until times are steady, then times batches of calls until
 * the median is known well enough.
 *
 * Several works can be measured together: their batches alternate, so that disturbances affect
 * all of them alike. A peer is compared this way.
 */
#ifndef RIDGE_BENCH_MEASURE_H
#define RIDGE_BENCH_MEASURE_H

#include "base/status.h"
#include "base/statistics.h"

enum { MEASURE_SAMPLES = 128, MEASURE_TOGETHER = 4 };

struct measure_plan {
    double seconds;      /* time limit of the measurement, for each work */
    double precision;    /* enough when the error of the median is below it: 0.01 */
    unsigned iterations; /* time exactly this many calls instead; 0: as many as needed */
};

struct measured_work {
    void *context;
    /* Makes `calls` calls in sequence, waits for the last and returns the time taken. */
    bool (*batch)(void *context, unsigned calls, double *nanoseconds, struct status *status);
};

struct measurement {
    struct summary time;             /* nanoseconds of a call */
    double samples[MEASURE_SAMPLES]; /* of a call, one for each batch, in the order of time */
    unsigned sample_count;
    unsigned calls; /* in a batch */
    unsigned warm_up_calls;
    unsigned thinned;   /* times that every second sample was left out */
    double pace, width; /* measure_pace() and measure_width() around the fastest batch */
    double own_ns;      /* processor time that this program used meanwhile, on all threads */
    bool steady; /* the warm-up ended because times had settled, and the error is small enough */
};

/* measurements[i] is of works[i]; count is at most MEASURE_TOGETHER. */
bool measure(const struct measure_plan *plan, const struct measured_work *works, unsigned count,
             struct measurement *measurements, struct status *status);

/* Samples of a later round are added to those of earlier ones: the summary is then of all. When
 * there are too many, every second one is left out, of all rounds alike. */
void measurement_add(struct measurement *sum, const struct measurement *round);

double measure_clock(void); /* nanoseconds on CLOCK_MONOTONIC */

/* Nanoseconds of a fixed piece of arithmetic that needs no memory, some 50 microseconds: how fast
 * the processor's clock runs at the moment. */
double measure_pace(void);
/* The same for arithmetic that saturates a core: unlike measure_pace(), it takes longer while
 * the sibling hyperthread is busy, which a virtual machine cannot query. */
double measure_width(void);

#endif
