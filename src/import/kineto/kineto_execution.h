/* PyTorch's execution traces (ExecutionTraceObserver; Chakra): the graph of operators with their
 * inputs, without times. A node and the operator's event in the Kineto trace of the same run share
 * the record function id. */
#ifndef RIDGE_IMPORT_KINETO_KINETO_EXECUTION_H
#define RIDGE_IMPORT_KINETO_KINETO_EXECUTION_H

#include "base/intern.h"
#include "base/map.h"

struct execution_trace {
    struct map nodes; /* record function id -> id of the shapes, id of the types << 32 */
    struct intern texts;
};

/* Call execution_trace_finish() in any case. */
bool execution_trace_read(struct execution_trace *execution, const char *path,
                          struct status *status);
void execution_trace_finish(struct execution_trace *execution);
/* The shapes and types of an operator's inputs as Kineto has them, JSON lists; false: unknown. */
bool execution_trace_find(const struct execution_trace *execution, uint64_t id, struct text *shapes,
                          struct text *types);

#endif
