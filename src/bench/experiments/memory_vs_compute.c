/* Does a matrix product wait for memory or for arithmetic? Three kernels over the same tiles answer
 * it by experiment: one reads, one computes, one does both. The roofline answers it by theory;
 * where the two disagree, the kernel is not yet at the roof that the theory speaks of.
 */
#include "bench/experiments/memory_vs_compute.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/format.h"
#include "bench/experiments/sweep.h"
#include "bench/kernels/kernel_case.h"

#define NEAR 0.7            /* of the whole: takes about equally long */
#define CLEARLY_LONGER 1.25 /* one half than the other, when both are near the whole */
#define MUCH_LONGER 2.0     /* when neither is */
#define IMPOSSIBLE 1.5      /* a half that takes this much longer than the whole was disturbed */

static const char *bound_name(enum bound bound) {
    static const char *const names[] = {"balanced", "memory-bound", "compute-bound",
                                        "undetermined"};
    return names[bound];
}

enum bound bound_of(double read_ns, double compute_ns, double full_ns) {
    bool reads = read_ns >= NEAR * full_ns, computes = compute_ns >= NEAR * full_ns;
    if (read_ns > IMPOSSIBLE * full_ns || compute_ns > IMPOSSIBLE * full_ns)
        return BOUND_UNCLEAR;
    if (reads && (!computes || read_ns > CLEARLY_LONGER * compute_ns))
        return BOUND_MEMORY;
    if (computes && (!reads || compute_ns > CLEARLY_LONGER * read_ns))
        return BOUND_COMPUTE;
    if (!reads && !computes && read_ns > MUCH_LONGER * compute_ns)
        return BOUND_MEMORY;
    if (!reads && !computes && compute_ns > MUCH_LONGER * read_ns)
        return BOUND_COMPUTE;
    return BOUND_BALANCED;
}

double bound_overlap(double read_ns, double compute_ns, double full_ns) {
    double shorter = read_ns < compute_ns ? read_ns : compute_ns;
    double hidden = read_ns + compute_ns - full_ns;
    return shorter <= 0 || hidden <= 0 ? 0 : hidden > shorter ? 1 : hidden / shorter;
}

/* ---- Lines ------------------------------------------------------------------------------ */

static const struct {
    enum hand_kernel which;
    const char *variant;
} kernels[] = {{HAND_READ, "read-only"}, {HAND_COMPUTE, "compute-only"}, {HAND_PRODUCT, "full"}};
enum { KERNELS = ARRAY_COUNT(kernels) };

static bool plan_product(int64_t size, int64_t batch, struct case_list *list,
                         struct status *status) {
    for (unsigned i = 0; i < KERNELS; i++) {
        struct bench_case work = {.size = size, .batch = batch};
        snprintf(work.label, sizeof work.label, "matmul %lldx%lld, batch %lld", (long long)size,
                 (long long)size, (long long)batch);
        snprintf(work.variant, sizeof work.variant, "%s", kernels[i].variant);
        if (!kernel_case_set(&work, kernels[i].which, 0, status) || !case_add(list, &work, status))
            return false;
    }
    return true;
}

static bool memory_vs_compute_plan(const struct experiment *experiment, const struct stage *stage,
                                   struct case_list *list, struct status *status) {
    (void)experiment;
    static const int64_t of_cpu[] = {256, 512, 1024}, of_gpu[] = {1024, 2048, 4096}, small[] = {72};
    const int64_t *usual = stage->options.small ? small : stage->is_gpu ? of_gpu : of_cpu;
    unsigned count, batch_count;
    const int64_t *sizes = experiment_sizes(stage, usual, stage->options.small ? 1 : 3, &count);
    for (unsigned i = 0; i < count; i++) {
        int64_t usual_batches[] = {1, sizes[i]};
        const int64_t *batches =
            experiment_batches(stage, usual_batches, sizes[i] > 1 ? 2 : 1, &batch_count);
        for (unsigned j = 0; j < batch_count; j++)
            if (!plan_product(sizes[i], batches[j], list, status))
                return false;
    }
    return true;
}

/* ---- Verdicts --------------------------------------------------------------------------- */

struct halves {
    double read_ns, compute_ns, full_ns;
};

static void explain(enum bound bound, const struct halves *halves, char *text, size_t capacity) {
    double sum = halves->read_ns + halves->compute_ns;
    double overlap = bound_overlap(halves->read_ns, halves->compute_ns, halves->full_ns);
    double longer = halves->read_ns > halves->compute_ns ? halves->read_ns : halves->compute_ns;
    if (bound == BOUND_UNCLEAR)
        snprintf(text, capacity,
                 "a part took longer than the whole: the measurements were disturbed");
    else if (bound != BOUND_BALANCED && longer < NEAR * halves->full_ns)
        snprintf(text, capacity, "%s takes %.1fx as long as %s, but together they take longer",
                 bound == BOUND_MEMORY ? "reading" : "computing", longer / (sum - longer),
                 bound == BOUND_MEMORY ? "computing" : "reading");
    else if (bound == BOUND_MEMORY)
        snprintf(text, capacity,
                 "reading dominates: faster memory access would help, faster arithmetic would not");
    else if (bound == BOUND_COMPUTE)
        snprintf(
            text, capacity,
            "computing dominates: faster arithmetic would help, faster memory access would not");
    else if (sum < NEAR * halves->full_ns)
        snprintf(text, capacity,
                 "%.0f %% of the time is neither reading nor computing, but combining the two",
                 100 * (1 - sum / halves->full_ns));
    else if (overlap < 0.2)
        snprintf(text, capacity, "reading and computing do not overlap: both matter");
    else
        snprintf(
            text, capacity,
            "reading and computing take about equally long and overlap by %.0f %%: both matter",
            100 * overlap);
}

/* The verdict of the roofs for the same work; false if they have none. */
static bool bound_by_roofs(const struct result *full, enum bound *bound) {
    *bound = full->limit.kind == LIMIT_ARITHMETIC ? BOUND_COMPUTE : BOUND_MEMORY;
    return full->limit.kind == LIMIT_ARITHMETIC || full->limit.kind == LIMIT_MEMORY ||
           full->limit.kind == LIMIT_CACHE;
}

static void compare_with_roofs(const struct result *full, enum bound bound, double full_ns,
                               char *text, size_t capacity) {
    enum bound theory;
    if (bound == BOUND_UNCLEAR)
        *text = 0;
    else if (!bound_by_roofs(full, &theory))
        snprintf(text, capacity, " The roofline gives no answer.");
    else if (theory == bound)
        snprintf(text, capacity, " The roofline agrees.");
    else
        snprintf(text, capacity,
                 " The roofline says %s; the two disagree because this kernel takes %.1fx as long "
                 "as the roof allows.",
                 bound_name(theory), full_ns / full->limit.ns);
}

static bool conclude_product(const struct result *full, const struct halves *halves,
                             struct result_set *set, struct status *status) {
    char read[FORMAT_SIZE], compute[FORMAT_SIZE], both[FORMAT_SIZE], why[200], roofs[200];
    enum bound bound = bound_of(halves->read_ns, halves->compute_ns, halves->full_ns);
    explain(bound, halves, why, sizeof why);
    compare_with_roofs(full, bound, halves->full_ns, roofs, sizeof roofs);
    return finding_add(
        set, full->experiment, full->device, "verdict", halves->read_ns / halves->compute_ns,
        status, "%s: %s. Reading alone takes %s, computing alone %s, both %s: %s.%s", full->label,
        bound_name(bound), format_duration((int64_t)halves->read_ns, read),
        format_duration((int64_t)halves->compute_ns, compute),
        format_duration((int64_t)halves->full_ns, both), why, roofs);
}

static bool memory_vs_compute_conclude(const struct experiment *experiment,
                                       const struct stage *stage, const struct result *results,
                                       size_t count, struct result_set *set,
                                       struct status *status) {
    (void)experiment;
    struct halves halves = {0};
    const char *label = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(results[i].label, label) != 0)
            halves = (struct halves){0};
        label = results[i].label;
        double ns = sweep_time(stage, &results[i]);
        switch ((enum hand_kernel)results[i].numbers[KERNEL_WHICH]) {
        case HAND_READ:
            halves.read_ns = ns;
            break;
        case HAND_COMPUTE:
            halves.compute_ns = ns;
            break;
        default:
            halves.full_ns = ns;
            if (ns > 0 && halves.read_ns > 0 && halves.compute_ns > 0 &&
                !conclude_product(&results[i], &halves, set, status))
                return false;
        }
    }
    return true;
}

const struct experiment experiment_memory_vs_compute = {
    .name = "memory-vs-compute",
    .summary = "Read-only, compute-only and full matrix products: which half takes the time",
    .sizes = "columns and depth; 256, 512, 1024, on a GPU 1024, 2048, 4096",
    .batches = "rows; 1 and the size",
    .takes = TAKES_SIZE | TAKES_BATCH,
    .plan = memory_vs_compute_plan,
    .conclude = memory_vs_compute_conclude,
};
