/* fusion: one chain of elementwise operations, eager and compiled. Eager, each operation is a
 * kernel that reads its input from memory and writes its output back, with a gap before the
 * next; compiled, the chain is one kernel that keeps everything in registers. How much does that
 * gain, and why? */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "bench/experiment.h"
#include "bench/experiments/pair.h"
#include "bench/workloads/workload.h"

static bool add(struct case_list *list, int64_t size, bool compiled, bool timeline,
                struct status *status) {
    struct bench_case work = {
        .kind = compiled ? &workload_compiled : &workload_eager,
        .subject = &workload_chain,
        .size = size,
        .dtype = RIDGE_F32,
        .compare = compiled,
        .timeline = timeline,
    };
    char count[FORMAT_SIZE];
    snprintf(work.label, sizeof work.label, "chain of 20, %s elements",
             format_count((uint64_t)size, count));
    snprintf(work.variant, sizeof work.variant, "%s", compiled ? "compiled" : "eager");
    workload_size_up(&work);
    return case_add(list, &work, status);
}

static bool fusion_plan(const struct experiment *experiment, const struct stage *stage,
                        struct case_list *list, struct status *status) {
    (void)experiment;
    static const int64_t for_cpu[] = {1 << 14, 1 << 18, 1 << 22};
    static const int64_t for_gpu[] = {1 << 14, 1 << 20, 1 << 26};
    static const int64_t for_tests[] = {1 << 10, 1 << 14};
    unsigned count = 3;
    const int64_t *defaults = stage->is_gpu ? for_gpu : for_cpu;
    if (stage->options.small) {
        defaults = for_tests;
        count = 2;
    }
    const int64_t *sizes = experiment_sizes(stage, defaults, count, &count);
    for (unsigned i = 0; i < count; i++)
        for (unsigned compiled = 0; compiled < 2; compiled++)
            if (!add(list, sizes[i], compiled, i == count / 2, status))
                return false;
    return true;
}

/* Where the eager run's extra time is: between its kernels, or in them; "" if wall time and the
 * device time of a few traced calls do not agree well enough. */
static const char *cause_of_difference(const struct result *eager, const struct result *compiled) {
    double more = eager->time.time.median - compiled->time.time.median;
    double more_busy = eager->device_ns - compiled->device_ns;
    double between = eager->time.time.median - eager->device_ns;
    if (more <= 0 || eager->device_ns <= 0)
        return "";
    if (between > more / 2 && more_busy < more / 2)
        return "; most of the difference is launch overhead between the kernels";
    if (more_busy > more / 2 && between < more / 2)
        return "; most of the difference is memory traffic for intermediates";
    return "";
}

static bool add_speedup(const struct pair *pair, struct result_set *set, struct status *status) {
    const struct result *eager = pair->before, *compiled = pair->after;
    char size[FORMAT_SIZE], before[FORMAT_SIZE], after[FORMAT_SIZE], words[FORMAT_SIZE];
    bool slower = pair->is_telling && pair->faster < 0;
    return finding_add(
        set, eager->experiment, eager->device, "speedup", 1 + pair->faster, status,
        "%s elements: compiled is %s eager%s %.0f kernel%s instead of %.0f, %s of memory traffic "
        "instead of %s%s.",
        format_count((uint64_t)eager->size, size), pair_words(pair, words),
        slower ? ", which must come from the driver's code for the fused kernel, with" : ":",
        compiled->kernels, compiled->kernels == 1 ? "" : "s", eager->kernels,
        format_bytes(compiled->amount.moved_bytes, after),
        format_bytes(eager->amount.moved_bytes, before), cause_of_difference(eager, compiled));
}

static bool fusion_conclude(const struct experiment *experiment, const struct stage *stage,
                            const struct result *results, size_t count, struct result_set *set,
                            struct status *status) {
    (void)experiment, (void)stage;
    for (size_t i = 0; i < count; i++) {
        struct pair pair;
        if (results[i].compare && pair_of(results, i, &pair) && !add_speedup(&pair, set, status))
            return false;
    }
    return true;
}

const struct experiment experiment_fusion = {
    .name = "fusion",
    .summary = "A chain of elementwise operations, eager and compiled into one kernel",
    .sizes = "elements; 16384, 262144, 4194304 (GPU: 16384, 1048576, 67108864)",
    .takes = TAKES_SIZE,
    .plan = fusion_plan,
    .conclude = fusion_conclude,
};
