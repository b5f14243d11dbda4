/* Was the host slower by itself? Launch calls are the same driver code on both sides, so their
 * duration is a reference: where it changed, other host code takes longer or shorter by about as
 * much, because of other programs, the CPU's clock or another CPU. The lower quartile is taken, as
 * a launch into a full queue waits. */
#include "base/memory.h"
#include "base/statistics.h"
#include "compare/diff_parts.h"

enum { LAUNCHES_MIN = 8 };

/* How often each name launches what starts in the units; by string id. */
static bool count_launches(const struct side *side, uint32_t **counts, struct status *status) {
    const struct model *model = &side->report->model;
    const struct trace *trace = model->trace;
    size_t end = model->device_first[side->device->id + 1];
    *counts = memory_allocate(trace->strings.count, sizeof **counts, status);
    for (size_t i = model->device_first[side->device->id]; *counts && i < end; i++) {
        uint32_t call = model->launch[i];
        if (call != NO_ROW && trace->call.class[call] == CALL_LAUNCH &&
            trace->activity.start[i] >= side->units[0].start)
            (*counts)[trace->call.name[call]]++;
    }
    return *counts != NULL;
}

/* The lower quartile of the durations of calls of that name. */
static bool quartile_of(const struct side *side, uint32_t name, size_t count, double *quartile,
                        struct status *status) {
    const struct model *model = &side->report->model;
    const struct trace *trace = model->trace;
    size_t end = model->device_first[side->device->id + 1], taken = 0;
    double *values = memory_allocate(count, sizeof *values, status);
    for (size_t i = model->device_first[side->device->id]; values && i < end; i++) {
        uint32_t call = model->launch[i];
        if (call != NO_ROW && trace->call.name[call] == name && taken < count &&
            trace->call.class[call] == CALL_LAUNCH &&
            trace->activity.start[i] >= side->units[0].start)
            values[taken++] = (double)trace->call.duration[call];
    }
    if (values) {
        statistics_sort(values, taken);
        *quartile = statistics_quantile(values, taken, 0.25);
    }
    memory_free(values);
    return values != NULL;
}

/* The string id of the same text in the other trace; 0: it is not there. */
static uint32_t same_name(const struct diff *diff, uint32_t name) {
    const struct trace *before = diff->sides[BEFORE].report->model.trace,
                       *after = diff->sides[AFTER].report->model.trace;
    uint32_t id = intern_find(&after->strings, trace_text(before, name));
    return id == UINT32_MAX ? 0 : id;
}

bool host_pace_find(struct diff *diff, struct status *status) {
    uint32_t *counts[SIDES] = {NULL}, names[SIDES] = {0}, most = LAUNCHES_MIN - 1;
    const struct trace *trace = diff->sides[BEFORE].report->model.trace;
    bool ok = count_launches(&diff->sides[BEFORE], &counts[BEFORE], status) &&
              count_launches(&diff->sides[AFTER], &counts[AFTER], status);
    for (uint32_t name = 1; ok && name < trace->strings.count; name++) {
        uint32_t other = counts[BEFORE][name] > most ? same_name(diff, name) : 0;
        if (other && counts[AFTER][other] > most) {
            most = counts[BEFORE][name] < counts[AFTER][other] ? counts[BEFORE][name]
                                                               : counts[AFTER][other];
            names[BEFORE] = name;
            names[AFTER] = other;
        }
    }
    for (unsigned at = BEFORE; ok && names[BEFORE] && at < SIDES; at++)
        ok = quartile_of(&diff->sides[at], names[at], counts[at][names[at]], &diff->launch_call[at],
                         status);
    diff->launch_name = names[BEFORE] ? trace_text(trace, names[BEFORE]) : TEXT("");
    memory_free(counts[BEFORE]);
    memory_free(counts[AFTER]);
    return ok;
}
