/* Sweeps over the block or tile size of a kernel: which is best, those that are as good, and the
 * worst. Each is a row of the table at the end. */
#include "bench/experiments/sweep.h"

#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "bench/experiments/axes.h"
#include "bench/kernels/kernel_case.h"
#include "tensor/tensor.h"

struct swept_kernel {
    enum hand_kernel which;
    const char *name;
};

struct sweep {
    struct swept_kernel kernels[2];
    unsigned kernel_count;
    enum kernel_number number; /* of the case: what is swept */
    const char *key, *noun;    /* of the finding: "best_tile", "tile" */
    struct axis_defaults values, sizes;
};

#define AS_GOOD 1.05 /* times the best: no reason to prefer one of them */

double sweep_time(const struct stage *stage, const struct result *result) {
    if (*result->problem)
        return 0;
    return stage->is_gpu && result->device_ns > 0 ? result->device_ns : result->time.time.median;
}

struct sweep_summary {
    const struct result *results;
    size_t count;
    size_t best, worst;
    double best_ns, worst_ns; /* 0: nothing was measured */
};

static struct sweep_summary summary_of(const struct stage *stage, const struct result *results,
                                       size_t count) {
    struct sweep_summary summary = {.results = results};
    for (; summary.count < count && strcmp(results[summary.count].label, results->label) == 0;
         summary.count++) {
        double ns = sweep_time(stage, &results[summary.count]);
        if (ns > 0 && (summary.best_ns == 0 || ns < summary.best_ns)) {
            summary.best_ns = ns;
            summary.best = summary.count;
        }
        if (ns > summary.worst_ns) {
            summary.worst_ns = ns;
            summary.worst = summary.count;
        }
    }
    return summary;
}

/* "; 128, 256 are as good": those within a few percent of the best. */
static void list_as_good(const struct stage *stage, const struct sweep_summary *summary,
                         unsigned number, char *text, size_t capacity) {
    size_t length = 0, found = 0;
    *text = 0;
    for (size_t i = 0; i < summary->count; i++) {
        double ns = sweep_time(stage, &summary->results[i]);
        if (i == summary->best || ns == 0 || ns > AS_GOOD * summary->best_ns || length >= capacity)
            continue;
        length +=
            (size_t)snprintf(text + length, capacity - length, "%s%lld", found++ ? ", " : "; ",
                             (long long)summary->results[i].numbers[number]);
    }
    if (found > 0 && length < capacity)
        snprintf(text + length, capacity - length,
                 found == 1 ? " is equally good" : " are equally good");
}

static bool add_best(const struct stage *stage, const struct sweep_summary *summary,
                     unsigned number, const char *key, const char *noun, struct result_set *set,
                     struct status *status) {
    const struct result *best = &summary->results[summary->best];
    const struct result *worst = &summary->results[summary->worst];
    char time[FORMAT_SIZE], as_good[120], slowest[80] = "";
    list_as_good(stage, summary, number, as_good, sizeof as_good);
    if (summary->worst_ns > AS_GOOD * summary->best_ns)
        snprintf(slowest, sizeof slowest, "; %s %lld takes %.1fx as long", noun,
                 (long long)worst->numbers[number], summary->worst_ns / summary->best_ns);
    return finding_add(set, best->experiment, best->device, key, (double)best->numbers[number],
                       status, "%s: %s %lld is best, with %s%s%s.", best->label, noun,
                       (long long)best->numbers[number],
                       format_duration((int64_t)summary->best_ns, time), as_good, slowest);
}

static bool sweep_conclude(const struct experiment *experiment, const struct stage *stage,
                           const struct result *results, size_t count, struct result_set *set,
                           struct status *status) {
    const struct sweep *sweep = experiment->sweep;
    for (size_t i = 0; i < count;) {
        struct sweep_summary summary = summary_of(stage, results + i, count - i);
        if (summary.best_ns > 0 &&
            !add_best(stage, &summary, sweep->number, sweep->key, sweep->noun, set, status))
            return false;
        i += summary.count;
    }
    return true;
}

/* ---- Planning --------------------------------------------------------------------------- */

static bool is_native(const struct stage *stage) {
    return stage->device->device->capabilities.language == LANGUAGE_NATIVE;
}

static const struct axis *values_of(const struct sweep *sweep, const struct stage *stage) {
    return stage->options.small ? &sweep->values.tests
           : is_native(stage)   ? &sweep->values.cpu
                                : &sweep->values.gpu;
}

static bool plan_kernel(const struct sweep *sweep, const struct swept_kernel *kernel,
                        const struct stage *stage, int64_t size, struct case_list *list,
                        struct status *status) {
    const struct device_capabilities *capabilities = &stage->device->device->capabilities;
    const struct axis *values = values_of(sweep, stage);
    for (unsigned i = 0; i < values->count; i++) {
        struct bench_case work = {.size = size, .curve = true};
        long long n = (long long)size;
        if (sweep->number == KERNEL_BLOCK && !is_native(stage) &&
            values->values[i] > capabilities->block_max)
            break;
        if (kernel->which == HAND_PRODUCT)
            snprintf(work.label, sizeof work.label, "%s %lldx%lldx%lld", kernel->name, n, n, n);
        else
            snprintf(work.label, sizeof work.label, "%s %lld", kernel->name, n);
        snprintf(work.variant, sizeof work.variant, "%s %lld", sweep->noun,
                 (long long)values->values[i]);
        if (!kernel_case_set(&work, kernel->which, values->values[i], status) ||
            !case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool sweep_plan(const struct experiment *experiment, const struct stage *stage,
                       struct case_list *list, struct status *status) {
    const struct sweep *sweep = experiment->sweep;
    struct axes axes = axes_of(stage, &sweep->sizes, NULL, RIDGE_F32);
    for (unsigned i = 0; i < axes.sizes.count; i++)
        for (unsigned k = 0; k < sweep->kernel_count; k++)
            if (!plan_kernel(sweep, &sweep->kernels[k], stage, axes.sizes.values[i], list, status))
                return false;
    return true;
}

/* ---- The table -------------------------------------------------------------------------- */

/* A kernel that only moves data and one that sums it up, with every block size that the device
 * supports. On the CPU a block is the unit of work of a thread. */
static const struct sweep blocks = {
    .kernels = {{HAND_SCALE, "elementwise"}, {HAND_SUM, "sum"}},
    .kernel_count = 2,
    .number = KERNEL_BLOCK,
    .key = "best_block",
    .noun = "block",
    .values = {.cpu = {9, {32, 64, 128, 256, 512, 1024, 4096, 16384, 65536}},
               .gpu = {6, {32, 64, 128, 256, 512, 1024}},
               .tests = {2, {64, 256}}},
    .sizes = {.cpu = {1, {1 << 24}}, .gpu = {1, {1 << 26}}, .tests = {1, {1 << 16}}},
};
const struct experiment experiment_workgroup_sweep = {
    .name = "workgroup-sweep",
    .summary = "Block sizes from 32 to 1024 of an elementwise kernel and a sum, and the best",
    .sizes = "elements; 16777216, on a GPU 67108864",
    .takes = TAKES_SIZE,
    .sweep = &blocks,
    .plan = sweep_plan,
    .conclude = sweep_conclude,
};

/* Larger tiles are read less often and share more, until they no longer fit where they should stay
 * or leave too few for the whole device. */
static const struct sweep tiles = {
    .kernels = {{HAND_PRODUCT, "matmul"}},
    .kernel_count = 1,
    .number = KERNEL_TILE,
    .key = "best_tile",
    .noun = "tile",
    .values = {.cpu = {5, {8, 16, 32, 64, 128}},
               .gpu = {5, {8, 16, 32, 64, 128}},
               .tests = {2, {8, 32}}},
    .sizes = {.cpu = {2, {512, 1024}}, .gpu = {3, {1024, 2048, 4096}}, .tests = {1, {72}}},
};
const struct experiment experiment_tile_sweep = {
    .name = "tile-sweep",
    .summary = "Tile sizes from 8 to 128 of a tiled matrix product, and the best",
    .sizes = "rows and columns; 512, 1024, on a GPU 1024, 2048, 4096",
    .takes = TAKES_SIZE,
    .sweep = &tiles,
    .plan = sweep_plan,
    .conclude = sweep_conclude,
};
