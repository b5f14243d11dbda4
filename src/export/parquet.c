/* A row stands for itself, without a join: an id becomes the columns that the CSV export has for
 * it, and a stack its functions. Repeated texts cost little, as columns are dictionary-encoded. */
#include "export/parquet.h"

#include <stdio.h>

#include "base/map.h"
#include "base/min_max.h"
#include "export/export.h"

/* ---- the schema ---- */

static enum parquet_type part_type(enum column_type type, unsigned part) {
    if (type == COLUMN_PROCESS || (type == COLUMN_THREAD && part == 0))
        return PARQUET_U64; /* pid */
    if ((type == COLUMN_THREAD || type == COLUMN_QUEUE) && part == 1)
        return PARQUET_I64; /* tid, stream */
    return PARQUET_TEXT;
}

static enum parquet_type column_parquet_type(enum trace_table table, unsigned column,
                                             unsigned part) {
    if (column_names(table, column))
        return PARQUET_TEXT;
    enum column_type type = trace_tables[table].columns[column].type;
    switch (type) {
    case COLUMN_TIME:
    case COLUMN_I64:
        return PARQUET_I64;
    case COLUMN_U64:
        return PARQUET_U64;
    case COLUMN_U32:
    case COLUMN_U8:
        return PARQUET_U32;
    case COLUMN_F64:
        return PARQUET_DOUBLE;
    default:
        return part_type(type, part);
    }
}

/* Ids may be 0, none; an unknown number of bytes is null. */
static bool is_optional(enum column_type type) {
    return type >= COLUMN_PROCESS || type == COLUMN_U64;
}

static void add_key(struct parquet_table *table, const char *name, enum parquet_keys key) {
    struct parquet_schema *schema = &table->schema[table->count];
    *schema = (struct parquet_schema){.type = PARQUET_I64, .optional = true};
    snprintf(schema->name, sizeof schema->name, "%s", name);
    table->sources[table->count++] = (struct parquet_source){.column = -(int)key};
}

/* The table of processes has a rank as text. */
static bool is_key(const struct column_info *info) {
    return strcmp(info->name, "rank") == 0;
}

static void add_column(struct parquet_table *table, unsigned column) {
    const struct column_info *info = &trace_tables[table->table].columns[column];
    const char *const *parts = export_parts(info->type);
    for (unsigned part = 0; parts[part]; part++) {
        struct parquet_schema *schema = &table->schema[table->count];
        snprintf(schema->name, sizeof schema->name, "%s%s", info->name, parts[part]);
        schema->type = column_parquet_type(table->table, column, part);
        schema->optional = is_optional(info->type);
        table->sources[table->count++] = (struct parquet_source){(int)column, part};
    }
}

bool parquet_table_begin(struct parquet_table *table, enum trace_table which, unsigned keys,
                         struct output *output, struct status *status) {
    *table = (struct parquet_table){.table = which};
    if (keys & PARQUET_RANK)
        add_key(table, "rank", PARQUET_RANK);
    if (keys & PARQUET_STEP)
        add_key(table, "step", PARQUET_STEP);
    for (unsigned column = 0; column < trace_tables[which].column_count; column++)
        if (!is_key(&trace_tables[which].columns[column]))
            add_column(table, column);
    return parquet_begin(&table->file, output, table->schema, table->count, status);
}

/* ---- values ---- */

/* One cell: a number's bits, or the key of a text that cell_text() reads; false: null. */
static bool entity_cell(const struct trace *trace, enum column_type type, unsigned part,
                        uint32_t id, uint64_t *bits) {
    if (id == 0)
        return false;
    if (type == COLUMN_THREAD) {
        *bits = part == 0   ? trace->process.pid[trace->thread.process[id]]
                : part == 1 ? (uint64_t)trace->thread.tid[id]
                            : trace->thread.name[id];
        return part != 0 || trace->thread.process[id] != 0;
    }
    if (type == COLUMN_QUEUE) {
        *bits = part == 0   ? trace->device.label[trace->queue.device[id]]
                : part == 1 ? (uint64_t)trace->queue.stream[id]
                            : trace->queue.name[id];
        return part != 0 || trace->queue.device[id] != 0;
    }
    if (type == COLUMN_DEVICE)
        *bits = part == 0 ? trace->device.label[id] : trace->device.name[id];
    else
        *bits = type == COLUMN_PROCESS ? trace->process.pid[id] : id; /* or a stack */
    return true;
}

static bool read_cell(const struct trace *trace, enum trace_table table,
                      struct parquet_source source, size_t row, uint64_t *bits) {
    const struct column_info *info = &trace_tables[table].columns[source.column];
    uint64_t cell = export_cell(trace_column(trace, table, (unsigned)source.column), info, row);
    if (info->type >= COLUMN_PROCESS)
        return entity_cell(trace, info->type, source.part, (uint32_t)cell, bits);
    *bits = cell;
    return info->type != COLUMN_U64 || cell != BYTES_UNKNOWN;
}

static bool key_cell(const struct parquet_part *part, int key, size_t row, uint64_t *bits) {
    if (key == PARQUET_RANK)
        *bits = (uint64_t)part->rank;
    else
        *bits = part->step ? part->step[row] : 0;
    return key == PARQUET_RANK ? part->rank >= 0 : *bits > 0;
}

/* Parquet's strings are UTF-8; invalid bytes become U+FFFD. */
static void append_utf8(struct buffer *text, struct text from) {
    while (from.length > 0) {
        size_t valid = text_utf8_valid(from);
        buffer_append(text, from.data, valid);
        if (valid < from.length) {
            buffer_string(text, "\xef\xbf\xbd");
            valid++;
        }
        from = (struct text){from.data + valid, from.length - valid};
    }
}

static struct text cell_text(struct parquet_table *table, const struct trace *trace, int column,
                             uint64_t key) {
    column_namer *names = column_names(table->table, (unsigned)column);
    struct text text = names ? text_of(names((unsigned)key)) : trace_text(trace, (uint32_t)key);
    buffer_clear(&table->text);
    if (trace_tables[table->table].columns[column].type == COLUMN_STACK) {
        struct buffer stack = {0};
        export_stack(trace, (uint32_t)key, &stack);
        append_utf8(&table->text, buffer_as_text(&stack));
        table->text.failed |= stack.failed;
        buffer_finish(&stack);
    } else {
        append_utf8(&table->text, text);
    }
    return buffer_as_text(&table->text);
}

/* Replaces the keys of texts by ids of the dictionary. */
static bool build_dictionary(struct parquet_table *table, const struct trace *trace, int column,
                             size_t rows, struct status *status) {
    struct map ids = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < rows; i++) {
        const uint64_t *known = table->present[i] ? map_find(&ids, table->bits[i]) : NULL;
        uint32_t id = 0;
        if (!known && table->present[i]) {
            struct text text = cell_text(table, trace, column, table->bits[i]);
            ok = buffer_ok(&table->text, status) &&
                 intern_add(&table->dictionary, text, &id, status) &&
                 map_set(&ids, table->bits[i], id, status);
        }
        table->bits[i] = known ? *known : id;
    }
    map_finish(&ids);
    return ok;
}

static bool write_column(struct parquet_table *table, const struct trace *trace, unsigned column,
                         const struct parquet_part *part, size_t first, size_t rows,
                         struct status *status) {
    struct parquet_source source = table->sources[column];
    bool nulls = false;
    for (size_t i = 0; i < rows; i++) {
        size_t row = part->rows[first + i];
        uint64_t bits = 0;
        table->present[i] = source.column < 0 ? key_cell(part, -source.column, row, &bits)
                                              : read_cell(trace, table->table, source, row, &bits);
        table->bits[i] = bits;
        nulls |= !table->present[i];
    }
    bool text = table->schema[column].type == PARQUET_TEXT;
    bool ok = !text || build_dictionary(table, trace, source.column, rows, status);
    struct parquet_values values = {.rows = rows,
                                    .bits = table->bits,
                                    .present = nulls ? table->present : NULL,
                                    .dictionary = &table->dictionary};
    ok = ok && parquet_column(&table->file, &values, status);
    intern_finish(&table->dictionary);
    return ok;
}

static bool allocate(struct parquet_table *table, struct status *status) {
    if (!table->bits)
        table->bits = memory_allocate(PARQUET_GROUP_ROWS, sizeof *table->bits, status);
    if (table->bits && !table->present)
        table->present = memory_allocate(PARQUET_GROUP_ROWS, 1, status);
    return table->bits && table->present;
}

bool parquet_table_rows(struct parquet_table *table, const struct trace *trace,
                        const struct parquet_part *part, struct status *status) {
    bool ok = part->count == 0 || allocate(table, status);
    for (size_t first = 0; ok && first < part->count; first += PARQUET_GROUP_ROWS) {
        size_t rows = MIN(part->count - first, PARQUET_GROUP_ROWS);
        for (unsigned column = 0; ok && column < table->count; column++)
            ok = write_column(table, trace, column, part, first, rows, status);
    }
    return ok;
}

bool parquet_table_end(struct parquet_table *table, const char *version, struct status *status) {
    return parquet_end(&table->file, trace_tables[table->table].name, version, status);
}

void parquet_table_finish(struct parquet_table *table) {
    parquet_finish(&table->file);
    intern_finish(&table->dictionary);
    memory_free(table->bits);
    memory_free(table->present);
    buffer_finish(&table->text);
}
