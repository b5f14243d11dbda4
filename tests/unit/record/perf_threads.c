/* Threads and their rows. */
#ifdef __linux__
#include "record/perf/perf_threads.h"

#include <fcntl.h>
#include <unistd.h>

#include "../test.h"
#include "trace/reader.h"

static struct trace_writer *open_writer(const char *path, int *fd, struct status *status) {
    *fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    return trace_writer_create(*fd, &(struct trace_writer_options){.session = 1, .writer = 1},
                               status);
}

static struct trace *finish(struct trace_writer *writer, int fd, const char *path) {
    struct trace *trace = NULL;
    struct status status = {0};
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
    CHECK_OK(trace_open(path, &trace, &status), status);
    return trace;
}

/* Rows are numbered one after another, so the next number shows how many were written. */
TEST(a_thread_is_written_again_only_when_its_name_changes) {
    struct status status = {0};
    struct perf_threads threads = {0};
    const char *path = test_temporary(".ridge");
    int fd;
    struct trace_writer *writer = open_writer(path, &fd, &status);
    REQUIRE(writer);
    struct perf_thread *thread = perf_threads_find(&threads, 5, 6, &status);
    REQUIRE(thread);
    perf_thread_rename(&threads, thread, writer, TEXT("worker"));
    uint32_t row = perf_thread_row_of(&threads, thread, writer);
    perf_thread_rename(&threads, thread, writer, TEXT("worker"));
    perf_thread_rename(&threads, thread, writer, TEXT("worker"));
    CHECK_INT(trace_write_thread(writer, &(struct row_thread){.tid = 7}), row + 1);
    perf_thread_rename(&threads, thread, writer, TEXT("loader"));
    CHECK_INT(trace_write_thread(writer, &(struct row_thread){.tid = 8}), row + 3);
    perf_threads_finish(&threads);
    struct trace *trace = finish(writer, fd, path);
    REQUIRE(trace);
    CHECK_INT(trace->thread.tid[row], 6);
    CHECK(text_is(trace_text(trace, trace->thread.name[row]), "loader"));
    trace_close(trace);
}
#endif
