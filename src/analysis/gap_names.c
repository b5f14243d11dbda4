/* One number for each string of the trace costs less than looking names up at each stretch. */
#include "analysis/gap_names.h"

#include <stdlib.h>

#include "base/memory.h"

bool name_tally_init(struct name_tally *tally, const struct trace *trace, struct status *status) {
    tally->time = memory_allocate(trace->strings.count, sizeof *tally->time, status);
    tally->stretches = memory_allocate(trace->strings.count, sizeof *tally->stretches, status);
    return tally->time && tally->stretches;
}

void name_tally_finish(struct name_tally *tally) {
    memory_free(tally->time);
    memory_free(tally->stretches);
    *tally = (struct name_tally){0};
}

static int by_time(const void *a, const void *b) {
    const struct gap_name *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return text_compare(x->text, y->text);
}

bool gap_names_list(struct gap_names *names, const struct name_tally *tally,
                    const struct trace *trace, struct status *status) {
    size_t capacity = 0;
    for (size_t name = 0; name < trace->strings.count; name++) {
        if (tally->time[name] == 0)
            continue;
        if (!memory_grow((void **)&names->list, &capacity, names->count + 1, sizeof *names->list,
                         status))
            return false;
        names->list[names->count++] =
            (struct gap_name){(uint32_t)name, trace_text(trace, (uint32_t)name),
                              tally->stretches[name], tally->time[name]};
    }
    if (names->count)
        qsort(names->list, names->count, sizeof *names->list, by_time);
    return true;
}

void gap_names_finish(struct gap_names *names) {
    memory_free(names->list);
    *names = (struct gap_names){0};
}
