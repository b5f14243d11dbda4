/* The verdict as Markdown: the two sentences, a table, and each finding that is worth acting on. */
#include "report/markdown.h"

static void write_words(struct markdown *document, const char *before, const char *words,
                        const char *after) {
    output_printf(document->output, "%s", before);
    markdown_text(document, text_of(words ? words : ""));
    output_printf(document->output, "%s\n", after);
}

static void write_table(struct markdown *document, const struct verdict *verdict) {
    struct table table = {0};
    MARKDOWN_COLUMNS(&table, "#", "<finding", "gain alone", "share", "additional", "<confidence");
    for (size_t i = 0; i < verdict->count && i < document->top; i++) {
        const struct finding *finding = &verdict->findings[i];
        table_cellf(&table, "%zu", i + 1);
        table_cellf(&table, "%s%s", finding_title(finding->kind), finding->minor ? " (minor)" : "");
        if (finding->recoverable > 0) {
            markdown_duration(&table, finding->recoverable);
            markdown_share(&table, finding->recoverable, verdict->time);
            markdown_duration(&table, finding->additional);
        } else {
            for (unsigned cell = 0; cell < 3; cell++)
                table_cell(&table, TEXT("-"));
        }
        table_cellf(&table, "%s", confidence_name(finding->confidence));
    }
    markdown_table(document, &table);
}

static void write_finding(struct markdown *document, const struct finding *finding, size_t number) {
    char error[FORMAT_SIZE];
    markdown_line(document, "\n%zu. **%s**", number, finding_title(finding->kind));
    write_words(document, "   - ", finding->summary, ".");
    write_words(document, "   - Cause: ", finding->cause, "");
    for (size_t i = 0; i < finding->evidence_count; i++)
        write_words(document, "   - Evidence: ", finding->evidence[i].words, "");
    if (finding->recoverable > 0 && finding->error > 0)
        markdown_line(document, "   - The prediction may be off by %s",
                      format_duration(finding->error, error));
    for (size_t i = 0; i < finding->fix_count; i++) {
        const struct fix *fix = &finding->fixes[i];
        output_printf(document->output, "   - Fix (%s): ", effort_name(fix->effort));
        markdown_text(document, text_of(fix->words));
        if (fix->command)
            output_printf(document->output, "; `ridge whatif TRACE %s`", fix->command);
        output_printf(document->output, "\n");
    }
}

void markdown_verdict(struct markdown *document) {
    const struct verdict *verdict = &document->report->verdict;
    char time[FORMAT_SIZE];
    if (verdict->count == 0)
        return;
    markdown_line(document, "\n### Verdict\n");
    write_words(document, "**", verdict->manager, "**\n");
    write_words(document, "", verdict->engineer, "");
    if (verdict->caution)
        write_words(document, "\n", verdict->caution, "");
    markdown_line(document, "\nOf %s, %s:\n", verdict->part, format_duration(verdict->time, time));
    write_table(document, verdict);
    if (verdict_order_words(verdict))
        write_words(document, "\n", verdict_order_words(verdict), "");
    for (size_t i = 0; i < verdict->count; i++)
        if (!verdict->findings[i].minor)
            write_finding(document, &verdict->findings[i], i + 1);
    if (verdict->missing_count)
        markdown_line(document, "\nUnknown:\n");
    for (size_t i = 0; i < verdict->missing_count; i++)
        write_words(document, "- ", verdict->missing[i], "");
}
