/* The environment of the recorded program. */
#include "base/array.h"
#include "base/clock.h"
#include "record/environment.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../test.h"
#include "spool/spool.h"

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

/* Where anybody could put another library in its place. */
static void library_in_open_folder(void) {
    static char folder[] = "/tmp/ridge-test-XXXXXX";
    char path[64];
    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/x.so", folder);
    FILE *file = fopen(path, "w");
    if (file)
        fclose(file);
    chmod(path, 0644);
    chmod(folder, 0777);
    setenv("RIDGE_PROBE_LIBRARY", path, 1);
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
    CHECK(strstr(status.message, "is world-writable"));
    library_in_open_folder();
    CHECK(!environment_find_probe(path, &status));
    CHECK(strstr(status.message, "in a world-writable folder"));
    unlink(getenv("RIDGE_PROBE_LIBRARY"));
    *strrchr(getenv("RIDGE_PROBE_LIBRARY"), '/') = 0;
    rmdir(getenv("RIDGE_PROBE_LIBRARY"));
    setenv("RIDGE_PROBE_LIBRARY", "/no/such/library.so", 1);
    CHECK(!environment_find_probe(path, &status));
    unsetenv("RIDGE_PROBE_LIBRARY");
}

TEST(a_probe_of_another_user_is_refused) {
    char path[ENVIRONMENT_PROBE_SIZE];
    struct status status = {0};
    if (geteuid() != 0) {
        test_skip("only root can give a file to another user");
        return;
    }
    const char *file = library(0644);
    REQUIRE(chown(file, 54321, 54321) == 0);
    CHECK(!environment_find_probe(path, &status));
    CHECK(strstr(status.message, "belongs to another user"));
    unsetenv("RIDGE_PROBE_LIBRARY");
}

TEST(the_probe_is_injected_unless_another_tool_is_there_first) {
    static struct record_summary summary;
    static const char *given[] = {"CUDA_INJECTION64_PATH=/other/tool.so", "MINE=a=b", NULL};
    struct record_options options = {.variables = given, .graph_nodes = true};
    struct environment environment = {.probe = "/lib/probe.so"};
    struct status status = {0};
    CHECK_OK(environment_build(&environment, &options, "/spool", &summary, &status), status);
    CHECK_STRING(value_of(&environment, "CUDA_INJECTION64_PATH"), "/other/tool.so");
    CHECK_STRING(value_of(&environment, "NVTX_INJECTION64_PATH"), "/lib/probe.so");
    CHECK_STRING(value_of(&environment, "MINE"), "a=b");
    CHECK_STRING(value_of(&environment, "RIDGE_SPOOL"), "/spool");
    CHECK_STRING(value_of(&environment, "RIDGE_PROBE"), "cuda=1,opencl=1,vulkan=group,metal=1,graph=node");
    CHECK(summary.note_count == 2 && strstr(summary.notes[0], "/other/tool.so"));
    CHECK(strstr(summary.notes[1], "Vulkan is not recorded: cannot write /spool/"));
    environment_finish(&environment);
}

TEST(the_vulkan_loader_is_led_to_the_probe_beside_the_layers_of_the_user) {
    static struct record_summary summary;
    static const char *given[] = {"VK_INSTANCE_LAYERS=A:B", "VK_LAYER_PATH=/layers", NULL};
    struct record_options options = {.variables = given, .vulkan_dispatches = true};
    struct environment environment = {.probe = "/lib/a \"probe\".so"};
    struct status status = {0};
    char folder[] = "/tmp/ridge-unit-XXXXXX", file[64], expected[64], text[1024] = "";
    REQUIRE(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/ridge_vulkan.json", folder);
    snprintf(expected, sizeof expected, "/layers:%s", folder);
    CHECK_OK(environment_build(&environment, &options, folder, &summary, &status), status);
    CHECK_STRING(value_of(&environment, "VK_INSTANCE_LAYERS"), "A:B:VK_LAYER_RIDGE_probe");
    CHECK_STRING(value_of(&environment, "VK_LAYER_PATH"), expected);
    CHECK(strstr(value_of(&environment, "RIDGE_PROBE"), "vulkan=dispatch"));
    FILE *manifest = fopen(file, "r");
    REQUIRE(manifest);
    CHECK(fread(text, 1, sizeof text - 1, manifest) > 0);
    fclose(manifest);
    CHECK(strstr(text, "\"library_path\":\"/lib/a \\\"probe\\\".so\""));
    environment_finish(&environment);
    options.backend = RECORD_CPU;
    CHECK_OK(environment_build(&environment, &options, folder, &summary, &status), status);
    CHECK_STRING(value_of(&environment, "VK_INSTANCE_LAYERS"), "A:B");
    environment_finish(&environment);
    unlink(file);
    rmdir(folder);
}

TEST(the_probe_is_the_last_opencl_layer_once) {
    static const char *const cases[][2] = {{"", "/lib/probe.so"},
                                           {"/a.so:/b.so", "/a.so:/b.so:/lib/probe.so"},
                                           {"/lib/probe.so.1", "/lib/probe.so.1:/lib/probe.so"},
                                           {"/a.so:/lib/probe.so", "/a.so:/lib/probe.so"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        static struct record_summary summary;
        char given[64];
        const char *variables[] = {given, NULL};
        struct record_options options = {.variables = variables};
        struct environment environment = {.probe = "/lib/probe.so"};
        struct status status = {0};
        snprintf(given, sizeof given, "OPENCL_LAYERS=%s", cases[i][0]);
        CHECK_OK(environment_build(&environment, &options, "/spool", &summary, &status), status);
        CHECK_STRING(value_of(&environment, "OPENCL_LAYERS"), cases[i][1]);
        environment_finish(&environment);
    }
    static struct record_summary summary;
    struct record_options options = {.backend = RECORD_CUDA};
    struct environment environment = {.probe = "/lib/probe.so"};
    struct status status = {0};
    CHECK_OK(environment_build(&environment, &options, "/spool", &summary, &status), status);
    for (size_t i = 0; i < environment.count; i++)
        CHECK(strcmp(environment.variables[i].name, "OPENCL_LAYERS") != 0);
    CHECK(strstr(value_of(&environment, "RIDGE_PROBE"), "opencl=0"));
    environment_finish(&environment);
}

TEST(the_probe_is_told_when_to_begin_and_python_to_name_its_functions) {
    static struct record_summary summary;
    struct record_options options = {
        .delay = 2, .capture_range = "nvtx:a,b", .python_trampolines = true};
    struct environment environment = {.probe = "/lib/probe.so"};
    struct status status = {0};
    long long from = 0;
    int64_t before = clock_now();
    unsetenv("PYTHONPERFSUPPORT");
    CHECK_OK(environment_build(&environment, &options, "/spool", &summary, &status), status);
    const char *words = value_of(&environment, "RIDGE_PROBE");
    CHECK(sscanf(words, "cuda=1,opencl=1,vulkan=group,metal=1,graph=graph,from=%lld,", &from) == 1);
    CHECK(from >= before + 2000000000 && from <= clock_now() + 2000000000);
    CHECK(strstr(words, ",capture=nvtx:a,b"));
    CHECK(environment.enables_python_names);
    CHECK_STRING(value_of(&environment, "PYTHONPERFSUPPORT"), "1");
    environment_finish(&environment);
    setenv("PYTHONPERFSUPPORT", "0", 1);
    CHECK_OK(environment_build(&environment, &options, NULL, &summary, &status), status);
    CHECK(!environment.enables_python_names);
    environment_finish(&environment);
    unsetenv("PYTHONPERFSUPPORT");
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
