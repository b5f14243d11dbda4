/* NaN, infinities, zeros of both signs, subnormals, huge numbers and the ends of integers; and
 * that the table's expressions match the specification of the operations. */
#include <math.h>
#include <string.h>

#include "grouped.h"

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

/* An expression may overflow in f32 but not in double: its result in C's float is also correct. */
static void expect_floats(const struct row *row, ridge_tensor *result,
                          const struct array operands[3]) {
    if (!result) {
        case_fail("%s", ridge_error_message());
        return;
    }
    struct array got = array_read(result);
    enum ridge_dtype gives = row_gives(row, RIDGE_F32);
    for (int64_t i = 0; got.values && i < got.count; i++) {
        double x = operands[0].values[i], y = operands[1].values[i], z = operands[2].values[i];
        double error, bound, slack = row_slack(row, x, y, z);
        double exact = row_value(row, RIDGE_F32, x, y, z);
        double single = row->in_float((float)x, (float)y, (float)z);
        /* A function may flush subnormal numbers to zero. */
        if (gives == RIDGE_F32 && row_ulps(row) > 0.5)
            slack += 0x1p-126;
        if (!value_is_close(gives, got.values[i], exact, row_ulps(row), slack, &error, &bound) &&
            !value_is_close(gives, got.values[i], single, row_ulps(row), slack, &error, &bound)) {
            case_fail("of (%.9g, %.9g, %.9g): got %.9g, expected %.9g", x, y, z, got.values[i],
                      exact);
            return;
        }
    }
}

static void expect_integers(const struct row *row, ridge_tensor *result,
                            const struct array operands[3]) {
    /* Comparing a sum that wrapped is left to the device. */
    if (strstr(row->name, "_relu"))
        return;
    struct array expected = array_make(operands[0].rank, operands[0].sizes);
    for (int64_t i = 0; i < expected.count; i++)
        expected.values[i] = row_value(row, RIDGE_I32, operands[0].values[i], operands[1].values[i],
                                       operands[2].values[i]);
    expect_array(result, row_gives(row, RIDGE_I32), &expected, 0, NULL);
}

/* Rows that take fewer operands than three see each of their combinations many times: it is the
 * price of one kernel for many rows. */
static void check_groups(enum ridge_dtype dtype) {
    const double *values = dtype == RIDGE_F32 ? special_floats : special_integers;
    int64_t count = dtype == RIDGE_F32 ? FLOATS : INTEGERS;
    for (unsigned first = 0, groups = 0; first < row_count; groups++) {
        if (!case_begin("special values group %u %s", groups, ridge_dtype_name(dtype)))
            return;
        struct array operands[4];
        ridge_tensor *tensors[4];
        int64_t total = combinations(values, count, 3, operands);
        operands[3] = array_make(1, &total);
        for (int64_t i = 0; i < total; i++)
            operands[3].values[i] = (double)(i % 3 - 1);
        for (unsigned i = 0; i < 4; i++)
            tensors[i] = array_tensor(&operands[i], i == 3 ? RIDGE_I32 : dtype, CONTIGUOUS);
        const struct row *group[GROUP_ROWS];
        ridge_tensor *results[GROUP_ROWS];
        unsigned rows_of_group = group_run(dtype, tensors, &first, group, results);
        for (unsigned i = 0; i < rows_of_group; i++) {
            struct array used[3] = {operands[group[i]->rule == RULE_WHERE ? 3 : 0], operands[1],
                                    operands[2]};
            case_about(group[i]->name);
            (dtype == RIDGE_F32 ? expect_floats : expect_integers)(group[i], results[i], used);
        }
        case_end();
    }
}

/* The expressions against the hand-written ones, only on this host. */
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
    for (unsigned r = 0; r < row_count; r++)
        check_expression(&rows[r]);
    check_groups(RIDGE_F32);
    check_groups(RIDGE_I32);
}
