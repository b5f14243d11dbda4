/* Reads /proc. A thread that starts while the list is made is recorded if its creator was listed
 * before, because perf events are inherited.
 */
#ifdef __linux__
#include "record/perf/perf_attach.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

enum { THREADS_MAX = 100000 };

struct listing {
    struct perf_existing *items;
    size_t count, capacity;
};

static bool add_thread(struct listing *listing, pid_t pid, pid_t tid, struct status *status) {
    if (listing->count == THREADS_MAX ||
        !GROW(listing->items, &listing->capacity, listing->count + 1, status))
        return listing->count == THREADS_MAX;
    listing->items[listing->count++] = (struct perf_existing){.pid = pid, .tid = tid};
    return true;
}

static bool is_listed(const struct listing *listing, pid_t tid) {
    for (size_t i = 0; i < listing->count; i++)
        if (listing->items[i].tid == tid)
            return true;
    return false;
}

static bool add_process(struct listing *listing, pid_t pid, struct status *status) {
    char path[64];
    bool ok = add_thread(listing, pid, pid, status);
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && ok && (entry = readdir(threads));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && tid != pid)
            ok = add_thread(listing, pid, tid, status);
    }
    if (threads)
        closedir(threads);
    return ok;
}

/* The children of one thread are processes. */
static bool add_children(struct listing *listing, struct perf_existing of, struct status *status) {
    char path[96];
    long child;
    bool ok = true;
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)of.pid, (long)of.tid);
    FILE *file = fopen(path, "re");
    while (file && ok && fscanf(file, "%ld", &child) == 1)
        if ((pid_t)child != getpid() && !is_listed(listing, (pid_t)child))
            ok = add_process(listing, (pid_t)child, status);
    if (file)
        fclose(file);
    return ok;
}

bool perf_attach_list(pid_t pid, struct perf_existing **list, size_t *count,
                      struct status *status) {
    struct listing listing = {0};
    bool ok = add_process(&listing, pid, status);
    for (size_t i = 0; i < listing.count && ok; i++) /* it grows meanwhile */
        ok = add_children(&listing, listing.items[i], status);
    *list = listing.items;
    *count = listing.count;
    return ok;
}

/* "start-end perms offset device inode path" */
static bool add_mapping(pid_t pid, char *line, struct symbols *symbols, struct status *status) {
    uint64_t start, end, offset;
    char permissions[8];
    int path = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &start, &end,
               permissions, &offset, &path) < 4 ||
        !strchr(permissions, 'x') || end <= start)
        return true;
    struct text name = text_of(path && line[path] ? line + path : "//anon");
    return symbols_map(symbols, pid, start, end - start, offset, name, status);
}

bool perf_attach_mappings(pid_t pid, struct symbols *symbols, struct status *status) {
    char path[64], line[4500];
    bool ok = true;
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *file = fopen(path, "re");
    while (file && ok && fgets(line, sizeof line, file))
        ok = add_mapping(pid, line, symbols, status);
    if (file)
        fclose(file);
    return ok;
}

bool perf_attach_is_asleep(pid_t pid, pid_t tid) {
    char path[96], content[512] = "";
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)pid, (long)tid);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(content, 1, sizeof content - 1, file) : 0;
    if (file)
        fclose(file);
    content[length] = 0;
    const char *behind = strrchr(content, ')');
    return behind && (strncmp(behind, ") S", 3) == 0 || strncmp(behind, ") D", 3) == 0);
}
#endif
