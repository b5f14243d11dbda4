/* Matrix products of any shape and strides: each block computes a tile of the result from tiles of
 * A and B in shared memory, each thread a few rows and columns of it in registers. B may be
 * quantised: its weights are read one by one into the tile, which every row of it then shares.
 */
#include "base/array.h"
#include "gen/source/matmul.h"

enum tiled_choice {
    TILE_ROWS = MATMUL_OTHERS, /* of the block's tile */
    TILE_COLUMNS,
    TILE_DEPTH,
    THREAD_ROWS, /* of a thread's part of it */
    THREAD_COLUMNS,
    A_ALONG_K, /* neighbours in memory are neighbours along k */
    B_ALONG_K,
};

static const struct tile {
    int32_t rows, columns, depth, thread_rows, thread_columns;
} tiles[] = {
    {128, 128, 8, 8, 8},
    {64, 64, 16, 4, 4},
    {32, 32, 16, 2, 2},
};
enum { TILES = ARRAY_COUNT(tiles) };

static int64_t tile_count(const struct matmul_work *work, const struct tile *tile) {
    return divide_up(work->m, tile->rows) * divide_up(work->n, tile->columns);
}

/* The largest tile of which there are enough to fill the device, and that is not mostly outside the
 * result. */
static const struct tile *choose_tile(const struct matmul_work *work,
                                      const struct device_capabilities *device) {
    for (unsigned i = 0; i + 1 < TILES; i++) {
        bool fits = work->m > tiles[i].rows / 2 && work->n > tiles[i].columns / 2;
        double blocks = (double)tile_count(work, &tiles[i]) * (double)work->batch;
        int32_t threads =
            tiles[i].rows / tiles[i].thread_rows * (tiles[i].columns / tiles[i].thread_columns);
        if (fits && blocks >= device->compute_units && threads <= (int32_t)device->block_max)
            return &tiles[i];
    }
    return &tiles[TILES - 1];
}

static bool plan(const struct matmul_work *work, const struct device_capabilities *device,
                 struct kernel_request *request) {
    const struct tile *tile = choose_tile(work, device);
    int32_t *choices = request->spec.choices;
    choices[TILE_ROWS] = tile->rows;
    choices[TILE_COLUMNS] = tile->columns;
    choices[TILE_DEPTH] = tile->depth;
    choices[THREAD_ROWS] = tile->thread_rows;
    choices[THREAD_COLUMNS] = tile->thread_columns;
    choices[A_ALONG_K] = work->a_row != 1 || work->a_column == 1;
    choices[B_ALONG_K] = work->b_row == 1 && work->b_column != 1;
    choices[MATMUL_THREADS] =
        tile->rows / tile->thread_rows * (tile->columns / tile->thread_columns);
    double blocks = (double)tile_count(work, tile) * (double)work->batch;
    request->grid[0] = (uint32_t)(blocks < INT32_MAX ? blocks : INT32_MAX);
    return true;
}

static const char words_text[] =
    "#define THREADS_ACROSS (TILE_COLUMNS / THREAD_COLUMNS)\n"
    "#define THREADS_DOWN (TILE_ROWS / THREAD_ROWS)\n"
    "#define PER_A (TILE_ROWS * TILE_DEPTH / THREADS)\n"
    "#define PER_B (TILE_COLUMNS * TILE_DEPTH / THREADS)\n"
    "#define A_K(e) (A_ALONG_K ? (e) % TILE_DEPTH : (e) / TILE_ROWS)\n"
    "#define A_I(e) (A_ALONG_K ? (e) / TILE_DEPTH : (e) % TILE_ROWS)\n"
    "#define B_K(e) (B_ALONG_K ? (e) % TILE_DEPTH : (e) / TILE_COLUMNS)\n"
    "#define B_J(e) (B_ALONG_K ? (e) / TILE_DEPTH : (e) % TILE_COLUMNS)\n"
    /* What the next step needs is read while this one is computed. */
    "#define READ_NEXT(k0) \\\n"
    "    UNROLL for (int i = 0; i < PER_A; i++) { \\\n"
    "        int e = thread + i * THREADS; \\\n"
    "        INT64 r = first_row + A_I(e), k = (k0) + A_K(e); \\\n"
    "        next_a[i] = r < SIZE_M && k < SIZE_K ? LOAD_A(a_batch, r * A_ROW + k * A_COLUMN) \\\n"
    "                                             : 0.0f; \\\n"
    "    } \\\n"
    "    UNROLL for (int i = 0; i < PER_B; i++) { \\\n"
    "        int e = thread + i * THREADS; \\\n"
    "        INT64 c = first_column + B_J(e), k = (k0) + B_K(e); \\\n"
    "        next_b[i] = c < SIZE_N && k < SIZE_K ? LOAD_B(b, b_first + k * B_ROW + c * B_COLUMN) "
    "\\\n"
    "                                             : 0.0f; \\\n"
    "    }\n";

static const char body_text[] =
    /* A column of padding keeps neighbouring threads that write down a line off the same bank. */
    "SHARED float tile_a[TILE_DEPTH][TILE_ROWS + 1];\n"
    "SHARED float tile_b[TILE_DEPTH][TILE_COLUMNS + 1];\n"
    "int thread = (int)THREAD_X;\n"
    "int down = thread / THREADS_ACROSS, across = thread % THREADS_ACROSS;\n"
    "INT64 tiles_across = (SIZE_N + TILE_COLUMNS - 1) / TILE_COLUMNS;\n"
    "INT64 tiles = (SIZE_M + TILE_ROWS - 1) / TILE_ROWS * tiles_across;\n"
    "for (INT64 tile = BLOCK_X; tile < tiles * BATCHES; tile += GRID_X) {\n"
    "    INT64 batch = tile / tiles, place = tile % tiles;\n"
    "    INT64 first_row = place / tiles_across * TILE_ROWS;\n"
    "    INT64 first_column = place % tiles_across * TILE_COLUMNS;\n"
    "    GLOBAL const TYPE_A *a_batch = a + batch * A_BATCH;\n"
    "    INT64 b_first = batch * B_BATCH;\n"
    "    float sum[THREAD_ROWS][THREAD_COLUMNS], next_a[PER_A], next_b[PER_B];\n"
    "    UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "        UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)\n"
    "            sum[i][j] = 0.0f;\n"
    "    READ_NEXT(0)\n"
    "    for (INT64 k0 = 0; k0 < SIZE_K; k0 += TILE_DEPTH) {\n"
    "        UNROLL for (int i = 0; i < PER_A; i++)\n"
    "            tile_a[A_K(thread + i * THREADS)][A_I(thread + i * THREADS)] = next_a[i];\n"
    "        UNROLL for (int i = 0; i < PER_B; i++)\n"
    "            tile_b[B_K(thread + i * THREADS)][B_J(thread + i * THREADS)] = next_b[i];\n"
    "        BARRIER();\n"
    "        READ_NEXT(k0 + TILE_DEPTH)\n"
    "        for (int k = 0; k < TILE_DEPTH; k++) {\n"
    "            float x[THREAD_ROWS], y[THREAD_COLUMNS];\n"
    "            UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "                x[i] = tile_a[k][down + i * THREADS_DOWN];\n"
    "            UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)\n"
    "                y[j] = tile_b[k][across + j * THREADS_ACROSS];\n"
    "            UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "                UNROLL for (int j = 0; j < THREAD_COLUMNS; j++)\n"
    "                    sum[i][j] = FMA(x[i], y[j], sum[i][j]);\n"
    "        }\n"
    "        BARRIER();\n"
    "    }\n"
    "    UNROLL for (int i = 0; i < THREAD_ROWS; i++)\n"
    "        UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) {\n"
    "            INT64 row = first_row + down + i * THREADS_DOWN;\n"
    "            INT64 column = first_column + across + j * THREADS_ACROSS;\n"
    "            if (row >= SIZE_M || column >= SIZE_N)\n"
    "                continue;\n";

static void code(const struct kernel_spec *spec, const struct device_capabilities *device,
                 struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    source_matmul_words(out, spec);
    source_define(out, "TILE_ROWS", spec->choices[TILE_ROWS]);
    source_define(out, "TILE_COLUMNS", spec->choices[TILE_COLUMNS]);
    source_define(out, "TILE_DEPTH", spec->choices[TILE_DEPTH]);
    source_define(out, "THREAD_ROWS", spec->choices[THREAD_ROWS]);
    source_define(out, "THREAD_COLUMNS", spec->choices[THREAD_COLUMNS]);
    source_define(out, "A_ALONG_K", spec->choices[A_ALONG_K]);
    source_define(out, "B_ALONG_K", spec->choices[B_ALONG_K]);
    buffer_string(out, words_text);
    source_matmul_begin(spec, device, generated, 0);
    buffer_string(out, body_text);
    source_matmul_epilogue(out, spec, device, "sum[i][j]");
    buffer_string(out, "}\n}\n}\n");
}

const struct matmul_maker matmul_tiled = {plan, code};
