/* Blocks of the types without products of their own, on the CPU: the files of gen/kernels as C. */
#include "gen/native/quantize.h"

#include "gen/dtype.h"
#include "gen/native/simd/dialect.h"

#include "gen/kernels/weights.h"

#define TYPE float
#define LOAD(p, i) ((p)[i])
/* Of one block. */
#define FOR_EACH(block, count) for (INT64 block = 0; block < 1; block++)

/* clang-format off */
#define QUANTIZE_SIGNED
#define PART 32
#define MULTIPLES 1
#define WEIGHTS 32
#define LEVELS 8
#define BYTES 18
static void quantize_q4_0(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef LEVELS
#undef BYTES
#define LEVELS 16
#define BYTES 22
static void quantize_q5_0(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef LEVELS
#undef BYTES
#undef QUANTIZE_SIGNED

#define QUANTIZE_AFFINE
#define LEVELS 15
#define BYTES 20
static void quantize_q4_1(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef LEVELS
#undef BYTES
#define LEVELS 31
#define BYTES 24
static void quantize_q5_1(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef LEVELS
#undef BYTES
#undef QUANTIZE_AFFINE

#undef WEIGHTS
#undef PART
#undef MULTIPLES
#define WEIGHTS 256
#define QUANTIZE_PARTS
#define PART 16
#define MULTIPLES 15
#define LEVELS 3
#define BYTES 84
static void quantize_q2_k(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef PART
#undef MULTIPLES
#undef LEVELS
#undef BYTES
#define PART 32
#define MULTIPLES 63
#define LEVELS 31
#define BYTES 176
static void quantize_q5_k(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef PART
#undef MULTIPLES
#undef LEVELS
#undef BYTES
#undef QUANTIZE_PARTS

#define QUANTIZE_CENTERED
#define PART 16
#define MULTIPLES 32
#define LEVELS 4
#define BYTES 110
static void quantize_q3_k(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef MULTIPLES
#undef LEVELS
#undef BYTES
#define MULTIPLES 128
#define LEVELS 32
#define BYTES 210
static void quantize_q6_k(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
#undef PART
#undef MULTIPLES
#undef LEVELS
#undef BYTES
#define QUANTIZE_LEVELS
#define PART 32
#define MULTIPLES 32
#define LEVELS 127
#define BYTES 136
static void quantize_iq4_xs(const float *x, uint8_t *result) {
#include "gen/kernels/quantize_blocks.cl"
                                    /* clang-format on */

                                    void SIMD_NAME(quantize_other)(void *to, enum ridge_dtype type,
                                                                   const float *from) {
                                        static void (*const functions[RIDGE_DTYPES])(const float *,
                                                                                     uint8_t *) = {
                                            [RIDGE_Q4_0] = quantize_q4_0,
                                            [RIDGE_Q4_1] = quantize_q4_1,
                                            [RIDGE_Q5_0] = quantize_q5_0,
                                            [RIDGE_Q5_1] = quantize_q5_1,
                                            [RIDGE_Q2_K] = quantize_q2_k,
                                            [RIDGE_Q3_K] = quantize_q3_k,
                                            [RIDGE_Q5_K] = quantize_q5_k,
                                            [RIDGE_Q6_K] = quantize_q6_k,
                                            [RIDGE_IQ4_XS] = quantize_iq4_xs,
                                        };
                                        functions[type](from, to);
                                    }

#define EACH(NAME)                                                                                 \
    case RIDGE_##NAME:                                                                             \
        for (int64_t i = 0; i < count; i++)                                                        \
            to[i] = LOAD_##NAME(p, i);                                                             \
        break;

                                    void SIMD_NAME(dequantize_other)(
                                        float *to, enum ridge_dtype type, const void *from,
                                        int64_t blocks) {
                                        const uint8_t *p = from;
                                        int64_t count = blocks * dtype_block(type);
                                        switch (type) {
                                            EACH(Q4_0)
                                            EACH(Q4_1)
                                            EACH(Q5_0)
                                            EACH(Q5_1)
                                            EACH(Q2_K)
                                            EACH(Q3_K)
                                            EACH(Q5_K)
                                            EACH(Q6_K)
                                            EACH(IQ4_XS)
                                        default:
                                            break;
                                        }
                                    }
