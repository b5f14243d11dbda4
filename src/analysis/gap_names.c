/* A device meets few of the trace's names, and there may be very many devices: only names that it
 * meets have a place. */
#include "analysis/gap_names.h"

#include <stdlib.h>

#include "base/memory.h"

void name_tally_add(struct name_tally *tally, uint32_t name, int64_t time) {
    struct gap_names *names = &tally->names;
    size_t place;
    if (!places_find(&tally->places, name, &place, &tally->status))
        return;
    if (place == names->count) {
        if (!GROW(names->list, &tally->capacity, place + 1, &tally->status))
            return;
        names->list[names->count++] = (struct gap_name){.name = name};
    }
    if (place < names->count) {
        names->list[place].time += time;
        names->list[place].gaps += time > 0;
    }
}

void name_tally_finish(struct name_tally *tally) {
    places_finish(&tally->places);
    gap_names_finish(&tally->names);
    *tally = (struct name_tally){0};
}

static int by_time(const void *a, const void *b) {
    const struct gap_name *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return text_compare(x->text, y->text);
}

bool gap_names_list(struct gap_names *names, struct name_tally *tally, const struct trace *trace,
                    struct status *status) {
    size_t count = 0;
    if (tally->status.code != STATUS_OK) {
        *status = tally->status;
        return false;
    }
    *names = tally->names;
    tally->names = (struct gap_names){0};
    for (size_t i = 0; i < names->count; i++)
        if (names->list[i].time != 0) {
            names->list[count] = names->list[i];
            names->list[count].text = trace_text(trace, names->list[i].name);
            count++;
        }
    names->count = count;
    if (count)
        qsort(names->list, count, sizeof *names->list, by_time);
    return true;
}

void gap_names_finish(struct gap_names *names) {
    memory_free(names->list);
    *names = (struct gap_names){0};
}
