/* gated_mlp and lora as one kernel: the products that they are made of, seen as one work. */
#ifndef RIDGE_TENSOR_DUAL_GEMM_H
#define RIDGE_TENSOR_DUAL_GEMM_H

#include "tensor/graph.h"

/* Describes OP_GATED of x, gate, up or OP_LORA of x, w, a, b. False when the operands are not laid
 * out as such a kernel needs them, or do not belong together at all: that is for the products to
 * tell. x may have more axes than two, if its rows are evenly spaced. */
bool dual_gemm_work_of(const struct graph *graph, enum op op, const struct node_input *inputs,
                       float scale, struct dual_gemm_work *work);

#endif
