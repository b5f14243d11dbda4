/* Inference of many inputs: one at a time, and stacked into one batch. The results are the same;
 * the batch reads the weights once instead of once for each input and launches a fraction of the
 * kernels.
 *
 *   cc batch.c $(pkg-config --cflags --libs ridge) -lm -o batch
 *   ./batch [DEVICE] [--times]
 */
#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { INPUTS = 64, WIDTH = 512, CLASSES = 32, REPEATS = 20 };

struct model {
    ridge_tensor *hidden, *output;
};

/* Of one input [WIDTH] or a batch of them [INPUTS, WIDTH]: products broadcast over leading axes. */
static ridge_tensor *forward(const struct model *model, ridge_tensor *x) {
    ridge_scope_begin();
    ridge_tensor *h = ridge_matmul_activation(x, model->hidden, NULL, RIDGE_ACTIVATION_SILU);
    ridge_tensor *y = ridge_keep(ridge_matmul(h, model->output));
    ridge_scope_end();
    return y;
}

static bool one_at_a_time(const struct model *model, ridge_tensor *const *inputs,
                          ridge_tensor **results) {
    for (int i = 0; i < INPUTS; i++) {
        ridge_scope_begin();
        ridge_tensor *row = forward(model, ridge_unsqueeze(inputs[i], 0));
        results[i] = ridge_keep(ridge_squeeze(row, 0));
        ridge_scope_end();
    }
    return results[INPUTS - 1] != NULL;
}

static bool in_one_batch(const struct model *model, ridge_tensor *const *inputs,
                         ridge_tensor **results) {
    ridge_scope_begin();
    ridge_tensor *y = forward(model, ridge_stack(inputs, INPUTS, 0));
    bool ok = ridge_unstack(y, 0, results);
    for (int i = 0; ok && i < INPUTS; i++)
        ridge_keep(results[i]);
    ridge_scope_end();
    return ok;
}

typedef bool method(const struct model *, ridge_tensor *const *, ridge_tensor **);

/* Seconds of one pass over all inputs; the first one, which compiles kernels, does not count. */
static double time_of(method *run, const struct model *model, ridge_tensor *const *inputs) {
    struct timespec begin = {0}, end;
    ridge_tensor *results[INPUTS];
    for (int i = 0; i <= REPEATS; i++) {
        ridge_scope_begin();
        run(model, inputs, results);
        ridge_scope_end();
        if (i == 0) {
            ridge_synchronize(ridge_tensor_device(inputs[0]));
            timespec_get(&begin, TIME_UTC);
        }
    }
    ridge_synchronize(ridge_tensor_device(inputs[0]));
    timespec_get(&end, TIME_UTC);
    return ((double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9) /
           REPEATS;
}

static bool run(ridge_device *device, bool times) {
    struct model model = {
        ridge_mul_scalar(ridge_randn(device, RIDGE_F32, 2, (int64_t[]){WIDTH, WIDTH}, 1), 0.05),
        ridge_mul_scalar(ridge_randn(device, RIDGE_F32, 2, (int64_t[]){WIDTH, CLASSES}, 2), 0.05)};
    ridge_tensor *inputs[INPUTS], *single[INPUTS], *batched[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        inputs[i] = ridge_randn(device, RIDGE_F32, 1, (int64_t[]){WIDTH}, 100 + (uint64_t)i);
    if (!one_at_a_time(&model, inputs, single) || !in_one_batch(&model, inputs, batched))
        return false;

    int same = 0;
    for (int i = 0; i < INPUTS; i++) {
        float a[CLASSES], b[CLASSES], difference = 0;
        if (!ridge_to_host(single[i], a, sizeof a) || !ridge_to_host(batched[i], b, sizeof b))
            return false;
        for (int k = 0; k < CLASSES; k++)
            difference = fmaxf(difference, fabsf(a[k] - b[k]));
        same += difference < 1e-4f;
    }
    printf("%d of %d results are the same\n", same, INPUTS);
    if (times) {
        double alone = time_of(one_at_a_time, &model, inputs);
        double together = time_of(in_one_batch, &model, inputs);
        printf("one at a time %.1f us, in one batch %.1f us: %.1f times as fast\n", alone * 1e6,
               together * 1e6, alone / together);
    }
    return same == INPUTS;
}

int main(int argc, char **argv) {
    bool times = argc > 1 && strcmp(argv[argc - 1], "--times") == 0;
    ridge_device *device = ridge_device_open(argc - times > 1 ? argv[1] : NULL);
    bool ok = device && run(device, times);
    if (!ok)
        fprintf(stderr, "batch: %s\n", ridge_error_message());
    ridge_device_close(device);
    return ok ? 0 : 1;
}
