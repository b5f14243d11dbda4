/* The counters form two groups of four, because most CPUs have four: values that are divided by
 * each other are counted at the same time. Where the groups are multiplexed, the counts are scaled
 * by the time that each was running.
 *
 * The target's counters are inherited by all descendants, so they hold the totals. Each further
 * process gets its own counters when its fork record is read; the target's share is the total minus
 * theirs. With one process nothing is counted twice. */
#ifdef __linux__
#include "record/perf/perf_counters.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"

#define CACHE(cache, result)                                                                       \
    PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |                               \
        PERF_COUNT_HW_CACHE_RESULT_##result << 16

enum {
    GROUP_SIZE = 4,
    PROCESSES_MAX = 64, /* processes with their own counters at a time */
    THREADS_MAX = 64,   /* per process, when it is added */
};

const struct perf_counter_kind perf_hardware_counters[PERF_COUNTERS] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"L1d-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS)},
    {"L1d-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, MISS)},
    {"LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, ACCESS)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, MISS)},
};

struct followed_process {
    pid_t pid;
    int (*fds)[PERF_COUNTERS]; /* per thread; NULL: it has ended */
    size_t threads;
    double counts[PERF_COUNTERS]; /* after its end; < 0: not counted */
};

/* ---- Threads ----------------------------------------------------------------------------- */

/* Sets inherit_thread (Linux 5.13), which older headers lack: bit 35 of the flags, which follow
 * five 64-bit words. */
static void inherit_by_threads(struct perf_event_attr *attributes) {
    uint64_t flags;
    char *at = (char *)attributes + 5 * sizeof flags;
    memcpy(&flags, at, sizeof flags);
    flags |= (uint64_t)1 << 35;
    memcpy(at, &flags, sizeof flags);
}

static int open_counter(const struct perf_counter_kind *kind, pid_t thread, int leader,
                        bool user_only, bool is_target) {
    struct perf_event_attr attributes = {
        .type = kind->type,
        .size = sizeof attributes,
        .config = kind->config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = is_target && leader < 0,
        .enable_on_exec = is_target && leader < 0,
        .inherit = 1,
        .exclude_kernel = user_only,
        .exclude_hv = 1,
    };
    if (!is_target)
        inherit_by_threads(&attributes);
    return (int)syscall(SYS_perf_event_open, &attributes, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* Opens all counters of a thread. False when there is none; errno is the reason. */
static bool open_counters(struct perf_counters *counters, pid_t thread, bool is_target,
                          int fds[PERF_COUNTERS]) {
    bool any = false;
    int reason = 0, leader = -1;
    for (unsigned i = 0; i < PERF_COUNTERS; i++) {
        const struct perf_counter_kind *kind = &counters->kinds[i];
        if (i % GROUP_SIZE == 0)
            leader = -1;
        int fd = open_counter(kind, thread, leader, counters->user_only, is_target);
        if (fd < 0 && (errno == EACCES || errno == EPERM) && is_target && !counters->user_only) {
            counters->user_only = true;
            fd = open_counter(kind, thread, leader, true, is_target);
        }
        if (fd < 0 && leader >= 0) /* the group may be too large */
            fd = open_counter(kind, thread, -1, counters->user_only, is_target);
        fds[i] = fd;
        if (fd < 0)
            reason = errno;
        else if (leader < 0)
            leader = fd;
        any |= fd >= 0;
    }
    errno = reason;
    return any;
}

static void close_counters(int fds[PERF_COUNTERS]) {
    for (unsigned i = 0; i < PERF_COUNTERS; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* False when it never ran. */
static bool read_count(int fd, double *count) {
    uint64_t values[3]; /* count, time enabled, time running */
    if (fd < 0 || read(fd, values, sizeof values) != sizeof values || values[2] == 0)
        return false;
    *count = (double)values[0] * ((double)values[1] / (double)values[2]);
    return true;
}

/* ---- The target -------------------------------------------------------------------------- */

static void explain_missing(struct perf_counters *counters, int reason) {
    snprintf(counters->missing, sizeof counters->missing, "%s",
             reason == EACCES || reason == EPERM
                 ? "hardware counters are not permitted for this user; "
                   "sudo sysctl kernel.perf_event_paranoid=2"
                 : "this machine has no hardware counters (in a virtual machine the host must "
                   "expose them)");
}

void perf_counters_open(struct perf_counters *counters, pid_t target,
                        const struct perf_counter_kind *kinds) {
    *counters = (struct perf_counters){.kinds = kinds, .target = target};
    if (!open_counters(counters, target, true, counters->fds))
        explain_missing(counters, errno);
}

static void close_process(struct followed_process *process) {
    for (size_t i = 0; i < process->threads && process->fds; i++)
        close_counters(process->fds[i]);
    memory_free(process->fds);
    process->fds = NULL;
}

void perf_counters_close(struct perf_counters *counters) {
    if (!counters->kinds)
        return;
    close_counters(counters->fds);
    for (size_t i = 0; i < counters->process_count; i++)
        close_process(&counters->processes[i]);
    memory_free(counters->processes);
    map_finish(&counters->by_pid);
    *counters = (struct perf_counters){0};
}

/* ---- Other processes --------------------------------------------------------------------- */

static size_t open_process_count(const struct perf_counters *counters) {
    size_t alive = 0;
    for (size_t i = 0; i < counters->process_count; i++)
        alive += counters->processes[i].fds != NULL;
    return alive;
}

static void open_threads(struct perf_counters *counters, struct followed_process *process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)process->pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry;
         threads && process->threads < THREADS_MAX && (entry = readdir(threads));) {
        long tid = strtol(entry->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        int *fds = process->fds[process->threads];
        if (open_counters(counters, (pid_t)tid, false, fds))
            process->threads++;
        else
            close_counters(fds);
    }
    if (threads)
        closedir(threads);
}

void perf_counters_add_process(struct perf_counters *counters, pid_t pid) {
    struct status ignored; /* on failure the process counts for the target */
    if (!counters->kinds || counters->missing[0] || pid == counters->target ||
        open_process_count(counters) >= PROCESSES_MAX)
        return;
    perf_counters_end_process(counters, pid); /* pids are reused */
    if (!GROW(counters->processes, &counters->process_capacity, counters->process_count + 1,
              &ignored))
        return;
    struct followed_process process = {.pid = pid};
    process.fds = memory_allocate(THREADS_MAX, sizeof *process.fds, &ignored);
    if (!process.fds)
        return;
    open_threads(counters, &process);
    if (process.threads == 0 ||
        !map_set(&counters->by_pid, (uint64_t)pid, counters->process_count, &ignored)) {
        close_process(&process);
        return;
    }
    counters->processes[counters->process_count++] = process;
}

/* The sum over the process's threads; < 0: not counted. */
static double count_of(const struct followed_process *process, unsigned kind) {
    double sum = 0, count;
    bool any = false;
    if (!process->fds)
        return process->counts[kind];
    for (size_t i = 0; i < process->threads; i++)
        if (read_count(process->fds[i][kind], &count)) {
            sum += count;
            any = true;
        }
    return any ? sum : -1;
}

void perf_counters_end_process(struct perf_counters *counters, pid_t pid) {
    const uint64_t *place = counters->kinds ? map_find(&counters->by_pid, (uint64_t)pid) : NULL;
    struct followed_process *process = place ? &counters->processes[*place] : NULL;
    if (!process || !process->fds)
        return;
    for (unsigned i = 0; i < PERF_COUNTERS; i++)
        process->counts[i] = count_of(process, i);
    close_process(process);
}

/* ---- Writing ----------------------------------------------------------------------------- */

static void write_process(struct trace_writer *writer, pid_t pid, const char *name, double count) {
    char key[96];
    snprintf(key, sizeof key, META_COUNTER "%ld.%s", (long)pid, name);
    trace_writer_meta_integer(writer, key, (int64_t)count);
}

/* Each process's count, and the rest for the target. */
static void write_processes(const struct perf_counters *counters, struct trace_writer *writer,
                            unsigned kind, double total) {
    const char *name = counters->kinds[kind].name;
    for (size_t i = 0; i < counters->process_count; i++) {
        double count = count_of(&counters->processes[i], kind);
        if (count < 0)
            continue;
        write_process(writer, counters->processes[i].pid, name, count);
        total -= count;
    }
    if (counters->process_count)
        write_process(writer, counters->target, name, total > 0 ? total : 0);
}

void perf_counters_write(const struct perf_counters *counters, struct trace_writer *writer,
                         int64_t time) {
    if (counters->missing[0])
        trace_writer_meta(writer, META_COUNTERS_MISSING, text_of(counters->missing));
    for (unsigned i = 0; i < PERF_COUNTERS && counters->kinds; i++) {
        const char *name = counters->kinds[i].name;
        char key[64];
        double total;
        if (!read_count(counters->fds[i], &total))
            continue;
        snprintf(key, sizeof key, META_COUNTER "%s", name);
        trace_writer_meta_integer(writer, key, (int64_t)total);
        trace_write_counter(writer, &(struct row_counter){
                                        .time = time,
                                        .name = trace_writer_string(writer, text_of(name)),
                                        .value = total,
                                    });
        write_processes(counters, writer, i, total);
    }
}
#endif
