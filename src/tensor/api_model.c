/* Public operations of language models. */
#include <math.h>

#include "tensor/operation.h"

static bool build_embedding(struct builder *build, const struct operation *operation,
                            struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    struct tensor *table = inputs[0], *indices = inputs[1];
    if (table->view.rank != 2 || indices->dtype != RIDGE_I32)
        return status_fail(build->status, STATUS_USAGE,
                           "it takes a table [rows, width] and i32 indices");
    if (dtype_is_quantized(table->dtype) && table->view.strides[1] != 1)
        return status_fail(build->status, STATUS_USAGE, "a quantized table must be contiguous");
    if (table->view.sizes[1] > 1 && table->view.strides[1] != 1)
        table = build_contiguous(build, table);
    indices = build_contiguous(build, indices);
    if (!table || !indices)
        return false;
    struct view shape = indices->view;
    if (!view_insert_axis(&shape, shape.rank, build->status))
        return false;
    shape.sizes[shape.rank - 1] = table->view.sizes[1];
    struct tensor *operands[] = {table, indices};
    enum ridge_dtype dtype = dtype_is_quantized(table->dtype) ? RIDGE_F32 : table->dtype;
    if (!view_contiguous(shape.rank, shape.sizes, &shape, build->status))
        return false;
    outputs[0] = build_kernel(build, OP_EMBEDDING, dtype, &shape, operands, 2, NULL);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_embedding(ridge_tensor *table, ridge_tensor *indices) {
    struct operation operation = {.name = "ridge_embedding",
                                  .build = build_embedding,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {table, indices}};
    return operation_result(&operation);
}

/* Kernels of heads walk their last axis element by element. */
static struct tensor *last_axis_together(struct builder *build, struct tensor *x) {
    unsigned last = x->view.rank - 1;
    bool together = x->view.strides[last] == 1 || x->view.sizes[last] == 1;
    bool stored = build->graph->nodes[x->node].kind != NODE_CONSTANT;
    return together && stored ? x : build_copy(build, x);
}

/* Positions of tokens, the same for each batch or not, as [batch, tokens]. */
static struct tensor *spread_positions(struct builder *build, struct tensor *positions,
                                       const int64_t *sizes) {
    int64_t wide[2] = {sizes[0], sizes[2]};
    struct view view;
    if (positions->dtype != RIDGE_I32 || positions->view.rank > 2) {
        status_fail(build->status, STATUS_USAGE,
                    "positions must be i32, [tokens] or [batch, tokens]");
        return NULL;
    }
    if (build->graph->nodes[positions->node].kind == NODE_CONSTANT)
        positions = build_copy(build, positions);
    if (!positions || !view_broadcast(&positions->view, 2, wide, &view, build->status))
        return NULL;
    return build_view(build, positions, &view);
}

static bool build_rope(struct builder *build, const struct operation *operation,
                       struct tensor *const *inputs, struct tensor **outputs) {
    struct tensor *x = inputs[0];
    if (!dtype_is_float(x->dtype) || x->view.rank != 4 || x->view.sizes[3] % 2 != 0)
        return status_fail(build->status, STATUS_USAGE,
                           "it takes floats [batch, heads, tokens, width] with an even width");
    if (!(operation->numbers[0] > 0))
        return status_fail(build->status, STATUS_USAGE, "the base must be positive, not %g",
                           operation->numbers[0]);
    struct node_parameters parameters = {.flags = operation->integers[0] != 0,
                                         .base = (float)operation->numbers[0]};
    struct tensor *operands[2] = {last_axis_together(build, x),
                                  spread_positions(build, inputs[1], x->view.sizes)};
    if (!operands[0] || !operands[1])
        return false;
    outputs[0] = build_kernel(build, OP_ROPE, x->dtype, &x->view, operands, 2, &parameters);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_rope(ridge_tensor *x, ridge_tensor *positions, float base, bool interleaved) {
    struct operation operation = {.name = "ridge_rope",
                                  .build = build_rope,
                                  .input_count = 2,
                                  .output_count = 1,
                                  .inputs = {x, positions},
                                  .integers = {interleaved},
                                  .numbers = {base}};
    return operation_result(&operation);
}

static bool check_attention(struct builder *build, struct tensor *const *inputs,
                            const struct operation *operation) {
    const struct tensor *q = inputs[0], *k = inputs[1], *v = inputs[2];
    const int64_t *qs = q->view.sizes, *ks = k->view.sizes;
    bool causal = operation->integers[0] != 0;
    if (!dtype_is_float(q->dtype) || k->dtype != q->dtype || v->dtype != q->dtype)
        return status_fail(build->status, STATUS_USAGE, "q, k and v must be floats of one type");
    if (q->view.rank != 4 || k->view.rank != 4 || !view_same_sizes(&k->view, &v->view) ||
        qs[0] != ks[0] || qs[3] != ks[3])
        return status_fail(build->status, STATUS_USAGE,
                           "q is [batch, heads, queries, width], k and v are [batch, kv_heads, "
                           "keys, width]");
    if (ks[1] == 0 || qs[1] % ks[1] != 0)
        return status_fail(build->status, STATUS_USAGE,
                           "%lld heads cannot share %lld key heads evenly", (long long)qs[1],
                           (long long)ks[1]);
    if (ks[2] == 0 || (causal && qs[2] > ks[2]))
        return status_fail(build->status, STATUS_USAGE, "%lld queries have only %lld keys",
                           (long long)qs[2], (long long)ks[2]);
    if (qs[3] > 256)
        return status_fail(build->status, STATUS_UNSUPPORTED,
                           "heads must be at most 256 wide, not %lld", (long long)qs[3]);
    if (operation->integers[1] < 0 || (operation->integers[1] > 0 && !causal))
        return status_fail(build->status, STATUS_USAGE,
                           "the window must not be negative, and needs causal attention");
    return true;
}

/* The lengths as [batch], or the mask as [batch, heads, queries, keys]. */
static struct tensor *spread_mask(struct builder *build, struct tensor *x, enum ridge_dtype dtype,
                                  unsigned rank, const int64_t *sizes, const char *what) {
    struct view view;
    if (x->dtype != dtype || x->view.rank > rank) {
        status_fail(build->status, STATUS_USAGE, "%s must be %s with at most %u axes", what,
                    ridge_dtype_name(dtype), rank);
        return NULL;
    }
    if (build->graph->nodes[x->node].kind == NODE_CONSTANT)
        x = build_copy(build, x);
    if (!x || !view_broadcast(&x->view, rank, sizes, &view, build->status))
        return NULL;
    return build_view(build, x, &view);
}

static bool build_attention(struct builder *build, const struct operation *operation,
                            struct tensor *const *inputs, struct tensor **outputs) {
    if (!check_attention(build, inputs, operation))
        return false;
    struct tensor *operands[5];
    unsigned count = 3;
    for (unsigned i = 0; i < 3; i++)
        if (!(operands[i] = last_axis_together(build, inputs[i])))
            return false;
    struct node_parameters parameters = {.scale = (float)operation->numbers[0],
                                         .start = operation->integers[1],
                                         .flags = operation->integers[0] ? ATTENTION_CAUSAL : 0};
    const int64_t *q = inputs[0]->view.sizes;
    if (inputs[3]) {
        parameters.flags |= ATTENTION_LENGTHS;
        operands[count++] = spread_mask(build, inputs[3], RIDGE_I32, 1, q, "the lengths");
    }
    if (inputs[4]) {
        int64_t sizes[4] = {q[0], q[1], q[2], inputs[1]->view.sizes[2]};
        parameters.flags |= ATTENTION_MASK;
        operands[count++] = spread_mask(build, inputs[4], inputs[0]->dtype, 4, sizes, "the mask");
    }
    for (unsigned i = 3; i < count; i++)
        if (!operands[i])
            return false;
    outputs[0] = build_kernel(build, OP_ATTENTION, inputs[0]->dtype, &inputs[0]->view, operands,
                              count, &parameters);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_attention_masked(ridge_tensor *q, ridge_tensor *k, ridge_tensor *v, float scale,
                                     const struct ridge_attention_mask *mask) {
    static const struct ridge_attention_mask none;
    if (!mask)
        mask = &none;
    struct operation operation = {.name = "ridge_attention",
                                  .build = build_attention,
                                  .input_count = 5,
                                  .output_count = 1,
                                  .inputs = {q, k, v, mask->lengths, mask->added},
                                  .optional = 8 | 16,
                                  .integers = {mask->causal, mask->window},
                                  .numbers = {scale}};
    return operation_result(&operation);
}

ridge_tensor *ridge_attention(ridge_tensor *q, ridge_tensor *k, ridge_tensor *v, float scale,
                              bool causal) {
    struct ridge_attention_mask mask = {.causal = causal};
    return ridge_attention_masked(q, k, v, scale, &mask);
}

static bool build_wkv7(struct builder *build, const struct operation *operation,
                       struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    const struct tensor *r = inputs[0], *state = inputs[6];
    if (!dtype_is_float(r->dtype) || r->view.rank != 4)
        return status_fail(build->status, STATUS_USAGE,
                           "r, w, k, v, a and b must be floats [batch, tokens, heads, width]");
    for (unsigned i = 1; i < 6; i++)
        if (inputs[i]->dtype != r->dtype || !view_same_sizes(&inputs[i]->view, &r->view))
            return status_fail(build->status, STATUS_USAGE,
                               "r, w, k, v, a and b must have one type and shape");
    const int64_t *sizes = r->view.sizes;
    if (state->dtype != RIDGE_F32 || state->view.rank != 4 || state->view.sizes[0] != sizes[0] ||
        state->view.sizes[1] != sizes[2] || state->view.sizes[2] != sizes[3] ||
        state->view.sizes[3] != sizes[3])
        return status_fail(build->status, STATUS_USAGE,
                           "the state must be f32 [%lld, %lld, %lld, %lld]", (long long)sizes[0],
                           (long long)sizes[2], (long long)sizes[3], (long long)sizes[3]);
    if (sizes[3] > 256)
        return status_fail(build->status, STATUS_UNSUPPORTED,
                           "heads must be at most 256 wide, not %lld", (long long)sizes[3]);
    struct tensor *operands[7];
    for (unsigned i = 0; i < 7; i++)
        if (!(operands[i] = build_contiguous(build, inputs[i])))
            return false;
    /* Without tokens the state is unchanged. */
    if (view_count(&r->view) == 0) {
        outputs[0] = operands[0];
        outputs[1] = build_copy(build, operands[6]);
        return outputs[1] != NULL;
    }
    outputs[0] = build_kernel(build, OP_WKV7, r->dtype, &r->view, operands, 7, NULL);
    outputs[1] = build_second(build, outputs[0], RIDGE_F32, &state->view);
    return outputs[1] != NULL;
}

ridge_tensor *ridge_wkv7(ridge_tensor *r, ridge_tensor *w, ridge_tensor *k, ridge_tensor *v,
                         ridge_tensor *a, ridge_tensor *b, ridge_tensor *state,
                         ridge_tensor **state_out) {
    struct operation operation = {.name = "ridge_wkv7",
                                  .build = build_wkv7,
                                  .input_count = 7,
                                  .output_count = 2,
                                  .inputs = {r, w, k, v, a, b, state}};
    ridge_tensor *outputs[2];
    bool ok = operation_run(&operation, outputs);
    if (state_out)
        *state_out = outputs[1];
    else
        ridge_release(outputs[1]);
    return ok ? outputs[0] : NULL;
}

static bool build_token_shift(struct builder *build, const struct operation *operation,
                              struct tensor *const *inputs, struct tensor **outputs) {
    (void)operation;
    struct tensor *x = inputs[0], *previous = inputs[1], *mix = inputs[2];
    const int64_t *sizes = x->view.sizes;
    if (x->view.rank != 3 || previous->view.rank != 2 || previous->view.sizes[0] != sizes[0] ||
        previous->view.sizes[1] != sizes[2] || previous->dtype != x->dtype)
        return status_fail(
            build->status, STATUS_USAGE,
            "x must be [batch, tokens, width] and previous [batch, width] of the same type");
    struct view first = previous->view, rest;
    if (!view_insert_axis(&first, 1, build->status))
        return false;
    struct tensor *shifted = build_view(build, previous, &first);
    if (sizes[1] == 0)
        shifted = x;
    if (sizes[1] > 1) {
        if (!view_slice(&x->view, 1, 0, sizes[1] - 1, 1, &rest, build->status))
            return false;
        struct tensor *parts[2] = {shifted, build_view(build, x, &rest)};
        shifted = parts[0] && parts[1] ? build_cat(build, parts, 2, 1) : NULL;
    }
    outputs[0] = !mix ? build_contiguous(build, shifted)
                      : build_expression(build, OP_AFFINE,
                                         build_expression(build, OP_SUB, shifted, x, NULL), mix, x);
    return outputs[0] != NULL;
}

ridge_tensor *ridge_token_shift(ridge_tensor *x, ridge_tensor *previous, ridge_tensor *mix) {
    struct operation operation = {.name = "ridge_token_shift",
                                  .build = build_token_shift,
                                  .input_count = 3,
                                  .output_count = 1,
                                  .inputs = {x, previous, mix},
                                  .optional = 4};
    return operation_result(&operation);
}
