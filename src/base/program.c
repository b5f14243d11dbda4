/* A program that does not exist is found by posix_spawn() or, where that forks first, by the status
 * 127. */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text_lines.h"

extern char **environ;

/* Whether `path` is a program; it is then terminated. */
static bool is_program(struct buffer *path) {
    buffer_byte(path, 0);
    return !path->failed && access(path->data, X_OK) == 0;
}

static bool find_in_path(const char *name, struct buffer *path) {
    const char *variable = getenv("PATH");
    struct text folders = text_of(variable ? variable : "");
    while (folders.length > 0) {
        struct text folder = text_split(&folders, ':');
        buffer_reset(path);
        buffer_text(path, folder);
        buffer_printf(path, "/%s", name);
        if (folder.length && is_program(path))
            return true;
    }
    return false;
}

bool program_find(const char *name, const char *const *places, struct buffer *path) {
    if (find_in_path(name, path))
        return true;
    for (; places && *places; places++) {
        glob_t found = {0};
        bool any = glob(*places, 0, NULL, &found) == 0 && found.gl_pathc > 0;
        buffer_reset(path);
        if (any)
            buffer_string(path, found.gl_pathv[found.gl_pathc - 1]); /* the newest version */
        globfree(&found);
        if (any && is_program(path))
            return true;
    }
    return false;
}

bool program_run(const char *const *arguments, bool *found, int *result, struct status *status) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return status_no_memory(status);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failure =
        posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    *found = failure != ENOENT;
    if (failure) {
        errno = failure;
        return status_fail_errno(status, "cannot run %s", arguments[0]);
    }
    int wait_status;
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            return status_fail_errno(status, "cannot wait for %s", arguments[0]);
    *result = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128;
    *found = *result != 127;
    return true;
}
