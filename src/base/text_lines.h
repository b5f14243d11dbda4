/* The lines of a text file of any size, one at a time.
 *
 *   while (text_lines_next(&lines, &line, status))
 *       ...
 *   ok = !lines.failed;
 */
#ifndef RIDGE_BASE_TEXT_LINES_H
#define RIDGE_BASE_TEXT_LINES_H

#include "base/input.h"
#include "base/text.h"

struct text_lines {
    struct input input;
    uint64_t number; /* of the current line, from 1 */
    size_t length;   /* of the current line with its end */
    bool failed;
};

bool text_lines_open(struct text_lines *lines, const char *path, struct status *status);
void text_lines_close(struct text_lines *lines);

/* The next line without its end, valid until the next call. False at the end and on failure; a line
 * of more than 16 MiB is one. */
bool text_lines_next(struct text_lines *lines, struct text *line, struct status *status);

/* Splits off the text before the first `separator` and skips that; the whole text without one. */
struct text text_split(struct text *rest, char separator);
/* Without blanks and tabs at both ends. */
struct text text_trim(struct text text);

#endif
