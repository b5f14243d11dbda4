/* The table of experiments, in the order in which `all` runs them. */
#include "bench/experiment.h"

#include <string.h>

#include "base/memory.h"

#define EXPERIMENTS(X)                                                                             \
    X(fusion)                                                                                      \
    X(memory_vs_compute)                                                                           \
    X(elementwise)                                                                                 \
    X(reduction)                                                                                   \
    X(matmul)                                                                                      \
    X(layers)                                                                                      \
    X(lora)                                                                                        \
    X(lora_rank)                                                                                   \
    X(gated_mlp)                                                                                   \
    X(attention)                                                                                   \
    X(rmsnorm_linear)                                                                              \
    X(quantization)                                                                                \
    X(fused_ops)                                                                                   \
    X(training)                                                                                    \
    X(batch_scaling)                                                                               \
    X(workgroup_sweep)                                                                             \
    X(tile_sweep)                                                                                  \
    X(pool)                                                                                        \
    X(transfers)                                                                                   \
    X(llm)                                                                                         \
    X(rwkv)

#define DECLARE(name) extern const struct experiment experiment_##name;
EXPERIMENTS(DECLARE)

#define ENTRY(name) &experiment_##name,
const struct experiment *const experiments[] = {EXPERIMENTS(ENTRY) NULL};

const struct experiment *experiment_find(const char *name) {
    for (unsigned i = 0; experiments[i]; i++)
        if (strcmp(experiments[i]->name, name) == 0)
            return experiments[i];
    return NULL;
}

#define CHOOSE(asked, asked_count)                                                                 \
    *count = stage->options.asked_count > 0 ? stage->options.asked_count : default_count;          \
    return stage->options.asked_count > 0 ? stage->options.asked : defaults

const int64_t *experiment_sizes(const struct stage *stage, const int64_t *defaults,
                                unsigned default_count, unsigned *count) {
    CHOOSE(sizes, size_count);
}

const int64_t *experiment_batches(const struct stage *stage, const int64_t *defaults,
                                  unsigned default_count, unsigned *count) {
    CHOOSE(batches, batch_count);
}

const enum ridge_dtype *experiment_dtypes(const struct stage *stage,
                                          const enum ridge_dtype *defaults, unsigned default_count,
                                          unsigned *count) {
    CHOOSE(dtypes, dtype_count);
}

bool case_add(struct case_list *list, const struct bench_case *work, struct status *status) {
    if (!GROW(list->cases, &list->capacity, list->count + 1, status))
        return false;
    list->cases[list->count++] = *work;
    return true;
}
