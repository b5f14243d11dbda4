/* A line on the terminal that tells that long work goes on; nothing when stderr is no terminal.
 *
 *   struct progress *progress = progress_begin("importing", fd);
 *   ... work ...
 *   progress_end(progress);
 */
#ifndef RIDGE_CMD_PROGRESS_H
#define RIDGE_CMD_PROGRESS_H

struct progress;

/* `what` is copied. `fd` is the file that grows meanwhile, or -1. NULL when nothing
 * will be shown. */
struct progress *progress_begin(const char *what, int fd);
/* Shows this text instead from now on; it is copied. Takes NULL. */
void progress_say(struct progress *progress, const char *what);
/* Erases the line. Takes NULL. */
void progress_end(struct progress *progress);

#endif
