/* An RWKV-7 language model on ridge.h: one step of the model is a function of tensors, compiled
 * into kernels and run for each token, whose states and choice go into the next step.
 *
 *   cc -I.. model.c forward.c rwkv.c $(pkg-config --cflags --libs ridge) -lm -o rwkv
 *   ./rwkv [DEVICE [MILLIONS [TOKENS]]]      0 million parameters: a small one, for tests
 *
 * The weights are random, so what it generates means nothing; its speed is that of a trained model
 * of that size. The first step is checked against the same operations one by one. Prints the speed
 * to standard error.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rwkv/forward.h"

enum { STATES_MAX = 3 * 64, TENSORS_MAX = STATES_MAX + 2 };

static int fail(const char *what) {
    fprintf(stderr, "rwkv: %s: %s\n", what, ridge_error_message());
    return 1;
}

static double seconds(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool make_inputs(struct rwkv_model *model, ridge_tensor **inputs, unsigned count) {
    static const int32_t token = 11;
    static const int64_t sizes[] = {1, 1};
    inputs[0] = ridge_from_host(model->device, RIDGE_I32, 2, sizes, &token);
    for (unsigned i = 1; i < count && inputs[i - 1]; i++)
        inputs[i] = rwkv_make_state((i - 1) % RWKV_LAYER_STATES, model->device, &model->shape, 1);
    return inputs[count - 1] != NULL;
}

/* The largest difference of the logits, relative to the largest of them; -1 on failure. */
static double largest_difference(ridge_tensor *a, ridge_tensor *b) {
    size_t count = (size_t)ridge_tensor_count(a);
    float *x = calloc(count, sizeof *x), *y = calloc(count, sizeof *y);
    double difference = -1, largest = 0;
    if (x && y && ridge_to_floats(a, x, count) && ridge_to_floats(b, y, count)) {
        difference = 0;
        for (size_t i = 0; i < count; i++) {
            difference = fmax(difference, fabs((double)x[i] - (double)y[i]));
            largest = fmax(largest, fabs((double)x[i]));
        }
    }
    free(x);
    free(y);
    return difference < 0 || largest == 0 ? -1 : difference / largest;
}

static bool agrees(struct rwkv_model *model, ridge_program *program, ridge_tensor **inputs,
                   unsigned output_count) {
    ridge_tensor *compiled[TENSORS_MAX] = {0}, *eager[TENSORS_MAX] = {0};
    ridge_scope_begin();
    bool ok = ridge_program_run(program, inputs, compiled) && rwkv_step(model, inputs, eager);
    double difference = ok ? largest_difference(compiled[0], eager[0]) : -1;
    ridge_scope_end();
    for (unsigned i = 0; ok && i < output_count; i++)
        ridge_release(compiled[i]);
    return difference >= 0 && difference < 0.02;
}

/* Each step's token and states are the next one's inputs. */
static bool generate(ridge_program *program, ridge_tensor **inputs, unsigned count,
                     unsigned tokens) {
    ridge_tensor *outputs[TENSORS_MAX];
    for (unsigned token = 0; token < tokens; token++) {
        if (!ridge_program_run(program, inputs, outputs))
            return false;
        for (unsigned i = count; i-- > 0;) {
            ridge_release(inputs[i]);
            inputs[i] = outputs[i + 1];
        }
        ridge_release(outputs[0]); /* the logits */
    }
    return true;
}

static int run_model(struct rwkv_model *model, unsigned tokens) {
    ridge_tensor *inputs[TENSORS_MAX] = {0};
    unsigned count = RWKV_STEP_INPUTS + RWKV_LAYER_STATES * (unsigned)model->shape.layers;
    struct ridge_program_info info;
    int32_t last;
    if (!make_inputs(model, inputs, count))
        return fail("states");
    ridge_program *program = ridge_compile(rwkv_step, model, inputs, count, count + 1);
    if (!program || !ridge_program_describe(program, &info))
        return fail("compiling");
    printf("layers      %" PRId64 "\n", model->shape.layers);
    printf("parameters  %" PRIu64 "\n", rwkv_parameters(&model->shape));
    printf("compiled and eager %s\n",
           agrees(model, program, inputs, count + 1) ? "agree" : "differ");
    double start = seconds();
    if (!generate(program, inputs, count, tokens) || !ridge_to_host(inputs[0], &last, sizeof last))
        return fail("generating");
    double took = seconds() - start;
    printf("generated   %u tokens\n", tokens);
    fprintf(stderr, "%.1f tokens/s, %u kernels a token, %.1f MB of weights, last token %d\n",
            tokens / took, info.kernels, (double)rwkv_step_bytes(model, 1) / 1e6, (int)last);
    ridge_program_release(program);
    for (unsigned i = 0; i < count; i++)
        ridge_release(inputs[i]);
    return 0;
}

int main(int argc, char **argv) {
    long millions = argc > 2 ? atol(argv[2]) : 0;
    unsigned tokens = argc > 3 ? (unsigned)atol(argv[3]) : 16;
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    struct rwkv_shape shape = rwkv_shape_small(RIDGE_F32);
    if (!device)
        return fail("device");
    if (millions > 0 && !rwkv_shape_published(millions, &shape)) {
        fprintf(stderr, "rwkv: models have 100, 400, 1500 or 2900 million parameters\n");
        return 2;
    }
    struct rwkv_extent whole = rwkv_extent_whole(&shape);
    struct rwkv_model *model =
        rwkv_model_create(device, &shape, RIDGE_F32, RIDGE_F32, &whole, NULL, NULL);
    int result = model ? run_model(model, tokens) : fail("weights");
    rwkv_model_finish(model);
    ridge_device_close(device);
    return result;
}
