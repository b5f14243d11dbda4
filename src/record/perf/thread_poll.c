/* The states between two polls are written as running, then ready, then blocked. Times that exceed
 * the interval, because the scheduler updates its sums at its own pace, are carried to the next.
 * Where ready times are not counted (macOS), the rest of an interval is blocked if the poll finds
 * the thread waiting, and otherwise unknown: no state.
 */
#include "record/perf/thread_poll.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "record/perf/perf_attach.h"

enum { POLL_SHARE = 100 }; /* a poll of duration t is followed by a pause of 100 t */

/* What was read of a thread. */
struct polled {
    int64_t tid;
    int64_t running, ready; /* sums that are accounted for */
    int64_t until;          /* time that is accounted for */
    unsigned seen;          /* number of the last poll that saw it */
};

struct thread_poll {
    pid_t root;
    struct perf_threads threads;
    struct map by_tid; /* index in `polled` */
    struct polled *polled;
    size_t count, capacity;
    unsigned polls;
    int64_t last, next; /* time of the last poll; earliest time of the next */
    const struct trace_writer *writer;
};

struct thread_poll *thread_poll_create(pid_t root) {
    struct status ignored;
    struct thread_poll *poll = memory_allocate(1, sizeof *poll, &ignored);
    if (poll) {
        poll->root = root;
        poll->last = clock_now();
    }
    return poll;
}

void thread_poll_destroy(struct thread_poll *poll) {
    if (!poll)
        return;
    perf_threads_finish(&poll->threads);
    map_finish(&poll->by_tid);
    memory_free(poll->polled);
    memory_free(poll);
}

struct perf_threads *thread_poll_threads(struct thread_poll *poll) {
    return &poll->threads;
}

static struct polled *find_polled(struct thread_poll *poll, int64_t tid, struct status *status) {
    const uint64_t *known = map_find(&poll->by_tid, (uint64_t)tid);
    if (known)
        return &poll->polled[*known];
    if (!GROW(poll->polled, &poll->capacity, poll->count + 1, status) ||
        !map_set(&poll->by_tid, (uint64_t)tid, poll->count, status))
        return NULL;
    poll->polled[poll->count] = (struct polled){.tid = tid};
    return &poll->polled[poll->count++];
}

/* The block that a poll sees began at the latest now; it stands for the rest of the interval. */
static bool read_block(const struct perf_thread *thread, struct trace_writer *writer,
                       struct perf_block *block) {
    struct blocking blocking;
    *block = (struct perf_block){0};
    if (!thread_files_block(thread->pid, thread->tid, &blocking))
        return false;
    *block = (struct perf_block){
        .on = blocking.on,
        .call = blocking.call.length ? trace_writer_string(writer, blocking.call) : 0};
    return true;
}

static bool is_same_block(const struct perf_thread *thread, const struct perf_block *block) {
    return thread->alive && thread->state == STATE_BLOCKED && thread->block.on == block->on &&
           thread->block.call == block->call;
}

/* Writes the states of one thread since `polled->until`. */
static void write_states(struct thread_poll *poll, struct perf_thread *thread,
                         struct polled *polled, const struct thread_times *times,
                         struct trace_writer *writer, int64_t now) {
    int64_t room = now - polled->until;
    int64_t running = MIN(MAX(times->running - polled->running, 0), room);
    int64_t ready = MIN(MAX(times->ready - polled->ready, 0), room - running);
    struct perf_block block;
    bool is_known = read_block(thread, writer, &block) || times->ready >= 0;
    polled->running += running;
    polled->ready += ready;
    if (running)
        perf_thread_set_state(&poll->threads, thread, writer, STATE_RUNNING, 0, polled->until);
    if (ready)
        perf_thread_set_state(&poll->threads, thread, writer, STATE_READY, 0,
                              polled->until + running);
    if (running + ready < room && !is_known) {
        perf_thread_end_state(&poll->threads, thread, writer, polled->until + running + ready);
    } else if (running + ready < room && !is_same_block(thread, &block)) {
        thread->next = block;
        perf_thread_set_state(&poll->threads, thread, writer, STATE_BLOCKED, 0,
                              polled->until + running + ready);
    }
    polled->until = now;
}

/* A thread that is new ran at most since the last poll. */
static bool read_thread(struct thread_poll *poll, const struct perf_existing *one,
                        struct trace_writer *writer, struct status *status) {
    struct thread_times times;
    if (!thread_files_times(one->pid, one->tid, &times) || times.running < 0)
        return true;
    struct perf_thread *thread = perf_threads_find(&poll->threads, one->pid, one->tid, status);
    struct polled *polled = thread ? find_polled(poll, one->tid, status) : NULL;
    if (!polled)
        return false;
    int64_t now = clock_now();
    if (!thread->alive && polled->seen + 1 != poll->polls) {
        int64_t begin = MAX(poll->last, now - times.running - MAX(times.ready, 0));
        *polled = (struct polled){.tid = one->tid,
                                  .running = MAX(times.running - (now - begin), 0),
                                  .ready = times.ready,
                                  .until = begin};
    }
    polled->seen = poll->polls;
    write_states(poll, thread, polled, &times, writer, now);
    perf_thread_poll_times(&poll->threads, thread, writer, now);
    return true;
}

static void end_missing(struct thread_poll *poll, struct trace_writer *writer) {
    for (size_t i = 0; i < poll->threads.count; i++) {
        struct perf_thread *thread = &poll->threads.items[i];
        const uint64_t *index = map_find(&poll->by_tid, (uint64_t)thread->tid);
        if (thread->alive && index && poll->polled[*index].seen != poll->polls)
            perf_thread_end_state(&poll->threads, thread, writer, poll->polled[*index].until);
    }
}

bool thread_poll_read(struct thread_poll *poll, struct trace_writer *writer,
                      struct status *status) {
    struct perf_existing *list = NULL;
    size_t count = 0;
    int64_t began = clock_now();
    if (began < poll->next)
        return true;
    if (poll->writer != writer)
        perf_threads_reset_rows(&poll->threads);
    poll->writer = writer;
    poll->polls++;
    bool ok = perf_attach_list(poll->root, &list, &count, status);
    for (size_t i = 0; i < count && ok; i++)
        ok = read_thread(poll, &list[i], writer, status);
    memory_free(list);
    if (ok)
        end_missing(poll, writer);
    poll->last = began;
    poll->next = clock_now() + (clock_now() - began) * POLL_SHARE;
    return ok;
}

void thread_poll_finish(struct thread_poll *poll, struct trace_writer *writer) {
    for (size_t i = 0; i < poll->threads.count; i++) {
        struct perf_thread *thread = &poll->threads.items[i];
        const uint64_t *index = map_find(&poll->by_tid, (uint64_t)thread->tid);
        if (thread->alive && index)
            perf_thread_end_state(&poll->threads, thread, writer, poll->polled[*index].until);
    }
}
