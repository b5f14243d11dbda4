/* What a killed writer leaves behind. */
#include "../test.h"

#include <fcntl.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/writer.h"

TEST(entities_that_left_the_writer_never_wait_for_those_they_refer_to) {
    enum { THREADS = 3000 }; /* more than a chunk holds */
    struct status status = {0};
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    uint32_t process = trace_write_process(writer, &(struct row_process){.pid = 7});
    for (int i = 0; i < THREADS; i++)
        trace_write_thread(writer, &(struct row_thread){.process = process, .tid = i + 1});
    trace_writer_destroy(writer); /* as if it were killed here */
    close(fd);
    struct trace *trace;
    REQUIRE(trace_open(path, &trace, &status));
    CHECK(trace->thread.count > 1000);
    for (size_t i = 1; i < trace->thread.count; i++)
        CHECK_INT(trace->process.pid[trace->thread.process[i]], 7);
    trace_close(trace);
}

TEST(rows_that_cannot_be_written_fail_the_writer_for_good) {
    enum { ROWS = 20000 }; /* more than a chunk holds */
    struct status status = {0};
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        test_skip("there is no /dev/full");
        return;
    }
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    uint32_t last = 1;
    for (int i = 0; i < ROWS; i++)
        last = trace_write_mark(writer, &(struct row_mark){.time = i});
    CHECK_INT(last, 0);
    CHECK(trace_writer_failed(writer));
    CHECK(!trace_writer_finish(writer, &status));
    CHECK_INT(status.code, STATUS_IO);
    trace_writer_destroy(writer);
    close(fd);
}

TEST(a_text_that_ran_out_of_memory_fails_the_writer) {
    struct status status = {0};
    struct buffer text = {.failed = true};
    int fd = open("/dev/null", O_WRONLY);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    CHECK_INT(trace_writer_string_of(writer, &text), 0);
    CHECK(!trace_writer_finish(writer, &status));
    CHECK_INT(status.code, STATUS_MEMORY);
    trace_writer_destroy(writer);
    close(fd);
}
