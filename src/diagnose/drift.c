/* Do kernels of one name and grid, taken for the same work, last longer and longer? By quarters of
 * the judged part: the first is the pace that the device can keep. */
#include "diagnose/drift.h"

#include "base/map.h"
#include "base/memory.h"
#include "diagnose/facts.h"
#include "whatif/names.h"

/* Time of the kernels of one name and grid, taken for the same work, in each quarter of the judged
 * part. */
struct pace {
    int64_t time[QUARTERS];
    uint64_t count[QUARTERS];
};
struct paces {
    struct map places; /* by name and grid */
    struct pace *list;
    size_t count, capacity;
};

static bool add_kernel(const struct trace *trace, struct paces *paces, size_t row, unsigned quarter,
                       struct status *status) {
    uint64_t key = trace->activity.name[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_x[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_y[row];
    key = key * 0x9E3779B97F4A7C15u + trace->activity.grid_z[row];
    uint64_t *place = map_find(&paces->places, key);
    size_t at = place ? (size_t)*place : paces->count;
    if (!place) {
        if (!GROW(paces->list, &paces->capacity, paces->count + 1, status) ||
            !map_set(&paces->places, key, paces->count, status))
            return false;
        paces->list[paces->count++] = (struct pace){0};
    }
    paces->list[at].time[quarter] += trace->activity.duration[row];
    paces->list[at].count[quarter]++;
    return true;
}

static double mean_of(const struct pace *pace, unsigned quarter) {
    return (double)pace->time[quarter] / (double)pace->count[quarter];
}

static struct drift sum_paces(const struct paces *paces) {
    struct drift drift = {0};
    double whole = 0, slowed = 0, before = 0, after = 0, lost = 0;
    for (size_t i = 0; i < paces->count; i++) {
        const struct pace *pace = &paces->list[i];
        double best = 0, time = 0;
        bool always = true;
        for (unsigned q = 0; q < QUARTERS; q++) {
            always &= pace->count[q] >= 2;
            time += (double)pace->time[q];
        }
        whole += time;
        if (!always || mean_of(pace, QUARTERS - 1) < 1.05 * mean_of(pace, 0))
            continue;
        best = mean_of(pace, 0);
        slowed += time;
        before += best * (double)pace->count[QUARTERS - 1];
        after += (double)pace->time[QUARTERS - 1];
        for (unsigned q = 0; q < QUARTERS; q++)
            if (mean_of(pace, q) > best)
                lost += (double)pace->time[q] - best * (double)pace->count[q];
    }
    if (whole > 0 && before > 0) {
        drift.part = slowed / whole;
        drift.ratio = after / before;
        drift.lost = (int64_t)lost;
    }
    return drift;
}

/* They wait for other devices and may take any time. */
static bool is_collective(struct text name) {
    return kernel_class(name) == KERNEL_COLLECTIVE;
}

bool drift_find(const struct diagnose_source *source, struct drift *drift, struct status *status) {
    const struct trace *trace = source->model->trace;
    struct paces paces = {0};
    struct name_trait collective;
    *drift = (struct drift){0};
    if (source->device_count == 0)
        return true;
    if (!name_trait_begin(&collective, trace, is_collective, status))
        return false;
    bool ok = true;
    const struct diagnose_device *device = &source->devices[0];
    int64_t first = device->selection->windows[0].start;
    int64_t last = device->selection->windows[device->selection->count - 1].end;
    size_t end = source->model->device_first[device->id + 1];
    for (size_t i = source->model->device_first[device->id]; i < end && ok; i++) {
        int64_t start = trace->activity.start[i];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || start < first || start >= last ||
            name_has_trait(&collective, trace->activity.name[i]))
            continue;
        unsigned quarter = (unsigned)((double)(start - first) / (double)(last - first) * QUARTERS);
        ok = add_kernel(trace, &paces, i, quarter < QUARTERS ? quarter : QUARTERS - 1, status);
    }
    if (ok)
        *drift = sum_paces(&paces);
    name_trait_finish(&collective);
    memory_free(paces.list);
    map_finish(&paces.places);
    return ok;
}
