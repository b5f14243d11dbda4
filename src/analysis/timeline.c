/* Distributes the union of kernels and the union of all activities over the cells; their difference
 * is copies alone. */
#include "analysis/timeline.h"

#include <string.h>

/* Start of cell i; exact for any window, as the product may exceed 64 bits. */
static int64_t cell_start(struct window window, size_t count, size_t i) {
    return window.start +
           (int64_t)((__int128)(window.end - window.start) * (int64_t)i / (int64_t)count);
}

/* Adds [start, end) to the cells, for kernels or for all activities. */
static void spread(const struct timeline *timeline, bool kernel, int64_t start, int64_t end) {
    struct window window = timeline->window;
    struct timeline_cell *cells = timeline->cells;
    size_t count = timeline->count;
    if (start < window.start)
        start = window.start;
    if (end > window.end)
        end = window.end;
    if (end <= start)
        return;
    /* an estimate, made exact by the two loops */
    size_t cell = (size_t)((double)(start - window.start) * (double)count /
                           (double)(window.end - window.start));
    if (cell >= count)
        cell = count - 1;
    while (cell + 1 < count && cell_start(window, count, cell + 1) <= start)
        cell++;
    while (cell > 0 && cell_start(window, count, cell) > start)
        cell--;
    for (; start < end && cell < count; cell++) {
        int64_t cell_end = cell_start(window, count, cell + 1);
        int64_t until = cell_end < end ? cell_end : end;
        if (until <= start)
            continue;
        if (kernel)
            cells[cell].busy += until - start;
        else
            cells[cell].copy += until - start;
        start = until;
    }
}

void timeline_begin(struct timeline *timeline, struct window window, struct timeline_cell *cells,
                    size_t count) {
    *timeline = (struct timeline){window, cells, count, INT64_MIN, INT64_MIN};
    memset(cells, 0, count * sizeof *cells);
    for (size_t i = 0; i < count; i++)
        cells[i].length = cell_start(window, count, i + 1) - cell_start(window, count, i);
}

void timeline_add(struct timeline *timeline, int64_t start, int64_t end, bool kernel) {
    int64_t kernels = timeline->kernels_reached, all = timeline->all_reached;
    if (kernel) {
        spread(timeline, true, start > kernels ? start : kernels, end);
        timeline->kernels_reached = end > kernels ? end : kernels;
    }
    spread(timeline, false, start > all ? start : all, end);
    timeline->all_reached = end > all ? end : all;
}

void timeline_end(struct timeline *timeline) {
    for (size_t i = 0; i < timeline->count; i++)
        timeline->cells[i].copy -= timeline->cells[i].busy;
}

void timeline_draw(const struct model *model, uint32_t device, struct window window,
                   struct timeline_cell *cells, size_t count) {
    const struct trace *trace = model->trace;
    struct timeline timeline;
    timeline_begin(&timeline, window, cells, count);
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        if (trace->activity.start[i] >= window.end)
            break;
        timeline_add(&timeline, trace->activity.start[i], model_activity_end(model, i),
                     trace->activity.kind[i] == ACTIVITY_KERNEL);
    }
    timeline_end(&timeline);
}

const char *timeline_glyph(const struct timeline_cell *cell, enum timeline_look *look) {
    double length = cell->length > 0 ? (double)cell->length : 1;
    double busy = (double)cell->busy / length, copy = (double)cell->copy / length;
    *look = LOOK_COPIES;
    if (copy > busy && copy >= 0.05)
        return copy >= 0.5 ? "=" : "-";
    *look = busy >= 0.02 ? LOOK_KERNELS : LOOK_IDLE;
    return busy >= 0.95           ? "█"
           : busy >= 0.6          ? "▓"
           : busy >= 0.3          ? "▒"
           : busy >= 0.02         ? "░"
           : busy > 0 || copy > 0 ? "·"
                                  : " ";
}

bool timeline_zoom(const struct model *model, uint32_t device, struct window whole,
                   size_t activities, struct window *zoom) {
    const struct trace *trace = model->trace;
    size_t first = model->device_first[device], end = model->device_first[device + 1];
    while (first < end && trace->activity.start[first] < whole.start)
        first++;
    while (end > first && trace->activity.start[end - 1] >= whole.end)
        end--;
    if (end - first < 2 * activities)
        return false;
    size_t middle = first + (end - first) / 2 - activities / 2;
    zoom->start = trace->activity.start[middle];
    zoom->end = trace->activity.start[middle + activities];
    return zoom->end > zoom->start;
}
