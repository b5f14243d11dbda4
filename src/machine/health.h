/* The state of the machine during a measurement: clocks, temperature, power and throttling of a GPU
 * (from NVML), and clock, steal time and load by other programs of the CPU.
 */
#ifndef RIDGE_MACHINE_HEALTH_H
#define RIDGE_MACHINE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DRIVER_VERSION_SIZE = 80 };

/* A reading. Unknown values are negative. */
struct health {
    double clock_mhz, clock_max_mhz;
    double memory_clock_mhz;
    double temperature_c;
    double power_w, power_limit_w;
    int64_t throttle_reasons; /* NVML's bit mask */
    int64_t throttle_count;   /* of the CPU, since boot */
    double stolen_ns;         /* steal time of all CPUs since boot */
    double other_ns;          /* CPU time of other programs, likewise */
    int64_t process_count;    /* compute processes on the GPU */
    int64_t time;             /* CLOCK_MONOTONIC */
};

struct health_watch;

/* Reads the CPU and, unless `uuid` is NULL, an NVIDIA GPU: the one with that UUID ("a1b2c3d4-..."),
 * or with "" the only one. A GPU that NVML does not know reads as unknown. NULL when out of
 * memory. */
struct health_watch *health_open(const char *uuid);
/* The same for a GPU that NVML must know; else NULL. */
struct health_watch *health_open_gpu(const char *uuid);
void health_close(struct health_watch *watch); /* takes NULL */
void health_read(struct health_watch *watch, struct health *reading);

/* The CPU's part of a reading, from /proc and /sys below `root` ("" for the system's own). `own_ns`
 * is the CPU time of this process; its children are found below /proc/`process`. */
void health_read_processor(const char *root, long process, double own_ns, struct health *reading);

/* Describes what disturbed a measurement between two readings: "throttled: power cap", "other
 * programs used about 20 % of the CPU time". False and "" when nothing did. */
bool health_disturbed(const struct health *before, const struct health *after, char *words,
                      size_t capacity);

/* ---- Other processes on the GPU ---- */

enum { GPU_USERS_MAX = 64 };

/* The compute processes that NVML lists: those of this container, where it runs in one. */
struct gpu_users {
    int count; /* -1: unknown */
    struct gpu_user {
        unsigned pid;
        double busy; /* largest share of SM time in a sample; -1: unknown */
    } list[GPU_USERS_MAX];
    int64_t time; /* CLOCK_REALTIME, us */
};

/* `since` is the time of an earlier reading, from which shares are read; or 0. */
void health_read_gpu_users(struct health_watch *watch, int64_t since, struct gpu_users *users);

/* Describes which processes shared the GPU with a program that ran between the readings: those that
 * were there without it and, where that is known, were busy. False and "" when none was. */
bool health_gpu_shared(const struct gpu_users *before, const struct gpu_users *after, char *words,
                       size_t capacity);

/* The version of NVIDIA's driver, "580.65.06"; or "". */
void health_driver_version(struct health_watch *watch, char version[DRIVER_VERSION_SIZE]);

#endif
