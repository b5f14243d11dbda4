/* The plan of the RWKV-7 recurrence on the CPU. */
#ifndef RIDGE_GEN_NATIVE_WKV7_H
#define RIDGE_GEN_NATIVE_WKV7_H

#include "gen/native/plan.h"
#include "gen/native/isa.h"

/* Rows of the state do not depend on each other: a unit is one head's, or a share of them when
 * there are fewer heads than threads. */
enum { WKV7_ROWS = 64, WKV7_WIDTH_MAX = 65536 };

/* Buffers: r, w, k, v, a, b, state, y, the state after. */
struct wkv7_plan {
    int64_t type; /* enum ridge_dtype of all but the states */
    int64_t batch, tokens, heads, width;
    int64_t unit_rows, units_per_head;
};

/* Floats of a thread's scratch: the state's rows, the six vectors of a token, and y. */
static inline int64_t wkv7_scratch_floats(int64_t width) {
    return width * WKV7_ROWS + 6 * width + 2 * WKV7_ROWS;
}

SIMD_DECLARE(native_function, wkv7)

#endif
