/* Attention and its gradients as work for a kernel. */
#ifndef RIDGE_TENSOR_ATTENTION_H
#define RIDGE_TENSOR_ATTENTION_H

#include "tensor/graph.h"

/* Describes OP_ATTENTION, OP_ATTENTION_DQ or OP_ATTENTION_DKV of operands with these views: q, k,
 * v, the lengths and the mask if the flags name them. */
void attention_work_of(enum op op, enum ridge_dtype type, const struct node_parameters *parameters,
                       const struct view *const *views, struct attention_work *work);

/* Scores that are computed: a causal query sees fewer keys. Lengths are not known: all keys
 * count. */
uint64_t attention_score_count(const struct attention_work *work);

#endif
