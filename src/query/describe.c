/* The lists of tables and columns are views over VALUES, so that every output format works and SQL
 * can search them. */
#include "query/describe.h"

#include "query/views.h"

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

bool describe_add(sqlite3 *database, const struct table_source *sources, struct status *status) {
    struct buffer columns = {0}, tables = {0};
    list_columns(&columns, sources);
    list_tables(&tables, sources);
    bool ok = execute(database, &columns, status);
    return execute(database, &tables, status) && ok;
}

void describe_names(struct buffer *list) {
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

bool describe_statement(const char *words, struct buffer *sql, struct status *status) {
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
