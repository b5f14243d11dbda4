/* What the user wrote, checked word by word before anything is measured. */
#include "cmd/bench_arguments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "cmd/options.h"
#include "cmd/terminal.h"

/* The next word of a list with commas between; false at its end. */
static bool next_word(const char **list, struct text *word) {
    if (!**list)
        return false;
    size_t length = strcspn(*list, ",");
    *word = (struct text){*list, length};
    *list += length + ((*list)[length] == ',');
    return true;
}

#define ASKED_PRECISION 0.002 /* who says how long it may take wants to know it well */

/* ---- Devices ---------------------------------------------------------------------------- */

static bool is_named(const struct device_names *devices, const char *name) {
    for (unsigned i = 0; devices->names[i]; i++)
        if (strcmp(devices->names[i], name) == 0)
            return true;
    return false;
}

bool bench_devices(const struct command_line *line, struct device_names *devices,
                   struct status *status) {
    const char *asked = command_value(line, "device");
    unsigned count = 0;
    memset(devices, 0, sizeof *devices);
    if (!asked) {
        ridge_device *device = ridge_device_open(NULL);
        struct ridge_device_info info;
        if (!device)
            return status_fail(status, STATUS_UNSUPPORTED, "%s", ridge_error_message());
        ridge_device_describe(device, &info);
        ridge_device_close(device);
        snprintf(devices->text, sizeof devices->text, "%s", info.name);
        devices->names[0] = devices->text;
        return true;
    }
    if (strlen(asked) >= sizeof devices->text)
        return status_fail(status, STATUS_USAGE, "--device: the list is too long");
    snprintf(devices->text, sizeof devices->text, "%s", asked);
    for (char *at = devices->text; at && count < NAMES_MAX;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = 0;
        if (!*at)
            return status_fail(status, STATUS_USAGE,
                               "--device '%s' has an empty name; write it as cpu,cuda", asked);
        if (!is_named(devices, at))
            devices->names[count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

/* ---- Experiments ------------------------------------------------------------------------ */

static bool no_experiment(const char *name, struct status *status) {
    const char *names[NAMES_MAX];
    unsigned count = 0;
    while (experiments[count] && count < NAMES_MAX - 1) {
        names[count] = experiments[count]->name;
        count++;
    }
    names[count++] = "all";
    const char *meant = command_suggest(name, names, count);
    if (meant)
        return status_fail(
            status, STATUS_USAGE,
            "no experiment is called '%s'; did you mean '%s'? ('ridge bench' lists them)", name,
            meant);
    return status_fail(status, STATUS_USAGE,
                       "no experiment is called '%s' ('ridge bench' lists them)", name);
}

static void choose(const struct experiment *experiment, const struct experiment **chosen) {
    unsigned count = 0;
    for (; chosen[count]; count++)
        if (chosen[count] == experiment)
            return;
    if (count < NAMES_MAX)
        chosen[count] = experiment;
}

bool bench_experiments(const char *const *names, unsigned count,
                       const struct experiment *chosen[NAMES_MAX + 1], struct status *status) {
    memset(chosen, 0, (NAMES_MAX + 1) * sizeof chosen[0]);
    for (unsigned i = 0; i < count; i++) {
        const struct experiment *experiment = experiment_find(names[i]);
        if (experiment)
            choose(experiment, chosen);
        else if (strcmp(names[i], "all") != 0)
            return no_experiment(names[i], status);
        else
            for (unsigned j = 0; experiments[j]; j++)
                choose(experiments[j], chosen);
    }
    return true;
}

/* ---- Lists ------------------------------------------------------------------------------ */

static bool taken(const struct experiment *const *chosen, unsigned takes) {
    for (unsigned i = 0; chosen[i]; i++)
        if (chosen[i]->takes & takes)
            return true;
    return false;
}

/* NULL when the option was not given; fails when it was and nobody takes it. */
static bool list_value(const struct command_line *line, const struct experiment *const *chosen,
                       const char *option, unsigned takes, const char **value,
                       struct status *status) {
    *value = command_value(line, option);
    if (*value && !**value)
        return status_fail(status, STATUS_USAGE, "--%s is empty: write a value or leave it out",
                           option);
    if (!*value || taken(chosen, takes))
        return true;
    return status_fail(status, STATUS_USAGE,
                       "%s%s takes no --%s ('ridge bench' says what each takes)", chosen[0]->name,
                       chosen[1] ? " and the others named" : "", option);
}

/* "4096", "64K" and "100M" (decimal), "64Ki" and "16Mi" (binary), "2^20". */
static bool read_size(struct text word, int64_t *size) {
    static const struct {
        const char *suffix;
        int64_t factor;
    } suffixes[] = {{"Ki", 1 << 10}, {"Mi", 1 << 20},   {"Gi", 1 << 30}, {"K", 1000},
                    {"M", 1000000},  {"G", 1000000000}, {"k", 1000},     {"", 1}};
    ptrdiff_t caret = text_find(word, "^");
    if (caret >= 0) {
        int64_t base, power;
        if (!text_to_i64((struct text){word.data, (size_t)caret}, &base) || base != 2 ||
            !text_to_i64((struct text){word.data + caret + 1, word.length - (size_t)caret - 1},
                         &power) ||
            power < 0 || power > 40)
            return false;
        *size = (int64_t)1 << power;
        return true;
    }
    for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
        size_t length = strlen(suffixes[i].suffix);
        if (word.length <= length ||
            memcmp(word.data + word.length - length, suffixes[i].suffix, length) != 0)
            continue;
        int64_t number;
        if (!text_to_i64((struct text){word.data, word.length - length}, &number) || number < 1 ||
            number > ((int64_t)1 << 40) / suffixes[i].factor)
            return false;
        *size = number * suffixes[i].factor;
        return true;
    }
    return false;
}

static bool read_sizes(const char *list, const char *option, int64_t *sizes, unsigned *count,
                       struct status *status) {
    struct text word;
    const char *at = list;
    while (next_word(&at, &word)) {
        if (*count == LIST_MAX)
            return status_fail(status, STATUS_USAGE, "--%s takes at most %d values", option,
                               LIST_MAX);
        if (!read_size(word, &sizes[(*count)++]))
            return status_fail(status, STATUS_USAGE,
                               "--%s '%.*s' is not a size; write it as 4096, 64K, 16Mi or 2^20, "
                               "several with commas between",
                               option, TEXT_ARGS(word));
    }
    return true;
}

static bool read_dtypes(const char *list, struct bench_options *options, struct status *status) {
    struct text word;
    while (next_word(&list, &word)) {
        unsigned dtype = 0;
        while (dtype < RIDGE_DTYPES && !text_is(word, ridge_dtype_name((enum ridge_dtype)dtype)))
            dtype++;
        if (dtype == RIDGE_DTYPES || dtype == RIDGE_I32 || dtype == RIDGE_U8)
            return status_fail(status, STATUS_USAGE,
                               "--dtype '%.*s' is none of f32, f16, bf16, q8_0, q4_k",
                               TEXT_ARGS(word));
        if (options->dtype_count == LIST_MAX)
            return status_fail(status, STATUS_USAGE, "--dtype takes at most %d values", LIST_MAX);
        options->dtypes[options->dtype_count++] = (enum ridge_dtype)dtype;
    }
    return true;
}

bool bench_lists(const struct command_line *line, const struct experiment *const *chosen,
                 struct bench_options *options, struct status *status) {
    const char *dtypes, *sizes, *batches;
    return list_value(line, chosen, "dtype", TAKES_DTYPE, &dtypes, status) &&
           list_value(line, chosen, "size", TAKES_SIZE, &sizes, status) &&
           list_value(line, chosen, "batch", TAKES_BATCH, &batches, status) &&
           list_value(line, chosen, "model", TAKES_MODEL, &options->model, status) &&
           (!dtypes || read_dtypes(dtypes, options, status)) &&
           (!sizes || read_sizes(sizes, "size", options->sizes, &options->size_count, status)) &&
           (!batches ||
            read_sizes(batches, "batch", options->batches, &options->batch_count, status));
}

bool bench_seconds(const struct command_line *line, struct measure_plan *plan,
                   struct status *status) {
    const char *text = command_value(line, "seconds");
    if (!text)
        return true;
    if (command_flag(line, "iterations"))
        return status_fail(status, STATUS_USAGE,
                           "--seconds and --iterations both say how long: take one of them");
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value <= 0 || value > 3600)
        return status_fail(status, STATUS_USAGE,
                           "--seconds '%s' is not a time; write it as 0.5 or 10", text);
    plan->seconds = value;
    plan->precision = ASKED_PRECISION;
    return true;
}

bool bench_rounds(const struct command_line *line, unsigned *rounds, struct status *status) {
    if (!command_count(line, "rounds", rounds, status))
        return false;
    return *rounds <= ROUNDS_MAX ||
           status_fail(status, STATUS_USAGE, "--rounds %u: at most %d are kept", *rounds,
                       ROUNDS_MAX);
}

/* ---- Formats ---------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *ending) {
    size_t length = strlen(path), size = strlen(ending);
    return length > size && strcasecmp(path + length - size, ending) == 0;
}

bool bench_plot(const struct command_line *line, struct status *status) {
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

static bool is_format(const struct command_line *line, const char *name) {
    const char *format = command_value(line, "format");
    return format && strcmp(format, name) == 0;
}

struct print_style bench_style(const struct command_line *line, const struct output *output) {
    return (struct print_style){.width = terminal_columns(output),
                                .style = is_format(line, "md")    ? TABLE_MARKDOWN
                                         : is_format(line, "csv") ? TABLE_CSV
                                                                  : TABLE_TEXT};
}

bool bench_wants_json(const struct command_line *line) {
    return command_flag(line, "json") || is_format(line, "json");
}
