/* The recorded program: starts it, waits for it and its descendants, and exits as it did.
 *
 * The program keeps its standard streams, terminal, signals and exit status. Ctrl-C reaches it from
 * the terminal, and ridge waits for it to end. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and
 * SIGUSR2 that are sent to ridge are forwarded. Only one target at a time, because signal handlers
 * are per process.
 */
#ifndef RIDGE_RECORD_TARGET_H
#define RIDGE_RECORD_TARGET_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct target_variable {
    const char *name, *value;
    bool append; /* to an existing value, separated by ':' */
};

enum { TARGET_SIGNALS = 9 };

struct target {
    pid_t pid;
    int64_t started; /* CLOCK_MONOTONIC */
    bool ended;      /* the program itself; its descendants may still run */
    int64_t ended_at;
    int wait_status;                /* of waitpid() */
    bool stopped;                   /* attached: a signal ended the recording */
    bool attached;                  /* it ran before; ridge is not its parent */
    bool pipe_was_ignored;          /* set by the caller: SIGPIPE was ignored when ridge started */
    int start_pipe;                 /* private: the child waits for a byte before exec */
    int error_pipe;                 /* private: the errno of a failed exec */
    int exec_status;                /* 126 or 127 when exec failed */
    sigset_t saved_mask, wait_mask; /* private */
    struct sigaction saved_actions[TARGET_SIGNALS]; /* private */
};

/* Forks. The child waits for target_exec(), so that recording can be set up first. Signals are
 * forwarded from here on until target_release(). */
bool target_start(struct target *target, char *const *command,
                  const struct target_variable *variables, unsigned variable_count,
                  struct status *status);
/* Takes a process that runs already. target_wait() then returns true when it has ended, or when
 * ridge gets SIGINT, SIGTERM, SIGHUP or SIGQUIT. */
bool target_attach(struct target *target, pid_t pid, struct status *status);
/* Takes a child that another program started in this process; signals are forwarded to it. */
void target_adopt(struct target *target, pid_t pid);
/* Lets the child exec; `program` is for the error message. */
bool target_exec(struct target *target, const char *program, struct status *status);
/* Describes why exec() failed; returns the exit status of a shell, 126 or 127. */
int target_exec_error(const char *program, int reason, struct status *status);
/* Ends a child that was started and is not to exec. */
void target_cancel(struct target *target);
/* Replaces this process by the program, when recording is impossible. Needs no descriptor, memory
 * or process. Returns 126 or 127 if exec fails, with the reason in the status. */
int target_run_unrecorded(char *const *command, bool pipe_was_ignored, struct status *status);
/* Waits up to `milliseconds` for the program and its descendants; true when all have ended. `alive`
 * (may be NULL) is the number of processes left, as far as they are ridge's children. */
bool target_wait(struct target *target, unsigned milliseconds, unsigned *alive);
/* Restores the signal handlers. */
void target_release(struct target *target);
/* The exit status as a shell reports it: 128 + n for signal n. */
int target_status(const struct target *target);
/* Exits as the target did, by the same signal if one killed it. */
_Noreturn void target_exit_alike(const struct target *target);

#endif
