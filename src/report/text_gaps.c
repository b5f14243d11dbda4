/* Why a device was idle: its gaps' causes, what the host's code was and whether its thread ran;
 * then the longest gaps and all names. */
#include <string.h>

#include "base/format.h"
#include "report/text.h"
#include "report/wording.h"

/* wording_cause() in the room of one line. */
static const char *short_cause(unsigned cause) {
    static const char *const phrases[CAUSE_COUNT] = {
        "host waited in a synchronising call",
        "host was allocating or freeing",
        "host was compiling or loading code",
        "host was in a blocking copy call",
        "host was inside launch calls",
        "host was in its own code",
        "queued, waiting for another queue",
        "queued: driver and device latency",
        "no launch record tells",
    };
    return phrases[cause];
}

/* "70% of it in train_step", under its cause; a name that is too long is cut. */
static void write_culprit(struct text_writer *writer, double share, const char *how,
                          struct text name) {
    char percent[FORMAT_SIZE];
    size_t room = writer->style->width - 48 - strlen(how);
    bool cut = name.length >= room;
    text_line(writer, "%*s%6s of it %s%s%.*s%s", 32, "", format_percent(share, percent), how,
              name.length ? "in " : "",
              (int)(cut ? text_utf8_valid((struct text){name.data, room - 1}) : name.length),
              name.data, cut ? "…" : "");
}

/* What most of a cause's time goes to. */
static void write_main_name(struct text_writer *writer, const struct gap_names *names,
                            int64_t whole) {
    if (names->count && names->list[0].text.length)
        write_culprit(writer, ratio(names->list[0].time, whole), "", names->list[0].text);
}

/* The host's own code by what the launching thread did: its states, most time first, and where. */
static void write_host_states(struct text_writer *writer, const struct gaps *gaps) {
    static const char *const phrases[STATES] = {"running ", "ready, not running ", "blocked ",
                                                "not known "};
    int64_t whole = gaps->cause_time[CAUSE_HOST];
    bool shown[STATES] = {0};
    for (unsigned turn = 0; turn < STATES; turn++) {
        unsigned most = STATES;
        for (unsigned state = 0; state < STATES; state++)
            if (!shown[state] && gaps->host_state[state].time > 0 &&
                (most == STATES || gaps->host_state[state].time > gaps->host_state[most].time))
                most = state;
        if (most == STATES || ratio(gaps->host_state[most].time, whole) < 0.01)
            break;
        shown[most] = true;
        write_culprit(writer, ratio(gaps->host_state[most].time, whole), phrases[most],
                      gaps->host_state[most].names.list[0].text);
    }
}

void text_gaps(struct text_writer *writer, const struct report_device *device) {
    const struct gaps *gaps = &device->gaps;
    char count[FORMAT_SIZE], median[FORMAT_SIZE], p99[FORMAT_SIZE], longest[FORMAT_SIZE];
    if (gaps->count == 0) {
        text_section(writer, "Why it was idle", "it never was");
        return;
    }
    /* how even the gaps are says something only where there are some, and they matter */
    bool telling = gaps->count >= 8 && gaps->total > device->account.window / 20;
    text_section(writer, "Why it was idle", "%s%s gap%s", format_count(gaps->count, count),
                 telling ? (wording_gaps_regular(gaps) ? " regular" : " irregular") : "",
                 gaps->count == 1 ? "" : "s");
    text_line(writer, "  median %s, p99 %s, longest %s", format_duration(gaps->median, median),
              format_duration(gaps->p99, p99), format_duration(gaps->max, longest));
    enum gap_cause order[CAUSE_COUNT];
    gaps_rank_causes(gaps, order);
    for (size_t i = 0; i < CAUSE_COUNT && gaps->cause_time[order[i]] > 0; i++) {
        unsigned cause = order[i];
        char share[FORMAT_SIZE], time[FORMAT_SIZE];
        double part = ratio(gaps->cause_time[cause], gaps->total);
        output_printf(writer->output, "  %-11s", gap_cause_name(cause));
        text_bar(writer, part, 12, RED);
        format_duration(gaps->cause_time[cause], time);
        text_line(writer, " %6s %*s%s  %s", format_percent(part, share), text_pad(time, 10), "",
                  time, short_cause(cause));
        if (part < 0.05)
            continue;
        if (cause == CAUSE_HOST && gaps->states_known)
            write_host_states(writer, gaps);
        else if (cause == CAUSE_HOST)
            write_main_name(writer, &gaps->host_names, gaps->cause_time[cause]);
        else if (cause == CAUSE_SYNC)
            write_main_name(writer, &gaps->sync_names, gaps->cause_time[cause]);
    }
}

static void write_host_names(struct text_writer *writer, const struct report_device *device) {
    const struct gaps *gaps = &device->gaps;
    const struct trace *trace = writer->report->model.trace;
    char text[FORMAT_SIZE];
    if (gaps->host_names.count < 2)
        return;
    text_section(writer, "Host code behind idle time", "by innermost range or sampled function");
    struct table table = {0};
    table_column(&table, "of idle", TABLE_RIGHT);
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "times", TABLE_RIGHT);
    table_column(&table, "where", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < gaps->host_names.count && i < writer->report->options.top; i++) {
        const struct gap_name *name = &gaps->host_names.list[i];
        table_cellf(&table, "%s", format_percent(ratio(name->time, gaps->total), text));
        table_cellf(&table, "%s", format_duration(name->time, text));
        table_cellf(&table, "%s", format_count(name->gaps, text));
        table_cell(&table,
                   name->name ? trace_text(trace, name->name) : TEXT("(no range or sample there)"));
    }
    text_table(writer, &table);
}

static void write_longest(struct text_writer *writer, const struct report_device *device) {
    const struct gaps *gaps = &device->gaps;
    const struct report *report = writer->report;
    const struct trace *trace = report->model.trace;
    size_t shown = report->options.top < 5 ? report->options.top : 5;
    char text[FORMAT_SIZE];
    if (gaps->top_count < 2)
        return;
    text_section(writer, "Longest gaps", "times from the start of the run");
    struct table table = {0};
    table_column(&table, "at", TABLE_RIGHT);
    table_column(&table, "length", TABLE_RIGHT);
    table_column(&table, "cause", TABLE_LEFT);
    table_column(&table, "ended by", TABLE_LEFT | TABLE_FLEXIBLE);
    for (size_t i = 0; i < gaps->top_count && i < shown; i++) {
        const struct gap *gap = &gaps->top[i];
        struct buffer name = {0};
        struct status status;
        table_cellf(&table, "%s", format_duration(gap->start - report->model.first, text));
        table_cellf(&table, "%s", format_duration(gap->end - gap->start, text));
        table_cellf(&table, "%s", gap_cause_name(gap_main_cause(gap)));
        if (gap->next != NO_ROW)
            writer->failed |= !kernel_short_name(trace_text(trace, trace->activity.name[gap->next]),
                                                 &name, &status);
        table_cell(&table, buffer_as_text(&name));
        buffer_finish(&name);
    }
    text_table(writer, &table);
}

void text_gap_details(struct text_writer *writer, const struct report_device *device) {
    write_longest(writer, device);
    write_host_names(writer, device);
}
