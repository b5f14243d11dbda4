/* Any bytes as a database of our own export, and sound databases with bytes changed: the importer
 * never crashes, hangs or leaks. */
#ifdef RIDGE_HAVE_SQLITE

#include "database.h"
#include "targets.h"

const char fuzz_schema_ridge_sqlite[] =
    "PRAGMA application_id=0x72696467;"
    "CREATE TABLE ridge_meta (version INTEGER); INSERT INTO ridge_meta VALUES (1);"
    "CREATE TABLE meta (id INTEGER PRIMARY KEY, key TEXT, value TEXT);"
    "INSERT INTO meta VALUES (1, 'host', 'here');"
    "CREATE TABLE process (id INTEGER PRIMARY KEY, pid, name, host, session);"
    "INSERT INTO process VALUES (1, 10, 'a', '', 0), (2, 10, 'b', '', 1);"
    "CREATE TABLE thread (id INTEGER PRIMARY KEY, process, tid, name, session);"
    "INSERT INTO thread VALUES (1, 1, 11, 'main', 0), (2, 2, 11, 'main', 1);"
    "CREATE TABLE device (id INTEGER PRIMARY KEY, \"index\", label, session);"
    "INSERT INTO device VALUES (1, 0, '0', 0), (2, 0, '0', 1);"
    "CREATE TABLE queue (id INTEGER PRIMARY KEY, device, process, context, stream, name, session);"
    "INSERT INTO queue VALUES (1, 1, 1, 1, 7, 's', 0), (2, 2, NULL, 1, 7, '', 1);"
    "CREATE TABLE stack (id INTEGER PRIMARY KEY, parent, function, module);"
    "INSERT INTO stack VALUES (1, NULL, 'main', 'a.out'), (2, 1, 'work', 'a.out');"
    "CREATE TABLE activity (id INTEGER PRIMARY KEY, start, duration, queue, kind, name, bytes,"
    "correlation, detail);"
    "INSERT INTO activity VALUES (1, 100, 5, 1, 'kernel', 'k', NULL, 3, '{}'),"
    "(2, 200, 0, 2, 'copy', 'c', 64, 4, ''), (3, 300, -1, 1, 'set', 'bad', 0, 0, NULL);"
    "CREATE TABLE call (id INTEGER PRIMARY KEY, start, duration, thread, name, class, correlation);"
    "INSERT INTO call VALUES (1, 90, 4, 1, 'cudaLaunchKernel', 'launch', 3);"
    "CREATE TABLE sample (id INTEGER PRIMARY KEY, time, thread, stack, weight);"
    "INSERT INTO sample VALUES (1, 95, 1, 2, 10), (2, 96, 2, 1, 10);"
    "CREATE TABLE counter (id INTEGER PRIMARY KEY, time, device, name, value REAL);"
    "INSERT INTO counter VALUES (1, 5, 1, 'power', 1.5), (2, 6, NULL, 'load', NULL);";

int fuzz_ridge_sqlite(const uint8_t *data, size_t size) {
    return fuzz_database(&import_ridge_sqlite, fuzz_schema_ridge_sqlite, data, size);
}

#else

#include "targets.h"

int fuzz_ridge_sqlite(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#endif
