/* Rows of a table by index: every type, rows apart, quantized rows, indices out of range. */
#include "native_run.h"

#include "gen/native/quantize.h"

static bool look_up(const struct embedding_work *work, void *table, int32_t *indices, void *result,
                    unsigned threads) {
    struct status status;
    struct device_capabilities device = native_device(threads);
    struct kernel_request request = {0};
    bool ok = native_embedding(work, &device, &request, &status) &&
              native_run(&request, native_embedding_code, (void *[]){table, indices, result},
                         threads, &status);
    if (!ok)
        test_failed(__FILE__, __LINE__, "%s", status.message);
    return ok;
}

TEST(embedding_copies_rows_and_gives_zeros_out_of_range) {
    enum { ROWS = 9, WIDTH = 37, TABLE_ROW = 40, COUNT = 5000 };
    struct status status;
    for (enum ridge_dtype type = RIDGE_F32; type <= RIDGE_U8; type++) {
        size_t size = ridge_dtype_bytes(type, 1);
        uint8_t *table = memory_allocate(ROWS * TABLE_ROW, size, &status);
        uint8_t *result = memory_allocate(COUNT * WIDTH, size, &status);
        int32_t *indices = memory_allocate(COUNT, sizeof *indices, &status);
        REQUIRE(table && result && indices);
        for (size_t i = 0; i < ROWS * TABLE_ROW * size; i++)
            table[i] = (uint8_t)(i * 31 + i / 256);
        for (int i = 0; i < COUNT; i++)
            indices[i] = (int32_t)(noise((uint64_t)i) * (ROWS + 3));
        indices[0] = INT32_MIN;
        indices[1] = INT32_MAX;
        struct embedding_work work = {type, ROWS, WIDTH, COUNT, TABLE_ROW};
        int wrong = !look_up(&work, table, indices, result, 2);
        static const uint8_t zeros[WIDTH * 4];
        for (int i = 0; i < COUNT; i++) {
            bool outside = indices[i] < 0 || indices[i] >= ROWS;
            const uint8_t *row = outside ? zeros : table + (size_t)indices[i] * TABLE_ROW * size;
            wrong += memcmp(result + (size_t)i * WIDTH * size, row, WIDTH * size) != 0;
        }
        CHECK_INT(wrong, 0);
        memory_free(table);
        memory_free(result);
        memory_free(indices);
    }
}

static dequantize_function *const dequantizers[] = SIMD_ROWS(dequantize_blocks);

TEST(embedding_of_a_quantized_table_is_f32) {
    enum { ROWS = 4, WIDTH = 512, COUNT = 7 };
    static const enum ridge_dtype types[] = {RIDGE_Q8_0, RIDGE_Q4_K};
    for (unsigned set = 0; use_simd_isa(&set); set++)
        for (int t = 0; t < 2; t++) {
            struct status status;
            size_t row_bytes = ridge_dtype_bytes(types[t], WIDTH);
            uint8_t *table = memory_allocate(ROWS, row_bytes, &status);
            float result[COUNT * WIDTH], row[WIDTH];
            int32_t indices[COUNT] = {3, 0, -1, 2, 4, 1, 1};
            REQUIRE(table);
            for (size_t i = 0; i < ROWS * row_bytes; i++)
                table[i] = (uint8_t)(i * 7 + 3) & 0x3f; /* finite scales */
            struct embedding_work work = {types[t], ROWS, WIDTH, COUNT, WIDTH};
            REQUIRE(look_up(&work, table, indices, result, 2));
            for (int i = 0; i < COUNT; i++) {
                memset(row, 0, sizeof row);
                if (indices[i] >= 0 && indices[i] < ROWS)
                    dequantizers[0](row, types[t], table + (size_t)indices[i] * row_bytes,
                                    WIDTH / (types[t] == RIDGE_Q4_K ? 256 : 32));
                CHECK(memcmp(row, result + i * WIDTH, sizeof row) == 0);
            }
            memory_free(table);
        }
}

TEST(embedding_of_no_indices_writes_nothing) {
    struct embedding_work work = {RIDGE_F32, 3, 4, 0, 4};
    float table[12] = {0};
    CHECK(look_up(&work, table, NULL, NULL, 2));
}
