/* Bandwidths that depend on a size: of working sets and of transfers. */
#include "bench/print/print_roof_sizes.h"

#include <math.h>
#include <string.h>

/* ---- Working sets: a row for each ----------------------------------------------------------- */

static void fill_working_sets(struct table *table, const struct roofs *roofs, bool say_how) {
    char text[FORMAT_SIZE];
    table_column(table, "working set", TABLE_RIGHT);
    table_column(table, "bandwidth", TABLE_RIGHT);
    table_column(table, "±", TABLE_RIGHT);
    if (say_how)
        table_column(table, "how", TABLE_LEFT);
    for (unsigned i = 0; i < print_working_set_count(roofs); i++) {
        const struct working_set *set = &roofs->working_sets[i];
        bool has = print_roof_measured(&set->roof);
        table_cellf(table, "%s", format_bytes(set->bytes, text));
        table_cellf(table, "%s", has ? format_rate(set->roof.value, text) : "-");
        table_cellf(table, "%s", has ? format_percent(set->roof.spread, text) : "-");
        if (say_how)
            table_cell(table, text_of(print_roof_reason(&set->roof)));
    }
}

bool print_working_sets(const struct roofs *roofs, const struct print_style *style,
                        struct output *output, struct status *status) {
    struct table table = {0};
    bool markdown = style->style == TABLE_MARKDOWN;
    if (print_working_set_count(roofs) == 0)
        return true;
    fill_working_sets(&table, roofs, markdown);
    output_printf(output, "\n");
    table_write(&table, style->style, &(struct table_layout){.width = style->width}, output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    if (!markdown)
        print_paragraph(style, 0, "  ",
                        TEXT("bytes read, or read and written, repeatedly: the faster of the two; "
                             "the last row is memory"),
                        output);
    return ok;
}

/* ---- Transfers: a row for each size, a column for each way ---------------------------------- */

bool print_transfer_goes(const struct transfer_roof *transfer, unsigned method) {
    return transfer->to_device == (method < 2) && transfer->pinned == (method % 2 == 0);
}

static const char *method_name(unsigned method) {
    static const char *const names[TRANSFER_WAYS] = {"in, pinned", "in, pageable", "out, pinned",
                                                     "out, pageable"};
    return names[method];
}

static const struct transfer_roof *find_transfer(const struct roofs *roofs, uint64_t bytes,
                                                 unsigned method) {
    for (unsigned i = 0; i < print_transfer_count(roofs); i++)
        if (roofs->transfers[i].bytes == bytes && print_transfer_goes(&roofs->transfers[i], method))
            return &roofs->transfers[i];
    return NULL;
}

static bool seen_before(const struct roofs *roofs, unsigned index) {
    for (unsigned i = 0; i < index; i++)
        if (roofs->transfers[i].bytes == roofs->transfers[index].bytes)
            return true;
    return false;
}

static void add_transfer_cell(struct table *table, const struct transfer_roof *transfer) {
    char rate[FORMAT_SIZE];
    if (transfer && print_roof_measured(&transfer->roof))
        table_cellf(table, "%s ±%.0f %%", format_rate(transfer->roof.value, rate),
                    fmin(transfer->roof.spread * 100, 999));
    else
        table_cell(table, TEXT("-"));
}

static void fill_transfers(struct table *table, const struct roofs *roofs) {
    char size[FORMAT_SIZE];
    table_column(table, "transfer", TABLE_RIGHT);
    for (unsigned method = 0; method < TRANSFER_WAYS; method++)
        table_column(table, method_name(method), TABLE_RIGHT);
    for (unsigned i = 0; i < print_transfer_count(roofs); i++) {
        if (seen_before(roofs, i))
            continue;
        uint64_t bytes = roofs->transfers[i].bytes;
        table_cellf(table, "%s", format_bytes(bytes, size));
        for (unsigned method = 0; method < TRANSFER_WAYS; method++)
            add_transfer_cell(table, find_transfer(roofs, bytes, method));
    }
}

/* Below the table: the description of each method, once while it stays the same. */
static void write_methods(const struct roofs *roofs, const struct print_style *style,
                          struct output *output) {
    struct buffer line = {0};
    bool markdown = style->style == TABLE_MARKDOWN;
    if (markdown)
        output_printf(output, "\n");
    for (unsigned method = 0; method < TRANSFER_WAYS; method++) {
        const char *before = "";
        for (unsigned i = 0; i < print_transfer_count(roofs); i++) {
            const char *how = print_roof_reason(&roofs->transfers[i].roof);
            if (!print_transfer_goes(&roofs->transfers[i], method) || strcmp(how, before) == 0)
                continue;
            buffer_clear(&line);
            buffer_printf(&line, "%s: %s", method_name(method), how);
            print_paragraph(style, 0, markdown ? "- " : "  ", buffer_as_text(&line), output);
            before = how;
        }
    }
    output->failed |= line.failed;
    buffer_finish(&line);
}

bool print_transfers(const struct roofs *roofs, const struct print_style *style,
                     struct output *output, struct status *status) {
    struct table table = {0};
    if (print_transfer_count(roofs) == 0) {
        output_printf(output, "\nTransfers between host and device: not measured\n");
        return true;
    }
    fill_transfers(&table, roofs);
    output_printf(output, "\n");
    table_write(&table, style->style, &(struct table_layout){.width = style->width}, output);
    bool ok = table_ok(&table, status);
    table_finish(&table);
    write_methods(roofs, style, output);
    return ok;
}
