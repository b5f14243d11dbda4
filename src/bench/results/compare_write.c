/* A comparison as JSON: what each line was, is, and whether that is a difference. */
#include "bench/results/compare.h"

static void write_line(const struct comparison *row, struct json *json) {
    const struct result *named = row->after ? row->after : row->before;
    json_begin_object(json);
    json_member_string(json, "experiment", named->experiment);
    json_member_string(json, "device", named->device);
    json_member_string(json, "label", named->label);
    json_member_string(json, "variant", named->variant);
    json_member_string(json, "verdict", comparison_words(row->verdict));
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
