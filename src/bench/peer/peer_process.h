/* A helper process with a line protocol: one request, one answer, with timeouts; it never
 * outlives ridge.
 *
 * An answer is a line that starts with PEER_MARK. Everything else is output of libraries: the
 * end of it is kept for the error message if the process fails.
 */
#ifndef RIDGE_BENCH_PEER_PEER_PROCESS_H
#define RIDGE_BENCH_PEER_PEER_PROCESS_H

#include <signal.h>
#include <sys/types.h>

#include "base/text.h"

#define PEER_MARK "ridge-peer "
enum { PEER_LINE_SIZE = 4096, PEER_SAID_SIZE = 512 };

struct peer_process {
    const char *program;
    pid_t id;                  /* 0: it has ended */
    int conversation;          /* a socket, its standard input and output */
    int complaints;            /* the reading end of its standard error */
    char line[PEER_LINE_SIZE]; /* the incomplete line received so far */
    size_t line_length;
    bool too_long;                    /* longer than an answer: the rest is dropped */
    size_t rubbish;                   /* bytes of unexpected output since the last request */
    char stderr_tail[PEER_SAID_SIZE]; /* the end of the rubbish */
    size_t stderr_length;
    const volatile sig_atomic_t *stop; /* waiting ends soon after this is not 0; may be NULL */
};

/* `arguments` as for execvp(): the program first, NULL last; `program` must outlive the process. */
bool peer_process_start(struct peer_process *process, const char *const *arguments,
                        struct status *status);
/* Sends the request (a whole line; empty: nothing is sent) and returns the text after the mark
 * of the answer, valid until the next call. On failure the process is gone, and the status has
 * the reason. */
bool peer_process_request(struct peer_process *process, struct text request, double seconds,
                          struct text *answer, struct status *status);
/* Closes the socket, which ends the process, and kills it if it does not exit. */
void peer_process_finish(struct peer_process *process);

#endif
