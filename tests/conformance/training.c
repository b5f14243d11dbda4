/* Optimizers against the textbook in double, eager and compiled; loss scaling, accumulation,
 * dropout and schedules. */
#include <math.h>

#include "arrays.h"

enum { STEPS = 4, COUNT = 37, PARAMETERS = 2 };

/* ---- The textbook ----------------------------------------------------------------------- */

struct textbook {
    struct ridge_optimizer_options options;
    struct array values[PARAMETERS];
    double first[PARAMETERS][COUNT], second[PARAMETERS][COUNT];
    int steps;
};

static double defaulted(double value, double otherwise) {
    return value == 0 ? otherwise : value;
}

static void textbook_element(struct textbook *book, unsigned p, int i, double g, double rate) {
    const struct ridge_optimizer_options *options = &book->options;
    double *x = &book->values[p].values[i], *m = &book->first[p][i], *v = &book->second[p][i];
    double beta1 = defaulted(options->beta1, 0.9), beta2 = defaulted(options->beta2, 0.999);
    if (options->kind != RIDGE_ADAMW)
        g += options->weight_decay * *x;
    else
        *x -= rate * options->weight_decay * *x;
    if (options->kind == RIDGE_SGD) {
        *m = options->momentum * *m + g;
        *x -= rate * *m;
        return;
    }
    *m = beta1 * *m + (1 - beta1) * g;
    *v = beta2 * *v + (1 - beta2) * g * g;
    double mean = *m / (1 - pow(beta1, book->steps)), square = *v / (1 - pow(beta2, book->steps));
    *x -= rate * mean / (sqrt(square) + defaulted(options->epsilon, 1e-8));
}

static void textbook_step(struct textbook *book, const struct array *gradients, double rate) {
    double norm = 0, factor = 1;
    for (unsigned p = 0; p < PARAMETERS; p++)
        for (int i = 0; i < COUNT; i++)
            norm += gradients[p].values[i] * gradients[p].values[i];
    if (book->options.clip_norm != 0)
        factor = fmin(1, book->options.clip_norm / (sqrt(norm) + 1e-6));
    book->steps++;
    for (unsigned p = 0; p < PARAMETERS; p++)
        for (int i = 0; i < COUNT; i++)
            textbook_element(book, p, i, factor * gradients[p].values[i], rate);
}

/* ---- Optimizers ------------------------------------------------------------------------- */

static bool step_function(void *optimizer, ridge_tensor *const *gradients, ridge_tensor **outputs) {
    outputs[0] = ridge_gradient_norm(gradients, PARAMETERS);
    return outputs[0] && ridge_optimizer_step(optimizer, gradients);
}

static void expect_values(ridge_tensor *const *parameters, enum ridge_dtype dtype,
                          const struct textbook *book) {
    double slack[COUNT];
    for (int i = 0; i < COUNT; i++)
        slack[i] = dtype == RIDGE_F32 ? 2e-6 : dtype == RIDGE_F16 ? 2e-3 : 2e-2;
    for (unsigned p = 0; p < PARAMETERS; p++)
        expect_array(parameters[p], dtype, &book->values[p], 8, slack);
}

static void check_optimizer(const char *name, enum ridge_dtype dtype, bool compiled,
                            struct ridge_optimizer_options options) {
    if (!case_begin("optimizer %s %s %s", name, ridge_dtype_name(dtype),
                    compiled ? "compiled" : "eager"))
        return;
    struct textbook *book = case_memory(1, sizeof *book);
    struct array gradients[PARAMETERS];
    ridge_tensor *parameters[PARAMETERS], *tensors[PARAMETERS], *norm;
    ridge_program *program = NULL;
    book->options = options;
    for (unsigned p = 0; p < PARAMETERS; p++) {
        book->values[p] = array_noise(dtype, SIZES(COUNT), -1, 1, 1 + p);
        parameters[p] = array_tensor(&book->values[p], dtype, p ? OFFSET : CONTIGUOUS);
    }
    ridge_optimizer *optimizer = ridge_optimizer_create(parameters, PARAMETERS, &options);
    CASE_CHECK(optimizer);
    for (int step = 0; step < STEPS; step++) {
        double rate = options.rate / (1 + step);
        for (unsigned p = 0; p < PARAMETERS; p++) {
            gradients[p] = array_noise(dtype, SIZES(COUNT), -1, 1, (uint64_t)(10 + 2 * step) + p);
            tensors[p] = array_tensor(&gradients[p], dtype, CONTIGUOUS);
        }
        if (compiled && !program)
            program = ridge_compile(step_function, optimizer, tensors, PARAMETERS, 1);
        CASE_CHECK(ridge_optimizer_set_rate(optimizer, rate));
        if (!(compiled ? program && ridge_program_run(program, tensors, &norm)
                       : step_function(optimizer, tensors, &norm)))
            case_fail("step %d: %s", step, ridge_error_message());
        textbook_step(book, gradients, rate);
    }
    expect_values(parameters, dtype, book);
    ridge_program_release(program);
    ridge_optimizer_release(optimizer);
    case_end();
}

static void check_optimizers(enum ridge_dtype dtype, bool compiled) {
    check_optimizer("sgd", dtype, compiled,
                    (struct ridge_optimizer_options){.kind = RIDGE_SGD, .rate = 0.1});
    check_optimizer("sgd momentum", dtype, compiled,
                    (struct ridge_optimizer_options){
                        .kind = RIDGE_SGD, .rate = 0.1, .momentum = 0.9, .weight_decay = 0.1});
    check_optimizer("adam", dtype, compiled,
                    (struct ridge_optimizer_options){
                        .kind = RIDGE_ADAM, .rate = 0.01, .weight_decay = 0.1});
    check_optimizer("adamw clipped", dtype, compiled,
                    (struct ridge_optimizer_options){.kind = RIDGE_ADAMW,
                                                     .rate = 0.01,
                                                     .weight_decay = 0.1,
                                                     .beta1 = 0.8,
                                                     .beta2 = 0.95,
                                                     .clip_norm = 0.5});
}

/* ---- Loss scaling and accumulation ---------------------------------------------------------- */

static ridge_tensor *filled(double value) {
    return ridge_full(session.device, RIDGE_F32, 1, (int64_t[]){4}, value);
}

static void expect_all(ridge_tensor *x, double value) {
    struct array read = array_read(x);
    for (int64_t i = 0; i < read.count; i++)
        if (fabs(read.values[i] - value) > 1e-6 * fabs(value))
            case_fail("element %lld is %.9g, not %.9g", (long long)i, read.values[i], value);
}

static void check_loss_scaling(void) {
    if (!case_begin("optimizer loss scaling"))
        return;
    struct ridge_optimizer_options options = {
        .kind = RIDGE_SGD, .rate = 0.5, .loss_scale = 8, .growth_interval = 2};
    ridge_tensor *x = filled(1), *g = filled(8), *bad = filled(INFINITY);
    ridge_optimizer *optimizer = ridge_optimizer_create(&x, 1, &options);
    expect_all(ridge_optimizer_scale_loss(optimizer, filled(2)), 16);
    CASE_CHECK(ridge_optimizer_step(optimizer, &g)); /* a gradient of 1 */
    expect_all(x, 0.5);
    CASE_CHECK(ridge_optimizer_step(optimizer, &bad));
    expect_all(x, 0.5);
    CASE_CHECK(ridge_optimizer_loss_scale(optimizer) == 4);
    CASE_CHECK(ridge_optimizer_step(optimizer, &g)); /* 2 */
    expect_all(x, -0.5);
    CASE_CHECK(ridge_optimizer_step(optimizer, &g));
    CASE_CHECK(ridge_optimizer_loss_scale(optimizer) == 8);
    expect_all(x, -1.5);
    ridge_optimizer_release(optimizer);
    case_end();
}

static void check_accumulation(void) {
    if (!case_begin("optimizer accumulation"))
        return;
    struct ridge_optimizer_options options = {.kind = RIDGE_SGD, .rate = 1};
    ridge_tensor *x = filled(1), *g = filled(0.25);
    ridge_optimizer *optimizer = ridge_optimizer_create(&x, 1, &options);
    CASE_CHECK(!ridge_optimizer_step(optimizer, NULL));
    ridge_error_clear();
    CASE_CHECK(ridge_optimizer_accumulate(optimizer, &g));
    CASE_CHECK(ridge_optimizer_accumulate(optimizer, &g));
    CASE_CHECK(ridge_optimizer_step(optimizer, NULL));
    expect_all(x, 0.5);
    CASE_CHECK(ridge_optimizer_step(optimizer, NULL));
    expect_all(x, 0.5);
    ridge_optimizer_release(optimizer);
    CASE_CHECK(!ridge_optimizer_step(optimizer, &g));
    ridge_error_clear();
    case_end();
}

/* ---- Dropout ---------------------------------------------------------------------------- */

static bool drop(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    (void)context;
    outputs[0] = ridge_dropout(inputs[0], 0.25, 5, inputs[1]);
    ridge_tensor *loss = ridge_sum(outputs[0], 0, NULL, false);
    return ridge_gradients(loss, inputs, 1, &outputs[1]);
}

static void check_dropout(void) {
    if (!case_begin("dropout"))
        return;
    enum { SIZE = 4096 };
    ridge_tensor *x = ridge_full(session.device, RIDGE_F32, 1, (int64_t[]){SIZE}, 3);
    struct array before = {0};
    ridge_program *program = NULL;
    for (int step = 0; step < 3; step++) {
        ridge_tensor *inputs[2] = {
            x, ridge_full(session.device, RIDGE_I32, 1, (int64_t[]){1}, step)};
        ridge_tensor *outputs[2];
        if (!program)
            program = ridge_compile(drop, NULL, inputs, 2, 2);
        if (!program || !ridge_program_run(program, inputs, outputs)) {
            case_fail("%s", ridge_error_message());
            break;
        }
        struct array y = array_read(outputs[0]), g = array_read(outputs[1]);
        int dropped = 0, same = 0;
        for (int i = 0; i < SIZE; i++) {
            dropped += y.values[i] == 0;
            same += before.values && (before.values[i] == 0) == (y.values[i] == 0);
            CASE_CHECK(fabs(y.values[i] - 3 * g.values[i]) < 1e-6);
            CASE_CHECK(y.values[i] == 0 || fabs(y.values[i] - 4) < 1e-6);
        }
        CASE_CHECK(dropped > SIZE / 4 - 200 && dropped < SIZE / 4 + 200);
        /* Independent masks agree in 1 - 2 * 3/16 of the elements. */
        CASE_CHECK(!before.values || (same > SIZE * 5 / 8 - 200 && same < SIZE * 5 / 8 + 200));
        before = y;
    }
    ridge_program_release(program);
    case_end();
}

static void check_schedules(void) {
    if (!case_begin("schedules"))
        return;
    struct ridge_schedule schedule = {
        RIDGE_SCHEDULE_COSINE, .rate = 1, .final_rate = 0.5, .warmup = 4, .steps = 14};
    CASE_CHECK(ridge_schedule_rate(&schedule, 0) == 0.25);
    CASE_CHECK(ridge_schedule_rate(&schedule, 4) == 1);
    CASE_CHECK(fabs(ridge_schedule_rate(&schedule, 9) - 0.75) < 1e-12);
    CASE_CHECK(ridge_schedule_rate(&schedule, 14) == 0.5);
    CASE_CHECK(ridge_schedule_rate(&schedule, 99) == 0.5);
    schedule.kind = RIDGE_SCHEDULE_LINEAR;
    CASE_CHECK(fabs(ridge_schedule_rate(&schedule, 6) - 0.9) < 1e-12);
    schedule.kind = RIDGE_SCHEDULE_STEPS;
    schedule.interval = 5;
    schedule.decay = 0.1;
    CASE_CHECK(fabs(ridge_schedule_rate(&schedule, 14) - 0.01) < 1e-12);
    schedule.kind = RIDGE_SCHEDULE_CONSTANT;
    CASE_CHECK(ridge_schedule_rate(&schedule, 1000) == 1);
    case_end();
}

void check_training(void) {
    static const enum ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_F16, RIDGE_BF16};
    for (unsigned t = 0; t < (session.quick ? 1 : 3); t++)
        for (int compiled = session.quick; compiled < 2; compiled++)
            check_optimizers(dtypes[t], compiled);
    check_loss_scaling();
    check_accumulation();
    check_dropout();
    check_schedules();
}
