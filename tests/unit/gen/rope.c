/* Rotary positions on the CPU against sines in double. */
#include "native_run.h"

static void check(enum ridge_dtype type, int64_t batch, int64_t heads, int64_t tokens,
                  int64_t width, int64_t start, bool interleaved, unsigned threads) {
    struct status status;
    /* x is [batch, tokens, heads, width + 2]. */
    int64_t row = width + 2;
    struct rope_work work = {
        .type = type,
        .batch = batch,
        .heads = heads,
        .tokens = tokens,
        .width = width,
        .strides = {tokens * heads * row, row, heads * row},
        .position_strides = {0, 1},
        .base = 10000,
        .interleaved = interleaved,
    };
    void *x = noise_array(type, batch * heads * tokens * row, 1, &status);
    void *result = noise_array(type, batch * heads * tokens * width, 2, &status);
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    int32_t *positions = memory_allocate((size_t)tokens + 1, sizeof *positions, &status);
    REQUIRE(x && result && positions);
    for (int64_t t = 0; t < tokens; t++)
        positions[t] = (int32_t)(start + t);
    CHECK_OK(native_rope(&work, &device, &request, &status), status);
    CHECK_OK(
        native_run(&request, native_rope_code, (void *[]){x, positions, result}, threads, &status),
        status);
    double worst = 0;
    for (int64_t i = 0; i < batch * heads * tokens; i++) {
        int64_t t = i % tokens, h = i / tokens % heads, b = i / tokens / heads;
        int64_t from = b * work.strides[0] + h * work.strides[1] + t * work.strides[2];
        for (int64_t p = 0; p < width / 2; p++) {
            int64_t first = interleaved ? 2 * p : p,
                    second = interleaved ? 2 * p + 1 : p + width / 2;
            double angle = (double)(start + t) * pow(10000, -2.0 * (double)p / (double)width);
            double u = element(x, type, from + first), v = element(x, type, from + second);
            double errors[] = {
                element(result, type, i * width + first) - (u * cos(angle) - v * sin(angle)),
                element(result, type, i * width + second) - (v * cos(angle) + u * sin(angle))};
            for (int e = 0; e < 2; e++)
                worst = fabs(errors[e]) <= worst ? worst : fabs(errors[e]);
        }
    }
    CHECK(worst <= (type == RIDGE_F32 ? 3e-7 : type == RIDGE_F16 ? 6e-4 : 4.5e-3));
    memory_free(positions);
    memory_free(x);
    memory_free(result);
}

TEST(rope_turns_pairs_by_their_position) {
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_BF16; type++)
            for (int interleaved = 0; interleaved < 2; interleaved++) {
                check(type, 1, 1, 1, 2, 0, interleaved, 1);
                check(type, 2, 3, 5, 34, 7, interleaved, 2);
                check(type, 1, 2, 131, 64, 0, interleaved, 1);
                check(type, 2, 4, 0, 8, 0, interleaved, 2);
            }
}

TEST(rope_is_exact_far_into_a_text_and_for_one_token_on_many_threads) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        check(RIDGE_F32, 1, 2, 70, 128, 1000000, false, 2);
        check(RIDGE_F32, 1, 300, 1, 128, 123456, true, 4);
    }
}
