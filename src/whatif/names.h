/* Which names does a pattern match, and which ranges and counters have a known meaning by name? */
#ifndef RIDGE_WHATIF_NAMES_H
#define RIDGE_WHATIF_NAMES_H

#include "analysis/input_names.h"
#include "trace/reader.h"

/* A pattern with * (any characters) or ? (one character) matches whole names, else substrings. An
 * empty pattern matches every name. */
bool name_matches(struct text name, struct text pattern);

/* A range or function that compiles something. */
bool name_is_compilation(struct text name);

/* A predicate on names, evaluated once per string and cached. */
struct name_trait {
    const struct trace *trace;
    bool (*has)(struct text name);
    uint8_t *known; /* by string: 0 unknown, 1 no, 2 yes */
};
bool name_trait_begin(struct name_trait *trait, const struct trace *trace,
                      bool (*has)(struct text name), struct status *status);
void name_trait_finish(struct name_trait *trait);
static inline bool name_has_trait(struct name_trait *trait, uint32_t string) {
    uint8_t *known = &trait->known[string];
    if (*known == 0)
        *known = trait->has(trace_text(trait->trace, string)) ? 2 : 1;
    return *known == 2;
}

/* The counter with a device's SM clock, not its memory clock. */
struct clock_counter {
    uint32_t name;   /* string id; 0: none was recorded */
    uint32_t device; /* 0 when the source does not assign it to a device */
};
struct clock_counter names_clock_counter(const struct trace *trace, uint32_t device);
static inline bool is_clock_reading(const struct trace *trace, const struct clock_counter *clock,
                                    size_t row) {
    return trace->counter.name[row] == clock->name && trace->counter.device[row] == clock->device &&
           trace->counter.value[row] > 0;
}

#endif
