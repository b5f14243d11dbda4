/* How fast does an RWKV-7 language model process a prompt and generate, and where does the time
 * go?
 *
 * Generating a token reads every weight once, so memory bandwidth bounds its time; a prompt
 * reads them once for many tokens. The parts of a layer are measured separately to show which
 * are far from their limits.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "bench/experiment.h"
#include "bench/rwkv/case.h"

enum { PROMPT_TOKENS = 128, PROMPT_TOKENS_SMALL = 16, BATCH_MAX = 1 << 16 };

struct model {
    char name[48]; /* "1.5B f16" */
    int64_t size, batch;
    enum ridge_dtype dtype;
    struct rwkv_shape shape;
};

/* ---- Planning --------------------------------------------------------------------------- */

/* Creating a quantized matrix needs it in f32 too, and a product of many rows its inputs and
 * results. */
static uint64_t memory_needed(const struct stage *stage, const struct model *model,
                              int64_t tokens) {
    const int64_t *sizes = model->shape.sizes;
    uint64_t matrix = 4 * (uint64_t)sizes[RWKV_VOCABULARY] * (uint64_t)sizes[RWKV_WIDTH];
    uint64_t rows = (uint64_t)tokens * (uint64_t)model->batch;
    uint64_t states = (uint64_t)model->shape.layers * (uint64_t)model->batch * 8 *
                      (uint64_t)sizes[RWKV_WIDTH] * (uint64_t)(model->shape.head_width + 2);
    return rwkv_shape_bytes(&model->shape, model->dtype, rwkv_case_product(stage, model->dtype)) +
           2 * matrix + states + rows * 16 * (uint64_t)(sizes[RWKV_HIDDEN] + sizes[RWKV_WIDTH]);
}

static bool add_case(const struct stage *stage, const struct model *model, int64_t what,
                     int64_t tokens, struct case_list *list, struct status *status) {
    struct bench_case work = {.kind = &rwkv_case,
                              .dtype = model->dtype,
                              .size = model->size,
                              .batch = model->batch,
                              .numbers = {[RWKV_CASE_WHAT] = what,
                                          [RWKV_CASE_TOKENS] = tokens,
                                          [RWKV_CASE_LAYERS] = model->shape.layers},
                              .memory_bytes = memory_needed(stage, model, tokens)};
    snprintf(work.label, sizeof work.label, "%s, %.36s",
             what == RWKV_STEP ? "whole model" : rwkv_part_name((enum rwkv_part)what), model->name);
    if (tokens > 1)
        snprintf(work.variant, sizeof work.variant, "prompt of %d", (int)tokens);
    else
        snprintf(work.variant, sizeof work.variant, "generate");
    return case_add(list, &work, status);
}

static bool add_model(const struct stage *stage, const struct model *model, struct case_list *list,
                      struct status *status) {
    for (int64_t part = 0; part < RWKV_PARTS; part++)
        if (!add_case(stage, model, part, 1, list, status))
            return false;
    int64_t prompt = stage->options.small ? PROMPT_TOKENS_SMALL : PROMPT_TOKENS;
    return add_case(stage, model, RWKV_STEP, 1, list, status) &&
           add_case(stage, model, RWKV_STEP, prompt, list, status);
}

static void name_model(const struct stage *stage, struct model *model) {
    double millions = (double)rwkv_parameters(&model->shape) / 1e6;
    char size[16], batch[16] = "";
    if (model->size == 0)
        model->size = (int64_t)(millions + 0.5);
    if (!stage->options.model && !stage->options.small)
        millions = (double)model->size; /* the published name, not the exact count */
    if (millions < 50)
        snprintf(size, sizeof size, "%.1fM", millions);
    else
        snprintf(size, sizeof size, "%.1fB", millions / 1000);
    if (model->batch > 1)
        snprintf(batch, sizeof batch, " x%d", (int)model->batch);
    snprintf(model->name, sizeof model->name, "%s %s%s", size, ridge_dtype_name(model->dtype),
             batch);
}

static bool describe_model(const struct stage *stage, struct model *model, struct status *status) {
    struct weights *file;
    if (model->dtype == RIDGE_I32 || model->dtype == RIDGE_U8)
        return status_fail(status, STATUS_USAGE,
                           "a model cannot have type %s: use f32, f16, bf16, q8_0 or q4_k",
                           ridge_dtype_name(model->dtype));
    if (model->batch < 1 || model->batch > BATCH_MAX)
        return status_fail(status, STATUS_USAGE, "%lld sequences at once are not possible",
                           (long long)model->batch);
    if (!rwkv_case_model(stage, model->size, model->dtype, &file, &model->shape, status))
        return false;
    weights_close(file);
    name_model(stage, model);
    return true;
}

/* The type of the file's matrices, unless the user selects another. */
static bool default_dtypes(const struct stage *stage, enum ridge_dtype dtypes[2], unsigned *count,
                           struct status *status) {
    dtypes[0] = stage->is_gpu ? RIDGE_F16 : RIDGE_F32;
    dtypes[1] = RIDGE_Q8_0;
    *count = stage->is_gpu ? 1 : 2;
    if (!stage->options.model)
        return true;
    struct weights *file = weights_open(stage->options.model, status);
    if (!file)
        return false;
    dtypes[0] = rwkv_dtype_of_file(file);
    *count = 1;
    weights_close(file);
    return true;
}

static bool rwkv_experiment_plan(const struct experiment *experiment, const struct stage *stage,
                                 struct case_list *list, struct status *status) {
    (void)experiment;
    static const int64_t one[] = {1};
    bool given = stage->options.model || stage->options.small;
    int64_t default_size = given ? 0 : stage->is_gpu ? 1500 : 100;
    enum ridge_dtype own_dtypes[2];
    unsigned own_count, size_count, batch_count, dtype_count;
    if (stage->options.model && stage->options.size_count > 0)
        return status_fail(status, STATUS_USAGE,
                           "a model from a file has its own size: leave out --size or --model");
    if (!default_dtypes(stage, own_dtypes, &own_count, status))
        return false;
    const int64_t *sizes = experiment_sizes(stage, &default_size, 1, &size_count);
    const int64_t *batches = experiment_batches(stage, one, 1, &batch_count);
    const enum ridge_dtype *dtypes = experiment_dtypes(stage, own_dtypes, own_count, &dtype_count);
    for (unsigned s = 0; s < size_count; s++)
        for (unsigned d = 0; d < dtype_count; d++)
            for (unsigned b = 0; b < batch_count; b++) {
                struct model model = {.size = sizes[s], .batch = batches[b], .dtype = dtypes[d]};
                if (!describe_model(stage, &model, status) ||
                    !add_model(stage, &model, list, status))
                    return false;
            }
    return true;
}

/* ---- Concluding ------------------------------------------------------------------------- */

/* Results of one model; NULL if missing. */
struct model_results {
    const struct result *parts[RWKV_PARTS], *generate, *prompt;
    char name[56];
};

static double time_of(const struct result *result) {
    return result->time.time.median;
}

static bool same_model(const struct result *a, const struct result *b) {
    return a->size == b->size && a->batch == b->batch && a->dtype == b->dtype;
}

static void collect_results(const struct result *results, size_t count, const struct result *first,
                            struct model_results *model) {
    *model = (struct model_results){.generate = NULL};
    const char *comma = strchr(first->label, ',');
    snprintf(model->name, sizeof model->name, "%s", comma ? comma + 2 : first->label);
    for (size_t i = 0; i < count; i++) {
        const struct result *result = &results[i];
        int64_t what = result->numbers[RWKV_CASE_WHAT];
        if (!same_model(result, first) || *result->problem || time_of(result) <= 0)
            continue;
        if (what >= 0 && what < RWKV_PARTS)
            model->parts[what] = result;
        else if (result->numbers[RWKV_CASE_TOKENS] == 1)
            model->generate = result;
        else
            model->prompt = result;
    }
}

/* "1,320", "45.2" */
static char *format_tokens(double tokens, char text[FORMAT_SIZE]) {
    if (tokens >= 1000)
        return format_count((uint64_t)(tokens + 0.5), text);
    snprintf(text, FORMAT_SIZE, tokens >= 100 ? "%.0f" : "%.1f", tokens);
    return text;
}

static double tokens_a_second(const struct result *result, double ns) {
    return (double)(result->batch * result->numbers[RWKV_CASE_TOKENS]) / ns * 1e9;
}

/* "3.1 times slower than the hardware allows" */
static char *format_distance(double time, double limit, char text[80]) {
    double ratio = time / limit;
    if (ratio >= 1.05)
        snprintf(text, 80, "%.1fx slower than the hardware allows", ratio);
    else
        snprintf(text, 80, "as fast as the hardware allows");
    return text;
}

static bool conclude_generation(const struct model_results *model, struct result_set *set,
                                struct status *status) {
    const struct result *result = model->generate;
    char had[FORMAT_SIZE], allowed[FORMAT_SIZE], bytes[FORMAT_SIZE], rate[FORMAT_SIZE];
    char distance[80], other[120] = "";
    if (!result)
        return true;
    double time = time_of(result), floor = result->limit.memory_ns;
    double tokens = tokens_a_second(result, time);
    format_tokens(tokens, had);
    if (floor <= 0)
        return finding_add(set, result->experiment, result->device, "generation", tokens, status,
                           "%s generates %s tokens/s.", model->name, had);
    format_tokens(tokens_a_second(result, floor), allowed);
    format_bytes(result->amount.bytes, bytes);
    format_rate((double)result->amount.bytes / floor * 1e9, rate);
    if (result->limit.ns > 1.05 * floor) {
        char sooner[FORMAT_SIZE];
        snprintf(other, sizeof other, " Another limit, %s, allows only %s.",
                 limit_kind_name(result->limit.kind),
                 format_tokens(tokens_a_second(result, result->limit.ns), sooner));
    }
    return finding_add(set, result->experiment, result->device, "generation", tokens, status,
                       "%s generates %s tokens/s. Reading %s of weights and states at %s allows %s "
                       "tokens/s; this is %.3g %% of it, %s.%s",
                       model->name, had, bytes, rate, allowed, 100 * floor / time,
                       format_distance(time, floor, distance), other);
}

static bool conclude_prompt(const struct model_results *model, struct result_set *set,
                            struct status *status) {
    const struct result *result = model->prompt;
    char had[FORMAT_SIZE], allowed[FORMAT_SIZE], distance[80];
    if (!result)
        return true;
    double tokens = tokens_a_second(result, time_of(result));
    format_tokens(tokens, had);
    if (result->limit.ns <= 0)
        return finding_add(set, result->experiment, result->device, "prompt", tokens, status,
                           "%s reads a prompt at %s tokens/s.", model->name, had);
    format_tokens(tokens_a_second(result, result->limit.ns), allowed);
    return finding_add(set, result->experiment, result->device, "prompt", tokens, status,
                       "%s reads a prompt of %lld at %s tokens/s; its limit, %s, allows %s: %s.",
                       model->name, (long long)result->numbers[RWKV_CASE_TOKENS], had,
                       limit_kind_name(result->limit.kind), allowed,
                       format_distance(time_of(result), result->limit.ns, distance));
}

/* Shares are of the parts' sum: a layer's four times the number of layers, and the head. */
static bool conclude_shares(const struct model_results *model, struct result_set *set,
                            struct status *status) {
    double times[RWKV_PARTS], sum = 0;
    char shares[RWKV_PARTS][FORMAT_SIZE];
    unsigned largest = 0;
    for (unsigned i = 0; i < RWKV_PARTS; i++) {
        if (!model->parts[i])
            return true;
        double layers = i == RWKV_HEAD ? 1 : (double)model->parts[i]->numbers[RWKV_CASE_LAYERS];
        times[i] = layers * time_of(model->parts[i]);
        sum += times[i];
        largest = times[i] > times[largest] ? i : largest;
    }
    for (unsigned i = 0; i < RWKV_PARTS; i++)
        format_percent(times[i] / sum, shares[i]);
    return finding_add(set, model->parts[0]->experiment, model->parts[0]->device, "largest_part",
                       times[largest] / sum, status,
                       "%s, one token by its parts, %lld layers and the head, of their sum: "
                       "attention linear %s, wkv %s, attention output %s, ffn %s, head %s.",
                       model->name, (long long)model->parts[0]->numbers[RWKV_CASE_LAYERS],
                       shares[RWKV_ATTENTION_LINEAR], shares[RWKV_WKV],
                       shares[RWKV_ATTENTION_OUTPUT], shares[RWKV_FFN], shares[RWKV_HEAD]);
}

static bool rwkv_experiment_conclude(const struct experiment *experiment, const struct stage *stage,
                                     const struct result *results, size_t count,
                                     struct result_set *set, struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 0; i < count; i++) {
        struct model_results model;
        if (i > 0 && same_model(&results[i], &results[i - 1]))
            continue;
        collect_results(results, count, &results[i], &model);
        if (!conclude_generation(&model, set, status) || !conclude_prompt(&model, set, status) ||
            !conclude_shares(&model, set, status))
            return false;
    }
    return true;
}

const struct experiment experiment_rwkv = {
    .name = "rwkv",
    .summary = "An RWKV-7 language model: tokens a second, the floor by bandwidth, and each part "
               "of a layer",
    .sizes = "parameters in millions: 100, 400, 1500 or 2900; 100 (GPU: 1500)",
    .batches = "sequences at once; 1",
    .takes = TAKES_DTYPE | TAKES_SIZE | TAKES_BATCH | TAKES_MODEL,
    .plan = rwkv_experiment_plan,
    .conclude = rwkv_experiment_conclude,
};
