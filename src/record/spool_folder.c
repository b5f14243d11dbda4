/* Spool folders have mode 0700, an unpredictable name, and a parent in which no other user can
 * rename or remove them.
 *
 * A recorder holds a flock() on the file `lock` in its folder. If the lock is free, the recorder
 * was killed, and any other recorder removes the folder. A folder exists for a moment before its
 * lock is held, so another recorder may remove it in that moment. After taking a lock, a recorder
 * therefore checks that the file still has its name; if its own folder was removed, it creates
 * another one.
 */
#include "record/spool_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "record/owner.h"

#define PREFIX "ridge-spool-"
#define LOCK "lock"
enum { ATTEMPTS = 1000 }; /* each can lose one race against a starting recorder */

/* A folder of a trusted owner that others cannot write to, or that has the sticky bit. */
static bool is_safe(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode) || access(path, W_OK | X_OK) != 0)
        return false;
    if (!owner_is_trusted(info.st_uid))
        return false;
    return !(info.st_mode & (S_IWGRP | S_IWOTH)) || (info.st_mode & S_ISVTX);
}

static void lock_path_of(const char *path, char *lock_path, size_t size) {
    snprintf(lock_path, size, "%s/" LOCK, path);
}

/* The lock file is removed last, so that a folder whose removal was interrupted can still be locked
 * and removed. A spool folder has no subfolders. */
static void remove_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, LOCK) != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    unlinkat(dirfd(folder), LOCK, 0);
    closedir(folder);
    rmdir(path);
}

static bool is_own(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

enum lock { LOCKED, LOST, REFUSED };

/* LOST: another process has the lock, or has removed the file since it was opened. */
static enum lock take_lock(int lock, const char *lock_path) {
    struct stat locked, named;
    if (flock(lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? LOST : REFUSED;
    bool same = fstat(lock, &locked) == 0 && lstat(lock_path, &named) == 0 &&
                locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
    return same ? LOCKED : LOST;
}

static void remove_if_left_behind(const char *path) {
    char lock_path[sizeof((struct spool_folder *)0)->path + sizeof "/" LOCK];
    lock_path_of(path, lock_path, sizeof lock_path);
    if (!is_own(path))
        return;
    int lock = open(lock_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) {
        rmdir(path); /* succeeds only if it is empty */
        return;
    }
    if (take_lock(lock, lock_path) == LOCKED)
        remove_folder(path);
    close(lock);
}

static void remove_abandoned(const char *base) {
    DIR *folder = opendir(base);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[sizeof((struct spool_folder *)0)->path];
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", base, entry->d_name) < sizeof path)
            remove_if_left_behind(path);
    }
    closedir(folder);
}

/* LOST: another recorder removed the folder as abandoned. */
static enum lock try_create(const char *base, struct spool_folder *folder, struct status *status) {
    char lock_path[sizeof folder->path + sizeof "/" LOCK];
    snprintf(folder->path, sizeof folder->path, "%s/" PREFIX "XXXXXX", base);
    if (!mkdtemp(folder->path)) {
        status_fail_errno(status, "cannot create a folder in %s", base);
        return REFUSED;
    }
    lock_path_of(folder->path, lock_path, sizeof lock_path);
    folder->lock = open(lock_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (folder->lock < 0 && errno == ENOENT)
        return LOST;
    enum lock result = folder->lock < 0 ? REFUSED : take_lock(folder->lock, lock_path);
    if (result == REFUSED) {
        status_fail_errno(status, "cannot lock %s", lock_path);
        remove_folder(folder->path);
    }
    if (result != LOCKED && folder->lock >= 0)
        close(folder->lock);
    return result;
}

static bool create_in(const char *base, struct spool_folder *folder, struct status *status) {
    enum lock result = LOST;
    if (strlen(base) + sizeof "/" PREFIX "XXXXXX" > sizeof folder->path)
        return status_fail(status, STATUS_IO, "%s: the name is too long", base);
    for (unsigned i = 0; i < ATTEMPTS && result == LOST; i++)
        result = try_create(base, folder, status);
    if (result == LOST)
        status_fail(status, STATUS_IO, "cannot lock a folder in %s", base);
    if (result != LOCKED)
        folder->path[0] = 0;
    return result == LOCKED;
}

bool spool_folder_create(struct spool_folder *folder, struct status *status) {
    const char *entities[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    status->code = STATUS_OK;
    for (size_t i = 0; i < ARRAY_COUNT(entities); i++) {
        if (!entities[i] || entities[i][0] != '/' || !is_safe(entities[i]))
            continue;
        remove_abandoned(entities[i]);
        if (create_in(entities[i], folder, status))
            return true;
    }
    if (status->code != STATUS_OK)
        return status_context(status, "set TMPDIR to a folder of your own with free space");
    return status_fail(status, STATUS_IO,
                       "XDG_RUNTIME_DIR, TMPDIR and /tmp are not writable, or not safe from other "
                       "users; set TMPDIR to a folder of your own");
}

void spool_folder_remove(struct spool_folder *folder) {
    if (!folder->path[0])
        return;
    remove_folder(folder->path);
    close(folder->lock);
    folder->path[0] = 0;
}
