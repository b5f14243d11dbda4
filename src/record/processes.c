/* Linux lists the children of each thread. On other systems only the processes in the spool are
 * known. All processes of the program are descendants of the recorder, which is a subreaper.
 * Counters are written when they change.
 */
#include "record/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "spool/spool.h"

enum {
    NAME_SIZE = 64,
    COUNTERS_MAX = 256,    /* processes with their own counter */
    PROCESSES_MAX = 10000, /* alive at the same time */
    WALK_SHARE = 100,      /* a walk of duration t is followed by a pause of 100 t */
    CHILDREN_SIZE = 4096,  /* of a children list, read in pieces */
};

struct process {
    int64_t pid;
    int64_t resident; /* bytes, as last written; -1: never */
    char name[NAME_SIZE];
    bool is_visited;                /* by the current walk */
    uint32_t counter;               /* string of its counter's name; 0: none */
    int64_t looked_from, next_look; /* for libraries: first and next time */
};

uint32_t processes_row(struct processes *processes, int64_t pid, struct text name) {
    struct status ignored; /* readers merge rows of the same process */
    const uint64_t *known = map_find(&processes->rows, (uint64_t)pid);
    if (known && name.length == 0)
        return (uint32_t)*known;
    char host[PROCESS_NAME_SIZE];
    process_host(host);
    uint32_t row = trace_write_process(
        processes->writer, &(struct row_process){
                               .pid = (uint64_t)pid,
                               .name = trace_writer_string(processes->writer, name),
                               .host = trace_writer_string(processes->writer, text_of(host)),
                           });
    if (!known)
        processes->count++;
    map_set(&processes->rows, (uint64_t)pid, row, &ignored);
    return row;
}

void processes_finish(struct processes *processes) {
    map_finish(&processes->rows);
    memory_free(processes->alive);
    memset(processes, 0, sizeof *processes);
}

#ifdef __linux__

/* The first bytes of /proc/PID/FILE, zero-terminated. Returns 0 when the process has ended. */
static size_t read_proc_file(int64_t pid, const char *file, char *content, size_t capacity) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, content, capacity - 1) : 0;
    if (fd >= 0)
        close(fd);
    content[length > 0 ? length : 0] = 0;
    return length > 0 ? (size_t)length : 0;
}

static void read_name(int64_t pid, char name[NAME_SIZE]) {
    size_t length = read_proc_file(pid, "comm", name, NAME_SIZE);
    if (length > 0 && name[length - 1] == '\n')
        name[length - 1] = 0;
}

static int64_t read_resident(int64_t pid) {
    char content[128];
    long long pages;
    if (!read_proc_file(pid, "statm", content, sizeof content) ||
        sscanf(content, "%*s %lld", &pages) != 1 || pages < 0)
        return 0;
    return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

static struct process *find_process(struct processes *processes, int64_t pid) {
    for (size_t i = 0; i < processes->alive_count; i++)
        if (processes->alive[i].pid == pid)
            return &processes->alive[i];
    return NULL;
}

static bool add_process(struct processes *processes, int64_t pid, struct status *status) {
    if (!GROW(processes->alive, &processes->alive_capacity, processes->alive_count + 1, status))
        return false;
    struct process *process = &processes->alive[processes->alive_count++];
    *process = (struct process){.pid = pid, .resident = -1};
    return true;
}

/* exec() may change the name, so it is read at each walk. */
static bool visit_process(struct processes *processes, int64_t pid, struct status *status) {
    char name[NAME_SIZE] = "";
    struct process *process = find_process(processes, pid);
    if (!process) {
        if (processes->alive_count >= PROCESSES_MAX)
            return true;
        if (!add_process(processes, pid, status))
            return false;
        process = &processes->alive[processes->alive_count - 1];
    }
    process->is_visited = true;
    read_name(pid, name);
    if (strcmp(name, process->name) != 0 && *name) {
        memcpy(process->name, name, sizeof name);
        processes_row(processes, pid, text_of(name));
        process->counter = 0;
    }
    return true;
}

/* A pid may be split between two reads. */
static bool visit_thread_children(struct processes *processes, const char *path,
                                  struct status *status) {
    char content[CHILDREN_SIZE];
    size_t kept = 0;
    bool ok = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    for (ssize_t got; ok && (got = read(fd, content + kept, sizeof content - 1 - kept)) > 0;) {
        char *at = content, *end;
        content[kept + (size_t)got] = 0;
        while ((end = strchr(at, ' ')) && ok) {
            int64_t pid = strtoll(at, NULL, 10);
            ok = pid <= 0 || pid == getpid() || visit_process(processes, pid, status);
            at = end + 1;
        }
        kept = strlen(at);
        if (kept >= sizeof content / 2)
            break;
        memmove(content, at, kept);
    }
    close(fd);
    return ok;
}

static bool visit_children(struct processes *processes, int64_t pid, struct status *status) {
    char path[96];
    bool ok = true;
    snprintf(path, sizeof path, "/proc/%lld/task", (long long)pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && ok && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%lld/task/%.20s/children", (long long)pid,
                 entry->d_name);
        ok = visit_thread_children(processes, path, status);
    }
    if (threads)
        closedir(threads);
    return ok;
}

static void write_counter(struct processes *processes, int64_t now, uint32_t name, int64_t bytes) {
    trace_write_counter(processes->writer,
                        &(struct row_counter){.time = now, .name = name, .value = (double)bytes});
}

static void write_resident(struct processes *processes, struct process *process, int64_t now,
                           int64_t bytes) {
    if (bytes == process->resident)
        return;
    if (!process->counter) {
        char name[NAME_SIZE + 64];
        snprintf(name, sizeof name, "resident memory of %s (%lld)", process->name,
                 (long long)process->pid);
        process->counter = trace_writer_string(processes->writer, text_of(name));
    }
    process->resident = bytes;
    write_counter(processes, now, process->counter, bytes);
}

/* Processes that the walk did not visit have ended. */
static void remove_ended(struct processes *processes, int64_t now) {
    size_t kept = 0;
    for (size_t i = 0; i < processes->alive_count; i++) {
        struct process *process = &processes->alive[i];
        if (process->is_visited)
            processes->alive[kept++] = *process;
        else if (process->resident > 0)
            write_resident(processes, process, now, 0);
    }
    processes->alive_count = kept;
}

/* Breadth first: the list grows while it is walked. */
static bool walk_tree(struct processes *processes, int64_t now, struct status *status) {
    int64_t began = clock_now();
    for (size_t i = 0; i < processes->alive_count; i++)
        processes->alive[i].is_visited = false;
    bool ok = processes->root ? visit_process(processes, processes->root, status)
                              : visit_children(processes, (int64_t)getpid(), status);
    for (size_t i = 0; i < processes->alive_count && ok; i++)
        if (processes->alive[i].is_visited)
            ok = visit_children(processes, processes->alive[i].pid, status);
    remove_ended(processes, now);
    processes->next_walk = now + (clock_now() - began) * WALK_SHARE;
    return ok;
}

/* Less and less often: libraries are loaded early. */
static void look_for_apis(struct processes *processes, struct process *process, int64_t now) {
    if (!processes->apis || now < process->next_look)
        return;
    int64_t age = process->looked_from ? now - process->looked_from : 0;
    if (!process->looked_from)
        process->looked_from = now;
    process->next_look = now + age;
    apis_read_maps(processes->apis, process->pid);
}

bool processes_sample(struct processes *processes, int64_t now, struct status *status) {
    int64_t sum = 0;
    if (now >= processes->next_walk && !walk_tree(processes, now, status))
        return false;
    for (size_t i = 0; i < processes->alive_count; i++) {
        int64_t bytes = read_resident(processes->alive[i].pid);
        look_for_apis(processes, &processes->alive[i], now);
        sum += bytes;
        if (i < COUNTERS_MAX)
            write_resident(processes, &processes->alive[i], now, bytes);
    }
    if (sum != processes->last_sum)
        write_counter(processes, now,
                      trace_writer_string(processes->writer, TEXT("resident memory")), sum);
    processes->last_sum = sum;
    return true;
}

#else

bool processes_sample(struct processes *processes, int64_t now, struct status *status) {
    (void)processes, (void)now, (void)status;
    return true;
}

#endif
