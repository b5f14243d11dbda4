/* A prediction for people: before and after, what changed and on what assumptions, the account of
 * each device beside the measured one, and what is next in the way. */
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
static void marked(const struct writer *writer, const char *mark, const char *indent,
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
    marked(writer, "", indent, words);
}

static void say(const struct writer *writer, const char *indent, const char *label,
                const char *words) {
    struct buffer text = {0};
    if (words[0] == 0)
        return;
    buffer_printf(&text, "%s%s", label, words);
    paragraph(writer, indent, buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
}

void whatif_option(const struct change *change, struct buffer *text) {
    buffer_printf(text, "--%s", change_option(change->kind));
    if (change->kind == CHANGE_BATCH)
        buffer_printf(text, " %.0f", change->factor);
    else if (change->kind == CHANGE_FASTER)
        buffer_printf(text, " %.*s=%gx", TEXT_ARGS(change->pattern), change->factor);
    else if (change->pattern.length)
        buffer_printf(text, "=%.*s", TEXT_ARGS(change->pattern));
}

double whatif_speed_up(const struct outcome *outcome) {
    return outcome->after > 2 * outcome->error ? (double)outcome->before / (double)outcome->after
                                               : 0;
}

static void speed_cell(struct table *table, const struct outcome *outcome) {
    char ratio[FORMAT_SIZE];
    if (whatif_speed_up(outcome) > 0)
        table_cellf(table, "%s", format_ratio(whatif_speed_up(outcome), ratio));
    else
        table_cell(table, TEXT("-"));
}

bool whatif_losses(const struct report *report, struct buffer *text) {
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

static void head(const struct writer *writer) {
    const struct report *report = writer->whatif->report;
    struct buffer text = {0}, part = {0};
    char time[FORMAT_SIZE];
    wording_selection(report, &part);
    buffer_printf(&text, "%s: %.*s%s, %s", report->options.trace_name,
                  TEXT_ARGS(buffer_as_text(&part)),
                  report->steady_by_default ? " (--steps all: the whole run)" : "",
                  format_duration(writer->whatif->unchanged.before, time));
    marked(writer, "# What if: ", "", buffer_as_text(&text));
    output_require(writer->output, !part.failed);
    buffer_finish(&part);
    buffer_clear(&text);
    if (whatif_losses(report, &text))
        paragraph(writer, "", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
    if (!writer->markdown)
        output_printf(writer->output, "\n");
}

static void table_out(const struct writer *writer, struct table *table, unsigned indent) {
    table_write(table, writer->markdown ? TABLE_MARKDOWN : TABLE_TEXT,
                &(struct table_layout){.width = writer->width, .indent = indent}, writer->output);
    output_printf(writer->output, "\n");
}

/* ---- accounts ---- */

static const struct outcome_device *device_of(const struct outcome *outcome, uint32_t device) {
    for (size_t i = 0; i < outcome->device_count; i++)
        if (outcome->devices[i].device == device)
            return &outcome->devices[i];
    return NULL;
}

static void account_row(struct table *table, const char *name, int64_t before, int64_t after,
                        int64_t window_before, int64_t window_after) {
    char text[FORMAT_SIZE];
    table_cell(table, text_of(name));
    table_cell(table, text_of(format_duration(before, text)));
    table_cell(table, text_of(format_percent(wording_share(before, window_before), text)));
    table_cell(table, text_of(format_duration(after, text)));
    table_cell(table, text_of(format_percent(wording_share(after, window_after), text)));
}

static bool account(const struct writer *writer, size_t index, const struct outcome_device *before,
                    const struct outcome_device *after, struct status *status) {
    struct table table = {0};
    struct buffer title = {0};
    wording_device(writer->whatif->report, index, &title);
    buffer_byte(&title, 0);
    table_column(&table, buffer_ok(&title, status) ? title.data : "device", TABLE_FLEXIBLE);
    table_column(&table, "before", TABLE_RIGHT);
    table_column(&table, "", TABLE_RIGHT);
    table_column(&table, "after", TABLE_RIGHT);
    table_column(&table, "", TABLE_RIGHT);
    account_row(&table, "busy", before->busy, after->busy, before->window, after->window);
    account_row(&table, "exposed copy", before->exposed_copy, after->exposed_copy, before->window,
                after->window);
    account_row(&table, "idle", before->idle, after->idle, before->window, after->window);
    for (unsigned cause = 0; cause < CAUSE_COUNT; cause++) {
        char name[60] = "  ";
        strncat(name, gap_cause_name(cause), sizeof name - 3);
        if (before->cause[cause] || after->cause[cause])
            account_row(&table, name, before->cause[cause], after->cause[cause], before->window,
                        after->window);
    }
    table_out(writer, &table, 2);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    output_require(writer->output, !title.failed);
    buffer_finish(&title);
    return ok;
}

static bool accounts(const struct writer *writer, const struct outcome *after,
                     struct status *status) {
    const struct report *report = writer->whatif->report;
    for (size_t i = 0; i < report->device_count; i++) {
        const struct outcome_device *old =
            device_of(&writer->whatif->unchanged, report->devices[i].id);
        const struct outcome_device *new = device_of(after, report->devices[i].id);
        if (old && new && !account(writer, i, old, new, status))
            return false;
    }
    return true;
}

/* ---- sentences ---- */

static void next_bottleneck(const struct writer *writer, const struct outcome *outcome) {
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
        struct text kernel = outcome->next_kernel;
        buffer_printf(&text, "Next: the device is busy %s of the time",
                      format_percent(1 - wording_share(idle, window), share));
        if (kernel.length)
            buffer_printf(&text, ", %s of the kernel time in %.*s%s",
                          format_percent(outcome->next_kernel_share, part),
                          (int)(kernel.length < 90 ? kernel.length : 90), kernel.data,
                          kernel.length < 90 ? "" : "...");
    } else {
        buffer_printf(&text, "Next: the device is still idle %s of the time, mostly in %s",
                      format_percent(wording_share(idle, window), share),
                      wording_cause_short(outcome->next_cause));
    }
    buffer_byte(&text, '.');
    paragraph(writer, "  ", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
}

static void verdict(const struct writer *writer, const struct outcome *outcome) {
    struct buffer text = {0};
    char before[FORMAT_SIZE], after[FORMAT_SIZE], error[FORMAT_SIZE];
    if (!outcome->applicable) {
        buffer_printf(&text, "Does not apply: %s.", outcome->why_not);
    } else {
        buffer_printf(&text, "%s -> %s", format_duration(outcome->before, before),
                      format_duration(outcome->after, after));
        if (whatif_speed_up(outcome) > 0)
            buffer_printf(&text, ", %.2fx faster", whatif_speed_up(outcome));
        buffer_printf(&text, " (+-%s)", format_duration(outcome->error, error));
    }
    paragraph(writer, "  ", buffer_as_text(&text));
    output_require(writer->output, !text.failed);
    buffer_finish(&text);
    if (!outcome->applicable)
        return;
    say(writer, "  ", "Change: ", outcome->what);
    say(writer, "  ", "Assumes: ", outcome->assumes);
    say(writer, "  ", "Not included: ", outcome->why_not);
}

/* ---- the forms ---- */

static bool each_alone(const struct writer *writer, struct status *status) {
    const struct whatif *whatif = writer->whatif;
    struct table table = {0};
    char text[FORMAT_SIZE];
    table_column(&table, "alone", TABLE_FLEXIBLE);
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "speedup", TABLE_RIGHT);
    table_column(&table, "\xC2\xB1", TABLE_RIGHT);
    for (size_t i = 0; i < whatif->count; i++) {
        struct buffer option = {0};
        const struct outcome *outcome = &whatif->outcomes[i];
        whatif_option(&whatif->changes[i], &option);
        table_cell(&table, buffer_as_text(&option));
        output_require(writer->output, !option.failed);
        buffer_finish(&option);
        if (outcome->applicable) {
            table_cell(&table, text_of(format_duration(outcome->after, text)));
            speed_cell(&table, outcome);
            table_cell(&table, text_of(format_duration(outcome->error, text)));
        } else {
            table_cell(&table, TEXT("does not apply"));
            table_cell(&table, TEXT("-"));
            table_cell(&table, TEXT("-"));
        }
    }
    table_out(writer, &table, 2);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    return ok;
}

static bool asked_for(const struct writer *writer, struct status *status) {
    const struct whatif *whatif = writer->whatif;
    struct buffer options = {0};
    for (size_t i = 0; i < whatif->count; i++) {
        if (i)
            buffer_byte(&options, ' ');
        whatif_option(&whatif->changes[i], &options);
    }
    buffer_byte(&options, 0);
    say(writer, "", "", buffer_ok(&options, status) ? options.data : "");
    output_require(writer->output, !options.failed);
    buffer_finish(&options);
    verdict(writer, &whatif->together);
    if (!whatif->together.applicable)
        return true;
    if (!writer->markdown)
        output_printf(writer->output, "\n");
    if (whatif->count > 1 && !each_alone(writer, status))
        return false;
    if (!accounts(writer, &whatif->together, status))
        return false;
    next_bottleneck(writer, &whatif->together);
    return true;
}

static bool unchanged(const struct writer *writer, struct status *status) {
    const struct outcome *outcome = &writer->whatif->unchanged;
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
    say(writer, "  ", "Assumes: ", outcome->assumes);
    (void)status;
    next_bottleneck(writer, outcome);
    return true;
}

static bool all_changes(const struct writer *writer, struct status *status) {
    const struct whatif *whatif = writer->whatif;
    struct table table = {0};
    char text[FORMAT_SIZE];
    size_t i = 0;
    table_column(&table, "change", TABLE_FLEXIBLE);
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "speedup", TABLE_RIGHT);
    table_column(&table, "\xC2\xB1", TABLE_RIGHT);
    table_column(&table, "what changes", TABLE_FLEXIBLE);
    for (; i < whatif->ranked_count && whatif->ranked[i].outcome.applicable; i++) {
        const struct ranked_change *one = &whatif->ranked[i];
        struct buffer option = {0};
        whatif_option(&one->change, &option);
        table_cell(&table, buffer_as_text(&option));
        output_require(writer->output, !option.failed);
        buffer_finish(&option);
        table_cell(&table, text_of(format_duration(one->outcome.after, text)));
        speed_cell(&table, &one->outcome);
        table_cell(&table, text_of(format_duration(one->outcome.error, text)));
        table_cell(&table, text_of(one->outcome.what));
    }
    if (i)
        table_out(writer, &table, 2);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    if (i < whatif->ranked_count)
        paragraph(writer, "  ", TEXT("These do not apply:"));
    for (; i < whatif->ranked_count; i++) {
        struct buffer line = {0};
        buffer_printf(&line, "--%s: %s", change_option(whatif->ranked[i].change.kind),
                      whatif->ranked[i].outcome.why_not);
        marked(writer, "- ", "    ", buffer_as_text(&line));
        output_require(writer->output, !line.failed);
        buffer_finish(&line);
    }
    return ok;
}

bool whatif_print(const struct whatif *whatif, bool markdown, unsigned width, struct output *output,
                  struct status *status) {
    struct writer writer = {whatif, output, markdown, width};
    head(&writer);
    if (whatif->ranked)
        return all_changes(&writer, status);
    return whatif->count ? asked_for(&writer, status) : unchanged(&writer, status);
}
