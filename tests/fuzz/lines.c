/* Feeds any bytes to the reader of DWARF line tables: as .debug_line, as its strings, and as a
 * cubin with relocations. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/line_table.h"
#include "targets.h"

static void *copy_of(const uint8_t *bytes, size_t length) {
    struct status status;
    void *copy = memory_allocate(length, 1, &status);
    if (!copy)
        abort();
    return memcpy(copy, bytes, length);
}

int fuzz_lines(const uint8_t *bytes, size_t length) {
    struct line_table table = {
        .line = {copy_of(bytes, length), length},
        .line_strings = {copy_of(bytes, length), length},
        .strings = {copy_of(bytes, length), length},
    };
    struct status status;
    uint64_t address = 0;
    if (line_table_index(&table, &status))
        for (size_t i = 0; i < table.count && i < 64; i++) {
            struct line_place place;
            struct buffer path = {0};
            if (line_table_find(&table, address, &place)) {
                line_place_path(&place, &path);
                if (place.line == 0 || path.length == 0)
                    abort();
            }
            buffer_finish(&path);
            address = address * 3 + 0x1000;
        }
    line_table_finish(&table);
    return 0;
}

/* Every input is an ELF file up to its first seven bytes. */
int fuzz_cubin(const uint8_t *bytes, size_t length) {
    static const uint8_t identity[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    struct line_table table;
    struct line_place place;
    struct elf elf;
    struct status status;
    uint8_t *file = copy_of(bytes, length);
    memcpy(file, identity, length < sizeof identity ? length : sizeof identity);
    struct elf_source source = {.fd = -1, .bytes = file, .length = length};
    bool ok = elf_read_object(&elf, &source, &status);
    if (ok && line_table_read_object(&table, &source, &status)) {
        for (size_t i = 0; i < elf.function_count && i < 64; i++)
            line_table_find(&table, elf.functions[i].address, &place);
        line_table_finish(&table);
    }
    elf_finish(&elf);
    memory_free(file);
    return 0;
}
