/* The names of PyTorch's operators in NVTX. torch.autograd.profiler.emit_nvtx() appends numbers,
 * which would make every call a different range: "aten::mm, seq = 3, op_id = 31, sizes = [...]". */
#ifndef RIDGE_TRACE_NVTX_OPERATOR_H
#define RIDGE_TRACE_NVTX_OPERATOR_H

#include <stdint.h>

#include "base/text.h"

/* The length of the operator's name; 0: it is no such text. *sequence is that of schema.h. */
size_t nvtx_operator(struct text text, uint64_t *sequence);

#endif
