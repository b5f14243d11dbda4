/* The equations of RWKV-7 ("RWKV-7 Goose with Expressive Dynamic State Evolution", 2025).
 *
 * Each layer mixes a token with the one before it, six ways; from these come the receptance r, the
 * decay w, the key k, the value v, the in-context rate a and the gate g. The state takes up the
 * token by the delta rule (ridge_wkv7), and what it answers to r is normalized per head, gated and
 * projected. The second half of the layer is a two-layer network with a squared ReLU.
 */
#include "rwkv/forward.h"

#include <math.h>
#include <string.h>

#define DECAY_SCALE -0.6065306597126334 /* -1 / sqrt(e): the fastest decay is exp of it */
#define HEAD_EPSILON 64e-5f             /* of the norm per head */
#define LENGTH_EPSILON 1e-24            /* a key of length 0 stays 0 */

static ridge_tensor *rows_of(ridge_tensor *x, ridge_tensor *like) {
    return ridge_reshape(x, 3,
                         (int64_t[]){ridge_tensor_size(like, 0), ridge_tensor_size(like, 1), -1});
}

/* x times the transpose of the matrix, as f32. */
static ridge_tensor *product(const struct rwkv_model *model, ridge_tensor *x,
                             ridge_tensor *matrix) {
    ridge_tensor *rows =
        ridge_reshape(ridge_cast(x, model->product), 2, (int64_t[]){-1, ridge_tensor_size(x, -1)});
    ridge_tensor *y = ridge_linear(rows, matrix, NULL, RIDGE_ACTIVATION_NONE);
    return rows_of(ridge_cast(y, RIDGE_F32), x);
}

static ridge_tensor *heads_of(const struct rwkv_model *model, ridge_tensor *x) {
    return ridge_reshape(
        x, 4,
        (int64_t[]){ridge_tensor_size(x, 0), ridge_tensor_size(x, 1), -1, model->shape.head_width});
}

static ridge_tensor *sum_of_head(ridge_tensor *x) {
    return ridge_sum(x, 1, (int[]){-1}, true);
}

/* The last token of each sequence: [batch, width]. */
static ridge_tensor *last_token(ridge_tensor *x) {
    return ridge_select(x, 1, ridge_tensor_size(x, 1) - 1);
}

/* sigmoid(base + low-rank product) */
static ridge_tensor *gate_of(const struct rwkv_model *model, ridge_tensor *x, ridge_tensor *base,
                             ridge_tensor *down, ridge_tensor *up) {
    return ridge_sigmoid(ridge_add(product(model, product(model, x, down), up), base));
}

static ridge_tensor *decay_of(const struct rwkv_model *model, const struct rwkv_layer *layer,
                              ridge_tensor *x) {
    ridge_tensor *low = ridge_tanh(product(model, x, layer->w1));
    ridge_tensor *raw = ridge_add(product(model, low, layer->w2), layer->w0);
    return ridge_exp(ridge_mul_scalar(ridge_sigmoid(raw), DECAY_SCALE));
}

/* Keys of length 1 in each head: what the state forgets before it takes up the token. */
static ridge_tensor *direction_of(const struct rwkv_model *model, ridge_tensor *key,
                                  ridge_tensor *scale) {
    ridge_tensor *kk = heads_of(model, ridge_mul(key, scale));
    ridge_tensor *length = ridge_add_scalar(sum_of_head(ridge_square(kk)), LENGTH_EPSILON);
    return ridge_mul(kk, ridge_rsqrt(length));
}

struct mixed {
    ridge_tensor *r, *w, *k, *v, *a, *b, *gate, *shift;
};

static void attention_linear(const struct rwkv_model *model, const struct rwkv_layer *layer,
                             ridge_tensor *x, ridge_tensor *shift, ridge_tensor *v_first,
                             struct mixed *out) {
    ridge_tensor *normal = ridge_layer_norm(x, layer->ln1, layer->ln1_bias, model->epsilon);
    ridge_tensor *xr = ridge_token_shift(normal, shift, layer->x_r);
    ridge_tensor *xw = ridge_token_shift(normal, shift, layer->x_w);
    ridge_tensor *xk = ridge_token_shift(normal, shift, layer->x_k);
    ridge_tensor *xv = ridge_token_shift(normal, shift, layer->x_v);
    ridge_tensor *xa = ridge_token_shift(normal, shift, layer->x_a);
    ridge_tensor *xg = ridge_token_shift(normal, shift, layer->x_g);

    ridge_tensor *key = product(model, xk, layer->key);
    ridge_tensor *value = product(model, xv, layer->value);
    ridge_tensor *rate = gate_of(model, xa, layer->a0, layer->a1, layer->a2);
    ridge_tensor *kk = direction_of(model, key, layer->k_k);
    if (layer->v1)
        value = ridge_add(value, ridge_mul(ridge_sub(v_first, value),
                                           gate_of(model, xv, layer->v0, layer->v1, layer->v2)));
    out->r = heads_of(model, product(model, xr, layer->receptance));
    out->w = heads_of(model, decay_of(model, layer, xw));
    /* k * (1 + (rate - 1) * k_a) */
    out->k =
        heads_of(model, ridge_affine(ridge_mul(key, ridge_add_scalar(rate, -1)), layer->k_a, key));
    out->v = heads_of(model, value);
    out->a = ridge_neg(kk);
    out->b = ridge_mul(kk, heads_of(model, rate));
    out->gate = product(model, ridge_sigmoid(product(model, xg, layer->g1)), layer->g2);
    out->shift = last_token(normal);
}

static ridge_tensor *attention_output(const struct rwkv_model *model,
                                      const struct rwkv_layer *layer, ridge_tensor *x,
                                      ridge_tensor *y, const struct mixed *mixed) {
    ridge_tensor *normal = rows_of(ridge_layer_norm(y, NULL, NULL, HEAD_EPSILON), x);
    normal = ridge_affine(normal, layer->ln_x, layer->ln_x_bias);
    ridge_tensor *weight = ridge_reshape(layer->r_k, 2, (int64_t[]){-1, model->shape.head_width});
    ridge_tensor *match = sum_of_head(ridge_mul(ridge_mul(mixed->r, mixed->k), weight));
    ridge_tensor *bonus = rows_of(ridge_mul(match, mixed->v), x);
    ridge_tensor *gated = ridge_mul(ridge_add(normal, bonus), mixed->gate);
    return ridge_add(x, product(model, gated, layer->output));
}

static ridge_tensor *ffn(const struct rwkv_model *model, const struct rwkv_layer *layer,
                         ridge_tensor *x, ridge_tensor *shift, ridge_tensor **shift_out) {
    ridge_tensor *normal = ridge_layer_norm(x, layer->ln2, layer->ln2_bias, model->epsilon);
    ridge_tensor *mixed = ridge_token_shift(normal, shift, layer->ffn_x_k);
    ridge_tensor *hidden = ridge_square(ridge_relu(product(model, mixed, layer->ffn_key)));
    *shift_out = last_token(normal);
    return ridge_add(x, product(model, hidden, layer->ffn_value));
}

/* Only for the last token: the others are not needed. */
static void head(const struct rwkv_model *model, ridge_tensor *x, ridge_tensor **logits,
                 ridge_tensor **token) {
    ridge_tensor *last = ridge_unsqueeze(last_token(x), 1);
    ridge_tensor *normal =
        ridge_layer_norm(last, model->ln_out, model->ln_out_bias, model->epsilon);
    *logits = ridge_select(product(model, normal, model->head), 1, 0);
    *token = ridge_argmax(*logits, -1, true);
}

static bool all_there(ridge_tensor **outputs, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!outputs[i])
            return false;
    return true;
}

bool rwkv_step(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct rwkv_model *model = context;
    int64_t layers = model->shape.layers;
    ridge_tensor *x = ridge_cast(ridge_embedding(model->embedding, inputs[0]), RIDGE_F32);
    ridge_tensor *v_first = NULL;
    x = ridge_layer_norm(x, model->ln0, model->ln0_bias, model->epsilon);
    for (int64_t i = 0; i < layers; i++) {
        const struct rwkv_layer *layer = &model->layers[i];
        ridge_tensor *const *in = inputs + RWKV_STEP_INPUTS + i * RWKV_LAYER_STATES;
        ridge_tensor **out = outputs + RWKV_STEP_OUTPUTS + i * RWKV_LAYER_STATES;
        struct mixed mixed;
        attention_linear(model, layer, x, in[0], v_first, &mixed);
        if (!v_first)
            v_first = rows_of(mixed.v, x);
        ridge_tensor *y =
            ridge_wkv7(mixed.r, mixed.w, mixed.k, mixed.v, mixed.a, mixed.b, in[1], &out[1]);
        out[0] = mixed.shift;
        x = attention_output(model, layer, x, y, &mixed);
        x = ffn(model, layer, x, in[2], &out[2]);
    }
    head(model, x, &outputs[0], &outputs[1]);
    return all_there(outputs, RWKV_STEP_OUTPUTS + (unsigned)layers * RWKV_LAYER_STATES);
}

/* ---- Parts ------------------------------------------------------------------------------ */

static bool run_attention_linear(void *context, ridge_tensor *const *inputs,
                                 ridge_tensor **outputs) {
    const struct rwkv_place *place = context;
    struct mixed mixed;
    attention_linear(place->model, &place->model->layers[place->layer], inputs[0], inputs[1],
                     inputs[2], &mixed);
    ridge_tensor *made[] = {mixed.r, mixed.w, mixed.k,    mixed.v,
                            mixed.a, mixed.b, mixed.gate, mixed.shift};
    memcpy(outputs, made, sizeof made);
    return all_there(outputs, 8);
}

static bool run_wkv(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    outputs[0] = ridge_wkv7(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], inputs[5],
                            inputs[6], &outputs[1]);
    return all_there(outputs, 2);
}

static bool run_attention_output(void *context, ridge_tensor *const *inputs,
                                 ridge_tensor **outputs) {
    const struct rwkv_place *place = context;
    struct mixed mixed = {.r = inputs[2], .k = inputs[3], .v = inputs[4], .gate = inputs[5]};
    outputs[0] = attention_output(place->model, &place->model->layers[place->layer], inputs[0],
                                  inputs[1], &mixed);
    return all_there(outputs, 1);
}

static bool run_ffn(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct rwkv_place *place = context;
    outputs[0] =
        ffn(place->model, &place->model->layers[place->layer], inputs[0], inputs[1], &outputs[1]);
    return all_there(outputs, 2);
}

static bool run_head(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct rwkv_place *place = context;
    head(place->model, inputs[0], &outputs[0], &outputs[1]);
    return all_there(outputs, 2);
}

enum input_kind {
    TOKEN,     /* [batch, 1, width] */
    SHIFT,     /* [batch, width] */
    HEADS,     /* [batch, 1, heads, head width] */
    DIRECTION, /* likewise, about 1 long in each head */
    DECAY,     /* likewise, between 0 and 1 */
    STATE,     /* [batch, heads, head width, head width] */
};

#define LAYER_FIELD(field) offsetof(struct rwkv_layer, field)
static const struct {
    const char *name;
    ridge_function *function;
    unsigned inputs, outputs;
    unsigned char kinds[RWKV_PART_INPUTS_MAX];
    size_t first, last; /* its weights among the layer's, or the model's for the head */
} parts[RWKV_PARTS] = {
    {"attention linear",
     run_attention_linear,
     3,
     8,
     {TOKEN, SHIFT, TOKEN},
     LAYER_FIELD(ln1),
     LAYER_FIELD(k_a)},
    {"wkv", run_wkv, 7, 2, {HEADS, DECAY, HEADS, HEADS, DIRECTION, DIRECTION, STATE}, 1, 0},
    {"attention output",
     run_attention_output,
     6,
     1,
     {TOKEN, HEADS, HEADS, HEADS, HEADS, TOKEN},
     LAYER_FIELD(r_k),
     LAYER_FIELD(output)},
    {"ffn", run_ffn, 2, 2, {TOKEN, SHIFT}, LAYER_FIELD(ln2), LAYER_FIELD(ffn_value)},
    {"head",
     run_head,
     1,
     2,
     {TOKEN},
     offsetof(struct rwkv_model, ln_out),
     offsetof(struct rwkv_model, head)},
};

const char *rwkv_part_name(enum rwkv_part part) {
    return parts[part].name;
}

unsigned rwkv_part_inputs(enum rwkv_part part) {
    return parts[part].inputs;
}

unsigned rwkv_part_outputs(enum rwkv_part part) {
    return parts[part].outputs;
}

ridge_function *rwkv_part_function(enum rwkv_part part) {
    return parts[part].function;
}

struct rwkv_extent rwkv_part_extent(enum rwkv_part part, const struct rwkv_shape *shape) {
    struct rwkv_extent extent = {.first = parts[part].first, .last = parts[part].last};
    extent.surroundings = part == RWKV_HEAD;
    extent.first_layer = shape->layers > 1;
    if (part != RWKV_HEAD)
        extent.layers = shape->layers - extent.first_layer;
    return extent;
}

static unsigned sizes_of(enum input_kind kind, const struct rwkv_shape *shape, int64_t batch,
                         int64_t sizes[4]) {
    int64_t width = shape->sizes[RWKV_WIDTH], head = shape->head_width;
    int64_t token[] = {batch, 1, width}, shift[] = {batch, width};
    int64_t heads[] = {batch, 1, width / head, head}, state[] = {batch, width / head, head, head};
    if (kind == TOKEN || kind == SHIFT) {
        memcpy(sizes, kind == TOKEN ? token : shift, kind == TOKEN ? sizeof token : sizeof shift);
        return kind == TOKEN ? 3 : 2;
    }
    memcpy(sizes, kind == STATE ? state : heads, sizeof state);
    return 4;
}

ridge_tensor *rwkv_part_make_input(enum rwkv_part part, unsigned input, ridge_device *device,
                                   const struct rwkv_shape *shape, int64_t batch) {
    enum input_kind kind = parts[part].kinds[input];
    int64_t sizes[4];
    unsigned rank = sizes_of(kind, shape, batch, sizes);
    ridge_scope_begin();
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, rank, sizes, 1 + part * 16 + input);
    if (kind == DECAY)
        x = ridge_sigmoid(x);
    if (kind == DIRECTION)
        x = ridge_mul_scalar(x, 1 / sqrt((double)shape->head_width));
    if (x)
        ridge_keep(x);
    ridge_scope_end();
    return x;
}

ridge_tensor *rwkv_make_state(unsigned state, ridge_device *device, const struct rwkv_shape *shape,
                              int64_t batch) {
    int64_t sizes[4];
    unsigned rank = sizes_of(state == 1 ? STATE : SHIFT, shape, batch, sizes);
    return ridge_zeros(device, RIDGE_F32, rank, sizes);
}

static uint64_t bytes_between(const void *owner, const struct rwkv_weight *weights, unsigned count,
                              size_t first, size_t last) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        const ridge_tensor *tensor =
            *(ridge_tensor *const *)((const char *)owner + weights[i].field);
        if (tensor && weights[i].field >= first && weights[i].field <= last)
            bytes += ridge_tensor_bytes(tensor);
    }
    return bytes;
}

uint64_t rwkv_part_bytes(const struct rwkv_place *place, enum rwkv_part part) {
    const struct rwkv_model *model = place->model;
    return part == RWKV_HEAD
               ? bytes_between(model, rwkv_model_weights, rwkv_model_weight_count,
                               parts[part].first, parts[part].last)
               : bytes_between(&model->layers[place->layer], rwkv_layer_weights,
                               rwkv_layer_weight_count, parts[part].first, parts[part].last);
}

uint64_t rwkv_step_bytes(const struct rwkv_model *model, int64_t tokens) {
    uint64_t bytes = bytes_between(model, rwkv_model_weights, rwkv_model_weight_count,
                                   offsetof(struct rwkv_model, ln0), SIZE_MAX);
    for (int64_t i = 0; i < model->shape.layers; i++)
        bytes += bytes_between(&model->layers[i], rwkv_layer_weights, rwkv_layer_weight_count, 0,
                               SIZE_MAX);
    return bytes + (uint64_t)tokens * ridge_dtype_bytes(ridge_tensor_dtype(model->embedding),
                                                        model->shape.sizes[RWKV_WIDTH]);
}
