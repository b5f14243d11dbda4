/* One pass over the states of each thread, clipped to the selection; and a sweep over the ends of
 * all running intervals for the number of threads that run at the same time.
 */
#include "analysis/cpu_account.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/search.h"
#include "trace/writer.h"

/* ---- Names of waits ---------------------------------------------------------------------- */

/* By stack row. */
struct wait_names {
    uint32_t *function; /* row of the function that waits: of Python, or of the program */
    uint8_t *flags;
    struct map first; /* function and module -> their first row, which stands for all */
};
enum { FRAME_GIL = 1, FRAME_DEVICE = 2, FRAME_SYSTEM = 4 };

static bool is_system_module(struct text module) {
    static const char *const prefixes[] = {"[",          "libc.so",  "libc-",
                                           "libpthread", "ld-linux", "libstdc++"};
    for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++)
        if (text_starts(module, prefixes[i]))
            return !text_is(module, STACK_PYTHON) && !text_is(module, "[jit]");
    return module.length == 0;
}

static bool is_device_module(struct text module) {
    return text_starts(module, "libcuda.so") || text_starts(module, "libamdhip64") ||
           text_starts(module, "libhsa-runtime") || text_starts(module, "libOpenCL");
}

static bool takes_gil(struct text function) {
    static const char *const names[] = {"take_gil",
                                        "drop_gil",
                                        "PyEval_RestoreThread",
                                        "PyEval_AcquireThread",
                                        "PyGILState_Ensure",
                                        "_PyThreadState_Attach"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (text_is(function, names[i]))
            return true;
    return false;
}

static uint8_t frame_flags(const struct trace *trace, uint32_t row, uint8_t of_caller) {
    struct text module = trace_text(trace, trace->stack.module[row]);
    uint8_t flags = is_system_module(module) ? FRAME_SYSTEM : 0;
    if (is_device_module(module) || (flags && of_caller & FRAME_DEVICE))
        flags |= FRAME_DEVICE;
    if (takes_gil(trace_text(trace, trace->stack.function[row])) ||
        (flags & FRAME_SYSTEM && of_caller & FRAME_GIL))
        flags |= FRAME_GIL;
    return flags;
}

/* The first row of this function, for all its callers; 0: out of memory. */
static uint32_t first_row(struct wait_names *names, const struct trace *trace, uint32_t row,
                          struct status *status) {
    uint64_t key = (uint64_t)trace->stack.function[row] << 32 | trace->stack.module[row];
    const uint64_t *known = map_find(&names->first, key);
    if (known)
        return (uint32_t)*known;
    return map_set(&names->first, key, row, status) ? row : 0;
}

/* Callers precede callees (the reader checks), so one pass suffices. */
static bool find_names(const struct trace *trace, struct wait_names *names, struct status *status) {
    names->function = memory_allocate(trace->stack.count + 1, sizeof *names->function, status);
    names->flags = memory_allocate(trace->stack.count + 1, sizeof *names->flags, status);
    if (!names->function || !names->flags)
        return false;
    for (uint32_t i = 1; i < trace->stack.count; i++) {
        uint32_t parent = trace->stack.parent[i], above = names->function[parent];
        bool is_python = text_is(trace_text(trace, trace->stack.module[i]), STACK_PYTHON);
        bool of_python =
            above && text_is(trace_text(trace, trace->stack.module[above]), STACK_PYTHON);
        bool named = !text_is(trace_text(trace, trace->stack.function[i]), STACK_UNKNOWN);
        names->flags[i] = frame_flags(trace, i, names->flags[parent]);
        bool own = is_python || (!of_python && named && !(names->flags[i] & FRAME_SYSTEM));
        names->function[i] = own || !above ? first_row(names, trace, i, status) : above;
        if (!names->function[i])
            return false;
    }
    return true;
}

/* ---- Waits ------------------------------------------------------------------------------- */

/* The state of cpu_account_find(). */
struct account_builder {
    const struct model *model;
    const struct host *host;
    const struct selection *selection;
    struct cpu_account *account;
    struct wait_names names;
    struct map wait_index; /* key -> index in account->waits, plus one */
    size_t wait_capacity, thread_capacity;
    int64_t *starts, *ends; /* of running intervals */
    size_t running_count, starts_capacity, ends_capacity;
    uint32_t *usage_order; /* rows of trace->usage by thread; NULL: none */
    size_t *usage_first;   /* by thread; [id + 1] = end */
    struct status *status;
};

/* The API call that the thread is in at `time`; NO_ROW: none. */
static uint32_t call_at(const struct model *model, uint32_t thread, int64_t time) {
    size_t first = model->thread_calls[thread], low = first;
    size_t high = model->thread_calls[thread + 1];
    PARTITION_POINT(low, high, i, model->trace->call.start[i] <= time);
    while (low > first && model->call_nested[low - 1])
        low--;
    return low > first && model_call_end(model, low - 1) > time ? (uint32_t)(low - 1) : NO_ROW;
}

/* What a blocked state waits for. */
static struct cpu_wait wait_of(const struct account_builder *builder, size_t row) {
    const struct trace *trace = builder->model->trace;
    uint32_t stack = trace->state.stack[row], call;
    uint8_t flags = builder->names.flags[stack];
    struct cpu_wait wait = {.on = trace->state.blocked_on[row],
                            .call = trace->state.call[row],
                            .function = builder->names.function[stack]};
    if (wait.on >= BLOCKED_KINDS)
        wait.on = BLOCKED_UNKNOWN;
    call = call_at(builder->model, trace->state.thread[row], trace->state.start[row]);
    if (call != NO_ROW) {
        wait.on = BLOCKED_DEVICE;
        wait.call = trace->call.name[call];
    } else if (flags & FRAME_DEVICE) {
        wait.on = BLOCKED_DEVICE;
    } else if (flags & FRAME_GIL && wait.on == BLOCKED_LOCK) {
        wait.is_gil = true;
    }
    return wait;
}

static struct cpu_wait *find_wait(struct account_builder *builder, const struct cpu_wait *wait) {
    struct cpu_account *account = builder->account;
    uint64_t key = (uint64_t)wait->function << 32 ^ (uint64_t)wait->call << 5 ^
                   (uint64_t)wait->on << 1 ^ wait->is_gil;
    const uint64_t *known = map_find(&builder->wait_index, key);
    if (known)
        return &account->waits[*known];
    if (!GROW(account->waits, &builder->wait_capacity, account->wait_count + 1, builder->status) ||
        !map_set(&builder->wait_index, key, account->wait_count, builder->status))
        return NULL;
    account->waits[account->wait_count] = *wait;
    return &account->waits[account->wait_count++];
}

static int by_time(const void *a, const void *b) {
    const struct cpu_wait *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return x->function < y->function ? -1 : x->function > y->function;
}

/* ---- Times of a thread ------------------------------------------------------------------- */

int64_t cpu_times_blocked(const struct cpu_times *times) {
    int64_t sum = 0;
    for (unsigned kind = 0; kind < BLOCKED_KINDS; kind++)
        sum += times->blocked[kind];
    return sum;
}

static void add_times(struct cpu_times *sum, const struct cpu_times *times) {
    sum->wall += times->wall;
    sum->running += times->running;
    sum->ready += times->ready;
    sum->unknown += times->unknown;
    sum->user += times->user;
    sum->kernel += times->kernel;
    sum->unsplit += times->unsplit;
    sum->woken += times->woken;
    for (unsigned kind = 0; kind < BLOCKED_KINDS; kind++) {
        sum->blocked[kind] += times->blocked[kind];
        sum->blocks[kind] += times->blocks[kind];
    }
}

static bool add_running(struct account_builder *builder, int64_t start, int64_t end) {
    size_t needed = builder->running_count + 1;
    if (!GROW(builder->starts, &builder->starts_capacity, needed, builder->status) ||
        !GROW(builder->ends, &builder->ends_capacity, needed, builder->status))
        return false;
    builder->starts[builder->running_count] = start;
    builder->ends[builder->running_count++] = end;
    return true;
}

/* Adds [start, end) of one state. */
static bool add_interval(struct account_builder *builder, struct cpu_times *times, unsigned state,
                         size_t row, int64_t start, int64_t end) {
    int64_t time = end - start;
    times->wall += time;
    if (state == STATE_RUNNING) {
        times->running += time;
        return add_running(builder, start, end);
    }
    if (state == STATE_READY)
        times->ready += time;
    else if (state != STATE_BLOCKED)
        times->unknown += time;
    if (state != STATE_BLOCKED)
        return true;
    struct cpu_wait key = wait_of(builder, row), *wait = find_wait(builder, &key);
    if (!wait)
        return false;
    wait->time += time;
    wait->max = time > wait->max ? time : wait->max;
    wait->count++;
    times->blocked[key.on] += time;
    times->blocks[key.on]++;
    return true;
}

static size_t state_row(const struct account_builder *builder, size_t place) {
    return builder->host->states.order ? builder->host->states.order[place] : place;
}

/* Adds what is selected of [start, end). */
static bool add_selected(struct account_builder *builder, struct cpu_times *times, unsigned state,
                         size_t row, int64_t start, int64_t end, size_t *cursor) {
    const struct selection *selection = builder->selection;
    bool ok = true;
    if (!selection)
        return add_interval(builder, times, state, row, start, end);
    while (*cursor < selection->count && selection->windows[*cursor].end <= start)
        ++*cursor;
    for (size_t i = *cursor; i < selection->count && selection->windows[i].start < end && ok; i++) {
        int64_t from = selection->windows[i].start > start ? selection->windows[i].start : start;
        int64_t until = selection->windows[i].end < end ? selection->windows[i].end : end;
        if (from < until)
            ok = add_interval(builder, times, state, row, from, until);
    }
    return ok;
}

/* Time between two records is unknown; overlaps, which only damaged traces have, count once. */
static bool add_states(struct account_builder *builder, uint32_t thread, struct cpu_times *times) {
    const struct columns_state *states = &builder->model->trace->state;
    size_t first = builder->host->states.thread_first[thread];
    size_t last = builder->host->states.thread_first[thread + 1], cursor = 0;
    int64_t reached = 0;
    bool ok = true;
    for (size_t place = first; place < last && ok; place++) {
        size_t row = state_row(builder, place);
        int64_t start = states->start[row], end = start + states->duration[row];
        if (place == first)
            reached = start;
        if (start > reached)
            ok = add_selected(builder, times, STATE_UNKNOWN, row, reached, start, &cursor);
        start = start > reached ? start : reached;
        if (ok && end > start)
            ok = add_selected(builder, times, states->state[row], row, start, end, &cursor);
        reached = end > reached ? end : reached;
    }
    return ok;
}

/* ---- Usage ------------------------------------------------------------------------------- */

static bool sort_usage(struct account_builder *builder) {
    const struct trace *trace = builder->model->trace;
    size_t threads = trace->thread.count;
    builder->usage_first = memory_allocate(threads + 2, sizeof(size_t), builder->status);
    builder->usage_order =
        memory_allocate(trace->usage.count + 1, sizeof(uint32_t), builder->status);
    if (!builder->usage_first || !builder->usage_order)
        return false;
    for (size_t i = 0; i < trace->usage.count; i++)
        builder->usage_first[trace->usage.thread[i] + 2]++;
    for (size_t thread = 0; thread < threads; thread++)
        builder->usage_first[thread + 2] += builder->usage_first[thread + 1];
    for (size_t i = 0; i < trace->usage.count; i++)
        builder->usage_order[builder->usage_first[trace->usage.thread[i] + 1]++] = (uint32_t)i;
    return true;
}

/* What a cumulative time grew by between the first and the last reading in [start, end], which
 * become these readings' times; -1: unknown. */
static int64_t growth(const struct account_builder *builder, uint32_t thread, const int64_t *column,
                      int64_t *start, int64_t *end) {
    const struct columns_usage *usage = &builder->model->trace->usage;
    size_t first = builder->usage_first[thread], last = builder->usage_first[thread + 1];
    uint32_t from = NO_ROW, until = NO_ROW;
    for (size_t i = first; i < last; i++) {
        uint32_t row = builder->usage_order[i];
        if (column[row] < 0 || column[row] > TRACE_TIME_LIMIT || usage->time[row] > *end)
            continue;
        if (from == NO_ROW || usage->time[row] <= *start)
            from = row;
        until = row;
    }
    if (from == NO_ROW)
        return -1;
    int64_t base = column[from], begin = usage->time[from];
    /* A thread that started while it was recorded started with nothing. */
    if (begin > *start && base <= begin - *start)
        base = 0, begin = *start;
    *start = begin;
    *end = usage->time[until];
    return until == from && base ? -1 : column[until] - base;
}

/* User and kernel mode, in the proportion that the kernel counted. Below FINE_NS the clock ticks
 * are too coarse. */
static void split_running(const struct account_builder *builder, uint32_t thread,
                          struct window life, struct cpu_times *times) {
    enum { FINE_NS = 50000000 };
    const struct columns_usage *usage = &builder->model->trace->usage;
    int64_t a = life.start, b = life.end, c = life.start, d = life.end;
    int64_t user = growth(builder, thread, usage->user, &a, &b);
    int64_t kernel = growth(builder, thread, usage->kernel, &c, &d);
    times->unsplit = times->running;
    if (user < 0 || kernel < 0 || user + kernel < FINE_NS)
        return;
    times->kernel = (int64_t)((double)times->running * ((double)kernel / (double)(user + kernel)));
    times->user = times->running - times->kernel;
    times->unsplit = 0;
}

/* Time in `state` between two times. */
static int64_t time_in(const struct account_builder *builder, uint32_t thread, unsigned state,
                       int64_t start, int64_t end) {
    const struct columns_state *states = &builder->model->trace->state;
    size_t last = builder->host->states.thread_first[thread + 1];
    int64_t sum = 0;
    for (size_t i = builder->host->states.thread_first[thread]; i < last; i++) {
        size_t row = state_row(builder, i);
        int64_t from = states->start[row], until = from + states->duration[row];
        from = from > start ? from : start;
        until = until < end ? until : end;
        if (states->state[row] == state && until > from)
            sum += until - from;
    }
    return sum;
}

/* Moves the time between wakeup and running from blocked to ready. Of a part of the run, the same
 * share as of the whole readings. */
static void add_woken(const struct account_builder *builder, uint32_t thread, struct window life,
                      struct cpu_times *times) {
    int64_t start = life.start, end = life.end, blocked = cpu_times_blocked(times);
    int64_t ready = growth(builder, thread, builder->model->trace->usage.ready, &start, &end);
    if (ready < 0 || blocked == 0)
        return;
    int64_t woken = ready - time_in(builder, thread, STATE_READY, start, end);
    int64_t measured = time_in(builder, thread, STATE_BLOCKED, start, end);
    if (woken <= 0 || measured <= 0)
        return;
    double share = (double)woken / (double)measured;
    woken = share >= 1 ? blocked : (int64_t)(share * (double)blocked);
    uint64_t blocks = 0;
    for (unsigned kind = 0; kind < BLOCKED_KINDS; kind++)
        blocks += times->blocks[kind];
    for (unsigned kind = 0; kind < BLOCKED_KINDS && blocks; kind++) {
        int64_t part = (int64_t)((double)woken * ((double)times->blocks[kind] / (double)blocks));
        part = part < times->blocked[kind] ? part : times->blocked[kind];
        times->blocked[kind] -= part;
        times->woken += part;
    }
    times->ready += times->woken;
}

/* ---- Threads and processes --------------------------------------------------------------- */

static struct window life_of(const struct account_builder *builder, uint32_t thread) {
    const struct columns_state *states = &builder->model->trace->state;
    size_t first = builder->host->states.thread_first[thread];
    size_t last = builder->host->states.thread_first[thread + 1];
    struct window life = {states->start[state_row(builder, first)], INT64_MIN};
    for (size_t i = first; i < last; i++) {
        size_t row = state_row(builder, i);
        if (states->start[row] + states->duration[row] > life.end)
            life.end = states->start[row] + states->duration[row];
    }
    return life;
}

/* The life within the selection, from its first to its last selected moment. */
static struct window selected_life(const struct account_builder *builder, struct window life) {
    const struct selection *selection = builder->selection;
    if (!selection || selection->count == 0)
        return life;
    if (life.start < selection->windows[0].start)
        life.start = selection->windows[0].start;
    if (life.end > selection->windows[selection->count - 1].end)
        life.end = selection->windows[selection->count - 1].end;
    return life;
}

static bool add_thread(struct account_builder *builder, uint32_t thread) {
    struct cpu_account *account = builder->account;
    const struct trace *trace = builder->model->trace;
    uint32_t process = trace->thread.process[thread];
    struct cpu_thread one = {.thread = thread,
                             .process = process,
                             .is_main = (uint64_t)trace->thread.tid[thread] ==
                                        trace->process.pid[process]};
    if (builder->host->states.thread_first[thread] ==
        builder->host->states.thread_first[thread + 1])
        return true;
    if (!add_states(builder, thread, &one.times))
        return false;
    struct window life = selected_life(builder, life_of(builder, thread));
    if (one.times.wall == 0)
        return true;
    split_running(builder, thread, life, &one.times);
    add_woken(builder, thread, life, &one.times);
    if (!GROW(account->threads, &builder->thread_capacity, account->thread_count + 1,
              builder->status))
        return false;
    if (account->thread_count == 0)
        account->span = life;
    account->span.start = life.start < account->span.start ? life.start : account->span.start;
    account->span.end = life.end > account->span.end ? life.end : account->span.end;
    account->threads[account->thread_count++] = one;
    add_times(&account->times, &one.times);
    return true;
}

static int by_process(const void *a, const void *b) {
    const struct cpu_thread *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->is_main != y->is_main)
        return x->is_main ? -1 : 1;
    if (x->times.running != y->times.running)
        return x->times.running > y->times.running ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static bool add_processes(struct account_builder *builder) {
    struct cpu_account *account = builder->account;
    size_t capacity = 0;
    if (account->thread_count)
        qsort(account->threads, account->thread_count, sizeof *account->threads, by_process);
    for (size_t i = 0; i < account->thread_count; i++) {
        const struct cpu_thread *thread = &account->threads[i];
        struct window life = selected_life(builder, life_of(builder, thread->thread));
        struct cpu_process *process =
            account->process_count ? &account->processes[account->process_count - 1] : NULL;
        if (!process || process->process != thread->process) {
            if (!GROW(account->processes, &capacity, account->process_count + 1, builder->status))
                return false;
            process = &account->processes[account->process_count++];
            *process = (struct cpu_process){.process = thread->process, .first = i, .life = life};
        }
        process->count++;
        process->life.start = MIN(process->life.start, life.start);
        process->life.end = MAX(process->life.end, life.end);
        add_times(&process->times, &thread->times);
    }
    return true;
}

/* The main thread of the process that was recorded first. A process that only waits for a child (a
 * shell) stands for the other process that lived longest. */
static size_t main_thread(const struct cpu_account *account) {
    const struct cpu_process *root = &account->processes[0], *best = NULL;
    for (size_t i = 1; i < account->process_count; i++)
        if (account->processes[i].life.start < root->life.start)
            root = &account->processes[i];
    const struct cpu_times *times = &account->threads[root->first].times;
    if (times->blocked[BLOCKED_CHILD] < times->wall - times->wall / 10)
        return root->first;
    for (size_t i = 0; i < account->process_count; i++) {
        const struct cpu_process *process = &account->processes[i];
        int64_t life = process->life.end - process->life.start;
        if (process != root && (!best || life > best->life.end - best->life.start))
            best = process;
    }
    return best ? best->first : root->first;
}

/* Time in which a thread ran while the main thread was blocked. */
static int64_t running_while_blocked(const struct account_builder *builder, uint32_t thread,
                                     uint32_t main) {
    const struct columns_state *states = &builder->model->trace->state;
    const size_t *first = builder->host->states.thread_first;
    size_t m = first[main];
    int64_t sum = 0;
    for (size_t i = first[thread]; i < first[thread + 1]; i++) {
        size_t row = state_row(builder, i);
        int64_t start = states->start[row], end = start + states->duration[row];
        if (states->state[row] != STATE_RUNNING)
            continue;
        for (; m < first[main + 1]; m++) {
            size_t of_main = state_row(builder, m);
            int64_t from = states->start[of_main], until = from + states->duration[of_main];
            if (states->state[of_main] == STATE_BLOCKED && until > start && from < end)
                sum += builder->selection ? selection_overlap(builder->selection, MAX(from, start),
                                                              MIN(until, end), &(size_t){0})
                                          : MIN(until, end) - MAX(from, start);
            if (until > end)
                break;
        }
    }
    return sum;
}

/* ---- Parallelism ------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Integers: rounded ends of parts of a span of years may lie before their starts. */
static int64_t bucket_end(const struct cpu_account *account, int64_t index) {
    int64_t length = account->span.end - account->span.start;
    return account->span.start + length / CPU_BUCKETS * (index + 1) +
           length % CPU_BUCKETS * (index + 1) / CPU_BUCKETS + 1;
}

static void add_to_buckets(struct cpu_account *account, int64_t start, int64_t end) {
    double length = (double)(account->span.end - account->span.start);
    int64_t index = (int64_t)((double)(start - account->span.start) / length * CPU_BUCKETS);
    index = index < 0 ? 0 : index >= CPU_BUCKETS ? CPU_BUCKETS - 1 : index;
    while (index > 0 && bucket_end(account, index - 1) > start)
        index--;
    for (; start < end; index++) {
        int64_t next = index < CPU_BUCKETS - 1 ? bucket_end(account, index) : end;
        next = next < end ? next : end;
        if (next <= start)
            continue;
        account->bucket[index] += next - start;
        start = next;
    }
}

/* How long 1, 2, ... threads ran at the same time. */
static bool find_parallelism(struct account_builder *builder) {
    struct cpu_account *account = builder->account;
    size_t count = builder->running_count, ended = 0;
    account->running =
        memory_allocate(account->thread_count + 2, sizeof *account->running, builder->status);
    if (!account->running)
        return false;
    for (size_t i = 0; i < count; i++)
        add_to_buckets(account, builder->starts[i], builder->ends[i]);
    if (count) {
        qsort(builder->starts, count, sizeof *builder->starts, ascending);
        qsort(builder->ends, count, sizeof *builder->ends, ascending);
    }
    int64_t last = count ? builder->starts[0] : 0, busy = 0;
    for (size_t begun = 0; ended < count;) {
        bool begins = begun < count && builder->starts[begun] < builder->ends[ended];
        int64_t time = begins ? builder->starts[begun] : builder->ends[ended];
        size_t level = begun - ended;
        account->running[level] += level ? time - last : 0;
        account->running_max = MAX(account->running_max, level);
        busy += level ? time - last : 0;
        last = time;
        begins ? begun++ : ended++;
    }
    account->wall = builder->selection ? selection_length(builder->selection)
                                       : account->span.end - account->span.start;
    account->running[0] = account->wall > busy ? account->wall - busy : 0;
    return true;
}

/* ---- All --------------------------------------------------------------------------------- */

static void add_main(struct account_builder *builder) {
    struct cpu_account *account = builder->account;
    account->main = main_thread(account);
    uint32_t main = account->threads[account->main].thread;
    for (size_t i = 0; i < account->thread_count; i++)
        if (i != account->main)
            account->threads[i].meanwhile =
                running_while_blocked(builder, account->threads[i].thread, main);
    const struct columns_state *states = &builder->model->trace->state;
    const size_t *first = builder->host->states.thread_first;
    for (size_t i = first[main]; i < first[main + 1]; i++) {
        size_t row = state_row(builder, i), cursor = 0;
        if (states->state[row] != STATE_BLOCKED)
            continue;
        struct cpu_wait key = wait_of(builder, row), *wait = find_wait(builder, &key);
        int64_t end = states->start[row] + states->duration[row];
        if (wait)
            wait->main += builder->selection ? selection_overlap(builder->selection,
                                                                 states->start[row], end, &cursor)
                                             : states->duration[row];
    }
}

static void find_facts(struct account_builder *builder) {
    struct cpu_account *account = builder->account;
    int64_t processors;
    if (text_to_i64(trace_meta(builder->model->trace, META_PROCESSORS), &processors) &&
        processors > 0 && processors < 1 << 20)
        account->processors = (uint32_t)processors;
    account->is_polled = trace_meta(builder->model->trace, META_STATES_INTERVAL).length > 0;
    for (size_t i = 0; i < account->wait_count; i++)
        account->calls_known |= account->waits[i].call != 0;
}

static bool build(struct account_builder *builder) {
    struct trace *trace = builder->model->trace;
    bool ok = sort_usage(builder) && find_names(trace, &builder->names, builder->status);
    for (uint32_t thread = 1; thread < trace->thread.count && ok; thread++)
        ok = add_thread(builder, thread);
    ok = ok && add_processes(builder) && find_parallelism(builder);
    if (ok && builder->account->thread_count)
        add_main(builder);
    if (ok && builder->account->wait_count)
        qsort(builder->account->waits, builder->account->wait_count, sizeof(struct cpu_wait),
              by_time);
    if (ok)
        find_facts(builder);
    return ok;
}

bool cpu_account_find(const struct model *model, const struct host *host,
                      const struct selection *selection, struct cpu_account *account,
                      struct status *status) {
    struct account_builder builder = {
        .model = model, .host = host, .selection = selection, .account = account, .status = status};
    memset(account, 0, sizeof *account);
    if (model->trace->state.count == 0)
        return true;
    bool ok = build(&builder);
    memory_free(builder.names.function);
    memory_free(builder.names.flags);
    map_finish(&builder.names.first);
    map_finish(&builder.wait_index);
    memory_free(builder.starts);
    memory_free(builder.ends);
    memory_free(builder.usage_order);
    memory_free(builder.usage_first);
    if (!ok)
        cpu_account_finish(account);
    return ok;
}

void cpu_account_finish(struct cpu_account *account) {
    memory_free(account->threads);
    memory_free(account->processes);
    memory_free(account->waits);
    memory_free(account->running);
    memset(account, 0, sizeof *account);
}
