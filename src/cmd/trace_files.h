/* The files of several arguments, of which some may be folders. */
#ifndef RIDGE_CMD_TRACE_FILES_H
#define RIDGE_CMD_TRACE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct trace_files {
    char **paths; /* in order; those of a folder by name, numbers in them by value */
    size_t count, capacity;
};

/* Hidden files, folders and .html, .md, .txt and .csv files in a folder are left out. */
bool trace_files_find(const char *const *arguments, unsigned count, struct trace_files *files,
                      struct status *status);
void trace_files_finish(struct trace_files *files);

#endif
