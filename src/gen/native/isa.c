/* Selects the vector instruction set once, on first use. */
#include "gen/native/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/x86.h"

SIMD_DECLARE(const struct tile_functions, tile_functions)

#if defined(__x86_64__)
static bool has_sse2(void) {
    return true;
}
static bool has_avx2(void) {
    return x86_supports("avx2") && x86_supports("fma") &&
           x86_supports("bmi2"); /* all CPUs with avx2 have f16c, which clang cannot query */
}
static bool has_avx512(void) {
    return has_avx2() && x86_supports("avx512f") && x86_supports("avx512bw") &&
           x86_supports("avx512dq") && x86_supports("avx512vl");
}
static const struct simd_isa isas[] = {
    {"sse2", 0, has_sse2, &tile_functions_sse2},
    {"avx2", 1, has_avx2, &tile_functions_avx2},
    {"avx512", 2, has_avx512, &tile_functions_avx512},
};
#else
static bool always(void) {
    return true;
}
#if defined(__aarch64__)
static const struct simd_isa isas[] = {{"neon", 0, always, &tile_functions_neon}};
#else
static const struct simd_isa isas[] = {{"generic", 0, always, &tile_functions_generic}};
#endif
#endif

enum { ISAS = ARRAY_COUNT(isas) };

static _Atomic(const struct simd_isa *) chosen;

const struct simd_isa *simd_isa(unsigned index) {
    return index < ISAS ? &isas[index] : NULL;
}

static const struct simd_isa *find_isa(const char *name) {
    for (unsigned i = 0; i < ISAS; i++)
        if (strcmp(isas[i].name, name) == 0 && isas[i].supported())
            return &isas[i];
    return NULL;
}

static const struct simd_isa *choose_isa(void) {
    const char *name = getenv("RIDGE_SIMD");
    const struct simd_isa *isa = name ? find_isa(name) : NULL;
    for (unsigned i = ISAS; !isa; i--)
        if (isas[i - 1].supported())
            isa = &isas[i - 1];
    return isa;
}

const struct simd_isa *simd_best(void) {
    const struct simd_isa *isa = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!isa) {
        isa = choose_isa();
        atomic_store_explicit(&chosen, isa, memory_order_relaxed);
    }
    return isa;
}

bool simd_use(const char *name) {
    const struct simd_isa *isa = name ? find_isa(name) : NULL;
    if (name && !isa)
        return false;
    atomic_store_explicit(&chosen, isa, memory_order_relaxed);
    return true;
}
