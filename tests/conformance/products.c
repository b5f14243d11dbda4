/* Matrix products and their epilogues in double, with error bounds. */
#include "products.h"

#include <math.h>

struct estimate exactly(struct array array) {
    double *slack = case_memory((size_t)array.count + 1, sizeof *slack);
    return (struct estimate){array, slack};
}

static struct estimate estimate_make(unsigned rank, const int64_t *sizes) {
    return exactly(array_make(rank, sizes));
}

struct estimate transposed(const struct estimate *x) {
    const struct array *from = &x->value;
    int64_t sizes[RIDGE_RANK_MAX], rows = from->sizes[from->rank - 2],
                                   columns = from->sizes[from->rank - 1];
    for (unsigned axis = 0; axis < from->rank; axis++)
        sizes[axis] = from->sizes[axis];
    sizes[from->rank - 2] = columns;
    sizes[from->rank - 1] = rows;
    struct estimate result = estimate_make(from->rank, sizes);
    for (int64_t i = 0; i < from->count; i++) {
        int64_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
        int64_t to = (matrix * columns + column) * rows + row;
        result.value.values[to] = from->values[i];
        result.slack[to] = x->slack[i];
    }
    return result;
}

/* The operand's matrix for one index of the batch. */
static int64_t matrix_at(const struct array *x, unsigned batch_rank, const int64_t *index) {
    struct array batch = *x;
    batch.rank -= 2;
    return array_place(&batch, batch_rank, index) * x->sizes[x->rank - 1] * x->sizes[x->rank - 2];
}

struct estimate product(const struct estimate *a, const struct estimate *b) {
    const struct array *x = &a->value, *y = &b->value;
    int64_t m = x->sizes[x->rank - 2], k = x->sizes[x->rank - 1], n = y->sizes[y->rank - 1];
    unsigned rank = x->rank > y->rank ? x->rank : y->rank;
    int64_t sizes[RIDGE_RANK_MAX];
    for (unsigned axis = 0; axis + 2 < rank; axis++) {
        int64_t of_x = axis + x->rank >= rank ? x->sizes[axis + x->rank - rank] : 1;
        int64_t of_y = axis + y->rank >= rank ? y->sizes[axis + y->rank - rank] : 1;
        sizes[axis] = of_x == 1 ? of_y : of_x;
    }
    sizes[rank - 2] = m;
    sizes[rank - 1] = n;
    struct estimate result = estimate_make(rank, sizes);
    double unit = 0x1p-24 * (4 + sqrt((double)k) / 2);
    double *row = case_memory((size_t)n + 1, 3 * sizeof *row);
    double *magnitude = row + n, *off = magnitude + n;
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t done = 0; done < result.value.count; done += m * n) {
        int64_t x_at = matrix_at(x, rank - 2, index), y_at = matrix_at(y, rank - 2, index);
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++)
                row[j] = magnitude[j] = off[j] = 0;
            for (int64_t t = 0; t < k; t++) {
                double left = x->values[x_at + i * k + t], left_off = a->slack[x_at + i * k + t];
                const double *right = y->values + y_at + t * n;
                const double *right_off = b->slack + y_at + t * n;
                for (int64_t j = 0; j < n; j++) {
                    row[j] += left * right[j];
                    magnitude[j] += fabs(left * right[j]);
                    off[j] += left_off * fabs(right[j]) + right_off[j] * fabs(left);
                }
            }
            for (int64_t j = 0; j < n; j++) {
                result.value.values[done + i * n + j] = row[j];
                result.slack[done + i * n + j] = unit * magnitude[j] + off[j];
            }
        }
        index_advance(rank - 2, sizes, index);
    }
    return result;
}

void estimate_round(struct estimate *x, enum ridge_dtype rounding) {
    for (int64_t i = 0; i < x->value.count; i++)
        x->slack[i] += 0.5 * number_ulp(rounding, x->value.values[i]);
}

void estimate_add(struct estimate *x, const struct estimate *y, double scale) {
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->value.count; i++) {
        int64_t at = array_place(&y->value, x->value.rank, index);
        double term = scale * y->value.values[at];
        x->slack[i] +=
            fabs(scale) * y->slack[at] + 0x1p-24 * (fabs(x->value.values[i]) + 2 * fabs(term));
        x->value.values[i] += term;
        index_advance(x->value.rank, x->value.sizes, index);
    }
}

void estimate_multiply(struct estimate *x, const struct estimate *y) {
    for (int64_t i = 0; i < x->value.count; i++) {
        double a = x->value.values[i], b = y->value.values[i];
        x->slack[i] =
            x->slack[i] * (fabs(b) + y->slack[i]) + y->slack[i] * fabs(a) + 0x1p-24 * fabs(a * b);
        x->value.values[i] = a * b;
    }
}

static double activate(double x, enum ridge_activation activation) {
    switch (activation) {
    case RIDGE_ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case RIDGE_ACTIVATION_GELU:
        return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case RIDGE_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

/* None of them is steeper than 1.13. */
void estimate_activate(struct estimate *x, enum ridge_activation activation) {
    if (activation == RIDGE_ACTIVATION_NONE)
        return;
    for (int64_t i = 0; i < x->value.count; i++) {
        double before = x->value.values[i];
        x->value.values[i] = activate(before, activation);
        x->slack[i] = 1.13 * x->slack[i] + 12 * 0x1p-24 * fabs(before);
    }
}

void expect_estimate(ridge_tensor *got, enum ridge_dtype dtype, const struct estimate *expected) {
    expect_array(got, dtype, &expected->value, 1, expected->slack);
}
