/* Packs panels: widens f16 and bf16, dequantizes, and transposes lines that lie along k. */
#include "gen/native/simd/matmul_panels.h"

#include "gen/native/blocks.h"
#include "gen/native/matmul.h"
#include "gen/native/simd/matmul_elements.h"

/* Each round takes line i and i + LANES / 2 in turns: it rotates the bits of an element's place by
 * one, and so as many rounds as a line number has bits swap lines and places. */
SIMD_INLINE void transpose(floats lines[LANES]) {
    UNROLL for (int round = 1; round < LANES; round *= 2) {
        floats turned[LANES];
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            turned[2 * i] = floats_low_turns(lines[i], lines[i + LANES / 2]);
            turned[2 * i + 1] = floats_high_turns(lines[i], lines[i + LANES / 2]);
        }
        UNROLL for (int i = 0; i < LANES; i++) {
            lines[i] = turned[i];
        }
    }
}

SIMD_INLINE void pack_elements(float *panel, int64_t width, const struct panel_source *source,
                               int64_t from, int64_t depth, const enum ridge_dtype type) {
    int64_t count = MIN(width, source->count);
    for (int64_t p = from; p < depth; p++) {
        float *to = panel + p * width;
        int64_t first = source->offset + p * source->along;
        for (int64_t i = 0; i < count; i++)
            to[i] = element(source->data, type, first + i * source->across);
        for (int64_t i = count; i < width; i++)
            to[i] = 0;
    }
}

/* Lines are neighbors: whole vectors of them. What a vector holds past the width is overwritten by
 * the next step, or lies in the slack. */
SIMD_INLINE void pack_neighbors(float *panel, int64_t width, const struct panel_source *source,
                                int64_t depth, const enum ridge_dtype type) {
    for (int64_t p = 0; p < depth; p++) {
        float *to = panel + p * width;
        int64_t first = source->offset + p * source->along;
        for (int64_t i = 0; i < width; i += LANES)
            floats_store(to + i, elements(source->data, type, first + i));
    }
}

/* LANES lines from `line` on, LANES steps from `step` on. The last store of a step may reach into
 * the next one's lines: that is harmless for the first lines, which are written again after it, and
 * so others are stored in part. */
SIMD_INLINE void pack_square(float *panel, int64_t width, const struct panel_source *source,
                             int64_t line, int64_t step, const enum ridge_dtype type) {
    floats lines[LANES];
    UNROLL for (int i = 0; i < LANES; i++) {
        lines[i] =
            line + i < MIN(width, source->count)
                ? elements(source->data, type, source->offset + (line + i) * source->across + step)
                : floats_of(0);
    }
    transpose(lines);
    bool whole = line == 0 || line + LANES <= width;
    for (int i = 0; i < LANES; i++) {
        float *to = panel + (step + i) * width + line;
        if (whole)
            floats_store(to, lines[i]);
        else
            memcpy(to, &lines[i], (size_t)(width - line) * sizeof(float));
    }
}

SIMD_INLINE void pack_transposed(float *panel, int64_t width, const struct panel_source *source,
                                 int64_t depth, const enum ridge_dtype type) {
    int64_t whole = depth / LANES * LANES;
    for (int64_t step = 0; step < whole; step += LANES)
        for (int64_t line = 0; line < width; line += LANES)
            pack_square(panel, width, source, line, step, type);
    pack_elements(panel, width, source, whole, depth, type);
}

SIMD_INLINE void pack(float *panel, int64_t width, const struct panel_source *source, int64_t depth,
                      const enum ridge_dtype type) {
    if (source->across == 1 && source->count >= matmul_blocks(width, LANES) * LANES)
        pack_neighbors(panel, width, source, depth, type);
    else if (source->along == 1)
        pack_transposed(panel, width, source, depth, type);
    else
        pack_elements(panel, width, source, 0, depth, type);
}

void SIMD_NAME(panel_pack)(float *panel, int64_t width, const struct panel_source *source,
                           int64_t depth) {
    if (source->type == RIDGE_F32)
        pack(panel, width, source, depth, RIDGE_F32);
    else if (source->type == RIDGE_F16)
        pack(panel, width, source, depth, RIDGE_F16);
    else
        pack(panel, width, source, depth, RIDGE_BF16);
}

static void dequantize_q8_0(float *to, const struct q8_0_block *block) {
    floats scale = floats_of(f16_to_float(block->scale));
    for (int i = 0; i < Q8_0_WEIGHTS; i += LANES)
        floats_store(to + i,
                     floats_from_signed_bytes(bytes_load((const uint8_t *)block->quants + i)) *
                         scale);
}

static void dequantize_q4_k(float *to, const struct q4_k_block *block) {
    float scale = f16_to_float(block->scale), minimum = f16_to_float(block->minimum);
    uint8_t scales[Q4_K_PARTS], minimums[Q4_K_PARTS];
    q4_k_unpack(block->packed, scales, minimums);
    for (int part = 0; part < Q4_K_PARTS; part++) {
        floats factor = floats_of(scale * scales[part]),
               offset = floats_of(minimum * minimums[part]);
        const uint8_t *quants = block->quants + part / 2 * Q4_K_PART_WEIGHTS;
        for (int i = 0; i < Q4_K_PART_WEIGHTS; i += LANES) {
            bytes pairs = bytes_load(quants + i);
            bytes values = part % 2 ? pairs >> 4 : pairs & 15;
            floats_store(to + part * Q4_K_PART_WEIGHTS + i,
                         floats_from_bytes(values) * factor - offset);
        }
    }
}

/* `depth` weights from element `first` on, both multiples of a block. */
static void dequantize(float *to, const void *data, enum ridge_dtype type, int64_t first,
                       int64_t depth) {
    if (type == RIDGE_Q8_0)
        for (int64_t p = 0; p < depth; p += Q8_0_WEIGHTS)
            dequantize_q8_0(to + p, (const struct q8_0_block *)data + (first + p) / Q8_0_WEIGHTS);
    else
        for (int64_t p = 0; p < depth; p += Q4_K_WEIGHTS)
            dequantize_q4_k(to + p, (const struct q4_k_block *)data + (first + p) / Q4_K_WEIGHTS);
}

void SIMD_NAME(panel_pack_quantized)(float *panel, int64_t width, const struct panel_source *source,
                                     int64_t depth, float *scratch) {
    struct panel_source lines = {
        .data = scratch,
        .across = MATMUL_DEQUANTIZED_DEPTH,
        .along = 1,
        .count = MIN(width, source->count),
    };
    for (int64_t p = 0; p < depth; p += MATMUL_DEQUANTIZED_DEPTH) {
        int64_t steps = MIN(MATMUL_DEQUANTIZED_DEPTH, depth - p);
        for (int64_t i = 0; i < lines.count; i++)
            dequantize(scratch + i * MATMUL_DEQUANTIZED_DEPTH, source->data, source->type,
                       source->offset + i * source->across + p, steps);
        pack(panel + p * width, width, &lines, steps, RIDGE_F32);
    }
}
