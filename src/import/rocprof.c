/* The CSV files of AMD's rocprof, versions 1 and 3: one for each kind of event, PREFIX_KIND.csv. A
 * file is read alone; of a folder all files are read, so that kernels find their launching calls.
 *
 * The kind follows from the titles of the columns, which differ by version in order, case and
 * punctuation. Times are nanoseconds since boot. Grids are work items. A dispatch says which agent
 * and queue it ran on but not which process it belongs to: that is taken from the API calls with
 * the same prefix. */
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/text_lines.h"
#include "import/entities.h"
#include "import/import.h"

/* Titles in lower case, without punctuation. Version 1 has names of its own. */
#define ROCPROF_COLUMNS(X)                                                                         \
    X(START, "starttimestamp", "beginns")                                                          \
    X(END, "endtimestamp", "endns")                                                                \
    X(KERNEL, "kernelname", NULL)                                                                  \
    X(FUNCTION, "function", NULL)                                                                  \
    X(DOMAIN, "domain", NULL)                                                                      \
    X(DIRECTION, "direction", NULL)                                                                \
    X(CORRELATION, "correlationid", NULL)                                                          \
    X(AGENT, "agentid", "gpuid")                                                                   \
    X(SOURCE_AGENT, "sourceagentid", NULL)                                                         \
    X(DESTINATION_AGENT, "destinationagentid", NULL)                                               \
    X(QUEUE, "queueid", NULL)                                                                      \
    X(PROCESS, "processid", "pid")                                                                 \
    X(THREAD, "threadid", "tid")                                                                   \
    X(DISPATCH, "dispatchid", NULL)                                                                \
    X(COUNTER, "countername", NULL)                                                                \
    X(COUNTER_VALUE, "countervalue", NULL)                                                         \
    X(VGPRS, "vgprcount", "vgpr")                                                                  \
    X(LDS, "ldsblocksize", "lds")                                                                  \
    X(GROUP_SEGMENT, "groupsegmentsize", NULL)                                                     \
    X(BLOCK, "workgroupsize", "wgr")                                                               \
    X(BLOCK_X, "workgroupsizex", NULL)                                                             \
    X(BLOCK_Y, "workgroupsizey", NULL)                                                             \
    X(BLOCK_Z, "workgroupsizez", NULL)                                                             \
    X(GRID, "gridsize", "grd")                                                                     \
    X(GRID_X, "gridsizex", NULL)                                                                   \
    X(GRID_Y, "gridsizey", NULL)                                                                   \
    X(GRID_Z, "gridsizez", NULL)                                                                   \
    X(TOTAL, "totaldurationns", NULL)                                                              \
    X(NODE, "nodeid", NULL)                                                                        \
    X(AGENT_TYPE, "agenttype", NULL)                                                               \
    X(PRODUCT, "productname", NULL)                                                                \
    X(UNITS, "cucount", NULL)

#define COLUMN_ENUM(column, title, old) CSV_##column,
enum csv_column { ROCPROF_COLUMNS(COLUMN_ENUM) CSV_COLUMNS };

enum csv_kind {
    CSV_OTHER,
    CSV_AGENTS,
    CSV_CALLS,
    CSV_COPIES,
    CSV_KERNELS,
    CSV_COUNTERS,
    CSV_TOTALS,
    CSV_KINDS
};

enum { FIELDS_MAX = 2048, FILES_MAX = 4096, NAME_BYTES = 256, NO_FIELD = -1 };

struct rocprof {
    const struct import_options *options;
    struct trace_writer *writer;
    struct entities entities;
    struct map agents; /* number -> string id of the name, compute units << 32 */
    uint32_t process;  /* of the current prefix; 0: unknown */
    uint64_t rows, files_read;
    /* The current file. */
    struct text_lines lines;
    enum csv_kind kind;
    int field_of[CSV_COLUMNS]; /* or NO_FIELD */
    struct text fields[FIELDS_MAX];
    size_t field_count;
    uint32_t counters[FIELDS_MAX]; /* by field: string id of the counter in that column; 0: none */
    size_t counter_end;            /* behind the last of them */
    uint64_t kernels, launches, dispatch;
};

/* ---- CSV ----------------------------------------------------------------------------------- */

/* No column that is read has a quote inside. */
static void split_fields(struct rocprof *import, struct text line) {
    import->field_count = csv_split(line, import->fields, FIELDS_MAX);
}

static bool has(const struct rocprof *import, enum csv_column column) {
    return import->field_of[column] != NO_FIELD;
}

static struct text field(const struct rocprof *import, enum csv_column column) {
    int place = import->field_of[column];
    return place != NO_FIELD && (size_t)place < import->field_count ? import->fields[place]
                                                                    : TEXT("");
}

static int64_t integer(const struct rocprof *import, enum csv_column column, int64_t fallback) {
    int64_t value;
    return text_to_i64(field(import, column), &value) ? value : fallback;
}

static uint32_t number(const struct rocprof *import, enum csv_column column) {
    int64_t value = integer(import, column, 0);
    return value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* "Agent_Id" and "gpu-id" become "agentid" and "gpuid". */
static void normalize_title(struct text title, char *name, size_t size) {
    size_t length = 0;
    for (size_t i = 0; i < title.length && length + 1 < size; i++)
        if (isalnum((unsigned char)title.data[i]))
            name[length++] = (char)tolower((unsigned char)title.data[i]);
    name[length] = 0;
}

static void map_columns(struct rocprof *import) {
#define COLUMN_TITLES(column, title, old) {title, old},
    static const char *const titles[CSV_COLUMNS][2] = {ROCPROF_COLUMNS(COLUMN_TITLES)};
    char name[40];
    for (unsigned column = 0; column < CSV_COLUMNS; column++)
        import->field_of[column] = NO_FIELD;
    for (size_t i = 0; i < import->field_count; i++) {
        normalize_title(import->fields[i], name, sizeof name);
        for (unsigned column = 0; column < CSV_COLUMNS; column++)
            if (strcmp(name, titles[column][0]) == 0 ||
                (titles[column][1] && strcmp(name, titles[column][1]) == 0))
                import->field_of[column] = (int)i;
    }
}

static enum csv_kind kind_of(const struct rocprof *import) {
    bool timed = has(import, CSV_START) && has(import, CSV_END);
    if (has(import, CSV_COUNTER) && has(import, CSV_DISPATCH))
        return CSV_COUNTERS;
    if (timed && has(import, CSV_KERNEL))
        return CSV_KERNELS;
    if (timed && has(import, CSV_DIRECTION))
        return CSV_COPIES;
    if (timed && has(import, CSV_FUNCTION))
        return CSV_CALLS;
    if (has(import, CSV_NODE) && has(import, CSV_AGENT_TYPE))
        return CSV_AGENTS;
    return has(import, CSV_TOTAL) ? CSV_TOTALS : CSV_OTHER;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

/* False for a row to skip; *ok is false when that is an error. */
static bool take_times(struct rocprof *import, int64_t *start, int64_t *duration, bool *ok,
                       struct status *status) {
    int64_t end = integer(import, CSV_END, -1);
    *start = integer(import, CSV_START, -1);
    *ok = true;
    if (*start >= 0 && end >= *start && end <= TRACE_TIME_LIMIT) {
        *duration = end - *start;
        return true;
    }
    trace_writer_dropped(import->writer, 1);
    if (!import->options->skip_invalid)
        *ok = status_fail(
            status, STATUS_INPUT,
            "line %llu starts at \"%.*s\" and ends at \"%.*s\", which are not valid "
            "times; --skip-invalid drops such events",
            (unsigned long long)import->lines.number,
            (int)MIN(field(import, CSV_START).length, (size_t)32), field(import, CSV_START).data,
            (int)MIN(field(import, CSV_END).length, (size_t)32), field(import, CSV_END).data);
    return false;
}

/* "4" or "Agent 4"; -1: neither. */
static int64_t agent_number(struct text text) {
    int64_t value;
    if (text_starts(text, "Agent "))
        text = (struct text){text.data + 6, text.length - 6};
    return text_to_i64(text, &value) && value >= 0 ? value : -1;
}

static uint32_t find_device(struct rocprof *import, int64_t agent, struct status *status) {
    const uint64_t *known = map_find(&import->agents, (uint64_t)agent);
    struct row_device row = {
        .vendor = trace_writer_string(import->writer, TEXT("AMD")),
        .name = known ? (uint32_t)*known : 0,
        .multiprocessors = known ? (uint32_t)(*known >> 32) : 0,
    };
    return entity_device(&import->entities, agent, &row, status);
}

static uint32_t find_queue(struct rocprof *import, int64_t agent, int64_t queue,
                           struct status *status) {
    uint32_t device = find_device(import, agent, status);
    return device ? entity_queue(&import->entities, device, import->process, queue, status) : 0;
}

static bool read_agent(struct rocprof *import, struct status *status) {
    int64_t node = integer(import, CSV_NODE, -1);
    uint64_t name = trace_writer_string(import->writer, field(import, CSV_PRODUCT));
    return node < 0 || map_set(&import->agents, (uint64_t)node,
                               name | (uint64_t)number(import, CSV_UNITS) << 32, status);
}

static bool read_call(struct rocprof *import, struct status *status) {
    struct entities *entities = &import->entities;
    struct text name = field(import, CSV_FUNCTION), domain = field(import, CSV_DOMAIN);
    int64_t start, duration, correlation = integer(import, CSV_CORRELATION, 0);
    bool ok;
    if (!take_times(import, &start, &duration, &ok, status))
        return ok;
    uint32_t process =
        entity_process(entities, (uint64_t)integer(import, CSV_PROCESS, 0), TEXT(""), status);
    uint32_t thread =
        process ? entity_thread(entities, process, integer(import, CSV_THREAD, 0), TEXT(""), status)
                : 0;
    if (!thread)
        return false;
    import->process = process;
    if (text_starts(domain, "MARKER"))
        trace_write_range(import->writer,
                          &(struct row_range){.start = start,
                                              .duration = duration,
                                              .thread = thread,
                                              .name = trace_writer_string(import->writer, name),
                                              .category = RANGE_ANNOTATION});
    else
        trace_write_call(import->writer,
                         &(struct row_call){.start = start,
                                            .duration = duration,
                                            .thread = thread,
                                            .name = trace_writer_string(import->writer, name),
                                            .class = (uint8_t)import_call_class(name),
                                            .correlation = (uint64_t)MAX(correlation, 0)});
    return true;
}

static bool read_copy(struct rocprof *import, struct status *status) {
    struct text direction = field(import, CSV_DIRECTION);
    bool to_device = text_find(direction, "TO_DEVICE") >= 0, ok;
    bool from_device = text_find(direction, "DEVICE_TO") >= 0;
    struct row_activity row = {
        .kind = ACTIVITY_COPY,
        .name = trace_writer_string(import->writer, direction),
        .correlation = (uint64_t)MAX(integer(import, CSV_CORRELATION, 0), 0),
        .bytes = BYTES_UNKNOWN,
        .direction = to_device     ? (from_device ? COPY_DTOD : COPY_HTOD)
                     : from_device ? COPY_DTOH
                                   : COPY_HTOH,
        .from_memory = from_device ? MEMORY_DEVICE : MEMORY_UNKNOWN,
        .to_memory = to_device ? MEMORY_DEVICE : MEMORY_UNKNOWN,
    };
    int64_t agent =
        agent_number(field(import, to_device ? CSV_DESTINATION_AGENT : CSV_SOURCE_AGENT));
    if (!take_times(import, &row.start, &row.duration, &ok, status))
        return ok;
    enum { COPY_QUEUE = -1 };
    if (!(row.queue = find_queue(import, agent, COPY_QUEUE, status)))
        return false;
    trace_write_activity(import->writer, &row);
    return true;
}

static void describe_kernel(const struct rocprof *import, struct row_activity *row) {
    bool flat = has(import, CSV_GRID); /* products of all dimensions */
    row->block_x = number(import, flat ? CSV_BLOCK : CSV_BLOCK_X);
    row->block_y = flat ? row->block_x > 0 : number(import, CSV_BLOCK_Y);
    row->block_z = flat ? row->block_x > 0 : number(import, CSV_BLOCK_Z);
    row->grid_x = import_blocks(number(import, flat ? CSV_GRID : CSV_GRID_X), row->block_x);
    row->grid_y = flat ? row->grid_x > 0 : import_blocks(number(import, CSV_GRID_Y), row->block_y);
    row->grid_z = flat ? row->grid_x > 0 : import_blocks(number(import, CSV_GRID_Z), row->block_z);
    row->registers = number(import, CSV_VGPRS);
    row->shared_dynamic = MAX(number(import, CSV_LDS), number(import, CSV_GROUP_SEGMENT));
}

/* Names of code objects end in ".kd". */
static struct text kernel_name(struct text name) {
    static const char *const endings[] = {" [clone .kd]", ".kd"};
    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        struct text ending = text_of(endings[i]);
        if (name.length > ending.length &&
            memcmp(name.data + name.length - ending.length, ending.data, ending.length) == 0)
            return (struct text){name.data, name.length - ending.length};
    }
    return name;
}

/* ---- Counters ---- */

static bool real(struct text text, double *value) {
    char digits[64], *end;
    if (text.length == 0 || text.length >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.length);
    digits[text.length] = 0;
    *value = strtod(digits, &end);
    return *end == 0 && isfinite(*value);
}

static struct row_metric metric_of(const struct rocprof *import, const struct row_activity *row,
                                   uint32_t device) {
    return (struct row_metric){.time = row->start,
                               .launch = import->launches,
                               .device = device,
                               .kernel = row->name,
                               .grid_x = row->grid_x,
                               .grid_y = row->grid_y,
                               .grid_z = row->grid_z,
                               .block_x = row->block_x,
                               .block_y = row->block_y,
                               .block_z = row->block_z};
}

/* A row for each counter of a dispatch. A file with times and no trace beside it has the kernels,
 * too. */
static bool read_counter(struct rocprof *import, struct status *status) {
    struct row_activity row = {
        .kind = ACTIVITY_KERNEL,
        .name = trace_writer_string(import->writer, kernel_name(field(import, CSV_KERNEL))),
        .bytes = BYTES_UNKNOWN,
    };
    uint64_t dispatch = (uint64_t)integer(import, CSV_DISPATCH, 0);
    int64_t agent = agent_number(field(import, CSV_AGENT));
    double value;
    bool ok = true, timed = has(import, CSV_START) && has(import, CSV_END);
    if (timed && !take_times(import, &row.start, &row.duration, &ok, status))
        return ok;
    describe_kernel(import, &row);
    uint32_t device = find_device(import, agent, status);
    if (!device)
        return false;
    bool another = import->launches == 0 || dispatch != import->dispatch;
    import->launches += another;
    import->dispatch = dispatch;
    if (another && timed && import->kernels == 0) {
        row.queue = find_queue(import, agent, integer(import, CSV_QUEUE, 0), status);
        if (!row.queue)
            return false;
        trace_write_activity(import->writer, &row);
    }
    if (!real(field(import, CSV_COUNTER_VALUE), &value))
        return true;
    struct row_metric metric = metric_of(import, &row, device);
    metric.name = trace_writer_string(import->writer, field(import, CSV_COUNTER));
    metric.value = value;
    trace_write_metric(import->writer, &metric);
    return true;
}

/* Merged tables have a column for each counter, named after a block of the hardware. */
static bool is_counter_title(struct text title) {
    static const char *const blocks[] = {"SQ_",   "SQC_", "TA_",  "TD_",  "TCP_",  "TCC_",
                                         "GRBM_", "SPI_", "CPC_", "CPF_", "GL2C_", "TCA_"};
    for (size_t i = 0; i < ARRAY_COUNT(blocks); i++)
        if (text_starts(title, blocks[i]))
            return true;
    return false;
}

static void find_counter_columns(struct rocprof *import) {
    import->counter_end = 0;
    for (size_t i = 0; i < import->field_count; i++) {
        bool is_counter = is_counter_title(import->fields[i]);
        import->counters[i] =
            is_counter ? trace_writer_string(import->writer, import->fields[i]) : 0;
        if (is_counter)
            import->counter_end = i + 1;
    }
}

static void write_counter_columns(struct rocprof *import, const struct row_activity *row,
                                  uint32_t device) {
    if (import->counter_end == 0)
        return;
    import->launches++;
    struct row_metric metric = metric_of(import, row, device);
    for (size_t i = 0; i < MIN(import->field_count, import->counter_end); i++)
        if (import->counters[i] && real(import->fields[i], &metric.value)) {
            metric.name = import->counters[i];
            trace_write_metric(import->writer, &metric);
        }
}

static bool read_kernel(struct rocprof *import, struct status *status) {
    struct row_activity row = {
        .kind = ACTIVITY_KERNEL,
        .name = trace_writer_string(import->writer, kernel_name(field(import, CSV_KERNEL))),
        .correlation = (uint64_t)MAX(integer(import, CSV_CORRELATION, 0), 0),
        .bytes = BYTES_UNKNOWN,
    };
    bool ok;
    if (!take_times(import, &row.start, &row.duration, &ok, status))
        return ok;
    describe_kernel(import, &row);
    int64_t agent = agent_number(field(import, CSV_AGENT));
    row.queue = find_queue(import, agent, integer(import, CSV_QUEUE, 0), status);
    if (!row.queue)
        return false;
    import->kernels++;
    trace_write_activity(import->writer, &row);
    write_counter_columns(import, &row, find_device(import, agent, status));
    return true;
}

/* ---- Files --------------------------------------------------------------------------------- */

typedef bool row_reader(struct rocprof *import, struct status *status);
static row_reader *const readers[CSV_KINDS] = {[CSV_AGENTS] = read_agent,
                                               [CSV_CALLS] = read_call,
                                               [CSV_COPIES] = read_copy,
                                               [CSV_KERNELS] = read_kernel,
                                               [CSV_COUNTERS] = read_counter};

static bool read_titles(struct rocprof *import, struct status *status) {
    struct text line = TEXT("");
    if (!text_lines_next(&import->lines, &line, status) && import->lines.failed)
        return false;
    if (text_starts(line, "\xEF\xBB\xBF"))
        line = (struct text){line.data + 3, line.length - 3};
    split_fields(import, line);
    map_columns(import);
    import->kind = kind_of(import);
    find_counter_columns(import);
    return true;
}

static bool read_rows(struct rocprof *import, struct status *status) {
    struct text line;
    while (text_lines_next(&import->lines, &line, status)) {
        if (line.length == 0)
            continue;
        split_fields(import, line);
        import->rows++;
        if (!readers[import->kind](import, status) || trace_writer_failed(import->writer))
            return false;
    }
    return !import->lines.failed;
}

/* Reads the file if it is of one of the wanted kinds, given as bits. */
static bool read_file(struct rocprof *import, const char *path, unsigned wanted,
                      struct status *status) {
    bool ok = text_lines_open(&import->lines, path, status) && read_titles(import, status);
    if (ok && readers[import->kind] && wanted >> import->kind & 1) {
        import->files_read++;
        ok = read_rows(import, status);
    }
    text_lines_close(&import->lines);
    return ok;
}

/* ---- Folders ------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length >= end && strcasecmp(name + length - end, ending) == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

/* The names of the CSV files in the folder, in order. */
static bool list_files(const char *folder, char (**names)[NAME_BYTES], size_t *count,
                       struct status *status) {
    size_t capacity = 0;
    DIR *entries = opendir(folder);
    *count = 0;
    *names = NULL;
    if (!entries)
        return status_fail_errno(status, "cannot open");
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(entries)) && *count < FILES_MAX;)
        if (ends_with(entry->d_name, ".csv") && strlen(entry->d_name) < NAME_BYTES) {
            ok = GROW(*names, &capacity, *count + 1, status);
            if (ok)
                snprintf((*names)[(*count)++], NAME_BYTES, "%s", entry->d_name);
        }
    closedir(entries);
    if (ok && *count)
        qsort(*names, *count, sizeof **names, by_name);
    return ok;
}

/* "4711_kernel_trace.csv" has the prefix "4711"; "kernel_trace.csv" none. */
static size_t prefix_length(const char *name) {
    static const char *const kinds[] = {
        "agent_info.csv",        "hip_api_trace.csv",      "hip_runtime_trace.csv",
        "hip_compile_trace.csv", "hip_compiler_trace.csv", "hsa_api_trace.csv",
        "marker_api_trace.csv",  "memory_copy_trace.csv",  "rccl_api_trace.csv",
        "rccl_trace.csv",        "kernel_trace.csv",       "counter_collection.csv"};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if (ends_with(name, kinds[i]))
            return strlen(name) - strlen(kinds[i]);
    return 0;
}

/* Agents and calls come before what refers to them. */
static bool read_group(struct rocprof *import, const char *folder, char (*names)[NAME_BYTES],
                       size_t count, struct status *status) {
    static const unsigned passes[] = {1u << CSV_AGENTS, 1u << CSV_CALLS,
                                      1u << CSV_COPIES | 1u << CSV_KERNELS, 1u << CSV_COUNTERS};
    char path[4096];
    import->process = 0;
    for (size_t pass = 0; pass < ARRAY_COUNT(passes); pass++)
        for (size_t i = 0; i < count; i++) {
            if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, names[i]) >= sizeof path)
                continue;
            if (!read_file(import, path, passes[pass], status))
                return status_context(status, "%s", names[i]);
        }
    return true;
}

static bool read_folder(struct rocprof *import, const char *folder, struct status *status) {
    char(*names)[NAME_BYTES];
    size_t count;
    bool ok = list_files(folder, &names, &count, status);
    for (size_t first = 0, end; ok && first < count; first = end) {
        size_t length = prefix_length(names[first]);
        for (end = first + 1; end < count && prefix_length(names[end]) == length &&
                              memcmp(names[end], names[first], length) == 0;)
            end++;
        ok = read_group(import, folder, names + first, end - first, status);
    }
    memory_free(names);
    return ok;
}

/* ---- Importer ------------------------------------------------------------------------------ */

static bool explain(const struct rocprof *import, struct status *status) {
    if (import->kind == CSV_TOTALS)
        return status_fail(status, STATUS_INPUT,
                           "has rocprof's totals and no events; pass PREFIX_kernel_trace.csv, or "
                           "the folder of all files of the run");
    return status_fail(status, STATUS_INPUT, "has no events of rocprof");
}

static void write_meta(struct rocprof *import) {
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("rocprof"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, TEXT("rocprof (CSV)"));
    trace_writer_meta(import->writer, META_CLOCK_BASE, TEXT("monotonic"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->rows);
    if (import->files_read == 1)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("one CSV file of rocprof was read: pass the folder to read all "
                               "files of the run together"));
}

static bool rocprof_run(const struct import_source *source, const struct import_options *options,
                        struct trace_writer *writer, struct status *status) {
    struct rocprof *import = memory_allocate(1, sizeof *import, status);
    if (!import)
        return false;
    import->options = options;
    import->writer = import->entities.writer = writer;
    bool ok = source->is_folder ? read_folder(import, source->path, status)
                                : read_file(import, source->path, ~0u, status);
    if (ok && import->rows == 0)
        ok = explain(import, status);
    if (ok)
        write_meta(import);
    map_finish(&import->agents);
    entities_release(&import->entities);
    memory_free(import);
    return ok;
}

static bool detect_folder(const char *folder) {
    struct status ignored = {0};
    char(*names)[NAME_BYTES];
    size_t count;
    bool found = false;
    if (list_files(folder, &names, &count, &ignored))
        for (size_t i = 0; i < count && !found; i++)
            found =
                ends_with(names[i], "kernel_trace.csv") || ends_with(names[i], "hip_api_trace.csv");
    memory_free(names);
    return found;
}

static int rocprof_detect(const struct import_source *source) {
    struct status ignored = {0};
    struct text rest = {(const char *)source->head, source->head_length};
    if (source->is_folder)
        return detect_folder(source->path) ? 2 : 0;
    struct text titles = text_split(&rest, '\n');
    if (titles.length == 0 || titles.data[0] == '{' || !memchr(titles.data, ',', titles.length))
        return 0; /* or the JSON of rocprofv3 in one line */
    struct rocprof *import = memory_allocate(1, sizeof *import, &ignored);
    if (!import)
        return 0;
    split_fields(import, titles);
    map_columns(import);
    int confidence = kind_of(import) == CSV_OTHER ? 0 : 3;
    memory_free(import);
    return confidence;
}

const struct importer import_rocprof = {
    .format = "rocprof", .detect = rocprof_detect, .run = rocprof_run};
