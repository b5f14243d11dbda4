/* A Llama model from a GGUF file: tokenizer, prompt and generation by one compiled step.
 *
 *   llama DEVICE MODEL.gguf PROMPT [TOKENS [TEMPERATURE [TOP_K [TOP_P [SEED]]]]]
 *   llama DEVICE
 *
 * prints the continuation. With PROMPT "-" token numbers are read from standard input and printed;
 * with TOKENS 0 those of the prompt are printed. Without a model a small one with random weights is
 * written to made_up.gguf first. scripts/check-llama compares the tokenizer and the model with
 * others.
 *
 * Positions are a tensor, so the program that was compiled for one token serves all of them; the
 * prompt is a second variant of it. The caches are updated in place.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ridge.h>

enum { LAYERS_MAX = 256, NAME_MAX_LENGTH = 64 };

/* ---- The tokenizer: SentencePiece's, as GGUF stores it ------------------------------------ */

struct piece {
    const char *text;
    size_t length;
    float score;
};

struct tokenizer {
    struct piece *pieces; /* by token */
    int32_t *sorted;      /* tokens in order of their text */
    size_t count;
    int64_t first, last; /* the tokens before and after a text; -1: none */
};

static const struct tokenizer *sorting; /* qsort() has no argument for it */

static int compare_text(const char *a, size_t a_length, const char *b, size_t b_length) {
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_text(const void *a, const void *b) {
    const struct piece *x = &sorting->pieces[*(const int32_t *)a];
    const struct piece *y = &sorting->pieces[*(const int32_t *)b];
    return compare_text(x->text, x->length, y->text, y->length);
}

/* The token of a text, or -1. */
static int32_t find_token(const struct tokenizer *tokenizer, const char *text, size_t length) {
    size_t low = 0, high = tokenizer->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int32_t token = tokenizer->sorted[middle];
        const struct piece *piece = &tokenizer->pieces[token];
        int order = compare_text(piece->text, piece->length, text, length);
        if (order == 0)
            return token;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static bool load_tokenizer(const ridge_weights *file, struct tokenizer *tokenizer) {
    const char *model = ridge_weights_text(file, "tokenizer.ggml.model", NULL);
    if (!model || strcmp(model, "llama") != 0) {
        fprintf(stderr, "llama: the tokenizer is %s; only SentencePiece (\"llama\") is supported\n",
                model ? model : "missing");
        return false;
    }
    *tokenizer = (struct tokenizer){.first = -1, .last = -1};
    tokenizer->count = ridge_weights_array(file, "tokenizer.ggml.tokens");
    tokenizer->pieces = calloc(tokenizer->count + 1, sizeof *tokenizer->pieces);
    tokenizer->sorted = calloc(tokenizer->count + 1, sizeof *tokenizer->sorted);
    if (!tokenizer->pieces || !tokenizer->sorted || tokenizer->count > INT32_MAX)
        return false;
    for (size_t i = 0; i < tokenizer->count; i++) {
        struct piece *piece = &tokenizer->pieces[i];
        double score = 0;
        piece->text = ridge_weights_array_text(file, "tokenizer.ggml.tokens", i, &piece->length);
        ridge_weights_array_number(file, "tokenizer.ggml.scores", i, &score);
        piece->score = (float)score;
        tokenizer->sorted[i] = (int32_t)i;
        if (!piece->text)
            return false;
    }
    sorting = tokenizer;
    qsort(tokenizer->sorted, tokenizer->count, sizeof *tokenizer->sorted, by_text);
    ridge_weights_integer(file, "tokenizer.ggml.bos_token_id", &tokenizer->first);
    ridge_weights_integer(file, "tokenizer.ggml.eos_token_id", &tokenizer->last);
    return true;
}

/* The text with a space in front and the visible mark of SentencePiece for every space. */
static char *mark_spaces(const char *text) {
    static const char mark[] = "\xe2\x96\x81";
    char *marked = malloc(3 * strlen(text) + 4), *to = marked;
    if (!marked)
        return NULL;
    to = (char *)memcpy(to, mark, 3) + 3;
    for (; *text; text++)
        if (*text == ' ')
            to = (char *)memcpy(to, mark, 3) + 3;
        else
            *to++ = *text;
    *to = '\0';
    return marked;
}

static size_t character_length(const char *text) {
    unsigned char c = (unsigned char)*text;
    size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            return 1;
    return length;
}

struct span {
    const char *text;
    size_t length;
};

/* Joins the neighbors whose piece has the best score until no neighbors form one. */
static size_t join_spans(const struct tokenizer *tokenizer, struct span *spans, size_t count) {
    for (;;) {
        size_t best = count;
        float best_score = -INFINITY;
        for (size_t i = 0; i + 1 < count; i++) {
            int32_t token =
                find_token(tokenizer, spans[i].text, spans[i].length + spans[i + 1].length);
            if (token >= 0 && tokenizer->pieces[token].score > best_score) {
                best_score = tokenizer->pieces[token].score;
                best = i;
            }
        }
        if (best == count)
            return count;
        spans[best].length += spans[best + 1].length;
        memmove(&spans[best + 1], &spans[best + 2], (count - best - 2) * sizeof *spans);
        count--;
    }
}

/* Tokens of a text, which the caller frees; characters without one become tokens of bytes. */
static int32_t *encode(const struct tokenizer *tokenizer, const char *text, size_t *count) {
    char *marked = mark_spaces(text);
    size_t length = marked ? strlen(marked) : 0, spans = 0, made = 0;
    struct span *parts = calloc(length + 1, sizeof *parts);
    int32_t *tokens = calloc(length + 2, sizeof *tokens);
    if (!marked || !parts || !tokens) {
        free(marked);
        free(parts);
        free(tokens);
        return NULL;
    }
    for (size_t at = 0; at < length; at += parts[spans++].length)
        parts[spans] = (struct span){marked + at, character_length(marked + at)};
    spans = join_spans(tokenizer, parts, spans);
    if (tokenizer->first >= 0)
        tokens[made++] = (int32_t)tokenizer->first;
    for (size_t i = 0; i < spans; i++) {
        int32_t token = find_token(tokenizer, parts[i].text, parts[i].length);
        for (size_t byte = 0; token < 0 && byte < parts[i].length; byte++) {
            char name[8];
            int size = snprintf(name, sizeof name, "<0x%02X>", (unsigned char)parts[i].text[byte]);
            int32_t found = find_token(tokenizer, name, (size_t)size);
            tokens[made++] = found < 0 ? 0 : found;
        }
        if (token >= 0)
            tokens[made++] = token;
    }
    free(marked);
    free(parts);
    *count = made;
    return tokens;
}

static void print_token(const struct tokenizer *tokenizer, int32_t token) {
    if (token < 0 || (size_t)token >= tokenizer->count)
        return;
    const struct piece *piece = &tokenizer->pieces[token];
    unsigned byte;
    if (piece->length == 6 && sscanf(piece->text, "<0x%02X>", &byte) == 1) {
        putchar((int)byte);
        return;
    }
    for (size_t i = 0; i < piece->length; i++)
        if (i + 2 < piece->length && memcmp(piece->text + i, "\xe2\x96\x81", 3) == 0) {
            putchar(' ');
            i += 2;
        } else {
            putchar(piece->text[i]);
        }
}

/* ---- The model -------------------------------------------------------------------------- */

struct layer {
    ridge_tensor *attention_norm, *q, *k, *v, *output;
    ridge_tensor *feed_norm, *gate, *up, *down;
    ridge_tensor *keys, *values; /* caches [1, kv_heads, context, width] */
};

struct model {
    ridge_device *device;
    int64_t layers, heads, kv_heads, width, context;
    float base, epsilon, temperature, top_p;
    int64_t top_k;
    uint64_t seed;
    ridge_tensor *embedding, *output_norm, *output;
    struct layer layer[LAYERS_MAX];
};

static ridge_tensor *load(const ridge_weights *file, const struct model *model, const char *name) {
    return ridge_weights_load(file, model->device, name);
}

static ridge_tensor *load_of(const ridge_weights *file, const struct model *model, int64_t layer,
                             const char *part) {
    char name[NAME_MAX_LENGTH];
    snprintf(name, sizeof name, "blk.%" PRId64 ".%s.weight", layer, part);
    return load(file, model, name);
}

static bool load_layer(const ridge_weights *file, struct model *model, int64_t number) {
    struct layer *layer = &model->layer[number];
    int64_t cache[4] = {1, model->kv_heads, model->context, model->width};
    layer->attention_norm = load_of(file, model, number, "attn_norm");
    layer->q = load_of(file, model, number, "attn_q");
    layer->k = load_of(file, model, number, "attn_k");
    layer->v = load_of(file, model, number, "attn_v");
    layer->output = load_of(file, model, number, "attn_output");
    layer->feed_norm = load_of(file, model, number, "ffn_norm");
    layer->gate = load_of(file, model, number, "ffn_gate");
    layer->up = load_of(file, model, number, "ffn_up");
    layer->down = load_of(file, model, number, "ffn_down");
    layer->keys = ridge_zeros(model->device, RIDGE_F32, 4, cache);
    layer->values = ridge_zeros(model->device, RIDGE_F32, 4, cache);
    return layer->attention_norm && layer->q && layer->k && layer->v && layer->output &&
           layer->feed_norm && layer->gate && layer->up && layer->down && layer->keys &&
           layer->values;
}

static bool integer(const ridge_weights *file, const char *key, int64_t *value) {
    if (ridge_weights_integer(file, key, value) && *value > 0)
        return true;
    fprintf(stderr, "llama: the file has no %s\n", key);
    return false;
}

static bool load_model(const ridge_weights *file, struct model *model) {
    const char *architecture = ridge_weights_text(file, "general.architecture", NULL);
    int64_t size, known;
    double number;
    struct ridge_weight_info info;
    if (!architecture || strcmp(architecture, "llama") != 0) {
        fprintf(stderr, "llama: the architecture is %s, not llama\n",
                architecture ? architecture : "missing");
        return false;
    }
    if (!integer(file, "llama.block_count", &model->layers) ||
        !integer(file, "llama.embedding_length", &size) ||
        !integer(file, "llama.attention.head_count", &model->heads))
        return false;
    if (model->layers > LAYERS_MAX || size % model->heads != 0) {
        fprintf(stderr, "llama: %" PRId64 " layers of width %" PRId64 " with %" PRId64 " heads\n",
                model->layers, size, model->heads);
        return false;
    }
    model->width = size / model->heads;
    model->kv_heads = model->heads;
    ridge_weights_integer(file, "llama.attention.head_count_kv", &model->kv_heads);
    if (ridge_weights_integer(file, "llama.context_length", &known) && known < model->context)
        model->context = known;
    model->base =
        ridge_weights_number(file, "llama.rope.freq_base", &number) ? (float)number : 1e4f;
    model->epsilon = ridge_weights_number(file, "llama.attention.layer_norm_rms_epsilon", &number)
                         ? (float)number
                         : 1e-5f;
    model->embedding = load(file, model, "token_embd.weight");
    model->output_norm = load(file, model, "output_norm.weight");
    model->output = ridge_weights_find(file, "output.weight", &info)
                        ? load(file, model, "output.weight")
                        : model->embedding;
    bool ok = model->embedding && model->output_norm && model->output;
    for (int64_t i = 0; i < model->layers && ok; i++)
        ok = load_layer(file, model, i);
    return ok;
}

/* ---- A step ----------------------------------------------------------------------------- */

/* x by a weight of any type; activations are f32. */
static ridge_tensor *project(ridge_tensor *x, ridge_tensor *weight) {
    enum ridge_dtype type = ridge_tensor_dtype(weight);
    if (type != RIDGE_F16 && type != RIDGE_BF16)
        return ridge_linear(x, weight, NULL, RIDGE_ACTIVATION_NONE);
    ridge_tensor *product = ridge_linear(ridge_cast(x, type), weight, NULL, RIDGE_ACTIVATION_NONE);
    return ridge_cast(product, RIDGE_F32);
}

/* [tokens, heads * width] to [1, heads, tokens, width]. */
static ridge_tensor *split_heads(const struct model *model, ridge_tensor *x, int64_t heads) {
    int64_t sizes[4] = {1, -1, heads, model->width};
    return ridge_transpose(ridge_reshape(x, 4, sizes), 1, 2);
}

static ridge_tensor *attend(const struct model *model, const struct layer *layer, ridge_tensor *x,
                            ridge_tensor *position, ridge_tensor *positions) {
    int64_t tokens = ridge_tensor_size(x, 0);
    ridge_tensor *q = split_heads(model, project(x, layer->q), model->heads);
    ridge_tensor *k = split_heads(model, project(x, layer->k), model->kv_heads);
    ridge_tensor *v = split_heads(model, project(x, layer->v), model->kv_heads);
    if (!ridge_update(layer->keys, ridge_rope(k, positions, model->base, true), 2, position) ||
        !ridge_update(layer->values, v, 2, position))
        return NULL;
    struct ridge_attention_mask mask = {.causal = true,
                                        .lengths = ridge_add_scalar(position, (double)tokens)};
    ridge_tensor *mixed =
        ridge_attention_masked(ridge_rope(q, positions, model->base, true), layer->keys,
                               layer->values, 1 / sqrtf((float)model->width), &mask);
    int64_t flat[2] = {tokens, model->heads * model->width};
    return project(ridge_reshape(ridge_transpose(mixed, 1, 2), 2, flat), layer->output);
}

static ridge_tensor *feed(const struct layer *layer, ridge_tensor *x) {
    ridge_tensor *gate = ridge_silu(project(x, layer->gate));
    return project(ridge_mul(gate, project(x, layer->up)), layer->down);
}

/* Inputs: tokens [count], the position of the first [1]. Outputs: the next token [1], the next
 * position, the logits [1, vocabulary]. */
static bool step(void *context, ridge_tensor *const *in, ridge_tensor **out) {
    const struct model *model = context;
    int64_t tokens = ridge_tensor_size(in[0], 0);
    ridge_tensor *positions =
        ridge_add(ridge_arange(model->device, RIDGE_I32, tokens, 0, 1), in[1]);
    ridge_tensor *x = ridge_cast(ridge_embedding(model->embedding, in[0]), RIDGE_F32);
    for (int64_t i = 0; i < model->layers && x; i++) {
        const struct layer *layer = &model->layer[i];
        ridge_tensor *normal = ridge_rms_norm(x, layer->attention_norm, model->epsilon);
        x = ridge_add(x, attend(model, layer, normal, in[1], positions));
        x = ridge_add(x, feed(layer, ridge_rms_norm(x, layer->feed_norm, model->epsilon)));
    }
    x = ridge_rms_norm(ridge_slice(x, 0, -1, INT64_MAX, 1), model->output_norm, model->epsilon);
    out[2] = project(x, model->output);
    out[1] = ridge_add_scalar(in[1], (double)tokens);
    out[0] =
        ridge_sample(out[2], out[1], model->temperature, model->top_k, model->top_p, model->seed);
    return out[0] && out[1] && out[2];
}

/* ---- Generating ------------------------------------------------------------------------- */

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct generation {
    const struct tokenizer *tokenizer; /* NULL: tokens are printed as numbers */
    ridge_program *program;
    ridge_tensor *in[2];
};

/* Runs the step; its token and position are the next one's inputs. -1 on failure. */
static int32_t advance(struct generation *generation) {
    ridge_tensor *out[3];
    int32_t token = -1;
    if (!ridge_program_run(generation->program, generation->in, out) ||
        !ridge_to_host(out[0], &token, sizeof token))
        return -1;
    ridge_release(out[2]);
    for (int i = 0; i < 2; i++) {
        ridge_release(generation->in[i]);
        generation->in[i] = out[i];
    }
    return token;
}

static bool generate(struct model *model, const struct tokenizer *tokenizer, const int32_t *prompt,
                     size_t count, int64_t tokens) {
    struct generation generation = {.tokenizer = tokenizer};
    int32_t start = 0;
    generation.in[0] =
        ridge_from_host(model->device, RIDGE_I32, 1, (int64_t[]){(int64_t)count}, prompt);
    generation.in[1] = ridge_from_host(model->device, RIDGE_I32, 1, (int64_t[]){1}, &start);
    if (!generation.in[0] || !generation.in[1])
        return false;
    generation.program = ridge_compile(step, model, generation.in, 2, 3);
    double began = seconds(), prefilled = 0;
    int64_t made = 0;
    for (; generation.program && made < tokens; made++) {
        int32_t token = advance(&generation);
        if (token < 0)
            return false;
        if (made == 0)
            prefilled = seconds();
        if (tokenizer && token == tokenizer->last)
            break;
        if (tokenizer)
            print_token(tokenizer, token);
        else
            printf("%d\n", (int)token);
        fflush(stdout);
    }
    if (!generation.program)
        return false;
    if (tokenizer)
        putchar('\n');
    fprintf(stderr, "prompt %zu tokens, %.1f tokens/s with compilation; generated %.1f tokens/s\n",
            count, (double)count / (prefilled - began),
            made > 1 ? (double)(made - 1) / (seconds() - prefilled) : 0.0);
    return true;
}

static int32_t *read_tokens(size_t *count) {
    int32_t *tokens = NULL;
    size_t capacity = 0;
    int token;
    for (*count = 0; scanf("%d", &token) == 1; ++*count) {
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            int32_t *grown = realloc(tokens, capacity * sizeof *tokens);
            if (!grown)
                break;
            tokens = grown;
        }
        tokens[*count] = token;
    }
    return tokens;
}

static bool run(struct model *model, const ridge_weights *file, const char *text, int64_t tokens) {
    struct tokenizer tokenizer = {0};
    bool numbers = strcmp(text, "-") == 0;
    size_t count = 0;
    if (!load_model(file, model) || (!numbers && !load_tokenizer(file, &tokenizer)))
        return false;
    int32_t *prompt = numbers ? read_tokens(&count) : encode(&tokenizer, text, &count);
    bool ok = prompt && count > 0;
    for (size_t i = 0; ok && tokens == 0 && i < count; i++)
        printf("%d\n", (int)prompt[i]);
    if (ok && (int64_t)count + tokens > model->context) {
        fprintf(stderr,
                "llama: %zu tokens and %" PRId64 " more exceed the context of %" PRId64 "\n", count,
                tokens, model->context);
        ok = false;
    }
    if (ok && tokens > 0)
        ok = generate(model, numbers ? NULL : &tokenizer, prompt, count, tokens);
    free(prompt);
    free(tokenizer.pieces);
    free(tokenizer.sorted);
    return ok;
}

/* ---- A model with random weights ------------------------------------------------------------ */

enum { MADE_WIDTH = 256, MADE_HEADS = 8, MADE_KV_HEADS = 2, MADE_FEED = 512, MADE_LAYERS = 2 };
enum { MADE_LETTERS = 26, MADE_TOKENS = 3 + 256 + 1 + 2 * MADE_LETTERS };

static bool put_tokens(ridge_weights_writer *writer) {
    static char texts[MADE_TOKENS][8];
    const char *pointers[MADE_TOKENS];
    float scores[MADE_TOKENS];
    for (int i = 0; i < MADE_TOKENS; i++) {
        char letter = (char)('a' + (i - 260) % MADE_LETTERS);
        if (i < 3)
            snprintf(texts[i], sizeof texts[i], "%s", (const char *[]){"<unk>", "<s>", "</s>"}[i]);
        else if (i < 259)
            snprintf(texts[i], sizeof texts[i], "<0x%02X>", (unsigned)(i - 3));
        else if (i == 259)
            snprintf(texts[i], sizeof texts[i], "\xe2\x96\x81");
        else
            snprintf(texts[i], sizeof texts[i], "%s%c",
                     i < 260 + MADE_LETTERS ? "" : "\xe2\x96\x81", letter);
        pointers[i] = texts[i];
        scores[i] = -(float)i;
    }
    return ridge_weights_put_text(writer, "tokenizer.ggml.model", "llama") &&
           ridge_weights_put_texts(writer, "tokenizer.ggml.tokens", pointers, MADE_TOKENS) &&
           ridge_weights_put_numbers(writer, "tokenizer.ggml.scores", scores, MADE_TOKENS) &&
           ridge_weights_put_integer(writer, "tokenizer.ggml.bos_token_id", 1) &&
           ridge_weights_put_integer(writer, "tokenizer.ggml.eos_token_id", 2);
}

static bool put_matrix(ridge_weights_writer *writer, ridge_device *device, const char *name,
                       int64_t out, int64_t in, enum ridge_dtype dtype, uint64_t seed) {
    ridge_scope_begin();
    ridge_tensor *random = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){out, in}, seed);
    ridge_tensor *scaled = ridge_mul_scalar(random, 2 / sqrt((double)in));
    ridge_tensor *stored =
        dtype == RIDGE_F16 ? ridge_cast(scaled, dtype) : ridge_quantize(scaled, dtype);
    bool ok = stored && ridge_weights_put(writer, name, stored);
    ridge_scope_end();
    return ok;
}

static bool put_layer(ridge_weights_writer *writer, ridge_device *device, int layer) {
    static const struct {
        const char *name;
        int64_t out, in; /* in 0: a norm */
        enum ridge_dtype dtype;
    } parts[] = {
        {"attn_norm", MADE_WIDTH, 0, RIDGE_F32},
        {"attn_q", MADE_WIDTH, MADE_WIDTH, RIDGE_Q8_0},
        {"attn_k", MADE_WIDTH / MADE_HEADS * MADE_KV_HEADS, MADE_WIDTH, RIDGE_Q8_0},
        {"attn_v", MADE_WIDTH / MADE_HEADS * MADE_KV_HEADS, MADE_WIDTH, RIDGE_Q6_K},
        {"attn_output", MADE_WIDTH, MADE_WIDTH, RIDGE_Q5_0},
        {"ffn_norm", MADE_WIDTH, 0, RIDGE_F32},
        {"ffn_gate", MADE_FEED, MADE_WIDTH, RIDGE_Q4_K},
        {"ffn_up", MADE_FEED, MADE_WIDTH, RIDGE_Q4_K},
        {"ffn_down", MADE_WIDTH, MADE_FEED, RIDGE_Q6_K},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && ok; i++) {
        char name[NAME_MAX_LENGTH];
        snprintf(name, sizeof name, "blk.%d.%s.weight", layer, parts[i].name);
        ridge_scope_begin();
        ok = parts[i].in ? put_matrix(writer, device, name, parts[i].out, parts[i].in,
                                      parts[i].dtype, (uint64_t)(100 * layer) + i)
                         : ridge_weights_put(writer, name,
                                             ridge_full(device, RIDGE_F32, 1, &parts[i].out, 1));
        ridge_scope_end();
    }
    return ok;
}

static bool make_model(const char *path, ridge_device *device) {
    int64_t width = MADE_WIDTH;
    ridge_weights_writer *writer = ridge_weights_create(path);
    bool ok = writer && ridge_weights_put_text(writer, "general.architecture", "llama") &&
              ridge_weights_put_integer(writer, "llama.block_count", MADE_LAYERS) &&
              ridge_weights_put_integer(writer, "llama.context_length", 128) &&
              ridge_weights_put_integer(writer, "llama.embedding_length", MADE_WIDTH) &&
              ridge_weights_put_integer(writer, "llama.feed_forward_length", MADE_FEED) &&
              ridge_weights_put_integer(writer, "llama.attention.head_count", MADE_HEADS) &&
              ridge_weights_put_integer(writer, "llama.attention.head_count_kv", MADE_KV_HEADS) &&
              ridge_weights_put_number(writer, "llama.attention.layer_norm_rms_epsilon", 1e-5) &&
              put_tokens(writer) &&
              put_matrix(writer, device, "token_embd.weight", MADE_TOKENS, MADE_WIDTH, RIDGE_Q8_0,
                         1000) &&
              put_matrix(writer, device, "output.weight", MADE_TOKENS, MADE_WIDTH, RIDGE_F16, 1001);
    ridge_scope_begin();
    ok = ok && ridge_weights_put(writer, "output_norm.weight",
                                 ridge_full(device, RIDGE_F32, 1, &width, 1));
    ridge_scope_end();
    for (int i = 0; i < MADE_LAYERS && ok; i++)
        ok = put_layer(writer, device, i);
    if (ok)
        return ridge_weights_finish(writer);
    ridge_weights_abandon(writer);
    return false;
}

/* Prints numbers, which are the same on every device. */
static bool show_made(struct model *model, const ridge_weights *file) {
    struct tokenizer tokenizer = {0};
    size_t count = 0;
    if (!load_model(file, model) || !load_tokenizer(file, &tokenizer))
        return false;
    int32_t *prompt = encode(&tokenizer, "hello \xc3\xa9", &count);
    printf("format  %s, %zu tensors\nprompt ", ridge_weights_format(file),
           ridge_weights_count(file));
    for (size_t i = 0; prompt && i < count; i++)
        printf(" %d", (int)prompt[i]);
    printf("\ncontinuation\n");
    bool ok = prompt && generate(model, NULL, prompt, count, 8);
    free(prompt);
    free(tokenizer.pieces);
    free(tokenizer.sorted);
    return ok;
}

int main(int argc, char **argv) {
    static struct model model;
    bool made = argc < 4;
    const char *path = made ? "made_up.gguf" : argv[2];
    model.context = 4096;
    model.temperature = argc > 5 ? strtof(argv[5], NULL) : 0;
    model.top_k = argc > 6 ? atol(argv[6]) : 0;
    model.top_p = argc > 7 ? strtof(argv[7], NULL) : 1;
    model.seed = argc > 8 ? strtoull(argv[8], NULL, 10) : 0;
    model.device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = model.device && (!made || make_model(path, model.device));
    ridge_weights *file = ok ? ridge_weights_open(path) : NULL;
    ok = file && (made ? show_made(&model, file)
                       : run(&model, file, argv[3], argc > 4 ? atol(argv[4]) : 32));
    if (!ok && *ridge_error_message())
        fprintf(stderr, "llama: %s\n", ridge_error_message());
    ridge_weights_close(file);
    ridge_device_close(model.device);
    return ok ? 0 : 1;
}
