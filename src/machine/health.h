/* Was the machine itself well while something was measured? Clocks, heat and throttling of a GPU as
 * NVML tells them, and of the CPU its clock, time that the hypervisor took and what other programs
 * used.
 */
#ifndef RIDGE_MACHINE_HEALTH_H
#define RIDGE_MACHINE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reading. What cannot be told is negative. */
struct health {
    double clock_mhz, clock_max_mhz;
    double memory_clock_mhz;
    double temperature_c;
    double power_w, power_limit_w;
    int64_t throttle_reasons; /* NVML's bits */
    int64_t throttle_count;   /* of the CPU since it started */
    double stolen_ns;         /* by the hypervisor, all processors together, since the start */
    double other_ns;          /* processors busy with other programs, likewise */
    int64_t time;             /* of the reading, on CLOCK_MONOTONIC */
};

struct health_watch;

/* Reads the CPU and, unless `uuid` is NULL, an NVIDIA GPU: the one with that UUID ("a1b2c3d4-..."),
 * or with "" the only one. A GPU that NVML does not know reads as unknown. NULL when out of
 * memory. */
struct health_watch *health_open(const char *uuid);
/* The same for a GPU that must be known: NULL when NVML does not have it. */
struct health_watch *health_open_gpu(const char *uuid);
void health_close(struct health_watch *watch); /* takes NULL */
void health_read(struct health_watch *watch, struct health *reading);

/* The CPU's part of a reading, from /proc and /sys below `root` ("" for the system's own). `own_ns`
 * is the CPU time of this process; its children are found below /proc/`process`. */
void health_read_processor(const char *root, long process, double own_ns, struct health *reading);

/* What was wrong between two readings, in a few words: "throttled: power cap", "12 % of the
 * processors' time went to other programs". False, and "", when nothing was. */
bool health_disturbed(const struct health *before, const struct health *after, char *words,
                      size_t capacity);

#endif
