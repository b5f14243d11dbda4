/* Nsight Compute's binary reports (.ncu-rep), versions 2020 to 2025: protobuf messages with their
 * lengths before them.
 *
 *   "NVR\0", length, file header
 *   blocks: length, block header, sources (modules with cubins), results (one for each launch)
 *
 * Metric names are indexes into one table of strings: those of all blocks so far. The value of a
 * metric may have instances; those of instructions carry the program counter. A report that ends
 * early keeps its complete blocks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/protobuf.h"
#include "import/ncu/ncu.h"

/* A longer message is damage. */
#define MESSAGE_MAX ((size_t)1 << 30)
/* Modules with longer cubins are skipped, and their instructions have no function and line. */
#define MODULE_MAX ((size_t)1 << 28)

struct report {
    struct ncu ncu;
    struct input input;
    uint32_t *names; /* ids in `strings`, by index in the report */
    size_t name_count, names_capacity;
    struct intern strings;
    struct ncu_modules modules;
    struct ncu_module *module; /* of the current result; NULL: unknown */
    uint64_t sources, results; /* in the current block */
    bool truncated;
    char tool[96];
};

/* ---- Framing ---- */

/* At least `size` unread bytes; false at the end of the file and on failure. */
static bool need(struct report *report, size_t size, struct status *status) {
    while (report->input.length < size) {
        if (report->input.at_end)
            return false;
        if (!input_more(&report->input, size + (1 << 20), status))
            return false;
    }
    return true;
}

/* The length before a message. */
static bool take_length(struct report *report, size_t *length, struct status *status) {
    if (!need(report, 4, status))
        return false;
    const unsigned char *bytes = (const unsigned char *)report->input.data;
    *length = bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
    input_consume(&report->input, 4);
    return true;
}

/* A message, until the next call. False: the file ends, which is `truncated`, or a failure. */
static bool take_message(struct report *report, struct text *message, struct status *status) {
    size_t length;
    report->truncated = true;
    if (!take_length(report, &length, status))
        return false;
    if (length > MESSAGE_MAX)
        return status_fail(status, STATUS_INPUT, "is damaged: a message of %zu bytes at %llu",
                           length, (unsigned long long)report->input.offset);
    if (!need(report, length, status))
        return false;
    *message = (struct text){report->input.data, length};
    report->truncated = false;
    return true;
}

static bool skip_bytes(struct report *report, size_t length, struct status *status) {
    while (length > 0) {
        if (!need(report, 1, status))
            return false;
        size_t part = length < report->input.length ? length : report->input.length;
        input_consume(&report->input, part);
        length -= part;
    }
    return true;
}

static bool is_damaged(struct report *report, const struct protobuf *message,
                       struct status *status) {
    if (message->damaged)
        status_fail(status, STATUS_INPUT, "is damaged: a message before byte %llu cannot be read",
                    (unsigned long long)report->input.offset);
    return message->damaged;
}

/* ---- Block header ---- */

static bool add_strings(struct report *report, struct text bytes, struct status *status) {
    struct protobuf table = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&table, &field)) {
        uint32_t id;
        if (field.number != 1 || field.type != PROTOBUF_BYTES)
            continue;
        if (!GROW(report->names, &report->names_capacity, report->name_count + 1, status) ||
            !intern_add(&report->strings, field.bytes, &id, status))
            return false;
        report->names[report->name_count++] = id;
    }
    return !is_damaged(report, &table, status);
}

/* The tool's version; command lines and host names are left where they are. */
static void read_session(struct report *report, struct text bytes) {
    struct protobuf session = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&session, &field)) {
        struct text key = TEXT(""), value = TEXT("");
        struct protobuf pair = protobuf_of(protobuf_text(&field));
        if (field.number != 8)
            continue;
        while (protobuf_next(&pair, &field)) {
            if (field.number == 1)
                key = protobuf_text(&field);
            else if (field.number == 2)
                value = protobuf_text(&field);
        }
        if (text_is(key, "Nsight Compute Target"))
            snprintf(report->tool, sizeof report->tool, "Nsight Compute %.*s",
                     (int)(value.length < 64 ? value.length : 64), value.data);
    }
}

static bool read_block_header(struct report *report, struct text bytes, struct status *status) {
    struct protobuf header = protobuf_of(bytes);
    struct protobuf_field field;
    report->sources = report->results = 0;
    while (protobuf_next(&header, &field)) {
        if (field.number == 1 && field.type == PROTOBUF_VARINT)
            report->sources = field.value;
        else if (field.number == 2 && field.type == PROTOBUF_VARINT)
            report->results = field.value;
        else if (field.number == 3)
            read_session(report, protobuf_text(&field));
        else if (field.number == 4 && !add_strings(report, protobuf_text(&field), status))
            return false;
    }
    return !is_damaged(report, &header, status);
}

/* ---- A result ---- */

/* A number as a double, field 3, or as an integer, field 5; a text, field 1. */
static bool read_value(struct text bytes, double *number, struct text *text) {
    struct protobuf value = protobuf_of(bytes);
    struct protobuf_field field;
    bool is_number = false;
    *text = TEXT("");
    while (protobuf_next(&value, &field)) {
        if (field.number == 1 && field.type == PROTOBUF_BYTES)
            *text = field.bytes;
        if (field.number == 3 && field.type == PROTOBUF_FIXED64)
            *number = protobuf_number(&field);
        else if (field.number == 5 && field.type == PROTOBUF_VARINT)
            *number = (double)field.value;
        else
            continue;
        is_number = isfinite(*number);
    }
    return is_number;
}

/* Metrics whose instances are instructions, of which findings name the line. */
static bool is_of_instructions(struct text name) {
    static const char not_issued[] = "_not_issued";
    static const char *const names[] = {"inst_executed",
                                        "thread_inst_executed",
                                        "memory_l1_wavefronts_shared",
                                        "memory_l1_wavefronts_shared_ideal",
                                        "memory_l2_theoretical_sectors_global",
                                        "memory_l2_theoretical_sectors_global_ideal",
                                        "memory_l2_theoretical_sectors_local",
                                        "smsp__branch_targets_threads_divergent"};
    if (text_starts(name, "smsp__pcsamp_warps_issue_stalled_"))
        return text_find(name, not_issued) < 0;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (text_is(name, names[i]))
            return true;
    return false;
}

/* An instance: the program counter (1) and its value (2). */
static bool read_instance(struct report *report, struct text name, struct text bytes,
                          struct status *status) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    double pc = 0, value = 0;
    struct ncu_place place;
    struct text text;
    while (protobuf_next(&message, &field)) {
        if (field.number == 1)
            read_value(protobuf_text(&field), &pc, &text);
        else if (field.number == 2)
            read_value(protobuf_text(&field), &value, &text);
    }
    if (!(value > 0) || !(pc > 0 && pc < 0x1p53))
        return true;
    if (!ncu_module_place(report->module, (uint64_t)pc, report->ncu.writer, &place, status))
        return false;
    return !place.function || ncu_instruction_number(&report->ncu, name, &place, value, status);
}

static bool read_instances(struct report *report, struct text name, struct text bytes,
                           struct status *status) {
    struct protobuf metric = protobuf_of(bytes);
    struct protobuf_field field;
    if (!report->module || !is_of_instructions(name))
        return true;
    while (protobuf_next(&metric, &field))
        if (field.number == 3 && !read_instance(report, name, protobuf_text(&field), status))
            return false;
    return true;
}

static bool read_metric(struct report *report, struct text bytes, struct status *status) {
    struct protobuf metric = protobuf_of(bytes);
    struct protobuf_field field;
    struct text name = TEXT(""), value = TEXT(""), text;
    double number;
    while (protobuf_next(&metric, &field)) {
        if (field.number == 1 && field.type == PROTOBUF_VARINT && field.value < report->name_count)
            name = intern_text(&report->strings, report->names[field.value]);
        else if (field.number == 2)
            value = protobuf_text(&field);
        else if (name.length && value.length)
            break; /* instances, which may be many */
    }
    bool is_number = read_value(value, &number, &text);
    if (text_is(name, "device__attribute_display_name"))
        report->ncu.launch.attributes.name = trace_writer_string(report->ncu.writer, text);
    if (!is_number || name.length == 0 || text_starts(name, "group:"))
        return true;
    return ncu_number(&report->ncu, name, ncu_unit_of_metric(name), number, status) &&
           read_instances(report, name, bytes, status);
}

static void read_size(struct text bytes, uint32_t size[3]) {
    struct protobuf message = protobuf_of(bytes);
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        if (field.number >= 1 && field.number <= 3 && field.type == PROTOBUF_VARINT &&
            field.value <= UINT32_MAX)
            size[field.number - 1] = (uint32_t)field.value;
}

/* The module of a result's kernel (15), whose id is field 1. It follows the metrics. */
static struct ncu_module *find_module(const struct report *report, struct text bytes) {
    struct protobuf result = protobuf_of(bytes);
    struct protobuf_field field, id;
    while (protobuf_next(&result, &field)) {
        struct protobuf kernel = protobuf_of(protobuf_text(&field));
        if (field.number == 15 && protobuf_next(&kernel, &id) && id.number == 1)
            return ncu_module_find(&report->modules, id.value);
    }
    return NULL;
}

/* The grid of old reports counts threads. The metrics launch__grid_dim, which come later, win. */
static bool read_result(struct report *report, struct text bytes, struct status *status) {
    struct protobuf result = protobuf_of(bytes);
    struct protobuf_field field;
    struct ncu_launch *launch = &report->ncu.launch;
    struct text names[3] = {TEXT(""), TEXT(""), TEXT("")};
    if (!ncu_launch_begin(&report->ncu, status))
        return false;
    report->module = find_module(report, bytes);
    while (protobuf_next(&result, &field)) {
        if (field.number >= 5 && field.number <= 7)
            names[field.number - 5] = protobuf_text(&field);
        else if (field.number == 10)
            read_size(protobuf_text(&field), launch->grid);
        else if (field.number == 11)
            read_size(protobuf_text(&field), launch->block);
        else if (field.number == 13 && !read_metric(report, protobuf_text(&field), status))
            return false;
        else if (field.number == 23)
            launch->stream = protobuf_integer(&field);
    }
    struct text name = names[2].length ? names[2] : names[1].length ? names[1] : names[0];
    launch->name = trace_writer_string(report->ncu.writer, name);
    return !is_damaged(report, &result, status);
}

/* ---- The file ---- */

static bool read_source(struct report *report, struct status *status) {
    size_t length;
    report->truncated = true;
    if (!take_length(report, &length, status))
        return false;
    if (length <= MODULE_MAX) {
        if (!need(report, length, status) ||
            !ncu_module_read(&report->modules, (struct text){report->input.data, length},
                             report->ncu.writer, status))
            return false;
    }
    if (!skip_bytes(report, length, status))
        return false;
    report->truncated = false;
    return true;
}

static bool read_payload(struct report *report, struct status *status) {
    struct text message;
    for (uint64_t i = 0; i < report->sources; i++)
        if (!read_source(report, status))
            return false;
    for (uint64_t i = 0; i < report->results; i++) {
        if (!take_message(report, &message, status))
            return false;
        if (!read_result(report, message, status))
            return false;
        input_consume(&report->input, message.length);
    }
    return true;
}

static bool read_blocks(struct report *report, struct status *status) {
    struct text message;
    while (need(report, 1, status)) {
        if (!take_message(report, &message, status) || !read_block_header(report, message, status))
            return false;
        input_consume(&report->input, message.length);
        if (!read_payload(report, status))
            return false;
    }
    return status->code == STATUS_OK;
}

/* A file that ends inside a block keeps what was complete. */
static bool read_file(struct report *report, struct status *status) {
    struct text header;
    if (!need(report, 4, status))
        return status->code == STATUS_OK
                   ? status_fail(status, STATUS_INPUT, "is not an Nsight Compute report")
                   : false;
    input_consume(&report->input, 4);
    bool ok = take_message(report, &header, status);
    if (ok) {
        input_consume(&report->input, header.length);
        ok = read_blocks(report, status);
    }
    if (!ok && report->truncated && status->code == STATUS_OK) {
        trace_writer_meta(report->ncu.writer, META_TRUNCATED,
                          TEXT("the report ends inside a block; complete launches were read"));
        ok = true;
    }
    return ok && ncu_launch_end(&report->ncu, status);
}

static bool report_run(const struct import_source *source, const struct import_options *options,
                       struct trace_writer *writer, struct status *status) {
    struct report report = {
        .ncu = {.writer = writer, .options = options, .entities.writer = writer},
        .tool = "Nsight Compute"};
    bool ok = input_open(&report.input, source->path, status) && read_file(&report, status);
    if (ok && report.ncu.launches == 0)
        ok = status_fail(status, STATUS_INPUT,
                         "is an Nsight Compute report without a kernel; did the program launch one "
                         "that ncu's filters select?");
    if (ok)
        ncu_write_meta(&report.ncu, text_of(report.tool));
    input_close(&report.input);
    memory_free(report.names);
    intern_finish(&report.strings);
    ncu_modules_finish(&report.modules);
    ncu_finish(&report.ncu);
    return ok;
}

static int report_detect(const struct import_source *source) {
    return source->head_length >= 4 && memcmp(source->head, "NVR\0", 4) == 0 ? 3 : 0;
}

const struct importer import_ncu_report = {
    .format = "ncu", .detect = report_detect, .run = report_run};
