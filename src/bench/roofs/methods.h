/* Measures one roof: several methods are tried briefly, and the best one is then measured
 * thoroughly. */
#ifndef RIDGE_BENCH_ROOFS_METHODS_H
#define RIDGE_BENCH_ROOFS_METHODS_H

#include "bench/measure.h"
#include "bench/roofs/roofs.h"
#include "device/device.h"
#include "gen/kernel.h"

/* Context of all measurements. */
struct roof_bench {
    struct device *device;
    const struct device_capabilities *capabilities;
    bool quick;
    struct roofs *roofs;
};

enum { ROOF_METHODS_MAX = 16 };

struct roof_method {
    struct measured_work work;
    double amount; /* bytes or operations of a call */
    char how[96];
};

/* Raises `roof` to the best of the methods, in amount per second, if that is higher. */
bool roof_best(const struct roof_bench *bench, const struct roof_method *methods, unsigned count,
               struct roof *roof, struct status *status);
/* Lowers `roof` to the nanoseconds of a call, if that is less than it was, or it was nothing. */
bool roof_latency(const struct roof_bench *bench, const struct measured_work *work,
                  struct roof *roof, struct status *status);

/* The roof cannot be measured: `how` gets the reason, and the value stays 0. */
void roof_absent(struct roof *roof, const char *why);
/* After a failure: when the device or this build cannot do it, the roof is absent for that reason
 * and all is well; else the failure stays one. */
bool roof_without(struct roof *roof, struct status *status);

/* ---- Work on the device ------------------------------------------------------------------- */

/* Launches that alternate, as context of roof_launch_batch(). `turn` counts up; launches over
 * the same memory share it, so that none starts where another just was. NULL: there is only one
 * launch. */
struct roof_launches {
    struct device *device;
    const struct launch *launches;
    unsigned count, *turn;
};
bool roof_launch_batch(void *launches, unsigned calls, double *nanoseconds, struct status *status);

bool roof_load_request(const struct roof_bench *bench, const struct kernel_request *request,
                       struct device_kernel **kernel, struct status *status);
/* Random numbers of the type, uniform in [0, 1) or, if `normal`, with mean 0 and deviation 1, in
 * all of the memory. */
bool roof_fill(const struct roof_bench *bench, struct device_memory memory, enum ridge_dtype dtype,
               bool normal, struct status *status);

/* ---- The parts of roofs_measure() --------------------------------------------------------- */

/* Bandwidths: memory.c. */
bool roof_measure_memory(const struct roof_bench *bench, struct status *status);
/* Rates of arithmetic, matrix units where the CPU has them: arithmetic.c. */
bool roof_measure_arithmetic(const struct roof_bench *bench, struct status *status);
/* sin, cos, exp, log: functions.c. */
bool roof_measure_functions(const struct roof_bench *bench, struct status *status);
/* Matrix units of GPUs: matrix.c. */
bool roof_measure_matrix(const struct roof_bench *bench, struct status *status);
/* Launches, graphs, waiting: launch.c. */
bool roof_measure_launch(const struct roof_bench *bench, struct status *status);
/* Between host and device: transfer.c. */
bool roof_measure_transfers(const struct roof_bench *bench, struct status *status);

#endif
