/* The CPU account: processes, threads, what they wait for, and how many run at the same time. */
#include "base/format.h"
#include "report/sections.h"
#include "report/wording.h"

#define REPORT(source) (((const struct report_source *)(source))->report)
#define CPU(source) (&REPORT(source)->cpu)

/* ---- what a thread waits for ---- */

const char *wording_blocked_on(unsigned blocked_on) {
    static const char *const phrases[BLOCKED_KINDS] = {"unknown",       "disk",   "pipe or socket",
                                                       "poll",          "lock",   "timer (sleep)",
                                                       "child process", "device", "other"};
    return blocked_on < BLOCKED_KINDS ? phrases[blocked_on] : "?";
}

/* The largest part of the blocked time; BLOCKED_KINDS: none. */
static unsigned main_reason(const struct cpu_times *times) {
    unsigned best = BLOCKED_KINDS;
    for (unsigned kind = 0; kind < BLOCKED_KINDS; kind++)
        if (times->blocked[kind] > (best < BLOCKED_KINDS ? times->blocked[best] : 0))
            best = kind;
    return best;
}

static struct value mostly(const struct cpu_times *times, struct buffer *words) {
    char percent[FORMAT_SIZE];
    unsigned reason = main_reason(times);
    int64_t blocked = cpu_times_blocked(times);
    if (reason == BLOCKED_KINDS)
        return value_none();
    if (times->blocked[reason] == blocked)
        return value_string(wording_blocked_on(reason));
    buffer_printf(words, "%s %s", wording_blocked_on(reason),
                  format_percent(wording_share(times->blocked[reason], blocked), percent));
    return value_text(buffer_as_text(words));
}

/* ---- processes and threads ---- */

static struct value process_title(const struct report *report, uint32_t process,
                                  struct buffer *words) {
    const struct trace *trace = report->model.trace;
    buffer_printf(words, "%.*s (%llu)", TEXT_ARGS(trace_text(trace, trace->process.name[process])),
                  (unsigned long long)trace->process.pid[process]);
    return value_text(buffer_as_text(words));
}

static struct value thread_title(const struct report *report, const struct cpu_thread *thread,
                                 struct buffer *words) {
    const struct trace *trace = report->model.trace;
    struct text name = trace_text(trace, trace->thread.name[thread->thread]);
    buffer_printf(words, "%.*s%s%lld%s", TEXT_ARGS(name), name.length ? " (" : "",
                  (long long)trace->thread.tid[thread->thread], name.length ? ")" : "");
    if (thread->is_main)
        buffer_string(words, ", main");
    return value_text(buffer_as_text(words));
}

#define TIMES(type, prefix)                                                                        \
    REPORT_VALUE(prefix##_wall, type, value_integer(at->times.wall))                               \
    REPORT_VALUE(prefix##_running, type, value_integer(at->times.running))                         \
    REPORT_VALUE(prefix##_run_share, type, value_ratio(at->times.running, at->times.wall))         \
    REPORT_VALUE(prefix##_user, type, value_integer(at->times.user))                               \
    REPORT_VALUE(prefix##_kernel, type, value_integer(at->times.kernel))                           \
    REPORT_VALUE(prefix##_unsplit, type, value_integer(at->times.unsplit))                         \
    REPORT_VALUE(prefix##_kernel_share, type,                                                      \
                 at->times.unsplit ? value_unknown()                                               \
                                   : value_ratio(at->times.kernel, at->times.wall))                \
    REPORT_VALUE(prefix##_ready, type, value_integer(at->times.ready))                             \
    REPORT_VALUE(prefix##_woken, type, value_integer(at->times.woken))                             \
    REPORT_VALUE(prefix##_ready_share, type, value_ratio(at->times.ready, at->times.wall))         \
    REPORT_VALUE(prefix##_blocked, type, value_integer(cpu_times_blocked(&at->times)))             \
    REPORT_VALUE(prefix##_blocked_share, type,                                                     \
                 value_ratio(cpu_times_blocked(&at->times), at->times.wall))                       \
    REPORT_VALUE(prefix##_disk, type, value_integer(at->times.blocked[BLOCKED_DISK]))              \
    REPORT_VALUE(prefix##_pipe, type, value_integer(at->times.blocked[BLOCKED_PIPE]))              \
    REPORT_VALUE(prefix##_poll, type, value_integer(at->times.blocked[BLOCKED_POLL]))              \
    REPORT_VALUE(prefix##_lock, type, value_integer(at->times.blocked[BLOCKED_LOCK]))              \
    REPORT_VALUE(prefix##_sleep, type, value_integer(at->times.blocked[BLOCKED_SLEEP]))            \
    REPORT_VALUE(prefix##_child, type, value_integer(at->times.blocked[BLOCKED_CHILD]))            \
    REPORT_VALUE(prefix##_device, type, value_integer(at->times.blocked[BLOCKED_DEVICE]))          \
    REPORT_VALUE(prefix##_other, type, value_integer(at->times.blocked[BLOCKED_OTHER]))            \
    REPORT_VALUE(prefix##_blocked_unknown, type,                                                   \
                 value_integer(at->times.blocked[BLOCKED_UNKNOWN]))                                \
    REPORT_VALUE(prefix##_unknown, type, value_integer(at->times.unknown))                         \
    REPORT_VALUE(prefix##_unknown_share, type,                                                     \
                 at->times.unknown ? value_ratio(at->times.unknown, at->times.wall)                \
                                   : value_none())                                                 \
    REPORT_VALUE(prefix##_mostly, type, mostly(&at->times, words))

#define TIMES_COLUMNS(prefix)                                                                      \
    {"wall_ns", "time", UNIT_NS, 0, prefix##_wall},                                                \
        {"running_ns", NULL, UNIT_NS, 0, prefix##_running},                                        \
        {NULL, "running", UNIT_SHARE, 0, prefix##_run_share},                                      \
        {NULL, "kernel", UNIT_SHARE, COLUMN_WIDE, prefix##_kernel_share},                          \
        {"user_ns", NULL, UNIT_NS, 0, prefix##_user},                                              \
        {"kernel_ns", NULL, UNIT_NS, 0, prefix##_kernel},                                          \
        {"user_or_kernel_ns", NULL, UNIT_NS, 0, prefix##_unsplit},                                 \
        {"ready_ns", NULL, UNIT_NS, 0, prefix##_ready},                                            \
        {"woken_ns", NULL, UNIT_NS, 0, prefix##_woken},                                            \
        {NULL, "ready", UNIT_SHARE, 0, prefix##_ready_share},                                      \
        {"blocked_ns", NULL, UNIT_NS, 0, prefix##_blocked},                                        \
        {NULL, "blocked", UNIT_SHARE, 0, prefix##_blocked_share},                                  \
        {NULL, "unknown", UNIT_SHARE, 0, prefix##_unknown_share},                                  \
        {NULL, "mostly on", UNIT_TEXT, 0, prefix##_mostly},                                        \
        {"blocked_disk_ns", NULL, UNIT_NS, 0, prefix##_disk},                                      \
        {"blocked_pipe_ns", NULL, UNIT_NS, 0, prefix##_pipe},                                      \
        {"blocked_poll_ns", NULL, UNIT_NS, 0, prefix##_poll},                                      \
        {"blocked_lock_ns", NULL, UNIT_NS, 0, prefix##_lock},                                      \
        {"blocked_sleep_ns", NULL, UNIT_NS, 0, prefix##_sleep},                                    \
        {"blocked_child_ns", NULL, UNIT_NS, 0, prefix##_child},                                    \
        {"blocked_device_ns", NULL, UNIT_NS, 0, prefix##_device},                                  \
        {"blocked_other_ns", NULL, UNIT_NS, 0, prefix##_other},                                    \
        {"blocked_unknown_ns", NULL, UNIT_NS, 0, prefix##_blocked_unknown}, {                      \
        "unknown_ns", NULL, UNIT_NS, 0, prefix##_unknown                                           \
    }

TIMES(struct cpu_process, process)
#define PROCESS(name, ...) REPORT_VALUE(name, struct cpu_process, __VA_ARGS__)
PROCESS(process_name, process_title(of->report, at->process, words))
PROCESS(process_pid, value_integer((int64_t)of->report->model.trace->process.pid[at->process]))
PROCESS(process_threads, value_integer((int64_t)at->count))

static const struct column process_columns[] = {
    TIMES_COLUMNS(process),
    {"threads", "threads", UNIT_COUNT, 0, process_threads},
    {"pid", NULL, UNIT_COUNT, 0, process_pid},
    {"process", "process", UNIT_TEXT, COLUMN_FLEXIBLE, process_name},
    {0},
};

static const void *process_row(const void *source, size_t index) {
    const struct cpu_account *cpu = CPU(source);
    return index < cpu->process_count ? &cpu->processes[index] : NULL;
}

static bool processes_note(const void *source, struct buffer *line) {
    buffer_string(line, "time of all their threads");
    return CPU(source)->process_count > 1;
}

const struct section section_cpu_processes = {.key = "processes",
                                              .title = "Processes",
                                              .columns = process_columns,
                                              .row = process_row,
                                              .note = processes_note,
                                              .rows = "processes"};

TIMES(struct cpu_thread, thread)
#define THREAD(name, ...) REPORT_VALUE(name, struct cpu_thread, __VA_ARGS__)
THREAD(thread_name, thread_title(of->report, at, words))
THREAD(thread_tid, value_integer(of->report->model.trace->thread.tid[at->thread]))
THREAD(thread_pid, value_integer((int64_t)of->report->model.trace->process.pid[at->process]))
THREAD(thread_process, of->report->cpu.process_count > 1
                           ? process_title(of->report, at->process, words)
                           : value_none())
THREAD(thread_meanwhile, value_integer(at->meanwhile))

static const struct column thread_columns[] = {
    TIMES_COLUMNS(thread),
    {"while_main_blocked_ns", NULL, UNIT_NS, 0, thread_meanwhile},
    {"tid", NULL, UNIT_COUNT, 0, thread_tid},
    {"pid", NULL, UNIT_COUNT, 0, thread_pid},
    {NULL, "process", UNIT_TEXT, COLUMN_WIDE, thread_process},
    {"thread", "thread", UNIT_TEXT, COLUMN_FLEXIBLE, thread_name},
    {0},
};

static const void *thread_row(const void *source, size_t index) {
    const struct cpu_account *cpu = CPU(source);
    return index < cpu->thread_count ? &cpu->threads[index] : NULL;
}

static bool threads_note(const void *source, struct buffer *line) {
    const struct cpu_account *cpu = CPU(source);
    char text[FORMAT_PLURAL_SIZE];
    if (cpu->thread_count == 0)
        return false;
    buffer_string(line, format_plural(cpu->thread_count, "thread", "threads", text));
    if (cpu->processors)
        buffer_printf(line, " on %s",
                      format_plural(cpu->processors, "processor", "processors", text));
    return true;
}

const struct section section_cpu_threads = {.key = "threads",
                                            .title = "Threads",
                                            .columns = thread_columns,
                                            .row = thread_row,
                                            .note = threads_note,
                                            .rows = "threads"};

/* ---- waits ---- */

static const void *wait_row(const void *source, size_t index) {
    const struct cpu_account *cpu = CPU(source);
    return index < cpu->wait_count ? &cpu->waits[index] : NULL;
}

static struct value wait_function_text(const struct report *report, const struct cpu_wait *wait) {
    const struct trace *trace = report->model.trace;
    if (!wait->function)
        return value_unknown();
    return value_text(trace_text(trace, trace->stack.function[wait->function]));
}

static struct value wait_module_text(const struct report *report, const struct cpu_wait *wait) {
    const struct trace *trace = report->model.trace;
    if (!wait->function)
        return value_unknown();
    return value_text(trace_text(trace, trace->stack.module[wait->function]));
}

#define WAIT(name, ...) REPORT_VALUE(name, struct cpu_wait, __VA_ARGS__)
WAIT(wait_time, value_integer(at->time))
WAIT(wait_main, value_integer(at->main))
WAIT(wait_main_shown, at->main ? value_integer(at->main) : value_none())
WAIT(wait_count, value_integer((int64_t)at->count))
WAIT(wait_max, value_integer(at->max))
WAIT(wait_for, value_string(at->is_gil ? "GIL" : wording_blocked_on(at->on)))
WAIT(wait_kind, value_string(at->is_gil ? "gil" : blocked_on_name(at->on)))
WAIT(wait_call, at->call ? report_text(of, at->call) : value_unknown())
WAIT(wait_function, wait_function_text(of->report, at))
WAIT(wait_module, wait_module_text(of->report, at))

static const struct column wait_columns[] = {
    {"time_ns", "time", UNIT_NS, 0, wait_time},
    {"main_ns", NULL, UNIT_NS, 0, wait_main},
    {NULL, "main", UNIT_NS, 0, wait_main_shown},
    {"count", "count", UNIT_COUNT, 0, wait_count},
    {"max_ns", "max", UNIT_NS, 0, wait_max},
    {"blocked_on", NULL, UNIT_TEXT, 0, wait_kind},
    {NULL, "for", UNIT_TEXT, 0, wait_for},
    {"call", "call", UNIT_TEXT, 0, wait_call},
    {"function", "in", UNIT_TEXT, COLUMN_FLEXIBLE, wait_function},
    {"module", NULL, UNIT_TEXT, 0, wait_module},
    {0},
};

static bool waits_note(const void *source, struct buffer *line) {
    const struct cpu_account *cpu = CPU(source);
    char time[FORMAT_SIZE];
    int64_t sum = 0;
    for (size_t i = 0; i < cpu->wait_count; i++)
        sum += cpu->waits[i].time;
    buffer_printf(line, "%s over all threads, main: of the main thread",
                  format_duration(sum, time));
    return cpu->wait_count > 0;
}

const struct section section_cpu_waits = {.key = "waits",
                                          .title = "Waits",
                                          .columns = wait_columns,
                                          .row = wait_row,
                                          .note = waits_note,
                                          .rows = "places"};

/* ---- parallelism ---- */

static const void *level_row(const void *source, size_t index) {
    const struct cpu_account *cpu = CPU(source);
    bool known = cpu->running && !cpu->is_polled; /* polls do not tell what ran at once */
    return known && index <= cpu->running_max ? &cpu->running[index] : NULL;
}

#define LEVEL(name, ...) REPORT_VALUE(name, int64_t, __VA_ARGS__)
LEVEL(level_threads, value_integer(at - of->report->cpu.running))
LEVEL(level_time, value_integer(*at))
LEVEL(level_share, value_ratio(*at, of->report->cpu.wall))

static const struct column level_columns[] = {
    {"running", "threads running", UNIT_COUNT, 0, level_threads},
    {"time_ns", "time", UNIT_NS, 0, level_time},
    {NULL, "share", UNIT_SHARE, 0, level_share},
    {0},
};

static bool levels_note(const void *source, struct buffer *line) {
    const struct cpu_account *cpu = CPU(source);
    if (cpu->wall <= 0 || !cpu->running)
        return false;
    double mean = wording_share(cpu->times.running, cpu->wall);
    buffer_printf(line, "%.2f threads run on average", mean);
    if (cpu->processors)
        buffer_printf(line, ", %u processor%s", cpu->processors, cpu->processors == 1 ? "" : "s");
    return true;
}

/* The number of running threads over time. */
static bool levels_sentence(const void *source, size_t index, struct buffer *line) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { CELLS = 48, PART = CPU_BUCKETS / CELLS };
    const struct cpu_account *cpu = CPU(source);
    double length = (double)(cpu->span.end - cpu->span.start) / CELLS;
    double full = cpu->processors ? cpu->processors : (double)cpu->running_max;
    char time[FORMAT_SIZE];
    if (index > 0 || length <= 0 || full <= 0)
        return false;
    buffer_byte(line, '|');
    for (unsigned cell = 0; cell < CELLS; cell++) {
        int64_t sum = 0;
        for (unsigned i = 0; i < PART; i++)
            sum += cpu->bucket[cell * PART + i];
        double level = (double)sum / length / full * 8;
        buffer_string(line, blocks[level >= 8 ? 8 : level > 0 && level < 1 ? 1 : (int)level]);
    }
    buffer_printf(line, "| %s per character", format_duration((int64_t)length, time));
    return true;
}

const struct section section_cpu_parallelism = {.key = "parallelism",
                                                .title = "Parallelism",
                                                .columns = level_columns,
                                                .row = level_row,
                                                .note = levels_note,
                                                .sentence = levels_sentence,
                                                .rows = "levels"};

/* ---- host memory ---- */

static const void *site_row(const void *source, size_t index) {
    const struct heap *heap = &REPORT(source)->heap;
    return index < heap->site_count ? &heap->sites[index] : NULL;
}

static struct value site_text(const struct report *report, const struct heap_site *site,
                              const uint32_t *names) {
    return site->function ? value_text(trace_text(report->model.trace, names[site->function]))
                          : value_unknown();
}

/* A snapshot has none. */
static struct value site_history(const struct report *report, uint64_t value) {
    return report->heap.is_snapshot ? value_none() : value_integer((int64_t)value);
}

#define SITE(name, ...) REPORT_VALUE(name, struct heap_site, __VA_ARGS__)
SITE(site_kept, site_history(of->report, at->kept))
SITE(site_live, site_history(of->report, at->live))
SITE(site_peak, site_history(of->report, at->peak))
SITE(site_allocated, value_integer((int64_t)at->allocated))
SITE(site_samples, site_history(of->report, at->samples))
SITE(site_function, site_text(of->report, at, of->report->model.trace->stack.function))
SITE(site_module, site_text(of->report, at, of->report->model.trace->stack.module))

SITE(site_file, at->function && of->report->model.trace->stack.line[at->function]
                    ? site_text(of->report, at, of->report->model.trace->stack.file)
                    : value_unknown())
SITE(site_line, at->function && of->report->model.trace->stack.line[at->function]
                    ? value_integer(of->report->model.trace->stack.line[at->function])
                    : value_unknown())

/* "train.py:88 load", or the function alone. */
static struct value site_place(const void *source, const void *row, struct buffer *words) {
    const struct trace *trace = REPORT(source)->model.trace;
    const struct heap_site *site = row;
    if (!site->function)
        return value_unknown();
    if (trace->stack.line[site->function]) {
        lines_format(trace, site->function, words);
        buffer_string(words, "  ");
    }
    buffer_text(words, trace_text(trace, trace->stack.function[site->function]));
    return value_text(buffer_as_text(words));
}

static const struct column site_columns[] = {
    {"allocated_bytes", "allocated", UNIT_BYTES, 0, site_allocated},
    {"peak_bytes", "peak", UNIT_BYTES, 0, site_peak},
    {"live_bytes", "at the end", UNIT_BYTES, 0, site_live},
    {"kept_bytes", "never freed", UNIT_BYTES, 0, site_kept},
    {"samples", "samples", UNIT_COUNT, 0, site_samples},
    {"function", NULL, UNIT_TEXT, 0, site_function},
    {"module", NULL, UNIT_TEXT, 0, site_module},
    {"file", NULL, UNIT_TEXT, 0, site_file},
    {"line", NULL, UNIT_COUNT, 0, site_line},
    {NULL, "line or function", UNIT_TEXT, COLUMN_FLEXIBLE, site_place},
    {0},
};

static bool sites_note(const void *source, struct buffer *line) {
    const struct heap *heap = &REPORT(source)->heap;
    char bytes[FORMAT_SIZE];
    buffer_printf(line,
                  heap->is_snapshot
                      ? "a snapshot of %s in use"
                      : "about %s allocated; never freed: of what was allocated after a quarter",
                  format_bytes(heap->allocated, bytes));
    return heap->is_sampled;
}

const struct section section_heap = {.key = "heap",
                                     .title = "Heap",
                                     .columns = site_columns,
                                     .row = site_row,
                                     .note = sites_note,
                                     .rows = "functions"};

static const void *resident_row(const void *source, size_t index) {
    const struct heap *heap = &REPORT(source)->heap;
    return index < heap->process_count ? &heap->processes[index] : NULL;
}

#define RESIDENT(name, ...) REPORT_VALUE(name, struct heap_process, __VA_ARGS__)
RESIDENT(resident_name, value_text(at->name))
RESIDENT(resident_peak, value_integer((int64_t)at->peak))
RESIDENT(resident_at, value_integer(at->peak_time - of->report->model.first))
RESIDENT(resident_middle, value_integer((int64_t)at->middle))
RESIDENT(resident_last, value_integer((int64_t)at->last))

static const struct column resident_columns[] = {
    {"peak_bytes", "peak", UNIT_BYTES, 0, resident_peak},
    {"peak_at_ns", "at", UNIT_NS, 0, resident_at},
    {"middle_bytes", "in the middle", UNIT_BYTES, 0, resident_middle},
    {"last_bytes", "last", UNIT_BYTES, 0, resident_last},
    {"process", "process", UNIT_TEXT, COLUMN_FLEXIBLE, resident_name},
    {0},
};

static bool resident_note(const void *source, struct buffer *line) {
    (void)line;
    return REPORT(source)->heap.process_count > 0;
}

const struct section section_resident = {.key = "resident",
                                         .title = "Resident memory",
                                         .columns = resident_columns,
                                         .row = resident_row,
                                         .note = resident_note,
                                         .rows = "processes"};

/* ---- operators on the CPU ---- */

static const void *operator_row(const void *source, size_t index) {
    const struct operators *operators = &REPORT(source)->operators;
    return index < operators->count ? &operators->groups[index] : NULL;
}

#define OPERATOR(name, ...) REPORT_VALUE(name, struct operator_group, __VA_ARGS__)
OPERATOR(operator_name, report_text(of, at->name))
OPERATOR(operator_share, value_ratio(at->self, of->report->operators.self))
OPERATOR(operator_self, value_integer(at->self))
OPERATOR(operator_total, value_integer(at->total))
OPERATOR(operator_count, value_integer((int64_t)at->count))
OPERATOR(operator_min, value_integer(at->min))
OPERATOR(operator_median, value_integer(at->median))
OPERATOR(operator_max, value_integer(at->max))

static const struct column operator_columns[] = {
    {NULL, "share", UNIT_SHARE, 0, operator_share},
    {"self_ns", "self", UNIT_NS, 0, operator_self},
    {"total_ns", "with callees", UNIT_NS, COLUMN_WIDE, operator_total},
    {"count", "calls", UNIT_COUNT, 0, operator_count},
    {"min_ns", "min", UNIT_NS, COLUMN_WIDE, operator_min},
    {"median_ns", "median", UNIT_NS, 0, operator_median},
    {"max_ns", "max", UNIT_NS, 0, operator_max},
    {"name", "operator", UNIT_TEXT, COLUMN_FLEXIBLE, operator_name},
    {0},
};

static bool operators_note(const void *source, struct buffer *line) {
    const struct operators *operators = &REPORT(source)->operators;
    char text[FORMAT_PLURAL_SIZE], time[FORMAT_SIZE];
    buffer_printf(line, "%s, %s without what they call",
                  format_plural(operators->count, "name", "names", text),
                  format_duration(operators->self, time));
    return operators->count > 0;
}

const struct section section_cpu_operators = {.key = "operators",
                                              .title = "Operators on the CPU",
                                              .columns = operator_columns,
                                              .row = operator_row,
                                              .note = operators_note,
                                              .rows = "operators"};
