/* Which perf-PID.map files are removed: those of Python, of ended processes. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* statx() */
#endif
#include "../test.h"

#ifdef __linux__
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf_target.h"
#include "record/perf/perf_maps.h"
#include "record/record.h"

static pid_t ended_process(void) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static const char *map_file(pid_t pid, const char *content) {
    static char path[4][64];
    static unsigned next;
    char *name = path[next++ % 4];
    snprintf(name, sizeof path[0], "/tmp/perf-%ld.map", (long)pid);
    FILE *file = fopen(name, "wx");
    if (!file)
        return NULL;
    fputs(content, file);
    fclose(file);
    return name;
}

static bool is_there(const char *path) {
    struct stat info;
    return path && lstat(path, &info) == 0;
}

static bool tells_when_made(const char *path) {
    struct statx about;
    return path && statx(AT_FDCWD, path, 0, STATX_BTIME, &about) == 0 &&
           (about.stx_mask & STATX_BTIME);
}

TEST(only_maps_that_recording_made_python_write_are_removed) {
    struct map pids = {0};
    struct status status;
    time_t before = time(NULL) - 1;
    pid_t python = ended_process(), other = ended_process(), stranger = ended_process();
    const char *removed = map_file(python, "7f00 20 py::f:/x.py\n7f40 20 py::g:/x.py\n");
    const char *kept = map_file(other, "7f00 20 LazyCompile:~f /x.js\n7f40 20 py::g:/x.py\n");
    const char *unknown = map_file(stranger, "7f00 20 py::f:/x.py\n");
    const char *alive = map_file(getpid(), "7f00 20 py::f:/x.py\n");
    CHECK(map_set(&pids, (uint64_t)python, 1, &status) &&
          map_set(&pids, (uint64_t)other, 1, &status) &&
          map_set(&pids, (uint64_t)getpid(), 1, &status));
    bool told = tells_when_made(removed);
    CHECK_INT(perf_maps_remove(&pids, time(NULL) + 1000), 0); /* they were there before */
    CHECK(is_there(removed) && is_there(kept) && is_there(unknown) && is_there(alive));
    CHECK_INT(perf_maps_remove(&pids, before), told);
    CHECK(is_there(kept) && is_there(unknown) && is_there(alive));
    CHECK_INT(is_there(removed), !told);
    if (removed)
        unlink(removed);
    if (kept)
        unlink(kept);
    if (unknown)
        unlink(unknown);
    if (alive)
        unlink(alive);
    if (!told)
        test_skip("this file system does not tell when files were made");
    map_finish(&pids);
}

/* The program writes such a map as Python does. */
TEST(the_map_of_a_sampled_program_is_removed_and_counted) {
    static struct record_summary summary;
    char *command[] = {"/proc/self/exe", NULL}, path[64];
    const char *const variables[] = {PERF_TARGET_VARIABLE "=compiler", NULL};
    struct record_options options = {.command = command,
                                     .output = test_temporary(".ridge"),
                                     .variables = variables,
                                     .python_trampolines = true,
                                     .perf = {.rate = 999}};
    struct status status = {0};
    char *given = getenv("PYTHONPERFSUPPORT");
    if (given)
        given = strdup(given);
    unsetenv("PYTHONPERFSUPPORT"); /* the user's own choice is left alone */
    CHECK_OK(record_program(&options, &summary, &status), status);
    if (given)
        setenv("PYTHONPERFSUPPORT", given, 1);
    free(given);
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)summary.target.pid);
    bool kept = is_there(path), told = tells_when_made(path);
    unlink(path);
    CHECK_INT(summary.python_maps, !kept);
    if (summary.samples == 0)
        test_skip("perf events cannot be used here");
    else if (kept && !told)
        test_skip("this file system does not tell when files were made");
    else
        CHECK(!kept);
}
#endif
