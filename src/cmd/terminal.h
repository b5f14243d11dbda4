/* What can be shown where the output goes. */
#ifndef RIDGE_CMD_TERMINAL_H
#define RIDGE_CMD_TERMINAL_H

#include "base/output.h"

/* The terminal's columns; 0 for a file or a pipe. */
unsigned terminal_width(const struct output *output);
/* Columns for text on this output: the terminal's, but no more than are comfortable to read; 80 for
 * a file or a pipe. */
unsigned terminal_columns(const struct output *output);

#endif
