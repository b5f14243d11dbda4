/* A compute-only loop of calls, to be sampled by tests/bench/overhead. Prints "ready", then runs
 * one round for each line that it reads and prints its microseconds per iteration. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { TURNS = 200, STEPS = 200000 };

static uint64_t state = 1;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void turn(void) {
    for (int i = 0; i < STEPS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
}

__attribute__((noinline)) static double round_of_turns(void) {
    double start = seconds();
    for (int i = 0; i < TURNS; i++)
        turn();
    return (seconds() - start) / TURNS * 1e6;
}

int main(void) {
    char line[64];
    round_of_turns();
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.4f\n", round_of_turns());
        fflush(stdout);
    }
    return state == 0;
}
