/* Nsight Compute's counters of instructions: from program counters through a cubin to lines. The
 * cubin is made by hand: two functions, a line table of DWARF 2 and its relocations. */
#include "imported.h"

#include "analysis/kernel_counters.h"
#include "base/array.h"
#include "base/line_table.h"
#include "base/protobuf.h"
#include "base/text.h"

enum { FIRST = 0x700000, SECOND = 0x900000 }; /* load addresses */
#define EXCESS "memory_l2_theoretical_sectors_global"
#define STALLED "smsp__pcsamp_warps_issue_stalled_"

/* ---- The cubin ---- */

static void put_number(struct buffer *bytes, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++)
        buffer_byte(bytes, (char)(value >> 8 * i));
}

/* A sequence at address 0, of `line` up to 0x10 and the next line up to 0x40. Returns the place of
 * the address, which a relocation sets. */
static uint64_t put_sequence(struct buffer *bytes, int line) {
    buffer_append(bytes, "\0\x09\x02", 3);
    uint64_t place = bytes->length;
    put_number(bytes, 0, 8);
    buffer_append(bytes, (char[]){3, (char)(line - 1), 1}, 3); /* advance_line, copy */
    buffer_append(bytes, (char[]){3, 1, 2, 0x10, 1}, 5);       /* advance_line, advance_pc, copy */
    buffer_append(bytes, "\0\x03\x90\x0a\0", 5);               /* NVIDIA's inlined call */
    buffer_append(bytes, (char[]){2, 0x30, 0, 1, 1}, 5);       /* advance_pc, end_sequence */
    return place;
}

static void put_lines(struct buffer *bytes, uint64_t places[2]) {
    struct buffer tables = {0}, unit = {0};
    buffer_append(&tables, "\1\1\373\16\12\0\1\1\1\1\0\0\0\1", 14);
    buffer_append(&tables, "/home/ada", 10);
    buffer_byte(&tables, 0);
    buffer_append(&tables, "copy.cu\0\1\0\0", 11);
    buffer_byte(&tables, 0);
    put_number(&unit, 2, 2);
    put_number(&unit, tables.length, 4);
    buffer_text(&unit, buffer_as_text(&tables));
    for (int i = 0; i < 2; i++)
        places[i] = 4 + put_sequence(&unit, 20 + 20 * i);
    put_number(bytes, unit.length, 4);
    buffer_text(bytes, buffer_as_text(&unit));
    buffer_finish(&tables);
    buffer_finish(&unit);
}

static void put_section(struct buffer *bytes, uint32_t name, uint32_t type, uint64_t offset,
                        uint64_t length, uint32_t link, uint64_t entry) {
    put_number(bytes, name, 4);
    put_number(bytes, type, 4);
    put_number(bytes, 0, 8);
    put_number(bytes, 0, 8);
    put_number(bytes, offset, 8);
    put_number(bytes, length, 8);
    put_number(bytes, link, 4);
    put_number(bytes, 0, 4);
    put_number(bytes, 1, 8);
    put_number(bytes, entry, 8);
}

static void put_symbol(struct buffer *bytes, uint32_t name, uint16_t section) {
    put_number(bytes, name, 4);
    put_number(bytes, 0x12, 1); /* a global function */
    put_number(bytes, 0, 1);
    put_number(bytes, section, 2);
    put_number(bytes, 0, 8);
    put_number(bytes, 0x40, 8);
}

static const char section_names[] =
    "\0.names\0.strings\0.symtab\0.debug_line\0.rel.debug_line\0.text.a\0.text.b";
enum {
    NAMES = 1,
    STRINGS = 8,
    SYMTAB = 17,
    LINES = 25,
    RELOCATIONS = 37,
    CODE_A = 53,
    CODE_B = 61
};

/* With or without a line table. */
static void put_cubin(struct buffer *bytes, bool with_lines) {
    static const char strings[] = "\0first\0second";
    uint64_t at[8], places[2], length[8] = {0};
    buffer_append(bytes, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16);
    while (bytes->length < 64)
        buffer_byte(bytes, 0);
    at[1] = bytes->length;
    buffer_append(bytes, section_names, length[1] = sizeof section_names);
    at[2] = bytes->length;
    buffer_append(bytes, strings, length[2] = sizeof strings);
    at[3] = bytes->length;
    for (unsigned i = 0; i < 24; i++)
        buffer_byte(bytes, 0);
    put_symbol(bytes, 1, 6);
    put_symbol(bytes, 7, 7);
    length[3] = bytes->length - at[3];
    at[4] = bytes->length;
    put_lines(bytes, places);
    length[4] = bytes->length - at[4];
    at[5] = bytes->length;
    for (unsigned i = 0; i < 2; i++) {
        put_number(bytes, places[i], 8);
        put_number(bytes, (uint64_t)(i + 1) << 32 | 2, 8);
    }
    length[5] = bytes->length - at[5];
    for (unsigned i = 6; i < 8; i++) {
        at[i] = bytes->length;
        for (unsigned k = 0; k < 0x40; k++)
            buffer_byte(bytes, 0);
        length[i] = 0x40;
    }
    uint64_t table = bytes->length;
    put_section(bytes, 0, 0, 0, 0, 0, 0);
    put_section(bytes, NAMES, 3, at[1], length[1], 0, 0);
    put_section(bytes, STRINGS, 3, at[2], length[2], 0, 0);
    put_section(bytes, SYMTAB, 2, at[3], length[3], 2, 24);
    put_section(bytes, with_lines ? LINES : CODE_A, 1, at[4], length[4], 0, 0);
    put_section(bytes, RELOCATIONS, 9, at[5], length[5], 3, 16);
    put_section(bytes, CODE_A, 1, at[6], length[6], 0, 0);
    put_section(bytes, CODE_B, 1, at[7], length[7], 0, 0);
    memcpy(bytes->data + 40, &table, 8);
    memcpy(bytes->data + 58, (uint16_t[]){64, 8, 1}, 6);
}

/* ---- The report ---- */

static void put_message(struct buffer *bytes, struct buffer *message) {
    put_number(bytes, message->length, 4);
    buffer_text(bytes, buffer_as_text(message));
    buffer_finish(message);
}

static void put_function(struct buffer *source, const char *name, uint64_t address) {
    size_t list = protobuf_begin(source, 9), function = protobuf_begin(source, 1);
    protobuf_put_text(source, 1, text_of(name));
    protobuf_put_integer(source, 2, address);
    protobuf_end(source, function);
    protobuf_end(source, list);
}

static void put_value(struct buffer *bytes, uint32_t field, uint64_t value) {
    size_t begun = protobuf_begin(bytes, field);
    protobuf_put_integer(bytes, 5, value);
    protobuf_end(bytes, begun);
}

/* One counter with values of instructions. */
struct counter {
    const char *name;
    struct {
        uint64_t pc, value;
    } of[4];
};

static const struct counter counters[] = {
    {"gpu__time_duration.sum", {{0, 0}}},
    {EXCESS, {{FIRST, 100}, {FIRST + 0x10, 600}, {FIRST + 0x20, 200}, {SECOND + 0x10, 50}}},
    {EXCESS "_ideal", {{FIRST, 100}, {FIRST + 0x10, 100}, {FIRST + 0x20, 100}}},
    {STALLED "long_scoreboard", {{FIRST + 0x10, 30}, {FIRST + 0x30, 40}, {FIRST + 0x40, 9}}},
    {STALLED "wait", {{FIRST, 10}}},
    {STALLED "wait_not_issued", {{FIRST, 10}}},
    {"memory_type", {{FIRST, 4}}},
};

static void put_result(struct buffer *bytes) {
    struct buffer result = {0};
    protobuf_put_text(&result, 7, TEXT("first"));
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++) {
        size_t metric = protobuf_begin(&result, 13);
        protobuf_put_integer(&result, 1, i);
        put_value(&result, 2, 1000);
        for (size_t k = 0; k < ARRAY_COUNT(counters[i].of) && counters[i].of[k].value; k++) {
            size_t instance = protobuf_begin(&result, 3);
            put_value(&result, 1, counters[i].of[k].pc);
            put_value(&result, 2, counters[i].of[k].value);
            protobuf_end(&result, instance);
        }
        protobuf_end(&result, metric);
    }
    size_t kernel = protobuf_begin(&result, 15);
    protobuf_put_integer(&result, 1, 42);
    protobuf_end(&result, kernel);
    put_message(bytes, &result);
}

/* The second message of the module adds a function, as reports do. */
static void put_report(struct buffer *bytes, bool with_lines) {
    struct buffer file = {0}, block = {0}, source = {0}, more = {0}, cubin = {0};
    buffer_append(bytes, "NVR", 4);
    protobuf_put_integer(&file, 1, 7);
    put_message(bytes, &file);
    protobuf_put_integer(&block, 1, 2);
    protobuf_put_integer(&block, 2, 1);
    size_t table = protobuf_begin(&block, 4);
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        protobuf_put_text(&block, 1, text_of(counters[i].name));
    protobuf_end(&block, table);
    put_message(bytes, &block);
    put_cubin(&cubin, with_lines);
    protobuf_put_integer(&source, 1, 42);
    protobuf_put_text(&source, 4, buffer_as_text(&cubin));
    put_function(&source, "first", FIRST);
    put_message(bytes, &source);
    protobuf_put_integer(&more, 1, 42);
    put_function(&more, "second", SECOND);
    put_function(&more, "unknown", 1);
    put_message(bytes, &more);
    put_result(bytes);
    buffer_finish(&cubin);
}

struct lines_of_report {
    struct trace *trace;
    struct model model;
    struct kernel_counters counters;
};

static bool read_report(struct lines_of_report *read, bool with_lines) {
    struct buffer bytes = {0};
    struct status status = {0};
    *read = (struct lines_of_report){0};
    put_report(&bytes, with_lines);
    read->trace = imported_bytes(&import_ncu_report, buffer_as_text(&bytes), false, &status);
    buffer_finish(&bytes);
    bool ok = read->trace && model_build(&read->model, read->trace, &status) &&
              kernel_counters_find(&read->model, &read->counters, &status);
    CHECK_OK(ok, status);
    return ok;
}

static void finish(struct lines_of_report *read) {
    kernel_counters_finish(&read->counters);
    model_finish(&read->model);
    trace_close(read->trace);
}

static void check_line(const struct lines_of_report *read, enum line_cost cost, const char *place,
                       double value, double share) {
    struct buffer text = {0};
    struct status status = {0};
    double part;
    const struct kernel_line *line = kernel_lines_top(&read->counters.lines, 0, cost, &part);
    CHECK(line && kernel_line_format(read->trace, line, &text, &status));
    if (line) {
        CHECK(text_is(buffer_as_text(&text), place));
        CHECK(kernel_line_cost(line, cost) == value);
        CHECK(part > share - 1e-9 && part < share + 1e-9);
    }
    buffer_finish(&text);
}

TEST(counters_of_instructions_become_those_of_source_lines) {
    struct lines_of_report read;
    if (!read_report(&read, true))
        return;
    CHECK_INT(read.counters.lines.count, 3); /* 20 and 21 of the first function, 41 of the second */
    check_line(&read, LINE_UNCOALESCED, "copy.cu:21", 600, 600.0 / 650);
    check_line(&read, LINE_STALLS, "copy.cu:21", 70, 70.0 / 80);
    const struct kernel_line *first = &read.counters.lines.items[0];
    unsigned reason;
    CHECK(kernel_line_top_stall(first, &reason));
    CHECK_STRING(stall_name(reason), "long_scoreboard");
    CHECK_INT(first->line, 21);
    CHECK_INT(first->offset, 0x10);
    CHECK(text_is(trace_text(read.trace, first->file), "/home/ada/copy.cu"));
    finish(&read);
}

TEST(without_line_information_an_instruction_has_its_function_and_offset) {
    struct lines_of_report read;
    if (!read_report(&read, false))
        return;
    check_line(&read, LINE_UNCOALESCED, "first+0x10", 500, 500.0 / 650);
    check_line(&read, LINE_STALLS, "first+0x30", 40, 40.0 / 80);
    finish(&read);
}

TEST(a_damaged_cubin_is_refused_or_read_but_never_overrun) {
    struct buffer good = {0};
    unsigned state = 11;
    put_cubin(&good, true);
    for (unsigned round = 0; round < 20000; round++) {
        struct buffer bytes = {0};
        struct status status = {0};
        struct elf elf;
        struct line_table table;
        struct line_place place;
        buffer_text(&bytes, buffer_as_text(&good));
        for (unsigned change = 0; change <= round % 4; change++) {
            static const char values[] = {0, 1, 0x7f, (char)0x80, (char)0xff, 0x10};
            state = state * 1664525u + 1013904223u;
            bytes.data[(state >> 8) % bytes.length] = values[(state >> 4) % sizeof values];
        }
        struct elf_source source = {
            .fd = -1, .bytes = (const uint8_t *)bytes.data, .length = bytes.length};
        bool ok = elf_read_object(&elf, &source, &status) &&
                  line_table_read_object(&table, &source, &status);
        CHECK(ok || status.message[0]);
        for (size_t i = 0; ok && i < elf.function_count; i++)
            if (line_table_find(&table, elf.functions[i].address, &place))
                CHECK(place.line > 0);
        if (ok)
            line_table_finish(&table);
        elf_finish(&elf);
        buffer_finish(&bytes);
    }
    buffer_finish(&good);
}
