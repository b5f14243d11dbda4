/* Sentences in lines that fit a terminal. */
#ifndef RIDGE_CMD_WRAPPED_H
#define RIDGE_CMD_WRAPPED_H

#include "base/output.h"

enum { WRAPPED_WIDTH = 80 };

/* Words in lines of at most WRAPPED_WIDTH columns that begin at `indent`, where the first one
 * stands already; ends the last line. */
void print_wrapped(struct output *output, const char *text, size_t indent);

#endif
