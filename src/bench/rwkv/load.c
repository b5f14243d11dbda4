/* Finding a model's weights in a file: under the names of BlinkDL's RWKV-LM in safetensors, under
 * those of llama.cpp in GGUF.
 *
 * The sizes of a model follow from its tensors. Low-rank matrices are [in, out] in one format
 * and [out, in] in the other, and some converters transpose them, so either is accepted if the
 * shape is unambiguous. Vectors may have axes of size 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/run.h"
#include "bench/rwkv/load.h"
#include "tensor/tensor.h"

enum {
    HEAD_WIDTH_DEFAULT = 64,
    MIXES = 6,
    NAME_SIZE = 96,
    LAYERS_MAX = 1024,
    SIZE_MAX_OF_ANY = 1 << 22
};

static bool is_gguf(const struct weights *file) {
    return strcmp(weights_format(file), "GGUF") == 0;
}

/* The tensor's name in the file; *part is which of several it is in there, or -1. */
static void name_in_file(const struct weights *file, const struct rwkv_weight *weight,
                         int64_t layer, char name[NAME_SIZE], int *part) {
    const char *word = is_gguf(file) ? weight->gguf_name : weight->name;
    const char *mark = strchr(word, '#');
    int length = mark ? (int)(mark - word) : (int)strlen(word);
    *part = mark ? atoi(mark + 1) : -1;
    if (layer < 0)
        snprintf(name, NAME_SIZE, "%.*s", length, word);
    else
        snprintf(name, NAME_SIZE, "%s.%lld.%.*s", is_gguf(file) ? "blk" : "blocks",
                 (long long)layer, length, word);
}

static const struct weights_tensor *
find(const struct weights *file, const struct rwkv_weight *weight, int64_t layer, int *part) {
    char name[NAME_SIZE];
    name_in_file(file, weight, layer, name, part);
    return weights_find(file, text_of(name));
}

static const struct weights_tensor *find_field(const struct weights *file, size_t field) {
    int part;
    for (unsigned i = 0; i < rwkv_layer_weight_count; i++)
        if (rwkv_layer_weights[i].field == field)
            return find(file, &rwkv_layer_weights[i], field == offsetof(struct rwkv_layer, v1),
                        &part);
    return NULL;
}

/* The sizes that are not 1: a vector has one, a matrix two. */
static unsigned real_sizes(const struct weights_tensor *tensor, int64_t sizes[RIDGE_RANK_MAX]) {
    unsigned count = 0;
    for (unsigned i = 0; i < tensor->rank; i++)
        if (tensor->sizes[i] != 1)
            sizes[count++] = tensor->sizes[i];
    return count;
}

/* ---- Finding ---------------------------------------------------------------------------- */

/* Where a weight is in the file. */
struct located {
    const struct weights_tensor *tensor;
    int part;         /* of the tensor; -1: all of it */
    int64_t sizes[2]; /* of a matrix, as stored */
    bool turned;      /* it is stored as [in, out] */
};

static bool wrong_shape(const struct weights_tensor *tensor, int64_t rows, int64_t columns,
                        struct status *status) {
    char shape[160] = "";
    size_t used = 0;
    for (unsigned i = 0; i < tensor->rank && used < sizeof shape; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%lld", i ? " x " : "",
                                 (long long)tensor->sizes[i]);
    return status_fail(status, STATUS_INPUT, "\"%.*s\" is %s; it should be %lld x %lld",
                       TEXT_ARGS(tensor->name), shape, (long long)rows, (long long)columns);
}

/* Whether the matrix is transposed; fails if its shape does not match at all. */
static bool orientation(const struct weights *file, const struct rwkv_weight *weight,
                        const int64_t *sizes, int64_t rows, int64_t columns, bool *turned) {
    bool low_rank = weight->rows >= RWKV_DECAY_RANK || weight->columns >= RWKV_DECAY_RANK;
    *turned = low_rank && !is_gguf(file);
    int64_t expected_rows = *turned ? columns : rows, expected_columns = *turned ? rows : columns;
    if (sizes[0] == expected_rows && sizes[1] == expected_columns)
        return true;
    *turned = !*turned;
    return sizes[0] == expected_columns && sizes[1] == expected_rows;
}

static bool has_type(const struct weights_tensor *tensor) {
    return tensor->dtype == RIDGE_F32 || tensor->dtype == RIDGE_F16 ||
           tensor->dtype == RIDGE_BF16 || rwkv_is_quantized(tensor->dtype);
}

static bool check_shape(const struct weights *file, const struct rwkv_shape *shape,
                        const struct rwkv_weight *weight, struct located *located,
                        struct status *status) {
    int64_t rows = shape->sizes[weight->rows], columns = shape->sizes[weight->columns];
    int64_t sizes[RIDGE_RANK_MAX], count = 1, parts = located->part < 0 ? 1 : MIXES;
    unsigned rank = real_sizes(located->tensor, sizes);
    for (unsigned i = 0; i < rank; i++)
        count *= sizes[i];
    if (weight->rows == RWKV_ONE)
        return (count % parts == 0 && count / parts == columns) ||
               wrong_shape(located->tensor, parts, columns, status);
    if (rank != 2 || !orientation(file, weight, sizes, rows, columns, &located->turned))
        return wrong_shape(located->tensor, rows, columns, status);
    memcpy(located->sizes, sizes, sizeof located->sizes);
    return true;
}

static bool locate(const struct weights *file, const struct rwkv_shape *shape,
                   const struct rwkv_weight *weight, int64_t layer, struct located *located,
                   struct status *status) {
    char name[NAME_SIZE];
    name_in_file(file, weight, layer, name, &located->part);
    located->tensor = weights_find(file, text_of(name));
    if (!located->tensor)
        return status_fail(status, STATUS_INPUT, "tensor \"%s\" is missing", name);
    if (!has_type(located->tensor))
        return status_fail(
            status, STATUS_INPUT,
            "\"%s\" is %s, which ridge does not support: it supports F32, F16, BF16, Q8_0 and Q4_K",
            name, located->tensor->type);
    return check_shape(file, shape, weight, located, status);
}

static bool locate_all(const struct weights *file, const struct rwkv_shape *shape,
                       struct status *status) {
    struct located located;
    for (unsigned i = 0; i < rwkv_model_weight_count; i++)
        if (!locate(file, shape, &rwkv_model_weights[i], -1, &located, status))
            return false;
    for (int64_t layer = 0; layer < shape->layers; layer++)
        for (unsigned i = 0; i < rwkv_layer_weight_count; i++)
            if (rwkv_layer_has(&rwkv_layer_weights[i], layer) &&
                !locate(file, shape, &rwkv_layer_weights[i], layer, &located, status))
                return false;
    return true;
}

/* ---- Shapes ----------------------------------------------------------------------------- */

/* The side of a matrix that is not `width`. */
static bool other_side(const struct weights_tensor *tensor, int64_t width, int64_t *other) {
    int64_t sizes[RIDGE_RANK_MAX];
    if (!tensor || real_sizes(tensor, sizes) != 2 || (sizes[0] != width && sizes[1] != width))
        return false;
    *other = sizes[0] == width ? sizes[1] : sizes[0];
    return true;
}

static int64_t head_width_of(const struct weights *file) {
    int64_t width;
    if (weights_integer(file, "rwkv7.wkv.head_size", &width))
        return width;
    const struct weights_tensor *bonus = find_field(file, offsetof(struct rwkv_layer, r_k));
    int64_t sizes[RIDGE_RANK_MAX];
    return bonus && real_sizes(bonus, sizes) == 2 ? sizes[1] : HEAD_WIDTH_DEFAULT;
}

static int64_t count_layers(const struct weights *file) {
    int64_t layers = 0;
    int part;
    while (layers < LAYERS_MAX && find(file, &rwkv_layer_weights[0], layers, &part))
        layers++;
    return layers;
}

static const struct {
    enum rwkv_size size;
    size_t field;
} told_by[] = {
    {RWKV_HIDDEN, offsetof(struct rwkv_layer, ffn_key)},
    {RWKV_DECAY_RANK, offsetof(struct rwkv_layer, w1)},
    {RWKV_RATE_RANK, offsetof(struct rwkv_layer, a1)},
    {RWKV_RESIDUAL_RANK, offsetof(struct rwkv_layer, v1)},
    {RWKV_GATE_RANK, offsetof(struct rwkv_layer, g1)},
};

bool rwkv_shape_of_file(const struct weights *file, struct rwkv_shape *shape,
                        struct status *status) {
    const struct rwkv_weight *norm = &rwkv_layer_weights[0], *table = &rwkv_model_weights[0];
    char name[NAME_SIZE];
    int part;
    int64_t sizes[RIDGE_RANK_MAX];
    const struct weights_tensor *first = find(file, norm, 0, &part);
    *shape = (struct rwkv_shape){.layers = count_layers(file), .sizes = {[RWKV_ONE] = 1}};
    if (!first || real_sizes(first, sizes) != 1) {
        name_in_file(file, norm, 0, name, &part);
        return status_fail(
            status, STATUS_INPUT,
            "not an RWKV-7 model: \"%s\" is missing (see docs/rwkv.md for the names)", name);
    }
    int64_t width = shape->sizes[RWKV_WIDTH] = sizes[0];
    shape->head_width = head_width_of(file);
    if (shape->head_width <= 0 || width % shape->head_width != 0)
        return status_fail(status, STATUS_INPUT,
                           "a width of %lld is not a multiple of the head width %lld",
                           (long long)width, (long long)shape->head_width);
    if (!other_side(find(file, table, -1, &part), width, &shape->sizes[RWKV_VOCABULARY])) {
        name_in_file(file, table, -1, name, &part);
        return status_fail(status, STATUS_INPUT, "there is no \"%s\" of %lld columns", name,
                           (long long)width);
    }
    /* What is missing here is named below. */
    for (size_t i = 0; i < ARRAY_COUNT(told_by); i++)
        if (!other_side(find_field(file, told_by[i].field), width, &shape->sizes[told_by[i].size]))
            shape->sizes[told_by[i].size] = 1;
    for (unsigned i = 0; i < RWKV_SIZES; i++)
        if (shape->sizes[i] < 1 || shape->sizes[i] > SIZE_MAX_OF_ANY)
            return status_fail(status, STATUS_INPUT, "a matrix with a side of %lld is not valid",
                               (long long)shape->sizes[i]);
    return locate_all(file, shape, status);
}

enum ridge_dtype rwkv_dtype_of_file(const struct weights *file) {
    const struct weights_tensor *key = find_field(file, offsetof(struct rwkv_layer, ffn_key));
    return key && key->dtype != RIDGE_DTYPES ? key->dtype : RIDGE_F16;
}

/* ---- Loading ---------------------------------------------------------------------------- */

static ridge_tensor *as_dtype(ridge_tensor *x, enum ridge_dtype dtype) {
    if (!x || ridge_tensor_dtype(x) == dtype)
        return x;
    if (rwkv_is_quantized(ridge_tensor_dtype(x)))
        x = ridge_dequantize(x, rwkv_is_quantized(dtype) ? RIDGE_F32 : dtype);
    return rwkv_is_quantized(dtype) ? ridge_quantize(x, dtype) : ridge_cast(x, dtype);
}

/* The data of a vector of `width` (of one part of the tensor, unless part < 0) or of a matrix. */
static void *read_data(const struct weights *file, const struct located *located, bool is_vector,
                       int64_t width, struct status *status) {
    const struct weights_tensor *tensor = located->tensor;
    size_t bytes = is_vector ? ridge_dtype_bytes(tensor->dtype, width) : tensor->bytes;
    size_t skip = is_vector && located->part > 0 ? (size_t)located->part * bytes : 0;
    void *data = memory_allocate(bytes, 1, status);
    if (data && weights_read(file, tensor, skip, data, bytes, status))
        return data;
    memory_free(data);
    return NULL;
}

/* `turned`: as [in, out] in the file. */
static ridge_tensor *load_matrix(ridge_device *device, const struct located *located,
                                 const void *data, enum ridge_dtype dtype) {
    ridge_tensor *x = ridge_from_host(device, located->tensor->dtype, 2, located->sizes, data);
    if (located->turned && rwkv_is_quantized(located->tensor->dtype))
        x = ridge_dequantize(x, RIDGE_F32);
    if (located->turned)
        x = ridge_contiguous(ridge_transpose(x, 0, 1));
    return as_dtype(x, dtype);
}

/* One weight from a file, as `dtype`; NULL and a status that names it when it is not there or of
 * another shape. */
static ridge_tensor *load_weight(ridge_device *device, const struct weights *file,
                                 const struct rwkv_shape *shape, const struct rwkv_weight *weight,
                                 int64_t layer, enum ridge_dtype dtype, struct status *status) {
    struct located located;
    int64_t width = shape->sizes[weight->columns];
    bool is_vector = weight->rows == RWKV_ONE;
    if (!locate(file, shape, weight, layer, &located, status))
        return NULL;
    ridge_tensor *x = NULL;
    void *data = read_data(file, &located, is_vector, width, status);
    if (data) {
        x = is_vector ? as_dtype(ridge_from_host(device, located.tensor->dtype, 1, &width, data),
                                 RIDGE_F32)
                      : load_matrix(device, &located, data, dtype);
        memory_free(data);
        if (!x)
            run_tensor_failed(status);
    }
    if (!x)
        status_context(status, "\"%.*s\"", TEXT_ARGS(located.tensor->name));
    return x;
}

/* ---- The model -------------------------------------------------------------------------- */

struct loading {
    const struct weights *file;
    struct status *status;
};

static ridge_tensor *weight_of_file(void *context, const struct rwkv_model *model,
                                    const struct rwkv_weight *weight, int64_t layer,
                                    enum ridge_dtype dtype) {
    const struct loading *loading = context;
    return load_weight(model->device, loading->file, &model->shape, weight, layer, dtype,
                       loading->status);
}

bool rwkv_failed(struct status *status) {
    return *ridge_error_message() ? run_tensor_failed(status) : status_no_memory(status);
}

struct rwkv_model *rwkv_model_load(ridge_device *device, const struct rwkv_shape *shape,
                                   enum ridge_dtype dtype, enum ridge_dtype product,
                                   const struct rwkv_extent *extent, const struct weights *file,
                                   struct status *status) {
    struct loading loading = {file, status};
    double epsilon;
    status->code = STATUS_OK;
    struct rwkv_model *model = rwkv_model_create(device, shape, dtype, product, extent,
                                                 file ? weight_of_file : NULL, &loading);
    if (!model && status->code == STATUS_OK)
        rwkv_failed(status);
    if (model && file && weights_number(file, "rwkv7.attention.layer_norm_epsilon", &epsilon) &&
        epsilon > 0)
        model->epsilon = (float)epsilon;
    return model;
}
