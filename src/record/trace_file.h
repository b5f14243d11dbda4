/* The output file of a recording. It grows under its final name, so that a killed recorder leaves a
 * readable trace. Its oldest events can be removed.
 */
#ifndef RIDGE_RECORD_TRACE_FILE_H
#define RIDGE_RECORD_TRACE_FILE_H

#include <stdint.h>

#include "base/status.h"

enum { RECORD_PATH_SIZE = 4096 };

struct record_file {
    int fd; /* its number never changes */
    char path[RECORD_PATH_SIZE];
    char temporary[RECORD_PATH_SIZE + 16]; /* name until record_file_commit(), or "" */
    bool regular;                          /* not a device or a pipe */
};

/* Created with mode 0600. Fails when it exists and `replace` is false. A file to be replaced stays
 * until record_file_commit(). STATUS_USAGE: no file can have that name. */
bool record_file_open(struct record_file *file, const char *path, bool replace,
                      struct status *status);
bool record_file_commit(struct record_file *file, struct status *status);
/* Instead of record_file_commit(): removes the file. */
void record_file_discard(struct record_file *file);
bool record_file_close(struct record_file *file, struct status *status);

uint64_t record_file_bytes(const struct record_file *file);
/* Removes the oldest event chunks until the file has `keep` bytes, or all of them; strings and
 * entities stay. Adds the number of removed rows to *rows. Flush the writer first. */
bool record_file_trim(struct record_file *file, uint64_t keep, uint64_t *rows,
                      struct status *status);
/* Renumbers the chunks of a complete file, so that readers do not report missing ones. */
bool record_file_renumber(struct record_file *file, struct status *status);

#endif
