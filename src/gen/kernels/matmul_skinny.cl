// Products with few rows of A in any language; gen/emit/matmul_skinny.c describes the method. B
// is [k][n] in the "rows" sections and [n][k] in the "columns" sections.

// section: gather_a
#define LOAD_A_VECTOR(p, x) \
    UNROLL for (int v = 0; v < VECTOR; v++) \
        x[v] = LOAD_A(p, v * A_COLUMN)

// section: rows_macros
#define COLUMNS (ACROSS * VECTOR)
#define DOWN (THREADS / ACROSS)
#define STEPS (SUBGROUP > 1 ? 4 : 2)

// section: rows_shared
SHARED float partial[DOWN][COLUMNS];
SHARED float sums[ROWS][COLUMNS];

// section: rows
int across = CAST(int, THREAD_X) % ACROSS, down = CAST(int, THREAD_X) / ACROSS;
INT64 strips = (SIZE_N + COLUMNS - 1) / COLUMNS;
for (INT64 strip = BLOCK_X; strip < strips * BATCHES; strip += GRID_X) {
    INT64 batch = strip / strips, first = strip % strips * COLUMNS;
    CONST_POINTER(TYPE_A) a_batch = AT(a, batch * A_BATCH);
    CONST_POINTER(TYPE_B) b_strip = AT(b, batch * B_BATCH + first + across * VECTOR);
    float sum[ROWS][VECTOR];
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < VECTOR; j++)
            sum[i][j] = 0.0f;
    INT64 end = first + across * VECTOR < SIZE_N ? SIZE_K : 0;
    for (INT64 k0 = down; k0 < end; k0 += DOWN * STEPS) {
        float y[STEPS][VECTOR];
        UNROLL for (int s = 0; s < STEPS; s++) {
            UNROLL for (int j = 0; j < VECTOR; j++)
                y[s][j] = 0.0f;
            if (k0 + s * DOWN < end)
                LOAD_B_VECTOR(AT(b_strip, (k0 + s * DOWN) * B_ROW), y[s]);
        }
        UNROLL for (int s = 0; s < STEPS; s++) {
            INT64 k = k0 + s * DOWN < end ? k0 + s * DOWN : k0;
            UNROLL for (int i = 0; i < ROWS; i++)
                if (i < SIZE_M) {
                    float x = LOAD_A(a_batch, i * A_ROW + k * A_COLUMN);
                    if (k0 + s * DOWN >= end)
                        x = 0.0f;
                    UNROLL for (int j = 0; j < VECTOR; j++)
                        sum[i][j] = FMA(x, y[s][j], sum[i][j]);
                }
        }
    }
    UNROLL for (int i = 0; i < ROWS; i++) {
        UNROLL for (int j = 0; j < VECTOR; j++)
            partial[down][across * VECTOR + j] = sum[i][j];
        BARRIER();
        for (int c = CAST(int, THREAD_X); c < COLUMNS; c += THREADS) {
            float total = 0.0f;
            for (int d = 0; d < DOWN; d++)
                total += partial[d][c];
            sums[i][c] = total;
        }
        BARRIER();
    }
    for (int e = CAST(int, THREAD_X); e < ROWS * COLUMNS; e += THREADS) {
        INT64 row = e / COLUMNS, column = first + e % COLUMNS;
        if (row >= SIZE_M || column >= SIZE_N)
            continue;

// section: columns_macros
#define GROUPS (THREADS / LANES)
#define SHUFFLED (SUBGROUP < LANES ? SUBGROUP : LANES)

// section: columns_shared
SHARED float partial[ROWS * ACROSS][THREADS / SHUFFLED];

// section: columns
int lane = CAST(int, THREAD_X) % LANES, group = CAST(int, THREAD_X) / LANES;
INT64 strips = (SIZE_N + GROUPS * ACROSS - 1) / (GROUPS * ACROSS);
for (INT64 strip = BLOCK_X; strip < strips * BATCHES; strip += GRID_X) {
    INT64 batch = strip / strips, first_column = strip % strips * (GROUPS * ACROSS);
    INT64 first = first_column + group * ACROSS;
    CONST_POINTER(TYPE_A) a_batch = AT(a, batch * A_BATCH);
    CONST_POINTER(TYPE_B) b_strip = AT(b, batch * B_BATCH + first * B_COLUMN);
    float sum[ROWS][ACROSS];
    UNROLL for (int i = 0; i < ROWS; i++)
        UNROLL for (int j = 0; j < ACROSS; j++)
            sum[i][j] = 0.0f;
    for (INT64 k = CAST(INT64, lane) * VECTOR; k < SIZE_K; k += LANES * VECTOR) {
        float y[ACROSS][VECTOR];
        UNROLL for (int j = 0; j < ACROSS; j++) {
            UNROLL for (int v = 0; v < VECTOR; v++)
                y[j][v] = 0.0f;
            if (first + j < SIZE_N)
                LOAD_B_VECTOR(AT(b_strip, j * B_COLUMN + k), y[j]);
        }
        UNROLL for (int i = 0; i < ROWS; i++)
            if (i < SIZE_M) {
                float x[VECTOR];
                LOAD_A_VECTOR(AT(a_batch, i * A_ROW + k * A_COLUMN), x);
                UNROLL for (int j = 0; j < ACROSS; j++)
                    UNROLL for (int v = 0; v < VECTOR; v++)
                        sum[i][j] = FMA(x[v], y[j][v], sum[i][j]);
            }
    }

// section: end
// After the epilogue.
}
BARRIER();
}
}
