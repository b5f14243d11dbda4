/* Ablated imports: a sound file of another tool, with a part of its events, rows, columns or fields
 * removed, repeated or changed, still well-formed, is imported and read in every way that ridge
 * reads a trace. */
#ifndef RIDGE_TESTS_FUZZ_ABLATED_H
#define RIDGE_TESTS_FUZZ_ABLATED_H

#include "base.h"
#include "decisions.h"

enum { ABLATED_EDITS_MAX = 16 };

/* A path for a file of this name, in a folder that is removed at the end. */
const char *ablated_path(const char *name);
void ablated_write(const char *path, struct text bytes);
/* Imports the file and reads the trace. It may be refused for a reason. */
void ablated_import(const char *path, struct decisions *decisions);

/* The trace of base.c as an export in that format. */
struct text ablated_export(const char *format);
/* A file that the input chooses. */
struct text ablated_choose(const struct base_files *files, struct decisions *decisions);
#endif
