/* Loads the probe into a running process and starts a session of it there. */
#ifndef RIDGE_RECORD_INJECT_H
#define RIDGE_RECORD_INJECT_H

#include <sys/types.h>

#include "base/status.h"

struct injection {
    pid_t pid;
    const char *library;        /* path of the probe */
    const char *folder, *words; /* the spool and the options of the session */
};

/* Whether the process has loaded the CUDA driver. */
bool inject_finds_cuda(pid_t pid);
/* On failure the process continues as if nothing had happened, and the status says why. */
bool inject_probe(const struct injection *injection, struct status *status);

#endif
