/* For tests of importers: a file, or bytes as a file, through one importer into an opened trace. */
#ifndef RIDGE_TESTS_UNIT_IMPORT_IMPORTED_H
#define RIDGE_TESTS_UNIT_IMPORT_IMPORTED_H

#include "../test.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/output.h"
#include "import/import.h"
#include "rows.h"

/* A new file in the temporary folder: its descriptor, and its name in `path`. */
static inline int imported_temporary(char *path, size_t size) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, size, "%s/ridge-test-XXXXXX", folder ? folder : "/tmp");
    return mkstemp(path);
}

/* The trace, or NULL and the status of the failure. */
static inline struct trace *imported_file(const struct importer *importer, const char *path,
                                          bool skip_invalid, struct status *status) {
    struct trace *trace = NULL;
    char out[512];
    int fd = imported_temporary(out, sizeof out);
    unlink(out);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, status);
    struct import_source source = {.path = path};
    struct import_options options = {.skip_invalid = skip_invalid};
    if (writer && importer->run(&source, &options, writer, status) &&
        trace_writer_finish(writer, status) && !trace_open_fd(fd, out, &trace, status))
        trace = NULL;
    trace_writer_destroy(writer);
    close(fd);
    if (trace && strstr(path, "ridge-test-")) /* not a shared fixture */
        rows_check(trace);
    return trace;
}

static inline struct trace *imported_bytes(const struct importer *importer, struct text bytes,
                                           bool skip_invalid, struct status *status) {
    char path[512];
    int fd = imported_temporary(path, sizeof path);
    struct trace *trace = NULL;
    if (fd >= 0 && output_write_fd(fd, bytes.data, bytes.length, status))
        trace = imported_file(importer, path, skip_invalid, status);
    close(fd);
    unlink(path);
    if (ablation_is_wanted())
        ablation_of_bytes(importer, bytes, skip_invalid);
    return trace;
}

#endif
