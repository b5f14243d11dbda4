/* Passes the command line on, except options of the whole run: where results go and what they
 * are compared with. */
#include "cmd/bench_process.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/process.h"
#include "base/temporary.h"

extern char **environ;

enum { WORDS_MAX = 160 };
#define MESSAGE_PREFIX "ridge bench: "

bool bench_process_can(void) {
    char path[PROCESS_PATH_SIZE];
    process_path(path);
    return *path && access(path, X_OK) == 0;
}

struct words {
    const char *words[WORDS_MAX + 1];
    unsigned count;
};

static void add(struct words *words, const char *word) {
    if (words->count < WORDS_MAX)
        words->words[words->count++] = word;
}

/* Options that are passed to each round. */
static void pass_on(const struct command_line *line, struct words *words) {
    static const char *const with_value[][2] = {
        {"dtype", "--dtype"}, {"size", "--size"}, {"batch", "--batch"},
        {"model", "--model"}, {"peer", "--peer"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(with_value); i++)
        if (command_value(line, with_value[i][0])) {
            add(words, with_value[i][1]);
            add(words, command_value(line, with_value[i][0]));
        }
    if (command_flag(line, "quick"))
        add(words, "--quick");
}

static bool wait_for(pid_t child, const volatile sig_atomic_t *stop, int *ended) {
    bool signalled = false;
    while (waitpid(child, ended, 0) < 0) {
        if (errno != EINTR)
            return false;
        if (stop && *stop && !signalled) {
            kill(child, SIGTERM);
            signalled = true;
        }
    }
    return true;
}

/* The error message of the round, without the name of the command. */
static bool round_failed(int error_output, struct status *status) {
    char text[600];
    ssize_t length = pread(error_output, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    const char *reason = strncmp(text, MESSAGE_PREFIX, strlen(MESSAGE_PREFIX)) == 0
                             ? text + strlen(MESSAGE_PREFIX)
                             : text;
    return status_fail(status, STATUS_IO, "%s",
                       *reason ? reason : "a round ended without a result");
}

static bool spawn(struct words *words, int error_output, pid_t *child, struct status *status) {
    char path[PROCESS_PATH_SIZE];
    posix_spawn_file_actions_t actions;
    process_path(path);
    if (!*path)
        return status_fail_errno(status, "cannot find ridge itself");
    words->words[0] = path;
    setenv(BENCH_ROUND_VARIABLE, "1", 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, error_output, STDERR_FILENO);
    int failed = posix_spawn(child, path, &actions, NULL, (char *const *)words->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    unsetenv(BENCH_ROUND_VARIABLE);
    errno = failed;
    return !failed || status_fail_errno(status, "cannot start %s for a round", path);
}

static bool run_child(struct words *words, const volatile sig_atomic_t *stop,
                      struct status *status) {
    char *path;
    pid_t child;
    int ended, error_output;
    if (!temporary_file(&path, &error_output, status))
        return false;
    bool ok = spawn(words, error_output, &child, status);
    if (ok && !wait_for(child, stop, &ended))
        ok = status_fail_errno(status, "cannot wait for a round");
    if (ok && stop && *stop)
        ok = status_fail(status, STATUS_IO, "stopped");
    /* With status 1 an output was wrong, which its line reports. */
    if (ok && !(WIFEXITED(ended) && WEXITSTATUS(ended) <= EXIT_ANSWER_NO))
        ok = round_failed(error_output, status);
    close(error_output);
    temporary_remove(path);
    return ok;
}

bool bench_process_round(const struct command_line *line, const struct run_options *options,
                         struct result_set *set, struct status *status) {
    char *path, seconds[32], iterations[32];
    char devices[256] = "";
    int fd;
    struct words words = {{"ridge", "bench"}, 2};
    if (!temporary_file(&path, &fd, status))
        return false;
    close(fd);
    for (unsigned i = 0; options->experiments[i]; i++)
        add(&words, options->experiments[i]->name);
    for (unsigned i = 0; options->devices[i]; i++)
        snprintf(devices + strlen(devices), sizeof devices - strlen(devices), "%s%s", i ? "," : "",
                 options->devices[i]);
    add(&words, "--device");
    add(&words, devices);
    pass_on(line, &words);
    if (options->measure.iterations > 0) {
        snprintf(iterations, sizeof iterations, "%u", options->measure.iterations);
        add(&words, "--iterations");
        add(&words, iterations);
    } else {
        snprintf(seconds, sizeof seconds, "%g", options->measure.seconds);
        add(&words, "--seconds");
        add(&words, seconds);
    }
    static const char *const last[] = {"--quiet", "--json", "--force", "--output"};
    for (size_t i = 0; i < ARRAY_COUNT(last); i++)
        add(&words, last[i]);
    add(&words, path);
    bool ok = run_child(&words, options->stop, status) && result_set_read(set, path, status);
    temporary_remove(path);
    return ok;
}
