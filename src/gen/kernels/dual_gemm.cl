// Products of few rows of x by two matrices; gen/emit/dual_gemm.c describes the method.

// section: macros
#define SIZE_M (int)scalars.v[0]
#define SIZE_N (int)scalars.v[1]
#define SIZE_K (int)scalars.v[2]
#define X_ROW (int)scalars.v[3]
#define FIRST_ROW (int)scalars.v[4]
#define SECOND_ROW (int)scalars.v[5]
#define THIRD_ROW (int)scalars.v[6]
#define SCALE AS_FLOAT((UINT32)scalars.v[7])
#define WARPS (THREADS / 32)
#define COLUMNS (8 * VECTOR)
#define SETS (ROWS / 8)
#define WORDS (VECTOR / 2)
#define ALL_WORDS (WORDS + SECOND_WORDS)
INLINE void load_columns(UINT32 *y, const UINT16 *p) {
#if VECTOR == 4
    WORDS2 w = LOAD8_ONCE(p);
    y[0] = w.x, y[1] = w.y;
#else
    y[0] = LOAD4_ONCE(p);
#endif
}
// The position of the sum of a row of x and the upper or lower column of a lane's word.
#define SUM_AT(word, upper, row, group) \
    ((((word) * 2 + (upper)) * 2 + (row) % 2) * 32 + (group) * 4 + (row) % 8 / 2)
#define IN_STRIP(row, low) SUM_AT((low) % VECTOR / 2, (low) % 2, row, (low) / VECTOR)
#define FIRST_SUM(row, low) totals[(row) / 8][IN_STRIP(row, low)]
#define READ_NEXT(from) \
    UNROLL for (int s = 0; s < STEPS; s++) { \
        int k = (from) + s * (WARPS * SPLIT * 16) + part * 4; \
        UNROLL for (int r = 0; r < 4; r++) { \
            UNROLL for (int j = 0; j < ALL_WORDS; j++) \
                next_y[s][r][j] = 0u; \
            if (k < SIZE_K) { \
                load_columns(next_y[s][r], first_lane + (INT64)(k + r) * FIRST_ROW); \
                LOAD_SECOND(next_y[s][r] + WORDS, second_lane + (INT64)(k + r) * SECOND_ROW) \
            } \
        } \
        UNROLL for (int i = 0; i < SETS; i++) { \
            next_x[s][i] = MAKE_WORDS2(0u, 0u); \
            if (group + i * 8 < SIZE_M && k < SIZE_K) \
                next_x[s][i] = LOAD8(x_lane + (INT64)(i * 8) * X_ROW + k); \
        } \
    }

// section: cluster
// Arriving publishes what a thread wrote; after waiting, all blocks of the cluster have arrived.
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
INLINE float load_of_block(const float *shared, int block) {
    UINT32 here = (UINT32)__cvta_generic_to_shared(shared), there;
    float value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(there) : "r"(here), "r"(block));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there));
    return value;
}

// section: gated_macros
// gated_mlp: the second matrix has the layout of the first.
#define SECOND_WORDS WORDS
#define SECOND_COLUMN lane_column
#define LOAD_SECOND(y, p) load_columns(y, p);
#define SECOND_SUM(row, low) totals[(row) / 8][WORDS * 128 + IN_STRIP(row, low)]

// section: lora_macros
// lora: the second matrix has 16 columns per word, and every block reads all of it.
#define SECOND_WORDS ((RANK + 15) / 16)
#define SECOND_COLUMN group * 2
#define LOAD_SECOND(y, p) \
    UNROLL for (int j = 0; j < SECOND_WORDS; j++) \
        if (j * 16 + group * 2 < RANK) \
            (y)[j] = LOAD4((p) + j * 16);
#define SECOND_SUM(row, c) \
    totals[(row) / 8][WORDS * 128 + SUM_AT((c) / 16, (c) % 2, row, (c) % 16 / 2)]

// section: lora_shared
__shared__ UINT16 third[RANK * COLUMNS];

// section: head
// Columns past the end read the first ones instead; their sums are not used.
__shared__ float partial[WARPS][ALL_WORDS * 128];
__shared__ float sums[SETS][ALL_WORDS * 128];
int lane = THREAD_X % 32, warp = THREAD_X / 32, group = lane / 4, part = lane % 4;
const UINT16 *x_lane = x + (INT64)group * X_ROW;
int slice = BLOCK_X % SPLIT;
for (int first = BLOCK_X / SPLIT * COLUMNS; first < SIZE_N; first += GRID_X / SPLIT * COLUMNS) {
    int lane_column = first + group * VECTOR < SIZE_N ? first + group * VECTOR : 0;
    const UINT16 *first_lane = first_matrix + lane_column;
    const UINT16 *second_lane = second_matrix + SECOND_COLUMN;
    float sum[SETS][ALL_WORDS][4];
    UNROLL for (int set = 0; set < SETS; set++)
        UNROLL for (int j = 0; j < ALL_WORDS; j++)
            UNROLL for (int i = 0; i < 4; i++)
                sum[set][j][i] = 0.0f;
    UINT32 next_y[STEPS][4][ALL_WORDS];
    WORDS2 next_x[STEPS][SETS];
    int k0 = (slice * WARPS + warp) * 16;
    READ_NEXT(k0)

// section: lora_load
// The strip of the third matrix is loaded together with the first loads of the others.
    for (int e = THREAD_X; e < RANK * COLUMNS; e += THREADS) {
        int column = first + e % COLUMNS < SIZE_N ? first + e % COLUMNS : 0;
        third[e] = third_matrix[e / COLUMNS * (INT64)THIRD_ROW + column];
    }

// section: loop
// The next step's loads are in flight while this step's products are computed.
    for (; k0 < SIZE_K; k0 += WARPS * SPLIT * STEPS * 16) {
        UINT32 y[STEPS][4][ALL_WORDS];
        WORDS2 z[STEPS][SETS];
        UNROLL for (int s = 0; s < STEPS; s++) {
            UNROLL for (int r = 0; r < 4; r++)
                UNROLL for (int j = 0; j < ALL_WORDS; j++)
                    y[s][r][j] = next_y[s][r][j];
            UNROLL for (int i = 0; i < SETS; i++)
                z[s][i] = next_x[s][i];
        }
        READ_NEXT(k0 + WARPS * SPLIT * STEPS * 16)
        UNROLL for (int s = 0; s < STEPS; s++)
            UNROLL for (int j = 0; j < ALL_WORDS; j++) {
                UINT32 lower[2] = {__byte_perm(y[s][0][j], y[s][1][j], 0x5410u),
                                   __byte_perm(y[s][2][j], y[s][3][j], 0x5410u)};
                UINT32 upper[2] = {__byte_perm(y[s][0][j], y[s][1][j], 0x7632u),
                                   __byte_perm(y[s][2][j], y[s][3][j], 0x7632u)};
                UNROLL for (int i = 0; i < SETS; i++)
                    tensor_multiply(sum[i][j], lower[0], upper[0], lower[1], upper[1],
                                    z[s][i].x, z[s][i].y);
            }
    }
    UNROLL for (int set = 0; set < SETS; set++) {
        UNROLL for (int j = 0; j < ALL_WORDS; j++)
            UNROLL for (int i = 0; i < 4; i++)
                partial[warp][(j * 4 + i) * 32 + lane] = sum[set][j][i];
        BARRIER();
        for (int e = THREAD_X; e < ALL_WORDS * 128; e += THREADS) {
            float total = 0.0f;
            UNROLL for (int w = 0; w < WARPS; w++)
                total += partial[w][e];
            sums[set][e] = total;
        }
        BARRIER();
    }
#if SPLIT > 1
    float (*totals)[ALL_WORDS * 128] = partial;
    CLUSTER_ARRIVE();
    CLUSTER_WAIT();
    for (int e = THREAD_X; e < SETS * ALL_WORDS * 128; e += THREADS) {
        float total = 0.0f;
        UNROLL for (int block = 0; block < SPLIT; block++)
            total += load_of_block(&sums[0][e], block);
        partial[0][e] = total;
    }
    CLUSTER_ARRIVE();
    BARRIER();
#else
    float (*totals)[ALL_WORDS * 128] = sums;
#endif
    for (int e = THREAD_X * SPLIT + slice; e < ROWS * COLUMNS; e += THREADS * SPLIT) {
        int row = e / COLUMNS, low = e % COLUMNS;
        if (row >= SIZE_M || first + low >= SIZE_N)
            continue;

// section: lora_result
        float low_rank = 0.0f;
        UNROLL for (int c = 0; c < RANK; c++)
            low_rank = FMA(SECOND_SUM(row, c), LOAD(third, c * COLUMNS + low), low_rank);
        float value = FMA(SCALE, low_rank, FIRST_SUM(row, low));

// section: end
// No block exits or starts another strip while a neighbor reads its sums.
        STORE(result, (INT64)row * SIZE_N + first + low, value);
    }
    BARRIER();
#if SPLIT > 1
    CLUSTER_WAIT();
#endif
}
}
