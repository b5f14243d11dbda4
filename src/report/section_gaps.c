/* Why a device was idle: the causes of its gaps, the host code behind them, what the launching
 * thread did meanwhile, and the longest gaps one by one. */
#include "base/format.h"
#include "report/sections.h"
#include "report/wording.h"

/* ---- causes ---- */

/* A row points at the cause's time; its place there is the cause. */
static const void *cause_row(const void *source, size_t index) {
    const struct report_source *of = source;
    const struct gaps *gaps = &of->device->gaps;
    enum gap_cause order[CAUSE_COUNT];
    if (index >= CAUSE_COUNT)
        return NULL;
    gaps_rank_causes(gaps, order);
    return gaps->cause_time[order[index]] > 0 ? &gaps->cause_time[order[index]] : NULL;
}

static unsigned cause_of(const struct report_source *of, const int64_t *row) {
    return (unsigned)(row - of->device->gaps.cause_time);
}

/* Where most of a cause's time goes: the name, and its share where there are others. */
static struct value main_place(const struct report_source *of, unsigned cause,
                               struct buffer *words) {
    const struct gaps *gaps = &of->device->gaps;
    const struct gap_names *names = cause == CAUSE_HOST   ? &gaps->host_names
                                    : cause == CAUSE_SYNC ? &gaps->sync_names
                                                          : NULL;
    char share[FORMAT_SIZE];
    if (!names || names->count == 0 || names->list[0].text.length == 0)
        return value_none();
    buffer_text(words, names->list[0].text);
    buffer_printf(
        words, " (%s of it)",
        format_percent(wording_share(names->list[0].time, gaps->cause_time[cause]), share));
    return value_text(buffer_as_text(words));
}

#define CAUSE(name, ...) REPORT_VALUE(name, int64_t, __VA_ARGS__)
CAUSE(cause_name, value_string(gap_cause_name(cause_of(of, at))))
CAUSE(cause_words, value_string(wording_cause_short(cause_of(of, at))))
CAUSE(cause_time, value_integer(*at))
CAUSE(cause_share, value_real(wording_share(*at, of->device->gaps.total)))
CAUSE(cause_share_of_window, value_real(wording_share(*at, of->device->account.window)))
CAUSE(cause_gaps, value_integer((int64_t)of->device->gaps.cause_gaps[cause_of(of, at)]))
CAUSE(cause_meaning, value_string(wording_cause(cause_of(of, at))))
CAUSE(cause_place, main_place(of, cause_of(of, at), words))

static const struct column cause_columns[] = {
    REPORT_DEVICE_COLUMNS,
    {"cause", NULL, UNIT_TEXT, 0, cause_name},
    {NULL, "cause", UNIT_TEXT, 0, cause_words},
    {"share", "of idle", UNIT_SHARE, 0, cause_share},
    {"time_ns", "time", UNIT_NS, 0, cause_time},
    {"gaps", "gaps", UNIT_COUNT, COLUMN_WIDE, cause_gaps},
    {"share_of_window", "of window", UNIT_SHARE, COLUMN_WIDE, cause_share_of_window},
    {"meaning", "meaning", UNIT_TEXT, COLUMN_WIDE, cause_meaning},
    {"place", "mainly in", UNIT_TEXT, COLUMN_FLEXIBLE, cause_place},
    {0},
};

static bool gaps_note(const void *source, struct buffer *line) {
    const struct report_source *of = source;
    const struct gaps *gaps = &of->device->gaps;
    char text[FORMAT_PLURAL_SIZE];
    /* how even the gaps are matters only where there are some, and they take time */
    bool matters = gaps->count >= 8 && gaps->total > of->device->account.window / 20;
    if (gaps->count == 0)
        buffer_string(line, "none");
    else
        buffer_printf(line, "%s%s", format_plural(gaps->count, "gap", "gaps", text),
                      !matters                     ? ""
                      : wording_gaps_regular(gaps) ? " of similar lengths"
                                                   : " of very different lengths");
    return true;
}

static bool gaps_sentence(const void *source, size_t index, struct buffer *line) {
    const struct report_source *of = source;
    const struct gaps *gaps = &of->device->gaps;
    char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
    if (index > 0 || gaps->count == 0)
        return false;
    buffer_printf(line, "Median %s, 99th percentile %s, longest %s.",
                  format_duration(gaps->median, a), format_duration(gaps->p99, b),
                  format_duration(gaps->max, c));
    return true;
}

const struct section section_gaps = {.key = "gaps",
                                     .title = "Idle time by cause",
                                     .columns = cause_columns,
                                     .row = cause_row,
                                     .note = gaps_note,
                                     .sentence = gaps_sentence};

/* ---- names of host code and of calls ---- */

static const void *name_row(const struct gap_names *names, size_t index) {
    return index < names->count ? &names->list[index] : NULL;
}
static const void *host_code_row(const void *source, size_t index) {
    return name_row(&((const struct report_source *)source)->device->gaps.host_names, index);
}

#define NAME(name, ...) REPORT_VALUE(name, struct gap_name, __VA_ARGS__)
NAME(name_text, report_text(of, at->name))
NAME(name_words, at->name ? report_text(of, at->name) : value_string("(no range or sample)"))
NAME(name_time, value_integer(at->time))
NAME(name_gaps, value_integer((int64_t)at->gaps))
NAME(name_share, value_real(wording_share(at->time, of->device->gaps.total)))

static const struct column name_columns[] = {
    {"name", NULL, UNIT_TEXT, 0, name_text},
    {NULL, "of idle", UNIT_SHARE, 0, name_share},
    {"time_ns", "time", UNIT_NS, 0, name_time},
    {"count", "times", UNIT_COUNT, 0, name_gaps},
    {NULL, "where", UNIT_TEXT, COLUMN_FLEXIBLE, name_words},
    {0},
};

static bool host_code_note(const void *source, struct buffer *line) {
    const struct report_source *of = source;
    buffer_string(line, "by innermost range or sampled function");
    return of->device->gaps.host_names.count >= 2;
}

const struct section section_host_code = {.key = "host_code",
                                          .title = "Host code during idle time",
                                          .columns = name_columns,
                                          .row = host_code_row,
                                          .note = host_code_note,
                                          .rows = "names"};

/* ---- states of the launching thread ---- */

static const void *state_row(const void *source, size_t index) {
    const struct report_source *of = source;
    const struct gaps *gaps = &of->device->gaps;
    for (unsigned state = 0; gaps->states_known && state < STATES; state++)
        if (gaps->host_state[state].time > 0 && index-- == 0)
            return &gaps->host_state[state];
    return NULL;
}

#define STATE(name, ...) REPORT_VALUE(name, struct host_state, __VA_ARGS__)
STATE(state_name, value_string(wording_state((unsigned)(at - of->device->gaps.host_state))))
STATE(state_time, value_integer(at->time))
STATE(state_share, value_real(wording_share(at->time, of->device->gaps.cause_time[CAUSE_HOST])))
STATE(state_place, at->names.count && at->names.list[0].text.length
                       ? value_text(at->names.list[0].text)
                       : value_none())

static const struct column state_columns[] = {
    {"state", "thread", UNIT_TEXT, 0, state_name},
    {"share", "of host time", UNIT_SHARE, 0, state_share},
    {"time_ns", "time", UNIT_NS, 0, state_time},
    {"place", "mainly in", UNIT_TEXT, COLUMN_FLEXIBLE, state_place},
    {0},
};

static bool states_note(const void *source, struct buffer *line) {
    const struct gaps *gaps = &((const struct report_source *)source)->device->gaps;
    buffer_string(line, "while the device waited for host code");
    return gaps->states_known && gaps->cause_time[CAUSE_HOST] > 0;
}

const struct section section_thread_states = {.key = "thread_states",
                                              .title = "Launching thread",
                                              .columns = state_columns,
                                              .row = state_row,
                                              .note = states_note};

/* ---- the longest ---- */

static const void *gap_row(const void *source, size_t index) {
    const struct gaps *gaps = &((const struct report_source *)source)->device->gaps;
    return index < gaps->top_count ? &gaps->top[index] : NULL;
}

static struct value ended_by(const struct report_source *of, const struct gap *gap,
                             struct buffer *words) {
    const struct trace *trace = of->report->model.trace;
    struct status status;
    if (gap->next == NO_ROW)
        return value_none();
    struct text name = trace_text(trace, trace->activity.name[gap->next]);
    if (trace->activity.kind[gap->next] != ACTIVITY_KERNEL)
        return value_text(name);
    words->failed |= !kernel_short_name(name, words, &status);
    return value_text(buffer_as_text(words));
}

#define GAP(name, ...) REPORT_VALUE(name, struct gap, __VA_ARGS__)
GAP(gap_start, value_integer(at->start - of->report->model.first))
GAP(gap_length, value_integer(at->end - at->start))
GAP(gap_cause, value_string(gap_cause_name(gap_main_cause(at))))
GAP(gap_next, ended_by(of, at, words))

static const struct column gap_columns[] = {
    {"start_ns", "at", UNIT_NS, 0, gap_start},
    {"duration_ns", "length", UNIT_NS, 0, gap_length},
    {"cause", "cause", UNIT_TEXT, 0, gap_cause},
    {"next", "ended by", UNIT_TEXT, COLUMN_FLEXIBLE, gap_next},
    {0},
};

static bool longest_note(const void *source, struct buffer *line) {
    buffer_string(line, "times since the start of the run");
    return ((const struct report_source *)source)->device->gaps.top_count >= 2;
}

const struct section section_longest_gaps = {.key = "longest_gaps",
                                             .title = "Longest gaps",
                                             .columns = gap_columns,
                                             .row = gap_row,
                                             .note = longest_note,
                                             .rows_max = 5};
