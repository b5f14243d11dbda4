/* How a file of the spool comes into being inside somebody else's program.
 *
 * The disk may be full, the limits low, the user changed, the root another one, descriptors scarce
 * or all closed: each is a NULL here and nothing else. A descriptor lives for the few calls between
 * open() and mmap(), out of the way of the low numbers that programs count on, and closed on exec.
 */
#include "spool/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_OF_THE_WAY = 500 };

#ifndef MAP_POPULATE
#define MAP_POPULATE 0 /* pages come one by one */
#endif

static int moved_away(int fd) {
    if (fd < 0 || fd >= OUT_OF_THE_WAY)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (moved < 0)
        return fd; /* no number is that high: it will not live long */
    close(fd);
    return moved;
}

static bool is_private(const struct stat *info) {
    return S_ISDIR(info->st_mode) && info->st_uid == geteuid() && (info->st_mode & 077) == 0;
}

bool folder_find(struct spool_folder *folder) {
    const char *path = getenv(SPOOL_VARIABLE);
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
    int fd = moved_away(open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd >= 0 && (fstat(fd, &info) != 0 || !is_private(&info) || info.st_dev != folder->device ||
                    info.st_ino != folder->inode)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A file longer than the limit would be a SIGXFSZ. */
static bool may_be_long(size_t bytes) {
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

static void *map_blocks(int fd, size_t bytes) {
    if (!allocate_blocks(fd, bytes))
        return NULL;
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

void *folder_map_file(const struct spool_folder *folder, const char *name, size_t bytes) {
    int inside = may_be_long(bytes) ? folder_open(folder) : -1;
    if (inside < 0)
        return NULL;
    void *map = NULL;
    int fd =
        moved_away(openat(inside, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd >= 0) {
        fchmod(fd, 0600); /* whatever the umask */
        map = map_blocks(fd, bytes);
        if (!map)
            unlinkat(inside, name, 0);
        close(fd);
    }
    close(inside);
    return map;
}
