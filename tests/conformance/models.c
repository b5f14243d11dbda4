/* embedding, rope, wkv7 and token_shift. */
#include <math.h>
#include <string.h>

#include "arrays.h"

static const enum ridge_dtype floats[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};

/* ---- embedding ---- */

static const double indices[12] = {0, 5, 99, 5, -1, 100, 2147483647, -2147483648.0, 98, 1, 2, 3};

/* Rows out of range are zeros; quantized rows come as f32. */
static void check_embedding(enum ridge_dtype dtype, enum layout layout, int64_t width) {
    if (!case_begin("embedding %s %s width %lld", ridge_dtype_name(dtype), layout_name(layout),
                    (long long)width))
        return;
    bool quantized = dtype >= RIDGE_Q8_0;
    enum ridge_dtype gives = quantized ? RIDGE_F32 : dtype;
    struct array table = array_noise(gives, SIZES(100, width), 0, 200, 41);
    struct array places = array_make(SIZES(3, 4));
    memcpy(places.values, indices, sizeof indices);
    ridge_tensor *tensor = array_tensor(&table, gives, layout);
    if (quantized) {
        tensor = ridge_quantize(tensor, dtype);
        table = array_read(tensor);
    }
    struct array expected = array_make(SIZES(3, 4, width));
    for (int64_t i = 0; i < expected.count && table.values; i++) {
        double row = indices[i / width];
        if (row >= 0 && row < 100)
            expected.values[i] = table.values[(int64_t)row * width + i % width];
    }
    ridge_tensor *got = ridge_embedding(tensor, array_tensor(&places, RIDGE_I32, TRANSPOSED));
    expect_array(got, gives, &expected, quantized ? 2 : 0, NULL);
    case_end();
}

/* ---- rope ---- */

static void check_rope(enum ridge_dtype dtype, enum layout layout, int64_t width, int64_t start,
                       bool interleaved) {
    if (!case_begin("rope %s %s width %lld start %lld interleaved %d", ridge_dtype_name(dtype),
                    layout_name(layout), (long long)width, (long long)start, interleaved))
        return;
    float base = 10000;
    struct array x = array_noise(dtype, SIZES(2, 3, 5, width), -2, 2, 42);
    struct array expected = array_make(x.rank, x.sizes);
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    int64_t pairs = width / 2;
    for (int64_t row = 0; row < 2 * 3 * 5; row++)
        for (int64_t i = 0; i < pairs; i++) {
            int64_t first = row * width + (interleaved ? 2 * i : i);
            int64_t second = first + (interleaved ? 1 : pairs);
            double angle = (double)(start + row % 5) * pow(base, -(double)i / (double)pairs);
            double a = x.values[first], b = x.values[second];
            expected.values[first] = a * cos(angle) - b * sin(angle);
            expected.values[second] = a * sin(angle) + b * cos(angle);
            /* Angles are as exact as f32 needs up to positions of about 2^24. */
            slack[first] = slack[second] = (fabs(a) + fabs(b)) * 6 * 0x1p-24;
        }
    ridge_tensor *positions = ridge_arange(session.device, RIDGE_I32, 5, (double)start, 1);
    expect_array(ridge_rope(array_tensor(&x, dtype, layout), positions, base, interleaved), dtype,
                 &expected, 1, slack);
    case_end();
}

/* Each sequence of a batch has its own positions, in any order. */
static void check_rope_positions(enum ridge_dtype dtype) {
    if (!case_begin("rope %s with positions by sequence", ridge_dtype_name(dtype)))
        return;
    enum { WIDTH = 20 };
    static const double places[2][4] = {{7, 8, 9, 3}, {100000, 0, -5, 12}};
    struct array x = array_noise(dtype, SIZES(2, 3, 4, WIDTH), -2, 2, 43);
    struct array expected = array_make(x.rank, x.sizes), at = array_make(SIZES(2, 4));
    double *slack = case_memory((size_t)x.count, sizeof *slack);
    memcpy(at.values, places, sizeof places);
    for (int64_t row = 0; row < 2 * 3 * 4; row++)
        for (int64_t i = 0; i < WIDTH / 2; i++) {
            int64_t first = row * WIDTH + i, second = first + WIDTH / 2;
            double angle = places[row / 12][row % 4] * pow(500000, -(double)i / (WIDTH / 2));
            double a = x.values[first], b = x.values[second];
            expected.values[first] = a * cos(angle) - b * sin(angle);
            expected.values[second] = a * sin(angle) + b * cos(angle);
            slack[first] = slack[second] = (fabs(a) + fabs(b)) * 6 * 0x1p-24;
        }
    expect_array(ridge_rope(array_tensor(&x, dtype, CONTIGUOUS),
                            array_tensor(&at, RIDGE_I32, TRANSPOSED), 500000, false),
                 dtype, &expected, 1, slack);
    case_end();
}

/* ---- wkv7 ---- */

enum { BATCH = 2, HEADS = 3, VECTORS = 6 };

/* S = S diag(w) + (S a) b' + v k', y = S r; the state of one head is changed in place. */
static void wkv7_token(double *state, const double *const *row, int64_t width, double *y) {
    const double *r = row[0], *w = row[1], *k = row[2], *v = row[3], *a = row[4], *b = row[5];
    for (int64_t i = 0; i < width; i++) {
        double *s = state + i * width, sa = 0, sum = 0;
        for (int64_t j = 0; j < width; j++)
            sa += s[j] * a[j];
        for (int64_t j = 0; j < width; j++) {
            s[j] = s[j] * w[j] + sa * b[j] + v[i] * k[j];
            sum += s[j] * r[j];
        }
        y[i] = sum;
    }
}

static struct array wkv7(const struct array *vectors, struct array *state, int64_t tokens,
                         int64_t width) {
    struct array y = array_make(SIZES(BATCH, tokens, HEADS, width));
    for (int64_t t = 0; t < BATCH * tokens; t++)
        for (int64_t head = 0; head < HEADS; head++) {
            const double *row[VECTORS];
            for (int i = 0; i < VECTORS; i++)
                row[i] = vectors[i].values + (t * HEADS + head) * width;
            wkv7_token(state->values + (t / tokens * HEADS + head) * width * width, row, width,
                       y.values + (t * HEADS + head) * width);
        }
    return y;
}

/* Inputs such that the state stays bounded, as in a model: a and b of opposite sign and short. */
static struct array wkv7_input(enum ridge_dtype dtype, int which, int64_t tokens, int64_t width) {
    double size = which >= 4 ? 1 / sqrt((double)width) : 1;
    struct array x =
        array_noise(dtype, SIZES(BATCH, tokens, HEADS, width), which == 1 ? 0.5 : -size,
                    which == 1 ? 1 : size, 50 + (uint64_t)(which == 5 ? 4 : which));
    for (int64_t i = 0; i < x.count && which == 5; i++)
        x.values[i] = -x.values[i];
    return x;
}

static void check_wkv7(enum ridge_dtype dtype, int64_t tokens, int64_t width) {
    if (!case_begin("wkv7 %s %lld tokens width %lld", ridge_dtype_name(dtype), (long long)tokens,
                    (long long)width))
        return;
    struct array vectors[VECTORS];
    ridge_tensor *whole[VECTORS], *first[VECTORS], *rest[VECTORS];
    int64_t cut = tokens / 3;
    for (int i = 0; i < VECTORS; i++) {
        vectors[i] = wkv7_input(dtype, i, tokens, width);
        whole[i] = array_tensor(&vectors[i], dtype, CONTIGUOUS);
        first[i] = ridge_slice(whole[i], 1, 0, cut, 1);
        rest[i] = ridge_slice(whole[i], 1, cut, INT64_MAX, 1);
    }
    struct array state = array_noise(RIDGE_F32, SIZES(BATCH, HEADS, width, width), -1, 1, 60);
    ridge_tensor *before = array_tensor(&state, RIDGE_F32, CONTIGUOUS), *after, *middle, *end;
    struct array expected = wkv7(vectors, &state, tokens, width);
    double *slack = case_memory((size_t)(expected.count + state.count), sizeof *slack);
    for (int64_t i = 0; i < expected.count + state.count; i++)
        slack[i] = 0x1p-24 * (double)width * (8 + (double)tokens);
    ridge_tensor *y =
        ridge_wkv7(whole[0], whole[1], whole[2], whole[3], whole[4], whole[5], before, &after);
    expect_array(y, dtype, &expected, 4, slack);
    expect_array(after, RIDGE_F32, &state, 4, slack);
    /* The state carried from call to call is the state of one long call. */
    ridge_tensor *parts[2];
    parts[0] =
        ridge_wkv7(first[0], first[1], first[2], first[3], first[4], first[5], before, &middle);
    parts[1] = ridge_wkv7(rest[0], rest[1], rest[2], rest[3], rest[4], rest[5], middle, &end);
    struct array at_once = array_read(y);
    if (at_once.values)
        expect_array(ridge_cat(parts, 2, 1), dtype, &at_once, 0, NULL);
    expect_array(end, RIDGE_F32, &state, 4, slack);
    case_end();
}

/* ---- token_shift ---- */

static void check_token_shift(enum ridge_dtype dtype, int64_t tokens, bool mixed) {
    if (!case_begin("token_shift %s %lld tokens mixed %d", ridge_dtype_name(dtype),
                    (long long)tokens, mixed))
        return;
    enum { WIDTH = 33 };
    struct array x = array_noise(dtype, SIZES(BATCH, tokens, WIDTH), -1, 1, 70);
    struct array previous = array_noise(dtype, SIZES(BATCH, WIDTH), -1, 1, 71);
    struct array mix = array_noise(dtype, SIZES(WIDTH), 0, 1, 72);
    struct array expected = array_make(x.rank, x.sizes);
    double *slack = case_memory((size_t)x.count + 1, sizeof *slack);
    for (int64_t i = 0; i < x.count; i++) {
        int64_t token = i / WIDTH % tokens, batch = i / WIDTH / tokens;
        double shifted = token ? x.values[i - WIDTH] : previous.values[batch * WIDTH + i % WIDTH];
        double difference = shifted - x.values[i];
        expected.values[i] = mixed ? x.values[i] + difference * mix.values[i % WIDTH] : shifted;
        slack[i] = mixed ? 2 * 0x1p-24 * (fabs(shifted) + fabs(x.values[i])) : 0;
    }
    ridge_tensor *got = ridge_token_shift(array_tensor(&x, dtype, CONTIGUOUS),
                                          array_tensor(&previous, dtype, CONTIGUOUS),
                                          mixed ? array_tensor(&mix, dtype, CONTIGUOUS) : NULL);
    expect_array(got, dtype, &expected, 1, slack);
    case_end();
}

static void check_type(enum ridge_dtype dtype) {
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        check_rope(dtype, CONTIGUOUS, 64, 0, interleaved);
        check_rope(dtype, TRANSPOSED, 10, 1000003, interleaved);
        check_rope(dtype, PADDED, 2, 131072, interleaved);
        check_rope(dtype, REVERSED, 128, 7, interleaved);
    }
    check_rope_positions(dtype);
    check_wkv7(dtype, 9, 64);
    check_wkv7(dtype, 3, 16);
    for (int mixed = 0; mixed < 2; mixed++) {
        check_token_shift(dtype, 1, mixed);
        check_token_shift(dtype, 5, mixed);
    }
}

void check_models(void) {
    if (session.quick) {
        check_embedding(RIDGE_F32, CONTIGUOUS, 256);
        check_embedding(RIDGE_Q4_K, CONTIGUOUS, 256);
        check_rope(RIDGE_F32, TRANSPOSED, 10, 1000003, false);
        check_rope(RIDGE_F32, CONTIGUOUS, 64, 0, true);
        check_wkv7(RIDGE_F32, 9, 64);
        check_token_shift(RIDGE_F32, 5, true);
        return;
    }
    for (int dtype = 0; dtype < RIDGE_DTYPES; dtype++)
        check_embedding((enum ridge_dtype)dtype, CONTIGUOUS, 256);
    check_embedding(RIDGE_F32, PADDED, 33);
    check_embedding(RIDGE_F16, TRANSPOSED, 7);
    check_embedding(RIDGE_U8, OFFSET, 1);
    for (unsigned t = 0; t < sizeof floats / sizeof floats[0]; t++)
        check_type(floats[t]);
    check_wkv7(RIDGE_F32, 40, 33);
    check_wkv7(RIDGE_F32, 4, 1);
    check_wkv7(RIDGE_F32, 3, 128);
    check_token_shift(RIDGE_F32, 0, true);
}
