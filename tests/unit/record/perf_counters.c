/* Counters per process, with software counters in place of hardware counters. */
#include "../test.h"

#ifdef __linux__
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/perf/perf_counters.h"
#include "trace/reader.h"

#define CLOCK                                                                                      \
    { "cycles", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK }
static const struct perf_counter_kind software[PERF_COUNTERS] = {CLOCK, CLOCK, CLOCK, CLOCK,
                                                                 CLOCK, CLOCK, CLOCK, CLOCK};
static const struct perf_counter_kind none[PERF_COUNTERS] = {{"cycles", 9999, 0}};

static void work(long milliseconds) {
    struct timespec now;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
}

/* Waits for a byte, works, and reports its end. */
static pid_t start_child(int go[2], int done[2]) {
    if (pipe(go) != 0 || pipe(done) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        if (read(go[0], &byte, 1) != 1)
            _exit(1);
        work(60);
        if (write(done[1], "d", 1) != 1 || read(go[0], &byte, 1) != 1)
            _exit(1);
        _exit(0);
    }
    return pid;
}

static int64_t meta_integer(const struct trace *trace, const char *key) {
    int64_t value;
    return text_to_i64(trace_meta(trace, key), &value) ? value : -1;
}

static struct trace *write_and_read(struct perf_counters *counters) {
    struct status status;
    struct trace *trace = NULL;
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    if (!writer)
        return NULL;
    perf_counters_write(counters, writer, 1000);
    CHECK_OK(trace_writer_finish(writer, &status), status);
    trace_writer_destroy(writer);
    close(fd);
    CHECK_OK(trace_open(path, &trace, &status), status);
    return trace;
}

TEST(a_machine_without_counters_is_told_in_the_trace) {
    struct perf_counters counters = {0};
    perf_counters_close(&counters);
    perf_counters_open(&counters, getpid(), none);
    CHECK(counters.missing[0]);
    perf_counters_add_process(&counters, getppid());
    struct trace *trace = write_and_read(&counters);
    REQUIRE(trace != NULL);
    CHECK(trace_meta(trace, META_COUNTERS_MISSING).length > 0);
    CHECK(trace_meta(trace, "counter.cycles").length == 0);
    trace_close(trace);
    perf_counters_close(&counters);
}

/* As a user who may not look at the first process. */
TEST(a_user_without_the_right_to_count_is_told_the_setting) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        struct perf_counters counters = {0};
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(2);
        perf_counters_open(&counters, 1, software);
        _exit(!counters.missing[0] ? 2 : strstr(counters.missing, "perf_event_paranoid") ? 0 : 1);
    }
    int ended;
    REQUIRE(waitpid(child, &ended, 0) == child && WIFEXITED(ended));
    if (WEXITSTATUS(ended) == 2)
        test_skip("every process may be counted here");
    else
        CHECK_INT(WEXITSTATUS(ended), 0);
}

/* Its child works ten times as long as the process itself. */
static pid_t start_parent(int go[2]) {
    if (pipe(go) != 0)
        return -1;
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char byte;
    if (read(go[0], &byte, 1) != 1)
        _exit(1);
    pid_t child = fork();
    if (child == 0) {
        work(200);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    work(20);
    _exit(0);
}

TEST(a_process_that_is_followed_does_not_count_for_its_children) {
    struct perf_counters counters = {0};
    int go[2];
    char key[64];
    pid_t parent = start_parent(go);
    REQUIRE(parent > 0);
    perf_counters_open(&counters, getpid(), software);
    for (unsigned i = 0; i < PERF_COUNTERS; i++) /* otherwise they wait for exec() */
        ioctl(counters.fds[i], PERF_EVENT_IOC_ENABLE, 0);
    perf_counters_add_process(&counters, parent);
    CHECK(write(go[1], "g", 1) == 1);
    waitpid(parent, NULL, 0);
    bool follows = counters.process_count == 1; /* Linux 5.13 */
    struct trace *trace = write_and_read(&counters);
    REQUIRE(trace != NULL);
    snprintf(key, sizeof key, "counter.%ld.cycles", (long)parent);
    if (follows) /* nanoseconds */
        CHECK(meta_integer(trace, key) >= 10000000 && meta_integer(trace, key) < 100000000);
    else
        test_skip("perf events of a process alone cannot be used here");
    trace_close(trace);
    perf_counters_close(&counters);
    close(go[0]);
    close(go[1]);
}

TEST(a_process_that_is_followed_has_counts_of_its_own) {
    struct perf_counters counters = {0};
    int go[2], done[2];
    char byte, key[64];
    pid_t child = start_child(go, done);
    REQUIRE(child > 0);
    perf_counters_open(&counters, getpid(), software);
    if (counters.missing[0]) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        perf_counters_close(&counters);
        test_skip("perf events cannot be used here");
        return;
    }
    for (unsigned i = 0; i < PERF_COUNTERS; i++) /* otherwise they wait for exec() */
        ioctl(counters.fds[i], PERF_EVENT_IOC_ENABLE, 0);
    perf_counters_add_process(&counters, child);
    CHECK(counters.process_count <= 1);
    CHECK(write(go[1], "g", 1) == 1 && read(done[0], &byte, 1) == 1);
    perf_counters_end_process(&counters, child);
    perf_counters_end_process(&counters, child);
    CHECK(write(go[1], "g", 1) == 1);
    waitpid(child, NULL, 0);
    bool follows = counters.process_count == 1; /* Linux 5.13 */
    struct trace *trace = write_and_read(&counters);
    REQUIRE(trace != NULL);
    snprintf(key, sizeof key, "counter.%ld.cycles", (long)child);
    if (follows) /* nanoseconds */
        CHECK(meta_integer(trace, key) >= 30000000 && meta_integer(trace, key) < 10000000000);
    trace_close(trace);
    perf_counters_close(&counters);
    for (unsigned i = 0; i < 2; i++) {
        close(go[i]);
        close(done[i]);
    }
}
#endif
