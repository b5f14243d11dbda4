/* A diff as a comment on a pull request: the sentences, and the tables folded away. */
#include "base/format.h"
#include "base/min_max.h"
#include "compare/diff_sections.h"

static bool write_table(const struct section *section, const struct diff *diff, size_t rows,
                        struct output *output, struct status *status) {
    struct table table = {0};
    section_table(section, diff, rows, 0, &table);
    table_write(&table, TABLE_MARKDOWN, NULL, output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    output_printf(output, "\n");
    return ok;
}

static bool write_lines(const struct diff *diff, struct output *output, struct status *status) {
    enum { LINES_SHOWN = 5 };
    bool ok = true;
    for (size_t i = 0; i < diff->line_count && i < LINES_SHOWN && ok; i++) {
        struct buffer words = {0};
        diff_line_words(diff, &diff->lines[i], &words);
        output_printf(output, "- ");
        table_markdown_text(output, buffer_as_text(&words));
        output_printf(output, "\n");
        ok = buffer_ok(&words, status);
        buffer_finish(&words);
    }
    output_printf(output, "%s", diff->line_count ? "\n" : "");
    return ok;
}

bool diff_write_markdown(const struct diff *diff, size_t rows, struct output *output,
                         struct status *status) {
    size_t changed = 0;
    output_printf(output, "### ridge diff\n\n**");
    table_markdown_text(output, text_of(diff->headline));
    output_printf(output, "**\n\n");
    table_markdown_text(output, text_of(diff->second));
    output_printf(output, "\n\n");
    if (diff->prediction.asked) {
        table_markdown_text(output, text_of(diff->prediction.words));
        output_printf(output, "\n\n");
    }
    for (size_t i = 0; i < diff->condition_count; i++) {
        output_printf(output, "- ");
        table_markdown_text(output, text_of(diff->conditions[i].words));
        output_printf(output, "\n");
    }
    output_printf(output, "%s", diff->condition_count ? "\n" : "");
    bool ok = write_table(&diff_section_used_parts, diff, PART_COUNT, output, status);
    while (changed < diff->row_count && diff->rows[changed].change != 0)
        changed++;
    ok = ok && write_lines(diff, output, status);
    if (changed) {
        output_printf(output, "<details><summary>What changed</summary>\n\n");
        ok = ok && write_table(&diff_section_rows, diff, MIN(rows, changed), output, status);
        output_printf(output, "</details>\n");
    }
    return ok;
}
