/* Databases with tables, columns and rows removed, repeated and changed by SQL. */
#include "ablated.h"
#include "consume.h"
#include "targets.h"

#ifdef RIDGE_HAVE_SQLITE

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "database.h"

enum { FILE_MAX = 400000, NAME_MAX_ = 128 };

/* The name in row `choice` (modulo the rows) of a query's first column; false when it has none. */
static bool choose_name(sqlite3 *database, const char *query, struct decisions *decisions,
                        char *name) {
    char **rows;
    int count, columns;
    if (sqlite3_get_table(database, query, &rows, &count, &columns, NULL) != SQLITE_OK)
        return false;
    if (count > 0)
        snprintf(name, NAME_MAX_, "%s", rows[1 + decide(decisions, (size_t)count)]);
    sqlite3_free_table(rows);
    return count > 0;
}

/* An SQL expression for a cell's new value. */
static char *new_value(struct decisions *decisions, const char *column, const char *other) {
    struct text text;
    switch (decide(decisions, 8)) {
    case 0:
        return sqlite3_mprintf("NULL");
    case 1:
        return sqlite3_mprintf("%lld", (sqlite3_int64)decide_value(decisions));
    case 2:
        text.data = decide_text(decisions, &text.length);
        return sqlite3_mprintf("'%.*q'", (int)text.length, text.data);
    case 3:
        return sqlite3_mprintf("\"%w\"", other);
    case 4:
        return sqlite3_mprintf("-\"%w\"", column);
    case 5:
        return sqlite3_mprintf("\"%w\" + %d", column, (int)decide(decisions, 1000));
    case 6:
        return sqlite3_mprintf("x'00ff'");
    default:
        return sqlite3_mprintf("%d", (int)decide(decisions, 12));
    }
}

/* One statement; statements that SQLite rejects change nothing. */
static char *statement(struct decisions *decisions, const char *table, const char *column,
                       const char *other) {
    int every = 1 + (int)decide(decisions, 4), rest = (int)decide(decisions, 4) % every;
    size_t choice = decide(decisions, 16);
    if (choice < 3)
        return sqlite3_mprintf("DELETE FROM \"%w\" WHERE rowid %% %d = %d", table, every, rest);
    if (choice == 3)
        return sqlite3_mprintf("DROP TABLE \"%w\"", table);
    if (choice < 6)
        return sqlite3_mprintf("ALTER TABLE \"%w\" DROP COLUMN \"%w\"", table, column);
    if (choice == 6)
        return sqlite3_mprintf("ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO renamed", table, column);
    if (choice == 7)
        return sqlite3_mprintf("ALTER TABLE \"%w\" RENAME TO \"%w_\";"
                               "CREATE VIEW \"%w\" AS SELECT * FROM \"%w_\"",
                               table, table, table, table);
    if (choice == 8)
        return sqlite3_mprintf("INSERT OR IGNORE INTO \"%w\" SELECT * FROM \"%w\" LIMIT 40", table,
                               table);
    char *value = new_value(decisions, column, other);
    char *sql = sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = %s WHERE rowid %% %d = %d",
                                table, column, value, every, rest);
    sqlite3_free(value);
    return sql;
}

static void edit(sqlite3 *database, struct decisions *decisions) {
    char table[NAME_MAX_] = "", column[NAME_MAX_] = "", other[NAME_MAX_] = "";
    if (!choose_name(database, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
                     decisions, table))
        return;
    char *query = sqlite3_mprintf("SELECT name FROM pragma_table_info(%Q)", table);
    choose_name(database, query, decisions, column);
    choose_name(database, query, decisions, other);
    sqlite3_free(query);
    char *sql = statement(decisions, table, column, other);
    sqlite3_exec(database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
}

static int ablate(struct text sound, struct decisions *decisions, const uint8_t *data,
                  size_t size) {
    const char *path = ablated_path("trace.sqlite");
    sqlite3 *database = NULL;
    ablated_write(path, sound);
    if (sqlite3_open(path, &database) != SQLITE_OK)
        fuzz_broken("a base database: %s", sqlite3_errmsg(database));
    sqlite3_exec(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", NULL, NULL,
                 NULL);
    for (size_t i = decide(decisions, ABLATED_EDITS_MAX); i > 0; i--)
        edit(database, decisions);
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(database);
    *decisions = (struct decisions){data, data + size};
    ablated_import(path, decisions);
    return 0;
}

static void add_schema(struct base_files *files, const char *schema) {
    struct fuzz_bytes bytes = fuzz_sound_database(schema, ablated_path("base.sqlite"));
    unlink(ablated_path("base.sqlite"));
    base_add(files, (struct text){(char *)bytes.data, bytes.length});
}

int fuzz_ablated_nsys(const uint8_t *data, size_t size) {
    static struct base_files files;
    struct decisions decisions = {data, data + size};
    if (files.count == 0) {
        add_schema(&files, fuzz_schema_nsys);
        base_add_folder(&files, "fixtures/nsys", ".sqlite", FILE_MAX);
    }
    return ablate(ablated_choose(&files, &decisions), &decisions, data, size);
}

int fuzz_ablated_rpd(const uint8_t *data, size_t size) {
    static struct base_files files;
    struct decisions decisions = {data, data + size};
    if (files.count == 0) {
        add_schema(&files, fuzz_schema_rpd);
        base_add_folder(&files, "fixtures/rocprof", ".rpd", FILE_MAX);
    }
    return ablate(ablated_choose(&files, &decisions), &decisions, data, size);
}

#else

#define WITHOUT_SQLITE(name)                                                                       \
    int fuzz_ablated_##name(const uint8_t *data, size_t size) {                                    \
        (void)data, (void)size;                                                                    \
        return 0;                                                                                  \
    }
WITHOUT_SQLITE(nsys)
WITHOUT_SQLITE(rpd)

#endif
