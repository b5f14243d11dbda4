/* Long text on a terminal goes through the user's pager, as git's does. */
#ifndef RIDGE_CMD_PAGER_H
#define RIDGE_CMD_PAGER_H

#include <stdbool.h>

/* Starts $RIDGE_PAGER, $PAGER or less and makes standard output its input. Does nothing, and
 * returns false, where standard output is no terminal, or the pager is "" or "cat". less quits by
 * itself when the text fits on one screen. */
bool pager_start(void);
/* Closes standard output and waits until the user leaves the pager. */
void pager_finish(void);

#endif
