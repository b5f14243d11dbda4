/* Training: a perceptron learns to tell two spirals apart. Forward pass, gradients and the update
 * by AdamW are one compiled program.
 *
 *   cc train_mlp.c $(pkg-config --cflags --libs ridge) -lm -o train_mlp
 *   ./train_mlp [DEVICE [STEPS]]
 */
#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 512, HIDDEN = 64, LAYERS = 3, CURVE_COLUMNS = 60, CURVE_ROWS = 10 };

static const int64_t widths[LAYERS + 1] = {2, HIDDEN, HIDDEN, 2};

struct training {
    ridge_tensor *parameters[2 * LAYERS]; /* weights and biases in turn */
    ridge_optimizer *optimizer;
};

/* Points of two spirals that wind around each other, and which one each is on. */
static void spirals(float (*points)[2], int32_t *classes) {
    for (int i = 0; i < POINTS; i++) {
        classes[i] = i % 2;
        double along = (double)i / POINTS, angle = 9 * along + 3.14159265 * classes[i];
        points[i][0] = (float)((0.1 + along) * cos(angle));
        points[i][1] = (float)((0.1 + along) * sin(angle));
    }
}

static ridge_tensor *forward(const struct training *training, ridge_tensor *x) {
    for (int i = 0; i < LAYERS; i++)
        x = ridge_matmul_activation(x, training->parameters[2 * i], training->parameters[2 * i + 1],
                                    i + 1 < LAYERS ? RIDGE_ACTIVATION_SILU : RIDGE_ACTIVATION_NONE);
    return x;
}

/* One step: inputs are the points and their classes, outputs the loss and the share of points that
 * the model classifies correctly. */
static bool step(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    struct training *training = context;
    ridge_tensor *gradients[2 * LAYERS];
    ridge_tensor *logits = forward(training, inputs[0]);
    ridge_tensor *loss = ridge_cross_entropy(logits, inputs[1]);
    ridge_tensor *right = ridge_equal(ridge_argmax(logits, -1, false), inputs[1]);
    outputs[0] = loss;
    outputs[1] = ridge_mean(ridge_cast(right, RIDGE_F32), 0, NULL, false);
    return outputs[1] && ridge_gradients(loss, training->parameters, 2 * LAYERS, gradients) &&
           ridge_optimizer_step(training->optimizer, gradients);
}

static bool create(struct training *training, ridge_device *device) {
    for (int i = 0; i < LAYERS; i++) {
        ridge_tensor *normal = ridge_randn(device, RIDGE_F32, 2, &widths[i], (uint64_t)i);
        training->parameters[2 * i] = ridge_mul_scalar(normal, sqrt(2 / (double)widths[i]));
        training->parameters[2 * i + 1] = ridge_zeros(device, RIDGE_F32, 1, &widths[i + 1]);
    }
    training->optimizer = ridge_optimizer_create(
        training->parameters, 2 * LAYERS,
        &(struct ridge_optimizer_options){.kind = RIDGE_ADAMW, .rate = 0.01, .weight_decay = 1e-4});
    return training->optimizer != NULL;
}

/* The losses as a picture: one column for each part of the run. */
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

static bool train(ridge_device *device, int steps, float *losses) {
    struct training training;
    struct ridge_program_info info;
    float points[POINTS][2], accuracy = 0;
    int32_t classes[POINTS];
    spirals(points, classes);
    ridge_tensor *inputs[2] = {
        ridge_from_floats(device, RIDGE_F32, 2, (int64_t[]){POINTS, 2}, &points[0][0]),
        ridge_from_host(device, RIDGE_I32, 1, (int64_t[]){POINTS}, classes)};
    if (!inputs[0] || !inputs[1] || !create(&training, device))
        return false;
    ridge_program *program = ridge_compile(step, &training, inputs, 2, 2);
    if (!program || !ridge_program_describe(program, &info))
        return false;
    fprintf(stderr, "one step: %u operations in %u kernels\n", info.operations, info.kernels);
    struct ridge_schedule schedule = {RIDGE_SCHEDULE_COSINE, .rate = 0.01, .warmup = 10,
                                      .steps = (uint64_t)steps};
    for (int i = 0; i < steps; i++) {
        ridge_tensor *outputs[2];
        ridge_scope_begin();
        bool ok = ridge_optimizer_set_rate(training.optimizer,
                                           ridge_schedule_rate(&schedule, (uint64_t)i)) &&
                  ridge_program_run(program, inputs, outputs) &&
                  ridge_to_floats(outputs[0], &losses[i], 1) &&
                  ridge_to_floats(outputs[1], &accuracy, 1);
        ridge_scope_end();
        if (!ok)
            return false;
        if (i % 50 == 0 || i + 1 == steps) {
            fprintf(stderr, "\rstep %4d  loss %.4f  accuracy %5.1f %%", i + 1, (double)losses[i],
                    (double)(100 * accuracy));
        }
    }
    fprintf(stderr, "\n");
    draw(losses, steps);
    printf("loss %.2f at first, %.2f at last; %.0f %% of the points are classified correctly\n",
           (double)losses[0], (double)losses[steps - 1], (double)(100 * accuracy));
    return true;
}

int main(int argc, char **argv) {
    int steps = argc > 2 ? atoi(argv[2]) : 300;
    float *losses = calloc((size_t)(steps > 0 ? steps : 1), sizeof *losses);
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && losses && steps > 0 && train(device, steps, losses);
    if (!ok)
        fprintf(stderr, "train_mlp: %s\n", steps > 0 ? ridge_error_message() : "no steps");
    free(losses);
    ridge_device_close(device);
    return ok ? 0 : 1;
}
