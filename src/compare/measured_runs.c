/* A line has the metrics by key, so that files stay readable when metrics are added. Printed
 * metrics are in an object of their own; a name that ends in '+' is better when higher,
 * and one that ends in "@ns" is a time. */
#include "compare/measured_runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/memory.h"

#define SCHEMA "ridge.check"
enum { VERSION = 1, LINES_MAX = 1 << 20 };

static const struct {
    const char *key, *title;
} timed[METRIC_COUNT_FIRST] = {
    [METRIC_STEP] = {"step", "step time"},
    [METRIC_WALL] = {"wall", "wall time"},
    [METRIC_CPU] = {"cpu", "CPU time"},
    [METRIC_BUSY] = {"busy", "device busy in a step"},
    [METRIC_MEMORY] = {"memory", "peak memory"},
    [METRIC_DEVICE_MEMORY] = {"device-memory", "peak device memory"},
};

const char *metric_key(const struct measured_runs *runs, unsigned metric) {
    if (metric >= METRIC_PRINTED_FIRST)
        return runs->printed[metric - METRIC_PRINTED_FIRST].name;
    return metric_is_exact(metric) ? side_count_key(metric - METRIC_COUNT_FIRST)
                                   : timed[metric].key;
}

const char *metric_title(const struct measured_runs *runs, unsigned metric) {
    if (metric >= METRIC_PRINTED_FIRST)
        return runs->printed[metric - METRIC_PRINTED_FIRST].name;
    return metric_is_exact(metric) ? side_count_title(metric - METRIC_COUNT_FIRST)
                                   : timed[metric].title;
}

static bool ends_in(struct text name, const char *mark) {
    size_t length = strlen(mark);
    return name.length >= length && memcmp(name.data + name.length - length, mark, length) == 0;
}

bool metric_name_is_plain(struct text name) {
    for (size_t i = 0; i < name.length; i++)
        if ((unsigned char)name.data[i] < 0x20 || name.data[i] == 0x7f || name.data[i] == '"' ||
            name.data[i] == '\\')
            return false;
    return name.length > 0 && name.length < METRIC_NAME_SIZE &&
           text_utf8_valid(name) == name.length && !ends_in(name, "+") && !ends_in(name, "@ns");
}

bool metric_higher_is_better(const struct measured_runs *runs, unsigned metric) {
    return metric >= METRIC_PRINTED_FIRST &&
           runs->printed[metric - METRIC_PRINTED_FIRST].higher_is_better;
}

char *metric_format(const struct measured_runs *runs, unsigned metric, double value,
                    char text[FORMAT_SIZE]) {
    bool bytes = metric == METRIC_MEMORY || metric == METRIC_DEVICE_MEMORY ||
                 metric == METRIC_COUNT_FIRST + SIDE_BYTES_HTOD ||
                 metric == METRIC_COUNT_FIRST + SIDE_BYTES_DTOH;
    if (bytes)
        return format_bytes((uint64_t)value, text);
    if (metric_is_exact(metric))
        return format_count((uint64_t)value, text);
    if (metric < METRIC_COUNT_FIRST || runs->printed[metric - METRIC_PRINTED_FIRST].is_time)
        return format_duration((int64_t)llround(value), text);
    snprintf(text, FORMAT_SIZE, "%.6g", value);
    return text;
}

bool measured_runs_add(struct measured_runs *runs, const struct measured_run *line,
                       struct status *status) {
    if (!GROW(runs->lines, &runs->capacity, runs->count + 1, status))
        return false;
    runs->lines[runs->count++] = *line;
    for (unsigned i = 0; i < PRINTED_MAX; i++)
        runs->printed[i].is_time |= line->of.is_time[i];
    return true;
}

void measured_runs_finish(struct measured_runs *runs) {
    memory_free(runs->lines);
    *runs = (struct measured_runs){0};
}

size_t measured_runs_values(const struct measured_runs *runs, unsigned metric, double *values) {
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++)
        if (runs->lines[i].of.known[metric])
            values[count++] = runs->lines[i].of.values[metric];
    return count;
}

/* ---- writing ---- */

static void write_line(const struct measured_runs *runs, const struct measured_run *line,
                       struct output *output) {
    struct json json = {.output = output};
    json_begin_object(&json);
    json_member_string(&json, "schema", SCHEMA);
    json_member_integer(&json, "version", VERSION);
    json_member_integer(&json, "check", line->check);
    json_member_string(&json, "label", line->label);
    json_member_string(&json, "machine", line->machine);
    json_member_number(&json, "pace", line->pace);
    json_key(&json, "metrics");
    json_begin_object(&json);
    for (unsigned i = 0; i < METRIC_PRINTED_FIRST; i++)
        if (line->of.known[i])
            json_member_number(&json, metric_key(runs, i), line->of.values[i]);
    json_end_object(&json);
    json_key(&json, "printed");
    json_begin_object(&json);
    for (unsigned i = 0; i < runs->printed_count; i++) {
        char key[METRIC_NAME_SIZE + 8];
        snprintf(key, sizeof key, "%s%s%s", runs->printed[i].name,
                 runs->printed[i].is_time ? "@ns" : "",
                 runs->printed[i].higher_is_better ? "+" : "");
        if (line->of.known[METRIC_PRINTED_FIRST + i])
            json_member_number(&json, key, line->of.values[METRIC_PRINTED_FIRST + i]);
    }
    json_end_object(&json);
    json_end_object(&json);
    output_printf(output, "\n");
}

void measured_runs_write(const struct measured_runs *runs, size_t first, struct output *output) {
    for (size_t i = first; i < runs->count; i++)
        write_line(runs, &runs->lines[i], output);
}

/* ---- reading ---- */

struct reading {
    struct scan scan;
    struct measured_runs *runs;
    struct measured_run line;
    struct buffer key, words;
    bool ours;
};

static bool read_number(struct reading *reading, double *value, bool *is_number,
                        struct status *status) {
    const char *after;
    while (!(after = scan_double(&reading->scan, reading->scan.at, value, is_number)))
        if (!scan_more(&reading->scan, "a number", status))
            return false;
    reading->scan.at = after;
    return true;
}

static bool read_text(struct reading *reading, char *text, size_t size, struct status *status) {
    struct scan_string string;
    const char *after;
    char byte;
    if (!scan_peek(&reading->scan, &byte, status))
        return false;
    if (byte != '"')
        return scan_unexpected(&reading->scan, "a string", status);
    while (!(after = scan_string(&reading->scan, reading->scan.at, &string)))
        if (!scan_more(&reading->scan, "a string", status))
            return false;
    buffer_clear(&reading->words);
    scan_decode(string.raw, &reading->words);
    reading->scan.at = after;
    snprintf(text, size, "%.*s", TEXT_ARGS(buffer_as_text(&reading->words)));
    return buffer_ok(&reading->words, status);
}

/* The metric of that key, or METRICS. Printed ones are added. */
static unsigned find_metric(struct measured_runs *runs, struct text key, bool printed) {
    if (!printed) {
        for (unsigned i = 0; i < METRIC_PRINTED_FIRST; i++)
            if (text_is(key, metric_key(runs, i)))
                return i;
        return METRICS;
    }
    bool higher = ends_in(key, "+");
    key.length -= higher;
    bool is_time = ends_in(key, "@ns");
    key.length -= is_time ? 3 : 0;
    for (unsigned i = 0; i < runs->printed_count; i++)
        if (text_is(key, runs->printed[i].name)) {
            runs->printed[i].is_time |= is_time;
            return METRIC_PRINTED_FIRST + i;
        }
    if (runs->printed_count == PRINTED_MAX || !metric_name_is_plain(key))
        return METRICS;
    struct printed_metric *added = &runs->printed[runs->printed_count];
    memcpy(added->name, key.data, key.length);
    added->name[key.length] = 0;
    added->higher_is_better = higher;
    added->is_time = is_time;
    return METRIC_PRINTED_FIRST + runs->printed_count++;
}

static bool read_metrics(struct reading *reading, bool printed, struct status *status) {
    bool more;
    char byte;
    if (!scan_peek(&reading->scan, &byte, status))
        return false;
    if (byte != '{')
        return scan_unexpected(&reading->scan, "an object", status);
    bool ok = scan_enter(&reading->scan, '}', &more, status);
    while (ok && more) {
        struct text key;
        double value = 0;
        bool is_number;
        ok = scan_key_copy(&reading->scan, &reading->key, &key, status);
        ok = ok && read_number(reading, &value, &is_number, status);
        bool usable = ok && is_number && isfinite(value) && value >= 0;
        unsigned metric = usable ? find_metric(reading->runs, key, printed) : METRICS;
        if (metric < METRICS) {
            reading->line.of.values[metric] = value;
            reading->line.of.known[metric] = true;
        }
        ok = ok && scan_next(&reading->scan, '}', &more, status);
    }
    return ok;
}

static bool read_member(struct reading *reading, struct text key, struct status *status) {
    double value = 0;
    bool is_number;
    char schema[40];
    if (text_is(key, "schema")) {
        if (!read_text(reading, schema, sizeof schema, status))
            return false;
        reading->ours = strcmp(schema, SCHEMA) == 0;
        return true;
    }
    if (text_is(key, "label"))
        return read_text(reading, reading->line.label, sizeof reading->line.label, status);
    if (text_is(key, "machine"))
        return read_text(reading, reading->line.machine, sizeof reading->line.machine, status);
    if (text_is(key, "metrics") || text_is(key, "printed"))
        return read_metrics(reading, text_is(key, "printed"), status);
    if (text_is(key, "check") || text_is(key, "pace")) {
        if (!read_number(reading, &value, &is_number, status))
            return false;
        if (text_is(key, "pace"))
            reading->line.pace = is_number && isfinite(value) ? value : 0;
        else
            reading->line.check = is_number && fabs(value) < 1e15 ? (int64_t)value : 0;
        return true;
    }
    return json_skip(&reading->scan, status);
}

static bool read_line(struct reading *reading, struct status *status) {
    bool more, ok = scan_enter(&reading->scan, '}', &more, status);
    reading->line = (struct measured_run){0};
    reading->ours = false;
    while (ok && more) {
        struct text key;
        ok = scan_key_copy(&reading->scan, &reading->key, &key, status) &&
             read_member(reading, key, status) && scan_next(&reading->scan, '}', &more, status);
    }
    if (ok && !reading->ours)
        return status_fail(status, STATUS_INPUT, "these are no runs of ridge check");
    if (ok && reading->runs->count >= LINES_MAX)
        return status_fail(status, STATUS_INPUT, "more than %d runs", LINES_MAX);
    return ok && measured_runs_add(reading->runs, &reading->line, status);
}

bool measured_runs_read(const char *path, struct measured_runs *runs, struct status *status) {
    struct reading reading = {.runs = runs};
    struct input input = {0};
    char byte;
    if (!input_open(&input, path, status))
        return false;
    scan_open(&reading.scan, &input);
    bool ok = scan_peek(&reading.scan, &byte, status);
    while (ok && byte) {
        if (byte != '{') {
            ok = scan_unexpected(&reading.scan, "an object", status);
            break;
        }
        ok = read_line(&reading, status) && scan_peek(&reading.scan, &byte, status);
    }
    scan_close(&reading.scan);
    buffer_finish(&reading.key);
    buffer_finish(&reading.words);
    return ok || status_context(status, "%s", path);
}
