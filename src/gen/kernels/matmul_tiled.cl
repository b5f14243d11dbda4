// Products of any shape and strides, by tiles in shared memory.

// section: macros
#define THREADS_ACROSS (TILE_COLUMNS / THREAD_COLUMNS)
#define THREADS_DOWN (TILE_ROWS / THREAD_ROWS)
#define PER_A (TILE_ROWS * TILE_DEPTH / THREADS)
#define PER_B (TILE_COLUMNS * TILE_DEPTH / THREADS)
#define A_K(e) (A_ALONG_K != 0 ? (e) % TILE_DEPTH : (e) / TILE_ROWS)
#define A_I(e) (A_ALONG_K != 0 ? (e) / TILE_DEPTH : (e) % TILE_ROWS)
#define B_K(e) (B_ALONG_K != 0 ? (e) % TILE_DEPTH : (e) / TILE_COLUMNS)
#define B_J(e) (B_ALONG_K != 0 ? (e) / TILE_DEPTH : (e) % TILE_COLUMNS)
// Loads for the next step are issued while this step is computed.
#define READ_NEXT(k0) \
    UNROLL for (int i = 0; i < PER_A; i++) { \
        int e = self + i * THREADS; \
        INT64 r = first_row + A_I(e), k = (k0) + A_K(e); \
        next_a[i] = r < SIZE_M && k < SIZE_K ? LOAD_A(a_batch, r * A_ROW + k * A_COLUMN) \
                                             : 0.0f; \
    } \
    UNROLL for (int i = 0; i < PER_B; i++) { \
        int e = self + i * THREADS; \
        INT64 c = first_column + B_J(e), k = (k0) + B_K(e); \
        next_b[i] = c < SIZE_N && k < SIZE_K ? LOAD_B(b, b_first + k * B_ROW + c * B_COLUMN) \
                                             : 0.0f; \
    }

// section: shared
// One column of padding avoids bank conflicts between neighboring threads that write a column.
SHARED float tile_a[TILE_DEPTH][TILE_ROWS + 1];
SHARED float tile_b[TILE_DEPTH][TILE_COLUMNS + 1];

// section: body
int self = CAST(int, THREAD_X);
int down = self / THREADS_ACROSS, across = self % THREADS_ACROSS;
INT64 tiles_across = (SIZE_N + TILE_COLUMNS - 1) / TILE_COLUMNS;
INT64 tiles = (SIZE_M + TILE_ROWS - 1) / TILE_ROWS * tiles_across;
for (INT64 tile = BLOCK_X; tile < tiles * BATCHES; tile += GRID_X) {
    INT64 batch = tile / tiles, place = tile % tiles;
    INT64 first_row = place / tiles_across * TILE_ROWS;
    INT64 first_column = place % tiles_across * TILE_COLUMNS;
    CONST_POINTER(TYPE_A) a_batch = AT(a, batch * A_BATCH);
    INT64 b_first = batch * B_BATCH;
    float sum[THREAD_ROWS][THREAD_COLUMNS], next_a[PER_A], next_b[PER_B];
    UNROLL for (int i = 0; i < THREAD_ROWS; i++)
        UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)
            sum[i][j] = 0.0f;
    READ_NEXT(0)
    for (INT64 k0 = 0; k0 < SIZE_K; k0 += TILE_DEPTH) {
        UNROLL for (int i = 0; i < PER_A; i++)
            tile_a[A_K(self + i * THREADS)][A_I(self + i * THREADS)] = next_a[i];
        UNROLL for (int i = 0; i < PER_B; i++)
            tile_b[B_K(self + i * THREADS)][B_J(self + i * THREADS)] = next_b[i];
        BARRIER();
        READ_NEXT(k0 + TILE_DEPTH)
        for (int k = 0; k < TILE_DEPTH; k++) {
            float x[THREAD_ROWS], y[THREAD_COLUMNS];
            UNROLL for (int i = 0; i < THREAD_ROWS; i++)
                x[i] = tile_a[k][down + i * THREADS_DOWN];
            UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)
                y[j] = tile_b[k][across + j * THREADS_ACROSS];
            UNROLL for (int i = 0; i < THREAD_ROWS; i++)
                UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)
                    sum[i][j] = FMA(x[i], y[j], sum[i][j]);
        }
        BARRIER();
    }
    UNROLL for (int i = 0; i < THREAD_ROWS; i++)
        UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) {
            INT64 row = first_row + down + i * THREADS_DOWN;
            INT64 column = first_column + across + j * THREADS_ACROSS;
            if (row >= SIZE_M || column >= SIZE_N)
                continue;

// section: end
// After the epilogue.
}
}
}
