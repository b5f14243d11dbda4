/* Matrix products of any shape and strides: each block computes a tile of the result from tiles of
 * A and B in shared memory, each thread a few rows and columns of it in registers. B may be
 * quantized: its weights are read one by one into the tile, which every row of it then shares.
 */
#include "base/array.h"
#include "gen/emit/matmul.h"
#include "gen/emit/kernel_file.h"

extern const unsigned char embedded_matmul_tiled_cl[];

enum tiled_choice {
    TILE_ROWS = MATMUL_OTHERS, /* of the block's tile */
    TILE_COLUMNS,
    TILE_DEPTH,
    THREAD_ROWS, /* of a thread's part of it */
    THREAD_COLUMNS,
    A_ALONG_K, /* neighbors in memory are neighbors along k */
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

static bool matmul_tiled_plan(const struct matmul_work *work,
                              const struct device_capabilities *device,
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

static void matmul_tiled_code(const struct kernel_spec *spec,
                              const struct device_capabilities *device,
                              struct kernel_generated *generated) {
    struct buffer *out = &generated->source;
    source_matmul_macros(out, spec);
    source_define(out, "TILE_ROWS", spec->choices[TILE_ROWS]);
    source_define(out, "TILE_COLUMNS", spec->choices[TILE_COLUMNS]);
    source_define(out, "TILE_DEPTH", spec->choices[TILE_DEPTH]);
    source_define(out, "THREAD_ROWS", spec->choices[THREAD_ROWS]);
    source_define(out, "THREAD_COLUMNS", spec->choices[THREAD_COLUMNS]);
    source_define(out, "A_ALONG_K", spec->choices[A_ALONG_K]);
    source_define(out, "B_ALONG_K", spec->choices[B_ALONG_K]);
    source_section(out, embedded_matmul_tiled_cl, "macros");
    source_matmul_begin(spec, device, generated, 0, embedded_matmul_tiled_cl, "shared");
    source_section(out, embedded_matmul_tiled_cl, "body");
    source_matmul_epilogue(out, spec, device, "sum[i][j]");
    source_section(out, embedded_matmul_tiled_cl, "end");
}

const struct matmul_kernel matmul_tiled = {matmul_tiled_plan, matmul_tiled_code};
