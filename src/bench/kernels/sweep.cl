// Kernels whose block or tile size an experiment selects: see kernel_case.h.

// section: scale
// y = 2 x + 1
INT64 first = (CAST(INT64, BLOCK_X) * THREADS + THREAD_X) * 4;
if (first + 4 <= N) {
    float v[4];
    LOAD_F32_4(AT(x, first), v, 0);
    UNROLL for (int i = 0; i < 4; i++)
        v[i] = FMA(2.0f, v[i], 1.0f);
    STORE_F32_4(AT(y, first), v);
} else {
    for (INT64 i = first; i < N; i++)
        STORE_F32(y, i, FMA(2.0f, LOAD_F32(x, i), 1.0f));
}

// section: sum
// A block's sum is stored after the total, which the last launch writes.
float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
INT64 self = CAST(INT64, BLOCK_X) * THREADS + THREAD_X, whole = N / 4 * 4;
for (INT64 i = self * 4; i < whole; i += CAST(INT64, GRID_X) * THREADS * 4) {
    float v[4];
    LOAD_F32_4(AT(x, i), v, 0);
    UNROLL for (int j = 0; j < 4; j++)
        sum[j] += v[j];
}
if (whole + self < N)
    sum[0] += LOAD_F32(x, whole + self);
float all = BLOCK_SUM(sum[0] + sum[1] + (sum[2] + sum[3]), 0);
if (THREAD_X == 0)
    STORE_F32(sums, 1 + BLOCK_X, all);

// section: sum_last
// The second launch: adds up the sums of all blocks.
float sum = 0.0f;
for (INT64 i = THREAD_X; i < PARTS; i += THREADS)
    sum += LOAD_F32(sums, 1 + i);
float all = BLOCK_SUM(sum, 0);
if (THREAD_X == 0)
    STORE_F32(sums, 0, all);

// section: tile_macros
// The three products differ only in READS and COMPUTES. A thread's rows and columns of a tile lie
// VECTOR together, and these lie side by side among the threads, so that reading them from shared
// memory takes few loads without conflicts. Without READS, the first tile is used for all.
#define ACROSS (TILE_COLUMNS / THREAD_COLUMNS)
#define DOWN (TILE_ROWS / THREAD_ROWS)
#define ROW_OF(i) ((i) / VECTOR * DOWN * VECTOR + down * VECTOR + (i) % VECTOR)
#define COLUMN_OF(j) ((j) / VECTOR * ACROSS * VECTOR + across * VECTOR + (j) % VECTOR)
#define READ_ROW (READS != 0 ? first_row : 0)
#define READ_COLUMN (READS != 0 ? first_column : 0)
// Padded to avoid bank conflicts.
#define A_LINE (TILE_ROWS + 4)
#define READ_STEPS 4
#define PER_A (TILE_ROWS * DEPTH / THREADS)
#define PER_B (TILE_COLUMNS * DEPTH / THREADS)
#define LOAD_TILES(k0) \
    UNROLL for (int i = 0; i < PER_A; i++) { \
        int e = self + i * THREADS, r = READ_ROW + e / DEPTH, t = (k0) + e % DEPTH; \
        next_a[i] = r < M && t < K ? LOAD_F32(a, r * K + t) : 0.0f; \
    } \
    UNROLL for (int i = 0; i < PER_B; i++) { \
        int e = self + i * THREADS; \
        int c = READ_COLUMN + e % TILE_COLUMNS, t = (k0) + e / TILE_COLUMNS; \
        next_b[i] = c < N && t < K ? LOAD_F32(b, t * N + c) : 0.0f; \
    }
#define KEEP_TILES() \
    UNROLL for (int i = 0; i < PER_A; i++) { \
        int e = self + i * THREADS; \
        tile_a[e % DEPTH * A_LINE + e / DEPTH] = next_a[i]; \
    } \
    UNROLL for (int i = 0; i < PER_B; i++) \
        tile_b[self + i * THREADS] = next_b[i];
#if VECTOR == 4
#define TAKE(to, first, tile, from) { \
        WORDS4 w = SHARED_LOAD16(tile, from); \
        to[first] = AS_FLOAT(w.x), to[first + 1] = AS_FLOAT(w.y); \
        to[first + 2] = AS_FLOAT(w.z), to[first + 3] = AS_FLOAT(w.w); \
    }
#else
#define TAKE(to, first, tile, from) \
    UNROLL for (int v = 0; v < VECTOR; v++) \
        to[first + v] = tile[(from) + v];
#endif

// section: tile_head
int self = CAST(int, THREAD_X), down = self / ACROSS, across = self % ACROSS;
int tiles_across = (N + TILE_COLUMNS - 1) / TILE_COLUMNS;
int first_row = CAST(int, BLOCK_X) / tiles_across * TILE_ROWS;
int first_column = CAST(int, BLOCK_X) % tiles_across * TILE_COLUMNS;
float next_a[PER_A], next_b[PER_B];
float sum[THREAD_ROWS][THREAD_COLUMNS];
UNROLL for (int i = 0; i < THREAD_ROWS; i++)
    UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)
        sum[i][j] = 0.0f;

// section: tile_read
// Several steps at a time, with separate sums per thread: only memory latency counts.
float read = 0.0f, of_a[PER_A], of_b[PER_B];
UNROLL for (int i = 0; i < PER_A; i++)
    of_a[i] = 0.0f;
UNROLL for (int i = 0; i < PER_B; i++)
    of_b[i] = 0.0f;
for (int k0 = 0; k0 < K; k0 += READ_STEPS * DEPTH)
    UNROLL for (int step = 0; step < READ_STEPS; step++) {
        LOAD_TILES(k0 + step * DEPTH)
        UNROLL for (int i = 0; i < PER_A; i++)
            of_a[i] += next_a[i];
        UNROLL for (int i = 0; i < PER_B; i++)
            of_b[i] += next_b[i];
    }
UNROLL for (int i = 0; i < PER_A; i++)
    read += of_a[i];
UNROLL for (int i = 0; i < PER_B; i++)
    read += of_b[i];
read = BLOCK_SUM(read, 0);
UNROLL for (int i = 0; i < THREAD_ROWS; i++)
    UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)
        sum[i][j] = read;

// section: tile_shared
SHARED_FLOATS(tile_a, DEPTH * A_LINE)
SHARED_FLOATS(tile_b, DEPTH * TILE_COLUMNS)

// section: tile_compute
// Loads for the next step are issued while this one is computed. Without READS the barriers
// remain: they are part of the work, and keep the compiler from moving the tiles into registers.
LOAD_TILES(0)
#if !READS
KEEP_TILES()
#endif
for (int k0 = 0; k0 < K; k0 += DEPTH) {
#if READS
    KEEP_TILES()
#endif
    BARRIER();
#if READS
    LOAD_TILES(k0 + DEPTH)
#endif
    for (int k = 0; k < DEPTH; k++) {
        float x[THREAD_ROWS], y[THREAD_COLUMNS];
        UNROLL for (int i = 0; i < THREAD_ROWS; i += VECTOR)
            TAKE(x, i, tile_a, k * A_LINE + ROW_OF(i))
        UNROLL for (int j = 0; j < THREAD_COLUMNS; j += VECTOR)
            TAKE(y, j, tile_b, k * TILE_COLUMNS + COLUMN_OF(j))
        UNROLL for (int i = 0; i < THREAD_ROWS; i++)
            UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)
                sum[i][j] = FMA(x[i], y[j], sum[i][j]);
    }
    BARRIER();
}

// section: tile_store
UNROLL for (int i = 0; i < THREAD_ROWS; i++)
    UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) {
        int row = first_row + ROW_OF(i), column = first_column + COLUMN_OF(j);
        if (row < M && column < N)
            STORE_F32(c, row * N + column, sum[i][j]);
    }

// section: rows
// A group of threads for each row of B, which is a column of the result.
int lane = CAST(int, THREAD_X) % LANES;
int column = CAST(int, BLOCK_X) * (THREADS / LANES) + CAST(int, THREAD_X) / LANES;
bool inside = column < N;
int from = READS != 0 ? column : CAST(int, THREAD_X) / LANES;
CONST_POINTER(float) line = AT(b, (from < N ? from : 0) * K);
float sum[ROWS][VECTOR];
UNROLL for (int r = 0; r < ROWS; r++)
    UNROLL for (int v = 0; v < VECTOR; v++)
        sum[r][v] = 0.0f;
#if READS
for (int k = lane * VECTOR; k < K; k += LANES * VECTOR) {
    float w[VECTOR];
    LOAD_LINE(AT(line, k), w);
    UNROLL for (int r = 0; r < ROWS; r++) {
        float x[VECTOR];
        LOAD_LINE(AT(a, r * K + k), x);
        UNROLL for (int v = 0; v < VECTOR; v++)
#if COMPUTES
            sum[r][v] = FMA(x[v], w[v], sum[r][v]);
#else
            sum[0][v] += x[v] + (r == 0 ? w[v] : 0.0f);
#endif
    }
}
#else
float w[VECTOR], x[ROWS][VECTOR];
UNROLL for (int v = 0; v < VECTOR; v++) {
    int k = lane * VECTOR + v;
    w[v] = k < K ? LOAD_F32(line, k) : 0.0f;
    UNROLL for (int r = 0; r < ROWS; r++)
        x[r][v] = k < K ? LOAD_F32(a, r * K + k) : 0.0f;
}
for (int k0 = 0; k0 < K; k0 += LANES * VECTOR)
    UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int v = 0; v < VECTOR; v++)
            sum[r][v] = FMA(x[r][v], w[v], sum[r][v]);
#endif
for (int r = 0; r < ROWS; r++) {
    float total = 0.0f;
    UNROLL for (int v = 0; v < VECTOR; v++)
        total += sum[COMPUTES != 0 ? r : 0][v];
    total = GROUP_SUM(total, LANES, 0);
    BARRIER();
    if (lane == 0 && inside)
        STORE_F32(c, r * N + column, total);
}
