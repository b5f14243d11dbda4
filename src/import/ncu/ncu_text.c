/* What ncu prints: CSV (--csv), with a row for each metric of a launch or, of --page raw, for each
 * launch; and the tables of the details page. The program's own output and ncu's messages may stand
 * before, between and behind.
 *
 * Columns of CSV are found by their titles, columns of a printed table by the dashes above them. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/text_lines.h"
#include "import/ncu/ncu.h"

/* X(ID, title): columns that are not metrics. */
#define NCU_COLUMNS(X)                                                                             \
    X(ID, "ID")                                                                                    \
    X(PID, "Process ID")                                                                           \
    X(PROCESS, "Process Name")                                                                     \
    X(HOST, "Host Name")                                                                           \
    X(KERNEL, "Kernel Name")                                                                       \
    X(TIME, "Kernel Time")                                                                         \
    X(CONTEXT, "Context")                                                                          \
    X(STREAM, "Stream")                                                                            \
    X(BLOCK, "Block Size")                                                                         \
    X(GRID, "Grid Size")                                                                           \
    X(DEVICE, "Device")                                                                            \
    X(CAPABILITY, "CC")                                                                            \
    X(SECTION, "Section Name")                                                                     \
    X(METRIC, "Metric Name")                                                                       \
    X(UNIT, "Metric Unit")                                                                         \
    X(VALUE, "Metric Value")

#define NCU_COLUMN_ENUM(ID, title) NCU_##ID,
enum ncu_column { NCU_COLUMNS(NCU_COLUMN_ENUM) NCU_COLUMN_COUNT };

enum { FIELDS_MAX = 4096, NO_FIELD = -1, TABLE_FIELDS = 3, ERROR_BYTES = 400 };

/* How the lines that follow are read. */
enum shape { SHAPE_NONE, SHAPE_LONG, SHAPE_UNITS, SHAPE_WIDE, SHAPE_TABLE };

struct printed {
    struct ncu ncu;
    struct text_lines *lines;
    enum shape shape;
    struct text fields[FIELDS_MAX];
    size_t field_count;
    int field_of[NCU_COLUMN_COUNT]; /* or NO_FIELD */
    uint32_t *names, *units;        /* wide: by field, ids in `strings` */
    struct intern strings;
    size_t column_count;
    uint64_t id;                                     /* of the current launch */
    size_t starts[TABLE_FIELDS], ends[TABLE_FIELDS]; /* of a printed table */
    uint64_t pid;                                    /* of the process in square brackets */
    char error[ERROR_BYTES];                         /* ncu's first */
};

/* ---- CSV ---- */

static struct text field(const struct printed *printed, enum ncu_column column) {
    int place = printed->field_of[column];
    return place != NO_FIELD && (size_t)place < printed->field_count ? printed->fields[place]
                                                                     : TEXT("");
}

static uint64_t integer(const struct printed *printed, enum ncu_column column) {
    uint64_t value;
    return text_to_u64(field(printed, column), &value) ? value : 0;
}

static int column_called(struct text title) {
#define NCU_COLUMN_TITLE(ID, title) title,
    static const char *const titles[NCU_COLUMN_COUNT] = {NCU_COLUMNS(NCU_COLUMN_TITLE)};
    for (int column = 0; column < NCU_COLUMN_COUNT; column++)
        if (text_is(title, titles[column]))
            return column;
    return NO_FIELD;
}

/* The titles, of which those of a wide table are the names of metrics. */
static bool read_titles(struct printed *printed, struct status *status) {
    size_t count = printed->field_count;
    memory_free(printed->names);
    memory_free(printed->units);
    printed->units = memory_allocate(count, sizeof *printed->units, status);
    printed->names = memory_allocate(count, sizeof *printed->names, status);
    printed->column_count = count;
    if (!printed->names || !printed->units)
        return false;
    for (unsigned column = 0; column < NCU_COLUMN_COUNT; column++)
        printed->field_of[column] = NO_FIELD;
    for (size_t i = 0; i < count; i++) {
        int column = column_called(printed->fields[i]);
        if (column != NO_FIELD)
            printed->field_of[column] = (int)i;
        else if (!intern_add(&printed->strings, printed->fields[i], &printed->names[i], status))
            return false;
    }
    printed->shape = printed->field_of[NCU_METRIC] != NO_FIELD ? SHAPE_LONG : SHAPE_UNITS;
    return ncu_launch_end(&printed->ncu, status);
}

static bool read_units(struct printed *printed, struct status *status) {
    for (size_t i = 0; i < MIN(printed->field_count, printed->column_count); i++)
        if (!intern_add(&printed->strings, printed->fields[i], &printed->units[i], status))
            return false;
    printed->shape = SHAPE_WIDE;
    return true;
}

/* "8.9" */
static void read_capability(struct text text, struct row_device *row) {
    int64_t major, minor;
    if (text_to_i64(text_split(&text, '.'), &major) && text_to_i64(text, &minor) && major > 0 &&
        major < 1000 && minor >= 0 && minor < 1000) {
        row->compute_major = (uint32_t)major;
        row->compute_minor = (uint32_t)minor;
    }
}

static bool begin_launch(struct printed *printed, struct status *status) {
    struct ncu_launch *launch = &printed->ncu.launch;
    if (!ncu_launch_begin(&printed->ncu, status))
        return false;
    printed->id = integer(printed, NCU_ID);
    launch->pid = integer(printed, NCU_PID);
    launch->device = (int64_t)MIN(integer(printed, NCU_DEVICE), (uint64_t)UINT32_MAX);
    launch->stream = (int64_t)MIN(integer(printed, NCU_STREAM), (uint64_t)UINT32_MAX);
    launch->name = trace_writer_string(printed->ncu.writer, field(printed, NCU_KERNEL));
    ncu_dimensions(field(printed, NCU_GRID), launch->grid);
    ncu_dimensions(field(printed, NCU_BLOCK), launch->block);
    read_capability(field(printed, NCU_CAPABILITY), &launch->attributes);
    return true;
}

static bool read_long_row(struct printed *printed, struct status *status) {
    const struct ncu_launch *launch = &printed->ncu.launch;
    bool same = launch->open && printed->id == integer(printed, NCU_ID) &&
                launch->pid == integer(printed, NCU_PID);
    return (same || begin_launch(printed, status)) &&
           ncu_printed(&printed->ncu, field(printed, NCU_METRIC), field(printed, NCU_UNIT),
                       field(printed, NCU_VALUE), status);
}

static bool read_wide_row(struct printed *printed, struct status *status) {
    if (!begin_launch(printed, status))
        return false;
    for (size_t i = 0; i < MIN(printed->field_count, printed->column_count); i++)
        if (printed->names[i] &&
            !ncu_printed(&printed->ncu, intern_text(&printed->strings, printed->names[i]),
                         intern_text(&printed->strings, printed->units[i]), printed->fields[i],
                         status))
            return false;
    return true;
}

static bool is_title_line(struct text line) {
    return text_starts(line, "\"ID\",\"");
}

static bool read_csv_line(struct printed *printed, struct text line, struct status *status) {
    printed->field_count = csv_split(line, printed->fields, FIELDS_MAX);
    if (is_title_line(line))
        return read_titles(printed, status);
    uint64_t id;
    bool is_row = text_to_u64(field(printed, NCU_ID), &id);
    switch (printed->shape) {
    case SHAPE_UNITS:
        return is_row ? true : read_units(printed, status);
    case SHAPE_LONG:
        return !is_row || read_long_row(printed, status);
    case SHAPE_WIDE:
        return !is_row || read_wide_row(printed, status);
    default:
        return true;
    }
}

/* ---- Printed tables ---- */

/* The number behind `word`: ", Stream 7". */
static int64_t number_after(struct text line, const char *word, int64_t fallback) {
    ptrdiff_t at = text_find(line, word);
    if (at < 0)
        return fallback;
    size_t start = (size_t)at + strlen(word), end = start;
    while (end < line.length && line.data[end] >= '0' && line.data[end] <= '9')
        end++;
    int64_t value;
    return text_to_i64((struct text){line.data + start, end - start}, &value) ? value : fallback;
}

/* The last "(1, 2, 3)x(4, 5, 6)" of a line; returns where it begins, or the length. */
static size_t find_sizes(struct text line, struct ncu_launch *launch) {
    for (size_t i = line.length; i-- > 2;) {
        if (line.data[i] != '(' || line.data[i - 1] != 'x' || line.data[i - 2] != ')')
            continue;
        size_t open = i - 2, close = i;
        while (open > 0 && line.data[open] != '(')
            open--;
        while (close < line.length && line.data[close] != ')')
            close++;
        ncu_dimensions((struct text){line.data + open, i - 1 - open}, launch->grid);
        ncu_dimensions((struct text){line.data + i, MIN(close + 1, line.length) - i},
                       launch->block);
        if (launch->grid[0] && launch->block[0])
            return open;
    }
    return line.length;
}

/* "  kernel(args) (1, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 9.0"; older versions
 * have the time of the launch instead of its sizes. */
static bool is_kernel_line(struct text line) {
    return text_starts(line, "  ") && text_find(line, ", Context ") > 0 &&
           text_find(line, ", Stream ") > 0;
}

static bool read_kernel_line(struct printed *printed, struct text line, struct status *status) {
    struct ncu_launch *launch = &printed->ncu.launch;
    if (!ncu_launch_begin(&printed->ncu, status))
        return false;
    ptrdiff_t context = text_find(line, ", Context ");
    struct text tail = {line.data + context, line.length - (size_t)context};
    struct text name = {line.data, (size_t)context};
    size_t sizes = find_sizes(name, launch);
    if (sizes == name.length) { /* the time: ", 2021-Jan-01 10:00:00" */
        while (sizes > 0 && name.data[sizes - 1] != ',')
            sizes--;
        sizes -= sizes > 0;
    }
    name = text_trim((struct text){name.data, sizes ? sizes : name.length});
    launch->name = trace_writer_string(printed->ncu.writer, name);
    launch->pid = printed->pid;
    launch->stream = number_after(tail, ", Stream ", 0);
    launch->device = number_after(tail, ", Device ", 0);
    ptrdiff_t capability = text_find(tail, ", CC ");
    if (capability >= 0)
        read_capability(text_trim((struct text){tail.data + capability + 5,
                                                tail.length - (size_t)capability - 5}),
                        &launch->attributes);
    printed->shape = SHAPE_NONE;
    return true;
}

/* Three groups of dashes: the columns of a table, above and below its titles and behind it. */
static bool read_dashes(struct printed *printed, struct text line) {
    size_t count = 0;
    for (size_t i = 0; i < line.length; i++) {
        if (line.data[i] != '-' && line.data[i] != ' ')
            return false;
        if (line.data[i] == '-' && (i == 0 || line.data[i - 1] == ' ')) {
            if (count == TABLE_FIELDS)
                return false;
            printed->starts[count++] = i;
        }
        if (line.data[i] == '-')
            printed->ends[count - 1] = i + 1;
    }
    return count == TABLE_FIELDS;
}

/* The last column takes the rest of the line. */
static struct text cell(const struct printed *printed, struct text line, unsigned column) {
    size_t end = column + 1 < TABLE_FIELDS ? printed->ends[column] : line.length;
    size_t start = MIN(printed->starts[column], line.length);
    end = MIN(end, line.length);
    return text_trim((struct text){line.data + start, end > start ? end - start : 0});
}

static bool read_table_line(struct printed *printed, struct text line, struct status *status) {
    if (read_dashes(printed, line)) {
        printed->shape = SHAPE_TABLE;
        return true;
    }
    if (printed->shape != SHAPE_TABLE)
        return true;
    if (text_trim(line).length == 0) {
        printed->shape = SHAPE_NONE;
        return true;
    }
    struct text name = cell(printed, line, 0);
    return text_is(name, "Metric Name") ||
           ncu_printed(&printed->ncu, name, cell(printed, line, 1), cell(printed, line, 2), status);
}

/* ---- The file ---- */

static void keep_error(struct printed *printed, struct text line) {
    if (printed->error[0] == 0 && text_starts(line, "==ERROR== "))
        text_printable((struct text){line.data + 10, line.length - 10}, printed->error,
                       sizeof printed->error);
}

static bool read_line(struct printed *printed, struct text line, struct status *status) {
    if (line.length && line.data[line.length - 1] == '\r')
        line.length--;
    if (text_starts(line, "==")) {
        keep_error(printed, line);
        return true;
    }
    if (line.length && line.data[0] == '"')
        return read_csv_line(printed, line, status);
    if (line.length && line.data[0] == '[')
        printed->pid = (uint64_t)MAX(number_after(line, "[", 0), (int64_t)0);
    if (is_kernel_line(line))
        return read_kernel_line(printed, line, status);
    return read_table_line(printed, line, status);
}

static bool read_lines(struct printed *printed, struct status *status) {
    struct text line;
    while (text_lines_next(printed->lines, &line, status))
        if (!read_line(printed, line, status))
            return false;
    return !printed->lines->failed && ncu_launch_end(&printed->ncu, status);
}

static bool no_launches(const struct printed *printed, struct status *status) {
    if (printed->error[0])
        return status_fail(status, STATUS_INPUT, "has no counters; ncu failed: %s", printed->error);
    return status_fail(status, STATUS_INPUT,
                       "is ncu's output without a kernel; did the program launch one that ncu's "
                       "filters select?");
}

static bool printed_run(const struct import_source *source, const struct import_options *options,
                        struct trace_writer *writer, struct status *status) {
    struct text_lines lines;
    struct printed *printed = memory_allocate(1, sizeof *printed, status);
    if (!printed)
        return false;
    printed->ncu = (struct ncu){.writer = writer, .options = options, .entities.writer = writer};
    printed->lines = &lines;
    bool ok = text_lines_open(&lines, source->path, status) && read_lines(printed, status);
    if (ok && printed->ncu.launches == 0)
        ok = no_launches(printed, status);
    if (ok)
        ncu_write_meta(&printed->ncu, TEXT("Nsight Compute"));
    text_lines_close(&lines);
    memory_free(printed->names);
    memory_free(printed->units);
    intern_finish(&printed->strings);
    ncu_finish(&printed->ncu);
    memory_free(printed);
    return ok;
}

/* A line that only ncu prints; messages of ncu alone are enough to explain why there is none. */
static int printed_detect(const struct import_source *source) {
    struct text rest = {(const char *)source->head, source->head_length};
    int confidence = 0;
    while (rest.length > 0) {
        struct text line = text_split(&rest, '\n');
        if (is_title_line(line) && text_find(line, "\"Kernel Name\"") > 0)
            return 3;
        if (is_kernel_line(line) && text_find(rest, "Metric Name") >= 0)
            return 3;
        if (text_starts(line, "==PROF== ") || text_starts(line, "==ERROR== "))
            confidence = 2;
    }
    return confidence;
}

const struct importer import_ncu_text = {
    .format = "ncu", .detect = printed_detect, .run = printed_run};
