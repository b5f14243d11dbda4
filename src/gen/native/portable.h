/* Portable kernels on the CPU: gen/portable.h. */
#ifndef RIDGE_GEN_NATIVE_PORTABLE_H
#define RIDGE_GEN_NATIVE_PORTABLE_H

#include "gen/native/isa.h"
#include "gen/native/plan.h"

enum { PORTABLE_UNIT = 2048 }; /* elements of a unit of FOR_EACH() */

/* The function of an operation for a type; NULL if there is none. */
typedef native_function *portable_function(enum op op, enum ridge_dtype type, bool descending);
SIMD_DECLARE(portable_function, portable_kernel)

#endif
