/* Python never removes these files. Other programs write such files on purpose: those are kept, as
 * is every file whose creation time is unknown.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* statx() */
#endif
#include "record/perf/perf_maps.h"

#ifdef __linux__
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

#define FOLDER "/tmp"

/* The pid in "perf-PID.map"; 0 for other names. */
static int64_t pid_of(const char *name) {
    struct text text = text_of(name);
    const char *end = strrchr(name, '.');
    int64_t pid;
    if (!text_starts(text, "perf-") || !end || strcmp(end, ".map") != 0)
        return 0;
    struct text digits = {name + 5, (size_t)(end - name) - 5};
    return text_to_i64(digits, &pid) && pid > 0 ? pid : 0;
}

static bool was_made_since(int file, int64_t since) {
    struct statx about;
    return statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &about) == 0 &&
           (about.stx_mask & STATX_BTIME) && about.stx_btime.tv_sec >= since &&
           S_ISREG(about.stx_mode) && about.stx_uid == geteuid() && about.stx_nlink == 1;
}

/* Lines are `START SIZE py::function:file`. */
static bool is_of_python(int file) {
    char start[128];
    ssize_t length = pread(file, start, sizeof start, 0);
    struct text text = {start, length > 0 ? (size_t)length : 0};
    const char *end = memchr(start, '\n', text.length);
    if (end)
        text.length = (size_t)(end - start);
    return text_find(text, " py::") > 0;
}

static bool has_ended(int64_t pid) {
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

unsigned perf_maps_remove(const struct map *pids, int64_t since) {
    unsigned removed = 0;
    DIR *folder = pids->count ? opendir(FOLDER) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int64_t pid = pid_of(entry->d_name);
        if (pid == 0 || !map_find(pids, (uint64_t)pid) || !has_ended(pid))
            continue;
        int file = openat(dirfd(folder), entry->d_name,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (file < 0)
            continue;
        if (was_made_since(file, since) && is_of_python(file))
            removed += unlinkat(dirfd(folder), entry->d_name, 0) == 0;
        close(file);
    }
    if (folder)
        closedir(folder);
    return removed;
}

#else

unsigned perf_maps_remove(const struct map *pids, int64_t since) {
    (void)pids, (void)since;
    return 0;
}

#endif
