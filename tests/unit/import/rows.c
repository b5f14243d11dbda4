/* Every cell counts: strings as text, the rest as numbers. The name of the temporary file does not.
 */
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../test.h"
#include "base/checksum.h"
#include "base/text.h"

#define FILE_NAME "tests/unit/import/rows.txt"
enum { LINE_MAX_BYTES = 256 };

static const void *column_of(const struct trace *trace, enum trace_table table,
                             const struct column_info *info, size_t *count) {
    const void *columns = NULL;
    switch (table) {
#define ROWS_CASE(name, NAME, fourcc)                                                              \
    case TABLE_##NAME:                                                                             \
        columns = &trace->name;                                                                    \
        *count = trace->name.count;                                                                \
        break;
        TRACE_TABLES(ROWS_CASE)
    default:
        return NULL;
    }
    return *(void *const *)((const char *)columns + info->pointer_offset);
}

static void put_cell(struct buffer *text, const struct trace *trace, const struct column_info *info,
                     const void *values, size_t row) {
    const char *at = (const char *)values + row * info->size;
    uint64_t wide = 0;
    double real;
    memcpy(&wide, at, info->size);
    if (info->type == COLUMN_STRING) {
        buffer_text(text, trace_text(trace, (uint32_t)wide));
    } else if (info->type == COLUMN_F64) {
        memcpy(&real, at, sizeof real);
        buffer_printf(text, "%.12g", real);
    } else {
        buffer_printf(text, "%" PRId64, (int64_t)wide);
    }
    buffer_byte(text, ' ');
}

/* The rows of a table as lines of text; returns their number. */
static size_t write_rows(const struct trace *trace, enum trace_table table, struct buffer *text) {
    const struct table_info *info = &trace_tables[table];
    size_t count = 0;
    column_of(trace, table, &info->columns[0], &count);
    for (size_t row = 0; row < count; row++) {
        size_t begin = text->length;
        for (unsigned i = 0; i < info->column_count; i++) {
            const void *values = column_of(trace, table, &info->columns[i], &count);
            if (values)
                put_cell(text, trace, &info->columns[i], values, row);
        }
        buffer_byte(text, '\n');
        struct text line = {text->data + begin, text->length - begin};
        if (text_find(line, "ridge-test-") >= 0) /* a temporary file */
            text->length = begin;
    }
    return count;
}

static unsigned import_number(void) {
    static const char *last;
    static unsigned number;
    number = last == test_name() ? number + 1 : 1;
    last = test_name();
    return number;
}

static int by_name(const void *a, const void *b) {
    return strcmp(trace_tables[*(const unsigned *)a].name, trace_tables[*(const unsigned *)b].name);
}

/* By the names of the tables, so that the file may be sorted. */
static bool describe(struct trace *trace, unsigned number, unsigned first, struct buffer *lines) {
    bool complete = true;
    unsigned order[TABLE_COUNT];
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        order[i] = i;
    qsort(order, TABLE_COUNT, sizeof order[0], by_name);
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        unsigned table = order[i];
        if (table < first)
            continue;
        struct buffer rows = {0};
        size_t count = write_rows(trace, table, &rows);
        if (count > 0)
            buffer_printf(lines, "%s %u %s %zu %016" PRIx64 "\n", test_name(), number,
                          trace_tables[table].name, count, checksum64(rows.data, rows.length));
        if (getenv("SHOW"))
            fprintf(stderr, "%s %u %s\n%.*s", test_name(), number, trace_tables[table].name,
                    (int)rows.length, rows.data ? rows.data : "");
        complete &= !rows.failed;
        buffer_finish(&rows);
    }
    return complete && !lines->failed;
}

/* The lines of the file that are about this import, or all others. */
static void read_lines(unsigned number, bool others, struct buffer *lines) {
    char line[LINE_MAX_BYTES], prefix[LINE_MAX_BYTES];
    snprintf(prefix, sizeof prefix, "%s %u ", test_name(), number);
    FILE *file = fopen(FILE_NAME, "r");
    while (file && fgets(line, sizeof line, file))
        if ((strncmp(line, prefix, strlen(prefix)) == 0) != others)
            buffer_text(lines, text_of(line));
    if (file)
        fclose(file);
}

static void update(unsigned number, const struct buffer *measured) {
    struct buffer lines = {0};
    read_lines(number, true, &lines);
    FILE *file = fopen(FILE_NAME, "w");
    if (file) {
        fwrite(lines.data, 1, lines.length, file);
        fwrite(measured->data, 1, measured->length, file);
        fclose(file);
    }
    buffer_finish(&lines);
}

static void check(struct trace *trace, unsigned first) {
    struct status status = {0};
    struct buffer measured = {0}, expected = {0};
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (!trace_load(trace, table, NULL, &status))
            return; /* a test that makes allocations fail */
    unsigned number = import_number();
    bool complete =
        describe(trace, number, first, &measured); /* it is not where allocations fail */
    read_lines(number, false, &expected);
    if (complete && getenv("UPDATE"))
        update(number, &measured);
    else if (complete && !text_equal(buffer_as_text(&measured), buffer_as_text(&expected)))
        test_failed(FILE_NAME, 0, "the imported rows are\n%.*snot\n%.*s", (int)measured.length,
                    measured.data ? measured.data : "", (int)expected.length,
                    expected.data ? expected.data : "");
    buffer_finish(&measured);
    buffer_finish(&expected);
}

void rows_check(struct trace *trace) {
    check(trace, 0);
}

void rows_check_events(struct trace *trace) {
    check(trace, TABLE_ACTIVITY);
}
