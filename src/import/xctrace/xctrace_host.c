/* What did the program do on the CPU? Signposts become ranges and marks, and samples of its threads
 * stacks.
 *
 * OSSignpostIntervals holds signposts in pairs. os-signpost holds single events: a Begin is paired
 * with the next End of the same identifier, name, subsystem and process, innermost first, and an
 * Event is a mark. Where a trace has both tables, the paired one is used.
 *
 * time-profile holds samples with symbols; time-sample holds raw ones, bare addresses, and is used
 * only where there is no time-profile. Backtraces list the leaf first; a trace's stacks are a tree
 * from the root, so frames are added from the last to the first, each distinct (parent, function,
 * module) once. */
#include <stdio.h>

#include "base/checksum.h"
#include "import/xctrace/xctrace.h"

/* ---- signposts ---- */

struct xctrace_begin {
    int64_t time;
    uint32_t thread;
    size_t outer; /* index + 1 of the enclosing begin of the same key */
};

enum {
    EVENT_TIME,
    EVENT_THREAD,
    EVENT_PROCESS,
    EVENT_TYPE,
    EVENT_IDENTIFIER,
    EVENT_NAME,
    EVENT_SUBSYSTEM,
};
static const char *const event_columns[] = {
    "time", "thread", "process", "event-type", "identifier", "name", "subsystem", NULL,
};

static bool key_of(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                   uint32_t *key, struct status *status) {
    struct xctrace_signposts *signposts = &import->signposts;
    struct buffer text = {0};
    for (int i = EVENT_IDENTIFIER; i <= EVENT_SUBSYSTEM; i++) {
        buffer_text(&text, xctrace_text(table, cells[i]));
        buffer_byte(&text, 0);
    }
    size_t known = signposts->keys.count;
    bool ok = buffer_ok(&text, status) &&
              intern_add(&signposts->keys, buffer_as_text(&text), key, status) &&
              GROW(signposts->open, &signposts->open_capacity, signposts->keys.count, status);
    for (; ok && known < signposts->keys.count; known++)
        signposts->open[known] = 0;
    buffer_finish(&text);
    return ok;
}

static bool begin(struct xctrace_signposts *signposts, uint32_t key, int64_t time, uint32_t thread,
                  struct status *status) {
    if (!GROW(signposts->begins, &signposts->begin_capacity, signposts->begin_count + 1, status))
        return false;
    signposts->begins[signposts->begin_count++] =
        (struct xctrace_begin){time, thread, signposts->open[key]};
    signposts->open[key] = signposts->begin_count;
    return true;
}

static void end(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                uint32_t key, int64_t time) {
    struct xctrace_signposts *signposts = &import->signposts;
    if (signposts->open[key] == 0) {
        import->unpaired++;
        return;
    }
    size_t innermost = signposts->open[key] - 1;
    struct xctrace_begin from = signposts->begins[innermost];
    if (time < from.time)
        import->unpaired += 2;
    else
        trace_write_range(import->writer,
                          &(struct row_range){
                              .start = from.time,
                              .duration = time - from.time,
                              .thread = from.thread,
                              .category = RANGE_ANNOTATION,
                              .name = xctrace_string(import, table, cells[EVENT_NAME]),
                              .domain = xctrace_string(import, table, cells[EVENT_SUBSYSTEM]),
                          });
    signposts->open[key] = from.outer;
    if (innermost + 1 == signposts->begin_count)
        signposts->begin_count--;
}

static void mark(struct xctrace *import, const struct xctrace_table *table, const uint32_t *cells,
                 int64_t time, uint32_t thread) {
    trace_write_mark(import->writer,
                     &(struct row_mark){
                         .time = time,
                         .thread = thread,
                         .name = xctrace_string(import, table, cells[EVENT_NAME]),
                         .domain = xctrace_string(import, table, cells[EVENT_SUBSYSTEM]),
                     });
}

static bool event_row(struct xctrace *import, const struct xctrace_table *table,
                      const uint32_t *cells, struct status *status) {
    int64_t time;
    uint32_t thread, key;
    bool use;
    uint32_t owner = cells[EVENT_PROCESS] ? cells[EVENT_PROCESS] : cells[EVENT_THREAD];
    struct text type = xctrace_text(table, cells[EVENT_TYPE]);
    if (xctrace_pid(table, owner) != import->target_pid)
        return true;
    if (!xctrace_span(import, table, cells[EVENT_TIME], 0, &time, NULL, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[EVENT_THREAD], &thread, status))
        return false;
    if (text_is(type, "Event"))
        mark(import, table, cells, time, thread);
    bool begins = text_is(type, "Begin"), ends = text_is(type, "End");
    if (import->has_signpost_intervals || (!begins && !ends))
        return true;
    if (!key_of(import, table, cells, &key, status))
        return false;
    if (begins)
        return begin(&import->signposts, key, time, thread, status);
    end(import, table, cells, key, time);
    return true;
}

const struct xctrace_kind xctrace_signpost_events = {"os-signpost", event_columns, event_row, NULL};

enum {
    INTERVAL_START,
    INTERVAL_DURATION,
    INTERVAL_THREAD,
    INTERVAL_START_THREAD,
    INTERVAL_PROCESS,
    INTERVAL_START_PROCESS,
    INTERVAL_NAME,
    INTERVAL_SUBSYSTEM,
};
static const char *const interval_columns[] = {
    "start",         "duration", "thread",    "start-thread", "process",
    "start-process", "name",     "subsystem", NULL,
};

static bool interval_row(struct xctrace *import, const struct xctrace_table *table,
                         const uint32_t *cells, struct status *status) {
    struct row_range range = {.category = RANGE_ANNOTATION};
    bool use;
    uint32_t thread =
        cells[INTERVAL_THREAD] ? cells[INTERVAL_THREAD] : cells[INTERVAL_START_THREAD];
    uint32_t owner =
        cells[INTERVAL_PROCESS] ? cells[INTERVAL_PROCESS] : cells[INTERVAL_START_PROCESS];
    import->has_signpost_intervals = true;
    if (xctrace_pid(table, owner ? owner : thread) != import->target_pid)
        return true;
    if (!xctrace_span(import, table, cells[INTERVAL_START], cells[INTERVAL_DURATION], &range.start,
                      &range.duration, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, thread, &range.thread, status))
        return false;
    range.name = xctrace_string(import, table, cells[INTERVAL_NAME]);
    range.domain = xctrace_string(import, table, cells[INTERVAL_SUBSYSTEM]);
    trace_write_range(import->writer, &range);
    return true;
}

const struct xctrace_kind xctrace_signpost_intervals = {"OSSignpostIntervals", interval_columns,
                                                        interval_row, NULL};

void xctrace_signposts_finish(struct xctrace *import) {
    struct xctrace_signposts *signposts = &import->signposts;
    for (size_t key = 0; key < signposts->keys.count && signposts->open; key++)
        for (size_t at = signposts->open[key]; at; at = signposts->begins[at - 1].outer)
            import->unpaired++;
    intern_finish(&signposts->keys);
    memory_free(signposts->open);
    memory_free(signposts->begins);
    *signposts = (struct xctrace_signposts){0};
}

/* ---- samples ---- */

/* The default sampling interval of Instruments. */
#define DEFAULT_SAMPLE_NS 1000000

bool xctrace_push_frame(struct xctrace *import, uint32_t function, uint32_t module, uint32_t *stack,
                        struct status *status) {
    uint64_t key = (uint64_t)function << 32 | module;
    const uint64_t *known = map_find(&import->frames, key);
    uint64_t frame = known ? *known : import->frames.count + 1;
    if (!known && !map_set(&import->frames, key, frame, status))
        return false;
    key = (uint64_t)*stack << 32 | frame;
    known = map_find(&import->stacks, key);
    if (known) {
        *stack = (uint32_t)*known;
        return true;
    }
    *stack = trace_write_stack(
        import->writer,
        &(struct row_stack){.parent = *stack, .function = function, .module = module});
    return map_set(&import->stacks, key, *stack, status);
}

/* The stack of a backtrace cell; older exports wrap it in a tagged-backtrace. */
static bool stack_of(struct xctrace *import, const struct xctrace_table *table, uint32_t cell,
                     uint32_t *stack, struct status *status) {
    *stack = 0;
    if (text_is(xctrace_tag(table, cell), "tagged-backtrace"))
        cell = xctrace_child(table, cell, "backtrace");
    size_t count;
    const uint32_t *frames = xctrace_children(table, cell, &count);
    while (count-- > 0) {
        if (!text_is(xctrace_tag(table, frames[count]), "frame"))
            continue;
        uint32_t binary = xctrace_child(table, frames[count], "binary");
        if (!xctrace_push_frame(import, xctrace_string(import, table, frames[count]),
                                xctrace_string(import, table, binary), stack, status))
            return false;
    }
    return true;
}

/* The templates Metal System Trace and Time Profiler, recorded together, write each sample twice.
 */
static bool is_new(struct xctrace *import, const struct row_sample *sample, bool *is_new,
                   struct status *status) {
    uint64_t parts[2] = {(uint64_t)sample->time, sample->thread};
    uint64_t key = checksum64(parts, sizeof parts);
    *is_new = !map_find(&import->samples, key);
    return !*is_new || map_set(&import->samples, key, 1, status);
}

enum { PROFILE_TIME, PROFILE_THREAD, PROFILE_PROCESS, PROFILE_WEIGHT, PROFILE_STACK };
static const char *const profile_columns[] = {"time", "thread", "process", "weight", "stack", NULL};

static bool profile_row(struct xctrace *import, const struct xctrace_table *table,
                        const uint32_t *cells, struct status *status) {
    struct row_sample sample = {0};
    bool use;
    uint32_t owner = cells[PROFILE_PROCESS] ? cells[PROFILE_PROCESS] : cells[PROFILE_THREAD];
    import->has_time_profile = true;
    if (xctrace_pid(table, owner) != import->target_pid)
        return true;
    if (!xctrace_span(import, table, cells[PROFILE_TIME], cells[PROFILE_WEIGHT], &sample.time,
                      &sample.weight, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[PROFILE_THREAD], &sample.thread, status) ||
        !is_new(import, &sample, &use, status))
        return false;
    if (!use)
        return true;
    if (!stack_of(import, table, cells[PROFILE_STACK], &sample.stack, status))
        return false;
    trace_write_sample(import->writer, &sample);
    return true;
}

const struct xctrace_kind xctrace_time_profile = {"time-profile", profile_columns, profile_row,
                                                  NULL};

static bool push_address(struct xctrace *import, uint64_t address, uint32_t *stack,
                         struct status *status) {
    char name[32];
    snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
    return xctrace_push_frame(import, trace_writer_string(import->writer, text_of(name)), 0, stack,
                              status);
}

/* Callers in `text-addresses`, nearest first, a 0 at the end; then the leaf in `text-address`. */
static bool raw_stack_of(struct xctrace *import, const struct xctrace_table *table, uint32_t cell,
                         uint32_t *stack, struct status *status) {
    struct text callers = xctrace_text(table, xctrace_child(table, cell, "text-addresses"));
    uint64_t leaf, address;
    bool has_leaf = xctrace_integer(table, xctrace_child(table, cell, "text-address"), &leaf);
    *stack = 0;
    while (callers.length > 0) {
        size_t at = callers.length;
        while (at > 0 && callers.data[at - 1] != ' ')
            at--;
        struct text word = {callers.data + at, callers.length - at};
        callers.length = at ? at - 1 : 0;
        bool is_leaf = at == 0 && has_leaf && text_to_u64(word, &address) && address == leaf;
        if (!text_to_u64(word, &address) || address == 0 || is_leaf)
            continue;
        if (!push_address(import, address, stack, status))
            return false;
    }
    return !has_leaf || push_address(import, leaf, stack, status);
}

enum { SAMPLE_TIME, SAMPLE_THREAD, SAMPLE_KERNEL, SAMPLE_USER, SAMPLE_TYPE };
static const char *const sample_columns[] = {
    "time", "thread", "cp-kernel-callstack", "cp-user-callstack", "sample-type", NULL,
};

/* Rows of other types (stack shots at the start) are not timer samples. */
static bool sample_row(struct xctrace *import, const struct xctrace_table *table,
                       const uint32_t *cells, struct status *status) {
    struct row_sample sample = {.weight = DEFAULT_SAMPLE_NS};
    uint64_t type;
    bool use;
    if (import->has_time_profile ||
        xctrace_pid(table, cells[SAMPLE_THREAD]) != import->target_pid ||
        (xctrace_integer(table, cells[SAMPLE_TYPE], &type) && type != 0))
        return true;
    if (!xctrace_span(import, table, cells[SAMPLE_TIME], 0, &sample.time, NULL, &use, status))
        return false;
    if (!use)
        return true;
    if (!xctrace_thread(import, table, cells[SAMPLE_THREAD], &sample.thread, status) ||
        !raw_stack_of(import, table, cells[SAMPLE_USER], &sample.stack, status))
        return false;
    if (import->toc.sample_ns)
        sample.weight = (int64_t)import->toc.sample_ns;
    trace_write_sample(import->writer, &sample);
    return true;
}

const struct xctrace_kind xctrace_time_sample = {"time-sample", sample_columns, sample_row, NULL};
