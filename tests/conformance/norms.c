/* softmax over each axis, layer_norm and rms_norm: ordinary, large and tiny values. */
#include <math.h>

#include "arrays.h"

static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

/* exp(x - max) / sum: the difference is rounded in f32, which exp multiplies by its size. */
static struct array softmax(const struct array *x, unsigned axis, double **slack) {
    struct array result = array_make(x->rank, x->sizes);
    *slack = case_memory((size_t)x->count + 1, sizeof **slack);
    int64_t inner = 1, length = x->sizes[axis];
    for (unsigned i = axis + 1; i < x->rank; i++)
        inner *= x->sizes[i];
    for (int64_t row = 0; length && row < x->count / length; row++) {
        int64_t base = row / inner * inner * length + row % inner;
        double max = -INFINITY, sum = 0;
        for (int64_t i = 0; i < length; i++)
            max = fmax(max, x->values[base + i * inner]);
        for (int64_t i = 0; i < length; i++)
            sum += exp(x->values[base + i * inner] - max);
        for (int64_t i = 0; i < length; i++) {
            int64_t at = base + i * inner;
            double below = max - x->values[at];
            result.values[at] = exp(-below) / sum;
            (*slack)[at] =
                0x1p-24 * result.values[at] * (12 + fmin(below, 200) + sqrt((double)length) / 8) +
                0x1p-126;
        }
    }
    return result;
}

static void check_softmax(enum ridge_dtype dtype, enum layout layout, unsigned axis, double size,
                          unsigned rank, const int64_t *sizes) {
    if (!case_begin("softmax %s %s %s axis %u up to %g", ridge_dtype_name(dtype),
                    layout_name(layout), sizes_text(rank, sizes), axis, size))
        return;
    struct array x = array_noise(dtype, rank, sizes, -size, size, 8);
    double *slack;
    struct array expected = softmax(&x, axis, &slack);
    ridge_tensor *tensor = array_tensor(&x, dtype, layout);
    expect_array(ridge_softmax(tensor, (int)axis), dtype, &expected, 4, slack);
    case_end();
}

/* With center: layer_norm; without: rms_norm. */
static struct array norm(const struct array *x, const struct array *weight,
                         const struct array *bias, double epsilon, bool center, double **slack) {
    struct array result = array_make(x->rank, x->sizes);
    *slack = case_memory((size_t)x->count + 1, sizeof **slack);
    int64_t width = x->sizes[x->rank - 1];
    for (int64_t begin = 0; begin < x->count; begin += width) {
        double mean = 0, squares = 0, magnitude = 0;
        for (int64_t i = 0; i < width; i++) {
            mean += center ? x->values[begin + i] / (double)width : 0;
            magnitude += fabs(x->values[begin + i]) / (double)width;
        }
        for (int64_t i = 0; i < width; i++)
            squares += pow(x->values[begin + i] - mean, 2);
        double scale = 1 / sqrt(squares / (double)width + epsilon);
        for (int64_t i = 0; i < width; i++) {
            double w = weight ? weight->values[i] : 1, b = bias ? bias->values[i] : 0;
            double value = (x->values[begin + i] - mean) * scale;
            result.values[begin + i] = value * w + b;
            /* Of the statistics, and of what cancels: x - mean, and + bias. */
            double off =
                (8 + sqrt((double)width) / 8) *
                (fabs(value) + (center ? (magnitude + fabs(x->values[begin + i])) * scale : 0));
            (*slack)[begin + i] = 0x1p-24 * (off * fabs(w) + fabs(value * w) + fabs(b));
        }
    }
    return result;
}

static void check_norm(enum ridge_dtype dtype, enum layout layout, bool center, bool weights,
                       double size, double shift, unsigned rank, const int64_t *sizes) {
    if (!case_begin("%s %s %s %s%s around %g up to %g", center ? "layer_norm" : "rms_norm",
                    ridge_dtype_name(dtype), layout_name(layout), sizes_text(rank, sizes),
                    weights ? " weights" : "", shift, size))
        return;
    int64_t width = sizes[rank - 1];
    float epsilon = 1e-5f;
    struct array x = array_noise(dtype, rank, sizes, shift - size, shift + size, 9);
    struct array w = array_noise(dtype, 1, &width, -2, 2, 10);
    struct array b = array_noise(dtype, 1, &width, -2, 2, 11);
    ridge_tensor *x_tensor = array_tensor(&x, dtype, layout);
    ridge_tensor *w_tensor = weights ? array_tensor(&w, dtype, CONTIGUOUS) : NULL;
    ridge_tensor *b_tensor = weights ? array_tensor(&b, dtype, CONTIGUOUS) : NULL;
    double *slack;
    struct array expected =
        norm(&x, weights ? &w : NULL, weights && center ? &b : NULL, epsilon, center, &slack);
    ridge_tensor *got = center ? ridge_layer_norm(x_tensor, w_tensor, b_tensor, epsilon)
                               : ridge_rms_norm(x_tensor, w_tensor, epsilon);
    expect_array(got, dtype, &expected, 4, slack);
    case_end();
}

static void check_nan(void) {
    if (!case_begin("softmax and norms of NaN and infinity"))
        return;
    struct array x = array_noise(RIDGE_F32, SIZES(3, 100), -1, 1, 12);
    x.values[50] = NAN;
    x.values[150] = -INFINITY;
    struct array soft = array_read(ridge_softmax(array_tensor(&x, RIDGE_F32, CONTIGUOUS), 1));
    struct array rms = array_read(ridge_rms_norm(array_tensor(&x, RIDGE_F32, CONTIGUOUS), NULL, 0));
    for (int64_t i = 0; i < 100 && soft.values && rms.values; i++) {
        CASE_CHECK(isnan(soft.values[i]) && isnan(rms.values[i]));
        CASE_CHECK(isfinite(soft.values[100 + i]) && isfinite(soft.values[200 + i]));
    }
    CASE_CHECK(soft.values && soft.values[150] == 0);
    case_end();
}

static void check_type(enum ridge_dtype dtype) {
    for (unsigned axis = 0; axis < 3; axis++)
        check_softmax(dtype, CONTIGUOUS, axis, 10, SIZES(5, 17, 33));
    check_softmax(dtype, TRANSPOSED, 1, 10, SIZES(40, 65));
    check_softmax(dtype, CONTIGUOUS, 1, 1000, SIZES(3, 1000));
    check_softmax(dtype, CONTIGUOUS, 1, 1e-3, SIZES(3, 5000));
    for (unsigned center = 0; center < 2; center++) {
        check_norm(dtype, CONTIGUOUS, center, false, 3, 0, SIZES(4, 5, 64));
        check_norm(dtype, CONTIGUOUS, center, true, 3, 1, SIZES(7, 1000));
        check_norm(dtype, PADDED, center, true, 3, 0, SIZES(7, 33));
        check_norm(dtype, CONTIGUOUS, center, false, 1e-3, 0, SIZES(3, 768));
        check_norm(dtype, CONTIGUOUS, center, true, 100, 100, SIZES(2, 4099));
    }
}

void check_norms(void) {
    if (session.quick) {
        check_softmax(RIDGE_F32, CONTIGUOUS, 2, 10, SIZES(5, 17, 33));
        check_softmax(RIDGE_F32, CONTIGUOUS, 0, 10, SIZES(5, 17, 33));
        check_norm(RIDGE_F32, CONTIGUOUS, true, true, 3, 1, SIZES(7, 1000));
        return;
    }
    for (unsigned t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++)
        check_type(dtypes[t]);
    check_softmax(RIDGE_F32, CONTIGUOUS, 0, 5, SIZES(100000));
    check_softmax(RIDGE_F32, CONTIGUOUS, 1, 5, SIZES(3, 1));
    check_softmax(RIDGE_F32, CONTIGUOUS, 1, 5, SIZES(0, 4));
    check_softmax(RIDGE_F32, CONTIGUOUS, 0, 5, SIZES(1));
    check_softmax(RIDGE_F32, CONTIGUOUS, 0, 1e30, SIZES(300));
    check_norm(RIDGE_F32, CONTIGUOUS, true, false, 3, 0, SIZES(3, 1));
    check_norm(RIDGE_F32, CONTIGUOUS, false, true, 3, 0, SIZES(0, 8));
    check_norm(RIDGE_F32, CONTIGUOUS, true, true, 1e9, 0, SIZES(3, 100));
    check_norm(RIDGE_F32, CONTIGUOUS, false, false, 1e-15, 0, SIZES(3, 100));
    check_nan();
}
