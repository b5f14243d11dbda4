/* Shifts the decimal point instead of multiplying: 1623143089861.123 us is exactly ...123 ns. */
#include "base/decimal.h"

bool decimal_scaled(struct text number, int scale, int64_t *value) {
    const char *p = number.data, *end = p + number.length;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *digits = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    size_t whole = (size_t)(p - digits), fraction = 0;
    const char *fraction_digits = p;
    if (p < end && *p == '.') {
        fraction_digits = ++p;
        while (p < end && *p >= '0' && *p <= '9')
            p++;
        fraction = (size_t)(p - fraction_digits);
    }
    if (whole + fraction == 0)
        return false;
    int64_t exponent = 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool minus = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end)
            return false;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            if (exponent < 1000000)
                exponent = exponent * 10 + (*p - '0');
        if (minus)
            exponent = -exponent;
    }
    if (p != end)
        return false;

    /* The digits before `point` form the integer; the rest only rounds it. */
    int64_t point = (int64_t)whole + exponent + scale, count = (int64_t)(whole + fraction);
    uint64_t sum = 0;
    for (int64_t i = 0; i < point; i++) {
        unsigned digit = 0;
        if (i < (int64_t)whole)
            digit = (unsigned)(digits[i] - '0');
        else if (i < count)
            digit = (unsigned)(fraction_digits[i - (int64_t)whole] - '0');
        else if (sum == 0)
            break;
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum))
            return false;
    }
    if (point >= 0 && point < count) {
        bool more = false;
        unsigned first = 0;
        for (int64_t i = point; i < count; i++) {
            unsigned digit =
                (unsigned)((i < (int64_t)whole ? digits[i] : fraction_digits[i - (int64_t)whole]) -
                           '0');
            if (i == point)
                first = digit;
            else if (digit)
                more = true;
        }
        if (first > 5 || (first == 5 && (more || (sum & 1))))
            sum++;
    }
    if (sum > (uint64_t)INT64_MAX)
        return false;
    *value = negative ? -(int64_t)sum : (int64_t)sum;
    return true;
}
