/* `ridge peaks`: the limits of this machine's devices. Measures their roofs, or uses cached
 * ones, and draws the roofline. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/print/print.h"
#include "bench/roofline/roofline.h"
#include "cmd/bench.h"
#include "cmd/command.h"
#include "cmd/terminal.h"

struct peaks {
    const struct command_line *line;
    struct device_names names;
    ridge_device *devices[NAMES_MAX];
    struct roofs *roofs; /* of each device */
    unsigned count;
};

/* ---- Measuring -------------------------------------------------------------------------- */

struct measuring {
    struct progress *progress;
    const char *device;
};

static void show_progress(void *context, const char *what) {
    const struct measuring *measuring = context;
    char line[160];
    snprintf(line, sizeof line, "measuring %s: %s", measuring->device, what);
    progress_say(measuring->progress, line);
}

/* All are opened first: a name that is not there should not cost the time of those before it. */
static bool open_devices(struct peaks *peaks, struct status *status) {
    for (unsigned i = 0; peaks->names.names[i]; i++) {
        ridge_device *device = ridge_device_open(peaks->names.names[i]);
        if (!device)
            return status_fail(status, STATUS_UNSUPPORTED, "%s", ridge_error_message());
        peaks->devices[peaks->count++] = device;
    }
    peaks->roofs = memory_allocate(peaks->count, sizeof *peaks->roofs, status);
    return peaks->roofs != NULL;
}

static void close_devices(struct peaks *peaks) {
    for (unsigned i = 0; i < peaks->count; i++)
        ridge_device_close(peaks->devices[i]);
    memory_free(peaks->roofs);
}

static bool measure_roofs(struct peaks *peaks, struct status *status) {
    bool quick = command_flag(peaks->line, "quick"), refresh = command_flag(peaks->line, "refresh");
    struct progress *progress =
        command_flag(peaks->line, "quiet") ? NULL : progress_begin("measuring", -1);
    bool ok = true;
    for (unsigned i = 0; ok && i < peaks->count; i++) {
        struct measuring measuring = {progress, peaks->names.names[i]};
        ok = roofs_get(peaks->devices[i], quick, refresh, show_progress, &measuring,
                       &peaks->roofs[i], status) ||
             status_context(status, "%s", peaks->names.names[i]);
    }
    progress_end(progress);
    return ok;
}

/* ---- Drawing ---------------------------------------------------------------------------- */

/* With several devices each has its own file: roofs.svg becomes roofs-cuda-0.svg. */
static bool plot_path(const struct peaks *peaks, unsigned index, struct buffer *path,
                      struct status *status) {
    const char *asked = command_value(peaks->line, "plot");
    buffer_clear(path);
    if (peaks->count == 1) {
        buffer_string(path, asked);
    } else {
        size_t stem = strlen(asked) - strlen(".svg");
        buffer_printf(path, "%.*s-%s%s", (int)stem, asked, peaks->names.names[index], asked + stem);
        for (size_t i = stem; !path->failed && i < path->length; i++)
            if (path->data[i] == ':')
                path->data[i] = '-';
    }
    buffer_byte(path, '\0');
    return buffer_ok(path, status);
}

typedef bool with_plot(const struct peaks *peaks, unsigned index, const char *path,
                       struct status *status);

static bool try_plot(const struct peaks *peaks, unsigned index, const char *path,
                     struct status *status) {
    (void)index;
    return output_check(path, command_flag(peaks->line, "force"), status);
}

static bool draw(const struct peaks *peaks, unsigned index, const char *path,
                 struct status *status) {
    struct output output;
    if (!output_open(&output, path, command_flag(peaks->line, "force"), status))
        return false;
    bool ok = roofline_svg(&peaks->roofs[index], NULL, 0, &output, status);
    return output_close(&output, ok, status);
}

static bool each_plot(const struct peaks *peaks, with_plot *with, struct status *status) {
    struct buffer path = {0};
    bool ok = true;
    for (unsigned i = 0; ok && command_flag(peaks->line, "plot") && i < peaks->count; i++)
        ok = plot_path(peaks, i, &path, status) && with(peaks, i, path.data, status);
    buffer_finish(&path);
    return ok;
}

/* ---- Printing --------------------------------------------------------------------------- */

static void print_json(const struct peaks *peaks, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.peaks");
    json_member_integer(&json, "version", 1);
    json_key(&json, "devices");
    json_begin_array(&json);
    for (unsigned i = 0; i < peaks->count; i++)
        roofs_write_json(&peaks->roofs[i], &json);
    json_end_array(&json);
    json_end_object(&json);
}

static bool print_device(const struct roofs *roofs, const struct section_style *style,
                         struct output *output, struct status *status) {
    if (!print_roofs(roofs, style, output, status))
        return false;
    if (style->style == TABLE_CSV)
        return true;
    output_printf(output, "\n");
    return roofline_table(roofs, NULL, 0, style, output, status);
}

static bool print_peaks(const struct peaks *peaks, struct output *output, struct status *status) {
    struct section_style style = bench_style(peaks->line, output);
    if (bench_wants_json(peaks->line)) {
        print_json(peaks, output);
        return true;
    }
    for (unsigned i = 0; i < peaks->count; i++) {
        if (i > 0 && style.style != TABLE_CSV)
            output_printf(output, "\n");
        style.no_header = i > 0;
        if (!print_device(&peaks->roofs[i], &style, output, status))
            return false;
    }
    return true;
}

/* Files that cannot be written should not cost half a minute of measuring first. */
static bool try_files(const struct peaks *peaks, struct status *status) {
    return each_plot(peaks, try_plot, status) &&
           output_check(command_value(peaks->line, "output"), command_flag(peaks->line, "force"),
                        status);
}

static bool write_files(const struct peaks *peaks, struct status *status) {
    struct output output;
    if (!each_plot(peaks, draw, status) ||
        !output_open(&output, command_value(peaks->line, "output"),
                     command_flag(peaks->line, "force"), status))
        return false;
    bool ok = print_peaks(peaks, &output, status);
    return output_close(&output, ok, status);
}

static int run_peaks(const struct command_line *line) {
    struct status status = {0};
    struct peaks peaks = {.line = line};
    bool ok = bench_plot(line, &status) && bench_devices(line, &peaks.names, &status) &&
              open_devices(&peaks, &status) && try_files(&peaks, &status) &&
              measure_roofs(&peaks, &status) && write_files(&peaks, &status);
    close_devices(&peaks);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"device", 'd', "DEVICE[,DEVICE...]",
     "devices: cpu, cuda, opencl:1, or all (default: the first GPU)"},
    {"refresh", 0, NULL, "measure again instead of using cached results"},
    {"quick", 0, NULL, "take a few seconds, less precisely"},
    {"plot", 0, "FILE.svg", "draw the roofline, as SVG"},
    {"format", 0, "text|md|json|csv", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write to FILE instead of standard output"},
    {"force", 'f', NULL, "overwrite existing files"},
    {"quiet", 'q', NULL, "no progress line"},
    {0},
};

const struct command command_peaks = {
    .name = "peaks",
    .arguments = "",
    .summary = "Measure the limits of a device and its roofline",
    .details = "Measures the roofs of a device: memory and cache bandwidth, arithmetic by type "
               "with matrix units listed separately, the cost of launches, graphs and "
               "synchronization, and transfers by size. Each is printed with its spread, the "
               "vendor's figure where the driver reports one, and how it was measured, or the "
               "reason why it was not. This takes half a minute once: the results are cached by "
               "device, driver and version of ridge, and other commands use them.",
    .examples = "ridge peaks\tthe default device\n"
                "ridge peaks -d cpu,cuda\tboth devices\n"
                "ridge peaks --plot roofline.svg\tthe roofline as a picture\n"
                "ridge peaks --refresh\tafter a change of clocks or cooling",
    .options = options,
    .run = run_peaks,
};
