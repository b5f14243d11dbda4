/* Line tables of DWARF 2 to 5, made by hand, and robustness against damaged ones. */
#include "../test.h"

#include "base/line_table.h"
#include "base/memory.h"

enum { START = 0x401000 };

struct writer {
    uint8_t bytes[1024];
    size_t length;
};

static void put(struct writer *writer, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        writer->bytes[writer->length++] = (uint8_t)(i < 8 ? value >> (8 * i) : 0);
}

static void put_text(struct writer *writer, const char *text) {
    memcpy(writer->bytes + writer->length, text, strlen(text) + 1);
    writer->length += strlen(text) + 1;
}

static void set(struct writer *writer, size_t at, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        writer->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

/* Lines 10, 12 and 11 of main.c at START, + 4 and + 16; line 3 of inc.h from + 20 to + 24. */
static void put_program(struct writer *writer, uint64_t start, unsigned first_file) {
    static const uint8_t from_10[] = {5, 9, 3, 9, 1};             /* column; line += 9; row */
    static const uint8_t to_12[] = {13 + 5 + 2 + 4 * 14};         /* address += 4, line += 2 */
    static const uint8_t to_11[] = {2, 12, 3, 0x7f, 1};           /* address += 12, line -= 1 */
    static const uint8_t to_header[] = {9, 4, 0, 3, 0x78, 10, 1}; /* + 4, line -= 8 */
    put(writer, 0, 1);
    put(writer, 9, 1);
    put(writer, 2, 1);
    put(writer, start, 8);
    put(writer, 4, 1); /* file */
    put(writer, first_file, 1);
    memcpy(writer->bytes + writer->length, from_10, sizeof from_10);
    writer->length += sizeof from_10;
    put(writer, to_12[0], 1);
    memcpy(writer->bytes + writer->length, to_11, sizeof to_11);
    writer->length += sizeof to_11;
    put(writer, 4, 1);
    put(writer, first_file + 1, 1);
    memcpy(writer->bytes + writer->length, to_header, sizeof to_header);
    writer->length += sizeof to_header;
    put(writer, 2, 1);
    put(writer, 4, 1);
    put(writer, 0x010100, 3); /* end of the sequence */
}

/* A column of a vendor's own, which stands between the path and the folder of a file. */
struct vendor_column {
    uint8_t form; /* 0: there is none */
    uint8_t length;
    uint8_t bytes[24];
};
static struct vendor_column vendor;
static uint8_t folder_form = 0x0b, folder_bytes = 1; /* DW_FORM_data1 */

static void put_file(struct writer *writer, uint64_t name, size_t offset_bytes, unsigned folder) {
    put(writer, name, offset_bytes); /* in .debug_line_str */
    memcpy(writer->bytes + writer->length, vendor.bytes, vendor.length);
    writer->length += vendor.length;
    put(writer, folder, folder_bytes);
    put(writer, 0, 16);
}

static void put_tables(struct writer *writer, unsigned version, size_t offset_bytes) {
    if (version < 5) {
        put_text(writer, "/usr/include");
        put(writer, 0, 1);
        put_text(writer, "main.c");
        put(writer, 0, 3); /* folder, time, bytes */
        put_text(writer, "inc.h");
        put(writer, 1, 3);
        put(writer, 0, 1);
        return;
    }
    put(writer, 0x080101, 3); /* one column: path, string */
    put(writer, 2, 1);
    put_text(writer, "/home/ada");
    put_text(writer, "/usr/include");
    put(writer, vendor.form ? 4 : 3, 1); /* path, folder, MD5 */
    put(writer, 0x1f01, 2);
    if (vendor.form) {
        put(writer, 0x4081, 2); /* 0x2001 */
        put(writer, vendor.form, 1);
    }
    put(writer, 2, 1);
    put(writer, folder_form, 1);
    put(writer, 0x1e05, 2);
    put(writer, 2, 1);
    put_file(writer, 3, offset_bytes, 0); /* main.c */
    put_file(writer, 10, offset_bytes, 1);
}

static void put_unit(struct writer *writer, unsigned version, uint64_t start, bool wide) {
    size_t offset_bytes = wide ? 8 : 4;
    if (wide)
        put(writer, 0xffffffff, 4);
    size_t length_at = writer->length;
    put(writer, 0, offset_bytes);
    size_t begin = writer->length;
    put(writer, version, 2);
    if (version == 5)
        put(writer, 8, 2);
    size_t header_at = writer->length;
    put(writer, 0, offset_bytes);
    put(writer, 1, 1); /* bytes of an instruction */
    if (version >= 4)
        put(writer, 1, 1);
    put(writer, 1, 1);
    put(writer, (uint8_t)-5, 1);
    put(writer, 14, 1);
    put(writer, 13, 1);
    static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    memcpy(writer->bytes + writer->length, lengths, sizeof lengths);
    writer->length += sizeof lengths;
    put_tables(writer, version, offset_bytes);
    set(writer, header_at, writer->length - header_at - offset_bytes, offset_bytes);
    put_program(writer, start, version == 5 ? 0 : 1);
    set(writer, length_at, writer->length - begin, offset_bytes);
}

static struct line_table table_of(const uint8_t *bytes, size_t length) {
    static const char strings[] = "?\0\0main.c\0inc.h";
    struct status status;
    struct line_table table = {
        .line = {memory_allocate(length, 1, &status), length},
        .line_strings = {memory_allocate(sizeof strings, 1, &status), sizeof strings},
    };
    memcpy(table.line.bytes, bytes, length);
    memcpy(table.line_strings.bytes, strings, sizeof strings);
    CHECK_OK(line_table_index(&table, &status), status);
    return table;
}

static void check(const struct line_table *table, uint64_t address, const char *path,
                  unsigned line) {
    struct line_place place;
    struct buffer found = {0};
    REQUIRE(line_table_find(table, address, &place));
    line_place_path(&place, &found);
    CHECK(text_is(buffer_as_text(&found), path));
    CHECK_INT(place.line, line);
    buffer_finish(&found);
}

TEST(a_line_is_found_in_each_version_of_dwarf) {
    for (unsigned version = 2; version <= 5; version++)
        for (unsigned wide = 0; wide < 2; wide++) {
            struct writer writer = {.length = 0};
            put_unit(&writer, version, START, wide);
            struct line_table table = table_of(writer.bytes, writer.length);
            const char *path = version == 5 ? "/home/ada/main.c" : "main.c";
            struct line_place place;
            check(&table, START, path, 10);
            check(&table, START + 3, path, 10);
            check(&table, START + 4, path, 12);
            check(&table, START + 19, path, 11);
            check(&table, START + 20, "/usr/include/inc.h", 3);
            CHECK(!line_table_find(&table, START - 1, &place));
            CHECK(!line_table_find(&table, START + 24, &place));
            line_table_finish(&table);
        }
}

TEST(columns_that_mean_nothing_here_are_skipped_in_every_form) {
    static const struct vendor_column columns[] = {
        {0x0b, 1, {7}},                /* DW_FORM_data1 */
        {0x05, 2, {7, 7}},             /* data2 */
        {0x06, 4, {7, 7, 7, 7}},       /* data4 */
        {0x07, 8, {7, 7, 7, 7}},       /* data8 */
        {0x1e, 16, {7}},               /* data16 */
        {0x0f, 3, {0x81, 0x80, 1}},    /* udata */
        {0x0d, 2, {0xff, 0x7f}},       /* sdata */
        {0x08, 4, "abc"},              /* string */
        {0x0e, 4, {0}},                /* strp */
        {0x1f, 4, {3}},                /* line_strp */
        {0x09, 6, {5, 1, 2, 3, 4, 5}}, /* block */
        {0x0a, 3, {2, 1, 2}},          /* block1 */
        {0x03, 4, {2, 0, 1, 2}},       /* block2 */
        {0x04, 7, {3, 0, 0, 0, 1}},    /* block4 */
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct writer writer = {.length = 0};
        vendor = columns[i];
        put_unit(&writer, 5, START, false);
        struct line_table table = table_of(writer.bytes, writer.length);
        check(&table, START, "/home/ada/main.c", 10);
        check(&table, START + 20, "/usr/include/inc.h", 3);
        line_table_finish(&table);
    }
    vendor = (struct vendor_column){0};
}

TEST(a_folder_is_a_number_of_any_width) {
    static const uint8_t forms[][2] = {{0x0b, 1}, {0x05, 2}, {0x06, 4}, {0x07, 8}, {0x0f, 1}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct writer writer = {.length = 0};
        folder_form = forms[i][0];
        folder_bytes = forms[i][1];
        put_unit(&writer, 5, START, false);
        struct line_table table = table_of(writer.bytes, writer.length);
        check(&table, START, "/home/ada/main.c", 10);
        check(&table, START + 20, "/usr/include/inc.h", 3);
        line_table_finish(&table);
    }
    folder_form = 0x0b;
    folder_bytes = 1;
}

TEST(units_of_several_versions_stand_side_by_side) {
    struct writer writer = {.length = 0};
    put_unit(&writer, 5, START + 0x100, false);
    put_unit(&writer, 9, START + 0x200, false); /* unknown: left out */
    put_unit(&writer, 3, START, false);
    put_unit(&writer, 4, 0, false); /* discarded by the linker */
    struct line_table table = table_of(writer.bytes, writer.length);
    struct line_place place;
    check(&table, START + 4, "main.c", 12);
    check(&table, START + 0x104, "/home/ada/main.c", 12);
    CHECK(!line_table_find(&table, START + 0x204, &place));
    CHECK(!line_table_find(&table, 4, &place));
    line_table_finish(&table);
}

TEST(a_damaged_line_table_is_refused_or_read_but_never_overrun) {
    struct writer good = {.length = 0};
    put_unit(&good, 5, START, false);
    put_unit(&good, 3, START + 0x100, false);
    unsigned state = 7;
    for (unsigned round = 0; round < 20000; round++) {
        struct writer made = good;
        for (unsigned change = 0; change <= round % 4; change++) {
            state = state * 1664525u + 1013904223u;
            static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x10};
            made.bytes[(state >> 8) % made.length] = values[(state >> 4) % sizeof values];
        }
        size_t length = round % 5 ? made.length : (state >> 6) % made.length + 1;
        struct line_table table = table_of(made.bytes, length);
        struct line_place place;
        for (uint64_t at = START; at < START + 0x120; at += 3)
            if (line_table_find(&table, at, &place))
                CHECK(place.line > 0 && place.file.length < sizeof made.bytes);
        line_table_finish(&table);
    }
}
