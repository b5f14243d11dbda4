/* Traces of random rows, for the exporters. */
#ifndef RIDGE_TESTS_UNIT_EXPORT_GENERATE_H
#define RIDGE_TESTS_UNIT_EXPORT_GENERATE_H

#include <stddef.h>

/* A trace of `recordings` sessions in which every column of every table takes many values,
 * including the extremes; NULL (and a failed check) when it cannot be made. */
struct trace *generate_trace(unsigned recordings, size_t rows);

#endif
