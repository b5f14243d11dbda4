/* Line tables of CPython: the tables below were written by the versions that they are named after.
 */
#include "record/python/python_lines.h"

#include "../test.h"

#define TABLE(kind, first, bytes)                                                                  \
    (struct python_line_table) {                                                                   \
        kind, first, (const uint8_t *)(bytes), sizeof(bytes) - 1                                   \
    }

TEST(lnotab_adds_lines_at_addresses) {
    /* 0: line 10, 8: line 11, 20: line 15, 24: line 13 */
    struct python_line_table table = TABLE(SPOOL_LNOTAB, 10, "\x08\x01\x0C\x04\x04\xFE");
    CHECK_INT(python_line(&table, -1), 10);
    CHECK_INT(python_line(&table, 0), 10);
    CHECK_INT(python_line(&table, 7), 10);
    CHECK_INT(python_line(&table, 8), 11);
    CHECK_INT(python_line(&table, 19), 11);
    CHECK_INT(python_line(&table, 20), 15);
    CHECK_INT(python_line(&table, 24), 13);
    CHECK_INT(python_line(&table, 1000), 13);
}

TEST(a_linetable_has_ranges_and_some_have_no_line) {
    /* [0, 4): 11, [4, 8): none, [8, 10): 9 */
    struct python_line_table table = TABLE(SPOOL_LINETABLE, 10, "\x04\x01\x04\x80\x02\xFE");
    CHECK_INT(python_line(&table, 0), 11);
    CHECK_INT(python_line(&table, 4), 0);
    CHECK_INT(python_line(&table, 8), 9);
    CHECK_INT(python_line(&table, 10), 0);
}

TEST(a_location_table_has_entries_of_several_kinds) {
    /* no columns, +1, 2 units; one line, +2, 1 unit; short, 3 units; none, 1 unit; long, -2, 1 unit
     */
    struct python_line_table table =
        TABLE(SPOOL_LOCATIONS, 10, "\xE9\x02\xE0\x00\x05\x82\x11\xF8\xF0\x05\x00\x01\x01");
    CHECK_INT(python_line(&table, 0), 11);
    CHECK_INT(python_line(&table, 2), 11);
    CHECK_INT(python_line(&table, 4), 13);
    CHECK_INT(python_line(&table, 6), 13);
    CHECK_INT(python_line(&table, 10), 13);
    CHECK_INT(python_line(&table, 12), 0);
    CHECK_INT(python_line(&table, 14), 11);
    CHECK_INT(python_line(&table, 16), 0);
}

TEST(line_tables_of_any_bytes_do_no_harm) {
    uint8_t bytes[64];
    uint32_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
        for (uint32_t format = 0; format <= SPOOL_LINE_FORMATS; format++) {
            struct python_line_table table = {format, (int32_t)seed, bytes, round % 65};
            for (int64_t offset = -2; offset < 300; offset += 7)
                CHECK(python_line(&table, offset) <= INT32_MAX);
        }
    }
}
