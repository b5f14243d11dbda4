/* The measured roofs as tables: value, spread, vendor's figure, and how it was measured. A roof
 * that was not measured has a row with the reason.
 *
 * On a terminal the descriptions are below the figures, so that 80 columns are enough; Markdown
 * has a column for them; CSV has one table of plain numbers in base units.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/array.h"
#include "base/min_max.h"
#include "bench/print/print_parts.h"

enum { MOMENT_SIZE = 40 };

/* base/format.h scales bytes a second; operations scale alike under another unit. */
static char *scaled_rate(double value, const char *unit, char text[48]) {
    char bytes[FORMAT_SIZE];
    size_t length = strlen(format_rate(value, bytes));
    if (length > 3)
        snprintf(text, 48, "%.*s%s", (int)length - 3, bytes, unit);
    else
        snprintf(text, 48, "-");
    return text;
}

static char *latency(double ns, char text[48]) {
    char duration[FORMAT_SIZE];
    if (!isfinite(ns) || fabs(ns) > 9e18)
        snprintf(text, 48, "-");
    else if (ns < 99.95)
        snprintf(text, 48, "%.1f ns", ns);
    else
        snprintf(text, 48, "%s", format_duration(llround(ns), duration));
    return text;
}

char *print_roof_value(enum roof_kind kind, double value, char text[48]) {
    if (kind == ROOF_LATENCY)
        return latency(value, text);
    return scaled_rate(value, kind == ROOF_RATE ? "FLOP/s" : "B/s", text);
}

static const char *unit_of(enum roof_id roof) {
    switch (roof_infos[roof].kind) {
    case ROOF_BANDWIDTH:
        return "B/s";
    case ROOF_LATENCY:
        return "ns";
    default:
        return roof == ROOF_INT8 || roof == ROOF_MATRIX_INT8 || roof == ROOF_TRIGONOMETRY ||
                       roof == ROOF_EXPONENTIALS
                   ? "OP/s"
                   : "FLOP/s";
    }
}

char *print_value_of_roof(enum roof_id roof, double value, char text[48]) {
    if (roof_infos[roof].kind == ROOF_RATE)
        return scaled_rate(value, unit_of(roof), text);
    return print_roof_value(roof_infos[roof].kind, value, text);
}

char *print_moment(int64_t at, char text[40]) {
    time_t seconds = (time_t)at;
    struct tm local;
    if (at <= 0 || !localtime_r(&seconds, &local) ||
        strftime(text, MOMENT_SIZE, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(text, MOMENT_SIZE, "at an unknown time");
    return text;
}

static void write_heading(const struct roofs *roofs, const struct section_style *style,
                          struct output *output) {
    struct buffer line = {0};
    char moment[MOMENT_SIZE];
    bool markdown = style->style == TABLE_MARKDOWN;
    buffer_printf(
        &line, "%s (%s)%s%s", roofs->description[0] ? roofs->description : "unknown device",
        roofs->device[0] ? roofs->device : "-", roofs->driver[0] ? ", driver " : "", roofs->driver);
    print_paragraph(style, 0, markdown ? "## " : "", buffer_as_text(&line), output);
    if (markdown)
        output_printf(output, "\n");
    buffer_clear(&line);
    buffer_printf(&line, "measured%s %s; 'ridge peaks --refresh' measures again",
                  roofs->quick ? " quickly" : "", print_moment(roofs->measured_at, moment));
    print_paragraph(style, 0, "", buffer_as_text(&line), output);
    if (roofs->note[0])
        print_paragraph(style, 0, "", text_of(roofs->note), output);
    output->failed |= line.failed;
    buffer_finish(&line);
}

/* ---- Rows: roofs, working sets and transfers ---------------------------------------------------
 */

enum { TRANSFER_WAYS = 4, ROWS_MAX = ROOF_COUNT + WORKING_SETS_MAX + TRANSFERS_MAX };

static const struct transfer_way {
    const char *key, *name;
} transfer_ways[TRANSFER_WAYS] = {
    {"to_device_pinned", "in, pinned"},
    {"to_device_pageable", "in, pageable"},
    {"to_host_pinned", "out, pinned"},
    {"to_host_pageable", "out, pageable"},
};

struct roof_row {
    const char *key, *words, *unit;
    uint64_t bytes; /* 0: the roof has no size */
    enum roof_id id;
    enum roof_kind kind;
    const struct roof *roof;
};

struct roof_list {
    const struct roofs *roofs;
    bool explained; /* with a column that says how each was measured */
    struct roof_row rows[ROWS_MAX];
    size_t count;
};

static bool is_measured(const struct roof *roof) {
    return isfinite(roof->value) && roof->value > 0;
}

static bool is_stated(const struct roof *roof) {
    return isfinite(roof->stated) && roof->stated > 0;
}

/* How it was measured, or why not. */
static const char *reason(const struct roof *roof) {
    return roof->how[0] ? roof->how : is_measured(roof) ? "" : "not measured";
}

static unsigned working_set_count(const struct roofs *roofs) {
    return MIN(roofs->working_set_count, (unsigned)WORKING_SETS_MAX);
}

static unsigned transfer_count(const struct roofs *roofs) {
    return MIN(roofs->transfer_count, (unsigned)TRANSFERS_MAX);
}

static unsigned way_of(const struct transfer_roof *transfer) {
    return (transfer->to_device ? 0 : 2) + (transfer->pinned ? 0 : 1);
}

static void add_kind(struct roof_list *list, enum roof_kind kind) {
    for (unsigned id = 0; id < ROOF_COUNT; id++)
        if (roof_infos[id].kind == kind)
            list->rows[list->count++] = (struct roof_row){.key = roof_infos[id].key,
                                                          .words = roof_infos[id].words,
                                                          .unit = unit_of(id),
                                                          .id = id,
                                                          .kind = kind,
                                                          .roof = &list->roofs->of[id]};
}

static void add_sized(struct roof_list *list, const char *key, uint64_t bytes,
                      const struct roof *roof) {
    list->rows[list->count++] = (struct roof_row){
        .key = key, .unit = "B/s", .bytes = bytes, .id = ROOF_MEMORY_READ, .roof = roof};
}

static void add_working_sets(struct roof_list *list) {
    for (unsigned i = 0; i < working_set_count(list->roofs); i++)
        add_sized(list, "working_set", list->roofs->working_sets[i].bytes,
                  &list->roofs->working_sets[i].roof);
}

static void add_transfers(struct roof_list *list) {
    for (unsigned way = 0; way < TRANSFER_WAYS; way++)
        for (unsigned i = 0; i < transfer_count(list->roofs); i++)
            if (way_of(&list->roofs->transfers[i]) == way)
                add_sized(list, transfer_ways[way].key, list->roofs->transfers[i].bytes,
                          &list->roofs->transfers[i].roof);
}

/* ---- Their columns ------------------------------------------------------------------------------
 */

static const void *roof_row(const void *source, size_t index) {
    const struct roof_list *list = source;
    return index < list->count ? &list->rows[index] : NULL;
}

static struct value roof_words(const struct roof_row *row, bool known, double value,
                               struct buffer *words) {
    char text[48];
    if (!known)
        return value_none();
    buffer_string(words, print_value_of_roof(row->id, value, text));
    return value_text(buffer_as_text(words));
}

static struct value of_stated(const struct roof *roof) {
    return is_measured(roof) && is_stated(roof) ? value_real(roof->value / roof->stated)
                                                : value_none();
}

static struct value number_if(bool known, double value) {
    return known ? value_real(value) : value_none();
}

#define ROOF(name, ...) SECTION_VALUE(name, struct roof_list, struct roof_row, __VA_ARGS__)
ROOF(roof_device, value_string(of->roofs->device))
ROOF(roof_key, value_string(at->key))
ROOF(roof_name, at->words ? value_string(at->words) : value_none())
ROOF(roof_bytes, at->bytes ? value_integer((int64_t)at->bytes) : value_none())
ROOF(roof_value, number_if(is_measured(at->roof), at->roof->value))
ROOF(roof_value_words, roof_words(at, is_measured(at->roof), at->roof->value, words))
ROOF(roof_unit, value_string(at->unit))
ROOF(roof_spread, number_if(is_measured(at->roof), at->roof->spread))
ROOF(roof_stated, number_if(is_stated(at->roof), at->roof->stated))
ROOF(roof_stated_words, roof_words(at, is_stated(at->roof), at->roof->stated, words))
ROOF(roof_of_stated, of_stated(at->roof))
ROOF(roof_how, value_string(reason(at->roof)))
ROOF(roof_how_shown, of->explained ? value_string(reason(at->roof)) : value_none())

static const struct column roof_columns[] = {
    {"device", NULL, UNIT_TEXT, 0, roof_device},
    {"roof", NULL, UNIT_TEXT, 0, roof_key},
    {NULL, "roof", UNIT_TEXT, 0, roof_name},
    {"bytes", "working set", UNIT_BYTES, 0, roof_bytes},
    {"value", NULL, UNIT_NUMBER, 0, roof_value},
    {"unit", NULL, UNIT_TEXT, 0, roof_unit},
    {NULL, "measured", UNIT_TEXT, COLUMN_RIGHT, roof_value_words},
    {"spread", "±", UNIT_SHARE, 0, roof_spread},
    {"stated", NULL, UNIT_NUMBER, 0, roof_stated},
    {NULL, "stated", UNIT_TEXT, COLUMN_RIGHT, roof_stated_words},
    {NULL, "of stated", UNIT_SHARE, 0, roof_of_stated},
    {"how", NULL, UNIT_TEXT, 0, roof_how},
    {NULL, "how", UNIT_TEXT, 0, roof_how_shown},
    {0},
};
static const struct section roof_section = {
    .key = "roofs", .title = "Roofs", .columns = roof_columns, .row = roof_row};

/* ---- Transfers: a row for each size, a column for each way ---------------------------------- */

static bool seen_before(const struct roofs *roofs, unsigned index) {
    for (unsigned i = 0; i < index; i++)
        if (roofs->transfers[i].bytes == roofs->transfers[index].bytes)
            return true;
    return false;
}

static const void *transfer_row(const void *source, size_t index) {
    const struct roofs *roofs = source;
    for (unsigned i = 0; i < transfer_count(roofs); i++)
        if (!seen_before(roofs, i) && index-- == 0)
            return &roofs->transfers[i];
    return NULL;
}

/* "12.3 GB/s ±2 %" */
static struct value transfer_words(const struct roofs *roofs, uint64_t bytes, unsigned way,
                                   struct buffer *words) {
    char rate[FORMAT_SIZE];
    for (unsigned i = 0; i < transfer_count(roofs); i++) {
        const struct transfer_roof *transfer = &roofs->transfers[i];
        if (transfer->bytes != bytes || way_of(transfer) != way || !is_measured(&transfer->roof))
            continue;
        buffer_printf(words, "%s ±%.0f %%", format_rate(transfer->roof.value, rate),
                      fmin(transfer->roof.spread * 100, 999));
        return value_text(buffer_as_text(words));
    }
    return value_none();
}

#define TRANSFER(name, ...) SECTION_VALUE(name, struct roofs, struct transfer_roof, __VA_ARGS__)
TRANSFER(transfer_bytes, value_integer((int64_t)at->bytes))
TRANSFER(transfer_in_pinned, transfer_words(of, at->bytes, 0, words))
TRANSFER(transfer_in_pageable, transfer_words(of, at->bytes, 1, words))
TRANSFER(transfer_out_pinned, transfer_words(of, at->bytes, 2, words))
TRANSFER(transfer_out_pageable, transfer_words(of, at->bytes, 3, words))

static const struct column transfer_columns[] = {
    {NULL, "transfer", UNIT_BYTES, 0, transfer_bytes},
    {NULL, "in, pinned", UNIT_TEXT, COLUMN_RIGHT, transfer_in_pinned},
    {NULL, "in, pageable", UNIT_TEXT, COLUMN_RIGHT, transfer_in_pageable},
    {NULL, "out, pinned", UNIT_TEXT, COLUMN_RIGHT, transfer_out_pinned},
    {NULL, "out, pageable", UNIT_TEXT, COLUMN_RIGHT, transfer_out_pageable},
    {0},
};
static const struct section transfer_section = {
    .key = "transfers", .title = "Transfers", .columns = transfer_columns, .row = transfer_row};

/* Below the table: how each way was measured, once while it stays the same. */
static void write_ways(const struct roofs *roofs, const struct section_style *style,
                       struct output *output) {
    struct buffer line = {0};
    bool markdown = style->style == TABLE_MARKDOWN;
    if (markdown)
        output_printf(output, "\n");
    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        const char *before = "";
        for (unsigned i = 0; i < transfer_count(roofs); i++) {
            const char *how = reason(&roofs->transfers[i].roof);
            if (way_of(&roofs->transfers[i]) != way || strcmp(how, before) == 0)
                continue;
            buffer_clear(&line);
            buffer_printf(&line, "%s: %s", transfer_ways[way].name, how);
            print_paragraph(style, 0, markdown ? "- " : "  ", buffer_as_text(&line), output);
            before = how;
        }
    }
    output->failed |= line.failed;
    buffer_finish(&line);
}

static bool write_transfers(const struct roofs *roofs, const struct section_style *style,
                            struct output *output, struct status *status) {
    if (transfer_count(roofs) == 0) {
        output_printf(output, "\nTransfers between host and device: not measured\n");
        return true;
    }
    output_printf(output, "\n");
    if (!section_write(&transfer_section, roofs, style, output, status))
        return false;
    write_ways(roofs, style, output);
    return true;
}

/* ---- Text and Markdown --------------------------------------------------------------------------
 */

static bool same_note(const struct roof_row *a, const struct roof_row *b) {
    return is_measured(a->roof) == is_measured(b->roof) &&
           strcmp(reason(a->roof), reason(b->roof)) == 0;
}

/* Under a table: how its roofs were measured or why not, once for all that it is true of. */
static bool write_notes(const struct roof_list *list, const struct section_style *style,
                        struct output *output, struct status *status) {
    struct buffer names = {0};
    for (size_t i = 0; i < list->count; i++) {
        const struct roof_row *row = &list->rows[i];
        bool printed = !*reason(row->roof);
        for (size_t earlier = 0; earlier < i; earlier++)
            printed |= same_note(&list->rows[earlier], row);
        if (printed)
            continue;
        buffer_clear(&names);
        buffer_string(&names, row->words);
        for (size_t later = i + 1; later < list->count; later++)
            if (same_note(row, &list->rows[later]))
                buffer_printf(&names, "; %s", list->rows[later].words);
        buffer_printf(&names, ": %s", reason(row->roof));
        print_paragraph(style, 0, "  ", buffer_as_text(&names), output);
    }
    bool ok = buffer_ok(&names, status);
    buffer_finish(&names);
    return ok;
}

static bool write_working_sets(const struct roofs *roofs, const struct section_style *style,
                               struct output *output, struct status *status) {
    bool markdown = style->style == TABLE_MARKDOWN;
    struct roof_list list = {.roofs = roofs, .explained = markdown};
    add_working_sets(&list);
    if (list.count == 0)
        return true;
    output_printf(output, "\n");
    if (!section_write(&roof_section, &list, style, output, status))
        return false;
    if (!markdown)
        print_paragraph(style, 0, "  ",
                        TEXT("bytes read, or read and written, repeatedly: the faster of the two; "
                             "the last row is memory"),
                        output);
    return true;
}

static bool write_kind(enum roof_kind kind, const struct roofs *roofs,
                       const struct section_style *style, struct output *output,
                       struct status *status) {
    static const char *const titles[] = {"Bandwidth", "Arithmetic", "Latency"};
    struct roof_list list = {.roofs = roofs};
    add_kind(&list, kind);
    output_printf(output, "\n%s\n", titles[kind]);
    return section_write(&roof_section, &list, style, output, status) &&
           write_notes(&list, style, output, status);
}

static bool write_text(const struct roofs *roofs, const struct section_style *style,
                       struct output *output, struct status *status) {
    return write_kind(ROOF_BANDWIDTH, roofs, style, output, status) &&
           write_working_sets(roofs, style, output, status) &&
           write_kind(ROOF_RATE, roofs, style, output, status) &&
           write_kind(ROOF_LATENCY, roofs, style, output, status) &&
           write_transfers(roofs, style, output, status);
}

static bool write_markdown(const struct roofs *roofs, const struct section_style *style,
                           struct output *output, struct status *status) {
    struct roof_list list = {.roofs = roofs, .explained = true};
    for (enum roof_kind kind = ROOF_BANDWIDTH; kind <= ROOF_LATENCY; kind++)
        add_kind(&list, kind);
    output_printf(output, "\n");
    return section_write(&roof_section, &list, style, output, status) &&
           write_working_sets(roofs, style, output, status) &&
           write_transfers(roofs, style, output, status);
}

bool print_roofs(const struct roofs *roofs, const struct section_style *style,
                 struct output *output, struct status *status) {
    if (style->style == TABLE_CSV) {
        struct roof_list list = {.roofs = roofs};
        for (enum roof_kind kind = ROOF_BANDWIDTH; kind <= ROOF_LATENCY; kind++)
            add_kind(&list, kind);
        add_working_sets(&list);
        add_transfers(&list);
        return section_write(&roof_section, &list, style, output, status);
    }
    write_heading(roofs, style, output);
    return style->style == TABLE_MARKDOWN ? write_markdown(roofs, style, output, status)
                                          : write_text(roofs, style, output, status);
}
