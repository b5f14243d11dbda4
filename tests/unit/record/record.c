/* Recordings that fail before the program runs, and what others report. */
#include "base/array.h"
#include "record/record.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"

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
        CHECK(strstr(status.message, "need an ordinary file, not /dev/null"));
        CHECK_INT(left, 0);
    }
}

TEST(a_program_without_cuda_is_told_where_cuda_was_asked_for) {
    static const enum record_backend backends[] = {RECORD_AUTO, RECORD_CUDA};
    char *command[] = {"/bin/sh", "-c", "exit 0", NULL};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        struct status status = {0};
        unsigned left = 0;
        struct record_options options = {.command = command,
                                         .output = test_temporary(".ridge"),
                                         .backend = backends[i],
                                         .no_sampling = true};
        CHECK_OK(record(&options, &status, &left), status);
        CHECK_INT(is_told("the program did not use CUDA"), backends[i] == RECORD_CUDA);
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
