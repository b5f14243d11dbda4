/* The files of an Instruments export: which of a folder's files are tables and which is their table
 * of contents, told by their content.
 */
#ifndef RIDGE_IMPORT_XCTRACE_XCTRACE_FILES_H
#define RIDGE_IMPORT_XCTRACE_XCTRACE_FILES_H

#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

enum xctrace_file_kind {
    XCTRACE_OTHER,
    XCTRACE_TOC,
    XCTRACE_TABLE,
    XCTRACE_LFS_POINTER, /* Git left a pointer in place of an XML file */
    XCTRACE_EMPTY,       /* an XML file whose export failed */
};

struct xctrace_file {
    char *path;
    enum xctrace_file_kind kind;
    unsigned rank; /* of its first schema among those that are read */
};

struct xctrace_files {
    struct xctrace_file *files; /* tables of contents first, then tables in the order to read */
    size_t count, capacity;
    bool is_bundle; /* the folder is a .trace bundle */
};

/* What the beginning of a file is; *schema points into `head`, or is "". */
enum xctrace_file_kind xctrace_file_kind(struct text head, struct text *schema);

/* Fills kind and rank of the file at file->path. One that cannot be opened or decompressed is no
 * part of an export; fails when memory is short or reading fails. */
bool xctrace_file_look(struct xctrace_file *file, struct status *status);

/* Lists what is in a folder, without XCTRACE_OTHER. Finish it also after a failure. */
bool xctrace_files_list(const char *folder, struct xctrace_files *files, struct status *status);
void xctrace_files_finish(struct xctrace_files *files);

#endif
