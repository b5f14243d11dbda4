/* Walks each sample's stack from the leaf to the root; a mark per function keeps recursion from
 * counting twice. */
#include "analysis/samples.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/stacks.h"
#include "base/map.h"
#include "base/memory.h"
#include "trace/writer.h"

struct tally {
    const struct trace *trace;
    struct samples *samples;
    struct map function_of; /* (function, module) -> index */
    size_t capacity, mark_capacity;
    uint64_t *mark; /* by index: last sample that counted it */
    uint32_t *stands_for;
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
    if (!GROW(samples->functions, &tally->capacity, *place + 1, status) ||
        !GROW(tally->mark, &tally->mark_capacity, *place + 1, status) ||
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
    uint32_t own = tally->stands_for[trace->sample.stack[row]];
    samples->count++;
    samples->weight += weight;
    /* parents precede their stacks (the reader checks), so this terminates */
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
        if (stack == own) {
            function->own += weight;
            function->own_samples++;
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

/* A function with its index. */
struct placed {
    const struct sample_function *function;
    uint32_t place;
};

static int by_own(const void *a, const void *b) {
    const struct sample_function *x = ((const struct placed *)a)->function,
                                 *y = ((const struct placed *)b)->function;
    if (x->own != y->own)
        return x->own < y->own ? 1 : -1;
    if (x->own_samples != y->own_samples)
        return x->own_samples < y->own_samples ? 1 : -1;
    return by_self(x, y);
}

static bool order_by_own(struct samples *samples, struct status *status) {
    size_t count = samples->function_count;
    struct placed *placed = memory_allocate(count + 1, sizeof *placed, status);
    samples->by_own = memory_allocate(count + 1, sizeof *samples->by_own, status);
    if (!placed || !samples->by_own) {
        memory_free(placed);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){&samples->functions[i], (uint32_t)i};
    if (count)
        qsort(placed, count, sizeof *placed, by_own);
    for (size_t i = 0; i < count; i++)
        samples->by_own[i] = placed[i].place;
    memory_free(placed);
    return true;
}

const char *samples_time_name(const struct samples *samples) {
    return samples->of_cpu_time ? "CPU time" : "sampled time";
}

bool sample_is_python(const struct sample_function *function) {
    return text_is(function->module_text, STACK_PYTHON);
}

bool samples_find(const struct model *model, const struct selection *selection,
                  struct samples *samples, struct status *status) {
    const struct trace *trace = model->trace;
    *samples = (struct samples){
        .of_cpu_time = !text_is(trace_meta(trace, META_SAMPLES_CLOCK), "wall"),
    };
    struct tally tally = {.trace = trace, .samples = samples};
    tally.stands_for = stacks_stand_for(trace, STACK_INNERMOST, status);
    bool ok = tally.stands_for != NULL;
    for (size_t i = 0; i < trace->sample.count && ok; i++)
        if (!selection || selection_contains(selection, trace->sample.time[i]))
            ok = count_sample(&tally, trace, i, status);
    map_finish(&tally.function_of);
    memory_free(tally.mark);
    memory_free(tally.stands_for);
    if (ok && samples->function_count)
        qsort(samples->functions, samples->function_count, sizeof *samples->functions, by_self);
    ok = ok && order_by_own(samples, status);
    if (!ok)
        samples_finish(samples);
    return ok;
}

void samples_finish(struct samples *samples) {
    memory_free(samples->functions);
    memory_free(samples->by_own);
    memset(samples, 0, sizeof *samples);
}
