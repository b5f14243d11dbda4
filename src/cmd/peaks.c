/* `ridge peaks`: how fast can this machine's devices be at all? Measures their roofs, or finds
 * those measured before, and draws the roofline. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "bench/print/print.h"
#include "bench/roofline/roofline.h"
#include "cmd/bench_arguments.h"
#include "cmd/command.h"
#include "cmd/interrupt.h"
#include "cmd/progress.h"
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

static void say(void *context, const char *what) {
    const struct measuring *measuring = context;
    char line[160];
    snprintf(line, sizeof line, "measuring %s: %s", measuring->device, what);
    progress_say(measuring->progress, line);
}

static bool is_open(const struct peaks *peaks, const char *name) {
    for (unsigned i = 0; i < peaks->count; i++)
        if (strcmp(peaks->names.names[i], name) == 0)
            return true;
    return false;
}

/* All are opened first: a name that is not there should not cost the time of those before it. One
 * that was given twice is measured once. */
static bool open_devices(struct peaks *peaks, struct status *status) {
    for (unsigned i = 0; peaks->names.names[i]; i++) {
        const char *name = peaks->names.names[i];
        if (is_open(peaks, name))
            continue;
        ridge_device *device = ridge_device_open(name);
        if (!device)
            return status_fail(status, STATUS_UNSUPPORTED, "%s", ridge_error_message());
        peaks->names.names[peaks->count] = name;
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
        ok = roofs_get(peaks->devices[i], quick, refresh, say, &measuring, &peaks->roofs[i],
                       status) ||
             status_context(status, "%s", peaks->names.names[i]);
    }
    progress_end(progress);
    return ok;
}

/* ---- Drawing ---------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcasecmp(path + length - size, ending) == 0;
}

static bool check_plot(const struct command_line *line, struct status *status) {
    const char *path = command_value(line, "plot");
    if (!path || ends_in(path, ".svg"))
        return true;
    if (ends_in(path, ".png"))
        return status_fail(status, STATUS_USAGE,
                           "--plot writes SVG; give it %.*s.svg and make a PNG of that with "
                           "rsvg-convert, Inkscape or a browser",
                           (int)strlen(path) - 4, path);
    return status_fail(status, STATUS_USAGE, "--plot '%s': the name must end in .svg", path);
}

/* Of several devices each has its own file: roofs.svg becomes roofs-cuda-0.svg. */
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

typedef bool write_file(const struct roofs *roofs, struct output *output, struct status *status);

static bool draw(const struct roofs *roofs, struct output *output, struct status *status) {
    return roofline_svg(roofs, NULL, 0, output, status);
}

/* NULL in place of `write` only finds out whether the files could be written. */
static bool each_plot(const struct peaks *peaks, write_file *write, struct status *status) {
    struct buffer path = {0};
    bool ok = true;
    for (unsigned i = 0; ok && command_flag(peaks->line, "plot") && i < peaks->count; i++) {
        struct output output;
        ok = plot_path(peaks, i, &path, status) &&
             interrupt_open(&output, path.data, command_flag(peaks->line, "force"), status);
        if (ok && write) {
            ok = write(&peaks->roofs[i], &output, status);
            ok = interrupt_close(&output, ok, status);
        } else if (ok) {
            interrupt_close(&output, false, status);
        }
    }
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

static bool print_device(const struct roofs *roofs, const struct print_style *style,
                         struct output *output, struct status *status) {
    bool markdown = style->style == TABLE_MARKDOWN;
    if (!print_roofs(roofs, style, output, status))
        return false;
    if (style->style == TABLE_CSV)
        return true;
    output_printf(output, markdown ? "\n```\n" : "\n");
    if (!roofline_text(roofs, NULL, 0, style->width, !markdown && !terminal_shows_utf8(), output,
                       status))
        return false;
    if (markdown)
        output_printf(output, "```\n");
    return true;
}

static bool print_peaks(const struct peaks *peaks, struct output *output, struct status *status) {
    const char *format = command_value(peaks->line, "format");
    struct print_style style = {.width = terminal_columns(output)};
    if (command_flag(peaks->line, "json") || (format && strcmp(format, "json") == 0)) {
        print_json(peaks, output);
        return true;
    }
    if (format && strcmp(format, "md") == 0)
        style.style = TABLE_MARKDOWN;
    else if (format && strcmp(format, "csv") == 0)
        style.style = TABLE_CSV;
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
    struct output output;
    if (!each_plot(peaks, NULL, status) ||
        !interrupt_open(&output, command_value(peaks->line, "output"),
                        command_flag(peaks->line, "force"), status))
        return false;
    interrupt_close(&output, false, status);
    return true;
}

static bool write_files(const struct peaks *peaks, struct status *status) {
    struct output output;
    if (!each_plot(peaks, draw, status) ||
        !interrupt_open(&output, command_value(peaks->line, "output"),
                        command_flag(peaks->line, "force"), status))
        return false;
    bool ok = print_peaks(peaks, &output, status);
    return interrupt_close(&output, ok, status);
}

static int run(const struct command_line *line) {
    struct status status = {0};
    struct peaks peaks = {.line = line};
    bool ok = check_plot(line, &status) && bench_devices(line, &peaks.names, &status) &&
              open_devices(&peaks, &status) && try_files(&peaks, &status) &&
              measure_roofs(&peaks, &status) && write_files(&peaks, &status);
    close_devices(&peaks);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"device", 'd', "DEVICE[,DEVICE...]", "of these: cpu, cuda, opencl:1 (default: the first GPU)"},
    {"refresh", 0, NULL, "measure again what was measured before"},
    {"quick", 0, NULL, "a few seconds, with less certainty"},
    {"plot", 0, "FILE.svg", "draw the roofline into this file"},
    {"format", 0, "text|md|json|csv", "how to print it (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {"output", 'o', "FILE", "write there instead of to standard output"},
    {"force", 'f', NULL, "replace files that exist"},
    {"quiet", 'q', NULL, "no progress line"},
    {0},
};

const struct command command_peaks = {
    .name = "peaks",
    .arguments = "",
    .summary = "Measure how fast a device can be at all, and draw its roofline",
    .details =
        "Measures the roofs of a device: bandwidth of memory and cache, arithmetic by type with "
        "matrix units apart, what launches, graphs and waiting cost, transfers by size. Each with "
        "its spread, beside what the vendor states where the driver tells it, and how it was "
        "measured; what was not measured says why. Half a minute, once: the results are kept for "
        "this device, driver and version of ridge, and every other command that needs them finds "
        "them.",
    .examples = "ridge peaks\tof the device that ridge would choose\n"
                "ridge peaks -d cpu,cuda\tof both\n"
                "ridge peaks --plot roofline.svg\ta picture for a slide\n"
                "ridge peaks --refresh\tafter a change of clocks or cooling",
    .options = options,
    .run = run,
};
