/* The vector instruction set (ISA) of the CPU kernels.
 *
 * Every file of src/gen/native/simd/ is compiled once for each ISA of this build (see the
 * Makefile) and names its exports with SIMD_NAME() of simd.h: pack becomes pack_avx2. Others
 * call such functions through a table with a row for each ISA:
 *
 *   typedef void pack_function(float *to, const float *from, size_t count);
 *   SIMD_DECLARE(pack_function, pack)
 *   static pack_function *const packs[] = SIMD_ROWS(pack);
 *   packs[simd_best()->index](to, from, count);
 */
#ifndef RIDGE_GEN_NATIVE_ISA_H
#define RIDGE_GEN_NATIVE_ISA_H

#include <stdbool.h>
#include <stddef.h>

#include "gen/native/tiles.h"

#if defined(__x86_64__)
#define SIMD_DECLARE(type, name) extern type name##_sse2, name##_avx2, name##_avx512;
#define SIMD_ROWS(name)                                                                            \
    { name##_sse2, name##_avx2, name##_avx512 }
#elif defined(__aarch64__)
#define SIMD_DECLARE(type, name) extern type name##_neon;
#define SIMD_ROWS(name)                                                                            \
    { name##_neon }
#else
#define SIMD_DECLARE(type, name) extern type name##_generic;
#define SIMD_ROWS(name)                                                                            \
    { name##_generic }
#endif

struct simd_isa {
    const char *name;                  /* "avx2" */
    unsigned index;                    /* of its row in tables; higher is better */
    bool (*supported)(void);           /* by this machine */
    const struct tile_functions *tile; /* functions for fused programs */
};

/* The best ISA of this machine, or the one named by RIDGE_SIMD in the environment. */
const struct simd_isa *simd_best(void);
/* Makes simd_best() return the named ISA; false if this build or machine does not have it. NULL
 * restores the default. For tests: no kernel may be running. */
bool simd_use(const char *name);
/* All ISAs of this build; NULL past the last. */
const struct simd_isa *simd_isa(unsigned index);

#endif
