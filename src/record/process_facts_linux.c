/* Reads /proc. Linux lists the children of each thread. Without /proc nothing is known. */
#ifndef __APPLE__
#include "record/process_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHILDREN_SIZE = 4096 }; /* of a children list, read in pieces */

/* The first bytes of /proc/PID/FILE, zero-terminated. Returns 0 when the process has ended. */
static size_t read_file(int64_t pid, const char *file, char *content, size_t capacity) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, content, capacity - 1) : 0;
    if (fd >= 0)
        close(fd);
    content[length > 0 ? length : 0] = 0;
    return length > 0 ? (size_t)length : 0;
}

size_t process_facts_name(int64_t pid, char *name, size_t capacity) {
    size_t length = read_file(pid, "comm", name, capacity);
    if (length > 0 && name[length - 1] == '\n')
        name[--length] = 0;
    return length;
}

int64_t process_facts_resident(int64_t pid) {
    char content[128];
    long long pages;
    if (!read_file(pid, "statm", content, sizeof content) ||
        sscanf(content, "%*s %lld", &pages) != 1 || pages < 0)
        return 0;
    return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

size_t process_facts_command(int64_t pid, char *words, size_t capacity) {
    size_t length = read_file(pid, "cmdline", words, capacity);
    return length ? length : process_facts_name(pid, words, capacity);
}

struct job_place process_facts_place(int64_t pid) {
    static char variables[1 << 18]; /* a longer environment is cut */
    char path[64];
    size_t length = 0;
    snprintf(path, sizeof path, "/proc/%lld/environ", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && length < sizeof variables &&
                      (got = read(fd, variables + length, sizeof variables - length)) > 0;)
        length += (size_t)got;
    if (fd >= 0)
        close(fd);
    return job_place_read(variables, length);
}

/* A zombie, which its parent has not reaped, still takes signals. */
bool process_facts_has_ended(int64_t pid) {
    char content[512];
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    read_file(pid, "stat", content, sizeof content);
    const char *state = strrchr(content, ')');
    return state && (state[2] == 'Z' || state[2] == 'X');
}

bool process_facts_is_orphan(int64_t pid, int64_t started) {
    (void)pid, (void)started;
    return false;
}

int64_t process_facts_started(int64_t pid) {
    (void)pid;
    return 0;
}

/* A pid may be split between two reads. */
static bool visit_list(const char *path, process_facts_visit *visit, void *context,
                       struct status *status) {
    char content[CHILDREN_SIZE];
    size_t kept = 0;
    bool ok = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    for (ssize_t got; ok && (got = read(fd, content + kept, sizeof content - 1 - kept)) > 0;) {
        char *at = content, *end;
        content[kept + (size_t)got] = 0;
        while ((end = strchr(at, ' ')) && ok) {
            int64_t pid = strtoll(at, NULL, 10);
            ok = pid <= 0 || visit(context, pid, status);
            at = end + 1;
        }
        kept = strlen(at);
        if (kept >= sizeof content / 2)
            break;
        memmove(content, at, kept);
    }
    close(fd);
    return ok;
}

struct children {
    int64_t pid;
    process_facts_visit *visit;
    void *context;
};

static bool visit_thread_children(void *context, int64_t tid, struct status *status) {
    const struct children *children = context;
    char path[96];
    snprintf(path, sizeof path, "/proc/%lld/task/%lld/children", (long long)children->pid,
             (long long)tid);
    return visit_list(path, children->visit, children->context, status);
}

bool process_facts_children(int64_t pid, process_facts_visit *visit, void *context,
                            struct status *status) {
    return process_facts_threads(pid, visit_thread_children,
                                 &(struct children){pid, visit, context}, status);
}

bool process_facts_threads(int64_t pid, process_facts_visit *visit, void *context,
                           struct status *status) {
    char path[64];
    bool ok = true;
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && ok && (entry = readdir(threads));) {
        int64_t tid = strtoll(entry->d_name, NULL, 10);
        ok = tid <= 0 || visit(context, tid, status);
    }
    if (threads)
        closedir(threads);
    return ok;
}
#endif
