/* The plan of arange, rand and randn on the CPU. */
#ifndef RIDGE_GEN_NATIVE_GENERATE_H
#define RIDGE_GEN_NATIVE_GENERATE_H

#include "gen/arange.h"
#include "gen/native/plan.h"
#include "gen/native/isa.h"

enum { GENERATE_UNIT = 8192 }; /* elements */

/* Buffers: the step if there is one, the result. */
struct generate_plan {
    int64_t kind, type; /* enum generate_kind, enum ridge_dtype */
    int64_t count;
    uint64_t key; /* rand, randn */
    int64_t stepped;
    struct arange arange; /* arange */
};

SIMD_DECLARE(native_function, generate_values)

#endif
