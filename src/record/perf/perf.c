/* Handles the kernel's records in the order of their times: mappings, names, forks, exits, context
 * switches, samples, losses.
 *
 * A record gets its timestamp a moment before it reaches its ring buffer. Records of the last
 * REORDER_NS are therefore deferred to the next drain, when all earlier ones have arrived. */
#ifdef __linux__
#include "record/perf/perf.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/memory.h"
#include "base/sort.h"
#include "record/blocking.h"
#include "record/perf/perf_counters.h"
#include "record/perf/perf_ring.h"
#include "record/perf/perf_stacks.h"
#include "record/perf/perf_threads.h"
#include "record/symbols/perf_unwind.h"

enum {
    REORDER_NS = 20000000,
    OVERLOAD_BYTES = 32 << 20,
    BLOCK_INTERVAL_MS = 4, /* of reading /proc where stacks at context switches are missing */
    POLL_SHARE = 100,      /* a poll of duration t is followed by a pause of 100 t */
};

struct perf {
    struct perf_options options;
    struct perf_rings rings;
    struct perf_reader reader;
    struct perf_batch pending, deferred;
    struct perf_counters counters;
    struct perf_threads threads;
    struct stack_rows stacks;
    struct symbols *symbols;
    struct perf_unwinder *unwinder;          /* NULL: the kernel follows frame pointers */
    const struct trace_writer *writer;       /* of the known rows and strings */
    uint64_t samples, lost, without_callers; /* without_callers: not unwound */
    uint64_t truncated;                      /* samples whose stack copy was too small */
    uint64_t by_frame_pointers;              /* samples without a stack copy, for lack of time */
    struct perf_existing *existing; /* threads of an attached target, until the first drain */
    size_t existing_count;
    int64_t next_poll, next_times, next_read; /* CLOCK_MONOTONIC */
    int64_t horizon;                          /* records before it were handled */
    bool overloaded;                          /* records arrive faster than stacks are unwound */
    struct perf_python python;
    struct python_samples *python_samples; /* NULL: Python stacks are not read */
    struct apis *apis;                     /* that the processes load; or NULL */
    char notes[PERF_NOTES][280];
    unsigned note_count;
};

/* The events of threads that exist already, and their code. */
static bool attach(struct perf *perf, pid_t target, struct status *status) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max; /* each thread needs several events per processor */
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (!perf_attach_list(target, &perf->existing, &perf->existing_count, status))
        return false;
    for (size_t i = 0; i < perf->existing_count; i++) {
        struct perf_existing *thread = &perf->existing[i];
        if ((i > 0 && !perf_rings_attach(&perf->rings, thread->tid, &perf->options, status)) ||
            (thread->pid == thread->tid &&
             !perf_attach_mappings(thread->pid, perf->symbols, status)))
            return false;
        if (perf_attach_is_asleep(thread->pid, thread->tid))
            thread->asleep_since = clock_now();
    }
    return true;
}

/* Sleeping threads have no record until they wake up. */
static bool begin_attached(struct perf *perf, struct trace_writer *writer, struct status *status) {
    bool ok = true;
    for (size_t i = 0; i < perf->existing_count && ok; i++) {
        const struct perf_existing *one = &perf->existing[i];
        struct perf_thread *thread = perf_threads_find(&perf->threads, one->pid, one->tid, status);
        ok = thread != NULL;
        if (ok && one->asleep_since)
            perf_thread_set_state(&perf->threads, thread, writer, STATE_BLOCKED, 0,
                                  one->asleep_since);
    }
    perf->existing_count = 0;
    return ok;
}

static struct perf *create(const struct perf_options *options, struct status *status) {
    struct perf *perf = memory_allocate(1, sizeof *perf, status);
    if (!perf)
        return NULL;
    perf->options = *options;
    if (!perf_unwind_is_supported())
        perf->options.stacks = PERF_STACKS_FP;
    bool unwinds = options->rate && perf->options.stacks == PERF_STACKS_DWARF;
    perf->symbols = symbols_create(status);
    perf->unwinder = perf->symbols && unwinds ? perf_unwinder_create(perf->symbols, status) : NULL;
    if (perf->symbols && (!unwinds || perf->unwinder))
        return perf;
    perf_close(perf);
    return NULL;
}

struct perf *perf_open_rings(struct perf_rings *rings, const struct perf_options *options,
                             struct status *status) {
    struct perf *perf = create(options, status);
    if (!perf)
        return NULL;
    perf->rings = *rings;
    *rings = (struct perf_rings){0};
    perf_reader_start(&perf->reader, &perf->rings, perf->python_samples);
    return perf;
}

struct perf *perf_open(pid_t target, const struct perf_options *options, struct status *status) {
    struct perf *perf = create(options, status);
    if (!perf)
        return NULL;
    if (!perf_rings_open(&perf->rings, target, &perf->options, status) ||
        (options->attach && !attach(perf, target, status))) {
        perf_close(perf);
        return NULL;
    }
    struct status ignored;
    if (options->rate && python_reader_is_permitted())
        perf->python_samples = python_samples_create(&ignored);
    perf_reader_start(&perf->reader, &perf->rings, perf->python_samples);
    if (options->counters)
        perf_counters_open(&perf->counters, target, perf_hardware_counters);
    if (options->rate &&
        !perf->rings.user_only) /* later the ring buffers would overflow meanwhile */
        symbols_prepare_kernel(perf->symbols);
    return perf;
}

void perf_close(struct perf *perf) {
    if (!perf)
        return;
    perf_reader_finish(&perf->reader);
    python_samples_destroy(perf->python_samples);
    perf_rings_close(&perf->rings);
    memory_free(perf->existing);
    perf_batch_finish(&perf->pending);
    perf_batch_finish(&perf->deferred);
    perf_counters_close(&perf->counters);
    perf_threads_finish(&perf->threads);
    stack_rows_finish(&perf->stacks);
    perf_unwinder_destroy(perf->unwinder);
    symbols_destroy(perf->symbols);
    memory_free(perf);
}

const char *perf_counters_missing(const struct perf *perf) {
    return perf->counters.missing[0] ? perf->counters.missing : NULL;
}

void perf_watch_libraries(struct perf *perf, struct apis *apis) {
    perf->apis = apis;
}

void perf_set_window(struct perf *perf, int64_t from, int64_t until) {
    perf->threads.from = from;
    perf->threads.until = until;
}

void perf_set_captures(struct perf *perf, const struct captures *captures) {
    perf->threads.captures = captures;
}

uint64_t perf_processes(const struct perf *perf) {
    return perf->threads.process_rows.count;
}

bool perf_list_processes(const struct perf *perf, struct map *pids, struct status *status) {
    for (size_t i = 0; i < perf->threads.count; i++)
        if (!map_set(pids, (uint64_t)perf->threads.items[i].pid, 1, status))
            return false;
    return true;
}

uint64_t perf_samples(const struct perf *perf) {
    return perf->samples;
}

uint64_t perf_lost(const struct perf *perf) {
    return perf->lost;
}

/* Unknown with frame pointers, which the interpreter may lack, and with many truncated stacks. */
struct perf_python perf_python(const struct perf *perf) {
    uint64_t uncertain = perf->truncated + perf->without_callers + perf->by_frame_pointers;
    bool is_known = perf->unwinder && uncertain * 20 <= perf->samples;
    return is_known ? perf->python : (struct perf_python){0};
}

const char *perf_note(const struct perf *perf, unsigned index) {
    return index < perf->note_count ? perf->notes[index] : NULL;
}

void perf_reset_rows(struct perf *perf) {
    perf_threads_reset_rows(&perf->threads);
    stack_rows_finish(&perf->stacks);
    perf->writer = NULL;
}

static void use_writer(struct perf *perf, struct trace_writer *writer) {
    if (perf->writer != writer)
        perf_reset_rows(perf);
    perf->writer = writer;
}

uint32_t perf_thread_row(struct perf *perf, struct trace_writer *writer, int64_t pid, int64_t tid) {
    struct status ignored;
    use_writer(perf, writer);
    struct perf_thread *thread = perf_threads_find(&perf->threads, pid, tid, &ignored);
    return thread ? perf_thread_row_of(&perf->threads, thread, writer) : 0;
}

uint32_t perf_stack_row(struct perf *perf, struct trace_writer *writer, int64_t pid,
                        const uint64_t *addresses, size_t count) {
    struct perf_chain chain = {.count = count < STACK_FRAMES_MAX ? count : STACK_FRAMES_MAX};
    use_writer(perf, writer);
    memcpy(chain.addresses, addresses, chain.count * sizeof *addresses);
    return stack_rows_find(&perf->stacks, perf->symbols, (pid_t)pid, &chain, NULL, writer);
}

/* The body of a record, read field by field. Missing fields are zero. */
struct body {
    const uint8_t *at;
    size_t left;
};

static uint64_t take_bytes(struct body *body, size_t bytes) {
    uint64_t value = 0;
    if (body->left < bytes) {
        body->left = 0;
        return 0;
    }
    memcpy(&value, body->at, bytes);
    body->at += bytes;
    body->left -= bytes;
    return value;
}

static struct text take_text(struct body *body) {
    return (struct text){(const char *)body->at, strnlen((const char *)body->at, body->left)};
}

static bool read_mapping(struct perf *perf, struct body body, struct status *status) {
    pid_t pid = (pid_t)take_bytes(&body, 4);
    take_bytes(&body, 4); /* thread */
    uint64_t start = take_bytes(&body, 8), length = take_bytes(&body, 8),
             offset = take_bytes(&body, 8);
    take_bytes(&body, 8); /* device */
    take_bytes(&body, 8); /* inode */
    take_bytes(&body, 8); /* generation */
    take_bytes(&body, 8); /* protection, flags */
    struct text path = take_text(&body);
    if (perf->apis)
        apis_mapped(perf->apis, path);
    return symbols_map(perf->symbols, pid, start, length, offset, path, status);
}

static bool read_name(struct perf *perf, const struct perf_record *record, struct body body,
                      struct trace_writer *writer, struct status *status) {
    pid_t pid = (pid_t)take_bytes(&body, 4), tid = (pid_t)take_bytes(&body, 4);
    struct perf_thread *thread = perf_threads_find(&perf->threads, pid, tid, status);
    if (!thread)
        return false;
    perf_thread_rename(&perf->threads, thread, writer, take_text(&body));
    if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
        symbols_exec(perf->symbols, pid);
    if (!thread->alive) /* it calls exec, so it runs */
        perf_thread_set_state(&perf->threads, thread, writer, STATE_RUNNING, record->processor,
                              record->time);
    return true;
}

static bool read_fork(struct perf *perf, const struct perf_record *record, struct body body,
                      struct trace_writer *writer, struct status *status) {
    pid_t pid = (pid_t)take_bytes(&body, 4), parent = (pid_t)take_bytes(&body, 4);
    pid_t tid = (pid_t)take_bytes(&body, 4), parent_tid = (pid_t)take_bytes(&body, 4);
    char name[THREAD_NAME_SIZE];
    struct perf_thread *thread = perf_threads_find(&perf->threads, parent, parent_tid, status);
    if (!thread)
        return false;
    memcpy(name, thread->name, sizeof name);
    thread = perf_threads_find(&perf->threads, pid, tid, status);
    if (!thread || (pid != parent && !symbols_fork(perf->symbols, parent, pid, status)))
        return false;
    if (pid != parent)
        perf_counters_add_process(&perf->counters, pid);
    perf_thread_rename(&perf->threads, thread, writer, text_of(name));
    perf_thread_set_state(&perf->threads, thread, writer, STATE_READY, record->processor,
                          record->time);
    return true;
}

static bool read_exit(struct perf *perf, const struct perf_record *record, struct body body,
                      struct trace_writer *writer, struct status *status) {
    pid_t pid = (pid_t)take_bytes(&body, 4);
    take_bytes(&body, 4); /* parent */
    pid_t tid = (pid_t)take_bytes(&body, 4);
    struct perf_thread *thread = perf_threads_find(&perf->threads, pid, tid, status);
    if (thread)
        perf_thread_end_state(&perf->threads, thread, writer, record->time);
    if (pid == tid)
        perf_counters_end_process(&perf->counters, pid);
    return thread != NULL;
}

static bool read_switch(struct perf *perf, const struct perf_record *record,
                        struct trace_writer *writer, struct status *status) {
    struct perf_thread *thread =
        perf_threads_find(&perf->threads, record->pid, record->tid, status);
    if (!thread)
        return false;
    enum thread_state state = STATE_RUNNING;
    if (record->misc & PERF_RECORD_MISC_SWITCH_OUT)
        state = record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? STATE_READY : STATE_BLOCKED;
    perf_thread_set_state(&perf->threads, thread, writer, state, record->processor, record->time);
    return true;
}

/* The kernel's call chain; PERF_CONTEXT_* markers separate kernel and user addresses. */
static void read_chain(struct body *body, struct perf_chain *chain) {
    uint64_t count = take_bytes(body, 8);
    bool in_kernel = false;
    chain->count = chain->kernel_count = 0;
    chain->is_call = chain->is_complete = false;
    for (uint64_t i = 0; i < count && body->left >= 8; i++) {
        uint64_t address = take_bytes(body, 8);
        if (address >= (uint64_t)PERF_CONTEXT_MAX) {
            in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
        } else if (chain->count < STACK_FRAMES_MAX && (in_kernel || address >= 4096)) {
            chain->addresses[chain->count++] = address;
            if (in_kernel)
                chain->kernel_count = chain->count;
        }
    }
}

/* User registers and stack of a sample. */
struct stack_copy {
    uint64_t registers[64];
    const uint8_t *bytes;
    uint64_t size, used; /* requested; available */
};

/* False when the sample has no registers. */
static bool read_stack(struct body *body, struct stack_copy *copy) {
    uint64_t mask = perf_unwind_registers();
    if (take_bytes(body, 8) == PERF_SAMPLE_REGS_ABI_NONE)
        return false;
    for (unsigned i = 0; i < 64; i++)
        copy->registers[i] = mask >> i & 1 ? take_bytes(body, 8) : 0;
    copy->size = copy->used = take_bytes(body, 8);
    if (copy->size > body->left)
        return false;
    copy->bytes = body->at;
    struct body behind = {body->at + copy->size, body->left - copy->size};
    uint64_t used = copy->size ? take_bytes(&behind, 8) : 0;
    if (used < copy->size)
        copy->used = used;
    return true;
}

/* True when the outermost caller was reached. */
static bool unwind_stack(struct perf *perf, pid_t pid, const struct stack_copy *copy,
                         struct perf_chain *chain) {
    struct perf_stack_snapshot snapshot = {pid, copy->registers, copy->bytes, copy->used, NULL};
    size_t limit = perf->overloaded ? 1 : STACK_FRAMES_MAX;
    bool complete;
    if (limit > STACK_FRAMES_MAX - chain->count)
        limit = STACK_FRAMES_MAX - chain->count;
    chain->count +=
        perf_unwind(perf->unwinder, &snapshot, chain->addresses + chain->count, limit, &complete);
    chain->is_complete = complete;
    return complete;
}

static void unwind_sample(struct perf *perf, pid_t pid, const struct stack_copy *copy,
                          struct perf_chain *chain) {
    bool complete = unwind_stack(perf, pid, copy, chain);
    perf->without_callers += perf->overloaded;
    perf->truncated += !perf->overloaded && !complete && copy->used == copy->size &&
                       copy->size < perf_stack_sizes[0];
}

/* While the stack size changes, a thread may be sampled twice per period, once with each size. Only
 * one of the two samples counts. */
static bool is_duplicate(const struct perf *perf, struct perf_thread *thread, int64_t time,
                         uint64_t size) {
    int64_t period = 1000000000 / perf->options.rate;
    if (thread->sampled_at && size != thread->sampled_size &&
        time - thread->sampled_at < period * 3 / 4)
        return true;
    thread->sampled_at = time;
    thread->sampled_size = size;
    return false;
}

static void count_python(struct perf *perf, uint32_t stack) {
    enum stack_python kind = stack_rows_python(&perf->stacks, stack);
    perf->python.interpreted += kind != STACK_NO_PYTHON;
    perf->python.trampolines += kind == STACK_TRAMPOLINE;
    perf->python.is_exact |= perf->stacks.evaluator_is_known;
}

/* The row of a sample's stack. */
static uint32_t find_stack(struct perf *perf, const struct perf_record *record,
                           const struct perf_chain *chain, struct trace_writer *writer) {
    struct perf_python_stack python = {.samples = perf->python_samples};
    if (perf->python_samples)
        python.count = python_samples_find(perf->python_samples, (pid_t)record->tid, record->time,
                                           &python.frames);
    return stack_rows_find(&perf->stacks, perf->symbols, (pid_t)record->pid, chain, &python,
                           writer);
}

/* What the thread waits for, by the kernel functions on its stack. */
static struct perf_block find_block(struct perf *perf, const struct perf_record *record,
                                    const struct perf_chain *chain, struct trace_writer *writer) {
    struct blocking blocking = {0};
    pid_t pid = (pid_t)record->pid;
    for (size_t i = 0; i < chain->kernel_count; i++) {
        struct symbol symbol = symbols_find(perf->symbols, pid, chain->addresses[i], true);
        blocking_add_function(&blocking, symbol.function, symbol.module);
    }
    return (struct perf_block){
        .on = blocking_reason(&blocking),
        .call = blocking.call.length ? trace_writer_string(writer, blocking.call) : 0,
        .stack = find_stack(perf, record, chain, writer),
    };
}

/* A sample at a context switch. The record of the switch follows. */
static void read_switch_sample(struct perf *perf, const struct perf_record *record,
                               struct body body, struct perf_thread *thread,
                               struct trace_writer *writer) {
    struct perf_chain chain;
    struct stack_copy copy;
    read_chain(&body, &chain);
    if (perf->unwinder && read_stack(&body, &copy))
        unwind_stack(perf, (pid_t)record->pid, &copy, &chain);
    thread->next = find_block(perf, record, &chain, writer);
}

static bool read_sample(struct perf *perf, const struct perf_record *record, struct body body,
                        struct trace_writer *writer, struct status *status) {
    struct perf_chain chain;
    struct stack_copy copy;
    struct perf_thread *thread =
        perf_threads_find(&perf->threads, record->pid, record->tid, status);
    if (!thread)
        return false;
    if (!perf_threads_in_window(&perf->threads, record->time))
        return true;
    if (perf_rings_is_switch(&perf->rings, record->id)) {
        read_switch_sample(perf, record, body, thread, writer);
        return true;
    }
    read_chain(&body, &chain);
    bool has_copy = perf->unwinder && body.left > 0;
    if (perf->unwinder && !has_copy && is_duplicate(perf, thread, record->time, 0))
        return true;
    perf->by_frame_pointers += perf->unwinder && !has_copy;
    if (has_copy && read_stack(&body, &copy)) {
        if (is_duplicate(perf, thread, record->time, copy.size))
            return true;
        unwind_sample(perf, (pid_t)record->pid, &copy, &chain);
    }
    uint32_t stack = find_stack(perf, record, &chain, writer);
    trace_write_sample(writer, &(struct row_sample){
                                   .time = record->time,
                                   .thread = perf_thread_row_of(&perf->threads, thread, writer),
                                   .stack = stack,
                                   .weight = 1000000000 / perf->options.rate,
                               });
    perf->samples++;
    count_python(perf, stack);
    return true;
}

static void count_lost(struct perf *perf, struct trace_writer *writer, uint64_t records) {
    perf->lost += records;
    trace_writer_dropped(writer, records);
}

static void add_ring_lost(struct perf *perf, unsigned processor, uint64_t records,
                          struct trace_writer *writer) {
    for (size_t i = 0; i < perf->rings.count; i++)
        if (perf->rings.items[i].processor == processor)
            perf->rings.items[i].lost += records;
    count_lost(perf, writer, records);
}

static bool read_record(struct perf *perf, const struct perf_record *record,
                        struct trace_writer *writer, struct status *status) {
    struct body body = {record->body, record->length};
    switch (record->type) {
    case PERF_RECORD_MMAP2:
        return read_mapping(perf, body, status);
    case PERF_RECORD_COMM:
        return read_name(perf, record, body, writer, status);
    case PERF_RECORD_FORK:
        return read_fork(perf, record, body, writer, status);
    case PERF_RECORD_EXIT:
        return read_exit(perf, record, body, writer, status);
    case PERF_RECORD_SWITCH:
        return read_switch(perf, record, writer, status);
    case PERF_RECORD_SAMPLE:
        return read_sample(perf, record, body, writer, status);
    case PERF_RECORD_LOST:
        if (!perf_rings_is_switch(&perf->rings, take_bytes(&body, 8)))
            add_ring_lost(perf, record->processor, take_bytes(&body, 8), writer);
        return true;
    case PERF_RECORD_LOST_SAMPLES:
        count_lost(perf, writer, take_bytes(&body, 8));
        return true;
    default:
        return true;
    }
}

/* Handles all records, or those before the horizon, and defers the rest. */
static bool read_records(struct perf *perf, bool all, struct trace_writer *writer,
                         struct status *status) {
    struct perf_batch *batch = &perf->pending;
    uint64_t damaged = 0;
    int64_t complete = INT64_MIN + REORDER_NS;
    uint32_t *order = NULL;
    use_writer(perf, writer);
    bool ok = perf_reader_take(&perf->reader, batch, &damaged, &complete, status);
    int64_t horizon = all ? INT64_MAX : complete - REORDER_NS;
    if (perf->python_samples && !all)
        python_samples_take(perf->python_samples, perf->horizon);
    else if (perf->python_samples)
        python_samples_take(perf->python_samples, INT64_MIN / 2);
    perf->horizon = horizon;
    perf->overloaded = batch->bytes.length > OVERLOAD_BYTES;
    count_lost(perf, writer, damaged);
    ok = ok && sort_rows(batch->group, 1, batch->times, NULL, batch->count, &order, status);
    for (size_t i = 0; i < batch->count && ok; i++) {
        size_t index = order ? order[i] : i;
        struct perf_record record = perf_batch_record(batch, index);
        ok = record.time <= horizon ? read_record(perf, &record, writer, status)
                                    : perf_batch_add(&perf->deferred, batch, index, status);
    }
    memory_free(order);
    perf_batch_clear(batch);
    struct perf_batch swapped = *batch;
    *batch = perf->deferred;
    perf->deferred = swapped;
    return ok;
}

/* Reads the /proc files of all threads, as often as 1 % of a CPU allows. Where the kernel's stacks
 * are not visible, this is the only source of what a thread blocks in, so that is read more often.
 */
static void poll_threads(struct perf *perf, struct trace_writer *writer) {
    int64_t now = clock_now();
    if (now < perf->next_poll)
        return;
    bool read_times = now >= perf->next_times;
    if (read_times)
        perf->next_times = now + PERF_DRAIN_INTERVAL_MS * (int64_t)1000000;
    for (size_t i = 0; i < perf->threads.count; i++) {
        struct perf_thread *thread = &perf->threads.items[i];
        perf_thread_poll_block(thread, clock_now());
        if (read_times)
            perf_thread_poll_times(&perf->threads, thread, writer, clock_now());
    }
    perf->next_poll = clock_now() + (clock_now() - now) * POLL_SHARE;
}

unsigned perf_drain_interval_ms(const struct perf *perf) {
    return perf->rings.switches ? PERF_DRAIN_INTERVAL_MS : BLOCK_INTERVAL_MS;
}

bool perf_drain(struct perf *perf, struct trace_writer *writer, struct status *status) {
    int64_t now = clock_now();
    use_writer(perf, writer);
    if (!begin_attached(perf, writer, status))
        return false;
    poll_threads(perf, writer);
    if (now < perf->next_read)
        return true;
    perf->next_read = now + (PERF_DRAIN_INTERVAL_MS - BLOCK_INTERVAL_MS) * (int64_t)1000000;
    return read_records(perf, false, writer, status);
}

static void add_note(struct perf *perf, uint64_t count, const char *one, const char *many,
                     const char *rest) {
    char number[FORMAT_SIZE];
    snprintf(perf->notes[perf->note_count++], sizeof perf->notes[0], "%s %s%s",
             format_count(count, number), count == 1 ? one : many, rest);
}

static const char *describe_remedy(const struct perf *perf) {
    return perf->rings.limited
               ? "a lower --sample-rate, or raise kernel.perf_event_mlock_kb or ulimit -l"
               : "a lower --sample-rate";
}

static void describe_losses(struct perf *perf) {
    const char *remedy = describe_remedy(perf),
               *use = perf->unwinder ? "use --stacks fp or" : "use";
    char rest[200];
    if (perf->lost) {
        snprintf(rest, sizeof rest, "; %s %s", use, remedy);
        add_note(perf, perf->lost, "of them is a CPU sample or context switch",
                 "of them are CPU samples and context switches", rest);
    }
    if (perf->truncated) {
        snprintf(rest, sizeof rest,
                 " outermost callers, because the CPUs were too busy to copy larger stacks; %s %s",
                 use, remedy);
        add_note(perf, perf->truncated, "sample lacks its", "samples lack their", rest);
    }
    if (perf->by_frame_pointers) {
        snprintf(rest, sizeof rest,
                 " only the callers that frame pointers lead to, because the CPUs were too busy to "
                 "copy stacks; use %s",
                 remedy);
        add_note(perf, perf->by_frame_pointers, "sample has", "samples have", rest);
    }
    if (perf->python_samples && python_samples_reason(perf->python_samples))
        snprintf(perf->notes[perf->note_count++], sizeof perf->notes[0],
                 "Python functions of samples are not known: %s; --env PYTHONPERFSUPPORT=1 names "
                 "them in 3.12 and later",
                 python_samples_reason(perf->python_samples));
    uint64_t unread = perf->python_samples ? python_samples_failed(perf->python_samples) : 0;
    if (unread)
        add_note(perf, unread, "Python stack of a sample", "Python stacks of samples",
                 " could not be read, because the program ran on meanwhile");
    if (perf->without_callers)
        add_note(perf, perf->without_callers, "sample lacks its", "samples lack their",
                 " callers, because the recorder could not keep up; use --stacks fp or a lower "
                 "--sample-rate");
}

bool perf_finish(struct perf *perf, struct trace_writer *writer, struct status *status) {
    int64_t now = clock_now();
    perf_reader_stop(&perf->reader);
    bool ok = read_records(perf, true, writer, status);
    count_lost(perf, writer, perf_rings_lost(&perf->rings));
    perf_threads_end_states(&perf->threads, writer, now);
    perf_counters_write(&perf->counters, writer, now);
    describe_losses(perf);
    return ok;
}
#endif
