/* The workgroup size of SPIR-V modules, and damaged ones. */
#include "../test.h"

#include <string.h>

#include "probe/vulkan/vulkan.h"

#define ARRAY_AND_COUNT(array) (array), sizeof(array) / sizeof *(array)
#define NAME_WORK 0x6B726F77u /* "work", little endian as in SPIR-V of this machine */
enum { HEADER_WORDS = 5 };

/* A compute shader "work" with LocalSize 8, 4, 2. */
static const uint32_t plain[] = {0x07230203, 0x00010000, 0,          5,          0, 0x0005000F, 5,
                                 1,          NAME_WORK,  0,          0x00060010, 1, 17,         8,
                                 4,          2,          0x00050036, 2,          1, 0,          3};

/* WorkgroupSize (%9) is a composite of a specialization constant (%6, id 7, default 16), a constant
 * (%7: 3) and a specialization constant (%8, id 9, default 5); it overrides LocalSize. */
static const uint32_t specialized[] = {
    0x07230203, 0x00010000, 0,  10,        0,    /* header */
    0x0005000F, 5,          1,  NAME_WORK, 0,    /* OpEntryPoint */
    0x00060010, 1,          17, 1,         1, 1, /* OpExecutionMode LocalSize */
    0x00040047, 6,          1,  7,               /* OpDecorate %6 SpecId 7 */
    0x00040047, 8,          1,  9,               /* OpDecorate %8 SpecId 9 */
    0x00040047, 9,          11, 25,              /* OpDecorate %9 BuiltIn WorkgroupSize */
    0x00040032, 2,          6,  16,              /* OpSpecConstant %6 */
    0x0004002B, 2,          7,  3,               /* OpConstant %7 */
    0x00040032, 2,          8,  5,               /* OpSpecConstant %8 */
    0x00060033, 3,          9,  6,         7, 8, /* OpSpecConstantComposite %9 */
};

static bool has_block(const struct spirv_entry *entry, uint32_t x, uint32_t y, uint32_t z) {
    return entry->found && entry->block[0] == x && entry->block[1] == y && entry->block[2] == z;
}

TEST(the_workgroup_size_is_read_from_spirv) {
    struct spirv_entry entry = spirv_find_entry(ARRAY_AND_COUNT(plain), "work", NULL);
    CHECK(has_block(&entry, 8, 4, 2));
    CHECK(entry.source.length == 0);
    entry = spirv_find_entry(ARRAY_AND_COUNT(plain), "other", NULL);
    CHECK(!entry.found && entry.block[0] == 0);
}

TEST(a_workgroup_size_may_be_specialized) {
    const uint32_t data[] = {64, 2};
    const struct vk_specialization_map_entry map[] = {{7, 0, 4}, {9, 4, 4}};
    struct vk_specialization_info values = {1, map, sizeof data, data};
    struct spirv_entry entry = spirv_find_entry(ARRAY_AND_COUNT(specialized), "work", NULL);
    CHECK(has_block(&entry, 16, 3, 5));
    entry = spirv_find_entry(ARRAY_AND_COUNT(specialized), "work", &values);
    CHECK(has_block(&entry, 64, 3, 5));
    values.mapEntryCount = 2;
    entry = spirv_find_entry(ARRAY_AND_COUNT(specialized), "work", &values);
    CHECK(has_block(&entry, 64, 3, 2));
    values.dataSize = 4; /* the second value is outside */
    entry = spirv_find_entry(ARRAY_AND_COUNT(specialized), "work", &values);
    CHECK(has_block(&entry, 64, 3, 5));
}

TEST(damaged_spirv_does_no_harm) {
    uint32_t code[sizeof specialized / sizeof *specialized];
    uint64_t state = 1;
    for (size_t words = 0; words <= sizeof code / sizeof *code; words++) {
        memcpy(code, specialized, words * sizeof *code);
        spirv_find_entry(code, words, "work", NULL);
    }
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(code, specialized, sizeof code);
        for (unsigned k = 0; k < 3; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at =
                HEADER_WORDS + (size_t)(state >> 33) % (sizeof code / sizeof *code - HEADER_WORDS);
            code[at] = (uint32_t)(state >> (state >> 59));
        }
        struct spirv_entry entry = spirv_find_entry(ARRAY_AND_COUNT(code), "work", NULL);
        CHECK(entry.found || entry.block[0] == 0);
    }
}
