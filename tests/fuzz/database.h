/* Runs a database importer on the input if that is an SQLite file, else on a valid database that
 * the input edits: four bytes per edit, an offset (24 bits) and the new byte. */
#ifndef RIDGE_TESTS_FUZZ_DATABASE_H
#define RIDGE_TESTS_FUZZ_DATABASE_H

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/import.h"

/* SQL that creates a small valid database of each format. */
extern const char fuzz_schema_nsys[], fuzz_schema_rpd[];

struct fuzz_bytes {
    unsigned char *data;
    size_t length;
};

/* The bytes of a database that `schema` creates. */
static inline struct fuzz_bytes fuzz_sound_database(const char *schema, const char *path) {
    struct fuzz_bytes bytes = {0};
    sqlite3 *database = NULL;
    unlink(path);
    if (sqlite3_open(path, &database) != SQLITE_OK ||
        sqlite3_exec(database, "PRAGMA synchronous = OFF", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(database, schema, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(database));
        abort();
    }
    sqlite3_close(database);
    FILE *file = fopen(path, "rb");
    if (!file)
        abort();
    bytes.data = malloc(1 << 20);
    bytes.length = bytes.data ? fread(bytes.data, 1, 1 << 20, file) : 0;
    fclose(file);
    return bytes;
}

static inline void fuzz_write(const char *path, const unsigned char *data, size_t length) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, length) != (ssize_t)length)
        abort();
    close(fd);
}

/* Creating a writer takes longer than a small import, so one is reused. */
static inline struct trace_writer *fuzz_writer(void) {
    static struct trace_writer *writer;
    static unsigned served;
    struct status status = {0};
    if (served++ % 256 == 0 || trace_writer_failed(writer)) {
        static int nowhere = -1;
        if (nowhere < 0)
            nowhere = open("/dev/null", O_WRONLY);
        trace_writer_destroy(writer);
        writer = trace_writer_create(
            nowhere, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
        if (!writer)
            abort();
    }
    return writer;
}

static inline int fuzz_database(const struct importer *importer, const char *schema,
                                const uint8_t *data, size_t size) {
    static struct fuzz_bytes sound;
    static unsigned char edited[1 << 20];
    static char path[256];
    if (!sound.data) {
        const char *folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%s/ridge-fuzz-%ld.sqlite", folder ? folder : "/tmp",
                 (long)getpid());
        sound = fuzz_sound_database(schema, path);
    }
    const unsigned char *head = data;
    if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0) {
        fuzz_write(path, data, size);
    } else {
        memcpy(edited, sound.data, sound.length);
        for (size_t i = 0; i + 4 <= size; i += 4)
            edited[(data[i] << 16 | data[i + 1] << 8 | data[i + 2]) % sound.length] = data[i + 3];
        fuzz_write(path, edited, sound.length);
        head = edited;
        size = sound.length;
    }
    struct import_source source = {.path = path, .head = head, .head_length = size};
    struct import_options options = {.skip_invalid = size > 0 && head[size / 2] & 1};
    struct status status = {0};
    struct trace_writer *writer = fuzz_writer();
    importer->detect(&source);
    if (!importer->run(&source, &options, writer, &status) && !trace_writer_failed(writer) &&
        (status.code == STATUS_OK || status.message[0] == '\0'))
        abort(); /* it failed without a message */
    unlink(path);
    return 0;
}

#endif
