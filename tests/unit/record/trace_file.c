/* The output file of a recording. */
#include "record/trace_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* A recording of `turns` flushes with `rows` marks in each. */
static struct trace_writer *write_marks(const struct record_file *file, unsigned turns,
                                        unsigned rows, struct status *status) {
    struct trace_writer *writer = trace_writer_create(
        file->fd, &(struct trace_writer_options){.session = 1, .writer = 1}, status);
    for (unsigned turn = 0; writer && turn < turns; turn++) {
        char name[32];
        snprintf(name, sizeof name, "turn %u", turn);
        struct row_mark row = {.time = turn, .name = trace_writer_string(writer, text_of(name))};
        for (unsigned i = 0; i < rows; i++)
            trace_write_mark(writer, &row);
        trace_writer_flush(writer);
    }
    return writer;
}

TEST(a_trimmed_trace_keeps_the_end_and_misses_nothing_else) {
    const char *path = test_temporary(".ridge");
    struct record_file file;
    struct status status = {0};
    struct trace *trace;
    uint64_t dropped = 0;
    REQUIRE(record_file_open(&file, path, false, &status));
    struct trace_writer *writer = write_marks(&file, 100, 50, &status);
    REQUIRE(writer);
    uint64_t whole = record_file_bytes(&file);
    CHECK_OK(record_file_trim(&file, whole / 2, &dropped, &status), status);
    CHECK(record_file_bytes(&file) <= whole / 2);
    CHECK(dropped > 0 && dropped % 50 == 0);
    trace_write_mark(writer, &(struct row_mark){.time = 1000});
    CHECK_OK(trace_writer_finish(writer, &status), status);
    CHECK_OK(record_file_renumber(&file, &status), status);
    trace_writer_destroy(writer);
    CHECK_OK(record_file_close(&file, &status), status);

    REQUIRE(trace_open(path, &trace, &status));
    CHECK_INT(trace->missing_chunks + trace->damaged_bytes + trace->writers_unfinished, 0);
    CHECK_INT(trace->mark.count, 100 * 50 + 1 - dropped);
    REQUIRE(trace_load(trace, TABLE_MARK, NULL, &status));
    CHECK(text_is(trace_text(trace, trace->mark.name[trace->mark.count - 2]), "turn 99"));
    trace_close(trace);
}

TEST(a_trace_with_a_short_name_is_still_there_when_it_was_trimmed) {
    char before[1024], folder[512];
    struct record_file file;
    struct status status = {0};
    uint64_t dropped = 0;
    REQUIRE(getcwd(before, sizeof before));
    snprintf(folder, sizeof folder, "%s", test_temporary(""));
    REQUIRE(mkdir(folder, 0700) == 0 && chdir(folder) == 0);
    CHECK_OK(record_file_open(&file, "t", false, &status), status);
    struct trace_writer *writer = write_marks(&file, 3, 5, &status);
    CHECK_OK(record_file_trim(&file, 0, &dropped, &status), status);
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    CHECK_OK(record_file_close(&file, &status), status);
    CHECK_INT(access("t", F_OK), 0);
    unlink("t");
    CHECK_INT(chdir(before), 0);
    CHECK_INT(rmdir(folder), 0); /* nothing else is left */
}

TEST(a_trace_can_lose_all_its_events_and_keep_what_they_referred_to) {
    const char *path = test_temporary(".ridge");
    struct record_file file;
    struct status status = {0};
    struct trace *trace;
    uint64_t dropped = 0;
    REQUIRE(record_file_open(&file, path, false, &status));
    struct trace_writer *writer = write_marks(&file, 3, 5, &status);
    REQUIRE(writer);
    CHECK_OK(record_file_trim(&file, 0, &dropped, &status), status);
    CHECK_INT(dropped, 15);
    trace_write_mark(
        writer, &(struct row_mark){.time = 9, .name = trace_writer_string(writer, TEXT("turn 1"))});
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    CHECK_OK(record_file_close(&file, &status), status);
    REQUIRE(trace_open(path, &trace, &status));
    REQUIRE(trace_load(trace, TABLE_MARK, NULL, &status));
    CHECK_INT(trace->mark.count, 1);
    CHECK(text_is(trace_text(trace, trace->mark.name[0]), "turn 1"));
    trace_close(trace);
}

TEST(a_trace_is_private_and_replaces_another_only_when_asked_and_only_when_it_appears) {
    const char *path = test_temporary(".ridge");
    struct record_file file;
    struct status status = {0};
    struct stat info;
    FILE *old = fopen(path, "w");
    REQUIRE(old);
    fputs("old", old);
    fclose(old);
    CHECK(!record_file_open(&file, path, false, &status));
    CHECK(strstr(status.message, "add -f"));
    REQUIRE(record_file_open(&file, path, true, &status));
    record_file_discard(&file);
    CHECK(stat(path, &info) == 0 && info.st_size == 3);
    REQUIRE(record_file_open(&file, path, true, &status));
    CHECK_OK(record_file_commit(&file, &status), status);
    CHECK(stat(path, &info) == 0 && info.st_size == 0 && (info.st_mode & 0777) == 0600);
    CHECK_OK(record_file_close(&file, &status), status);
}
