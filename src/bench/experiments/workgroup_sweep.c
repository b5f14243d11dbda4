/* How large should a block be? A kernel that only moves data and one that sums it up, with every
 * block size that the device supports. On the CPU a block is the unit of work of a thread. */
#include <stdio.h>

#include "base/array.h"
#include "bench/experiments/sweep.h"
#include "bench/kernels/kernel_case.h"
#include "tensor/tensor.h"

static const int64_t blocks[] = {32, 64, 128, 256, 512, 1024};
static const int64_t cpu_blocks[] = {32, 64, 128, 256, 512, 1024, 4096, 16384, 65536};
static const int64_t small_blocks[] = {64, 256};

static const int64_t *block_sizes(const struct stage *stage, size_t *count) {
    bool native = stage->device->device->capabilities.language == LANGUAGE_NATIVE;
    *count = stage->options.small ? ARRAY_COUNT(small_blocks)
             : native             ? ARRAY_COUNT(cpu_blocks)
                                  : ARRAY_COUNT(blocks);
    return stage->options.small ? small_blocks : native ? cpu_blocks : blocks;
}

static bool plan_kernel(const struct stage *stage, enum hand_kernel which, int64_t size,
                        struct case_list *list, struct status *status) {
    const struct device_capabilities *capabilities = &stage->device->device->capabilities;
    size_t count;
    const int64_t *sizes = block_sizes(stage, &count);
    for (size_t i = 0; i < count; i++) {
        struct bench_case work = {.size = size, .curve = true};
        if (capabilities->language != LANGUAGE_NATIVE && sizes[i] > capabilities->block_max)
            break;
        snprintf(work.label, sizeof work.label, "%s %lld",
                 which == HAND_SUM ? "sum" : "elementwise", (long long)size);
        snprintf(work.variant, sizeof work.variant, "block %lld", (long long)sizes[i]);
        if (!kernel_case_set(&work, which, sizes[i], status) || !case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool workgroup_sweep_plan(const struct stage *stage, struct case_list *list,
                                 struct status *status) {
    int64_t usual = stage->options.small ? 1 << 16 : stage->is_gpu ? 1 << 26 : 1 << 24;
    unsigned count;
    const int64_t *sizes = experiment_sizes(stage, &usual, 1, &count);
    for (unsigned i = 0; i < count; i++)
        if (!plan_kernel(stage, HAND_SCALE, sizes[i], list, status) ||
            !plan_kernel(stage, HAND_SUM, sizes[i], list, status))
            return false;
    return true;
}

static bool workgroup_sweep_conclude(const struct stage *stage, const struct result *results,
                                     size_t count, struct result_set *set, struct status *status) {
    return sweep_conclude(stage, results, count, KERNEL_BLOCK, "best_block", "block", set, status);
}

const struct experiment experiment_workgroup_sweep = {
    .name = "workgroup-sweep",
    .summary = "Block sizes from 32 to 1024 of an elementwise kernel and a sum, and the best",
    .sizes = "elements; 16777216, on a GPU 67108864",
    .takes = TAKES_SIZE,
    .plan = workgroup_sweep_plan,
    .conclude = workgroup_sweep_conclude,
};
