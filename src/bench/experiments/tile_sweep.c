/* How large should the tiles of a matrix product be? Larger ones are read less often and share
 * more, until they no longer fit where they should stay or leave too few for the whole device.
 */
#include <stdio.h>

#include "base/array.h"
#include "bench/experiments/sweep.h"
#include "bench/kernels/kernel_case.h"

static const int64_t tiles[] = {8, 16, 32, 64, 128};
static const int64_t small_tiles[] = {8, 32};

static bool plan_size(const struct stage *stage, int64_t size, struct case_list *list,
                      struct status *status) {
    const int64_t *swept = stage->options.small ? small_tiles : tiles;
    size_t count = stage->options.small ? ARRAY_COUNT(small_tiles) : ARRAY_COUNT(tiles);
    for (size_t i = 0; i < count; i++) {
        struct bench_case work = {.size = size, .curve = true};
        snprintf(work.label, sizeof work.label, "matmul %lldx%lldx%lld", (long long)size,
                 (long long)size, (long long)size);
        snprintf(work.variant, sizeof work.variant, "tile %lld", (long long)swept[i]);
        if (!kernel_case_set(&work, HAND_PRODUCT, swept[i], status) ||
            !case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool plan(const struct stage *stage, struct case_list *list, struct status *status) {
    static const int64_t of_cpu[] = {512, 1024}, of_gpu[] = {1024, 2048, 4096}, small[] = {72};
    const int64_t *usual = stage->options.small ? small : stage->is_gpu ? of_gpu : of_cpu;
    unsigned usual_count = stage->options.small ? 1 : stage->is_gpu ? 3 : 2, count;
    const int64_t *sizes = experiment_sizes(stage, usual, usual_count, &count);
    for (unsigned i = 0; i < count; i++)
        if (!plan_size(stage, sizes[i], list, status))
            return false;
    return true;
}

static bool conclude(const struct stage *stage, const struct result *results, size_t count,
                     struct result_set *set, struct status *status) {
    return sweep_conclude(stage, results, count, KERNEL_TILE, "best_tile", "tile", set, status);
}

const struct experiment experiment_tile_sweep = {
    .name = "tile-sweep",
    .summary = "tile sizes from 8 to 128 of a tiled matrix product, and the best",
    .sizes = "rows and columns; 512, 1024, on a GPU 1024, 2048, 4096",
    .takes = TAKES_SIZE,
    .plan = plan,
    .conclude = conclude,
};
