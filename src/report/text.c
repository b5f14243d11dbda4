/* The text report. By default a summary of one screen and a half: what was run, the verdict, the
 * findings, the account, the timeline, the top kernels, and what to trust. The tables are printed
 * on request, all (full) or by name (sections). */
#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/memory.h"
#include "report/wording.h"
#include "trace/writer.h"

void text_color(struct text_writer *writer, enum text_color color) {
    static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m", "\033[32m",
                                        "\033[33m", "\033[31m", "\033[36m"};
    if (writer->style->color)
        output_control(writer->output, codes[color]);
}

void text_words(struct text_writer *writer, struct text words) {
    while (words.length > 0) {
        struct text shown = text_next_printable(&words);
        output_write(writer->output, shown.data, shown.length);
    }
}

void text_line(struct text_writer *writer, const char *format, ...) {
    struct buffer line = {0};
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&line, format, arguments);
    va_end(arguments);
    struct text words = buffer_as_text(&line);
    if (text_starts(words, "\n")) {
        output_write(writer->output, "\n", 1);
        words = (struct text){words.data + 1, words.length - 1};
    }
    text_words(writer, words);
    output_write(writer->output, "\n", 1);
    writer->failed |= line.failed;
    buffer_finish(&line);
}

void text_section(struct text_writer *writer, const char *title, const char *note, ...) {
    struct buffer line = {0};
    va_list arguments;
    output_printf(writer->output, "\n");
    text_color(writer, BOLD);
    output_printf(writer->output, "%s", title);
    text_color(writer, PLAIN);
    va_start(arguments, note);
    buffer_vprintf(&line, note, arguments);
    va_end(arguments);
    output_printf(writer->output, "%s", line.length ? "  " : "");
    text_words(writer, buffer_as_text(&line));
    output_write(writer->output, "\n", 1);
    writer->failed |= line.failed;
    buffer_finish(&line);
}

void text_bar(struct text_writer *writer, double share, unsigned cells, enum text_color color) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned filled = (unsigned)(share * cells * 8 + 0.5), used = 0;
    if (share > 0 && filled == 0)
        filled = 1; /* little is not nothing */
    if (filled > cells * 8)
        filled = cells * 8;
    text_color(writer, color);
    for (; used < filled / 8; used++)
        output_printf(writer->output, "█");
    if (filled % 8) {
        output_printf(writer->output, "%s", eighths[filled % 8]);
        used++;
    }
    text_color(writer, PLAIN);
    output_printf(writer->output, "%*s", (int)(cells - used), "");
}

void text_table(struct text_writer *writer, struct table *table) {
    struct status status;
    table_write(table, TABLE_TEXT,
                &(struct table_layout){.width = writer->style->width, .indent = 2}, writer->output);
    writer->failed |= !table_ok(table, &status);
    table_finish(table);
}

void text_wrapped(struct text_writer *writer, const char *first, const char *rest,
                  struct text words) {
    size_t room = writer->style->width - strlen(first);
    while (words.length) {
        size_t take = words.length;
        if (table_text_width(words) > room) {
            take = 0;
            for (size_t i = 0; i < words.length; i++)
                if (words.data[i] == ' ' && table_text_width((struct text){words.data, i}) <= room)
                    take = i;
                else if (i > 4 * room)
                    break;
            if (take == 0)
                take = text_utf8_valid((struct text){words.data, room});
            if (take == 0)
                take = room;
        }
        text_line(writer, "%s%.*s", first, (int)take, words.data);
        first = rest;
        room = writer->style->width - strlen(rest);
        while (take < words.length && words.data[take] == ' ')
            take++;
        words.data += take;
        words.length -= take;
    }
}

bool text_write_section(struct text_writer *writer, const struct section *section,
                        const struct report_device *device, size_t rows) {
    struct report_source source = {writer->report, device};
    struct buffer line = {0};
    struct table table = {0};
    char count[FORMAT_SIZE];
    size_t left_out = 0;
    bool applies = !section->note || section->note(&source, &line);
    if (applies) {
        text_section(writer, section->title, "%.*s", TEXT_ARGS(buffer_as_text(&line)));
        if (section->columns)
            left_out = section_table(section, &source, rows, writer->style->width, &table);
        if (table_rows(&table) || table.failed)
            text_table(writer, &table);
        else
            table_finish(&table);
        if (left_out && section->rows)
            text_line(writer, "  %s more %s (--top N)", format_count(left_out, count),
                      section->rows);
        for (size_t i = 0; section->sentence; i++) {
            buffer_clear(&line);
            if (!section->sentence(&source, i, &line))
                break;
            text_wrapped(writer, "  ", "  ", buffer_as_text(&line));
        }
    }
    writer->failed |= line.failed;
    buffer_finish(&line);
    return applies;
}

/* ---- the head ---- */

/* "torch.profiler, NVIDIA H200, 584 ms" */
static void write_origin(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct trace *trace = report->model.trace;
    struct text tool = trace_meta(trace, META_SOURCE_TOOL);
    struct buffer line = {0};
    char span[FORMAT_SIZE], paused[FORMAT_SIZE];
    buffer_text(&line, tool.length ? tool : trace_meta(trace, META_SOURCE_FORMAT));
    if (report->device_count) {
        struct text name = trace_text(trace, trace->device.name[report->devices[0].id]);
        if (report->device_count > 1)
            buffer_printf(&line, "%s%zu devices", line.length ? ", " : "", report->device_count);
        if (name.length)
            buffer_printf(&line, "%s%.*s", line.length ? ", " : "", TEXT_ARGS(name));
    }
    int64_t run = report->model.last - report->model.first - report->pauses.time;
    format_duration(report->model.recordings > 1 ? report_wall(report) : run, span);
    if (report->model.recordings > 1)
        buffer_printf(&line, "%s%u recordings, %s in all", line.length ? ", " : "",
                      (unsigned)report->model.recordings, span);
    else if (run > 0 || report->device_count)
        buffer_printf(&line, "%s%s", line.length ? ", " : "", span);
    if (report->pauses.time)
        buffer_printf(&line, ", paused for %s", format_duration(report->pauses.time, paused));
    text_wrapped(writer, "  ", "  ", buffer_as_text(&line));
    writer->failed |= line.failed;
    buffer_finish(&line);
}

/* The one part of the run that all figures are about. */
static void write_scope(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct verdict *verdict = &report->verdict;
    struct buffer part = {0};
    char time[FORMAT_SIZE], step[FORMAT_SIZE];
    wording_selection(report, &part);
    if (verdict->count && verdict->time)
        buffer_printf(&part, ": %s", format_duration(verdict->time, time));
    if (verdict->count && verdict->steps)
        buffer_printf(&part, ", %s a step",
                      format_duration(verdict->time / (int64_t)verdict->steps, step));
    text_wrapped(writer, "  Judged: ", "    ", buffer_as_text(&part));
    if (report->steady_by_default)
        text_line(writer, "  (--steps all judges the whole run)");
    else if (report->steps_remark)
        text_line(writer,
                  "  (the %zu steps found are less than half of it; --steps steady judges "
                  "them)",
                  report->steps.count);
    writer->failed |= part.failed;
    buffer_finish(&part);
}

static void write_head(struct text_writer *writer) {
    const struct report *report = writer->report;
    struct text command = trace_meta(report->model.trace, META_COMMAND);
    text_color(writer, BOLD);
    text_words(writer, text_of(report->options.trace_name));
    text_color(writer, PLAIN);
    output_printf(writer->output, "\n");
    write_origin(writer);
    if (command.length) {
        size_t room = writer->style->width - 3;
        bool cut = command.length > room;
        if (cut)
            command.length = text_utf8_valid((struct text){command.data, room});
        text_line(writer, "  %.*s%s", TEXT_ARGS(command), cut ? "…" : "");
    }
    write_scope(writer);
}

/* A GPU that the trace does not list may have worked unrecorded: nothing is written about it. */
static void write_no_device(struct text_writer *writer) {
    const struct trace *trace = writer->report->model.trace;
    bool listed = false;
    for (size_t id = 1; id < trace->device.count; id++)
        listed |= trace->device.listed[id];
    if (trace->activity.count > 0)
        text_line(writer, "\nNo device activity was recorded in this part of the run.");
    else if (trace->call.count + trace->range.count + trace->sample.count + trace->mark.count +
                 trace->counter.count + trace->memory.count + trace->state.count +
                 trace_rows(trace, TABLE_METRIC) + trace_rows(trace, TABLE_ALLOCATION) ==
             0)
        text_line(writer, "\nThe trace holds no events.");
    else if (trace->call.count ||
             (listed && trace->range.count + trace->sample.count + trace->state.count > 0))
        text_line(writer, "\nNo kernel or copy was recorded.");
}

static void write_trust(struct text_writer *writer) {
    const struct data_quality *quality = &writer->report->quality;
    struct buffer note = {0};
    size_t cursor = 0;
    text_section(writer, "Trust", "%s",
                 data_quality_is_clean(quality) ? "nothing is known to be lost" : "see below");
    while (wording_quality_note(quality, &cursor, &note))
        text_wrapped(writer, "  - ", "    ", buffer_as_text(&note));
    writer->failed |= note.failed;
    buffer_finish(&note);
}

/* ---- parts ---- */

static bool is_listed(const char *sections, const char *name) {
    size_t length = strlen(name);
    for (const char *at = sections; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
        if (!*at)
            break;
    }
    return false;
}

static void write_device_part(struct text_writer *writer, const struct report_part *part,
                              const struct report_device *device) {
    if (strcmp(part->name, "timeline") == 0)
        text_timeline(writer, device);
    if (strcmp(part->name, "account") == 0)
        text_account(writer, device);
    for (size_t i = 0; part->sections[i]; i++)
        text_write_section(writer, part->sections[i], device, writer->report->options.top);
}

static void write_part(struct text_writer *writer, const struct report_part *part) {
    const struct report *report = writer->report;
    if (strcmp(part->name, "findings") == 0)
        text_findings(writer);
    if (strcmp(part->name, "trust") == 0)
        write_trust(writer);
    for (size_t i = 0; !part->per_device && part->sections[i]; i++)
        text_write_section(writer, part->sections[i], NULL, report->options.top);
    for (size_t i = 0; part->per_device && i < report->device_count; i++) {
        struct buffer name = {0};
        if (report->device_count > 1) {
            wording_device(report, i, &name);
            text_line(writer, "\n%.*s", TEXT_ARGS(buffer_as_text(&name)));
        }
        writer->failed |= name.failed;
        buffer_finish(&name);
        write_device_part(writer, part, &report->devices[i]);
    }
}

/* Whether the part has anything to print for this trace. */
static bool applies(const struct report *report, const struct report_part *part) {
    struct buffer line = {0};
    bool any = strcmp(part->name, "trust") == 0 ||
               (strcmp(part->name, "findings") == 0
                    ? report->verdict.count > 0
                    : part->per_device && !part->sections[0] && report->device_count > 0);
    for (size_t i = 0; !any && part->sections[i]; i++)
        for (size_t d = 0; d < (part->per_device ? report->device_count : 1) && !any; d++) {
            struct report_source source = {report, part->per_device ? &report->devices[d] : NULL};
            buffer_clear(&line);
            any = !part->sections[i]->note || part->sections[i]->note(&source, &line);
        }
    buffer_finish(&line);
    return any;
}

static void write_parts(struct text_writer *writer, const char *sections) {
    for (const struct report_part *part = report_parts; part->name; part++)
        if (!sections || is_listed(sections, part->name)) {
            write_part(writer, part);
            if (sections && !applies(writer->report, part))
                text_line(writer, "\nNo data for '%s' in this trace.", part->name);
        }
}

/* ---- the summary: one screen and a half ---- */

enum { SUMMARY_ROWS = 5 };

static void write_more(struct text_writer *writer) {
    struct buffer names = {0};
    for (const struct report_part *part = report_parts; part->name; part++)
        if (applies(writer->report, part))
            buffer_printf(&names, "%s%s", names.length ? ", " : "", part->name);
    buffer_string(&names, ". --full prints all; -o page.html makes a page.");
    output_printf(writer->output, "\n");
    text_wrapped(writer, "More with --section: ", "  ", buffer_as_text(&names));
    writer->failed |= names.failed;
    buffer_finish(&names);
}

static void write_device_summary(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct report_device *busiest = &report->devices[0];
    for (size_t i = 1; i < report->device_count; i++)
        if (report->devices[i].account.busy > busiest->account.busy)
            busiest = &report->devices[i];
    if (!report->model.no_timeline && report->device_count > 1)
        text_devices(writer);
    else if (!report->model.no_timeline)
        text_account(writer, busiest);
    if (!report->model.no_timeline)
        text_timeline(writer, busiest);
    text_write_section(writer, &section_kernels, busiest, SUMMARY_ROWS);
    text_write_section(writer, &section_kernel_use, NULL, SUMMARY_ROWS);
}

static void write_host_summary(struct text_writer *writer) {
    if (writer->report->device_count == 0) {
        text_write_section(writer, &section_cpu_threads, NULL, SUMMARY_ROWS);
        text_write_section(writer, &section_cpu_waits, NULL, SUMMARY_ROWS);
    }
    if (!text_write_section(writer, &section_python, NULL, SUMMARY_ROWS))
        text_write_section(writer, &section_samples, NULL, SUMMARY_ROWS);
    else if (writer->report->device_count == 0)
        text_write_section(writer, &section_samples, NULL, SUMMARY_ROWS);
    if (writer->report->device_count == 0) {
        text_write_section(writer, &section_annotations, NULL, SUMMARY_ROWS);
        text_write_section(writer, &section_cpu_operators, NULL, SUMMARY_ROWS);
    }
}

static void write_summary(struct text_writer *writer) {
    if (writer->report->device_count)
        write_device_summary(writer);
    else
        write_host_summary(writer);
    write_trust(writer);
    write_more(writer);
}

bool report_check_sections(const char *sections, struct status *status) {
    for (const char *at = sections; at && *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        const struct report_part *part = report_parts;
        while (part->name &&
               !(strlen(part->name) == length && strncmp(part->name, at, length) == 0))
            part++;
        if (!part->name) {
            struct buffer names = {0};
            for (part = report_parts; part->name; part++)
                buffer_printf(&names, "%s%s", names.length ? ", " : "", part->name);
            status_fail(status, STATUS_USAGE, "there is no section '%.*s'; sections are %.*s",
                        (int)length, at, TEXT_ARGS(buffer_as_text(&names)));
            buffer_finish(&names);
            return false;
        }
        at += length;
    }
    return true;
}

bool report_write_text(const struct report *report, const struct report_style *style,
                       struct output *output, struct status *status) {
    struct report_style wide = *style;
    if (wide.width < 60)
        wide.width = 60;
    struct text_writer writer = {
        .report = report, .style = &wide, .output = output, .status = status};
    write_head(&writer);
    if (!style->sections)
        text_verdict(&writer, style->full);
    if (report->device_count == 0 && !style->sections)
        write_no_device(&writer);
    if (style->sections || style->full)
        write_parts(&writer, style->sections);
    else
        write_summary(&writer);
    return writer.failed ? status_no_memory(status) : true;
}
