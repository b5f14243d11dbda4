/* Attention on the CPU against softmax in double: odd sizes, groups of heads, slices of a cache,
 * every type and instruction set, and keys that are cut into parts. */
#include "native_run.h"

#include "base/array.h"

struct shape {
    int64_t batch, heads, kv_heads, queries, keys, width;
    bool causal;
};

static int64_t row_offset(const int64_t strides[3], int64_t b, int64_t h, int64_t t) {
    return b * strides[0] + h * strides[1] + t * strides[2];
}

/* One result row in double. */
static void reference(const struct attention_work *work, const void *q, const void *k,
                      const void *v, int64_t b, int64_t h, int64_t query, double *row,
                      double *scores) {
    int64_t kv_head = h / (work->heads / work->kv_heads);
    int64_t seen = work->causal ? work->keys - (work->queries - 1 - query) : work->keys;
    double greatest = -INFINITY, total = 0;
    for (int64_t j = 0; j < seen; j++) {
        scores[j] = 0;
        for (int64_t d = 0; d < work->width; d++)
            scores[j] += element(q, work->type, row_offset(work->q_strides, b, h, query) + d) *
                         element(k, work->type, row_offset(work->k_strides, b, kv_head, j) + d);
        scores[j] *= work->scale;
        greatest = scores[j] > greatest ? scores[j] : greatest;
    }
    for (int64_t d = 0; d < work->width; d++)
        row[d] = 0;
    for (int64_t j = 0; j < seen; j++) {
        double p = exp(scores[j] - greatest);
        total += p;
        for (int64_t d = 0; d < work->width; d++)
            row[d] += p * element(v, work->type, row_offset(work->v_strides, b, kv_head, j) + d);
    }
    for (int64_t d = 0; d < work->width && seen > 0; d++)
        row[d] /= total;
}

static double worst_error(const struct attention_work *work, const void *q, const void *k,
                          const void *v, const void *result) {
    struct status status;
    double *row = memory_allocate((size_t)(work->width + work->keys), sizeof *row, &status);
    double worst = 0;
    for (int64_t i = 0; row && i < work->batch * work->heads * work->queries; i++) {
        int64_t query = i % work->queries, h = i / work->queries % work->heads;
        reference(work, q, k, v, i / work->queries / work->heads, h, query, row, row + work->width);
        for (int64_t d = 0; d < work->width; d++) {
            double error = fabs(element(result, work->type, i * work->width + d) - row[d]);
            worst = error <= worst ? worst : error; /* also when it is not a number */
        }
    }
    memory_free(row);
    return row ? worst : INFINITY;
}

/* k and v are slices of a cache with room for 3 more tokens; q is [batch, queries, heads, width].
 */
static void check(enum ridge_dtype type, struct shape s, double scale, unsigned threads) {
    struct status status;
    int64_t room = s.keys + 3;
    struct attention_work work = {
        .type = type,
        .batch = s.batch,
        .heads = s.heads,
        .kv_heads = s.kv_heads,
        .queries = s.queries,
        .keys = s.keys,
        .width = s.width,
        .q_strides = {s.queries * s.heads * s.width, s.width, s.heads * s.width},
        .k_strides = {s.kv_heads * room * s.width, room * s.width, s.width},
        .v_strides = {s.kv_heads * room * s.width, room * s.width, s.width},
        .scale = (float)scale,
        .causal = s.causal,
    };
    int64_t q_count = s.batch * s.heads * s.queries * s.width;
    int64_t k_count = s.batch * s.kv_heads * room * s.width;
    void *q = noise_array(type, q_count, 1, &status), *k = noise_array(type, k_count, 2, &status);
    void *v = noise_array(type, k_count, 3, &status);
    void *result = noise_array(type, q_count, 4, &status);
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    REQUIRE(q && k && v && result);
    CHECK_OK(native_attention(&work, &device, &request, &status), status);
    CHECK_OK(
        native_run(&request, native_attention_code, (void *[]){q, k, v, result}, threads, &status),
        status);
    /* Scores are rounded relative to their size, which shows in the probabilities. */
    double bound = type == RIDGE_F32 ? 2e-6 : type == RIDGE_F16 ? 5e-4 : 4e-3;
    bound *= scale > 1 ? scale : 1;
    double worst = worst_error(&work, q, k, v, result);
    if (!(worst <= bound))
        test_failed(__FILE__, __LINE__, "%s [%lld, %lld/%lld, %lld x %lld, %lld]: off by %g",
                    ridge_dtype_name(type), (long long)s.batch, (long long)s.heads,
                    (long long)s.kv_heads, (long long)s.queries, (long long)s.keys,
                    (long long)s.width, worst);
    memory_free(q);
    memory_free(k);
    memory_free(v);
    memory_free(result);
}

TEST(attention_is_softmax_of_scores_times_values) {
    static const struct shape shapes[] = {
        {1, 1, 1, 1, 1, 1, false},    {2, 4, 2, 5, 7, 3, false},   {1, 2, 1, 70, 70, 16, true},
        {2, 3, 3, 9, 130, 65, true},  {1, 8, 2, 1, 200, 64, true}, {1, 6, 2, 33, 65, 40, false},
        {1, 2, 2, 64, 64, 128, true}, {1, 2, 2, 17, 19, 96, true}, {1, 1, 1, 3, 64, 256, false},
        {0, 4, 2, 5, 7, 8, false},    {2, 2, 2, 0, 7, 8, false},   {1, 2, 1, 7, 150, 0, false},
    };
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (size_t i = 0; i < ARRAY_COUNT(shapes); i++)
            for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_BF16; type++)
                check(type, shapes[i], 0.125, 1 + (unsigned)i % 3);
}

TEST(attention_over_many_keys_is_cut_into_parts_and_put_together) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        check(RIDGE_F32, (struct shape){1, 2, 1, 1, 1500, 24, true}, 2.0, 4);
        check(RIDGE_F16, (struct shape){1, 1, 1, 3, 1025, 33, true}, 1.0, 3);
        check(RIDGE_F32, (struct shape){1, 1, 1, 90, 1100, 16, true}, 1.0, 4);
        check(RIDGE_F32, (struct shape){2, 4, 4, 1, 513, 8, false}, 1.0, 8);
    }
}

TEST(attention_with_large_scores_does_not_overflow) {
    for (unsigned set = 0; use_simd_isa(&set); set++)
        check(RIDGE_F32, (struct shape){1, 1, 1, 20, 300, 32, true}, 60.0, 2);
}

TEST(a_query_that_sees_no_key_gives_zeros) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        check(RIDGE_F32, (struct shape){1, 2, 1, 9, 4, 5, true}, 1.0, 1);
        check(RIDGE_F32, (struct shape){1, 2, 1, 3, 0, 5, false}, 1.0, 1);
    }
}

TEST(attention_refuses_heads_that_are_too_wide) {
    struct status status;
    struct device_capabilities device = native_device(1);
    struct kernel_request request = {0};
    struct attention_work work = {
        .batch = 1, .heads = 1, .kv_heads = 1, .queries = 1, .keys = 1, .width = 1 << 20};
    CHECK(!native_attention(&work, &device, &request, &status));
    CHECK(status.code == STATUS_UNSUPPORTED && strstr(status.message, "65536"));
}
