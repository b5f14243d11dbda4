/* The source line of an instruction, from a code object's line table. */
#ifndef RIDGE_RECORD_PYTHON_PYTHON_LINES_H
#define RIDGE_RECORD_PYTHON_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "spool/spool.h"

struct python_line_table {
    uint32_t format; /* enum spool_line_format */
    int32_t first_line;
    const uint8_t *bytes; /* untrusted */
    size_t length;
};

/* `offset` is in bytes; one before the first instruction has the first line. 0: the instruction has
 * no line, or the table does not reach it. */
uint32_t python_line(const struct python_line_table *table, int64_t offset);

#endif
