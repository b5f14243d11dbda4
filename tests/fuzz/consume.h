/* Everything that the commands do with a trace, and what must hold whatever the trace is. */
#ifndef RIDGE_TESTS_FUZZ_CONSUME_H
#define RIDGE_TESTS_FUZZ_CONSUME_H

#include <stdint.h>

#include "base/status.h"
#include "decisions.h"

/* Reports in every format, what-if, info and exports of a .ridge file. `decisions` selects the part
 * of the run, the single changes, and whether everything is done twice and compared. A file that
 * cannot be opened is fine when the reader gives a reason. */
void consume_trace(int fd, struct decisions *decisions);

/* Prints what is wrong and aborts. */
_Noreturn void fuzz_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Aborts unless the status holds a reason. $RIDGE_FUZZ_REASONS prints it, to see how far inputs
 * get. */
void fuzz_check_reason(const struct status *status, const char *what);

/* A checksum of the numbers in what was printed so far and in the reasons of failures; sentences
 * may be reworded. Of fractions 6 digits count, and no path does. */
extern uint64_t fuzz_figures;

/* A file without a name that all inputs share; emptied. */
int fuzz_empty_file(int *fd);

#endif
