/* The memory of compiled functions: intermediates share it and never disturb each other. */
#include <math.h>
#include <ridge.h>
#include <stdint.h>
#include <stdlib.h>

#include "../test.h"

enum { SIZE = 24, COUNT = SIZE * SIZE, VALUES = 20, INPUTS = 3, OUTPUTS = 4, GRAPHS = 60 };

static uint64_t state;

static unsigned below(unsigned bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % bound);
}

/* ---- Chains ------------------------------------------------------------------------------- */

static bool chain_of_products(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    ridge_tensor *x = inputs[0];
    for (int i = 0; i < *(const int *)context; i++)
        x = ridge_matmul(x, inputs[1]);
    outputs[0] = x;
    return x != NULL;
}

TEST(a_chain_needs_two_intermediates_however_long_it_is) {
    ridge_device *device = ridge_device_open("cpu");
    const int64_t sizes[] = {64, 64};
    ridge_tensor *inputs[] = {ridge_randn(device, RIDGE_F32, 2, sizes, 1),
                              ridge_randn(device, RIDGE_F32, 2, sizes, 2)};
    for (int length = 1; length <= 12; length++) {
        struct ridge_program_info info;
        ridge_program *program = ridge_compile(chain_of_products, &length, inputs, 2, 1);
        REQUIRE(ridge_program_describe(program, &info));
        uint64_t one = sizeof(float) * 64 * 64, inner = (uint64_t)length - 1;
        CHECK_INT(info.kernels, length);
        CHECK_INT(info.intermediate_bytes, one * (inner > 2 ? 2 : inner));
        CHECK_INT(info.eager_intermediate_bytes, one * inner);
    }
    ridge_device_close(device);
}

/* ---- Random graphs -------------------------------------------------------------------------- */

static ridge_tensor *random_operation(ridge_tensor *x, ridge_tensor *y) {
    ridge_tensor *parts[2];
    switch (below(12)) {
    case 0:
        return ridge_tanh(x);
    case 1:
        return ridge_add(x, y);
    case 2:
        return ridge_sub(ridge_sigmoid(x), y);
    case 3:
        return ridge_mul(ridge_tanh(x), ridge_sigmoid(y));
    case 4:
        return ridge_tanh(ridge_matmul(x, y));
    case 5:
        return ridge_matmul(ridge_softmax(x, -1), y);
    case 6:
        return ridge_transpose(x, 0, 1);
    case 7:
        return ridge_sub(x, ridge_mean(y, 1, (int[]){below(2) ? 0 : 1}, true));
    case 8:
        return ridge_rms_norm(ridge_add(x, y), NULL, 1e-3f);
    case 9: /* the columns turned around by some */
        parts[0] = ridge_slice(x, 1, 5, INT64_MAX, 1);
        parts[1] = ridge_slice(x, 1, 0, 5, 1);
        return ridge_cat(parts, 2, 1);
    case 10: /* a row of x for all rows */
        return ridge_max(ridge_select(x, 0, below(SIZE)), y);
    default:
        return ridge_broadcast(ridge_select(x, 1, below(SIZE)), 2, (int64_t[]){SIZE, SIZE});
    }
}

/* The same operations whenever the seed is the same. Any value may be an output, also one that
 * later ones read, an input, or a view. */
static bool random_graph(void *context, ridge_tensor *const *inputs, ridge_tensor **outputs) {
    ridge_tensor *values[INPUTS + VALUES];
    state = *(const uint64_t *)context;
    for (unsigned i = 0; i < INPUTS; i++)
        values[i] = inputs[i];
    for (unsigned i = INPUTS; i < INPUTS + VALUES; i++)
        if (!(values[i] = random_operation(values[below(i)], values[below(i)])))
            return false;
    for (unsigned i = 0; i < OUTPUTS; i++)
        outputs[i] = values[INPUTS + VALUES - 1 - below(i == 0 ? 1 : VALUES)];
    return true;
}

static bool same(ridge_tensor *a, ridge_tensor *b) {
    float of_a[COUNT], of_b[COUNT];
    if (!ridge_to_floats(a, of_a, COUNT) || !ridge_to_floats(b, of_b, COUNT))
        return false;
    for (int i = 0; i < COUNT; i++)
        if (!(fabsf(of_a[i] - of_b[i]) <= 2e-3f * (1 + fabsf(of_b[i]))))
            return false;
    return true;
}

/* Twice, the second time with other inputs: nothing of the first run may be left. */
static bool runs_as_eager(ridge_device *device, uint64_t seed) {
    ridge_tensor *inputs[INPUTS], *compiled[OUTPUTS], *eager[OUTPUTS];
    ridge_program *program = NULL;
    struct ridge_program_info info;
    for (unsigned run = 0; run < 2; run++) {
        for (unsigned i = 0; i < INPUTS; i++)
            inputs[i] = ridge_randn(device, RIDGE_F32, 2, (int64_t[]){SIZE, SIZE}, run * 10 + i);
        if (run == 0)
            program = ridge_compile(random_graph, &seed, inputs, INPUTS, OUTPUTS);
        if (!ridge_program_run(program, inputs, compiled) || !random_graph(&seed, inputs, eager))
            return false;
        for (unsigned i = 0; i < OUTPUTS; i++)
            if (!same(compiled[i], eager[i]))
                return false;
    }
    /* Each intermediate starts at a multiple of 256. */
    bool ok = ridge_program_describe(program, &info) &&
              info.intermediate_bytes <= info.eager_intermediate_bytes + 256 * info.operations;
    ridge_program_release(program);
    return ok;
}

TEST(random_graphs_give_the_results_of_their_operations_one_by_one) {
    ridge_device *device = ridge_device_open("cpu");
    REQUIRE(device);
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        ridge_scope_begin();
        if (!runs_as_eager(device, seed))
            test_failed(__FILE__, __LINE__, "graph %llu differs or failed: %s",
                        (unsigned long long)seed, ridge_error_message());
        ridge_scope_end();
    }
    ridge_device_close(device);
}
