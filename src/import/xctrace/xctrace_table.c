/* Parses a table that xctrace exported, and reads the cells of its rows.
 *
 * Cells are positional, and every value is written once: later occurrences are `<tag ref="N"/>`, at
 * any depth, also into composite values of earlier rows. Each element with an id becomes a value
 * (tag, text, children) that is kept, and a reference is replaced by its value during parsing. A
 * value gets its number when its element ends, so only earlier numbers can be its children:
 * references to an open element, and so cycles, are NULL. Documents are untrusted: no DTD, bounded
 * depth, bounded token and text lengths.
 *
 * Rows without a time are open-ended or not timed; they are counted and skipped. A time that is
 * present but invalid is an error. */
#include "import/xctrace/xctrace_table.h"

#include <expat.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/memory.h"
#include "import/xctrace/xctrace.h"

enum {
    DEPTH_MAX = 64,
    COLUMNS_MAX = 256,
    TOKEN_BYTES_MAX = 4 << 20,
    /* Limits of one value, which many rows can refer to. */
    TEXT_BYTES_MAX = 64 * 1024,
    CHILDREN_MAX = 4096,
    WINDOW_BYTES_MAX = 1 << 20,
    DENSE_IDS_AHEAD = 4096,
};

struct value {
    uint32_t tag;
    uint32_t text_length;
    uint64_t text_offset;
    uint32_t first_child, child_count;
};

struct open_element {
    uint32_t tag;
    uint64_t id;    /* 0 = none */
    uint32_t value; /* target of a reference */
    bool is_reference, is_null;
    size_t text_at;      /* of its text in `content` */
    size_t attribute_at; /* of the text to use when it has none */
    size_t children_at;  /* in `pending` */
};

struct xctrace_table {
    struct xctrace_reader *reader;
    struct status *status;
    XML_Parser parser;
    bool stopped;
    bool failed;

    /* values by number; number 0 is NULL */
    struct value *values;
    size_t value_count, value_capacity;
    uint32_t *children;
    size_t children_count, children_capacity;
    struct buffer texts;
    struct intern tags;

    /* value numbers by id: an array while ids are in order, a map for the rest */
    uint32_t *by_id;
    size_t by_id_capacity, ids_seen;
    size_t by_id_count;
    struct map by_wild_id;

    /* position of the parser */
    unsigned depth;
    unsigned row_depth, schema_depth; /* 0 = outside */
    struct open_element open[DEPTH_MAX + 1];
    struct buffer content; /* texts and attributes of the open elements */
    uint32_t *pending;     /* children of the open elements */
    size_t pending_count, pending_capacity;

    /* start of the row, to return to when the row defined no ids */
    size_t row_values, row_children, row_texts, row_ids;

    /* the current schema */
    unsigned run;
    struct buffer schema;
    unsigned column_count;
    uint32_t column_names[COLUMNS_MAX]; /* in tags */
    unsigned wanted_count;
    int wanted_column[XCTRACE_WANTED_MAX]; /* -1 = not in the schema */
    const char *const *wanted_names;       /* NULL: rows are skipped */
    bool has_views;                        /* the columns are attributes of the rows */
    uint64_t row;
};

static bool no_memory(struct xctrace_table *table) {
    table->failed = true;
    return status_no_memory(table->status);
}

static void stop(struct xctrace_table *table) {
    table->stopped = true;
    XML_StopParser(table->parser, XML_FALSE);
}

static void fail(struct xctrace_table *table, const char *what) {
    if (!table->failed && !table->stopped)
        status_fail(table->status, STATUS_INPUT, "%s at byte %llu of the XML", what,
                    (unsigned long long)xctrace_table_offset(table));
    table->failed = true;
    stop(table);
}

static const char *attribute(const XML_Char **attributes, const char *name) {
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

static uint64_t number_attribute(const XML_Char **attributes, const char *name) {
    const char *text = attribute(attributes, name);
    uint64_t number = 0;
    return text && text_to_u64(text_of(text), &number) ? number : 0;
}

static uint32_t value_of_id(const struct xctrace_table *table, uint64_t id) {
    if (id < table->by_id_count)
        return table->by_id[id];
    const uint64_t *found = map_find(&table->by_wild_id, id);
    return found ? (uint32_t)*found : 0;
}

static bool bind_id(struct xctrace_table *table, uint64_t id, uint32_t value) {
    table->ids_seen++;
    if (id > table->ids_seen + DENSE_IDS_AHEAD)
        return map_set(&table->by_wild_id, id, value, table->status);
    if (id >= table->by_id_count) {
        if (!GROW(table->by_id, &table->by_id_capacity, id + 1, table->status))
            return false;
        memset(table->by_id + table->by_id_count, 0,
               (id + 1 - table->by_id_count) * sizeof *table->by_id);
        table->by_id_count = id + 1;
    }
    table->by_id[id] = value;
    return true;
}

static struct text trimmed(struct text text) {
    while (text.length && strchr(" \t\r\n", text.data[0]) && text.data[0])
        text.data++, text.length--;
    while (text.length && strchr(" \t\r\n", text.data[text.length - 1]) &&
           text.data[text.length - 1])
        text.length--;
    return text;
}

/* The text of an element without one: its name (frames, binaries), its formatted value
 * (composites), its address (frames without symbols). */
static const char *text_attribute(const XML_Char **attributes) {
    static const char *const names[] = {"name", "fmt", "addr"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        const char *text = attribute(attributes, names[i]);
        if (text)
            return text;
    }
    return "";
}

static bool begin_cell(struct xctrace_table *table, const XML_Char *name,
                       const XML_Char **attributes) {
    struct open_element *element = &table->open[table->depth];
    *element = (struct open_element){.id = number_attribute(attributes, "id"),
                                     .is_null = strcmp(name, "sentinel") == 0,
                                     .attribute_at = table->content.length,
                                     .children_at = table->pending_count};
    if (!intern_add(&table->tags, text_of(name), &element->tag, table->status))
        return no_memory(table);
    if (attribute(attributes, "ref")) {
        element->is_reference = true;
        element->value = value_of_id(table, number_attribute(attributes, "ref"));
        if (element->value == 0)
            table->reader->unresolved++;
    } else if (!element->is_null) {
        buffer_string(&table->content, text_attribute(attributes));
    }
    element->text_at = table->content.length;
    if (table->content.length - element->attribute_at > TOKEN_BYTES_MAX)
        fail(table, "an attribute of more than 4 MiB");
    return true;
}

/* Turns the element into a value with its pending children. */
static bool add_value(struct xctrace_table *table, const struct open_element *element,
                      uint32_t *number) {
    struct text content = buffer_as_text(&table->content);
    struct text own =
        trimmed((struct text){content.data + element->text_at, content.length - element->text_at});
    struct text text = own;
    if (own.length == 0)
        text = (struct text){content.data + element->attribute_at,
                             element->text_at - element->attribute_at};
    if (text.length > TEXT_BYTES_MAX)
        text.length = text_utf8_valid((struct text){text.data, TEXT_BYTES_MAX});
    size_t child_count = table->pending_count - element->children_at;
    if (child_count > CHILDREN_MAX) {
        fail(table, "a value of more than 4096 parts");
        return false;
    }
    if (table->value_count >= UINT32_MAX || table->children_count + child_count >= UINT32_MAX)
        return no_memory(table);
    if (!GROW(table->values, &table->value_capacity, table->value_count + 1, table->status) ||
        !GROW(table->children, &table->children_capacity, table->children_count + child_count,
              table->status))
        return no_memory(table);
    *number = (uint32_t)table->value_count++;
    table->values[*number] = (struct value){.tag = element->tag,
                                            .text_offset = table->texts.length,
                                            .text_length = (uint32_t)text.length,
                                            .first_child = (uint32_t)table->children_count,
                                            .child_count = (uint32_t)child_count};
    if (text.length)
        buffer_text(&table->texts, text);
    if (child_count)
        memcpy(table->children + table->children_count, table->pending + element->children_at,
               child_count * sizeof *table->children);
    table->children_count += child_count;
    return !table->texts.failed || no_memory(table);
}

static bool end_cell(struct xctrace_table *table) {
    struct open_element *element = &table->open[table->depth];
    uint32_t number = element->value;
    if (table->content.failed)
        return no_memory(table);
    if (!element->is_reference && !element->is_null && !add_value(table, element, &number))
        return false;
    if (element->id && !bind_id(table, element->id, number))
        return no_memory(table);
    table->content.length = element->attribute_at;
    table->pending_count = element->children_at;
    if (!GROW(table->pending, &table->pending_capacity, table->pending_count + 1, table->status))
        return no_memory(table);
    table->pending[table->pending_count++] = number;
    return true;
}

static void request_columns(struct xctrace_table *table) {
    struct xctrace_reader *reader = table->reader;
    if (table->schema.failed)
        no_memory(table);
    else
        table->wanted_names =
            reader->schema(reader->context, buffer_as_text(&table->schema), table->run);
}

static void locate_columns(struct xctrace_table *table) {
    const char *const *wanted = table->wanted_names;
    table->wanted_count = 0;
    for (; wanted && wanted[table->wanted_count]; table->wanted_count++) {
        uint32_t name = intern_find(&table->tags, text_of(wanted[table->wanted_count]));
        int *column = &table->wanted_column[table->wanted_count];
        *column = -1;
        for (unsigned i = 0; i < table->column_count && *column < 0; i++)
            if (table->column_names[i] == name)
                *column = (int)i;
    }
}

/* The value of an attribute of the row becomes its next cell. */
static bool add_attribute(struct xctrace_table *table, const char *name, const char *text) {
    struct open_element element = {.attribute_at = table->content.length,
                                   .text_at = table->content.length,
                                   .children_at = table->pending_count};
    uint32_t number = 0;
    if (table->column_count == COLUMNS_MAX)
        return true;
    buffer_string(&table->content, text);
    if (table->content.failed ||
        !intern_add(&table->tags, text_of(name), &element.tag, table->status))
        return no_memory(table);
    if (!add_value(table, &element, &number) ||
        !GROW(table->pending, &table->pending_capacity, table->pending_count + 1, table->status))
        return no_memory(table);
    table->content.length = element.attribute_at;
    table->column_names[table->column_count++] = element.tag;
    table->pending[table->pending_count++] = number;
    return true;
}

/* A row of a view has attributes and no schema. Views other than the list of allocations are
 * skipped. */
static void begin_view_row(struct xctrace_table *table, const XML_Char **attributes) {
    bool is_allocation = attribute(attributes, "address") && attribute(attributes, "size") &&
                         attribute(attributes, "live");
    if (!table->has_views) {
        buffer_clear(&table->schema);
        buffer_string(&table->schema, is_allocation ? XCTRACE_ALLOCATIONS : "");
        table->has_views = true;
        request_columns(table);
    }
    table->column_count = 0;
    for (size_t i = 0; table->wanted_names && attributes[i] && !table->failed; i += 2)
        add_attribute(table, attributes[i], attributes[i + 1]);
    locate_columns(table);
}

static void begin_row(struct xctrace_table *table, const XML_Char **attributes) {
    table->row_depth = table->depth;
    table->row++;
    table->pending_count = 0;
    buffer_clear(&table->content);
    table->row_values = table->value_count;
    table->row_children = table->children_count;
    table->row_texts = table->texts.length;
    table->row_ids = table->ids_seen;
    if (attributes[0])
        begin_view_row(table, attributes);
}

static void end_row(struct xctrace_table *table) {
    table->row_depth = 0;
    if (table->wanted_names) {
        uint32_t cells[XCTRACE_WANTED_MAX];
        for (unsigned i = 0; i < table->wanted_count; i++) {
            int column = table->wanted_column[i];
            cells[i] =
                column >= 0 && (size_t)column < table->pending_count ? table->pending[column] : 0;
        }
        struct xctrace_reader *reader = table->reader;
        if (!reader->row(reader->context, table, cells, table->status)) {
            table->failed = table->status->code != STATUS_OK;
            stop(table);
        }
    }
    if (table->ids_seen == table->row_ids) {
        table->value_count = table->row_values;
        table->children_count = table->row_children;
        table->texts.length = table->row_texts;
    }
}

static void begin_schema(struct xctrace_table *table, const XML_Char **attributes) {
    const char *name = attribute(attributes, "name");
    table->schema_depth = table->depth;
    table->column_count = 0;
    buffer_clear(&table->schema);
    buffer_string(&table->schema, name ? name : "");
    buffer_clear(&table->content);
}

static void end_schema(struct xctrace_table *table) {
    table->schema_depth = 0;
    table->has_views = false;
    request_columns(table);
    locate_columns(table);
}

static void end_mnemonic(struct xctrace_table *table) {
    struct text name = trimmed(buffer_as_text(&table->content));
    if (table->column_count == COLUMNS_MAX)
        fail(table, "more than 256 columns");
    else if (table->content.failed ||
             !intern_add(&table->tags, name, &table->column_names[table->column_count++],
                         table->status))
        no_memory(table);
}

/* A later node can belong to another run and inherit the first one's schema, so the columns are
 * requested again. */
static void begin_node(struct xctrace_table *table, const XML_Char **attributes) {
    const char *path = attribute(attributes, "xpath");
    const char *run = path ? strstr(path, "/run[") : NULL;
    unsigned previous = table->run;
    if (run)
        table->run = (unsigned)strtoul(run + strlen("/run["), NULL, 10);
    if (table->run != previous && table->column_count)
        end_schema(table);
}

static void XMLCALL start_element(void *context, const XML_Char *name,
                                  const XML_Char **attributes) {
    struct xctrace_table *table = context;
    if (table->failed || table->stopped)
        return;
    table->depth++;
    if (table->depth > DEPTH_MAX)
        fail(table, "elements nested more than 64 deep");
    else if (table->depth == 1 && strcmp(name, "trace-query-result") != 0)
        fail(table, "a root element that is not <trace-query-result> (not an xctrace table)");
    else if (table->row_depth)
        begin_cell(table, name, attributes);
    else if (table->schema_depth)
        buffer_clear(&table->content);
    else if (strcmp(name, "row") == 0)
        begin_row(table, attributes);
    else if (strcmp(name, "schema") == 0)
        begin_schema(table, attributes);
    else if (strcmp(name, "node") == 0)
        begin_node(table, attributes);
    if (table->failed)
        stop(table);
}

static void XMLCALL end_element(void *context, const XML_Char *name) {
    struct xctrace_table *table = context;
    if (table->failed || table->stopped)
        return;
    if (table->row_depth && table->depth > table->row_depth)
        end_cell(table);
    else if (table->row_depth)
        end_row(table);
    else if (table->schema_depth == table->depth)
        end_schema(table);
    else if (table->schema_depth && strcmp(name, "mnemonic") == 0)
        end_mnemonic(table);
    table->depth--;
    if (table->failed)
        stop(table);
}

static void XMLCALL character_data(void *context, const XML_Char *data, int length) {
    struct xctrace_table *table = context;
    if (table->failed || table->stopped)
        return;
    bool in_cell = table->row_depth && table->depth > table->row_depth;
    if (!in_cell && !table->schema_depth)
        return;
    if (in_cell && table->open[table->depth].is_reference)
        return;
    buffer_append(&table->content, data, (size_t)length);
    if (table->content.length > 2 * TOKEN_BYTES_MAX)
        fail(table, "a value of more than 4 MiB");
}

static void XMLCALL start_doctype(void *context, const XML_Char *name, const XML_Char *system,
                                  const XML_Char *public, int internal) {
    (void)name, (void)system, (void)public, (void)internal;
    fail(context, "a document type declaration (xctrace writes none, so it is refused)");
}

static bool parse_window(struct xctrace_table *table, struct input *input) {
    uint64_t fed = input->offset + input->length;
    if (XML_Parse(table->parser, input->data, (int)input->length, input->at_end) ==
            XML_STATUS_ERROR &&
        !table->failed && !table->stopped) {
        if (XML_GetErrorCode(table->parser) == XML_ERROR_NO_MEMORY)
            return no_memory(table);
        table->failed = true;
        return status_fail(table->status, STATUS_INPUT,
                           "the XML is damaged or cut off at byte %llu (%s); export it again",
                           (unsigned long long)xctrace_table_offset(table),
                           XML_ErrorString(XML_GetErrorCode(table->parser)));
    }
    if (!table->failed && !table->stopped && fed - xctrace_table_offset(table) > TOKEN_BYTES_MAX)
        fail(table, "a tag of more than 4 MiB");
    input_consume(input, input->length);
    return !table->failed;
}

static bool parse_input(struct xctrace_table *table, struct input *input) {
    while (!table->failed && !table->stopped) {
        if (!input->at_end && !input_more(input, WINDOW_BYTES_MAX, table->status))
            return false;
        if (!parse_window(table, input))
            return false;
        if (input->at_end)
            break;
    }
    return !table->failed;
}

static void xctrace_finish(struct xctrace_table *table) {
    if (table->parser)
        XML_ParserFree(table->parser);
    memory_free(table->values);
    memory_free(table->children);
    memory_free(table->by_id);
    memory_free(table->pending);
    buffer_finish(&table->texts);
    buffer_finish(&table->content);
    buffer_finish(&table->schema);
    intern_finish(&table->tags);
    map_finish(&table->by_wild_id);
    memory_free(table);
}

bool xctrace_table_read(struct input *input, struct xctrace_reader *reader, struct status *status) {
    struct xctrace_table *table = memory_allocate(1, sizeof *table, status);
    if (!table)
        return false;
    table->reader = reader;
    table->status = status;
    table->parser = XML_ParserCreate(NULL);
    bool ok = table->parser && GROW(table->values, &table->value_capacity, 64, status);
    if (!ok) {
        xctrace_finish(table);
        return status_no_memory(status);
    }
    table->values[0] = (struct value){0};
    table->value_count = 1;
    XML_SetUserData(table->parser, table);
    XML_SetElementHandler(table->parser, start_element, end_element);
    XML_SetCharacterDataHandler(table->parser, character_data);
    XML_SetStartDoctypeDeclHandler(table->parser, start_doctype);
    ok = parse_input(table, input);
    xctrace_finish(table);
    return ok;
}

struct text xctrace_text(const struct xctrace_table *table, uint32_t cell) {
    const struct value *value = &table->values[cell];
    if (value->text_length == 0)
        return TEXT("");
    return (struct text){table->texts.data + value->text_offset, value->text_length};
}

struct text xctrace_tag(const struct xctrace_table *table, uint32_t cell) {
    return intern_text(&table->tags, table->values[cell].tag);
}

const uint32_t *xctrace_children(const struct xctrace_table *table, uint32_t cell, size_t *count) {
    const struct value *value = &table->values[cell];
    *count = value->child_count;
    return value->child_count ? table->children + value->first_child : NULL;
}

uint32_t xctrace_child(const struct xctrace_table *table, uint32_t cell, const char *tag) {
    size_t count;
    const uint32_t *children = xctrace_children(table, cell, &count);
    for (size_t i = 0; i < count; i++)
        if (text_is(xctrace_tag(table, children[i]), tag))
            return children[i];
    return 0;
}

bool xctrace_integer(const struct xctrace_table *table, uint32_t cell, uint64_t *value) {
    return text_to_u64(xctrace_text(table, cell), value);
}

struct text xctrace_table_schema(const struct xctrace_table *table) {
    return buffer_as_text(&table->schema);
}

uint64_t xctrace_table_row(const struct xctrace_table *table) {
    return table->row;
}

uint64_t xctrace_table_offset(const struct xctrace_table *table) {
    XML_Index index = XML_GetCurrentByteIndex(table->parser);
    return index < 0 ? 0 : (uint64_t)index;
}

/* ---- rows ---- */

const struct xctrace_kind *const xctrace_kinds[] = {
    &xctrace_encoders,
    &xctrace_submissions,
    &xctrace_shader_intervals,
    &xctrace_gpu_intervals,
    &xctrace_completions,
    &xctrace_driver_intervals,
    &xctrace_application_intervals,
    &xctrace_compilations,
    &xctrace_signpost_intervals,
    &xctrace_signpost_events,
    &xctrace_counter_info,
    &xctrace_counter_values,
    &xctrace_counter_intervals,
    &xctrace_gpu_states,
    &xctrace_performance_states,
    &xctrace_thermal_states,
    &xctrace_allocated_size,
    &xctrace_resources,
    &xctrace_time_profile,
    &xctrace_time_sample,
    &xctrace_heap,
    NULL,
};

const struct xctrace_kind *xctrace_kind_of(struct text schema, unsigned *rank) {
    for (*rank = 0; xctrace_kinds[*rank]; ++*rank)
        if (text_is(schema, xctrace_kinds[*rank]->schema))
            break;
    return xctrace_kinds[*rank];
}

static bool reject_time(struct xctrace *import, const struct xctrace_table *table, const char *what,
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
                       "row %llu of %.*s (byte %llu) has the %s \"%.*s\", which is not a time in "
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
        return reject_time(import, table, "start", start_cell, status);
    if (duration && !time_of(table, duration_cell, import->time_limit - *start, duration))
        return reject_time(import, table, "duration", duration_cell, status);
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

/* "Main Thread 0x1cbb9a (sm_host, pid: 17804)" is named "Main Thread". */
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

static struct text trim_spaces(struct text text) {
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
            struct text text = trim_spaces(xctrace_text(table, children[i]));
            if (text.length && text_is(xctrace_tag(table, children[i]), plain[kind]))
                return text;
        }
    return trim_spaces(xctrace_text(table, cell));
}
