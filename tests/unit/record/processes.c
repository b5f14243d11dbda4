/* The walk of the process tree. */
#ifdef __linux__
#include "record/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test.h"
#include "trace/reader.h"

/* Rows are numbered one after another, so the next number shows how many were written. */
static uint32_t next_row(struct trace_writer *writer) {
    return trace_write_process(writer, &(struct row_process){.pid = 1});
}

TEST(a_process_that_keeps_its_name_is_written_once) {
    struct status status = {0};
    struct processes processes = {0};
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    processes.writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(processes.writer);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    REQUIRE(child > 0);
    CHECK_OK(processes_sample(&processes, 0, &status), status);
    CHECK(processes.count >= 1);
    uint32_t before = next_row(processes.writer);
    for (unsigned turn = 0; turn < 3; turn++)
        CHECK_OK(processes_sample(&processes, processes.next_walk, &status), status);
    CHECK_INT(next_row(processes.writer), before + 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_OK(trace_writer_finish(processes.writer, &status), status);
    trace_writer_destroy(processes.writer);
    processes_finish(&processes);
    close(fd);
    struct trace *trace = NULL;
    REQUIRE(trace_open(path, &trace, &status));
    for (size_t i = 1; i < trace->process.count; i++)
        CHECK(text_find(trace_text(trace, trace->process.name[i]), "\n") < 0);
    trace_close(trace);
}
#endif
