/* Starts the command, or ridge record of it, waits, and reads what is known of the run: time,
 * memory, what it printed, and its trace. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/temporary.h"
#include "cmd/check.h"
#include "import/import.h"

extern char **environ;

enum { WORDS_MAX = 512, TAIL_SIZE = 400, PRINTED_SIZE = 1 << 20 };

static bool own_path(char path[PROCESS_PATH_SIZE], struct status *status) {
    process_path(path);
    return *path || status_fail_errno(status, "cannot find ridge itself");
}

/* ---- starting ---- */

/* What the program printed last, on one line. */
static void read_tail(const char *log, char tail[TAIL_SIZE]) {
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0;
    if (fd >= 0) {
        off_t size = lseek(fd, 0, SEEK_END);
        length = pread(fd, tail, TAIL_SIZE - 1, size > TAIL_SIZE - 1 ? size - (TAIL_SIZE - 1) : 0);
        close(fd);
    }
    tail[length > 0 ? length : 0] = 0;
    while (length > 0 && strchr(" \n\t", tail[length - 1]))
        tail[--length] = 0;
}

static bool failed(const char *what, int ended, const char *log, struct status *status) {
    char tail[TAIL_SIZE];
    read_tail(log, tail);
    const char *printed = *tail ? ": " : " nothing";
    if (WIFSIGNALED(ended))
        return status_fail(status, STATUS_IO, "%s was killed by signal %d; it printed%s%s", what,
                           WTERMSIG(ended), printed, tail);
    return status_fail(status, STATUS_IO, "%s exited with status %d; it printed%s%s", what,
                       WEXITSTATUS(ended), printed, tail);
}

static bool start(const char *const *words, const char *log, pid_t *child, struct status *status) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    errno = posix_spawnp(child, words[0], &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return errno == 0 || status_fail_errno(status, "cannot start %s", words[0]);
}

static double cpu_ns(const struct rusage *usage) {
    return ((double)usage->ru_utime.tv_sec + (double)usage->ru_stime.tv_sec) * 1e9 +
           ((double)usage->ru_utime.tv_usec + (double)usage->ru_stime.tv_usec) * 1e3;
}

static bool run_words(const char *const *words, const char *what, const char *log,
                      struct run_values *values, struct status *status) {
    struct rusage usage;
    int ended;
    pid_t child;
    int64_t began = clock_now();
    if (!start(words, log, &child, status))
        return false;
    while (wait4(child, &ended, 0, &usage) < 0)
        if (errno != EINTR)
            return status_fail_errno(status, "cannot wait for %s", what);
    values->values[METRIC_WALL] = (double)(clock_now() - began);
    values->known[METRIC_WALL] = true;
    values->values[METRIC_CPU] = cpu_ns(&usage);
    values->known[METRIC_CPU] = values->values[METRIC_CPU] > 0;
#if defined(__APPLE__)
    values->values[METRIC_MEMORY] = (double)usage.ru_maxrss;
#else
    values->values[METRIC_MEMORY] = (double)usage.ru_maxrss * 1024;
#endif
    values->known[METRIC_MEMORY] = usage.ru_maxrss > 0;
    return (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) || failed(what, ended, log, status);
}

/* ---- what it printed ---- */

/* Nanoseconds of the unit of time behind a number; 0: there is none. */
static double unit_of_time(const char *text) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"\xC2\xB5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    text += strspn(text, " ");
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].unit);
        if (strncmp(text, units[i].unit, length) == 0 && !isalnum((unsigned char)text[length]) &&
            text[length] != '/')
            return units[i].ns;
    }
    return 0;
}

static void match_last(const struct check_pattern *pattern, const char *text, unsigned metric,
                       struct run_values *values) {
    regmatch_t groups[2];
    while (regexec(&pattern->expression, text, 2, groups, 0) == 0) {
        const char *number = text + (groups[1].rm_so >= 0 ? groups[1].rm_so : groups[0].rm_so);
        char *end;
        double value = strtod(number, &end);
        if (end != number && value > 0 && value < 1e300) {
            double unit = unit_of_time(end);
            values->values[metric] = value * (unit > 0 ? unit : 1);
            values->known[metric] = true;
            values->is_time[metric - METRIC_PRINTED_FIRST] = unit > 0;
        }
        if (groups[0].rm_eo == 0 && text[0] == 0)
            break;
        text += groups[0].rm_eo > 0 ? groups[0].rm_eo : 1;
    }
}

/* Of the last megabyte. */
static bool read_printed(const struct check_measure *measure, struct run_values *values,
                         struct status *status) {
    if (measure->pattern_count == 0)
        return true;
    char *text = memory_allocate(PRINTED_SIZE + 1, 1, status);
    int fd = text ? open(measure->log, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        off_t size = lseek(fd, 0, SEEK_END);
        ssize_t length =
            pread(fd, text, PRINTED_SIZE, size > PRINTED_SIZE ? size - PRINTED_SIZE : 0);
        text[length > 0 ? length : 0] = 0;
        for (ssize_t i = 0; i < length; i++)
            text[i] = text[i] ? text[i] : ' ';
        close(fd);
        for (unsigned i = 0; i < measure->pattern_count; i++)
            match_last(&measure->patterns[i], text, METRIC_PRINTED_FIRST + i, values);
    }
    bool ok = text != NULL;
    memory_free(text);
    return ok;
}

/* ---- its trace ---- */

static void take_times(const struct side *side, struct run_values *values) {
    const struct memory_use *memory = &side->report->memory[side->device->id];
    values->values[METRIC_STEP] = (double)side->step;
    values->known[METRIC_STEP] = strcmp(side->unit, "step") == 0;
    values->values[METRIC_BUSY] = (double)side->part_time[PART_BUSY];
    values->known[METRIC_BUSY] = side->part_time[PART_BUSY] > 0;
    values->values[METRIC_DEVICE_MEMORY] = (double)memory->high_water;
    values->known[METRIC_DEVICE_MEMORY] = memory->high_water > 0;
}

static void take_counts(const struct side *side, struct run_values *values) {
    for (unsigned i = 0; i < SIDE_COUNTS; i++) {
        values->values[METRIC_COUNT_FIRST + i] = (double)side->count_median[i];
        values->known[METRIC_COUNT_FIRST + i] = side->counts_known[i];
    }
}

/* Counts are those of a step where steps are marked. A repeating sequence may be a layer, of which
 * there can be more: without marks the whole run is counted. */
static bool read_device(const struct report *report, size_t device, struct run_values *values,
                        struct status *status) {
    struct side side;
    if (!side_build(&side, report, device, false, status))
        return false;
    take_times(&side, values);
    take_counts(&side, values);
    bool marked = strcmp(side.unit, "step") == 0 && report->steps.source != STEPS_PERIODIC;
    side_finish(&side);
    if (marked)
        return true;
    if (!side_build(&side, report, device, true, status))
        return false;
    take_counts(&side, values);
    side_finish(&side);
    return true;
}

static bool read_trace(const char *path, struct run_values *values, struct status *status) {
    struct import_options import = {0};
    struct report_options options = {
        .trace_name = path, .top = 1, .steady = true, .no_verdict = true};
    struct report report;
    struct trace *trace;
    if (!import_open(path, &import, &trace, status))
        return false;
    bool ok = report_build(&report, trace, &options, status);
    if (ok) {
        size_t device = side_main_device(&report);
        ok = device == SIZE_MAX || read_device(&report, device, values, status);
        report_finish(&report);
    }
    trace_close(trace);
    return ok;
}

static bool run_recorded(const struct check_measure *measure, const char *const *words,
                         const char *trace, struct run_values *values, struct status *status) {
    char path[PROCESS_PATH_SIZE];
    const char *all[WORDS_MAX] = {path,       "record", "--quiet", "--force", "--no-sampling",
                                  "--output", trace,    "--"};
    size_t count = 8;
    if (!own_path(path, status))
        return false;
    for (size_t i = 0; words[i]; i++) {
        if (count == WORDS_MAX - 1)
            return status_fail(status, STATUS_USAGE, "the command has more than %d words",
                               WORDS_MAX - 9);
        all[count++] = words[i];
    }
    return run_words(all, words[0], measure->log, values, status) &&
           read_trace(trace, values, status);
}

bool check_run(const struct check_measure *measure, const char *const *words, const char *trace,
               struct run_values *values, struct status *status) {
    char *temporary = NULL;
    int fd;
    *values = (struct run_values){0};
    if (!measure->record)
        return run_words(words, words[0], measure->log, values, status) &&
               read_printed(measure, values, status);
    if (!trace) {
        if (!temporary_file(&temporary, &fd, status))
            return false;
        close(fd);
    }
    bool ok = run_recorded(measure, words, trace ? trace : temporary, values, status) &&
              read_printed(measure, values, status);
    temporary_remove(temporary);
    return ok;
}
