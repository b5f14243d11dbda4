/* Both ends of `ridge launch`: the recorder sends the program's streams, folder, environment and
 * arguments over a socket, and the process that xctrace launched becomes the program.
 *
 * The launched process sends its pid first and waits, so that the recorder can open its file. What
 * it gets is one message of descriptors and one of NUL-terminated texts. Its socket is closed by
 * exec(); before that it carries the errno of a failed exec().
 */
#include "record/xctrace_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

enum { STREAMS = 3, MESSAGE_BYTES_MAX = 16 << 20 };

/* The fixed part of the message; `bytes` of texts follow: the folder, then the variables, then the
 * arguments. */
struct launch_head {
    uint32_t bytes, variables, arguments;
    uint32_t ignores_pipe;
};

union descriptors { /* aligned as a control message must be */
    struct cmsghdr header;
    char space[CMSG_SPACE(STREAMS * sizeof(int))];
};

static bool socket_address(const char *path, struct sockaddr_un *address, struct status *status) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return status_fail(status, STATUS_UNSUPPORTED,
                           "the path of the socket %s is too long; set TMPDIR to a shorter one",
                           path);
    strcpy(address->sun_path, path);
    return true;
}

static int new_socket(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static bool send_all(int fd, const void *data, size_t length) {
    const char *at = data;
    while (length > 0) {
        ssize_t sent = send(fd, at, length, 0);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *data, size_t length) {
    char *at = data;
    while (length > 0) {
        ssize_t got = recv(fd, at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

/* ---- the recorder ---- */

int launch_listen(const char *path, struct status *status) {
    struct sockaddr_un address;
    if (!socket_address(path, &address, status))
        return -1;
    int fd = new_socket();
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0)
        return fd;
    status_fail_errno(status, "cannot create the socket %s", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

int launch_accept(int listener, pid_t *pid, struct status *status) {
    int64_t number;
    int fd = accept(listener, NULL, NULL);
    if (fd < 0) {
        status_fail_errno(status, "cannot reach the launched process");
        return -1;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (receive_all(fd, &number, sizeof number)) {
        *pid = (pid_t)number;
        return fd;
    }
    status_fail(status, STATUS_IO, "the launched process ended at once");
    close(fd);
    return -1;
}

static bool send_streams(int fd, const struct launch_head *head) {
    union descriptors control = {0};
    struct iovec part = {(void *)head, sizeof *head};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int streams[STREAMS] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof streams);
    memcpy(CMSG_DATA(header), streams, sizeof streams);
    ssize_t sent;
    do
        sent = sendmsg(fd, &message, 0);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *head;
}

static uint32_t add_texts(struct buffer *texts, char *const *list) {
    uint32_t count = 0;
    for (; list && list[count]; count++)
        buffer_append(texts, list[count], strlen(list[count]) + 1);
    return count;
}

bool launch_send(int fd, const struct launch *launch, int *reason, struct status *status) {
    struct buffer texts = {0};
    struct launch_head head = {.ignores_pipe = launch->ignores_pipe};
    char folder[4096];
    if (!getcwd(folder, sizeof folder))
        return status_fail_errno(status, "cannot read the current folder");
    buffer_append(&texts, folder, strlen(folder) + 1);
    head.variables = add_texts(&texts, launch->environment);
    head.variables += add_texts(&texts, (char *const *)launch->variables);
    head.arguments = add_texts(&texts, launch->command);
    head.bytes = (uint32_t)texts.length;
    bool ok = buffer_ok(&texts, status);
    if (ok && (texts.length > MESSAGE_BYTES_MAX || !send_streams(fd, &head) ||
               !send_all(fd, texts.data, texts.length)))
        ok = status_fail(status, STATUS_IO, "cannot pass the command to the launched process");
    buffer_finish(&texts);
    *reason = 0;
    if (ok && !receive_all(fd, reason, sizeof *reason))
        *reason = 0; /* closed by exec() */
    return ok;
}

/* ---- the launched process ---- */

static bool receive_streams(int fd, struct launch_head *head) {
    union descriptors control = {0};
    struct iovec part = {head, sizeof *head};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *header = got == (ssize_t)sizeof *head ? CMSG_FIRSTHDR(&message) : NULL;
    int streams[STREAMS];
    if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof streams))
        return false;
    memcpy(streams, CMSG_DATA(header), sizeof streams);
    for (int i = 0; i < STREAMS; i++) {
        if (dup2(streams[i], i) < 0)
            return false;
        close(streams[i]);
    }
    return head->bytes > 0 && head->bytes <= MESSAGE_BYTES_MAX && head->arguments > 0 &&
           head->arguments <= head->bytes && head->variables <= head->bytes;
}

/* The next text, or NULL at the end. */
static char *take(char **at, const char *end) {
    char *text = *at;
    char *zero = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    *at = zero ? zero + 1 : (char *)end;
    return zero ? text : NULL;
}

/* Instruments inserts libraries of its own, which stay. */
static void set_variable(char *variable) {
    static const char inserted[] = "DYLD_INSERT_LIBRARIES";
    char *equal = strchr(variable, '=');
    const char *there = getenv(inserted);
    if (!equal)
        return;
    *equal = 0;
    if (strcmp(variable, inserted) == 0 && there && *there) {
        char joined[8192];
        snprintf(joined, sizeof joined, "%s:%s", there, equal + 1);
        setenv(inserted, joined, 1);
    } else {
        setenv(variable, equal + 1, 1);
    }
}

static bool apply(char *texts, const struct launch_head *head, char **arguments) {
    char *at = texts, *end = texts + head->bytes, *folder = take(&at, end);
    if (!folder || chdir(folder) != 0)
        return false;
    for (uint32_t i = 0; i < head->variables; i++) {
        char *variable = take(&at, end);
        if (!variable)
            return false;
        set_variable(variable);
    }
    for (uint32_t i = 0; i < head->arguments; i++)
        if (!(arguments[i] = take(&at, end)))
            return false;
    return true;
}

static int become_program(int fd, struct status *status) {
    struct launch_head head;
    enum { NOT_STARTED = 127 };
    if (!receive_streams(fd, &head)) {
        status_fail(status, STATUS_IO, "the recorder did not name a program");
        return NOT_STARTED;
    }
    char *texts = memory_allocate(head.bytes, 1, status);
    char **arguments = memory_allocate((size_t)head.arguments + 1, sizeof *arguments, status);
    if (!texts || !arguments)
        return NOT_STARTED;
    if (!receive_all(fd, texts, head.bytes) || !apply(texts, &head, arguments)) {
        status_fail(status, STATUS_IO, "the recorder's message is incomplete");
        return NOT_STARTED;
    }
    if (head.ignores_pipe)
        signal(SIGPIPE, SIG_IGN);
    execvp(arguments[0], arguments);
    int reason = errno;
    send_all(fd, &reason, sizeof reason);
    return NOT_STARTED;
}

int xctrace_launch(const char *path, struct status *status) {
    struct sockaddr_un address;
    int64_t pid = (int64_t)getpid();
    if (!socket_address(path, &address, status))
        return 127;
    int fd = new_socket();
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        !send_all(fd, &pid, sizeof pid)) {
        status_fail_errno(status, "cannot reach the recorder at %s", path);
        return 127;
    }
    return become_program(fd, status);
}
