/* Chrome-trace JSON from any input. The importer's entry is import_kineto (import.h); this is the
 * same for bytes that are not a file. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_H
#define RIDGE_IMPORT_KINETO_KINETO_H

#include "base/input.h"
#include "import/import.h"

/* Takes over the opened input and closes it. */
bool kineto_import(const struct input *input, const struct import_options *options,
                   struct trace_writer *writer, struct status *status);

#endif
