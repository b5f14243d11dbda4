/* The source line of an address, from DWARF's line number programs (section .debug_line, versions 2
 * to 5). Addresses are those of the ELF file, before relocation.
 *
 * The input is untrusted: every offset is checked, and every loop is bounded by the section.
 */
#ifndef RIDGE_BASE_LINE_TABLE_H
#define RIDGE_BASE_LINE_TABLE_H

#include "base/text.h"
#include "base/elf.h"

/* Zero-initialized: empty. */
struct line_table {
    struct elf_section line, line_strings, strings;
    struct line_sequence *sequences; /* sorted by address */
    size_t count, capacity;
};

struct line_place {
    struct text base, folder,
        file; /* point into the table; base: the compilation's folder, or "" */
    uint32_t line;
};

/* False when the file has no .debug_line. Units in an unknown format are left out. */
bool line_table_read(struct line_table *table, const struct elf_source *source,
                     struct status *status);
/* The same of a cubin: addresses are offsets in the file. */
bool line_table_read_object(struct line_table *table, const struct elf_source *source,
                            struct status *status);
/* Indexes table->line. line_table_read() calls it. */
bool line_table_index(struct line_table *table, struct status *status);
void line_table_finish(struct line_table *table);

/* False when the address has no line: no debug information, or code that the compiler added. */
bool line_table_find(const struct line_table *table, uint64_t address, struct line_place *place);
/* Appends the path. It is relative where the table has no folder of the compilation (to DWARF 4).
 */
void line_place_path(const struct line_place *place, struct buffer *path);

#endif
