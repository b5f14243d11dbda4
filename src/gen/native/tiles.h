/* The functions of an ISA for fused programs: operations over tiles.
 *
 * A tile is a run of f32 or i32 values in cache, whole vectors long. Everything here works on
 * tiles or moves elements between tiles and operands; tile_run.c runs the steps of a tile, and
 * program_run.c walks over the tiles.
 */
#ifndef RIDGE_GEN_NATIVE_TILES_H
#define RIDGE_GEN_NATIVE_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "gen/ops.h"

enum {
    TILE_LANES_MAX = 16,
    TILE_VECTOR_MAX = 64, /* bytes */
    TILE_REDUCTIONS = OP_REDUCE_ARGMIN - OP_REDUCE_SUM + 1,
    TILE_SIZES = 3, /* of elements: 1, 2 and 4 bytes, numbered by their logarithm */
};

/* out = expression(x, y, z) over `count` values, a multiple of the lanes. An operand moves on by
 * its step after each vector: a vector's bytes, or 0 for the same values again. */
typedef void tile_expression(void *out, const void *x, const void *y, const void *z, size_t count,
                             const size_t steps[3]);

/* Elements that lie side by side to tile values, or back. Exactly `count` are read and written. */
typedef void tile_convert(void *to, const void *from, size_t count);

/* Elements without a change of type between two layouts, strides in elements; one of the sides has
 * stride 1 within a line. */
typedef void tile_move(void *to, ptrdiff_t to_line, ptrdiff_t to_stride, const void *from,
                       ptrdiff_t from_line, ptrdiff_t from_stride, size_t lines, size_t width);

/* The running reduction of one row. */
struct row_reduction {
    double sum;
    union {
        float f32;
        int32_t i32;
    } best;
    int32_t index; /* of the best; -1 before the first */
};
/* Takes in `count` values; the first one's number in the row is `first`. */
typedef void tile_reduce(struct row_reduction *reduction, const void *x, size_t count,
                         int32_t first);

/* The same for many rows side by side: lines of `width` values (whole vectors), one of each row.
 * `best` and `more` hold a value for each row: the sum and its rounding error, or the best value
 * and its index. */
typedef void tile_reduce_rows(void *best, void *more, const void *x, size_t lines, size_t width,
                              int32_t first);

struct tile_functions {
    unsigned lanes;
    /* By the type of the operands (of the two to choose from, for "where"), then by operation. */
    tile_expression *const (*expressions)[OP_EXPRESSIONS];
    tile_convert *load[RIDGE_DTYPES], *store[RIDGE_DTYPES]; /* NULL for quantized types */
    tile_convert *stream[RIDGE_DTYPES]; /* store, past the caches; NULL where that is not better */
    void (*fence)(void);                /* before other threads read streamed data */
    tile_convert *fill; /* `count` values, whole vectors, that are all the first one of `from` */
    tile_move *move[TILE_SIZES];
    /* x / y where y is the same in all lanes and does not move on: what the expression gives, only
     * faster. */
    tile_expression *divide_by_one;
    tile_reduce *const (*reduce)[TILE_REDUCTIONS];
    tile_reduce_rows *const (*reduce_rows)[TILE_REDUCTIONS];
    /* The sum of squares, without storing them in between; of floats. */
    tile_reduce *sum_squares;
    tile_reduce_rows *sum_squares_rows;
};

#endif
