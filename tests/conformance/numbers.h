/* Element types on the host: their bits as doubles, rounding to them, and their spacing.
 * Independent of the library's conversions, which it checks. */
#ifndef RIDGE_TESTS_CONFORMANCE_NUMBERS_H
#define RIDGE_TESTS_CONFORMANCE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include <ridge.h>

bool is_float(enum ridge_dtype dtype);

/* `count` elements; integers are exact in doubles. Not for quantized types. */
void numbers_decode(enum ridge_dtype dtype, const void *bytes, int64_t count, double *values);
/* Rounds to nearest, halves to even; integers must be in range. */
void numbers_encode(enum ridge_dtype dtype, const double *values, int64_t count, void *bytes);
/* x rounded to a float type. */
double number_round(enum ridge_dtype dtype, double x);
/* The ulp of a float type at x. */
double number_ulp(enum ridge_dtype dtype, double x);
double number_max(enum ridge_dtype dtype);

/* Two's complement of 32 bits, as i32 wraps; and the low 8 bits, as u8 does. */
int64_t wrap_integer(enum ridge_dtype dtype, int64_t x);

/* Blocks of a quantized type as their weights. */
void numbers_dequantize(enum ridge_dtype dtype, const void *blocks, int64_t count, double *values);

#endif
