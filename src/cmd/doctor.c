/* `ridge doctor`: what can be recorded here, and what would mend the rest? */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include <ridge.h>

#include "base/json_write.h"
#include "cmd/command.h"
#include "cmd/doctor.h"
#include "cmd/wrapped.h"

enum { NAME_WIDTH = 17, INDENT = 2 + 3 + 2 + NAME_WIDTH + 2 };

static void print_machine(struct output *output) {
    struct utsname machine;
    output_printf(output, "ridge %s", RIDGE_VERSION);
    if (uname(&machine) == 0)
        output_printf(output, " on %s %s, %s", machine.sysname, machine.release, machine.machine);
    output_printf(output, "\n\n");
}

static bool print_text(const struct doctor_facts *facts, struct output *output) {
    bool any = false;
    print_machine(output);
    for (const struct doctor_row *row = doctor_rows; row->name; row++) {
        struct doctor_finding finding;
        doctor_examine(facts, row, &finding);
        any |= finding.can && finding.records;
        output_printf(output, "  %-3s  %-*s  ", finding.can ? "yes" : "no", NAME_WIDTH,
                      finding.name);
        print_wrapped(output, finding.can ? finding.found : finding.step, INDENT);
    }
    return any;
}

static bool print_json(const struct doctor_facts *facts, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    bool any = false;
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.doctor");
    json_member_integer(&json, "version", 1);
    json_member_string(&json, "ridge", RIDGE_VERSION);
    json_key(&json, "backends");
    json_begin_array(&json);
    for (const struct doctor_row *row = doctor_rows; row->name; row++) {
        struct doctor_finding finding;
        doctor_examine(facts, row, &finding);
        any |= finding.can && finding.records;
        json_begin_object(&json);
        json_member_string(&json, "name", finding.name);
        json_member_bool(&json, "usable", finding.can);
        json_member_string(&json, "found", finding.found);
        json_member_string(&json, "step", finding.step);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_member_bool(&json, "can_record", any);
    json_end_object(&json);
    return any;
}

static int run(const struct command_line *line) {
    struct status status = {0};
    struct output output;
    struct doctor_facts facts;
    const char *format = command_value(line, "format");
    bool as_json = command_flag(line, "json") || (format && strcmp(format, "json") == 0);
    if (!output_open(&output, NULL, false, &status))
        return command_fail(line, &status);
    doctor_gather(&facts);
    bool any = as_json ? print_json(&facts, &output) : print_text(&facts, &output);
    if (!output_commit(&output, &status))
        return command_fail(line, &status);
    return any ? 0 : EXIT_ANSWER_NO;
}

static const struct command_option options[] = {
    {"format", 0, "text|json", "how to print it (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "Say what can be recorded here, and what would mend the rest",
    .details = "Goes through everything that ridge record and ridge import build on: the CUDA "
               "driver, CUPTI and the probe, the kernel's perf events, Python, OpenCL, and the "
               "libraries that other tools' traces need. Each gets a line: what was found, or what "
               "is in the way and the step that mends it. Changes nothing. The exit status is 1 "
               "when nothing at all can be recorded.",
    .examples = "ridge doctor\n"
                "ridge doctor --format json | jq -r '.backends[] | select(.usable | not) | .step'",
    .options = options,
    .run = run,
};
