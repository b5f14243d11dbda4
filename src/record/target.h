/* The recorded program: started as it would be alone, followed with all that it starts, and its end
 * passed on.
 *
 * Its standard streams, its terminal, its signals and its exit status are its own. Ctrl-C reaches
 * it from the terminal as ever; ridge itself waits for it to end. SIGINT, SIGTERM, SIGHUP, SIGQUIT,
 * SIGUSR1 and SIGUSR2 that someone sends to ridge alone are passed on. One at a time: signals
 * belong to the whole process.
 */
#ifndef RIDGE_RECORD_TARGET_H
#define RIDGE_RECORD_TARGET_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct target_variable {
    const char *name, *value;
    bool append; /* to a value that is there, with ':' between (PYTHONPATH-like lists) */
};

enum { TARGET_SIGNALS = 9 };

struct target {
    pid_t pid;
    int64_t started; /* CLOCK_MONOTONIC */
    bool ended;      /* the program itself; what it started may live on */
    int64_t ended_at;
    int wait_status;                /* as waitpid() tells it, once it has ended */
    bool pipe_was_ignored;          /* set by the caller: SIGPIPE as ridge found it */
    int start_pipe;                 /* private: the child waits for a byte here before exec */
    int error_pipe;                 /* private: why exec failed, or nothing */
    int exec_status;                /* 126 or 127 when the program could not be executed */
    sigset_t saved_mask, wait_mask; /* private: as it was, and while waiting */
    struct sigaction saved_actions[TARGET_SIGNALS]; /* private */
};

/* Forks; the child waits until target_go(), so that what watches it can be set up first. Signals
 * are the target's from here on until target_release(). */
bool target_start(struct target *target, char *const *command,
                  const struct target_variable *variables, unsigned variable_count,
                  struct status *status);
/* Lets it exec; `program` is for the message. Fails, with the reason, when the program cannot be
 * executed. */
bool target_exec(struct target *target, const char *program, struct status *status);
/* For one that was started and is not to go. */
void target_cancel(struct target *target);
/* Replaces this process by the program. For when recording is impossible: needs no descriptor, no
 * memory and no process. Returns only if the program cannot be executed: 126 or 127, with the
 * reason in the status. */
int target_run_unrecorded(char *const *command, bool pipe_was_ignored, struct status *status);
/* Waits up to `milliseconds` for the program and everything it started; true when all have ended.
 * `alive` (may be NULL) says how many of its processes are left: those that are ridge's own
 * children by now, as the orphans among its descendants become. */
bool target_wait(struct target *target, unsigned milliseconds, unsigned *alive);
/* Signals mean what they did before. */
void target_release(struct target *target);
/* What the shell would say: 0..255, 128 + n for signal n. */
int target_status(const struct target *target);
/* To end ridge as the target ended: the same signal if it died of one. Does not return. */
_Noreturn void target_exit_alike(const struct target *target);

#endif
