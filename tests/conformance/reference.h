/* The rows of the table of elementwise operations as C functions, to compare devices with.
 *
 * Each row is its own reference: its expression is compiled here in double, float and 64-bit
 * integers, so that an operation added to the table is checked without a line here. The operations
 * of ridge.h are also written down a second time by hand, which checks the expressions. */
#ifndef RIDGE_TESTS_CONFORMANCE_REFERENCE_H
#define RIDGE_TESTS_CONFORMANCE_REFERENCE_H

#include "gen/ops.h"
#include "numbers.h"

struct row {
    const char *name;
    unsigned arity;
    enum op_rule rule;
    bool has_float, has_integer; /* an expression of that type */
    double (*in_double)(double x, double y, double z);
    float (*in_float)(float x, float y, float z);
    int64_t (*in_integer)(int64_t x, int64_t y, int64_t z); /* before it wraps */
    ridge_tensor *(*call)(ridge_tensor *x, ridge_tensor *y, ridge_tensor *z);
};
extern const struct row rows[];
extern const unsigned row_count;

/* Written by hand; the functions are NULL when there is none for the name. */
struct by_hand {
    double (*in_double)(double x, double y, double z);
    int64_t (*in_integer)(int64_t x, int64_t y, int64_t z);
};
struct by_hand row_by_hand(const struct row *row);

/* Whether the row's rule allows operands of this type (for RULE_WHERE, of y and z). */
bool row_takes(const struct row *row, enum ridge_dtype dtype);
enum ridge_dtype row_gives(const struct row *row, enum ridge_dtype dtype);
/* The result for one element of that type, by the hand-written function if there is one. */
double row_value(const struct row *row, enum ridge_dtype dtype, double x, double y, double z);
/* The error bound of a device: ulps of f32 of the result, and an absolute slack where terms
 * cancel. */
double row_ulps(const struct row *row);
double row_slack(const struct row *row, double x, double y, double z);

#endif
