/* Faults on ridge's own runtime, each beside the same work without it: runtime_program.c runs them.
 * A step with `faulty` does it in the bad way, without in a good one: the difference is the cost.
 */
#include "runtime_faults.h"

#include <stdlib.h>
#include <string.h>

static int64_t size(const struct run *run, int64_t full, int64_t small) {
    return run->small ? small : full;
}

static ridge_tensor *matrix(struct run *run, enum ridge_dtype dtype, int64_t rows,
                            int64_t columns) {
    ridge_tensor *x = ridge_rand(run->device, dtype, 2, (int64_t[]){rows, columns}, 1);
    return ridge_mul_scalar(x, 0.01);
}

/* ---- programs ---- */

static bool gated_mlp(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    struct run *run = context;
    outputs[0] = ridge_gated_mlp(inputs[0], run->gate, run->up, run->down);
    return outputs[0] != NULL;
}

static bool lora(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    struct run *run = context;
    outputs[0] = ridge_lora(inputs[0], run->weights, run->low_a, run->low_b, 0.5f);
    return outputs[0] != NULL;
}

static ridge_tensor *chain_of(ridge_tensor *x, int operations) {
    for (int i = 0; i < operations; i++)
        x = i % 3 == 0 ? ridge_mul_scalar(x, 0.999) : i % 3 == 1 ? ridge_relu(x) : ridge_abs(x);
    return x;
}

static bool chain(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct run *run = context;
    outputs[0] = chain_of(inputs[0], run->amount);
    return outputs[0] != NULL;
}

/* Another function for each number: its bits choose the operations. */
static bool numbered(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    const struct run *run = context;
    ridge_tensor *x = inputs[0];
    for (unsigned bit = 0; bit < 12; bit++)
        x = run->compiled >> bit & 1 ? ridge_tanh(x) : ridge_sigmoid(x);
    outputs[0] = x;
    return x != NULL;
}

static bool prepare_base(struct run *run) {
    int64_t width = size(run, 2048, 32), rows = size(run, 2048, 8);
    run->x = matrix(run, RIDGE_BF16, rows, width);
    run->gate = matrix(run, RIDGE_BF16, 4 * width, width);
    run->up = matrix(run, RIDGE_BF16, 4 * width, width);
    run->down = matrix(run, RIDGE_BF16, width, 4 * width);
    run->base = ridge_compile(gated_mlp, run, &run->x, 1, 1);
    return run->base != NULL;
}

static ridge_tensor *base_step(struct run *run) {
    ridge_tensor *y;
    return ridge_program_run(run->base, &run->x, &y) ? y : NULL;
}

static bool prepare_chain(struct run *run, int64_t elements) {
    run->chain_input = ridge_rand(run->device, RIDGE_F32, 1, &elements, 1);
    run->chain = ridge_compile(chain, run, &run->chain_input, 1, 1);
    return run->chain != NULL;
}

static bool chain_step(struct run *run, bool faulty) {
    ridge_tensor *y;
    if (faulty)
        return chain_of(run->chain_input, run->amount) != NULL;
    return ridge_program_run(run->chain, &run->chain_input, &y);
}

/* ---- faults: what is needed before the loop, and a step of it ---- */

/* The pool must keep all results of a step, or allocating them anew is a fault of its own. */
static bool prepare_launch(struct run *run) {
    return ridge_pool_set_capacity(run->device, 2 * (unsigned)run->amount) && prepare_base(run) &&
           prepare_chain(run, size(run, 4096, 64));
}

static bool launch(struct run *run, bool faulty) {
    return base_step(run) && chain_step(run, faulty);
}

static bool prepare_memory(struct run *run) {
    return prepare_chain(run, size(run, 64 << 20, 4096));
}

static bool memory(struct run *run, bool faulty) {
    return chain_step(run, faulty);
}

static bool prepare_products(struct run *run) {
    run->a16 = matrix(run, RIDGE_BF16, size(run, 2048, 16), size(run, 2048, 16));
    run->b16 = matrix(run, RIDGE_BF16, size(run, 2048, 16), size(run, 2048, 16));
    return run->a16 && run->b16;
}

static bool synchronized(struct run *run, bool faulty) {
    ridge_tensor *y = run->a16;
    for (int i = 0; i < 16 && y; i++) {
        y = ridge_matmul(y, run->b16);
        if (faulty && !ridge_synchronize(run->device))
            return false;
    }
    return y != NULL;
}

static bool read_back(struct run *run, bool faulty) {
    float sum;
    ridge_tensor *y = ridge_sum(ridge_cast(base_step(run), RIDGE_F32), 0, NULL, false);
    return y && (!faulty || ridge_to_host(y, &sum, sizeof sum));
}

static bool prepare_host_memory(struct run *run, size_t bytes) {
    run->host = calloc(1, bytes);
    return run->host && prepare_base(run);
}

enum { SMALL_FLOATS = 4096 };

static bool prepare_small_copies(struct run *run) {
    return prepare_host_memory(run, (size_t)run->amount * SMALL_FLOATS * sizeof(float));
}

static bool small_copies(struct run *run, bool faulty) {
    int count = faulty ? run->amount : 1;
    int64_t length = (int64_t)SMALL_FLOATS * run->amount / count;
    for (int i = 0; i < count; i++)
        if (!ridge_from_host(run->device, RIDGE_F32, 1, &length, run->host + i * length))
            return false;
    return base_step(run) != NULL;
}

static size_t megabytes(const struct run *run) {
    return (size_t)size(run, (int64_t)run->amount * 1000000, 4096);
}

static bool prepare_large_copy(struct run *run) {
    return prepare_host_memory(run, megabytes(run));
}

static bool large_copy(struct run *run, bool faulty) {
    int64_t length = (int64_t)(megabytes(run) / sizeof(float));
    if (faulty && !ridge_from_host(run->device, RIDGE_F32, 1, &length, run->host))
        return false;
    return base_step(run) != NULL;
}

static bool sleeping(struct run *run, bool faulty) {
    struct timespec time = {0, run->amount * 1000000L};
    if (faulty)
        nanosleep(&time, NULL);
    return base_step(run) != NULL;
}

static bool busy(struct run *run, bool faulty) {
    int64_t end = clock_ns() + run->amount * (int64_t)1000000;
    ridge_range_begin(run->device, "tokenize");
    while (faulty && clock_ns() < end)
        ;
    ridge_range_end(run->device);
    return base_step(run) != NULL;
}

static bool prepare_allocation(struct run *run) {
    int64_t elements = size(run, 4 << 20, 256);
    run->chain_input = ridge_rand(run->device, RIDGE_F32, 1, &elements, 1);
    return run->chain_input && prepare_base(run);
}

/* A pool that keeps nothing. Setting that waits for the device, so it is done once. */
static bool allocation(struct run *run, bool faulty) {
    if (run->pool_is_off != faulty && !ridge_pool_set_capacity(run->device, faulty ? 0 : 64))
        return false;
    run->pool_is_off = faulty;
    return base_step(run) && chain_of(run->chain_input, run->amount);
}

static bool prepare_compile(struct run *run) {
    return prepare_allocation(run);
}

static bool compile(struct run *run, bool faulty) {
    ridge_tensor *y;
    if (faulty || !run->chain) {
        run->compiled++;
        ridge_program_release(run->chain);
        run->chain = ridge_compile(numbered, run, &run->chain_input, 1, 1);
    }
    return run->chain && ridge_program_run(run->chain, &run->chain_input, &y) && base_step(run);
}

static bool prepare_compute(struct run *run) {
    int64_t width = size(run, run->amount, 16);
    run->a32 = matrix(run, RIDGE_F32, width, width);
    run->b32 = matrix(run, RIDGE_F32, width, width);
    run->a16 = ridge_cast(run->a32, RIDGE_BF16);
    run->b16 = ridge_cast(run->b32, RIDGE_BF16);
    return run->a16 && run->b16;
}

static bool compute(struct run *run, bool faulty) {
    return ridge_matmul(faulty ? run->a32 : run->a16, faulty ? run->b32 : run->b16) != NULL;
}

/* The same elements as few long sequences, and as many short ones. */
static bool prepare_sequences(struct run *run, ridge_tensor **parts, ridge_tensor **state,
                              int64_t batch, int64_t tokens) {
    int64_t width = 64, shape[] = {batch, tokens, 1, width};
    for (int i = 0; i < 6; i++)
        if (!(parts[i] = ridge_mul_scalar(ridge_rand(run->device, RIDGE_F32, 4, shape, 1), 0.1)))
            return false;
    *state = ridge_zeros(run->device, RIDGE_F32, 4, (int64_t[]){batch, 1, width, width});
    return *state != NULL;
}

static bool prepare_grid(struct run *run) {
    int64_t tokens = size(run, 2048, 16), parts = size(run, 128, 2);
    return prepare_sequences(run, run->few, &run->few_state, run->amount, tokens) &&
           prepare_sequences(run, run->many, &run->many_state, run->amount * parts, tokens / parts);
}

static bool grid(struct run *run, bool faulty) {
    ridge_tensor **in = faulty ? run->few : run->many, *state_out;
    return ridge_wkv7(in[0], in[1], in[2], in[3], in[4], in[5],
                      faulty ? run->few_state : run->many_state, &state_out) != NULL;
}

/* ---- healthy controls ---- */

static bool healthy_matmul(struct run *run, bool faulty) {
    (void)faulty;
    return ridge_matmul(run->a16, run->b16) != NULL;
}

static bool prepare_gated_mlp(struct run *run) {
    if (!prepare_base(run))
        return false;
    run->x = matrix(run, RIDGE_BF16, size(run, run->amount, 8), size(run, 2048, 32));
    return run->x != NULL;
}

static bool healthy_base(struct run *run, bool faulty) {
    (void)faulty;
    return base_step(run) != NULL;
}

static bool prepare_lora(struct run *run) {
    int64_t width = size(run, run->amount, 32), rank = 16;
    run->x = matrix(run, RIDGE_BF16, size(run, 4096, 8), width);
    run->weights = matrix(run, RIDGE_BF16, width, width);
    run->low_a = matrix(run, RIDGE_BF16, rank, width);
    run->low_b = matrix(run, RIDGE_BF16, width, rank);
    run->lora = ridge_compile(lora, run, &run->x, 1, 1);
    return run->lora != NULL;
}

static bool healthy_lora(struct run *run, bool faulty) {
    ridge_tensor *y;
    (void)faulty;
    return ridge_program_run(run->lora, &run->x, &y);
}

static bool healthy_elementwise(struct run *run, bool faulty) {
    (void)faulty;
    return chain_step(run, false);
}

static const struct fault faults[] = {
    {"launch", "tiny-kernels", prepare_launch, launch},
    {"sync", "sync-in-loop", prepare_products, synchronized},
    {"read", "sync-in-loop", prepare_base, read_back},
    {"small-copies", "small-transfers", prepare_small_copies, small_copies},
    {"large-copy", "exposed-transfers", prepare_large_copy, large_copy},
    {"sleep", "host-bound", prepare_base, sleeping},
    {"busy", "host-bound", prepare_base, busy},
    {"allocation", "allocation", prepare_allocation, allocation},
    {"compile", "compilation", prepare_compile, compile},
    {"memory", "memory-bound", prepare_memory, memory},
    {"compute", "compute-bound", prepare_compute, compute},
    {"grid", "small-grid", prepare_grid, grid},
    {"healthy-matmul", NULL, prepare_compute, healthy_matmul},
    {"healthy-gated-mlp", NULL, prepare_gated_mlp, healthy_base},
    {"healthy-lora", NULL, prepare_lora, healthy_lora},
    {"healthy-elementwise", NULL, prepare_memory, healthy_elementwise},
};

const struct fault *find_fault(const char *name) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, name) == 0)
            return &faults[i];
    return NULL;
}
