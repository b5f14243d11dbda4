/* A program to be gated: prints the median time of a step of products on a device, that of the
 * fastest step, and the median CPU time of a step. A percentage adds that many more products to
 * each step: a slowdown of known size.
 *
 *   make build/compare/gate_program && build/compare/gate_program DEVICE [PERCENT]
 */
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRODUCTS = 100, STEPS = 15 };

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "cpu";
    int products = PRODUCTS + (argc > 2 ? atoi(argv[2]) : 0);
    double times[STEPS], cpu[STEPS];
    ridge_device *device = ridge_device_open(name);
    int64_t size = strcmp(name, "cpu") == 0 ? 192 : 1536;
    ridge_scope_begin();
    ridge_tensor *x = ridge_full(device, RIDGE_F32, 2, (const int64_t[]){size, size}, 0.001);
    for (int step = -3; step < STEPS; step++) {
        double began = now(CLOCK_MONOTONIC), cpu_began = now(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < products; i++) {
            ridge_scope_begin();
            ridge_matmul(x, x);
            ridge_scope_end();
        }
        ridge_synchronize(device);
        if (step < 0)
            continue;
        times[step] = now(CLOCK_MONOTONIC) - began;
        cpu[step] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
    }
    ridge_scope_end();
    qsort(times, STEPS, sizeof times[0], by_value);
    qsort(cpu, STEPS, sizeof cpu[0], by_value);
    printf("step %.0f ns, fastest %.0f ns, cpu %.0f ns\n", times[STEPS / 2], times[0],
           cpu[STEPS / 2]);
    ridge_device_close(device);
    return ridge_error_code() ? 1 : 0;
}
