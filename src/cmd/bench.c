/* `ridge bench`: how fast is it, how fast could it be, and is it faster than before? */
#include "cmd/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "bench/results/compare.h"
#include "bench/print/print.h"
#include "bench/print/print_parts.h"
#include "bench/roofline/roofline.h"
#include "cmd/bench_process.h"
#include "cmd/bench_state.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/options.h"
#include "cmd/terminal.h"

enum { ROUNDS_TO_COMPARE = 25, TRIES_TO_TELL = 2, PATIENCE = 2, INDENT = 4 };

/* ---- Arguments --------------------------------------------------------------------------- */

/* The next word of a comma-separated list; false at its end. */
static bool next_word(const char **list, struct text *word) {
    if (!**list)
        return false;
    size_t length = strcspn(*list, ",");
    *word = (struct text){*list, length};
    *list += length + ((*list)[length] == ',');
    return true;
}

#define REQUESTED_PRECISION 0.002 /* an explicit time limit asks for precision */

/* ---- Devices ---------------------------------------------------------------------------- */

static bool is_named(const struct device_names *devices, const char *name) {
    for (unsigned i = 0; devices->names[i]; i++)
        if (strcmp(devices->names[i], name) == 0)
            return true;
    return false;
}

/* Every usable device of the machine, as a list. */
static bool list_all(char *names, size_t size, struct status *status) {
    struct ridge_device_info rows[NAMES_MAX];
    size_t count = MIN(ridge_device_list(rows, NAMES_MAX), (size_t)NAMES_MAX), length = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].usable && length + strlen(rows[i].name) + 2 < size)
            length += (size_t)snprintf(names + length, size - length, "%s%s", length ? "," : "",
                                       rows[i].name);
    return length > 0 || status_fail(status, STATUS_UNSUPPORTED,
                                     "no device can be used; 'ridge devices' gives the reasons");
}

bool bench_devices(const struct command_line *line, struct device_names *devices,
                   struct status *status) {
    const char *asked = command_value(line, "device");
    char all[sizeof devices->text];
    unsigned count = 0;
    memset(devices, 0, sizeof *devices);
    if (asked && strcmp(asked, "all") == 0) {
        if (!list_all(all, sizeof all, status))
            return false;
        asked = all;
    }
    if (!asked) {
        ridge_device *device = ridge_device_open(NULL);
        struct ridge_device_info info;
        if (!device)
            return status_fail(status, STATUS_UNSUPPORTED, "%s", ridge_error_message());
        ridge_device_describe(device, &info);
        ridge_device_close(device);
        snprintf(devices->text, sizeof devices->text, "%s", info.name);
        devices->names[0] = devices->text;
        return true;
    }
    if (strlen(asked) >= sizeof devices->text)
        return status_fail(status, STATUS_USAGE, "--device: the list is too long");
    snprintf(devices->text, sizeof devices->text, "%s", asked);
    for (char *at = devices->text; at && count < NAMES_MAX;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = 0;
        if (!*at)
            return status_fail(status, STATUS_USAGE,
                               "--device '%s' contains an empty name; write it as cpu,cuda", asked);
        if (!is_named(devices, at))
            devices->names[count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

/* ---- Experiments ------------------------------------------------------------------------ */

static bool no_experiment(const char *name, struct status *status) {
    const char *names[NAMES_MAX];
    unsigned count = 0;
    while (experiments[count] && count < NAMES_MAX - 1) {
        names[count] = experiments[count]->name;
        count++;
    }
    names[count++] = "all";
    const char *meant = command_suggest(name, names, count);
    if (meant)
        return status_fail(status, STATUS_USAGE,
                           "unknown experiment '%s'; did you mean '%s'? ('ridge bench' lists them)",
                           name, meant);
    return status_fail(status, STATUS_USAGE, "unknown experiment '%s' ('ridge bench' lists them)",
                       name);
}

static void choose(const struct experiment *experiment, const struct experiment **chosen) {
    unsigned count = 0;
    for (; chosen[count]; count++)
        if (chosen[count] == experiment)
            return;
    if (count < NAMES_MAX)
        chosen[count] = experiment;
}

/* The experiments of these names ("all" is all of them); NULL ends the list. */
static bool bench_experiments(const char *const *names, unsigned count,
                              const struct experiment *chosen[NAMES_MAX + 1],
                              struct status *status) {
    memset(chosen, 0, (NAMES_MAX + 1) * sizeof chosen[0]);
    for (unsigned i = 0; i < count; i++) {
        const struct experiment *experiment = experiment_find(names[i]);
        if (experiment)
            choose(experiment, chosen);
        else if (strcmp(names[i], "all") != 0)
            return no_experiment(names[i], status);
        else
            for (unsigned j = 0; experiments[j]; j++)
                choose(experiments[j], chosen);
    }
    return true;
}

/* ---- Lists ------------------------------------------------------------------------------ */

static bool taken(const struct experiment *const *chosen, unsigned takes) {
    for (unsigned i = 0; chosen[i]; i++)
        if (chosen[i]->takes & takes)
            return true;
    return false;
}

/* NULL if the option was not given; fails if no chosen experiment takes it. */
static bool list_value(const struct command_line *line, const struct experiment *const *chosen,
                       const char *option, unsigned takes, const char **value,
                       struct status *status) {
    *value = command_value(line, option);
    if (*value && !**value)
        return status_fail(status, STATUS_USAGE, "--%s is empty: give a value or omit it", option);
    if (!*value || taken(chosen, takes))
        return true;
    return status_fail(status, STATUS_USAGE,
                       "%s%s takes no --%s ('ridge bench' lists what each takes)", chosen[0]->name,
                       chosen[1] ? " and the others named" : "", option);
}

/* "4096", "64K" and "100M" (decimal), "64Ki" and "16Mi" (binary), "2^20". */
static bool read_size(struct text word, int64_t *size) {
    static const struct {
        const char *suffix;
        int64_t factor;
    } suffixes[] = {{"Ki", 1 << 10}, {"Mi", 1 << 20},   {"Gi", 1 << 30}, {"K", 1000},
                    {"M", 1000000},  {"G", 1000000000}, {"k", 1000},     {"", 1}};
    ptrdiff_t caret = text_find(word, "^");
    if (caret >= 0) {
        int64_t base, power;
        if (!text_to_i64((struct text){word.data, (size_t)caret}, &base) || base != 2 ||
            !text_to_i64((struct text){word.data + caret + 1, word.length - (size_t)caret - 1},
                         &power) ||
            power < 0 || power > 40)
            return false;
        *size = (int64_t)1 << power;
        return true;
    }
    for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
        size_t length = strlen(suffixes[i].suffix);
        if (word.length <= length ||
            memcmp(word.data + word.length - length, suffixes[i].suffix, length) != 0)
            continue;
        int64_t number;
        if (!text_to_i64((struct text){word.data, word.length - length}, &number) || number < 1 ||
            number > ((int64_t)1 << 40) / suffixes[i].factor)
            return false;
        *size = number * suffixes[i].factor;
        return true;
    }
    return false;
}

static bool read_sizes(const char *list, const char *option, int64_t *sizes, unsigned *count,
                       struct status *status) {
    struct text word;
    const char *at = list;
    while (next_word(&at, &word)) {
        if (*count == LIST_MAX)
            return status_fail(status, STATUS_USAGE, "--%s takes at most %d values", option,
                               LIST_MAX);
        if (!read_size(word, &sizes[(*count)++]))
            return status_fail(status, STATUS_USAGE,
                               "--%s '%.*s' is not a size; write it as 4096, 64K, 16Mi or 2^20, "
                               "separated by commas",
                               option, TEXT_ARGS(word));
    }
    return true;
}

static bool read_dtypes(const char *list, struct bench_options *options, struct status *status) {
    struct text word;
    while (next_word(&list, &word)) {
        unsigned dtype = 0;
        while (dtype < RIDGE_DTYPES && !text_is(word, ridge_dtype_name((enum ridge_dtype)dtype)))
            dtype++;
        if (dtype == RIDGE_DTYPES || dtype == RIDGE_I32 || dtype == RIDGE_U8)
            return status_fail(status, STATUS_USAGE,
                               "--dtype '%.*s' is not one of f32, f16, bf16, q8_0, q4_k",
                               TEXT_ARGS(word));
        if (options->dtype_count == LIST_MAX)
            return status_fail(status, STATUS_USAGE, "--dtype takes at most %d values", LIST_MAX);
        options->dtypes[options->dtype_count++] = (enum ridge_dtype)dtype;
    }
    return true;
}

/* --dtype, --size, --batch, --model; fails for an option that no chosen experiment takes. */
static bool bench_lists(const struct command_line *line, const struct experiment *const *chosen,
                        struct bench_options *options, struct status *status) {
    const char *dtypes, *sizes, *batches;
    return list_value(line, chosen, "dtype", TAKES_DTYPE, &dtypes, status) &&
           list_value(line, chosen, "size", TAKES_SIZE, &sizes, status) &&
           list_value(line, chosen, "batch", TAKES_BATCH, &batches, status) &&
           list_value(line, chosen, "model", TAKES_MODEL, &options->model, status) &&
           (!dtypes || read_dtypes(dtypes, options, status)) &&
           (!sizes || read_sizes(sizes, "size", options->sizes, &options->size_count, status)) &&
           (!batches ||
            read_sizes(batches, "batch", options->batches, &options->batch_count, status));
}

/* --seconds S: a positive number; leaves the plan unchanged if absent. */
static bool bench_seconds(const struct command_line *line, struct measure_plan *plan,
                          struct status *status) {
    const char *text = command_value(line, "seconds");
    if (!text)
        return true;
    if (command_flag(line, "iterations"))
        return status_fail(status, STATUS_USAGE, "--seconds and --iterations exclude each other");
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0 || value > 3600)
        return status_fail(status, STATUS_USAGE,
                           "--seconds '%s' is not a time; write it as 0.5 or 10", text);
    plan->seconds = value;
    plan->precision = REQUESTED_PRECISION;
    return true;
}

/* --rounds N: at most ROUNDS_MAX. */
static bool bench_rounds(const struct command_line *line, unsigned *rounds, struct status *status) {
    if (!command_count(line, "rounds", rounds, status))
        return false;
    return *rounds <= ROUNDS_MAX ||
           status_fail(status, STATUS_USAGE, "--rounds %u: at most %d are kept", *rounds,
                       ROUNDS_MAX);
}

/* ---- Formats ---------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcasecmp(path + length - size, ending) == 0;
}

bool bench_plot(const struct command_line *line, struct status *status) {
    const char *path = command_value(line, "plot");
    if (!path || ends_in(path, ".svg"))
        return true;
    if (ends_in(path, ".png"))
        return status_fail(status, STATUS_USAGE,
                           "--plot writes SVG; use %.*s.svg and convert it to PNG with "
                           "rsvg-convert, Inkscape or a browser",
                           (int)strlen(path) - 4, path);
    return status_fail(status, STATUS_USAGE, "--plot '%s': the name must end in .svg", path);
}

static bool is_format(const struct command_line *line, const char *name) {
    const char *format = command_value(line, "format");
    return format && strcmp(format, name) == 0;
}

struct section_style bench_style(const struct command_line *line, const struct output *output) {
    return (struct section_style){.width = terminal_columns(output),
                                  .style = is_format(line, "md")    ? TABLE_MARKDOWN
                                           : is_format(line, "csv") ? TABLE_CSV
                                                                    : TABLE_TEXT};
}

bool bench_wants_json(const struct command_line *line) {
    return command_flag(line, "json") || is_format(line, "json");
}

/* ---- The list of experiments ------------------------------------------------------------- */

static void part(struct buffer *text, const char *option, const char *meaning) {
    if (text->length > 0)
        buffer_string(text, ". ");
    buffer_string(text, option);
    if (meaning)
        buffer_printf(text, ": %s", meaning);
}

static void describe_arguments(const struct experiment *experiment, struct buffer *text) {
    if (experiment->takes & TAKES_SIZE)
        part(text, "--size", experiment->sizes);
    if (experiment->takes & TAKES_BATCH)
        part(text, "--batch", experiment->batches);
    if (experiment->takes & TAKES_DTYPE)
        part(text, "--dtype", NULL);
    if (experiment->takes & TAKES_MODEL)
        part(text, "--model", NULL);
}

static bool paragraph(const struct buffer *text, unsigned indent, struct output *output,
                      struct status *status) {
    const struct section_style style = {.width = terminal_columns(output)};
    if (!buffer_ok(text, status))
        return false;
    print_paragraph(&style, indent, "", (struct text){text->data, text->length}, output);
    return true;
}

static bool list_experiment(const struct experiment *experiment, struct buffer *text,
                            struct output *output, struct status *status) {
    buffer_clear(text);
    buffer_printf(text, "%s: %s", experiment->name, experiment->summary);
    if (!paragraph(text, 0, output, status))
        return false;
    buffer_clear(text);
    describe_arguments(experiment, text);
    return paragraph(text, INDENT, output, status);
}

/* Prints the experiments, and what --size and the like count in each. */
static bool bench_list(struct status *status) {
    struct buffer text = {0};
    struct output output;
    bool ok = true;
    if (!output_open(&output, NULL, false, status))
        return false;
    for (unsigned i = 0; ok && experiments[i]; i++)
        ok = list_experiment(experiments[i], &text, &output, status);
    buffer_finish(&text);
    output_printf(
        &output,
        "all: every experiment\n\nRun one with 'ridge bench NAME'; see also 'ridge help bench'.\n");
    if (ok)
        return output_commit(&output, status);
    output_abandon(&output);
    return false;
}

/* ---- The run ----------------------------------------------------------------------------- */

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

/* Whether a comparison needs more rounds than requested because too many were disturbed. */
static bool needs_more_rounds(const struct result_set *set, const struct run_options *options,
                              unsigned round) {
    if (options->rounds < ROUNDS_TO_COMPARE || round >= PATIENCE * options->rounds ||
        round >= ROUNDS_MAX)
        return false;
    for (size_t i = 0; i < set->count; i++)
        if (!*set->results[i].problem && !compare_has_undisturbed_rounds(&set->results[i]))
            return true;
    return false;
}

/* Adds rounds to the set, each in its own process, up to the requested number. A trace needs the
 * first one in this process. */
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
    struct section_style style = bench_style(line, output);
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

/* Lines that seem to differ, or were disturbed, are measured again, which removes temporary
 * disturbances. */
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
                "ridge bench: %zu of %zu lines are saved; the same command with --resume continues "
                "from there\n",
                kept, set->count);
}

static bool any_wrong(const struct result_set *set) {
    for (size_t i = 0; i < set->count; i++)
        if (set->results[i].wrong)
            return true;
    return false;
}

/* If no line has a result, this is a failure. */
static bool any_figures(const struct result_set *set, struct status *status) {
    for (size_t i = 0; i < set->count; i++)
        if (!*set->results[i].problem || set->results[i].wrong)
            return true;
    if (set->count == 0)
        return status_fail(status, STATUS_USAGE, "these options leave nothing to measure");
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
                         "no results are saved as '%s'; 'ridge bench ... --save %s' saves them",
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

/* With --against, compares the two without measuring. */
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

static int run_bench_command(const struct command_line *line) {
    struct status status = {0};
    struct bench bench = {.line = line};
    unsigned count;
    const char *const *names = command_arguments(line, &count);
    if (command_flag(line, "show"))
        return count == 0 ? show_saved(line)
                          : command_usage(
                                line, "--show prints all saved results: do not name an experiment");
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
    {"device", 'd', "DEVICE[,DEVICE...]", "devices to run on: cpu, cuda, opencl:1, ..., or all"},
    {"dtype", 0, "TYPE[,TYPE...]", "f32, f16, bf16, q8_0, q4_k, for experiments that have types"},
    {"size", 0, "N[,N...]", "sizes instead of the defaults: 4096, 64K, 16Mi, 2^20"},
    {"batch", 0, "N[,N...]", "batch sizes instead of the defaults"},
    {"model", 0, "FILE", "weights for rwkv: GGUF or safetensors (default: random)"},
    {"iterations", 'n', "N", "time exactly N calls of each line"},
    {"seconds", 's', "S", "time each line for at most S seconds (1)"},
    {"rounds", 0, "N", "measure all lines N times (1; 25 with --save or --against)"},
    {"quick", 0, NULL, "small sizes and short times, to check that it works"},
    {"peer", 0, "torch|mlx|jax", "also run the same work there, alternating, and print the ratio"},
    {"save", 0, "NAME", "save the results under this name, or in NAME.json"},
    {"against", 0, "NAME", "compare with saved results, or with a file of results"},
    {"show", 0, "NAME", "print saved results and measure nothing; with --against, compare them"},
    {"resume", 0, NULL, "continue an interrupted run of the same command"},
    {"trace", 't', "FILE", "write a trace of a few calls of each line, for ridge report"},
    {"plot", 0, "FILE", "draw the roofline with a dot for each line, as SVG"},
    {"refresh", 0, NULL, "measure the device's roofs again first"},
    {"format", 0, "text|md|json|csv", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "overwrite existing files"},
    {"quiet", 'q', NULL, "no progress line"},
    {0},
};

const struct command command_bench = {
    .name = "bench",
    .arguments = "[NAME...]",
    .summary = "Measure workloads and experiments against hardware limits",
    .details =
        "Without a name, lists the experiments. Each runs on any device of the runtime and prints "
        "a table: time per call and its spread, the time that the device was busy, bytes and "
        "operations per second, the roof that bounds it, the percentage of that roof, and the time "
        "at the roof. The roofs are those of 'ridge peaks', which are measured first if they are "
        "not known.\n\n"
        "Each line is warmed up until its times are steady and repeated until its median is known "
        "to 1 % or the time is up. Inputs are random; large inputs alternate so that they do not "
        "stay in a cache. Outputs are checked against a double-precision reference. Disturbances "
        "(throttling, other programs, unsteady times) are listed below the table.\n\n"
        "With --save and --against all lines are measured in several rounds, each in its own "
        "process. A difference counts if it is larger than the variation between two identical "
        "runs on this machine.",
    .examples = "ridge bench fusion\teager against compiled\n"
                "ridge bench gated-mlp attention -d cpu,cuda\tone table across devices\n"
                "ridge bench layers --peer torch\tbeside PyTorch\n"
                "ridge bench matmul --dtype f16,bf16 --size 1024,4096 -d cuda\n"
                "ridge bench layers --save before; ...; ridge bench layers --against before\n"
                "ridge bench all --resume -o results.md --format md\tcontinue after Ctrl-C",
    .options = options,
    .arguments_max = NAMES_MAX,
    .run = run_bench_command,
};
