/* Finds the function at an offset of a mapped file. The symbols of a file are read at the first
 * lookup, once for all processes that map it. A file is identified by device, inode and
 * modification time.
 *
 * For a stripped file the distribution's debug file with the same build id is used, if installed.
 * Source lines come from the debug information of the file or of that one.
 */
#ifndef RIDGE_RECORD_SYMBOLS_SYMBOLS_FILES_H
#define RIDGE_RECORD_SYMBOLS_SYMBOLS_FILES_H

#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "record/symbols/unwind_table.h"

/* Zero-initialized: empty. */
struct symbol_files {
    struct symbol_file *items;
    size_t count, capacity;
    struct map by_identity;
    struct intern texts;
};

void symbol_files_finish(struct symbol_files *files);

/* The number of a file, by its path as the kernel reports it, which may be "//anon" or the like. */
bool symbol_files_add(struct symbol_files *files, struct text path, uint32_t *file,
                      struct status *status);
/* The base name; "[anon]" for anonymous memory. */
struct text symbol_files_module(const struct symbol_files *files, uint32_t file);
bool symbol_files_anonymous(const struct symbol_files *files, uint32_t file);
/* What is known of an offset. The texts live as long as `files`. */
struct symbol_place {
    struct text function; /* mangled; or "" */
    uint32_t offset;      /* in the function, in bytes */
    struct text source;   /* path of the source file, by debug information; or "" */
    uint32_t line;        /* 0: unknown */
    uint32_t function_line;
};
struct symbol_place symbol_files_find(struct symbol_files *files, uint32_t file, uint64_t offset);
/* Of an address before relocation. */
struct symbol_place symbol_files_find_address(struct symbol_files *files, uint32_t file,
                                              uint64_t address);
/* The unwind table, and the address of a file offset in it; NULL when there is none. */
const struct unwind_table *symbol_files_unwind_table(struct symbol_files *files, uint32_t file,
                                                     uint64_t offset, uint64_t *address);

#endif
