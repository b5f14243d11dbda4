/* Reductions over every set of axes, of every type; long rows and columns; empty tensors and
 * NaN. */
#include <math.h>
#include <string.h>

#include "arrays.h"

typedef ridge_tensor *reducer(ridge_tensor *, unsigned, const int *, bool);
enum kind { SUM, MEAN, AMAX, AMIN, KINDS };
static const struct {
    const char *name;
    reducer *call;
} reducers[KINDS] = {
    {"sum", ridge_sum}, {"mean", ridge_mean}, {"amax", ridge_amax}, {"amin", ridge_amin}};
static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* The error of a sum of n terms in f32, relative to the sum of their magnitudes: adding up in
 * vectors or trees is much better than sequentially. */
static double sum_bound(int64_t n) {
    return 0x1p-24 * (4 + sqrt((double)n) / 8);
}

static bool takes(enum kind kind, enum ridge_dtype dtype) {
    return kind != MEAN || is_float(dtype);
}

static enum ridge_dtype gives(enum kind kind, enum ridge_dtype dtype) {
    return kind == SUM && dtype == RIDGE_U8 ? RIDGE_I32 : dtype;
}

static double choose(enum kind kind, double a, double b) {
    if (isnan(a) || isnan(b))
        return NAN;
    return (kind == AMAX) == (a > b) ? a : b;
}

/* The result and its error bound; the reduced axes keep size 1 unless dropped. */
static struct array reduce(enum kind kind, enum ridge_dtype dtype, const struct array *x,
                           unsigned mask, bool keep, double **slack) {
    int64_t sizes[RIDGE_RANK_MAX], n = 1;
    for (unsigned axis = 0; axis < x->rank; axis++) {
        sizes[axis] = mask & 1u << axis ? 1 : x->sizes[axis];
        n *= mask & 1u << axis ? x->sizes[axis] : 1;
    }
    struct array result = array_make(x->rank, sizes);
    double *magnitudes = case_memory((size_t)result.count + 1, sizeof *magnitudes);
    bool *begun = case_memory((size_t)result.count + 1, sizeof *begun);
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t i = 0; i < x->count; i++) {
        int64_t at = array_place(&result, x->rank, index);
        double *sum = &result.values[at], value = x->values[i];
        magnitudes[at] += fabs(value);
        *sum = kind <= MEAN ? *sum + value : begun[at] ? choose(kind, *sum, value) : value;
        begun[at] = true;
        index_advance(x->rank, x->sizes, index);
    }
    for (int64_t i = 0; i < result.count; i++) {
        if (!is_float(dtype) && kind == SUM)
            result.values[i] = (double)wrap_integer(RIDGE_I32, (int64_t)result.values[i]);
        magnitudes[i] *= is_float(dtype) && kind <= MEAN ? sum_bound(n) : 0;
        if (kind == MEAN) {
            result.values[i] /= (double)n;
            magnitudes[i] /= (double)n;
        }
    }
    *slack = magnitudes;
    if (keep)
        return result;
    struct array dropped = result;
    dropped.rank = 0;
    for (unsigned axis = 0; axis < x->rank; axis++)
        if (!(mask & 1u << axis))
            dropped.sizes[dropped.rank++] = x->sizes[axis];
    return dropped;
}

static void check_array(enum kind kind, enum ridge_dtype dtype, const struct array *x,
                        enum layout layout, unsigned mask, bool keep) {
    int axes[RIDGE_RANK_MAX];
    unsigned count = 0;
    for (unsigned axis = x->rank; axis-- > 0;)
        if (mask & 1u << axis)
            axes[count++] = (int)axis - (axis % 2 ? (int)x->rank : 0);
    double *slack;
    struct array expected = reduce(kind, dtype, x, mask, keep, &slack);
    if (mask + 1 == 1u << x->rank)
        count = 0;
    ridge_tensor *tensor = array_tensor(x, dtype, layout);
    expect_array(reducers[kind].call(tensor, count, axes, keep), gives(kind, dtype), &expected, 2,
                 slack);
}

static struct array noise(enum ridge_dtype dtype, unsigned rank, const int64_t *sizes) {
    return array_noise(dtype, rank, sizes, dtype == RIDGE_U8 ? 0 : -100, 100, 17);
}

static void check_axes(enum kind kind, enum ridge_dtype dtype, enum layout layout, unsigned mask,
                       bool keep) {
    if (!case_begin("%s %s %s axes %x keep %d", reducers[kind].name, ridge_dtype_name(dtype),
                    layout_name(layout), mask, keep))
        return;
    struct array x = noise(dtype, SIZES(3, 4, 5, 7));
    check_array(kind, dtype, &x, layout, mask, keep);
    case_end();
}

static void check_shape(enum kind kind, enum ridge_dtype dtype, unsigned mask, unsigned rank,
                        const int64_t *sizes) {
    if (!case_begin("%s %s %s axes %x", reducers[kind].name, ridge_dtype_name(dtype),
                    sizes_text(rank, sizes), mask))
        return;
    struct array x = noise(dtype, rank, sizes);
    check_array(kind, dtype, &x, CONTIGUOUS, mask, false);
    case_end();
}

static void check_nan(enum kind kind, int64_t place) {
    if (!case_begin("%s with NaN at %lld", reducers[kind].name, (long long)place))
        return;
    struct array x = noise(RIDGE_F32, SIZES(3, 1000));
    x.values[1000 + place] = NAN;
    x.values[2000] = kind == AMIN ? -INFINITY : INFINITY;
    check_array(kind, RIDGE_F32, &x, CONTIGUOUS, 2, false);
    if (!session.quick)
        check_array(kind, RIDGE_F32, &x, TRANSPOSED, 2, false);
    case_end();
}

static void check_nothing(void) {
    if (!case_begin("reducing nothing"))
        return;
    struct array x = array_make(SIZES(3, 0)), zeros = array_make(SIZES(3)),
                 nans = array_make(SIZES(3));
    ridge_tensor *tensor = array_tensor(&x, RIDGE_F32, CONTIGUOUS);
    int last = 1, first = 0;
    expect_exactly(ridge_sum(tensor, 1, &last, false), RIDGE_F32, &zeros);
    for (int i = 0; i < 3; i++)
        nans.values[i] = NAN;
    expect_exactly(ridge_mean(tensor, 1, &last, false), RIDGE_F32, &nans);
    /* No results at all are fine for each of them. */
    struct array none = array_make(SIZES(0));
    for (unsigned kind = 0; kind < KINDS; kind++)
        expect_exactly(reducers[kind].call(tensor, 1, &first, false), RIDGE_F32, &none);
    ridge_error_clear();
    CASE_CHECK(!ridge_amax(tensor, 1, &last, false));
    CASE_CHECK(ridge_error_code() == RIDGE_ERROR_USAGE);
    CASE_CHECK(strstr(ridge_error_message(), "ridge_amax") != NULL);
    CASE_CHECK(!ridge_argmin(tensor, 1, false));
    case_end();
}

/* ---- argmax, argmin ---- */

static void check_arg(bool greatest, enum ridge_dtype dtype, const struct array *x,
                      enum layout layout, unsigned axis, bool keep) {
    int64_t sizes[RIDGE_RANK_MAX], inner = 1, length = x->sizes[axis];
    memcpy(sizes, x->sizes, sizeof sizes);
    sizes[axis] = 1;
    for (unsigned i = axis + 1; i < x->rank; i++)
        inner *= x->sizes[i];
    struct array expected = array_make(x->rank, sizes);
    for (int64_t i = 0; i < expected.count; i++) {
        const double *row = x->values + i / inner * inner * length + i % inner;
        int64_t best = 0;
        for (int64_t j = 1; j < length && !isnan(row[best * inner]); j++) {
            double value = row[j * inner], least = row[best * inner];
            if (isnan(value) || (greatest ? value > least : value < least))
                best = j;
        }
        expected.values[i] = (double)best;
    }
    if (!keep) {
        expected.rank--;
        for (unsigned i = axis; i < expected.rank; i++)
            expected.sizes[i] = expected.sizes[i + 1];
    }
    ridge_tensor *tensor = array_tensor(x, dtype, layout);
    expect_exactly((greatest ? ridge_argmax : ridge_argmin)(tensor, (int)axis, keep), RIDGE_I32,
                   &expected);
}

/* Few different values, so that the first of equals must be found. */
static void check_args(bool greatest, enum ridge_dtype dtype, unsigned axis, enum layout layout) {
    const char *name = greatest ? "argmax" : "argmin";
    if (!case_begin("%s %s axis %u %s", name, ridge_dtype_name(dtype), axis, layout_name(layout)))
        return;
    struct array x = array_noise(dtype, SIZES(4, 50, 7), 0, 20, 4);
    for (int64_t i = 0; i < x.count; i++)
        x.values[i] = floor(x.values[i]);
    check_arg(greatest, dtype, &x, layout, axis, axis == 1);
    case_end();
}

static void check_long_args(bool greatest) {
    if (!case_begin("%s of long rows and NaN", greatest ? "argmax" : "argmin"))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(2, 300000), -1, 1, 4);
    x.values[123456] = x.values[123999] = greatest ? 2 : -2;
    x.values[300000 + 7] = greatest ? INFINITY : -INFINITY;
    x.values[300000 + 250001] = x.values[300000 + 250002] = NAN;
    check_arg(greatest, RIDGE_F32, &x, CONTIGUOUS, 1, false);
    case_end();
}

static void check_every_axis(unsigned kind, enum ridge_dtype dtype) {
    bool all = !session.quick && (session.native || (dtype == RIDGE_F32 && kind == SUM));
    for (unsigned mask = 1; mask < 16; mask++)
        if (all || mask == 8 || (mask == 2 && kind == SUM) || (mask == 15 && !session.quick)) {
            check_axes((enum kind)kind, dtype, CONTIGUOUS, mask, mask % 2);
            if (!session.native)
                continue;
            check_axes((enum kind)kind, dtype, CONTIGUOUS, mask, !(mask % 2));
            check_axes((enum kind)kind, dtype, mask % 3 ? REVERSED : STEPPED, mask, false);
        }
}

void check_reductions(void) {
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned t = 0; t < DTYPES; t++)
            if (takes((enum kind)kind, dtypes[t]) && (!session.quick || dtypes[t] == RIDGE_F32 ||
                                                      (kind == SUM && dtypes[t] == RIDGE_U8)))
                check_every_axis(kind, dtypes[t]);
    for (unsigned kind = 0; kind < KINDS; kind += session.quick ? KINDS : 1) {
        check_shape((enum kind)kind, RIDGE_F32, 1, SIZES(1000000));
        check_shape((enum kind)kind, RIDGE_F32, 1, SIZES(3000, 17));
        check_shape((enum kind)kind, RIDGE_F32, 2, SIZES(17, 3000));
        check_shape((enum kind)kind, RIDGE_F32, 1, SIZES(1));
        check_shape((enum kind)kind, RIDGE_F32, 2, SIZES(4, 1, 3));
        check_nan((enum kind)kind, 0);
        check_nan((enum kind)kind, 999);
    }
    check_nothing();
    if (!session.quick) {
        check_shape(SUM, RIDGE_F16, 1, SIZES(100000, 3));
        check_shape(SUM, RIDGE_BF16, 2, SIZES(3, 100000));
        check_shape(SUM, RIDGE_I32, 1, SIZES(100000));
        check_shape(SUM, RIDGE_U8, 1, SIZES(200001));
        check_shape(AMAX, RIDGE_I32, 2, SIZES(2, 70001));
        check_shape(SUM, RIDGE_F32, 5, SIZES(50, 3, 700));
        check_shape(SUM, RIDGE_F32, 1, SIZES(5, 20000));
        check_long_args(false);
    }
    for (unsigned t = 0; t < DTYPES; t++)
        for (unsigned axis = 0; axis < 3; axis++) {
            if (session.quick && (dtypes[t] != RIDGE_F32 || axis != 2))
                continue;
            check_args(true, dtypes[t], axis, CONTIGUOUS);
            if (!session.quick)
                check_args(false, dtypes[t], axis, session.native ? REVERSED : CONTIGUOUS);
        }
    check_long_args(true);
}
