/* Several operators have the same number if they enclose each other, as only the innermost one is
 * differentiated. The last one that started is therefore taken.
 */
#include "analysis/forward.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "base/text.h"

/* A range of an operator of the forward pass. */
struct numbered_range {
    uint32_t process, range;
    uint64_t sequence;
    int64_t start;
};

struct forward_finder {
    const struct model *model;
    struct numbered_range *operators; /* by process, sequence and start */
    size_t count;
    uint32_t *forward;
};

static bool is_backward(struct text name) {
    return text_find(name, "Backward") >= 0 || text_starts(name, "autograd::engine::");
}

static int by_sequence(const void *a, const void *b) {
    const struct numbered_range *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->range < y->range ? -1 : x->range > y->range;
}

static bool find_operators(struct forward_finder *finder, struct status *status) {
    const struct trace *trace = finder->model->trace;
    size_t capacity = 0;
    for (size_t i = 0; i < trace->range.count; i++) {
        uint64_t sequence = trace->range.sequence[i];
        if (!sequence || is_backward(trace_text(trace, trace->range.name[i])))
            continue;
        if (!GROW(finder->operators, &capacity, finder->count + 1, status))
            return false;
        finder->operators[finder->count++] =
            (struct numbered_range){.process = trace->thread.process[trace->range.thread[i]],
                                    .range = (uint32_t)i,
                                    .sequence = sequence,
                                    .start = trace->range.start[i]};
    }
    if (finder->count)
        qsort(finder->operators, finder->count, sizeof *finder->operators, by_sequence);
    return true;
}

/* The calls of the thread that start in the range: [first, end). */
static size_t calls_in(const struct model *model, size_t range, size_t *end) {
    const int64_t *start = model->trace->call.start;
    uint32_t thread = model->trace->range.thread[range];
    size_t first = model->thread_calls[thread], last = model->thread_calls[thread + 1];
    PARTITION_POINT(first, last, i, start[i] < model->trace->range.start[range]);
    *end = first;
    PARTITION_POINT(*end, last, i, start[i] < model_range_end(model, range));
    return first;
}

uint32_t forward_call(const struct model *model, uint32_t range) {
    size_t end, call = calls_in(model, range, &end);
    for (; call < end; call++)
        if (model->trace->call.stack[call])
            return (uint32_t)call;
    return NO_ROW;
}

/* The last operator with this number that started before the range. */
static uint32_t forward_of(const struct forward_finder *finder, size_t range) {
    const struct trace *trace = finder->model->trace;
    struct numbered_range key = {.process = trace->thread.process[trace->range.thread[range]],
                                 .sequence = trace->range.sequence[range],
                                 .start = trace->range.start[range]};
    size_t after = 0;
    PARTITION_POINT(after, finder->count, i, by_sequence(&finder->operators[i], &key) < 0);
    const struct numbered_range *found = after ? &finder->operators[after - 1] : NULL;
    return found && found->process == key.process && found->sequence == key.sequence ? found->range
                                                                                     : NO_ROW;
}

static void mark_calls(struct forward_finder *finder, size_t range) {
    uint32_t forward = forward_of(finder, range);
    size_t end, call = calls_in(finder->model, range, &end);
    for (; call < end && forward != NO_ROW; call++)
        finder->forward[call] = forward;
}

/* Enclosing ranges come first, so that the innermost one decides. */
static bool mark_backward(struct forward_finder *finder, struct status *status) {
    const struct trace *trace = finder->model->trace;
    finder->forward = memory_allocate(trace->call.count, sizeof *finder->forward, status);
    if (!finder->forward)
        return false;
    for (size_t i = 0; i < trace->call.count; i++)
        finder->forward[i] = NO_ROW;
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.sequence[i] && is_backward(trace_text(trace, trace->range.name[i])))
            mark_calls(finder, i);
    return true;
}

bool forward_find(const struct model *model, uint32_t **forward, struct status *status) {
    struct forward_finder finder = {.model = model};
    bool ok =
        find_operators(&finder, status) &&
        (finder.count == 0 || model->trace->call.count == 0 || mark_backward(&finder, status));
    memory_free(finder.operators);
    *forward = finder.forward;
    return ok;
}
