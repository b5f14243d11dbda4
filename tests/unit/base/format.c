/* Formatted quantities, and the rounding at their limits. */
#include "../test.h"

#include <math.h>

#include "base/format.h"

static char text[FORMAT_SIZE];

TEST(a_duration_below_a_microsecond_is_exact) {
    CHECK_STRING(format_duration(0, text), "0 ns");
    CHECK_STRING(format_duration(1, text), "1 ns");
    CHECK_STRING(format_duration(999, text), "999 ns");
}

TEST(a_duration_has_three_digits_in_the_unit_that_fits) {
    CHECK_STRING(format_duration(1000, text), "1.00 µs");
    CHECK_STRING(format_duration(1234, text), "1.23 µs");
    CHECK_STRING(format_duration(12345, text), "12.3 µs");
    CHECK_STRING(format_duration(123456, text), "123 µs");
    CHECK_STRING(format_duration(1234567, text), "1.23 ms");
    CHECK_STRING(format_duration(12340000, text), "12.3 ms");
    CHECK_STRING(format_duration(1000000000, text), "1.00 s");
    CHECK_STRING(format_duration(59123000000, text), "59.1 s");
    CHECK_STRING(format_duration(12345678900000, text), "12,346 s");
}

TEST(a_duration_that_rounds_up_to_the_next_unit_takes_it) {
    CHECK_STRING(format_duration(999499, text), "999 µs");
    CHECK_STRING(format_duration(999950, text), "1.00 ms");
    CHECK_STRING(format_duration(9999500, text), "10.0 ms");
    CHECK_STRING(format_duration(999950000000, text), "1,000 s");
}

TEST(a_negative_duration_keeps_its_sign) {
    CHECK_STRING(format_duration(-5, text), "-5 ns");
    CHECK_STRING(format_duration(-1500, text), "-1.50 µs");
    CHECK_STRING(format_duration(INT64_MIN, text), "-9,223,372,037 s");
    CHECK_STRING(format_duration(INT64_MAX, text), "9,223,372,037 s");
}

TEST(bytes_are_decimal) {
    CHECK_STRING(format_bytes(0, text), "0 B");
    CHECK_STRING(format_bytes(999, text), "999 B");
    CHECK_STRING(format_bytes(1024, text), "1.02 KB");
    CHECK_STRING(format_bytes(4194304, text), "4.19 MB");
    CHECK_STRING(format_bytes(150000000000u, text), "150 GB");
    CHECK_STRING(format_bytes(UINT64_MAX, text), "18.4 EB");
}

TEST(counts_are_grouped_by_thousands) {
    CHECK_STRING(format_count(0, text), "0");
    CHECK_STRING(format_count(999, text), "999");
    CHECK_STRING(format_count(1000, text), "1,000");
    CHECK_STRING(format_count(12345678, text), "12,345,678");
    CHECK_STRING(format_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

TEST(a_count_agrees_with_its_noun) {
    char plural[FORMAT_PLURAL_SIZE];
    CHECK_STRING(format_plural(0, "copy", "copies", plural), "0 copies");
    CHECK_STRING(format_plural(1, "copy", "copies", plural), "1 copy");
    CHECK_STRING(format_plural(1234, "copy", "copies", plural), "1,234 copies");
}

TEST(a_ratio_has_three_significant_digits) {
    CHECK_STRING(format_ratio(0.5, text), "0.50x");
    CHECK_STRING(format_ratio(2.524, text), "2.52x");
    CHECK_STRING(format_ratio(9.996, text), "10.0x");
    CHECK_STRING(format_ratio(10.44, text), "10.4x");
    CHECK_STRING(format_ratio(99.96, text), "100x");
    CHECK_STRING(format_ratio(999.6, text), "1,000x");
    CHECK_STRING(format_ratio(NAN, text), "-");
}

TEST(a_percentage_is_0_or_100_only_when_exact) {
    CHECK_STRING(format_percent(0, text), "0.0 %");
    CHECK_STRING(format_percent(-0.0, text), "0.0 %");
    CHECK_STRING(format_percent(0.0001, text), "<0.1 %");
    CHECK_STRING(format_percent(0.1234, text), "12.3 %");
    CHECK_STRING(format_percent(0.99949, text), "99.9 %");
    CHECK_STRING(format_percent(0.9999, text), ">99.9 %");
    CHECK_STRING(format_percent(1, text), "100 %");
    CHECK_STRING(format_percent(-0.5, text), "-50.0 %");
    CHECK_STRING(format_percent(1.001, text), "100 %");
    CHECK_STRING(format_percent(1.076, text), "1.08x"); /* not a share */
    CHECK_STRING(format_percent(27215, text), "27,215x");
    CHECK_STRING(format_percent(NAN, text), "-");
    CHECK_STRING(format_percent(INFINITY, text), "-");
}

TEST(a_rate_is_bytes_a_second_in_the_unit_that_fits) {
    CHECK_STRING(format_rate(0, text), "0 B/s");
    CHECK_STRING(format_rate(1.2345e6, text), "1.23 MB/s");
    CHECK_STRING(format_rate(4.8e12, text), "4.80 TB/s");
    CHECK_STRING(format_rate(25.61e9, text), "25.6 GB/s");
    CHECK_STRING(format_rate(-1, text), "-");
    CHECK_STRING(format_rate(NAN, text), "-");
    CHECK_STRING(format_rate(1e30, text), "-");
}
