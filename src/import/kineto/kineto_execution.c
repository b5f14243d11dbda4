/* A node of schema 1.0.2 and later has "inputs": {"shapes", "types"} and its record function id
 * among "attrs"; older ones have "input_shapes", "input_types" and "rf_id". Types are
 * "Tensor(float)" where Kineto has "float". */
#include "import/kineto/kineto_execution.h"

#include "base/json_record.h"

struct node_reader {
    struct execution_trace *execution;
    struct json_record record;
    struct buffer text;
    uint32_t shapes, types; /* of the current node; 0: unknown */
    int64_t id;             /* -1: unknown */
    uint64_t nodes;
};

/* The list at the position, without white space, or with a type in place of "Tensor(type)". */
static bool read_list(struct node_reader *reader, struct scan *scan, bool types, uint32_t *id,
                      struct status *status) {
    const char *after;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    while (!(after = scan_skip(scan, scan->at)))
        if (!scan_more(scan, "the inputs of a node", status))
            return false;
    struct text raw = {scan->at, (size_t)(after - scan->at)};
    buffer_clear(&reader->text);
    for (size_t i = 0; types && i < raw.length; i++) {
        bool tensor = raw.length - i > 7 && memcmp(raw.data + i, "Tensor(", 7) == 0;
        i += tensor ? 7 : 0;
        if (raw.data[i] != ')')
            buffer_byte(&reader->text, raw.data[i]);
    }
    if (!types)
        scan_compact(raw, &reader->text);
    scan->at = after;
    return buffer_ok(&reader->text, status) &&
           intern_add(&reader->execution->texts, buffer_as_text(&reader->text), id, status);
}

static bool read_inputs(void *context, struct scan *scan, struct text key, struct status *status) {
    struct node_reader *reader = context;
    if (text_is(key, "shapes"))
        return read_list(reader, scan, false, &reader->shapes, status);
    if (text_is(key, "types"))
        return read_list(reader, scan, true, &reader->types, status);
    return json_skip(scan, status);
}

static bool read_attribute(void *context, struct scan *scan, struct text key,
                           struct status *status) {
    struct node_reader *reader = context;
    (void)key;
    if (!json_record_read(scan, &reader->record, status))
        return false;
    if (text_is(json_record_text(&reader->record, "name"), "rf_id"))
        reader->id = json_record_integer(&reader->record, "value", -1);
    return true;
}

static bool read_member(void *context, struct scan *scan, struct text key, struct status *status) {
    struct node_reader *reader = context;
    char byte;
    if (text_is(key, "attrs"))
        return json_elements(scan, read_attribute, reader, status);
    if (text_is(key, "input_shapes"))
        return read_list(reader, scan, false, &reader->shapes, status);
    if (text_is(key, "input_types"))
        return read_list(reader, scan, true, &reader->types, status);
    if (text_is(key, "inputs")) /* a list in older schemas */
        return scan_peek(scan, &byte, status) && json_members(scan, read_inputs, reader, status);
    if (!text_is(key, "rf_id"))
        return json_skip(scan, status);
    if (!json_record_read(scan, &reader->record, status))
        return false;
    reader->id = json_record_integer(&reader->record, "", -1);
    return true;
}

static bool read_node(void *context, struct scan *scan, struct text key, struct status *status) {
    struct node_reader *reader = context;
    (void)key;
    reader->shapes = reader->types = 0;
    reader->id = -1;
    if (!json_members(scan, read_member, reader, status))
        return false;
    reader->nodes++;
    return reader->id < 0 || !reader->shapes ||
           map_set(&reader->execution->nodes, (uint64_t)reader->id,
                   reader->shapes | (uint64_t)reader->types << 32, status);
}

static bool read_top(void *context, struct scan *scan, struct text key, struct status *status) {
    return text_is(key, "nodes") ? json_elements(scan, read_node, context, status)
                                 : json_skip(scan, status);
}

bool execution_trace_read(struct execution_trace *execution, const char *path,
                          struct status *status) {
    struct node_reader reader = {.execution = execution};
    struct input input;
    struct scan scan;
    if (!input_open(&input, path, status))
        return status_context(status, "%s", path);
    scan_open(&scan, &input);
    bool ok = json_members(&scan, read_top, &reader, status);
    if (ok && reader.nodes == 0)
        ok = status_fail(status, STATUS_INPUT, "is not an execution trace of PyTorch");
    scan_close(&scan);
    json_record_finish(&reader.record);
    buffer_finish(&reader.text);
    return ok || status_context(status, "%s", path);
}

void execution_trace_finish(struct execution_trace *execution) {
    map_finish(&execution->nodes);
    intern_finish(&execution->texts);
}

bool execution_trace_find(const struct execution_trace *execution, uint64_t id, struct text *shapes,
                          struct text *types) {
    const uint64_t *found = map_find(&execution->nodes, id);
    if (!found)
        return false;
    *shapes = intern_text(&execution->texts, (uint32_t)*found);
    *types = intern_text(&execution->texts, (uint32_t)(*found >> 32));
    return true;
}
