/* Under which names did the host spend a cause's time? Tallied by string id while the gaps are
 * walked, then listed with most time first. */
#ifndef RIDGE_ANALYSIS_GAP_NAMES_H
#define RIDGE_ANALYSIS_GAP_NAMES_H

#include "base/places.h"
#include "trace/reader.h"

/* What host code (or call) filled idle time, by name. */
struct gap_name {
    uint32_t name; /* string id; 0 = no range and no sample there */
    struct text text;
    uint64_t gaps; /* stretches */
    int64_t time;
};

struct gap_names {
    struct gap_name *list; /* most time first */
    size_t count;
};

/* The names that one device's gaps have; a zeroed tally has none. */
struct name_tally {
    struct places places; /* by string id: place in names.list */
    struct gap_names names;
    size_t capacity;
    struct status status; /* why a name could not be added; asked by gap_names_list() */
};

void name_tally_add(struct name_tally *tally, uint32_t name, int64_t time);
void name_tally_finish(struct name_tally *tally);

/* Moves the names with some time out of the tally. */
bool gap_names_list(struct gap_names *names, struct name_tally *tally, const struct trace *trace,
                    struct status *status);
void gap_names_finish(struct gap_names *names);

#endif
