/* Reference matrix products in double, with error bounds, for matmul, linear, gated_mlp, lora
 * and attention. */
#ifndef RIDGE_TESTS_CONFORMANCE_PRODUCTS_H
#define RIDGE_TESTS_CONFORMANCE_PRODUCTS_H

#include "arrays.h"

/* Values, and the error bound of each. */
struct estimate {
    struct array value;
    double *slack;
};

/* [..., m, k] x [..., k, n]. Terms are added up in f32, in whatever order: an element may be off by
 * 2^-24 * (4 + sqrt(k) / 2) of the sum of its terms' magnitudes, and by what its operands are. */
struct estimate product(const struct estimate *a, const struct estimate *b);
/* An array that is exact. */
struct estimate exactly(struct array array);
/* The last two axes swapped. */
struct estimate transposed(const struct estimate *x);

/* In place. `rounding` is the type that a device may round to before the step, when it does not do
 * it in the product's own kernel. */
void estimate_round(struct estimate *x, enum ridge_dtype rounding);
void estimate_add(struct estimate *x, const struct estimate *y, double scale);
void estimate_multiply(struct estimate *x, const struct estimate *y);
void estimate_activate(struct estimate *x, enum ridge_activation activation);

void expect_estimate(ridge_tensor *got, enum ridge_dtype dtype, const struct estimate *expected);

#endif
