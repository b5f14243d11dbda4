/* gated_mlp and lora as one kernel: their products as one piece of work. */
#ifndef RIDGE_TENSOR_DUAL_GEMM_H
#define RIDGE_TENSOR_DUAL_GEMM_H

#include "tensor/graph.h"

/* Describes OP_GATED of x, gate, up or OP_LORA of x, w, a, b. False if the layout of the
 * operands does not suit the kernel, or if they do not match: the separate products then report
 * that. x may have more than two axes if its rows are evenly spaced. */
bool dual_gemm_work_of(const struct graph *graph, enum op op, const struct node_input *inputs,
                       float scale, struct dual_gemm_work *work);

#endif
