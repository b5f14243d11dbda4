/* A rate is shown for the kernels whose work is known, over their own time; what is not known is
 * shown as absent, never as nought.
 */
#include "report/limits.h"

#include <stdio.h>

#include "base/array.h"
#include "report/wording.h"

static const char *const source_words[] = {
    [LIMIT_OBSERVED] = "seen in this trace",
    [LIMIT_PUBLISHED] = "attainable of the published peaks",
    [LIMIT_STATED] = "stated by its driver",
    [LIMIT_MEASURED] = "measured",
};
static const char *const source_names[] = {[LIMIT_OBSERVED] = "seen",
                                           [LIMIT_PUBLISHED] = "published",
                                           [LIMIT_STATED] = "stated",
                                           [LIMIT_MEASURED] = "measured"};

const char *limit_source_name(unsigned source) {
    const char *name = source < ARRAY_COUNT(source_names) ? source_names[source] : NULL;
    return name ? name : "not known";
}

bool limits_known(const struct kernel_limits *limits) {
    return limits->bytes > 0 || limits->flops > 0;
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

/* `start`: where the list begins in `words`. */
static void add_roofs(const struct limits *limits, enum limit_source source, size_t start,
                      struct buffer *words) {
    const char *before = "";
    char text[FORMAT_SIZE];
    for (size_t i = 0; i < ARRAY_COUNT(shown); i++) {
        if (limits->source[shown[i].limit] != source)
            continue;
        if (!*before)
            buffer_printf(words, "%s%s: ", words->length > start ? "; " : "", source_words[source]);
        double value = limits->of[shown[i].limit];
        buffer_printf(words, "%s%s %s", before, shown[i].name,
                      shown[i].limit == DEVICE_LIMIT_MEMORY ? format_rate(value, text)
                                                            : format_operations(value, text));
        before = ", ";
    }
}

void limits_roofs(const struct limits *limits, struct buffer *words) {
    size_t start = words->length;
    for (unsigned source = LIMIT_MEASURED; source > LIMIT_UNKNOWN; source--)
        add_roofs(limits, source, start, words);
}

void limits_summary(const struct kernels *kernels, const struct limits *limits,
                    struct buffer *words) {
    const struct kernel_limits *all = &kernels->limits;
    char share[FORMAT_SIZE], reached[FORMAT_SIZE];
    if (all->roof_time > 0) {
        buffer_printf(words, "%s of the kernel time has a known roof, and is at %s of it",
                      format_percent(wording_share(all->roof_time, kernels->total), share),
                      format_percent(kernel_limits_reached(all), reached));
    } else {
        buffer_string(words, "the roofs are not known");
        if (limits->source[DEVICE_LIMIT_MEMORY] != LIMIT_MEASURED)
            buffer_string(words, "; 'ridge peaks' on its machine measures them");
    }
    if (all->estimated)
        buffer_string(words, "; the work is estimated from shaders and bound buffers");
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
        if (limits->source[limit] == LIMIT_PUBLISHED) {
            json_member_number(json, "peak", limits_published_peak(limits, limit));
            json_member_string(json, "published_in", limits->published->source);
        }
        json_end_object(json);
    }
    json_end_object(json);
}
