/* Recordings that fail before the program runs, what others report, the
 * summary and the metadata. */
#include "base/array.h"
#include "record/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"
#include "trace/reader.h"

static struct record_summary summary;

/* Records with a folder of its own for the spool and a library in the place of the probe. */
static bool record(const struct record_options *options, struct status *status, unsigned *left) {
    char folder[512], library[600];
    snprintf(folder, sizeof folder, "%s", test_temporary(""));
    snprintf(library, sizeof library, "%s/probe.so", folder);
    if (mkdir(folder, 0700) != 0)
        return true;
    FILE *file = fopen(library, "w");
    if (file)
        fclose(file);
    chmod(library, 0600);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("RIDGE_PROBE_LIBRARY", library, 1);
    bool ok = record_program(options, &summary, status);
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("RIDGE_PROBE_LIBRARY");
    unlink(library);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        *left += entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    rmdir(folder);
    return ok;
}

static bool is_told(const char *words) {
    bool told = false;
    for (unsigned i = 0; i < summary.note_count; i++)
        told |= strstr(summary.notes[i], words) != NULL;
    return told;
}

TEST(a_program_that_cannot_be_started_leaves_no_spool) {
    struct status status = {0};
    unsigned left = 0;
    char *command[] = {"/no/such/program", NULL};
    CHECK(!record(&(struct record_options){.command = command, .output = "/dev/null"}, &status,
                  &left));
    CHECK_INT(status.code, STATUS_USAGE);
    CHECK_INT(left, 0);
}

/* The program removes the folder of its trace, so that what came before the delay cannot go. */
TEST(a_trace_that_cannot_be_trimmed_is_told) {
    struct status status = {0};
    char folder[512], output[600], script[700];
    snprintf(folder, sizeof folder, "%s", test_temporary(""));
    snprintf(output, sizeof output, "%s/t.ridge", folder);
    snprintf(script, sizeof script, "rm -r '%s'", folder);
    REQUIRE(mkdir(folder, 0700) == 0);
    char *command[] = {"/bin/sh", "-c", script, NULL};
    struct record_options options = {
        .command = command, .output = output, .delay = 1000, .no_sampling = true};
    CHECK_OK(record_program(&options, &summary, &status), status);
    CHECK(is_told("No such file or directory"));
    CHECK(access(folder, F_OK) != 0);
}

TEST(a_delay_and_a_ring_need_an_ordinary_file) {
    char *command[] = {"/bin/sh", "-c", "exit 0", NULL};
    struct record_options cases[] = {
        {.command = command, .output = "/dev/null", .delay = 1},
        {.command = command, .output = "/dev/null", .delay = 0.5},
        {.command = command, .output = "/dev/null", .ring_bytes = 1},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct status status = {0};
        unsigned left = 0;
        cases[i].no_sampling = true;
        CHECK(!record(&cases[i], &status, &left));
        CHECK_INT(status.code, STATUS_USAGE);
        CHECK(strstr(status.message, "need a regular file, not /dev/null"));
        CHECK_INT(left, 0);
    }
}

TEST(a_program_without_cuda_is_told_where_cuda_was_asked_for) {
    static const enum record_backend backends[] = {RECORD_AUTO, RECORD_CUDA};
    char *command[] = {"/bin/sh", "-c", "exit 0", NULL};
    for (size_t i = 0; i < ARRAY_COUNT(backends); i++) {
        struct status status = {0};
        unsigned left = 0;
        struct record_options options = {.command = command,
                                         .output = test_temporary(".ridge"),
                                         .backend = backends[i],
                                         .no_sampling = true};
        CHECK_OK(record(&options, &status, &left), status);
        CHECK_INT(is_told("the probe saw no use of CUDA"), backends[i] == RECORD_CUDA);
        CHECK_INT(left, 0);
    }
}

static int64_t own_processor_ns(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

TEST(the_cost_of_recording_has_nothing_of_what_was_before) {
    enum { BEFORE = 50000000 };
    char *command[] = {"/bin/sh", "-c", "exit 0", NULL};
    struct status status = {0};
    unsigned left = 0;
    struct record_options options = {
        .command = command, .output = test_temporary(".ridge"), .no_sampling = true};
    while (own_processor_ns() < BEFORE)
        ;
    int64_t before = own_processor_ns();
    CHECK_OK(record(&options, &status, &left), status);
    CHECK(summary.recorder_ns >= 0);
    CHECK(summary.recorder_ns <= own_processor_ns() - before);
}

static const char *described(const struct record_summary *summary) {
    static char text[4096];
    struct buffer lines = {0};
    record_describe(summary, &lines);
    snprintf(text, sizeof text, "%.*s", (int)lines.length, lines.data);
    buffer_finish(&lines);
    return text;
}

TEST(a_summary_is_three_lines_whatever_there_is_to_say) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .processes = 1, .bytes = 100, .wall_ns = 1500000000};
    CHECK_STRING(described(&summary), "recorded  1 process, 1.50 s: a.ridge (100 B)\n"
                                      "lost      nothing\n"
                                      "cost      0 ns of CPU time to record\n");
    for (int i = 0; i < 20; i++)
        record_note(&summary, "note %d", i);
    summary.lost = 1234;
    summary.kernels = 2;
    summary.probe_ns = 15000000;
    summary.target_ns = 3000000000;
    CHECK_STRING(described(&summary),
                 "recorded  1 process, 2 kernels, 1.50 s: a.ridge (100 B)\n"
                 "lost      1,234 events; note 0; note 1; note 2; note 3; note 4; "
                 "note 5; note 6; note 7\n"
                 "cost      0 ns of CPU time to record; the program used 3.00 s; 15.0 ms in the "
                 "probe (1.0 % of the run)\n");
}

static const char *cost_with(unsigned maps, uint64_t interpreted, uint64_t trampolines,
                             bool is_exact) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .samples = 1000, .target_ns = 1000000000};
    summary.python_maps = maps;
    summary.python = (struct perf_python){interpreted, trampolines, is_exact};
    const char *cost = strstr(described(&summary), "; Python");
    return cost ? cost : "";
}

#define OFF " of that (--env PYTHONPERFSUPPORT=0 disables them)\n"

TEST(the_cost_of_python_trampolines_is_bounded_by_what_was_sampled) {
    CHECK_STRING(cost_with(0, 0, 0, true), "");
    /* they were on, but no stack shows them */
    CHECK_STRING(cost_with(1, 0, 0, true), "; Python's perf trampolines took an unknown part" OFF);
    /* 3 * (16 - 8), 15 * (16 + 8 + 2) */
    CHECK_STRING(cost_with(1, 1000, 16, true),
                 "; Python's perf trampolines took 2.4 % to 39.0 %" OFF);
    /* at most half of the time in the interpreter */
    CHECK_STRING(cost_with(1, 600, 25, true),
                 "; Python's perf trampolines took 4.5 % to 30.0 %" OFF);
    CHECK_STRING(cost_with(1, 20, 16, true), "; Python's perf trampolines took 1.0 % to 1.0 %" OFF);
    /* too few samples for a lower bound */
    CHECK_STRING(cost_with(1, 1000, 4, true), "; Python's perf trampolines took up to 15.0 %" OFF);
    CHECK_STRING(cost_with(1, 1000, 0, true), "; Python's perf trampolines took up to 3.0 %" OFF);
    /* without symbols of the interpreter only the upper limit is known */
    CHECK_STRING(cost_with(1, 800, 0, false), "; Python's perf trampolines took up to 40.0 %" OFF);
}

TEST(the_programs_time_includes_what_sampling_it_costs) {
    static struct record_summary summary = {
        .path = "a.ridge", .probe_ns = -1, .samples = 1, .target_ns = 1000000};
    CHECK(strstr(described(&summary), "; the program used 1.00 ms, including sampling "
                                      "interrupts\n"));
}

static void check_command(char *const *words, const char *expected) {
    struct status status = {0};
    struct trace *trace;
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    record_write_meta(writer, &(struct record_options){.command = words});
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
