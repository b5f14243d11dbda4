/* The files of an `xctrace export`, in the order to read. */
#ifndef RIDGE_IMPORT_XCTRACE_XCTRACE_FILES_H
#define RIDGE_IMPORT_XCTRACE_XCTRACE_FILES_H

#include "base/status.h"
#include "base/text.h"

/* The kind of a file by its first bytes; *schema is that of a table, "" where they do not have it.
 */
enum xctrace_file_kind {
    XCTRACE_OTHER,
    XCTRACE_TOC,
    XCTRACE_TABLE,
    XCTRACE_LFS_POINTER, /* a Git LFS pointer in place of an XML file */
    XCTRACE_EMPTY,       /* an XML file whose export failed */
};
enum xctrace_file_kind xctrace_file_kind(struct text head, struct text *schema);

struct xctrace_file {
    char *path;
    enum xctrace_file_kind kind;
    unsigned rank; /* index of its schema in xctrace_kinds */
};

struct xctrace_files {
    struct xctrace_file *files; /* tables of contents first, then tables in the order to read */
    size_t count, capacity;
    bool is_bundle; /* the folder is a .trace bundle */
};

/* Sets kind and rank of the file. A file that cannot be opened or decompressed is XCTRACE_OTHER;
 * fails when memory is short or reading fails. */
bool xctrace_file_inspect(struct xctrace_file *file, struct status *status);
/* Lists the files of a folder, without XCTRACE_OTHER. Call xctrace_files_finish() even after a
 * failure. */
bool xctrace_files_list(const char *folder, struct xctrace_files *files, struct status *status);
void xctrace_files_finish(struct xctrace_files *files);

#endif
