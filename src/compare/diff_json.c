/* A diff for programs: docs/diff.md describes the members. */
#include "compare/diff_sections.h"

/* The unit whose length is the median one, since the start of the run. */
static void write_median_unit(const struct side *side, struct json *json) {
    size_t at = 0;
    for (size_t i = side->unit_count; i-- > 0;)
        at = side->lengths[i] == side->step ? i : at;
    json_key(json, "median_unit");
    json_begin_object(json);
    json_member_integer(json, "start_ns", side->units[at].start - side->report->model.first);
    json_member_integer(json, "end_ns", side->units[at].end - side->report->model.first);
    json_end_object(json);
}

static void write_side(const struct side *side, const char *key, struct json *json) {
    const struct trace *trace = side->report->model.trace;
    json_key(json, key);
    json_begin_object(json);
    json_member_string(json, "trace", side->report->options.trace_name);
    json_member_text(json, "device", model_device_key(&side->report->model, side->device->id));
    json_member_text(json, "device_name", trace_text(trace, trace->device.name[side->device->id]));
    json_member_string(json, "unit", side->unit);
    json_member_unsigned(json, "units", side->unit_count);
    json_member_unsigned(json, "middle_units", side->middle_count);
    json_member_integer(json, "step_ns", side->step);
    json_member_number(json, "mean_ns", side->mean);
    write_median_unit(side, json);
    json_end_object(json);
}

static void write_noise(const struct noise *noise, struct json *json) {
    json_key(json, "noise");
    json_begin_object(json);
    json_member_unsigned(json, "runs_before", noise->runs[BEFORE]);
    json_member_unsigned(json, "runs_after", noise->runs[AFTER]);
    json_key(json, "smallest_difference");
    if (noise->known)
        json_number(json, noise->smallest);
    else
        json_null(json);
    json_member_bool(json, "significant", noise->significant);
    json_key(json, "probability");
    if (noise->runs[BEFORE] > 1 || noise->runs[AFTER] > 1)
        json_number(json, noise->probability);
    else
        json_null(json);
    json_end_object(json);
}

/* The pace of the host. */
static void write_launch_call(const struct diff *diff, struct json *json) {
    json_key(json, "launch_call");
    json_begin_object(json);
    json_member_text(json, "name", diff->launch_name);
    json_member_number(json, "before_ns", diff->launch_call[BEFORE]);
    json_member_number(json, "after_ns", diff->launch_call[AFTER]);
    json_end_object(json);
}

static void write_prediction(const struct prediction *prediction, struct json *json) {
    json_key(json, "prediction");
    if (!prediction->asked) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_member_string(json, "words", prediction->words);
    json_member_string(json, "change", prediction->option ? prediction->option : "");
    if (prediction->known) {
        json_member_integer(json, "step_ns", prediction->step);
        json_member_integer(json, "error_ns", prediction->error);
    }
    json_end_object(json);
}

/* Which activities each row stands for. */
static void write_members(const struct diff *diff, struct json *json) {
    static const char *const keys[SIDES] = {"members_before", "members_after"};
    for (unsigned at = BEFORE; at < SIDES; at++) {
        const struct side *side = &diff->sides[at];
        json_key(json, keys[at]);
        json_begin_array(json);
        for (size_t i = 0; i < side->entry_count; i++) {
            if (side->entries[i].part >= PART_IDLE)
                continue;
            json_begin_object(json);
            json_member_text(json, "name", side->entries[i].name);
            json_member_unsigned(json, "row", diff->row_of[at][i]);
            json_end_object(json);
        }
        json_end_array(json);
    }
}

static void write_place(const struct diff *diff, const struct diff_line *line, unsigned at,
                        struct json *json) {
    static const char *const keys[SIDES] = {"line_before", "line_after"};
    const struct trace *trace = diff->sides[at].report->model.trace;
    json_key(json, keys[at]);
    if (line->frame[at])
        json_unsigned(json, trace->stack.line[line->frame[at]]);
    else
        json_null(json);
}

static void write_lines(const struct diff *diff, struct json *json) {
    json_key(json, "lines");
    json_begin_array(json);
    for (size_t i = 0; i < diff->line_count; i++) {
        const struct diff_line *line = &diff->lines[i];
        unsigned at = line->frame[AFTER] ? AFTER : BEFORE;
        const struct trace *trace = diff->sides[at].report->model.trace;
        json_begin_object(json);
        json_member_text(json, "file", trace_text(trace, trace->stack.file[line->frame[at]]));
        json_member_text(json, "source", trace_text(trace, trace->stack.source[line->frame[at]]));
        write_place(diff, line, BEFORE, json);
        write_place(diff, line, AFTER, json);
        json_member_integer(json, "idle_before_ns", line->idle[BEFORE]);
        json_member_integer(json, "idle_after_ns", line->idle[AFTER]);
        json_key(json, "counts");
        json_begin_array(json);
        for (unsigned count = 0; count < SIDE_COUNTS; count++) {
            if (line->counts[BEFORE][count] == line->counts[AFTER][count])
                continue;
            json_begin_object(json);
            json_member_string(json, "count", side_count_key(count));
            json_member_number(json, "before", line->counts[BEFORE][count]);
            json_member_number(json, "after", line->counts[AFTER][count]);
            json_end_object(json);
        }
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

bool diff_write_json(const struct diff *diff, struct output *output, struct status *status) {
    static const struct section *const sections[] = {
        &diff_section_parts, &diff_section_rows, &diff_section_counts, &diff_section_conditions};
    struct json json = {.output = output, .pretty = true};
    bool ok = true;
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.diff");
    json_member_integer(&json, "version", 1);
    json_member_string(&json, "headline", diff->headline);
    json_member_string(&json, "second", diff->second);
    json_member_string(&json, "cause", diff->cause);
    write_side(&diff->sides[BEFORE], "before", &json);
    write_side(&diff->sides[AFTER], "after", &json);
    json_member_integer(&json, "change_ns", diff->change);
    write_noise(&diff->noise, &json);
    write_launch_call(diff, &json);
    write_prediction(&diff->prediction, &json);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0] && ok; i++) {
        json_key(&json, sections[i]->key);
        ok = section_write_json(sections[i], diff, &json, status);
    }
    write_members(diff, &json);
    write_lines(diff, &json);
    json_end_object(&json);
    return ok;
}
