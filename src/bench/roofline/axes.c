/* Ranges follow the roofs; dots may extend them, but only so far that the roofs stay readable.
 * Roofs may come from a file with arbitrary numbers: impossible lines are omitted, and ranges
 * are limited. */
#include "bench/roofline/axes.h"

#include <math.h>
#include <stdio.h>

#include "base/table.h"

static const struct {
    enum roof_id roof;
    const char *name;
    bool matrix;
} ceilings[CEILINGS_MAX] = {
    {ROOF_F32, "f32", false},         {ROOF_F16, "f16", false},
    {ROOF_BF16, "bf16", false},       {ROOF_INT8, "int8", false},
    {ROOF_MATRIX_F32, "tf32", true},  {ROOF_MATRIX_F16, "f16", true},
    {ROOF_MATRIX_BF16, "bf16", true}, {ROOF_MATRIX_INT8, "int8", true},
};

static const double LEAST_ROOF = 1e3, MOST_ROOF = 1e21;
static const double LEAST_INTENSITY = 1e-6, MOST_INTENSITY = 1e9;
/* How far dots may extend a scale beyond the roofs. */
static const double STRETCH_INTENSITY = 100, STRETCH_UP = 100, STRETCH_DOWN = 1e5;

static bool drawable(double value) {
    return isfinite(value) && value >= LEAST_ROOF && value <= MOST_ROOF;
}

bool roofline_has_place(const struct roofline_dot *dot) {
    return isfinite(dot->intensity) && isfinite(dot->rate) && dot->intensity > 0 && dot->rate > 0;
}

static void insert_ascending(struct roofline_line *lines, unsigned *count,
                             struct roofline_line line) {
    unsigned at = (*count)++;
    for (; at > 0 && lines[at - 1].value > line.value; at--)
        lines[at] = lines[at - 1];
    lines[at] = line;
}

/* As roofs_limit() has it: work that reads, or reads and writes, is never above the faster one. */
static void add_slope(const struct roofs *roofs, const char *name, enum roof_id read,
                      enum roof_id copy, struct roofline *picture) {
    struct roofline_line line = {copy, name, roofs->of[copy].value, false};
    if (!drawable(line.value) || roofs->of[read].value > line.value) {
        line.roof = read;
        line.value = roofs->of[read].value;
    }
    if (drawable(line.value))
        insert_ascending(picture->slopes, &picture->slope_count, line);
}

static void add_lines(const struct roofs *roofs, struct roofline *picture) {
    add_slope(roofs, "memory", ROOF_MEMORY_READ, ROOF_MEMORY_COPY, picture);
    add_slope(roofs, "cache", ROOF_CACHE_READ, ROOF_CACHE_COPY, picture);
    for (unsigned i = 0; i < CEILINGS_MAX; i++) {
        double value = roofs->of[ceilings[i].roof].value;
        if (drawable(value))
            insert_ascending(picture->ceilings, &picture->ceiling_count,
                             (struct roofline_line){ceilings[i].roof, ceilings[i].name, value,
                                                    ceilings[i].matrix});
    }
}

double roofline_ridge(const struct roofline *picture, const struct roofline_line *ceiling) {
    return picture->slope_count > 0 ? ceiling->value / picture->slopes[0].value : 0;
}

static void include(struct scale *scale, double low, double high) {
    scale->low = fmin(scale->low, low);
    scale->high = fmax(scale->high, high);
}

/* Elementwise work is below 1 and large products are above 100: both are always visible. */
static void range_intensity(struct roofline *picture) {
    picture->intensity = (struct scale){0.1, 200};
    for (unsigned s = 0; s < picture->slope_count; s++)
        for (unsigned c = 0; c < picture->ceiling_count; c++) {
            double ridge = picture->ceilings[c].value / picture->slopes[s].value;
            include(&picture->intensity, ridge / 10, ridge * 6);
        }
    picture->intensity.low = fmax(picture->intensity.low, LEAST_INTENSITY);
    picture->intensity.high = fmin(picture->intensity.high, MOST_INTENSITY);
}

/* The first slope begins in the lower left corner. */
static void range_rate(struct roofline *picture) {
    const struct scale *intensity = &picture->intensity;
    bool slopes = picture->slope_count > 0, flat = picture->ceiling_count > 0;
    double slope = slopes ? picture->slopes[0].value : 0;
    double lowest = flat ? picture->ceilings[0].value : slope * intensity->high;
    double highest =
        flat ? picture->ceilings[picture->ceiling_count - 1].value : slope * intensity->high;
    if (slopes || flat)
        picture->rate = (struct scale){
            slopes ? fmin(slope * intensity->low, lowest / 20) : lowest / 1000, highest * 1.5};
}

/* A dot outside the range is drawn at the edge, so that it does not compress the others. */
static void stretch(struct scale *scale, const struct scale *reach, double value) {
    if (scale_contains(reach, value))
        include(scale, value / 1.5, value * 1.5);
}

static void include_dots(const struct roofline_dot *dots, size_t count, struct roofline *picture) {
    const struct scale intensity = picture->intensity;
    struct scale rate = picture->rate;
    for (size_t i = 0; i < count; i++) {
        if (!roofline_has_place(&dots[i]))
            continue;
        if (rate.low == 0) { /* no roofs: the first dot is all there is to go by */
            double middle = fmin(fmax(dots[i].rate, LEAST_ROOF), MOST_ROOF);
            rate = picture->rate = (struct scale){middle / 10, middle * 10};
        }
        stretch(
            &picture->intensity,
            &(struct scale){intensity.low / STRETCH_INTENSITY, intensity.high * STRETCH_INTENSITY},
            dots[i].intensity);
        stretch(&picture->rate, &(struct scale){rate.low / STRETCH_DOWN, rate.high * STRETCH_UP},
                dots[i].rate);
    }
}

/* The next of 1, 2, 5, 10, 20 ... at or beyond the value. */
static double rounded(double value, bool up) {
    static const double steps[] = {1, 2, 5, 10};
    double decade = pow(10, floor(log10(value) + 1e-9));
    double result = decade;
    for (unsigned i = 0; i < 4; i++) {
        result = decade * steps[up ? i : 3 - i];
        if (up ? result >= value * (1 - 1e-9) : result <= value * (1 + 1e-9))
            break;
    }
    return result;
}

bool roofline_arrange(const struct roofs *roofs, const struct roofline_dot *dots, size_t count,
                      struct roofline *picture) {
    *picture = (struct roofline){0};
    add_lines(roofs, picture);
    range_intensity(picture);
    range_rate(picture);
    include_dots(dots, count, picture);
    if (picture->rate.low <= 0)
        return false;
    picture->intensity.low = rounded(picture->intensity.low, false);
    picture->intensity.high = rounded(picture->intensity.high, true);
    picture->rate.low = rounded(picture->rate.low, false);
    picture->rate.high = rounded(picture->rate.high, true);
    return true;
}

double scale_place(const struct scale *scale, double value) {
    return log(value / scale->low) / log(scale->high / scale->low);
}

double scale_place_inside(const struct scale *scale, double value) {
    return fmin(fmax(scale_place(scale, value), 0), 1);
}

bool scale_contains(const struct scale *scale, double value) {
    return value >= scale->low * (1 - 1e-9) && value <= scale->high * (1 + 1e-9);
}

unsigned scale_ticks(const struct scale *scale, struct tick ticks[TICKS_MAX]) {
    bool wide = scale->high / scale->low > 500;
    unsigned count = 0;
    for (double decade = pow(10, floor(log10(scale->low) + 1e-9));
         decade <= scale->high * (1 + 1e-9) && count < TICKS_MAX; decade *= 10)
        for (int step = 1; step < 10 && count < TICKS_MAX; step++)
            if (scale_contains(scale, decade * step))
                ticks[count++] =
                    (struct tick){decade * step, step == 1 || (!wide && (step == 2 || step == 5))};
    return count;
}

char *tick_number(double value, char text[TICK_SIZE]) {
    bool plain = value > 9e-4 && value < 2e6;
    snprintf(text, TICK_SIZE, plain ? "%.7g" : "%.0e", value);
    return text;
}

char *tick_rate(double value, const char *unit, char text[TICK_SIZE]) {
    static const char *const prefixes[] = {"", "K", "M", "G", "T", "P", "E"};
    unsigned prefix = 0;
    for (; value >= 999.5 && prefix < 6; prefix++)
        value /= 1000;
    snprintf(text, TICK_SIZE, "%.4g %s%s", value, prefixes[prefix], unit);
    return text;
}

char *roofline_number(double value, char text[TICK_SIZE]) {
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.0995 ? 2 : 3;
    bool plain = value >= 0.00095 && value < 1e6;
    snprintf(text, TICK_SIZE, plain ? "%.*f" : "%.*e", plain ? decimals : 1, value);
    return text;
}

/* The table writer knows how to show any text on one line. */
bool roofline_label(struct text label, unsigned width, struct buffer *into, struct status *status) {
    struct table table = {0};
    struct output output = output_into(into);
    table_column(&table, "", TABLE_FLEXIBLE);
    table_cell(&table, label);
    table_write(&table, TABLE_TEXT, &(struct table_layout){.width = width, .no_header = true},
                &output);
    bool ok = table_ok(&table, status) && buffer_ok(into, status) &&
              (!output.failed || status_no_memory(status));
    table_finish(&table);
    if (ok && into->length > 0)
        into->length--; /* the table's line end */
    return ok;
}
