/* What the recorded program's environment has that it would not have alone: where the probe is,
 * what it should record, and where to put it. What the user has set is kept.
 */
#ifndef RIDGE_RECORD_ENVIRONMENT_H
#define RIDGE_RECORD_ENVIRONMENT_H

#include "record/record.h"
#include "record/target.h"

enum { ENVIRONMENT_PROBE_SIZE = 4096 };

struct environment {
    struct target_variable *variables;
    size_t count, capacity;
    char **owned; /* texts that the variables point to */
    size_t owned_count, owned_capacity;
    char probe[ENVIRONMENT_PROBE_SIZE]; /* the library's path, or "" */
    bool enables_python_names; /* Python is told to write its functions' names down, and was not
                                  before */
};

/* The probe's library: $RIDGE_PROBE_LIBRARY, beside this program, or in ../lib/ridge. Refuses one
 * that others may have changed. */
bool environment_find_probe(char path[ENVIRONMENT_PROBE_SIZE], struct status *status);

/* `spool` NULL: there is no probe. Says in the summary's notes what is in the way. */
bool environment_build(struct environment *environment, const struct record_options *options,
                       const char *spool, struct record_summary *summary, struct status *status);
void environment_finish(struct environment *environment);

#endif
