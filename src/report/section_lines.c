/* The program's own lines: device time, idle time, waits and CPU time. */
#include "base/format.h"
#include "report/sections.h"

#define LINE(name, ...) REPORT_VALUE(name, struct source_line, __VA_ARGS__)
#define TRACE (of->report->model.trace)
LINE(line_file, report_text(of, TRACE->stack.file[at->frame]))
LINE(line_number, value_integer(TRACE->stack.line[at->frame]))
LINE(line_function, report_text(of, TRACE->stack.function[at->frame]))
LINE(line_source, report_text(of, TRACE->stack.source[at->frame]))
LINE(line_device, value_integer(at->device_time))
LINE(line_captured, at->captured_time ? value_integer(at->captured_time) : value_none())
LINE(line_backward, at->backward_time ? value_integer(at->backward_time) : value_none())
LINE(line_idle, value_integer(at->idle))
LINE(line_waits, value_integer((int64_t)at->waits))
LINE(line_wait_time, value_integer(at->wait_time))
LINE(line_call_time, value_integer(at->call_time))
LINE(line_calls, value_integer((int64_t)at->calls))
LINE(line_cpu, value_integer(at->cpu_time))
LINE(line_activities, value_integer((int64_t)at->activities))

/* "train.py:88 loss.item()" */
static struct value line_name(const void *source, const void *row, struct buffer *words) {
    const struct report_source *of = source;
    const struct source_line *at = row;
    lines_format(TRACE, at->frame, words);
    struct text text = trace_text(TRACE, TRACE->stack.source[at->frame]);
    if (text.length)
        buffer_printf(words, "  %.*s", TEXT_ARGS(text));
    return value_text(buffer_as_text(words));
}

static const struct column line_columns[] = {
    {"file", NULL, UNIT_TEXT, 0, line_file},
    {"line", NULL, UNIT_COUNT, 0, line_number},
    {"function", NULL, UNIT_TEXT, 0, line_function},
    {"source", NULL, UNIT_TEXT, 0, line_source},
    {"device_ns", "device", UNIT_NS, 0, line_device},
    {"captured_ns", "in graphs", UNIT_NS, COLUMN_OPTIONAL, line_captured},
    {"backward_ns", "backward", UNIT_NS, COLUMN_OPTIONAL, line_backward},
    {"idle_ns", "idle", UNIT_NS, 0, line_idle},
    {"wait_ns", "waits", UNIT_NS, 0, line_wait_time},
    {"waits", NULL, UNIT_COUNT, 0, line_waits},
    {"cpu_ns", "cpu", UNIT_NS, 0, line_cpu},
    {"calls", "calls", UNIT_COUNT, 0, line_calls},
    {"call_ns", NULL, UNIT_NS, 0, line_call_time},
    {"activities", NULL, UNIT_COUNT, 0, line_activities},
    {NULL, "line", UNIT_TEXT, COLUMN_FLEXIBLE, line_name},
    {0},
};

/* Of a program without recorded calls. */
static const struct column cpu_line_columns[] = {
    {"cpu_ns", "cpu", UNIT_NS, 0, line_cpu},
    {NULL, "line", UNIT_TEXT, COLUMN_FLEXIBLE, line_name},
    {0},
};

static const void *line_row(const void *source, size_t index) {
    const struct lines *lines = &((const struct report_source *)source)->report->lines;
    return index < lines->count ? &lines->list[index] : NULL;
}

static const void *called_line_row(const void *source, size_t index) {
    const struct lines *lines = &((const struct report_source *)source)->report->lines;
    return lines->calls || lines->device_time ? line_row(source, index) : NULL;
}

static const void *cpu_line_row(const void *source, size_t index) {
    return called_line_row(source, index) ? NULL : line_row(source, index);
}

static bool lines_note(const void *source, struct buffer *line) {
    const struct lines *lines = &((const struct report_source *)source)->report->lines;
    char count[FORMAT_PLURAL_SIZE], named[FORMAT_SIZE];
    buffer_string(line, format_plural(lines->count, "line", "lines", count));
    if (lines->device_time > 0)
        buffer_printf(
            line, ", with %s of the device time",
            format_percent((double)lines->named_time / (double)lines->device_time, named));
    if (lines->cpu_time > 0)
        buffer_printf(
            line, "%s %s of the sampled CPU time", lines->device_time > 0 ? " and" : ", with",
            format_percent((double)lines->named_cpu_time / (double)lines->cpu_time, named));
    return lines->count > 0;
}

static bool called_lines_note(const void *source, struct buffer *line) {
    return called_line_row(source, 0) && lines_note(source, line);
}

static bool cpu_lines_note(const void *source, struct buffer *line) {
    return cpu_line_row(source, 0) && lines_note(source, line);
}

static bool lines_sentence(const void *source, size_t index, struct buffer *line) {
    if (!called_line_row(source, 0))
        return false;
    const struct lines *lines = &((const struct report_source *)source)->report->lines;
    if (index == 0)
        buffer_string(line, "Device: work launched by the line. Idle: device idle time that ended "
                            "with such work. Waits: time in synchronizing calls. CPU: time of "
                            "samples in the line and in what it calls.");
    else if (index == 1 && lines->captured_time)
        buffer_string(line, "In graphs: work that the line captured into a CUDA graph. Its device "
                            "time is also that of the line that launches the graph.");
    else if (lines->backward_time && index == 1u + (lines->captured_time > 0))
        buffer_string(line, "Backward: work of the gradients of the line's operators. Its device "
                            "time is also that of the line that waits for the backward pass.");
    else
        return false;
    return true;
}

static bool cpu_lines_sentence(const void *source, size_t index, struct buffer *line) {
    if (!cpu_line_row(source, 0))
        return false;
    if (index == 0)
        buffer_string(line, "CPU: time of samples in the line and in what it calls.");
    return index == 0;
}

const struct section section_cpu_lines = {.key = "cpu_lines",
                                          .title = "Lines",
                                          .columns = cpu_line_columns,
                                          .row = cpu_line_row,
                                          .note = cpu_lines_note,
                                          .sentence = cpu_lines_sentence,
                                          .rows = "lines"};

const struct section section_called_lines = {.key = "lines",
                                             .title = "Lines",
                                             .columns = line_columns,
                                             .row = called_line_row,
                                             .note = called_lines_note,
                                             .sentence = lines_sentence,
                                             .rows = "lines"};

/* In JSON. */
const struct section section_lines = {.key = "lines",
                                      .title = "Lines",
                                      .columns = line_columns,
                                      .row = line_row,
                                      .note = lines_note,
                                      .sentence = lines_sentence,
                                      .rows = "lines"};
