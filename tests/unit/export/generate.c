/* Rows are filled column by column through the schema. */
#include "generate.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "../test.h"
#include "trace/reader.h"
#include "trace/writer.h"

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Strings that JSON, CSV, SQL or protobuf writers get wrong. */
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
    bool placed;                       /* every event has its entities */
};

/* Valid enumerators, times and references; any value for the rest. */
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

/* Makes the keys of entities differ. */
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

struct trace *generate_trace(unsigned recordings, size_t rows) {
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
