/* ridge bench: how fast is it, how fast could it be, and is it faster than before? */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/table.h"
#include "bench/results/compare.h"
#include "bench/print/print.h"
#include "bench/roofline/roofline.h"
#include "cmd/bench_arguments.h"
#include "cmd/bench_state.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/terminal.h"

enum { ROUNDS_TO_COMPARE = 9, TRIES_TO_TELL = 2 };

static volatile sig_atomic_t stopped;

/* The first Ctrl-C lets the run end in order, the second one ends it at once. */
static void stop(int signal_number) {
    stopped = 1;
    signal(signal_number, SIG_DFL);
}

struct bench {
    const struct command_line *line;
    struct run_options options;
    const struct experiment *chosen[NAMES_MAX + 1];
    struct device_names devices;
    struct bench_state state;
    struct result_set done, before; /* of the interrupted run; of the one to compare with */
    bool has_done, quiet, shown;
};

/* ---- While it runs ---------------------------------------------------------------------- */

static void show_progress(void *context, unsigned number, unsigned total, const char *what) {
    struct bench *bench = context;
    if (bench->quiet || !isatty(STDERR_FILENO))
        return;
    if (number > 0)
        fprintf(stderr, "\r\033[K[%u/%u] %.60s", number, total, what);
    else
        fprintf(stderr, "\r\033[K%.70s", what);
    fflush(stderr);
    bench->shown = true;
}

static void erase_progress(struct bench *bench) {
    if (bench->shown)
        fputs("\r\033[K", stderr);
    bench->shown = false;
}

static bool keep_results(void *context, const struct result_set *set, struct status *status) {
    struct bench *bench = context;
    (void)status;
    bench_state_keep(&bench->state, set);
    return true;
}

/* ---- What comes out --------------------------------------------------------------------- */

static struct print_style style_of(const struct bench *bench, const struct output *output) {
    const char *format = command_value(bench->line, "format");
    struct print_style style = {.width = terminal_columns(output)};
    if (format && strcmp(format, "md") == 0)
        style.style = TABLE_MARKDOWN;
    else if (format && strcmp(format, "csv") == 0)
        style.style = TABLE_CSV;
    return style;
}

static bool is_json(const struct command_line *line) {
    const char *format = command_value(line, "format");
    return command_flag(line, "json") || (format && strcmp(format, "json") == 0);
}

static bool save(const struct bench *bench, const struct result_set *set, struct status *status) {
    const char *name = command_value(bench->line, "save");
    struct buffer path = {0};
    struct output output;
    if (!name)
        return true;
    bool ok = compare_path(name, &path, status) &&
              interrupt_open(&output, path.data, command_flag(bench->line, "force"), status);
    if (ok) {
        result_set_write(set, &output);
        ok = interrupt_close(&output, true, status);
    }
    buffer_finish(&path);
    return ok;
}

static bool plot(const struct bench *bench, const struct result_set *set, struct status *status) {
    const char *path = command_value(bench->line, "plot");
    struct output output;
    if (!path || set->roofs_count == 0)
        return true;
    struct roofline_dot *dots = memory_allocate(set->count, sizeof *dots, status);
    char(*labels)[128] = memory_allocate(set->count, sizeof *labels, status);
    size_t count = 0;
    bool ok = dots && labels;
    for (size_t i = 0; ok && i < set->count; i++) {
        const struct result *result = &set->results[i];
        if (*result->problem || result->amount.bytes == 0 || result->amount.flops == 0 ||
            strcmp(result->device, set->roofs[0].device) != 0)
            continue;
        snprintf(labels[count], sizeof labels[count], "%s%s%s", result->label,
                 *result->variant ? ", " : "", result->variant);
        dots[count] = (struct roofline_dot){
            .label = labels[count],
            .intensity = (double)result->amount.flops / (double)result->amount.bytes,
            .rate = (double)result->amount.flops / result->time.time.median * 1e9,
        };
        count++;
    }
    ok = ok && interrupt_open(&output, path, command_flag(bench->line, "force"), status);
    if (ok) {
        ok = roofline_svg(&set->roofs[0], dots, count, &output, status);
        ok = interrupt_close(&output, ok, status);
    }
    memory_free(dots);
    memory_free(labels);
    return ok;
}

/* Lines that seem to differ, or that something disturbed, are measured again: what was a bad minute
 * is gone by then. */
static bool measure_again(struct bench *bench, struct result_set *set,
                          const struct comparison_set *comparison, bool *again,
                          struct status *status) {
    struct result_set lines = {0}, more = {0};
    struct run_options options = bench->options;
    bool ok = compare_wanting(comparison, &lines, status);
    *again = ok && lines.count > 0;
    if (*again) {
        options.only = &lines;
        options.done = NULL;
        options.kept = NULL;
        options.trace = NULL;
        ok = run_experiments(&options, &more, status);
        if (ok)
            compare_add_rounds(set, &more);
    }
    result_set_finish(&lines);
    result_set_finish(&more);
    return ok;
}

static bool compare(struct bench *bench, struct result_set *set, struct comparison_set *comparison,
                    struct status *status) {
    bool again = true;
    for (unsigned try = 0;; try++) {
        if (!compare_results(&bench->before, set, comparison, status))
            return false;
        if (try == TRIES_TO_TELL)
            return true;
        if (!measure_again(bench, set, comparison, &again, status)) {
            comparison_set_finish(comparison);
            return false;
        }
        if (!again)
            return true;
        comparison_set_finish(comparison);
    }
}

static bool write_results(struct bench *bench, struct result_set *set, struct output *output,
                          struct status *status) {
    struct comparison_set comparison = {0};
    struct print_style style = style_of(bench, output);
    bool compares = command_flag(bench->line, "against");
    if (compares && !compare(bench, set, &comparison, status))
        return false;
    bool ok = true;
    if (is_json(bench->line))
        result_set_write(set, output);
    else
        ok = print_results(set, &style, output, status) &&
             (!compares || print_comparison(&comparison, &style, output, status));
    comparison_set_finish(&comparison);
    return ok;
}

/* ---- Running ---------------------------------------------------------------------------- */

static bool measure_all(struct bench *bench, struct result_set *set, struct status *status) {
    struct sigaction action = {.sa_handler = stop}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before);
    bool ok = run_experiments(&bench->options, set, status);
    sigaction(SIGINT, &before, NULL);
    erase_progress(bench);
    if (ok)
        bench_state_forget(&bench->state);
    return ok;
}

static void say_how_to_resume(const struct bench *bench, const struct result_set *set) {
    size_t complete = 0;
    for (size_t i = 0; i < set->count; i++)
        complete += set->results[i].round_count >= bench->options.rounds;
    if (complete > 0 && bench->state.path.data)
        fprintf(stderr,
                "ridge bench: %zu of %zu lines are kept; the same command with --resume goes on "
                "from there\n",
                complete, set->count);
}

static bool any_wrong(const struct result_set *set) {
    for (size_t i = 0; i < set->count; i++)
        if (set->results[i].wrong)
            return true;
    return false;
}

static int run_bench(struct bench *bench, struct output *output, struct status *status) {
    struct result_set set = {0};
    bool ok = measure_all(bench, &set, status);
    if (ok)
        ok = write_results(bench, &set, output, status) && save(bench, &set, status) &&
             plot(bench, &set, status);
    else
        say_how_to_resume(bench, &set);
    int result = ok ? any_wrong(&set) ? EXIT_ANSWER_NO : 0 : EXIT_TROUBLE;
    result_set_finish(&set);
    return result;
}

/* Files that cannot be written should not cost minutes of measuring first. */
static int run_with_files(struct bench *bench, struct status *status) {
    const char *trace = command_value(bench->line, "trace");
    bool force = command_flag(bench->line, "force");
    struct output output, trace_output;
    if (!interrupt_open(&output, command_value(bench->line, "output"), force, status))
        return EXIT_TROUBLE;
    if (trace && !interrupt_open(&trace_output, trace, force, status)) {
        interrupt_close(&output, false, status);
        return EXIT_TROUBLE;
    }
    bench->options.trace = trace ? &trace_output : NULL;
    int result = run_bench(bench, &output, status);
    bool ok = result != EXIT_TROUBLE;
    if (trace)
        ok = interrupt_close(&trace_output, ok, status);
    ok = interrupt_close(&output, ok, status);
    return ok ? result : EXIT_TROUBLE;
}

static bool read_before(struct bench *bench, struct status *status) {
    const char *name = command_value(bench->line, "against");
    struct buffer path = {0};
    if (!name)
        return true;
    bool ok =
        compare_path(name, &path, status) && result_set_read(&bench->before, path.data, status);
    buffer_finish(&path);
    return ok;
}

static bool read_options(struct bench *bench, const char *const *names, unsigned count,
                         struct status *status) {
    const struct command_line *line = bench->line;
    struct run_options *options = &bench->options;
    bool compares = command_flag(line, "save") || command_flag(line, "against");
    options->experiments = bench->chosen;
    options->devices = bench->devices.names;
    options->bench.small = options->quick_roofs = command_flag(line, "quick");
    options->refresh_roofs = command_flag(line, "refresh");
    options->measure = options->bench.small ? (struct measure_plan){0.05, 0.05, 0}
                       : compares           ? (struct measure_plan){0.3, 0.002, 0}
                                            : (struct measure_plan){1, 0.01, 0};
    options->rounds = compares ? ROUNDS_TO_COMPARE : 1;
    options->peer = command_value(line, "peer");
    options->stop = &stopped;
    options->progress = show_progress;
    options->kept = keep_results;
    options->context = bench;
    bench->quiet = command_flag(line, "quiet");
    return bench_experiments(names, count, bench->chosen, status) &&
           bench_lists(line, bench->chosen, &options->bench, status) &&
           bench_seconds(line, &options->measure.seconds, status) &&
           command_count(line, "iterations", &options->measure.iterations, status) &&
           command_count(line, "rounds", &options->rounds, status) &&
           bench_devices(line, &bench->devices, status) && read_before(bench, status);
}

static int list_experiments(const struct command_line *line) {
    struct status status = {0};
    struct table table = {0};
    struct output output;
    table_column(&table, "experiment", TABLE_LEFT);
    table_column(&table, "what it measures", TABLE_LEFT | TABLE_FLEXIBLE);
    for (unsigned i = 0; experiments[i]; i++) {
        table_cell(&table, text_of(experiments[i]->name));
        table_cell(&table, text_of(experiments[i]->summary));
    }
    table_cell(&table, TEXT("all"));
    table_cell(&table, TEXT("every one of them"));
    bool ok = output_open(&output, NULL, false, &status);
    if (ok) {
        table_write(&table, TABLE_TEXT, &(struct table_layout){.width = 80}, &output);
        output_printf(&output,
                      "\nRun one with 'ridge bench NAME'; 'ridge help bench' tells more.\n");
        ok = table_ok(&table, &status) && output_commit(&output, &status);
    }
    table_finish(&table);
    return ok ? 0 : command_fail(line, &status);
}

static int run(const struct command_line *line) {
    struct status status = {0};
    struct bench bench = {.line = line};
    unsigned count;
    const char *const *names = command_arguments(line, &count);
    if (count == 0)
        return list_experiments(line);
    int result = EXIT_TROUBLE;
    if (read_options(&bench, names, count, &status)) {
        bench_state_open(&bench.state, &bench.options);
        bench.has_done =
            command_flag(line, "resume") && bench_state_load(&bench.state, &bench.done);
        bench.options.done = bench.has_done ? &bench.done : NULL;
        result = run_with_files(&bench, &status);
        bench_state_close(&bench.state);
    }
    result_set_finish(&bench.done);
    result_set_finish(&bench.before);
    return result == EXIT_TROUBLE ? command_fail(line, &status) : result;
}

static const struct command_option options[] = {
    {"device", 'd', "DEVICE[,DEVICE...]", "where to run it: cpu, cuda, opencl:1, ..."},
    {"dtype", 0, "TYPE[,TYPE...]", "f32, f16, bf16, q8_0, q4_k, for experiments that have types"},
    {"size", 0, "N[,N...]", "instead of the experiment's own: 4096, 64K, 16Mi, 2^20"},
    {"batch", 0, "N[,N...]", "likewise"},
    {"model", 0, "FILE", "weights for rwkv: GGUF or safetensors (default: made up)"},
    {"iterations", 'n', "N", "time exactly N calls of each line"},
    {"seconds", 's', "S", "time each line for at most S seconds (1)"},
    {"rounds", 0, "N", "go through all lines N times (1; 9 with --save or --against)"},
    {"quick", 0, NULL, "small sizes and short times: to see that it works, not for figures"},
    {"peer", 0, "torch|mlx|jax", "run the same work there too, in turns, and print the ratio"},
    {"save", 0, "NAME", "keep the results under this name, or in NAME.json"},
    {"against", 0, "NAME", "compare with results that were saved, or with a file of them"},
    {"resume", 0, NULL, "go on with the same command where it was interrupted"},
    {"trace", 't', "FILE", "keep a trace of a few calls of each line, for ridge report"},
    {"plot", 0, "FILE", "draw the roofline with a dot for each line, as SVG"},
    {"refresh", 0, NULL, "measure the device's roofs again first"},
    {"format", 0, "text|md|json|csv", "how to print the results (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write there instead of to standard output"},
    {"force", 'f', NULL, "replace files that exist"},
    {"quiet", 'q', NULL, "no progress line"},
    {0},
};

const struct command command_bench = {
    .name = "bench",
    .arguments = "[NAME...]",
    .summary = "Measure workloads and experiments beside what the hardware allows",
    .details =
        "Without a name, lists the experiments. Each runs on any device of the runtime and prints "
        "a table: time of a call and its spread, the time that the device itself was busy, bytes "
        "and operations a second, which roof binds it, the percentage of that roof, and the time "
        "at the roof. Roofs are those of 'ridge peaks', measured first when they are not known.\n\n"
        "A line is warmed up until its times are steady and repeated until its median is known to "
        "1 % or the seconds are over. Inputs are random; large ones take turns so that no cache "
        "holds them; outputs are checked against a reference in double precision. What disturbed a "
        "line (throttling, other programs, unsteady times) is said under the table.\n\n"
        "With --save and --against all lines are measured in several rounds, and a difference "
        "counts when it is larger than what two runs of the same thing differ by on this machine.",
    .examples = "ridge bench fusion\tthe gap and the block\n"
                "ridge bench gated-mlp attention -d cpu,cuda\tone table across devices\n"
                "ridge bench layers --peer torch\tbeside PyTorch\n"
                "ridge bench matmul --dtype f16,bf16 --size 1024,4096 -d cuda\n"
                "ridge bench layers --save before; ...; ridge bench layers --against before\n"
                "ridge bench all --resume -o results.md --format md\tgo on after Ctrl-C",
    .options = options,
    .arguments_max = NAMES_MAX,
    .run = run,
};
