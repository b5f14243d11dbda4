/* `ridge devices`: the devices for tensors on this machine, and what is missing for others. */
#include <string.h>

#include "base/format.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/table.h"
#include "cmd/command.h"
#include "cmd/wrapped.h"
#include "device/device.h"

enum { INDENT = 2 };

struct devices {
    struct ridge_device_info *rows;
    size_t count;
};

/* Devices may appear between the two calls: those that do not fit are omitted. */
static bool find_devices(struct devices *devices, struct status *status) {
    size_t capacity = device_list(NULL, 0);
    devices->rows = memory_allocate(capacity, sizeof *devices->rows, status);
    if (!devices->rows)
        return false;
    devices->count = device_list(devices->rows, capacity);
    if (devices->count > capacity)
        devices->count = capacity;
    return true;
}

static bool print_usable(const struct devices *devices, struct output *output,
                         struct status *status) {
    struct table table = {0};
    char text[FORMAT_SIZE];
    table_column(&table, "device", TABLE_LEFT);
    table_column(&table, "what it is", TABLE_LEFT | TABLE_FLEXIBLE);
    table_column(&table, "memory", TABLE_RIGHT);
    table_column(&table, "units", TABLE_RIGHT);
    for (size_t i = 0; i < devices->count; i++) {
        const struct ridge_device_info *row = &devices->rows[i];
        if (!row->usable)
            continue;
        table_cell(&table, text_of(row->name));
        table_cell(&table, text_of(row->description));
        table_cellf(&table, "%s", row->memory_bytes ? format_bytes(row->memory_bytes, text) : "-");
        table_cellf(&table, "%s",
                    row->compute_units ? format_count(row->compute_units, text) : "-");
    }
    table_write(&table, TABLE_TEXT, &(struct table_layout){.width = WRAPPED_WIDTH}, output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    return ok;
}

static void print_unusable(const struct devices *devices, struct output *output) {
    size_t widest = 0;
    for (size_t i = 0; i < devices->count; i++)
        if (!devices->rows[i].usable && strlen(devices->rows[i].name) > widest)
            widest = strlen(devices->rows[i].name);
    if (widest > 0)
        output_printf(output, "\nNot usable\n");
    for (size_t i = 0; i < devices->count; i++) {
        const struct ridge_device_info *row = &devices->rows[i];
        if (row->usable)
            continue;
        output_printf(output, "%*s%-*s  ", INDENT, "", (int)widest, row->name);
        print_wrapped(output, row->problem, INDENT + widest + 2);
    }
}

static void print_json(const struct devices *devices, struct output *output) {
    struct json json = {.output = output, .pretty = true};
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.devices");
    json_member_integer(&json, "version", 1);
    json_key(&json, "devices");
    json_begin_array(&json);
    for (size_t i = 0; i < devices->count; i++) {
        const struct ridge_device_info *row = &devices->rows[i];
        json_begin_object(&json);
        json_member_string(&json, "name", row->name);
        json_member_bool(&json, "usable", row->usable);
        if (!row->usable)
            json_member_string(&json, "problem", row->problem);
        json_member_string(&json, "description", row->description);
        json_member_string(&json, "driver", row->driver);
        if (row->memory_bytes)
            json_member_unsigned(&json, "memory_bytes", row->memory_bytes);
        if (row->compute_units)
            json_member_unsigned(&json, "compute_units", row->compute_units);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
}

static bool print(const struct devices *devices, bool as_json, struct status *status) {
    struct output output;
    if (!output_open(&output, NULL, false, status))
        return false;
    bool ok = true;
    if (as_json) {
        print_json(devices, &output);
    } else {
        ok = print_usable(devices, &output, status);
        print_unusable(devices, &output);
    }
    if (ok)
        return output_commit(&output, status);
    output_abandon(&output);
    return false;
}

static int run(const struct command_line *line) {
    struct status status = {0};
    struct devices devices = {0};
    const char *format = command_value(line, "format");
    bool as_json = command_flag(line, "json") || (format && strcmp(format, "json") == 0);
    bool ok = find_devices(&devices, &status) && print(&devices, as_json, &status);
    memory_free(devices.rows);
    return ok ? 0 : command_fail(line, &status);
}

static const struct command_option options[] = {
    {"format", 0, "text|json", "output format (default: text)"},
    {"json", 0, NULL, "short for --format json"},
    {0},
};

const struct command command_devices = {
    .name = "devices",
    .arguments = "",
    .summary = "List the devices for tensors, and what is missing for others",
    .details =
        "Lists every device that a program built with ridge can open here, by the name that "
        "ridge_device_open() and RIDGE_DEVICE take: the CPU, NVIDIA GPUs, and OpenCL devices. A "
        "kind of device that cannot be used is listed with the reason and a remedy.",
    .examples = "ridge devices\n"
                "ridge devices --format json | jq '.devices[] | select(.usable).name'",
    .options = options,
    .run = run,
};
