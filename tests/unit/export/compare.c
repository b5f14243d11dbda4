/* Rows are compared column by column through the schema; ids by what they stand for. */
#include "compare.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "../test.h"
#include "base/memory.h"
#include "trace/writer.h"

/* ---- generating ---- */

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Texts that JSON, CSV, SQL and protobuf each find awkward. */
static uint32_t some_text(struct trace_writer *writer, uint64_t random) {
    static const char *const texts[] = {
        "",      "gemm",         "a \"quoted\" name", "comma, and\nline\tbreak",
        "=1+1",  "-flag",        "back\\slash",       "µs → ns",
        "-12.5", "{lambda()#1}", "\x01\x1f control",  "'single'",
    };
    char text[80];
    snprintf(text, sizeof text, "%s%s", texts[random % 12],
             random % 12 && random >> 8 & 1 ? " again" : "");
    return trace_writer_string(writer, text_of(text));
}

static uint64_t some_number(uint64_t random, size_t size) {
    static const uint64_t extremes[] = {0,         1,          127,       128,        UINT32_MAX,
                                        INT64_MAX, UINT64_MAX, INT64_MIN, 1000000007, 255};
    uint64_t value = random & 1 ? extremes[(random >> 8) % 10] : random >> 40;
    return size == 8 ? value : size == 4 ? (uint32_t)value : (uint8_t)value;
}

static double some_double(uint64_t random) {
    static const double values[] = {0, -2.75, 1.5, -1e300, 5e-324, 0.1, 1e15, 123456789.125};
    return values[random % 8];
}

struct generator {
    struct trace_writer *writer;
    uint64_t random;
    uint32_t entities[TABLE_ACTIVITY]; /* how many there are */
    bool placed;                       /* events name their entities, which tell the recording */
};

/* Valid enumerators, times and references; anything goes for the rest. */
static uint64_t some_value(struct generator *generator, enum trace_table table, unsigned column,
                           size_t row) {
    const struct column_info *info = &trace_tables[table].columns[column];
    uint64_t random = next_random(&generator->random), bits;
    column_namer *names = column_names(table, column);
    static const int targets[] = {
        [COLUMN_PROCESS] = TABLE_PROCESS, [COLUMN_THREAD] = TABLE_THREAD,
        [COLUMN_DEVICE] = TABLE_DEVICE,   [COLUMN_QUEUE] = TABLE_QUEUE,
        [COLUMN_STACK] = TABLE_STACK,
    };
    if (names) {
        unsigned count = 0;
        while (strcmp(names(count), "?") != 0)
            count++;
        return random % count;
    }
    if (info->type == COLUMN_TIME) /* mostly rising, often equal, overlapping in every way */
        return 1000000 + row / 2 * 10 + random % 4 * 10;
    if (strcmp(info->name, "duration") == 0)
        return random % 5 == 0 ? 0 : random % 7 * 10;
    if (strcmp(info->name, "detail") == 0)
        return random % 3 ? 0
                          : trace_writer_string(generator->writer,
                                                random & 8 ? TEXT("{\"a\":[1,2],\"b\":\"c\"}")
                                                           : TEXT("{\"x\":null}"));
    if (info->type == COLUMN_STRING)
        return some_text(generator->writer, random);
    if (info->type == COLUMN_F64) {
        double value = some_double(random);
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    if (info->type >= COLUMN_PROCESS) {
        uint32_t count = generator->entities[targets[info->type]];
        return generator->placed && table >= TABLE_ACTIVITY ? 1 + random % count
                                                            : random % (count + 1);
    }
    if (strcmp(info->name, "correlation") == 0)
        return random % 5 == 0 ? 0 : random % 100;
    return some_number(random, info->size);
}

static void set(void *row, const struct column_info *info, uint64_t bits) {
    uint32_t middle = (uint32_t)bits;
    uint8_t narrow = (uint8_t)bits;
    const void *from = info->size == 8   ? (const void *)&bits
                       : info->size == 4 ? (const void *)&middle
                                         : (const void *)&narrow;
    memcpy((char *)row + info->row_offset, from, info->size);
}

union any_row {
#define ANY_ROW(table, TABLE, fourcc) struct row_##table table;
    TRACE_TABLES(ANY_ROW)
};

static uint32_t write_row(struct trace_writer *writer, enum trace_table table,
                          const union any_row *row) {
    switch (table) {
#define WRITE_CASE(table, TABLE, fourcc)                                                           \
    case TABLE_##TABLE:                                                                            \
        return trace_write_##table(writer, &row->table);
        TRACE_TABLES(WRITE_CASE)
    default:
        return 0;
    }
}

/* What tells entities apart must differ. */
static void make_distinct(struct generator *generator, enum trace_table table, uint32_t number,
                          union any_row *row) {
    char label[24];
    if (table == TABLE_PROCESS)
        row->process.pid = 100 + number;
    else if (table == TABLE_THREAD)
        row->thread.tid = number % 3 ? (int64_t)number + 1000 : -(int64_t)number;
    else if (table == TABLE_QUEUE)
        row->queue.stream = number + 7;
    else if (table == TABLE_STACK)
        row->stack.parent = row->stack.parent >= number + 1 ? 0 : row->stack.parent;
    if (table == TABLE_DEVICE) {
        snprintf(label, sizeof label, number % 2 ? "M%u" : "%u", number);
        row->device.index = number;
        row->device.label = trace_writer_string(generator->writer, text_of(label));
        row->device.uuid = 0;
    }
}

static void write_table(struct generator *generator, enum trace_table table, size_t rows) {
    const struct table_info *info = &trace_tables[table];
    for (size_t i = 0; i < rows; i++) {
        union any_row row;
        memset(&row, 0, sizeof row);
        for (unsigned column = 0; column < info->column_count; column++)
            set(&row, &info->columns[column], some_value(generator, table, column, i));
        if (table < TABLE_ACTIVITY)
            make_distinct(generator, table, (uint32_t)i, &row);
        uint32_t id = write_row(generator->writer, table, &row);
        if (table < TABLE_ACTIVITY)
            generator->entities[table] = id;
    }
}

struct trace *compare_generate(unsigned recordings, size_t rows) {
    const char *path = test_temporary(".ridge");
    struct status status = {0};
    struct trace *trace = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (unsigned i = 0; i < recordings; i++) {
        struct trace_writer_options options = {.session = i + 1, .writer = i + 1, .level = 1};
        struct generator generator = {.random = 88172645463325252u + i, .placed = recordings > 1};
        generator.writer = trace_writer_create(fd, &options, &status);
        trace_writer_meta(generator.writer, META_SOURCE_FORMAT, TEXT("random"));
        trace_writer_meta(generator.writer, META_CLOCK_BASE, TEXT("monotonic"));
        trace_writer_meta(generator.writer, "note", TEXT("a \"note\""));
        for (unsigned table = TABLE_PROCESS; table < TABLE_ACTIVITY; table++)
            write_table(&generator, table, table == TABLE_STACK ? 40 : 5);
        for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
            write_table(&generator, table, rows);
        CHECK_OK(trace_writer_finish(generator.writer, &status), status);
        trace_writer_destroy(generator.writer);
    }
    close(fd);
    CHECK_OK(trace_open(path, &trace, &status), status);
    return trace;
}

struct trace *compare_round_trip(struct trace *trace, const char *format, const char *ending) {
    const char *path = test_temporary(ending);
    struct status status = {0};
    struct output output;
    struct trace *back = NULL;
    bool ok = output_open(&output, path, true, &status) &&
              export_find(format)->write(trace, &(struct export_options){.table = TABLE_ACTIVITY},
                                         &output, &status) &&
              output_commit(&output, &status) &&
              import_open(path, &(struct import_options){0}, &back, &status);
    if (!ok && status.code == STATUS_UNSUPPORTED) {
        output_abandon(&output);
        test_skip("this build has no SQLite");
    } else if (!ok) {
        test_failed(__FILE__, __LINE__, "%s: %s", format, status.message);
    }
    return ok ? back : NULL;
}

/* ---- comparing ---- */

static void describe_device(const struct trace *trace, uint32_t id, struct buffer *out) {
    struct text label = trace_text(trace, trace->device.label[id]);
    if (id)
        buffer_printf(out, "device %u.%u.%.*s", trace->device_session[id], trace->device.index[id],
                      TEXT_ARGS(label));
}

static void describe_process(const struct trace *trace, uint32_t id, struct buffer *out) {
    if (id)
        buffer_printf(out, "process %u.%" PRIu64, trace->process_session[id],
                      trace->process.pid[id]);
}

static void describe_stack(const struct trace *trace, uint32_t id, struct buffer *out) {
    for (; id; id = trace->stack.parent[id]) {
        buffer_text(out, trace_text(trace, trace->stack.function[id]));
        buffer_byte(out, '@');
        buffer_text(out, trace_text(trace, trace->stack.module[id]));
        buffer_byte(out, ';');
    }
}

static void describe_entity(const struct trace *trace, enum column_type type, uint32_t id,
                            struct buffer *out) {
    switch (type) {
    case COLUMN_PROCESS:
        describe_process(trace, id, out);
        break;
    case COLUMN_THREAD:
        if (id) {
            describe_process(trace, trace->thread.process[id], out);
            buffer_printf(out, " thread %u.%" PRId64, trace->thread_session[id],
                          trace->thread.tid[id]);
        }
        break;
    case COLUMN_DEVICE:
        describe_device(trace, id, out);
        break;
    case COLUMN_QUEUE:
        if (id) {
            describe_device(trace, trace->queue.device[id], out);
            buffer_printf(out, " queue %" PRId64, trace->queue.stream[id]);
        }
        break;
    default:
        describe_stack(trace, id, out);
    }
}

static void describe_cell(const struct trace *trace, enum trace_table table, unsigned column,
                          size_t row, struct buffer *out) {
    const struct column_info *info = &trace_tables[table].columns[column];
    uint64_t bits = export_cell(trace_column(trace, table, column), info, row);
    buffer_clear(out);
    if (info->type == COLUMN_STRING)
        buffer_text(out, trace_text(trace, (uint32_t)bits));
    else if (info->type >= COLUMN_PROCESS)
        describe_entity(trace, info->type, (uint32_t)bits, out);
    else
        buffer_printf(out, "%" PRId64, (int64_t)bits);
}

static bool excepted(const char *except, enum trace_table table, unsigned column) {
    char name[80];
    snprintf(name, sizeof name, "%s.%s", trace_tables[table].name,
             trace_tables[table].columns[column].name);
    const char *hit = strstr(except, name);
    return hit && (hit[strlen(name)] == ' ' || hit[strlen(name)] == 0);
}

/* All columns of a row as one text. */
static void describe_row(const struct trace *trace, enum trace_table table, size_t row,
                         const char *except, struct buffer *out, struct buffer *cell) {
    buffer_clear(out);
    for (unsigned column = 0; column < trace_tables[table].column_count; column++) {
        if (excepted(except, table, column))
            continue;
        describe_cell(trace, table, column, row, cell);
        buffer_printf(out, "%s=", trace_tables[table].columns[column].name);
        buffer_text(out, buffer_as_text(cell));
        buffer_string(out, " | ");
    }
}

static void compare_table(struct trace *before, struct trace *after, enum trace_table table,
                          const char *except) {
    struct buffer a = {0}, b = {0}, cell = {0};
    size_t first = table < TABLE_ACTIVITY;
    if (trace_rows(before, table) != trace_rows(after, table))
        test_failed(__FILE__, __LINE__, "%s has %zu rows, not %zu", trace_tables[table].name,
                    trace_rows(after, table), trace_rows(before, table));
    for (size_t row = first; row < trace_rows(before, table) && row < trace_rows(after, table);
         row++) {
        describe_row(before, table, row, except, &a, &cell);
        describe_row(after, table, row, except, &b, &cell);
        if (!text_equal(buffer_as_text(&a), buffer_as_text(&b))) {
            test_failed(__FILE__, __LINE__, "%s row %zu is\n  %.*s\nnot\n  %.*s",
                        trace_tables[table].name, row, (int)b.length, b.data, (int)a.length,
                        a.data);
            break;
        }
    }
    buffer_finish(&a);
    buffer_finish(&b);
    buffer_finish(&cell);
}

void compare_traces(struct trace *before, struct trace *after, const char *except) {
    struct status status = {0};
    for (unsigned table = TABLE_PROCESS; table < TABLE_COUNT; table++) {
        char all[80];
        snprintf(all, sizeof all, "%s.*", trace_tables[table].name);
        if (strstr(except, all))
            continue;
        CHECK_OK(trace_load(before, table, NULL, &status), status);
        CHECK_OK(trace_load(after, table, NULL, &status), status);
        compare_table(before, after, table, except);
    }
}
