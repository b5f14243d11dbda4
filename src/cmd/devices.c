/* `ridge devices`: the devices for tensors on this machine, and what is missing for others. */
#include <string.h>

#include "base/memory.h"
#include "base/section.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
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

/* Usable devices only. */
static const void *usable_row(const void *source, size_t index) {
    const struct devices *devices = source;
    for (size_t i = 0; i < devices->count; i++)
        if (devices->rows[i].usable && index-- == 0)
            return &devices->rows[i];
    return NULL;
}

#define DEVICE(name, ...) SECTION_VALUE(name, struct devices, struct ridge_device_info, __VA_ARGS__)
DEVICE(device_name, value_string(at->name))
DEVICE(device_usable, value_integer(at->usable))
DEVICE(device_problem, value_if(!at->usable, value_string(at->problem)))
DEVICE(device_description, value_string(at->description))
DEVICE(device_driver, value_string(at->driver))
DEVICE(device_memory, value_if(at->memory_bytes > 0, value_integer((int64_t)at->memory_bytes)))
DEVICE(device_units, value_if(at->compute_units > 0, value_integer((int64_t)at->compute_units)))

static const struct column device_columns[] = {
    {"name", "device", UNIT_TEXT, 0, device_name},
    {"usable", NULL, UNIT_BOOL, 0, device_usable},
    {"problem", NULL, UNIT_TEXT, COLUMN_OPTIONAL, device_problem},
    {"description", "what it is", UNIT_TEXT, COLUMN_FLEXIBLE | COLUMN_IN_PLACE, device_description},
    {"driver", NULL, UNIT_TEXT, 0, device_driver},
    {"memory_bytes", "memory", UNIT_BYTES, COLUMN_OPTIONAL, device_memory},
    {"compute_units", "units", UNIT_COUNT, COLUMN_OPTIONAL, device_units},
    {0},
};
static const struct section usable_devices = {
    .key = "devices", .title = "Devices", .columns = device_columns, .row = usable_row};

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

static bool print_json(const struct devices *devices, struct output *output,
                       struct status *status) {
    struct json json = {.output = output, .pretty = true};
    bool ok = true;
    json_begin_object(&json);
    json_member_string(&json, "schema", "ridge.devices");
    json_member_integer(&json, "version", 1);
    json_key(&json, "devices");
    json_begin_array(&json);
    for (size_t i = 0; i < devices->count; i++) {
        json_begin_object(&json);
        ok = section_write_json_row(&usable_devices, devices, &devices->rows[i], &json, status) &&
             ok;
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return ok;
}

static bool print_text(const struct devices *devices, struct output *output,
                       struct status *status) {
    struct section_style style = {.style = TABLE_TEXT, .width = WRAPPED_WIDTH};
    bool ok = section_write(&usable_devices, devices, &style, output, status);
    print_unusable(devices, output);
    return ok;
}

static bool print(const struct devices *devices, bool as_json, struct status *status) {
    struct output output;
    if (!output_open(&output, NULL, false, status))
        return false;
    bool ok = as_json ? print_json(devices, &output, status) : print_text(devices, &output, status);
    return output_close(&output, ok, status);
}

static int run_devices(const struct command_line *line) {
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
    .summary = "List devices for the runtime, and what is missing for others",
    .details = "Lists every device that a program built with ridge can open here, by the name that "
               "ridge_device_open() and RIDGE_DEVICE take: the CPU, NVIDIA GPUs, and Metal, OpenCL "
               "and Vulkan devices. A "
               "kind of device that cannot be used is listed with the reason and a remedy.",
    .examples = "ridge devices\n"
                "ridge devices --format json | jq '.devices[] | select(.usable).name'",
    .options = options,
    .run = run_devices,
};
