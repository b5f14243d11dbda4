/* A prediction for programs; docs/commands/whatif.md names the members. */
#include "base/json_write.h"
#include "report/whatif.h"
#include "report/wording.h"

static void write_devices(struct json *json, const struct report *report,
                          const struct outcome *outcome) {
    json_key(json, "devices");
    json_begin_array(json);
    for (size_t i = 0; i < outcome->device_count; i++) {
        const struct outcome_device *device = &outcome->devices[i];
        json_begin_object(json);
        json_member_text(json, "device", model_device_key(&report->model, device->device));
        json_member_integer(json, "window_ns", device->window);
        json_member_integer(json, "busy_ns", device->busy);
        json_member_integer(json, "exposed_copy_ns", device->exposed_copy);
        json_member_integer(json, "idle_ns", device->idle);
        json_key(json, "idle_causes_ns");
        json_begin_object(json);
        for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
            json_member_integer(json, gap_cause_name(cause), device->cause[cause]);
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_outcome(struct json *json, const struct report *report,
                          const struct outcome *outcome) {
    json_member_bool(json, "applies", outcome->applicable);
    json_member_integer(json, "before_ns", outcome->before);
    json_member_integer(json, "after_ns", outcome->after);
    json_member_integer(json, "error_ns", outcome->error);
    json_key(json, "times_as_fast");
    if (whatif_speed_up(outcome) > 0)
        json_number(json, whatif_speed_up(outcome));
    else
        json_null(json);
    json_member_unsigned(json, "touched", outcome->touched);
    json_member_string(json, "what", outcome->what);
    json_member_string(json, "assumes", outcome->assumes);
    json_member_string(json, "why_not", outcome->why_not);
    json_member_bool(json, "device_bound", outcome->device_bound);
    json_member_string(json, "next_cause", gap_cause_name(outcome->next_cause));
    json_member_text(json, "next_kernel", outcome->next_kernel);
    json_member_number(json, "next_kernel_share", outcome->next_kernel_share);
    json_member_bool(json, "copy_bound", outcome->copy_bound);
    json_member_string(json, "next_direction", copy_direction_name(outcome->next_direction));
    json_member_number(json, "next_bytes_per_second", outcome->next_rate);
    write_devices(json, report, outcome);
}

static void write_change(struct json *json, const struct change *change) {
    json_member_string(json, "change", change_option(change->kind));
    if (change->pattern.length)
        json_member_text(json, "name", change->pattern);
    if (change->kind == CHANGE_FASTER || change->kind == CHANGE_BATCH)
        json_member_number(json, "factor", change->factor);
}

static void write_one(struct json *json, const struct report *report, const struct change *change,
                      const struct outcome *outcome) {
    json_begin_object(json);
    write_change(json, change);
    write_outcome(json, report, outcome);
    json_end_object(json);
}

void whatif_print_json(const struct whatif *whatif, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    const struct report *report = whatif->report;
    json_begin_object(&json);
    json_member_string(&json, "trace", report->options.trace_name);
    struct buffer part = {0};
    wording_selection(report, &part);
    json_member_text(&json, "part", buffer_as_text(&part));
    buffer_finish(&part);
    struct buffer losses = {0};
    json_member_bool(&json, "whole", !whatif_losses(report, &losses));
    json_member_text(&json, "losses", buffer_as_text(&losses));
    output_require(output, !losses.failed);
    buffer_finish(&losses);
    json_key(&json, "unchanged");
    json_begin_object(&json);
    write_outcome(&json, report, &whatif->unchanged);
    json_end_object(&json);
    json_key(&json, "changes");
    json_begin_array(&json);
    for (size_t i = 0; i < whatif->count; i++)
        write_one(&json, report, &whatif->changes[i],
                  whatif->count == 1 ? &whatif->together : &whatif->outcomes[i]);
    for (size_t i = 0; i < whatif->ranked_count; i++)
        write_one(&json, report, &whatif->ranked[i].change, &whatif->ranked[i].outcome);
    json_end_array(&json);
    if (whatif->count) {
        json_key(&json, "together");
        json_begin_object(&json);
        write_outcome(&json, report, &whatif->together);
        json_end_object(&json);
    }
    json_end_object(&json);
    output_printf(output, "\n");
}
