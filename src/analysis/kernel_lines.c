/* Rows of instructions are grouped by kernel, file and line, or by kernel, function and offset. */
#include "analysis/kernel_lines.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_counters.h"
#include "analysis/kernels.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/memory.h"

struct key {
    uint32_t kernel, place, number; /* file and line, or function and offset */
    uint32_t is_line;
};

struct finder {
    const struct trace *trace;
    struct kernel_lines *lines;
    size_t capacity;
    struct intern keys; /* the id of a line's key is its index + 1 */
    uint32_t no_file;   /* string id; UINT32_MAX: not in the trace */
};

/* ---- Events ---- */

/* The event that a counter counts: an enum line_event, or LINE_EVENT_COUNT + the reason of a stall;
 * -1: another counter. */
static int event_of(struct text name) {
#define LINE_EVENT_COUNTER(ID, key, counter) counter,
    static const char *const counters[] = {LINE_EVENTS(LINE_EVENT_COUNTER)};
    bool sampled = false;
    for (int i = 0; i < LINE_EVENT_COUNT; i++)
        if (text_is(name, counters[i]))
            return i;
    int reason = stall_of_counter(name, &sampled);
    return sampled && reason >= 0 ? LINE_EVENT_COUNT + reason : -1;
}

static struct kernel_line *find_line(struct finder *finder, const struct kernel_line *place,
                                     struct status *status) {
    bool is_line = place->file != finder->no_file;
    struct key key = {place->kernel, is_line ? place->file : place->function,
                      is_line ? place->line : place->offset, is_line};
    struct kernel_lines *lines = finder->lines;
    uint32_t id;
    if (!intern_add(&finder->keys, (struct text){(const char *)&key, sizeof key}, &id, status))
        return NULL;
    if (id - 1 == lines->count) {
        if (!GROW(lines->items, &finder->capacity, lines->count + 1, status))
            return NULL;
        lines->items[lines->count++] = *place;
    }
    return &lines->items[id - 1];
}

static bool take_row(struct finder *finder, uint32_t kernel, size_t row, struct status *status) {
    const struct columns_metric *metric = &finder->trace->metric;
    int event = event_of(trace_text(finder->trace, metric->name[row]));
    if (event < 0 || !(metric->value[row] > 0))
        return true;
    struct kernel_line place = {.kernel = kernel,
                                .function = metric->function[row],
                                .file = metric->file[row],
                                .line = metric->line[row],
                                .offset = metric->offset[row]};
    struct kernel_line *line = find_line(finder, &place, status);
    if (!line)
        return false;
    if (place.offset < line->offset)
        line->offset = place.offset;
    if (event < LINE_EVENT_COUNT)
        line->event[event] += metric->value[row];
    else
        line->stall[event - LINE_EVENT_COUNT] += metric->value[row];
    return true;
}

/* ---- Order ---- */

static bool find_shares(const struct kernel_counters *counters, struct kernel_lines *lines,
                        struct status *status) {
    double *sums = memory_allocate(counters->kernel_count + 1, sizeof *sums, status);
    if (!sums)
        return false;
    for (size_t i = 0; i < lines->count; i++)
        sums[lines->items[i].kernel] += kernel_line_cost(&lines->items[i], LINE_STALLS);
    for (size_t i = 0; i < lines->count; i++) {
        struct kernel_line *line = &lines->items[i];
        double sum = sums[line->kernel];
        line->stall_share = sum > 0 ? kernel_line_cost(line, LINE_STALLS) / sum : 0;
        line->weight = line->stall_share *
                       counters->kernels[line->kernel].figures.value[KERNEL_DURATION_FIGURE];
    }
    memory_free(sums);
    return true;
}

static int by_weight(const void *a, const void *b) {
    const struct kernel_line *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->file < y->file ? -1 : x->file > y->file;
}

bool kernel_lines_find(const struct trace *trace, const struct kernel_counters *counters,
                       struct kernel_lines *lines, struct status *status) {
    struct finder finder = {.trace = trace,
                            .lines = lines,
                            .no_file = intern_find(&trace->strings, TEXT(METRIC_NO_FILE))};
    bool ok = true;
    *lines = (struct kernel_lines){0};
    for (size_t i = 0; i < counters->launch_count && ok; i++) {
        const struct measured_launch *launch = &counters->launches[i];
        size_t end = i + 1 < counters->launch_count ? launch[1].first_row : trace->metric.count;
        for (size_t row = launch->first_row; row < end && ok; row++)
            if (trace->metric.file[row])
                ok = take_row(&finder, launch->measured, row, status);
    }
    intern_finish(&finder.keys);
    ok = ok && find_shares(counters, lines, status);
    if (lines->count)
        qsort(lines->items, lines->count, sizeof *lines->items, by_weight);
    return ok;
}

void kernel_lines_finish(struct kernel_lines *lines) {
    memory_free(lines->items);
    *lines = (struct kernel_lines){0};
}

/* ---- Costs ---- */

double kernel_line_cost(const struct kernel_line *line, enum line_cost cost) {
    double sum = 0;
    switch (cost) {
    case LINE_UNCOALESCED:
        return line->event[LINE_SECTORS_EVENT] - line->event[LINE_SECTORS_IDEAL_EVENT];
    case LINE_CONFLICTS:
        return line->event[LINE_WAVEFRONTS_EVENT] - line->event[LINE_WAVEFRONTS_IDEAL_EVENT];
    case LINE_DIVERGENCE:
        return line->event[LINE_DIVERGENT_EVENT];
    case LINE_SPILLS:
        return line->event[LINE_LOCAL_SECTORS_EVENT];
    default:
        for (unsigned reason = 0; reason < STALL_SELECTED; reason++)
            sum += line->stall[reason];
        return sum;
    }
}

bool kernel_line_top_stall(const struct kernel_line *line, unsigned *reason) {
    *reason = 0;
    for (unsigned i = 1; i < STALL_SELECTED; i++)
        if (line->stall[i] > line->stall[*reason])
            *reason = i;
    return line->stall[*reason] > 0;
}

const struct kernel_line *kernel_lines_top(const struct kernel_lines *lines, uint32_t kernel,
                                           enum line_cost cost, double *share) {
    const struct kernel_line *top = NULL;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < lines->count; i++) {
        const struct kernel_line *line = &lines->items[i];
        double value = line->kernel == kernel ? kernel_line_cost(line, cost) : 0;
        if (!(value > 0))
            continue;
        sum += value;
        if (value > largest) {
            largest = value;
            top = line;
        }
    }
    *share = sum > 0 ? largest / sum : 0;
    return top;
}

bool kernel_line_format(const struct trace *trace, const struct kernel_line *line,
                        struct buffer *text, struct status *status) {
    struct text file = trace_text(trace, line->file);
    if (text_is(file, METRIC_NO_FILE)) {
        if (!kernel_short_name(trace_text(trace, line->function), text, status))
            return false;
        buffer_printf(text, "+0x%x", line->offset);
        return true;
    }
    size_t name = file.length;
    while (name > 0 && file.data[name - 1] != '/')
        name--;
    buffer_append(text, file.data + name, file.length - name);
    buffer_printf(text, ":%u", line->line);
    return true;
}
