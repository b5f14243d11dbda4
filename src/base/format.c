/* One routine scales every quantity. Durations and bytes are scaled as integers, so that a number
 * in a report never disagrees with the exact one in the JSON. */
#include "base/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* value / 10^drop, rounded half up. */
static uint64_t divided(uint64_t value, unsigned drop) {
    uint64_t divisor = 1;
    while (drop-- > 0)
        divisor *= 10;
    return value / divisor + (value % divisor >= divisor - divisor / 2 && divisor > 1);
}

static unsigned digits_of(uint64_t value) {
    unsigned digits = 1;
    while (value >= 10) {
        value /= 10;
        digits++;
    }
    return digits;
}

static void with_commas(uint64_t value, char *text) {
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, value);
    for (size_t i = 0; i < length; i++) {
        *text++ = digits[i];
        if ((length - 1 - i) % 3 == 0 && i + 1 < length)
            *text++ = ',';
    }
    *text = '\0';
}

/* Three significant digits with a suitable unit; units[0] is that of `value`, and each further one
 * is 1000 times larger. Beyond the last unit, digits are grouped. */
static void scaled(uint64_t value, const char *const *units, unsigned unit_count, char *text) {
    if (value < 1000) {
        snprintf(text, FORMAT_SIZE - 1, "%" PRIu64 " %s", value, units[0]);
        return;
    }
    unsigned digits = digits_of(value), drop = digits - 3;
    uint64_t figures = divided(value, drop);
    if (figures == 1000) {
        figures = 100;
        drop++;
        digits++;
    }
    unsigned unit = (digits - 1) / 3;
    if (unit >= unit_count) {
        unit = unit_count - 1;
        with_commas(divided(value, 3 * unit), text);
        size_t length = strlen(text);
        snprintf(text + length, FORMAT_SIZE - 1 - length, " %s", units[unit]);
        return;
    }
    unsigned decimals = 2 - (digits - 1) % 3;
    uint64_t power = decimals == 2 ? 100 : 10;
    if (decimals == 0)
        snprintf(text, FORMAT_SIZE - 1, "%" PRIu64 " %s", figures, units[unit]);
    else
        snprintf(text, FORMAT_SIZE - 1, "%" PRIu64 ".%0*" PRIu64 " %s", figures / power,
                 (int)decimals, figures % power, units[unit]);
}

char *format_duration(int64_t ns, char text[FORMAT_SIZE]) {
    static const char *const units[] = {"ns", "µs", "ms", "s"};
    uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    text[0] = '-';
    scaled(magnitude, units, 4, text + (ns < 0));
    return text;
}

char *format_bytes(uint64_t bytes, char text[FORMAT_SIZE]) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    scaled(bytes, units, 7, text);
    return text;
}

char *format_count(uint64_t count, char text[FORMAT_SIZE]) {
    with_commas(count, text);
    return text;
}

char *format_plural(uint64_t count, const char *one, const char *many,
                    char text[FORMAT_PLURAL_SIZE]) {
    char digits[FORMAT_SIZE];
    snprintf(text, FORMAT_PLURAL_SIZE, "%s %s", format_count(count, digits),
             count == 1 ? one : many);
    return text;
}

char *format_ratio(double ratio, char text[FORMAT_SIZE]) {
    if (!isfinite(ratio) || fabs(ratio) >= 1e15)
        snprintf(text, FORMAT_SIZE, "-");
    else if (ratio >= 999.5)
        strcat(format_count((uint64_t)llround(ratio), text), "x");
    else
        snprintf(text, FORMAT_SIZE, "%.*fx", ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0, ratio);
    return text;
}

char *format_percent(double ratio, char text[FORMAT_SIZE]) {
    double percent = ratio * 100;
    if (!isfinite(percent) || fabs(percent) >= 1e15)
        snprintf(text, FORMAT_SIZE, "-");
    else if (percent > 0 && percent < 0.05)
        snprintf(text, FORMAT_SIZE, "<0.1 %%");
    else if (percent < 100 && percent >= 99.95)
        snprintf(text, FORMAT_SIZE, ">99.9 %%");
    else if (ratio >= 1.005)
        format_ratio(ratio, text);
    else if (percent >= 100)
        snprintf(text, FORMAT_SIZE, "100 %%");
    else
        snprintf(text, FORMAT_SIZE, "%.1f %%", percent == 0 ? 0 : percent);
    return text;
}

static char *rate(double a_second, const char *const *units, char *text) {
    if (isfinite(a_second) && a_second >= 0 && a_second < 1e19)
        scaled((uint64_t)llround(fmin(a_second, 9.2e18)), units, 7, text);
    else
        snprintf(text, FORMAT_SIZE, "-");
    return text;
}

char *format_rate(double bytes_per_second, char text[FORMAT_SIZE]) {
    static const char *const units[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"};
    return rate(bytes_per_second, units, text);
}

char *format_operations(double operations_per_second, char text[FORMAT_SIZE]) {
    static const char *const units[] = {"FLOP/s",  "KFLOP/s", "MFLOP/s", "GFLOP/s",
                                        "TFLOP/s", "PFLOP/s", "EFLOP/s"};
    return rate(operations_per_second, units, text);
}
