/* Runs the epilogue of a matrix product on one tile of it. */
#include "base/min_max.h"
#include "gen/native/epilogue.h"

#include <string.h>

#include "gen/native/isa.h"
#include "gen/native/tile_run.h"

enum { BATCH_AXIS, ROW_AXIS, COLUMN_AXIS, AXES };

struct region {
    int64_t batch, row, row_count, column, column_count;
    const float *accumulator;
    size_t accumulator_stride;
};

static const int64_t *strides_of(const struct program *program, const int64_t *scalars,
                                 unsigned operand) {
    return scalars + program->rank * (1u + operand);
}

/* The product itself is stored, to rows of neighbors. */
static bool only_stores(const struct program *program, const int64_t *scalars) {
    return program->instruction_count == 2 && program->instructions[0].op == OP_ACCUMULATOR &&
           program->instructions[1].op == OP_STORE &&
           strides_of(program, scalars, program->instructions[1].slot)[COLUMN_AXIS] == 1;
}

static void store_rows(const struct program *program, const int64_t *scalars, void *const *buffers,
                       const struct region *region) {
    unsigned operand = program->instructions[1].slot, dtype = program->operands[operand].dtype;
    const int64_t *strides = strides_of(program, scalars, operand);
    size_t element = ridge_dtype_bytes(dtype, 1);
    tile_convert *store = simd_best()->tile->store[dtype];
    for (int64_t i = 0; i < region->row_count; i++) {
        int64_t at = region->batch * strides[BATCH_AXIS] + (region->row + i) * strides[ROW_AXIS] +
                     region->column;
        store((char *)buffers[operand] + at * (int64_t)element,
              region->accumulator + (size_t)i * region->accumulator_stride,
              (size_t)region->column_count);
    }
}

static void run_region(struct tile_run *run, const struct region *region) {
    int64_t max = run->steps->tile_values;
    int64_t width = MIN(region->column_count, max);
    int64_t lines = width < region->column_count ? 1 : MIN(region->row_count, max / width);
    for (int64_t i = 0; i < region->row_count; i += lines)
        for (int64_t j = 0; j < region->column_count; j += width) {
            run->lines = (size_t)MIN(lines, region->row_count - i);
            run->width = run->pitch = (size_t)MIN(width, region->column_count - j);
            run->accumulator =
                region->accumulator + (size_t)i * region->accumulator_stride + (size_t)j;
            for (unsigned k = 0; k < run->steps->operand_count; k++) {
                const int64_t *strides = run->strides + AXES * k;
                run->offsets[k] = region->batch * strides[BATCH_AXIS] +
                                  (region->row + i) * strides[ROW_AXIS] +
                                  (region->column + j) * strides[COLUMN_AXIS];
            }
            tile_run_elements(run, run->steps->elements[0][0]);
        }
}

/* Tiles as large as the scratch memory allows: a program may need many values at once. */
static void fit_tiles(struct steps *steps, size_t room) {
    while (tile_run_bytes(steps, false) > room && steps->tile_values > TILE_LANES_MAX)
        steps->tile_values /= 2;
}

void native_epilogue(const struct program *program, const int64_t *scalars, void *const *buffers,
                     const float *accumulator, size_t accumulator_stride, int64_t batch,
                     int64_t row, int64_t row_count, int64_t column, int64_t column_count,
                     void *scratch) {
    struct region region = {.batch = batch,
                            .row = row,
                            .row_count = row_count,
                            .column = column,
                            .column_count = column_count,
                            .accumulator = accumulator,
                            .accumulator_stride = accumulator_stride};
    if (row_count <= 0 || column_count <= 0)
        return;
    if (only_stores(program, scalars)) {
        store_rows(program, scalars, buffers, &region);
        return;
    }
    struct steps *steps = scratch;
    size_t steps_room = (steps_bytes(program) + 63) / 64 * 64;
    struct tile_run run;
    steps_build(program, false, steps);
    fit_tiles(steps, NATIVE_EPILOGUE_SCRATCH - steps_room);
    run.steps = steps;
    run.functions = simd_best()->tile;
    run.buffers = buffers;
    run.strides = scalars + AXES;
    run.constants = scalars + AXES * (1u + program->operand_count);
    run.accumulator_stride = accumulator_stride;
    run.side_by_side = false;
    run.streams = false;
    run.line_axis = ROW_AXIS;
    run.width_axis = COLUMN_AXIS;
    run.kept_at = 0;
    tile_run_begin(&run, (char *)scratch + steps_room);
    run_region(&run, &region);
}
