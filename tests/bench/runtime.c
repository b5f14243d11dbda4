/* Times the runtime's operations on a device, for tests/bench/runtime:
 *
 *   runtime DEVICE [WORD]      the workloads whose names contain WORD
 *
 * prints a line for each: name, median microseconds of a call, spread (half the range of the middle
 * half, in percent), bytes and flops of a call. A call is asynchronous; the device is waited for at
 * the end of each batch of calls. Data is random, and large inputs take turns so that no cache
 * holds them. */
#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS_MAX = 8, BATCHES = 21, INPUTS_MAX = 4 };

static ridge_device *device;
static const char *only;
static bool is_gpu;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void die(const char *what) {
    fprintf(stderr, "runtime: %s: %s\n", what, ridge_error_message());
    exit(1);
}

/* One workload: a function of up to four inputs, and several sets of inputs that take turns. */
struct work {
    const char *name;
    ridge_function *function;
    ridge_tensor *inputs[TURNS_MAX][INPUTS_MAX];
    unsigned turns, input_count;
    uint64_t bytes, flops;
};

static void call(const struct work *work, ridge_program *program, unsigned turn) {
    ridge_tensor *output;
    ridge_tensor *const *inputs = work->inputs[turn % work->turns];
    if (program ? !ridge_program_run(program, inputs, &output)
                : !work->function(NULL, inputs, &output))
        die(work->name);
    ridge_release(output);
}

static double batch(const struct work *work, ridge_program *program, unsigned calls) {
    double start = now();
    for (unsigned i = 0; i < calls; i++) {
        ridge_scope_begin();
        call(work, program, i);
        ridge_scope_end();
    }
    if (!ridge_synchronize(device))
        die(work->name);
    return (now() - start) / calls;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void report(const struct work *work, ridge_program *program, const char *suffix) {
    double first = batch(work, program, 3), times[BATCHES];
    first = batch(work, program, 3);
    unsigned calls = (unsigned)(20000 / (first > 1 ? first : 1));
    calls = calls < 2 * work->turns ? 2 * work->turns : calls > 2000 ? 2000 : calls;
    batch(work, program, calls);
    for (unsigned i = 0; i < BATCHES; i++)
        times[i] = batch(work, program, calls);
    qsort(times, BATCHES, sizeof times[0], by_value);
    double median = times[BATCHES / 2];
    double spread = (times[BATCHES * 3 / 4] - times[BATCHES / 4]) / 2 / median * 100;
    printf("%s%s\t%.3f\t%.1f\t%llu\t%llu\n", work->name, suffix, median, spread,
           (unsigned long long)work->bytes, (unsigned long long)work->flops);
    fflush(stdout);
}

/* Eager, compiled, or both. */
static void run(struct work *work, bool eager, bool compiled) {
    if (only && !strstr(work->name, only))
        return;
    ridge_program *program =
        ridge_compile(work->function, NULL, work->inputs[0], work->input_count, 1);
    struct ridge_program_info info;
    if (!program || !ridge_program_describe(program, &info))
        die(work->name);
    work->bytes = info.bytes;
    work->flops = info.flops;
    if (eager)
        report(work, NULL, compiled ? "/eager" : "");
    if (compiled)
        report(work, program, eager ? "/compiled" : "");
    ridge_program_release(program);
    for (unsigned turn = 0; turn < work->turns; turn++)
        for (unsigned i = 0; i < work->input_count; i++)
            ridge_release(work->inputs[turn][i]);
    ridge_pool_clear(device);
}

static ridge_tensor *random_tensor(enum ridge_dtype dtype, int64_t rows, int64_t columns,
                                   uint64_t seed, float scale) {
    ridge_scope_begin();
    ridge_tensor *x = ridge_randn(device, dtype, 2, (int64_t[]){rows, columns}, seed);
    ridge_tensor *scaled = ridge_keep(ridge_mul_scalar(x, scale));
    ridge_scope_end();
    if (!scaled)
        die("random numbers");
    return scaled;
}

/* As many sets of inputs as it takes to leave the caches behind, if memory is the question. */
static unsigned turns_for(int64_t bytes) {
    int64_t cache = is_gpu ? 256 << 20 : 512 << 20;
    int64_t turns = cache / (bytes > 0 ? bytes : 1) + 1;
    return turns > TURNS_MAX ? TURNS_MAX : (unsigned)turns;
}

/* ---- The functions ---------------------------------------------------------------------- */

static bool chain(void *context, ridge_tensor *const *x, ridge_tensor **y) {
    (void)context;
    ridge_tensor *value = x[0];
    for (int i = 0; i < 5; i++)
        value = ridge_log(ridge_exp(ridge_cos(ridge_sin(value))));
    *y = ridge_keep(value);
    return *y != NULL;
}

#define FUNCTION(name, expression)                                                                 \
    static bool name(void *context, ridge_tensor *const *x, ridge_tensor **y) {                    \
        (void)context;                                                                             \
        *y = ridge_keep(expression);                                                               \
        return *y != NULL;                                                                         \
    }
FUNCTION(copy, ridge_add_scalar(x[0], 0))
FUNCTION(softmax, ridge_softmax(x[0], -1))
FUNCTION(layer_norm, ridge_layer_norm(x[0], x[1], x[2], 1e-5f))
FUNCTION(rms_norm, ridge_rms_norm(x[0], x[1], 1e-5f))
FUNCTION(lora, ridge_lora(x[0], x[1], x[2], x[3], 2.0f))
FUNCTION(gated_mlp, ridge_gated_mlp(x[0], x[1], x[2], NULL))
FUNCTION(matmul, ridge_matmul(x[0], x[1]))
FUNCTION(matmul_relu, ridge_matmul_activation(x[0], x[1], NULL, RIDGE_ACTIVATION_RELU))
FUNCTION(linear, ridge_linear(x[0], x[1], NULL, RIDGE_ACTIVATION_NONE))
FUNCTION(total, ridge_sum(x[0], 0, NULL, false))

static void run_chain(const char *name, int64_t count) {
    struct work work = {.name = name, .function = chain, .input_count = 1};
    work.turns = 1;
    for (unsigned i = 0; i < work.turns; i++)
        work.inputs[i][0] = random_tensor(RIDGE_F32, 1, count, i + 1, 1);
    run(&work, true, true);
}

static void run_rows(const char *name, ridge_function *function, enum ridge_dtype dtype,
                     int64_t rows, int64_t columns, unsigned inputs) {
    struct work work = {.name = name, .function = function, .input_count = inputs};
    work.turns = turns_for(2 * rows * columns * (int64_t)ridge_dtype_bytes(dtype, 1));
    for (unsigned turn = 0; turn < work.turns; turn++) {
        work.inputs[turn][0] = random_tensor(dtype, rows, columns, turn + 1, 1);
        for (unsigned i = 1; i < inputs; i++) {
            ridge_tensor *weight = random_tensor(dtype, 1, columns, 100 + i, 1);
            work.inputs[turn][i] = ridge_squeeze(weight, 0);
            ridge_release(weight);
        }
    }
    run(&work, true, false);
}

static void run_matmul(const char *name, ridge_function *function, enum ridge_dtype dtype,
                       int64_t m, int64_t n, int64_t k) {
    struct work work = {.name = name, .function = function, .input_count = 2, .turns = 1};
    work.inputs[0][0] = random_tensor(dtype, m, k, 1, 1);
    work.inputs[0][1] = random_tensor(dtype, k, n, 2, 0.05f);
    run(&work, true, false);
}

static void run_gated_mlp(const char *name, int64_t batch_size, int64_t width,
                          enum ridge_dtype dtype) {
    struct work work = {.name = name, .function = gated_mlp, .input_count = 3};
    work.turns = turns_for(2 * width * width * (int64_t)ridge_dtype_bytes(dtype, 1));
    for (unsigned turn = 0; turn < work.turns; turn++) {
        work.inputs[turn][0] = random_tensor(dtype, batch_size, width, 1, 1);
        work.inputs[turn][1] = random_tensor(dtype, width, width, 2 * turn + 2, 0.02f);
        work.inputs[turn][2] = random_tensor(dtype, width, width, 2 * turn + 3, 0.02f);
    }
    run(&work, true, true);
}

static void run_lora(const char *name, int64_t width, int64_t rank, enum ridge_dtype dtype) {
    struct work work = {.name = name, .function = lora, .input_count = 4, .turns = 1};
    work.inputs[0][0] = random_tensor(dtype, 1, width, 1, 1);
    work.inputs[0][1] = random_tensor(dtype, width, width, 2, 0.02f);
    work.inputs[0][2] = random_tensor(dtype, width, rank, 3, 0.02f);
    work.inputs[0][3] = random_tensor(dtype, rank, width, 4, 0.02f);
    run(&work, true, true);
}

static void run_quantized(const char *name, int64_t m, int64_t n, int64_t k, enum ridge_dtype dtype,
                          enum ridge_dtype activations) {
    struct work work = {.name = name, .function = linear, .input_count = 2};
    work.turns = turns_for((int64_t)ridge_dtype_bytes(dtype, n * k));
    for (unsigned turn = 0; turn < work.turns; turn++) {
        ridge_tensor *weight = random_tensor(RIDGE_F32, n, k, turn + 2, 0.02f);
        work.inputs[turn][0] = random_tensor(activations, m, k, 1, 1);
        work.inputs[turn][1] = ridge_quantize(weight, dtype);
        ridge_release(weight);
    }
    run(&work, true, false);
}

static void run_gpu(void) {
    run_rows("copy 1 GiB", copy, RIDGE_F32, 1 << 14, 1 << 14, 1);
    run_chain("chain 2^14", 1 << 14);
    run_chain("chain 2^20", 1 << 20);
    run_chain("chain 2^26", 1 << 26);
    run_lora("lora 2048 r8 f16", 2048, 8, RIDGE_F16);
    run_rows("softmax 8192x4096 f16", softmax, RIDGE_F16, 8192, 4096, 1);
    run_rows("layer_norm 8192x4096 f16", layer_norm, RIDGE_F16, 8192, 4096, 3);
    run_rows("rms_norm 8192x4096 f16", rms_norm, RIDGE_F16, 8192, 4096, 2);
    run_rows("sum 2^26", total, RIDGE_F32, 1 << 13, 1 << 13, 1);
    run_gated_mlp("gated_mlp 4096 b8 f16", 8, 4096, RIDGE_F16);
    run_matmul("matmul 4096 f16", matmul, RIDGE_F16, 4096, 4096, 4096);
    run_matmul("matmul_relu 4096 f16", matmul_relu, RIDGE_F16, 4096, 4096, 4096);
    run_quantized("q4_k 16384 b1", 1, 16384, 16384, RIDGE_Q4_K, RIDGE_F16);
    run_quantized("q8_0 16384 b1", 1, 16384, 16384, RIDGE_Q8_0, RIDGE_F16);
}

static void run_cpu(void) {
    run_rows("copy 256 MiB", copy, RIDGE_F32, 1 << 13, 1 << 13, 1);
    run_chain("chain 2^14", 1 << 14);
    run_chain("chain 2^20", 1 << 20);
    run_chain("chain 2^24", 1 << 24);
    run_rows("softmax 4096x4096 f32", softmax, RIDGE_F32, 4096, 4096, 1);
    run_rows("layer_norm 4096x4096 f32", layer_norm, RIDGE_F32, 4096, 4096, 3);
    run_rows("rms_norm 4096x4096 f32", rms_norm, RIDGE_F32, 4096, 4096, 2);
    run_rows("softmax 4096x4096 f16", softmax, RIDGE_F16, 4096, 4096, 1);
    run_matmul("matmul 512 f32", matmul, RIDGE_F32, 512, 512, 512);
    run_matmul("matmul 1024 f32", matmul, RIDGE_F32, 1024, 1024, 1024);
    run_matmul("matmul 2048 f32", matmul, RIDGE_F32, 2048, 2048, 2048);
    run_matmul("matmul_relu 1024 f32", matmul_relu, RIDGE_F32, 1024, 1024, 1024);
    run_gated_mlp("gated_mlp 2048 b8 f32", 8, 2048, RIDGE_F32);
    run_quantized("q4_k 4096 b1", 1, 4096, 4096, RIDGE_Q4_K, RIDGE_F32);
    run_quantized("q8_0 4096 b1", 1, 4096, 4096, RIDGE_Q8_0, RIDGE_F32);
}

int main(int count, char **arguments) {
    device = ridge_device_open(count > 1 ? arguments[1] : "cpu");
    only = count > 2 ? arguments[2] : NULL;
    if (!device)
        die("cannot open the device");
    struct ridge_device_info info;
    ridge_device_describe(device, &info);
    is_gpu = strncmp(info.name, "cpu", 3) != 0;
    if (is_gpu)
        run_gpu();
    else
        run_cpu();
    ridge_device_close(device);
    return 0;
}
