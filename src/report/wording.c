/* The sentences of a report in one place. They say what was measured and what it means for the
 * figures; they never advise. */
#include "report/wording.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/format.h"
#include "trace/writer.h"

const char *wording_cause(unsigned cause) {
    static const char *const phrases[CAUSE_COUNT] = {
        "host blocked in a synchronizing call",
        "host in an allocation call",
        "host compiling or loading code",
        "host in a blocking copy call",
        "host in launch calls",
        "host running its own code",
        "queued, waiting for another stream",
        "queued, launch latency",
        "launch not recorded",
    };
    return cause < CAUSE_COUNT ? phrases[cause] : "?";
}

const char *wording_cause_short(unsigned cause) {
    static const char *const words[CAUSE_COUNT] = {
        "synchronization", "allocation", "compilation",    "blocking copies", "launch calls",
        "host code",       "dependency", "launch latency", "unknown",
    };
    return cause < CAUSE_COUNT ? words[cause] : "?";
}

const char *wording_state(unsigned state) {
    static const char *const phrases[STATES] = {"running", "ready, no core", "blocked", "unknown"};
    return state < STATES ? phrases[state] : "?";
}

/* At full occupancy nothing limits it that a user could change. */
char *wording_occupancy(const struct kernel_occupancy *occupancy,
                        char text[WORDING_OCCUPANCY_SIZE]) {
    char percent[FORMAT_SIZE];
    double mean = kernel_occupancy_mean(occupancy);
    if (!kernel_occupancy_known(occupancy))
        snprintf(text, WORDING_OCCUPANCY_SIZE, "-");
    else if (mean >= 0.9995)
        snprintf(text, WORDING_OCCUPANCY_SIZE, "%s", format_percent(mean, percent));
    else
        snprintf(text, WORDING_OCCUPANCY_SIZE, "%s, %s", format_percent(mean, percent),
                 occupancy_limit_name(kernel_occupancy_limit(occupancy)));
    return text;
}

const char *wording_wait_kind(unsigned kind) {
    static const char *const names[WAIT_KINDS] = {"Unknown", "Event Sync", "Stream Wait Event",
                                                  "Stream Sync", "Context Sync"};
    return kind < WAIT_KINDS ? names[kind] : "?";
}

static char *write_figure(enum counter_figure figure, const char *sign, double value,
                          char text[FORMAT_SIZE]) {
    if (figure == FIGURE_IPC)
        snprintf(text, FORMAT_SIZE, *sign ? "%s%.1f" : "%s%.2f", sign, value);
    else if (*sign)
        snprintf(text, FORMAT_SIZE, "%s%.0f %%", sign, 100 * value);
    else
        format_percent(value, text);
    return text;
}

char *wording_figure(const struct process_counters *process, enum counter_figure figure,
                     char text[FORMAT_SIZE]) {
    double value;
    if (counters_figure(process, figure, &value))
        return write_figure(figure, "", value, text);
    snprintf(text, FORMAT_SIZE, "-");
    return text;
}

char *wording_figure_target(enum counter_figure figure, char text[FORMAT_SIZE]) {
    const struct counter_figure_info *info = &counter_figures[figure];
    return write_figure(figure, info->above ? ">" : "<", info->target, text);
}

void wording_counted(const struct process_counters *process, struct buffer *text) {
    if (process->pid == 0) {
        buffer_string(text, "all processes");
        return;
    }
    buffer_printf(text, "%lld", (long long)process->pid);
    if (process->name.length) {
        buffer_byte(text, ' ');
        buffer_text(text, process->name);
    }
}

bool wording_gaps_regular(const struct gaps *gaps) {
    return gaps->count >= 3 && gaps->variation < 0.5;
}

static bool starts_with_digit(struct text text) {
    return text.length > 0 && text.data[0] >= '0' && text.data[0] <= '9';
}

void wording_device(const struct report *report, size_t i, struct buffer *name) {
    const struct trace *trace = report->model.trace;
    struct text key = model_device_key(&report->model, report->devices[i].id);
    struct text model = trace_text(trace, trace->device.name[report->devices[i].id]);
    if (starts_with_digit(key))
        buffer_string(name, "GPU ");
    buffer_text(name, key);
    if (model.length && !text_equal(model, key)) {
        buffer_string(name, " (");
        buffer_text(name, model);
        buffer_string(name, ")");
    }
}

bool wording_date(const struct report *report, char date[WORDING_DATE_SIZE]) {
    if (!text_is(trace_meta(report->model.trace, META_CLOCK_BASE), "unix") ||
        report->model.first <= 0)
        return false;
    time_t seconds = (time_t)(report->model.first / 1000000000);
    struct tm broken;
    return gmtime_r(&seconds, &broken) &&
           strftime(date, WORDING_DATE_SIZE, "%Y-%m-%d %H:%M:%S UTC", &broken) > 0;
}

void wording_selection(const struct report *report, struct buffer *text) {
    const struct report_options *options = &report->options;
    const struct steps *steps = &report->steps;
    size_t before = text->length;
    char count[FORMAT_PLURAL_SIZE];
    if (options->steps && strcmp(options->steps, "steady") == 0)
        buffer_printf(text, "steady steps %zu to %zu", steps->warm_up + 1, steps->count);
    else if (options->steps)
        buffer_printf(text, "steps %s of %zu", options->steps, steps->count);
    if (options->range)
        buffer_printf(text, "%srange %s (%s)", text->length > before ? ", " : "", options->range,
                      format_plural(report->host_selection.count, "time", "times", count));
    const char *const parts[][2] = {{"window ", options->window}, {"device ", options->device}};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        if (parts[i][1])
            buffer_printf(text, "%s%s%s", text->length > before ? ", " : "", parts[i][0],
                          parts[i][1]);
    if (text->length == before)
        buffer_string(text, "the whole run");
}

/* A count of something doubtful, and the sentence about it; %s is the count. */
struct counted_note {
    uint64_t count;
    const char *one, *many;
};

static void add_count(const struct counted_note *counted, struct buffer *note) {
    char count[FORMAT_SIZE];
    if (counted->count == 1)
        buffer_string(note, counted->one);
    else
        buffer_printf(note, "%s %s", format_count(counted->count, count), counted->many);
}

enum { COUNTED_NOTES = 11 };

static struct counted_note counted_note(const struct data_quality *quality, size_t which) {
    const struct counted_note notes[COUNTED_NOTES] = {
        {quality->dropped, "One event was lost while recording or importing: sums are too low.",
         "events were lost while recording or importing: counts and sums are too low."},
        {quality->unfinished,
         "One writer never finished: the recorder was stopped or killed, and its last events may "
         "be "
         "missing.",
         "writers never finished: the recorder was stopped or killed, and their last events may be "
         "missing."},
        {quality->missing_chunks, "One chunk of the trace is missing.",
         "chunks of the trace are missing."},
        {quality->repeated_chunks, "One chunk is in the file twice and was read once.",
         "chunks are in the file more than once and were read once."},
        {quality->damaged_bytes, "One byte of the trace is damaged and was left out.",
         "bytes of the trace are damaged and were left out."},
        {quality->truncated_bytes,
         "One byte at the end of the trace belongs to an unfinished chunk.",
         "bytes at the end of the trace belong to an unfinished chunk."},
        {quality->unknown_chunks, "One chunk has a type that this version does not support.",
         "chunks have types that this version does not support."},
        {quality->without_launch_early,
         "One activity was launched before recording began: why the device idled before it is "
         "unknown.",
         "activities were launched before recording began: why the device idled before them is "
         "unknown."},
        {quality->without_launch,
         "One activity has no launch record: why the device idled before it is unknown.",
         "activities have no launch record: why the device idled before them is unknown."},
        {quality->zero_length, "One kernel lasts 0 ns: the device's clock is too coarse for it.",
         "kernels last 0 ns: the device's clock is too coarse for them."},
        {quality->queue_overlaps, "One kernel starts before the previous one of its queue ends.",
         "kernels start before the previous one of their queue ends."},
    };
    return notes[which];
}

enum { FLAG_NOTES = 7 };

/* Appends the note of a fact that is no count; nothing when it does not hold. */
static void add_flag(const struct data_quality *quality, size_t which, struct buffer *note) {
    char count[FORMAT_SIZE], time[FORMAT_SIZE];
    switch (which) {
    case 0:
        if (quality->starts_before_launch)
            buffer_printf(note,
                          "%s %s before the call that launched %s, by up to %s: the clocks of "
                          "device and host disagree by at least that.",
                          format_count(quality->starts_before_launch, count),
                          quality->starts_before_launch == 1 ? "activity starts"
                                                             : "activities start",
                          quality->starts_before_launch == 1 ? "it" : "them",
                          format_duration(quality->starts_before_worst, time));
        break;
    case 1:
        if (quality->clock_error_known)
            buffer_printf(note, "Device times are within %s of host times.",
                          format_duration(quality->clock_error, time));
        break;
    case 2:
        if (quality->mixed_clocks)
            buffer_string(note, "The recordings share no clock: times of one cannot be compared "
                                "with times of another.");
        break;
    case 3:
        if (quality->no_calls)
            buffer_string(note, "No API calls were recorded: why the device idled is unknown.");
        break;
    case 4:
        if (quality->no_bytes)
            buffer_string(note, "Some copies have no recorded size: bytes are a lower bound, and "
                                "rates are those of the others.");
        break;
    case 5:
        if (quality->pauses)
            buffer_printf(note,
                          "Recording was paused %s%s, for %s: that time is excluded, and what "
                          "happened in it is unknown.",
                          quality->pauses == 1 ? "once" : format_count(quality->pauses, count),
                          quality->pauses == 1 ? "" : " times",
                          format_duration(quality->paused, time));
        break;
    default:
        if (quality->truncated_source.length) {
            buffer_string(note, "The source ended early: ");
            buffer_text(note, quality->truncated_source);
        }
    }
}

bool wording_quality_note(const struct data_quality *quality, size_t *cursor, struct buffer *note) {
    buffer_clear(note);
    while (note->length == 0 && !note->failed) {
        size_t at = (*cursor)++;
        if (at < COUNTED_NOTES) {
            struct counted_note counted = counted_note(quality, at);
            if (counted.count)
                add_count(&counted, note);
        } else if (at < COUNTED_NOTES + FLAG_NOTES) {
            add_flag(quality, at - COUNTED_NOTES, note);
        } else if (at - COUNTED_NOTES - FLAG_NOTES < quality->warning_count) {
            buffer_text(note, quality->warnings[at - COUNTED_NOTES - FLAG_NOTES]);
        } else {
            return false;
        }
    }
    return !note->failed;
}
