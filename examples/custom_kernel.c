/* A custom fused operation: a C function of tensors, called directly (one kernel per operation)
 * and compiled (one kernel in total), with the results and the memory traffic of both compared.
 *
 *   cc custom_kernel.c $(pkg-config --cflags --libs ridge) -lm -o custom_kernel
 *   ./custom_kernel [DEVICE] [--times]
 */
#include <inttypes.h>
#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 512, WIDTH = 1024, COUNT = ROWS * WIDTH, REPEATS = 20 };

/* A gated residual and its norm: rms_norm(x + sigmoid(gate) * tanh(update)) * weight. */
struct block {
    ridge_tensor *weight;
    float epsilon;
};

static bool gated_residual(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct block *block = context;
    ridge_tensor *x = inputs[0], *gate = inputs[1], *update = inputs[2];
    ridge_tensor *gated = ridge_mul(ridge_sigmoid(gate), ridge_tanh(update));
    outputs[0] = ridge_rms_norm(ridge_add(x, gated), block->weight, block->epsilon);
    return outputs[0] != NULL;
}

static float largest_difference(const float *a, const float *b) {
    float largest = 0;
    for (int i = 0; i < COUNT; i++)
        largest = fmaxf(largest, fabsf(a[i] - b[i]));
    return largest;
}

static double seconds(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void print_times(ridge_device *device, ridge_program *program, struct block *block,
                        ridge_tensor *const *inputs) {
    double begin[2], end[2];
    for (int compiled = 0; compiled < 2; compiled++) {
        ridge_synchronize(device);
        begin[compiled] = seconds();
        for (int i = 0; i < REPEATS; i++) {
            ridge_tensor *output;
            ridge_scope_begin();
            if (compiled)
                ridge_program_run(program, inputs, &output);
            else
                gated_residual(block, inputs, &output);
            ridge_scope_end();
        }
        ridge_synchronize(device);
        end[compiled] = seconds();
    }
    printf("unfused %.1f us, compiled %.1f us\n", (end[0] - begin[0]) / REPEATS * 1e6,
           (end[1] - begin[1]) / REPEATS * 1e6);
}

static bool run(ridge_device *device, bool times, float *fused, float *unfused) {
    const int64_t sizes[] = {ROWS, WIDTH};
    struct block block = {ridge_rand(device, RIDGE_F32, 1, &sizes[1], 4), 1e-5f};
    ridge_tensor *inputs[3], *y, *z;
    for (int i = 0; i < 3; i++)
        inputs[i] = ridge_randn(device, RIDGE_F32, 2, sizes, (uint64_t)i);

    ridge_program *program = ridge_compile(gated_residual, &block, inputs, 3, 1);
    struct ridge_program_info info;
    if (!ridge_program_run(program, inputs, &y) || !gated_residual(&block, inputs, &z) ||
        !ridge_to_floats(y, fused, COUNT) || !ridge_to_floats(z, unfused, COUNT) ||
        !ridge_program_describe(program, &info))
        return false;
    float difference = largest_difference(fused, unfused);
    printf("fused and unfused %s\n", difference < 1e-4f ? "agree" : "DIFFER");
    printf("kernels  %u for %u operations\n", info.kernels, info.operations);
    printf("bytes    %" PRIu64 " instead of %" PRIu64 ", operation by operation: %.1fx less\n",
           info.bytes, info.eager_bytes, (double)info.eager_bytes / (double)info.bytes);
    printf("memory   %" PRIu64 " bytes of intermediates instead of %" PRIu64 "\n",
           info.intermediate_bytes, info.eager_intermediate_bytes);
    if (times)
        print_times(device, program, &block, inputs);
    return difference < 1e-4f;
}

int main(int argc, char **argv) {
    bool times = argc > 1 && strcmp(argv[argc - 1], "--times") == 0;
    float *results = malloc(2 * COUNT * sizeof *results);
    ridge_device *device = ridge_device_open(argc - times > 1 ? argv[1] : NULL);
    bool ok = results && device && run(device, times, results, results + COUNT);
    if (!ok)
        fprintf(stderr, "custom_kernel: %s\n", ridge_error_message());
    ridge_device_close(device);
    free(results);
    return ok ? 0 : 1;
}
