/* What did recording give, what not, and what did it cost? Three lines, one for each. */
#include "record/record.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/format.h"

void record_note(struct record_summary *summary, const char *format, ...) {
    va_list arguments;
    if (summary->note_count == RECORD_NOTES)
        return;
    va_start(arguments, format);
    vsnprintf(summary->notes[summary->note_count++], RECORD_NOTE_SIZE, format, arguments);
    va_end(arguments);
}

static void add_count(struct buffer *lines, uint64_t count, const char *one, const char *many) {
    char number[FORMAT_SIZE];
    if (count > 0)
        buffer_printf(lines, "%s %s, ", format_count(count, number), count == 1 ? one : many);
}

static void describe_content(const struct record_summary *summary, struct buffer *lines) {
    char time[FORMAT_SIZE], size[FORMAT_SIZE];
    buffer_string(lines, "recorded  ");
    add_count(lines, summary->processes, "process", "processes");
    add_count(lines, summary->kernels, "kernel", "kernels");
    add_count(lines, summary->copies, "copy", "copies");
    add_count(lines, summary->calls, "call", "calls");
    add_count(lines, summary->ranges, "range", "ranges");
    add_count(lines, summary->samples, "sample", "samples");
    buffer_printf(lines, "%s: %s (%s)\n", format_duration(summary->wall_ns, time), summary->path,
                  format_bytes(summary->bytes, size));
}

static void describe_losses(const struct record_summary *summary, struct buffer *lines) {
    char number[FORMAT_SIZE];
    buffer_string(lines, "missing   ");
    if (summary->lost)
        buffer_printf(lines, "%s events were lost", format_count(summary->lost, number));
    else if (summary->note_count == 0)
        buffer_string(lines, "nothing was lost");
    for (unsigned i = 0; i < summary->note_count; i++)
        buffer_printf(lines, "%s%s", i > 0 || summary->lost ? "; " : "", summary->notes[i]);
    buffer_byte(lines, '\n');
}

static void describe_cost(const struct record_summary *summary, struct buffer *lines) {
    char time[FORMAT_SIZE], share[FORMAT_SIZE];
    buffer_printf(lines, "cost      %s of processor time to record",
                  format_duration(summary->recorder_ns, time));
    if (summary->target_ns > 0)
        buffer_printf(lines, ", beside the program's %s",
                      format_duration(summary->target_ns, time));
    if (summary->probe_ns >= 0)
        buffer_printf(lines, "; %s inside the program (%s of its run)",
                      format_duration(summary->probe_ns, time),
                      format_percent(summary->wall_ns > 0
                                         ? (double)summary->probe_ns / (double)summary->wall_ns
                                         : 0,
                                     share));
    buffer_byte(lines, '\n');
}

void record_describe(const struct record_summary *summary, struct buffer *lines) {
    describe_content(summary, lines);
    describe_losses(summary, lines);
    describe_cost(summary, lines);
}
