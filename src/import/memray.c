/* memray's captures, as `memray transform csv` prints them: allocations by stack, at the moment of
 * most memory or, with --leaks, what was never freed. A row is
 *
 *   allocator,num_allocations,size,tid,thread_name,stack_trace
 *   MALLOC,1,1340,1,0x1,leaf;prog.py;4|main;prog.py;11
 *
 * with the innermost frame first. There are no times. memray's own files change with each version
 * of memray and are not read. */
#include "base/csv.h"
#include "base/text_lines.h"
#include "import/entities.h"
#include "import/import.h"

#define HEADER "allocator,num_allocations,size,tid,thread_name,stack_trace"

enum { FRAMES_MAX = 1024 };
enum { FIELD_COUNT = 1, FIELD_SIZE, FIELD_TID, FIELD_THREAD, FIELD_STACK, FIELDS };

struct memray {
    struct trace_writer *writer;
    struct entities entities;
    struct text_lines lines;
    uint32_t process;
    uint64_t rows;
};

/* "function;file;line". A file may have semicolons, a number has none. */
static struct row_stack frame_of(const struct memray *import, struct text frame) {
    struct text function = text_split(&frame, ';'), file = frame;
    uint64_t line = 0;
    size_t end = file.length;
    while (end > 0 && file.data[end - 1] != ';')
        end--;
    if (end > 0) {
        text_to_u64((struct text){file.data + end, file.length - end}, &line);
        file.length = end - 1;
    }
    return (struct row_stack){
        .function = trace_writer_string(import->writer, function),
        .module = trace_writer_string(import->writer, TEXT(STACK_PYTHON)),
        .file = trace_writer_string(import->writer, file),
        .line = line <= UINT32_MAX ? (uint32_t)line : 0,
    };
}

/* False when out of memory. */
static bool find_stack(struct memray *import, struct text trace, uint32_t *stack,
                       struct status *status) {
    struct text frames[FRAMES_MAX];
    size_t count = 0;
    while (trace.length > 0 && count < FRAMES_MAX)
        frames[count++] = text_split(&trace, '|');
    *stack = 0;
    while (count-- > 0) {
        struct row_stack row = frame_of(import, frames[count]);
        row.parent = *stack;
        if (!(*stack = entity_frame(&import->entities, &row, status)))
            return false;
    }
    return true;
}

static bool read_row(struct memray *import, struct text line, struct status *status) {
    struct text fields[FIELDS];
    uint64_t bytes, count, tid;
    uint32_t stack;
    if (csv_split(line, fields, FIELDS) != FIELDS || !text_to_u64(fields[FIELD_COUNT], &count) ||
        !text_to_u64(fields[FIELD_SIZE], &bytes) || !text_to_u64(fields[FIELD_TID], &tid) ||
        bytes > INT64_MAX)
        return status_fail(status, STATUS_INPUT,
                           "line %llu is not an allocation as 'memray transform csv' prints it",
                           (unsigned long long)import->lines.number);
    uint32_t thread = entity_thread(&import->entities, import->process, (int64_t)tid,
                                    fields[FIELD_THREAD], status);
    if (!thread || !find_stack(import, fields[FIELD_STACK], &stack, status))
        return false;
    trace_write_allocation(import->writer, &(struct row_allocation){.thread = thread,
                                                                    .operation = MEMORY_ALLOC,
                                                                    .bytes = bytes,
                                                                    .address = ++import->rows,
                                                                    .stack = stack});
    return !trace_writer_failed(import->writer);
}

static bool read_rows(struct memray *import, struct status *status) {
    struct text line;
    import->process = entity_process(&import->entities, 0, TEXT(""), status);
    if (!import->process || !text_lines_next(&import->lines, &line, status)) /* the header */
        return false;
    while (text_lines_next(&import->lines, &line, status))
        if (line.length > 0 && !read_row(import, line, status))
            return false;
    if (import->lines.failed)
        return false;
    if (import->rows == 0)
        return status_fail(status, STATUS_INPUT,
                           "is a table of memray without allocations; did the program end before "
                           "it allocated?");
    return true;
}

static void write_meta(struct memray *import) {
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("memray"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("memray transform csv"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("trace"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->rows);
    trace_writer_meta(import->writer, META_WARNING,
                      TEXT("memray's table has what was in use at the moment of most memory, or "
                           "with --leaks what was never freed, without times"));
}

static bool memray_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    struct memray import = {.writer = writer, .entities.writer = writer};
    (void)options; /* there are no times */
    bool ok = text_lines_open(&import.lines, source->path, status);
    if (ok) {
        ok = read_rows(&import, status);
        text_lines_close(&import.lines);
    }
    if (ok)
        write_meta(&import);
    entities_release(&import.entities);
    return ok;
}

static int memray_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    return !source->is_folder && text_starts(head, HEADER) ? 3 : 0;
}

const struct importer import_memray = {
    .format = "memray", .detect = memray_detect, .run = memray_run};
