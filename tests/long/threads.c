/* Busy threads with nested calls, to be sampled by tests/long/threads:
 *
 *   threads COUNT SECONDS
 *
 * Prints the processor time that they used, in milliseconds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 20, FRAME_BYTES = 200, STEPS = 100000 };

static double end;
static volatile double result;

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static double nest(int depth, double x) {
    volatile char frame[FRAME_BYTES] = {1};
    if (depth > 0)
        return nest(depth - 1, x + 1) + frame[0];
    do {
        for (int i = 0; i < STEPS; i++)
            x = x * 1.0000001 + 1e-9;
    } while (seconds(CLOCK_MONOTONIC) < end);
    return x;
}

static void *work(void *unused) {
    (void)unused;
    result = nest(DEPTH, 1);
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    end = seconds(CLOCK_MONOTONIC) + (argc > 2 ? atof(argv[2]) : 5);
    for (int i = 0; i < count; i++)
        if (!threads || pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f\n", 1e3 * seconds(CLOCK_PROCESS_CPUTIME_ID));
    free(threads);
    return 0;
}
