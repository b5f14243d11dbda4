/* Imports Chrome trace JSON from any input; import_kineto (import.h) is the importer for files. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_H
#define RIDGE_IMPORT_KINETO_KINETO_H

#include "base/input.h"
#include "import/import.h"

/* Takes ownership of the input and closes it. */
bool kineto_import(const struct input *input, const struct import_options *options,
                   struct trace_writer *writer, struct status *status);

#endif
