/* What to clean up when the user stops ridge with Ctrl-C (or it is told to end). */
#ifndef RIDGE_CMD_INTERRUPT_H
#define RIDGE_CMD_INTERRUPT_H

/* From now on SIGINT, SIGTERM and SIGHUP remove the file at `path` (NULL: none) and the importers'
 * temporary file before they end ridge. The string must stay until the next call. */
void interrupt_removes(const char *path);

#endif
