/* Passes a command from the recorder to the process that xctrace launched. */
#ifndef RIDGE_RECORD_XCTRACE_LAUNCH_H
#define RIDGE_RECORD_XCTRACE_LAUNCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct launch {
    char *const *command, *const *environment; /* terminated by NULL */
    const char *const *variables;              /* NAME=VALUE on top of the environment; or NULL */
    bool ignores_pipe;                         /* SIGPIPE */
};

/* A listening socket at `path`, or -1. */
int launch_listen(const char *path, struct status *status);
/* The connection of the launched process, which then waits; -1 if it fails. */
int launch_accept(int listener, pid_t *pid, struct status *status);
/* Sends the command, the streams of this process and its folder. Returns true when the launched
 * process has become the program, or with *reason, an errno, when it could not. */
bool launch_send(int fd, const struct launch *launch, int *reason, struct status *status);
/* The other end, see xctrace_record.h. */
int xctrace_launch(const char *path, struct status *status);

#endif
