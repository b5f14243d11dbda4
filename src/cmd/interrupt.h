/* What to clean up when the user stops ridge with Ctrl-C (or it is told to end). */
#ifndef RIDGE_CMD_INTERRUPT_H
#define RIDGE_CMD_INTERRUPT_H

#include "base/output.h"

/* From now on SIGINT, SIGTERM and SIGHUP remove the importers' temporary file before they end
 * ridge. */
void interrupt_arm(void);

/* output_open(), and until interrupt_close() those signals remove the half-written file too. A few
 * outputs may be open at a time. */
bool interrupt_open(struct output *output, const char *path, bool replace, struct status *status);
/* Commits when all went well so far (`ok`), else abandons; returns whether all went well. */
bool interrupt_close(struct output *output, bool ok, struct status *status);

#endif
