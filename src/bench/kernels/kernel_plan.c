/* How is a hand-made kernel cut up on a device? Tiles and blocks that it was told to use, or those
 * that suit it; and what its launches do then, counted.
 */
#include <stdint.h>

#include "base/min_max.h"
#include "bench/kernels/kernel_case.h"

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

static int64_t power_of_two_from(int64_t value, int64_t least, int64_t most) {
    int64_t power = least;
    while (power < value && power < most)
        power *= 2;
    return power;
}

static int64_t tile_count(const struct kernel_plan *plan) {
    return divide_up(plan->m, plan->tile_rows) * divide_up(plan->n, plan->tile_columns);
}

/* The largest tile of which there are enough to keep the device busy. Few rows have low tiles. */
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
    int64_t side = 1, most = MIN(device->block_max, THREADS_WANTED);
    while (4 * side * side <= most)
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
        return status_fail(status, STATUS_USAGE,
                           "a tile of %lld: take a power of two from %d to %d", (long long)tile,
                           TILE_MIN, TILE_MAX);
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
        return status_fail(status, STATUS_USAGE, "a block of %lld: take a power of two",
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
        return status_fail(status, STATUS_UNSUPPORTED, "%lld blocks are more than a launch takes",
                           (long long)plan->grid);
    return ok;
}

unsigned kernel_buffer_counts(const struct kernel_plan *plan, int64_t counts[KERNEL_BUFFERS_MAX]) {
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

/* How often all of A is read: a row of B has no neighbour to share it with. */
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
    /* Of A and B no more than the first tile, which stays in the nearest cache. */
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
