/* A Llama model with random weights: how many tokens a second does it read and generate?
 *
 * One compiled step serves both: a prompt from position 0, and one token at a time behind it, whose
 * outputs are the next step's inputs. The step is that of examples/llama.c. Figures are checked on
 * a small model of the same dtype, whose logits are computed again in double.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "bench/run.h"
#include "gen/dtype.h"

enum { LAYERS_MAX = 32, PROMPT = 128, PROMPT_SMALL = 5, GENERATED = 128, CHECKED_TOKENS = 5 };
enum { NUMBER_TOKENS, NUMBER_POSITION };

static const float epsilon = 1e-5f, base = 10000;

struct llm_shape {
    int64_t millions, layers, width, heads, kv_heads, hidden, vocabulary;
};

static const struct llm_shape shapes[] = {
    {110, 12, 768, 12, 4, 2048, 32000},
    {1100, 22, 2048, 32, 4, 5632, 32000},
    {8000, 32, 4096, 32, 8, 14336, 128256},
};
/* A quantized row is at least 256 weights. */
static const struct llm_shape small_shape = {0, 2, 256, 4, 2, 256, 64};

enum { QUERY, KEY, VALUE, MIX, GATE, UP, DOWN, LAYER_MATRICES };

struct layer {
    ridge_tensor *matrices[LAYER_MATRICES], *norms[2], *keys, *values;
};

struct llm {
    ridge_device *device;
    struct llm_shape shape;
    enum ridge_dtype dtype, product; /* of the matrices, and of what they are multiplied with */
    int64_t context;
    ridge_tensor *table, *head, *norm;
    struct layer layers[LAYERS_MAX];
};

struct state {
    struct stage *stage;
    struct llm model;
    ridge_program *program;
    ridge_tensor *first[2], *inputs[2]; /* tokens and position: of the first step, of the next */
    int64_t tokens, start, position;
    enum ridge_dtype dtype;
};

/* ---- The model -------------------------------------------------------------------------- */

static ridge_tensor *make_matrix(struct llm *model, int64_t rows, int64_t columns, uint64_t seed) {
    const int64_t sizes[] = {rows, columns};
    ridge_scope_begin();
    ridge_tensor *made = ridge_mul_scalar(ridge_randn(model->device, RIDGE_F32, 2, sizes, seed),
                                          1 / sqrt((double)columns));
    made = dtype_is_quantized(model->dtype) ? ridge_quantize(made, model->dtype)
                                            : ridge_cast(made, model->dtype);
    made = made ? ridge_keep(made) : NULL;
    ridge_scope_end();
    return made;
}

static ridge_tensor *make_ones(struct llm *model) {
    return ridge_full(model->device, model->product, 1, &model->shape.width, 1);
}

static bool make_layer(struct llm *model, unsigned number) {
    const struct llm_shape *shape = &model->shape;
    struct layer *layer = &model->layers[number];
    int64_t width = shape->width, head = width / shape->heads, narrow = shape->kv_heads * head;
    const int64_t sizes[LAYER_MATRICES][2] = {
        {width, width},         {narrow, width},        {narrow, width},        {width, width},
        {shape->hidden, width}, {shape->hidden, width}, {width, shape->hidden},
    };
    const int64_t cache[] = {1, shape->kv_heads, model->context, head};
    bool ok = true;
    for (unsigned i = 0; i < LAYER_MATRICES && ok; i++)
        ok = (layer->matrices[i] = make_matrix(model, sizes[i][0], sizes[i][1], 16 * number + i)) !=
             NULL;
    return ok && (layer->norms[0] = make_ones(model)) && (layer->norms[1] = make_ones(model)) &&
           (layer->keys = ridge_zeros(model->device, model->product, 4, cache)) &&
           (layer->values = ridge_zeros(model->device, model->product, 4, cache));
}

static bool make_model(struct llm *model, struct status *status) {
    const struct llm_shape *shape = &model->shape;
    bool ok = (model->table = make_matrix(model, shape->vocabulary, shape->width, 1001)) &&
              (model->head = make_matrix(model, shape->vocabulary, shape->width, 1002)) &&
              (model->norm = make_ones(model));
    for (unsigned i = 0; i < shape->layers && ok; i++)
        ok = make_layer(model, i);
    return ok || run_tensor_failed(status);
}

static void release_model(struct llm *model) {
    ridge_release(model->table);
    ridge_release(model->head);
    ridge_release(model->norm);
    for (unsigned i = 0; i < LAYERS_MAX; i++) {
        struct layer *layer = &model->layers[i];
        for (unsigned k = 0; k < LAYER_MATRICES; k++)
            ridge_release(layer->matrices[k]);
        ridge_release(layer->norms[0]);
        ridge_release(layer->norms[1]);
        ridge_release(layer->keys);
        ridge_release(layer->values);
    }
}

static ridge_tensor *linear(ridge_tensor *x, ridge_tensor *weight) {
    return ridge_linear(x, weight, NULL, RIDGE_ACTIVATION_NONE);
}

static ridge_tensor *split_heads(ridge_tensor *x, int64_t heads, int64_t width) {
    const int64_t sizes[] = {1, -1, heads, width};
    return ridge_transpose(ridge_reshape(x, 4, sizes), 1, 2);
}

static ridge_tensor *attend(const struct llm *model, const struct layer *layer, ridge_tensor *x,
                            ridge_tensor *position, ridge_tensor *positions) {
    const struct llm_shape *shape = &model->shape;
    int64_t tokens = ridge_tensor_size(x, 0), width = shape->width / shape->heads;
    ridge_tensor *q = split_heads(linear(x, layer->matrices[QUERY]), shape->heads, width);
    ridge_tensor *k = split_heads(linear(x, layer->matrices[KEY]), shape->kv_heads, width);
    ridge_tensor *v = split_heads(linear(x, layer->matrices[VALUE]), shape->kv_heads, width);
    if (!ridge_update(layer->keys, ridge_rope(k, positions, base, true), 2, position) ||
        !ridge_update(layer->values, v, 2, position))
        return NULL;
    struct ridge_attention_mask mask = {.causal = true,
                                        .lengths = ridge_add_scalar(position, (double)tokens)};
    ridge_tensor *mixed = ridge_attention_masked(ridge_rope(q, positions, base, true), layer->keys,
                                                 layer->values, 1 / sqrtf((float)width), &mask);
    const int64_t flat[] = {tokens, shape->width};
    return linear(ridge_reshape(ridge_transpose(mixed, 1, 2), 2, flat), layer->matrices[MIX]);
}

/* Inputs: tokens [count], the position of the first [1]. Outputs: the next token [1], its position
 * [1], the logits [1, vocabulary]. */
static bool step(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    const struct llm *model = context;
    int64_t tokens = ridge_tensor_size(in[0], 0);
    ridge_tensor *positions =
        ridge_add(ridge_arange(model->device, RIDGE_I32, tokens, 0, 1), in[1]);
    ridge_tensor *x = ridge_cast(ridge_embedding(model->table, in[0]), model->product);
    for (int64_t i = 0; i < model->shape.layers && x; i++) {
        const struct layer *layer = &model->layers[i];
        ridge_tensor *normal = ridge_rms_norm(x, layer->norms[0], epsilon);
        x = ridge_add(x, attend(model, layer, normal, in[1], positions));
        x = ridge_add(x, ridge_gated_mlp(ridge_rms_norm(x, layer->norms[1], epsilon),
                                         layer->matrices[GATE], layer->matrices[UP],
                                         layer->matrices[DOWN]));
    }
    x = ridge_rms_norm(ridge_slice(x, 0, -1, INT64_MAX, 1), model->norm, epsilon);
    out[2] = linear(x, model->head);
    out[1] = ridge_add_scalar(in[1], (double)tokens);
    out[0] = ridge_argmax(out[2], -1, false);
    return out[0] && out[1] && out[2];
}

/* ---- Preparing and running ---------------------------------------------------------------- */

static ridge_tensor *make_tokens(const struct llm *model, int64_t count) {
    int32_t tokens[PROMPT];
    for (int64_t i = 0; i < count; i++)
        tokens[i] = (int32_t)((i * 7919 + 11) % model->shape.vocabulary);
    return ridge_from_host(model->device, RIDGE_I32, 1, &count, tokens);
}

static ridge_tensor *make_position(const struct llm *model, int64_t position) {
    const int64_t one = 1;
    return ridge_full(model->device, RIDGE_I32, 1, &one, (double)position);
}

static void release_pair(ridge_tensor **pair) {
    ridge_release(pair[0]);
    ridge_release(pair[1]);
    pair[0] = pair[1] = NULL;
}

static void llm_finish(void *context) {
    struct state *state = context;
    ridge_program_release(state->program);
    release_pair(state->inputs);
    release_pair(state->first);
    release_model(&state->model);
    memory_free(state);
}

static enum ridge_dtype product_type(const struct stage *stage, enum ridge_dtype dtype) {
    return !dtype_is_quantized(dtype) ? dtype : stage->is_gpu ? RIDGE_F16 : RIDGE_F32;
}

/* Weights of the products of a token, without the table's. */
static uint64_t product_weights(const struct llm_shape *shape) {
    uint64_t width = (uint64_t)shape->width;
    uint64_t narrow = width / (uint64_t)shape->heads * (uint64_t)shape->kv_heads;
    return (uint64_t)shape->layers *
               (2 * width * width + 2 * narrow * width + 3 * width * (uint64_t)shape->hidden) +
           (uint64_t)shape->vocabulary * width;
}

/* Matrices are read once; keys and values up to the last position too. The head multiplies only the
 * last token. */
static struct amount amount_of(const struct state *state, const struct ridge_program_info *info) {
    const struct llm *model = &state->model;
    const struct llm_shape *shape = &model->shape;
    uint64_t tokens = (uint64_t)state->tokens, start = (uint64_t)state->start;
    uint64_t head = (uint64_t)(shape->vocabulary * shape->width);
    uint64_t seen = tokens * start + tokens * (tokens + 1) / 2;
    uint64_t cached = 2 *
                      (uint64_t)(shape->layers * shape->kv_heads * (shape->width / shape->heads)) *
                      (start + tokens);
    uint64_t weights = ridge_dtype_bytes(model->dtype, (int64_t)product_weights(shape));
    struct amount amount = {
        .bytes = weights + ridge_dtype_bytes(model->product, (int64_t)cached),
        .moved_bytes = info->bytes,
        .flops = 2 * (tokens * (product_weights(shape) - head) + head) +
                 4 * (uint64_t)(shape->layers * shape->width) * seen,
        .arithmetic = roofs_product_unit(&state->stage->roofs, model->product),
        .replays = 1,
        .graph_kernels = info->kernels,
    };
    amount.touched = amount.bytes;
    return amount;
}

static bool compile_step(struct state *state, struct amount *amount, struct status *status) {
    struct llm *model = &state->model;
    struct ridge_program_info info;
    if (!(state->first[0] = make_tokens(model, state->tokens)) ||
        !(state->first[1] = make_position(model, state->start)) ||
        !(state->program = ridge_compile(step, model, state->first, 2, 3)) ||
        !ridge_program_describe(state->program, &info))
        return run_tensor_failed(status);
    *amount = amount_of(state, &info);
    return true;
}

static const struct llm_shape *shape_of(const struct stage *stage, int64_t millions) {
    if (stage->options.small)
        return &small_shape;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (shapes[i].millions == millions)
            return &shapes[i];
    return NULL;
}

static bool llm_prepare(struct stage *stage, const struct bench_case *work, void **made,
                        struct amount *amount, struct status *status) {
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->stage = stage;
    state->dtype = work->dtype;
    state->tokens = work->numbers[NUMBER_TOKENS];
    state->start = state->position = work->numbers[NUMBER_POSITION];
    state->model = (struct llm){.device = stage->device,
                                .shape = *shape_of(stage, work->size),
                                .dtype = work->dtype,
                                .product = product_type(stage, work->dtype),
                                .context = state->start + MAX(state->tokens, GENERATED)};
    if (make_model(&state->model, status) && compile_step(state, amount, status)) {
        *made = state;
        return true;
    }
    llm_finish(state);
    return false;
}

/* A prompt begins anew; generation goes on until the cache is full. */
static bool llm_call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    ridge_tensor *outputs[3];
    (void)turn;
    bool goes_on = state->inputs[0] && state->position + state->tokens <= state->model.context;
    if (!goes_on)
        state->position = state->start;
    if (!ridge_program_run(state->program, goes_on ? state->inputs : state->first, outputs))
        return run_tensor_failed(status);
    release_pair(state->inputs);
    ridge_release(outputs[2]);
    if (state->tokens > 1) {
        release_pair(outputs);
        return true;
    }
    memcpy(state->inputs, outputs, sizeof state->inputs);
    state->position++;
    return true;
}

/* ---- Checking --------------------------------------------------------------------------- */

/* What the reference reads: a matrix in double, as the device has it. */
static double *read_matrix(ridge_tensor *tensor, struct status *status) {
    size_t count = (size_t)ridge_tensor_count(tensor);
    float *floats = memory_allocate(count, sizeof *floats, status);
    double *values = memory_allocate(count, sizeof *values, status);
    bool ok =
        floats && values && (ridge_to_floats(tensor, floats, count) || run_tensor_failed(status));
    for (size_t i = 0; i < count && ok; i++)
        values[i] = floats[i];
    memory_free(floats);
    if (ok)
        return values;
    memory_free(values);
    return NULL;
}

enum { WIDTH_CHECKED = 256 }; /* of the small model; its hidden width too */

static void multiply(const double *matrix, int64_t rows, int64_t columns, const double *x,
                     double *y) {
    for (int64_t r = 0; r < rows; r++) {
        y[r] = 0;
        for (int64_t c = 0; c < columns; c++)
            y[r] += matrix[r * columns + c] * x[c];
    }
}

static void normalize(const double *x, double *y) {
    double sum = 0;
    for (int i = 0; i < WIDTH_CHECKED; i++)
        sum += x[i] * x[i];
    for (int i = 0; i < WIDTH_CHECKED; i++)
        y[i] = x[i] / sqrt(sum / WIDTH_CHECKED + (double)epsilon);
}

static void rotate(double *x, int64_t heads, int64_t width, int64_t position) {
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 0; i < width; i += 2) {
            double angle = (double)position * pow((double)base, -(double)i / (double)width);
            double *pair = x + h * width + i, even = pair[0], odd = pair[1];
            pair[0] = even * cos(angle) - odd * sin(angle);
            pair[1] = even * sin(angle) + odd * cos(angle);
        }
}

/* Attention of one token to those up to it; keys and values are [token][WIDTH_CHECKED]. */
static void mix(const struct llm_shape *shape, const double *q, double (*keys)[WIDTH_CHECKED],
                double (*values)[WIDTH_CHECKED], int64_t last, double *out) {
    int64_t width = shape->width / shape->heads, group = shape->heads / shape->kv_heads;
    for (int64_t h = 0; h < shape->heads; h++) {
        double weights[CHECKED_TOKENS], sum = 0;
        int64_t at = h / group * width;
        for (int64_t t = 0; t <= last; t++) {
            double score = 0;
            for (int64_t i = 0; i < width; i++)
                score += q[h * width + i] * keys[t][at + i];
            sum += weights[t] = exp(score / sqrt((double)width));
        }
        for (int64_t i = 0; i < width; i++) {
            out[h * width + i] = 0;
            for (int64_t t = 0; t <= last; t++)
                out[h * width + i] += weights[t] / sum * values[t][at + i];
        }
    }
}

static void reference_layer(const struct llm_shape *shape, double *const *matrices,
                            double (*x)[WIDTH_CHECKED], int64_t tokens) {
    double keys[CHECKED_TOKENS][WIDTH_CHECKED], values[CHECKED_TOKENS][WIDTH_CHECKED];
    double normal[WIDTH_CHECKED], q[WIDTH_CHECKED], y[WIDTH_CHECKED], up[WIDTH_CHECKED];
    int64_t width = shape->width, head = width / shape->heads, narrow = head * shape->kv_heads;
    for (int64_t t = 0; t < tokens; t++) {
        normalize(x[t], normal);
        multiply(matrices[QUERY], width, width, normal, q);
        multiply(matrices[KEY], narrow, width, normal, keys[t]);
        multiply(matrices[VALUE], narrow, width, normal, values[t]);
        rotate(q, shape->heads, head, t);
        rotate(keys[t], shape->kv_heads, head, t);
        mix(shape, q, keys, values, t, normal);
        multiply(matrices[MIX], width, width, normal, y);
        for (int64_t i = 0; i < width; i++)
            x[t][i] += y[i];
        normalize(x[t], normal);
        multiply(matrices[GATE], shape->hidden, width, normal, y);
        multiply(matrices[UP], shape->hidden, width, normal, up);
        for (int64_t i = 0; i < shape->hidden; i++)
            up[i] *= y[i] / (1 + exp(-y[i]));
        multiply(matrices[DOWN], width, shape->hidden, up, y);
        for (int64_t i = 0; i < width; i++)
            x[t][i] += y[i];
    }
}

static bool run_reference(const struct llm *model, int64_t tokens, double *logits,
                          struct status *status) {
    const struct llm_shape *shape = &model->shape;
    double x[CHECKED_TOKENS][WIDTH_CHECKED], normal[WIDTH_CHECKED];
    double *table = read_matrix(model->table, status), *head = read_matrix(model->head, status);
    bool ok = table && head;
    for (int64_t t = 0; t < tokens && ok; t++)
        memcpy(x[t], table + (t * 7919 + 11) % shape->vocabulary * shape->width, sizeof x[t]);
    for (int64_t i = 0; i < shape->layers && ok; i++) {
        double *matrices[LAYER_MATRICES] = {NULL};
        for (unsigned k = 0; k < LAYER_MATRICES && ok; k++)
            ok = (matrices[k] = read_matrix(model->layers[i].matrices[k], status)) != NULL;
        if (ok)
            reference_layer(shape, matrices, x, tokens);
        for (unsigned k = 0; k < LAYER_MATRICES; k++)
            memory_free(matrices[k]);
    }
    if (ok) {
        normalize(x[tokens - 1], normal);
        multiply(head, shape->vocabulary, shape->width, normal, logits);
    }
    memory_free(table);
    memory_free(head);
    return ok;
}

/* The largest difference relative to the largest value that rounding explains. */
static double error_bound(const struct llm *model) {
    return model->product == RIDGE_BF16       ? 0.1
           : model->product == RIDGE_F16      ? 0.02
           : dtype_is_quantized(model->dtype) ? 0.002
                                              : 1e-4;
}

static bool compare_logits(const struct llm *model, ridge_tensor *logits, int64_t tokens,
                           double *error, struct status *status) {
    double expected[64];
    float values[64];
    double largest = 0;
    if (!run_reference(model, tokens, expected, status))
        return false;
    if (!ridge_to_floats(logits, values, (size_t)model->shape.vocabulary))
        return run_tensor_failed(status);
    *error = 0;
    for (int64_t i = 0; i < model->shape.vocabulary; i++) {
        largest = MAX(largest, fabs(expected[i]));
        *error = MAX(*error, fabs((double)values[i] - expected[i]));
    }
    *error /= largest;
    return *error <= error_bound(model) ||
           status_fail(status, STATUS_INPUT, "the logits differ by %.3g of the largest", *error);
}

static bool llm_check(void *context, double *error, struct status *status) {
    struct state *state = context;
    int64_t tokens = MIN(state->tokens, CHECKED_TOKENS);
    struct llm model = {.device = state->model.device,
                        .shape = small_shape,
                        .dtype = state->dtype,
                        .product = state->model.product,
                        .context = CHECKED_TOKENS};
    ridge_tensor *inputs[2] = {NULL}, *outputs[3] = {NULL};
    ridge_program *program = NULL;
    bool ok = make_model(&model, status);
    if (ok)
        ok = ((inputs[0] = make_tokens(&model, tokens)) && (inputs[1] = make_position(&model, 0)) &&
              (program = ridge_compile(step, &model, inputs, 2, 3)) &&
              ridge_program_run(program, inputs, outputs)) ||
             run_tensor_failed(status);
    ok = ok && compare_logits(&model, outputs[2], tokens, error, status);
    release_pair(outputs);
    ridge_release(outputs[2]);
    ridge_program_release(program);
    release_pair(inputs);
    release_model(&model);
    return ok;
}

static const struct case_kind llm_case = {
    .prepare = llm_prepare, .call = llm_call, .check = llm_check, .finish = llm_finish};

/* ---- Planning and concluding -------------------------------------------------------------- */

static bool add_cases(const struct stage *stage, int64_t millions, enum ridge_dtype dtype,
                      struct case_list *list, struct status *status) {
    const struct llm_shape *shape = shape_of(stage, millions);
    int64_t prompt = stage->options.small ? PROMPT_SMALL : PROMPT;
    if (!shape)
        return status_fail(status, STATUS_USAGE,
                           "there is no model of %lld million parameters: use 110, 1100 or 8000",
                           (long long)millions);
    if (dtype == RIDGE_I32 || dtype == RIDGE_U8)
        return status_fail(status, STATUS_USAGE,
                           "a model cannot have type %s: use f32, f16, bf16 "
                           "or a quantized one",
                           ridge_dtype_name(dtype));
    for (unsigned i = 0; i < 2; i++) {
        struct bench_case work = {.kind = &llm_case, .dtype = dtype, .size = millions};
        work.numbers[NUMBER_TOKENS] = i ? 1 : prompt;
        work.numbers[NUMBER_POSITION] = i ? prompt : 0;
        int64_t table = shape->vocabulary * shape->width;
        work.memory_bytes =
            ridge_dtype_bytes(dtype, (int64_t)product_weights(shape) + table) + 8 * (uint64_t)table;
        snprintf(work.label, sizeof work.label, "Llama of %s %s",
                 shape->millions >= 1000 ? shape->millions == 8000 ? "8B" : "1.1B"
                 : shape->millions       ? "110M"
                                         : "2 layers",
                 ridge_dtype_name(dtype));
        if (i)
            snprintf(work.variant, sizeof work.variant, "decode at %d", (int)prompt);
        else
            snprintf(work.variant, sizeof work.variant, "prefill of %d", (int)prompt);
        if (!case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool llm_plan(const struct experiment *experiment, const struct stage *stage,
                     struct case_list *list, struct status *status) {
    static const enum ridge_dtype cpu[] = {RIDGE_Q8_0, RIDGE_Q4_K}, gpu[] = {RIDGE_F16, RIDGE_Q4_K};
    unsigned size_count, dtype_count;
    int64_t default_size = stage->options.small ? 0 : stage->is_gpu ? 1100 : 110;
    const int64_t *sizes = experiment_sizes(stage, &default_size, 1, &size_count);
    const enum ridge_dtype *dtypes =
        experiment_dtypes(stage, stage->is_gpu ? gpu : cpu, 2, &dtype_count);
    (void)experiment;
    for (unsigned s = 0; s < size_count; s++)
        for (unsigned d = 0; d < dtype_count; d++)
            if (!add_cases(stage, sizes[s], dtypes[d], list, status))
                return false;
    return true;
}

static char *format_tokens(double tokens, char text[FORMAT_SIZE]) {
    if (tokens >= 1000)
        return format_count((uint64_t)(tokens + 0.5), text);
    snprintf(text, FORMAT_SIZE, tokens >= 100 ? "%.0f" : "%.1f", tokens);
    return text;
}

static bool llm_conclude(const struct experiment *experiment, const struct stage *stage,
                         const struct result *results, size_t count, struct result_set *set,
                         struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 0; i < count; i++) {
        const struct result *result = &results[i];
        double time = result->time.time.median, limit = result->limit.ns;
        int64_t tokens = result->numbers[NUMBER_TOKENS];
        char had[FORMAT_SIZE], allowed[FORMAT_SIZE], bound[80] = "";
        if (*result->problem || time <= 0)
            continue;
        double rate = (double)tokens / time * 1e9;
        format_tokens(rate, had);
        if (limit > 0)
            snprintf(bound, sizeof bound, "; its limit, %s, allows %s",
                     limit_kind_name(result->limit.kind),
                     format_tokens((double)tokens / limit * 1e9, allowed));
        if (!finding_add(set, result->experiment, result->device, tokens > 1 ? "prefill" : "decode",
                         rate, status, "%s %s %s tokens/s%s.", result->label,
                         tokens > 1 ? "reads a prompt at" : "generates", had, bound))
            return false;
    }
    return true;
}

const struct experiment experiment_llm = {
    .name = "llm",
    .summary = "A Llama model: tokens a second of prefill and of decoding",
    .sizes = "parameters in millions: 110, 1100 or 8000; 110 (GPU: 1100)",
    .takes = TAKES_DTYPE | TAKES_SIZE,
    .plan = llm_plan,
    .conclude = llm_conclude,
};
