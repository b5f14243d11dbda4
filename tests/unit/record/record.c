/* Recordings that fail before the program runs. */
#include "base/array.h"
#include "record/record.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"

/* Records with a folder of its own for the spool and a library in the place of the probe. */
static bool record(const struct record_options *options, struct status *status, unsigned *left) {
    static struct record_summary summary;
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
    static struct record_summary summary;
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
    bool told = false;
    for (unsigned i = 0; i < summary.note_count; i++)
        told |= strstr(summary.notes[i], "No such file or directory") != NULL;
    CHECK(told);
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
