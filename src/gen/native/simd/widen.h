/* Runs of f32, f16 or bf16 elements as f32 and back, for the files of simd/. Nothing beyond the
 * `count` elements is read or written. */
#ifndef RIDGE_GEN_NATIVE_SIMD_WIDEN_H
#define RIDGE_GEN_NATIVE_SIMD_WIDEN_H

#include <ridge.h>

#include "gen/native/simd.h"

SIMD_INLINE floats widen_vector(enum ridge_dtype type, const uint16_t *from) {
    shorts halves = shorts_load(from);
    return type == RIDGE_F16 ? floats_from_f16(halves) : floats_from_bf16(halves);
}
SIMD_INLINE shorts narrow_vector(enum ridge_dtype type, floats x) {
    return type == RIDGE_F16 ? floats_to_f16(x) : floats_to_bf16(x);
}

SIMD_INLINE void widen_halves(float *to, enum ridge_dtype type, const uint16_t *from,
                              int64_t count) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        floats_store(to + i, widen_vector(type, from + i));
    size_t left = (size_t)count % LANES;
    if (left) {
        uint16_t rest[LANES] = {0};
        float widened[LANES];
        memcpy(rest, from + i, left * sizeof *from);
        floats_store(widened, widen_vector(type, rest));
        memcpy(to + i, widened, left * sizeof *to);
    }
}

SIMD_INLINE void narrow_halves(uint16_t *to, enum ridge_dtype type, const float *from,
                               int64_t count) {
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        shorts_store(to + i, narrow_vector(type, floats_load(from + i)));
    size_t left = (size_t)count % LANES;
    if (left) {
        float rest[LANES] = {0};
        uint16_t narrowed[LANES];
        memcpy(rest, from + i, left * sizeof *from);
        shorts_store(narrowed, narrow_vector(type, floats_load(rest)));
        memcpy(to + i, narrowed, left * sizeof *to);
    }
}

static inline void widen(float *to, enum ridge_dtype type, const void *from, int64_t count) {
    if (type == RIDGE_F32)
        memcpy(to, from, (size_t)count * sizeof(float));
    else if (type == RIDGE_F16)
        widen_halves(to, RIDGE_F16, from, count);
    else
        widen_halves(to, RIDGE_BF16, from, count);
}

/* Rounds to nearest, halves to even. */
static inline void narrow(void *to, enum ridge_dtype type, const float *from, int64_t count) {
    if (type == RIDGE_F32)
        memcpy(to, from, (size_t)count * sizeof(float));
    else if (type == RIDGE_F16)
        narrow_halves(to, RIDGE_F16, from, count);
    else
        narrow_halves(to, RIDGE_BF16, from, count);
}

static inline float f32_from_f16(uint16_t half) {
    float value;
    widen_halves(&value, RIDGE_F16, &half, 1);
    return value;
}
static inline uint16_t f16_from_f32(float value) {
    uint16_t half;
    narrow_halves(&half, RIDGE_F16, &value, 1);
    return half;
}

#endif
