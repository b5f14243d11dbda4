/* Arithmetic without memory: chains of multiply-adds that live in registers, one function for each
 * kind of instruction that a CPU may have.
 *
 * A chain starts from the CHAIN_STATE bytes of random bits that it is given and leaves its
 * results there, so that no compiler can remove it.
 */
#ifndef RIDGE_BENCH_ROOFS_NATIVE_CHAINS_H
#define RIDGE_BENCH_ROOFS_NATIVE_CHAINS_H

#include "bench/roofs/roofs.h"

enum { CHAIN_STATE = 4096 };

typedef void native_chain_function(size_t rounds, void *state);

struct native_chain {
    enum roof_id roof;
    native_chain_function *run;
    double operations; /* of a round */
    bool (*supported)(
        void);       /* by this machine; also requests the system's permission if necessary */
    const char *how; /* "AVX-512 multiply-adds" */
};

/* Those of this build, `*count` of them; at least one is supported everywhere. */
const struct native_chain *native_chains(unsigned *count);
/* Why a machine of this kind has no such arithmetic: for a roof without a supported chain. */
const char *native_chain_absent(enum roof_id roof);

#endif
