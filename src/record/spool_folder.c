/* Where may records of a program lie that nobody else should read? In a folder of mode 0700 with a
 * name that cannot be guessed, below a folder that nobody else can replace it in.
 *
 * The recorder keeps a lock on a file in it. A folder whose lock can be had belongs to a recorder
 * that was killed.
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

#define PREFIX "ridge-spool-"
#define LOCK "lock"

/* A folder of ours that others cannot write to, or one like /tmp, where they can but names are
 * protected. */
static bool is_safe(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode) || access(path, W_OK | X_OK) != 0)
        return false;
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return false;
    return !(info.st_mode & (S_IWGRP | S_IWOTH)) || (info.st_mode & S_ISVTX);
}

/* Every file of it and then itself; nothing in it is a folder. */
static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
}

static bool is_own(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

static void remove_if_left_behind(const char *path) {
    char lock_path[sizeof((struct spool_folder *)0)->path + sizeof "/" LOCK];
    snprintf(lock_path, sizeof lock_path, "%s/" LOCK, path);
    if (!is_own(path))
        return;
    int lock = open(lock_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0)
        return;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
        remove_folder(path);
    close(lock);
}

static void sweep(const char *base) {
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

static bool create_in(const char *base, struct spool_folder *folder, struct status *status) {
    char lock_path[sizeof folder->path + sizeof "/" LOCK];
    if ((size_t)snprintf(folder->path, sizeof folder->path, "%s/" PREFIX "XXXXXX", base) >=
        sizeof folder->path)
        return status_fail(status, STATUS_IO, "%s: too long a name", base);
    if (!mkdtemp(folder->path))
        return status_fail_errno(status, "cannot create a folder in %s", base);
    snprintf(lock_path, sizeof lock_path, "%s/" LOCK, folder->path);
    folder->lock = open(lock_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (folder->lock >= 0 && flock(folder->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    status_fail_errno(status, "cannot lock %s", lock_path);
    if (folder->lock >= 0)
        close(folder->lock);
    remove_folder(folder->path);
    return false;
}

bool spool_folder_create(struct spool_folder *folder, struct status *status) {
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    status->code = STATUS_OK;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || places[i][0] != '/' || !is_safe(places[i]))
            continue;
        sweep(places[i]);
        if (create_in(places[i], folder, status))
            return true;
    }
    if (status->code != STATUS_OK)
        return status_context(status, "set TMPDIR to a folder of your own with room in it");
    return status_fail(status, STATUS_IO,
                       "neither XDG_RUNTIME_DIR, TMPDIR nor /tmp is a folder that you can write to "
                       "and others cannot tamper with; set TMPDIR to one of your own");
}

void spool_folder_remove(struct spool_folder *folder) {
    if (!folder->path[0])
        return;
    remove_folder(folder->path);
    close(folder->lock);
    folder->path[0] = 0;
}
