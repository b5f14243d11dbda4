/* What did the GPU's counters read? They are there only when a counter set was recorded, and belong
 * to the whole machine. gpu-counter-info names the counters that gpu-counter-value reads.
 */
#ifdef RIDGE_HAVE_EXPAT

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/xctrace/xctrace.h"

enum { INFO_ID, INFO_NAME };
static const char *const info_columns[] = {"counter-id", "name", NULL};

static bool info_row(struct xctrace *import, const struct xctrace_table *table,
                     const uint32_t *cells, struct status *status) {
    uint64_t id;
    if (!xctrace_integer(table, cells[INFO_ID], &id))
        return true;
    return map_set(&import->counter_names, id, xctrace_string(import, table, cells[INFO_NAME]),
                   status);
}

const struct xctrace_kind xctrace_counter_info = {"gpu-counter-info", info_columns, info_row};

/* False for what is not a finite number. */
static bool number_of(const struct xctrace_table *table, uint32_t cell, double *number) {
    char digits[64];
    struct text text = xctrace_text(table, cell);
    if (text.length == 0 || text.length >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.length);
    digits[text.length] = 0;
    char *end;
    *number = strtod(digits, &end);
    return *end == 0 && isfinite(*number);
}

static uint32_t counter_name(struct xctrace *import, uint64_t id) {
    const uint64_t *known = map_find(&import->counter_names, id);
    if (known)
        return (uint32_t)*known;
    char name[48];
    snprintf(name, sizeof name, "GPU counter %llu", (unsigned long long)id);
    return trace_writer_string(import->writer, text_of(name));
}

enum { VALUE_TIME, VALUE_ID, VALUE_VALUE };
static const char *const value_columns[] = {"timestamp", "counter-id", "value", NULL};

static bool value_row(struct xctrace *import, const struct xctrace_table *table,
                      const uint32_t *cells, struct status *status) {
    struct row_counter counter = {0};
    uint64_t id;
    bool use;
    if (!xctrace_span(import, table, cells[VALUE_TIME], 0, &counter.time, NULL, &use, status))
        return false;
    if (!use || !xctrace_integer(table, cells[VALUE_ID], &id) ||
        !number_of(table, cells[VALUE_VALUE], &counter.value))
        return true;
    counter.name = counter_name(import, id);
    trace_write_counter(import->writer, &counter);
    return true;
}

const struct xctrace_kind xctrace_counter_values = {"gpu-counter-value", value_columns, value_row};

enum {
    INTERVAL_START,
    INTERVAL_NAME,
    INTERVAL_COUNTER_NAME,
    INTERVAL_LABEL,
    INTERVAL_VALUE,
    INTERVAL_PERCENT,
};
static const char *const interval_columns[] = {
    "start", "name", "counter-name", "label", "value", "percent-value", NULL,
};

static bool interval_row(struct xctrace *import, const struct xctrace_table *table,
                         const uint32_t *cells, struct status *status) {
    struct row_counter counter = {0};
    struct text name = TEXT("");
    bool use;
    if (!xctrace_span(import, table, cells[INTERVAL_START], 0, &counter.time, NULL, &use, status))
        return false;
    if (!use || (!number_of(table, cells[INTERVAL_VALUE], &counter.value) &&
                 !number_of(table, cells[INTERVAL_PERCENT], &counter.value)))
        return true;
    for (int i = INTERVAL_NAME; i <= INTERVAL_LABEL && name.length == 0; i++)
        name = xctrace_label(table, cells[i]);
    counter.name = trace_writer_string(import->writer, name);
    trace_write_counter(import->writer, &counter);
    return true;
}

const struct xctrace_kind xctrace_counter_intervals = {"metal-gpu-counter-intervals",
                                                       interval_columns, interval_row};

#endif
