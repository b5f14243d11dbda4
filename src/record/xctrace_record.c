/* Runs `xctrace record` and waits for it.
 *
 * xctrace runs in a process group of its own, so that Ctrl-C reaches it only through ridge: the
 * recorded program gets the signal, ends as it would alone, and xctrace then saves the recording.
 * While attached, or once the program has ended, a signal stops xctrace instead. A second one
 * kills it.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* nftw(), strcasestr() */
#endif
#include "record/xctrace_record.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/temporary.h"
#include "record/xctrace_launch.h"

extern char **environ;

enum { POLL_MS = 50, WORDS_MAX = 32, PRINTED_SIZE = 16384 };

/* ---- signals ---- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { SIGNALS = ARRAY_COUNT(signals) };

static volatile sig_atomic_t program_pid; /* gets the signals while it runs */
static volatile sig_atomic_t xctrace_pid; /* else this */
static volatile sig_atomic_t stops;       /* signals that xctrace got */

static void pass_signal(int number) {
    int saved = errno;
    bool ends = number != SIGUSR1 && number != SIGUSR2;
    if (program_pid > 0)
        kill((pid_t)program_pid, number);
    else if (xctrace_pid > 0 && ends)
        kill((pid_t)xctrace_pid, stops++ ? SIGKILL : SIGINT);
    errno = saved;
}

static void install_handlers(struct sigaction saved[SIGNALS]) {
    for (unsigned i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_handler = pass_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], NULL, &saved[i]);
        if (saved[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

static void restore_handlers(const struct sigaction saved[SIGNALS]) {
    program_pid = xctrace_pid = stops = 0;
    for (unsigned i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &saved[i], NULL);
}

/* ---- the process xctrace ---- */

struct words {
    const char *list[WORDS_MAX + 1];
    unsigned count;
};

static void add_word(struct words *words, const char *word) {
    if (words->count < WORDS_MAX)
        words->list[words->count++] = word;
}

static void add_pair(struct words *words, const char *option, const char *value) {
    add_word(words, option);
    add_word(words, value);
}

/* Metal System Trace has samples as well, in most versions of Instruments; the importer keeps each
 * sample once. */
static void add_instruments(struct words *words, const struct record_options *options) {
    add_pair(words, "--template", "Metal System Trace");
    if (!options->no_sampling)
        add_pair(words, "--instrument", "Time Profiler");
    if (options->memory)
        add_pair(words, "--instrument", "Allocations");
}

static bool spawn_xctrace(const struct words *words, const char *log, pid_t *pid,
                          struct status *status) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return status_no_memory(status);
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return status_no_memory(status);
    }
    sigemptyset(&defaults);
    for (unsigned i = 0; i < SIGNALS; i++)
        sigaddset(&defaults, signals[i]);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int failure =
        posix_spawnp(pid, "xctrace", &actions, &attributes, (char *const *)words->list, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failure == 0)
        return true;
    errno = failure;
    if (failure == ENOENT)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "xctrace was not found: install Xcode from the App Store (the command "
                           "line tools do not include it)");
    return status_fail_errno(status, "cannot run xctrace");
}

/* True when xctrace has ended. */
static bool has_ended(pid_t pid, int *wait_status) {
    pid_t ended = waitpid(pid, wait_status, WNOHANG);
    return ended == pid || (ended < 0 && errno != EINTR);
}

static void stop_xctrace(pid_t pid) {
    int wait_status;
    kill(pid, SIGINT);
    for (unsigned waited = 0; waited < 5000; waited += POLL_MS) {
        if (has_ended(pid, &wait_status))
            return;
        poll(NULL, 0, POLL_MS);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &wait_status, 0);
}

/* ---- messages ---- */

static bool any_in(const char *printed, const char *const *words) {
    for (; *words; words++)
        if (strcasestr(printed, *words))
            return true;
    return false;
}

/* The last line that is not empty. */
static void last_line(const char *printed, char *line, size_t capacity) {
    const char *begin = printed, *last = "";
    size_t length = 0;
    while (*begin) {
        size_t here = strcspn(begin, "\r\n");
        if (strspn(begin, " \t") < here) {
            last = begin + strspn(begin, " \t");
            length = here - (size_t)(last - begin);
        }
        begin += here;
        begin += strspn(begin, "\r\n");
    }
    snprintf(line, capacity, "%.*s", (int)(length < capacity ? length : capacity - 1), last);
}

void xctrace_explain(const char *printed, const char *program, int exit_status,
                     struct status *status) {
    static const struct {
        const char *words[8], *problem; /* words end with NULL */
    } refusals[] = {
        {{"requires Xcode", "unable to find utility"},
         "xctrace requires Xcode: install it from the App Store, then run sudo xcode-select -s "
         "/Applications/Xcode.app"},
        {{"license"}, "Xcode's license is not accepted: run sudo xcodebuild -license accept"},
        {{"Developer Mode", "not authorized", "not permitted", "permission", "denied",
          "authorization"},
         "macOS does not permit the recording: run sudo DevToolsSecurity -enable, allow the "
         "terminal under Privacy & Security, Developer Tools, or use sudo"},
        {{"System Integrity Protection", "get-task-allow", "hardened", "failed to attach"},
         "is protected by System Integrity Protection or the hardened runtime: use another build "
         "of it, such as Homebrew's python instead of /usr/bin/python3"},
        {{"cannot find process", "no such process"}, "xctrace does not find the process"},
    };
    char line[300];
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++)
        if (any_in(printed, refusals[i].words)) {
            bool about_program = refusals[i].problem[0] == 'i';
            status_fail(status, STATUS_UNSUPPORTED, "%s%s%s", about_program ? program : "",
                        about_program ? " " : "", refusals[i].problem);
            return;
        }
    last_line(printed, line, sizeof line);
    status_fail(status, STATUS_UNSUPPORTED, "xctrace record failed with status %d%s%s", exit_status,
                *line ? ": " : "", line);
}

static void read_log(const char *path, char printed[PRINTED_SIZE]) {
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(printed, 1, PRINTED_SIZE - 1, file) : 0;
    printed[length] = 0;
    if (file)
        fclose(file);
}

/* ---- files ---- */

static void say(const struct xctrace_record *record, const char *what) {
    if (record->progress)
        record->progress(record->progress_context, what);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    remove(path);
    return 0;
}

static void remove_tree(const char *path) {
    enum { DESCRIPTORS = 16 };
    if (*path)
        nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}

static bool make_folder(struct xctrace_record *record, struct status *status) {
    char *folder;
    if (!temporary_folder(&folder, status))
        return false;
    snprintf(record->folder, sizeof record->folder, "%s", folder);
    snprintf(record->bundle, sizeof record->bundle, "%s/recording.trace", folder);
    memory_free(folder);
    return true;
}

bool xctrace_record_keep(struct xctrace_record *record, const char *path, struct status *status) {
    struct stat info;
    if (stat(path, &info) == 0)
        return status_fail(status, STATUS_USAGE, "%s exists", path);
    if (rename(record->bundle, path) == 0)
        return true;
    if (errno != EXDEV)
        return status_fail_errno(status, "cannot move the recording to %s", path);
    char *const words[] = {"cp", "-R", record->bundle, (char *)path, NULL};
    pid_t pid;
    int wait_status = -1;
    int failure = posix_spawnp(&pid, "cp", NULL, NULL, words, environ);
    while (failure == 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    return (failure == 0 && wait_status == 0) ||
           status_fail(status, STATUS_IO, "cannot copy the recording to %s", path);
}

void xctrace_record_finish(struct xctrace_record *record) {
    record_file_discard(&record->file);
    remove_tree(record->folder);
    record->folder[0] = record->bundle[0] = 0;
}

/* ---- recording ---- */

/* Waits for the launched process; false when xctrace ended without launching one. */
static bool wait_for_launch(struct xctrace_record *record, int listener, pid_t xctrace,
                            int *connection, pid_t *pid, int *wait_status, struct status *status) {
    for (;;) {
        struct pollfd socket = {.fd = listener, .events = POLLIN};
        int ready = poll(&socket, 1, POLL_MS);
        if (ready > 0) {
            *connection = launch_accept(listener, pid, status);
            return *connection >= 0;
        }
        if (has_ended(xctrace, wait_status)) {
            char log[sizeof record->folder + 8], printed[PRINTED_SIZE];
            snprintf(log, sizeof log, "%s/log", record->folder);
            read_log(log, printed);
            xctrace_pid = 0;
            if (stops)
                return status_fail(status, STATUS_USAGE,
                                   "interrupted before the program was started");
            xctrace_explain(printed, "the program",
                            WIFEXITED(*wait_status) ? WEXITSTATUS(*wait_status)
                                                    : 128 + WTERMSIG(*wait_status),
                            status);
            return false;
        }
    }
}

static bool start_program(struct xctrace_record *record, const struct record_options *options,
                          int connection, struct record_summary *summary, struct status *status) {
    struct launch launch = {.command = options->command,
                            .environment = environ,
                            .variables = options->variables,
                            .ignores_pipe = options->pipe_was_ignored};
    int reason = 0;
    if (!record_open_output(&record->file, options, summary->target.pid, status))
        return false;
    program_pid = summary->target.pid; /* it may run before launch_send() returns */
    bool sent = launch_send(connection, &launch, &reason, status);
    if (!sent || reason)
        program_pid = 0;
    if (!sent)
        return false;
    summary->target.started = clock_now();
    if (reason) {
        summary->target.exec_status = target_exec_error(options->command[0], reason, status);
        return false;
    }
    record->launched = true;
    return true;
}

/* Until xctrace has saved the recording. The program is not ridge's child: whether it runs is read
 * from its pid. */
static void wait_for_xctrace(struct xctrace_record *record, struct target *target, pid_t xctrace,
                             int *wait_status) {
    while (!has_ended(xctrace, wait_status)) {
        if (!target->ended && kill(target->pid, 0) != 0 && errno == ESRCH) {
            target->ended = true;
            target->ended_at = clock_now();
            program_pid = 0;
            say(record, "xctrace is saving the recording");
        }
        poll(NULL, 0, POLL_MS);
    }
    if (!target->ended)
        target->ended_at = clock_now();
    target->ended = true;
    program_pid = xctrace_pid = 0;
}

/* xctrace also exits with an error when it only warns, or stopped the program at a time limit: what
 * counts is whether there is a bundle. */
static void check_bundle(struct xctrace_record *record, const struct record_options *options,
                         int wait_status, struct record_summary *summary) {
    char log[sizeof record->folder + 8], printed[PRINTED_SIZE];
    struct status why = {0};
    struct stat info;
    if (stat(record->bundle, &info) == 0 && S_ISDIR(info.st_mode))
        return;
    snprintf(log, sizeof log, "%s/log", record->folder);
    read_log(log, printed);
    if (WIFSIGNALED(wait_status))
        status_fail(&why, STATUS_UNSUPPORTED, "xctrace was killed by signal %d",
                    WTERMSIG(wait_status));
    else
        xctrace_explain(printed, options->command ? options->command[0] : "the process",
                        WEXITSTATUS(wait_status), &why);
    record->bundle[0] = 0;
    record_note(summary, "nothing was recorded: %s", why.message);
}

static bool launch_and_wait(struct xctrace_record *record, const struct record_options *options,
                            const struct words *words, int listener, struct record_summary *summary,
                            struct status *status) {
    char log[sizeof record->folder + 8];
    int connection = -1, wait_status = 0;
    pid_t xctrace;
    snprintf(log, sizeof log, "%s/log", record->folder);
    if (!spawn_xctrace(words, log, &xctrace, status))
        return false;
    xctrace_pid = xctrace;
    if (options->attach) {
        record->launched = true;
    } else if (!wait_for_launch(record, listener, xctrace, &connection, &summary->target.pid,
                                &wait_status, status) ||
               !start_program(record, options, connection, summary, status)) {
        if (connection >= 0)
            close(connection);
        if (xctrace_pid)
            stop_xctrace(xctrace);
        return false;
    } else {
        close(connection);
    }
    wait_for_xctrace(record, &summary->target, xctrace, &wait_status);
    check_bundle(record, options, wait_status, summary);
    return true;
}

static bool prepare(struct xctrace_record *record, const struct record_options *options,
                    struct record_summary *summary, struct status *status) {
    struct target *target = &summary->target;
    if (!options->attach)
        return make_folder(record, status);
    target->pid = options->attach;
    target->attached = true;
    target->started = clock_now();
    if (kill(target->pid, 0) != 0 && errno == ESRCH)
        return status_fail(status, STATUS_USAGE, "there is no process %ld", (long)target->pid);
    return make_folder(record, status) &&
           record_open_output(&record->file, options, target->pid, status);
}

bool xctrace_record(struct xctrace_record *record, const struct record_options *options,
                    struct record_summary *summary, struct status *status) {
    struct words words = {0};
    struct sigaction saved[SIGNALS];
    char limit[32], pid[32], own[PROCESS_PATH_SIZE], path[sizeof record->folder + 8];
    int listener = -1;
    memset(summary, 0, sizeof *summary);
    summary->probe_ns = -1;
    record->file.fd = -1;
    if (!prepare(record, options, summary, status))
        return false;
    snprintf(path, sizeof path, "%s/socket", record->folder);
    process_path(own);
    add_pair(&words, "xctrace", "record");
    add_instruments(&words, options);
    add_word(&words, "--no-prompt");
    add_pair(&words, "--output", record->bundle);
    if (options->duration > 0) {
        snprintf(limit, sizeof limit, "%.0fms", options->duration * 1000);
        add_pair(&words, "--time-limit", limit);
    }
    if (options->attach) {
        snprintf(pid, sizeof pid, "%ld", (long)options->attach);
        add_pair(&words, "--attach", pid);
    } else {
        const char *launched[] = {"--launch", "--", own, "launch", path};
        for (size_t i = 0; i < ARRAY_COUNT(launched); i++)
            add_word(&words, launched[i]);
        listener = launch_listen(path, status);
        if (listener < 0)
            return false;
    }
    install_handlers(saved);
    bool ok = launch_and_wait(record, options, &words, listener, summary, status);
    restore_handlers(saved);
    if (listener >= 0)
        close(listener);
    summary->wall_ns = summary->target.ended_at - summary->target.started;
    return ok;
}
