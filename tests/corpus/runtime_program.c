/* Programs on ridge's own runtime with one fault each, and the same work without it:
 *
 *   runtime_faults FAULT AMOUNT STEPS DEVICE MANNER RECORD TRACE RESULT LOCK
 *
 * MANNER own: faulty and mended in turns, several rounds, each recorded by the runtime itself; the
 * last trace of RECORD ("faulty" or "mended") is left in TRACE. MANNER whole: RECORD alone, for
 * `ridge record` around it. RESULT gets the times as JSON; LOCK is held while the device is used.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "runtime_faults.h"

enum { ROUNDS = 5, WARM_UP_STEPS = 3 };

/* 0 when something failed. */
static int64_t time_steps(struct run *run, const struct fault *fault, bool faulty, int steps) {
    if (!ridge_synchronize(run->device))
        return 0;
    int64_t start = clock_ns();
    for (int i = 0; i < steps; i++) {
        ridge_scope_begin();
        bool ok = fault->step(run, faulty);
        ridge_scope_end();
        if (!ok)
            return 0;
    }
    return ridge_synchronize(run->device) ? clock_ns() - start : 0;
}

static int64_t time_traced(struct run *run, const struct fault *fault, bool faulty,
                           const char *path) {
    unlink(path);
    if (!ridge_trace_begin(run->device, path))
        return 0;
    int64_t taken = time_steps(run, fault, faulty, run->steps);
    return ridge_trace_end(run->device) ? taken : 0;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct times {
    int64_t of[2][ROUNDS], recorded; /* [0] mended, [1] faulty */
    int rounds[2];
};

static bool measure_in_turns(struct run *run, const struct fault *fault, bool record_faulty,
                             const char *trace, struct times *times) {
    char other[4096];
    snprintf(other, sizeof other, "%s.other", trace);
    for (int warm = 0; warm < WARM_UP_STEPS; warm++)
        if (!time_steps(run, fault, true, 3) || (fault->key && !time_steps(run, fault, false, 3)))
            return false;
    for (int round = 0; round < ROUNDS; round++)
        for (int faulty = 1; faulty >= (fault->key ? 0 : 1); faulty--) {
            bool kept = faulty == record_faulty;
            int64_t taken = time_traced(run, fault, faulty, kept ? trace : other);
            if (!taken)
                return false;
            times->of[faulty][times->rounds[faulty]++] = taken;
            if (kept)
                times->recorded = taken;
        }
    unlink(other);
    return true;
}

static bool measure_whole(struct run *run, const struct fault *fault, bool faulty,
                          struct times *times) {
    if (!time_steps(run, fault, faulty, WARM_UP_STEPS))
        return false;
    times->recorded = time_steps(run, fault, faulty, run->steps);
    times->of[faulty][times->rounds[faulty]++] = times->recorded;
    for (int round = 0; !faulty && round < 2; round++)
        times->of[0][times->rounds[0]++] = time_steps(run, fault, false, run->steps);
    return times->recorded != 0;
}

static bool write_result(const char *path, const struct run *run, const struct fault *fault,
                         struct times *times) {
    struct ridge_device_info info;
    FILE *file = fopen(path, "w");
    if (!file || !ridge_device_describe(run->device, &info))
        return false;
    fprintf(file, "{\"device\": \"%s\", \"recorded_ns\": %lld, \"unit_ns\": 0, \"times_ns\": {",
            info.description, (long long)times->recorded);
    const char *comma = "";
    for (int faulty = 1; faulty >= 0; faulty--) {
        if (times->rounds[faulty] == 0)
            continue;
        qsort(times->of[faulty], (size_t)times->rounds[faulty], sizeof(int64_t), by_value);
        fprintf(file, "%s\"%s%s\": %lld", comma, faulty ? "faulty" : "without ",
                faulty ? "" : fault->key, (long long)times->of[faulty][times->rounds[faulty] / 2]);
        comma = ", ";
    }
    fprintf(file, "}, \"rounds\": {\"faulty\": %d}}\n", times->rounds[1]);
    return fclose(file) == 0;
}

static bool measure(struct run *run, const struct fault *fault, char **argv) {
    struct times times = {0};
    bool faulty = strcmp(argv[6], "faulty") == 0, whole = strcmp(argv[5], "whole") == 0;
    if (!fault->key)
        faulty = true;
    return fault->prepare(run) &&
           (whole ? measure_whole(run, fault, faulty, &times)
                  : measure_in_turns(run, fault, faulty, argv[7], &times)) &&
           write_result(argv[8], run, fault, &times);
}

int main(int argc, char **argv) {
    const struct fault *fault = argc == 10 ? find_fault(argv[1]) : NULL;
    if (!fault) {
        fprintf(stderr, "usage: runtime_faults FAULT AMOUNT STEPS DEVICE own|whole faulty|mended "
                        "TRACE RESULT LOCK\n");
        return 2;
    }
    int lock = open(argv[9], O_CREAT | O_RDWR, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        perror(argv[9]);
    struct run run = {.device = ridge_device_open(argv[4]),
                      .small = strcmp(argv[4], "cpu") == 0,
                      .amount = atoi(argv[2]),
                      .steps = atoi(argv[3])};
    bool ok = run.device && measure(&run, fault, argv);
    if (!ok)
        fprintf(stderr, "runtime_faults %s: %s\n", argv[1], ridge_error_message());
    ridge_device_close(run.device);
    free(run.host);
    return ok ? 0 : 1;
}
