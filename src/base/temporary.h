/* Files and folders that nobody is meant to keep, in $TMPDIR or /tmp. */
#ifndef RIDGE_BASE_TEMPORARY_H
#define RIDGE_BASE_TEMPORARY_H

#include "base/status.h"

/* A new empty file, open for reading and writing and closed on exec. unlink() it when done (or at
 * once, to have one without a name), close `fd`, and free the path with memory_free(). */
bool temporary_file(char **path, int *fd, struct status *status);
/* The same with a name that stands until temporary_remove(), which also frees it and takes NULL. */
bool temporary_named_file(char **path, int *fd, struct status *status);
void temporary_remove(char *path);
/* A new empty folder; the path is freed with memory_free(). */
bool temporary_folder(char **path, struct status *status);

/* Between these two the file is removed by temporary_remove_all(), which is for a signal handler,
 * before the program ends. */
void temporary_register(char *path);
void temporary_unregister(char *path);
void temporary_remove_all(void);

#endif
