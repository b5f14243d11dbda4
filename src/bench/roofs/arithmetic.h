/* Kernels that compute in registers and touch no memory, in the device's language. */
#ifndef RIDGE_BENCH_ROOFS_ARITHMETIC_H
#define RIDGE_BENCH_ROOFS_ARITHMETIC_H

#include "bench/roofs/methods.h"

/* One kind of arithmetic of a language: how a kernel's chain is written. */
struct source_chain {
    enum roof_id roof;
    enum device_language language;
    const char *section; /* of chains.cl */
    double operations;   /* of a step */
    const char *how;
    const char *absent; /* why the condition may be false */
};

/* All of them; *count. Those of one roof and language are methods for the same roof. */
const struct source_chain *source_chains(unsigned *count);

enum { SOURCE_CHAIN_ABSENT = -1 }; /* is the result, an i32, when the condition is false */
/* A thread does `steps`, a multiple of 8, for each round of the launch's first scalar. */
bool source_chain_load(const struct roof_bench *bench, const struct source_chain *chain,
                       unsigned threads, unsigned steps, struct device_kernel **kernel,
                       struct status *status);

#endif
