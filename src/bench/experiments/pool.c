/* pool: allocating and releasing tensors, alone and as an operation's result, with and without
 * the buffer pool. What does memory from the driver cost, and how much of that does the pool
 * save? */
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "bench/experiments/axes.h"
#include "bench/experiments/pair.h"
#include "bench/run.h"
#include "bench/workloads/workload.h"
#include "bench/workloads/workload_check.h"
#include "device/pool.h"

enum { LIVE = 8 };             /* tensors that one call allocates before it releases them */
enum { USES = 0, POOLED = 1 }; /* among the numbers */
enum { REUSE_TRIES = 100 };

struct state {
    ridge_device *device;
    bool uses; /* an operation writes the memory; else it is only allocated */
    struct workload_shape shape;
    ridge_tensor *x;
};

static void pool_experiment_finish(void *context) {
    struct state *state = context;
    ridge_release(state->x);
    ridge_pool_set_capacity(state->device, POOL_CAPACITY);
    memory_free(state);
}

static bool pool_experiment_prepare(struct stage *stage, const struct bench_case *work, void **made,
                                    struct amount *amount, struct status *status) {
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->device = stage->device;
    state->uses = work->numbers[USES];
    int64_t count = work->size / (int64_t)sizeof(float);
    struct bench_case elements = {.dtype = work->dtype, .size = count};
    workload_relu.shape(&elements, &state->shape);
    if (!(state->x = ridge_randn(stage->device, work->dtype, 1, &count, 1)) ||
        !ridge_pool_set_capacity(stage->device, work->numbers[POOLED] ? POOL_CAPACITY : 0)) {
        run_tensor_failed(status);
        pool_experiment_finish(state);
        return false;
    }
    uint64_t bytes = ridge_tensor_bytes(state->x);
    *amount = (struct amount){0};
    if (state->uses)
        *amount = (struct amount){.bytes = 2 * bytes,
                                  .moved_bytes = 2 * bytes,
                                  .touched = 2 * bytes,
                                  .flops = (uint64_t)count,
                                  .arithmetic = ROOF_F32,
                                  .kernels = 1};
    *made = state;
    return true;
}

static bool allocate(struct state *state) {
    ridge_tensor *tensors[LIVE];
    bool ok = true;
    for (unsigned i = 0; i < LIVE; i++) {
        tensors[i] =
            ridge_from_host(state->device, RIDGE_F32, 1, state->shape.inputs[0].sizes, NULL);
        ok = ok && tensors[i];
    }
    for (unsigned i = 0; i < LIVE; i++)
        ridge_release(tensors[i]);
    return ok;
}

static bool pool_experiment_call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    (void)turn;
    if (!state->uses)
        return allocate(state) || run_tensor_failed(status);
    ridge_tensor *y = ridge_relu(state->x);
    ridge_release(y);
    return y || run_tensor_failed(status);
}

/* Memory that two tensors have at the same time is not the same memory. */
static bool check_apart(struct state *state, struct status *status) {
    float first[LIVE], last[LIVE];
    bool ok = true;
    ridge_tensor *tensors[LIVE];
    ridge_scope_begin();
    for (unsigned i = 0; i < LIVE; i++)
        tensors[i] = ridge_full(state->device, RIDGE_F32, 1, state->shape.inputs[0].sizes, i + 1);
    for (unsigned i = 0; ok && i < LIVE; i++)
        ok = ridge_to_floats(ridge_select(tensors[i], 0, 0), &first[i], 1) &&
             ridge_to_floats(ridge_select(tensors[i], 0, -1), &last[i], 1);
    ridge_scope_end();
    if (!ok)
        return run_tensor_failed(status);
    for (unsigned i = 0; i < LIVE; i++)
        if (first[i] != (float)(i + 1) || last[i] != (float)(i + 1))
            return status_fail(status, STATUS_INPUT,
                               "tensor %u of %u lost its content: memory was allocated twice", i,
                               LIVE);
    return true;
}

static bool pool_experiment_check(void *context, double *error, struct status *status) {
    struct state *state = context;
    *error = 0;
    if (!state->uses)
        return check_apart(state, status);
    ridge_tensor *y = ridge_relu(state->x);
    bool ok = y ? workload_check(&workload_relu, &state->shape, &state->x, y, error, status)
                : run_tensor_failed(status);
    ridge_release(y);
    return ok;
}

static const struct case_kind kind = {.prepare = pool_experiment_prepare,
                                      .call = pool_experiment_call,
                                      .check = pool_experiment_check,
                                      .finish = pool_experiment_finish};

static bool add_pair(struct case_list *list, int64_t size, bool uses, struct status *status) {
    char text[FORMAT_SIZE];
    if (size < (int64_t)sizeof(float))
        return status_fail(status, STATUS_USAGE, "%lld bytes hold no element: use 4 or more",
                           (long long)size);
    for (unsigned pooled = 0; pooled < 2; pooled++) {
        struct bench_case work = {.kind = &kind,
                                  .dtype = RIDGE_F32,
                                  .size = size,
                                  .numbers = {[USES] = uses, [POOLED] = pooled},
                                  .memory_bytes = (uint64_t)size,
                                  .compare = pooled};
        if (size < INT64_MAX / LIVE)
            work.memory_bytes = (uint64_t)size * (uses ? 2 : LIVE + 1);
        snprintf(work.label, sizeof work.label, "%s %sB", uses ? "relu" : "allocate and release",
                 axes_count_text(size, text));
        snprintf(work.variant, sizeof work.variant, "%s", pooled ? "pool" : "no pool");
        if (!case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool pool_experiment_plan(const struct experiment *experiment, const struct stage *stage,
                                 struct case_list *list, struct status *status) {
    (void)experiment;
    static const struct axis_defaults sizes = {.cpu = {3, {4000, 1000000, 64000000}},
                                               .gpu = {3, {4000, 1000000, 64000000}},
                                               .tests = {2, {4000, 100000}}};
    struct axes axes = axes_of(stage, &sizes, NULL, RIDGE_F32);
    for (unsigned uses = 0; uses < 2; uses++)
        for (unsigned i = 0; i < axes.sizes.count; i++)
            if (!add_pair(list, axes.sizes.values[i], uses, status))
                return false;
    return true;
}

/* How many of a loop's allocations the pool serves. */
static bool find_reuse(ridge_device *device, double *rate, struct status *status) {
    struct ridge_pool_stats before, after;
    bool ok = ridge_pool_stats(device, &before);
    for (unsigned i = 0; ok && i < REUSE_TRIES; i++) {
        ridge_tensor *x = ridge_from_host(device, RIDGE_F32, 1, (const int64_t[]){1000}, NULL);
        ok = x != NULL;
        ridge_release(x);
    }
    if (!ok || !ridge_pool_stats(device, &after))
        return run_tensor_failed(status);
    *rate =
        (double)(after.reuses - before.reuses) / (double)(after.allocations - before.allocations);
    return true;
}

static bool pool_experiment_conclude(const struct experiment *experiment, const struct stage *stage,
                                     const struct result *results, size_t count,
                                     struct result_set *set, struct status *status) {
    (void)experiment;
    for (size_t i = 0; i < count; i++) {
        struct pair pair;
        char words[FORMAT_SIZE];
        if (!results[i].compare || !pair_of(results, i, &pair))
            continue;
        if (!finding_add(set, results[i].experiment, results[i].device, "saved", 100 * pair.saved,
                         status, "%s: with the pool it is %s without it%s.", results[i].label,
                         pair_words(&pair, words),
                         results[i].numbers[USES] ? " (the guide expects 20 to 30 %)" : ""))
            return false;
    }
    double rate = 0;
    return count == 0 ||
           (find_reuse(stage->device, &rate, status) &&
            finding_add(set, results[0].experiment, results[0].device, "reuse_rate", rate, status,
                        "%.0f of %d allocations in a loop come from the pool.", rate * REUSE_TRIES,
                        REUSE_TRIES));
}

const struct experiment experiment_pool = {
    .name = "pool",
    .summary = "Allocating tensors with the buffer pool and without it",
    .sizes = "bytes; 4000, 1000000, 64000000",
    .takes = TAKES_SIZE,
    .plan = pool_experiment_plan,
    .conclude = pool_experiment_conclude,
};
