/* Each sample's stack is walked from its leaf to the root; a mark per function keeps recursion from
 * counting twice. */
#include "analysis/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"

struct tally {
    const struct trace *trace;
    struct samples *samples;
    struct map function_of; /* (function, module) -> place */
    size_t capacity, mark_capacity;
    uint64_t *mark; /* by place: last sample that counted it */
};

static bool place_of(struct tally *tally, uint32_t function, uint32_t module, size_t *place,
                     struct status *status) {
    struct samples *samples = tally->samples;
    uint64_t key = (uint64_t)module << 32 | function, *known = map_find(&tally->function_of, key);
    if (known) {
        *place = *known;
        return true;
    }
    *place = samples->function_count;
    if (!memory_grow((void **)&samples->functions, &tally->capacity, *place + 1,
                     sizeof *samples->functions, status) ||
        !memory_grow((void **)&tally->mark, &tally->mark_capacity, *place + 1, sizeof *tally->mark,
                     status) ||
        !map_set(&tally->function_of, key, *place, status))
        return false;
    samples->functions[*place] = (struct sample_function){
        .function = function,
        .module = module,
        .function_text = trace_text(tally->trace, function),
        .module_text = trace_text(tally->trace, module),
    };
    tally->mark[*place] = 0;
    samples->function_count++;
    return true;
}

static bool count_sample(struct tally *tally, const struct trace *trace, size_t row,
                         struct status *status) {
    struct samples *samples = tally->samples;
    int64_t weight = trace->sample.weight[row];
    samples->count++;
    samples->weight += weight;
    /* parents come before their stacks (the reader checks), so this ends */
    for (uint32_t stack = trace->sample.stack[row]; stack; stack = trace->stack.parent[stack]) {
        size_t place;
        if (!place_of(tally, trace->stack.function[stack], trace->stack.module[stack], &place,
                      status))
            return false;
        struct sample_function *function = &samples->functions[place];
        if (stack == trace->sample.stack[row]) {
            function->self += weight;
            function->self_samples++;
        }
        if (tally->mark[place] != samples->count) {
            tally->mark[place] = samples->count;
            function->total += weight;
            function->total_samples++;
        }
    }
    return true;
}

static int by_self(const void *a, const void *b) {
    const struct sample_function *x = a, *y = b;
    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->self_samples != y->self_samples)
        return x->self_samples < y->self_samples ? 1 : -1;
    if (x->total_samples != y->total_samples)
        return x->total_samples < y->total_samples ? 1 : -1;
    int order = text_compare(x->function_text, y->function_text);
    return order ? order : text_compare(x->module_text, y->module_text);
}

bool samples_find(const struct model *model, const struct selection *selection,
                  struct samples *samples, struct status *status) {
    const struct trace *trace = model->trace;
    memset(samples, 0, sizeof *samples);
    struct tally tally = {.trace = trace, .samples = samples};
    bool ok = true;
    for (size_t i = 0; i < trace->sample.count && ok; i++)
        if (!selection || selection_contains(selection, trace->sample.time[i]))
            ok = count_sample(&tally, trace, i, status);
    map_finish(&tally.function_of);
    memory_free(tally.mark);
    if (!ok) {
        samples_finish(samples);
        return false;
    }
    if (samples->function_count)
        qsort(samples->functions, samples->function_count, sizeof *samples->functions, by_self);
    return true;
}

void samples_finish(struct samples *samples) {
    memory_free(samples->functions);
    memset(samples, 0, sizeof *samples);
}
