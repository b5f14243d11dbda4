/* schedstat has the exact times of the scheduler, stat divides the running time into user and
 * kernel mode, and syscall names the system call of a blocked thread and its arguments.
 */
#ifndef __APPLE__ /* there: process_facts_macos.c */
#include "record/thread_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first bytes of the file, zero-terminated; 0 when it cannot be read. */
static size_t read_file(int64_t pid, int64_t tid, const char *file, char *content,
                        size_t capacity) {
    char path[96];
    snprintf(path, sizeof path, "/proc/%lld/task/%lld/%s", (long long)pid, (long long)tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, content, capacity - 1) : 0;
    if (fd >= 0)
        close(fd);
    content[length > 0 ? length : 0] = 0;
    return length > 0 ? (size_t)length : 0;
}

/* The name, in parentheses, may contain anything. utime and stime are the fields 14 and 15. */
static void read_modes(const char *stat, struct thread_times *times) {
    const char *behind = strrchr(stat, ')');
    unsigned long long user, kernel;
    long ticks = sysconf(_SC_CLK_TCK);
    if (!behind || ticks <= 0 ||
        sscanf(behind + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user,
               &kernel) != 2)
        return;
    times->user = (int64_t)user * (1000000000 / ticks);
    times->kernel = (int64_t)kernel * (1000000000 / ticks);
}

bool thread_files_times(int64_t pid, int64_t tid, struct thread_times *times) {
    char content[1024];
    long long running, ready;
    *times = (struct thread_times){-1, -1, -1, -1};
    if (!read_file(pid, tid, "stat", content, sizeof content))
        return false;
    read_modes(content, times);
    if (read_file(pid, tid, "schedstat", content, sizeof content) &&
        sscanf(content, "%lld %lld", &running, &ready) == 2) {
        times->running = running;
        times->ready = ready;
    }
    return true;
}

/* What a file descriptor refers to. */
static enum blocked_on descriptor_kind(int64_t pid, unsigned long long descriptor) {
    char path[64], link[256];
    snprintf(path, sizeof path, "/proc/%lld/fd/%llu", (long long)pid, descriptor);
    ssize_t length = readlink(path, link, sizeof link - 1);
    struct text target = {link, length > 0 ? (size_t)length : 0};
    if (text_starts(target, "/dev/nvidia") || text_starts(target, "/dev/dri") ||
        text_starts(target, "/dev/kfd"))
        return BLOCKED_DEVICE;
    if (text_starts(target, "pipe:") || text_starts(target, "socket:") ||
        text_starts(target, "/dev/pts") || text_starts(target, "/dev/tty") ||
        text_starts(target, "anon_inode:"))
        return BLOCKED_PIPE;
    return text_starts(target, "/") ? BLOCKED_DISK : BLOCKED_UNKNOWN;
}

static bool uses_descriptor(struct text call) {
    static const char *const calls[] = {"read",  "write",   "readv",   "writev",
                                        "ioctl", "pread64", "pwrite64"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (text_is(call, calls[i]))
            return true;
    return false;
}

/* "NUMBER ARGUMENT…", "running", or "-1 SP PC" in a page fault. */
bool thread_files_block(int64_t pid, int64_t tid, struct blocking *blocking) {
    char content[256], *end;
    *blocking = (struct blocking){0};
    if (!read_file(pid, tid, "syscall", content, sizeof content))
        return false;
    errno = 0;
    long number = strtol(content, &end, 10);
    if (end == content || errno)
        return false;
    blocking->call = number < 0 ? TEXT("page fault") : blocking_call_name(number);
    if (uses_descriptor(blocking->call))
        blocking->on = descriptor_kind(pid, strtoull(end, NULL, 16));
    blocking->on = blocking_reason(blocking);
    return true;
}

bool thread_files_name(int64_t pid, int64_t tid, char *name, size_t capacity) {
    size_t length = read_file(pid, tid, "comm", name, capacity);
    name[strcspn(name, "\n")] = 0;
    return length > 0;
}
#endif
