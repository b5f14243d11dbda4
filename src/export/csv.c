/* One table of the trace as CSV (RFC 4180): times in nanoseconds, ids resolved (a queue to its
 * device, stream and name, a stack to its functions). A text cell that a spreadsheet would run as a
 * formula gets an apostrophe in front. */
#include "export/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/table.h"
#include "base/text.h"

struct csv {
    const struct trace *trace;
    struct output *output;
    struct buffer text;
    bool row_begun;
};

static void separate(struct csv *csv) {
    if (csv->row_begun)
        output_write(csv->output, ",", 1);
    csv->row_begun = true;
}

static void end_row(struct csv *csv) {
    output_write(csv->output, "\r\n", 2);
    csv->row_begun = false;
}

static void put_text(struct csv *csv, struct text text) {
    separate(csv);
    table_csv_field(csv->output, text);
}

static void put_string(struct csv *csv, uint32_t string) {
    put_text(csv, trace_text(csv->trace, string));
}

static void put_integer(struct csv *csv, int64_t value) {
    separate(csv);
    output_printf(csv->output, "%" PRId64, value);
}

static void put_unsigned(struct csv *csv, uint64_t value) {
    separate(csv);
    output_printf(csv->output, "%" PRIu64, value);
}

static void put_double(struct csv *csv, uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    separate(csv);
    if (isfinite(value))
        output_printf(csv->output, "%.17g", value);
}

static void put_stack(struct csv *csv, uint32_t stack) {
    buffer_clear(&csv->text);
    export_stack(csv->trace, stack, &csv->text);
    put_text(csv, buffer_as_text(&csv->text));
}

static void put_process(struct csv *csv, uint32_t process) {
    put_unsigned(csv, csv->trace->process.pid[process]);
}

static void put_entity(struct csv *csv, enum column_type type, uint32_t id) {
    const struct trace *trace = csv->trace;
    if (id == 0) {
        for (const char *const *part = export_parts(type); *part; part++)
            put_text(csv, TEXT(""));
        return;
    }
    if (type == COLUMN_PROCESS) {
        put_process(csv, id);
    } else if (type == COLUMN_THREAD) {
        put_process(csv, trace->thread.process[id]);
        put_integer(csv, trace->thread.tid[id]);
        put_string(csv, trace->thread.name[id]);
    } else if (type == COLUMN_DEVICE) {
        put_string(csv, trace->device.label[id]);
        put_string(csv, trace->device.name[id]);
    } else {
        put_string(csv, trace->device.label[trace->queue.device[id]]);
        put_integer(csv, trace->queue.stream[id]);
        put_string(csv, trace->queue.name[id]);
    }
}

static void put_number(struct csv *csv, enum trace_table table, unsigned column, uint64_t bits) {
    enum column_type type = trace_tables[table].columns[column].type;
    column_namer *names = column_names(table, column);
    if (names && strcmp(names((unsigned)bits), "?") != 0)
        put_text(csv, text_of(names((unsigned)bits)));
    else if (type == COLUMN_TIME || type == COLUMN_I64)
        put_integer(csv, (int64_t)bits);
    else if (type == COLUMN_F64)
        put_double(csv, bits);
    else if (type == COLUMN_U64 && bits == BYTES_UNKNOWN)
        put_text(csv, TEXT(""));
    else
        put_unsigned(csv, bits);
}

static void put_cell(struct csv *csv, enum trace_table table, unsigned column, size_t row) {
    const struct column_info *info = &trace_tables[table].columns[column];
    uint64_t bits = export_cell(trace_column(csv->trace, table, column), info, row);
    switch (info->type) {
    case COLUMN_STRING:
        put_string(csv, (uint32_t)bits);
        break;
    case COLUMN_STACK:
        put_stack(csv, (uint32_t)bits);
        break;
    case COLUMN_PROCESS:
    case COLUMN_THREAD:
    case COLUMN_DEVICE:
    case COLUMN_QUEUE:
        put_entity(csv, info->type, (uint32_t)bits);
        break;
    default:
        put_number(csv, table, column, bits);
    }
}

static void put_header(struct csv *csv, enum trace_table table) {
    const struct table_info *info = &trace_tables[table];
    for (unsigned column = 0; column < info->column_count; column++)
        for (const char *const *part = export_parts(info->columns[column].type); *part; part++) {
            separate(csv);
            output_printf(csv->output, "%s%s", info->columns[column].name, *part);
        }
    end_row(csv);
}

bool export_csv(struct trace *trace, const struct export_options *options, struct output *output,
                struct status *status) {
    enum trace_table table = options->table;
    struct csv csv = {.trace = trace, .output = output};
    if (!trace_load(trace, table, NULL, status))
        return false;
    put_header(&csv, table);
    bool entities = table > TABLE_META && table < TABLE_ACTIVITY;
    for (size_t row = entities; row < trace_rows(trace, table) && !output->failed; row++) {
        for (unsigned column = 0; column < trace_tables[table].column_count; column++)
            put_cell(&csv, table, column, row);
        end_row(&csv);
    }
    bool ok = buffer_ok(&csv.text, status);
    buffer_finish(&csv.text);
    export_unload(trace, table);
    return ok;
}
