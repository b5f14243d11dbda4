/* The frame of a Parquet file. tests/cli/export_parquet reads the rest with other programs. */
#include "../test.h"

#include <string.h>

#include "base/memory.h"
#include "export/parquet.h"
#include "generate.h"

static bool write_activities(struct trace *trace, struct buffer *bytes, struct status *status) {
    enum { ROWS = 20 };
    uint32_t rows[ROWS], steps[ROWS];
    struct output output = output_into(bytes);
    struct parquet_table table;
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = i;
        steps[i] = i / 4;
    }
    if (!parquet_table_begin(&table, TABLE_ACTIVITY, PARQUET_RANK | PARQUET_STEP, &output, status))
        return false;
    struct parquet_part part = {rows, ROWS, 3, steps};
    bool ok = parquet_table_rows(&table, trace, &part, status) &&
              parquet_table_rows(&table, trace, &part, status) &&
              parquet_table_end(&table, "0.1", status) && buffer_ok(bytes, status);
    parquet_table_finish(&table);
    return ok;
}

static struct trace *loaded_trace(void) {
    struct trace *trace = generate_trace(1, 20);
    struct status status = {0};
    CHECK_OK(trace_load(trace, TABLE_ACTIVITY, NULL, &status), status);
    return trace;
}

TEST(a_parquet_file_ends_with_a_footer_that_names_its_columns) {
    struct trace *trace = loaded_trace();
    struct buffer bytes = {0};
    struct status status = {0};
    CHECK_OK(write_activities(trace, &bytes, &status), status);
    struct text file = buffer_as_text(&bytes);
    CHECK(text_starts(file, "PAR1"));
    uint32_t footer = 0;
    memcpy(&footer, file.data + file.length - 8, sizeof footer);
    CHECK(memcmp(file.data + file.length - 4, "PAR1", 4) == 0);
    CHECK(footer > 0 && footer < file.length - 12);
    struct text names = {file.data + file.length - 8 - footer, footer};
    CHECK(text_find(names, "queue_device") > 0);
    CHECK(text_find(names, "ridge.table") > 0);
    CHECK(text_find(names, "ridge version 0.1") > 0);
    buffer_finish(&bytes);
    trace_close(trace);
}

TEST(every_failing_allocation_of_a_parquet_file_is_reported) {
    struct trace *trace = loaded_trace();
    bool done = false;
    for (uint64_t nth = 1; nth < 100000 && !done; nth += 1 + nth / 8) {
        struct buffer bytes = {0};
        struct status status = {0};
        memory_fail_from(nth);
        done = write_activities(trace, &bytes, &status);
        memory_fail_from(0);
        CHECK(done || status.code == STATUS_MEMORY);
        buffer_finish(&bytes);
    }
    CHECK(done);
    trace_close(trace);
}
