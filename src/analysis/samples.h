/* Where did the CPU spend its time? Sampled functions by self and total weight. */
#ifndef RIDGE_ANALYSIS_SAMPLES_H
#define RIDGE_ANALYSIS_SAMPLES_H

#include "analysis/model.h"

struct sample_function {
    uint32_t function, module; /* string ids */
    struct text function_text, module_text;
    /* Self and total; a recursive function counts once per sample. */
    uint64_t self_samples, total_samples;
    int64_t self, total; /* nanoseconds represented; 0 where samples have no weight */
    /* Attributed stacks: for a Python function, what it does itself, including the interpreter and
     * libraries (analysis/stacks.h). */
    uint64_t own_samples;
    int64_t own;
};

struct samples {
    uint64_t count;
    int64_t weight;                    /* nanoseconds represented by all samples; 0: unknown */
    bool of_cpu_time;                  /* false: threads may have waited in them */
    struct sample_function *functions; /* most self time first */
    size_t function_count;
    uint32_t *by_own; /* indexes into functions, most own time first */
};

/* "CPU time" or "sampled time". */
const char *samples_time_name(const struct samples *samples);

bool sample_is_python(const struct sample_function *function);

bool samples_find(const struct model *model, const struct selection *selection,
                  struct samples *samples, struct status *status);
/* Share of all samples: by time if known, else by number. */
static inline double samples_share(const struct samples *samples, int64_t time, uint64_t count) {
    if (samples->weight > 0)
        return (double)time / (double)samples->weight;
    return samples->count ? (double)count / (double)samples->count : 0;
}

void samples_finish(struct samples *samples);

#endif
