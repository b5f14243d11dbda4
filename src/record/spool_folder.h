/* The private folder through which recorded processes hand over what they did: made before the
 * program starts, gone when the recorder ends. One that a killed recorder left behind is removed by
 * the next.
 */
#ifndef RIDGE_RECORD_SPOOL_FOLDER_H
#define RIDGE_RECORD_SPOOL_FOLDER_H

#include "base/status.h"

struct spool_folder {
    char path[512];
    int lock; /* held as long as the recorder lives */
};

/* In $XDG_RUNTIME_DIR, $TMPDIR or /tmp, the first that is safe: the user's own, or one where nobody
 * can rename what is another's. */
bool spool_folder_create(struct spool_folder *folder, struct status *status);
/* With all that is in it; processes that still write there lose only what comes from then on. */
void spool_folder_remove(struct spool_folder *folder);

#endif
