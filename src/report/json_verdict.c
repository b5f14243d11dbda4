/* "verdict": what was found, with its evidence, its fixes and what each is predicted to buy. */
#include "report/json_parts.h"

static void write_text(struct json *json, const char *key, const char *value) {
    json_key(json, key);
    if (value)
        json_string(json, value);
    else
        json_null(json);
}

static const char *evidence_kind_name(unsigned kind) {
    static const char *const names[] = {"text",     "kernel", "range", "call",
                                        "function", "gap",    "line"};
    return names[kind];
}

static void write_evidence(struct json *json, const struct report *report,
                           const struct finding *finding) {
    json_key(json, "evidence");
    json_begin_array(json);
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct evidence *evidence = &finding->evidence[i];
        bool placed = evidence->end > evidence->start;
        json_begin_object(json);
        json_member_string(json, "kind", evidence_kind_name(evidence->kind));
        json_member_string(json, "words", evidence->words);
        json_key(json, "name");
        if (evidence->name)
            json_text(json, trace_text(report->model.trace, evidence->name));
        else
            json_null(json);
        json_member_measure(json, "start_ns", json_report_time(report, evidence->start), placed);
        json_member_measure(json, "end_ns", json_report_time(report, evidence->end), placed);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_fixes(struct json *json, const struct finding *finding) {
    json_key(json, "fixes");
    json_begin_array(json);
    for (size_t i = 0; i < finding->fix_count; i++) {
        json_begin_object(json);
        json_member_string(json, "effort", effort_name(finding->fixes[i].effort));
        json_member_string(json, "words", finding->fixes[i].words);
        write_text(json, "whatif", finding->fixes[i].command);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_changes(struct json *json, const struct finding *finding) {
    json_key(json, "changes");
    json_begin_array(json);
    for (size_t i = 0; i < finding->change_count; i++) {
        const struct change *change = &finding->changes[i];
        json_begin_object(json);
        json_member_string(json, "change", change_option(change->kind));
        json_member_text(json, "pattern", change->pattern);
        json_key(json, "factor");
        if (change->factor > 0)
            json_number(json, change->factor);
        else
            json_null(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void write_finding(struct json *json, const struct report *report,
                          const struct finding *finding) {
    const struct verdict *verdict = &report->verdict;
    json_begin_object(json);
    json_member_string(json, "kind", finding_key(finding->kind));
    json_member_string(json, "title", finding_title(finding->kind));
    json_member_string(json, "confidence", confidence_name(finding->confidence));
    json_member_bool(json, "minor", finding->minor);
    json_key(json, "device");
    if (finding->device)
        json_text(json, model_device_key(&report->model, finding->device));
    else
        json_null(json);
    write_text(json, "summary", finding->summary);
    write_text(json, "cause", finding->cause);
    json_member_integer(json, "recoverable_ns", finding->recoverable);
    json_member_integer(json, "error_ns", finding->error);
    json_member_integer(json, "additional_ns", finding->additional);
    json_member_ratio(json, "recoverable_share", finding->recoverable, verdict->time);
    write_text(json, "assumes", finding->assumes);
    write_changes(json, finding);
    write_evidence(json, report, finding);
    write_fixes(json, finding);
    json_end_object(json);
}

/* The account that the sentences are about. */
static void write_account(struct json *json, const struct report *report) {
    const struct verdict *verdict = &report->verdict;
    json_key(json, "account");
    if (!verdict->device) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_key(json, "device");
    json_text(json, model_device_key(&report->model, verdict->device));
    json_member_integer(json, "window_ns", verdict->account.window);
    json_member_integer(json, "busy_ns", verdict->account.busy);
    json_member_integer(json, "exposed_communication_ns", verdict->account.exposed_communication);
    json_member_integer(json, "exposed_copy_ns", verdict->account.exposed_copy);
    json_member_integer(json, "idle_ns", verdict->account.idle);
    json_end_object(json);
}

void json_report_verdict(struct json *json, const struct report *report) {
    const struct verdict *verdict = &report->verdict;
    json_key(json, "verdict");
    if (verdict->count == 0) {
        json_null(json);
        return;
    }
    json_begin_object(json);
    json_member_string(json, "manager", verdict->manager);
    json_member_string(json, "engineer", verdict->engineer);
    write_text(json, "caution", verdict->caution);
    json_member_string(json, "part", verdict->part);
    json_member_integer(json, "time_ns", verdict->time);
    write_account(json, report);
    write_text(json, "profiler", verdict->profiler);
    json_member_integer(json, "profiler_ns", verdict->profiler_time);
    json_member_integer(json, "profiler_error_ns", verdict->profiler_error);
    json_member_unsigned(json, "steps", verdict->steps);
    json_key(json, "roof_share");
    if (verdict->roof_share > 0)
        json_number(json, verdict->roof_share);
    else
        json_null(json);
    json_key(json, "findings");
    json_begin_array(json);
    for (size_t i = 0; i < verdict->count; i++)
        write_finding(json, report, &verdict->findings[i]);
    json_end_array(json);
    json_key(json, "missing");
    json_begin_array(json);
    for (size_t i = 0; i < verdict->missing_count; i++)
        json_string(json, verdict->missing[i]);
    json_end_array(json);
    json_end_object(json);
}
