/* Recording happens in this order: create the spool folder, fork the program as a process that
 * waits, create the file (its name may contain the pid), open the sources, and only then let the
 * program run. Processes that outlive the program are recorded for one more second.
 *
 * Only a wrong command line or an impossible output file keeps the program from starting; these
 * fail with STATUS_USAGE. A source that is not available is a note. Any other failure undoes
 * everything, so that the caller can run the program unrecorded.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity() */
#endif
#include "record/record.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ridge.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/job_place.h"
#include "base/process.h"
#include "record/crash.h"
#include "record/drain.h"
#include "record/environment.h"
#include "record/inject.h"
#include "record/path_template.h"
#include "record/perf/perf_maps.h"
#include "record/process_facts.h"
#include "record/spool_folder.h"

/* ---- Metadata ---------------------------------------------------------------------------- */

extern char **environ;

static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:=,@%";
    return *word && word[strspn(word, plain)] == 0;
}

static void add_word(struct buffer *command, const char *word) {
    if (is_plain(word)) {
        buffer_string(command, word);
        return;
    }
    buffer_byte(command, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buffer_string(command, "'\\''");
        else
            buffer_byte(command, *word);
    buffer_byte(command, '\'');
}

void record_command_text(char *const *words, struct buffer *command) {
    for (char *const *word = words; *word; word++) {
        if (word != words)
            buffer_byte(command, ' ');
        add_word(command, *word);
    }
}

static void write_command(struct trace_writer *writer, char *const *words) {
    struct buffer command = {0};
    record_command_text(words, &command);
    trace_writer_meta(writer, META_COMMAND, buffer_as_text(&command));
    buffer_finish(&command);
}

static int64_t usable_processors(void) {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return CPU_COUNT(&allowed);
#endif
    return sysconf(_SC_NPROCESSORS_ONLN);
}

void record_write_meta(struct trace_writer *writer, const struct record_options *options) {
    char host[PROCESS_NAME_SIZE], tool[64];
    struct job_place place = job_place_own();
    process_host(host);
    snprintf(tool, sizeof tool, "ridge %s", RIDGE_VERSION);
    trace_writer_meta(writer, META_SOURCE_FORMAT, TEXT("ridge"));
    trace_writer_meta(writer, META_SOURCE_TOOL, text_of(tool));
    trace_writer_meta(writer, META_CLOCK_BASE, TEXT("unix"));
    trace_writer_meta_integer(writer, META_CLOCK_OFFSET, process_clock_offset());
    trace_writer_meta(writer, META_HOST, text_of(host));
    write_command(writer, options->command);
    trace_writer_meta_integer(writer, META_PROCESSORS, usable_processors());
    if (place.rank >= 0)
        trace_writer_meta_integer(writer, META_RANK, place.rank);
    if (place.world_size >= 0)
        trace_writer_meta_integer(writer, META_WORLD_SIZE, place.world_size);
}

static void write_variable(struct trace_writer *writer, struct text name, const char *value) {
    char key[256];
    snprintf(key, sizeof key, "environment.%.*s", TEXT_ARGS(name));
    trace_writer_meta(writer, key, text_of(value));
}

/* The values may be secrets, so they are stored only on request. */
static void write_environment(struct trace_writer *writer, const struct environment *environment) {
    for (char **variable = environ; *variable; variable++) {
        size_t length = strcspn(*variable, "=");
        bool replaced = false;
        for (size_t i = 0; i < environment->count; i++)
            replaced |= text_is((struct text){*variable, length}, environment->variables[i].name);
        if (!replaced && (*variable)[length])
            write_variable(writer, (struct text){*variable, length}, *variable + length + 1);
    }
    for (size_t i = 0; i < environment->count; i++)
        write_variable(writer, text_of(environment->variables[i].name),
                       environment->variables[i].value);
}

/* ---- Summary ----------------------------------------------------------------------------- */

void record_note(struct record_summary *summary, const char *format, ...) {
    va_list arguments;
    if (summary->note_count == RECORD_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(summary->notes[summary->note_count++], RECORD_NOTE_SIZE, format, arguments);
    va_end(arguments);
}

static void add_count(struct buffer *lines, uint64_t count, const char *one, const char *many,
                      const char *end) {
    char text[FORMAT_PLURAL_SIZE];
    if (count > 0)
        buffer_printf(lines, "%s%s", format_plural(count, one, many, text), end);
}

static void describe_content(const struct record_summary *summary, struct buffer *lines) {
    char time[FORMAT_SIZE], size[FORMAT_SIZE];
    buffer_string(lines, "recorded  ");
    add_count(lines, summary->processes, "process", "processes", ", ");
    add_count(lines, summary->kernels, "kernel", "kernels", ", ");
    add_count(lines, summary->copies, "copy", "copies", ", ");
    add_count(lines, summary->calls, "call", "calls", ", ");
    add_count(lines, summary->ranges, "range", "ranges", ", ");
    add_count(lines, summary->samples, "sample", "samples", ", ");
    buffer_printf(lines, "%s: %s (%s)\n", format_duration(summary->wall_ns, time), summary->path,
                  format_bytes(summary->bytes, size));
}

static void describe_losses(const struct record_summary *summary, struct buffer *lines) {
    buffer_string(lines, "lost      ");
    if (summary->lost)
        add_count(lines, summary->lost, "event", "events", "");
    else
        buffer_string(lines, "nothing");
    for (unsigned i = 0; i < summary->note_count; i++)
        buffer_printf(lines, "; %s", summary->notes[i]);
    buffer_byte(lines, '\n');
}

/* With trampolines Python does not inline calls, so they also cost time in other code. Samples in
 * code that only runs with trampolines are 1/15 to 1/3 of the total cost (CPython 3.12 and 3.13,
 * x86-64). Such samples are few, so two standard deviations are added. A call takes at most twice
 * as long. */
static void python_cost(const struct record_summary *summary, double *low, double *high) {
    const struct perf_python *python = &summary->python;
    double samples = (double)summary->samples, seen = (double)python->trampolines;
    double deviation = 2 * sqrt(seen), limit = (double)python->interpreted / 2;
    double most = python->is_exact ? 15 * (seen + deviation + 2) : limit;
    *low = seen > deviation ? 3 * (seen - deviation) / samples : 0;
    *high = (most < limit ? most : limit) / samples;
    if (*low > *high)
        *low = *high;
}

static void describe_python(const struct record_summary *summary, struct buffer *lines) {
    char text[FORMAT_SIZE];
    double low = 0, high = 0;
    bool is_known = summary->python.interpreted > 0 && summary->samples > 0;
    if (!is_known && summary->python_maps == 0)
        return;
    buffer_string(lines, "; Python's perf trampolines took ");
    if (is_known)
        python_cost(summary, &low, &high);
    if (!is_known)
        buffer_string(lines, "an unknown part");
    else if (low >= 0.001)
        buffer_printf(lines, "%s to ", format_percent(low, text));
    else
        buffer_string(lines, "up to ");
    if (is_known)
        buffer_string(lines, format_percent(high, text));
    buffer_string(lines, " of that (--env PYTHONPERFSUPPORT=0 disables them)");
}

static void describe_cost(const struct record_summary *summary, struct buffer *lines) {
    char time[FORMAT_SIZE], share[FORMAT_SIZE];
    buffer_printf(lines, "cost      %s of CPU time to record",
                  format_duration(summary->recorder_ns, time));
    if (summary->target_ns > 0) {
        buffer_printf(lines, "; the program used %s", format_duration(summary->target_ns, time));
        if (summary->samples > 0)
            buffer_string(lines, ", including sampling interrupts");
        describe_python(summary, lines);
    }
    if (summary->probe_ns >= 0)
        buffer_printf(
            lines, "; %s in the probe (%s of the run)", format_duration(summary->probe_ns, time),
            format_percent(
                summary->wall_ns > 0 ? (double)summary->probe_ns / (double)summary->wall_ns : 0,
                share));
    buffer_byte(lines, '\n');
}

static void describe_failure(const struct record_summary *summary, struct buffer *lines) {
    buffer_string(lines, "no trace  ");
    for (unsigned i = 0; i < summary->note_count; i++)
        buffer_printf(lines, "%s%s", i ? "; " : "", summary->notes[i]);
    buffer_byte(lines, '\n');
}

void record_describe(const struct record_summary *summary, struct buffer *lines) {
    if (summary->no_trace) {
        describe_failure(summary, lines);
        return;
    }
    describe_content(summary, lines);
    describe_losses(summary, lines);
    describe_cost(summary, lines);
}

#define ANNOUNCE "RIDGE_ANNOUNCE"
#define CHILDREN_NS 1000000000 /* how long processes that outlive the program are recorded */
enum { COMPRESSION = 1 };      /* low: the CPUs are for the recorded program */

/* ---- Setup ------------------------------------------------------------------------------- */

static bool prepare_probe(const struct record_options *options, struct spool_folder *folder,
                          struct environment *environment, struct record_summary *summary,
                          struct status *status) {
    struct status why = {0};
    if (environment_find_probe(environment->probe, &why) && spool_folder_create(folder, &why))
        return environment_build(environment, options, folder->path, summary, status);
    record_note(summary, "CUDA and NVTX are not recorded: %s", why.message);
    return environment_build(environment, options, NULL, summary, status);
}

bool record_open_output(struct record_file *file, const struct record_options *options, pid_t pid,
                        struct status *status) {
    struct buffer pattern = {0}, name = {0};
    char host[PROCESS_NAME_SIZE];
    process_host(host);
    if (options->output)
        buffer_string(&pattern, options->output);
    else
        path_template_default(options->command[0], &pattern);
    buffer_byte(&pattern, 0);
    bool ok =
        buffer_ok(&pattern, status) && path_template_expand(pattern.data, pid, host, &name, status);
    buffer_byte(&name, 0);
    ok = ok && buffer_ok(&name, status) &&
         record_file_open(file, name.data, options->replace, status);
    buffer_finish(&pattern);
    buffer_finish(&name);
    return ok;
}

static bool open_file(struct recording *recording, pid_t pid, struct status *status) {
    const struct record_options *options = recording->options;
    if (!record_open_output(&recording->file, options, pid, status))
        return false;
    if (recording->file.regular || (!options->ring_bytes && options->delay <= 0))
        return true;
    status_fail(status, STATUS_USAGE, "--ring and --delay need a regular file, not %s",
                recording->file.path);
    record_file_discard(&recording->file);
    return false;
}

static bool open_writer(struct recording *recording, const struct environment *environment,
                        struct status *status) {
    recording->writer =
        trace_writer_create(recording->file.fd,
                            &(struct trace_writer_options){
                                .session = process_session(), .writer = 1, .level = COMPRESSION},
                            status);
    if (!recording->writer)
        return false;
    recording->processes.writer = recording->writer;
    record_write_meta(recording->writer, recording->options);
    if (recording->options->store_environment)
        write_environment(recording->writer, environment);
    return true;
}

static void open_perf(struct recording *recording, pid_t pid) {
    const struct record_options *options = recording->options;
    struct status why = {0};
    if (options->no_sampling)
        return;
    recording->perf = perf_open(pid, &options->perf, &why);
    if (recording->perf) {
        recording->perf_interval = perf_drain_interval_ms(recording->perf);
        return;
    }
    record_note(recording->summary, "CPU sampling is not available: %s", why.message);
    recording->thread_poll = thread_poll_create(pid);
    if (recording->thread_poll)
        trace_writer_meta_integer(recording->writer, META_STATES_INTERVAL,
                                  THREAD_POLL_INTERVAL_MS * (int64_t)1000000);
    recording->perf_interval = THREAD_POLL_INTERVAL_MS;
}

/* Without a reader the folder is removed, so that probes do not write anything. */
static void open_reader(struct recording *recording, struct spool_folder *folder) {
    struct status why = {0};
    if (!folder->path[0])
        return;
    recording->reader = spool_reader_open(folder->path, &why);
    if (recording->reader) {
        recording->folder = folder;
        return;
    }
    spool_folder_remove(folder);
    record_note(recording->summary, "CUDA and NVTX are not recorded: %s", why.message);
}

/* Until the probe has subscribed to CUPTI, which takes up to a second when it is the first to use
 * it. */
static bool wait_for_session(struct recording *recording, struct status *status) {
    enum { TIMEOUT_MS = 10000, POLL_MS = 5 };
    for (unsigned i = 0; i < TIMEOUT_MS / POLL_MS; i++) {
        if (!spool_reader_poll(recording->reader, status))
            return false;
        for (unsigned k = 0; k < spool_reader_processes(recording->reader); k++)
            if (spool_reader_process(recording->reader, k)->ready)
                return true;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
    return status_fail(status, STATUS_UNSUPPORTED, "the probe did not respond in it");
}

/* Loads the probe into the running process. */
static void start_session(struct recording *recording, const struct environment *environment) {
    struct status why = {0};
    struct injection injection = {.pid = recording->summary->target.pid,
                                  .library = environment->probe,
                                  .folder = environment_value(environment, SPOOL_VARIABLE),
                                  .words = environment_value(environment, SPOOL_OPTIONS)};
    if (!recording->reader || (inject_probe(&injection, &why) && wait_for_session(recording, &why)))
        return;
    record_note(recording->summary,
                "CUDA is not recorded: the probe cannot be loaded into process "
                "%ld: %s",
                (long)injection.pid, why.message);
    spool_reader_close(recording->reader);
    recording->reader = NULL;
    spool_folder_remove(recording->folder);
    recording->folder = NULL;
}

static bool open_all(struct recording *recording, const struct environment *environment,
                     struct spool_folder *folder, struct status *status) {
    pid_t pid = recording->summary->target.pid;
    if (!open_file(recording, pid, status) || !open_writer(recording, environment, status))
        return false;
    open_reader(recording, folder);
    if (recording->injects)
        start_session(recording, environment);
    open_perf(recording, pid);
    spool_rows_init(&recording->rows, recording->reader, recording->writer, &recording->processes,
                    &recording->gpus);
    recording->rows.entities.device_facts = recording->options->device_facts;
    recording->processes.apis = &recording->rows.apis;
    if (recording->perf)
        perf_watch_libraries(recording->perf, &recording->rows.apis);
    return true;
}

static void close_all(struct recording *recording) {
    perf_close(recording->perf);
    thread_poll_destroy(recording->thread_poll);
    spool_reader_close(recording->reader);
    spool_rows_finish(&recording->rows);
    gpu_counters_finish(&recording->gpus);
    processes_finish(&recording->processes);
    map_finish(&recording->sampled);
    trace_writer_destroy(recording->writer);
}

/* ---- Recording --------------------------------------------------------------------------- */

static void wait_and_drain(struct recording *recording) {
    struct target *target = &recording->summary->target;
    char number[FORMAT_SIZE];
    unsigned alive;
    while (!target_wait(target, drain_timeout(recording), &alive)) {
        drain_poll(recording);
        if (target->attached && recording->stopped)
            break;
        if (target->ended && clock_now() - target->ended_at > CHILDREN_NS) {
            record_note(recording->summary,
                        alive == 1 ? "%s process was still running and is no longer recorded"
                                   : "%s processes were still running and are no longer recorded",
                        format_count(alive, number));
            break;
        }
    }
}

static int64_t processor_ns(int who) {
    struct rusage used = {0};
    getrusage(who, &used);
    return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

/* ---- Completion -------------------------------------------------------------------------- */

/* Each takeover is also a pause in the trace. */
static void note_takeover(struct recording *recording) {
    const struct takeover *takeover = &recording->rows.takeover;
    int64_t started = recording->summary->target.started;
    char from[FORMAT_SIZE], until[FORMAT_SIZE];
    if (takeover->begun == 0)
        return;
    format_duration(takeover->first - started, from);
    format_duration(takeover->last_end - started, until);
    if (takeover->ended < takeover->begun)
        record_note(recording->summary,
                    "the program's profiler (%s) took over CUPTI after %s: later kernels and calls "
                    "are not in this trace",
                    takeover->library, from);
    else
        record_note(
            recording->summary,
            "the program's profiler (%s) used CUPTI %s %s and %s: kernels and calls in that "
            "time are not in this trace",
            takeover->library, takeover->begun > 1 ? "repeatedly between" : "between", from, until);
}

static void note_captures(struct recording *recording) {
    const char *range = recording->options->capture_range;
    if (!range || recording->rows.captures.count > 0)
        return;
    if (!recording->folder)
        record_note(recording->summary,
                    "nothing was captured: %s cannot be detected without the probe", range);
    else if (strncmp(range, "nvtx:", 5) == 0)
        record_note(recording->summary,
                    "nothing was captured: the program never entered the NVTX range '%s'",
                    range + 5);
    else
        record_note(recording->summary,
                    "nothing was captured: the program never called cudaProfilerStart()");
}

/* dyld loads the probe when a process starts. */
static void note_metal(struct recording *recording) {
    bool is_expected = recording->options->backend == RECORD_METAL;
#ifdef __APPLE__
    is_expected |= recording->options->backend == RECORD_AUTO;
#endif
    if (is_expected && recording->has_no_probe)
        record_note(recording->summary,
                    "Metal is not recorded: the program did not load the probe; macOS does not "
                    "insert libraries into its own programs and into those with the hardened "
                    "runtime (see docs/macos.md)");
}

static void note_content(struct recording *recording) {
    struct record_summary *summary = recording->summary;
    const struct spool_rows *rows = &recording->rows;
    char number[FORMAT_SIZE];
    summary->lost += rows->dropped + rows->invalid;
    note_metal(recording);
    if (rows->missing[0])
        record_note(summary, "CUDA is not recorded: %s", rows->missing);
    if (rows->incomplete[0])
        record_note(summary, "some kinds of CUDA calls or records are missing: %s",
                    rows->incomplete);
    if (rows->python_off[0])
        record_note(summary, "Python lines are not recorded: %s", rows->python_off);
    if (rows->refused[0])
        record_note(summary,
                    "the program's profiler (in %s) could not use CUPTI, which supports one client "
                    "at a time: its result lacks CUDA; run it without ridge, or record with "
                    "--backend cpu",
                    rows->refused);
    note_takeover(recording);
    if (rows->ranges.never_ended)
        record_note(summary,
                    rows->ranges.never_ended == 1 ? "%s range was still open at the end"
                                                  : "%s ranges were still open at the end",
                    format_count(rows->ranges.never_ended, number));
    if (recording->trimmed_rows)
        record_note(summary,
                    recording->trimmed_rows == 1 ? "%s older event was discarded (--ring)"
                                                 : "%s older events were discarded (--ring)",
                    format_count(recording->trimmed_rows, number));
    if (recording->options->backend == RECORD_CUDA && recording->folder &&
        rows->kernels + rows->calls == 0 && !rows->missing[0])
        record_note(summary, "the probe saw no use of CUDA");
    if (recording->options->backend == RECORD_AUTO)
        apis_note(&rows->apis, summary);
    note_captures(recording);
    if (recording->delayed)
        record_note(summary, "the program ended before --delay had passed");
}

static void write_notes(struct recording *recording) {
    const struct record_summary *summary = recording->summary;
    struct trace_writer *writer = recording->writer;
    for (unsigned i = 0; i < summary->note_count; i++)
        trace_writer_meta(writer, META_WARNING, text_of(summary->notes[i]));
    trace_writer_dropped(writer, recording->rows.invalid);
    if (!summary->target.attached) {
        trace_writer_meta_integer(writer, "target.status", target_status(&summary->target));
        trace_writer_meta_integer(writer, "target.cpu_ns", summary->target_ns);
    }
    if (summary->target.attached || recording->options->delay > 0 || recording->trimmed_rows)
        trace_writer_meta(writer, META_STARTS_LATE, TEXT("yes"));
    if (recording->stopped || (summary->target.attached && !summary->target.ended) ||
        WIFSIGNALED(summary->target.wait_status))
        trace_writer_meta(writer, META_ENDS_EARLY, TEXT("yes"));
    trace_writer_meta_integer(writer, "recorder.cpu_ns", summary->recorder_ns);
    apis_write_versions(&recording->rows.apis, writer);
    if (summary->probe_ns >= 0)
        trace_writer_meta_integer(writer, "probe.cost_ns", summary->probe_ns);
}

static void count_events(struct recording *recording) {
    struct record_summary *summary = recording->summary;
    const struct spool_rows *rows = &recording->rows;
    if (recording->processes.count > summary->processes)
        summary->processes = recording->processes.count;
    summary->kernels = rows->kernels;
    summary->copies = rows->copies;
    summary->calls = rows->calls;
    summary->ranges = rows->ranges.written;
    summary->probe_ns = spool_rows_probe_cost(rows);
}

/* A file that could not be written completely is kept: it is readable up to the error. */
static void finish_file(struct recording *recording) {
    struct record_summary *summary = recording->summary;
    struct status status = {0};
    bool ok = trace_writer_finish(recording->writer, &status) &&
              (!recording->trimmed || record_file_renumber(&recording->file, &status));
    summary->bytes = record_file_bytes(&recording->file);
    ok = record_file_close(&recording->file, &status) && ok;
    if (ok && recording->error.code != STATUS_OK)
        status = recording->error;
    if (status.code != STATUS_OK)
        record_note(summary, "the trace is incomplete: %s", status.message);
}

static bool run_recording(struct recording *recording, struct status *status) {
    struct record_summary *summary = recording->summary;
    struct target *target = &summary->target;
    int64_t own_before = processor_ns(RUSAGE_SELF);
    if (!target->attached && !target_exec(target, recording->options->command[0], status))
        return false;
    if (!record_file_commit(&recording->file, &recording->error))
        snprintf(recording->file.path, sizeof recording->file.path, "%.*s", RECORD_PATH_SIZE - 1,
                 recording->file.temporary); /* it keeps that name */
    snprintf(summary->path, sizeof summary->path, "%s", recording->file.path);
    if (!target->attached)
        crash_guard(target->pid, summary->path);
    drain_start(recording, target->started);
    wait_and_drain(recording);
    summary->wall_ns = (target->ended ? target->ended_at : clock_now()) - target->started;
    if (target->attached && !target->ended)
        drain_finish_sessions(recording);
    drain_end(recording);
    count_events(recording);
    note_content(recording);
    summary->recorder_ns = processor_ns(RUSAGE_SELF) - own_before;
    summary->target_ns = target->attached ? 0 : processor_ns(RUSAGE_CHILDREN);
    write_notes(recording);
    finish_file(recording);
    return true;
}

static bool start_and_run(struct recording *recording, const struct environment *environment,
                          struct spool_folder *folder, struct status *status) {
    const struct record_options *options = recording->options;
    struct target *target = &recording->summary->target;
    target->pipe_was_ignored = options->pipe_was_ignored;
    if (!target_start(target, options->command, environment->variables,
                      (unsigned)environment->count, status))
        return false;
    if (!open_all(recording, environment, folder, status)) {
        record_file_discard(&recording->file);
        target_cancel(target);
        return false;
    }
    time_t began = time(NULL);
    if (run_recording(recording, status)) {
        if (environment->enables_python_names)
            recording->summary->python_maps = perf_maps_remove(&recording->sampled, began);
        else /* set by the user: not a cost of recording */
            recording->summary->python = (struct perf_python){0};
        return true;
    }
    record_file_discard(&recording->file);
    return false;
}

static bool check_options(const struct record_options *options, struct status *status) {
    const char *range = options->capture_range;
    if (!options->command || !options->command[0] || !*options->command[0])
        return status_fail(status, STATUS_USAGE, "no program to record");
    if (options->ring_bytes && options->max_bytes)
        return status_fail(
            status, STATUS_USAGE,
            "--ring keeps the end of the trace and --max-size its beginning; use one of them");
    if (range && strcmp(range, "cudaProfilerApi") != 0 &&
        (strncmp(range, "nvtx:", 5) != 0 || !range[5]))
        return status_fail(status, STATUS_USAGE,
                           "--capture-range must be cudaProfilerApi or nvtx:NAME, not '%s'", range);
    return true;
}

bool record_program(const struct record_options *options, struct record_summary *summary,
                    struct status *status) {
    struct recording recording = {.options = options, .summary = summary, .file.fd = -1};
    struct spool_folder folder = {.path = ""};
    struct environment environment = {0};
    memset(summary, 0, sizeof *summary);
    summary->probe_ns = -1;
    bool ok = check_options(options, status) &&
              prepare_probe(options, &folder, &environment, summary, status) &&
              start_and_run(&recording, &environment, &folder, status);
    close_all(&recording);
    spool_folder_remove(&folder);
    environment_finish(&environment);
    if (ok)
        target_release(&summary->target);
    return ok;
}

/* ---- Attaching --------------------------------------------------------------------------- */

/* The words of a running process's command line, and of its name if it has none. `content` holds
 * them; `words` ends with NULL. */
static void read_command_line(pid_t pid, char *content, size_t capacity, char **words,
                              size_t words_max) {
    size_t length = process_facts_command(pid, content, capacity), count = 0;
    for (size_t at = 0; at < length && count + 1 < words_max; at += strlen(content + at) + 1)
        words[count++] = content + at;
    if (count == 0)
        words[count++] = "process";
    words[count] = NULL;
}

/* A process that attaches ridge to itself (the Python module) loads the probe when it knows the
 * spool. It waits for the variables on the descriptor $RIDGE_ANNOUNCE, until that is closed. */
static void announce(const struct environment *environment) {
    const char *given = getenv(ANNOUNCE);
    char *end;
    long fd = given && *given ? strtol(given, &end, 10) : -1;
    if (fd < 3 || fd > INT_MAX || *end)
        return;
    for (size_t i = 0; i < environment->count; i++)
        if (dprintf((int)fd, "%s=%s\n", environment->variables[i].name,
                    environment->variables[i].value) < 0)
            break;
    close((int)fd);
    unsetenv(ANNOUNCE);
}

/* Without CUDA in the process the probe would have nothing to record. */
static bool prepare_session(struct recording *recording, struct spool_folder *folder,
                            struct environment *environment, struct status *status) {
    const struct record_options *options = recording->options;
    struct status why = {0};
    if (getenv(ANNOUNCE))
        return prepare_probe(options, folder, environment, recording->summary, status);
    if ((options->backend != RECORD_AUTO && options->backend != RECORD_CUDA) ||
        !inject_finds_cuda(options->attach)) {
        if (options->backend == RECORD_CUDA)
            record_note(recording->summary, "CUDA is not recorded: process %ld has not loaded it",
                        (long)options->attach);
        return true;
    }
    if (environment_find_probe(environment->probe, &why) && spool_folder_create(folder, &why)) {
        recording->injects = true;
        return environment_build_session(environment, options, folder->path, status);
    }
    record_note(recording->summary, "CUDA is not recorded: %s", why.message);
    return true;
}

static bool attach_and_run(struct recording *recording, const struct environment *environment,
                           struct spool_folder *folder, struct status *status) {
    struct target *target = &recording->summary->target;
    if (!target_attach(target, recording->options->attach, status))
        return false;
    recording->processes.root = target->pid;
    bool ok = open_all(recording, environment, folder, status);
    if (ok && !recording->perf && !recording->thread_poll && !recording->reader)
        ok = status_fail(status, STATUS_UNSUPPORTED, "nothing of process %ld can be recorded: %s",
                         (long)target->pid,
                         *recording->summary->notes[0]
                             ? recording->summary->notes[0]
                             : "it has not loaded CUDA, and sampling is off");
    target->started = clock_now(); /* not while the sources were opened */
    if (ok)
        announce(environment);
    ok = ok && run_recording(recording, status);
    if (!ok) {
        record_file_discard(&recording->file);
        target_release(target);
    }
    return ok;
}

bool record_attach(const struct record_options *options, struct record_summary *summary,
                   struct status *status) {
    enum { WORDS = 256 };
    char content[16384], *words[WORDS];
    struct record_options attached = *options;
    struct recording recording = {.options = &attached, .summary = summary, .file.fd = -1};
    struct spool_folder folder = {.path = ""};
    struct environment environment = {0};
    memset(summary, 0, sizeof *summary);
    summary->probe_ns = -1;
    attached.perf.attach = true;
    attached.perf.counters = false;
    read_command_line(options->attach, content, sizeof content, words, WORDS);
    attached.command = words;
    bool ok = check_options(&attached, status) &&
              prepare_session(&recording, &folder, &environment, status) &&
              attach_and_run(&recording, &environment, &folder, status);
    close_all(&recording);
    spool_folder_remove(&folder);
    environment_finish(&environment);
    if (ok)
        target_release(&summary->target);
    return ok;
}
