/* Pairs the lines of two runs and checks whether they are comparable. compare_rounds.c compares
 * the times; this file pairs lines, collects rounds, and describes what else changed between the
 * runs (the machine, a driver, the CPU clock). */
#include "bench/results/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench/results/compare_rounds.h"
#include "device/cache.h"

enum { REFERENCE_PASSES = 16, NAME_MAX_LENGTH = 100 };
#define CONTENDED 0.9      /* CPUs in use: from there on other programs interfere */
#define REFERENCE_FAST 0.1 /* quantile: disturbed passes are no pace */

const char *comparison_verdict_name(enum comparison_verdict verdict) {
    switch (verdict) {
    case COMPARISON_FASTER:
        return "faster";
    case COMPARISON_SLOWER:
        return "slower";
    case COMPARISON_ABSENT:
        return "nothing to compare";
    case COMPARISON_SAME:
        break;
    }
    return "no measurable difference";
}

double compare_reference_loop(void) {
    double fastest = measure_pace();
    for (unsigned i = 1; i < REFERENCE_PASSES; i++)
        fastest = fmin(fastest, measure_pace());
    return fastest;
}

/* ---- Rounds ----------------------------------------------------------------------------- */

/* Readings that could not be had are negative. */
static double grown(double before, double after) {
    return before >= 0 && after > before ? after - before : 0;
}

/* Share of CPU time taken by other programs. They do not interfere as long as there are enough
 * CPUs for all. */
static double disturbance(double own_ns, const struct health *before, const struct health *after) {
    double all = (double)(after->time - before->time) * (double)sysconf(_SC_NPROCESSORS_ONLN);
    double stolen = grown(before->stolen_ns, after->stolen_ns),
           other = grown(before->other_ns, after->other_ns);
    if (all <= 0)
        return 0;
    return (stolen + (own_ns + stolen + other > CONTENDED * all ? other : 0)) / all;
}

void compare_keep_round(struct result *result, const struct measurement *round,
                        const struct health *before, const struct health *after) {
    unsigned i = result->round_count;
    if (i == ROUNDS_MAX)
        return;
    result->round_medians[i] = round->time.median;
    result->round_fastest[i] = round->time.fastest;
    result->round_pace[i] = round->pace;
    result->round_width[i] = round->width;
    result->round_disturbed[i] = before ? disturbance(round->own_ns, before, after) : 0;
    result->round_count++;
}

bool compare_wanting(const struct comparison_set *set, struct result_set *lines,
                     struct status *status) {
    *lines = (struct result_set){0};
    for (size_t i = 0; i < set->count; i++) {
        if (!set->rows[i].wants_rounds)
            continue;
        struct result line = *set->rows[i].after;
        line.spans = NULL;
        line.span_count = 0;
        if (!result_add(lines, &line, status)) {
            result_set_finish(lines);
            return false;
        }
    }
    return true;
}

void compare_add_rounds(struct result_set *set, const struct result_set *more) {
    for (size_t i = 0; i < set->count; i++) {
        struct result *sum = &set->results[i];
        const struct result *added = result_find(more, sum);
        if (!added || *added->problem || *sum->problem)
            continue;
        for (unsigned r = 0; r < added->round_count && sum->round_count < ROUNDS_MAX; r++) {
            unsigned to = sum->round_count++;
            sum->round_medians[to] = added->round_medians[r];
            sum->round_fastest[to] = added->round_fastest[r];
            sum->round_pace[to] = added->round_pace[r];
            sum->round_width[to] = added->round_width[r];
            sum->round_disturbed[to] = added->round_disturbed[r];
        }
        measurement_add(&sum->time, &added->time);
        if (sum->has_peer && added->has_peer)
            measurement_add(&sum->peer, &added->peer);
    }
}

/* ---- Lines ------------------------------------------------------------------------------ */

static bool has_figure(const struct result *result) {
    return result && !*result->problem && result->time.time.fastest > 0 &&
           isfinite(result->time.time.median) && result->time.time.median > 0;
}

static struct comparison pair(const struct result *before, const struct result *after) {
    bool both = has_figure(before) && has_figure(after);
    return (struct comparison){
        .before = before, .after = after, .verdict = both ? COMPARISON_SAME : COMPARISON_ABSENT};
}

/* Those of after in their order, then those that only before has. */
static void pair_lines(const struct result_set *before, const struct result_set *after,
                       struct comparison_set *set) {
    for (size_t i = 0; i < after->count; i++)
        set->rows[set->count++] = pair(result_find(before, &after->results[i]), &after->results[i]);
    for (size_t i = 0; i < before->count; i++)
        if (!result_find(after, &before->results[i]))
            set->rows[set->count++] = pair(&before->results[i], NULL);
}

static void compare_lines(struct comparison_set *set) {
    size_t lines = 0;
    for (size_t i = 0; i < set->count; i++)
        lines += set->rows[i].verdict != COMPARISON_ABSENT;
    for (size_t i = 0; i < set->count; i++)
        if (set->rows[i].verdict != COMPARISON_ABSENT)
            compare_rounds(&set->rows[i], lines);
}

/* ---- Fairness --------------------------------------------------------------------------- */

static bool fast_pass(const struct result_set *set, double *ns, struct status *status) {
    *ns = 0;
    if (set->reference_count == 0)
        return true;
    double *sorted = memory_allocate(set->reference_count, sizeof sorted[0], status);
    if (!sorted)
        return false;
    memcpy(sorted, set->reference, set->reference_count * sizeof sorted[0]);
    statistics_sort(sorted, set->reference_count);
    *ns = statistics_quantile(sorted, set->reference_count, REFERENCE_FAST);
    memory_free(sorted);
    return true;
}

static bool find_drift(const struct result_set *before, const struct result_set *after,
                       struct comparison_set *set, struct status *status) {
    double first, second;
    if (!fast_pass(before, &first, status) || !fast_pass(after, &second, status))
        return false;
    set->drift = first > 0 && second > 0 ? second / first - 1 : 0;
    return true;
}

static const struct roofs *roofs_of(const struct result_set *set, const char *device) {
    for (size_t i = 0; i < set->roofs_count; i++)
        if (strcmp(set->roofs[i].device, device) == 0)
            return &set->roofs[i];
    return NULL;
}

static bool device_changed(const struct result_set *before, const struct roofs *after,
                           struct comparison_set *set) {
    const struct roofs *first = roofs_of(before, after->device);
    if (!first)
        return false;
    bool other = strcmp(first->description, after->description) != 0;
    if (!other && strcmp(first->driver, after->driver) == 0)
        return false;
    snprintf(set->warning, sizeof set->warning, "%s was %.70s and is %.70s", after->device,
             other ? first->description : first->driver,
             other ? after->description : after->driver);
    return true;
}

static bool settings_changed(struct comparison_set *set) {
    for (size_t i = 0; i < set->count; i++) {
        const struct result *before = set->rows[i].before, *after = set->rows[i].after;
        if (!before || !after ||
            (before->dtype == after->dtype && before->size == after->size &&
             before->batch == after->batch &&
             memcmp(before->numbers, after->numbers, sizeof before->numbers) == 0))
            continue;
        snprintf(set->warning, sizeof set->warning,
                 "\"%s\" differs between the runs: its type or sizes are not the same",
                 after->label);
        return true;
    }
    return false;
}

static void find_changes(const struct result_set *before, const struct result_set *after,
                         struct comparison_set *set) {
    if (strcmp(before->machine, after->machine) != 0) {
        snprintf(set->warning, sizeof set->warning, "different machines: it was %.70s and is %.70s",
                 *before->machine ? before->machine : "unknown",
                 *after->machine ? after->machine : "unknown");
        return;
    }
    for (size_t i = 0; i < after->roofs_count; i++)
        if (device_changed(before, &after->roofs[i], set))
            return;
    settings_changed(set);
}

bool compare_results(const struct result_set *before, const struct result_set *after,
                     struct comparison_set *set, struct status *status) {
    *set = (struct comparison_set){0};
    set->rows = memory_allocate(before->count + after->count, sizeof set->rows[0], status);
    if (!set->rows || !find_drift(before, after, set, status)) {
        comparison_set_finish(set);
        return false;
    }
    pair_lines(before, after, set);
    compare_lines(set);
    find_changes(before, after, set);
    return true;
}

void comparison_set_finish(struct comparison_set *set) {
    memory_free(set->rows);
    *set = (struct comparison_set){0};
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void write_line(const struct comparison *row, struct json *json) {
    const struct result *named = row->after ? row->after : row->before;
    json_begin_object(json);
    json_member_string(json, "experiment", named->experiment);
    json_member_string(json, "device", named->device);
    json_member_string(json, "label", named->label);
    json_member_string(json, "variant", named->variant);
    json_member_string(json, "verdict", comparison_verdict_name(row->verdict));
    if (row->verdict != COMPARISON_ABSENT) {
        json_member_number(json, "before_ns", row->before->time.time.median);
        json_member_number(json, "after_ns", row->after->time.time.median);
        json_member_number(json, "ratio", row->ratio);
        json_member_number(json, "low", row->low);
        json_member_number(json, "high", row->high);
        json_member_number(json, "noise", row->noise);
        json_member_bool(json, "disturbed", row->disturbed);
    }
    json_end_object(json);
}

bool comparison_set_write(const struct comparison_set *set, const struct result_set *after,
                          struct output *output, struct status *status) {
    struct json json = {.output = output, .pretty = true};
    struct buffer document = {0};
    struct output memory = output_into(&document);
    result_set_write(after, &memory);
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.bench-comparison");
    json_member_integer(&json, "version", 1);
    json_member_number(&json, "drift", set->drift);
    json_member_string(&json, "warning", set->warning);
    json_key(&json, "lines");
    json_begin_array(&json);
    for (size_t i = 0; i < set->count; i++)
        write_line(&set->rows[i], &json);
    json_end_array(&json);
    json_key(&json, "after");
    json_raw(&json, buffer_as_text(&document));
    json_end_object(&json);
    bool ok = buffer_ok(&document, status);
    buffer_finish(&document);
    return ok;
}

/* ---- Saved results ----------------------------------------------------------------------- */

static bool ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

static bool is_plain(const char *name) {
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    return *name && *name != '.' && strlen(name) <= NAME_MAX_LENGTH;
}

bool compare_path(const char *name, struct buffer *path, struct status *status) {
    if (strchr(name, '/') || ends_in(name, ".json")) {
        buffer_string(path, name);
        buffer_byte(path, 0);
        return buffer_ok(path, status);
    }
    if (!is_plain(name))
        return status_fail(status, STATUS_USAGE,
                           "results cannot be saved under this name: use at most %d characters "
                           "starting with a letter or a digit, or a path to a .json file",
                           NAME_MAX_LENGTH);
    if (!cache_folder(path, status))
        return status_context(status, "results need a path to a .json file instead of the name %s",
                              name);
    path->length = strlen(path->data);
    buffer_printf(path, "/saved-%s.json", name);
    buffer_byte(path, 0);
    return buffer_ok(path, status);
}
