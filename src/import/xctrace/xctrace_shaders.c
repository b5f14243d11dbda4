/* Which shaders ran inside an encoder, and what was compiled?
 *
 * A GPU interval is an encoder, whose label is generic unless the program sets one. Where the
 * shader timeline was recorded, an encoder without a label of its own is named after the shader
 * that runs longest in it. The compiler's table names the process, not the thread that waits:
 * pipelines are created by the thread that encodes, so the calls are those of the thread with the
 * most encodings. */
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"
#include "import/xctrace/xctrace.h"

struct xctrace_interval {
    int64_t start, end;
    uint32_t name; /* string id; of a shader in shaders.names */
};

static bool add_interval(struct xctrace_intervals *list, int64_t start, int64_t duration,
                         uint32_t name, struct status *status) {
    if (!GROW(list->intervals, &list->capacity, list->count + 1, status))
        return false;
    list->longest = MAX(list->longest, duration);
    list->intervals[list->count++] = (struct xctrace_interval){start, start + duration, name};
    return true;
}

/* ---- shader profiler ---- */

enum { SHADER_START, SHADER_DURATION, SHADER_PROCESS, SHADER_NAME, SHADER_LABEL, SHADER_PIPELINE };
static const char *const shader_columns[] = {"start", "duration", "process",   "name",
                                             "label", "pso-name", "pso-label", NULL};

/* "copyInteractionCounts (45)" without its number. */
static struct text without_number(struct text name) {
    size_t at = name.length;
    if (at == 0 || name.data[--at] != ')')
        return name;
    while (at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9')
        at--;
    if (at < 2 || name.data[at - 1] != '(' || name.data[at - 2] != ' ')
        return name;
    return (struct text){name.data, at - 2};
}

static bool shader_row(struct xctrace *import, const struct xctrace_table *table,
                       const uint32_t *cells, struct status *status) {
    int64_t start, duration;
    struct text name = TEXT("");
    uint32_t number;
    bool use;
    if (cells[SHADER_PROCESS] && !xctrace_is_target(import, table, cells[SHADER_PROCESS], 0))
        return true;
    if (!xctrace_span(import, table, cells[SHADER_START], cells[SHADER_DURATION], &start, &duration,
                      &use, status))
        return false;
    for (int i = SHADER_NAME; i <= SHADER_PIPELINE + 1 && name.length == 0; i++)
        name = without_number(xctrace_label(table, cells[i]));
    if (!use || name.length == 0)
        return true;
    import->shaders.sorted = false;
    return intern_add(&import->shader_names, name, &number, status) &&
           add_interval(&import->shaders, start, duration, number, status);
}

const struct xctrace_kind xctrace_shader_intervals = {"metal-shader-profiler-intervals",
                                                      shader_columns, shader_row, NULL};

static int by_start(const void *a, const void *b) {
    const struct xctrace_interval *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static size_t first_after(const struct xctrace_intervals *list, int64_t time) {
    size_t first = 0;
    PARTITION_POINT(first, list->count, i, list->intervals[i].start < time);
    return first;
}

/* "Command Buffer 0:Compute Command 0": Metal's own label. */
static bool is_generic(struct text label) {
    ptrdiff_t at = text_find(label, " Command ");
    if (at < 0 || label.length == 0)
        return label.length == 0;
    char last = label.data[label.length - 1];
    return last >= '0' && last <= '9' && text_find(label, "Command Buffer") >= 0;
}

struct text xctrace_shader_of(struct xctrace *import, struct text label, int64_t start,
                              int64_t duration) {
    enum { SCANNED_MAX = 4096 };
    struct xctrace_intervals *list = &import->shaders;
    if (list->count == 0 || !is_generic(label))
        return label;
    if (!list->sorted)
        qsort(list->intervals, list->count, sizeof *list->intervals, by_start);
    list->sorted = true;
    int64_t end = start + duration, best = 0;
    size_t from = first_after(list, start - MIN(start, list->longest)), scanned = 0;
    for (size_t i = from;
         i < list->count && list->intervals[i].start < end && scanned < SCANNED_MAX; i++) {
        const struct xctrace_interval *shader = &list->intervals[i];
        int64_t inside = MIN(end, shader->end) - MAX(start, shader->start);
        scanned++;
        if (inside > best) {
            best = inside;
            label = intern_text(&import->shader_names, shader->name);
        }
    }
    return label;
}

/* ---- compiler ---- */

enum { COMPILER_START, COMPILER_DURATION, COMPILER_PROCESS, COMPILER_WHAT };
static const char *const compiler_columns[] = {"start", "duration", "process", "program-type",
                                               NULL};

static bool compiler_row(struct xctrace *import, const struct xctrace_table *table,
                         const uint32_t *cells, struct status *status) {
    int64_t start, duration;
    bool use;
    if (!xctrace_is_target(import, table, cells[COMPILER_PROCESS], 0))
        return true;
    if (!xctrace_span(import, table, cells[COMPILER_START], cells[COMPILER_DURATION], &start,
                      &duration, &use, status))
        return false;
    if (!use)
        return true;
    struct text what = xctrace_label(table, cells[COMPILER_WHAT]);
    ptrdiff_t process = text_find(what, " (");
    if (process > 0)
        what.length = (size_t)process;
    return add_interval(
        &import->compilations, start, duration,
        trace_writer_string(import->writer, what.length ? what : TEXT("Compile shader")), status);
}

const struct xctrace_kind xctrace_compilations = {"graphics-compiler-activity-intervals",
                                                  compiler_columns, compiler_row, NULL};

/* Without a thread that encodes, compilations are ranges of no thread. */
void xctrace_compilations_write(struct xctrace *import) {
    const struct xctrace_intervals *list = &import->compilations;
    uint32_t thread = xctrace_waits_thread(import);
    uint32_t detail = trace_writer_string(import->writer, TEXT("{\"inferred_thread\":true}"));
    for (size_t i = 0; i < list->count; i++) {
        const struct xctrace_interval *one = &list->intervals[i];
        if (thread)
            trace_write_call(import->writer, &(struct row_call){.start = one->start,
                                                                .duration = one->end - one->start,
                                                                .class = CALL_COMPILE,
                                                                .thread = thread,
                                                                .name = one->name,
                                                                .detail = detail});
        else
            trace_write_range(import->writer, &(struct row_range){.start = one->start,
                                                                  .duration = one->end - one->start,
                                                                  .category = RANGE_DRIVER,
                                                                  .name = one->name});
    }
}

void xctrace_shaders_finish(struct xctrace *import) {
    memory_free(import->shaders.intervals);
    memory_free(import->compilations.intervals);
    intern_finish(&import->shader_names);
}
