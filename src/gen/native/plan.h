/* A native kernel's launch: its plan, a struct of 64-bit members that is passed as the scalars,
 * and a number of units that the threads take one by one. */
#ifndef RIDGE_GEN_NATIVE_PLAN_H
#define RIDGE_GEN_NATIVE_PLAN_H

#include <string.h>

#include "gen/kernel.h"

static inline int64_t plan_units(int64_t count, int64_t per_unit) {
    int64_t units = count / per_unit + (count % per_unit != 0);
    return units < UINT32_MAX ? units : UINT32_MAX;
}

static inline void plan_request(struct kernel_request *request, enum kernel_family family,
                                enum ridge_dtype type, int64_t units, const void *plan,
                                size_t plan_size) {
    request->spec.family = family;
    request->spec.types[0] = (uint8_t)type;
    request->grid[0] = (uint32_t)(units > 0 ? units : 1);
    request->grid[1] = request->grid[2] = 1;
    request->block[0] = request->block[1] = request->block[2] = 1;
    request->scalar_count = (unsigned)(plan_size / sizeof(int64_t));
    memcpy(request->scalars, plan, plan_size);
}

#endif
