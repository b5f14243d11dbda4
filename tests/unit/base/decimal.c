/* Decimal text to scaled integers, exactly. */
#include "../test.h"

#include "base/array.h"
#include "base/decimal.h"

struct decimal_case {
    const char *text;
    int scale;
    long long value;
};

static void check_all(const struct decimal_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t value = -77;
        if (!decimal_scaled(text_of(cases[i].text), cases[i].scale, &value))
            test_failed(__FILE__, __LINE__, "%s was refused", cases[i].text);
        else if (value != cases[i].value)
            test_failed(__FILE__, __LINE__, "%s at 10^%d is %lld, not %lld", cases[i].text,
                        cases[i].scale, (long long)value, cases[i].value);
    }
}
#define CHECK_ALL(cases) check_all(cases, ARRAY_COUNT(cases))

TEST(microseconds_become_nanoseconds_without_loss) {
    static const struct decimal_case cases[] = {
        {"1623143089861123.457", 3, 1623143089861123457}, /* a double would lose the last digits */
        {"9007199254740993.001", 3, 9007199254740993001},
        {"0", 3, 0},
        {"-5.25", 3, -5250},
        {"+7", 3, 7000},
        {".5", 3, 500},
        {"5.", 3, 5000},
        {"000123", 0, 123},
        {"9223372036854775807", 0, INT64_MAX},
        {"9223372036854775.807", 3, INT64_MAX},
    };
    CHECK_ALL(cases);
}

TEST(halves_round_to_even) {
    static const struct decimal_case cases[] = {
        {"0.0005", 3, 0},  {"0.0015", 3, 2},       {"0.0025", 3, 2},    {"-0.0015", 3, -2},
        {"0.00251", 3, 3}, {"0.00249", 3, 2},      {"0.0025000", 3, 2}, {"0.00250001", 3, 3},
        {"0.5", 0, 0},     {"1.5", 0, 2},          {"0.04999", 1, 0},   {"0.05", 0, 0},
        {"9.5", 0, 10},    {"99.9996", 3, 100000},
    };
    CHECK_ALL(cases);
}

TEST(exponents_move_the_point) {
    static const struct decimal_case cases[] = {
        {"1.5e3", 0, 1500},
        {"1.5E+3", 3, 1500000},
        {"1500e-3", 0, 2},
        {"25e-1", 0, 2},
        {"1e-30", 3, 0},
        {"0e999999999", 3, 0},
        {"1.623143089861e12", 3, 1623143089861000},
        {"5e-999999999", 0, 0},
        {"123456e-3", 3, 123456},
    };
    CHECK_ALL(cases);
}

TEST(what_is_no_number_or_does_not_fit_is_refused) {
    static const char *const bad[] = {
        "",
        "-",
        ".",
        "e5",
        "1e",
        "1e+",
        "1.2.3",
        "1,5",
        " 1",
        "1 ",
        "0x10",
        "nan",
        "inf",
        "1e19",
        "--1",
        "1e5x",
        "9223372036854775808",
        "1e999999999999",
    };
    int64_t value;
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        if (decimal_scaled(text_of(bad[i]), 0, &value))
            test_failed(__FILE__, __LINE__, "'%s' was taken for a number", bad[i]);
    CHECK(!decimal_scaled(TEXT("9223372036854775.808"), 3, &value));
    CHECK(!decimal_scaled(TEXT("9223372036854775807.5"), 0, &value));
}
