/* The sizes, batches and types of an experiment: the user's, or the defaults for a CPU, a GPU
 * and tests; and adding a case of them to the plan. */
#ifndef RIDGE_BENCH_EXPERIMENTS_AXES_H
#define RIDGE_BENCH_EXPERIMENTS_AXES_H

#include "base/format.h"
#include "bench/experiment.h"

struct axis {
    unsigned count;
    int64_t values[LIST_MAX];
};

struct axis_defaults {
    struct axis cpu, gpu, tests;
};

struct axes {
    struct axis sizes, batches;
    enum ridge_dtype dtypes[LIST_MAX];
    unsigned dtype_count;
};

/* An experiment without batches passes NULL and gets the single batch 0. The type is f32, or on
 * a GPU `gpu_dtype`, unless the user selects others. */
struct axes axes_of(const struct stage *stage, const struct axis_defaults *sizes,
                    const struct axis_defaults *batches, enum ridge_dtype gpu_dtype);

/* Adds the case of a workload under the label, which gets the type behind it when there are
 * several, and sets what memory it needs. */
bool axes_add(const struct axes *axes, struct case_list *list, const struct bench_case *work,
              struct status *status, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* "10K", "4M", "1,234": a number of elements in a label. */
char *axes_count_text(int64_t count, char text[FORMAT_SIZE]);

#endif
