/* The text report: first where the time went, on one screen; then the tables; last what to doubt.
 */
#include "report/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/memory.h"
#include "trace/writer.h"

void text_colour(struct text_writer *writer, enum text_colour colour) {
    static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m", "\033[32m",
                                        "\033[33m", "\033[31m", "\033[36m"};
    if (writer->style->colour)
        output_control(writer->output, codes[colour]);
}

void text_words(struct text_writer *writer, struct text words) {
    while (words.length > 0) {
        struct text shown = text_next_shown(&words);
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
    text_colour(writer, BOLD);
    output_printf(writer->output, "%s", title);
    text_colour(writer, PLAIN);
    va_start(arguments, note);
    buffer_vprintf(&line, note, arguments);
    va_end(arguments);
    output_printf(writer->output, "%s", line.length ? "  " : "");
    text_words(writer, buffer_as_text(&line));
    output_write(writer->output, "\n", 1);
    writer->failed |= line.failed;
    buffer_finish(&line);
}

void text_bar(struct text_writer *writer, double share, unsigned cells, enum text_colour colour) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned filled = (unsigned)(share * cells * 8 + 0.5), used = 0;
    if (share > 0 && filled == 0)
        filled = 1; /* little is not nothing */
    if (filled > cells * 8)
        filled = cells * 8;
    text_colour(writer, colour);
    for (; used < filled / 8; used++)
        output_printf(writer->output, "█");
    if (filled % 8) {
        output_printf(writer->output, "%s", eighths[filled % 8]);
        used++;
    }
    text_colour(writer, PLAIN);
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
        while (take < words.length && words.data[take] == ' ')
            take++;
        words.data += take;
        words.length -= take;
    }
}

/* ---- the head ---- */

static void write_head(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct trace *trace = report->model.trace;
    struct text tool = trace_meta(trace, META_SOURCE_TOOL);
    struct text format = trace_meta(trace, META_SOURCE_FORMAT);
    struct text command = trace_meta(trace, META_COMMAND);
    char span[FORMAT_SIZE], paused[FORMAT_SIZE];
    text_colour(writer, BOLD);
    text_words(writer, text_of(report->options.trace_name));
    text_colour(writer, PLAIN);
    struct text source = tool.length ? tool : format;
    output_printf(writer->output, "\n  ");
    text_words(writer, source);
    output_printf(writer->output, "%s", source.length ? ", " : "");
    if (trace->session_count > 1)
        text_line(writer, "%u recordings, %s in all", (unsigned)trace->session_count,
                  format_duration(report_wall(report), span));
    else
        text_line(writer, "run of %s%s%s",
                  format_duration(report->model.last - report->model.first, span),
                  report->pauses.time ? ", paused for " : "",
                  report->pauses.time ? format_duration(report->pauses.time, paused) : "");
    if (command.length) {
        size_t room = writer->style->width - 3;
        bool cut = command.length > room;
        if (cut)
            command.length = text_utf8_valid((struct text){command.data, room});
        text_line(writer, "  %.*s%s", TEXT_ARGS(command), cut ? "…" : "");
    }
    if (report->options.range)
        text_line(writer, "  only what was launched in range \"%s\" (%zu time%s)",
                  report->options.range, report->host_selection.count,
                  report->host_selection.count == 1 ? "" : "s");
    if (report->options.steps && strcmp(report->options.steps, "steady") == 0)
        text_line(writer, "  only the steady steps, %zu to %zu", report->steps.warm_up + 1,
                  report->steps.count);
    else if (report->options.steps)
        text_line(writer, "  only steps %s of %zu", report->options.steps, report->steps.count);
    if (report->options.window)
        text_line(writer, "  only the window %s", report->options.window);
}

static void write_no_device(struct text_writer *writer) {
    const struct report *report = writer->report;
    const struct trace *trace = report->model.trace;
    if (trace->activity.count > 0)
        text_line(writer, "\nNo device activity was recorded in this part of the run.");
    else if (trace->call.count + trace->range.count + trace->sample.count + trace->mark.count +
                 trace->counter.count + trace->memory.count + trace->state.count ==
             0)
        text_line(writer, "\nThe trace holds no events.");
    else
        text_line(writer, "\nNo device activity was recorded: this is the host's side only.");
}

bool report_write_text(const struct report *report, const struct report_style *style,
                       struct output *output, struct status *status) {
    struct report_style wide = *style;
    if (wide.width < 60)
        wide.width = 60;
    struct text_writer writer = {
        .report = report, .style = &wide, .output = output, .status = status};
    write_head(&writer);
    text_verdict(&writer);
    if (report->device_count == 0)
        write_no_device(&writer);
    for (size_t i = 0; i < report->device_count; i++)
        text_device(&writer, &report->devices[i]);
    text_verdict_details(&writer);
    for (size_t i = 0; i < report->device_count; i++)
        text_device_details(&writer, &report->devices[i]);
    text_host(&writer);
    text_trust(&writer);
    return writer.failed ? status_no_memory(status) : true;
}
