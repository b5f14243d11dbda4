// Products by a Q4_K matrix on the matrix units; gen/emit/quantized_tensor.c describes the
// method.

// section: vector
#define LOAD_EIGHT(p, x) LOAD_A_8(p, x, 0)

// section: gather
#define LOAD_EIGHT(p, x) \
    UNROLL for (int v = 0; v < 8; v++) \
        x[v] = LOAD_A(p, v * A_COLUMN)

// section: macros
#define WARPS (THREADS / 32)
#define TILES (WARPS / SPLIT)
#define X_ROWS (ROWS * PARTS)
#define SETS ((X_ROWS + 3) / 4)
// Of the four combinations of l (which 16 bytes of a line) and h (which half of them): those in
// separate columns, and separate sums for the others.
#define SLOTS (X_ROWS == 1 ? 4 : X_ROWS == 2 ? 2 : 1)
#define SUMS (4 / SLOTS)
#define SUM_OF(l, h) (SLOTS == 4 ? 0 : SLOTS == 2 ? (h) : (l) * 2 + (h))
// Of a column pair: its row of x in a set, and whether it is for this l and h.
#define X_ROW(pair) (SLOTS == 4 ? 0 : SLOTS == 2 ? (pair) & 1 : (pair))
#define SLOT_IS(pair, l, h) \
    (SLOTS == 4 ? (pair) == (l) * 2 + (h) : SLOTS == 2 ? (pair) / 2 == (l) : true)
#define SLOT_L(pair, sum) (SLOTS == 1 ? (sum) / 2 : (pair) / 2)
#define SLOT_H(pair, sum) (SLOTS == 4 ? (pair) & 1 : (sum) & 1)
#define LOW_QUANTS(u) ((u) & 0x000f000fu)
#define HIGH_QUANTS(u) ((u) & 0x00f000f0u)
// A small integer as a float times `unit`, without a conversion.
INLINE float scaled_byte(UINT32 bytes, int byte, float unit) {
    float with_offset = AS_FLOAT(__byte_perm(bytes, 0x4b000000u, 0x7540u + byte));
    return FMA(with_offset, unit, -8388608.0f * unit);
}
// The 6-bit scales (first) or minimums (second) of sub-blocks 4 l .. 4 l + 3.
INLINE UINT32 four_scales(UINT32 whole, UINT32 quarters, int l) {
    UINT32 later = (quarters & 0x0f0f0f0fu) | ((whole >> 2) & 0x30303030u);
    return l ? later : whole & 0x3f3f3f3fu;
}
INLINE UINT32 nth_word(WORDS4 words, int i) {
    return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
}

// section: load
#define LOAD_NEXT(place) { \
    INT64 offset = (base + (place)) * (INT64)144; \
    next[0] = LOAD16(b_upper + offset + 16 + part * 16); \
    next[1] = LOAD16(b_upper + offset + 80 + part * 16); \
    next[2] = LOAD16(b_lower + offset + 16 + part * 16); \
    next[3] = LOAD16(b_lower + offset + 80 + part * 16); \
    next[4] = LOAD16(b_upper + offset); \
    next[5] = LOAD16(b_lower + offset); \
}

// section: head
__shared__ float sums[WARPS][X_ROWS][16];
UINT32 *x_words = (UINT32 *)dynamic_shared;
int blocks = (int)(SIZE_K / 256), stage = blocks < STAGE ? blocks : STAGE;
float *x_sums = (float *)(x_words + stage * X_ROWS * 128);
float *x_units = x_sums + stage * X_ROWS * 8;
int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;
// Whether the lane's column of x is for its half of the quad.
bool mine = group % 2 == part / 2;
const UINT32 *x_lane = x_words + (X_ROW(group / 2) * 4 + part) * 4;
INT64 strips = (SIZE_N + TILES * 16 - 1) / (TILES * 16), line = blocks * (INT64)144;
for (INT64 batch = BLOCK_Z; batch < BATCHES; batch += GRID_Z)
for (INT64 first_row = BLOCK_Y * (INT64)ROWS; first_row < SIZE_M;
     first_row += GRID_Y * (INT64)ROWS) {
    const TYPE_A *a_batch = a + batch * A_BATCH;
    const UCHAR *b_batch = b + batch * (B_BATCH / 256 * 144);
    int staged = -1;
    for (INT64 strip = BLOCK_X; strip < strips; strip += GRID_X) {
        INT64 upper = (strip * TILES + warp / SPLIT) * 16 + group, lower = upper + 8;
        const UCHAR *b_upper = b_batch + (upper < SIZE_N ? upper : SIZE_N - 1) * line;
        const UCHAR *b_lower = b_batch + (lower < SIZE_N ? lower : SIZE_N - 1) * line;
        WORDS4 x[SLOTS == 1 ? SETS : 4][2];
        UNROLL for (int i = 0; i < (SLOTS == 1 ? SETS : 4); i++)
            x[i][0] = x[i][1] = MAKE_WORDS4(0u, 0u, 0u, 0u);
        float y[SETS][2];
        UNROLL for (int s = 0; s < SETS; s++)
            y[s][0] = y[s][1] = 0.0f;
        for (int base = 0; base < blocks; base += stage) {
            int count = blocks - base < stage ? blocks - base : stage, at = warp % SPLIT;
            WORDS4 next[6];
            if (at < count)
                LOAD_NEXT(at)
            if (staged != base) {
                BARRIER();

// section: stage
// Fills the stage with `count` blocks from `base` on, 8 elements of a row of A per thread. Four
// neighboring threads hold the 32 that share a sum and a unit.
for (int e = THREAD_X; e < count * ROWS * 32; e += THREADS) {
    int unit = e % 32, block = e / 32 % count, i = e / 32 / count;
    float x[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (first_row + i < SIZE_M) {
        LOAD_EIGHT(a_batch + (first_row + i) * A_ROW +
                   ((INT64)(base + block) * 256 + unit * 8) * A_COLUMN, x);
    }
    float total = ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
    total += SHUFFLE_XOR(total, 1);
    total += SHUFFLE_XOR(total, 2);
    float back = 1.0f;
    if (SCALED) {
        float most = 0.0f;
        UNROLL for (int v = 0; v < 8; v++)
            most = fmaxf(most, ABS(x[v]));
        most = fmaxf(most, SHUFFLE_XOR(most, 1));
        most = fmaxf(most, SHUFFLE_XOR(most, 2));
        // The power of two that scales the maximum to below 2^15.
        UINT32 exponent = AS_UINT(most) >> 23;
        exponent = exponent < 15u ? 15u : exponent;
        float there = AS_FLOAT((268u - exponent) << 23);
        back = AS_FLOAT((exponent - 14u) << 23);
        UNROLL for (int v = 0; v < 8; v++)
            x[v] *= there;
    }
    int l = unit >> 4, h = (unit >> 2) & 1, t = ((unit >> 3) & 1) * 2 + ((unit >> 1) & 1);
    int place = ((block * 2 + l) * 2 + h) * 2 + (unit & 1), sub_block = unit >> 2;
    UNROLL for (int p = 0; p < PARTS; p++) {
        int r = i * PARTS + p;
        *(WORDS4 *)(x_words + ((place * X_ROWS + r) * 4 + t) * 4) =
            MAKE_WORDS4(PACK_F16(x[0], x[2]), PACK_F16(x[1], x[3]), PACK_F16(x[4], x[6]),
                        PACK_F16(x[5], x[7]));
        if (unit % 4 == 0) {
            x_sums[(block * X_ROWS + r) * 8 + sub_block] = p == 0 ? total : 0.0f;
            x_units[(block * X_ROWS + r) * 8 + sub_block] = back;
        }
        UNROLL for (int v = 0; v < 8; v++)
            x[v] -= ROUND_F16(x[v]);
    }
}

// section: loop
                BARRIER();
                staged = base;
            }
            for (; at < count; at += SPLIT) {
                WORDS4 quants[2][2] = {{next[0], next[1]}, {next[2], next[3]}};
                WORDS4 head[2] = {next[4], next[5]};
                if (at + SPLIT < count)
                    LOAD_NEXT(at + SPLIT)

// section: products
// One block of 256 weights of the warp's lines: `quants` and `head` are loaded, `at` is its place
// in the stage. Lanes for which a column is zero never load into its registers.
float c[SETS][SUMS][4];
UNROLL for (int s = 0; s < SETS; s++)
    UNROLL for (int i = 0; i < SUMS; i++)
        c[s][i][0] = c[s][i][1] = c[s][i][2] = c[s][i][3] = 0.0f;
UNROLL for (int l = 0; l < 2; l++)
    UNROLL for (int h = 0; h < 2; h++)
        UNROLL for (int s = 0; s < SETS; s++)
            UNROLL for (int v = 0; v < 2; v++) {
                const UINT32 *from = x_lane +
                    ((((at * 2 + l) * 2 + h) * 2 + v) * X_ROWS + s * 4) * 16;
                WORDS4 *to = &x[SLOTS == 1 ? s : l * 2 + h][v];
                if (mine && SLOT_IS(group / 2, l, h) && s * 4 + X_ROW(group / 2) < X_ROWS)
                    *to = *(const WORDS4 *)from;
                UNROLL for (int word = v * 2; word < v * 2 + 2; word++) {
                    UINT32 upper = nth_word(quants[0][l], word);
                    UINT32 lower = nth_word(quants[1][l], word);
                    tensor_multiply(c[s][SUM_OF(l, h)],
                                    h ? HIGH_QUANTS(upper) : LOW_QUANTS(upper),
                                    h ? HIGH_QUANTS(lower) : LOW_QUANTS(lower),
                                    h ? HIGH_QUANTS(upper >> 8) : LOW_QUANTS(upper >> 8),
                                    h ? HIGH_QUANTS(lower >> 8) : LOW_QUANTS(lower >> 8),
                                    word % 2 ? to->z : to->x, word % 2 ? to->w : to->y);
                }
            }

// section: scales
UNROLL for (int i = 0; i < 2; i++) {
    float d = U32_LO_F16(head[i].x), minimum = U32_HI_F16(head[i].x);
    UNROLL for (int sum = 0; sum < SUMS; sum++) {
        int l = SLOT_L(part, sum), h = SLOT_H(part, sum);
        UINT32 scales = four_scales(head[i].y, head[i].w, l);
        UINT32 minimums = four_scales(head[i].z, head[i].w >> 4, l);
        float unit = d * (h ? 1048576.0f : 16777216.0f);
        UNROLL for (int odd = 0; odd < 2; odd++) {
            float scale = scaled_byte(scales, odd * 2 + h, unit);
            float least = scaled_byte(minimums, odd * 2 + h, minimum);
            UNROLL for (int s = 0; s < SETS; s++) {
                int r = s * 4 + X_ROW(part);
                int sub_block = (at * X_ROWS + (r < X_ROWS ? r : 0)) * 8 + l * 4 + odd * 2 + h;
                float product = c[s][sum][i * 2 + odd];
                if (SCALED)
                    product *= x_units[sub_block];
                y[s][i] = FMA(scale, product, y[s][i]);
                y[s][i] = FMA(-least, x_sums[sub_block], y[s][i]);
            }
        }
    }
}

// section: tail
            }
        }
        UNROLL for (int s = 0; s < SETS; s++)
            UNROLL for (int i = 0; i < 2; i++) {
                float total = y[s][i];
                if (SLOTS == 4)
                    total += SHUFFLE_XOR(total, 1);
                if (SLOTS >= 2)
                    total += SHUFFLE_XOR(total, 2);
                int r = s * 4 + X_ROW(part);
                if (part < SUMS && r < X_ROWS)
                    sums[warp][r][i * 8 + group] = total;
            }
        BARRIER();
        for (int e = THREAD_X; e < TILES * ROWS * 16; e += THREADS) {
            int tile = e / (ROWS * 16), i = e / 16 % ROWS;
            INT64 row = first_row + i, column = (strip * TILES + tile) * 16 + e % 16;
            float total = 0.0f;
            for (int w = 0; w < SPLIT; w++)
                UNROLL for (int p = 0; p < PARTS; p++)
                    total += sums[tile * SPLIT + w][i * PARTS + p][e % 16];
            if (row >= SIZE_M || column >= SIZE_N)
                continue;

// section: end
// After the epilogue.
}
BARRIER();
}
}
}
