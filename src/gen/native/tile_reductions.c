/* The reductions of a run: how they start, how those of two parts of a row are merged, and their
 * results. Accumulating values is part of the ISA's functions (tiles.h). */
#include "gen/native/tile_run.h"

#include <math.h>
#include <string.h>

static bool is_arg(unsigned op) {
    return op == OP_REDUCE_ARGMAX || op == OP_REDUCE_ARGMIN;
}

static const void *reduced_value(const struct step *step, struct row_reduction *reduction) {
    if (is_arg(step->op))
        return &reduction->index;
    if (step->op == OP_REDUCE_SUM && step->type == VALUE_F32)
        reduction->best.f32 = (float)reduction->sum;
    return &reduction->best;
}

void tile_run_finish_reduction(const struct tile_run *run, const struct step *step, char *to) {
    char *reduction = run->reductions + step->slot * run->reduction_bytes;
    if (!run->side_by_side) {
        struct row_reduction *rows = (struct row_reduction *)reduction;
        for (size_t i = 0; i < run->rows; i++)
            run->functions->fill(to + i * run->functions->lanes * sizeof(float),
                                 reduced_value(step, &rows[i]), run->functions->lanes);
        return;
    }
    const char *more = reduction + RUN_ROWS_MAX * sizeof(float);
    memcpy(to, is_arg(step->op) ? more : reduction, run->pitch * sizeof(float));
    if (step->op == OP_REDUCE_SUM && step->type == VALUE_F32) {
        float *sums = (float *)to;
        const float *errors = (const float *)more;
        for (size_t i = 0; i < run->pitch; i++)
            if (errors[i] == errors[i]) /* else the sum is infinite or NaN */
                sums[i] += errors[i];
    }
}

static uint32_t identity(unsigned op, unsigned type) {
    float min = -INFINITY, max = INFINITY;
    uint32_t bits = 0;
    if (op == OP_REDUCE_MAX && type == VALUE_F32)
        memcpy(&bits, &min, sizeof bits);
    else if (op == OP_REDUCE_MIN && type == VALUE_F32)
        memcpy(&bits, &max, sizeof bits);
    else if (op == OP_REDUCE_MAX)
        bits = (uint32_t)INT32_MIN;
    else if (op == OP_REDUCE_MIN)
        bits = INT32_MAX;
    return bits;
}

/* Calls for each reduction; they are finished in the lists of rows. */
typedef void reduction_visit(struct tile_run *run, const struct step *step, char *reduction,
                             const char *other);
static void visit_reductions(struct tile_run *run, reduction_visit *visit, const char *others) {
    for (unsigned pass = 0; pass <= run->steps->passes; pass++) {
        struct step_list list = run->steps->rows[pass];
        for (uint32_t i = 0; i < list.count; i++) {
            const struct step *step = &run->steps->steps[list.first + i];
            if (op_is_reduction(step->op))
                visit(run, step, run->reductions + step->slot * run->reduction_bytes,
                      others ? others + step->slot * run->reduction_bytes : NULL);
        }
    }
}

static void reset(struct tile_run *run, const struct step *step, char *reduction,
                  const char *other) {
    (void)other;
    uint32_t bits = identity(step->op, step->type);
    if (!run->side_by_side) {
        struct row_reduction start = {.sum = 0, .index = -1};
        memcpy(&start.best, &bits, sizeof bits);
        for (size_t i = 0; i < run->rows; i++)
            ((struct row_reduction *)reduction)[i] = start;
        return;
    }
    uint32_t *best = (uint32_t *)reduction, *more = best + RUN_ROWS_MAX;
    for (size_t i = 0; i < run->pitch; i++) {
        best[i] = bits;
        more[i] = is_arg(step->op) ? UINT32_MAX : 0;
    }
}

void tile_run_reset(struct tile_run *run) {
    if (run->steps->reductions)
        visit_reductions(run, reset, NULL);
}

/* What one lone later value of a row does to its reduction is what a tile of one does. */
static void merge_row(struct tile_run *run, const struct step *step, char *reduction,
                      const char *other) {
    const struct row_reduction *from = (const struct row_reduction *)other;
    struct row_reduction *to = (struct row_reduction *)reduction;
    if (step->op == OP_REDUCE_SUM && step->type == VALUE_F32)
        to->sum += from->sum;
    else if (!is_arg(step->op) || from->index >= 0)
        run->functions->reduce[step->type][step->op - OP_REDUCE_SUM](to, &from->best, 1,
                                                                     from->index);
}

static void merge_side_by_side(struct tile_run *run, const struct step *step, char *reduction,
                               const char *other) {
    const size_t half = RUN_ROWS_MAX * sizeof(float);
    unsigned kind = step->op - OP_REDUCE_SUM;
    if (!is_arg(step->op)) {
        run->functions->reduce_rows[step->type][kind](reduction, reduction + half, other, 1,
                                                      run->pitch, 0);
        if (step->op == OP_REDUCE_SUM && step->type == VALUE_F32)
            for (size_t i = 0; i < run->pitch; i++)
                ((float *)(reduction + half))[i] += ((const float *)(other + half))[i];
        return;
    }
    for (size_t i = 0; i < run->pitch; i++) {
        struct row_reduction one = {.index = ((int32_t *)(reduction + half))[i]};
        memcpy(&one.best, reduction + i * 4, 4);
        int32_t index = ((const int32_t *)(other + half))[i];
        if (index >= 0)
            run->functions->reduce[step->type][kind](&one, other + i * 4, 1, index);
        memcpy(reduction + i * 4, &one.best, 4);
        ((int32_t *)(reduction + half))[i] = one.index;
    }
}

void tile_run_merge(struct tile_run *run, const void *reductions) {
    visit_reductions(run, run->side_by_side ? merge_side_by_side : merge_row, reductions);
}
