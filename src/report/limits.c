/* A rate is shown for the kernels whose work is known, over their own time; what is not known is
 * shown as absent, never as nought.
 */
#include "report/limits.h"

#include <stdio.h>

#include "report/wording.h"

static const char *const source_words[] = {
    [LIMIT_SEEN] = "seen in this trace",
    [LIMIT_STATED] = "stated by its maker",
    [LIMIT_MEASURED] = "measured",
};
static const char *const source_names[] = {
    [LIMIT_SEEN] = "seen", [LIMIT_STATED] = "stated", [LIMIT_MEASURED] = "measured"};

bool limits_known(const struct kernel_limits *limits) {
    return limits->bytes > 0 || limits->flops > 0;
}

static void cell(struct table *table, const char *text, bool known) {
    table_cell(table, known ? text_of(text) : TEXT("-"));
}

void limits_cells(struct table *table, const struct kernel_limits *limits, bool intensity) {
    char text[FORMAT_SIZE];
    enum kernel_bound bound = kernel_limits_bound(limits);
    double bytes = kernel_limits_byte_rate(limits), flops = kernel_limits_flop_rate(limits);
    cell(table, format_percent(kernel_limits_reached(limits), text), limits->roof > 0);
    cell(table, format_duration((int64_t)(limits->roof + 0.5), text), limits->roof > 0);
    cell(table, format_rate(bytes, text), bytes > 0);
    cell(table, format_operations(flops, text), flops > 0);
    if (intensity) {
        snprintf(text, sizeof text, "%.3g", kernel_limits_intensity(limits));
        cell(table, text, bytes > 0 && flops > 0);
    }
    cell(table, kernel_bound_name(bound), bound != BOUND_UNKNOWN);
}

/* The roofs that kernels are held against. */
static const struct {
    enum device_limit limit;
    const char *name;
} shown[] = {
    {DEVICE_LIMIT_MEMORY, "memory"},           {DEVICE_LIMIT_F32, "f32"},
    {DEVICE_LIMIT_MATRIX_F32, "tf32 matrix"},  {DEVICE_LIMIT_MATRIX_F16, "f16 matrix"},
    {DEVICE_LIMIT_MATRIX_BF16, "bf16 matrix"},
};

static void add_roofs(const struct limits *limits, enum limit_source source, struct buffer *words) {
    const char *before = "";
    char text[FORMAT_SIZE];
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        if (limits->source[shown[i].limit] != source)
            continue;
        if (!*before)
            buffer_printf(words, "%s%s: ", words->length ? "; " : "", source_words[source]);
        double value = limits->of[shown[i].limit];
        buffer_printf(words, "%s%s %s", before, shown[i].name,
                      shown[i].limit == DEVICE_LIMIT_MEMORY ? format_rate(value, text)
                                                            : format_operations(value, text));
        before = ", ";
    }
}

void limits_roofs(const struct limits *limits, struct buffer *words) {
    for (unsigned source = LIMIT_MEASURED; source > LIMIT_UNKNOWN; source--)
        add_roofs(limits, source, words);
}

void limits_summary(const struct kernels *kernels, const struct limits *limits,
                    struct buffer *words) {
    const struct kernel_limits *all = &kernels->limits;
    char share[FORMAT_SIZE], reached[FORMAT_SIZE];
    if (all->roof_time > 0) {
        buffer_printf(words, "%s of the kernel time has a known roof, and is at %s of it",
                      format_percent(wording_share(all->roof_time, kernels->total), share),
                      format_percent(kernel_limits_reached(all), reached));
        return;
    }
    buffer_string(words, "the roofs are not known");
    if (limits->source[DEVICE_LIMIT_MEMORY] != LIMIT_MEASURED)
        buffer_string(words, "; 'ridge peaks' on its machine measures them");
}

static void member(struct json *json, const char *key, double value, bool known) {
    json_key(json, key);
    if (known)
        json_number(json, value);
    else
        json_null(json);
}

void limits_members(struct json *json, const struct kernel_limits *limits) {
    double bytes = kernel_limits_byte_rate(limits), flops = kernel_limits_flop_rate(limits);
    member(json, "bytes", limits->bytes, limits->bytes > 0);
    member(json, "flops", limits->flops, limits->flops > 0);
    member(json, "bytes_per_s", bytes, bytes > 0);
    member(json, "flops_per_s", flops, flops > 0);
    member(json, "flops_per_byte", kernel_limits_intensity(limits), bytes > 0 && flops > 0);
    member(json, "roof_ns", limits->roof, limits->roof > 0);
    member(json, "roof_time_ns", (double)limits->roof_time, limits->roof > 0);
    member(json, "of_roof", kernel_limits_reached(limits), limits->roof > 0);
    json_member_string(json, "bound", kernel_bound_name(kernel_limits_bound(limits)));
}

void limits_of_device(struct json *json, const struct limits *limits) {
    json_key(json, "limits");
    json_begin_object(json);
    for (unsigned limit = 0; limit < DEVICE_LIMIT_COUNT; limit++) {
        if (limits->source[limit] == LIMIT_UNKNOWN)
            continue;
        json_key(json, device_limit_key(limit));
        json_begin_object(json);
        json_member_number(json, "value", limits->of[limit]);
        json_member_string(json, "source", source_names[limits->source[limit]]);
        json_end_object(json);
    }
    json_end_object(json);
}

const char limits_csv_head[] = ",bytes,flops,bytes_per_s,flops_per_s,flops_per_byte,roof_ns,"
                               "roof_time_ns,of_roof,bound";

static void field(struct output *output, double value, bool known) {
    if (known)
        output_printf(output, ",%.9g", value);
    else
        output_write(output, ",", 1);
}

void limits_csv(struct output *output, const struct kernel_limits *limits) {
    double bytes = kernel_limits_byte_rate(limits), flops = kernel_limits_flop_rate(limits);
    field(output, limits->bytes, limits->bytes > 0);
    field(output, limits->flops, limits->flops > 0);
    field(output, bytes, bytes > 0);
    field(output, flops, flops > 0);
    field(output, kernel_limits_intensity(limits), bytes > 0 && flops > 0);
    field(output, limits->roof, limits->roof > 0);
    field(output, (double)limits->roof_time, limits->roof > 0);
    field(output, kernel_limits_reached(limits), limits->roof > 0);
    output_printf(output, ",%s", kernel_bound_name(kernel_limits_bound(limits)));
}
