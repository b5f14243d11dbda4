/* Traces of Intel's unitrace (pti-gpu): commands of Level Zero and OpenCL devices. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_UNITRACE_H
#define RIDGE_IMPORT_KINETO_KINETO_UNITRACE_H

#include "import/kineto/kineto_event.h"

struct kineto_rows;

/* Adds an event of the category "gpu_op". */
void unitrace_add(struct kineto_rows *rows, const struct kineto_event *event);
/* Whether an event of the category "cpu_op" is a call of Level Zero or OpenCL, by its name. */
bool unitrace_is_call(struct text name);

#endif
