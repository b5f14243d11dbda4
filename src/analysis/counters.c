/* Collects meta rows with keys "counter.…" by process; values of several writers add up. */
#include "analysis/counters.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/writer.h"

const char *hardware_counter_name(unsigned counter) {
    static const char *const names[HARDWARE_COUNTERS] = {
        "cycles",          "instructions", "branches",       "branch-misses", "L1d-loads",
        "L1d-load-misses", "L2-loads",     "L2-load-misses", "LLC-loads",     "LLC-load-misses"};
    return counter < HARDWARE_COUNTERS ? names[counter] : "?";
}

const struct counter_figure_info counter_figures[COUNTER_FIGURES] = {
    {"IPC", "ipc", COUNTER_INSTRUCTIONS, COUNTER_CYCLES, 2.0, true},
    {"L1 misses", "l1_miss_rate", COUNTER_L1_MISSES, COUNTER_L1_LOADS, 0.05, false},
    {"L2 misses", "l2_miss_rate", COUNTER_L2_MISSES, COUNTER_L2_LOADS, 0.10, false},
    {"L3 misses", "llc_miss_rate", COUNTER_LLC_MISSES, COUNTER_LLC_LOADS, 0.20, false},
    {"mispredicted", "branch_miss_rate", COUNTER_BRANCH_MISSES, COUNTER_BRANCHES, 0.05, false},
};

static int counter_called(struct text name) {
    for (int counter = 0; counter < HARDWARE_COUNTERS; counter++)
        if (text_is(name, hardware_counter_name((unsigned)counter)))
            return counter;
    return -1;
}

/* "counter.NAME" or "counter.PID.NAME"; false for any other key. */
static bool parse_key(struct text key, int64_t *pid, int *counter) {
    size_t length = sizeof META_COUNTER - 1;
    *pid = 0;
    if (!text_starts(key, META_COUNTER))
        return false;
    struct text rest = {key.data + length, key.length - length};
    const char *dot = memchr(rest.data, '.', rest.length);
    if (dot) {
        size_t digits = (size_t)(dot - rest.data);
        if (!text_to_i64((struct text){rest.data, digits}, pid) || *pid <= 0)
            return false;
        rest = (struct text){dot + 1, rest.length - digits - 1};
    }
    *counter = counter_called(rest);
    return *counter >= 0;
}

static struct text process_name(const struct trace *trace, int64_t pid) {
    for (size_t id = 1; id < trace->process.count && pid; id++)
        if (trace->process.pid[id] == (uint64_t)pid)
            return trace_text(trace, trace->process.name[id]);
    return TEXT("");
}

static struct process_counters *find_process(struct counters *counters, size_t *capacity,
                                             const struct trace *trace, int64_t pid,
                                             struct status *status) {
    for (size_t i = 0; i < counters->count; i++)
        if (counters->processes[i].pid == pid)
            return &counters->processes[i];
    if (!GROW(counters->processes, capacity, counters->count + 1, status))
        return NULL;
    counters->processes[counters->count] =
        (struct process_counters){.pid = pid, .name = process_name(trace, pid)};
    return &counters->processes[counters->count++];
}

static int by_pid(const void *a, const void *b) {
    const struct process_counters *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

bool counters_find(const struct trace *trace, struct counters *counters, struct status *status) {
    size_t capacity = 0;
    memset(counters, 0, sizeof *counters);
    for (size_t i = 0; i < trace->meta.count; i++) {
        int64_t pid, value;
        int counter;
        if (!parse_key(trace_text(trace, trace->meta.key[i]), &pid, &counter) ||
            !text_to_i64(trace_text(trace, trace->meta.value[i]), &value) || value < 0)
            continue;
        struct process_counters *process = find_process(counters, &capacity, trace, pid, status);
        if (!process) {
            counters_finish(counters);
            return false;
        }
        process->has[counter] = true;
        process->total[counter] += (double)value;
    }
    if (counters->count)
        qsort(counters->processes, counters->count, sizeof *counters->processes, by_pid);
    else
        counters->missing = trace_meta(trace, META_COUNTERS_MISSING);
    return true;
}

void counters_finish(struct counters *counters) {
    memory_free(counters->processes);
    memset(counters, 0, sizeof *counters);
}

bool counters_figure(const struct process_counters *process, enum counter_figure figure,
                     double *value) {
    const struct counter_figure_info *info = &counter_figures[figure];
    if (!process->has[info->part] || !process->has[info->whole] || process->total[info->whole] <= 0)
        return false;
    *value = process->total[info->part] / process->total[info->whole];
    return true;
}
