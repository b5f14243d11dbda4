/* A watch reads the machine before and after a measurement; what changed in between, or was wrong
 * at either end, is said in a few words. Readings cost some microseconds and happen outside of what
 * is timed.
 */
#include "machine/health.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "abi/nvml.h"
#include "machine/health_parts.h"

#define OTHERS_MATTER 0.10 /* of the processors' time */
#define STEALING_MATTERS 0.02
#define CLOCK_FALL 0.8  /* of what it was before */
#define COUNTED_NS 20e6 /* the system counts in steps of 10 ms: less than two may be chance */

struct health_watch {
    struct health_gpu *gpu; /* NULL: none, or no one to ask */
};

struct health_watch *health_open(const char *uuid) {
    struct status ignored;
    struct health_watch *watch = memory_allocate(1, sizeof *watch, &ignored);
    if (watch && uuid)
        watch->gpu = health_gpu_open(uuid);
    return watch;
}

struct health_watch *health_open_gpu(const char *uuid) {
    struct health_watch *watch = *uuid ? health_open(uuid) : NULL;
    if (watch && watch->gpu)
        return watch;
    health_close(watch);
    return NULL;
}

void health_close(struct health_watch *watch) {
    if (!watch)
        return;
    health_gpu_close(watch->gpu);
    memory_free(watch);
}

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Used by this process and by children that have ended. */
static double own_time_ns(void) {
    struct rusage own = {0}, children = {0};
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(children.ru_utime) +
            seconds_of(children.ru_stime)) *
           1e9;
}

void health_read(struct health_watch *watch, struct health *reading) {
    *reading = (struct health){
        .time = clock_now(),
        .clock_mhz = -1,
        .clock_max_mhz = -1,
        .memory_clock_mhz = -1,
        .temperature_c = -1,
        .power_w = -1,
        .power_limit_w = -1,
        .throttle_reasons = -1,
        .throttle_count = -1,
        .stolen_ns = -1,
        .other_ns = -1,
    };
    health_read_processor("", (long)getpid(), own_time_ns(), reading);
    if (watch && watch->gpu)
        health_gpu_read(watch->gpu, reading);
}

/* ---- What was wrong ----------------------------------------------------------------------- */

struct words {
    char *text;
    size_t used, capacity;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *words, const char *format,
                                                      ...) {
    va_list arguments;
    if (words->used > 0 && words->used + 2 < words->capacity)
        words->used +=
            (size_t)snprintf(words->text + words->used, words->capacity - words->used, "; ");
    va_start(arguments, format);
    int length =
        vsnprintf(words->text + words->used, words->capacity - words->used, format, arguments);
    va_end(arguments);
    words->used += length > 0 ? (size_t)length : 0;
    if (words->used >= words->capacity)
        words->used = words->capacity - 1;
}

static const struct {
    int64_t bits;
    const char *words;
} reasons[] = {
    {NVML_POWER_CAP, "power cap"},
    {NVML_SOFTWARE_HEAT | NVML_HARDWARE_HEAT, "heat"},
    {NVML_POWER_BRAKE, "power brake"},
    {NVML_HARDWARE_SLOWDOWN, "hardware slowdown"},
    {NVML_SYNC_BOOST, "clocks bound to other GPUs'"},
};

static void say_throttling(const struct health *before, const struct health *after,
                           struct words *words) {
    int64_t seen = 0;
    if (before->throttle_reasons > 0)
        seen |= before->throttle_reasons;
    if (after->throttle_reasons > 0)
        seen |= after->throttle_reasons;
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++)
        if (seen & reasons[i].bits)
            say(words, "throttled: %s", reasons[i].words);
    if (before->throttle_count >= 0 && after->throttle_count > before->throttle_count)
        say(words, "throttled: the processor was too hot");
}

static bool is_idle(const struct health *reading) {
    return reading->throttle_reasons > 0 && (reading->throttle_reasons & NVML_IDLE);
}

static void say_clocks(const struct health *before, const struct health *after,
                       struct words *words) {
    if (before->clock_mhz > 0 && after->clock_mhz > 0 && !is_idle(after) &&
        after->clock_mhz < CLOCK_FALL * before->clock_mhz)
        say(words, "the clock fell from %.0f to %.0f MHz", before->clock_mhz, after->clock_mhz);
}

/* The part of all processors' time that went elsewhere; 0 when that is not known or too little to
 * be told. */
static double share(double before, double after, int64_t elapsed) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double used = after - before;
    if (before < 0 || after < 0 || elapsed <= 0 || used < COUNTED_NS)
        return 0;
    return used / ((double)elapsed * (double)(processors > 0 ? processors : 1));
}

static void say_others(const struct health *before, const struct health *after,
                       struct words *words) {
    int64_t elapsed = after->time - before->time;
    double other = share(before->other_ns, after->other_ns, elapsed);
    double stolen = share(before->stolen_ns, after->stolen_ns, elapsed);
    if (other > OTHERS_MATTER)
        say(words, "about %.0f %% of the processors' time went to other programs",
            10 * ceil(10 * other));
    if (stolen > STEALING_MATTERS)
        say(words, "the hypervisor took about %.0f %% of the processors' time",
            10 * ceil(10 * stolen));
}

bool health_disturbed(const struct health *before, const struct health *after, char *words,
                      size_t capacity) {
    struct words said = {.text = words, .capacity = capacity};
    if (capacity == 0)
        return false;
    *words = 0;
    say_throttling(before, after, &said);
    say_clocks(before, after, &said);
    say_others(before, after, &said);
    return said.used > 0;
}
