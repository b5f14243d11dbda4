/* What does the host do? With a device: long operators of a framework that launch nothing while the
 * device is idle. Without one: does the main thread run, wait for a processor, or block, and on
 * what? */
#include <stdio.h>

#include "analysis/lines.h"
#include "base/array.h"
#include "base/min_max.h"
#include "diagnose/diagnosis.h"
#include "diagnose/remedies.h"
#include "whatif/names.h"

static const struct range_group *group_of(const struct ranges *ranges, uint32_t name) {
    for (size_t i = 0; i < ranges->count; i++)
        if (ranges->groups[i].name == name)
            return &ranges->groups[i];
    return NULL;
}

/* An operator that launches nothing and is too long to be only overhead of one that does. */
static bool runs_on_cpu(const struct diagnosis *diagnosis, const struct range_group *group) {
    int64_t floor =
        20 * (diagnosis->facts.launch_call_time ? diagnosis->facts.launch_call_time : 5000);
    return group && group->category == RANGE_OP &&
           !name_is_input(trace_text(diagnosis->trace, group->name)) && group->activities == 0 &&
           group->count && group->host_self / (int64_t)group->count > floor;
}

static void find_operators(struct diagnosis *diagnosis) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *top = NULL;
    int64_t time = 0, top_time = 0;
    char words[FORMAT_SIZE], change[FROM_TO_SIZE];
    for (size_t d = 0; d < diagnosis->source->device_count; d++) {
        const struct gap_names *names = &diagnosis->source->devices[d].gaps->host_names;
        for (size_t i = 0; i < names->count && i < 64; i++) {
            const struct range_group *group = group_of(ranges, names->list[i].name);
            if (!names->list[i].name || !runs_on_cpu(diagnosis, group) ||
                data_loading_range(diagnosis, group->name))
                continue;
            time += names->list[i].time;
            if (names->list[i].time > top_time) {
                top_time = names->list[i].time;
                top = group;
            }
        }
    }
    if (!top || 20 * time < diagnosis->verdict->time)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU, CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_HOST, trace_text(diagnosis->trace, top->name), 0);
    if (!finding_predict(diagnosis, finding)) {
        finding_estimate(diagnosis, finding, time);
        finding->change_count = 0;
    }
    struct text name = trace_text(diagnosis->trace, top->name);
    finding_summary(diagnosis, finding,
                    "The device is idle for %s while operators run on the CPU, largest: %.*s",
                    format_duration(time, words), TEXT_ARGS(name));
    finding_gain(diagnosis, finding, "without %.*s, %s",
                 TEXT_ARGS(finding->change_count ? name : TEXT("them")),
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "The operators launch no kernels: their tensors are probably in host memory.");
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_RANGE, .name = top->name},
                     "%.*s: %llu call%s, no kernel launched", TEXT_ARGS(name),
                     (unsigned long long)top->count, top->count == 1 ? "" : "s");
    finding_fix(diagnosis, finding, EFFORT_LINES, "--no-host", "%s",
                remedy_text(diagnosis->facts.framework, REMEDY_TO_DEVICE));
}

/* A function of a framework's CPU backend or of a CPU math library. */
static bool is_cpu_backend(struct text name) {
    static const char *const parts[] = {"eval_cpu",    "cblas_", "_cpu_fallback", "BNNS", "vDSP_",
                                        "cpu_backend", NULL};
    for (size_t i = 0; parts[i]; i++)
        if (text_find(name, parts[i]) >= 0)
            return true;
    return false;
}

/* On Metal no range names an operator; the sampled functions do. */
static void find_fallback(struct diagnosis *diagnosis) {
    int64_t time = 0, top_time = 0;
    uint32_t top = 0;
    char words[FORMAT_SIZE], change[FROM_TO_SIZE];
    const struct gap_names *names = &diagnosis->source->devices[0].gaps->host_names;
    if (diagnosis->facts.framework != FRAMEWORK_METAL)
        return;
    for (size_t i = 0; i < names->count; i++) {
        if (!is_cpu_backend(trace_text(diagnosis->trace, names->list[i].name)))
            continue;
        time += names->list[i].time;
        if (names->list[i].time > top_time) {
            top_time = names->list[i].time;
            top = names->list[i].name;
        }
    }
    if (top == 0 || 20 * time < diagnosis->verdict->time)
        return;
    struct text name = trace_text(diagnosis->trace, top);
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU, CONFIDENCE_MEDIUM);
    finding_change(finding, CHANGE_NO_HOST, name, 0);
    if (!finding_predict(diagnosis, finding)) {
        finding_estimate(diagnosis, finding, time);
        finding->change_count = 0;
    }
    finding_summary(diagnosis, finding,
                    "The GPU is idle for %s while a CPU backend computes, mostly in %.*s",
                    format_duration(time, words), TEXT_ARGS(name));
    finding_gain(diagnosis, finding, "without it, %s",
                 from_to(diagnosis, finding->recoverable, change));
    finding_cause(diagnosis, finding,
                  "Operations without a GPU kernel, or with arrays on the CPU stream, run on the "
                  "CPU. The GPU waits for their results.");
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_FUNCTION, .name = top},
                     "%.*s: the GPU is idle for %s", TEXT_ARGS(name), words);
    finding_fix(diagnosis, finding, EFFORT_LINES, finding->change_count ? "--no-host" : NULL, "%s",
                remedy_text(diagnosis->facts.framework, REMEDY_TO_DEVICE));
}

const struct range_group *top_range(const struct diagnosis *diagnosis, bool operators) {
    const struct ranges *ranges = diagnosis->source->ranges;
    const struct range_group *top = NULL;
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range_group *group = &ranges->groups[i];
        bool counts = operators
                          ? group->category == RANGE_OP
                          : group->category != RANGE_DEVICE && group->category != RANGE_OVERHEAD;
        if (counts && (!top || group->host_self > top->host_self))
            top = group;
    }
    return top;
}

/* NULL: none has 5 % of the run. */
static const struct range_group *main_range(const struct diagnosis *diagnosis, bool operators) {
    const struct range_group *top = top_range(diagnosis, operators);
    return top && 20 * top->host_self >= MAX(diagnosis->verdict->time, 1) ? top : NULL;
}

static bool device_listed(const struct trace *trace) {
    for (size_t id = 1; id < trace->device.count; id++)
        if (trace->device.listed[id])
            return true;
    return false;
}

/* Devices of torch whose profilers record ranges instead of kernels. */
static bool device_has_ranges(const struct trace *trace) {
    for (size_t i = 0; i < trace->range.count; i++)
        if (trace->range.category[i] == RANGE_DEVICE)
            return true;
    return false;
}

static void describe_operators(struct diagnosis *diagnosis, struct finding *finding,
                               const struct range_group *top) {
    struct text name = trace_text(diagnosis->trace, top->name);
    char time[FORMAT_SIZE];
    finding_summary(diagnosis, finding, "Of the %s, %.*s takes the most time: %s",
                    top->category == RANGE_OP ? "operators on the CPU" : "recorded ranges",
                    TEXT_ARGS(name), format_duration(top->host_self, time));
    finding_evidence(diagnosis, finding,
                     (struct evidence){.kind = EVIDENCE_RANGE, .name = top->name},
                     "%.*s: %s of host time (self)", TEXT_ARGS(name), time);
}

/* Frames without a name and those of the kernel count for their caller. The interpreter is part of
 * a Python function. */
static const char *own_name(const struct sample_function *function) {
    bool is_self = sample_is_python(function) || function->own_samples == function->self_samples;
    return is_self ? "self" : "self and libraries";
}

/* The functions with the most self time. */
static void describe_samples(struct diagnosis *diagnosis, struct finding *finding) {
    enum { FUNCTIONS = 3 };
    const struct samples *samples = diagnosis->source->samples;
    char time[FORMAT_SIZE], part[FORMAT_SIZE];
    const struct sample_function *top = &samples->functions[samples->by_own[0]];
    format_percent(samples_share(samples, top->own, top->own_samples), part);
    if (text_starts(top->function_text, "0x")) {
        finding_summary(
            diagnosis, finding,
            "The samples have addresses instead of functions: symbols of %.*s are "
            "missing",
            TEXT_ARGS(top->module_text.length ? top->module_text : TEXT("the program")));
        return;
    }
    if (samples->weight > 0)
        finding_summary(diagnosis, finding, "The top function is %.*s with %s of %s %s (%s)",
                        TEXT_ARGS(top->function_text), part, format_duration(samples->weight, time),
                        samples_time_name(samples), own_name(top));
    else
        finding_summary(diagnosis, finding, "The top function is %.*s with %s of the samples (%s)",
                        TEXT_ARGS(top->function_text), part, own_name(top));
    for (size_t i = 0; i < samples->function_count && i < FUNCTIONS; i++) {
        const struct sample_function *one = &samples->functions[samples->by_own[i]];
        bool python = sample_is_python(one); /* its name includes the file */
        if (one->own_samples == 0)
            break;
        format_percent(samples_share(samples, one->own, one->own_samples), part);
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_FUNCTION, .name = one->function},
                         "%.*s%s%.*s%s: %s (%s)", TEXT_ARGS(one->function_text), python ? "" : " (",
                         TEXT_ARGS(python ? TEXT("") : one->module_text), python ? "" : ")", part,
                         own_name(one));
    }
}

/* ---- the CPU account --------------------------------------------------------------------- */

/* "the main thread", or that of which process where there are several. */
static void write_main(const struct diagnosis *diagnosis, struct buffer *line) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct trace *trace = diagnosis->trace;
    const struct cpu_thread *main = &cpu->threads[cpu->main];
    buffer_string(line, "the main thread");
    if (cpu->process_count > 1)
        buffer_printf(line, " of %.*s",
                      TEXT_ARGS(trace_text(trace, trace->process.name[main->process])));
}

static char *percent_of(int64_t part, int64_t whole, char text[FORMAT_SIZE]) {
    return format_percent(share_of(part, whole), text);
}

/* Appends the processors that the program used, on average. */
static void write_use(const struct cpu_account *cpu, struct buffer *line) {
    buffer_printf(line, "%.2g", share_of(cpu->times.running, cpu->wall));
    if (cpu->processors)
        buffer_printf(line, " of %u processor%s", cpu->processors, cpu->processors == 1 ? "" : "s");
    else
        buffer_string(line, " processors");
}

static void set_headline(struct diagnosis *diagnosis, struct finding *finding,
                         struct buffer *line) {
    if (buffer_ok(line, diagnosis->status))
        diagnose_set_text(diagnosis, &finding->headline, "%.*s", TEXT_ARGS(buffer_as_text(line)));
    else
        diagnosis->failed = true;
    buffer_finish(line);
}

/* Threads of the program that run or could run, on average. */
static double runnable(const struct cpu_account *cpu) {
    return share_of(cpu->times.running + cpu->times.ready, cpu->wall);
}

/* Whether the program has more runnable threads than processors, so that some would wait on an idle
 * machine as well. */
static bool has_too_many_threads(const struct cpu_account *cpu) {
    return cpu->processors && runnable(cpu) > 1.2 * cpu->processors;
}

static bool fills_processors(const struct cpu_account *cpu) {
    return cpu->processors && share_of(cpu->times.running, cpu->wall) > 0.8 * cpu->processors;
}

static void write_no_processor(const struct diagnosis *diagnosis, struct buffer *line) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct cpu_times *times = &cpu->threads[cpu->main].times;
    char part[FORMAT_SIZE], text[FORMAT_PLURAL_SIZE];
    buffer_printf(line, "For %s of the time ", percent_of(times->ready, times->wall, part));
    write_main(diagnosis, line);
    buffer_string(line, " waits for a processor");
    if (has_too_many_threads(cpu)) {
        buffer_printf(line, ": %s", format_plural(cpu->thread_count, "thread", "threads", text));
        buffer_printf(line, " on %s",
                      format_plural(cpu->processors, "processor", "processors", text));
    }
    buffer_byte(line, '.');
    if (!fills_processors(cpu)) {
        buffer_string(line, " Other programs or a CPU quota leave it ");
        write_use(cpu, line);
        buffer_byte(line, '.');
    }
}

static void find_no_processor(struct diagnosis *diagnosis) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct cpu_times *times = &cpu->threads[cpu->main].times;
    struct finding *finding = diagnose_add(diagnosis, FINDING_NO_PROCESSOR, CONFIDENCE_HIGH);
    struct buffer line = {0};
    char time[FORMAT_SIZE];
    finding->decides = true;
    write_no_processor(diagnosis, &line);
    set_headline(diagnosis, finding, &line);
    finding_summary(
        diagnosis, finding,
        "It is ready without a processor for %s. Threads of the program that could run, "
        "on average: %.2g; that run: %.2g",
        format_duration(times->ready, time), runnable(cpu),
        share_of(cpu->times.running, cpu->wall));
    if (has_too_many_threads(cpu))
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "Start no more busy threads than processors (OMP_NUM_THREADS=%u or the "
                    "library's own setting), or run on more processors",
                    cpu->processors);
    if (!fills_processors(cpu))
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "Run on an idle machine, or raise the CPU quota");
}

static const char *blocked_words(const struct cpu_wait *wait) {
    static const char *const words[BLOCKED_KINDS] = {
        [BLOCKED_UNKNOWN] = "",
        [BLOCKED_DISK] = "for the disk",
        [BLOCKED_PIPE] = "for a pipe or socket",
        [BLOCKED_POLL] = "for other processes or files (poll)",
        [BLOCKED_LOCK] = "for a lock or another thread",
        [BLOCKED_SLEEP] = "for a timer (sleep)",
        [BLOCKED_CHILD] = "for a child process",
        [BLOCKED_DEVICE] = "for the device",
        [BLOCKED_OTHER] = "in a system call"};
    return wait->is_gil ? "for Python's global interpreter lock" : words[wait->on];
}

/* The place where the main thread waits longest; NULL: none is known. */
static const struct cpu_wait *main_wait(const struct cpu_account *cpu) {
    const struct cpu_wait *best = NULL;
    for (size_t i = 0; i < cpu->wait_count; i++)
        if (cpu->waits[i].main > (best ? best->main : 0))
            best = &cpu->waits[i];
    return best;
}

/* The thread that runs most while the main thread is blocked; NULL: none runs half of that time. */
static const struct cpu_thread *busy_meanwhile(const struct cpu_account *cpu) {
    int64_t blocked = cpu_times_blocked(&cpu->threads[cpu->main].times);
    const struct cpu_thread *best = NULL;
    for (size_t i = 0; i < cpu->thread_count; i++)
        if (i != cpu->main && cpu->threads[i].meanwhile > (best ? best->meanwhile : blocked / 2))
            best = &cpu->threads[i];
    return best;
}

static void write_place(const struct diagnosis *diagnosis, const struct cpu_wait *wait,
                        struct buffer *line) {
    const struct trace *trace = diagnosis->trace;
    if (wait->call)
        buffer_printf(line, "in %.*s", TEXT_ARGS(trace_text(trace, wait->call)));
    if (wait->function)
        buffer_printf(line, "%s %.*s", wait->call ? ", called by" : "in",
                      TEXT_ARGS(trace_text(trace, trace->stack.function[wait->function])));
}

static void fix_blocked(struct diagnosis *diagnosis, struct finding *finding,
                        const struct cpu_wait *wait) {
    static const char *const fixes[BLOCKED_KINDS] = {
        [BLOCKED_UNKNOWN] = "Record as root or with kernel.perf_event_paranoid=1 to name waits",
        [BLOCKED_DISK] = "Read ahead in another thread, or keep the data in memory",
        [BLOCKED_PIPE] = "Speed up the other side, or do other work meanwhile",
        [BLOCKED_POLL] = "Speed up what it waits for, or do other work meanwhile",
        [BLOCKED_LOCK] = "Shorten what the other thread does, or do other work meanwhile",
        [BLOCKED_SLEEP] = "Wait for the event itself instead of a fixed time",
        [BLOCKED_CHILD] = "See the child processes under Processes",
        [BLOCKED_DEVICE] = "Do other work while the device is busy",
        [BLOCKED_OTHER] = "See Waits"};
    if (wait->is_gil)
        finding_fix(diagnosis, finding, EFFORT_DESIGN, NULL,
                    "Use processes instead of threads, or native code that releases the lock");
    else
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s", fixes[wait->on]);
}

/* Who runs meanwhile is the candidate that the main thread waits for. */
static void describe_meanwhile(struct diagnosis *diagnosis, struct finding *finding) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct trace *trace = diagnosis->trace;
    const struct cpu_thread *busy = busy_meanwhile(cpu);
    char part[FORMAT_SIZE];
    if (!busy)
        return;
    percent_of(busy->meanwhile, cpu_times_blocked(&cpu->threads[cpu->main].times), part);
    finding_cause(diagnosis, finding,
                  "Meanwhile the thread %.*s (%lld) of %.*s runs %s of the time.",
                  TEXT_ARGS(trace_text(trace, trace->thread.name[busy->thread])),
                  (long long)trace->thread.tid[busy->thread],
                  TEXT_ARGS(trace_text(trace, trace->process.name[busy->process])), part);
}

/* The main threads of other processes that live for at least half of the run: workers, of which a
 * data loader is the usual case. Returns their number. */
static size_t sum_workers(const struct cpu_account *cpu, struct cpu_times *sum) {
    size_t count = 0;
    *sum = (struct cpu_times){0};
    for (size_t i = 0; i < cpu->process_count; i++) {
        const struct cpu_process *process = &cpu->processes[i];
        const struct cpu_times *times = &cpu->threads[process->first].times;
        if (process->count == 0 || process->process == cpu->threads[cpu->main].process ||
            2 * times->wall < cpu->wall)
            continue;
        count++;
        sum->wall += times->wall;
        sum->running += times->running;
        sum->ready += times->ready;
        for (unsigned kind = 0; kind < BLOCKED_KINDS; kind++)
            sum->blocked[kind] += times->blocked[kind];
    }
    return count;
}

static void fix_workers(struct diagnosis *diagnosis, struct finding *finding,
                        const struct cpu_times *sum) {
    if (2 * sum->running > sum->wall)
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "The workers are busy: start more of them if there are processors, or do less "
                    "work in them");
    else if (2 * sum->ready > sum->wall)
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "The workers wait for processors: start fewer, or run on more processors");
    else if (2 * sum->blocked[BLOCKED_DISK] > sum->wall)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "The workers wait for the disk: read fewer and larger files, or keep the data "
                    "in memory");
}

void cpu_describe_workers(struct diagnosis *diagnosis, struct finding *finding) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    struct cpu_times sum;
    size_t count = cpu && cpu->thread_count ? sum_workers(cpu, &sum) : 0;
    char name[FORMAT_PLURAL_SIZE], running[FORMAT_SIZE], ready[FORMAT_SIZE], disk[FORMAT_SIZE],
        other[FORMAT_SIZE];
    if (count == 0 || sum.wall <= 0)
        return;
    int64_t blocked = cpu_times_blocked(&sum);
    finding_evidence(diagnosis, finding, (struct evidence){.kind = EVIDENCE_TEXT},
                     "%s: %s running, %s waiting for a processor, %s for the disk, %s blocked "
                     "otherwise",
                     format_plural(count, "worker process", "worker processes", name),
                     percent_of(sum.running, sum.wall, running),
                     percent_of(sum.ready, sum.wall, ready),
                     percent_of(sum.blocked[BLOCKED_DISK], sum.wall, disk),
                     percent_of(blocked - sum.blocked[BLOCKED_DISK], sum.wall, other));
    fix_workers(diagnosis, finding, &sum);
}

static void find_blocked(struct diagnosis *diagnosis) {
    enum { PLACES = 3 };
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct cpu_times *times = &cpu->threads[cpu->main].times;
    const struct cpu_wait *wait = main_wait(cpu);
    int64_t blocked = cpu_times_blocked(times);
    struct buffer line = {0}, place = {0};
    char part[FORMAT_SIZE], time[FORMAT_SIZE];
    if (!wait)
        return;
    struct finding *finding = diagnose_add(diagnosis, FINDING_BLOCKED, CONFIDENCE_HIGH);
    finding->decides = true;
    buffer_printf(&line, "For %s of the time ", percent_of(blocked, times->wall, part));
    write_main(diagnosis, &line);
    buffer_printf(&line, " is blocked");
    if (wait->on != BLOCKED_UNKNOWN)
        buffer_printf(&line, ", %swaiting %s", 10 * wait->main < 9 * blocked ? "mostly " : "",
                      blocked_words(wait));
    buffer_byte(&line, '.');
    set_headline(diagnosis, finding, &line);
    write_place(diagnosis, wait, &place);
    if (place.length)
        finding_summary(diagnosis, finding, "It waits %s %.*s", format_duration(wait->main, time),
                        TEXT_ARGS(buffer_as_text(&place)));
    else
        finding_summary(diagnosis, finding, "It is blocked for %s; where is not known",
                        format_duration(blocked, time));
    describe_meanwhile(diagnosis, finding);
    for (size_t i = 0, shown = 0; i < cpu->wait_count && shown < PLACES; i++) {
        if (cpu->waits[i].main == 0)
            continue;
        buffer_clear(&place);
        write_place(diagnosis, &cpu->waits[i], &place);
        uint32_t function = cpu->waits[i].function;
        finding_evidence(diagnosis, finding,
                         (struct evidence){.kind = EVIDENCE_FUNCTION,
                                           .name = diagnosis->trace->stack.function[function]},
                         "%s: %.*s", format_duration(cpu->waits[i].main, time),
                         TEXT_ARGS(place.length ? buffer_as_text(&place) : TEXT("unknown")));
        shown++;
    }
    if (wait->on == BLOCKED_PIPE || wait->on == BLOCKED_POLL || wait->on == BLOCKED_CHILD)
        cpu_describe_workers(diagnosis, finding);
    fix_blocked(diagnosis, finding, wait);
    diagnosis->failed |= !buffer_ok(&place, diagnosis->status);
    buffer_finish(&place);
}

static void find_running(struct diagnosis *diagnosis) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct samples *samples = diagnosis->source->samples;
    const struct cpu_times *times = &cpu->threads[cpu->main].times;
    struct buffer line = {0};
    char part[FORMAT_SIZE];
    struct finding *finding = diagnose_add(diagnosis, FINDING_ON_CPU, CONFIDENCE_HIGH);
    finding->decides = true;
    buffer_printf(&line, "For %s of the time ", percent_of(times->running, times->wall, part));
    write_main(diagnosis, &line);
    buffer_string(&line, " runs. The program uses ");
    write_use(cpu, &line);
    buffer_byte(&line, '.');
    set_headline(diagnosis, finding, &line);
    if (samples->function_count) {
        describe_samples(diagnosis, finding);
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "See the functions under CPU samples, or the flame graph of the HTML page");
    } else {
        finding_summary(diagnosis, finding, "What it runs was not sampled");
        finding_fix(diagnosis, finding, EFFORT_SETTING, NULL,
                    "Record with CPU sampling to see its functions");
    }
}

/* What the main thread does, largest part first. */
static void find_account(struct diagnosis *diagnosis) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    const struct cpu_times *times = &cpu->threads[cpu->main].times;
    const int64_t parts[] = {times->running, times->ready, cpu_times_blocked(times)};
    diagnose_rule *const rules[] = {find_running, find_no_processor, find_blocked};
    bool done[ARRAY_COUNT(parts)] = {false};
    for (size_t rank = 0; rank < ARRAY_COUNT(parts); rank++) {
        size_t best = ARRAY_COUNT(parts);
        for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
            if (!done[i] && (best == ARRAY_COUNT(parts) || parts[i] > parts[best]))
                best = i;
        done[best] = true;
        if (rank == 0 || 10 * parts[best] >= times->wall)
            rules[best](diagnosis);
    }
}

/* A snapshot of an allocator has nothing but memory. */
static bool find_memory_alone(struct diagnosis *diagnosis) {
    const struct trace *trace = diagnosis->trace;
    const struct memory_use *memory = diagnosis->source->memory, *most = NULL;
    char peak[FORMAT_SIZE], reserved[FORMAT_SIZE + 32] = "", size[FORMAT_SIZE];
    if (!memory || trace->memory.count == 0 || trace->call.count || trace->range.count)
        return false;
    for (size_t i = 0; i < trace->device.count; i++)
        if (!most || memory[i].high_water > most->high_water)
            most = &memory[i];
    if (!most || most->high_water == 0)
        return false;
    if (most->reserved_max)
        snprintf(reserved, sizeof reserved, " of %s that the allocator reserves",
                 format_bytes(most->reserved_max, size));
    struct finding *finding = diagnose_add(diagnosis, FINDING_UNDECIDED, CONFIDENCE_LOW);
    finding->decides = true;
    diagnose_set_text(diagnosis, &finding->headline, "Memory in use peaks at %s%s.",
                      format_bytes(most->high_water, peak), reserved);
    finding_summary(diagnosis, finding,
                    "The trace has allocations and no kernels, calls or samples");
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "See what is in use at the peak: ridge report --section memory");
    return true;
}

/* So has a snapshot of the heap. */
static bool find_heap_alone(struct diagnosis *diagnosis) {
    const struct heap *heap = diagnosis->source->heap;
    char size[FORMAT_SIZE];
    if (!heap || !heap->is_sampled || heap->allocated == 0)
        return false;
    struct finding *finding = diagnose_add(diagnosis, FINDING_UNDECIDED, CONFIDENCE_LOW);
    finding->decides = true;
    diagnose_set_text(diagnosis, &finding->headline, "The recorded heap allocations sum to %s.",
                      format_bytes(heap->allocated, size));
    finding_summary(diagnosis, finding,
                    "The trace has allocations and no kernels, calls or samples");
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "See the lines that allocate: ridge report --section memory");
    return true;
}

/* Without thread states: the top operator or the top sampled function. A device may have worked
 * unrecorded, so nothing is written about one unless the trace lists it. */
static void find_profile(struct diagnosis *diagnosis) {
    const struct samples *samples = diagnosis->source->samples;
    const struct range_group *top = main_range(diagnosis, true);
    bool ranges = device_has_ranges(diagnosis->trace), sampled = samples->function_count > 0;
    bool listed = !ranges && device_listed(diagnosis->trace);
    if (!top && !sampled && (find_memory_alone(diagnosis) || find_heap_alone(diagnosis)))
        return;
    if (!top && !sampled)
        top = main_range(diagnosis, false);
    if (!top && !sampled)
        return;
    struct finding *finding = diagnose_add(diagnosis, ranges ? FINDING_UNDECIDED : FINDING_ON_CPU,
                                           listed && !sampled ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
    finding->decides = true;
    diagnose_set_text(diagnosis, &finding->headline, "%s",
                      ranges   ? "The trace has ranges of a device, but no kernels."
                      : listed ? "The machine has a GPU, but no GPU activity was recorded."
                      : top && top->category != RANGE_OP
                          ? "The trace has ranges of the host and no device activity."
                          : "This is a profile of the CPU only.");
    if (top)
        describe_operators(diagnosis, finding, top);
    else
        describe_samples(diagnosis, finding);
    if (listed)
        finding_cause(diagnosis, finding,
                      "The program does not use the GPU, or its GPU activity was not recorded.");
    if (listed && top && top->category == RANGE_OP)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "%s",
                    remedy_text(diagnosis->facts.framework, REMEDY_TO_DEVICE));
    else if (ranges || (top && top->category != RANGE_OP))
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "See all ranges: ridge report --section ranges");
    else if (sampled)
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                    "See the functions under CPU samples, or the flame graph of the HTML page");
    else
        finding_fix(diagnosis, finding, EFFORT_LINES, NULL, "See Operators on the CPU");
}

/* ---- host memory ------------------------------------------------------------------------- */

#define KEPT_BYTES ((uint64_t)32 << 20)
#define GROWN_BYTES ((uint64_t)100 << 20)

/* "load (train.py:88)", or the function alone. */
static void describe_site(const struct trace *trace, const struct heap_site *site,
                          struct buffer *words) {
    if (!site->function) {
        buffer_string(words, "an unknown function");
        return;
    }
    buffer_text(words, trace_text(trace, trace->stack.function[site->function]));
    if (trace->stack.line[site->function]) {
        buffer_string(words, " (");
        lines_format(trace, site->function, words);
        buffer_byte(words, ')');
    }
}

/* What the program allocated in its steady part and never freed. */
static void describe_kept(struct diagnosis *diagnosis, const struct heap *heap) {
    enum { SITES = 3 };
    const struct trace *trace = diagnosis->trace;
    char bytes[FORMAT_SIZE], part[FORMAT_SIZE];
    struct finding *finding = diagnose_add(diagnosis, FINDING_HOST_MEMORY, CONFIDENCE_MEDIUM);
    const struct heap_site *top = &heap->sites[0];
    struct buffer name = {0};
    describe_site(trace, top, &name);
    finding->decides = diagnosis->source->device_count == 0;
    finding->remark = !finding->decides;
    finding_summary(diagnosis, finding,
                    "About %s that the program allocated after the first quarter of the run were "
                    "never freed, %s of them by %.*s",
                    format_bytes(heap->kept, bytes), format_bytes(top->kept, part),
                    TEXT_ARGS(buffer_as_text(&name)));
    for (size_t i = 0; i < heap->site_count && i < SITES && heap->sites[i].kept; i++) {
        uint32_t function = trace->stack.function[heap->sites[i].function];
        buffer_clear(&name);
        describe_site(trace, &heap->sites[i], &name);
        finding_evidence(
            diagnosis, finding, (struct evidence){.kind = EVIDENCE_FUNCTION, .name = function},
            "%.*s: %s not freed of %s allocated", TEXT_ARGS(buffer_as_text(&name)),
            format_bytes(heap->sites[i].kept, bytes), format_bytes(heap->sites[i].allocated, part));
    }
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Free this memory, or bound the container or cache that holds it");
    diagnosis->failed |= !buffer_ok(&name, diagnosis->status);
    buffer_finish(&name);
}

/* A process whose resident memory grew in the second half of its life and did not fall. */
static void describe_growth(struct diagnosis *diagnosis, const struct heap_process *process) {
    char bytes[FORMAT_SIZE], last[FORMAT_SIZE];
    struct finding *finding = diagnose_add(diagnosis, FINDING_HOST_MEMORY, CONFIDENCE_LOW);
    finding->decides = true;
    finding_summary(diagnosis, finding,
                    "The resident memory of %.*s grew by %s to %s in the second half of its time",
                    TEXT_ARGS(process->name), format_bytes(process->last - process->middle, bytes),
                    format_bytes(process->last, last));
    finding_fix(diagnosis, finding, EFFORT_LINES, NULL,
                "Record with --memory to see which functions allocate and do not free");
}

/* In both quarters of the second half: the memory of a start-up grows once. */
static bool grows(const struct heap_process *process) {
    if (process->floor < process->middle || process->last < process->middle + GROWN_BYTES ||
        process->last / 5 < process->middle / 4)
        return false;
    uint64_t part = (process->last - process->middle) / 4;
    return process->late >= process->middle + part && process->last >= process->late + part;
}

static void find_host_memory(struct diagnosis *diagnosis) {
    const struct heap *heap = diagnosis->source->heap;
    if (heap && heap->is_sampled && heap->kept >= KEPT_BYTES)
        describe_kept(diagnosis, heap);
    if (!heap || heap->is_sampled || diagnosis->source->device_count > 0)
        return;
    for (size_t i = 0; i < heap->process_count; i++)
        if (grows(&heap->processes[i]))
            describe_growth(diagnosis, &heap->processes[i]);
}

void diagnose_cpu(struct diagnosis *diagnosis) {
    const struct cpu_account *cpu = diagnosis->source->cpu;
    bool unseen =
        diagnosis->facts.recorded.activities > 0 || kernels_are_missing(&diagnosis->facts);
    if (diagnosis->source->device_count > 0) {
        find_operators(diagnosis);
        find_fallback(diagnosis);
    } else if (!unseen && cpu && cpu->thread_count > 0) {
        find_account(diagnosis);
    } else if (!unseen) {
        find_profile(diagnosis);
    }
    find_host_memory(diagnosis);
}
