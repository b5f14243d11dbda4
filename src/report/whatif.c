/* A prediction for people: before and after, what changed and on what assumptions, the account of
 * each device beside the measured one, and what is next in the way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format.h"
#include "base/table.h"
#include "report/whatif.h"
#include "report/text.h"
#include "report/wording.h"

struct writer {
    const struct whatif *whatif;
    struct output *output;
    bool markdown;
    unsigned width;
};

/* Words wrapped at the width; in Markdown one line behind `mark`. Names in them are the trace's:
 * neither writer lets them be more than words. */
static void write_marked(const struct writer *writer, const char *mark, const char *indent,
                         struct text words) {
    if (writer->markdown) {
        output_printf(writer->output, "%s", mark);
        table_markdown_text(writer->output, words);
        output_printf(writer->output, "\n\n");
        return;
    }
    struct report_style style = {.width = writer->width};
    struct status status = {0};
    struct text_writer text = {.report = writer->whatif->report,
                               .style = &style,
                               .output = writer->output,
                               .status = &status};
    text_wrapped(&text, indent, indent, words);
    output_require(writer->output, !text.failed);
}

static void paragraph(const struct writer *writer, const char *indent, struct text words) {
    write_marked(writer, "", indent, words);
}

static void write_fact(const struct writer *writer, const char *indent, const char *label,
                       const char *words) {
    struct buffer text = {0};
    if (words[0] == 0)
        return;
    buffer_printf(&text, "%s%s", label, words);
    paragraph(writer, indent, buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
}

/* A change as it is typed: "--fuse=*gelu*", "--faster gemm=2x". */
static void write_option(const struct change *change, struct buffer *text) {
    buffer_printf(text, "--%s", change_option(change->kind));
    if (change->kind == CHANGE_BATCH)
        buffer_printf(text, " %.0f", change->factor);
    else if (change->kind == CHANGE_FASTER)
        buffer_printf(text, " %.*s=%gx", TEXT_ARGS(change->pattern), change->factor);
    else if (change->pattern.length)
        buffer_printf(text, "=%.*s", TEXT_ARGS(change->pattern));
}

/* How many times as fast; 0 if the error is half of the new time or more: such a prediction does
 * not support a ratio. */
static double speedup(const struct outcome *outcome) {
    return outcome->after > 2 * outcome->error ? (double)outcome->before / (double)outcome->after
                                               : 0;
}

/* Appends what is known to be missing from the trace; false when nothing is. */
static bool write_losses(const struct report *report, struct buffer *text) {
    const struct data_quality *quality = &report->quality;
    const struct data_quality lost = {.dropped = quality->dropped,
                                      .unfinished = quality->unfinished,
                                      .missing_chunks = quality->missing_chunks,
                                      .damaged_bytes = quality->damaged_bytes,
                                      .truncated_bytes = quality->truncated_bytes,
                                      .truncated_source = quality->truncated_source};
    struct buffer note = {0};
    bool any = false;
    for (size_t cursor = 0; wording_quality_note(&lost, &cursor, &note); any = true) {
        buffer_string(text, any ? " "
                                : "The trace is incomplete; missing events are "
                                  "not replayed. ");
        buffer_text(text, buffer_as_text(&note));
    }
    text->failed |= note.failed;
    buffer_finish(&note);
    return any;
}

static void write_head(const struct writer *writer) {
    const struct report *report = writer->whatif->report;
    struct buffer text = {0}, part = {0};
    char time[FORMAT_SIZE];
    wording_selection(report, &part);
    buffer_printf(&text, "%s: %.*s%s, %s", report->options.trace_name,
                  TEXT_ARGS(buffer_as_text(&part)),
                  report->steady_by_default ? " (--steps all: the whole run)" : "",
                  format_duration(writer->whatif->unchanged.outcome.before, time));
    write_marked(writer, "# What if: ", "", buffer_as_text(&text));
    output_require(writer->output, !part.failed);
    buffer_finish(&part);
    buffer_clear(&text);
    if (write_losses(report, &text))
        paragraph(writer, "", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
    if (!writer->markdown)
        output_printf(writer->output, "\n");
}

static bool write_table(const struct writer *writer, const struct section *section,
                        const void *source, struct status *status) {
    struct section_style style = {.style = writer->markdown ? TABLE_MARKDOWN : TABLE_TEXT,
                                  .width = writer->width,
                                  .indent = 2};
    bool ok = section_write(section, source, &style, writer->output, status);
    output_printf(writer->output, "\n");
    return ok;
}

/* ---- changes and their outcomes ---- */

struct change_list {
    const struct ranked_change *rows;
    size_t count;
};

static const void *change_row(const void *source, size_t index) {
    const struct change_list *list = source;
    return index < list->count ? &list->rows[index] : NULL;
}

static struct value typed_option(const struct change *change, struct buffer *words) {
    write_option(change, words);
    return value_text(buffer_as_text(words));
}

static bool has_factor(const struct change *change) {
    return change->kind == CHANGE_FASTER || change->kind == CHANGE_BATCH;
}

#define CHANGE(name, ...) SECTION_VALUE(name, void, struct ranked_change, __VA_ARGS__)
CHANGE(change_kind,
       value_if(at->change.kind < CHANGE_COUNT, value_string(change_option(at->change.kind))))
CHANGE(change_name, value_if(at->change.pattern.length > 0, value_text(at->change.pattern)))
CHANGE(change_factor, value_if(has_factor(&at->change), value_real(at->change.factor)))
CHANGE(change_typed, typed_option(&at->change, words))
CHANGE(outcome_applies, value_integer(at->outcome.applicable))
CHANGE(outcome_before, value_integer(at->outcome.before))
CHANGE(outcome_after, value_integer(at->outcome.after))
CHANGE(outcome_error, value_integer(at->outcome.error))
CHANGE(outcome_speedup, value_if(speedup(&at->outcome) > 0, value_real(speedup(&at->outcome))))
CHANGE(outcome_touched, value_integer((int64_t)at->outcome.touched))
CHANGE(outcome_what, value_string(at->outcome.what))
CHANGE(outcome_shown, value_string(at->outcome.applicable ? at->outcome.what : "does not apply"))
CHANGE(outcome_assumes, value_string(at->outcome.assumes))
CHANGE(outcome_why_not, value_string(at->outcome.why_not))
CHANGE(outcome_device_bound, value_integer(at->outcome.device_bound))
CHANGE(outcome_next_cause, value_string(gap_cause_name(at->outcome.next_cause)))
CHANGE(outcome_next_kernel, value_text(at->outcome.next_kernel))
CHANGE(outcome_kernel_share, value_real(at->outcome.next_kernel_share))
CHANGE(outcome_copy_bound, value_integer(at->outcome.copy_bound))
CHANGE(outcome_direction, value_string(copy_direction_name(at->outcome.next_direction)))
CHANGE(outcome_rate, value_real(at->outcome.next_rate))

static const struct column change_columns[] = {
    {NULL, "change", UNIT_TEXT, COLUMN_FLEXIBLE | COLUMN_IN_PLACE, change_typed},
    {"change", NULL, UNIT_TEXT, COLUMN_OPTIONAL, change_kind},
    {"name", NULL, UNIT_TEXT, COLUMN_OPTIONAL, change_name},
    {"factor", NULL, UNIT_NUMBER, COLUMN_OPTIONAL, change_factor},
    {"applies", NULL, UNIT_BOOL, 0, outcome_applies},
    {"before_ns", NULL, UNIT_NS, 0, outcome_before},
    {"after_ns", "time", UNIT_NS, 0, outcome_after},
    {"error_ns", "\xC2\xB1", UNIT_NS, 0, outcome_error},
    {"times_as_fast", "speedup", UNIT_FACTOR, 0, outcome_speedup},
    {NULL, "what changes", UNIT_TEXT, COLUMN_FLEXIBLE, outcome_shown},
    {"touched", NULL, UNIT_COUNT, 0, outcome_touched},
    {"what", NULL, UNIT_TEXT, 0, outcome_what},
    {"assumes", NULL, UNIT_TEXT, 0, outcome_assumes},
    {"why_not", NULL, UNIT_TEXT, 0, outcome_why_not},
    {"device_bound", NULL, UNIT_BOOL, 0, outcome_device_bound},
    {"next_cause", NULL, UNIT_TEXT, 0, outcome_next_cause},
    {"next_kernel", NULL, UNIT_TEXT, 0, outcome_next_kernel},
    {"next_kernel_share", NULL, UNIT_SHARE, 0, outcome_kernel_share},
    {"copy_bound", NULL, UNIT_BOOL, 0, outcome_copy_bound},
    {"next_direction", NULL, UNIT_TEXT, 0, outcome_direction},
    {"next_bytes_per_second", NULL, UNIT_BYTES_PER_S, 0, outcome_rate},
    {0},
};
static const struct section changes = {
    .key = "changes", .title = "Changes", .columns = change_columns, .row = change_row};

/* ---- the account of a device ---- */

struct account_line {
    char name[40];
    int64_t before, after;
};

struct account_change {
    const struct outcome_device *before, *after;
    struct account_line lines[4 + CAUSE_COUNT];
    size_t count;
};

static const void *account_row(const void *source, size_t index) {
    const struct account_change *account = source;
    return index < account->count ? &account->lines[index] : NULL;
}

#define ACCOUNT(name, ...)                                                                         \
    SECTION_VALUE(name, struct account_change, struct account_line, __VA_ARGS__)
ACCOUNT(line_name, value_string(at->name))
ACCOUNT(line_before, value_integer(at->before))
ACCOUNT(line_before_share, value_ratio(at->before, of->before->window))
ACCOUNT(line_after, value_integer(at->after))
ACCOUNT(line_after_share, value_ratio(at->after, of->after->window))

static const struct column account_columns[] = {
    {NULL, "time", UNIT_TEXT, 0, line_name},           {NULL, "before", UNIT_NS, 0, line_before},
    {NULL, "share", UNIT_SHARE, 0, line_before_share}, {NULL, "after", UNIT_NS, 0, line_after},
    {NULL, "share", UNIT_SHARE, 0, line_after_share},  {0},
};
static const struct section account_section = {
    .key = "account", .title = "Account", .columns = account_columns, .row = account_row};

static void add_line(struct account_change *account, const char *indent, const char *name,
                     int64_t before, int64_t after) {
    struct account_line *line = &account->lines[account->count++];
    snprintf(line->name, sizeof line->name, "%s%s", indent, name);
    line->before = before;
    line->after = after;
}

static void fill_account(struct account_change *account) {
    const struct outcome_device *before = account->before, *after = account->after;
    add_line(account, "", "busy", before->busy, after->busy);
    if (before->exposed_communication || after->exposed_communication)
        add_line(account, "", "exposed communication", before->exposed_communication,
                 after->exposed_communication);
    add_line(account, "", "exposed copy", before->exposed_copy, after->exposed_copy);
    add_line(account, "", "idle", before->idle, after->idle);
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
        if (before->cause[cause] || after->cause[cause])
            add_line(account, "  ", wording_cause_short(cause), before->cause[cause],
                     after->cause[cause]);
}

static const struct outcome_device *device_of(const struct outcome *outcome, uint32_t device) {
    for (size_t i = 0; i < outcome->device_count; i++)
        if (outcome->devices[i].device == device)
            return &outcome->devices[i];
    return NULL;
}

static bool write_accounts(const struct writer *writer, const struct outcome *after,
                           struct status *status) {
    const struct report *report = writer->whatif->report;
    struct buffer name = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < report->device_count; i++) {
        struct account_change account = {
            .before = device_of(&writer->whatif->unchanged.outcome, report->devices[i].id),
            .after = device_of(after, report->devices[i].id)};
        if (!account.before || !account.after)
            continue;
        buffer_clear(&name);
        wording_device(report, i, &name);
        paragraph(writer, "  ", buffer_as_text(&name));
        fill_account(&account);
        ok = write_table(writer, &account_section, &account, status);
    }
    output_require(writer->output, !name.failed);
    buffer_finish(&name);
    return ok;
}

/* ---- sentences ---- */

static const char cut_mark[] = "\xE2\x80\xA6";

/* The kernel's short name, or its beginning. */
static void append_kernel(struct buffer *text, struct text name) {
    enum { LONGEST = 90 };
    struct status status = {0};
    size_t start = text->length;
    if (!kernel_short_name(name, text, &status) || text->length - start <= LONGEST)
        return;
    text->length = start + text_utf8_valid((struct text){text->data + start, LONGEST});
    buffer_string(text, cut_mark);
}

static void end_sentence(struct buffer *text) {
    size_t mark = sizeof cut_mark - 1;
    if (text->length < mark || memcmp(text->data + text->length - mark, cut_mark, mark) != 0)
        buffer_byte(text, '.');
}

static void write_next(const struct writer *writer, const struct outcome *outcome) {
    struct buffer text = {0};
    int64_t window = 0, idle = 0, copies = 0;
    char share[FORMAT_SIZE], part[FORMAT_SIZE];
    for (size_t i = 0; i < outcome->device_count; i++) {
        window += outcome->devices[i].window;
        idle += outcome->devices[i].idle;
        copies += outcome->devices[i].exposed_copy;
    }
    if (window == 0)
        return;
    if (outcome->copy_bound) {
        buffer_printf(&text,
                      "Next: copies take %s of the time while no kernel runs, mostly "
                      "%s",
                      format_percent(wording_share(copies, window), share),
                      copy_direction_name(outcome->next_direction));
        if (outcome->next_rate > 0)
            buffer_printf(&text, " at %s", format_rate(outcome->next_rate, part));
    } else if (outcome->device_bound) {
        buffer_printf(&text, "Next: the device is busy %s of the time",
                      format_percent(1 - wording_share(idle, window), share));
        if (outcome->next_kernel.length) {
            buffer_printf(&text, ", %s of the kernel time in ",
                          format_percent(outcome->next_kernel_share, part));
            append_kernel(&text, outcome->next_kernel);
        }
    } else {
        buffer_printf(&text, "Next: the device is still idle %s of the time, mostly in %s",
                      format_percent(wording_share(idle, window), share),
                      wording_cause_short(outcome->next_cause));
    }
    end_sentence(&text);
    paragraph(writer, "  ", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
}

static void write_verdict(const struct writer *writer, const struct outcome *outcome) {
    struct buffer text = {0};
    char before[FORMAT_SIZE], after[FORMAT_SIZE], error[FORMAT_SIZE];
    if (!outcome->applicable) {
        buffer_printf(&text, "Does not apply: %s.", outcome->why_not);
    } else {
        buffer_printf(&text, "%s -> %s", format_duration(outcome->before, before),
                      format_duration(outcome->after, after));
        if (speedup(outcome) > 0)
            buffer_printf(&text, ", %.2fx faster", speedup(outcome));
        buffer_printf(&text, " (±%s)", format_duration(outcome->error, error));
    }
    paragraph(writer, "  ", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
    if (!outcome->applicable)
        return;
    write_fact(writer, "  ", "Change: ", outcome->what);
    write_fact(writer, "  ", "Assumes: ", outcome->assumes);
    write_fact(writer, "  ", "Not included: ", outcome->why_not);
}

/* ---- the forms ---- */

static bool write_asked(const struct writer *writer, struct status *status) {
    const struct whatif *whatif = writer->whatif;
    struct buffer options = {0};
    for (size_t i = 0; i < whatif->count; i++) {
        if (i)
            buffer_byte(&options, ' ');
        write_option(&whatif->changes[i], &options);
    }
    buffer_byte(&options, 0);
    write_fact(writer, "", "", buffer_ok(&options, status) ? options.data : "");
    output_require(writer->output, !options.failed);
    buffer_finish(&options);
    const struct outcome *together = whatif_together(whatif);
    write_verdict(writer, together);
    if (!together->applicable)
        return true;
    if (!writer->markdown)
        output_printf(writer->output, "\n");
    struct change_list alone = {whatif->alone, whatif->count};
    if (whatif->count > 1) {
        paragraph(writer, "  ", TEXT("Each alone"));
        if (!write_table(writer, &changes, &alone, status))
            return false;
    }
    if (!write_accounts(writer, together, status))
        return false;
    write_next(writer, together);
    return true;
}

static void write_unchanged(const struct writer *writer) {
    const struct outcome *outcome = &writer->whatif->unchanged.outcome;
    struct buffer text = {0};
    char before[FORMAT_SIZE], after[FORMAT_SIZE];
    double off = wording_share(llabs(outcome->after - outcome->before), outcome->before);
    buffer_printf(&text,
                  "Replayed without a change: %s; measured: %s; off by %.2f %%. Name a change, "
                  "or try --all.",
                  format_duration(outcome->after, after), format_duration(outcome->before, before),
                  100 * off);
    paragraph(writer, "  ", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
    write_fact(writer, "  ", "Assumes: ", outcome->assumes);
    write_next(writer, outcome);
}

static bool write_all(const struct writer *writer, struct status *status) {
    const struct whatif *whatif = writer->whatif;
    size_t i = 0;
    while (i < whatif->ranked_count && whatif->ranked[i].outcome.applicable)
        i++;
    bool ok =
        i == 0 || write_table(writer, &changes, &(struct change_list){whatif->ranked, i}, status);
    if (i < whatif->ranked_count)
        paragraph(writer, "  ", TEXT("These do not apply:"));
    for (; i < whatif->ranked_count; i++) {
        struct buffer line = {0};
        buffer_printf(&line, "--%s: %s", change_option(whatif->ranked[i].change.kind),
                      whatif->ranked[i].outcome.why_not);
        write_marked(writer, "- ", "    ", buffer_as_text(&line));
        output_require(writer->output, !line.failed);
        buffer_finish(&line);
    }
    return ok;
}

bool whatif_print(const struct whatif *whatif, bool markdown, unsigned width, struct output *output,
                  struct status *status) {
    struct writer writer = {whatif, output, markdown, width};
    write_head(&writer);
    if (whatif->ranked)
        return write_all(&writer, status);
    if (whatif->count)
        return write_asked(&writer, status);
    write_unchanged(&writer);
    return true;
}

/* ---- JSON ---- */

#define DEVICE(name, ...) SECTION_VALUE(name, struct report, struct outcome_device, __VA_ARGS__)
DEVICE(device_key, value_text(model_device_key(&of->model, at->device)))
DEVICE(device_window, value_integer(at->window))
DEVICE(device_busy, value_integer(at->busy))
DEVICE(device_exposed_communication, value_integer(at->exposed_communication))
DEVICE(device_exposed_copy, value_integer(at->exposed_copy))
DEVICE(device_idle, value_integer(at->idle))

static const struct column device_columns[] = {
    {"device", NULL, UNIT_TEXT, 0, device_key},
    {"window_ns", NULL, UNIT_NS, 0, device_window},
    {"busy_ns", NULL, UNIT_NS, 0, device_busy},
    {"exposed_communication_ns", NULL, UNIT_NS, 0, device_exposed_communication},
    {"exposed_copy_ns", NULL, UNIT_NS, 0, device_exposed_copy},
    {"idle_ns", NULL, UNIT_NS, 0, device_idle},
    {0},
};
static const struct section devices = {.key = "devices", .columns = device_columns};

static bool write_device_json(struct json *json, const struct report *report,
                              const struct outcome_device *device, struct status *status) {
    json_begin_object(json);
    bool ok = section_write_json_row(&devices, report, device, json, status);
    json_key(json, "idle_causes_ns");
    json_begin_object(json);
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++)
        json_member_integer(json, gap_cause_name(cause), device->cause[cause]);
    json_end_object(json);
    json_end_object(json);
    return ok;
}

static bool write_change_json(struct json *json, const struct report *report,
                              const struct ranked_change *change, struct status *status) {
    json_begin_object(json);
    bool ok = section_write_json_row(&changes, NULL, change, json, status);
    json_key(json, "devices");
    json_begin_array(json);
    for (size_t i = 0; i < change->outcome.device_count; i++)
        ok = write_device_json(json, report, &change->outcome.devices[i], status) && ok;
    json_end_array(json);
    json_end_object(json);
    return ok;
}

static void write_head_json(struct json *json, const struct report *report) {
    struct buffer part = {0}, losses = {0};
    json_member_string(json, "trace", report->options.trace_name);
    wording_selection(report, &part);
    json_member_text(json, "part", buffer_as_text(&part));
    json_member_bool(json, "whole", !write_losses(report, &losses));
    json_member_text(json, "losses", buffer_as_text(&losses));
    output_require(json->output, !part.failed && !losses.failed);
    buffer_finish(&part);
    buffer_finish(&losses);
}

bool whatif_print_json(const struct whatif *whatif, struct output *output, struct status *status) {
    struct json json = {.output = output, .pretty = true};
    const struct report *report = whatif->report;
    struct ranked_change together = {.change.kind = CHANGE_COUNT};
    json_begin_object(&json);
    write_head_json(&json, report);
    json_key(&json, "unchanged");
    bool ok = write_change_json(&json, report, &whatif->unchanged, status);
    json_key(&json, "changes");
    json_begin_array(&json);
    for (size_t i = 0; i < whatif->count; i++)
        ok = write_change_json(&json, report, &whatif->alone[i], status) && ok;
    for (size_t i = 0; i < whatif->ranked_count; i++)
        ok = write_change_json(&json, report, &whatif->ranked[i], status) && ok;
    json_end_array(&json);
    if (whatif->count) {
        together.outcome = *whatif_together(whatif);
        json_key(&json, "together");
        ok = write_change_json(&json, report, &together, status) && ok;
    }
    json_end_object(&json);
    output_printf(output, "\n");
    return ok;
}
