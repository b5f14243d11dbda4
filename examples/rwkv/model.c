/* The weights of an RWKV-7 model: their sizes and random values.
 *
 * A random weight depends only on its layer and field, so a model is the same on every device,
 * and a part equals that of the whole model. Scales keep activations near 1 through any number
 * of layers.
 */
#include "rwkv/model.h"

#include <math.h>
#include <stdlib.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define LAYER_ROW(field, rows, columns, mean, scale, name, gguf_name)                              \
    {offsetof(struct rwkv_layer, field), RWKV_##rows, RWKV_##columns, mean, scale, name, gguf_name},
const struct rwkv_weight rwkv_layer_weights[] = {RWKV_LAYER_WEIGHTS(LAYER_ROW)};
const unsigned rwkv_layer_weight_count = COUNT_OF(rwkv_layer_weights);

#define MODEL_ROW(field, rows, columns, mean, scale, name, gguf_name)                              \
    {offsetof(struct rwkv_model, field), RWKV_##rows, RWKV_##columns, mean, scale, name, gguf_name},
const struct rwkv_weight rwkv_model_weights[] = {RWKV_MODEL_WEIGHTS(MODEL_ROW)};
const unsigned rwkv_model_weight_count = COUNT_OF(rwkv_model_weights);

#define NORM_EPSILON 1e-5f
enum { HEAD_WIDTH = 64 };

bool rwkv_layer_has(const struct rwkv_weight *weight, int64_t layer) {
    return layer > 0 || weight->field < offsetof(struct rwkv_layer, v0) ||
           weight->field > offsetof(struct rwkv_layer, v2);
}

bool rwkv_is_quantized(enum ridge_dtype dtype) {
    return dtype == RIDGE_Q8_0 || dtype == RIDGE_Q4_K;
}

static bool is_vector(const struct rwkv_weight *weight) {
    return weight->rows == RWKV_ONE;
}

static bool is_low_rank(const struct rwkv_weight *weight) {
    return weight->rows >= RWKV_DECAY_RANK || weight->columns >= RWKV_DECAY_RANK;
}

static enum ridge_dtype weight_dtype(const struct rwkv_weight *weight, enum ridge_dtype dtype,
                                     enum ridge_dtype product) {
    return is_vector(weight) ? RIDGE_F32 : is_low_rank(weight) ? product : dtype;
}

/* ---- Sizes ------------------------------------------------------------------------------ */

static const struct {
    int64_t millions;
    struct rwkv_shape shape;
} published[] = {
    {100, {12, HEAD_WIDTH, {1, 768, 3072, 65536, 64, 64, 32, 128}}},
    {400, {24, HEAD_WIDTH, {1, 1024, 4096, 65536, 64, 64, 32, 128}}},
    {1500, {24, HEAD_WIDTH, {1, 2048, 8192, 65536, 96, 96, 64, 256}}},
    {2900, {32, HEAD_WIDTH, {1, 2560, 10240, 65536, 96, 96, 64, 320}}},
};

bool rwkv_shape_published(int64_t millions, struct rwkv_shape *shape) {
    for (size_t i = 0; i < COUNT_OF(published); i++)
        if (published[i].millions == millions) {
            *shape = published[i].shape;
            return true;
        }
    return false;
}

struct rwkv_shape rwkv_shape_small(enum ridge_dtype dtype) {
    int64_t width = dtype == RIDGE_Q4_K ? 256 : 128;
    return (struct rwkv_shape){2, HEAD_WIDTH, {1, width, 4 * width, 256, 32, 32, 32, 32}};
}

static uint64_t weight_elements(const struct rwkv_shape *shape, const struct rwkv_weight *weight) {
    return (uint64_t)shape->sizes[weight->rows] * (uint64_t)shape->sizes[weight->columns];
}

uint64_t rwkv_parameters(const struct rwkv_shape *shape) {
    uint64_t count = 0;
    for (unsigned i = 0; i < rwkv_model_weight_count; i++)
        count += weight_elements(shape, &rwkv_model_weights[i]);
    for (int64_t layer = 0; layer < shape->layers; layer++)
        for (unsigned i = 0; i < rwkv_layer_weight_count; i++)
            if (rwkv_layer_has(&rwkv_layer_weights[i], layer))
                count += weight_elements(shape, &rwkv_layer_weights[i]);
    return count;
}

static uint64_t bytes_of(const struct rwkv_shape *shape, const struct rwkv_weight *weight,
                         enum ridge_dtype dtype, enum ridge_dtype product) {
    return ridge_dtype_bytes(weight_dtype(weight, dtype, product),
                             (int64_t)weight_elements(shape, weight));
}

static uint64_t layer_bytes(const struct rwkv_shape *shape, enum ridge_dtype dtype,
                            enum ridge_dtype product) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < rwkv_layer_weight_count; i++)
        bytes += bytes_of(shape, &rwkv_layer_weights[i], dtype, product);
    return bytes;
}

uint64_t rwkv_shape_bytes(const struct rwkv_shape *shape, enum ridge_dtype dtype,
                          enum ridge_dtype product) {
    uint64_t bytes = (uint64_t)shape->layers * layer_bytes(shape, dtype, product);
    for (unsigned i = 0; i < rwkv_model_weight_count; i++)
        bytes += bytes_of(shape, &rwkv_model_weights[i], dtype, product);
    return bytes;
}

/* ---- Making ----------------------------------------------------------------------------- */

static ridge_tensor **field_of(void *owner, const struct rwkv_weight *weight) {
    return (ridge_tensor **)((char *)owner + weight->field);
}

static ridge_tensor *make_weight(ridge_device *device, const struct rwkv_shape *shape,
                                 const struct rwkv_weight *weight, int64_t layer,
                                 enum ridge_dtype dtype) {
    int64_t sizes[2] = {shape->sizes[weight->rows], shape->sizes[weight->columns]};
    bool vector = is_vector(weight), quantized = rwkv_is_quantized(dtype);
    uint64_t seed = (uint64_t)(layer + 2) * 1000 + weight->field;
    ridge_tensor *x = ridge_randn(device, quantized ? RIDGE_F32 : dtype, vector ? 1 : 2,
                                  vector ? sizes + 1 : sizes, seed);
    x = ridge_mul_scalar(x, vector ? weight->scale : weight->scale / sqrt((double)sizes[1]));
    if (weight->mean != 0)
        x = ridge_add_scalar(x, weight->mean);
    return quantized ? ridge_quantize(x, dtype) : x;
}

static bool create_weight(struct rwkv_model *model, void *owner, const struct rwkv_weight *weight,
                          int64_t layer, rwkv_weight_source *source, void *context) {
    enum ridge_dtype dtype = weight_dtype(weight, model->dtype, model->product);
    ridge_scope_begin();
    ridge_tensor *tensor = source ? source(context, model, weight, layer, dtype)
                                  : make_weight(model->device, &model->shape, weight, layer, dtype);
    *field_of(owner, weight) = tensor ? ridge_keep(tensor) : NULL;
    ridge_scope_end();
    return tensor != NULL;
}

struct rwkv_extent rwkv_extent_whole(const struct rwkv_shape *shape) {
    return (struct rwkv_extent){.layers = shape->layers, .surroundings = true, .last = SIZE_MAX};
}

static bool is_wanted(const struct rwkv_extent *extent, const struct rwkv_weight *weight) {
    return weight->field >= extent->first && weight->field <= extent->last;
}

static bool create_weights(struct rwkv_model *model, const struct rwkv_extent *extent,
                           rwkv_weight_source *source, void *context) {
    for (unsigned i = 0; extent->surroundings && i < rwkv_model_weight_count; i++)
        if (is_wanted(extent, &rwkv_model_weights[i]) &&
            !create_weight(model, model, &rwkv_model_weights[i], -1, source, context))
            return false;
    for (int64_t i = 0; i < extent->layers; i++)
        for (unsigned w = 0; w < rwkv_layer_weight_count; w++)
            if (is_wanted(extent, &rwkv_layer_weights[w]) &&
                rwkv_layer_has(&rwkv_layer_weights[w], extent->first_layer + i) &&
                !create_weight(model, &model->layers[i], &rwkv_layer_weights[w],
                               extent->first_layer + i, source, context))
                return false;
    return true;
}

static struct rwkv_model *allocate_model(const struct rwkv_model *like, int64_t layers) {
    struct rwkv_model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    *model = (struct rwkv_model){.device = like->device,
                                 .shape = like->shape,
                                 .dtype = like->dtype,
                                 .product = like->product,
                                 .epsilon = like->epsilon};
    model->shape.layers = layers;
    model->layers = calloc(layers > 0 ? (size_t)layers : 1, sizeof *model->layers);
    if (model->layers)
        return model;
    free(model);
    return NULL;
}

struct rwkv_model *rwkv_model_create(ridge_device *device, const struct rwkv_shape *shape,
                                     enum ridge_dtype dtype, enum ridge_dtype product,
                                     const struct rwkv_extent *extent, rwkv_weight_source *source,
                                     void *context) {
    struct rwkv_model like = {.device = device,
                              .shape = *shape,
                              .dtype = dtype,
                              .product = product,
                              .epsilon = NORM_EPSILON};
    struct rwkv_model *model = allocate_model(&like, extent->layers);
    if (model && !create_weights(model, extent, source, context)) {
        rwkv_model_finish(model);
        return NULL;
    }
    return model;
}

/* ---- Copying and releasing ---------------------------------------------------------------- */

ridge_tensor *rwkv_copy_tensor(ridge_tensor *tensor, ridge_device *device) {
    size_t count = (size_t)ridge_tensor_count(tensor);
    int64_t sizes[RIDGE_RANK_MAX];
    unsigned rank = ridge_tensor_rank(tensor);
    for (unsigned i = 0; i < rank; i++)
        sizes[i] = ridge_tensor_size(tensor, (int)i);
    float *values = calloc(count, sizeof *values);
    if (!values)
        return NULL;
    bool integers = ridge_tensor_dtype(tensor) == RIDGE_I32;
    bool ok = integers ? ridge_to_host(tensor, values, count * sizeof *values)
                       : ridge_to_floats(tensor, values, count);
    ridge_tensor *copy =
        ok ? ridge_from_host(device, integers ? RIDGE_I32 : RIDGE_F32, rank, sizes, values) : NULL;
    free(values);
    return copy;
}

static bool copy_weights(void *target, void *source, const struct rwkv_weight *weights,
                         unsigned count, ridge_device *device) {
    for (unsigned i = 0; i < count; i++) {
        ridge_tensor *from = *field_of(source, &weights[i]), **to = field_of(target, &weights[i]);
        if (from && !(*to = rwkv_copy_tensor(from, device)))
            return false;
    }
    return true;
}

struct rwkv_model *rwkv_model_copy(const struct rwkv_model *model, ridge_device *device) {
    struct rwkv_model like = *model;
    like.device = device;
    like.dtype = like.product = RIDGE_F32;
    struct rwkv_model *copy = allocate_model(&like, model->shape.layers);
    if (!copy)
        return NULL;
    bool ok =
        copy_weights(copy, (void *)model, rwkv_model_weights, rwkv_model_weight_count, device);
    for (int64_t i = 0; ok && i < model->shape.layers; i++)
        ok = copy_weights(&copy->layers[i], &model->layers[i], rwkv_layer_weights,
                          rwkv_layer_weight_count, device);
    if (ok)
        return copy;
    rwkv_model_finish(copy);
    return NULL;
}

static void release_weights(void *owner, const struct rwkv_weight *weights, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        ridge_release(*field_of(owner, &weights[i]));
}

void rwkv_model_finish(struct rwkv_model *model) {
    if (!model)
        return;
    release_weights(model, rwkv_model_weights, rwkv_model_weight_count);
    for (int64_t i = 0; i < model->shape.layers; i++)
        release_weights(&model->layers[i], rwkv_layer_weights, rwkv_layer_weight_count);
    free(model->layers);
    free(model);
}
