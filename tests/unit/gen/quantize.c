/* Quantizing and dequantizing: byte for byte as in GGUF, and the quantization error.
 *
 * The fixtures are our own noise and bytes, taken through the reference of the `gguf` package: its
 * Q8_0 quantizer and its Q4_K dequantizer. */
#include "native_run.h"

#include "gen/native/blocks.h"
#include "gen/native/quantize.h"

/* noise(0) .. noise(31), then a hundredth of noise(32) .. noise(63). */
static const char q8_0_hex[] =
    "0320ca6ceb98ff7b63ef55bef8d0d28624b6cd51fd3a85c7e85fba6349b2ba087f121d052371d863"
    "d1a17f3446b0f167c8d00ed7eb7460c625ab10647e8d20f7adff1a0b";

/* Bytes of noise(1000) on, with scales of 0.0123 and 0.00456; then every fourth weight. */
static const char q4_k_hex[] =
    "4c22ab1c3d10bce46d66f165b49f27b6fe772ec530b1632a6c268c7ea453cb34017215c1b262a8e6"
    "42f2e2235c0352ec5aa2683cc07c2031d0d5c9a7e0454c605b892070cf9e8d79dd49422657c1b7e8"
    "5d97167d0d4350e45c7d49172018e592c6c7116432ecdad449ee99b5b8a621246e06648bbd678496"
    "135940b2ecd750991768430cd735d7de23f8733484cc9d97";
static const float q4_k_weights[64] = {
    0x1.498808p3f, -0x1.a41ep-3f, 0x1.198488p3f, 0x1.65da2p1f,  0x1.17148p-1f, 0x1.4b984p0f,
    0x1.4b984p0f,  0x1.198488p3f, 0x1.63a3cp1f,  0x1.ab1ep-2f,  0x1.01e78p0f,  0x1.cb678p0f,
    -0x1.62c4p-3f, 0x1.fdc78p0f,  0x1.3a4fp-1f,  0x1.9f0fp-1f,  0x1.c9f85p2f,  -0x1.c976p-3f,
    -0x1.c976p-3f, -0x1.c976p-3f, 0x1.f9325p2f,  0x1.5b0d28p3f, 0x1.2bd328p3f, 0x1.3c4a5p2f,
    0x1.05c52p1f,  0x1.493c9p2f,  0x1.65929p2f,  0x1.81e89p2f,  0x1.05c52p1f,  0x1.493c9p2f,
    0x1.65929p2f,  0x1.05c52p1f,  0x1.086b8p-1f, 0x1.086b8p-1f, 0x1.de77p-2f,  -0x1.f824p-4f,
    0x1.606ep-3f,  -0x1.949p-6f,  0x1.4757p-2f,  0x1.14f7p-2f,  0x1.9dea8p-1f, -0x1.d2ccp-4f,
    0x1.9dea8p-1f, 0x1.051dp-2f,  0x1.0cc5ap1f,  0x1.c205p-2f,  0x1.3f768p-1f, 0x1.ea514p0f,
    0x1.9f2cap2f,  0x1.807a2p2f,  0x1.36048p0f,  0x1.61c7ap2f,  0x1.90964p1f,  0x1.90964p1f,
    0x1.36048p0f,  0x1.b0ce8p0f,  0x1.ee4aep1f,  0x1.cbaa7p2f,  0x1.15038p-1f, 0x1.2596b8p3f,
    0x1.15038p-1f, 0x1.105638p3f, 0x1.3485cp0f,  0x1.4c277p2f};

static size_t from_hex(const char *hex, uint8_t *bytes) {
    size_t count = strlen(hex) / 2;
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        bytes[i] = (uint8_t)byte;
    }
    return count;
}

static bool convert(enum ridge_dtype from, enum ridge_dtype to, int64_t blocks, const void *x,
                    void *result, unsigned threads) {
    struct status status;
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    struct quantize_work work = {.from = from, .to = to, .blocks = blocks};
    bool quantize = to == RIDGE_Q8_0 || to == RIDGE_Q4_K;
    bool ok = quantize ? native_quantize(&work, &device, &request, &status)
                       : native_dequantize(&work, &device, &request, &status);
    ok = ok && native_run(&request, quantize ? native_quantize_code : native_dequantize_code,
                          (void *[]){(void *)x, result}, threads, &status);
    if (!ok)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return ok;
}

TEST(q8_0_blocks_are_those_of_gguf) {
    uint8_t expected[68], blocks[68];
    REQUIRE(from_hex(q8_0_hex, expected) == sizeof expected);
    float x[64];
    for (int i = 0; i < 64; i++)
        x[i] = i < 32 ? (float)noise((uint64_t)i) : (float)noise((uint64_t)i) * 0.01f;
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        REQUIRE(convert(RIDGE_F32, RIDGE_Q8_0, 2, x, blocks, 1));
        CHECK(memcmp(blocks, expected, sizeof blocks) == 0);
    }
}

TEST(q4_k_blocks_are_read_as_gguf_reads_them) {
    uint8_t block[144];
    REQUIRE(from_hex(q4_k_hex, block) == sizeof block);
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        float weights[256];
        REQUIRE(convert(RIDGE_Q4_K, RIDGE_F32, 1, block, weights, 1));
        int wrong = 0;
        for (int i = 0; i < 64; i++)
            wrong += weights[4 * i] != q4_k_weights[i];
        CHECK_INT(wrong, 0);
    }
}

TEST(q4_k_scales_and_minimums_survive_packing) {
    for (unsigned round = 0; round < 64; round++) {
        uint8_t scales[8], minimums[8], packed[12], scales_after[8], minimums_after[8];
        for (unsigned i = 0; i < 8; i++) {
            scales[i] = (uint8_t)((round + 9 * i) & 63);
            minimums[i] = (uint8_t)((3 * round + 5 * i) & 63);
        }
        q4_k_pack(scales, minimums, packed);
        q4_k_unpack(packed, scales_after, minimums_after);
        CHECK(memcmp(scales, scales_after, 8) == 0 && memcmp(minimums, minimums_after, 8) == 0);
    }
}

/* A weight of every kind of block: w = scale * q - minimum, with the scales as they were unpacked
 * one at a time, as GGUF's own description goes. */
static double q4_k_weight(const struct q4_k_block *block, int i) {
    int part = i / 32, byte = block->quants[i / 64 * 32 + i % 32];
    int quant = part % 2 ? byte >> 4 : byte & 15, scale, minimum;
    const uint8_t *packed = block->packed;
    if (part < 4) {
        scale = packed[part] & 63;
        minimum = packed[part + 4] & 63;
    } else {
        scale = (packed[part + 4] & 15) | packed[part - 4] >> 6 << 4;
        minimum = packed[part + 4] >> 4 | packed[part] >> 6 << 4;
    }
    return element(&block->scale, RIDGE_F16, 0) * scale * quant -
           element(&block->minimum, RIDGE_F16, 0) * minimum;
}

TEST(dequantizing_is_exact_for_every_type_and_number_of_blocks) {
    enum { BLOCKS = 131 };
    struct status status;
    struct q4_k_block *q4_k = memory_allocate(BLOCKS, sizeof *q4_k, &status);
    struct q8_0_block *q8_0 = memory_allocate(BLOCKS, sizeof *q8_0, &status);
    float *result = memory_allocate(BLOCKS * 256, sizeof *result, &status);
    REQUIRE(q4_k && q8_0 && result);
    for (size_t i = 0; i < BLOCKS * sizeof *q4_k; i++)
        ((uint8_t *)q4_k)[i] = (uint8_t)(int)(noise(i) * 127 + 128);
    for (size_t i = 0; i < BLOCKS * sizeof *q8_0; i++)
        ((uint8_t *)q8_0)[i] = (uint8_t)(int)(noise(i + 7) * 127 + 128);
    for (int b = 0; b < BLOCKS; b++) {
        set_element(&q4_k[b].scale, RIDGE_F16, 0, 0.01 * noise((uint64_t)b));
        set_element(&q4_k[b].minimum, RIDGE_F16, 0, 0.1 * noise((uint64_t)b + 5));
        set_element(&q8_0[b].scale, RIDGE_F16, 0, 0.01 * noise((uint64_t)b + 9));
    }
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (enum ridge_dtype to = RIDGE_F32; to <= RIDGE_BF16; to++) {
            int wrong = 0;
            REQUIRE(convert(RIDGE_Q4_K, to, BLOCKS, q4_k, result, 2));
            for (int i = 0; i < BLOCKS * 256; i++) {
                float exact = (float)q4_k_weight(&q4_k[i / 256], i % 256);
                wrong += element(result, to, i) != rounded_to_type(exact, to);
            }
            REQUIRE(convert(RIDGE_Q8_0, to, BLOCKS, q8_0, result, 2));
            for (int i = 0; i < BLOCKS * 32; i++) {
                double exact =
                    element(&q8_0[i / 32].scale, RIDGE_F16, 0) * q8_0[i / 32].quants[i % 32];
                wrong += element(result, to, i) != rounded_to_type(exact, to);
            }
            CHECK_INT(wrong, 0);
        }
    memory_free(q4_k);
    memory_free(q8_0);
    memory_free(result);
}

/* The root of the mean square of what quantizing changes, relative to that of the weights. */
static double relative_error(enum ridge_dtype from, enum ridge_dtype type, int64_t count,
                             const void *x, void *blocks, float *back, unsigned threads) {
    int64_t block = type == RIDGE_Q4_K ? 256 : 32;
    if (!convert(from, type, count / block, x, blocks, threads) ||
        !convert(type, RIDGE_F32, count / block, blocks, back, threads))
        return INFINITY;
    double error = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = element(x, from, i);
        error += (back[i] - value) * (back[i] - value);
        size += value * value;
    }
    return sqrt(error / size);
}

/* Noise of a bell shape around 0, and some outliers, as weights of models are. */
static double weight(uint64_t i) {
    double sum = noise(4 * i) + noise(4 * i + 1) + noise(4 * i + 2) + noise(4 * i + 3);
    return i % 97 == 0 ? 0.06 * sum : 0.02 * sum;
}

TEST(quantized_weights_stay_close) {
    enum { COUNT = 256 * 40 };
    struct status status;
    float *back = memory_allocate(COUNT, sizeof *back, &status);
    void *x = memory_allocate(COUNT, sizeof(float), &status);
    void *blocks = memory_allocate(COUNT / 32, 34, &status);
    REQUIRE(back && x && blocks);
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (enum ridge_dtype from = RIDGE_F32; from <= RIDGE_BF16; from++) {
            for (int i = 0; i < COUNT; i++)
                set_element(x, from, i, weight((uint64_t)i));
            CHECK(relative_error(from, RIDGE_Q8_0, COUNT, x, blocks, back, 2) < 0.0065);
            CHECK(relative_error(from, RIDGE_Q4_K, COUNT, x, blocks, back, 3) < 0.0750);
        }
    memory_free(back);
    memory_free(x);
    memory_free(blocks);
}

TEST(blocks_of_equal_zero_huge_and_missing_weights_are_sound) {
    float x[256 * 6] = {0}, back[256 * 6];
    uint8_t blocks[144 * 6], bytes[34 * 48];
    for (int i = 0; i < 256; i++) {
        x[256 + i] = 1.5f;
        x[512 + i] = -2.5f;
        x[768 + i] = i == 3 ? NAN : i == 200 ? INFINITY : (float)noise((uint64_t)i);
        x[1024 + i] = 1e38f * (float)noise((uint64_t)i);
        x[1280 + i] = 1e-42f * (float)noise((uint64_t)i);
    }
    for (unsigned set = 0; use_simd_isa(&set); set++) {
        REQUIRE(convert(RIDGE_F32, RIDGE_Q4_K, 6, x, blocks, 1));
        REQUIRE(convert(RIDGE_Q4_K, RIDGE_F32, 6, blocks, back, 1));
        for (int i = 0; i < 256; i++) {
            CHECK(back[i] == 0);
            CHECK(fabsf(back[256 + i] - 1.5f) < 0.002f && fabsf(back[512 + i] + 2.5f) < 0.003f);
        }
        for (int i = 768; i < 256 * 6; i++)
            CHECK(isfinite(back[i]));
        REQUIRE(convert(RIDGE_F32, RIDGE_Q8_0, 48, x, bytes, 1));
        REQUIRE(convert(RIDGE_Q8_0, RIDGE_F32, 48, bytes, back, 1));
        for (int i = 0; i < 256; i++)
            CHECK(back[i] == 0 && fabsf(back[256 + i] - 1.5f) < 0.002f);
        CHECK(back[771] == 0);
        for (int i = 768; i < 256 * 6; i++)
            CHECK(isfinite(back[i]));
    }
}
