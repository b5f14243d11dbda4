/* Reads attention_work from the views of the operands. */
#include "tensor/attention.h"

#include <string.h>

void attention_work_of(enum op op, enum ridge_dtype type, const struct node_parameters *parameters,
                       const struct view *const *views, struct attention_work *work) {
    const struct view *q = views[0], *k = views[1], *v = views[2];
    *work = (struct attention_work){
        .result = op == OP_ATTENTION_DQ    ? ATTENTION_DQ
                  : op == OP_ATTENTION_DKV ? ATTENTION_DKV
                                           : ATTENTION_OUTPUT,
        .type = type,
        .batch = q->sizes[0],
        .heads = q->sizes[1],
        .kv_heads = k->sizes[1],
        .queries = q->sizes[2],
        .keys = k->sizes[2],
        .width = q->sizes[3],
        .scale = parameters->scale,
        .causal = parameters->flags & ATTENTION_CAUSAL,
        .window = parameters->start,
        .has_lengths = parameters->flags & ATTENTION_LENGTHS,
        .has_mask = parameters->flags & ATTENTION_MASK,
    };
    if (work->has_lengths)
        work->length_stride = views[3]->strides[0];
    if (work->has_mask)
        memcpy(work->mask_strides, views[work->has_lengths ? 4 : 3]->strides,
               sizeof work->mask_strides);
    memcpy(work->q_strides, q->strides, sizeof work->q_strides);
    memcpy(work->k_strides, k->strides, sizeof work->k_strides);
    memcpy(work->v_strides, v->strides, sizeof work->v_strides);
}

uint64_t attention_score_count(const struct attention_work *work) {
    uint64_t queries = (uint64_t)work->queries, seen = queries * (uint64_t)work->keys;
    if (work->causal)
        seen -= queries * (queries - 1) / 2;
    return (uint64_t)(work->batch * work->heads) * seen;
}
