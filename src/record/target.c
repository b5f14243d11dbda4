/* Runs a program as if ridge were not there.
 *
 * The program shares ridge's process group and terminal, so signals of the terminal (Ctrl-C,
 * Ctrl-Z, hangup) reach both. Signals are blocked except while ridge sleeps, so that none is lost
 * between checking for ended children and going to sleep. The handlers only forward signals that a
 * process sent. ridge is a subreaper: orphaned descendants become its children, so it knows when
 * the last one has ended.
 */
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "record/crash.h"
#include "record/process_facts.h"
#include "spool/spool.h"

/* SIGCHLD only wakes ridge. SIGXFSZ and SIGPIPE are ignored, because a failed write suffices. */
static const int signals[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                              SIGUSR1, SIGUSR2, SIGXFSZ, SIGPIPE};
_Static_assert(ARRAY_COUNT(signals) == TARGET_SIGNALS, "one saved action each");

static volatile sig_atomic_t forward_to; /* the target's pid while it runs */

/* Signals of the terminal reach the target directly. */
static bool sent_by_process(const siginfo_t *info) {
#ifdef SI_KERNEL
    return info->si_code != SI_KERNEL;
#else
    return info->si_pid != 0;
#endif
}

static void forward_signal(int number, siginfo_t *info, void *context) {
    int saved_actions = errno;
    (void)context;
    if (forward_to > 0 && sent_by_process(info))
        kill((pid_t)forward_to, number);
    errno = saved_actions;
}

static volatile sig_atomic_t stop_requested; /* by a signal, while attached */

static void request_stop(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
    stop_requested = 1;
}

static void ignore_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
}

static bool is_forwarded(int number) {
    return number != SIGCHLD && number != SIGXFSZ && number != SIGPIPE;
}

/* A signal that was ignored when ridge started (nohup) stays ignored in both. */
static void install_handlers(struct target *target) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (unsigned i = 0; i < TARGET_SIGNALS; i++) {
        struct sigaction action = {.sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], NULL, &target->saved_actions[i]);
        if (signals[i] == SIGXFSZ || signals[i] == SIGPIPE) {
            action.sa_flags = 0;
            action.sa_handler = SIG_IGN;
        } else if (signals[i] == SIGCHLD) {
            action.sa_sigaction = ignore_signal;
        } else if (target->saved_actions[i].sa_handler == SIG_IGN) {
            continue;
        } else {
            action.sa_sigaction = target->attached ? request_stop : forward_signal;
        }
        sigaction(signals[i], &action, NULL);
        sigaddset(&blocked, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &target->saved_mask);
    target->wait_mask = target->saved_mask;
    for (unsigned i = 0; i < TARGET_SIGNALS; i++)
        sigdelset(&target->wait_mask, signals[i]);
}

static void restore_handlers(const struct target *target) {
    for (unsigned i = 0; i < TARGET_SIGNALS; i++)
        sigaction(signals[i], &target->saved_actions[i], NULL);
    sigprocmask(SIG_SETMASK, &target->saved_mask, NULL);
}

void target_release(struct target *target) {
    forward_to = 0;
    /* A Ctrl-C that ended the target may still be pending; SIG_IGN discards it. */
    for (unsigned i = 0; i < TARGET_SIGNALS; i++)
        if (is_forwarded(signals[i]))
            signal(signals[i], SIG_IGN);
    restore_handlers(target);
}

/* ---- The child --------------------------------------------------------------------------- */

static void set_variable(const struct target_variable *variable) {
    const char *there = getenv(variable->name);
    char *joined = NULL;
    struct status ignored;
    if (variable->append && there && *there) {
        size_t size = strlen(there) + strlen(variable->value) + 2;
        joined = memory_allocate(size, 1, &ignored);
        if (joined)
            snprintf(joined, size, "%s:%s", there, variable->value);
    }
    setenv(variable->name, joined ? joined : variable->value, 1);
    memory_free(joined);
}

static _Noreturn void run_child(const struct target *target, int start_pipe, int error_pipe,
                                char *const *command, const struct target_variable *variables,
                                unsigned variable_count) {
    char byte;
    ssize_t got;
    restore_handlers(target);
    if (target->pipe_was_ignored)
        signal(SIGPIPE, SIG_IGN);
    do
        got = read(start_pipe, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(127); /* ridge failed or was killed */
    for (unsigned i = 0; i < variable_count; i++)
        set_variable(&variables[i]);
    execvp(command[0], command);
    int reason = errno;
    got = write(error_pipe, &reason, sizeof reason);
    _exit(got < 0 ? 126 : 127);
}

static bool make_pipe(int ends[2], struct status *status) {
    if (pipe(ends) != 0)
        return status_fail_errno(status, "cannot create a pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return true;
}

static void close_pipe(const int ends[2]) {
    close(ends[0]);
    close(ends[1]);
}

bool target_start(struct target *target, char *const *command,
                  const struct target_variable *variables, unsigned variable_count,
                  struct status *status) {
    int start_pipe[2], error_pipe[2];
    bool pipe_was_ignored = target->pipe_was_ignored;
    *target = (struct target){.pipe_was_ignored = pipe_was_ignored};
    if (!make_pipe(start_pipe, status))
        return false;
    if (!make_pipe(error_pipe, status)) {
        close_pipe(start_pipe);
        return false;
    }
#ifdef PR_SET_CHILD_SUBREAPER
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
    install_handlers(target);
    target->pid = fork();
    if (target->pid == 0) {
        close(start_pipe[1]);
        close(error_pipe[0]);
        run_child(target, start_pipe[0], error_pipe[1], command, variables, variable_count);
    }
    close(start_pipe[0]);
    close(error_pipe[1]);
    target->start_pipe = start_pipe[1];
    target->error_pipe = error_pipe[0];
    if (target->pid > 0) {
        forward_to = target->pid;
        return true;
    }
    status_fail_errno(status, "cannot create a process");
    close(target->start_pipe);
    close(target->error_pipe);
    target_release(target);
    return false;
}

bool target_attach(struct target *target, pid_t pid, struct status *status) {
    *target = (struct target){.pid = pid, .attached = true, .started = clock_now()};
    if (pid == getpid())
        return status_fail(status, STATUS_USAGE, "process %ld is ridge itself", (long)pid);
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return status_fail(status, STATUS_USAGE, "there is no process %ld", (long)pid);
    if (kill(pid, 0) != 0)
        return status_fail(status, STATUS_USAGE, "process %ld belongs to another user; use sudo",
                           (long)pid);
    stop_requested = 0;
    install_handlers(target);
    return true;
}

void target_adopt(struct target *target, pid_t pid) {
    *target = (struct target){.pid = pid, .started = clock_now()};
    install_handlers(target);
    forward_to = pid;
}

/* ---- The parent -------------------------------------------------------------------------- */

static void reap(struct target *target) {
    while (waitpid(target->pid, &target->wait_status, 0) < 0 && errno == EINTR)
        ;
    forward_to = 0;
    target->ended = true;
}

void target_cancel(struct target *target) {
    close(target->start_pipe);
    close(target->error_pipe);
    reap(target);
    target_release(target);
}

/* The exit status of a shell when exec() fails. */
static int exec_exit_status(int reason) {
    return reason == ENOENT ? 127 : 126;
}

static bool explain_exec_error(const char *program, int reason, struct status *status) {
    if (reason == ENOENT && !strchr(program, '/'))
        return status_fail(status, STATUS_USAGE, "'%s' was not found in PATH", program);
    if (reason == ENOENT)
        return status_fail(status, STATUS_USAGE, "'%s' or its interpreter does not exist", program);
    if (reason == EACCES)
        return status_fail(status, STATUS_USAGE,
                           "'%s' is not executable; chmod +x it if it is a program", program);
    errno = reason;
    return status_fail_errno(status, "cannot execute '%s'", program);
}

int target_exec_error(const char *program, int reason, struct status *status) {
    explain_exec_error(program, reason, status);
    return exec_exit_status(reason);
}

bool target_exec(struct target *target, const char *program, struct status *status) {
    int reason = 0;
    ssize_t got;
    target->started = clock_now();
    got = write(target->start_pipe, "", 1);
    close(target->start_pipe);
    do
        got = read(target->error_pipe, &reason, sizeof reason);
    while (got < 0 && errno == EINTR);
    close(target->error_pipe);
    if (got != sizeof reason)
        return true; /* closed by exec */
    reap(target);
    target_release(target);
    target->exec_status = exec_exit_status(reason);
    return explain_exec_error(program, reason, status);
}

int target_run_unrecorded(char *const *command, bool pipe_was_ignored, struct status *status) {
    if (pipe_was_ignored)
        signal(SIGPIPE, SIG_IGN);
#ifdef PR_SET_CHILD_SUBREAPER
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
#endif
    execvp(command[0], command);
    int reason = errno;
    return target_exec_error(command[0], reason, status);
}

static bool count_child(void *count, int64_t pid, struct status *status) {
    (void)pid, (void)status;
    ++*(unsigned *)count;
    return true;
}

/* The number of ridge's children. */
static unsigned count_children(void) {
    unsigned count = 0;
    struct status ignored;
    process_facts_children(getpid(), count_child, &count, &ignored);
    return count ? count : 1;
}

/* Reaps all ended children; false when none is left. */
static bool reap_all(struct target *target) {
    for (;;) {
        int wait_status;
        pid_t pid = waitpid(-1, &wait_status, WNOHANG);
        if (pid == 0)
            return true;
        if (pid < 0)
            return errno == EINTR;
        if (pid == target->pid) {
            target->wait_status = wait_status;
            target->ended = true;
            target->ended_at = clock_now();
            forward_to = 0;
            crash_unguard();
        }
    }
}

/* Whether the process that ridge is attached to has ended, or ridge is to stop. */
static bool attached_has_ended(struct target *target) {
    if (!target->ended && process_facts_has_ended(target->pid)) {
        target->ended = true;
        target->ended_at = clock_now();
    }
    target->stopped = stop_requested;
    return target->ended || target->stopped;
}

static bool has_ended(struct target *target) {
    return target->attached ? attached_has_ended(target) : !reap_all(target);
}

bool target_wait(struct target *target, unsigned milliseconds, unsigned *alive) {
    int64_t deadline = clock_now() + (int64_t)milliseconds * 1000000;
    for (;;) {
        if (has_ended(target)) {
            if (alive)
                *alive = 0;
            return true;
        }
        int64_t left = deadline - clock_now();
        if (left <= 0)
            break;
        struct timespec time = {left / 1000000000, left % 1000000000};
        pselect(0, NULL, NULL, NULL, &time, &target->wait_mask);
    }
    if (alive)
        *alive = count_children();
    return false;
}

int target_status(const struct target *target) {
    if (target->exec_status)
        return target->exec_status;
    if (WIFSIGNALED(target->wait_status))
        return 128 + WTERMSIG(target->wait_status);
    return WEXITSTATUS(target->wait_status);
}

/* The core dump of interest is the target's. */
static void disable_core_dump(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

_Noreturn void target_exit_alike(const struct target *target) {
    if (!target->exec_status && WIFSIGNALED(target->wait_status)) {
        int number = WTERMSIG(target->wait_status);
        sigset_t only;
        disable_core_dump();
        sigemptyset(&only);
        sigaddset(&only, number);
        signal(number, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
        raise(number);
    }
    exit(target_status(target));
}
