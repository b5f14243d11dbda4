/* The experiments: a table. Most are rows in bench/experiments/grid.c and sweep.c; those that need
 * more have a file there. */
#ifndef RIDGE_BENCH_EXPERIMENT_H
#define RIDGE_BENCH_EXPERIMENT_H

#include "bench/results/result.h"

enum experiment_takes {
    TAKES_DTYPE = 1,
    TAKES_SIZE = 2,
    TAKES_BATCH = 4,
    TAKES_MODEL = 8,
};

struct experiment {
    const char *name;
    const char *summary; /* one line, no full stop */
    const char *sizes;   /* what --size counts and its defaults: "width; 512, 2048, 4096" */
    const char *batches; /* likewise; NULL: it takes none */
    unsigned takes;
    const struct grid *grid;   /* of those in grid.c */
    const struct sweep *sweep; /* of those in sweep.c */
    /* The lines of its table, in order, for this stage and its options. */
    bool (*plan)(const struct experiment *experiment, const struct stage *stage,
                 struct case_list *list, struct status *status);
    /* Adds findings about the results of this experiment on this device, in the order of the
     * plan; results with a problem have no times. May be NULL. */
    bool (*conclude)(const struct experiment *experiment, const struct stage *stage,
                     const struct result *results, size_t count, struct result_set *set,
                     struct status *status);
};

/* NULL ends it. */
extern const struct experiment *const experiments[];
const struct experiment *experiment_find(const char *name);

/* The user's list, or the defaults: *count of them. */
const int64_t *experiment_sizes(const struct stage *stage, const int64_t *defaults,
                                unsigned default_count, unsigned *count);
const int64_t *experiment_batches(const struct stage *stage, const int64_t *defaults,
                                  unsigned default_count, unsigned *count);
const enum ridge_dtype *experiment_dtypes(const struct stage *stage,
                                          const enum ridge_dtype *defaults, unsigned default_count,
                                          unsigned *count);

#endif
