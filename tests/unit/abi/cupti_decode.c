/* Decoding of CUPTI's records. */
#include "../test.h"

#include "abi/cupti.h"
#include "abi/cupti_decode.h"
#include "abi/cupti_library.h"

TEST(a_kernel_record_is_told_field_by_field) {
    struct cupti_kernel_record raw = {
        .kind = CUPTI_KIND_KERNEL,
        .registers = 40,
        .start = 100,
        .end = 250,
        .device = 1,
        .context = 2,
        .stream = 3,
        .grid = {4, 5, 6},
        .block = {7, 8, 9},
        .shared_static = 10,
        .shared_dynamic = -1,
        .local_per_thread = 12,
        .correlation = 13,
        .name = "kernel",
        .graph_node = 14,
        .graph = 15,
        .cluster = {16, 17, 18},
    };
    struct cupti_record record;
    REQUIRE(cupti_decode(18, &raw, &record));
    CHECK_INT(record.kind, CUPTI_RECORD_KERNEL);
    CHECK_INT(record.end - record.start, 150);
    CHECK_INT(record.device, 1);
    CHECK_INT(record.context, 2);
    CHECK_INT(record.stream, 3);
    CHECK_INT(record.grid[2], 6);
    CHECK_INT(record.block[0], 7);
    CHECK_INT(record.cluster[1], 17);
    CHECK_INT(record.registers, 40);
    CHECK_INT(record.shared_static, 10);
    CHECK_INT(record.shared_dynamic, 0); /* no size is negative */
    CHECK_INT(record.local_per_thread, 12);
    CHECK_INT(record.correlation, 13);
    CHECK_STRING(record.name, "kernel");
    CHECK_INT(record.graph, 15);
    CHECK_INT(record.graph_node, 14);
}

TEST(a_field_that_came_late_is_only_read_where_it_is) {
    struct cupti_overhead_record raw = {
        .kind = CUPTI_KIND_OVERHEAD, .overhead = 3, .start = 4, .end = 6, .correlation = 5};
    struct cupti_record record;
    REQUIRE(cupti_decode(18, &raw, &record));
    CHECK_INT(record.type, 3);
    CHECK_INT(record.end - record.start, 2);
    CHECK_INT(record.correlation, 0);
    REQUIRE(cupti_decode(130401, &raw, &record));
    CHECK_INT(record.correlation, 5);
}

TEST(a_record_of_a_kind_that_is_not_known_is_passed_over) {
    uint64_t raw[32] = {200};
    struct cupti_record record;
    CHECK(!cupti_decode(18, raw, &record));
}

TEST(versions_of_cupti_are_told_as_those_of_the_toolkit) {
    char text[CUPTI_VERSION_TEXT];
    cupti_version_text(18, text);
    CHECK_STRING(text, "11.8");
    cupti_version_text(28, text);
    CHECK_STRING(text, "12.9");
    cupti_version_text(130001, text);
    CHECK_STRING(text, "13.0");
    cupti_version_text(99, text);
    CHECK_STRING(text, "version 99");
}
