/* The unions of kernels and of all activities are spread over cells piece by piece; where they
 * differ, only copies ran. */
#include "analysis/timeline.h"

#include <string.h>

/* Start of cell i; exact for any window, as the product may exceed 64 bits. */
static int64_t cell_start(struct window window, size_t count, size_t i) {
    return window.start +
           (int64_t)((__int128)(window.end - window.start) * (int64_t)i / (int64_t)count);
}

/* Adds [start, end) to the cells: to what kernels fill, or to what anything does. */
static void spread(struct window window, struct timeline_cell *cells, size_t count, bool kernel,
                   int64_t start, int64_t end) {
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

void timeline_draw(const struct model *model, uint32_t device, struct window window,
                   struct timeline_cell *cells, size_t count) {
    const struct trace *trace = model->trace;
    memset(cells, 0, count * sizeof *cells);
    for (size_t i = 0; i < count; i++)
        cells[i].length = cell_start(window, count, i + 1) - cell_start(window, count, i);
    int64_t kernels_reached = INT64_MIN, all_reached = INT64_MIN;
    for (size_t i = model->device_first[device]; i < model->device_first[device + 1]; i++) {
        int64_t start = trace->activity.start[i], end = model_activity_end(model, i);
        if (start >= window.end)
            break;
        if (trace->activity.kind[i] == ACTIVITY_KERNEL) {
            spread(window, cells, count, true, start > kernels_reached ? start : kernels_reached,
                   end);
            if (end > kernels_reached)
                kernels_reached = end;
        }
        spread(window, cells, count, false, start > all_reached ? start : all_reached, end);
        if (end > all_reached)
            all_reached = end;
    }
    for (size_t i = 0; i < count; i++)
        cells[i].copy -= cells[i].busy;
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
