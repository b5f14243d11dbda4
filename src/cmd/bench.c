/* ridge bench: how fast is it, how fast could it be, and is it faster than before? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "bench/results/compare.h"
#include "bench/print/print.h"
#include "bench/roofline/roofline.h"
#include "cmd/bench_arguments.h"
#include "cmd/bench_process.h"
#include "cmd/bench_state.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/progress.h"

enum { ROUNDS_TO_COMPARE = 25, TRIES_TO_TELL = 2, PATIENCE = 2 };

struct bench {
    const struct command_line *line;
    struct run_options options;
    const struct experiment *chosen[NAMES_MAX + 1];
    struct device_names devices;
    struct bench_state state;
    struct result_set done, before; /* of the interrupted run; of the one to compare with */
    struct progress *progress;
};

/* ---- While it runs ---------------------------------------------------------------------- */

static void show_progress(void *context, unsigned number, unsigned total, const char *what) {
    struct bench *bench = context;
    char line[200];
    if (number > 0)
        snprintf(line, sizeof line, "[%u/%u] %s", number, total, what);
    progress_say(bench->progress, number > 0 ? line : what);
}

static bool keep_results(void *context, const struct result_set *set, struct status *status) {
    struct bench *bench = context;
    (void)status;
    bench_state_keep(&bench->state, set);
    return true;
}

/* How many rounds every line has. */
static unsigned rounds_done(const struct result_set *set) {
    unsigned rounds = set->count > 0 ? ROUNDS_MAX : 0;
    for (size_t i = 0; i < set->count; i++)
        if (!*set->results[i].problem && set->results[i].round_count < rounds)
            rounds = set->results[i].round_count;
    return rounds;
}

/* Whether a comparison needs further rounds, though there are as many as asked for: too many were
 * disturbed. */
static bool needs_more_rounds(const struct result_set *set, const struct run_options *options,
                              unsigned round) {
    if (options->rounds < ROUNDS_TO_COMPARE || round >= PATIENCE * options->rounds ||
        round >= ROUNDS_MAX)
        return false;
    for (size_t i = 0; i < set->count; i++)
        if (!*set->results[i].problem && !compare_has_calm_rounds(&set->results[i]))
            return true;
    return false;
}

/* Adds rounds to the set, each in a process of its own, until there are as many as asked for. A
 * trace needs the first one to be here. */
static bool measure_rounds(struct bench *bench, const struct run_options *options,
                           struct result_set *set, struct status *status) {
    struct run_options once = *options;
    char what[80];
    once.rounds = 1;
    once.kept = NULL;
    once.done = NULL;
    for (unsigned round = rounds_done(set);
         round < options->rounds || needs_more_rounds(set, options, round); round++) {
        struct result_set one = {0};
        snprintf(what, sizeof what, "round %u of %u", round + 1, options->rounds);
        show_progress(bench, 0, 0, what);
        bool here = round == 0 && options->trace;
        if (!(here ? run_experiments(&once, &one, status)
                   : bench_process_round(bench->line, &once, &one, status))) {
            result_set_finish(&one);
            return false;
        }
        if (round == 0) {
            result_set_finish(set);
            *set = one;
        } else {
            compare_add_rounds(set, &one);
            result_set_finish(&one);
        }
        if (options->kept && !options->kept(options->context, set, status))
            return false;
    }
    return true;
}

/* The first Ctrl-C lets the run end in order. */
static bool measure_lines(struct bench *bench, const struct run_options *options,
                          struct result_set *set, struct status *status) {
    struct run_options watched = *options;
    watched.stop = interrupt_defer();
    bench->progress = command_flag(bench->line, "quiet") ? NULL : progress_begin("starting", -1);
    bool ok = options->rounds > 1 && bench_process_can()
                  ? measure_rounds(bench, &watched, set, status)
                  : run_experiments(&watched, set, status);
    progress_end(bench->progress);
    bench->progress = NULL;
    interrupt_arm();
    return ok;
}

/* ---- What comes out --------------------------------------------------------------------- */

/* Where --save wants them; an empty path without it. */
static bool save_path(const struct bench *bench, struct buffer *path, struct status *status) {
    const char *name = command_value(bench->line, "save");
    return !name || compare_path(name, path, status);
}

static bool save(const struct bench *bench, const struct result_set *set, struct status *status) {
    struct buffer path = {0};
    struct output output;
    bool ok = save_path(bench, &path, status);
    if (ok && path.data) {
        ok = output_open(&output, path.data, command_flag(bench->line, "force"), status);
        if (ok) {
            result_set_write(set, &output);
            ok = output_close(&output, true, status);
        }
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
    ok = ok && output_open(&output, path, command_flag(bench->line, "force"), status);
    if (ok) {
        ok = roofline_svg(&set->roofs[0], dots, count, &output, status);
        ok = output_close(&output, ok, status);
    }
    memory_free(dots);
    memory_free(labels);
    return ok;
}

/* The results, or beside those of before: what compare() found. */
static bool write_results(const struct command_line *line, const struct result_set *set,
                          const struct comparison_set *comparison, struct output *output,
                          struct status *status) {
    struct print_style style = bench_style(line, output);
    if (bench_wants_json(line)) {
        if (comparison)
            return comparison_set_write(comparison, set, output, status);
        result_set_write(set, output);
        return true;
    }
    bool one_table = comparison && style.style == TABLE_CSV;
    return (one_table || print_results(set, &style, output, status)) &&
           (!comparison || print_comparison(comparison, &style, output, status));
}

/* Lines that seem to differ, or that something disturbed, are measured again: what was a bad minute
 * is gone by then. */
static bool measure_again(struct bench *bench, struct result_set *set,
                          const struct comparison_set *comparison, bool *again,
                          struct status *status) {
    struct result_set lines = {0}, more = {0};
    struct run_options options = bench->options;
    const struct experiment *wanted[NAMES_MAX + 1] = {0};
    bool ok = compare_wanting(comparison, &lines, status);
    *again = ok && lines.count > 0;
    if (*again) {
        unsigned count = 0;
        for (unsigned i = 0; bench->chosen[i]; i++)
            for (size_t j = 0; j < lines.count; j++)
                if (strcmp(lines.results[j].experiment, bench->chosen[i]->name) == 0) {
                    wanted[count++] = bench->chosen[i];
                    break;
                }
        options.experiments = wanted;
        options.only = &lines;
        options.done = NULL;
        options.kept = NULL;
        options.trace = NULL;
        options.refresh_roofs = false;
        ok = measure_lines(bench, &options, &more, status);
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

static bool compare_and_write(struct bench *bench, struct result_set *set, struct output *output,
                              struct status *status) {
    struct comparison_set comparison = {0};
    if (!command_flag(bench->line, "against"))
        return write_results(bench->line, set, NULL, output, status);
    bool ok = compare(bench, set, &comparison, status) &&
              write_results(bench->line, set, &comparison, output, status);
    comparison_set_finish(&comparison);
    return ok;
}

/* ---- Running ---------------------------------------------------------------------------- */

static void print_resume_hint(const struct bench *bench, const struct result_set *set) {
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        kept += set->results[i].round_count > 0;
    if (kept > 0 && bench->state.path.data)
        fprintf(stderr,
                "ridge bench: %zu of %zu lines are kept; the same command with --resume goes on "
                "from there\n",
                kept, set->count);
}

static bool any_wrong(const struct result_set *set) {
    for (size_t i = 0; i < set->count; i++)
        if (set->results[i].wrong)
            return true;
    return false;
}

/* What no line could do is a failure, not a table. */
static bool any_figures(const struct result_set *set, struct status *status) {
    for (size_t i = 0; i < set->count; i++)
        if (!*set->results[i].problem || set->results[i].wrong)
            return true;
    if (set->count == 0)
        return status_fail(status, STATUS_USAGE, "there is nothing to measure with these options");
    return status_fail(status, STATUS_UNSUPPORTED, "%s: %s", set->results[0].label,
                       set->results[0].problem);
}

static int run_bench(struct bench *bench, struct output *output, struct status *status) {
    struct result_set set = {0};
    if (bench->options.done && bench->options.rounds > 1) {
        set = bench->done;
        bench->done = (struct result_set){0};
        bench->options.done = NULL;
    }
    bool ok = measure_lines(bench, &bench->options, &set, status) && any_figures(&set, status) &&
              compare_and_write(bench, &set, output, status) && save(bench, &set, status) &&
              plot(bench, &set, status);
    if (!ok)
        print_resume_hint(bench, &set);
    int result = ok ? any_wrong(&set) ? EXIT_ANSWER_NO : 0 : EXIT_ERROR;
    result_set_finish(&set);
    return result;
}

static bool try_files(const struct bench *bench, struct status *status) {
    const char *plot = command_value(bench->line, "plot");
    bool force = command_flag(bench->line, "force");
    struct buffer path = {0};
    bool ok = (!plot || output_check(plot, force, status)) && save_path(bench, &path, status) &&
              (!path.data || output_check(path.data, force, status));
    buffer_finish(&path);
    return ok;
}

/* Two outputs of one name would leave one of them. */
static bool files_differ(const struct command_line *line, struct status *status) {
    static const char *const options[] = {"output", "trace", "plot", "save"};
    enum { OPTIONS = ARRAY_COUNT(options) };
    for (unsigned i = 0; i < OPTIONS; i++)
        for (unsigned j = i + 1; j < OPTIONS; j++) {
            const char *a = command_value(line, options[i]), *b = command_value(line, options[j]);
            if (a && b && strcmp(a, b) == 0)
                return status_fail(status, STATUS_USAGE, "--%s and --%s are the same file, %s",
                                   options[i], options[j], a);
        }
    return true;
}

/* Files that cannot be written should not cost minutes of measuring first. */
static int run_with_files(struct bench *bench, struct status *status) {
    const char *trace = command_value(bench->line, "trace");
    bool force = command_flag(bench->line, "force");
    struct output output, trace_output;
    if (!try_files(bench, status) ||
        !output_open(&output, command_value(bench->line, "output"), force, status))
        return EXIT_ERROR;
    if (trace && !output_open(&trace_output, trace, force, status)) {
        output_close(&output, false, status);
        return EXIT_ERROR;
    }
    bench->options.trace = trace ? &trace_output : NULL;
    int result = run_bench(bench, &output, status);
    bool ok = result != EXIT_ERROR;
    if (trace)
        ok = output_close(&trace_output, ok, status);
    ok = output_close(&output, ok, status);
    return ok ? result : EXIT_ERROR;
}

/* Results of a name that --save had, or of a file. */
static bool read_saved(const char *name, struct result_set *set, struct status *status) {
    struct buffer path = {0};
    bool ok = compare_path(name, &path, status);
    if (ok && access(path.data, F_OK) != 0 && strcmp(path.data, name) != 0)
        ok = status_fail(status, STATUS_USAGE,
                         "no results are saved as '%s'; 'ridge bench ... --save %s' does that",
                         name, name);
    ok = ok && result_set_read(set, path.data, status);
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
                       : compares           ? (struct measure_plan){0.1, 0.002, 0}
                                            : (struct measure_plan){1, 0.01, 0};
    options->rounds = compares ? ROUNDS_TO_COMPARE : 1;
    options->peer = command_value(line, "peer");
    options->progress = show_progress;
    options->kept = keep_results;
    options->context = bench;
    return bench_experiments(names, count, bench->chosen, status) &&
           bench_lists(line, bench->chosen, &options->bench, status) &&
           bench_seconds(line, &options->measure, status) &&
           command_count(line, "iterations", &options->measure.iterations, status) &&
           bench_rounds(line, &options->rounds, status) && bench_plot(line, status) &&
           files_differ(line, status) && bench_devices(line, &bench->devices, status) &&
           (!command_flag(line, "against") ||
            read_saved(command_value(line, "against"), &bench->before, status));
}

/* With --against, the two are compared as they are. */
static int show_saved(const struct command_line *line) {
    struct status status = {0};
    struct result_set set = {0}, before = {0};
    struct comparison_set comparison = {0};
    struct output output;
    bool compares = command_flag(line, "against");
    bool ok =
        read_saved(command_value(line, "show"), &set, &status) &&
        (!compares || (read_saved(command_value(line, "against"), &before, &status) &&
                       compare_results(&before, &set, &comparison, &status))) &&
        output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status);
    if (ok) {
        ok = write_results(line, &set, compares ? &comparison : NULL, &output, &status);
        ok = output_close(&output, ok, &status);
    }
    comparison_set_finish(&comparison);
    result_set_finish(&set);
    result_set_finish(&before);
    return ok ? 0 : command_fail(line, &status);
}

static int run(const struct command_line *line) {
    struct status status = {0};
    struct bench bench = {.line = line};
    unsigned count;
    const char *const *names = command_arguments(line, &count);
    if (command_flag(line, "show"))
        return count == 0
                   ? show_saved(line)
                   : command_usage(line, "--show prints all that was saved: name no experiment");
    if (count == 0)
        return bench_list(&status) ? 0 : command_fail(line, &status);
    int result = EXIT_ERROR;
    if (read_options(&bench, names, count, &status)) {
        if (!getenv(BENCH_ROUND_VARIABLE))
            bench_state_open(&bench.state, &bench.options);
        if (command_flag(line, "resume") && bench_state_load(&bench.state, &bench.done))
            bench.options.done = &bench.done;
        result = run_with_files(&bench, &status);
        if (result != EXIT_ERROR)
            bench_state_forget(&bench.state);
        bench_state_close(&bench.state);
    }
    result_set_finish(&bench.done);
    result_set_finish(&bench.before);
    if (result == EXIT_ERROR)
        command_fail(line, &status);
    interrupt_end(); /* as the signal would have, if there was one */
    return result;
}

static const struct command_option options[] = {
    {"device", 'd', "DEVICE[,DEVICE...]", "where to run it: cpu, cuda, opencl:1, ..."},
    {"dtype", 0, "TYPE[,TYPE...]", "f32, f16, bf16, q8_0, q4_k, for experiments that have types"},
    {"size", 0, "N[,N...]", "instead of the experiment's own: 4096, 64K, 16Mi, 2^20"},
    {"batch", 0, "N[,N...]", "likewise"},
    {"model", 0, "FILE", "weights for rwkv: GGUF or safetensors (default: made up)"},
    {"iterations", 'n', "N", "time exactly N calls of each line"},
    {"seconds", 's', "S", "time each line for at most S seconds (1)"},
    {"rounds", 0, "N", "go through all lines N times (1; 25 with --save or --against)"},
    {"quick", 0, NULL, "small sizes and short times: to see that it works, not for figures"},
    {"peer", 0, "torch|mlx|jax", "run the same work there too, in turns, and print the ratio"},
    {"save", 0, "NAME", "keep the results under this name, or in NAME.json"},
    {"against", 0, "NAME", "compare with results that were saved, or with a file of them"},
    {"show", 0, "NAME", "print saved results and measure nothing; with --against, compare them"},
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
        "With --save and --against all lines are measured in several rounds, each in a process of "
        "its own, and a difference "
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
