/* Records may contain any bytes, so numbers and lengths are bounded before they are used. A line is
 * looked up once for each row.
 */
#include "record/spool_stacks.h"

#include <string.h>

#include "base/checksum.h"
#include "base/demangle.h"
#include "base/memory.h"
#include "record/python/python_lines.h"
#include "trace/schema.h"

enum { NUMBERS_MAX = 1 << 20, TABLE_BYTES_MAX = 1 << 20 };

static void free_code(struct spool_stack_code *code) {
    memory_free(code->table);
    memory_free(code->path);
}

bool spool_stacks_code(struct spool_stacks *stacks, const struct spool_code *code,
                       uint32_t function, uint32_t file, struct text path, struct status *status) {
    size_t before = stacks->code_capacity;
    if (code->number == 0 || code->number > NUMBERS_MAX || code->table_bytes > TABLE_BYTES_MAX)
        return true;
    if (!GROW(stacks->codes, &stacks->code_capacity, (size_t)code->number + 1, status))
        return false;
    memset(stacks->codes + before, 0, (stacks->code_capacity - before) * sizeof *stacks->codes);
    struct spool_stack_code *known = &stacks->codes[code->number];
    free_code(known);
    *known = (struct spool_stack_code){
        .function = function,
        .file = file,
        .first_line = code->first_line,
        .format = code->format,
    };
    known->path = memory_allocate(path.length + 1, 1, status);
    if (!known->path)
        return false;
    memcpy(known->path, path.data, path.length);
    if (code->table_bytes) {
        known->table = memory_allocate(code->table_bytes, 1, status);
        known->table_bytes = known->table ? code->table_bytes : 0;
    }
    return known->table || !code->table_bytes;
}

bool spool_stacks_lines(struct spool_stacks *stacks, const struct spool_code_lines *lines) {
    if (lines->number >= stacks->code_capacity)
        return true;
    struct spool_stack_code *code = &stacks->codes[lines->number];
    uint32_t carried = lines->head.bytes - (uint32_t)sizeof *lines;
    if (lines->offset <= code->table_bytes && lines->bytes <= code->table_bytes - lines->offset &&
        lines->bytes <= carried && lines->bytes > 0)
        memcpy(code->table + lines->offset, lines + 1, lines->bytes);
    return true;
}

static struct row_stack frame_row(const struct spool_stack_code *code, uint32_t parent,
                                  int32_t offset, struct source_files *sources,
                                  struct trace_writer *writer) {
    struct python_line_table table = {code->format, code->first_line, code->table,
                                      code->table_bytes};
    uint32_t line = python_line(&table, offset);
    struct text path = text_of(code->path);
    return (struct row_stack){
        .parent = parent,
        .function = code->function,
        .module = trace_writer_string(writer, TEXT(STACK_PYTHON)),
        .file = code->file,
        .line = line,
        .offset = offset > 0 ? (uint32_t)offset : 0,
        .function_line = code->first_line > 0 ? (uint32_t)code->first_line : 0,
        .statement = source_files_statement(sources, path, line),
        .source = trace_writer_string(writer, source_files_line(sources, path, line)),
        .loops = trace_writer_string(writer, source_files_loops(sources, path, line)),
    };
}

static uint32_t function_string(struct text mangled, struct trace_writer *writer) {
    struct buffer name = {0};
    struct status ignored;
    bool is_demangled = demangle(mangled, &name) && buffer_ok(&name, &ignored);
    uint32_t id = trace_writer_string(writer, is_demangled     ? buffer_as_text(&name)
                                              : mangled.length ? mangled
                                                               : TEXT(STACK_UNKNOWN));
    buffer_finish(&name);
    return id;
}

/* A return address follows the call and may belong to the next line, hence the - 1. */
static bool native_row(const struct spool_stack_code *code, uint32_t parent, uint32_t address,
                       struct spool_frame_rows *known, struct trace_writer *writer,
                       struct row_stack *row, struct status *status) {
    uint32_t file;
    if (!symbol_files_add(&known->objects, text_of(code->path), &file, status))
        return false;
    struct symbol_place place =
        symbol_files_find_address(&known->objects, file, address ? address - 1 : 0);
    *row = (struct row_stack){
        .parent = parent,
        .function = function_string(place.function, writer),
        .module = trace_writer_string(writer, symbol_files_module(&known->objects, file)),
        .offset = place.offset,
    };
    if (!place.line)
        return true;
    struct source_files *sources = &known->sources;
    row->file = trace_writer_string(writer, place.source);
    row->line = place.line;
    row->function_line = place.function_line;
    row->statement = source_files_statement(sources, place.source, place.line);
    row->source = trace_writer_string(writer, source_files_line(sources, place.source, place.line));
    row->loops = trace_writer_string(writer, source_files_loops(sources, place.source, place.line));
    return true;
}

static bool find_row(struct spool_frame_rows *known, const struct row_stack *row,
                     struct trace_writer *writer, uint32_t *id, struct status *status) {
    uint64_t key = checksum64(row, sizeof *row), *found = map_find(&known->rows, key);
    *id = found ? (uint32_t)*found : trace_write_stack(writer, row);
    return found || map_set(&known->rows, key, *id, status);
}

bool spool_stacks_frame(struct spool_stacks *stacks, struct spool_frame_rows *known,
                        const struct spool_frame *frame, struct trace_writer *writer,
                        struct status *status) {
    size_t before = stacks->row_capacity;
    if (frame->number == 0 || frame->number > NUMBERS_MAX)
        return true;
    if (!GROW(stacks->rows, &stacks->row_capacity, (size_t)frame->number + 1, status))
        return false;
    memset(stacks->rows + before, 0, (stacks->row_capacity - before) * sizeof *stacks->rows);
    stacks->rows[frame->number] = 0;
    uint32_t parent = spool_stacks_row(stacks, frame->parent);
    if (frame->code >= stacks->code_capacity || !stacks->codes[frame->code].function ||
        (frame->parent && !parent))
        return true;
    const struct spool_stack_code *code = &stacks->codes[frame->code];
    struct row_stack row;
    if (code->format != SPOOL_NATIVE)
        row = frame_row(code, parent, frame->offset, &known->sources, writer);
    else if (!native_row(code, parent, (uint32_t)frame->offset, known, writer, &row, status))
        return false;
    return find_row(known, &row, writer, &stacks->rows[frame->number], status);
}

uint32_t spool_stacks_row(const struct spool_stacks *stacks, uint32_t number) {
    return number < stacks->row_capacity ? stacks->rows[number] : 0;
}

void spool_frame_rows_finish(struct spool_frame_rows *known) {
    map_finish(&known->rows);
    source_files_finish(&known->sources);
    symbol_files_finish(&known->objects);
}

void spool_stacks_finish(struct spool_stacks *stacks) {
    for (size_t i = 0; i < stacks->code_capacity; i++)
        free_code(&stacks->codes[i]);
    memory_free(stacks->codes);
    memory_free(stacks->rows);
    *stacks = (struct spool_stacks){0};
}
