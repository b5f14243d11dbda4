/* SQL over a trace returns the trace's data and can only read. */
#ifdef RIDGE_HAVE_SQLITE

#include "../test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "query/columns.h"
#include "query/query.h"
#include "trace/writer.h"

/* Two processes with a GPU each that use the same correlation ids, as a real pair of ranks does.
 * Process p's kernel i starts at 1000 i + 10 p + 5, runs i ns, and was called 5 + 10 p ns before.
 */
static void write_process(struct trace_writer *writer, uint32_t number, unsigned kernels) {
    char label[16];
    snprintf(label, sizeof label, "%u", number);
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 100 + number});
    uint32_t thread = trace_write_thread(
        writer, &(struct row_thread){.process = process,
                                     .tid = 1,
                                     .name = trace_writer_string(writer, TEXT("main"))});
    uint32_t device = trace_write_device(
        writer, &(struct row_device){.index = number,
                                     .label = trace_writer_string(writer, text_of(label)),
                                     .memory_bytes = number ? 80000000000 : 0});
    uint32_t queue = trace_write_queue(
        writer, &(struct row_queue){.device = device, .process = process, .stream = 7});
    for (unsigned i = 1; i <= kernels; i++) {
        int64_t start = 1000 * (int64_t)i + 10 * number + 5;
        trace_write_call(writer, &(struct row_call){
                                     .start = start - 5 - 10 * (int64_t)number,
                                     .duration = 3,
                                     .thread = thread,
                                     .name = trace_writer_string(writer, TEXT("cudaLaunchKernel")),
                                     .class = CALL_LAUNCH,
                                     .correlation = i,
                                 });
        trace_write_activity(
            writer, &(struct row_activity){
                        .start = start,
                        .duration = (int64_t)i,
                        .queue = queue,
                        .kind = ACTIVITY_KERNEL,
                        .name = trace_writer_string(writer, i % 2 ? TEXT("odd") : TEXT("Even")),
                        .correlation = i,
                        .bytes = BYTES_UNKNOWN,
                    });
    }
    trace_write_activity(writer, &(struct row_activity){
                                     .start = 1,
                                     .duration = 50,
                                     .queue = queue,
                                     .kind = ACTIVITY_COPY,
                                     .name = trace_writer_string(writer, TEXT("Memcpy")),
                                     .bytes = number ? BYTES_UNKNOWN : 4096,
                                     .direction = COPY_DTOH,
                                     .to_memory = MEMORY_PINNED,
                                 });
}

static void write_rest(struct trace_writer *writer) {
    trace_write_counter(writer, &(struct row_counter){
                                    .time = -3,
                                    .name = trace_writer_string(writer, TEXT("power")),
                                    .value = 0.5,
                                });
    trace_write_memory(writer, &(struct row_memory){
                                   .time = 9, .address = UINT64_MAX - 1, .operation = MEMORY_FREE});
    trace_write_activity(writer, &(struct row_activity){.start = 7, .correlation = UINT64_MAX});
}

static struct trace *make_trace(unsigned kernels) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 1, .writer = 1, .level = 1}, &status);
    struct trace *trace = NULL;
    if (writer) {
        write_process(writer, 0, kernels);
        write_process(writer, 1, kernels);
        write_rest(writer);
        if (!trace_writer_finish(writer, &status) || !trace_open(path, &trace, &status))
            test_failed(__FILE__, __LINE__, "%s", status.message);
    }
    trace_writer_destroy(writer);
    close(fd);
    return trace;
}

/* All values of a result, "a|b;c|d"; or the error's message. */
static const char *ask(struct trace *trace, const char *sql) {
    static char answers[4][8192];
    static unsigned turn;
    char *answer = answers[turn++ % 4];
    size_t used = 0;
    struct status status = {0};
    struct query *query = NULL;
    sqlite3_stmt *statement = NULL;
    bool row = false, ok;
    answer[0] = '\0';
    ok = query_open(trace, &query, &status) && query_prepare(query, sql, &statement, &status);
    while (ok && (ok = query_step(query, statement, &row, &status)) && row)
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *text = (const char *)sqlite3_column_text(statement, i);
            used += (size_t)snprintf(answer + used, sizeof answers[0] - used, "%s%s",
                                     i      ? "|"
                                     : used ? ";"
                                            : "",
                                     text ? text : "NULL");
            if (used >= sizeof answers[0])
                used = sizeof answers[0] - 1;
        }
    if (!ok)
        snprintf(answer, sizeof answers[0], "%s", status.message);
    sqlite3_finalize(statement);
    query_close(query);
    return answer;
}

TEST(every_column_of_the_schema_has_a_meaning) {
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct shown_table shown;
        shown_table_init(&shown, (enum trace_table)table);
        CHECK(shown.meaning);
        for (unsigned column = 0; column < shown.column_count; column++)
            if (!shown.columns[column].meaning)
                test_failed(__FILE__, __LINE__, "%s.%s has no meaning", shown.name,
                            shown.columns[column].name);
    }
}

TEST(every_table_and_view_can_be_read_whole) {
    struct trace *trace = make_trace(3);
    REQUIRE(trace);
    char sql[100];
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct shown_table shown;
        shown_table_init(&shown, (enum trace_table)table);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", shown.name);
        unsigned long count = strtoul(ask(trace, sql), NULL, 10);
        CHECK(count > 0 || table == TABLE_META || table == TABLE_STACK || table > TABLE_CALL);
        snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", shown.name);
        const char *rows = ask(trace, sql);
        unsigned long bars = 0;
        for (const char *p = rows; *p; p++)
            bars += *p == '|';
        CHECK_INT(bars, count * (shown.column_count - 1));
    }
    CHECK_STRING(ask(trace, "SELECT count(*) FROM kernel"), "7");
    CHECK_STRING(ask(trace, "SELECT count(*) FROM copy"), "2");
    CHECK_STRING(ask(trace, "SELECT count(*), count(call) FROM launch"), "7|6");
    trace_close(trace);
}

TEST(values_appear_as_people_mean_them) {
    struct trace *trace = make_trace(1);
    REQUIRE(trace);
    CHECK_STRING(ask(trace, "SELECT id, start, duration, \"end\", kind, name, direction, to_memory,"
                            " bytes FROM activity WHERE kind = 'copy'"),
                 "1|1|50|51|copy|Memcpy|DtoH|pinned|4096;3|1|50|51|copy|Memcpy|DtoH|pinned|NULL");
    CHECK_STRING(ask(trace, "SELECT id, label, memory_bytes, session FROM device"),
                 "1|0|NULL|0;2|1|80000000000|0");
    CHECK_STRING(ask(trace, "SELECT queue, correlation, launch FROM activity WHERE start = 7"),
                 "NULL|18446744073709551615|NULL");
    CHECK_STRING(ask(trace, "SELECT address, operation, device FROM memory"),
                 "18446744073709551614|free|NULL");
    CHECK_STRING(ask(trace, "SELECT time, value FROM counter"), "-3|0.5");
    CHECK_STRING(ask(trace, "SELECT typeof(start), typeof(kind) FROM activity LIMIT 1"),
                 "integer|text");
    trace_close(trace);
}

TEST(a_launch_is_found_in_its_own_process) {
    struct trace *trace = make_trace(50);
    REQUIRE(trace);
    CHECK_STRING(ask(trace, "SELECT device, count(*), min(delay), max(delay), max(call_name) "
                            "FROM launch WHERE device IS NOT NULL GROUP BY device"),
                 "0|50|5|5|cudaLaunchKernel;1|50|15|15|cudaLaunchKernel");
    CHECK_STRING(ask(trace, "SELECT count(*), sum(a.start - c.start = 5) FROM call c "
                            "JOIN activity a ON a.launch = c.id WHERE c.thread = 1"),
                 "50|50");
    trace_close(trace);
}

/* The same question asked so that no index can answer it (+ hides a column from the planner). */
static void check_same(struct trace *trace, const char *fast, const char *slow) {
    const char *found = ask(trace, fast);
    CHECK_STRING(found, ask(trace, slow));
    CHECK(found[0] != '\0');
}

TEST(what_an_index_finds_is_what_a_scan_finds) {
    struct trace *trace = make_trace(200);
    REQUIRE(trace);
    static const char *const conditions[][2] = {
        {"id = 5", "+id = 5"},
        {"id IN (0, 3, 399, 403, 404, -1, 8.0)", "+id IN (0, 3, 399, 403, 404, -1, 8.0)"},
        {"rowid = 401", "+rowid = 401"},
        {"correlation = 17", "+correlation = 17"},
        {"correlation = '17'", "+correlation = 17"},
        {"correlation = 17.0", "+correlation = 17.0"},
        {"correlation = '18446744073709551615'", "+correlation = '18446744073709551615'"},
        {"name = 'odd'", "+name = 'odd'"},
        {"name = 'even' COLLATE NOCASE", "+name = 'even' COLLATE NOCASE"},
        {"kind = 'copy'", "+kind = 'copy'"},
        {"queue = 2 AND name = 'odd'", "+queue = 2 AND +name = 'odd'"},
        {"start >= 5005 AND start < 7010", "+start >= 5005 AND +start < 7010"},
        {"start > 5005 AND start <= 7005", "+start > 5005 AND +start <= 7005"},
        {"start > 195000.5", "+start > 195000.5"},
        {"start < 1005.5", "+start < 1005.5"},
        {"start BETWEEN '1000' AND '2000'", "+start BETWEEN 1000 AND 2000"},
        {"start < 'x' AND id < 3", "id < 3"},
        {"launch = 20", "+launch = 20"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(conditions); i++) {
        char fast[300], slow[300];
        snprintf(fast, sizeof fast, "SELECT id, start FROM activity WHERE %s ORDER BY +id",
                 conditions[i][0]);
        snprintf(slow, sizeof slow, "SELECT id, start FROM activity WHERE %s ORDER BY +id",
                 conditions[i][1]);
        check_same(trace, fast, slow);
    }
    CHECK_STRING(ask(trace, "SELECT count(*) FROM activity WHERE name = 'no such'"), "0");
    CHECK_STRING(ask(trace, "SELECT count(*) FROM activity WHERE id = NULL"), "0");
    CHECK_STRING(ask(trace, "SELECT count(*) FROM activity WHERE start > NULL"), "0");
    CHECK_STRING(ask(trace, "SELECT count(*) FROM activity WHERE id = 404"), "0");
    CHECK_STRING(ask(trace, "SELECT count(*) FROM device WHERE id = 0"), "0");
    trace_close(trace);
}

TEST(rows_can_be_had_in_order_of_time) {
    struct trace *trace = make_trace(100);
    REQUIRE(trace);
    check_same(trace, "SELECT start FROM activity ORDER BY start",
               "SELECT start FROM activity ORDER BY +start");
    check_same(trace, "SELECT start FROM activity WHERE start > 50000 ORDER BY start LIMIT 9",
               "SELECT start FROM activity WHERE +start > 50000 ORDER BY +start LIMIT 9");
    check_same(trace, "SELECT id FROM activity ORDER BY id DESC",
               "SELECT id FROM activity ORDER BY +id DESC");
    trace_close(trace);
}

TEST(a_join_by_correlation_is_not_quadratic) {
    struct trace *trace = make_trace(100000); /* scanned, this would be 4 * 10^10 comparisons */
    REQUIRE(trace);
    CHECK_STRING(ask(trace, "SELECT count(*) FROM activity a "
                            "JOIN call c ON c.correlation = a.correlation"),
                 "400000");
    CHECK_STRING(ask(trace, "SELECT count(*) FROM call c JOIN activity a ON a.start >= c.start "
                            "AND a.start < c.start + 6 WHERE c.thread = 1"),
                 "100000");
    trace_close(trace);
}

TEST(a_query_can_only_read) {
    struct trace *trace = make_trace(1);
    REQUIRE(trace);
    static const char *const refused[] = {
        "CREATE TABLE t(x)",
        "INSERT INTO activity(start) VALUES (1)",
        "DELETE FROM activity",
        "UPDATE device SET name = 'x'",
        "ATTACH '/tmp/ridge-attached.db' AS other",
        "VACUUM INTO '/tmp/ridge-attached.db'",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('x')",
        "DROP VIEW kernel",
        "BEGIN",
    };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        const char *said = ask(trace, refused[i]);
        if (!strstr(said, "a query can only read") && !strstr(said, "may not be modified") &&
            !strstr(said, "not authorized"))
            test_failed(__FILE__, __LINE__, "%s: %s", refused[i], said);
    }
    CHECK(access("/tmp/ridge-attached.db", F_OK) != 0);
    CHECK_STRING(ask(trace, "SELECT count(*) FROM activity"), "5");
    trace_close(trace);
}

TEST(an_error_names_its_position_and_the_tables) {
    struct trace *trace = make_trace(1);
    REQUIRE(trace);
    CHECK_STRING(ask(trace, "SELECT * FORM kernel"),
                 sqlite3_libversion_number() >= 3038000
                     ? "near \"FORM\": syntax error at character 10, before 'FORM kernel'"
                     : "near \"FORM\": syntax error");
    const char *said = ask(trace, "SELECT * FROM kernels");
    CHECK(strstr(said, "no such table: kernels"));
    CHECK(strstr(said, "the tables are kernel, copy, launch, line, activity, call, range"));
    CHECK(strstr(ask(trace, "SELECT nme FROM kernel"), "'.schema' instead of SQL"));
    CHECK(strstr(ask(trace, "SELECT 1; SELECT 2"), "only one statement is allowed"));
    CHECK(strstr(ask(trace, " -- nothing"), "the SQL is empty"));
    CHECK_STRING(ask(trace, "SELECT 1; -- done;\n ;"), "1");
    trace_close(trace);
}

TEST(the_tables_describe_themselves) {
    struct trace *trace = make_trace(1);
    REQUIRE(trace);
    CHECK(strstr(ask(trace, ".tables"), "activity|5|work on a device"));
    CHECK(strstr(ask(trace, ".schema queue"), "stream|INTEGER|stream number"));
    CHECK(strstr(ask(trace, ".schema LAUNCH"), "delay|INTEGER|"));
    CHECK(strstr(ask(trace, ".schema nothing"), "no such table: nothing; the tables are kernel"));
    CHECK(strstr(ask(trace, ".dump"), "use .tables, .schema"));
    CHECK_STRING(ask(trace, "SELECT count(DISTINCT \"table\") FROM ridge_columns"), "22");
    trace_close(trace);
}

TEST(a_view_has_the_columns_it_is_described_with) {
    struct trace *trace = make_trace(1);
    REQUIRE(trace);
    CHECK_STRING(ask(trace, "SELECT count(*) FROM ridge_columns c WHERE NOT EXISTS (SELECT 1 FROM "
                            "pragma_table_info(c.\"table\") i WHERE i.name = c.\"column\")"),
                 "0");
    trace_close(trace);
}

TEST(details_can_be_taken_apart_as_json) {
    struct trace *trace = make_trace(1);
    REQUIRE(trace);
    CHECK_STRING(ask(trace, "SELECT key, value FROM json_each('{\"shape\": 3}')"), "shape|3");
    CHECK_STRING(ask(trace, "SELECT count(*), count(json_extract(detail, '$.shape')) FROM kernel"),
                 "3|0"); /* an empty text would not be JSON */
    trace_close(trace);
}

TEST(a_query_that_runs_out_of_memory_fails_cleanly) {
    struct trace *trace = make_trace(20);
    REQUIRE(trace);
    unsigned failures = 0;
    for (uint64_t nth = 1; nth < 400; nth++) {
        memory_fail_from(nth);
        const char *said = ask(trace, "SELECT count(*), sum(delay) FROM launch l JOIN activity a "
                                      "ON a.correlation = l.stream WHERE a.start > 3");
        memory_fail_from(0);
        if (said[0] >= '0' && said[0] <= '9')
            break;
        failures++;
        if (!strstr(said, "memory"))
            test_failed(__FILE__, __LINE__, "allocation %u: %s", (unsigned)nth, said);
    }
    CHECK(failures > 10 && failures < 399);
    trace_close(trace);
}

TEST(an_interrupt_stops_an_endless_query) {
    struct trace *trace = make_trace(1);
    struct status status = {0};
    struct query *query;
    sqlite3_stmt *statement;
    bool row;
    REQUIRE(trace && query_open(trace, &query, &status));
    REQUIRE(query_prepare(query,
                          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                          "SELECT i FROM n",
                          &statement, &status));
    CHECK(query_step(query, statement, &row, &status) && row);
    query_interrupt(query);
    CHECK(!query_step(query, statement, &row, &status));
    CHECK(query_interrupted(query));
    sqlite3_finalize(statement);
    query_close(query);
    trace_close(trace);
}

#endif
