/* Hand-made kernels: how they are divided into tiles and blocks on a device, how they are launched,
 * and what they must compute.
 *
 * Each operand is one tensor that holds many copies of it. The calls use them in turn, so that
 * together they exceed the caches. Inputs are random. Outputs are compared with kernel_reference(),
 * which computes one element at a time in double precision from the same inputs and tiles.
 */
#include "bench/kernels/kernel_case.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/format.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "bench/run.h"
#include "device/work.h"
#include "tensor/tensor.h"

/* ---- Plan -------------------------------------------------------------------------------- */

enum {
    THREADS_WANTED = 256, /* of a block with tiles or groups */
    DEPTH_MAX = 16,       /* so that the largest tiles fit into any GPU's shared memory */
    TILE_MAX = 128,
    TILE_MIN = 8,
    CPU_ROW_UNIT = 8192, /* elements of B, at least, that a thread takes at a time */
    THREADS_PER_UNIT = 2048,
};

static int64_t divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

static int64_t power_of_two_from(int64_t value, int64_t min, int64_t max) {
    int64_t power = min;
    while (power < value && power < max)
        power *= 2;
    return power;
}

static int64_t tile_count(const struct kernel_plan *plan) {
    return divide_up(plan->m, plan->tile_rows) * divide_up(plan->n, plan->tile_columns);
}

/* The largest tile that still gives enough tiles to keep the device busy. Few rows have low
 * tiles. */
static void choose_tile(struct kernel_plan *plan, const struct device_capabilities *device) {
    for (int64_t tile = TILE_MAX; tile >= 32; tile /= 2) {
        plan->tile_rows = power_of_two_from(plan->m, TILE_MIN, tile);
        plan->tile_columns = tile;
        if (tile_count(plan) >= (int64_t)device->compute_units)
            return;
    }
}

/* Threads in a square, at most as many as a block may have and a tile has elements. */
static void share_out_tile(struct kernel_plan *plan, const struct device_capabilities *device) {
    int64_t side = 1, max = MIN(device->block_max, THREADS_WANTED);
    while (4 * side * side <= max)
        side *= 2;
    plan->thread_rows = plan->tile_rows / MIN(plan->tile_rows, side);
    plan->thread_columns = plan->tile_columns / MIN(plan->tile_columns, side);
    plan->block = plan->tile_rows / plan->thread_rows * (plan->tile_columns / plan->thread_columns);
    plan->depth = MIN(DEPTH_MAX, MIN(plan->tile_rows, plan->tile_columns));
    while (plan->depth * MIN(plan->tile_rows, plan->tile_columns) < plan->block)
        plan->depth *= 2; /* every thread loads something */
    plan->vector = MIN(4, MIN(plan->thread_rows, plan->thread_columns));
}

static bool plan_tiles(struct kernel_plan *plan, int64_t tile,
                       const struct device_capabilities *device, struct status *status) {
    if (tile == 0)
        choose_tile(plan, device);
    else if (tile >= TILE_MIN && tile <= TILE_MAX && (tile & (tile - 1)) == 0)
        plan->tile_rows = plan->tile_columns = tile;
    else
        return status_fail(status, STATUS_USAGE, "a tile of %lld: use a power of two from %d to %d",
                           (long long)tile, TILE_MIN, TILE_MAX);
    if (device->language == LANGUAGE_NATIVE)
        plan->depth = plan->tile_columns;
    else
        share_out_tile(plan, device);
    plan->grid = tile_count(plan);
    return true;
}

static bool plan_rows(struct kernel_plan *plan, const struct device_capabilities *device,
                      struct status *status) {
    plan->few_rows = true;
    plan->tile_rows = plan->m;
    plan->tile_columns = 1;
    if (device->language == LANGUAGE_NATIVE) {
        plan->depth = CPU_ROW_DEPTH;
        plan->block = divide_up(CPU_ROW_UNIT, plan->k);
    } else {
        plan->block = MIN(THREADS_WANTED, power_of_two_from(device->block_max / 2 + 1, 1, 1024));
        if (plan->block < GROUP_LANES)
            return status_fail(status, STATUS_UNSUPPORTED,
                               "blocks of %u threads are too small for this kernel",
                               device->block_max);
        plan->vector = plan->k % 4 == 0 ? 4 : 1;
        plan->depth = GROUP_LANES * plan->vector;
        plan->tile_columns = plan->block / GROUP_LANES;
    }
    plan->grid =
        divide_up(plan->n, device->language == LANGUAGE_NATIVE ? plan->block : plan->tile_columns);
    return true;
}

static bool plan_blocks(struct kernel_plan *plan, int64_t block,
                        const struct device_capabilities *device, struct status *status) {
    bool native = device->language == LANGUAGE_NATIVE;
    if (block < 1 || (block & (block - 1)) != 0)
        return status_fail(status, STATUS_USAGE, "a block of %lld: use a power of two",
                           (long long)block);
    if (!native && block > device->block_max)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "blocks of %lld threads: the device has at most %u", (long long)block,
                           device->block_max);
    plan->block = block;
    plan->vector = native ? 1 : 4;
    plan->grid = divide_up(plan->n, block * plan->vector);
    if (plan->which == HAND_SUM && !native) {
        int64_t threads = device->threads_per_unit ? device->threads_per_unit : THREADS_PER_UNIT;
        int64_t resident = device->compute_units * (threads > block ? threads / block : 1);
        plan->grid = MIN(plan->grid, resident > 0 ? resident : 1);
    }
    return true;
}

bool kernel_plan_make(const struct bench_case *work, const struct device_capabilities *device,
                      struct kernel_plan *plan, struct status *status) {
    enum hand_kernel which = (enum hand_kernel)work->numbers[KERNEL_WHICH];
    *plan = (struct kernel_plan){.which = which, .m = 1, .n = work->size, .k = 1};
    bool ok;
    if (!kernel_is_product(which)) {
        ok = plan_blocks(plan, work->numbers[KERNEL_BLOCK], device, status);
    } else {
        plan->m = kernel_rows(work);
        plan->k = work->size;
        ok = plan->m <= FEW_ROWS && work->numbers[KERNEL_TILE] == 0
                 ? plan_rows(plan, device, status)
                 : plan_tiles(plan, work->numbers[KERNEL_TILE], device, status);
    }
    if (ok && plan->grid > INT32_MAX)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "%lld blocks are more than a launch supports", (long long)plan->grid);
    return ok;
}

/* Elements of the buffers of a launch, inputs first, and how many buffers there are: x, y; x, sums;
 * A, B, C. HAND_SUM's output is its total and, after it, one partial sum for each block. */
static unsigned kernel_buffer_counts(const struct kernel_plan *plan,
                                     int64_t counts[KERNEL_BUFFERS_MAX]) {
    if (kernel_is_product(plan->which)) {
        counts[0] = plan->m * plan->k;
        counts[1] = plan->k * plan->n;
        counts[2] = plan->m * plan->n;
        return 3;
    }
    counts[0] = plan->n;
    counts[1] = plan->which == HAND_SUM ? 1 + plan->grid : plan->n;
    return 2;
}

/* How often all of A is read: a row of B has no neighbor to share it with. */
static uint64_t times_a(const struct kernel_plan *plan) {
    return (uint64_t)(plan->few_rows ? plan->n : divide_up(plan->n, plan->tile_columns));
}

static void product_amount(const struct kernel_plan *plan, struct amount *amount) {
    uint64_t m = (uint64_t)plan->m, n = (uint64_t)plan->n, k = (uint64_t)plan->k;
    uint64_t times_b = (uint64_t)divide_up(plan->m, plan->tile_rows);
    uint64_t read = m * k * times_a(plan) + k * n * times_b;
    amount->bytes = 4 * (m * k + k * n + m * n);
    amount->moved_bytes = 4 * (read + m * n);
    amount->flops = plan->which == HAND_READ ? read : 2 * m * n * k;
    if (plan->which != HAND_COMPUTE)
        return;
    /* Only the first tile of A and B, which stays in the nearest cache. */
    uint64_t depth = (uint64_t)MIN(plan->k, plan->depth);
    uint64_t first =
        depth * (uint64_t)(MIN(plan->tile_rows, plan->m) + MIN(plan->tile_columns, plan->n));
    amount->bytes = 4 * (first + m * n);
    amount->moved_bytes = 4 * (first * (uint64_t)plan->grid + m * n);
    amount->flops = 2 * m * n * (uint64_t)(kernel_steps(plan) * plan->depth);
}

void kernel_amount(const struct kernel_plan *plan, unsigned launches, struct amount *amount) {
    uint64_t n = (uint64_t)plan->n;
    *amount = (struct amount){.arithmetic = ROOF_F32, .kernels = launches};
    if (kernel_is_product(plan->which)) {
        product_amount(plan, amount);
    } else if (plan->which == HAND_SUM) {
        amount->bytes = 4 * n + 4;
        amount->moved_bytes = amount->bytes + (launches > 1 ? 8 * (uint64_t)plan->grid : 0);
        amount->flops = n;
    } else {
        amount->bytes = amount->moved_bytes = 8 * n;
        amount->flops = 2 * n;
    }
}

const char *kernel_name_of(const struct kernel_plan *plan, bool last) {
    static const char *const names[][2] = {
        [HAND_SCALE] = {"scale", "scale"},
        [HAND_SUM] = {"sum_blocks", "sum_blocks"},
        [HAND_READ] = {"tiles_read_only", "rows_read_only"},
        [HAND_COMPUTE] = {"tiles_compute_only", "rows_compute_only"},
        [HAND_PRODUCT] = {"tiles_product", "rows_product"},
    };
    return last ? "sum_last" : names[plan->which][plan->few_rows];
}

/* ---- Reference --------------------------------------------------------------------------- */

#define HALF_STEP 6e-8 /* of f32, relative */

/* Element (t, column) of B. */
static double weight(const struct kernel_plan *plan, const float *b, int64_t t, int64_t column) {
    return plan->few_rows ? b[column * plan->k + t] : b[t * plan->n + column];
}

static double product(const struct kernel_plan *plan, const float *const *inputs, int64_t row,
                      int64_t column, int64_t depth) {
    double sum = 0;
    for (int64_t t = 0; t < depth; t++)
        sum += (double)inputs[0][row * plan->k + t] * weight(plan, inputs[1], t, column);
    return sum;
}

/* All rows of A and columns of B that go into the tile of an element. Without tiles that is all of
 * A and one column. */
static double read_sum(const struct kernel_plan *plan, const float *const *inputs, int64_t row,
                       int64_t column) {
    int64_t rows = plan->tile_rows, columns = plan->few_rows ? 1 : plan->tile_columns;
    int64_t first_row = row / rows * rows, first_column = column / columns * columns;
    double sum = 0;
    for (int64_t i = first_row; i < MIN(first_row + rows, plan->m); i++)
        for (int64_t t = 0; t < plan->k; t++)
            sum += inputs[0][i * plan->k + t];
    for (int64_t t = 0; t < plan->k; t++)
        for (int64_t j = first_column; j < MIN(first_column + columns, plan->n); j++)
            sum += weight(plan, inputs[1], t, j);
    return sum;
}

/* The expected element `index` of the output, in double precision, from the inputs (as listed by
 * kernel_buffer_counts()). Products walk a row or column for each call. */
static double kernel_reference(const struct kernel_plan *plan, const float *const *inputs,
                               int64_t index) {
    int64_t row = index / plan->n, column = index % plan->n;
    double sum = 0;
    switch (plan->which) {
    case HAND_SCALE:
        return 2.0 * inputs[0][index] + 1;
    case HAND_SUM:
        for (int64_t i = 0; i < plan->n; i++)
            sum += inputs[0][i];
        return sum;
    case HAND_READ:
        return read_sum(plan, inputs, row, column);
    case HAND_COMPUTE:
        return (double)kernel_steps(plan) * product(plan, inputs, row % plan->tile_rows,
                                                    column % plan->tile_columns,
                                                    MIN(plan->k, plan->depth));
    case HAND_PRODUCT:
        return product(plan, inputs, row, column, plan->k);
    }
    return 0;
}

/* Elements of inputs that it looks at. */
static int64_t kernel_reference_cost(const struct kernel_plan *plan) {
    switch (plan->which) {
    case HAND_SCALE:
        return 1;
    case HAND_SUM:
        return plan->n;
    case HAND_READ:
        return plan->k * (plan->tile_rows + (plan->few_rows ? 1 : plan->tile_columns));
    default:
        return plan->k;
    }
}

/* How many additions follow each other in one sum of f32. */
static double additions_in_a_row(const struct kernel_plan *plan) {
    switch (plan->which) {
    case HAND_SCALE:
        return 1;
    case HAND_SUM:
        return 4096;
    case HAND_READ:
        if (plan->few_rows) /* each of at least 16 lanes adds up its own */
            return (double)(plan->k * (plan->m + 1)) / 16;
        return (double)(plan->k * (plan->tile_rows + plan->tile_columns)) /
               (plan->block > 0 ? (double)plan->block : (double)plan->k);
    default:
        return (double)plan->k;
    }
}

/* Each is off by at most half an ulp, in the worst case always in the same direction. */
/* The maximum rounding error of an output, relative to the largest output. */
static double kernel_tolerance(const struct kernel_plan *plan) {
    return 1e-5 + additions_in_a_row(plan) * HALF_STEP;
}

/* ---- Case -------------------------------------------------------------------------------- */

enum {
    LAUNCHES_MAX = 2,
    STRIDE = 64,           /* copies start at a multiple of this many elements */
    SMALL_BYTES = 1 << 20, /* of all turns, when only the machinery is tested */
    SAMPLES_MIN = 24,
    SAMPLES_WORK = 1 << 24, /* approximate limit of multiply-adds for the references */
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
    int64_t max = is_product ? INT32_MAX : INT64_MAX / 64, elements;
    int64_t batch = kernel_rows(work);
    if (work->size < 1 || work->size > max || batch < 1)
        return status_fail(status, STATUS_USAGE, "a size of %lld is not possible here",
                           (long long)work->size);
    int64_t rows = !is_product ? 1 : batch > work->size ? batch : work->size;
    if (__builtin_mul_overflow(rows, work->size, &elements) || elements > max)
        return status_fail(status, STATUS_USAGE,
                           "matrices of %lld by %lld have more than 2^31 elements: use a smaller "
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

/* Enough copies to fill twice the cache; at least one. */
static unsigned turns_for(const struct stage *stage, uint64_t bytes) {
    const struct device_capabilities *capabilities = &stage->device->device->capabilities;
    uint64_t cache =
        capabilities->cache_bytes ? capabilities->cache_bytes : stage->roofs.cache_bytes;
    uint64_t wanted = 2 * cache, max = capabilities->memory_bytes / 4;
    if (max > 0 && wanted > max)
        wanted = max;
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

static bool hand_kernel_load(struct state *state, struct status *status) {
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

static void hand_kernel_finish(void *context) {
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

static bool hand_kernel_prepare(struct stage *stage, const struct bench_case *work, void **prepared,
                                struct amount *amount, struct status *status) {
    struct state *state = memory_allocate(1, sizeof *state, status);
    if (!state)
        return false;
    state->device = stage->device;
    if (!kernel_plan_make(work, &stage->device->device->capabilities, &state->plan, status) ||
        !hand_kernel_load(state, status) || !make_buffers(stage, state, status)) {
        hand_kernel_finish(state);
        return false;
    }
    set_scalars(state);
    kernel_amount(&state->plan, state->launches, &state->amount);
    state->amount.touched = state->amount.bytes * state->turns;
    *amount = state->amount;
    *prepared = state;
    return true;
}

static bool hand_kernel_launch(struct state *state, unsigned number, unsigned turn,
                               struct status *status) {
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

static bool hand_kernel_call(void *context, unsigned turn, struct status *status) {
    struct state *state = context;
    for (unsigned i = 0; i < state->launches; i++)
        if (!hand_kernel_launch(state, i, turn, status))
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

static bool hand_kernel_check(void *context, double *error, struct status *status) {
    struct state *state = context;
    float *data[KERNEL_BUFFERS_MAX] = {0};
    bool ok = hand_kernel_call(state, 0, status);
    for (unsigned i = 0; i < state->buffers && ok; i++)
        ok = (data[i] = read_back(state, i, status)) != NULL;
    int64_t outputs = state->plan.which == HAND_SUM ? 1 : state->counts[state->buffers - 1];
    ok = ok && compare(&state->plan, data, outputs, error, status);
    for (unsigned i = 0; i < KERNEL_BUFFERS_MAX; i++)
        memory_free(data[i]);
    return ok;
}

const struct case_kind kernel_case = {
    .prepare = hand_kernel_prepare,
    .call = hand_kernel_call,
    .check = hand_kernel_check,
    .finish = hand_kernel_finish,
};
