/* Snapshots of Python's tracemalloc (Snapshot.dump): what was allocated and not freed, with the
 * lines of its callers. A trace is (domain, bytes, ((file, line), ...), frames), the innermost
 * frame first. There are no times and no names of functions. */
#include "base/input.h"
#include "base/map.h"
#include "import/entities.h"
#include "import/import.h"
#include "import/pickle.h"

enum { FRAMES_MAX = 1024 };
#define FILE_MAX_BYTES ((size_t)2 << 30)

struct tracemalloc {
    struct trace_writer *writer;
    struct entities entities;
    struct pickle pickle;
    struct map stacks; /* address of a traceback -> stack id */
    uint32_t thread;
    uint64_t rows;
};

static bool is_list(const struct pickle_value *value, size_t count) {
    return value->kind == PICKLE_LIST && value->count >= count;
}

static bool find_stack(struct tracemalloc *import, const struct pickle_value *traceback,
                       uint32_t *stack, struct status *status) {
    uint64_t key = (uint64_t)(uintptr_t)traceback;
    const uint64_t *known = map_find(&import->stacks, key);
    *stack = known ? (uint32_t)*known : 0;
    if (known)
        return true;
    size_t count = traceback->count < FRAMES_MAX ? traceback->count : FRAMES_MAX;
    for (size_t i = count; i-- > 0;) {
        const struct pickle_value *frame = traceback->items[i];
        if (!is_list(frame, 2) || frame->items[0]->kind != PICKLE_TEXT ||
            frame->items[1]->kind != PICKLE_INTEGER)
            continue;
        int64_t line = frame->items[1]->integer;
        struct row_stack row = {
            .parent = *stack,
            .function = trace_writer_string(import->writer, TEXT(STACK_UNKNOWN)),
            .module = trace_writer_string(import->writer, TEXT(STACK_PYTHON)),
            .file = trace_writer_string(import->writer, frame->items[0]->text),
            .line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
        };
        if (!(*stack = entity_frame(&import->entities, &row, status)))
            return false;
    }
    return map_set(&import->stacks, key, *stack, status);
}

static bool read_trace(struct tracemalloc *import, const struct pickle_value *trace,
                       struct status *status) {
    uint32_t stack;
    if (!is_list(trace, 3) || trace->items[1]->kind != PICKLE_INTEGER ||
        trace->items[1]->integer < 0 || trace->items[2]->kind != PICKLE_LIST)
        return status_fail(status, STATUS_INPUT,
                           "is a snapshot of tracemalloc with a trace that is not (domain, bytes, "
                           "traceback); the file is damaged");
    if (!find_stack(import, trace->items[2], &stack, status))
        return false;
    trace_write_allocation(import->writer,
                           &(struct row_allocation){.thread = import->thread,
                                                    .operation = MEMORY_ALLOC,
                                                    .bytes = (uint64_t)trace->items[1]->integer,
                                                    .address = ++import->rows,
                                                    .stack = stack});
    return !trace_writer_failed(import->writer);
}

static bool read_snapshot(struct tracemalloc *import, struct status *status) {
    const struct pickle_value *traces = pickle_member(import->pickle.value, "traces");
    const struct pickle_value *list = pickle_list(traces, "_traces");
    uint32_t process = entity_process(&import->entities, 0, TEXT(""), status);
    import->thread = process ? entity_thread(&import->entities, process, 0, TEXT(""), status) : 0;
    if (!import->thread)
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (!read_trace(import, list->items[i], status))
            return false;
    if (list->count == 0)
        return status_fail(status, STATUS_INPUT,
                           "is a snapshot of tracemalloc without traces; call tracemalloc.start() "
                           "before what allocates");
    return true;
}

static void write_meta(struct tracemalloc *import) {
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("tracemalloc"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("tracemalloc (Python)"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->rows);
    trace_writer_meta(import->writer, META_WARNING,
                      TEXT("a snapshot of tracemalloc has what was in use at one moment, without "
                           "times and names of functions"));
}

static bool tracemalloc_run(const struct import_source *source,
                            const struct import_options *options, struct trace_writer *writer,
                            struct status *status) {
    struct tracemalloc import = {.writer = writer, .entities.writer = writer};
    struct input input = {.fd = -1};
    (void)options; /* there are no times */
    bool ok = input_read_file(&input, source->path, FILE_MAX_BYTES, status) &&
              pickle_read(&import.pickle, (struct text){input.data, input.length}, status) &&
              read_snapshot(&import, status);
    if (ok)
        write_meta(&import);
    pickle_finish(&import.pickle);
    input_close(&input);
    map_finish(&import.stacks);
    entities_release(&import.entities);
    return ok;
}

static int tracemalloc_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    return !source->is_folder && pickle_detect(head) && text_find(head, "tracemalloc") >= 0 &&
                   text_find(head, "Snapshot") >= 0
               ? 3
               : 0;
}

const struct importer import_tracemalloc = {
    .format = "tracemalloc", .detect = tracemalloc_detect, .run = tracemalloc_run};
