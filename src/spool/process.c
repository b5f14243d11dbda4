/* A process's spool: its header file and the list of its lanes.
 *
 * Lanes outlive threads: one that a thread gave back goes to the next, so that a program which
 * makes a million threads one after another has one. The list has a lock that nobody waits long
 * for: where a thread was lost with it (a fork() that no handler saw), records are dropped instead.
 */
#include "base/clock.h"
#include "spool/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spool/lock.h"

static const uint64_t default_limit = (uint64_t)1 << 30;

/* Opening files are places where a thread can be cancelled, and it must not be while it is here. */
struct manners {
    int error, cancel;
};

static struct manners begin_quietly(void) {
    struct manners manners = {.error = errno};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &manners.cancel);
    return manners;
}

static void end_quietly(struct manners manners) {
    pthread_setcancelstate(manners.cancel, NULL);
    errno = manners.error;
}

uint64_t spool_pid_space(void) {
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/* The words of /proc/self/cmdline with spaces between them. */
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

static bool make_header(struct spool *spool) {
    char name[64];
    spool->pid = getpid();
    spool->start = clock_now();
    snprintf(name, sizeof name, "%lld-%lld.head", (long long)spool->pid, (long long)spool->start);
    struct spool_header *header =
        folder_map_file(&spool->folder, name, sizeof(struct spool_header));
    if (!header)
        return false;
    header->version = SPOOL_VERSION;
    header->pid = spool->pid;
    header->start = spool->start;
    header->pid_space = spool_pid_space();
    header->command_length = read_command(header->command);
    atomic_store(&header->listened_at, spool->start);
    atomic_thread_fence(memory_order_release);
    memcpy(header->magic, SPOOL_HEAD_MAGIC, sizeof header->magic);
    spool->header = header;
    return true;
}

struct spool *spool_open(void) {
    struct manners manners = begin_quietly();
    struct spool *spool = pages_allocate(sizeof *spool);
    if (spool) {
        atomic_store(&spool->limit, default_limit);
        if (!folder_find(&spool->folder) || !make_header(spool)) {
            pages_free(spool, sizeof *spool);
            spool = NULL;
        }
    }
    end_quietly(manners);
    return spool;
}

void spool_limit(struct spool *spool, uint64_t bytes) {
    atomic_store(&spool->limit, bytes);
}

static void forget_lanes(struct spool *spool) {
    spool->free_lanes = NULL;
    for (struct spool_lane *lane = spool->lanes; lane; lane = lane->next) {
        lane_forget(lane);
        lane->next_free = spool->free_lanes;
        spool->free_lanes = lane;
    }
    atomic_store(&spool->bytes, 0);
}

bool spool_reopen(struct spool *spool) {
    struct manners manners = begin_quietly();
    atomic_store(&spool->lock, 0);
    forget_lanes(spool);
    if (spool->header)
        munmap(spool->header, sizeof *spool->header);
    spool->header = NULL;
    bool ok = make_header(spool);
    end_quietly(manners);
    return ok;
}

void spool_close(struct spool *spool) {
    if (!spool)
        return;
    int error = errno;
    forget_lanes(spool);
    if (spool->header)
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
    if (spool && spool->header)
        atomic_fetch_add_explicit(&spool->header->dropped, records, memory_order_relaxed);
}

bool spool_is_stopped(const struct spool *spool) {
    return !spool->header ||
           atomic_load_explicit(&spool->header->stopped, memory_order_relaxed) != 0;
}

void spool_ended(struct spool *spool) {
    if (spool && spool->header)
        atomic_store(&spool->header->ended, 1);
}

/* From the free ones, or one more; NULL when there is none. */
static struct spool_lane *take_lane(struct spool *spool) {
    struct spool_lane *lane = NULL;
    if (!lock_take(&spool->lock))
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
    lock_open(&spool->lock);
    return lane;
}

struct spool_lane *spool_lane_open(struct spool *spool) {
    if (!spool || !spool->header)
        return NULL;
    struct manners manners = begin_quietly();
    struct spool_lane *lane = take_lane(spool);
    if (lane) {
        lane->begun = 0;
        if (!lane->segment && !lane_next_segment(lane)) {
            spool_lane_close(spool, lane);
            lane = NULL;
        }
    }
    end_quietly(manners);
    return lane;
}

void spool_lane_close(struct spool *spool, struct spool_lane *lane) {
    if (!lane)
        return;
    int error = errno;
    if (lock_take(&spool->lock)) {
        lane->next_free = spool->free_lanes;
        spool->free_lanes = lane;
        lock_open(&spool->lock);
    }
    errno = error;
}
