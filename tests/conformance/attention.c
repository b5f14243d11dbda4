/* Attention: grouped heads, causal or not, slices of a cache, every kind of width. */
#include <math.h>
#include <string.h>

#include "arrays.h"

struct shape {
    int64_t batch, heads, kv_heads, queries, keys, width;
};

/* The rounding of the weights: CUDA's matrix units take them in the type of the operands. */
static double weight_unit(enum ridge_dtype dtype) {
    if (dtype == RIDGE_F32 || strncmp(session.name, "cuda", 4) != 0)
        return 0;
    return dtype == RIDGE_F16 ? 0x1p-11 : 0x1p-8;
}

/* One query of one head: probabilities of the keys it sees, and the mean of their values. */
static void attend(const double *q, const double *k, const double *v, int64_t keys, int64_t width,
                   double scale, double unit, double *scores, double *out, double *slack) {
    double max = -INFINITY, sum = 0, size = 0, sharp = 0;
    for (int64_t j = 0; j < keys; j++) {
        double magnitude = 0;
        scores[j] = 0;
        for (int64_t i = 0; i < width; i++) {
            scores[j] += q[i] * k[j * width + i] * scale;
            magnitude += fabs(q[i] * k[j * width + i] * scale);
        }
        max = fmax(max, scores[j]);
        sharp = fmax(sharp, magnitude);
    }
    for (int64_t j = 0; j < keys; j++)
        sum += scores[j] = exp(scores[j] - max);
    for (int64_t i = 0; i < width; i++) {
        out[i] = slack[i] = 0;
        for (int64_t j = 0; j < keys; j++) {
            out[i] += scores[j] / sum * v[j * width + i];
            slack[i] += scores[j] / sum * fabs(v[j * width + i]) * unit;
        }
        for (int64_t j = 0; j < keys; j++)
            size = fmax(size, fabs(v[j * width + i]));
    }
    /* Errors of the scores, which exp multiplies, and of the summation. */
    for (int64_t i = 0; i < width; i++)
        slack[i] +=
            0x1p-24 * size * (12 + sharp * (4 + sqrt((double)width) / 2) + sqrt((double)keys) / 2);
}

/* k and v as a cache holds them: the first `keys` of more tokens. */
static ridge_tensor *cached(const struct array *x, enum ridge_dtype dtype, int64_t room) {
    ridge_tensor *cache =
        ridge_full(session.device, dtype, 4,
                   (const int64_t[]){x->sizes[0], x->sizes[1], room, x->sizes[3]}, NAN);
    ridge_tensor *part = ridge_slice(cache, 2, 0, x->sizes[2], 1);
    return ridge_assign(part, array_tensor(x, dtype, CONTIGUOUS)) ? part : NULL;
}

static void check(enum ridge_dtype dtype, struct shape s, bool causal, enum layout layout,
                  bool cache) {
    if (!case_begin("attention %s %s batch %lld heads %lld/%lld queries %lld keys %lld width %lld "
                    "causal %d cache %d",
                    ridge_dtype_name(dtype), layout_name(layout), (long long)s.batch,
                    (long long)s.heads, (long long)s.kv_heads, (long long)s.queries,
                    (long long)s.keys, (long long)s.width, causal, cache))
        return;
    float scale = (float)(1 / sqrt((double)s.width));
    struct array q = array_noise(dtype, SIZES(s.batch, s.heads, s.queries, s.width), -3, 3, 81);
    struct array k = array_noise(dtype, SIZES(s.batch, s.kv_heads, s.keys, s.width), -3, 3, 82);
    struct array v = array_noise(dtype, SIZES(s.batch, s.kv_heads, s.keys, s.width), -1, 1, 83);
    struct array expected = array_make(q.rank, q.sizes);
    double *slack = case_memory((size_t)q.count + 1, sizeof *slack);
    double *scores = case_memory((size_t)s.keys + 1, sizeof *scores);
    for (int64_t row = 0; s.width && row < q.count / s.width; row++) {
        int64_t query = row % s.queries, head = row / s.queries % s.heads;
        int64_t batch = row / s.queries / s.heads;
        int64_t seen = causal ? s.keys - s.queries + query + 1 : s.keys;
        int64_t from = (batch * s.kv_heads + head / (s.heads / s.kv_heads)) * s.keys * s.width;
        attend(q.values + row * s.width, k.values + from, v.values + from, seen, s.width, scale,
               weight_unit(dtype), scores, expected.values + row * s.width, slack + row * s.width);
    }
    ridge_tensor *k_tensor =
        cache ? cached(&k, dtype, s.keys + 19) : array_tensor(&k, dtype, layout);
    ridge_tensor *v_tensor =
        cache ? cached(&v, dtype, s.keys + 19) : array_tensor(&v, dtype, layout);
    ridge_tensor *got =
        ridge_attention(array_tensor(&q, dtype, layout), k_tensor, v_tensor, scale, causal);
    expect_array(got, dtype, &expected, 2, slack);
    case_end();
}

/* What hides keys: lengths by sequence, a window, a mask added to the scores. */
struct hiding {
    bool causal;
    int64_t window;
    bool lengths, mask;
};

static ridge_tensor *lengths_tensor(int64_t batch, int64_t keys) {
    struct array lengths = array_make(SIZES(batch));
    for (int64_t i = 0; i < batch; i++)
        lengths.values[i] = (double)(i ? keys * 2 / 3 : keys - 3);
    return array_tensor(&lengths, RIDGE_I32, CONTIGUOUS);
}

static void check_hidden(enum ridge_dtype dtype, struct shape s, struct hiding hiding) {
    if (!case_begin("attention %s hidden queries %lld keys %lld width %lld causal %d window %lld "
                    "lengths %d mask %d",
                    ridge_dtype_name(dtype), (long long)s.queries, (long long)s.keys,
                    (long long)s.width, hiding.causal, (long long)hiding.window, hiding.lengths,
                    hiding.mask))
        return;
    float scale = (float)(1 / sqrt((double)s.width));
    struct array q = array_noise(dtype, SIZES(s.batch, s.heads, s.queries, s.width), -3, 3, 81);
    struct array k = array_noise(dtype, SIZES(s.batch, s.kv_heads, s.keys, s.width), -3, 3, 82);
    struct array v = array_noise(dtype, SIZES(s.batch, s.kv_heads, s.keys, s.width), -1, 1, 83);
    struct array added = array_make(SIZES(s.heads, s.queries, s.keys));
    for (int64_t i = 0; i < added.count; i++) /* one key in four is hidden */
        added.values[i] = noise_bits(9, (uint64_t)i) % 4 ? 0 : -INFINITY;
    struct array expected = array_make(q.rank, q.sizes);
    double *slack = case_memory((size_t)q.count + 1, sizeof *slack);
    double *scores = case_memory((size_t)s.keys + 1, sizeof *scores);
    double *seen_k = case_memory((size_t)(s.keys * s.width), sizeof *seen_k);
    double *seen_v = case_memory((size_t)(s.keys * s.width), sizeof *seen_v);
    for (int64_t row = 0; row < q.count / s.width; row++) {
        int64_t query = row % s.queries, head = row / s.queries % s.heads;
        int64_t batch = row / s.queries / s.heads, count = 0;
        int64_t length = !hiding.lengths ? s.keys : batch ? s.keys * 2 / 3 : s.keys - 3;
        int64_t end = hiding.causal ? length - s.queries + query + 1 : length;
        int64_t start = hiding.window && end > hiding.window ? end - hiding.window : 0;
        int64_t from = (batch * s.kv_heads + head / (s.heads / s.kv_heads)) * s.keys;
        for (int64_t key = start; key < end; key++) {
            if (hiding.mask && added.values[(head * s.queries + query) * s.keys + key] != 0)
                continue;
            for (int64_t i = 0; i < s.width; i++) {
                seen_k[count * s.width + i] = k.values[(from + key) * s.width + i];
                seen_v[count * s.width + i] = v.values[(from + key) * s.width + i];
            }
            count++;
        }
        if (count)
            attend(q.values + row * s.width, seen_k, seen_v, count, s.width, scale,
                   weight_unit(dtype), scores, expected.values + row * s.width,
                   slack + row * s.width);
    }
    struct ridge_attention_mask mask = {.causal = hiding.causal, .window = hiding.window};
    if (hiding.lengths)
        mask.lengths = lengths_tensor(s.batch, s.keys);
    if (hiding.mask)
        mask.added = array_tensor(&added, dtype, PADDED);
    expect_array(ridge_attention_masked(array_tensor(&q, dtype, CONTIGUOUS),
                                        array_tensor(&k, dtype, CONTIGUOUS),
                                        array_tensor(&v, dtype, CONTIGUOUS), scale, &mask),
                 dtype, &expected, 2, slack);
    case_end();
}

static void check_hiding(enum ridge_dtype dtype) {
    static const struct shape some[] = {{2, 4, 2, 1, 130, 64},
                                        {2, 3, 1, 5, 90, 16},
                                        {2, 2, 2, 70, 100, 24},
                                        {2, 4, 4, 1, 1500, 32}};
    static const struct hiding ways[] = {{true, 0, true, false},
                                         {true, 17, true, false},
                                         {false, 0, true, true},
                                         {true, 40, false, true}};
    for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++)
        for (unsigned way = 0; way < sizeof ways / sizeof ways[0]; way++)
            if (session.native || (!session.quick && i < 3) || (i == way && i < 3))
                check_hidden(dtype, some[i], ways[way]);
}

/* Scores so large that exp of them would overflow. */
static void check_large_scores(void) {
    if (!case_begin("attention with large scores"))
        return;
    struct array q = array_make(SIZES(1, 1, 2, 4)), k = array_make(SIZES(1, 1, 3, 4)),
                 v = array_make(SIZES(1, 1, 3, 4)), expected = array_make(SIZES(1, 1, 2, 4));
    for (int64_t i = 0; i < 12; i++) {
        k.values[i] = i / 4 == 1 ? 100 : -100;
        v.values[i] = (double)i;
    }
    for (int64_t i = 0; i < 8; i++) {
        q.values[i] = 50;
        expected.values[i] = v.values[4 + i % 4];
    }
    ridge_tensor *got = ridge_attention(array_tensor(&q, RIDGE_F32, CONTIGUOUS),
                                        array_tensor(&k, RIDGE_F32, CONTIGUOUS),
                                        array_tensor(&v, RIDGE_F32, CONTIGUOUS), 1, false);
    expect_array(got, RIDGE_F32, &expected, 2, NULL);
    case_end();
}

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1},       {1, 8, 2, 1, 130, 64},   {2, 4, 4, 5, 9, 16},
    {1, 6, 3, 70, 70, 33},    {1, 4, 1, 1, 1000, 128}, {1, 2, 2, 3, 33, 256},
    {2, 3, 1, 17, 200, 80},   {1, 2, 1, 65, 129, 64},  {1, 5, 5, 1, 7, 3},
    {1, 1, 1, 128, 128, 128}, {1, 2, 2, 33, 33, 8},    {1, 3, 1, 40, 70, 24},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

void check_attention(void) {
    static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};
    if (session.quick) {
        check(RIDGE_F32, shapes[1], true, CONTIGUOUS, true);
        check(RIDGE_F32, shapes[3], true, CONTIGUOUS, true);
        check_hiding(RIDGE_F32);
        return;
    }
    for (unsigned t = 0; t < 3; t++)
        for (unsigned i = 0; i < SHAPES; i++) {
            check(dtypes[t], shapes[i], true, CONTIGUOUS, true);
            if (!session.native && i % 3 != t)
                continue;
            check(dtypes[t], shapes[i], false, CONTIGUOUS, false);
            check(dtypes[t], shapes[i], false, PADDED, false);
            check(dtypes[t], shapes[i], true, REVERSED, false);
        }
    check_large_scores();
    for (unsigned t = 0; t < 3; t++)
        if (session.native || t < 2)
            check_hiding(dtypes[t]);
}
