/* What a trace says of the command that was recorded. */
#include "record/meta.h"

#include <fcntl.h>
#include <unistd.h>

#include "../test.h"
#include "trace/reader.h"

static void check_command(char *const *words, const char *expected) {
    struct status status = {0};
    struct trace *trace;
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    meta_write(writer, &(struct record_options){.command = words});
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
    REQUIRE(trace_open(path, &trace, &status));
    struct text command = trace_meta(trace, META_COMMAND);
    if (!text_is(command, expected))
        test_failed(__FILE__, __LINE__, "\"%.*s\" is not \"%s\"", TEXT_ARGS(command), expected);
    trace_close(trace);
}

TEST(the_command_of_a_recording_is_written_as_a_shell_takes_it_back) {
    check_command((char *[]){"python3", "train.py", "--rate=1e-3", NULL},
                  "python3 train.py --rate=1e-3");
    check_command((char *[]){"echo", "a b", "", "it's", "$x", NULL},
                  "echo 'a b' '' 'it'\\''s' '$x'");
}
