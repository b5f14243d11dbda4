/* `ridge export --format parquet`. */
#ifndef RIDGE_CMD_EXPORT_PARQUET_H
#define RIDGE_CMD_EXPORT_PARQUET_H

#include "trace/reader.h"

struct parquet_request {
    const char *path;       /* a file, NULL or "-" for standard output, or a folder */
    bool replace;           /* what exists */
    bool by_step;           /* folders: a folder for each step */
    enum trace_table table; /* files: the one to write */
};

/* Whether the path is a folder: it exists, or it ends with a slash. */
bool parquet_is_folder(const char *path);
bool parquet_export(struct trace *trace, const struct parquet_request *request,
                    struct status *status);

#endif
