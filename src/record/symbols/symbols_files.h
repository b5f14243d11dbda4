/* Which function is at a byte of a mapped file? Each file's symbols are read when first asked for,
 * once for all processes that map it: the same device, inode and time of change are the same file.
 *
 * Where the file itself has lost its symbol table, the distribution's debug file with its build id
 * is taken, if it is installed.
 */
#ifndef RIDGE_RECORD_SYMBOLS_SYMBOLS_FILES_H
#define RIDGE_RECORD_SYMBOLS_SYMBOLS_FILES_H

#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/status.h"
#include "record/symbols/unwind_table.h"

/* Zeroed ones are empty. */
struct symbol_files {
    struct symbol_file *items;
    size_t count, capacity;
    struct map by_identity;
    struct intern texts;
};

void symbol_files_finish(struct symbol_files *files);

/* The number of the file at a path as the kernel tells it: "//anon" and the like are files too. */
bool symbol_files_add(struct symbol_files *files, struct text path, uint32_t *file,
                      struct status *status);
/* The path's last part; "[anon]" for memory that no file is behind. */
struct text symbol_files_module(const struct symbol_files *files, uint32_t file);
bool symbol_files_anonymous(const struct symbol_files *files, uint32_t file);
/* As the linker knows it; "" when there is none. Lives as long as `files`. */
struct text symbol_files_function(struct symbol_files *files, uint32_t file, uint64_t offset);
/* Its tables for unwinding, and the address that a byte of it has there; NULL when it has none. */
const struct unwind_table *symbol_files_unwind_table(struct symbol_files *files, uint32_t file,
                                                     uint64_t offset, uint64_t *address);

#endif
