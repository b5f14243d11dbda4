/* Arrays of doubles with a shape, tensors made from them in any layout, and tensors compared with
 * them. All of it lives as long as the case. */
#ifndef RIDGE_TESTS_CONFORMANCE_ARRAYS_H
#define RIDGE_TESTS_CONFORMANCE_ARRAYS_H

#include "cases.h"
#include "numbers.h"

struct array {
    unsigned rank;
    int64_t sizes[RIDGE_RANK_MAX];
    int64_t count;
    double *values; /* row-major */
};

#define SIZES(...)                                                                                 \
    sizeof((const int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]) {                                \
        __VA_ARGS__                                                                                \
    }

struct array array_make(unsigned rank, const int64_t *sizes);
/* Filled with noise that the dtype holds exactly: floats between low and high, or whole numbers. */
struct array array_noise(enum ridge_dtype dtype, unsigned rank, const int64_t *sizes, double low,
                         double high, uint64_t seed);
/* Of a tensor's elements. Empty when it cannot be read, and the case has failed. */
struct array array_read(ridge_tensor *tensor);
/* The position of the element that this index of a larger, broadcast shape reads. */
int64_t array_place(const struct array *array, unsigned rank, const int64_t *index);
/* The next index in row-major order. */
void index_advance(unsigned rank, const int64_t *sizes, int64_t *index);
/* "[3, 4]", in one of a few buffers. */
const char *sizes_text(unsigned rank, const int64_t *sizes);

/* The memory layout of a tensor's elements. */
enum layout {
    CONTIGUOUS,
    TRANSPOSED, /* the last two axes swapped in memory */
    STEPPED,    /* every second element of the last axis */
    OFFSET,     /* contiguous, but one element after the start of its memory */
    REVERSED,   /* all axes in the opposite order */
    PADDED,     /* every second row, and elements left out at both ends of rows */
    LAYOUTS
};
const char *layout_name(enum layout layout);
/* A tensor with the array's elements. The memory between them is filled with garbage. */
ridge_tensor *array_tensor(const struct array *array, enum ridge_dtype dtype, enum layout layout);

/* A tensor must have this dtype and shape, and each element be within
 *   ulps * (unit of f32 at the expected value) + slack[i] + (half a unit of the dtype, unless f32)
 * of the expected one; `slack` may be NULL. Integers must be equal but for slack. NaN must be where
 * it is expected, and values beyond the dtype's range are infinite. */
void expect_array(ridge_tensor *got, enum ridge_dtype dtype, const struct array *expected,
                  double ulps, const double *slack);
/* A tensor whose elements have exactly these values. */
void expect_exactly(ridge_tensor *got, enum ridge_dtype dtype, const struct array *expected);
/* Whether one element is as expected; *error is its deviation, *bound the allowed one. */
bool value_is_close(enum ridge_dtype dtype, double got, double expected, double ulps, double slack,
                    double *error, double *bound);

#endif
