// Products with few rows of A by a quantized B, in any language; gen/emit/quantized.c describes
// the method.

// section: macros
#define SHUFFLED (SUBGROUP < LANES ? SUBGROUP : LANES)
#define ONE_AND(u) AS_FLOAT(0x3f800000u | ((u) & 0x780000u))

// section: vector
#define LOAD_FOUR(p, k, x, first) LOAD_A_4(AT(p, k), x, first)
#define LOAD_EIGHT(p, k, x) LOAD_A_8(AT(p, k), x, 0)

// section: gather
#define LOAD_FOUR(p, k, x, first) GATHER(4, p, k, x, first)
#define LOAD_EIGHT(p, k, x) GATHER(8, p, k, x, 0)
#define GATHER(count, p, k, x, first) \
    UNROLL for (int v = 0; v < count; v++) \
        (x)[(first) + v] = LOAD_A(p, ((k) + v) * A_COLUMN)

// section: shared
SHARED float partial[ROWS * ACROSS][THREADS / SHUFFLED];

// section: head
int lane = CAST(int, THREAD_X) % LANES, group = CAST(int, THREAD_X) / LANES;
INT64 strips = (SIZE_N + GROUPS * ACROSS - 1) / (GROUPS * ACROSS);
INT64 line = SIZE_K / BLOCK_WEIGHTS * BLOCK_BYTES;
for (INT64 strip = BLOCK_X; strip < strips * BATCHES; strip += GRID_X) {
    INT64 batch = strip / strips, first_column = strip % strips * (GROUPS * ACROSS);
    INT64 first = first_column + group * ACROSS;
    CONST_POINTER(TYPE_A) a_batch = AT(a, batch * A_BATCH);
    CONST_POINTER(UCHAR) b_batch = AT(b, batch * (B_BATCH / BLOCK_WEIGHTS * BLOCK_BYTES));
    CONST_POINTER(UCHAR) lines[ACROSS];
    UNROLL for (int j = 0; j < ACROSS; j++)
        lines[j] = AT(b_batch, (first + j < SIZE_N ? first + j : SIZE_N - 1) * line);
    float sum[ROWS][ACROSS];
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < ACROSS; j++)
            sum[i][j] = 0.0f;

// section: q4_k
    for (INT64 piece = lane; piece < SIZE_K / 32; piece += LANES) {
        INT64 k = (piece >> 3) * 256 + ((piece >> 1) & 3) * 64 + (piece & 1) * 16;
        WORDS4 head[ACROSS], quants[ACROSS];
        UNROLL for (int j = 0; j < ACROSS; j++) {
            head[j] = LOAD16(AT(lines[j], (piece >> 3) * 144));
            quants[j] = LOAD16(AT(lines[j], (piece >> 3) * 144 + 16 + (piece & 7) * 16));
        }
        float low[ROWS][ACROSS], high[ROWS][ACROSS], x_low[ROWS], x_high[ROWS];
        UNROLL for (int i = 0; i < ROWS; i++) {
            x_low[i] = x_high[i] = 0.0f;
            UNROLL for (int j = 0; j < ACROSS; j++)
                low[i][j] = high[i][j] = 0.0f;
        }
        UNROLL for (int word = 0; word < 4; word++) {
            float w[ACROSS][8];
            UNROLL for (int j = 0; j < ACROSS; j++) {
                UINT32 u = word == 0   ? quants[j].x
                           : word == 1 ? quants[j].y
                           : word == 2 ? quants[j].z
                                       : quants[j].w;
                w[j][0] = ONE_AND(u << 19), w[j][1] = ONE_AND(u << 11);
                w[j][2] = ONE_AND(u << 3), w[j][3] = ONE_AND(u >> 5);
                w[j][4] = ONE_AND(u << 15), w[j][5] = ONE_AND(u << 7);
                w[j][6] = ONE_AND(u >> 1), w[j][7] = ONE_AND(u >> 9);
            }
            UNROLL for (int i = 0; i < ROWS; i++)
                if (i < SIZE_M) {
                    float x[8];
                    LOAD_FOUR(AT(a_batch, i * A_ROW), k + word * 4, x, 0);
                    LOAD_FOUR(AT(a_batch, i * A_ROW), k + word * 4 + 32, x, 4);
                    x_low[i] += (x[0] + x[1]) + (x[2] + x[3]);
                    x_high[i] += (x[4] + x[5]) + (x[6] + x[7]);
                    UNROLL for (int j = 0; j < ACROSS; j++)
                        UNROLL for (int v = 0; v < 4; v++) {
                            low[i][j] = FMA(w[j][v], x[v], low[i][j]);
                            high[i][j] = FMA(w[j][v + 4], x[v + 4], high[i][j]);
                        }
                }
        }
        UNROLL for (int j = 0; j < ACROSS; j++) {
            WORDS2 packed = q4_k_scales(head[j].y, head[j].z, head[j].w,
                                        CAST(UINT32, piece >> 1) & 3u);
            float d = U32_LO_F16(head[j].x), least = U32_HI_F16(head[j].x);
            float scale_low = d * 16.0f * CAST(float, packed.x & 255u);
            float scale_high = d * 16.0f * CAST(float, packed.x >> 8);
            float least_low = least * CAST(float, packed.y & 255u);
            float least_high = least * CAST(float, packed.y >> 8);
            UNROLL for (int i = 0; i < ROWS; i++) {
                sum[i][j] = FMA(scale_low, low[i][j] - x_low[i], sum[i][j]);
                sum[i][j] = FMA(scale_high, high[i][j] - x_high[i], sum[i][j]);
                sum[i][j] = FMA(-least_low, x_low[i], sum[i][j]);
                sum[i][j] = FMA(-least_high, x_high[i], sum[i][j]);
            }
        }
    }

// section: q8_0
// A block of 34 bytes is only 2-byte aligned, so eight weights are extracted from two or three
// aligned words, the same way for all pieces of a lane.
    CONST_POINTER(UCHAR) words_at[ACROSS];
    CONST_POINTER(UCHAR) scale_at[ACROSS];
    bool odd[ACROSS];
    UNROLL for (int j = 0; j < ACROSS; j++) {
        scale_at[j] = AT(lines[j], (lane >> 2) * 34);
        INT64 at = DISTANCE(scale_at[j], b) + 2 + (lane & 3) * 8;
        words_at[j] = AT(b, at & ~CAST(INT64, 3));
        odd[j] = (at & 2) != 0;
    }
    INT64 piece = lane;

// section: q8_0_loop
// Runs while at least COUNT pieces remain; their loads are in flight together. A branch would
// prevent that, so rows past the last one are computed like the first.
    for (; piece + (COUNT - 1) * LANES < SIZE_K / 8; piece += COUNT * LANES) {
        UINT32 words[COUNT][ACROSS][3];
        float scales[COUNT][ACROSS];
        UNROLL for (int s = 0; s < COUNT; s++)
            UNROLL for (int j = 0; j < ACROSS; j++) {
                words[s][j][0] = LOAD4(AT(words_at[j], s * APART));
                words[s][j][1] = LOAD4(AT(words_at[j], s * APART + 4));
                words[s][j][2] = 0u;
                if (odd[j])
                    words[s][j][2] = LOAD4(AT(words_at[j], s * APART + 8));
                scales[s][j] = LOAD_F16(CONST_POINTER_CAST(UINT16, AT(scale_at[j], s * APART)), 0);
            }
        UNROLL for (int s = 0; s < COUNT; s++) {
            float w[ACROSS][8];
            UNROLL for (int j = 0; j < ACROSS; j++) {
                UINT32 first = words[s][j][0], second = words[s][j][1];
                first = odd[j] ? first >> 16 | second << 16 : first;
                second = odd[j] ? second >> 16 | words[s][j][2] << 16 : second;
                UNROLL for (int v = 0; v < 4; v++) {
                    w[j][v] = CAST(float, CAST(int, first << (24 - v * 8)) >> 24);
                    w[j][v + 4] = CAST(float, CAST(int, second << (24 - v * 8)) >> 24);
                }
            }
            UNROLL for (int i = 0; i < ROWS; i++) {
                float x[8];
                LOAD_EIGHT(AT(a_batch, (i < SIZE_M ? i : 0) * A_ROW), (piece + s * LANES) * 8, x);
                UNROLL for (int j = 0; j < ACROSS; j++) {
                    float part = 0.0f;
                    UNROLL for (int v = 0; v < 8; v++)
                        part = FMA(w[j][v], x[v], part);
                    sum[i][j] = FMA(scales[s][j], part, sum[i][j]);
                }
            }
        }
        UNROLL for (int j = 0; j < ACROSS; j++)
            words_at[j] = AT(words_at[j], COUNT * APART),
            scale_at[j] = AT(scale_at[j], COUNT * APART);
    }

// section: end
// After the epilogue.
}
BARRIER();
}
}
