/* What the recorded program finds in its environment. */
#include "record/environment.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "../test.h"

/* An empty file in the library's place, with these permissions. */
static const char *library(mode_t mode) {
    const char *path = test_temporary(".so");
    FILE *file = fopen(path, "w");
    if (file)
        fclose(file);
    chmod(path, mode);
    setenv("RIDGE_PROBE_LIBRARY", path, 1);
    return path;
}

static const char *value_of(const struct environment *environment, const char *name) {
    for (size_t i = environment->count; i > 0; i--)
        if (strcmp(environment->variables[i - 1].name, name) == 0)
            return environment->variables[i - 1].value;
    return "";
}

TEST(a_probe_that_others_may_write_to_is_refused) {
    char path[ENVIRONMENT_PROBE_SIZE];
    struct status status = {0};
    library(0644);
    CHECK_OK(environment_find_probe(path, &status), status);
    library(0666);
    CHECK(!environment_find_probe(path, &status));
    CHECK(strstr(status.message, "can be written to by others"));
    setenv("RIDGE_PROBE_LIBRARY", "/no/such/library.so", 1);
    CHECK(!environment_find_probe(path, &status));
    unsetenv("RIDGE_PROBE_LIBRARY");
}

TEST(the_probe_is_injected_unless_another_tool_is_there_first) {
    static struct record_summary summary;
    static const char *given[] = {"CUDA_INJECTION64_PATH=/other/tool.so", "MINE=a=b", NULL};
    struct record_options options = {.variables = given, .by_node = true};
    struct environment environment = {.probe = "/lib/probe.so"};
    struct status status = {0};
    CHECK_OK(environment_build(&environment, &options, "/spool", &summary, &status), status);
    CHECK_STRING(value_of(&environment, "CUDA_INJECTION64_PATH"), "/other/tool.so");
    CHECK_STRING(value_of(&environment, "NVTX_INJECTION64_PATH"), "/lib/probe.so");
    CHECK_STRING(value_of(&environment, "MINE"), "a=b");
    CHECK_STRING(value_of(&environment, "RIDGE_SPOOL"), "/spool");
    CHECK_STRING(value_of(&environment, "RIDGE_PROBE"), "cuda=1,graph=node");
    CHECK(summary.note_count == 1 && strstr(summary.notes[0], "/other/tool.so"));
    environment_finish(&environment);
}

TEST(a_variable_without_a_name_or_a_value_is_refused) {
    static struct record_summary summary;
    static const char *wrong[][2] = {{"=x", NULL}, {"NAME", NULL}, {"", NULL}};
    for (unsigned i = 0; i < 3; i++) {
        struct record_options options = {.variables = wrong[i]};
        struct environment environment = {0};
        struct status status = {0};
        CHECK(!environment_build(&environment, &options, NULL, &summary, &status));
        environment_finish(&environment);
    }
}
