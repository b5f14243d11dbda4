/* A process's spool: its files, its header and the list of its lanes.
 *
 * Creating a file inside somebody else's program may fail for many reasons: a full disk, a low
 * resource limit, a changed user or root directory, no free descriptors. Each of them results
 * in NULL and has no other effect. A descriptor is open only between open() and mmap(). It has a
 * high number, because programs rely on the low ones, and is closed on exec.
 *
 * Lanes outlive threads: a lane that one thread gives back is reused by the next, so a program that
 * creates a million threads one after another has one lane. The list has a lock with a timeout.
 * Where a thread was lost while it held the lock (a fork() without handlers), records are dropped.
 */
#include "spool/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <crt_externs.h>
#endif

#include "base/clock.h"
#include "spool/lock.h"

/* ---- Files ------------------------------------------------------------------------------- */

enum { DESCRIPTOR_MIN = 500 };

#ifndef MAP_POPULATE
#define MAP_POPULATE 0 /* pages are faulted in one by one */
#endif

static int move_descriptor(int fd) {
    if (fd < 0 || fd >= DESCRIPTOR_MIN)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_MIN);
    if (moved < 0)
        return fd; /* the limit is lower; it is closed soon anyway */
    close(fd);
    return moved;
}

static bool is_private(const struct stat *info) {
    return S_ISDIR(info->st_mode) && info->st_uid == geteuid() && (info->st_mode & 077) == 0;
}

/* The folder, if it is private to this user. Refused in set-user-ID programs. */
static bool folder_find(struct spool_folder *folder, const char *path) {
    struct stat info;
    if (!path || path[0] != '/' || strlen(path) >= sizeof folder->path)
        return false;
    if (getuid() != geteuid() || getgid() != getegid())
        return false;
    if (lstat(path, &info) != 0 || !is_private(&info))
        return false;
    strcpy(folder->path, path);
    folder->device = info.st_dev;
    folder->inode = info.st_ino;
    return true;
}

static int folder_open(const struct spool_folder *folder) {
    struct stat info;
    int fd = move_descriptor(open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0 && (fstat(fd, &info) != 0 || !is_private(&info) || info.st_dev != folder->device ||
                    info.st_ino != folder->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A file longer than the limit would raise SIGXFSZ. */
static bool is_size_allowed(size_t bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

static bool allocate_blocks(int fd, size_t bytes) {
#ifdef __linux__
    int error;
    do
        error = posix_fallocate(fd, 0, (off_t)bytes);
    while (error == EINTR);
    return error == 0;
#else
    static const char zeros[4096];
    for (size_t at = 0; at < bytes; at += sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, (off_t)at) != (ssize_t)sizeof zeros)
            return false;
    return true;
#endif
}

static void *map_blocks(int fd, size_t bytes, void *at) {
    int flags = MAP_SHARED | MAP_POPULATE | (at ? MAP_FIXED : 0);
    if (!allocate_blocks(fd, bytes))
        return NULL;
    void *map = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

void *folder_map_file(const struct spool_folder *folder, const char *name, size_t bytes, void *at) {
    int inside = is_size_allowed(bytes) ? folder_open(folder) : -1;
    if (inside < 0)
        return NULL;
    void *map = NULL;
    int fd = move_descriptor(
        openat(inside, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd >= 0) {
        fchmod(fd, 0600); /* whatever the umask */
        map = map_blocks(fd, bytes, at);
        if (!map)
            unlinkat(inside, name, 0);
        close(fd);
    }
    close(inside);
    return map;
}

/* ---- Processes and lanes ----------------------------------------------------------------- */

static const uint64_t default_limit = (uint64_t)1 << 30;

/* open() is a cancellation point, and a thread must not be cancelled in the probe. */
struct saved_context {
    int error, cancel;
};

static struct saved_context save_context(void) {
    struct saved_context saved_context = {.error = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved_context.cancel);
    return saved_context;
}

static void restore_context(struct saved_context saved_context) {
    pthread_setcancelstate(saved_context.cancel, NULL);
    errno = saved_context.error;
}

uint64_t spool_pid_space(void) {
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}

#ifdef __APPLE__

/* The arguments, separated by spaces, as far as they fit. */
static uint32_t read_command(char *command) {
    char **arguments = *_NSGetArgv();
    size_t length = 0;
    for (int i = 0; i < *_NSGetArgc() && arguments[i]; i++) {
        size_t word = strlen(arguments[i]);
        if (length + word + 1 > SPOOL_COMMAND_MAX)
            break;
        if (i > 0)
            command[length++] = ' ';
        memcpy(command + length, arguments[i], word);
        length += word;
    }
    return (uint32_t)length;
}

#else

/* The arguments in /proc/self/cmdline, separated by spaces. */
static uint32_t read_command(char *command) {
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t length = read(fd, command, SPOOL_COMMAND_MAX);
    close(fd);
    if (length < 0)
        length = 0;
    while (length > 0 && command[length - 1] == 0)
        length--;
    for (ssize_t i = 0; i < length; i++)
        if (command[i] == 0)
            command[i] = ' ';
    return (uint32_t)length;
}

#endif

static bool make_header(struct spool *spool) {
    char name[64];
    spool->pid = getpid();
    spool->start = clock_now();
    snprintf(name, sizeof name, "%lld-%lld.head", (long long)spool->pid, (long long)spool->start);
    struct spool_header *header =
        folder_map_file(&spool->folder, name, sizeof(struct spool_header), spool->header);
    if (!header)
        return false;
    header->version = SPOOL_VERSION;
    header->pid = spool->pid;
    header->start = spool->start;
    header->pid_space = spool_pid_space();
    header->command_length = read_command(header->command);
    atomic_store(&header->reader_seen_at, spool->start);
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, SPOOL_HEAD_MAGIC, sizeof header->magic);
    return true;
}

/* The header's page is replaced and never unmapped, because any thread may read it at any time. */
static void clear_header(struct spool *spool) {
    mmap(spool->header, sizeof *spool->header, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    atomic_store(&spool->header->stopped, 1);
}

struct spool *spool_create(void) {
    struct spool *spool = pages_allocate(sizeof *spool);
    struct spool_header *header = pages_allocate(sizeof *header);
    if (!spool || !header) {
        pages_free(spool, sizeof *spool);
        pages_free(header, sizeof *header);
        return NULL;
    }
    atomic_store(&header->stopped, 1);
    spool->header = header;
    return spool;
}

bool spool_attach(struct spool *spool, const char *folder) {
    struct saved_context saved_context = save_context();
    atomic_store(&spool->limit, default_limit);
    bool ok = folder_find(&spool->folder, folder) && make_header(spool);
    restore_context(saved_context);
    return ok;
}

struct spool *spool_open(void) {
    struct spool *spool = spool_create();
    if (!spool || spool_attach(spool, getenv(SPOOL_VARIABLE)))
        return spool;
    spool_close(spool);
    return NULL;
}

void spool_limit(struct spool *spool, uint64_t bytes) {
    atomic_store(&spool->limit, bytes);
}

static void reset_lanes(struct spool *spool) {
    spool->free_lanes = NULL;
    for (struct spool_lane *lane = spool->lanes; lane; lane = lane->next) {
        lane_reset(lane);
        lane->next_free = spool->free_lanes;
        spool->free_lanes = lane;
    }
    atomic_store(&spool->bytes, 0);
}

bool spool_reopen(struct spool *spool) {
    struct saved_context saved_context = save_context();
    atomic_store(&spool->lock, 0);
    reset_lanes(spool);
    clear_header(spool);
    bool ok = make_header(spool);
    restore_context(saved_context);
    return ok;
}

void spool_detach(struct spool *spool, bool unmaps) {
    struct saved_context saved_context = save_context();
    if (unmaps) {
        reset_lanes(spool);
    } else {
        spool->lanes = spool->free_lanes = NULL;
        atomic_store(&spool->bytes, 0);
    }
    clear_header(spool);
    restore_context(saved_context);
}

void spool_close(struct spool *spool) {
    if (!spool)
        return;
    int error = errno;
    reset_lanes(spool);
    munmap(spool->header, sizeof *spool->header);
    while (spool->lanes) {
        struct spool_lane *next = spool->lanes->next;
        pages_free(spool->lanes, sizeof *spool->lanes);
        spool->lanes = next;
    }
    pages_free(spool, sizeof *spool);
    errno = error;
}

void spool_drop(struct spool *spool, uint64_t records) {
    if (spool)
        atomic_fetch_add_explicit(&spool->header->dropped, records, memory_order_relaxed);
}

bool spool_is_stopped(const struct spool *spool) {
    return atomic_load_explicit(&spool->header->stopped, memory_order_relaxed) != 0;
}

bool spool_is_finishing(const struct spool *spool) {
    const struct spool_header *header = spool->header;
    return spool_is_stopped(spool) || atomic_load(&header->finish) ||
           clock_now() - atomic_load(&header->reader_seen_at) > spool_reader_timeout_ns;
}

bool spool_is_ready(const struct spool *spool) {
    return atomic_load(&spool->header->ready) != 0;
}

void spool_mark_ready(struct spool *spool) {
    atomic_store(&spool->header->ready, 1);
}

void spool_mark_ended(struct spool *spool) {
    if (spool)
        atomic_store(&spool->header->ended, 1);
}

/* A free lane, or another one; NULL on failure. */
static struct spool_lane *take_lane(struct spool *spool) {
    struct spool_lane *lane = NULL;
    if (!lock_acquire(&spool->lock))
        return NULL;
    if (spool->free_lanes) {
        lane = spool->free_lanes;
        spool->free_lanes = lane->next_free;
    } else if (spool->lane_count < SPOOL_LANES && (lane = pages_allocate(sizeof *lane))) {
        lane->spool = spool;
        lane->number = spool->lane_count++;
        lane->next = spool->lanes;
        spool->lanes = lane;
    }
    lock_release(&spool->lock);
    return lane;
}

struct spool_lane *spool_lane_open(struct spool *spool) {
    if (!spool)
        return NULL;
    struct saved_context saved_context = save_context();
    struct spool_lane *lane = take_lane(spool);
    if (lane) {
        lane->record_bytes = 0;
        if (!lane->segment && !lane_next_segment(lane)) {
            spool_lane_close(spool, lane);
            lane = NULL;
        }
    }
    restore_context(saved_context);
    return lane;
}

void spool_lane_close(struct spool *spool, struct spool_lane *lane) {
    if (!lane)
        return;
    int error = errno;
    if (lock_acquire(&spool->lock)) {
        lane->next_free = spool->free_lanes;
        spool->free_lanes = lane;
        lock_release(&spool->lock);
    }
    errno = error;
}
