/* Random numbers: their distributions, that they depend only on seed and position, and arange,
 * which uses the same kernel. */
#include "native_run.h"

#include <stdlib.h>

#include "base/array.h"
#include "gen/arange.h"
#include "gen/random.h"

enum { SAMPLES = 1 << 20 };

static const double root_half = 0.70710678118654752440;

/* Sum of (count - expected)^2 / expected over the cells, less its mean, in standard deviations. */
static double chi_square_deviation(const uint32_t *counts, int cells, double expected) {
    double sum = 0;
    for (int i = 0; i < cells; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return (sum - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

TEST(every_byte_of_the_random_bits_is_equally_often_everything) {
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int byte = 0; byte < 8; byte++) {
            uint32_t counts[256] = {0};
            uint64_t key = random_key(seed);
            for (uint64_t i = 0; i < 1 << 16; i++)
                counts[random_bits(key, i) >> 8 * byte & 255]++;
            CHECK(fabs(chi_square_deviation(counts, 256, 256)) < 5);
        }
}

TEST(neighboring_positions_and_seeds_are_independent) {
    uint32_t positions[4096] = {0}, seeds[4096] = {0};
    uint64_t key = random_key(7);
    for (uint64_t i = 0; i < 1 << 17; i++) {
        uint64_t here = random_bits(key, i) >> 58, next = random_bits(key, i + 1) >> 58;
        positions[here * 64 + next]++;
        uint64_t other = random_bits(random_key(i + 1), 3) >> 58;
        seeds[(random_bits(random_key(i), 3) >> 58) * 64 + other]++;
    }
    CHECK(fabs(chi_square_deviation(positions, 4096, 32)) < 5);
    CHECK(fabs(chi_square_deviation(seeds, 4096, 32)) < 5);
}

TEST(every_bit_of_seed_and_position_turns_half_of_the_random_bits) {
    for (int bit = 0; bit < 64; bit++) {
        int by_seed = 0, by_position = 0;
        for (uint64_t i = 0; i < 256; i++) {
            uint64_t x = random_bits(random_key(i), i);
            by_seed += __builtin_popcountll(x ^ random_bits(random_key(i ^ 1ull << bit), i));
            by_position += __builtin_popcountll(x ^ random_bits(random_key(i), i ^ 1ull << bit));
        }
        CHECK(abs(by_seed - 32 * 256) < 400 && abs(by_position - 32 * 256) < 400);
    }
}

TEST(leading_zeros_are_counted_by_a_conversion) {
    for (int bit = 0; bit < 32; bit++) {
        CHECK_INT(random_leading_zeros(1u << bit), 31 - bit);
        CHECK_INT(random_leading_zeros((2u << bit) - 1), 31 - bit);
    }
}

/* The probability below the number against what the bits say, in units of the number. */
TEST(a_normal_number_is_the_quantile_of_its_bits_far_into_the_tails) {
    double worst = 0, largest = 0;
    for (int zeros = 0; zeros < 32; zeros++)
        for (uint64_t i = 0; i < 2000; i++) {
            uint64_t bits = 1ull << (63 - zeros) | random_bits(5, i) >> (zeros + 1);
            bits &= ~1ull; /* the lower tail */
            double x = random_normal(bits), tail = ldexp((double)bits, -65);
            double density = exp(-x * x / 2) * 0.39894228040143268;
            double error = fabs(0.5 * erfc(-x * root_half) - tail) / density;
            worst = error > worst ? error : worst;
            largest = fabs(x) > largest ? fabs(x) : largest;
            CHECK(random_normal(bits | 1) == -(float)x || zeros == 31);
        }
    CHECK(worst < 4e-7); /* half a unit of f32 at 6, and the polynomial's 1e-7 */
    CHECK(largest > 6.2);
}

static bool generate(const struct generate_work *work, void *result, unsigned threads) {
    struct status status;
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    bool ok =
        native_generate_values(work, &device, &request, &status) &&
        native_run(&request, native_generate_values_code, (void *[]){result}, threads, &status);
    if (!ok)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return ok;
}

TEST(normal_numbers_have_the_moments_of_their_distribution) {
    struct status status;
    float *x = memory_allocate(SAMPLES, sizeof *x, &status);
    REQUIRE(x);
    struct generate_work work = {
        .kind = GENERATE_RANDN, .type = RIDGE_F32, .count = SAMPLES, .seed = 42};
    if (generate(&work, x, 2)) {
        double sums[5] = {0};
        for (int i = 0; i < SAMPLES; i++)
            for (int power = 1; power < 5; power++)
                sums[power] += pow(x[i], power);
        /* Five standard deviations of each mean. */
        double spread = 5 / sqrt(SAMPLES);
        CHECK(fabs(sums[1] / SAMPLES) < spread);
        CHECK(fabs(sums[2] / SAMPLES - 1) < spread * sqrt(2));
        CHECK(fabs(sums[3] / SAMPLES) < spread * sqrt(15));
        CHECK(fabs(sums[4] / SAMPLES - 3) < spread * sqrt(96));
        uint32_t counts[64] = {0}; /* of equal probability */
        for (int i = 0; i < SAMPLES; i++)
            counts[(int)(32 * erfc(-x[i] * root_half))]++;
        CHECK(fabs(chi_square_deviation(counts, 64, SAMPLES / 64)) < 5);
    }
    memory_free(x);
}

TEST(uniform_numbers_fill_zero_to_one_evenly) {
    struct status status;
    float *x = memory_allocate(SAMPLES, sizeof *x, &status);
    REQUIRE(x);
    struct generate_work work = {
        .kind = GENERATE_RAND, .type = RIDGE_F32, .count = SAMPLES, .seed = 1};
    if (generate(&work, x, 2)) {
        uint32_t counts[1024] = {0};
        double least = 1, greatest = 0;
        for (int i = 0; i < SAMPLES; i++) {
            least = x[i] < least ? x[i] : least;
            greatest = x[i] > greatest ? x[i] : greatest;
            counts[(int)(x[i] * 1024) & 1023]++;
        }
        CHECK(least >= 0 && least < 1e-4 && greatest < 1 && greatest > 1 - 1e-4);
        CHECK(fabs(chi_square_deviation(counts, 1024, SAMPLES / 1024)) < 5);
    }
    memory_free(x);
}

/* All counts, sets and types: element i is the function of i, and nothing beyond is written. */
static void check_elements(enum generate_kind kind, enum ridge_dtype type, int64_t count) {
    struct status status;
    uint64_t seed = 0x123456789ABCDEFu, key = random_key(seed);
    struct generate_work work = {.kind = kind, .type = type, .count = count, .seed = seed};
    void *x = memory_allocate((size_t)count, ridge_dtype_bytes(type, 1), &status);
    REQUIRE(x);
    int32_t limit = random_limit(type == RIDGE_F32 ? 24 : type == RIDGE_F16 ? 11 : 8);
    int64_t wrong = 0;
    if (generate(&work, x, 3))
        for (int64_t i = 0; i < count; i++) {
            uint64_t bits = random_bits(key, (uint64_t)i);
            double full = kind == GENERATE_RAND ? random_uniform(bits, limit) : random_normal(bits);
            double value = element(x, type, i);
            wrong += value != rounded_to_type(full, type) || (kind == GENERATE_RAND && value >= 1);
        }
    CHECK_INT(wrong, 0);
    memory_free(x);
}

TEST(every_instruction_set_gives_the_same_random_bits) {
    static const int64_t counts[] = {0, 1, 3, 511, 513, 20001};
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (size_t c = 0; c < ARRAY_COUNT(counts); c++)
            for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_BF16; type++) {
                check_elements(GENERATE_RAND, type, counts[c]);
                check_elements(GENERATE_RANDN, type, counts[c]);
            }
}

TEST(random_bits_never_change) {
    CHECK(random_bits(random_key(0), 0) == 0x0AB9CD78742E3C01u);
    CHECK(random_bits(random_key(1), 12345) == 0x9041CC43A5B63E60u);
}

static void check_arange(enum ridge_dtype type, int64_t count, double start, double step) {
    struct status status;
    struct generate_work work = {
        .kind = GENERATE_ARANGE, .type = type, .count = count, .start = start, .step = step};
    void *x = memory_allocate((size_t)count, ridge_dtype_bytes(type, 1), &status);
    REQUIRE(x);
    int64_t wrong = 0;
    if (generate(&work, x, 2))
        for (int64_t i = 0; i < count; i++) {
            /* Where start and i * step cancel, their common scale is what bounds the error. */
            long double exact = (long double)start + (long double)step * i;
            double value = element(x, type, i);
            wrong += value != rounded_to_type((double)exact, type) &&
                     fabsl(value - exact) > 0x1p-59L * fabs(start);
        }
    if (wrong)
        test_failed(__FILE__, __LINE__, "arange %s of %lld from %g by %g: %lld wrong",
                    ridge_dtype_name(type), (long long)count, start, step, (long long)wrong);
    memory_free(x);
}

TEST(arange_is_correctly_rounded) {
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        check_arange(RIDGE_F32, 0, 0, 1);
        check_arange(RIDGE_F32, 1, -3.5, 2);
        check_arange(RIDGE_F32, 20000, 16777216 - 20000, 1);
        check_arange(RIDGE_F32, 5000, 1e9, -7);
        check_arange(RIDGE_F32, 5000, 0, 0.1);
        check_arange(RIDGE_F32, 5000, -1, 0.0004);
        check_arange(RIDGE_F32, 5000, 1e30, -2.5e26);
        check_arange(RIDGE_F32, 5000, 0, 1e-30);
        check_arange(RIDGE_F16, 3000, -1, 0.3);
        check_arange(RIDGE_BF16, 3000, 5, -0.3);
    }
}

TEST(arange_of_integers_drops_the_fraction_and_stays_in_range) {
    int32_t x[5];
    struct generate_work work = {
        .kind = GENERATE_ARANGE, .type = RIDGE_I32, .count = 5, .start = -1, .step = 0.3};
    REQUIRE(generate(&work, x, 1)); /* -1, -0.7, -0.4, -0.1, 0.2 */
    CHECK(x[0] == -1 && x[1] == 0 && x[2] == 0 && x[3] == 0 && x[4] == 0);
    work.start = 0;
    work.step = 0.3 / 0.1 / 3; /* a little less than 1 */
    REQUIRE(generate(&work, x, 1));
    CHECK(x[0] == 0 && x[1] == 1 && x[2] == 2 && x[3] == 3 && x[4] == 4);
    work.start = 2147483646;
    work.step = 1;
    REQUIRE(generate(&work, x, 1));
    CHECK(x[0] == 2147483646 && x[1] == 2147483647 && x[4] == 2147483647);
    work.start = -1e25;
    work.step = 5e24;
    REQUIRE(generate(&work, x, 1));
    CHECK(x[0] == INT32_MIN && x[1] == INT32_MIN && x[2] == 0 && x[3] == INT32_MAX);
    uint8_t bytes[5];
    work = (struct generate_work){
        .kind = GENERATE_ARANGE, .type = RIDGE_U8, .count = 5, .start = 254, .step = 1};
    REQUIRE(generate(&work, bytes, 1));
    CHECK(bytes[0] == 254 && bytes[1] == 255 && bytes[2] == 0);
}

TEST(arange_refuses_what_is_no_number) {
    struct status status = {0};
    struct arange arange;
    CHECK(!arange_prepare(NAN, 1, 4, false, &arange, &status));
    CHECK(!arange_prepare(0, INFINITY, 4, false, &arange, &status));
    CHECK(!arange_prepare(0, 1e30, 1 << 30, false, &arange, &status));
    CHECK(status.code == STATUS_USAGE && strstr(status.message, "arange"));
}

TEST(generators_have_source_in_every_language_but_not_for_quantized_types) {
    static const enum device_language languages[] = {LANGUAGE_CUDA, LANGUAGE_OPENCL,
                                                     LANGUAGE_METAL};
    for (int i = 0; i < 3; i++)
        for (int kind = GENERATE_ARANGE; kind <= GENERATE_RANDN; kind++) {
            struct status status = {0};
            struct device_capabilities device = {.language = languages[i], .compute_units = 4};
            struct generate_work work = {
                .kind = (enum generate_kind)kind, .type = RIDGE_F16, .count = 1 << 20, .step = 1};
            struct kernel_request request = {0};
            struct kernel_generated generated = {.name = "generate_f16"};
            CHECK_OK(source_generate_values(&work, &device, &request, &status), status);
            CHECK(request.grid[0] > 0 && request.block[0] > 0);
            CHECK_OK(source_generate_values_code(&request.spec, &device, &generated, &status),
                     status);
            buffer_byte(&generated.source, 0);
            REQUIRE(!generated.source.failed);
            /* One algorithm: its constants are in the text as they are in C. */
            const char *constant = kind == GENERATE_ARANGE ? "arange_fixed" : "0xD6E8FEB86659FD93u";
            CHECK(strstr(generated.source.data, constant));
            CHECK(strstr(generated.source.data, "generate_f16"));
            request.spec.types[0] = RIDGE_Q4_K;
            CHECK(!source_generate_values_code(&request.spec, &device, &generated, &status));
            CHECK(status.code == STATUS_USAGE && strstr(status.message, "q4_k"));
            kernel_generated_finish(&generated);
        }
}
