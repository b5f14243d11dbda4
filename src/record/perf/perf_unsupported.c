/* Without Linux there are no perf events: perf_open() fails. */
#ifndef __linux__
#include "record/perf/perf.h"

#include <stddef.h>

struct perf *perf_open(pid_t target, const struct perf_options *options, struct status *status) {
    (void)target, (void)options;
    status_fail(status, STATUS_UNSUPPORTED,
                "perf events exist on Linux only; on macOS xctrace samples the CPU (see docs/macos.md)");
    return NULL;
}

void perf_close(struct perf *perf) {
    (void)perf;
}

const char *perf_counters_missing(const struct perf *perf) {
    (void)perf;
    return "hardware counters are only available on Linux";
}

unsigned perf_drain_interval_ms(const struct perf *perf) {
    (void)perf;
    return PERF_DRAIN_INTERVAL_MS;
}

bool perf_drain(struct perf *perf, struct trace_writer *writer, struct status *status) {
    (void)perf, (void)writer, (void)status;
    return true;
}

bool perf_finish(struct perf *perf, struct trace_writer *writer, struct status *status) {
    (void)perf, (void)writer, (void)status;
    return true;
}

void perf_watch_libraries(struct perf *perf, struct apis *apis) {
    (void)perf, (void)apis;
}

void perf_set_window(struct perf *perf, int64_t from, int64_t until) {
    (void)perf, (void)from, (void)until;
}

void perf_set_captures(struct perf *perf, const struct captures *captures) {
    (void)perf, (void)captures;
}

uint64_t perf_processes(const struct perf *perf) {
    (void)perf;
    return 0;
}

bool perf_list_processes(const struct perf *perf, struct map *pids, struct status *status) {
    (void)perf, (void)pids, (void)status;
    return true;
}

uint64_t perf_samples(const struct perf *perf) {
    (void)perf;
    return 0;
}

uint64_t perf_lost(const struct perf *perf) {
    (void)perf;
    return 0;
}

struct perf_python perf_python(const struct perf *perf) {
    (void)perf;
    return (struct perf_python){0};
}

const char *perf_note(const struct perf *perf, unsigned index) {
    (void)perf, (void)index;
    return NULL;
}

uint32_t perf_thread_row(struct perf *perf, struct trace_writer *writer, int64_t pid, int64_t tid) {
    (void)perf, (void)writer, (void)pid, (void)tid;
    return 0;
}

uint32_t perf_stack_row(struct perf *perf, struct trace_writer *writer, int64_t pid,
                        const uint64_t *addresses, size_t count) {
    (void)perf, (void)writer, (void)pid, (void)addresses, (void)count;
    return 0;
}

void perf_reset_rows(struct perf *perf) {
    (void)perf;
}
#endif
