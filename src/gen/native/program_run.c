/* Walks the space of a fused program, tile by tile, distributed among the threads.
 *
 * A block is reduced together: a row, or as many rows as fit into a tile. Either the threads
 * take blocks, or all of them work on one block at a time and combine their reductions after
 * each pass; the order of additions then depends only on the number of units, not on the
 * threads. A program without rows is one block and one pass.
 */
#include "base/min_max.h"
#include "gen/native/program.h"

#include <string.h>

#include "gen/native/isa.h"
#include "gen/native/tile_run.h"

/* The space as blocks and tiles. */
struct walk {
    struct tile_run run;
    const int64_t *sizes;
    int64_t bases[PROGRAM_OPERANDS_MAX];      /* of the block's first element */
    int64_t next_bases[PROGRAM_OPERANDS_MAX]; /* of the next block, if there is one */
    bool has_next;
    bool down_first; /* the order of tiles: down the lines, then across */
    /* Of the two axes of a tile: how far they go, and a tile's share. */
    int64_t width_size, line_size, tile_width, tile_lines;
    int64_t tiles_across, tiles_down;
    unsigned others;      /* axes of a block before those of the tile, ... */
    unsigned first_other; /* ... from this one on */
    int64_t tiles;        /* of a block */
    int64_t blocks, blocks_across;
    int64_t block_rows; /* along the last of the outer axes */
};

static int64_t pieces(int64_t size, int64_t piece) {
    return size / piece + (size % piece != 0);
}

static int64_t stride(const struct walk *walk, unsigned operand, unsigned axis) {
    return axis < walk->run.steps->rank ? walk->run.strides[operand * walk->run.steps->rank + axis]
                                        : 0;
}

static int64_t size(const struct walk *walk, unsigned axis) {
    return axis < walk->run.steps->rank ? walk->sizes[axis] : 1;
}

/* Whether some operand has neighbors along the lines' axis but not along the other: then a tile is
 * as square as whole lines of cache allow. */
static bool transposes(const struct walk *walk) {
    for (unsigned i = 0; i < walk->run.steps->operand_count; i++)
        if (stride(walk, i, walk->run.line_axis) == 1 && stride(walk, i, walk->run.width_axis) > 1)
            return true;
    return false;
}

/* Equal shares of a tile in whole vectors, except the last. */
static int64_t even_share(int64_t size, int64_t max) {
    int64_t share = pieces(size, pieces(size, max));
    return MIN((share + TILE_LANES_MAX - 1) / TILE_LANES_MAX * TILE_LANES_MAX, size);
}

static void shape_packed_tiles(struct walk *walk) {
    int64_t max = walk->run.steps->tile_values;
    if (walk->width_size == 0 || walk->line_size == 0) {
        walk->tile_width = walk->tile_lines = 1;
    } else if (transposes(walk) && walk->line_size > 1) {
        walk->down_first = true;
        walk->tile_width = MIN(walk->width_size, max >= 1024 ? 64 : 16);
        walk->tile_lines = MIN(walk->line_size, max / walk->tile_width);
    } else {
        walk->tile_width =
            walk->width_size <= max ? walk->width_size : even_share(walk->width_size, max);
        walk->tile_lines =
            walk->tile_width < walk->width_size ? 1 : MIN(walk->line_size, max / walk->tile_width);
    }
    /* So that tiles are whole vectors and operands can be used in place. */
    if (walk->tile_lines > TILE_LANES_MAX && walk->tile_lines < walk->line_size)
        walk->tile_lines = walk->tile_lines / TILE_LANES_MAX * TILE_LANES_MAX;
}

/* Rows so short that several fit into a tile, one to a line. */
static int64_t rows_to_a_tile(const struct walk *walk, bool shared) {
    const struct steps *steps = walk->run.steps;
    int64_t pitch = pieces(walk->width_size, TILE_LANES_MAX) * TILE_LANES_MAX;
    if (shared || steps->outer == 0 || steps->rank != steps->outer + 1 || walk->width_size == 0)
        return 1;
    int64_t fit = MIN(steps->tile_values / pitch, RUN_LINE_ROWS_MAX);
    return MIN(fit > 1 ? fit : 1, size(walk, steps->outer - 1u));
}

static void shape_block(struct walk *walk, int64_t rows_width, bool shared) {
    const struct steps *steps = walk->run.steps;
    struct tile_run *run = &walk->run;
    /* Without rows the whole space is the block. */
    unsigned first = steps->outer == steps->rank ? 0 : steps->outer;
    unsigned inner = steps->rank - first;
    if (run->side_by_side) {
        run->width_axis = steps->outer - 1u;
        run->line_axis = steps->rank - 1u;
        walk->others = inner - 1;
        walk->tile_width = MIN(MIN(rows_width, steps->tile_values), RUN_ROWS_MAX);
        walk->line_size = size(walk, run->line_axis);
        /* lines lie whole vectors apart */
        int64_t pitch = pieces(walk->tile_width, TILE_LANES_MAX) * TILE_LANES_MAX;
        walk->tile_lines = MIN(walk->line_size, steps->tile_values / pitch);
        walk->tile_lines += walk->tile_lines == 0;
        walk->tiles_across = 1;
        walk->block_rows = walk->tile_width;
    } else {
        run->width_axis = inner > 0 ? steps->rank - 1u : RUN_AXIS_NONE;
        run->line_axis = inner > 1 ? steps->rank - 2u : RUN_AXIS_NONE;
        walk->others = inner > 2 ? inner - 2 : 0;
        walk->width_size = size(walk, run->width_axis);
        walk->line_size = size(walk, run->line_axis);
        shape_packed_tiles(walk);
        walk->tiles_across = pieces(walk->width_size, walk->tile_width);
        walk->block_rows = rows_to_a_tile(walk, shared);
        if (walk->block_rows > 1)
            run->line_axis = steps->outer - 1u;
    }
    walk->first_other = first;
    walk->tiles_down = pieces(walk->line_size, walk->tile_lines);
    walk->tiles = walk->tiles_across * walk->tiles_down;
    for (unsigned i = 0; i < walk->others; i++)
        walk->tiles *= walk->sizes[first + i];
    walk->blocks_across = first > 0 && walk->sizes[first - 1] > 0
                              ? pieces(walk->sizes[first - 1], walk->block_rows)
                              : first == 0;
    walk->blocks = walk->blocks_across;
    for (unsigned axis = 0; axis + 1 < first; axis++)
        walk->blocks *= walk->sizes[axis];
}

/* Adds the place of element `index` of some axes, counted as one, to the operands' offsets. */
static void move_by_index(const struct walk *walk, unsigned first, unsigned count, int64_t index,
                          int64_t *offsets) {
    for (unsigned axis = first + count; axis-- > first && index > 0;) {
        int64_t coordinate = index % walk->sizes[axis];
        index /= walk->sizes[axis];
        for (unsigned i = 0; i < walk->run.steps->operand_count; i++)
            offsets[i] += coordinate * stride(walk, i, axis);
    }
}

/* The operands' offsets of a block, and its start along the last outer axis. */
static int64_t find_block(const struct walk *walk, int64_t block, int64_t *bases) {
    const struct steps *steps = walk->run.steps;
    memset(bases, 0, sizeof walk->bases);
    if (steps->outer == steps->rank || steps->outer == 0)
        return 0;
    unsigned last = steps->outer - 1u;
    int64_t begin = block % walk->blocks_across * walk->block_rows;
    for (unsigned i = 0; i < steps->operand_count; i++)
        bases[i] = begin * stride(walk, i, last);
    move_by_index(walk, 0, last, block / walk->blocks_across, bases);
    return begin;
}

static void go_to_block(struct walk *walk, int64_t block) {
    struct tile_run *run = &walk->run;
    int64_t begin = find_block(walk, block, walk->bases);
    memcpy(run->offsets, walk->bases, sizeof run->offsets);
    if (walk->block_rows == 1 && !run->side_by_side)
        return;
    int64_t lanes = run->functions->lanes;
    int64_t rows = MIN(walk->block_rows, size(walk, run->steps->outer - 1u) - begin);
    if (run->side_by_side)
        walk->width_size = rows;
    else
        run->rows = run->lines = (size_t)rows;
    run->width = (size_t)walk->width_size;
    run->pitch = (size_t)(pieces(walk->width_size, lanes) * lanes);
}

static void go_to_tile(struct walk *walk, int64_t tile) {
    struct tile_run *run = &walk->run;
    memcpy(run->offsets, walk->bases, sizeof run->offsets);
    if (walk->block_rows > 1 && !run->side_by_side) {
        run->position = 0; /* it is the whole block */
        return;
    }
    int64_t plane = walk->tiles_across * walk->tiles_down, other = tile / plane;
    tile %= plane;
    int64_t across = walk->down_first ? tile / walk->tiles_down : tile % walk->tiles_across;
    int64_t down = walk->down_first ? tile % walk->tiles_down : tile / walk->tiles_across;
    across *= walk->tile_width;
    down *= walk->tile_lines;
    int64_t line = other * walk->line_size + down;
    run->lines = (size_t)MIN(walk->tile_lines, walk->line_size - down);
    if (run->side_by_side) {
        run->position = (int32_t)line;
    } else {
        run->width = run->pitch = (size_t)MIN(walk->tile_width, walk->width_size - across);
        run->position = (int32_t)(line * walk->width_size + across);
    }
    for (unsigned i = 0; i < run->steps->operand_count; i++)
        run->offsets[i] +=
            across * stride(walk, i, run->width_axis) + down * stride(walk, i, run->line_axis);
    move_by_index(walk, walk->first_other, walk->others, other, run->offsets);
}

/* While passes after the first compute, memory bandwidth is free to prefetch the next block:
 * each such pass prefetches its share of the same tile there. */
static void prefetch(const struct walk *walk, unsigned pass) {
    const struct tile_run *run = &walk->run;
    struct step_list list = run->steps->elements[0][0];
    for (uint32_t i = 0; i < list.count; i++) {
        const struct step *step = &run->steps->steps[list.first + i];
        unsigned operand = step->slot;
        if (step->op != OP_LOAD || walk->next_bases[operand] == walk->bases[operand] ||
            stride(walk, operand, run->width_axis) != 1)
            continue;
        int64_t size = (int64_t)ridge_dtype_bytes(run->steps->dtypes[operand], 1);
        const char *begin =
            (const char *)run->buffers[operand] +
            (run->offsets[operand] - walk->bases[operand] + walk->next_bases[operand]) * size;
        int64_t bytes = (int64_t)(run->width * run->lines) * size, shares = run->steps->passes - 1;
        for (int64_t at = bytes * (pass - 1) / shares; at < bytes * pass / shares; at += 64)
            __builtin_prefetch(begin + at, 0, 2);
    }
}

/* Prefetches the next lines of a transposed operand: every element of a line is a separate
 * stream, more than the hardware prefetcher follows. */
static void prefetch_down(const struct walk *walk) {
    const struct tile_run *run = &walk->run;
    for (unsigned i = 0; i < run->steps->operand_count; i++) {
        if (stride(walk, i, run->line_axis) != 1)
            continue;
        int64_t size = (int64_t)ridge_dtype_bytes(run->steps->dtypes[i], 1);
        const char *begin =
            (const char *)run->buffers[i] + (run->offsets[i] + (int64_t)run->lines) * size;
        for (int64_t j = 0; j < (int64_t)run->width; j++)
            for (int64_t at = 0; at < (int64_t)run->lines * size; at += 64)
                __builtin_prefetch(begin + j * stride(walk, i, run->width_axis) * size + at, 0, 2);
    }
}

static void run_tiles(struct walk *walk, unsigned pass, bool keep, int64_t begin, int64_t end) {
    struct step_list list = walk->run.steps->elements[keep][pass];
    walk->run.kept_at = 0;
    for (int64_t tile = begin; tile < end; tile++) {
        go_to_tile(walk, tile);
        if (keep)
            tile_run_find_kept(&walk->run);
        if (pass > 0 && walk->has_next)
            prefetch(walk, pass);
        else if (walk->down_first)
            prefetch_down(walk);
        tile_run_elements(&walk->run, list);
        walk->run.kept_at += tile_run_values(&walk->run);
    }
}

/* Values of the row are found by the block's offsets, not by the last tile's. */
static void run_rows(struct walk *walk, unsigned pass) {
    memcpy(walk->run.offsets, walk->bases, sizeof walk->bases);
    tile_run_rows(&walk->run, walk->run.steps->rows[pass]);
}

static bool keeps(const struct walk *walk) {
    int64_t lanes = walk->run.functions->lanes;
    int64_t values = walk->run.side_by_side ? walk->tile_lines * (int64_t)walk->run.pitch
                     : walk->block_rows > 1 ? (int64_t)(walk->run.lines * walk->run.pitch)
                                            : walk->tile_lines * walk->tile_width + lanes;
    return walk->run.steps->kept_count > 0 &&
           walk->tiles <= (int64_t)tile_run_kept_room(walk->run.steps) / values;
}

static void run_block(struct walk *walk, int64_t block) {
    const struct steps *steps = walk->run.steps;
    go_to_block(walk, block);
    tile_run_reset(&walk->run);
    bool keep = keeps(walk);
    walk->has_next = steps->passes > 1 && block + 1 < walk->blocks;
    if (walk->has_next)
        find_block(walk, block + 1, walk->next_bases);
    for (unsigned pass = 0; pass < steps->passes; pass++) {
        run_rows(walk, pass);
        run_tiles(walk, pass, keep, 0, walk->tiles);
    }
    run_rows(walk, steps->passes);
    tile_run_row_stores(&walk->run);
    /* Of a block that is not whole there may be too few lines for the next one. */
    walk->run.lasting_there |= keep && (int64_t)walk->run.rows >= walk->block_rows;
}

static void run_own_blocks(struct walk *walk, const struct native_call *call) {
    size_t begin, end;
    while (native_take(call, 1, &begin, &end)) {
        int64_t units = (int64_t)call->units, unit = (int64_t)begin;
        int64_t share = walk->blocks / units, rest = walk->blocks % units;
        int64_t first = unit * share + MIN(unit, rest);
        for (int64_t block = first; block < first + share + (unit < rest); block++)
            run_block(walk, block);
    }
}

/* Part of a pass: the tiles of one unit; its reductions are stored in the unit's slot of
 * `parts`. */
static void run_part(struct walk *walk, unsigned pass, int64_t unit, int64_t units, char *parts,
                     size_t part_bytes) {
    int64_t share = walk->tiles / units, rest = walk->tiles % units;
    int64_t first = unit * share + MIN(unit, rest);
    tile_run_reset(&walk->run);
    run_tiles(walk, pass, false, first, first + share + (unit < rest));
    if (part_bytes)
        memcpy(parts + (size_t)unit * part_bytes, walk->run.reductions, part_bytes);
}

static void run_shared_blocks(struct walk *walk, const struct native_call *call) {
    const struct steps *steps = walk->run.steps;
    size_t part_bytes = tile_run_reductions_bytes(steps, walk->run.side_by_side), begin, end;
    unsigned turn = 0;
    for (int64_t block = 0; block < walk->blocks; block++) {
        go_to_block(walk, block);
        for (unsigned pass = 0; pass < steps->passes; pass++) {
            /* Parts of the pass before may still be being read. */
            char *parts = (char *)call->shared + turn++ % 2 * call->units * part_bytes;
            run_rows(walk, pass);
            while (native_take(call, 1, &begin, &end))
                run_part(walk, pass, (int64_t)begin, (int64_t)call->units, parts, part_bytes);
            if (steps->outer == steps->rank)
                return;
            native_barrier(call);
            tile_run_reset(&walk->run);
            for (size_t unit = 0; unit < call->units; unit++)
                tile_run_merge(&walk->run, parts + unit * part_bytes);
        }
        run_rows(walk, steps->passes);
        if (call->thread == 0)
            tile_run_row_stores(&walk->run);
    }
}

void native_program_run(const struct native_call *call) {
    const struct program_context *context = call->context;
    const struct steps *steps = &context->steps;
    const int64_t *scalars = call->scalars + PROGRAM_SCALARS;
    struct walk walk;
    walk.has_next = walk.down_first = false;
    walk.sizes = scalars;
    walk.run.steps = steps;
    walk.run.functions = simd_best()->tile;
    walk.run.buffers = call->buffers;
    walk.run.strides = scalars + steps->rank;
    walk.run.constants = scalars + steps->rank + steps->operand_count * steps->rank;
    walk.run.side_by_side = context->side_by_side;
    walk.run.streams = call->scalars[PROGRAM_STREAMS] != 0;
    tile_run_begin(&walk.run, call->scratch);
    bool shared = call->scalars[PROGRAM_SHARED_ROWS] != 0;
    shape_block(&walk, call->scalars[PROGRAM_ROWS_WIDTH], shared);
    if (shared)
        run_shared_blocks(&walk, call);
    else
        run_own_blocks(&walk, call);
    if (walk.run.streams)
        walk.run.functions->fence();
}
