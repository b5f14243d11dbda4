/* How was the machine doing? Thermal state, GPU performance state, memory of the Metal device.
 *
 * States are intervals with a name; each becomes a reading of a counter at its start. Both states
 * belong to the whole machine, the allocated size to the target. */
#include "base/array.h"
#include "import/xctrace/xctrace.h"

/* The index of the state in `names`, by its cell or by the first word of its description; false
 * for any other. */
static bool state_of(const struct xctrace_table *table, uint32_t cell, uint32_t narrative,
                     const char *const *names, size_t count, unsigned *state) {
    struct text texts[] = {xctrace_text(table, cell), xctrace_label(table, narrative)};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        for (*state = 0; *state < count; ++*state)
            if (text_starts(texts[i], names[*state]))
                return true;
    return false;
}

static void write_state(struct xctrace *import, int64_t time, uint32_t device, const char *name,
                        double value) {
    trace_write_counter(import->writer,
                        &(struct row_counter){
                            .time = time,
                            .device = device,
                            .name = trace_writer_string(import->writer, text_of(name)),
                            .value = value,
                        });
}

enum { THERMAL_START, THERMAL_STATE, THERMAL_NARRATIVE };
static const char *const thermal_columns[] = {"start", "thermal-state", "narrative", NULL};

static bool thermal_row(struct xctrace *import, const struct xctrace_table *table,
                        const uint32_t *cells, struct status *status) {
    static const char *const names[] = {"Nominal", "Fair", "Serious", "Critical"};
    int64_t start;
    unsigned state;
    bool use;
    if (!xctrace_span(import, table, cells[THERMAL_START], 0, &start, NULL, &use, status))
        return false;
    if (use && state_of(table, cells[THERMAL_STATE], cells[THERMAL_NARRATIVE], names,
                        ARRAY_COUNT(names), &state))
        write_state(import, start, 0, COUNTER_THERMAL_STATE, state);
    return true;
}

const struct xctrace_kind xctrace_thermal_states = {"device-thermal-state-intervals",
                                                    thermal_columns, thermal_row, NULL};

enum { PERFORMANCE_START, PERFORMANCE_STATE, PERFORMANCE_NARRATIVE, PERFORMANCE_DEVICE };
static const char *const performance_columns[] = {"start", "gpu-performance-state", "narrative",
                                                  "track-label", NULL};

static bool performance_row(struct xctrace *import, const struct xctrace_table *table,
                            const uint32_t *cells, struct status *status) {
    static const char *const names[] = {"Minimum", "Medium", "Maximum"};
    int64_t start;
    uint32_t device;
    unsigned state;
    bool use;
    if (!xctrace_span(import, table, cells[PERFORMANCE_START], 0, &start, NULL, &use, status))
        return false;
    if (!use || !state_of(table, cells[PERFORMANCE_STATE], cells[PERFORMANCE_NARRATIVE], names,
                          ARRAY_COUNT(names), &state))
        return true;
    if (!xctrace_device(import, xctrace_text(table, cells[PERFORMANCE_DEVICE]), &device, status))
        return false;
    write_state(import, start, device, COUNTER_PERFORMANCE_STATE, state + 1);
    return true;
}

const struct xctrace_kind xctrace_performance_states = {"gpu-performance-state-intervals",
                                                        performance_columns, performance_row, NULL};

enum { SIZE_START, SIZE_PROCESS, SIZE_BYTES };
static const char *const size_columns[] = {"start", "process", "current-allocated-size", NULL};

static bool size_row(struct xctrace *import, const struct xctrace_table *table,
                     const uint32_t *cells, struct status *status) {
    int64_t start;
    uint64_t bytes;
    bool use;
    if (!xctrace_is_target(import, table, cells[SIZE_PROCESS], 0))
        return true;
    if (!xctrace_span(import, table, cells[SIZE_START], 0, &start, NULL, &use, status))
        return false;
    if (use && xctrace_integer(table, cells[SIZE_BYTES], &bytes))
        write_state(import, start, 0, "Metal allocated size", (double)bytes);
    return true;
}

const struct xctrace_kind xctrace_allocated_size = {"metal-current-allocated-size", size_columns,
                                                    size_row, NULL};
