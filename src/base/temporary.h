/* Temporary files and directories in $TMPDIR or /tmp. */
#ifndef RIDGE_BASE_TEMPORARY_H
#define RIDGE_BASE_TEMPORARY_H

#include "base/status.h"

/* A new empty file, open for reading and writing and close-on-exec. It is registered until
 * temporary_remove(), which removes it and frees its path: at the end, or at once for an unnamed
 * file. temporary_remove() accepts NULL. */
bool temporary_file(char **path, int *fd, struct status *status);
void temporary_remove(char *path);
/* A new empty directory; free the path with memory_free(). */
bool temporary_folder(char **path, struct status *status);

/* While registered, the file is removed by temporary_remove_all(), which signal handlers call
 * before the program ends. */
void temporary_register(char *path);
void temporary_unregister(char *path);
void temporary_remove_all(void);

#endif
