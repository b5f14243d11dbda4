/* Kernels by time, and how near each is to what its device can do. A rate is that of the kernels
 * whose work is known, over their own time. */
#include "analysis/limits.h"
#include "base/format.h"
#include "report/limits.h"
#include "report/sections.h"
#include "report/wording.h"

static const void *kernel_row(const void *source, size_t index) {
    const struct report_source *of = source;
    const struct kernels *kernels = &of->device->kernels;
    return index < kernels->group_count ? &kernels->groups[index] : NULL;
}

static struct value occupancy_limit(const struct kernel_group *group) {
    return value_if(kernel_occupancy_known(&group->occupancy),
                    value_string(occupancy_limit_name(kernel_occupancy_limit(&group->occupancy))));
}

/* "62.5 %, registers" */
static struct value occupancy_words(const struct kernel_group *group, struct buffer *words) {
    char text[WORDING_OCCUPANCY_SIZE];
    if (!kernel_occupancy_known(&group->occupancy))
        return value_unknown();
    buffer_string(words, wording_occupancy(&group->occupancy, text));
    return value_text(buffer_as_text(words));
}

/* A rate, or what follows from one: 0 means unknown. */
static struct value positive(double value) {
    return value_if(value > 0, value_real(value));
}

static struct value intensity(const struct kernel_limits *limits) {
    return value_if(kernel_limits_byte_rate(limits) > 0 && kernel_limits_flop_rate(limits) > 0,
                    value_real(kernel_limits_intensity(limits)));
}

#define KERNEL(name, ...) REPORT_VALUE(name, struct kernel_group, __VA_ARGS__)
KERNEL(kernel_name, value_text(at->short_name))
KERNEL(kernel_full_name, report_text(of, at->full_name))
KERNEL(kernel_full_names, value_integer((int64_t)at->full_names))
KERNEL(kernel_count, value_integer((int64_t)at->count))
KERNEL(kernel_total, value_integer(at->total))
KERNEL(kernel_mean, value_ratio(at->total, (int64_t)at->count))
KERNEL(kernel_median, value_integer(at->median))
KERNEL(kernel_min, value_integer(at->min))
KERNEL(kernel_max, value_integer(at->max))
KERNEL(kernel_share, value_real(wording_share(at->total, of->device->kernels.total)))
KERNEL(kernel_occupancy, value_if(kernel_occupancy_known(&at->occupancy),
                                  value_real(kernel_occupancy_mean(&at->occupancy))))
KERNEL(kernel_occupancy_limit_name, occupancy_limit(at))
KERNEL(kernel_occupancy_words, occupancy_words(at, words))
KERNEL(kernel_bytes, positive(at->limits.bytes))
KERNEL(kernel_flops, positive(at->limits.flops))
KERNEL(kernel_byte_rate, positive(kernel_limits_byte_rate(&at->limits)))
KERNEL(kernel_flop_rate, positive(kernel_limits_flop_rate(&at->limits)))
KERNEL(kernel_intensity, intensity(&at->limits))
KERNEL(kernel_roof, positive(at->limits.roof))
KERNEL(kernel_roof_time, value_if(at->limits.roof > 0, value_real((double)at->limits.roof_time)))
KERNEL(kernel_of_roof,
       value_if(at->limits.roof > 0, value_real(kernel_limits_reached(&at->limits))))
KERNEL(kernel_bound, value_string(kernel_bound_name(kernel_limits_bound(&at->limits))))
KERNEL(kernel_known_bound,
       value_if(kernel_limits_bound(&at->limits) != BOUND_UNKNOWN,
                value_string(kernel_bound_name(kernel_limits_bound(&at->limits)))))

static const struct column kernel_columns[] = {
    REPORT_DEVICE_COLUMNS,
    {"name", "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, kernel_name},
    {"full_name", NULL, UNIT_TEXT, 0, kernel_full_name},
    {"full_names", NULL, UNIT_COUNT, 0, kernel_full_names},
    {"share", "share", UNIT_SHARE, 0, kernel_share},
    {"total_ns", "total", UNIT_NS, 0, kernel_total},
    {"count", "calls", UNIT_COUNT, 0, kernel_count},
    {"mean_ns", "mean", UNIT_NS_MEAN, COLUMN_WIDE, kernel_mean},
    {"median_ns", "median", UNIT_NS, 0, kernel_median},
    {"min_ns", "min", UNIT_NS, COLUMN_WIDE, kernel_min},
    {"max_ns", "max", UNIT_NS, COLUMN_WIDE, kernel_max},
    {NULL, "theoretical occupancy", UNIT_TEXT, COLUMN_WIDE, kernel_occupancy_words},
    {"occupancy", NULL, UNIT_SHARE, 0, kernel_occupancy},
    {"occupancy_limit", NULL, UNIT_TEXT, 0, kernel_occupancy_limit_name},
    {"bytes", NULL, UNIT_NUMBER, 0, kernel_bytes},
    {"flops", NULL, UNIT_NUMBER, 0, kernel_flops},
    {"bytes_per_s", NULL, UNIT_BYTES_PER_S, 0, kernel_byte_rate},
    {"flops_per_s", NULL, UNIT_FLOP_PER_S, 0, kernel_flop_rate},
    {"flops_per_byte", NULL, UNIT_NUMBER, 0, kernel_intensity},
    {"roof_ns", NULL, UNIT_NS_MEAN, 0, kernel_roof},
    {"roof_time_ns", NULL, UNIT_NS_MEAN, 0, kernel_roof_time},
    {"of_roof", "of roof", UNIT_SHARE, 0, kernel_of_roof},
    {"bound", NULL, UNIT_TEXT, 0, kernel_bound},
    {0},
};

static bool kernels_note(const void *source, struct buffer *line) {
    const struct report_source *of = source;
    const struct kernels *kernels = &of->device->kernels;
    char text[FORMAT_PLURAL_SIZE];
    if (kernels->group_count == 0)
        return false;
    buffer_string(line, format_plural(kernels->group_count, "name", "names", text));
    if (kernels->variant_count > kernels->group_count)
        buffer_printf(line, ", %s",
                      format_plural(kernels->variant_count, "variant", "variants", text));
    return true;
}

const struct section section_kernels = {.key = "kernels",
                                        .title = "Kernels",
                                        .columns = kernel_columns,
                                        .row = kernel_row,
                                        .note = kernels_note,
                                        .rows = "kernels"};

static const struct column limit_columns[] = {
    {"name", "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, kernel_name},
    {"of_roof", "of roof", UNIT_SHARE, 0, kernel_of_roof},
    {"roof_ns", "at roof", UNIT_NS_MEAN, 0, kernel_roof},
    {"bytes_per_s", "bytes/s", UNIT_BYTES_PER_S, 0, kernel_byte_rate},
    {"flops_per_s", "FLOP/s", UNIT_FLOP_PER_S, 0, kernel_flop_rate},
    {"flops_per_byte", "FLOP/byte", UNIT_NUMBER, COLUMN_WIDE, kernel_intensity},
    {"bound", "bound", UNIT_TEXT, 0, kernel_known_bound},
    {0},
};

static bool limits_note(const void *source, struct buffer *line) {
    const struct report_source *of = source;
    if (!limits_known(&of->device->kernels.limits))
        return false;
    limits_summary(&of->device->kernels, &of->report->limits[of->device->id], line);
    return true;
}

static bool limits_sentence(const void *source, size_t index, struct buffer *line) {
    const struct report_source *of = source;
    size_t before = line->length;
    if (index > 0)
        return false;
    buffer_string(line, "Roofs ");
    limits_roofs(&of->report->limits[of->device->id], line);
    if (line->length == before + 6)
        return false;
    buffer_string(line, ".");
    return true;
}

const struct section section_limits = {.key = "limits",
                                       .title = "Limits",
                                       .columns = limit_columns,
                                       .row = kernel_row,
                                       .note = limits_note,
                                       .sentence = limits_sentence,
                                       .rows = "kernels"};

/* Full names, for programs that read JSON. */
static const void *variant_row(const void *source, size_t index) {
    const struct report_source *of = source;
    const struct kernels *kernels = &of->device->kernels;
    return index < kernels->variant_count ? &kernels->variants[index] : NULL;
}
#define VARIANT(name, ...) REPORT_VALUE(name, struct kernel_variant, __VA_ARGS__)
VARIANT(variant_full_name, report_text(of, at->name))
VARIANT(variant_name, value_text(of->device->kernels.groups[at->group].short_name))
VARIANT(variant_count, value_integer((int64_t)at->count))
VARIANT(variant_total, value_integer(at->total))

static const struct column variant_columns[] = {
    {"full_name", NULL, UNIT_TEXT, 0, variant_full_name},
    {"name", NULL, UNIT_TEXT, 0, variant_name},
    {"count", NULL, UNIT_COUNT, 0, variant_count},
    {"total_ns", NULL, UNIT_NS, 0, variant_total},
    {0},
};

const struct section section_kernel_variants = {.key = "kernel_variants",
                                                .title = "Kernel variants",
                                                .columns = variant_columns,
                                                .row = variant_row};
