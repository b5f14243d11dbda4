/* A program on ridge's own runtime with a fault: what it needs before its loop, and a step of it.
 */
#ifndef RIDGE_TESTS_CORPUS_RUNTIME_FAULTS_H
#define RIDGE_TESTS_CORPUS_RUNTIME_FAULTS_H

#include <ridge.h>
#include <time.h>

struct run {
    ridge_device *device;
    bool small; /* on the CPU nothing is measured: sizes are small */
    int amount, steps;
    bool pool_is_off;
    unsigned compiled; /* how many programs were, so that each is another one */
    ridge_tensor *x, *gate, *up, *down, *weights, *chain_input, *a32, *b32, *a16, *b16;
    ridge_tensor *low_a, *low_b;
    ridge_tensor *many[6], *few[6], *many_state, *few_state;
    ridge_program *base, *chain, *lora;
    float *host;
};

struct fault {
    const char *name, *key; /* the finding that names it; NULL: there is none */
    bool (*prepare)(struct run *run);
    bool (*step)(struct run *run, bool faulty);
};
const struct fault *find_fault(const char *name);

static inline int64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#endif
