/* Every cell counts: strings as text, the rest as numbers. The name of the temporary file does not.
 */
#include "rows.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "../test.h"
#include "base/checksum.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"

#define FILE_NAME "tests/unit/import/rows.txt"
enum { LINE_MAX_BYTES = 256 };

static const void *column_of(const struct trace *trace, enum trace_table table,
                             const struct column_info *info, size_t *count) {
    const void *columns = NULL;
    switch (table) {
#define ROWS_CASE(name, NAME, fourcc)                                                              \
    case TABLE_##NAME:                                                                             \
        columns = &trace->name;                                                                    \
        *count = trace->name.count;                                                                \
        break;
        TRACE_TABLES(ROWS_CASE)
    default:
        return NULL;
    }
    return *(void *const *)((const char *)columns + info->pointer_offset);
}

static void put_cell(struct buffer *text, const struct trace *trace, const struct column_info *info,
                     const void *values, size_t row) {
    const char *at = (const char *)values + row * info->size;
    uint64_t wide = 0;
    double real;
    memcpy(&wide, at, info->size);
    if (info->type == COLUMN_STRING) {
        buffer_text(text, trace_text(trace, (uint32_t)wide));
    } else if (info->type == COLUMN_F64) {
        memcpy(&real, at, sizeof real);
        buffer_printf(text, "%.12g", real);
    } else {
        buffer_printf(text, "%" PRId64, (int64_t)wide);
    }
    buffer_byte(text, ' ');
}

/* The rows of a table as lines of text; returns their number. */
static size_t write_rows(const struct trace *trace, enum trace_table table, struct buffer *text) {
    const struct table_info *info = &trace_tables[table];
    size_t count = 0;
    column_of(trace, table, &info->columns[0], &count);
    for (size_t row = 0; row < count; row++) {
        size_t begin = text->length;
        for (unsigned i = 0; i < info->column_count; i++) {
            const void *values = column_of(trace, table, &info->columns[i], &count);
            if (values)
                put_cell(text, trace, &info->columns[i], values, row);
        }
        buffer_byte(text, '\n');
        struct text line = {text->data + begin, text->length - begin};
        if (text_find(line, "ridge-test-") >= 0) /* a temporary file */
            text->length = begin;
    }
    return count;
}

static unsigned import_number(void) {
    static const char *last;
    static unsigned number;
    number = last == test_name() ? number + 1 : 1;
    last = test_name();
    return number;
}

static int by_name(const void *a, const void *b) {
    return strcmp(trace_tables[*(const unsigned *)a].name, trace_tables[*(const unsigned *)b].name);
}

/* By the names of the tables, so that the file may be sorted. */
static bool describe(struct trace *trace, unsigned number, unsigned first, struct buffer *lines) {
    bool complete = true;
    unsigned order[TABLE_COUNT];
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        order[i] = i;
    qsort(order, TABLE_COUNT, sizeof order[0], by_name);
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        unsigned table = order[i];
        if (table < first)
            continue;
        struct buffer rows = {0};
        size_t count = write_rows(trace, table, &rows);
        if (count > 0)
            buffer_printf(lines, "%s %u %s %zu %016" PRIx64 "\n", test_name(), number,
                          trace_tables[table].name, count, checksum64(rows.data, rows.length));
        if (getenv("SHOW"))
            fprintf(stderr, "%s %u %s\n%.*s", test_name(), number, trace_tables[table].name,
                    (int)rows.length, rows.data ? rows.data : "");
        complete &= !rows.failed;
        buffer_finish(&rows);
    }
    return complete && !lines->failed;
}

/* The lines of the file that are about this import, or all others. */
static void read_lines(unsigned number, bool others, struct buffer *lines) {
    char line[LINE_MAX_BYTES], prefix[LINE_MAX_BYTES];
    snprintf(prefix, sizeof prefix, "%s %u ", test_name(), number);
    FILE *file = fopen(FILE_NAME, "r");
    while (file && fgets(line, sizeof line, file))
        if ((strncmp(line, prefix, strlen(prefix)) == 0) != others)
            buffer_text(lines, text_of(line));
    if (file)
        fclose(file);
}

static void update(unsigned number, const struct buffer *measured) {
    struct buffer lines = {0};
    read_lines(number, true, &lines);
    FILE *file = fopen(FILE_NAME, "w");
    if (file) {
        fwrite(lines.data, 1, lines.length, file);
        fwrite(measured->data, 1, measured->length, file);
        fclose(file);
    }
    buffer_finish(&lines);
}

static void check(struct trace *trace, unsigned first) {
    struct status status = {0};
    struct buffer measured = {0}, expected = {0};
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
        if (!trace_load(trace, table, NULL, &status))
            return; /* a test that makes allocations fail */
    unsigned number = import_number();
    bool complete =
        describe(trace, number, first, &measured); /* it is not where allocations fail */
    read_lines(number, false, &expected);
    if (complete && getenv("UPDATE"))
        update(number, &measured);
    else if (complete && !text_equal(buffer_as_text(&measured), buffer_as_text(&expected)))
        test_failed(FILE_NAME, 0, "the imported rows are\n%.*snot\n%.*s", (int)measured.length,
                    measured.data ? measured.data : "", (int)expected.length,
                    expected.data ? expected.data : "");
    buffer_finish(&measured);
    buffer_finish(&expected);
}

void rows_check(struct trace *trace) {
    check(trace, 0);
}

void rows_check_events(struct trace *trace) {
    check(trace, TABLE_ACTIVITY);
}

/* ---- Ablation ---- */

bool ablation_is_wanted(void) {
    static const char *last;
    static unsigned imports;
    imports = last == test_name() ? imports + 1 : 1;
    last = test_name();
    return imports <= 2 && !strstr(test_name(), "memory");
}

const char *ablation_path(void) {
    static char path[512];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ridge-test-variant-%ld", folder ? folder : "/tmp",
             (long)getpid());
    return path;
}

/* Without the name of the temporary file. */
static void add_message(struct buffer *results, const char *message) {
    const char *name = strstr(message, "ridge-test-");
    if (!name)
        buffer_text(results, text_of(message));
    buffer_printf(results, "\n");
}

/* Imports and describes the rows. False: the status has the reason. */
static bool import_variant(const struct importer *importer, const char *path, bool skip_invalid,
                           unsigned number, struct buffer *rows, struct status *status) {
    FILE *file = tmpfile();
    struct trace *trace = NULL;
    struct import_source source = {.path = path};
    struct import_options options = {.skip_invalid = skip_invalid};
    int fd = file ? dup(fileno(file)) : -1;
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, status);
    bool ok = writer &&
              (importer->run(&source, &options, writer, status) || trace_writer_failed(writer)) &&
              trace_writer_finish(writer, status) && trace_open_fd(fd, "variant", &trace, status);
    for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT && ok; table++)
        ok = trace_load(trace, table, NULL, status);
    uint64_t left = memory_fail_only(0);
    if (ok)
        describe(trace, number, 0, rows);
    memory_fail_only(left);
    trace_close(trace);
    trace_writer_destroy(writer);
    close(fd);
    if (file)
        fclose(file);
    return ok;
}

/* One allocation fails: so does the import, or it gives the same rows without it. Of many, every
 * few are tried; each test begins with another one. */
static void check_without_memory(const struct importer *importer, const char *path,
                                 bool skip_invalid) {
    enum { RUNS = 24 };
    const uint64_t never = UINT64_MAX;
    struct buffer expected = {0};
    struct status status = {0};
    memory_fail_only(never);
    bool valid = import_variant(importer, path, skip_invalid, 1, &expected, &status);
    uint64_t allocations = never - memory_fail_only(0), stride = allocations / RUNS + 1;
    uint64_t first = 1 + checksum64(test_name(), strlen(test_name())) % stride;
    for (uint64_t nth = first; nth <= allocations; nth += stride) {
        struct buffer rows = {0};
        status = (struct status){0};
        memory_fail_only(nth);
        bool ok = import_variant(importer, path, skip_invalid, 1, &rows, &status);
        memory_fail_only(0);
        if (ok ? !valid || !text_equal(buffer_as_text(&rows), buffer_as_text(&expected))
               : status.code == STATUS_OK)
            test_failed(__FILE__, __LINE__, "allocation %" PRIu64 " of %" PRIu64 ": %s", nth,
                        allocations, ok ? "other rows" : "fails without a message");
        buffer_finish(&rows);
    }
    buffer_finish(&expected);
}

void ablation_add(struct ablation *ablation, const struct importer *importer, const char *path,
                  bool skip_invalid) {
    struct status status = {0};
    if (ablation->variants == 0 && !ablation->results.length)
        check_without_memory(importer, path, skip_invalid);
    unsigned number = ablation->variants + 1;
    if (import_variant(importer, path, skip_invalid, number, &ablation->results, &status))
        ablation->variants = number;
    else
        add_message(&ablation->results, ablation->without_messages ? "failed" : status.message);
}

void ablation_check(struct ablation *ablation) {
    static const char *last;
    static unsigned number;
    struct buffer measured = {0}, expected = {0};
    enum { NUMBERS = 1000 }; /* the imports of a test have smaller ones */
    number = last == test_name() ? number + 1 : 1;
    last = test_name();
    if (getenv("SHOW"))
        fprintf(stderr, "%.*s", (int)ablation->results.length, ablation->results.data);
    buffer_printf(&measured, "%s %u variants %u %016" PRIx64 "\n", test_name(), NUMBERS + number,
                  ablation->variants, checksum64(ablation->results.data, ablation->results.length));
    read_lines(NUMBERS + number, false, &expected);
    if (getenv("UPDATE"))
        update(NUMBERS + number, &measured);
    else if (!text_equal(buffer_as_text(&measured), buffer_as_text(&expected)))
        test_failed(FILE_NAME, 0, "variants of the source give\n%.*snot\n%.*s",
                    (int)measured.length, measured.data, (int)expected.length,
                    expected.data ? expected.data : "");
    buffer_finish(&measured);
    buffer_finish(&expected);
    buffer_finish(&ablation->results);
}

/* The next place to change from `at` on: the start of a name or a number, or any byte of protobuf.
 */
static size_t next_place(struct text bytes, size_t at, bool is_text) {
    while (is_text && at < bytes.length) {
        char before = at ? bytes.data[at - 1] : ' ', byte = bytes.data[at];
        if ((before == '"' || before == '<') && isalpha((unsigned char)byte))
            break;
        if (isdigit((unsigned char)byte) && !isalnum((unsigned char)before) && before != '.')
            break;
        at++;
    }
    return at;
}

static void change(struct text bytes, size_t at, unsigned number, bool is_text,
                   struct buffer *variant) {
    buffer_append(variant, bytes.data, at);
    char byte = bytes.data[at];
    if (!is_text)
        buffer_byte(variant, (char)(byte ^ (number % 2 ? 1 : 8)));
    else if (isalpha((unsigned char)byte))
        buffer_byte(variant, 'Z');
    else if (number % 3 == 0)
        buffer_printf(variant, "-%c", byte);
    else
        buffer_byte(variant, number % 3 == 1 ? '0' : (char)('0' + (byte - '0' + 1) % 10));
    buffer_append(variant, bytes.data + at + 1, bytes.length - at - 1);
}

static bool write_variant(const char *path, const struct buffer *variant) {
    FILE *file = fopen(path, "wb");
    bool ok = file && fwrite(variant->data, 1, variant->length, file) == variant->length;
    if (file)
        fclose(file);
    return ok;
}

void ablation_of_bytes(const struct importer *importer, struct text bytes, bool skip_invalid) {
    enum { VARIANTS = 16, LENGTH_MAX = 20000 };
    struct ablation ablation = {0};
    const char *path = ablation_path();
    bool is_text = bytes.length && strchr("{[<", bytes.data[0]);
    ablation.without_messages = bytes.length && bytes.data[0] == '<';
    size_t places = 0, place = 0;
    if (bytes.length == 0 || bytes.length > LENGTH_MAX)
        return;
    for (size_t at = next_place(bytes, 0, is_text); at < bytes.length;
         at = next_place(bytes, at + 1, is_text))
        places++;
    size_t stride = places / VARIANTS | 1; /* odd, so that names and numbers take turns */
    for (size_t at = next_place(bytes, 0, is_text); at < bytes.length;
         at = next_place(bytes, at + 1, is_text), place++) {
        struct buffer variant = {0};
        if (place % stride != 0)
            continue;
        change(bytes, at, (unsigned)(place / stride), is_text, &variant);
        if (write_variant(path, &variant))
            ablation_add(&ablation, importer, path, skip_invalid);
        buffer_finish(&variant);
    }
    unlink(path);
    ablation_check(&ablation);
}
