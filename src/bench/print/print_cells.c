/* The cells of an experiment's table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/print/print_sheet.h"

static const char *const titles[SHEET_COLUMNS] = {
    [SHEET_LABEL] = "what",      [SHEET_VARIANT] = "how",       [SHEET_DEVICE] = "device",
    [SHEET_TYPE] = "type",       [SHEET_TIME] = "time",         [SHEET_SPREAD] = "±",
    [SHEET_CURVE] = "speed",     [SHEET_SPEEDUP] = "speed-up",  [SHEET_DEVICE_TIME] = "on device",
    [SHEET_KERNELS] = "kernels", [SHEET_BYTE_RATE] = "bytes/s", [SHEET_FLOP_RATE] = "FLOP/s",
    [SHEET_SHARE] = "of roof",   [SHEET_ROOF] = "roof",         [SHEET_AT_ROOF] = "at roof",
    [SHEET_PEER] = "peer",       [SHEET_RATIO] = "against it",  [SHEET_ERROR] = "error",
};

const char *sheet_title(const struct sheet *sheet, enum sheet_column column, char text[64]) {
    const struct print_scale *scale = &sheet->scales[column];
    bool is_rate = column == SHEET_BYTE_RATE || column == SHEET_FLOP_RATE;
    if (column == SHEET_PEER && *sheet->set->peer) {
        size_t length = strcspn(sheet->set->peer, " ");
        snprintf(text, 64, "%.*s%s%s", length < 24 ? (int)length : 24, sheet->set->peer,
                 scale->unit ? " " : "", scale->unit ? scale->unit : "");
    } else if (scale->unit && is_rate) {
        snprintf(text, 64, "%s", scale->unit);
    } else if (scale->unit && column == SHEET_AT_ROOF) {
        snprintf(text, 64, "roof %s", scale->unit);
    } else {
        snprintf(text, 64, "%s%s%s", titles[column], scale->unit ? " " : "",
                 scale->unit ? scale->unit : "");
    }
    return text;
}

const char *sheet_roof_name(const struct result *result) {
    const struct limit *limit = &result->limit;
    static const char *const arithmetic[ROOF_COUNT] = {
        [ROOF_F32] = "f32",
        [ROOF_F16] = "f16",
        [ROOF_BF16] = "bf16",
        [ROOF_INT8] = "int8",
        [ROOF_TRIGONOMETRY] = "sin, cos",
        [ROOF_EXPONENTIALS] = "exp, log",
        [ROOF_MATRIX_F32] = "tf32 matrix",
        [ROOF_MATRIX_F16] = "f16 matrix",
        [ROOF_MATRIX_BF16] = "bf16 matrix",
        [ROOF_MATRIX_INT8] = "int8 matrix",
    };
    bool function = limit->roof == ROOF_TRIGONOMETRY || limit->roof == ROOF_EXPONENTIALS;
    switch (limit->kind) {
    case LIMIT_MEMORY:
        return "memory";
    case LIMIT_CACHE:
        return "cache";
    case LIMIT_LAUNCH:
        return "launch";
    case LIMIT_TRANSFER:
        return "transfer";
    case LIMIT_ARITHMETIC:
        if (function && result->amount.trigonometry > 0 && result->amount.exponentials > 0)
            return "functions";
        return limit->roof < ROOF_COUNT && arithmetic[limit->roof] ? arithmetic[limit->roof]
                                                                   : "arithmetic";
    default:
        return "";
    }
}

void sheet_mark(size_t number, struct buffer *text) {
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    size_t power = 1;
    number++;
    while (number / power >= 10)
        power *= 10;
    for (; power > 0; power /= 10)
        buffer_string(text, digits[number / power % 10]);
}

static void spread_cell(const struct sheet *sheet, const struct result *result,
                        struct buffer *text) {
    char share[FORMAT_SIZE];
    const char *note = *result->problem ? result->problem : result->notes;
    size_t width = 0;
    if (print_has_figures(result))
        buffer_string(text, print_share(statistics_spread(&result->time.time), share));
    if (*note) {
        size_t number = 0, from = text->length;
        while (number < sheet->note_count && strcmp(sheet->notes[number], note) != 0)
            number++;
        sheet_mark(number, text);
        width = text->failed
                    ? 0
                    : table_text_width((struct text){text->data + from, text->length - from});
    }
    for (; width < sheet->mark_width; width++)
        buffer_byte(text, ' ');
}

/* Points of one sweep: the same work with other parameters, or in larger batches. */
static bool in_one_curve(const struct result *a, const struct result *b) {
    return strcmp(a->device, b->device) == 0 && a->dtype == b->dtype && b->curve &&
           (strcmp(a->label, b->label) == 0 || (a->batch != b->batch && a->size == b->size));
}

static double speed(const struct result *result) {
    double batch = result->batch > 0 ? (double)result->batch : 1;
    return print_has_figures(result) ? batch / result->time.time.median : 0;
}

static void curve_cell(const struct sheet *sheet, const struct result *result,
                       struct buffer *text) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    double best = 0;
    if (!result->curve)
        return;
    for (size_t i = 0; i < sheet->count; i++)
        if (in_one_curve(result, sheet->rows[i]) && speed(sheet->rows[i]) > best)
            best = speed(sheet->rows[i]);
    if (best <= 0 || speed(result) <= 0)
        return;
    unsigned filled = (unsigned)(speed(result) / best * sheet->bar_cells * 8 + 0.5);
    if (filled == 0)
        filled = 1; /* little is not nothing */
    for (unsigned i = 0; i < filled / 8; i++)
        buffer_string(text, "█");
    buffer_string(text, eighths[filled % 8]);
}

static void share_cell(const struct sheet *sheet, const struct result *result,
                       struct buffer *text) {
    char share[FORMAT_SIZE];
    if (!(result->limit.ns > 0))
        return;
    print_share(result->limit.ns / result->time.time.median, share);
    if (sheet->style->style != TABLE_TEXT) {
        buffer_string(text, share);
        return;
    }
    for (size_t width = table_text_width(text_of(share)); width < sheet->share_width; width++)
        buffer_byte(text, ' ');
    buffer_printf(text, "%s %s", share, sheet_roof_name(result));
}

static void ratio_cell(double ratio, struct buffer *text) {
    char times[FORMAT_SIZE];
    const char *words = ratio > 1.03 ? " faster" : ratio < 0.97 ? " (slower)" : "";
    buffer_printf(text, "%sx%s", print_times(ratio, times), words);
}

/* Whether the row above has the same value, so that it can be omitted. */
static bool repeats(const struct sheet *sheet, size_t row, bool variant_too) {
    if (row == 0 || sheet->style->style != TABLE_TEXT)
        return false;
    const struct result *result = sheet->rows[row], *above = sheet->rows[row - 1];
    return strcmp(result->label, above->label) == 0 &&
           (!variant_too || strcmp(result->variant, above->variant) == 0);
}

double sheet_value(const struct result *result, enum sheet_column column) {
    const struct amount *amount = &result->amount;
    double seconds = result->time.time.median / 1e9;
    if (!print_has_figures(result))
        return NAN;
    switch (column) {
    case SHEET_TIME:
        return result->time.time.median;
    case SHEET_DEVICE_TIME:
        return result->device_ns;
    case SHEET_AT_ROOF:
        return result->limit.ns;
    case SHEET_PEER:
        return result->has_peer ? result->peer.time.median : NAN;
    case SHEET_BYTE_RATE:
        return (double)(amount->bytes ? amount->bytes : amount->transfer_bytes) / seconds;
    case SHEET_FLOP_RATE:
        return (double)amount->flops / seconds;
    default:
        return NAN;
    }
}

static void words_cell(const struct sheet *sheet, size_t row, enum sheet_column column,
                       struct buffer *text) {
    const struct result *result = sheet->rows[row];
    if (column == SHEET_LABEL && !repeats(sheet, row, false))
        buffer_string(text, result->label);
    else if (column == SHEET_VARIANT && !repeats(sheet, row, true))
        buffer_string(text, result->variant);
    else if (column == SHEET_DEVICE)
        buffer_string(text, result->device);
    else if (column == SHEET_TYPE)
        buffer_string(text, ridge_dtype_name(result->dtype));
    else if (column == SHEET_SPREAD)
        spread_cell(sheet, result, text);
}

static void figure_cell(const struct sheet *sheet, size_t row, enum sheet_column column,
                        struct buffer *text) {
    const struct result *result = sheet->rows[row], *before = sheet->before[row];
    double median = result->time.time.median;
    char figure[FORMAT_SIZE];
    if (column == SHEET_CURVE)
        curve_cell(sheet, result, text);
    else if (column == SHEET_SPEEDUP && before && print_has_figures(before) &&
             statistics_support_ratio(&before->time.time, &result->time.time))
        buffer_printf(text, "%sx", print_times(before->time.time.median / median, figure));
    else if (column == SHEET_KERNELS && result->kernels > 0)
        buffer_printf(text, "%.*f", result->kernels != floor(result->kernels), result->kernels);
    else if (column == SHEET_SHARE)
        share_cell(sheet, result, text);
    else if (column == SHEET_ROOF)
        buffer_string(text, sheet_roof_name(result));
    else if (column == SHEET_RATIO && result->has_peer && result->peer.time.median > 0 &&
             statistics_support_ratio(&result->peer.time, &result->time.time))
        ratio_cell(result->peer.time.median / median, text);
    else if (column == SHEET_ERROR && result->checked)
        buffer_printf(text, "%.1e", result->error);
    else
        buffer_string(text,
                      print_scaled(&sheet->scales[column], sheet_value(result, column), figure));
}

void sheet_cell(const struct sheet *sheet, size_t row, enum sheet_column column,
                struct buffer *text) {
    if (column <= SHEET_TYPE || column == SHEET_SPREAD)
        words_cell(sheet, row, column, text);
    else if (print_has_figures(sheet->rows[row]))
        figure_cell(sheet, row, column, text);
    else if (column == SHEET_TIME)
        buffer_byte(text, '-');
}
