/* A library for LD_PRELOAD that makes one call of a program fail.
 *
 *   FAULT=KIND:N     the Nth call of that kind fails; later ones succeed again
 *   FAULT=leak       24 bytes are never freed, to see that a leak is noticed
 *   FAULT_COUNTS=FD  at exit, writes "KIND CALLS" for each kind to that descriptor
 *
 * Kinds: memory (ENOMEM), read (EIO), write (ENOSPC), map (ENOMEM), open (EMFILE) fail.
 * shortread and shortwrite transfer one byte, end gives the end of file: the program must
 * cope with the first two and report the third. The program sees one core, so that calls come in
 * the same order in each run. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { MEMORY, READ, WRITE, MAP, OPEN, SHORT_READ, SHORT_WRITE, END, KINDS };
static const char *const names[KINDS] = {"memory", "read",      "write",      "map",
                                         "open",   "shortread", "shortwrite", "end"};
static _Atomic uint64_t calls[KINDS];
static uint64_t failing[KINDS]; /* 0: none */
static bool active;
static int counts_fd = -1;

static __attribute__((noinline)) void leak(void) {
    void *volatile lost = malloc(24);
    lost = NULL;
    (void)lost;
}

static bool fails(enum kind kind) {
    return active && atomic_fetch_add(&calls[kind], 1) + 1 == failing[kind];
}

/* The definition that this one hides. */
#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static __typeof__(malloc) *next_malloc;
static __typeof__(calloc) *next_calloc;
static __typeof__(realloc) *next_realloc;
static __typeof__(free) *next_free;

__attribute__((constructor)) static void start(void) {
    const char *fault = getenv("FAULT"), *counts = getenv("FAULT_COUNTS");
    for (int kind = 0; fault && kind < KINDS; kind++) {
        size_t length = strlen(names[kind]);
        if (strncmp(fault, names[kind], length) == 0 && fault[length] == ':')
            failing[kind] = strtoull(fault + length + 1, NULL, 10);
    }
    if (counts)
        counts_fd = atoi(counts);
    if (fault && strcmp(fault, "leak") == 0)
        leak();
    unsetenv("LD_PRELOAD"); /* not in programs that the program starts */
    active = true;
}

__attribute__((destructor)) static void finish(void) {
    active = false;
    for (int kind = 0; counts_fd >= 0 && kind < KINDS; kind++)
        dprintf(counts_fd, "%s %llu\n", names[kind], (unsigned long long)calls[kind]);
}

/* dlsym() may allocate before the next definitions are known. */
static char early[4096];
static size_t early_used;
static bool looking_up;

static void *allocate_early(size_t bytes) {
    void *pointer = early + early_used;
    early_used += (bytes + 15) & ~(size_t)15;
    if (early_used > sizeof early)
        abort();
    return pointer;
}

static bool is_early(const void *pointer) {
    return (const char *)pointer >= early && (const char *)pointer < early + sizeof early;
}

static bool look_up_memory(void) {
    if (looking_up)
        return false;
    if (next_free)
        return true;
    looking_up = true;
    next_malloc = dlsym(RTLD_NEXT, "malloc");
    next_calloc = dlsym(RTLD_NEXT, "calloc");
    next_realloc = dlsym(RTLD_NEXT, "realloc");
    next_free = dlsym(RTLD_NEXT, "free");
    looking_up = false;
    return true;
}

static bool out_of_memory(void) {
    if (!fails(MEMORY))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes) {
    if (!look_up_memory())
        return allocate_early(bytes);
    return out_of_memory() ? NULL : next_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    if (!look_up_memory())
        return allocate_early(count * bytes);
    return out_of_memory() ? NULL : next_calloc(count, bytes);
}

void *realloc(void *pointer, size_t bytes) {
    if (!look_up_memory() || is_early(pointer))
        abort();
    return out_of_memory() ? NULL : next_realloc(pointer, bytes);
}

int posix_memalign(void **pointer, size_t alignment, size_t bytes) {
    return fails(MEMORY) ? ENOMEM : NEXT(posix_memalign)(pointer, alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return out_of_memory() ? NULL : NEXT(aligned_alloc)(alignment, bytes);
}

void free(void *pointer) {
    if (pointer && !is_early(pointer) && look_up_memory())
        next_free(pointer);
}

/* The length to read, 0 at the end of file, -1 on failure. */
static ssize_t length_to_read(size_t length) {
    bool read_fails = fails(READ), is_short = fails(SHORT_READ), ends = fails(END);
    if (read_fails) {
        errno = EIO;
        return -1;
    }
    return ends ? 0 : is_short && length > 1 ? 1 : (ssize_t)length;
}

static ssize_t length_to_write(int fd, size_t length) {
    if (fd == counts_fd || fd == STDERR_FILENO) /* the message is what is tested */
        return (ssize_t)length;
    bool write_fails = fails(WRITE), is_short = fails(SHORT_WRITE);
    if (write_fails) {
        errno = ENOSPC;
        return -1;
    }
    return is_short && length > 1 ? 1 : (ssize_t)length;
}

#define TRANSFER(name, data, allowed, ...)                                                         \
    ssize_t length_ = allowed;                                                                     \
    return length_ <= 0 && length > 0 ? length_ : NEXT(name)(fd, data, (size_t)length_, __VA_ARGS__)

ssize_t read(int fd, void *data, size_t length) {
    ssize_t allowed = length_to_read(length);
    return allowed <= 0 && length > 0 ? allowed : NEXT(read)(fd, data, (size_t)allowed);
}

ssize_t pread(int fd, void *data, size_t length, off_t offset) {
    TRANSFER(pread, data, length_to_read(length), offset);
}

ssize_t pread64(int fd, void *data, size_t length, off64_t offset) {
    TRANSFER(pread64, data, length_to_read(length), offset);
}

ssize_t write(int fd, const void *data, size_t length) {
    ssize_t allowed = length_to_write(fd, length);
    return allowed <= 0 && length > 0 ? allowed : NEXT(write)(fd, data, (size_t)allowed);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    TRANSFER(pwrite, data, length_to_write(fd, length), offset);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    TRANSFER(pwrite64, data, length_to_write(fd, length), offset);
}

static bool map_fails(void) {
    if (!fails(MAP))
        return false;
    errno = ENOMEM;
    return true;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    return map_fails() ? MAP_FAILED : NEXT(mmap)(address, length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    return map_fails() ? MAP_FAILED : NEXT(mmap64)(address, length, protection, flags, fd, offset);
}

static bool open_fails(void) {
    if (!fails(OPEN))
        return false;
    errno = EMFILE;
    return true;
}

#define OPEN_WITH(name)                                                                            \
    va_list arguments;                                                                             \
    va_start(arguments, flags);                                                                    \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;                         \
    va_end(arguments);                                                                             \
    return open_fails() ? -1 : NEXT(name)(path, flags, mode)

int open(const char *path, int flags, ...) {
    OPEN_WITH(open);
}

int open64(const char *path, int flags, ...) {
    OPEN_WITH(open64);
}

int mkstemp(char *pattern) {
    return open_fails() ? -1 : NEXT(mkstemp)(pattern);
}

int mkstemp64(char *pattern) {
    return open_fails() ? -1 : NEXT(mkstemp64)(pattern);
}

int mkstemps(char *pattern, int suffix) {
    return open_fails() ? -1 : NEXT(mkstemps)(pattern, suffix);
}

int mkstemps64(char *pattern, int suffix) {
    return open_fails() ? -1 : NEXT(mkstemps64)(pattern, suffix);
}

int rename(const char *from, const char *to) {
    return open_fails() ? -1 : NEXT(rename)(from, to);
}

long sysconf(int name) {
    return name == _SC_NPROCESSORS_ONLN ? 1 : NEXT(sysconf)(name);
}
