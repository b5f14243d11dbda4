/* SQL over real traces returns independently computed figures. */
#ifdef RIDGE_HAVE_SQLITE

#include "../test.h"

#include <math.h>
#include <sqlite3.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "import/import.h"
#include "query/query.h"

/* One number of a trace, or NAN. */
static double ask(struct query *query, const char *sql) {
    struct status status = {0};
    sqlite3_stmt *statement = NULL;
    bool row = false;
    double value = NAN;
    if (!query_prepare(query, sql, &statement, &status) ||
        !query_step(query, statement, &row, &status))
        test_failed(__FILE__, __LINE__, "%s: %s", sql, status.message);
    else if (row)
        value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void compare(const char *file, const char *what, double found, double truth) {
    if (!(fabs(found - truth) <= fabs(truth) * 1e-12))
        test_failed(__FILE__, __LINE__, "%s: %s is %.17g, not %.17g", file, what, found, truth);
}

static const char *const questions[][2] = {
    {"kernel_count", "SELECT count(*) FROM kernel"},
    {"kernel_sum_ns", "SELECT total(duration) FROM kernel"},
    {"distinct_kernel_names", "SELECT count(DISTINCT name) FROM kernel"},
    {"memcpy_count", "SELECT count(*) FROM copy"},
    {"memcpy_bytes", "SELECT total(bytes) FROM copy"},
    {"memcpy_without_bytes", "SELECT count(*) - count(bytes) FROM copy"},
    {"memset_count", "SELECT count(*) FROM activity WHERE kind = 'set'"},
    {"HtoD_bytes", "SELECT total(bytes) FROM copy WHERE direction = 'HtoD'"},
    {"DtoH_time", "SELECT total(duration) FROM copy WHERE direction = 'DtoH'"},
    {"kernels_matched", "SELECT count(call) FROM launch"},
    {"distinct_launch_calls", "SELECT count(DISTINCT call) FROM launch"},
    {"mean_launch_delay_ns", "SELECT total(delay) / max(count(call), 1) FROM launch"},
};
enum { QUESTIONS = ARRAY_COUNT(questions) };

/* The columns are the answers to the questions, in order. */
static const char truth_sql[] =
    "SELECT key, value ->> 'kernel_count', value ->> 'kernel_sum_ns', "
    "value ->> 'distinct_kernel_names', value ->> 'memcpy_count', value ->> 'memcpy_bytes', "
    "value ->> 'memcpy_without_bytes', value ->> 'memset_count', "
    "coalesce(value ->> '$.memcpy_by_kind.HtoD.bytes', 0), "
    "coalesce(value ->> '$.memcpy_by_kind.DtoH.time_ns', 0), "
    "value ->> '$.launch.kernels_matched', value ->> '$.launch.distinct_launch_calls', "
    "coalesce(value ->> '$.launch.mean_launch_delay_ns', 0) "
    "FROM json_each(CAST(readable.content AS TEXT), '$.' || ?2), (SELECT ?1 AS content) readable";

static void check_file(const char *folder, sqlite3_stmt *truth) {
    struct status status = {0};
    struct import_options options = {0};
    struct trace *trace;
    struct query *query = NULL;
    char name[300];
    snprintf(name, sizeof name, "%s/%s", folder, (const char *)sqlite3_column_text(truth, 0));
    const char *path = test_fixture(name);
    if (!path)
        return;
    if (!import_open(path, &options, &trace, &status)) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    CHECK_OK(query_open(trace, &query, &status), status);
    for (int i = 0; query && i < QUESTIONS; i++)
        if (sqlite3_column_type(truth, i + 1) != SQLITE_NULL)
            compare(name, questions[i][0], ask(query, questions[i][1]),
                    sqlite3_column_double(truth, i + 1));
    query_close(query);
    trace_close(trace);
}

static char *read_truth(void) {
    struct status status = {0};
    const char *path = test_fixture("truth.json");
    FILE *file = path ? fopen(path, "r") : NULL;
    char *content = file ? memory_allocate(1 << 20, 1, &status) : NULL;
    if (content)
        content[fread(content, 1, (1 << 20) - 1, file)] = '\0';
    if (file)
        fclose(file);
    return content;
}

static void check_format(const char *section, const char *folder) {
    sqlite3 *database;
    sqlite3_stmt *truth = NULL;
    size_t files = 0;
    char *content = read_truth();
    if (!content)
        return;
    CHECK_INT(sqlite3_open(":memory:", &database), SQLITE_OK);
    if (sqlite3_prepare_v2(database, truth_sql, -1, &truth, NULL) != SQLITE_OK) {
        test_skip("this SQLite has no JSON operators");
    } else {
        sqlite3_bind_text(truth, 1, content, -1, SQLITE_STATIC);
        sqlite3_bind_text(truth, 2, section, -1, SQLITE_STATIC);
        for (; sqlite3_step(truth) == SQLITE_ROW; files++)
            check_file(folder, truth);
        CHECK(files > 0);
    }
    sqlite3_finalize(truth);
    sqlite3_close(database);
    memory_free(content);
}

TEST(sql_over_kineto_traces_gives_the_true_figures) {
    check_format("kineto", "kineto");
}

TEST(sql_over_nsys_traces_gives_the_true_figures) {
    check_format("nsys", "nsys");
}

#endif
