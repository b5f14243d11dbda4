/* The file that a recording goes to. It grows under its own name, so that a recorder that is killed
 * leaves what it had; its oldest events can be cut off.
 */
#ifndef RIDGE_RECORD_TRACE_FILE_H
#define RIDGE_RECORD_TRACE_FILE_H

#include <stdint.h>

#include "base/status.h"

enum { RECORD_PATH_SIZE = 4096 };

struct record_file {
    int fd; /* stays the same number */
    char path[RECORD_PATH_SIZE];
    char temporary[RECORD_PATH_SIZE + 16]; /* its name until record_file_appear(), or "" */
    bool regular;                          /* not a device or a pipe */
};

/* Private to the user. Fails when there is one already and `replace` is false; one that is to be
 * replaced stays until record_file_appear(). STATUS_USAGE: no file can have that name. */
bool record_file_open(struct record_file *file, const char *path, bool replace,
                      struct status *status);
bool record_file_commit(struct record_file *file, struct status *status);
/* Instead of record_file_appear(): as if it had never been opened. */
void record_file_discard(struct record_file *file);
bool record_file_close(struct record_file *file, struct status *status);

uint64_t record_file_bytes(const struct record_file *file);
/* Drops the oldest chunks of events until `keep` bytes are left, or all of them when they cannot
 * be; strings and what events refer to always stay. Adds the rows dropped to *rows. The writer must
 * have been flushed. */
bool record_file_trim(struct record_file *file, uint64_t keep, uint64_t *rows,
                      struct status *status);
/* Numbers the chunks again, after the last one is written, so that readers miss none. */
bool record_file_renumber(struct record_file *file, struct status *status);

#endif
