/* The interpreter of steps: the source and destination of each value, tile by tile.
 *
 * Values are used in place where possible: contiguous 4-byte operands are read in place, the
 * last result is computed into its operand, and a value that is constant over a tile is one
 * vector.
 */
#include "gen/native/tile_run.h"

#include <string.h>

static const uint8_t size_logarithms[RIDGE_DTYPES] = {
    [RIDGE_F32] = 2, [RIDGE_F16] = 1, [RIDGE_BF16] = 1, [RIDGE_I32] = 2, [RIDGE_U8] = 0};

static size_t vector_bytes(const struct tile_run *run) {
    return run->functions->lanes * sizeof(float);
}

static size_t whole_vectors(const struct tile_run *run, size_t values) {
    size_t lanes = run->functions->lanes;
    return (values + lanes - 1) / lanes * lanes;
}

size_t tile_run_values(const struct tile_run *run) {
    return whole_vectors(run, run->lines * run->pitch);
}

/* ---- Scratch memory ---- */

static size_t rounded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* A little more than the values, so that tiles do not all fall on the same lines of cache. */
static size_t bytes_of_tile(const struct steps *steps) {
    return rounded((steps->tile_values + TILE_LANES_MAX) * sizeof(float));
}

static size_t bytes_of_row_value(bool side_by_side) {
    return side_by_side ? RUN_ROWS_MAX * sizeof(float) : RUN_LINE_ROWS_MAX * TILE_VECTOR_MAX;
}

static size_t bytes_of_reduction(bool side_by_side) {
    return side_by_side ? 2 * RUN_ROWS_MAX * sizeof(float)
                        : rounded(RUN_LINE_ROWS_MAX * sizeof(struct row_reduction));
}

size_t tile_run_reductions_bytes(const struct steps *steps, bool side_by_side) {
    return steps->reductions * bytes_of_reduction(side_by_side);
}

size_t tile_run_bytes(const struct steps *steps, bool side_by_side) {
    return (steps->tiles + 2u) * bytes_of_tile(steps) +
           steps->row_count * bytes_of_row_value(side_by_side) +
           steps->instruction_count * (size_t)TILE_VECTOR_MAX +
           tile_run_reductions_bytes(steps, side_by_side) +
           (steps->kept_count ? RUN_KEPT_BYTES : 0);
}

size_t tile_run_kept_room(const struct steps *steps) {
    size_t each = RUN_KEPT_BYTES / sizeof(float) / (steps->kept_count ? steps->kept_count : 1);
    return each / TILE_LANES_MAX * TILE_LANES_MAX;
}

static char *kept_value(const struct tile_run *run, unsigned kept) {
    return run->kept + (kept * tile_run_kept_room(run->steps) + run->kept_at) * sizeof(float);
}

void tile_run_find_kept(struct tile_run *run) {
    for (unsigned i = 0; i < run->steps->kept_count; i++) {
        run->at[run->steps->kept_values[i]] = kept_value(run, i);
        run->moves[run->steps->kept_values[i]] = vector_bytes(run);
    }
}

static char *row_value(const struct tile_run *run, unsigned instruction) {
    return run->row_values + run->steps->place[instruction] * run->row_bytes;
}

/* ---- Expressions ---- */

static tile_expression *function_of(const struct tile_run *run, const struct step *step,
                                    bool one_divisor) {
    if (step->op == OP_DIV && step->type == VALUE_F32 && one_divisor)
        return run->functions->divide_by_one;
    return run->functions->expressions[step->type][step->op];
}

/* The whole tile; line by line when an operand is a value of the row. */
static void evaluate(const struct tile_run *run, const struct step *step, char *out, size_t count,
                     size_t lines) {
    const char *operands[3];
    size_t moves[3], line_moves[3], line_bytes = count * sizeof(float);
    for (unsigned i = 0; i < 3; i++) {
        unsigned number = step->operands[i];
        bool of_row = run->steps->class_of[number] == VALUE_OF_ROW;
        operands[i] = run->at[number];
        moves[i] = run->moves[number];
        line_moves[i] = moves[i] == 0 || (of_row && run->side_by_side) ? 0
                        : of_row                                       ? vector_bytes(run)
                                                                       : line_bytes;
        if (of_row && !run->side_by_side)
            moves[i] = 0;
    }
    tile_expression *function = function_of(run, step, moves[1] == 0 && moves[0] != 0);
    for (size_t line = 0; line < lines; line++) {
        function(out, operands[0], operands[1], operands[2], count, moves);
        out += line_bytes;
        for (unsigned i = 0; i < 3; i++)
            operands[i] += line_moves[i];
    }
}

/* For every row of the tile. */
static void evaluate_rows(const struct tile_run *run, const struct step *step, void *out) {
    const void *operands[3];
    size_t moves[3];
    for (unsigned i = 0; i < 3; i++) {
        operands[i] = run->at[step->operands[i]];
        moves[i] = run->moves[step->operands[i]];
    }
    size_t count = run->side_by_side ? run->pitch : run->rows * run->functions->lanes;
    run->functions->expressions[step->type][step->op](out, operands[0], operands[1], operands[2],
                                                      count, moves);
}

static bool all_operands_stay(const struct tile_run *run, const struct step *step) {
    for (unsigned i = 0; i < step->arity; i++)
        if (run->moves[step->operands[i]] != 0)
            return false;
    return true;
}

static int64_t stride_of(const struct tile_run *run, unsigned operand, unsigned axis) {
    return axis < run->steps->rank ? run->strides[operand * run->steps->rank + axis] : 0;
}

static char *element_at(const struct tile_run *run, unsigned operand) {
    return (char *)run->buffers[operand] +
           run->offsets[operand] * ((int64_t)1 << size_logarithms[run->steps->dtypes[operand]]);
}

/* Whether the operand's elements have the layout of the tile's values. */
static bool lies_packed(const struct tile_run *run, unsigned operand) {
    int64_t stride = stride_of(run, operand, run->width_axis);
    int64_t line = stride_of(run, operand, run->line_axis);
    return (stride == 1 || run->width == 1) &&
           (run->lines == 1 || (run->pitch == run->width && line == (int64_t)run->width));
}

/* Whether it can be read and written a whole vector at a time. */
static bool usable_in_place(const struct tile_run *run, unsigned operand) {
    return size_logarithms[run->steps->dtypes[operand]] == 2 &&
           run->lines * run->width == tile_run_values(run) && lies_packed(run, operand);
}

/* What is the same for the whole tile is one vector, in a place of its own: a result may lie where
 * its operands lie only if both move on together. */
static char *vector_of(const struct tile_run *run, unsigned instruction) {
    return run->vectors + instruction * (size_t)TILE_VECTOR_MAX;
}

static void run_expression(struct tile_run *run, const struct step *step) {
    bool keep = step->kept != STEPS_NO_PLACE, stays = !keep && all_operands_stay(run, step);
    char *out = keep    ? kept_value(run, step->kept)
                : stays ? vector_of(run, step->result)
                        : run->tiles + step->tile * run->tile_bytes;
    if (!keep && !stays && step->direct && !run->streams && usable_in_place(run, step->direct - 1u))
        out = element_at(run, step->direct - 1u);
    if (stays)
        evaluate(run, step, out, run->functions->lanes, 1);
    else if (step->per_line && (run->side_by_side || run->rows > 1))
        evaluate(run, step, out, run->pitch, run->lines);
    else
        evaluate(run, step, out, tile_run_values(run), 1);
    run->at[step->result] = out;
    run->moves[step->result] = stays ? 0 : vector_bytes(run);
}

/* ---- Loading ---- */

/* One element in every lane. */
static void load_same(const struct tile_run *run, unsigned operand, void *to) {
    uint32_t value;
    run->functions->load[run->steps->dtypes[operand]](&value, element_at(run, operand), 1);
    run->functions->fill(to, &value, run->functions->lanes);
}

/* Elements at any distance, to values line after line. */
static void load_strided(const struct tile_run *run, unsigned operand, int64_t line, int64_t stride,
                         size_t lines, void *to) {
    unsigned dtype = run->steps->dtypes[operand], size = size_logarithms[dtype];
    const char *from = element_at(run, operand);
    if (size != 2 && stride == 1 && run->width >= run->functions->lanes) {
        for (size_t i = 0; i < lines; i++)
            run->functions->load[dtype]((char *)to + i * run->pitch * sizeof(float),
                                        from + (int64_t)i * line * (1 << size), run->width);
        return;
    }
    void *raw = size == 2 ? to : run->staging;
    run->functions->move[size](raw, (ptrdiff_t)run->pitch, 1, from, line, stride, lines,
                               run->width);
    if (size != 2)
        run->functions->load[dtype](to, raw, (lines - 1) * run->pitch + run->width);
}

static void run_load(struct tile_run *run, const struct step *step) {
    unsigned operand = step->slot;
    int64_t stride = stride_of(run, operand, run->width_axis);
    int64_t line = stride_of(run, operand, run->line_axis);
    bool same = (stride == 0 || run->width == 1) && (line == 0 || run->lines == 1);
    bool keep = step->kept != STEPS_NO_PLACE;
    char *to = keep ? kept_value(run, step->kept) : run->tiles + step->tile * run->tile_bytes;
    size_t values = run->lines * run->pitch;
    run->moves[step->result] = vector_bytes(run);
    if (step->lasting && run->lasting_there) {
        /* nothing to do */
    } else if (!keep && usable_in_place(run, operand)) {
        to = element_at(run, operand);
    } else if (!keep && same) {
        to = vector_of(run, step->result);
        load_same(run, operand, to);
        run->moves[step->result] = 0;
    } else {
        if (lies_packed(run, operand))
            run->functions->load[run->steps->dtypes[operand]](to, element_at(run, operand),
                                                              run->lines * run->width);
        else
            load_strided(run, operand, line, stride, run->lines, to);
        memset(to + values * sizeof(float), 0, (tile_run_values(run) - values) * sizeof(float));
    }
    run->at[step->result] = to;
}

static void run_accumulator(struct tile_run *run, const struct step *step) {
    size_t values = run->lines * run->pitch;
    run->moves[step->result] = vector_bytes(run);
    if ((run->lines == 1 || run->accumulator_stride == run->width) &&
        values == tile_run_values(run)) {
        run->at[step->result] = run->accumulator;
        return;
    }
    float *to = (float *)(run->tiles + step->tile * run->tile_bytes);
    run->at[step->result] = to;
    for (size_t i = 0; i < run->lines; i++)
        memcpy(to + i * run->pitch, run->accumulator + i * run->accumulator_stride,
               run->width * sizeof(float));
    memset(to + values, 0, (tile_run_values(run) - values) * sizeof(float));
}

/* ---- Storing and reducing ---- */

/* A value for every element, side by side, of what the value belongs to. */
static const void *values_of(const struct tile_run *run, unsigned instruction) {
    const char *at = run->at[instruction];
    bool of_row = run->steps->class_of[instruction] == VALUE_OF_ROW;
    if (run->moves[instruction] != 0 && !of_row)
        return at;
    if (run->moves[instruction] == 0)
        run->functions->fill(run->spare, at, tile_run_values(run));
    else
        for (size_t i = 0; i < run->lines; i++) {
            char *to = run->spare + i * run->pitch * sizeof(float);
            if (run->side_by_side)
                memcpy(to, at, run->pitch * sizeof(float));
            else
                run->functions->fill(to, at + i * vector_bytes(run), run->pitch);
        }
    return run->spare;
}

/* Stores elements side by side: past the caches when there are too many for them. */
static tile_convert *storing(const struct tile_run *run, unsigned dtype) {
    tile_convert *stream = run->functions->stream[dtype];
    return run->streams && stream ? stream : run->functions->store[dtype];
}

static void store_strided(const struct tile_run *run, unsigned operand, const char *values,
                          int64_t line, int64_t stride, size_t lines) {
    unsigned dtype = run->steps->dtypes[operand], size = size_logarithms[dtype];
    char *to = element_at(run, operand);
    if (stride == 1 && run->width >= run->functions->lanes) {
        tile_convert *store = storing(run, dtype);
        for (size_t i = 0; i < lines; i++)
            store(to + (int64_t)i * line * (1 << size), values + i * run->pitch * sizeof(float),
                  run->width);
        return;
    }
    if (size != 2) {
        run->functions->store[dtype](run->staging, values, (lines - 1) * run->pitch + run->width);
        values = run->staging;
    }
    run->functions->move[size](to, line, stride, values, (ptrdiff_t)run->pitch, 1, lines,
                               run->width);
}

static void run_store(struct tile_run *run, const struct step *step) {
    unsigned operand = step->slot;
    char *to = element_at(run, operand);
    const void *values = values_of(run, step->operands[0]);
    if (values == to)
        return;
    if (lies_packed(run, operand))
        storing(run, run->steps->dtypes[operand])(to, values, run->lines * run->width);
    else
        store_strided(run, operand, values, stride_of(run, operand, run->line_axis),
                      stride_of(run, operand, run->width_axis), run->lines);
}

static void run_reduction(struct tile_run *run, const struct step *step) {
    char *reduction = run->reductions + step->slot * run->reduction_bytes;
    unsigned kind = step->op - OP_REDUCE_SUM;
    const char *values = values_of(run, step->operands[0]);
    if (run->side_by_side) {
        tile_reduce_rows *reduce = step->squares ? run->functions->sum_squares_rows
                                                 : run->functions->reduce_rows[step->type][kind];
        reduce(reduction, reduction + RUN_ROWS_MAX * sizeof(float), values, run->lines, run->pitch,
               run->position);
        return;
    }
    tile_reduce *reduce =
        step->squares ? run->functions->sum_squares : run->functions->reduce[step->type][kind];
    struct row_reduction *rows = (struct row_reduction *)reduction;
    if (run->rows == 1)
        reduce(rows, values, run->lines * run->width, run->position);
    else
        for (size_t i = 0; i < run->rows; i++)
            reduce(&rows[i], values + i * run->pitch * sizeof(float), run->width, run->position);
}

void tile_run_elements(struct tile_run *run, struct step_list list) {
    const struct step *step = run->steps->steps + list.first;
    for (const struct step *end = step + list.count; step < end; step++) {
        if (step->op < OP_EXPRESSIONS)
            run_expression(run, step);
        else if (step->op == OP_LOAD)
            run_load(run, step);
        else if (step->op == OP_STORE)
            run_store(run, step);
        else if (step->op == OP_ACCUMULATOR)
            run_accumulator(run, step);
        else
            run_reduction(run, step);
    }
}

/* ---- Rows ---- */

static void load_rows(struct tile_run *run, unsigned operand, char *to) {
    if (run->side_by_side) {
        load_strided(run, operand, 0, stride_of(run, operand, run->width_axis), 1, to);
        return;
    }
    int64_t first = run->offsets[operand];
    for (size_t i = 0; i < run->rows; i++) {
        load_same(run, operand, to + i * vector_bytes(run));
        run->offsets[operand] += stride_of(run, operand, run->line_axis);
    }
    run->offsets[operand] = first;
}

void tile_run_rows(struct tile_run *run, struct step_list list) {
    for (uint32_t i = 0; i < list.count; i++) {
        const struct step *step = &run->steps->steps[list.first + i];
        char *to = row_value(run, step->result);
        run->at[step->result] = to;
        run->moves[step->result] = run->side_by_side || run->rows > 1 ? vector_bytes(run) : 0;
        if (op_is_reduction(step->op))
            tile_run_finish_reduction(run, step, to);
        else if (step->op < OP_EXPRESSIONS)
            evaluate_rows(run, step, to);
        else
            load_rows(run, step->slot, to);
    }
}

static void store_rows(struct tile_run *run, const struct step *step) {
    unsigned operand = step->slot;
    const char *values = run->at[step->operands[0]];
    bool moves = run->moves[step->operands[0]] != 0;
    if (run->side_by_side) {
        if (!moves)
            run->functions->fill(run->spare, values, run->pitch);
        store_strided(run, operand, moves ? values : run->spare, 0,
                      stride_of(run, operand, run->width_axis), 1);
        return;
    }
    int64_t first = run->offsets[operand];
    for (size_t i = 0; i < run->rows; i++) {
        run->functions->store[run->steps->dtypes[operand]](
            element_at(run, operand), values + (moves ? i * vector_bytes(run) : 0), 1);
        run->offsets[operand] += stride_of(run, operand, run->line_axis);
    }
    run->offsets[operand] = first;
}

void tile_run_row_stores(struct tile_run *run) {
    struct step_list list = run->steps->row_stores;
    for (uint32_t i = 0; i < list.count; i++)
        store_rows(run, &run->steps->steps[list.first + i]);
}

/* ---- Beginning ---- */

static char *part(char **rest, size_t bytes) {
    char *begin = *rest;
    *rest += bytes;
    return begin;
}

static void run_uniform(struct tile_run *run) {
    struct step_list list = run->steps->uniform;
    for (uint32_t i = 0; i < list.count; i++) {
        const struct step *step = &run->steps->steps[list.first + i];
        char *to = row_value(run, step->result);
        run->at[step->result] = to;
        run->moves[step->result] = 0;
        if (step->op == OP_CONSTANT)
            run->functions->fill(
                to, (const char *)run->constants + run->steps->constants[step->result] * 4,
                run->functions->lanes);
        else
            evaluate(run, step, to, run->functions->lanes, 1);
    }
}

void tile_run_begin(struct tile_run *run, void *scratch) {
    const struct steps *steps = run->steps;
    char *rest = scratch;
    run->tile_bytes = bytes_of_tile(steps);
    run->row_bytes = bytes_of_row_value(run->side_by_side);
    run->reduction_bytes = bytes_of_reduction(run->side_by_side);
    run->row_values = part(&rest, steps->row_count * run->row_bytes);
    run->vectors = part(&rest, steps->instruction_count * (size_t)TILE_VECTOR_MAX);
    run->reductions = part(&rest, steps->reductions * run->reduction_bytes);
    run->tiles = part(&rest, steps->tiles * run->tile_bytes);
    run->spare = part(&rest, run->tile_bytes);
    run->staging = part(&rest, run->tile_bytes);
    run->kept = rest;
    run->rows = 1;
    run->lasting_there = false;
    run_uniform(run);
}
