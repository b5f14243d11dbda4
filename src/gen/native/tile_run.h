/* Running lists of steps on one tile of elements.
 *
 * A tile is `lines` times `width` elements: of two axes of the space, whose strides each operand
 * has. Its values lie line after line, `pitch` apart. There are three ways:
 *   - all belong to one row, or the program has none: packed, pitch == width;
 *   - each line is a row, short enough for many to fit: pitch is whole vectors;
 *   - the rows are side by side, a line has one element of each: pitch is whole vectors.
 * A value of the row is a vector of equal lanes for each row of the tile or, side by side, a line.
 */
#ifndef RIDGE_GEN_NATIVE_TILE_RUN_H
#define RIDGE_GEN_NATIVE_TILE_RUN_H

#include "gen/native/steps.h"
#include "gen/native/tiles.h"

enum {
    RUN_ROWS_MAX = 1024,           /* side by side */
    RUN_LINE_ROWS_MAX = 32,        /* one to a line */
    RUN_KEPT_BYTES = 256 * 1024,   /* of values kept from pass to pass */
    RUN_AXIS_NONE = RIDGE_RANK_MAX /* an axis that is not there: of size 1 */
};

struct tile_run {
    const struct steps *steps;
    const struct tile_functions *functions;
    void *const *buffers;
    const int64_t *strides;   /* operand after operand, `rank` each */
    const void *constants;    /* 4 bytes each */
    const float *accumulator; /* of the tile's first element, when the program has one */
    size_t accumulator_stride;
    bool side_by_side;
    bool streams; /* the stored data exceeds the caches */
    unsigned width_axis, line_axis;

    /* The scratch memory's parts. */
    char *tiles, *spare, *staging, *row_values, *vectors, *reductions, *kept;
    size_t tile_bytes, row_bytes, reduction_bytes;

    /* The tile at hand. */
    size_t lines, width, pitch;
    size_t rows; /* of the tile, when they are not side by side: 1, or one to a line */
    int64_t offsets[PROGRAM_OPERANDS_MAX]; /* of its first element */
    bool lasting_there;                    /* what lasts from row to row has been loaded */
    size_t kept_at;                        /* its place among the values kept, in values */
    int32_t position;                      /* of its first element in the row */

    /* Where values are, by instruction, and by how many bytes to move on after a vector. */
    const void *at[PROGRAM_INSTRUCTIONS_MAX];
    size_t moves[PROGRAM_INSTRUCTIONS_MAX];
};

/* Scratch memory that a run needs, in bytes; 64-byte aligned. */
size_t tile_run_bytes(const struct steps *steps, bool side_by_side);
/* Divides the scratch memory and computes uniform values. The members above the scratch memory's
 * are set; the axes may still change. */
void tile_run_begin(struct tile_run *run, void *scratch);

/* Values of a tile in all, rounded up to whole vectors. */
size_t tile_run_values(const struct tile_run *run);
/* Capacity for each kept value. */
size_t tile_run_kept_room(const struct steps *steps);

/* Points at the values that earlier passes kept of this tile. */
void tile_run_find_kept(struct tile_run *run);
/* A list over elements; over rows (offsets are of the first row's first element). */
void tile_run_elements(struct tile_run *run, struct step_list list);
void tile_run_rows(struct tile_run *run, struct step_list list);
void tile_run_row_stores(struct tile_run *run);

/* Resets all reductions; merges the reductions of another run of the same steps, later in the
 * row. */
void tile_run_reset(struct tile_run *run);
void tile_run_merge(struct tile_run *run, const void *reductions);
/* The result as a value of the row. */
void tile_run_finish_reduction(const struct tile_run *run, const struct step *step, char *to);
/* Bytes of a run's reductions, as tile_run_merge() takes them. */
size_t tile_run_reductions_bytes(const struct steps *steps, bool side_by_side);

#endif
