/* Which tables of an Instruments trace become events, and how are a row's time, process, thread and
 * label read?
 *
 * Rows whose time is NULL are open-ended or not timed at all: counted and passed over. A time that
 * is written but impossible is damage.
 */
#ifdef RIDGE_HAVE_EXPAT

#include "base/array.h"
#include "import/xctrace/xctrace.h"

const struct xctrace_kind *const xctrace_kinds[] = {
    &xctrace_encoders,           &xctrace_submissions,       &xctrace_gpu_intervals,
    &xctrace_completions,        &xctrace_driver_intervals,  &xctrace_application_intervals,
    &xctrace_signpost_intervals, &xctrace_signpost_events,   &xctrace_counter_info,
    &xctrace_counter_values,     &xctrace_counter_intervals, &xctrace_gpu_states,
    &xctrace_time_profile,       &xctrace_time_sample,       NULL,
};

const struct xctrace_kind *xctrace_kind_of(struct text schema, unsigned *rank) {
    for (*rank = 0; xctrace_kinds[*rank]; ++*rank)
        if (text_is(schema, xctrace_kinds[*rank]->schema))
            break;
    return xctrace_kinds[*rank];
}

static bool refuse_time(struct xctrace *import, const struct xctrace_table *table, const char *what,
                        uint32_t cell, struct status *status) {
    if (import->options->skip_invalid) {
        trace_writer_dropped(import->writer, 1);
        return true;
    }
    struct text text = xctrace_text(table, cell);
    struct text schema = xctrace_table_schema(table);
    if (text.length > 40)
        text.length = 40;
    return status_fail(status, STATUS_INPUT,
                       "row %llu of %.*s (byte %llu) has the %s \"%.*s\", which is no time in "
                       "nanoseconds; --skip-invalid drops such events",
                       (unsigned long long)xctrace_table_row(table), TEXT_ARGS(schema),
                       (unsigned long long)xctrace_table_offset(table), what, TEXT_ARGS(text));
}

static bool time_of(const struct xctrace_table *table, uint32_t cell, int64_t limit,
                    int64_t *nanoseconds) {
    return text_to_i64(xctrace_text(table, cell), nanoseconds) && *nanoseconds >= 0 &&
           *nanoseconds <= limit;
}

bool xctrace_span(struct xctrace *import, const struct xctrace_table *table, uint32_t start_cell,
                  uint32_t duration_cell, int64_t *start, int64_t *duration, bool *use,
                  struct status *status) {
    *use = false;
    if (start_cell == 0 || (duration && duration_cell == 0)) {
        import->incomplete++;
        return true;
    }
    if (!time_of(table, start_cell, import->time_limit, start))
        return refuse_time(import, table, "start", start_cell, status);
    if (duration && !time_of(table, duration_cell, import->time_limit - *start, duration))
        return refuse_time(import, table, "duration", duration_cell, status);
    *use = true;
    return true;
}

uint64_t xctrace_pid(const struct xctrace_table *table, uint32_t cell) {
    uint64_t pid;
    if (text_is(xctrace_tag(table, cell), "thread"))
        cell = xctrace_child(table, cell, "process");
    uint32_t number = xctrace_child(table, cell, "pid");
    return xctrace_integer(table, number, &pid) ? pid : 0;
}

/* "Main Thread 0x1cbb9a (sm_host, pid: 17804)" is called "Main Thread". */
static struct text thread_name(struct text human) {
    ptrdiff_t number = text_find(human, " 0x");
    if (number >= 0)
        human.length = (size_t)number;
    return human;
}

bool xctrace_thread(struct xctrace *import, const struct xctrace_table *table, uint32_t cell,
                    uint32_t *thread, struct status *status) {
    *thread = 0;
    uint64_t tid;
    if (!xctrace_integer(table, xctrace_child(table, cell, "tid"), &tid) ||
        xctrace_pid(table, cell) != import->target_pid)
        return true;
    const uint64_t *known = map_find(&import->threads, tid);
    if (known) {
        *thread = (uint32_t)*known;
        return true;
    }
    struct text name = thread_name(xctrace_text(table, cell));
    *thread = trace_write_thread(
        import->writer, &(struct row_thread){.process = import->process,
                                             .tid = (int64_t)tid,
                                             .name = trace_writer_string(import->writer, name)});
    return map_set(&import->threads, tid, *thread, status);
}

uint32_t xctrace_string(struct xctrace *import, const struct xctrace_table *table, uint32_t cell) {
    return trace_writer_string(import->writer, xctrace_text(table, cell));
}

static struct text without_blanks(struct text text) {
    while (text.length && text.data[0] == ' ')
        text.data++, text.length--;
    while (text.length && text.data[text.length - 1] == ' ')
        text.length--;
    return text;
}

struct text xctrace_label(const struct xctrace_table *table, uint32_t cell) {
    static const char *const plain[] = {"string", "metal-object-label", "narrative-text"};
    size_t count;
    const uint32_t *children = xctrace_children(table, cell, &count);
    for (size_t kind = 0; kind < ARRAY_COUNT(plain); kind++)
        for (size_t i = 0; i < count; i++) {
            struct text text = without_blanks(xctrace_text(table, children[i]));
            if (text.length && text_is(xctrace_tag(table, children[i]), plain[kind]))
                return text;
        }
    return without_blanks(xctrace_text(table, cell));
}

#endif
