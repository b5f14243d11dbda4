/* NaN, infinities, zeros of both signs, subnormals, huge numbers and the ends of integers; and that
 * the table's expressions say what the operations are to mean. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "reference.h"

static const double special_floats[] = {NAN,
                                        INFINITY,
                                        -INFINITY,
                                        0.0,
                                        -0.0,
                                        0x1p-149,
                                        -0x1p-149,
                                        0x1.8p-128,
                                        -0x1.8p-128,
                                        0x1p-126,
                                        -0x1p-126,
                                        1,
                                        -1,
                                        0.5,
                                        -0.5,
                                        1.5,
                                        2.5,
                                        -2.5,
                                        3,
                                        -7,
                                        0x1.fffffep127,
                                        -0x1.fffffep127,
                                        1e30,
                                        -1e30,
                                        1e-30,
                                        88.5,
                                        -88.5,
                                        104,
                                        -104,
                                        1e5,
                                        8388609,
                                        -0.999999940395355225};
static const double special_integers[] = {
    0, 1, -1, 2, -2, 7, -7, 2147483647, -2147483648, -2147483647, 255, 256, 65536, 46341};
enum {
    FLOATS = sizeof special_floats / sizeof special_floats[0],
    INTEGERS = sizeof special_integers / sizeof special_integers[0]
};

/* The special values of each operand, so that all of them meet. */
static int64_t combinations(const double *values, int64_t count, unsigned arity,
                            struct array operands[3]) {
    int64_t total = 1;
    for (unsigned i = 0; i < arity; i++)
        total *= count;
    for (unsigned i = 0; i < 3; i++) {
        operands[i] = array_make(1, &total);
        for (int64_t j = 0; j < total; j++) {
            int64_t at = j;
            for (unsigned k = 0; k < i; k++)
                at /= count;
            operands[i].values[j] = values[at % count];
        }
    }
    return total;
}

/* In between, an expression may overflow in f32 where it does not in double: what the expression
 * gives in C's float is right as well. Results that a device may flush to zero are below the least
 * normal number. */
static void check_row(const struct row *row) {
    if (!case_begin("special values %s f32", row->name))
        return;
    struct array operands[3];
    int64_t total = combinations(special_floats, FLOATS, row->arity, operands);
    enum ridge_dtype first = row->rule == RULE_WHERE ? RIDGE_I32 : RIDGE_F32;
    for (int64_t i = 0; i < total && first == RIDGE_I32; i++)
        operands[0].values[i] = (double)(i % 3 - 1);
    ridge_tensor *tensors[3] = {NULL};
    for (unsigned i = 0; i < row->arity; i++)
        tensors[i] = array_tensor(&operands[i], i == 0 ? first : RIDGE_F32, CONTIGUOUS);
    ridge_tensor *result = row->call(tensors[0], tensors[1], tensors[2]);
    if (!result)
        case_fail("%s", ridge_error_message());
    struct array got = result ? array_read(result) : (struct array){0};
    enum ridge_dtype gives = row_gives(row, RIDGE_F32);
    for (int64_t i = 0; got.values && i < total; i++) {
        double x = operands[0].values[i], y = operands[1].values[i], z = operands[2].values[i];
        double error, bound, slack = row_slack(row, x, y, z);
        double exact = row_value(row, RIDGE_F32, x, y, z);
        double single = row->in_float((float)x, (float)y, (float)z);
        /* A result below the least normal number is rounded with the unit of those above. */
        if (gives == RIDGE_F32 && row_ulps(row) > 0.5)
            slack += 0x1p-126;
        if (!value_is_close(gives, got.values[i], exact, row_ulps(row), slack, &error, &bound) &&
            !value_is_close(gives, got.values[i], single, row_ulps(row), slack, &error, &bound)) {
            case_fail("of (%.9g, %.9g, %.9g): got %.9g, expected %.9g", x, y, z, got.values[i],
                      exact);
            break;
        }
    }
    case_end();
}

static void check_integers(const struct row *row) {
    if (!case_begin("special values %s i32", row->name))
        return;
    struct array operands[3];
    int64_t total = combinations(special_integers, INTEGERS, row->arity, operands);
    ridge_tensor *tensors[3] = {NULL};
    for (unsigned i = 0; i < row->arity; i++)
        tensors[i] = array_tensor(&operands[i], RIDGE_I32, CONTIGUOUS);
    struct array expected = array_make(1, &total);
    for (int64_t i = 0; i < total; i++)
        expected.values[i] = row_value(row, RIDGE_I32, operands[0].values[i], operands[1].values[i],
                                       operands[2].values[i]);
    expect_array(row->call(tensors[0], tensors[1], tensors[2]), row_gives(row, RIDGE_I32),
                 &expected, 0, NULL);
    case_end();
}

/* The expressions against the same by hand, on this host alone. */
static void check_expression(const struct row *row) {
    struct by_hand by_hand = row_by_hand(row);
    if (!by_hand.in_double || !case_begin("expression %s", row->name))
        return;
    struct array operands[3];
    int64_t total = combinations(special_floats, FLOATS, row->arity, operands);
    for (int64_t i = 0; i < total && row->has_float; i++) {
        double x = operands[0].values[i], y = operands[1].values[i], z = operands[2].values[i];
        double a = row->in_double(x, y, z), b = by_hand.in_double(x, y, z);
        double slack = row_slack(row, x, y, z) + 1e-300;
        if (isnan(a) != isnan(b) ||
            (!isnan(a) && a != b && !(fabs(a - b) <= slack + 1e-6 * fabs(b))))
            case_fail("of (%.9g, %.9g, %.9g) it gives %.9g, by hand it is %.9g", x, y, z, a, b);
    }
    total = combinations(special_integers, INTEGERS, row->arity, operands);
    for (int64_t i = 0; i < total && row->has_integer; i++) {
        int64_t x = (int64_t)operands[0].values[i], y = (int64_t)operands[1].values[i],
                z = (int64_t)operands[2].values[i];
        int64_t a = row->in_integer(x, y, z), b = by_hand.in_integer(x, y, z);
        if (a != b)
            case_fail("of (%lld, %lld, %lld) it gives %lld, by hand it is %lld", (long long)x,
                      (long long)y, (long long)z, (long long)a, (long long)b);
    }
    case_end();
}

void check_special_values(void) {
    for (unsigned r = 0; r < row_count; r++) {
        check_expression(&rows[r]);
        if (row_takes(&rows[r], RIDGE_F32))
            check_row(&rows[r]);
        /* Comparing a sum that wrapped is left to the device. */
        if (row_takes(&rows[r], RIDGE_I32) && !strstr(rows[r].name, "_relu"))
            check_integers(&rows[r]);
    }
}
