/* The list of export formats, and what they share. */
#include "export/export.h"

const struct export_format export_formats[] = {
    {"perfetto", true, export_perfetto}, {"chrome", false, export_chrome},
    {"sqlite", true, export_sqlite},     {"csv", false, export_csv},
    {"folded", false, export_folded},    {"speedscope", false, export_speedscope},
    {"pprof", true, export_pprof},       {NULL, false, NULL},
};

const struct export_format *export_find(const char *name) {
    for (const struct export_format *format = export_formats; format->name; format++)
        if (strcmp(format->name, name) == 0)
            return format;
    return NULL;
}

void export_unload(struct trace *trace, enum trace_table table) {
    for (unsigned column = 0; column < trace_tables[table].column_count; column++)
        trace_unload(trace, table, trace_tables[table].columns[column].name);
}

void export_stack(const struct trace *trace, uint32_t stack, struct buffer *text) {
    uint32_t frames[EXPORT_FRAMES_MAX];
    size_t depth = 0;
    for (; stack != 0 && depth < EXPORT_FRAMES_MAX; stack = trace->stack.parent[stack])
        frames[depth++] = stack;
    while (depth > 0) {
        uint32_t row = frames[--depth];
        buffer_text(text, trace_text(trace, trace->stack.function[row]));
        if (trace->stack.line[row]) {
            struct text file = trace_text(trace, trace->stack.file[row]);
            size_t name = file.length;
            while (name > 0 && file.data[name - 1] != '/')
                name--;
            buffer_printf(text, " (%.*s:%u)", (int)(file.length - name), file.data + name,
                          trace->stack.line[row]);
        }
        if (depth > 0)
            buffer_byte(text, ';');
    }
}

static const char *const process_parts[] = {"_pid", NULL};
static const char *const thread_parts[] = {"_pid", "_tid", "_name", NULL};
static const char *const device_parts[] = {"_label", "_name", NULL};
static const char *const queue_parts[] = {"_device", "_stream", "_name", NULL};
static const char *const itself[] = {"", NULL};

const char *const *export_parts(enum column_type type) {
    switch (type) {
    case COLUMN_PROCESS:
        return process_parts;
    case COLUMN_THREAD:
        return thread_parts;
    case COLUMN_DEVICE:
        return device_parts;
    case COLUMN_QUEUE:
        return queue_parts;
    default:
        return itself;
    }
}
