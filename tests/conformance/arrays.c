/* Arrays, the layouts of tensors made from them, and comparing. */
#include "arrays.h"

#include <math.h>
#include <stdio.h>

struct array array_make(unsigned rank, const int64_t *sizes) {
    struct array array = {.rank = rank, .count = 1};
    for (unsigned axis = 0; axis < rank; axis++) {
        array.sizes[axis] = sizes[axis];
        array.count *= sizes[axis];
    }
    array.values = case_memory((size_t)array.count + 1, sizeof *array.values);
    return array;
}

struct array array_noise(enum ridge_dtype dtype, unsigned rank, const int64_t *sizes, double low,
                         double high, uint64_t seed) {
    struct array array = array_make(rank, sizes);
    for (int64_t i = 0; i < array.count; i++) {
        double value = noise_between(seed, (uint64_t)i, low, high);
        array.values[i] = is_float(dtype) ? number_round(dtype, value) : floor(value);
    }
    return array;
}

struct array array_read(ridge_tensor *tensor) {
    int64_t sizes[RIDGE_RANK_MAX];
    for (unsigned axis = 0; axis < ridge_tensor_rank(tensor); axis++)
        sizes[axis] = ridge_tensor_size(tensor, (int)axis);
    struct array array = array_make(ridge_tensor_rank(tensor), sizes);
    size_t bytes = ridge_tensor_bytes(tensor);
    void *data = case_memory(bytes + 1, 1);
    if (!tensor || !ridge_to_host(tensor, data, bytes)) {
        case_fail("%s", ridge_error_message());
        return (struct array){0};
    }
    enum ridge_dtype dtype = ridge_tensor_dtype(tensor);
    if (dtype == RIDGE_Q4_K || dtype == RIDGE_Q8_0)
        numbers_dequantize(dtype, data, array.count, array.values);
    else if (dtype > RIDGE_Q4_K) /* scripts/check-quants checks this against gguf */
        return array_read(ridge_dequantize(tensor, RIDGE_F32));
    else
        numbers_decode(dtype, data, array.count, array.values);
    return array;
}

int64_t array_place(const struct array *array, unsigned rank, const int64_t *index) {
    int64_t place = 0;
    for (unsigned axis = 0; axis < array->rank; axis++) {
        int64_t at = index[rank - array->rank + axis];
        place = place * array->sizes[axis] + (array->sizes[axis] == 1 ? 0 : at);
    }
    return place;
}

void index_advance(unsigned rank, const int64_t *sizes, int64_t *index) {
    for (unsigned axis = rank; axis-- > 0;) {
        if (++index[axis] < sizes[axis])
            return;
        index[axis] = 0;
    }
}

const char *sizes_text(unsigned rank, const int64_t *sizes) {
    static char texts[8][120];
    static unsigned next;
    char *text = texts[next++ % 8];
    int length = snprintf(text, sizeof texts[0], "[");
    for (unsigned axis = 0; axis < rank; axis++)
        length += snprintf(text + length, sizeof texts[0] - (size_t)length, "%s%lld",
                           axis ? ", " : "", (long long)sizes[axis]);
    snprintf(text + length, sizeof texts[0] - (size_t)length, "]");
    return text;
}

/* ---- Layouts ---- */

const char *layout_name(enum layout layout) {
    static const char *const names[] = {"contiguous", "transposed", "stepped",
                                        "offset",     "reversed",   "padded"};
    return names[layout];
}

/* The layout: storage axis i is the array's axis order[i], whose index k is at begin + k * step
 * of `total`. */
struct placing {
    unsigned order[RIDGE_RANK_MAX];
    int64_t begin[RIDGE_RANK_MAX], step[RIDGE_RANK_MAX], total[RIDGE_RANK_MAX];
    int64_t before; /* elements in front of everything */
};

static struct placing place(const struct array *array, enum layout layout) {
    struct placing placing = {.before = layout == OFFSET};
    unsigned rank = array->rank, last = rank - 1;
    for (unsigned axis = 0; axis < rank; axis++) {
        placing.order[axis] = layout == REVERSED ? last - axis : axis;
        placing.step[axis] = 1;
        placing.total[axis] = array->sizes[axis];
    }
    if (layout == TRANSPOSED && rank > 1) {
        placing.order[last] = last - 1;
        placing.order[last - 1] = last;
    }
    if (layout == STEPPED && rank > 0) {
        placing.begin[last] = 1;
        placing.step[last] = 2;
        placing.total[last] = 2 * array->sizes[last] + 1;
    }
    if (layout == PADDED && rank > 0) {
        placing.begin[last] = 3;
        placing.total[last] = array->sizes[last] + 5;
    }
    if (layout == PADDED && rank > 1) {
        placing.step[last - 1] = 2;
        placing.total[last - 1] = 2 * array->sizes[last - 1];
    }
    return placing;
}

static int64_t stored_place(const struct placing *placing, unsigned rank, const int64_t *index) {
    int64_t at = 0;
    for (unsigned i = 0; i < rank; i++) {
        unsigned axis = placing->order[i];
        at = at * placing->total[axis] + placing->begin[axis] + index[axis] * placing->step[axis];
    }
    return placing->before + at;
}

static ridge_tensor *view_stored(ridge_tensor *stored, const struct placing *placing,
                                 const struct array *array) {
    unsigned back[RIDGE_RANK_MAX];
    int64_t sizes[RIDGE_RANK_MAX];
    for (unsigned i = 0; i < array->rank; i++) {
        sizes[i] = placing->total[placing->order[i]];
        back[placing->order[i]] = i;
    }
    ridge_tensor *view = ridge_slice(stored, 0, placing->before, INT64_MAX, 1);
    view = ridge_permute(ridge_reshape(view, array->rank, sizes), back);
    for (unsigned axis = 0; axis < array->rank; axis++) {
        int64_t begin = placing->begin[axis], step = placing->step[axis];
        if (begin != 0 || step != 1)
            view = ridge_slice(view, (int)axis, begin, begin + array->sizes[axis] * step, step);
    }
    return view;
}

ridge_tensor *array_tensor(const struct array *array, enum ridge_dtype dtype, enum layout layout) {
    struct placing placing = place(array, layout);
    int64_t total = placing.before;
    int64_t product = 1;
    for (unsigned axis = 0; axis < array->rank; axis++)
        product *= placing.total[axis];
    total += product;
    double *values = case_memory((size_t)total + 1, sizeof *values);
    for (int64_t i = 0; i < total; i++)
        values[i] = 77;
    int64_t index[RIDGE_RANK_MAX] = {0};
    for (int64_t i = 0; i < array->count; i++) {
        values[stored_place(&placing, array->rank, index)] = array->values[i];
        index_advance(array->rank, array->sizes, index);
    }
    void *bytes = case_memory(ridge_dtype_bytes(dtype, total) + 1, 1);
    numbers_encode(dtype, values, total, bytes);
    if (layout == CONTIGUOUS)
        return ridge_from_host(session.device, dtype, array->rank, array->sizes, bytes);
    ridge_tensor *stored = ridge_from_host(session.device, dtype, 1, &total, bytes);
    return view_stored(stored, &placing, array);
}

/* ---- Comparing ---- */

bool value_is_close(enum ridge_dtype dtype, double got, double expected, double ulps, double slack,
                    double *error, double *bound) {
    *error = *bound = 0;
    if (isnan(expected) || isnan(got))
        return isnan(expected) && isnan(got);
    *bound = slack;
    if (is_float(dtype)) {
        double rounding = dtype == RIDGE_F32 ? 0 : 0.5 * number_ulp(dtype, expected);
        *bound += ulps * number_ulp(RIDGE_F32, expected) + rounding;
        /* Overflow: a value within the bound of the largest one may be either. */
        double max = number_max(dtype);
        if (isinf(got) && fabs(expected) + *bound >= max)
            return isinf(expected) ? got == expected : (got > 0) == (expected > 0);
    }
    if (isinf(got) || isinf(expected)) {
        *error = INFINITY;
        return got == expected;
    }
    *error = fabs(got - expected);
    return *error <= *bound;
}

static bool same_shape(ridge_tensor *got, enum ridge_dtype dtype, const struct array *expected) {
    if (!got) {
        case_fail("it failed: %s", ridge_error_message());
        return false;
    }
    if (ridge_tensor_dtype(got) != dtype) {
        case_fail("it gave %s, not %s", ridge_dtype_name(ridge_tensor_dtype(got)),
                  ridge_dtype_name(dtype));
        return false;
    }
    bool same = ridge_tensor_rank(got) == expected->rank;
    for (unsigned axis = 0; axis < expected->rank && same; axis++)
        same = ridge_tensor_size(got, (int)axis) == expected->sizes[axis];
    if (!same)
        case_fail("the shape is not %s", sizes_text(expected->rank, expected->sizes));
    return same;
}

void expect_array(ridge_tensor *got, enum ridge_dtype dtype, const struct array *expected,
                  double ulps, const double *slack) {
    if (!same_shape(got, dtype, expected))
        return;
    struct array read = array_read(got);
    if (!read.values)
        return;
    int64_t worst = -1, wrong = 0;
    double worst_excess = -1, worst_error = 0, worst_bound = 0;
    for (int64_t i = 0; i < expected->count; i++) {
        double error, bound;
        if (value_is_close(dtype, read.values[i], expected->values[i], ulps, slack ? slack[i] : 0,
                           &error, &bound))
            continue;
        wrong++;
        double excess = error / (bound > 0 ? bound : 1e-300);
        if (worst < 0 || excess > worst_excess) {
            worst = i;
            worst_excess = excess;
            worst_error = error;
            worst_bound = bound;
        }
    }
    if (wrong)
        case_fail("%lld of %lld elements; the worst is %lld: got %.9g, expected %.9g, error %.3g, "
                  "bound %.3g",
                  (long long)wrong, (long long)expected->count, (long long)worst,
                  read.values[worst], expected->values[worst], worst_error, worst_bound);
}

void expect_exactly(ridge_tensor *got, enum ridge_dtype dtype, const struct array *expected) {
    if (!same_shape(got, dtype, expected))
        return;
    struct array read = array_read(got);
    for (int64_t i = 0; read.values && i < expected->count; i++) {
        double have = read.values[i], want = expected->values[i];
        if (isnan(want) ? !isnan(have) : have != want || signbit(have) != signbit(want)) {
            case_fail("element %lld is %.9g, not %.9g", (long long)i, have, want);
            return;
        }
    }
}
