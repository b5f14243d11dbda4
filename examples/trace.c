/* Records what a device does to a file: every launch, kernel, copy, wait and allocation, with the
 * flops and bytes of each kernel.
 *
 *   cc trace.c $(pkg-config --cflags --libs ridge) -o trace
 *   ./trace [DEVICE [FILE]]
 *   ridge report trace.ridge
 */
#include <ridge.h>
#include <stdio.h>

enum { STEPS = 10, ROWS = 128, WIDTH = 512 };

struct layer {
    ridge_tensor *weight, *bias;
};

static bool layer_forward(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct layer *layer = context;
    ridge_tensor *h = ridge_linear(inputs[0], layer->weight, layer->bias, RIDGE_ACTIVATION_SILU);
    outputs[0] = ridge_softmax(ridge_add(h, inputs[0]), -1);
    return outputs[0] != NULL;
}

/* The ranges name the steps in the report. */
static bool steps(ridge_device *device, ridge_program *program, ridge_tensor *x) {
    bool ok = true;
    for (int i = 0; i < STEPS && ok; i++) {
        ridge_tensor *y;
        float sum[ROWS];
        ridge_scope_begin();
        ridge_range_begin(device, "forward");
        ok = ridge_program_run(program, &x, &y);
        ridge_range_end(device);
        ridge_range_begin(device, "check");
        ok = ok && ridge_to_host(ridge_sum(y, 1, (int[]){-1}, false), sum, sizeof sum);
        ridge_range_end(device);
        ridge_scope_end();
    }
    return ok;
}

static bool run(ridge_device *device, const char *path) {
    ridge_tensor *x = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){ROWS, WIDTH}, 1);
    struct layer layer = {ridge_randn(device, RIDGE_F32, 2, (int64_t[]){WIDTH, WIDTH}, 2),
                          ridge_zeros(device, RIDGE_F32, 1, (int64_t[]){WIDTH})};
    ridge_program *program = ridge_compile(layer_forward, &layer, &x, 1, 1);
    if (!program || !ridge_trace_begin(device, path))
        return false;
    bool ok = steps(device, program, x);
    if (!ridge_trace_end(device) || !ok)
        return false;
    printf("%d steps recorded; read them with: ridge report %s\n", STEPS, path);
    return true;
}

int main(int argc, char **argv) {
    ridge_device *device = ridge_device_open(argc > 1 ? argv[1] : NULL);
    bool ok = device && run(device, argc > 2 ? argv[2] : "trace.ridge");
    if (!ok)
        fprintf(stderr, "trace: %s\n", ridge_error_message());
    ridge_device_close(device);
    return ok ? 0 : 1;
}
