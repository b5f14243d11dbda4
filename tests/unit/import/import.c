/* Opening any file, explaining files that are not traces, and joining .ridge files. */
#include "../test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "import/import.h"

static const struct import_options no_options;

static void write_file(const char *path, const void *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, length, file) == length);
    if (file)
        fclose(file);
}

/* A trace of one session with `rows` calls that begin at `start`. */
static void write_trace(const char *path, uint64_t session, uint64_t id, int64_t start, int rows) {
    struct status status = {0};
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = session, .writer = id, .level = 1}, &status);
    if (!writer) {
        test_failed(__FILE__, __LINE__, "%s", status.message);
        return;
    }
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 1});
    uint32_t thread = trace_write_thread(writer, &(struct row_thread){.process = process});
    for (int i = 0; i < rows; i++)
        trace_write_call(writer, &(struct row_call){.start = start + i, .thread = thread});
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
}

/* The files joined and opened again. */
static struct trace *join(const char *const *paths, size_t count, struct status *status) {
    const char *path = test_temporary(".ridge");
    struct trace *trace = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (import_files(paths, count, fd, &no_options, status))
        CHECK_OK(trace_open_fd(fd, path, &trace, status), *status);
    close(fd);
    return trace;
}

TEST(traces_of_one_session_share_their_processes_when_joined) {
    struct status status = {0};
    const char *paths[] = {test_temporary(".a"), test_temporary(".b"), test_temporary(".c")};
    write_trace(paths[0], 5, 1, 100, 20000);
    write_trace(paths[1], 5, 2, 200, 7);
    write_trace(paths[2], 6, 1, 300, 8);
    struct trace *trace = join(paths, 3, &status);
    REQUIRE(trace);
    CHECK_INT(trace->call.count, 20015);
    CHECK_INT(trace->session_count, 2);
    CHECK_INT(trace->writer_count, 3);
    CHECK_INT(trace->process.count - 1, 2);
    CHECK_INT(trace->writers_unfinished, 0);
    CHECK_INT(trace->missing_chunks, 0);
    trace_close(trace);
}

TEST(a_file_given_twice_becomes_two_recordings) {
    struct status status = {0};
    const char *path = test_temporary(".a");
    const char *paths[] = {path, path, path};
    write_trace(path, 5, 1, 100, 10);
    struct trace *trace = join(paths, 3, &status);
    REQUIRE(trace);
    CHECK_INT(trace->call.count, 30);
    CHECK_INT(trace->session_count, 3);
    CHECK_INT(trace->process.count - 1, 3);
    CHECK_INT(trace->missing_chunks, 0);
    CHECK_OK(trace_load(trace, TABLE_CALL, "start thread", &status), status);
    CHECK_INT(trace->call.start[29], 109);
    CHECK(trace->call.thread[0] != trace->call.thread[29]);
    trace_close(trace);
}

/* The second file is what the first became: it has the same session and writer. */
TEST(a_trace_joined_with_what_was_imported_from_it_becomes_two_recordings) {
    static const char json[] = "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,"
                               "\"tid\":1,\"ts\":1,\"dur\":1}]}";
    struct status status = {0};
    const char *paths[] = {test_temporary(".json"), test_temporary(".ridge")};
    write_file(paths[0], json, sizeof json - 1);
    int fd = open(paths[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(import_files(paths, 1, fd, &no_options, &status), status);
    close(fd);
    struct trace *trace = join(paths, 2, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace);
    CHECK_INT(trace->range.count, 2);
    CHECK_INT(trace->session_count, 2);
    CHECK_INT(trace->process.count - 1, 2);
    CHECK_INT(trace->missing_chunks, 0);
    trace_close(trace);
}

/* The chunk of the text does not fit the window that its header is read into. */
TEST(a_chunk_of_a_mebibyte_is_whole_in_the_joined_trace) {
    enum { LONG = 1 << 20 };
    struct status status = {0};
    const char *path = test_temporary(".a");
    const char *paths[] = {path};
    char *text = malloc(LONG);
    REQUIRE(text);
    uint64_t random = 1;
    for (size_t i = 0; i < LONG; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        text[i] = (char)(' ' + (random >> 33) % 95);
    }
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct trace_writer *writer = trace_writer_create(
        fd, &(struct trace_writer_options){.session = 5, .writer = 1, .level = 1}, &status);
    REQUIRE(writer);
    for (int i = 0; i < 3; i++) {
        text[0] = (char)('a' + i);
        struct text name = {text, LONG};
        trace_write_mark(writer, &(struct row_mark){.name = trace_writer_string(writer, name)});
    }
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
    struct trace *trace = join(paths, 1, &status);
    CHECK_OK(trace, status);
    REQUIRE(trace);
    CHECK_OK(trace_load(trace, TABLE_MARK, NULL, &status), status);
    CHECK_INT(trace->missing_chunks, 0);
    CHECK_INT(trace_meta(trace, META_WARNING).length, 0);
    REQUIRE(trace->mark.count == 3);
    CHECK(text_equal(trace_text(trace, trace->mark.name[2]), (struct text){text, LONG}));
    trace_close(trace);
    free(text);
}

TEST(what_is_damaged_is_left_out_of_the_joined_trace_and_told) {
    struct status status = {0};
    const char *paths[] = {test_temporary(".a"), test_temporary(".b")};
    write_trace(paths[0], 5, 1, 100, 40000);
    write_trace(paths[1], 6, 1, 100, 10);
    int fd = open(paths[0], O_RDWR);
    off_t size = lseek(fd, 0, SEEK_END);
    CHECK(pwrite(fd, "damage", 6, size / 2) == 6);
    CHECK(ftruncate(fd, size - 1) == 0);
    close(fd);
    struct trace *trace = join(paths, 2, &status);
    REQUIRE(trace);
    CHECK(trace->call.count > 10 && trace->call.count < 40010);
    CHECK_INT(trace->damaged_bytes, 0);
    CHECK_INT(trace->writers_unfinished, 1);
    struct text warning = trace_meta(trace, META_WARNING);
    CHECK(text_starts(warning, paths[0]));
    CHECK(text_find(warning, "damaged or truncated") > 0);
    trace_close(trace);
}

TEST(a_compressed_ridge_file_opens_like_any_other) {
    struct status status = {0};
    const char *plain = test_temporary(".ridge"), *packed = test_temporary(".ridge.gz");
    write_trace(plain, 5, 1, 100, 10);
    static char bytes[1 << 16];
    FILE *file = fopen(plain, "rb");
    REQUIRE(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    gzFile out = gzopen(packed, "wb");
    CHECK_INT(gzwrite(out, bytes, (unsigned)length), length);
    gzclose(out);
    struct trace *trace;
    REQUIRE(import_open(packed, &no_options, &trace, &status));
    CHECK_INT(trace->call.count, 10);
    trace_close(trace);
}

TEST(a_ridge_file_without_an_intact_chunk_is_refused_when_joined) {
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    const char *paths[] = {path};
    write_trace(path, 5, 1, 100, 10);
    CHECK(truncate(path, 40) == 0);
    CHECK(join(paths, 1, &status) == NULL);
    CHECK(text_starts(text_of(status.message), path));
    CHECK(strstr(status.message, "no intact data"));
}

/* Bytes that are not a trace, and a part of the message about them. */
#define UNKNOWN(name, bytes, said)                                                                 \
    { name, bytes, sizeof(bytes) - 1, said }
static const struct {
    const char *suffix, *bytes;
    size_t length;
    const char *said;
} unknown[] = {
    UNKNOWN(".json", "", "is empty"),
    UNKNOWN(".json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    UNKNOWN(".json", "<!DOCTYPE html>\n<html>", "web page"),
    UNKNOWN(".json", "\n <HTML lang=en>", "web page"),
    UNKNOWN(".nsys-rep", "\x01\x02\0\x04", "nsys export --type sqlite"),
    UNKNOWN(".nsys-rep", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "git lfs pull"),
    UNKNOWN(".bin", "%PDF-1.7\n", "PDF"),
    UNKNOWN(".bin", "PK\x03\x04\x14", "unpack it"),
    UNKNOWN(".bin",
            "\x7F"
            "ELF\x02\x01",
            "program"),
    UNKNOWN(".txt", "hello, this is a log\n", "plain text"),
    UNKNOWN(".json", "{\"start_time\": 1, \"min_interval\": 1, \"start_call_stack\": []}",
            "pyinstrument --load FILE -r speedscope"),
    UNKNOWN(".json", "{\"target_description\": \"a\", \"root_frame\": {}}", "-r speedscope"),
    UNKNOWN(".json", "{\"alloc_samples\": 1, \"combined_stacks\": []}", "scalene"),
    UNKNOWN(".json", "{\"total_num_allocations\": 1, \"allocation_size_histogram\": []}",
            "memray transform csv"),
    UNKNOWN(".json", "{\"costs\": [], \"events\": [{\"callchain\": [0]}]}", "gprof2dot"),
    UNKNOWN(".json", "{\"nodes\": [{\"callFrame\": {}, \"hitCount\": 1}]}", "V8"),
    UNKNOWN(".json", "{\"schema\": \"1.1\", \"nodes\": [{\"ctrl_deps\": 1}]}", "--execution-trace"),
    UNKNOWN(".out", "gmon\x01", "gprof"),
    UNKNOWN(".prof", "\x0a\x04\x08\x01\x10\x02\x0a\x04", "pprof"),
    UNKNOWN(".mojo", "MOJ\x03", "mojo2austin"),
    UNKNOWN(".out", "# callgrind format\n", "callgrind"),
    UNKNOWN(".txt", " \n\t\n", "only white space"),
    UNKNOWN(".bin", "a\x7Fz", "not a known trace format"),
    UNKNOWN(".bin", "a\x02z", "not a known trace format"),
    UNKNOWN(".bin", "\x00\x01\xFE\x80\x93\xF7\x00\x11", "not a known trace format"),
};

TEST(a_file_that_is_not_a_trace_is_named_for_what_it_is) {
    for (size_t i = 0; i < ARRAY_COUNT(unknown); i++) {
        struct status status = {0};
        struct trace *trace = NULL;
        const char *path = test_temporary(unknown[i].suffix);
        write_file(path, unknown[i].bytes, unknown[i].length);
        if (import_open(path, &no_options, &trace, &status)) {
            test_failed(__FILE__, __LINE__, "case %zu was opened", i);
            trace_close(trace);
        } else if (!strstr(status.message, unknown[i].said) ||
                   !text_starts(text_of(status.message), path)) {
            test_failed(__FILE__, __LINE__, "case %zu: '%s' lacks '%s'", i, status.message,
                        unknown[i].said);
        }
    }
}

TEST(a_pipe_is_read_to_its_end_and_then_recognized) {
    struct status status = {0};
    const char *plain = test_temporary(".ridge"), *fifo = test_temporary(".fifo");
    write_trace(plain, 5, 1, 100, 10);
    REQUIRE(mkfifo(fifo, 0600) == 0);
    char command[1200];
    snprintf(command, sizeof command, "cat '%s' > '%s' &", plain, fifo);
    REQUIRE(system(command) == 0);
    struct trace *trace;
    REQUIRE(import_open(fifo, &no_options, &trace, &status));
    CHECK_INT(trace->call.count, 10);
    trace_close(trace);
}

TEST(a_pipe_is_opened_where_standard_input_is_closed) {
    struct status status = {0};
    const char *plain = test_temporary(".ridge"), *fifo = test_temporary(".fifo");
    write_trace(plain, 5, 1, 100, 10);
    REQUIRE(mkfifo(fifo, 0600) == 0);
    char command[1200];
    snprintf(command, sizeof command, "cat '%s' > '%s' &", plain, fifo);
    REQUIRE(system(command) == 0);
    struct trace *trace = NULL;
    int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    bool ok = import_open(fifo, &no_options, &trace, &status);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
    CHECK_OK(ok, status);
    if (ok)
        CHECK_INT(trace->call.count, 10);
    trace_close(trace);
}

TEST(a_full_temporary_folder_is_told_from_a_bad_trace) {
    struct status status = {0};
    struct trace *trace;
    const char *plain = test_temporary(".ridge"), *packed = test_temporary(".gz");
    write_trace(plain, 5, 1, 100, 10);
    gzFile out = gzopen(packed, "wb");
    static char bytes[1 << 16];
    FILE *file = fopen(plain, "rb");
    REQUIRE(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    CHECK_INT(gzwrite(out, bytes, (unsigned)length), length);
    gzclose(out);
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/nonexistent-folder", 1);
    CHECK(!import_open(packed, &no_options, &trace, &status));
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
    CHECK(strstr(status.message, "TMPDIR"));
}

TEST(the_rank_in_the_name_of_a_file_is_kept) {
    static const struct {
        const char *name, *rank;
    } cases[] = {
        {"rank0.json", "0"},
        {"trace_rank_3.json", "3"},
        {"rank-90.pt.trace.json", "90"},
        {"rank=19.json", "19"},
        {"rank.5.json", "5"},
        {"rank1_rank2.json", "2"},
        {"rank1234567.json", "1234567"},
        {"rank12345678.json", ""},
        {"rank.json", ""},
        {"ranked.json", ""},
        {"trace.json", ""},
    };
    static const char json[] = "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\","
                               "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]}";
    const char *folder = test_temporary("");
    mkdir(folder, 0700);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct status status = {0};
        struct trace *trace;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, cases[i].name);
        write_file(path, json, sizeof json - 1);
        REQUIRE(import_open(path, &no_options, &trace, &status));
        if (!text_is(trace_meta(trace, META_FILE_RANK), cases[i].rank))
            test_failed(__FILE__, __LINE__, "%s has another rank", cases[i].name);
        trace_close(trace);
        unlink(path);
    }
    rmdir(folder);
}
