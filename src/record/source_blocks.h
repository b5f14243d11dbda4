/* The loops and statements of one source file, by line: private to source_files.c and its parsers.
 */
#ifndef RIDGE_RECORD_SOURCE_BLOCKS_H
#define RIDGE_RECORD_SOURCE_BLOCKS_H

#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

struct source_loop {
    uint32_t line;
    uint32_t around; /* index + 1 of the loop around it in the function; 0: none */
};

struct source_file {
    char *bytes;
    size_t length;
    bool has_braces;  /* C, C++, CUDA, Rust; else Python */
    uint32_t *starts; /* offset of each line */
    uint32_t *loop;   /* by line - 1: index + 1 of its innermost loop; 0: none */
    uint32_t *first;  /* by line - 1: first line of its statement */
    size_t line_count;
    struct source_loop *loops;
    size_t loop_count, loop_capacity;
    struct buffer chain;
};

/* Adds a loop whose header is on `line`, counted from 0. */
bool source_blocks_add_loop(struct source_file *file, size_t line, uint32_t around,
                            uint32_t *number, struct status *status);
bool source_blocks_is_word(char c);
struct text source_blocks_word(const struct source_file *file, size_t at);

/* Whether the path is that of a file in C, C++, CUDA or Rust. */
bool brace_blocks_is_language(struct text path);
/* Fills in the loops and statements of such a file. */
bool brace_blocks_find(struct source_file *file, struct text path, struct status *status);
/* The offset behind the comment or literal at `at`; `at` itself when there is none. */
size_t brace_blocks_skip(const struct source_file *file, size_t at);

#endif
