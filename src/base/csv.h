/* One line of comma-separated values (RFC 4180). */
#ifndef RIDGE_BASE_CSV_H
#define RIDGE_BASE_CSV_H

#include "base/text.h"

/* Splits a line at commas outside of quotes, in place; returns the number of fields, at most `max`.
 * The quotes around a field are removed; a doubled quote inside it stays doubled. */
size_t csv_split(struct text line, struct text *fields, size_t max);

#endif
