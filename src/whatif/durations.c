/* How long do calls of a name take? Their durations are gathered by name, and of each name the one
 * that is asked for is picked without putting the others into order. */
#include "base/memory.h"
#include "base/sort.h"
#include "whatif/graph.h"

static bool counts(const struct replay *replay, size_t call, bool plain) {
    return !plain || (is_outer(replay, call) && !replay->waited[call]);
}

int64_t *call_durations(const struct replay *replay, double share, bool plain, int64_t none,
                        struct status *status) {
    const struct columns_call *call = &replay->trace->call;
    size_t names = replay->trace->strings.count;
    int64_t *picked = memory_allocate(names, sizeof *picked, status);
    int64_t *list = memory_allocate(replay->calls, sizeof *list, status);
    size_t *end = memory_allocate(names + 1, sizeof *end, status);
    bool ok = picked && list && end;
    for (size_t i = 0; i < replay->calls && ok; i++)
        end[call->name[i] + 1] += counts(replay, i, plain);
    for (size_t name = 0; name < names && ok; name++)
        end[name + 1] += end[name];
    for (size_t i = 0; i < replay->calls && ok; i++) /* end[name] is where its next one goes */
        if (counts(replay, i, plain))
            list[end[call->name[i]]++] = call->duration[i];
    for (size_t name = 0, first = 0; name < names && ok; first = end[name++]) {
        size_t count = end[name] - first;
        picked[name] =
            count ? sort_select(list + first, count, (size_t)((double)count * share)) : none;
    }
    memory_free(list);
    memory_free(end);
    if (!ok) {
        memory_free(picked);
        return NULL;
    }
    return picked;
}
