// Products with few rows of A on the matrix units; gen/emit/matmul_tensor.c describes the method.
// B is [k][n] in the "rows" sections and [n][k] in the "columns" sections.

// section: macros
#define WARPS (THREADS / 32)
#define COLUMNS (8 * VECTOR)
#define FRAGMENT (64 * VECTOR)
#define PAIR(low, high) ((UINT32)(low) | (UINT32)(high) << 16)
// Halves k and k + 1 of a row of A, zero outside of it.
INLINE UINT32 load_pair(const UINT16 *line, INT64 k, INT64 size, INT64 stride, bool inside) {
    UINT32 low = inside && k < size ? line[k * stride] : 0u;
    UINT32 high = inside && k + 1 < size ? line[(k + 1) * stride] : 0u;
    return PAIR(low, high);
}

// section: load_a
// Loads a lane's words of A from `k` on, from rows group and group + 8.
#if A_VECTOR
#define LOAD_LINE(words, line, k, inside) \
    UNROLL for (int i = 0; i < A_WORDS; i++) \
        words[i] = 0u; \
    if ((inside) && (k) < SIZE_K) \
        load_words(words, (line) + (k))
#else
#define LOAD_LINE(words, line, k, inside) \
    UNROLL for (int i = 0; i < A_WORDS; i++) \
        words[i] = load_pair(line, (k) + 2 * i, SIZE_K, A_COLUMN, inside)
#endif
INLINE void load_words(UINT32 *words, const UINT16 *p) {
#if A_WORDS == 4
    WORDS4 w = LOAD16(p);
    words[2] = w.z, words[3] = w.w;
#else
    WORDS2 w = LOAD8(p);
#endif
    words[0] = w.x, words[1] = w.y;
}

// section: rows_load
INLINE void load_columns(UINT32 *y, const UINT16 *p) {
#if VECTOR == 8
    WORDS4 w = LOAD16_ONCE(p);
    y[0] = w.x, y[1] = w.y, y[2] = w.z, y[3] = w.w;
#elif VECTOR == 4
    WORDS2 w = LOAD8_ONCE(p);
    y[0] = w.x, y[1] = w.y;
#else
    y[0] = LOAD4_ONCE(p);
#endif
}
#define READ_NEXT(from) \
    UNROLL for (int s = 0; s < STEPS; s++) { \
        INT64 k = (from) + s * (WARPS * 16) + part * 4; \
        const UINT16 *p = b_lane + k * B_ROW; \
        UNROLL for (int r = 0; r < 4; r++, p += B_ROW) { \
            UNROLL for (int i = 0; i < VECTOR / 2; i++) \
                next_y[s][r][i] = 0u; \
            if (k + r < end) \
                load_columns(next_y[s][r], p); \
        } \
        LOAD_LINE(next_x0[s], line0, k, inside0); \
        next_x1[s][0] = next_x1[s][1] = 0u; \
        if (ROWS > 8) { \
            LOAD_LINE(next_x1[s], line1, k, inside1); \
        } \
    }

// section: head
__shared__ float partial[WARPS * FRAGMENT];
__shared__ float sums[ROWS / 8][FRAGMENT];
int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;
INT64 strips = (SIZE_N + COLUMNS - 1) / COLUMNS;
for (INT64 strip = BLOCK_X; strip < strips * BATCHES; strip += GRID_X) {
    INT64 batch = strip / strips, first = strip % strips * COLUMNS;
    const UINT16 *line0 = a + batch * A_BATCH + group * A_ROW, *line1 = line0 + 8 * A_ROW;
    bool inside0 = group < SIZE_M, inside1 = group + 8 < SIZE_M;
    float sum[VECTOR][4];
    UNROLL for (int j = 0; j < VECTOR; j++)
        UNROLL for (int i = 0; i < 4; i++)
            sum[j][i] = 0.0f;

// section: rows
// The next step's loads are in flight while this step's products are computed.
    const UINT16 *b_lane = b + batch * B_BATCH + first + group * VECTOR;
    INT64 end = first + group * VECTOR < SIZE_N ? SIZE_K : 0;
    UINT32 next_y[STEPS][4][VECTOR / 2], next_x0[STEPS][2], next_x1[STEPS][2];
    INT64 k0 = warp * 16;
    READ_NEXT(k0)
    for (; k0 < SIZE_K; k0 += WARPS * STEPS * 16) {
        UINT32 y[STEPS][4][VECTOR / 2], x0[STEPS][2], x1[STEPS][2];
        UNROLL for (int s = 0; s < STEPS; s++) {
            UNROLL for (int r = 0; r < 4; r++)
                UNROLL for (int i = 0; i < VECTOR / 2; i++)
                    y[s][r][i] = next_y[s][r][i];
            UNROLL for (int i = 0; i < 2; i++)
                x0[s][i] = next_x0[s][i], x1[s][i] = next_x1[s][i];
        }
        READ_NEXT(k0 + WARPS * STEPS * 16)
        UNROLL for (int s = 0; s < STEPS; s++)
            UNROLL for (int j = 0; j < VECTOR; j++) {
                UINT32 halves = j % 2 ? 0x7632u : 0x5410u;
                tensor_multiply(sum[j], x0[s][0], x1[s][0], x0[s][1], x1[s][1],
                                __byte_perm(y[s][0][j / 2], y[s][1][j / 2], halves),
                                __byte_perm(y[s][2][j / 2], y[s][3][j / 2], halves));
            }
    }

// section: columns
    const UINT16 *b_lane = b + batch * B_BATCH + (first + group) * B_COLUMN;
    INT64 end = first + group < SIZE_N ? SIZE_K : 0;
    for (INT64 k0 = warp * 32; k0 < SIZE_K; k0 += WARPS * STEPS * 32) {
        WORDS4 y[STEPS];
        UNROLL for (int s = 0; s < STEPS; s++) {
            INT64 k = k0 + s * (WARPS * 32) + part * 8;
            y[s] = MAKE_WORDS4(0u, 0u, 0u, 0u);
            if (k < end)
                y[s] = LOAD16_ONCE(b_lane + k);
        }
        UNROLL for (int s = 0; s < STEPS; s++) {
            INT64 k = k0 + s * (WARPS * 32) + part * 8;
            UINT32 x0[4], x1[4] = {0u, 0u, 0u, 0u};
            LOAD_LINE(x0, line0, k, inside0);
            if (ROWS > 8) {
                LOAD_LINE(x1, line1, k, inside1);
            }
            tensor_multiply(sum[0], x0[0], x1[0], x0[1], x1[1], y[s].x, y[s].y);
            tensor_multiply(sum[0], x0[2], x1[2], x0[3], x1[3], y[s].z, y[s].w);
        }
    }

// section: tail
    UNROLL for (int half = 0; half < ROWS / 8; half++) {
        UNROLL for (int j = 0; j < VECTOR; j++)
            UNROLL for (int i = 0; i < 2; i++)
                partial[warp * FRAGMENT + (j * 2 + i) * 32 + lane] = sum[j][half * 2 + i];
        BARRIER();
        for (int e = THREAD_X; e < FRAGMENT; e += THREADS) {
            float total = 0.0f;
            UNROLL for (int w = 0; w < WARPS; w++)
                total += partial[w * FRAGMENT + e];
            sums[half][e] = total;
        }
        BARRIER();
    }
    for (int e = THREAD_X; e < ROWS * COLUMNS; e += THREADS) {
        int low = e % COLUMNS, source = e / COLUMNS % 8 * 4 + low / VECTOR / 2;
        INT64 row = e / COLUMNS, column = first + low;
        float total =
            sums[row / 8][(low % VECTOR * 2 + low / VECTOR % 2) * 32 + source];
        if (row >= SIZE_M || column >= SIZE_N)
            continue;

// section: end
// After the epilogue.
}
BARRIER();
}
}
