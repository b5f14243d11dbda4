/* The sound inputs that fuzzers damage. */
#ifndef RIDGE_TESTS_FUZZ_BASE_H
#define RIDGE_TESTS_FUZZ_BASE_H

#include "base/text.h"

/* A small .ridge file with rows in every table: three steps of copies, kernels, a collective,
 * synchronizations, allocations and a compilation, with samples, counters and thread states. */
void base_trace(int fd);

/* Files to damage: the ones of base.c, written by code, and small files of the repository and of
 * the shared fixtures, where they are. Loaded once; they live as long as the program. */
struct base_files {
    struct text *files;
    size_t count;
};
/* Adds the files of a folder below the tests folder ($TESTS or "tests"), or of the fixtures
 * ($RIDGE_FIXTURES) when `folder` begins with "fixtures/", whose names end with `suffix`, in order
 * of name, up to `limit` bytes each. gzip files are decompressed. */
void base_add_folder(struct base_files *files, const char *folder, const char *suffix,
                     size_t limit);
void base_add(struct base_files *files, struct text bytes);
/* All bytes of an open file; abort when they cannot be read. */
struct text base_read(int fd);

#endif
