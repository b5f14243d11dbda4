/* The sequence of kernels that a step repeats. */
#include "base/format.h"
#include "report/sections.h"
#include "report/wording.h"

static const struct layers *layers_of(const void *source) {
    return &((const struct report_source *)source)->device->layers;
}

static int64_t repeated(const struct layers *layers) {
    return layers->total - layers->before - layers->after;
}

static const void *layer_row(const void *source, size_t index) {
    const struct layers *layers = layers_of(source);
    return index < layers->period ? &layers->kernels[index] : NULL;
}

static struct value short_name(const struct report_source *of, const struct layer_kernel *kernel,
                               struct buffer *words) {
    struct status status = {0};
    struct text full = trace_text(of->report->model.trace, kernel->name);
    return kernel_short_name(full, words, &status) ? value_text(buffer_as_text(words))
                                                   : value_text(full);
}

#define LAYER(name, ...) REPORT_VALUE(name, struct layer_kernel, __VA_ARGS__)
LAYER(layer_number, value_integer(at - of->device->layers.kernels + 1))
LAYER(layer_name, short_name(of, at, words))
LAYER(layer_mean,
      value_ratio(at->total, (int64_t)(of->device->layers.steps * of->device->layers.count)))
LAYER(layer_share, value_ratio(at->total, repeated(&of->device->layers)))

static const struct column layer_columns[] = {
    REPORT_DEVICE_COLUMNS,
    {"number", "no.", UNIT_COUNT, 0, layer_number},
    {"share", "share", UNIT_SHARE, 0, layer_share},
    {"mean_ns", "mean", UNIT_NS_MEAN, 0, layer_mean},
    {"name", "kernel", UNIT_TEXT, COLUMN_FLEXIBLE, layer_name},
    {0},
};

static bool layers_note(const void *source, struct buffer *line) {
    const struct layers *layers = layers_of(source);
    char share[FORMAT_SIZE];
    if (!layers->kernels)
        return false;
    buffer_printf(line, "a step repeats %zu kernels %zu times: %s of its kernel time",
                  layers->period, layers->count,
                  format_percent(wording_share(repeated(layers), layers->total), share));
    return true;
}

static int64_t per_step(const struct layers *layers, int64_t time) {
    return time / (int64_t)layers->steps;
}

static void times_of_repetitions(const struct layers *layers, struct buffer *line) {
    char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
    size_t slowest = 0, fastest = 0;
    for (size_t i = 1; i < layers->count; i++) {
        slowest = layers->repetitions[i] > layers->repetitions[slowest] ? i : slowest;
        fastest = layers->repetitions[i] < layers->repetitions[fastest] ? i : fastest;
    }
    int64_t all = (int64_t)(layers->steps * layers->count);
    buffer_printf(line,
                  "A repetition takes %s on average: from %s (the one with number %zu) to %s "
                  "(number %zu).",
                  format_duration(repeated(layers) / all, a),
                  format_duration(per_step(layers, layers->repetitions[fastest]), b), fastest + 1,
                  format_duration(per_step(layers, layers->repetitions[slowest]), c), slowest + 1);
}

static bool layers_sentence(const void *source, size_t index, struct buffer *line) {
    const struct layers *layers = layers_of(source);
    char a[FORMAT_PLURAL_SIZE], b[FORMAT_PLURAL_SIZE], c[FORMAT_SIZE], d[FORMAT_SIZE];
    switch (index) {
    case 0:
        times_of_repetitions(layers, line);
        return true;
    case 1:
        if (layers->kernels_before + layers->kernels_after)
            buffer_printf(line, "Before them: %s, %s a step. After them: %s, %s a step.",
                          format_plural(layers->kernels_before, "kernel", "kernels", a),
                          format_duration(per_step(layers, layers->before), c),
                          format_plural(layers->kernels_after, "kernel", "kernels", b),
                          format_duration(per_step(layers, layers->after), d));
        return true;
    default:
        return false;
    }
}

const struct section section_layers = {.key = "layers",
                                       .title = "Layers",
                                       .columns = layer_columns,
                                       .row = layer_row,
                                       .note = layers_note,
                                       .sentence = layers_sentence,
                                       .rows = "kernels"};
