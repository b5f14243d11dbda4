/* Databases made by SQL, and the traces that importers make of them, for tests. */
#ifndef RIDGE_TESTS_UNIT_IMPORT_DATABASE_H
#define RIDGE_TESTS_UNIT_IMPORT_DATABASE_H

#include "../test.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"
#include "rows.h"

/* The path of a fresh database that these statements made, or NULL. */
static inline const char *database_of(const char *sql) {
    const char *path = test_temporary(".sqlite");
    sqlite3 *database = NULL;
    char *message = NULL;
    bool ok = sqlite3_open(path, &database) == SQLITE_OK &&
              sqlite3_exec(database, sql, NULL, NULL, &message) == SQLITE_OK;
    if (!ok)
        test_failed(__FILE__, __LINE__, "cannot make the database: %s",
                    message ? message : sqlite3_errmsg(database));
    sqlite3_free(message);
    sqlite3_close(database);
    return ok ? path : NULL;
}

static inline struct import_source source_of(const char *path, unsigned char *head, size_t size) {
    struct import_source source = {.path = path, .head = head};
    int fd = open(path, O_RDONLY);
    ssize_t length = fd >= 0 ? read(fd, head, size) : 0;
    if (fd >= 0)
        close(fd);
    source.head_length = length > 0 ? (size_t)length : 0;
    return source;
}

static inline int sureness_of(const struct importer *importer, const char *path) {
    unsigned char head[4096];
    struct import_source source = source_of(path, head, sizeof head);
    return importer->detect(&source);
}

/* Runs one statement in a copy of the database, and imports that. */
static inline void add_database_variant(struct ablation *ablation, const struct importer *importer,
                                        sqlite3 *database, const char *sql, bool skip_invalid) {
    const char *path = ablation_path();
    sqlite3 *copy = NULL;
    unlink(path);
    sqlite3_backup *backup = sqlite3_open(path, &copy) == SQLITE_OK
                                 ? sqlite3_backup_init(copy, "main", database, "main")
                                 : NULL;
    bool ok = backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE;
    sqlite3_backup_finish(backup);
    ok = ok && sqlite3_exec(copy, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(copy);
    if (ok)
        ablation_add(ablation, importer, path, skip_invalid);
    unlink(path);
}

/* Some columns are missing, empty, or have another value. */
static inline void ablation_of_database(const struct importer *importer, const char *path,
                                        bool skip_invalid) {
    enum { VARIANTS = 16 };
    static const char columns[] =
        "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c "
        "WHERE m.type = 'table' ORDER BY m.rowid, c.cid";
    static const char *const changes[] = {
        "ALTER TABLE \"%s\" RENAME COLUMN \"%s\" TO zz", "UPDATE \"%s\" SET \"%s\" = NULL",
        "UPDATE \"%s\" SET \"%s\" = -1", "UPDATE \"%s\" SET \"%s\" = 0"};
    sqlite3 *database = NULL;
    sqlite3_stmt *rows = NULL;
    struct ablation ablation = {.without_messages = true};
    unsigned count = 0, at = 0;
    if (sqlite3_open(path, &database) == SQLITE_OK &&
        sqlite3_prepare_v2(database, columns, -1, &rows, NULL) == SQLITE_OK)
        while (sqlite3_step(rows) == SQLITE_ROW)
            count++;
    sqlite3_reset(rows);
    for (; rows && sqlite3_step(rows) == SQLITE_ROW; at++) {
        char sql[400];
        if (at % (count / VARIANTS + 1) != 0)
            continue;
        snprintf(sql, sizeof sql, changes[at % 4], (const char *)sqlite3_column_text(rows, 0),
                 (const char *)sqlite3_column_text(rows, 1));
        add_database_variant(&ablation, importer, database, sql, skip_invalid);
    }
    sqlite3_finalize(rows);
    sqlite3_close(database);
    ablation_check(&ablation);
}

/* NULL and a failed status when the import or the reading fails. Close with trace_close(). */
static inline struct trace *import_database(const struct importer *importer, const char *path,
                                            bool skip_invalid, struct status *status) {
    unsigned char head[4096];
    struct import_source source = source_of(path, head, sizeof head);
    struct import_options options = {.skip_invalid = skip_invalid};
    const char *result = test_temporary(".ridge");
    struct trace *trace = NULL;
    int fd = open(result, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    if (fd < 0) {
        test_failed(__FILE__, __LINE__, "cannot write %s", result);
        return NULL;
    }
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, status);
    bool ok = writer && importer->run(&source, &options, writer, status) &&
              trace_writer_finish(writer, status);
    trace_writer_destroy(writer);
    if (ok && !trace_open_fd(fd, result, &trace, status))
        trace = NULL;
    close(fd);
    unlink(result);
    if (trace && strstr(path, "ridge-test-")) /* not a shared fixture */
        rows_check(trace);
    if (strstr(path, "ridge-test-") && ablation_is_wanted())
        ablation_of_database(importer, path, skip_invalid);
    if (trace)
        for (unsigned table = TABLE_ACTIVITY; table < TABLE_COUNT; table++)
            CHECK_OK(trace_load(trace, table, NULL, status), *status);
    return trace;
}

static inline struct trace *must_import(const struct importer *importer, const char *path) {
    struct status status = {0};
    struct trace *trace = path ? import_database(importer, path, false, &status) : NULL;
    if (path && !trace)
        test_failed(__FILE__, __LINE__, "%s: %s", path, status.message);
    return trace;
}

/* The figures of the fixtures' truth that an import alone decides. */
struct figures {
    int64_t kernels, copies, sets, copy_bytes, kernel_ns, calls, matched, sync_calls;
    struct text top_kernel;
};

static inline uint32_t process_of_queue(const struct trace *trace, uint32_t queue) {
    return trace->queue.process[queue];
}

/* Joins by process and correlation; quadratic is too slow for the larger fixtures, so by a table
 * over the correlation modulo its size. */
static inline int64_t count_matched(const struct trace *trace) {
    enum { BUCKETS = 1 << 14 };
    int64_t matched = 0;
    size_t *first = calloc(BUCKETS, sizeof *first);
    size_t *next = calloc(trace->call.count + 1, sizeof *next);
    for (size_t i = 0; first && next && i < trace->call.count; i++) {
        size_t bucket = trace->call.correlation[i] % BUCKETS;
        next[i] = first[bucket];
        first[bucket] = i + 1;
    }
    for (size_t i = 0; first && next && i < trace->activity.count; i++) {
        uint64_t correlation = trace->activity.correlation[i];
        uint32_t process = process_of_queue(trace, trace->activity.queue[i]);
        size_t at = first[correlation % BUCKETS];
        if (trace->activity.kind[i] != ACTIVITY_KERNEL || correlation == 0)
            continue;
        while (at &&
               !(trace->call.correlation[at - 1] == correlation &&
                 (process == 0 || trace->thread.process[trace->call.thread[at - 1]] == process)))
            at = next[at - 1];
        matched += at != 0;
    }
    free(first);
    free(next);
    return matched;
}

static inline struct figures figures_of(const struct trace *trace) {
    struct figures figures = {.calls = (int64_t)trace->call.count, .matched = count_matched(trace)};
    int64_t *by_name = calloc(trace->strings.count + 1, sizeof *by_name), most = 0;
    for (size_t i = 0; by_name && i < trace->activity.count; i++) {
        uint32_t name = trace->activity.name[i];
        uint64_t bytes = trace->activity.bytes[i];
        figures.kernels += trace->activity.kind[i] == ACTIVITY_KERNEL;
        figures.sets += trace->activity.kind[i] == ACTIVITY_SET;
        if (trace->activity.kind[i] == ACTIVITY_COPY) {
            figures.copies++;
            figures.copy_bytes += bytes == BYTES_UNKNOWN ? 0 : (int64_t)bytes;
        }
        if (trace->activity.kind[i] != ACTIVITY_KERNEL)
            continue;
        figures.kernel_ns += trace->activity.duration[i];
        by_name[name] += trace->activity.duration[i];
        if (by_name[name] > most) {
            most = by_name[name];
            figures.top_kernel = trace_text(trace, name);
        }
    }
    for (size_t i = 0; i < trace->call.count; i++)
        figures.sync_calls += trace->call.class[i] == CALL_SYNC;
    free(by_name);
    return figures;
}

static inline bool has_warning(const struct trace *trace, const char *part) {
    for (size_t i = 0; i < trace->meta.count; i++)
        if (text_is(trace_text(trace, trace->meta.key[i]), META_WARNING) &&
            text_find(trace_text(trace, trace->meta.value[i]), part) >= 0)
            return true;
    return false;
}

static inline void check_text(struct text actual, const char *expected, int line) {
    if (!text_is(actual, expected))
        test_failed(__FILE__, line, "text is \"%.*s\", not \"%s\"", TEXT_ARGS(actual), expected);
}
#define CHECK_TEXT(actual, expected) check_text(actual, expected, __LINE__)

#endif
