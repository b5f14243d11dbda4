/* ridge top: a live view of a running process.
 *
 * Each interval attaches, records for the interval, detaches and reports, so that the figures are
 * those of `ridge record -p` and `ridge report`. Between two intervals the process is not observed.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "cmd/command.h"
#include "cmd/record.h"
#include "cmd/report.h"

enum { SAMPLE_RATE = 999, TOP_ROWS = 8 };

struct top {
    struct record_options options;
    char *folder, path[PATH_MAX + 16];
    unsigned turns, turns_max; /* 0: until stopped */
    bool ended;
};

static bool read_options(const struct command_line *line, struct top *top, struct status *status) {
    const char *given = command_value(line, "pid"), *interval = command_value(line, "interval");
    int64_t pid, ns = 1000000000;
    if (!given || !text_to_i64(text_of(given), &pid) || pid <= 0 || pid > INT_MAX)
        return status_fail(status, STATUS_USAGE, "-p needs the id of a running process");
    if (interval && (!decimal_scaled(text_of(interval), 9, &ns) || ns < 50000000 ||
                     ns > (int64_t)3600 * 1000000000))
        return status_fail(status, STATUS_USAGE,
                           "--interval must be a time in seconds from 0.05 to 3600, not '%s'",
                           interval);
    top->options = (struct record_options){
        .attach = (pid_t)pid,
        .output = top->path,
        .replace = true,
        .duration = (double)ns / 1e9,
        .perf = {.rate = SAMPLE_RATE},
    };
    return command_count(line, "count", &top->turns_max, status);
}

static bool make_folder(struct top *top, struct status *status) {
    if (!temporary_folder(&top->folder, status))
        return false;
    snprintf(top->path, sizeof top->path, "%s/top.ridge", top->folder);
    return true;
}

static bool print_turn(struct top *top, const struct record_summary *summary,
                       struct status *status) {
    struct report_options options = {.trace_name = top->path, .steps = "all", .top = TOP_ROWS};
    struct opened_report opened;
    struct output output;
    if (!report_open(&opened, &options, false, status))
        return false;
    bool ok = output_open(&output, NULL, false, status);
    if (ok) {
        struct report_style style = report_style(&output);
        style.sections = opened.report.device_count ? "account,kernels,lines,cpu" : "cpu,samples";
        if (isatty(output.fd))
            output_control(&output, "\033[H\033[2J");
        opened.report.options.trace_name = "ridge top";
        ok = report_write_text(&opened.report, &style, &output, status);
        output_printf(&output, "\n%s\n", opened.report.verdict.manager);
        for (unsigned i = 0; i < summary->note_count; i++)
            output_printf(&output, "%s\n", summary->notes[i]);
        ok = output_close(&output, ok, status);
    }
    report_close(&opened);
    return ok;
}

static bool run_turn(struct top *top, struct status *status) {
    static struct record_summary summary;
    if (!record_attach(&top->options, &summary, status))
        return false;
    top->ended = summary.target.ended || summary.target.stopped ||
                 (top->turns_max && ++top->turns == top->turns_max);
    bool empty = summary.target.stopped && summary.wall_ns < 50000000;
    bool ok = empty || print_turn(top, &summary, status);
    if (ok && summary.target.ended)
        printf("\nProcess %ld has ended.\n", (long)top->options.attach);
    return ok;
}

static int top_main(const struct command_line *line) {
    struct status status = {0};
    static struct top top;
    if (!read_options(line, &top, &status) || !make_folder(&top, &status))
        return command_fail(line, &status);
    bool ok = true;
    while (ok && !top.ended)
        ok = run_turn(&top, &status);
    unlink(top.path);
    rmdir(top.folder);
    memory_free(top.folder);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"pid", 'p', "PID", "the process"},
    {"interval", 'i', "SECONDS", "length of an interval (default: 1)"},
    {"count", 'n', "N", "end after N intervals"},
    {0},
};

const struct command command_top = {
    .name = "top",
    .arguments = "-p PID",
    .summary = "Watch a running process: device, threads, waits, lines",
    .details =
        "Shows every second what a running process and its children did. With CUDA: how long "
        "the device was busy and idle and why, the kernels, and the lines of the program "
        "behind them. Always: whether threads were running, ready without a processor, or "
        "blocked, where they waited, and the functions or lines that ran. Ctrl-C ends the "
        "view.\n\n"
        "Each interval is a recording as by 'ridge record -p' with its report. Between two "
        "intervals, for about a tenth of a second, the process is not observed.",
    .examples = "ridge top -p $(pgrep -n python)\tthe newest Python\n"
                "ridge top -p 4711 -n 1 -i 10\tten seconds, once",
    .options = options,
    .arguments_min = 0,
    .arguments_max = 0,
    .run = top_main,
};
