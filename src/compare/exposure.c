/* Since activities come in order of start, everything before the start of the latest one is
 * settled. Intervals behind it wait in a queue for each layer, as a later activity of a lower layer
 * may still cover them. */
#include "compare/exposure.h"

#include "base/memory.h"
#include "base/min_max.h"

static void settle_interval(struct exposure *exposure, struct exposure_layer *layer, int64_t start,
                            int64_t end, uint32_t owner) {
    if (start < end)
        exposure->owned[owner] +=
            selection_overlap(exposure->selection, start, end, &layer->cursor);
}

/* Settles the layer up to `start`, and takes [start, end) away from what is behind. */
static void cover(struct exposure *exposure, struct exposure_layer *layer, int64_t start,
                  int64_t end) {
    while (layer->first < layer->count) {
        struct exposed_interval *front = &layer->pending[layer->first];
        settle_interval(exposure, layer, front->start, MIN(front->end, start), front->owner);
        front->start = MAX(front->start, MIN(front->end, end));
        if (front->start < front->end)
            return;
        layer->first++;
    }
    layer->first = layer->count = 0;
}

bool exposure_add(struct exposure *exposure, unsigned at, uint32_t owner, int64_t start,
                  int64_t end, struct status *status) {
    struct exposure_layer *layer = &exposure->layers[at];
    int64_t from = start;
    for (unsigned above = at + 1; above < EXPOSURE_LAYERS; above++)
        cover(exposure, &exposure->layers[above], start, end);
    for (unsigned below = 0; below <= at; below++)
        if (exposure->layers[below].started)
            from = MAX(from, exposure->layers[below].end);
    layer->end = layer->started ? MAX(layer->end, end) : end;
    layer->started = true;
    if (from >= end)
        return true;
    if (at == 0) {
        settle_interval(exposure, layer, from, end, owner);
        return true;
    }
    if (!GROW(layer->pending, &layer->capacity, layer->count + 1, status))
        return false;
    layer->pending[layer->count++] = (struct exposed_interval){from, end, owner};
    return true;
}

void exposure_end(struct exposure *exposure) {
    for (unsigned at = 0; at < EXPOSURE_LAYERS; at++)
        cover(exposure, &exposure->layers[at], INT64_MAX, INT64_MAX);
}

void exposure_finish(struct exposure *exposure) {
    for (unsigned at = 0; at < EXPOSURE_LAYERS; at++)
        memory_free(exposure->layers[at].pending);
}
