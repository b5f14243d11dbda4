/* ridge record: runs a program and records it.
 *
 * Times are given in seconds, sizes in bytes with decimal units, as everywhere in ridge.
 */
#include "cmd/record.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/decimal.h"
#include "base/job_place.h"
#include "base/memory.h"
#include "base/text.h"
#include "cmd/peaks_option.h"
#include "record/python/python_reader.h"

enum { SAMPLE_RATE = 999, SAMPLE_RATE_MAX = 20000 };

static bool read_seconds(const struct command_line *line, const char *option, double *seconds,
                         struct status *status) {
    const char *given = command_value(line, option);
    int64_t ns;
    if (!given)
        return true;
    struct text number = text_of(given);
    int scale = 9;
    if (number.length > 2 && strcmp(given + number.length - 2, "ms") == 0)
        number.length -= 2, scale = 6;
    else if (number.length > 1 && given[number.length - 1] == 's')
        number.length--;
    if (!decimal_scaled(number, scale, &ns) || ns <= 0 || ns > INT64_MAX / 8)
        return status_fail(status, STATUS_USAGE,
                           "--%s must be a time such as 2, 0.5 or 500ms, not '%s'", option, given);
    *seconds = (double)ns / 1e9;
    return true;
}

static bool read_bytes(const struct command_line *line, const char *option, uint64_t *bytes,
                       struct status *status) {
    static const struct {
        const char *unit;
        int scale;
    } units[] = {{"KB", 3}, {"MB", 6}, {"GB", 9}, {"K", 3}, {"M", 6}, {"G", 9}, {"B", 0}, {"", 0}};
    const char *given = command_value(line, option);
    int64_t value = 0;
    if (!given)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        size_t length = strlen(given), unit = strlen(units[i].unit);
        if (length > unit && strcmp(given + length - unit, units[i].unit) == 0 &&
            decimal_scaled((struct text){given, length - unit}, units[i].scale, &value))
            break;
        value = 0;
    }
    if (value <= 0)
        return status_fail(status, STATUS_USAGE, "--%s must be a size such as 500M or 2G, not '%s'",
                           option, given);
    *bytes = (uint64_t)value;
    return true;
}

static bool is_given(const struct command_line *line, const char *option, const char *value) {
    const char *given = command_value(line, option);
    return given && strcmp(given, value) == 0;
}

static bool read_sampling(const struct command_line *line, struct record_options *options,
                          struct status *status) {
    options->perf.rate = SAMPLE_RATE;
    options->perf.counters = true;
    options->python_trampolines = !python_reader_is_permitted();
    if (is_given(line, "stacks", "fp"))
        options->perf.stacks = PERF_STACKS_FP;
    options->no_sampling = command_flag(line, "no-sampling") || options->backend == RECORD_CUDA ||
                           options->backend == RECORD_OPENCL || options->backend == RECORD_VULKAN ||
                           options->backend == RECORD_METAL;
    if (!command_count(line, "sample-rate", &options->perf.rate, status))
        return false;
    if (options->perf.rate > SAMPLE_RATE_MAX)
        return status_fail(status, STATUS_USAGE, "--sample-rate is at most %d", SAMPLE_RATE_MAX);
    if (options->backend == RECORD_CPU && command_flag(line, "no-sampling"))
        return status_fail(status, STATUS_USAGE,
                           "--backend cpu with --no-sampling leaves nothing to record");
    if (options->backend != RECORD_AUTO && options->backend != RECORD_CUDA &&
        is_given(line, "capture-range", "cudaProfilerApi"))
        return status_fail(
            status, STATUS_USAGE,
            "--capture-range cudaProfilerApi needs CUDA, which --backend %s excludes",
            command_value(line, "backend"));
    return true;
}

/* The values of --env, terminated by NULL. */
static const char **read_variables(const struct command_line *line, struct status *status) {
    unsigned count = 0;
    while (command_value_at(line, "env", count))
        count++;
    const char **variables = memory_allocate((size_t)count + 1, sizeof *variables, status);
    for (unsigned i = 0; variables && i < count; i++)
        variables[i] = command_value_at(line, "env", i);
    return variables;
}

/* -p, of ridge record only. */
static bool read_process(const struct command_line *line, struct record_options *options,
                         struct status *status) {
    const char *given = command_value(line, "pid");
    if (!given)
        given = command_value(line, "attach");
    int64_t pid;
    if (!given)
        return options->command[0] || status_fail(status, STATUS_USAGE,
                                                  "no program to record: ridge record -- COMMAND, "
                                                  "or -p PID for a running process");
    if (!text_to_i64(text_of(given), &pid) || pid <= 0 || pid > INT_MAX)
        return status_fail(status, STATUS_USAGE, "-p needs the id of a process, not '%s'", given);
    if (options->command[0])
        return status_fail(status, STATUS_USAGE, "-p records a running process; leave out '%s'",
                           options->command[0]);
    if (options->memory)
        return status_fail(status, STATUS_USAGE,
                           "--memory needs a program that ridge starts: ridge record --memory -- "
                           "COMMAND");
    options->attach = (pid_t)pid;
    return true;
}

static bool read_options(const struct command_line *line, struct record_options *options,
                         struct status *status) {
    *options = (struct record_options){
        /* command_line_parse() terminates the array with NULL */
        .command = (char *const *)command_arguments(line, NULL),
        .output = command_value(line, "output"),
        .replace = command_flag(line, "force"),
        .backend = is_given(line, "backend", "cuda")      ? RECORD_CUDA
                   : is_given(line, "backend", "opencl")  ? RECORD_OPENCL
                   : is_given(line, "backend", "vulkan")  ? RECORD_VULKAN
                   : is_given(line, "backend", "metal")   ? RECORD_METAL
                   : is_given(line, "backend", "cpu")     ? RECORD_CPU
                   : is_given(line, "backend", "xctrace") ? RECORD_XCTRACE
                   : is_given(line, "backend", "rocm")    ? RECORD_ROCM
                                                          : RECORD_AUTO,
        .capture_range = command_value(line, "capture-range"),
        .memory = command_flag(line, "memory"),
        .graph_nodes = is_given(line, "graph", "node"),
        .python_lines = command_value(line, "python-lines"),
        .vulkan_dispatches = is_given(line, "vulkan", "dispatch"),
        .ranks = command_value(line, "ranks"),
        .store_environment = command_flag(line, "store-env"),
        .pipe_was_ignored = command_pipe_was_ignored(line),
        .device_facts = peaks_option_facts,
    };
    if (options->ranks && !job_ranks_valid(options->ranks))
        return status_fail(status, STATUS_USAGE,
                           "--ranks must be a list such as 0,4-7, one-per-host or all, not '%s'",
                           options->ranks);
    return read_process(line, options, status) &&
           read_seconds(line, "delay", &options->delay, status) &&
           read_seconds(line, "duration", &options->duration, status) &&
           read_bytes(line, "max-size", &options->max_bytes, status) &&
           read_bytes(line, "ring", &options->ring_bytes, status) &&
           read_sampling(line, options, status);
}

static void print_summary(const struct record_summary *summary) {
    struct buffer lines = {0};
    record_describe(summary, &lines);
    struct text rest = buffer_as_text(&lines);
    while (rest.length > 0) {
        const char *end = memchr(rest.data, '\n', rest.length);
        size_t length = end ? (size_t)(end - rest.data) : rest.length;
        command_message("%.*s", (int)length, rest.data);
        length += end != NULL;
        rest = (struct text){rest.data + length, rest.length - length};
    }
    buffer_finish(&lines);
}

/* A failure of ridge does not keep the program from running. */
static int run_unrecorded(const struct command_line *line, const struct status *why) {
    char *const *command = (char *const *)command_arguments(line, NULL);
    struct status status = *why;
    const char *variable;
    status_context(&status, "the program runs unrecorded");
    command_fail(line, &status);
    for (unsigned i = 0; (variable = command_value_at(line, "env", i)); i++)
        putenv((char *)variable);
    int exit_status = target_run_unrecorded(command, command_pipe_was_ignored(line), &status);
    command_fail(line, &status);
    return exit_status;
}

/* Under mpirun or srun every rank has its own recorder; those of other ranks only run the
 * program. */
static int run_excluded(const struct command_line *line) {
    char *const *command = (char *const *)command_arguments(line, NULL);
    struct status status = {0};
    const char *variable;
    for (unsigned i = 0; (variable = command_value_at(line, "env", i)); i++)
        putenv((char *)variable);
    int exit_status = target_run_unrecorded(command, command_pipe_was_ignored(line), &status);
    command_fail(line, &status);
    return exit_status;
}

bool record_run(const struct command_line *line, struct record_summary *summary, int *exit_status) {
    struct status status = {0};
    struct record_options options = {0};
    const char **variables = read_variables(line, &status);
    bool ok = variables && read_options(line, &options, &status);
    if (ok && options.ranks && !options.attach &&
        !job_ranks_include(options.ranks, job_place_own())) {
        memory_free(variables);
        *exit_status = run_excluded(line);
        return false;
    }
    if (ok) {
        options.variables = variables;
        ok = record_uses_xctrace(&options)   ? record_run_xctrace(line, &options, summary, &status)
             : record_uses_rocprof(&options) ? record_run_rocprof(line, &options, summary, &status)
             : options.attach                ? record_attach(&options, summary, &status)
                                             : record_program(&options, summary, &status);
    }
    if (!ok && options.attach) {
        *exit_status = command_fail(line, &status);
    } else if (!ok && (status.code == STATUS_USAGE || summary->target.exec_status)) {
        *exit_status = command_fail(line, &status);
        if (summary->target.exec_status)
            *exit_status = summary->target.exec_status;
    } else if (!ok) {
        *exit_status = run_unrecorded(line, &status);
    } else if (!command_flag(line, "quiet") || summary->no_trace) {
        print_summary(summary);
    }
    memory_free(variables);
    if (ok && summary->no_trace)
        *exit_status = EXIT_ERROR; /* that of the program is not known */
    return ok && !summary->no_trace;
}

static int record_main(const struct command_line *line) {
    static struct record_summary summary;
    int exit_status;
    if (!record_run(line, &summary, &exit_status))
        return exit_status;
    if (summary.target.attached)
        return 0;
    target_exit_alike(&summary.target);
}

static const struct command_option options[] = {
    {"pid", 'p', "PID", "record a running process instead of a command"},
    {"attach", 0, "PID", "the same as -p"},
    RECORD_ARGUMENTS,
    {0},
};

const struct command command_record = {
    .name = "record",
    .arguments = "-- COMMAND [ARGUMENT...] | -p PID",
    .summary = "Record an unmodified program and its children",
    .details =
        "Runs the command with its own streams, signals and exit status, and records it and its "
        "children: CUDA, OpenCL and Vulkan kernels, copies, calls and synchronizations, NVTX "
        "ranges, stack "
        "samples and states of all threads, memory, and the GPU's clocks, power and temperature. "
        "Ctrl-C ends "
        "the program as usual and leaves a complete trace.\n\n"
        "With -p a running process and its children are recorded until they end, --duration has "
        "passed, or Ctrl-C: stack samples, thread states, memory, and CUDA if the process has "
        "loaded it. For CUDA the probe is loaded into the process by ptrace; it stays there, "
        "unused, when the recording ends. The process continues unchanged.\n\n"
        "On macOS the recorder is Apple's xctrace (--backend xctrace): Metal System Trace and Time "
        "Profiler, and with --memory Allocations. Its recording is imported at once; --keep keeps "
        "the .trace bundle. --duration then also ends the program.\n\n"
        "On a machine with an AMD GPU and ROCm the recorder is rocprofv3 (--backend rocm): "
        "kernels, "
        "copies, HIP calls and roctx ranges. The trace then has no CPU samples.\n\n"
        "At the end three lines on standard error report what was recorded, what was lost and what "
        "recording cost. 'ridge doctor' checks what can be recorded on this machine.",
    .examples = "ridge record -- python train.py\tto python-PID.ridge\n"
                "ridge record -o run.ridge --delay 10 --duration 5 -- ./server\tfive seconds\n"
                "ridge record --ring 200M -- ./server\tthe end of the run\n"
                "ridge record --capture-range nvtx:step -- python train.py\tonly this range\n"
                "mpirun -n 8 ridge record -o run-%h-%r.ridge -- ./solver\tone trace per rank\n"
                "ridge record -p 4711 --duration 5\ta running process\n"
                "ridge report run.ridge\twhere the time went",
    .options = options,
    .arguments_min = 0,
    .arguments_max = UINT_MAX,
    .run = record_main,
    .runs_program = true,
};
