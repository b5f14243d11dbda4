/* Chooses the set of vector instructions once, at the first question. */
#include "gen/native/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

SIMD_DECLARE(const struct tile_functions, tile_functions)

#if defined(__x86_64__)
static bool has_sse2(void) {
    return true;
}
static bool has_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports(
               "bmi2"); /* f16c is older than avx2, and clang has no word for it */
}
static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
static const struct simd_set sets[] = {
    {"sse2", 0, has_sse2, &tile_functions_sse2},
    {"avx2", 1, has_avx2, &tile_functions_avx2},
    {"avx512", 2, has_avx512, &tile_functions_avx512},
};
#else
static bool always(void) {
    return true;
}
#if defined(__aarch64__)
static const struct simd_set sets[] = {{"neon", 0, always, &tile_functions_neon}};
#else
static const struct simd_set sets[] = {{"generic", 0, always, &tile_functions_generic}};
#endif
#endif

enum { SETS = ARRAY_COUNT(sets) };

static _Atomic(const struct simd_set *) chosen;

const struct simd_set *simd_set(unsigned index) {
    return index < SETS ? &sets[index] : NULL;
}

static const struct simd_set *named(const char *name) {
    for (unsigned i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0 && sets[i].supported())
            return &sets[i];
    return NULL;
}

static const struct simd_set *choose(void) {
    const char *name = getenv("RIDGE_SIMD");
    const struct simd_set *set = name ? named(name) : NULL;
    for (unsigned i = SETS; !set; i--)
        if (sets[i - 1].supported())
            set = &sets[i - 1];
    return set;
}

const struct simd_set *simd_best(void) {
    const struct simd_set *set = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (!set) {
        set = choose();
        atomic_store_explicit(&chosen, set, memory_order_relaxed);
    }
    return set;
}

bool simd_use(const char *name) {
    const struct simd_set *set = name ? named(name) : NULL;
    if (name && !set)
        return false;
    atomic_store_explicit(&chosen, set, memory_order_relaxed);
    return true;
}
