/* From /proc and system calls on Linux, from library functions on macOS. */
#include "base/process.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#ifdef __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#endif

#include "base/checksum.h"
#include "base/clock.h"

void process_host(char name[PROCESS_NAME_SIZE]) {
    if (gethostname(name, PROCESS_NAME_SIZE) != 0)
        name[0] = 0;
    name[PROCESS_NAME_SIZE - 1] = 0;
}

#if defined(__linux__)

void process_path(char path[PROCESS_PATH_SIZE]) {
    ssize_t length = readlink("/proc/self/exe", path, PROCESS_PATH_SIZE - 1);
    path[length > 0 ? length : 0] = 0;
}

void process_name(char name[PROCESS_NAME_SIZE]) {
    char path[PROCESS_PATH_SIZE];
    process_path(path);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t kept = strnlen(base, PROCESS_NAME_SIZE - 1);
    memcpy(name, base, kept);
    name[kept] = 0;
}

void process_command(struct buffer *command) {
    char words[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, words, sizeof words) : 0;
    if (fd >= 0)
        close(fd);
    while (length > 0 && words[length - 1] == 0)
        length--;
    for (ssize_t i = 0; i < length; i++)
        buffer_byte(command, words[i] ? words[i] : ' ');
}

int64_t process_thread_id(void) {
    return syscall(SYS_gettid);
}

void process_thread_name(char name[PROCESS_NAME_SIZE]) {
    name[0] = 0;
    prctl(PR_GET_NAME, name); /* writes 16 bytes */
}

#else

/* dyld's path may be a symbolic link. */
void process_path(char path[PROCESS_PATH_SIZE]) {
    path[0] = 0;
#ifdef __APPLE__
    char given[PROCESS_PATH_SIZE], real[PATH_MAX];
    uint32_t size = sizeof given;
    if (_NSGetExecutablePath(given, &size) == 0 && realpath(given, real))
        memcpy(path, real, strlen(real) + 1);
#endif
}

void process_name(char name[PROCESS_NAME_SIZE]) {
    const char *program = "";
#ifdef __APPLE__
    program = getprogname();
#endif
    size_t kept = strnlen(program, PROCESS_NAME_SIZE - 1);
    memcpy(name, program, kept);
    name[kept] = 0;
}

void process_command(struct buffer *command) {
#ifdef __APPLE__
    char **arguments = *_NSGetArgv();
    for (int i = 0; i < *_NSGetArgc() && arguments[i]; i++)
        buffer_printf(command, "%s%s", i ? " " : "", arguments[i]);
#else
    (void)command;
#endif
}

int64_t process_thread_id(void) {
    uint64_t id = 0;
#ifdef __APPLE__
    pthread_threadid_np(NULL, &id);
#endif
    return (int64_t)id;
}

void process_thread_name(char name[PROCESS_NAME_SIZE]) {
    name[0] = 0;
#ifdef __APPLE__
    pthread_getname_np(pthread_self(), name, PROCESS_NAME_SIZE);
#endif
}

#endif

uint64_t process_session(void) {
    int64_t parts[3] = {clock_read(CLOCK_REALTIME), clock_now(), (int64_t)getpid()};
    return checksum64(parts, sizeof parts);
}

/* The wall clock is read between two readings of the monotonic clock, so that they match. */
int64_t process_clock_offset(void) {
    int64_t before = clock_now(), wall = clock_read(CLOCK_REALTIME), after = clock_now();
    return wall - (before + (after - before) / 2);
}
