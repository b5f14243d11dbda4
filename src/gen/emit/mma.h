/* CUDA's matrix units (mma.sync), for kernels that require them. */
#ifndef RIDGE_GEN_EMIT_MMA_H
#define RIDGE_GEN_EMIT_MMA_H

#include "base/text.h"
#include "device/device.h"

/* Whether the device has the 16 x 8 x 16 product of both half types. */
static inline bool has_mma(const struct device_capabilities *device) {
    return device->language == LANGUAGE_CUDA && device->major >= 8;
}

/* Defines tensor_multiply(sum, a0, a1, a2, a3, b0, b1): sum (four floats) += A x B for a warp, A
 * 16 x 16 and B 16 x 8 of type f16 or bf16. With g = lane / 4 and t = lane % 4 a lane has
 *   a0, a2     row g, a1, a3 row g + 8 of A, at two and two of the sixteen k
 *   b0, b1     column g of B, at the same k as a0 and a2
 *   sum[0, 1]  row g, sum[2, 3] row g + 8, columns 2 t and 2 t + 1
 * Which k those are is arbitrary as long as A and B agree: each kernel assigns a lane four k that
 * are adjacent in memory. Also LOAD16_ONCE, LOAD8_ONCE, LOAD4_ONCE(p): loads of data that is read
 * only once. */
void source_mma(struct buffer *out, enum ridge_dtype type);
/* After it: matrices from shared memory, copies to it that run meanwhile, and EXP2(x). */
void source_mma_staged(struct buffer *out);

#endif
