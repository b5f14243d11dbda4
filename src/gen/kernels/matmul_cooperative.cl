// Products by tiles on Vulkan's cooperative matrices; gen/emit/matmul_cooperative.c describes the method.
// The macros of matmul_tiled.cl come first.

// section: macros
#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
#define MATRIX_SUM coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define DOWN (TILE_ROWS / 32)
#define ACROSS (TILE_COLUMNS / 32)
// Padding avoids bank conflicts between the rows of a matrix.
#define A_LINE (TILE_DEPTH + PADDING)
#define B_LINE (TILE_COLUMNS + PADDING)

// section: shared
shared float16_t tile_a[TILE_ROWS * A_LINE];
shared float16_t tile_b[TILE_DEPTH * B_LINE];
shared float stage[TILE_ROWS * TILE_COLUMNS];

// section: body
int self = CAST(int, THREAD_X), group = int(gl_SubgroupID);
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
    MATRIX_SUM sum[DOWN * ACROSS];
    UNROLL for (int i = 0; i < DOWN * ACROSS; i++)
        sum[i] = MATRIX_SUM(0.0f);
    READ_NEXT(0)
    for (INT64 k0 = 0; k0 < SIZE_K; k0 += TILE_DEPTH) {
        UNROLL for (int i = 0; i < PER_A; i++) {
            int e = self + i * THREADS;
            tile_a[A_I(e) * A_LINE + A_K(e)] = float16_t(next_a[i]);
        }
        UNROLL for (int i = 0; i < PER_B; i++) {
            int e = self + i * THREADS;
            tile_b[B_K(e) * B_LINE + B_J(e)] = float16_t(next_b[i]);
        }
        BARRIER();
        READ_NEXT(k0 + TILE_DEPTH)
        UNROLL for (int k = 0; k < TILE_DEPTH; k += 16) {
            MATRIX_A x[DOWN];
            MATRIX_B y[ACROSS];
            UNROLL for (int i = 0; i < DOWN; i++)
                coopMatLoad(x[i], tile_a, uint((group_row + i * 16) * A_LINE + k), uint(A_LINE),
                            gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (int j = 0; j < ACROSS; j++)
                coopMatLoad(y[j], tile_b, uint(k * B_LINE + group_column + j * 16), uint(B_LINE),
                            gl_CooperativeMatrixLayoutRowMajor);
            UNROLL for (int i = 0; i < DOWN; i++)
                UNROLL for (int j = 0; j < ACROSS; j++)
                    sum[i * ACROSS + j] = coopMatMulAdd(x[i], y[j], sum[i * ACROSS + j]);
        }
        BARRIER();
    }
    UNROLL for (int i = 0; i < DOWN; i++)
        UNROLL for (int j = 0; j < ACROSS; j++)
            coopMatStore(sum[i * ACROSS + j], stage,
                         uint((group_row + i * 16) * TILE_COLUMNS + group_column + j * 16),
                         uint(TILE_COLUMNS), gl_CooperativeMatrixLayoutRowMajor);
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
