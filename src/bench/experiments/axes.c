/* The sizes, batches and types of an experiment. The user's lists override the defaults; a plan
 * loops over the result, and its labels contain everything that distinguishes two lines. */
#include "bench/experiments/axes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "bench/workloads/workload.h"

static const struct axis *defaults_for(const struct stage *stage,
                                       const struct axis_defaults *defaults) {
    return stage->options.small ? &defaults->tests
           : stage->is_gpu      ? &defaults->gpu
                                : &defaults->cpu;
}

static struct axis axis_of(const int64_t *values, unsigned count) {
    struct axis axis = {.count = count};
    for (unsigned i = 0; i < count; i++)
        axis.values[i] = values[i];
    return axis;
}

struct axes axes_of(const struct stage *stage, const struct axis_defaults *sizes,
                    const struct axis_defaults *batches, enum ridge_dtype gpu_dtype) {
    static const struct axis_defaults no_batch = {
        .cpu = {1, {0}}, .gpu = {1, {0}}, .tests = {1, {0}}};
    const enum ridge_dtype dtype = stage->is_gpu ? gpu_dtype : RIDGE_F32;
    struct axes axes;
    unsigned count;
    const struct axis *of_sizes = defaults_for(stage, sizes);
    const int64_t *values = experiment_sizes(stage, of_sizes->values, of_sizes->count, &count);
    axes.sizes = axis_of(values, count);
    if (batches) {
        const struct axis *of_batches = defaults_for(stage, batches);
        values = experiment_batches(stage, of_batches->values, of_batches->count, &count);
        axes.batches = axis_of(values, count);
    } else {
        axes.batches = *defaults_for(stage, &no_batch);
    }
    const enum ridge_dtype *dtypes = experiment_dtypes(stage, &dtype, 1, &axes.dtype_count);
    memcpy(axes.dtypes, dtypes, axes.dtype_count * sizeof *dtypes);
    return axes;
}

bool axes_add(const struct axes *axes, struct case_list *list, const struct bench_case *work,
              struct status *status, const char *format, ...) {
    struct bench_case added = *work;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(added.label, sizeof added.label, format, arguments);
    va_end(arguments);
    size_t used = strlen(added.label);
    if (axes->dtype_count > 1)
        snprintf(added.label + used, sizeof added.label - used, " %s",
                 ridge_dtype_name(added.dtype));
    workload_size_up(&added);
    return case_add(list, &added, status);
}

char *axes_count_text(int64_t count, char text[FORMAT_SIZE]) {
    if (count >= 1000000 && count % 1000000 == 0)
        snprintf(text, FORMAT_SIZE, "%lldM", (long long)(count / 1000000));
    else if (count >= 1000 && count % 1000 == 0)
        snprintf(text, FORMAT_SIZE, "%lldK", (long long)(count / 1000));
    else
        format_count((uint64_t)count, text);
    return text;
}
