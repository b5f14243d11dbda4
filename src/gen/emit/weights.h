/* Quantized weights in kernel source, as laid out in gen/native/blocks.h. */
#ifndef RIDGE_GEN_EMIT_WEIGHTS_H
#define RIDGE_GEN_EMIT_WEIGHTS_H

#include "base/text.h"
#include "device/device.h"

/* Defines LOAD_Q8_0(p, i) or LOAD_Q4_K(p, i): weight i of the blocks at p, a pointer to UCHAR that
 * need not be aligned; and for Q4_K
 *   q4_k_scales(words, pair): the 6-bit scales (in the low bytes .x) and minimums (.y) of
 *   sub-blocks 2 * pair and 2 * pair + 1, from the three words that pack them. */
void source_weights(struct buffer *out, enum ridge_dtype type);

#endif
