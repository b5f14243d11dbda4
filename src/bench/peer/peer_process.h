/* A helper process that is asked one line at a time and answers each with one: started, awaited for
 * so long and no longer, and never left behind.
 *
 * An answer is a line that begins with PEER_MARK. Whatever else it prints is rubbish from
 * libraries: the end of that is kept for the message, should the process fail.
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
    char line[PEER_LINE_SIZE]; /* what has come of the line it is printing */
    size_t line_length;
    bool too_long;                    /* more than an answer may have: the rest is not kept */
    size_t rubbish;                   /* bytes that were no answer since it was last asked */
    char stderr_tail[PEER_SAID_SIZE]; /* the end of the rubbish */
    size_t stderr_length;
    const volatile sig_atomic_t *stop; /* waiting ends soon after this is not 0; may be NULL */
};

/* `arguments` as for execvp(): the program first, NULL last; `program` must outlive the process. */
bool peer_process_start(struct peer_process *process, const char *const *arguments,
                        struct status *status);
/* Sends the request (a whole line; empty: nothing is sent) and gives the text behind the mark of
 * the answer, good until the next call. When it fails the process is no more, and the status says
 * how that came. */
bool peer_process_request(struct peer_process *process, struct text request, double seconds,
                          struct text *answer, struct status *status);
/* Tells it to end by closing the conversation, and makes it end if it does not. */
void peer_process_finish(struct peer_process *process);

#endif
