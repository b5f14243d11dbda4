/* The member "ridge", by which a trace comes back with all that it knew: import/kineto/kineto_own.h
 * has the layout. Entities get the numbers of this file where the trace's own are not unique in it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/chrome.h"
#include "import/kineto/kineto_own.h"

static void write_notes(struct chrome *chrome) {
    const struct trace *trace = chrome->trace;
    struct json *json = &chrome->json;
    json_key(json, trace_tables[TABLE_META].name);
    json_begin_array(json);
    for (size_t row = 0; row < trace->meta.count; row++) {
        if (!export_meta_key(trace, row, &chrome->text))
            continue;
        json_begin_object(json);
        json_member_text(json, "key", buffer_as_text(&chrome->text));
        json_member_text(json, "value", trace_text(trace, trace->meta.value[row]));
        json_end_object(json);
    }
    json_end_array(json);
}

/* What stands for the entity in events. */
static void write_address(struct chrome *chrome, enum trace_table table, size_t id) {
    const struct trace *trace = chrome->trace;
    int64_t pid, tid = 0;
    if (table == TABLE_PROCESS)
        return;
    if (table == TABLE_DEVICE) {
        pid = chrome->ids.device[id];
    } else if (table == TABLE_QUEUE) {
        pid = chrome->ids.device[trace->queue.device[id]];
        tid = chrome->ids.stream[id];
    } else {
        pid = (int64_t)chrome->ids.pid[trace->thread.process[id]];
        tid = trace->thread.tid[id];
    }
    json_member_integer(&chrome->json, OWN_PID, pid);
    if (table != TABLE_DEVICE)
        json_member_integer(&chrome->json, OWN_TID, tid);
}

static void write_column(struct chrome *chrome, enum trace_table table, unsigned column,
                         size_t id) {
    const struct column_info *info = &trace_tables[table].columns[column];
    uint64_t value = export_cell(trace_column(chrome->trace, table, column), info, id);
    struct json *json = &chrome->json;
    if (value == 0)
        return;
    if (info->type == COLUMN_STRING)
        json_member_text(json, info->name, trace_text(chrome->trace, (uint32_t)value));
    else if (info->type == COLUMN_I64)
        json_member_integer(json, info->name, (int64_t)value);
    else
        json_member_unsigned(json, info->name, value);
}

/* Several recordings become one: a device that is not the first of its number is called by its
 * number in this file. */
static bool is_renamed(const struct chrome *chrome, size_t device) {
    return chrome->trace->device_session[device] > 0;
}

static void write_new_name(struct chrome *chrome, size_t device) {
    char digits[24];
    int64_t number = chrome->ids.device[device];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    json_member_integer(&chrome->json, "index", number);
    json_member_string(&chrome->json, "label", digits);
}

static void write_entity(struct chrome *chrome, enum trace_table table, size_t id) {
    unsigned column = 0;
    json_begin_object(&chrome->json);
    write_address(chrome, table, id);
    if (table == TABLE_PROCESS) {
        json_member_unsigned(&chrome->json, "pid", chrome->ids.pid[id]);
        column = 1;
    } else if (table == TABLE_DEVICE && is_renamed(chrome, id)) {
        write_new_name(chrome, id);
        column = 2;
    }
    for (; column < trace_tables[table].column_count; column++)
        write_column(chrome, table, column, id);
    json_end_object(&chrome->json);
}

static void write_entities(struct chrome *chrome, enum trace_table table) {
    json_key(&chrome->json, trace_tables[table].name);
    json_begin_array(&chrome->json);
    for (size_t id = 1; id < trace_rows(chrome->trace, table); id++)
        write_entity(chrome, table, id);
    json_end_array(&chrome->json);
}

void chrome_write_own(struct chrome *chrome) {
    json_key(&chrome->json, OWN_MEMBER);
    json_begin_object(&chrome->json);
    json_member_integer(&chrome->json, OWN_LAYOUT, OWN_LAYOUT_VERSION);
    write_notes(chrome);
    write_entities(chrome, TABLE_PROCESS);
    write_entities(chrome, TABLE_DEVICE);
    write_entities(chrome, TABLE_THREAD);
    write_entities(chrome, TABLE_QUEUE);
    json_end_object(&chrome->json);
    output_write(chrome->json.output, "\n", 1);
}
