/* A forward pass: three layers, each a matrix product with its bias and activation in one kernel.
 *
 *   cc forward.c $(pkg-config --cflags --libs ridge) -lm -o forward
 *   ./forward [DEVICE]      cpu, cuda, opencl:1, ...; the best there is when none is named
 */
#include <math.h>
#include <ridge.h>
#include <stdio.h>

enum { BATCH = 4, LAYERS = 3 };

static const int64_t widths[LAYERS + 1] = {784, 128, 64, 10};

struct model {
    ridge_tensor *weight[LAYERS], *bias[LAYERS];
};

/* Random weights: a model that was trained would come from a file by ridge_from_floats(). */
static bool model_create(struct model *model, ridge_device *device) {
    ridge_scope_begin();
    for (int i = 0; i < LAYERS; i++) {
        ridge_tensor *normal = ridge_randn(device, RIDGE_F32, 2, &widths[i], (uint64_t)i);
        model->weight[i] = ridge_keep(ridge_mul_scalar(normal, 2 / sqrt((double)widths[i])));
        model->bias[i] = ridge_keep(ridge_full(device, RIDGE_F32, 1, &widths[i + 1], 0.1));
    }
    ridge_scope_end();
    return model->weight[LAYERS - 1] && model->bias[LAYERS - 1];
}

/* A failed operation returns NULL, and one that is given NULL returns NULL: the caller's check of
 * the last result is enough. The scope releases h1, h2 and the logits. */
static ridge_tensor *forward(const struct model *model, ridge_tensor *x) {
    ridge_scope_begin();
    ridge_tensor *h1 =
        ridge_matmul_activation(x, model->weight[0], model->bias[0], RIDGE_ACTIVATION_RELU);
    ridge_tensor *h2 =
        ridge_matmul_activation(h1, model->weight[1], model->bias[1], RIDGE_ACTIVATION_GELU);
    ridge_tensor *logits =
        ridge_matmul_activation(h2, model->weight[2], model->bias[2], RIDGE_ACTIVATION_NONE);
    ridge_tensor *result = ridge_keep(ridge_softmax(logits, -1));
    ridge_scope_end();
    return result;
}

static bool run(ridge_device *device) {
    struct model model;
    if (!model_create(&model, device))
        return false;
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){BATCH, widths[0]}, 42);
    ridge_tensor *probabilities = forward(&model, x);
    ridge_tensor *best = ridge_argmax(probabilities, -1, false);

    float p[BATCH][10];
    int32_t class[BATCH];
    if (!ridge_to_host(probabilities, p, sizeof p) || !ridge_to_host(best, class, sizeof class))
        return false;
    for (int row = 0; row < BATCH; row++)
        printf("row %d: class %d with probability %.2f\n", row, class[row],
               (double)p[row][class[row]]);
    return true;
}

int main(int argc, char **argv) {
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && run(device);
    if (!ok)
        fprintf(stderr, "forward: %s\n", ridge_error_message());
    ridge_device_close(device); /* the tensors go with it */
    return ok ? 0 : 1;
}
