/* The verdict at the top of the text report: two sentences and what was found, in a table; and
 * further down what a reader needs to act on the first findings. */
#include "base/format.h"
#include "report/text.h"
#include "report/wording.h"

static void write_sentences(struct text_writer *writer, const struct verdict *verdict) {
    output_printf(writer->output, "\n");
    text_color(writer, BOLD);
    text_wrapped(writer, "", "", text_of(verdict->manager));
    text_color(writer, PLAIN);
    text_wrapped(writer, "", "", text_of(verdict->engineer));
    if (verdict->caution)
        text_wrapped(writer, "", "", text_of(verdict->caution));
}

/* "1.234 ms  12.3%", right aligned. */
static void write_share(struct text_writer *writer, const struct verdict *verdict, int64_t time) {
    enum { TIME_WIDTH = 9, SHARE_WIDTH = 8 };
    char text[FORMAT_SIZE], share[FORMAT_SIZE];
    if (time <= 0) {
        output_printf(writer->output, "%*s", TIME_WIDTH + SHARE_WIDTH, "-");
        return;
    }
    format_duration(time, text);
    format_percent(wording_share(time, verdict->time), share);
    output_printf(writer->output, "%*s%s%*s%s", text_pad(text, TIME_WIDTH), "", text,
                  text_pad(share, SHARE_WIDTH), "", share);
}

enum { FINDINGS_MAX = 5 }; /* in the summary */

/* One line a finding, and beneath it the fix to begin with. */
static void write_row(struct text_writer *writer, const struct verdict *verdict, size_t number) {
    enum { TITLE_WIDTH = 41 };
    const struct finding *finding = &verdict->findings[number - 1];
    const char *title = finding_title(finding->kind);
    char rank[FORMAT_SIZE] = "·";
    if (!finding->minor)
        format_count(number, rank);
    output_printf(writer->output, "%*s%s  %-*s", text_pad(rank, 3), "", rank, TITLE_WIDTH, title);
    write_share(writer, verdict, finding->recoverable);
    write_share(writer, verdict, finding->additional);
    output_printf(writer->output, "\n");
    if (finding->fix_count && !finding->minor)
        text_wrapped(writer, "     ", "     ", text_of(finding->fixes[0].words));
    for (size_t i = 0; i < finding->evidence_count && !finding->minor; i++)
        if (finding->evidence[i].kind == EVIDENCE_LINE) {
            text_wrapped(writer, "     ", "     ", text_of(finding->evidence[i].words));
            break;
        }
}

void text_verdict(struct text_writer *writer, bool all) {
    const struct verdict *verdict = &writer->report->verdict;
    size_t shown = 0;
    if (verdict->count == 0)
        return;
    write_sentences(writer, verdict);
    text_section(writer, "Findings", "%s", "");
    output_printf(writer->output, "%46s%17s%17s\n", "", "gain alone", "additional");
    for (; shown < verdict->count && shown < writer->report->options.top; shown++) {
        if (!all && shown >= FINDINGS_MAX)
            break;
        write_row(writer, verdict, shown + 1);
    }
    if (verdict->count > shown)
        text_line(writer, "     %zu more: --section findings", verdict->count - shown);
    const char *order = verdict_order_words(verdict);
    if (order)
        text_wrapped(writer, "  ", "  ", text_of(order));
}

static void write_fix(struct text_writer *writer, const struct fix *fix) {
    struct buffer words = {0};
    buffer_printf(&words, "%s%s%s%s", fix->words, fix->command ? " (ridge whatif TRACE " : "",
                  fix->command ? fix->command : "", fix->command ? ")" : "");
    text_wrapped(writer, "  - ", "    ", buffer_as_text(&words));
    writer->failed |= words.failed;
    buffer_finish(&words);
}

static void write_finding(struct text_writer *writer, const struct finding *finding,
                          size_t number) {
    struct buffer line = {0};
    char error[FORMAT_SIZE];
    text_section(writer, finding_title(finding->kind), "finding %zu, confidence %s", number,
                 confidence_name(finding->confidence));
    buffer_printf(&line, "%s.", finding->summary ? finding->summary : "");
    text_wrapped(writer, "  ", "  ", buffer_as_text(&line));
    if (finding->cause)
        text_wrapped(writer, "  ", "  ", text_of(finding->cause));
    for (size_t i = 0; i < finding->evidence_count; i++)
        text_wrapped(writer, "  · ", "    ", text_of(finding->evidence[i].words));
    if (finding->recoverable > 0 && finding->error > 0) {
        buffer_clear(&line);
        buffer_printf(&line, "The prediction may be off by %s%s%s%s.",
                      format_duration(finding->error, error),
                      finding->assumes ? "; it assumes that " : "",
                      finding->assumes ? finding->assumes : "", "");
        text_wrapped(writer, "  ", "  ", buffer_as_text(&line));
    }
    if (finding->fix_count)
        text_line(writer, "  Fixes, in order of effort:");
    for (size_t i = 0; i < finding->fix_count; i++)
        write_fix(writer, &finding->fixes[i]);
    writer->failed |= line.failed;
    buffer_finish(&line);
}

void text_findings(struct text_writer *writer) {
    const struct verdict *verdict = &writer->report->verdict;
    for (size_t i = 0; i < verdict->count && i < writer->report->options.top; i++)
        if (!verdict->findings[i].minor)
            write_finding(writer, &verdict->findings[i], i + 1);
    if (verdict->missing_count)
        text_section(writer, "Unknown", "%s", "");
    for (size_t i = 0; i < verdict->missing_count; i++)
        text_wrapped(writer, "  - ", "    ", text_of(verdict->missing[i]));
}
