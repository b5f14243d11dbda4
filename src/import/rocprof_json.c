/* The JSON of rocprofv3 (--output-format json): one object for each process, with agents, names,
 * kernel symbols and, behind them, lists of records. Names are numbers of strings.buffer_records.
 * A dispatch and its launching call have the same internal correlation id. Times are nanoseconds
 * since boot. Grids are work items. */
#include <stdio.h>

#include "base/json_record.h"
#include "base/map.h"
#include "base/min_max.h"
#include "import/entities.h"
#include "import/import.h"

enum { AGENT_GPU = 2 };

struct rocprof_json {
    const struct import_options *options;
    struct trace_writer *writer;
    struct entities entities;
    struct json_record record;
    uint64_t events;
    /* The current process. */
    uint32_t process;
    struct map agents;     /* handle -> device + 1; 1 for a CPU */
    struct map operations; /* kind << 32 | operation -> string id, class of the call << 32 */
    struct map markers;    /* correlation id -> string id */
    struct map symbols;    /* kernel id -> string id, registers << 32 */
    struct map counters;   /* handle -> string id */
    uint64_t kinds, launches;
};

static uint64_t value_of(const struct map *map, uint64_t key) {
    const uint64_t *value = map_find(map, key);
    return value ? *value : 0;
}

static int64_t integer(const struct rocprof_json *import, const char *path) {
    return json_record_integer(&import->record, path, 0);
}

static uint32_t string_at(struct rocprof_json *import, const char *path) {
    return trace_writer_string(import->writer, json_record_text(&import->record, path));
}

static bool read_record(struct rocprof_json *import, struct scan *scan, struct status *status) {
    return json_record_read(scan, &import->record, status);
}

/* ---- What records refer to ------------------------------------------------------------------ */

static bool read_metadata(struct rocprof_json *import, struct scan *scan, struct status *status) {
    struct buffer command = {0};
    char path[32] = "command.0";
    if (!read_record(import, scan, status))
        return false;
    for (unsigned i = 0; json_record_has(&import->record, path) && i < 10000; i++) {
        if (i > 0)
            buffer_byte(&command, ' ');
        buffer_text(&command, json_record_text(&import->record, path));
        snprintf(path, sizeof path, "command.%u", i + 1);
    }
    if (command.length)
        trace_writer_meta(import->writer, META_COMMAND, buffer_as_text(&command));
    bool ok = buffer_ok(&command, status);
    buffer_finish(&command);
    import->process =
        entity_process(&import->entities, (uint64_t)integer(import, "pid"), TEXT(""), status);
    return ok && import->process;
}

static uint32_t make_device(struct rocprof_json *import, struct status *status) {
    const struct json_record *record = &import->record;
    int64_t node = json_record_integer(record, "logical_node_id", 0);
    struct text product = json_record_text(record, "product_name");
    struct row_device row = {
        .name = trace_writer_string(import->writer,
                                    product.length ? product : json_record_text(record, "name")),
        .vendor = trace_writer_string(import->writer, TEXT("AMD")),
        .multiprocessors = json_record_u32(record, "cu_count"),
        .warp_size = json_record_u32(record, "wave_front_size"),
        .clock_hz = (uint64_t)json_record_u32(record, "max_engine_clk_fcompute") * 1000000,
    };
    return entity_device(&import->entities, node, &row, status);
}

static bool read_agent(void *context, struct scan *scan, struct text key, struct status *status) {
    struct rocprof_json *import = context;
    uint32_t device = 0;
    (void)key;
    if (!read_record(import, scan, status))
        return false;
    if (integer(import, "type") == AGENT_GPU && !(device = make_device(import, status)))
        return false;
    return map_set(&import->agents, (uint64_t)integer(import, "id.handle"), device + 1, status);
}

/* {"kind": "HIP_RUNTIME_API", "operations": [...]}: kinds and operations are numbered in order. */
static bool read_kind(void *context, struct scan *scan, struct text key, struct status *status) {
    struct rocprof_json *import = context;
    char path[40] = "operations.0";
    (void)key;
    if (!read_record(import, scan, status))
        return false;
    /* The members of a list follow each other: no search for each. */
    const struct json_record *record = &import->record;
    for (size_t i = 0, operation = 0; i < record->count; i++) {
        const struct json_member *member = &record->members[i];
        if (member->path_length != strlen(path) ||
            memcmp(record->text.data + member->path, path, member->path_length) != 0)
            continue;
        struct text name = {record->text.data + member->value, member->value_length};
        uint64_t value = trace_writer_string(import->writer, name);
        if (!map_set(&import->operations, import->kinds << 32 | operation,
                     value | (uint64_t)import_call_class(name) << 32, status))
            return false;
        snprintf(path, sizeof path, "operations.%zu", ++operation);
    }
    import->kinds++;
    return true;
}

/* {"key": correlation id, "value": text} */
static bool read_marker_text(void *context, struct scan *scan, struct text key,
                             struct status *status) {
    struct rocprof_json *import = context;
    (void)key;
    return read_record(import, scan, status) &&
           map_set(&import->markers, (uint64_t)integer(import, "key"), string_at(import, "value"),
                   status);
}

static bool read_strings(void *context, struct scan *scan, struct text key, struct status *status) {
    if (text_is(key, "buffer_records"))
        return json_elements(scan, read_kind, context, status);
    if (text_is(key, "marker_api"))
        return json_elements(scan, read_marker_text, context, status);
    return json_skip(scan, status);
}

/* Without the suffix of a kernel descriptor. */
static struct text kernel_name(const struct json_record *record) {
    static const char *const members[] = {"formatted_kernel_name", "demangled_kernel_name",
                                          "kernel_name"};
    struct text name = TEXT("");
    for (unsigned i = 0; i < 3 && name.length == 0; i++)
        name = json_record_text(record, members[i]);
    if (name.length > 3 && memcmp(name.data + name.length - 3, ".kd", 3) == 0)
        name.length -= 3;
    return name;
}

static bool read_symbol(void *context, struct scan *scan, struct text key, struct status *status) {
    struct rocprof_json *import = context;
    (void)key;
    if (!read_record(import, scan, status))
        return false;
    uint64_t name = trace_writer_string(import->writer, kernel_name(&import->record));
    uint64_t registers = json_record_u32(&import->record, "arch_vgpr_count");
    return map_set(&import->symbols, (uint64_t)integer(import, "kernel_id"), name | registers << 32,
                   status);
}

static bool read_counter_name(void *context, struct scan *scan, struct text key,
                              struct status *status) {
    struct rocprof_json *import = context;
    (void)key;
    return read_record(import, scan, status) &&
           map_set(&import->counters, (uint64_t)integer(import, "id.handle"),
                   string_at(import, "name"), status);
}

/* ---- Records -------------------------------------------------------------------------------- */

/* False for a record to skip; *ok is false when that is an error. */
static bool take_times(struct rocprof_json *import, int64_t *start, int64_t *duration, bool *ok,
                       struct status *status) {
    int64_t end = json_record_integer(&import->record, "end_timestamp", -1);
    *start = json_record_integer(&import->record, "start_timestamp", -1);
    *ok = true;
    import->events++;
    if (*start >= 0 && end >= *start && end <= TRACE_TIME_LIMIT) {
        *duration = end - *start;
        return true;
    }
    trace_writer_dropped(import->writer, 1);
    if (!import->options->skip_invalid)
        *ok = status_fail(status, STATUS_INPUT,
                          "a record starts at %lld and ends at %lld, which are not valid times; "
                          "--skip-invalid drops such events",
                          (long long)*start, (long long)end);
    return false;
}

static uint32_t find_device(const struct rocprof_json *import, const char *path) {
    uint64_t agent = value_of(&import->agents, (uint64_t)integer(import, path));
    return agent ? (uint32_t)agent - 1 : 0;
}

static uint32_t find_queue(struct rocprof_json *import, uint32_t device, int64_t queue,
                           struct status *status) {
    return entity_queue(&import->entities, device, import->process, queue, status);
}

/* `info` is the path of a dispatch_info. */
static void describe_kernel(struct rocprof_json *import, const char *info,
                            struct row_activity *row) {
    static const char *const members[] = {
        "workgroup_size.x", "workgroup_size.y", "workgroup_size.z",  "grid_size.x",
        "grid_size.y",      "grid_size.z",      "group_segment_size"};
    uint32_t values[7];
    char path[96];
    for (unsigned i = 0; i < 7; i++) {
        snprintf(path, sizeof path, "%s.%s", info, members[i]);
        values[i] = json_record_u32(&import->record, path);
    }
    snprintf(path, sizeof path, "%s.kernel_id", info);
    uint64_t symbol = value_of(&import->symbols, (uint64_t)integer(import, path));
    row->name = (uint32_t)symbol;
    row->registers = (uint32_t)(symbol >> 32);
    row->block_x = values[0], row->block_y = values[1], row->block_z = values[2];
    row->grid_x = import_blocks(values[3], values[0]);
    row->grid_y = import_blocks(values[4], values[1]);
    row->grid_z = import_blocks(values[5], values[2]);
    row->shared_dynamic = values[6];
}

static bool read_dispatch(void *context, struct scan *scan, struct text key,
                          struct status *status) {
    struct rocprof_json *import = context;
    struct row_activity row = {.kind = ACTIVITY_KERNEL, .bytes = BYTES_UNKNOWN};
    bool ok;
    (void)key;
    if (!read_record(import, scan, status))
        return false;
    if (!take_times(import, &row.start, &row.duration, &ok, status))
        return ok;
    row.correlation = (uint64_t)integer(import, "correlation_id.internal");
    describe_kernel(import, "dispatch_info", &row);
    row.queue = find_queue(import, find_device(import, "dispatch_info.agent_id.handle"),
                           integer(import, "dispatch_info.queue_id.handle"), status);
    if (!row.queue)
        return false;
    trace_write_activity(import->writer, &row);
    return true;
}

static uint64_t find_operation(const struct rocprof_json *import) {
    return value_of(&import->operations, (uint64_t)integer(import, "kind") << 32 |
                                             json_record_u32(&import->record, "operation"));
}

static bool read_copy(void *context, struct scan *scan, struct text key, struct status *status) {
    struct rocprof_json *import = context;
    struct row_activity row = {.kind = ACTIVITY_COPY};
    bool ok;
    (void)key;
    if (!read_record(import, scan, status))
        return false;
    if (!take_times(import, &row.start, &row.duration, &ok, status))
        return ok;
    uint32_t to = find_device(import, "dst_agent_id.handle");
    uint32_t from = find_device(import, "src_agent_id.handle");
    row.correlation = (uint64_t)integer(import, "correlation_id.internal");
    row.bytes = (uint64_t)json_record_integer(&import->record, "bytes", (int64_t)BYTES_UNKNOWN);
    import_copy_ends(&row, from, to);
    row.name = (uint32_t)find_operation(import);
    row.queue = find_queue(import, to ? to : from, -1, status); /* copies have no queue */
    if (!row.queue)
        return false;
    trace_write_activity(import->writer, &row);
    return true;
}

static bool read_api(struct rocprof_json *import, struct scan *scan, bool is_marker,
                     struct status *status) {
    struct row_call row = {0};
    bool ok;
    if (!read_record(import, scan, status))
        return false;
    if (!take_times(import, &row.start, &row.duration, &ok, status))
        return ok;
    row.thread = entity_thread(&import->entities, import->process, integer(import, "thread_id"),
                               TEXT(""), status);
    if (!row.thread)
        return false;
    row.correlation = (uint64_t)integer(import, "correlation_id.internal");
    uint64_t operation = find_operation(import);
    row.name = (uint32_t)operation;
    row.class = (uint8_t)(operation >> 32);
    if (!is_marker) {
        trace_write_call(import->writer, &row);
        return true;
    }
    uint32_t text = (uint32_t)value_of(&import->markers, row.correlation);
    trace_write_range(import->writer, &(struct row_range){.start = row.start,
                                                          .duration = row.duration,
                                                          .thread = row.thread,
                                                          .name = text ? text : row.name,
                                                          .category = RANGE_ANNOTATION});
    return true;
}

static bool read_call(void *context, struct scan *scan, struct text key, struct status *status) {
    (void)key;
    return read_api(context, scan, false, status);
}

static bool read_marker(void *context, struct scan *scan, struct text key, struct status *status) {
    (void)key;
    return read_api(context, scan, true, status);
}

static bool read_records(void *context, struct scan *scan, struct text key, struct status *status) {
    if (text_is(key, "kernel_dispatch"))
        return json_elements(scan, read_dispatch, context, status);
    if (text_is(key, "memory_copy"))
        return json_elements(scan, read_copy, context, status);
    if (text_is(key, "marker_api"))
        return json_elements(scan, read_marker, context, status);
    if (key.length > 4 && memcmp(key.data + key.length - 4, "_api", 4) == 0)
        return json_elements(scan, read_call, context, status);
    return json_skip(scan, status);
}

/* ---- Counters ------------------------------------------------------------------------------- */

/* The counters of one dispatch, which may be of another time: the rows have that of the start. */
static bool read_counters(void *context, struct scan *scan, struct text key,
                          struct status *status) {
    struct rocprof_json *import = context;
    struct row_activity kernel = {0};
    char id[48] = "records.0.counter_id.handle", value[48] = "records.0.value";
    (void)key;
    if (!read_record(import, scan, status))
        return false;
    describe_kernel(import, "dispatch_data.dispatch_info", &kernel);
    struct row_metric row = {
        .launch = ++import->launches,
        .device = find_device(import, "dispatch_data.dispatch_info.agent_id.handle"),
        .kernel = kernel.name,
        .grid_x = kernel.grid_x,
        .grid_y = kernel.grid_y,
        .grid_z = kernel.grid_z,
        .block_x = kernel.block_x,
        .block_y = kernel.block_y,
        .block_z = kernel.block_z,
        .time = MAX(json_record_integer(&import->record, "dispatch_data.start_timestamp", 0), 0),
    };
    if (row.time > TRACE_TIME_LIMIT)
        row.time = 0;
    import->events++;
    for (unsigned i = 0; json_record_has(&import->record, id) && i < 10000; i++) {
        row.name = (uint32_t)value_of(&import->counters, (uint64_t)integer(import, id));
        row.value = json_record_double(&import->record, value, 0);
        if (row.name)
            trace_write_metric(import->writer, &row);
        snprintf(id, sizeof id, "records.%u.counter_id.handle", i + 1);
        snprintf(value, sizeof value, "records.%u.value", i + 1);
    }
    return true;
}

static bool read_callbacks(void *context, struct scan *scan, struct text key,
                           struct status *status) {
    return text_is(key, "counter_collection") ? json_elements(scan, read_counters, context, status)
                                              : json_skip(scan, status);
}

/* ---- File ----------------------------------------------------------------------------------- */

static void forget_process(struct rocprof_json *import) {
    map_finish(&import->agents);
    map_finish(&import->operations);
    map_finish(&import->markers);
    map_finish(&import->symbols);
    map_finish(&import->counters);
    import->kinds = 0;
}

static bool read_member(void *context, struct scan *scan, struct text key, struct status *status) {
    struct rocprof_json *import = context;
    if (text_is(key, "metadata"))
        return read_metadata(import, scan, status);
    if (text_is(key, "agents"))
        return json_elements(scan, read_agent, import, status);
    if (text_is(key, "counters"))
        return json_elements(scan, read_counter_name, import, status);
    if (text_is(key, "strings"))
        return json_members(scan, read_strings, import, status);
    if (text_is(key, "kernel_symbols"))
        return json_elements(scan, read_symbol, import, status);
    if (text_is(key, "callback_records"))
        return json_members(scan, read_callbacks, import, status);
    if (text_is(key, "buffer_records"))
        return json_members(scan, read_records, import, status);
    return json_skip(scan, status);
}

static bool read_process(void *context, struct scan *scan, struct text key, struct status *status) {
    struct rocprof_json *import = context;
    (void)key;
    forget_process(import);
    import->process = 0; /* known from the metadata, which come first */
    return json_members(scan, read_member, import, status);
}

static bool read_file(void *context, struct scan *scan, struct text key, struct status *status) {
    return text_is(key, "rocprofiler-sdk-tool") ? json_elements(scan, read_process, context, status)
                                                : json_skip(scan, status);
}

static bool rocprof_json_run(const struct import_source *source,
                             const struct import_options *options, struct trace_writer *writer,
                             struct status *status) {
    struct rocprof_json import = {.options = options, .writer = writer, .entities.writer = writer};
    struct input input;
    struct scan scan;
    if (!input_open(&input, source->path, status))
        return false;
    scan_open(&scan, &input);
    bool ok = json_members(&scan, read_file, &import, status);
    if (ok && import.events == 0)
        ok = status_fail(status, STATUS_INPUT,
                         "is rocprofv3's JSON without events; record again with --runtime-trace or "
                         "--kernel-trace");
    if (ok) {
        trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("rocprof-json"));
        trace_writer_meta(writer, META_SOURCE_TOOL, TEXT("rocprofv3 (JSON)"));
        trace_writer_meta(writer, META_CLOCK_BASE, TEXT("monotonic"));
        trace_writer_meta_integer(writer, "source.events", (int64_t)import.events);
    }
    forget_process(&import);
    json_record_finish(&import.record);
    entities_release(&import.entities);
    scan_close(&scan);
    return ok;
}

static int rocprof_json_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    return !source->is_folder && head.length && (head.data[0] == '{' || head.data[0] == ' ') &&
                   text_find(head, "\"rocprofiler-sdk-tool\"") >= 0
               ? 3
               : 0;
}

const struct importer import_rocprof_json = {
    .format = "rocprof-json", .detect = rocprof_json_detect, .run = rocprof_json_run};
