/* Which operator of the forward pass does a call of the backward pass differentiate?
 *
 * PyTorch numbers the operators that autograd differentiates. Under
 * torch.autograd.profiler.emit_nvtx() the ranges of an operator (aten::addmm) and of its gradient
 * (AddmmBackward0) have the same number, and so they have in torch.profiler's traces.
 */
#ifndef RIDGE_ANALYSIS_FORWARD_H
#define RIDGE_ANALYSIS_FORWARD_H

#include "analysis/model.h"

/* By call: the row of the range of the forward operator; NO_ROW: unknown, or not of a backward
 * pass. NULL: no call is known to be. Free with memory_free(). Needs the ranges' sequence numbers.
 */
bool forward_find(const struct model *model, uint32_t **forward, struct status *status);
/* The first call with a stack in the range, or NO_ROW. */
uint32_t forward_call(const struct model *model, uint32_t range);

#endif
