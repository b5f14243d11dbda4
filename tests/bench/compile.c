/* Measures how long ridge_compile() takes for chains of 1,250 to 10,000 operations on the CPU, as
 * CPU time in milliseconds: elementwise work, a network of products, and joins. Prints a table. */
#include <stdio.h>
#include <time.h>

#include <ridge.h>

enum { ROWS = 4, WIDTH = 8, FIRST = 1250, LAST = 10000 };
enum chain { ELEMENTWISE, NETWORK, JOINS, CHAINS };
static const char *const names[CHAINS] = {"elementwise", "network", "joins"};

struct work {
    enum chain chain;
    int count;
    ridge_tensor *weights;
};

static ridge_tensor *join(ridge_tensor *x, ridge_tensor *other) {
    ridge_tensor *parts[2] = {x, other};
    return ridge_slice(ridge_cat(parts, 2, 0), 0, 0, ROWS, 1);
}

static ridge_tensor *one(const struct work *work, int i, ridge_tensor *x, ridge_tensor *other) {
    if (work->chain == ELEMENTWISE)
        return i % 2 ? ridge_sin(x) : ridge_add(x, other);
    if (i % 4 == 0)
        return ridge_matmul(x, work->weights);
    if (work->chain == JOINS && i % 4 == 1)
        return join(x, other);
    return i % 4 == 1 ? ridge_add(x, other) : i % 4 == 2 ? ridge_relu(x) : ridge_softmax(x, -1);
}

static bool build(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct work *work = context;
    outputs[0] = inputs[0];
    for (int i = 0; i < work->count && outputs[0]; i++)
        outputs[0] = one(work, i, outputs[0], inputs[1]);
    return outputs[0] != NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool measure(struct work *work, ridge_tensor *const *inputs) {
    struct ridge_program_info info;
    double start = now();
    ridge_program *program = ridge_compile(build, work, inputs, 2, 1);
    double seconds = now() - start;
    bool ok = program && ridge_program_describe(program, &info);
    if (ok)
        printf("%-12s %6d operations %8.1f ms %6u kernels\n", names[work->chain], work->count,
               seconds * 1e3, info.kernels);
    ridge_program_release(program);
    return ok;
}

int main(void) {
    ridge_device *device = ridge_device_open("cpu");
    struct work work = {.weights =
                            ridge_full(device, RIDGE_F32, 2, (int64_t[]){WIDTH, WIDTH}, 0.1)};
    ridge_tensor *inputs[2];
    for (int i = 0; i < 2; i++)
        inputs[i] = ridge_full(device, RIDGE_F32, 2, (int64_t[]){ROWS, WIDTH}, 0.1 * (i + 1));
    bool ok = device && work.weights && inputs[0] && inputs[1];
    for (work.chain = ELEMENTWISE; work.chain < CHAINS; work.chain++)
        for (work.count = FIRST; work.count <= LAST && ok; work.count *= 2)
            ok = measure(&work, inputs);
    if (!ok)
        fprintf(stderr, "compile: %s\n", ridge_error_message());
    return !ok;
}
