// Products by tiles on Metal's SIMD-group matrices; gen/emit/matmul_simdgroup.c describes the method.
// The macros of matmul_tiled.cl come first.

// section: macros
#define MATRIX simdgroup_matrix<TILE_TYPE, 8, 8>
#define DOWN (TILE_ROWS / 16)
#define ACROSS (TILE_COLUMNS / 16)
// Padding avoids bank conflicts between the rows of a matrix.
#define A_LINE (TILE_DEPTH + PADDING)
#define B_LINE (TILE_COLUMNS + PADDING)
#define TILES_BYTES ((TILE_ROWS * A_LINE + TILE_DEPTH * B_LINE) * sizeof(TILE_TYPE))
#define SUMS_BYTES (TILE_ROWS * TILE_COLUMNS * sizeof(float))
#define STAGE_BYTES (TILES_BYTES > SUMS_BYTES ? TILES_BYTES : SUMS_BYTES)

// section: shared
// The tiles of A and B lie where the sums are put in the end.
SHARED float stage[STAGE_BYTES / sizeof(float)];

// section: body
IN_SHARED TILE_TYPE *tile_a = (IN_SHARED TILE_TYPE *)stage;
IN_SHARED TILE_TYPE *tile_b = tile_a + TILE_ROWS * A_LINE;
int self = CAST(int, THREAD_X), group = self / 32;
int group_row = group / 2 * (TILE_ROWS / 2), group_column = group % 2 * (TILE_COLUMNS / 2);
INT64 tiles_across = (SIZE_N + TILE_COLUMNS - 1) / TILE_COLUMNS;
INT64 tiles = (SIZE_M + TILE_ROWS - 1) / TILE_ROWS * tiles_across;
for (INT64 tile = BLOCK_X; tile < tiles * BATCHES; tile += GRID_X) {
    INT64 batch = tile / tiles, place = tile % tiles;
    INT64 first_row = place / tiles_across * TILE_ROWS;
    INT64 first_column = place % tiles_across * TILE_COLUMNS;
    CONST_POINTER(TYPE_A) a_batch = AT(a, batch * A_BATCH);
    INT64 b_first = batch * B_BATCH;
    float next_a[PER_A], next_b[PER_B];
    simdgroup_float8x8 sum[DOWN][ACROSS];
    UNROLL for (int i = 0; i < DOWN; i++)
        UNROLL for (int j = 0; j < ACROSS; j++)
            sum[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    READ_NEXT(0)
    for (INT64 k0 = 0; k0 < SIZE_K; k0 += TILE_DEPTH) {
        UNROLL for (int i = 0; i < PER_A; i++) {
            int e = self + i * THREADS;
            tile_a[A_I(e) * A_LINE + A_K(e)] = (TILE_TYPE)next_a[i];
        }
        UNROLL for (int i = 0; i < PER_B; i++) {
            int e = self + i * THREADS;
            tile_b[B_K(e) * B_LINE + B_J(e)] = (TILE_TYPE)next_b[i];
        }
        BARRIER();
        READ_NEXT(k0 + TILE_DEPTH)
        UNROLL for (int k = 0; k < TILE_DEPTH; k += 8) {
            MATRIX x[DOWN], y[ACROSS];
            UNROLL for (int i = 0; i < DOWN; i++)
                simdgroup_load(x[i], tile_a + (group_row + i * 8) * A_LINE + k, A_LINE);
            UNROLL for (int j = 0; j < ACROSS; j++)
                simdgroup_load(y[j], tile_b + k * B_LINE + group_column + j * 8, B_LINE);
            UNROLL for (int i = 0; i < DOWN; i++)
                UNROLL for (int j = 0; j < ACROSS; j++)
                    simdgroup_multiply_accumulate(sum[i][j], x[i], y[j], sum[i][j]);
        }
        BARRIER();
    }
    UNROLL for (int i = 0; i < DOWN; i++)
        UNROLL for (int j = 0; j < ACROSS; j++)
            simdgroup_store(sum[i][j],
                            stage + (group_row + i * 8) * TILE_COLUMNS + group_column + j * 8,
                            TILE_COLUMNS);
    BARRIER();
    for (int e = self; e < TILE_ROWS * TILE_COLUMNS; e += THREADS) {
        INT64 row = first_row + e / TILE_COLUMNS, column = first_column + e % TILE_COLUMNS;
        if (row >= SIZE_M || column >= SIZE_N)
            continue;

// section: end
// After the epilogue.
}
BARRIER();
}
}
