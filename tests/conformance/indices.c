/* gather, scatter_add, argsort, topk, cumsum, sampling, and writing at positions. */
#include <math.h>
#include <string.h>

#include "arrays.h"

static const enum ridge_dtype plain[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16, RIDGE_I32, RIDGE_U8};

/* A row-major position as [outside, along, inside]. */
struct place {
    int64_t outside, along, inside;
};

static struct place place_of(const struct array *array, unsigned axis, int64_t at) {
    int64_t inside = 1;
    for (unsigned i = axis + 1; i < array->rank; i++)
        inside *= array->sizes[i];
    return (struct place){at / inside / array->sizes[axis], at / inside % array->sizes[axis],
                          at % inside};
}

static int64_t position(const struct array *array, unsigned axis, struct place place) {
    int64_t inside = 1;
    for (unsigned i = axis + 1; i < array->rank; i++)
        inside *= array->sizes[i];
    return (place.outside * array->sizes[axis] + place.along) * inside + place.inside;
}

/* ---- gather and scatter_add ---- */

static struct array indices_for(unsigned rank, const int64_t *sizes, int64_t range) {
    struct array indices = array_make(rank, sizes);
    for (int64_t i = 0; i < indices.count; i++) /* a few are out of range */
        indices.values[i] =
            (double)(int64_t)(noise_bits(7, (uint64_t)i) % (uint64_t)(range + 2)) - 1;
    return indices;
}

static void check_gather(enum ridge_dtype dtype, enum layout layout, unsigned axis) {
    if (!case_begin("gather %s %s axis %u", ridge_dtype_name(dtype), layout_name(layout), axis))
        return;
    int64_t sizes[3] = {5, 9, 11};
    struct array x = array_noise(dtype, 3, sizes, 0, 100, 11);
    int64_t range = sizes[axis];
    sizes[axis] = 7;
    struct array indices = indices_for(3, sizes, range), expected = array_make(3, sizes);
    for (int64_t i = 0; i < expected.count; i++) {
        struct place place = place_of(&expected, axis, i);
        place.along = (int64_t)indices.values[i];
        if (place.along >= 0 && place.along < range)
            expected.values[i] = x.values[position(&x, axis, place)];
    }
    expect_exactly(ridge_gather(array_tensor(&x, dtype, layout), (int)axis - 3,
                                array_tensor(&indices, RIDGE_I32, layout)),
                   dtype, &expected);
    case_end();
}

static void check_scatter_add(enum ridge_dtype dtype, unsigned axis, bool shared) {
    if (!case_begin("scatter_add %s axis %u%s", ridge_dtype_name(dtype), axis,
                    shared ? " with shared indices" : ""))
        return;
    int64_t sizes[3] = {6, 8, 10}, spread[3] = {1, 1, 1};
    struct array x = array_noise(dtype, 3, sizes, 0, 50, 12);
    int64_t range = sizes[axis];
    sizes[axis] = spread[axis] = 23;
    struct array source = array_noise(dtype, 3, sizes, 0, 5, 13);
    struct array indices = indices_for(3, shared ? spread : sizes, range);
    struct array expected = array_make(x.rank, x.sizes);
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    memcpy(expected.values, x.values, (size_t)x.count * sizeof *x.values);
    for (int64_t i = 0; i < source.count; i++) {
        struct place place = place_of(&source, axis, i);
        place.along = (int64_t)indices.values[shared ? place.along : i];
        if (place.along < 0 || place.along >= range)
            continue;
        int64_t at = position(&x, axis, place);
        expected.values[at] += source.values[i];
        slack[at] += is_float(dtype) ? 0x1p-23 * fabs(expected.values[at]) : 0;
    }
    if (dtype == RIDGE_U8)
        for (int64_t i = 0; i < expected.count; i++)
            expected.values[i] = fmod(expected.values[i], 256);
    expect_array(ridge_scatter_add(array_tensor(&x, dtype, PADDED), (int)axis,
                                   array_tensor(&indices, RIDGE_I32, CONTIGUOUS),
                                   array_tensor(&source, dtype, TRANSPOSED)),
                 dtype, &expected, 1, slack);
    case_end();
}

/* ---- Sorting ---- */

static bool goes_before(double a, double b, bool descending) {
    if (isnan(a) || isnan(b))
        return isnan(a) != isnan(b) && isnan(a) == descending;
    return descending ? a > b : a < b;
}

/* By insertion: stable. */
static void sort_row(const double *x, int64_t length, bool descending, double *order) {
    for (int64_t i = 0; i < length; i++) {
        int64_t at = i;
        for (; at > 0 && goes_before(x[i], x[(int64_t)order[at - 1]], descending); at--)
            order[at] = order[at - 1];
        order[at] = (double)i;
    }
}

static void check_argsort(enum ridge_dtype dtype, enum layout layout, int64_t length,
                          bool descending) {
    if (!case_begin("argsort %s %s length %lld %s", ridge_dtype_name(dtype), layout_name(layout),
                    (long long)length, descending ? "descending" : "ascending"))
        return;
    struct array x = array_noise(dtype, SIZES(3, length), 0, 40, 14);
    for (int64_t i = 0; i < x.count; i++) /* many are equal */
        x.values[i] = is_float(dtype) && i % 13 == 5 ? NAN : floor(x.values[i]);
    struct array order = array_make(SIZES(3, length)), best = array_make(SIZES(3, length / 2));
    struct array places = array_make(SIZES(3, length / 2));
    for (int64_t row = 0; row < 3; row++)
        sort_row(x.values + row * length, length, descending, order.values + row * length);
    ridge_tensor *tensor = array_tensor(&x, dtype, layout);
    expect_exactly(ridge_argsort(tensor, 1, descending), RIDGE_I32, &order);
    for (int64_t i = 0; i < best.count; i++) {
        int64_t row = i / (length / 2), at = row * length + i % (length / 2);
        places.values[i] = order.values[at];
        best.values[i] = x.values[row * length + (int64_t)order.values[at]];
    }
    if (descending) {
        ridge_tensor *indices = NULL;
        expect_array(ridge_topk(tensor, length / 2, -1, &indices), dtype, &best, 0, NULL);
        expect_exactly(indices, RIDGE_I32, &places);
    }
    case_end();
}

/* ---- cumsum ---- */

static void check_cumsum(enum ridge_dtype dtype, unsigned axis, int64_t length) {
    if (!case_begin("cumsum %s axis %u length %lld", ridge_dtype_name(dtype), axis,
                    (long long)length))
        return;
    int64_t sizes[3] = {2, 3, 4};
    sizes[axis] = length;
    struct array x = array_noise(dtype, 3, sizes, 0, 9, 15), expected = array_make(3, sizes);
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    for (int64_t i = 0; i < x.count; i++) {
        struct place place = place_of(&x, axis, i);
        place.along--;
        double before = place.along < 0 ? 0 : expected.values[position(&x, axis, place)];
        expected.values[i] = before + x.values[i];
        slack[i] = is_float(dtype) ? 0x1p-24 * (double)length * expected.values[i] : 0;
    }
    enum ridge_dtype gives = dtype == RIDGE_U8 ? RIDGE_I32 : dtype;
    expect_array(ridge_cumsum(array_tensor(&x, dtype, STEPPED), (int)axis), gives, &expected, 1,
                 slack);
    case_end();
}

/* ---- Sampling ---- */

enum { CHOICES = 50, DRAWS_MAX = 400 };

/* Few where a draw is slow. */
static int32_t draws(void) {
    return session.quick ? 60 : DRAWS_MAX;
}

/* How often each choice was drawn, in all steps, of two rows. */
static bool draw(ridge_tensor *logits, float temperature, int64_t top_k, float top_p,
                 unsigned counts[2][CHOICES]) {
    memset(counts, 0, 2 * sizeof counts[0]);
    for (int32_t step = 0; step < draws(); step++) {
        int32_t got[2] = {-1, -1};
        ridge_scope_begin();
        ridge_tensor *at = ridge_from_host(session.device, RIDGE_I32, SIZES(1), &step);
        bool ok =
            ridge_to_host(ridge_sample(logits, at, temperature, top_k, top_p, 77), got, sizeof got);
        ridge_scope_end();
        if (!ok || got[0] < 0 || got[0] >= CHOICES || got[1] < 0 || got[1] >= CHOICES)
            return false;
        counts[0][got[0]]++;
        counts[1][got[1]]++;
    }
    return true;
}

static void check_sample(enum ridge_dtype dtype, float temperature, int64_t top_k, float top_p) {
    if (!case_begin("sample %s temperature %g top_k %lld top_p %g", ridge_dtype_name(dtype),
                    (double)temperature, (long long)top_k, (double)top_p))
        return;
    struct array logits = array_noise(dtype, SIZES(2, CHOICES), -3, 3, 16);
    unsigned counts[2][CHOICES];
    if (!draw(array_tensor(&logits, dtype, STEPPED), temperature, top_k, top_p, counts))
        case_fail("%s", ridge_error_message());
    for (int row = 0; row < 2; row++) {
        const double *x = logits.values + row * CHOICES;
        double order[CHOICES], all = 0, share[CHOICES] = {0}, kept = 0, total = 0;
        sort_row(x, CHOICES, true, order);
        int64_t limit = top_k && top_k < CHOICES ? top_k : CHOICES;
        double last = x[(int64_t)order[limit - 1]]; /* those equal to the last are kept too */
        for (int64_t i = 0; i < CHOICES; i++)
            all += x[i] >= last ? exp(x[i] / (double)temperature) : 0;
        for (int64_t i = 0; i < CHOICES && x[(int64_t)order[i]] >= last; i++) {
            int64_t at = (int64_t)order[i];
            if (kept >= (double)top_p * all && x[at] < x[(int64_t)order[i - 1]])
                break;
            kept += share[at] = exp(x[at] / (double)temperature);
        }
        for (int64_t i = 0; i < CHOICES; i++) {
            /* Five standard deviations of a binomial count. */
            double expected = draws() * share[i] / kept;
            if (fabs(counts[row][i] - expected) > 1 + 5 * sqrt(expected))
                case_fail("row %d drew %lld %u times, not about %.1f", row, (long long)i,
                          counts[row][i], expected);
            if (share[i] == 0 && counts[row][i])
                case_fail("row %d drew %lld, which is cut off", row, (long long)i);
            total += counts[row][i];
        }
        CASE_CHECK(total == draws());
    }
    case_end();
}

/* Temperature 0 is the greatest, and the same step draws the same. */
static void check_repeated_sample(void) {
    if (!case_begin("sample the same step twice"))
        return;
    struct array logits = array_noise(RIDGE_F32, SIZES(4, 3000), -1, 1, 17);
    ridge_tensor *x = array_tensor(&logits, RIDGE_F32, CONTIGUOUS);
    ridge_tensor *steps = ridge_arange(session.device, RIDGE_I32, 4, 5, 3);
    struct array best = array_read(ridge_argmax(x, 1, false));
    struct array first = array_read(ridge_sample(x, steps, 1, 0, 1, 3));
    if (best.values && first.values) {
        expect_exactly(ridge_sample(x, steps, 0, 0, 1, 3), RIDGE_I32, &best);
        expect_exactly(ridge_sample(x, steps, 1, 0, 1, 3), RIDGE_I32, &first);
        struct array other = array_read(ridge_sample(x, steps, 1, 0, 1, 4));
        CASE_CHECK(other.values &&
                   memcmp(other.values, first.values, 4 * sizeof *first.values) != 0);
    }
    case_end();
}

/* ---- Writing at a position ---- */

static void check_update(enum ridge_dtype dtype, bool by_row) {
    if (!case_begin("update %s%s", ridge_dtype_name(dtype), by_row ? " by row" : ""))
        return;
    struct array target = array_noise(dtype, SIZES(2, 3, 10, 4), 0, 90, 18);
    struct array source = array_noise(dtype, SIZES(2, 3, 3, 4), 0, 90, 19);
    struct array places = array_make(SIZES(by_row ? 2 : 1));
    ridge_tensor *into = array_tensor(&target, dtype, TRANSPOSED);
    places.values[0] = 5;
    if (by_row)
        places.values[1] = 8; /* the last element does not fit */
    for (int64_t i = 0; i < source.count; i++) {
        struct place place = place_of(&source, 2, i);
        place.along += by_row && place.outside >= 3 ? 8 : 5;
        if (place.along < 10)
            target.values[position(&target, 2, place)] = source.values[i];
    }
    CASE_CHECK(ridge_update(into, array_tensor(&source, dtype, PADDED), 2,
                            array_tensor(&places, RIDGE_I32, CONTIGUOUS)));
    expect_exactly(into, dtype, &target);
    case_end();
}

static void check_type(enum ridge_dtype dtype) {
    for (unsigned axis = 0; axis < 3; axis++) {
        check_gather(dtype, axis == 1 ? CONTIGUOUS : PADDED, axis);
        check_scatter_add(dtype, axis, axis == 1);
    }
    check_argsort(dtype, CONTIGUOUS, 1, false);
    check_argsort(dtype, TRANSPOSED, 77, false);
    check_argsort(dtype, PADDED, 600, true);
    check_cumsum(dtype, 2, 1000);
    check_cumsum(dtype, 0, 7);
    check_update(dtype, false);
    check_update(dtype, true);
}

void check_indices(void) {
    if (session.quick) {
        check_gather(RIDGE_F32, PADDED, 1);
        check_scatter_add(RIDGE_F32, 0, true);
        check_argsort(RIDGE_F32, CONTIGUOUS, 300, true);
        check_cumsum(RIDGE_F32, 1, 500);
        check_sample(RIDGE_F32, 0.8f, 9, 0.7f);
        check_update(RIDGE_F32, true);
        return;
    }
    for (unsigned t = 0; t < sizeof plain / sizeof plain[0]; t++)
        check_type(plain[t]);
    check_sample(RIDGE_F32, 1, 0, 1);
    check_sample(RIDGE_F16, 0.7f, 5, 1);
    check_sample(RIDGE_F32, 1.3f, 0, 0.6f);
    check_sample(RIDGE_BF16, 0.5f, 20, 0.8f);
    check_repeated_sample();
}
