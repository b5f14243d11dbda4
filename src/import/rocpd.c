/* rocpd, schema 3: the SQLite database that rocprofv3 writes since ROCm 7, one for each process.
 *
 * Tables are called NAME_UUID, and views called NAME unite them; only tables are read. Dispatches,
 * copies and regions (API calls and markers) refer to a row of rocpd_event. A dispatch and its
 * launching call have the same stack_id there, which becomes the correlation id; the column of that
 * name is 0. Times are nanoseconds since boot. The environment of the process, which the file also
 * has, is not read. */
#include <stdio.h>

#include "base/array.h"
#include "base/min_max.h"
#include "import/entities.h"
#include "import/sqlite_strings.h"

#ifdef RIDGE_HAVE_SQLITE

enum { UUID_MAX = 64, TABLE_NAME_MAX = 128 };

struct symbol {
    uint32_t name, registers;
};

struct rocpd {
    struct sqlite_source source;
    struct trace_writer *writer;
    const struct import_options *options;
    struct sqlite_strings strings;
    struct entities entities;
    char uuid[UUID_MAX]; /* "_0000..." or "" */
    char table[TABLE_NAME_MAX], string_table[TABLE_NAME_MAX];
    struct map pids;       /* rocpd_info_process.id -> pid */
    struct map tids;       /* rocpd_info_thread.id -> tid */
    struct map agents;     /* rocpd_info_agent.id -> device, 0 for a CPU */
    struct map symbols;    /* rocpd_info_kernel_symbol.id -> string id, registers << 32 */
    struct map stacks;     /* rocpd_event.id -> stack_id */
    struct map categories; /* rocpd_event.id -> category_id */
    uint64_t events, others;
};

/* Opens table NAME_UUID. */
static bool open_rows(struct rocpd *import, struct sqlite_rows *rows, const char *name,
                      const char *columns, struct status *status) {
    snprintf(import->table, sizeof import->table, "%s%s", name, import->uuid);
    return sqlite_rows_open(rows, &import->source, import->table, columns, NULL, status);
}

static bool next_event(struct rocpd *import, struct sqlite_rows *rows, struct status *status) {
    if (import->events % 4096 == 0 && trace_writer_failed(import->writer))
        return false;
    if (!sqlite_rows_next(rows, status))
        return false;
    import->events++;
    return true;
}

static uint64_t value_of(const struct map *map, int64_t id, uint64_t fallback) {
    const uint64_t *value = map_find(map, (uint64_t)id);
    return value ? *value : fallback;
}

/* ---- What events refer to ------------------------------------------------------------------- */

/* id -> an integer column of an info table */
static bool load_numbers(struct rocpd *import, const char *table, const char *columns,
                         struct map *map, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, table, columns, status);
    while (sqlite_rows_next(&rows, status))
        if (!map_set(map, (uint64_t)sqlite_rows_integer(&rows, 0, 0),
                     (uint64_t)sqlite_rows_integer(&rows, 1, 0), status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

/* A number in the JSON of extdata, such as "cu_count":304; 0 when absent. */
static uint32_t extra_number(struct text json, const char *key) {
    ptrdiff_t at = text_find(json, key);
    if (at < 0)
        return 0;
    uint64_t value = 0;
    for (size_t i = (size_t)at + strlen(key);
         i < json.length && json.data[i] >= '0' && json.data[i] <= '9' && value <= UINT32_MAX; i++)
        value = value * 10 + (uint64_t)(json.data[i] - '0');
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static uint32_t make_device(struct rocpd *import, const struct sqlite_rows *rows,
                            struct status *status) {
    int64_t index = sqlite_rows_integer(rows, 2, 0);
    struct text product = sqlite_rows_text(rows, 4), extra = sqlite_rows_text(rows, 5);
    struct row_device row = {
        .name = trace_writer_string(import->writer,
                                    product.length ? product : sqlite_rows_text(rows, 3)),
        .vendor = trace_writer_string(import->writer, TEXT("AMD")),
        .multiprocessors = extra_number(extra, "\"cu_count\":"),
        .warp_size = extra_number(extra, "\"wave_front_size\":"),
    };
    return entity_device(&import->entities, index, &row, status);
}

/* All agents of the machine are listed: only those with work become devices. */
static bool load_agents(struct rocpd *import, struct map *used, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, "rocpd_info_agent", "id type absolute_index name product_name extdata",
              status);
    while (sqlite_rows_next(&rows, status)) {
        int64_t id = sqlite_rows_integer(&rows, 0, 0);
        bool is_gpu = text_is(sqlite_rows_text(&rows, 1), "GPU");
        uint32_t device = 0;
        if (is_gpu && map_find(used, (uint64_t)id))
            rows.failed = !(device = make_device(import, &rows, status));
        if (!rows.failed && !map_set(&import->agents, (uint64_t)id, device, status))
            rows.failed = true;
    }
    return sqlite_rows_close(&rows);
}

static bool find_used(struct rocpd *import, const char *table, const char *columns,
                      struct map *used, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, table, columns, status);
    while (sqlite_rows_next(&rows, status))
        if (!map_set(used, (uint64_t)sqlite_rows_integer(&rows, 0, -1), 1, status) ||
            !map_set(used, (uint64_t)sqlite_rows_integer(&rows, 1, -1), 1, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

static bool load_devices(struct rocpd *import, struct status *status) {
    struct map used = {0};
    bool ok = find_used(import, "rocpd_kernel_dispatch", "agent_id agent_id", &used, status) &&
              find_used(import, "rocpd_memory_copy", "dst_agent_id src_agent_id", &used, status) &&
              load_agents(import, &used, status);
    map_finish(&used);
    return ok;
}

static bool load_symbols(struct rocpd *import, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, "rocpd_info_kernel_symbol",
              "id display_name kernel_name arch_vgpr_count", status);
    while (sqlite_rows_next(&rows, status)) {
        struct text name = sqlite_rows_text(&rows, 1);
        uint64_t string =
            trace_writer_string(import->writer, name.length ? name : sqlite_rows_text(&rows, 2));
        uint64_t registers = sqlite_rows_u32(&rows, 3);
        if (!map_set(&import->symbols, (uint64_t)sqlite_rows_integer(&rows, 0, 0),
                     string | registers << 32, status))
            rows.failed = true;
    }
    return sqlite_rows_close(&rows);
}

static bool read_command(struct rocpd *import, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, "rocpd_info_process", "id command", status);
    if (sqlite_rows_next(&rows, status) && sqlite_rows_text(&rows, 1).length)
        trace_writer_meta(import->writer, META_COMMAND, sqlite_rows_text(&rows, 1));
    return sqlite_rows_close(&rows);
}

static uint32_t find_process(struct rocpd *import, int64_t id, struct status *status) {
    return entity_process(&import->entities, value_of(&import->pids, id, (uint64_t)id), TEXT(""),
                          status);
}

static uint32_t find_queue(struct rocpd *import, uint32_t device, int64_t process, int64_t queue,
                           struct status *status) {
    uint32_t row = find_process(import, process, status);
    return row ? entity_queue(&import->entities, device, row, queue, status) : 0;
}

/* ---- Events --------------------------------------------------------------------------------- */

static bool read_dispatch(struct rocpd *import, struct sqlite_rows *rows, struct status *status) {
    uint64_t symbol = value_of(&import->symbols, sqlite_rows_integer(rows, 5, -1), 0);
    uint32_t device = (uint32_t)value_of(&import->agents, sqlite_rows_integer(rows, 3, -1), 0);
    struct row_activity row = {
        .kind = ACTIVITY_KERNEL,
        .name = (uint32_t)symbol,
        .registers = (uint32_t)(symbol >> 32),
        .correlation = value_of(&import->stacks, sqlite_rows_integer(rows, 6, -1), 0),
        .block_x = sqlite_rows_u32(rows, 7),
        .block_y = sqlite_rows_u32(rows, 8),
        .block_z = sqlite_rows_u32(rows, 9),
        .shared_dynamic = sqlite_rows_u32(rows, 13),
        .bytes = BYTES_UNKNOWN,
    };
    row.grid_x = import_blocks(sqlite_rows_u32(rows, 10), row.block_x);
    row.grid_y = import_blocks(sqlite_rows_u32(rows, 11), row.block_y);
    row.grid_z = import_blocks(sqlite_rows_u32(rows, 12), row.block_z);
    if (!sqlite_rows_span(rows, import->options, import->writer, &row.start, &row.duration, status))
        return !rows->failed;
    row.queue = find_queue(import, device, sqlite_rows_integer(rows, 2, 0),
                           sqlite_rows_integer(rows, 4, 0), status);
    if (!row.queue)
        return false;
    trace_write_activity(import->writer, &row);
    return true;
}

static bool read_dispatches(struct rocpd *import, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, "rocpd_kernel_dispatch",
              "start end pid agent_id queue_id kernel_id event_id workgroup_size_x "
              "workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z "
              "group_segment_size",
              status);
    while (next_event(import, &rows, status))
        if (!read_dispatch(import, &rows, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

static bool read_copy(struct rocpd *import, struct sqlite_rows *rows, struct status *status) {
    uint32_t to = (uint32_t)value_of(&import->agents, sqlite_rows_integer(rows, 3, -1), 0);
    uint32_t from = (uint32_t)value_of(&import->agents, sqlite_rows_integer(rows, 4, -1), 0);
    int64_t size = sqlite_rows_integer(rows, 5, -1);
    struct row_activity row = {
        .kind = ACTIVITY_COPY,
        .correlation = value_of(&import->stacks, sqlite_rows_integer(rows, 7, -1), 0),
        .bytes = size >= 0 ? (uint64_t)size : BYTES_UNKNOWN,
    };
    import_copy_ends(&row, from, to);
    if (!sqlite_rows_span(rows, import->options, import->writer, &row.start, &row.duration, status))
        return !rows->failed;
    row.queue = find_queue(import, to ? to : from, sqlite_rows_integer(rows, 2, 0),
                           sqlite_rows_integer(rows, 6, 0), status);
    if (!row.queue || !sqlite_strings_column(&import->strings, rows, 8, &row.name, status))
        return false;
    trace_write_activity(import->writer, &row);
    return true;
}

static bool read_copies(struct rocpd *import, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, "rocpd_memory_copy",
              "start end pid dst_agent_id src_agent_id size queue_id event_id name_id", status);
    while (next_event(import, &rows, status))
        if (!read_copy(import, &rows, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

/* The text of a roctx range is in the arguments of some versions; its name is the function. */
static bool read_region(struct rocpd *import, struct sqlite_rows *rows, struct status *status) {
    int64_t start, duration, event = sqlite_rows_integer(rows, 5, -1), name_id;
    struct text name, category;
    if (!sqlite_rows_span(rows, import->options, import->writer, &start, &duration, status))
        return !rows->failed;
    uint32_t process = find_process(import, sqlite_rows_integer(rows, 2, 0), status);
    int64_t tid = (int64_t)value_of(&import->tids, sqlite_rows_integer(rows, 3, 0), 0);
    uint32_t thread =
        process ? entity_thread(&import->entities, process, tid, TEXT(""), status) : 0;
    name_id = (int64_t)value_of(&import->categories, event, 0);
    if (!thread || !sqlite_strings_text(&import->strings, name_id, &category, status))
        return false;
    bool is_marker = text_starts(category, "MARKER");
    if (!sqlite_strings_text(&import->strings, sqlite_rows_integer(rows, 4, 0), &name, status))
        return false;
    uint32_t string = trace_writer_string(import->writer, name);
    if (is_marker)
        trace_write_range(import->writer, &(struct row_range){.start = start,
                                                              .duration = duration,
                                                              .thread = thread,
                                                              .name = string,
                                                              .category = RANGE_ANNOTATION});
    else
        trace_write_call(import->writer,
                         &(struct row_call){.start = start,
                                            .duration = duration,
                                            .thread = thread,
                                            .name = string,
                                            .class = (uint8_t)import_call_class(name),
                                            .correlation = value_of(&import->stacks, event, 0)});
    return true;
}

static bool read_regions(struct rocpd *import, struct status *status) {
    struct sqlite_rows rows;
    open_rows(import, &rows, "rocpd_region", "start end pid tid name_id event_id", status);
    while (next_event(import, &rows, status))
        if (!read_region(import, &rows, status))
            rows.failed = true;
    return sqlite_rows_close(&rows);
}

/* ---- Importer ------------------------------------------------------------------------------- */

static bool find_tables(struct rocpd *import, struct status *status) {
    if (!sqlite_source_find_suffix(&import->source, "rocpd_kernel_dispatch", import->uuid,
                                   sizeof import->uuid, &import->others, status))
        return false;
    snprintf(import->string_table, sizeof import->string_table, "rocpd_string%s", import->uuid);
    return sqlite_strings_open(&import->strings, &import->source, import->writer,
                               import->string_table, "string", status);
}

static void write_meta(struct rocpd *import) {
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("rocpd"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("rocprofv3 (rocpd schema 3)"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("monotonic"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->events);
    sqlite_source_warn(&import->source, import->writer);
    if (import->others > 1)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("the database has the tables of several processes; those of the "
                               "first were read"));
}

static void finish(struct rocpd *import) {
    sqlite_strings_close(&import->strings);
    sqlite_source_close(&import->source);
    entities_release(&import->entities);
    map_finish(&import->pids);
    map_finish(&import->tids);
    map_finish(&import->agents);
    map_finish(&import->symbols);
    map_finish(&import->stacks);
    map_finish(&import->categories);
}

static bool rocpd_run(const struct import_source *source, const struct import_options *options,
                      struct trace_writer *writer, struct status *status) {
    struct rocpd import = {.writer = writer, .options = options, .entities.writer = writer};
    bool ok = sqlite_source_open(&import.source, source->path, status) &&
              find_tables(&import, status) && read_command(&import, status) &&
              load_numbers(&import, "rocpd_info_process", "id pid", &import.pids, status) &&
              load_numbers(&import, "rocpd_info_thread", "id tid", &import.tids, status) &&
              load_numbers(&import, "rocpd_event", "id stack_id", &import.stacks, status) &&
              load_numbers(&import, "rocpd_event", "id category_id", &import.categories, status) &&
              load_devices(&import, status) && load_symbols(&import, status) &&
              read_regions(&import, status) && read_dispatches(&import, status) &&
              read_copies(&import, status) && sqlite_source_ok(&import.source, status);
    if (ok)
        write_meta(&import);
    finish(&import);
    return ok;
}

static int rocpd_detect(const struct import_source *source) {
    struct sqlite_source database;
    struct status ignored = {0};
    if (source->is_folder || !sqlite_source_detect(source->head, source->head_length) ||
        !sqlite_source_open(&database, source->path, &ignored))
        return 0;
    bool is_rocpd = !sqlite_source_has_table(&database, "rocpd_op") &&
                    sqlite_source_has_prefix(&database, "rocpd_kernel_dispatch");
    sqlite_source_close(&database);
    return is_rocpd ? 3 : 0;
}

const struct importer import_rocpd = {.format = "rocpd", .detect = rocpd_detect, .run = rocpd_run};

#else

/* The Nsight Systems importer explains all SQLite databases. */
static int rocpd_detect(const struct import_source *source) {
    (void)source;
    return 0;
}

const struct importer import_rocpd = {
    .format = "rocpd", .detect = rocpd_detect, .missing = "SQLite"};

#endif
