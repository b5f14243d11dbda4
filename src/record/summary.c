/* What did recording give, what not, and what did it cost? Three lines, one for each. */
#include "record/record.h"

#include <math.h>
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
    char text[FORMAT_PLURAL_SIZE];
    if (count > 0)
        buffer_printf(lines, "%s, ", format_plural(count, one, many, text));
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

/* With trampolines Python does not inline calls, so that they cost time in code that runs without
 * them, too. Samples in code that only trampolines run are a 15th to a third of their cost
 * (CPython 3.12 and 3.13, x86-64), and such samples are few: two standard deviations are added. A
 * call takes at most twice as long. */
static void python_cost(const struct record_summary *summary, double *low, double *high) {
    const struct perf_python *python = &summary->python;
    double samples = (double)summary->samples, seen = (double)python->trampolines;
    double deviation = 2 * sqrt(seen), limit = (double)python->interpreted / 2;
    double most = python->is_exact ? 15 * (seen + deviation + 2) : limit;
    *low = seen > deviation ? 3 * (seen - deviation) / samples : 0;
    *high = (most < limit ? most : limit) / samples;
    if (*low > *high)
        *low = *high;
}

static void describe_python(const struct record_summary *summary, struct buffer *lines) {
    char text[FORMAT_SIZE];
    double low = 0, high = 0;
    bool is_known = summary->python.interpreted > 0 && summary->samples > 0;
    if (!is_known && summary->python_maps == 0)
        return;
    buffer_string(lines, "; Python's perf trampolines took ");
    if (is_known)
        python_cost(summary, &low, &high);
    if (!is_known)
        buffer_string(lines, "an unknown part");
    else if (low >= 0.001)
        buffer_printf(lines, "%s to ", format_percent(low, text));
    else
        buffer_string(lines, "up to ");
    if (is_known)
        buffer_string(lines, format_percent(high, text));
    buffer_string(lines, " of that (--env PYTHONPERFSUPPORT=0 turns them off)");
}

static void describe_cost(const struct record_summary *summary, struct buffer *lines) {
    char time[FORMAT_SIZE], share[FORMAT_SIZE];
    buffer_printf(lines, "cost      %s of processor time to record",
                  format_duration(summary->recorder_ns, time));
    if (summary->target_ns > 0) {
        buffer_printf(lines, ", beside the program's %s",
                      format_duration(summary->target_ns, time));
        if (summary->samples > 0)
            buffer_string(lines, ", which includes sampling interrupts");
        describe_python(summary, lines);
    }
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
