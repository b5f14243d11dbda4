/* The variables that are added to the environment of the recorded program: the probe's path, its
 * options and the spool. The user's own values are kept.
 */
#ifndef RIDGE_RECORD_ENVIRONMENT_H
#define RIDGE_RECORD_ENVIRONMENT_H

#include "record/record.h"
#include "record/target.h"

enum { ENVIRONMENT_PROBE_SIZE = 4096 };

struct environment {
    struct target_variable *variables;
    size_t count, capacity;
    char **owned; /* strings that the variables refer to */
    size_t owned_count, owned_capacity;
    char probe[ENVIRONMENT_PROBE_SIZE]; /* path of the library, or "" */
    bool enables_python_names;          /* ridge, not the user, sets PYTHONPERFSUPPORT=1 */
};

/* The probe's library: $RIDGE_PROBE_LIBRARY, next to this program, or in ../lib/ridge. Fails when
 * other users could have changed it. */
bool environment_find_probe(char path[ENVIRONMENT_PROBE_SIZE], struct status *status);

/* `spool` NULL: no probe. Conflicts with other tools are added to the summary's notes. */
bool environment_build(struct environment *environment, const struct record_options *options,
                       const char *spool, struct record_summary *summary, struct status *status);
/* Only the spool and the probe's options, for a process that runs already: CUDA, unless `options`
 * exclude it. */
bool environment_build_session(struct environment *environment,
                               const struct record_options *options, const char *spool,
                               struct status *status);
/* The value of a variable that was set here; NULL: none. */
const char *environment_value(const struct environment *environment, const char *name);
void environment_finish(struct environment *environment);

#endif
