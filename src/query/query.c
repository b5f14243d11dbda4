/* Opens an empty database in memory, adds the trace's tables and views, and restricts it: an
 * authorizer allows only reading. SQLite's errors become one line with the position in the
 * statement and a hint. */
#include "query/query.h"

#include <sqlite3.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "query/tables.h"
#include "query/views.h"

/* The lists of tables and columns are views over VALUES, so that every output format works and SQL
 * can search them. */

/* Events come first. */
static unsigned nth_table(unsigned n) {
    return (n + TABLE_ACTIVITY) % TABLE_COUNT;
}

/* Appends an SQL string literal. */
static void append_literal(struct buffer *sql, const char *text) {
    buffer_byte(sql, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buffer_byte(sql, '\'');
        buffer_byte(sql, *text);
    }
    buffer_byte(sql, '\'');
}

static void append_literals(struct buffer *sql, bool first, const char *const *texts,
                            unsigned count) {
    buffer_string(sql, first ? "(" : ", (");
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            buffer_byte(sql, ',');
        append_literal(sql, texts[i]);
    }
    buffer_byte(sql, ')');
}

static void list_columns(struct buffer *sql, const struct table_source *sources) {
    buffer_string(sql,
                  "CREATE VIEW ridge_columns(\"table\", \"column\", type, meaning) AS VALUES ");
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        const struct view_info *info = &query_views[view];
        for (unsigned column = 0; column < info->column_count; column++) {
            const struct view_column *about = &info->columns[column];
            const char *texts[] = {info->name, about->name, about->type, about->meaning};
            append_literals(sql, view == 0 && column == 0, texts, 4);
        }
    }
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const struct shown_table *shown = &sources[nth_table(i)].shown;
        for (unsigned column = 0; column < shown->column_count; column++) {
            const char *texts[] = {shown->name, shown->columns[column].name,
                                   shown_column_type(shown, column),
                                   shown->columns[column].meaning};
            append_literals(sql, false, texts, 4);
        }
    }
}

static void list_tables(struct buffer *sql, const struct table_source *sources) {
    buffer_string(sql, "CREATE VIEW ridge_tables(name, rows, meaning) AS VALUES ");
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        buffer_string(sql, view ? ", (" : "(");
        append_literal(sql, query_views[view].name);
        buffer_string(sql, ", NULL, ");
        append_literal(sql, query_views[view].meaning);
        buffer_byte(sql, ')');
    }
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const struct table_source *source = &sources[nth_table(i)];
        buffer_string(sql, ", (");
        append_literal(sql, source->shown.name);
        buffer_printf(sql, ", %zu, ", table_source_rows(source));
        append_literal(sql, source->shown.meaning);
        buffer_byte(sql, ')');
    }
}

static bool execute(sqlite3 *database, struct buffer *sql, struct status *status) {
    buffer_byte(sql, '\0');
    bool ok = buffer_ok(sql, status);
    if (ok && sqlite3_exec(database, sql->data, NULL, NULL, NULL) != SQLITE_OK)
        ok = status_fail(status, STATUS_UNSUPPORTED, "SQLite: %s", sqlite3_errmsg(database));
    buffer_finish(sql);
    return ok;
}

/* Creates both views; `sources` has TABLE_COUNT elements. */
static bool describe_add(sqlite3 *database, const struct table_source *sources,
                         struct status *status) {
    struct buffer columns = {0}, tables = {0};
    list_columns(&columns, sources);
    list_tables(&tables, sources);
    bool ok = execute(database, &columns, status);
    return execute(database, &tables, status) && ok;
}

/* "kernel, copy, launch, activity, ..." */
static void describe_names(struct buffer *list) {
    for (unsigned view = 0; view < VIEW_COUNT; view++)
        buffer_printf(list, "%s, ", query_views[view].name);
    for (unsigned i = 0; i < TABLE_COUNT; i++)
        buffer_printf(list, "%s%s", i ? ", " : "", trace_tables[nth_table(i)].name);
}

static bool is_table(const char *name) {
    for (unsigned view = 0; view < VIEW_COUNT; view++)
        if (sqlite3_stricmp(query_views[view].name, name) == 0)
            return true;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        if (sqlite3_stricmp(trace_tables[table].name, name) == 0)
            return true;
    return false;
}

/* The SQL statement of a command such as ".tables" or ".schema activity". */
static bool describe_statement(const char *words, struct buffer *sql, struct status *status) {
    static const char schema[] = ".schema";
    size_t length = sizeof schema - 1;
    if (strcmp(words, ".tables") == 0) {
        buffer_string(sql, "SELECT * FROM ridge_tables");
    } else if (strcmp(words, schema) == 0) {
        buffer_string(sql, "SELECT * FROM ridge_columns");
    } else if (strncmp(words, schema, length) == 0 && words[length] == ' ') {
        const char *name = words + length + strspn(words + length, " ");
        if (!is_table(name)) {
            struct buffer names = {0};
            describe_names(&names);
            status_fail(status, STATUS_USAGE, "no such table: %.60s; the tables are %.*s", name,
                        TEXT_ARGS(buffer_as_text(&names)));
            buffer_finish(&names);
            return false;
        }
        buffer_string(sql,
                      "SELECT \"column\", type, meaning FROM ridge_columns WHERE \"table\" = ");
        append_literal(sql, name);
        buffer_string(sql, " COLLATE NOCASE");
    } else {
        return status_fail(status, STATUS_USAGE,
                           "unknown command '%.60s'; use .tables, .schema or .schema TABLE", words);
    }
    buffer_byte(sql, '\0');
    return buffer_ok(sql, status);
}

enum { VALUE_BYTES_MAX = 1 << 28 }; /* bytes of one string or blob */

struct query {
    struct trace *trace;
    sqlite3 *database;
    struct table_source sources[TABLE_COUNT];
    int failure; /* SQLite's code of the last error */
};

/* ---- permissions ---- */

static bool pragma_is_harmless(const char *name) {
    static const char *const harmless[] = {"table_info",    "table_xinfo",    "table_list",
                                           "function_list", "collation_list", "compile_options",
                                           "module_list",   "database_list"};
    for (size_t i = 0; i < ARRAY_COUNT(harmless); i++)
        if (sqlite3_stricmp(name, harmless[i]) == 0)
            return true;
    return false;
}

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *trigger) {
    (void)context, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        return pragma_is_harmless(first) ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static void restrict_database(sqlite3 *database) {
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_WORKER_THREADS, 0);
#ifdef SQLITE_DBCONFIG_DEFENSIVE
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#endif
    sqlite3_set_authorizer(database, authorize, NULL);
}

/* ---- opening ---- */

static bool add_views(sqlite3 *database, struct status *status) {
    for (unsigned view = 0; view < VIEW_COUNT; view++) {
        const struct view_info *info = &query_views[view];
        struct buffer sql = {0};
        buffer_printf(&sql, "CREATE VIEW \"%s\" AS SELECT ", info->name);
        for (unsigned column = 0; column < info->column_count; column++)
            buffer_printf(&sql, "%s%s AS \"%s\"", column ? ", " : "",
                          info->columns[column].expression, info->columns[column].name);
        buffer_printf(&sql, " FROM %s", info->from);
        buffer_byte(&sql, '\0');
        bool ok = buffer_ok(&sql, status);
        if (ok && sqlite3_exec(database, sql.data, NULL, NULL, NULL) != SQLITE_OK)
            ok = status_fail(status, STATUS_UNSUPPORTED, "SQLite: %s", sqlite3_errmsg(database));
        buffer_finish(&sql);
        if (!ok)
            return false;
    }
    return true;
}

static bool add_tables(struct query *query, struct status *status) {
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct table_source *source = &query->sources[table];
        table_source_init(source, query->trace, (enum trace_table)table);
        if (sqlite3_create_module_v2(query->database, source->shown.name, &table_module, source,
                                     NULL) != SQLITE_OK)
            return status_fail(status, STATUS_UNSUPPORTED, "SQLite: %s",
                               sqlite3_errmsg(query->database));
    }
    return true;
}

/* A virtual table declares its columns on first use, which the authorizer would refuse, so each is
 * used once before. */
static void connect_table(sqlite3 *database, const char *name) {
    char sql[80];
    sqlite3_stmt *statement = NULL;
    sqlite3_snprintf(sizeof sql, sql, "SELECT * FROM \"%w\"", name);
    sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    sqlite3_finalize(statement);
}

static void connect_tables(sqlite3 *database) {
    static const char *const functions[] = {"json_each", "json_tree", "pragma_table_info",
                                            "pragma_table_xinfo", "pragma_function_list"};
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        connect_table(database, trace_tables[table].name);
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++)
        connect_table(database, functions[i]); /* those that this SQLite version has */
}

bool query_open(struct trace *trace, struct query **out, struct status *status) {
    struct query *query = memory_allocate(1, sizeof *query, status);
    if (!query)
        return false;
    query->trace = trace;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
                SQLITE_OPEN_NOMUTEX; /* single-threaded: locking costs a quarter of the time */
    if (sqlite3_open_v2(":memory:", &query->database, flags, NULL) != SQLITE_OK) {
        status_fail(status, STATUS_UNSUPPORTED, "cannot start SQLite: %s",
                    query->database ? sqlite3_errmsg(query->database) : "out of memory");
        query_close(query);
        return false;
    }
    if (!add_tables(query, status) || !add_views(query->database, status) ||
        !describe_add(query->database, query->sources, status)) {
        query_close(query);
        return false;
    }
    connect_tables(query->database);
    restrict_database(query->database);
    *out = query;
    return true;
}

void query_close(struct query *query) {
    if (!query)
        return;
    sqlite3_close(query->database);
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        table_source_finish(&query->sources[table]);
    memory_free(query);
}

/* ---- running ---- */

/* Appends the position of an error: " at character 9, before 'FORM kernel'". */
static void append_position(struct buffer *message, sqlite3 *database, const char *sql) {
#if SQLITE_VERSION_NUMBER >= 3038000
    int offset = sqlite3_error_offset(database);
    size_t length = strlen(sql);
    if (offset < 0 || (size_t)offset >= length)
        return;
    size_t characters = 1;
    for (int i = 0; i < offset; i++)
        characters += ((unsigned char)sql[i] & 0xC0) != 0x80;
    struct text rest = {sql + offset, length - (size_t)offset};
    size_t shown = rest.length > 40 ? 40 : rest.length;
    shown = text_utf8_valid((struct text){rest.data, shown});
    buffer_printf(message, " at character %zu, before '%.*s%s'", characters, (int)shown, rest.data,
                  shown < rest.length ? "…" : "");
#else
    (void)message, (void)database, (void)sql;
#endif
}

static bool explain(struct query *query, int code, const char *sql, struct status *status) {
    struct text message_text = text_of(sqlite3_errmsg(query->database));
    query->failure = code;
    if (code == SQLITE_NOMEM)
        return status_no_memory(status);
    if (code == SQLITE_INTERRUPT)
        return status_fail(status, STATUS_USAGE, "interrupted");
    if (code == SQLITE_AUTH)
        return status_fail(status, STATUS_USAGE,
                           "%.*s; a query can only read: SELECT, WITH, VALUES, EXPLAIN",
                           TEXT_ARGS(message_text));
    struct buffer message = {0};
    buffer_text(&message, message_text);
    append_position(&message, query->database, sql);
    if (text_starts(message_text, "no such table")) {
        buffer_string(&message, "; the tables are ");
        describe_names(&message);
    } else if (text_starts(message_text, "no such column")) {
        buffer_string(&message, "; use '.schema' instead of SQL to list tables and columns");
    }
    if (buffer_ok(&message, status))
        status_fail(status, STATUS_USAGE, "%.*s", TEXT_ARGS(buffer_as_text(&message)));
    buffer_finish(&message);
    return false;
}

/* Whether it has only spaces, comments and semicolons. */
static bool is_blank(struct query *query, const char *sql) {
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        const char *rest = NULL;
        int code = sqlite3_prepare_v2(query->database, sql, -1, &statement, &rest);
        sqlite3_finalize(statement);
        if (code != SQLITE_OK || statement)
            return false;
        if (rest == sql)
            return true;
        sql = rest;
    }
    return true;
}

static bool prepare_description(struct query *query, const char *words, sqlite3_stmt **statement,
                                struct status *status) {
    struct buffer sql = {0};
    bool ok = describe_statement(words, &sql, status) &&
              query_prepare(query, sql.data, statement, status);
    buffer_finish(&sql);
    return ok;
}

bool query_prepare(struct query *query, const char *sql, struct sqlite3_stmt **statement,
                   struct status *status) {
    const char *rest = NULL;
    if (sql[0] == '.')
        return prepare_description(query, sql, statement, status);
    *statement = NULL;
    int code = sqlite3_prepare_v2(query->database, sql, -1, statement, &rest);
    if (code != SQLITE_OK)
        return explain(query, code, sql, status);
    if (!*statement)
        return status_fail(status, STATUS_USAGE, "the SQL is empty; try \"SELECT * FROM kernel\"");
    if (!is_blank(query, rest)) {
        sqlite3_finalize(*statement);
        *statement = NULL;
        return status_fail(status, STATUS_USAGE, "only one statement is allowed; remove '%.40s'",
                           rest + strspn(rest, " \t\r\n;"));
    }
    return true;
}

bool query_step(struct query *query, struct sqlite3_stmt *statement, bool *row,
                struct status *status) {
    int code = sqlite3_step(statement);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return true;
    return explain(query, code, sqlite3_sql(statement), status);
}

void query_interrupt(struct query *query) {
    sqlite3_interrupt(query->database);
}

bool query_interrupted(const struct query *query) {
    return query->failure == SQLITE_INTERRUPT;
}
