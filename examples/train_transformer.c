/* Training: a small transformer learns a text character by character, in mixed precision or f32.
 * Forward pass, gradients, clipping and the update by AdamW are one compiled program.
 *
 *   cc train_transformer.c $(pkg-config --cflags --libs ridge) -lm -o train_transformer
 *   ./train_transformer [DEVICE [STEPS [f32|f16|bf16]]]
 */
#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VOCABULARY = 128,
    WIDTH = 64,
    HEADS = 4,
    LAYERS = 2,
    TOKENS = 32,
    BATCH = 8,
    PER_LAYER = 6,
    PARAMETERS = 2 + LAYERS * PER_LAYER + 1,
    CURVE_COLUMNS = 60,
    CURVE_ROWS = 10
};

static const char text[] =
    "A kernel reads memory, computes and writes memory. If it computes little it waits for memory; "
    "if it reads little it waits for arithmetic. Fuse kernels that pass values to each other, "
    "reuse buffers instead of allocating them, and launch less often. Measure first, then change "
    "one thing, then measure again. ";

/* The parameters of a layer, in order. */
enum { NORM1, QKV, OUT, NORM2, UP, DOWN };

struct training {
    ridge_tensor *parameters[PARAMETERS]; /* embedding, positions, layers, last norm */
    ridge_optimizer *optimizer;
    enum ridge_dtype dtype; /* in which products are computed; parameters are f32 */
    ridge_tensor *positions;
    ridge_tensor *step; /* for dropout */
};

static ridge_tensor *weight(struct training *training, int layer, int which) {
    return ridge_cast(training->parameters[2 + layer * PER_LAYER + which], training->dtype);
}

/* [batch, tokens, width] as [batch, heads, tokens, width of a head]. */
static ridge_tensor *heads_of(ridge_tensor *x) {
    x = ridge_reshape(x, 4, (int64_t[]){BATCH, TOKENS, HEADS, WIDTH / HEADS});
    return ridge_transpose(x, 1, 2);
}

static ridge_tensor *attend(struct training *training, int layer, ridge_tensor *x) {
    ridge_tensor *parts[3];
    x = ridge_rms_norm(x, weight(training, layer, NORM1), 1e-5f);
    if (!ridge_split(ridge_matmul(x, weight(training, layer, QKV)), 3, -1, parts))
        return NULL;
    ridge_tensor *q = ridge_rope(heads_of(parts[0]), training->positions, 10000, false);
    ridge_tensor *k = ridge_rope(heads_of(parts[1]), training->positions, 10000, false);
    ridge_tensor *y =
        ridge_attention(q, k, heads_of(parts[2]), 1 / sqrtf((float)WIDTH / HEADS), true);
    y = ridge_reshape(ridge_transpose(y, 1, 2), 3, (int64_t[]){BATCH, TOKENS, WIDTH});
    return ridge_matmul(y, weight(training, layer, OUT));
}

static ridge_tensor *feed_forward(struct training *training, int layer, ridge_tensor *x) {
    x = ridge_rms_norm(x, weight(training, layer, NORM2), 1e-5f);
    x = ridge_matmul_activation(x, weight(training, layer, UP), NULL, RIDGE_ACTIVATION_GELU);
    x = ridge_matmul(x, weight(training, layer, DOWN));
    return ridge_dropout(x, 0.05, (uint64_t)layer, training->step);
}

/* The last product is with the embedding again. */
static ridge_tensor *logits_of(struct training *training, ridge_tensor *tokens) {
    ridge_tensor *table = ridge_cast(training->parameters[0], training->dtype);
    ridge_tensor *x = ridge_add(ridge_embedding(table, tokens),
                                ridge_cast(training->parameters[1], training->dtype));
    for (int layer = 0; layer < LAYERS; layer++) {
        x = ridge_add(x, attend(training, layer, x));
        x = ridge_add(x, feed_forward(training, layer, x));
    }
    x = ridge_rms_norm(x, ridge_cast(training->parameters[PARAMETERS - 1], training->dtype), 1e-5f);
    return ridge_linear(x, table, NULL, RIDGE_ACTIVATION_NONE);
}

/* Inputs: tokens and the token after each. */
static bool step(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    struct training *training = context;
    ridge_tensor *gradients[PARAMETERS];
    ridge_tensor *loss = ridge_cross_entropy(logits_of(training, inputs[0]), inputs[1]);
    outputs[0] = loss;
    return ridge_gradients(ridge_optimizer_scale_loss(training->optimizer, loss),
                           training->parameters, PARAMETERS, gradients) &&
           ridge_optimizer_step(training->optimizer, gradients) &&
           ridge_assign(training->step, ridge_add_scalar(training->step, 1));
}

static ridge_tensor *random_weight(ridge_device *device, int64_t rows, int64_t columns,
                                   double scale, uint64_t seed) {
    ridge_tensor *normal = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){rows, columns}, seed);
    return ridge_mul_scalar(normal, scale);
}

static bool create(struct training *training, ridge_device *device, enum ridge_dtype dtype) {
    static const int64_t shapes[PER_LAYER][2] = {[QKV] = {WIDTH, 3 * WIDTH},
                                                 [OUT] = {WIDTH, WIDTH},
                                                 [UP] = {WIDTH, 4 * WIDTH},
                                                 [DOWN] = {4 * WIDTH, WIDTH}};
    ridge_tensor **parameters = training->parameters;
    const int64_t width = WIDTH;
    training->dtype = dtype;
    parameters[0] = random_weight(device, VOCABULARY, WIDTH, 0.1, 1);
    parameters[1] = random_weight(device, TOKENS, WIDTH, 0.1, 2);
    for (int i = 0; i < LAYERS * PER_LAYER; i++) {
        const int64_t *shape = shapes[i % PER_LAYER];
        parameters[2 + i] = shape[0] == 0
                                ? ridge_full(device, RIDGE_F32, 1, &width, 1)
                                : random_weight(device, shape[0], shape[1],
                                                1 / sqrt((double)shape[0]), (uint64_t)(10 + i));
    }
    parameters[PARAMETERS - 1] = ridge_full(device, RIDGE_F32, 1, &width, 1);
    training->positions = ridge_arange(device, RIDGE_I32, TOKENS, 0, 1);
    training->step = ridge_zeros(device, RIDGE_I32, 1, (int64_t[]){1});
    training->optimizer = ridge_optimizer_create(
        parameters, PARAMETERS,
        &(struct ridge_optimizer_options){.kind = RIDGE_ADAMW,
                                          .rate = 3e-3,
                                          .weight_decay = 0.01,
                                          .clip_norm = 1,
                                          .loss_scale = dtype == RIDGE_F16 ? 1024 : 0});
    return training->optimizer && training->positions && training->step;
}

/* Pieces of the text from different places, which move on by a token in each step. */
static void fill_batch(int at, int32_t (*tokens)[TOKENS], int32_t (*next)[TOKENS]) {
    const int length = (int)strlen(text);
    for (int row = 0; row < BATCH; row++)
        for (int i = 0; i < TOKENS; i++) {
            int place = at + row * length / BATCH + i;
            tokens[row][i] = text[place % length];
            next[row][i] = text[(place + 1) % length];
        }
}

static void draw(const float *losses, int steps) {
    int columns = steps < CURVE_COLUMNS ? steps : CURVE_COLUMNS;
    float most = 0;
    for (int i = 0; i < steps; i++)
        most = losses[i] > most ? losses[i] : most;
    for (int row = CURVE_ROWS; row-- > 0;) {
        fprintf(stderr, "%6.3f |", (double)(most * (float)(row + 1) / CURVE_ROWS));
        for (int column = 0; column < columns; column++) {
            float loss = losses[(long)column * steps / columns];
            fputc(loss > most * (float)row / CURVE_ROWS ? '*' : ' ', stderr);
        }
        fputc('\n', stderr);
    }
    fprintf(stderr, "        0%*d steps\n", columns - 1, steps);
}

static bool run_step(struct training *training, ridge_device *device, ridge_program **program,
                     int at, float *loss) {
    int32_t tokens[BATCH][TOKENS], next[BATCH][TOKENS];
    const int64_t sizes[2] = {BATCH, TOKENS};
    ridge_tensor *output;
    fill_batch(at, tokens, next);
    ridge_scope_begin();
    ridge_tensor *inputs[2] = {ridge_from_host(device, RIDGE_I32, 2, sizes, tokens),
                               ridge_from_host(device, RIDGE_I32, 2, sizes, next)};
    if (!*program)
        *program = ridge_compile(step, training, inputs, 2, 1);
    bool ok = *program && ridge_program_run(*program, inputs, &output) &&
              ridge_to_floats(output, loss, 1);
    ridge_scope_end();
    return ok;
}

static bool train(ridge_device *device, int steps, enum ridge_dtype dtype, float *losses) {
    struct training training;
    struct ridge_program_info info;
    ridge_program *program = NULL;
    if (!create(&training, device, dtype))
        return false;
    struct ridge_schedule schedule = {RIDGE_SCHEDULE_COSINE, .rate = 3e-3, .final_rate = 3e-4,
                                      .warmup = 10, .steps = (uint64_t)steps};
    for (int i = 0; i < steps; i++) {
        if (!ridge_optimizer_set_rate(training.optimizer,
                                      ridge_schedule_rate(&schedule, (uint64_t)i)) ||
            !run_step(&training, device, &program, i, &losses[i]))
            return false;
        if (i == 0 && ridge_program_describe(program, &info))
            fprintf(stderr, "one step: %u operations in %u kernels\n", info.operations,
                    info.kernels);
        if (i % 20 == 0 || i + 1 == steps) {
            fprintf(stderr, "\rstep %4d  loss %.4f", i + 1, (double)losses[i]);
        }
    }
    fprintf(stderr, "\n");
    draw(losses, steps);
    printf("loss %.1f at first, %s at last\n", (double)losses[0],
           losses[steps - 1] < 1 ? "below 1" : "still above 1");
    return true;
}

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[2]) : 200;
    const char *type = argc > 3 ? argv[3] : "f32";
    enum ridge_dtype dtype = strcmp(type, "f16") == 0    ? RIDGE_F16
                             : strcmp(type, "bf16") == 0 ? RIDGE_BF16
                                                         : RIDGE_F32;
    float *losses = calloc((size_t)(steps > 0 ? steps : 1), sizeof *losses);
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && losses && steps > 0 && train(device, steps, dtype, losses);
    if (!ok)
        fprintf(stderr, "train_transformer: %s\n", steps > 0 ? ridge_error_message() : "no steps");
    free(losses);
    ridge_device_close(device);
    return ok ? 0 : 1;
}
