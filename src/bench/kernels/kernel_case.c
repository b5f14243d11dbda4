/* How is a hand-made kernel brought onto a device and launched? Each operand is one tensor that
 * holds it many times over; the calls go through it in turn, so that together they are past the
 * cache. Inputs are random, outputs are compared with kernel_reference().
 */
#include "bench/kernels/kernel_case.h"

#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "bench/run.h"
#include "device/work.h"
#include "tensor/tensor.h"

enum {
    LAUNCHES_MAX = 2,
    STRIDE = 64,           /* turns begin at a multiple of so many elements */
    SMALL_BYTES = 1 << 20, /* of all turns, when only the machinery is tested */
    SAMPLES_MIN = 24,
    SAMPLES_WORK = 1 << 24, /* multiply-adds that the references may take, or about that */
};

struct state {
    ridge_device *device;
    struct kernel_plan plan;
    struct amount amount;
    unsigned launches, buffers, turns;
    struct device_kernel *kernels[LAUNCHES_MAX];
    int64_t counts[KERNEL_BUFFERS_MAX], strides[KERNEL_BUFFERS_MAX];
    ridge_tensor *tensors[KERNEL_BUFFERS_MAX];
    int64_t scalars[3];
    unsigned scalar_count;
};

bool kernel_case_set(struct bench_case *work, enum hand_kernel which, int64_t block_or_tile,
                     struct status *status) {
    bool is_product = kernel_is_product(which);
    int64_t most = is_product ? INT32_MAX : INT64_MAX / 64, elements;
    int64_t batch = kernel_rows(work);
    if (work->size < 1 || work->size > most || batch < 1)
        return status_fail(status, STATUS_USAGE, "a size of %lld is not possible here",
                           (long long)work->size);
    int64_t rows = !is_product ? 1 : batch > work->size ? batch : work->size;
    if (__builtin_mul_overflow(rows, work->size, &elements) || elements > most)
        return status_fail(status, STATUS_USAGE,
                           "matrices of %lld by %lld have more than 2^31 elements: take a smaller "
                           "--size or --batch",
                           (long long)rows, (long long)work->size);
    work->kind = &kernel_case;
    work->dtype = RIDGE_F32;
    work->numbers[KERNEL_WHICH] = which;
    work->numbers[is_product ? KERNEL_TILE : KERNEL_BLOCK] = block_or_tile;
    work->memory_bytes = 4 * (uint64_t)elements;
    if (is_product)
        work->memory_bytes += 8 * (uint64_t)batch * (uint64_t)work->size;
    else if (which == HAND_SCALE)
        work->memory_bytes *= 2;
    return true;
}

/* So many turns that together they are twice the cache; at least one. */
static unsigned turns_for(const struct stage *stage, uint64_t bytes) {
    const struct device_capabilities *capabilities = &stage->device->device->capabilities;
    uint64_t cache =
        capabilities->cache_bytes ? capabilities->cache_bytes : stage->roofs.cache_bytes;
    uint64_t wanted = 2 * cache, most = capabilities->memory_bytes / 4;
    if (most > 0 && wanted > most)
        wanted = most;
    if (stage->options.small && wanted > SMALL_BYTES)
        wanted = SMALL_BYTES;
    return bytes >= wanted ? 1 : (unsigned)(wanted / bytes + (wanted % bytes != 0));
}

static ridge_tensor *make_buffer(const struct state *state, unsigned number) {
    int64_t sizes[] = {state->strides[number] * (int64_t)state->turns};
    bool is_output = number + 1 == state->buffers;
    bool summed = state->plan.which == HAND_SUM || state->plan.which == HAND_READ;
    if (is_output)
        return ridge_from_host(state->device, RIDGE_F32, 1, sizes, NULL);
    /* Sums of numbers above zero are not near it, and so can be checked closely. */
    return (summed ? ridge_rand : ridge_randn)(state->device, RIDGE_F32, 1, sizes, number + 1);
}

static bool make_buffers(struct stage *stage, struct state *state, struct status *status) {
    uint64_t bytes = 0;
    state->buffers = kernel_buffer_counts(&state->plan, state->counts);
    for (unsigned i = 0; i < state->buffers; i++) {
        state->strides[i] = (state->counts[i] + STRIDE - 1) / STRIDE * STRIDE;
        bytes += 4 * (uint64_t)state->strides[i];
    }
    state->turns = turns_for(stage, bytes);
    for (unsigned i = 0; i < state->buffers; i++)
        if (!(state->tensors[i] = make_buffer(state, i)))
            return run_tensor_failed(status);
    return true;
}

static bool load_source(struct state *state, bool last, struct device_kernel **kernel,
                        struct status *status) {
    struct device *device = state->device->device;
    struct buffer source = {0};
    kernel_text(&state->plan, &device->capabilities, last, &source);
    struct kernel_code code = {
        .kind = CODE_SOURCE,
        .name = kernel_name_of(&state->plan, last),
        .source = source.data,
        .source_length = source.length,
    };
    bool ok = buffer_ok(&source, status) &&
              work_load(device, state->device->recorder, &code, kernel, status);
    buffer_finish(&source);
    return ok;
}

static bool load_native(struct state *state, struct status *status) {
    struct kernel_code code = {
        .kind = CODE_NATIVE,
        .name = kernel_name_of(&state->plan, false),
        .context = &state->plan,
        .context_size = sizeof state->plan,
    };
    code.function = kernel_native(&state->plan, &code.scratch_bytes);
    return work_load(state->device->device, state->device->recorder, &code, &state->kernels[0],
                     status);
}

static bool load(struct state *state, struct status *status) {
    bool native = state->device->device->capabilities.language == LANGUAGE_NATIVE;
    state->launches = state->plan.which == HAND_SUM && !native ? 2 : 1;
    if (native)
        return load_native(state, status);
    for (unsigned i = 0; i < state->launches; i++)
        if (!load_source(state, i > 0, &state->kernels[i], status))
            return false;
    return true;
}

static void set_scalars(struct state *state) {
    const struct kernel_plan *plan = &state->plan;
    bool is_product = kernel_is_product(plan->which);
    state->scalar_count = is_product ? 3 : 2;
    state->scalars[0] = is_product ? plan->m : plan->n;
    state->scalars[1] = is_product ? plan->n : plan->grid;
    state->scalars[2] = plan->k;
}

static void finish(void *context) {
    struct state *state = context;
    struct device *device = state->device->device;
    struct status ignored;
    device->ops->finish(device, &ignored);
    for (unsigned i = 0; i < LAUNCHES_MAX; i++)
        if (state->kernels[i])
            device->ops->unload(device, state->kernels[i]);
    for (unsigned i = 0; i < KERNEL_BUFFERS_MAX; i++)
        ridge_release(state->tensors[i]);
    memory_free(state);
}

static bool prepare(struct stage *stage, const struct bench_case *work, void **prepared,
                    struct amount *amount, struct status *status) {
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->device = stage->device;
    if (!kernel_plan_make(work, &stage->device->device->capabilities, &state->plan, status) ||
        !load(state, status) || !make_buffers(stage, state, status)) {
        finish(state);
        return false;
    }
    set_scalars(state);
    kernel_amount(&state->plan, state->launches, &state->amount);
    state->amount.touched = state->amount.bytes * state->turns;
    *amount = state->amount;
    *prepared = state;
    return true;
}

static bool launch(struct state *state, unsigned number, unsigned turn, struct status *status) {
    const struct device_capabilities *capabilities = &state->device->device->capabilities;
    bool native = capabilities->language == LANGUAGE_NATIVE, last = number > 0;
    struct launch_buffer buffers[KERNEL_BUFFERS_MAX];
    for (unsigned i = 0; i < state->buffers; i++) {
        bool stays = state->plan.which == HAND_COMPUTE && i + 1 < state->buffers;
        size_t place = stays ? 0 : turn % state->turns;
        buffers[i] = (struct launch_buffer){
            .memory = tensor_find(state->tensors[i])->storage->block.memory,
            .offset = place * (size_t)state->strides[i] * sizeof(float),
        };
    }
    struct launch launch = {
        .kernel = state->kernels[number],
        .grid = {last ? 1 : (uint32_t)state->plan.grid, 1, 1},
        .block = {native ? 1 : (uint32_t)state->plan.block, 1, 1},
        .shared_bytes = native && state->plan.which == HAND_SUM
                            ? capabilities->compute_units * (uint32_t)sizeof(double)
                            : 0,
        .buffer_count = state->buffers,
        .scalar_count = state->scalar_count,
        .buffers = buffers,
        .scalars = state->scalars,
        .flops = last ? (uint64_t)state->plan.grid : state->amount.flops,
        .bytes = last ? 4 * (uint64_t)state->plan.grid : state->amount.bytes,
    };
    return work_launch(state->device->device, state->device->recorder, state->device->queue,
                       &launch, status);
}

static bool call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    for (unsigned i = 0; i < state->launches; i++)
        if (!launch(state, i, turn, status))
            return false;
    return true;
}

/* ---- Checking --------------------------------------------------------------------------- */

/* The first turn's part of a tensor. */
static float *read_back(struct state *state, unsigned number, struct status *status) {
    size_t bytes = (size_t)state->counts[number] * sizeof(float);
    float *data = memory_allocate((size_t)state->counts[number], sizeof *data, status);
    if (data &&
        work_copy_out(state->device->device, state->device->recorder, state->device->queue, data,
                      tensor_find(state->tensors[number])->storage->block.memory, 0, bytes, status))
        return data;
    memory_free(data);
    return NULL;
}

/* All elements where that is quick, else some all over the output, first and last among them. */
static int64_t sample_count(const struct kernel_plan *plan, int64_t outputs) {
    int64_t samples = SAMPLES_WORK / kernel_reference_cost(plan);
    samples = samples < SAMPLES_MIN ? SAMPLES_MIN : samples;
    return samples < outputs ? samples : outputs;
}

static bool compare(const struct kernel_plan *plan, float *const *data, int64_t outputs,
                    double *error, struct status *status) {
    const float *inputs[] = {data[0], data[1]}, *out = data[kernel_is_product(plan->which) ? 2 : 1];
    int64_t samples = sample_count(plan, outputs), worst = 0;
    double largest = 0, difference = 0, expected = 0;
    for (int64_t i = 0; i < samples; i++) {
        int64_t index = samples > 1
                            ? (int64_t)((double)i * ((double)(outputs - 1) / (double)(samples - 1)))
                            : 0;
        double reference = kernel_reference(plan, inputs, index);
        double off = fabs(out[index] - reference);
        largest = fmax(largest, fabs(reference));
        if (!(off <= difference)) {
            difference = isnan(off) ? INFINITY : off; /* which no later one exceeds */
            worst = index;
            expected = reference;
        }
    }
    *error = largest > 0 ? difference / largest : difference;
    if (*error <= kernel_tolerance(plan))
        return true;
    return status_fail(status, STATUS_INPUT, "element %lld is %g and should be %g",
                       (long long)worst, (double)out[worst], expected);
}

static bool check(void *context, double *error, struct status *status) {
    struct state *state = context;
    float *data[KERNEL_BUFFERS_MAX] = {0};
    bool ok = call(state, 0, status);
    for (unsigned i = 0; i < state->buffers && ok; i++)
        ok = (data[i] = read_back(state, i, status)) != NULL;
    int64_t outputs = state->plan.which == HAND_SUM ? 1 : state->counts[state->buffers - 1];
    ok = ok && compare(&state->plan, data, outputs, error, status);
    for (unsigned i = 0; i < KERNEL_BUFFERS_MAX; i++)
        memory_free(data[i]);
    return ok;
}

const struct case_kind kernel_case = {
    .prepare = prepare,
    .call = call,
    .check = check,
    .finish = finish,
};
