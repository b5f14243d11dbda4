/* Runs native kernels directly on a thread pool, with every ISA of this machine, and reads and
 * writes elements of any type in double with independent conversions. */
#ifndef RIDGE_TESTS_UNIT_GEN_NATIVE_RUN_H
#define RIDGE_TESTS_UNIT_GEN_NATIVE_RUN_H

#include <math.h>

#include "../test.h"

#include "base/memory.h"
#include "device/cpu/thread_pool.h"
#include "gen/backends.h"
#include "gen/native/isa.h"

typedef bool native_code_function(const struct kernel_spec *, const struct device_capabilities *,
                                  struct kernel_generated *, struct status *);

static inline struct device_capabilities native_device(unsigned threads) {
    return (struct device_capabilities){.language = LANGUAGE_NATIVE, .compute_units = threads};
}

static inline bool native_run(const struct kernel_request *request, native_code_function *code,
                              void *const *buffers, unsigned threads, struct status *status) {
    struct device_capabilities device = native_device(threads);
    struct kernel_generated generated = {0};
    struct thread_pool *pool = thread_pool_create(threads, threads, status);
    void *shared = memory_allocate_aligned(request->shared_bytes + 1, 64, status);
    bool ok = pool && shared && code(&request->spec, &device, &generated, status) &&
              thread_pool_reserve_scratch(pool, generated.code.scratch_bytes, status);
    if (ok)
        thread_pool_run(pool, generated.code.function,
                        &(struct native_call){.buffers = buffers,
                                              .scalars = request->scalars,
                                              .context = generated.code.context,
                                              .units = request->grid[0],
                                              .shared = shared});
    kernel_generated_finish(&generated);
    memory_free(shared);
    thread_pool_destroy(pool);
    return ok;
}

/* Chooses the `index`th set, or what comes after it, that this machine has; false, and the best one
 * again, after the last:
 *
 *   for (unsigned set = 0; use_simd_isa(&set); set++) { ... }
 */
static inline bool use_simd_isa(unsigned *index) {
    while (simd_isa(*index) && !simd_isa(*index)->supported())
        ++*index;
    const struct simd_isa *set = simd_isa(*index);
    simd_use(set ? set->name : NULL);
    return set != NULL;
}

/* To the nearest number with `precision` bits and exponents from `least` on, halves to even. */
static inline double rounded_to(double x, int precision, int least) {
    if (x == 0 || !isfinite(x))
        return x;
    int exponent;
    frexp(x, &exponent);
    int unit = (exponent < least ? least : exponent) - precision;
    return ldexp(rint(ldexp(x, -unit)), unit);
}

static inline double rounded_to_type(double x, enum ridge_dtype type) {
    if (type == RIDGE_F16)
        return rounded_to(x, 11, -13);
    return rounded_to(x, type == RIDGE_BF16 ? 8 : 24, -125);
}

static inline double element(const void *array, enum ridge_dtype type, int64_t i) {
    if (type == RIDGE_F32)
        return ((const float *)array)[i];
    if (type == RIDGE_I32)
        return ((const int32_t *)array)[i];
    if (type == RIDGE_U8)
        return ((const uint8_t *)array)[i];
    uint16_t half = ((const uint16_t *)array)[i];
    int bits = type == RIDGE_F16 ? 10 : 7, exponent_bits = 15 - bits;
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = half >> bits & ((1 << exponent_bits) - 1);
    double fraction = half & ((1 << bits) - 1), sign = half >> 15 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - bits);
    return sign * ldexp(fraction + (1 << bits), exponent - bias - bits);
}

/* A finite x. */
static inline void set_element(void *array, enum ridge_dtype type, int64_t i, double x) {
    if (type == RIDGE_F32) {
        ((float *)array)[i] = (float)x;
    } else {
        x = rounded_to_type(x, type);
        uint32_t sign = signbit(x) ? 0x8000 : 0, half = 0;
        if (type == RIDGE_BF16) {
            float f = (float)fabs(x);
            memcpy(&half, &f, sizeof half);
            half >>= 16;
        } else if (fabs(x) >= 0x1p-14) {
            int exponent;
            double fraction = frexp(fabs(x), &exponent);
            half = (uint32_t)(exponent + 14) << 10 | ((uint32_t)ldexp(fraction, 11) & 0x3ff);
        } else {
            half = (uint32_t)ldexp(fabs(x), 24);
        }
        ((uint16_t *)array)[i] = (uint16_t)(sign | half);
    }
}

/* Reproducible noise, about -1 to 1. */
static inline double noise(uint64_t i) {
    i = (i + 1) * 0x9E3779B97F4A7C15u;
    i = (i ^ i >> 29) * 0xBF58476D1CE4E5B9u;
    return (double)(int64_t)(i ^ i >> 32) * 0x1p-63;
}

/* An array with room for exactly `count` elements, filled with noise; free with memory_free(). */
static inline void *noise_array(enum ridge_dtype type, int64_t count, uint64_t seed,
                                struct status *status) {
    void *array = memory_allocate((size_t)count, ridge_dtype_bytes(type, 1), status);
    for (int64_t i = 0; array && i < count; i++)
        set_element(array, type, i, noise(seed * 0x100000001u + (uint64_t)i));
    return array;
}

#endif
