/* A line on the terminal that tells that long work goes on; nothing when stderr is no terminal.
 *
 *   struct progress *progress = progress_begin("importing", fd);
 *   ... work ...
 *   progress_end(progress);
 */
#ifndef RIDGE_CMD_PROGRESS_H
#define RIDGE_CMD_PROGRESS_H

struct progress;

/* `what` must stay until the end. `fd` is the file that grows meanwhile, or -1. NULL when nothing
 * will be shown. */
struct progress *progress_begin(const char *what, int fd);
/* Erases the line. Takes NULL. */
void progress_end(struct progress *progress);

#endif
