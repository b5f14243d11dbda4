/* Python source files of the recorded program: the text of a line, and the loops around it.
 *
 * Files are read once, when a frame of them is first seen. A file that cannot be read, or that has
 * changed since the program loaded it, gives wrong or no texts; lines and functions do not depend
 * on it.
 */
#ifndef RIDGE_RECORD_SOURCE_FILES_H
#define RIDGE_RECORD_SOURCE_FILES_H

#include <stdint.h>

#include "base/map.h"
#include "base/text.h"

/* Zero-initialized: empty. */
struct source_files {
    struct map by_name; /* hash of the path -> index + 1; 0: unreadable */
    struct source_file **files;
    size_t count, capacity;
};

/* The line's text without indentation and comment; empty: unknown. Valid until
 * source_files_finish(). */
struct text source_files_line(struct source_files *files, struct text path, uint32_t line);
/* The first line of the statement that the line belongs to; 0: unknown. */
uint32_t source_files_statement(struct source_files *files, struct text path, uint32_t line);
/* The loops of the function around the line, outermost first: "LINE TEXT" each, separated by
 * newlines. A loop's own line is inside it. Valid until the next call. */
struct text source_files_loops(struct source_files *files, struct text path, uint32_t line);
void source_files_finish(struct source_files *files);

#endif
