/* Rows are written when the first event needs them. A later name is written as a second row with
 * the same ids, which readers merge with the first. */
#include "record/perf/perf_threads.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/memory.h"
#include "base/process.h"

void perf_threads_finish(struct perf_threads *threads) {
    memory_free(threads->items);
    map_finish(&threads->by_tid);
    map_finish(&threads->process_rows);
    *threads = (struct perf_threads){0};
}

static void set_name(struct perf_thread *thread, struct text name) {
    size_t length = name.length < THREAD_NAME_SIZE ? name.length : THREAD_NAME_SIZE - 1;
    length = text_utf8_valid((struct text){name.data, length});
    memcpy(thread->name, name.data, length);
    thread->name[length] = 0;
}

/* For a thread that is needed before its first record arrives. */
static void read_name(struct perf_thread *thread) {
    char name[64];
    if (thread_files_name(thread->pid, thread->tid, name, sizeof name))
        set_name(thread, text_of(name));
}

struct perf_thread *perf_threads_find(struct perf_threads *threads, int64_t pid, int64_t tid,
                                      struct status *status) {
    uint64_t *place = map_find(&threads->by_tid, (uint64_t)tid);
    struct perf_thread *thread = place ? &threads->items[*place] : NULL;
    if (thread && thread->pid == pid)
        return thread;
    if (!thread) {
        if (!GROW(threads->items, &threads->capacity, threads->count + 1, status) ||
            !map_set(&threads->by_tid, (uint64_t)tid, threads->count, status))
            return NULL;
        thread = &threads->items[threads->count++];
    }
    *thread = (struct perf_thread){.pid = pid, .tid = tid}; /* tids are reused */
    read_name(thread);
    return thread;
}

static uint32_t write_process(struct trace_writer *writer, int64_t pid, struct text name) {
    char host[PROCESS_NAME_SIZE];
    process_host(host);
    return trace_write_process(writer, &(struct row_process){
                                           .pid = (uint64_t)pid,
                                           .name = trace_writer_string(writer, name),
                                           .host = trace_writer_string(writer, text_of(host)),
                                       });
}

static uint32_t process_row(struct perf_threads *threads, struct trace_writer *writer,
                            int64_t pid) {
    uint64_t *known = map_find(&threads->process_rows, (uint64_t)pid);
    if (known)
        return (uint32_t)*known;
    uint64_t *place = map_find(&threads->by_tid, (uint64_t)pid);
    struct text name = place ? text_of(threads->items[*place].name) : TEXT("");
    uint32_t row = write_process(writer, pid, name);
    struct status ignored; /* without memory the row is written again */
    map_set(&threads->process_rows, (uint64_t)pid, row, &ignored);
    return row;
}

static uint32_t write_thread(struct perf_threads *threads, const struct perf_thread *thread,
                             struct trace_writer *writer) {
    return trace_write_thread(writer,
                              &(struct row_thread){
                                  .process = process_row(threads, writer, thread->pid),
                                  .tid = thread->tid,
                                  .name = trace_writer_string(writer, text_of(thread->name)),
                              });
}

uint32_t perf_thread_row_of(struct perf_threads *threads, struct perf_thread *thread,
                            struct trace_writer *writer) {
    if (!thread->row)
        thread->row = write_thread(threads, thread, writer);
    return thread->row;
}

void perf_threads_reset_rows(struct perf_threads *threads) {
    map_finish(&threads->process_rows);
    for (size_t i = 0; i < threads->count; i++) {
        struct perf_thread *thread = &threads->items[i];
        thread->row = 0;
        thread->block.call = thread->block.stack = 0;
        thread->next.call = thread->next.stack = 0;
    }
}

void perf_thread_rename(struct perf_threads *threads, struct perf_thread *thread,
                        struct trace_writer *writer, struct text name) {
    char before[THREAD_NAME_SIZE];
    memcpy(before, thread->name, sizeof before);
    set_name(thread, name);
    if (strcmp(before, thread->name) == 0)
        return;
    if (thread->tid == thread->pid && map_find(&threads->process_rows, (uint64_t)thread->pid))
        write_process(writer, thread->pid, text_of(thread->name));
    if (thread->row)
        write_thread(threads, thread, writer);
}

/* A poll during this state tells what it is, whenever the records of the state arrive. */
static void apply_polls(struct perf_thread *thread, struct trace_writer *writer, int64_t end) {
    unsigned kept = thread->poll_count < PERF_POLLS ? thread->poll_count : PERF_POLLS;
    for (unsigned i = 0; i < kept; i++) {
        const struct perf_poll *poll = &thread->polls[i];
        if (poll->time < thread->since || poll->time >= end)
            continue;
        thread->block.on = poll->blocking.on;
        if (poll->blocking.call.length)
            thread->block.call = trace_writer_string(writer, poll->blocking.call);
        return;
    }
}

void perf_thread_poll_block(struct perf_thread *thread, int64_t now) {
    struct perf_poll *poll = &thread->polls[thread->poll_count % PERF_POLLS];
    if (!thread->alive || (thread->state == STATE_BLOCKED && thread->block.on != BLOCKED_UNKNOWN))
        return;
    if (!thread_files_block(thread->pid, thread->tid, &poll->blocking))
        return;
    poll->time = now;
    thread->poll_count++;
}

void perf_thread_poll_times(struct perf_threads *threads, struct perf_thread *thread,
                            struct trace_writer *writer, int64_t now) {
    struct thread_times times;
    if (!thread->alive || (!thread->has_run && thread->state != STATE_RUNNING) ||
        !perf_threads_in_window(threads, now) ||
        !thread_files_times(thread->pid, thread->tid, &times))
        return;
    thread->has_run = false;
    if (memcmp(&times, &thread->times, sizeof times) == 0)
        return;
    thread->times = times;
    trace_write_usage(writer, &(struct row_usage){
                                  .time = now,
                                  .thread = perf_thread_row_of(threads, thread, writer),
                                  .user = times.user,
                                  .kernel = times.kernel,
                                  .ready = times.ready,
                              });
}

static void write_state(struct perf_threads *threads, struct perf_thread *thread,
                        struct trace_writer *writer, struct capture span) {
    trace_write_state(writer, &(struct row_state){
                                  .start = span.start,
                                  .duration = span.end - span.start,
                                  .thread = perf_thread_row_of(threads, thread, writer),
                                  .state = (uint8_t)thread->state,
                                  .processor = thread->processor,
                                  .blocked_on = (uint8_t)thread->block.on,
                                  .call = thread->block.call,
                                  .stack = thread->block.stack,
                              });
}

void perf_thread_end_state(struct perf_threads *threads, struct perf_thread *thread,
                           struct trace_writer *writer, int64_t time) {
    struct capture span = {thread->since, time}, part;
    if (thread->alive && thread->state == STATE_BLOCKED && thread->block.on == BLOCKED_UNKNOWN)
        apply_polls(thread, writer, time);
    if (threads->until) {
        span.start = span.start > threads->from ? span.start : threads->from;
        span.end = span.end < threads->until ? span.end : threads->until;
    }
    if (thread->alive && threads->captures)
        while (captures_next(threads->captures, &span, &part))
            write_state(threads, thread, writer, part);
    else if (thread->alive && span.end > span.start)
        write_state(threads, thread, writer, span);
    thread->alive = false;
    if (time > threads->last)
        threads->last = time;
}

void perf_thread_set_state(struct perf_threads *threads, struct perf_thread *thread,
                           struct trace_writer *writer, enum thread_state state, uint32_t processor,
                           int64_t time) {
    if (thread->alive && time < thread->since)
        time = thread->since; /* records of different CPUs may be slightly out of order */
    perf_thread_end_state(threads, thread, writer, time);
    thread->alive = true;
    thread->has_run |= state == STATE_RUNNING;
    thread->state = state;
    thread->since = time;
    thread->processor = processor;
    thread->block = state == STATE_BLOCKED ? thread->next : (struct perf_block){0};
    thread->next = (struct perf_block){0};
}

void perf_threads_end_states(struct perf_threads *threads, struct trace_writer *writer,
                             int64_t time) {
    for (size_t i = 0; i < threads->count; i++) {
        struct perf_thread *thread = &threads->items[i];
        if (!thread->alive)
            continue;
        /* the exit record of an ended process was lost: use the time of the last record */
        bool gone = kill((pid_t)thread->pid, 0) != 0 && errno == ESRCH;
        perf_thread_end_state(threads, thread, writer, gone ? threads->last : time);
    }
}
