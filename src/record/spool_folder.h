/* The private folder of the spool: created before the program starts, removed when the recorder
 * ends. A folder that a killed recorder left behind is removed by the next recorder.
 */
#ifndef RIDGE_RECORD_SPOOL_FOLDER_H
#define RIDGE_RECORD_SPOOL_FOLDER_H

#include "base/status.h"

struct spool_folder {
    char path[512];
    int lock; /* held while the recorder runs */
};

/* In the first of $XDG_RUNTIME_DIR, $TMPDIR and /tmp in which no other user can rename or remove
 * the folder. */
bool spool_folder_create(struct spool_folder *folder, struct status *status);
/* With its content. Processes that still write there lose their later records. */
void spool_folder_remove(struct spool_folder *folder);

#endif
