/* RPD, the SQLite trace of rocmProfileData ("rocpd schema 2").
 *
 * A row of rocpd_api_ops joins an operation to its call, so the call's row id is the correlation
 * id; it is unique in the file. Grids and copy sizes belong to the call, in side tables that are
 * loaded first. Times are nanoseconds since boot. Schema 3, which rocprofv3 writes, is another
 * format: see rocpd.c. */
#include "base/array.h"
#include "import/sqlite_strings.h"

#include <stdio.h>

#ifdef RIDGE_HAVE_SQLITE

enum call_variant { CALL_PLAIN, CALL_IN_WORK_ITEMS, CALL_MARKER };

struct kernel_shape {
    uint32_t grid[3], block[3];
    uint32_t shared;
    int64_t name; /* of rocpd_string */
};

struct rpd {
    struct sqlite_source source;
    struct trace_writer *writer;
    const struct import_options *options;
    struct sqlite_strings strings;
    struct map call_of_op;    /* rocpd_op.id -> rocpd_api.id */
    struct map copy_bytes;    /* rocpd_api.id -> bytes */
    struct map copy_kinds;    /* rocpd_api.id -> kind and whether it is pinned */
    struct map shape_of_call; /* rocpd_api.id -> index of shapes */
    struct kernel_shape *shapes;
    size_t shape_count, shape_capacity;
    struct map in_work_items;              /* rocpd_api.id of launches with a grid in work items */
    struct map call_names;                 /* rocpd_string.id -> packed struct call_name */
    struct map op_kinds;                   /* rocpd_string.id -> enum op_kind */
    struct map processes;                  /* pid -> row in the trace */
    struct intern thread_keys, queue_keys; /* {process, tid}, {gpu, queue} */
    uint32_t *threads, *queues;
    size_t thread_capacity, queue_capacity;
    struct map devices; /* gpuId -> row in the trace */
    uint64_t events, other_ops;
};

static bool next_event(struct rpd *rpd, struct sqlite_rows *rows, struct status *status) {
    if (rpd->events % 4096 == 0 && trace_writer_failed(rpd->writer))
        return false;
    if (!sqlite_rows_next(rows, status))
        return false;
    rpd->events++;
    return true;
}

static bool load_joins(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &rpd->source, "rocpd_api_ops", "api_id op_id", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        int64_t call = sqlite_rows_integer(&rows, 0, 0), op = sqlite_rows_integer(&rows, 1, 0);
        if (call > 0 && op > 0)
            rows.failed = !map_set(&rpd->call_of_op, (uint64_t)op, (uint64_t)call, status);
    }
    return sqlite_rows_close(&rows);
}

/* Some versions write '' for an absent number. Two-dimensional copies have width and height. */
static uint64_t copy_size(const struct sqlite_rows *rows) {
    int64_t size = sqlite_rows_integer(rows, 1, -1);
    uint64_t width = sqlite_rows_u32(rows, 2), height = sqlite_rows_u32(rows, 3);
    if (size >= 0)
        return (uint64_t)size;
    return width && height ? width * height : BYTES_UNKNOWN;
}

static bool load_copies(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &rpd->source, "rocpd_copyapi",
                     "api_ptr_id size width height kind pinned", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        uint64_t call = (uint64_t)sqlite_rows_integer(&rows, 0, 0);
        uint64_t kind = sqlite_rows_u32(&rows, 4) & 0xFF;
        uint64_t pinned = sqlite_rows_integer(&rows, 5, 0) == 1;
        rows.failed = !map_set(&rpd->copy_bytes, call, copy_size(&rows), status) ||
                      !map_set(&rpd->copy_kinds, call, kind | pinned << 8, status);
    }
    return sqlite_rows_close(&rows);
}

static bool load_shapes(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &rpd->source, "rocpd_kernelapi",
                     "api_ptr_id gridX gridY gridZ workgroupX workgroupY workgroupZ "
                     "groupSegmentSize kernelName_id",
                     NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct kernel_shape shape = {.shared = sqlite_rows_u32(&rows, 7),
                                     .name = sqlite_rows_integer(&rows, 8, -1)};
        for (unsigned i = 0; i < 3; i++) {
            shape.grid[i] = sqlite_rows_u32(&rows, 1 + i);
            shape.block[i] = sqlite_rows_u32(&rows, 4 + i);
        }
        rows.failed = !GROW(rpd->shapes, &rpd->shape_capacity, rpd->shape_count + 1, status) ||
                      !map_set(&rpd->shape_of_call, (uint64_t)sqlite_rows_integer(&rows, 0, 0),
                               rpd->shape_count, status);
        if (!rows.failed)
            rpd->shapes[rpd->shape_count++] = shape;
    }
    return sqlite_rows_close(&rows);
}

static bool find_thread(struct rpd *rpd, int64_t pid, int64_t tid, uint32_t *thread,
                        struct status *status) {
    const uint64_t *known = map_find(&rpd->processes, (uint64_t)pid);
    uint32_t process = known ? (uint32_t)*known : 0, place;
    if (!known) {
        process = trace_write_process(rpd->writer, &(struct row_process){.pid = (uint64_t)pid});
        if (!map_set(&rpd->processes, (uint64_t)pid, process, status))
            return false;
    }
    int64_t key[2] = {process, tid};
    size_t before = rpd->thread_keys.count;
    if (!intern_add(&rpd->thread_keys, (struct text){(const char *)key, sizeof key}, &place,
                    status) ||
        !GROW(rpd->threads, &rpd->thread_capacity, (size_t)place + 1, status))
        return false;
    if (rpd->thread_keys.count > before)
        rpd->threads[place] =
            trace_write_thread(rpd->writer, &(struct row_thread){.process = process, .tid = tid});
    *thread = rpd->threads[place];
    return true;
}

static bool find_device(struct rpd *rpd, int64_t gpu, uint32_t *device, struct status *status) {
    const uint64_t *known = map_find(&rpd->devices, (uint64_t)gpu);
    char label[32];
    *device = known ? (uint32_t)*known : 0;
    if (known)
        return true;
    snprintf(label, sizeof label, "%lld", (long long)gpu);
    *device = trace_write_device(
        rpd->writer,
        &(struct row_device){.index = gpu >= 0 && gpu <= UINT32_MAX ? (uint32_t)gpu : 0,
                             .label = trace_writer_string(rpd->writer, text_of(label)),
                             .vendor = trace_writer_string(rpd->writer, TEXT("AMD"))});
    return map_set(&rpd->devices, (uint64_t)gpu, *device, status);
}

static bool find_queue(struct rpd *rpd, int64_t gpu, int64_t stream, uint32_t *queue,
                       struct status *status) {
    int64_t key[2] = {gpu, stream};
    size_t before = rpd->queue_keys.count;
    uint32_t place;
    if (!intern_add(&rpd->queue_keys, (struct text){(const char *)key, sizeof key}, &place,
                    status) ||
        !GROW(rpd->queues, &rpd->queue_capacity, (size_t)place + 1, status))
        return false;
    if (rpd->queue_keys.count > before) {
        struct row_queue row = {.stream = stream};
        if (!find_device(rpd, gpu, &row.device, status))
            return false;
        rpd->queues[place] = trace_write_queue(rpd->writer, &row);
    }
    *queue = rpd->queues[place];
    return true;
}

struct call_name {
    uint32_t string;
    uint8_t class, variant;
};

/* hipExtModuleLaunchKernel and its predecessor take the grid in work items, all others in blocks.
 */
static enum call_variant variant_of(struct text name) {
    if (text_is(name, "UserMarker"))
        return CALL_MARKER;
    return text_starts(name, "hipExtModuleLaunch") || text_starts(name, "hipHccModuleLaunch")
               ? CALL_IN_WORK_ITEMS
               : CALL_PLAIN;
}

static bool name_call(struct rpd *rpd, int64_t id, struct call_name *name, struct status *status) {
    const uint64_t *known = map_find(&rpd->call_names, (uint64_t)id);
    struct text text;
    if (known) {
        *name =
            (struct call_name){(uint32_t)*known, (uint8_t)(*known >> 32), (uint8_t)(*known >> 40)};
        return true;
    }
    if (!sqlite_strings_text(&rpd->strings, id, &text, status))
        return false;
    *name = (struct call_name){trace_writer_string(rpd->writer, text),
                               (uint8_t)import_call_class(text), (uint8_t)variant_of(text)};
    return map_set(&rpd->call_names, (uint64_t)id,
                   name->string | (uint64_t)name->class << 32 | (uint64_t)name->variant << 40,
                   status);
}

static bool read_call(struct rpd *rpd, struct sqlite_rows *rows, struct status *status) {
    int64_t start, duration, id = sqlite_rows_integer(rows, 2, 0);
    uint32_t thread, arguments = 0;
    struct call_name name;
    if (!sqlite_rows_span(rows, rpd->options, rpd->writer, &start, &duration, status))
        return !rows->failed;
    if (!name_call(rpd, sqlite_rows_integer(rows, 5, 0), &name, status) ||
        !find_thread(rpd, sqlite_rows_integer(rows, 3, 0), sqlite_rows_integer(rows, 4, 0), &thread,
                     status))
        return false;
    if (name.variant == CALL_MARKER) {
        if (!sqlite_strings_column(&rpd->strings, rows, 6, &arguments, status))
            return false;
        trace_write_range(rpd->writer, &(struct row_range){.start = start,
                                                           .duration = duration,
                                                           .thread = thread,
                                                           .name = arguments,
                                                           .category = RANGE_ANNOTATION});
        return true;
    }
    trace_write_call(rpd->writer, &(struct row_call){.start = start,
                                                     .duration = duration,
                                                     .thread = thread,
                                                     .name = name.string,
                                                     .class = name.class,
                                                     .correlation = id > 0 ? (uint64_t)id : 0});
    return name.variant != CALL_IN_WORK_ITEMS ||
           map_set(&rpd->in_work_items, (uint64_t)id, 1, status);
}

static bool read_calls(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &rpd->source, "rocpd_api", "start end id pid tid apiName_id args_id",
                     NULL, status);
    while (next_event(rpd, &rows, status))
        if (!read_call(rpd, &rows, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

enum op_kind { OP_OTHER, OP_KERNEL, OP_SET, OP_COPY, OP_HTOD, OP_DTOH, OP_DTOD };

static enum op_kind kind_of(struct text type) {
    static const struct {
        const char *type;
        enum op_kind kind;
    } kinds[] = {
        {"KernelExecution", OP_KERNEL}, {"Task", OP_KERNEL},
        {"FillBuffer", OP_SET},         {"CopyHostToDevice", OP_HTOD},
        {"CopyDeviceToHost", OP_DTOH},  {"CopyDeviceToDevice", OP_DTOD},
    };
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if (text_is(type, kinds[i].type))
            return kinds[i].kind;
    return text_starts(type, "Copy") ? OP_COPY : OP_OTHER;
}

static bool classify_op(struct rpd *rpd, int64_t type, enum op_kind *kind, struct status *status) {
    const uint64_t *known = map_find(&rpd->op_kinds, (uint64_t)type);
    struct text text;
    if (known) {
        *kind = (enum op_kind) * known;
        return true;
    }
    if (!sqlite_strings_text(&rpd->strings, type, &text, status))
        return false;
    *kind = kind_of(text);
    return map_set(&rpd->op_kinds, (uint64_t)type, *kind, status);
}

static bool describe_kernel(struct rpd *rpd, struct row_activity *row, struct status *status) {
    const uint64_t *place = map_find(&rpd->shape_of_call, row->correlation);
    row->bytes = BYTES_UNKNOWN;
    if (!place || row->correlation == 0)
        return true;
    const struct kernel_shape *shape = &rpd->shapes[*place];
    bool items = map_find(&rpd->in_work_items, row->correlation) != NULL;
    row->block_x = shape->block[0];
    row->block_y = shape->block[1];
    row->block_z = shape->block[2];
    row->grid_x = items ? import_blocks(shape->grid[0], shape->block[0]) : shape->grid[0];
    row->grid_y = items ? import_blocks(shape->grid[1], shape->block[1]) : shape->grid[1];
    row->grid_z = items ? import_blocks(shape->grid[2], shape->block[2]) : shape->grid[2];
    row->shared_dynamic = shape->shared;
    return row->name != 0 || sqlite_strings_get(&rpd->strings, shape->name, &row->name, status);
}

static void describe_copy(struct rpd *rpd, enum op_kind kind, struct row_activity *row) {
    static const uint8_t by_kind[] = {COPY_HTOH, COPY_HTOD, COPY_DTOH, COPY_DTOD};
    const uint64_t *bytes = map_find(&rpd->copy_bytes, row->correlation);
    const uint64_t *known = map_find(&rpd->copy_kinds, row->correlation);
    uint64_t call_kind = known && row->correlation ? *known & 0xFF : UINT64_MAX;
    bool pinned = known && row->correlation && *known >> 8;
    row->bytes = bytes && row->correlation ? *bytes : BYTES_UNKNOWN;
    if (kind == OP_COPY)
        row->direction = call_kind < sizeof by_kind ? by_kind[call_kind] : COPY_UNKNOWN;
    else
        row->direction = kind == OP_HTOD ? COPY_HTOD : kind == OP_DTOH ? COPY_DTOH : COPY_DTOD;
    /* The tracer writes 0 where it does not know. */
    enum memory_kind host = pinned ? MEMORY_PINNED : MEMORY_UNKNOWN;
    row->from_memory = row->direction == COPY_HTOD || row->direction == COPY_HTOH ? host
                       : row->direction == COPY_UNKNOWN                           ? MEMORY_UNKNOWN
                                                                                  : MEMORY_DEVICE;
    row->to_memory = row->direction == COPY_DTOH || row->direction == COPY_HTOH ? host
                     : row->direction == COPY_UNKNOWN                           ? MEMORY_UNKNOWN
                                                                                : MEMORY_DEVICE;
}

/* An operation without a description is named after its type. */
static bool read_op(struct rpd *rpd, struct sqlite_rows *rows, struct status *status) {
    struct row_activity row = {0};
    enum op_kind kind;
    int64_t id = sqlite_rows_integer(rows, 2, 0), type = sqlite_rows_integer(rows, 6, 0);
    if (!classify_op(rpd, type, &kind, status))
        return false;
    if (kind == OP_OTHER) {
        rpd->other_ops++;
        return true;
    }
    if (!sqlite_rows_span(rows, rpd->options, rpd->writer, &row.start, &row.duration, status))
        return !rows->failed;
    const uint64_t *call = map_find(&rpd->call_of_op, (uint64_t)id);
    row.correlation = call ? *call : 0;
    row.kind = kind == OP_KERNEL ? ACTIVITY_KERNEL : kind == OP_SET ? ACTIVITY_SET : ACTIVITY_COPY;
    if (!find_queue(rpd, sqlite_rows_integer(rows, 3, 0), sqlite_rows_integer(rows, 4, 0),
                    &row.queue, status) ||
        !sqlite_strings_column(&rpd->strings, rows, 5, &row.name, status) ||
        (kind == OP_KERNEL && !describe_kernel(rpd, &row, status)))
        return false;
    if (row.kind == ACTIVITY_COPY)
        describe_copy(rpd, kind, &row);
    if (row.kind == ACTIVITY_SET)
        row.bytes = BYTES_UNKNOWN;
    if (row.name == 0 && !sqlite_strings_get(&rpd->strings, type, &row.name, status))
        return false;
    trace_write_activity(rpd->writer, &row);
    return true;
}

static bool read_ops(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &rpd->source, "rocpd_op",
                     "start end id gpuId queueId description_id opType_id", NULL, status);
    while (next_event(rpd, &rows, status))
        if (!read_op(rpd, &rows, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

/* The monitor numbers devices like rocm-smi, operations like the kernel driver. The mapping is not
 * recorded, so the number stays in the counter's name. */
static bool read_monitor(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    sqlite_rows_open(&rows, &rpd->source, "rocpd_monitor",
                     "start deviceType deviceId monitorType value", NULL, status);
    while (next_event(rpd, &rows, status)) {
        struct row_counter row = {.value = sqlite_rows_number(&rows, 4)};
        struct text type = sqlite_rows_text(&rows, 1), monitor = sqlite_rows_text(&rows, 3);
        char name[96];
        if (!sqlite_rows_time(&rows, rpd->options, rpd->writer, &row.time, status))
            continue;
        snprintf(name, sizeof name, "%.*s %lld %.*s", type.length < 32 ? (int)type.length : 32,
                 type.data, (long long)sqlite_rows_integer(&rows, 2, 0),
                 monitor.length < 32 ? (int)monitor.length : 32, monitor.data);
        row.name = trace_writer_string(rpd->writer, text_of(name));
        trace_write_counter(rpd->writer, &row);
    }
    return sqlite_rows_close(&rows);
}

static bool check_schema(struct rpd *rpd, struct status *status) {
    struct sqlite_rows rows;
    char schema[24] = "";
    sqlite_rows_open(&rows, &rpd->source, "rocpd_metadata", "tag value", NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        struct text value = sqlite_rows_text(&rows, 1);
        if (text_is(sqlite_rows_text(&rows, 0), "schema_version"))
            snprintf(schema, sizeof schema, "%.*s", value.length < 20 ? (int)value.length : 20,
                     value.data);
    }
    if (!sqlite_rows_close(&rows))
        return false;
    bool has_tables = sqlite_source_has_table(&rpd->source, "rocpd_op") &&
                      sqlite_source_has_table(&rpd->source, "rocpd_api");
    if (has_tables && (schema[0] == '\0' || schema[0] == '2'))
        return true;
    if (has_tables)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "is an RPD trace of schema %s; ridge reads schema 2", schema);
    return status_fail(
        status, STATUS_UNSUPPORTED,
        "is a rocpd database without tables of API calls and operations or of dispatches; "
        "record again with rocprofv3 --runtime-trace");
}

static void write_meta(struct rpd *rpd) {
    char warning[200];
    trace_writer_meta(rpd->writer, META_SOURCE_FORMAT, TEXT("rpd"));
    trace_writer_meta(rpd->writer, META_SOURCE_TOOL, TEXT("rocmProfileData (schema 2)"));
    trace_writer_meta(rpd->writer, META_CLOCK_BASE, TEXT("monotonic"));
    trace_writer_meta_integer(rpd->writer, "source.events", (int64_t)rpd->events);
    sqlite_source_warn(&rpd->source, rpd->writer);
    if (rpd->other_ops > 0) {
        snprintf(warning, sizeof warning,
                 "skipped device operations that are not kernels, copies or fills (mostly "
                 "barriers): %llu",
                 (unsigned long long)rpd->other_ops);
        trace_writer_meta(rpd->writer, META_WARNING, text_of(warning));
    }
}

static void rpd_finish(struct rpd *rpd) {
    sqlite_strings_close(&rpd->strings);
    sqlite_source_close(&rpd->source);
    map_finish(&rpd->call_of_op);
    map_finish(&rpd->copy_bytes);
    map_finish(&rpd->copy_kinds);
    map_finish(&rpd->shape_of_call);
    memory_free(rpd->shapes);
    map_finish(&rpd->in_work_items);
    map_finish(&rpd->call_names);
    map_finish(&rpd->op_kinds);
    map_finish(&rpd->processes);
    intern_finish(&rpd->thread_keys);
    intern_finish(&rpd->queue_keys);
    memory_free(rpd->threads);
    memory_free(rpd->queues);
    map_finish(&rpd->devices);
}

static bool rpd_run(const struct import_source *source, const struct import_options *options,
                    struct trace_writer *writer, struct status *status) {
    struct rpd rpd = {.writer = writer, .options = options};
    bool ok =
        sqlite_source_open(&rpd.source, source->path, status) && check_schema(&rpd, status) &&
        sqlite_strings_open(&rpd.strings, &rpd.source, writer, "rocpd_string", "string", status) &&
        load_joins(&rpd, status) && load_copies(&rpd, status) && load_shapes(&rpd, status) &&
        read_calls(&rpd, status) && read_ops(&rpd, status) && read_monitor(&rpd, status) &&
        sqlite_source_ok(&rpd.source, status);
    if (ok)
        write_meta(&rpd);
    rpd_finish(&rpd);
    return ok;
}

static int rpd_detect(const struct import_source *source) {
    struct sqlite_source database;
    struct status ignored = {0};
    if (source->is_folder || !sqlite_source_detect(source->head, source->head_length) ||
        !sqlite_source_open(&database, source->path, &ignored))
        return 0;
    int confidence = sqlite_source_has_table(&database, "rocpd_op") ? 3
                     : sqlite_source_has_prefix(&database, "rocpd_metadata") ||
                             sqlite_source_has_prefix(&database, "rocpd_info_")
                         ? 2
                         : 0;
    sqlite_source_close(&database);
    return confidence;
}

const struct importer import_rpd = {.format = "rpd", .detect = rpd_detect, .run = rpd_run};

#else

/* The Nsight Systems importer explains all SQLite databases. */
static int rpd_detect(const struct import_source *source) {
    (void)source;
    return 0;
}

const struct importer import_rpd = {.format = "rpd", .detect = rpd_detect, .missing = "SQLite"};

#endif
