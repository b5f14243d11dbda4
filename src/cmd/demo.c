/* `ridge demo`: shows ridge in under a minute on this machine. It measures the device's roofs,
 * runs one chain of operations eager and compiled, records both, accounts for both, explains the
 * difference, and writes everything to a folder. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/format.h"
#include "base/table.h"
#include "bench/print/print.h"
#include "bench/roofline/roofline.h"
#include "bench/roofs/roof_cache.h"
#include "bench/run.h"
#include "cmd/bench.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "cmd/report.h"
#include "report/wording.h"

enum { CALLS = 8, BAR_CELLS = 40, WIDTH = 80, PATH_SIZE = 1024 };
#define SIZE_ON_CPU ((int64_t)1 << 22)
#define SIZE_ON_GPU ((int64_t)1 << 20)

struct demo {
    const struct command_line *line;
    const char *folder;
    const char *device;
    struct output screen, report;
    struct result_set set;
    struct progress *progress;
    bool quiet;
};

static const char *const variants[] = {"eager", "compiled"};
enum { VARIANTS = ARRAY_COUNT(variants) };

/* ---- The screen ------------------------------------------------------------------------- */

static void show_progress(void *context, unsigned number, unsigned total, const char *what) {
    struct demo *demo = context;
    (void)number, (void)total;
    if (!demo->progress && !demo->quiet)
        demo->progress = progress_begin(what, -1);
    progress_say(demo->progress, what);
}

static void erase_progress(struct demo *demo) {
    progress_end(demo->progress);
    demo->progress = NULL;
}

static bool show(struct demo *demo, struct status *status) {
    erase_progress(demo);
    return output_flush(&demo->screen, status);
}

static void heading(struct demo *demo, const char *text) {
    output_printf(&demo->screen, "\n%s\n\n", text);
    output_printf(&demo->report, "\n## %s\n\n", text);
}

static void show_roof(struct output *output, const struct roofs *roofs, enum roof_id id,
                      const char *meaning) {
    char value[48];
    if (roofs->of[id].value > 0)
        output_printf(output, "  %-28s %14s   %s\n", roof_infos[id].words,
                      print_roof_value(roof_infos[id].kind, roofs->of[id].value, value), meaning);
}

/* ---- The parts -------------------------------------------------------------------------- */

static bool path_in_folder(const struct demo *demo, const char *name, char path[PATH_SIZE],
                           struct status *status) {
    if (snprintf(path, PATH_SIZE, "%s/%s", demo->folder, name) < PATH_SIZE)
        return true;
    return status_fail(status, STATUS_USAGE, "%s: the folder name is too long", demo->folder);
}

static bool run_fusion(struct demo *demo, struct status *status) {
    static const struct experiment *chosen[2];
    const char *devices[] = {demo->device, NULL};
    chosen[0] = experiment_find("fusion");
    bool on_cpu = strncmp(demo->device, "cpu", 3) == 0;
    struct run_options options = {
        .experiments = chosen,
        .devices = devices,
        .bench = {.sizes = {on_cpu ? SIZE_ON_CPU : SIZE_ON_GPU}, .size_count = 1},
        .measure = {.seconds = 3, .precision = 0.02},
        .rounds = 1,
        .quick_roofs = true,
        .progress = show_progress,
        .context = demo,
    };
    return run_experiments(&options, &demo->set, status);
}

static bool show_roofs(struct demo *demo, struct status *status) {
    const struct roofs *roofs = &demo->set.roofs[0];
    const struct section_style markdown = {.style = TABLE_MARKDOWN};
    heading(demo, "1. What this device can do");
    output_printf(&demo->screen, "  %s: %s\n", roofs->device, roofs->description);
    show_roof(&demo->screen, roofs, ROOF_MEMORY_COPY, "");
    show_roof(&demo->screen, roofs, ROOF_F32, "");
    show_roof(&demo->screen, roofs, ROOF_TRIGONOMETRY, "");
    show_roof(&demo->screen, roofs, ROOF_EXPONENTIALS, "");
    show_roof(&demo->screen, roofs, ROOF_LAUNCH, "");
    output_printf(&demo->screen, "  ('ridge peaks' measures these and more, more precisely.)\n");
    return print_roofs(roofs, &markdown, &demo->report, status) && show(demo, status);
}

static bool show_results(struct demo *demo, struct status *status) {
    const struct section_style text = {.width = WIDTH}, markdown = {.style = TABLE_MARKDOWN};
    heading(demo, "2. Twenty operations on one tensor, twice");
    return print_results(&demo->set, &text, &demo->screen, status) &&
           print_results(&demo->set, &markdown, &demo->report, status) && show(demo, status);
}

/* Writes the device's roofs into its trace. */
static void report_roofs(ridge_device *device) {
    struct roofs roofs;
    if (roofs_load(device, true, &roofs))
        roofs_into_trace(device, &roofs);
}

/* One recording of a few calls, as any program that uses the runtime would make. */
static bool record_case(struct stage *stage, const struct bench_case *work, const char *path,
                        struct status *status) {
    void *state;
    struct amount amount = {0};
    if (!work->kind->prepare(stage, work, &state, &amount, status))
        return false;
    bool ok = work->kind->call(state, 0, status);
    if (ok && (!ridge_synchronize(stage->device) || !ridge_trace_begin(stage->device, path)))
        ok = run_tensor_failed(status);
    if (ok) {
        report_roofs(stage->device);
        ridge_range_begin(stage->device, work->variant);
        for (unsigned i = 0; ok && i < CALLS; i++)
            ok = work->kind->call(state, i, status);
        if (ok && !ridge_synchronize(stage->device))
            ok = run_tensor_failed(status);
        ridge_range_end(stage->device);
        if (!ridge_trace_end(stage->device) && ok)
            ok = run_tensor_failed(status);
    }
    work->kind->finish(state);
    return ok;
}

static bool record_both(struct demo *demo, struct status *status) {
    const struct bench_options options = {.sizes = {demo->set.results[0].size}, .size_count = 1};
    struct stage stage;
    struct case_list list = {0};
    char path[PATH_SIZE], name[32];
    if (!stage_open(&stage, demo->device, &options, status))
        return false;
    stage.roofs = demo->set.roofs[0];
    bool ok = experiment_find("fusion")->plan(experiment_find("fusion"), &stage, &list, status);
    for (size_t i = 0; ok && i < list.count && i < VARIANTS; i++) {
        snprintf(name, sizeof name, "%s.ridge", variants[i]);
        ok = path_in_folder(demo, name, path, status) &&
             record_case(&stage, &list.cases[i], path, status);
    }
    memory_free(list.cases);
    ridge_device_close(stage.device);
    return ok;
}

static void show_share(struct output *output, const char *what, int64_t part, int64_t whole) {
    char share[FORMAT_SIZE], time[FORMAT_SIZE];
    int cells = whole > 0 ? (int)((double)part / (double)whole * BAR_CELLS + 0.5) : 0;
    output_printf(output, "    %-12s ", what);
    for (int i = 0; i < BAR_CELLS; i++)
        output_printf(output, "%s", i < cells ? "█" : " ");
    output_printf(output, " %6s  %s\n", format_percent(wording_share(part, whole), share),
                  format_duration(part, time));
}

static bool show_account(struct demo *demo, const char *variant, const struct report *report,
                         struct status *status) {
    char window[FORMAT_SIZE];
    if (report->device_count == 0)
        return true;
    const struct account *account = &report->devices[0].account;
    output_printf(&demo->screen, "  %s: %" PRIu64 " kernels in %s\n", variant, account->kernels,
                  format_duration(account->window, window));
    show_share(&demo->screen, "busy", account->busy, account->window);
    if (account->exposed_communication > 0)
        show_share(&demo->screen, "exposed comm", account->exposed_communication, account->window);
    if (account->exposed_copy > 0)
        show_share(&demo->screen, "exposed copy", account->exposed_copy, account->window);
    show_share(&demo->screen, "idle", account->idle, account->window);
    output_printf(&demo->report, "\n### %s\n\n", variant);
    return report_write_markdown(report, &demo->report, status);
}

static bool write_page(struct demo *demo, const struct report *const reports[VARIANTS],
                       struct status *status) {
    char path[PATH_SIZE];
    struct output output;
    if (!path_in_folder(demo, "page.html", path, status) ||
        !output_open(&output, path, true, status))
        return false;
    return output_close(&output, report_print_page(reports, VARIANTS, &output, status), status);
}

/* The reports of the traces from variants[first] on, all open until the page is written. */
static bool account_for(struct demo *demo, const struct report *reports[VARIANTS], unsigned first,
                        struct status *status) {
    char path[PATH_SIZE], name[32];
    struct opened_report opened;
    if (first == VARIANTS)
        return write_page(demo, reports, status);
    snprintf(name, sizeof name, "%s.ridge", variants[first]);
    if (!path_in_folder(demo, name, path, status))
        return false;
    const struct report_options options = {.trace_name = path, .top = 10};
    if (!report_open(&opened, &options, false, status))
        return false;
    reports[first] = &opened.report;
    bool ok = show_account(demo, variants[first], &opened.report, status) &&
              account_for(demo, reports, first + 1, status);
    report_close(&opened);
    return ok;
}

static bool show_accounts(struct demo *demo, struct status *status) {
    const struct report *reports[VARIANTS];
    show_progress(demo, 0, 0, "recording both");
    if (!record_both(demo, status))
        return false;
    heading(demo, "3. Where the device's time went");
    output_printf(&demo->screen, "  %d calls of each, recorded to %s/:\n", CALLS, demo->folder);
    return account_for(demo, reports, 0, status) && show(demo, status);
}

static bool draw_roofline(struct demo *demo, struct status *status) {
    struct roofline_dot dots[VARIANTS];
    size_t count = 0;
    char path[PATH_SIZE];
    struct output output;
    for (size_t i = 0; i < demo->set.count && count < VARIANTS; i++) {
        const struct result *result = &demo->set.results[i];
        if (*result->problem || result->amount.moved_bytes == 0)
            continue;
        dots[count++] = (struct roofline_dot){
            .label = result->variant,
            .intensity = (double)result->amount.flops / (double)result->amount.moved_bytes,
            .rate = (double)result->amount.flops / result->time.time.median * 1e9,
        };
    }
    if (!path_in_folder(demo, "roofline.svg", path, status) ||
        !output_open(&output, path, true, status))
        return false;
    bool ok = roofline_svg(&demo->set.roofs[0], dots, count, &output, status);
    return output_close(&output, ok, status);
}

static bool save_results(struct demo *demo, struct status *status) {
    char path[PATH_SIZE];
    struct output output;
    if (!path_in_folder(demo, "results.json", path, status) ||
        !output_open(&output, path, true, status))
        return false;
    result_set_write(&demo->set, &output);
    return output_close(&output, true, status);
}

static void print_next_steps(struct demo *demo) {
    output_printf(&demo->screen,
                  "\n4. What is in %s/\n\n"
                  "  page.html                      both runs in a browser, on one time axis\n"
                  "  report.md                      all of the above, and both reports in full\n"
                  "  eager.ridge, compiled.ridge    the traces: for ridge report, whatif --fuse\n"
                  "  roofline.svg                   how far both are from the roofs\n"
                  "  results.json                   the figures, with every sample\n\n"
                  "Next: 'ridge bench' lists more experiments, 'ridge peaks' measures the roofs,\n"
                  "and 'ridge report TRACE' reads your own program's trace.\n",
                  demo->folder);
}

static bool show_all(struct demo *demo, struct status *status) {
    output_printf(&demo->report, "# ridge demo\n");
    if (!run_fusion(demo, status))
        return false;
    if (*demo->set.results[0].problem)
        return status_fail(status, STATUS_UNSUPPORTED, "%s", demo->set.results[0].problem);
    if (!show_roofs(demo, status) || !show_results(demo, status) || !show_accounts(demo, status) ||
        !draw_roofline(demo, status) || !save_results(demo, status))
        return false;
    print_next_steps(demo);
    return true;
}

/* ---- The command ------------------------------------------------------------------------ */

static bool make_folder(const char *folder, struct status *status) {
    struct stat info;
    if (mkdir(folder, 0777) == 0)
        return true;
    if (errno == EEXIST && stat(folder, &info) == 0 && S_ISDIR(info.st_mode))
        return true;
    return status_fail_errno(status, "cannot make the folder %s", folder);
}

static bool run_demo(struct demo *demo, struct status *status) {
    char path[PATH_SIZE];
    if (!make_folder(demo->folder, status) || !path_in_folder(demo, "report.md", path, status) ||
        !output_open(&demo->screen, NULL, false, status))
        return false;
    if (!output_open(&demo->report, path, true, status)) {
        output_abandon(&demo->screen);
        return false;
    }
    bool ok = show_all(demo, status);
    erase_progress(demo);
    ok = output_close(&demo->report, ok, status);
    if (ok)
        return output_commit(&demo->screen, status);
    output_flush(&demo->screen, &(struct status){0}); /* the results stay on the screen */
    output_abandon(&demo->screen);
    return false;
}

static int run_demo_command(const struct command_line *line) {
    struct status status = {0};
    struct device_names devices;
    struct demo demo = {.line = line, .folder = command_value(line, "output")};
    if (!demo.folder)
        demo.folder = "ridge-demo";
    demo.quiet = command_flag(line, "quiet");
    if (!bench_devices(line, &devices, &status))
        return command_fail(line, &status);
    if (devices.names[1])
        return command_usage(line, "--device takes one device here, not a list");
    demo.device = devices.names[0];
    bool ok = run_demo(&demo, &status);
    result_set_finish(&demo.set);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"device", 'd', "DEVICE", "where to run it (default: the best device)"},
    {"output", 'o', "FOLDER", "where the traces and the report go (ridge-demo)"},
    {"quiet", 'q', NULL, "no progress line"},
    {0},
};

const struct command command_demo = {
    .name = "demo",
    .arguments = "",
    .summary = "Show in under a minute what ridge does, on this machine",
    .details = "Measures the device's roofs quickly and runs a chain of twenty elementwise "
               "operations, eager and compiled. Records both, prints where the time went with a "
               "timeline of each, the speed-up and its cause, and writes the traces, the reports "
               "and a roofline to a folder. A CPU is enough.",
    .examples = "ridge demo\n"
                "ridge demo -d cuda -o /tmp/demo",
    .options = options,
    .run = run_demo_command,
};
