/* What an RWKV-7 model computes: the parts of a layer, and a whole step over some tokens.
 *
 * These are functions of tensors for ridge_compile(), or to be called directly. Activations are
 * f32 [batch, tokens, width]; what goes into a matrix product is rounded to the model's product
 * type first. States are f32 as well.
 */
#ifndef RIDGE_EXAMPLES_RWKV_FORWARD_H
#define RIDGE_EXAMPLES_RWKV_FORWARD_H

#include "rwkv/model.h"

/* The parts of a layer that are timed separately, and the head after the last layer. */
enum rwkv_part {
    RWKV_ATTENTION_LINEAR,
    RWKV_WKV,
    RWKV_ATTENTION_OUTPUT,
    RWKV_FFN,
    RWKV_HEAD,
    RWKV_PARTS
};
const char *rwkv_part_name(enum rwkv_part part); /* "attention linear", ... */

enum { RWKV_PART_INPUTS_MAX = 8, RWKV_PART_OUTPUTS_MAX = 8 };

/* The inputs and outputs of a part, by the order in which its function takes them:
 *   attention linear   x, shift, v_first -> r, w, k, v, a, b, gate, shift
 *   wkv                r, w, k, v, a, b, state -> y, state
 *   attention output   x, y, r, k, v, gate -> x
 *   ffn                x, shift -> x, shift
 *   head               x -> logits, token
 */
unsigned rwkv_part_inputs(enum rwkv_part part);
unsigned rwkv_part_outputs(enum rwkv_part part);
/* An input as it would be in a model, for one token of each sequence. */
ridge_tensor *rwkv_part_make_input(enum rwkv_part part, unsigned input, ridge_device *device,
                                   const struct rwkv_shape *shape, int64_t batch);

/* The context of a part: a struct rwkv_place. */
struct rwkv_place {
    const struct rwkv_model *model;
    int64_t layer; /* index among the model's; the head has none */
};
ridge_function *rwkv_part_function(enum rwkv_part part);
/* What of a model the part needs: all layers but the first, which has less to do; or the head. */
struct rwkv_extent rwkv_part_extent(enum rwkv_part part, const struct rwkv_shape *shape);
/* Of the weights that the part reads. */
uint64_t rwkv_part_bytes(const struct rwkv_place *place, enum rwkv_part part);
/* Of those that a step over `tokens` tokens reads: of the embedding only their rows. */
uint64_t rwkv_step_bytes(const struct rwkv_model *model, int64_t tokens);

/* The whole model; the context is a struct rwkv_model. Inputs: tokens (i32 [batch, tokens]), then
 * for each layer the attention's shift, the state and the ffn's shift. Outputs: the logits of the
 * last token [batch, vocabulary], the likeliest token (i32 [batch, 1]), then states as they came.
 */
bool rwkv_step(void *model, ridge_tensor *const *inputs, ridge_tensor **outputs);
enum { RWKV_LAYER_STATES = 3, RWKV_STEP_INPUTS = 1, RWKV_STEP_OUTPUTS = 2 };
/* A layer's states before the first token, in that order. */
ridge_tensor *rwkv_make_state(unsigned state, ridge_device *device, const struct rwkv_shape *shape,
                              int64_t batch);

#endif
