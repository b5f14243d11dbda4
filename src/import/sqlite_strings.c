/* Where the id is the table's integer primary key, as the tools declare it, a lookup is one b-tree
 * descent. A copied or trimmed database may lack the key, and each lookup would scan the table, so
 * all strings are loaded once. */
#include "import/sqlite_strings.h"

#include <sqlite3.h>

static bool id_is_key(struct sqlite_strings *strings, const char *table) {
    sqlite3_stmt *statement = NULL;
    bool found =
        sqlite3_prepare_v2(strings->source->database,
                           "SELECT 1 FROM pragma_table_info(?1) WHERE name = 'id' AND pk = 1 AND "
                           "upper(type) = 'INTEGER' AND (SELECT count(*) FROM "
                           "pragma_table_info(?1) WHERE pk > 0) = 1",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

static bool prepare_lookup(struct sqlite_strings *strings, const char *value,
                           struct status *status) {
    struct buffer query = {0};
    buffer_printf(&query, "SELECT \"%s\" FROM main.\"%s\" WHERE id = ?1%c", value, strings->table,
                  '\0');
    bool ok = buffer_ok(&query, status);
    if (ok && sqlite3_prepare_v2(strings->source->database, query.data, -1, &strings->lookup,
                                 NULL) != SQLITE_OK)
        ok = status_fail(status, STATUS_INPUT,
                         "table %s cannot be read: %s; export the database again", strings->table,
                         sqlite3_errmsg(strings->source->database));
    buffer_finish(&query);
    return ok;
}

static bool load_all(struct sqlite_strings *strings, const char *value, struct status *status) {
    struct sqlite_rows rows;
    struct buffer columns = {0};
    buffer_printf(&columns, "id %s%c", value, '\0');
    if (!buffer_ok(&columns, status)) {
        buffer_finish(&columns);
        return false;
    }
    sqlite_rows_open(&rows, strings->source, strings->table, columns.data, NULL, status);
    while (sqlite_rows_next(&rows, status)) {
        uint32_t text;
        if (!sqlite_rows_is_integer(&rows, 0))
            continue;
        rows.failed =
            !intern_add(&strings->texts, sqlite_rows_text(&rows, 1), &text, status) ||
            !map_set(&strings->loaded, (uint64_t)sqlite_rows_integer(&rows, 0, 0), text, status);
    }
    buffer_finish(&columns);
    return sqlite_rows_close(&rows);
}

bool sqlite_strings_open(struct sqlite_strings *strings, struct sqlite_source *source,
                         struct trace_writer *writer, const char *table, const char *value,
                         struct status *status) {
    *strings = (struct sqlite_strings){.source = source, .writer = writer, .table = table};
    bool found;
    if (!sqlite_source_find_table(source, table, &found, status))
        return false;
    if (!found)
        return true;
    return id_is_key(strings, table) ? prepare_lookup(strings, value, status)
                                     : load_all(strings, value, status);
}

void sqlite_strings_close(struct sqlite_strings *strings) {
    sqlite3_finalize(strings->lookup);
    map_finish(&strings->known);
    map_finish(&strings->loaded);
    intern_finish(&strings->texts);
    *strings = (struct sqlite_strings){0};
}

bool sqlite_strings_text(struct sqlite_strings *strings, int64_t id, struct text *text,
                         struct status *status) {
    *text = TEXT("");
    if (!strings->lookup) {
        const uint64_t *loaded = map_find(&strings->loaded, (uint64_t)id);
        if (loaded)
            *text = intern_text(&strings->texts, (uint32_t)*loaded);
        return true;
    }
    sqlite3_reset(strings->lookup);
    sqlite3_bind_int64(strings->lookup, 1, id);
    int code = sqlite3_step(strings->lookup);
    if (code == SQLITE_ROW) {
        const unsigned char *data = sqlite3_column_text(strings->lookup, 0);
        int length = sqlite3_column_bytes(strings->lookup, 0);
        if (data && length > 0)
            *text = (struct text){(const char *)data, (size_t)length};
        bool out_of_memory = !data && sqlite3_column_type(strings->lookup, 0) != SQLITE_NULL;
        return !out_of_memory || status_no_memory(status);
    }
    if (code == SQLITE_NOMEM)
        return status_no_memory(status);
    return code == SQLITE_DONE ||
           status_fail(status, STATUS_INPUT,
                       "table %s, id %lld: the SQLite database is damaged: %s; export it again",
                       strings->table, (long long)id, sqlite3_errmsg(strings->source->database));
}

bool sqlite_strings_get(struct sqlite_strings *strings, int64_t id, uint32_t *string,
                        struct status *status) {
    const uint64_t *known = map_find(&strings->known, (uint64_t)id);
    if (known) {
        *string = (uint32_t)*known;
        return true;
    }
    struct text text;
    if (!sqlite_strings_text(strings, id, &text, status))
        return false;
    *string = trace_writer_string(strings->writer, text);
    return map_set(&strings->known, (uint64_t)id, *string, status);
}

bool sqlite_strings_column(struct sqlite_strings *strings, const struct sqlite_rows *rows,
                           unsigned column, uint32_t *string, struct status *status) {
    if (sqlite_rows_is_integer(rows, column))
        return sqlite_strings_get(strings, sqlite_rows_integer(rows, column, 0), string, status);
    *string = trace_writer_string(strings->writer, sqlite_rows_text(rows, column));
    return true;
}
