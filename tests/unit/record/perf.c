/* Samples a program with known behavior: samples are in its hot functions, thread states have no
 * gaps, and children, exec and names are recorded. */
#include "../test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf_target.h"
#include "record/perf/perf.h"
#include "trace/reader.h"

struct recording {
    pid_t pid;
    struct trace *trace;
    uint64_t samples, lost;
};

static bool drain_until_it_ends(struct perf *perf, struct trace_writer *writer, pid_t pid) {
    struct status status;
    int ended = 0;
    while (waitpid(pid, &ended, WNOHANG) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        CHECK_OK(perf_drain(perf, writer, &status), status);
    }
    CHECK_OK(perf_finish(perf, writer, &status), status);
    return WIFEXITED(ended) && WEXITSTATUS(ended) == 3;
}

/* False when the test cannot go on; it has failed then, or was skipped. */
static bool record(struct recording *recording, const char *part, enum perf_stacks stacks) {
    struct status status;
    int go;
    *recording = (struct recording){.pid = perf_target_start(part, &go)};
    struct perf_options options = {.rate = 999, .stacks = stacks, .counters = true};
    struct perf *perf = perf_open(recording->pid, &options, &status);
    if (!perf) {
        close(go);
        waitpid(recording->pid, NULL, 0);
        CHECK(status.code == STATUS_UNSUPPORTED);
        test_skip("perf events cannot be used here");
        return false;
    }
    const char *path = test_temporary(".ridge");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    bool ok = writer && write(go, "g", 1) == 1;
    close(go);
    ok = ok && drain_until_it_ends(perf, writer, recording->pid) &&
         trace_writer_finish(writer, &status);
    recording->samples = perf_samples(perf);
    recording->lost = perf_lost(perf);
    trace_writer_destroy(writer);
    perf_close(perf);
    close(fd);
    ok = ok && trace_open(path, &recording->trace, &status) &&
         trace_load(recording->trace, TABLE_SAMPLE, NULL, &status) &&
         trace_load(recording->trace, TABLE_STATE, NULL, &status);
    CHECK(ok);
    return ok;
}

static uint32_t thread_named(const struct trace *trace, const char *name) {
    for (uint32_t i = 1; i < trace->thread.count; i++)
        if (text_is(intern_text(&trace->strings, trace->thread.name[i]), name))
            return i;
    return 0;
}

static uint32_t thread_of(const struct trace *trace, pid_t tid) {
    for (uint32_t i = 1; i < trace->thread.count; i++)
        if (trace->thread.tid[i] == tid)
            return i;
    return 0;
}

static bool frame_is(const struct trace *trace, uint32_t stack, const char *function) {
    return text_is(intern_text(&trace->strings, trace->stack.function[stack]), function);
}

/* Samples of a thread (0: of any) whose innermost function is that one (NULL: any). */
static size_t samples_in(const struct trace *trace, uint32_t thread, const char *function) {
    size_t count = 0;
    for (size_t i = 0; i < trace->sample.count; i++)
        count += (!thread || trace->sample.thread[i] == thread) &&
                 (!function || frame_is(trace, trace->sample.stack[i], function));
    return count;
}

struct life {
    int64_t first, last, in_state[STATE_KINDS];
};

static struct life life_of(const struct trace *trace, uint32_t thread) {
    struct life life = {.first = INT64_MAX, .last = INT64_MIN};
    for (size_t i = 0; i < trace->state.count; i++) {
        int64_t start = trace->state.start[i], end = start + trace->state.duration[i];
        if (trace->state.thread[i] != thread || trace->state.state[i] >= STATE_KINDS)
            continue;
        CHECK(trace->state.duration[i] > 0);
        life.in_state[trace->state.state[i]] += trace->state.duration[i];
        life.first = start < life.first ? start : life.first;
        life.last = end > life.last ? end : life.last;
    }
    return life;
}

TEST(samples_are_in_the_function_that_works) {
    struct recording recording;
    if (!record(&recording, "threads", PERF_STACKS_FP))
        return;
    const struct trace *trace = recording.trace;
    uint32_t main_thread = thread_of(trace, recording.pid);
    size_t all = samples_in(trace, main_thread, NULL);
    CHECK_INT(recording.samples, trace->sample.count);
    CHECK(all > 20);
    CHECK(samples_in(trace, main_thread, "perf_target_spin") > all / 2);
    for (size_t i = 0; i < trace->sample.count; i++)
        CHECK_INT(trace->sample.weight[i], 1000000000 / 999);
    int64_t ran = life_of(trace, main_thread).in_state[STATE_RUNNING];
    CHECK((int64_t)all * (1000000000 / 999) < 2 * ran); /* the requested rate */
    trace_close(recording.trace);
}

TEST(the_states_of_a_thread_fill_its_life_and_tell_working_from_waiting) {
    struct recording recording;
    if (!record(&recording, "threads", PERF_STACKS_FP))
        return;
    const struct trace *trace = recording.trace;
    uint32_t worker = thread_of(trace, recording.pid), waiter = thread_named(trace, "waiter");
    CHECK(worker && waiter && worker != waiter);
    CHECK(trace->thread.process[worker] == trace->thread.process[waiter]);
    struct life lives[2] = {life_of(trace, worker), life_of(trace, waiter)};
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(lives[i].in_state[STATE_RUNNING] + lives[i].in_state[STATE_READY] +
                      lives[i].in_state[STATE_BLOCKED],
                  lives[i].last - lives[i].first);
    CHECK(lives[0].in_state[STATE_RUNNING] > 150000000);
    CHECK(lives[1].in_state[STATE_BLOCKED] > lives[1].in_state[STATE_RUNNING]);
    CHECK(lives[1].in_state[STATE_BLOCKED] > 100000000);
    trace_close(recording.trace);
}

TEST(children_and_the_programs_that_they_execute_are_followed) {
    struct recording recording;
    if (!record(&recording, "children", PERF_STACKS_FP))
        return;
    const struct trace *trace = recording.trace;
    CHECK_INT(trace->process.count, 4); /* row 0 is none */
    uint32_t shell = thread_named(trace, "sh");
    CHECK(shell && trace->thread.tid[shell] != recording.pid);
    for (uint32_t i = 1; i < trace->thread.count; i++) /* a child is called as its parent */
        CHECK(i == shell || text_is(trace_text(trace, trace->thread.name[i]), "exe"));
    CHECK(samples_in(trace, shell, "perf_target_spin") == 0);
    CHECK(samples_in(trace, 0, "perf_target_spin") > 0);
    CHECK(samples_in(trace, thread_of(trace, recording.pid), "perf_target_spin") == 0);
    trace_close(recording.trace);
}

TEST(functions_of_made_code_are_sampled_by_name) {
    struct recording recording;
    if (!record(&recording, "compiler", PERF_STACKS_FP))
        return;
    const struct trace *trace = recording.trace;
    size_t all = samples_in(trace, 0, NULL);
    CHECK(samples_in(trace, 0, "count_down (loop.py)") > all / 2);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)recording.pid);
    unlink(path);
    trace_close(recording.trace);
}

TEST(tables_show_who_called_code_without_frame_pointers) {
    struct recording recording;
    if (!record(&recording, "threads", PERF_STACKS_DWARF))
        return;
    const struct trace *trace = recording.trace;
    size_t under = 0, spinning = 0;
    for (size_t i = 0; i < trace->sample.count; i++) {
        uint32_t stack = trace->sample.stack[i];
        spinning += frame_is(trace, stack, "perf_target_spin");
        if (frame_is(trace, stack, "perf_target_spin"))
            under += trace->stack.parent[stack] != 0;
    }
    CHECK(spinning > 20);
    CHECK(under > spinning / 2);
    trace_close(recording.trace);
}

/* On a busy machine the reader may come too late once. */
TEST(samples_of_many_busy_threads_are_kept) {
    bool kept = false;
    for (unsigned tries = 0; tries < 5 && !kept; tries++) {
        struct recording recording;
        if (!record(&recording, "crowd", PERF_STACKS_DWARF))
            return;
        kept =
            recording.samples > PERF_TARGET_CROWD * 10 && recording.samples > 10 * recording.lost;
        trace_close(recording.trace);
    }
    CHECK(kept);
}

TEST(a_target_that_never_starts_leaves_an_empty_recording) {
    struct status status;
    int go;
    pid_t pid = perf_target_start("threads", &go);
    struct perf *perf = perf_open(pid, &(struct perf_options){.rate = 999}, &status);
    close(go);
    waitpid(pid, NULL, 0);
    if (!perf) {
        test_skip("perf events cannot be used here");
        return;
    }
    int fd = open(test_temporary(".ridge"), O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    struct trace_writer *writer =
        trace_writer_create(fd, &(struct trace_writer_options){.session = 1, .writer = 1}, &status);
    REQUIRE(writer);
    CHECK_OK(perf_drain(perf, writer, &status), status);
    CHECK_OK(perf_finish(perf, writer, &status), status);
    CHECK_INT(perf_samples(perf), 0);
    /* others may still ask for its rows, and get the same one each time */
    uint32_t row = perf_thread_row(perf, writer, getpid(), getpid());
    CHECK(row != 0);
    CHECK_INT(perf_thread_row(perf, writer, getpid(), getpid()), row);
    trace_writer_destroy(writer);
    perf_close(perf);
    close(fd);
}
