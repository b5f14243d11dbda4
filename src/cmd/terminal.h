/* What the terminal shows: its width, wrapped lines, the pager, the progress line. */
#ifndef RIDGE_CMD_TERMINAL_H
#define RIDGE_CMD_TERMINAL_H

#include "base/output.h"
#include "base/text.h"

/* The terminal's columns; 0 for a file or a pipe. */
unsigned terminal_width(const struct output *output);
/* Columns for text on this output: the terminal's, but no more than are comfortable to read; 80 for
 * a file or a pipe. */
unsigned terminal_columns(const struct output *output);

enum { WRAPPED_WIDTH = 80 };

/* Words in lines of at most WRAPPED_WIDTH columns that begin at `indent`, where the first one
 * stands already; ends the last line. */
void print_wrapped(struct output *output, const char *text, size_t indent);
void print_text_wrapped(struct output *output, struct text text, size_t indent);

/* Starts $RIDGE_PAGER, $PAGER or less and makes standard output its input. Does nothing, and
 * returns false, where standard output is no terminal, or the pager is "" or "cat". less quits by
 * itself when the text fits on one screen. */
bool pager_start(void);
/* Closes standard output and waits until the user leaves the pager. */
void pager_finish(void);

/* A line on standard error while something takes long, if that is a terminal:
 *
 *   struct progress *progress = progress_begin("importing", fd);
 *   ... work ...
 *   progress_end(progress);
 */
struct progress;

/* `what` is copied. `fd` is the file that grows meanwhile, or -1. NULL when nothing
 * will be shown. */
struct progress *progress_begin(const char *what, int fd);
/* Shows this text instead from now on; it is copied. Takes NULL. */
void progress_say(struct progress *progress, const char *what);
/* Erases the line. Takes NULL. */
void progress_end(struct progress *progress);

#endif
