/* Profiles of the Firefox Profiler, which samply, simpleperf and perf's gecko script write as well.
 *
 * A thread has tables: samples refer to stacks, a stack to its caller (prefix) and a frame, a frame
 * to a function or, in Gecko's own format, to a location. Tables of the processed format are
 * columns, those of Gecko rows with a schema. Newer processed files have the tables of all threads
 * under "shared", which may follow the threads: the file is read twice. Times are milliseconds
 * since meta.startTime. */
#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "base/json_record.h"
#include "base/min_max.h"
#include "import/profile.h"

/* The columns that are read: table, name, place in a row of Gecko if there is no schema. */
#define GECKO_COLUMNS(X)                                                                           \
    X(SAMPLE_STACK, "samples", "stack", 0)                                                         \
    X(SAMPLE_TIME, "samples", "time", 1)                                                           \
    X(SAMPLE_DELTA, "samples", "timeDeltas", -1)                                                   \
    X(SAMPLE_WEIGHT, "samples", "weight", -1)                                                      \
    X(STACK_PREFIX, "stackTable", "prefix", 0)                                                     \
    X(STACK_FRAME, "stackTable", "frame", 1)                                                       \
    X(FRAME_LOCATION, "frameTable", "location", 0)                                                 \
    X(FRAME_FUNCTION, "frameTable", "func", -1)                                                    \
    X(FRAME_LINE, "frameTable", "line", -1)                                                        \
    X(FUNCTION_NAME, "funcTable", "name", -1)                                                      \
    X(FUNCTION_FILE, "funcTable", "fileName", -1)

#define COLUMN_ENUM(column, table, name, place) COLUMN_##column,
enum gecko_column { GECKO_COLUMNS(COLUMN_ENUM) GECKO_COLUMN_COUNT };

static const struct {
    const char *table, *name;
    int place;
} columns[] = {
#define COLUMN_ROW(column, table, name, place) {table, name, place},
    GECKO_COLUMNS(COLUMN_ROW)};

enum { FRAMES_MAX = 16384, ROW_MAX = 64 };

struct column {
    double *values; /* NAN: null */
    size_t count, capacity;
};

/* The tables of a thread, or of all. */
struct tables {
    struct column columns[GECKO_COLUMN_COUNT];
    uint32_t *strings; /* string ids of the trace */
    size_t string_count, string_capacity;
};

struct gecko {
    struct profile profile;
    struct trace_writer *writer;
    struct json_record record;
    struct tables thread, shared;
    /* What is being read. */
    struct tables *into;
    const char *table;
    struct column *column;
    int places[ROW_MAX]; /* of Gecko's rows: column by place, or -1 */
    /* From "meta". */
    double start_ms, interval_ms;
    bool symbolicated;
    char product[64];
    /* The current thread. */
    int64_t pid, tid;
    char name[128], weight_type[32];
    uint64_t of_bytes;
};

static void forget_tables(struct tables *tables) {
    for (unsigned i = 0; i < GECKO_COLUMN_COUNT; i++)
        memory_free(tables->columns[i].values);
    memory_free(tables->strings);
    *tables = (struct tables){0};
}

static void copy_text(char *to, size_t size, struct text text) {
    snprintf(to, size, "%.*s", (int)MIN(text.length, size - 1), text.data);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static bool read_number(struct scan *scan, double *value, struct status *status) {
    const char *after;
    bool is_number = false;
    char byte;
    if (!scan_peek(scan, &byte, status))
        return false;
    while (!(after = scan_double(scan, scan->at, value, &is_number)))
        if (!scan_more(scan, "a number", status))
            return false;
    scan->at = after;
    if (!is_number || !isfinite(*value))
        *value = NAN;
    return true;
}

static bool add_value(struct column *column, double value, struct status *status) {
    if (!GROW(column->values, &column->capacity, column->count + 1, status))
        return false;
    column->values[column->count++] = value;
    return true;
}

static bool read_cell(void *context, struct scan *scan, struct text key, struct status *status) {
    struct gecko *import = context;
    double value;
    (void)key;
    return read_number(scan, &value, status) && add_value(import->column, value, status);
}

/* A row of Gecko: short ones have nulls at the end. */
static bool read_row(void *context, struct scan *scan, struct text key, struct status *status) {
    struct gecko *import = context;
    char path[16];
    (void)key;
    if (!json_record_read(scan, &import->record, status))
        return false;
    for (int place = 0; place < ROW_MAX; place++) {
        if (import->places[place] < 0)
            continue;
        snprintf(path, sizeof path, "%d", place);
        if (!add_value(&import->into->columns[import->places[place]],
                       json_record_double(&import->record, path, NAN), status))
            return false;
    }
    return true;
}

static int find_column(const char *table, struct text name) {
    for (unsigned i = 0; i < GECKO_COLUMN_COUNT; i++)
        if (strcmp(columns[i].table, table) == 0 && text_is(name, columns[i].name))
            return (int)i;
    return -1;
}

static void set_default_places(struct gecko *import) {
    for (int i = 0; i < ROW_MAX; i++)
        import->places[i] = -1;
    for (unsigned i = 0; i < GECKO_COLUMN_COUNT; i++)
        if (strcmp(columns[i].table, import->table) == 0 && columns[i].place >= 0)
            import->places[columns[i].place] = (int)i;
}

static bool read_schema(struct gecko *import, struct scan *scan, struct status *status) {
    const struct json_record *record = &import->record;
    if (!json_record_read(scan, &import->record, status))
        return false;
    for (int i = 0; i < ROW_MAX; i++)
        import->places[i] = -1;
    for (size_t i = 0; i < record->count; i++) {
        const struct json_member *member = &record->members[i];
        struct text name = {record->text.data + member->path, member->path_length}, value;
        int64_t place;
        value = (struct text){record->text.data + member->value, member->value_length};
        if (text_to_i64(value, &place) && place >= 0 && place < ROW_MAX)
            import->places[place] = find_column(import->table, name);
    }
    return true;
}

static bool read_table(void *context, struct scan *scan, struct text key, struct status *status) {
    struct gecko *import = context;
    if (text_is(key, "schema"))
        return read_schema(import, scan, status);
    if (text_is(key, "data"))
        return json_elements(scan, read_row, import, status);
    if (text_is(key, "weightType")) {
        if (!json_record_read(scan, &import->record, status))
            return false;
        copy_text(import->weight_type, sizeof import->weight_type,
                  json_record_text(&import->record, ""));
        return true;
    }
    int column = find_column(import->table, key);
    if (column < 0)
        return json_skip(scan, status);
    import->column = &import->into->columns[column];
    return json_elements(scan, read_cell, import, status);
}

static bool read_string(void *context, struct scan *scan, struct text key, struct status *status) {
    struct gecko *import = context;
    struct tables *into = import->into;
    (void)key;
    if (!json_record_read(scan, &import->record, status) ||
        !GROW(into->strings, &into->string_capacity, into->string_count + 1, status))
        return false;
    into->strings[into->string_count++] =
        trace_writer_string(import->writer, json_record_text(&import->record, ""));
    return true;
}

/* A member of a thread, or of "shared", that is a table; *found is false for any other. */
static bool read_tables(struct gecko *import, struct scan *scan, struct text key, bool *found,
                        struct status *status) {
    static const char *const names[] = {"samples", "stackTable", "frameTable", "funcTable"};
    *found = true;
    if (text_is(key, "stringTable") || text_is(key, "stringArray"))
        return json_elements(scan, read_string, import, status);
    for (unsigned i = 0; i < ARRAY_COUNT(names); i++)
        if (text_is(key, names[i])) {
            import->table = names[i];
            set_default_places(import);
            return json_members(scan, read_table, import, status);
        }
    *found = false;
    return true;
}

/* ---- Samples -------------------------------------------------------------------------------- */

/* The tables that have the column: those of the thread, else the shared ones. */
static const struct column *column_of(const struct gecko *import, enum gecko_column column) {
    const struct column *own = &import->thread.columns[column];
    return own->count ? own : &import->shared.columns[column];
}

/* An index of another table; -1: null, or none that can be. */
static int64_t index_at(const struct column *column, int64_t row) {
    if (row < 0 || (uint64_t)row >= column->count || !(column->values[row] >= 0) ||
        column->values[row] > 4e9)
        return -1;
    return (int64_t)column->values[row];
}

static uint32_t string_at(const struct gecko *import, int64_t index) {
    const struct tables *tables = import->thread.string_count ? &import->thread : &import->shared;
    return index >= 0 && (uint64_t)index < tables->string_count ? tables->strings[index] : 0;
}

static uint32_t add_frame(struct gecko *import, int64_t frame, uint32_t parent,
                          struct status *status) {
    int64_t function = index_at(column_of(import, COLUMN_FRAME_FUNCTION), frame);
    int64_t line = index_at(column_of(import, COLUMN_FRAME_LINE), frame);
    struct row_stack row = {.parent = parent, .line = line > 0 ? (uint32_t)line : 0};
    if (function >= 0) {
        row.function =
            string_at(import, index_at(column_of(import, COLUMN_FUNCTION_NAME), function));
        row.file = string_at(import, index_at(column_of(import, COLUMN_FUNCTION_FILE), function));
    } else {
        row.function = string_at(import, index_at(column_of(import, COLUMN_FRAME_LOCATION), frame));
    }
    if (!row.function)
        row.function = trace_writer_string(import->writer, TEXT(STACK_UNKNOWN));
    return entity_frame(&import->profile.entities, &row, status);
}

/* Outermost frame first. A prefix that is not before its stack is damage and ends it. */
static uint32_t add_stack(struct gecko *import, int64_t stack, struct status *status) {
    const struct column *prefixes = column_of(import, COLUMN_STACK_PREFIX);
    const struct column *frames = column_of(import, COLUMN_STACK_FRAME);
    int64_t path[FRAMES_MAX];
    size_t depth = 0;
    uint32_t row = 0;
    while (stack >= 0 && depth < FRAMES_MAX) {
        int64_t prefix = index_at(prefixes, stack);
        path[depth++] = index_at(frames, stack);
        stack = prefix < stack ? prefix : -1;
    }
    while (depth > 0)
        if (!(row = add_frame(import, path[--depth], row, status)))
            return 0;
    return row;
}

static double cell(const struct column *column, size_t row, double fallback) {
    return row < column->count && isfinite(column->values[row]) ? column->values[row] : fallback;
}

static int64_t to_ns(double ms) {
    return ms > 0 && ms < 4e12 ? (int64_t)llround(ms * 1e6) : 0;
}

static bool add_samples(struct gecko *import, struct status *status) {
    const struct column *own = import->thread.columns;
    double now = 0;
    double unit = strcmp(import->weight_type, "tracing-ms") == 0 ? 1 : import->interval_ms;
    uint32_t process =
        entity_process(&import->profile.entities, (uint64_t)import->pid, TEXT(""), status);
    uint32_t thread = process ? entity_thread(&import->profile.entities, process, import->tid,
                                              text_of(import->name), status)
                              : 0;
    for (size_t i = 0; thread && i < own[COLUMN_SAMPLE_STACK].count; i++) {
        now += cell(&own[COLUMN_SAMPLE_DELTA], i, 0);
        double time = own[COLUMN_SAMPLE_TIME].count ? cell(&own[COLUMN_SAMPLE_TIME], i, now) : now;
        double weight = cell(&own[COLUMN_SAMPLE_WEIGHT], i, 1) * unit;
        struct profile_sample sample = {
            .time = to_ns(import->start_ms + time), .thread = thread, .period = to_ns(weight)};
        int64_t stack = index_at(&own[COLUMN_SAMPLE_STACK], (int64_t)i);
        if (stack < 0 || sample.period == 0)
            continue;
        sample.stack = add_stack(import, stack, status);
        if (!sample.stack || !profile_add(&import->profile, &sample, status))
            return false;
    }
    return thread != 0;
}

/* ---- File ----------------------------------------------------------------------------------- */

static bool read_thread_member(void *context, struct scan *scan, struct text key,
                               struct status *status) {
    struct gecko *import = context;
    bool found;
    if (!read_tables(import, scan, key, &found, status) || found)
        return found;
    if (!text_is(key, "pid") && !text_is(key, "tid") && !text_is(key, "name"))
        return json_skip(scan, status);
    bool is_pid = text_is(key, "pid"), is_tid = text_is(key, "tid");
    if (!json_record_read(scan, &import->record, status))
        return false;
    if (is_pid)
        import->pid = json_record_integer(&import->record, "", 0);
    else if (is_tid)
        import->tid = json_record_integer(&import->record, "", 0);
    else
        copy_text(import->name, sizeof import->name, json_record_text(&import->record, ""));
    return true;
}

static bool read_thread(void *context, struct scan *scan, struct text key, struct status *status) {
    struct gecko *import = context;
    (void)key;
    forget_tables(&import->thread);
    import->into = &import->thread;
    import->pid = import->tid = 0;
    import->name[0] = import->weight_type[0] = 0;
    if (!json_members(scan, read_thread_member, import, status))
        return false;
    if (strcmp(import->weight_type, "bytes") == 0) {
        import->of_bytes++;
        return true;
    }
    return add_samples(import, status);
}

static bool read_shared(void *context, struct scan *scan, struct text key, struct status *status) {
    bool found;
    return read_tables(context, scan, key, &found, status) && (found || json_skip(scan, status));
}

static bool read_meta(struct gecko *import, struct scan *scan, struct status *status) {
    const struct json_record *record = &import->record;
    if (!json_record_read(scan, &import->record, status))
        return false;
    double start = json_record_double(record, "startTime", 0);
    double interval = json_record_double(record, "interval", 1);
    import->start_ms = start > 0 && start < 4e12 ? start            : 0;
    import->interval_ms = interval > 0 && interval < 1e9 ? interval : 1;
    import->symbolicated = !text_is(json_record_text(record, "symbolicated"), "false");
    copy_text(import->product, sizeof import->product, json_record_text(record, "product"));
    return true;
}

static bool read_first(void *context, struct scan *scan, struct text key, struct status *status) {
    struct gecko *import = context;
    if (text_is(key, "meta"))
        return read_meta(import, scan, status);
    import->into = &import->shared;
    return text_is(key, "shared") ? json_members(scan, read_shared, import, status)
                                  : json_skip(scan, status);
}

static bool read_second(void *context, struct scan *scan, struct text key, struct status *status);

/* Gecko has a profile for each further process; its times count from the same start. */
static bool read_process(void *context, struct scan *scan, struct text key, struct status *status) {
    (void)key;
    return json_members(scan, read_second, context, status);
}

static bool read_second(void *context, struct scan *scan, struct text key, struct status *status) {
    if (text_is(key, "threads"))
        return json_elements(scan, read_thread, context, status);
    return json_skip(scan, status);
}

static bool read_second_top(void *context, struct scan *scan, struct text key,
                            struct status *status) {
    if (text_is(key, "processes"))
        return json_elements(scan, read_process, context, status);
    return read_second(context, scan, key, status);
}

static bool read_file(struct gecko *import, const char *path, json_visitor *visit,
                      struct status *status) {
    struct input input;
    struct scan scan;
    if (!input_open(&input, path, status))
        return false;
    scan_open(&scan, &input);
    bool ok = json_members(&scan, visit, import, status);
    scan_close(&scan);
    return ok;
}

static void write_meta(struct gecko *import) {
    char tool[128];
    snprintf(tool, sizeof tool, "%s%sFirefox Profiler format%s", import->product,
             *import->product ? " (" : "", *import->product ? ")" : "");
    trace_writer_meta(import->writer, META_SOURCE_FORMAT, TEXT("gecko"));
    trace_writer_meta(import->writer, META_SOURCE_TOOL, text_of(tool));
    trace_writer_meta(import->writer, META_CLOCK_BASE,
                      import->start_ms > 0 ? TEXT("unix") : TEXT("trace"));
    trace_writer_meta(import->writer, META_SAMPLES_CLOCK, TEXT("wall"));
    trace_writer_meta_integer(import->writer, "source.events", (int64_t)import->profile.count);
    if (!import->symbolicated)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("the profile is not symbolicated: functions are addresses; open it "
                               "in profiler.firefox.com (samply load) and save it from there"));
    if (import->of_bytes > 0)
        trace_writer_meta(import->writer, META_WARNING,
                          TEXT("profiles of bytes are left out: they are not CPU time"));
}

static bool gecko_run(const struct import_source *source, const struct import_options *options,
                      struct trace_writer *writer, struct status *status) {
    struct gecko import = {.writer = writer, .profile.entities.writer = writer, .interval_ms = 1};
    (void)options; /* times out of range become 0 */
    bool ok = read_file(&import, source->path, read_first, status) &&
              read_file(&import, source->path, read_second_top, status);
    if (ok && import.profile.count == 0)
        ok = status_fail(status, STATUS_INPUT,
                         "is a profile of the Firefox Profiler without samples");
    if (ok) {
        profile_write(&import.profile);
        write_meta(&import);
    }
    forget_tables(&import.thread);
    forget_tables(&import.shared);
    json_record_finish(&import.record);
    profile_finish(&import.profile);
    return ok;
}

static int gecko_detect(const struct import_source *source) {
    struct text head = {(const char *)source->head, source->head_length};
    while (head.length && (head.data[0] == '\n' || head.data[0] == ' '))
        head = (struct text){head.data + 1, head.length - 1};
    if (source->is_folder || !text_starts(head, "{") || text_find(head, "\"traceEvents\"") >= 0)
        return 0;
    bool processed = text_find(head, "\"preprocessedProfileVersion\"") >= 0;
    bool raw = text_find(head, "\"meta\"") >= 0 && text_find(head, "\"interval\"") >= 0 &&
               (text_find(head, "\"processType\"") >= 0 || text_find(head, "\"stackTable\"") >= 0);
    return processed || raw ? 3 : 0;
}

const struct importer import_gecko = {.format = "gecko", .detect = gecko_detect, .run = gecko_run};
