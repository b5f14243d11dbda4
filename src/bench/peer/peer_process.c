/* Uses a socket, because a write to a socket can suppress SIGPIPE, which ridge needs for its own
 * output. The process gets end of file when ridge exits for any reason. */
#include "bench/peer/peer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/measure.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE does it there */
#endif

extern char **environ;

enum {
    RUBBISH_MAX_BYTES = 4 << 20, /* for one question */
    LOOK_UP_MS = 200,            /* how often a waiting ridge looks whether it should stop */
    LAST_WORDS_SIZE = 240,
};
#define FAREWELL_NS 500e6 /* time to end by itself */

static bool prepare_descriptor(int fd, bool nonblocking) {
    int flags = fcntl(fd, F_GETFL);
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
           (!nonblocking || (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0));
}

static void close_pair(int pair[2]) {
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static int spawn(const char *const *arguments, int conversation, int complaints, pid_t *id) {
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    if (!(error = posix_spawn_file_actions_adddup2(&actions, conversation, 0)) &&
        !(error = posix_spawn_file_actions_adddup2(&actions, conversation, 1)) &&
        !(error = posix_spawn_file_actions_adddup2(&actions, complaints, 2)))
        error = posix_spawnp(id, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool peer_process_start(struct peer_process *process, const char *const *arguments,
                        struct status *status) {
    int conversation[2] = {-1, -1}, complaints[2] = {-1, -1};
    *process = (struct peer_process){.program = arguments[0], .conversation = -1, .complaints = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, conversation) != 0 || pipe(complaints) != 0 ||
        !prepare_descriptor(conversation[0], true) || !prepare_descriptor(conversation[1], false) ||
        !prepare_descriptor(complaints[0], true) || !prepare_descriptor(complaints[1], false)) {
        status_fail_errno(status, "cannot communicate with %s", arguments[0]);
        goto failed;
    }
#ifdef SO_NOSIGPIPE
    setsockopt(conversation[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    if ((errno = spawn(arguments, conversation[1], complaints[1], &process->id)) != 0) {
        process->id = 0;
        status_fail_errno(status, "cannot start %s", arguments[0]);
        goto failed;
    }
    close(conversation[1]);
    close(complaints[1]);
    process->conversation = conversation[0];
    process->complaints = complaints[0];
    return true;
failed:
    close_pair(conversation);
    close_pair(complaints);
    return false;
}

static void pause_a_little(void) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* Waits for the process; kills it after `patience_ns`. *how is the status of waitpid(). */
static void peer_process_collect(struct peer_process *process, double patience_ns, int *how) {
    double until = measure_clock() + patience_ns;
    bool forced = false;
    *how = 0;
    while (process->id > 0) {
        pid_t ended = waitpid(process->id, how, forced ? 0 : WNOHANG);
        if (ended == process->id || (ended < 0 && errno != EINTR))
            process->id = 0;
        else if (!forced && measure_clock() >= until)
            forced = kill(process->id, SIGKILL) == 0;
        else if (!forced)
            pause_a_little();
    }
}

static void close_descriptors(struct peer_process *process) {
    if (process->conversation >= 0)
        close(process->conversation);
    if (process->complaints >= 0)
        close(process->complaints);
    process->conversation = process->complaints = -1;
}

void peer_process_finish(struct peer_process *process) {
    int how;
    close_descriptors(process);
    peer_process_collect(process, FAREWELL_NS, &how);
}

/* ---- What it prints --------------------------------------------------------------------- */

static void keep_stderr(struct peer_process *process, const char *data, size_t length) {
    if (length > PEER_SAID_SIZE) {
        data += length - PEER_SAID_SIZE;
        length = PEER_SAID_SIZE;
    }
    size_t kept = PEER_SAID_SIZE - length;
    if (process->stderr_length > kept) {
        memmove(process->stderr_tail, process->stderr_tail + process->stderr_length - kept, kept);
        process->stderr_length = kept;
    }
    memcpy(process->stderr_tail + process->stderr_length, data, length);
    process->stderr_length += length;
}

static void keep_unexpected(struct peer_process *process, const char *data, size_t length) {
    keep_stderr(process, data, length);
    process->rubbish += length;
}

/* Others' text, made fit for a terminal: no control characters, valid UTF-8. */
static void make_printable(char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    for (size_t at = 0; at < length; at++) {
        at += text_utf8_valid((struct text){text + at, length - at});
        if (at < length)
            text[at] = '?';
    }
}

/* The last line of the rubbish that is not empty, as ": ..."; or "". */
static const char *last_stderr(struct peer_process *process, char words[LAST_WORDS_SIZE]) {
    size_t end = process->stderr_length;
    while (end > 0 && (unsigned char)process->stderr_tail[end - 1] <= ' ')
        end--;
    size_t start = end;
    while (start > 0 && process->stderr_tail[start - 1] != '\n')
        start--;
    if (start == end)
        return "";
    make_printable(process->stderr_tail + start, end - start);
    snprintf(words, LAST_WORDS_SIZE, ": %.*s", (int)(end - start), process->stderr_tail + start);
    make_printable(words, strlen(words)); /* a character may have been cut */
    return words;
}

/* Reads its standard error into the unexpected output. */
static void read_stderr(struct peer_process *process) {
    char part[4096];
    while (process->complaints >= 0 && process->rubbish <= RUBBISH_MAX_BYTES) {
        ssize_t length = read(process->complaints, part, sizeof part);
        if (length > 0) {
            keep_unexpected(process, part, (size_t)length);
        } else if (length == 0) {
            close(process->complaints);
            process->complaints = -1;
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* Whether the received line is an answer. Otherwise it is unexpected output, and the next line
 * starts. */
static bool line_is_answer(struct peer_process *process) {
    struct text line = {process->line, process->line_length};
    bool answers = !process->too_long && text_starts(line, PEER_MARK);
    if (!answers) {
        keep_unexpected(process, line.data, line.length);
        keep_unexpected(process, "\n", 1);
        process->line_length = 0;
    }
    process->too_long = false;
    return answers;
}

static void extend_line(struct peer_process *process, const char *data, size_t length) {
    if (process->too_long || length > PEER_LINE_SIZE - process->line_length) {
        process->too_long = true;
        process->rubbish += length;
        return;
    }
    memcpy(process->line + process->line_length, data, length);
    process->line_length += length;
}

/* Reads up to the end of an answer; bytes received after it are unexpected output. */
static bool take_bytes(struct peer_process *process, const char *data, size_t length) {
    while (length > 0) {
        const char *end = memchr(data, '\n', length);
        size_t part = end ? (size_t)(end - data) : length;
        extend_line(process, data, part);
        if (!end)
            return false;
        data += part + 1;
        length -= part + 1;
        if (line_is_answer(process)) {
            keep_unexpected(process, data, length);
            return true;
        }
    }
    return false;
}

/* ---- Asking ----------------------------------------------------------------------------- */

enum outcome { OUTCOME_ANSWERED, OUTCOME_WAIT, OUTCOME_ENDED };

static enum outcome read_answer(struct peer_process *process) {
    char part[4096];
    ssize_t length = read(process->conversation, part, sizeof part);
    if (length > 0)
        return take_bytes(process, part, (size_t)length) ? OUTCOME_ANSWERED : OUTCOME_WAIT;
    return length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
               ? OUTCOME_WAIT
               : OUTCOME_ENDED;
}

static enum outcome send_request(struct peer_process *process, struct text *request) {
    ssize_t sent = send(process->conversation, request->data, request->length, MSG_NOSIGNAL);
    if (sent >= 0) {
        request->data += sent;
        request->length -= (size_t)sent;
        return OUTCOME_WAIT;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? OUTCOME_WAIT : OUTCOME_ENDED;
}

/* Waits until there is something to read or, while a request is pending, until it can write. */
static enum outcome converse(struct peer_process *process, struct text *request, double left_ns) {
    struct pollfd ends[2] = {
        {.fd = process->conversation, .events = POLLIN},
        {.fd = process->complaints, .events = POLLIN}, /* -1 is passed over */
    };
    int wait_ms = left_ns > LOOK_UP_MS * 1e6 ? LOOK_UP_MS : (int)(left_ns / 1e6) + 1;
    if (request->length > 0)
        ends[0].events |= POLLOUT;
    if (poll(ends, 2, wait_ms) <= 0)
        return OUTCOME_WAIT;
    if (ends[1].revents)
        read_stderr(process);
    if (ends[0].revents & (POLLIN | POLLHUP | POLLERR))
        return read_answer(process);
    return ends[0].revents & POLLOUT ? send_request(process, request) : OUTCOME_WAIT;
}

/* Gives up on the process: terminates it if necessary, and puts the end of its output into the
 * status. */
static bool give_up(struct peer_process *process, double patience_ns, struct status *status,
                    const char *why) {
    char words[LAST_WORDS_SIZE], how_it_ended[80] = "";
    int how;
    peer_process_collect(process, patience_ns, &how);
    read_stderr(process);
    close_descriptors(process);
    if (!why) {
        if (WIFSIGNALED(how))
            snprintf(how_it_ended, sizeof how_it_ended, "was terminated by signal %d",
                     WTERMSIG(how));
        else
            snprintf(how_it_ended, sizeof how_it_ended, "ended with status %d before it answered",
                     WEXITSTATUS(how));
        why = how_it_ended;
    }
    return status_fail(status, STATUS_IO, "%s %s%s", process->program, why,
                       last_stderr(process, words));
}

bool peer_process_request(struct peer_process *process, struct text request, double seconds,
                          struct text *answer, struct status *status) {
    double until = measure_clock() + seconds * 1e9, left;
    enum outcome outcome = OUTCOME_WAIT;
    char why[80];
    if (process->id == 0)
        return status_fail(status, STATUS_IO, "%s has ended", process->program);
    process->line_length = 0;
    process->too_long = false;
    process->rubbish = 0;
    while (outcome == OUTCOME_WAIT) {
        if (process->stop && *process->stop)
            return give_up(process, 0, status, "was stopped");
        if (process->rubbish > RUBBISH_MAX_BYTES)
            return give_up(process, 0, status, "prints endlessly and never answers");
        if ((left = until - measure_clock()) <= 0) {
            snprintf(why, sizeof why, "gave no answer within %.3g s and was terminated", seconds);
            return give_up(process, 0, status, why);
        }
        outcome = converse(process, &request, left);
    }
    if (outcome == OUTCOME_ENDED)
        return give_up(process, FAREWELL_NS, status, NULL);
    make_printable(process->line, process->line_length);
    *answer =
        (struct text){process->line + strlen(PEER_MARK), process->line_length - strlen(PEER_MARK)};
    return true;
}
