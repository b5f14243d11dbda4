/* Two groups of four, because that is how many counters most processors have: what is divided by
 * one another is counted at the same time. Where the groups have to take turns the kernel tells for
 * how long each counted, and the totals are scaled to the whole. Children inherit the counters, and
 * their counts are in the totals. */
#ifdef __linux__
#include "record/perf_counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE(cache, result)                                                                       \
    PERF_COUNT_HW_CACHE_##cache | PERF_COUNT_HW_CACHE_OP_READ << 8 |                               \
        PERF_COUNT_HW_CACHE_RESULT_##result << 16

enum { GROUP = 4 };

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} kinds[PERF_COUNTERS] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"L1d-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS)},
    {"L1d-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, MISS)},
    {"LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, ACCESS)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, MISS)},
};

static int open_counter(unsigned kind, pid_t target, int leader, bool user_only) {
    struct perf_event_attr attributes = {
        .type = kinds[kind].type,
        .size = sizeof attributes,
        .config = kinds[kind].config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = leader < 0,
        .enable_on_exec = leader < 0,
        .inherit = 1,
        .exclude_kernel = user_only,
        .exclude_hv = 1,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, target, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static bool is_refused(void) {
    return errno == EACCES || errno == EPERM;
}

static void explain_missing(struct perf_counters *counters, int reason) {
    snprintf(counters->missing, sizeof counters->missing, "%s",
             reason == EACCES || reason == EPERM
                 ? "hardware counters are not for this user; "
                   "sudo sysctl kernel.perf_event_paranoid=2"
                 : "this machine has no hardware counters (a virtual machine gets them when its "
                   "host passes them on)");
}

void perf_counters_open(struct perf_counters *counters, pid_t target) {
    bool user_only = false, any = false;
    int reason = 0, leader = -1;
    counters->missing[0] = 0;
    for (unsigned i = 0; i < PERF_COUNTERS; i++) {
        if (i % GROUP == 0)
            leader = -1;
        int fd = open_counter(i, target, leader, user_only);
        if (fd < 0 && is_refused() && !user_only) {
            user_only = true;
            fd = open_counter(i, target, leader, user_only);
        }
        if (fd < 0 && leader >= 0) /* the group may be full */
            fd = open_counter(i, target, -1, user_only);
        counters->fds[i] = fd;
        if (fd < 0)
            reason = errno;
        else if (leader < 0)
            leader = fd;
        any |= fd >= 0;
    }
    if (!any)
        explain_missing(counters, reason);
}

void perf_counters_close(struct perf_counters *counters) {
    for (unsigned i = 0; i < PERF_COUNTERS; i++) {
        if (counters->fds[i] >= 0)
            close(counters->fds[i]);
        counters->fds[i] = -1;
    }
}

/* False when it never counted. */
static bool read_total(int fd, double *total) {
    uint64_t values[3]; /* count, time enabled, time counting */
    if (fd < 0 || read(fd, values, sizeof values) != sizeof values || values[2] == 0)
        return false;
    *total = (double)values[0] * ((double)values[1] / (double)values[2]);
    return true;
}

void perf_counters_write(const struct perf_counters *counters, struct trace_writer *writer,
                         int64_t time) {
    for (unsigned i = 0; i < PERF_COUNTERS; i++) {
        char key[64];
        double total;
        if (!read_total(counters->fds[i], &total))
            continue;
        snprintf(key, sizeof key, "counter.%s", kinds[i].name);
        trace_writer_meta_integer(writer, key, (int64_t)total);
        trace_write_counter(writer, &(struct row_counter){
                                        .time = time,
                                        .name = trace_writer_string(writer, text_of(kinds[i].name)),
                                        .value = total,
                                    });
    }
}
#endif
