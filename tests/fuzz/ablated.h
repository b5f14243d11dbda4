/* Ablated imports: a valid file of another tool, with some events, rows, columns or fields removed,
 * repeated or changed but still well-formed, is imported and read in every way that ridge reads a
 * trace. */
#ifndef RIDGE_TESTS_FUZZ_ABLATED_H
#define RIDGE_TESTS_FUZZ_ABLATED_H

#include "base.h"
#include "decisions.h"

enum { ABLATED_EDITS_MAX = 16 };

/* A path for a file of this name, in a folder that is removed at exit. */
const char *ablated_path(const char *name);
void ablated_write(const char *path, struct text bytes);
/* Imports the file and reads the trace. The import may fail with a message. */
void ablated_import(const char *path, struct decisions *decisions);

/* The trace of base.c, exported in that format. */
struct text ablated_export(const char *format);
/* A file chosen by the input. */
struct text ablated_choose(const struct base_files *files, struct decisions *decisions);
#endif
