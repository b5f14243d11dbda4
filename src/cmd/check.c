/* ridge check: has this command become slower than a gate allows?
 *
 * The command runs several times, in turns with the baseline's command where there is one. After
 * some of the runs the gate looks at all metrics and stops as soon as each has its answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/memory.h"
#include "base/min_max.h"
#include "base/temporary.h"
#include "bench/results/compare.h"
#include "cmd/check.h"
#include "cmd/terminal.h"
#include "cmd/report.h"
#include "compare/diff.h"
#include "machine/health.h"

enum { EXIT_UNDECIDED = 3, RUNS_DEFAULT = 20, WORDS_MAX = 256, REPEATS_MAX = 10, SHELL_WORDS = 3 };
#define GATE_DEFAULT 0.03
#define BUDGET_DEFAULT 1800.0 /* seconds */

struct check {
    const struct command_line *line;
    const char *words[CHECK_SIDES][WORDS_MAX + 1]; /* NULL-ended; before: --versus */
    bool versus;
    double gate, budget;
    unsigned runs_max;
    struct check_measure measure;
    unsigned metrics[METRICS];
    unsigned metric_count;
    bool chosen;       /* --metric was given */
    bool wants_counts; /* counts of a step gate as well */
    struct measured_runs runs[CHECK_SIDES];
    struct check_result result;
    struct health_watch *health;
    char *best_trace[CHECK_SIDES]; /* of the fastest run so far; or NULL */
    double best[CHECK_SIDES];
    int64_t began;
    int64_t check; /* Unix time */
};

/* ---- the command line ---- */

static bool read_gate(const char *given, double *gate, struct status *status) {
    char *end;
    double value = given ? strtod(given, &end) : GATE_DEFAULT * 100;
    if (given && (end == given || (*end && strcmp(end, "%") != 0) || !(value > 0 && value < 1000)))
        return status_fail(status, STATUS_USAGE,
                           "--gate takes a share such as 3%%: slowdowns above it fail; not "
                           "\"%s\"",
                           given);
    *gate = value / 100;
    return true;
}

static bool read_budget(const char *given, double *seconds, struct status *status) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}};
    char *end;
    *seconds = BUDGET_DEFAULT;
    if (!given)
        return true;
    double value = strtod(given, &end);
    for (size_t i = 0; i < ARRAY_COUNT(units); i++)
        if (end != given && strcmp(end, units[i].unit) == 0 && value > 0 && value < 1e6) {
            *seconds = value * units[i].seconds;
            return true;
        }
    return status_fail(status, STATUS_USAGE,
                       "--budget takes a time such as 90s, 10m or 1h; not "
                       "\"%s\"",
                       given);
}

/* "NAME=REGEX", better when lower; "+NAME=REGEX", better when higher. */
static bool add_printed(struct check *check, const char *given, struct status *status) {
    const char *equals = strchr(given, '=');
    bool higher = given[0] == '+';
    size_t length = (size_t)(equals - given) - higher;
    unsigned index = check->measure.pattern_count;
    char why[200];
    if (index == PRINTED_MAX || !metric_name_is_plain((struct text){given + higher, length}))
        return status_fail(status, STATUS_USAGE,
                           "--metric takes at most %d printed metrics, each as NAME=REGEX; not "
                           "\"%s\"",
                           PRINTED_MAX, given);
    struct check_pattern *pattern = &check->measure.patterns[index];
    int failed = regcomp(&pattern->expression, equals + 1, REG_EXTENDED | REG_NEWLINE);
    if (failed) {
        regerror(failed, &pattern->expression, why, sizeof why);
        return status_fail(status, STATUS_USAGE, "--metric %s: %s", given, why);
    }
    pattern->compiled = true;
    check->measure.pattern_count++;
    struct printed_metric printed = {.higher_is_better = higher};
    memcpy(printed.name, given + higher, length);
    for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++) {
        check->runs[at].printed[index] = printed;
        check->runs[at].printed_count = index + 1;
    }
    check->metrics[check->metric_count++] = METRIC_PRINTED_FIRST + index;
    return true;
}

static bool add_metric(struct check *check, struct text name, struct status *status) {
    if (text_is(name, "counts")) {
        check->wants_counts = check->measure.record = true;
        return true;
    }
    for (unsigned i = 0; i < METRIC_COUNT_FIRST; i++)
        if (text_is(name, metric_key(&check->runs[0], i))) {
            check->metrics[check->metric_count++] = i;
            check->measure.record |= i != METRIC_WALL && i != METRIC_CPU && i != METRIC_MEMORY;
            return true;
        }
    return status_fail(
        status, STATUS_USAGE,
        "--metric: \"%.*s\" is none of step, wall, cpu, busy, memory, device-memory, "
        "counts and NAME=REGEX",
        (int)MIN(name.length, 100), name.data);
}

static bool read_metrics(struct check *check, struct status *status) {
    const char *given;
    for (unsigned nth = 0; (given = command_value_at(check->line, "metric", nth)); nth++) {
        check->chosen = true;
        if (check->metric_count >= METRICS - 8)
            return status_fail(status, STATUS_USAGE, "too many metrics");
        if (strchr(given, '=')) {
            if (!add_printed(check, given, status))
                return false;
            continue;
        }
        while (*given) {
            size_t length = strcspn(given, ",");
            if (!add_metric(check, (struct text){given, length}, status))
                return false;
            given += length + (given[length] == ',');
        }
    }
    if (!check->chosen)
        check->measure.record = check->wants_counts = true;
    return true;
}

static bool read_words(struct check *check, struct status *status) {
    static const char *const shell[SHELL_WORDS] = {"/bin/sh", "-c", NULL};
    unsigned count;
    const char *const *arguments = command_arguments(check->line, &count);
    const char *versus = command_value(check->line, "versus");
    if (count > WORDS_MAX)
        return status_fail(status, STATUS_USAGE, "the command has more than %d words", WORDS_MAX);
    for (unsigned i = 0; i < count; i++)
        check->words[CHECK_AFTER][i] = arguments[i];
    check->versus = versus != NULL;
    if (versus) {
        memcpy(check->words[CHECK_BEFORE], shell, sizeof shell);
        check->words[CHECK_BEFORE][SHELL_WORDS - 1] = versus;
    }
    if (versus && command_value(check->line, "baseline"))
        return status_fail(status, STATUS_USAGE, "give either --baseline or --versus");
    if (!versus && !command_value(check->line, "baseline") && !command_value(check->line, "save") &&
        !command_value(check->line, "history"))
        return status_fail(status, STATUS_USAGE,
                           "nothing to compare with: give --baseline NAME, --versus 'COMMAND', or "
                           "--save NAME to make a baseline");
    return true;
}

/* ---- measuring ---- */

static void describe_machine(char text[RUN_TEXT_SIZE]) {
    struct utsname system;
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256], model[80] = "";
    while (file && !*model && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
            snprintf(model, sizeof model, "%.70s", strchr(line, ':') + 2);
    if (file)
        fclose(file);
    model[strcspn(model, "\n")] = 0;
    if (uname(&system) != 0)
        memset(&system, 0, sizeof system);
    snprintf(text, RUN_TEXT_SIZE, "%.50s%s%ld CPUs, %.20s %.20s", model, *model ? ", " : "",
             sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.machine);
}

static struct measured_run new_run(const struct check *check) {
    struct measured_run run = {.check = check->check};
    static const char *const variables[] = {"GITHUB_SHA", "CI_COMMIT_SHA"};
    const char *label = command_value(check->line, "label");
    for (size_t i = 0; !label && i < ARRAY_COUNT(variables); i++)
        label = getenv(variables[i]);
    snprintf(run.label, sizeof run.label, "%s", label ? label : "");
    describe_machine(run.machine);
    return run;
}

/* Keeps the trace of the run with the shortest step. */
static void keep_best(struct check *check, unsigned at, const struct run_values *values,
                      char *trace) {
    bool better = values->known[METRIC_STEP] &&
                  (!check->best_trace[at] || values->values[METRIC_STEP] < check->best[at]);
    if (!better) {
        temporary_remove(trace);
        return;
    }
    temporary_remove(check->best_trace[at]);
    check->best_trace[at] = trace;
    check->best[at] = values->values[METRIC_STEP];
}

static bool measure_once(struct check *check, unsigned at, struct run_values *values,
                         struct status *status) {
    char *trace = NULL;
    int fd;
    if (check->measure.record) {
        if (!temporary_file(&trace, &fd, status))
            return false;
        close(fd);
    }
    if (!check_run(&check->measure, check->words[at], trace, values, status)) {
        temporary_remove(trace);
        return false;
    }
    if (trace)
        keep_best(check, at, values, trace);
    return true;
}

static double seconds_since(int64_t began) {
    return (double)(clock_now() - began) * 1e-9;
}

/* A run that other programs or throttling disturbed is repeated, REPEATS_MAX times in all. */
static bool measure_side(struct check *check, unsigned at, struct status *status) {
    struct measured_run run = new_run(check);
    struct check_result *result = &check->result;
    for (;;) {
        struct health before, after;
        struct gpu_users sharing_before, sharing_after;
        char words[200];
        if (check->health) {
            health_read_gpu_users(check->health, 0, &sharing_before);
            health_read(check->health, &before);
        }
        if (!measure_once(check, at, &run.of, status))
            return false;
        if (!check->health)
            break;
        health_read(check->health, &after);
        health_read_gpu_users(check->health, sharing_before.time, &sharing_after);
        if (!health_gpu_shared(&sharing_before, &sharing_after, words, sizeof words) &&
            !health_disturbed(&before, &after, words, sizeof words))
            break;
        snprintf(result->disturbance, sizeof result->disturbance, "%s", words);
        if (result->disturbed >= REPEATS_MAX || seconds_since(check->began) > check->budget)
            break;
        result->disturbed++;
    }
    run.pace = compare_reference_loop();
    return measured_runs_add(&check->runs[at], &run, status);
}

/* Whether a run has every metric that was asked for. */
static bool has_metrics(const struct check *check, const struct run_values *values, unsigned at,
                        struct status *status) {
    for (unsigned i = 0; i < check->metric_count; i++)
        if (!values->known[check->metrics[i]])
            return status_fail(status, STATUS_INPUT, "the %s has no %s: %s",
                               at == CHECK_BEFORE ? "baseline" : "command",
                               metric_title(&check->runs[at], check->metrics[i]),
                               check->metrics[i] >= METRIC_PRINTED_FIRST
                                   ? "its output does not match the expression"
                                   : "choose others with --metric");
    return true;
}

/* The first run of a command warms caches and shows what can be measured. */
static bool warm_up(struct check *check, struct status *status) {
    struct run_values values;
    if (check->versus &&
        !check_run(&check->measure, check->words[CHECK_BEFORE], NULL, &values, status))
        return status_context(status, "--versus");
    if (check->versus && !has_metrics(check, &values, CHECK_BEFORE, status))
        return false;
    if (!check_run(&check->measure, check->words[CHECK_AFTER], NULL, &values, status) ||
        !has_metrics(check, &values, CHECK_AFTER, status))
        return false;
    if (check->chosen)
        return true;
    if (values.known[METRIC_STEP]) {
        check->metrics[check->metric_count++] = METRIC_STEP;
        return true;
    }
    check->metrics[check->metric_count++] = METRIC_WALL;
    check->measure.record = check->wants_counts = false;
    return true;
}

static bool is_known(const struct check *check, unsigned metric) {
    for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++)
        if (check->runs[at].count == 0 || !check->runs[at].lines[0].of.known[metric])
            return false;
    return true;
}

static bool decide(struct check *check, struct status *status) {
    unsigned metrics[METRICS], count = 0;
    for (unsigned i = 0; i < check->metric_count; i++)
        metrics[count++] = check->metrics[i];
    for (unsigned i = METRIC_COUNT_FIRST; check->wants_counts && i < METRIC_PRINTED_FIRST; i++)
        if (is_known(check, i))
            metrics[count++] = i;
    return check_decide(&check->result, metrics, count, status);
}

/* Whether there is time for another round as long as those before. */
static bool has_time(const struct check *check) {
    size_t rounds = check->runs[CHECK_AFTER].count;
    double used = seconds_since(check->began);
    return rounds == 0 || used + used / (double)rounds <= check->budget;
}

static bool has_exact_regression(const struct check_result *result) {
    for (size_t i = 0; i < result->row_count; i++)
        if (metric_is_exact(result->rows[i].metric) &&
            result->rows[i].gate.verdict == GATE_REGRESSED)
            return true;
    return false;
}

static bool run_rounds(struct check *check, bool compares, struct status *status) {
    enum { EXACT_LOOK = 2 };
    struct progress *progress = progress_begin("measuring", -1);
    bool ok = warm_up(check, status), decided = false;
    check->began = clock_now();
    while (ok && !decided && check->runs[CHECK_AFTER].count < check->runs_max && has_time(check)) {
        unsigned round = (unsigned)check->runs[CHECK_AFTER].count;
        for (unsigned turn = 0; ok && turn < CHECK_SIDES; turn++) {
            unsigned at = (round + turn) % CHECK_SIDES; /* ABBA: a drift meets both alike */
            if (at == CHECK_AFTER || check->versus)
                ok = measure_side(check, at, status);
        }
        if (!ok || !compares || (!gate_is_look(round + 1) && round + 1 != EXACT_LOOK))
            continue;
        ok = decide(check, status);
        decided = ok && (has_exact_regression(&check->result) || check->metric_count == 0 ||
                         (round + 1 != EXACT_LOOK && check->result.verdict != GATE_UNDECIDED));
    }
    progress_end(progress);
    return ok && (!compares || decided || decide(check, status));
}

/* ---- baselines, histories, traces ---- */

static bool sides_have_metrics(const struct check *check, struct status *status) {
    for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++)
        if (check->runs[at].count && !has_metrics(check, &check->runs[at].lines[0].of, at, status))
            return false;
    return true;
}

/* A machine that has become slower by itself is no regression of the program. */
static void compare_machines(struct check *check) {
    struct check_result *result = &check->result;
    const struct measured_runs *before = &check->runs[CHECK_BEFORE],
                               *after = &check->runs[CHECK_AFTER];
    if (before->count == 0 || after->count == 0 || check->versus)
        return;
    const struct measured_run *first = &before->lines[before->count - 1], *last = &after->lines[0];
    if (strcmp(first->machine, last->machine) != 0)
        snprintf(result->warning, sizeof result->warning,
                 "The baseline is from another machine: %.100s. Use --versus to run both here.",
                 first->machine);
    else if (first->pace > 0 && last->pace > 0 &&
             fabs(last->pace / first->pace - 1) > check->gate / 2)
        snprintf(result->warning, sizeof result->warning,
                 "This machine's own pace differs by %.1f %% from that of the baseline. Use "
                 "--versus to run both here.",
                 (last->pace / first->pace - 1) * 100);
    if (*result->warning && result->verdict == GATE_REGRESSED && !has_exact_regression(result))
        result->verdict = GATE_UNDECIDED;
}

/* A word with a dot or a slash is a file; another names saved runs. */
static bool find_path(const char *name, struct buffer *path, struct status *status) {
    if (!strpbrk(name, "./"))
        return compare_path(name, path, status);
    buffer_string(path, name);
    buffer_byte(path, 0);
    return buffer_ok(path, status);
}

static bool read_baseline(const char *name, const char *path, struct measured_runs *runs,
                          struct status *status) {
    if (access(path, F_OK) != 0)
        return status_fail(status, STATUS_INPUT,
                           "there is no baseline \"%s\": make it with --save %s (it would be %s)",
                           name, name, path);
    if (!measured_runs_read(path, runs, status))
        return false;
    return runs->count || status_fail(status, STATUS_INPUT, "%s: there are no runs in it", path);
}

static bool write_runs(const char *path, const struct measured_runs *runs, bool append,
                       struct status *status) {
    struct output output;
    struct measured_runs old = {0};
    bool exists = access(path, F_OK) == 0, ok = true;
    if (append && exists)
        ok = measured_runs_read(path, &old, status);
    ok = ok && output_open(&output, path, true, status);
    if (ok) {
        measured_runs_write(&old, 0, &output);
        measured_runs_write(runs, 0, &output);
        ok = output_close(&output, true, status);
    }
    measured_runs_finish(&old);
    return ok;
}

/* A copy, as the temporary folder may be on another file system. */
static bool copy_file(const char *from, const char *to, struct status *status) {
    struct output output;
    char bytes[65536];
    size_t length;
    FILE *file = fopen(from, "re");
    if (!file)
        return status_fail_errno(status, "%s: cannot read", from);
    bool ok = output_open(&output, to, true, status);
    while (ok && (length = fread(bytes, 1, sizeof bytes, file)) > 0)
        output_write(&output, bytes, length);
    fclose(file);
    return ok && output_close(&output, true, status);
}

static bool diff_traces(struct check *check, const char *before, const char *after, bool markdown,
                        struct status *status) {
    struct report_options options = {.top = 8, .steady = true, .no_verdict = true};
    struct opened_report opened[SIDES];
    const char *const names[SIDES] = {before, after};
    struct output output = output_into(&check->result.diff);
    struct report_style style = {.width = 80};
    struct diff diff;
    unsigned open = 0;
    bool ok = true;
    for (; open < SIDES && ok; open += ok) {
        options.trace_name = names[open];
        ok = report_open(&opened[open], &options, false, status);
    }
    ok = ok && diff_build(&diff, &opened[BEFORE].report, &opened[AFTER].report, status);
    if (ok) {
        ok = markdown ? diff_write_markdown(&diff, options.top, &output, status)
                      : diff_write_text(&diff, &style, options.top, &output, status);
        diff_finish(&diff);
    }
    while (open > 0)
        report_close(&opened[--open]);
    return ok;
}

/* On a regression: both traces and their diff, in the folder of --record. */
static bool attach(struct check *check, const char *baseline_trace, bool markdown,
                   struct status *status) {
    const char *folder = command_value(check->line, "record");
    const char *before = check->versus ? check->best_trace[CHECK_BEFORE] : baseline_trace,
               *after = check->best_trace[CHECK_AFTER];
    char path[2][4096];
    if (check->result.verdict != GATE_REGRESSED || !before || !after || access(before, R_OK) != 0)
        return true;
    if (!folder)
        return diff_traces(check, before, after, markdown, status);
    if (mkdir(folder, 0777) != 0 && access(folder, W_OK) != 0)
        return status_fail_errno(status, "%s: cannot create the folder", folder);
    snprintf(path[0], sizeof path[0], "%s/before.ridge", folder);
    snprintf(path[1], sizeof path[1], "%s/after.ridge", folder);
    snprintf(check->result.attached, sizeof check->result.attached, "%s and %s", path[0], path[1]);
    return copy_file(before, path[0], status) && copy_file(after, path[1], status) &&
           diff_traces(check, path[0], path[1], markdown, status);
}

/* ---- the command ---- */

static int exit_status(enum gate_verdict verdict) {
    return verdict == GATE_WITHIN ? 0 : verdict == GATE_REGRESSED ? EXIT_ANSWER_NO : EXIT_UNDECIDED;
}

static bool save(struct check *check, const char *name, struct output *output,
                 struct status *status) {
    struct buffer path = {0}, trace = {0};
    bool ok = find_path(name, &path, status) &&
              write_runs(path.data, &check->runs[CHECK_AFTER], false, status);
    if (ok && check->best_trace[CHECK_AFTER]) {
        buffer_printf(&trace, "%s.ridge", path.data);
        buffer_byte(&trace, 0);
        ok = buffer_ok(&trace, status) &&
             copy_file(check->best_trace[CHECK_AFTER], trace.data, status);
    }
    if (ok)
        output_printf(output, "saved %zu runs: %s\n", check->runs[CHECK_AFTER].count, path.data);
    buffer_finish(&path);
    buffer_finish(&trace);
    return ok;
}

static const struct format_suffix suffixes[] = {
    {".md", "md"}, {".json", "json"}, {".txt", "text"}, {0}};

static bool print_history(const struct command_line *line, struct output *output,
                          struct status *status) {
    struct measured_runs runs = {0};
    const char *format = command_flag(line, "json") ? "json" : command_format(line, suffixes);
    const char *path = command_value(line, "history");
    bool ok =
        measured_runs_read(path, &runs, status) &&
        (runs.count || status_fail(status, STATUS_INPUT, "%s: there are no runs in it", path)) &&
        check_print_history(&runs, format ? format : "text", output, status);
    measured_runs_finish(&runs);
    return ok;
}

static bool compare_and_print(struct check *check, struct output *output, struct status *status) {
    const char *baseline = command_value(check->line, "baseline"),
               *history = command_value(check->line, "history"),
               *saved = command_value(check->line, "save"),
               *format = command_flag(check->line, "json") ? "json"
                                                           : command_format(check->line, suffixes);
    bool compares = check->versus || baseline, markdown = format && strcmp(format, "md") == 0;
    struct buffer path = {0}, trace = {0};
    bool ok = !baseline || (find_path(baseline, &path, status) &&
                            read_baseline(baseline, path.data, &check->runs[CHECK_BEFORE], status));
    if (ok && baseline) {
        buffer_printf(&trace, "%s.ridge", path.data);
        buffer_byte(&trace, 0);
        ok = buffer_ok(&trace, status);
    }
    ok = ok && run_rounds(check, compares, status) && sides_have_metrics(check, status) &&
         (!history || write_runs(history, &check->runs[CHECK_AFTER], true, status)) &&
         (!saved || save(check, saved, output, status));
    if (ok && compares) {
        for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++)
            check->result.runs[at] = check->runs[at].count;
        compare_machines(check);
        ok = attach(check, baseline ? trace.data : NULL, markdown, status) &&
             check_print(&check->result, format ? format : "text", output, status);
    } else if (ok && !saved) {
        output_printf(output, "added %zu runs: %s\n", check->runs[CHECK_AFTER].count, history);
    }
    if (ok && !compares)
        check->result.verdict = GATE_WITHIN;
    buffer_finish(&path);
    buffer_finish(&trace);
    return ok;
}

static void finish(struct check *check) {
    for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++) {
        measured_runs_finish(&check->runs[at]);
        temporary_remove(check->best_trace[at]);
    }
    for (unsigned i = 0; i < check->measure.pattern_count; i++)
        if (check->measure.patterns[i].compiled)
            regfree(&check->measure.patterns[i].expression);
    buffer_finish(&check->result.diff);
    health_close(check->health);
}

static bool check_all(struct check *check, struct output *output, struct status *status) {
    char *log;
    int fd;
    unsigned count;
    check->check = (int64_t)time(NULL);
    check->runs_max = RUNS_DEFAULT;
    check->result = (struct check_result){.interleaved = check->versus};
    if (!read_words(check, status) || !read_metrics(check, status) ||
        !read_gate(command_value(check->line, "gate"), &check->gate, status) ||
        !read_budget(command_value(check->line, "budget"), &check->budget, status) ||
        !command_count(check->line, "runs", &check->runs_max, status))
        return false;
    if (check->runs_max > GATE_LAST_LOOK)
        return status_fail(status, STATUS_USAGE, "--runs is at most %d", GATE_LAST_LOOK);
    check->result.command = command_arguments(check->line, &count)[0];
    check->result.gate = check->gate;
    check->result.interleaved = check->versus;
    for (unsigned at = CHECK_BEFORE; at < CHECK_SIDES; at++)
        check->result.sides[at] = &check->runs[at];
    if (!temporary_file(&log, &fd, status))
        return false;
    close(fd);
    check->measure.log = log;
    check->health = health_open("");
    bool ok = compare_and_print(check, output, status);
    temporary_remove(log);
    return ok;
}

static int run(const struct command_line *line) {
    struct check check = {.line = line};
    struct status status = {0};
    struct output output;
    unsigned count;
    command_arguments(line, &count);
    if (count == 0 && !command_value(line, "history"))
        return command_usage(line, "give a command to check, or --history FILE alone");
    if (!output_open(&output, command_value(line, "output"), command_flag(line, "force"), &status))
        return command_fail(line, &status);
    bool ok = count ? check_all(&check, &output, &status) : print_history(line, &output, &status);
    finish(&check);
    ok = output_close(&output, ok, &status);
    if (!ok)
        return command_fail(line, &status);
    return count ? exit_status(check.result.verdict) : 0;
}

static const struct command_option options[] = {
    {"baseline", 'b', "NAME",
     "compare with these runs, saved by --save: a name, or a file (with a dot or a slash)"},
    {"versus", 0, "COMMAND", "run this shell command in turns with the other, and compare"},
    {"save", 0, "NAME", "save the runs as a baseline"},
    {"gate", 'g', "SHARE", "slowdowns above this fail (3%)"},
    {"metric", 'm', "NAME[,NAME]",
     "step, wall, cpu, busy, memory, device-memory, counts; or NAME=REGEX: a number that the "
     "program "
     "prints (+NAME=REGEX: higher is better)"},
    {"runs", 'n', "N", "at most N runs of each side (20)"},
    {"budget", 0, "TIME", "stop after this time, such as 90s or 10m (30m)"},
    {"record", 0, "FOLDER", "on a regression keep the traces of the best runs there"},
    {"history", 0, "FILE", "append the runs to FILE; without a command: find change points in it"},
    {"label", 0, "TEXT", "label of the runs in the history (the CI's commit)"},
    {"format", 0, "text|md|json", "default: by the suffix of the output, else text"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "replace FILE if it exists"},
    {0},
};

const struct command command_check = {
    .name = "check",
    .arguments = "[--] COMMAND [ARGUMENT...]",
    .summary = "Fail when a command has become slower than a gate allows",
    .details =
        "Runs the command up to --runs times and compares it with a baseline (--baseline), or runs "
        "both in turns (--versus), which is the safer way: what drifts on the machine then meets "
        "both. It stops as soon as the answer is certain. Disturbed runs are repeated.\n\n"
        "Times are compared by an exact rank test: a slowdown below the gate fails in at most 1 % "
        "of the checks, and one above the gate passes in at most 5 %. Counts of a step (kernels, "
        "launches, copies, synchronizations, allocations, compilations) do not vary and are "
        "compared exactly.\n\n"
        "Exit status: 0 within the gate, 1 regressed, 2 error, 3 not decidable with these runs; "
        "the smallest slowdown that they could have found is printed.",
    .examples = "ridge check --versus ../main/bench -- ./bench\ttwo builds, in turns\n"
                "ridge check --save main -- python train.py\tmake a baseline\n"
                "ridge check --baseline main --gate 3% -- python train.py\tcompare with it\n"
                "ridge check --history runs.jsonl\tchange points over time",
    .options = options,
    .arguments_min = 0,
    .arguments_max = 1 << 20,
    .run = run,
    .runs_program = true,
};
