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
