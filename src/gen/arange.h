/* start + i * step in fixed point, so that every device gives the same bits without needing double.
 *
 * The host scales start and step by a power of two that makes the largest element about 2^61;
 * the bits of step below that are stored separately, because without them the error would grow
 * with i. Integers are exact; other elements are as if computed with at least 60 bits and
 * rounded once.
 */
#ifndef RIDGE_GEN_ARANGE_H
#define RIDGE_GEN_ARANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* As random.h does: one text, in C and for the GPUs. arange_whole() drops the fraction, which is
 * first rounded to 20 bits so that 10 * 0.3 is 3 and not 2. */
#define ARANGE_FUNCTIONS(INLINE, CAST, INT32, INT64)                                               \
    INLINE INT64 arange_fixed(INT64 start, INT64 step, INT64 fine, INT64 fine_bits, INT64 i) {     \
        return start + i * step + ((i * fine) >> fine_bits);                                       \
    }                                                                                              \
    INLINE INT32 arange_whole(INT64 scaled, INT64 point) {                                         \
        if (point > 20) {                                                                          \
            scaled = (scaled + (CAST(INT64, 1) << (point - 21))) >> (point - 20);                  \
            point = 20;                                                                            \
        }                                                                                          \
        INT64 size = scaled < 0 ? -scaled : scaled;                                                \
        if (point >= 0)                                                                            \
            size = size >> point;                                                                  \
        else if (size > 0)                                                                         \
            size = point < -31 || size > 0x7FFFFFFF ? 0x80000000l : size << -point;                \
        if (scaled < 0)                                                                            \
            return size > 0x7FFFFFFF ? -0x7FFFFFFF - 1 : CAST(INT32, -size);                       \
        return size > 0x7FFFFFFF ? 0x7FFFFFFF : CAST(INT32, size);                                 \
    }

#define ARANGE_CAST(T, x) ((T)(x))
ARANGE_FUNCTIONS(static inline, ARANGE_CAST, int32_t, int64_t)

/* Arguments of the functions: the value is arange_fixed() / 2^point. */
struct arange {
    int64_t start, step, fine, fine_bits, point;
};

/* `whole`: for arange_whole(). Fails when an element would not be a finite f32. */
bool arange_prepare(double start, double step, int64_t count, bool whole, struct arange *arange,
                    struct status *status);

#endif
