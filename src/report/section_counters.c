/* What the GPU's hardware counters show about each kernel, with targets: how busy the units were,
 * and how kernels used memory and warps. */
#include <string.h>

#include "base/array.h"
#include "base/format.h"
#include "report/sections.h"

static const struct kernel_counters *counters_of(const void *source) {
    return &((const struct report_source *)source)->report->kernel_counters;
}

static const void *kernel_row(const void *source, size_t index) {
    const struct kernel_counters *counters = counters_of(source);
    return index < counters->kernel_count ? &counters->kernels[index] : NULL;
}

static bool any_kernel_has(const void *source, enum kernel_figure figure) {
    const struct kernel_counters *counters = counters_of(source);
    for (size_t i = 0; i < counters->kernel_count; i++)
        if (counters->kernels[i].figures.known >> figure & 1)
            return true;
    return false;
}

static struct value number(const struct measured_kernel *kernel, enum kernel_figure figure) {
    double value;
    bool known = kernel_figure(&kernel->figures, figure, &value);
    return value_if(known, value_real(value));
}

static struct value amount(const struct measured_kernel *kernel, enum kernel_figure figure) {
    double value;
    bool known = kernel_figure(&kernel->figures, figure, &value) && value >= 0 && value < 1e18;
    return value_if(known, value_integer(known ? (int64_t)(value + 0.5) : 0));
}

static struct value limiter(const struct measured_kernel *kernel) {
    const char *name = kernel_occupancy_limiter(&kernel->figures);
    double theoretical;
    if (kernel_figure(&kernel->figures, KERNEL_THEORETICAL_FIGURE, &theoretical) &&
        theoretical >= 1)
        return value_none();
    return value_if(name != NULL, value_string(name ? name : ""));
}

static struct value sectors(const struct measured_kernel *kernel, bool stores) {
    double value = 0;
    bool known = kernel_sectors_per_request(&kernel->figures, stores, &value);
    return value_if(known, value_real(value));
}

static struct value flops(const struct measured_kernel *kernel) {
    double value = 0;
    bool known = kernel_figures_flops(&kernel->figures, &value);
    return value_if(known, value_real(value));
}

static struct value stall(const struct measured_kernel *kernel, bool with_share,
                          struct buffer *words) {
    unsigned reason;
    double share;
    char text[FORMAT_SIZE];
    if (!kernel_top_stall(&kernel->figures, &reason, &share))
        return value_unknown();
    buffer_string(words, stall_name(reason));
    if (with_share)
        buffer_printf(words, " %s", format_percent(share, text));
    return value_text(buffer_as_text(words));
}

static struct value stall_share(const struct measured_kernel *kernel) {
    unsigned reason;
    double share = 0;
    bool known = kernel_top_stall(&kernel->figures, &reason, &share);
    return value_if(known, value_real(share));
}

#define KERNEL(name, ...) REPORT_VALUE(name, struct measured_kernel, __VA_ARGS__)
#define SHARE(name, FIGURE) KERNEL(name, number(at, KERNEL_##FIGURE##_FIGURE))
KERNEL(kernel_name, value_text(at->short_name))
KERNEL(kernel_full_name, report_text(of, at->kernel))
KERNEL(kernel_launches, value_integer((int64_t)at->launches))
KERNEL(kernel_duration, amount(at, KERNEL_DURATION_FIGURE))
SHARE(kernel_sm, SM)
SHARE(kernel_memory, MEMORY)
SHARE(kernel_dram, DRAM)
SHARE(kernel_l1_hits, L1_HITS)
SHARE(kernel_l2_hits, L2_HITS)
SHARE(kernel_occupancy, OCCUPANCY)
SHARE(kernel_theoretical, THEORETICAL)
SHARE(kernel_tensor, TENSOR)
SHARE(kernel_warps, WARPS)
SHARE(kernel_branches, BRANCHES)
KERNEL(kernel_limiter, limiter(at))
KERNEL(kernel_bytes, amount(at, KERNEL_DRAM_BYTES_FIGURE))
KERNEL(kernel_load_sectors, sectors(at, false))
KERNEL(kernel_store_sectors, sectors(at, true))
KERNEL(kernel_conflicts, amount(at, KERNEL_BANK_CONFLICTS_FIGURE))
KERNEL(kernel_spills, amount(at, KERNEL_LOCAL_ACCESSES_FIGURE))
KERNEL(kernel_registers, amount(at, KERNEL_REGISTERS_FIGURE))
KERNEL(kernel_stall, stall(at, true, words))
KERNEL(kernel_stall_name, stall(at, false, words))
KERNEL(kernel_stall_share, stall_share(at))
KERNEL(kernel_flop_count, flops(at))

static const struct column use_columns[] = {
    {NULL, "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, kernel_name},
    {NULL, "launches", UNIT_COUNT, COLUMN_RANK(3), kernel_launches},
    {NULL, "time", UNIT_NS, 0, kernel_duration},
    {NULL, "SM", UNIT_SHARE, 0, kernel_sm},
    {NULL, "memory", UNIT_SHARE, 0, kernel_memory},
    {NULL, "DRAM", UNIT_SHARE, COLUMN_RANK(1), kernel_dram},
    {NULL, "L1 hits", UNIT_SHARE, COLUMN_RANK(2), kernel_l1_hits},
    {NULL, "L2 hits", UNIT_SHARE, COLUMN_RANK(2), kernel_l2_hits},
    {NULL, "tensor", UNIT_SHARE, COLUMN_RANK(1), kernel_tensor},
    {NULL, "occupancy", UNIT_SHARE, 0, kernel_occupancy},
    {NULL, "of at most", UNIT_SHARE, COLUMN_RANK(2), kernel_theoretical},
    {NULL, "limited by", UNIT_TEXT, COLUMN_RANK(1), kernel_limiter},
    {0},
};

/* "Targets: occupancy above 75 %, memory above 80 %." of the figures in the table. */
static bool write_targets(const void *source, const struct column *columns, struct buffer *line) {
    size_t start = line->length;
    for (const struct column *column = columns; column->get; column++)
        for (size_t i = 0; i < kernel_target_count; i++) {
            const struct kernel_target *target = &kernel_targets[i];
            if (strcmp(column->title, target->title) != 0 ||
                !any_kernel_has(source, target->figure))
                continue;
            buffer_string(line, line->length == start ? "Targets: " : ", ");
            if (target->above)
                buffer_printf(line, "%s above %.0f %%", target->title, 100 * target->target);
            else
                buffer_printf(line, "no %s", target->title);
        }
    if (line->length == start)
        return false;
    buffer_string(line, ".");
    return true;
}

static bool use_targets(const void *source, size_t index, struct buffer *line) {
    return index == 0 && write_targets(source, use_columns, line);
}

static bool use_note(const void *source, struct buffer *line) {
    buffer_string(line, "shares of the hardware's peak");
    return kernel_row(source, 0) != NULL;
}

const struct section section_kernel_use = {.key = "kernel_use",
                                           .title = "GPU counters: units",
                                           .columns = use_columns,
                                           .row = kernel_row,
                                           .note = use_note,
                                           .sentence = use_targets,
                                           .rows = "kernels"};

static const struct column access_columns[] = {
    {NULL, "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, kernel_name},
    {NULL, "DRAM bytes", UNIT_BYTES, 0, kernel_bytes},
    {NULL, "sectors/load", UNIT_NUMBER, 0, kernel_load_sectors},
    {NULL, "sectors/store", UNIT_NUMBER, COLUMN_RANK(2), kernel_store_sectors},
    {NULL, "bank conflicts", UNIT_COUNT, 0, kernel_conflicts},
    {NULL, "spills", UNIT_COUNT, 0, kernel_spills},
    {NULL, "warp efficiency", UNIT_SHARE, 0, kernel_warps},
    {NULL, "uniform branches", UNIT_SHARE, COLUMN_RANK(2), kernel_branches},
    {NULL, "registers", UNIT_COUNT, COLUMN_RANK(3), kernel_registers},
    {NULL, "top stall", UNIT_TEXT, COLUMN_RANK(1), kernel_stall},
    {0},
};

static bool access_targets(const void *source, size_t index, struct buffer *line) {
    return index == 0 && write_targets(source, access_columns, line);
}

static bool access_note(const void *source, struct buffer *line) {
    static const enum kernel_figure shown[] = {
        KERNEL_DRAM_BYTES_FIGURE,     KERNEL_LOAD_REQUESTS_FIGURE, KERNEL_BANK_CONFLICTS_FIGURE,
        KERNEL_LOCAL_ACCESSES_FIGURE, KERNEL_WARPS_FIGURE,         KERNEL_BRANCHES_FIGURE};
    bool any = false;
    for (size_t i = 0; i < ARRAY_COUNT(shown); i++)
        any = any || any_kernel_has(source, shown[i]);
    buffer_string(line, "a warp that loads 32 consecutive floats takes 4 sectors");
    return any;
}

const struct section section_kernel_access = {.key = "kernel_access",
                                              .title = "GPU counters: memory access and warps",
                                              .columns = access_columns,
                                              .row = kernel_row,
                                              .note = access_note,
                                              .sentence = access_targets,
                                              .rows = "kernels"};

/* ---- Lines ---- */

#define LINE(name, ...) REPORT_VALUE(name, struct kernel_line, __VA_ARGS__)
#define MEASURED (&of->report->kernel_counters.kernels[at->kernel])

static const void *line_row(const void *source, size_t index) {
    const struct kernel_lines *lines = &counters_of(source)->lines;
    return index < lines->count ? &lines->items[index] : NULL;
}

static struct value line_place(const void *source, const void *row, struct buffer *words) {
    const struct report_source *of = source;
    struct status status = {0};
    if (!kernel_line_format(of->report->model.trace, row, words, &status))
        return value_unknown();
    return value_text(buffer_as_text(words));
}

static struct value line_source_file(const void *source, const void *row, struct buffer *words) {
    const struct kernel_line *at = row;
    struct value file = report_text(source, at->file);
    (void)words;
    return text_is(file.text, METRIC_NO_FILE) ? value_none() : file;
}

static struct value line_count(double value) {
    return value > 0 && value < 1e18 ? value_integer((int64_t)(value + 0.5)) : value_none();
}

static struct value line_stall(const struct kernel_line *line) {
    unsigned reason;
    return kernel_line_top_stall(line, &reason) ? value_string(stall_name(reason)) : value_none();
}

LINE(line_kernel, value_text(MEASURED->short_name))
LINE(line_function, report_text(of, at->function))
LINE(line_number, at->line ? value_integer(at->line) : value_none())
LINE(line_offset, value_integer(at->offset))
LINE(line_stalls, at->stall_share > 0 ? value_real(at->stall_share) : value_none())
LINE(line_samples, line_count(kernel_line_cost(at, LINE_STALLS)))
LINE(line_reason, line_stall(at))
LINE(line_excess, line_count(kernel_line_cost(at, LINE_UNCOALESCED)))
LINE(line_conflicts, line_count(kernel_line_cost(at, LINE_CONFLICTS)))
LINE(line_spills, line_count(kernel_line_cost(at, LINE_SPILLS)))
LINE(line_branches, line_count(kernel_line_cost(at, LINE_DIVERGENCE)))

#define LINE_EVENT(ID, key, counter) LINE(event_##key, line_count(at->event[LINE_##ID##_EVENT]))
LINE_EVENTS(LINE_EVENT)
#define LINE_EVENT_COLUMN(ID, key, counter) {#key, NULL, UNIT_COUNT, 0, event_##key},
static const struct column line_columns[] = {
    {"kernel", "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, line_kernel},
    {"file", NULL, UNIT_TEXT, 0, line_source_file},
    {"function", NULL, UNIT_TEXT, 0, line_function},
    {"offset", NULL, UNIT_ID, 0, line_offset},
    {NULL, "line", UNIT_TEXT, 0, line_place},
    {"line", NULL, UNIT_ID, 0, line_number},
    {"stall_samples", NULL, UNIT_COUNT, 0, line_samples},
    {"stall_share", "stalls", UNIT_SHARE, 0, line_stalls},
    {"top_stall", "top stall", UNIT_TEXT, COLUMN_RANK(1), line_reason},
    {"excess_sectors", "excess sectors", UNIT_COUNT, 0, line_excess},
    {"bank_conflicts", "bank conflicts", UNIT_COUNT, 0, line_conflicts},
    {NULL, "local sectors", UNIT_COUNT, COLUMN_RANK(2), line_spills},
    {NULL, "divergent branches", UNIT_COUNT, COLUMN_RANK(3), line_branches},
    LINE_EVENTS(LINE_EVENT_COLUMN) /* clang-format off */
    {0}, /* clang-format on */
};

static bool line_note(const void *source, struct buffer *line) {
    buffer_string(line, "excess: beyond what the accesses of a line need");
    return line_row(source, 0) != NULL;
}

const struct section section_kernel_lines = {.key = "kernel_lines",
                                             .title = "GPU counters: lines of kernels",
                                             .columns = line_columns,
                                             .row = line_row,
                                             .note = line_note,
                                             .rows = "lines"};

/* All figures, for programs. */
#define FIGURE(ID, key, merge) KERNEL(figure_##key, number(at, KERNEL_##ID##_FIGURE))
KERNEL_FIGURES(FIGURE)
KERNEL(limiter_name, limiter(at))

#define FIGURE_COLUMN(ID, key, merge) {#key, NULL, UNIT_NUMBER, 0, figure_##key},
static const struct column figure_columns[] = {
    {"name", NULL, UNIT_TEXT, 0, kernel_name},
    {"full_name", NULL, UNIT_TEXT, 0, kernel_full_name},
    {"launches", NULL, UNIT_COUNT, 0, kernel_launches},
    KERNEL_FIGURES(FIGURE_COLUMN) /* clang-format off */
    {"load_sectors_per_request", NULL, UNIT_NUMBER, 0, kernel_load_sectors},
    {"store_sectors_per_request", NULL, UNIT_NUMBER, 0, kernel_store_sectors},
    {"flops", NULL, UNIT_NUMBER, 0, kernel_flop_count},
    {"occupancy_limiter", NULL, UNIT_TEXT, 0, limiter_name},
    {"top_stall", NULL, UNIT_TEXT, 0, kernel_stall_name},
    {"top_stall_share", NULL, UNIT_SHARE, 0, kernel_stall_share},
    {0}, /* clang-format on */
};

const struct section section_kernel_counters = {.key = "kernel_counters",
                                                .title = "GPU counters",
                                                .columns = figure_columns,
                                                .row = kernel_row,
                                                .rows = "kernels"};
