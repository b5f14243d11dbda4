/* Panels: some rows of A, or columns of B, laid side by side in f32 for the innermost loop of a
 * matrix product. Element `p` of line `i` of a panel is at panel[p * width + i]. */
#ifndef RIDGE_GEN_NATIVE_SIMD_MATMUL_PANELS_H
#define RIDGE_GEN_NATIVE_SIMD_MATMUL_PANELS_H

#include <stdint.h>

#include <ridge.h>

#include "gen/native/simd.h"

/* Lines of a matrix from some place on. Quantized lines are contiguous and begin with a block. */
struct panel_source {
    const void *data;
    enum ridge_dtype type;
    int64_t offset; /* of the first element of the first line, in elements */
    int64_t across; /* from a line to the next, in elements */
    int64_t along;  /* from an element of a line to the next */
    int64_t count;  /* of lines that there are; past them a panel is filled with zeros */
};

/* Both may write up to MATMUL_PANEL_SLACK floats past the panel. */
void SIMD_NAME(panel_pack)(float *panel, int64_t width, const struct panel_source *source,
                           int64_t depth);
/* `scratch` has room for `width` lines of MATMUL_DEQUANTIZED_DEPTH floats. */
void SIMD_NAME(panel_pack_quantized)(float *panel, int64_t width, const struct panel_source *source,
                                     int64_t depth, float *scratch);

#endif
