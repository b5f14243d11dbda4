/* A thread that starts while the list is made is recorded if its creator was listed
 * before, because perf events are inherited.
 */
#include "record/perf/perf_attach.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "record/process_facts.h"

enum { THREADS_MAX = 100000 };

struct listing {
    struct perf_existing *items;
    size_t count, capacity;
};

struct threads_of {
    struct listing *listing;
    int64_t pid;
};

static bool add_thread(void *context, int64_t tid, struct status *status) {
    const struct threads_of *of = context;
    struct listing *listing = of->listing;
    if (listing->count == THREADS_MAX ||
        !GROW(listing->items, &listing->capacity, listing->count + 1, status))
        return listing->count == THREADS_MAX;
    listing->items[listing->count++] = (struct perf_existing){.pid = (pid_t)of->pid, .tid = tid};
    return true;
}

static bool is_listed(const struct listing *listing, int64_t pid) {
    for (size_t i = 0; i < listing->count; i++)
        if (listing->items[i].pid == pid)
            return true;
    return false;
}

/* The first thread of a process is its main thread: the kernel lists them by age. */
static bool add_process(void *context, int64_t pid, struct status *status) {
    struct listing *listing = context;
    if (pid == getpid() || is_listed(listing, pid))
        return true;
    return process_facts_threads(pid, add_thread, &(struct threads_of){listing, pid}, status);
}

bool perf_attach_list(pid_t pid, struct perf_existing **list, size_t *count,
                      struct status *status) {
    struct listing listing = {0};
    bool ok = add_process(&listing, pid, status);
    for (size_t i = 0; i < listing.count && ok; i++) /* it grows meanwhile */
        if (i == 0 || listing.items[i].pid != listing.items[i - 1].pid)
            ok = process_facts_children(listing.items[i].pid, add_process, &listing, status);
    *list = listing.items;
    *count = listing.count;
    return ok;
}

#ifdef __linux__
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
