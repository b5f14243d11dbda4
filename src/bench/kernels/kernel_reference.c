/* What must come out of a hand-made kernel? Computed one element at a time in double precision,
 * from the same inputs and the same tiles.
 */
#include "base/min_max.h"
#include "bench/kernels/kernel_case.h"

#define HALF_STEP 6e-8 /* of f32, relative */

/* Element (t, column) of B. */
static double weight(const struct kernel_plan *plan, const float *b, int64_t t, int64_t column) {
    return plan->few_rows ? b[column * plan->k + t] : b[t * plan->n + column];
}

static double product(const struct kernel_plan *plan, const float *const *inputs, int64_t row,
                      int64_t column, int64_t depth) {
    double sum = 0;
    for (int64_t t = 0; t < depth; t++)
        sum += (double)inputs[0][row * plan->k + t] * weight(plan, inputs[1], t, column);
    return sum;
}

/* All rows of A and columns of B that go into the tile of an element. Without tiles that is all of
 * A and one column. */
static double read_sum(const struct kernel_plan *plan, const float *const *inputs, int64_t row,
                       int64_t column) {
    int64_t rows = plan->tile_rows, columns = plan->few_rows ? 1 : plan->tile_columns;
    int64_t first_row = row / rows * rows, first_column = column / columns * columns;
    double sum = 0;
    for (int64_t i = first_row; i < MIN(first_row + rows, plan->m); i++)
        for (int64_t t = 0; t < plan->k; t++)
            sum += inputs[0][i * plan->k + t];
    for (int64_t t = 0; t < plan->k; t++)
        for (int64_t j = first_column; j < MIN(first_column + columns, plan->n); j++)
            sum += weight(plan, inputs[1], t, j);
    return sum;
}

double kernel_reference(const struct kernel_plan *plan, const float *const *inputs, int64_t index) {
    int64_t row = index / plan->n, column = index % plan->n;
    double sum = 0;
    switch (plan->which) {
    case HAND_SCALE:
        return 2.0 * inputs[0][index] + 1;
    case HAND_SUM:
        for (int64_t i = 0; i < plan->n; i++)
            sum += inputs[0][i];
        return sum;
    case HAND_READ:
        return read_sum(plan, inputs, row, column);
    case HAND_COMPUTE:
        return (double)kernel_steps(plan) * product(plan, inputs, row % plan->tile_rows,
                                                    column % plan->tile_columns,
                                                    MIN(plan->k, plan->depth));
    case HAND_PRODUCT:
        return product(plan, inputs, row, column, plan->k);
    }
    return 0;
}

int64_t kernel_reference_cost(const struct kernel_plan *plan) {
    switch (plan->which) {
    case HAND_SCALE:
        return 1;
    case HAND_SUM:
        return plan->n;
    case HAND_READ:
        return plan->k * (plan->tile_rows + (plan->few_rows ? 1 : plan->tile_columns));
    default:
        return plan->k;
    }
}

/* How many additions follow each other in one sum of f32. */
static double additions_in_a_row(const struct kernel_plan *plan) {
    switch (plan->which) {
    case HAND_SCALE:
        return 1;
    case HAND_SUM:
        return 4096;
    case HAND_READ:
        if (plan->few_rows) /* each of at least 16 lanes adds up its own */
            return (double)(plan->k * (plan->m + 1)) / 16;
        return (double)(plan->k * (plan->tile_rows + plan->tile_columns)) /
               (plan->block > 0 ? (double)plan->block : (double)plan->k);
    default:
        return (double)plan->k;
    }
}

/* Each is off by at most half a step, always the same way at worst. */
double kernel_tolerance(const struct kernel_plan *plan) {
    return 1e-5 + additions_in_a_row(plan) * HALF_STEP;
}
