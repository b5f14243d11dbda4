/* Function symbols of ELF files, and robustness against damaged files. */
#include "../test.h"

#include "base/elf.h"

/* A small program: one loaded segment, a note with a build id, four symbols. */
struct made {
    uint8_t identity[16];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, segments_at, sections_at;
    uint32_t flags;
    uint16_t header_bytes, segment_bytes, segment_count, section_bytes, section_count, names;
    struct {
        uint32_t type, flags;
        uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
    } segments[2];
    struct {
        uint32_t name, type;
        uint64_t flags, address, offset, bytes;
        uint32_t link, info;
        uint64_t alignment, entry_bytes;
    } sections[4];
    struct {
        uint32_t name;
        uint8_t info, other;
        uint16_t section;
        uint64_t value, bytes;
    } symbols[5];
    struct {
        uint32_t name_bytes, content_bytes, type;
        char name[4];
        uint8_t content[20];
    } note;
    char strings[64];
};

enum { FUNCTION = 2, LOCAL = 0 << 4, GLOBAL = 1 << 4 };

static struct made make(void) {
    struct made made = {
        .identity = {0x7f, 'E', 'L', 'F', 2, 1, 1},
        .type = 3,
        .segments_at = offsetof(struct made, segments),
        .sections_at = offsetof(struct made, sections),
        .segment_bytes = sizeof made.segments[0],
        .segment_count = 2,
        .section_bytes = sizeof made.sections[0],
        .section_count = 4,
        .segments = {{.type = 1, .offset = 0x1000, .address = 0x401000, .file_bytes = 0x800},
                     {.type = 4,
                      .offset = offsetof(struct made, note),
                      .file_bytes = sizeof made.note}},
        .sections = {{0},
                     {.type = 2,
                      .offset = offsetof(struct made, symbols),
                      .bytes = sizeof made.symbols,
                      .link = 2,
                      .entry_bytes = sizeof made.symbols[0]},
                     {.type = 3,
                      .offset = offsetof(struct made, strings),
                      .bytes = sizeof made.strings},
                     {.type = 1, .address = 0x401000, .bytes = 0x300}},
        .symbols = {{0},
                    {1, LOCAL | FUNCTION, 0, 3, 0x401100, 0x40},
                    {7, GLOBAL | FUNCTION, 0, 3, 0x401100, 0x40},
                    {12, GLOBAL | FUNCTION, 0, 3, 0x401200, 0},
                    {24, GLOBAL | FUNCTION, 0, 0, 0x401180, 0x40}},
        .note = {4, 20, 3, "GNU", {1, 2, 3}},
    };
    memcpy(made.strings, "\0local\0name\0last@V1.0\0\0\0undefined", 34);
    return made;
}

static struct text function_at(const struct elf *elf, uint64_t address) {
    uint64_t start;
    return elf_function_at(elf, address, &start);
}

TEST(functions_are_found_by_address_with_their_best_name) {
    struct made made = make();
    struct elf elf;
    struct status status;
    REQUIRE(elf_read(&elf, &(struct elf_source){-1, (const uint8_t *)&made, sizeof made}, &status));
    CHECK(elf.has_symtab);
    CHECK_INT(elf.build_id_length, 20);
    CHECK_INT(elf.function_count, 2);
    uint64_t address = 0;
    CHECK(elf_address(&elf, 0x1123, &address));
    CHECK_INT(address, 0x401123);
    CHECK(!elf_address(&elf, 0x1800, &address));
    CHECK(!elf_address(&elf, 0xfff, &address));
    CHECK(text_is(function_at(&elf, 0x401123), "name"));
    CHECK(text_is(function_at(&elf, 0x4010ff), ""));
    CHECK(text_is(function_at(&elf, 0x401140), "")); /* after its end */
    CHECK(text_is(function_at(&elf, 0x4012ff), "last"));
    CHECK(text_is(function_at(&elf, 0x401300), "")); /* after the end of its section */
    elf_finish(&elf);
}

TEST(a_part_is_read_up_to_the_end_of_the_file_and_no_further) {
    static const uint8_t bytes[] = {1, 2, 3, 4};
    struct elf_source source = {-1, bytes, sizeof bytes};
    uint8_t part[4] = {0};
    CHECK(elf_source_read(&source, 2, part, 2));
    CHECK_INT(part[1], 4);
    CHECK(elf_source_read(&source, 4, part, 0)); /* an empty section may lie there */
    CHECK(!elf_source_read(&source, 3, part, 2));
    CHECK(!elf_source_read(&source, 5, part, 0));
    CHECK(!elf_source_read(&source, UINT64_MAX, part, 2));
}

TEST(a_damaged_elf_file_is_refused_or_read_but_never_overrun) {
    struct made good = make();
    unsigned state = 1;
    for (unsigned round = 0; round < 20000; round++) {
        struct made made = good;
        for (unsigned change = 0; change <= round % 3; change++) {
            state = state * 1664525u + 1013904223u;
            static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x10};
            ((uint8_t *)&made)[(state >> 8) % sizeof made] = values[(state >> 4) % sizeof values];
        }
        struct elf elf;
        struct status status;
        size_t length = round % 5 ? sizeof made : (state >> 6) % sizeof made;
        if (elf_read(&elf, &(struct elf_source){-1, (const uint8_t *)&made, length}, &status)) {
            uint64_t address;
            elf_address(&elf, 0x1100, &address);
            for (uint64_t at = 0x401000; at < 0x401400; at += 0x40)
                CHECK(function_at(&elf, at).length < sizeof made);
        }
        elf_finish(&elf);
    }
}
