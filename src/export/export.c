/* Which formats there are, and what they all do alike: what becomes of meta rows, and giving back
 * the columns of a table that has been written. */
#include "export/export.h"

#include "trace/writer.h"

#define ORIGINAL_FILE "original.source.file"

const struct export_format export_formats[] = {
    {"perfetto", true, export_perfetto},
    {"chrome", false, export_chrome},
    {"sqlite", true, export_sqlite},
    {"csv", false, export_csv},
    {NULL, false, NULL},
};

const struct export_format *export_find(const char *name) {
    for (const struct export_format *format = export_formats; format->name; format++)
        if (strcmp(format->name, name) == 0)
            return format;
    return NULL;
}

bool export_meta_key(const struct trace *trace, size_t row, struct buffer *key) {
    struct text name = trace_text(trace, trace->meta.key[row]);
    buffer_clear(key);
    if (text_is(name, META_CLOCK_OFFSET))
        return false;
    if (text_is(name, META_SOURCE_FILE)) {
        buffer_string(key, ORIGINAL_FILE);
        return !key->failed && trace_meta(trace, ORIGINAL_FILE).length == 0;
    }
    buffer_text(key, name);
    return !key->failed;
}

void export_unload(struct trace *trace, enum trace_table table) {
    for (unsigned column = 0; column < trace_tables[table].column_count; column++)
        trace_unload(trace, table, trace_tables[table].columns[column].name);
}
