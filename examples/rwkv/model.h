/* An RWKV-7 ("Goose") language model: the weights, random or from a file, on a device.
 *
 * Every weight is a row of one of the tables below; making, loading, counting and copying a model
 * walk them. Matrices are [out, in], as ridge_linear() takes them.
 */
#ifndef RIDGE_EXAMPLES_RWKV_MODEL_H
#define RIDGE_EXAMPLES_RWKV_MODEL_H

#include <ridge.h>
#include <stddef.h>

/* The sizes that weights are made of. ONE: the weight is a vector. The ranks are those of the
 * low-rank matrices for the decay, the rate at which the state learns, the share of the first
 * layer's values, and the gate. */
enum rwkv_size {
    RWKV_ONE,
    RWKV_WIDTH,
    RWKV_HIDDEN,
    RWKV_VOCABULARY,
    RWKV_DECAY_RANK,
    RWKV_RATE_RANK,
    RWKV_RESIDUAL_RANK,
    RWKV_GATE_RANK,
    RWKV_SIZES
};

struct rwkv_shape {
    int64_t layers, head_width;
    int64_t sizes[RWKV_SIZES];
};

/* X(field, rows, columns, mean, scale, name in safetensors, name in GGUF). Random weights are
 * normal with that mean, and that scale divided by the square root of a matrix' columns. The six
 * mixes of the attention are one tensor in GGUF: its part is the digit after '#'. Weights of a
 * part of the computation are adjacent. */
#define RWKV_LAYER_WEIGHTS(X)                                                                      \
    X(ln1, ONE, WIDTH, 1, 0.1, "ln1.weight", "attn_norm.weight")                                   \
    X(ln1_bias, ONE, WIDTH, 0, 0.1, "ln1.bias", "attn_norm.bias")                                  \
    X(x_r, ONE, WIDTH, 0.5, 0.2, "att.x_r", "time_mix_lerp_fused.weight#0")                        \
    X(x_w, ONE, WIDTH, 0.5, 0.2, "att.x_w", "time_mix_lerp_fused.weight#1")                        \
    X(x_k, ONE, WIDTH, 0.5, 0.2, "att.x_k", "time_mix_lerp_fused.weight#2")                        \
    X(x_v, ONE, WIDTH, 0.5, 0.2, "att.x_v", "time_mix_lerp_fused.weight#3")                        \
    X(x_a, ONE, WIDTH, 0.5, 0.2, "att.x_a", "time_mix_lerp_fused.weight#4")                        \
    X(x_g, ONE, WIDTH, 0.5, 0.2, "att.x_g", "time_mix_lerp_fused.weight#5")                        \
    X(receptance, WIDTH, WIDTH, 0, 0.5, "att.receptance.weight", "time_mix_receptance.weight")     \
    X(key, WIDTH, WIDTH, 0, 0.5, "att.key.weight", "time_mix_key.weight")                          \
    X(value, WIDTH, WIDTH, 0, 0.5, "att.value.weight", "time_mix_value.weight")                    \
    X(w0, ONE, WIDTH, -2, 1, "att.w0", "time_mix_w0.weight")                                       \
    X(w1, DECAY_RANK, WIDTH, 0, 0.5, "att.w1", "time_mix_w1.weight")                               \
    X(w2, WIDTH, DECAY_RANK, 0, 0.5, "att.w2", "time_mix_w2.weight")                               \
    X(a0, ONE, WIDTH, 0, 0.5, "att.a0", "time_mix_a0.weight")                                      \
    X(a1, RATE_RANK, WIDTH, 0, 0.5, "att.a1", "time_mix_a1.weight")                                \
    X(a2, WIDTH, RATE_RANK, 0, 0.5, "att.a2", "time_mix_a2.weight")                                \
    X(v0, ONE, WIDTH, 0.5, 0.5, "att.v0", "time_mix_v0.weight")                                    \
    X(v1, RESIDUAL_RANK, WIDTH, 0, 0.5, "att.v1", "time_mix_v1.weight")                            \
    X(v2, WIDTH, RESIDUAL_RANK, 0, 0.5, "att.v2", "time_mix_v2.weight")                            \
    X(g1, GATE_RANK, WIDTH, 0, 1, "att.g1", "time_mix_g1.weight")                                  \
    X(g2, WIDTH, GATE_RANK, 0, 1, "att.g2", "time_mix_g2.weight")                                  \
    X(k_k, ONE, WIDTH, 0.8, 0.1, "att.k_k", "time_mix_k_k.weight")                                 \
    X(k_a, ONE, WIDTH, 1, 0.1, "att.k_a", "time_mix_k_a.weight")                                   \
    X(r_k, ONE, WIDTH, 0, 0.1, "att.r_k", "time_mix_r_k.weight")                                   \
    X(ln_x, ONE, WIDTH, 0.7, 0.1, "att.ln_x.weight", "time_mix_ln.weight")                         \
    X(ln_x_bias, ONE, WIDTH, 0, 0.1, "att.ln_x.bias", "time_mix_ln.bias")                          \
    X(output, WIDTH, WIDTH, 0, 0.3, "att.output.weight", "time_mix_output.weight")                 \
    X(ln2, ONE, WIDTH, 1, 0.1, "ln2.weight", "attn_norm_2.weight")                                 \
    X(ln2_bias, ONE, WIDTH, 0, 0.1, "ln2.bias", "attn_norm_2.bias")                                \
    X(ffn_x_k, ONE, WIDTH, 0.5, 0.2, "ffn.x_k", "channel_mix_lerp_k.weight")                       \
    X(ffn_key, HIDDEN, WIDTH, 0, 0.7, "ffn.key.weight", "channel_mix_key.weight")                  \
    X(ffn_value, WIDTH, HIDDEN, 0, 0.3, "ffn.value.weight", "channel_mix_value.weight")

#define RWKV_MODEL_WEIGHTS(X)                                                                      \
    X(embedding, VOCABULARY, WIDTH, 0, 1, "emb.weight", "token_embd.weight")                       \
    X(ln0, ONE, WIDTH, 1, 0.1, "blocks.0.ln0.weight", "token_embd_norm.weight")                    \
    X(ln0_bias, ONE, WIDTH, 0, 0.1, "blocks.0.ln0.bias", "token_embd_norm.bias")                   \
    X(ln_out, ONE, WIDTH, 1, 0.1, "ln_out.weight", "output_norm.weight")                           \
    X(ln_out_bias, ONE, WIDTH, 0, 0.1, "ln_out.bias", "output_norm.bias")                          \
    X(head, VOCABULARY, WIDTH, 0, 1, "head.weight", "output.weight")

#define RWKV_FIELD(field, rows, columns, mean, scale, name, gguf_name) ridge_tensor *field;
struct rwkv_layer {
    RWKV_LAYER_WEIGHTS(RWKV_FIELD)
};

/* What a weight is like, and where: in struct rwkv_layer or struct rwkv_model, and in a file. */
struct rwkv_weight {
    size_t field; /* offset of the tensor in the struct */
    enum rwkv_size rows, columns;
    double mean, scale;
    const char *name, *gguf_name;
};
extern const struct rwkv_weight rwkv_layer_weights[], rwkv_model_weights[];
extern const unsigned rwkv_layer_weight_count, rwkv_model_weight_count;
/* All but the share of the first layer's values, which the first layer itself has none of. */
bool rwkv_layer_has(const struct rwkv_weight *weight, int64_t layer);

struct rwkv_model {
    ridge_device *device;
    struct rwkv_shape shape;
    enum ridge_dtype dtype;   /* of the large matrices */
    enum ridge_dtype product; /* of the low-rank ones, and of what is multiplied with either */
    float epsilon;            /* of the layer norms */
    RWKV_MODEL_WEIGHTS(RWKV_FIELD)
    struct rwkv_layer *layers;
};

/* The part of a model on the device: layers from first_layer on (their number becomes the
 * model's), with or without the weights around them, and of either only the fields from first to
 * last. */
struct rwkv_extent {
    int64_t first_layer, layers;
    bool surroundings;
    size_t first, last;
};
/* All of it. */
struct rwkv_extent rwkv_extent_whole(const struct rwkv_shape *shape);

/* The published configurations by their parameters in millions: 100, 400, 1500, 2900; false for
 * others. */
bool rwkv_shape_published(int64_t millions, struct rwkv_shape *shape);
/* A few thousand weights, for tests; the width is a multiple of a block of `dtype`. */
struct rwkv_shape rwkv_shape_small(enum ridge_dtype dtype);

uint64_t rwkv_parameters(const struct rwkv_shape *shape);
/* On the device, of the whole model with large matrices of `dtype`. */
uint64_t rwkv_shape_bytes(const struct rwkv_shape *shape, enum ridge_dtype dtype,
                          enum ridge_dtype product);

/* Where weights come from: one of the model's, as `dtype`, or NULL when it cannot be had. `layer`
 * is -1 for those around the layers. */
typedef ridge_tensor *rwkv_weight_source(void *context, const struct rwkv_model *model,
                                         const struct rwkv_weight *weight, int64_t layer,
                                         enum ridge_dtype dtype);

/* `source` NULL: random weights, the same on every device. NULL on failure, for which
 * ridge_error_message() or the source has the reason. */
struct rwkv_model *rwkv_model_create(ridge_device *device, const struct rwkv_shape *shape,
                                     enum ridge_dtype dtype, enum ridge_dtype product,
                                     const struct rwkv_extent *extent, rwkv_weight_source *source,
                                     void *context);
/* The same model (with its rounded weights) as f32 on another device. */
struct rwkv_model *rwkv_model_copy(const struct rwkv_model *model, ridge_device *device);
/* Likewise a tensor; integers stay integers. */
ridge_tensor *rwkv_copy_tensor(ridge_tensor *tensor, ridge_device *device);
/* Accepts NULL. */
void rwkv_model_finish(struct rwkv_model *model);

bool rwkv_is_quantized(enum ridge_dtype dtype);

#endif
