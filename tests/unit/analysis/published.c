/* Which row of the table of published peaks a device's name stands for. */
#include "../test.h"

#include <ctype.h>
#include <string.h>

#include "analysis/published.h"
#include "base/array.h"

static const char *words_of(const char *name, uint32_t units) {
    const struct published *row = published_find(text_of(name), units);
    return row ? row->words : "none";
}

TEST(a_device_is_found_by_the_words_of_its_name) {
    static const struct {
        const char *name;
        uint32_t units;
        const char *words;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", 132, "h100"},
        {"NVIDIA H100 PCIe", 114, "h100 pcie"},
        {"NVIDIA H200", 0, "h200"},
        {"NVIDIA A100-SXM4-80GB", 108, "a100 sxm4 80gb"},
        {"NVIDIA A100-SXM4-40GB", 108, "a100 sxm4"},
        {"NVIDIA A100 80GB PCIe", 108, "a100 80gb pcie"},
        {"Tesla V100-SXM2-16GB", 80, "v100 sxm2"},
        {"Tesla T4", 40, "t4"},
        {"NVIDIA GeForce RTX 3080", 68, "rtx 3080"},
        {"NVIDIA GeForce RTX 3080 Ti", 80, "rtx 3080 ti"},
        {"NVIDIA RTX 6000 Ada Generation", 142, "rtx 6000 ada"},
        {"AMD Instinct MI300X VF", 304, "mi300x"},
        {"AMD Instinct MI250X / MI250", 104, "mi250x mi250"},
        {"AMD Radeon RX 7900 XTX", 96, "rx 7900 xtx"},
        {"Apple M1", 0, "m1"},
        {"Apple M4 Max", 0, "m4 max"},
        {"Intel(R) Data Center GPU Max 1550", 0, "data center max 1550"},
        {"Intel(R) Arc(TM) A770 Graphics", 0, "arc a770"},
        {"TPU v5 lite", 0, "tpu v5 lite"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        CHECK_STRING(words_of(cases[i].name, cases[i].units), cases[i].words);
}

TEST(another_device_of_a_similar_name_stays_unknown) {
    CHECK_STRING(words_of("NVIDIA GeForce RTX 4090 Laptop GPU", 76), "none");
    CHECK_STRING(words_of("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 14), "none");
    CHECK_STRING(words_of("NVIDIA A100-SXM4-40GB", 14), "none"); /* a slice of it */
    CHECK_STRING(words_of("AMD Radeon Graphics", 104), "none");
    CHECK_STRING(words_of("H", 0), "none");
    CHECK_STRING(words_of("", 0), "none");
    CHECK_STRING(words_of("big", 0), "none");
    CHECK_STRING(words_of("llvmpipe (LLVM 15.0.6, 256 bits)", 0), "none");
    CHECK_STRING(words_of("a-name-with-aword-that-is-longer-than-any-in-the-table-of-devices", 0),
                 "none");
}

TEST(the_number_of_units_decides_between_devices_of_one_name) {
    CHECK(published_find(text_of("NVIDIA GeForce RTX 3080"), 70)->memory == 912);
    CHECK(published_find(text_of("NVIDIA GeForce RTX 3080"), 68)->memory == 760);
    CHECK(published_find(text_of("AMD Instinct MI250X / MI250"), 110)->f32 == 23.95);
    CHECK(published_find(text_of("Apple M3 Max"), 0)->memory == 400); /* the largest */
}

/* A row whose figures contradict each other is a slip of the pen. */
static void check_row(const struct published *row) {
    bool ordered = (!row->matrix_f16 || row->matrix_f16 >= row->f32) &&
                   (!row->matrix_f8 || !row->matrix_f16 || row->matrix_f8 >= row->matrix_f16) &&
                   (!row->matrix_f32 || !row->matrix_f16 || row->matrix_f16 >= row->matrix_f32) &&
                   (!row->f64 || row->f64 <= row->f32) && row->memory > 20 && row->memory < 20000;
    /* operations per byte of the ordinary units; work.c relies on at least four */
    bool balanced = row->f32 == 0 || row->f32 * 1000 / row->memory > 4;
    if (!ordered || !balanced || !*row->source)
        test_failed(__FILE__, __LINE__, "%s: figures that contradict each other", row->words);
    for (const char *c = row->words; *c; c++)
        CHECK(!isupper((unsigned char)*c));
}

TEST(every_row_is_plausible_and_found_by_its_own_name) {
    unsigned count;
    const struct published *rows = published_rows(&count);
    CHECK(count > 120);
    for (unsigned i = 0; i < count; i++) {
        check_row(&rows[i]);
        CHECK(published_find(text_of(rows[i].words), rows[i].units) == &rows[i]);
    }
}
